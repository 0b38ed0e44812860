/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_basins_plot.h"

#include "viz/viz_draw.h"

#include <math.h>
#include <stdio.h>

#define ASPECT 0.9

enum { CLASSES = VIZ_BASINS_ATTRACTORS + VIZ_BASINS_OUTCOMES, POINTS_MARKED = 512 };

typedef struct builder {
    viz_scene *scene;
    viz_panel *panel;
    const viz_basins_data *data;
    viz_class classes[CLASSES];
    char names[CLASSES][VIZ_PLOT_TEXT];
    size_t n;
} builder;

static double share_of(const viz_basins_data *data, int32_t label)
{
    const size_t n = data->lattice.nx * data->lattice.ny;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += data->labels[i] == label ? 1 : 0;
    }
    return 100.0 * (double)count / (double)n;
}

void viz_basins_format_share(char out[VIZ_BASINS_SHARE], double share)
{
    if (share > 0.0 && share < 0.05) {
        (void)snprintf(out, VIZ_BASINS_SHARE, "&lt; 0.1");
    } else if (share < 100.0 && share > 99.95) {
        (void)snprintf(out, VIZ_BASINS_SHARE, "&gt; 99.9");
    } else {
        (void)snprintf(out, VIZ_BASINS_SHARE, "%.1f", share);
    }
}

/* The hatch moves on by one more after every round of hues, so that pairs repeat after 49 only. */
void viz_basins_dress_attractor(viz_class *class, size_t k)
{
    class->paint = viz_paint_class(k % VIZ_CLASS_COUNT);
    class->hatch = (viz_hatch)((k + k / VIZ_CLASS_COUNT) % VIZ_HATCH_COUNT);
}

void viz_basins_dress_outcome(viz_class *class, size_t k)
{
    static const double greys[] = {0.93, 0.80, 0.68, 0.56, 0.44, 0.86, 0.74, 0.62};
    static const viz_hatch hatches[] = {VIZ_HATCH_NONE,    VIZ_HATCH_DOTS,    VIZ_HATCH_LEVEL,
                                        VIZ_HATCH_CROSSED, VIZ_HATCH_UPRIGHT, VIZ_HATCH_RISING,
                                        VIZ_HATCH_FALLING, VIZ_HATCH_DOTS};
    const double g = greys[k % VIZ_BASINS_OUTCOMES];
    class->paint = (viz_paint){.kind = VIZ_PAINT_RGB, .rgb = {g, g, g}};
    class->hatch = hatches[k % VIZ_BASINS_OUTCOMES];
}

static kern_status add_class(builder *b, int32_t label, const char *name, size_t rank,
                             kern_error *err)
{
    char share[VIZ_BASINS_SHARE];
    char text[VIZ_PLOT_TEXT];
    viz_class *class = &b->classes[b->n];
    const double percent = share_of(b->data, label);
    if (percent == 0.0) {
        return KERN_OK;
    }
    KERN_TRY(viz_plot_escape(text, name, err));
    viz_basins_format_share(share, percent);
    (void)snprintf(b->names[b->n], VIZ_PLOT_TEXT, "%.400s, %s\xe2\x80\xaf%%", text, share);
    *class = (viz_class){.label = label, .name = name, .legend = b->names[b->n]};
    if (label > 0) {
        viz_basins_dress_attractor(class, rank);
    } else {
        viz_basins_dress_outcome(class, rank);
    }
    b->n++;
    return KERN_OK;
}

static kern_status add_map(builder *b, kern_error *err)
{
    const viz_basins_data *d = b->data;
    char names[VIZ_BASINS_ATTRACTORS][64];
    for (size_t k = 0; k < d->n_attractors; k++) {
        const viz_basins_attractor *a = &d->attractors[k];
        if (a->period > 0) {
            (void)snprintf(names[k], sizeof names[k], "%d: period %zu", (int)a->label, a->period);
        } else {
            (void)snprintf(names[k], sizeof names[k], "%d: not periodic", (int)a->label);
        }
        KERN_TRY(add_class(b, a->label, names[k], k, err));
    }
    for (size_t k = 0; k < d->n_outcomes; k++) {
        KERN_TRY(add_class(b, d->outcomes[k].label, d->outcomes[k].name, k, err));
    }
    const viz_classes map = {.name = "basin",
                             .lattice = d->lattice,
                             .labels = d->labels,
                             .light = d->light,
                             .classes = b->classes,
                             .n_classes = b->n};
    return viz_scene_add_classes(b->scene, b->panel, &map, err);
}

static kern_status add_points(builder *b, kern_error *err)
{
    for (size_t k = 0; k < b->data->n_attractors; k++) {
        const viz_basins_attractor *a = &b->data->attractors[k];
        char name[64];
        (void)snprintf(name, sizeof name, "points of attractor %d", (int)a->label);
        const viz_series points = {
            .name = name,
            .x = a->x,
            .y = a->y,
            .n = a->n_points < POINTS_MARKED ? a->n_points : POINTS_MARKED,
            .style = {.paint = {.kind = VIZ_PAINT_RGB, .rgb = {1.0, 1.0, 1.0}},
                      .marker = viz_plot_marker(k % 3),
                      .size = a->n_points <= 16 ? 3.2 : 1.2,
                      .halo = a->n_points <= 16 ? 0.6 : 0.3}};
        KERN_TRY(viz_scene_add_series(b->scene, b->panel, &points, err));
    }
    return KERN_OK;
}

static kern_status check(const viz_basins_data *data, kern_error *err)
{
    if (data->n_attractors > VIZ_BASINS_ATTRACTORS || data->n_outcomes > VIZ_BASINS_OUTCOMES) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu attractors and %zu outcomes are more than the %d and %d that can be "
                          "told apart",
                          data->n_attractors, data->n_outcomes, VIZ_BASINS_ATTRACTORS,
                          VIZ_BASINS_OUTCOMES);
    }
    for (size_t k = 0; k < data->n_attractors; k++) {
        if (data->attractors[k].label < 1) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "attractor label %d is not positive",
                              (int)data->attractors[k].label);
        }
    }
    for (size_t k = 0; k < data->n_outcomes; k++) {
        if (data->outcomes[k].label >= 0) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "outcome label %d is not negative",
                              (int)data->outcomes[k].label);
        }
    }
    return KERN_OK;
}

static kern_status build(builder *b, const viz_plot_style *style, kern_error *err)
{
    char labels[2][VIZ_PLOT_TEXT];
    const viz_lattice *grid = &b->data->lattice;
    KERN_TRY(viz_plot_symbol(labels[0], b->data->x_name, err));
    KERN_TRY(viz_plot_symbol(labels[1], b->data->y_name, err));
    /* Equal units where they leave a readable shape; otherwise the page's proportions. */
    const double ratio = (grid->y1 - grid->y0) / (grid->x1 - grid->x0);
    const viz_panel spec = {
        .equal = ratio > 0.4 && ratio < 2.5, .x = {.label = labels[0]}, .y = {.label = labels[1]}};
    KERN_TRY(viz_plot_page(&b->scene, style, ASPECT, "Basins of attraction", err));
    KERN_TRY(viz_scene_add_panel(&b->panel, b->scene, &spec, err));
    viz_scene_fit_lattice(b->panel, grid, VIZ_NEAREST);
    KERN_TRY(add_map(b, err));
    KERN_TRY(add_points(b, err));
    KERN_TRY(viz_plot_note(b->scene, err, "%zu \xc3\x97 %zu starts; shares of all of them.",
                           grid->nx, grid->ny));
    return style->height == 0.0 ? viz_draw_fit_height(b->scene, 2.0 * b->scene->width, err)
                                : KERN_OK;
}

kern_status viz_basins_plot(viz_scene **out, const viz_basins_data *data,
                            const viz_plot_style *style, kern_error *err)
{
    builder b = {.data = data};
    *out = NULL;
    KERN_TRY(check(data, err));
    const kern_status status = build(&b, style, err);
    return viz_plot_end(out, b.scene, status);
}
