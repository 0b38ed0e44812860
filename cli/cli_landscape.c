/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin landscape: the energy of a token, or of all, on a plane through its states.
 */
#include "cli/cli_landscape.h"

#include "cli/cli_progress.h"
#include "cli/cli_run.h"
#include "cli/cli_signal.h"
#include "viz/viz_export.h"

#include <stdio.h>
#include <string.h>

static bool is_cancelled(void *context)
{
    (void)context;
    return cli_signal_caught();
}

/* What the session was made of must be what it is drawn of again. */
static kern_status check_model(const cli_landscape_job *l, const char *sha256, kern_error *err)
{
    const char *now = l->subject->sha256;
    if (sha256[0] == '\0' || strcmp(sha256, now) == 0) {
        return KERN_OK;
    }
    if (!l->s->changed_model) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the model has changed since %s was made: the SHA-256 of its weights was "
                          "%.12s... and is %.12s...; --changed-model draws it as it is now",
                          l->s->from, sha256, now);
    }
    (void)fprintf(stderr, "basin landscape: the model has changed since %s was made\n", l->s->from);
    return KERN_OK;
}

/* Options that only models with layers have. */
static kern_status check_layers(const cli_landscape_job *l, const cli_call *call, kern_error *err)
{
    if (l->subject->h == NULL &&
        (cli_args_given(call, "layer") || cli_args_given(call, "sublayer"))) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--layer and --sublayer are for models with layers; the block of a %s is "
                          "one",
                          model_config_family_name(&l->subject->run.m->config));
    }
    return KERN_OK;
}

static kern_status draw_field(cli_landscape_job *l, kern_error *err)
{
    cli_progress progress;
    kern_error why = {0};
    const view_grain grain = {.columns = l->view.columns, .workers = l->s->threads};
    cli_progress_start(&progress, "row", 0, (5 * grain.columns + 4) / 8, "samples",
                       (double)grain.columns);
    const kern_status status =
        view_picture_create(&l->picture, l->landscape, &grain, cli_run_watch, &progress, &why);
    cli_progress_finish(&progress);
    return status == KERN_OK ? status : cli_landscape_raise(status, &why, err);
}

static kern_status compute(cli_landscape_job *l, const cli_call *call, const char *sha256,
                           kern_error *err)
{
    kern_error why = {0};
    kern_status status = view_subject_create(&l->subject, &l->view, &why);
    if (status == KERN_OK) {
        KERN_TRY(check_layers(l, call, err));
        KERN_TRY(check_model(l, sha256, err));
        KERN_TRY(cli_landscape_settle(&l->view, call, l->s, l->subject->n, err));
        if (l->view.panels > 1) {
            return cli_landscape_panels(l, is_cancelled, err);
        }
        status = view_landscape_create(&l->landscape, l->subject, &l->view, l->s->threads,
                                       is_cancelled, NULL, &why);
    }
    if (status == KERN_OK && l->view.step >= l->landscape->path.n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "there is no step %zu to point out; the trajectory has those from 0 to "
                          "%zu, and --steps makes it longer",
                          l->view.step, l->landscape->path.n - 1);
    }
    if (status == KERN_OK && l->view.mode == VIEW_BASINS) {
        status = view_basins_create(&l->basins, l->landscape, l->view.columns, l->s->threads,
                                    is_cancelled, NULL, &why);
    }
    return status == KERN_OK ? draw_field(l, err) : cli_landscape_raise(status, &why, err);
}

kern_status cli_landscape_run(cli_call *call, const void *settings, kern_error *err)
{
    const cli_landscape_settings *s = settings;
    kern_error why = {0};
    char sha256[65];
    cli_landscape_job l = {.s = s};
    KERN_TRY(cli_landscape_read(&l.view, sha256, call, s, err));
    kern_status status = viz_export_check_path(s->out, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--out: %s", why.text);
    }
    cli_signal_watch();
    status = compute(&l, call, sha256, err);
    if (status == KERN_OK) {
        status =
            l.panels != NULL ? cli_landscape_panels_report(&l, err) : cli_landscape_report(&l, err);
    }
    view_panels_destroy(l.panels);
    view_basins_destroy(l.basins);
    view_picture_release(l.picture);
    view_landscape_release(l.landscape);
    view_subject_release(l.subject);
    return status;
}
