/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figures of what `basin orbit-diagram` and `basin continue` print with --json.
 */
#include "cli/cli_figure.h"
#include "cli/cli_figure_json.h"
#include "viz/viz_curves_plot.h"
#include "viz/viz_orbit_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 32 };

static const char diagram_source[] = "basin orbit-diagram --json";
static const char branch_source[] = "basin continue --json";

/* Numbers of one branch. */
typedef struct branch_store {
    double *parameter, *value;
    bool *stable;
} branch_store;

/* Files and what was read from them. */
typedef struct job {
    const cli_figure_request *request;
    cli_figure_file files[CLI_LIST_MAX];
    size_t coordinate;
    viz_orbit_data data;
    double *parameter, *exponent, *values; /* of the columns */
    size_t *first;
    branch_store *stores; /* one for each branch */
    viz_orbit_branch *branches;
    viz_orbit_event *events;
    size_t branch_room, event_room;
} job;

/* ---- Columns ------------------------------------------------------------------------------ */

static kern_status count_values(size_t *n, const cli_figure_file *file, const cJSON *columns,
                                kern_error *err)
{
    *n = 0;
    for (const cJSON *c = columns->child; c != NULL; c = c->next) {
        const cJSON *values;
        KERN_TRY(cli_figure_array(&values, file, c, "values", 0, diagram_source, err));
        *n += cli_figure_length(values);
    }
    return KERN_OK;
}

static kern_status read_columns(job *j, const cli_figure_file *file, kern_error *err)
{
    const cJSON *columns;
    void *block;
    size_t total;
    if (j->data.columns.n > 0) {
        return kern_raise(err, KERN_BAD_INPUT, "%s is a second orbit diagram; one figure holds one",
                          file->path);
    }
    KERN_TRY(cli_figure_array(&columns, file, NULL, "columns", 1, diagram_source, err));
    KERN_TRY(count_values(&total, file, columns, err));
    KERN_TRY(cli_figure_reals(&j->parameter, columns, "parameter", err));
    KERN_TRY(cli_figure_reals(&j->exponent, columns, "exponent", err));
    KERN_TRY(cli_figure_room(&block, total, sizeof(double), err));
    j->values = block;
    KERN_TRY(cli_figure_room(&block, cli_figure_length(columns) + 1, sizeof(size_t), err));
    j->first = block;
    size_t c = 0;
    size_t n = 0;
    for (const cJSON *column = columns->child; column != NULL; column = column->next) {
        const cJSON *values = cJSON_GetObjectItemCaseSensitive(column, "values");
        for (const cJSON *v = values->child; v != NULL; v = v->next) {
            j->values[n++] = cJSON_IsNumber(v) ? v->valuedouble : (double)NAN;
        }
        j->first[++c] = n;
    }
    j->data.columns = (viz_orbit_columns){c, j->parameter, j->first, j->values, j->exponent};
    j->coordinate = cli_figure_size(file->json, "coordinate");
    return KERN_OK;
}

/* ---- Branches ----------------------------------------------------------------------------- */

/* Number of branches and events of a file, the first branch included. */
static void count_branches(job *j, const cJSON *object)
{
    j->branch_room++;
    j->event_room += cli_figure_length(cJSON_GetObjectItemCaseSensitive(object, "events"));
    const cJSON *more = cJSON_GetObjectItemCaseSensitive(object, "branches");
    for (const cJSON *b = more != NULL ? more->child : NULL; b != NULL; b = b->next) {
        count_branches(j, b);
    }
}

static kern_status read_branch(job *j, const cli_figure_file *file, const cJSON *object,
                               kern_error *err)
{
    const cJSON *points;
    const cJSON *events;
    branch_store *own = &j->stores[j->data.n_branches];
    KERN_TRY(cli_figure_array(&points, file, object, "points", 0, branch_source, err));
    KERN_TRY(cli_figure_array(&events, file, object, "events", 0, branch_source, err));
    KERN_TRY(cli_figure_reals(&own->parameter, points, "parameter", err));
    KERN_TRY(cli_figure_column(&own->value, points, "x", j->coordinate, err));
    KERN_TRY(cli_figure_bools(&own->stable, points, "stable", err));
    j->branches[j->data.n_branches++] =
        (viz_orbit_branch){cli_figure_length(points), own->parameter, own->value, own->stable};
    j->data.one_point = j->data.one_point || cli_figure_size(object, "period") > 1;
    for (const cJSON *e = events->child; e != NULL; e = e->next) {
        const cJSON *x = cJSON_GetObjectItemCaseSensitive(e, "x");
        j->events[j->data.n_events++] =
            (viz_orbit_event){cli_figure_text(e, "type"), cli_figure_real(e, "parameter"),
                              cli_figure_at(x, j->coordinate)};
    }
    const cJSON *more = cJSON_GetObjectItemCaseSensitive(object, "branches");
    for (const cJSON *b = more != NULL ? more->child : NULL; b != NULL; b = b->next) {
        KERN_TRY(read_branch(j, file, b, err));
    }
    return KERN_OK;
}

/* ---- The figure --------------------------------------------------------------------------- */

static kern_status check_same(const job *j, const char **vary, const cli_figure_file *file,
                              kern_error *err)
{
    const char *own = cli_figure_text(file->json, "vary");
    if (*vary != NULL && strcmp(*vary, own) != 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s varies %s and %s varies %s; one figure shows one parameter",
                          j->files[0].path, *vary, file->path, own);
    }
    *vary = own;
    return KERN_OK;
}

/* Opens all files; the diagram is read at once, as it tells the coordinate. */
static kern_status open_all(job *j, const char **vary, kern_error *err)
{
    j->coordinate = j->request->coordinate;
    for (size_t i = 0; i < j->request->in->n; i++) {
        cli_figure_file *file = &j->files[i];
        KERN_TRY(cli_figure_open(file, j->request->in->items[i], err));
        KERN_TRY(check_same(j, vary, file, err));
        if (cli_figure_has(file, "columns")) {
            KERN_TRY(read_columns(j, file, err));
        } else {
            count_branches(j, file->json);
        }
    }
    return KERN_OK;
}

static kern_status read_all(job *j, kern_error *err)
{
    void *block;
    KERN_TRY(cli_figure_room(&block, j->branch_room, sizeof *j->branches, err));
    j->branches = block;
    KERN_TRY(cli_figure_room(&block, j->branch_room, sizeof *j->stores, err));
    j->stores = block;
    KERN_TRY(cli_figure_room(&block, j->event_room, sizeof *j->events, err));
    j->events = block;
    for (size_t i = 0; i < j->request->in->n; i++) {
        if (!cli_figure_has(&j->files[i], "columns")) {
            KERN_TRY(read_branch(j, &j->files[i], j->files[i].json, err));
        }
    }
    j->data.branches = j->branches;
    j->data.events = j->events;
    return KERN_OK;
}

static void finish(job *j)
{
    for (size_t i = 0; j->stores != NULL && i < j->branch_room; i++) {
        free(j->stores[i].parameter);
        free(j->stores[i].value);
        free(j->stores[i].stable);
    }
    free(j->stores);
    free(j->branches);
    free(j->events);
    free(j->parameter);
    free(j->exponent);
    free(j->values);
    free(j->first);
    for (size_t i = 0; i < j->request->in->n; i++) {
        cli_figure_close(&j->files[i]);
    }
}

static kern_status draw(viz_scene **out, const cli_figure_request *request, bool diagram,
                        kern_error *err)
{
    job *j = calloc(1, sizeof *j);
    if (j == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a figure");
    }
    const char *vary = NULL;
    char name[NAME];
    j->request = request;
    kern_status status = open_all(j, &vary, err);
    if (status == KERN_OK && diagram && j->data.columns.n == 0) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "%s has no list \"columns\"; accepted is what %s writes",
                            request->in->items[0], diagram_source);
    }
    if (status == KERN_OK) {
        status = read_all(j, err);
    }
    if (status == KERN_OK) {
        (void)snprintf(name, sizeof name, "x%zu", j->coordinate);
        j->data.parameter_name = vary;
        j->data.value_name = name;
        status = viz_orbit_plot(out, &j->data, &request->style, err);
    }
    finish(j);
    free(j);
    return status;
}

kern_status cli_figure_orbit_diagram(viz_scene **out, const cli_figure_request *request,
                                     kern_error *err)
{
    return draw(out, request, true, err);
}

kern_status cli_figure_branches(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    return draw(out, request, false, err);
}

/* ---- Two parameters ----------------------------------------------------------------------- */

typedef struct curves_job {
    cli_figure_file files[CLI_LIST_MAX];
    size_t curve_room, event_room;
    viz_curve *curves;
    size_t n_curves;
    viz_curve_event *events;
    size_t n_events;
    double **points; /* p and q of every curve */
} curves_job;

/* A file may have the two parameters the other way round. */
static bool is_swapped(const curves_job *j, const cli_figure_file *file)
{
    return strcmp(cli_figure_text(j->files[0].json, "vary"), cli_figure_text(file->json, "vary")) !=
           0;
}

static kern_status read_curve(curves_job *j, const cli_figure_file *file, const cJSON *curve,
                              kern_error *err)
{
    const cJSON *points;
    const cJSON *events;
    const size_t p = is_swapped(j, file) ? 1 : 0;
    double **own = &j->points[2 * j->n_curves];
    KERN_TRY(cli_figure_array(&points, file, curve, "points", 0, branch_source, err));
    KERN_TRY(cli_figure_array(&events, file, curve, "events", 0, branch_source, err));
    KERN_TRY(cli_figure_column(&own[0], points, "parameters", p, err));
    KERN_TRY(cli_figure_column(&own[1], points, "parameters", 1 - p, err));
    j->curves[j->n_curves++] =
        (viz_curve){cli_figure_text(curve, "type"), cli_figure_length(points), own[0], own[1]};
    for (const cJSON *e = events->child; e != NULL; e = e->next) {
        const cJSON *at = cJSON_GetObjectItemCaseSensitive(e, "parameters");
        j->events[j->n_events++] = (viz_curve_event){
            cli_figure_text(e, "type"), cli_figure_at(at, p), cli_figure_at(at, 1 - p)};
    }
    return KERN_OK;
}

/* Opens a file and counts what it holds; all files must vary the same two parameters. */
static kern_status open_curves(curves_job *j, size_t index, const char *path, kern_error *err)
{
    const cJSON *curves;
    cli_figure_file *file = &j->files[index];
    KERN_TRY(cli_figure_open(file, path, err));
    KERN_TRY(
        cli_figure_array(&curves, file, NULL, "curves", 1, "basin continue --second --json", err));
    const char *own[2] = {cli_figure_text(file->json, "vary"),
                          cli_figure_text(file->json, "second")};
    const char *first[2] = {cli_figure_text(j->files[0].json, "vary"),
                            cli_figure_text(j->files[0].json, "second")};
    const size_t p = is_swapped(j, file) ? 1 : 0;
    if (strcmp(own[p], first[0]) != 0 || strcmp(own[1 - p], first[1]) != 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s is about %s and %s, %s about %s and %s; one figure shows one pair of "
                          "parameters",
                          j->files[0].path, first[0], first[1], path, own[0], own[1]);
    }
    j->curve_room += cli_figure_length(curves);
    for (const cJSON *c = curves->child; c != NULL; c = c->next) {
        j->event_room += cli_figure_length(cJSON_GetObjectItemCaseSensitive(c, "events"));
    }
    return KERN_OK;
}

static kern_status draw_curves(viz_scene **out, curves_job *j, const cli_figure_request *request,
                               kern_error *err)
{
    void *block;
    for (size_t i = 0; i < request->in->n; i++) {
        KERN_TRY(open_curves(j, i, request->in->items[i], err));
    }
    KERN_TRY(cli_figure_room(&block, j->curve_room, sizeof *j->curves, err));
    j->curves = block;
    KERN_TRY(cli_figure_room(&block, j->event_room, sizeof *j->events, err));
    j->events = block;
    KERN_TRY(cli_figure_room(&block, 2 * j->curve_room, sizeof *j->points, err));
    j->points = block;
    for (size_t i = 0; i < request->in->n; i++) {
        const cJSON *curves = cJSON_GetObjectItemCaseSensitive(j->files[i].json, "curves");
        for (const cJSON *c = curves->child; c != NULL; c = c->next) {
            KERN_TRY(read_curve(j, &j->files[i], c, err));
        }
    }
    const viz_curves_data data = {cli_figure_text(j->files[0].json, "vary"),
                                  cli_figure_text(j->files[0].json, "second"),
                                  j->curves,
                                  j->n_curves,
                                  j->events,
                                  j->n_events};
    return viz_curves_plot(out, &data, &request->style, err);
}

kern_status cli_figure_curves(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    curves_job *j = calloc(1, sizeof *j);
    if (j == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a figure");
    }
    const kern_status status = draw_curves(out, j, request, err);
    for (size_t i = 0; j->points != NULL && i < 2 * j->curve_room; i++) {
        free(j->points[i]);
    }
    for (size_t i = 0; i < request->in->n; i++) {
        cli_figure_close(&j->files[i]);
    }
    free(j->points);
    free(j->curves);
    free(j->events);
    free(j);
    return status;
}
