/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The column at the left: what is drawn, how, and of which token.
 */
#include "viz/view/view_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PADDING 8.0

static void draw_buttons(view_desk *d, viz_rect *rest)
{
    const struct {
        const char *id, *label, *line;
        bool enabled;
    } buttons[] = {
        {"commands", "Commands", "palette", true},
        {"help", "Keys", "help", true},
        {"export", "Export", "export", d->v->picture != NULL && !d->v->read_only},
        {"undo", "Undo", "undo", d->v->n_past > 0},
        {"redo", "Redo", "redo", d->v->n_future > 0},
        {"fit", "Fit", "fit", d->v->picture != NULL},
    };
    viz_rect row = {0};
    for (size_t i = 0; i < sizeof buttons / sizeof *buttons; i++) {
        if (i % 3 == 0) {
            row = ui_row(rest, UI_ROW);
        }
        /* "Commands" is longer than the others. */
        const double wide = i < 3 ? 0.42 * row.w : (row.w - 2.0 * UI_GAP) / 3.0;
        const double thin = 0.5 * (row.w - 2.0 * UI_GAP - wide);
        const double w = i % 3 == 0 ? wide : thin;
        const double x =
            row.x + (i % 3 == 0 ? 0.0 : wide + UI_GAP) + (i % 3 == 2 ? thin + UI_GAP : 0.0);
        if (ui_button(d->u, buttons[i].id, (viz_rect){x, row.y, w, row.h}, buttons[i].label,
                      buttons[i].enabled)) {
            (void)view_desk_do(d, buttons[i].line);
        }
    }
}

/* A setting that is one of some words, as a choice. */
static void draw_word(view_desk *d, viz_rect *rest, const char *name, const char *label)
{
    const view_field *field = NULL;
    kern_error err;
    char now[VIEW_TEXT];
    size_t n = 0;
    size_t at = 0;
    if (d->n_choices == VIEW_DESK_CHOICES || view_field_find(&field, name, &err) != KERN_OK ||
        field->word == NULL) {
        return;
    }
    const char **words = d->words[d->n_choices++];
    view_settings_show(&d->v->s, field, now);
    for (; n < VIEW_DESK_WORDS && field->word((int)n) != NULL; n++) {
        words[n] = field->word((int)n);
        at = strcmp(words[n], now) == 0 ? n : at;
    }
    if (ui_choice(d->u, name, ui_row(rest, UI_ROW), label, words, n, &at) && at < n) {
        (void)view_desk_set(d, name, words[at]);
    }
}

static void draw_tool(view_desk *d, viz_rect *rest)
{
    static const char *const words[VIEW_TOOLS] = {
        [VIEW_TOOL_LOOK] = "move", [VIEW_TOOL_SEED] = "start paths", [VIEW_TOOL_TURN] = "turn"};
    size_t at = (size_t)d->c->tool;
    if (ui_choice(d->u, "pointer", ui_row(rest, UI_ROW), "pointer", words, VIEW_TOOLS, &at)) {
        d->c->tool = (view_tool)at;
    }
}

static void draw_toggles(view_desk *d, viz_rect *rest)
{
    view_settings *s = &d->v->s;
    const struct {
        const char *name, *label;
        bool on;
    } toggles[] = {{"follow", "follow step", s->follow},
                   {"frozen", "token alone", s->frozen},
                   {"pin", "pin σ", s->pin},
                   {"orbit", "orbit strip", s->orbit},
                   {"quadratic", "quadratic", s->quadratic},
                   {"dark", "dark", s->dark}};
    viz_rect row = {0};
    for (size_t i = 0; i < sizeof toggles / sizeof *toggles; i++) {
        bool on = toggles[i].on;
        if (i % 2 == 0) {
            row = ui_row(rest, 20.0);
        }
        if (ui_toggle(d->u, toggles[i].name, ui_part(row, i % 2, 2), toggles[i].label, &on)) {
            (void)view_desk_set(d, toggles[i].name, on ? "on" : "off");
        }
    }
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

typedef struct tokens {
    const view *v;
    const double *energies; /* at the step pointed out, or NULL */
    double low, high;
    size_t n;
} tokens;

static double row_energy(const tokens *t, size_t row)
{
    double sum = 0.0;
    if (row > 0) {
        return t->energies[row - 1];
    }
    for (size_t i = 0; i < t->n; i++) {
        sum += t->energies[i];
    }
    return sum;
}

static void token_text(void *context, size_t i, char *out, size_t size)
{
    const tokens *t = context;
    char label[MODEL_TOKENIZER_LABEL] = "sum over all";
    char number[24] = "";
    char energy[48] = "";
    if (i > 0) {
        view_subject_token(t->v->subject, i - 1, label, sizeof label);
        (void)snprintf(number, sizeof number, "%zu  ", i - 1);
    }
    if (t->energies != NULL) {
        const double e = row_energy(t, i);
        (void)snprintf(energy, sizeof energy, "   %s%.4g", e < 0.0 ? "\xe2\x88\x92" : "", fabs(e));
    }
    (void)snprintf(out, size, "%s%s%s", number, label, energy);
}

static bool token_mark(void *context, size_t i, viz_rgb *colour)
{
    const tokens *t = context;
    if (i == 0 || t->energies == NULL || !(t->low < t->high)) {
        return false;
    }
    *colour =
        viz_colour_map_at((viz_map)t->v->s.map, (t->energies[i - 1] - t->low) / (t->high - t->low));
    return true;
}

static void draw_tokens(view_desk *d, viz_rect rest)
{
    view *v = d->v;
    if (v->subject == NULL || rest.h < UI_ROW) {
        return;
    }
    tokens t = {.v = v, .n = v->subject->n, .energies = view_cache_energies(v, v->s.step)};
    t.low = d->c->low_energy;
    t.high = d->c->high_energy;
    size_t hovered = SIZE_MAX;
    const ui_rows rows = {
        .n = t.n + 1, .text = token_text, .mark = token_mark, .context = &t, .hovered = &hovered};
    size_t at = v->s.token == VIEW_ALL ? 0 : v->s.token + 1;
    char head[64];
    (void)snprintf(head, sizeof head,
                   t.energies != NULL ? "tokens, energies at step %zu" : "tokens", v->s.step);
    ui_label(d->u, "tokens", ui_row(&rest, 18.0), head, UI_FAINT);
    if (ui_list(d->u, "token", rest, "token", &rows, &at)) {
        char value[32] = "all";
        if (at > 0) {
            (void)snprintf(value, sizeof value, "%zu", at - 1);
        }
        (void)view_desk_set(d, "token", value);
    }
    if (hovered != SIZE_MAX && hovered > 0) {
        view_desk_token(d, hovered - 1);
    }
}

void view_frame_side(view_desk *d, viz_rect area)
{
    viz_rect rest = {area.x + PADDING, area.y + PADDING, area.w - 2.0 * PADDING,
                     area.h - 2.0 * PADDING};
    ui_panel(d->u, area);
    draw_buttons(d, &rest);
    draw_word(d, &rest, "plane", "plane");
    draw_word(d, &rest, "mode", "picture");
    draw_word(d, &rest, "map", "colours");
    draw_tool(d, &rest);
    draw_toggles(d, &rest);
    draw_tokens(d, rest);
}
