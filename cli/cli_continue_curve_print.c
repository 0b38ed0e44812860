/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Curves in two parameters as JSON, tables and HDF5.
 */
#include "cli/cli_continue_curve_print.h"

#include "cli/cli_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_COORDINATES = 3, SHOWN_POINTS = 24 };

kern_status cli_continue_curve_status(const dyn_curve *curve)
{
    static const kern_status words[DYN_CURVE_END_KINDS] = {
        [DYN_CURVE_END_STEP] = KERN_NOT_CONVERGED,
        [DYN_CURVE_END_POINTS] = KERN_TIMEOUT,
        [DYN_CURVE_END_FAR] = KERN_DIVERGED,
    };
    const kern_status first = words[curve->ends[0]];
    return first != KERN_OK ? first : words[curve->ends[1]];
}

static const char *vary_of(const cli_curve_job *job)
{
    return job->base->s->vary;
}

/* ---- JSON --------------------------------------------------------------------------------- */

/* Members that points and events have in common. */
static void add_place(cli_json *json, cJSON *parent, const cli_curve_job *job,
                      const dyn_curve *curve, const dyn_curve_point *p)
{
    (void)cli_json_reals(json, parent, "parameters", p->parameters, 2);
    (void)cli_json_reals(json, parent, "x", p->states, curve->size);
    cli_json_complex(json, parent, "multiplier", p->critical_re, p->critical_im);
    cli_json_complexes(json, parent, "multipliers", p->re, p->im, curve->size);
    if (curve->kind == DYN_NORMAL_NS) {
        cli_json_bool(json, parent, "neutral_saddle", p->neutral);
    }
    cli_json_real(json, parent, "coefficient", p->form.coefficient);
    cli_json_text(json, parent, "criticality", dyn_criticality_word(p->form.criticality));
    cli_json_text(json, parent, "normal_form", kern_status_word(p->form.status));
    cli_json_real(json, parent, "residual", p->residual);
    if (job->base->s->cycles) {
        cJSON *cycle = cli_json_array(json, parent, "cycle");
        for (size_t i = 0; i < curve->period; i++) {
            (void)cli_json_reals(json, cycle, NULL, p->states + i * curve->size, curve->size);
        }
    }
}

static void add_curve(cli_json *json, cJSON *curves, const cli_curve_job *job,
                      const dyn_curve *curve)
{
    cJSON *child = cli_json_child(json, curves, NULL);
    cli_json_text(json, child, "type", dyn_normal_kind_word(curve->kind));
    cli_json_size(json, child, "period", curve->period);
    cJSON *points = cli_json_array(json, child, "points");
    for (size_t i = 0; i < curve->n_points; i++) {
        add_place(json, cli_json_child(json, points, NULL), job, curve, &curve->points[i]);
    }
    cJSON *events = cli_json_array(json, child, "events");
    for (size_t i = 0; i < curve->n_events; i++) {
        cJSON *event = cli_json_child(json, events, NULL);
        cli_json_text(json, event, "type", dyn_curve_event_word(curve->events[i].kind));
        add_place(json, event, job, curve, &curve->events[i].at);
        cli_json_size(json, event, "after_point", curve->events[i].index);
    }
    cli_json_size(json, child, "start", curve->start);
    cli_json_size(json, child, "unlocated", curve->n_unlocated);
    cJSON *ends = cli_json_child(json, child, "ends");
    cli_json_text(json, ends, "first", dyn_curve_end_word(curve->ends[0]));
    cli_json_text(json, ends, "last", dyn_curve_end_word(curve->ends[1]));
    cli_json_text(json, child, "status", kern_status_word(cli_continue_curve_status(curve)));
}

static void describe(cli_json *json, const cli_curve_job *job)
{
    cli_continue_describe(json, job->base);
    cli_json_text(json, json->object, "second", job->base->s->second);
    const double range[] = {job->low, job->high};
    (void)cli_json_reals(json, json->object, "range", range, 2);
    cli_json_text(json, json->object, "curve", dyn_normal_kind_word(job->kind));
}

static kern_status print_json(const void *context, kern_error *err)
{
    const cli_curve_job *job = context;
    cli_json json;
    kern_status status = job->n_failed > 0 ? job->failure.status : KERN_OK;
    cli_json_init(&json);
    describe(&json, job);
    cJSON *curves = cli_json_array(&json, json.object, "curves");
    for (size_t i = 0; i < job->n_curves; i++) {
        add_curve(&json, curves, job, &job->curves[i]);
        const kern_status one = cli_continue_curve_status(&job->curves[i]);
        status = status == KERN_OK ? one : status;
    }
    cli_json_size(&json, json.object, "n_requested", job->n_requested);
    cli_json_size(&json, json.object, "n_converged", job->n_requested - job->n_failed);
    cli_json_text(&json, json.object, "status", kern_status_word(status));
    return cli_json_print(&json, err);
}

/* ---- Text --------------------------------------------------------------------------------- */

static void print_place(const dyn_curve *curve, const dyn_curve_point *p)
{
    (void)printf("%18.12g %18.12g  %11.6g", p->parameters[0], p->parameters[1], p->critical_re);
    if (p->critical_im != 0.0) {
        (void)printf("%+.6gi", p->critical_im);
    }
    (void)printf("  %12.6g %9.2g ", p->form.coefficient, p->residual);
    for (size_t i = 0; i < curve->size && i < SHOWN_COORDINATES; i++) {
        (void)printf(" %.12g", p->states[i]);
    }
    (void)printf("%s%s\n", curve->size > SHOWN_COORDINATES ? " ..." : "",
                 p->neutral ? "  neutral saddle" : "");
}

static void print_curve(const cli_curve_job *job, size_t index)
{
    const dyn_curve *curve = &job->curves[index];
    const size_t stride = 1 + curve->n_points / SHOWN_POINTS;
    (void)printf("\ncurve %zu of %s points, period %zu: %zu points, %s ... %s\n", index,
                 dyn_normal_kind_word(curve->kind), curve->period, curve->n_points,
                 dyn_curve_end_word(curve->ends[0]), dyn_curve_end_word(curve->ends[1]));
    (void)printf("%18s %18s  %11s  %12s %9s  %s\n", vary_of(job), job->base->s->second,
                 "multiplier", "coefficient", "residual", "first state");
    for (size_t i = 0; i < curve->n_points; i++) {
        if (i % stride == 0 || i + 1 == curve->n_points) {
            print_place(curve, &curve->points[i]);
        }
    }
    (void)printf("%zu %s of codimension two\n", curve->n_events,
                 curve->n_events == 1 ? "point" : "points");
    for (size_t i = 0; i < curve->n_events; i++) {
        (void)printf("%-4s ", dyn_curve_event_word(curve->events[i].kind));
        print_place(curve, &curve->events[i].at);
    }
    if (curve->n_unlocated > 0) {
        (void)printf("%zu changes of sign could not be located\n", curve->n_unlocated);
    }
}

static void print_text(const void *context)
{
    const cli_curve_job *job = context;
    const dyn_map *map = job->base->system.map;
    (void)printf("%s: %s\n", map->kind->name, map->kind->formula);
    for (size_t i = 0; i < job->n_curves; i++) {
        print_curve(job, i);
    }
    if (job->n_failed > 0) {
        (void)printf("\n%zu of %zu %s points led to no curve: %s\n", job->n_failed,
                     job->n_requested, dyn_normal_kind_word(job->kind), job->failure.text);
    }
}

/* ---- Files -------------------------------------------------------------------------------- */

/* Points of a curve with its events between them: item i of n_points + n_events, in order. `*event`
 * is what it is called, NULL for a point. `next` of the events have been passed. */
static const dyn_curve_point *item_of(const dyn_curve *curve, size_t i, size_t *next,
                                      const char **event)
{
    const size_t point = i - *next;
    if (*next < curve->n_events &&
        (point == curve->n_points || curve->events[*next].index < point)) {
        const dyn_curve_event *e = &curve->events[(*next)++];
        *event = dyn_curve_event_word(e->kind);
        return &e->at;
    }
    *event = NULL;
    return &curve->points[point];
}

static kern_status write_csv(const void *context, const char *path, kern_error *err)
{
    const cli_curve_job *job = context;
    static const char *const heads[] = {"curve", "period",  "event",       "p",        "q", "re",
                                        "im",    "neutral", "coefficient", "residual", "x"};
    cli_csv csv;
    KERN_TRY(cli_csv_begin(&csv, path, err));
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        cli_csv_word(&csv, heads[i]);
    }
    cli_csv_end_line(&csv);
    for (size_t c = 0; c < job->n_curves; c++) {
        const dyn_curve *curve = &job->curves[c];
        size_t next = 0;
        for (size_t i = 0; i < curve->n_points + curve->n_events && csv.status == KERN_OK; i++) {
            const char *event = NULL;
            const dyn_curve_point *p = item_of(curve, i, &next, &event);
            cli_csv_size(&csv, c);
            cli_csv_size(&csv, curve->period);
            cli_csv_word(&csv, event != NULL ? event : "");
            cli_csv_real(&csv, p->parameters[0]);
            cli_csv_real(&csv, p->parameters[1]);
            cli_csv_real(&csv, p->critical_re);
            cli_csv_real(&csv, p->critical_im);
            cli_csv_word(&csv, p->neutral ? "true" : "false");
            cli_csv_real(&csv, p->form.coefficient);
            cli_csv_real(&csv, p->residual);
            for (size_t j = 0; j < curve->size; j++) {
                cli_csv_real(&csv, p->states[j]);
            }
            cli_csv_end_line(&csv);
        }
    }
    return cli_csv_commit(&csv);
}

/* One curve: its parameters and states. */
static kern_status put_curve(model_hdf5_writer *w, size_t index, const dyn_curve *curve,
                             double *numbers, kern_error *err)
{
    static const char *const pairs[] = {"point", "parameter"};
    static const char *const cycles[] = {"point", "state", "coordinate"};
    const size_t n = curve->n_points;
    const size_t cycle = curve->period * curve->size;
    const model_hdf5_shape plane = {.rank = 2, .size = {n, 2}};
    const model_hdf5_shape table = {.rank = 3, .size = {n, curve->period, curve->size}};
    const model_hdf5_meta parameters = {.description = "both parameters", .dims = pairs};
    const model_hdf5_meta states = {.description = "states of the cycle", .dims = cycles};
    char name[64];
    for (size_t i = 0; i < n; i++) {
        numbers[2 * i] = curve->points[i].parameters[0];
        numbers[2 * i + 1] = curve->points[i].parameters[1];
    }
    (void)snprintf(name, sizeof name, "curve_%zu_parameters", index);
    KERN_TRY(model_hdf5_put_doubles(w, name, numbers, &plane, &parameters, err));
    for (size_t i = 0; i < n; i++) {
        memcpy(numbers + i * cycle, curve->points[i].states, cycle * sizeof *numbers);
    }
    (void)snprintf(name, sizeof name, "curve_%zu_states", index);
    return model_hdf5_put_doubles(w, name, numbers, &table, &states, err);
}

static kern_status put_curves(model_hdf5_writer *w, const void *context, kern_error *err)
{
    const cli_curve_job *job = context;
    size_t most = 1;
    for (size_t i = 0; i < job->n_curves; i++) {
        const size_t cycle = job->curves[i].period * job->curves[i].size;
        const size_t count = job->curves[i].n_points * (cycle > 2 ? cycle : 2);
        most = count > most ? count : most;
    }
    double *numbers = malloc(most * sizeof *numbers);
    if (numbers == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers of a curve", most);
    }
    kern_status status = KERN_OK;
    for (size_t i = 0; i < job->n_curves && status == KERN_OK; i++) {
        status = put_curve(w, i, &job->curves[i], numbers, err);
    }
    free(numbers);
    return status;
}

/* The recipe tells the events, which are few and of many kinds. */
static void tell_recipe(cli_json *json, const void *context)
{
    const cli_curve_job *job = context;
    describe(json, job);
    cJSON *events = cli_json_array(json, json->object, "events");
    for (size_t c = 0; c < job->n_curves; c++) {
        for (size_t i = 0; i < job->curves[c].n_events; i++) {
            const dyn_curve_event *e = &job->curves[c].events[i];
            cJSON *event = cli_json_child(json, events, NULL);
            cli_json_size(json, event, "curve", c);
            cli_json_text(json, event, "type", dyn_curve_event_word(e->kind));
            (void)cli_json_reals(json, event, "parameters", e->at.parameters, 2);
        }
    }
}

static const cli_report forms = {.command = "basin continue",
                                 .describe = tell_recipe,
                                 .write_csv = write_csv,
                                 .put = put_curves,
                                 .print_json = print_json,
                                 .print_text = print_text};

kern_status cli_continue_curve_report(const cli_curve_job *job, kern_error *err)
{
    return cli_files_report(&forms, &job->base->s->files, job->base->system.map, job->base->s->json,
                            job, err);
}
