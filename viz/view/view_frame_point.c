/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the pointer and the keys do on the picture.
 *
 * On the map the wheel zooms about the pointer, dragging moves it, dragging with Shift turns the
 * axes, a click selects the state there or measures the place, and a click with Ctrl starts a
 * trajectory. On the surface dragging turns it. The choice "pointer" makes a plain drag or click do
 * what it does with a key held. Arrows with Ctrl move the map, or turn the surface.
 */
#include "viz/view/view_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLICK    3.0   /* farther than this a press is a drag */
#define NEAR     9.0   /* from a state, to select it */
#define WHEEL    0.85  /* what a line of the wheel leaves of the range */
#define NUDGE    0.1   /* of the range, by an arrow */
#define TURN_KEY 12.0  /* units of a drag, by an arrow */
#define TURNING  0.008 /* radians of the surface by unit of a drag */
#define FLATTEST 0.05  /* elevation at which a drag stops */

static bool is_surface(const view_desk *d)
{
    return d->c->scene != NULL && d->c->scene->panels[0].surface;
}

/* State of a path nearer to a place than *least, which becomes its distance; else SIZE_MAX. */
static size_t nearest(const view_cache *c, const view_path *path, double x, double y, double *least)
{
    size_t found = SIZE_MAX;
    for (size_t t = 0; t < path->n; t++) {
        double at[2];
        if (view_cache_point(c, path->a[t], path->b[t], path->energy[t], at)) {
            const double distance = hypot(at[0] - x, at[1] - y);
            found = distance < *least ? t : found;
            *least = fmin(*least, distance);
        }
    }
    return found;
}

size_t view_frame_state_at(const view_desk *d, double x, double y)
{
    double least = NEAR;
    return d->c->scene != NULL
               ? nearest(d->c, &d->c->ground->key.picture->landscape->path, x, y, &least)
               : SIZE_MAX;
}

size_t view_frame_other_at(const view_desk *d, double x, double y, size_t *state)
{
    size_t found = SIZE_MAX;
    double least = NEAR;
    if (d->c->scene == NULL) {
        return found;
    }
    const view_landscape *l = d->c->ground->key.picture->landscape;
    for (size_t i = 0; i < l->n_also; i++) {
        const size_t t = nearest(d->c, &l->others[i], x, y, &least);
        if (t != SIZE_MAX) {
            found = i;
            *state = t;
        }
    }
    return found;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static void set_range(view_desk *d, const double range[4])
{
    view_settings s = d->v->s;
    memcpy(s.range, range, sizeof s.range);
    if (range[0] < range[1] && range[2] < range[3]) {
        (void)view_desk_change(d, &s, "range");
    }
}

/* Keeps the place under the pointer where it is, or the middle when there is none. */
static void zoom(view_desk *d, double factor)
{
    double r[4];
    if (d->v->picture == NULL) {
        return;
    }
    view_cache_range(d->v, r);
    for (int k = 0; k < 2; k++) {
        const double place = d->c->hover[k];
        const double fixed = isfinite(place) ? place : 0.5 * (r[2 * k] + r[2 * k + 1]);
        r[2 * k] = fixed + factor * (r[2 * k] - fixed);
        r[2 * k + 1] = fixed + factor * (r[2 * k + 1] - fixed);
    }
    set_range(d, r);
}

/* Moves the range by shares of itself. */
static void pan(view_desk *d, double across, double up)
{
    double r[4];
    if (d->v->picture == NULL) {
        return;
    }
    view_cache_range(d->v, r);
    const double by[2] = {across * (r[1] - r[0]), up * (r[3] - r[2])};
    for (int k = 0; k < 4; k++) {
        r[k] += by[k / 2];
    }
    set_range(d, r);
}

/* ---- Dragging -------------------------------------------------------------------------------- */

static double within(double angle)
{
    return remainder(angle, 4.0 * acos(0.0));
}

static void turn_surface(view_desk *d, double dx, double dy)
{
    view_settings s = d->v->s;
    s.azimuth = within(s.azimuth - TURNING * dx);
    s.elevation = fmin(fmax(s.elevation + TURNING * dy, FLATTEST), acos(0.0));
    (void)view_desk_change(d, &s, "camera");
}

/* What is seen follows the pointer around the middle of the plot, so the axes turn the other way.
 */
static void turn_plane(view_desk *d, const double from[2], const double to[2])
{
    const viz_rect plot = d->c->ground->layout->frames[0].plot;
    const double x = d->c->zoom * (plot.x + 0.5 * plot.w);
    const double y = d->c->zoom * (plot.y + 0.5 * plot.h);
    view_settings s = d->v->s;
    s.turn = within(s.turn - (atan2(y - to[1], to[0] - x) - atan2(y - from[1], from[0] - x)));
    (void)view_desk_change(d, &s, "turn");
}

static void drag(view_desk *d, const double from[2], const double to[2])
{
    const view_cache *c = d->c;
    const double dx = to[0] - from[0];
    const double dy = to[1] - from[1];
    if (c->scene == NULL || (dx == 0.0 && dy == 0.0)) {
        return;
    }
    const viz_rect plot = c->ground->layout->frames[0].plot;
    if (is_surface(d)) {
        turn_surface(d, dx, dy);
    } else if (c->tool == VIEW_TOOL_TURN || d->in->shift) {
        turn_plane(d, from, to);
    } else {
        pan(d, -dx / (c->zoom * plot.w), dy / (c->zoom * plot.h));
    }
}

/* ---- Clicks ---------------------------------------------------------------------------------- */

static void click(view_desk *d, double x, double y)
{
    char line[96];
    double place[2];
    const size_t state = view_frame_state_at(d, x, y);
    const bool on_map = view_cache_place(d->c, x, y, place);
    const bool seed = d->c->tool == VIEW_TOOL_SEED || d->in->ctrl;
    if (seed && on_map) {
        (void)snprintf(line, sizeof line, "seed %.17g %.17g", place[0], place[1]);
        (void)view_desk_do(d, line);
    } else if (state != SIZE_MAX) {
        (void)snprintf(line, sizeof line, "%zu", state);
        (void)view_desk_set(d, "step", line);
    } else if (on_map) {
        (void)snprintf(line, sizeof line, "measure %.17g %.17g", place[0], place[1]);
        (void)view_desk_do(d, line);
    }
}

static void hold(view_desk *d, const ui_canvas_event *event)
{
    view_cache *c = d->c;
    if (event->pressed) {
        c->held = true;
        c->moved = false;
        c->from[0] = event->x;
        c->from[1] = event->y;
    }
    if (!c->held) {
        return;
    }
    const double to[2] = {event->x, event->y};
    c->moved = c->moved || hypot(to[0] - c->from[0], to[1] - c->from[1]) > CLICK;
    if (c->moved) {
        drag(d, c->from, to);
        c->from[0] = to[0];
        c->from[1] = to[1];
    }
    if (event->released) {
        if (!c->moved) {
            click(d, to[0], to[1]);
        }
        c->held = false;
    } else if (!event->dragged && !event->pressed) {
        c->held = false;
    }
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Arrows alone go through steps and tokens. */
static void arrows(view_desk *d)
{
    static const struct {
        ui_code code;
        double across, up;
    } moves[] = {
        {UI_LEFT, -1.0, 0.0}, {UI_RIGHT, 1.0, 0.0}, {UI_UP, 0.0, 1.0}, {UI_DOWN, 0.0, -1.0}};
    if (d->v->overlay != VIEW_OVER_NOTHING) {
        return;
    }
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        while (ui_take_key(d->u, moves[i].code, 0, true)) {
            if (is_surface(d)) {
                turn_surface(d, TURN_KEY * moves[i].across, TURN_KEY * moves[i].up);
            } else {
                pan(d, NUDGE * moves[i].across, NUDGE * moves[i].up);
            }
        }
    }
}

void view_frame_point(view_desk *d, const ui_canvas_event *event)
{
    view_cache *c = d->c;
    c->hovered = event->hovered;
    c->pointer[0] = event->x;
    c->pointer[1] = event->y;
    (void)view_cache_place(c, event->x, event->y, c->hover);
    if (event->wheel != 0.0) {
        zoom(d, pow(WHEEL, event->wheel));
    }
    hold(d, event);
    arrows(d);
}
