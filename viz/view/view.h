/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The explorer without a window: what is looked at, commands that change it, and frames.
 *
 * Everything a user does is a command with a name ("plane pca", "rate 2.5", "token 5", "export
 * out.pdf"): keys, widgets, the palette, --exec and tests run the same ones, and every change of
 * the settings can be undone. Computing is done in the background (view_work.h); a frame draws the
 * best picture that is finished and never waits.
 *
 * One thread calls all of this. Whoever owns the window calls view_frame when view_wants_frame says
 * so or input has come.
 */
#ifndef BASIN_VIEW_H
#define BASIN_VIEW_H

#include "viz/ui/ui.h"
#include "viz/view/view_settings.h"

typedef struct view view;

/* The model that is opened when none is named, a run in the folder of assets. */
#define VIEW_BUNDLED "listops"

typedef struct view_options {
    view_settings settings;
    const char *expected_sha256; /* of a session's model, or NULL: when the model is another, or is
                                    missing, the view opens read-only and says so */
    const char *assets;          /* folder of the bundled models, or NULL: none is known */
    int workers;                 /* threads of the background computation */
    void (*notify)(void *context); /* called in the background when a frame would show more */
    void *context;
} view_options;

/* Opens the model at once, so that a wrong path is an error here, as are tokens and steps that it
 * does not have; pictures come later. With `expected_sha256` neither is: a model that cannot be
 * opened leaves a window that says so and draws nothing. */
kern_status view_create(view **out, const view_options *options, kern_error *err);
void view_destroy(view *v);

const view_settings *view_get(const view *v);

/* Runs a command line. What it has to tell is in view_said. Errors are sentences for the user and
 * leave everything as it was. */
kern_status view_do(view *v, const char *line, kern_error *err);

/* The last message to the user (never NULL), and whether it is about a failure. */
const char *view_said(const view *v, bool *failed);

/* True once the command "quit" has been given. */
bool view_ended(const view *v);

/* What the window title says. */
const char *view_title(const view *v);

/* Takes input, draws a frame of `width` × `height` logical units. `seconds` is a clock that only
 * has to run evenly. KERN_IO when cairo reports an error. */
kern_status view_frame(view *v, cairo_t *cr, double width, double height, double seconds,
                       const ui_input *input, kern_error *err);

/* Whether a frame should be drawn now, without input; and else in how many seconds (negative: not
 * before something happens). */
bool view_wants_frame(view *v, double seconds, double *wait);

/* Waits until everything that was asked for is computed and taken in. */
void view_settle(view *v);

/* True while something is being computed. */
bool view_busy(const view *v);

/* How far basins, or else the orbit strip, are that are being computed: columns of all that are
 * wanted. False when neither is. */
bool view_progress(const view *v, size_t *done, size_t *total);

/* The widgets of the last frame, and all rows of its lists, as JSON (id, role, label, value, rect,
 * …), for tests and for those who cannot see the window. A row that is scrolled out of sight has
 * the rect null. The caller frees *text. */
kern_status view_describe(const view *v, char **text, kern_error *err);

#endif
