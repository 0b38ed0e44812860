/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The picture in the middle: the scene that is also written to files, without the panels below its
 * map, which the dock draws along the slider of steps.
 */
#include "viz/view/view_frame.h"

#include <math.h>
#include <stdio.h>

/* Logical units of a point of the page: its smallest text is then about as high as the widgets'. */
/* A picture that fails in less has failed for want of room. */
#define ROOM_WIDTH  300.0
#define ROOM_HEIGHT 150.0

#define ZOOM       1.5
#define PAGE_WIDTH 380.0 /* points, below which the zoom gives way */

#define NOTICE 44.0 /* above a picture that is of settings before */

#define CROSS   6.0
#define UPRIGHT 1.5707963267948966

static void draw_notice(view_desk *d, viz_rect area)
{
    const view *v = d->v;
    const viz_rect middle = {area.x + 0.15 * area.w, area.y, 0.7 * area.w, area.h};
    char text[512];
    char label[MODEL_TOKENIZER_LABEL];
    if (v->subject == NULL) {
        (void)snprintf(text, sizeof text, "%s", v->said);
        view_desk_text(d, "notice", middle, text, true);
    } else if (v->broken.status != KERN_OK) {
        view_desk_text(d, "notice", middle, v->broken.text, true);
    } else if (d->c->why.status != KERN_OK && (area.w < ROOM_WIDTH || area.h < ROOM_HEIGHT)) {
        view_desk_text(d, "notice", middle, "no room for the picture (Ctrl and \xe2\x88\x92)",
                       true);
    } else if (d->c->why.status != KERN_OK) {
        view_desk_text(d, "notice", middle, d->c->why.text, true);
    } else if (v->s.token == VIEW_ALL) {
        (void)snprintf(text, sizeof text,
                       "Computing the energy of all %zu tokens on the plane %s …", v->subject->n,
                       dyn_plane_kind_name(dyn_plane_kind_at((size_t)v->s.plane)));
        view_desk_text(d, "notice", middle, text, false);
    } else {
        view_subject_token(v->subject, v->s.token, label, sizeof label);
        (void)snprintf(text, sizeof text,
                       "Computing the energy of token %zu “%s” on the plane %s …", v->s.token,
                       label, dyn_plane_kind_name(dyn_plane_kind_at((size_t)v->s.plane)));
        view_desk_text(d, "notice", middle, text, false);
    }
}

/* Two strokes along the principal curvatures, or upright where there are none, as long as the cross
 * of a map's point. */
static void draw_measure(view_desk *d, viz_rect area)
{
    const view_measure *m = &d->v->measure;
    double at[2];
    if (!d->v->has_measure || !view_cache_point(d->c, m->a, m->b, m->energy, at) || at[0] < 0.0 ||
        at[0] > area.w || at[1] < 0.0 || at[1] > area.h) {
        return;
    }
    const double x = area.x + at[0];
    const double y = area.y + at[1];
    for (int pass = 0; pass < 2; pass++) {
        const double grey = pass == 0 ? VIZ_HALO_GREY : 1.0;
        view_desk_paint(d, (viz_rgb){grey, grey, grey}, 1.0);
        for (int k = 0; k < 2; k++) {
            const double angle = isfinite(m->page[k]) ? m->page[k] : k * UPRIGHT;
            const double dx = CROSS * cos(angle);
            const double dy = -CROSS * sin(angle);
            view_desk_line(d, x - dx, y - dy, x + dx, y + dy, pass == 0 ? 4.0 : 1.5);
        }
    }
}

static void describe(const view *v, char *out, size_t size)
{
    double r[4];
    out[0] = '\0';
    if (v->picture != NULL) {
        view_cache_range(v, r);
        (void)snprintf(out, size, "a from %.4g to %.4g, b from %.4g to %.4g", r[0], r[1], r[2],
                       r[3]);
    }
}

void view_frame_picture(view_desk *d, viz_rect area)
{
    view *v = d->v;
    char value[160];
    kern_error err = {0};
    if (!(area.w >= 1.0 && area.h >= 1.0)) {
        return;
    }
    const bool before = v->picture != NULL && v->broken.status != KERN_OK;
    const viz_rect notice = {area.x, area.y, area.w, NOTICE};
    if (before && area.h > 2.0 * NOTICE) {
        area.y += NOTICE;
        area.h -= NOTICE;
    }
    describe(v, value, sizeof value);
    const ui_canvas_event event = ui_canvas(d->u, "field", area, view_title(v), value);
    view_frame_point(d, &event);
    view_cache_update(v, d->cr, area, fmax(1.0, fmin(ZOOM, area.w / PAGE_WIDTH)));
    if (d->c->scene == NULL) {
        draw_notice(d, area);
        return;
    }
    if (view_cache_draw(d->c, d->cr, area, &err) != KERN_OK) {
        view_say(v, true, "%s", err.text);
    }
    draw_measure(d, area);
    view_desk_focus(d, "field", area);
    if (before) {
        draw_notice(d, notice);
    }
}
