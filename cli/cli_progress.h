/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Progress on standard error: a bar that is redrawn in place on a terminal, plain lines otherwise.
 */
#ifndef BASIN_CLI_PROGRESS_H
#define BASIN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* Private to cli_progress.c. */
typedef struct cli_progress {
    const char *what; /* what is counted, "step" */
    const char *unit; /* of the rate, "tokens" */
    size_t first;     /* done before this run began */
    size_t total;
    double per_item; /* units per item */
    double started;  /* seconds of the steady clock */
    double shown;    /* when progress was last shown */
    bool terminal;
    bool drawn; /* a bar stands in the present line */
} cli_progress;

/* Seconds of a clock that only moves forward. */
double cli_progress_now(void);

/* Starts to count `total` items called `what`, `done` of which were done before; each stands for
 * `per_item` of `unit`. The texts are borrowed. */
void cli_progress_start(cli_progress *p, const char *what, size_t done, size_t total,
                        const char *unit, double per_item);

/* Shows that `done` items are done, with the rate, the time left, and `loss` unless it is NaN; at
 * most ten times a second on a terminal and every five seconds otherwise. */
void cli_progress_update(cli_progress *p, size_t done, double loss);

/* Prints one line of talk without spoiling the bar. */
void cli_progress_note(cli_progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes the bar. */
void cli_progress_finish(cli_progress *p);

#endif
