/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention of single rows to a context that is held and to themselves; see kern_context_attr's
 * formulas in kern_op.h. A call computes few rows, so one worker does it.
 */
#include "kernels/kern_block.h"
#include "kernels/kern_vmath.h"

#include <math.h>

enum { Q, K, HELD };
enum { OUT, LSE, DIAGONAL, WEIGHTS };

/* One head of one row. */
typedef struct look {
    size_t held;  /* keys of the context */
    size_t seen;  /* with the row's own, unless strict */
    size_t width; /* of a head */
    size_t cols;  /* of all heads' keys */
    const kern_real *q, *k, *context;
} look;

/* Part of head h in row r of an array, whose heads lie side by side unless `shared`. */
KERN_INLINE kern_real *part_of(kern_view view, size_t r, size_t h, size_t width, bool shared)
{
    return view.data == NULL ? NULL
                             : (kern_real *)view.data + r * view.cols + (shared ? 0 : h * width);
}

KERN_INLINE look look_at(const kern_call *call, const kern_view in[], size_t r, size_t h)
{
    const kern_attention_attr *a = &call->attr->attention;
    const size_t held = call->in[HELD].data != NULL ? call->in[HELD].rows : 0;
    const size_t width = call->in[K].cols / a->heads;
    return (look){.held = held,
                  .seen = held + (a->strict ? 0 : 1),
                  .width = width,
                  .cols = call->in[K].cols,
                  .q = part_of(in[Q], r, h, width, a->shared_query),
                  .k = part_of(in[K], r, h, width, false),
                  .context = part_of(in[HELD], 0, h, width, false)};
}

KERN_INLINE const kern_real *key_of(const look *l, size_t b)
{
    return b < l->held ? l->context + b * l->cols : l->k;
}

/* Weights of head h of row r, among all rows' (held + 1 numbers each, the own one last). */
KERN_INLINE kern_real *weights_of(const kern_call *call, size_t r, size_t h)
{
    const size_t n = call->out[WEIGHTS].cols;
    return (kern_real *)call->out[WEIGHTS].data + (r * call->attr->attention.heads + h) * n;
}

KERN_INLINE void put(kern_view view, size_t index, double value)
{
    if (view.data != NULL) {
        ((kern_real *)view.data)[index] = (kern_real)value;
    }
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Scores of a look to weights; returns ℓ. */
static double soften(const look *l, double beta, kern_real *p)
{
    for (size_t b = 0; b < l->seen; b++) {
        p[b] = (kern_real)(beta * KERN_NAME(kern_vmath_dot)(l->q, key_of(l, b), l->width));
    }
    for (size_t b = l->seen; b <= l->held; b++) {
        p[b] = 0;
    }
    if (l->seen == 0) {
        return 0.0;
    }
    const kern_real largest = KERN_NAME(kern_vmath_max)(p, l->seen);
    const double total = KERN_NAME(kern_vmath_exp_sum)(p, p, largest, l->seen);
    const kern_real inverse = (kern_real)(1.0 / total);
    for (size_t b = 0; b < l->seen; b++) {
        p[b] *= inverse;
    }
    return (double)largest + log(total);
}

/* out (+)= c Σ_b p_b key_b. */
static void mix(const look *l, double scale, const kern_real *p, kern_real *out, bool add)
{
    if (!add) {
        kern_block_clear(out, l->width);
    }
    for (size_t b = 0; b < l->seen; b++) {
        kern_block_scale(out, key_of(l, b), (kern_real)scale * p[b], l->width, true);
    }
}

static void context_forward(const kern_call *call)
{
    const kern_attention_attr *a = &call->attr->attention;
    for (size_t r = 0; r < call->in[Q].rows; r++) {
        for (size_t h = 0; h < a->heads; h++) {
            const look l = look_at(call, call->in, r, h);
            kern_real *p = call->out[WEIGHTS].data != NULL ? weights_of(call, r, h) : call->scratch;
            kern_real *out = part_of(call->out[OUT], r, h, l.width, a->sum_heads);
            put(call->out[LSE], r * a->heads + h, soften(&l, a->beta, p));
            put(call->out[DIAGONAL], r * a->heads + h, (double)p[l.held]);
            if (out != NULL) {
                mix(&l, a->scale, p, out, a->sum_heads && h > 0);
            }
        }
    }
}

/* ---- jvp ------------------------------------------------------------------------------------- */

/* Ṡ_b = β (q̇·k_b + q·k̇_b) of the keys seen. */
static void move_scores(const look *l, const look *dot, double beta, kern_real *s)
{
    for (size_t b = 0; b < l->seen; b++) {
        const kern_real *moved = b < l->held ? dot->context : dot->k;
        double sum = 0.0;
        if (dot->q != NULL) {
            sum += KERN_NAME(kern_vmath_dot)(dot->q, key_of(l, b), l->width);
        }
        if (moved != NULL) {
            sum += KERN_NAME(kern_vmath_dot)(l->q, key_of(dot, b), l->width);
        }
        s[b] = (kern_real)(beta * sum);
    }
}

/* Ṡ to Ṗ = P (Ṡ − ΣPṠ); returns ℓ̇ = ΣPṠ. */
static double move_weights(const look *l, const kern_real *p, kern_real *s)
{
    const double mean = KERN_NAME(kern_vmath_dot)(p, s, l->seen);
    for (size_t b = 0; b < l->seen; b++) {
        s[b] = (kern_real)((double)p[b] * ((double)s[b] - mean));
    }
    return mean;
}

/* out˙ += c Σ_b p_b k̇_b. */
static void mix_moved(const look *l, const look *dot, double scale, const kern_real *p,
                      kern_real *out)
{
    for (size_t b = 0; b < l->seen; b++) {
        if ((b < l->held ? dot->context : dot->k) != NULL) {
            kern_block_scale(out, key_of(dot, b), (kern_real)scale * p[b], l->width, true);
        }
    }
}

static void context_jvp(const kern_call *call)
{
    const kern_attention_attr *a = &call->attr->attention;
    kern_real *s = call->scratch;
    for (size_t r = 0; r < call->in[Q].rows; r++) {
        for (size_t h = 0; h < a->heads; h++) {
            const look l = look_at(call, call->in, r, h);
            const look dot = look_at(call, call->d_in, r, h);
            const kern_real *p = weights_of(call, r, h);
            kern_real *out = part_of(call->d_out[OUT], r, h, l.width, a->sum_heads);
            move_scores(&l, &dot, a->beta, s);
            put(call->d_out[LSE], r * a->heads + h, move_weights(&l, p, s));
            put(call->d_out[DIAGONAL], r * a->heads + h, a->strict ? 0.0 : (double)s[l.held]);
            if (out != NULL) {
                mix(&l, a->scale, s, out, a->sum_heads && h > 0);
                mix_moved(&l, &dot, a->scale, p, out);
            }
        }
    }
}

/* ---- vjp ------------------------------------------------------------------------------------- */

/* Cotangents that reach a head of a row. */
typedef struct pull {
    const kern_real *out; /* NULL: zero */
    double lse;
    double diagonal;
} pull;

KERN_INLINE double read(kern_view view, size_t index)
{
    return view.data != NULL ? (double)((const kern_real *)view.data)[index] : 0.0;
}

/* S̄ = P (P̄ − ΣPP̄) + ℓ̄ P with P̄_b = c ō·k_b, and the diagonal's for the own key. */
static void pull_scores(const look *l, const pull *g, const kern_attention_attr *a,
                        const kern_real *p, kern_real *s)
{
    for (size_t b = 0; b < l->seen; b++) {
        double sum = b == l->held ? g->diagonal : 0.0;
        if (g->out != NULL) {
            sum += a->scale * KERN_NAME(kern_vmath_dot)(g->out, key_of(l, b), l->width);
        }
        s[b] = (kern_real)sum;
    }
    const double mean = KERN_NAME(kern_vmath_dot)(p, s, l->seen);
    for (size_t b = 0; b < l->seen; b++) {
        s[b] = (kern_real)((double)p[b] * ((double)s[b] - mean + g->lse));
    }
}

/* q̄ += β Σ S̄_b k_b and k̄_b += β S̄_b q + c P_b ō, of what is wanted. */
static void pull_inputs(const kern_call *call, const look *l, const pull *g, const kern_real *p,
                        const kern_real *s, size_t r, size_t h)
{
    const kern_attention_attr *a = &call->attr->attention;
    kern_real *q_bar = part_of(call->d_in[Q], r, h, l->width, a->shared_query);
    kern_real *own = part_of(call->d_in[K], r, h, l->width, false);
    kern_real *held = part_of(call->d_in[HELD], 0, h, l->width, false);
    for (size_t b = 0; b < l->seen; b++) {
        kern_real *first = b < l->held ? held : own;
        kern_real *k_bar = first != NULL && b < l->held ? first + b * l->cols : first;
        const kern_real pulled = (kern_real)a->beta * s[b];
        if (q_bar != NULL) {
            kern_block_scale(q_bar, key_of(l, b), pulled, l->width, true);
        }
        if (k_bar != NULL) {
            kern_block_scale(k_bar, l->q, pulled, l->width, true);
        }
        if (k_bar != NULL && g->out != NULL) {
            kern_block_scale(k_bar, g->out, (kern_real)a->scale * p[b], l->width, true);
        }
    }
}

static void context_vjp(const kern_call *call)
{
    const kern_attention_attr *a = &call->attr->attention;
    kern_real *s = call->scratch;
    kern_clear_cotangents(call);
    for (size_t r = 0; r < call->in[Q].rows; r++) {
        for (size_t h = 0; h < a->heads; h++) {
            const look l = look_at(call, call->in, r, h);
            const pull g = {.out = part_of(call->d_out[OUT], r, h, l.width, a->sum_heads),
                            .lse = read(call->d_out[LSE], r * a->heads + h),
                            .diagonal = read(call->d_out[DIAGONAL], r * a->heads + h)};
            const kern_real *p = weights_of(call, r, h);
            pull_scores(&l, &g, a, p, s);
            pull_inputs(call, &l, &g, p, s, r, h);
        }
    }
}

const kern_op_kernels KERN_NAME(kern_op_context_kernels) = {
    .forward = context_forward,
    .vjp = context_vjp,
    .jvp = context_jvp,
};
