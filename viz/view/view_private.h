/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of the explorer share.
 */
#ifndef BASIN_VIEW_PRIVATE_H
#define BASIN_VIEW_PRIVATE_H

#include "viz/view/view.h"
#include "viz/view/view_attention.h"
#include "viz/view/view_basins.h"
#include "viz/view/view_hash.h"
#include "viz/view/view_measure.h"
#include "viz/view/view_orbit.h"
#include "viz/view/view_picture.h"
#include "viz/view/view_work.h"

enum { VIEW_UNDO_MAX = 200, VIEW_SAID = 512, VIEW_CACHE_MAX = 128 };

/* Slots of the background work, most wanted first. */
enum {
    VIEW_SLOT_PICTURE,
    VIEW_SLOT_MEASURE,
    VIEW_SLOT_ATTENTION,
    VIEW_SLOT_LANDMARKS,
    VIEW_SLOT_ORBIT,
    VIEW_SLOT_BASINS,
    VIEW_SLOT_STEPS /* fields of the other steps, for scrubbing */
};

/* Panels that lie over everything else. */
typedef enum view_overlay {
    VIEW_OVER_NOTHING,
    VIEW_OVER_PALETTE,
    VIEW_OVER_EXPORT,
    VIEW_OVER_HELP
} view_overlay;

struct view {
    view_settings s;
    view_settings shown; /* those that the work in flight or done was posted for */
    view_settings past[VIEW_UNDO_MAX], future[VIEW_UNDO_MAX];
    size_t n_past, n_future;
    char last_field[64]; /* setting that the last command changed: changes in a row are one undo */
    int workers;
    char assets[VIEW_TEXT];
    char expected[VIEW_HASH_TEXT]; /* fingerprint that a session's model has; empty: any */
    char expected_run[VIEW_TEXT];  /* where the session said it is */
    double next_beat;              /* seconds at which the animation moves on */
    char said[VIEW_SAID];
    char title[VIEW_SAID];
    view_subject *subject; /* NULL: a session's model is missing, and nothing can be drawn */
    view_picture *picture; /* shown; NULL before the first */
    kern_error broken;     /* why there is no picture of the settings; status KERN_OK else */
    view_picture *steps[VIEW_CACHE_MAX]; /* fields by step, while `follow` */
    double low, high;          /* of the fields of all steps seen so far: the locked colour scale */
    view_attention *attention; /* view_tasks_attention says whether it counts */
    view_basins *basins;
    view_orbit *orbit;
    size_t n_basins, n_orbits; /* taken so far, which tells one from another at its address */
    view_landmarks landmarks;
    view_measure measure;
    view_work *work;
    view_settings asked[VIEW_SLOTS]; /* those that a slot's work was posted for */
    bool has_asked[VIEW_SLOTS];
    bool pending[VIEW_SLOTS]; /* how the slot's task ended has not been told */
    ui *ui;
    view_overlay overlay;
    char typed[VIEW_TEXT];   /* in the palette or the export dialog */
    size_t picked;           /* suggestion of the palette */
    char capture[VIEW_TEXT]; /* file for a picture of the next frame; empty: none is wanted */
    bool posted;             /* `shown` counts */
    bool awaiting;           /* `picture` is of a landscape before the one that was asked for */
    bool has_landmarks;      /* `landmarks` counts */
    bool has_measure;        /* `measure` counts */
    bool failed;             /* `said` is about a failure */
    bool read_only; /* no model, or another than the session's: nothing is written to files */
    bool playing;
    bool ended;
    bool stale;              /* a frame is due */
    struct view_cache *base; /* drawn layers of view_frame.c; private to it */
};

/* ---- view_state.c ---- */

/* Sets view_said. */
void view_say(view *v, bool failed, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Opens the subject of settings; an empty run is the bundled model. */
kern_status view_open(const view *v, view_subject **out, const view_settings *s, kern_error *err);

/* Decides anew whether the view is read-only, and writes the title. */
void view_refresh(view *v);

/* KERN_INVALID_ARGUMENT, with the reason, when nothing may be written to files. */
kern_status view_may_write(const view *v, kern_error *err);

/* Number of the trajectory's last state under settings. */
size_t view_last_step(const view_subject *subject, const view_settings *s);

/* The step whose field settings ask for: where the tokens are that are held. */
size_t view_field_step(const view_subject *subject, const view_settings *s);

/* KERN_INVALID_ARGUMENT for a token or step that is not there. */
kern_status view_fits(const view_subject *subject, const view_settings *s, kern_error *err);

/* Brings tokens and steps within what is there. */
void view_fit(const view_subject *subject, view_settings *s);

/* ---- view_history.c ---- */

/* Sets a setting by name through the table, with undo. */
kern_status view_set(view *v, const char *name, const char *value, kern_error *err);

/* Replaces all settings with one undo step; `field` joins changes in a row ("" never joins). What
 * the model or the prompt does not have is an error, which changes nothing; what they have no more
 * once they have changed themselves is brought within them. */
kern_status view_change(view *v, const view_settings *s, const char *field, kern_error *err);

/* What comes next is an undo step of its own: called when a drag begins or ends. */
void view_undo_close(view *v);

/* KERN_NOT_FOUND when there is nothing to undo or redo; errors of view_open. */
kern_status view_undo(view *v, kern_error *err);
kern_status view_redo(view *v, kern_error *err);

/* ---- view_tasks.c ---- */

/* Posts what the difference between v->shown and v->s makes necessary. */
void view_tasks_post(view *v);

/* Takes in what has been finished; true when something changed. */
bool view_tasks_take(view *v);

/* Asks for the measure at a place; KERN_NOT_FOUND without a picture. */
kern_status view_tasks_measure(view *v, double a, double b, kern_error *err);

/* Whom tokens attend to along the trajectory of the picture; NULL until that is known. */
const view_attention *view_tasks_attention(const view *v);

/* Ends of the colour scale: those set, or those of the fields of all steps; equal where neither is
 * known, and then the picture's own count. */
void view_colours(const view *v, double *low, double *high);

/* ---- view_time.c ---- */

/* Moves the animation on when its time has come; view_frame calls it first. */
void view_beat(view *v, double seconds);

/* ---- Others ---- */

/* view_frame.c: releases what it keeps. */
void view_frame_fini(view *v);

#endif
