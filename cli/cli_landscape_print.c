/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figure of basin landscape, and what is printed.
 */
#include "cli/cli_landscape.h"

#include "viz/viz_export.h"
#include "viz/viz_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 12 };

static const char *kind_name(const view_landscape *l)
{
    return dyn_plane_kind_name(dyn_plane_kind_at((size_t)l->settings.plane));
}

/* ---- Figure ---------------------------------------------------------------------------------- */

static kern_status draw(const cli_landscape_job *l, kern_error *err)
{
    char *session = NULL;
    viz_scene *scene = NULL;
    const view_page page = {.width = viz_scene_points(l->s->width_mm),
                            .point_out = l->view.step > 0,
                            .basins = l->basins};
    kern_status status = view_picture_session(&session, l->picture, &l->view, err);
    if (status == KERN_OK) {
        status = view_picture_scene(&scene, l->picture, &l->view, &page, err);
    }
    if (status == KERN_OK) {
        const viz_export_options export = {.dpi = l->s->dpi, .session = session};
        status = viz_export(scene, l->s->out, &export, err);
    }
    viz_scene_destroy(scene);
    free(session);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_tokens(cli_json *json, cJSON *object, const char *key, const size_t *tokens,
                       size_t n)
{
    cJSON *list = cli_json_array(json, object, key);
    for (size_t i = 0; i < n; i++) {
        cli_json_size(json, list, NULL, tokens[i]);
    }
}

void cli_landscape_put_recipe(const view_landscape *l, cli_json *json, cJSON *object)
{
    const view_settings *s = &l->settings;
    const view_field *field;
    char token[VIEW_TEXT] = "";
    if (view_field_find(&field, "token", NULL) == KERN_OK) {
        view_settings_show(s, field, token);
    }
    cli_json_text(json, object, "prompt", s->prompt);
    cli_json_text(json, object, "token", token);
    cli_json_text(json, object, "plane", kind_name(l));
    cli_json_text(json, object, "chart", dyn_plane_chart_word(l->plane->chart));
    cli_json_text(json, object, "norm", dyn_plane_norm_word(l->plane->norm));
    cli_json_text(json, object, "energy_unit", view_words_unit_key(l));
    cli_json_size(json, object, "at", l->at);
    cli_json_size(json, object, "steps", l->path.n - 1);
    cli_json_size(json, object, "seed", (size_t)s->seed);
    if (strcmp(kind_name(l), "tokens") == 0) {
        cli_json_size(json, object, "with", s->with);
    }
    if (s->axes[0] != '\0') {
        cli_json_text(json, object, "axes_file", s->axes);
        cli_json_bool(json, object, "oblique", s->oblique);
    }
    cli_json_real(json, object, "turn", s->turn);
    cli_json_bool(json, object, "frozen", s->frozen);
    put_tokens(json, object, "held", s->held, s->n_held);
    put_tokens(json, object, "also", s->also, s->n_also);
    cli_json_size(json, object, "step", s->step);
    cli_json_bool(json, object, "follow", s->follow);
    cli_json_size(json, object, "field_step", l->held_at);
    cli_json_bool(json, object, "ghost", s->ghost);
    cli_json_real(json, object, "rate", s->rate);
    cli_json_bool(json, object, "pin", s->pin);
    if (l->subject->h != NULL) {
        cli_json_size(json, object, "layer", l->subject->layer);
        cli_json_text(json, object, "sublayer", model_layer_part_word(l->subject->part));
    }
}

static void put_path(const view_path *p, cli_json *json, cJSON *list)
{
    for (size_t t = 0; t < p->n; t++) {
        cJSON *state = cli_json_child(json, list, NULL);
        cli_json_size(json, state, "step", t);
        cli_json_real(json, state, "a", p->a[t]);
        cli_json_real(json, state, "b", p->b[t]);
        cli_json_real(json, state, "energy", p->energy[t]);
        cli_json_real(json, state, "on_plane", p->on_plane[t]);
        cli_json_real(json, state, "distance", p->distance[t]);
        cli_json_real(json, state, "residual", p->residual[t]);
    }
}

static void put_seeds(const view_landscape *l, cli_json *json)
{
    cJSON *seeds = cli_json_array(json, json->object, "seeds");
    for (size_t i = 0; i < l->n_seeds; i++) {
        put_path(&l->seeds[i], json, cli_json_array(json, seeds, NULL));
    }
}

/* Of the tokens that are drawn too, with their numbers. */
static void put_others(const view_landscape *l, cli_json *json)
{
    cJSON *others = cli_json_array(json, json->object, "others");
    for (size_t i = 0; i < l->n_also; i++) {
        cJSON *other = cli_json_child(json, others, NULL);
        cli_json_size(json, other, "token", l->also[i]);
        put_path(&l->others[i], json, cli_json_array(json, other, "trajectory"));
    }
}

static void put_pair(cli_json *json, const char *key, const double values[2])
{
    if (!isnan(values[0]) || !isnan(values[1])) {
        (void)cli_json_reals(json, json->object, key, values, 2);
    }
}

/* Centre and axes: of the token where it alone moves, else of the whole state. */
static void put_plane(const view_landscape *l, cli_json *json)
{
    const dyn_plane *p = l->plane;
    const bool one = view_landscape_moves_one(l);
    const size_t first = one ? l->token * p->block_width : 0;
    const size_t n = one ? p->block_width : p->size;
    const double range[4] = {l->range.a_low, l->range.a_high, l->range.b_low, l->range.b_high};
    (void)cli_json_reals(json, json->object, "center", p->centre + first, n);
    cJSON *axes = cli_json_array(json, json->object, "axes");
    (void)cli_json_reals(json, axes, NULL, p->axes[0] + first, n);
    (void)cli_json_reals(json, axes, NULL, p->axes[1] + first, n);
    cli_json_real(json, json->object, "angle", p->angle);
    if (dyn_plane_chart_is_curved(p->chart) && one) {
        cli_json_real(json, json->object, "radius", p->radius[l->token]);
    }
    if (l->settings.turn == 0.0) {
        put_pair(json, "explained", l->notes.explained);
        put_pair(json, "curvature", l->notes.curvature);
    }
    (void)cli_json_reals(json, json->object, "range", range, 4);
}

static kern_status print_json(const cli_landscape_job *job, kern_error *err)
{
    cli_json json;
    const view_landscape *l = job->landscape;
    const view_picture *p = job->picture;
    cli_json_init(&json);
    cli_landscape_put_recipe(l, &json, json.object);
    cli_json_size(&json, json.object, "columns", p->field.columns);
    cli_json_size(&json, json.object, "rows", p->field.rows);
    put_plane(l, &json);
    cli_json_real(&json, json.object, "min", p->field.low);
    cli_json_real(&json, json.object, "max", p->field.high);
    (void)cli_json_reals(&json, json.object, "min_at", p->field.low_at, 2);
    (void)cli_json_reals(&json, json.object, "max_at", p->field.high_at, 2);
    cli_json_size(&json, json.object, "not_finite", p->field.n_not_finite);
    cli_json_size(&json, json.object, "outside", p->field.n_outside);
    cli_json_size(&json, json.object, "contours", p->contours.n_lines);
    cli_json_size(&json, json.object, "contour_vertices_off", p->contours.n_rough);
    cli_json_bool(&json, json.object, "reduced", l->slice != NULL);
    put_path(&l->path, &json, cli_json_array(&json, json.object, "trajectory"));
    put_others(l, &json);
    put_seeds(l, &json);
    if (job->s->field) {
        (void)cli_json_reals(&json, json.object, "field", p->field.values,
                             p->field.columns * p->field.rows);
    }
    return cli_json_print(&json, err);
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_states(const view_landscape *l)
{
    const view_path *p = &l->path;
    const double ends = fmax(p->distance[0], p->distance[p->n - 1]); /* one may have no place */
    const double farthest = ends > 0.0 ? ends : 1.0;
    (void)printf("\n%6s %12s %12s %14s %14s %10s\n", "step", "a", "b", "E", "E on plane",
                 "off plane");
    for (size_t t = 0; t < p->n; t++) {
        if (t == SHOWN && p->n > 2 * SHOWN) {
            (void)printf("%6s\n", "...");
            t = p->n - SHOWN;
        }
        if (isnan(p->a[t]) && isfinite(p->energy[t])) {
            (void)printf("%6zu %25s %14.7g\n", t, "in the far half", p->energy[t]);
            continue;
        }
        (void)printf("%6zu %12.5g %12.5g %14.7g %14.7g", t, p->a[t], p->b[t], p->energy[t],
                     p->on_plane[t]);
        if (t == l->at && p->residual[t] <= 1e-9 * farthest) {
            (void)printf(" %10s\n", "centre");
        } else {
            (void)printf(" %8.1f %%\n", 100.0 * p->residual[t] / p->distance[t]);
        }
    }
}

static void print_field(const dyn_slice_field *f)
{
    (void)printf("least    %14.7g at (%.4g, %.4g)\nlargest  %14.7g at (%.4g, %.4g)\n", f->low,
                 f->low_at[0], f->low_at[1], f->high, f->high_at[0], f->high_at[1]);
    if (f->n_outside > 0) {
        (void)printf("%zu of %zu places are outside of the chart and have no state\n", f->n_outside,
                     f->columns * f->rows);
    }
    if (f->n_not_finite > 0) {
        (void)printf("%zu of %zu energies are not finite\n", f->n_not_finite, f->columns * f->rows);
    }
}

static void print_seeds(const view_landscape *l)
{
    for (size_t i = 0; i < l->n_seeds; i++) {
        const view_path *p = &l->seeds[i];
        (void)printf("%sseed %zu: from (%.4g, %.4g), E = %.7g, to (%.4g, %.4g), E = %.7g\n",
                     i == 0 ? "\n" : "", i + 1, p->a[0], p->b[0], p->energy[0], p->a[p->n - 1],
                     p->b[p->n - 1], p->energy[p->n - 1]);
    }
}

static void print_idle(const cli_landscape_job *job)
{
    static const char *const names[] = {"also", "held", "follow", "ghost"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *why = view_words_idle(job->subject, &job->view, names[i]);
        if (why != NULL) {
            (void)printf("\n--%s has no effect: %s.\n", names[i], why);
        }
    }
}

static void print_text(const cli_landscape_job *job)
{
    const view_landscape *l = job->landscape;
    char text[VIEW_NOTE];
    char label[VIEW_LABEL];
    char plain[VIEW_LABEL];
    view_words_describe(l, text);
    view_words_subject(l, label);
    (void)printf("energy of %s\n%s\n", label, text);
    for (int axis = 0; axis < 2; axis++) {
        view_words_axis(l, axis, label);
        (void)viz_text_plain(plain, sizeof plain, label);
        (void)printf("axis %d: %s\n", axis + 1, plain);
    }
    print_field(&job->picture->field);
    if (l->notes.status != KERN_OK) {
        (void)printf("the curvatures have not converged: residuals %.2g and %.2g\n",
                     l->notes.residual[0], l->notes.residual[1]);
    }
    print_states(l);
    print_seeds(l);
    if (l->held > 0.0 && view_landscape_sees_others(l)) {
        (void)printf("\nThe field holds the other tokens where they are at step %zu; along the "
                     "trajectory they move by up to %.3g.\n",
                     l->held_at, l->held);
    }
    print_idle(job);
    (void)printf("\nwritten: %s\n", job->s->out);
}

kern_status cli_landscape_report(const cli_landscape_job *l, kern_error *err)
{
    KERN_TRY(draw(l, err));
    if (l->s->json) {
        return print_json(l, err);
    }
    print_text(l);
    return KERN_OK;
}
