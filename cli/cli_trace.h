/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of basin trace.
 */
#ifndef BASIN_CLI_TRACE_H
#define BASIN_CLI_TRACE_H

#include "cli/cli_run.h"
#include "models/model_layer_map.h"
#include "models/model_trace.h"

typedef struct cli_trace_settings {
    const char *run;
    const char *prompt;
    const char *out;
    const char *figure;
    size_t steps;
    size_t layer;          /* shown of a model with layers */
    model_layer_part part; /* of it */
    bool states;
    bool dark;
    bool json;
} cli_trace_settings;

/* One trace, and what belongs to it. */
typedef struct cli_tracing {
    cli_run run;
    int32_t *ids;                          /* owned */
    size_t n;                              /* tokens */
    bool part_given;                       /* --layer or --sublayer */
    char (*labels)[MODEL_TOKENIZER_LABEL]; /* [n], owned */
    const char **texts;                    /* [n], owned; the labels */
    char *recipe;                          /* JSON, owned */
    model_trace *trace;                    /* owned; NULL for a model with layers */
} cli_tracing;

/* Traces a model with CEM sub-layers, whose run, tokens and recipe `t` holds: writes --out and
 * --figure and prints the table or the JSON object of one part. */
kern_status cli_trace_layers(const cli_tracing *t, const cli_trace_settings *s, kern_error *err);

#endif
