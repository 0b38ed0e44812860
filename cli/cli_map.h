/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The map that a subcommand analyses, as the command line gives it: one built in, one of a plugin,
 * or the block of a trained model, or one part of one layer of it.
 */
#ifndef BASIN_CLI_MAP_H
#define BASIN_CLI_MAP_H

#include "cli/cli_args.h"
#include "cli/cli_json.h"
#include "cli/cli_run.h"
#include "dyn/dyn_map.h"
#include "models/model_layer_map.h"

enum { CLI_STEPS_MAX = 1000000000 };

typedef struct cli_map_options {
    const char *map;
    const char *plugin;
    const char *model;
    const char *prompt;
    const char *layer;    /* NULL, or a number: one part of that layer (models/model_layer_map.h) */
    const char *sublayer; /* NULL, or the part; either implies the other's default */
    const char *x0;
    cli_list params;
    bool chart;         /* the map of directions with pinned scales (dyn/dyn_chart.h) */
    const char *sigma;  /* NULL, "trained", "start" or a number */
    const char *token;  /* NULL, or a number: that block alone (dyn/dyn_frozen.h) */
    bool chart_if_norm; /* set by subcommands: as --chart for maps that have one */
} cli_map_options;

/* Rows of a table of options whose settings `type` hold a cli_map_options `member`. */
#define CLI_OPTIONS_MAP(type, member)                                                              \
    {.name = "map",                                                                                \
     .value = "NAME",                                                                              \
     .once = true,                                                                                 \
     .kind = CLI_TEXT,                                                                             \
     .offset = offsetof(type, member.map),                                                         \
     .help = "map built in, such as logistic or henon; an unknown name lists them"},               \
        {.name = "param",                                                                          \
         .value = "K=V",                                                                           \
         .kind = CLI_LIST,                                                                         \
         .offset = offsetof(type, member.params),                                                  \
         .help = "sets a parameter of the map, such as r=3.5 or lambda=1,2; may be repeated"},     \
        {.name = "plugin",                                                                         \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, member.plugin),                                                  \
         .once = true,                                                                             \
         .accepted = "paths of shared objects",                                                    \
         .help = "shared object with a map of your own, as dyn/dyn_plugin.h describes"},           \
        {.name = "model",                                                                          \
         .once = true,                                                                             \
         .value = "RUN",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, member.model),                                                   \
         .help = "folder of a trained model, whose block is the map; needs --prompt"},             \
        {.name = "prompt",                                                                         \
         .value = "TEXT",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, member.prompt),                                                  \
         .help = "text whose embedded tokens the model's block starts from"},                      \
        {.name = "layer",                                                                          \
         .value = "L",                                                                             \
         .once = true,                                                                             \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, member.layer),                                                   \
         .help = "one part of layer L, counted from 0, as the map, started from what it gets at "  \
                 "the prompt: a step of a CEM sub-layer, or a whole part of a llama or "           \
                 "hourglass; for --model (default with --sublayer: 0)"},                           \
        {.name = "sublayer",                                                                       \
         .value = "PART",                                                                          \
         .once = true,                                                                             \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, member.sublayer),                                                \
         .help = "the part: attn or mlp (default with --layer: attn)"},                            \
        {.name = "token",                                                                          \
         .value = "A",                                                                             \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, member.token),                                                   \
         .help = "the map of token A alone, counted from 0, with all others held where --sigma "   \
                 "says, for --model after the trained number of steps"},                           \
        {.name = "chart",                                                                          \
         .kind = CLI_FLAG,                                                                         \
         .offset = offsetof(type, member.chart),                                                   \
         .help = "follows the direction of every token with its scale pinned, for maps with a "    \
                 "norm; adds the parameters rate and sigma_scale"},                                \
        {.name = "sigma",                                                                          \
         .value = "trained|start|X",                                                               \
         .kind = CLI_TEXT,                                                                         \
         .offset = offsetof(type, member.sigma),                                                   \
         .help = "where --chart pins scales and --token holds the others, and both start: after "  \
                 "the trained number of steps (default for --model), at the map's start, or "      \
                 "there with this scale"},                                                         \
    {                                                                                              \
        .name = "x0", .value = "A,B,...", .kind = CLI_TEXT, .offset = offsetof(type, member.x0),   \
        .help = "state to start from (default: the map's own start)"                               \
    }

/* Row for the transient, a size_t `member` of the settings. */
#define CLI_OPTION_TTR(type, member)                                                               \
    {                                                                                              \
        .name = "ttr", .value = "N", .kind = CLI_SIZE, .low = 0, .high = CLI_STEPS_MAX,            \
        .offset = offsetof(type, member), .help = "transient: steps taken before those that count" \
    }

/* A map and what stands behind it. Zero-initialise; release with cli_map_fini. */
typedef struct cli_map {
    dyn_map *map; /* owned; its start is --x0 where that was given */
    cli_run run;  /* of --model */
    bool has_run;
    bool has_part; /* the map is one part of a layer */
    size_t layer;
    model_layer_part part;
    size_t first_token; /* that block 0 of the map is: that of --token */
    const char *pinned; /* "trained", "start" or "number": where a chart's scales come from; NULL
                         * without a chart */
} cli_map;

/* Makes the map. KERN_INVALID_ARGUMENT naming the option when none or several of --map, --plugin
 * and --model are given, when --prompt and --model do not come together, when --layer or --sublayer
 * stand without --model or name a part that the model does not have, when the model has layers and
 * neither is given, and when --x0 has another number of coordinates; errors of the constructors.
 * --x0 is a state of the whole map, before --token and --chart. */
kern_status cli_map_open(cli_map *m, const cli_map_options *options, kern_error *err);
void cli_map_fini(cli_map *m);

/* Ends of --box, "lo:hi,lo:hi,…": one pair for every coordinate, or one for all. Two blocks of
 * map->size numbers in one that the caller frees: *lo, and *hi behind it. A NULL text gives NULLs.
 */
kern_status cli_map_read_box(const dyn_map *map, const char *text, double **lo, const double **hi,
                             kern_error *err);

/* The same, and for a NULL text 2 to either side of the map's start, or the whole of a circle. */
kern_status cli_map_make_box(const dyn_map *map, const char *text, double **lo, const double **hi,
                             kern_error *err);

/* KERN_SINGULAR, naming --chart, for a map with a norm, of which no fixed point stands alone. */
kern_status cli_map_refuse_norm(const dyn_map *map, kern_error *err);

/* Adds "map" and "params" to the result, and of a chart "sigma", the scales of the blocks: what was
 * analysed. */
void cli_map_describe(cli_json *json, const dyn_map *map);

#endif
