/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers of parameters against the published ones, and the table that they come from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "tests/models/model_test_graph.h"

static size_t count_params(model_config c)
{
    model *m = NULL;
    TEST_OK(model_create(&m, &c, &kern_backend_cpu_f32, test_err));
    const size_t count = m->params.elements;
    model_destroy(m);
    return count;
}

static void test_parameter_counts_of_listops(void **state)
{
    static const size_t table[][4] = {{25, 8171, 10696, 12020},
                                      {32, 11797, 15925, 18068},
                                      {40, 16661, 23101, 26420},
                                      {50, 23821, 33871, 39020},
                                      {64, 35861, 52309, 60692}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        model_config c = model_config_default(MODEL_NRGPT);
        c.n_embed = table[i][0];
        c.ff = MODEL_FF1;
        assert_int_equal(count_params(c), table[i][1]);
        c.ff = MODEL_FF2W;
        assert_int_equal(count_params(c), table[i][2]);
        c = model_config_default(MODEL_GPT);
        c.n_embed = table[i][0];
        c.recurrent = true;
        c.parallel = true;
        assert_int_equal(count_params(c), table[i][3]);
    }
}

/* h D² + D² + FF + 2D + 1 for the energy's block and 12 D² + 10 D for a GPT's, beside tables, final
 * norm and head; in millions these are the 1.215, 1.018, 0.888, 4.83, 10.33, 8.56, 7.38 and 42.8 of
 * the published sizes. */
static void test_parameter_counts_of_shakespeare(void **state)
{
    static const struct {
        size_t width, ff2w, ff2, recurrent, gpt;
    } table[] = {{256, 1215298, 1018690, 888385, 4833345},
                 {768, 10330434, 8560962, 7383617, 42811457}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        model_config c = model_config_default(MODEL_NRGPT);
        c.n_embed = table[i].width;
        c.n_head = 8;
        c.vocab_size = 65;
        c.block_size = 256;
        assert_int_equal(count_params(c), table[i].ff2w);
        c.ff = MODEL_FF2;
        assert_int_equal(count_params(c), table[i].ff2);
        c.family = MODEL_GPT;
        c.recurrent = true;
        assert_int_equal(count_params(c), table[i].recurrent);
        c.recurrent = false;
        c.n_layer = 6;
        assert_int_equal(count_params(c), table[i].gpt);
    }
}

/* Tensors start on cache lines, those of a stack follow each other, and names are found. */
static void test_the_table(void **state)
{
    (void)state;
    model_params params = {0};
    size_t offset[5];
    kern_error err = {0};
    for (size_t i = 0; i < 5; i++) {
        model_param p = {.rank = 2, .rows = 3, .cols = 7};
        (void)snprintf(p.name, sizeof p.name, "tensor.%zu", i);
        if (i == 1) {
            model_params_begin_stack(&params);
        }
        TEST_OK(model_params_add(&params, &p, &offset[i], test_err));
        if (i == 3) {
            model_params_end_stack(&params);
        }
    }
    static const size_t expected[] = {0, 32, 53, 74, 96};
    assert_memory_equal(offset, expected, sizeof expected);
    assert_int_equal(params.elements, 5 * 21);
    assert_int_equal(params.length, 96 + 21);
    assert_int_equal(model_params_find(&params, "tensor.3")->offset, 74);
    assert_null(model_params_find(&params, "tensor.9"));
    const model_param wide = {.name = "wide", .rank = 2, .rows = (size_t)1 << 33, .cols = 3};
    const model_param wider = {.name = "wider", .rank = 2, .rows = SIZE_MAX, .cols = 2};
    assert_int_equal(model_params_add(&params, &wide, NULL, &err), KERN_OVERFLOW);
    assert_non_null(strstr(err.text, "parameter wide of 8589934592 × 3"));
    assert_int_equal(model_params_add(&params, &wider, NULL, &err), KERN_OVERFLOW);
    assert_int_equal(params.count, 5);
    model_params_fini(&params);
    model_params_fini(&params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameter_counts_of_listops),
        cmocka_unit_test(test_parameter_counts_of_shakespeare),
        cmocka_unit_test(test_the_table),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
