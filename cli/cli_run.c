/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_run.h"

#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "models/model_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_weights_file(const char *path)
{
    static const char end[] = ".safetensors";
    const size_t n = strlen(path);
    return n > sizeof end - 1 && strcmp(path + n - (sizeof end - 1), end) == 0;
}

static kern_status copy_text(char **out, const char *text, kern_error *err)
{
    const size_t size = strlen(text) + 1;
    *out = malloc(size);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a name");
    }
    memcpy(*out, text, size);
    return KERN_OK;
}

/* A bare file says nothing of its data: tokens are numbers, windows as long as the model allows. */
static kern_status read_weights_file(cli_run *r, const model_safetensors *file, const char *path,
                                     const kern_backend *backend, kern_error *err)
{
    model_run *run = &r->run;
    KERN_TRY(model_weights_config(&run->config, file, path, err));
    run->training = model_training_default();
    run->training.window = run->config.block_size;
    KERN_TRY(copy_text(&run->folder, path, err));
    KERN_TRY(copy_text(&run->data_kind, "tokens", err));
    KERN_TRY(copy_text(&run->data_path, "", err));
    KERN_TRY(model_tokenizer_init_raw(&run->tokenizer, run->config.vocab_size, err));
    KERN_TRY(model_create(&r->m, &run->config, backend, err));
    return model_weights_read(r->m, file, path, err);
}

kern_status cli_run_open(cli_run *r, const char *path, const kern_backend *backend, kern_error *err)
{
    if (is_weights_file(path)) {
        model_safetensors *file = NULL;
        KERN_TRY(model_safetensors_create(&file, path, err));
        const kern_status status = read_weights_file(r, file, path, backend, err);
        model_safetensors_destroy(file);
        return status;
    }
    KERN_TRY(model_run_init(&r->run, path, err));
    return model_run_load_model(&r->m, &r->step, &r->run, backend, err);
}

void cli_run_fini(cli_run *r)
{
    model_destroy(r->m);
    r->m = NULL;
    model_run_fini(&r->run);
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
    const kern_status status =
        model_tokenizer_encode(&r->run.tokenizer, prompt, strlen(prompt), ids, n, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--prompt: %s", why.text);
    }
    if (*n >= 1 && *n <= most) {
        return KERN_OK;
    }
    free(*ids);
    *ids = NULL;
    if (*n == 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "--prompt is empty; accepted is a text of at least one token");
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "--prompt has %zu tokens; accepted are at most %zu, the model's longest "
                      "sequence",
                      *n, most);
}

bool cli_run_watch(void *context, size_t done, size_t total)
{
    cli_progress *progress = context;
    (void)total;
    cli_progress_update(progress, done, (double)NAN);
    return !cli_signal_caught();
}
