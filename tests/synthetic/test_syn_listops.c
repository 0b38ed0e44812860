/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ListOps generator: values, chains, split, reproducibility, files, and bad configurations.
 */
#define _POSIX_C_SOURCE 200809L
#include "kernels/kern_rng.h"
#include "models/model_data.h"
#include "synthetic/syn_listops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void expect_text(const kern_error *err, const char *part)
{
    if (strstr(err->text, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, err->text);
    }
}

static void expect_near(const char *what, double value, double want, double bound)
{
    if (!(fabs(value - want) <= bound)) {
        fail_msg("%s is %.6g, not within %.3g of %.6g", what, value, bound, want);
    }
}

/* Ids of a text; the caller frees them. */
static int32_t *encode(const char *text, size_t *n)
{
    model_tokenizer t;
    int32_t *ids = NULL;
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    assert_int_equal(model_tokenizer_encode(&t, text, strlen(text), &ids, n, NULL), KERN_OK);
    model_tokenizer_fini(&t);
    return ids;
}

/* ------------------------------------------------------------------ values */

static void check_value(const char *text, int want)
{
    size_t n;
    int value = -1;
    kern_error err = {0};
    int32_t *const ids = encode(text, &n);
    if (syn_listops_evaluate(ids, n, &value, &err) != KERN_OK || value != want) {
        fail_msg("%s gives %d (%s), not %d", text, value, err.text, want);
    }
    free(ids);
}

static void test_values(void **state)
{
    (void)state;
    check_value("7", 7);
    check_value("min_10 ( 4 2 9 )", 2);
    check_value("max_10 ( 4 2 9 3 )", 9);
    check_value("median_10 ( 4 2 )", 4);
    check_value("median_10 ( 2 4 )", 4);
    check_value("median_10 ( 9 0 3 )", 3);
    check_value("median_10 ( 5 1 1 8 )", 5);
    check_value("median_10 ( 8 8 0 0 0 )", 0);
    check_value("median_10 ( 6 )", 6);
    check_value("add_10 ( 7 8 9 )", 4);
    check_value("prod_10 ( 7 8 9 )", 4);
    check_value("prod_10 ( 3 0 9 )", 0);
    check_value("nadd_10 ( 2 7 )", 5);
    check_value("nadd_10 ( 2 7 4 )", 9);
    check_value("nadd_10 ( 0 9 0 9 0 9 )", 3);
    check_value("nadd_10 ( 9 0 9 0 9 )", 7);
    check_value("nadd_10 ( 3 )", 3);
    check_value("add_10 ( 3 max_10 ( 1 median_10 ( 2 9 5 ) ) min_10 ( 8 6 ) )", 4);
    check_value("nadd_10 ( prod_10 ( 3 4 ) add_10 ( 9 9 ) max_10 ( 5 min_10 ( 9 7 ) ) )", 1);
    check_value("max_10 ( 0 1 2 3 4 5 6 7 8 7 6 5 4 3 2 1 )", 8);
}

/* Each operation on all triples of digits, against its definition by other means: sorting for
 * ranks, plain integers for the rest. */
static void test_apply_all_triples(void **state)
{
    (void)state;
    for (int t = 0; t < 1000; t++) {
        const int d[3] = {t / 100, t / 10 % 10, t % 10};
        int s[3] = {d[0], d[1], d[2]};
        for (size_t i = 0; i < 2; i++) {
            for (size_t j = 0; j < 2 - i; j++) {
                if (s[j] > s[j + 1]) {
                    const int swap = s[j];
                    s[j] = s[j + 1];
                    s[j + 1] = swap;
                }
            }
        }
        const int want[SYN_LISTOPS_OP_COUNT] = {s[0],
                                                s[2],
                                                s[1],
                                                (d[0] + d[1] + d[2]) % 10,
                                                d[0] * d[1] * d[2] % 10,
                                                (d[0] - d[1] + d[2] + 10) % 10};
        for (unsigned op = 0; op < SYN_LISTOPS_OP_COUNT; op++) {
            assert_int_equal(syn_listops_apply((syn_listops_op)op, d, 3), want[op]);
        }
    }
}

static void expect_no_value(const char *text, const char *part)
{
    size_t n;
    int value = 77;
    kern_error err = {0};
    int32_t *const ids = encode(text, &n);
    assert_int_equal(syn_listops_evaluate(ids, n, &value, &err), KERN_BAD_INPUT);
    assert_int_equal(value, 77);
    expect_text(&err, part);
    free(ids);
}

static void test_evaluate_errors(void **state)
{
    (void)state;
    expect_no_value("", "ends after token 0; a digit or an operation is expected");
    expect_no_value("(", "token 1 of the expression is '(' (id 1); a digit or an operation");
    expect_no_value("max_10", "ends after token 1; '(' is expected");
    expect_no_value("max_10 3", "token 2 of the expression is '3' (id 13); '('");
    expect_no_value("max_10 ( )", "token 3 of the expression is ')' (id 2); a digit or an op");
    expect_no_value("max_10 ( 3", "ends after token 3; a digit, an operation or ')'");
    expect_no_value("max_10 ( 3 = )", "token 4 of the expression is '='");
    expect_no_value("max_10 ( 3 ( 4 ) )", "token 4 of the expression is '('");
    expect_no_value("max_10 ( 3 ) )", "token 5 of the expression is ')' (id 2); the end");
    expect_no_value("3 4", "token 2 of the expression is '4' (id 14); the end");
    expect_no_value("max_10 ( 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 )",
                    "token 19 of the expression is an argument too many");
    char deep[2000] = "";
    for (size_t i = 0; i <= SYN_LISTOPS_MAX_DEPTH; i++) {
        strcat(deep, "add_10 ( 1 ");
    }
    expect_no_value(deep, "token 49 of the expression is nested deeper than the 16 levels");
    static const int32_t foreign[] = {5, 1, 12, 20};
    int value;
    kern_error err = {0};
    assert_int_equal(syn_listops_evaluate(foreign, 4, &value, &err), KERN_BAD_INPUT);
    expect_text(&err, "'outside the vocabulary' (id 20)");
}

/* ------------------------------------------------------------------ chains */

static void expect_chain(const char *text, const char *part)
{
    size_t n;
    kern_error err = {0};
    int32_t *const ids = encode(text, &n);
    const kern_status status = syn_listops_check_example(ids, n, &err);
    if (part == NULL && status != KERN_OK) {
        fail_msg("%s: %s", text, err.text);
    }
    if (part != NULL) {
        assert_int_equal(status, KERN_BAD_INPUT);
        expect_text(&err, part);
    }
    free(ids);
}

static void test_check_example(void **state)
{
    (void)state;
    expect_chain("max_10 ( 2 9 3 ) = 9", NULL);
    expect_chain("add_10 ( 4 ) = 4\n", NULL);
    expect_chain("add_10 ( 1 max_10 ( 2 min_10 ( 8 7 ) ) nadd_10 ( 0 1 ) ) = "
                 "add_10 ( 1 max_10 ( 2 7 ) nadd_10 ( 0 1 ) ) = "
                 "add_10 ( 1 7 nadd_10 ( 0 1 ) ) = add_10 ( 1 7 9 ) = 7 <eos>",
                 NULL);
    /* The right value by the wrong node first. */
    expect_chain("add_10 ( max_10 ( 2 7 ) nadd_10 ( 0 1 ) ) = add_10 ( max_10 ( 2 7 ) 9 ) = "
                 "add_10 ( 7 9 ) = 6",
                 "token 3 of step 1 is 'max_10' where reducing the first innermost node gives '7'");
    /* Two nodes in one step. */
    expect_chain("add_10 ( max_10 ( 2 7 ) min_10 ( 0 1 ) ) = add_10 ( 7 0 ) = 7",
                 "token 4 of step 1 is '0'");
    expect_chain("max_10 ( 2 9 3 ) = 8", "token 1 of step 1 is '8'");
    expect_chain("max_10 ( 2 max_10 ( 9 3 ) ) = max_10 ( 2 9 ) = 2", "token 1 of step 2 is '2'");
    expect_chain("max_10 ( 2 9 3 ) = 9 9", "token 2 of step 1 is '9'");
    expect_chain("max_10 ( 2 max_10 ( 9 3 ) ) = max_10 ( 2 9", "token 5 of step 1 is 'the end'");
    expect_chain("max_10 ( 2 9 3 ) = 9 = 9", "token 9 of the example is '=' behind the final");
    expect_chain("max_10 ( 2 9 3 ) = 9\n\n", "token 2 of step 1 is '<eos>'");
    expect_chain("max_10 ( 2 9 3 )", "ends at step 0 before it is reduced");
    expect_chain("max_10 ( 2 9 3 ) =", "token 1 of step 1 is 'the end'");
    expect_chain("9 = 9", "begins with a digit");
    expect_chain("max_10 ( 2 9 = 9", "the expression ends after token 4");
    expect_chain("", "the expression ends after token 0");
}

static void test_unfold(void **state)
{
    (void)state;
    size_t n;
    size_t n_want;
    size_t n_example;
    kern_error err = {0};
    int32_t *const want = encode("add_10 ( 3 max_10 ( 1 6 ) min_10 ( 8 2 ) ) = "
                                 "add_10 ( 3 6 min_10 ( 8 2 ) ) = add_10 ( 3 6 2 ) = 1\n",
                                 &n_want);
    n = 14;
    for (size_t capacity = n; capacity <= n_want; capacity++) {
        int32_t *const ids = malloc(capacity * sizeof *ids);
        assert_non_null(ids);
        memcpy(ids, want, n * sizeof *ids);
        const kern_status status = syn_listops_unfold(ids, n, capacity, &n_example, &err);
        assert_int_equal(status, capacity < n_want ? KERN_OVERFLOW : KERN_OK);
        if (status == KERN_OK) {
            assert_int_equal(n_example, n_want);
            assert_memory_equal(ids, want, n_want * sizeof *ids);
        } else {
            expect_text(&err, "the chain of an expression of 14 tokens exceeds");
        }
        free(ids);
    }
    assert_int_equal(syn_listops_unfold(want, 13, n_want, &n_example, &err), KERN_BAD_INPUT);
    assert_int_equal(syn_listops_unfold(want + 2, 1, 4, &n_example, &err), KERN_BAD_INPUT);
    expect_text(&err, "the expression is a digit");
    free(want);
}

/* Every operation, deeper trees, several arities: the whole examples hold. */
static void test_generated_examples(void **state)
{
    (void)state;
    for (size_t depth = 1; depth <= 4; depth++) {
        syn_listops_config config = {.nesting = 0.4,
                                     .max_depth = depth,
                                     .min_arity = depth % 2 + 1,
                                     .max_arity = depth + 1,
                                     .exclusions = 100,
                                     .seed = depth};
        for (size_t op = 0; op < SYN_LISTOPS_OP_COUNT; op++) {
            config.used[op] = true;
        }
        syn_listops *gen = NULL;
        syn_listops_example e;
        kern_error err = {0};
        assert_int_equal(syn_listops_create(&gen, &config, &err), KERN_OK);
        assert_int_equal(syn_listops_example_init(&e, gen, &err), KERN_OK);
        kern_rng *const rng = kern_rng_create(7, "test", depth);
        assert_non_null(rng);
        for (size_t i = 0; i < 2000; i++) {
            int value;
            syn_listops_draw(gen, rng, &e);
            if (syn_listops_check_example(e.ids, e.n, &err) != KERN_OK) {
                fail_msg("%s", err.text);
            }
            assert_true(e.n <= syn_listops_max_tokens(&config));
            assert_int_equal(e.ids[e.n - 1], SYN_LISTOPS_EOS);
            assert_int_equal(e.ids[e.n_prompt - 1], SYN_LISTOPS_EQUAL);
            assert_int_equal(syn_listops_evaluate(e.ids, e.n_prompt - 1, &value, &err), KERN_OK);
            assert_int_equal(e.answer, SYN_LISTOPS_DIGIT0 + value);
        }
        kern_rng_destroy(rng);
        syn_listops_example_fini(&e);
        syn_listops_destroy(gen);
    }
}

/* With certain nesting and one arity every tree is full: the bound on the length is reached. */
static void test_longest_example(void **state)
{
    (void)state;
    for (size_t depth = 1; depth <= 4; depth++) {
        for (size_t arity = 1; arity <= 4; arity++) {
            syn_listops_config config = syn_listops_config_default();
            config.nesting = 1.0;
            config.max_depth = depth;
            config.min_arity = arity;
            config.max_arity = arity;
            syn_listops *gen = NULL;
            syn_listops_example e;
            assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
            assert_int_equal(syn_listops_example_init(&e, gen, NULL), KERN_OK);
            kern_rng *const rng = kern_rng_create(1, "test", 0);
            syn_listops_draw(gen, rng, &e);
            assert_int_equal(e.n, syn_listops_max_tokens(&config));
            assert_int_equal(syn_listops_check_example(e.ids, e.n, NULL), KERN_OK);
            kern_rng_destroy(rng);
            syn_listops_example_fini(&e);
            syn_listops_destroy(gen);
        }
    }
    const syn_listops_config published = syn_listops_config_default();
    assert_int_equal(syn_listops_max_tokens(&published), 60);
}

/* ------------------------------------------------------------------ split */

/* True when the example has three digits in a row that are excluded. */
static bool holds_triple(const bool *excluded, const int32_t *ids, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i++) {
        if (ids[i] >= 10 && ids[i + 1] >= 10 && ids[i + 2] >= 10 &&
            excluded[100 * (ids[i] - 10) + 10 * (ids[i + 1] - 10) + (ids[i + 2] - 10)]) {
            return true;
        }
    }
    return false;
}

static void test_exclusion_set(void **state)
{
    (void)state;
    size_t total = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        syn_listops_config config = syn_listops_config_default();
        config.seed = seed;
        syn_listops *gen = NULL;
        assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
        const bool *const excluded = syn_listops_excluded(gen);
        size_t n = 0;
        for (size_t t = 0; t < SYN_LISTOPS_TRIPLES; t++) {
            if (excluded[t]) {
                n++;
                assert_true(t / 100 != t / 10 % 10 && t / 10 % 10 != t % 10 && t / 100 != t % 10);
            }
        }
        assert_in_range(n, 35, 50);
        total += n;
        syn_listops_destroy(gen);
    }
    /* 50 draws from 720 hit 720 (1 − (719/720)⁵⁰) = 48.336 on average; variance 1.52 a set. */
    expect_near("mean size of the set", (double)total / 40.0, 48.336, 5.0 * sqrt(1.52 / 40.0));
}

static void test_split(void **state)
{
    (void)state;
    const syn_listops_config config = syn_listops_config_default();
    syn_listops *gen = NULL;
    syn_listops_example e;
    assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
    assert_int_equal(syn_listops_example_init(&e, gen, NULL), KERN_OK);
    const bool *const excluded = syn_listops_excluded(gen);
    size_t in_prompt = 0;
    for (size_t i = 0; i < 20000; i++) {
        assert_int_equal(syn_listops_next_train(gen, &e, NULL), KERN_OK);
        assert_false(e.excluded);
        assert_false(holds_triple(excluded, e.ids, e.n));
    }
    for (size_t i = 0; i < 2000; i++) {
        assert_int_equal(syn_listops_next_test(gen, &e, NULL), KERN_OK);
        assert_true(e.excluded);
        assert_true(holds_triple(excluded, e.ids, e.n));
        in_prompt += holds_triple(excluded, e.ids, e.n_prompt);
    }
    /* Both ways of being a test example occur, the prompt more often, as in the published set. */
    assert_in_range(in_prompt, 1001, 1900);
    syn_listops_example_fini(&e);
    syn_listops_destroy(gen);
}

static void test_empty_sides(void **state)
{
    (void)state;
    syn_listops_config config = syn_listops_config_default();
    config.exclusions = 0;
    syn_listops *gen = NULL;
    syn_listops_example e;
    model_prompts p;
    kern_error err = {0};
    assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
    assert_int_equal(syn_listops_example_init(&e, gen, NULL), KERN_OK);
    assert_int_equal(syn_listops_next_test(gen, &e, &err), KERN_NOT_CONVERGED);
    expect_text(&err, "gave no test example; with 0 exclusions");
    assert_int_equal(syn_listops_test_prompts(gen, 3, &p, &err), KERN_NOT_CONVERGED);
    assert_null(p.items);
    assert_int_equal(syn_listops_write_test(gen, 3, "/nonexistent/x", &err), KERN_NOT_CONVERGED);
    syn_listops_example_fini(&e);
    syn_listops_destroy(gen);
    syn_listops_destroy(NULL);
}

/* ------------------------------------------------------------------ texts */

static char *train_text(uint64_t seed, size_t before, size_t n)
{
    syn_listops_config config = syn_listops_config_default();
    config.seed = seed;
    syn_listops *gen = NULL;
    model_prompts p;
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
    assert_int_equal(syn_listops_test_prompts(gen, before, &p, NULL), KERN_OK);
    assert_int_equal(syn_listops_train_text(gen, n, &text, &size, NULL), KERN_OK);
    assert_int_equal(strlen(text), size);
    model_prompts_fini(&p);
    syn_listops_destroy(gen);
    return text;
}

static void test_reproducible(void **state)
{
    (void)state;
    char *const a = train_text(42, 0, 300);
    char *const b = train_text(42, 11, 300);
    char *const longer = train_text(42, 0, 301);
    char *const other = train_text(43, 0, 300);
    char *const none = train_text(42, 0, 0);
    assert_string_equal(a, b);
    assert_int_equal(strncmp(a, longer, strlen(a)), 0);
    assert_true(strlen(longer) > strlen(a));
    assert_string_not_equal(a, other);
    assert_string_equal(none, "");
    free(a);
    free(b);
    free(longer);
    free(other);
    free(none);
}

/* The files read back as the published ones do. */
static void test_files(void **state)
{
    (void)state;
    char folder[512];
    char path[600];
    const char *const base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.400s/basin-syn-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/listops", folder);
    const syn_listops_config config = syn_listops_config_default();
    syn_listops *gen = NULL;
    model_tokenizer t;
    model_stream s;
    model_prompts p;
    kern_error err = {0};
    assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
    assert_int_equal(model_tokenizer_init_listops(&t, NULL), KERN_OK);
    assert_int_equal(syn_listops_write_train(gen, 500, path, &err), KERN_OK);
    assert_int_equal(model_stream_read_text(&s, &t, path, &err), KERN_OK);
    size_t examples = 0;
    for (size_t i = 0, first = 0; i < s.n; i++) {
        if (s.ids[i] == SYN_LISTOPS_EOS) {
            assert_int_equal(syn_listops_check_example(s.ids + first, i + 1 - first, &err),
                             KERN_OK);
            first = i + 1;
            examples++;
        }
    }
    assert_int_equal(examples, 500);
    assert_int_equal(syn_listops_write_test(gen, 70, path, &err), KERN_OK);
    assert_int_equal(model_prompts_read(&p, &t, path, &err), KERN_OK);
    assert_int_equal(p.n, 70);
    for (size_t i = 0; i < p.n; i++) {
        int value = -1;
        const model_prompt *const q = &p.items[i];
        assert_int_equal(syn_listops_evaluate(q->ids, q->n - 1, &value, &err), KERN_OK);
        assert_int_equal(q->answer, SYN_LISTOPS_DIGIT0 + value);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(syn_listops_write_train(gen, 5, path, &err), KERN_NOT_FOUND);
    assert_int_equal(syn_listops_write_test(gen, 5, path, &err), KERN_NOT_FOUND);
    model_prompts_fini(&p);
    model_stream_fini(&s);
    model_tokenizer_fini(&t);
    syn_listops_destroy(gen);
}

/* ------------------------------------------------------------------ configuration */

static void expect_refused(const syn_listops_config *config, const char *part)
{
    syn_listops *gen = NULL;
    kern_error err = {0};
    assert_int_equal(syn_listops_create(&gen, config, &err), KERN_INVALID_ARGUMENT);
    assert_null(gen);
    expect_text(&err, part);
}

static void test_config_errors(void **state)
{
    (void)state;
    const syn_listops_config good = syn_listops_config_default();
    assert_int_equal(syn_listops_config_check(&good, NULL), KERN_OK);
    syn_listops_config c = good;
    memset(c.used, 0, sizeof c.used);
    expect_refused(&c, "no operation is in use");
    static const double nestings[] = {-0.01, 1.01, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 4; i++) {
        c = good;
        c.nesting = nestings[i];
        expect_refused(&c, "0 to 1 is accepted");
    }
    c = good;
    c.max_depth = 0;
    expect_refused(&c, "max_depth is 0; 1 to 16 are accepted");
    c.max_depth = 17;
    expect_refused(&c, "max_depth is 17");
    c = good;
    c.min_arity = 0;
    expect_refused(&c, "min_arity is 0; 1 to 3 are accepted");
    c.min_arity = 4;
    expect_refused(&c, "min_arity is 4; 1 to 3 are accepted");
    c.max_arity = 17;
    expect_refused(&c, "max_arity is 17; 1 to 16 are accepted");
    c = good;
    c.exclusions = 1001;
    expect_refused(&c, "exclusions is 1001; 0 to 1000 are accepted");
    c = good;
    c.max_depth = 16;
    c.max_arity = 16;
    expect_refused(&c, "max_depth 16 with max_arity 16 gives examples of more than 1048576 tokens");
    c.max_depth = 7;
    c.max_arity = 3;
    expect_refused(&c, "max_depth 7 with max_arity 3");
    c.max_depth = 5;
    assert_int_equal(syn_listops_config_check(&c, NULL), KERN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),          cmocka_unit_test(test_apply_all_triples),
        cmocka_unit_test(test_evaluate_errors), cmocka_unit_test(test_check_example),
        cmocka_unit_test(test_unfold),          cmocka_unit_test(test_generated_examples),
        cmocka_unit_test(test_longest_example), cmocka_unit_test(test_exclusion_set),
        cmocka_unit_test(test_split),           cmocka_unit_test(test_empty_sides),
        cmocka_unit_test(test_reproducible),    cmocka_unit_test(test_files),
        cmocka_unit_test(test_config_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
