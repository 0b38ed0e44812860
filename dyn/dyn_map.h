/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An iterated map x' = F(x; p) of `size` numbers, in double precision: what every analysis of dyn/
 * works on.
 *
 * A map is a table of functions (its kind) with a state of its own: parameter values and workspace.
 * Analyses use nothing but this interface. One map is used by one thread at a time; dyn_map_clone
 * makes another for a second thread, with the same parameters and its own workspace.
 *
 * Optional structure:
 *   blocks: the state is `block_count` blocks of `block_width` numbers, and block A' depends on
 *   blocks B ≤ A only (a causal sequence of tokens), so the Jacobian is block lower-triangular. A
 *   plain map is one block.
 *
 *   periods: coordinates that live on a circle have a period; steps may leave them unreduced
 *   (lifted), distances are taken modulo the period.
 *
 *   gauge: what a norm in front of the update F(x) − x takes away from every block: its scale, or
 *   its scale and its mean. Such a map has no fixed points but relative equilibria, where the
 *   direction of each block stays while its scale changes; dyn/dyn_chart.h makes a map of
 *   directions of it.
 */
#ifndef BASIN_DYN_MAP_H
#define BASIN_DYN_MAP_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct dyn_map dyn_map;

/* Tangents that a map may treat together; see jvp_many. */
enum { DYN_MAP_GROUP = 8 };

/* States of a block that a norm does not tell apart: none; x and a·x, a > 0; x and a·x + b·1. */
typedef enum dyn_gauge { DYN_GAUGE_NONE, DYN_GAUGE_SCALE, DYN_GAUGE_SCALE_SHIFT } dyn_gauge;

/* A parameter: its name, its value when none is given, and one line on what it is. */
typedef struct dyn_param {
    const char *name;
    double value;
    const char *help;
} dyn_param;

/* The functions of a kind of map. `step`, `jvp` and `clone` are required; others may be NULL.
 * Arrays hold `map->size` numbers; y may be x, jv may be v. Functions do not fail: a state that has
 * left the map's domain gives NaN or infinity, which the analyses see. */
typedef struct dyn_map_kind {
    const char *name;
    const char *formula; /* one line, for --help */
    /* y = F(x). */
    void (*step)(dyn_map *map, const double *x, double *y);
    /* y = F(x) unless y is NULL, and jv = F'(x) v. */
    void (*jvp)(dyn_map *map, const double *x, const double *v, double *y, double *jv);
    /* As jvp for k tangents at once, one after another in v and jv (k × size numbers): what depends
     * on x alone is computed once. Splitting a call at multiples of DYN_MAP_GROUP tangents gives
     * the same bits. NULL: as k calls of jvp. */
    void (*jvp_many)(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                     double *jv);
    /* As jvp_many with the diagonal blocks of F'(x) alone: block A of jv_i is J_AA times that of
     * v_i, so w tangents probe every block of width w. NULL: one block at a time, by jvp. */
    void (*jvp_blocks)(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                       double *jv);
    /* Diagonal block A of F'(x) as I + U C with U block_width × block_rank and C block_rank ×
     * block_width, row-major: a map whose update goes through a bottleneck. NULL for all others. */
    void (*block_factors)(dyn_map *map, const double *x, size_t block, double *u, double *c);
    /* jtw = F'(x)ᵀ w. */
    void (*vjp)(dyn_map *map, const double *x, const double *w, double *jtw);
    /* Energy of the state; NULL for maps that have none. */
    double (*energy)(dyn_map *map, const double *x);
    /* Energies of the blocks, block_count numbers whose sum is `energy`; the one of block A depends
     * on blocks B ≤ A only. NULL for maps that have none. */
    void (*block_energies)(dyn_map *map, const double *x, double *energies);
    /* ln|det F'(x)| where that is cheaper than a decomposition; NULL otherwise. */
    double (*log_abs_det)(dyn_map *map, const double *x);
    /* Another map in the same state, with a workspace of its own. */
    kern_status (*clone)(dyn_map **out, const dyn_map *map, kern_error *err);
    /* Releases what `data` holds; the map itself is released by dyn_map_destroy. */
    void (*fini)(dyn_map *map);
} dyn_map_kind;

struct dyn_map {
    const dyn_map_kind *kind;
    size_t size;
    size_t block_count; /* 1 for a plain map */
    size_t block_width; /* block_count · block_width = size */
    size_t n_params;
    const dyn_param *param_info; /* n_params entries, borrowed from the kind or the plugin */
    double *params;              /* n_params values, owned */
    size_t n_fixed;              /* the last n_fixed parameters were settled at creation */
    dyn_gauge gauge;             /* of every block */
    size_t block_rank;           /* of block_factors; 0 without them */
    size_t block_zeros;   /* multipliers of every block that are 0 by construction, as those of a
                           * chart are along the gauge */
    bool approximate_jvp; /* jvp is a difference quotient, right to about 1e-10 only */
    double *start;        /* the map's documented starting point, `size` numbers, owned */
    const double
        *periods; /* `size` entries, 0 where a coordinate is not on a circle; NULL: none is */
    void *data;   /* of the kind: workspace, a model, a plugin's handle */
};

/* A plain map of one block with the values of `info` as parameters, a start of zeros, no periods
 * and no data: what constructors of a kind begin with. KERN_INVALID_ARGUMENT for a size of 0,
 * KERN_NO_MEMORY. */
kern_status dyn_map_create(dyn_map **out, const dyn_map_kind *kind, size_t size,
                           const dyn_param *info, size_t n_params, kern_error *err);

/* As dyn_map_create, with everything of `map` but its data: what clones begin with. */
kern_status dyn_map_create_like(dyn_map **out, const dyn_map *map, kern_error *err);

/* Releases a map; NULL is ignored. */
void dyn_map_destroy(dyn_map *map);

/* Index of parameter `name`; KERN_INVALID_ARGUMENT listing the names when the map has none such. */
kern_status dyn_map_find_param(const dyn_map *map, const char *name, size_t *index,
                               kern_error *err);

/* Sets parameter `name`. KERN_INVALID_ARGUMENT listing the names when the map has none such, when
 * it was settled at creation, or when the value is not finite. */
kern_status dyn_map_set_param(dyn_map *map, const char *name, double value, kern_error *err);

/* y = F^n(x); n = 0 copies. y may be x. */
void dyn_map_iterate(dyn_map *map, const double *x, size_t n, double *y);

/* jv_i = F'(x) v_i for k tangents, k × size numbers in v and jv; y = F(x) unless it is NULL. y may
 * be x and jv may be v. Cost: that of jvp_many, or k jvps. */
void dyn_map_jvp_many(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                      double *jv);

/* As dyn_map_jvp_many with the block-diagonal part of F'(x). `work` holds `size` numbers. Cost:
 * that of jvp_blocks, or k·block_count jvps. */
void dyn_map_jvp_blocks(dyn_map *map, const double *x, size_t k, const double *v, double *y,
                        double *jv, double *work);

/* Distance of two states: largest coordinate difference, modulo periods; NaN when either is not a
 * number. */
double dyn_map_distance(const dyn_map *map, const double *x, const double *y);

#endif
