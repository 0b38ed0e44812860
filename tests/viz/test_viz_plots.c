/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figures of maps: what each scene holds, that its page is clean, and what it refuses.
 */
#include "viz/viz_basins_plot.h"
#include "viz/viz_curves_plot.h"
#include "viz/viz_lyapunov_plot.h"
#include "viz/viz_multipliers_plot.h"
#include "viz/viz_orbit_plot.h"
#include "viz/viz_points_plot.h"
#include "viz/viz_recurrence_plot.h"
#include "viz/viz_scores_plot.h"

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
static viz_log page = {placed, LOG_ROOM, 0};

static const viz_plot_style plain = {.width = 0.0};

static void ok(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

/* Draws light and dark; nothing may overlap or leave the page. */
static void check_page(viz_scene *scene)
{
    for (int theme = 0; theme < 2; theme++) {
        scene->theme = (viz_theme)theme;
        test_viz_check_page(scene, 1.2, &page);
        test_viz_check_overlaps(&page);
    }
}

/* Series of that name; fails when there is none. */
static const viz_series *find(const viz_scene *scene, size_t panel, const char *name)
{
    for (size_t i = 0; i < scene->panels[panel].n_series; i++) {
        if (strcmp(scene->panels[panel].series[i].name, name) == 0) {
            return &scene->panels[panel].series[i];
        }
    }
    fail_msg("there is no series \"%s\"", name);
    return NULL;
}

static void assert_note(const viz_scene *scene, const char *part)
{
    if (scene->note == NULL || strstr(scene->note, part) == NULL) {
        fail_msg("the note \"%s\" lacks \"%s\"", scene->note, part);
    }
}

static void test_multipliers(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    const double re[5] = {0.5, -1.25, 0.6, 0.6, (double)NAN};
    const double im[5] = {0.0, 0.0, 0.8, -0.9, 0.0};
    const viz_multipliers_data data = {.n = 5, .re = re, .im = im};
    ok(viz_multipliers_plot(&scene, &data, &plain, &err), &err);
    /* |0.6 + 0.8i| is 1 up to rounding: not inside. */
    assert_int_equal(find(scene, 0, "outside")->n, 3 - (hypot(0.6, 0.8) < 1.0 ? 1 : 0));
    assert_note(scene, "spectral radius 1.25");
    assert_note(scene, "1 not finite");
    assert_true(scene->panels[0].equal && scene->panels[0].x.lo == scene->panels[0].y.lo);
    check_page(scene);
    assert_int_equal(test_viz_count_text(&page, "flip"), 1);
    viz_scene_destroy(scene);
    const size_t token[5] = {0, 1, 2, 3, 4};
    const viz_multipliers_data blocks = {.n = 5, .re = re, .im = im, .token = token};
    ok(viz_multipliers_plot(&scene, &blocks, &plain, &err), &err);
    assert_true(scene->bar.shown && scene->bar.scale.hi == 4.0);
    assert_int_equal(find(scene, 0, "token 1, outside")->n, 1);
    check_page(scene);
    viz_scene_destroy(scene);
    const viz_multipliers_data none = {.n = 1, .re = re + 4, .im = im + 4};
    assert_int_equal(viz_multipliers_plot(&scene, &none, &plain, &err), KERN_INVALID_ARGUMENT);
    assert_null(scene);
}

static void test_lyapunov(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    const double values[4] = {0.4, 0.001, -0.3, -1.5};
    const double errors[4] = {0.01, 0.002, 0.01, (double)NAN};
    const viz_lyapunov_data data = {.n = 4,
                                    .exponents = values,
                                    .error = errors,
                                    .kaplan_yorke = 3.0673,
                                    .mean_log_det = -1.399};
    ok(viz_lyapunov_plot(&scene, &data, &plain, &err), &err);
    assert_int_equal(find(scene, 0, "positive")->n, 1);
    assert_int_equal(find(scene, 0, "zero within 2 standard errors")->n, 1);
    assert_int_equal(find(scene, 0, "negative")->n, 2);
    const viz_series *bars = find(scene, 0, "standard error");
    assert_int_equal(bars->n, 9);
    assert_true(fabs(bars->y[0] - 0.39) < 1e-12 && fabs(bars->y[1] - 0.41) < 1e-12);
    assert_note(scene, "3.0673");
    assert_note(scene, "\xe2\x88\x92"
                       "1.399");
    check_page(scene);
    viz_scene_destroy(scene);
}

enum { COLUMNS = 30, EACH = 20 };

static void test_orbit_diagram(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    double parameter[COLUMNS];
    double exponent[COLUMNS];
    double values[COLUMNS * EACH];
    size_t first[COLUMNS + 1];
    for (size_t c = 0; c < COLUMNS; c++) {
        parameter[c] = 3.0 + 0.03 * (double)c;
        exponent[c] = -0.5 + 0.03 * (double)c;
        first[c] = c * EACH;
        for (size_t i = 0; i < EACH; i++) {
            values[c * EACH + i] = i % 2 == 0 ? 0.2 : 0.8;
        }
    }
    first[COLUMNS] = COLUMNS * EACH;
    const double branch_p[4] = {3.0, 3.2, 3.4, 3.6};
    const double branch_x[4] = {0.5, 0.52, 0.54, 0.56};
    const bool stable[4] = {true, true, false, false};
    const viz_orbit_branch branch = {4, branch_p, branch_x, stable};
    const viz_orbit_event event = {"PD", 3.3, 0.53};
    viz_orbit_data data = {.parameter_name = "eta",
                           .value_name = "x0",
                           .columns = {COLUMNS, parameter, first, values, exponent},
                           .branches = &branch,
                           .n_branches = 1,
                           .events = &event,
                           .n_events = 1,
                           .one_point = true};
    ok(viz_orbit_plot(&scene, &data, &plain, &err), &err);
    const viz_field *field = &scene->panels[0].fields[0];
    size_t inked = 0;
    for (size_t k = 0; k < field->lattice.nx * field->lattice.ny; k++) {
        inked += isnan(field->values[k]) ? 0 : 1;
    }
    assert_int_equal(field->lattice.nx, COLUMNS);
    assert_int_equal(inked, 2 * COLUMNS); /* two bins a column, with equal and full opacity */
    /* The stable piece reaches the first unstable point, so that no gap is left. */
    assert_true(isfinite(find(scene, 0, "stable branch")->y[2]));
    assert_true(isnan(find(scene, 0, "stable branch")->y[3]));
    assert_true(isnan(find(scene, 0, "unstable branch")->y[1]));
    assert_int_equal(find(scene, 0, "PD")->n, 1);
    assert_int_equal(scene->n_panels, 2);
    assert_true(scene->panels[0].x.lo == scene->panels[1].x.lo);
    check_page(scene);
    assert_int_equal(test_viz_count_text(&page, "\xce\xb7"), 1);
    assert_int_equal(test_viz_count_text(&page, "x0"), 1);
    viz_scene_destroy(scene);
    parameter[7] += 0.01;
    assert_int_equal(viz_orbit_plot(&scene, &data, &plain, &err), KERN_INVALID_ARGUMENT);
    data.columns.n = 0;
    data.n_branches = 0;
    assert_int_equal(viz_orbit_plot(&scene, &data, &plain, &err), KERN_INVALID_ARGUMENT);
}

static void test_curves(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    const double p[3] = {0.0, 1.0, 2.0};
    const double q[3] = {1.0, 1.5, 1.7};
    const viz_curve curves[2] = {{"LP", 3, p, q}, {"NS", 3, q, p}};
    /* Both curves report their meeting. */
    const viz_curve_event events[3] = {{"R2", 1.0, 1.5}, {"CP", 2.0, 1.7}, {"R2", 1.0, 1.5}};
    const viz_curves_data data = {"alpha", "beta", curves, 2, events, 3};
    ok(viz_curves_plot(&scene, &data, &plain, &err), &err);
    assert_true(find(scene, 0, "LP")->style.dash != find(scene, 0, "NS")->style.dash);
    check_page(scene);
    assert_int_equal(test_viz_count_text(&page, "R2"), 1);
    assert_int_equal(test_viz_count_text(&page, "CP"), 1);
    viz_scene_destroy(scene);
    const viz_curves_data none = {"a", "b", curves, 0, NULL, 0};
    assert_int_equal(viz_curves_plot(&scene, &none, &plain, &err), KERN_INVALID_ARGUMENT);
}

enum { SIDE = 20 };

static void test_basins(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    int32_t labels[SIDE * SIDE];
    const double at[2] = {0.2, 0.4};
    for (int k = 0; k < SIDE * SIDE; k++) {
        labels[k] = k < 200 ? 1 : (k < 300 ? 2 : (k < 399 ? -1 : -4));
    }
    const viz_basins_attractor attractors[2] = {{1, 2, 2, at, at}, {2, 0, 0, NULL, NULL}};
    const viz_basins_outcome outcomes[3] = {{-1, "diverged"}, {-4, "unresolved"}, {-5, "nan"}};
    viz_basins_data data = {.x_name = "x0",
                            .y_name = "x1",
                            .lattice = {SIDE, SIDE, 0.0, 1.0, 0.0, 1.0},
                            .labels = labels,
                            .attractors = attractors,
                            .n_attractors = 2,
                            .outcomes = outcomes,
                            .n_outcomes = 3};
    ok(viz_basins_plot(&scene, &data, &plain, &err), &err);
    check_page(scene);
    /* Shares of all classes that occur, and no entry for one that does not. */
    assert_int_equal(test_viz_count_role(&page, VIZ_ROLE_LEGEND), 4);
    assert_int_equal(test_viz_count_text(&page, "1: period 2, 50.0\xe2\x80\xaf%"), 1);
    assert_int_equal(test_viz_count_text(&page, "2: not periodic, 25.0\xe2\x80\xaf%"), 1);
    assert_int_equal(test_viz_count_text(&page, "diverged, 24.8\xe2\x80\xaf%"), 1);
    assert_int_equal(test_viz_count_text(&page, "unresolved, 0.2\xe2\x80\xaf%"), 1);
    viz_scene_destroy(scene);
    data.n_attractors = VIZ_BASINS_ATTRACTORS + 1;
    assert_int_equal(viz_basins_plot(&scene, &data, &plain, &err), KERN_INVALID_ARGUMENT);
    const viz_basins_attractor zero = {0, 1, 0, NULL, NULL};
    data.attractors = &zero;
    data.n_attractors = 1;
    assert_int_equal(viz_basins_plot(&scene, &data, &plain, &err), KERN_INVALID_ARGUMENT);
}

/* All 49 pairs of hue and hatch differ. */
static void test_basins_are_told_apart(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    int32_t labels[VIZ_BASINS_ATTRACTORS];
    viz_basins_attractor attractors[VIZ_BASINS_ATTRACTORS];
    const viz_plot_style style = {.width = 500.0};
    for (int32_t k = 0; k < VIZ_BASINS_ATTRACTORS; k++) {
        labels[k] = k + 1;
        attractors[k] = (viz_basins_attractor){k + 1, 1, 0, NULL, NULL};
    }
    const viz_basins_data data = {.x_name = "x",
                                  .y_name = "y",
                                  .lattice = {7, 7, 0.0, 1.0, 0.0, 1.0},
                                  .labels = labels,
                                  .attractors = attractors,
                                  .n_attractors = VIZ_BASINS_ATTRACTORS};
    ok(viz_basins_plot(&scene, &data, &style, &err), &err);
    const viz_classes *map = &scene->panels[0].classes[0];
    assert_int_equal(map->n_classes, VIZ_BASINS_ATTRACTORS);
    for (size_t a = 0; a < map->n_classes; a++) {
        for (size_t b = 0; b < a; b++) {
            assert_true(map->classes[a].paint.index != map->classes[b].paint.index ||
                        map->classes[a].hatch != map->classes[b].hatch);
        }
    }
    viz_scene_destroy(scene);
}

static void test_recurrence(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    uint8_t near[SIDE * SIDE];
    for (size_t k = 0; k < SIDE * SIDE; k++) {
        near[k] = (k % SIDE + k / SIDE) % 4 == 0;
    }
    viz_recurrence_data data = {.n = SIDE, .near = near, .first = 100, .threshold = 0.125};
    ok(viz_recurrence_plot(&scene, &data, &plain, &err), &err);
    assert_note(scene, "25\xe2\x80\xaf% of all pairs");
    assert_note(scene, "0.125");
    assert_true(scene->panels[0].x.lo == 99.5 && scene->panels[0].x.hi == 119.5);
    check_page(scene);
    viz_scene_destroy(scene);
    data.n = 1;
    assert_int_equal(viz_recurrence_plot(&scene, &data, &plain, &err), KERN_INVALID_ARGUMENT);
    data.n = SIZE_MAX / 2;
    assert_int_equal(viz_recurrence_plot(&scene, &data, &plain, &err), KERN_INVALID_ARGUMENT);
}

static void test_points(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    const double x[4] = {0.0, 1.0, 2.0, 3.0};
    const double radius[4] = {0.5, 2.0, 1.5, 1.5};
    const bool stable[4] = {true, false, false, false};
    const size_t period[4] = {1, 1, 2, 2};
    viz_points_data data = {.n = 4,
                            .x = x,
                            .y = x,
                            .radius = radius,
                            .stable = stable,
                            .period = period,
                            .x_name = "x0",
                            .y_name = "x1"};
    ok(viz_points_plot(&scene, &data, &plain, &err), &err);
    assert_int_equal(find(scene, 0, "period 2, unstable")->n, 2);
    assert_true(!find(scene, 0, "period 1, stable")->style.open);
    assert_true(find(scene, 0, "period 1, unstable")->style.open);
    check_page(scene);
    viz_scene_destroy(scene);
    data.y = NULL;
    ok(viz_points_plot(&scene, &data, &plain, &err), &err);
    assert_true(find(scene, 0, "period 1, unstable")->y[0] == 2.0);
    assert_true(find(scene, 0, "reference line")->y[0] == 1.0);
    check_page(scene);
    viz_scene_destroy(scene);
}

static void test_scores(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene;
    const viz_score scores[3] = {{"ff2w-64", 52309.0, 0.73, 0.618},
                                 {"ff2w-32", 15925.0, 0.228, 0.178},
                                 {"ff1-32", 11797.0, 0.431, 0.328}};
    const viz_scores_data data = {scores, 3, 0.1};
    ok(viz_scores_plot(&scene, &data, &plain, &err), &err);
    /* Greedy is drawn last; both are sorted by parameters. */
    const viz_series *line = find(scene, 0, "ff2w");
    assert_int_equal(line->n, 2);
    assert_true(line->x[0] == 15925.0 && fabs(line->y[0] - 17.8) < 1e-12 && line->style.open);
    check_page(scene);
    assert_int_equal(test_viz_count_text(&page, "ff2w"), 1);
    assert_int_equal(test_viz_count_text(&page, "chance"), 1);
    viz_scene_destroy(scene);
    const viz_scores_data none = {scores, 0, 0.1};
    assert_int_equal(viz_scores_plot(&scene, &none, &plain, &err), KERN_INVALID_ARGUMENT);
}

static void test_symbols(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"x0", "<i>x</i><sub>0</sub>"},
                                           {"eta", "<i>\xce\xb7</i>"},
                                           {"mu2", "<i>\xce\xbc</i><sub>2</sub>"},
                                           {"r", "<i>r</i>"},
                                           {"rate", "rate"},
                                           {"x1a", "x1a"},
                                           {"a<b", "a&lt;b"},
                                           {"", ""}};
    kern_error err = {0};
    char out[VIZ_PLOT_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ok(viz_plot_symbol(out, cases[i][0], &err), &err);
        assert_string_equal(out, cases[i][1]);
    }
    assert_int_equal(viz_plot_symbol(out, "\xff", &err), KERN_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multipliers),   cmocka_unit_test(test_lyapunov),
        cmocka_unit_test(test_orbit_diagram), cmocka_unit_test(test_curves),
        cmocka_unit_test(test_basins),        cmocka_unit_test(test_basins_are_told_apart),
        cmocka_unit_test(test_recurrence),    cmocka_unit_test(test_points),
        cmocka_unit_test(test_scores),        cmocka_unit_test(test_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
