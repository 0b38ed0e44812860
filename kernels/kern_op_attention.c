/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention forward and jvp; see kern_attention_attr for the formulas, and interaction's in
 * kern_op.h for the diagonal part. The vjp is in kern_op_attention_vjp.c.
 */
#include "kernels/kern_attention.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_block.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_transpose.h"
#include "kernels/kern_vmath.h"

#include <math.h>
#include <string.h>

typedef KERN_NAME(kern_gemm) gemm;

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

/* Row of scores, to which `base` adds unless it is NULL, to row of weights; returns ℓ. With
 * `visible` = 0 the row becomes zero and ℓ = 0. */
KERN_HOT static double softmax_row(kern_real *row, const kern_real *base, size_t visible,
                                   size_t bound, kern_real beta)
{
    double lse = 0;
    if (visible > 0) {
        scale_scores(row, base, visible, beta);
        const kern_real largest = KERN_NAME(kern_vmath_max)(row, visible);
        const double total = KERN_NAME(kern_vmath_exp_sum)(row, row, largest, visible);
        const kern_real inverse = (kern_real)(1.0 / total);
        for (size_t j = 0; j < visible; j++) {
            row[j] *= inverse;
        }
        lse = (double)largest + log(total);
    }
    memset(row + visible, 0, (bound - visible) * sizeof *row);
    return lse;
}

static void write_row_outputs(const kern_call *call, const kern_head *head, size_t row,
                              size_t global_row, size_t index, double lse)
{
    const size_t at = global_row * call->attr->attention.heads + index;
    kern_real *out_lse = call->out[1].data;
    kern_real *out_diagonal = call->out[2].data;
    if (out_lse != NULL) {
        out_lse[at] = (kern_real)lse;
    }
    if (out_diagonal != NULL) {
        out_diagonal[at] = head->p.data[row * head->p.ld + row];
    }
}

/* Block of rows of p that starts at r: (+)= q·k, from the transposed keys. */
static void score_block(const kern_head *head, const kern_real *transposed, size_t r,
                        bool accumulate)
{
    const size_t n = head->tokens;
    const size_t end = kern_attention_block_end(n, r);
    const gemm scores = {.m = end - r,
                         .n = end,
                         .k = head->width,
                         .alpha = 1,
                         .beta = accumulate ? 1 : 0,
                         .a = head->q.data + r * head->q.ld,
                         .lda = head->q.ld,
                         .b = transposed,
                         .ldb = n,
                         .c = head->p.data + r * head->p.ld,
                         .ldc = head->p.ld};
    KERN_NAME(kern_gemm_run)(&scores, 1);
}

/* Weights P of one head; the transposed c is at hand. */
static void head_weights(const kern_call *call, const kern_head *head,
                         const kern_attention_scratch *scratch, size_t sequence, size_t index)
{
    const kern_attr *attr = call->attr;
    const kern_attention_part part = kern_attention_kind(call);
    const size_t n = head->tokens;
    kern_head diagonal =
        kern_attention_diagonal(call, call->in, call->out[KERN_ATTENTION_M], sequence, index);
    diagonal.p = head->p;
    KERN_NAME(kern_transpose)(scratch->transposed, n, head->k.data, head->k.ld, n, head->width);
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        score_block(head, scratch->transposed, r, false);
        if (part == KERN_ATTENTION_EACH) {
            score_block(&diagonal, scratch->wide, r, true);
        }
        for (size_t i = r; i < kern_attention_block_end(n, r); i++) {
            const double lse =
                softmax_row(head->p.data + i * head->p.ld,
                            part == KERN_ATTENTION_SHARED ? scratch->base + i * n : NULL,
                            kern_attention_visible(attr, i), n, (kern_real)attr->attention.beta);
            write_row_outputs(call, head, i, sequence * n + i, index, lse);
        }
    }
}

/* out[:, begin … end) (+)= c P v for one head. */
static void head_mix(const kern_call *call, const kern_head *head,
                     const kern_attention_scratch *scratch, size_t begin, size_t end,
                     bool accumulate)
{
    const size_t n = head->tokens;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        const size_t bound = kern_attention_block_end(n, r);
        const gemm mix = {.m = bound - r,
                          .n = end - begin,
                          .k = bound,
                          .alpha = (kern_real)call->attr->attention.scale,
                          .beta = accumulate ? 1 : 0,
                          .a = kern_attention_drop(call, head, scratch->dropped, r),
                          .lda = n,
                          .b = head->v.data + begin,
                          .ldb = head->v.ld,
                          .c = head->out.data + r * head->out.ld + begin,
                          .ldc = head->out.ld};
        KERN_NAME(kern_gemm_run)(&mix, 1);
    }
}

/* Pairs of blocks of the scores e·c that all heads share. */
static void forward_base(const kern_call *call, const kern_attention_scratch *scratch,
                         size_t sequence, size_t begin, size_t end)
{
    kern_head diagonal =
        kern_attention_diagonal(call, call->in, call->out[KERN_ATTENTION_M], sequence, 0);
    diagonal.p = (kern_panel){scratch->base, diagonal.tokens};
    kern_attention_transpose(&diagonal, scratch);
    for (size_t k = 2 * begin; k < 2 * end; k++) {
        const size_t r = kern_attention_paired_row(diagonal.tokens, k);
        if (r < diagonal.tokens) {
            score_block(&diagonal, scratch->wide, r, false);
        }
    }
}

static void forward_heads(const kern_call *call, const kern_attention_scratch *scratch,
                          size_t sequence, size_t begin, size_t end)
{
    const kern_view m = call->out[KERN_ATTENTION_M];
    const bool each = kern_attention_kind(call) == KERN_ATTENTION_EACH;
    for (size_t h = begin; h < end; h++) {
        const kern_head head = kern_attention_forward_head(call, scratch, sequence, h);
        kern_head diagonal = kern_attention_diagonal(call, call->in, m, sequence, h);
        if (each && h == begin) {
            kern_attention_transpose(&diagonal, scratch);
        }
        head_weights(call, &head, scratch, sequence, h);
        if (!call->attr->attention.sum_heads && head.out.data != NULL) {
            head_mix(call, &head, scratch, 0, head.value_width, false);
        }
        if (each && m.data != NULL) {
            diagonal.p = head.p;
            head_mix(call, &diagonal, scratch, 0, diagonal.value_width, false);
        }
    }
}

static void forward_columns(const kern_call *call, const kern_attention_scratch *scratch,
                            size_t sequence, size_t begin, size_t end)
{
    for (size_t h = 0; h < call->attr->attention.heads; h++) {
        const kern_head head = kern_attention_forward_head(call, scratch, sequence, h);
        head_mix(call, &head, scratch, begin, end, h > 0);
    }
}

/* Rows of one block: out (+)= c left·right, where `left` starts at that block. */
static void mix_block(const kern_call *call, const kern_head *to, const kern_real *left,
                      kern_panel right, size_t r, bool accumulate)
{
    const size_t n = to->tokens;
    const size_t bound = kern_attention_block_end(n, r);
    const gemm g = {.m = bound - r,
                    .n = to->value_width,
                    .k = bound,
                    .alpha = (kern_real)call->attr->attention.scale,
                    .beta = accumulate ? 1 : 0,
                    .a = left,
                    .lda = n,
                    .b = right.data,
                    .ldb = right.ld,
                    .c = to->out.data + r * to->out.ld,
                    .ldc = to->out.ld};
    KERN_NAME(kern_gemm_run)(&g, 1);
}

/* Pairs of blocks of m = c (Σ_h P) c. */
static void forward_sums(const kern_call *call, const kern_attention_scratch *scratch,
                         size_t sequence, size_t begin, size_t end)
{
    const kern_head diagonal =
        kern_attention_diagonal(call, call->in, call->out[KERN_ATTENTION_M], sequence, 0);
    for (size_t k = 2 * begin; k < 2 * end; k++) {
        const size_t r = kern_attention_paired_row(diagonal.tokens, k);
        if (r < diagonal.tokens) {
            kern_real *left = scratch->sums + r * diagonal.tokens;
            kern_attention_sum_weights(call, scratch, sequence, r, left);
            mix_block(call, &diagonal, left, diagonal.v, r, false);
        }
    }
}

void kern_attention_forward(const kern_call *call)
{
    const kern_attention_attr *a = &call->attr->attention;
    const bool columns = a->sum_heads && call->out[KERN_ATTENTION_OUT].data != NULL;
    const bool shared = kern_attention_kind(call) == KERN_ATTENTION_SHARED;
    const bool sums = shared && call->out[KERN_ATTENTION_M].data != NULL;
    const size_t pairs = kern_attention_pairs(a->tokens);
    const kern_attention_stage stages[] = {
        {shared ? forward_base : NULL, pairs},
        {forward_heads, a->heads},
        {columns ? forward_columns : NULL, call->out[KERN_ATTENTION_OUT].cols},
        {sums ? forward_sums : NULL, pairs}};
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
        mix_block(call, dot, weights, dot->v, r, true);
    }
}

/* out˙ (+)= c (m ⊙ Ṗ v + m ⊙ P v̇), m the dropout factors and Ṗ in scratch->scores. */
static void mix_head_tangent(const kern_call *call, const kern_head *head, const kern_head *dot,
                             const kern_attention_scratch *scratch, bool accumulate)
{
    const size_t n = head->tokens;
    kern_head moving = *head;
    moving.p.data = scratch->scores;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        mix_block(call, dot, kern_attention_drop(call, &moving, scratch->dropped, r), head->v, r,
                  accumulate);
        if (dot->v.data != NULL) {
            mix_value_tangent(call, dot, kern_attention_drop(call, head, scratch->dropped, r), r);
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
    kern_head moving = *head;
    moving.p.data = scratch->scores;
    for (size_t r = 0; r < head->tokens; r += KERN_ATTENTION_BLOCK) {
        kern_attention_add_rows(scratch->sums + r * head->tokens,
                                kern_attention_drop(call, &moving, scratch->dropped, r),
                                head->tokens, r, add);
    }
}

/* ṁ = c (Σ_h Ṗ c + Σ_h P ċ), from the first sum in scratch->sums. */
static void mix_sum_tangent(const kern_call *call, const moving_head *m,
                            const kern_attention_scratch *scratch, size_t sequence)
{
    for (size_t r = 0; r < m->head.tokens; r += KERN_ATTENTION_BLOCK) {
        kern_real *weights = scratch->base + r * m->head.tokens;
        mix_block(call, &m->diagonal_dot, scratch->sums + r * m->head.tokens, m->diagonal.v, r,
                  false);
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
