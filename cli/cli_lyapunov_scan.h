/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin lyapunov --vary: exponents against a parameter.
 */
#ifndef BASIN_CLI_LYAPUNOV_SCAN_H
#define BASIN_CLI_LYAPUNOV_SCAN_H

#include "cli/cli_files.h"
#include "cli/cli_map.h"
#include "cli/cli_rows.h"
#include "dyn/dyn_lyapunov.h"

typedef struct cli_lyapunov_scan {
    cli_vary vary;
    cli_files files;
    dyn_lyapunov_options at; /* of every value */
    int threads;
    bool json;
} cli_lyapunov_scan;

/* Word of the status of exponents: that of `status`, or "collapsed" when the orbit was not lost but
 * ended on a repelling fixed point. */
const char *cli_lyapunov_word(kern_status status, bool collapsed);

/* Computes the scan, writes the files and prints it. The call's check fails when every orbit is
 * lost or has collapsed. Errors of dyn_lyapunov_scan_init and of writing. */
kern_status cli_lyapunov_scan_run(cli_call *call, const dyn_map *map,
                                  const cli_lyapunov_scan *request, kern_error *err);

#endif
