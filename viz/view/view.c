/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_private.h"

#include "viz/viz_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds that the animation stays at a step. */
#define BEAT 0.25

enum { DIGITS = 12 /* of a fingerprint, in messages */ };

/* ---- Messages -------------------------------------------------------------------------------- */

void view_say(view *v, bool failed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(v->said, sizeof v->said, format, arguments);
    va_end(arguments);
    /* What does not fit is cut; not within a character, which would not be drawn. */
    for (size_t n = strlen(v->said); n > 0 && !viz_text_is_utf8(v->said); n--) {
        v->said[n - 1] = '\0';
    }
    v->failed = failed;
    v->stale = true;
}

const char *view_said(const view *v, bool *failed)
{
    if (failed != NULL) {
        *failed = v->failed;
    }
    return v->said;
}

/* Whose energy, on which plane, about which state, and what is held. */
static void write_title(view *v)
{
    char markup[2 * VIEW_LABEL];
    char plain[2 * VIEW_LABEL];
    if (v->subject == NULL) {
        (void)snprintf(v->title, sizeof v->title, "No model %s Basin", "\xe2\x80\x94");
        return;
    }
    if (v->picture == NULL) {
        (void)snprintf(v->title, sizeof v->title, "Token space of %.200s %s Basin",
                       v->s.run[0] != '\0' ? v->s.run : "the bundled model", "\xe2\x80\x94");
        return;
    }
    const view_landscape *l = v->picture->landscape;
    const dyn_plane_kind *kind = dyn_plane_kind_at((size_t)l->settings.plane);
    const char *held = l->token == MODEL_SLICE_SUM ? "weights held"
                       : v->subject->h != NULL     ? "weights and the layer's history held"
                                                   : "weights and the other tokens held";
    view_words_title(l, markup);
    (void)viz_text_plain(plain, sizeof plain, markup);
    (void)snprintf(v->title, sizeof v->title, "%.200s: plane %s about step %zu, %s %s Basin", plain,
                   dyn_plane_kind_name(kind), l->at, held, "\xe2\x80\x94");
}

void view_refresh(view *v)
{
    v->read_only =
        v->subject == NULL || (v->expected[0] != '\0' && strcmp(v->expected_run, v->s.run) == 0 &&
                               strcmp(v->expected, v->subject->sha256) != 0);
    write_title(v);
    v->stale = true;
}

kern_status view_may_write(const view *v, kern_error *err)
{
    if (v->subject == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "there is no model, and so nothing to write; run PATH opens one");
    }
    if (v->read_only) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "nothing is written to files, because the model at %.200s is not the one "
                          "that the session was made with: its SHA-256 begins with %.*s instead of "
                          "%.*s; accept-model takes it in its place",
                          v->s.run[0] != '\0' ? v->s.run : "its place", DIGITS, v->subject->sha256,
                          DIGITS, v->expected);
    }
    return KERN_OK;
}

/* ---- Making and ending ----------------------------------------------------------------------- */

kern_status view_open(const view *v, view_subject **out, const view_settings *s, kern_error *err)
{
    view_settings named = *s;
    *out = NULL;
    if (s->run[0] == '\0') {
        if (v->assets[0] == '\0') {
            return kern_raise(err, KERN_NOT_FOUND,
                              "no model is named, and the folder of the bundled ones is not known");
        }
        const int n = snprintf(named.run, sizeof named.run, "%s/%s", v->assets, VIEW_BUNDLED);
        if (n < 0 || (size_t)n >= sizeof named.run) {
            return kern_raise(err, KERN_OVERFLOW, "the path of the bundled model is longer than %d",
                              VIEW_TEXT - 1);
        }
    }
    return view_subject_create(out, &named, err);
}

/* The subject of the first settings. That of a session may be missing or another. */
static kern_status open_first(view *v, kern_error *err)
{
    kern_error why = {0};
    const bool session = v->expected[0] != '\0';
    const kern_status status = view_open(v, &v->subject, &v->s, &why);
    if (status != KERN_OK && (!session || status == KERN_NO_MEMORY)) {
        return kern_raise(err, status, "%s", why.text);
    }
    if (status != KERN_OK) {
        view_say(v, true, "nothing can be drawn: %s", why.text);
        return KERN_OK;
    }
    if (!session || strcmp(v->expected, v->subject->sha256) == 0) {
        return view_fits(v->subject, &v->s, err);
    }
    view_fit(v->subject, &v->s);
    return KERN_OK;
}

/* Fills in an empty view as far as it gets; view_destroy releases that. */
static kern_status prepare(view *v, const view_options *options, kern_error *err)
{
    v->s = options->settings;
    v->workers = options->workers > 0 ? options->workers : 1;
    if (options->assets != NULL) {
        if (strlen(options->assets) >= sizeof v->assets) {
            return kern_raise(err, KERN_OVERFLOW, "the path of the assets is longer than %d",
                              VIEW_TEXT - 1);
        }
        (void)snprintf(v->assets, sizeof v->assets, "%s", options->assets);
    }
    if (options->expected_sha256 != NULL) {
        (void)snprintf(v->expected, sizeof v->expected, "%s", options->expected_sha256);
        (void)snprintf(v->expected_run, sizeof v->expected_run, "%s", v->s.run);
    }
    KERN_TRY(ui_create(&v->ui, err));
    KERN_TRY(view_work_create(&v->work, options->notify, options->context, err));
    view_say(v, false, "Ctrl+P lists the commands, H shows the keys");
    return open_first(v, err);
}

kern_status view_create(view **out, const view_options *options, kern_error *err)
{
    kern_error why = {0};
    *out = NULL;
    view *v = calloc(1, sizeof *v);
    if (v == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for the view was refused by the system");
    }
    const kern_status status = prepare(v, options, err);
    if (status != KERN_OK) {
        view_destroy(v);
        return status;
    }
    view_refresh(v);
    if (v->subject != NULL && view_may_write(v, &why) != KERN_OK) {
        view_say(v, true, "%s", why.text);
    }
    view_tasks_post(v);
    *out = v;
    return KERN_OK;
}

void view_destroy(view *v)
{
    if (v == NULL) {
        return;
    }
    view_work_destroy(v->work);
    view_frame_fini(v);
    for (size_t i = 0; i < VIEW_CACHE_MAX; i++) {
        view_picture_release(v->steps[i]);
    }
    view_picture_release(v->picture);
    view_basins_destroy(v->basins);
    view_orbit_destroy(v->orbit);
    view_subject_release(v->subject);
    ui_destroy(v->ui);
    free(v);
}

/* ---- What it says of itself ------------------------------------------------------------------ */

const view_settings *view_get(const view *v)
{
    return &v->s;
}

bool view_ended(const view *v)
{
    return v->ended;
}

const char *view_title(const view *v)
{
    return v->title;
}

bool view_busy(const view *v)
{
    for (size_t slot = 0; slot < VIEW_SLOTS; slot++) {
        if (v->pending[slot] || view_work_state(v->work, slot) != VIEW_SLOT_IDLE) {
            return true;
        }
    }
    return false;
}

void view_settle(view *v)
{
    /* What comes in may call for more: orbits follow a landscape. */
    do {
        view_work_wait(v->work);
    } while (view_tasks_take(v));
}

/* ---- Time ------------------------------------------------------------------------------------ */

void view_beat(view *v, double seconds)
{
    if (!v->playing || v->subject == NULL) {
        return;
    }
    if (v->next_beat <= 0.0) {
        v->next_beat = seconds + BEAT;
    }
    if (seconds < v->next_beat) {
        return;
    }
    /* Where one looks is not worth an undo step of its own, least of all one for each beat. */
    const size_t last = view_last_step(v->subject, &v->s);
    v->s.step = v->s.step < last ? v->s.step + 1 : 0;
    v->next_beat = seconds + BEAT;
    view_tasks_post(v);
}

bool view_wants_frame(view *v, double seconds, double *wait)
{
    const bool changed = view_tasks_take(v);
    const bool begins = v->playing && v->next_beat <= 0.0;
    const bool beats = v->playing && seconds >= v->next_beat;
    if (wait != NULL) {
        *wait = v->playing && !begins && !beats ? v->next_beat - seconds : -1.0;
    }
    return changed || v->stale || begins || beats || ui_restless(v->ui);
}
