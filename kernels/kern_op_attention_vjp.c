/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention's vjp. With c the output scale, O̅ the output's cotangent, m the dropout factors:
 *   P̄ = m ⊙ c O̅ vᵀ (+ cotangent of the diagonal),   S̄ = β P ⊙ (P̄ − rowsum(P ⊙ P̄) + ℓ̄),
 *   q̄ = S̄ k,   k̄ = S̄ᵀ q,   v̄ = c (m ⊙ P)ᵀ O̅.
 */
#include "kernels/kern_attention.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_dropout.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_transpose.h"
#include "kernels/kern_vmath.h"

#include <string.h>

typedef KERN_NAME(kern_gemm) gemm;

enum { Q, K, V };

/* S̄ row from P̄ row, in place; columns 0 … bound − 1. */
KERN_HOT static void softmax_vjp_row(kern_real *row, const kern_real *p, size_t bound, double lse,
                                     double beta)
{
    const kern_real shift = (kern_real)(KERN_NAME(kern_vmath_dot)(p, row, bound) - lse);
    const kern_real factor = (kern_real)beta;
    for (size_t j = 0; j < bound; j++) {
        row[j] = factor * p[j] * (row[j] - shift);
    }
}

KERN_HOT static void mask_row(kern_real *row, size_t n, kern_dropout_row mask)
{
    for (size_t j = 0; j < n; j++) {
        row[j] *= kern_dropout_factor(&mask, j);
    }
}

/* P̄ rows of a block, before the softmax: m ⊙ c O̅ vᵀ, zero when the output has no cotangent. */
static void weight_cotangent(const kern_call *call, const kern_head *head, const kern_head *bar,
                             const kern_real *transposed, kern_real *rows, size_t r)
{
    const kern_attention_attr *a = &call->attr->attention;
    const size_t n = head->tokens;
    const size_t bound = kern_attention_block_end(n, r);
    if (bar->out.data == NULL) {
        memset(rows, 0, (bound - r) * n * sizeof *rows);
        return;
    }
    const gemm g = {.m = bound - r,
                    .n = bound,
                    .k = head->value_width,
                    .alpha = (kern_real)a->scale,
                    .a = bar->out.data + r * bar->out.ld,
                    .lda = bar->out.ld,
                    .b = transposed,
                    .ldb = n,
                    .c = rows,
                    .ldc = n};
    KERN_NAME(kern_gemm_run)(&g, 1);
    if (call->bindings->dropout_key != 0 && a->dropout > 0.0) {
        for (size_t i = r; i < bound; i++) {
            mask_row(rows + (i - r) * n, bound,
                     kern_dropout_start(call->bindings->dropout_key, a->salt, head->first_row + i,
                                        a->dropout));
        }
    }
}

/* S̄ of one block of rows, at its place in the N×N matrix `scores`. */
static void score_cotangent(const kern_call *call, const kern_head *head, const kern_head *bar,
                            const kern_attention_scratch *scratch, size_t at, size_t r)
{
    const kern_attention_attr *a = &call->attr->attention;
    const kern_real *lse = call->d_out[1].data;
    const kern_real *diagonal = call->d_out[2].data;
    const size_t n = head->tokens;
    const size_t bound = kern_attention_block_end(n, r);
    const size_t index = at % a->heads;
    const size_t first_row = at / a->heads * n;
    kern_real *rows = scratch->scores + index * n * n + r * n;
    weight_cotangent(call, head, bar, scratch->transposed, rows, r);
    for (size_t i = r; i < bound; i++) {
        kern_real *row = rows + (i - r) * n;
        const size_t scalar = (first_row + i) * a->heads + index;
        if (diagonal != NULL) {
            row[i] += diagonal[scalar];
        }
        softmax_vjp_row(row, head->p.data + i * n, bound, lse == NULL ? 0 : (double)lse[scalar],
                        a->beta);
    }
}

/* Rows of the block that starts at row r: to (+)= scale · leftᵀ·right. `left` (N×N) holds nothing
 * above its diagonal block there, so only its rows from r on count, and the block is written once.
 */
static void add_outer(const kern_head *head, kern_panel to, size_t width, const kern_real *left,
                      kern_panel right, size_t r, double scale, bool accumulate)
{
    const size_t n = head->tokens;
    const gemm g = {.ta = true,
                    .m = kern_attention_block_end(n, r) - r,
                    .n = width,
                    .k = n - r,
                    .alpha = (kern_real)scale,
                    .beta = accumulate ? 1 : 0,
                    .a = left + r * n + r,
                    .lda = n,
                    .b = right.data + r * right.ld,
                    .ldb = right.ld,
                    .c = to.data + r * to.ld,
                    .ldc = to.ld};
    KERN_NAME(kern_gemm_run)(&g, 1);
}

/* q̄[:, begin … end) (+)= S̄ k. */
static void query_cotangent(const kern_head *head, const kern_head *bar,
                            const kern_attention_scratch *scratch, size_t index, size_t begin,
                            size_t end, bool accumulate)
{
    const size_t n = head->tokens;
    const kern_real *scores = scratch->scores + index * n * n;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        const size_t bound = kern_attention_block_end(n, r);
        const gemm g = {.m = bound - r,
                        .n = end - begin,
                        .k = bound,
                        .alpha = 1,
                        .beta = accumulate ? 1 : 0,
                        .a = scores + r * n,
                        .lda = n,
                        .b = head->k.data + begin,
                        .ldb = head->k.ld,
                        .c = bar->q.data + r * bar->q.ld + begin,
                        .ldc = bar->q.ld};
        KERN_NAME(kern_gemm_run)(&g, 1);
    }
}

/* Weights after dropout, all N rows, with leading dimension N. */
static const kern_real *dropped_weights(const kern_call *call, const kern_head *head,
                                        kern_real *out)
{
    const kern_real *p = head->p.data;
    for (size_t r = 0; r < head->tokens; r += KERN_ATTENTION_BLOCK) {
        kern_real *block = out + r * head->tokens;
        if (kern_attention_drop(call, head, block, r) == block) {
            p = out;
        }
    }
    return p;
}

/* Cotangents of one head's keys and values from S̄, P and O̅. Where values are keys, both go to the
 * same place. */
static void key_value_cotangents(const kern_call *call, const kern_head *head, const kern_head *bar,
                                 const kern_attention_scratch *scratch, size_t index)
{
    const size_t n = head->tokens;
    const bool values_are_keys = call->in[V].data == NULL;
    const bool mixes = bar->v.data != NULL && bar->out.data != NULL;
    const kern_real *scores = scratch->scores + index * n * n;
    const kern_real *p = dropped_weights(call, head, scratch->dropped);
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        if (bar->k.data != NULL) {
            add_outer(head, bar->k, head->width, scores, head->q, r, 1.0, call->accumulate[K]);
        }
        if (mixes) {
            add_outer(head, bar->v, head->value_width, p, bar->out, r, call->attr->attention.scale,
                      values_are_keys || call->accumulate[V]);
        }
    }
}

static void head_cotangents(const kern_call *call, const kern_head *head, const kern_head *bar,
                            const kern_attention_scratch *scratch, size_t at)
{
    const size_t n = head->tokens;
    KERN_NAME(kern_transpose)
    (scratch->transposed, n, head->v.data, head->v.ld, n, head->value_width);
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        score_cotangent(call, head, bar, scratch, at, r);
    }
    key_value_cotangents(call, head, bar, scratch, at % call->attr->attention.heads);
}

static void vjp_heads(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                      size_t begin, size_t end)
{
    const kern_attention_attr *a = &call->attr->attention;
    for (size_t h = begin; h < end; h++) {
        const kern_head head = kern_attention_head(call, call->in, call->out[0], sequence, h);
        const kern_head bar = kern_attention_head(call, call->d_in, call->d_out[0], sequence, h);
        head_cotangents(call, &head, &bar, scratch, sequence * a->heads + h);
        if (bar.q.data != NULL && !a->shared_query) {
            query_cotangent(&head, &bar, scratch, h, 0, head.width, call->accumulate[Q]);
        }
    }
}

static void vjp_columns(const kern_call *call, const kern_attention_scratch *scratch,
                        size_t sequence, size_t begin, size_t end)
{
    for (size_t h = 0; h < call->attr->attention.heads; h++) {
        const kern_head head = kern_attention_head(call, call->in, call->out[0], sequence, h);
        const kern_head bar = kern_attention_head(call, call->d_in, call->d_out[0], sequence, h);
        query_cotangent(&head, &bar, scratch, h, begin, end, call->accumulate[Q] || h > 0);
    }
}

/* Value cotangents that receive nothing are zero unless they already hold something. */
static void clear_values(const kern_call *call)
{
    const kern_view dv = call->d_in[V];
    if (call->d_out[0].data == NULL && dv.data != NULL && !call->accumulate[V]) {
        memset(dv.data, 0, dv.rows * dv.cols * sizeof(kern_real));
    }
}

void kern_attention_vjp(const kern_call *call)
{
    const bool shared = call->attr->attention.shared_query && call->d_in[Q].data != NULL;
    const kern_attention_pass pass = {.by_head = vjp_heads,
                                      .by_column = shared ? vjp_columns : NULL,
                                      .columns = call->in[Q].cols};
    clear_values(call);
    kern_attention_run(call, &pass);
}
