/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_orbit_plot.h"

#include "kernels/kern_size.h"
#include "viz/viz_ticks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASPECT_ONE 0.66
#define ASPECT_TWO 0.86
#define BIN_POINTS 0.5 /* height of a bin on the page */
#define FAINTEST   0.35

enum { KINDS = 4, BINS_MIN = 50, BINS_MAX = 4000 };

static const struct {
    const char *kind, *legend;
    viz_marker marker;
    size_t colour;
} kinds[KINDS] = {
    {"LP", "LP fold", VIZ_MARKER_SQUARE, 5},
    {"PD", "PD flip", VIZ_MARKER_TRIANGLE, 3},
    {"NS", "NS Neimark\xe2\x80\x93Sacker", VIZ_MARKER_CIRCLE, 2},
    {"BP", "BP branch point", VIZ_MARKER_CROSS, 4},
};

typedef struct builder {
    viz_scene *scene;
    viz_panel *panel;
    const viz_orbit_data *data;
    double *x, *y; /* room for the longest branch or the columns */
} builder;

static void widen(viz_axis *axis, double value)
{
    if (isfinite(value)) {
        axis->lo = fmin(axis->lo, value);
        axis->hi = fmax(axis->hi, value);
    }
}

/* Ranges over all that is drawn; false when nothing is. */
static bool find_ranges(const viz_orbit_data *data, viz_axis *x, viz_axis *y)
{
    const viz_orbit_columns *c = &data->columns;
    x->lo = y->lo = HUGE_VAL;
    x->hi = y->hi = -HUGE_VAL;
    for (size_t k = 0; k < c->n; k++) {
        widen(x, c->parameter[k]);
    }
    for (size_t i = c->n > 0 ? c->first[0] : 0; c->n > 0 && i < c->first[c->n]; i++) {
        widen(y, c->values[i]);
    }
    for (size_t b = 0; b < data->n_branches; b++) {
        for (size_t i = 0; i < data->branches[b].n; i++) {
            /* A branch alone sets the view; over a diagram it is cut to the diagram's. */
            if (c->n == 0) {
                widen(x, data->branches[b].parameter[i]);
                widen(y, data->branches[b].value[i]);
            }
        }
    }
    return x->lo <= x->hi && y->lo <= y->hi;
}

static kern_status check_spacing(const viz_orbit_columns *c, kern_error *err)
{
    if (c->n < 2) {
        return KERN_OK;
    }
    const double step = (c->parameter[c->n - 1] - c->parameter[0]) / (double)(c->n - 1);
    for (size_t k = 0; k < c->n; k++) {
        const double want = c->parameter[0] + (double)k * step;
        if (!(step != 0.0 && fabs(c->parameter[k] - want) <= 1e-3 * fabs(step))) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "column %zu of the orbit diagram, at %g, is not evenly spaced", k,
                              c->parameter[k]);
        }
    }
    return KERN_OK;
}

/* Counts into `cell`, columns ascending; returns the largest count. */
static double count_values(double *cell, const viz_lattice *grid, const viz_orbit_columns *c)
{
    const bool forward = c->n < 2 || c->parameter[1] > c->parameter[0];
    const double step = (grid->y1 - grid->y0) / (double)(grid->ny - 1);
    double most = 0.0;
    for (size_t k = 0; k < c->n; k++) {
        const size_t column = forward ? k : c->n - 1 - k;
        for (size_t i = c->first[k]; i < c->first[k + 1]; i++) {
            const double bin = floor((c->values[i] - grid->y0) / step + 0.5);
            if (bin >= 0.0 && bin <= (double)(grid->ny - 1)) {
                double *at = &cell[(size_t)bin * grid->nx + column];
                *at += 1.0;
                most = fmax(most, *at);
            }
        }
    }
    return most;
}

static kern_status add_diagram(builder *b, kern_error *err)
{
    const viz_orbit_columns *c = &b->data->columns;
    const double bins = floor(b->scene->height / BIN_POINTS);
    const double spread = fabs(c->parameter[c->n - 1] - c->parameter[0]);
    viz_lattice grid = {.nx = c->n,
                        .ny = (size_t)fmin(fmax(bins, BINS_MIN), BINS_MAX),
                        .x0 = fmin(c->parameter[0], c->parameter[c->n - 1]),
                        .y0 = b->panel->y.lo,
                        .y1 = b->panel->y.hi};
    grid.x1 = grid.x0 + (spread > 0.0 ? spread : 1.0);
    size_t cells;
    if (!kern_size_mul(grid.nx, grid.ny, &cells)) {
        return kern_raise(err, KERN_OVERFLOW, "an orbit diagram of %zu columns is too large", c->n);
    }
    double *cell = calloc(cells, sizeof *cell);
    if (cell == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    const double most = count_values(cell, &grid, c);
    for (size_t i = 0; i < cells; i++) {
        cell[i] = cell[i] > 0.0
                      ? FAINTEST + (1.0 - FAINTEST) * log1p(cell[i]) / log1p(fmax(most, 1.0))
                      : (double)NAN;
    }
    const viz_field field = {.name = "density of the orbit diagram",
                             .lattice = grid,
                             .values = cell,
                             .scale = {.lo = 0.0, .hi = 1.0},
                             .filter = VIZ_NEAREST,
                             .ink = true,
                             .paint = viz_paint_of(VIZ_PAINT_INK)};
    const kern_status status = viz_scene_add_field(b->scene, b->panel, &field, err);
    free(cell);
    return status;
}

/* The stable or the unstable pieces of a branch; both take the points where stability changes. */
static kern_status add_branch(builder *b, const viz_orbit_branch *branch, bool stable, bool named,
                              kern_error *err)
{
    const char *name = stable ? "stable branch" : "unstable branch";
    for (size_t i = 0; i < branch->n; i++) {
        const bool here = branch->stable[i] == stable || (i > 0 && branch->stable[i - 1] == stable);
        b->x[i] = branch->parameter[i];
        b->y[i] = here ? branch->value[i] : (double)NAN;
    }
    const viz_series line = {.name = name,
                             .legend = named ? (stable ? "stable" : "unstable") : NULL,
                             .x = b->x,
                             .y = b->y,
                             .n = branch->n,
                             .style = {.paint = viz_paint_class(stable ? 0 : 1),
                                       .width = stable ? 1.4 : 1.1,
                                       .dash = stable ? VIZ_SOLID : VIZ_DASHED}};
    return viz_scene_add_series(b->scene, b->panel, &line, err);
}

static bool has_stability(const viz_orbit_branch *branch, bool stable)
{
    for (size_t i = 0; i < branch->n; i++) {
        if (branch->stable[i] == stable) {
            return true;
        }
    }
    return false;
}

static kern_status add_branches(builder *b, kern_error *err)
{
    bool named[2] = {false, false};
    for (size_t k = 0; k < b->data->n_branches; k++) {
        for (int stable = 1; stable >= 0; stable--) {
            if (has_stability(&b->data->branches[k], stable != 0)) {
                KERN_TRY(add_branch(b, &b->data->branches[k], stable != 0, !named[stable], err));
                named[stable] = true;
            }
        }
    }
    return KERN_OK;
}

static size_t kind_of(const char *kind)
{
    size_t k = 0;
    while (k < KINDS && strcmp(kinds[k].kind, kind) != 0) {
        k++;
    }
    return k;
}

static kern_status add_event(builder *b, const viz_orbit_event *event, bool named, kern_error *err)
{
    const size_t k = kind_of(event->kind);
    char text[VIZ_PLOT_TEXT];
    KERN_TRY(viz_plot_escape(text, event->kind, err));
    const viz_series point = {.name = event->kind,
                              .legend = !named ? NULL : (k < KINDS ? kinds[k].legend : text),
                              .x = &event->parameter,
                              .y = &event->value,
                              .n = 1,
                              .style = {.paint = k < KINDS ? viz_paint_class(kinds[k].colour)
                                                           : viz_paint_of(VIZ_PAINT_INK),
                                        .marker = k < KINDS ? kinds[k].marker : VIZ_MARKER_CIRCLE,
                                        .size = 4.6,
                                        .open = true}};
    return viz_scene_add_series(b->scene, b->panel, &point, err);
}

static kern_status add_events(builder *b, kern_error *err)
{
    bool named[KINDS + 1] = {false};
    for (size_t i = 0; i < b->data->n_events; i++) {
        const size_t k = kind_of(b->data->events[i].kind);
        KERN_TRY(add_event(b, &b->data->events[i], !named[k], err));
        named[k] = true;
    }
    return KERN_OK;
}

/* The panel of the exponent stands below and shares the diagram's axis. */
static kern_status add_exponents(builder *b, const char *label, kern_error *err)
{
    const viz_orbit_columns *c = &b->data->columns;
    viz_panel *panel;
    const viz_panel spec = {.row = 1,
                            .x = {.label = label},
                            .y = {.label = "<i>\xce\xbb</i>"
                                           "<sub>1</sub>"}};
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    const viz_series line = {.name = "largest Lyapunov exponent",
                             .x = c->parameter,
                             .y = c->exponent,
                             .n = c->n,
                             .style = {.paint = viz_paint_class(1), .width = 0.7}};
    KERN_TRY(viz_scene_add_series(b->scene, panel, &line, err));
    viz_scene_fit(panel, 0.06);
    panel->x.lo = b->panel->x.lo;
    panel->x.hi = b->panel->x.hi;
    panel->y.hi = fmax(panel->y.hi, 0.0);
    /* Superstable columns have −∞ as their exponent; what is far below is cut. */
    panel->y.lo = fmax(fmin(panel->y.lo, 0.0), -3.0 * fmax(panel->y.hi, 0.5));
    b->scene->row_weight[0] = 3.0;
    b->scene->row_weight[1] = 1.0;
    return viz_plot_rule(b->scene, panel, VIZ_RULE_LEVEL, 0.0, err);
}

static kern_status build(builder *b, const viz_plot_style *style, kern_error *err)
{
    const bool two = b->data->columns.n > 1 && b->data->columns.exponent != NULL;
    char x_label[VIZ_PLOT_TEXT];
    char y_label[VIZ_PLOT_TEXT];
    viz_panel spec = {.row = 0};
    if (!find_ranges(b->data, &spec.x, &spec.y)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the orbit diagram has no finite value, nor has a branch");
    }
    KERN_TRY(viz_plot_symbol(x_label, b->data->parameter_name, err));
    KERN_TRY(viz_plot_symbol(y_label, b->data->value_name, err));
    spec.x.label = two ? NULL : x_label;
    spec.y.label = y_label;
    viz_ticks_pad(&spec.x.lo, &spec.x.hi, b->data->columns.n > 0 ? 0.0 : 0.02);
    viz_ticks_pad(&spec.y.lo, &spec.y.hi, 0.05);
    KERN_TRY(viz_plot_page(&b->scene, style, two ? ASPECT_TWO : ASPECT_ONE,
                           b->data->columns.n > 0 ? "Orbit diagram" : "Branches", err));
    KERN_TRY(viz_scene_add_panel(&b->panel, b->scene, &spec, err));
    if (b->data->columns.n > 0) {
        KERN_TRY(add_diagram(b, err));
    }
    KERN_TRY(add_branches(b, err));
    KERN_TRY(add_events(b, err));
    if (b->data->one_point) {
        KERN_TRY(viz_plot_note(b->scene, err, "A branch of cycles shows one of their points."));
    }
    return two ? add_exponents(b, x_label, err) : KERN_OK;
}

kern_status viz_orbit_plot(viz_scene **out, const viz_orbit_data *data, const viz_plot_style *style,
                           kern_error *err)
{
    builder b = {.data = data};
    size_t room = 1;
    *out = NULL;
    KERN_TRY(check_spacing(&data->columns, err));
    for (size_t k = 0; k < data->n_branches; k++) {
        room = kern_size_max(room, data->branches[k].n);
    }
    b.x = calloc(room, 2 * sizeof *b.x);
    if (b.x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    b.y = b.x + room;
    const kern_status status = build(&b, style, err);
    free(b.x);
    return viz_plot_end(out, b.scene, status);
}
