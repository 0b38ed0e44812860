/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trained model that a subcommand is about (models/model_run_open.h), and options about it.
 */
#ifndef BASIN_CLI_RUN_H
#define BASIN_CLI_RUN_H

#include "models/model_run_open.h"

/* Zero-initialise; release with cli_run_fini. */
typedef model_run_open cli_run;

/* As model_run_open_init and model_run_open_fini; KERN_BAD_INPUT for a model of basin gp, which
 * basin landscape and basin view read. */
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

/* As model_run_open_encode, with sentences that name --prompt. */
kern_status cli_run_encode_prompt(const cli_run *r, const char *prompt, size_t most, int32_t **ids,
                                  size_t *n, kern_error *err);

/* A model_progress (model_generate.h) whose context is a started cli_progress: shows it, and stops
 * the work once a signal has come. */
bool cli_run_watch(void *context, size_t done, size_t total);

#endif
