/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_landscape.h"

#include "dyn/dyn_plane_chart.h"
#include "kernels/kern_size.h"
#include "viz/view/view_landscape_plane.h"
#include "viz/view/view_landscape_rim.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Height over width of what is drawn, and air around it as a share of its size. */
#define ASPECT 0.625
#define AIR    1.25

/* The same where a chart's rim is seen whole. */
#define RIM_AIR 1.04

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
            view_walk_step(&walk, z);
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
        if (p == &l->path) {
            memcpy(l->by_token + t * whole->block_count, by_tokens,
                   whole->block_count * sizeof *by_tokens);
        }
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

/* x = the state at the place of a seed. */
static kern_status start_seed(const view_landscape *l, size_t i, double *x, kern_error *err)
{
    const double *at = l->settings.seeds + 2 * i;
    if (!dyn_plane_has(l->plane, at[0], at[1])) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "seeds has (%.6g, %.6g), which is outside of the %s chart and has no "
                          "state",
                          at[0], at[1], dyn_plane_chart_word(l->plane->chart));
    }
    dyn_plane_point(l->plane, at[0], at[1], x);
    return KERN_OK;
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
        status = start_seed(l, i, x, err);
        status = status == KERN_OK ? view_landscape_path(p, l->path.n, size, err) : status;
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

/* Length of what moves at the centre. */
static double find_size(const dyn_plane *plane)
{
    double square = 0.0;
    for (size_t i = 0; i < plane->size; i++) {
        const size_t block = i / plane->block_width;
        square +=
            plane->moves[block] ? plane->weight[block] * plane->centre[i] * plane->centre[i] : 0.0;
    }
    return sqrt(square);
}

/* Distances below this are rounding: those of states that are the centre, whose place comes from
 * inner products of `size` numbers, each off by ε of the product of the lengths at most. */
static double find_noise(const dyn_plane *plane)
{
    return (double)plane->size * DBL_EPSILON * find_size(plane);
}

/* Distance of a state at an angle from the centre, in units of the sphere's radius. */
static double find_reach(const dyn_plane *plane, double angle)
{
    const dyn_plane_chart_kind *chart = dyn_plane_chart_at(plane->chart);
    return chart->inverse == NULL ? (double)INFINITY : chart->inverse(cos(angle), sin(angle), 0.0);
}

/* What states take that have a place: the part up to the angle from which on the chart draws them
 * out. Returns the farthest one's distance, as far as that. */
static double widen_box(const view_landscape *l, const view_path *p, double box[4])
{
    const double span = dyn_plane_chart_at(l->plane->chart)->span;
    const double most = find_reach(l->plane, span);
    double farthest = 0.0;
    for (size_t t = 0; t < p->n; t++) {
        if (isfinite(p->a[t]) && isfinite(p->b[t])) {
            const double angle = dyn_plane_angle(l->plane, p->a[t], p->b[t]);
            const double part = angle > span ? most / find_reach(l->plane, angle) : 1.0;
            box[0] = fmin(box[0], part * p->a[t]);
            box[1] = fmax(box[1], part * p->a[t]);
            box[2] = fmin(box[2], part * p->b[t]);
            box[3] = fmax(box[3], part * p->b[t]);
            farthest = fmax(farthest, fmin(p->distance[t], most * find_size(l->plane)));
        }
    }
    return farthest;
}

static double find_box(const view_landscape *l, double box[4])
{
    double farthest = widen_box(l, &l->path, box);
    for (size_t i = 0; i < l->n_also; i++) {
        farthest = fmax(farthest, widen_box(l, &l->others[i], box));
    }
    return farthest;
}

/* What the trajectory and the centre take, with a quarter of air, at least a tenth of the farthest
 * state's distance, or 1 where the trajectory rests at the centre; the shorter side is widened to
 * 8:5. A chart that ends is shown whole rather than with more around it. */
static void choose_range(view_landscape *l)
{
    const double *asked = l->settings.range;
    double box[4] = {0.0, 0.0, 0.0, 0.0};
    l->custom_range = asked[0] < asked[1] && asked[2] < asked[3];
    if (l->custom_range) {
        l->range = (dyn_slice_range){asked[0], asked[1], asked[2], asked[3]};
        return;
    }
    const double farthest = find_box(l, box);
    const double rim =
        fmax(dyn_plane_rim(l->plane, 1.0, 0.0), dyn_plane_rim(l->plane, 0.0, 1.0) / ASPECT);
    const double least = farthest > find_noise(l->plane) ? 0.1 * farthest : 1.0;
    const double wide =
        fmax(fmax(0.5 * (box[1] - box[0]), 0.5 / ASPECT * (box[3] - box[2])) * AIR, least);
    const bool whole = wide >= RIM_AIR * rim;
    const double half = whole ? RIM_AIR * rim : wide;
    const double across = whole ? 0.0 : 0.5 * (box[0] + box[1]);
    const double up = whole ? 0.0 : 0.5 * (box[2] + box[3]);
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

/* Tokens that are held are others than the chosen one, and there; and one moves. */
static kern_status check_held(const view_landscape *l, kern_error *err)
{
    const view_settings *s = &l->settings;
    const size_t tokens = l->subject->n;
    for (size_t i = 0; i < s->n_held; i++) {
        if (s->held[i] >= tokens) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "held has %zu; accepted are 0 to %zu, the tokens of the prompt",
                              s->held[i], tokens - 1);
        }
        if (s->held[i] == l->token) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "held has %zu, the token whose trajectory is drawn, which would not "
                              "move",
                              s->held[i]);
        }
    }
    /* A set: as many numbers as there are tokens are all of them. */
    return s->n_held < tokens
               ? KERN_OK
               : kern_raise(
                     err, KERN_INVALID_ARGUMENT,
                     "held has all %zu tokens of the prompt, and then nothing moves; accepted "
                     "are %zu of them at most",
                     tokens, tokens - 1);
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
    l->by_token = calloc(n, l->subject->map->block_count * sizeof *l->by_token);
    if (l->by_token == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the energies of %zu states", n);
    }
    return view_landscape_path(&l->path, n, size, err);
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

/* That of the step before, where the field follows the step. */
static kern_status make_before(view_landscape *l, int workers, const watcher *watch,
                               kern_error *err)
{
    view_settings s = l->settings;
    if (!s.ghost || !s.follow || s.frozen || s.step == 0 || s.step >= l->path.n ||
        l->token == MODEL_SLICE_SUM || !view_landscape_sees_others(l)) {
        return KERN_OK;
    }
    s.ghost = false;
    s.step--;
    return view_landscape_create(&l->before, l->subject, &s, workers, watch->cancelled,
                                 watch->context, err);
}

static kern_status make(view_landscape *l, int workers, const watcher *watch, kern_error *err)
{
    const double *start = l->subject->map->start;
    KERN_TRY(read_token(l, err));
    KERN_TRY(check_held(l, err));
    KERN_TRY(reserve_path(l, err));
    KERN_TRY(follow(l, start, &l->path, watch, err));
    KERN_TRY(view_landscape_frame(l, l->path.states + l->at * l->subject->map->size, err));
    if (l->settings.frozen || l->settings.n_held > 0) {
        KERN_TRY(follow(l, start, &l->path, watch, err));
    }
    KERN_TRY(view_landscape_axes(l, err));
    hold_others(l);
    KERN_TRY(place(l, &l->path, watch, err));
    KERN_TRY(make_source(l, workers, err));
    look_up(l, &l->path);
    KERN_TRY(view_landscape_also(l, err));
    for (size_t i = 0; i < l->n_also; i++) {
        look_up(l, &l->others[i]);
    }
    choose_range(l);
    view_landscape_trace_rim(l);
    KERN_TRY(make_before(l, workers, watch, err));
    return follow_seeds(l, watch, err);
}

static void destroy(view_landscape *l)
{
    model_slice_destroy(l->slice);
    dyn_slice_map_destroy(l->slice_map);
    dyn_plane_destroy(l->plane);
    view_landscape_path_fini(&l->path);
    free(l->by_token);
    view_landscape_release(l->before);
    for (size_t i = 0; i < l->n_seeds; i++) {
        view_landscape_path_fini(&l->seeds[i]);
    }
    for (size_t i = 0; i < l->n_also; i++) {
        view_landscape_path_fini(&l->others[i]);
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
