/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The orbit strip: for every rate the places, on the plane's first axis, that the token comes back
 * to, and below them the largest Lyapunov exponent, with that of the token's rest. A click sets the
 * rate, the wheel zooms, and so do arrows.
 */
#include "viz/view/view_frame.h"

#include "viz/viz_text.h"
#include "viz/viz_ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PADDING   8.0
#define TRACK     8.0 /* as the sliders' */
#define BUTTONS   150.0
#define HEAD      16.0 /* for the names of landmarks */
#define FOOT      15.0 /* for the rates */
#define TICK      90.0 /* between rates that are written */
#define LETTER    9.0  /* no digit of the widgets' font is wider */
#define LABEL_AIR 7.0  /* on both sides of a label's text */
#define SHARE     0.68 /* of the height for the orbits */
#define WHEEL     0.85
#define NARROWEST 1e-9 /* range of rates, of its middle */
#define MOST      1000.0
#define MARGIN    0.06 /* of the values, above and below */
#define AXIS      80.0 /* for the ends of the values, left of the plot */
#define WORDS     18.0 /* a line of words at the left */

typedef struct strip {
    const view_orbit *orbit; /* or NULL */
    viz_rect plot, exponents;
    double from, to;
    double low, high; /* view_orbit_range */
} strip;

/* ---- Places ---------------------------------------------------------------------------------- */

static double strip_x(const strip *s, double rate)
{
    return s->plot.x + s->plot.w * (rate - s->from) / (s->to - s->from);
}

/* Height of a value in a rectangle that holds low … high with some air. */
static double strip_y(viz_rect rect, double low, double high, double value)
{
    const double span = high - low > 0.0 ? (1.0 + 2.0 * MARGIN) * (high - low) : 1.0;
    return rect.y + rect.h * (0.5 - (value - 0.5 * (low + high)) / span);
}

/* ---- Points ---------------------------------------------------------------------------------- */

static void stamp_points(cairo_t *cr, const strip *s)
{
    const view_orbit *o = s->orbit;
    const double step =
        s->plot.w * (o->to - o->from) / ((s->to - s->from) * fmax(1.0, (double)(o->columns - 1)));
    const double w = fmin(fmax(step, 1.0), 16.0);
    for (size_t i = 0; i < o->columns; i++) {
        const double x = strip_x(s, o->rate[i]);
        if (!(x >= s->plot.x && x <= s->plot.x + s->plot.w)) {
            continue;
        }
        for (size_t k = 0; k < o->values; k++) {
            const double a = o->a[i * o->values + k];
            if (isfinite(a)) {
                const double y = strip_y(s->plot, s->low, s->high, a);
                if (y >= s->plot.y && y <= s->plot.y + s->plot.h) {
                    cairo_rectangle(cr, x - 0.5 * w, y - 0.6, w, 1.2);
                }
            }
        }
    }
    cairo_fill(cr);
}

/* Thousands of points are kept as an image until another orbit, range or size comes. */
static void draw_points(view_desk *d, const strip *s, viz_rect area)
{
    view_cache *c = d->c;
    cairo_matrix_t m;
    double sx;
    double sy;
    cairo_get_matrix(d->cr, &m);
    cairo_surface_get_device_scale(cairo_get_target(d->cr), &sx, &sy);
    const double pixels = m.xx * sx;
    const double key[VIEW_STRIP_KEY] = {area.w,
                                        area.h,
                                        s->from,
                                        s->to,
                                        s->low,
                                        s->high,
                                        pixels,
                                        d->v->s.dark ? 1.0 : 0.0,
                                        (double)d->v->n_orbits};
    bool same = c->strip != NULL;
    for (size_t i = 0; i < VIEW_STRIP_KEY; i++) {
        same = same && c->strip_key[i] == key[i];
        c->strip_key[i] = key[i];
    }
    if (!same) {
        cairo_surface_destroy(c->strip);
        c->strip = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)ceil(area.w * pixels),
                                              (int)ceil(area.h * pixels));
        cairo_t *cr = cairo_create(c->strip);
        const viz_rgb ink = view_desk_colour(d, VIZ_PAINT_INK);
        cairo_scale(cr, pixels, pixels);
        cairo_translate(cr, -area.x, -area.y);
        cairo_set_source_rgba(cr, ink.r, ink.g, ink.b, 0.75);
        stamp_points(cr, s);
        cairo_destroy(cr);
    }
    cairo_save(d->cr);
    cairo_translate(d->cr, area.x, area.y);
    cairo_scale(d->cr, 1.0 / pixels, 1.0 / pixels);
    cairo_set_source_surface(d->cr, c->strip, 0.0, 0.0);
    cairo_pattern_set_filter(cairo_get_source(d->cr), CAIRO_FILTER_NEAREST);
    cairo_paint(d->cr);
    cairo_restore(d->cr);
}

/* ---- Exponents ------------------------------------------------------------------------------- */

/* ln |μ| of the token's rest at every rate, whether the orbit has come to it or left it. */
static void draw_rest(view_desk *d, const strip *s, double low, double high)
{
    const view_orbit *o = s->orbit;
    const double dashes[2] = {3.0, 3.0};
    view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_MUTED), 1.0);
    cairo_set_line_width(d->cr, 1.2);
    cairo_set_dash(d->cr, dashes, 2, 0.0);
    for (size_t i = 0; i < o->columns; i++) {
        const double rate = o->columns > 1
                                ? o->from + (o->to - o->from) * (double)i / (double)(o->columns - 1)
                                : o->from;
        const double y = strip_y(s->exponents, low, high, log(o->radius[i]));
        if (isfinite(y)) {
            cairo_line_to(d->cr, strip_x(s, rate), y);
        }
    }
    cairo_stroke(d->cr);
    cairo_set_dash(d->cr, NULL, 0, 0.0);
}

/* Positive ones, which separate neighbours, in the colour of warnings. */
static void draw_exponents(view_desk *d, const strip *s)
{
    const view_orbit *o = s->orbit;
    const viz_theme theme = d->v->s.dark ? VIZ_DARK : VIZ_LIGHT;
    double low = 0.0;
    double high = 0.0;
    for (size_t i = 0; i < o->columns; i++) {
        if (isfinite(o->exponent[i])) {
            low = fmin(low, o->exponent[i]);
            high = fmax(high, o->exponent[i]);
        }
    }
    low = fmax(low, -5.0 * fmax(high, 0.2)); /* superstable orbits go to −∞ */
    const double zero = strip_y(s->exponents, low, high, 0.0);
    view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_GRID), 1.0);
    view_desk_line(d, s->plot.x, zero, s->plot.x + s->plot.w, zero, 1.0);
    cairo_save(d->cr);
    cairo_rectangle(d->cr, s->plot.x, s->exponents.y, s->plot.w, s->exponents.h);
    cairo_clip(d->cr);
    draw_rest(d, s, low, high);
    for (int sign = 0; sign < 2; sign++) {
        double last[2] = {(double)NAN, (double)NAN};
        view_desk_paint(d, viz_colour_class(sign == 1 ? 1 : 0, theme), 1.0);
        cairo_set_line_width(d->cr, 1.2);
        for (size_t i = 0; i < o->columns; i++) {
            const double at[2] = {strip_x(s, o->rate[i]),
                                  strip_y(s->exponents, low, high, o->exponent[i])};
            if (!isfinite(at[0]) || !isfinite(at[1])) {
                continue;
            }
            if (isfinite(last[0]) && (o->exponent[i] > 0.0) == (sign == 1)) {
                cairo_move_to(d->cr, last[0], last[1]);
                cairo_line_to(d->cr, at[0], at[1]);
            }
            last[0] = at[0];
            last[1] = at[1];
        }
        cairo_stroke(d->cr);
    }
    cairo_restore(d->cr);
}

/* ---- Landmarks and the rate ------------------------------------------------------------------ */

static void draw_landmark(view_desk *d, const strip *s, const char *id, const char *name,
                          double rate)
{
    const double dashes[2] = {4.0, 3.0};
    if (!(rate >= s->from && rate <= s->to)) {
        return;
    }
    const double x = strip_x(s, rate);
    cairo_set_dash(d->cr, dashes, 2, 0.0);
    view_desk_paint(d, viz_colour_class(1, d->v->s.dark ? VIZ_DARK : VIZ_LIGHT), 1.0);
    view_desk_line(d, x, s->plot.y, x, s->exponents.y + s->exponents.h, 1.0);
    cairo_set_dash(d->cr, NULL, 0, 0.0);
    const double width = 120.0;
    const double left = fmin(x - 7.0, s->plot.x + s->plot.w - width);
    ui_label(d->u, id, (viz_rect){left, s->plot.y - HEAD, width, HEAD}, name, UI_WARNING);
}

/* Rates under the strip, with lines up to it. */
static void draw_rates(view_desk *d, const strip *s)
{
    viz_ticks ticks;
    kern_error err;
    char id[UI_ID_MAX];
    char text[VIZ_TICKS_TEXT];
    const double foot = s->exponents.y + s->exponents.h;
    const size_t target = (size_t)fmin(fmax(s->plot.w / TICK, 2.0), 12.0);
    if (viz_ticks_linear(&ticks, s->from, s->to, target, false, &err) != KERN_OK) {
        return;
    }
    for (size_t i = 0; i < ticks.n_major; i++) {
        const double x = strip_x(s, ticks.major[i]);
        view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_GRID), 1.0);
        view_desk_line(d, x, s->plot.y, x, foot, 1.0);
        (void)viz_text_plain(text, sizeof text, ticks.label[i]);
        (void)snprintf(id, sizeof id, "strip.rate.%zu", i);
        const double wide = LETTER * (double)strlen(text) + 2.0 * LABEL_AIR;
        const double left = fmin(x - 0.5 * wide, s->plot.x + s->plot.w + TRACK - wide);
        ui_label(d->u, id, (viz_rect){left, foot, wide, FOOT}, text, UI_FAINT);
    }
}

static void draw_landmarks(view_desk *d, const strip *s)
{
    const view_landmarks *l = &d->v->landmarks;
    if (d->v->has_landmarks && l->found) {
        draw_landmark(d, s, "strip.flip", "flip", l->flip);
        draw_landmark(d, s, "strip.ns", "Neimark–Sacker", l->ns);
    } else if (d->v->has_landmarks) {
        ui_label(d->u, "strip.why",
                 (viz_rect){s->plot.x - TRACK, s->plot.y - HEAD, s->plot.w, HEAD}, l->why,
                 UI_FAINT);
    }
    const double rate = d->v->s.rate;
    if (rate >= s->from && rate <= s->to) {
        const double x = strip_x(s, rate);
        view_desk_paint(d, viz_colour_class(0, d->v->s.dark ? VIZ_DARK : VIZ_LIGHT), 1.0);
        view_desk_line(d, x, s->plot.y, x, s->exponents.y + s->exponents.h, 2.0);
    }
}

/* The computed column nearest to the rate; SIZE_MAX when there is none. */
static size_t nearest(const view_desk *d, const strip *s)
{
    const view_orbit *o = s->orbit;
    size_t near = SIZE_MAX;
    double least = HUGE_VAL;
    for (size_t i = 0; o != NULL && i < o->columns; i++) {
        const double distance = fabs(o->rate[i] - d->v->s.rate);
        near = distance < least ? i : near;
        least = fmin(least, distance);
    }
    return near;
}

/* Whether a rate is one of those between the strip's ends. */
static bool is_within(const strip *s, double rate)
{
    return rate >= s->from && rate <= s->to;
}

/* Its rate, and its period in words. */
static void describe(const view_desk *d, const strip *s, size_t near, char *out, size_t size)
{
    const view_orbit *o = s->orbit;
    const char *what = "no period to 64";
    if (!is_within(s, d->v->s.rate)) {
        (void)snprintf(out, size, "rate %.4g is outside", d->v->s.rate);
        return;
    }
    if (near == SIZE_MAX) {
        (void)snprintf(out, size, "orbits …");
        return;
    }
    if (o->period[near] > 0) {
        (void)snprintf(out, size, "at %.4g: period %zu", o->rate[near], o->period[near]);
        return;
    }
    if (view_orbit_is_near_rest(o, near)) {
        what = "close to rest";
    } else if (!view_orbit_has_settled(o, near)) {
        what = "not settled";
    } else if (o->exponent[near] > 0.0) {
        what = "no period, λ > 0";
    }
    (void)snprintf(out, size, "at %.4g: %s", o->rate[near], what);
}

/* What the strip holds: the token, and where those before it are. */
static void explain(view_desk *d)
{
    const view *v = d->v;
    if (v->picture == NULL) {
        return;
    }
    const view_landscape *l = v->picture->landscape;
    const size_t token = l->token == MODEL_SLICE_SUM ? l->subject->n - 1 : l->token;
    (void)snprintf(
        d->hint, sizeof d->hint,
        "coordinate a of token %zu at each rate, after a transient; the tokens before it "
        "held at step %zu of the trained rate 1, scales pinned; what has not settled is cut",
        token, l->at);
}

/* Points that are cut above and below the plot. */
static size_t count_beyond(const strip *s)
{
    const view_orbit *o = s->orbit;
    size_t n = 0;
    for (size_t i = 0; o != NULL && i < o->columns; i++) {
        for (size_t k = 0; k < o->values && is_within(s, o->rate[i]); k++) {
            const double y = strip_y(s->plot, s->low, s->high, o->a[i * o->values + k]);
            n += isfinite(y) && (y < s->plot.y || y > s->plot.y + s->plot.h) ? 1 : 0;
        }
    }
    return n;
}

/* Least and largest value at the plot's lower and upper edge, and the axis's name between, with as
 * many digits as tell the two apart. */
static void draw_axis(view_desk *d, const strip *s)
{
    char text[32];
    const double span = (1.0 + 2.0 * MARGIN) * (s->high - s->low);
    const double middle = 0.5 * (s->low + s->high);
    if (!(span > 0.0) || !isfinite(middle)) {
        return;
    }
    const double places = ceil(log10(fmax(fabs(middle) + 0.5 * span, span) / span));
    const int digits = 2 + (int)fmin(fmax(places, 0.0), 4.0);
    const double x = s->plot.x - AXIS;
    const double foot = s->plot.y + s->plot.h - FOOT;
    ui_label(d->u, "strip.high", (viz_rect){x, s->plot.y, AXIS, FOOT},
             view_number(text, digits, middle + 0.5 * span), UI_FAINT);
    ui_label(d->u, "strip.a", (viz_rect){x, 0.5 * (s->plot.y + foot), AXIS, FOOT}, "a", UI_FAINT);
    ui_label(d->u, "strip.low", (viz_rect){x, foot, AXIS, FOOT},
             view_number(text, digits, middle - 0.5 * span), UI_FAINT);
}

/* At the left of the strip, as many lines as there is room for. */
static void draw_words(view_desk *d, const strip *s, double x)
{
    const view *v = d->v;
    const char *ids[] = {"strip.from", "strip.held", "strip.period", "strip.radius"};
    char lines[4][64] = {"", "", "", ""};
    bool continued = v->s.continued;
    const size_t column = nearest(d, s);
    const size_t beyond = count_beyond(s);
    (void)snprintf(lines[0], sizeof lines[0], "rates %.4g to %.4g", s->from, s->to);
    if (beyond > 0) {
        ids[0] = "strip.beyond";
        (void)snprintf(lines[0], sizeof lines[0], "%zu points beyond", beyond);
    }
    if (v->picture != NULL) {
        (void)snprintf(lines[1], sizeof lines[1], "held: rate 1, t = %zu",
                       v->picture->landscape->at);
    }
    describe(d, s, column, lines[2], sizeof lines[2]);
    if (column != SIZE_MAX && is_within(s, v->s.rate) && isfinite(s->orbit->radius[column])) {
        (void)snprintf(lines[3], sizeof lines[3], "rest: |μ| = %.4g", s->orbit->radius[column]);
    }
    double y = s->plot.y;
    for (size_t i = 0; i < 4; i++) {
        if (lines[i][0] != '\0' && y + WORDS <= s->exponents.y + 2.0) {
            ui_label(d->u, ids[i], (viz_rect){x, y, BUTTONS + 2.0 * UI_GAP, WORDS}, lines[i],
                     i < 2 ? UI_FAINT : UI_PLAIN);
            y += WORDS;
        }
    }
    if (ui_toggle(d->u, "continued", (viz_rect){x, s->plot.y - WORDS, BUTTONS, WORDS}, "continued",
                  &continued)) {
        (void)view_desk_choose(d, "continued", continued ? "on" : "off");
    }
    ui_label(d->u, "strip.exponent", (viz_rect){x, s->exponents.y, BUTTONS, s->exponents.h},
             "exponent; - - at rest", UI_FAINT);
}

/* ---- The pointer ----------------------------------------------------------------------------- */

static void set_rate(view_desk *d, const strip *s, double x)
{
    char value[40];
    const double share = fmin(fmax((x - s->plot.x) / s->plot.w, 0.0), 1.0);
    (void)snprintf(value, sizeof value, "%.17g", s->from + share * (s->to - s->from));
    (void)view_desk_set(d, "rate", value);
}

static void zoom(view_desk *d, const strip *s, double x, double factor)
{
    const double share = fmin(fmax((x - s->plot.x) / s->plot.w, 0.0), 1.0);
    const double fixed = s->from + share * (s->to - s->from);
    view_settings next = d->v->s;
    next.orbit_from = fmax(fixed + factor * (s->from - fixed), 0.0);
    next.orbit_to = fmin(fixed + factor * (s->to - fixed), MOST);
    if (next.orbit_to - next.orbit_from > NARROWEST * next.orbit_to) {
        (void)view_desk_change(d, &next, "orbit-range");
    }
}

/* A column's step along the rates, and zooming about the rate. */
static void take_keys(view_desk *d, const strip *s)
{
    static const struct {
        ui_code code;
        double by, factor;
    } keys[] = {{UI_LEFT, -1.0, 1.0},
                {UI_RIGHT, 1.0, 1.0},
                {UI_UP, 0.0, WHEEL},
                {UI_DOWN, 0.0, 1.0 / WHEEL}};
    const ui_node *node = ui_find(d->u, "strip");
    const double columns = s->orbit != NULL ? (double)s->orbit->columns : 100.0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && node != NULL && node->focused; i++) {
        while (ui_take_key(d->u, keys[i].code, 0, false)) {
            const double x = strip_x(s, d->v->s.rate);
            if (keys[i].by != 0.0) {
                set_rate(d, s, x + keys[i].by * s->plot.w / columns);
            } else {
                zoom(d, s, x, keys[i].factor);
            }
        }
    }
}

void view_frame_orbit(view_desk *d, viz_rect area)
{
    const view *v = d->v;
    const double x = area.x + PADDING + BUTTONS + 2.0 * UI_GAP + AXIS;
    const double w = area.x + area.w - PADDING - TRACK - x;
    const double h = area.h - HEAD - FOOT;
    strip s = {.orbit = v->orbit != NULL && v->orbit->columns > 0 ? v->orbit : NULL,
               .plot = {x, area.y + HEAD, w, SHARE * h},
               .exponents = {x, area.y + HEAD + SHARE * h, w, (1.0 - SHARE) * h},
               .from = v->s.orbit_from,
               .to = v->s.orbit_to};
    char text[128];
    ui_panel(d->u, area);
    if (!(w >= 1.0 && h >= 1.0)) {
        return;
    }
    if (!(s.from < s.to)) {
        ui_label(d->u, "strip.range", area, "orbit-from is not below orbit-to", UI_WARNING);
        return;
    }
    const viz_rect whole = {x - TRACK, area.y, w + 2.0 * TRACK, area.h};
    (void)snprintf(text, sizeof text, "rates %.4g to %.4g", s.from, s.to);
    const ui_canvas_event event = ui_canvas(d->u, "strip", whole, "orbit diagram", text);
    if (event.pressed || (event.dragged && event.dx != 0.0)) {
        set_rate(d, &s, event.x + whole.x);
    }
    if (event.wheel != 0.0) {
        zoom(d, &s, event.x + whole.x, pow(WHEEL, event.wheel));
    }
    take_keys(d, &s);
    if (event.hovered) {
        explain(d);
    }
    if (s.orbit != NULL) {
        view_orbit_range(s.orbit, &s.low, &s.high);
        draw_axis(d, &s);
    }
    draw_words(d, &s, area.x + PADDING);
    view_desk_paint(d, view_desk_colour(d, VIZ_PAINT_PAGE), 1.0);
    cairo_rectangle(d->cr, s.plot.x, s.plot.y, s.plot.w, h);
    cairo_fill(d->cr);
    draw_rates(d, &s);
    if (s.orbit != NULL) {
        draw_points(d, &s, s.plot);
        draw_exponents(d, &s);
    }
    draw_landmarks(d, &s);
    view_desk_focus(d, "strip", whole);
}
