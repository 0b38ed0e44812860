/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_landscape.h"

#include "kernels/kern_size.h"
#include "viz/view/view_landscape_plane.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_ROWS = 6 };

/* Height over width of what is drawn, and air around it as a share of its size. */
#define ASPECT 0.625
#define AIR    1.25

/* What a long computation is told and asks. */
typedef struct watcher {
    view_cancelled *cancelled;
    void *context;
} watcher;

static kern_status check(const watcher *w, kern_error *err)
{
    return w->cancelled != NULL && w->cancelled(w->context)
               ? kern_raise(err, KERN_INTERRUPTED, "stopped before the trajectory was followed")
               : KERN_OK;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

static kern_status path_init(view_path *p, size_t n, size_t size, kern_error *err)
{
    p->n = n;
    p->states = calloc(n, size * sizeof *p->states);
    p->a = calloc(n, PATH_ROWS * sizeof *p->a);
    if (p->states == NULL || p->a == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu states of %zu numbers", n, size);
    }
    p->b = p->a + n;
    p->energy = p->b + n;
    p->on_plane = p->energy + n;
    p->distance = p->on_plane + n;
    p->residual = p->distance + n;
    return KERN_OK;
}

static void path_fini(view_path *p)
{
    free(p->states);
    free(p->a);
}

/* The states from x on, x among them as the walk's map has it. */
static kern_status follow(const view_landscape *l, const double *x, view_path *p,
                          const watcher *watch, kern_error *err)
{
    view_walk walk;
    kern_status status = KERN_OK;
    const size_t size = l->subject->map->size;
    KERN_TRY(view_walk_init(&walk, l, err));
    double *z = malloc(size * sizeof *z);
    if (z == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", size);
    } else {
        view_walk_enter(&walk, x, z);
    }
    for (size_t t = 0; t < p->n && status == KERN_OK; t++) {
        if (t > 0) {
            walk.map->kind->step(walk.map, z, z);
        }
        view_walk_leave(&walk, z, p->states + t * size);
        status = check(watch, err);
    }
    free(z);
    view_walk_fini(&walk);
    return status;
}

/* True energies along a path, and where it falls on the plane. */
static kern_status place(view_landscape *l, view_path *p, const watcher *watch, kern_error *err)
{
    dyn_map *map = NULL;
    const dyn_map *whole = l->subject->map;
    double *by_tokens = malloc(whole->block_count * sizeof *by_tokens);
    kern_status status = KERN_OK;
    if (by_tokens == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu energies", whole->block_count);
    }
    status = whole->kind->clone(&map, whole, err);
    for (size_t t = 0; t < p->n && status == KERN_OK; t++) {
        const double *x = p->states + t * whole->size;
        dyn_plane_shadow shadow;
        dyn_plane_project(l->plane, x, &shadow);
        p->a[t] = shadow.a;
        p->b[t] = shadow.b;
        p->distance[t] = shadow.distance;
        p->residual[t] = shadow.residual;
        l->held = p == &l->path ? fmax(l->held, shadow.held) : l->held;
        map->kind->block_energies(map, x, by_tokens);
        p->energy[t] =
            l->token == MODEL_SLICE_SUM ? map->kind->energy(map, x) : by_tokens[l->token];
        status = check(watch, err);
    }
    dyn_map_destroy(map);
    free(by_tokens);
    return status;
}

static void look_up(view_landscape *l, view_path *p)
{
    l->source.energies(l->source.context, 0, p->n, p->a, p->b, p->on_plane);
}

/* Those begun at places of the plane. */
static kern_status follow_seeds(view_landscape *l, const watcher *watch, kern_error *err)
{
    const size_t size = l->subject->map->size;
    double *x = malloc(size * sizeof *x);
    kern_status status = KERN_OK;
    if (x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", size);
    }
    for (size_t i = 0; i < l->settings.n_seeds && status == KERN_OK; i++) {
        view_path *p = &l->seeds[i];
        l->n_seeds = i + 1;
        dyn_plane_point(l->plane, l->settings.seeds[2 * i], l->settings.seeds[2 * i + 1], x);
        status = path_init(p, l->path.n, size, err);
        status = status == KERN_OK ? follow(l, x, p, watch, err) : status;
        status = status == KERN_OK ? place(l, p, watch, err) : status;
        if (status == KERN_OK) {
            look_up(l, p);
        }
    }
    free(x);
    return status;
}

/* ---- What is drawn --------------------------------------------------------------------------- */

/* Distances below this are rounding: those of states that are the centre, whose place comes from
 * inner products of `size` numbers, each off by ε of the product of the lengths at most. */
static double find_noise(const dyn_plane *plane)
{
    double square = 0.0;
    for (size_t i = 0; i < plane->size; i++) {
        const size_t block = i / plane->block_width;
        square +=
            plane->moves[block] ? plane->weight[block] * plane->centre[i] * plane->centre[i] : 0.0;
    }
    return (double)plane->size * DBL_EPSILON * sqrt(square);
}

/* What the trajectory and the centre take, with a quarter of air, at least a tenth of the farthest
 * state's distance, or 1 where the trajectory rests at the centre; the shorter side is widened to
 * 8:5. On spheres nothing lies beyond the antipode. */
static void choose_range(view_landscape *l)
{
    const view_path *p = &l->path;
    const double *asked = l->settings.range;
    double box[4] = {0.0, 0.0, 0.0, 0.0};
    double farthest = 0.0;
    l->custom_range = asked[0] < asked[1] && asked[2] < asked[3];
    if (l->custom_range) {
        l->range = (dyn_slice_range){asked[0], asked[1], asked[2], asked[3]};
        return;
    }
    for (size_t t = 0; t < p->n; t++) {
        if (isfinite(p->a[t]) && isfinite(p->b[t])) {
            box[0] = fmin(box[0], p->a[t]);
            box[1] = fmax(box[1], p->a[t]);
            box[2] = fmin(box[2], p->b[t]);
            box[3] = fmax(box[3], p->b[t]);
            farthest = fmax(farthest, p->distance[t]);
        }
    }
    const double least = farthest > find_noise(l->plane) ? 0.1 * farthest : 1.0;
    const double half =
        fmax(fmax(0.5 * (box[1] - box[0]), 0.5 / ASPECT * (box[3] - box[2])) * AIR, least);
    const double across = 0.5 * (box[0] + box[1]);
    const double up = 0.5 * (box[2] + box[3]);
    l->range =
        (dyn_slice_range){across - half, across + half, up - ASPECT * half, up + ASPECT * half};
}

/* The reduced form where there is one, and the map's own energy otherwise. */
static kern_status make_source(view_landscape *l, int workers, kern_error *err)
{
    const view_subject *v = l->subject;
    const kern_status status =
        v->h == NULL ? model_slice_create(&l->slice, v->run.m, l->plane, l->token, workers, NULL)
                     : model_slice_create_layer(&l->slice, v->run.m, v->layer, v->part, v->h,
                                                l->plane, l->token, workers, NULL);
    if (status == KERN_OK) {
        l->source = model_slice_source(l->slice, false);
        l->sketch = model_slice_source(l->slice, true);
        return KERN_OK;
    }
    KERN_TRY(dyn_slice_map_create(&l->slice_map, v->map, l->plane, l->token, workers, err));
    l->source = dyn_slice_map_source(l->slice_map);
    l->sketch = l->source;
    return KERN_OK;
}

/* ---- Making it ------------------------------------------------------------------------------- */

static kern_status read_token(view_landscape *l, kern_error *err)
{
    const view_settings *s = &l->settings;
    l->token = s->token == VIEW_ALL ? MODEL_SLICE_SUM : s->token;
    if (s->token != VIEW_ALL && s->token >= l->subject->n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "token is \"%zu\"; accepted are 0 to %zu, the tokens of the prompt, and "
                          "all",
                          s->token, l->subject->n - 1);
    }
    if (s->frozen && s->token == VIEW_ALL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "frozen follows one token with the others held; token is all");
    }
    return KERN_OK;
}

static kern_status reserve_path(view_landscape *l, kern_error *err)
{
    const view_settings *s = &l->settings;
    const size_t size = l->subject->map->size;
    const size_t most = VIEW_PATH_BYTES / (size * sizeof(double));
    l->at = s->at == VIEW_LAST ? l->subject->trained : s->at;
    const size_t n = kern_size_max((s->steps > 0 ? s->steps : 2 * l->subject->trained), l->at) + 1;
    if (n > most) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is %zu; accepted are at most %zu, of which the states of this prompt "
                          "take %zu MiB",
                          l->at + 1 == n ? "at" : "steps", n - 1, most - 1, VIEW_PATH_BYTES >> 20);
    }
    return path_init(&l->path, n, size, err);
}

/* Puts the tokens that are held where they are at the step whose field is drawn. */
static void hold_others(view_landscape *l)
{
    const view_settings *s = &l->settings;
    dyn_plane *p = l->plane;
    const bool follows = s->follow && !s->frozen && s->step < l->path.n;
    l->held_at = follows ? s->step : l->at;
    const double *x = l->path.states + l->held_at * p->size;
    for (size_t block = 0; follows && block < p->block_count; block++) {
        const size_t own = block * p->block_width;
        if (!p->movable[block]) {
            memcpy(p->centre + own, x + own, p->block_width * sizeof *x);
        }
    }
}

static kern_status make(view_landscape *l, int workers, const watcher *watch, kern_error *err)
{
    const double *start = l->subject->map->start;
    KERN_TRY(read_token(l, err));
    KERN_TRY(reserve_path(l, err));
    KERN_TRY(follow(l, start, &l->path, watch, err));
    KERN_TRY(view_landscape_frame(l, l->path.states + l->at * l->subject->map->size, err));
    if (l->settings.frozen) {
        KERN_TRY(follow(l, start, &l->path, watch, err));
    }
    KERN_TRY(view_landscape_axes(l, err));
    hold_others(l);
    KERN_TRY(place(l, &l->path, watch, err));
    KERN_TRY(make_source(l, workers, err));
    look_up(l, &l->path);
    choose_range(l);
    return follow_seeds(l, watch, err);
}

static void destroy(view_landscape *l)
{
    model_slice_destroy(l->slice);
    dyn_slice_map_destroy(l->slice_map);
    dyn_plane_destroy(l->plane);
    path_fini(&l->path);
    for (size_t i = 0; i < l->n_seeds; i++) {
        path_fini(&l->seeds[i]);
    }
    view_subject_release(l->subject);
    free(l);
}

kern_status view_landscape_create(view_landscape **out, view_subject *subject,
                                  const view_settings *s, int workers, view_cancelled *cancelled,
                                  void *context, kern_error *err)
{
    const watcher watch = {cancelled, context};
    view_landscape *l = calloc(1, sizeof *l);
    *out = NULL;
    if (l == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a landscape");
    }
    atomic_init(&l->holders, 1);
    l->subject = view_subject_keep(subject);
    l->settings = *s;
    const kern_status status = make(l, workers, &watch, err);
    if (status != KERN_OK) {
        destroy(l);
        return status;
    }
    *out = l;
    return KERN_OK;
}

view_landscape *view_landscape_keep(view_landscape *landscape)
{
    (void)atomic_fetch_add(&landscape->holders, 1);
    return landscape;
}

void view_landscape_release(view_landscape *landscape)
{
    if (landscape != NULL && atomic_fetch_sub(&landscape->holders, 1) == 1) {
        destroy(landscape);
    }
}

static bool is_pair(const view_landscape *l)
{
    const dyn_plane_kind *kind = dyn_plane_kind_at((size_t)l->settings.plane);
    return strcmp(dyn_plane_kind_name(kind), "tokens") == 0;
}

bool view_landscape_moves_one(const view_landscape *landscape)
{
    return landscape->token != MODEL_SLICE_SUM && !is_pair(landscape);
}

bool view_landscape_sees_others(const view_landscape *landscape)
{
    const view_subject *v = landscape->subject;
    return landscape->token > 0 && (v->h == NULL || v->run.run.config.cem.hist == MODEL_HIST_SYNC);
}
