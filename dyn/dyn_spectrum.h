/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The leading multipliers of a point or a cycle x_0 → x_1 → … → x_{p−1} → x_0, a few of them, at
 * the end of the spectrum that is asked for, from products by the Jacobian alone: the Arnoldi
 * method (kernels/kern_arpack.h) where a block is wide, a dense decomposition
 * (dyn/dyn_multipliers.h) where it is not.
 *
 * Every pair returned has been tested by its residual |J v − μ v|, |v| = 1. A residual shows
 * neither what is missing nor, where J is far from normal, that μ is near a multiplier. So runs are
 * repeated from further random starts: a pair is confirmed when a later run than the one that found
 * it finds its value again. What only a later run finds, as a copy of a multiple eigenvalue with an
 * eigenvector of its own or as one that a start was blind to, is added, and runs go on until one
 * brings nothing new into the leading k. An eigenvalue of m copies takes up to m + 1 runs.
 *
 * Multipliers of large modulus mix those near 1 and those near −1; each end can be asked for by
 * itself: near 1 are the largest real parts, where folds and slow directions are, near −1 the
 * smallest, where flips are.
 */
#ifndef BASIN_DYN_SPECTRUM_H
#define BASIN_DYN_SPECTRUM_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dyn_spectrum_which {
    DYN_SPECTRUM_MODULUS,        /* largest modulus */
    DYN_SPECTRUM_NEAR_PLUS_ONE,  /* largest real part */
    DYN_SPECTRUM_NEAR_MINUS_ONE, /* smallest real part */
    DYN_SPECTRUM_BOTH_ENDS,      /* k near 1, then those of k near −1 that are left of them all */
    DYN_SPECTRUM_WHICH_COUNT
} dyn_spectrum_which;

typedef enum dyn_spectrum_method {
    DYN_SPECTRUM_AUTO, /* dense up to dyn_spectrum_dense_width */
    DYN_SPECTRUM_DENSE,
    DYN_SPECTRUM_ARNOLDI,
    DYN_SPECTRUM_METHOD_COUNT
} dyn_spectrum_method;

/* Of which operator; the three have the same spectrum in all for a map with causal blocks. */
typedef enum dyn_spectrum_scope {
    DYN_SPECTRUM_BLOCKS, /* each diagonal block by itself, k of each */
    DYN_SPECTRUM_UNION,  /* all diagonal blocks as one operator, k of all together; Arnoldi only */
    DYN_SPECTRUM_WHOLE,  /* the whole Jacobian, whose coupling may cost digits; Arnoldi only */
    DYN_SPECTRUM_SCOPE_COUNT
} dyn_spectrum_scope;

/* "modulus", "near-plus-one", "near-minus-one", "both-ends"; "auto", "dense", "arnoldi"; "blocks",
 * "union", "whole". */
const char *dyn_spectrum_which_word(dyn_spectrum_which which);
const char *dyn_spectrum_method_word(dyn_spectrum_method method);
const char *dyn_spectrum_scope_word(dyn_spectrum_scope scope);

typedef struct dyn_spectrum_options {
    size_t period; /* states of the cycle, at least 1 */
    size_t k;      /* multipliers wanted at each end, at least 1 */
    dyn_spectrum_which which;
    dyn_spectrum_method method;
    dyn_spectrum_scope scope;
    int workers;         /* for dense decompositions, below 1: one; bits do not depend on it */
    size_t block;        /* of DYN_SPECTRUM_BLOCKS: the one wanted, or DYN_MULTIPLIERS_ALL */
    bool vectors;        /* eigenvectors are wanted */
    double tol;          /* residuals up to 2 tol ‖J‖ pass; 0: 1e-12, or 1e-8 where the map's
                            products are difference quotients, which have errors of 1e-10 */
    double merge;        /* values closer than merge · ‖J‖ are the same; above tol */
    size_t space;        /* size of the Krylov space; 0: max(2k + 1, 20), doubled after every run
                            that finds fewer than k, up to 16 times that */
    size_t max_restarts; /* of a run */
    size_t max_runs;     /* from different starts, at least 2 */
    uint64_t seed;       /* of the starts */
    const double *start; /* start of the first run, as many numbers as the operator has rows, such
                            as an eigenvector from nearby; NULL: random */
    dyn_progress *progress; /* counts blocks, and is asked at every product; may be NULL */
    void *context;
} dyn_spectrum_options;

/* Period 1, 6 multipliers of largest modulus, method auto, every block, no vectors, tolerance from
 * the map, merging at 1e-6, 100 restarts, 8 runs, seed 1. */
dyn_spectrum_options dyn_spectrum_options_default(void);

/* Largest width of blocks for which DYN_SPECTRUM_AUTO is dense. The Arnoldi method takes some
 * m = ends · 2 (space + 10 (space − k)) products a block, with ten restarts a run and every run
 * repeated, whatever the width; a dense decomposition takes one product a column, which serves
 * `together` blocks at once (those of a map with jvp_blocks, otherwise 1), and 10 w³ operations of
 * its own a block. With those counted as another product a column the two meet at w = m·together/2;
 * beyond 1024 a block, at 8 MiB and a second each, dense is taken on request only. */
size_t dyn_spectrum_dense_width(size_t k, dyn_spectrum_which which, size_t together);

/* Leading multipliers of one operator. */
typedef struct dyn_spectrum_part {
    /* KERN_OK: as many as were asked for, all confirmed. KERN_NOT_CONVERGED otherwise, KERN_NAN
     * when a product was not finite; then what is there is what had passed before. */
    kern_status status;
    size_t block;               /* 0 for DYN_SPECTRUM_UNION and DYN_SPECTRUM_WHOLE */
    size_t size;                /* rows of the operator */
    dyn_spectrum_method method; /* that was used */
    size_t n_requested; /* k at each end, at most all; where two ends meet there are fewer */
    size_t n; /* multipliers below, all of which passed; one more at an end whose last is one of a
                 complex pair */
    size_t n_confirmed;
    size_t n_late; /* of them, those that the first run had missed */
    /* n each, the most wanted first; of a complex pair the one with im > 0 is first. */
    double *re, *im;
    double *residuals; /* |J v − μ v|₂ with |v|₂ = 1 */
    bool *confirmed;   /* true for all of a dense decomposition, which leaves nothing out */
    double *vectors;   /* n × size in rows as in kern_lapack.h; NULL if not wanted */
    double scale;      /* what residuals are compared with: of the Arnoldi method a lower bound of
                          ‖J‖₂, of the dense one NaN */
    size_t runs;
    size_t restarts; /* in all runs */
    size_t products; /* by the Jacobian of one state; of a dense decomposition those that served all
                        blocks */
} dyn_spectrum_part;

typedef struct dyn_spectrum {
    kern_status status; /* the first of the parts' that is not KERN_OK */
    size_t period;
    size_t n_parts;
    dyn_spectrum_part *parts; /* owned */
} dyn_spectrum;

/* `states` as for dyn_multipliers_init. *out is initialised here and released with
 * dyn_spectrum_fini, which is harmless after a failure. Equal options give equal bits; the bits of
 * a block do not depend on which others are asked for. Uses kern_arpack, so one call at a time in
 * the process. KERN_INVALID_ARGUMENT for options outside their domain, above all more multipliers
 * than there are, and for the Arnoldi method more than all but two; KERN_INTERRUPTED;
 * KERN_NO_MEMORY. Memory for an operator of n rows: at most (space + 10 k) n + twice the map's size
 * numbers, never n² unless dense; dense
 * ones hold the n² numbers of every block. */
kern_status dyn_spectrum_init(dyn_spectrum *out, dyn_map *map, const double *states,
                              const dyn_spectrum_options *options, kern_error *err);
void dyn_spectrum_fini(dyn_spectrum *out);

#endif
