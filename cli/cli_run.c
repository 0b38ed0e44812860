/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_run.h"

#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "synthetic/syn_gp_model.h"

#include <math.h>

/* A model of basin gp is told as what it is. */
static kern_status raise_unread(const char *path, kern_status status, const kern_error *why,
                                kern_error *err)
{
    return syn_gp_model_is(path)
               ? kern_raise(err, KERN_BAD_INPUT,
                            "'%s' holds a model of Gaussian processes, and this command reads "
                            "models of tokens; basin landscape and basin view read that file",
                            path)
               : kern_raise(err, status, "%s", why->text);
}

kern_status cli_run_open(cli_run *r, const char *path, const kern_backend *backend, kern_error *err)
{
    kern_error why = {0};
    const kern_status status = model_run_open_init(r, path, backend, &why);
    return status == KERN_OK ? status : raise_unread(path, status, &why, err);
}

void cli_run_fini(cli_run *r)
{
    model_run_open_fini(r);
}

kern_status cli_run_set_steps(cli_run *r, const cli_run_steps *steps, kern_error *err)
{
    model_config *c = &r->m->config;
    const bool stack = model_config_is_stack(c);
    const bool has[] = {stack && c->attn == MODEL_ATTN_CEM, stack && c->ffn == MODEL_FFN_CEM};
    const size_t asked[] = {steps->t_attn, steps->t_mlp};
    size_t *const taken[] = {&c->cem.t_attn, &c->cem.t_mlp};
    static const char *const names[] = {"t-attn", "t-mlp"};
    if (steps->both > 0 && !has[0] && !has[1]) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--steps is about CEM sub-layers, which this model of family %s does not "
                          "have",
                          model_config_family_name(c));
    }
    for (size_t i = 0; i < 2; i++) {
        if (asked[i] > 0 && !has[i]) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s belongs to a CEM sub-layer that this model of family %s does "
                              "not have",
                              names[i], model_config_family_name(c));
        }
        const size_t wanted = asked[i] > 0 ? asked[i] : steps->both;
        *taken[i] = has[i] && wanted > 0 ? wanted : *taken[i];
    }
    return KERN_OK;
}

kern_status cli_run_encode_prompt(const cli_run *r, const char *prompt, size_t most, int32_t **ids,
                                  size_t *n, kern_error *err)
{
    kern_error why = {0};
    const kern_status status = model_run_open_encode(r, prompt, most, ids, n, &why);
    return status == KERN_OK ? status : kern_raise(err, status, "--%s", why.text);
}

bool cli_run_watch(void *context, size_t done, size_t total)
{
    cli_progress *progress = context;
    (void)total;
    cli_progress_update(progress, done, (double)NAN);
    return !cli_signal_caught();
}
