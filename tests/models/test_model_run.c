/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_checkpoint.h"
#include "models/model_file.h"
#include "models/model_metrics.h"
#include "models/model_training_json.h"
#include "models/model_weights.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/model_test_tiny.h"

#include <math.h>

enum { LIMIT = 1 << 24 };

/* ---- Helpers ----------------------------------------------------------------------------- */

static model_tokenizer listops;

static int make_all(void **state)
{
    TINY_OK(model_tokenizer_init_listops(&listops, tiny_err));
    return test_folder_make(state);
}

static int remove_all(void **state)
{
    model_tokenizer_fini(&listops);
    return test_folder_remove(state);
}

static const char *in_folder(char out[TEST_PATH], const char *folder, const char *name)
{
    (void)snprintf(out, TEST_PATH, "%.250s/%.200s", folder, name);
    return out;
}

/* A recipe over borrowed parts. */
typedef struct parts {
    model_config config;
    model_training training;
    model_recipe recipe;
} parts;

static void make_parts(parts *p, model_family family)
{
    p->config = tiny_config(family);
    p->training = tiny_training(2);
    p->recipe = (model_recipe){.config = &p->config,
                               .tokenizer = &listops,
                               .data_kind = "listops",
                               .data_path = "some \"odd\" path/ü.txt",
                               .training = &p->training};
}

/* A new run in a folder that did not exist. */
static const char *begin_run(char folder[TEST_PATH], const char *name, const parts *p)
{
    test_path(folder, name);
    test_remove_tree(folder);
    TINY_OK(model_run_begin(folder, &p->recipe, false, tiny_err));
    return folder;
}

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    TINY_OK(model_file_read(path, LIMIT, &text, &size, tiny_err));
    return text;
}

/* ---- Folder and config.json -------------------------------------------------------------- */

static void assert_same_training(const model_training *a, const model_training *b)
{
    char *left = NULL;
    char *right = NULL;
    TINY_OK(model_training_to_text(a, &left, tiny_err));
    TINY_OK(model_training_to_text(b, &right, tiny_err));
    assert_string_equal(left, right);
    free(left);
    free(right);
}

static void test_config_survives(void **state)
{
    (void)state;
    static const char *const families[] = {"nrgpt", "gpt", "gpt-rec",  "gpt-rec-parallel",
                                           "llama", "cem", "hourglass"};
    for (size_t i = 0; i < 7; i++) {
        parts p;
        char folder[TEST_PATH];
        model_run run;
        make_parts(&p, MODEL_NRGPT);
        TINY_OK(model_config_set_family(&p.config, families[i], tiny_err));
        p.config.norm_eps = 1e-5 * (1 + 0x1p-52); /* a bit that rounding would lose */
        p.config.vocab_size = 32;                 /* padded beyond the tokenizer's 20 */
        p.training.adamw.beta2 = 1.0 / 3.0;
        p.training.adamw.decay_vectors = true;
        p.training.recompute = true;
        p.training.micro_batch = 2;
        p.training.seed = UINT64_MAX;
        p.training.schedule.kind = MODEL_SCHEDULE_EXPONENTIAL;
        begin_run(folder, "round/trip", &p);
        TINY_OK(model_run_init(&run, folder, tiny_err));
        assert_string_equal(model_config_family_name(&run.config), families[i]);
        assert_memory_equal(&run.config.norm_eps, &p.config.norm_eps, sizeof(double));
        assert_int_equal(run.config.vocab_size, 32);
        assert_same_training(&run.training, &p.training);
        assert_int_equal(run.tokenizer.kind, MODEL_TOKEN_WORD);
        assert_string_equal(run.tokenizer.words[6], "median_10");
        assert_int_equal(run.tokenizer.eos, 0);
        assert_string_equal(run.data_kind, "listops");
        assert_string_equal(run.data_path, p.recipe.data_path);
        run.training.schedule.total = 123;
        TINY_OK(model_run_write(&run, tiny_err));
        model_run_fini(&run);
        TINY_OK(model_run_init(&run, folder, tiny_err));
        assert_int_equal(run.training.schedule.total, 123);
        model_run_fini(&run);
        model_run_fini(&run);
    }
}

static void test_other_tokenizers_survive(void **state)
{
    (void)state;
    parts p;
    char folder[TEST_PATH];
    model_run run;
    model_tokenizer t;
    make_parts(&p, MODEL_GPT);
    p.recipe.tokenizer = &t;
    p.recipe.data_kind = "tokens";
    TINY_OK(model_tokenizer_init_raw(&t, 17, tiny_err));
    begin_run(folder, "raw", &p);
    TINY_OK(model_run_init(&run, folder, tiny_err));
    assert_int_equal(run.tokenizer.kind, MODEL_TOKEN_RAW);
    assert_int_equal(run.tokenizer.vocab_size, 17);
    model_run_fini(&run);
    p.recipe.data_kind = "chars";
    static const char text[] = "\n \"\\aé€";
    TINY_OK(model_tokenizer_init_chars(&t, text, strlen(text), tiny_err));
    begin_run(folder, "chars", &p);
    TINY_OK(model_run_init(&run, folder, tiny_err));
    assert_int_equal(run.tokenizer.vocab_size, t.vocab_size);
    for (size_t i = 0; i < t.vocab_size; i++) {
        assert_string_equal(run.tokenizer.words[i], t.words[i]);
    }
    model_run_fini(&run);
    model_tokenizer_fini(&t);
}

static void assert_begin_refused(const parts *p, const char *folder, const char *part)
{
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_run_begin(folder, &p->recipe, false, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, part);
}

static void test_begin_refuses(void **state)
{
    (void)state;
    parts p;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    make_parts(&p, MODEL_NRGPT);
    begin_run(folder, "taken", &p);
    assert_begin_refused(&p, folder, "already holds a run (it has config.json)");
    in_folder(path, folder, MODEL_RUN_METRICS);
    test_write(path, "x", 1);
    in_folder(path, folder, MODEL_RUN_OPTIMIZER MODEL_RUN_NEXT);
    test_write(path, "x", 1);
    in_folder(path, folder, "notes.txt");
    test_write(path, "x", 1);
    in_folder(path, folder, MODEL_RUN_CONFIG);
    assert_int_equal(remove(path), 0);
    assert_begin_refused(&p, folder, "already holds a run (it has metrics.csv)");
    TINY_OK(model_run_begin(folder, &p.recipe, true, tiny_err));
    /* config.json, what waits to become the new run, and what is not ours */
    assert_int_equal(test_count_entries(folder), 3);
    in_folder(path, folder, MODEL_RUN_METRICS);
    assert_int_not_equal(access(path, F_OK), 0);

    test_path(path, "taken/notes.txt");
    assert_begin_refused(&p, path, "is a file where a folder");
    test_path(folder, "never");
    p.recipe.data_kind = "cats";
    assert_begin_refused(&p, folder, "the kind of data is \"cats\"; accepted are listops");
    p.recipe.data_kind = "listops";
    p.config.vocab_size = 19;
    assert_begin_refused(&p, folder, "the tokenizer has 20 tokens; accepted are 1 to the 19");
    p.config.vocab_size = 0;
    assert_begin_refused(&p, folder, "vocab_size");
    p.config.vocab_size = 20;
    p.training.batch = 0;
    assert_begin_refused(&p, folder, "a batch of 0 windows");
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void test_one_training_at_a_time(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    int first = 0;
    int second = 0;
    kern_error err = {KERN_OK, ""};
    test_path(folder, "locked");
    assert_int_equal(model_run_lock(&first, folder, &err), KERN_NOT_FOUND);
    test_error(&err, KERN_NOT_FOUND, "locked");
    assert_int_equal(first, -1);
    model_run_unlock(first);
    assert_int_equal(mkdir(folder, 0777), 0);
    TINY_OK(model_run_lock(&first, folder, tiny_err));
    assert_int_equal(model_run_lock(&second, folder, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, folder);
    assert_int_equal(second, -1);
    model_run_unlock(first);
    TINY_OK(model_run_lock(&second, folder, tiny_err));
    model_run_unlock(second);
    assert_int_equal(test_count_entries(folder), 0);
}

/* The text of config.json with one piece replaced. */
typedef struct edit {
    const char *from;
    const char *to;
    const char *part;
} edit;

static const edit edits[] = {
    {"{", "[", "does not begin with '{'"},
    {"\"format\":\t\"basin-run\"", "\"format\":\"other\"", "\"format\" is \"other\""},
    {"\"format\":\t\"basin-run\",", "", "the key \"format\" is missing"},
    {"\"version\":\t1", "\"version\":2", "\"version\" is 2; accepted is 1"},
    {"\"version\":\t1", "\"version\":\"1\"", "\"version\" is \"1\""},
    {"\"version\":\t1,", "", "the key \"version\" is missing"},
    {"\"family\":\t\"nrgpt\"", "\"family\":\"mamba\"", "the model family is \"mamba\"; accepted"},
    {"\"family\":\t\"nrgpt\"", "\"family\":\"gpt\"", "unknown key \"ff\""},
    {"\"family\":\t\"nrgpt\",", "", "the key \"family\" is missing"},
    {"\"family\"", "\"colour\":1,\"family\"", "unknown key \"colour\"; accepted are format, ver"},
    {"\"n_embed\":\t12,", "", "the key \"n_embed\" of \"model\" is missing"},
    {"\"beta\":\t1,", "", "the key \"beta\" of \"model\" is missing"},
    {"\"n_embed\":\t12", "\"n_embed\":-3", "\"n_embed\" is -3"},
    {"\"model\"", "\"module\"", "unknown key \"module\""},
    {"\"kind\":\t\"word\"", "\"kind\":\"bpe\"", "'bpe' is not a kind of tokenizer"},
    {"\"kind\":\t\"word\"", "\"kind\":\"raw\"", "unknown key \"vocab\"; accepted are kind, voc"},
    {"\"vocab\":", "\"words\":", "unknown key \"words\""},
    {"\"median_10\"", "\"max_10\"", "'max_10' is in the vocabulary twice"},
    {"\"median_10\"", "7", "entry 6 of \"vocab\" is not a string"},
    {"\"kind\":\t\"listops\"", "\"kind\":\"cats\"", "the kind of data is \"cats\""},
    {"\"path\"", "\"file\"", "unknown key \"file\"; accepted are kind, path"},
    {"\"kind\":\t\"listops\",", "", "the key \"kind\" is missing"},
    {"\"batch\":\t6,", "", "the key \"batch\" is missing"},
    {"\"batch\":\t6,", "\"batch\":0,", "\"batch\" is 0"},
    {"\"threads\":\t2", "\"threads\":2.5", "\"threads\" is 2.5"},
    {"\"beta1\":\t0.9", "\"beta1\":1", "AdamW's β = (1, 0.99)"},
    {"\"beta1\":\t0.9,", "", "the key \"beta1\" is missing"},
    {"\"peak\":\t0.003", "\"peak\":\"fast\"", "\"peak\" is \"fast\""},
    {"\"kind\":\t\"constant\"", "\"kind\":\"jumpy\"", "jumpy"},
    {"\"seed\":\t77", "\"seed\":-1", "\"seed\" is -1"},
    {"\"seed\":\t77", "\"seed\":77,\"luck\":1", "unknown key \"luck\""},
};

static void write_edited(const char *path, const char *text, const edit *e)
{
    const char *at = strstr(text, e->from);
    if (at == NULL) {
        fail_msg("'%s' is not in: %s", e->from, text);
        return;
    }
    const model_file_chunk chunks[] = {{text, (size_t)(at - text)},
                                       {e->to, strlen(e->to)},
                                       {at + strlen(e->from), strlen(at) - strlen(e->from)}};
    TINY_OK(model_file_write_atomic(path, chunks, 3, tiny_err));
}

static void test_config_is_strict(void **state)
{
    (void)state;
    parts p;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    model_run run;
    make_parts(&p, MODEL_NRGPT);
    begin_run(folder, "strict", &p);
    in_folder(path, folder, MODEL_RUN_CONFIG);
    char *text = NULL;
    size_t size = 0;
    TINY_OK(model_file_read(path, LIMIT, &text, &size, tiny_err));
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        kern_error err = {KERN_OK, ""};
        write_edited(path, text, &edits[i]);
        assert_int_equal(model_run_init(&run, folder, &err), KERN_BAD_INPUT);
        test_error(&err, KERN_BAD_INPUT, edits[i].part);
        test_error(&err, KERN_BAD_INPUT, "config.json");
        assert_null(run.folder);
    }
    free(text);
    kern_error err = {KERN_OK, ""};
    test_path(folder, "no-run");
    assert_int_equal(model_run_init(&run, folder, &err), KERN_NOT_FOUND);
    test_error(&err, KERN_NOT_FOUND, "is no run");
}

/* ---- Weights ----------------------------------------------------------------------------- */

static void assert_same_values(const model *a, const model *b)
{
    assert_int_equal(a->params.length, b->params.length);
    for (size_t i = 0; i < a->params.length; i++) {
        const double x = model_value_get(a, i);
        const double y = model_value_get(b, i);
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static void test_model_loads_in_both_precisions(void **state)
{
    (void)state;
    for (int family = 0; family < 2; family++) {
        parts p;
        char folder[TEST_PATH];
        char path[TEST_PATH];
        model_run run;
        size_t step = 99;
        make_parts(&p, family == 0 ? MODEL_NRGPT : MODEL_GPT);
        begin_run(folder, "weights", &p);
        TINY_OK(model_run_init(&run, folder, tiny_err));
        model *m = tiny_model(&p.config, &kern_backend_cpu_f32);
        char hash[MODEL_WEIGHTS_HASH];
        model_weights_hash(m, hash);
        const model_safetensors_pair extra[] = {{"step", "42"}, {"weights", hash}};
        in_folder(path, folder, MODEL_RUN_MODEL);
        TINY_OK(model_weights_write(m, path, extra, 2, tiny_err));
        for (int wide = 0; wide < 2; wide++) {
            model *back = NULL;
            TINY_OK(model_run_load_model(&back, &step, &run,
                                         wide == 0 ? &kern_backend_cpu_f32 : &kern_backend_cpu_f64,
                                         tiny_err));
            assert_int_equal(step, 42);
            assert_same_values(m, back);
            model_destroy(back);
        }
        model *wide = NULL;
        TINY_OK(model_convert(&wide, m, &kern_backend_cpu_f64, tiny_err));
        TINY_OK(model_weights_write(wide, path, NULL, 0, tiny_err));
        model *back = NULL;
        TINY_OK(model_run_load_model(&back, &step, &run, &kern_backend_cpu_f32, tiny_err));
        assert_int_equal(step, 0);
        assert_same_values(m, back);
        model_destroy(back);
        model_destroy(wide);
        model_destroy(m);
        model_run_fini(&run);
    }
}

static void assert_load_refused(const model_run *run, kern_status status, const char *part)
{
    model *m = NULL;
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_run_load_model(&m, NULL, run, &kern_backend_cpu_f32, &err), status);
    assert_null(m);
    test_error(&err, status, part);
    test_error(&err, status, MODEL_RUN_MODEL);
}

/* How a bare file differs from all tensors of a model by their own names. */
typedef struct bare {
    const char *prefix;
    const char *drop;  /* not written */
    const char *shape; /* written as a vector */
    const char *extra; /* written in addition */
} bare;

static void write_bare(const char *path, const model *m, const bare *b)
{
    enum { MOST = 64 };
    model_safetensors_tensor tensors[MOST];
    char names[MOST][2 * MODEL_PARAM_NAME];
    size_t n = 0;
    assert_true(m->params.count < MOST - 2);
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        if (b->drop != NULL && strcmp(p->name, b->drop) == 0) {
            continue;
        }
        const bool flat = b->shape != NULL && strcmp(p->name, b->shape) == 0;
        (void)snprintf(names[n], sizeof names[n], "%s%s", b->prefix, p->name);
        tensors[n] = (model_safetensors_tensor){.name = names[n],
                                                .dtype = MODEL_DTYPE_F64,
                                                .rank = flat ? 1 : p->rank,
                                                .data = (const double *)m->values + p->offset};
        tensors[n].shape[0] = p->rank == 2 ? p->rows : p->cols;
        tensors[n].shape[1] = p->cols;
        n++;
    }
    if (b->extra != NULL) {
        tensors[n++] = (model_safetensors_tensor){
            .name = b->extra, .dtype = MODEL_DTYPE_F64, .rank = 0, .data = m->values};
    }
    TINY_OK(model_safetensors_write(path, tensors, n, NULL, 0, tiny_err));
}

static void test_bare_files(void **state)
{
    (void)state;
    char path[TEST_PATH];
    const model_config config = tiny_config(MODEL_NRGPT);
    model *m = tiny_model(&config, &kern_backend_cpu_f64);
    model *back = NULL;
    test_path(path, "bare.safetensors");
    static const bare good[] = {
        {"", NULL, NULL, NULL}, {"param/", NULL, NULL, NULL}, {"param/", NULL, NULL, "grad/x"}};
    for (size_t i = 0; i < 3; i++) {
        write_bare(path, m, &good[i]);
        TINY_OK(model_create(&back, &config, &kern_backend_cpu_f64, tiny_err));
        TINY_OK(model_weights_read_file(back, path, tiny_err));
        assert_same_values(m, back);
        model_destroy(back);
    }
    static const struct {
        bare file;
        const char *part;
    } bad[] = {
        {{"", "lm_head.bias", NULL, NULL}, "has no tensor 'lm_head.bias'"},
        {{"param/", "ln_f.bias", NULL, NULL}, "has no tensor 'param/ln_f.bias'"},
        {{"", NULL, NULL, "blocks.attn.heads.2.H.weight"}, "heads.2.H.weight', which a model of"},
        {{"param/", NULL, NULL, "param/x"}, "has the tensor 'param/x'"},
        {{"", NULL, NULL, "grad/x"}, "has the tensor 'grad/x'"},
        {{"", NULL, "blocks.proj.weight", NULL}, "has the shape"},
    };
    TINY_OK(model_create(&back, &config, &kern_backend_cpu_f64, tiny_err));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kern_error err = {KERN_OK, ""};
        write_bare(path, m, &bad[i].file);
        assert_int_equal(model_weights_read_file(back, path, &err), KERN_BAD_INPUT);
        test_error(&err, KERN_BAD_INPUT, bad[i].part);
        test_error(&err, KERN_BAD_INPUT, "bare.safetensors");
    }
    model_destroy(back);
    model_destroy(m);
}

static void test_bad_weights_are_refused(void **state)
{
    (void)state;
    parts p;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    model_run run;
    make_parts(&p, MODEL_NRGPT);
    begin_run(folder, "bad", &p);
    TINY_OK(model_run_init(&run, folder, tiny_err));
    assert_load_refused(&run, KERN_NOT_FOUND, "does not exist");
    in_folder(path, folder, MODEL_RUN_MODEL);
    static const double odd[] = {(double)NAN, (double)INFINITY, 1e300};
    for (size_t i = 0; i < 3; i++) {
        model *m = tiny_model(&p.config, &kern_backend_cpu_f64);
        model_value_set(m, m->params.items[4].offset + 3, odd[i]);
        TINY_OK(model_weights_write(m, path, NULL, 0, tiny_err));
        assert_load_refused(&run, KERN_BAD_INPUT, "weight 3 of ");
        model_destroy(m);
    }
    model *m = tiny_model(&p.config, &kern_backend_cpu_f32);
    const model_safetensors_pair extra[] = {{"step", "many"}};
    TINY_OK(model_weights_write(m, path, extra, 1, tiny_err));
    assert_load_refused(&run, KERN_BAD_INPUT, "is \"many\"; a whole number");
    m->config.n_layer = 4;
    TINY_OK(model_weights_write(m, path, NULL, 0, tiny_err));
    assert_load_refused(&run, KERN_BAD_INPUT, "a model whose \"n_layer\" differs");
    model_destroy(m);
    static const char *const families[] = {"gpt",   "gpt-rec", "gpt-rec-parallel",
                                           "llama", "cem",     "hourglass"};
    for (size_t i = 0; i < 6; i++) {
        char part[128];
        model_config other = tiny_config(MODEL_GPT);
        TINY_OK(model_config_set_family(&other, families[i], tiny_err));
        m = tiny_model(&other, &kern_backend_cpu_f32);
        TINY_OK(model_weights_write(m, path, NULL, 0, tiny_err));
        (void)snprintf(part, sizeof part, "a model of family %s; expected is nrgpt", families[i]);
        assert_load_refused(&run, KERN_BAD_INPUT, part);
        model_destroy(m);
    }
    test_write(path, "garbage", 7);
    assert_load_refused(&run, KERN_BAD_INPUT, "too few for a safetensors file");
    model_run_fini(&run);
}

/* The authors' names and shapes, in files that this project did not write. */
static void test_reference_files_load(void **state)
{
    (void)state;
    static const char *const names[] = {"nrgpt-ff1-strict", "nrgpt-ff2-inclusive",
                                        "nrgpt-ff2w-strict", "gpt-gpt", "gpt-gpt_rec_parallel"};
    for (size_t i = 0; i < 5; i++) {
        char path[TEST_PATH];
        model_safetensors *file = NULL;
        model_config config;
        model *m = NULL;
        (void)snprintf(path, sizeof path, "%s/../shared/reference/%s.safetensors", BASIN_SOURCE_DIR,
                       names[i]);
        if (access(path, R_OK) != 0) {
            print_message("%s is not there\n", path);
            skip();
        }
        TINY_OK(model_safetensors_create(&file, path, tiny_err));
        TINY_OK(model_weights_config(&config, file, path, tiny_err));
        TINY_OK(model_create(&m, &config, &kern_backend_cpu_f64, tiny_err));
        TINY_OK(model_weights_read(m, file, path, tiny_err));
        const model_param *p = model_params_find(&m->params, "lm_head.weight");
        assert_true(fabs(model_value_get(m, p->offset + 7)) > 0);
        model_destroy(m);
        model_safetensors_destroy(file);
    }
}

/* ---- Metrics ----------------------------------------------------------------------------- */

static model_metrics_row row_of(size_t step)
{
    const double s = (double)step;
    return (model_metrics_row){.step = step,
                               .tokens = 100 * step,
                               .loss = 3.0 - 0.1 * s,
                               .val_loss = step % 2 == 0 ? 1.0 / 3.0 : (double)NAN,
                               .rate = 2e-3,
                               .gradient_norm = (double)INFINITY,
                               .tokens_per_s = 1e6,
                               .seconds = 0.5 * s};
}

static void append_rows(const char *folder, size_t kept, size_t from, size_t to, double seconds)
{
    model_metrics *metrics = NULL;
    TINY_OK(model_metrics_create(&metrics, folder, kept, tiny_err));
    assert_true(fabs(model_metrics_seconds(metrics) - seconds) < 1e-12);
    for (size_t i = from; i <= to; i++) {
        const model_metrics_row row = row_of(i);
        TINY_OK(model_metrics_append(metrics, &row, tiny_err));
    }
    /* What is on the disk must not wait for the end. */
    char path[TEST_PATH];
    char *text = read_text(in_folder(path, folder, MODEL_RUN_METRICS));
    assert_true(text[strlen(text) - 1] == '\n');
    free(text);
    model_metrics_destroy(metrics);
}

static void test_metrics(void **state)
{
    (void)state;
    char path[TEST_PATH];
    in_folder(path, test_folder, MODEL_RUN_METRICS);
    append_rows(test_folder, 0, 1, 3, 0);
    char *text = read_text(path);
    assert_string_equal(text, MODEL_METRICS_HEADER "\n1,100,2.9,,0.002,,1000000,0.5\n"
                                                   "2,200,2.8,0.3333333333333333,0.002,,1000000,1\n"
                                                   "3,300,2.7,,0.002,,1000000,1.5\n");
    free(text);
    /* A last line that a break cut, and rows beyond the checkpoint, are written again. */
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs("4,40", file) >= 0);
    assert_int_equal(fclose(file), 0);
    append_rows(test_folder, 2, 3, 4, 1.0);
    text = read_text(path);
    assert_non_null(strstr(text, "\n3,300,2.7,,0.002,,1000000,1.5\n4,400,2.6,"));
    assert_null(strstr(text, "4,40\n"));
    free(text);
    append_rows(test_folder, 9, 5, 5, 2.0);
    append_rows(test_folder, 0, 1, 1, 0);
    text = read_text(path);
    assert_string_equal(text, MODEL_METRICS_HEADER "\n1,100,2.9,,0.002,,1000000,0.5\n");
    free(text);
}

static void test_bad_metrics_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"step,loss\n", "line 1 of"},
        {MODEL_METRICS_HEADER "x\n", "line 1 of"},
        {MODEL_METRICS_HEADER "\n1,2,3\n", "line 2 of"},
        {MODEL_METRICS_HEADER "\n1,1,1,1,1,1,1,1\nx,1,1,1,1,1,1,1\n", "line 3 of"},
        {MODEL_METRICS_HEADER "\n1,1,1,1,1,1,1,1\n\n", "line 3 of"},
        {MODEL_METRICS_HEADER "\n1,1,one,1,1,1,1,1\n", "line 2 of"},
        {MODEL_METRICS_HEADER "\n99999999999999999999,1,1,1,1,1,1,1\n", "line 2 of"},
    };
    char path[TEST_PATH];
    model_metrics *metrics = NULL;
    in_folder(path, test_folder, MODEL_RUN_METRICS);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kern_error err = {KERN_OK, ""};
        test_write(path, bad[i][0], strlen(bad[i][0]));
        assert_int_equal(model_metrics_create(&metrics, test_folder, 7, &err), KERN_BAD_INPUT);
        assert_null(metrics);
        test_error(&err, KERN_BAD_INPUT, bad[i][1]);
        char *text = read_text(path);
        assert_string_equal(text, bad[i][0]);
        free(text);
    }
    test_write(path, MODEL_METRICS_HEADER, strlen(MODEL_METRICS_HEADER));
    append_rows(test_folder, 7, 1, 1, 0);
    kern_error err = {KERN_OK, ""};
    assert_int_not_equal(model_metrics_create(&metrics, "/nonexistent-folder", 0, &err), KERN_OK);
    assert_non_null(strstr(err.text, "/nonexistent-folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_survives),
        cmocka_unit_test(test_other_tokenizers_survive),
        cmocka_unit_test(test_begin_refuses),
        cmocka_unit_test(test_one_training_at_a_time),
        cmocka_unit_test(test_config_is_strict),
        cmocka_unit_test(test_model_loads_in_both_precisions),
        cmocka_unit_test(test_bare_files),
        cmocka_unit_test(test_bad_weights_are_refused),
        cmocka_unit_test(test_reference_files_load),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_bad_metrics_are_refused),
    };
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
