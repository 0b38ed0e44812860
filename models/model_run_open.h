/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trained model opened from its run folder, or from a file of weights.
 */
#ifndef BASIN_MODEL_RUN_OPEN_H
#define BASIN_MODEL_RUN_OPEN_H

#include "models/model_run.h"

#include <stdint.h>

/* Zero-initialise; release with model_run_open_fini. */
typedef struct model_run_open {
    model_run run;
    model *m;    /* owned */
    size_t step; /* optimizer steps behind it */
} model_run_open;

/* Reads the run in folder `path` and its weights. A path that ends in .safetensors is a file of
 * weights with the published names instead, whose metadata give family and configuration; its
 * tokens are written as numbers. For a folder that has such a file but no run, the sentence of
 * model_run_init names the file. Errors of model_run_init, model_run_load_model,
 * model_weights_config and model_weights_read; what was read until then is released by fini. */
kern_status model_run_open_init(model_run_open *r, const char *path, const kern_backend *backend,
                                kern_error *err);

/* Safe on a zeroed one and when called twice. */
void model_run_open_fini(model_run_open *r);

/* The file that holds the weights of the run or file at `path`; the caller frees *weights with
 * free(). KERN_NO_MEMORY. */
kern_status model_run_open_weights(char **weights, const char *path, kern_error *err);

/* Ids of a prompt, which must have at least one token and at most `most`; the caller frees *ids.
 * KERN_BAD_INPUT, with a sentence that begins with "prompt", also for what is outside the
 * vocabulary. */
kern_status model_run_open_encode(const model_run_open *r, const char *prompt, size_t most,
                                  int32_t **ids, size_t *n, kern_error *err);

#endif
