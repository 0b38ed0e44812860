/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What an explorer holds: its messages and title, and what its subject has.
 */
#include "viz/view/view_private.h"

#include "viz/viz_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* ---- The subject ----------------------------------------------------------------------------- */

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

static size_t centre_step(const view_subject *subject, const view_settings *s)
{
    return s->at == VIEW_LAST ? subject->trained : s->at;
}

size_t view_last_step(const view_subject *subject, const view_settings *s)
{
    const size_t last = s->steps > 0 ? s->steps : 2 * subject->trained;
    const size_t at = centre_step(subject, s);
    return at > last ? at : last;
}

size_t view_field_step(const view_subject *subject, const view_settings *s)
{
    /* The sum over all tokens holds none of them, and frozen ones stay where they are. */
    const bool follows = s->follow && !s->frozen && s->token != VIEW_ALL;
    return follows ? s->step : centre_step(subject, s);
}

/* Of an ascending set of tokens. */
static kern_status set_fits(const view_subject *subject, const size_t *tokens, size_t n,
                            const char *what, kern_error *err)
{
    return n == 0 || tokens[n - 1] < subject->n
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT,
                            "there is no token %zu to be %s; the prompt has those from 0 to %zu",
                            tokens[n - 1], what, subject->n - 1);
}

static void fit_set(const view_subject *subject, size_t *tokens, size_t *n)
{
    while (*n > 0 && tokens[*n - 1] >= subject->n) {
        tokens[--*n] = 0;
    }
}

/* Takes a token out of a set. */
static void let_go(size_t token, size_t *tokens, size_t *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        if (tokens[i] != token) {
            tokens[kept++] = tokens[i];
        }
    }
    for (size_t i = kept; i < *n; i++) {
        tokens[i] = 0; /* settings are compared as a whole */
    }
    *n = kept;
}

kern_status view_fits(const view_subject *subject, const view_settings *s, kern_error *err)
{
    const size_t last = view_last_step(subject, s);
    if (s->token != VIEW_ALL && s->token >= subject->n) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "there is no token %zu; the prompt has those from 0 to %zu, and all stands "
            "for their sum",
            s->token, subject->n - 1);
    }
    if (s->with >= subject->n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "there is no token %zu to go with; the prompt has those from 0 to %zu",
                          s->with, subject->n - 1);
    }
    KERN_TRY(set_fits(subject, s->also, s->n_also, "drawn too", err));
    KERN_TRY(set_fits(subject, s->held, s->n_held, "held", err));
    if (s->step > last) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "there is no step %zu; the trajectory has those from 0 to %zu, and steps "
                          "makes it longer",
                          s->step, last);
    }
    return KERN_OK;
}

void view_fit(const view_subject *subject, view_settings *s)
{
    const size_t last = view_last_step(subject, s);
    if (s->token != VIEW_ALL && s->token >= subject->n) {
        s->token = subject->n - 1;
    }
    s->with = s->with < subject->n ? s->with : subject->n - 1;
    s->step = s->step < last ? s->step : last;
    fit_set(subject, s->also, &s->n_also);
    fit_set(subject, s->held, &s->n_held);
    let_go(s->token, s->held, &s->n_held); /* the chosen one moves */
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
