/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of basin landscape share.
 */
#ifndef BASIN_CLI_LANDSCAPE_H
#define BASIN_CLI_LANDSCAPE_H

#include "cli/cli_args.h"
#include "cli/cli_json.h"
#include "viz/view/view_basins.h"
#include "viz/view/view_panels.h"
#include "viz/view/view_picture.h"

typedef struct cli_landscape_settings {
    view_settings view;      /* by the options that are called as its settings */
    bool held_all, also_all; /* all tokens but the chosen one, before it is known which these are */
    const char *run;
    const char *from; /* figure or session whose settings are taken, or NULL */
    const char *out;
    bool changed_model;
    double dpi, width_mm;
    int threads;
    bool json;
    bool field;
} cli_landscape_settings;

/* ---- What is asked for (cli_landscape_read.c) ------------------------------------------------ */

/* The settings of --from, or the defaults, with what stood on the command line over them; `sha256`
 * receives the fingerprint that the session's model had, or "". KERN_INVALID_ARGUMENT for options
 * that are missing or belong to another one; errors of view_session_load. */
kern_status cli_landscape_read(view_settings *out, char sha256[65], const cli_call *call,
                               const cli_landscape_settings *s, kern_error *err);

/* What the prompt decides: "all" of --held and --also becomes the numbers of its `tokens` tokens,
 * and where the session's panels do not go with the rest, one plane is meant, and standard error
 * says so; --panels counts as it is given. KERN_INVALID_ARGUMENT when "all" is none or too many. */
kern_status cli_landscape_settle(view_settings *view, const cli_call *call,
                                 const cli_landscape_settings *s, size_t tokens, kern_error *err);

/* Sentences of the engine begin with the setting that they are about; here it is an option. */
kern_status cli_landscape_raise(kern_status status, const kern_error *why, kern_error *err);

/* ---- Making and reporting it ----------------------------------------------------------------- */

/* A landscape as it is made. */
typedef struct cli_landscape_job {
    const cli_landscape_settings *s;
    view_settings view;
    view_subject *subject; /* kept, as what follows */
    view_landscape *landscape;
    view_picture *picture;
    view_basins *basins; /* of the mode of that name, else NULL */
    view_panels *panels; /* of several planes, in place of landscape and picture; else NULL */
} cli_landscape_job;

/* Does the work of the subcommand, whose table is in cli_landscape_options.c. */
kern_status cli_landscape_run(cli_call *call, const void *settings, kern_error *err);

/* Computes several planes of a subject that is open; `cancelled` is asked at every step. */
kern_status cli_landscape_panels(cli_landscape_job *l, view_cancelled *cancelled, kern_error *err);

/* Writes the figure, then prints. */
kern_status cli_landscape_report(const cli_landscape_job *l, kern_error *err);
kern_status cli_landscape_panels_report(const cli_landscape_job *l, kern_error *err);

/* The settings that make a landscape, as keys of a JSON object. */
void cli_landscape_put_recipe(const view_landscape *l, cli_json *json, cJSON *object);

#endif
