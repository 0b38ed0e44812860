/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Waiting until the view has computed what a command asks for: with a window, which goes on to show
 * frames and can be closed; without one, with progress on a terminal. Signals end it.
 */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_view.h"

#include "cli/cli_progress.h"
#include "cli/cli_signal.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

/* Seconds between two looks at what is computed: short commands are not held up, and long ones do
 * not spin. */
#define LOOK_FIRST 1e-4
#define LOOK_MOST  0.05

static void rest(double *seconds)
{
    const struct timespec time = {.tv_nsec = (long)(1e9 * *seconds)};
    (void)nanosleep(&time, NULL);
    *seconds = fmin(1.5 * *seconds, LOOK_MOST);
}

static kern_status wait_alone(view *v, kern_error *err)
{
    cli_progress progress;
    double seconds = LOOK_FIRST;
    size_t total = 0;
    size_t done;
    size_t of;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    kern_status status = KERN_OK;
    while (view_busy(v) && status == KERN_OK) {
        double unused;
        (void)view_wants_frame(v, 0.0, &unused); /* takes in what is finished */
        if (terminal && view_progress(v, &done, &of)) {
            if (of != total) {
                cli_progress_start(&progress, "column", 0, of, "columns", 1.0);
                total = of;
            }
            if (done > 0) { /* before the first of them no rate is known */
                cli_progress_update(&progress, done, (double)NAN);
            }
        }
        status = cli_signal_poll(err);
        rest(&seconds);
    }
    if (total > 0) {
        cli_progress_finish(&progress);
    }
    return status;
}

kern_status cli_view_wait(view *v, view_window *window, kern_error *err)
{
    if (window == NULL) {
        return wait_alone(v, err);
    }
    while (view_busy(v) && view_window_is_open(window) && !view_ended(v)) {
        KERN_TRY(view_window_turn(window, v, LOOK_MOST, err));
    }
    return KERN_OK;
}
