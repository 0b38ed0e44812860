/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When the tokens of a map come to rest, for subcommands that have --settle.
 */
#ifndef BASIN_CLI_SETTLE_H
#define BASIN_CLI_SETTLE_H

#include "cli/cli_json.h"
#include "dyn/dyn_settle.h"

/* Adds "settle" to the result: "tol", "horizon", "n_settled" and "tokens": "token", "status"
 * ("not_settled" where the horizon does not confirm it), "time", "delay" after the slowest and
 * "delay_previous" after the token before, null where these have not settled. */
void cli_settle_add(cli_json *json, const dyn_settle *settle, size_t first_token);

/* The same as a table. */
void cli_settle_print(const dyn_settle *settle, size_t first_token);

#endif
