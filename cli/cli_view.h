/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of basin view share.
 */
#ifndef BASIN_CLI_VIEW_H
#define BASIN_CLI_VIEW_H

#include "cli/cli_args.h"
#include "viz/view/view.h"
#include "viz/view/view_window.h"

typedef struct cli_view_size {
    int width, height;
} cli_view_size;

typedef struct cli_view_settings {
    const char *run;     /* or NULL */
    const char *bundled; /* name of a bundled model, or NULL */
    const char *from;    /* figure or session, or NULL */
    const char *prompt;
    const char *token;
    const char *plane;
    cli_list set;  /* NAME=VALUE */
    cli_list exec; /* commands separated by ; */
    const char *script;
    bool no_window;
    bool list;
    cli_view_size size;
    double scale;
    const char *assets;
    int threads;
    bool json;
} cli_view_settings;

/* The folder of the bundled models, which the caller frees: that of --assets, of the environment
 * variable BASIN_ASSETS, share/basin/assets beside the folder of the program, or that of the
 * sources the program was built from. *folder is NULL when there is none and none was named;
 * KERN_NOT_FOUND when one was named and has no models. */
kern_status cli_view_find_assets(char **folder, const char *named, kern_error *err);

/* What the command line asks for: the session of --from or the defaults, then RUN or --bundled with
 * its prompt, then --prompt, --token, --plane and --scale, then every --set in turn. `sha256`
 * receives the fingerprint that the session's model had, or "". */
kern_status cli_view_read_settings(view_settings *out, char sha256[65], const cli_call *call,
                                   const cli_view_settings *s, const char *assets, kern_error *err);

/* Waits until the view has computed what it was asked for. A window (or NULL) goes on meanwhile,
 * and its end ends the waiting; without one, KERN_INTERRUPTED once a signal has come, and progress
 * of long work goes to standard error when that is a terminal. */
kern_status cli_view_wait(view *v, view_window *window, kern_error *err);

#endif
