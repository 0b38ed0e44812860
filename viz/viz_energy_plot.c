/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_energy_plot.h"

#include "kernels/kern_size.h"
#include "viz/viz_draw.h"
#include "viz/viz_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAP    VIZ_MAP_PLASMA
#define STEP_LABEL  "inference step <i>t</i>"
#define DASH        "\xe2\x80\x93" /* U+2013 */
#define DRAW_LIMIT  1e300          /* larger energies would overflow the axis range */
#define HEIGHT_ONE  0.50           /* page height over width with one row of panels */
#define HEIGHT_TWO  0.74
#define HEIGHT_MORE 120.0 /* added on narrow pages, where texts take a larger share */

enum {
    TOKENS_MAX = 1 << 16,
    STEPS_MAX = 1 << 20,
    TOKEN_CHARACTERS = 12,
    TOKEN_ROOM = 80,
    LABEL_ROOM = 640,
    NOTE_ROOM = 1024,
    BAR_FROM = 9,     /* tokens from which a colour bar helps more than it costs */
    MANY_RISES = 150, /* marks on a double-column page above which they are drawn smaller, */
    MOST_RISES = 1000 /* and smaller still */
};

/* Everything the parts of the builder share. */
typedef struct builder {
    viz_scene *scene;
    const viz_energy_data *data;
    viz_energy_counts counts;
    double *steps;           /* n_steps + 1 values 0, 1, … */
    double *row;             /* n_steps + 1 values of one token */
    double *rise_x, *rise_y; /* positions of the rises */
} builder;

static bool usable(double energy)
{
    return fabs(energy) <= DRAW_LIMIT;
}

static bool rises(double before, double after, double tolerance)
{
    return usable(before) && usable(after) && after - before > tolerance;
}

void viz_energy_count(const viz_energy_data *data, viz_energy_counts *counts)
{
    const size_t states = data->n_steps + 1;
    *counts = (viz_energy_counts){0};
    for (size_t a = 0; a < data->n_tokens; a++) {
        const double *e = data->energy + a * states;
        for (size_t t = 0; t < states; t++) {
            counts->not_finite += usable(e[t]) ? 0 : 1;
            if (t > 0 && usable(e[t - 1]) && usable(e[t])) {
                counts->pairs++;
                counts->rises += rises(e[t - 1], e[t], data->rise_tolerance) ? 1 : 0;
            }
        }
    }
}

static kern_status check_data(const viz_energy_data *data, kern_error *err)
{
    if (data->n_tokens == 0 || data->n_tokens > TOKENS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an energy figure of %zu tokens is outside 1 to %d tokens",
                          data->n_tokens, TOKENS_MAX);
    }
    if (data->n_steps == 0 || data->n_steps > STEPS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an energy figure of %zu steps is outside 1 to %d steps", data->n_steps,
                          STEPS_MAX);
    }
    if (data->energy == NULL || data->token_labels == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an energy figure needs energies and token texts");
    }
    if ((data->attention == NULL) != (data->feed_forward == NULL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an energy figure needs both terms of the energy or neither");
    }
    if (!(data->rise_tolerance >= 0.0 && data->rise_tolerance <= DRAW_LIMIT)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the rise tolerance %g is not a number of nats from 0 upwards",
                          data->rise_tolerance);
    }
    if (data->title != NULL && !viz_text_is_utf8(data->title)) {
        return kern_raise(err, KERN_BAD_INPUT, "the figure's title is not valid UTF-8");
    }
    return KERN_OK;
}

static kern_status create_page(builder *b, const viz_energy_style *style, kern_error *err)
{
    const double width =
        style->width != 0.0 ? style->width : viz_scene_points(VIZ_DOUBLE_COLUMN_MM);
    const double full = viz_scene_points(VIZ_DOUBLE_COLUMN_MM);
    const double share = b->data->attention == NULL ? HEIGHT_ONE : HEIGHT_TWO;
    double height = style->height;
    if (height == 0.0) {
        height = share * width + HEIGHT_MORE * fmax(0.0, 1.0 - width / full);
    }
    KERN_TRY(viz_scene_create(&b->scene, width, height, err));
    b->scene->theme = style->theme;
    b->scene->row_weight[0] = b->data->attention == NULL ? 1.0 : 1.9;
    b->scene->row_weight[1] = 1.0;
    KERN_TRY(viz_scene_set_family(b->scene, style->family, err));
    char title[LABEL_ROOM];
    (void)viz_text_escape(title, sizeof title,
                          b->data->title != NULL ? b->data->title
                                                 : "Energy of every token along inference");
    return viz_scene_set_title(b->scene, title, err);
}

static viz_paint token_paint(const builder *b, size_t token)
{
    const size_t n = b->data->n_tokens;
    return viz_paint_map(LINE_MAP, n > 1 ? (double)token / (double)(n - 1) : 0.0);
}

/* Thin lines when there are many, so that single ones can still be followed. */
static double line_width(const builder *b)
{
    const size_t n = b->data->n_tokens;
    return n <= 12 ? 1.2 : (n <= 40 ? 0.9 : 0.6);
}

/* Position and text of a token, the position small so that the text stands out. */
static void token_label(const builder *b, size_t token, char label[LABEL_ROOM])
{
    char visible[TOKEN_ROOM];
    char escaped[6 * TOKEN_ROOM];
    (void)viz_text_token(visible, sizeof visible, b->data->token_labels[token], TOKEN_CHARACTERS);
    (void)viz_text_escape(escaped, sizeof escaped, visible);
    (void)snprintf(label, LABEL_ROOM, "<span size=\"75%%\">%zu</span>\xe2\x80\x82%s", token,
                   escaped);
}

static kern_status add_tokens(builder *b, viz_panel *panel, const double *values, bool labelled,
                              kern_error *err)
{
    const size_t states = b->data->n_steps + 1;
    for (size_t a = 0; a < b->data->n_tokens; a++) {
        char label[LABEL_ROOM];
        char visible[TOKEN_ROOM];
        char name[2 * TOKEN_ROOM];
        (void)viz_text_token(visible, sizeof visible, b->data->token_labels[a], TOKEN_CHARACTERS);
        (void)snprintf(name, sizeof name, "token %zu %s", a, visible);
        token_label(b, a, label);
        for (size_t t = 0; t < states; t++) {
            b->row[t] = usable(values[a * states + t]) ? values[a * states + t] : (double)NAN;
        }
        const viz_series series = {.name = name,
                                   .end_label = labelled ? label : NULL,
                                   .x = b->steps,
                                   .y = b->row,
                                   .n = states,
                                   .style = {.paint = token_paint(b, a), .width = line_width(b)}};
        KERN_TRY(viz_scene_add_series(b->scene, panel, &series, err));
    }
    return KERN_OK;
}

/* Marks shrink as they fill the page. */
static double mark_size(const builder *b, size_t n)
{
    const double share = b->scene->width / viz_scene_points(VIZ_DOUBLE_COLUMN_MM);
    const double density = (double)n / (share * share);
    return density > MOST_RISES ? 1.8 : (density > MANY_RISES ? 2.8 : 4.0);
}

/* One series holds the marks of all tokens: they share a symbol and a legend entry. */
static kern_status add_rises(builder *b, viz_panel *panel, kern_error *err)
{
    const size_t states = b->data->n_steps + 1;
    size_t n = 0;
    if (b->counts.rises == 0) {
        return KERN_OK;
    }
    for (size_t a = 0; a < b->data->n_tokens; a++) {
        const double *e = b->data->energy + a * states;
        for (size_t t = 1; t < states; t++) {
            if (rises(e[t - 1], e[t], b->data->rise_tolerance)) {
                b->rise_x[n] = b->steps[t];
                b->rise_y[n] = e[t];
                n++;
            }
        }
    }
    const viz_series marks = {.name = "rises",
                              .legend = "energy above that of the step before",
                              .x = b->rise_x,
                              .y = b->rise_y,
                              .n = n,
                              .style = {.paint = viz_paint_of(VIZ_PAINT_INK),
                                        .marker = VIZ_MARKER_TRIANGLE,
                                        .size = mark_size(b, n),
                                        .open = true}};
    return viz_scene_add_series(b->scene, panel, &marks, err);
}

/* Fits the axes: all steps across, energies padded; what is not drawable has no say. */
static void fit_panel(const builder *b, viz_panel *panel)
{
    viz_scene_fit(panel, 0.05);
    panel->x.lo = 0.0;
    panel->x.hi = (double)b->data->n_steps;
}

static kern_status shade_beyond(builder *b, viz_panel *panel, const char *label, kern_error *err)
{
    const viz_energy_data *data = b->data;
    if (data->trained_steps == 0 || data->trained_steps >= data->n_steps) {
        return KERN_OK;
    }
    const viz_span span = {(double)data->trained_steps, (double)data->n_steps, label};
    return viz_scene_add_span(b->scene, panel, &span, err);
}

static kern_status add_main(builder *b, kern_error *err)
{
    const bool terms = b->data->attention != NULL;
    const viz_panel spec = {
        .n_columns = terms ? 2 : 1,
        .x = {.label = terms ? NULL : STEP_LABEL, .integer = true},
        .y = {.label = b->data->energy_label != NULL ? b->data->energy_label
                                                     : "energy <i>E<sub>A</sub></i>  (nats)"},
    };
    viz_panel *panel;
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    KERN_TRY(add_tokens(b, panel, b->data->energy, true, err));
    KERN_TRY(add_rises(b, panel, err));
    fit_panel(b, panel);
    return shade_beyond(b, panel, "beyond training", err);
}

static kern_status add_term(builder *b, size_t column, const double *values, kern_error *err)
{
    static const char *const titles[2] = {"attention", "feed-forward"};
    static const char *const labels[2] = {"<i>E<sub>A</sub></i><sup>AT</sup>  (nats)",
                                          "<i>s E<sub>A</sub></i><sup>FF</sup>  (nats)"};
    const viz_panel spec = {
        .title = titles[column],
        .row = 1,
        .column = column,
        .x = {.label = STEP_LABEL, .integer = true},
        .y = {.label = labels[column]},
    };
    viz_panel *panel;
    KERN_TRY(viz_scene_add_panel(&panel, b->scene, &spec, err));
    KERN_TRY(add_tokens(b, panel, values, false, err));
    fit_panel(b, panel);
    return shade_beyond(b, panel, NULL, err);
}

/* Ordinal ending of n: 2nd, 3rd, 11th, 21st. */
static const char *ordinal(size_t n)
{
    if (n % 100 >= 11 && n % 100 <= 13) {
        return "th";
    }
    return n % 10 == 1 ? "st" : (n % 10 == 2 ? "nd" : (n % 10 == 3 ? "rd" : "th"));
}

static kern_status write_note(builder *b, size_t every, kern_error *err)
{
    const viz_energy_counts *c = &b->counts;
    char note[NOTE_ROOM];
    size_t used = 0;
    if (c->pairs == 0) {
        used += (size_t)snprintf(note, sizeof note, "No step has finite energies on both sides.");
    } else {
        used += (size_t)snprintf(note, sizeof note,
                                 "The energy rises in %zu of %zu steps of single tokens (%.3g %%).",
                                 c->rises, c->pairs, 100.0 * (double)c->rises / (double)c->pairs);
    }
    if (c->not_finite > 0) {
        used += (size_t)snprintf(note + used, sizeof note - used,
                                 " %zu energ%s not finite and left out.", c->not_finite,
                                 c->not_finite == 1 ? "y is" : "ies are");
    }
    if (every > 1) {
        (void)snprintf(note + used, sizeof note - used, " Every %zu%s token is labelled.", every,
                       ordinal(every));
    }
    return viz_scene_set_note(b->scene, note, err);
}

/* Keeps the labels of every k-th token where not all fit, and says so in the note. */
static kern_status thin_labels(builder *b, kern_error *err)
{
    viz_panel *panel = &b->scene->panels[0];
    const size_t n = b->data->n_tokens;
    size_t room = 0;
    KERN_TRY(write_note(b, n, err)); /* the longest note leaves the least room */
    KERN_TRY(viz_draw_label_room(b->scene, 0, &room, err));
    const size_t every = (n + room - 1) / room;
    for (size_t a = 0; a < n; a++) {
        if (a % every != 0) {
            panel->series[a].end_label = NULL;
        }
    }
    b->counts.every = every;
    return write_note(b, every, err);
}

static kern_status add_bar(builder *b, kern_error *err)
{
    if (b->data->n_tokens < BAR_FROM) {
        return KERN_OK;
    }
    const viz_bar bar = {
        .integer = true,
        .scale = {.map = LINE_MAP, .lo = 0.0, .hi = (double)(b->data->n_tokens - 1)},
        .label = "token position <i>A</i>"};
    return viz_scene_set_bar(b->scene, &bar, err);
}

static kern_status build(builder *b, const viz_energy_style *style, kern_error *err)
{
    KERN_TRY(create_page(b, style, err));
    KERN_TRY(add_main(b, err));
    if (b->data->attention != NULL) {
        KERN_TRY(add_term(b, 0, b->data->attention, err));
        KERN_TRY(add_term(b, 1, b->data->feed_forward, err));
    }
    KERN_TRY(add_bar(b, err));
    return thin_labels(b, err);
}

kern_status viz_energy_plot(viz_scene **out, viz_energy_counts *counts, const viz_energy_data *data,
                            const viz_energy_style *style, kern_error *err)
{
    static const viz_energy_style defaults = {.theme = VIZ_LIGHT};
    *out = NULL;
    KERN_TRY(check_data(data, err));
    builder b = {.data = data};
    viz_energy_count(data, &b.counts);
    const size_t states = kern_size_min(data->n_steps, STEPS_MAX) + 1;
    b.steps = calloc(states, sizeof *b.steps);
    b.row = calloc(states, sizeof *b.row);
    b.rise_x = calloc(kern_size_max(b.counts.rises, 1), sizeof *b.rise_x);
    b.rise_y = calloc(kern_size_max(b.counts.rises, 1), sizeof *b.rise_y);
    kern_status status;
    if (b.steps == NULL || b.row == NULL || b.rise_x == NULL || b.rise_y == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    } else {
        for (size_t t = 0; t < states; t++) {
            b.steps[t] = (double)t;
        }
        status = build(&b, style != NULL ? style : &defaults, err);
    }
    free(b.steps);
    free(b.row);
    free(b.rise_x);
    free(b.rise_y);
    if (status != KERN_OK) {
        viz_scene_destroy(b.scene);
        return status;
    }
    if (counts != NULL) {
        *counts = b.counts;
    }
    *out = b.scene;
    return KERN_OK;
}
