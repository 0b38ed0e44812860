/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stacks of layers: what a configuration may say, how many parameters and operations it makes, and
 * attention with shared keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_config.h"
#include "models/model_json.h"
#include "tests/models/model_test_sines.h"

/* ---- configurations ---------------------------------------------------------------------------
 */

static char *write_config(const model_config *c)
{
    char *text = NULL;
    TEST_OK(model_config_to_json(c, &text, test_err));
    return text;
}

/* What is written is read back, and written alike. */
static void assert_round_trip(const model_config *c)
{
    model_config back;
    char *text = write_config(c);
    TEST_OK(model_config_from_json(&back, c->family, text, test_err));
    char *again = write_config(&back);
    assert_string_equal(text, again);
    free(text);
    free(again);
}

static void test_every_field_survives(void **state)
{
    (void)state;
    model_config c = model_config_default(MODEL_CEM);
    c.n_head = 4;
    c.n_hidden = 33;
    c.d_attn = 40;
    c.d_kv = 40;
    c.rope = MODEL_ROPE_PLAIN;
    c.tied_head = true;
    c.cem = (model_cem){.diag = MODEL_DIAG_PER_HEAD,
                        .mlp = MODEL_MLP_B,
                        .precond = MODEL_PRECOND_DLR,
                        .p_rank = 3,
                        .t_attn = 4,
                        .t_mlp = 5,
                        .eta = 0.1,
                        .confine = 1.0 / 3.0,
                        .hist = MODEL_HIST_SYNC,
                        .norm = MODEL_PLACE_ONCE};
    assert_round_trip(&c);
    char *text = write_config(&c);
    model_config back;
    TEST_OK(model_config_from_json(&back, MODEL_CEM, text, test_err));
    assert_memory_equal(&back.cem.eta, &c.cem.eta, sizeof c.cem.eta);
    assert_memory_equal(&back.cem.confine, &c.cem.confine, sizeof c.cem.confine);
    assert_int_equal(back.cem.diag, MODEL_DIAG_PER_HEAD);
    assert_int_equal(back.cem.mlp, MODEL_MLP_B);
    assert_int_equal(back.cem.norm, MODEL_PLACE_ONCE);
    assert_int_equal(back.cem.hist, MODEL_HIST_SYNC);
    assert_int_equal(back.cem.t_mlp, 5);
    assert_int_equal(back.d_kv, 40);
    assert_true(back.tied_head);
    free(text);
    c.cem.precond = MODEL_PRECOND_GAMMA;
    c.cem.eta_trained = true;
    assert_round_trip(&c);
    c = model_config_default(MODEL_HOURGLASS);
    c.n_layer = 2;
    c.hourglass = (model_hourglass){.k = 2,
                                    .norm = MODEL_SANDGLASS_D,
                                    .gain = MODEL_GAIN_SHARED,
                                    .alpha = -0.3,
                                    .parallel = true,
                                    .widths = {.count = 4, .at = {1, 20, 3, 16777216}}};
    assert_round_trip(&c);
    text = write_config(&c);
    TEST_OK(model_config_from_json(&back, MODEL_HOURGLASS, text, test_err));
    assert_int_equal(back.hourglass.widths.count, 4);
    assert_int_equal(model_config_sub_width(&back, 0, 1), 20);
    assert_int_equal(model_config_sub_width(&back, 1, 1), 16777216);
    assert_int_equal(back.hourglass.gain, MODEL_GAIN_SHARED);
    free(text);
}

/* What makes no difference is read, as reference files have it, but not written. */
static void test_only_what_counts_is_written(void **state)
{
    static const char *const keys[] = {"n_hidden", "attn",   "t_attn",          "t_mlp",
                                       "diag",     "p_rank", "hourglass_k",     "d_attn",
                                       "hist",     "mlp",    "hourglass_widths"};
    static const bool written[][11] = {
        {true, true, false, false, false, false, false, false},
        {true, true, true, true, true, false, false, false, true, true},
        {true, true, false, false, false, false, true}};
    (void)state;
    for (unsigned f = MODEL_LLAMA; f <= MODEL_HOURGLASS; f++) {
        const model_config c = model_config_default((model_family)f);
        char *text = write_config(&c);
        cJSON *object = NULL;
        TEST_OK(model_json_parse("it", text, strlen(text), 4096, &object, test_err));
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            assert_int_equal(model_json_has(object, keys[i]), written[f - MODEL_LLAMA][i]);
        }
        cJSON_Delete(object);
        free(text);
    }
    model_config read;
    TEST_OK(model_config_from_json(&read, MODEL_LLAMA,
                                   "{\"diag\":\"none\",\"norm\":\"exact\",\"eta\":2.5,\"std\":0.3}",
                                   test_err));
    assert_int_equal(read.cem.norm, MODEL_PLACE_EXACT);
}

typedef struct bad_config {
    model_family family;
    const char *text;
    const char *part;
} bad_config;

static const bad_config bad_configs[] = {
    {MODEL_CEM, "{\"n_head\":64}",
     "a head is 1 wide (n_embed 64, n_head 64); accepted are even widths, or rope none"},
    {MODEL_LLAMA, "{\"d_attn\":10,\"n_head\":2}", "a head is 5 wide (d_attn 10, n_head 2)"},
    {MODEL_CEM, "{\"n_head\":3}", "\"n_embed\" is 64, which 3 heads do not divide"},
    {MODEL_LLAMA, "{\"d_attn\":30,\"n_head\":4}", "\"d_attn\" is 30, which 4 heads do not divide"},
    {MODEL_CEM, "{\"p_rank\":0}", "\"p_rank\" is 0; accepted is a whole number from 1"},
    {MODEL_CEM, "{\"precond\":\"dlr\",\"p_rank\":65}", "\"p_rank\" is 65; accepted are 1 to"},
    {MODEL_CEM, "{\"t_attn\":0}", "\"t_attn\" is 0; accepted is a whole number from 1 to 1024"},
    {MODEL_CEM, "{\"t_mlp\":1025}", "\"t_mlp\" is 1025;"},
    {MODEL_CEM, "{\"eta\":0}", "\"eta\" is 0; accepted is a number from 1e-12"},
    {MODEL_CEM, "{\"eta\":\"full\"}", "\"eta\" is \"full\"; accepted is a number"},
    {MODEL_CEM, "{\"norm\":\"layernorm\"}", "\"norm\" is \"layernorm\"; accepted are step, once"},
    {MODEL_NRGPT, "{\"norm\":\"step\"}", "\"norm\" is \"step\"; accepted are layernorm, rmsnorm"},
    {MODEL_CEM, "{\"confine\":-1}", "\"confine\" is -1;"},
    {MODEL_CEM, "{\"precond\":\"dlr\",\"eta_trained\":true}", "scales the step already"},
    {MODEL_CEM, "{\"n_head\":4,\"d_kv\":32}", "CEM attention ties keys and values"},
    {MODEL_LLAMA, "{\"n_head\":4,\"d_kv\":24}",
     "\"d_kv\" is 24; accepted are multiples of the head"},
    {MODEL_LLAMA, "{\"n_head\":4,\"d_kv\":48}",
     "\"d_kv\" is 48; accepted are multiples of the head"},
    {MODEL_LLAMA, "{\"ffn\":\"cem\"}", "family llama has \"attn\" llama and \"ffn\" cem"},
    {MODEL_CEM, "{\"attn\":\"llama\",\"ffn\":\"hourglass\"}", "a model of family cem has"},
    {MODEL_HOURGLASS, "{\"ffn\":\"llama\"}", "a model of family hourglass has"},
    {MODEL_HOURGLASS, "{\"hourglass_widths\":[1,2,3]}",
     "\"hourglass_widths\" has 3 entries; accepted are none, 4 for every layer alike, or 4 for "
     "each of 5 layers"},
    {MODEL_HOURGLASS, "{\"hourglass_widths\":[1,2,3,4,5,6,7,8]}", "has 8 entries; accepted are"},
    {MODEL_HOURGLASS, "{\"hourglass_k\":2,\"hourglass_widths\":[4,0]}", "entry 1 of"},
    {MODEL_HOURGLASS, "{\"hourglass_k\":0}", "\"hourglass_k\" is 0;"},
    {MODEL_HOURGLASS, "{\"hourglass_norm\":\"E\"}", "accepted are A, B, C, D"},
    {MODEL_CEM, "{\"ff_hid_factor\":4}", "unknown key \"ff_hid_factor\""},
    {MODEL_LLAMA, "{\"dropout\":0.1}", "unknown key \"dropout\""},
    {MODEL_CEM, "{\"n_hidden\":16777216,\"n_layer\":1024}", "n_hidden 16777216); accepted are at"},
};

static void test_refuses_configurations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_configs / sizeof *bad_configs; i++) {
        model_config c;
        kern_error err = {0};
        assert_int_equal(
            model_config_from_json(&c, bad_configs[i].family, bad_configs[i].text, &err),
            KERN_BAD_INPUT);
        if (strstr(err.text, bad_configs[i].part) == NULL) {
            fail_msg("\"%s\" is not in: %s", bad_configs[i].part, err.text);
        }
    }
    model_config c = model_config_default(MODEL_HOURGLASS);
    kern_error err = {0};
    c.hourglass.widths.count = MODEL_WIDTHS_MAX + 1;
    assert_int_equal(model_config_check(&c, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "has 513 entries; accepted are up to 512"));
}

/* ---- sizes ------------------------------------------------------------------------------------
 */

/* The model's parameters; values are reserved but never touched. */
static size_t count(const model_config *c)
{
    model *m = NULL;
    TEST_OK(model_create(&m, c, &kern_backend_cpu_f32, test_err));
    const size_t n = m->params.elements;
    model_destroy(m);
    return n;
}

static model_config large(model_family family)
{
    model_config c = model_config_default(family);
    c.n_embed = 768;
    c.n_head = 12;
    c.n_layer = 12;
    c.n_hidden = 2048;
    c.vocab_size = 50257;
    c.cem.diag = MODEL_DIAG_NONE;
    return c;
}

/* 162.15M, and what the ties save: attention 2 D² a layer, the gated part D F. */
static void test_cem_sizes(void **state)
{
    (void)state;
    const size_t d = 768;
    model_config c = large(MODEL_LLAMA);
    const size_t llama = count(&c);
    assert_int_equal(llama, 2 * 50257 * d + 12 * (4 * d * d + 3 * d * 2048 + 2 * d) + d);
    c = large(MODEL_CEM);
    c.ffn = MODEL_FFN_LLAMA;
    assert_int_equal(count(&c), llama - 12 * 2 * d * d);
    c = large(MODEL_CEM);
    c.attn = MODEL_ATTN_LLAMA;
    assert_int_equal(count(&c), llama - 12 * d * 2048);
    c = large(MODEL_CEM);
    const size_t both = llama - 12 * (2 * d * d + d * 2048);
    assert_int_equal(count(&c), both);
    assert_int_equal((both + 5000) / 10000, 12912);
    c.cem.diag = MODEL_DIAG_SHARED;
    c.cem.precond = MODEL_PRECOND_DLR;
    assert_int_equal(count(&c), both + 12 * (d + 2 * (d + 2 * d * 8)));
    c.cem.diag = MODEL_DIAG_PER_HEAD;
    c.cem.precond = MODEL_PRECOND_GAMMA;
    c.cem.eta_trained = true;
    c.tied_head = true;
    assert_int_equal(count(&c), both + 12 * (12 * d + 2) - 50257 * d);
}

/* Attention and feed-forward parameters alone. */
static size_t count_core(const model_config *c)
{
    const size_t d = c->n_embed;
    const size_t gains = c->hourglass.gain == MODEL_GAIN_PER_SUB  ? c->hourglass.k
                         : c->hourglass.gain == MODEL_GAIN_SHARED ? 1
                                                                  : 0;
    return count(c) - 2 * c->vocab_size * d - d - c->n_layer * d * (1 + gains);
}

/* Shapes of exactly 113,246,208 and 2,359,296 parameters. */
static void test_hourglass_sizes(void **state)
{
    static const struct {
        size_t d, layers, d_attn, k, hidden, total;
    } shapes[] = {{768, 12, 0, 8, 384, 113246208},    {768, 16, 0, 4, 512, 113246208},
                  {1152, 8, 0, 5, 512, 113246208},    {1536, 6, 0, 4, 512, 113246208},
                  {1536, 8, 1344, 2, 640, 113246208}, {192, 4, 0, 6, 128, 2359296},
                  {192, 8, 0, 4, 64, 2359296}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        model_config c = model_config_default(MODEL_HOURGLASS);
        c.n_embed = shapes[i].d;
        c.n_layer = shapes[i].layers;
        c.d_attn = shapes[i].d_attn;
        c.n_head = 3;
        c.hourglass.k = shapes[i].k;
        c.n_hidden = shapes[i].hidden;
        for (unsigned gain = 0; gain < 3; gain++) {
            c.hourglass.gain = (model_gain)gain;
            assert_int_equal(count_core(&c), shapes[i].total);
        }
    }
    model_config c = model_config_default(MODEL_HOURGLASS);
    c.n_layer = 2;
    c.hourglass.k = 2;
    c.hourglass.widths = (model_widths){.count = 4, .at = {11, 10, 10, 10}};
    assert_int_equal(count_core(&c), 2 * 4 * 64 * 64 + 3 * 64 * 41);
}

static double flops_per_token(const model_config *c)
{
    model *m = NULL;
    model_graph graph;
    TEST_OK(model_create(&m, c, &kern_backend_cpu_f32, test_err));
    const model_graph_options o = {
        .batch = 1, .tokens = 64, .steps = c->n_layer, .start = MODEL_START_TOKENS, .loss = true};
    TEST_OK(model_graph_init(&graph, m, &o, test_err));
    const double flops = kern_graph_flops(graph.graph) / 64;
    model_graph_fini(&graph);
    model_destroy(m);
    return flops;
}

/* A multiply-add is two; a token sees (N + 1)/2 others on average. */
static void test_operations(void **state)
{
    (void)state;
    const double d = 64;
    const double f = 176;
    const double mix = 4 * 32.5 * d;
    const double head = 2 * d * 20;
    for (size_t t = 1; t <= 4; t++) {
        model_config c = model_config_default(MODEL_CEM);
        const double steps = (double)t;
        c.n_head = 4;
        c.n_layer = 3;
        c.cem.t_attn = t;
        c.cem.t_mlp = t;
        c.cem.diag = MODEL_DIAG_NONE;
        const double attention = 2 * d * d * (1 + 2 * steps) + mix * steps;
        const double gated = 2 * d * f * (1 + 2 * steps);
        assert_true(fabs(flops_per_token(&c) - 3 * (attention + gated) - head) < 1e-6);
        c.cem.diag = MODEL_DIAG_SHARED;
        assert_true(fabs(flops_per_token(&c) - 3 * (attention + mix * steps + gated) - head) <
                    1e-6);
    }
    model_config c = model_config_default(MODEL_HOURGLASS);
    c.n_layer = 2;
    c.n_head = 4;
    c.d_attn = 32;
    c.d_kv = 16;
    const double narrow = 2 * (2 * d * 32 + 2 * d * 16 + 3 * d * 176) + 4 * 32.5 * 32;
    assert_true(fabs(flops_per_token(&c) - 2 * narrow - head) < 1e-6);
}

/* Weight decay is for matrices, but not for diagonals that form one; V starts at 0 and U does not.
 */
static void test_what_is_decayed(void **state)
{
    (void)state;
    model_config c = model_config_default(MODEL_CEM);
    c.n_head = 2;
    c.cem.diag = MODEL_DIAG_PER_HEAD;
    c.cem.precond = MODEL_PRECOND_DLR;
    model *m = NULL;
    TEST_OK(model_create(&m, &c, &kern_backend_cpu_f32, test_err));
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        const bool diagonal = strstr(p->name, "attn.diag") != NULL;
        const bool zero = diagonal || strstr(p->name, ".p_v") != NULL;
        assert_int_equal(p->undecayed, diagonal);
        assert_true(p->trained);
        assert_int_equal(p->rank == 2 && p->init == MODEL_INIT_CONSTANT, zero);
    }
    model_destroy(m);
}

/* ---- shared keys ------------------------------------------------------------------------------
 */

/* Two heads of keys and values for six of queries are six heads of which three are alike. */
static void test_shared_keys(void **state)
{
    enum { D = 18, WIDTH = 4, N = 6 };
    (void)state;
    model_config c = model_config_default(MODEL_LLAMA);
    c.n_embed = D;
    c.n_head = 6;
    c.d_attn = 6 * WIDTH;
    c.d_kv = 2 * WIDTH;
    c.n_layer = 1;
    c.n_hidden = 5;
    model_config full = c;
    full.d_kv = 0;
    model *few = test_model(&c, 0.5, 3);
    model *all = test_model(&full, 0.5, 3);
    for (size_t i = 0; i < few->params.count; i++) {
        const model_param *p = &few->params.items[i];
        const model_param *q = model_params_find(&all->params, p->name);
        for (size_t k = 0; k < model_param_size(q); k++) {
            const size_t row = k / q->cols;
            const size_t shared = row / WIDTH / 3 * WIDTH + row % WIDTH;
            const size_t from = p->rows == q->rows ? k : shared * q->cols + k % q->cols;
            model_value_set(all, q->offset + k, model_value_get(few, p->offset + from));
        }
    }
    double *x = test_normals((size_t)N * D, 1.0, 4);
    double y[2][N * D];
    for (int i = 0; i < 2; i++) {
        test_part p;
        test_part_begin(&p, i == 0 ? few : all, N);
        const kern_value out =
            test_part_keep(&p, model_sublayer_llama_attn.build(&p.b, 0, p.input));
        test_part_run(&p, x);
        memcpy(y[i], test_part_value(&p, out), sizeof y[i]);
        test_part_end(&p);
    }
    assert_true(test_distance(y[0], y[1], (size_t)N * D) <= 1e-13);
    free(x);
    model_destroy(few);
    model_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_survives),
        cmocka_unit_test(test_only_what_counts_is_written),
        cmocka_unit_test(test_refuses_configurations),
        cmocka_unit_test(test_cem_sizes),
        cmocka_unit_test(test_hourglass_sizes),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_what_is_decayed),
        cmocka_unit_test(test_shared_keys),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
