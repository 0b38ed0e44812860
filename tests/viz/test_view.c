/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The explorer without a window: what it computes when, what can be undone, sessions, and models
 * that are missing or other ones.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/viz/view_test_model.h"
#include "viz/view/view_jobs.h"
#include "viz/view/view_session.h"

#include <math.h>
#include <stdatomic.h>

/* ---- What is shown --------------------------------------------------------------------------- */

/* Largest difference of a field from the model's own energies at the same states. */
static double compare(const view_picture *p, double *largest)
{
    const view_landscape *l = p->landscape;
    const dyn_slice_field *f = &p->field;
    double *x = calloc(l->plane->size, sizeof *x);
    double energies[VIEW_TEST_TOKENS + 2];
    dyn_map *map = NULL;
    double worst = 0.0;
    assert_non_null(x);
    TINY_OK(l->subject->map->kind->clone(&map, l->subject->map, tiny_err));
    for (size_t j = 0; j < f->rows; j++) {
        for (size_t i = 0; i < f->columns; i++) {
            dyn_plane_point(l->plane, dyn_slice_field_a(f, i), dyn_slice_field_b(f, j), x);
            map->kind->block_energies(map, x, energies);
            const double direct =
                l->token == MODEL_SLICE_SUM ? map->kind->energy(map, x) : energies[l->token];
            const double value = f->values[j * f->columns + i];
            assert_true(isfinite(value) && isfinite(direct));
            worst = fmax(worst, fabs(value - direct));
            *largest = fmax(*largest, fabs(direct));
        }
    }
    dyn_map_destroy(map);
    free(x);
    return worst;
}

/* The reduced energies agree with the graph's to 1e-12 of the terms (models/model_slice.h); single
 * precision would be off by about 1e-7. */
static void check_picture(const view *v)
{
    double largest = 1.0;
    assert_non_null(v->picture);
    assert_false(v->picture->sketch);
    assert_int_equal(v->picture->field.columns, v->s.columns);
    const double worst = compare(v->picture, &largest);
    if (!(worst <= 1e-11 * largest)) {
        fail_msg("the field is off by %g where energies reach %g", worst, largest);
    }
}

static void test_settles(void **state)
{
    (void)state;
    view *v = view_test_make();
    check_picture(v);
    assert_false(view_busy(v));
    assert_non_null(strstr(view_title(v), "token 4"));
    assert_non_null(strstr(view_title(v), "plane pca"));
    assert_non_null(strstr(view_title(v), "about step 3"));
    assert_non_null(strstr(view_title(v), "the other tokens held"));
    assert_true(v->has_landmarks);
    view_test_do(v, "token all");
    view_settle(v);
    check_picture(v);
    assert_non_null(strstr(view_title(v), "weights held"));
    view_test_do(v, "plane random");
    view_test_do(v, "columns 64");
    view_settle(v);
    check_picture(v);
    view_destroy(v);
}

/* Only what a change touches is made anew. */
static void test_reuse(void **state)
{
    (void)state;
    view *v = view_test_make();
    const view_landscape *landscape = v->picture->landscape;
    const view_picture *picture = v->picture;
    view_test_do(v, "dark on");
    view_test_do(v, "step 5");
    assert_false(view_busy(v));
    view_settle(v);
    assert_ptr_equal(v->picture, picture);
    view_test_do(v, "columns 48");
    view_settle(v);
    assert_ptr_equal(v->picture->landscape, landscape);
    check_picture(v);
    view_test_do(v, "zoom 2");
    view_settle(v);
    assert_ptr_not_equal(v->picture->landscape, landscape);
    check_picture(v);
    view_destroy(v);
}

static void count(void *context)
{
    (void)atomic_fetch_add((atomic_size_t *)context, 1);
}

/* A slider that moves on leaves nothing of where it has been; an end in the midst is clean. */
static void test_moving_on(void **state)
{
    (void)state;
    atomic_size_t notices;
    atomic_init(&notices, 0);
    const view_options options = {.settings = view_test_settings("a.safetensors"),
                                  .workers = 1,
                                  .notify = count,
                                  .context = &notices};
    view *v = NULL;
    TINY_OK(view_create(&v, &options, tiny_err));
    for (int i = 0; i < 60; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "rate %d.%02d", i / 40, i % 40);
        view_test_do(v, line);
    }
    view_test_do(v, "mode basins");
    view_test_do(v, "orbit on");
    view_test_do(v, "rate 0.5");
    view_test_do(v, "columns 24");
    view_settle(v);
    assert_true(v->picture->landscape->settings.rate == 0.5);
    check_picture(v);
    assert_non_null(v->basins);
    assert_non_null(v->orbit);
    assert_true(atomic_load(&notices) > 0);
    view_test_do(v, "columns 256");
    view_test_do(v, "rate 0.75");
    view_destroy(v);
}

/* Findings of a landscape go with it. */
static void test_findings(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "columns 12");
    view_test_do(v, "mode basins");
    view_test_do(v, "orbit on");
    view_test_do(v, "measure 0.1 0");
    view_settle(v);
    const view_basins *basins = v->basins;
    const view_orbit *orbit = v->orbit;
    assert_non_null(basins);
    assert_non_null(orbit);
    assert_true(v->has_measure && v->has_landmarks);
    view_test_do(v, "zoom 1.5");
    assert_ptr_equal(v->basins, basins);
    assert_true(v->has_measure && v->has_landmarks);
    view_test_do(v, "rate 0.9");
    assert_null(v->basins);
    assert_ptr_equal(v->orbit, orbit);
    assert_false(v->has_measure);
    view_test_do(v, "token 2");
    assert_null(v->orbit);
    assert_false(v->has_landmarks);
    view_settle(v);
    assert_non_null(v->basins);
    assert_non_null(v->orbit);
    assert_true(v->has_landmarks);
    /* They follow orbits at no more columns than the field has, and at more when that has more. */
    assert_int_equal(v->basins->lattice.nx, 12);
    assert_int_equal(v->orbit->columns, 12);
    view_test_do(v, "columns 16");
    view_settle(v);
    assert_int_equal(v->basins->lattice.nx, 16);
    assert_int_equal(v->orbit->columns, 16);
    view_destroy(v);
}

/* Wide tokens have coarse strips and basins, and the view says so. */
static void test_coarse(void **state)
{
    static const struct {
        size_t width, basins, orbit;
        bool coarse;
    } sizes[] = {
        {96, 128, 216, false}, {97, 64, 96, true}, {255, 64, 96, true}, {256, 32, 96, true}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dyn_plane plane = {.block_width = sizes[i].width};
        const view_landscape l = {.plane = &plane};
        view_settings s;
        bool coarse = !sizes[i].coarse;
        view_settings_defaults(&s);
        assert_int_equal(view_job_columns(VIEW_SLOT_BASINS, &l, &s, &coarse), sizes[i].basins);
        assert_int_equal(coarse, sizes[i].coarse);
        assert_int_equal(view_job_columns(VIEW_SLOT_ORBIT, &l, &s, &coarse), sizes[i].orbit);
        assert_int_equal(coarse, sizes[i].coarse);
        s.columns = 24; /* what is asked for is no finer anyway */
        assert_int_equal(view_job_columns(VIEW_SLOT_BASINS, &l, &s, &coarse), 24);
        assert_false(coarse);
    }
}

/* A part of a layer is looked at as a recurrent block is. */
static void test_layer(void **state)
{
    (void)state;
    char path[TEST_PATH];
    view_settings s = view_test_settings("cem.safetensors");
    view_test_weights(test_path(path, "cem.safetensors"), MODEL_CEM, 15);
    s.layer = 1;
    view *v = view_test_open(&s);
    view_settle(v);
    check_picture(v);
    assert_non_null(strstr(view_title(v), "layer 1"));
    view_test_do(v, "plane random");
    view_test_do(v, "sublayer mlp");
    view_settle(v);
    check_picture(v);
    assert_true(v->has_landmarks);
    view_test_refused(v, "layer 99", "99");
    view_destroy(v);
}

/* ---- Following steps ------------------------------------------------------------------------- */

static void test_follow(void **state)
{
    (void)state;
    view *v = view_test_make();
    const dyn_slice_range range = v->picture->landscape->range;
    double low = (double)INFINITY;
    double high = -(double)INFINITY;
    view_test_do(v, "follow on");
    view_settle(v);
    for (size_t t = 0; t <= VIEW_TEST_STEPS; t++) {
        assert_non_null(v->steps[t]);
        assert_int_equal(v->steps[t]->landscape->held_at, t);
        low = fmin(low, v->steps[t]->field.low);
        high = fmax(high, v->steps[t]->field.high);
    }
    assert_null(v->steps[VIEW_TEST_STEPS + 1]);
    assert_true(v->low == low && v->high == high);
    /* The cached field is there before anything is computed; axes and centre stay. */
    const view_picture *cached = v->steps[2];
    view_test_do(v, "step 2");
    assert_int_equal(v->picture->landscape->held_at, 2);
    assert_ptr_equal(v->picture, cached);
    view_settle(v);
    check_picture(v);
    assert_int_equal(v->picture->landscape->held_at, 2);
    assert_int_equal(v->picture->landscape->at, 3);
    const view_landscape *l = v->picture->landscape;
    const size_t width = l->plane->block_width;
    assert_memory_equal(l->plane->centre, l->path.states + 2 * l->plane->size,
                        4 * width * sizeof(double));
    /* A mean, which the norm takes away, is not part of the moving token's centre. */
    for (size_t i = 1; i < width; i++) {
        const double *c = l->plane->centre + 4 * width;
        const double *x = l->path.states + 3 * l->plane->size + 4 * width;
        assert_true(fabs((c[i] - c[0]) - (x[i] - x[0])) <= 1e-13 * (1.0 + fabs(x[i]) + fabs(x[0])));
    }
    assert_memory_equal(&v->picture->landscape->range, &range, sizeof range);
    assert_ptr_equal(v->steps[2], cached);
    assert_true(v->low == low && v->high == high);
    /* Another plane makes them anew. */
    view_test_do(v, "plane random");
    assert_null(v->steps[2]);
    view_settle(v);
    assert_non_null(v->steps[VIEW_TEST_STEPS]);
    assert_ptr_not_equal(v->steps[2], cached);
    view_destroy(v);
}

/* The other tokens' states change the field of a token that sees them. */
static void test_follow_matters(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "follow on");
    view_test_do(v, "step 0");
    view_settle(v);
    const double first = v->picture->field.values[0];
    view_test_do(v, "step last");
    view_settle(v);
    assert_true(v->picture->field.values[0] != first);
    view_test_do(v, "follow off");
    view_settle(v);
    assert_int_equal(v->picture->landscape->held_at, 3);
    /* The sum over all tokens holds none, and there is one field for all steps. */
    view_test_do(v, "token all");
    view_test_do(v, "follow on");
    view_settle(v);
    const view_picture *all = v->picture;
    view_test_do(v, "step 1");
    assert_false(view_busy(v));
    assert_ptr_equal(v->picture, all);
    assert_null(v->steps[0]);
    view_destroy(v);
}

static void test_play(void **state)
{
    (void)state;
    double wait = 0.0;
    view *v = view_test_make();
    const size_t past = v->n_past;
    v->stale = false;
    assert_false(view_wants_frame(v, 10.0, &wait));
    assert_true(wait < 0.0);
    view_test_do(v, "play");
    v->stale = false;
    assert_true(view_wants_frame(v, 10.0, &wait));
    view_beat(v, 10.0);
    assert_int_equal(v->s.step, 0);
    view_settle(v);
    v->stale = false;
    assert_false(view_wants_frame(v, 10.0, &wait));
    assert_true(wait > 0.0 && wait < 1.0);
    for (int i = 1; i <= VIEW_TEST_STEPS; i++) {
        assert_true(view_wants_frame(v, 10.0 + i, &wait));
        view_beat(v, 10.0 + i);
        assert_int_equal(v->s.step, i);
    }
    view_beat(v, 20.0);
    assert_int_equal(v->s.step, 0);
    view_test_do(v, "pause");
    view_beat(v, 30.0);
    assert_int_equal(v->s.step, 0);
    assert_int_equal(v->n_past, past);
    view_test_do(v, "still on");
    view_test_refused(v, "play", "animation is off");
    view_destroy(v);
}

/* ---- Undo ------------------------------------------------------------------------------------ */

static void test_undo(void **state)
{
    static const char *const lines[] = {
        "token 2",   "plane random", "rate 0.5", "dark on", "prompt 1 2 3 4 5 6 7",
        "range 0.5", "token 6",      "zoom 3"};
    enum { LINES = sizeof lines / sizeof *lines };
    static view_settings seen[LINES + 1];
    (void)state;
    view *v = view_test_make();
    seen[0] = v->s;
    for (size_t i = 0; i < LINES; i++) {
        view_test_do(v, lines[i]);
        seen[i + 1] = v->s;
        assert_false(view_test_same(&seen[i], &seen[i + 1]));
    }
    for (int round = 0; round < 2; round++) {
        for (size_t i = LINES; i-- > 0;) {
            view_test_do(v, "undo");
            assert_true(view_test_same(&v->s, &seen[i]));
        }
        view_test_refused(v, "undo", "nothing to be undone");
        for (size_t i = 1; i <= LINES; i++) {
            view_test_do(v, "redo");
            assert_true(view_test_same(&v->s, &seen[i]));
        }
        view_test_refused(v, "redo", "nothing to be redone");
    }
    view_test_do(v, "undo");
    view_test_do(v, "token 1");
    view_test_refused(v, "redo", "nothing to be redone");
    view_settle(v);
    check_picture(v);
    view_destroy(v);
}

/* A drag is one step back, two drags are two, and one that ends where it began is none. */
static void test_drags(void **state)
{
    (void)state;
    view *v = view_test_make();
    const view_settings start = v->s;
    for (int drag = 0; drag < 2; drag++) {
        view_undo_close(v);
        for (int i = 1; i <= 5; i++) {
            char value[32];
            (void)snprintf(value, sizeof value, "%d.5", 10 * drag + i);
            TINY_OK(view_set(v, "rate", value, tiny_err));
        }
    }
    assert_int_equal(v->n_past, 2);
    view_test_do(v, "undo");
    assert_true(v->s.rate == 5.5);
    view_test_do(v, "undo");
    assert_true(view_test_same(&v->s, &start));
    TINY_OK(view_set(v, "rate", "2", tiny_err));
    TINY_OK(view_set(v, "rate", "1", tiny_err));
    assert_int_equal(v->n_past, 0);
    TINY_OK(view_set(v, "rate", "1", tiny_err));
    assert_int_equal(v->n_past, 0);
    view_destroy(v);
}

/* The oldest are forgotten, and the newest are not. */
static void test_many(void **state)
{
    (void)state;
    view *v = view_test_make();
    for (int i = 0; i < VIEW_UNDO_MAX + 7; i++) {
        view_test_do(v, "toggle dark");
        view_undo_close(v);
    }
    assert_int_equal(v->n_past, VIEW_UNDO_MAX);
    for (int i = 0; i < VIEW_UNDO_MAX; i++) {
        view_test_do(v, "undo");
    }
    assert_int_equal(v->n_past, 0);
    assert_true(v->s.dark); /* seven switches from off */
    view_destroy(v);
}

/* ---- What cannot be drawn -------------------------------------------------------------------- */

/* A plane that cannot be made keeps its setting, says so, and leaves the picture. */
static void test_no_plane(void **state)
{
    (void)state;
    bool failed = false;
    char line[TEST_PATH + 16];
    char path[TEST_PATH];
    view *v = view_test_make();
    const view_picture *before = v->picture;
    const int plane = v->s.plane;
    view_test_do(v, "plane custom");
    view_settle(v);
    assert_int_not_equal(v->s.plane, plane);
    assert_non_null(strstr(view_said(v, &failed), "axes is empty"));
    assert_true(failed);
    assert_ptr_equal(v->picture, before);
    (void)snprintf(line, sizeof line, "export %s", test_path(path, "none.pdf"));
    view_test_refused(v, line, "axes is empty");
    assert_int_equal(access(path, F_OK), -1);
    view_test_do(v, "undo");
    view_settle(v);
    assert_int_equal(v->broken.status, KERN_OK);
    check_picture(v);
    view_destroy(v);
}

static void test_not_there(void **state)
{
    (void)state;
    kern_error err = {0};
    view *v = NULL;
    view_options options = {.settings = view_test_settings("none.safetensors"), .workers = 1};
    assert_int_not_equal(view_create(&v, &options, &err), KERN_OK);
    assert_null(v);
    test_error(&err, err.status, "none.safetensors");
    options.settings = view_test_settings("a.safetensors");
    options.settings.token = 6;
    assert_int_equal(view_create(&v, &options, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "there is no token 6");
    options.settings.run[0] = '\0';
    assert_int_equal(view_create(&v, &options, &err), KERN_NOT_FOUND);
    test_error(&err, KERN_NOT_FOUND, "no model is named");
    v = view_test_make();
    view_test_refused(v, "token 6", "there is no token 6");
    view_test_refused(v, "step 7", "there is no step 7");
    view_test_refused(v, "with 9", "there is no token 9");
    view_test_refused(v, "run /nonexistent", "nonexistent");
    view_test_refused(v, "prompt 1 2 99", "99");
    /* What a shorter prompt has no more is brought within it. */
    view_test_do(v, "prompt 3 1 4");
    assert_int_equal(v->s.token, 2);
    view_test_do(v, "steps 9");
    view_test_do(v, "step last");
    view_test_do(v, "steps 4");
    assert_int_equal(v->s.step, 4);
    view_settle(v);
    check_picture(v);
    view_destroy(v);
}

/* An empty run is the model in the folder of assets, wherever that lies. */
static void test_bundled(void **state)
{
    (void)state;
    kern_error err = {0};
    view *v = NULL;
    view_options options = {
        .settings = view_test_settings(""), .assets = BASIN_SOURCE_DIR "/assets", .workers = 1};
    options.settings.run[0] = '\0';
    (void)snprintf(options.settings.prompt, sizeof options.settings.prompt, "max_10 ( 2 9 3 ) =");
    TINY_OK(view_create(&v, &options, tiny_err));
    view_settle(v);
    assert_non_null(v->picture);
    assert_string_equal(v->s.run, "");
    view_destroy(v);
    options.assets = "/nonexistent";
    assert_int_equal(view_create(&v, &options, &err), KERN_NOT_FOUND);
    test_error(&err, KERN_NOT_FOUND, "/nonexistent/" VIEW_BUNDLED);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void do_file(view *v, const char *command, const char *name)
{
    char line[TEST_PATH + 32];
    char path[TEST_PATH];
    (void)snprintf(line, sizeof line, "%s %s", command, test_path(path, name));
    view_test_do(v, line);
}

static void test_sessions(void **state)
{
    (void)state;
    char path[TEST_PATH];
    view *v = view_test_make();
    view_test_do(v, "plane random");
    view_test_do(v, "seed 0.1 0.2");
    view_test_do(v, "rate 1.1");
    view_test_do(v, "turn 0.3");
    do_file(v, "save", "one.json");
    const view_settings saved = v->s;
    view_test_do(v, "reset");
    view_test_do(v, "token 1");
    do_file(v, "load", "one.json");
    assert_true(view_test_same(&v->s, &saved));
    assert_false(v->read_only);
    do_file(v, "save", "two.json");
    char *one = read_all(test_path(path, "one.json"));
    char *two = read_all(test_path(path, "two.json"));
    assert_string_equal(one, two);
    free(one);
    free(two);
    view_test_do(v, "undo");
    assert_int_equal(v->s.token, 1);
    view_settle(v);
    view_destroy(v);
}

/* The file at a session's path is another model: one may look, but nothing is written. */
static void test_other_model(void **state)
{
    (void)state;
    bool failed = false;
    char line[TEST_PATH + 32];
    char path[TEST_PATH];
    view_settings s = view_test_settings("c.safetensors");
    view_test_weights(test_path(path, "c.safetensors"), MODEL_NRGPT, 13);
    view *v = view_test_open(&s);
    do_file(v, "save", "c.json");
    view_destroy(v);
    view_test_weights(test_path(path, "c.safetensors"), MODEL_NRGPT, 14);
    v = view_test_make();
    do_file(v, "load", "c.json");
    assert_true(v->read_only);
    assert_non_null(strstr(view_said(v, &failed), "not the one that the session was made with"));
    assert_true(failed);
    view_test_do(v, "token 2");
    view_settle(v);
    check_picture(v);
    (void)snprintf(line, sizeof line, "export %s", test_path(path, "c.pdf"));
    view_test_refused(v, line, "accept-model");
    (void)snprintf(line, sizeof line, "save %s", test_path(path, "d.json"));
    view_test_refused(v, line, "accept-model");
    /* Another model by its own name is no session's. */
    (void)snprintf(line, sizeof line, "run %s", test_path(path, "b.safetensors"));
    view_test_do(v, line);
    assert_false(v->read_only);
    view_test_do(v, "undo");
    assert_true(v->read_only);
    view_test_do(v, "accept-model");
    assert_false(v->read_only);
    do_file(v, "save", "d.json");
    view_destroy(v);
}

static void test_missing_model(void **state)
{
    (void)state;
    bool failed = false;
    char line[TEST_PATH + 32];
    char path[TEST_PATH];
    const view_options options = {.settings = view_test_settings("gone.safetensors"),
                                  .expected_sha256 = "0123",
                                  .workers = 1};
    view *v = NULL;
    TINY_OK(view_create(&v, &options, tiny_err));
    assert_non_null(strstr(view_said(v, &failed), "nothing can be drawn"));
    assert_true(failed && v->read_only);
    view_settle(v);
    assert_null(v->picture);
    view_test_refused(v, "token 1", "there is no model");
    view_test_refused(v, "token next", "there is no model");
    view_test_refused(v, "zoom 2", "there is no picture");
    view_test_refused(v, "measure 0 0", "there is no picture");
    view_test_refused(v, "play", "there is no model");
    view_test_refused(v, "say", "there is no picture");
    view_test_refused(v, "accept-model", "there is no model");
    (void)snprintf(line, sizeof line, "save %s", test_path(path, "e.json"));
    view_test_refused(v, line, "there is no model");
    view_test_do(v, "dark on");
    (void)snprintf(line, sizeof line, "run %s", test_path(path, "a.safetensors"));
    view_test_do(v, line);
    view_settle(v);
    assert_false(v->read_only);
    check_picture(v);
    view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settles),     cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_moving_on),   cmocka_unit_test(test_findings),
        cmocka_unit_test(test_coarse),      cmocka_unit_test(test_layer),
        cmocka_unit_test(test_follow),      cmocka_unit_test(test_follow_matters),
        cmocka_unit_test(test_play),        cmocka_unit_test(test_undo),
        cmocka_unit_test(test_drags),       cmocka_unit_test(test_many),
        cmocka_unit_test(test_no_plane),    cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_bundled),     cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_other_model), cmocka_unit_test(test_missing_model),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, view_test_setup, test_folder_remove);
}
