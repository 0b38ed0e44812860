/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work flows with the families made of layers: training, resuming, and what reads a run.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

/* Everything that fixes a small training but its family, folder and length. */
#define SMALL                                                                                      \
    "--data", "listops:generate=300", "--width", "8", "--heads", "2", "--depth", "2", "--batch",   \
        "4", "--window", "16", "--threads", "1", "--eval-batches", "1", "--schedule", "constant",  \
        "--warmup", "0"
#define PROMPT "max_10 ( 2 9 3 ) ="

static const char *const families[] = {"llama", "cem", "hourglass"};

static void test_families_train(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        program_expect(0, "train", "--family", families[i], SMALL, "--out", in(families[i]),
                       "--steps", "60", "--lr", "0.01", "--json", NULL);
        cJSON *object = program_json();
        assert_word(object, "family", families[i]);
        assert_true(number(object, "val_loss") < 2.5); /* ln 20 = 3.0 knows nothing */
        cJSON_Delete(object);
        program_expect(0, "train", "--resume", "--out", in(families[i]), "--steps", "70", NULL);
        program_expect(0, "eval", in(families[i]), "--data", "listops:generate=100", "--n-prompts",
                       "20", NULL);
        program_expect(i == 1 ? 0 : 2, "eval", in(families[i]), "--data", "listops:generate=100",
                       "--n-prompts", "20", "--t-attn", "4", NULL);
        program_expect(0, "generate", in(families[i]), "--prompt", PROMPT, NULL);
    }
}

/* Parameters as the tables say, and operations per token: attention 2D²(1 + 2T) + 8iDT with a
 * diagonal, gated part 2DF(1 + 2T), readout. */
static void test_info(void **state)
{
    (void)state;
    program_expect(0, "info", in("cem"), "--json", NULL);
    cJSON *object = program_json();
    const double d = 8;
    const double f = 24;
    const double layer = d + 2 * d * d + d + d + 2 * d * f;
    assert_true(number(object, "parameters") == 2 * layer + 2 * d * 20 + d);
    const cJSON *flops = cJSON_GetObjectItem(object, "flops_per_token");
    const double step = 2 * (2 * d * d * 5 + 8 * 8.5 * d * 2 + 2 * d * f * 5) + 2 * d * 20;
    assert_true(fabs(number(flops, "forward") - step) < 1e-6);
    cJSON_Delete(object);
}

static void test_trace(void **state)
{
    (void)state;
    program_expect(0, "trace", in("cem"), "--prompt", PROMPT, "--out", in("t.h5"), "--figure",
                   in("t.svg"), "--layer", "1", "--sublayer", "mlp", "--steps", "5", "--json",
                   NULL);
    cJSON *object = program_json();
    assert_true(number(object, "steps") == 5);
    assert_true(number(object, "layer") == 1);
    const cJSON *energy = cJSON_GetObjectItem(object, "energy");
    const int tokens = cJSON_GetArraySize(cJSON_GetObjectItem(object, "tokens"));
    assert_int_equal(cJSON_GetArraySize(energy), tokens);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetArrayItem(energy, 0)), 6);
    assert_true(number(object, "rising_fraction") >= 0);
    cJSON_Delete(object);
    assert_int_equal(access(in("t.h5"), F_OK), 0);
    assert_int_equal(access(in("t.svg"), F_OK), 0);
    program_expect(0, "trace", in("cem"), "--prompt", PROMPT, "--out", in("t.h5"), NULL);
    assert_non_null(strstr(program_out, "layer 0, attn"));
    program_expect(2, "trace", in("cem"), "--prompt", PROMPT, "--out", in("u.h5"), "--layer", "2",
                   NULL);
    program_complained("--layer is 2; this model has the layers 0 to 1");
    program_expect(2, "trace", in("llama"), "--prompt", PROMPT, "--out", in("u.h5"), NULL);
    program_complained("a model of family llama has no energy to trace");
    program_expect(2, "trace", in("cem"), "--prompt", PROMPT, "--out", in("u.h5"), "--sublayer",
                   "norm", NULL);
    program_complained("--sublayer");
    assert_int_not_equal(access(in("u.h5"), F_OK), 0);
}

/* Energies of a token in a part, as basin trace tells them, into e; returns how many. */
static size_t traced_energies(const char *layer, const char *part, int token, double *e)
{
    program_expect(0, "trace", in("cem"), "--prompt", PROMPT, "--out", in("t.h5"), "--layer", layer,
                   "--sublayer", part, "--steps", "7", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(object, "energy"), token);
    const int n = cJSON_GetArraySize(row);
    for (int t = 0; t < n; t++) {
        e[t] = cJSON_GetArrayItem(row, t)->valuedouble;
    }
    cJSON_Delete(object);
    return (size_t)n;
}

/* Every part of every layer has the input of the trained model, in a trace as in a landscape,
 * however many steps of it are asked for. */
static void test_trace_agrees_with_landscape(void **state)
{
    static const char *const layers[] = {"0", "1"};
    static const char *const parts[] = {"attn", "mlp"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        double e[8];
        assert_int_equal(traced_energies(layers[i / 2], parts[i % 2], 3, e), 8);
        program_expect(0, "landscape", in("cem"), "--prompt", PROMPT, "--token", "3", "--layer",
                       layers[i / 2], "--sublayer", parts[i % 2], "--steps", "7", "--columns", "8",
                       "--out", in("l.csv"), "--json", NULL);
        cJSON *object = program_json();
        const cJSON *path = cJSON_GetObjectItem(object, "trajectory");
        assert_int_equal(cJSON_GetArraySize(path), 8);
        for (int t = 0; t < 8; t++) {
            const double energy = number(cJSON_GetArrayItem(path, t), "energy");
            assert_true(fabs(energy - e[t]) <= 1e-11 * (1 + fabs(energy)));
        }
        cJSON_Delete(object);
    }
}

/* A rate that throws the preconditioners about: the run stops, saved, and goes on when told to. */
static void test_indefinite_preconditioners(void **state)
{
    (void)state;
    program_expect(2, "train", "--family", "cem", "--precond", "dlr", "--p-rank", "2", SMALL,
                   "--out", in("wild"), "--steps", "40", "--eval-every", "10", "--lr", "0.5", NULL);
    assert_non_null(strstr(program_err, "preconditioners are not positive definite; the smallest "
                                        "eigenvalue is -"));
    assert_non_null(strstr(program_err, "--allow-indefinite goes on"));
    program_expect(2, "train", "--resume", "--out", in("wild"), NULL);
    program_expect(0, "train", "--resume", "--out", in("wild"), "--allow-indefinite", NULL);
    assert_non_null(strstr(program_err, "step 40: "));
}

static void refuse(const char *family, const char *option, const char *value, const char *part)
{
    program_expect(2, "train", "--family", family, SMALL, "--out", in("none"), option, value, NULL);
    program_complained(part);
}

static void test_refusals(void **state)
{
    (void)state;
    refuse("cem", "--p-rank", "0", "whole numbers from 1");
    refuse("cem", "--p-rank", "3", "--p-rank belongs to --precond dlr");
    refuse("cem", "--t-attn", "0", "whole numbers from 1 to 1024");
    refuse("llama", "--t-attn", "2", "--t-attn belongs to CEM attention");
    refuse("llama", "--attn", "cem", "\"attn\" cem and \"ffn\" llama");
    refuse("hourglass", "--mlp", "b", "--mlp belongs to the CEM feed-forward part");
    refuse("cem", "--hourglass-k", "2", "--hourglass-k belongs to the hourglass");
    refuse("cem", "--norm", "rmsnorm", "--norm belongs to the family nrgpt");
    refuse("cem", "--dropout", "0.1", "--dropout belongs to the families nrgpt and gpt");
    refuse("nrgpt", "--hidden", "8", "--hidden belongs to the families llama, cem and hourglass");
    refuse("hourglass", "--hourglass-widths", "4,x", "whole numbers with commas between them");
    refuse("hourglass", "--hourglass-widths", "4,5", "has 2 entries; accepted are none, 4");
    refuse("cem", "--norm-at", "never", "step, once, exact");
    refuse("llama", "--attn-width", "6", "a head is 3 wide");
}

/* --attn and --ffn count over the family's, in either order; widths are shared out. */
static void test_parts_and_widths(void **state)
{
    (void)state;
    program_expect(0, "train", "--attn", "llama", "--family", "cem", SMALL, "--out", in("mixed"),
                   "--steps", "1", NULL);
    program_expect(0, "info", in("mixed"), NULL);
    assert_non_null(strstr(program_out, "layers.0.attn.wo"));
    assert_non_null(strstr(program_out, "layers.0.mlp.wu"));
    program_expect(2, "train", "--resume", "--out", in("mixed"), "--attn", "cem", NULL);
    program_complained("--attn is cem, but the run to be resumed has llama");
    program_expect(0, "train", "--family", "hourglass", "--hourglass-k", "5", SMALL, "--out",
                   in("ragged"), "--steps", "1", NULL);
    program_expect(0, "info", in("ragged"), NULL);
    assert_non_null(strstr(program_out, "[5,5,5,5,4]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families_train),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_trace_agrees_with_landscape),
        cmocka_unit_test(test_indefinite_preconditioners),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_parts_and_widths),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
