/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_verify_plot.h"

#include "viz/viz_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A4_WIDTH_MM  210.0
#define A4_HEIGHT_MM 297.0
#define SHORT_PAGE   0.6 /* of that height, without the panel on channels */

enum { POINTS_MAX = 1 << 16, STEM_POINTS = 3 };

/* Everything the parts of the builder share. */
typedef struct builder {
    viz_scene *scene;
    const viz_verify_data *data;
    double *x; /* room for one series */
    double *y;
} builder;

static kern_status add_line(builder *b, viz_panel *panel, const char *name, const char *legend,
                            size_t n, viz_style style, kern_error *err)
{
    const viz_series line = {
        .name = name, .legend = legend, .x = b->x, .y = b->y, .n = n, .style = style};
    return viz_scene_add_series(b->scene, panel, &line, err);
}

static viz_style line_style(viz_paint paint, viz_dash dash)
{
    return (viz_style){.paint = paint, .width = 1.2, .dash = dash};
}

/* A vertical line at the model's own step. */
static kern_status add_step(builder *b, viz_panel *panel, kern_error *err)
{
    if (!viz_scene_drawable(panel, b->data->step, panel->y.lo)) {
        return KERN_OK;
    }
    b->x[0] = b->data->step;
    b->x[1] = b->data->step;
    b->y[0] = panel->y.lo;
    b->y[1] = panel->y.hi;
    return add_line(b, panel, "c of the model", "<i>c</i> of the model", 2,
                    line_style(viz_paint_of(VIZ_PAINT_INK), VIZ_DOTTED), err);
}

/* ---- change of the energy against c -----------------------------------------------------------
 */

/* The range of y: what the change itself needs, and as much above 0 as below at most twice over, so
 * that a steep rise does not flatten the rest. */
static void fit_change(viz_panel *panel, const viz_verify_data *d)
{
    double low = 0.0;
    double high = 0.0;
    for (size_t i = 0; i < d->n_curve; i++) {
        low = isfinite(d->change[i]) ? fmin(low, d->change[i]) : low;
        high = isfinite(d->change[i]) ? fmax(high, d->change[i]) : high;
    }
    high = low < 0.0 ? fmin(high, -low) : high;
    const double room = 0.06 * (high - low > 0.0 ? high - low : 1.0);
    panel->y.lo = low - room;
    panel->y.hi = high + room;
    panel->x.lo = d->c[0];
    panel->x.hi = d->c[d->n_curve - 1];
}

/* One of the two curves; what lies outside the panel is left out. */
static kern_status add_change(builder *b, viz_panel *panel, const double *values, const char *name,
                              const char *legend, viz_style style, kern_error *err)
{
    for (size_t i = 0; i < b->data->n_curve; i++) {
        const bool inside = values[i] >= panel->y.lo && values[i] <= panel->y.hi;
        b->x[i] = b->data->c[i];
        b->y[i] = inside ? values[i] : (double)NAN;
    }
    return add_line(b, panel, name, legend, b->data->n_curve, style, err);
}

static kern_status add_change_panel(builder *b, kern_error *err)
{
    const viz_verify_data *d = b->data;
    const viz_panel spec = {.title = "One token, prefix frozen: change of energy in one step",
                            .x = {.label = "step size <i>c</i>", .log = true},
                            .y = {.label = "Δ<i>E</i> (nats)"}};
    viz_panel *panel;
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    fit_change(panel, d);
    if (d->covered < panel->x.hi) {
        const viz_span span = {.from = fmax(d->covered, panel->x.lo),
                               .to = panel->x.hi,
                               .label = "beyond the theorem"};
        KERN_TRY(viz_scene_add_span(b->scene, panel, &span, err));
    }
    KERN_TRY(add_change(b, panel, d->allowed, "bound", "the bound",
                        line_style(viz_paint_class(1), VIZ_DASHED), err));
    KERN_TRY(add_change(b, panel, d->change, "change", "measured",
                        line_style(viz_paint_class(0), VIZ_SOLID), err));
    return add_step(b, panel, err);
}

/* ---- reaches over states ----------------------------------------------------------------------
 */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The share of states up to a value, as a staircase over [low, high]; infinite ones are beyond. */
static size_t make_stairs(builder *b, const double *values, double low, double high)
{
    const size_t n = b->data->n_states;
    double *sorted = b->y + 2 * n + 2;
    size_t at = 0;
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    b->x[at] = low;
    b->y[at++] = 0.0;
    for (size_t i = 0; i < n && isfinite(sorted[i]); i++) {
        b->x[at] = sorted[i];
        b->y[at++] = (double)i / (double)n;
        b->x[at] = sorted[i];
        b->y[at++] = (double)(i + 1) / (double)n;
    }
    b->x[at] = high;
    b->y[at] = b->y[at - 1];
    return at + 1;
}

static void find_range(const builder *b, double *low, double *high)
{
    const viz_verify_data *d = b->data;
    *low = d->step > 0.0 ? d->step : HUGE_VAL;
    *high = d->step > 0.0 ? d->step : 0.0;
    for (size_t i = 0; i < d->n_states; i++) {
        const double both[] = {d->covered_each[i], d->rises_each[i]};
        for (size_t k = 0; k < 2; k++) {
            if (isfinite(both[k]) && both[k] > 0.0) {
                *low = fmin(*low, both[k]);
                *high = fmax(*high, both[k]);
            }
        }
    }
    if (!(*low <= *high)) {
        *low = 0.1;
        *high = 10.0;
    }
    *low *= 0.5;
    *high *= 2.0;
}

static kern_status add_reach_panel(builder *b, kern_error *err)
{
    const viz_verify_data *d = b->data;
    double low;
    double high;
    find_range(b, &low, &high);
    const viz_panel spec = {
        .title = "All states: how far the bound is from the truth",
        .column = 1,
        .x = {.label = "step size <i>c</i>", .log = true, .lo = low, .hi = high},
        .y = {.label = "share of states", .lo = 0.0, .hi = 1.0}};
    viz_panel *panel;
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    size_t n = make_stairs(b, d->covered_each, low, high);
    KERN_TRY(add_line(b, panel, "no longer covered", "the theorem ends", n,
                      line_style(viz_paint_class(1), VIZ_DASHED), err));
    n = make_stairs(b, d->rises_each, low, high);
    KERN_TRY(add_line(b, panel, "rises", "the energy rises", n,
                      line_style(viz_paint_class(0), VIZ_SOLID), err));
    return add_step(b, panel, err);
}

/* ---- channels ---------------------------------------------------------------------------------
 */

static kern_status add_share_panel(builder *b, kern_error *err)
{
    const viz_verify_data *d = b->data;
    double most = 0.0;
    for (size_t i = 0; i < d->n_channels; i++) {
        const double share[STEM_POINTS] = {0.0, d->share[i], (double)NAN};
        for (size_t k = 0; k < STEM_POINTS; k++) {
            b->x[STEM_POINTS * i + k] = (double)i;
            b->y[STEM_POINTS * i + k] = share[k];
        }
        most = fmax(most, d->share[i]);
    }
    const viz_panel spec = {
        .title = "Share of each channel in the worst violation",
        .row = d->n_curve > 0 ? 1 : 0,
        .n_columns = d->n_curve > 0 ? 2 : 1,
        .x = {.label = "channel", .lo = -1.0, .hi = (double)d->n_channels, .integer = true},
        .y = {.label = "share", .lo = 0.0, .hi = most > 0.0 ? 1.08 * most : 1.0}};
    viz_panel *panel;
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    return add_line(b, panel, "share", NULL, STEM_POINTS * d->n_channels,
                    line_style(viz_paint_class(0), VIZ_SOLID), err);
}

/* ---- texts ------------------------------------------------------------------------------------
 */

/* Escapes the note and sets its headings in bold. */
static kern_status write_note(builder *b, kern_error *err)
{
    char markup[VIZ_TEXT_MAX];
    size_t used = 0;
    const char *line = b->data->note;
    while (*line != '\0') {
        char plain[VIZ_TEXT_MAX];
        char escaped[VIZ_TEXT_MAX];
        const size_t length = strcspn(line, "\n");
        const bool heading = strncmp(line, "# ", 2) == 0;
        (void)snprintf(plain, sizeof plain, "%.*s", (int)(length - (heading ? 2 : 0)),
                       line + (heading ? 2 : 0));
        (void)viz_text_escape(escaped, sizeof escaped, plain);
        const int n =
            snprintf(markup + used, sizeof markup - used, "%s%s%s%s", used > 0 ? "\n" : "",
                     heading ? "<b>" : "", escaped, heading ? "</b>" : "");
        if (length >= VIZ_TEXT_MAX / 2 || n < 0 || (size_t)n >= sizeof markup - used) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "the text of a report takes more than the %d bytes that a figure has "
                              "for it, or one of its lines more than half of them",
                              VIZ_TEXT_MAX);
        }
        used += (size_t)n;
        line += length;
        line += *line == '\n';
    }
    return viz_scene_set_note(b->scene, markup, err);
}

static kern_status write_texts(builder *b, kern_error *err)
{
    char title[VIZ_TEXT_MAX];
    const bool fine = viz_text_is_utf8(b->data->title) &&
                      (b->data->note == NULL || viz_text_is_utf8(b->data->note));
    if (!fine) {
        return kern_raise(err, KERN_BAD_INPUT, "a text of the report is not valid UTF-8");
    }
    (void)viz_text_escape(title, sizeof title, b->data->title);
    KERN_TRY(viz_scene_set_title(b->scene, title, err));
    return b->data->note != NULL && b->data->note[0] != '\0' ? write_note(b, err) : KERN_OK;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static kern_status check_data(const viz_verify_data *d, kern_error *err)
{
    if (d->n_curve == 0 && d->share == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a report without curve and channels has "
                          "nothing to draw");
    }
    if (d->n_curve > POINTS_MAX || d->n_states > POINTS_MAX || d->n_channels > POINTS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a figure takes up to %d points, states and channels", POINTS_MAX);
    }
    if (d->n_curve == 1 || (d->n_curve > 0 && (d->c == NULL || d->change == NULL ||
                                               d->allowed == NULL || d->n_states == 0 ||
                                               d->covered_each == NULL || d->rises_each == NULL))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "an array of the figure is missing");
    }
    return KERN_OK;
}

static kern_status build(builder *b, const viz_verify_style *style, kern_error *err)
{
    const viz_verify_data *d = b->data;
    const double width = style->width != 0.0 ? style->width : viz_scene_points(A4_WIDTH_MM);
    const double page = viz_scene_points(A4_HEIGHT_MM) * (d->share != NULL ? 1.0 : SHORT_PAGE);
    const double height = style->height != 0.0 ? style->height : page;
    const size_t room = d->n_curve + 3 * d->n_states + STEM_POINTS * d->n_channels + 4;
    b->x = calloc(2 * room, sizeof *b->x);
    if (b->x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a figure");
    }
    b->y = b->x + room;
    KERN_TRY(viz_scene_create(&b->scene, width, height, err));
    b->scene->theme = style->theme;
    KERN_TRY(write_texts(b, err));
    if (d->n_curve > 0) {
        KERN_TRY(add_change_panel(b, err));
        KERN_TRY(add_reach_panel(b, err));
    }
    b->scene->row_weight[1] = 0.5;
    return d->share != NULL && d->n_channels > 0 ? add_share_panel(b, err) : KERN_OK;
}

kern_status viz_verify_plot(viz_scene **out, const viz_verify_data *data,
                            const viz_verify_style *style, kern_error *err)
{
    const viz_verify_style usual = {0};
    builder b = {.data = data};
    *out = NULL;
    KERN_TRY(check_data(data, err));
    const kern_status status = build(&b, style != NULL ? style : &usual, err);
    free(b.x);
    if (status != KERN_OK) {
        viz_scene_destroy(b.scene);
        return status;
    }
    *out = b.scene;
    return KERN_OK;
}
