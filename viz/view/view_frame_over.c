/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What lies over the view: the palette of commands, the export dialog, and the table of keys.
 */
#define _XOPEN_SOURCE 700
#include "viz/view/view_frame.h"

#include "viz/viz_export.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SUGGESTIONS = 12, DPIS = 3, WIDTHS = 2 };

#define PADDING 12.0
#define KEY     114.0 /* width of the keys in their table */
#define COLUMN  400.0 /* least width of a column of it */
#define MORE    96.0  /* how much of it is out of sight */

static viz_rect centred(const view_desk *d, double w, double h)
{
    const double width = fmin(w, d->w - 16.0);
    const double height = fmin(h, d->h - 16.0);
    return (viz_rect){0.5 * (d->w - width), 0.4 * (d->h - height), width, height};
}

static viz_rect inside(viz_rect sheet)
{
    return (viz_rect){sheet.x + PADDING, sheet.y + PADDING, sheet.w - 2.0 * PADDING,
                      sheet.h - 2.0 * PADDING};
}

static void close_sheet(view_desk *d)
{
    d->v->overlay = VIEW_OVER_NOTHING;
    d->v->typed[0] = '\0';
    d->v->picked = 0;
    d->v->stale = true;
    ui_focus(d->u, NULL);
}

/* ---- The palette ----------------------------------------------------------------------------- */

typedef struct suggestions {
    view_suggestion list[SUGGESTIONS];
    size_t n;
} suggestions;

static void suggestion_text(void *context, size_t i, char *out, size_t size)
{
    const view_suggestion *s = &((const suggestions *)context)->list[i];
    (void)snprintf(out, size, "%s%s%s%s%s%s", s->line, s->help[0] != '\0' ? "  —  " : "", s->help,
                   s->key[0] != '\0' ? "  (" : "", s->key, s->key[0] != '\0' ? ")" : "");
}

/* A failure stays in the palette, so that the line can be put right. */
static void run(view_desk *d, const char *line)
{
    char copy[VIEW_TEXT];
    (void)snprintf(copy, sizeof copy, "%s", line);
    d->v->overlay = VIEW_OVER_NOTHING; /* the line may open another */
    if (!view_desk_do(d, copy)) {
        d->v->overlay = VIEW_OVER_PALETTE;
    } else if (d->v->overlay == VIEW_OVER_NOTHING) {
        close_sheet(d);
    }
}

static void pick_by_keys(view_desk *d, const suggestions *s)
{
    view *v = d->v;
    while (ui_take_key(d->u, UI_UP, 0, false)) {
        v->picked -= v->picked > 0 ? 1 : 0;
    }
    while (ui_take_key(d->u, UI_DOWN, 0, false)) {
        v->picked += 1;
    }
    v->picked = v->picked < s->n ? v->picked : (s->n > 0 ? s->n - 1 : 0);
    if (s->n > 0 && ui_take_key(d->u, UI_TAB, 0, false)) {
        (void)snprintf(v->typed, sizeof v->typed, "%s ", s->list[v->picked].line);
        v->picked = 0;
        ui_focus(d->u, NULL); /* so that the caret goes to the end */
        ui_focus(d->u, "palette");
    }
}

static void draw_palette(view_desk *d)
{
    view *v = d->v;
    suggestions s;
    char before[VIEW_TEXT];
    const viz_rect sheet =
        centred(d, 640.0, 2.0 * PADDING + 3.0 * (UI_ROW + UI_GAP) + SUGGESTIONS * UI_ROW);
    viz_rect rest = inside(sheet);
    bool failed = false;
    ui_sheet(d->u, sheet);
    memcpy(before, v->typed, sizeof before);
    const bool entered =
        ui_field(d->u, "palette", ui_row(&rest, UI_ROW), "a command", v->typed, sizeof v->typed);
    v->picked = strcmp(before, v->typed) != 0 ? 0 : v->picked;
    s.n = view_command_suggest(v, v->typed, s.list, SUGGESTIONS);
    pick_by_keys(d, &s);
    const char *said = view_said(v, &failed);
    const viz_rect foot = {rest.x, rest.y + rest.h - UI_ROW, rest.w, UI_ROW};
    ui_label(d->u, "palette.said", foot, failed ? said : "Enter runs, Tab completes, Escape closes",
             failed ? UI_WARNING : UI_FAINT);
    const viz_rect list = {rest.x, rest.y, rest.w, rest.h - UI_ROW - UI_GAP};
    const ui_rows rows = {.n = s.n, .text = suggestion_text, .context = &s};
    size_t at = v->picked;
    (void)ui_list(d->u, "suggestions", list, "commands", &rows, &at);
    const bool clicked = d->in->pressed && d->in->x >= list.x && d->in->x < list.x + list.w &&
                         d->in->y >= list.y && d->in->y < list.y + (double)s.n * UI_ROW;
    v->picked = at;
    /* A suggestion may be the beginning of what is typed, cut to its room. */
    const bool chosen =
        s.n > 0 && (at > 0 || strncmp(s.list[at].line, v->typed, strlen(s.list[at].line)) != 0);
    if (entered || (clicked && s.n > 0)) {
        run(d, chosen || clicked ? s.list[at].line : v->typed);
    }
}

/* ---- The export dialog ----------------------------------------------------------------------- */

static const char *const width_words[WIDTHS] = {"double column, 183 mm", "single column, 89 mm"};
static const double widths[WIDTHS] = {VIZ_DOUBLE_COLUMN_MM, VIZ_SINGLE_COLUMN_MM};
static const char *const dpi_words[DPIS] = {"300 dots per inch", "150 dots per inch",
                                            "600 dots per inch"};
static const double dpis[DPIS] = {300.0, 150.0, 600.0};

/* A file that is there is replaced only when the user says so once more. */
static bool may_replace(view_desk *d)
{
    view_cache *c = d->c;
    const char *path = d->v->typed;
    if (access(path, F_OK) != 0 || strcmp(c->replaces, path) == 0) {
        return true;
    }
    memcpy(c->replaces, path, sizeof c->replaces);
    view_say(d->v, true, "%.200s is there already; once more replaces it", path);
    return false;
}

static void export(view_desk *d)
{
    char line[VIEW_TEXT + 64];
    (void)snprintf(line, sizeof line, "export \"%s\" width-mm %g dpi %g", d->v->typed,
                   widths[d->c->width_choice], dpis[d->c->dpi_choice]);
    if (view_desk_do(d, line)) {
        close_sheet(d);
    }
}

static void draw_export(view_desk *d)
{
    view *v = d->v;
    const viz_rect sheet = centred(d, 480.0, 2.0 * PADDING + 6.0 * (UI_ROW + UI_GAP));
    viz_rect rest = inside(sheet);
    bool failed = false;
    ui_sheet(d->u, sheet);
    ui_label(d->u, "export.title", ui_row(&rest, UI_ROW), "Export the picture", UI_STRONG);
    const bool entered =
        ui_field(d->u, "path", ui_row(&rest, UI_ROW), "path ending in .pdf, .svg, .png or .csv",
                 v->typed, sizeof v->typed);
    (void)ui_choice(d->u, "width", ui_row(&rest, UI_ROW), "width", width_words, WIDTHS,
                    &d->c->width_choice);
    (void)ui_choice(d->u, "dpi", ui_row(&rest, UI_ROW), "PNG", dpi_words, DPIS, &d->c->dpi_choice);
    const char *said = view_said(v, &failed);
    ui_label(d->u, "export.said", ui_row(&rest, UI_ROW),
             failed ? said : "Every figure carries the session it was made from.",
             failed ? UI_WARNING : UI_FAINT);
    const viz_rect row = ui_row(&rest, UI_ROW);
    const bool replaces = v->typed[0] != '\0' && strcmp(d->c->replaces, v->typed) == 0;
    const bool wanted = ui_button(d->u, "export.write", ui_part(row, 0, 2),
                                  replaces ? "Replace" : "Write", v->typed[0] != '\0');
    if (ui_button(d->u, "export.cancel", ui_part(row, 1, 2), "Cancel", true)) {
        close_sheet(d);
    } else if ((wanted || entered) && v->typed[0] != '\0' && may_replace(d)) {
        export(d);
    }
}

/* ---- Keys ------------------------------------------------------------------------------------ */

typedef struct help_line {
    char key[24];
    char words[160];
} help_line;

/* Line i of the help; false behind the last. Keys that no command has come first. */
static bool help_at(size_t i, help_line *out)
{
    static const help_line own[] = {
        {"Drag", "move the map, or turn the surface"},
        {"Shift+drag", "turn the axes within the plane"},
        {"Wheel", "zoom about the pointer"},
        {"Click", "point out a state, or measure a place"},
        {"Ctrl+click", "on the map: start a trajectory there"},
        {"Ctrl+click", "in the token list: draw it too, or no more"},
        {"Shift+click", "in the token list: hold it, or let it go"},
        {"Ctrl+arrows", "move the map, or turn the surface"},
        {"Tab", "go to the next widget"},
    };
    const size_t n = sizeof own / sizeof *own;
    if (i < n) {
        *out = own[i];
        return true;
    }
    size_t left = i - n;
    for (size_t k = 0; view_command_at(k) != NULL; k++) {
        const view_command *c = view_command_at(k);
        if (c->key != NULL && left-- == 0) {
            (void)snprintf(out->key, sizeof out->key, "%s", c->key);
            (void)snprintf(out->words, sizeof out->words, "%s", view_command_key_help(c));
            return true;
        }
    }
    return false;
}

static void draw_help_line(view_desk *d, viz_rect rect, size_t i, const help_line *line)
{
    char id[UI_ID_MAX];
    (void)snprintf(id, sizeof id, "help.key.%zu", i);
    ui_label(d->u, id, (viz_rect){rect.x, rect.y, KEY, rect.h}, line->key, UI_STRONG);
    (void)snprintf(id, sizeof id, "help.%zu", i);
    ui_label(d->u, id, (viz_rect){rect.x + KEY, rect.y, rect.w - KEY, rect.h}, line->words,
             UI_PLAIN);
}

static void scroll_help(view_desk *d, size_t n, size_t rows)
{
    view_cache *c = d->c;
    const size_t most = n > rows ? n - rows : 0;
    double to = (double)c->scrolled - 3.0 * d->in->wheel;
    while (ui_take_key(d->u, UI_DOWN, 0, false)) {
        to += 1.0;
    }
    while (ui_take_key(d->u, UI_UP, 0, false)) {
        to -= 1.0;
    }
    while (ui_take_key(d->u, UI_PAGE_DOWN, 0, false)) {
        to += (double)rows;
    }
    while (ui_take_key(d->u, UI_PAGE_UP, 0, false)) {
        to -= (double)rows;
    }
    c->scrolled = (size_t)fmin(fmax(to, 0.0), (double)most);
}

/* How many lines lie above and below those in sight, right-hand in the head. */
static void draw_more(view_desk *d, viz_rect rect, size_t n, size_t shown)
{
    char text[64];
    const size_t above = d->c->scrolled;
    const size_t below = n > above + shown ? n - above - shown : 0;
    if (above + below > 0) {
        (void)snprintf(text, sizeof text, "▲ %zu  ▼ %zu", above, below);
        ui_label(d->u, "help.more", rect, text, UI_FAINT);
    }
}

static void draw_help(view_desk *d)
{
    const double line_height = 20.0;
    size_t n = 0;
    help_line line;
    while (help_at(n, &line)) {
        n++;
    }
    const size_t columns = d->w >= 2.0 * COLUMN + 4.0 * PADDING ? 2 : 1;
    const double lines = ceil((double)n / (double)columns);
    const double wanted = lines * line_height + UI_ROW + UI_GAP + 2.0 * PADDING;
    const viz_rect sheet = centred(d, columns == 2 ? 980.0 : 1.5 * COLUMN, wanted);
    viz_rect rest = inside(sheet);
    ui_sheet(d->u, sheet);
    const viz_rect head = ui_row(&rest, UI_ROW);
    ui_label(d->u, "help.title", (viz_rect){head.x, head.y, head.w - 90.0 - MORE, head.h},
             "Keys. Ctrl+P finds every command by its name.", UI_STRONG);
    if (ui_button(d->u, "help.close", (viz_rect){head.x + head.w - 84.0, head.y, 84.0, head.h},
                  "Close", true)) {
        close_sheet(d);
    }
    const size_t rows = (size_t)fmax(1.0, floor(rest.h / line_height));
    scroll_help(d, n, columns * rows);
    draw_more(d, (viz_rect){head.x + head.w - 90.0 - MORE, head.y, MORE, head.h}, n,
              columns * rows);
    for (size_t i = 0; i < columns * rows && help_at(d->c->scrolled + i, &line); i++) {
        const viz_rect column = ui_part(rest, i / rows, columns);
        draw_help_line(d,
                       (viz_rect){column.x, column.y + (double)(i % rows) * line_height, column.w,
                                  line_height},
                       i, &line);
    }
}

void view_frame_over(view_desk *d)
{
    static const struct {
        void (*draw)(view_desk *d);
        const char *focus;
    } sheets[] = {[VIEW_OVER_PALETTE] = {draw_palette, "palette"},
                  [VIEW_OVER_EXPORT] = {draw_export, "path"},
                  [VIEW_OVER_HELP] = {draw_help, "help.close"}};
    const view_overlay over = d->v->overlay;
    if (over == VIEW_OVER_NOTHING) {
        return;
    }
    if (d->c->opened != over) {
        d->c->opened = over;
        d->c->scrolled = 0;
        d->c->replaces[0] = '\0';
        ui_focus(d->u, sheets[over].focus);
    }
    sheets[over].draw(d);
    if (d->v->overlay == over && ui_take_key(d->u, UI_ESCAPE, 0, false)) {
        close_sheet(d);
    }
}
