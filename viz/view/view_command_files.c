/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands about files: figures, sessions, and the list of widgets.
 */
#include "viz/view/view_command_runs.h"

#include "models/model_file.h"
#include "viz/view/view_session.h"
#include "viz/viz_export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kern_status write_text(const char *path, const char *text, kern_error *err)
{
    const model_file_chunk chunk = {text, strlen(text)};
    return model_file_write_atomic(path, &chunk, 1, err);
}

/* ---- Figures --------------------------------------------------------------------------------- */

typedef struct figure {
    const char *path;
    double width; /* points; 0: double-column */
    double dpi;   /* 0: the default */
} figure;

/* Limits of the page in the unit that is written, before long work begins. */
static kern_status check_width(double millimetres, kern_error *err)
{
    const double points = viz_scene_points(millimetres);
    return points >= VIZ_PAGE_MIN && points <= VIZ_PAGE_MAX
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "width-mm is %g; accepted are %.4g to %g",
                            millimetres, VIZ_PAGE_MIN / viz_scene_points(1.0),
                            VIZ_PAGE_MAX / viz_scene_points(1.0));
}

static kern_status check_dpi(double dpi, kern_error *err)
{
    return dpi >= VIZ_DPI_MIN && dpi <= VIZ_DPI_MAX
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT,
                            "the resolution %g is outside %g to %g dots per inch", dpi, VIZ_DPI_MIN,
                            VIZ_DPI_MAX);
}

static kern_status read_figure(figure *f, const view_args *args, kern_error *err)
{
    *f = (figure){.path = args->text[0]};
    for (size_t i = 1; i < args->n; i += 2) {
        const char *name = args->text[i];
        const bool width = strcmp(name, "width-mm") == 0;
        double value;
        if (!width && strcmp(name, "dpi") != 0) {
            return kern_raise(
                err, KERN_INVALID_ARGUMENT,
                "\"%.40s\" is no option of export; accepted are width-mm and dpi, and "
                "a path with blanks stands between double quotes",
                name);
        }
        if (i + 1 == args->n) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "%s is without its number", name);
        }
        KERN_TRY(view_args_real(&value, name, args->text[i + 1], err));
        if (width) {
            f->width = viz_scene_points(value);
            KERN_TRY(check_width(value, err));
        } else {
            f->dpi = value;
            KERN_TRY(check_dpi(value, err));
        }
    }
    return viz_export_check_path(f->path, err);
}

/* The picture that the settings ask for, complete. */
static kern_status finish_picture(view *v, kern_error *err)
{
    view_settle(v);
    if (v->broken.status != KERN_OK) {
        return kern_raise(err, v->broken.status, "there is no picture of these settings: %s",
                          v->broken.text);
    }
    return v->picture != NULL && !v->awaiting
               ? KERN_OK
               : kern_raise(err, KERN_NOT_FOUND, "there is no picture to write");
}

static kern_status write_figure(view *v, const figure *f, kern_error *err)
{
    view_page page = {.width = f->width, .point_out = v->s.step > 0}; /* as basin landscape does */
    viz_scene *scene = NULL;
    char *session = NULL;
    view_colours(v, &page.low, &page.high);
    page.basins = v->s.mode == VIEW_BASINS ? v->basins : NULL;
    kern_status status = view_picture_scene(&scene, v->picture, &v->s, &page, err);
    if (status == KERN_OK) {
        status = view_picture_session(&session, v->picture, &v->s, err);
    }
    if (status == KERN_OK) {
        const viz_export_options options = {.dpi = f->dpi, .session = session};
        status = viz_export(scene, f->path, &options, err);
    }
    viz_scene_destroy(scene);
    free(session);
    return status;
}

kern_status view_run_export(view *v, const char *arguments, kern_error *err)
{
    view_args args;
    figure f;
    KERN_TRY(view_may_write(v, err));
    KERN_TRY(view_args_read(&args, arguments, err));
    if (args.n == 0) {
        v->overlay = VIEW_OVER_EXPORT;
        v->typed[0] = '\0';
        v->stale = true;
        return KERN_OK;
    }
    KERN_TRY(read_figure(&f, &args, err));
    KERN_TRY(finish_picture(v, err));
    KERN_TRY(write_figure(v, &f, err));
    view_say(v, false, "written: %s", f.path);
    return KERN_OK;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

kern_status view_run_save(view *v, const char *arguments, kern_error *err)
{
    char path[VIEW_TEXT];
    char *text = NULL;
    view_session session = {.settings = v->s};
    KERN_TRY(view_may_write(v, err));
    KERN_TRY(view_args_path(path, "save", arguments, err));
    if (!view_session_is_path(path)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the session file \"%.200s\" must end in .json, by which it is known "
                          "when it is opened",
                          path);
    }
    (void)snprintf(session.model_sha256, sizeof session.model_sha256, "%s", v->subject->sha256);
    KERN_TRY(view_session_write(&text, &session, err));
    const kern_status status = write_text(path, text, err);
    free(text);
    KERN_TRY(status);
    view_say(v, false, "written: %s", path);
    return KERN_OK;
}

kern_status view_run_load(view *v, const char *arguments, kern_error *err)
{
    char path[VIEW_TEXT];
    kern_error why = {0};
    view_session session;
    KERN_TRY(view_args_path(path, "load", arguments, err));
    KERN_TRY(view_session_load(&session, path, err));
    KERN_TRY(view_change(v, &session.settings, "", err));
    (void)snprintf(v->expected, sizeof v->expected, "%s", session.model_sha256);
    (void)snprintf(v->expected_run, sizeof v->expected_run, "%s", session.settings.run);
    view_refresh(v);
    if (view_may_write(v, &why) != KERN_OK) {
        view_say(v, true, "%s", why.text);
    } else {
        view_say(v, false, "read: %s", path);
    }
    return KERN_OK;
}

kern_status view_run_accept_model(view *v, const char *arguments, kern_error *err)
{
    KERN_TRY(view_args_none("accept-model", arguments, err));
    if (v->subject == NULL) {
        return view_may_write(v, err);
    }
    v->expected[0] = '\0';
    view_refresh(v);
    view_say(v, false, "the model is taken as it is");
    return KERN_OK;
}

/* ---- Widgets --------------------------------------------------------------------------------- */

kern_status view_run_describe(view *v, const char *arguments, kern_error *err)
{
    char path[VIEW_TEXT];
    char *text = NULL;
    KERN_TRY(view_args_path(path, "describe", arguments, err));
    KERN_TRY(view_describe(v, &text, err));
    const kern_status status = write_text(path, text, err);
    free(text);
    KERN_TRY(status);
    view_say(v, false, "written: %s", path);
    return KERN_OK;
}

kern_status view_run_screenshot(view *v, const char *arguments, kern_error *err)
{
    char path[VIEW_TEXT];
    KERN_TRY(view_args_path(path, "screenshot", arguments, err));
    memcpy(v->capture, path, sizeof path);
    /* Said now and not when it is written: the picture is the window as it then stays. */
    view_say(v, false, "picture of the window: %s", path);
    return KERN_OK;
}
