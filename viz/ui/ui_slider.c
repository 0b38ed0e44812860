/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sliders. The upper half of the rectangle holds label, value, and the landmarks' names, the lower
 * one the track.
 */
#include "viz/ui/ui_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that are placed at most, and air on both sides of a text (that of ui_label). */
enum { UI_MARKS_MAX = 8 };
#define AIR 7.0
#define AT  0.005 /* of the track */

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

/* Of a number, also one like 1e-3. What a number begins with is in the front part. */
#define OPENING "0123456789.-+"
#define NUMBER  OPENING "eE"

/* Typing starts with the first digit, sign or point on the focused slider. */
static void start_typing(ui *u, const ui_node *node)
{
    const char *text = u->frame.input->text;
    if (!ui_has_focus(u, node->id) || ui_same(u->edit.id, node->id) || text[0] == '\0' ||
        u->text_taken || strchr(OPENING, text[0]) == NULL) {
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
    (void)ui_edit_apply(u, u->edit.text, sizeof u->edit.text, &u->edit.caret, NUMBER);
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

static bool has_place(const ui_range *r, const ui_landmark *l)
{
    return l->at >= r->low && l->at <= r->high;
}

/* The very step, or where steps are none, under the middle of the thumb. */
static bool is_at(const ui_range *r, double landmark, double value)
{
    return r->step > 0.0 ? fabs(landmark - value) < 0.5 * r->step
                         : fabs(place_of(r, landmark) - place_of(r, value)) <= AT;
}

/* Value, unit, and the landmark that it is at. Returns the bytes before the landmark. */
static size_t describe(const ui_range *r, double value, char *out, size_t size)
{
    const ui_landmark *near = NULL;
    for (size_t i = 0; i < r->n_landmarks; i++) {
        const ui_landmark *l = &r->landmarks[i];
        if (has_place(r, l) && is_at(r, l->at, value)) {
            near = l;
        }
    }
    const int n = snprintf(out, size, "%.4g%s%s", value, r->unit != NULL ? " " : "",
                           r->unit != NULL ? r->unit : "");
    const size_t used = n < 0 ? 0 : (size_t)fmin((double)n, (double)size - 1.0);
    if (near != NULL) {
        (void)snprintf(out + used, size - used, " · %s", near->label);
    }
    return used;
}

/* ---- Names of landmarks ---------------------------------------------------------------------- */

typedef struct names {
    viz_rect row; /* what is free: the right part of the upper half */
    viz_rect taken[UI_MARKS_MAX];
    size_t n;
} names;

static bool is_free(const names *t, viz_rect a)
{
    bool is = a.x >= t->row.x && a.x + a.w <= t->row.x + t->row.w;
    for (size_t i = 0; i < t->n; i++) {
        const viz_rect b = t->taken[i];
        is = is && (a.x + AIR >= b.x + b.w || a.x + a.w <= b.x + AIR);
    }
    return is;
}

/* A name stands in the middle over its tick, or at the row's end, or beside it; always with the
 * tick below it. */
static bool find_room(const names *t, double tick, double width, viz_rect *out)
{
    const double middle = tick - 0.5 * width;
    const double last = t->row.x + t->row.w - width;
    const double lefts[] = {middle, fmin(fmax(middle, t->row.x), last), tick - width + AIR,
                            tick - AIR};
    for (size_t i = 0; i < sizeof lefts / sizeof *lefts; i++) {
        *out = (viz_rect){lefts[i], t->row.y, width, t->row.h};
        if (tick >= lefts[i] && tick <= lefts[i] + width && is_free(t, *out)) {
            return true;
        }
    }
    return false;
}

/* Names as many landmarks as have room; true when all have. */
static bool name_landmarks(ui *u, const char *id, const ui_range *r, viz_rect track, names *t)
{
    bool all = true;
    for (size_t i = 0; i < r->n_landmarks && t->n < UI_MARKS_MAX; i++) {
        const ui_landmark *l = &r->landmarks[i];
        const char *const forms[] = {l->label, l->brief};
        const double tick = track.x + track.w * place_of(r, l->at);
        bool named = !has_place(r, l);
        for (size_t k = 0; k < 2 && !named && forms[k] != NULL; k++) {
            char name[UI_ID_MAX];
            viz_rect rect;
            const double width = ceil(ui_text_width(u, forms[k], strlen(forms[k]))) + 2.0 * AIR;
            if (find_room(t, tick, width, &rect)) {
                (void)snprintf(name, sizeof name, "%.20s.mark.%u", id, (unsigned)i);
                ui_label(u, name, rect, forms[k], UI_FAINT);
                t->taken[t->n++] = rect;
                named = true;
            }
        }
        all = all && named;
    }
    return all;
}

/* Label and value at the left, then names. Where names or the label have no room, the value alone
 * tells what landmark it is at. */
static void draw_words(ui *u, const ui_node *node, const ui_range *r, viz_rect track, size_t bare)
{
    const bool typing = ui_same(u->edit.id, node->id);
    const viz_rect rect = {node->rect.x, node->rect.y, node->rect.w, 0.5 * node->rect.h};
    const double label = ui_text_width(u, r->label, strlen(r->label)) + AIR;
    char value[UI_TEXT_MAX];
    (void)snprintf(value, sizeof value, "%.*s", typing ? (int)sizeof value - 1 : (int)bare,
                   typing ? u->edit.text : node->value);
    const double width = ui_text_width(u, value, strlen(value)) + AIR;
    const double used = label + width + AIR;
    names t = {.row = {rect.x + used, rect.y, rect.w - used, rect.h}};
    const bool all = name_landmarks(u, node->id, r, track, &t);
    if (!all && !typing && t.n == 0) {
        (void)snprintf(value, sizeof value, "%s", node->value);
    }
    ui_text(u, (viz_rect){rect.x, rect.y, label + AIR, rect.h}, r->label, UI_PLAIN, 0.0);
    ui_text(u, (viz_rect){rect.x + label, rect.y, rect.w - label, rect.h}, value,
            typing ? UI_STRONG : UI_PLAIN, 0.0);
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
    const size_t bare = describe(range, *value, node->value, sizeof node->value);
    draw_words(u, node, range, track, bare);
    draw_track(u, node, range, track, *value);
    return changed;
}
