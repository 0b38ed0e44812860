/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention's vjp. With c the output scale, O̅ the output's cotangent, m the dropout factors:
 *   P̄ = m ⊙ c O̅ vᵀ (+ cotangent of the diagonal),   S̄ = β P ⊙ (P̄ − rowsum(P ⊙ P̄) + ℓ̄),
 *   q̄ = S̄ k,   k̄ = S̄ᵀ q,   v̄ = c (m ⊙ P)ᵀ O̅.
 * A diagonal part adds c M̅ cᵀ to O̅ vᵀ, and gives ē = S̄ c, c̄ = S̄ᵀ e + c (m ⊙ P)ᵀ M̅, where S̄ and
 * m ⊙ P are summed over the heads that share it.
 */
#include "kernels/kern_attention.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_dropout.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_vmath.h"

#include <string.h>

typedef KERN_NAME(kern_gemm) gemm;

enum { Q = KERN_ATTENTION_Q, K, V, E, C };

/* A head and its cotangents, and those of the diagonal part that acts on it (NULL panels where
 * there is none). */
typedef struct head_bars {
    kern_attention_part part;
    kern_head head;
    kern_head bar;
    kern_head diagonal;
    kern_head diagonal_bar;
} head_bars;

static head_bars bars_at(const kern_call *call, size_t sequence, size_t index)
{
    return (head_bars){
        .part = kern_attention_kind(call),
        .head = kern_attention_head(call, call->in, call->out[0], sequence, index),
        .bar = kern_attention_head(call, call->d_in, call->d_out[0], sequence, index),
        .diagonal =
            kern_attention_diagonal(call, call->in, call->out[KERN_ATTENTION_M], sequence, index),
        .diagonal_bar = kern_attention_diagonal(call, call->d_in, call->d_out[KERN_ATTENTION_M],
                                                sequence, index)};
}

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

/* c O̅ vᵀ of a head, and c M̅ cᵀ. */
static kern_scores value_products(const kern_call *call, const head_bars *h,
                                  const kern_attention_scratch *scratch)
{
    return (kern_scores){.tokens = h->head.tokens,
                         .width = h->head.value_width,
                         .left = h->bar.out,
                         .turned = scratch->turned,
                         .scale = call->attr->attention.scale};
}

static kern_scores diagonal_products(const kern_call *call, const head_bars *h,
                                     const kern_attention_scratch *scratch)
{
    return (kern_scores){.tokens = h->head.tokens,
                         .width = h->diagonal.width,
                         .left = h->diagonal_bar.out,
                         .turned = scratch->wide,
                         .scale = call->attr->attention.scale};
}

/* P̄ rows of a block, before the softmax: m ⊙ c O̅ vᵀ and the diagonal part's, zero when no output
 * has a cotangent. */
static void weight_cotangent(const kern_call *call, const head_bars *h,
                             const kern_attention_scratch *scratch, kern_real *rows, size_t r)
{
    const kern_attention_attr *a = &call->attr->attention;
    const size_t n = h->head.tokens;
    const size_t bound = kern_attention_block_end(n, r);
    const bool mixed = h->diagonal_bar.out.data != NULL;
    if (h->bar.out.data == NULL) {
        memset(rows, 0, (bound - r) * n * sizeof *rows);
    } else {
        const kern_scores products = value_products(call, h, scratch);
        kern_attention_scores(&products, rows, r, false);
    }
    if (mixed && h->part == KERN_ATTENTION_EACH) {
        const kern_scores products = diagonal_products(call, h, scratch);
        kern_attention_scores(&products, rows, r, true);
    } else if (mixed) {
        kern_attention_add_rows(rows, scratch->base + r * n, n, r, true);
    }
    if (call->bindings->dropout_key != 0 && a->dropout > 0.0) {
        for (size_t i = r; i < bound; i++) {
            mask_row(rows + (i - r) * n, bound,
                     kern_dropout_start(call->bindings->dropout_key, a->salt, h->head.first_row + i,
                                        a->dropout));
        }
    }
}

/* S̄ of one block of rows, at its place in the N×N matrix `scores`. */
static void score_cotangent(const kern_call *call, const head_bars *h,
                            const kern_attention_scratch *scratch, size_t at, size_t r)
{
    const kern_attention_attr *a = &call->attr->attention;
    const kern_real *lse = call->d_out[1].data;
    const kern_real *diagonal = call->d_out[2].data;
    const size_t n = h->head.tokens;
    const size_t bound = kern_attention_block_end(n, r);
    const size_t index = at % a->heads;
    const size_t first_row = at / a->heads * n;
    kern_real *rows = scratch->scores + index * n * n + r * n;
    weight_cotangent(call, h, scratch, rows, r);
    for (size_t i = r; i < bound; i++) {
        kern_real *row = rows + (i - r) * n;
        const size_t scalar = (first_row + i) * a->heads + index;
        if (diagonal != NULL) {
            row[i] += diagonal[scalar];
        }
        softmax_vjp_row(row, h->head.p.data + i * n, bound, lse == NULL ? 0 : (double)lse[scalar],
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

/* Rows of the block that starts at r: q̄[:, begin … end) (+)= S̄ k, S̄ in `scores` (N×N). */
static void query_block(const kern_head *head, const kern_head *bar, const kern_real *scores,
                        size_t r, size_t begin, size_t end, bool accumulate)
{
    const size_t n = head->tokens;
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

static void query_cotangent(const kern_head *head, const kern_head *bar,
                            const kern_attention_scratch *scratch, size_t index, size_t begin,
                            size_t end, bool accumulate)
{
    const size_t n = head->tokens;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        query_block(head, bar, scratch->scores + index * n * n, r, begin, end, accumulate);
    }
}

/* Weights after dropout, all N rows, with leading dimension N. */
static const kern_real *dropped_weights(const kern_call *call, const kern_head *head,
                                        kern_real *out)
{
    const size_t n = head->tokens;
    const kern_real *p = head->p.data;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        kern_real *block = out + r * n;
        if (kern_attention_drop(call, head, head->p.data + r * n, block, r) == block) {
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

/* Pairs of blocks of c M̅ cᵀ into scratch->base. */
static void vjp_base(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                     size_t begin, size_t end)
{
    const head_bars h = bars_at(call, sequence, 0);
    const kern_scores products = diagonal_products(call, &h, scratch);
    const size_t n = h.head.tokens;
    for (size_t k = 2 * begin; k < 2 * end; k++) {
        const size_t r = kern_attention_paired_row(n, k);
        if (r < n) {
            kern_attention_scores(&products, scratch->base + r * n, r, false);
        }
    }
}

static void head_cotangents(const kern_call *call, const head_bars *h,
                            const kern_attention_scratch *scratch, size_t at)
{
    KERN_NAME(kern_pack_turned)
    (scratch->turned, h->head.v.data, h->head.v.ld, 0, h->head.tokens, h->head.value_width);
    for (size_t r = 0; r < h->head.tokens; r += KERN_ATTENTION_BLOCK) {
        score_cotangent(call, h, scratch, at, r);
    }
    key_value_cotangents(call, &h->head, &h->bar, scratch, at % call->attr->attention.heads);
}

static void vjp_heads(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                      size_t begin, size_t end)
{
    const kern_attention_attr *a = &call->attr->attention;
    for (size_t i = begin; i < end; i++) {
        const head_bars h = bars_at(call, sequence, i);
        head_cotangents(call, &h, scratch, sequence * a->heads + i);
        if (h.bar.q.data != NULL && !a->shared_query) {
            query_cotangent(&h.head, &h.bar, scratch, i, 0, h.head.width, call->accumulate[Q]);
        }
        if (h.diagonal_bar.q.data != NULL && h.part == KERN_ATTENTION_EACH) {
            query_cotangent(&h.diagonal, &h.diagonal_bar, scratch, i, 0, h.diagonal.width,
                            call->accumulate[E]);
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

/* Pairs of blocks of Σ_h S̄, into scratch->base, and of ē; of Σ_h m ⊙ P, into scratch->sums, if c̄
 * needs it. */
static void vjp_sums(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                     size_t begin, size_t end)
{
    const head_bars h = bars_at(call, sequence, 0);
    const size_t n = h.head.tokens;
    const bool weights = h.diagonal_bar.out.data != NULL && h.diagonal_bar.v.data != NULL;
    for (size_t k = 2 * begin; k < 2 * end; k++) {
        const size_t r = kern_attention_paired_row(n, k);
        for (size_t i = 0; r < n && i < call->attr->attention.heads; i++) {
            kern_attention_add_rows(scratch->base + r * n, scratch->scores + i * n * n + r * n, n,
                                    r, i > 0);
        }
        if (r < n && h.diagonal_bar.q.data != NULL) {
            query_block(&h.diagonal, &h.diagonal_bar, scratch->base, r, 0, h.diagonal.width,
                        call->accumulate[E]);
        }
        if (r < n && weights) {
            kern_attention_sum_weights(call, scratch, sequence, r, scratch->sums + r * n);
        }
    }
}

/* Pairs of blocks of c̄ from one head's S̄ and m ⊙ P, or from their sums. */
static void pair_cotangents(const kern_call *call, const head_bars *h, const kern_real *scores,
                            const kern_real *weights, size_t begin, size_t end, bool accumulate)
{
    const size_t n = h->head.tokens;
    for (size_t k = 2 * begin; k < 2 * end; k++) {
        const size_t r = kern_attention_paired_row(n, k);
        if (r >= n) {
            continue;
        }
        add_outer(&h->head, h->diagonal_bar.k, h->diagonal.width, scores, h->diagonal.q, r, 1.0,
                  accumulate);
        if (h->diagonal_bar.out.data != NULL) {
            add_outer(&h->head, h->diagonal_bar.k, h->diagonal.width, weights, h->diagonal_bar.out,
                      r, call->attr->attention.scale, true);
        }
    }
}

static void vjp_pairs(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                      size_t begin, size_t end)
{
    const size_t heads = call->attr->attention.heads;
    if (kern_attention_kind(call) == KERN_ATTENTION_SHARED) {
        const head_bars h = bars_at(call, sequence, 0);
        pair_cotangents(call, &h, scratch->base, scratch->sums, begin, end, call->accumulate[C]);
        return;
    }
    for (size_t i = 0; i < heads; i++) {
        const head_bars h = bars_at(call, sequence, i);
        const size_t n = h.head.tokens;
        pair_cotangents(call, &h, scratch->scores + i * n * n,
                        dropped_weights(call, &h.head, scratch->dropped), begin, end,
                        call->accumulate[C] || i > 0);
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
    const kern_attention_attr *a = &call->attr->attention;
    const kern_attention_part part = kern_attention_kind(call);
    const bool columns = a->shared_query && call->d_in[Q].data != NULL;
    const bool shared = part == KERN_ATTENTION_SHARED;
    const bool mixed = part != KERN_ATTENTION_PLAIN && call->d_out[KERN_ATTENTION_M].data != NULL;
    const bool pulled = shared && (call->d_in[E].data != NULL || call->d_in[C].data != NULL);
    const size_t pairs = kern_attention_pairs(a->tokens);
    const kern_attention_stage stages[] = {
        {mixed ? kern_attention_turn_diagonal : NULL, kern_attention_panels(a->tokens)},
        {shared && mixed ? vjp_base : NULL, pairs},
        {vjp_heads, a->heads},
        {columns ? vjp_columns : NULL, call->in[Q].cols},
        {pulled ? vjp_sums : NULL, pairs},
        {part != KERN_ATTENTION_PLAIN && call->d_in[C].data != NULL ? vjp_pairs : NULL, pairs}};
    clear_values(call);
    kern_attention_run(call, stages, sizeof stages / sizeof *stages);
}
