/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames of the explorer: widgets pressed where their nodes say they are, the pointer on the
 * picture, and images that are kept from frame to frame.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/viz/view_test_desk.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>

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
    static const int sizes[][2] = {{900, 600}, {4000, 3000}, {640, 400}, {240, 160},
                                   {40, 30},   {1, 1},       {3, 900},   {900, 3}};
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
            assert_true((ui_find(d.v->ui, "strip") != NULL) == (i < 3));
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

/* The strip and the landmarks are of the trained rate: going to another leaves them, and a window
 * that opens there has the same. */
static void test_the_strip_does_not_depend_on_the_rate(void **state)
{
    (void)state;
    view_settings s = view_test_settings("a.safetensors");
    s.orbit = true;
    s.columns = 12;
    s.rate = 3.0;
    s.follow = true;
    s.step = 1;
    desk d = open_desk(view_test_make());
    desk other = open_desk(view_test_open(&s));
    view_test_do(d.v, "columns 12");
    view_test_do(d.v, "orbit on");
    settle(&d);
    settle(&other);
    const view_orbit *orbit = d.v->orbit;
    const viz_rect strip = rect_of(&d, "strip");
    press_at(&d, strip.x + 0.7 * strip.w, strip.y + 0.5 * strip.h, false);
    assert_true(d.v->s.rate > 3.0);
    settle(&d);
    assert_ptr_equal(d.v->orbit, orbit);
    const view_orbit *same = other.v->orbit;
    assert_int_equal(same->columns, orbit->columns);
    assert_memory_equal(same->a, orbit->a, orbit->columns * orbit->values * sizeof(double));
    assert_memory_equal(same->radius, orbit->radius, orbit->columns * sizeof(double));
    assert_true(d.v->landmarks.lost == other.v->landmarks.lost);
    assert_true(strstr(ui_find(d.v->ui, "strip.held")->label, "rate 1, t = 3") != NULL);
    /* Arrows go by columns, zoom about the rate, and only here. */
    const double rate = d.v->s.rate;
    key(&d, UI_LEFT, 0, false);
    const double column = (d.v->s.orbit_to - d.v->s.orbit_from) / 12.0;
    assert_true(fabs(d.v->s.rate - (rate - column)) < 1e-9);
    assert_int_equal(d.v->s.step, 0);
    key(&d, UI_UP, 0, false);
    assert_true(d.v->s.orbit_to - d.v->s.orbit_from < 12.0 * column);
    /* Columns that go on from one another are others. */
    press(&d, "continued");
    assert_true(d.v->s.continued);
    settle(&d);
    assert_ptr_not_equal(d.v->orbit, orbit);
    close_desk(&other);
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
    const size_t creep = o->columns / 4; /* more than are few */
    for (size_t i = 0; i < o->columns * o->values; i++) {
        o->a[i] = i < creep * o->values ? 10.0 + (double)(i % o->values) : 0.0;
    }
    for (size_t i = 0; i < o->columns; i++) {
        o->period[i] = i < creep ? 0 : 1;
        o->exponent[i] = i < creep ? -1e-6 : -0.5;
    }
    o->low = 0.0;
    o->high = 10.0 + (double)o->values;
    view_test_do(d.v, "rate 0.2"); /* whose line is elsewhere */
    const viz_rect strip = rect_of(&d, "strip");
    const double x = strip.x + 0.55 * strip.w;
    const double y = strip.y + 16.0 + 0.5 * 0.68 * (strip.h - 31.0);
    for (int settled = 1; settled >= 0; settled--) {
        for (size_t i = 0; i < creep; i++) {
            o->period[i] = settled == 1 ? 0 : 1;
        }
        view_frame_fini(d.v);
        idle(&d);
        assert_ptr_equal(d.v->orbit, o);
        const unsigned ink = darkest(&d, x, y);
        assert_true(settled == 1 ? ink < 128 : ink > 200);
        assert_int_equal(ui_find(d.v->ui, "strip.beyond") != NULL, settled);
    }
    close_desk(&d);
}

static const char *label_of(const desk *d, const char *id)
{
    const ui_node *node = ui_find(d->v->ui, id);
    return node != NULL ? node->label : "";
}

/* What the strip says of a rate is of the column nearest to it, whose rate it names, and nothing
 * where the rate is none of the strip's. */
static void test_the_strip_says_of_which_rate(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    char expected[64];
    view_test_do(d.v, "columns 12");
    view_test_do(d.v, "orbit on");
    view_test_do(d.v, "rate 2");
    settle(&d);
    view_orbit *o = d.v->orbit;
    size_t near = 0;
    for (size_t i = 0; i < o->columns; i++) {
        near = fabs(o->rate[i] - 2.0) < fabs(o->rate[near] - 2.0) ? i : near;
    }
    o->period[near] = 3;
    o->radius[near] = 0.5;
    idle(&d);
    (void)snprintf(expected, sizeof expected, "at %.4g: period 3", o->rate[near]);
    assert_string_equal(label_of(&d, "strip.period"), expected);
    assert_string_equal(label_of(&d, "strip.radius"), "rest: |\xce\xbc| = 0.5");
    assert_string_equal(label_of(&d, "strip.a"), "a");
    assert_true(label_of(&d, "strip.low")[0] != '\0' && label_of(&d, "strip.high")[0] != '\0');
    view_test_do(d.v, "orbit-from 3");
    settle(&d);
    assert_string_equal(label_of(&d, "strip.period"), "rate 2 is outside");
    assert_null(ui_find(d.v->ui, "strip.radius"));
    close_desk(&d);
}

/* The frame is what is drawn when nothing is kept. */
static void assert_drawn_anew(desk *d, const char *after)
{
    const size_t bytes = (size_t)cairo_image_surface_get_stride(d->image) * HEIGHT;
    unsigned char *kept = malloc(bytes);
    assert_non_null(kept);
    memcpy(kept, cairo_image_surface_get_data(d->image), bytes);
    view_frame_fini(d->v);
    idle(d);
    if (memcmp(kept, cairo_image_surface_get_data(d->image), bytes) != 0) {
        fail_msg("after \"%s\" the frame is not what would be drawn anew", after);
    }
    free(kept);
}

/* Another orbit may be where one was that is gone: what is drawn of it is not kept. */
static void test_another_orbit_in_the_same_place(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "columns 12");
    view_test_do(d.v, "orbit on");
    settle(&d);
    view_orbit *o = d.v->orbit;
    const size_t last = o->columns * o->values - 1;
    for (size_t i = 0; i < last - i; i++) { /* the same values, the other way round */
        const double a = o->a[i];
        o->a[i] = o->a[last - i];
        o->a[last - i] = a;
    }
    d.v->n_orbits++;
    idle(&d);
    assert_drawn_anew(&d, "another orbit");
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
    const double change = e[3] - view_cache_energies(d.v, 1)[3];
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

/* ---- Frames ---------------------------------------------------------------------------------- */

static void test_what_is_kept_is_what_would_be_drawn(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "step 2",      "dark on",     "step 4",   "mode surface", "azimuth 0.3", "step 1",
        "mode basins", "map cividis", "mode map", "fit",          "step 5",      "follow on",
        "step 2",      "step 4",      "step 2",   "ghost on",     "step 4",      "step 2"};
    desk d = open_desk(view_test_make());
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        view_test_do(d.v, lines[i]);
        settle(&d);
        assert_drawn_anew(&d, lines[i]);
    }
    close_desk(&d);
}

static void test_steps_leave_the_base_alone(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    cairo_surface_t *base = d.v->base->ground->base;
    assert_non_null(base);
    view_test_do(d.v, "step 3");
    idle(&d);
    assert_ptr_equal(d.v->base->ground->base, base);
    view_test_do(d.v, "dark on");
    idle(&d);
    assert_ptr_not_equal(d.v->base->scene, NULL);
    assert_int_equal(d.v->base->scene->theme, VIZ_DARK);
    close_desk(&d);
}

static kern_status stand_before(void *gate, view_turn *turn, kern_error *err)
{
    (void)turn;
    (void)err;
    (void)pthread_mutex_lock(gate);
    (void)pthread_mutex_unlock(gate);
    return KERN_OK;
}

static void leave(void *gate)
{
    (void)gate;
}

/* Goes to a step and shows it while the background stands before the gate, which must last until
 * that is settled. */
static void show_step_alone(desk *d, size_t step, pthread_mutex_t *gate)
{
    char line[32];
    (void)snprintf(line, sizeof line, "step %zu", step);
    (void)pthread_mutex_lock(gate);
    view_work_post(d->v->work, VIEW_SLOT_MEASURE, &(view_task){stand_before, leave, gate});
    while (view_work_state(d->v->work, VIEW_SLOT_MEASURE) != VIEW_SLOT_RUNNING) {
        (void)sched_yield();
    }
    view_test_do(d->v, line);
    show(d, &(ui_input){.x = -1.0, .y = -1.0});
    (void)pthread_mutex_unlock(gate);
}

/* Forth and back where every step has a field: the second time nothing is drawn but what moves. */
static void test_the_grounds_of_steps_are_kept(void **state)
{
    (void)state;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    cairo_surface_t *bases[VIEW_TEST_STEPS + 1];
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "follow on");
    view_test_do(d.v, "step 5");
    settle(&d);
    for (int round = 0; round < 2; round++) {
        for (size_t step = 0; step <= VIEW_TEST_STEPS; step++) {
            show_step_alone(&d, step, &gate);
            assert_ptr_equal(d.v->picture, d.v->steps[step]);
            assert_ptr_equal(d.v->base->ground->key.picture, d.v->picture);
            if (round > 0) {
                assert_ptr_equal(d.v->base->ground->base, bases[step]);
            }
            bases[step] = d.v->base->ground->base;
            settle(&d); /* a finer picture takes its place, whose ground is not kept */
        }
    }
    assert_in_range(d.v->base->shelf.n, VIEW_TEST_STEPS + 1, VIEW_TEST_STEPS + 2);
    /* With other fields the old ones go, and hold no memory. */
    view_test_do(d.v, "token 1");
    settle(&d);
    assert_in_range(d.v->base->shelf.n, 1, 2);
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
        cmocka_unit_test(test_the_strip_does_not_depend_on_the_rate),
        cmocka_unit_test(test_creeping_columns_do_not_flatten_the_strip),
        cmocka_unit_test(test_the_strip_says_of_which_rate),
        cmocka_unit_test(test_another_orbit_in_the_same_place),
        cmocka_unit_test(test_the_pointer_tells_what_it_is_on),
        cmocka_unit_test(test_what_is_kept_is_what_would_be_drawn),
        cmocka_unit_test(test_steps_leave_the_base_alone),
        cmocka_unit_test(test_the_grounds_of_steps_are_kept),
        cmocka_unit_test(test_before_the_first_picture),
        cmocka_unit_test(test_without_a_model_it_says_why),
    };
    return cmocka_run_group_tests(tests, view_test_setup, test_folder_remove);
}
