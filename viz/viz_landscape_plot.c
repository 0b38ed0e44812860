/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_landscape_plot.h"

#include "viz/viz_landscape_paths.h"
#include "viz/viz_scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ASPECT_MAP   0.70 /* height over width without a trajectory */
#define ASPECT_BOTH  0.96
#define ASPECT_TALL  1.75  /* where the panels below stand one under the other */
#define ASPECT_BLOCK 1.85  /* and a surface above them */
#define NARROW       340.0 /* points; two panels and their labels do not fit beside each other */
#define STEP_LABEL   "inference step <i>t</i>"
#define SHADOW_LABEL "at the nearest point of the plane"

enum { NOTE_PART = 160 }; /* bytes of a sentence */

typedef struct builder {
    viz_scene *scene;
    const viz_landscape_data *data;
    viz_scale scale;
    viz_scale_counts counts;
    size_t beyond; /* values outside a range that was asked for */
    double *steps; /* n_states: 0, 1, … */
    double *share; /* n_states: off-plane share in percent, NaN at the centre itself */
} builder;

/* ---- The map ------------------------------------------------------------------------------ */

static kern_status add_contours(builder *b, viz_panel *panel, const viz_contours *contours,
                                viz_isolines looks, kern_error *err)
{
    if (contours == NULL || contours->n_lines == 0) {
        return KERN_OK;
    }
    looks.n_lines = contours->n_lines;
    looks.first = contours->first;
    looks.x = contours->x;
    looks.y = contours->y;
    looks.level = contours->level;
    return viz_scene_add_isolines(b->scene, panel, &looks, err);
}

/* Contours beside the field's own, with their entry: a line without points. A surface is lit by its
 * own levels only. */
static kern_status add_beside(builder *b, viz_panel *panel, const viz_contours *contours,
                              viz_isolines looks, const char *legend, kern_error *err)
{
    static const double nowhere[1] = {(double)NAN};
    const viz_series key = {.name = looks.name,
                            .legend = legend,
                            .x = nowhere,
                            .y = nowhere,
                            .n = 1,
                            .style = {.paint = viz_paint_of(VIZ_PAINT_MUTED),
                                      .width = looks.faint ? 0.5 : 1.0,
                                      .dash = looks.faint ? VIZ_SOLID : VIZ_DASHED}};
    if (contours == NULL || contours->n_lines == 0 || b->data->camera != NULL) {
        return KERN_OK;
    }
    KERN_TRY(add_contours(b, panel, contours, looks, err));
    return viz_scene_add_series(b->scene, panel, &key, err);
}

static kern_status add_field(builder *b, viz_panel *panel, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const viz_field field = {.name = "energy",
                             .lattice = d->lattice,
                             .values = d->values,
                             .scale = b->scale,
                             .filter = VIZ_BILINEAR,
                             .bare = d->ends};
    if (d->camera != NULL) {
        KERN_TRY(viz_scene_add_surface(b->scene, panel, &field, d->camera, err));
    } else if (d->classes != NULL) {
        KERN_TRY(viz_scene_add_classes(b->scene, panel, d->classes, err));
    } else {
        KERN_TRY(viz_scene_add_field(b->scene, panel, &field, err));
    }
    viz_scene_fit_lattice(panel, &d->lattice, VIZ_BILINEAR);
    KERN_TRY(add_beside(b, panel, d->ghost,
                        (viz_isolines){.name = "contours of the step before", .faint = true},
                        "contours at the step before", err));
    KERN_TRY(
        add_beside(b, panel, d->quadratic,
                   (viz_isolines){.name = "contours of the second-order model", .dashed = true},
                   "second-order model at the centre", err));
    return add_contours(b, panel, d->contours, (viz_isolines){.name = "contours", .labelled = true},
                        err);
}

/* The line around the places that have a state. */
static kern_status add_rim(builder *b, viz_panel *panel, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const viz_series rim = {.name = "rim of the chart",
                            .x = d->rim_a,
                            .y = d->rim_b,
                            .n = d->n_rim,
                            .style = {.paint = viz_paint_of(VIZ_PAINT_INK), .width = 1.6}};
    return d->n_rim > 0 && d->camera == NULL ? viz_scene_add_series(b->scene, panel, &rim, err)
                                             : KERN_OK;
}

/* From entry t on: what gives heights over a surface, and nothing on a map. */
static const double *heights(const viz_landscape_data *d, const double *energy, size_t t)
{
    return d->camera != NULL ? energy + t : NULL;
}

static double opacity_of(const builder *b, size_t t)
{
    return viz_landscape_opacity(b->share[t] / 100.0);
}

/* One marker in the colour of its true energy. The first is a square, the last a triangle. */
static kern_status add_state(builder *b, viz_panel *panel, size_t t, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const double opacity = opacity_of(b, t);
    char name[48];
    (void)snprintf(name, sizeof name, "state %zu", t);
    const viz_paint paint = {.kind = VIZ_PAINT_RGB,
                             .rgb = viz_scale_colour(&b->scale, b->scene->theme, d->energy[t])};
    const viz_series state = {.name = name,
                              .x = d->a + t,
                              .y = d->b + t,
                              .z = heights(d, d->energy, t),
                              .opacity = &opacity,
                              .n = 1,
                              .style = {.paint = paint,
                                        .marker = t == 0                 ? VIZ_MARKER_SQUARE
                                                  : t + 1 == d->n_states ? VIZ_MARKER_TRIANGLE
                                                                         : VIZ_MARKER_CIRCLE,
                                        .size = t == 0 || t + 1 == d->n_states ? 6.5 : 4.5,
                                        .halo = 1.1}};
    return viz_scene_add_series(b->scene, panel, &state, err);
}

/* On a ground of the page's colour, since the field beneath may have any. */
static kern_status add_mark(builder *b, viz_panel *panel, size_t t, kern_error *err)
{
    char text[160];
    const viz_paint page = viz_paint_of(VIZ_PAINT_PAGE);
    const viz_rgb ground = viz_colour_resolve(&page, b->scene->theme);
    (void)snprintf(text, sizeof text,
                   "<span background=\"#%02x%02x%02x\" background_alpha=\"70%%\"> <i>t</i> = %zu "
                   "</span>",
                   (unsigned)lround(255.0 * ground.r), (unsigned)lround(255.0 * ground.g),
                   (unsigned)lround(255.0 * ground.b), t);
    const viz_mark mark = {
        .x = b->data->a[t], .y = b->data->b[t], .z = b->data->energy[t], .gap = 5.0, .text = text};
    return viz_scene_add_mark(b->scene, panel, &mark, err);
}

/* A ring around the state that is pointed out, beneath its marker. */
static kern_status add_ring(builder *b, viz_panel *panel, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const viz_series ring = {.name = "state pointed out",
                             .x = d->a + d->step,
                             .y = d->b + d->step,
                             .z = heights(d, d->energy, d->step),
                             .n = 1,
                             .style = {.paint = viz_paint_of(VIZ_PAINT_INK),
                                       .marker = VIZ_MARKER_CIRCLE,
                                       .size = 12.0,
                                       .open = true,
                                       .halo = 1.4}};
    return viz_scene_add_series(b->scene, panel, &ring, err);
}

static bool points_out(const viz_landscape_data *d)
{
    return d->point_out && d->step < d->n_states;
}

/* Steps that are named: the first, the last of training, the one pointed out, and the last. */
static kern_status add_marks(builder *b, viz_panel *panel, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const size_t last = d->n_states - 1;
    const bool trained = d->trained_steps > 0 && d->trained_steps < last;
    const bool named = d->step == 0 || d->step == last || (trained && d->step == d->trained_steps);
    KERN_TRY(add_mark(b, panel, 0, err));
    if (trained) {
        KERN_TRY(add_mark(b, panel, d->trained_steps, err));
    }
    if (points_out(d) && !named) {
        KERN_TRY(add_mark(b, panel, d->step, err));
    }
    return last > 0 ? add_mark(b, panel, last, err) : KERN_OK;
}

static kern_status add_trajectory(builder *b, viz_panel *panel, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const size_t stride = (d->n_states + VIZ_LANDSCAPE_MARKED - 1) / VIZ_LANDSCAPE_MARKED;
    if (d->n_states == 0) {
        return KERN_OK;
    }
    const viz_series line = {.name = "trajectory",
                             .x = d->a,
                             .y = d->b,
                             .z = heights(d, d->energy, 0),
                             .n = d->n_states,
                             .style = {.paint = {.kind = VIZ_PAINT_RGB, .rgb = {1.0, 1.0, 1.0}},
                                       .width = 1.2,
                                       .halo = 0.8}};
    KERN_TRY(viz_scene_add_series(b->scene, panel, &line, err));
    if (points_out(d)) {
        KERN_TRY(add_ring(b, panel, err));
    }
    for (size_t t = 0; t < d->n_states; t++) {
        if (t % stride == 0 || t + 1 == d->n_states || (points_out(d) && t == d->step)) {
            KERN_TRY(add_state(b, panel, t, err));
        }
    }
    return add_marks(b, panel, err);
}

static kern_status add_map(builder *b, kern_error *err)
{
    viz_panel *panel;
    const viz_panel spec = {.n_columns = b->data->n_states > 0 && b->scene->width >= NARROW ? 2 : 1,
                            .x = {.label = b->data->axis[0]},
                            .y = {.label = b->data->axis[1]},
                            .equal = true,
                            .boxed = true};
    const viz_bar bar = {.whole = true, .scale = b->scale, .label = b->data->energy_label};
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    KERN_TRY(add_field(b, panel, err));
    KERN_TRY(add_rim(b, panel, err));
    KERN_TRY(viz_landscape_add_paths(b->scene, panel, b->data, err));
    KERN_TRY(add_trajectory(b, panel, err));
    return viz_scene_set_bar(b->scene, &bar, err);
}

/* ---- The trajectory in numbers -------------------------------------------------------------- */

static kern_status rule_step(builder *b, viz_panel *panel, kern_error *err)
{
    return points_out(b->data)
               ? viz_plot_rule(b->scene, panel, VIZ_RULE_UPRIGHT, (double)b->data->step, err)
               : KERN_OK;
}

static kern_status add_energies(builder *b, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    viz_panel *panel;
    const viz_panel spec = {
        .row = 1, .x = {.label = STEP_LABEL, .integer = true}, .y = {.label = d->energy_label}};
    const viz_series truth = {
        .name = "true energy",
        .legend = "of the state",
        .x = b->steps,
        .y = d->energy,
        .n = d->n_states,
        .style = {
            .paint = viz_paint_class(0), .width = 1.0, .marker = VIZ_MARKER_CIRCLE, .size = 3.0}};
    const viz_series shadow = {.name = "energy on the plane",
                               .legend = SHADOW_LABEL,
                               .x = b->steps,
                               .y = d->on_plane,
                               .n = d->n_states,
                               .style = {.paint = viz_paint_class(1),
                                         .width = 1.0,
                                         .dash = VIZ_DASHED,
                                         .marker = VIZ_MARKER_SQUARE,
                                         .size = 3.0,
                                         .open = true}};
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    KERN_TRY(viz_scene_add_series(b->scene, panel, &truth, err));
    KERN_TRY(viz_scene_add_series(b->scene, panel, &shadow, err));
    viz_scene_fit(panel, 0.05);
    panel->x.hi = fmax(panel->x.hi, 1.0);
    return rule_step(b, panel, err);
}

static kern_status add_residuals(builder *b, kern_error *err)
{
    viz_panel *panel;
    const bool narrow = b->scene->width < NARROW;
    const viz_panel spec = {.row = narrow ? 2 : 1,
                            .column = narrow ? 0 : 1,
                            .x = {.label = STEP_LABEL,
                                  .integer = true,
                                  .hi = fmax(1.0, (double)(b->data->n_states - 1))},
                            .y = {.label = "off the plane (%)", .hi = 100.0}};
    const viz_series share = {.name = "off the plane, percent of the distance from the centre",
                              .x = b->steps,
                              .y = b->share,
                              .n = b->data->n_states,
                              .style = {.paint = viz_paint_of(VIZ_PAINT_INK),
                                        .width = 1.0,
                                        .marker = VIZ_MARKER_CIRCLE,
                                        .size = 3.0}};
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    KERN_TRY(viz_scene_add_series(b->scene, panel, &share, err));
    KERN_TRY(rule_step(b, panel, err));
    return viz_plot_rule(b->scene, panel, VIZ_RULE_LEVEL, 100.0 * VIZ_LANDSCAPE_OFF, err);
}

/* ---- The note ------------------------------------------------------------------------------- */

static size_t count_far(const builder *b)
{
    size_t far = 0;
    for (size_t t = 0; t < b->data->n_states; t++) {
        far += b->share[t] > 100.0 * VIZ_LANDSCAPE_OFF ? 1 : 0;
    }
    return far;
}

/* States beside what is drawn, and states without a place. */
static size_t count_beside(const viz_landscape_data *d)
{
    const viz_lattice *l = &d->lattice;
    size_t n = 0;
    for (size_t t = 0; t < d->n_states; t++) {
        n += d->a[t] < l->x0 || d->a[t] > l->x1 || d->b[t] < l->y0 || d->b[t] > l->y1 ? 1 : 0;
    }
    return n;
}

static size_t count_nowhere(const viz_landscape_data *d)
{
    size_t n = 0;
    for (size_t t = 0; t < d->n_states; t++) {
        n += isnan(d->a[t]) && isfinite(d->energy[t]) ? 1 : 0;
    }
    return n;
}

/* What the chart leaves out. */
static void note_chart(const builder *b, char out[2 * NOTE_PART])
{
    const viz_landscape_data *d = b->data;
    const size_t n_nowhere = count_nowhere(d);
    char nowhere[NOTE_PART] = "";
    if (n_nowhere > 0) {
        (void)snprintf(nowhere, sizeof nowhere,
                       " %zu of %zu states lie in the far half of a token's sphere, which has no "
                       "place in the chart; the line is broken there.",
                       n_nowhere, d->n_states);
    }
    (void)snprintf(out, 2 * NOTE_PART, "%s%s",
                   d->ends ? " What is empty is outside of the chart and has no state." : "",
                   nowhere);
}

/* Other trajectories have the colours of the legend, and those of seeds do not fade. */
static const char *note_markers(const viz_landscape_data *d)
{
    if (d->n_states == 0) {
        return "";
    }
    return d->n_seeds > 0
               ? " Markers of the trajectory without an entry in the legend have the colour of "
                 "their true energy, and are fainter the more they are off the plane; others have "
                 "the legend's."
               : " Markers have the colour of their true energy, and are fainter the more they are "
                 "off the plane.";
}

static kern_status write_note(builder *b, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const size_t far = count_far(b);
    char off[160] = "";
    char variance[160] = "";
    char missing[160] = "";
    char beyond[160] = "";
    char beside[160] = "";
    char chart[2 * NOTE_PART];
    const size_t n_missing = d->ends ? d->n_missing : b->counts.missing;
    const size_t n_beside = d->camera != NULL || d->meant_whole ? count_beside(d) : 0;
    note_chart(b, chart);
    if (far > 0) {
        (void)snprintf(off, sizeof off,
                       " %zu of %zu states are more than %.0f %% of their distance off the plane.",
                       far, d->n_states, 100.0 * VIZ_LANDSCAPE_OFF);
    }
    if (d->explained < VIZ_LANDSCAPE_EXPLAINED) {
        (void)snprintf(variance, sizeof variance,
                       " The axes explain %.1f %% of the trajectory, less than %.0f %%.",
                       100.0 * d->explained, 100.0 * VIZ_LANDSCAPE_EXPLAINED);
    }
    if (n_missing > 0) {
        (void)snprintf(missing, sizeof missing, " %zu of %zu energies are not finite and %s.",
                       n_missing, d->lattice.nx * d->lattice.ny,
                       d->camera != NULL ? "leave the surface open"
                       : d->ends         ? "are left empty, too"
                                         : "have the colour of missing data");
    }
    if (b->beyond > 0) {
        (void)snprintf(beyond, sizeof beyond, " %zu energies are beyond the ends of the colours.",
                       b->beyond);
    }
    if (n_beside > 0) {
        (void)snprintf(beside, sizeof beside,
                       " %zu of %zu states lie beside the %s, at whose edges the line is cut.",
                       n_beside, d->n_states,
                       d->camera != NULL ? "surface" : "part of the plane that is drawn");
    }
    return viz_plot_note(
        b->scene, err, "%s%s%s%s%s%s%s%s%s%s", d->description != NULL ? d->description : "",
        d->camera != NULL ? " The surface is darker where it is steeper." : "", note_markers(d),
        d->classes != NULL && d->camera == NULL
            ? " Areas are coloured by where states go; the colour bar is of the "
              "energies, of contours and markers."
            : "",
        off, variance, chart, missing, beyond, beside);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static kern_status build(builder *b, kern_error *err)
{
    b->scene->row_weight[0] = b->scene->width < NARROW ? 2.6 : 3.0;
    b->scene->row_weight[1] = 1.0;
    b->scene->row_weight[2] = 1.0;
    KERN_TRY(add_map(b, err));
    if (b->data->n_states > 0) {
        KERN_TRY(add_energies(b, err));
        KERN_TRY(add_residuals(b, err));
    }
    return write_note(b, err);
}

/* The colours' ends: those of the values, or those asked for. */
static kern_status fit_scale(builder *b, kern_error *err)
{
    const viz_landscape_data *d = b->data;
    const size_t n = d->lattice.nx * d->lattice.ny;
    b->scale = (viz_scale){.kind = VIZ_SCALE_LINEAR, .map = d->map};
    KERN_TRY(viz_scale_fit(&b->scale, &b->counts, d->values, n, 0.0, err));
    if (!(d->low < d->high)) {
        return KERN_OK;
    }
    b->scale.lo = d->low;
    b->scale.hi = d->high;
    for (size_t i = 0; i < n; i++) {
        b->beyond += isfinite(d->values[i]) && (d->values[i] < d->low || d->values[i] > d->high);
    }
    return KERN_OK;
}

/* Shares of distances; the centre itself is 0 away, up to the rounding of the largest. */
static void find_shares(builder *b)
{
    const viz_landscape_data *d = b->data;
    double farthest = 0.0;
    for (size_t t = 0; t < d->n_states; t++) {
        farthest = fmax(farthest, d->distance[t]);
    }
    for (size_t t = 0; t < d->n_states; t++) {
        const bool there = d->distance[t] > 1e-12 * farthest;
        b->steps[t] = (double)t;
        b->share[t] = there ? 100.0 * d->residual[t] / d->distance[t] : (double)NAN;
    }
}

kern_status viz_landscape_plot(viz_scene **out, const viz_landscape_data *data,
                               const viz_plot_style *style, kern_error *err)
{
    builder b = {.data = data};
    viz_plot_style page = *style;
    *out = NULL;
    page.width = page.width != 0.0 ? page.width : viz_scene_points(VIZ_DOUBLE_COLUMN_MM);
    KERN_TRY(fit_scale(&b, err));
    b.steps = calloc(2 * data->n_states + 2, sizeof *b.steps);
    if (b.steps == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trajectory of %zu states",
                          data->n_states);
    }
    b.share = b.steps + data->n_states;
    find_shares(&b);
    const double both = page.width >= NARROW   ? ASPECT_BOTH
                        : data->camera != NULL ? ASPECT_BLOCK
                                               : ASPECT_TALL;
    kern_status status = viz_plot_page(&b.scene, &page, data->n_states > 0 ? both : ASPECT_MAP,
                                       "Energy landscape", err);
    if (status == KERN_OK) {
        status = viz_plot_end(out, b.scene, build(&b, err));
    }
    free(b.steps);
    return status;
}
