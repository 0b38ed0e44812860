/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_listops.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"
#include "models/model_file.h"
#include "models/model_tokenizer.h"

#include <stdlib.h>
#include <string.h>

struct syn_listops {
    syn_listops_config config;
    syn_listops_op ops[SYN_LISTOPS_OP_COUNT]; /* those in use */
    size_t n_ops;
    size_t max_tokens;
    bool excluded[SYN_LISTOPS_TRIPLES];
    kern_rng *train; /* owned */
    kern_rng *test;  /* owned */
};

/* ------------------------------------------------------------------ configuration */

syn_listops_config syn_listops_config_default(void)
{
    return (syn_listops_config){
        .used = {[SYN_LISTOPS_MAX] = true, [SYN_LISTOPS_MEDIAN] = true, [SYN_LISTOPS_ADD] = true},
        .nesting = 0.25,
        .max_depth = 2,
        .min_arity = 2,
        .max_arity = 3,
        .exclusions = 50,
        .seed = 42};
}

size_t syn_listops_max_tokens(const syn_listops_config *config)
{
    const uint64_t a = config->max_arity;
    uint64_t nodes = 0;
    uint64_t leaves = 1;
    for (size_t level = 0; level < config->max_depth; level++) {
        nodes += leaves;
        leaves *= a;
        if (3 * nodes + leaves > SYN_LISTOPS_MAX_TOKENS) {
            return SIZE_MAX;
        }
    }
    const uint64_t longest = 3 * nodes + leaves;
    const uint64_t total = (nodes + 1) * longest - (a + 2) * (nodes * (nodes + 1) / 2) + nodes + 1;
    return total > SYN_LISTOPS_MAX_TOKENS ? SIZE_MAX : (size_t)total;
}

static kern_status check_range(const char *field, size_t value, size_t low, size_t high,
                               kern_error *err)
{
    if (value < low || value > high) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s is %zu; %zu to %zu are accepted", field,
                          value, low, high);
    }
    return KERN_OK;
}

kern_status syn_listops_config_check(const syn_listops_config *config, kern_error *err)
{
    size_t n_ops = 0;
    for (size_t op = 0; op < SYN_LISTOPS_OP_COUNT; op++) {
        n_ops += config->used[op];
    }
    if (n_ops == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "no operation is in use; at least one of min, max, median, add, prod, "
                          "nadd is needed");
    }
    if (!(config->nesting >= 0.0 && config->nesting <= 1.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "nesting is %g; 0 to 1 is accepted",
                          config->nesting);
    }
    KERN_TRY(check_range("max_depth", config->max_depth, 1, SYN_LISTOPS_MAX_DEPTH, err));
    KERN_TRY(check_range("max_arity", config->max_arity, 1, SYN_LISTOPS_MAX_ARITY, err));
    KERN_TRY(check_range("min_arity", config->min_arity, 1, config->max_arity, err));
    KERN_TRY(check_range("exclusions", config->exclusions, 0, SYN_LISTOPS_TRIPLES, err));
    if (syn_listops_max_tokens(config) == SIZE_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "max_depth %zu with max_arity %zu gives examples of more than %d tokens; "
                          "make one of them smaller",
                          config->max_depth, config->max_arity, SYN_LISTOPS_MAX_TOKENS);
    }
    return KERN_OK;
}

/* ------------------------------------------------------------------ life cycle */

/* Three distinct digits in order, each ordered triple equally likely: three steps of a shuffle. */
static void draw_exclusions(kern_rng *rng, size_t n, bool excluded[SYN_LISTOPS_TRIPLES])
{
    for (size_t i = 0; i < n; i++) {
        size_t digits[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        size_t triple = 0;
        for (size_t j = 0; j < 3; j++) {
            const size_t pick = j + kern_rng_below(rng, (uint32_t)(10 - j));
            triple = 10 * triple + digits[pick];
            digits[pick] = digits[j];
        }
        excluded[triple] = true;
    }
}

kern_status syn_listops_create(syn_listops **out, const syn_listops_config *config, kern_error *err)
{
    *out = NULL;
    KERN_TRY(syn_listops_config_check(config, err));
    syn_listops *const gen = calloc(1, sizeof *gen);
    kern_rng *const rng = kern_rng_create(config->seed, "listops-exclusion", 0);
    if (gen != NULL) {
        gen->train = kern_rng_create(config->seed, "listops-train", 0);
        gen->test = kern_rng_create(config->seed, "listops-test", 0);
    }
    if (gen == NULL || rng == NULL || gen->train == NULL || gen->test == NULL) {
        syn_listops_destroy(gen);
        kern_rng_destroy(rng);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a ListOps generator");
    }
    gen->config = *config;
    gen->max_tokens = syn_listops_max_tokens(config);
    for (size_t op = 0; op < SYN_LISTOPS_OP_COUNT; op++) {
        if (config->used[op]) {
            gen->ops[gen->n_ops++] = (syn_listops_op)op;
        }
    }
    draw_exclusions(rng, config->exclusions, gen->excluded);
    kern_rng_destroy(rng);
    *out = gen;
    return KERN_OK;
}

void syn_listops_destroy(syn_listops *gen)
{
    if (gen != NULL) {
        kern_rng_destroy(gen->train);
        kern_rng_destroy(gen->test);
        free(gen);
    }
}

const bool *syn_listops_excluded(const syn_listops *gen)
{
    return gen->excluded;
}

kern_status syn_listops_example_init(syn_listops_example *example, const syn_listops *gen,
                                     kern_error *err)
{
    *example = (syn_listops_example){0};
    example->ids = calloc(gen->max_tokens, sizeof *example->ids);
    if (example->ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an example of %zu tokens",
                          gen->max_tokens);
    }
    example->capacity = gen->max_tokens;
    return KERN_OK;
}

void syn_listops_example_fini(syn_listops_example *example)
{
    free(example->ids);
    *example = (syn_listops_example){0};
}

/* ------------------------------------------------------------------ drawing */

/* Writes a random node on level `depth` (the root is on level 0) at ids[0]; returns its length.
 * The recursion is at most SYN_LISTOPS_MAX_DEPTH deep. */
static size_t draw_node(const syn_listops *gen, kern_rng *rng, size_t depth, int32_t *ids)
{
    const syn_listops_config *const c = &gen->config;
    const syn_listops_op op = gen->ops[kern_rng_below(rng, (uint32_t)gen->n_ops)];
    const size_t spread = c->max_arity - c->min_arity + 1;
    const size_t arity = c->min_arity + kern_rng_below(rng, (uint32_t)spread);
    size_t n = 0;
    ids[n++] = SYN_LISTOPS_OP0 + (int32_t)op;
    ids[n++] = SYN_LISTOPS_OPEN;
    for (size_t i = 0; i < arity; i++) {
        if (depth + 1 < c->max_depth && kern_rng_uniform(rng) < c->nesting) {
            n += draw_node(gen, rng, depth + 1, ids + n);
        } else {
            ids[n++] = SYN_LISTOPS_DIGIT0 + (int32_t)kern_rng_below(rng, 10);
        }
    }
    ids[n++] = SYN_LISTOPS_CLOSE;
    return n;
}

/* Finds the node to reduce: tokens *node (its operation) to *close. The node that closes first has
 * only digits inside, and every operation opened before it is its ancestor: it is the one reached
 * from the root through first operations. */
static void find_node(const int32_t *ids, size_t *node, size_t *close)
{
    size_t at = 0;
    size_t open = 0;
    for (; ids[at] != SYN_LISTOPS_CLOSE; at++) {
        open = ids[at] == SYN_LISTOPS_OPEN ? at : open;
    }
    *node = open - 1;
    *close = at;
}

/* Copies the expression from[0 … n) to `to` with the tokens node … close replaced by their value.
 */
static void replace_node(const int32_t *from, size_t n, size_t node, size_t close, int32_t *to)
{
    int digits[SYN_LISTOPS_MAX_ARITY];
    const size_t arity = close - node - 2;
    for (size_t i = 0; i < arity; i++) {
        digits[i] = (int)(from[node + 2 + i] - SYN_LISTOPS_DIGIT0);
    }
    const syn_listops_op op = (syn_listops_op)(from[node] - SYN_LISTOPS_OP0);
    memcpy(to, from, node * sizeof *to);
    to[node] = SYN_LISTOPS_DIGIT0 + syn_listops_apply(op, digits, arity);
    memcpy(to + node + 1, from + close + 1, (n - close - 1) * sizeof *to);
}

static bool has_excluded(const bool *excluded, const int32_t *ids, size_t n)
{
    size_t run = 0;
    size_t last = 0; /* the last three digits of the run, as a number */
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < SYN_LISTOPS_DIGIT0) {
            run = 0;
            continue;
        }
        last = (10 * last + (size_t)(ids[i] - SYN_LISTOPS_DIGIT0)) % SYN_LISTOPS_TRIPLES;
        run++;
        if (run >= 3 && excluded[last]) {
            return true;
        }
    }
    return false;
}

/* Appends the chain of thought and <eos> to the expression ids[0 … length); returns the tokens of
 * the whole example, or 0 when these are more than `capacity`, which is never exceeded. */
static size_t append_chain(int32_t *ids, size_t length, size_t capacity)
{
    size_t start = 0; /* of the current expression */
    while (length > 1) {
        size_t node;
        size_t close;
        find_node(ids + start, &node, &close);
        const size_t next = start + length + 1;
        const size_t reduced = length - (close - node);
        if (next + reduced >= capacity) {
            return 0;
        }
        ids[next - 1] = SYN_LISTOPS_EQUAL;
        replace_node(ids + start, length, node, close, ids + next);
        start = next;
        length = reduced;
    }
    ids[start + 1] = SYN_LISTOPS_EOS;
    return start + 2;
}

kern_status syn_listops_unfold(int32_t *ids, size_t n, size_t capacity, size_t *n_example,
                               kern_error *err)
{
    int value;
    *n_example = 0;
    KERN_TRY(syn_listops_evaluate(ids, n, &value, err));
    if (n < 2) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the expression is a digit; an operation is expected");
    }
    *n_example = append_chain(ids, n, capacity);
    if (*n_example == 0) {
        return kern_raise(err, KERN_OVERFLOW,
                          "the chain of an expression of %zu tokens exceeds the %zu available", n,
                          capacity);
    }
    return KERN_OK;
}

void syn_listops_draw(const syn_listops *gen, kern_rng *rng, syn_listops_example *example)
{
    const size_t length = draw_node(gen, rng, 0, example->ids);
    example->n_prompt = length + 1;
    example->n = append_chain(example->ids, length, example->capacity);
    example->answer = example->ids[example->n - 2];
    example->excluded = has_excluded(gen->excluded, example->ids, example->n);
}

static kern_status draw_side(const syn_listops *gen, kern_rng *rng, bool excluded,
                             syn_listops_example *example, kern_error *err)
{
    enum { MAX_DRAWS = 100000 };
    for (size_t i = 0; i < MAX_DRAWS; i++) {
        syn_listops_draw(gen, rng, example);
        if (example->excluded == excluded) {
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_NOT_CONVERGED,
                      "%d draws in a row gave no %s example; with %zu exclusions and arity up to "
                      "%zu the split leaves that side empty",
                      MAX_DRAWS, excluded ? "test" : "training", gen->config.exclusions,
                      gen->config.max_arity);
}

kern_status syn_listops_next_train(syn_listops *gen, syn_listops_example *example, kern_error *err)
{
    return draw_side(gen, gen->train, false, example, err);
}

kern_status syn_listops_next_test(syn_listops *gen, syn_listops_example *example, kern_error *err)
{
    return draw_side(gen, gen->test, true, example, err);
}

/* ------------------------------------------------------------------ texts */

/* A string that grows. */
typedef struct growing_text {
    char *data; /* owned */
    size_t size;
    size_t capacity;
} growing_text;

/* Adds the words of n ids with a space between them, then `tail`. */
static kern_status append_line(growing_text *text, const int32_t *ids, size_t n, const char *tail,
                               kern_error *err)
{
    enum { LONGEST_WORD = 16 };
    const char *const *const words = model_tokenizer_listops_words();
    const size_t needed = text->size + n * LONGEST_WORD + strlen(tail) + 1;
    if (needed > text->capacity) {
        const size_t capacity = 2 * needed;
        char *const data = realloc(text->data, capacity);
        if (data == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a text of %zu bytes", capacity);
        }
        text->data = data;
        text->capacity = capacity;
    }
    char *next = text->data + text->size;
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(words[ids[i]]);
        if (i > 0) {
            *next++ = ' ';
        }
        memcpy(next, words[ids[i]], length);
        next += length;
    }
    memcpy(next, tail, strlen(tail) + 1);
    text->size = (size_t)(next - text->data) + strlen(tail);
    return KERN_OK;
}

kern_status syn_listops_train_text(syn_listops *gen, size_t n, char **text, size_t *size,
                                   kern_error *err)
{
    *text = NULL;
    *size = 0;
    growing_text grown = {0};
    syn_listops_example example;
    KERN_TRY(syn_listops_example_init(&example, gen, err));
    kern_status status = append_line(&grown, NULL, 0, "", err);
    for (size_t i = 0; i < n && status == KERN_OK; i++) {
        status = syn_listops_next_train(gen, &example, err);
        if (status == KERN_OK) {
            status = append_line(&grown, example.ids, example.n - 1, "\n", err);
        }
    }
    syn_listops_example_fini(&example);
    if (status != KERN_OK) {
        free(grown.data);
        return status;
    }
    *text = grown.data;
    *size = grown.size;
    return KERN_OK;
}

static kern_status copy_prompt(model_prompt *prompt, const syn_listops_example *example,
                               kern_error *err)
{
    const size_t bytes = example->n_prompt * sizeof *prompt->ids;
    prompt->ids = malloc(bytes);
    if (prompt->ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a prompt of %zu tokens",
                          example->n_prompt);
    }
    memcpy(prompt->ids, example->ids, bytes);
    prompt->n = example->n_prompt;
    prompt->answer = example->answer;
    return KERN_OK;
}

kern_status syn_listops_test_prompts(syn_listops *gen, size_t m, model_prompts *prompts,
                                     kern_error *err)
{
    *prompts = (model_prompts){0};
    syn_listops_example example;
    KERN_TRY(syn_listops_example_init(&example, gen, err));
    kern_status status = KERN_OK;
    prompts->items = calloc(kern_size_max(m, 1), sizeof *prompts->items);
    if (prompts->items == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu prompts", m);
    }
    for (size_t i = 0; i < m && status == KERN_OK; i++) {
        status = syn_listops_next_test(gen, &example, err);
        if (status == KERN_OK) {
            prompts->n = i + 1;
            status = copy_prompt(&prompts->items[i], &example, err);
            prompts->longest = kern_size_max(prompts->longest, example.n_prompt);
        }
    }
    syn_listops_example_fini(&example);
    if (status != KERN_OK) {
        model_prompts_fini(prompts);
    }
    return status;
}

kern_status syn_listops_prompts_text(const model_prompts *prompts, char **text, size_t *size,
                                     kern_error *err)
{
    *text = NULL;
    *size = 0;
    growing_text grown = {0};
    kern_status status = append_line(&grown, NULL, 0, "", err);
    for (size_t i = 0; i < prompts->n && status == KERN_OK; i++) {
        const model_prompt *const prompt = &prompts->items[i];
        status = append_line(&grown, prompt->ids, prompt->n, "\t", err);
        if (status == KERN_OK) {
            status = append_line(&grown, &prompt->answer, 1, "\n", err);
        }
    }
    if (status != KERN_OK) {
        free(grown.data);
        return status;
    }
    *text = grown.data;
    *size = grown.size;
    return KERN_OK;
}

static kern_status write_text(const char *path, const char *text, size_t size, kern_error *err)
{
    const model_file_chunk chunk = {.data = text, .size = size};
    return model_file_write_atomic(path, &chunk, 1, err);
}

kern_status syn_listops_write_train(syn_listops *gen, size_t n, const char *path, kern_error *err)
{
    char *text;
    size_t size;
    KERN_TRY(syn_listops_train_text(gen, n, &text, &size, err));
    const kern_status status = write_text(path, text, size, err);
    free(text);
    return status;
}

kern_status syn_listops_write_test(syn_listops *gen, size_t m, const char *path, kern_error *err)
{
    model_prompts prompts;
    KERN_TRY(syn_listops_test_prompts(gen, m, &prompts, err));
    char *text = NULL;
    size_t size = 0;
    kern_status status = syn_listops_prompts_text(&prompts, &text, &size, err);
    if (status == KERN_OK) {
        status = write_text(path, text, size, err);
    }
    free(text);
    model_prompts_fini(&prompts);
    return status;
}
