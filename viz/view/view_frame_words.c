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

static double length_of(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

/* ", ΔE = …", or nothing where the change is not known. */
static const char *change(char out[64], double by)
{
    char number[32];
    out[0] = '\0';
    if (isfinite(by)) {
        (void)snprintf(out, 64,
                       ", \xce\x94"
                       "E = %s",
                       view_number(number, 5, by));
    }
    return out;
}

enum { TOP = 3, ATTENDED = 220, NUMBERS = 24 /* beside a text, with the quotes */ };

/* "; attends to 2 “(” 41 %, … (mean of 2 heads)" of a token at a state, or why nothing; nothing
 * until the weights are known. Texts that find no room are left out. */
static void tell_attended(const view *v, size_t t, size_t token, char out[ATTENDED])
{
    size_t top[TOP];
    char label[MODEL_TOKENIZER_LABEL];
    const view_attention *a = view_tasks_attention(v);
    const double *weights = a != NULL && a->heads > 0 ? view_attention_of(a, t, token) : NULL;
    out[0] = '\0';
    if (weights == NULL) {
        (void)snprintf(out, ATTENDED, "%s",
                       a != NULL && a->heads == 0 ? "; there is no attention in this part" : "");
        return;
    }
    const size_t n = view_attention_top(weights, token, TOP, top);
    size_t used = (size_t)snprintf(out, ATTENDED, "; attends to %s", n == 0 ? "none" : "");
    for (size_t i = 0; i < n; i++) {
        view_subject_token(v->subject, top[i], label, sizeof label);
        if (used + strlen(label) + 2 * NUMBERS < ATTENDED) {
            used += (size_t)snprintf(out + used, ATTENDED - used, "%s%zu “%s” %.0f %%",
                                     i > 0 ? ", " : "", top[i], label, 100.0 * weights[top[i]]);
        }
    }
    if (n > 0 && a->heads > 1) {
        (void)snprintf(out + used, ATTENDED - used, " (mean of %zu heads)", a->heads);
    }
}

/* Who moves: a token by number and text, or all. */
static void who_moves(const view_landscape *l, size_t index, char *out, size_t size)
{
    char token[MODEL_TOKENIZER_LABEL];
    if (index == MODEL_SLICE_SUM) {
        (void)snprintf(out, size, "all tokens");
        return;
    }
    view_subject_token(l->subject, index, token, sizeof token);
    (void)snprintf(out, size, "token %zu “%s”", index, token);
}

/* State t of a path that is the chosen token's or another one's. */
static void describe_state(const view_desk *d, const view_path *path, size_t token, size_t t,
                           char *out, size_t size)
{
    char e[32];
    char step[64];
    char who[MODEL_TOKENIZER_LABEL + 40];
    char attended[ATTENDED] = "";
    const view_landscape *l = d->c->ground->key.picture->landscape;
    const double share = path->distance[t] > 0.0 ? path->residual[t] / path->distance[t] : 0.0;
    const bool all = token == MODEL_SLICE_SUM;
    const size_t n = all ? l->plane->size : l->plane->block_width;
    const double *x = l->path.states + t * l->plane->size + (all ? 0 : token * n);
    who_moves(l, token, who, sizeof who);
    if (!all) {
        tell_attended(d->v, t, token, attended);
    }
    (void)snprintf(out, size, "%s, state %zu: E = %s%s, |x| = %.4g, %.0f %% off the plane%s", who,
                   t, view_number(e, 5, path->energy[t]),
                   change(step, t > 0 ? path->energy[t] - path->energy[t - 1] : (double)NAN),
                   length_of(x, n), 100.0 * share, attended);
}

void view_desk_token(view_desk *d, size_t token)
{
    char text[MODEL_TOKENIZER_LABEL];
    char e[32];
    char step[64];
    const view *v = d->v;
    const size_t t = v->s.step;
    const double *energies = view_cache_energies(d->v, t);
    char attended[ATTENDED];
    if (energies == NULL || token >= v->subject->n) {
        return;
    }
    const view_path *path = &v->picture->landscape->path;
    const size_t size = v->subject->map->size;
    const size_t width = size / v->subject->n;
    view_subject_token(v->subject, token, text, sizeof text);
    const double before =
        t > 0 ? energies[token] - view_cache_energies(d->v, t - 1)[token] : (double)NAN;
    tell_attended(v, t, token, attended);
    (void)snprintf(d->hint, sizeof d->hint, "token %zu “%s”, step %zu: E = %s%s, |x| = %.4g%s",
                   token, text, t, view_number(e, 5, energies[token]), change(step, before),
                   length_of(path->states + t * size + token * width, width), attended);
}

static void describe_place(const view_desk *d, char *out, size_t size)
{
    char a[32];
    char b[32];
    char e[32];
    char who[MODEL_TOKENIZER_LABEL + 40];
    const view_cache *c = d->c;
    who_moves(c->ground->key.picture->landscape, c->ground->key.picture->landscape->token, who,
              sizeof who);
    const double energy = view_cache_energy(c, c->hover);
    const bool has =
        dyn_plane_has(c->ground->key.picture->landscape->plane, c->hover[0], c->hover[1]);
    (void)snprintf(out, size, "%s at (%s, %s)%s%s", who, view_number(a, 5, c->hover[0]),
                   view_number(b, 5, c->hover[1]), isfinite(energy) ? ": E = " : "",
                   isfinite(energy) ? view_number(e, 5, energy)
                   : has            ? ""
                                    : ": outside of the chart");
}

static void describe_hover(const view_desk *d, char *out, size_t size)
{
    const view_cache *c = d->c;
    (void)snprintf(out, size, "%s", d->hint);
    if (c->scene == NULL || !c->hovered) {
        return;
    }
    size_t of_other = 0;
    const view_landscape *l = c->ground->key.picture->landscape;
    const size_t t = view_frame_state_at(d, c->pointer[0], c->pointer[1]);
    const size_t other = view_frame_other_at(d, c->pointer[0], c->pointer[1], &of_other);
    if (t != SIZE_MAX) {
        describe_state(d, &l->path, l->token, t, out, size);
    } else if (other != SIZE_MAX) {
        describe_state(d, &l->others[other], l->also[other], of_other, out, size);
    } else if (isfinite(c->hover[0])) {
        describe_place(d, out, size);
    }
}

static const char *work_of(const view *v)
{
    static const char *const names[VIEW_SLOTS] = {
        [VIEW_SLOT_PICTURE] = "energies …",    [VIEW_SLOT_MEASURE] = "measuring …",
        [VIEW_SLOT_ATTENTION] = "attention …", [VIEW_SLOT_LANDMARKS] = "stability …",
        [VIEW_SLOT_ORBIT] = "orbits …",        [VIEW_SLOT_BASINS] = "basins …",
        [VIEW_SLOT_STEPS] = "other steps …"};
    for (size_t slot = 0; slot < VIEW_SLOTS; slot++) {
        if (view_work_state(v->work, slot) != VIEW_SLOT_IDLE) {
            return names[slot];
        }
    }
    return "";
}

void view_frame_words(view_desk *d, viz_rect area)
{
    char hover[VIEW_HINT];
    bool failed = false;
    const char *said = view_said(d->v, &failed);
    const bool two = area.h > 2.0 * LINE;
    const double line = two ? 0.5 * area.h : area.h;
    viz_rect told = {area.x, area.y, two ? area.w : area.w - BUSY, line};
    viz_rect under = {area.x, area.y + line, area.w - BUSY, line};
    describe_hover(d, hover, sizeof hover);
    if (!two && hover[0] != '\0') {
        /* What was said can wait while one points at something; a failure cannot. */
        const double share = failed ? fmin(360.0, 0.4 * area.w) : told.w;
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
