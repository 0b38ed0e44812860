/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Several planes of basin landscape: --panels.
 */
#include "cli/cli_landscape.h"

#include "cli/cli_progress.h"
#include "cli/cli_run.h"
#include "viz/viz_export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

kern_status cli_landscape_panels(cli_landscape_job *l, view_cancelled *cancelled, kern_error *err)
{
    cli_progress progress;
    kern_error why = {0};
    const size_t columns = l->view.columns;
    cli_progress_start(&progress, "row", 0, l->view.panels * ((5 * columns + 4) / 8), "samples",
                       (double)columns);
    const kern_status status = view_panels_create(&l->panels, l->subject, &l->view, l->s->threads,
                                                  cancelled, cli_run_watch, &progress, &why);
    cli_progress_finish(&progress);
    return status == KERN_OK ? status : cli_landscape_raise(status, &why, err);
}

static kern_status draw(const cli_landscape_job *l, kern_error *err)
{
    char *session = NULL;
    viz_scene *scene = NULL;
    const view_page page = {.width = viz_scene_points(l->s->width_mm)};
    kern_status status = view_panels_session(&session, l->panels, err);
    if (status == KERN_OK) {
        status = view_panels_scene(&scene, l->panels, &page, err);
    }
    if (status == KERN_OK) {
        const viz_export_options export = {.dpi = l->s->dpi, .session = session};
        status = viz_export(scene, l->s->out, &export, err);
    }
    viz_scene_destroy(scene);
    free(session);
    return status;
}

static void put_plane(const view_panels *p, size_t i, bool field, cli_json *json, cJSON *list)
{
    const view_landscape *l = p->landscapes[i];
    const view_path *path = &l->path;
    const dyn_slice_field *f = &p->fields[i];
    cJSON *plane = cli_json_child(json, list, NULL);
    cli_json_size(json, plane, "seed", (size_t)l->settings.seed);
    cli_json_real(json, plane, "held", p->held[i]);
    cli_json_real(json, plane, "min", f->low);
    cli_json_real(json, plane, "max", f->high);
    cli_json_size(json, plane, "not_finite", f->n_not_finite);
    (void)cli_json_reals(json, plane, "a", path->a, path->n);
    (void)cli_json_reals(json, plane, "b", path->b, path->n);
    (void)cli_json_reals(json, plane, "on_plane", path->on_plane, path->n);
    (void)cli_json_reals(json, plane, "distance", path->distance, path->n);
    (void)cli_json_reals(json, plane, "residual", path->residual, path->n);
    if (field) {
        (void)cli_json_reals(json, plane, "field", f->values, f->columns * f->rows);
    }
}

static kern_status print_json(const cli_landscape_job *job, kern_error *err)
{
    cli_json json;
    const view_panels *p = job->panels;
    const view_landscape *l = p->landscapes[0];
    const double range[4] = {l->range.a_low, l->range.a_high, l->range.b_low, l->range.b_high};
    cli_json_init(&json);
    cli_landscape_put_recipe(l, &json, json.object);
    cli_json_size(&json, json.object, "panels", p->n);
    cli_json_size(&json, json.object, "columns", p->fields[0].columns);
    cli_json_size(&json, json.object, "rows", p->fields[0].rows);
    (void)cli_json_reals(&json, json.object, "range", range, 4);
    cli_json_real(&json, json.object, "low", p->low);
    cli_json_real(&json, json.object, "high", p->high);
    (void)cli_json_reals(&json, json.object, "energy", l->path.energy, l->path.n);
    cJSON *list = cli_json_array(&json, json.object, "planes");
    for (size_t i = 0; i < p->n; i++) {
        put_plane(p, i, job->s->field, &json, list);
    }
    return cli_json_print(&json, err);
}

/* Largest part of a state's distance that is off the plane, in percent. */
static double farthest_off(const view_path *path)
{
    double most = 0.0;
    for (size_t t = 0; t < path->n; t++) {
        const double off = 100.0 * path->residual[t] / path->distance[t];
        most = off > most ? off : most;
    }
    return most;
}

static void print_text(const cli_landscape_job *job)
{
    const view_panels *p = job->panels;
    char text[VIEW_NOTE];
    char label[VIEW_LABEL];
    view_words_describe(p->landscapes[0], text);
    view_words_subject(p->landscapes[0], label);
    (void)printf("energy of %s on %zu planes\nthe first: %s\n", label, p->n, text);
    (void)printf("\n%20s %8s %14s %14s %12s\n", "seed", "holds", "least E", "largest E",
                 "off, at most");
    for (size_t i = 0; i < p->n; i++) {
        const view_landscape *l = p->landscapes[i];
        (void)printf("%20llu %6.1f %% %14.7g %14.7g %10.1f %%\n",
                     (unsigned long long)l->settings.seed, 100.0 * p->held[i], p->fields[i].low,
                     p->fields[i].high, farthest_off(&l->path));
    }
    (void)printf("\nwritten: %s\n", job->s->out);
}

kern_status cli_landscape_panels_report(const cli_landscape_job *l, kern_error *err)
{
    KERN_TRY(draw(l, err));
    if (l->s->json) {
        return print_json(l, err);
    }
    print_text(l);
    return KERN_OK;
}
