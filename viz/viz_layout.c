/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_layout.h"

#include "viz/viz_layout_fit.h"
#include "viz/viz_layout_rows.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Least distance of ticks, and air between the labels of a horizontal axis. */
#define TICK_ROOM_X 26.0
#define TICK_ROOM_Y 19.0
#define TICK_AIR    9.0
#define THIN_AIR    4.0 /* where ticks without a label stand between them */
#define COLUMN_GAP  10.0
#define PLOT_MIN    18.0

double viz_layout_x(const viz_frame *frame, const viz_axis *axis, double value)
{
    const double f = axis->log ? log(value / axis->lo) / log(axis->hi / axis->lo)
                               : (value - axis->lo) / (axis->hi - axis->lo);
    return frame->plot.x + f * frame->plot.w;
}

double viz_layout_y(const viz_frame *frame, const viz_axis *axis, double value)
{
    const double f = axis->log ? log(value / axis->lo) / log(axis->hi / axis->lo)
                               : (value - axis->lo) / (axis->hi - axis->lo);
    return frame->plot.y + (1.0 - f) * frame->plot.h;
}

size_t viz_layout_room(const viz_frame *frame)
{
    return (size_t)fmax(1.0, floor((frame->plot.h + frame->label_height) / frame->label_height));
}

bool viz_layout_boxed(const viz_panel *panel)
{
    if (panel->surface) {
        return false;
    }
    bool opaque = panel->n_classes > 0;
    for (size_t i = 0; i < panel->n_fields; i++) {
        opaque = opaque || !panel->fields[i].ink;
    }
    return panel->boxed || opaque;
}

size_t viz_layout_labels(const viz_panel *panel)
{
    size_t n = 0;
    for (size_t i = 0; i < panel->n_series; i++) {
        n += panel->series[i].end_label != NULL ? 1 : 0;
    }
    return n;
}

void viz_layout_spread(double *y, size_t n, double height, double lo, double hi, double *scratch)
{
    /* With u_i = y_i − i·height the condition becomes "u ascending": isotonic regression. */
    double *mean = scratch;
    double *size = scratch + n;
    size_t blocks = 0;
    for (size_t i = 0; i < n; i++) {
        mean[blocks] = y[i] - (double)i * height;
        size[blocks] = 1.0;
        while (blocks > 0 && mean[blocks - 1] > mean[blocks]) {
            const double total = size[blocks - 1] + size[blocks];
            mean[blocks - 1] += (mean[blocks] - mean[blocks - 1]) * size[blocks] / total;
            size[blocks - 1] = total;
            blocks--;
        }
        blocks++;
    }
    const double least = lo + 0.5 * height;
    const double most = fmax(least, hi - 0.5 * height - (double)(n - 1) * height);
    size_t i = 0;
    for (size_t b = 0; b < blocks; b++) {
        const double u = fmin(fmax(mean[b], least), most);
        const size_t end = i + (size_t)size[b];
        for (; i < end; i++) {
            y[i] = u + (double)i * height;
        }
    }
}

static size_t tick_target(double length, double room)
{
    const double n = floor(length / room) + 1.0;
    return (size_t)fmin(fmax(n, 2.0), 12.0);
}

static kern_status make_ticks(viz_ticks *ticks, const viz_axis *axis, size_t target,
                              kern_error *err)
{
    if (axis->log) {
        return viz_ticks_log(ticks, axis->lo, axis->hi, target, err);
    }
    return viz_ticks_linear(ticks, axis->lo, axis->hi, target, axis->integer, err);
}

/* Least distance of two neighbours on the page. */
static double nearest_ticks(const viz_panel *panel, const viz_frame *frame)
{
    double nearest = frame->plot.w;
    for (size_t i = 1; i < frame->x.n_major; i++) {
        nearest = fmin(nearest, viz_layout_x(frame, &panel->x, frame->x.major[i]) -
                                    viz_layout_x(frame, &panel->x, frame->x.major[i - 1]));
    }
    return nearest;
}

/* Takes the labels of all but every k-th tick, counted from the middle one. */
static void thin_labels(viz_ticks *ticks, size_t k)
{
    for (size_t i = 0; i < ticks->n_major; i++) {
        if (i % k != ticks->n_major / 2 % k) {
            ticks->label[i][0] = '\0';
        }
    }
}

/* Horizontal ticks: as many as leave air between the widest labels; on a plot too narrow for the
 * fewest not all have one. */
static kern_status fit_x_ticks(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame,
                               kern_error *err)
{
    double needed = 0.0;
    double nearest = 0.0;
    for (size_t target = tick_target(frame->plot.w, TICK_ROOM_X); target >= 2; target--) {
        KERN_TRY(make_ticks(&frame->x, &panel->x, target, err));
        needed = viz_fit_widest(canvas, &frame->x) + TICK_AIR;
        nearest = nearest_ticks(panel, frame);
        if (nearest >= needed) {
            return KERN_OK;
        }
    }
    if (nearest > 0.0 && frame->x.n_major > 2) {
        const double k = ceil((needed - TICK_AIR + THIN_AIR) / nearest);
        thin_labels(&frame->x, (size_t)fmin(k, 2.0 * VIZ_TICKS_MAJOR_MAX));
    }
    return KERN_OK;
}

/* Widths of end labels, leader included, and the height of one. */
static double measure_labels(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame)
{
    double widest = 0.0;
    frame->label_height = viz_fit_height(canvas, VIZ_ROLE_END_LABEL, "0") + VIZ_LABEL_AIR;
    for (size_t i = 0; i < panel->n_series; i++) {
        double w;
        double h;
        if (panel->series[i].end_label != NULL) {
            viz_canvas_measure(canvas, VIZ_ROLE_END_LABEL, panel->series[i].end_label, 0.0, &w, &h);
            widest = fmax(widest, w + VIZ_LEADER);
            frame->label_height = fmax(frame->label_height, h + VIZ_LABEL_AIR);
        }
    }
    return widest;
}

static kern_status make_bar_ticks(viz_ticks *ticks, const viz_bar *bar, size_t target,
                                  kern_error *err)
{
    const viz_scale *scale = &bar->scale;
    if (scale->kind == VIZ_SCALE_SYMLOG) {
        return viz_ticks_symlog(ticks, scale->lo, scale->hi, scale->threshold, target, err);
    }
    const viz_axis axis = {.lo = scale->lo,
                           .hi = scale->hi,
                           .log = scale->kind == VIZ_SCALE_LOG,
                           .integer = bar->integer};
    return make_ticks(ticks, &axis, target, err);
}

/* True when every panel of the row stands in the same columns as some panel of the first row: such
 * rows share their edges, others use the full width. */
static bool follows_first_row(const viz_scene *scene, size_t row)
{
    for (size_t i = 0; i < scene->n_panels; i++) {
        bool found = scene->panels[i].row != row;
        for (size_t k = 0; k < scene->n_panels && !found; k++) {
            found = scene->panels[k].row == 0 &&
                    scene->panels[k].column == scene->panels[i].column &&
                    scene->panels[k].n_columns == scene->panels[i].n_columns;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* Reserves the colour bar at the right of the first row, or of all that share its edges. */
static kern_status place_bar(viz_layout *layout, viz_canvas *canvas, viz_grid *g, kern_error *err)
{
    const viz_bar *bar = &canvas->scene->bar;
    if (!bar->shown) {
        return KERN_OK;
    }
    size_t last = 0;
    while (bar->tall && last + 1 < g->rows && follows_first_row(canvas->scene, last + 1)) {
        last++;
    }
    const double height = fmax(g->bottom[last] - g->top[0], 1.0);
    KERN_TRY(make_bar_ticks(&layout->bar_ticks, bar, tick_target(height, TICK_ROOM_Y), err));
    double width = VIZ_BAR_WIDTH + VIZ_TICK_MAJOR + VIZ_TICK_GAP;
    width += viz_fit_widest(canvas, &layout->bar_ticks);
    if (bar->label != NULL) {
        width += VIZ_AXIS_GAP + layout->bar_label.height;
    }
    layout->bar =
        (viz_rect){canvas->scene->width - VIZ_PAGE_PAD - width, g->top[0], VIZ_BAR_WIDTH, height};
    layout->bar_width = width;
    g->bar_width = width + COLUMN_GAP;
    return KERN_OK;
}

/* Largest of `values` over the panels in the same columns as panel `index`. */
static double shared_margin(const viz_scene *scene, size_t index, const double *values)
{
    double most = 0.0;
    for (size_t k = 0; k < scene->n_panels; k++) {
        if (scene->panels[k].column == scene->panels[index].column &&
            scene->panels[k].n_columns == scene->panels[index].n_columns) {
            most = fmax(most, values[k]);
        }
    }
    return most;
}

/* Splits the width of one row, given what every panel needs at its left and right. */
static void split_row(viz_grid *g, const viz_scene *scene, size_t row, const double *before,
                      const double *panel_after)
{
    double after[VIZ_GRID_MAX] = {0};
    const bool follows = follows_first_row(scene, row);
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        if (panel->row == row || (follows && panel->row == 0)) {
            const size_t last = panel->column + panel->n_columns - 1;
            after[last] = fmax(after[last], shared_margin(scene, i, panel_after));
        }
    }
    double spare = g->area.w - COLUMN_GAP * (double)(g->columns - 1);
    spare -= follows ? g->bar_width : 0.0;
    for (size_t c = 0; c < g->columns; c++) {
        spare -= before[c] + after[c];
    }
    double x = g->area.x;
    for (size_t c = 0; c < g->columns; c++) {
        g->cell_left[row][c] = x;
        g->left[row][c] = x + before[c];
        g->right[row][c] = g->left[row][c] + spare / (double)g->columns;
        g->cell_right[row][c] = g->right[row][c] + after[c];
        x = g->cell_right[row][c] + COLUMN_GAP;
    }
}

static kern_status place_columns(viz_layout *layout, viz_canvas *canvas, viz_grid *g,
                                 kern_error *err)
{
    const viz_scene *scene = canvas->scene;
    double before[VIZ_GRID_MAX] = {0};
    double after[VIZ_PANELS_MAX] = {0};
    const double axis = viz_fit_height(canvas, VIZ_ROLE_AXIS, "0");
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        viz_frame *frame = &layout->frames[i];
        const double height = g->bottom[panel->row] - g->top[panel->row];
        KERN_TRY(make_ticks(&frame->y, &panel->y, tick_target(height, TICK_ROOM_Y), err));
        double left = VIZ_TICK_MAJOR + VIZ_TICK_GAP;
        left += panel->y.quiet ? 0.0 : viz_fit_widest(canvas, &frame->y);
        if (panel->y.label != NULL) {
            left += VIZ_AXIS_GAP + (panel->surface ? axis : frame->y_label.height);
        }
        before[panel->column] = fmax(before[panel->column], fmax(left, frame->overhang));
        after[i] = fmax(frame->overhang, measure_labels(canvas, panel, frame));
    }
    for (size_t r = 0; r < g->rows; r++) {
        split_row(g, scene, r, before, after);
    }
    return KERN_OK;
}

/* Shrinks a plot so that a unit is as long along x as along y; it stays at the left and top. The
 * colour bar follows a single plot of the first row. */
static void make_equal(viz_layout *layout, const viz_scene *scene, size_t index)
{
    const viz_panel *panel = &scene->panels[index];
    viz_rect *plot = &layout->frames[index].plot;
    const double dx = panel->x.hi - panel->x.lo;
    const double dy = panel->y.hi - panel->y.lo;
    if (!panel->equal || panel->x.log || panel->y.log || !(dx > 0.0 && dy > 0.0)) {
        return;
    }
    const double unit = fmin(plot->w / dx, plot->h / dy);
    const double cut = plot->w - unit * dx;
    layout->frames[index].spare_height = plot->h - unit * dy;
    plot->w = unit * dx;
    plot->h = unit * dy;
    if (panel->row == 0) {
        layout->bar.x -= scene->n_panels == 1 ? cut : 0.0;
        layout->bar.h = scene->bar.tall ? layout->bar.h : fmin(layout->bar.h, plot->h);
    }
}

static kern_status place_plots(viz_layout *layout, viz_canvas *canvas, const viz_grid *g,
                               kern_error *err)
{
    const viz_scene *scene = canvas->scene;
    double lowest = 0.0;
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        viz_frame *frame = &layout->frames[i];
        const size_t last = panel->column + panel->n_columns - 1;
        frame->plot = (viz_rect){g->left[panel->row][panel->column], g->top[panel->row],
                                 g->right[panel->row][last] - g->left[panel->row][panel->column],
                                 g->bottom[panel->row] - g->top[panel->row]};
        frame->cell =
            (viz_rect){g->cell_left[panel->row][panel->column], frame->plot.y,
                       g->cell_right[panel->row][last] - g->cell_left[panel->row][panel->column],
                       frame->plot.h + g->footer[panel->row]};
        frame->spare_height = 0.0;
        make_equal(layout, scene, i);
        if (follows_first_row(scene, panel->row)) {
            lowest = fmax(lowest, frame->plot.y + frame->plot.h);
        }
        KERN_TRY(fit_x_ticks(canvas, panel, frame, err));
    }
    layout->bar.h = scene->bar.tall ? lowest - layout->bar.y : layout->bar.h;
    return KERN_OK;
}

static kern_status place(viz_layout *layout, viz_canvas *canvas, viz_grid *g, kern_error *err)
{
    g->bar_width = 0.0;
    viz_layout_rows(layout, canvas, g);
    KERN_TRY(place_bar(layout, canvas, g, err));
    KERN_TRY(place_columns(layout, canvas, g, err));
    return place_plots(layout, canvas, g, err);
}

static kern_status check_size(const viz_layout *layout, const viz_scene *scene, kern_error *err)
{
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_rect plot = layout->frames[i].plot;
        if (!(plot.w >= PLOT_MIN && plot.h >= PLOT_MIN)) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the page of %.0f by %.0f points is too small for the figure's "
                              "panels and labels; a larger width or height is needed",
                              scene->width, scene->height);
        }
    }
    return KERN_OK;
}

/* Places everything until heights and labels have settled: more lines of a label make plots
 * smaller, and those make labels longer than their axes. */
static kern_status settle(viz_layout *layout, viz_canvas *canvas, kern_error *err)
{
    enum { PASSES = 8 };
    const viz_scene *scene = canvas->scene;
    viz_grid g = {.rows = 0};
    double cell[VIZ_PANELS_MAX];
    viz_layout_page(layout, canvas, &g);
    for (size_t i = 0; i < scene->n_panels; i++) {
        cell[i] = g.area.w * (double)scene->panels[i].n_columns / (double)g.columns;
    }
    viz_fit_start(layout, canvas, cell);
    bool again = true;
    for (int pass = 0; pass < PASSES && again; pass++) {
        KERN_TRY(place(layout, canvas, &g, err));
        again = viz_layout_most(layout, scene, &g);
        /* Labels wait for the height that their rows are left by others. */
        if (pass > 0 || !again) {
            again = viz_fit_labels(layout, canvas, true) || again;
        }
    }
    if (again) {
        KERN_TRY(place(layout, canvas, &g, err));
        (void)viz_fit_labels(layout, canvas, false);
    }
    return check_size(layout, scene, err);
}

kern_status viz_layout_create(viz_layout **out, viz_canvas *canvas, kern_error *err)
{
    *out = NULL;
    if (canvas->scene->n_panels == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the figure has no panel");
    }
    viz_layout *layout = calloc(1, sizeof *layout);
    if (layout == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    const kern_status status = settle(layout, canvas, err);
    if (status != KERN_OK) {
        viz_layout_destroy(layout);
        return status;
    }
    *out = layout;
    return KERN_OK;
}

void viz_layout_destroy(viz_layout *layout)
{
    free(layout);
}
