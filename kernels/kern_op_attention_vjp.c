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

/* A block's contribution leftᵀ·right to key or value cotangents (rows 0 … bound − 1). */
static void add_outer(kern_panel to, const kern_real *left, size_t n, kern_panel right, size_t r,
                      const gemm *shape)
{
    gemm g = *shape;
    g.ta = true;
    g.k = kern_attention_block_end(n, r) - r;
    g.a = left;
    g.lda = n;
    g.b = right.data + r * right.ld;
    g.ldb = right.ld;
    g.c = to.data;
    g.ldc = to.ld;
    KERN_NAME(kern_gemm_run)(&g, 1);
}

/* Key and value cotangents from one block of rows. `fresh` says that the panel holds nothing yet.
 */
static void key_value_cotangents(const kern_call *call, const kern_head *head, const kern_head *bar,
                                 const kern_attention_scratch *scratch, size_t index, size_t r)
{
    const size_t n = head->tokens;
    const size_t bound = kern_attention_block_end(n, r);
    const bool values_are_keys = call->in[V].data == NULL;
    const bool last = bound == n;
    kern_real *rows = scratch->scores + index * n * n + r * n;
    gemm g = {.m = bound, .n = head->width, .alpha = 1};
    if (bar->k.data != NULL) {
        g.beta = last && !call->accumulate[K] ? 0 : 1;
        add_outer(bar->k, rows, n, head->q, r, &g);
    }
    if (bar->v.data != NULL && bar->out.data != NULL) {
        const kern_real *p = kern_attention_drop(call, head, scratch->dropped, r);
        g.n = head->value_width;
        g.alpha = (kern_real)call->attr->attention.scale;
        g.beta = last && !values_are_keys && !call->accumulate[V] ? 0 : 1;
        add_outer(bar->v, p, n, bar->out, r, &g);
    }
}

/* q̄[:, begin … end) (+)= S̄ k. */
static void query_cotangent(const kern_head *head, const kern_head *bar, const kern_real *scores,
                            size_t begin, size_t end, bool accumulate)
{
    const size_t n = head->tokens;
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

static void vjp_heads(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                      size_t begin, size_t end)
{
    const kern_attention_attr *a = &call->attr->attention;
    for (size_t h = begin; h < end; h++) {
        const kern_head head = kern_attention_head(call, call->in, call->out[0], sequence, h);
        const kern_head bar = kern_attention_head(call, call->d_in, call->d_out[0], sequence, h);
        const size_t n = head.tokens;
        KERN_NAME(kern_transpose)
        (scratch->transposed, n, head.v.data, head.v.ld, n, head.value_width);
        /* The last block reaches every column, so it goes first and may overwrite. */
        for (size_t blocks = (n + KERN_ATTENTION_BLOCK - 1) / KERN_ATTENTION_BLOCK; blocks > 0;
             blocks--) {
            const size_t r = (blocks - 1) * KERN_ATTENTION_BLOCK;
            score_cotangent(call, &head, &bar, scratch, sequence * a->heads + h, r);
            key_value_cotangents(call, &head, &bar, scratch, h, r);
        }
        if (bar.q.data != NULL && !a->shared_query) {
            query_cotangent(&head, &bar, scratch->scores + h * n * n, 0, head.width,
                            call->accumulate[Q]);
        }
    }
}

static void vjp_columns(const kern_call *call, const kern_attention_scratch *scratch,
                        size_t sequence, size_t begin, size_t end)
{
    for (size_t h = 0; h < call->attr->attention.heads; h++) {
        const kern_head head = kern_attention_head(call, call->in, call->out[0], sequence, h);
        const kern_head bar = kern_attention_head(call, call->d_in, call->d_out[0], sequence, h);
        query_cotangent(&head, &bar, scratch->scores + h * head.tokens * head.tokens, begin, end,
                        call->accumulate[Q] || h > 0);
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
