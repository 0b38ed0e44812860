/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ListOps generator: its distribution against the exact law of its rules, and the same law and
 * the same checks on the published files.
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

#define SHARED BASIN_SOURCE_DIR "/../shared/data/"

static void expect_near(const char *what, double value, double want, double bound)
{
    if (!(fabs(value - want) <= bound)) {
        fail_msg("%s is %.6g, not within %.3g of %.6g", what, value, bound, want);
    }
}

static void skip_without(const char *file)
{
    if (access(file, R_OK) != 0) {
        print_message("skipped: %s is absent\n", file);
        skip();
    }
}

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

/* ------------------------------------------------------------------ distribution */

enum { CLASSES = 4 }; /* number of "=" less one = inner nodes, 0 … 3 */

/* Exact law of a training example under the default configuration. */
typedef struct law {
    double kept;          /* probability that an example is for training */
    double part[CLASSES]; /* share of each class among those */
    double mean;          /* tokens of an example, <eos> included */
    double variance;
} law;

/* Probability that an inner node of `arity` is not excluded and has each value: operation uniform
 * over three, digits uniform. */
static void weigh_node(const bool *excluded, size_t arity, double weight[10])
{
    static const syn_listops_op ops[] = {SYN_LISTOPS_MAX, SYN_LISTOPS_MEDIAN, SYN_LISTOPS_ADD};
    const int count = arity == 3 ? 1000 : 100;
    memset(weight, 0, 10 * sizeof *weight);
    for (int t = 0; t < count; t++) {
        const int digits[3] = {t % 10, t / 10 % 10, t / 100};
        if (arity == 3 && excluded[100 * digits[0] + 10 * digits[1] + digits[2]]) {
            continue;
        }
        for (size_t op = 0; op < 3; op++) {
            weight[syn_listops_apply(ops[op], digits, arity)] += 1.0 / (3.0 * count);
        }
    }
}

/* Tokens of an example whose root has `k` arguments; arity[i] is 0 for a digit. */
static double count_tokens(size_t k, const size_t arity[3])
{
    size_t length = 3 + k;
    for (size_t i = 0; i < k; i++) {
        length += arity[i] > 0 ? 2 + arity[i] : 0;
    }
    size_t total = length + 1;
    for (size_t i = 0; i < k; i++) {
        if (arity[i] > 0) {
            length -= 2 + arity[i];
            total += length + 1;
        }
    }
    return (double)(total + 1 + 1); /* the digit and <eos> */
}

/* Mass of the root's triples that are not excluded, given each argument's weights. */
static double weigh_root(const bool *excluded, size_t k, const double *const weight[3])
{
    double mass = 0.0;
    for (size_t t = 0; t < (k == 3 ? 1000u : 100u); t++) {
        if (k == 3 && excluded[t]) {
            continue;
        }
        const size_t digits[3] = {t / 100, t / 10 % 10, t % 10};
        const double first = k == 3 ? weight[2][digits[0]] : 1.0;
        mass += first * weight[0][digits[1]] * weight[1][digits[2]];
    }
    return mass;
}

static void add_shape(law *out, const bool *excluded, double weights[3][10], size_t k, size_t shape)
{
    static const size_t arities[3] = {0, 2, 3};
    const size_t type[3] = {shape % 3, shape / 3 % 3, shape / 9};
    size_t arity[3] = {0};
    const double *weight[3];
    size_t inner = 0;
    double probability = 0.5;
    for (size_t i = 0; i < k; i++) {
        arity[i] = arities[type[i]];
        weight[i] = weights[type[i]];
        inner += arity[i] > 0;
        probability *= arity[i] > 0 ? 0.25 * 0.5 : 0.75;
    }
    /* weigh_root takes the last argument of three first. */
    const double *const order[3] = {weight[k - 2], weight[k - 1], weight[0]};
    const double mass = probability * weigh_root(excluded, k, order);
    const double length = count_tokens(k, arity);
    out->kept += mass;
    out->part[inner] += mass;
    out->mean += mass * length;
    out->variance += mass * length * length;
}

static law find_law(const bool *excluded)
{
    law out = {0};
    double weights[3][10];
    for (size_t v = 0; v < 10; v++) {
        weights[0][v] = 0.1;
    }
    weigh_node(excluded, 2, weights[1]);
    weigh_node(excluded, 3, weights[2]);
    for (size_t shape = 0; shape < 9; shape++) {
        add_shape(&out, excluded, weights, 2, shape);
    }
    for (size_t shape = 0; shape < 27; shape++) {
        add_shape(&out, excluded, weights, 3, shape);
    }
    for (size_t c = 0; c < CLASSES; c++) {
        out.part[c] /= out.kept;
    }
    out.mean /= out.kept;
    out.variance = out.variance / out.kept - out.mean * out.mean;
    return out;
}

/* Counts and mean length of n training examples, within five deviations of the law. */
static void expect_law(const law *want, const size_t counts[CLASSES], double tokens, size_t n)
{
    const double total = (double)n;
    for (size_t c = 0; c < CLASSES; c++) {
        const double p = want->part[c];
        expect_near("share of a number of '='", (double)counts[c] / total, p,
                    5.0 * sqrt(p * (1.0 - p) / total));
    }
    expect_near("mean length", tokens / total, want->mean, 5.0 * sqrt(want->variance / total));
}

static size_t count_equals(const int32_t *ids, size_t n)
{
    size_t equals = 0;
    for (size_t i = 0; i < n; i++) {
        equals += ids[i] == SYN_LISTOPS_EQUAL;
    }
    return equals;
}

static void test_distribution(void **state)
{
    (void)state;
    enum { DRAWS = 200000 };
    const syn_listops_config config = syn_listops_config_default();
    syn_listops *gen = NULL;
    syn_listops_example e;
    assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
    assert_int_equal(syn_listops_example_init(&e, gen, NULL), KERN_OK);
    const law want = find_law(syn_listops_excluded(gen));
    kern_rng *const rng = kern_rng_create(3, "test", 0);
    assert_non_null(rng);
    size_t counts[CLASSES] = {0};
    size_t kept = 0;
    size_t seen[MODEL_LISTOPS_VOCAB] = {0}; /* root operation and, for a plain root, first digit */
    double tokens = 0.0;
    for (size_t i = 0; i < DRAWS; i++) {
        syn_listops_draw(gen, rng, &e);
        seen[e.ids[0]]++;
        seen[e.ids[2] >= SYN_LISTOPS_DIGIT0 ? e.ids[2] : SYN_LISTOPS_EOS]++;
        if (!e.excluded) {
            kept++;
            counts[count_equals(e.ids, e.n) - 1]++;
            tokens += (double)e.n;
        }
    }
    expect_near("share kept", (double)kept / DRAWS, want.kept,
                5.0 * sqrt(want.kept * (1.0 - want.kept) / DRAWS));
    expect_law(&want, counts, tokens, kept);
    for (size_t id = 0; id < MODEL_LISTOPS_VOCAB; id++) {
        const bool used = id == 5 || id == 6 || id == 7;
        const double p = id == 0 ? 0.25 : id >= 10 ? 0.075 : used ? 1.0 / 3.0 : 0.0;
        expect_near("share of a token", (double)seen[id] / DRAWS, p,
                    5.0 * sqrt(p * (1.0 - p) / DRAWS));
    }
    kern_rng_destroy(rng);
    syn_listops_example_fini(&e);
    syn_listops_destroy(gen);
}

/* The published counts against the law averaged over exclusion sets: their deviation has a part
 * from the set and a part from the 50,000 draws. */
static void test_published_counts(void **state)
{
    (void)state;
    enum { SETS = 200, EXAMPLES = 50000, TOKENS = 791016 };
    static const double counts[CLASSES] = {25044, 19618, 4979, 359};
    double sum[CLASSES + 1] = {0};
    double square[CLASSES + 1] = {0};
    double variance = 0.0;
    for (uint64_t seed = 0; seed < SETS; seed++) {
        syn_listops_config config = syn_listops_config_default();
        config.seed = seed;
        syn_listops *gen = NULL;
        assert_int_equal(syn_listops_create(&gen, &config, NULL), KERN_OK);
        const law one = find_law(syn_listops_excluded(gen));
        for (size_t c = 0; c <= CLASSES; c++) {
            const double x = c < CLASSES ? one.part[c] : one.mean;
            sum[c] += x / SETS;
            square[c] += x * x / SETS;
        }
        variance += one.variance / SETS;
        syn_listops_destroy(gen);
    }
    for (size_t c = 0; c <= CLASSES; c++) {
        const double of_set = square[c] - sum[c] * sum[c];
        const double of_draw = c < CLASSES ? sum[c] * (1.0 - sum[c]) : variance;
        const double found = c < CLASSES ? counts[c] / EXAMPLES : (double)TOKENS / EXAMPLES;
        expect_near("published share or length", found, sum[c],
                    5.0 * sqrt(fmax(of_set, 0.0) + of_draw / EXAMPLES));
    }
}

/* ------------------------------------------------------------------ published files */

/* Marks the triples of an example's digits as seen. */
static void mark_triples(bool *seen, const int32_t *ids, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i++) {
        if (ids[i] >= 10 && ids[i + 1] >= 10 && ids[i + 2] >= 10) {
            seen[100 * (ids[i] - 10) + 10 * (ids[i + 1] - 10) + (ids[i + 2] - 10)] = true;
        }
    }
}

/* The set used there is not published, but shows: triples of distinct digits that never occur. */
static size_t recover_set(const bool *seen, bool *excluded)
{
    size_t n = 0;
    for (size_t t = 0; t < SYN_LISTOPS_TRIPLES; t++) {
        const size_t a = t / 100;
        const size_t b = t / 10 % 10;
        const size_t c = t % 10;
        excluded[t] = !seen[t] && a != b && b != c && a != c;
        n += excluded[t];
    }
    return n;
}

static void read_published(model_stream *s, model_tokenizer *t)
{
    kern_error err = {0};
    assert_int_equal(model_tokenizer_init_listops(t, NULL), KERN_OK);
    assert_int_equal(model_stream_read_text(s, t, SHARED "listops_nrgpt_train.txt", &err), KERN_OK);
}

/* Every line of the published file is an example by our rules, and the lot follows the law. */
static void test_published_train(void **state)
{
    (void)state;
    skip_without(SHARED "listops_nrgpt_train.txt");
    model_tokenizer t;
    model_stream s;
    read_published(&s, &t);
    bool seen[SYN_LISTOPS_TRIPLES] = {false};
    bool excluded[SYN_LISTOPS_TRIPLES];
    size_t counts[CLASSES] = {0};
    size_t longest = 0;
    size_t first = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.ids[i] != SYN_LISTOPS_EOS) {
            continue;
        }
        const int32_t *const example = s.ids + first;
        const size_t n = i + 1 - first;
        kern_error err = {0};
        if (syn_listops_check_example(example, n, &err) != KERN_OK) {
            fail_msg("the example that ends at token %zu: %s", i, err.text);
        }
        counts[count_equals(example, n) - 1]++;
        mark_triples(seen, example, n);
        longest = n > longest ? n : longest;
        first = i + 1;
    }
    assert_int_equal(longest, 60);
    assert_int_equal(counts[0], 25044);
    assert_int_equal(counts[3], 359);
    assert_int_equal(recover_set(seen, excluded), 49);
    const law want = find_law(excluded);
    expect_law(&want, counts, (double)s.n, 50000);
    model_stream_fini(&s);
    model_tokenizer_fini(&t);
}

static void test_published_test(void **state)
{
    (void)state;
    skip_without(SHARED "listops_nrgpt_train.txt");
    skip_without(SHARED "listops_nrgpt_test.tsv");
    model_tokenizer t;
    model_stream s;
    model_prompts p;
    kern_error err = {0};
    bool seen[SYN_LISTOPS_TRIPLES] = {false};
    bool excluded[SYN_LISTOPS_TRIPLES];
    read_published(&s, &t);
    mark_triples(seen, s.ids, s.n);
    assert_int_equal(recover_set(seen, excluded), 49);
    assert_int_equal(model_prompts_read(&p, &t, SHARED "listops_nrgpt_test.tsv", &err), KERN_OK);
    size_t in_prompt = 0;
    for (size_t i = 0; i < p.n; i++) {
        int32_t ids[64];
        size_t n = 0;
        const model_prompt *const q = &p.items[i];
        memcpy(ids, q->ids, q->n * sizeof *ids);
        assert_int_equal(syn_listops_unfold(ids, q->n - 1, 64, &n, &err), KERN_OK);
        assert_int_equal(ids[n - 2], q->answer);
        assert_true(holds_triple(excluded, ids, n));
        in_prompt += holds_triple(excluded, ids, q->n);
    }
    assert_int_equal(p.n, 2000);
    assert_int_equal(in_prompt, 1352);
    model_prompts_fini(&p);
    model_stream_fini(&s);
    model_tokenizer_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_published_counts),
        cmocka_unit_test(test_published_train),
        cmocka_unit_test(test_published_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
