/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_gp_plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/viz/test_viz_support.h"

enum { LOG_ROOM = 512, CURVES = 5, LEVELS = 3, POINTS = 16 };

static viz_placed placed[LOG_ROOM];

/* Made-up errors: curves that cross each other and levels close together. */
typedef struct made_up {
    double x[POINTS];
    double y[CURVES][POINTS];
    double error[POINTS];
    viz_gp_curve curves[CURVES];
    viz_gp_level levels[LEVELS];
    viz_gp_panel panels[4];
    viz_gp_data data;
} made_up;

static void make(made_up *m, size_t panels, size_t points, size_t curves)
{
    static const char *const names[CURVES] = {"cem fixed", "cem sync", "llama <&>", "llama-deep",
                                              "tied-deep"};
    static const char *const levels[LEVELS] = {"Bayes floor", "nearest", "smoother"};
    for (size_t i = 0; i < POINTS; i++) {
        m->x[i] = (double)(i + 1);
        m->error[i] = 0.003;
    }
    for (size_t c = 0; c < CURVES; c++) {
        for (size_t i = 0; i < POINTS; i++) {
            m->y[c][i] = 0.3 + 0.02 * sin((double)(c + 1) * m->x[i]);
        }
        m->curves[c] = (viz_gp_curve){.name = names[c],
                                      .x = m->x,
                                      .y = m->y[c],
                                      .error = c % 2 == 0 ? m->error : NULL,
                                      .n = points,
                                      .colour = c,
                                      .dashed = c > 2};
    }
    for (size_t k = 0; k < LEVELS; k++) {
        m->levels[k] = (viz_gp_level){levels[k], 0.27 + 0.001 * (double)k, k == 0};
    }
    for (size_t p = 0; p < 4; p++) {
        m->panels[p] = (viz_gp_panel){.title = "trained with T, points 1-63",
                                      .x_label = "steps <i>T</i>",
                                      .curves = m->curves,
                                      .n_curves = curves,
                                      .levels = m->levels,
                                      .n_levels = LEVELS};
    }
    m->data = (viz_gp_data){.title = "A title",
                            .y_label = "RMSE",
                            .note = "Means over seeds.",
                            .panels = m->panels,
                            .n_panels = panels};
}

static viz_scene *plot(const viz_gp_data *data, const viz_gp_style *style)
{
    kern_error err = {0};
    viz_scene *scene = NULL;
    if (viz_gp_plot(&scene, data, style, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return scene;
}

/* Few and many panels, points and curves, both themes: nothing clipped, nothing overlapping, and
 * every curve and level is named. */
static void test_pages_are_clean(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {{1, 1, 1}, {2, 2, 3}, {3, 4, 5}, {4, 16, 5}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int dark = 0; dark < 2; dark++) {
            made_up m;
            viz_log log = {placed, LOG_ROOM, 0};
            const viz_gp_style style = {.theme = dark != 0 ? VIZ_DARK : VIZ_LIGHT};
            make(&m, sizes[i][0], sizes[i][1], sizes[i][2]);
            viz_scene *scene = plot(&m.data, &style);
            test_viz_check_page(scene, 1.0, &log);
            assert_true(log.count < LOG_ROOM);
            test_viz_check_overlaps(&log);
            assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_END_LABEL),
                             sizes[i][0] * (sizes[i][2] + LEVELS));
            viz_scene_destroy(scene);
        }
    }
}

/* What lies above the ceiling is left out and counted; error bars end there. */
static void test_ceiling(void **state)
{
    (void)state;
    made_up m;
    make(&m, 1, 4, 1);
    m.y[0][2] = 0.9;
    m.y[0][3] = 5.0;
    m.y[0][1] = 0.599;
    m.panels[0].ceiling = 0.6;
    viz_scene *scene = plot(&m.data, NULL);
    const viz_panel *panel = &scene->panels[0];
    const viz_series *line = &panel->series[LEVELS];
    const viz_series *bars = &panel->series[LEVELS + 1];
    assert_true(line->y[1] == 0.599 && isnan(line->y[2]) && isnan(line->y[3]));
    assert_true(bars->y[4] == 0.6);
    for (size_t i = 0; i < 3; i++) {
        assert_true(isnan(bars->y[6 + i]));
    }
    assert_true(fabs(bars->y[3] - 0.596) <= 1e-15);
    assert_non_null(strstr(scene->note, "2 points lie above"));
    assert_true(panel->y.hi < 0.7);
    viz_scene_destroy(scene);
}

static void test_refusals(void **state)
{
    (void)state;
    made_up m;
    kern_error err = {0};
    viz_scene *scene = NULL;
    make(&m, 1, 2, 1);
    m.data.n_panels = 5;
    assert_int_equal(viz_gp_plot(&scene, &m.data, NULL, &err), KERN_INVALID_ARGUMENT);
    m.data.n_panels = 0;
    assert_int_equal(viz_gp_plot(&scene, &m.data, NULL, &err), KERN_INVALID_ARGUMENT);
    make(&m, 1, 2, 1);
    m.y[0][0] = (double)NAN;
    m.y[0][1] = HUGE_VAL;
    assert_int_equal(viz_gp_plot(&scene, &m.data, NULL, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "no finite point"));
    make(&m, 1, 2, 1);
    m.data.title = "\xff";
    assert_int_equal(viz_gp_plot(&scene, &m.data, NULL, &err), KERN_BAD_INPUT);
    assert_null(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_are_clean),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
