/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_cycle_accuracy.h"

#include "dyn/dyn_chain.h"
#include "kernels/kern_rng.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MULTIPLICITY 3.0
#define SAFETY       2.0
#define CUBE_ROOTS   10.0
/* Distance of a spectral radius from 1 beyond which a verdict needs no error. */
#define NEAR_ONE 1e-2
/* Relative errors of the multipliers for exact products, over the size of the matrix, and for
 * difference quotients. */
#define ERROR_EXACT    (64.0 * DBL_EPSILON)
#define ERROR_QUOTIENT 1e-9
/* Displacement of the states for the change of the multipliers: differences are then right to about
 * a part in 1e5 of their size, and the curvature does not show. */
#define DISPLACEMENT 1e-5

enum { DIRECTIONS = 4 };

const char *dyn_stability_word(dyn_stability stability)
{
    static const char *const words[] = {
#define STABILITY_WORD(name, word) word,
        DYN_STABILITY_LIST(STABILITY_WORD)
#undef STABILITY_WORD
    };
    return (unsigned)stability < DYN_STABILITY_COUNT ? words[stability] : "unknown";
}

/* The smallest |1 − μ|. */
static double least_distance(const dyn_multipliers *m)
{
    double least = (double)INFINITY;
    for (size_t b = 0; b < m->n_blocks; b++) {
        for (size_t j = 0; j < m->blocks[b].n; j++) {
            least = fmin(least, hypot(1.0 - m->blocks[b].re[j], m->blocks[b].im[j]));
        }
    }
    return least;
}

static double largest_of(const double *states, size_t n)
{
    return fmax(1.0, dyn_chain_largest(states, n));
}

/* The distance from x_0 of F^p(x_0). `work`: 2 × size. */
static double find_return(dyn_map *map, const double *states, size_t period, double *work)
{
    double *next = work + map->size;
    memcpy(work, states, map->size * sizeof *work);
    for (size_t t = 0; t < period; t++) {
        map->kind->step(map, work, next);
        memcpy(work, next, map->size * sizeof *work);
    }
    return dyn_map_distance(map, work, states);
}

kern_status dyn_cycle_accuracy_locate(dyn_cycle_accuracy *out, dyn_map *map, const double *states,
                                      const dyn_multipliers *multipliers, kern_error *err)
{
    const size_t period = multipliers->period;
    *out = (dyn_cycle_accuracy){.position = (double)NAN, .multiplier = (double)NAN};
    if (multipliers->n_blocks == 0 || !isfinite(multipliers->spectral_radius)) {
        return KERN_OK;
    }
    double *work = calloc(2 * map->size, sizeof *work);
    if (work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a state of %zu numbers", map->size);
    }
    const double scale = largest_of(states, period * map->size);
    const double rounding = 4.0 * DBL_EPSILON * scale * fmax(1.0, multipliers->spectral_radius);
    const double r = find_return(map, states, period, work) + rounding;
    out->position = fmin(SAFETY * MULTIPLICITY * r / least_distance(multipliers),
                         CUBE_ROOTS * cbrt(r / scale) * scale);
    free(work);
    return KERN_OK;
}

/* The largest change of the spectral radius for a displacement of the states, over its length. */
static kern_status find_slope(dyn_map *map, const double *states, const dyn_multipliers *at,
                              double *slope, kern_error *err)
{
    const size_t n = at->period * map->size;
    const double h = DISPLACEMENT * largest_of(states, n);
    dyn_multipliers_options o = dyn_multipliers_options_default();
    double *moved = calloc(n, sizeof *moved);
    kern_status status =
        moved != NULL ? KERN_OK
                      : kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu numbers", n);
    o.period = at->period;
    o.horizon = 0;
    *slope = 0.0;
    for (size_t d = 0; d < DIRECTIONS && status == KERN_OK; d++) {
        dyn_multipliers m;
        for (size_t i = 0; i < n; i++) {
            moved[i] = states[i] + ((kern_rng_hash(d / 2, i) >> 32) % 2 == d % 2 ? h : -h);
        }
        status = dyn_multipliers_init(&m, map, moved, &o, err);
        if (status == KERN_OK && isfinite(m.spectral_radius)) {
            *slope = fmax(*slope, fabs(m.spectral_radius - at->spectral_radius) / h);
        }
        dyn_multipliers_fini(&m);
    }
    free(moved);
    return status;
}

kern_status dyn_cycle_accuracy_judge(dyn_cycle_accuracy *out, dyn_stability *stability,
                                     dyn_map *map, const double *states,
                                     const dyn_multipliers *multipliers, kern_error *err)
{
    const double radius = multipliers->spectral_radius;
    *stability = DYN_STABILITY_UNKNOWN;
    KERN_TRY(dyn_cycle_accuracy_locate(out, map, states, multipliers, err));
    if (isnan(out->position)) {
        return KERN_OK;
    }
    const double error =
        map->approximate_jvp ? ERROR_QUOTIENT : ERROR_EXACT * (double)map->block_width;
    out->multiplier = error * (double)multipliers->period * fmax(1.0, radius);
    if (fabs(radius - 1.0) < NEAR_ONE) {
        double slope;
        KERN_TRY(find_slope(map, states, multipliers, &slope, err));
        out->multiplier += slope * out->position;
    }
    *stability = fabs(radius - 1.0) <= out->multiplier ? DYN_STABILITY_MARGINAL
                 : radius < 1.0                        ? DYN_STABILITY_STABLE
                                                       : DYN_STABILITY_UNSTABLE;
    return KERN_OK;
}
