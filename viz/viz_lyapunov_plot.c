/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_lyapunov_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ASPECT 0.75

enum { ABOVE, NEAR, BELOW, KINDS, BAR_POINTS = 3, TEXT = 160 };

typedef struct builder {
    viz_scene *scene;
    viz_panel *panel;
    const viz_lyapunov_data *data;
    double *x, *y; /* 3 n values each, for one series */
} builder;

static double error_of(const viz_lyapunov_data *data, size_t i)
{
    const double e = data->error != NULL ? data->error[i] : 0.0;
    return e >= 0.0 ? e : 0.0;
}

/* Two standard errors from zero: with normal errors a zero exponent passes one time in twenty. */
static int kind_of(const viz_lyapunov_data *data, size_t i)
{
    const double v = data->exponents[i];
    const double far = 2.0 * error_of(data, i);
    return v > far ? ABOVE : (v < -far ? BELOW : NEAR);
}

static kern_status add_bars(builder *b, kern_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < b->data->n; i++) {
        const double e = error_of(b->data, i);
        for (size_t k = 0; k < BAR_POINTS && e > 0.0; k++) {
            b->x[n] = (double)(i + 1);
            b->y[n++] = k == 2 ? (double)NAN : b->data->exponents[i] + (k == 0 ? -e : e);
        }
    }
    const viz_series bars = {.name = "standard error",
                             .x = b->x,
                             .y = b->y,
                             .n = n,
                             .style = {.paint = viz_paint_of(VIZ_PAINT_MUTED), .width = 0.8}};
    return n > 0 ? viz_scene_add_series(b->scene, b->panel, &bars, err) : KERN_OK;
}

static kern_status add_kind(builder *b, int kind, kern_error *err)
{
    static const char *const names[KINDS] = {"positive", "zero within 2 standard errors",
                                             "negative"};
    static const viz_marker markers[KINDS] = {VIZ_MARKER_SQUARE, VIZ_MARKER_CROSS,
                                              VIZ_MARKER_TRIANGLE};
    static const size_t colours[KINDS] = {1, 3, 0};
    size_t n = 0;
    for (size_t i = 0; i < b->data->n; i++) {
        if (isfinite(b->data->exponents[i]) && kind_of(b->data, i) == kind) {
            b->x[n] = (double)(i + 1);
            b->y[n++] = b->data->exponents[i];
        }
    }
    const viz_series points = {.name = names[kind],
                               .legend = names[kind],
                               .x = b->x,
                               .y = b->y,
                               .n = n,
                               .style = {.paint = viz_paint_class(colours[kind]),
                                         .marker = markers[kind],
                                         .size = 4.2,
                                         .open = kind == ABOVE}};
    return n > 0 ? viz_scene_add_series(b->scene, b->panel, &points, err) : KERN_OK;
}

static kern_status write_note(builder *b, kern_error *err)
{
    char dimension[TEXT] = "";
    char check[TEXT] = "";
    double sum = 0.0;
    for (size_t i = 0; i < b->data->n; i++) {
        sum += b->data->exponents[i];
    }
    if (isfinite(b->data->kaplan_yorke)) {
        (void)snprintf(dimension, sizeof dimension, "Kaplan\xe2\x80\x93Yorke dimension %.5g. ",
                       b->data->kaplan_yorke);
    }
    if (isfinite(b->data->mean_log_det)) {
        (void)snprintf(check, sizeof check, "; mean ln |det <i>J</i>| %.6g", b->data->mean_log_det);
    }
    return viz_plot_note(b->scene, err, "%sSum of the exponents %.6g%s.", dimension, sum, check);
}

static kern_status build(builder *b, const viz_plot_style *style, kern_error *err)
{
    const viz_panel spec = {.x = {.label = "index <i>i</i>", .integer = true},
                            .y = {.label = "exponent <i>\xce\xbb<sub>i</sub></i> (nats/step)"}};
    KERN_TRY(viz_plot_page(&b->scene, style, ASPECT, "Lyapunov spectrum", err));
    KERN_TRY(viz_scene_add_panel(&b->panel, b->scene, &spec, err));
    KERN_TRY(add_bars(b, err));
    for (int kind = 0; kind < KINDS; kind++) {
        KERN_TRY(add_kind(b, kind, err));
    }
    viz_scene_fit(b->panel, 0.08);
    b->panel->x.lo = 0.5;
    b->panel->x.hi = (double)b->data->n + 0.5;
    b->panel->y.hi = fmax(b->panel->y.hi, 0.0);
    b->panel->y.lo = fmin(b->panel->y.lo, 0.0);
    KERN_TRY(viz_plot_rule(b->scene, b->panel, VIZ_RULE_LEVEL, 0.0, err));
    return write_note(b, err);
}

kern_status viz_lyapunov_plot(viz_scene **out, const viz_lyapunov_data *data,
                              const viz_plot_style *style, kern_error *err)
{
    builder b = {.data = data};
    size_t finite = 0;
    *out = NULL;
    for (size_t i = 0; i < data->n; i++) {
        finite += isfinite(data->exponents[i]) ? 1 : 0;
    }
    if (finite == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "none of %zu exponents is finite", data->n);
    }
    b.x = calloc(data->n, 2 * BAR_POINTS * sizeof *b.x);
    if (b.x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    b.y = b.x + BAR_POINTS * data->n;
    const kern_status status = build(&b, style, err);
    free(b.x);
    return viz_plot_end(out, b.scene, status);
}
