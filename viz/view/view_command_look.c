/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands about where one looks, and how.
 */
#include "viz/view/view_command_runs.h"

#include "viz/view/view_number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A step of the scale of texts and widgets. */
#define SCALE_STEP 1.1

static kern_status need_model(const view *v, kern_error *err)
{
    return v->subject != NULL
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "there is no model; run PATH opens one");
}

/* ---- Tokens and steps ------------------------------------------------------------------------ */

/* Tokens in a ring with their sum between the last and the first. */
static size_t turn_token(size_t token, size_t n, bool next)
{
    if (token == VIEW_ALL) {
        return next ? 0 : n - 1;
    }
    if (next) {
        return token + 1 < n ? token + 1 : VIEW_ALL;
    }
    return token > 0 ? token - 1 : VIEW_ALL;
}

kern_status view_run_token(view *v, const char *arguments, kern_error *err)
{
    char label[MODEL_TOKENIZER_LABEL];
    const bool next = strcmp(arguments, "next") == 0;
    if (!next && strcmp(arguments, "prev") != 0) {
        return view_assign(v, "token", arguments, err);
    }
    KERN_TRY(need_model(v, err));
    view_settings s = v->s;
    s.token = turn_token(s.token, v->subject->n, next);
    KERN_TRY(view_change(v, &s, "token", err));
    if (s.token == VIEW_ALL) {
        view_say(v, false, "token is all");
    } else {
        view_subject_token(v->subject, s.token, label, sizeof label);
        view_say(v, false, "token is %zu, %s", s.token, label);
    }
    return KERN_OK;
}

kern_status view_run_step(view *v, const char *arguments, kern_error *err)
{
    static const char *const words[] = {"+1", "-1", "first", "last"};
    size_t word = 0;
    while (word < 4 && strcmp(arguments, words[word]) != 0) {
        word++;
    }
    if (word == 4) {
        return view_assign(v, "step", arguments, err);
    }
    KERN_TRY(need_model(v, err));
    view_settings s = v->s;
    const size_t last = view_last_step(v->subject, &s);
    const size_t to[] = {s.step < last ? s.step + 1 : last, s.step > 0 ? s.step - 1 : 0, 0, last};
    s.step = to[word];
    v->playing = false;
    KERN_TRY(view_change(v, &s, "step", err));
    view_say(v, false, "step is %zu of %zu", s.step, last);
    return KERN_OK;
}

kern_status view_run_play(view *v, const char *arguments, kern_error *err)
{
    const bool toggle = strcmp(arguments, "toggle") == 0;
    if (!toggle) {
        KERN_TRY(view_args_none("play", arguments, err));
    }
    if (toggle && v->playing) {
        return view_run_pause(v, "", err);
    }
    KERN_TRY(need_model(v, err));
    if (v->s.still) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "animation is off; still off allows it, and step +1 goes by single steps");
    }
    v->playing = true;
    v->next_beat = 0.0;
    view_say(v, false, "playing");
    return KERN_OK;
}

kern_status view_run_pause(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("pause", arguments, err));
    v->playing = false;
    view_say(v, false, "step is %zu", v->s.step);
    return KERN_OK;
}

/* ---- Looks ----------------------------------------------------------------------------------- */

kern_status view_run_mode(view *v, const char *arguments, kern_error *err)
{
    return view_assign(v, "mode", arguments, err);
}

kern_status view_run_toggle(view *v, const char *arguments, kern_error *err)
{
    const view_field *field = NULL;
    char now[VIEW_TEXT];
    if (arguments[0] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "toggle needs the name of a setting that is on or off");
    }
    KERN_TRY(view_field_find(&field, arguments, err));
    if (field->kind != VIEW_KIND_FLAG) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is neither on nor off; toggle is for settings that are", field->name);
    }
    view_settings_show(&v->s, field, now);
    return view_assign(v, field->name, strcmp(now, "on") == 0 ? "off" : "on", err);
}

kern_status view_run_lock(view *v, const char *arguments, kern_error *err)
{
    double low;
    double high;
    KERN_TRY(view_args_none("lock", arguments, err));
    view_colours(v, &low, &high);
    if (!(low < high)) {
        return kern_raise(err, KERN_NOT_FOUND, "there are no energies yet to lock the colours to");
    }
    view_settings s = v->s;
    s.low = low;
    s.high = high;
    KERN_TRY(view_change(v, &s, "", err));
    char from[VIEW_NUMBER];
    char to[VIEW_NUMBER];
    view_say(v, false, "colours go from %s to %s", view_number(from, 6, low),
             view_number(to, 6, high));
    return KERN_OK;
}

kern_status view_run_unlock(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("unlock", arguments, err));
    view_settings s = v->s;
    s.low = s.high = 0.0;
    KERN_TRY(view_change(v, &s, "", err));
    view_say(v, false, "colours follow the field");
    return KERN_OK;
}

kern_status view_run_scale(view *v, const char *arguments, kern_error *err)
{
    const view_field *field = NULL;
    char text[VIEW_TEXT];
    const bool up = strcmp(arguments, "+") == 0;
    if (!up && strcmp(arguments, "-") != 0) {
        return view_assign(v, "scale", arguments, err);
    }
    KERN_TRY(view_field_find(&field, "scale", err));
    double scale = up ? v->s.scale * SCALE_STEP : v->s.scale / SCALE_STEP;
    scale = fabs(scale - 1.0) < 1e-9 ? 1.0 : fmin(fmax(scale, field->low), field->high);
    (void)snprintf(text, sizeof text, "%.17g", scale);
    KERN_TRY(view_set(v, "scale", text, err));
    view_say(v, false, "scale is %.0f %%", 100.0 * v->s.scale);
    return KERN_OK;
}
