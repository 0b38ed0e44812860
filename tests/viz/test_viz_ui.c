/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Widgets: each is called as a program would, and pressed where its node says it is.
 */
#include "viz/ui/ui.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 30 };

/* A form with one widget of each kind, and what it holds. */
typedef struct form {
    ui *u;
    cairo_surface_t *surface;
    cairo_t *cr;
    size_t presses;
    bool on;
    double eta;
    bool eta_changed;
    ui_range range;
    size_t plane;
    size_t token;
    char name[32];
    bool entered;
    bool with_choice;
    ui_canvas_event picture;
    kern_status status;
} form;

static const ui_landmark flip = {0.5, "flip", NULL};
static const char *const planes[] = {"random", "PCA", "two tokens"};

static void row_text(void *context, size_t i, char *out, size_t size)
{
    (void)context;
    (void)snprintf(out, size, "token %zu", i);
}

static void row_value(void *context, size_t i, char *out, size_t size)
{
    (void)context;
    (void)snprintf(out, size, "%zu", i * i);
}

static const ui_rows rows = {.n = ROWS, .text = row_text};
static const ui_rows valued = {.n = ROWS, .text = row_text, .value = row_value};

static void call_widgets(form *f)
{
    ui *u = f->u;
    f->presses += ui_button(u, "go", (viz_rect){10, 10, 100, 24}, "Go", true);
    (void)ui_button(u, "never", (viz_rect){120, 10, 100, 24}, "Never", false);
    (void)ui_toggle(u, "grid", (viz_rect){10, 40, 100, 24}, "Grid", &f->on);
    f->eta_changed = ui_slider(u, "eta", (viz_rect){10, 70, 216, 40}, &f->range, &f->eta);
    if (f->with_choice) {
        (void)ui_choice(u, "plane", (viz_rect){10, 120, 200, 24}, "plane", planes, 3, &f->plane);
    }
    (void)ui_list(u, "tokens", (viz_rect){10, 150, 200, 96}, "tokens", &rows, &f->token);
    f->entered = ui_field(u, "name", (viz_rect){10, 260, 200, 24}, "name", f->name, sizeof f->name);
    ui_label(u, "note", (viz_rect){10, 290, 60, 24}, "a text that is too long for its place",
             UI_FAINT);
    f->picture = ui_canvas(u, "field", (viz_rect){240, 50, 150, 200}, "field", "6 contours");
}

static void frame(form *f, const ui_input *input)
{
    kern_error err;
    const ui_frame fr = {f->cr, 400, 330, VIZ_LIGHT, input};
    ui_begin(f->u, &fr);
    call_widgets(f);
    f->status = ui_end(f->u, &err);
}

static void idle(form *f)
{
    const ui_input input = {.x = -1, .y = -1};
    frame(f, &input);
}

static void pointer(form *f, double x, double y, bool pressed, bool released)
{
    const ui_input input = {
        .x = x, .y = y, .pressed = pressed, .released = released, .down = !released};
    frame(f, &input);
}

static void click_at(form *f, double x, double y)
{
    pointer(f, x, y, true, false);
    pointer(f, x, y, false, true);
}

static void click(form *f, const char *id)
{
    const ui_node *node = ui_find(f->u, id);
    assert_non_null(node);
    click_at(f, node->rect.x + node->rect.w / 2.0, node->rect.y + node->rect.h / 2.0);
}

static void press(form *f, ui_code code, bool shift)
{
    ui_input input = {.x = -1, .y = -1, .n_keys = 1};
    input.keys[0] = (ui_key){.code = code, .shift = shift};
    frame(f, &input);
    if (ui_restless(f->u)) {
        idle(f);
    }
}

static void type(form *f, const char *text)
{
    ui_input input = {.x = -1, .y = -1, .n_keys = 1};
    (void)snprintf(input.text, sizeof input.text, "%s", text);
    input.keys[0] = (ui_key){.code = UI_LETTER, .letter = 'g'};
    frame(f, &input);
}

static const char *focused(form *f)
{
    size_t n = 0;
    const ui_node *nodes = ui_nodes(f->u, &n);
    for (size_t i = 0; i < n; i++) {
        if (nodes[i].focused) {
            return nodes[i].id;
        }
    }
    return "";
}

static int setup(void **state)
{
    static form f;
    f = (form){.eta = 0.25, .with_choice = true};
    f.range =
        (ui_range){.low = 0.0, .high = 1.0, .label = "η/σ", .landmarks = &flip, .n_landmarks = 1};
    f.surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 400, 330);
    f.cr = cairo_create(f.surface);
    kern_error err;
    if (ui_create(&f.u, &err) != KERN_OK) {
        return -1;
    }
    *state = &f;
    idle(&f);
    return 0;
}

static int teardown(void **state)
{
    form *f = *state;
    ui_destroy(f->u);
    cairo_destroy(f->cr);
    cairo_surface_destroy(f->surface);
    return 0;
}

static void test_button(void **state)
{
    form *f = *state;
    click(f, "go");
    assert_int_equal(f->presses, 1);
    idle(f);
    assert_int_equal(f->presses, 1);
    /* Pressed there and released elsewhere: not meant. */
    pointer(f, 20, 20, true, false);
    pointer(f, 300, 300, false, true);
    assert_int_equal(f->presses, 1);
    press(f, UI_ENTER, false);
    press(f, UI_SPACE, false);
    assert_int_equal(f->presses, 3);
    click(f, "never");
    assert_string_equal(focused(f), "go");
    assert_false(ui_find(f->u, "never")->enabled);
}

static void test_toggle(void **state)
{
    form *f = *state;
    click(f, "grid");
    assert_true(f->on);
    assert_string_equal(ui_find(f->u, "grid")->value, "on");
    press(f, UI_SPACE, false);
    assert_false(f->on);
}

/* The focus visits what takes it, in the order of the calls, both ways and around the ends. */
static void test_tab_order(void **state)
{
    form *f = *state;
    static const char *const order[] = {"go",     "grid", "eta",   "plane",
                                        "tokens", "name", "field", "go"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        press(f, UI_TAB, false);
        assert_string_equal(focused(f), order[i]);
    }
    press(f, UI_TAB, true);
    assert_string_equal(focused(f), "field");
    ui_focus(f->u, NULL);
    idle(f);
    press(f, UI_TAB, true);
    assert_string_equal(focused(f), "field");
}

static void test_slider_pointer(void **state)
{
    form *f = *state;
    /* The track runs from x = 18 to 218, 8 units inside the rectangle. */
    pointer(f, 118, 100, true, false);
    assert_true(f->eta_changed);
    assert_true(fabs(f->eta - 0.5) < 1e-12);
    assert_string_equal(ui_find(f->u, "eta")->value, "0.5 · flip");
    pointer(f, 168, 300, false, false); /* the button is held: it need not stay over the track */
    assert_true(fabs(f->eta - 0.75) < 1e-12);
    pointer(f, 1000, 300, false, true);
    assert_true(f->eta == 1.0);
    pointer(f, 118, 300, false, false);
    assert_true(f->eta == 1.0);
    const ui_input wheel = {.x = 118, .y = 100, .wheel = -2.0};
    frame(f, &wheel);
    assert_true(fabs(f->eta - 0.98) < 1e-12);
}

/* Landmarks are named where there is room, in their brief form where that is less. */
static void test_slider_names_landmarks(void **state)
{
    form *f = *state;
    const ui_landmark marks[] = {
        {0.6, "flip", NULL}, {0.95, "Neimark\xe2\x80\x93Sacker", "NS"}, {1.5, "beyond", NULL}};
    f->range.landmarks = marks;
    f->range.n_landmarks = 3;
    idle(f);
    const ui_node *slider = ui_find(f->u, "eta");
    const ui_node *first = ui_find(f->u, "eta.mark.0");
    const ui_node *second = ui_find(f->u, "eta.mark.1");
    assert_non_null(first);
    assert_non_null(second);
    assert_string_equal(first->label, "flip");
    assert_string_equal(second->label, "NS");
    assert_null(ui_find(f->u, "eta.mark.2"));
    /* Over their ticks, within the slider, and apart. */
    const double track = slider->rect.w - 16.0;
    const double ticks[] = {slider->rect.x + 8.0 + 0.6 * track,
                            slider->rect.x + 8.0 + 0.95 * track};
    assert_true(first->rect.x <= ticks[0] && ticks[0] <= first->rect.x + first->rect.w);
    assert_true(second->rect.x <= ticks[1] && ticks[1] <= second->rect.x + second->rect.w);
    assert_true(second->rect.x + second->rect.w <= slider->rect.x + slider->rect.w);
    assert_true(second->rect.x >= first->rect.x + first->rect.w - 7.0);
    /* A value at a landmark tells so in any case. */
    f->eta = 0.6;
    idle(f);
    assert_non_null(strstr(ui_find(f->u, "eta")->value, "flip"));
}

static void test_slider_keys(void **state)
{
    form *f = *state;
    ui_focus(f->u, "eta");
    idle(f);
    press(f, UI_RIGHT, false);
    assert_true(fabs(f->eta - 0.26) < 1e-12);
    press(f, UI_PAGE_DOWN, false);
    assert_true(fabs(f->eta - 0.16) < 1e-12);
    press(f, UI_HOME, false);
    assert_true(f->eta == 0.0);
    press(f, UI_END, false);
    assert_true(f->eta == 1.0);
    press(f, UI_RIGHT, false);
    assert_false(f->eta_changed);
}

static void test_slider_typed(void **state)
{
    form *f = *state;
    ui_focus(f->u, "eta");
    idle(f);
    type(f, "0.1");
    assert_true(ui_typing(f->u));
    type(f, "25");
    press(f, UI_ENTER, false);
    assert_false(ui_typing(f->u));
    assert_true(f->eta == 0.125);
    type(f, "0.9");
    press(f, UI_ESCAPE, false);
    assert_true(f->eta == 0.125);
    type(f, "1e");
    press(f, UI_ENTER, false);
    assert_true(f->eta == 0.125); /* no number */
    type(f, "7");
    press(f, UI_ENTER, false);
    assert_true(f->eta == 1.0); /* beyond the end */
}

/* Letters are neither text of the number nor taken, and no key with Ctrl is. */
static void test_slider_leaves_commands(void **state)
{
    form *f = *state;
    kern_error err;
    ui_input input = {.x = -1, .y = -1, .n_keys = 3, .text = "2dx"};
    input.keys[0] = (ui_key){.code = UI_LETTER, .letter = '2'};
    input.keys[1] = (ui_key){.code = UI_LETTER, .letter = 'd'};
    input.keys[2] = (ui_key){.code = UI_LETTER, .letter = '-', .ctrl = true};
    const ui_frame fr = {f->cr, 400, 330, VIZ_LIGHT, &input};
    ui_focus(f->u, "eta");
    ui_begin(f->u, &fr);
    call_widgets(f);
    assert_false(ui_take_key(f->u, UI_LETTER, '2', false));
    assert_true(ui_take_key(f->u, UI_LETTER, 'd', false));
    assert_true(ui_take_key(f->u, UI_LETTER, '-', true));
    assert_int_equal(ui_end(f->u, &err), KERN_OK);
    type(f, "d e-1\xce\xb7");
    press(f, UI_ENTER, false);
    assert_true(fabs(f->eta - 0.2) < 1e-12); /* 2e-1 */
    type(f, "e1");                           /* begins no number */
    assert_false(ui_typing(f->u));
}

static void test_slider_scales(void **state)
{
    form *f = *state;
    f->range = (ui_range){.low = 0.01, .high = 100.0, .log = true, .label = "rate"};
    pointer(f, 118, 100, true, true);
    assert_true(fabs(f->eta - 1.0) < 1e-12); /* the geometric middle */
    f->range = (ui_range){.low = 1.0, .high = 9.0, .step = 1.0, .label = "step"};
    f->eta = 3.0;
    ui_focus(f->u, "eta");
    idle(f);
    press(f, UI_RIGHT, false);
    assert_true(f->eta == 4.0);
    pointer(f, 118, 100, true, true);
    assert_true(f->eta == 5.0);
    /* A step is at a landmark or not, however long the track is. */
    const ui_landmark trained = {6.0, "trained", NULL};
    f->range.low = 0.0;
    f->range.high = 300.0;
    f->range.landmarks = &trained;
    f->range.n_landmarks = 1;
    for (int i = 5; i <= 7; i++) {
        f->eta = i;
        idle(f);
        assert_int_equal(strstr(ui_find(f->u, "eta")->value, "trained") != NULL, i == 6);
    }
    f->range.low = 1.0;
    f->range.high = 9.0;
    f->range.n_landmarks = 0;
    /* A value outside stays until the slider is used. */
    f->eta = 40.0;
    idle(f);
    assert_false(f->eta_changed);
    assert_true(f->eta == 40.0);
}

static void test_choice(void **state)
{
    form *f = *state;
    click(f, "plane");
    idle(f);
    const ui_node *item = ui_find(f->u, "plane.2");
    assert_non_null(item);
    assert_string_equal(item->label, "two tokens");
    assert_false(item->chosen);
    assert_true(ui_find(f->u, "plane.0")->chosen);
    const double y = item->rect.y + 12.0;
    /* The open list lies over the list of tokens, which must not notice. */
    click_at(f, 40, y);
    assert_int_equal(f->plane, 2);
    assert_int_equal(f->token, 0);
    idle(f);
    assert_null(ui_find(f->u, "plane.2"));
    assert_string_equal(ui_find(f->u, "plane")->value, "two tokens");
}

static void test_choice_keys(void **state)
{
    form *f = *state;
    ui_focus(f->u, "plane");
    idle(f);
    press(f, UI_DOWN, false);
    assert_int_equal(f->plane, 1);
    press(f, UI_ENTER, false);
    assert_non_null(ui_find(f->u, "plane.0"));
    press(f, UI_DOWN, false);
    assert_int_equal(f->plane, 1);
    press(f, UI_ESCAPE, false);
    assert_int_equal(f->plane, 1);
    assert_null(ui_find(f->u, "plane.0"));
    press(f, UI_SPACE, false);
    press(f, UI_UP, false);
    press(f, UI_ENTER, false);
    assert_int_equal(f->plane, 0);
}

/* Clicks that close an open list: on its choice, on something else; and its choice going away. */
static void test_choice_closes(void **state)
{
    form *f = *state;
    click(f, "plane");
    click(f, "plane");
    idle(f);
    assert_null(ui_find(f->u, "plane.0"));
    click(f, "plane");
    click(f, "go");
    idle(f);
    assert_null(ui_find(f->u, "plane.0"));
    assert_int_equal(f->presses, 1);
    click(f, "plane");
    f->with_choice = false;
    idle(f);
    idle(f);
    assert_int_equal(f->status, KERN_OK);
    assert_null(ui_find(f->u, "plane.0"));
    click_at(f, 40, 160);
    assert_int_equal(f->token, 0);
    assert_string_equal(focused(f), "tokens");
}

static void test_list(void **state)
{
    form *f = *state;
    click_at(f, 40, 150 + 2 * UI_ROW + 5);
    assert_int_equal(f->token, 2);
    press(f, UI_END, false);
    assert_int_equal(f->token, ROWS - 1);
    /* The last row is in sight: four rows fit, so it is the fourth. */
    click_at(f, 40, 150 + 2 * UI_ROW + 5);
    assert_int_equal(f->token, ROWS - 2);
    const ui_input wheel = {.x = 40, .y = 160, .wheel = 100.0};
    frame(f, &wheel);
    click_at(f, 40, 155);
    assert_int_equal(f->token, 0);
    press(f, UI_PAGE_DOWN, false);
    assert_int_equal(f->token, 4);
    assert_string_equal(ui_find(f->u, "tokens")->value, "token 4");
}

/* Every row has a node, in sight or not; those in part have the part's place. */
static void test_list_rows(void **state)
{
    form *f = *state;
    kern_error err;
    const ui_input input = {.x = 40, .y = 160, .wheel = -0.5}; /* one row and a half */
    const ui_frame fr = {f->cr, 400, 330, VIZ_LIGHT, &input};
    size_t seen = 0;
    f->token = 2; /* in sight all the while */
    ui_begin(f->u, &fr);
    (void)ui_list(f->u, "rows", (viz_rect){10, 150, 200, 96}, "rows", &valued, &f->token);
    assert_int_equal(ui_end(f->u, &err), KERN_OK);
    assert_string_equal(ui_find(f->u, "rows")->value, "token 2   4");
    for (size_t i = 0; i < ROWS; i++) {
        char id[UI_ID_MAX];
        char text[UI_TEXT_MAX];
        (void)snprintf(id, sizeof id, "rows.%zu", i);
        const ui_node *node = ui_find(f->u, id);
        assert_non_null(node);
        assert_int_equal(node->role, UI_ROLE_ITEM);
        row_text(NULL, i, text, sizeof text);
        assert_string_equal(node->label, text);
        row_value(NULL, i, text, sizeof text);
        assert_string_equal(node->value, text);
        assert_int_equal(node->chosen, i == 2);
        assert_int_equal(node->hidden, i < 1 || i > 5);
        seen += node->hidden ? 0 : 1;
        assert_true(node->hidden || (node->rect.y >= 150 && node->rect.y + node->rect.h <= 246));
    }
    assert_int_equal(seen, 5); /* 96 units are four rows, the first and the last in part */
    assert_true(ui_find(f->u, "rows.1")->rect.h == 0.5 * UI_ROW);
    press(f, UI_TAB, false);
    assert_string_equal(focused(f), "go"); /* rows take no focus */
}

static void long_text(void *context, size_t i, char *out, size_t size)
{
    (void)i;
    (void)context;
    (void)snprintf(out, size, "17  a long label of which the middle gives way");
}

static void long_value(void *context, size_t i, char *out, size_t size)
{
    (void)context;
    (void)snprintf(out, size, "%s", i == 0 ? "-358.7" : "-358.1");
}

/* Whether two rows of a narrow list look the same between two places. */
static bool rows_alike(const form *f, int from, int to)
{
    const unsigned char *data = cairo_image_surface_get_data(f->surface);
    const int stride = cairo_image_surface_get_stride(f->surface);
    bool alike = true;
    for (int y = 152; y < 152 + UI_ROW - 4; y++) {
        for (int x = from; x < to; x++) {
            alike = alike &&
                    memcmp(data + y * stride + 4 * x, data + (y + UI_ROW) * stride + 4 * x, 4) == 0;
        }
    }
    return alike;
}

/* Where a row is short of room its text gives way, and its value stays. */
static void test_values_stay(void **state)
{
    form *f = *state;
    kern_error err;
    const ui_input input = {.x = 1, .y = 1};
    const ui_frame fr = {f->cr, 400, 330, VIZ_LIGHT, &input};
    const ui_rows narrow = {.n = 3, .text = long_text, .value = long_value};
    size_t chosen = 2;
    ui_begin(f->u, &fr);
    (void)ui_list(f->u, "rows", (viz_rect){10, 150, 160, 96}, "rows", &narrow, &chosen);
    assert_int_equal(ui_end(f->u, &err), KERN_OK);
    cairo_surface_flush(f->surface);
    assert_true(rows_alike(f, 12, 110));   /* the same label */
    assert_false(rows_alike(f, 110, 164)); /* 7 and 1 at the end */
}

/* Editing goes by characters, whatever their length in bytes. */
static void test_field(void **state)
{
    form *f = *state;
    click(f, "name");
    type(f, "aη");
    type(f, "→b");
    assert_string_equal(f->name, "aη→b");
    press(f, UI_LEFT, false);
    press(f, UI_BACKSPACE, false);
    assert_string_equal(f->name, "aηb");
    press(f, UI_LEFT, false);
    press(f, UI_DELETE, false);
    assert_string_equal(f->name, "ab");
    press(f, UI_HOME, false);
    press(f, UI_BACKSPACE, false);
    type(f, "é");
    assert_string_equal(f->name, "éab");
    press(f, UI_END, false);
    press(f, UI_DELETE, false);
    press(f, UI_ENTER, false);
    assert_string_equal(f->name, "éab");
    type(f, "0123456789012345678901234567890"); /* does not fit as a whole */
    assert_string_equal(f->name, "éab");
}

static void test_enter_is_told(void **state)
{
    form *f = *state;
    click(f, "name");
    ui_input input = {.x = -1, .y = -1, .n_keys = 1};
    input.keys[0] = (ui_key){.code = UI_ENTER};
    frame(f, &input);
    assert_true(f->entered);
    idle(f);
    assert_false(f->entered);
}

/* A letter is a command only when no widget takes it. */
static void test_keys_left_over(void **state)
{
    form *f = *state;
    kern_error err;
    ui_input input = {.x = -1, .y = -1, .n_keys = 1, .text = "g"};
    input.keys[0] = (ui_key){.code = UI_LETTER, .letter = 'g'};
    const ui_frame fr = {f->cr, 400, 330, VIZ_LIGHT, &input};
    for (int in_field = 0; in_field < 2; in_field++) {
        ui_focus(f->u, in_field ? "name" : "go");
        ui_begin(f->u, &fr);
        call_widgets(f);
        assert_int_equal(ui_take_key(f->u, UI_LETTER, 'g', false), !in_field);
        assert_false(ui_take_key(f->u, UI_LETTER, 'g', false));
        assert_int_equal(ui_end(f->u, &err), KERN_OK);
    }
}

static void test_canvas(void **state)
{
    form *f = *state;
    pointer(f, 250, 60, true, false);
    assert_true(f->picture.pressed && !f->picture.dragged);
    assert_true(f->picture.x == 10.0 && f->picture.y == 10.0);
    pointer(f, 255, 58, false, false);
    assert_true(f->picture.dragged);
    assert_true(f->picture.dx == 5.0 && f->picture.dy == -2.0);
    pointer(f, 256, 58, false, true);
    assert_true(f->picture.released);
    pointer(f, 260, 58, false, false);
    assert_true(f->picture.hovered && !f->picture.dragged && f->picture.dx == 0.0);
    assert_string_equal(ui_find(f->u, "field")->value, "6 contours");
}

static void test_faults(void **state)
{
    form *f = *state;
    kern_error err;
    const ui_input input = {.x = -1, .y = -1};
    const ui_frame fr = {f->cr, 400, 330, VIZ_DARK, &input};
    ui_begin(f->u, &fr);
    (void)ui_button(f->u, "same", (viz_rect){0, 0, 50, 20}, "a", true);
    (void)ui_button(f->u, "same", (viz_rect){60, 0, 50, 20}, "b", true);
    assert_int_equal(ui_end(f->u, &err), KERN_INVALID_ARGUMENT);
    ui_begin(f->u, &fr);
    for (size_t i = 0; i <= UI_NODES_MAX; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "b%zu", i);
        ui_label(f->u, id, (viz_rect){0, 0, 10, 10}, "", UI_PLAIN);
    }
    assert_int_equal(ui_end(f->u, &err), KERN_OVERFLOW);
    idle(f);
    assert_int_equal(f->status, KERN_OK);
    for (int r = 0; r < UI_ROLE_COUNT; r++) {
        assert_non_null(ui_role_word((ui_role)r));
    }
    assert_null(ui_role_word(UI_ROLE_COUNT));
}

/* Text of every tone has 7:1 on all that widgets draw behind it, in both themes. */
static void test_text_contrast(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const viz_theme theme = t == 0 ? VIZ_LIGHT : VIZ_DARK;
        const viz_paint paints[] = {viz_paint_of(VIZ_PAINT_PAGE), viz_paint_of(VIZ_PAINT_INK)};
        const viz_rgb page = viz_colour_resolve(&paints[0], theme);
        const viz_rgb ink = viz_colour_resolve(&paints[1], theme);
        for (int k = 0; k <= 16; k++) {
            const double share = 0.01 * k;
            const viz_rgb ground = {page.r + share * (ink.r - page.r),
                                    page.g + share * (ink.g - page.g),
                                    page.b + share * (ink.b - page.b)};
            for (int tone = UI_PLAIN; tone <= UI_WARNING; tone++) {
                const viz_rgb text = ui_tone_colour((ui_tone)tone, theme);
                assert_true((tone == UI_WARNING && k > 8) ||
                            viz_colour_contrast(ground, text) >= 7.0);
            }
        }
    }
}

/* A text too long for its place ends before it. */
static void test_label_is_cut(void **state)
{
    form *f = *state;
    cairo_set_source_rgb(f->cr, 1, 1, 1);
    cairo_paint(f->cr);
    idle(f);
    cairo_surface_flush(f->surface);
    const unsigned char *data = cairo_image_surface_get_data(f->surface);
    const int stride = cairo_image_surface_get_stride(f->surface);
    size_t inside = 0, outside = 0;
    for (int y = 290; y < 314; y++) {
        for (int x = 0; x < 240; x++) {
            const bool ink = data[y * stride + 4 * x] < 0xf0;
            *(x < 70 ? &inside : &outside) += ink;
        }
    }
    assert_true(inside > 20);
    assert_int_equal(outside, 0);
}

#define WITH_FORM(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FORM(test_button),
        WITH_FORM(test_toggle),
        WITH_FORM(test_tab_order),
        WITH_FORM(test_slider_pointer),
        WITH_FORM(test_slider_names_landmarks),
        WITH_FORM(test_slider_keys),
        WITH_FORM(test_slider_typed),
        WITH_FORM(test_slider_leaves_commands),
        WITH_FORM(test_slider_scales),
        WITH_FORM(test_choice),
        WITH_FORM(test_choice_keys),
        WITH_FORM(test_choice_closes),
        WITH_FORM(test_list),
        WITH_FORM(test_list_rows),
        WITH_FORM(test_values_stay),
        WITH_FORM(test_field),
        WITH_FORM(test_enter_is_told),
        WITH_FORM(test_keys_left_over),
        WITH_FORM(test_canvas),
        WITH_FORM(test_faults),
        WITH_FORM(test_label_is_cut),
        WITH_FORM(test_text_contrast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
