/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A few leading multipliers for subcommands: options, computing and printing.
 */
#ifndef BASIN_CLI_SPECTRUM_H
#define BASIN_CLI_SPECTRUM_H

#include "cli/cli_args.h"
#include "cli/cli_json.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_spectrum.h"

typedef struct cli_spectrum_options {
    size_t k; /* 0: not asked for */
    dyn_spectrum_which which;
    dyn_spectrum_method method;
    dyn_spectrum_scope scope;
    uint64_t seed;
} cli_spectrum_options;

cli_spectrum_options cli_spectrum_options_default(void);

/* Parsers of the words, and their inverses. */
kern_status cli_spectrum_parse_which(void *member, const char *value, kern_error *err);
kern_status cli_spectrum_parse_method(void *member, const char *value, kern_error *err);
kern_status cli_spectrum_parse_scope(void *member, const char *value, kern_error *err);
void cli_spectrum_show_which(const void *member, char out[CLI_VALUE_TEXT]);
void cli_spectrum_show_method(const void *member, char out[CLI_VALUE_TEXT]);
void cli_spectrum_show_scope(const void *member, char out[CLI_VALUE_TEXT]);

/* Rows of a table of options whose settings `type` hold a cli_spectrum_options `member`. */
#define CLI_OPTIONS_SPECTRUM(type, member)                                                         \
    {.name = "k",                                                                                  \
     .value = "K",                                                                                 \
     .kind = CLI_SIZE,                                                                             \
     .low = 1,                                                                                     \
     .high = 1 << 24,                                                                              \
     .hide_default = true,                                                                         \
     .offset = offsetof(type, member.k),                                                           \
     .help = "the K leading multipliers only, each with its residual and whether a second "        \
             "random start confirms it (default: all, by dense decompositions)"},                  \
        {.name = "which",                                                                          \
         .value = "END",                                                                           \
         .kind = CLI_WORD,                                                                         \
         .parse = cli_spectrum_parse_which,                                                        \
         .show = cli_spectrum_show_which,                                                          \
         .accepted = "modulus, near-plus-one, near-minus-one and both-ends",                       \
         .offset = offsetof(type, member.which),                                                   \
         .help = "what leads: the largest modulus, the largest real part (near-plus-one: folds), " \
                 "the smallest (near-minus-one: flips), or both-ends, K each; with --k"},          \
        {.name = "method",                                                                         \
         .value = "M",                                                                             \
         .kind = CLI_WORD,                                                                         \
         .parse = cli_spectrum_parse_method,                                                       \
         .show = cli_spectrum_show_method,                                                         \
         .accepted = "auto, dense and arnoldi",                                                    \
         .offset = offsetof(type, member.method),                                                  \
         .help = "dense decompositions, arnoldi (from products by the Jacobian alone, with --k), " \
                 "or auto: whichever takes fewer products"},                                       \
        {.name = "scope",                                                                          \
         .value = "S",                                                                             \
         .kind = CLI_WORD,                                                                         \
         .parse = cli_spectrum_parse_scope,                                                        \
         .show = cli_spectrum_show_scope,                                                          \
         .accepted = "blocks, union and whole",                                                    \
         .offset = offsetof(type, member.scope),                                                   \
         .help = "K of each of the blocks, K of the union of their spectra, or K of the whole "    \
                 "Jacobian as a check; the last two by arnoldi, with --k"},                        \
    {                                                                                              \
        .name = "seed", .value = "N", .kind = CLI_SEED, .offset = offsetof(type, member.seed),     \
        .help = "of the random starts of arnoldi, with --k"                                        \
    }

/* KERN_INVALID_ARGUMENT when an option stands on the command line that needs --k, without it. */
kern_status cli_spectrum_check(const cli_call *call, const cli_spectrum_options *options,
                               kern_error *err);

/* Computes with a progress line; `block` as in dyn_spectrum_options. *out is released with
 * dyn_spectrum_fini. */
kern_status cli_spectrum_compute(dyn_spectrum *out, const cli_spectrum_options *options,
                                 dyn_map *map, const double *states, size_t period, size_t block,
                                 bool vectors, kern_error *err);

/* Largest modulus of all blocks, NaN unless moduli were asked for and all are confirmed. */
double cli_spectrum_radius(const dyn_spectrum *s, const cli_spectrum_options *options);

/* 1 stable, 0 not stable, −1 undecided: a confirmed multiplier decides against stability at
 * whichever end it was found, for it only the largest modulus. */
int cli_spectrum_verdict(const dyn_spectrum *s, const cli_spectrum_options *options);

/* Adds "blocks" and what was asked for to the result. */
void cli_spectrum_add(cli_json *json, const dyn_spectrum *s, const cli_spectrum_options *options,
                      size_t first_token);

/* A table, one multiplier a line. `first_token` is the token that block 0 is, here and above. */
void cli_spectrum_print(const dyn_spectrum *s, const cli_spectrum_options *options,
                        size_t first_token);

#endif
