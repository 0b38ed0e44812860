/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_curves_plot.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ASPECT 0.72
#define MARGIN 0.05
/* Points nearer than this are one point; on the page they could not be told apart. */
#define SAME_POINT 1e-4

enum { KINDS = 3 };

static const struct {
    const char *kind, *legend;
    size_t colour;
    viz_dash dash;
} kinds[KINDS + 1] = {
    {"LP", "LP fold", 0, VIZ_SOLID},
    {"PD", "PD flip", 1, VIZ_DASHED},
    {"NS", "NS Neimark\xe2\x80\x93Sacker", 2, VIZ_DOTTED},
    {NULL, NULL, 3, VIZ_SOLID},
};

static size_t kind_of(const char *kind)
{
    size_t k = 0;
    while (k < KINDS && strcmp(kinds[k].kind, kind) != 0) {
        k++;
    }
    return k;
}

static kern_status add_curve(viz_scene *scene, viz_panel *panel, const viz_curve *curve, bool named,
                             kern_error *err)
{
    const size_t k = kind_of(curve->kind);
    char text[VIZ_PLOT_TEXT];
    KERN_TRY(viz_plot_escape(text, curve->kind, err));
    const viz_series line = {
        .name = curve->kind,
        .legend = !named ? NULL : (k < KINDS ? kinds[k].legend : text),
        .x = curve->p,
        .y = curve->q,
        .n = curve->n,
        .style = {.paint = viz_paint_class(kinds[k].colour), .width = 1.2, .dash = kinds[k].dash}};
    return viz_scene_add_series(scene, panel, &line, err);
}

static kern_status add_event(viz_scene *scene, viz_panel *panel, const viz_curve_event *event,
                             kern_error *err)
{
    char text[VIZ_PLOT_TEXT];
    KERN_TRY(viz_plot_escape(text, event->kind, err));
    const viz_series point = {.name = event->kind,
                              .x = &event->p,
                              .y = &event->q,
                              .n = 1,
                              .style = {.paint = viz_paint_of(VIZ_PAINT_INK),
                                        .marker = VIZ_MARKER_CIRCLE,
                                        .size = 4.0,
                                        .open = true}};
    KERN_TRY(viz_scene_add_series(scene, panel, &point, err));
    const viz_mark mark = {.x = event->p, .y = event->q, .gap = 4.0, .text = text};
    return viz_scene_add_mark(scene, panel, &mark, err);
}

/* Curves of two kinds meet in one point of codimension two, which each of them reports. */
static bool is_repeated(const viz_curves_data *data, size_t index)
{
    const viz_curve_event *e = &data->events[index];
    for (size_t i = 0; i < index; i++) {
        const viz_curve_event *o = &data->events[i];
        if (strcmp(o->kind, e->kind) == 0 && fabs(o->p - e->p) <= SAME_POINT * (1.0 + fabs(e->p)) &&
            fabs(o->q - e->q) <= SAME_POINT * (1.0 + fabs(e->q))) {
            return true;
        }
    }
    return false;
}

static kern_status build(viz_scene *scene, const viz_curves_data *data, kern_error *err)
{
    char labels[2][VIZ_PLOT_TEXT];
    bool named[KINDS + 1] = {false};
    viz_panel *panel;
    KERN_TRY(viz_plot_symbol(labels[0], data->p_name, err));
    KERN_TRY(viz_plot_symbol(labels[1], data->q_name, err));
    const viz_panel spec = {.boxed = true, .x = {.label = labels[0]}, .y = {.label = labels[1]}};
    KERN_TRY(viz_scene_add_panel(&panel, scene, &spec, err));
    for (size_t i = 0; i < data->n_curves; i++) {
        const size_t k = kind_of(data->curves[i].kind);
        KERN_TRY(add_curve(scene, panel, &data->curves[i], !named[k], err));
        named[k] = true;
    }
    for (size_t i = 0; i < data->n_events; i++) {
        if (is_repeated(data, i)) {
            continue;
        }
        KERN_TRY(add_event(scene, panel, &data->events[i], err));
    }
    viz_scene_fit(panel, MARGIN);
    const double room = MARGIN * (panel->x.hi - panel->x.lo);
    panel->x.lo -= room;
    panel->x.hi += room;
    return KERN_OK;
}

static bool has_point(const viz_curves_data *data)
{
    for (size_t i = 0; i < data->n_curves; i++) {
        for (size_t k = 0; k < data->curves[i].n; k++) {
            if (isfinite(data->curves[i].p[k]) && isfinite(data->curves[i].q[k])) {
                return true;
            }
        }
    }
    return false;
}

kern_status viz_curves_plot(viz_scene **out, const viz_curves_data *data,
                            const viz_plot_style *style, kern_error *err)
{
    viz_scene *scene;
    *out = NULL;
    if (!has_point(data)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "none of %zu bifurcation curves has a finite point", data->n_curves);
    }
    KERN_TRY(viz_plot_page(&scene, style, ASPECT, "Bifurcation curves", err));
    return viz_plot_end(out, scene, build(scene, data, err));
}
