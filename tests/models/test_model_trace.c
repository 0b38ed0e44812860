/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Traces of random models against what theory says of them: the self part of an exact update, the
 * order of what is left over, the token that can only descend; then the file, and refusals.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_hdf5.h"
#include "models/model_trace.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_graph.h"

enum { D = 7, N = 6, V = 11, STEPS = 9 };

static model_config tiny(void)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = D;
    c.n_head = 2;
    c.vocab_size = V;
    c.block_size = N + 1;
    c.n_layer = 4;
    c.ff_hid_factor = 2;
    c.update = MODEL_UPDATE_EXACT;
    c.eta = MODEL_ETA_GAMMA;
    return c;
}

static void set_scalar(model *m, const char *name, double value)
{
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    model_value_set(m, p->offset, value);
}

/* A trace of a random prompt. */
static model_trace *trace_of(const model *m, size_t steps, uint64_t seed)
{
    int32_t *ids = test_ids(N, V, seed);
    model_trace *t = NULL;
    TEST_OK(model_trace_create(&t, m, ids, N, steps, test_err));
    free(ids);
    assert_int_equal(t->tokens, N);
    assert_int_equal(t->steps, steps);
    assert_int_equal(t->width, D);
    return t;
}

/* wᵀPw and |Pw|² with P = I − [11ᵀ/D] − x̂x̂ᵀ/D written out as a matrix. */
static void projected(const double *w, const double *x, bool centred, double epsilon, double *wpw,
                      double *square)
{
    double hat[D];
    double mean = 0;
    double variance = 0;
    for (size_t i = 0; centred && i < D; i++) {
        mean += x[i] / D;
    }
    for (size_t i = 0; i < D; i++) {
        variance += (x[i] - mean) * (x[i] - mean) / D;
    }
    for (size_t i = 0; i < D; i++) {
        hat[i] = (x[i] - mean) / sqrt(variance + epsilon);
    }
    *wpw = 0;
    *square = 0;
    for (size_t i = 0; i < D; i++) {
        double row = 0;
        for (size_t j = 0; j < D; j++) {
            const double p = (i == j) - (centred ? 1.0 / D : 0.0) - hat[i] * hat[j] / D;
            row += p * w[j];
        }
        *wpw += w[i] * row;
        *square += row * row;
    }
}

/* Γv of token a at state k from the move Δx = −cΓv. */
static void gradient_of_move(const model_trace *t, size_t a, size_t k, double c, double *w)
{
    const double *x = t->x + (a * (t->steps + 1) + k) * D;
    for (size_t i = 0; i < D; i++) {
        w[i] = -(x[D + i] - x[i]) / c;
    }
}

/* With η = cΓ the self part is −(c/σ) wᵀPw, w = Γv, for every ε; and |PΓv| is what is reported. */
static void check_self(const model_config *config, double c, uint64_t seed)
{
    model *m = test_model(config, 0.4, seed);
    set_scalar(m, "blocks.eta", c);
    model_trace *t = trace_of(m, STEPS, seed);
    for (size_t a = 0; a < N; a++) {
        for (size_t k = 0; k < STEPS; k++) {
            const size_t at = a * (STEPS + 1) + k;
            double w[D];
            double wpw;
            double square;
            gradient_of_move(t, a, k, c, w);
            projected(w, t->x + at * D, config->norm == MODEL_LAYERNORM, config->norm_eps, &wpw,
                      &square);
            const double expected = -c / t->sigma[at] * wpw;
            const double size = c / t->sigma[at] * test_dot(w, w, D);
            assert_true(fabs(t->self_change[a * STEPS + k] - expected) <= 1e-12 * size);
            assert_true(t->self_change[a * STEPS + k] <= 1e-15 * size);
            assert_true(fabs(t->gradient_norm[at] * t->gradient_norm[at] - square) <=
                        1e-12 * test_dot(w, w, D));
            /* At ε = 0, P is a projector and the two are one. */
            if (config->norm_eps <= 0.0) {
                assert_true(fabs(wpw - square) <= 1e-12 * test_dot(w, w, D));
            }
        }
    }
    model_trace_destroy(t);
    model_destroy(m);
}

static void test_self_part_of_an_exact_update(void **state)
{
    (void)state;
    static const double epsilons[] = {0.0, 1e-5, 0.3};
    for (size_t i = 0; i < 12; i++) {
        model_config config = tiny();
        config.norm = (model_norm)(i % 2);
        config.norm_eps = epsilons[i / 2 % 3];
        config.strict_mask = i < 6;
        config.ff = (model_ff)(i % 3);
        config.gamma_trained = true;
        check_self(&config, 0.05, 10 * i + 1);
    }
}

/* max over tokens of |actual − self − cross| at the first step. */
static double remainder_of(const model_config *config, double c, uint64_t seed)
{
    model *m = test_model(config, 0.4, seed);
    const model_param *eta = model_params_find(
        &m->params, config->eta == MODEL_ETA_FULL ? "blocks.proj.weight" : "blocks.eta");
    for (size_t i = 0; i < model_param_size(eta); i++) {
        const double start =
            config->eta == MODEL_ETA_FULL ? model_value_get(m, eta->offset + i) : 1;
        model_value_set(m, eta->offset + i, c * start);
    }
    model_trace *t = trace_of(m, 1, seed);
    double largest = 0;
    for (size_t a = 0; a < N; a++) {
        largest = fmax(largest, fabs(t->actual_change[a] - t->self_change[a] - t->cross_change[a]));
    }
    model_trace_destroy(t);
    model_destroy(m);
    return largest;
}

/* For every update and η, since no gradient is assumed: what is left is of second order. */
static void test_what_is_left_is_second_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        model_config config = tiny();
        config.norm = (model_norm)(i % 2);
        config.strict_mask = i / 2 % 2 == 0;
        config.update = (model_update)(i / 4 % 2);
        config.ff = (model_ff)(i % 3);
        config.eta = i % 3 == 0 ? MODEL_ETA_FULL : MODEL_ETA_GAMMA;
        const double large = remainder_of(&config, 1e-3, i);
        const double small = remainder_of(&config, 1e-4, i);
        const double order = log10(large / small);
        if (!(order > 1.8 && order < 2.2)) {
            fail_msg("case %zu: %g shrinks to %g, order %g", i, large, small, order);
        }
    }
}

/* The first token attends nothing under the strict mask; a concave energy then falls for any step.
 */
static void test_the_first_token_never_rises(void **state)
{
    static const double steps[] = {1e-2, 0.3, 2.0, 50.0, 1e4};
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        model_config config = tiny();
        config.ff = MODEL_FF1;
        config.activation = i / 10 == 0 ? MODEL_RELU : MODEL_SOFTPLUS;
        config.norm = (model_norm)(i / 5 % 2);
        model *m = test_model(&config, 0.5, i);
        set_scalar(m, "blocks.eta", steps[i % 5]);
        set_scalar(m, "blocks.scale_ff", 0.8);
        model_trace *t = trace_of(m, STEPS, i);
        bool moves = false;
        for (size_t k = 0; k < STEPS; k++) {
            assert_false(t->rising[k]);
            assert_true(t->energy_attn[k] == 0.0);
            moves = moves || t->actual_change[k] < -1e-9;
        }
        assert_true(moves);
        model_trace_destroy(t);
        model_destroy(m);
    }
}

/* Attention alone under the strict mask is concave too, and the last token falls while its prefix
 * rests: here the first step of a prompt whose prefix cannot move, since it is made of one token.
 */
static void test_attention_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        model_config config = tiny();
        const int32_t ids[] = {3, 7};
        model *m = test_model(&config, 0.5, 40 + i);
        model_trace *t = NULL;
        set_scalar(m, "blocks.eta", 0.1 * pow(10.0, (double)i));
        set_scalar(m, "blocks.scale_ff", 0.0);
        TEST_OK(model_trace_create(&t, m, ids, 2, STEPS, test_err));
        for (size_t k = 0; k < STEPS; k++) {
            assert_true(t->energy[k] == 0.0 && !t->rising[k] && t->cross_change[k] == 0.0);
            assert_false(
                t->rising[STEPS + k]); /* token 0 feels nothing, so token 1's prefix rests */
        }
        assert_true(t->actual_change[STEPS] < 0);
        assert_int_equal(t->n_rising, 0);
        assert_true(model_trace_rising_fraction(t) == 0.0);
        model_trace_destroy(t);
        model_destroy(m);
    }
}

/* Energies add up, changes are their differences, and the count is the count of marks; a model in
 * single precision is traced in double. */
static void test_bookkeeping(void **state)
{
    (void)state;
    const model_config config = tiny();
    model *m = test_model(&config, 0.6, 77);
    model *single = NULL;
    size_t rising = 0;
    set_scalar(m, "blocks.eta", 3.0);
    TEST_OK(model_convert(&single, m, &kern_backend_cpu_f32, test_err));
    model_trace *t = trace_of(single, STEPS, 5);
    for (size_t a = 0; a < N; a++) {
        for (size_t k = 0; k <= STEPS; k++) {
            const size_t at = a * (STEPS + 1) + k;
            assert_true(t->energy[at] == t->energy_attn[at] + t->energy_ff[at]);
            if (k < STEPS) {
                const double change = t->energy[at + 1] - t->energy[at];
                assert_true(t->actual_change[a * STEPS + k] == change);
                assert_true(t->rising[a * STEPS + k] ? change > 0 : change < 1e-9);
                rising += t->rising[a * STEPS + k];
            }
        }
    }
    assert_int_equal(t->n_rising, rising);
    assert_true(rising > 0 && rising < N * STEPS);
    assert_true(model_trace_rising_fraction(t) == (double)rising / (N * STEPS));
    assert_int_equal(t->trained_steps, 4);
    const double s =
        model_value_get(single, model_params_find(&single->params, "blocks.scale_ff")->offset);
    assert_true(t->scale_ff == s);
    model_trace_destroy(t);
    model_destroy(single);
    model_destroy(m);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void compare(const model_hdf5_reader *r, const char *name, const double *values, size_t n)
{
    double *read = test_zeros(n, sizeof *read);
    TEST_OK(model_hdf5_read_doubles(r, name, read, n, test_err));
    assert_memory_equal(read, values, n * sizeof *read);
    free(read);
}

static void compare_file(const model_trace *t, const char *path, bool with_states)
{
    model_hdf5_reader *r = NULL;
    int64_t rising[N * STEPS];
    int64_t steps;
    double number;
    char *text;
    char **tokens;
    TEST_OK(model_hdf5_reader_create(&r, path, test_err));
    compare(r, "energy/attention", t->energy_attn, N * (STEPS + 1));
    compare(r, "energy/feed_forward", t->energy_ff, N * (STEPS + 1));
    compare(r, "energy/total", t->energy, N * (STEPS + 1));
    compare(r, "sigma", t->sigma, N * (STEPS + 1));
    compare(r, "gradient_norm", t->gradient_norm, N * (STEPS + 1));
    compare(r, "change/self", t->self_change, N * STEPS);
    compare(r, "change/cross", t->cross_change, N * STEPS);
    compare(r, "change/actual", t->actual_change, N * STEPS);
    compare(r, "g", t->g, N * (STEPS + 1) * D);
    assert_int_equal(model_hdf5_has(r, "x"), with_states);
    if (with_states) {
        compare(r, "x", t->x, N * (STEPS + 1) * D);
    }
    TEST_OK(model_hdf5_read_int64s(r, "rising", rising, N * STEPS, test_err));
    for (size_t i = 0; i < N * STEPS; i++) {
        assert_int_equal(rising[i], t->rising[i]);
    }
    TEST_OK(model_hdf5_read_strings(r, "tokens", &tokens, N, test_err));
    assert_string_equal(tokens[1], "β");
    free(tokens);
    TEST_OK(model_hdf5_read_attr_string(r, "/", "format", &text, test_err));
    assert_string_equal(text, "basin-trace-1");
    free(text);
    TEST_OK(model_hdf5_read_attr_string(r, "/", "prompt", &text, test_err));
    assert_string_equal(text, "a prompt");
    free(text);
    TEST_OK(model_hdf5_read_attr_int64(r, "/", "steps", &steps, test_err));
    assert_int_equal(steps, STEPS);
    TEST_OK(model_hdf5_read_attr_doubles(r, "/", "scale_ff", &number, 1, test_err));
    assert_true(number == t->scale_ff);
    TEST_OK(model_hdf5_read_attr_doubles(r, "/", "rising_fraction", &number, 1, test_err));
    assert_true(number == model_trace_rising_fraction(t));
    model_hdf5_reader_destroy(r);
}

static void test_the_file_holds_the_arrays(void **state)
{
    (void)state;
    static const char *const tokens[N] = {"a", "β", "c", "d", "e", "<eos>"};
    const model_config config = tiny();
    model *m = test_model(&config, 0.6, 78);
    model_trace *t = trace_of(m, STEPS, 5);
    model_trace_labels labels = {
        .tokens = tokens, .prompt = "a prompt", .recipe = "{}", .with_states = true};
    char path[TEST_PATH];
    kern_error err = {0};
    (void)test_path(path, "trace.h5");
    TEST_OK(model_trace_write(t, &labels, path, test_err));
    compare_file(t, path, true);
    labels.with_states = false;
    TEST_OK(model_trace_write(t, &labels, path, test_err));
    compare_file(t, path, false);
    (void)test_path(path, "nowhere/trace.h5");
    assert_int_equal(model_trace_write(t, &labels, path, &err), KERN_NOT_FOUND);
    assert_non_null(strstr(err.text, "nowhere"));
    assert_int_equal(test_count_entries(test_folder), 1);
    model_trace_destroy(t);
    model_destroy(m);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void refuse(const model *m, const int32_t *ids, size_t tokens, size_t steps,
                   const char *part)
{
    model_trace *t = NULL;
    kern_error err = {0};
    assert_int_equal(model_trace_create(&t, m, ids, tokens, steps, &err), KERN_INVALID_ARGUMENT);
    assert_null(t);
    test_error(&err, KERN_INVALID_ARGUMENT, part);
}

static void test_refusals(void **state)
{
    (void)state;
    const model_config config = tiny();
    const model_config other = model_config_default(MODEL_GPT);
    model *m = test_model(&config, 0.1, 1);
    model *gpt = test_model(&other, 0.1, 1);
    const int32_t good[N + 2] = {0};
    const int32_t high[] = {0, V};
    const int32_t low[] = {-1, 0};
    refuse(gpt, good, 2, 3, "a gpt model has no energy");
    refuse(m, good, 0, 3, "0 tokens");
    refuse(m, good, N + 2, 3, "8 tokens is not within 1 to the model's block of 7");
    refuse(m, good, 2, 0, "0 steps");
    refuse(m, good, 2, 1000001, "1000001 steps");
    refuse(m, high, 2, 3, "token 1 has id 11, accepted are 0 to 10");
    refuse(m, low, 2, 3, "token 0 has id -1");
    model_trace_destroy(NULL);
    model_destroy(m);
    model_destroy(gpt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self_part_of_an_exact_update),
        cmocka_unit_test(test_what_is_left_is_second_order),
        cmocka_unit_test(test_the_first_token_never_rises),
        cmocka_unit_test(test_attention_alone),
        cmocka_unit_test(test_bookkeeping),
        cmocka_unit_test(test_the_file_holds_the_arrays),
        cmocka_unit_test(test_refusals),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
