/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_multipliers_plot.h"

#include "kernels/kern_size.h"
#include "viz/viz_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_MAP VIZ_MAP_VIRIDIS

enum { CIRCLE = 180, BAR_FROM = 3 };

typedef struct builder {
    viz_scene *scene;
    viz_panel *panel;
    const viz_multipliers_data *data;
    double *part; /* x and y of one series */
    size_t n_tokens;
    size_t finite, outside;
    double radius; /* largest modulus */
} builder;

static double modulus(const viz_multipliers_data *data, size_t k)
{
    const double m = hypot(data->re[k], data->im[k]);
    return isfinite(m) ? m : (double)NAN;
}

static void count(builder *b)
{
    for (size_t k = 0; k < b->data->n; k++) {
        const double m = modulus(b->data, k);
        b->finite += m >= 0.0 ? 1 : 0;
        b->outside += m > 1.0 ? 1 : 0;
        b->radius = fmax(b->radius, m);
        if (b->data->token != NULL) {
            b->n_tokens = kern_size_max(b->n_tokens, b->data->token[k] + 1);
        }
    }
}

static kern_status add_circle(builder *b, kern_error *err)
{
    double x[CIRCLE + 1];
    double y[CIRCLE + 1];
    for (int i = 0; i <= CIRCLE; i++) {
        const double angle = 4.0 * acos(0.0) * (i % CIRCLE) / CIRCLE;
        x[i] = cos(angle);
        y[i] = sin(angle);
    }
    const viz_series circle = {.name = "unit circle",
                               .x = x,
                               .y = y,
                               .n = CIRCLE + 1,
                               .style = {.paint = viz_paint_of(VIZ_PAINT_INK), .width = 0.8}};
    return viz_scene_add_series(b->scene, b->panel, &circle, err);
}

/* Points of one kind: inside or not, of one token or of all. */
static kern_status add_points(builder *b, bool inside, size_t token, kern_error *err)
{
    const viz_multipliers_data *d = b->data;
    double *x = b->part;
    double *y = b->part + d->n;
    size_t n = 0;
    for (size_t k = 0; k < d->n; k++) {
        const double m = modulus(d, k);
        const bool chosen =
            m >= 0.0 && (m < 1.0) == inside && (d->token == NULL || d->token[k] == token);
        if (chosen) {
            x[n] = d->re[k];
            y[n++] = d->im[k];
        }
    }
    if (n == 0) {
        return KERN_OK;
    }
    char name[64];
    (void)snprintf(name, sizeof name, "token %zu, %s", token, inside ? "inside" : "outside");
    const double place = b->n_tokens > 1 ? (double)token / (double)(b->n_tokens - 1) : 0.0;
    const viz_series points = {.name = d->token == NULL ? (inside ? "inside" : "outside") : name,
                               .x = x,
                               .y = y,
                               .n = n,
                               .style = {.paint = d->token == NULL ? viz_paint_class(inside ? 0 : 1)
                                                                   : viz_paint_map(LINE_MAP, place),
                                         .marker = inside ? VIZ_MARKER_CIRCLE : VIZ_MARKER_SQUARE,
                                         .size = inside ? 3.6 : 4.2,
                                         .open = !inside}};
    return viz_scene_add_series(b->scene, b->panel, &points, err);
}

/* Entries of the legend, in the colour of text: both shapes, whether they occur or not. */
static kern_status add_keys(builder *b, kern_error *err)
{
    const double none = (double)NAN;
    const bool plain = b->data->token == NULL;
    for (int inside = 1; inside >= 0; inside--) {
        const viz_series key = {.name = "legend",
                                .legend = inside ? "|<i>\xce\xbc</i>| &lt; 1"
                                                 : "|<i>\xce\xbc</i>| \xe2\x89\xa5 1",
                                .x = &none,
                                .y = &none,
                                .n = 0,
                                .style = {.paint = plain ? viz_paint_class(inside ? 0 : 1)
                                                         : viz_paint_of(VIZ_PAINT_INK),
                                          .marker = inside ? VIZ_MARKER_CIRCLE : VIZ_MARKER_SQUARE,
                                          .size = inside ? 3.6 : 4.2,
                                          .open = !inside}};
        KERN_TRY(viz_scene_add_series(b->scene, b->panel, &key, err));
    }
    return KERN_OK;
}

static kern_status add_marks(builder *b, kern_error *err)
{
    const viz_mark marks[] = {{.x = 1.0, .gap = 3.0, .text = "fold"},
                              {.x = -1.0, .gap = 3.0, .text = "flip"}};
    for (size_t i = 0; i < 2; i++) {
        KERN_TRY(viz_scene_add_mark(b->scene, b->panel, &marks[i], err));
    }
    return KERN_OK;
}

static kern_status add_bar(builder *b, kern_error *err)
{
    if (b->n_tokens < BAR_FROM) {
        return KERN_OK;
    }
    const viz_bar bar = {.integer = true,
                         .scale = {.map = LINE_MAP, .lo = 0.0, .hi = (double)(b->n_tokens - 1)},
                         .label = "token position <i>A</i>"};
    return viz_scene_set_bar(b->scene, &bar, err);
}

static kern_status build(builder *b, const viz_plot_style *style, kern_error *err)
{
    const double reach = 1.15 * fmax(1.0, b->radius);
    const viz_panel spec = {.equal = true,
                            .boxed = true,
                            .x = {.label = "Re <i>\xce\xbc</i>", .lo = -reach, .hi = reach},
                            .y = {.label = "Im <i>\xce\xbc</i>", .lo = -reach, .hi = reach}};
    KERN_TRY(viz_plot_page(&b->scene, style, 1.0, "Multipliers", err));
    KERN_TRY(viz_scene_add_panel(&b->panel, b->scene, &spec, err));
    KERN_TRY(viz_plot_rule(b->scene, b->panel, VIZ_RULE_LEVEL, 0.0, err));
    KERN_TRY(viz_plot_rule(b->scene, b->panel, VIZ_RULE_UPRIGHT, 0.0, err));
    KERN_TRY(add_circle(b, err));
    const size_t groups = b->data->token != NULL ? b->n_tokens : 1;
    for (size_t t = 0; t < groups; t++) {
        KERN_TRY(add_points(b, true, t, err));
        KERN_TRY(add_points(b, false, t, err));
    }
    KERN_TRY(add_keys(b, err));
    KERN_TRY(add_marks(b, err));
    KERN_TRY(add_bar(b, err));
    const size_t lost = b->data->n - b->finite;
    char missing[80] = "";
    if (lost > 0) {
        (void)snprintf(missing, sizeof missing, " %zu not finite and left out.", lost);
    }
    KERN_TRY(viz_plot_note(b->scene, err,
                           "%zu of %zu multipliers outside the unit circle; spectral radius "
                           "%.6g.%s",
                           b->outside, b->finite, b->radius, missing));
    return style->height == 0.0 ? viz_draw_fit_height(b->scene, 1.6 * b->scene->width, err)
                                : KERN_OK;
}

kern_status viz_multipliers_plot(viz_scene **out, const viz_multipliers_data *data,
                                 const viz_plot_style *style, kern_error *err)
{
    builder b = {.data = data};
    *out = NULL;
    count(&b);
    if (b.finite == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "none of %zu multipliers is finite", data->n);
    }
    b.part = calloc(data->n, 2 * sizeof *b.part);
    if (b.part == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    const kern_status status = build(&b, style, err);
    free(b.part);
    return viz_plot_end(out, b.scene, status);
}
