/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figure of several planes: what its maps share, what their titles say, and its pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/viz/test_viz_support.h"
#include "viz/viz_planes_plot.h"

#include <math.h>
#include <string.h>

enum { NX = 8, NY = 5, STATES = 4, LOG_ROOM = 512 };

static viz_placed placed[LOG_ROOM];

typedef struct sample {
    double values[VIZ_PLANES_MAX][NX * NY];
    double a[STATES], b[STATES], energy[STATES], distance[STATES];
    double residual[VIZ_PLANES_MAX][STATES];
    viz_planes_plane planes[VIZ_PLANES_MAX];
    viz_planes_data data;
} sample;

static void prepare(sample *s, size_t n)
{
    *s = (sample){.a = {0.5, 0.3, 0.1, 0.0},
                  .b = {0.2, 0.1, 0.0, 0.0},
                  .energy = {3.0, 2.0, 1.0, 0.5},
                  .distance = {1.0, 0.5, 0.2, 0.0}};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < NX * NY; k++) {
            s->values[i][k] = (double)k / 10.0 + 0.1 * (double)i;
        }
        for (size_t t = 0; t < STATES; t++) {
            s->residual[i][t] = s->distance[t] * (0.9 - 0.06 * (double)i);
        }
        s->planes[i] = (viz_planes_plane){.seed = 7 + i,
                                          .values = s->values[i],
                                          .a = s->a,
                                          .b = s->b,
                                          .distance = s->distance,
                                          .residual = s->residual[i]};
    }
    s->data = (viz_planes_data){.n = n,
                                .planes = s->planes,
                                .lattice = {NX, NY, -1.0, 1.0, -0.625, 0.625},
                                .high = 5.0,
                                .axis = {"direction 1  (rad)", "direction 2  (rad)"},
                                .energy_label = "energy <i>E<sub>A</sub></i>  (nats)",
                                .description = "Token space.",
                                .n_states = STATES,
                                .energy = s->energy};
}

static viz_scene *build(const sample *s, double width)
{
    viz_scene *scene = NULL;
    kern_error err = {0};
    const viz_plot_style style = {.width = width};
    if (viz_planes_plot(&scene, &s->data, &style, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return scene;
}

/* Σ r² / Σ d² by hand, states without a place left out, and nothing without a distance. */
static void test_held(void **state)
{
    const double distance[] = {2.0, 1.0, (double)NAN, 0.0};
    const double residual[] = {1.0, 0.5, (double)NAN, 0.0};
    (void)state;
    assert_true(fabs(viz_planes_held(distance, residual, 4) - 0.75) < 1e-15);
    assert_true(isnan(viz_planes_held(distance + 2, residual + 2, 2)));
}

static void test_scene(void **state)
{
    sample s;
    (void)state;
    prepare(&s, 6);
    viz_scene *scene = build(&s, 0.0);
    assert_int_equal(scene->n_panels, 7);
    assert_true(scene->bar.tall && scene->bar.scale.lo == 0.0 && scene->bar.scale.hi == 5.0);
    for (size_t i = 0; i < 6; i++) {
        const viz_panel *map = &scene->panels[i];
        assert_int_equal(map->row, i / 3);
        assert_int_equal(map->column, i % 3);
        assert_true(map->x.lo == -1.0 && map->x.hi == 1.0 && map->y.hi == 0.625);
        assert_true(map->fields[0].scale.lo == 0.0 && map->fields[0].scale.hi == 5.0);
        assert_int_equal(map->n_series, 1 + STATES);
        /* Only the lowest of a column and the first of a row have numbers and names. */
        assert_true(map->x.quiet == (i < 3) && (map->x.label != NULL) == (i >= 3));
        assert_true(map->y.quiet == (i % 3 != 0) && (map->y.label != NULL) == (i % 3 == 0));
    }
    /* 1 − 0.9² and 1 − 0.6². */
    assert_string_equal(scene->panels[0].title, "seed 7, holds 19.0 %");
    assert_string_equal(scene->panels[5].title, "seed 12, holds 64.0 %");
    /* A state of the plane that holds more is less faint. */
    assert_true(scene->panels[0].series[1].opacity[0] < scene->panels[5].series[1].opacity[0]);
    const viz_panel *below = &scene->panels[6];
    assert_int_equal(below->n_series, 6);
    assert_true(fabs(below->series[1].y[2] - 84.0) < 1e-12);
    assert_true(isnan(below->series[1].y[3])); /* the centre is nowhere off */
    assert_string_equal(below->series[1].end_label, "seed 8");
    assert_non_null(strstr(scene->note, "Token space. Range, colours and contours are the same"));
    viz_scene_destroy(scene);
}

static void test_missing(void **state)
{
    sample s;
    (void)state;
    prepare(&s, 2);
    s.values[0][3] = (double)NAN;
    s.values[1][4] = (double)NAN;
    s.planes[1].n_outside = 1;
    viz_scene *scene = build(&s, 0.0);
    assert_non_null(strstr(scene->note, "1 of 80 energies are not finite"));
    assert_true(scene->panels[1].fields[0].bare && !scene->panels[0].fields[0].bare);
    viz_scene_destroy(scene);
}

/* Every number of planes on a page of either column: nothing is lost, clipped or drawn over. */
static void test_pages(void **state)
{
    (void)state;
    for (size_t n = 2; n <= VIZ_PLANES_MAX; n++) {
        for (int wide = 0; wide < 2; wide++) {
            sample s;
            viz_log log = {placed, LOG_ROOM, 0};
            viz_layout *layout = NULL;
            kern_error err = {0};
            prepare(&s, n);
            viz_scene *scene =
                build(&s, viz_scene_points(wide ? VIZ_DOUBLE_COLUMN_MM : VIZ_SINGLE_COLUMN_MM));
            test_viz_check_page(scene, 0.5, &log);
            test_viz_check_overlaps(&log);
            assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_PANEL_TITLE), n);
            assert_int_equal(viz_draw_layout(&layout, scene, &err), KERN_OK);
            for (size_t i = 0; i < n; i++) {
                const viz_frame *frame = &layout->frames[i];
                /* All maps are of one size, and as wide as their columns. */
                assert_true(fabs(frame->plot.w - layout->frames[0].plot.w) < 0.01);
                assert_true(frame->plot.w > frame->cell.w - 75.0 && frame->plot.w > 50.0);
                assert_false(frame->title.cut || frame->x_label.cut || frame->y_label.cut);
                assert_true(layout->bar.x > frame->plot.x + frame->plot.w);
            }
            const viz_rect last = layout->frames[n - 1].plot;
            assert_true(fabs(layout->bar.y + layout->bar.h - last.y - last.h) < 0.01);
            assert_true(fabs(layout->frames[n].plot.h - 62.0) < 1.0);
            viz_layout_destroy(layout);
            viz_scene_destroy(scene);
        }
    }
}

static void test_refusals(void **state)
{
    sample s;
    viz_scene *scene = NULL;
    kern_error err = {0};
    const viz_plot_style style = {.theme = VIZ_DARK};
    (void)state;
    prepare(&s, 2);
    s.data.n = 1;
    assert_int_equal(viz_planes_plot(&scene, &s.data, &style, &err), KERN_INVALID_ARGUMENT);
    assert_null(scene);
    s.data.n = VIZ_PLANES_MAX + 1;
    assert_int_equal(viz_planes_plot(&scene, &s.data, &style, &err), KERN_INVALID_ARGUMENT);
    prepare(&s, 2);
    s.data.high = s.data.low;
    assert_int_equal(viz_planes_plot(&scene, &s.data, &style, &err), KERN_INVALID_ARGUMENT);
    prepare(&s, 2);
    s.data.axis[1] = "PC <1";
    assert_int_equal(viz_planes_plot(&scene, &s.data, &style, &err), KERN_BAD_INPUT);
    assert_null(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held),     cmocka_unit_test(test_scene),
        cmocka_unit_test(test_missing),  cmocka_unit_test(test_pages),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
