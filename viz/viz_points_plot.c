/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_points_plot.h"

#include "viz/viz_ticks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ASPECT 0.75
#define MARGIN 0.08

typedef struct builder {
    viz_scene *scene;
    viz_panel *panel;
    const viz_points_data *data;
    const double *height; /* what the ordinate shows */
    double *x, *y;        /* n values each */
} builder;

/* Next minimal period above `last` that occurs; 0: none. */
static size_t next_period(const viz_points_data *data, size_t last)
{
    size_t next = 0;
    for (size_t i = 0; i < data->n; i++) {
        if (data->period[i] > last && (next == 0 || data->period[i] < next)) {
            next = data->period[i];
        }
    }
    return next;
}

static kern_status add_group(builder *b, size_t period, size_t rank, bool stable, kern_error *err)
{
    char name[80];
    size_t n = 0;
    for (size_t i = 0; i < b->data->n; i++) {
        if (b->data->period[i] == period && b->data->stable[i] == stable) {
            b->x[n] = b->data->x[i];
            b->y[n++] = b->height[i];
        }
    }
    if (n == 0) {
        return KERN_OK;
    }
    (void)snprintf(name, sizeof name, "period %zu, %s", period, stable ? "stable" : "unstable");
    /* A cross cannot be open, so it is not among the symbols. */
    const viz_series points = {.name = name,
                               .legend = name,
                               .x = b->x,
                               .y = b->y,
                               .n = n,
                               .style = {.paint = viz_paint_class(rank),
                                         .marker = viz_plot_marker(rank % 3),
                                         .size = 4.4,
                                         .open = !stable}};
    return viz_scene_add_series(b->scene, b->panel, &points, err);
}

static kern_status build(builder *b, const viz_plot_style *style, kern_error *err)
{
    char labels[2][VIZ_PLOT_TEXT];
    KERN_TRY(viz_plot_symbol(labels[0], b->data->x_name, err));
    KERN_TRY(viz_plot_symbol(labels[1], b->data->y != NULL ? b->data->y_name : "", err));
    const viz_panel spec = {
        .boxed = true,
        .x = {.label = labels[0]},
        .y = {.label = b->data->y != NULL ? labels[1] : "spectral radius <i>\xcf\x81</i>"}};
    KERN_TRY(viz_plot_page(&b->scene, style, ASPECT, "Fixed points and cycles", err));
    KERN_TRY(viz_scene_add_panel(&b->panel, b->scene, &spec, err));
    size_t rank = 0;
    for (size_t p = next_period(b->data, 0); p > 0; p = next_period(b->data, p)) {
        KERN_TRY(add_group(b, p, rank, true, err));
        KERN_TRY(add_group(b, p, rank, false, err));
        rank++;
    }
    viz_scene_fit(b->panel, MARGIN);
    viz_ticks_pad(&b->panel->x.lo, &b->panel->x.hi, MARGIN);
    if (b->data->y == NULL) {
        b->panel->y.lo = fmin(b->panel->y.lo, 0.0);
        b->panel->y.hi = fmax(b->panel->y.hi, 1.1);
        KERN_TRY(viz_plot_rule(b->scene, b->panel, VIZ_RULE_LEVEL, 1.0, err));
    }
    return KERN_OK;
}

kern_status viz_points_plot(viz_scene **out, const viz_points_data *data,
                            const viz_plot_style *style, kern_error *err)
{
    builder b = {.data = data, .height = data->y != NULL ? data->y : data->radius};
    size_t finite = 0;
    *out = NULL;
    for (size_t i = 0; i < data->n; i++) {
        finite += isfinite(data->x[i]) && isfinite(b.height[i]) ? 1 : 0;
    }
    if (finite == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "none of %zu points is finite", data->n);
    }
    b.x = calloc(data->n, 2 * sizeof *b.x);
    if (b.x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    b.y = b.x + data->n;
    const kern_status status = build(&b, style, err);
    free(b.x);
    return viz_plot_end(out, b.scene, status);
}
