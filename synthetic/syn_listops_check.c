/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values of expressions and the check of whole examples. The rule that picks a node is applied
 * here as it is stated, by walking from the root; the generator finds the same node from the
 * first closing parenthesis. So the check is evidence about the generator.
 */
#include "models/model_tokenizer.h"
#include "synthetic/syn_listops.h"

#include <string.h>

static bool is_digit(int32_t id)
{
    return id >= SYN_LISTOPS_DIGIT0 && id < SYN_LISTOPS_DIGIT0 + 10;
}

static bool is_op(int32_t id)
{
    return id >= SYN_LISTOPS_OP0 && id < SYN_LISTOPS_OP0 + (int32_t)SYN_LISTOPS_OP_COUNT;
}

static const char *token_word(int32_t id)
{
    return id >= 0 && id < MODEL_LISTOPS_VOCAB ? model_tokenizer_listops_words()[id]
                                               : "outside the vocabulary";
}

/* Sorted element n / 2, found by counting. */
static int find_median(const int *digits, size_t n)
{
    size_t counts[10] = {0};
    for (size_t i = 0; i < n; i++) {
        counts[digits[i]]++;
    }
    size_t below = 0;
    int value = 0;
    while (below + counts[value] <= n / 2) {
        below += counts[value];
        value++;
    }
    return value;
}

int syn_listops_apply(syn_listops_op op, const int *digits, size_t n)
{
    if (op == SYN_LISTOPS_MEDIAN) {
        return find_median(digits, n);
    }
    int value = digits[0];
    for (size_t i = 1; i < n; i++) {
        const int digit = digits[i];
        switch (op) {
        case SYN_LISTOPS_MIN:
            value = digit < value ? digit : value;
            break;
        case SYN_LISTOPS_MAX:
            value = digit > value ? digit : value;
            break;
        case SYN_LISTOPS_PROD:
            value = value * digit % 10;
            break;
        case SYN_LISTOPS_NADD:
            value = (i % 2 == 1 ? value + 10 - digit : value + digit) % 10;
            break;
        default:
            value = (value + digit) % 10;
            break;
        }
    }
    return value;
}

/* ------------------------------------------------------------------ evaluation */

/* An operation whose closing parenthesis has not been read. */
typedef struct open_node {
    syn_listops_op op;
    size_t n;
    int digits[SYN_LISTOPS_MAX_ARITY];
} open_node;

typedef struct parser {
    const int32_t *ids;
    size_t n;
    size_t at; /* next token */
    size_t depth;
    open_node nodes[SYN_LISTOPS_MAX_DEPTH];
} parser;

static kern_status raise_token(const parser *p, const char *wanted, kern_error *err)
{
    if (p->at >= p->n) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the expression ends after token %zu; %s is expected", p->n, wanted);
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "token %zu of the expression is '%s' (id %d); %s is expected", p->at + 1,
                      token_word(p->ids[p->at]), (int)p->ids[p->at], wanted);
}

/* Opens the node at p->at, which is an operation. */
static kern_status open_operation(parser *p, kern_error *err)
{
    if (p->depth == SYN_LISTOPS_MAX_DEPTH) {
        return kern_raise(
            err, KERN_BAD_INPUT,
            "token %zu of the expression is nested deeper than the %d levels accepted", p->at + 1,
            SYN_LISTOPS_MAX_DEPTH);
    }
    const syn_listops_op op = (syn_listops_op)(p->ids[p->at] - SYN_LISTOPS_OP0);
    p->at++;
    if (p->at >= p->n || p->ids[p->at] != SYN_LISTOPS_OPEN) {
        return raise_token(p, "'('", err);
    }
    p->at++;
    p->nodes[p->depth++] = (open_node){.op = op};
    return KERN_OK;
}

/* Reads up to the next value that is complete: a digit, or a node that closes. */
static kern_status read_value(parser *p, int *value, kern_error *err)
{
    while (p->at < p->n && is_op(p->ids[p->at])) {
        KERN_TRY(open_operation(p, err));
    }
    if (p->at < p->n && is_digit(p->ids[p->at])) {
        *value = (int)(p->ids[p->at++] - SYN_LISTOPS_DIGIT0);
        return KERN_OK;
    }
    const open_node *const node = p->depth > 0 ? &p->nodes[p->depth - 1] : NULL;
    if (node != NULL && node->n > 0 && p->at < p->n && p->ids[p->at] == SYN_LISTOPS_CLOSE) {
        *value = syn_listops_apply(node->op, node->digits, node->n);
        p->at++;
        p->depth--;
        return KERN_OK;
    }
    return raise_token(
        p, node != NULL && node->n > 0 ? "a digit, an operation or ')'" : "a digit or an operation",
        err);
}

kern_status syn_listops_evaluate(const int32_t *ids, size_t n, int *value, kern_error *err)
{
    parser p = {.ids = ids, .n = n};
    int result = 0;
    do {
        KERN_TRY(read_value(&p, &result, err));
        if (p.depth > 0) {
            open_node *const node = &p.nodes[p.depth - 1];
            if (node->n == SYN_LISTOPS_MAX_ARITY) {
                return kern_raise(
                    err, KERN_BAD_INPUT,
                    "token %zu of the expression is an argument too many; 1 to %d are "
                    "accepted",
                    p.at, SYN_LISTOPS_MAX_ARITY);
            }
            node->digits[node->n++] = result;
        }
    } while (p.depth > 0);
    if (p.at != n) {
        return raise_token(&p, "the end", err);
    }
    *value = result;
    return KERN_OK;
}

/* ------------------------------------------------------------------ chain of thought */

/* Node that the rule picks in a well-formed expression that begins with an operation: tokens
 * *first … *last. */
static void pick_node(const int32_t *ids, size_t *first, size_t *last)
{
    size_t root = 0;
    size_t at = 2; /* first argument of the operation at `root` */
    while (ids[at] != SYN_LISTOPS_CLOSE) {
        if (is_op(ids[at])) {
            root = at;
            at += 2;
        } else {
            at++;
        }
    }
    *first = root;
    *last = at;
}

/* Word for a token of a step; "=", which no expression holds, stands for its end. */
static const char *step_word(int32_t id)
{
    return id == SYN_LISTOPS_EQUAL ? "the end" : token_word(id);
}

/* Compares ids[0 … n) with `whole` after the replacement of its tokens first … last by a digit. */
static kern_status check_step(const int32_t *whole, size_t n_whole, const int32_t *ids, size_t n,
                              size_t step, kern_error *err)
{
    size_t first;
    size_t last;
    int value = 0;
    pick_node(whole, &first, &last);
    KERN_TRY(syn_listops_evaluate(whole + first, last - first + 1, &value, err));
    const size_t expected_n = n_whole - (last - first);
    for (size_t i = 0; i < expected_n || i < n; i++) {
        int32_t expected = SYN_LISTOPS_EQUAL; /* the end: no expression holds one */
        if (i < first) {
            expected = whole[i];
        } else if (i == first) {
            expected = SYN_LISTOPS_DIGIT0 + value;
        } else if (i < expected_n) {
            expected = whole[i + (last - first)];
        }
        const int32_t found = i < n ? ids[i] : SYN_LISTOPS_EQUAL;
        if (found != expected) {
            return kern_raise(
                err, KERN_BAD_INPUT,
                "token %zu of step %zu is '%s' where reducing the first innermost node "
                "gives '%s'",
                i + 1, step, step_word(found), step_word(expected));
        }
    }
    return KERN_OK;
}

/* Tokens up to the next "=" or the end. */
static size_t expression_length(const int32_t *ids, size_t n)
{
    size_t length = 0;
    while (length < n && ids[length] != SYN_LISTOPS_EQUAL) {
        length++;
    }
    return length;
}

kern_status syn_listops_check_example(const int32_t *ids, size_t n, kern_error *err)
{
    const size_t end = n > 0 && ids[n - 1] == SYN_LISTOPS_EOS ? n - 1 : n;
    size_t length = expression_length(ids, end);
    int value;
    KERN_TRY(syn_listops_evaluate(ids, length, &value, err));
    if (length < 2) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the example begins with a digit; an operation is expected");
    }
    size_t at = 0;
    for (size_t step = 1; length > 1; step++) {
        if (at + length == end) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "the example ends at step %zu before it is reduced to one digit",
                              step - 1);
        }
        const size_t next = at + length + 1; /* behind the "=" */
        const size_t next_length = expression_length(ids + next, end - next);
        KERN_TRY(check_step(ids + at, length, ids + next, next_length, step, err));
        at = next;
        length = next_length;
    }
    if (at + length != end) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "token %zu of the example is '%s' behind the final digit; only <eos> is "
                          "accepted there",
                          at + length + 1, token_word(ids[at + length]));
    }
    return KERN_OK;
}
