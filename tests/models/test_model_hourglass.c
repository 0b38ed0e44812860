/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The hourglass against numbers worked out by independent code, against the conventional
 * feed-forward part that it must be in two limits, and its Jacobian against differences, full
 * matrices and the identities it obeys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "dyn/dyn_map.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "models/model_hourglass_dynamics.h"
#include "models/model_layer_map.h"
#include "tests/models/model_test_sines.h"

/* The numbers have twelve decimals. */
#define GOLDEN 1e-11

enum { D = 6, H = 3, K = 2 };

static model_config sine_config(void)
{
    model_config c = model_config_default(MODEL_HOURGLASS);
    c.n_embed = D;
    c.n_head = 1;
    c.vocab_size = 3;
    c.block_size = 4;
    c.n_layer = 1;
    c.n_hidden = H;
    c.hourglass.k = K;
    return c;
}

static void set_matrix(model *m, size_t k, const char *word, size_t rows, size_t cols, double scale,
                       double a, double b, double start, bool cosine)
{
    char name[64];
    (void)snprintf(name, sizeof name, "layers.0.hg.%zu.%s", k, word);
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++) {
            const double angle = start + a * (double)i + b * (double)j;
            model_value_set(m, p->offset + i * cols + j,
                            scale * (cosine ? cos(angle) : sin(angle)));
        }
    }
}

static model *sine_model(const model_config *c)
{
    model *m = NULL;
    TEST_OK(model_create(&m, c, &kern_backend_cpu_f64, test_err));
    TEST_OK(model_init_values(m, 1, test_err));
    for (size_t k = 0; k < K; k++) {
        const double q = (double)k + 1;
        set_matrix(m, k, "w_gate", H, D, 0.5, 1.3, 0.9, 0.7 * q, false);
        set_matrix(m, k, "w_up", H, D, 0.5, 0.8, 1.1, 0.4 * q, true);
        set_matrix(m, k, "w_down", D, H, 0.5, 0.6, 1.7, 0.2 * q, false);
    }
    return m;
}

static void sine_state(double *x)
{
    for (size_t j = 0; j < D; j++) {
        x[j] = cos(0.5 * (double)j) + 0.1 * (double)j;
    }
}

/* The feed-forward part of layer 0 at `tokens` rows x. */
static void run_part(const model *m, const double *x, size_t tokens, double *y)
{
    test_part p;
    test_part_begin(&p, m, tokens);
    const kern_value out = test_part_keep(
        &p, model_sublayer_get(&m->config, MODEL_LAYER_FFN)->build(&p.b, 0, p.input));
    test_part_run(&p, x);
    memcpy(y, test_part_value(&p, out), tokens * m->config.n_embed * sizeof *y);
    test_part_end(&p);
}

static void test_sine_vectors(void **state)
{
    static const struct {
        model_sandglass norm;
        bool parallel;
        double y[D];
    } rows[] = {
        {MODEL_SANDGLASS_A,
         false,
         {0.780521269219, 0.428350269271, 0.053179092734, -0.214245024974, -0.294636954886,
          -0.175857015036}},
        {MODEL_SANDGLASS_B,
         false,
         {0.799636594816, 0.495355316835, 0.144667071404, -0.130233498273, -0.247449523458,
          -0.181977606269}},
        {MODEL_SANDGLASS_C,
         false,
         {2.267032548445, 1.865337208810, 1.126322323402, 0.307375550860, -0.340500281408,
          -0.630553916312}},
        {MODEL_SANDGLASS_D,
         false,
         {1.527397846424, 0.970530499642, 0.201263823180, -0.511986051223, -0.934194231298,
          -0.933814784782}},
        {MODEL_SANDGLASS_A,
         true,
         {0.796371789797, 0.416258027225, 0.017368256108, -0.261264700663, -0.336440144155,
          -0.197840661189}},
    };
    double x[D];
    double y[D];
    (void)state;
    sine_state(x);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        model_config c = sine_config();
        c.hourglass.norm = rows[i].norm;
        c.hourglass.parallel = rows[i].parallel;
        model *m = sine_model(&c);
        run_part(m, x, 1, y);
        assert_true(test_distance(y, rows[i].y, D) <= GOLDEN);
        model_destroy(m);
    }
}

static void test_sine_sub_steps(void **state)
{
    static const double first[D] = {-0.150649851625, -0.268026411026, -0.291773633887,
                                    -0.213595932052, -0.060803025957, 0.113230126418};
    static const double determinants[K] = {-1.247793674275, -0.121813385550};
    double x[D];
    double f[D];
    (void)state;
    const model_config c = sine_config();
    model *m = sine_model(&c);
    sine_state(x);
    for (size_t k = 0; k < K; k++) {
        model_sub *s = NULL;
        double value;
        TEST_OK(model_sub_create(&s, m, 0, k, test_err));
        TEST_OK(model_sub_log_abs_det(s, x, &value, test_err));
        assert_true(fabs(value - determinants[k]) <= GOLDEN);
        model_sub_evaluate(s, x, f, NULL, NULL);
        assert_true(k > 0 || test_distance(f, first, D) <= GOLDEN);
        for (size_t j = 0; j < D; j++) {
            x[j] += f[j];
        }
        model_sub_destroy(s);
    }
    model_destroy(m);
}

/* ---- limits -----------------------------------------------------------------------------------
 */

enum { WIDE = 10, TOKENS = 5, NUMBERS = TOKENS * WIDE };

static model_config wide_config(model_family family)
{
    model_config c = model_config_default(family);
    c.n_embed = WIDE;
    c.n_head = 1;
    c.vocab_size = 7;
    c.block_size = TOKENS;
    c.n_layer = 2;
    c.n_hidden = 9;
    return c;
}

static void tie_projections(model *llama, const model *hourglass)
{
    static const char *const words[] = {"w_gate", "w_up", "w_down"};
    for (size_t i = 0; i < 3; i++) {
        char name[64];
        char source[64];
        (void)snprintf(name, sizeof name, "layers.0.mlp.%s", words[i]);
        (void)snprintf(source, sizeof source, "layers.0.hg.0.%s", words[i]);
        test_tie(llama, name, hourglass, source, false);
    }
}

/* One sub-MLP of the full width is the conventional part, bit for bit. */
static void test_one_sub_is_conventional(void **state)
{
    (void)state;
    model_config c = wide_config(MODEL_HOURGLASS);
    c.hourglass.k = 1;
    const model_config plain = wide_config(MODEL_LLAMA);
    model *hourglass = test_model(&c, 0.5, 3);
    model *llama = test_model(&plain, 0.5, 70);
    double *x = test_normals(NUMBERS, 1.0, 1);
    double y[2][NUMBERS];
    tie_projections(llama, hourglass);
    test_tie(llama, "layers.0.norm2", hourglass, "layers.0.hg.0.norm", false);
    run_part(hourglass, x, TOKENS, y[0]);
    run_part(llama, x, TOKENS, y[1]);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    free(x);
    model_destroy(hourglass);
    model_destroy(llama);
}

/* Sub-MLPs that read the same input through a shared gain are the rows of one layer of width Σ d_h;
 * here of 4, 3 and 2. */
static void test_parallel_is_one_wide_layer(void **state)
{
    (void)state;
    model_config c = wide_config(MODEL_HOURGLASS);
    c.hourglass.k = 3;
    c.hourglass.gain = MODEL_GAIN_SHARED;
    c.hourglass.parallel = true;
    c.hourglass.widths = (model_widths){.count = 3, .at = {4, 3, 2}};
    const model_config plain = wide_config(MODEL_LLAMA);
    model *hourglass = test_model(&c, 0.5, 3);
    model *llama = test_model(&plain, 0.5, 70);
    double *x = test_normals(NUMBERS, 1.0, 1);
    double y[2][NUMBERS];
    test_tie(llama, "layers.0.norm2", hourglass, "layers.0.hg.norm", false);
    const model_param *gate = model_params_find(&llama->params, "layers.0.mlp.w_gate");
    const model_param *up = model_params_find(&llama->params, "layers.0.mlp.w_up");
    const model_param *down = model_params_find(&llama->params, "layers.0.mlp.w_down");
    size_t unit = 0;
    for (size_t k = 0; k < 3; k++) {
        model_sub *s = NULL;
        char name[64];
        TEST_OK(model_sub_create(&s, hourglass, 0, k, test_err));
        const size_t hidden = model_sub_hidden(s);
        assert_int_equal(hidden, 4 - k);
        (void)snprintf(name, sizeof name, "layers.0.hg.%zu.w_gate", k);
        const size_t from = model_params_find(&hourglass->params, name)->offset;
        (void)snprintf(name, sizeof name, "layers.0.hg.%zu.w_up", k);
        const size_t from_up = model_params_find(&hourglass->params, name)->offset;
        (void)snprintf(name, sizeof name, "layers.0.hg.%zu.w_down", k);
        const size_t from_down = model_params_find(&hourglass->params, name)->offset;
        for (size_t i = 0; i < hidden * WIDE; i++) {
            const size_t row = i / WIDE;
            const size_t col = i % WIDE;
            model_value_set(llama, gate->offset + unit * WIDE + i,
                            model_value_get(hourglass, from + i));
            model_value_set(llama, up->offset + unit * WIDE + i,
                            model_value_get(hourglass, from_up + i));
            model_value_set(llama, down->offset + col * 9 + unit + row,
                            model_value_get(hourglass, from_down + col * hidden + row));
        }
        unit += hidden;
        model_sub_destroy(s);
    }
    run_part(hourglass, x, TOKENS, y[0]);
    run_part(llama, x, TOKENS, y[1]);
    /* Sums of ten and nine terms of about one in another order: a few roundings of the result. */
    for (size_t i = 0; i < NUMBERS; i++) {
        assert_true(fabs(y[0][i] - y[1][i]) <= 1e-14 * (1 + fabs(y[1][i])));
    }
    free(x);
    model_destroy(hourglass);
    model_destroy(llama);
}

/* ---- Jacobians --------------------------------------------------------------------------------
 */

static model_config variant(unsigned i)
{
    model_config c = wide_config(MODEL_HOURGLASS);
    c.hourglass.norm = (model_sandglass)(i % 4);
    c.hourglass.gain = (model_gain)(i / 4 % 3);
    c.hourglass.alpha = i % 3 == 0 ? 1.0 : 0.7;
    c.hourglass.k = 3;
    c.n_hidden = 4;
    c.hourglass.widths =
        i % 3 == 1 ? (model_widths){.count = 6, .at = {5, 3, 2, 1, 12, 2}} : (model_widths){0};
    return c;
}

static void full_jacobian(model_sub *s, const double *h, double *j)
{
    const size_t r = model_sub_hidden(s);
    double f[WIDE];
    double *u = test_zeros(WIDE * r, sizeof *u);
    double *c = test_zeros(WIDE * r, sizeof *c);
    model_sub_evaluate(s, h, f, u, c);
    for (size_t a = 0; a < WIDE; a++) {
        for (size_t b = 0; b < WIDE; b++) {
            j[a * WIDE + b] = a == b ? 1 : 0;
            for (size_t i = 0; i < r; i++) {
                j[a * WIDE + b] += u[a * r + i] * c[i * WIDE + b];
            }
        }
    }
    free(u);
    free(c);
}

/* Differences over ±h and ±h/2 leave an error of h⁴ and of a rounding over h. */
static void check_differences(model_sub *s, const double *h, const double *j)
{
    const double step = 2e-4;
    for (size_t b = 0; b < WIDE; b++) {
        double f[4][WIDE];
        for (int side = 0; side < 4; side++) {
            double x[WIDE];
            memcpy(x, h, sizeof x);
            x[b] += (side % 2 == 0 ? step : -step) * (side < 2 ? 1 : 0.5);
            model_sub_evaluate(s, x, f[side], NULL, NULL);
        }
        for (size_t a = 0; a < WIDE; a++) {
            const double slope =
                (8 * (f[2][a] - f[3][a]) - (f[0][a] - f[1][a])) / (6 * step) + (a == b ? 1 : 0);
            assert_true(fabs(slope - j[a * WIDE + b]) <= 1e-9);
        }
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Moduli of the multipliers of J: those of I + M and ones, against those of the full matrix. */
static void check_multipliers(model_sub *s, const double *h, const double *j)
{
    const size_t r = model_sub_hidden(s);
    double full[WIDE * WIDE];
    double re[2][2 * WIDE];
    double im[2][2 * WIDE];
    double moduli[2][2 * WIDE];
    double sum = 0;
    double value;
    memcpy(full, j, sizeof full);
    TEST_OK(kern_lapack_eigenvalues(WIDE, full, re[0], im[0], test_err));
    TEST_OK(model_sub_multipliers(s, h, re[1], im[1], test_err));
    const size_t n = r > WIDE ? r : WIDE;
    for (size_t i = 0; i < n; i++) {
        moduli[0][i] = i < WIDE ? hypot(re[0][i], im[0][i]) : 1;
        moduli[1][i] = i < r ? hypot(re[1][i], im[1][i]) : 1;
        sum += log(moduli[0][i]);
    }
    qsort(moduli[0], n, sizeof(double), by_size);
    qsort(moduli[1], n, sizeof(double), by_size);
    /* 1 is an eigenvalue of high multiplicity, but a semisimple one: the matrix is I + low rank. */
    assert_true(test_distance(moduli[0], moduli[1], n) <= 1e-9);
    TEST_OK(model_sub_log_abs_det(s, h, &value, test_err));
    assert_true(fabs(value - sum) <= 1e-9);
}

static void test_jacobians(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        const model_config c = variant(i);
        model *m = test_model(&c, 0.5, 30 + i);
        double *h = test_normals(WIDE, 1.0, i);
        double j[WIDE * WIDE];
        for (size_t k = 0; k < 3; k++) {
            model_sub *s = NULL;
            TEST_OK(model_sub_create(&s, m, 1, k, test_err));
            full_jacobian(s, h, j);
            check_differences(s, h, j);
            check_multipliers(s, h, j);
            model_sub_destroy(s);
        }
        free(h);
        model_destroy(m);
    }
}

/* J h = h when the norm has no ε, wᵀh is kept for w ⟂ col U, and J − I has the rank of the
 * bottleneck. */
static void test_invariants(void **state)
{
    (void)state;
    model_config c = wide_config(MODEL_HOURGLASS);
    c.hourglass.k = 2;
    c.n_hidden = 4;
    c.norm_eps = 0;
    model *m = test_model(&c, 0.5, 8);
    double *h = test_normals(WIDE, 1.0, 2);
    double *w = test_normals(WIDE, 1.0, 3);
    double f[WIDE];
    double u[WIDE * 4];
    double cc[WIDE * 4];
    double j[WIDE * WIDE];
    double singular[WIDE];
    model_sub *s = NULL;
    TEST_OK(model_sub_create(&s, m, 0, 1, test_err));
    full_jacobian(s, h, j);
    model_sub_evaluate(s, h, f, u, cc);
    for (size_t a = 0; a < WIDE; a++) {
        assert_true(fabs(test_dot(j + a * WIDE, h, WIDE) - h[a]) <= 1e-13);
        j[a * WIDE + a] -= 1;
    }
    /* w minus its part in the span of U's columns, made orthonormal one after another. */
    for (size_t i = 0; i < 4; i++) {
        double q[WIDE];
        for (size_t a = 0; a < WIDE; a++) {
            q[a] = u[a * 4 + i];
        }
        for (size_t l = 0; l < 2 * i; l++) {
            double other[WIDE];
            for (size_t a = 0; a < WIDE; a++) {
                other[a] = u[a * 4 + l % i];
            }
            const double along = test_dot(other, q, WIDE);
            for (size_t a = 0; a < WIDE; a++) {
                q[a] -= along * other[a];
            }
        }
        const double size = sqrt(test_dot(q, q, WIDE));
        const double along = test_dot(q, w, WIDE) / size;
        for (size_t a = 0; a < WIDE; a++) {
            u[a * 4 + i] = q[a] / size;
            w[a] -= along * q[a] / size;
        }
    }
    assert_true(fabs(test_dot(w, f, WIDE)) <= 1e-13);
    assert_true(sqrt(test_dot(w, w, WIDE)) >= 0.1);
    TEST_OK(kern_lapack_singular_values(WIDE, WIDE, j, singular, test_err));
    assert_true(singular[3] >= 1e-3 && singular[4] <= 1e-13);
    model_sub_destroy(s);
    free(h);
    free(w);
    model_destroy(m);
}

/* ---- the part as a map, and its report ----------------------------------------------------------
 */

/* The map's products agree with each other and with the sub-MLPs'; its determinant is their sum. */
static void test_map_and_report(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        const model_config c = variant(i);
        model *m = test_model(&c, 0.4, 60 + i);
        double *h = test_normals(NUMBERS, 1.0, i);
        double *v = test_normals(NUMBERS, 1.0, 50 + i);
        double *w = test_normals(NUMBERS, 1.0, 90 + i);
        double y[NUMBERS];
        double jv[NUMBERS];
        double jtw[NUMBERS];
        dyn_map *map = NULL;
        model_hourglass_report report;
        TEST_OK(model_layer_map_create_at(&map, m, 1, MODEL_LAYER_FFN, h, TOKENS, test_err));
        assert_memory_equal(map->start, h, sizeof y);
        map->kind->jvp(map, h, v, y, jv);
        map->kind->vjp(map, h, w, jtw);
        const double left = test_dot(w, jv, NUMBERS);
        assert_true(fabs(left - test_dot(jtw, v, NUMBERS)) <= 1e-12 * (1 + fabs(left)));
        TEST_OK(model_hourglass_diagnose(m, 1, h, 1, &report, test_err));
        assert_int_equal(report.k, 3);
        assert_true(report.parallel_gap > 1e-3);
        if (c.hourglass.norm == MODEL_SANDGLASS_A || c.hourglass.norm == MODEL_SANDGLASS_D) {
            double block[WIDE * WIDE];
            double e[NUMBERS] = {0};
            double value;
            int pivots[WIDE];
            for (size_t b = 0; b < WIDE; b++) {
                e[b] = 1;
                map->kind->jvp(map, h, e, NULL, jv);
                e[b] = 0;
                for (size_t a = 0; a < WIDE; a++) {
                    block[a * WIDE + b] = jv[a];
                }
            }
            TEST_OK(kern_lapack_lu(WIDE, block, pivots, &value, test_err));
            assert_true(fabs(value - report.log_abs_det) <= 1e-10);
        }
        model_hourglass_report_fini(&report);
        dyn_map_destroy(map);
        free(h);
        free(v);
        free(w);
        model_destroy(m);
    }
}

/* ‖J‖_F and ‖A‖_F from full matrices, and the gap, which one sub-MLP does not have. */
static void test_report_of_one_token(void **state)
{
    (void)state;
    model_config c = wide_config(MODEL_HOURGLASS);
    c.hourglass.k = 1;
    c.n_hidden = 4;
    model *m = test_model(&c, 0.6, 5);
    double *h = test_normals(WIDE, 1.0, 6);
    double next[WIDE];
    double j[WIDE * WIDE];
    double a[WIDE * WIDE];
    double square = 0;
    double angular = 0;
    model_sub *s = NULL;
    model_hourglass_report report;
    TEST_OK(model_sub_create(&s, m, 0, 0, test_err));
    full_jacobian(s, h, j);
    model_sub_evaluate(s, h, next, NULL, NULL);
    const double moved = sqrt(test_dot(next, next, WIDE));
    for (size_t i = 0; i < WIDE; i++) {
        next[i] += h[i];
    }
    const double size = test_dot(h, h, WIDE);
    const double grown = test_dot(next, next, WIDE);
    for (size_t i = 0; i < WIDE; i++) { /* J (I − ĥĥᵀ) */
        const double along = test_dot(j + i * WIDE, h, WIDE) / size;
        for (size_t k = 0; k < WIDE; k++) {
            a[i * WIDE + k] = j[i * WIDE + k] - along * h[k];
            square += j[i * WIDE + k] * j[i * WIDE + k];
        }
    }
    for (size_t k = 0; k < WIDE; k++) { /* (I − ĥ′ĥ′ᵀ) of that */
        double along = 0;
        for (size_t i = 0; i < WIDE; i++) {
            along += next[i] * a[i * WIDE + k] / grown;
        }
        for (size_t i = 0; i < WIDE; i++) {
            const double entry = a[i * WIDE + k] - along * next[i];
            angular += entry * entry * size / grown;
        }
    }
    TEST_OK(model_hourglass_diagnose(m, 0, h, 1, &report, test_err));
    assert_true(fabs(report.subs[0].gain - sqrt(square / WIDE)) <= 1e-12);
    assert_true(fabs(report.subs[0].angular_gain - sqrt(angular / (WIDE - 1))) <= 1e-12);
    assert_true(fabs(report.subs[0].relative_step - moved / sqrt(size)) <= 1e-13);
    assert_true(fabs(report.subs[0].log_growth - 0.5 * log(grown / size)) <= 1e-13);
    assert_true(report.parallel_gap <= 1e-14);
    assert_true(isnan(report.subs[0].turn));
    assert_true(fabs(report.coverage - 0.4) <= 1e-15);
    assert_int_equal(report.conserved, 6);
    model_hourglass_report_fini(&report);
    model_sub_destroy(s);
    free(h);
    model_destroy(m);
}

static void test_refusals(void **state)
{
    (void)state;
    const model_config plain = wide_config(MODEL_LLAMA);
    const model_config c = wide_config(MODEL_HOURGLASS);
    model *llama = test_model(&plain, 0.5, 1);
    model *m = test_model(&c, 0.5, 1);
    model_sub *s = NULL;
    kern_error err = {0};
    assert_int_equal(model_sub_create(&s, llama, 0, 0, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "family llama has no hourglass"));
    assert_int_equal(model_sub_create(&s, m, 0, 4, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "sub-MLP 4 of layer 0 is not within 0 to 3 of 0 to 1"));
    assert_int_equal(model_sub_create(&s, m, 2, 0, &err), KERN_INVALID_ARGUMENT);
    assert_null(s);
    model_destroy(llama);
    model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sine_vectors),
        cmocka_unit_test(test_sine_sub_steps),
        cmocka_unit_test(test_one_sub_is_conventional),
        cmocka_unit_test(test_parallel_is_one_wide_layer),
        cmocka_unit_test(test_jacobians),
        cmocka_unit_test(test_invariants),
        cmocka_unit_test(test_map_and_report),
        cmocka_unit_test(test_report_of_one_token),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
