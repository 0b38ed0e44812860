/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What basin train accepts, and what follows from it.
 */
#ifndef BASIN_CLI_TRAIN_OPTIONS_H
#define BASIN_CLI_TRAIN_OPTIONS_H

#include "cli/cli_args.h"
#include "cli/cli_data.h"
#include "models/model_run.h"

/* --beta: a number, or 1/√D with the width D that is in force at the end. */
typedef struct cli_beta {
    double value;
    bool inverse_root;
} cli_beta;

/* --attn and --ffn, which count over what --family says whichever comes first. */
typedef struct cli_layer_parts {
    model_attn attn;
    model_ffn ffn;
} cli_layer_parts;

typedef struct cli_train_settings {
    model_config config;
    cli_layer_parts parts;
    cli_beta beta;
    model_training training;
    cli_data_options data;
    const char *out;
    bool resume;
    bool overwrite;
    bool json;
    bool allow_indefinite;   /* go on when a preconditioner is not positive definite */
    size_t eval_every;       /* steps; 0: at the end only */
    size_t eval_batches;     /* 0: no validation */
    size_t checkpoint_every; /* steps; 0: at the end only */
    size_t log_every;        /* steps between rows of metrics.csv */
} cli_train_settings;

/* Completes the settings of a new run from what was given: β, warm-up, final rate, block and
 * window, the parts of a layer and their hidden widths. KERN_INVALID_ARGUMENT for options that the
 * family does not have. */
kern_status cli_train_complete(cli_train_settings *s, const cli_call *call, kern_error *err);

/* The value of --beta for a width. */
double cli_train_beta(const cli_beta *beta, size_t width);

/* Makes the settings those of `run`, which is to be continued; options given now must agree with
 * it, but for the number of steps, the split of the work, and what does not belong to the recipe.
 * KERN_INVALID_ARGUMENT names the first that differs, and both values. */
kern_status cli_train_adopt(cli_train_settings *s, const cli_call *call, const model_run *run,
                            kern_error *err);

/* Does the work of the subcommand, whose table is in cli_train_options.c. */
kern_status cli_train_run(cli_call *call, const void *settings, kern_error *err);

#endif
