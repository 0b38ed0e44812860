/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What each sub-MLP, and their order, is worth to the loss.
 */
#include "cli/cli_hourglass.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "models/model_hourglass_variant.h"
#include "models/model_score.h"

#include <math.h>
#include <stdlib.h>

/* The data, and the model in single precision, which is what a loss needs. */
typedef struct loss_work {
    cli_hourglass_job *job;
    model *m;   /* owned */
    char *spec; /* owned; the run's own data */
    cli_data data;
    cli_progress progress;
    size_t done;
} loss_work;

static bool watch(void *context, size_t done, size_t total)
{
    (void)context;
    (void)done;
    (void)total;
    return !cli_signal_caught();
}

static kern_status measure_one(loss_work *w, const model *m, model_loss *out, kern_error *err)
{
    const cli_hourglass_settings *s = w->job->s;
    const model_loss_options o = {.part = MODEL_PART_VAL,
                                  .window =
                                      s->window > 0 ? s->window : w->job->run.run.training.window,
                                  .threads = s->threads,
                                  .progress = watch};
    KERN_TRY(model_stream_check_window(&w->data.stream, o.part, o.window, err));
    KERN_TRY(model_score_loss(m, &w->data.stream, &o, out, err));
    w->done++;
    cli_progress_update(&w->progress, w->done, (double)NAN);
    return KERN_OK;
}

/* Measures a changed model, which is released. */
static kern_status measure_change(loss_work *w, model *changed, const char *change, size_t layer,
                                  size_t sub, kern_error *err)
{
    model_loss loss;
    cli_hourglass_job *job = w->job;
    const kern_status status = measure_one(w, changed, &loss, err);
    model_destroy(changed);
    KERN_TRY(status);
    job->losses[job->n_losses++] =
        (cli_hourglass_loss){.change = change, .layer = layer, .sub = sub, .loss = loss.loss};
    return KERN_OK;
}

static kern_status measure_layer(loss_work *w, size_t layer, kern_error *err)
{
    const size_t k = w->m->config.hourglass.k;
    size_t order[MODEL_WIDTHS_MAX];
    model *changed = NULL;
    for (size_t i = 0; i < k; i++) {
        KERN_TRY(model_hourglass_drop(&changed, w->m, layer, i, err));
        KERN_TRY(measure_change(w, changed, "drop", layer, i, err));
    }
    for (size_t i = 0; i + 1 < k; i++) {
        for (size_t j = 0; j < k; j++) {
            order[j] = j == i ? i + 1 : j == i + 1 ? i : j;
        }
        KERN_TRY(model_hourglass_reorder(&changed, w->m, layer, order, err));
        KERN_TRY(measure_change(w, changed, "swap", layer, i, err));
    }
    return KERN_OK;
}

static kern_status measure_all(loss_work *w, kern_error *err)
{
    cli_hourglass_job *job = w->job;
    model *changed = NULL;
    model_loss loss;
    KERN_TRY(measure_one(w, w->m, &loss, err));
    job->loss = loss.loss;
    job->predicted = loss.n;
    KERN_TRY(model_hourglass_parallelise(&changed, w->m, err));
    KERN_TRY(measure_change(w, changed, "parallel", 0, 0, err));
    for (size_t i = 0; i < job->n_layers; i++) {
        KERN_TRY(measure_layer(w, job->first_layer + i, err));
    }
    return KERN_OK;
}

static kern_status load(loss_work *w, kern_error *err)
{
    const model_run *run = &w->job->run.run;
    cli_data_options data = w->job->s->data;
    if (data.spec == NULL) {
        KERN_TRY(cli_data_recall(run->data_kind, run->data_path, &w->spec, err));
        data.spec = w->spec;
    }
    KERN_TRY(cli_data_parse(&w->data, &data, err));
    KERN_TRY(cli_data_load(&w->data, &run->tokenizer, err));
    return model_convert(&w->m, w->job->run.m, &kern_backend_cpu_f32, err);
}

kern_status cli_hourglass_measure_losses(cli_hourglass_job *job, kern_error *err)
{
    loss_work w = {.job = job};
    const size_t most = 2 + job->n_layers * (2 * job->run.m->config.hourglass.k - 1);
    kern_status status = load(&w, err);
    job->losses = calloc(most, sizeof *job->losses);
    if (status == KERN_OK && job->losses == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu losses", most);
    }
    if (status == KERN_OK) {
        cli_progress_start(&w.progress, "loss", 0, most, "losses", 1.0);
        status = measure_all(&w, err);
        cli_progress_finish(&w.progress);
    }
    model_destroy(w.m);
    cli_data_fini(&w.data);
    free(w.spec);
    return status;
}
