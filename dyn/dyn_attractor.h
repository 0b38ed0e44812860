/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attractors, and the judgement whether an orbit has come to one.
 *
 * That an orbit returns to where it was does not make an attractor: it may sit on a cycle that
 * repels (because it began on a symmetry plane, or rounding put it there), creep past a saddle or a
 * ghost of a fold, or move on a torus of a map that preserves volume. So an orbit is followed
 * further and judged:
 *
 * Cycles. The states return after 3p and after 5p steps (dyn_period_find), Newton's method by
 * multiple shooting solves for the cycle, its multipliers are inside the unit circle, and the orbit
 * is at the cycle or comes closer to it over `confirm` steps more. A multiplier on the unit circle,
 * to 1e-6, is accepted only where another one contracts (or there is but one coordinate) and the
 * orbit comes closer all the time: at a bifurcation orbits arrive by a power law. Periods up to
 * DYN_PERIOD_MOST are looked for at once, longer ones up to DYN_ATTRACTOR_PERIOD_MOST when the
 * largest exponent is negative. Of cycles of more than DYN_SHOOTING_MAX numbers the return and a
 * negative exponent decide.
 *
 * Other orbits, after `confirm` steps more. With the largest exponent above zero the orbit is
 * chaotic; with it at zero it is quasi-periodic if it leaves the neighbourhood of a state, comes
 * back, and has not shrunk by a twentieth after `confirm` steps more, as it does on the way to a
 * cycle with multipliers on the unit circle. Neither is an attractor where the exponents sum to
 * zero (known for up to DYN_ATTRACTOR_FRAME coordinates, or where the map has log_abs_det), nor is
 * a zero exponent of a map of one coordinate. Chaos on a repelling set that holds an orbit for
 * longer than all these steps cannot be told from an attractor by following it.
 */
#ifndef BASIN_DYN_ATTRACTOR_H
#define BASIN_DYN_ATTRACTOR_H

#include "dyn/dyn_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Residual, relative to 1 + largest coordinate, to which cycles are solved. */
#define DYN_ATTRACTOR_RESIDUAL 1e-11

/* A spectral radius this close to 1 may be that of a cycle that its equation determines badly; such
 * a cycle is solved for further, as far as rounding lets Newton's method come. */
#define DYN_ATTRACTOR_NEARLY_NEUTRAL 1e-3

enum {
    DYN_ATTRACTOR_PERIOD_MOST = 1024, /* longest period that is looked for */
    DYN_ATTRACTOR_FRAME = 3           /* exponents that are computed, at most */
};

typedef struct dyn_attractor {
    int32_t id;    /* 1 or more */
    size_t period; /* minimal, and then the points are the cycle in order; 0: aperiodic */
    size_t n_points;
    double *points; /* n_points × size, owned, coordinates on circles reduced; of an aperiodic one
                       consecutive states */
    double spectral_radius; /* of the cycle's multipliers; NaN for an aperiodic one, and where the
                               cycle is too large for them */
    double exponent; /* largest, natural log per step; of a cycle ln(radius)/period, −∞ when the
                        radius is 0 */
    size_t count;    /* starts that end here; of dyn_basins, as are the following */
    double fraction; /* of all starts */
    double fraction_error; /* √(f(1 − f)/n), the standard error of n independent starts; those of a
                              grid scatter less */
} dyn_attractor;

/* Releases what an attractor holds; a zeroed one holds nothing. */
void dyn_attractor_fini(dyn_attractor *a);

/* What an orbit has come to. */
typedef enum dyn_judgement {
    DYN_JUDGED_ATTRACTOR, /* an attractor */
    DYN_JUDGED_REPELLING, /* a cycle with a multiplier outside the unit circle */
    DYN_JUDGED_NEUTRAL,   /* a cycle with a multiplier on it, or an orbit that preserves volume */
    DYN_JUDGED_PASSING,   /* nothing yet: the orbit still moves on */
    DYN_JUDGED_LOST,      /* the orbit diverged or became NaN */
    DYN_JUDGED_COUNT
} dyn_judgement;

typedef struct dyn_verify_options {
    size_t ttr;            /* steps before the first judgement */
    size_t confirm;        /* steps before the second */
    size_t exponent_steps; /* that exponents are averaged over, at least 100 */
    size_t samples;        /* states kept of an aperiodic attractor, at least 100 */
    double tolerance;      /* of a return, relative to 1 + largest coordinate */
    uint64_t seed;         /* of tangent frames */
} dyn_verify_options;

/* 500 steps, 20000 to confirm, 5000 for exponents, 1000 samples, tolerance 1e-8, seed 1. */
dyn_verify_options dyn_verify_options_default(void);

/* KERN_INVALID_ARGUMENT when an option is outside its domain. */
kern_status dyn_verify_options_check(const dyn_verify_options *o, kern_error *err);

/* Judges the orbit of x (map->size numbers), which advances to where the judgement ended, and adds
 * the steps taken to *steps. *out is initialised here: an attractor without id and fraction when
 * the verdict is DYN_JUDGED_ATTRACTOR, else empty. Equal arguments give equal bits.
 * KERN_INVALID_ARGUMENT, KERN_NO_MEMORY; a verdict is no failure. Cost: the steps, exponent_steps ·
 * DYN_ATTRACTOR_FRAME jvps, and one solution by dyn_shooting. Memory, allocated and released here:
 * (384 + samples) states and the solver's. */
kern_status dyn_attractor_verify(dyn_attractor *out, dyn_judgement *verdict, dyn_map *map,
                                 double *x, size_t *steps, const dyn_verify_options *options,
                                 kern_error *err);

/* Largest distance of a point of one set to the other set, both ways round (Hausdorff), modulo
 * periods; NaN when a point is not a number or a set is empty. At most `most` points of each are
 * looked at, evenly spread. */
double dyn_attractor_distance(const dyn_map *map, const dyn_attractor *a, const dyn_attractor *b,
                              size_t most);

/* What distances from x are compared with: 1 + the largest coordinate that is on no circle. */
double dyn_attractor_scale(const dyn_map *map, const double *x);

/* Distance of a state to the nearest point of an attractor; NaN when x is not a number. */
double dyn_attractor_reach(const dyn_map *map, const dyn_attractor *a, const double *x);

/* *same: two attractors are one. Cycles of one period are when they agree in every point to 1e-6 of
 * 1 + largest coordinate. Two aperiodic ones are when at least half of the points of either lie
 * within twice the other's typical gap between neighbouring points.
 *
 * A cycle is known as well as its equation determines it: where c·e^m is the residual at distance e
 * from it, every state within (DYN_ATTRACTOR_RESIDUAL/c)^(1/m) solves the equation, tol/|1 − μ| for
 * m = 1 and 2e-4 for a cubic tangency (μ = 1, c = 1). So two cycles with multipliers within 1e-3 of
 * the unit circle are also one when the states between them are no less cycles than they are: those
 * at 1/4, 1/2 and 3/4 of the way, after 100 periods in which what contracts dies out, stay where
 * they were to an eighth of the way and return to DYN_ATTRACTOR_RESIDUAL a step. Between two
 * attractors that are told apart the slow motion is faster than that.
 *
 * Steps `map` for that test alone. KERN_NO_MEMORY. */
kern_status dyn_attractor_same(bool *same, dyn_map *map, const dyn_attractor *a,
                               const dyn_attractor *b, kern_error *err);

#endif
