/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands about tokens beside the chosen one.
 */
#include "viz/view/view_command_runs.h"

#include <stdio.h>
#include <string.h>

/* The chosen token is the one that moves. */
static kern_status check_held(const view_settings *s, size_t token, kern_error *err)
{
    for (size_t i = 0; i < s->n_held && token == s->token; i++) {
        if (s->held[i] == token) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "the token whose trajectory is drawn cannot be held; choose another "
                              "one first");
        }
    }
    return KERN_OK;
}

/* "N" puts a token in or takes it out, "this" the chosen one; "all" and "clear" are all others and
 * none; anything else is a value of the setting. */
static kern_status change_set(view *v, const char *name, const char *arguments, kern_error *err)
{
    const view_field *field = NULL;
    view_settings s = v->s;
    const bool own = strcmp(arguments, "this") == 0;
    const bool number =
        arguments[0] != '\0' && strspn(arguments, "0123456789") == strlen(arguments);
    KERN_TRY(view_field_find(&field, name, err));
    if (v->subject == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "there is no model; run PATH opens one");
    }
    if (own && s.token == VIEW_ALL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the sum over all is drawn; choose a token first");
    }
    if (strcmp(arguments, "clear") == 0) {
        KERN_TRY(view_settings_set(&s, field, field->special, err));
    } else if (strcmp(arguments, "all") == 0) {
        KERN_TRY(view_settings_take_others(&s, field, v->subject->n, err));
    } else if (own || number) {
        view_settings one = v->s;
        size_t n;
        KERN_TRY(own ? KERN_OK : view_settings_set(&one, field, arguments, err));
        const size_t token = own ? s.token : view_settings_sizes(&one, field, &n)[0];
        KERN_TRY(view_settings_toggle_size(&s, field, token, err));
        KERN_TRY(strcmp(name, "held") == 0 ? check_held(&s, token, err) : KERN_OK);
    } else {
        return view_assign(v, name, arguments, err);
    }
    KERN_TRY(view_change(v, &s, "", err));
    view_tell(v, field);
    return KERN_OK;
}

kern_status view_run_held(view *v, const char *arguments, kern_error *err)
{
    return change_set(v, "held", arguments, err);
}

kern_status view_run_also(view *v, const char *arguments, kern_error *err)
{
    return change_set(v, "also", arguments, err);
}
