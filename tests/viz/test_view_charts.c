/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Landscapes on curved charts: states that have no place, places that have no state, ranges, words,
 * pictures, basins and sessions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "tests/viz/view_test_set.h"
#include "viz/view/view_basins.h"
#include "viz/view/view_panels.h"
#include "viz/view/view_picture.h"
#include "viz/view/view_session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An NRGPT behind RMSNorm, with a reduced form. */
#define RUN BASIN_SOURCE_DIR "/tests/vectors/rms-ff1-strict.safetensors"

static view_settings settings_of(const char *token, const char *chart)
{
    view_settings s;
    view_settings_defaults(&s);
    set(&s, "run", RUN);
    set(&s, "prompt", "3 1 4 1 5");
    set(&s, "token", token);
    set(&s, "chart", chart);
    set(&s, "columns", "48");
    return s;
}

static kern_status try_make(view_landscape **l, const view_settings *s, kern_error *err)
{
    view_subject *subject = NULL;
    assert_int_equal(view_subject_create(&subject, s, err), KERN_OK);
    const kern_status status = view_landscape_create(l, subject, s, 1, NULL, NULL, err);
    view_subject_release(subject);
    return status;
}

static view_landscape *make(const view_settings *s)
{
    view_landscape *l = NULL;
    kern_error err = {0};
    if (try_make(&l, s, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return l;
}

static kern_status try_draw(view_picture **p, view_landscape *l, kern_error *err)
{
    const view_grain grain = {.columns = l->settings.columns, .workers = 1};
    return view_picture_create(p, l, &grain, NULL, NULL, err);
}

static view_picture *draw(view_landscape *l)
{
    view_picture *p = NULL;
    kern_error err = {0};
    if (try_draw(&p, l, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return p;
}

static viz_scene *scene_of(const view_picture *p, const view_settings *s)
{
    viz_scene *scene = NULL;
    kern_error err = {0};
    const view_page page = {0};
    if (view_picture_scene(&scene, p, s, &page, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return scene;
}

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, part);
    }
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

/* ---- Words and sessions ---------------------------------------------------------------------- */

static void test_words(void **state)
{
    static const char *const charts[] = {"sphere", "gnomonic", "orthographic"};
    static const char *const units[] = {"(rad)", "(tangent of the angle)", "(sine of the angle)"};
    static const char *const reads[] = {"sphere chart of radius", "great circles are straight",
                                        "as seen from far away"};
    char label[VIEW_LABEL];
    char note[VIEW_NOTE];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const view_settings s = settings_of("3", charts[i]);
        view_landscape *l = make(&s);
        view_words_axis(l, 0, label);
        assert_says(label, units[i]);
        view_words_describe(l, note);
        assert_says(note, reads[i]);
        assert_says(note, charts[i]);
        assert_true((strstr(note, "near half") != NULL) == (i > 0));
        view_landscape_release(l);
    }
}

static void test_sessions(void **state)
{
    static const char *const charts[] = {"gnomonic", "orthographic"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        view_session first = {.settings = settings_of("3", charts[i])};
        view_session second;
        char *text = NULL;
        kern_error err = {0};
        assert_int_equal(view_session_write(&text, &first, &err), KERN_OK);
        assert_says(text, charts[i]);
        assert_int_equal(view_session_read(&second, text, &err), KERN_OK);
        assert_int_equal(second.settings.chart, first.settings.chart);
        free(text);
    }
}

/* ---- States without a place ------------------------------------------------------------------ */

/* The first state of all tokens together has one of them in the far half. */
static void test_far_half(void **state)
{
    static const char *const charts[] = {"gnomonic", "orthographic"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const view_settings s = settings_of("all", charts[i]);
        view_landscape *l = make(&s);
        const view_path *p = &l->path;
        assert_true(isnan(p->a[0]) && isnan(p->b[0]) && isnan(p->on_plane[0]));
        assert_true(isfinite(p->energy[0]));
        assert_true(isfinite(p->a[1]) && isfinite(p->residual[1]) && isfinite(p->on_plane[1]));
        assert_true(l->range.a_low < 0.0 && l->range.a_high > 0.0);
        view_picture *picture = draw(l);
        viz_scene *scene = scene_of(picture, &s);
        assert_says(scene->note, " 1 of 5 states lie in the far half of a token's sphere");
        viz_scene_destroy(scene);
        view_picture_release(picture);
        view_landscape_release(l);
    }
}

/* A gnomonic range goes as far as 75° towards states beyond. */
static void test_drawn_out(void **state)
{
    const double most = tan(75.0 / 180.0 * acos(-1.0));
    view_settings s = settings_of("3", "gnomonic");
    (void)state;
    set(&s, "at", "0");
    view_landscape *l = make(&s);
    double least = 0.0;
    for (size_t t = 1; t < l->path.n; t++) {
        const double a = l->path.a[t];
        const double b = l->path.b[t];
        least = fmin(least, a * fmin(1.0, most / hypot(a, b)));
    }
    assert_true(hypot(l->path.a[2], l->path.b[2]) > most && least < -3.0);
    /* As wide as what is shown with a quarter of air. */
    assert_near(0.5 * (l->range.a_high - l->range.a_low), -0.5 * least * 1.25, 1e-12);
    view_picture *picture = draw(l);
    viz_scene *scene = scene_of(picture, &s);
    assert_int_equal(picture->field.n_outside, 0);
    assert_int_equal(l->n_rim, 0);
    viz_scene_destroy(scene);
    view_picture_release(picture);
    view_landscape_release(l);
}

/* ---- Places without a state ------------------------------------------------------------------ */

static const viz_series *series_named(const viz_panel *panel, const char *name)
{
    for (size_t i = 0; i < panel->n_series; i++) {
        if (strcmp(panel->series[i].name, name) == 0) {
            return &panel->series[i];
        }
    }
    return NULL;
}

static void test_rim(void **state)
{
    view_settings s = settings_of("3", "orthographic");
    (void)state;
    set(&s, "range", "1.2");
    view_landscape *l = make(&s);
    view_picture *p = draw(l);
    const dyn_slice_field *f = &p->field;
    size_t outside = 0;
    for (size_t k = 0; k < f->columns * f->rows; k++) {
        const double r =
            hypot(dyn_slice_field_a(f, k % f->columns), dyn_slice_field_b(f, k / f->columns));
        outside += r > 1.0 ? 1 : 0;
        assert_true(isnan(f->values[k]) == (r > 1.0));
    }
    assert_true(outside > 100);
    assert_int_equal(f->n_outside, outside);
    assert_int_equal(f->n_not_finite, 0);
    for (size_t i = 0; i < p->contours.first[p->contours.n_lines]; i++) {
        assert_true(dyn_plane_has(l->plane, p->contours.x[i], p->contours.y[i]));
    }
    assert_int_equal(p->contours.n_rough, 0);
    viz_scene *scene = scene_of(p, &s);
    const viz_series *rim = series_named(&scene->panels[0], "rim of the chart");
    assert_non_null(rim);
    for (size_t i = 0; i < rim->n; i++) {
        assert_near(hypot(rim->x[i], rim->y[i]), 1.0, 1e-12);
    }
    assert_true(rim->x[0] == rim->x[rim->n - 1] && rim->y[0] == rim->y[rim->n - 1]);
    assert_true(scene->panels[0].fields[0].bare);
    assert_says(scene->note, "What is empty is outside of the chart and has no state");
    assert_null(strstr(scene->note, "not finite"));
    viz_scene_destroy(scene);
    view_picture_release(p);
    view_landscape_release(l);
}

/* Beside the samples that have a state, a surface takes the energies of the rim. */
static void test_fringe(void **state)
{
    view_settings s = settings_of("3", "orthographic");
    size_t beside = 0;
    (void)state;
    set(&s, "range", "1.2");
    view_landscape *l = make(&s);
    view_picture *p = draw(l);
    const dyn_slice_field *f = &p->field;
    const double step = 2.4 / (double)(f->columns - 1);
    for (size_t k = 0; k < f->columns * f->rows; k++) {
        double a = dyn_slice_field_a(f, k % f->columns);
        double b = dyn_slice_field_b(f, k / f->columns);
        const double r = hypot(a, b);
        if (r <= 1.0) {
            assert_true(p->fringe[k] == f->values[k]);
        } else if (isfinite(p->fringe[k])) {
            double e;
            beside++;
            a /= r * (1.0 + 1e-12);
            b /= r * (1.0 + 1e-12);
            l->source.energies(l->source.context, 0, 1, &a, &b, &e);
            assert_near(p->fringe[k], e, 1e-5 * (1.0 + fabs(e))); /* √ of what is left to the rim */
            assert_true(r < 1.0 + 1.5 * step);
        } else {
            assert_true(r > 1.0);
        }
    }
    assert_true(beside > 20);
    set(&s, "mode", "surface");
    viz_scene *scene = scene_of(p, &s);
    assert_true(memcmp(scene->panels[0].fields[0].values, p->fringe,
                       f->columns * f->rows * sizeof *p->fringe) == 0);
    assert_null(series_named(&scene->panels[0], "rim of the chart"));
    viz_scene_destroy(scene);
    view_picture_release(p);
    view_landscape_release(l);
}

/* States on both sides of the centre, upright, would take more than the chart: it is shown whole,
 * with some air. */
static void test_range_is_the_chart(void **state)
{
    view_settings s = settings_of("2", "orthographic");
    double low = 0.0;
    double high = 0.0;
    (void)state;
    set(&s, "at", "1");
    set(&s, "frozen", "on");
    set(&s, "turn", "1.5707963");
    view_landscape *l = make(&s);
    for (size_t t = 0; t < l->path.n; t++) {
        low = fmin(low, l->path.b[t]);
        high = fmax(high, l->path.b[t]);
    }
    assert_true(1.25 * (high - low) > 2.08);
    assert_near(l->range.b_low, -1.04, 1e-12);
    assert_near(l->range.b_high, 1.04, 1e-12);
    assert_near(l->range.a_low, -1.04 / 0.625, 1e-12);
    assert_near(l->range.a_high, 1.04 / 0.625, 1e-12);
    view_landscape_release(l);
}

/* Several planes have the same charts. */
static void test_panels_beside_the_chart(view_settings *s)
{
    view_subject *subject = NULL;
    view_panels *panels = NULL;
    kern_error err = {0};
    set(s, "plane", "random");
    set(s, "panels", "2");
    set(s, "range", "1000");
    assert_int_equal(view_subject_create(&subject, s, &err), KERN_OK);
    assert_int_equal(view_panels_create(&panels, subject, s, 1, NULL, NULL, NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_says(err.text, "range is too wide: its samples are 43.1 apart");
    assert_null(panels);
    set(s, "range", "2,3,2,3");
    assert_int_equal(view_panels_create(&panels, subject, s, 1, NULL, NULL, NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_says(err.text, "range is outside of the orthographic chart");
    view_subject_release(subject);
}

static void test_refusals(void **state)
{
    view_settings s = settings_of("3", "orthographic");
    view_landscape *l = NULL;
    view_picture *p = NULL;
    kern_error err = {0};
    (void)state;
    set(&s, "seeds", "0.1,0.2,0.8,-0.7");
    assert_int_equal(try_make(&l, &s, &err), KERN_INVALID_ARGUMENT);
    assert_says(err.text, "seeds has (0.8, -0.7), which is outside of the orthographic chart");
    set(&s, "seeds", "none");
    set(&s, "range", "0.8,1.2,0.8,1.2");
    l = make(&s);
    assert_int_equal(try_draw(&p, l, &err), KERN_INVALID_ARGUMENT);
    assert_says(err.text, "range is outside of the orthographic chart, a disc of radius 1 about");
    view_landscape_release(l);
    /* Samples to the left and the right of the disc, and none on it. */
    set(&s, "range", "1000");
    l = make(&s);
    assert_int_equal(try_draw(&p, l, &err), KERN_INVALID_ARGUMENT);
    assert_says(err.text, "range is too wide: its samples are 43.1 apart and none is on the "
                          "orthographic chart, a disc of radius 1; accepted are narrower ranges");
    view_landscape_release(l);
    /* The centre is not in it, and some of the disc is. */
    set(&s, "range", "0.9,3000,-1000,1000");
    l = make(&s);
    assert_int_equal(try_draw(&p, l, &err), KERN_INVALID_ARGUMENT);
    assert_says(err.text, "range is too wide");
    view_landscape_release(l);
    test_panels_beside_the_chart(&s);
}

/* ---- Basins ---------------------------------------------------------------------------------- */

static void test_basins(void **state)
{
    view_settings s = settings_of("3", "orthographic");
    view_basins *b = NULL;
    double shares = 0.0;
    bool has_class = false;
    size_t outside = 0;
    (void)state;
    set(&s, "range", "1.2");
    view_landscape *l = make(&s);
    assert_int_equal(view_basins_create(&b, l, 12, 1, NULL, NULL, NULL), KERN_OK);
    const viz_lattice *g = &b->lattice;
    for (size_t k = 0; k < g->nx * g->ny; k++) {
        const double x = g->x0 + (g->x1 - g->x0) * (double)(k % g->nx) / (double)(g->nx - 1);
        const double y = g->y0 + (g->y1 - g->y0) * (double)(k / g->nx) / (double)(g->ny - 1);
        outside += hypot(x, y) > 1.0 ? 1 : 0;
        assert_true((b->labels[k] == VIEW_BASINS_OUTSIDE) == (hypot(x, y) > 1.0));
    }
    assert_int_equal(b->n_outside, outside);
    assert_int_equal(b->n_not_finite, 0);
    assert_true(outside > 5 && outside < g->nx * g->ny);
    for (size_t i = 0; i < b->n_classes; i++) {
        shares += b->fraction[i];
        has_class = has_class || strcmp(b->classes[i].name, "outside of the chart") == 0;
    }
    assert_near(shares, 1.0, 1e-12);
    assert_true(has_class);
    view_basins_destroy(b);
    view_landscape_release(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),    cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_far_half), cmocka_unit_test(test_drawn_out),
        cmocka_unit_test(test_rim),      cmocka_unit_test(test_range_is_the_chart),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_basins),
        cmocka_unit_test(test_fringe),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
