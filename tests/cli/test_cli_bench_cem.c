/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `basin bench cem` with the built program: operations against the formulas of its header, memory
 * against the bound of fused recursion, and what it refuses; not how fast anything is.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include <math.h>

enum { D = 64, F = 96, H = 4, N = 48, T = 3 };

static cJSON *run_bench(const char *diag)
{
    program_expect(0, "bench", "cem", "--width", "64", "--hidden", "96", "--heads", "4", "--window",
                   "48", "--batch", "2", "--steps", "3", "--diag", diag, "--rounds", "1",
                   "--seconds", "0.01", "--threads", "1", "--profile", "--json", NULL);
    return program_json();
}

/* Multiply-adds a token of T steps, in the words of cli_bench_cem.h. */
static double forward_of(double steps, double s)
{
    return (1 + 2 * steps) * (D * D + D * F) + steps * s * D * (N + 1);
}

static double train_of(double steps, double s)
{
    return 3 * forward_of(steps, s) + (1 + steps) * (D * D + D * F) + steps * s * D * (N + 1);
}

static void assert_row(const cJSON *row, const char *name, double multiply_adds)
{
    assert_word(row, "name", name);
    assert_near(number(row, "mflop_per_token"), 2e-6 * multiply_adds, 1e-12 * multiply_adds);
    assert_true(number(row, "tokens_per_s") > 0.0);
    assert_true(number(row, "seconds") > 0.0);
    assert_true(number(row, "cpu_seconds") > 0.0);
    assert_true(number(row, "fraction_of_peak") > 0.0);
    assert_true(number(row, "cpu_fraction_of_peak") > 0.0);
    assert_true(number(row, "peak_gflops") > 0.0);
    assert_true(number(row, "max_rss_mb") > 1.0);
}

static void test_operations(void **state)
{
    static const struct {
        const char *diag;
        double s;
    } kinds[] = {{"none", 1}, {"shared", 2}, {"per_head", 1 + H}};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double s = kinds[i].s;
        cJSON *object = run_bench(kinds[i].diag);
        assert_int_equal(count(object, "rows"), 4);
        assert_row(entry(object, "rows", 0), "forward-1", forward_of(1, s));
        assert_row(entry(object, "rows", 1), "forward-3", forward_of(T, s));
        assert_row(entry(object, "rows", 2), "train-1", train_of(1, s));
        assert_row(entry(object, "rows", 3), "train-3", train_of(T, s));
        const cJSON *ratios = member(object, "ratios");
        assert_near(number(member(ratios, "forward"), "flops"),
                    forward_of(T, s) / (T * forward_of(1, s)), 1e-12);
        assert_near(number(member(ratios, "train"), "flops"), train_of(T, s) / (T * train_of(1, s)),
                    1e-12);
        assert_true(number(member(ratios, "train"), "time") > 0.0);
        assert_true(number(member(ratios, "train"), "cpu_time") > 0.0);
        cJSON_Delete(object);
    }
}

/* x, its cotangent, and the states after every step; so a step adds D numbers, whatever T is. */
static void test_a_step_keeps_its_state(void **state)
{
    (void)state;
    cJSON *object = run_bench("shared");
    const cJSON *memory = member(object, "memory");
    assert_near(number(memory, "bound"), D + 2 * H, 0.0);
    assert_int_equal(count(memory, "kept"), T);
    for (int i = 0; i < T; i++) {
        assert_near(number_at(memory, "kept", i), (2 + 2 * (i + 1)) * D, 0.0);
        assert_near(number_at(memory, "attn_step", i), D, 0.0);
        assert_near(number_at(memory, "mlp_step", i), D, 0.0);
    }
    cJSON_Delete(object);
}

/* Shares add up, and only products have a rate. */
static void test_profile(void **state)
{
    (void)state;
    cJSON *object = run_bench("none");
    for (int i = 0; i < 4; i++) {
        const cJSON *row = entry(object, "rows", i);
        double total = 0;
        for (int k = 0; k < count(row, "profile"); k++) {
            const cJSON *op = entry(row, "profile", k);
            const char *name = cJSON_GetStringValue(member(op, "op"));
            const bool product = strcmp(name, "linear") == 0 || strcmp(name, "attention") == 0;
            total += number(op, "share");
            assert_int_equal(number(op, "gflops") > 0.0, product);
        }
        assert_near(total, 1.0, 1e-9);
    }
    cJSON_Delete(object);
}

static void test_text(void **state)
{
    (void)state;
    program_expect(0, "bench", "cem", "--width", "16", "--hidden", "16", "--heads", "2", "--window",
                   "8", "--batch", "1", "--steps", "2", "--rounds", "2", "--seconds", "0.01",
                   "--threads", "2", NULL);
    assert_non_null(strstr(program_out, "one CEM layer: D = 16, F = 16, H = 2, N = 8, batch 1"));
    assert_non_null(strstr(program_out, "train-2"));
    assert_non_null(strstr(program_out, "D + 2H = 20"));
}

static void test_refusals(void **state)
{
    (void)state;
    program_expect(2, "bench", "cem", "--heads", "5", NULL);
    assert_non_null(strstr(program_err, "cem"));
    assert_non_null(strstr(program_err, "768"));
    program_expect(2, "bench", "cem", "--width", "36", "--heads", "12", NULL);
    assert_non_null(strstr(program_err, "even"));
    program_expect(2, "bench", "cem", "--steps", "0", NULL);
    assert_non_null(strstr(program_err, "--steps"));
    program_expect(2, "bench", "cem", "--diag", "sometimes", NULL);
    assert_non_null(strstr(program_err, "--diag"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_a_step_keeps_its_state),
        cmocka_unit_test(test_profile),    cmocka_unit_test(test_text),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
