/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stopping on request: SIGINT (Ctrl-C), SIGTERM and SIGHUP (the terminal is closed) set a flag that
 * long work polls. A second SIGINT or SIGTERM ends the program at once with exit status 130.
 */
#ifndef BASIN_CLI_SIGNAL_H
#define BASIN_CLI_SIGNAL_H

#include "kernels/kern_status.h"

#include <stdbool.h>

/* Begins to watch; from here on the caller must poll. A signal that the parent process ignores, as
 * shells do for work in the background and nohup does for SIGHUP, stays ignored. */
void cli_signal_watch(void);

/* True once a signal has come. */
bool cli_signal_caught(void);

/* As a function of the library's polling kind: KERN_INTERRUPTED once a signal has come. */
kern_status cli_signal_poll(kern_error *err);

/* Makes writing to a closed pipe, and beyond a limit on file sizes, fail with an error instead of
 * ending the program. Called once by main. */
void cli_signal_ignore_write_limits(void);

#endif
