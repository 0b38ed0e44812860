/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GALI_k, the generalised alignment index (Skokos, Bountis, Antonopoulos 2007, Physica D 231): the
 * volume that k tangent vectors of unit length span as they follow an orbit, which is the product
 * of the singular values of the matrix with these columns, and of the diagonal of its R in QR.
 *
 * Along a chaotic orbit the vectors turn into the most expanding direction, and the index falls as
 * exp −t Σ_{i≤k} (λ_1 − λ_i). Along a regular orbit of a conservative map of dimension 2N it stays
 * away from 0 for k ≤ N and falls as a power of t otherwise, no faster than t^{−k}, which is the
 * power at k = 2N.
 *
 * In a dissipative map vectors align near an attracting cycle too, and with equal exponents they
 * need not align in chaos. So the growth of a vector, which chaos has and an attracting cycle has
 * not, is measured beside the index, and a verdict needs both.
 */
#ifndef BASIN_DYN_GALI_H
#define BASIN_DYN_GALI_H

#include "dyn/dyn_chaos.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dyn_gali_options {
    size_t k;               /* vectors, 2 … size of the map */
    size_t ttr;             /* steps of the state alone before */
    size_t steps;           /* T, at least 1 */
    double threshold;       /* the index is followed until it is at most this, in (0, 1) */
    double bound;           /* a larger coordinate is divergence */
    uint64_t seed;          /* of the first vectors, which are orthonormal and otherwise random */
    bool series;            /* the index of every step is wanted */
    dyn_progress *progress; /* counts steps; may be NULL */
    void *context;
} dyn_gali_options;

/* k = 2, 1000 steps after a transient of 0, threshold 1e-12, bound DYN_DIVERGED, seed 1, no series.
 */
dyn_gali_options dyn_gali_options_default(void);

/* Distance, as a factor, that keeps an exponential and the power law t^{−k} apart. */
#define DYN_GALI_MARGIN 100.0

/* Difference quotients are right to about 1e-10 of their length; ten times that is what vectors of
 * unit length that follow them can be told apart by. */
#define DYN_GALI_NOISE 1e-9

typedef struct dyn_gali {
    /* KERN_OK; KERN_NAN or KERN_DIVERGED when the orbit or a vector was lost, and then the numbers
     * are NaN and `end` counts the steps from the start up to there. */
    kern_status status;
    size_t end;
    size_t k;
    double
        value;   /* the last index: that of step T, or the first at most the threshold (or noise) */
    size_t fell; /* step, without the transient, of the latter; 0: the index stayed above */
    double growth; /* mean growth of the first vector over T steps, natural log per step */
    /* The orbit came to rest on a fixed point, bit by bit, although vectors grow there: rounding
     * has put it there (dyn_lyapunov.h), and nothing is decided. False when it began there. */
    bool collapsed;
    /* The map's jvp is a difference quotient, and the index was followed no further than to where a
     * vector came within DYN_GALI_NOISE of the span of those before it: the errors of the quotients
     * decide what is below. */
    bool noisy;
    /* With "grows" for growth·T > 2 ln T, more than shear, which is linear in T, brings about:
     * chaotic: grows, and the index fell at a step t with t^{−k} ≥ 100 thresholds, so before any
     *   power law could have taken it there;
     * regular: does not grow, and the index ended above the threshold and T^{−k}/100, or it fell
     *   while the growth was not above 0 (an attracting cycle);
     * undecided: everything else. More steps, a smaller k or a smaller threshold can help.
     * Where noise ended it, distances below DYN_GALI_NOISE count as that, and the index that is
     * their product takes the place of the threshold. */
    dyn_chaos verdict;
    double *series; /* index after 0, 1, … steps, n_series numbers; NULL unless wanted; owned */
    size_t n_series;
} dyn_gali;

/* Follows the orbit of x0 (map->size numbers, kept); coordinates on circles are kept reduced. *out
 * is initialised here and released with dyn_gali_fini, which is harmless after a failure. Equal
 * options give equal bits. KERN_INVALID_ARGUMENT for options outside their domain;
 * KERN_INTERRUPTED; KERN_OVERFLOW; KERN_NO_MEMORY. A lost orbit is an outcome, not an error. Cost
 * per step: k products (dyn_map_jvp_many) and 4nk² for a QR decomposition until the index has
 * fallen, one jvp after. */
kern_status dyn_gali_init(dyn_gali *out, dyn_map *map, const double *x0,
                          const dyn_gali_options *options, kern_error *err);
void dyn_gali_fini(dyn_gali *out);

#endif
