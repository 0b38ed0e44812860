/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of basin hourglass.
 */
#ifndef BASIN_CLI_HOURGLASS_H
#define BASIN_CLI_HOURGLASS_H

#include "cli/cli_data.h"
#include "cli/cli_run.h"
#include "models/model_depth.h"
#include "models/model_hourglass_dynamics.h"
#include "models/model_hourglass_identities.h"
#include "models/model_hourglass_pairs.h"

typedef struct cli_hourglass_settings {
    const char *run;
    const char *prompt;
    const char *layer; /* NULL: every layer */
    bool identities;
    bool pairs;
    size_t exponents; /* tangents; 0: not asked for */
    uint64_t seed;
    bool losses;
    cli_data_options data;
    size_t window; /* 0: that of training */
    int threads;
    bool json;
} cli_hourglass_settings;

/* What one layer gave. */
typedef struct cli_hourglass_layer {
    size_t layer;
    model_hourglass_report report;
    model_hourglass_identities identities;
    model_hourglass_pairs pairs;
} cli_hourglass_layer;

/* Loss of the model with one thing changed. */
typedef struct cli_hourglass_loss {
    const char *change; /* "drop", "swap" or "parallel" */
    size_t layer;
    size_t sub; /* that is dropped, or changes places with the next */
    double loss;
} cli_hourglass_loss;

typedef struct cli_hourglass_job {
    const cli_hourglass_settings *s;
    cli_run run;
    int32_t *ids; /* owned */
    size_t tokens;
    size_t first_layer;
    size_t n_layers;
    cli_hourglass_layer *layers; /* n_layers, owned */
    model_depth depth;
    double loss; /* of the model itself */
    size_t predicted;
    cli_hourglass_loss *losses; /* owned */
    size_t n_losses;
} cli_hourglass_job;

/* Fills loss, predicted and losses. */
kern_status cli_hourglass_measure_losses(cli_hourglass_job *job, kern_error *err);

kern_status cli_hourglass_print_json(const cli_hourglass_job *job, kern_error *err);
void cli_hourglass_print_text(const cli_hourglass_job *job);

#endif
