/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_starts.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOBOL_MOST = 40 };

struct dyn_starts {
    const dyn_starts_options *o;
    size_t size;
    size_t next;
    gsl_qrng *sobol; /* NULL: points are uniform */
    double shift[SOBOL_MOST];
};

static kern_status check(const dyn_map *map, const dyn_starts_options *o, kern_error *err)
{
    size_t total;
    if (!kern_size_add(o->n_drawn, o->n_given, &total) || total == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a search needs at least one start, drawn or given");
    }
    if (o->n_drawn > 0 && (o->low == NULL || o->high == NULL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu starts need a box to be drawn in, and there is none", o->n_drawn);
    }
    for (size_t i = 0; o->n_drawn > 0 && i < map->size; i++) {
        if (!(o->low[i] < o->high[i]) || !isfinite(o->high[i] - o->low[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "coordinate %zu of the box reaches from %g to %g, accepted are two "
                              "finite numbers in ascending order",
                              i, o->low[i], o->high[i]);
        }
    }
    return KERN_OK;
}

static kern_status start_sobol(dyn_starts *s, kern_error *err)
{
    kern_rng *rng = kern_rng_create(s->o->seed, "sobol", 0);
    s->sobol = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)s->size);
    for (size_t i = 0; rng != NULL && i < s->size; i++) {
        s->shift[i] = kern_rng_uniform(rng);
    }
    kern_rng_destroy(rng);
    if (rng == NULL || s->sobol == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a Sobol sequence of %zu coordinates",
                          s->size);
    }
    return KERN_OK;
}

kern_status dyn_starts_create(dyn_starts **out, const dyn_map *map,
                              const dyn_starts_options *options, kern_error *err)
{
    *out = NULL;
    KERN_TRY(check(map, options, err));
    dyn_starts *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for starts");
    }
    s->o = options;
    s->size = map->size;
    if (options->sobol && options->n_drawn > 0 && map->size <= SOBOL_MOST) {
        const kern_status status = start_sobol(s, err);
        if (status != KERN_OK) {
            dyn_starts_destroy(s);
            return status;
        }
    }
    *out = s;
    return KERN_OK;
}

void dyn_starts_destroy(dyn_starts *s)
{
    if (s != NULL && s->sobol != NULL) {
        gsl_qrng_free(s->sobol);
    }
    free(s);
}

/* A point of the unit cube. */
static kern_status draw(dyn_starts *s, double *x, kern_error *err)
{
    if (s->sobol != NULL) {
        (void)gsl_qrng_get(s->sobol, x);
        for (size_t i = 0; i < s->size; i++) {
            x[i] += s->shift[i];
            x[i] -= x[i] >= 1.0 ? 1.0 : 0.0;
        }
        return KERN_OK;
    }
    kern_rng *rng = kern_rng_create(s->o->seed, "fixed-points", s->next);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    for (size_t i = 0; i < s->size; i++) {
        x[i] = kern_rng_uniform(rng);
    }
    kern_rng_destroy(rng);
    return KERN_OK;
}

kern_status dyn_starts_next(dyn_starts *s, double *x, kern_error *err)
{
    if (s->next < s->o->n_given) {
        memcpy(x, s->o->given + s->next * s->size, s->size * sizeof *x);
    } else {
        KERN_TRY(draw(s, x, err));
        for (size_t i = 0; i < s->size; i++) {
            x[i] = s->o->low[i] + (s->o->high[i] - s->o->low[i]) * x[i];
        }
    }
    s->next++;
    return KERN_OK;
}
