/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_deflation.h"

#include "dyn/dyn_chain.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A deflated cycle. */
typedef struct deflated {
    size_t period;
    double *states; /* owned */
} deflated;

struct dyn_deflation {
    const dyn_map *map;
    deflated *cycles;
    size_t n;
    size_t allocated;
};

kern_status dyn_deflation_create(dyn_deflation **out, const dyn_map *map, kern_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a list of deflated cycles");
    }
    (*out)->map = map;
    return KERN_OK;
}

void dyn_deflation_destroy(dyn_deflation *d)
{
    for (size_t i = 0; d != NULL && i < d->n; i++) {
        free(d->cycles[i].states);
    }
    if (d != NULL) {
        free(d->cycles);
    }
    free(d);
}

static kern_status make_room(dyn_deflation *d, kern_error *err)
{
    if (d->n == d->allocated) {
        const size_t wanted = d->allocated > 0 ? 2 * d->allocated : 8;
        deflated *grown = realloc(d->cycles, wanted * sizeof *grown);
        if (grown == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu deflated cycles", wanted);
        }
        d->cycles = grown;
        d->allocated = wanted;
    }
    return KERN_OK;
}

kern_status dyn_deflation_add(dyn_deflation *d, const double *states, size_t period,
                              kern_error *err)
{
    size_t numbers;
    size_t bytes;
    KERN_TRY(make_room(d, err));
    double *copy = NULL;
    if (period > 0 && kern_size_mul(period, d->map->size, &numbers) &&
        kern_size_mul(numbers, sizeof *copy, &bytes)) {
        copy = malloc(bytes);
    }
    if (copy == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a deflated cycle of %zu states",
                          period);
    }
    memcpy(copy, states, bytes);
    d->cycles[d->n++] = (deflated){.period = period, .states = copy};
    return KERN_OK;
}

/* |x − z|₂² for shift `shift` of a deflated cycle; *product receives (x − z) · step. */
static double measure(const dyn_deflation *d, const deflated *z, size_t shift, const double *states,
                      size_t period, const double *step, double *product)
{
    const size_t size = d->map->size;
    double square = 0.0;
    double dot = 0.0;
    for (size_t i = 0; i < period; i++) {
        const double *x = states + i * size;
        const double *y = z->states + (i + shift) % z->period * size;
        for (size_t j = 0; j < size; j++) {
            const double circle = d->map->periods != NULL ? d->map->periods[j] : 0.0;
            const double straight = x[j] - y[j];
            const double gap =
                circle > 0.0 ? straight - circle * round(straight / circle) : straight;
            square += gap * gap;
            dot += gap * step[i * size + j];
        }
    }
    *product = dot;
    return square;
}

double dyn_deflation_slope(const dyn_deflation *d, const double *states, size_t period,
                           const double *step)
{
    double sum = 0.0;
    for (size_t c = 0; c < d->n; c++) {
        const deflated *z = &d->cycles[c];
        for (size_t shift = 0; period % z->period == 0 && shift < z->period; shift++) {
            double dot;
            const double square = measure(d, z, shift, states, period, step, &dot);
            /* d/dt ln(1/r² + 1) = −2 (x − z)·step / (r² (1 + r²)) */
            sum -= 2.0 * dot / (square * (1.0 + square));
        }
    }
    return sum;
}

bool dyn_deflation_holds(const dyn_deflation *d, const double *states, size_t period, double merge)
{
    for (size_t c = 0; c < d->n; c++) {
        const deflated *z = &d->cycles[c];
        for (size_t shift = 0; period % z->period == 0 && shift < z->period; shift++) {
            if (dyn_chain_agrees(d->map, states, period, z->states, z->period, shift, merge)) {
                return true;
            }
        }
    }
    return false;
}
