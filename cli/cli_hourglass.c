/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin hourglass: what the sub-MLPs of a trained hourglass do to the tokens of a prompt.
 */
#include "cli/cli_hourglass.h"
#include "cli/cli_commands.h"
#include "cli/cli_signal.h"
#include "kernels/kern_parallel.h"
#include "models/model_layer_map.h"

#include <stdlib.h>

static const cli_option options[] = {
    CLI_OPTION_RUN(cli_hourglass_settings),
    {.name = "prompt",
     .value = "TEXT",
     .kind = CLI_TEXT,
     .required = true,
     .offset = offsetof(cli_hourglass_settings, prompt),
     .help = "text whose tokens are followed; numbers are means over them"},
    {.name = "layer",
     .value = "L",
     .kind = CLI_TEXT,
     .once = true,
     .offset = offsetof(cli_hourglass_settings, layer),
     .help = "this layer only, counted from 0 (default: every layer)"},
    {.kind = CLI_HEADING, .help = "What is computed beside the table of sub-MLPs"},
    {.name = "identities",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_hourglass_settings, identities),
     .help = "how far the log-det identity, conserved directions and J h = h are from holding, by "
             "full Jacobians: D^3 operations a token and sub-MLP"},
    {.name = "pairs",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_hourglass_settings, pairs),
     .help = "commutators, differences by order, and shared directions of all pairs"},
    {.name = "exponents",
     .value = "M",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 24,
     .hide_default = true,
     .offset = offsetof(cli_hourglass_settings, exponents),
     .help = "M exponents over the depth of the whole model, and of its directions"},
    CLI_OPTION_SEED(cli_hourglass_settings, "of the tangents that they start from"),
    {.kind = CLI_HEADING, .help = "Losses"},
    {.name = "losses",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_hourglass_settings, losses),
     .help = "validation loss with each sub-MLP left out, with neighbours in each other's place, "
             "and with all of a layer reading the same input"},
    CLI_OPTION_DATA(cli_hourglass_settings, "(default: what the run was trained on)"),
    CLI_OPTION_DATA_SEED(cli_hourglass_settings),
    {.name = "window",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 24,
     .hide_default = true,
     .offset = offsetof(cli_hourglass_settings, window),
     .help = "tokens that are read at once for losses (default: as in training)"},
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTION_THREADS(cli_hourglass_settings),
    CLI_OPTION_JSON(cli_hourglass_settings),
};

static void defaults(void *settings)
{
    *(cli_hourglass_settings *)settings = (cli_hourglass_settings){
        .data = cli_data_options_default(), .seed = 1, .threads = kern_parallel_processors()};
}

static void job_fini(cli_hourglass_job *job)
{
    for (size_t i = 0; job->layers != NULL && i < job->n_layers; i++) {
        model_hourglass_report_fini(&job->layers[i].report);
        model_hourglass_pairs_fini(&job->layers[i].pairs);
    }
    model_depth_fini(&job->depth);
    free(job->layers);
    free(job->losses);
    free(job->ids);
    cli_run_fini(&job->run);
}

static kern_status choose_layers(cli_hourglass_job *job, kern_error *err)
{
    const model_config *c = &job->run.run.config;
    uint64_t layer = 0;
    if (!model_config_is_stack(c) || c->ffn != MODEL_FFN_HOURGLASS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "RUN is a model of family %s without an hourglass; accepted are models "
                          "whose ffn is hourglass",
                          model_config_family_name(c));
    }
    job->n_layers = c->n_layer;
    if (job->s->layer != NULL) {
        if (cli_args_read_u64(&layer, job->s->layer, NULL) != KERN_OK ||
            layer >= (uint64_t)c->n_layer) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--layer is \"%.40s\"; accepted are 0 to %zu", job->s->layer,
                              c->n_layer - 1);
        }
        job->first_layer = (size_t)layer;
        job->n_layers = 1;
    }
    if (job->s->exponents > c->n_embed) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--exponents is %zu; accepted are 1 to the model's width of %zu",
                          job->s->exponents, c->n_embed);
    }
    job->layers = calloc(job->n_layers, sizeof *job->layers);
    return job->layers != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY, "no memory for %zu layers", job->n_layers);
}

/* One layer at its input h. */
static kern_status measure_layer(cli_hourglass_job *job, cli_hourglass_layer *l, double *h,
                                 kern_error *err)
{
    const model *m = job->run.m;
    const size_t tokens = job->tokens;
    KERN_TRY(model_layer_input(m, l->layer, MODEL_LAYER_FFN, job->ids, tokens, h, err));
    KERN_TRY(model_hourglass_diagnose(m, l->layer, h, tokens, &l->report, err));
    if (job->s->identities) {
        KERN_TRY(model_hourglass_identities_check(&l->identities, m, l->layer, h, tokens, err));
    }
    return job->s->pairs ? model_hourglass_pairs_init(&l->pairs, m, l->layer, h, tokens, err)
                         : KERN_OK;
}

static kern_status measure_layers(cli_hourglass_job *job, kern_error *err)
{
    double *h = malloc((job->tokens * job->run.m->config.n_embed + 1) * sizeof *h);
    kern_status status = KERN_OK;
    if (h == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", job->tokens);
    }
    for (size_t i = 0; status == KERN_OK && i < job->n_layers; i++) {
        job->layers[i].layer = job->first_layer + i;
        status = cli_signal_caught() ? kern_raise(err, KERN_INTERRUPTED, "stopped at layer %zu", i)
                                     : measure_layer(job, &job->layers[i], h, err);
    }
    free(h);
    return status;
}

static kern_status measure(cli_hourglass_job *job, kern_error *err)
{
    const cli_hourglass_settings *s = job->s;
    KERN_TRY(cli_run_open(&job->run, s->run, &kern_backend_cpu_f64, err));
    KERN_TRY(choose_layers(job, err));
    KERN_TRY(cli_run_encode_prompt(&job->run, s->prompt, job->run.run.config.block_size, &job->ids,
                                   &job->tokens, err));
    cli_signal_watch();
    KERN_TRY(measure_layers(job, err));
    if (s->exponents > 0) {
        KERN_TRY(model_depth_init(&job->depth, job->run.m, job->ids, job->tokens, s->exponents,
                                  s->seed, err));
    }
    return s->losses ? cli_hourglass_measure_losses(job, err) : KERN_OK;
}

/* Options of the losses need the flag that asks for them. */
static kern_status check_options(const cli_call *call, const cli_hourglass_settings *s,
                                 kern_error *err)
{
    static const char *const need[][2] = {
        {"data", "losses"}, {"data-seed", "losses"}, {"window", "losses"}, {"seed", "exponents"}};
    for (size_t i = 0; i < sizeof need / sizeof need[0]; i++) {
        const bool has = i < 3 ? s->losses : s->exponents > 0;
        if (!has && cli_args_given(call, need[i][0])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is given without --%s; accepted are both", need[i][0],
                              need[i][1]);
        }
    }
    return KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    cli_hourglass_job job = {.s = settings};
    kern_status status = check_options(call, job.s, err);
    if (status == KERN_OK) {
        status = measure(&job, err);
    }
    if (status == KERN_OK && job.s->json) {
        status = cli_hourglass_print_json(&job, err);
    } else if (status == KERN_OK) {
        cli_hourglass_print_text(&job);
    }
    job_fini(&job);
    return status;
}

const cli_command cli_hourglass = {
    .name = "hourglass",
    .purpose = "what the sub-MLPs of an hourglass do, one by one",
    .description =
        "Follows the tokens of a prompt through the residual sub-MLPs h' = h + f(h) of every "
        "layer, in double precision. Columns: hidden, the units d_h; step, |f|/|h|; growth, "
        "ln(|h'|/|h|); ln det, ln|det J| of the Jacobian J of a sub-MLP; gain, |J|_F/sqrt(D); "
        "angular, the same of directions, which is what norms further on see; turn, the cosine of "
        "the angle to the next f; directions, the number that f spreads over (participation "
        "ratio). "
        "gap is the distance of the layer's result from that of all its sub-MLPs side by side, "
        "relative to what they add: near 0, the layer is no more than one wide feed-forward part. "
        "coverage is the sum of hidden units over the width; where it is below 1 that many "
        "directions of every token pass unchanged.",
    .example = "basin hourglass run --prompt \"max_10 ( 2 9 3 ) =\"\n"
               "basin hourglass run --prompt \"ROMEO:\" --pairs --identities --exponents 8\n"
               "basin hourglass run --prompt \"ROMEO:\" --losses --json",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_hourglass_settings),
    .defaults = defaults,
    .run = run,
};
