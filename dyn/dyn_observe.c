/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_observe.h"

#include "dyn/dyn_chart.h"
#include "dyn/dyn_state.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_TEXT = 128 };

/* ---- Observables -------------------------------------------------------------------------- */

static void observe_sigma(dyn_observer *o, const double *x, double *out)
{
    dyn_chart_split(o->map, x, NULL, out);
}

static void observe_mean(dyn_observer *o, const double *x, double *out)
{
    const size_t width = o->map->block_width;
    for (size_t a = 0; a < o->map->block_count; a++) {
        out[a] = 0.0;
        for (size_t i = 0; i < width; i++) {
            out[a] += x[a * width + i] / (double)width;
        }
    }
}

static void observe_length(dyn_observer *o, const double *x, double *out)
{
    const size_t width = o->map->block_width;
    for (size_t a = 0; a < o->map->block_count; a++) {
        double sum = 0.0;
        for (size_t i = 0; i < width; i++) {
            sum += x[a * width + i] * x[a * width + i];
        }
        out[a] = sqrt(sum);
    }
}

static void observe_move(dyn_observer *o, const double *x, double *out)
{
    const size_t width = o->map->block_width;
    double *image = o->work;
    o->map->kind->step(o->map, x, image);
    dyn_state_difference(o->map, image, x, image);
    for (size_t a = 0; a < o->map->block_count; a++) {
        out[a] = 0.0;
        for (size_t i = 0; i < width; i++) {
            const double moved = fabs(image[a * width + i]);
            out[a] = moved <= out[a] ? out[a] : moved; /* NaN comes through */
        }
    }
}

static void observe_energy(dyn_observer *o, const double *x, double *out)
{
    if (o->map->kind->block_energies != NULL) {
        o->map->kind->block_energies(o->map, x, out);
    } else {
        out[0] = o->map->kind->energy(o->map, x);
    }
}

static bool has_anything(const dyn_map *map)
{
    (void)map;
    return true;
}

static bool has_norm(const dyn_map *map)
{
    return map->gauge != DYN_GAUGE_NONE;
}

static bool has_energy(const dyn_map *map)
{
    return map->kind->block_energies != NULL ||
           (map->block_count == 1 && map->kind->energy != NULL);
}

static const struct {
    const char *word;
    void (*write)(dyn_observer *observer, const double *x, double *out);
    bool (*exists)(const dyn_map *map);
} observables[DYN_OBSERVE_COUNT] = {
    [DYN_OBSERVE_SIGMA] = {"sigma", observe_sigma, has_norm},
    [DYN_OBSERVE_MEAN] = {"mean", observe_mean, has_anything},
    [DYN_OBSERVE_LENGTH] = {"length", observe_length, has_anything},
    [DYN_OBSERVE_MOVE] = {"move", observe_move, has_anything},
    [DYN_OBSERVE_ENERGY] = {"energy", observe_energy, has_energy},
};

const char *dyn_observable_word(dyn_observable observable)
{
    return observable < DYN_OBSERVE_COUNT ? observables[observable].word : "unknown";
}

/* ---- Observers ---------------------------------------------------------------------------- */

static dyn_observable find(const char *name, size_t length)
{
    size_t i = 0;
    while (i < DYN_OBSERVE_COUNT && (strlen(observables[i].word) != length ||
                                     strncmp(observables[i].word, name, length) != 0)) {
        i++;
    }
    return (dyn_observable)i;
}

/* Names of what the map has. */
static void list_names(const dyn_map *map, char text[NAMES_TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < DYN_OBSERVE_COUNT; i++) {
        if (observables[i].exists(map)) {
            const int n = snprintf(text + used, NAMES_TEXT - used, "%s%s", used > 0 ? ", " : "",
                                   observables[i].word);
            used += n > 0 ? kern_size_min((size_t)n, NAMES_TEXT - 1 - used) : 0;
        }
    }
}

static kern_status add(dyn_observer *observer, const char *name, size_t length, kern_error *err)
{
    char names[NAMES_TEXT];
    const dyn_map *map = observer->map;
    const dyn_observable which = find(name, length);
    if (which == DYN_OBSERVE_COUNT || !observables[which].exists(map)) {
        list_names(map, names);
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "map %s has no observable \"%.*s\"; accepted are %s", map->kind->name,
                          (int)kern_size_min(length, 40), name, names);
    }
    for (size_t i = 0; i < observer->n; i++) {
        if (observer->which[i] == which) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the observable %s is given twice; accepted is once",
                              observables[which].word);
        }
    }
    observer->which[observer->n++] = which;
    return KERN_OK;
}

kern_status dyn_observer_init(dyn_observer *observer, dyn_map *map, const char *names,
                              kern_error *err)
{
    *observer = (dyn_observer){.map = map};
    for (const char *name = names;; name++) {
        const size_t length = strcspn(name, ",");
        KERN_TRY(add(observer, name, length, err));
        name += length;
        if (*name == '\0') {
            break;
        }
    }
    observer->work = calloc(map->size, sizeof *observer->work);
    return observer->work != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY, "no memory for a state of %zu numbers", map->size);
}

void dyn_observer_fini(dyn_observer *observer)
{
    free(observer->work);
    *observer = (dyn_observer){0};
}

void dyn_observer_write(void *context, size_t step, const double *x, double *observed)
{
    dyn_observer *observer = context;
    (void)step;
    for (size_t i = 0; i < observer->n; i++) {
        observables[observer->which[i]].write(observer, x,
                                              observed + i * observer->map->block_count);
    }
}
