/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_cycles.h"

#include "dyn/dyn_chain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fini_cycle(dyn_cycle *cycle)
{
    free(cycle->states);
    free(cycle->image);
    dyn_multipliers_fini(&cycle->multipliers);
    dyn_spectrum_fini(&cycle->leading);
    *cycle = (dyn_cycle){0};
}

void dyn_cycles_release(dyn_cycle *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fini_cycle(&items[i]);
    }
    free(items);
}

/* The cycle of the list that agrees with a chain when `position`, and what the cycle's is uncertain
 * by, are added to the merging distance. */
static dyn_cycle *find_near(const dyn_cycles *list, const double *states, size_t period,
                            double position)
{
    for (size_t c = 0; c < list->n; c++) {
        dyn_cycle *cycle = &list->items[c];
        /* An uncertainty that is not known adds nothing. */
        const double both = fmax(0.0, position) + fmax(0.0, cycle->accuracy.position);
        const double reach = dyn_chain_reach(cycle->states, list->map->size, 1.0);
        const double merge = position >= 0.0 ? fmax(list->merge, both / reach) : list->merge;
        for (size_t shift = 0; cycle->period == period && shift < period; shift++) {
            if (dyn_chain_agrees(list->map, states, period, cycle->states, period, shift, merge)) {
                return cycle;
            }
        }
    }
    return NULL;
}

dyn_cycle *dyn_cycles_find(const dyn_cycles *list, const double *states, size_t period)
{
    return find_near(list, states, period, (double)NAN);
}

static kern_status make_room(dyn_cycles *list, kern_error *err)
{
    if (list->n < list->allocated) {
        return KERN_OK;
    }
    const size_t wanted = list->allocated > 0 ? 2 * list->allocated : 8;
    dyn_cycle *grown = realloc(list->items, wanted * sizeof *grown);
    if (grown == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu cycles", wanted);
    }
    list->items = grown;
    list->allocated = wanted;
    return KERN_OK;
}

/* NULL when memory is refused. */
static double *copy_numbers(const double *values, size_t n)
{
    double *copy = n > 0 ? malloc(n * sizeof *copy) : NULL;
    if (copy != NULL) {
        memcpy(copy, values, n * sizeof *copy);
    }
    return copy;
}

static kern_status find_all(const dyn_cycles *list, dyn_cycle *cycle, kern_error *err)
{
    dyn_multipliers_options o = dyn_multipliers_options_default();
    o.period = cycle->period;
    o.horizon = 0;
    KERN_TRY(dyn_multipliers_init(&cycle->multipliers, list->map, cycle->states, &o, err));
    cycle->spectral_radius = cycle->multipliers.spectral_radius;
    return KERN_OK;
}

static kern_status find_leading(const dyn_cycles *list, dyn_cycle *cycle, kern_error *err)
{
    dyn_spectrum_options o = dyn_spectrum_options_default();
    o.period = cycle->period;
    o.k = DYN_CYCLES_LEADING;
    KERN_TRY(dyn_spectrum_init(&cycle->leading, list->map, cycle->states, &o, err));
    double radius = 0.0;
    for (size_t i = 0; i < cycle->leading.n_parts; i++) {
        const dyn_spectrum_part *part = &cycle->leading.parts[i];
        if (part->n == 0) {
            return KERN_OK;
        }
        radius = fmax(radius, hypot(part->re[0], part->im[0]));
    }
    cycle->spectral_radius = radius;
    return KERN_OK;
}

static kern_status find_stability(const dyn_cycles *list, dyn_cycle *cycle, kern_error *err)
{
    cycle->accuracy = (dyn_cycle_accuracy){.position = (double)NAN, .multiplier = (double)NAN};
    if (cycle->multipliers.n_blocks > 0) {
        KERN_TRY(dyn_cycle_accuracy_judge(&cycle->accuracy, &cycle->stability, list->map,
                                          cycle->states, &cycle->multipliers, err));
    } else if (!isnan(cycle->spectral_radius)) {
        cycle->stability =
            cycle->spectral_radius < 1.0 ? DYN_STABILITY_STABLE : DYN_STABILITY_UNSTABLE;
    }
    cycle->stable = cycle->stability == DYN_STABILITY_STABLE;
    return KERN_OK;
}

static kern_status find_multipliers(const dyn_cycles *list, dyn_cycle *cycle, kern_error *err)
{
    cycle->spectral_radius = (double)NAN;
    if (list->map->block_width > DYN_CYCLES_DENSE_MAX) {
        KERN_TRY(find_leading(list, cycle, err));
    } else {
        KERN_TRY(find_all(list, cycle, err));
    }
    return find_stability(list, cycle, err);
}

static kern_status describe(const dyn_cycles *list, dyn_cycle *cycle, const double *states,
                            double *work, kern_error *err)
{
    const size_t size = list->map->size;
    cycle->states = copy_numbers(states, cycle->period * size);
    cycle->image = copy_numbers(states, size);
    if (cycle->states == NULL || cycle->image == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a cycle of %zu states of %zu numbers",
                          cycle->period, size);
    }
    cycle->residual = dyn_chain_residual(list->map, cycle->states, cycle->period, work);
    list->map->kind->step(list->map, cycle->states, cycle->image);
    return find_multipliers(list, cycle, err);
}

/* A place in the list for a cycle, which is taken over: a new one, or that of the cycle it turns
 * out to be now that its position's uncertainty is known. */
static dyn_cycle *admit(dyn_cycles *list, dyn_cycle *fresh)
{
    dyn_cycle *known = find_near(list, fresh->states, fresh->period, fresh->accuracy.position);
    if (known == NULL) {
        list->items[list->n] = *fresh;
        return &list->items[list->n++];
    }
    if (fresh->accuracy.position < known->accuracy.position) {
        fresh->hits = known->hits;
        fini_cycle(known);
        *known = *fresh;
    } else {
        fini_cycle(fresh);
    }
    return known;
}

kern_status dyn_cycles_enter(dyn_cycles *list, double *states, size_t period, kern_status returns,
                             double *work, dyn_cycle **out, kern_error *err)
{
    dyn_cycle *cycle = dyn_cycles_find(list, states, period);
    if (cycle == NULL) {
        dyn_cycle fresh = {.period = period, .returns = returns};
        KERN_TRY(make_room(list, err));
        dyn_chain_normalise(list->map, states, period, list->merge, work);
        const kern_status status = describe(list, &fresh, states, work, err);
        if (status != KERN_OK) {
            fini_cycle(&fresh);
            return status;
        }
        cycle = admit(list, &fresh);
    }
    cycle->hits++;
    if (out != NULL) {
        *out = cycle;
    }
    return KERN_OK;
}

/* Insertion needs no comparison function that knows the size, and a search finds few cycles. */
void dyn_cycles_sort(dyn_cycles *list)
{
    for (size_t j = 1; j < list->n; j++) {
        for (size_t i = j; i > 0; i--) {
            const dyn_cycle a = list->items[i - 1];
            const dyn_cycle b = list->items[i];
            if (a.period < b.period ||
                (a.period == b.period &&
                 !dyn_chain_precedes(b.states, a.states, list->map->size, list->merge))) {
                break;
            }
            list->items[i - 1] = b;
            list->items[i] = a;
        }
    }
}
