/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_basins.h"

#include "dyn/dyn_basins.h"
#include "viz/view/view_token.h"
#include "viz/viz_basins_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCH = 4, STAY = 5, ATTRACTORS_MOST = 200 };

/* Directions have coordinates of root mean square 1; the radius of arrival is a hundredth of this,
 * or less where attractors are close. */
#define UNIT 1.0

/* One call. */
typedef struct job {
    const view_token *token;
    view_basins *out;
    dyn_basins found;
    double *ends; /* owned; corners of a box of the unit's size: low, then high */
    size_t *rank; /* owned; by attractor: its place by falling share, from 0 */
} job;

/* ---- Starts ---------------------------------------------------------------------------------- */

static double place(double low, double high, size_t i, size_t n)
{
    return n > 1 ? low + (high - low) * ((double)i / (double)(n - 1)) : 0.5 * (low + high);
}

/* The map's state at a place of the plane. */
static void take_place(const view_token *t, double a, double b, double *z)
{
    const dyn_plane *plane = t->landscape->plane;
    const size_t w = plane->block_width;
    if (t->whole) {
        dyn_plane_point(plane, a, b, z);
    } else {
        double k[3];
        const size_t first = t->index * w;
        dyn_plane_weights(plane, t->index, a, b, k);
        for (size_t i = 0; i < w; i++) {
            z[i] = k[0] * plane->centre[first + i] + k[1] * plane->axes[0][first + i] +
                   k[2] * plane->axes[1][first + i];
        }
    }
    view_token_enter(t, z, z);
}

static void tell(const void *context, size_t index, size_t size, double *z)
{
    const job *j = context;
    const viz_lattice *g = &j->out->lattice;
    (void)size;
    take_place(j->token, place(g->x0, g->x1, index % g->nx, g->nx),
               place(g->y0, g->y1, index / g->nx, g->ny), z);
}

/* The state at a corner of the range, or at a chart's rim on the way there. */
static void take_corner(const view_token *t, double a, double b, double *z)
{
    const double rim = dyn_plane_rim(t->landscape->plane, a, b) * (1.0 - 1e-12);
    const double share = rim < 1.0 ? rim : 1.0;
    take_place(t, share * a, share * b, z);
}

/* A box whose longest side is the length that the radius of arrival is a part of. */
static kern_status make_box(job *j, kern_error *err)
{
    const view_token *t = j->token;
    const size_t size = t->map->size;
    double unit = UNIT;
    j->ends = calloc(2 * size, sizeof *j->ends);
    if (j->ends == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", 2 * size);
    }
    if (!t->chart) {
        const viz_lattice *g = &j->out->lattice;
        take_corner(t, g->x0, g->y0, j->ends);
        take_corner(t, g->x1, g->y1, j->ends + size);
        unit = dyn_map_distance(t->map, j->ends, j->ends + size);
    }
    for (size_t i = 0; i < size; i++) {
        j->ends[i] = -0.5 * unit;
        j->ends[size + i] = 0.5 * unit;
    }
    return KERN_OK;
}

/* ---- Following ------------------------------------------------------------------------------- */

static bool goes_on(void *context, size_t done, size_t total)
{
    const job *j = context;
    (void)done;
    (void)total;
    return j->token->cancelled == NULL || !j->token->cancelled(j->token->context);
}

/* Orbits of a trained model settle in tens of steps or not at all, so verifying is asked less than
 * it is by default. */
static kern_status follow(job *j, int workers, kern_error *err)
{
    const viz_lattice *g = &j->out->lattice;
    dyn_basins_options o = dyn_basins_options_default();
    while (o.method < dyn_basins_method_count &&
           strcmp(dyn_basins_methods[o.method]->name, "proximity") != 0) {
        o.method++;
    }
    KERN_TRY(make_box(j, err));
    o.starts =
        (dyn_basin_starts){.kind = DYN_BASIN_TOLD, .n = g->nx * g->ny, .tell = tell, .context = j};
    o.low = j->ends;
    o.high = j->ends + j->token->map->size;
    o.outside = 0;
    o.horizon = VIEW_BASINS_STEPS;
    o.verify.ttr = 100;
    o.verify.confirm = 1000;
    o.verify.exponent_steps = 200;
    o.verify.samples = 200;
    o.stay = STAY;
    o.search = SEARCH;
    o.most_attractors = ATTRACTORS_MOST;
    o.workers = workers;
    o.progress = goes_on;
    o.context = j;
    KERN_TRY(dyn_basins_init(&j->found, j->token->map, &o, err));
    return view_token_check(j->token, err);
}

/* ---- Classes --------------------------------------------------------------------------------- */

static kern_status rank_attractors(job *j, kern_error *err)
{
    const dyn_basins *f = &j->found;
    j->rank = calloc(f->n_attractors + 1, sizeof *j->rank);
    if (j->rank == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu attractors", f->n_attractors);
    }
    for (size_t i = 0; i < f->n_attractors; i++) {
        for (size_t k = 0; k < f->n_attractors; k++) {
            const size_t more = f->attractors[k].count;
            const size_t own = f->attractors[i].count;
            j->rank[i] += more > own || (more == own && k < i) ? 1 : 0;
        }
    }
    return KERN_OK;
}

static int32_t label_of(const job *j, size_t index)
{
    const viz_lattice *g = &j->out->lattice;
    const int32_t label = j->found.labels[index];
    const double a = place(g->x0, g->x1, index % g->nx, g->nx);
    const double b = place(g->y0, g->y1, index / g->nx, g->ny);
    if (!dyn_plane_has(j->token->landscape->plane, a, b)) {
        return VIEW_BASINS_OUTSIDE;
    }
    if (label > 0) {
        const size_t rank = j->rank[label - 1];
        return rank < VIEW_BASINS_MAX ? (int32_t)rank + 1 : VIEW_BASINS_OTHERS;
    }
    return label == DYN_BASIN_DIVERGED || label == DYN_BASIN_NAN ? VIEW_BASINS_NOT_FINITE
                                                                 : VIEW_BASINS_UNRESOLVED;
}

/* A class by the name that stands in names[n_classes], unless no place has it. */
static void add_class(view_basins *b, int32_t label, size_t rank)
{
    const size_t n = b->lattice.nx * b->lattice.ny;
    viz_class *class = &b->classes[b->n_classes];
    char *name = b->names[b->n_classes];
    char *legend = b->legends[b->n_classes];
    char share[VIZ_BASINS_SHARE];
    char text[sizeof b->names[0]];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += b->labels[i] == label ? 1 : 0;
    }
    if (count == 0) {
        return;
    }
    const double fraction = (double)count / (double)(n - b->n_outside);
    viz_basins_format_share(share, 100.0 * fraction);
    memcpy(text, name, sizeof text);
    (void)snprintf(legend, sizeof b->legends[0], "%s, %s\xe2\x80\xaf%%", text, share);
    *class = (viz_class){.label = label, .name = name, .legend = legend};
    if (label > 0) {
        viz_basins_dress_attractor(class, rank);
    } else {
        viz_basins_dress_outcome(class, rank);
    }
    b->n_unresolved = label == VIEW_BASINS_UNRESOLVED ? count : b->n_unresolved;
    b->n_not_finite = label == VIEW_BASINS_NOT_FINITE ? count : b->n_not_finite;
    b->fraction[b->n_classes++] = fraction;
}

static void name_attractor(view_basins *b, size_t rank, size_t period)
{
    char *name = b->names[b->n_classes];
    if (period == 1) {
        (void)snprintf(name, sizeof b->names[0], "%zu: at rest", rank + 1);
    } else if (period > 1) {
        (void)snprintf(name, sizeof b->names[0], "%zu: period %zu", rank + 1, period);
    } else {
        (void)snprintf(name, sizeof b->names[0], "%zu: not periodic", rank + 1);
    }
}

static void add_outcome(view_basins *b, int32_t label, const char *name)
{
    (void)snprintf(b->names[b->n_classes], sizeof b->names[0], "%s", name);
    add_class(b, label, (size_t)(-1 - label));
}

/* Places without a state: in the colour of the page, without a share of those that have one, and
 * without an entry, whose colour would not be seen. */
static void add_outside(view_basins *b)
{
    if (b->n_outside > 0) {
        (void)snprintf(b->names[b->n_classes], sizeof b->names[0], "outside of the chart");
        b->classes[b->n_classes] = (viz_class){.label = VIEW_BASINS_OUTSIDE,
                                               .name = b->names[b->n_classes],
                                               .paint = viz_paint_of(VIZ_PAINT_PAGE)};
        b->n_classes++;
    }
}

/* Entries for the largest attractors only, and one for all others, so that a legend stays one. */
static void shorten_legend(view_basins *b)
{
    char share[VIZ_BASINS_SHARE];
    const size_t first = VIEW_BASINS_NAMED;
    double rest = 0.0;
    if (b->n_classes <= first + 1) {
        return;
    }
    for (size_t i = first; i < b->n_classes; i++) {
        rest += b->fraction[i];
        b->classes[i].legend = NULL;
    }
    viz_basins_format_share(share, 100.0 * rest);
    (void)snprintf(b->legends[first], sizeof b->legends[0], "%zu to %zu: together %s\xe2\x80\xaf%%",
                   first + 1, b->n_classes, share);
    b->classes[first].legend = b->legends[first];
}

static void add_classes(job *j)
{
    const dyn_basins *f = &j->found;
    view_basins *b = j->out;
    for (size_t rank = 0; rank < f->n_attractors && rank < VIEW_BASINS_MAX; rank++) {
        for (size_t i = 0; i < f->n_attractors; i++) {
            if (j->rank[i] == rank) {
                name_attractor(b, rank, f->attractors[i].period);
                add_class(b, (int32_t)rank + 1, rank);
            }
        }
    }
    shorten_legend(b);
    add_outcome(b, VIEW_BASINS_OTHERS, "further attractors");
    add_outcome(b, VIEW_BASINS_UNRESOLVED, "not settled");
    add_outcome(b, VIEW_BASINS_NOT_FINITE, "not finite");
    add_outside(b);
}

/* Labels, and lightness by the logarithm of the steps. */
static void take_labels(job *j)
{
    view_basins *b = j->out;
    const size_t n = b->lattice.nx * b->lattice.ny;
    for (size_t i = 0; i < n; i++) {
        const size_t steps = j->found.steps[i] > 0 ? j->found.steps[i] : 1;
        b->labels[i] = label_of(j, i);
        b->n_outside += b->labels[i] == VIEW_BASINS_OUTSIDE ? 1 : 0;
        if (j->found.labels[i] > 0) {
            b->least = b->least == 0 || steps < b->least ? steps : b->least;
            b->most = steps > b->most ? steps : b->most;
        }
    }
    const double span = log((double)b->most / (double)b->least);
    for (size_t i = 0; i < n; i++) {
        const size_t steps = j->found.steps[i] > 0 ? j->found.steps[i] : 1;
        b->light[i] = j->found.labels[i] > 0 && span > 0.0
                          ? 1.0 - log((double)steps / (double)b->least) / span
                          : 1.0;
    }
    b->n_attractors = j->found.n_attractors;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static kern_status make_basins(view_basins **out, const view_landscape *l, size_t columns,
                               kern_error *err)
{
    const size_t rows = columns * 5 / 8 > 0 ? columns * 5 / 8 : 1;
    if (columns == 0 || columns > VIZ_LATTICE_SIDE) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu columns of places are asked for; accepted are 1 to %d", columns,
                          VIZ_LATTICE_SIDE);
    }
    view_basins *b = calloc(1, sizeof *b);
    if (b != NULL) {
        b->lattice = (viz_lattice){.nx = columns,
                                   .ny = rows,
                                   .x0 = l->range.a_low,
                                   .x1 = l->range.a_high,
                                   .y0 = l->range.b_low,
                                   .y1 = l->range.b_high};
        b->labels = calloc(columns * rows, sizeof *b->labels);
        b->light = calloc(columns * rows, sizeof *b->light);
    }
    if (b == NULL || b->labels == NULL || b->light == NULL) {
        view_basins_destroy(b);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu places", columns * rows);
    }
    *out = b;
    return KERN_OK;
}

void view_basins_destroy(view_basins *basins)
{
    if (basins != NULL) {
        free(basins->labels);
        free(basins->light);
        free(basins);
    }
}

static kern_status compute(job *j, int workers, kern_error *err)
{
    KERN_TRY(follow(j, workers, err));
    KERN_TRY(rank_attractors(j, err));
    take_labels(j);
    add_classes(j);
    return KERN_OK;
}

/* Whether the plane moves the token of the field and no other. */
static bool moves_one(const view_landscape *l)
{
    for (size_t i = 0; i < l->plane->block_count; i++) {
        if (l->plane->moves[i] != (i == l->token)) {
            return false;
        }
    }
    return true;
}

kern_status view_basins_create(view_basins **out, const view_landscape *landscape, size_t columns,
                               int workers, view_cancelled *cancelled, void *context,
                               kern_error *err)
{
    view_token token;
    job j = {.token = &token};
    const view_extent extent = moves_one(landscape) ? VIEW_TOKEN_ALONE : VIEW_TOKENS_ALL;
    *out = NULL;
    KERN_TRY(make_basins(&j.out, landscape, columns, err));
    kern_status status = view_token_init(&token, landscape, extent, cancelled, context, err);
    if (status == KERN_OK) {
        status =
            dyn_map_set_param(token.map, view_token_rate(&token), landscape->settings.rate, err);
        status = status == KERN_OK ? compute(&j, workers, err) : status;
        view_token_fini(&token);
    }
    dyn_basins_fini(&j.found);
    free(j.ends);
    free(j.rank);
    if (status != KERN_OK) {
        view_basins_destroy(j.out);
        return status;
    }
    *out = j.out;
    return KERN_OK;
}
