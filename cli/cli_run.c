/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_run.h"

#include "cli/cli_progress.h"
#include "cli/cli_signal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

kern_status cli_run_open(cli_run *r, const char *folder, const kern_backend *backend,
                         kern_error *err)
{
    KERN_TRY(model_run_init(&r->run, folder, err));
    return model_run_load_model(&r->m, &r->step, &r->run, backend, err);
}

void cli_run_fini(cli_run *r)
{
    model_destroy(r->m);
    r->m = NULL;
    model_run_fini(&r->run);
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
