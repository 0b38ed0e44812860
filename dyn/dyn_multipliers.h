/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Multipliers: eigenvalues of the Jacobian along a cycle x_0 → x_1 → … → x_{p−1} → x_0, from dense
 * decompositions.
 *
 * Of a map with blocks only the diagonal blocks are formed, J_A = J_A(x_{p−1}) ⋯ J_A(x_0) for each
 * block A: their spectra together are that of the whole Jacobian, which is block lower-triangular.
 * A dense decomposition of the whole matrix would lose digits to its non-normality. A plain map is
 * one block.
 */
#ifndef BASIN_DYN_MULTIPLIERS_H
#define BASIN_DYN_MULTIPLIERS_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As `block`: every block. */
#define DYN_MULTIPLIERS_ALL SIZE_MAX

typedef struct dyn_multipliers_options {
    size_t period;  /* states of the cycle, at least 1 */
    size_t horizon; /* largest power looked at for transient growth; 0: none is */
    bool vectors;   /* eigenvectors and residuals are wanted */
    /* The blocks are taken as I + U C from block_factors of the map, at one state: of rank r below
     * their width w, r of their multipliers are those of the r × r matrix I + C U and w − r are 1.
     * Without vectors and transient growth. */
    bool factored;
    size_t block;           /* DYN_MULTIPLIERS_ALL, or the one block wanted */
    int workers;            /* that share the blocks, below 1: one; bits do not depend on it */
    dyn_progress *progress; /* counts blocks; may be NULL */
    void *context;
} dyn_multipliers_options;

/* Period 1, horizon 20, no vectors, every block. */
dyn_multipliers_options dyn_multipliers_options_default(void);

/* Multipliers of one block of n coordinates. */
typedef struct dyn_multipliers_block {
    /* KERN_OK; KERN_NAN when the Jacobian has entries that are not finite, KERN_NOT_CONVERGED when
     * the QR iteration failed: then all numbers are NaN. */
    kern_status status;
    size_t block;
    size_t n;
    size_t n_zeros; /* so many of the last ones are 0 by construction (block_zeros of dyn_map), the
                     * gauge of a chart */
    /* n each, by descending modulus, then descending real part; of a complex pair the one with
     * im > 0 is first. */
    double *re, *im;
    double spectral_radius;
    /* max ‖J_A^m‖₂ over 1 ≤ m ≤ horizon, and the first m that attains it: how much a perturbation
     * of the block can grow before it decays, although the spectral radius is below 1; ∞ when a
     * power overflows. NaN and 0 without a horizon. */
    double transient_growth;
    size_t transient_step;
    double *vectors; /* n × n as in kern_lapack.h, in the order of re and im; NULL if not wanted */
    double *residuals; /* n: |J_A v − μ v|₂ with |v|₂ = 1, from products by J; NULL if not wanted */
} dyn_multipliers_block;

typedef struct dyn_multipliers {
    kern_status status; /* the first of the blocks' that is not KERN_OK */
    size_t period;
    size_t n_blocks;
    dyn_multipliers_block *blocks; /* owned */
    double spectral_radius;        /* of all blocks together; NaN unless status is KERN_OK */
    bool stable;                   /* spectral_radius < 1 */
} dyn_multipliers;

/* `states` holds period × map->size numbers, the states of the cycle in order; nothing checks that
 * they form one, and for a plain point the eigenvalues are those of the Jacobian there. *out is
 * initialised here and released with dyn_multipliers_fini, which is harmless after a failure.
 * KERN_INVALID_ARGUMENT for a period of 0, a block that the map does not have, and `factored` with
 * a map without factors, with vectors or with a longer period; KERN_INTERRUPTED; KERN_NO_MEMORY.
 * Cost: period·w products by the diagonal blocks (dyn_map_jvp_blocks; twice as many with vectors),
 * and O(w³) per block for its spectrum, two products per power up to the horizon, and singular
 * values of the few powers that may be the largest; memory w² numbers per block and 3w² per worker.
 * Of factored blocks r²w + O(r³) each take the place of products and spectrum, or rw² + O(w³) where
 * r ≥ w. */
kern_status dyn_multipliers_init(dyn_multipliers *out, dyn_map *map, const double *states,
                                 const dyn_multipliers_options *options, kern_error *err);
void dyn_multipliers_fini(dyn_multipliers *out);

#endif
