/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The line at the bottom: what was said last, what is under the pointer, what is being computed.
 */
#include "viz/view/view_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINE 18.0  /* less than this is no line */
#define BUSY 110.0 /* width of what is being computed */

#define MINUS "\xe2\x88\x92" /* U+2212 */

const char *view_desk_number(char out[32], double x)
{
    (void)snprintf(out, 32, "%s%.5g", signbit(x) && x != 0.0 ? MINUS : "", fabs(x));
    return out;
}

static double length_of(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

/* ", ΔE = …", or nothing where the energy before is not known. */
static const char *change(char out[64], double before, double now)
{
    char number[32];
    out[0] = '\0';
    if (isfinite(now - before)) {
        (void)snprintf(out, 64,
                       ", \xce\x94"
                       "E = %s",
                       view_desk_number(number, now - before));
    }
    return out;
}

/* Who moves: a token by number and text, or all. */
static void who_moves(const view_landscape *l, char *out, size_t size)
{
    char token[MODEL_TOKENIZER_LABEL];
    if (l->token == MODEL_SLICE_SUM) {
        (void)snprintf(out, size, "all tokens");
        return;
    }
    view_subject_token(l->subject, l->token, token, sizeof token);
    (void)snprintf(out, size, "%zu %s", l->token, token);
}

static void describe_state(const view_desk *d, size_t t, char *out, size_t size)
{
    char e[32];
    char step[64];
    char who[MODEL_TOKENIZER_LABEL + 32];
    const view_landscape *l = d->c->key.picture->landscape;
    const view_path *path = &l->path;
    const double share = path->distance[t] > 0.0 ? path->residual[t] / path->distance[t] : 0.0;
    const bool all = l->token == MODEL_SLICE_SUM;
    const size_t n = all ? l->plane->size : l->plane->block_width;
    const double *x = path->states + t * l->plane->size + (all ? 0 : l->token * n);
    who_moves(l, who, sizeof who);
    (void)snprintf(out, size, "%s, state %zu: E = %s%s, |x| = %.4g, %.0f %% off the plane", who, t,
                   view_desk_number(e, path->energy[t]),
                   change(step, t > 0 ? path->energy[t - 1] : (double)NAN, path->energy[t]),
                   length_of(x, n), 100.0 * share);
}

void view_desk_token(view_desk *d, size_t token)
{
    char text[MODEL_TOKENIZER_LABEL];
    char e[32];
    char step[64];
    const view *v = d->v;
    const size_t t = v->s.step;
    const double *energies = view_cache_energies(d->v, t);
    if (energies == NULL || token >= v->subject->n) {
        return;
    }
    const view_path *path = &v->picture->landscape->path;
    const size_t size = v->subject->map->size;
    const size_t width = size / v->subject->n;
    view_subject_token(v->subject, token, text, sizeof text);
    (void)snprintf(d->hint, sizeof d->hint, "token %zu %s, step %zu: E = %s%s, |x| = %.4g", token,
                   text, t, view_desk_number(e, energies[token]),
                   change(step, energies[v->subject->n + token], energies[token]),
                   length_of(path->states + t * size + token * width, width));
}

static void describe_place(const view_desk *d, char *out, size_t size)
{
    char a[32];
    char b[32];
    char e[32];
    char who[MODEL_TOKENIZER_LABEL + 32];
    const view_cache *c = d->c;
    who_moves(c->key.picture->landscape, who, sizeof who);
    const double energy = view_cache_energy(c, c->hover);
    (void)snprintf(out, size, "%s at (%s, %s)%s%s", who, view_desk_number(a, c->hover[0]),
                   view_desk_number(b, c->hover[1]), isfinite(energy) ? ": E = " : "",
                   isfinite(energy) ? view_desk_number(e, energy) : "");
}

static void describe_hover(const view_desk *d, char *out, size_t size)
{
    const view_cache *c = d->c;
    (void)snprintf(out, size, "%s", d->hint);
    if (c->scene == NULL || !c->hovered) {
        return;
    }
    const size_t t = view_frame_state_at(d, c->pointer[0], c->pointer[1]);
    if (t != SIZE_MAX) {
        describe_state(d, t, out, size);
    } else if (isfinite(c->hover[0])) {
        describe_place(d, out, size);
    }
}

static const char *work_of(const view *v)
{
    static const char *const names[VIEW_SLOTS] = {
        [VIEW_SLOT_PICTURE] = "energies …",    [VIEW_SLOT_MEASURE] = "measuring …",
        [VIEW_SLOT_LANDMARKS] = "stability …", [VIEW_SLOT_ORBIT] = "orbits …",
        [VIEW_SLOT_BASINS] = "basins …",       [VIEW_SLOT_STEPS] = "other steps …"};
    for (size_t slot = 0; slot < VIEW_SLOTS; slot++) {
        if (view_work_state(v->work, slot) != VIEW_SLOT_IDLE) {
            return names[slot];
        }
    }
    return "";
}

void view_frame_words(view_desk *d, viz_rect area)
{
    char hover[256];
    bool failed = false;
    const char *said = view_said(d->v, &failed);
    const bool two = area.h > 2.0 * LINE;
    const double line = two ? 0.5 * area.h : area.h;
    viz_rect told = {area.x, area.y, two ? area.w : area.w - BUSY, line};
    viz_rect under = {area.x, area.y + line, area.w - BUSY, line};
    describe_hover(d, hover, sizeof hover);
    if (!two && hover[0] != '\0') {
        const double share = fmin(360.0, 0.4 * area.w);
        told.w -= share;
        under = (viz_rect){told.x + told.w, area.y, share, line};
    }
    ui_panel(d->u, area);
    ui_label(d->u, "said", told, said, failed ? UI_WARNING : UI_PLAIN);
    if (hover[0] != '\0') {
        ui_label(d->u, "hover", under, hover, UI_PLAIN);
    }
    ui_label(d->u, "busy", (viz_rect){area.x + area.w - BUSY, area.y + area.h - line, BUSY, line},
             work_of(d->v), UI_FAINT);
}
