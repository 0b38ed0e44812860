/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sliders. The upper half of the rectangle holds label and value, the lower one the track with its
 * landmarks.
 */
#include "viz/ui/ui_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double clamp(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/* Place of a value along the track, 0 … 1, and back. */
static double place_of(const ui_range *r, double value)
{
    const double x = clamp(value, r->low, r->high);
    return r->log ? log(x / r->low) / log(r->high / r->low) : (x - r->low) / (r->high - r->low);
}

static double value_at(const ui_range *r, double place)
{
    const double t = clamp(place, 0.0, 1.0);
    if (r->log) {
        return r->low * pow(r->high / r->low, t);
    }
    const double x = r->low + t * (r->high - r->low);
    return r->step > 0.0 ? fmin(r->low + round((x - r->low) / r->step) * r->step, r->high) : x;
}

/* Places that an arrow moves by: a step of the values, or a hundredth. */
static double nudge(const ui_range *r)
{
    return r->step > 0.0 && !r->log ? r->step / (r->high - r->low) : 0.01;
}

static bool set(const ui_range *r, double *value, double place)
{
    const double next = value_at(r, place);
    const bool changed = next != *value;
    *value = next;
    return changed;
}

static bool keys(ui *u, const ui_node *node, const ui_range *r, double *value)
{
    const struct {
        ui_code code;
        double by;
    } moves[] = {{UI_LEFT, -nudge(r)},
                 {UI_DOWN, -nudge(r)},
                 {UI_RIGHT, nudge(r)},
                 {UI_UP, nudge(r)},
                 {UI_PAGE_DOWN, -fmax(0.1, nudge(r))},
                 {UI_PAGE_UP, fmax(0.1, nudge(r))},
                 {UI_HOME, -2.0},
                 {UI_END, 2.0}};
    bool changed = false;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        while (ui_focus_key(u, node->id, moves[i].code)) {
            changed = set(r, value, place_of(r, *value) + moves[i].by) || changed;
        }
    }
    return changed;
}

/* Typing starts with the first digit, sign or point on the focused slider. */
static void start_typing(ui *u, const ui_node *node)
{
    const char *text = u->frame.input->text;
    if (!ui_has_focus(u, node->id) || ui_same(u->edit.id, node->id) || text[0] == '\0' ||
        u->text_taken || strchr("0123456789.-+", text[0]) == NULL) {
        return;
    }
    ui_copy_id(u->edit.id, node->id);
    u->edit.text[0] = '\0';
    u->edit.caret = 0;
}

static bool typed(ui *u, const ui_node *node, const ui_range *r, double *value)
{
    start_typing(u, node);
    if (!ui_same(u->edit.id, node->id)) {
        return false;
    }
    if (ui_focus_key(u, node->id, UI_ESCAPE)) {
        ui_edit_stop(u);
        return false;
    }
    (void)ui_edit_apply(u, u->edit.text, sizeof u->edit.text, &u->edit.caret);
    if (!ui_focus_key(u, node->id, UI_ENTER)) {
        return false;
    }
    char *end = NULL;
    const double x = strtod(u->edit.text, &end);
    const bool good = end != u->edit.text && *end == '\0' && isfinite(x);
    ui_edit_stop(u);
    return good && set(r, value, place_of(r, x));
}

static bool pointer(ui *u, ui_touch touch, const ui_range *r, viz_rect track, double *value)
{
    const ui_input *in = u->frame.input;
    bool changed = false;
    if (touch.active && (in->pressed || in->x != u->last_x)) {
        changed = set(r, value, (in->x - track.x) / track.w);
    }
    if (touch.hot && in->wheel != 0.0) {
        changed = set(r, value, place_of(r, *value) + in->wheel * nudge(r)) || changed;
    }
    return changed;
}

static void draw_track(ui *u, const ui_node *node, const ui_range *r, viz_rect track, double value)
{
    cairo_t *cr = u->frame.cr;
    const double mid = track.y + track.h / 2.0;
    ui_paint_mix(u, VIZ_PAINT_PAGE, VIZ_PAINT_MUTED, 1.0);
    cairo_set_line_width(cr, 2.0);
    cairo_move_to(cr, track.x, mid);
    cairo_line_to(cr, track.x + track.w, mid);
    cairo_stroke(cr);
    for (size_t i = 0; i < r->n_landmarks; i++) {
        const double at = r->landmarks[i].at;
        if (at >= r->low && at <= r->high) {
            const double x = track.x + track.w * place_of(r, at);
            const viz_rgb c = viz_colour_class(1, u->frame.theme);
            cairo_set_source_rgb(cr, c.r, c.g, c.b);
            cairo_move_to(cr, x, mid - 7.0);
            cairo_line_to(cr, x, mid + 7.0);
            cairo_stroke(cr);
        }
    }
    ui_node thumb = *node;
    thumb.rect = (viz_rect){track.x + track.w * place_of(r, value) - 6.0, mid - 8.0, 12.0, 16.0};
    ui_face(u, &thumb, 0.9);
}

/* Value, unit, and the landmark nearest on the track, which names what the mark means. */
static void describe(const ui_range *r, double value, char *out, size_t size)
{
    const ui_landmark *near = NULL;
    for (size_t i = 0; i < r->n_landmarks; i++) {
        const ui_landmark *l = &r->landmarks[i];
        if (fabs(place_of(r, l->at) - place_of(r, value)) <= 0.02 && l->at >= r->low &&
            l->at <= r->high) {
            near = l;
        }
    }
    (void)snprintf(out, size, "%.4g%s%s%s%s", value, r->unit != NULL ? " " : "",
                   r->unit != NULL ? r->unit : "", near != NULL ? " · " : "",
                   near != NULL ? near->label : "");
}

bool ui_slider(ui *u, const char *id, viz_rect rect, const ui_range *range, double *value)
{
    ui_node *node = ui_add(u, id, UI_ROLE_SLIDER, range->label, rect, true);
    const double half = rect.h / 2.0;
    const viz_rect track = {rect.x + 8.0, rect.y + half, rect.w - 16.0, half};
    const ui_touch touch = ui_interact(u, node);
    bool changed = pointer(u, touch, range, track, value);
    changed = typed(u, node, range, value) || changed;
    changed = (!ui_same(u->edit.id, id) && keys(u, node, range, value)) || changed;
    node->low = range->low;
    node->high = range->high;
    node->now = *value;
    describe(range, *value, node->value, sizeof node->value);
    const bool typing = ui_same(u->edit.id, id);
    const char *value_text = typing ? u->edit.text : node->value;
    /* The value is worth more than the label where there is not room for both. */
    const double left = rect.w - ui_text_width(u, value_text, strlen(value_text)) - 14.0;
    ui_text(u, (viz_rect){rect.x, rect.y, left, half}, range->label, UI_PLAIN, 0.0);
    ui_text(u, (viz_rect){rect.x, rect.y, rect.w, half}, value_text, typing ? UI_STRONG : UI_PLAIN,
            1.0);
    draw_track(u, node, range, track, *value);
    return changed;
}
