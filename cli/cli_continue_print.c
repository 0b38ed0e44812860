/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Branches as JSON, tables and HDF5.
 */
#include "cli/cli_continue.h"

#include "cli/cli_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_COORDINATES = 3, SHOWN_POINTS = 24, COORDINATE_TEXT = 32, NAME_TEXT = 64 };

/* ---- Words -------------------------------------------------------------------------------- */

/* Ends of the range as the command line calls them. */
static const char *end_word(const cli_continue_settings *s, dyn_branch_end end)
{
    const bool upwards = s->from < s->to;
    if (end == DYN_BRANCH_END_HIGH) {
        return upwards ? "reached_to" : "reached_from";
    }
    if (end == DYN_BRANCH_END_LOW) {
        return upwards ? "reached_from" : "reached_to";
    }
    return dyn_branch_end_word(end);
}

static bool reached(const cli_continue_settings *s, const dyn_branch *branch)
{
    const dyn_branch_end aim = s->from < s->to ? DYN_BRANCH_END_HIGH : DYN_BRANCH_END_LOW;
    return branch->ends[0] == aim || branch->ends[1] == aim;
}

/* The status of a branch: the worst of its ends. */
static kern_status status_of(const dyn_branch *branch)
{
    static const struct {
        dyn_branch_end end;
        kern_status status;
    } table[] = {{DYN_BRANCH_END_STEP, KERN_NOT_CONVERGED},
                 {DYN_BRANCH_END_POINTS, KERN_TIMEOUT},
                 {DYN_BRANCH_END_FAR, KERN_DIVERGED},
                 {DYN_BRANCH_END_BOX, KERN_LEFT_BOX}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (branch->ends[0] == table[i].end || branch->ends[1] == table[i].end) {
            return table[i].status;
        }
    }
    return KERN_OK;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void add_states(cli_json *json, cJSON *parent, const double *states, size_t period,
                       size_t size)
{
    cJSON *cycle = cli_json_array(json, parent, "cycle");
    for (size_t i = 0; i < period; i++) {
        (void)cli_json_reals(json, cycle, NULL, states + i * size, size);
    }
}

static void add_multipliers(cli_json *json, cJSON *parent, const dyn_multipliers *m)
{
    cJSON *values = cli_json_array(json, parent, "multipliers");
    for (size_t i = 0; i < m->n_blocks; i++) {
        for (size_t j = 0; j < m->blocks[i].n; j++) {
            cli_json_complex(json, values, NULL, m->blocks[i].re[j], m->blocks[i].im[j]);
        }
    }
}

static void add_point(cli_json *json, cJSON *points, const cli_continue_job *job,
                      const dyn_branch *branch, const dyn_branch_point *p)
{
    cJSON *point = cli_json_child(json, points, NULL);
    cli_json_real(json, point, "parameter", p->parameter);
    (void)cli_json_reals(json, point, "x", p->states, branch->size);
    cli_json_bool(json, point, "stable", p->stable);
    add_multipliers(json, point, &p->multipliers);
    cli_json_real(json, point, "spectral_radius", p->multipliers.spectral_radius);
    cli_json_real(json, point, "arclength", p->arclength);
    cli_json_size(json, point, "folds", p->folds);
    cli_json_real(json, point, "residual", p->residual);
    if (job->s->cycles) {
        add_states(json, point, p->states, branch->period, branch->size);
    }
}

static void add_event(cli_json *json, cJSON *events, const dyn_branch *branch,
                      const dyn_branch_event *e)
{
    cJSON *event = cli_json_child(json, events, NULL);
    cli_json_text(json, event, "type", dyn_branch_event_word(e->kind));
    cli_json_real(json, event, "parameter", e->parameter);
    (void)cli_json_reals(json, event, "x", e->states, branch->size);
    cli_json_real(json, event, "coefficient", e->coefficient);
    cli_json_text(json, event, "criticality", dyn_criticality_word(e->criticality));
    if (e->kind == DYN_BRANCH_NS) {
        cli_json_real(json, event, "imaginary", e->imaginary);
        cli_json_real(json, event, "angle", e->angle);
    }
    if (e->kind == DYN_BRANCH_BP) {
        cli_json_text(json, event, "form", e->pitchfork ? "pitchfork" : "transcritical");
    }
    cli_json_complex(json, event, "multiplier", e->re, e->im);
    cli_json_real(json, event, "distance", e->distance);
    cli_json_size(json, event, "count", e->count);
    cli_json_bool(json, event, "touch", e->touch);
    cli_json_size(json, event, "period", e->period);
    cli_json_real(json, event, "arclength", e->arclength);
    cli_json_real(json, event, "residual", e->residual);
    cli_json_text(json, event, "normal_form", kern_status_word(e->normal_status));
    add_states(json, event, e->states, e->period, branch->size);
}

/* Points, events and ends of a branch as members of `parent`. */
static void add_branch(cli_json *json, cJSON *parent, const cli_continue_job *job,
                       const dyn_branch *branch)
{
    cJSON *points = cli_json_array(json, parent, "points");
    for (size_t i = 0; i < branch->n_points; i++) {
        add_point(json, points, job, branch, &branch->points[i]);
    }
    cJSON *events = cli_json_array(json, parent, "events");
    for (size_t i = 0; i < branch->n_events; i++) {
        add_event(json, events, branch, &branch->events[i]);
    }
    cJSON *ends = cli_json_child(json, parent, "ends");
    cli_json_text(json, ends, "first", end_word(job->s, branch->ends[0]));
    cli_json_text(json, ends, "last", end_word(job->s, branch->ends[1]));
    cli_json_bool(json, parent, "reached", reached(job->s, branch));
    cli_json_text(json, parent, "status", kern_status_word(status_of(branch)));
}

void cli_continue_describe(cli_json *json, const cli_continue_job *job)
{
    const cli_continue_settings *s = job->s;
    cli_map_describe(json, job->system.map);
    cli_json_text(json, json->object, "vary", s->vary);
    cli_json_real(json, json->object, "from", s->from);
    cli_json_real(json, json->object, "to", s->to);
    cli_json_size(json, json->object, "period", s->period);
    cli_json_size(json, json->object, "switch", s->depth);
    cli_json_real(json, json->object, "tol", s->tol);
    cli_json_size(json, json->object, "seed", s->seed);
}

static kern_status print_json(const void *context, kern_error *err)
{
    const cli_continue_job *job = context;
    cli_json json;
    cli_json_init(&json);
    cli_continue_describe(&json, job);
    add_branch(&json, json.object, job, &job->tree.branches[0]);
    cJSON *branches = cli_json_array(&json, json.object, "branches");
    for (size_t b = 1; b < job->tree.n_branches; b++) {
        const dyn_branch *branch = &job->tree.branches[b];
        cJSON *child = cli_json_child(&json, branches, NULL);
        cli_json_size(&json, child, "branch", b);
        cli_json_size(&json, child, "period", branch->period);
        cli_json_size(&json, child, "parent", branch->parent);
        cli_json_size(&json, child, "parent_event", branch->parent_event);
        cli_json_size(&json, child, "depth", branch->depth);
        add_branch(&json, child, job, branch);
    }
    cli_json_size(&json, json.object, "switches_without_branch", job->tree.n_failed);
    return cli_json_print(&json, err);
}

/* ---- Text --------------------------------------------------------------------------------- */

static void print_state(const double *x, size_t size)
{
    for (size_t i = 0; i < size && i < SHOWN_COORDINATES; i++) {
        (void)printf(" %.12g", x[i]);
    }
    (void)printf("%s\n", size > SHOWN_COORDINATES ? " ..." : "");
}

static void print_point(const dyn_branch *branch, const dyn_branch_point *p)
{
    (void)printf("%18.12g  %-8s %12.6g %9.2g ", p->parameter, p->stable ? "stable" : "unstable",
                 p->multipliers.spectral_radius, p->residual);
    print_state(p->states, branch->size);
}

static void print_event(const dyn_branch *branch, const dyn_branch_event *e)
{
    (void)printf("%18.15g  %s", e->parameter, dyn_branch_event_word(e->kind));
    (void)printf("%s", e->kind != DYN_BRANCH_BP ? "" : e->pitchfork ? " pitchfork" : " crossing");
    if (e->count > 1) {
        (void)printf(" x%zu", e->count);
    }
    if (e->touch) {
        (void)printf(" touched");
    }
    if (e->criticality != DYN_CRITICALITY_NONE) {
        (void)printf(" %s", dyn_criticality_word(e->criticality));
    }
    if (e->normal_status == KERN_OK) {
        (void)printf(", coefficient %.9g", e->coefficient);
    }
    (void)printf(", multiplier %.9g", e->re);
    if (e->im != 0.0) {
        (void)printf("%+.9gi", e->im);
    }
    (void)printf(", at");
    print_state(e->states, branch->size);
}

static void print_branch(const cli_continue_job *job, size_t index)
{
    const dyn_branch *branch = &job->tree.branches[index];
    const size_t stride = 1 + branch->n_points / SHOWN_POINTS;
    (void)printf("branch %zu, period %zu", index, branch->period);
    if (index > 0) {
        const dyn_branch *parent = &job->tree.branches[branch->parent];
        const dyn_branch_event *from = &parent->events[branch->parent_event];
        (void)printf(", from %s at %.12g of branch %zu", dyn_branch_event_word(from->kind),
                     from->parameter, branch->parent);
    }
    (void)printf(": %zu points, %s ... %s\n", branch->n_points, end_word(job->s, branch->ends[0]),
                 end_word(job->s, branch->ends[1]));
    (void)printf("%18s  %-8s %12s %9s  %s\n", job->s->vary, "", "radius", "residual",
                 "first state");
    for (size_t i = 0; i < branch->n_points; i++) {
        if (i % stride == 0 || i + 1 == branch->n_points) {
            print_point(branch, &branch->points[i]);
        }
    }
    (void)printf("%zu %s\n", branch->n_events, branch->n_events == 1 ? "event" : "events");
    for (size_t i = 0; i < branch->n_events; i++) {
        print_event(branch, &branch->events[i]);
    }
}

static void print_text(const void *context)
{
    const cli_continue_job *job = context;
    const dyn_map *map = job->system.map;
    (void)printf("%s: %s\n", map->kind->name, map->kind->formula);
    for (size_t b = 0; b < job->tree.n_branches; b++) {
        (void)printf("\n");
        print_branch(job, b);
    }
}

/* ---- Files -------------------------------------------------------------------------------- */

static void write_heads(cli_csv *csv, size_t size)
{
    static const char *const heads[] = {"branch", "period",          "parameter", "arclength",
                                        "stable", "spectral_radius", "residual",  "state"};
    char name[COORDINATE_TEXT];
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        cli_csv_word(csv, heads[i]);
    }
    for (size_t j = 0; j < size; j++) {
        (void)snprintf(name, sizeof name, "x%zu", j);
        cli_csv_word(csv, name);
    }
    cli_csv_end_line(csv);
}

static kern_status write_csv(const void *context, const char *path, kern_error *err)
{
    const cli_continue_job *job = context;
    cli_csv csv;
    KERN_TRY(cli_csv_begin(&csv, path, err));
    write_heads(&csv, job->system.map->size);
    for (size_t b = 0; b < job->tree.n_branches; b++) {
        const dyn_branch *branch = &job->tree.branches[b];
        for (size_t i = 0; i < branch->n_points * branch->period && csv.status == KERN_OK; i++) {
            const dyn_branch_point *p = &branch->points[i / branch->period];
            const double *x = p->states + i % branch->period * branch->size;
            cli_csv_size(&csv, b);
            cli_csv_size(&csv, branch->period);
            cli_csv_real(&csv, p->parameter);
            cli_csv_real(&csv, p->arclength);
            cli_csv_word(&csv, p->stable ? "true" : "false");
            cli_csv_real(&csv, p->multipliers.spectral_radius);
            cli_csv_real(&csv, p->residual);
            cli_csv_size(&csv, i % branch->period);
            for (size_t j = 0; j < branch->size; j++) {
                cli_csv_real(&csv, x[j]);
            }
            cli_csv_end_line(&csv);
        }
    }
    return cli_csv_commit(&csv);
}

/* One branch as a group: parameter, arclength, stability, states. */
static kern_status put_branch(model_hdf5_writer *w, size_t index, const dyn_branch *branch,
                              double *numbers, kern_error *err)
{
    static const char *const dims[] = {"point", "state", "coordinate"};
    const size_t n = branch->n_points;
    const size_t cycle = branch->period * branch->size;
    const model_hdf5_shape line = {.rank = 1, .size = {n}};
    const model_hdf5_shape table = {.rank = 3, .size = {n, branch->period, branch->size}};
    const model_hdf5_meta parameter = {.description = "the parameter that varies", .dims = dims};
    const model_hdf5_meta radius = {.description = "largest modulus of a multiplier; stable "
                                                   "below 1",
                                    .dims = dims};
    const model_hdf5_meta states = {.description = "states of the cycle", .dims = dims};
    char name[NAME_TEXT];
    for (size_t i = 0; i < n; i++) {
        numbers[i] = branch->points[i].parameter;
    }
    (void)snprintf(name, sizeof name, "branch_%zu_parameter", index);
    KERN_TRY(model_hdf5_put_doubles(w, name, numbers, &line, &parameter, err));
    for (size_t i = 0; i < n; i++) {
        numbers[i] = branch->points[i].multipliers.spectral_radius;
    }
    (void)snprintf(name, sizeof name, "branch_%zu_spectral_radius", index);
    KERN_TRY(model_hdf5_put_doubles(w, name, numbers, &line, &radius, err));
    for (size_t i = 0; i < n; i++) {
        memcpy(numbers + i * cycle, branch->points[i].states, cycle * sizeof *numbers);
    }
    (void)snprintf(name, sizeof name, "branch_%zu_states", index);
    return model_hdf5_put_doubles(w, name, numbers, &table, &states, err);
}

static kern_status put_branches(model_hdf5_writer *w, const void *context, kern_error *err)
{
    const cli_continue_job *job = context;
    size_t most = 1;
    for (size_t b = 0; b < job->tree.n_branches; b++) {
        const dyn_branch *branch = &job->tree.branches[b];
        const size_t count = branch->n_points * branch->period * branch->size;
        most = count > most ? count : most;
    }
    double *numbers = malloc(most * sizeof *numbers);
    if (numbers == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers of a branch", most);
    }
    kern_status status = KERN_OK;
    for (size_t b = 0; b < job->tree.n_branches && status == KERN_OK; b++) {
        status = put_branch(w, b, &job->tree.branches[b], numbers, err);
    }
    free(numbers);
    return status;
}

static void describe(cli_json *json, const void *context)
{
    cli_continue_describe(json, context);
}

static const cli_report forms = {.command = "basin continue",
                                 .describe = describe,
                                 .write_csv = write_csv,
                                 .put = put_branches,
                                 .print_json = print_json,
                                 .print_text = print_text};

kern_status cli_continue_report(const cli_continue_job *job, kern_error *err)
{
    return cli_files_report(&forms, &job->s->files, job->system.map, job->s->json, job, err);
}
