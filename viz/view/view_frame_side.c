/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The column at the left: what is drawn, how, and of which token.
 */
#include "viz/view/view_frame.h"

#include "viz/viz_plot.h"

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
        (void)view_desk_choose(d, name, words[at]);
    }
}

static void draw_tool(view_desk *d, viz_rect *rest)
{
    static const char *const words[VIEW_TOOLS] = {
        [VIEW_TOOL_LOOK] = "move", [VIEW_TOOL_SEED] = "start paths", [VIEW_TOOL_TURN] = "turn"};
    size_t at = (size_t)d->c->tool;
    if (ui_choice(d->u, "pointer", ui_row(rest, UI_ROW), "pointer", words, VIEW_TOOLS, &at)) {
        d->c->tool = (view_tool)at;
        view_say(d->v, false, "the pointer is for: %s", words[at]);
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
            (void)view_desk_choose(d, toggles[i].name, on ? "on" : "off");
        }
    }
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

typedef struct tokens {
    const view *v;
    const double *energies; /* at the step pointed out, or NULL */
    double low, high;
    const double *attended; /* weights of the chosen token there, or NULL */
    size_t n;
} tokens;

/* Ends of the energies' colours. */
static void find_ends(tokens *t)
{
    t->low = HUGE_VAL;
    t->high = -HUGE_VAL;
    for (size_t i = 0; t->energies != NULL && i < t->n; i++) {
        if (isfinite(t->energies[i])) {
            t->low = fmin(t->low, t->energies[i]);
            t->high = fmax(t->high, t->energies[i]);
        }
    }
}

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

/* Which of the others a token is that is drawn beside the chosen one, from 1 on, as
 * viz_landscape_paths.c counts them; else 0. */
static size_t other_of(const view_settings *s, size_t token)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_also && s->token != VIEW_ALL && token != s->token; i++) {
        if (s->also[i] == token) {
            return n + 1;
        }
        n += s->also[i] != s->token ? 1 : 0;
    }
    return 0;
}

/* The shape of its markers; none of tokens that are not drawn so. */
static const char *shape_of(const view_settings *s, size_t token)
{
    static const char *const shapes[] = {[VIZ_MARKER_NONE] = "",
                                         [VIZ_MARKER_CIRCLE] = "● ",
                                         [VIZ_MARKER_SQUARE] = "■ ",
                                         [VIZ_MARKER_TRIANGLE] = "▲ ",
                                         [VIZ_MARKER_CROSS] = "✕ "};
    const size_t other = other_of(s, token);
    return other > 0 ? shapes[viz_plot_marker(other)] : "";
}

/* Whether a token stays where it is along the trajectory. */
static bool is_held(const view_settings *s, size_t token)
{
    bool found = s->frozen && s->token != VIEW_ALL && token != s->token;
    for (size_t i = 0; i < s->n_held; i++) {
        found = found || s->held[i] == token;
    }
    return found;
}

static void token_text(void *context, size_t i, char *out, size_t size)
{
    const tokens *t = context;
    char label[MODEL_TOKENIZER_LABEL] = "sum over all";
    char number[32] = "";
    if (i > 0) {
        view_subject_token(t->v->subject, i - 1, label, sizeof label);
        (void)snprintf(number, sizeof number, "%zu  %s", i - 1, shape_of(&t->v->s, i - 1));
    }
    (void)snprintf(out, size, "%s%s", number, label);
}

static void token_energy(void *context, size_t i, char *out, size_t size)
{
    const tokens *t = context;
    out[0] = '\0';
    if (t->energies != NULL) {
        const double e = row_energy(t, i);
        (void)snprintf(out, size, "%s%.4g%s", e < 0.0 ? "\xe2\x88\x92" : "", fabs(e),
                       i > 0 && is_held(&t->v->s, i - 1) ? ", held" : "");
    }
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

/* The marker in the legend's colour. */
static bool token_tint(void *context, size_t i, ui_tint *out)
{
    const tokens *t = context;
    char number[32];
    const size_t other = i > 0 ? other_of(&t->v->s, i - 1) : 0;
    if (other == 0) {
        return false;
    }
    out->from = (size_t)snprintf(number, sizeof number, "%zu  ", i - 1);
    out->bytes = strlen(shape_of(&t->v->s, i - 1));
    out->colour = viz_colour_class(other, t->v->s.dark ? VIZ_DARK : VIZ_LIGHT);
    return true;
}

static double token_share(void *context, size_t i)
{
    const tokens *t = context;
    const size_t chosen = t->v->s.token;
    return t->attended != NULL && i > 0 && i - 1 <= chosen ? t->attended[i - 1] : 0.0;
}

/* Whom the chosen token attends to at the step pointed out; NULL while the picture is one of other
 * settings, of another token. */
static const double *find_attended(const view *v)
{
    if (v->picture == NULL ||
        (v->broken.status != KERN_OK && v->picture->landscape->token != v->s.token)) {
        return NULL;
    }
    const view_attention *a = view_tasks_attention(v);
    return a != NULL && v->s.token != VIEW_ALL ? view_attention_of(a, v->s.step, v->s.token) : NULL;
}

static void draw_head(view_desk *d, viz_rect row, const tokens *t)
{
    char head[96];
    (void)snprintf(head, sizeof head,
                   t->energies == NULL   ? "tokens"
                   : t->attended == NULL ? "tokens, energies at step %zu"
                                         : "energies, attention at step %zu",
                   d->v->s.step);
    ui_label(d->u, "tokens", row, head, UI_FAINT);
}

/* Puts a token into a set of the settings, or takes it out. */
static void toggle_token(view_desk *d, const char *set, size_t token)
{
    char line[48];
    (void)snprintf(line, sizeof line, "%s %zu", set, token);
    (void)view_desk_do(d, line);
}

static void draw_tokens(view_desk *d, viz_rect rest)
{
    view *v = d->v;
    if (v->subject == NULL || rest.h < UI_ROW) {
        return;
    }
    tokens t = {.v = v, .n = v->subject->n, .energies = view_cache_energies(v, v->s.step)};
    find_ends(&t);
    t.attended = find_attended(v);
    size_t hovered = SIZE_MAX;
    const ui_rows rows = {.n = t.n + 1,
                          .text = token_text,
                          .value = token_energy,
                          .mark = token_mark,
                          .tint = token_tint,
                          .share = token_share,
                          .context = &t,
                          .hovered = &hovered};
    size_t at = v->s.token == VIEW_ALL ? 0 : v->s.token + 1;
    draw_head(d, ui_row(&rest, 18.0), &t);
    const bool moved = ui_list(d->u, "token", rest, "token", &rows, &at);
    const bool aside = d->in->pressed && (d->in->ctrl || d->in->shift);
    if (aside && hovered != SIZE_MAX && hovered > 0) {
        toggle_token(d, d->in->ctrl ? "also" : "held", hovered - 1);
    } else if (moved) {
        char value[32] = "all";
        if (at > 0) {
            (void)snprintf(value, sizeof value, "%zu", at - 1);
        }
        (void)view_desk_choose(d, "token", value);
    }
    const ui_node *list = ui_find(d->u, "token");
    if (hovered == SIZE_MAX && list != NULL && list->focused && ui_shows_focus(d->u)) {
        hovered = at;
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
