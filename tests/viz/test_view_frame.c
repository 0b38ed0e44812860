/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames of the explorer: widgets pressed where their nodes say they are, the pointer on the
 * picture, dialogs, and images that are kept from frame to frame.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/viz/view_test_model.h"
#include "viz/view/view_cache.h"
#include "viz/view/view_command.h"

#include <math.h>
#include <unistd.h>

enum { WIDTH = 900, HEIGHT = 640 };

/* A view, the surface its frames go to, and the pointer. */
typedef struct desk {
    view *v;
    cairo_surface_t *image;
    double x, y;
} desk;

static void show(desk *d, const ui_input *input)
{
    kern_error err = {0};
    cairo_t *cr = cairo_create(d->image);
    if (view_frame(d->v, cr, WIDTH, HEIGHT, 0.0, input, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    cairo_destroy(cr);
    cairo_surface_flush(d->image);
    d->x = input->x;
    d->y = input->y;
}

static void idle(desk *d)
{
    const ui_input input = {.x = d->x, .y = d->y};
    double wait;
    int frames = 0;
    do {
        show(d, &input);
    } while (view_wants_frame(d->v, 0.0, &wait) && ++frames < 20);
}

static void settle(desk *d)
{
    view_settle(d->v);
    idle(d);
}

static desk open_desk(view *v)
{
    desk d = {.v = v, .x = -1.0, .y = -1.0};
    d.image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
    idle(&d);
    return d;
}

static void close_desk(desk *d)
{
    cairo_surface_destroy(d->image);
    view_destroy(d->v);
}

/* ---- The user -------------------------------------------------------------------------------- */

static void press_at(desk *d, double x, double y, bool ctrl)
{
    ui_input input = {.x = x, .y = y, .down = true, .pressed = true, .ctrl = ctrl};
    show(d, &input);
    input.down = input.pressed = false;
    input.released = true;
    show(d, &input);
    idle(d);
}

static void drag(desk *d, double x0, double y0, double x1, double y1, bool shift)
{
    ui_input input = {.x = x0, .y = y0, .down = true, .pressed = true, .shift = shift};
    show(d, &input);
    input.pressed = false;
    for (int i = 1; i <= 4; i++) {
        input.x = x0 + 0.25 * i * (x1 - x0);
        input.y = y0 + 0.25 * i * (y1 - y0);
        show(d, &input);
    }
    input.down = false;
    input.released = true;
    show(d, &input);
    idle(d);
}

static viz_rect rect_of(const desk *d, const char *id)
{
    const ui_node *node = ui_find(d->v->ui, id);
    if (node == NULL) {
        fail_msg("there is no widget %s", id);
    }
    const double s = d->v->s.scale;
    return (viz_rect){s * node->rect.x, s * node->rect.y, s * node->rect.w, s * node->rect.h};
}

static void press(desk *d, const char *id)
{
    const viz_rect r = rect_of(d, id);
    press_at(d, r.x + 0.5 * r.w, r.y + 0.5 * r.h, false);
}

static void key(desk *d, ui_code code, char letter, bool ctrl)
{
    ui_input input = {.x = -1.0, .y = -1.0, .n_keys = 1};
    input.keys[0] = (ui_key){.code = code, .letter = letter, .ctrl = ctrl};
    show(d, &input);
    idle(d);
}

static void type(desk *d, const char *text)
{
    ui_input input = {.x = -1.0, .y = -1.0};
    (void)snprintf(input.text, sizeof input.text, "%.255s", text);
    show(d, &input);
    idle(d);
}

/* Where a place of the plane is in the window. */
static void window_of(const desk *d, double a, double b, double at[2])
{
    const viz_rect field = rect_of(d, "field");
    assert_true(view_cache_point(d->v->base, a, b, 0.0, at));
    at[0] += field.x;
    at[1] += field.y;
}

static void place_of(const desk *d, double x, double y, double place[2])
{
    const viz_rect field = rect_of(d, "field");
    assert_true(view_cache_place(d->v->base, x - field.x, y - field.y, place));
}

static void middle(const desk *d, double at[2])
{
    double r[4];
    view_cache_range(d->v, r);
    window_of(d, 0.5 * (r[0] + r[1]), 0.5 * (r[2] + r[3]), at);
}

/* ---- Widgets --------------------------------------------------------------------------------- */

static void test_widgets_change_settings(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view *v = d.v;
    press(&d, "dark");
    assert_true(v->s.dark);
    press(&d, "pin");
    assert_true(v->s.pin);
    press(&d, "next");
    assert_int_equal(v->s.step, 1);
    const viz_rect list = rect_of(&d, "token");
    press_at(&d, list.x + 40.0, list.y + 2.5 * UI_ROW, false);
    assert_int_equal(v->s.token, 1);
    press_at(&d, list.x + 40.0, list.y + 0.5 * UI_ROW, false);
    assert_true(v->s.token == VIEW_ALL);
    press(&d, "mode");
    press(&d, "mode.1");
    assert_int_equal(v->s.mode, VIEW_SURFACE);
    press(&d, "undo");
    assert_int_equal(v->s.mode, VIEW_MAP);
    press(&d, "redo");
    assert_int_equal(v->s.mode, VIEW_SURFACE);
    close_desk(&d);
}

static void test_sliders(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    const viz_rect steps = rect_of(&d, "step");
    press_at(&d, steps.x + steps.w - 9.0, steps.y + 0.75 * steps.h, false);
    assert_int_equal(d.v->s.step, VIEW_TEST_STEPS);
    const viz_rect energies = rect_of(&d, "energies");
    press_at(&d, energies.x + 9.0, energies.y + 5.0, false);
    assert_int_equal(d.v->s.step, 0);
    view_test_do(d.v, "undo");
    assert_int_equal(d.v->s.step, VIEW_TEST_STEPS);
    press(&d, "rate");
    type(&d, "2.5");
    key(&d, UI_ENTER, 0, false);
    assert_true(fabs(d.v->s.rate - 2.5) < 1e-12);
    assert_true(ui_find(d.v->ui, "reset-rate")->enabled);
    press(&d, "reset-rate");
    assert_true(d.v->s.rate == 1.0);
    close_desk(&d);
}

static void test_tokens_have_the_energies_of_the_step(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "step 2");
    idle(&d);
    const view_landscape *l = d.v->picture->landscape;
    double expected[VIEW_TEST_TOKENS];
    dyn_map *map = NULL;
    TINY_OK(l->subject->map->kind->clone(&map, l->subject->map, tiny_err));
    map->kind->block_energies(map, l->path.states + 2 * map->size, expected);
    const double *energies = view_cache_energies(d.v, 2);
    assert_non_null(energies);
    assert_memory_equal(energies, expected, sizeof expected);
    dyn_map_destroy(map);
    close_desk(&d);
}

static void test_widgets_keep_their_places_at_another_scale(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "scale 1.25");
    idle(&d);
    press(&d, "dark");
    assert_true(d.v->s.dark);
    const viz_rect field = rect_of(&d, "field");
    assert_true(field.x + field.w <= WIDTH + 1e-9);
    close_desk(&d);
}

/* Every mode and size draws, and every widget lies in the window. */
static void test_small_and_large_windows(void **state)
{
    (void)state;
    static const int sizes[][2] = {{900, 600}, {1600, 1000}, {640, 400}, {240, 160}, {40, 30}};
    static const char *const modes[] = {"mode map", "mode surface", "mode basins"};
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "orbit on");
    for (size_t m = 0; m < 3; m++) {
        view_test_do(d.v, modes[m]);
        view_settle(d.v);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const ui_input input = {.x = -1.0, .y = -1.0};
            const double w = sizes[i][0];
            const double h = sizes[i][1];
            size_t n = 0;
            kern_error err = {0};
            cairo_surface_t *image =
                cairo_image_surface_create(CAIRO_FORMAT_RGB24, sizes[i][0], sizes[i][1]);
            cairo_t *cr = cairo_create(image);
            if (view_frame(d.v, cr, w, h, 0.0, &input, &err) != KERN_OK) {
                fail_msg("%g by %g: %s", w, h, err.text);
            }
            cairo_destroy(cr);
            cairo_surface_destroy(image);
            const ui_node *nodes = ui_nodes(d.v->ui, &n);
            for (size_t k = 0; k < n && i < 2; k++) {
                const viz_rect r = nodes[k].rect;
                if (r.x < 0.0 || r.y < 0.0 || r.x + r.w > w + 0.5 || r.y + r.h > h + 0.5) {
                    fail_msg("%s lies outside a window of %g by %g", nodes[k].id, w, h);
                }
            }
        }
    }
    close_desk(&d);
}

/* ---- The pointer on the picture -------------------------------------------------------------- */

static void test_a_click_measures_selects_and_starts(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view *v = d.v;
    double at[2];
    double r[4];
    view_cache_range(v, r);
    /* A place in a corner, away from the trajectory. */
    const double a = r[0] + 0.04 * (r[1] - r[0]);
    const double b = r[2] + 0.05 * (r[3] - r[2]);
    /* Half a unit of the window, in units of the plane. */
    const double step = (r[1] - r[0]) / 500.0;
    window_of(&d, a, b, at);
    press_at(&d, at[0], at[1], true);
    assert_int_equal(v->s.n_seeds, 1);
    assert_true(fabs(v->s.seeds[0] - a) < 1e-9 && fabs(v->s.seeds[1] - b) < 1e-9);
    settle(&d);
    const view_path *path = &v->picture->landscape->path;
    window_of(&d, path->a[3], path->b[3], at);
    press_at(&d, at[0] + 1.0, at[1], false);
    assert_int_equal(v->s.step, 3);
    window_of(&d, a, b, at);
    press_at(&d, at[0], at[1], false);
    settle(&d);
    assert_true(v->has_measure || v->s.step != 3);
    if (v->has_measure) {
        assert_true(fabs(v->measure.a - a) < step && fabs(v->measure.b - b) < step);
    }
    close_desk(&d);
}

static void test_dragging_moves_what_is_under_the_pointer(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    double at[2];
    double before[2];
    double after[2];
    double r[4];
    double q[4];
    middle(&d, at);
    place_of(&d, at[0] + 10.0, at[1] + 60.0, before);
    view_cache_range(d.v, r);
    const size_t past = d.v->n_past;
    drag(&d, at[0] + 10.0, at[1] + 60.0, at[0] - 37.0, at[1] - 11.0, false);
    place_of(&d, at[0] - 37.0, at[1] - 11.0, after);
    view_cache_range(d.v, q);
    const double width = r[1] - r[0];
    assert_true(fabs(after[0] - before[0]) < 1e-9 * width);
    assert_true(fabs(after[1] - before[1]) < 1e-9 * width);
    assert_true(fabs((q[1] - q[0]) - width) < 1e-9 * width);
    assert_true(fabs(q[0] - r[0]) > 0.05 * width);
    /* One drag is one step back. */
    assert_int_equal(d.v->n_past, past + 1);
    /* The axes move at once, before the new energies are there. */
    assert_true(d.v->base->scene->panels[0].x.lo == q[0]);
    view_test_do(d.v, "undo");
    settle(&d);
    view_cache_range(d.v, q);
    assert_true(q[0] == r[0] && q[3] == r[3]);
    close_desk(&d);
}

static void test_the_wheel_zooms_about_the_pointer(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    double at[2];
    double before[2];
    double after[2];
    double r[4];
    double q[4];
    middle(&d, at);
    at[0] += 80.0;
    at[1] -= 50.0;
    view_cache_range(d.v, r);
    ui_input input = {.x = at[0], .y = at[1]};
    show(&d, &input);
    place_of(&d, at[0], at[1], before);
    input.wheel = 2.0;
    show(&d, &input);
    settle(&d);
    place_of(&d, at[0], at[1], after);
    view_cache_range(d.v, q);
    assert_true(fabs(after[0] - before[0]) < 1e-9 * (r[1] - r[0]));
    assert_true(fabs(after[1] - before[1]) < 1e-9 * (r[1] - r[0]));
    assert_true(q[1] - q[0] < 0.8 * (r[1] - r[0]));
    close_desk(&d);
}

static void test_shift_turns_the_plane(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    double at[2];
    middle(&d, at);
    /* A quarter turn counterclockwise of what is seen turns the axes clockwise. */
    drag(&d, at[0] + 60.0, at[1], at[0], at[1] - 60.0, true);
    assert_true(fabs(d.v->s.turn + acos(0.0)) < 1e-9);
    close_desk(&d);
}

static void test_dragging_turns_the_surface(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "mode surface");
    settle(&d);
    const viz_rect field = rect_of(&d, "field");
    const view_settings before = d.v->s;
    drag(&d, field.x + 200.0, field.y + 100.0, field.x + 260.0, field.y + 130.0, false);
    assert_true(d.v->s.azimuth != before.azimuth && d.v->s.elevation > before.elevation);
    drag(&d, field.x + 200.0, field.y + 10.0, field.x + 200.0, field.y + 400.0, false);
    assert_true(d.v->s.elevation <= acos(0.0));
    assert_non_null(d.v->base->scene);
    view_test_do(d.v, "undo");
    view_test_do(d.v, "undo");
    assert_true(d.v->s.azimuth == before.azimuth && d.v->s.elevation == before.elevation);
    close_desk(&d);
}

static void test_the_strip_sets_and_zooms_rates(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "orbit on");
    settle(&d);
    const viz_rect strip = rect_of(&d, "strip");
    const double span = d.v->s.orbit_to - d.v->s.orbit_from;
    press_at(&d, strip.x + 0.5 * strip.w, strip.y + 0.5 * strip.h, false);
    assert_true(fabs(d.v->s.rate - (d.v->s.orbit_from + 0.5 * span)) < 1e-9);
    const ui_input wheel = {
        .x = strip.x + 0.5 * strip.w, .y = strip.y + 0.5 * strip.h, .wheel = 1.0};
    const size_t past = d.v->n_past;
    show(&d, &wheel);
    show(&d, &wheel);
    assert_true(d.v->s.orbit_to - d.v->s.orbit_from < 0.9 * span);
    assert_int_equal(d.v->n_past, past + 1);
    close_desk(&d);
}

/* Darkest of the pixels around a place. */
static unsigned darkest(const desk *d, double x, double y)
{
    unsigned least = 255;
    for (int dy = -2; dy <= 2; dy++) {
        const unsigned char *p =
            cairo_image_surface_get_data(d->image) +
            (ptrdiff_t)((int)y + dy) * cairo_image_surface_get_stride(d->image) + 4 * (ptrdiff_t)x;
        least = p[1] < least ? p[1] : least;
    }
    return least;
}

/* All rates come to one place, but for the first, where the token still creeps far away: the place
 * lies in the middle of the strip all the same. When that column counts as well, it does not. */
static void test_creeping_columns_do_not_flatten_the_strip(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "columns 40");
    view_test_do(d.v, "orbit on");
    settle(&d);
    view_orbit *o = d.v->orbit;
    for (size_t i = 0; i < o->columns * o->values; i++) {
        o->a[i] = i < o->values ? 10.0 + (double)i : 0.0;
    }
    for (size_t i = 0; i < o->columns; i++) {
        o->period[i] = i == 0 ? 0 : 1;
        o->exponent[i] = i == 0 ? -1e-6 : -0.5;
    }
    o->low = 0.0;
    o->high = 10.0 + (double)o->values;
    view_test_do(d.v, "rate 0.2"); /* whose line is elsewhere */
    const viz_rect strip = rect_of(&d, "strip");
    const double x = strip.x + 0.55 * strip.w;
    const double y = strip.y + 16.0 + 0.5 * 0.68 * (strip.h - 31.0);
    for (int settled = 1; settled >= 0; settled--) {
        o->period[0] = settled == 1 ? 0 : 1;
        view_frame_fini(d.v);
        idle(&d);
        assert_ptr_equal(d.v->orbit, o);
        const unsigned ink = darkest(&d, x, y);
        assert_true(settled == 1 ? ink < 128 : ink > 200);
    }
    close_desk(&d);
}

static const char *hint_at(desk *d, double x, double y)
{
    const ui_input input = {.x = x, .y = y};
    show(d, &input);
    const ui_node *node = ui_find(d->v->ui, "hover");
    return node != NULL ? node->label : "";
}

/* The line of words tells what lies under the pointer: a token of the list, a state, the strip. */
static void test_the_pointer_tells_what_it_is_on(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    double at[2];
    char expected[64];
    view_test_do(d.v, "step 2");
    view_test_do(d.v, "columns 12");
    view_test_do(d.v, "orbit on");
    settle(&d);
    const view_path *path = &d.v->picture->landscape->path;
    const double *e = view_cache_energies(d.v, 2);
    const double change = e[3] - e[VIEW_TEST_TOKENS + 3];
    const viz_rect list = rect_of(&d, "token");
    const char *said = hint_at(&d, list.x + 30.0, list.y + 4.5 * UI_ROW);
    assert_non_null(strstr(said, "token 3 "));
    assert_non_null(strstr(said, "step 2"));
    (void)snprintf(expected, sizeof expected, "E = %s%.5g,", e[3] < 0.0 ? "\xe2\x88\x92" : "",
                   fabs(e[3]));
    assert_non_null(strstr(said, expected));
    (void)snprintf(expected, sizeof expected, "E = %s%.5g,", change < 0.0 ? "\xe2\x88\x92" : "",
                   fabs(change));
    assert_non_null(strstr(said, expected));
    assert_non_null(strstr(said, "|x| = "));
    window_of(&d, path->a[1], path->b[1], at);
    said = hint_at(&d, at[0], at[1]);
    said = hint_at(&d, at[0], at[1]);
    assert_non_null(strstr(said, "state 1: E = "));
    assert_non_null(strstr(said, "off the plane"));
    const viz_rect strip = rect_of(&d, "strip");
    said = hint_at(&d, strip.x + 50.0, strip.y + 30.0);
    assert_non_null(strstr(said, "token 4"));
    assert_non_null(strstr(said, "held at step 3"));
    assert_non_null(ui_find(d.v->ui, "strip.held"));
    /* At the first step nothing has changed yet. */
    view_test_do(d.v, "step 0");
    assert_null(strstr(hint_at(&d, list.x + 30.0, list.y + 4.5 * UI_ROW), "\xce\x94"));
    close_desk(&d);
}

/* ---- Dialogs --------------------------------------------------------------------------------- */

static void test_the_palette_runs_commands(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    key(&d, UI_LETTER, 'p', true);
    assert_non_null(ui_find(d.v->ui, "palette"));
    type(&d, "mode surf");
    key(&d, UI_ENTER, 0, false);
    assert_int_equal(d.v->s.mode, VIEW_SURFACE);
    assert_null(ui_find(d.v->ui, "palette"));
    press(&d, "commands");
    type(&d, "token 99");
    key(&d, UI_ENTER, 0, false);
    /* What failed can be put right. */
    assert_string_equal(ui_find(d.v->ui, "palette")->value, "token 99");
    assert_true(strstr(ui_find(d.v->ui, "palette.said")->label, "99") != NULL);
    key(&d, UI_ESCAPE, 0, false);
    assert_null(ui_find(d.v->ui, "palette"));
    close_desk(&d);
}

static void test_tab_completes_in_the_palette(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "palette");
    idle(&d);
    type(&d, "quad");
    key(&d, UI_TAB, 0, false);
    type(&d, "on");
    key(&d, UI_ENTER, 0, false);
    assert_true(d.v->s.quadratic);
    close_desk(&d);
}

static void test_what_lies_under_a_dialog_takes_nothing(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    const viz_rect dark = rect_of(&d, "dark");
    const viz_rect field = rect_of(&d, "field");
    view_test_do(d.v, "help");
    idle(&d);
    const view_settings before = d.v->s;
    press_at(&d, dark.x + 8.0, dark.y + 8.0, false);
    const ui_input wheel = {.x = field.x + 5.0, .y = field.y + 5.0, .wheel = 1.0};
    show(&d, &wheel);
    key(&d, UI_LETTER, 'd', false);
    assert_true(view_test_same(&before, &d.v->s));
    assert_non_null(ui_find(d.v->ui, "help.close"));
    press(&d, "help.close");
    assert_null(ui_find(d.v->ui, "help.close"));
    key(&d, UI_LETTER, 'd', false);
    assert_true(d.v->s.dark);
    close_desk(&d);
}

/* The table of keys says what a key does, not what its command can do. */
static void test_the_table_of_keys(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "help");
    idle(&d);
    size_t n = 0;
    size_t found = 0;
    const ui_node *nodes = ui_nodes(d.v->ui, &n);
    for (size_t i = 0; i + 1 < n; i++) {
        if (strncmp(nodes[i].id, "help.key.", 9) == 0) {
            found += strcmp(nodes[i].label, "Down") == 0 &&
                     strcmp(nodes[i + 1].label, "the next token") == 0;
            found += strcmp(nodes[i].label, "x") == 0 &&
                     strcmp(nodes[i + 1].label, "take all started trajectories away") == 0;
            found += strcmp(nodes[i].label, "Ctrl+Z") == 0 &&
                     strcmp(nodes[i + 1].label, view_command_find("undo")->help) == 0;
        }
    }
    assert_int_equal(found, 3);
    close_desk(&d);
}

static void test_the_export_dialog_writes_a_figure(void **state)
{
    (void)state;
    char path[TEST_PATH];
    desk d = open_desk(view_test_make());
    (void)test_path(path, "from dialog.svg");
    press(&d, "export");
    assert_false(ui_find(d.v->ui, "export.write")->enabled);
    type(&d, "figure.doc");
    press(&d, "export.write");
    assert_non_null(ui_find(d.v->ui, "export.write"));
    assert_true(strstr(ui_find(d.v->ui, "export.said")->label, ".pdf") != NULL);
    d.v->typed[0] = '\0';
    press(&d, "path");
    type(&d, path);
    press(&d, "export.write");
    assert_null(ui_find(d.v->ui, "export.write"));
    assert_int_equal(access(path, R_OK), 0);
    (void)unlink(path);
    close_desk(&d);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static void test_what_is_kept_is_what_would_be_drawn(void **state)
{
    (void)state;
    static const char *const lines[] = {"step 2",      "dark on", "step 4",      "mode surface",
                                        "azimuth 0.3", "step 1",  "mode basins", "map cividis",
                                        "mode map",    "fit",     "step 5"};
    desk d = open_desk(view_test_make());
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        view_test_do(d.v, lines[i]);
        settle(&d);
        /* The same once more with nothing kept. */
        const size_t bytes = (size_t)cairo_image_surface_get_stride(d.image) * HEIGHT;
        unsigned char *kept = malloc(bytes);
        assert_non_null(kept);
        memcpy(kept, cairo_image_surface_get_data(d.image), bytes);
        view_frame_fini(d.v);
        idle(&d);
        if (memcmp(kept, cairo_image_surface_get_data(d.image), bytes) != 0) {
            fail_msg("after \"%s\" the frame is not what would be drawn anew", lines[i]);
        }
        free(kept);
    }
    close_desk(&d);
}

static void test_steps_leave_the_base_alone(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    cairo_surface_t *base = d.v->base->base;
    assert_non_null(base);
    view_test_do(d.v, "step 3");
    idle(&d);
    assert_ptr_equal(d.v->base->base, base);
    view_test_do(d.v, "dark on");
    idle(&d);
    assert_ptr_not_equal(d.v->base->scene, NULL);
    assert_int_equal(d.v->base->scene->theme, VIZ_DARK);
    close_desk(&d);
}

static void test_before_the_first_picture(void **state)
{
    (void)state;
    const view_settings s = view_test_settings("a.safetensors");
    view *v = view_test_open(&s);
    kern_error err = {0};
    const ui_input input = {.x = -1.0, .y = -1.0};
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
    cairo_t *cr = cairo_create(image);
    view_settle(v);
    view_picture_release(v->picture);
    v->picture = NULL;
    assert_int_equal(view_frame(v, cr, WIDTH, HEIGHT, 0.0, &input, &err), KERN_OK);
    assert_true(strstr(ui_find(v->ui, "notice")->label, "token 4") != NULL);
    assert_null(v->base->scene);
    cairo_destroy(cr);
    cairo_surface_destroy(image);
    view_destroy(v);
}

static void test_without_a_model_it_says_why(void **state)
{
    (void)state;
    const view_settings s = view_test_settings("nowhere.safetensors");
    const view_options options = {.settings = s, .expected_sha256 = "00", .workers = 1};
    view *v = NULL;
    TINY_OK(view_create(&v, &options, tiny_err));
    desk d = open_desk(v);
    assert_true(strstr(ui_find(v->ui, "notice")->label, "nowhere") != NULL);
    close_desk(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widgets_change_settings),
        cmocka_unit_test(test_sliders),
        cmocka_unit_test(test_tokens_have_the_energies_of_the_step),
        cmocka_unit_test(test_widgets_keep_their_places_at_another_scale),
        cmocka_unit_test(test_small_and_large_windows),
        cmocka_unit_test(test_a_click_measures_selects_and_starts),
        cmocka_unit_test(test_dragging_moves_what_is_under_the_pointer),
        cmocka_unit_test(test_the_wheel_zooms_about_the_pointer),
        cmocka_unit_test(test_shift_turns_the_plane),
        cmocka_unit_test(test_dragging_turns_the_surface),
        cmocka_unit_test(test_the_strip_sets_and_zooms_rates),
        cmocka_unit_test(test_creeping_columns_do_not_flatten_the_strip),
        cmocka_unit_test(test_the_pointer_tells_what_it_is_on),
        cmocka_unit_test(test_the_palette_runs_commands),
        cmocka_unit_test(test_tab_completes_in_the_palette),
        cmocka_unit_test(test_what_lies_under_a_dialog_takes_nothing),
        cmocka_unit_test(test_the_table_of_keys),
        cmocka_unit_test(test_the_export_dialog_writes_a_figure),
        cmocka_unit_test(test_what_is_kept_is_what_would_be_drawn),
        cmocka_unit_test(test_steps_leave_the_base_alone),
        cmocka_unit_test(test_before_the_first_picture),
        cmocka_unit_test(test_without_a_model_it_says_why),
    };
    return cmocka_run_group_tests(tests, view_test_setup, test_folder_remove);
}
