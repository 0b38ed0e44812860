/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin continue --second: curves of bifurcations in two parameters.
 */
#include "cli/cli_continue_curve_print.h"

#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_assignment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_TEXT = 256 };

/* ---- Options ------------------------------------------------------------------------------ */

static kern_status read_kind(const char *text, dyn_normal_kind *kind, kern_error *err)
{
    for (dyn_normal_kind k = 0; text != NULL && k < DYN_NORMAL_KINDS; k++) {
        if (strcmp(text, dyn_normal_kind_word(k)) == 0) {
            *kind = k;
            return KERN_OK;
        }
    }
    if (text == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--second is given without --curve; accepted are LP, PD and NS");
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "--curve is \"%.80s\"; accepted are LP, PD and NS", text);
}

/* "lo:hi". */
static bool split_range(const char *text, double *low, double *high)
{
    char *end = NULL;
    *low = strtod(text, &end);
    if (end == text || *end != ':') {
        return false;
    }
    const char *second = end + 1;
    *high = strtod(second, &end);
    return end != second && *end == '\0' && *low < *high && isfinite(*high - *low);
}

static kern_status read_range(const cli_continue_settings *s, const dyn_map *map, double *low,
                              double *high, kern_error *err)
{
    size_t index = 0;
    if (s->range == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--second is given without --range; accepted is lo:hi");
    }
    if (!split_range(s->range, low, high)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--range is \"%.80s\"; accepted is lo:hi with lo below hi", s->range);
    }
    KERN_TRY(dyn_map_find_param(map, s->second, &index, err));
    if (!(map->params[index] >= *low && map->params[index] <= *high)) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "--range is \"%.80s\"; accepted is a range around %g, which %s has on the "
            "branch",
            s->range, map->params[index], s->second);
    }
    return KERN_OK;
}

kern_status cli_continue_curve_check(const cli_continue_settings *s, const dyn_map *map,
                                     kern_error *err)
{
    dyn_normal_kind kind;
    double low;
    double high;
    if (s->second == NULL) {
        if (s->curve != NULL || s->range != NULL) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is given without --second; accepted are both",
                              s->curve != NULL ? "curve" : "range");
        }
        return KERN_OK;
    }
    if (strcmp(s->second, s->vary) == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--second and --vary are both \"%.80s\"; accepted are two parameters",
                          s->vary);
    }
    KERN_TRY(read_kind(s->curve, &kind, err));
    return read_range(s, map, &low, &high, err);
}

/* ---- Work --------------------------------------------------------------------------------- */

static bool is_known(const cli_curve_job *job, const double parameters[2],
                     const dyn_branch_event *event)
{
    for (size_t i = 0; i < job->n_curves; i++) {
        if (job->curves[i].period == event->period &&
            dyn_curve_passes(&job->curves[i], parameters, event->states, event->re)) {
            return true;
        }
    }
    return false;
}

/* Follows the curve that begins at an event, unless it is on a curve already. */
static kern_status follow_event(cli_curve_job *job, const dyn_branch_event *event,
                                cli_progress *progress, kern_error *err)
{
    const cli_continue_settings *s = job->base->s;
    dyn_map *map = job->base->system.map;
    size_t index[2] = {0, 0};
    dyn_curve_options o = dyn_curve_options_default();
    kern_error why = {0};
    KERN_TRY(dyn_map_find_param(map, s->vary, &index[0], err));
    KERN_TRY(dyn_map_find_param(map, s->second, &index[1], err));
    const double parameters[] = {event->parameter, map->params[index[1]]};
    job->n_requested++;
    if (is_known(job, parameters, event)) {
        job->n_known++;
        return KERN_OK;
    }
    o.kind = job->kind;
    o.period = event->period;
    o.parameters[0] = s->vary;
    o.parameters[1] = s->second;
    o.low[0] = fmin(s->from, s->to);
    o.high[0] = fmax(s->from, s->to);
    o.low[1] = job->low;
    o.high[1] = job->high;
    o.angle = event->kind == DYN_BRANCH_NS ? event->angle : (double)NAN;
    o.step = s->step;
    o.step_min = s->step_min;
    o.step_max = s->step_max;
    o.tol = s->tol;
    o.max_points = s->max_points;
    o.progress = cli_run_watch;
    o.context = progress;
    const double kept = map->params[index[0]];
    map->params[index[0]] = event->parameter;
    dyn_curve *curve = &job->curves[job->n_curves];
    const kern_status status = dyn_curve_init(curve, map, event->states, &o, &why);
    map->params[index[0]] = kept;
    if (status == KERN_OK) {
        job->n_curves++;
        return KERN_OK;
    }
    dyn_curve_fini(curve);
    if (status == KERN_NOT_CONVERGED || status == KERN_SINGULAR || status == KERN_NAN ||
        status == KERN_NOT_FOUND) {
        job->failure = job->n_failed++ == 0 ? why : job->failure;
        return KERN_OK;
    }
    return kern_raise(err, status, "%s", why.text);
}

static kern_status follow_all(cli_curve_job *job, size_t n_events, kern_error *err)
{
    const dyn_branch_tree *tree = &job->base->tree;
    cli_progress progress;
    kern_status status = KERN_OK;
    job->curves = calloc(n_events, sizeof *job->curves);
    if (job->curves == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu curves", n_events);
    }
    cli_signal_watch();
    cli_progress_start(&progress, "point", 0, 2 * n_events * job->base->s->max_points, "points",
                       1.0);
    for (size_t b = 0; b < tree->n_branches && status == KERN_OK; b++) {
        const dyn_branch *branch = &tree->branches[b];
        for (size_t i = 0; i < branch->n_events && status == KERN_OK; i++) {
            if ((int)branch->events[i].kind == (int)job->kind) {
                status = follow_event(job, &branch->events[i], &progress, err);
            }
        }
    }
    cli_progress_finish(&progress);
    return status;
}

/* Events of a kind on all branches. */
static size_t count_events(const dyn_branch_tree *tree, int kind)
{
    size_t n = 0;
    for (size_t b = 0; b < tree->n_branches; b++) {
        for (size_t i = 0; i < tree->branches[b].n_events; i++) {
            n += (int)tree->branches[b].events[i].kind == kind;
        }
    }
    return n;
}

/* The branch does not have what was asked for; says what it has. */
static kern_status raise_none(const cli_curve_job *job, kern_error *err)
{
    const cli_continue_settings *s = job->base->s;
    char text[EVENTS_TEXT] = "none";
    size_t used = 0;
    for (int k = 0; k < DYN_BRANCH_EVENT_KINDS && used < sizeof text; k++) {
        const size_t n = count_events(&job->base->tree, k);
        if (n > 0) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%zu %s", used > 0 ? ", " : "",
                                 n, dyn_branch_event_word((dyn_branch_event_kind)k));
        }
    }
    return kern_raise(err, KERN_NOT_CONVERGED,
                      "no %s point lies on the branch in %s from %g to %g, so there is no curve to "
                      "follow; its events: %s",
                      dyn_normal_kind_word(job->kind), s->vary, s->from, s->to, text);
}

static bool is_unfinished(const cli_curve_job *job)
{
    bool unfinished = job->n_failed > 0;
    for (size_t i = 0; i < job->n_curves; i++) {
        const kern_status status = cli_continue_curve_status(&job->curves[i]);
        unfinished = unfinished || status == KERN_NOT_CONVERGED || status == KERN_TIMEOUT ||
                     job->curves[i].n_unlocated > 0;
    }
    return unfinished;
}

static kern_status run(cli_curve_job *job, kern_error *err)
{
    const cli_continue_settings *s = job->base->s;
    KERN_TRY(read_kind(s->curve, &job->kind, err));
    KERN_TRY(read_range(s, job->base->system.map, &job->low, &job->high, err));
    const size_t n_events = count_events(&job->base->tree, (int)job->kind);
    if (n_events == 0) {
        return raise_none(job, err);
    }
    KERN_TRY(follow_all(job, n_events, err));
    if (job->n_curves == 0) {
        const char *const remedy =
            job->failure.status != KERN_NOT_CONVERGED ? ""
            : job->base->system.map->approximate_jvp
                ? "; the map has no jvp, and difference quotients limit what can be reached: give "
                  "it one, or a larger --tol"
                : "; a larger --tol may do";
        return kern_raise(err, job->failure.status, "%s%s", job->failure.text, remedy);
    }
    return cli_continue_curve_report(job, err);
}

kern_status cli_continue_curve_run(cli_call *call, const cli_continue_job *job, kern_error *err)
{
    cli_curve_job curves = {.base = job};
    KERN_TRY(cli_continue_curve_check(job->s, job->system.map, err));
    const kern_status status = run(&curves, err);
    call->check_failed = status == KERN_OK && is_unfinished(&curves);
    for (size_t i = 0; i < curves.n_curves; i++) {
        dyn_curve_fini(&curves.curves[i]);
    }
    free(curves.curves);
    return status;
}
