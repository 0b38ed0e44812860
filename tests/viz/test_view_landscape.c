/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Landscapes: energies on the plane against the map's own, what the settings do to the trajectory,
 * and the pictures made of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_chart.h"
#include "kernels/kern_blas.h"
#include "tests/viz/view_test_set.h"
#include "viz/view/view_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REDUCED BASIN_SOURCE_DIR "/tests/vectors/rms-ff1-strict.safetensors"
#define WHOLE   BASIN_SOURCE_DIR "/tests/vectors/relu-ff2.safetensors" /* no reduced form */

enum { TOKENS = 5, COLUMNS = 24 };

static view_settings settings_of(const char *run)
{
    view_settings s;
    view_settings_defaults(&s);
    set(&s, "run", run);
    set(&s, "prompt", "3 1 4 1 5");
    set(&s, "token", "3");
    set(&s, "columns", "24");
    return s;
}

/* The subject is released here: the landscape holds it. */
static view_landscape *make(const view_settings *s)
{
    view_subject *subject = NULL;
    view_landscape *l = NULL;
    kern_error err = {0};
    if (view_subject_create(&subject, s, &err) != KERN_OK ||
        view_landscape_create(&l, subject, s, 2, NULL, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    view_subject_release(subject);
    return l;
}

static double energy_at(const view_landscape *l, double a, double b)
{
    double e;
    l->source.energies(l->source.context, 0, 1, &a, &b, &e);
    return e;
}

/* The slices promise 1e-12 of Σ|terms|; terms of these models are at most some thousand times their
 * sum. */
static void assert_energy(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * (1.0 + fabs(expected)))) {
        fail_msg("energy %.17g is not %.17g", value, expected);
    }
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

static const double *state_at(const view_landscape *l, size_t t)
{
    return l->path.states + t * l->subject->map->size;
}

/* ---- Energies -------------------------------------------------------------------------------- */

static void test_energies(void **state)
{
    static const char *const runs[] = {REDUCED, WHOLE};
    static const char *const tokens[] = {"3", "0", "all"};
    static const double places[][2] = {{0, 0}, {0.3, -0.2}, {-1.1, 0.7}, {2, 1}};
    (void)state;
    for (size_t r = 0; r < 6; r++) {
        view_settings s = settings_of(runs[r % 2]);
        set(&s, "token", tokens[r / 2]);
        set(&s, "plane", "random");
        view_landscape *l = make(&s);
        dyn_map *map = l->subject->map;
        double x[64];
        double e[TOKENS];
        assert_true((l->slice != NULL) == (r % 2 == 0));
        assert_true(map->size <= 64);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            dyn_plane_point(l->plane, places[i][0], places[i][1], x);
            map->kind->block_energies(map, x, e);
            double expected = l->token == MODEL_SLICE_SUM ? 0.0 : e[l->token % TOKENS];
            for (size_t k = 0; l->token == MODEL_SLICE_SUM && k < TOKENS; k++) {
                expected += e[k];
            }
            assert_energy(energy_at(l, places[i][0], places[i][1]), expected);
        }
        for (size_t t = 0; t < l->path.n; t++) {
            assert_energy(l->path.on_plane[t], energy_at(l, l->path.a[t], l->path.b[t]));
        }
        /* The centre lies on its plane. */
        assert_near(l->path.residual[l->at], 0.0, 1e-12 * l->path.distance[0]);
        assert_energy(l->path.energy[l->at], l->path.on_plane[l->at]);
        view_landscape_release(l);
    }
}

/* ---- The trajectory -------------------------------------------------------------------------- */

static void test_rate(void **state)
{
    view_settings s = settings_of(REDUCED);
    double image[64];
    (void)state;
    set(&s, "rate", "2.5");
    view_landscape *l = make(&s);
    dyn_map *map = l->subject->map;
    assert_true(map->params[0] == 1.0); /* the shared map stays at its own rate */
    map->kind->step(map, map->start, image);
    for (size_t i = 0; i < map->size; i++) {
        const double x = map->start[i];
        assert_true(state_at(l, 0)[i] == x);
        assert_near(state_at(l, 1)[i], x + 2.5 * (image[i] - x), 1e-13 * (1.0 + fabs(image[i])));
    }
    view_landscape_release(l);
}

/* Every state has the scales of the last trained one, and directions follow the pinned map. */
static void test_pin(void **state)
{
    view_settings s = settings_of(REDUCED);
    double z[64];
    double sigma[TOKENS];
    double pinned[TOKENS];
    double x[64];
    (void)state;
    view_landscape *plain = make(&s);
    dyn_map *map = plain->subject->map;
    dyn_chart_split(map, state_at(plain, plain->subject->trained), z, pinned);
    set(&s, "pin", "on");
    set(&s, "rate", "1.5");
    view_landscape *l = make(&s);
    for (size_t t = 0; t < l->path.n; t++) {
        dyn_chart_split(map, state_at(l, t), z, sigma);
        for (size_t k = 0; k < TOKENS; k++) {
            assert_near(sigma[k], pinned[k], 1e-12 * pinned[k]);
        }
    }
    map->kind->step(map, state_at(l, 0), x);
    for (size_t i = 0; i < map->size; i++) {
        const double from = state_at(l, 0)[i];
        x[i] = from + 1.5 * (x[i] - from);
    }
    dyn_chart_split(map, x, z, NULL);
    dyn_chart_join(map, z, pinned, x);
    for (size_t i = 0; i < map->size; i++) {
        assert_near(state_at(l, 1)[i], x[i], 1e-12 * (1.0 + fabs(x[i])));
    }
    view_landscape_release(l);
    view_landscape_release(plain);
}

/* The others stay where the centre has them; the token goes as the whole map moves it there. */
static void check_frozen(const char *pin)
{
    view_settings s = settings_of(REDUCED);
    double image[64];
    set(&s, "pin", pin);
    set(&s, "frozen", "on");
    view_landscape *l = make(&s);
    dyn_map *map = l->subject->map;
    const size_t w = map->block_width;
    for (size_t t = 0; t < l->path.n; t++) {
        for (size_t i = 0; i < map->size; i++) {
            assert_true(i / w == 3 || state_at(l, t)[i] == l->plane->centre[i]);
        }
    }
    for (size_t t = 0; t + 1 < l->path.n && s.pin == false; t++) {
        map->kind->step(map, state_at(l, t), image);
        for (size_t i = 3 * w; i < 4 * w; i++) {
            assert_near(state_at(l, t + 1)[i], image[i], 1e-12 * (1.0 + fabs(image[i])));
        }
    }
    view_landscape_release(l);
}

static void test_frozen(void **state)
{
    (void)state;
    check_frozen("off");
    check_frozen("on");
}

static void test_seeds(void **state)
{
    static const double places[] = {0.4, -0.3, -0.2, 0.9};
    view_settings s = settings_of(REDUCED);
    double image[64];
    (void)state;
    set(&s, "seeds", "0.4,-0.3,-0.2,0.9");
    view_landscape *l = make(&s);
    dyn_map *map = l->subject->map;
    assert_int_equal(l->n_seeds, 2);
    for (size_t i = 0; i < 2; i++) {
        const view_path *p = &l->seeds[i];
        assert_int_equal(p->n, l->path.n);
        assert_near(p->a[0], places[2 * i], 1e-12);
        assert_near(p->b[0], places[2 * i + 1], 1e-12);
        assert_energy(p->energy[0], p->on_plane[0]);
        map->kind->step(map, p->states, image);
        for (size_t k = 0; k < map->size; k++) {
            assert_near(p->states[map->size + k], image[k], 1e-12 * (1.0 + fabs(image[k])));
        }
    }
    view_landscape_release(l);
}

/* ---- The plane ------------------------------------------------------------------------------- */

/* a u' + b v' = (a cos − b sin) u + (a sin + b cos) v. */
static void test_turn(void **state)
{
    static const double angle = 0.7;
    view_settings s = settings_of(REDUCED);
    const double a = 0.5;
    const double b = -0.25;
    char label[VIEW_LABEL];
    (void)state;
    view_landscape *plain = make(&s);
    set(&s, "turn", "0.7");
    view_landscape *turned = make(&s);
    const double c = cos(angle);
    const double sn = sin(angle);
    assert_energy(energy_at(turned, a, b), energy_at(plain, a * c - b * sn, a * sn + b * c));
    view_words_axis(turned, 0, label);
    assert_non_null(strstr(label, "turned by 40.1°"));
    view_words_axis(plain, 0, label);
    assert_non_null(strstr(label, "of variance"));
    view_landscape_release(plain);
    view_landscape_release(turned);
}

static void test_range(void **state)
{
    view_settings s = settings_of(REDUCED);
    (void)state;
    view_landscape *l = make(&s);
    assert_false(l->custom_range);
    for (size_t t = 0; t < l->path.n; t++) {
        assert_true(l->path.a[t] > l->range.a_low && l->path.a[t] < l->range.a_high);
        assert_true(l->path.b[t] > l->range.b_low && l->path.b[t] < l->range.b_high);
    }
    view_landscape_release(l);
    set(&s, "range", "-1,2,-0.25,0.5");
    l = make(&s);
    assert_true(l->custom_range);
    assert_true(l->range.a_low == -1.0 && l->range.a_high == 2.0);
    assert_true(l->range.b_low == -0.25 && l->range.b_high == 0.5);
    view_landscape_release(l);
}

/* A long trajectory is thinned out for its principal directions, which the words say. */
static void test_long(void **state)
{
    view_settings s = settings_of(REDUCED);
    char text[VIEW_NOTE];
    (void)state;
    set(&s, "steps", "2500");
    set(&s, "rate", "0.01");
    view_landscape *l = make(&s);
    assert_int_equal(l->path.n, 2501);
    assert_int_equal(l->stride, 3);
    view_words_describe(l, text);
    assert_non_null(strstr(text, "one state in 3"));
    assert_non_null(strstr(text, "at 0.01 times its rate"));
    view_landscape_release(l);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void refuses_subject(const view_settings *s, kern_status status, const char *part)
{
    view_subject *subject = NULL;
    kern_error err = {0};
    assert_int_equal(view_subject_create(&subject, s, &err), status);
    assert_null(subject);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void refuses(const view_settings *s, kern_status status, const char *part)
{
    view_subject *subject = NULL;
    view_landscape *l = NULL;
    kern_error err = {0};
    assert_int_equal(view_subject_create(&subject, s, &err), KERN_OK);
    assert_int_equal(view_landscape_create(&l, subject, s, 1, NULL, NULL, &err), status);
    assert_null(l);
    view_subject_release(subject);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void test_refusals(void **state)
{
    view_settings s = settings_of(REDUCED);
    (void)state;
    set(&s, "prompt", "");
    refuses_subject(&s, KERN_BAD_INPUT, "prompt is empty");
    set(&s, "prompt", "1 2 3 4 5 6 1 2 3");
    refuses_subject(&s, KERN_BAD_INPUT, "prompt has 9 tokens; accepted are at most 8");
    set(&s, "prompt", "1 7");
    refuses_subject(&s, KERN_BAD_INPUT, "prompt: ");
    s = settings_of(REDUCED);
    set(&s, "layer", "1");
    refuses_subject(&s, KERN_INVALID_ARGUMENT, "layer is 1");
    s = settings_of(REDUCED);
    set(&s, "token", "5");
    refuses(&s, KERN_INVALID_ARGUMENT, "token is \"5\"; accepted are 0 to 4");
    set(&s, "token", "all");
    set(&s, "frozen", "on");
    refuses(&s, KERN_INVALID_ARGUMENT, "frozen follows one token");
    set(&s, "frozen", "off");
    set(&s, "plane", "tokens");
    refuses(&s, KERN_INVALID_ARGUMENT, "plane tokens");
    s = settings_of(REDUCED);
    set(&s, "plane", "custom");
    refuses(&s, KERN_INVALID_ARGUMENT, "axes is empty");
    s = settings_of(REDUCED);
    s.steps = VIEW_PATH_BYTES / sizeof(double);
    refuses(&s, KERN_INVALID_ARGUMENT, "steps is 134217728; accepted are at most 5368708");
}

static bool stop(void *context)
{
    size_t *left = context;
    return (*left)-- == 0;
}

/* Wherever it is told to stop, it stops. */
static void test_cancelled(void **state)
{
    view_settings s = settings_of(REDUCED);
    view_subject *subject = NULL;
    kern_error err = {0};
    (void)state;
    set(&s, "seeds", "0.1,0.2");
    assert_int_equal(view_subject_create(&subject, &s, &err), KERN_OK);
    for (size_t after = 0; after < 18; after += 3) {
        view_landscape *l = NULL;
        size_t left = after;
        assert_int_equal(view_landscape_create(&l, subject, &s, 1, stop, &left, &err),
                         KERN_INTERRUPTED);
        assert_null(l);
    }
    view_subject_release(subject);
}

/* ---- Pictures -------------------------------------------------------------------------------- */

static view_picture *draw(view_landscape *l, bool sketch)
{
    const view_grain grain = {.columns = COLUMNS, .sketch = sketch, .workers = 2};
    view_picture *p = NULL;
    kern_error err = {0};
    if (view_picture_create(&p, l, &grain, NULL, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return p;
}

static void test_picture(void **state)
{
    view_settings s = settings_of(REDUCED);
    (void)state;
    view_landscape *l = make(&s);
    view_picture *fine = draw(l, false);
    view_picture *sketch = draw(l, true);
    const dyn_slice_field *f = &fine->field;
    view_landscape_release(l);
    assert_int_equal(f->rows, 15);
    assert_int_equal(fine->contours.n_rough, 0);
    assert_true(fine->contours.n_lines > 0 && sketch->contours.n_lines > 0);
    for (size_t k = 0; k < f->columns * f->rows; k++) {
        const double a = dyn_slice_field_a(f, k % f->columns);
        const double b = dyn_slice_field_b(f, k / f->columns);
        assert_true(f->values[k] == energy_at(fine->landscape, a, b));
        /* Single precision promises about 1e-5 of the terms. */
        assert_near(sketch->field.values[k], f->values[k], 1e-3 * (1.0 + fabs(f->values[k])));
    }
    /* The second-order model is the energy close to the centre. */
    const view_measure *m = &fine->centre;
    const double h = 1e-4;
    const double e = energy_at(fine->landscape, h, 0.0);
    assert_near(m->energy, energy_at(fine->landscape, 0.0, 0.0), 0.0);
    assert_near(e - m->energy, h * m->slope[0], 1e-5 * (1.0 + fabs(m->slope[0])));
    view_picture_release(sketch);
    view_picture_release(view_picture_keep(fine));
    view_picture_release(fine);
}

static bool has_series(const viz_panel *panel, const char *name)
{
    for (size_t i = 0; i < panel->n_series; i++) {
        if (strcmp(panel->series[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static viz_scene *scene_of(const view_picture *p, const view_settings *s, const view_page *page)
{
    viz_scene *scene = NULL;
    kern_error err = {0};
    if (view_picture_scene(&scene, p, s, page, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return scene;
}

static void test_scene(void **state)
{
    view_settings s = settings_of(REDUCED);
    view_page page = {0};
    (void)state;
    set(&s, "seeds", "0.4,-0.3");
    view_landscape *l = make(&s);
    view_picture *p = draw(l, false);
    viz_scene *scene = scene_of(p, &s, &page);
    assert_int_equal(scene->panels[0].n_isolines, 1);
    assert_true(has_series(&scene->panels[0], "trajectory from seed 1"));
    assert_false(has_series(&scene->panels[0], "state pointed out"));
    assert_true(scene->bar.scale.lo == p->field.low && scene->bar.scale.map == VIZ_MAP_VIRIDIS);
    viz_scene_destroy(scene);
    set(&s, "quadratic", "on");
    set(&s, "map", "plasma");
    set(&s, "low", "-30");
    set(&s, "high", "-15");
    set(&s, "step", "1");
    set(&s, "dark", "on");
    page.point_out = true;
    scene = scene_of(p, &s, &page);
    assert_int_equal(scene->panels[0].n_isolines, 2);
    assert_true(scene->panels[0].isolines[0].dashed);
    assert_true(has_series(&scene->panels[0], "state pointed out"));
    assert_true(scene->bar.scale.lo == -30.0 && scene->bar.scale.hi == -15.0);
    assert_true(scene->bar.scale.map == VIZ_MAP_PLASMA && scene->theme == VIZ_DARK);
    assert_non_null(strstr(scene->note, "beyond the ends of the colours"));
    viz_scene_destroy(scene);
    /* The page's own range counts over the settings'. */
    page.low = -40.0;
    page.high = 0.0;
    set(&s, "mode", "surface");
    scene = scene_of(p, &s, &page);
    assert_true(scene->bar.scale.lo == -40.0 && scene->panels[0].surface);
    viz_scene_destroy(scene);
    view_picture_release(p);
    view_landscape_release(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energies), cmocka_unit_test(test_rate),
        cmocka_unit_test(test_pin),      cmocka_unit_test(test_frozen),
        cmocka_unit_test(test_seeds),    cmocka_unit_test(test_turn),
        cmocka_unit_test(test_range),    cmocka_unit_test(test_long),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_picture),  cmocka_unit_test(test_scene),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
