/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_layout.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Least distance of ticks, and air between the labels of a horizontal axis. */
#define TICK_ROOM_X 26.0
#define TICK_ROOM_Y 19.0
#define TICK_AIR    9.0
#define ROW_GAP     9.0
#define COLUMN_GAP  10.0
#define PLOT_MIN    18.0

/* Tallest tick label: it carries an exponent. */
static const char tall_tick[] = "10<sup>\xe2\x88\x92"
                                "8</sup>";

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

bool viz_layout_entry(const viz_panel *panel, size_t *cursor, viz_entry *entry)
{
    for (; *cursor < panel->n_series; ++*cursor) {
        const viz_series *series = &panel->series[*cursor];
        if (series->legend != NULL) {
            *entry = (viz_entry){.legend = series->legend, .style = &series->style};
            ++*cursor;
            return true;
        }
    }
    size_t skipped = panel->n_series;
    for (size_t m = 0; m < panel->n_classes; m++) {
        const viz_classes *map = &panel->classes[m];
        for (size_t i = *cursor > skipped ? *cursor - skipped : 0; i < map->n_classes; i++) {
            if (map->classes[i].legend != NULL) {
                *entry = (viz_entry){.legend = map->classes[i].legend, .class = &map->classes[i]};
                *cursor = skipped + i + 1;
                return true;
            }
        }
        skipped += map->n_classes;
    }
    return false;
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

static double widest_tick(viz_canvas *canvas, const viz_ticks *ticks)
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

/* Horizontal ticks: as many as leave air between the widest labels. */
static kern_status fit_x_ticks(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame,
                               kern_error *err)
{
    for (size_t target = tick_target(frame->plot.w, TICK_ROOM_X); target >= 2; target--) {
        KERN_TRY(make_ticks(&frame->x, &panel->x, target, err));
        const double needed = widest_tick(canvas, &frame->x) + TICK_AIR;
        double nearest = frame->plot.w;
        for (size_t i = 1; i < frame->x.n_major; i++) {
            nearest = fmin(nearest, viz_layout_x(frame, &panel->x, frame->x.major[i]) -
                                        viz_layout_x(frame, &panel->x, frame->x.major[i - 1]));
        }
        if (nearest >= needed) {
            break;
        }
    }
    return KERN_OK;
}

static double text_height(viz_canvas *canvas, viz_role role, const char *markup)
{
    double w = 0.0;
    double h = 0.0;
    if (markup != NULL) {
        viz_canvas_measure(canvas, role, markup, 0.0, &w, &h);
    }
    return h;
}

/* Heights of the lines above a plot. */
static void measure_header(viz_canvas *canvas, const viz_panel *panel, double cell_width,
                           viz_frame *frame)
{
    frame->title_height = text_height(canvas, VIZ_ROLE_PANEL_TITLE, panel->title);
    frame->legend_width = fmax(0.75 * cell_width - 20.0, 60.0);
    frame->line_height = 0.0;
    double x = 0.0;
    size_t lines = 0;
    size_t cursor = 0;
    viz_entry entry;
    while (viz_layout_entry(panel, &cursor, &entry)) {
        double w = 0.0;
        double h = 0.0;
        viz_canvas_measure(canvas, VIZ_ROLE_LEGEND, entry.legend, 0.0, &w, &h);
        w += VIZ_LEGEND_KEY;
        if (lines == 0 || x + w > frame->legend_width) {
            lines++;
            x = 0.0;
        }
        x += w + VIZ_LEGEND_GAP;
        frame->line_height = fmax(frame->line_height, h + 1.0);
    }
    frame->legend_height = (double)lines * frame->line_height;
    for (size_t i = 0; i < panel->n_spans; i++) {
        frame->span_height =
            fmax(frame->span_height, text_height(canvas, VIZ_ROLE_SPAN, panel->spans[i].label));
    }
}

/* Widths of end labels, leader included, and the height of one. */
static double measure_labels(viz_canvas *canvas, const viz_panel *panel, viz_frame *frame)
{
    double widest = 0.0;
    frame->label_height = text_height(canvas, VIZ_ROLE_END_LABEL, "0") + VIZ_LABEL_AIR;
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

/* Page split into a title, a note, a bar and the grid of panels. */
typedef struct grid {
    viz_rect area;
    size_t rows, columns;
    double top[VIZ_GRID_MAX], bottom[VIZ_GRID_MAX]; /* of the plots of a row */
    double left[VIZ_GRID_MAX][VIZ_GRID_MAX];        /* [row][column] of the plots */
    double right[VIZ_GRID_MAX][VIZ_GRID_MAX];
    double bar_width; /* taken from the rows that share the first row's columns */

} grid;

static void place_page(viz_layout *layout, viz_canvas *canvas, grid *g)
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
}

static void place_rows(viz_layout *layout, viz_canvas *canvas, grid *g)
{
    const viz_scene *scene = canvas->scene;
    double header[VIZ_GRID_MAX] = {0};
    double footer[VIZ_GRID_MAX] = {0};
    const double tick = text_height(canvas, VIZ_ROLE_TICK, tall_tick);
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        viz_frame *frame = &layout->frames[i];
        const double cell = g->area.w * (double)panel->n_columns / (double)g->columns;
        measure_header(canvas, panel, cell, frame);
        double above = frame->title_height + frame->legend_height + frame->span_height;
        above += above > 0.0 ? 2.5 : 0.0;
        double below = VIZ_TICK_MAJOR + VIZ_TICK_GAP + tick;
        if (panel->x.label != NULL) {
            below += VIZ_AXIS_GAP + text_height(canvas, VIZ_ROLE_AXIS, panel->x.label);
        }
        header[panel->row] = fmax(header[panel->row], fmax(above, 0.5 * tick));
        footer[panel->row] = fmax(footer[panel->row], below);
    }
    double spare = g->area.h - ROW_GAP * (double)(g->rows - 1);
    double weights = 0.0;
    for (size_t r = 0; r < g->rows; r++) {
        spare -= header[r] + footer[r];
        weights += scene->row_weight[r] > 0.0 ? scene->row_weight[r] : 1.0;
    }
    double y = g->area.y;
    for (size_t r = 0; r < g->rows; r++) {
        const double weight = scene->row_weight[r] > 0.0 ? scene->row_weight[r] : 1.0;
        g->top[r] = y + header[r];
        g->bottom[r] = g->top[r] + spare * weight / weights;
        y = g->bottom[r] + footer[r] + ROW_GAP;
    }
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

/* Reserves the colour bar at the right of the first row. */
static kern_status place_bar(viz_layout *layout, viz_canvas *canvas, grid *g, kern_error *err)
{
    const viz_bar *bar = &canvas->scene->bar;
    if (!bar->shown) {
        return KERN_OK;
    }
    const double height = fmax(g->bottom[0] - g->top[0], 1.0);
    KERN_TRY(make_bar_ticks(&layout->bar_ticks, bar, tick_target(height, TICK_ROOM_Y), err));
    double width = VIZ_BAR_WIDTH + VIZ_TICK_MAJOR + VIZ_TICK_GAP;
    width += widest_tick(canvas, &layout->bar_ticks);
    if (bar->label != NULL) {
        width += VIZ_AXIS_GAP + text_height(canvas, VIZ_ROLE_AXIS, bar->label);
    }
    layout->bar =
        (viz_rect){canvas->scene->width - VIZ_PAGE_PAD - width, g->top[0], VIZ_BAR_WIDTH, height};
    layout->bar_width = width;
    g->bar_width = width + COLUMN_GAP;
    return KERN_OK;
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
static void split_row(grid *g, const viz_scene *scene, size_t row, const double *before,
                      const double *panel_after)
{
    double after[VIZ_GRID_MAX] = {0};
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        if (panel->row == row) {
            const size_t last = panel->column + panel->n_columns - 1;
            after[last] = fmax(after[last], shared_margin(scene, i, panel_after));
        }
    }
    double spare = g->area.w - COLUMN_GAP * (double)(g->columns - 1);
    spare -= follows_first_row(scene, row) ? g->bar_width : 0.0;
    for (size_t c = 0; c < g->columns; c++) {
        spare -= before[c] + after[c];
    }
    double x = g->area.x;
    for (size_t c = 0; c < g->columns; c++) {
        g->left[row][c] = x + before[c];
        g->right[row][c] = g->left[row][c] + spare / (double)g->columns;
        x = g->right[row][c] + after[c] + COLUMN_GAP;
    }
}

static kern_status place_columns(viz_layout *layout, viz_canvas *canvas, grid *g, kern_error *err)
{
    const viz_scene *scene = canvas->scene;
    double before[VIZ_GRID_MAX] = {0};
    double after[VIZ_PANELS_MAX] = {0};
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        viz_frame *frame = &layout->frames[i];
        const double height = g->bottom[panel->row] - g->top[panel->row];
        KERN_TRY(make_ticks(&frame->y, &panel->y, tick_target(height, TICK_ROOM_Y), err));
        double left = VIZ_TICK_MAJOR + VIZ_TICK_GAP + widest_tick(canvas, &frame->y);
        if (panel->y.label != NULL) {
            left += VIZ_AXIS_GAP + text_height(canvas, VIZ_ROLE_AXIS, panel->y.label);
        }
        before[panel->column] = fmax(before[panel->column], left);
        /* Half of a tick label hangs over the right end of the axis. */
        after[i] = fmax(9.0, measure_labels(canvas, panel, frame));
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
        layout->bar.h = fmin(layout->bar.h, plot->h);
    }
}

static kern_status place_plots(viz_layout *layout, viz_canvas *canvas, const grid *g,
                               kern_error *err)
{
    const viz_scene *scene = canvas->scene;
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        viz_frame *frame = &layout->frames[i];
        const size_t last = panel->column + panel->n_columns - 1;
        frame->plot = (viz_rect){g->left[panel->row][panel->column], g->top[panel->row],
                                 g->right[panel->row][last] - g->left[panel->row][panel->column],
                                 g->bottom[panel->row] - g->top[panel->row]};
        make_equal(layout, scene, i);
        if (!(frame->plot.w >= PLOT_MIN && frame->plot.h >= PLOT_MIN)) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the page of %.0f by %.0f points is too small for the figure's "
                              "panels and labels; a larger width or height is needed",
                              scene->width, scene->height);
        }
        KERN_TRY(fit_x_ticks(canvas, panel, frame, err));
    }
    return KERN_OK;
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
    grid g = {.rows = 0};
    place_page(layout, canvas, &g);
    place_rows(layout, canvas, &g);
    kern_status status = place_bar(layout, canvas, &g, err);
    if (status == KERN_OK) {
        status = place_columns(layout, canvas, &g, err);
    }
    if (status == KERN_OK) {
        status = place_plots(layout, canvas, &g, err);
    }
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
