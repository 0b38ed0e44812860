/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_layout_rows.h"

#include "kernels/kern_size.h"
#include "viz/viz_layout_fit.h"
#include "viz/viz_surface.h"

#include <math.h>
#include <string.h>

#define ROW_GAP 9.0

/* Tallest tick label: it carries an exponent. */
static const char tall_tick[] = "10<sup>\xe2\x88\x92"
                                "8</sup>";

void viz_layout_page(viz_layout *layout, viz_canvas *canvas, viz_grid *g)
{
    const viz_scene *scene = canvas->scene;
    const double inner = scene->width - 2.0 * VIZ_PAGE_PAD;
    double w;
    double h = 0.0;
    double top = VIZ_PAGE_PAD;
    layout->note_top = scene->height - VIZ_PAGE_PAD;
    if (scene->title != NULL) {
        viz_canvas_measure(canvas, VIZ_ROLE_TITLE, scene->title, inner, &w, &h);
        layout->title_height = h;
        top += h + 5.0;
    }
    double bottom = layout->note_top;
    if (scene->note != NULL) {
        viz_canvas_measure(canvas, VIZ_ROLE_NOTE, scene->note, inner, &w, &h);
        layout->note_top -= h;
        bottom = layout->note_top - 5.0;
    }
    g->area = (viz_rect){VIZ_PAGE_PAD, top, inner, bottom - top};
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        g->rows = kern_size_max(g->rows, panel->row + 1);
        g->columns = kern_size_max(g->columns, panel->column + panel->n_columns);
    }
    for (size_t r = 0; r < VIZ_GRID_MAX; r++) {
        g->most[r] = HUGE_VAL;
    }
}

/* What a panel needs below its plot. The labels of a surface stand beside each other. */
static double below_plot(const viz_panel *panel, const viz_frame *frame, double tick)
{
    const double x = panel->x.label != NULL ? frame->x_label.height : 0.0;
    const double y = panel->surface && panel->y.label != NULL ? frame->y_label.height : 0.0;
    const double label = fmax(x, y);
    return VIZ_TICK_MAJOR + VIZ_TICK_GAP + (panel->x.quiet ? 0.0 : tick) +
           (label > 0.0 ? VIZ_AXIS_GAP + label : 0.0);
}

/* Splits the height of all plots by the rows' weights; what a row cannot use goes to the others. */
static void split_height(const viz_scene *scene, const viz_grid *g, double spare,
                         double height[VIZ_GRID_MAX])
{
    bool settled[VIZ_GRID_MAX] = {false};
    bool changed = true;
    while (changed) {
        double weights = 0.0;
        for (size_t r = 0; r < g->rows; r++) {
            const double weight = scene->row_weight[r] > 0.0 ? scene->row_weight[r] : 1.0;
            weights += settled[r] ? 0.0 : weight;
        }
        changed = false;
        for (size_t r = 0; r < g->rows && !changed; r++) {
            const double weight = scene->row_weight[r] > 0.0 ? scene->row_weight[r] : 1.0;
            height[r] = settled[r] ? height[r] : spare * weight / weights;
            if (!settled[r] && height[r] > g->most[r]) {
                height[r] = g->most[r];
                settled[r] = changed = true;
                spare -= height[r];
            }
        }
    }
}

void viz_layout_rows(viz_layout *layout, viz_canvas *canvas, viz_grid *g)
{
    const viz_scene *scene = canvas->scene;
    double header[VIZ_GRID_MAX] = {0};
    double height[VIZ_GRID_MAX];
    const double tick = viz_fit_height(canvas, VIZ_ROLE_TICK, tall_tick);
    memset(g->footer, 0, sizeof g->footer);
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        viz_frame *frame = &layout->frames[i];
        viz_fit_header(canvas, panel, frame);
        double above = frame->title_height + frame->legend_height + frame->span_height;
        above += above > 0.0 ? 2.5 : 0.0;
        header[panel->row] = fmax(header[panel->row], fmax(above, 0.5 * tick));
        g->footer[panel->row] = fmax(g->footer[panel->row], below_plot(panel, frame, tick));
    }
    double spare = g->area.h - ROW_GAP * (double)(g->rows - 1);
    for (size_t r = 0; r < g->rows; r++) {
        spare -= header[r] + g->footer[r];
    }
    split_height(scene, g, spare, height);
    double y = g->area.y;
    for (size_t r = 0; r < g->rows; r++) {
        g->top[r] = y + header[r];
        g->bottom[r] = g->top[r] + height[r];
        y = g->bottom[r] + g->footer[r] + ROW_GAP;
    }
}

bool viz_layout_most(const viz_layout *layout, const viz_scene *scene, viz_grid *g)
{
    double most[VIZ_GRID_MAX] = {0};
    bool others = false;
    bool less = false;
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        const viz_frame *frame = &layout->frames[i];
        double need = panel->surface               ? viz_surface_height(panel, frame->plot.w)
                      : frame->spare_height > 1e-6 ? frame->plot.h
                                                   : HUGE_VAL;
        need = need < g->bottom[panel->row] - g->top[panel->row] - 1e-6 ? need : HUGE_VAL;
        most[panel->row] = fmax(most[panel->row], need);
        others = others || !(panel->equal || panel->surface);
    }
    for (size_t r = 0; r < g->rows && others; r++) {
        if (most[r] > 0.0 && most[r] < g->most[r]) {
            g->most[r] = most[r];
            less = true;
        }
    }
    return less;
}
