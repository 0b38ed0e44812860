/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Contours of the step before, beneath those of the step that the field follows.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "tests/viz/view_test_model.h"

#include <math.h>

enum { STEP = 3 };

static void ask(void *context, size_t n, const double *x, const double *y, double *v)
{
    const dyn_slice_source *source = context;
    source->energies(source->context, 0, n, x, y, v);
}

static view_picture *picture_of(const view *v, const view_settings *s, bool sketch, size_t columns)
{
    const view_grain grain = {.columns = columns, .sketch = sketch, .workers = 1};
    view_landscape *l = NULL;
    view_picture *p = NULL;
    TINY_OK(view_landscape_create(&l, v->subject, s, 1, NULL, NULL, tiny_err));
    TINY_OK(view_picture_create(&p, l, &grain, NULL, NULL, tiny_err));
    view_landscape_release(l);
    return p;
}

/* The levels are those of the picture: its field's, as many as the settings say. */
static void expect_ghost(const view_picture *p, view_picture *before)
{
    double levels[VIZ_CONTOUR_LEVELS_MAX];
    viz_contours expected = {0};
    const dyn_slice_field *f = &before->field;
    const viz_lattice lattice = {.nx = f->columns,
                                 .ny = f->rows,
                                 .x0 = f->range.a_low,
                                 .x1 = f->range.a_high,
                                 .y0 = f->range.b_low,
                                 .y1 = f->range.b_high};
    const viz_contour_options o = {
        .levels = levels,
        .n_levels = viz_contour_round_levels(p->field.low, p->field.high,
                                             p->landscape->settings.levels, levels),
        .values = p->sketch ? NULL : ask,
        .context = &before->landscape->source};
    const double points = 430.0 / (lattice.x1 - lattice.x0); /* as pictures leave vertices out */
    TINY_OK(viz_contours_init(&expected, &lattice, f->values, &o, tiny_err));
    TINY_OK(viz_contours_simplify(&expected, points, points, p->sketch ? 0.16 : 0.04, tiny_err));
    assert_true(expected.n_lines > 0);
    assert_int_equal(p->ghost.n_lines, expected.n_lines);
    const size_t n = expected.first[expected.n_lines];
    assert_memory_equal(p->ghost.first, expected.first,
                        (expected.n_lines + 1) * sizeof *expected.first);
    assert_memory_equal(p->ghost.x, expected.x, n * sizeof *expected.x);
    assert_memory_equal(p->ghost.y, expected.y, n * sizeof *expected.y);
    assert_memory_equal(p->ghost.level, expected.level, expected.n_lines * sizeof(double));
    viz_contours_fini(&expected);
}

static void test_it_is_the_step_before(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "follow on");
    view_test_do(v, "ghost on");
    view_test_do(v, "step 3");
    view_settle(v);
    view_settings s = v->s;
    s.ghost = false;
    s.step = STEP - 1;
    view_picture *before = picture_of(v, &s, false, s.columns);
    assert_false(v->picture->sketch);
    expect_ghost(v->picture, before);
    /* It moves: the lines of the step itself are others. */
    assert_int_equal(before->ghost.n_lines, 0);
    assert_true(memcmp(before->field.values, v->picture->field.values, sizeof(double)) != 0);
    /* And they are where the step before has that energy. */
    const dyn_slice_source *source = &before->landscape->source;
    const viz_contours *g = &v->picture->ghost;
    const double range = before->field.high - before->field.low;
    for (size_t k = 0; k < g->n_lines; k++) {
        for (size_t i = g->first[k]; i < g->first[k + 1]; i++) {
            double energy;
            source->energies(source->context, 0, 1, g->x + i, g->y + i, &energy);
            assert_true(fabs(energy - g->level[k]) <= 1e-6 * range);
        }
    }
    view_picture_release(before);
    view_destroy(v);
}

/* Fields kept for scrubbing bring theirs, so that a step shows them at once. */
static void test_scrubbing_has_it_at_once(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "follow on");
    view_test_do(v, "ghost on");
    view_settle(v);
    assert_int_equal(v->steps[0]->ghost.n_lines, 0);
    for (size_t t = 1; t <= VIEW_TEST_STEPS; t++) {
        char line[32];
        (void)snprintf(line, sizeof line, "step %zu", t);
        view_test_do(v, line);
        assert_ptr_equal(v->picture, v->steps[t]);
        view_settings s = v->s;
        s.ghost = false;
        s.step = t - 1;
        view_picture *before = picture_of(v, &s, true, v->picture->field.columns);
        expect_ghost(v->picture, before);
        view_picture_release(before);
        view_settle(v);
    }
    view_destroy(v);
}

static size_t count_faint(view *v, bool *key)
{
    viz_scene *scene = NULL;
    size_t n = 0;
    const view_page page = {.point_out = true};
    TINY_OK(view_picture_scene(&scene, v->picture, &v->s, &page, tiny_err));
    const viz_panel *panel = &scene->panels[0];
    for (size_t i = 0; i < panel->n_isolines; i++) {
        n += panel->isolines[i].faint ? 1 : 0;
    }
    *key = false;
    for (size_t i = 0; i < panel->n_series; i++) {
        const char *legend = panel->series[i].legend;
        *key = *key || (legend != NULL && strcmp(legend, "contours at the step before") == 0);
    }
    viz_scene_destroy(scene);
    return n;
}

/* Elsewhere the setting changes nothing, for one reason after the other. */
static void test_why_there_is_none(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"ghost on", "goes with follow"},
                                           {"follow on", "no step before step 0"},
                                           {"step 3", NULL},
                                           {"mode surface", "a surface has"},
                                           {"mode basins", NULL},
                                           {"frozen on", "a frozen token's others"},
                                           {"frozen off", NULL},
                                           {"token 0", "the first token sees no other"},
                                           {"token all", "all tokens move"},
                                           {"token 5", NULL},
                                           {"levels 0", "levels is 0"},
                                           {"ghost off", NULL}};
    view *v = view_test_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        view_test_do(v, cases[i][0]);
        const char *why = view_words_idle(v->subject, &v->s, "ghost");
        if ((why == NULL) != (cases[i][1] == NULL) ||
            (why != NULL && strstr(why, cases[i][1]) == NULL)) {
            fail_msg("after %s it says \"%s\"", cases[i][0], why != NULL ? why : "");
        }
    }
    view_destroy(v);
}

/* Only where the field follows the step, and is another at the step before. */
static void test_where_there_is_one(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        size_t n;
    } cases[] = {{"ghost on", 0},   {"follow on", 0} /* the first step */,
                 {"step 3", 1},     {"mode surface", 0},
                 {"mode map", 1},   {"frozen on", 0},
                 {"frozen off", 1}, {"token 0", 0},
                 {"token all", 0},  {"token 5", 1},
                 {"levels 0", 0},   {"levels 6", 1},
                 {"ghost off", 0}};
    view *v = view_test_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool key = false;
        view_test_do(v, cases[i].line);
        view_settle(v);
        assert_int_equal(count_faint(v, &key), cases[i].n);
        assert_true(key == (cases[i].n > 0));
    }
    view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_step_before),
        cmocka_unit_test(test_scrubbing_has_it_at_once),
        cmocka_unit_test(test_where_there_is_one),
        cmocka_unit_test(test_why_there_is_none),
    };
    kern_runtime_init(); /* equal bits need one thread of BLAS, as in the background */
    return cmocka_run_group_tests(tests, view_test_setup, test_folder_remove);
}
