/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A user in front of the explorer's window: frames, the pointer, keys. Include after cmocka.h.
 */
#ifndef BASIN_VIEW_TEST_DESK_H
#define BASIN_VIEW_TEST_DESK_H

#include "tests/viz/view_test_model.h"
#include "viz/view/view_cache.h"

#include <math.h>

enum { WIDTH = 900, HEIGHT = 640 };

/* A view, the surface its frames go to, and the pointer. */
typedef struct desk {
    view *v;
    cairo_surface_t *image;
    double x, y;
} desk;

static inline void show(desk *d, const ui_input *input)
{
    kern_error err = {0};
    cairo_t *cr = cairo_create(d->image);
    if (view_frame(d->v, cr, WIDTH, HEIGHT, 0.0, input, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    cairo_destroy(cr);
    cairo_surface_flush(d->image);
    d->x = input->x;
    d->y = input->y;
}

static inline void idle(desk *d)
{
    const ui_input input = {.x = d->x, .y = d->y};
    double wait;
    int frames = 0;
    do {
        show(d, &input);
    } while (view_wants_frame(d->v, 0.0, &wait) && ++frames < 20);
}

static inline void settle(desk *d)
{
    view_settle(d->v);
    idle(d);
}

static inline desk open_desk(view *v)
{
    desk d = {.v = v, .x = -1.0, .y = -1.0};
    d.image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
    idle(&d);
    return d;
}

static inline void close_desk(desk *d)
{
    cairo_surface_destroy(d->image);
    view_destroy(d->v);
}

/* ---- The user ---- */

static inline void press_at(desk *d, double x, double y, bool ctrl)
{
    ui_input input = {.x = x, .y = y, .down = true, .pressed = true, .ctrl = ctrl};
    show(d, &input);
    input.down = input.pressed = false;
    input.released = true;
    show(d, &input);
    idle(d);
}

static inline void drag(desk *d, double x0, double y0, double x1, double y1, bool shift)
{
    ui_input input = {.x = x0, .y = y0, .down = true, .pressed = true, .shift = shift};
    show(d, &input);
    input.pressed = false;
    for (int i = 1; i <= 4; i++) {
        input.x = x0 + 0.25 * i * (x1 - x0);
        input.y = y0 + 0.25 * i * (y1 - y0);
        show(d, &input);
    }
    input.down = false;
    input.released = true;
    show(d, &input);
    idle(d);
}

static inline viz_rect rect_of(const desk *d, const char *id)
{
    const ui_node *node = ui_find(d->v->ui, id);
    if (node == NULL) {
        fail_msg("there is no widget %s", id);
    }
    const double s = d->v->s.scale;
    return (viz_rect){s * node->rect.x, s * node->rect.y, s * node->rect.w, s * node->rect.h};
}

static inline void press(desk *d, const char *id)
{
    const viz_rect r = rect_of(d, id);
    press_at(d, r.x + 0.5 * r.w, r.y + 0.5 * r.h, false);
}

static inline void key(desk *d, ui_code code, char letter, bool ctrl)
{
    ui_input input = {.x = -1.0, .y = -1.0, .n_keys = 1};
    input.keys[0] = (ui_key){.code = code, .letter = letter, .ctrl = ctrl};
    show(d, &input);
    idle(d);
}

static inline void type(desk *d, const char *text)
{
    ui_input input = {.x = -1.0, .y = -1.0};
    (void)snprintf(input.text, sizeof input.text, "%.255s", text);
    show(d, &input);
    idle(d);
}

#endif
