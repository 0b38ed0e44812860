/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_stride.h"

#include "dyn/dyn_chain.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <string.h>

enum { PROBES = 6 };

/* 10 √(2/π): with 6 probes the bound fails with probability 10⁻⁶. */
#define PROBE_FACTOR 7.9788456080286536

size_t dyn_stride_work(const dyn_map *map)
{
    return map->size;
}

/* The free run. */
static void run_orbit(dyn_stride_check *out, dyn_map *map, const double *states, size_t period,
                      double *x)
{
    dyn_map_iterate(map, states, DYN_STRIDE_FIRST * period, x);
    out->distance[0] = dyn_map_distance(map, x, states);
    dyn_map_iterate(map, x, (DYN_STRIDE_SECOND - DYN_STRIDE_FIRST) * period, x);
    out->distance[1] = dyn_map_distance(map, x, states);
}

/* One run of a tangent vector with noise; the lengths after the two strides raise `largest`. */
static void run_probe(dyn_map *map, const double *states, size_t period, kern_rng *rng, double *t,
                      double largest[2])
{
    const size_t size = map->size;
    size_t at = 0;
    memset(t, 0, size * sizeof *t);
    for (size_t k = 1; k <= DYN_STRIDE_SECOND * period; k++) {
        map->kind->jvp(map, states + at * size, t, NULL, t);
        at = at + 1 < period ? at + 1 : 0;
        for (size_t j = 0; j < size; j++) {
            t[j] += kern_rng_normal(rng);
        }
        const double norm = dyn_vector_norm(t, size);
        if (k == DYN_STRIDE_FIRST * period && !(norm <= largest[0])) {
            largest[0] = norm;
        }
        if (k == DYN_STRIDE_SECOND * period && !(norm <= largest[1])) {
            largest[1] = norm;
        }
    }
}

/* Smallest distance of two states of the cycle; of a fixed point, max(1, largest |x|). */
static double find_separation(const dyn_map *map, const double *states, size_t period)
{
    const size_t size = map->size;
    double least = dyn_chain_reach(states, size, 1.0);
    for (size_t i = 1; i < period; i++) {
        least = fmin(least, dyn_map_distance(map, states, states + i * size));
    }
    return least;
}

kern_status dyn_stride_run(dyn_stride_check *out, dyn_map *map, const double *states, size_t period,
                           double tol, double *work, kern_error *err)
{
    static const int strides[2] = {DYN_STRIDE_FIRST, DYN_STRIDE_SECOND};
    const double separation = find_separation(map, states, period);
    double largest[2] = {0.0, 0.0};
    *out = (dyn_stride_check){.status = KERN_OK};
    kern_rng *rng = kern_rng_create(0, "strides", 0);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    for (int i = 0; i < PROBES; i++) {
        run_probe(map, states, period, rng, work, largest);
    }
    kern_rng_destroy(rng);
    run_orbit(out, map, states, period, work);
    for (int i = 0; i < 2; i++) {
        const double errors = (double)strides[i] * (double)period * (double)map->size;
        out->allowed[i] = PROBE_FACTOR * largest[i] * sqrt(errors) * tol;
        if (!(out->allowed[i] < separation)) {
            out->status = out->status == KERN_OK ? KERN_TIMEOUT : out->status;
        } else if (!(out->distance[i] <= out->allowed[i])) {
            out->status = KERN_NOT_CONVERGED;
        }
    }
    return KERN_OK;
}
