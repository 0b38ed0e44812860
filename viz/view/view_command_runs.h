/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the rows of the commands' table run, and how they read their arguments.
 */
#ifndef BASIN_VIEW_COMMAND_RUNS_H
#define BASIN_VIEW_COMMAND_RUNS_H

#include "viz/view/view_private.h"

/* ---- Arguments (view_command_args.c) ---- */

enum { VIEW_ARGS_MAX = 8 };

typedef struct view_args {
    size_t n;
    char text[VIEW_ARGS_MAX][VIEW_TEXT];
} view_args;

/* Cuts arguments into words. KERN_INVALID_ARGUMENT for a quote that does not end, more words than
 * VIEW_ARGS_MAX and longer ones than VIEW_TEXT − 1. */
kern_status view_args_read(view_args *out, const char *arguments, kern_error *err);

/* The one path that the arguments are, with or without quotes around it. KERN_INVALID_ARGUMENT when
 * there is none or it is too long. */
kern_status view_args_path(char out[VIEW_TEXT], const char *command, const char *arguments,
                           kern_error *err);

/* A finite number; KERN_INVALID_ARGUMENT names `what` it should be. */
kern_status view_args_real(double *out, const char *what, const char *word, kern_error *err);

/* Exactly n finite numbers, `what` says which. */
kern_status view_args_reals(double *out, size_t n, const char *what, const char *arguments,
                            kern_error *err);

/* KERN_INVALID_ARGUMENT unless there are none. */
kern_status view_args_none(const char *command, const char *arguments, kern_error *err);

/* Sets a setting; without a value tells the one it has. A real number may be multiplied: "x2". A
 * text is emptied by two double quotes. */
kern_status view_assign(view *v, const char *name, const char *value, kern_error *err);

/* Says the value of a setting, and why it has no effect where that is so. */
void view_tell(view *v, const view_field *field);

/* ---- What commands run: arguments without blanks around them ---- */

typedef kern_status view_command_run(view *v, const char *arguments, kern_error *err);

/* view_command_look.c: where one looks, and how */
view_command_run view_run_token, view_run_step, view_run_play, view_run_pause, view_run_mode,
    view_run_toggle, view_run_lock, view_run_unlock, view_run_scale;

/* view_command_tokens.c: tokens beside the chosen one */
view_command_run view_run_also, view_run_held;

/* view_command_plane.c: the plane and what part of it */
view_command_run view_run_center, view_run_zoom, view_run_pan, view_run_rotate, view_run_fit,
    view_run_resample, view_run_seed, view_run_seeds, view_run_measure;

/* view_command_files.c: files */
view_command_run view_run_export, view_run_save, view_run_load, view_run_describe,
    view_run_accept_model, view_run_screenshot;

/* view_command_view.c: the view itself */
view_command_run view_run_undo, view_run_redo, view_run_reset, view_run_say, view_run_palette,
    view_run_help, view_run_quit;

#endif
