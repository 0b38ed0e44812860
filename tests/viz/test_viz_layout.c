/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_layout.h"

#include "viz/viz_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/viz/test_viz_support.h"

enum { LOG_ROOM = 512, MANY = 40 };

static viz_placed placed[LOG_ROOM];

static double cost(const double *y, const double *target, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (y[i] - target[i]) * (y[i] - target[i]);
    }
    return sum;
}

static void check_apart(const double *y, size_t n, double height, double lo, double hi)
{
    assert_true(y[0] >= lo + 0.5 * height - 1e-9);
    assert_true(y[n - 1] <= hi - 0.5 * height + 1e-9);
    for (size_t i = 1; i < n; i++) {
        assert_true(y[i] - y[i - 1] >= height - 1e-9);
    }
}

/* True when the run from … to can move by `by` without breaking a rule of the spread. */
static bool may_move(const double *y, size_t n, size_t from, size_t to, double by, double *moved)
{
    memcpy(moved, y, n * sizeof *y);
    for (size_t i = from; i <= to; i++) {
        moved[i] += by;
    }
    bool legal = moved[0] >= 4.0 && moved[n - 1] <= 96.0;
    for (size_t i = 1; i < n; i++) {
        legal = legal && moved[i] - moved[i - 1] >= 8.0;
    }
    return legal;
}

/* The optimum: no small move of a run of labels that stays legal lowers the cost. */
static void check_optimal(const double *y, const double *target, size_t n)
{
    const double best = cost(y, target, n);
    for (size_t from = 0; from < n; from++) {
        for (size_t to = from; to < n; to++) {
            double moved[MANY];
            assert_true(!may_move(y, n, from, to, 1e-4, moved) ||
                        cost(moved, target, n) >= best - 1e-7);
            assert_true(!may_move(y, n, from, to, -1e-4, moved) ||
                        cost(moved, target, n) >= best - 1e-7);
        }
    }
}

static void test_spread(void **state)
{
    (void)state;
    double scratch[2 * MANY];
    for (size_t n = 1; n <= 12; n++) {
        for (int seed = 0; seed < 40; seed++) {
            double target[MANY];
            double y[MANY];
            double place = 5.0;
            for (size_t i = 0; i < n; i++) {
                place +=
                    9.0 * fabs(sin(3.1 * (double)i + 0.7 * seed)) * (seed % 3 == 0 ? 0.1 : 1.0);
                y[i] = target[i] = fmin(place, 99.0);
            }
            viz_layout_spread(y, n, 8.0, 0.0, 100.0, scratch);
            check_apart(y, n, 8.0, 0.0, 100.0);
            check_optimal(y, target, n);
        }
    }
}

static void test_spread_leaves_room_alone(void **state)
{
    (void)state;
    double y[3] = {10.0, 30.0, 55.5};
    double scratch[6];
    viz_layout_spread(y, 3, 8.0, 0.0, 100.0, scratch);
    assert_true(y[0] == 10.0 && y[1] == 30.0 && y[2] == 55.5);
    double full[5] = {50.0, 50.0, 50.0, 50.0, 50.0};
    double more[10];
    viz_layout_spread(full, 5, 20.0, 0.0, 100.0, more);
    for (size_t i = 0; i < 5; i++) {
        assert_true(fabs(full[i] - (10.0 + 20.0 * (double)i)) < 1e-9);
    }
}

static viz_scene *new_scene(double width, double height)
{
    viz_scene *scene = NULL;
    assert_int_equal(viz_scene_create(&scene, width, height, NULL), KERN_OK);
    return scene;
}

/* Two by two panels with logarithmic axes, every dash and marker, legends and spans. */
static void test_grid_of_panels(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_log log = {placed, LOG_ROOM, 0};
    viz_scene *scene = new_scene(420.0, 320.0);
    double x[30];
    double y[30];
    for (size_t p = 0; p < 4; p++) {
        viz_panel *panel = NULL;
        const viz_panel spec = {.title = p == 1 ? "<b>b</b>  loss" : NULL,
                                .row = p / 2,
                                .column = p % 2,
                                .x = {.label = "parameters", .log = p > 1},
                                .y = {.label = "loss <i>L</i><sub>v</sub>", .log = p % 2 == 1}};
        assert_int_equal(viz_scene_add_panel(&panel, scene, &spec, &err), KERN_OK);
        for (int k = 0; k < 5; k++) {
            for (size_t i = 0; i < 30; i++) {
                x[i] = pow(1.6, (double)i);
                y[i] = 3.0 * pow(0.8, (double)i) + 0.01 * k - (i == 17 ? 9.0 : 0.0);
            }
            char name[16];
            (void)snprintf(name, sizeof name, "run %d", k);
            const viz_series series = {.name = name,
                                       .legend = p == 0 ? name : NULL,
                                       .end_label = p == 3 ? name : NULL,
                                       .x = x,
                                       .y = y,
                                       .n = 30,
                                       .style = {.paint = viz_paint_class((size_t)k),
                                                 .width = k == 4 ? 0.0 : 1.0,
                                                 .dash = (viz_dash)(k % 3),
                                                 .marker = (viz_marker)k,
                                                 .size = 3.0,
                                                 .open = k % 2 == 0}};
            assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_OK);
        }
        viz_scene_fit(panel, 0.05);
        const viz_span spans[2] = {{10.0, 1000.0, "early"}, {50000.0, 1e6, "late"}};
        assert_int_equal(viz_scene_add_span(scene, panel, &spans[0], &err), KERN_OK);
        assert_int_equal(viz_scene_add_span(scene, panel, &spans[1], &err), KERN_OK);
    }
    assert_int_equal(viz_scene_set_note(scene,
                                        "A note that is long enough to be wrapped at the "
                                        "edge of this page, and then some more words.",
                                        &err),
                     KERN_OK);
    test_viz_check_page(scene, 1.5, &log);
    test_viz_check_overlaps(&log);
    assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_LEGEND), 5);
    assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_END_LABEL), 5);
    assert_int_equal(test_viz_count_text(&log, "loss Lv"), 4);
    assert_int_equal(test_viz_count_text(&log, "b  loss"), 1);
    /* Points at or below zero have no place on a logarithmic axis. */
    assert_false(viz_scene_drawable(&scene->panels[1], 3.0, -1.0));
    assert_true(scene->panels[1].y.lo > 0.0);
    viz_scene_destroy(scene);
}

/* Labels longer than their plot is high or wide are broken, and far longer ones end in an ellipsis:
 * nothing of either kind is lost, leaves the page or stands over anything else. */
static void test_long_labels(void **state)
{
    static const char *const words[] = {
        "short", "a label that is longer than its axis, <i>t</i> = 3",
        "a label that no room of this page holds, for it goes on and "
        "on and on, and says again and again what it has said "
        "already, in many words and without any end (units)",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk"};
    (void)state;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        kern_error err = {0};
        viz_log log = {placed, LOG_ROOM, 0};
        viz_layout *layout = NULL;
        viz_panel *panel = NULL;
        viz_scene *scene = new_scene(250.0, 200.0);
        const viz_panel spec = {.title = words[k],
                                .x = {.label = words[k], .hi = 1e5},
                                .y = {.label = words[k], .hi = 1.0}};
        const viz_bar bar = {.scale = {.hi = 1.0}, .label = words[k]};
        const double zero[1] = {0.5};
        const viz_series series = {
            .name = "s", .legend = words[k], .x = zero, .y = zero, .n = 1, .style = {.width = 1.0}};
        assert_int_equal(viz_scene_set_title(scene, "title", &err), KERN_OK);
        assert_int_equal(viz_scene_set_bar(scene, &bar, &err), KERN_OK);
        assert_int_equal(viz_scene_add_panel(&panel, scene, &spec, &err), KERN_OK);
        assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_OK);
        test_viz_check_page(scene, 1.0, &log);
        test_viz_check_overlaps(&log);
        assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_AXIS), 3);
        assert_int_equal(viz_draw_layout(&layout, scene, &err), KERN_OK);
        const viz_frame *frame = &layout->frames[0];
        assert_true(frame->y_label.lines > 1 ? k > 0 : k == 0);
        assert_true(frame->y_label.cut == (k == 2));
        assert_true(frame->y_label.width <= frame->plot.h + 8.0 + 1e-6);
        for (size_t i = 0; i < log.count; i++) {
            const viz_rect box = log.items[i].box;
            assert_true(box.x + box.w <= frame->plot.x + 0.5 ||
                        box.x >= frame->plot.x + frame->plot.w - 0.5 ||
                        box.y + box.h <= frame->plot.y + 0.5 ||
                        box.y >= frame->plot.y + frame->plot.h - 0.5);
        }
        viz_layout_destroy(layout);
        viz_scene_destroy(scene);
    }
}

/* What belongs together is not broken, and tags stay as they are. */
static void test_bound_words(void **state)
{
    char out[128];
    (void)state;
    (void)viz_text_bind(out, sizeof out, "<span size = \"1\">λ</span> = 2, 3 % of step 4");
    assert_string_equal(out, "<span size = \"1\">λ</span>\xc2\xa0=\xc2\xa0"
                             "2, 3\xc2\xa0% of step\xc2\xa0"
                             "4");
    assert_int_equal(viz_text_bind(out, 4, "a = b"), 3);
}

/* More end labels than room: every k-th is drawn, still without overlap. */
static void test_labels_beyond_room(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_log log = {placed, LOG_ROOM, 0};
    viz_scene *scene = new_scene(200.0, 120.0);
    viz_panel *panel = NULL;
    const viz_panel spec = {.x = {.label = NULL}};
    const double x[2] = {0.0, 1.0};
    size_t room = 0;
    assert_int_equal(viz_scene_add_panel(&panel, scene, &spec, &err), KERN_OK);
    for (int k = 0; k < MANY; k++) {
        const double y[2] = {1.0, 0.01 * k};
        const viz_series series = {
            .name = "s", .end_label = "label", .x = x, .y = y, .n = 2, .style = {.width = 0.5}};
        assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_OK);
    }
    viz_scene_fit(panel, 0.0);
    assert_int_equal(viz_draw_label_room(scene, 0, &room, &err), KERN_OK);
    test_viz_check_page(scene, 1.0, &log);
    test_viz_check_overlaps(&log);
    const size_t drawn = test_viz_count_role(&log, VIZ_ROLE_END_LABEL);
    assert_true(drawn >= 5 && drawn <= room && room < MANY);
    assert_int_equal(viz_draw_label_room(scene, 1, &room, &err), KERN_INVALID_ARGUMENT);
    viz_scene_destroy(scene);
}

static void test_scene_refusals(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene = new_scene(200.0, 150.0);
    viz_panel *panel = NULL;
    const double one[1] = {1.5};
    const viz_panel plain = {.x = {.lo = 0.0, .hi = 1.0}, .y = {.lo = 2.0, .hi = 2.0}};
    const viz_panel outside = {.column = VIZ_GRID_MAX - 1, .n_columns = 2};
    viz_series series = {.name = "a", .x = one, .y = one, .n = 1, .style = {.width = 1.0}};
    assert_int_equal(viz_scene_set_title(scene, "a < b", &err), KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "a < b"));
    assert_int_equal(viz_scene_set_note(scene, "\xf0\x28", &err), KERN_BAD_INPUT);
    assert_int_equal(viz_scene_set_family(scene, "", &err), KERN_BAD_INPUT);
    assert_int_equal(viz_scene_add_panel(&panel, scene, &outside, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_scene_add_panel(&panel, scene, &plain, &err), KERN_OK);
    series.end_label = "<i>open";
    assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_BAD_INPUT);
    series.end_label = NULL;
    series.name = NULL;
    assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_BAD_INPUT);
    series.name = "a";
    series.style.width = (double)NAN;
    assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_INVALID_ARGUMENT);
    series.style = (viz_style){.marker = VIZ_MARKER_CIRCLE, .size = 0.0};
    assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_INVALID_ARGUMENT);
    const viz_span backwards = {3.0, 1.0, NULL};
    assert_int_equal(viz_scene_add_span(scene, panel, &backwards, &err), KERN_INVALID_ARGUMENT);
    const viz_bar empty = {.scale = {.lo = 1.0, .hi = 1.0}};
    assert_int_equal(viz_scene_set_bar(scene, &empty, &err), KERN_INVALID_ARGUMENT);
    /* An axis without length is found when the page is laid out. */
    size_t room = 0;
    assert_int_equal(viz_draw_label_room(scene, 0, &room, &err), KERN_INVALID_ARGUMENT);
    while (scene->n_panels < VIZ_PANELS_MAX) {
        assert_int_equal(viz_scene_add_panel(&panel, scene, &plain, &err), KERN_OK);
    }
    assert_int_equal(viz_scene_add_panel(&panel, scene, &plain, &err), KERN_INVALID_ARGUMENT);
    viz_scene_destroy(scene);
    viz_scene_destroy(NULL);
}

static void check_token(const char *token, size_t most, const char *want)
{
    char out[128];
    const size_t n = viz_text_token(out, sizeof out, token, most);
    assert_string_equal(out, want);
    assert_int_equal(n, strlen(want));
    assert_true(viz_text_is_utf8(out));
}

static void test_texts(void **state)
{
    (void)state;
    char out[64];
    check_token("max_10", 12, "max_10");
    check_token(" a\n", 12,
                "\xe2\x90\xa3"
                "a\xe2\x8f\x8e");
    check_token("", 12, "\xe2\x88\x85");
    check_token("\x01", 12,
                "\xe2\x9f\xa8"
                "01\xe2\x9f\xa9");
    check_token("\xe2\x82", 12,
                "\xe2\x9f\xa8"
                "E2\xe2\x9f\xa9\xe2\x9f\xa8"
                "82\xe2\x9f\xa9");
    check_token("abcdef", 4, "abc\xe2\x80\xa6");
    check_token("abcd", 4, "abcd");
    assert_int_equal(viz_text_escape(out, sizeof out, "a<b & \"c\"'"), 31);
    assert_string_equal(out, "a&lt;b &amp; &quot;c&quot;&#39;");
    /* A short buffer holds whole characters only. */
    assert_int_equal(viz_text_escape(out, 5, "ab\xc3\xa9\xc3\xa9"), 4);
    assert_int_equal(viz_text_escape(out, 4, "ab\xc3\xa9"), 2);
    assert_int_equal(viz_text_escape(out, 1, "ab"), 0);
    (void)viz_text_plain(out, sizeof out, "<i>E<sub>A</sub></i> &lt;");
    assert_string_equal(out, "EA <");
    assert_false(viz_text_is_utf8("\xed\xa0\x80"));
    assert_false(viz_text_is_utf8("\xc0\xaf"));
    assert_true(viz_text_is_utf8("\xf0\x9f\x98\x80"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),         cmocka_unit_test(test_spread_leaves_room_alone),
        cmocka_unit_test(test_grid_of_panels), cmocka_unit_test(test_labels_beyond_room),
        cmocka_unit_test(test_long_labels),    cmocka_unit_test(test_bound_words),
        cmocka_unit_test(test_scene_refusals), cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
