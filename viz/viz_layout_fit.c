/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_layout_fit.h"

#include "kernels/kern_size.h"

#include <math.h>

/* Lines are looked for from the shortest that could do to the room, in such steps of the first. */
#define WRAP_STEP 0.04

/* What an upright label may stand over each end of its axis: less than there is between axis and
 * tick labels, and than any panel keeps above its plot. */
#define LABEL_OVER 4.0

/* What is kept beside the end of an x axis in any case. */
#define OVERHANG 9.0

/* A legend narrower than this has a line an entry. */
#define LEGEND_LEAST 60.0

void viz_fit_text(viz_fit *fit, viz_canvas *canvas, viz_role role, const char *markup, double room,
                  size_t most)
{
    double longest; /* word */
    double width;
    double height;
    bool cut = true;
    *fit = (viz_fit){.lines = 0};
    if (markup == NULL) {
        return;
    }
    viz_canvas_measure(canvas, role, markup, 0.0, &fit->width, &fit->height);
    if (fit->width <= room || most == 0) {
        return;
    }
    viz_canvas_measure(canvas, role, markup, 1.0, &longest, &height);
    for (size_t lines = 2; lines <= most && longest <= room; lines++) {
        const double first = fmax(longest, fit->width / (double)lines);
        for (double wrap = first; wrap <= room + WRAP_STEP * first; wrap += WRAP_STEP * first) {
            viz_canvas_measure_lines(canvas, role, markup, fmin(wrap, room), lines, &width, &height,
                                     &cut);
            if (!cut) {
                *fit = (viz_fit){
                    .wrap = fmin(wrap, room), .lines = lines, .width = width, .height = height};
                return;
            }
        }
    }
    viz_canvas_measure_lines(canvas, role, markup, room, most, &width, &height, &cut);
    *fit = (viz_fit){.wrap = room, .lines = most, .width = width, .height = height, .cut = cut};
}

void viz_fit_start(viz_layout *layout, viz_canvas *canvas, const double *cell)
{
    const viz_scene *scene = canvas->scene;
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        viz_frame *frame = &layout->frames[i];
        viz_fit_text(&frame->title, canvas, VIZ_ROLE_PANEL_TITLE, panel->title, HUGE_VAL, 0);
        viz_fit_text(&frame->x_label, canvas, VIZ_ROLE_AXIS, panel->x.label, HUGE_VAL, 0);
        viz_fit_text(&frame->y_label, canvas, VIZ_ROLE_AXIS, panel->y.label, HUGE_VAL, 0);
        frame->legend_width = fmax(cell[i], LEGEND_LEAST);
        frame->overhang = OVERHANG;
    }
    if (scene->bar.shown) {
        viz_fit_text(&layout->bar_label, canvas, VIZ_ROLE_AXIS, scene->bar.label, HUGE_VAL, 0);
    }
}

/* Fits one text again; true when it has become higher. */
static bool refit(viz_fit *fit, viz_canvas *canvas, viz_role role, const char *markup, double room,
                  bool grow)
{
    const size_t reserved = kern_size_max(fit->reserved, 1);
    const double height = fit->height;
    viz_fit_text(fit, canvas, role, markup, room, grow ? (size_t)VIZ_FIT_LINES : reserved);
    fit->reserved = kern_size_max(fit->lines, reserved);
    fit->height = fmax(fit->height, height);
    return fit->height > height + 1e-6;
}

double viz_fit_height(viz_canvas *canvas, viz_role role, const char *markup)
{
    double w = 0.0;
    double h = 0.0;
    if (markup != NULL) {
        viz_canvas_measure(canvas, role, markup, 0.0, &w, &h);
    }
    return h;
}

double viz_fit_widest(viz_canvas *canvas, const viz_ticks *ticks)
{
    double widest = 0.0;
    for (size_t i = 0; i < ticks->n_major; i++) {
        double w;
        double h;
        viz_canvas_measure(canvas, VIZ_ROLE_TICK, ticks->label[i], 0.0, &w, &h);
        widest = fmax(widest, w);
    }
    return widest;
}

/* A legend wraps where its panel ends, and half a tick label may hang over that and into the
 * margin of the page. True when one takes more room than it had. */
static bool fit_width(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame)
{
    const double right = frame->cell.x + frame->cell.w;
    const double over = 0.5 * viz_fit_widest(canvas, &frame->x) - VIZ_PAGE_PAD;
    const double legend = fmax(fmin(frame->legend_width, right - frame->plot.x), LEGEND_LEAST);
    size_t cursor = 0;
    viz_entry entry;
    const bool narrower =
        legend < frame->legend_width - 1e-6 && viz_layout_entry(panel, &cursor, &entry);
    const bool wider = over > frame->overhang && !panel->surface && !panel->x.quiet;
    frame->legend_width = legend;
    frame->overhang = wider ? over : frame->overhang;
    return narrower || wider;
}

static bool fit_panel(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame, bool grow)
{
    const viz_rect plot = frame->plot;
    const double right = frame->cell.x + frame->cell.w;
    const double middle = plot.x + 0.5 * plot.w;
    const double across =
        panel->surface ? 0.48 * frame->cell.w : 2.0 * fmin(middle - frame->cell.x, right - middle);
    const double up = panel->surface ? across : plot.h + 2.0 * LABEL_OVER;
    bool more =
        refit(&frame->title, canvas, VIZ_ROLE_PANEL_TITLE, panel->title, right - plot.x, grow);
    more = refit(&frame->x_label, canvas, VIZ_ROLE_AXIS, panel->x.label, across, grow) || more;
    more = refit(&frame->y_label, canvas, VIZ_ROLE_AXIS, panel->y.label, up, grow) || more;
    return (grow && fit_width(canvas, panel, frame)) || more;
}

bool viz_fit_labels(viz_layout *layout, viz_canvas *canvas, bool grow)
{
    const viz_scene *scene = canvas->scene;
    bool more = false;
    for (size_t i = 0; i < scene->n_panels; i++) {
        more = fit_panel(canvas, &scene->panels[i], &layout->frames[i], grow) || more;
    }
    if (scene->bar.shown) {
        more = refit(&layout->bar_label, canvas, VIZ_ROLE_AXIS, scene->bar.label,
                     layout->bar.h + 2.0 * LABEL_OVER, grow) ||
               more;
    }
    return grow && more;
}

void viz_fit_header(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame)
{
    frame->title_height = frame->title.height;
    frame->line_height = 0.0;
    frame->span_height = 0.0;
    double x = 0.0;
    size_t lines = 0;
    size_t cursor = 0;
    viz_entry entry;
    while (viz_layout_entry(panel, &cursor, &entry)) {
        double w = 0.0;
        double h = 0.0;
        viz_canvas_measure(canvas, VIZ_ROLE_LEGEND, entry.legend, 0.0, &w, &h);
        w = fmin(w + VIZ_LEGEND_KEY, frame->legend_width);
        if (lines == 0 || x + w > frame->legend_width) {
            lines++;
            x = 0.0;
        }
        x += w + VIZ_LEGEND_GAP;
        frame->line_height = fmax(frame->line_height, h + 1.0);
    }
    frame->legend_height = (double)lines * frame->line_height;
    for (size_t i = 0; i < panel->n_spans; i++) {
        double w = 0.0;
        double h = 0.0;
        if (panel->spans[i].label != NULL) {
            viz_canvas_measure(canvas, VIZ_ROLE_SPAN, panel->spans[i].label, 0.0, &w, &h);
        }
        frame->span_height = fmax(frame->span_height, h);
    }
}
