/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making and ending ----------------------------------------------------------------------- */

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
    view_attention_destroy(v->attention);
    view_basins_destroy(v->basins);
    view_orbit_destroy(v->orbit);
    view_subject_release(v->subject);
    ui_destroy(v->ui);
    free(v);
}
