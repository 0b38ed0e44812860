/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_orbit.h"

#include "dyn/dyn_orbit_diagram.h"
#include "dyn/dyn_vector.h"
#include "kernels/kern_rng.h"
#include "viz/view/view_token.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 48, SETTLE = 400, COARSE = 8 };

/* How far columns start from the state at the centre, as a share of its length: near enough for the
 * same attractor, and far enough from a rest that repels for it to be left within SETTLE steps
 * where a multiplier's modulus is above 1.02. */
#define PUSH 1e-3

/* What a worker projects with: the plane with a workspace of its own, and a whole state. */
typedef struct lane {
    dyn_plane plane;
    double *numbers; /* owned: workspace, and the state, which is the centre but for the token */
} lane;

typedef struct strip {
    const view_orbit_options *o;
    const view_token *token;
    view_orbit *orbit;
    lane *lanes;
    int workers;
    double *start; /* owned: where every column starts; behind it the push, and where one ended */
    bool captures; /* the last state that is observed is kept as the end */
} strip;

/* ---- Memory ---------------------------------------------------------------------------------- */

void view_orbit_destroy(view_orbit *orbit)
{
    if (orbit != NULL) {
        free(orbit->rate);
        free(orbit->period);
        free(orbit);
    }
}

/* An orbit without values, or a copy of one. */
static kern_status make_orbit(view_orbit **out, const view_orbit *like, kern_error *err)
{
    const size_t n = like->columns;
    const size_t numbers = n * (3 + like->values);
    view_orbit *orbit = malloc(sizeof *orbit);
    double *rate = malloc(numbers * sizeof *rate);
    size_t *period = calloc(n, sizeof *period);
    if (orbit == NULL || rate == NULL || period == NULL) {
        free(orbit);
        free(rate);
        free(period);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu columns of %zu values", n,
                          like->values);
    }
    *orbit = *like;
    orbit->rate = rate;
    orbit->exponent = rate + n;
    orbit->radius = rate + 2 * n;
    orbit->a = rate + 3 * n;
    orbit->period = period;
    for (size_t i = 0; like->rate == NULL && i < numbers; i++) {
        rate[i] = (double)NAN;
    }
    if (like->rate != NULL) {
        memcpy(rate, like->rate, numbers * sizeof *rate);
        memcpy(period, like->period, n * sizeof *period);
    }
    *out = orbit;
    return KERN_OK;
}

static kern_status make_lanes(strip *s, kern_error *err)
{
    const dyn_plane *plane = s->token->landscape->plane;
    s->lanes = calloc((size_t)s->workers, sizeof *s->lanes);
    bool done = s->lanes != NULL;
    for (int i = 0; done && i < s->workers; i++) {
        lane *l = &s->lanes[i];
        l->numbers = calloc(2 * plane->size, sizeof *l->numbers);
        done = l->numbers != NULL;
        if (done) {
            l->plane = *plane;
            l->plane.work = l->numbers;
            memcpy(l->numbers + plane->size, plane->centre, plane->size * sizeof *l->numbers);
        }
    }
    return done ? KERN_OK : kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers", s->workers);
}

static void free_lanes(strip *s)
{
    for (int i = 0; s->lanes != NULL && i < s->workers; i++) {
        free(s->lanes[i].numbers);
    }
    free(s->lanes);
}

/* The state at the centre, and a direction of no meaning to push it. */
static kern_status make_start(strip *s, kern_error *err)
{
    const dyn_map *map = s->token->map;
    kern_rng *rng = kern_rng_create(1, "orbit strip", 0);
    s->start = calloc(3 * map->size, sizeof *s->start);
    if (rng == NULL || s->start == NULL) {
        kern_rng_destroy(rng);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a state of %zu numbers", map->size);
    }
    const double length = dyn_vector_norm(map->start, map->size) / sqrt((double)map->size);
    double *push = s->start + map->size;
    for (size_t i = 0; i < map->size; i++) {
        push[i] = PUSH * length * kern_rng_normal(rng);
        s->start[i] = map->start[i] + push[i];
    }
    kern_rng_destroy(rng);
    return KERN_OK;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static double observe(void *context, int worker, const double *z)
{
    strip *s = context;
    const size_t size = s->token->map->size;
    if (s->captures) {
        memcpy(s->start + 2 * size, z, size * sizeof *z);
    }
    lane *l = &s->lanes[worker];
    double *state = l->numbers + l->plane.size;
    dyn_plane_shadow shadow;
    view_token_leave(s->token, z, state + s->token->index * l->plane.block_width);
    dyn_plane_project(&l->plane, state, &shadow);
    return shadow.a;
}

static bool goes_on(void *context, size_t done, size_t total)
{
    const strip *s = context;
    (void)done;
    (void)total;
    return s->o->cancelled == NULL || !s->o->cancelled(s->o->context);
}

static double rate_of(const strip *s, size_t column)
{
    const view_orbit_options *o = s->o;
    return o->columns > 1
               ? o->from + (o->to - o->from) * ((double)column / (double)(o->columns - 1))
               : o->from;
}

/* Column `column` of the strip. A period of an orbit that rounding has put on a repelling cycle is
 * none. */
static void take_column(view_orbit *orbit, size_t column, const dyn_orbit_column *c)
{
    orbit->rate[column] = c->parameter;
    orbit->period[column] = c->collapsed ? 0 : c->period;
    orbit->exponent[column] = c->exponent;
    memcpy(orbit->a + column * orbit->values, c->values, c->n * sizeof *orbit->a);
    for (size_t i = 0; i < c->n; i++) {
        const double a = c->values[i];
        if (isfinite(a)) {
            orbit->low = a >= orbit->low ? orbit->low : a;
            orbit->high = a <= orbit->high ? orbit->high : a;
        }
    }
    orbit->done++;
}

/* Columns first, first + stride, … of the strip. */
static kern_status compute_columns(strip *s, size_t first, size_t stride, kern_error *err)
{
    view_orbit *orbit = s->orbit;
    const size_t count = first < orbit->columns ? (orbit->columns - 1 - first) / stride + 1 : 0;
    dyn_orbit_diagram *diagram = NULL;
    dyn_orbit_diagram_options o = dyn_orbit_diagram_defaults();
    if (count == 0) {
        return KERN_OK;
    }
    o.vary = view_token_rate(s->token);
    o.from = rate_of(s, first);
    o.to = rate_of(s, first + (count - 1) * stride);
    o.columns = count;
    o.ttr = s->o->settle > 0 ? s->o->settle : SETTLE;
    o.values = orbit->values;
    o.x0 = s->start;
    o.observe = observe;
    o.observer = s;
    o.workers = s->captures ? 1 : s->workers;
    o.progress = goes_on;
    o.context = s;
    KERN_TRY(dyn_orbit_diagram_create(&diagram, s->token->map, &o, err));
    for (size_t i = 0; i < count; i++) {
        take_column(orbit, first + i * stride, &diagram->columns[i]);
    }
    dyn_orbit_diagram_destroy(diagram);
    return view_token_check(s->token, err);
}

static kern_status emit(const strip *s, kern_error *err)
{
    view_orbit *partial = NULL;
    if (s->o->emit == NULL || s->orbit->done == s->orbit->columns) {
        return KERN_OK;
    }
    KERN_TRY(make_orbit(&partial, s->orbit, err));
    s->o->emit(s->o->context, partial);
    return KERN_OK;
}

static bool all_finite(const double *x, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        finite = finite && isfinite(x[i]);
    }
    return finite;
}

/* One column after another, each beside the end of the one before, or at the centre where that was
 * lost. */
static kern_status compute_following(strip *s, kern_error *err)
{
    const dyn_map *map = s->token->map;
    const double *push = s->start + map->size;
    double *end = s->start + 2 * map->size;
    s->captures = true;
    for (size_t i = 0; i < s->orbit->columns; i++) {
        end[0] = (double)NAN; /* until a state is kept */
        KERN_TRY(compute_columns(s, i, s->orbit->columns, err));
        const double *from = all_finite(end, map->size) ? end : map->start;
        for (size_t k = 0; k < map->size; k++) {
            s->start[k] = from[k] + push[k];
        }
        if ((i + 1) % COARSE == 0) {
            KERN_TRY(emit(s, err));
        }
    }
    return KERN_OK;
}

/* Every so many columns, then those half-way between, and so on. */
static kern_status compute(strip *s, kern_error *err)
{
    if (s->o->follow) {
        return compute_following(s, err);
    }
    size_t stride = 1;
    while (2 * stride * COARSE <= s->o->columns) {
        stride *= 2;
    }
    KERN_TRY(compute_columns(s, 0, stride, err));
    for (; stride > 1; stride /= 2) {
        KERN_TRY(emit(s, err));
        KERN_TRY(compute_columns(s, stride / 2, stride, err));
    }
    return KERN_OK;
}

/* The rest's multipliers at all rates, also those of columns that are not computed yet. */
static kern_status find_radii(const strip *s, kern_error *err)
{
    for (size_t i = 0; i < s->orbit->columns; i++) {
        s->orbit->radius[i] = rate_of(s, i);
    }
    return view_landmarks_radii(s->orbit->radius, s->orbit->columns, s->token->landscape,
                                s->o->cancelled, s->o->context, err);
}

kern_status view_orbit_create(view_orbit **out, const view_landscape *landscape,
                              const view_orbit_options *options, kern_error *err)
{
    view_token token;
    strip s = {
        .o = options, .token = &token, .workers = options->workers > 1 ? options->workers : 1};
    const view_orbit empty = {.columns = options->columns,
                              .values = options->values > 0 ? options->values : VALUES,
                              .from = options->from,
                              .to = options->to,
                              .span = landscape->range.a_high - landscape->range.a_low,
                              .low = (double)NAN,
                              .high = (double)NAN};
    *out = NULL;
    if (options->columns == 0 || !isfinite(options->from) || !isfinite(options->to)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu columns of rates from %g to %g are none; accepted are one column or "
                          "more and finite rates",
                          options->columns, options->from, options->to);
    }
    KERN_TRY(view_token_init(&token, landscape, VIEW_TOKEN_ALONE, options->cancelled,
                             options->context, err));
    kern_status status = make_orbit(&s.orbit, &empty, err);
    status = status == KERN_OK ? make_lanes(&s, err) : status;
    status = status == KERN_OK ? make_start(&s, err) : status;
    status = status == KERN_OK ? find_radii(&s, err) : status;
    status = status == KERN_OK ? compute(&s, err) : status;
    free_lanes(&s);
    free(s.start);
    view_token_fini(&token);
    if (status != KERN_OK) {
        view_orbit_destroy(s.orbit);
        return status;
    }
    *out = s.orbit;
    return KERN_OK;
}
