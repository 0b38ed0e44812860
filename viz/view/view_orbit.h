/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orbit strip: what the chosen token's directions do as the rate η/σ grows, with the token's prefix
 * held and σ pinned, and where in closed form it loses stability.
 */
#ifndef BASIN_VIEW_ORBIT_H
#define BASIN_VIEW_ORBIT_H

#include "viz/view/view_landscape.h"

/* Where the token's relative equilibrium loses stability as the rate grows (dyn/dyn_chart.h). A map
 * without a norm has fixed points in place of relative equilibria: x' = x + r Δ(x) has multipliers
 * 1 + r α there, and the rates are those at which they leave the unit circle. */
typedef struct view_landmarks {
    bool found; /* a relative equilibrium was found and confirmed by its residual */
    size_t token;
    double flip, ns; /* rates, ∞ where there is none, NaN when not found */
    double lost;     /* smallest rate from which on it is not stable */
    double sigma;    /* pinned; NaN without a norm */
    double eta;      /* c of Δ = −c ∇E, NaN where η is another */
    size_t n_complex;
    double spectral_radius; /* at the settings' rate */
    char why[256];          /* when not found, and what has to be known of a map without a norm */
} view_landmarks;

/* Solves for the token's relative equilibrium from the state at step `at`, its prefix held there.
 * A sum over all tokens takes the last one. KERN_INTERRUPTED. Cost: 200 steps of the token, and for
 * each of Newton's iterations, and once for the multipliers, as many jvps as it has numbers. */
kern_status view_landmarks_find(view_landmarks *out, const view_landscape *landscape,
                                view_cancelled *cancelled, void *context, kern_error *err);

/* Turns rates[0 … n) into the largest modulus of that equilibrium's multipliers at each rate, NaN
 * where none was found. Errors and cost as above. */
kern_status view_landmarks_radii(double *rates, size_t n, const view_landscape *landscape,
                                 view_cancelled *cancelled, void *context, kern_error *err);

/* One column per rate: values of coordinate a of the plane on what the orbit has come to. */
typedef struct view_orbit {
    size_t columns, values; /* at most `values` a column */
    size_t done;            /* columns that are computed; the others hold no values */
    double from, to;
    double *rate;     /* columns */
    double *a;        /* columns × values: coordinate on the plane's first axis; NaN: none */
    size_t *period;   /* columns; 0: none up to 64 */
    double *exponent; /* columns; largest Lyapunov exponent, NaN where not known */
    double *radius; /* columns; largest |μ| of the rest at that rate, NaN where it is not known */
    double span;    /* of the landscape's range along the axis */
    double low, high; /* of the finite a; NaN when there is none */
} view_orbit;

typedef struct view_orbit_options {
    double from, to;
    size_t columns;
    size_t values; /* a column; 0: 48 */
    size_t settle; /* steps before them; 0: 400 */
    bool follow;   /* start each column where the one before ended, from the smallest rate on */
    int workers;
    view_cancelled *cancelled; /* may be NULL; asked from any thread */
    /* Gets what is done, coarse columns first, each time in a copy that becomes its own; called
     * some times before the end, at which *out is complete. May be NULL. */
    void (*emit)(void *context, view_orbit *partial);
    void *context;
} view_orbit_options;

/* Each column starts beside the state at step `at`, or with `follow` beside the end of the column
 * before; a thousandth of its length away, so that a rest that repels is left. Without `follow`
 * columns are independent, and the outcome depends neither on the number of workers nor on the
 * order; with it, one worker computes them. The caller frees *out with view_orbit_destroy.
 * KERN_INVALID_ARGUMENT unless `from` and `to` are finite and there is a column; KERN_INTERRUPTED;
 * KERN_NO_MEMORY. Cost: per column settle + 2 (values + 584) steps of the token, and once that of
 * view_landmarks_find. */
kern_status view_orbit_create(view_orbit **out, const view_landscape *landscape,
                              const view_orbit_options *options, kern_error *err);
void view_orbit_destroy(view_orbit *orbit); /* NULL is ignored */

/* ---- view_orbit_range.c ---- */

/* Whether a column has come so close to rest that it has less than a thousandth of the span still
 * to go. */
bool view_orbit_is_near_rest(const view_orbit *orbit, size_t column);

/* Whether a column has a period, is near rest, or ranges over much the same before and after the
 * middle of its values, as on a closed curve or in chaos. */
bool view_orbit_has_settled(const view_orbit *orbit, size_t column);

/* Values that a strip shows: those of the columns that have settled, or of all when none has, at
 * least a thousandth of the span wide. A column that is near rest counts for its last value alone.
 * Where two in a hundred columns, or one, would stretch that to more than the double, it is what
 * the others take. Cost: a look at all values, and one more for each of those columns. */
void view_orbit_range(const view_orbit *orbit, double *low, double *high);

#endif
