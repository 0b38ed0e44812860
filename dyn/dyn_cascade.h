/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fixed points of a causal map, block by block.
 *
 * Block A depends on blocks B ≤ A only, so a fixed point is found by solving for x_1, then for x_2
 * with x_1 held, and so on: systems of block_width equations instead of one of `size`, each with a
 * verdict of its own. Each is Newton's method with line search (dyn_shooting.h) for the block with
 * the others held (dyn_frozen.h).
 *
 * The whole map is followed for `settle` steps first; each block starts from where that ends, and
 * when Newton's method fails there, from the mean of the last half of those states (the middle of a
 * flip's 2-cycle or of a small circle), and from the state given. When a block is not solved, later
 * ones are solved with it held where settling left it, and marked conditional.
 *
 * A map with a gauge has multipliers +1, and Newton's method ends as KERN_SINGULAR or
 * KERN_DIVERGED; solve its chart (dyn_chart.h), whose fixed points are the relative equilibria.
 */
#ifndef BASIN_DYN_CASCADE_H
#define BASIN_DYN_CASCADE_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct dyn_cascade_options {
    size_t settle;          /* steps of the whole map before the first solve */
    double tol;             /* of the residual of each block */
    size_t max_iterations;  /* of Newton's method per block and start */
    dyn_progress *progress; /* counts blocks; may be NULL */
    void *context;
} dyn_cascade_options;

/* 200 steps, tolerance 1e-11, 60 iterations. */
dyn_cascade_options dyn_cascade_options_default(void);

/* Where a solve began. */
typedef enum dyn_cascade_start {
    DYN_CASCADE_SETTLED,
    DYN_CASCADE_MEAN,
    DYN_CASCADE_GIVEN,
    DYN_CASCADE_STARTS
} dyn_cascade_start;

/* "settled", "mean", "given". */
const char *dyn_cascade_start_word(dyn_cascade_start start);

typedef struct dyn_cascade_block {
    kern_status status; /* KERN_OK, KERN_NOT_CONVERGED, KERN_SINGULAR, KERN_DIVERGED, KERN_NAN */
    bool conditional;   /* a block before this one is not solved */
    size_t iterations;  /* of the start that converged, or of the first */
    dyn_cascade_start start; /* the one that converged, or the first */
    double residual;         /* largest |F(x)_A − x_A|, evaluated after the last change */
} dyn_cascade_block;

typedef struct dyn_cascade {
    kern_status status; /* the first of the blocks' that is not KERN_OK */
    size_t n_blocks;
    size_t n_converged;        /* blocks that are KERN_OK and not conditional */
    dyn_cascade_block *blocks; /* owned */
    size_t size;
    double *state;   /* size, owned */
    double residual; /* largest |F(x) − x| of the whole map at `state` */
} dyn_cascade;

/* *out is initialised here and released with dyn_cascade_fini, which is harmless after a failure.
 * `start` holds map->size numbers (NULL: the map's start). KERN_INVALID_ARGUMENT for a tolerance
 * that is not positive and blocks wider than DYN_SHOOTING_MAX, KERN_INTERRUPTED, KERN_NO_MEMORY,
 * errors of clone; blocks that are not solved are outcomes. Cost: 2 · settle steps, and per block
 * and iteration block_width jvps and ⅔ block_width³. */
kern_status dyn_cascade_init(dyn_cascade *out, dyn_map *map, const double *start,
                             const dyn_cascade_options *options, kern_error *err);
void dyn_cascade_fini(dyn_cascade *out);

/* The solver behind it, for one block after the other at changing parameters. */
typedef struct dyn_cascade_solver dyn_cascade_solver;

/* Works on a clone of `map`. KERN_INVALID_ARGUMENT for blocks wider than DYN_SHOOTING_MAX,
 * KERN_NO_MEMORY, errors of clone. */
kern_status dyn_cascade_solver_create(dyn_cascade_solver **out, const dyn_map *map,
                                      kern_error *err);
void dyn_cascade_solver_destroy(dyn_cascade_solver *solver);

/* Sets a parameter; errors of dyn_map_set_param. */
kern_status dyn_cascade_solver_set(dyn_cascade_solver *solver, const char *name, double value,
                                   kern_error *err);

/* Solves for block `block` of `state` (size numbers), in place, the others held. When that fails
 * the block stays as it was. */
dyn_cascade_block dyn_cascade_solver_run(dyn_cascade_solver *solver, size_t block, double *state,
                                         double tol, size_t max_iterations);

#endif
