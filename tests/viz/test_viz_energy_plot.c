/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_energy_plot.h"

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

enum { LOG_ROOM = 512 };

static viz_placed placed[LOG_ROOM];

static viz_scene *plot(const viz_energy_data *data, const viz_energy_style *style,
                       viz_energy_counts *counts)
{
    kern_error err = {0};
    viz_scene *scene = NULL;
    if (viz_energy_plot(&scene, counts, data, style, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return scene;
}

/* Every size, both themes, with and without terms: nothing clipped, nothing overlapping. */
static void test_pages_are_clean(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {{1, 1, 0},    {4, 6, 0},     {4, 12, 6},
                                      {22, 30, 12}, {128, 60, 30}, {37, 7, 6}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_viz_energy e;
        test_viz_energy_make(&e, sizes[i][0], sizes[i][1], sizes[i][2]);
        for (int variant = 0; variant < 4; variant++) {
            viz_log log = {placed, LOG_ROOM, 0};
            viz_energy_counts counts;
            viz_energy_style style = {.theme = variant % 2 == 0 ? VIZ_LIGHT : VIZ_DARK};
            style.width = variant == 3 ? viz_scene_points(VIZ_SINGLE_COLUMN_MM) : 0.0;
            e.data.attention = variant >= 2 ? e.attention : NULL;
            e.data.feed_forward = variant >= 2 ? e.feed_forward : NULL;
            viz_scene *scene = plot(&e.data, &style, &counts);
            test_viz_check_page(scene, variant == 1 ? 1.37 : 1.0, &log);
            assert_true(log.count < LOG_ROOM);
            test_viz_check_overlaps(&log);
            const size_t labels = (sizes[i][0] + counts.every - 1) / counts.every;
            assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_END_LABEL), labels);
            assert_true(labels >= 8 || labels == sizes[i][0]);
            viz_scene_destroy(scene);
        }
        test_viz_energy_free(&e);
    }
}

static void test_rises_are_marked(void **state)
{
    (void)state;
    test_viz_energy e;
    viz_energy_counts counts;
    char expected[128];
    test_viz_energy_make(&e, 9, 25, 10);
    viz_scene *scene = plot(&e.data, NULL, &counts);
    assert_true(e.rises > 5);
    assert_int_equal(counts.rises, e.rises);
    assert_int_equal(counts.pairs, 9 * 25);
    const viz_panel *panel = &scene->panels[0];
    const viz_series *marks = &panel->series[panel->n_series - 1];
    assert_int_equal(panel->n_series, 10);
    assert_int_equal(marks->n, e.rises);
    assert_int_equal(marks->style.marker, VIZ_MARKER_TRIANGLE);
    assert_true(marks->style.open);
    /* Each mark sits on a state that lies above the one before, and none twice. */
    for (size_t k = 0; k < marks->n; k++) {
        size_t found = 0;
        for (size_t a = 0; a < 9; a++) {
            const size_t t = (size_t)marks->x[k];
            const double *row = e.energy + a * 26;
            found += t > 0 && row[t] == marks->y[k] && row[t] > row[t - 1] ? 1 : 0;
        }
        assert_int_equal(found, 1);
    }
    (void)snprintf(expected, sizeof expected, "in %zu of 225 steps", e.rises);
    assert_non_null(strstr(scene->note, expected));
    viz_scene_destroy(scene);
    /* A tolerance above the size of the rises leaves none, and no legend for them. */
    e.data.rise_tolerance = 0.5;
    scene = plot(&e.data, NULL, &counts);
    assert_int_equal(counts.rises, 0);
    assert_int_equal(scene->panels[0].n_series, 9);
    viz_scene_destroy(scene);
    test_viz_energy_free(&e);
}

static void test_texts_of_the_page(void **state)
{
    (void)state;
    test_viz_energy e;
    viz_log log = {placed, LOG_ROOM, 0};
    test_viz_energy_make(&e, 12, 14, 8);
    e.data.title = "ListOps <1> & more";
    e.data.attention = e.attention;
    e.data.feed_forward = e.feed_forward;
    viz_scene *scene = plot(&e.data, NULL, NULL);
    test_viz_check_page(scene, 1.0, &log);
    assert_int_equal(test_viz_count_text(&log, "ListOps <1> & more"), 1);
    assert_int_equal(test_viz_count_text(&log, "inference step t"), 2);
    assert_int_equal(test_viz_count_text(&log, "energy EA  (nats)"), 1);
    assert_int_equal(test_viz_count_text(&log, "beyond training"), 1);
    assert_int_equal(test_viz_count_text(&log, "attention"), 1);
    assert_int_equal(test_viz_count_text(&log, "feed-forward"), 1);
    assert_int_equal(test_viz_count_text(&log, "token position A"), 1);
    /* Tokens of any bytes get a visible, unambiguous label. */
    assert_int_equal(test_viz_count_text(&log, "0\xe2\x80\x82("), 1);
    assert_int_equal(test_viz_count_text(&log, "1\xe2\x80\x82max_10"), 1);
    assert_int_equal(test_viz_count_text(&log, "2\xe2\x80\x82\xe2\x90\xa3the"), 1);
    assert_int_equal(test_viz_count_text(&log, "4\xe2\x80\x82\xe2\x8f\x8e"), 1);
    assert_int_equal(test_viz_count_text(&log, "6\xe2\x80\x82<&>"), 1);
    assert_int_equal(test_viz_count_text(&log, "10\xe2\x80\x82\xe2\x9f\xa8"
                                               "FF\xe2\x9f\xa9"),
                     1);
    viz_scene_destroy(scene);
    test_viz_energy_free(&e);
}

static void test_thinned_labels(void **state)
{
    (void)state;
    test_viz_energy e;
    viz_energy_counts counts;
    char expected[64];
    test_viz_energy_make(&e, 128, 20, 0);
    viz_scene *scene = plot(&e.data, NULL, &counts);
    assert_true(counts.every > 1 && counts.every < 16);
    (void)snprintf(expected, sizeof expected, "Every %zu", counts.every);
    assert_non_null(strstr(scene->note, expected));
    assert_int_equal(scene->panels[0].n_spans, 0);
    viz_scene_destroy(scene);
    test_viz_energy_free(&e);
}

static void test_constant_energy(void **state)
{
    (void)state;
    static const double values[] = {0.0, -3.25, 1e-12, 4e9};
    for (size_t k = 0; k < 4; k++) {
        test_viz_energy e;
        viz_log log = {placed, LOG_ROOM, 0};
        viz_energy_counts counts;
        test_viz_energy_make(&e, 5, 10, 4);
        for (size_t i = 0; i < 5 * 11; i++) {
            e.energy[i] = values[k];
        }
        viz_scene *scene = plot(&e.data, NULL, &counts);
        assert_int_equal(counts.rises, 0);
        assert_true(scene->panels[0].y.lo < values[k] && scene->panels[0].y.hi > values[k]);
        test_viz_check_page(scene, 1.0, &log);
        test_viz_check_overlaps(&log);
        assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_END_LABEL), 5);
        viz_scene_destroy(scene);
        test_viz_energy_free(&e);
    }
}

static void test_energies_that_are_not_finite(void **state)
{
    (void)state;
    test_viz_energy e;
    viz_log log = {placed, LOG_ROOM, 0};
    viz_energy_counts counts;
    test_viz_energy_make(&e, 6, 12, 5);
    for (size_t t = 0; t < 13; t++) {
        e.energy[2 * 13 + t] = (double)NAN; /* a whole token */
    }
    e.energy[3] = HUGE_VAL;
    e.energy[13 + 12] = -HUGE_VAL;
    e.energy[3 * 13 + 7] = 1.7e308;
    viz_scene *scene = plot(&e.data, NULL, &counts);
    assert_int_equal(counts.not_finite, 16);
    assert_true(counts.pairs < 5 * 12);
    assert_non_null(strstr(scene->note, "16 energies are not finite"));
    assert_true(isfinite(scene->panels[0].y.lo) && scene->panels[0].y.hi < 100.0);
    assert_true(isnan(scene->panels[0].series[0].y[3]));
    test_viz_check_page(scene, 1.0, &log);
    test_viz_check_overlaps(&log);
    /* The token without a point has no place for a label. */
    assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_END_LABEL), 5);
    viz_scene_destroy(scene);
    for (size_t i = 0; i < 6 * 13; i++) {
        e.energy[i] = (double)NAN;
    }
    scene = plot(&e.data, NULL, &counts);
    assert_int_equal(counts.pairs, 0);
    test_viz_check_page(scene, 1.0, &log);
    viz_scene_destroy(scene);
    test_viz_energy_free(&e);
}

static void expect(const viz_energy_data *data, const viz_energy_style *style, kern_status want,
                   const char *word)
{
    kern_error err = {0};
    viz_scene *scene = NULL;
    assert_int_equal(viz_energy_plot(&scene, NULL, data, style, &err), want);
    assert_null(scene);
    if (strstr(err.text, word) == NULL) {
        fail_msg("\"%s\" does not mention \"%s\"", err.text, word);
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    test_viz_energy e;
    test_viz_energy_make(&e, 40, 3, 2);
    viz_energy_data d = e.data;
    d.n_tokens = 0;
    expect(&d, NULL, KERN_INVALID_ARGUMENT, "0 tokens");
    d = e.data;
    d.n_steps = 0;
    expect(&d, NULL, KERN_INVALID_ARGUMENT, "0 steps");
    d = e.data;
    d.energy = NULL;
    expect(&d, NULL, KERN_INVALID_ARGUMENT, "energies");
    d = e.data;
    d.attention = e.attention;
    expect(&d, NULL, KERN_INVALID_ARGUMENT, "both terms");
    d = e.data;
    d.rise_tolerance = -1.0;
    expect(&d, NULL, KERN_INVALID_ARGUMENT, "-1");
    d.rise_tolerance = (double)NAN;
    expect(&d, NULL, KERN_INVALID_ARGUMENT, "tolerance");
    d = e.data;
    d.title = "\xff";
    expect(&d, NULL, KERN_BAD_INPUT, "title");
    const viz_energy_style tiny = {.width = 70.0, .height = 70.0};
    expect(&e.data, &tiny, KERN_INVALID_ARGUMENT, "too small");
    const viz_energy_style wrong = {.width = -5.0};
    expect(&e.data, &wrong, KERN_INVALID_ARGUMENT, "page");
    test_viz_energy_free(&e);
}

/* The layout must not depend on the resolution it is drawn at. */
static void test_layout_is_the_same_at_any_scale(void **state)
{
    (void)state;
    static viz_placed other[LOG_ROOM];
    test_viz_energy e;
    viz_log a = {placed, LOG_ROOM, 0};
    viz_log b = {other, LOG_ROOM, 0};
    test_viz_energy_make(&e, 22, 30, 12);
    e.data.attention = e.attention;
    e.data.feed_forward = e.feed_forward;
    viz_scene *scene = plot(&e.data, NULL, NULL);
    test_viz_check_page(scene, 1.0, &a);
    test_viz_check_page(scene, 2.37, &b);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        assert_true(fabs(a.items[i].box.x - b.items[i].box.x) < 0.1);
        assert_true(fabs(a.items[i].box.y - b.items[i].box.y) < 0.1);
    }
    viz_scene_destroy(scene);
    test_viz_energy_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_clean),
        cmocka_unit_test(test_rises_are_marked),
        cmocka_unit_test(test_texts_of_the_page),
        cmocka_unit_test(test_thinned_labels),
        cmocka_unit_test(test_constant_energy),
        cmocka_unit_test(test_energies_that_are_not_finite),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_layout_is_the_same_at_any_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
