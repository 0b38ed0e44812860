/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of options that several analyses of maps have. `type` is the struct of settings.
 */
#ifndef BASIN_CLI_ROWS_H
#define BASIN_CLI_ROWS_H

#include "cli/cli_args.h"
#include "cli/cli_map.h"

#include <float.h>

/* --steps, a size_t `member`. */
#define CLI_OPTION_STEPS(type, member, least, what)                                                \
    {                                                                                              \
        .name = "steps", .value = "N", .kind = CLI_SIZE, .low = (least), .high = CLI_STEPS_MAX,    \
        .offset = offsetof(type, member), .help = (what)                                           \
    }

/* --coordinate, a size_t `member`. */
#define CLI_OPTION_COORDINATE(type, member, what)                                                  \
    {                                                                                              \
        .name = "coordinate", .value = "I", .kind = CLI_SIZE, .low = 0, .high = CLI_STEPS_MAX,     \
        .offset = offsetof(type, member), .help = (what)                                           \
    }

/* Members of settings for a parameter that varies. */
typedef struct cli_vary {
    const char *name; /* NULL: none varies */
    double from, to;
    size_t n; /* values, evenly spaced */
} cli_vary;

enum { CLI_VARY_MAX = 1000000 };

/* --vary, --from, --to and --n for a cli_vary `member`; the first three are required when `must`.
 */
#define CLI_OPTIONS_VARY(type, member, must)                                                       \
    {.name = "vary",                                                                               \
     .value = "P",                                                                                 \
     .kind = CLI_TEXT,                                                                             \
     .required = (must),                                                                           \
     .offset = offsetof(type, member.name),                                                        \
     .help = "parameter that varies"},                                                             \
        CLI_OPTION_END(type, "from", "A", member.from, must, "its first value"),                   \
        CLI_OPTION_END(type, "to", "B", member.to, must, "its last value"),                        \
    {                                                                                              \
        .name = "n", .value = "N", .kind = CLI_SIZE, .low = 1, .high = CLI_VARY_MAX,               \
        .offset = offsetof(type, member.n), .help = "number of its values, evenly spaced"          \
    }
#define CLI_OPTION_END(type, option, letter, member, must, what)                                   \
    {                                                                                              \
        .name = (option), .value = (letter), .kind = CLI_REAL, .low = -DBL_MAX, .high = DBL_MAX,   \
        .accepted = "finite numbers", .required = (must), .hide_default = true,                    \
        .offset = offsetof(type, member), .help = (what)                                           \
    }

/* For commands that need not vary anything: KERN_INVALID_ARGUMENT unless --vary, --from and --to
 * are given together, and for one of the `only` options without them. */
kern_status cli_vary_check(const cli_call *call, const cli_vary *vary, const char *const *only,
                           size_t n_only, kern_error *err);

#endif
