/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The analyses of the explorer on models: landmarks against the whole chart's, the orbit strip on
 * both sides of a landmark, and basins against orbits that are followed here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_cascade.h"
#include "dyn/dyn_chart.h"
#include "dyn/dyn_frozen.h"
#include "kernels/kern_blas.h"
#include "models/model_dynamics.h"
#include "tests/viz/view_test_set.h"
#include "viz/view/view_basins.h"
#include "viz/view/view_orbit.h"
#include "viz/view/view_token.h"

#include <math.h>
#include <string.h>

#define VECTORS BASIN_SOURCE_DIR "/tests/vectors/"
#define SCALAR  VECTORS "eta-scalar.safetensors"
#define SQUARE  VECTORS "eta-square.safetensors" /* token 1 has several equilibria */
#define FLIPS   VECTORS "single-token-strict.safetensors"
#define TURNS   VECTORS "negative-scale-ff.safetensors"

enum { TOKENS = 3, WIDTH_MOST = 8 };

static view_landscape *make(const char *run, const char *token, const char *rate)
{
    view_settings s;
    view_subject *subject = NULL;
    view_landscape *l = NULL;
    kern_error err = {0};
    view_settings_defaults(&s);
    set(&s, "run", run);
    set(&s, "prompt", "1 2 3");
    set(&s, "token", token);
    set(&s, "rate", rate);
    if (view_subject_create(&subject, &s, &err) != KERN_OK ||
        view_landscape_create(&l, subject, &s, 1, NULL, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    view_subject_release(subject);
    return l;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g to %g", value, expected, tolerance);
    }
}

static view_landmarks find(const view_landscape *l)
{
    view_landmarks m;
    kern_error err = {0};
    if (view_landmarks_find(&m, l, NULL, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return m;
}

/* ---- Landmarks ------------------------------------------------------------------------------- */

/* The first token has no prefix, so its equilibrium is that of the whole map, solved for block by
 * block. Equilibria with a residual of 1e-11 are apart by 1e-11/|1 − μ|, about 1e-10 here, and
 * rates are then known to some hundred times that. */
static void check_first_token(const char *run, const char *rate)
{
    view_landscape *l = make(run, "0", rate);
    const view_landmarks m = find(l);
    dyn_map *whole = l->subject->map;
    dyn_map *chart = NULL;
    dyn_cascade cascade;
    dyn_multipliers multipliers;
    dyn_cascade_options solve = dyn_cascade_options_default();
    dyn_multipliers_options o = dyn_multipliers_options_default();
    double x[TOKENS * WIDTH_MOST];
    double parts[3 * TOKENS + WIDTH_MOST];
    assert_true(m.found);
    model_dynamics_trained_state(whole, x);
    assert_int_equal(dyn_chart_create(&chart, whole, x, NULL, NULL), KERN_OK);
    assert_near(m.sigma, dyn_chart_sigma(chart)[0], 1e-14 * m.sigma);
    assert_int_equal(dyn_cascade_init(&cascade, chart, NULL, &solve, NULL), KERN_OK);
    o.block = 0;
    assert_int_equal(dyn_multipliers_init(&multipliers, chart, cascade.state, &o, NULL), KERN_OK);
    dyn_chart_update(chart, cascade.state, parts, parts + TOKENS, parts + 2 * TOKENS);
    const dyn_chart_margins expected =
        dyn_chart_find_margins(chart, &multipliers.blocks[0], parts[0]);
    assert_true(m.flip == expected.flip || fabs(m.flip / expected.flip - 1.0) < 1e-7);
    assert_true(m.ns == expected.ns || fabs(m.ns / expected.ns - 1.0) < 1e-7);
    assert_true(m.lost == expected.lost || fabs(m.lost / expected.lost - 1.0) < 1e-7);
    assert_int_equal(m.n_complex, expected.n_complex);
    dyn_multipliers_fini(&multipliers);
    dyn_cascade_fini(&cascade);
    dyn_map_destroy(chart);
    view_landscape_release(l);
}

static void test_landmarks_of_the_first_token(void **state)
{
    (void)state;
    check_first_token(SCALAR, "1");
    check_first_token(FLIPS, "0.5");
    check_first_token(TURNS, "2");
}

/* At the rate where stability is lost the spectral radius is 1, whatever loses it, and below it is
 * less. */
static void check_radius(const char *run, const char *token)
{
    view_landscape *l = make(run, token, "1");
    const view_landmarks m = find(l);
    assert_true(m.found && isfinite(m.lost) && m.lost > 0.0);
    l->settings.rate = m.lost;
    assert_near(find(l).spectral_radius, 1.0, 1e-9);
    l->settings.rate = 0.9 * m.lost;
    assert_true(find(l).spectral_radius < 0.999);
    view_landscape_release(l);
}

static void test_radius_at_landmarks(void **state)
{
    (void)state;
    check_radius(FLIPS, "1"); /* a flip */
    check_radius(FLIPS, "2"); /* a complex pair, below the rate of training */
    check_radius(TURNS, "0");
}

/* η = c I, γ = 1: c is told, and multipliers are real. */
static void test_scalar_eta(void **state)
{
    view_landscape *l = make(SCALAR, "1", "1");
    const view_landmarks m = find(l);
    (void)state;
    assert_near(m.eta, model_dynamics_scalar_eta(l->subject->run.m), 0.0);
    assert_int_equal(m.n_complex, 0);
    assert_string_equal(m.why, "");
    view_landscape_release(l);
}

/* ---- Orbit strip ----------------------------------------------------------------------------- */

/* A flip by which a token loses stability: at rest before, a 2-cycle behind. */
static void test_strip_across_a_flip(void **state)
{
    (void)state;
    for (int token = 0; token < 2; token++) {
        view_orbit *orbit = NULL;
        view_landscape *l = make(FLIPS, token == 0 ? "0" : "1", "1");
        const view_landmarks m = find(l);
        const view_orbit_options o = {
            .from = 0.9 * m.lost, .to = 1.1 * m.lost, .columns = 2, .settle = 2000};
        assert_near(m.lost, m.flip, 0.0);
        assert_int_equal(view_orbit_create(&orbit, l, &o, NULL), KERN_OK);
        assert_int_equal(orbit->period[0], 1);
        assert_int_equal(orbit->period[1], 2);
        assert_true(orbit->exponent[0] < 0.0 && orbit->exponent[1] < 0.0);
        const double *at = orbit->a;
        const double *flipped = orbit->a + orbit->values;
        assert_near(at[0], at[1], 1e-7);
        assert_near(flipped[0], flipped[2], 1e-7);
        assert_true(fabs(flipped[0] - flipped[1]) > 1e-4);
        view_orbit_destroy(orbit);
        view_landscape_release(l);
    }
}

/* The exponent is the logarithm of the landmarks' radius. */
static void test_exponent_is_the_radius(void **state)
{
    view_orbit *orbit = NULL;
    view_landscape *l = make(SCALAR, "2", "1");
    const view_orbit_options o = {.from = 1.0, .to = 1.0, .columns = 1, .settle = 1000};
    (void)state;
    assert_int_equal(view_orbit_create(&orbit, l, &o, NULL), KERN_OK);
    /* The tangent has had 200 steps to turn into its direction. */
    assert_near(orbit->exponent[0], log(find(l).spectral_radius), 1e-6);
    view_orbit_destroy(orbit);
    view_landscape_release(l);
}

/* ---- Basins ---------------------------------------------------------------------------------- */

/* Where the orbit of a place is after `steps`, as directions. */
static void follow(const view_token *t, double a, double b, size_t steps, double *z)
{
    const dyn_plane *plane = t->landscape->plane;
    double x[TOKENS * WIDTH_MOST];
    dyn_plane_point(plane, a, b, x);
    view_token_enter(t, x + t->index * plane->block_width, z);
    dyn_map_iterate(t->map, z, steps, z);
}

/* Places of one class come to one state, and those of two to two. 600 steps are four times those
 * to within a hundredth, so what is left of that is 1e-8. */
static void test_basins_are_where_orbits_go(void **state)
{
    enum { COLUMNS = 24, ROWS = 15, PLACES = COLUMNS * ROWS };
    view_basins *b = NULL;
    view_token t;
    view_landscape *l = make(SQUARE, "1", "1");
    double ends[PLACES][WIDTH_MOST];
    size_t pairs[2] = {0, 0};
    (void)state;
    assert_int_equal(view_basins_create(&b, l, COLUMNS, 1, NULL, NULL, NULL), KERN_OK);
    assert_int_equal(b->lattice.nx * b->lattice.ny, PLACES);
    assert_int_equal(view_token_init(&t, l, VIEW_TOKEN_ALONE, NULL, NULL, NULL), KERN_OK);
    for (size_t i = 0; i < PLACES; i++) {
        const viz_lattice *g = &b->lattice;
        const double column = (double)(i % COLUMNS) / (COLUMNS - 1);
        const double row = (double)(i / COLUMNS) / (ROWS - 1);
        follow(&t, g->x0 + column * (g->x1 - g->x0), g->y0 + row * (g->y1 - g->y0), 600, ends[i]);
    }
    for (size_t i = 0; i < PLACES; i++) {
        for (size_t k = 0; k < i; k++) {
            const bool same = b->labels[i] == b->labels[k];
            const double distance = dyn_map_distance(t.map, ends[i], ends[k]);
            assert_true(b->labels[i] > 0 && (same ? distance < 1e-6 : distance > 1e-3));
            pairs[same ? 1 : 0]++;
        }
    }
    assert_true(pairs[0] > 0 && pairs[1] > 0);
    view_token_fini(&t);
    view_basins_destroy(b);
    view_landscape_release(l);
}

/* A plane that moves all tokens has basins of all. */
static void test_basins_of_all_tokens(void **state)
{
    view_basins *b = NULL;
    view_landscape *l = make(SCALAR, "all", "1");
    (void)state;
    assert_int_equal(view_basins_create(&b, l, 8, 1, NULL, NULL, NULL), KERN_OK);
    assert_true(b->n_attractors >= 1);
    assert_int_equal(b->n_not_finite, 0);
    view_basins_destroy(b);
    view_landscape_release(l);
}

/* ---- States ---------------------------------------------------------------------------------- */

/* At the last step of training scales are those that are pinned, so the way out of the chart leads
 * back to the centre. */
static void test_states_come_back(void **state)
{
    view_token t;
    view_landscape *l = make(SCALAR, "1", "1");
    double x[WIDTH_MOST];
    (void)state;
    assert_int_equal(view_token_init(&t, l, VIEW_TOKEN_ALONE, NULL, NULL, NULL), KERN_OK);
    assert_true(t.chart && !t.whole);
    assert_string_equal(view_token_rate(&t), "rate");
    view_token_leave(&t, t.map->start, x);
    for (size_t i = 0; i < t.map->size; i++) {
        assert_near(x[i], l->plane->centre[t.map->size + i], 1e-13 * (1.0 + fabs(x[i])));
    }
    view_token_fini(&t);
    view_landscape_release(l);
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* A layer as training begins with it; variants differ in what a step is made of. */
static model *make_cem(unsigned variant)
{
    model_config c = model_config_default(MODEL_CEM);
    model *m = NULL;
    c.n_embed = WIDTH_MOST;
    c.n_head = 2;
    c.vocab_size = 7;
    c.block_size = TOKENS;
    c.n_layer = 1;
    c.n_hidden = 8;
    c.cem.mlp = (model_mlp)(variant % 2);
    c.cem.hist = (model_hist)(variant / 2 % 2);
    c.cem.norm = (model_place)(variant % 3);
    c.cem.confine = variant % 2 == 1 ? 0.3 : 0.0;
    kern_error err = {0};
    if (model_create(&m, &c, &kern_backend_cpu_f64, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(model_init_values(m, 1 + variant, NULL), KERN_OK);
    return m;
}

/* A token of a layer's part alone steps as the whole part does around it. */
static void check_layer(unsigned variant, model_layer_part part)
{
    model *m = make_cem(variant);
    double h[TOKENS * WIDTH_MOST];
    double own[WIDTH_MOST];
    double frozen[WIDTH_MOST];
    view_subject subject = {.n = TOKENS, .run = {.m = m}, .h = h, .part = part};
    view_landscape l = {.subject = &subject, .token = 1};
    view_token t;
    dyn_map *held = NULL;
    for (size_t i = 0; i < TOKENS * m->config.n_embed; i++) {
        h[i] = sin(1.0 + 2.3 * (double)i + (double)variant);
    }
    assert_int_equal(model_layer_map_create_at(&subject.map, m, 0, part, h, TOKENS, NULL), KERN_OK);
    const dyn_plane_frame frame = {.block_count = TOKENS,
                                   .block_width = m->config.n_embed,
                                   .gauge = subject.map->gauge,
                                   .centre = subject.map->start};
    assert_int_equal(dyn_plane_create(&l.plane, &frame, NULL), KERN_OK);
    assert_int_equal(view_token_init(&t, &l, VIEW_TOKEN_ALONE, NULL, NULL, NULL), KERN_OK);
    assert_int_equal(dyn_frozen_create(&held, subject.map, 1, l.plane->centre, NULL), KERN_OK);
    assert_true(t.chart == (subject.map->gauge != DYN_GAUGE_NONE));
    dyn_map *inner = t.chart ? dyn_chart_inner(t.map) : t.map;
    memcpy(own, held->start, held->size * sizeof *own);
    memcpy(frozen, own, sizeof own);
    for (size_t step = 0; step < 3; step++) {
        inner->kind->step(inner, own, own);
        held->kind->step(held, frozen, frozen);
        for (size_t i = 0; i < held->size; i++) {
            assert_near(own[i], frozen[i], 1e-12 * (1.0 + fabs(frozen[i])));
        }
    }
    dyn_map_destroy(held);
    view_token_fini(&t);
    dyn_plane_destroy(l.plane);
    dyn_map_destroy(subject.map);
    model_destroy(m);
}

static void test_tokens_of_layers(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 6; variant++) {
        check_layer(variant, MODEL_LAYER_ATTN);
        check_layer(variant, MODEL_LAYER_FFN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_landmarks_of_the_first_token),
        cmocka_unit_test(test_radius_at_landmarks),
        cmocka_unit_test(test_scalar_eta),
        cmocka_unit_test(test_strip_across_a_flip),
        cmocka_unit_test(test_exponent_is_the_radius),
        cmocka_unit_test(test_basins_are_where_orbits_go),
        cmocka_unit_test(test_basins_of_all_tokens),
        cmocka_unit_test(test_states_come_back),
        cmocka_unit_test(test_tokens_of_layers),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
