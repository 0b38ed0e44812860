/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands of the view itself: going back, telling what is shown, panels, the end.
 */
#include "viz/view/view_command_runs.h"

#include "viz/view/view_number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

kern_status view_run_undo(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("undo", arguments, err));
    return view_undo(v, err);
}

kern_status view_run_redo(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("redo", arguments, err));
    return view_redo(v, err);
}

kern_status view_run_reset(view *v, const char *arguments, kern_error *err)
{
    view_settings s;
    KERN_TRY(view_args_none("reset", arguments, err));
    view_settings_defaults(&s);
    memcpy(s.run, v->s.run, sizeof s.run);
    memcpy(s.prompt, v->s.prompt, sizeof s.prompt);
    s.layer = v->s.layer;
    s.sublayer = v->s.sublayer;
    s.dark = v->s.dark; /* who needs these needs them always */
    s.scale = v->s.scale;
    s.still = v->s.still;
    v->playing = false;
    KERN_TRY(view_change(v, &s, "", err));
    view_say(v, false, "the settings are as at the start; undo takes that back");
    return KERN_OK;
}

/* Where the token loses its rest as the rate grows: "; it rests up to rate 8.11, where …". */
static void tell_rest(const view *v, char out[VIEW_LABEL])
{
    const view_landmarks *l = &v->landmarks;
    out[0] = '\0';
    if (!v->has_landmarks || !l->found) {
        return;
    }
    if (!isfinite(l->lost)) {
        (void)snprintf(out, VIEW_LABEL, "; its rest is stable at every rate");
    } else if (!(l->lost > 0.0)) {
        (void)snprintf(out, VIEW_LABEL, "; its rest is stable at no rate");
    } else {
        const char *how = l->flip <= l->ns ? "a multiplier passes \xe2\x88\x92"
                                             "1"
                                           : "a pair of multipliers leaves the unit circle";
        (void)snprintf(out, VIEW_LABEL, "; its rest is stable up to rate %.6g, where %s", l->lost,
                       how);
    }
}

/* What is shown, in a sentence. */
kern_status view_run_say(view *v, const char *arguments, kern_error *err)
{
    char seen[VIEW_NOTE];
    char point[VIEW_LABEL] = "";
    char rest[VIEW_LABEL];
    char energy[VIEW_NUMBER];
    KERN_TRY(view_args_none("say", arguments, err));
    if (v->picture == NULL) {
        return kern_raise(err, KERN_NOT_FOUND, "there is no picture yet to tell of");
    }
    const view_path *path = &v->picture->landscape->path;
    view_picture_say(v->picture, seen);
    if (v->s.step < path->n) {
        (void)snprintf(point, sizeof point, "; at step %zu of %zu it is %s", v->s.step, path->n - 1,
                       view_number(energy, 5, path->energy[v->s.step]));
    }
    tell_rest(v, rest);
    view_say(v, false, "%s%s%s", seen, point, rest);
    return KERN_OK;
}

kern_status view_run_palette(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("palette", arguments, err));
    v->overlay = VIEW_OVER_PALETTE;
    v->typed[0] = '\0';
    v->picked = 0;
    v->stale = true;
    return KERN_OK;
}

kern_status view_run_help(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("help", arguments, err));
    v->overlay = VIEW_OVER_HELP;
    v->stale = true;
    return KERN_OK;
}

kern_status view_run_quit(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("quit", arguments, err));
    v->ended = true;
    return KERN_OK;
}
