/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What basin landscape is asked for: the session's settings, those of the command line over them,
 * and what is missing or does not go together.
 */
#include "cli/cli_landscape.h"

#include "viz/view/view_session.h"

#include <stdio.h>
#include <string.h>

kern_status cli_landscape_raise(kern_status status, const kern_error *why, kern_error *err)
{
    const size_t n = strcspn(why->text, " :");
    char name[64];
    const view_field *field;
    (void)snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : 0), why->text);
    const bool option = view_field_find(&field, name, NULL) == KERN_OK;
    return kern_raise(err, status, "%s%s", option ? "--" : "", why->text);
}

/* Settings given by name take the place of the session's. */
static kern_status take_given(view_settings *out, const cli_call *call,
                              const cli_landscape_settings *s, kern_error *err)
{
    const view_field *field;
    char text[VIEW_TEXT];
    for (size_t i = 0; (field = view_field_at(i)) != NULL; i++) {
        if (cli_args_given(call, field->name)) {
            view_settings_show(&s->view, field, text);
            KERN_TRY(view_settings_set(out, field, text, err));
        }
    }
    if (s->run == NULL) {
        return KERN_OK;
    }
    KERN_TRY(view_field_find(&field, "run", err));
    return view_settings_set(out, field, s->run, err);
}

/* What a session has is required without one. */
static kern_status check_given(const cli_call *call, const cli_landscape_settings *s,
                               kern_error *err)
{
    static const char *const needed[] = {"prompt", "token"};
    if (s->run == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "RUN is missing: folder written by basin train, or a file of weights; "
                          "--from has one");
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!cli_args_given(call, needed[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "--%s is missing: %s", needed[i],
                              cli_args_find(call->command, needed[i], strlen(needed[i]))->help);
        }
    }
    return KERN_OK;
}

/* Options that belong to another one. */
static kern_status check_owned(const cli_call *call, const view_settings *view, kern_error *err)
{
    static const struct {
        const char *option;
        const char *plane;
    } owned[] = {{"with", "tokens"}, {"axes", "custom"}, {"oblique", "custom"}};
    const char *plane = dyn_plane_kind_name(dyn_plane_kind_at((size_t)view->plane));
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (cli_args_given(call, owned[i].option) && strcmp(plane, owned[i].plane) != 0) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "--%s belongs to --plane %s, not to %s",
                              owned[i].option, owned[i].plane, plane);
        }
    }
    if (cli_args_given(call, "field") && !cli_args_given(call, "json")) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--field is about what --json prints");
    }
    if (cli_args_given(call, "changed-model") && !cli_args_given(call, "from")) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--changed-model is about --from");
    }
    /* Of a session, ends that do not grow mean the field's own, as in the window. */
    const bool asked = cli_args_given(call, "low") || cli_args_given(call, "high");
    return !asked || view->low <= view->high
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT,
                            "--low is %g and --high is %g; accepted is a low end below the high "
                            "one",
                            view->low, view->high);
}

kern_status cli_landscape_read(view_settings *out, char sha256[65], const cli_call *call,
                               const cli_landscape_settings *s, kern_error *err)
{
    sha256[0] = '\0';
    view_settings_defaults(out);
    if (s->from == NULL) {
        KERN_TRY(check_given(call, s, err));
    } else {
        view_session session;
        KERN_TRY(view_session_load(&session, s->from, err));
        *out = session.settings;
        (void)snprintf(sha256, 65, "%s", session.model_sha256);
    }
    KERN_TRY(take_given(out, call, s, err));
    if (out->run[0] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "RUN is missing: %s is of a bundled model and does not say where that "
                          "lies",
                          s->from != NULL ? s->from : "the command line");
    }
    return check_owned(call, out, err);
}

/* ---- With the prompt ------------------------------------------------------------------------- */

static kern_status take_others(view_settings *view, const char *name, size_t tokens,
                               kern_error *err)
{
    kern_error why = {0};
    const view_field *field;
    KERN_TRY(view_field_find(&field, name, err));
    const kern_status status = view_settings_take_others(view, field, tokens, &why);
    return status == KERN_OK ? status : cli_landscape_raise(status, &why, err);
}

/* Panels that nobody asked for now, of a session whose other settings are of one plane: what counts
 * is the picture that the window shows, which has no panels. */
static void settle_panels(view_settings *view, const cli_call *call)
{
    kern_error why = {0};
    if (view->panels > 1 && !cli_args_given(call, "panels") &&
        view_panels_check(view, &why) != KERN_OK) {
        (void)fprintf(stderr, "basin landscape: one plane is drawn, as basin view does: %s\n",
                      why.text);
        view->panels = 1;
    }
}

kern_status cli_landscape_settle(view_settings *view, const cli_call *call,
                                 const cli_landscape_settings *s, size_t tokens, kern_error *err)
{
    KERN_TRY(s->held_all ? take_others(view, "held", tokens, err) : KERN_OK);
    KERN_TRY(s->also_all ? take_others(view, "also", tokens, err) : KERN_OK);
    settle_panels(view, call);
    return KERN_OK;
}
