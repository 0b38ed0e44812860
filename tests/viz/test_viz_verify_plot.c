/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figure of a report: its panels and numbers, curves that leave the panel, states from which
 * nothing rises, and refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "viz/viz_verify_plot.h"

#include <math.h>
#include <string.h>

static const double c[] = {0.01, 0.1, 1, 10};
static const double change[] = {-1, -2, 0.5, 90};
static const double allowed[] = {-0.9, -1, 1e9, (double)INFINITY};
static const double share[] = {0.25, 0.5, 0.25};

static viz_verify_data make_data(const double *covered, const double *rises)
{
    return (viz_verify_data){.title = "Report <1>",
                             .note = "# Verdict\nη & γ < 1",
                             .n_curve = 4,
                             .c = c,
                             .change = change,
                             .allowed = allowed,
                             .covered = 0.5,
                             .step = 0.05,
                             .n_states = 3,
                             .covered_each = covered,
                             .rises_each = rises,
                             .n_channels = 3,
                             .share = share};
}

static void test_panels(void **state)
{
    const double covered[] = {0.3, 0.1, 0.2};
    const double rises[] = {(double)INFINITY, 4, (double)INFINITY};
    const viz_verify_data data = make_data(covered, rises);
    viz_scene *scene = NULL;
    kern_error err = {0};
    (void)state;
    assert_int_equal(viz_verify_plot(&scene, &data, NULL, &err), KERN_OK);
    assert_int_equal(scene->n_panels, 3);
    assert_string_equal(scene->title, "Report &lt;1&gt;");
    assert_string_equal(scene->note, "<b>Verdict</b>\nη &amp; γ &lt; 1");
    /* The change itself fits; a bound and a rise far above do not flatten it. */
    const viz_panel *curve = &scene->panels[0];
    assert_true(curve->y.lo < -2 && curve->y.hi > 0.5 && curve->y.hi < 4);
    assert_int_equal(curve->n_spans, 1);
    assert_true(curve->series[1].y[1] == -2 && isnan(curve->series[1].y[3]));
    /* Staircases over the states: all of them covered up to 0.3 at most, a third rises. */
    const viz_series *stairs = &scene->panels[1].series[0];
    assert_int_equal(stairs->n, 8);
    assert_true(stairs->x[1] == 0.1 && stairs->y[7] == 1);
    const viz_series *rising = &scene->panels[1].series[1];
    assert_int_equal(rising->n, 4);
    assert_true(rising->x[1] == 4 && fabs(rising->y[3] - 1.0 / 3) < 1e-15);
    assert_int_equal(scene->panels[2].series[0].n, 9);
    viz_scene_destroy(scene);
}

static void test_refusals(void **state)
{
    const double reach[] = {1, 2, 3};
    viz_scene *scene = NULL;
    kern_error err = {0};
    (void)state;
    viz_verify_data data = {.title = "nothing"};
    assert_int_equal(viz_verify_plot(&scene, &data, NULL, &err), KERN_INVALID_ARGUMENT);
    data = make_data(reach, NULL);
    assert_int_equal(viz_verify_plot(&scene, &data, NULL, &err), KERN_INVALID_ARGUMENT);
    data = make_data(reach, reach);
    data.note = "\xff";
    assert_int_equal(viz_verify_plot(&scene, &data, NULL, &err), KERN_BAD_INPUT);
    char longest[4000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    data.note = longest;
    assert_int_equal(viz_verify_plot(&scene, &data, NULL, &err), KERN_BAD_INPUT);
    assert_null(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("viz_verify_plot", tests, NULL, NULL);
}
