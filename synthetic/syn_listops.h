/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ListOps with chain of thought: nested list operations on digits, reduced one node at a time.
 *
 *   expression = op ( argument … )      argument = digit or expression
 *   example    = expression "=" expression "=" … "=" digit <eos>
 *
 * Each expression follows from the one before it by replacing one node with its value. The node
 * is found from the root by moving to the first argument that is an operation until there is none.
 * Every operation works modulo 10: least, greatest, sorted[n / 2] (of two the larger), sum,
 * product, alternating sum a₀ − a₁ + a₂ … with a result in 0 … 9.
 *
 * Split: an exclusion set of ordered triples of distinct digits is drawn. An example that has one
 * of them as three consecutive tokens anywhere, in the prompt or after it, is for testing; any
 * other is for training. Examples are drawn independently, so repeats occur and are kept.
 *
 * Token ids are those of model_tokenizer_listops_words. Source: ListOps (Nangia, Bowman 2018) in
 * the form published with NRGPT (arXiv 2512.16762).
 */
#ifndef BASIN_SYN_LISTOPS_H
#define BASIN_SYN_LISTOPS_H

#include "kernels/kern_status.h"
#include "models/model_data.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SYN_LISTOPS_EOS = 0,
    SYN_LISTOPS_OPEN = 1,
    SYN_LISTOPS_CLOSE = 2,
    SYN_LISTOPS_EQUAL = 3,
    SYN_LISTOPS_OP0 = 4, /* id of an operation = this + syn_listops_op */
    SYN_LISTOPS_DIGIT0 = 10,
    SYN_LISTOPS_TRIPLES = 1000,
    SYN_LISTOPS_MAX_ARITY = 16,
    SYN_LISTOPS_MAX_DEPTH = 16,
    SYN_LISTOPS_MAX_TOKENS = 1 << 20 /* longest example that a configuration may allow */
};

typedef enum syn_listops_op {
    SYN_LISTOPS_MIN,
    SYN_LISTOPS_MAX,
    SYN_LISTOPS_MEDIAN,
    SYN_LISTOPS_ADD,
    SYN_LISTOPS_PROD,
    SYN_LISTOPS_NADD,
    SYN_LISTOPS_OP_COUNT
} syn_listops_op;

typedef struct syn_listops_config {
    bool used[SYN_LISTOPS_OP_COUNT]; /* operations to draw from, uniformly */
    double nesting;                  /* probability that an argument is an operation, 0 … 1 */
    size_t max_depth;  /* levels of operations, 1 … 16; 2 allows one inside another */
    size_t min_arity;  /* arguments of a node, uniform in min_arity … max_arity */
    size_t max_arity;  /* 1 … 16 */
    size_t exclusions; /* triples drawn for the set, 0 … 1000; repeats count once */
    uint64_t seed;
} syn_listops_config;

/* The published set: greatest, median and sum; nesting 0.25; depth 2; arity 2 or 3; 50 triples
 * (5 % of 10³); seed 42. */
syn_listops_config syn_listops_config_default(void);

/* KERN_INVALID_ARGUMENT, naming the field, its value and what is accepted; also when the longest
 * example would exceed SYN_LISTOPS_MAX_TOKENS. */
kern_status syn_listops_config_check(const syn_listops_config *config, kern_error *err);

/* Tokens of the longest example, <eos> included: with n nodes in the full tree of arity a and
 * expressions of L tokens, (n+1)·L − (a+2)·n(n+1)/2 + n + 1. SIZE_MAX when above
 * SYN_LISTOPS_MAX_TOKENS. */
size_t syn_listops_max_tokens(const syn_listops_config *config);

/* One example: ids of expression, "=", …, digit, <eos>. */
typedef struct syn_listops_example {
    int32_t *ids; /* [capacity], owned */
    size_t capacity;
    size_t n;        /* tokens of the whole example */
    size_t n_prompt; /* tokens up to and with the first "=" */
    int32_t answer;  /* token of the final digit */
    bool excluded;   /* true: holds an excluded triple, so it is a test example */
} syn_listops_example;

/* Generator: the exclusion set, and one random stream per purpose ("listops-train",
 * "listops-test"; the set comes from "listops-exclusion"), so that the training text does not
 * depend on how many test prompts are drawn. */
typedef struct syn_listops syn_listops;

/* Draws the exclusion set. Errors of syn_listops_config_check, and KERN_NO_MEMORY. */
kern_status syn_listops_create(syn_listops **out, const syn_listops_config *config,
                               kern_error *err);

/* Releases a generator; NULL is ignored. */
void syn_listops_destroy(syn_listops *gen);

/* The exclusion set: [100a + 10b + c] is true when the triple (a, b, c) is excluded. */
const bool *syn_listops_excluded(const syn_listops *gen);

/* Room for the longest example of a generator; zero the example first. */
kern_status syn_listops_example_init(syn_listops_example *example, const syn_listops *gen,
                                     kern_error *err);
void syn_listops_example_fini(syn_listops_example *example);

/* Draws one example from `rng`, whatever side of the split it falls on. `example` was made by
 * syn_listops_example_init for this generator. */
void syn_listops_draw(const syn_listops *gen, kern_rng *rng, syn_listops_example *example);

/* Next training or test example from the generator's own streams. KERN_NOT_CONVERGED when a
 * hundred thousand draws in a row fall on the other side of the split. */
kern_status syn_listops_next_train(syn_listops *gen, syn_listops_example *example, kern_error *err);
kern_status syn_listops_next_test(syn_listops *gen, syn_listops_example *example, kern_error *err);

/* Text of the next n training examples, one a line, tokens separated by a space, <eos> left out;
 * NUL-terminated, freed by the caller with free(). */
kern_status syn_listops_train_text(syn_listops *gen, size_t n, char **text, size_t *size,
                                   kern_error *err);

/* The next m test prompts with their answers; released with model_prompts_fini. */
kern_status syn_listops_test_prompts(syn_listops *gen, size_t m, model_prompts *prompts,
                                     kern_error *err);

/* Text of such prompts in the form that model_prompts_read reads: prompt, tab, answer. */
kern_status syn_listops_prompts_text(const model_prompts *prompts, char **text, size_t *size,
                                     kern_error *err);

/* Writes the two texts, complete or not at all. */
kern_status syn_listops_write_train(syn_listops *gen, size_t n, const char *path, kern_error *err);
kern_status syn_listops_write_test(syn_listops *gen, size_t m, const char *path, kern_error *err);

/* Value, 0 … 9, of one operation on `n` ≥ 1 digits. */
int syn_listops_apply(syn_listops_op op, const int *digits, size_t n);

/* Value, 0 … 9, of the expression ids[0 … n), by a parser that shares nothing with the generator.
 * KERN_BAD_INPUT names the position, counted from 1, of the first token that does not fit: also
 * for a node without arguments, nesting beyond SYN_LISTOPS_MAX_DEPTH, and an early end. A digit
 * alone is an expression. */
kern_status syn_listops_evaluate(const int32_t *ids, size_t n, int *value, kern_error *err);

/* Continues the expression ids[0 … n), which begins with an operation, in place to the whole
 * example; `capacity` tokens of ids may be written, n_example gets their number. KERN_BAD_INPUT as
 * syn_listops_evaluate and for a digit alone; KERN_OVERFLOW when the capacity is too small. */
kern_status syn_listops_unfold(int32_t *ids, size_t n, size_t capacity, size_t *n_example,
                               kern_error *err);

/* KERN_OK when ids[0 … n) is a whole example: every step replaces the node that the rule picks
 * with its value, the last expression is one digit, and nothing but one optional <eos> follows.
 * KERN_BAD_INPUT names the step and the position. Cost O(n). */
kern_status syn_listops_check_example(const int32_t *ids, size_t n, kern_error *err);

#endif
