/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_planes_plot.h"

#include "viz/viz_draw.h"
#include "viz/viz_landscape_paths.h"
#include "viz/viz_layout.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NARROW      340.0 /* points of a page on which three maps do not stand beside each other */
#define PANEL_BELOW 62.0  /* points of height of the panel below the maps */
#define STEP_LABEL  "inference step <i>t</i>"

enum { STATES_MARKED = 48 }; /* more would hide a small map */

typedef struct builder {
    viz_scene *scene;
    const viz_planes_data *data;
    viz_scale scale;
    size_t columns, rows;
    double *steps; /* n_states: 0, 1, … */
    double *share; /* n_states: off-plane share, NaN at the centre itself */
} builder;

double viz_planes_held(const double *distance, const double *residual, size_t n)
{
    double all = 0.0;
    double off = 0.0;
    for (size_t t = 0; t < n; t++) {
        if (isfinite(distance[t]) && isfinite(residual[t])) {
            all += distance[t] * distance[t];
            off += residual[t] * residual[t];
        }
    }
    return 1.0 - off / all;
}

size_t viz_planes_columns(size_t n, double width)
{
    if (width < NARROW) {
        return 2;
    }
    return n <= 2 || n == 4 ? 2 : n <= 9 ? 3 : 4;
}

/* ---- A map ----------------------------------------------------------------------------------- */

/* The centre itself is 0 away, up to the rounding of the largest distance. */
static void find_shares(builder *b, const viz_planes_plane *p)
{
    double farthest = 0.0;
    for (size_t t = 0; t < b->data->n_states; t++) {
        farthest = fmax(farthest, p->distance[t]);
    }
    for (size_t t = 0; t < b->data->n_states; t++) {
        b->share[t] =
            p->distance[t] > 1e-12 * farthest ? p->residual[t] / p->distance[t] : (double)NAN;
    }
}

static kern_status add_field(builder *b, viz_panel *panel, const viz_planes_plane *p,
                             kern_error *err)
{
    const viz_field field = {.name = "energy",
                             .lattice = b->data->lattice,
                             .values = p->values,
                             .scale = b->scale,
                             .filter = VIZ_BILINEAR,
                             .bare = p->n_outside > 0};
    KERN_TRY(viz_scene_add_field(b->scene, panel, &field, err));
    viz_scene_fit_lattice(panel, &b->data->lattice, VIZ_BILINEAR);
    if (p->contours != NULL && p->contours->n_lines > 0) {
        const viz_isolines lines = {.name = "contours",
                                    .n_lines = p->contours->n_lines,
                                    .first = p->contours->first,
                                    .x = p->contours->x,
                                    .y = p->contours->y,
                                    .level = p->contours->level,
                                    .width = 0.4,
                                    .labelled = true};
        KERN_TRY(viz_scene_add_isolines(b->scene, panel, &lines, err));
    }
    const viz_series rim = {.name = "rim of the chart",
                            .x = p->rim_a,
                            .y = p->rim_b,
                            .n = p->n_rim,
                            .style = {.paint = viz_paint_of(VIZ_PAINT_INK), .width = 1.2}};
    return p->n_rim > 0 ? viz_scene_add_series(b->scene, panel, &rim, err) : KERN_OK;
}

/* One marker in the colour of its true energy. The first is a square, the last a triangle. */
static kern_status add_state(builder *b, viz_panel *panel, const viz_planes_plane *p, size_t t,
                             kern_error *err)
{
    const bool last = t + 1 == b->data->n_states;
    const double opacity = viz_landscape_opacity(b->share[t]);
    char name[48];
    (void)snprintf(name, sizeof name, "state %zu", t);
    const viz_rgb colour = viz_scale_colour(&b->scale, b->scene->theme, b->data->energy[t]);
    const viz_series state = {.name = name,
                              .x = p->a + t,
                              .y = p->b + t,
                              .opacity = &opacity,
                              .n = 1,
                              .style = {.paint = {.kind = VIZ_PAINT_RGB, .rgb = colour},
                                        .marker = t == 0 ? VIZ_MARKER_SQUARE
                                                  : last ? VIZ_MARKER_TRIANGLE
                                                         : VIZ_MARKER_CIRCLE,
                                        .size = t == 0 || last ? 5.0 : 3.4,
                                        .halo = 0.9}};
    return viz_scene_add_series(b->scene, panel, &state, err);
}

static kern_status add_trajectory(builder *b, viz_panel *panel, const viz_planes_plane *p,
                                  kern_error *err)
{
    const size_t n = b->data->n_states;
    const size_t stride = (n + STATES_MARKED - 1) / STATES_MARKED;
    const viz_series line = {.name = "trajectory",
                             .x = p->a,
                             .y = p->b,
                             .n = n,
                             .style = {.paint = {.kind = VIZ_PAINT_RGB, .rgb = {1.0, 1.0, 1.0}},
                                       .width = 0.9,
                                       .halo = 0.6}};
    find_shares(b, p);
    KERN_TRY(viz_scene_add_series(b->scene, panel, &line, err));
    for (size_t t = 0; t < n; t++) {
        if (t % stride == 0 || t + 1 == n) {
            KERN_TRY(add_state(b, panel, p, t, err));
        }
    }
    return KERN_OK;
}

/* Axes are named and numbered at the left and below only. */
static kern_status add_map(builder *b, size_t i, kern_error *err)
{
    const viz_planes_plane *p = &b->data->planes[i];
    const double held = viz_planes_held(p->distance, p->residual, b->data->n_states);
    const bool lowest = i + b->columns >= b->data->n;
    const bool first = i % b->columns == 0;
    char title[96];
    viz_panel *panel;
    (void)snprintf(title, sizeof title, isnan(held) ? "seed %llu" : "seed %llu, holds %.1f %%",
                   (unsigned long long)p->seed, 100.0 * held);
    const viz_panel spec = {.title = title,
                            .row = i / b->columns,
                            .column = i % b->columns,
                            .x = {.label = lowest ? b->data->axis[0] : NULL, .quiet = !lowest},
                            .y = {.label = first ? b->data->axis[1] : NULL, .quiet = !first},
                            .equal = true,
                            .boxed = true};
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    KERN_TRY(add_field(b, panel, p, err));
    return add_trajectory(b, panel, p, err);
}

/* ---- Below the maps -------------------------------------------------------------------------- */

/* A line a plane, with its seed at the end. */
static kern_status add_residuals(builder *b, kern_error *err)
{
    const viz_planes_data *d = b->data;
    viz_panel *panel;
    const viz_panel spec = {
        .row = b->rows,
        .n_columns = b->columns,
        .x = {.label = STEP_LABEL, .integer = true, .hi = fmax(1.0, (double)(d->n_states - 1))},
        .y = {.label = "off the plane (%)", .hi = 100.0}};
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    for (size_t i = 0; i < d->n; i++) {
        char name[64];
        char label[48];
        (void)snprintf(name, sizeof name, "off the plane of seed %llu, percent",
                       (unsigned long long)d->planes[i].seed);
        (void)snprintf(label, sizeof label, "seed %llu", (unsigned long long)d->planes[i].seed);
        find_shares(b, &d->planes[i]);
        for (size_t t = 0; t < d->n_states; t++) {
            b->share[t] *= 100.0;
        }
        const double place = (double)i / (double)(d->n - 1);
        const viz_series share = {.name = name,
                                  .end_label = label,
                                  .x = b->steps,
                                  .y = b->share,
                                  .n = d->n_states,
                                  .style = {.paint = viz_paint_map(VIZ_MAP_VIRIDIS, place),
                                            .width = 1.0,
                                            .marker = VIZ_MARKER_CIRCLE,
                                            .size = 2.4}};
        KERN_TRY(viz_scene_add_series(b->scene, panel, &share, err));
    }
    return KERN_OK;
}

/* Values that are not finite although their places have a state. */
static size_t count_missing(const viz_planes_data *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        n -= d->planes[i].n_outside;
        for (size_t k = 0; k < d->lattice.nx * d->lattice.ny; k++) {
            n += isfinite(d->planes[i].values[k]) ? 0 : 1;
        }
    }
    return n;
}

static kern_status write_note(builder *b, kern_error *err)
{
    const viz_planes_data *d = b->data;
    char missing[96] = "";
    const size_t n_missing = count_missing(d);
    if (n_missing > 0) {
        (void)snprintf(missing, sizeof missing, " %zu of %zu energies are not finite.", n_missing,
                       d->n * d->lattice.nx * d->lattice.ny);
    }
    return viz_plot_note(b->scene, err,
                         "%s Range, colours and contours are the same on all planes. A plane holds "
                         "the part of the states' squared distances from the centre that its title "
                         "says; markers have the colour of their true energy, and are fainter the "
                         "more they are off the plane (square: the first state, triangle: the "
                         "last).%s",
                         d->description != NULL ? d->description : "", missing);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static kern_status build(builder *b, kern_error *err)
{
    const viz_bar bar = {
        .whole = true, .tall = true, .scale = b->scale, .label = b->data->energy_label};
    /* Maps take what they can use, and the panel below the rest. */
    b->scene->row_weight[b->rows] = 0.01;
    for (size_t i = 0; i < b->data->n; i++) {
        KERN_TRY(add_map(b, i, err));
    }
    KERN_TRY(viz_scene_set_bar(b->scene, &bar, err));
    KERN_TRY(add_residuals(b, err));
    return write_note(b, err);
}

/* The height at which maps are as wide as their columns, and the panel below has its own. Fewer
 * ticks on a lower page change the widths a little, so the second pass settles it. */
static kern_status fit_height(builder *b, kern_error *err)
{
    viz_layout *layout;
    for (int pass = 0; pass < 3; pass++) {
        KERN_TRY(viz_draw_layout(&layout, b->scene, err));
        const double below = layout->frames[b->data->n].plot.h;
        b->scene->height = fmin(b->scene->height + PANEL_BELOW - below, VIZ_PAGE_MAX);
        viz_layout_destroy(layout);
    }
    return KERN_OK;
}

static kern_status check(const viz_planes_data *data, kern_error *err)
{
    return data->n >= 2 && data->n <= VIZ_PLANES_MAX && data->n_states >= 1
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT,
                            "%zu planes of %zu states cannot be drawn; accepted are 2 to %d planes",
                            data->n, data->n_states, VIZ_PLANES_MAX);
}

kern_status viz_planes_plot(viz_scene **out, const viz_planes_data *data,
                            const viz_plot_style *style, kern_error *err)
{
    viz_plot_style page = *style;
    builder b = {
        .data = data,
        .scale = {.kind = VIZ_SCALE_LINEAR, .map = data->map, .lo = data->low, .hi = data->high}};
    *out = NULL;
    KERN_TRY(check(data, err));
    page.width = page.width != 0.0 ? page.width : viz_scene_points(VIZ_DOUBLE_COLUMN_MM);
    b.columns = viz_planes_columns(data->n, page.width);
    b.rows = (data->n + b.columns - 1) / b.columns;
    b.steps = calloc(2 * data->n_states, sizeof *b.steps);
    if (b.steps == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trajectory of %zu states",
                          data->n_states);
    }
    b.share = b.steps + data->n_states;
    for (size_t t = 0; t < data->n_states; t++) {
        b.steps[t] = (double)t;
    }
    /* More than the maps can use, before the height is fitted. */
    const double aspect = 1.2 + 1.1 * (double)b.rows / (double)b.columns;
    kern_status status = viz_plot_page(&b.scene, &page, aspect, "Energy on random planes", err);
    if (status == KERN_OK) {
        status = build(&b, err);
        status = status == KERN_OK && page.height == 0.0 ? fit_height(&b, err) : status;
        status = viz_plot_end(out, b.scene, status);
    }
    free(b.steps);
    return status;
}
