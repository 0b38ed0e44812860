/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The map along whose states a trajectory is followed: at a rate, with pinned scales, or of a token
 * alone.
 */
#include "viz/view/view_landscape.h"

#include "dyn/dyn_chart.h"
#include "dyn/dyn_frozen.h"
#include "models/model_dynamics.h"

#include <stdlib.h>
#include <string.h>

/* Takes over `inner`, also when it fails. */
static kern_status pin(dyn_map **out, dyn_map *inner, double rate, kern_error *err)
{
    kern_status status = KERN_OK;
    double *x = malloc(inner->size * sizeof *x);
    *out = NULL;
    if (x == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", inner->size);
    } else {
        model_dynamics_trained_state(inner, x);
        status = dyn_chart_create(out, inner, x, NULL, err);
    }
    if (status == KERN_OK) {
        (*out)->params[DYN_CHART_RATE] = rate;
    }
    free(x);
    dyn_map_destroy(inner);
    return status;
}

/* Takes over `inner`, also when it fails. */
static kern_status freeze(dyn_map **out, dyn_map *inner, const view_landscape *l, kern_error *err)
{
    kern_status status = KERN_OK;
    double *state = malloc(inner->size * sizeof *state);
    *out = NULL;
    if (state == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", inner->size);
    } else {
        memcpy(state, l->plane->centre, inner->size * sizeof *state);
        if (dyn_chart_is(inner)) {
            dyn_chart_split(l->subject->map, state, state, NULL);
        }
        status = dyn_frozen_create(out, inner, l->token, state, err);
    }
    free(state);
    dyn_map_destroy(inner);
    return status;
}

static kern_status make_map(dyn_map **out, const view_landscape *l, bool frozen, kern_error *err)
{
    const view_settings *s = &l->settings;
    const dyn_map *whole = l->subject->map;
    dyn_map *map = NULL;
    *out = NULL;
    if (s->pin && whole->gauge == DYN_GAUGE_NONE) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "pin holds the scales behind a norm, and this map has no norm in front "
                          "of its update");
    }
    KERN_TRY(whole->kind->clone(&map, whole, err));
    if (s->pin) {
        KERN_TRY(pin(&map, map, s->rate, err));
    } else {
        const kern_status status = dyn_map_set_param(map, "step_scale", s->rate, err);
        if (status != KERN_OK) {
            dyn_map_destroy(map);
            return status;
        }
    }
    if (frozen) {
        KERN_TRY(freeze(&map, map, l, err));
    }
    *out = map;
    return KERN_OK;
}

kern_status view_landscape_map(dyn_map **out, const view_landscape *landscape, kern_error *err)
{
    return make_map(out, landscape, landscape->settings.frozen, err);
}

/* Of a pinned map; the chart is inside a frozen one, whose scales are those of the same state. */
static kern_status find_scales(view_walk *w, kern_error *err)
{
    dyn_map *chart = NULL;
    const size_t n = w->landscape->subject->map->block_count;
    w->sigma = malloc(n * sizeof *w->sigma);
    if (w->sigma == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu scales", n);
    }
    KERN_TRY(make_map(&chart, w->landscape, false, err));
    memcpy(w->sigma, dyn_chart_sigma(chart), n * sizeof *w->sigma);
    dyn_map_destroy(chart);
    return KERN_OK;
}

/* Where tokens stay that are held one by one; of a token alone, all others are anyway. Before there
 * is a plane, nothing is. */
static kern_status find_still(view_walk *w, kern_error *err)
{
    const view_landscape *l = w->landscape;
    if (l->settings.n_held == 0 || l->settings.frozen || l->plane == NULL) {
        return KERN_OK;
    }
    double *still = malloc(w->map->size * sizeof *still);
    if (still == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", w->map->size);
    }
    view_walk_enter(w, l->plane->centre, still);
    w->still = still;
    return KERN_OK;
}

static void hold(const view_walk *walk, double *z)
{
    const view_settings *s = &walk->landscape->settings;
    const size_t width = walk->map->block_width;
    for (size_t i = 0; walk->still != NULL && i < s->n_held; i++) {
        const size_t first = s->held[i] * width;
        if (first < walk->map->size) {
            memcpy(z + first, walk->still + first, width * sizeof *z);
        }
    }
}

kern_status view_walk_init(view_walk *walk, const view_landscape *landscape, kern_error *err)
{
    const size_t size = landscape->subject->map->size;
    *walk = (view_walk){.landscape = landscape};
    /* Before there is a plane, nothing is held: the whole model leads to its centre. */
    kern_status status = make_map(&walk->map, landscape,
                                  landscape->settings.frozen && landscape->plane != NULL, err);
    walk->whole = malloc(size * sizeof *walk->whole);
    if (status == KERN_OK && walk->whole == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", size);
    }
    if (status == KERN_OK && landscape->settings.pin) {
        status = find_scales(walk, err);
    }
    status = status == KERN_OK ? find_still(walk, err) : status;
    if (status != KERN_OK) {
        view_walk_fini(walk);
    }
    return status;
}

void view_walk_fini(view_walk *walk)
{
    dyn_map_destroy(walk->map);
    free(walk->sigma);
    free(walk->whole);
    free(walk->still);
    *walk = (view_walk){0};
}

/* Where the map's own numbers begin in a whole state. */
static size_t first_of(const view_walk *walk)
{
    const dyn_map *whole = walk->landscape->subject->map;
    return walk->map->size < whole->size ? walk->landscape->token * whole->block_width : 0;
}

void view_walk_enter(view_walk *walk, const double *x, double *z)
{
    const double *from = x;
    if (walk->sigma != NULL) {
        dyn_chart_split(walk->landscape->subject->map, x, walk->whole, NULL);
        from = walk->whole;
    }
    memmove(z, from + first_of(walk), walk->map->size * sizeof *z);
    hold(walk, z);
}

void view_walk_step(view_walk *walk, double *z)
{
    walk->map->kind->step(walk->map, z, z);
    hold(walk, z);
}

void view_walk_leave(view_walk *walk, const double *z, double *x)
{
    const dyn_map *whole = walk->landscape->subject->map;
    const size_t first = first_of(walk);
    const bool part = walk->map->size < whole->size;
    memcpy(walk->whole + first, z, walk->map->size * sizeof *z);
    for (size_t i = 0; walk->sigma != NULL && i < walk->map->size; i++) {
        walk->whole[first + i] *= walk->sigma[(first + i) / whole->block_width];
    }
    if (part) {
        memcpy(x, walk->landscape->plane->centre, whole->size * sizeof *x);
    }
    memcpy(x + first, walk->whole + first, walk->map->size * sizeof *x);
}
