/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figure of basin landscape, its session, and what is printed.
 */
#include "cli/cli_landscape.h"

#include "cli/cli_json.h"
#include "models/model_layer_map.h"
#include "viz/viz_export.h"
#include "viz/viz_landscape_plot.h"
#include "viz/viz_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 256, TEXT = 1024, SHOWN = 12 };

/* Degrees of an angle in radians. */
#define DEGREES 57.29577951308232

#define MINUS "\xe2\x88\x92" /* U+2212 */

/* ---- Words ----------------------------------------------------------------------------------- */

static bool is_pair(const cli_landscape_job *l)
{
    return strcmp(dyn_plane_kind_name(l->s->plane), "tokens") == 0;
}

static bool moves_one(const cli_landscape_job *l)
{
    return l->token != MODEL_SLICE_SUM && !is_pair(l);
}

static const char *unit_of(const cli_landscape_job *l)
{
    const dyn_plane *p = l->plane;
    if (p->norm == DYN_PLANE_RELATIVE) {
        return p->chart == DYN_PLANE_SPHERE && l->token != MODEL_SLICE_SUM
                   ? "rad"
                   : "relative to the tokens";
    }
    return p->norm == DYN_PLANE_RMS ? "rms" : "length";
}

/* "PC 1, 81.2 % of variance  (rad)". */
static void axis_label(const cli_landscape_job *l, int axis, char label[LABEL])
{
    char more[LABEL / 2] = "";
    if (!isnan(l->notes.explained[axis])) {
        (void)snprintf(more, sizeof more, ", %.1f %% of variance",
                       100.0 * l->notes.explained[axis]);
    } else if (!isnan(l->notes.curvature[axis])) {
        (void)snprintf(more, sizeof more, ", <i>λ</i> = %s%.3g",
                       l->notes.curvature[axis] < 0.0 ? MINUS : "", fabs(l->notes.curvature[axis]));
    }
    if (l->s->oblique && axis == 1) {
        (void)snprintf(more, sizeof more, ", at %.1f°", DEGREES * l->plane->angle);
    }
    if (strcmp(dyn_plane_kind_name(l->s->plane), "terms") == 0) {
        (void)snprintf(label, LABEL, "steepest descent of the %s energy  (%s)",
                       axis == 0 ? "attention" : "feed-forward", unit_of(l));
        return;
    }
    if (strcmp(dyn_plane_kind_name(l->s->plane), "points") == 0) {
        (void)snprintf(label, LABEL, "towards the state at step %zu  (%s)", l->points[axis],
                       unit_of(l));
        return;
    }
    if (is_pair(l)) {
        (void)snprintf(label, LABEL, "random direction of token %zu  (%s)",
                       axis == 0 ? l->token : l->s->with, unit_of(l));
        return;
    }
    (void)snprintf(label, LABEL, "%s%s  (%s)", dyn_plane_kind_axis(l->s->plane, axis), more,
                   unit_of(l));
}

/* Whose energy it is: "token 5 “)”". */
static void subject(const cli_landscape_job *l, char out[LABEL])
{
    char token[MODEL_TOKENIZER_LABEL];
    if (l->token == MODEL_SLICE_SUM) {
        (void)snprintf(out, LABEL, "all %zu tokens", l->n);
        return;
    }
    model_tokenizer_label(&l->run.run.tokenizer, l->ids[l->token], token);
    (void)snprintf(out, LABEL, "token %zu “%s”", l->token, token);
}

/* Whether where the other tokens are matters to the energy that is drawn: not to a first token, and
 * not to a part of a layer whose history is its input. */
static bool sees_others(const cli_landscape_job *l)
{
    return l->token > 0 && (l->h == NULL || l->run.run.config.cem.hist == MODEL_HIST_SYNC);
}

static void what_is_held(const cli_landscape_job *l, char out[LABEL])
{
    if (l->token == MODEL_SLICE_SUM) {
        (void)snprintf(out, LABEL, "Weights are held");
    } else {
        (void)snprintf(out, LABEL, "Held: weights, and all other tokens at step %zu", l->at);
    }
    if (l->h != NULL) {
        (void)snprintf(out, LABEL, "Held: weights and the history of layer %zu", l->s->layer);
    }
}

static bool is_random(const cli_landscape_job *l)
{
    static const char *const kinds[] = {"random", "relative", "tokens"};
    bool found = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        found = found || strcmp(dyn_plane_kind_name(l->s->plane), kinds[i]) == 0;
    }
    return found;
}

/* Space, centre, axes and lengths, and what is held. */
static void describe(const cli_landscape_job *l, char out[TEXT])
{
    const dyn_plane *p = l->plane;
    char held[LABEL];
    char radius[LABEL / 2] = "";
    char seed[LABEL / 2] = "";
    what_is_held(l, held);
    if (p->chart == DYN_PLANE_SPHERE && moves_one(l)) {
        (void)snprintf(radius, sizeof radius, " of radius %.4g", p->radius[l->token]);
    }
    if (is_random(l)) {
        (void)snprintf(seed, sizeof seed, " (seed %llu)", (unsigned long long)l->s->seed);
    }
    (void)snprintf(
        out, TEXT,
        "Token space: %s at step %zu is the centre. Plane: %s%s; %s chart%s, %s lengths. %s; the "
        "trajectory is that of %s.",
        l->token == MODEL_SLICE_SUM ? "the state" : "the token's state", l->at,
        dyn_plane_kind_help(l->s->plane), seed, dyn_plane_chart_word(p->chart), radius,
        dyn_plane_norm_word(p->norm), held,
        l->h != NULL   ? "the sub-layer"
        : l->s->frozen ? "the token alone"
                       : "the whole model");
}

/* ---- Session --------------------------------------------------------------------------------- */

/* What was asked for: enough to draw the figure again. */
static void put_recipe(const cli_landscape_job *l, cli_json *json, cJSON *object)
{
    const cli_landscape_settings *s = l->s;
    cli_json_text(json, object, "prompt", s->prompt);
    cli_json_text(json, object, "token", s->token);
    cli_json_text(json, object, "plane", dyn_plane_kind_name(s->plane));
    cli_json_text(json, object, "chart", dyn_plane_chart_word(l->plane->chart));
    cli_json_text(json, object, "norm", dyn_plane_norm_word(l->plane->norm));
    cli_json_size(json, object, "at", l->at);
    cli_json_size(json, object, "steps", l->n_states - 1);
    cli_json_size(json, object, "seed", (size_t)s->seed);
    if (is_pair(l)) {
        cli_json_size(json, object, "with", s->with);
    }
    if (s->axes != NULL) {
        cli_json_text(json, object, "axes_file", s->axes);
        cli_json_bool(json, object, "oblique", s->oblique);
    }
    cli_json_bool(json, object, "frozen", s->frozen);
    if (l->h != NULL) {
        cli_json_size(json, object, "layer", s->layer);
        cli_json_text(json, object, "sublayer", model_layer_part_word(s->part));
    }
    cli_json_size(json, object, "columns", l->field.columns);
    cli_json_size(json, object, "rows", l->field.rows);
}

static void put_range(const cli_landscape_job *l, cli_json *json, cJSON *object)
{
    const dyn_slice_range *r = &l->field.range;
    const double range[4] = {r->a_low, r->a_high, r->b_low, r->b_high};
    (void)cli_json_reals(json, object, "range", range, 4);
}

static kern_status write_session(cli_landscape_job *l, kern_error *err)
{
    cli_json json;
    char *config = NULL;
    KERN_TRY(model_config_to_json(&l->run.run.config, &config, err));
    cli_json_init(&json);
    cli_json_text(&json, json.object, "command", "basin landscape");
    cli_json_text(&json, json.object, "run", l->s->run);
    cli_json_text(&json, json.object, "family", model_config_family_name(&l->run.run.config));
    cli_json_raw(&json, json.object, "model", config);
    cli_json_size(&json, json.object, "trained_for", l->run.step);
    put_recipe(l, &json, json.object);
    put_range(l, &json, json.object);
    free(config);
    return cli_json_take(&json, &l->session, err);
}

/* ---- Figure ---------------------------------------------------------------------------------- */

static kern_status draw(const cli_landscape_job *l, kern_error *err)
{
    const dyn_slice_field *f = &l->field;
    char axes[2][LABEL];
    char text[TEXT];
    char who[LABEL];
    char where[LABEL / 2] = "token space";
    char title[2 * LABEL];
    axis_label(l, 0, axes[0]);
    axis_label(l, 1, axes[1]);
    describe(l, text);
    subject(l, who);
    if (l->h != NULL) {
        (void)snprintf(where, sizeof where, "layer %zu, %s", l->s->layer,
                       model_layer_part_word(l->s->part));
    }
    (void)snprintf(title, sizeof title, "Energy of %s in %s", who, where);
    const viz_landscape_data data = {.lattice = {f->columns, f->rows, f->range.a_low,
                                                 f->range.a_high, f->range.b_low, f->range.b_high},
                                     .values = f->values,
                                     .contours = &l->contours,
                                     .axis = {axes[0], axes[1]},
                                     .energy_label = l->token == MODEL_SLICE_SUM
                                                         ? "energy <i>E</i>  (nats)"
                                                         : "energy <i>E<sub>A</sub></i>  (nats)",
                                     .description = text,
                                     .n_states = l->n_states,
                                     .a = l->a,
                                     .b = l->b,
                                     .energy = l->energy,
                                     .on_plane = l->on_plane,
                                     .distance = l->distance,
                                     .residual = l->residual,
                                     .trained_steps = l->trained,
                                     .explained = l->notes.explained[0] + l->notes.explained[1]};
    const viz_plot_style style = {.theme = l->s->dark ? VIZ_DARK : VIZ_LIGHT, .title = title};
    const viz_export_options export = {.session = l->session};
    viz_scene *scene = NULL;
    kern_status status = viz_landscape_plot(&scene, &data, &style, err);
    if (status == KERN_OK) {
        status = viz_export(scene, l->s->out, &export, err);
    }
    viz_scene_destroy(scene);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_trajectory(const cli_landscape_job *l, cli_json *json)
{
    cJSON *list = cli_json_array(json, json->object, "trajectory");
    for (size_t t = 0; t < l->n_states; t++) {
        cJSON *state = cli_json_child(json, list, NULL);
        cli_json_size(json, state, "step", t);
        cli_json_real(json, state, "a", l->a[t]);
        cli_json_real(json, state, "b", l->b[t]);
        cli_json_real(json, state, "energy", l->energy[t]);
        cli_json_real(json, state, "on_plane", l->on_plane[t]);
        cli_json_real(json, state, "distance", l->distance[t]);
        cli_json_real(json, state, "residual", l->residual[t]);
    }
}

static void put_pair(cli_json *json, const char *key, const double values[2])
{
    if (!isnan(values[0]) || !isnan(values[1])) {
        (void)cli_json_reals(json, json->object, key, values, 2);
    }
}

static kern_status print_json(const cli_landscape_job *l, kern_error *err)
{
    cli_json json;
    const dyn_plane *p = l->plane;
    const size_t first = moves_one(l) ? l->token * p->block_width : 0;
    const size_t n = moves_one(l) ? p->block_width : p->size;
    cli_json_init(&json);
    put_recipe(l, &json, json.object);
    (void)cli_json_reals(&json, json.object, "center", p->centre + first, n);
    cJSON *axes = cli_json_array(&json, json.object, "axes");
    (void)cli_json_reals(&json, axes, NULL, p->axes[0] + first, n);
    (void)cli_json_reals(&json, axes, NULL, p->axes[1] + first, n);
    cli_json_real(&json, json.object, "angle", p->angle);
    if (p->chart == DYN_PLANE_SPHERE && moves_one(l)) {
        cli_json_real(&json, json.object, "radius", p->radius[l->token]);
    }
    put_pair(&json, "explained", l->notes.explained);
    put_pair(&json, "curvature", l->notes.curvature);
    put_range(l, &json, json.object);
    cli_json_real(&json, json.object, "min", l->field.low);
    cli_json_real(&json, json.object, "max", l->field.high);
    (void)cli_json_reals(&json, json.object, "min_at", l->field.low_at, 2);
    (void)cli_json_reals(&json, json.object, "max_at", l->field.high_at, 2);
    cli_json_size(&json, json.object, "not_finite", l->field.n_not_finite);
    cli_json_size(&json, json.object, "contours", l->contours.n_lines);
    cli_json_size(&json, json.object, "contour_vertices_off", l->contours.n_rough);
    cli_json_bool(&json, json.object, "reduced", l->slice != NULL);
    put_trajectory(l, &json);
    return cli_json_print(&json, err);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_states(const cli_landscape_job *l)
{
    (void)printf("\n%6s %12s %12s %14s %14s %10s\n", "step", "a", "b", "E", "E on plane",
                 "off plane");
    for (size_t t = 0; t < l->n_states; t++) {
        if (t == SHOWN && l->n_states > 2 * SHOWN) {
            (void)printf("%6s\n", "...");
            t = l->n_states - SHOWN;
        }
        (void)printf("%6zu %12.5g %12.5g %14.7g %14.7g", t, l->a[t], l->b[t], l->energy[t],
                     l->on_plane[t]);
        if (t == l->at && l->residual[t] <= 1e-9 * l->distance[0]) {
            (void)printf(" %10s\n", "centre");
        } else {
            (void)printf(" %8.1f %%\n", 100.0 * l->residual[t] / l->distance[t]);
        }
    }
}

static void print_text(const cli_landscape_job *l)
{
    char text[TEXT];
    char label[LABEL];
    char plain[LABEL];
    describe(l, text);
    subject(l, label);
    (void)printf("energy of %s\n%s\n", label, text);
    for (int axis = 0; axis < 2; axis++) {
        axis_label(l, axis, label);
        (void)viz_text_plain(plain, sizeof plain, label);
        (void)printf("axis %d: %s\n", axis + 1, plain);
    }
    (void)printf("least    %14.7g at (%.4g, %.4g)\nlargest  %14.7g at (%.4g, %.4g)\n", l->field.low,
                 l->field.low_at[0], l->field.low_at[1], l->field.high, l->field.high_at[0],
                 l->field.high_at[1]);
    if (l->field.n_not_finite > 0) {
        (void)printf("%zu of %zu energies are not finite\n", l->field.n_not_finite,
                     l->field.columns * l->field.rows);
    }
    if (l->notes.status != KERN_OK) {
        (void)printf("the curvatures have not converged: residuals %.2g and %.2g\n",
                     l->notes.residual[0], l->notes.residual[1]);
    }
    print_states(l);
    if (l->held > 0.0 && sees_others(l)) {
        (void)printf("\nThe field holds the other tokens where they are at step %zu; along the "
                     "trajectory they move by up to %.3g.\n",
                     l->at, l->held);
    }
    (void)printf("\nwritten: %s\n", l->s->out);
}

kern_status cli_landscape_report(cli_landscape_job *l, kern_error *err)
{
    KERN_TRY(write_session(l, err));
    KERN_TRY(draw(l, err));
    if (l->s->json) {
        return print_json(l, err);
    }
    print_text(l);
    return KERN_OK;
}
