/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_continue_tokens.h"

#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_relative.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_cascade_path.h"

#include <math.h>
#include <stdio.h>

/* One call. */
typedef struct tokens_job {
    const cli_continue_tokens *o;
    cli_map system;
    cli_relative start; /* at `from` */
    dyn_cascade_path path;
} tokens_job;

/* ---- Computing ---------------------------------------------------------------------------- */

static kern_status solve_start(tokens_job *job, kern_error *err)
{
    dyn_map *map = job->system.map;
    dyn_cascade_options o = dyn_cascade_options_default();
    dyn_multipliers_options all = dyn_multipliers_options_default();
    dyn_multipliers m;
    o.settle = job->o->settle;
    o.tol = job->o->tol;
    all.horizon = 0;
    KERN_TRY(dyn_map_set_param(map, job->o->vary, job->o->from, err));
    KERN_TRY(cli_relative_solve(&job->start, &job->system, map->start, &o, err));
    KERN_TRY(dyn_multipliers_init(&m, map, job->start.cascade.state, &all, err));
    const kern_status status = cli_relative_measure(&job->start, &job->system, &m, err);
    dyn_multipliers_fini(&m);
    return status;
}

static kern_status follow(tokens_job *job, kern_error *err)
{
    dyn_cascade_path_options o =
        dyn_cascade_path_options_default(job->o->vary, job->o->from, job->o->to);
    cli_progress progress;
    if (job->o->step_max > 0.0) {
        o.step_max = job->o->step_max;
        o.step = fmin(o.step, o.step_max);
    }
    o.tol = job->o->tol;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_progress_start(&progress, "following", 0, 1000, "thousandths", 1.0);
    const kern_status status =
        dyn_cascade_path_init(&job->path, job->system.map, job->start.cascade.state, &o, err);
    cli_progress_finish(&progress);
    return status;
}

static kern_status compute(tokens_job *job, kern_error *err)
{
    cli_map_options system = *job->o->system;
    system.chart_if_norm = true;
    KERN_TRY(cli_map_open(&job->system, &system, err));
    cli_signal_watch();
    KERN_TRY(solve_start(job, err));
    return follow(job, err);
}

/* ---- Printing ----------------------------------------------------------------------------- */

static bool is_stable(const double *radius, size_t n)
{
    bool stable = true;
    for (size_t a = 0; a < n; a++) {
        stable = stable && radius[a] < 1.0;
    }
    return stable;
}

static void add_points(cli_json *json, const dyn_cascade_path *path)
{
    cJSON *points = cli_json_array(json, json->object, "points");
    for (size_t i = 0; i < path->n_points; i++) {
        const double *radius = path->radius + i * path->n_blocks;
        cJSON *point = cli_json_child(json, points, NULL);
        cli_json_real(json, point, "parameter", path->parameters[i]);
        cli_json_bool(json, point, "stable", is_stable(radius, path->n_blocks));
        (void)cli_json_reals(json, point, "spectral_radius", radius, path->n_blocks);
    }
}

static void add_events(cli_json *json, const dyn_cascade_path *path)
{
    cJSON *events = cli_json_array(json, json->object, "events");
    for (size_t i = 0; i < path->n_events; i++) {
        const dyn_path_event *e = &path->events[i];
        cJSON *event = cli_json_child(json, events, NULL);
        cli_json_text(json, event, "type", dyn_path_word(e->kind));
        cli_json_size(json, event, "token", e->block);
        cli_json_real(json, event, "parameter", e->parameter);
        cli_json_real(json, event, "width", e->width);
        cli_json_complex(json, event, "multiplier", e->re, e->im);
        cli_json_bool(json, event, "stable_before", e->stable_before);
        cli_json_bool(json, event, "stable_after", e->stable_after);
    }
}

static void describe(cli_json *json, const tokens_job *job)
{
    cli_map_describe(json, job->system.map);
    if (job->system.pinned != NULL) {
        cli_json_text(json, json->object, "pinned_at", job->system.pinned);
    }
    cli_json_text(json, json->object, "vary", job->o->vary);
}

/* Nothing to report but why. */
static kern_status report_failure(const tokens_job *job, kern_status status, const kern_error *err)
{
    cli_json json;
    if (!job->o->json || job->system.map == NULL || !cli_json_is_outcome(status)) {
        return status;
    }
    cli_json_init(&json);
    describe(&json, job);
    (void)cli_json_array(&json, json.object, "points");
    (void)cli_json_array(&json, json.object, "events");
    return cli_json_print_failure(&json, status, err);
}

static kern_status print_json(const tokens_job *job, kern_error *err)
{
    const dyn_cascade_path *path = &job->path;
    cli_json json;
    cli_json_init(&json);
    describe(&json, job);
    add_points(&json, path);
    add_events(&json, path);
    cJSON *tokens = cli_json_array(&json, json.object, "tokens");
    for (size_t a = 0; a < path->n_blocks; a++) {
        cJSON *token = cli_json_child(&json, tokens, NULL);
        cli_json_size(&json, token, "token", a);
        cli_json_real(&json, token, "lost", path->lost[a]);
        cli_relative_add(&json, token, &job->start, a);
    }
    cli_json_text(&json, json.object, "status", kern_status_word(path->status));
    return cli_json_print(&json, err);
}

static void print_text(const tokens_job *job)
{
    const dyn_cascade_path *path = &job->path;
    const dyn_map *map = job->system.map;
    (void)printf("%s: %s\n\nat %s = %g:\n", map->kind->name, map->kind->formula, job->o->vary,
                 job->o->from);
    cli_relative_print(&job->start, &job->system);
    (void)printf("%5s %6s %17s %9s  %-25s %s\n", "event", "token", job->o->vary, "width",
                 "multiplier", "");
    for (size_t i = 0; i < path->n_events; i++) {
        const dyn_path_event *e = &path->events[i];
        (void)printf("%5s %6zu %17.12g %9.2g  %12.9f%+12.9fi %s\n", dyn_path_word(e->kind),
                     e->block, e->parameter, e->width, e->re, e->im,
                     e->stable_before == e->stable_after ? ""
                     : e->stable_after                   ? "becomes stable"
                                                         : "loses stability");
    }
    (void)printf("\n%zu events at %zu points from %g to %g; status: %s", path->n_events,
                 path->n_points, path->parameters[0], path->parameters[path->n_points - 1],
                 kern_status_word(path->status));
    if (path->status != KERN_OK) {
        (void)printf(" (%s)", kern_status_gloss(path->status));
    }
    (void)printf("\n");
}

kern_status cli_continue_tokens_run(cli_call *call, const cli_continue_tokens *options,
                                    kern_error *err)
{
    tokens_job job = {.o = options};
    kern_status status = compute(&job, err);
    if (status == KERN_OK) {
        call->check_failed = job.path.status != KERN_OK;
        if (options->json) {
            status = print_json(&job, err);
        } else {
            print_text(&job);
        }
    }
    status = report_failure(&job, status, err);
    dyn_cascade_path_fini(&job.path);
    cli_relative_fini(&job.start);
    cli_map_fini(&job.system);
    return status;
}
