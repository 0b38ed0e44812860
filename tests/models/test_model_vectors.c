/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference vectors: every file passes, a changed one fails and names what was
 * changed, a foreign one is refused; and a file of other sizes, made by plain loops, passes too.
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
#include "kernels/kern_rng.h"
#include "models/model_config.h"
#include "models/model_file.h"
#include "models/model_safetensors.h"
#include "models/model_vectors.h"
#include "tests/models/model_test_folder.h"
#include "tests/models/ref_nrgpt.h"

#include <math.h>

static const char *const known_files[] = {
    "nrgpt-ff1-strict",
    "nrgpt-ff1-inclusive",
    "nrgpt-ff2-strict",
    "nrgpt-ff2-inclusive",
    "nrgpt-ff2w-strict",
    "nrgpt-ff2w-inclusive",
    "gpt-gpt",
    "gpt-gpt_rec",
    "gpt-gpt_rec_parallel",
    "cem-attn-only",
    "cem-mlp-only",
    "cem-mlpb",
    "cem-t1-lowrank",
    "cem-t2-dlr",
    "cem-t2-exact",
    "cem-t2-once",
    "cem-t2-plain",
    "cem-t2-shared",
    "cem-t3-sync",
    "cem-t4-perhead",
    "llama",
    "hourglass-A",
    "hourglass-B",
    "hourglass-C",
    "hourglass-D",
    "hourglass-narrow-attn",
};

static void reference_path(char *path, size_t size, const char *name)
{
    (void)snprintf(path, size, "%s/../shared/reference/%s.safetensors", BASIN_SOURCE_DIR, name);
}

/* The file's bytes, or skips the test when the reference set is absent. */
static char *read_reference(const char *name, size_t *size)
{
    char path[4096];
    char *bytes = NULL;
    kern_error err = {0};
    reference_path(path, sizeof path, name);
    if (model_file_read(path, (size_t)1 << 30, &bytes, size, &err) != KERN_OK) {
        print_message("reference vectors are not at hand: %s\n", err.text);
        skip();
    }
    return bytes;
}

static void test_reference_files_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known_files / sizeof *known_files; i++) {
        char path[4096];
        size_t size;
        model_vectors_report report;
        kern_error err = {0};
        free(read_reference(known_files[i], &size));
        reference_path(path, sizeof path, known_files[i]);
        const kern_status status = model_vectors_check(path, &report, &err);
        print_message("%-24s %3zu tensors, worst %s at %.2f of its bound, largest error %.1e %s\n",
                      known_files[i], report.checked, report.worst, report.worst_err,
                      report.max_rel_err, err.text);
        assert_int_equal(status, KERN_OK);
        assert_true(report.known_family);
        assert_true(report.checked >= 20);
        assert_int_equal(report.failed, 0);
    }
}

/* ---- changed files -------------------------------------------------------------------------- */

/* Writes bytes to a file of the test's folder and checks that. */
static kern_status check_bytes(const char *bytes, size_t size, model_vectors_report *report,
                               kern_error *err)
{
    char path[TEST_PATH];
    test_write(test_path(path, "changed.safetensors"), bytes, size);
    *err = (kern_error){0};
    return model_vectors_check(path, report, err);
}

/* First byte of a tensor's data in the file named `file`. */
static size_t offset_of(const char *file, const char *tensor, size_t *count)
{
    char path[4096];
    model_safetensors *open = NULL;
    reference_path(path, sizeof path, file);
    assert_int_equal(model_safetensors_create(&open, path, NULL), KERN_OK);
    const model_safetensors_entry *entry = model_safetensors_find(open, tensor);
    assert_non_null(entry);
    const size_t offset = entry->offset;
    *count = entry->count;
    model_safetensors_destroy(open);
    return offset;
}

/* One value of tensor `name` off by a millionth, and then not a number, fails and is named. */
static void check_changed(const char *file, const char *name, char *bytes, size_t size)
{
    size_t count;
    double value;
    double changed;
    model_vectors_report report;
    kern_error err;
    const size_t offset = offset_of(file, name, &count) + count / 2 * sizeof value;
    memcpy(&value, bytes + offset, sizeof value);
    changed = value + 1e-6 * (1 + fabs(value));
    for (int k = 0; k < 2; k++) {
        memcpy(bytes + offset, &changed, sizeof value);
        assert_int_equal(check_bytes(bytes, size, &report, &err), KERN_OK);
        assert_int_equal(report.failed, 1);
        assert_string_equal(report.worst, name);
        assert_true(report.worst_err > 1);
        changed = (double)NAN;
    }
    memcpy(bytes + offset, &value, sizeof value);
}

/* Every kind of tensor that is compared. */
static void test_a_changed_value_fails(void **state)
{
    static const char *const names[][2] = {
        {"nrgpt-ff1-inclusive", "state/0"},
        {"nrgpt-ff1-inclusive", "state/2"},
        {"nrgpt-ff1-inclusive", "energy_attn/1"},
        {"nrgpt-ff1-inclusive", "energy_ff/0"},
        {"nrgpt-ff1-inclusive", "logits"},
        {"nrgpt-ff1-inclusive", "loss"},
        {"nrgpt-ff1-inclusive", "grad/blocks.ffwd.net.0.weight"},
        {"nrgpt-ff1-inclusive", "grad/blocks.scale_ff"},
        {"nrgpt-ff1-inclusive", "grad/lm_head.bias"},
        {"nrgpt-ff1-inclusive", "grad_g_published/1"},
        {"nrgpt-ff1-inclusive", "grad_g_exact/1"},
        {"nrgpt-ff1-inclusive", "jvp_out"},
        {"nrgpt-ff1-inclusive", "vjp_out"},
        {"nrgpt-ff1-inclusive", "jac_token_blocks"},
        {"nrgpt-ff1-inclusive", "jac_eig_abs_sorted"},
        {"cem-t2-dlr", "trace/layers.0.attn/0/energy"},
        {"cem-t2-dlr", "trace/layers.1.attn/2/energy"},
        {"cem-t2-dlr", "trace/layers.1.mlp/1/x"},
        {"cem-t2-dlr", "trace/layers.1.mlp/2/energy"},
        {"cem-t2-dlr", "grad/layers.0.attn.p_v"},
        {"cem-t2-dlr", "grad/layers.1.attn.diag"},
        {"hourglass-A", "trace/layers.1.hg/2/x"},
        {"hourglass-A", "grad/layers.0.hg.1.w_down"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        char *bytes = read_reference(names[i][0], &size);
        check_changed(names[i][0], names[i][1], bytes, size);
        free(bytes);
    }
}

/* Replaces the first occurrence of `from` in the header by `to`, of the same length. */
static void rename_in_header(char *bytes, const char *from, const char *to)
{
    uint64_t length;
    memcpy(&length, bytes, sizeof length);
    for (size_t i = 8; i + strlen(from) <= length + 8; i++) {
        if (memcmp(bytes + i, from, strlen(from)) == 0) {
            assert_int_equal(strlen(from), strlen(to));
            memcpy(bytes + i, to, strlen(to));
            return;
        }
    }
    fail_msg("%s is not in the header", from);
}

static void test_foreign_names_are_refused(void **state)
{
    static const char nrgpt[] = "nrgpt-ff2w-strict";
    static const char cem[] = "cem-t2-once";
    static const char *const changes[][4] = {
        {nrgpt, "\"logits\"", "\"logitz\"", "tensor logitz has no known meaning"},
        {nrgpt, "\"param/ln_f.bias\"", "\"param/ln_f.bixs\"", "lacks tensor param/ln_f.bias"},
        {nrgpt, "\"grad/ln_f.bias\"", "\"grad/ln_f.bixs\"", "grad/ln_f.bixs is no parameter"},
        {nrgpt, "\"state/2\"", "\"state/9\"", "state/9 does not name a step"},
        {nrgpt, "\"state/1\"", "\"state/x\"", "state/1"},
        {nrgpt, "\"energy_ff/1\"", "\"energy_ff/ \"", "does not name a step"},
        {nrgpt, "\"jvp_in\"", "\"jvp_ix\"", "jvp_i"},
        {nrgpt, "\"idx\"", "\"idy\"", "token ids \"idx\""},
        {nrgpt, "\"targets\"", "\"targetz\"", "targets"},
        {nrgpt, "\"config\"", "\"konfig\"", "\"config\""},
        {nrgpt, "\"family\"", "\"gamily\"", "no family"},
        {cem, "\"trace/layers.0.attn/2/x\"", "\"trace/layers.0.attn/3/x\"", "means nothing"},
        {cem, "\"trace/layers.1.mlp/0/x\"", "\"trace/layers.2.mlp/0/x\"", "means nothing"},
        {cem, "\"trace/layers.1.mlp/0/x\"", "\"trace/layers.1.mlp/0/y\"", "means nothing"},
        {cem, "\"trace/layers.1.mlp/1/x\"", "\"trace/layers.1.mlq/1/x\"", "means nothing"},
        {"hourglass-A", "\"trace/layers.1.hg/0/x\"", "\"trace/layers.1.hg/3/x\"", "means nothing"},
        {"hourglass-B", "\"grad/layers.0.hg.0.norm\"", "\"grad/layers.0.hg.1.norm\"",
         "grad/layers.0.hg.1.norm is no parameter"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        size_t size;
        model_vectors_report report;
        kern_error err;
        char *bytes = read_reference(changes[i][0], &size);
        rename_in_header(bytes, changes[i][1], changes[i][2]);
        const kern_status status = check_bytes(bytes, size, &report, &err);
        if (strstr(err.text, changes[i][3]) == NULL) {
            fail_msg("\"%s\" is not in: %s", changes[i][3], err.text);
        }
        assert_true(status == KERN_BAD_INPUT || status == KERN_NOT_FOUND);
        free(bytes);
    }
}

static void test_an_unknown_family_is_not_checked(void **state)
{
    (void)state;
    size_t size;
    model_vectors_report report;
    kern_error err;
    char *bytes = read_reference("nrgpt-ff2w-strict", &size);
    rename_in_header(bytes, "\"nrgpt\"", "\"other\"");
    assert_int_equal(check_bytes(bytes, size, &report, &err), KERN_OK);
    assert_false(report.known_family);
    assert_int_equal(report.checked, 0);
    assert_string_equal(report.family, "other");
    free(bytes);
}

static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    static const char file[] = "gpt-gpt_rec";
    size_t size;
    size_t count;
    int64_t id = 1000000;
    double weight = (double)INFINITY;
    model_vectors_report report;
    kern_error err;
    char *bytes = read_reference(file, &size);
    assert_int_equal(check_bytes(bytes, size - 8, &report, &err), KERN_BAD_INPUT);
    assert_int_equal(check_bytes(bytes, 100, &report, &err), KERN_BAD_INPUT);
    assert_int_equal(check_bytes(bytes, 0, &report, &err), KERN_BAD_INPUT);
    memcpy(bytes + offset_of(file, "idx", &count) + 8, &id, sizeof id);
    assert_int_equal(check_bytes(bytes, size, &report, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "entry 1 of idx is 1000000");
    id = 0;
    memcpy(bytes + offset_of(file, "idx", &count) + 8, &id, sizeof id);
    memcpy(bytes + offset_of(file, "param/ln_f.bias", &count), &weight, sizeof weight);
    assert_int_equal(check_bytes(bytes, size, &report, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "weight 0 of ln_f.bias is inf");
    free(bytes);
    char path[TEST_PATH];
    assert_int_equal(model_vectors_check(test_path(path, "none"), &report, &err), KERN_NOT_FOUND);
}

/* ---- a file of our own ---------------------------------------------------------------------- */

enum { B = 3, N = 6, D = 10, V = 7, M = 2 * D, T = 4, ROWS = B * N };

/* All tensors of the file, in one growing table. */
typedef struct own_file {
    model_safetensors_tensor tensors[64];
    char names[64][64];
    double *data[64];
    size_t count;
    kern_rng *rng;
} own_file;

static double *add_tensor(own_file *f, const char *name, size_t rows, size_t cols)
{
    const size_t i = f->count++;
    assert_true(i < 64);
    f->data[i] = calloc(rows * cols, sizeof(double));
    assert_non_null(f->data[i]);
    (void)snprintf(f->names[i], sizeof f->names[i], "%s", name);
    f->tensors[i] = (model_safetensors_tensor){.name = f->names[i],
                                               .dtype = MODEL_DTYPE_F64,
                                               .rank = 2,
                                               .shape = {rows, cols},
                                               .data = f->data[i]};
    return f->data[i];
}

/* A parameter around `centre`. */
static const double *add_param(own_file *f, const char *name, size_t rows, size_t cols,
                               double centre)
{
    char full[64];
    (void)snprintf(full, sizeof full, "param/%s", name);
    double *x = add_tensor(f, full, rows, cols);
    for (size_t i = 0; i < rows * cols; i++) {
        x[i] = centre + 0.3 * kern_rng_normal(f->rng);
    }
    return x;
}

static ref_nrgpt add_params(own_file *f)
{
    ref_nrgpt r = {.batch = B, .tokens = N, .width = D, .vocab = V, .hidden = M, .steps = T};
    r.embedding = add_param(f, "token_embedding_table.weight", V, D, 0);
    r.position = add_param(f, "position_embedding_table.weight", N + 3, D, 0);
    r.heads[0] = add_param(f, "blocks.attn.heads.0.H.weight", D, D, 0);
    r.heads[1] = add_param(f, "blocks.attn.heads.1.H.weight", D, D, 0);
    r.heads[2] = add_param(f, "blocks.attn.heads.2.H.weight", D, D, 0);
    r.ff = add_param(f, "blocks.ffwd.net.0.weight", M, D, 0);
    r.ff_bias = add_param(f, "blocks.ffwd.net.0.bias", 1, M, 0);
    r.norm_bias = add_param(f, "blocks.ln.bias", 1, D, 0);
    r.proj = add_param(f, "blocks.proj.weight", D, D, 0);
    r.scale_ff = *add_param(f, "blocks.scale_ff", 1, 1, 1);
    r.final_gain = add_param(f, "ln_f.weight", 1, D, 1);
    r.final_bias = add_param(f, "ln_f.bias", 1, D, 0);
    r.readout = add_param(f, "lm_head.weight", V, D, 0);
    r.readout_bias = add_param(f, "lm_head.bias", 1, V, 0);
    double *gain = add_tensor(f, "param/blocks.ln.weight", 1, D);
    for (size_t i = 0; i < D; i++) {
        gain[i] = 1.0;
    }
    return r;
}

static void add_ids(own_file *f, const char *name, int64_t *ids)
{
    for (size_t i = 0; i < ROWS; i++) {
        ids[i] = (int64_t)kern_rng_below(f->rng, V);
    }
    (void)add_tensor(f, name, B, N);
    f->tensors[f->count - 1].dtype = MODEL_DTYPE_I64;
    f->tensors[f->count - 1].data = ids;
}

/* What the reference computes, step by step. */
static void add_results(own_file *f, const ref_nrgpt *r, const int64_t *idx, const int64_t *targets)
{
    double x[ROWS * D];
    double gradient[ROWS * D];
    char name[64];
    ref_nrgpt_embed(r, idx, x);
    for (size_t t = 0; t <= T; t++) {
        (void)snprintf(name, sizeof name, "state/%zu", t);
        memcpy(add_tensor(f, name, ROWS, D), x, sizeof x);
        (void)snprintf(name, sizeof name, "energy_attn/%zu", t);
        double *attention = add_tensor(f, name, B, N);
        (void)snprintf(name, sizeof name, "energy_ff/%zu", t);
        ref_nrgpt_energy(r, x, attention, add_tensor(f, name, B, N), gradient);
        (void)snprintf(name, sizeof name, "grad_g_%s/%zu", t % 2 == 0 ? "exact" : "published", t);
        memcpy(add_tensor(f, name, ROWS, D), gradient, sizeof gradient);
        if (t < T) {
            ref_nrgpt_move(r, gradient, x);
        }
    }
    double *loss = add_tensor(f, "loss", 1, 1);
    *loss = ref_nrgpt_read(r, x, targets, add_tensor(f, "logits", ROWS, V));
}

static void write_own(const own_file *f, const char *path)
{
    model_config c = model_config_default(MODEL_NRGPT);
    char *text = NULL;
    c.n_embed = D;
    c.n_head = REF_HEADS;
    c.vocab_size = V;
    c.block_size = N + 3;
    c.n_layer = T;
    c.ff_hid_factor = M / D;
    c.ff = MODEL_FF1;
    assert_int_equal(model_config_to_json(&c, &text, NULL), KERN_OK);
    const model_safetensors_pair metadata[] = {{"config", text}, {"family", "nrgpt"}};
    kern_error err = {0};
    if (model_safetensors_write(path, f->tensors, f->count, metadata, 2, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    free(text);
}

static void test_plain_loops_agree(void **state)
{
    (void)state;
    own_file f = {.rng = kern_rng_create(12, "own", 0)};
    int64_t idx[ROWS];
    int64_t targets[ROWS];
    model_vectors_report report;
    kern_error err = {0};
    char path[TEST_PATH];
    assert_non_null(f.rng);
    const ref_nrgpt r = add_params(&f);
    add_ids(&f, "idx", idx);
    add_ids(&f, "targets", targets);
    add_results(&f, &r, idx, targets);
    write_own(&f, test_path(path, "own.safetensors"));
    if (model_vectors_check(path, &report, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    print_message("%zu tensors, worst %s, largest error %.1e\n", report.checked, report.worst,
                  report.max_rel_err);
    assert_int_equal(report.checked, 4 * (T + 1) + 2);
    assert_int_equal(report.failed, 0);
    for (size_t i = 0; i < f.count; i++) {
        free(f.data[i]);
    }
    kern_rng_destroy(f.rng);
}

/* Renamed to an input that nothing refers to, the logits are gone: what is left must not pass. */
static void test_missing_results_are_refused(void **state)
{
    size_t size;
    model_vectors_report report;
    kern_error err = {0};
    char *bytes = read_reference("gpt-gpt_rec", &size);
    (void)state;
    rename_in_header(bytes, "\"logits\"", "\"jvp_in\"");
    assert_int_equal(check_bytes(bytes, size, &report, &err), KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "no tensor logits"));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_results_are_refused),
        cmocka_unit_test(test_reference_files_pass),
        cmocka_unit_test(test_a_changed_value_fails),
        cmocka_unit_test(test_foreign_names_are_refused),
        cmocka_unit_test(test_an_unknown_family_is_not_checked),
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_plain_loops_agree),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
