/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin continue for maps of several tokens and for charts: fixed points followed token by token,
 * with the parameter values at which each token loses stability (dyn/dyn_cascade_path.h).
 */
#ifndef BASIN_CLI_CONTINUE_TOKENS_H
#define BASIN_CLI_CONTINUE_TOKENS_H

#include "cli/cli_args.h"
#include "cli/cli_map.h"

typedef struct cli_continue_tokens {
    const cli_map_options *system; /* opened here, with its chart when the map has a norm */
    const char *vary;              /* name of the parameter */
    double from, to;
    double step_max; /* largest step; 0: a fiftieth of the way */
    size_t settle;   /* steps of the map at `from` before the first solve */
    double tol;      /* of each token's residual */
    bool json;
} cli_continue_tokens;

/* Solves for the fixed point at `from`, follows it and prints. The call's check fails (exit 1) when
 * a token is not solved for, or is lost on the way. Errors of cli_map_open, dyn_cascade_init and
 * dyn_cascade_path_init. */
kern_status cli_continue_tokens_run(cli_call *call, const cli_continue_tokens *options,
                                    kern_error *err);

#endif
