/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trained model opened from its run folder, or from a file of weights.
 */
#ifndef BASIN_CLI_RUN_H
#define BASIN_CLI_RUN_H

#include "models/model_run.h"

/* Zero-initialise; release with cli_run_fini. */
typedef struct cli_run {
    model_run run;
    model *m;    /* owned */
    size_t step; /* optimizer steps behind it */
} cli_run;

/* Reads the run in folder `path` and its weights. A path that ends in .safetensors is a file of
 * weights with the published names instead, whose metadata give family and configuration; its
 * tokens are written as numbers. Errors of model_run_init, model_run_load_model,
 * model_weights_config and model_weights_read. */
kern_status cli_run_open(cli_run *r, const char *path, const kern_backend *backend,
                         kern_error *err);
void cli_run_fini(cli_run *r);

/* Steps of CEM sub-layers that differ from those of training; 0: as trained. */
typedef struct cli_run_steps {
    size_t both;
    size_t t_attn; /* counts over both */
    size_t t_mlp;
} cli_run_steps;

/* Rows of a table of options whose settings `type` hold a cli_run_steps `member`. */
#define CLI_OPTIONS_STEPS(type, member)                                                            \
    {.name = "steps",                                                                              \
     .value = "T",                                                                                 \
     .kind = CLI_SIZE,                                                                             \
     .low = 1,                                                                                     \
     .high = MODEL_INNER_MAX,                                                                      \
     .hide_default = true,                                                                         \
     .offset = offsetof(type, member.both),                                                        \
     .help = "steps of every CEM sub-layer (default: as in training)"},                            \
        {.name = "t-attn",                                                                         \
         .value = "T",                                                                             \
         .kind = CLI_SIZE,                                                                         \
         .low = 1,                                                                                 \
         .high = MODEL_INNER_MAX,                                                                  \
         .hide_default = true,                                                                     \
         .offset = offsetof(type, member.t_attn),                                                  \
         .help = "steps of CEM attention (default: as --steps)"},                                  \
    {                                                                                              \
        .name = "t-mlp", .value = "T", .kind = CLI_SIZE, .low = 1, .high = MODEL_INNER_MAX,        \
        .hide_default = true, .offset = offsetof(type, member.t_mlp),                              \
        .help = "steps of the CEM feed-forward part (default: as --steps)"                         \
    }

/* Lets the model take those steps: their number is in no weight's shape. KERN_INVALID_ARGUMENT,
 * naming the option, when the model has no sub-layer that it is about. */
kern_status cli_run_set_steps(cli_run *r, const cli_run_steps *steps, kern_error *err);

/* Ids of --prompt, which must have at least one token and at most `most`; the caller frees *ids.
 * KERN_BAD_INPUT, naming --prompt, for tokens outside the vocabulary. */
kern_status cli_run_encode_prompt(const cli_run *r, const char *prompt, size_t most, int32_t **ids,
                                  size_t *n, kern_error *err);

/* A model_progress (model_generate.h) whose context is a started cli_progress: shows it, and stops
 * the work once a signal has come. */
bool cli_run_watch(void *context, size_t done, size_t total);

#endif
