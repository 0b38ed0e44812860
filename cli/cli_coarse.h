/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What to say of cycles that were not found because --tol lies below the rounding of their states.
 */
#ifndef BASIN_CLI_COARSE_H
#define BASIN_CLI_COARSE_H

#include "cli/cli_json.h"
#include "dyn/dyn_fixed_points.h"

/* Adds "n_coarse", the starts that ended so, and "coarse_size", the smallest such states' largest
 * coordinate, or null. */
void cli_coarse_add(cli_json *json, const dyn_fixed_points *found);

/* Prints a sentence that says so, if there were any. */
void cli_coarse_print(const dyn_fixed_points *found, double tol);

#endif
