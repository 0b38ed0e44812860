/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a run is, from what was given for it: a new one, and one that goes on.
 */
#include "cli/cli_train_options.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <string.h>

/* ---- A new run --------------------------------------------------------------------------- */

/* Owners of options: who has them, and how a model is seen to be one. */
static bool is_nrgpt(const model_config *c)
{
    return c->family == MODEL_NRGPT;
}

static bool is_early(const model_config *c)
{
    return !model_config_is_stack(c);
}

static bool has_cem_attn(const model_config *c)
{
    return model_config_is_stack(c) && c->attn == MODEL_ATTN_CEM;
}

static bool has_cem_mlp(const model_config *c)
{
    return model_config_is_stack(c) && c->ffn == MODEL_FFN_CEM;
}

static bool has_cem(const model_config *c)
{
    return has_cem_attn(c) || has_cem_mlp(c);
}

static bool has_dlr(const model_config *c)
{
    return has_cem(c) && c->cem.precond == MODEL_PRECOND_DLR;
}

static bool has_hourglass(const model_config *c)
{
    return model_config_is_stack(c) && c->ffn == MODEL_FFN_HOURGLASS;
}

typedef struct option_owner {
    const char *name;
    bool (*has)(const model_config *config);
    const char *options; /* with spaces around each */
} option_owner;

static const option_owner owners[] = {
    {"the family nrgpt", is_nrgpt,
     " ff activation norm gamma-trained eta eta-init rank update mask beta alpha "},
    {"the families nrgpt and gpt", is_early, " ff-factor dropout "},
    {"the families llama, cem and hourglass", model_config_is_stack,
     " attn ffn hidden attn-width kv-width rope tied-head qk-norm init "},
    {"CEM attention", has_cem_attn, " t-attn diag "},
    {"the CEM feed-forward part", has_cem_mlp, " t-mlp mlp "},
    {"CEM sub-layers", has_cem, " hist norm-at precond step-size train-step-size confine "},
    {"--precond dlr", has_dlr, " p-rank allow-indefinite "},
    {"the hourglass feed-forward part", has_hourglass,
     " hourglass-k hourglass-widths hourglass-norm hourglass-gain hourglass-alpha "
     "hourglass-parallel "},
};

static const option_owner *find_owner(const char *name)
{
    char word[64];
    (void)snprintf(word, sizeof word, " %s ", name);
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        if (strstr(owners[i].options, word) != NULL) {
            return &owners[i];
        }
    }
    return NULL;
}

static kern_status check_family_options(const cli_train_settings *s, const cli_call *call,
                                        kern_error *err)
{
    const cli_option *options = call->command->options;
    for (size_t i = 0; i < call->command->n_options; i++) {
        const option_owner *owner = call->given[i] ? find_owner(options[i].name) : NULL;
        if (owner != NULL && !owner->has(&s->config)) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s belongs to %s; this model of family %s does not have it",
                              options[i].name, owner->name, model_config_family_name(&s->config));
        }
    }
    return KERN_OK;
}

/* Hidden units as many as the width gives, shared out among the sub-MLPs of an hourglass: the first
 * ones get one more where they do not divide. */
static void choose_hidden(model_config *c, bool widths_given)
{
    const size_t units = model_config_hidden(c->n_embed);
    const size_t k = c->hourglass.k;
    c->n_hidden = units;
    if (c->ffn != MODEL_FFN_HOURGLASS) {
        return;
    }
    c->n_hidden = kern_size_max(units / k, 1);
    if (widths_given || units <= k || units % k == 0) {
        return;
    }
    c->hourglass.widths.count = k;
    for (size_t i = 0; i < k; i++) {
        c->hourglass.widths.at[i] = units / k + (i < units % k ? 1 : 0);
    }
}

static void complete_parts(cli_train_settings *s, const cli_call *call)
{
    if (cli_args_given(call, "attn")) {
        s->config.attn = s->parts.attn;
    }
    if (cli_args_given(call, "ffn")) {
        s->config.ffn = s->parts.ffn;
    }
    if (!cli_args_given(call, "hidden")) {
        choose_hidden(&s->config, cli_args_given(call, "hourglass-widths"));
    }
}

double cli_train_beta(const cli_beta *beta, size_t width)
{
    return beta->inverse_root ? 1.0 / sqrt((double)width) : beta->value;
}

kern_status cli_train_complete(cli_train_settings *s, const cli_call *call, kern_error *err)
{
    model_schedule *schedule = &s->training.schedule;
    complete_parts(s, call);
    KERN_TRY(check_family_options(s, call, err));
    s->config.beta = cli_train_beta(&s->beta, s->config.n_embed);
    if (!cli_args_given(call, "warmup")) {
        schedule->warmup = kern_size_min(schedule->warmup, schedule->total / 10);
    }
    if (!cli_args_given(call, "lr-min")) {
        schedule->floor = schedule->peak / 10.0;
    }
    /* Block and window stand in for each other: positions beyond the window would stay untrained.
     */
    if (!cli_args_given(call, "block")) {
        s->config.block_size = s->training.window;
    } else if (!cli_args_given(call, "window")) {
        s->training.window = s->config.block_size;
    }
    return KERN_OK;
}

/* ---- A run that goes on ------------------------------------------------------------------ */

#define AT(member) offsetof(cli_train_settings, member)

static bool in_member(size_t offset, size_t member, size_t size)
{
    return offset >= member && offset < member + size;
}

/* Part of the recipe that a run cannot change on its way. The number of steps, and how work is
 * split, are judged when the checkpoint is read. */
static bool is_fixed(const cli_option *option)
{
    const size_t offset = option->offset;
    if (option->kind == CLI_HEADING || offset == AT(training.schedule.total) ||
        offset == AT(training.threads) || offset == AT(training.micro_batch)) {
        return false;
    }
    return in_member(offset, AT(config), sizeof(model_config)) ||
           in_member(offset, AT(beta), sizeof(cli_beta)) ||
           in_member(offset, AT(parts), sizeof(cli_layer_parts)) ||
           in_member(offset, AT(training), sizeof(model_training));
}

/* What stood on the command line says what the run has. */
static kern_status check_same(const cli_train_settings *s, const cli_train_settings *old,
                              const cli_call *call, kern_error *err)
{
    const cli_option *options = call->command->options;
    for (size_t i = 0; i < call->command->n_options; i++) {
        char now[CLI_VALUE_TEXT];
        char then[CLI_VALUE_TEXT];
        if (!call->given[i] || !is_fixed(&options[i])) {
            continue;
        }
        cli_args_show(&options[i], s, now);
        cli_args_show(&options[i], old, then);
        if (strcmp(now, then) != 0) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is %s, but the run to be resumed has %s; leave the option out",
                              options[i].name, now, then);
        }
    }
    return KERN_OK;
}

kern_status cli_train_adopt(cli_train_settings *s, const cli_call *call, const model_run *run,
                            kern_error *err)
{
    cli_train_settings old = *s;
    const model_training asked = s->training;
    old.config = run->config;
    old.training = run->training;
    old.beta = (cli_beta){.value = run->config.beta};
    old.parts = (cli_layer_parts){run->config.attn, run->config.ffn};
    s->beta = (cli_beta){.value = cli_train_beta(&s->beta, run->config.n_embed)};
    KERN_TRY(check_same(s, &old, call, err));
    *s = old;
    if (cli_args_given(call, "steps")) {
        s->training.schedule.total = asked.schedule.total;
    }
    if (cli_args_given(call, "threads")) {
        s->training.threads = asked.threads;
    }
    if (cli_args_given(call, "micro-batch")) {
        s->training.micro_batch = asked.micro_batch;
    }
    return KERN_OK;
}
