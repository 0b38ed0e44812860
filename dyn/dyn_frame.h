/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A frame: k tangent vectors that move along with a state, v_i → F′(x) v_i, shared among workers of
 * which each has a clone of the map.
 *
 * A frame spans the whole state, or it is confined to one block of a map with blocks: its vectors
 * then have the block's width, and the diagonal block of F′ takes the place of F′.
 */
#ifndef BASIN_DYN_FRAME_H
#define BASIN_DYN_FRAME_H

#include "dyn/dyn_map.h"

#include <stddef.h>
#include <stdint.h>

/* As `block`: the frame spans the whole state. */
#define DYN_FRAME_WHOLE SIZE_MAX

/* What a worker has. */
typedef struct dyn_frame_lane {
    dyn_map *map;     /* the first worker's is the caller's own */
    double *tangents; /* DYN_MAP_GROUP states and one more, for a frame in a block; else NULL */
} dyn_frame_lane;

typedef struct dyn_frame {
    size_t k;
    size_t n;      /* numbers of a vector */
    size_t offset; /* of its first number in the state */
    double *rows;  /* k × n, zero at first; owned */
    int workers;
    dyn_frame_lane *lanes; /* owned */
    const double *x;       /* of the push in progress */
    double *y;
} dyn_frame;

/* A frame of k ≥ 1 vectors of `map`, which is stepped by dyn_frame_push alone while the frame is
 * used by it. `block` is DYN_FRAME_WHOLE or within the map's. At most `workers` workers (below 1:
 * one) share it, in groups of DYN_MAP_GROUP vectors, so that a frame of few vectors needs no
 * threads. Released with dyn_frame_fini, which is harmless after a failure. KERN_OVERFLOW,
 * KERN_NO_MEMORY, errors of clone. Memory: k·n numbers, and with a block DYN_MAP_GROUP + 1 states
 * per worker. */
kern_status dyn_frame_init(dyn_frame *frame, dyn_map *map, size_t block, size_t k, int workers,
                           kern_error *err);
void dyn_frame_fini(dyn_frame *frame);

/* Fills k × n numbers with k random orthonormal rows, of the stream `stream` of `seed`. `r` takes
 * k × k numbers and `work` kern_lapack_orthonormalise_work(n, k). KERN_NO_MEMORY. */
kern_status dyn_frame_draw(double *rows, size_t n, size_t k, uint64_t seed, const char *stream,
                           double *r, double *work, kern_error *err);

/* Rows become their images under F′(x), y = F(x); y is not x. Bits do not depend on the number of
 * workers. */
void dyn_frame_push(dyn_frame *frame, const double *x, double *y);

#endif
