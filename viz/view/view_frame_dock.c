/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dock under the picture: energies along the trajectory, the slider of steps beneath them on
 * the same scale, and the slider of the rate.
 */
#include "viz/view/view_frame.h"

#include <math.h>
#include <stdio.h>

#define PADDING   8.0
#define SLIDER    40.0
#define ENERGIES  46.0
#define BUTTONS   150.0
#define TRACK     8.0   /* between the ends of a slider and of its track */
#define ROOMY     560.0 /* window height from which energies are drawn */
#define NARROW    300.0 /* slider that takes a short label and no c/σ */
#define RATE_LOW  0.05
#define RATE_HIGH 10.0
#define RATE_MOST 1000.0
#define RISE      1e-9 /* of the energies: far above the rounding of their sums */

double view_frame_dock_height(double window)
{
    return 2.0 * (SLIDER + PADDING) + (window >= ROOMY ? ENERGIES : 0.0);
}

static void set_step(view_desk *d, double step)
{
    char value[32];
    (void)snprintf(value, sizeof value, "%.0f", step);
    d->v->playing = false;
    (void)view_desk_set(d, "step", value);
}

/* ---- Energies along the trajectory ----------------------------------------------------------- */

typedef struct graph {
    viz_rect plot;
    double last; /* step at the right end */
    double low, high;
} graph;

static double graph_x(const graph *g, double t)
{
    return g->plot.x + g->plot.w * t / fmax(g->last, 1.0);
}

static double graph_y(const graph *g, double e)
{
    const double span = g->high - g->low;
    return g->plot.y + g->plot.h * (span > 0.0 ? (g->high - e) / span : 0.5);
}

/* A rise of the energy is drawn in another colour and heavier: a learned step need not descend. */
static void draw_path(view_desk *d, const graph *g, const view_path *path)
{
    const viz_theme theme = d->v->s.dark ? VIZ_DARK : VIZ_LIGHT;
    const double floor = RISE * fmax(fabs(g->low), fabs(g->high));
    cairo_set_line_cap(d->cr, CAIRO_LINE_CAP_ROUND);
    for (int rises = 0; rises < 2; rises++) {
        view_desk_paint(d, viz_colour_class(rises == 1 ? 1 : 0, theme), 1.0);
        cairo_set_line_width(d->cr, rises == 1 ? 2.5 : 1.5);
        for (size_t t = 1; t < path->n; t++) {
            const double rise = path->energy[t] - path->energy[t - 1];
            if (isfinite(rise) && (rise > floor) == (rises == 1)) {
                cairo_move_to(d->cr, graph_x(g, (double)(t - 1)), graph_y(g, path->energy[t - 1]));
                cairo_line_to(d->cr, graph_x(g, (double)t), graph_y(g, path->energy[t]));
            }
        }
        cairo_stroke(d->cr);
    }
    cairo_set_line_cap(d->cr, CAIRO_LINE_CAP_BUTT);
}

static void find_extent(graph *g, const view_path *path)
{
    g->low = HUGE_VAL;
    g->high = -HUGE_VAL;
    for (size_t t = 0; t < path->n; t++) {
        if (isfinite(path->energy[t])) {
            g->low = fmin(g->low, path->energy[t]);
            g->high = fmax(g->high, path->energy[t]);
        }
    }
}

static void draw_energies(view_desk *d, viz_rect row, viz_rect words)
{
    view *v = d->v;
    graph g = {.plot = {row.x + TRACK, row.y + 5.0, row.w - 2.0 * TRACK, row.h - 8.0}};
    char text[64];
    if (v->picture == NULL || v->picture->landscape->path.n == 0) {
        return;
    }
    const view_path *path = &v->picture->landscape->path;
    g.last = (double)view_last_step(v->subject, &v->s);
    find_extent(&g, path);
    const ui_canvas_event event =
        ui_canvas(d->u, "energies", row, "energies of the trajectory", "");
    if (event.pressed || (event.dragged && event.dx != 0.0)) {
        set_step(d, g.last * fmin(fmax((event.x - TRACK) / g.plot.w, 0.0), 1.0));
    }
    view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_GRID), 1.0);
    view_desk_line(d, g.plot.x, g.plot.y + g.plot.h, g.plot.x + g.plot.w, g.plot.y + g.plot.h, 1.0);
    view_desk_focus(d, "energies", row);
    const double x = graph_x(&g, (double)v->s.step);
    view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_MUTED), 1.0);
    view_desk_line(d, x, row.y, x, row.y + row.h, 1.0);
    if (!(g.low <= g.high)) {
        return;
    }
    draw_path(d, &g, path);
    if (v->s.step < path->n && isfinite(path->energy[v->s.step])) {
        const double e = path->energy[v->s.step];
        cairo_arc(d->cr, x, graph_y(&g, e), 3.5, 0.0, 4.0 * acos(0.0));
        view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_INK), 1.0);
        cairo_fill(d->cr);
        (void)snprintf(text, sizeof text, "E = %s%.6g", e < 0.0 ? "\xe2\x88\x92" : "", fabs(e));
        ui_label(d->u, "energy", words, text, UI_PLAIN);
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void draw_buttons(view_desk *d, viz_rect row)
{
    const struct {
        const char *id, *label, *line;
    } buttons[] = {{"back", "◀", "step -1"},
                   {"play", d->v->playing ? "Pause" : "Play", d->v->playing ? "pause" : "play"},
                   {"next", "▶", "step +1"}};
    const double thin = 36.0;
    double x = row.x;
    for (size_t i = 0; i < 3; i++) {
        const double w = i == 1 ? row.w - 2.0 * (thin + UI_GAP) : thin;
        if (ui_button(d->u, buttons[i].id, (viz_rect){x, row.y, w, row.h}, buttons[i].label,
                      true)) {
            (void)view_desk_do(d, buttons[i].line);
        }
        x += w + UI_GAP;
    }
}

static void draw_steps(view_desk *d, viz_rect rect)
{
    view *v = d->v;
    const ui_landmark trained = {(double)v->subject->trained, "trained", NULL};
    const ui_range range = {.high = fmax(1.0, (double)view_last_step(v->subject, &v->s)),
                            .step = 1.0,
                            .label = "step",
                            .landmarks = &trained,
                            .n_landmarks = 1};
    double step = (double)v->s.step;
    if (ui_slider(d->u, "step", rect, &range, &step)) {
        set_step(d, step);
    }
}

/* ---- The rate -------------------------------------------------------------------------------- */

static size_t collect_landmarks(const view *v, ui_landmark out[4])
{
    const view_landmarks *l = &v->landmarks;
    size_t n = 0;
    out[n++] = (ui_landmark){1.0, "trained", NULL};
    if (!v->has_landmarks || !l->found) {
        return n;
    }
    if (isfinite(l->flip)) {
        out[n++] = (ui_landmark){l->flip, "flip", NULL};
    }
    if (isfinite(l->ns)) {
        out[n++] = (ui_landmark){l->ns, "Neimark–Sacker", "NS"};
    }
    if (isfinite(l->lost) && l->lost != l->flip && l->lost != l->ns) {
        out[n++] = (ui_landmark){l->lost, "stability lost", "lost"};
    }
    return n;
}

static void draw_rate(view_desk *d, viz_rect rect)
{
    view *v = d->v;
    const view_landmarks *l = &v->landmarks;
    ui_landmark marks[4];
    ui_range range = {.low = RATE_LOW, .high = RATE_HIGH, .log = true};
    char unit[64] = "×";
    char value[40];
    double rate = v->s.rate;
    range.label = rect.w < NARROW ? "rate" : "rate of η/σ";
    range.landmarks = marks;
    range.n_landmarks = collect_landmarks(v, marks);
    for (size_t i = 0; i < range.n_landmarks; i++) {
        range.high = fmin(fmax(range.high, 1.25 * marks[i].at), RATE_MOST);
    }
    if (rect.w >= NARROW && v->has_landmarks && isfinite(l->eta) && isfinite(l->sigma)) {
        (void)snprintf(unit, sizeof unit, "×  (c/σ = %.4g)", rate * l->eta / l->sigma);
    }
    range.unit = unit;
    if (ui_slider(d->u, "rate", rect, &range, &rate)) {
        (void)snprintf(value, sizeof value, "%.17g", rate);
        (void)view_desk_set(d, "rate", value);
    }
}

void view_frame_dock(view_desk *d, viz_rect area)
{
    ui_panel(d->u, area);
    if (d->v->subject == NULL) {
        return;
    }
    const bool roomy = view_frame_dock_height(d->h) > 2.0 * (SLIDER + PADDING);
    const double x = area.x + PADDING + BUTTONS + UI_GAP;
    const double w = area.x + area.w - PADDING - x;
    const double top = area.y + 0.5 * PADDING + (roomy ? ENERGIES : 0.0);
    const double below = top + SLIDER + PADDING;
    if (!(w >= 4.0 * TRACK)) {
        return;
    }
    if (roomy) {
        draw_energies(d, (viz_rect){x, area.y + 2.0, w, ENERGIES},
                      (viz_rect){area.x + PADDING, area.y + 2.0, BUTTONS, ENERGIES});
    }
    draw_buttons(d, (viz_rect){area.x + PADDING, top + 10.0, BUTTONS, UI_ROW});
    draw_steps(d, (viz_rect){x, top, w, SLIDER});
    if (ui_button(d->u, "reset-rate", (viz_rect){area.x + PADDING, below + 10.0, BUTTONS, UI_ROW},
                  "Rate as trained", d->v->s.rate != 1.0)) {
        (void)view_desk_set(d, "rate", "1");
    }
    draw_rate(d, (viz_rect){x, below, w, SLIDER});
}
