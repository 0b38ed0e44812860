/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "models/model_run_open.h"

#include "models/model_checkpoint.h"
#include "models/model_weights.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A bare file says nothing of its data: tokens are numbers, windows as long as the model allows.
 * One that was written here says after how many steps. */
static kern_status read_weights_file(model_run_open *r, const model_safetensors *file,
                                     const char *path, const kern_backend *backend, kern_error *err)
{
    model_run *run = &r->run;
    KERN_TRY(model_weights_config(&run->config, file, path, err));
    KERN_TRY(model_checkpoint_step(file, path, &r->step, err));
    run->training = model_training_default();
    run->training.window = run->config.block_size;
    KERN_TRY(copy_text(&run->folder, path, err));
    KERN_TRY(copy_text(&run->data_kind, "tokens", err));
    KERN_TRY(copy_text(&run->data_path, "", err));
    KERN_TRY(model_tokenizer_init_raw(&run->tokenizer, run->config.vocab_size, err));
    KERN_TRY(model_create(&r->m, &run->config, backend, err));
    return model_weights_read(r->m, file, path, err);
}

/* A folder without a run may hold the file that is meant. */
static kern_status raise_no_run(const char *path, kern_status status, const kern_error *why,
                                kern_error *err)
{
    char *weights = NULL;
    if (status == KERN_NOT_FOUND) {
        KERN_TRY(model_run_path(&weights, path, MODEL_RUN_MODEL, err));
    }
    const bool found = weights != NULL && access(weights, F_OK) == 0;
    status = found ? kern_raise(err, status, "%s; name the file of weights in it, '%s'", why->text,
                                weights)
                   : kern_raise(err, status, "%s", why->text);
    free(weights);
    return status;
}

kern_status model_run_open_init(model_run_open *r, const char *path, const kern_backend *backend,
                                kern_error *err)
{
    if (is_weights_file(path)) {
        model_safetensors *file = NULL;
        KERN_TRY(model_safetensors_create(&file, path, err));
        const kern_status status = read_weights_file(r, file, path, backend, err);
        model_safetensors_destroy(file);
        return status;
    }
    kern_error why = {0};
    const kern_status status = model_run_init(&r->run, path, &why);
    return status == KERN_OK ? model_run_load_model(&r->m, &r->step, &r->run, backend, err)
                             : raise_no_run(path, status, &why, err);
}

void model_run_open_fini(model_run_open *r)
{
    model_destroy(r->m);
    r->m = NULL;
    model_run_fini(&r->run);
}

kern_status model_run_open_weights(char **weights, const char *path, kern_error *err)
{
    return is_weights_file(path) ? copy_text(weights, path, err)
                                 : model_run_path(weights, path, MODEL_RUN_MODEL, err);
}

kern_status model_run_open_encode(const model_run_open *r, const char *prompt, size_t most,
                                  int32_t **ids, size_t *n, kern_error *err)
{
    kern_error why = {0};
    const kern_status status =
        model_tokenizer_encode(&r->run.tokenizer, prompt, strlen(prompt), ids, n, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "prompt: %s", why.text);
    }
    if (*n >= 1 && *n <= most) {
        return KERN_OK;
    }
    free(*ids);
    *ids = NULL;
    if (*n == 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "prompt is empty; accepted is a text of at least one token");
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "prompt has %zu tokens; accepted are at most %zu, the model's longest "
                      "sequence",
                      *n, most);
}
