/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The landscape figure: what is on the map, what the panels below say, and what the note warns of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "viz/viz_landscape_plot.h"

#include <math.h>
#include <string.h>

enum { NX = 8, NY = 5, STATES = 4 };

typedef struct sample {
    double values[NX * NY];
    double a[STATES], b[STATES], energy[STATES], on_plane[STATES];
    double distance[STATES], residual[STATES];
    viz_landscape_data data;
} sample;

static void prepare(sample *s)
{
    *s = (sample){.a = {0.5, 0.3, 0.1, 0.0},
                  .b = {0.2, 0.1, 0.0, 0.0},
                  .energy = {3.0, 2.0, 1.0, 0.5},
                  .on_plane = {2.5, 2.0, 1.0, 0.5},
                  .distance = {1.0, 0.5, 0.2, 0.0},
                  .residual = {0.8, 0.2, 0.02, 0.0}};
    for (size_t k = 0; k < NX * NY; k++) {
        s->values[k] = (double)k / 10.0;
    }
    s->data = (viz_landscape_data){.lattice = {NX, NY, -1.0, 1.0, -0.5, 0.5},
                                   .values = s->values,
                                   .axis = {"PC 1", "PC 2"},
                                   .energy_label = "energy",
                                   .description = "Token space.",
                                   .n_states = STATES,
                                   .a = s->a,
                                   .b = s->b,
                                   .energy = s->energy,
                                   .on_plane = s->on_plane,
                                   .distance = s->distance,
                                   .residual = s->residual,
                                   .trained_steps = 2,
                                   .explained = 0.95};
}

static viz_scene *build(const sample *s)
{
    viz_scene *scene = NULL;
    kern_error err = {0};
    const viz_plot_style style = {.theme = VIZ_LIGHT};
    if (viz_landscape_plot(&scene, &s->data, &style, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return scene;
}

static const viz_series *series_named(const viz_panel *panel, const char *name)
{
    for (size_t i = 0; i < panel->n_series; i++) {
        if (strcmp(panel->series[i].name, name) == 0) {
            return &panel->series[i];
        }
    }
    return NULL;
}

static void test_scene(void **state)
{
    sample s;
    (void)state;
    prepare(&s);
    viz_scene *scene = build(&s);
    const viz_panel *map = &scene->panels[0];
    assert_int_equal(scene->n_panels, 3);
    assert_int_equal(map->n_fields, 1);
    assert_true(map->equal);
    assert_true(map->x.lo == -1.0 && map->y.hi == 0.5);
    assert_true(scene->bar.scale.lo == 0.0 && scene->bar.scale.hi == 3.9);
    assert_int_equal(map->n_marks, 3);
    assert_int_equal(map->n_series, 1 + STATES);
    /* A state has the colour of its true energy, and is fainter the more it is off the plane. */
    const viz_rgb expected = viz_scale_colour(&scene->bar.scale, VIZ_LIGHT, 3.0);
    const viz_series *first = series_named(map, "state 0");
    assert_memory_equal(&first->style.paint.rgb, &expected, sizeof expected);
    assert_true(first->opacity[0] < series_named(map, "state 1")->opacity[0]);
    assert_true(series_named(map, "state 3")->opacity[0] == 1.0);
    const viz_panel *off = &scene->panels[2];
    assert_true(fabs(off->series[0].y[0] - 80.0) < 1e-12);
    assert_true(isnan(off->series[0].y[3])); /* the centre is nowhere off */
    assert_non_null(strstr(scene->note, "2 of 4 states are more than 30 %"));
    assert_null(strstr(scene->note, "not finite"));
    assert_null(strstr(scene->note, "explain"));
    viz_scene_destroy(scene);
}

static void test_warnings(void **state)
{
    sample s;
    (void)state;
    prepare(&s);
    s.values[3] = (double)NAN;
    s.values[4] = (double)INFINITY;
    s.data.explained = 0.6;
    viz_scene *scene = build(&s);
    assert_non_null(strstr(scene->note, "2 of 40 energies are not finite"));
    assert_non_null(strstr(scene->note, "explain 60.0 %"));
    viz_scene_destroy(scene);
    s.data.n_states = 0;
    s.data.explained = (double)NAN;
    scene = build(&s);
    assert_int_equal(scene->n_panels, 1);
    assert_null(strstr(scene->note, "explain"));
    viz_scene_destroy(scene);
    for (size_t k = 0; k < NX * NY; k++) {
        s.values[k] = (double)NAN;
    }
    scene = build(&s);
    assert_non_null(strstr(scene->note, "40 of 40 energies are not finite"));
    viz_scene_destroy(scene);
}

/* The state gets a ring beneath its marker and a name, and both panels below a rule at its step. */
static void test_pointed_out(void **state)
{
    sample s;
    (void)state;
    prepare(&s);
    viz_scene *plain = build(&s);
    s.data.point_out = true;
    s.data.step = 1;
    viz_scene *scene = build(&s);
    const viz_series *ring = series_named(&scene->panels[0], "state pointed out");
    assert_non_null(ring);
    assert_true(ring->x[0] == s.a[1] && ring->y[0] == s.b[1]);
    assert_true(ring->style.size > series_named(&scene->panels[0], "state 1")->style.size);
    assert_int_equal(scene->panels[0].n_marks, plain->panels[0].n_marks + 1);
    for (size_t p = 1; p < 3; p++) {
        assert_int_equal(scene->panels[p].n_series + scene->panels[p].n_spans,
                         plain->panels[p].n_series + plain->panels[p].n_spans + 1);
    }
    viz_scene_destroy(scene);
    viz_scene_destroy(plain);
    s.data.step = STATES; /* not there */
    scene = build(&s);
    assert_null(series_named(&scene->panels[0], "state pointed out"));
    viz_scene_destroy(scene);
}

/* Further trajectories, and classes in place of the field. */
static void test_more_layers(void **state)
{
    static const double a[] = {0.1, 0.2, 0.3};
    static const double b[] = {0.3, 0.2, 0.1};
    static const double energy[] = {3.0, 2.0, 1.0};
    static const viz_class classes[] = {{.label = 1, .name = "one", .legend = "one"}};
    int32_t labels[NX * NY];
    sample s;
    (void)state;
    prepare(&s);
    for (size_t k = 0; k < NX * NY; k++) {
        labels[k] = 1;
    }
    const viz_landscape_path seeds[] = {{.n = 3, .a = a, .b = b, .energy = energy},
                                        {.n = 2, .a = b, .b = a, .energy = energy}};
    const viz_classes map = {.name = "basins",
                             .lattice = s.data.lattice,
                             .labels = labels,
                             .classes = classes,
                             .n_classes = 1};
    s.data.seeds = seeds;
    s.data.n_seeds = 2;
    s.data.classes = &map;
    viz_scene *scene = build(&s);
    const viz_panel *panel = &scene->panels[0];
    const viz_series *first = series_named(panel, "trajectory from seed 1");
    const viz_series *second = series_named(panel, "trajectory from seed 2");
    assert_int_equal(panel->n_fields, 0);
    assert_int_equal(panel->n_classes, 1);
    assert_int_equal(first->n, 3);
    assert_int_equal(second->n, 2);
    assert_int_not_equal(first->style.paint.index, second->style.paint.index);
    assert_int_not_equal(first->style.marker, second->style.marker);
    assert_non_null(first->legend);
    /* The colour bar is not that of the areas. */
    assert_non_null(strstr(scene->note, "Areas are coloured by where states go"));
    viz_scene_destroy(scene);
}

/* A surface says what it leaves out: a map only shows less of the line. */
static void test_states_beside(void **state)
{
    sample s;
    const viz_camera camera = {0.4, 0.6};
    (void)state;
    prepare(&s);
    s.a[0] = 1.5;
    s.b[1] = -0.6;
    viz_scene *scene = build(&s);
    assert_null(strstr(scene->note, "beside"));
    assert_null(strstr(scene->note, "Areas"));
    viz_scene_destroy(scene);
    s.data.camera = &camera;
    scene = build(&s);
    assert_non_null(strstr(scene->note, "2 of 4 states lie beside the surface"));
    viz_scene_destroy(scene);
}

static void test_refusals(void **state)
{
    sample s;
    viz_scene *scene = NULL;
    kern_error err = {0};
    const viz_plot_style style = {.theme = VIZ_LIGHT};
    (void)state;
    prepare(&s);
    s.data.axis[0] = "PC <1";
    assert_int_equal(viz_landscape_plot(&scene, &s.data, &style, &err), KERN_BAD_INPUT);
    assert_null(scene);
    prepare(&s);
    s.data.lattice.x1 = s.data.lattice.x0;
    assert_int_equal(viz_landscape_plot(&scene, &s.data, &style, &err), KERN_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene),       cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_pointed_out),
        cmocka_unit_test(test_more_layers), cmocka_unit_test(test_states_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
