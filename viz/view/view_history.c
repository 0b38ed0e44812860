/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Changing the settings, and going back.
 */
#include "viz/view/view_private.h"

#include <stdio.h>
#include <string.h>

/* ---- Changing -------------------------------------------------------------------------------- */

/* Makes *s the settings, with whatever model they need. Nothing is changed by a failure. */
static kern_status adopt(view *v, const view_settings *s, kern_error *err)
{
    view_stage stage = VIEW_STAGE_WINDOW;
    view_settings next = *s;
    view_subject *subject = NULL;
    const bool differ = view_settings_differ(&v->s, s, &stage);
    const bool another = differ && stage == VIEW_STAGE_SUBJECT;
    if (another) {
        KERN_TRY(view_open(v, &subject, s, err));
    } else if (v->subject == NULL && differ && stage < VIEW_STAGE_SCENE) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "there is no model that could be drawn; run PATH opens one");
    }
    const view_subject *now = another ? subject : v->subject;
    if (now != NULL) {
        if (another || s->steps != v->s.steps || s->at != v->s.at) {
            view_fit(now, &next);
        }
        const kern_status status = view_fits(now, &next, err);
        if (status != KERN_OK) {
            view_subject_release(subject);
            return status;
        }
    }
    if (another) {
        view_subject_release(v->subject);
        v->subject = subject;
    }
    v->s = next;
    view_refresh(v);
    view_tasks_post(v);
    return KERN_OK;
}

static void push(view_settings *stack, size_t *n, const view_settings *s)
{
    if (*n == VIEW_UNDO_MAX) {
        memmove(stack, stack + 1, (VIEW_UNDO_MAX - 1) * sizeof *stack);
        (*n)--;
    }
    stack[(*n)++] = *s;
}

kern_status view_change(view *v, const view_settings *s, const char *field, kern_error *err)
{
    view_stage stage;
    if (!view_settings_differ(&v->s, s, &stage)) {
        return KERN_OK;
    }
    const view_settings before = v->s;
    KERN_TRY(adopt(v, s, err));
    const bool joins = field[0] != '\0' && v->n_past > 0 && strcmp(field, v->last_field) == 0;
    if (!joins) {
        push(v->past, &v->n_past, &before);
    }
    v->n_future = 0;
    (void)snprintf(v->last_field, sizeof v->last_field, "%s", field);
    if (joins && !view_settings_differ(&v->past[v->n_past - 1], &v->s, &stage)) {
        v->n_past--; /* back where the row of changes began */
        view_undo_close(v);
    }
    return KERN_OK;
}

kern_status view_set(view *v, const char *name, const char *value, kern_error *err)
{
    const view_field *field = NULL;
    view_settings s = v->s;
    KERN_TRY(view_field_find(&field, name, err));
    KERN_TRY(view_settings_set(&s, field, value, err));
    return view_change(v, &s, field->name, err);
}

/* ---- Going back ------------------------------------------------------------------------------ */

void view_undo_close(view *v)
{
    v->last_field[0] = '\0';
}

/* Says which setting is now another; more than one are counted. */
static void tell(view *v, const char *what, const view_settings *before)
{
    char now[VIEW_TEXT];
    char then[VIEW_TEXT];
    char first[160] = "";
    size_t n = 0;
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const view_field *field = view_field_at(i);
        view_settings_show(&v->s, field, now);
        view_settings_show(before, field, then);
        if (strcmp(now, then) != 0 && n++ == 0) {
            (void)snprintf(first, sizeof first, "%s is %.100s", field->name, now);
        }
    }
    if (n > 1) {
        view_say(v, false, "%s: %s, and %zu more", what, first, n - 1);
    } else {
        view_say(v, false, "%s%s%s", what, n == 1 ? ": " : "", first);
    }
}

/* Takes the top of one stack and puts what was before it on the other. */
static kern_status travel(view *v, bool back, kern_error *err)
{
    size_t *n_from = back ? &v->n_past : &v->n_future;
    const view_settings before = v->s;
    const char *what = back ? "undone" : "redone";
    if (*n_from == 0) {
        return kern_raise(err, KERN_NOT_FOUND, "there is nothing to be %s", what);
    }
    const view_settings *from = back ? v->past : v->future;
    KERN_TRY(adopt(v, &from[*n_from - 1], err));
    (*n_from)--;
    push(back ? v->future : v->past, back ? &v->n_future : &v->n_past, &before);
    view_undo_close(v);
    tell(v, what, &before);
    return KERN_OK;
}

kern_status view_undo(view *v, kern_error *err)
{
    return travel(v, true, err);
}

kern_status view_redo(view *v, kern_error *err)
{
    return travel(v, false, err);
}
