/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_config.h"
#include "models/model_json.h"
#include "models/model_safetensors.h"
#include "tests/models/model_test_folder.h"

#include <math.h>

static void assert_same(const model_config *a, const model_config *b)
{
    assert_int_equal(a->family, b->family);
    assert_int_equal(a->n_embed, b->n_embed);
    assert_int_equal(a->n_head, b->n_head);
    assert_int_equal(a->vocab_size, b->vocab_size);
    assert_int_equal(a->block_size, b->block_size);
    assert_int_equal(a->n_layer, b->n_layer);
    assert_int_equal(a->ff_hid_factor, b->ff_hid_factor);
    assert_true(a->norm_eps == b->norm_eps && a->dropout == b->dropout);
    assert_int_equal(a->ff, b->ff);
    assert_int_equal(a->activation, b->activation);
    assert_int_equal(a->norm, b->norm);
    assert_int_equal(a->eta, b->eta);
    assert_int_equal(a->update, b->update);
    assert_int_equal(a->strict_mask, b->strict_mask);
    assert_int_equal(a->gamma_trained, b->gamma_trained);
    assert_int_equal(a->rank, b->rank);
    assert_true(a->beta == b->beta && a->alpha == b->alpha && a->eta_init == b->eta_init);
    assert_int_equal(a->recurrent, b->recurrent);
    assert_int_equal(a->parallel, b->parallel);
}

static void test_defaults(void **state)
{
    (void)state;
    const model_config nrgpt = model_config_default(MODEL_NRGPT);
    const model_config expected = {.family = MODEL_NRGPT,
                                   .n_embed = 64,
                                   .n_head = 1,
                                   .vocab_size = 20,
                                   .block_size = 128,
                                   .n_layer = 5,
                                   .ff_hid_factor = 4,
                                   .norm_eps = 1e-5,
                                   .ff = MODEL_FF2W,
                                   .strict_mask = true,
                                   .beta = 1.0,
                                   .alpha = 1.0,
                                   .eta_init = 1.0};
    assert_same(&nrgpt, &expected);
    const model_config gpt = model_config_default(MODEL_GPT);
    assert_int_equal(gpt.family, MODEL_GPT);
    assert_int_equal(model_config_check(&nrgpt, NULL), KERN_OK);
    assert_int_equal(model_config_check(&gpt, NULL), KERN_OK);
    model_config read;
    assert_int_equal(model_config_from_json(&read, MODEL_NRGPT, "{}", NULL), KERN_OK);
    assert_same(&read, &nrgpt);
}

static void assert_round_trip(const model_config *config)
{
    char *text;
    model_config back;
    kern_error err = {KERN_OK, ""};
    if (model_config_to_json(config, &text, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    if (model_config_from_json(&back, config->family, text, &err) != KERN_OK) {
        fail_msg("%s in %s", err.text, text);
    }
    assert_same(&back, config);
    free(text);
}

static void test_every_field_round_trips(void **state)
{
    (void)state;
    const model_config nrgpt = {.family = MODEL_NRGPT,
                                .n_embed = 380,
                                .n_head = 8,
                                .vocab_size = 50304,
                                .block_size = 1023,
                                .n_layer = 31,
                                .ff_hid_factor = 3,
                                .norm_eps = 1.0 / 3.0,
                                .dropout = 0.1,
                                .ff = MODEL_FF2,
                                .activation = MODEL_SOFTPLUS,
                                .norm = MODEL_RMSNORM,
                                .eta = MODEL_ETA_PSD_SKEW,
                                .update = MODEL_UPDATE_EXACT,
                                .strict_mask = false,
                                .gamma_trained = true,
                                .rank = 47,
                                .beta = 1.0 / 19.493588689617926,
                                .alpha = -0.7,
                                .eta_init = 0.3};
    assert_round_trip(&nrgpt);
    model_config gpt = model_config_default(MODEL_GPT);
    gpt.n_embed = 380;
    gpt.n_head = 8;
    gpt.dropout = 0.25;
    gpt.recurrent = true;
    assert_round_trip(&gpt);
    gpt.parallel = true;
    assert_round_trip(&gpt);
    for (unsigned i = 0; i < 6; i++) {
        model_config words = model_config_default(MODEL_NRGPT);
        words.ff = (model_ff)(i % 3);
        words.activation = (model_act)((i + 1) % 3);
        words.norm = (model_norm)(i % 2);
        words.eta = (model_eta)i;
        words.update = (model_update)(i / 3);
        assert_round_trip(&words);
    }
}

static void test_json_holds_the_family_s_fields(void **state)
{
    (void)state;
    const char *const common[] = {"n_embed", "n_head",        "vocab_size", "block_size",
                                  "n_layer", "ff_hid_factor", "norm_eps",   "dropout"};
    const char *const nrgpt[] = {"ff",     "activation",  "norm",          "eta",
                                 "update", "strict_mask", "gamma_trained", "rank",
                                 "beta",   "alpha",       "eta_init"};
    const char *const gpt[] = {"recurrent", "parallel"};
    for (int family = 0; family < 2; family++) {
        const model_config config = model_config_default((model_family)family);
        char *text;
        cJSON *object;
        assert_int_equal(model_config_to_json(&config, &text, NULL), KERN_OK);
        assert_int_equal(model_json_parse("it", text, strlen(text), 4096, &object, NULL), KERN_OK);
        for (size_t i = 0; i < 8; i++) {
            assert_true(model_json_has(object, common[i]));
        }
        for (size_t i = 0; i < 11; i++) {
            assert_int_equal(model_json_has(object, nrgpt[i]), family == MODEL_NRGPT);
        }
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(model_json_has(object, gpt[i]), family == MODEL_GPT);
        }
        assert_int_equal(cJSON_GetArraySize(object), family == MODEL_NRGPT ? 19 : 10);
        cJSON_Delete(object);
        free(text);
    }
}

static void test_reads_words_and_flags(void **state)
{
    (void)state;
    model_config config;
    const char text[] = "{\"n_embed\": 12, \"n_head\": 2, \"vocab_size\": 21, \"block_size\": 16, "
                        "\"ff_hid_factor\": 3, \"n_layer\": 5e0, \"ff\": \"ff1\", \"strict_mask\": "
                        "false, \"gamma_trained\": true, \"std\": 0.3, \"eta\": \"psd-skew\"}";
    assert_int_equal(model_config_from_json(&config, MODEL_NRGPT, text, NULL), KERN_OK);
    model_config expected = model_config_default(MODEL_NRGPT);
    expected.n_embed = 12;
    expected.n_head = 2;
    expected.vocab_size = 21;
    expected.block_size = 16;
    expected.ff_hid_factor = 3;
    expected.ff = MODEL_FF1;
    expected.strict_mask = false;
    expected.gamma_trained = true;
    expected.eta = MODEL_ETA_PSD_SKEW;
    assert_same(&config, &expected);
}

typedef struct bad_config {
    model_family family;
    const char *text;
    const char *part;
} bad_config;

static const bad_config bad_configs[] = {
    {MODEL_NRGPT, "", "does not begin with '{'"},
    {MODEL_NRGPT, "[]", "does not begin with '{'"},
    {MODEL_NRGPT, "{\"n_embed\":4} {", "continues behind"},
    {MODEL_NRGPT, "{\"n_embed\":4,\"n_embed\":5}", "the key \"n_embed\" twice"},
    {MODEL_NRGPT, "{\"n_embd\":4}", "unknown key \"n_embd\"; accepted are n_embed, n_head"},
    {MODEL_NRGPT, "{\"recurrent\":true}", "unknown key \"recurrent\""},
    {MODEL_GPT, "{\"ff\":\"ff1\"}", "unknown key \"ff\"; accepted are n_embed"},
    {MODEL_NRGPT, "{\"n_embed\":0}", "\"n_embed\" is 0; accepted is a whole number from 1 to"},
    {MODEL_NRGPT, "{\"n_head\":-2}", "\"n_head\" is -2;"},
    {MODEL_NRGPT, "{\"vocab_size\":20.5}", "\"vocab_size\" is 20.5;"},
    {MODEL_NRGPT, "{\"block_size\":16777217}", "\"block_size\" is 16777217;"},
    {MODEL_NRGPT, "{\"n_layer\":1e300}", "\"n_layer\" is 1e+300;"},
    {MODEL_NRGPT, "{\"ff_hid_factor\":\"4\"}", "\"ff_hid_factor\" is \"4\";"},
    {MODEL_NRGPT, "{\"n_layer\":null}", "\"n_layer\" is null;"},
    {MODEL_NRGPT, "{\"norm_eps\":-1e-5}", "\"norm_eps\" is -1e-05; accepted is a number from 0"},
    {MODEL_NRGPT, "{\"norm_eps\":1e999}", "\"norm_eps\" is too large a number;"},
    {MODEL_NRGPT, "{\"dropout\":1}", "\"dropout\" is 1; accepted is a number from 0 to 0.9999999"},
    {MODEL_NRGPT, "{\"beta\":0}", "\"beta\" is 0;"},
    {MODEL_NRGPT, "{\"strict_mask\":1}", "\"strict_mask\" is 1; accepted is true or false"},
    {MODEL_NRGPT, "{\"std\":\"wide\"}", "\"std\" is \"wide\""},
    {MODEL_NRGPT, "{\"ff\":\"ff3\"}", "\"ff\" is \"ff3\"; accepted are ff1, ff2, ff2w"},
    {MODEL_NRGPT, "{\"ff\":2}", "\"ff\" is 2; accepted is a string"},
    {MODEL_NRGPT, "{\"eta\":\"Full\"}", "accepted are full, gamma, scalar, square, psd, psd-skew"},
    {MODEL_NRGPT, "{\"rank\":65}", "\"rank\" is 65; accepted is 0 (full) or at most n_embed = 64"},
    {MODEL_GPT, "{\"n_head\":65}", "\"n_head\" is 65; accepted are at most n_embed = 64"},
    {MODEL_GPT, "{\"parallel\":true}", "\"parallel\" is true and \"recurrent\" is false"},
    {MODEL_NRGPT, "{\"n_embed\":131072}", "parameters (n_embed 131072,"},
    {MODEL_NRGPT, "{\"n_head\":16777216}", "accepted are at most 17179869184"},
    {MODEL_NRGPT, "{\"ff_hid_factor\":16777216}", "accepted are at most 17179869184"},
    {MODEL_NRGPT, "{\"n_embed\":16777216,\"n_head\":16777216,\"ff_hid_factor\":16777216}",
     "accepted are at most 17179869184"},
    {MODEL_GPT, "{\"n_layer\":16777216}", "accepted are at most 17179869184"},
};

static void test_refuses_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_configs / sizeof bad_configs[0]; i++) {
        model_config config = model_config_default(MODEL_GPT);
        config.n_embed = 77;
        const model_config before = config;
        kern_error err = {KERN_OK, ""};
        assert_int_equal(
            model_config_from_json(&config, bad_configs[i].family, bad_configs[i].text, &err),
            KERN_BAD_INPUT);
        test_error(&err, KERN_BAD_INPUT, bad_configs[i].part);
        assert_same(&config, &before);
        assert_int_equal(
            model_config_from_json(&config, bad_configs[i].family, bad_configs[i].text, NULL),
            KERN_BAD_INPUT);
    }
}

static void assert_checked(const model_config *config, const char *part)
{
    kern_error err = {KERN_OK, ""};
    char *text = test_folder;
    assert_int_equal(model_config_check(config, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, part);
    assert_int_equal(model_config_to_json(config, &text, &err), KERN_INVALID_ARGUMENT);
    assert_null(text);
}

static void test_checks_structs(void **state)
{
    (void)state;
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = 0;
    assert_checked(&c, "\"n_embed\" is 0;");
    c = model_config_default(MODEL_NRGPT);
    c.vocab_size = SIZE_MAX;
    assert_checked(&c, "\"vocab_size\" is 18446744073709551615;");
    c = model_config_default(MODEL_NRGPT);
    c.beta = (double)NAN;
    assert_checked(&c, "\"beta\" is nan;");
    c.beta = (double)INFINITY;
    assert_checked(&c, "\"beta\" is inf; accepted are numbers from 1e-12 to");
    c = model_config_default(MODEL_NRGPT);
    c.dropout = 1.0;
    assert_checked(&c, "\"dropout\" is 1;");
    c = model_config_default(MODEL_NRGPT);
    c.eta = (model_eta)6;
    assert_checked(&c, "\"eta\" is the unknown number 6");
    c.eta = MODEL_ETA_FULL;
    c.family = (model_family)5;
    assert_checked(&c, "family is the unknown number 5");
    c = model_config_default(MODEL_GPT);
    c.n_head = 65;
    assert_checked(&c, "\"n_head\" is 65;");
    c.n_head = 64;
    assert_int_equal(model_config_check(&c, NULL), KERN_OK);
    c = model_config_default(MODEL_NRGPT);
    c.n_head = 65;
    c.rank = 64;
    assert_int_equal(model_config_check(&c, NULL), KERN_OK);
}

/* The limit of 2^34 parameters counts tables, and counts blocks once when they are recurrent. */
static void test_largest_model(void **state)
{
    (void)state;
    model_config c = model_config_default(MODEL_NRGPT);
    c.n_embed = 1024;
    c.vocab_size = (size_t)1 << 22;
    assert_int_equal(model_config_check(&c, NULL), KERN_OK);
    c.vocab_size = (size_t)1 << 23;
    assert_checked(&c, "1.72e+10 parameters");
    c = model_config_default(MODEL_GPT);
    c.n_embed = 1600;
    c.n_head = 25;
    c.vocab_size = 50257;
    c.n_layer = 48;
    assert_int_equal(model_config_check(&c, NULL), KERN_OK);
    c.n_layer = 1000;
    assert_checked(&c, "n_layer 1000");
    c.recurrent = true;
    assert_int_equal(model_config_check(&c, NULL), KERN_OK);
}

static void test_words(void **state)
{
    (void)state;
    model_ff ff;
    model_norm norm;
    model_act act;
    model_eta eta;
    model_update update;
    kern_error err = {KERN_OK, ""};
    assert_string_equal(model_ff_word(MODEL_FF2W), "ff2w");
    assert_string_equal(model_norm_word(MODEL_RMSNORM), "rmsnorm");
    assert_string_equal(model_act_word(MODEL_SOFTPLUS), "softplus");
    assert_string_equal(model_eta_word(MODEL_ETA_SQUARE), "square");
    assert_string_equal(model_update_word(MODEL_UPDATE_EXACT), "exact");
    assert_string_equal(model_eta_word((model_eta)99), "unknown");
    assert_int_equal(model_ff_parse(&ff, "ff2", NULL), KERN_OK);
    assert_int_equal(ff, MODEL_FF2);
    assert_int_equal(model_norm_parse(&norm, "layernorm", NULL), KERN_OK);
    assert_int_equal(norm, MODEL_LAYERNORM);
    assert_int_equal(model_act_parse(&act, "relu", NULL), KERN_OK);
    assert_int_equal(act, MODEL_RELU);
    assert_int_equal(model_eta_parse(&eta, "gamma", NULL), KERN_OK);
    assert_int_equal(eta, MODEL_ETA_GAMMA);
    assert_int_equal(model_update_parse(&update, "published", NULL), KERN_OK);
    assert_int_equal(update, MODEL_UPDATE_PUBLISHED);
    assert_int_equal(model_act_parse(&act, "tanh\x1b", &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT,
               "\"activation\" is \"tanh\\x1b\"; accepted are gelu, relu, softplus");
    assert_int_equal(act, MODEL_RELU);
    assert_int_equal(model_norm_parse(&norm, "", &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "accepted are layernorm, rmsnorm");
    assert_int_equal(model_update_parse(&update, "exactly", &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "accepted are published, exact");
}

static void test_family_names(void **state)
{
    (void)state;
    const char *const names[] = {"nrgpt",   "llama",           "cem", "hourglass", "gpt",
                                 "gpt-rec", "gpt-rec-parallel"};
    const model_family families[] = {MODEL_NRGPT, MODEL_LLAMA, MODEL_CEM, MODEL_HOURGLASS,
                                     MODEL_GPT,   MODEL_GPT,   MODEL_GPT};
    model_config config = model_config_default(MODEL_NRGPT);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(model_config_set_family(&config, names[i], NULL), KERN_OK);
        assert_string_equal(model_config_family_name(&config), names[i]);
        assert_int_equal(config.family, families[i]);
        assert_int_equal(config.recurrent, i >= 5);
        assert_int_equal(config.parallel, i == 6);
        assert_int_equal(model_config_is_stack(&config), i >= 1 && i <= 3);
        assert_int_equal(model_config_has_layers(&config), i >= 1 && i <= 4);
        assert_int_equal(config.attn == MODEL_ATTN_CEM, i == 2);
        assert_int_equal(config.ffn, i == 2   ? MODEL_FFN_CEM
                                     : i == 3 ? MODEL_FFN_HOURGLASS
                                              : MODEL_FFN_LLAMA);
    }
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_config_set_family(&config, "mamba", &err), KERN_INVALID_ARGUMENT);
    test_error(
        &err, KERN_INVALID_ARGUMENT,
        "\"mamba\"; accepted are nrgpt, gpt, gpt-rec, gpt-rec-parallel, llama, cem, hourglass");
    assert_string_equal(model_config_family_name(&config), "gpt-rec-parallel");
}

/* Every published configuration is read, and agrees with the shapes stored beside it. */
static void check_reference(const char *name, size_t *seen)
{
    char path[2 * TEST_PATH];
    (void)snprintf(path, sizeof path, "%s/../shared/reference/%s", BASIN_SOURCE_DIR, name);
    model_safetensors *file;
    model_config config;
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_safetensors_create(&file, path, &err), KERN_OK);
    const char *family = model_safetensors_metadata(file, "family");
    const char *text = model_safetensors_metadata(file, "config");
    assert_int_equal(model_config_set_family(&config, family, &err), KERN_OK);
    if (model_config_from_json(&config, config.family, text, &err) != KERN_OK) {
        fail_msg("%s: %s", name, err.text);
    }
    const size_t shape[] = {2, 10, config.n_embed};
    const model_safetensors_entry *entry;
    char last[32];
    (void)snprintf(last, sizeof last, "state/%zu", config.n_layer);
    if (model_safetensors_require(file, last, 3, shape, &entry, &err) != KERN_OK) {
        fail_msg("%s: %s", name, err.text);
    }
    assert_true((strstr(name, "strict") != NULL) ==
                (config.family == MODEL_NRGPT && config.strict_mask));
    assert_true((strstr(name, "rec") != NULL) == config.recurrent);
    assert_true((strstr(name, "parallel") != NULL) == config.parallel);
    assert_round_trip(&config);
    model_safetensors_destroy(file);
    (*seen)++;
}

static void test_reference_configurations(void **state)
{
    (void)state;
    DIR *folder = opendir(BASIN_SOURCE_DIR "/../shared/reference");
    if (folder == NULL) {
        print_message("the reference files are absent\n");
        skip();
    }
    size_t seen = 0;
    for (const struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        if (strstr(item->d_name, ".safetensors") != NULL) {
            check_reference(item->d_name, &seen);
        }
    }
    (void)closedir(folder);
    assert_true(seen >= 26);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_field_round_trips),
        cmocka_unit_test(test_json_holds_the_family_s_fields),
        cmocka_unit_test(test_reads_words_and_flags),
        cmocka_unit_test(test_refuses_texts),
        cmocka_unit_test(test_checks_structs),
        cmocka_unit_test(test_largest_model),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_family_names),
        cmocka_unit_test(test_reference_configurations),
    };
    return cmocka_run_group_tests_name("model_config", tests, NULL, NULL);
}
