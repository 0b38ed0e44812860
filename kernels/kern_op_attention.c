/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention forward and jvp; see kern_attention_attr for the formulas. The vjp is in
 * kern_op_attention_vjp.c.
 */
#include "kernels/kern_attention.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_simd.h"
#include "kernels/kern_transpose.h"
#include "kernels/kern_vmath.h"

#include <math.h>
#include <string.h>

typedef KERN_NAME(kern_gemm) gemm;

/* Row of scores to row of weights; returns ℓ. With `visible` = 0 the row becomes zero and ℓ = 0. */
KERN_HOT static double softmax_row(kern_real *row, size_t visible, size_t bound, kern_real beta)
{
    double lse = 0;
    if (visible > 0) {
        for (size_t j = 0; j < visible; j++) {
            row[j] *= beta;
        }
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

/* Weights P of one head; scratch->scores holds them when nobody keeps them. */
static void head_weights(const kern_call *call, const kern_head *head,
                         const kern_attention_scratch *scratch, size_t sequence, size_t index)
{
    const kern_attr *attr = call->attr;
    const size_t n = head->tokens;
    KERN_NAME(kern_transpose)(scratch->transposed, n, head->k.data, head->k.ld, n, head->width);
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        const size_t end = kern_attention_block_end(n, r);
        const gemm scores = {.m = end - r,
                             .n = end,
                             .k = head->width,
                             .alpha = 1,
                             .a = head->q.data + r * head->q.ld,
                             .lda = head->q.ld,
                             .b = scratch->transposed,
                             .ldb = n,
                             .c = head->p.data + r * head->p.ld,
                             .ldc = head->p.ld};
        KERN_NAME(kern_gemm_run)(&scores, 1);
        for (size_t i = r; i < end; i++) {
            const double lse =
                softmax_row(head->p.data + i * head->p.ld, kern_attention_visible(attr, i), n,
                            (kern_real)attr->attention.beta);
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

static kern_head forward_head(const kern_call *call, const kern_attention_scratch *scratch,
                              size_t sequence, size_t index)
{
    kern_head head = kern_attention_head(call, call->in, call->out[0], sequence, index);
    if (head.p.data == NULL) {
        head.p.data = scratch->scores + index * head.tokens * head.tokens;
    }
    return head;
}

static void forward_heads(const kern_call *call, const kern_attention_scratch *scratch,
                          size_t sequence, size_t begin, size_t end)
{
    for (size_t h = begin; h < end; h++) {
        const kern_head head = forward_head(call, scratch, sequence, h);
        head_weights(call, &head, scratch, sequence, h);
        if (!call->attr->attention.sum_heads && head.out.data != NULL) {
            head_mix(call, &head, scratch, 0, head.value_width, false);
        }
    }
}

static void forward_columns(const kern_call *call, const kern_attention_scratch *scratch,
                            size_t sequence, size_t begin, size_t end)
{
    for (size_t h = 0; h < call->attr->attention.heads; h++) {
        const kern_head head = forward_head(call, scratch, sequence, h);
        head_mix(call, &head, scratch, begin, end, h > 0);
    }
}

static void attention_forward(const kern_call *call)
{
    const bool sum = call->attr->attention.sum_heads && call->out[0].data != NULL;
    const kern_attention_pass pass = {.by_head = forward_heads,
                                      .by_column = sum ? forward_columns : NULL,
                                      .columns = call->out[0].cols};
    kern_attention_run(call, &pass);
}

/* Ṡ (N×N, before β) of one head into `scores`: q̇·k + q·k̇; zero when neither moves. */
static void score_tangent(const kern_head *head, const kern_head *dot, kern_real *scores)
{
    const size_t n = head->tokens;
    gemm g = {.tb = true, .m = n, .n = n, .k = head->width, .alpha = 1, .c = scores, .ldc = n};
    memset(scores, 0, n * n * sizeof *scores);
    if (dot->q.data != NULL) {
        g.beta = 1;
        g.a = dot->q.data;
        g.lda = dot->q.ld;
        g.b = head->k.data;
        g.ldb = head->k.ld;
        KERN_NAME(kern_gemm_run)(&g, 1);
    }
    if (dot->k.data != NULL) {
        g.beta = 1;
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

/* Rows of one block: out˙ (+)= c left·right. */
static void mix_block(const kern_call *call, const kern_head *dot, const kern_real *left,
                      kern_panel right, size_t r, bool accumulate)
{
    const size_t n = dot->tokens;
    const size_t bound = kern_attention_block_end(n, r);
    const gemm g = {.m = bound - r,
                    .n = dot->value_width,
                    .k = bound,
                    .alpha = (kern_real)call->attr->attention.scale,
                    .beta = accumulate ? 1 : 0,
                    .a = left,
                    .lda = n,
                    .b = right.data,
                    .ldb = right.ld,
                    .c = dot->out.data + r * dot->out.ld,
                    .ldc = dot->out.ld};
    KERN_NAME(kern_gemm_run)(&g, 1);
}

/* out˙ (+)= c (m ⊙ Ṗ v + m ⊙ P v̇), m the dropout factors. */
static void mix_tangent(const kern_call *call, const kern_head *head, const kern_head *dot,
                        const kern_attention_scratch *scratch, bool accumulate)
{
    const size_t n = head->tokens;
    kern_head moving = *head;
    moving.p.data = scratch->scores;
    for (size_t r = 0; r < n; r += KERN_ATTENTION_BLOCK) {
        mix_block(call, dot, kern_attention_drop(call, &moving, scratch->dropped, r), head->v, r,
                  accumulate);
        if (dot->v.data != NULL) {
            mix_block(call, dot, kern_attention_drop(call, head, scratch->dropped, r), dot->v, r,
                      true);
        }
    }
}

static void jvp_heads(const kern_call *call, const kern_attention_scratch *scratch, size_t sequence,
                      size_t begin, size_t end)
{
    const kern_attention_attr *a = &call->attr->attention;
    for (size_t h = begin; h < end; h++) {
        const kern_head head = kern_attention_head(call, call->in, call->out[0], sequence, h);
        const kern_head dot = kern_attention_head(call, call->d_in, call->d_out[0], sequence, h);
        const size_t n = head.tokens;
        score_tangent(&head, &dot, scratch->scores);
        for (size_t i = 0; i < n; i++) {
            kern_real *row = scratch->scores + i * n;
            const double lse = softmax_tangent(row, head.p.data + i * n, n, a->beta);
            write_row_tangents(call, (sequence * n + i) * a->heads + h, lse, row[i]);
        }
        if (dot.out.data != NULL) {
            mix_tangent(call, &head, &dot, scratch, a->sum_heads && h > 0);
        }
    }
}

/* Tangents are for analysis, where a prompt is one sequence: heads run in order. */
static void attention_jvp(const kern_call *call)
{
    kern_call serial = *call;
    serial.workers = 1;
    const kern_attention_pass pass = {.by_head = jvp_heads};
    kern_attention_run(&serial, &pass);
}

const kern_op_kernels KERN_NAME(kern_op_attention_kernels) = {
    .forward = attention_forward,
    .vjp = kern_attention_vjp,
    .jvp = attention_jvp,
};
