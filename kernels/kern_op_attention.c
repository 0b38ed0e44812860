/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention forward and jvp; see kern_attention_attr for the formulas, and interaction's in
 * kern_op.h for the diagonal part. The vjp is in kern_op_attention_vjp.c.
 */
#include "kernels/kern_attention.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_block.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_size.h"
#include "kernels/kern_vmath.h"

#include <math.h>
#include <string.h>

typedef KERN_NAME(kern_gemm) gemm;

/* Scores times β, with `base` added first unless it is NULL. */
KERN_INLINE void scale_scores(kern_real *row, const kern_real *base, size_t n, kern_real beta)
{
    if (base == NULL) {
        for (size_t j = 0; j < n; j++) {
            row[j] *= beta;
        }
        return;
    }
    KERN_IVDEP
    for (size_t j = 0; j < n; j++) {
        row[j] = beta * (row[j] + base[j]);
    }
}

/* What a row's softmax divides by, as ℓ = largest + log total. */
typedef struct softmax_scale {
    double largest;
    double total;
} softmax_scale;

/* Row of `bound` scores, to which `base` adds unless it is NULL, to row of weights. What is not
 * visible counts as −∞, so that the passes have lengths that vectors divide, and becomes zero even
 * where a score is no number. With `visible` = 0 the row becomes zero and ℓ = 0. */
KERN_HOT static softmax_scale softmax_row(kern_real *row, const kern_real *base, size_t visible,
                                          size_t bound, kern_real beta)
{
    if (visible == 0) {
        memset(row, 0, bound * sizeof *row);
        return (softmax_scale){0, 1};
    }
    scale_scores(row, base, bound, beta);
    for (size_t j = visible; j < bound; j++) {
        row[j] = -(kern_real)INFINITY;
    }
    const kern_real largest = KERN_NAME(kern_vmath_max)(row, bound);
    const double total = KERN_NAME(kern_vmath_exp_sum)(row, row, largest, bound);
    const kern_real inverse = (kern_real)(1.0 / total);
    for (size_t j = 0; j < bound; j++) {
        row[j] *= inverse;
    }
    memset(row + visible, 0, (bound - visible) * sizeof *row);
    return (softmax_scale){(double)largest, total};
}

static void write_row_outputs(const kern_call *call, size_t at, softmax_scale scale,
                              kern_real diagonal)
{
    kern_real *out_lse = call->out[KERN_ATTENTION_LSE].data;
    kern_real *out_diagonal = call->out[KERN_ATTENTION_OWN].data;
    if (out_lse != NULL) {
        out_lse[at] = (kern_real)(scale.largest + log(scale.total));
    }
    if (out_diagonal != NULL) {
        out_diagonal[at] = diagonal;
    }
}

/* A head of a sequence, with the diagonal part that acts on it. */
typedef struct forward_head {
    kern_attention_part part;
    kern_head head;
    kern_head diagonal;
    size_t sequence;
    size_t index;
} forward_head;

static forward_head forward_at(const kern_call *call, size_t sequence, size_t index)
{
    return (forward_head){
        .part = kern_attention_kind(call),
        .head = kern_attention_head(call, call->in, call->out[0], sequence, index),
        .diagonal =
            kern_attention_diagonal(call, call->in, call->out[KERN_ATTENTION_M], sequence, index),
        .sequence = sequence,
        .index = index};
}

/* q·k of a head, and e·c. */
static kern_scores head_scores(const forward_head *h, const kern_attention_scratch *scratch)
{
    return (kern_scores){.tokens = h->head.tokens,
                         .width = h->head.width,
                         .left = h->head.q,
                         .turned = scratch->turned,
                         .scale = 1};
}

static kern_scores diagonal_scores(const forward_head *h, const kern_attention_scratch *scratch)
{
    return (kern_scores){.tokens = h->head.tokens,
                         .width = h->diagonal.width,
                         .left = h->diagonal.q,
                         .turned = scratch->wide,
                         .scale = 1};
}

/* Weights of the block that starts at r. Kept ones are zero where nothing may be attended. */
static void block_weights(const kern_call *call, const forward_head *h,
                          const kern_attention_scratch *scratch, kern_real *block, size_t r)
{
    const kern_attention_attr *a = &call->attr->attention;
    const size_t n = h->head.tokens;
    const size_t end = kern_attention_block_end(n, r);
    const bool kept = block != scratch->block;
    const kern_scores scores = head_scores(h, scratch);
    kern_attention_scores(&scores, block, r, false);
    if (h->part == KERN_ATTENTION_EACH) {
        const kern_scores more = diagonal_scores(h, scratch);
        kern_attention_scores(&more, block, r, true);
    }
    for (size_t i = r; i < end; i++) {
        kern_real *row = block + (i - r) * n;
        const kern_real *base = h->part == KERN_ATTENTION_SHARED ? scratch->base + i * n : NULL;
        const softmax_scale scale =
            softmax_row(row, base, kern_attention_visible(call->attr, i), end, (kern_real)a->beta);
        write_row_outputs(call, (h->sequence * n + i) * a->heads + h->index, scale, row[i]);
        if (kept) {
            memset(row + end, 0, (n - end) * sizeof *row);
        }
    }
}

/* Block of rows that starts at r: weights, and at once what they mix, so that weights that nobody
 * keeps never leave the cache. */
static void forward_block(const kern_call *call, const forward_head *h,
                          const kern_attention_scratch *scratch, size_t r)
{
    const size_t n = h->head.tokens;
    const bool mixes = call->out[KERN_ATTENTION_M].data != NULL;
    kern_real *block = h->head.p.data == NULL ? scratch->block : h->head.p.data + r * n;
    block_weights(call, h, scratch, block, r);
    const kern_real *left = kern_attention_drop(call, &h->head, block, scratch->dropped, r);
    if (h->head.out.data != NULL) {
        kern_attention_mix(call, &h->head, left, h->head.v, r,
                           call->attr->attention.sum_heads && h->index > 0);
    }
    if (mixes && h->part == KERN_ATTENTION_EACH) {
        kern_attention_mix(call, &h->diagonal, left, h->diagonal.v, r, false);
    } else if (mixes && h->part == KERN_ATTENTION_SHARED) {
        kern_attention_add_rows(scratch->sums + r * n, left, n, r, h->index > 0);
    }
}

/* What is done with the block of rows that starts at r, for one head or for what all share. */
typedef void block_body(const kern_call *call, const forward_head *h,
                        const kern_attention_scratch *scratch, size_t r);

/* The same with all blocks of pairs begin … end − 1. */
static void each_block(const kern_call *call, const forward_head *h,
                       const kern_attention_scratch *scratch, size_t begin, size_t end,
                       block_body *body)
{
    for (size_t k = 2 * begin; k < 2 * end; k++) {
        const size_t r = kern_attention_paired_row(h->head.tokens, k);
        if (r < h->head.tokens) {
            body(call, h, scratch, r);
        }
    }
}

/* The scores e·c that all heads share. */
static void base_block(const kern_call *call, const forward_head *h,
                       const kern_attention_scratch *scratch, size_t r)
{
    (void)call;
    const kern_scores scores = diagonal_scores(h, scratch);
    kern_attention_scores(&scores, scratch->base + r * h->head.tokens, r, false);
}

/* m = c (Σ_h P) c. */
static void sums_block(const kern_call *call, const forward_head *h,
                       const kern_attention_scratch *scratch, size_t r)
{
    kern_attention_mix(call, &h->diagonal, scratch->sums + r * h->head.tokens, h->diagonal.v, r,
                       false);
}

/* Some columns of m after the other, for all blocks, so that these of c stay in cache. */
static void mix_sums(const kern_call *call, const forward_head *h,
                     const kern_attention_scratch *scratch, size_t begin, size_t end)
{
    forward_head some = *h;
    for (size_t j = 0; j < h->diagonal.width; j += KERN_PANEL) {
        some.diagonal.value_width = kern_size_min(KERN_PANEL, h->diagonal.width - j);
        some.diagonal.v.data = h->diagonal.v.data + j;
        some.diagonal.out.data = h->diagonal.out.data + j;
        each_block(call, &some, scratch, begin, end, sums_block);
    }
}

/* Pairs of blocks, each from scores to outputs, head after head, whose keys and values stay in
 * cache. Every worker turns the keys for itself: they are at hand there, and few beside what
 * follows. */
static void forward_pairs(const kern_call *call, const kern_attention_scratch *scratch,
                          size_t sequence, size_t begin, size_t end)
{
    const forward_head first = forward_at(call, sequence, 0);
    const bool shared = first.part == KERN_ATTENTION_SHARED;
    if (shared) {
        each_block(call, &first, scratch, begin, end, base_block);
    }
    for (size_t i = 0; i < call->attr->attention.heads; i++) {
        const forward_head h = forward_at(call, sequence, i);
        KERN_NAME(kern_pack_turned)
        (scratch->turned, h.head.k.data, h.head.k.ld, 0, h.head.tokens, h.head.width);
        each_block(call, &h, scratch, begin, end, forward_block);
    }
    if (shared && call->out[KERN_ATTENTION_M].data != NULL) {
        mix_sums(call, &first, scratch, begin, end);
    }
}

void kern_attention_forward(const kern_call *call)
{
    const size_t tokens = call->attr->attention.tokens;
    const bool plain = kern_attention_kind(call) == KERN_ATTENTION_PLAIN;
    const kern_attention_stage stages[] = {
        {plain ? NULL : kern_attention_turn_diagonal, kern_attention_panels(tokens)},
        {forward_pairs, kern_attention_pairs(tokens)}};
    kern_attention_run(call, stages, sizeof stages / sizeof *stages);
}

/* What a token's own key does to its score: q_A·k̇_A on the diagonal. */
static void add_own_scores(const kern_head *head, const kern_head *dot, kern_real *scores)
{
    for (size_t i = 0; i < head->tokens; i++) {
        scores[i * head->tokens + i] += (kern_real)KERN_NAME(kern_vmath_dot)(
            head->q.data + i * head->q.ld, dot->k.data + i * dot->k.ld, head->width);
    }
}

/* Adds Ṡ (N×N, before β) of one head to `scores`: q̇·k + q·k̇; nothing when neither moves. With
 * `own`, k̇ of a token reaches that token alone. */
static void add_score_tangent(const kern_head *head, const kern_head *dot, bool own,
                              kern_real *scores)
{
    const size_t n = head->tokens;
    gemm g = {
        .tb = true, .m = n, .n = n, .k = head->width, .alpha = 1, .beta = 1, .c = scores, .ldc = n};
    if (dot->q.data != NULL) {
        g.a = dot->q.data;
        g.lda = dot->q.ld;
        g.b = head->k.data;
        g.ldb = head->k.ld;
        KERN_NAME(kern_gemm_run)(&g, 1);
    }
    if (dot->k.data != NULL && own) {
        add_own_scores(head, dot, scores);
    } else if (dot->k.data != NULL) {
        g.a = head->q.data;
        g.lda = head->q.ld;
        g.b = dot->k.data;
        g.ldb = dot->k.ld;
        KERN_NAME(kern_gemm_run)(&g, 1);
    }
}

/* Row of β⁻¹Ṡ to row of Ṗ = P(Ṡ − ΣPṠ); returns ℓ̇ = ΣPṠ. */
static double softmax_tangent(kern_real *row, const kern_real *p, size_t n, double beta)
{
    const double mean = beta * KERN_NAME(kern_vmath_dot)(p, row, n);
    for (size_t j = 0; j < n; j++) {
        row[j] = (kern_real)((double)p[j] * (beta * (double)row[j] - mean));
    }
    return mean;
}

static void write_row_tangents(const kern_call *call, size_t at, double lse, kern_real diagonal)
{
    if (call->d_out[1].data != NULL) {
        ((kern_real *)call->d_out[1].data)[at] = (kern_real)lse;
    }
    if (call->d_out[2].data != NULL) {
        ((kern_real *)call->d_out[2].data)[at] = diagonal;
    }
}

/* Rows r … of one block: out˙_A += c P_AA v̇_A, what a token's own value does to it. */
static void mix_own(const kern_call *call, const kern_head *dot, const kern_real *weights, size_t r)
{
    const kern_real scale = (kern_real)call->attr->attention.scale;
    for (size_t i = r; i < kern_attention_block_end(dot->tokens, r); i++) {
        kern_block_scale(dot->out.data + i * dot->out.ld, dot->v.data + i * dot->v.ld,
                         scale * weights[(i - r) * dot->tokens + i], dot->value_width, true);
    }
}

/* Rows of one block: out˙ += c weights v̇, if the values move. */
static void mix_value_tangent(const kern_call *call, const kern_head *dot, const kern_real *weights,
                              size_t r)
{
    if (call->bindings->own_rows) {
        mix_own(call, dot, weights, r);
    } else {
        kern_attention_mix(call, dot, weights, dot->v, r, true);
    }
}

/* out˙ (+)= c (m ⊙ Ṗ v + m ⊙ P v̇), m the dropout factors and Ṗ in scratch->scores. */
static void mix_head_tangent(const kern_call *call, const kern_head *head, const kern_head *dot,
                             const kern_attention_scratch *scratch, bool accumulate)
{
    const size_t n = head->tokens;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        const kern_real *left =
            kern_attention_drop(call, head, scratch->scores + r * n, scratch->dropped, r);
        kern_attention_mix(call, dot, left, head->v, r, accumulate);
        if (dot->v.data != NULL) {
            mix_value_tangent(
                call, dot,
                kern_attention_drop(call, head, head->p.data + r * n, scratch->dropped, r), r);
        }
    }
}

/* A head and its tangents, and those of the diagonal part that acts on it. */
typedef struct moving_head {
    kern_head head;
    kern_head dot;
    kern_head diagonal;
    kern_head diagonal_dot;
} moving_head;

static moving_head moving_at(const kern_call *call, size_t sequence, size_t index)
{
    return (moving_head){
        .head = kern_attention_head(call, call->in, call->out[0], sequence, index),
        .dot = kern_attention_head(call, call->d_in, call->d_out[0], sequence, index),
        .diagonal =
            kern_attention_diagonal(call, call->in, call->out[KERN_ATTENTION_M], sequence, index),
        .diagonal_dot = kern_attention_diagonal(call, call->d_in, call->d_out[KERN_ATTENTION_M],
                                                sequence, index)};
}

/* Ṗ of one head into scratch->scores, and the tangents of its numbers per row. */
static void weight_tangent(const kern_call *call, const moving_head *m,
                           const kern_attention_scratch *scratch, size_t sequence, size_t index)
{
    const kern_attention_attr *a = &call->attr->attention;
    const kern_attention_part part = kern_attention_kind(call);
    const bool own = call->bindings->own_rows;
    const size_t n = m->head.tokens;
    if (part == KERN_ATTENTION_SHARED) {
        memcpy(scratch->scores, scratch->base, n * n * sizeof *scratch->scores);
    } else {
        kern_block_clear(scratch->scores, n * n);
    }
    add_score_tangent(&m->head, &m->dot, own, scratch->scores);
    if (part == KERN_ATTENTION_EACH) {
        add_score_tangent(&m->diagonal, &m->diagonal_dot, own, scratch->scores);
    }
    for (size_t i = 0; i < n; i++) {
        kern_real *row = scratch->scores + i * n;
        const double lse = softmax_tangent(row, m->head.p.data + i * n, n, a->beta);
        write_row_tangents(call, (sequence * n + i) * a->heads + index, lse, row[i]);
    }
}

/* Adds m ⊙ Ṗ of one head to scratch->sums. */
static void add_weight_tangent(const kern_call *call, const kern_head *head,
                               const kern_attention_scratch *scratch, bool add)
{
    const size_t n = head->tokens;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        const kern_real *left =
            kern_attention_drop(call, head, scratch->scores + r * n, scratch->dropped, r);
        kern_attention_add_rows(scratch->sums + r * n, left, n, r, add);
    }
}

/* ṁ = c (Σ_h Ṗ c + Σ_h P ċ), from the first sum in scratch->sums. */
static void mix_sum_tangent(const kern_call *call, const moving_head *m,
                            const kern_attention_scratch *scratch, size_t sequence)
{
    for (size_t r = 0; r < m->head.tokens; r += KERN_ATTENTION_BLOCK) {
        kern_real *weights = scratch->base + r * m->head.tokens;
        kern_attention_mix(call, &m->diagonal_dot, scratch->sums + r * m->head.tokens,
                           m->diagonal.v, r, false);
        if (m->diagonal_dot.v.data != NULL) {
            kern_attention_sum_weights(call, scratch, sequence, r, weights);
            mix_value_tangent(call, &m->diagonal_dot, weights, r);
        }
    }
}

static void jvp_heads(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                      size_t begin, size_t end)
{
    const kern_attention_part part = kern_attention_kind(call);
    const bool mixes = call->d_out[KERN_ATTENTION_M].data != NULL;
    moving_head m = moving_at(call, sequence, begin);
    if (part == KERN_ATTENTION_SHARED) {
        kern_block_clear(scratch->base, m.head.tokens * m.head.tokens);
        add_score_tangent(&m.diagonal, &m.diagonal_dot, call->bindings->own_rows, scratch->base);
    }
    for (size_t h = begin; h < end; h++) {
        m = moving_at(call, sequence, h);
        weight_tangent(call, &m, scratch, sequence, h);
        if (m.dot.out.data != NULL) {
            mix_head_tangent(call, &m.head, &m.dot, scratch,
                             call->attr->attention.sum_heads && h > 0);
        }
        if (mixes && part == KERN_ATTENTION_EACH) {
            mix_head_tangent(call, &m.diagonal, &m.diagonal_dot, scratch, false);
        }
        if (mixes && part == KERN_ATTENTION_SHARED) {
            add_weight_tangent(call, &m.head, scratch, h > 0);
        }
    }
    if (mixes && part == KERN_ATTENTION_SHARED) {
        mix_sum_tangent(call, &m, scratch, sequence);
    }
}

/* Tangents are for analysis, where a prompt is one sequence: heads run in order. */
void kern_attention_jvp(const kern_call *call)
{
    kern_call serial = *call;
    serial.workers = 1;
    const kern_attention_stage heads = {jvp_heads, call->attr->attention.heads};
    kern_attention_run(&serial, &heads, 1);
}

const kern_op_kernels KERN_NAME(kern_op_attention_kernels) = {
    .forward = kern_attention_forward,
    .vjp = kern_attention_vjp,
    .jvp = kern_attention_jvp,
};
