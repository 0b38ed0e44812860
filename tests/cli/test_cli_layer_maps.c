/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One part of one layer of a trained model as the map of every analysis, the diagnostics of an
 * hourglass, and numbers of inner steps other than those of training.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

#define SMALL                                                                                      \
    "--data", "listops:generate=200", "--width", "8", "--heads", "2", "--depth", "2", "--batch",   \
        "4", "--window", "16", "--threads", "1", "--eval-batches", "1", "--schedule", "constant",  \
        "--warmup", "0", "--lr", "0.01"
#define PROMPT         "( max_10 2 9"
#define MAP(run, part) "--model", in(run), "--layer", "1", "--sublayer", (part), "--prompt", "( 2"

static int make_runs(void **state)
{
    assert_int_equal(test_folder_make(state), 0);
    program_expect(0, "train", "--family", "cem", "--confine", "1", SMALL, "--steps", "40", "--out",
                   in("cem"), NULL);
    program_expect(0, "train", "--family", "llama", "--qk-norm", "--init", "fan_in", SMALL,
                   "--steps", "40", "--out", in("llama"), NULL);
    program_expect(0, "train", "--family", "hourglass", "--hourglass-k", "2", "--hidden", "3",
                   SMALL, "--steps", "40", "--out", in("hourglass"), NULL);
    program_expect(0, "train", "--family", "nrgpt", SMALL, "--steps", "2", "--out", in("nrgpt"),
                   NULL);
    return 0;
}

/* ---- maps -------------------------------------------------------------------------------------
 */

/* The start of the map and its T steps are the iterates that basin trace records, and so are the
 * energies; llama and hourglass have none. */
static void test_orbit(void **state)
{
    static const char *const parts[] = {"attn", "mlp"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        program_expect(0, "orbit", "--model", in("cem"), "--layer", "1", "--sublayer", parts[i],
                       "--prompt", PROMPT, "--steps", "2", "--json", NULL);
        cJSON *orbit = program_json();
        assert_word(orbit, "map", i == 0 ? "cem layer 1 attn" : "cem layer 1 mlp");
        program_expect(0, "trace", in("cem"), "--prompt", PROMPT, "--layer", "1", "--sublayer",
                       parts[i], "--steps", "2", "--out", in("t.h5"), "--json", NULL);
        cJSON *trace = program_json();
        assert_word(trace, "energy_unit", i == 0 ? "score" : "gate*preactivation^2");
        const int tokens = count(trace, "energy");
        assert_int_equal(cJSON_GetArraySize(entry(orbit, "states", 0)), 8 * tokens);
        /* The trace takes every part for two steps as in training, so inputs are the same. */
        for (int t = 0; t <= 2; t++) {
            double sum = 0;
            for (int a = 0; a < tokens; a++) {
                sum += cJSON_GetArrayItem(entry(trace, "energy", a), t)->valuedouble;
            }
            assert_near(number_at(orbit, "energy", t), sum, 1e-11 * (1 + fabs(sum)));
        }
        cJSON_Delete(orbit);
        cJSON_Delete(trace);
    }
    program_expect(0, "orbit", MAP("llama", "attn"), "--json", NULL);
    cJSON *object = program_json();
    assert_true(cJSON_IsNull(member(object, "energy")));
    cJSON_Delete(object);
}

/* The subcommands that take maps take parts of layers. */
static void test_every_analysis(void **state)
{
    static const char *const runs[] = {"cem", "hourglass"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *run = runs[i];
        program_expect(0, "multipliers", MAP(run, "mlp"), "--json", NULL);
        program_expect(0, "lyapunov", MAP(run, "mlp"), "--steps", "40", "--ttr", "5", NULL);
        program_expect(0, "orbit-diagram", MAP(run, "attn"), "--vary", "step_scale", "--from",
                       "0.5", "--to", "1", "--n", "2", "--ttr", "20", NULL);
        program_expect(0, "rqa", MAP(run, "mlp"), "--steps", "40", NULL);
    }
    program_expect(0, "fixed-points", MAP("cem", "attn"), "--starts", "2", "--json", NULL);
    cJSON *object = program_json();
    assert_true(number(object, "n_converged") >= 1);
    cJSON_Delete(object);
    program_expect(0, "continue", MAP("cem", "attn"), "--vary", "step_scale", "--from", "0.5",
                   "--to", "1", NULL);
    program_expect(0, "chaos", MAP("cem", "attn"), "--test", "gali", "--steps", "500", NULL);
    program_expect(0, "basins", MAP("cem", "attn"), "--starts", "3", NULL);
}

/* Scales are pinned after the trained number of steps: T of a CEM sub-layer. */
static void test_trained_state(void **state)
{
    (void)state;
    double scale[2];
    program_expect(0, "train", "--family", "cem", "--attn", "cem", SMALL, "--steps", "5", "--out",
                   in("plain"), NULL);
    program_expect(0, "multipliers", MAP("plain", "attn"), "--chart", "--json", NULL);
    cJSON *object = program_json();
    assert_word(object, "pinned_at", "trained");
    scale[0] = number_at(object, "sigma", 1);
    cJSON_Delete(object);
    program_expect(0, "orbit", MAP("plain", "attn"), "--steps", "2", "--json", NULL);
    object = program_json();
    double square = 0;
    for (int i = 0; i < 8; i++) {
        const double x = cJSON_GetArrayItem(entry(object, "states", 2), 8 + i)->valuedouble;
        square += x * x;
    }
    scale[1] = sqrt(square / 8);
    assert_near(scale[0], scale[1], 1e-12 * scale[1]);
    cJSON_Delete(object);
}

static void refuse(const char *run, const char *layer, const char *part, const char *sentence)
{
    program_expect(2, "orbit", "--model", in(run), "--prompt", "( 2", "--layer", layer,
                   "--sublayer", part, NULL);
    program_complained(sentence);
}

static void test_refusals(void **state)
{
    (void)state;
    refuse("nrgpt", "0", "attn", "--layer is for models with layers, llama, cem and hourglass");
    refuse("cem", "2", "attn", "--layer is \"2\"; accepted are 0 to 1");
    refuse("cem", "-1", "attn", "--layer is \"-1\"; accepted are 0 to 1");
    refuse("cem", "one", "attn", "--layer is \"one\"; accepted are 0 to 1");
    refuse("cem", "0", "norm", "--sublayer: \"norm\" is no part of a layer; accepted are attn");
    program_expect(2, "rqa", "--model", in("llama"), "--prompt", "( 2", NULL);
    program_complained("layers of a model of family llama differ and cannot be iterated");
    program_expect(2, "orbit", "--map", "henon", "--sublayer", "mlp", NULL);
    program_complained("--sublayer is given without --model; accepted are both");
}

/* ---- the bottleneck ---------------------------------------------------------------------------
 */

/* Multipliers from the 6 × 6 matrices of the hidden units are those of the dense 8 × 8 blocks. */
static void test_bottleneck(void **state)
{
    (void)state;
    program_expect(0, "multipliers", MAP("hourglass", "mlp"), "--bottleneck", "--json", NULL);
    cJSON *fast = program_json();
    program_expect(0, "multipliers", MAP("hourglass", "mlp"), "--json", NULL);
    cJSON *dense = program_json();
    assert_near(number(fast, "bottleneck"), 6, 0);
    assert_int_equal(count(fast, "blocks"), 2);
    for (int a = 0; a < 2; a++) {
        const cJSON *p = entry(fast, "blocks", a);
        const cJSON *q = entry(dense, "blocks", a);
        double sums[2][2] = {{0}};
        assert_int_equal(count(p, "values"), 8);
        assert_near(number(p, "spectral_radius"), number(q, "spectral_radius"), 1e-9);
        assert_true(cJSON_IsNull(member(p, "transient_growth")));
        for (int i = 0; i < 8; i++) { /* traces of J and of its square */
            for (int side = 0; side < 2; side++) {
                const cJSON *value = entry(side == 0 ? p : q, "values", i);
                const double re = number(value, "re");
                const double im = number(value, "im");
                sums[side][0] += re;
                sums[side][1] += re * re - im * im;
            }
        }
        assert_near(sums[0][0], sums[1][0], 1e-10);
        assert_near(sums[0][1], sums[1][1], 1e-10);
    }
    cJSON_Delete(fast);
    cJSON_Delete(dense);
    program_expect(2, "multipliers", MAP("cem", "mlp"), "--bottleneck", NULL);
    program_complained("--bottleneck is given for map cem layer 1 mlp, which has none");
    program_expect(2, "multipliers", MAP("hourglass", "mlp"), "--bottleneck", "--vectors", NULL);
    program_complained("--bottleneck is given with --vectors");
}

/* ---- basin hourglass --------------------------------------------------------------------------
 */

static void test_hourglass(void **state)
{
    (void)state;
    program_expect(0, "hourglass", in("hourglass"), "--prompt", PROMPT, "--identities", "--pairs",
                   "--exponents", "8", "--losses", "--json", NULL);
    cJSON *object = program_json();
    assert_int_equal(count(object, "layers"), 2);
    const cJSON *layer = entry(object, "layers", 1);
    assert_near(number(layer, "coverage"), 0.75, 1e-15);
    assert_near(number(layer, "conserved"), 2, 0);
    assert_near(number(entry(layer, "subs", 0), "log_abs_det") +
                    number(entry(layer, "subs", 1), "log_abs_det"),
                number(layer, "log_abs_det"), 1e-12);
    assert_true(number(member(layer, "identities"), "log_det") <= 1e-11);
    assert_true(number(member(layer, "identities"), "leak") <= 1e-12);
    const cJSON *pairs = member(layer, "pairs");
    const double swap = cJSON_GetArrayItem(entry(pairs, "swap", 0), 1)->valuedouble;
    assert_true(swap > 0 && swap < 2);
    /* All exponents of a feed-forward part add up to its determinant. */
    const cJSON *part = entry(member(object, "exponents"), "parts", 3);
    double sum = 0;
    for (int i = 0; i < 8; i++) {
        sum += number_at(part, "exponents", i);
    }
    assert_word(part, "sublayer", "mlp");
    assert_near(sum, number(layer, "log_abs_det"), 1e-10);
    /* One side by side; two left out and one pair swapped in each of two layers. */
    assert_int_equal(count(object, "losses"), 7);
    assert_word(entry(object, "losses", 0), "change", "parallel");
    const cJSON *last = entry(object, "losses", 6);
    assert_near(number(last, "loss") - number(object, "val_loss"), number(last, "difference"),
                1e-12);
    cJSON_Delete(object);
    program_expect(0, "hourglass", in("hourglass"), "--prompt", PROMPT, "--layer", "1", NULL);
    assert_non_null(strstr(program_out, "layer 1: coverage 0.75, 2 directions pass unchanged"));
    assert_null(strstr(program_out, "layer 0"));
    program_expect(2, "hourglass", in("cem"), "--prompt", PROMPT, NULL);
    program_complained("family cem without an hourglass");
    program_expect(2, "hourglass", in("hourglass"), "--prompt", PROMPT, "--exponents", "9", NULL);
    program_complained("--exponents is 9; accepted are 1 to the model's width of 8");
    program_expect(2, "hourglass", in("hourglass"), "--prompt", PROMPT, "--window", "8", NULL);
    program_complained("--window is given without --losses");
}

/* ---- steps at inference -----------------------------------------------------------------------
 */

static double loss_with(const char *option, const char *value)
{
    if (option == NULL) {
        program_expect(0, "eval", in("cem"), "--data", "listops:generate=60", "--n-prompts", "1",
                       "--json", NULL);
    } else {
        program_expect(0, "eval", in("cem"), "--data", "listops:generate=60", "--n-prompts", "1",
                       option, value, "--json", NULL);
    }
    cJSON *object = program_json();
    const double loss = number(object, "val_loss");
    cJSON_Delete(object);
    return loss;
}

static void test_steps(void **state)
{
    static const char *const options[] = {"--steps", "--t-attn", "--t-mlp"};
    (void)state;
    const double trained = loss_with(NULL, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_near(loss_with(options[i], "2"), trained, 0);
        assert_true(fabs(loss_with(options[i], "5") - trained) > 1e-9);
        program_expect(0, "generate", in("cem"), "--prompt", PROMPT, options[i], "5", NULL);
        program_expect(2, "generate", in("cem"), "--prompt", PROMPT, options[i], "0", NULL);
        program_complained("whole numbers from 1 to 1024");
        program_expect(2, "generate", in("hourglass"), "--prompt", PROMPT, options[i], "2", NULL);
        program_complained("of family hourglass does not have");
    }
}

/* ---- bad input --------------------------------------------------------------------------------
 */

static void refuse_training(const char *family, const char *option, const char *value,
                            const char *part)
{
    program_expect(2, "train", "--family", family, SMALL, "--steps", "1", "--out", in("none"),
                   option, value, NULL);
    program_complained(part);
    assert_int_not_equal(access(in("none"), F_OK), 0);
}

static void test_bad_input(void **state)
{
    (void)state;
    refuse_training("cem", "--t-mlp", "0", "whole numbers from 1 to 1024");
    refuse_training("cem", "--attn-width", "6", "a head is 3 wide");
    refuse_training("cem", "--kv-width", "4", "CEM attention ties keys and values");
    refuse_training("llama", "--attn-width", "7", "which 2 heads do not divide");
    refuse_training("llama", "--kv-width", "6", "multiples of the head width 4 whose number");
    refuse_training("cem", "--init", "fan_in", "a CEM sub-layer leads in and out through one");
    refuse_training("nrgpt", "--init", "fan_in", "--init belongs to the families llama");
    program_expect(2, "train", "--family", "cem", "--qk-norm", SMALL, "--steps", "1", "--out",
                   in("none"), NULL);
    program_complained("\"qk_norm\" is true with CEM attention");
    /* A preconditioner of signs, c·diag(γ), is exempt. */
    program_expect(0, "train", "--family", "cem", "--precond", "gamma", SMALL, "--steps", "5",
                   "--out", in("gamma"), NULL);
    assert_null(strstr(program_err, "positive definite"));
    program_expect(0, "info", in("llama"), NULL);
    assert_non_null(strstr(program_out, "layers.1.attn.q_norm"));
    assert_non_null(strstr(program_out, "fan_in"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orbit),         cmocka_unit_test(test_every_analysis),
        cmocka_unit_test(test_trained_state), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_bottleneck),    cmocka_unit_test(test_hourglass),
        cmocka_unit_test(test_steps),         cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, make_runs, test_folder_remove);
}
