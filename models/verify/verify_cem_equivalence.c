/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One step of CEM is a sub-layer of an ordinary transformer with tied weights. With d = 0, η = 1,
 * P = I and one step, −∇ε of the interaction energy at n(h_i) is multi-head attention with
 * W_V = W_K and W_O = W_Qᵀ (rotary positions none, or plain: on queries and keys and not on
 * values), and that of the gated energy a SwiGLU with W_down = W_Uᵀ; the state that the step starts
 * from is the residual connection. This holds for the norm in every step, h + G(n(h)), and for the
 * norm once, h + (z′ − z) with z = n(h), z′ = z + G(z).
 *
 * The conventional sub-layer is written here from its usual definition: projections of the
 * normalised rows, turns by absolute positions, softmax, concatenation, output projection,
 * residual.
 *
 * Rounding. Each side is off by what verify_cem_instance.h bounds for G. Each normalises its input
 * itself, which is right to (D/2 + 4)u and moves scores and values by less than they are off
 * anyway: twice the bound for each side. The conventional side adds its terms, H·d or F of them, to
 * the residual one by one, as many roundings of |x| + |G|; z′ − z rounds z and G once each.
 */
#include "models/verify/verify_cem_instance.h"

#include "dyn/dyn_vector.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void normalise(const double *h, const double *gamma, double epsilon, size_t d, double *to)
{
    const double r = sqrt(dyn_vector_dot(h, h, d) / (double)d + epsilon);
    for (size_t i = 0; i < d; i++) {
        to[i] = gamma[i] * h[i] / r;
    }
}

/* ---- drawing ----------------------------------------------------------------------------------
 */

static const char *const places[] = {"step", "once", NULL};

static verify_cem_options options_of(kern_rng *rng, size_t trial)
{
    static const double epsilons[] = {0.0, 1e-5, 0.5};
    return (verify_cem_options){.place = VERIFY_CEM_STEP,
                                .rope = trial % 2 == 0 ? VERIFY_CEM_UNTURNED : VERIFY_CEM_PLAIN,
                                .diag = VERIFY_CEM_NO_DIAG,
                                .precond = VERIFY_CEM_IDENTITY,
                                .eta = 1.0,
                                .epsilon = epsilons[kern_rng_below(rng, 3)],
                                .signed_gamma = true};
}

/* Rows h of all tokens, the last of them x, and what the energy sees of them in c. */
static kern_status draw_attention(const verify_subject *subject, kern_rng *rng, size_t trial,
                                  verify_work *work, verify_record *record, kern_error *err)
{
    const verify_cem_options of = options_of(rng, trial);
    verify_cem q;
    double *h = NULL;
    double *c = NULL;
    (void)subject;
    KERN_TRY(verify_cem_draw_attention(record, rng, &of, err));
    KERN_TRY(verify_record_put_word(record, "norm_at", places[trial / 2 % 2], err));
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_put(record, "h", q.history, q.width, &h, err));
    KERN_TRY(verify_record_edit(record, "c", q.history, q.width, &c, err));
    for (size_t i = 0; i < (q.history - 1) * q.width; i++) {
        h[i] = kern_rng_normal(rng);
    }
    memcpy(h + (q.history - 1) * q.width, q.x, q.width * sizeof *h);
    for (size_t j = 0; j < q.history; j++) {
        normalise(h + j * q.width, q.gamma, q.epsilon, q.width, c + j * q.width);
    }
    return KERN_OK;
}

static kern_status draw_mlp(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    const verify_cem_options of = options_of(rng, trial);
    verify_cem q;
    double *wg = NULL;
    double *gate = NULL;
    double *u = NULL;
    (void)subject;
    KERN_TRY(verify_cem_draw_mlp(record, rng, trial % 2 == 0 ? VERIFY_CEM_MLP_A : VERIFY_CEM_MLP_B,
                                 &of, err));
    KERN_TRY(verify_record_put_word(record, "norm_at", places[trial / 2 % 2], err));
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_put(record, "wg", q.hidden, q.width, &wg, err));
    KERN_TRY(verify_record_edit(record, "gate", 1, q.hidden, &gate, err));
    KERN_TRY(verify_work_take(work, q.width, &u, err));
    normalise(q.x, q.gamma, q.epsilon, q.width, u);
    for (size_t m = 0; m < q.hidden; m++) {
        for (size_t i = 0; i < q.width; i++) {
            wg[m * q.width + i] = kern_rng_normal(rng);
        }
        gate[m] = dyn_vector_dot(wg + m * q.width, u, q.width);
    }
    return KERN_OK;
}

/* ---- the conventional sub-layers --------------------------------------------------------------
 */

/* Rotary position p on the pairs (l, l + d/2) of one head, in place. */
static void rotate(double *head, size_t d, size_t p, double base)
{
    for (size_t l = 0; l < d / 2; l++) {
        const double angle = (double)p * pow(base, -2.0 * (double)l / (double)d);
        const double low = head[l];
        const double high = head[l + d / 2];
        head[l] = low * cos(angle) - high * sin(angle);
        head[l + d / 2] = low * sin(angle) + high * cos(angle);
    }
}

typedef struct mha {
    size_t width, heads, head, tokens;
    bool turned;
    double base;
    const double *w_query, *w_key, *w_value, *w_out; /* the last one transposed: H·d × D */
    double *n;                                       /* tokens × D: normalised rows */
    double *k;                                       /* tokens × d */
    double *v;                                       /* tokens × d */
    double *q;                                       /* d */
    double *weight;                                  /* tokens */
} mha;

/* Head h at the last token: its part of the output, added to y. */
static void attend(const mha *a, size_t h, double *y)
{
    const size_t d = a->head;
    const size_t rows = h * d * a->width;
    double total = 0.0;
    for (size_t m = 0; m < d; m++) {
        a->q[m] = dyn_vector_dot(a->w_query + rows + m * a->width,
                                 a->n + (a->tokens - 1) * a->width, a->width);
    }
    for (size_t j = 0; j < a->tokens; j++) {
        for (size_t m = 0; m < d; m++) {
            a->k[j * d + m] =
                dyn_vector_dot(a->w_key + rows + m * a->width, a->n + j * a->width, a->width);
            a->v[j * d + m] =
                dyn_vector_dot(a->w_value + rows + m * a->width, a->n + j * a->width, a->width);
        }
        if (a->turned) {
            rotate(a->k + j * d, d, j, a->base);
        }
    }
    if (a->turned) {
        rotate(a->q, d, a->tokens - 1, a->base);
    }
    double largest = -HUGE_VAL;
    for (size_t j = 0; j < a->tokens; j++) {
        a->weight[j] = dyn_vector_dot(a->q, a->k + j * d, d);
        largest = fmax(largest, a->weight[j]);
    }
    for (size_t j = 0; j < a->tokens; j++) {
        a->weight[j] = exp((a->weight[j] - largest) / sqrt((double)d));
        total += a->weight[j];
    }
    for (size_t m = 0; m < d; m++) {
        double mixed = 0.0;
        for (size_t j = 0; j < a->tokens; j++) {
            mixed += a->weight[j] / total * a->v[j * d + m];
        }
        for (size_t i = 0; i < a->width; i++) {
            y[i] += a->w_out[rows + m * a->width + i] * mixed;
        }
    }
}

static kern_status conventional_attention(const verify_cem *q, const double *h, double *y,
                                          verify_work *work, kern_error *err)
{
    mha a = {.width = q->width,
             .heads = q->heads,
             .head = q->head,
             .tokens = q->history,
             .turned = q->rope == VERIFY_CEM_PLAIN,
             .base = q->base,
             .w_query = q->wq,
             .w_key = q->wk,
             .w_value = q->wk,
             .w_out = q->wq};
    KERN_TRY(verify_work_take(work, a.tokens * a.width, &a.n, err));
    KERN_TRY(verify_work_take(work, a.tokens * a.head, &a.k, err));
    KERN_TRY(verify_work_take(work, a.tokens * a.head, &a.v, err));
    KERN_TRY(verify_work_take(work, a.head, &a.q, err));
    KERN_TRY(verify_work_take(work, a.tokens, &a.weight, err));
    for (size_t j = 0; j < a.tokens; j++) {
        normalise(h + j * a.width, q->gamma, q->epsilon, a.width, a.n + j * a.width);
    }
    memcpy(y, h + (a.tokens - 1) * a.width, a.width * sizeof *y);
    for (size_t k = 0; k < a.heads; k++) {
        attend(&a, k, y);
    }
    return KERN_OK;
}

static double silu(double z)
{
    return z / (1.0 + exp(-z));
}

/* h + W_downᵀ (silu(W_gate n) ⊙ W_up n), all three F × D. */
static void conventional_mlp(const double *n, size_t d, size_t hidden, const double *gate,
                             const double *up, const double *down, double *y)
{
    for (size_t m = 0; m < hidden; m++) {
        const double unit =
            silu(dyn_vector_dot(gate + m * d, n, d)) * dyn_vector_dot(up + m * d, n, d);
        for (size_t i = 0; i < d; i++) {
            y[i] += down[m * d + i] * unit;
        }
    }
}

/* ---- checking ---------------------------------------------------------------------------------
 */

/* The sub-layer by one step of descent, into out; what it is off by. */
static double descend(verify_cem *q, verify_cem_point *from, bool once, double *out)
{
    const size_t d = q->width;
    memcpy(from->x, q->x, d * sizeof *q->x);
    verify_cem_visit(q, from);
    for (size_t i = 0; i < d; i++) {
        const double moved = from->u[i] + from->force[i];
        out[i] = from->x[i] + (once ? moved - from->u[i] : from->force[i]);
    }
    const double size = sqrt(dyn_vector_dot(from->x, from->x, d)) +
                        sqrt(dyn_vector_dot(from->u, from->u, d)) +
                        sqrt(dyn_vector_dot(from->force, from->force, d));
    const double terms = (double)(q->heads * q->head + q->hidden + 4);
    return terms * 0.5 * DBL_EPSILON * size + 4.0 * from->at.force_rounding;
}

static kern_status compare(const verify_cem *q, const double *one, const double *other,
                           double rounding, verify_outcome *outcome)
{
    double square = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        square += (one[i] - other[i]) * (one[i] - other[i]);
    }
    outcome->left = sqrt(square);
    outcome->right = 0.0;
    outcome->tolerance = rounding;
    outcome->scale = 1.0 + sqrt(dyn_vector_dot(other, other, q->width));
    return KERN_OK;
}

static kern_status check_attention(const verify_record *record, verify_work *work,
                                   verify_outcome *outcome, kern_error *err)
{
    verify_cem q;
    verify_cem_point from;
    size_t place = 0;
    const double *h = NULL;
    double *out = NULL;
    double *y = NULL;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_get_word(record, "norm_at", places, &place, err));
    if (q.kind != VERIFY_CEM_ATTENTION || q.place != VERIFY_CEM_STEP || q.diagonals > 0 ||
        q.rope == VERIFY_CEM_TURNED || q.precond != VERIFY_CEM_IDENTITY) {
        return kern_raise(err, KERN_BAD_INPUT, "the record is no tied attention");
    }
    KERN_TRY(verify_record_get(record, "h", q.history, q.width, &h, err));
    KERN_TRY(verify_cem_point_init(&from, &q, work, err));
    KERN_TRY(verify_work_take(work, q.width, &out, err));
    KERN_TRY(verify_work_take(work, q.width, &y, err));
    const double rounding = descend(&q, &from, place == 1, out);
    KERN_TRY(conventional_attention(&q, h, y, work, err));
    return compare(&q, out, y, rounding, outcome);
}

/* The gates are off by n u |W_m^G||u| each, which enters G with |W_m^U| times silu z or z. */
static kern_status check_mlp(const verify_record *record, verify_work *work,
                             verify_outcome *outcome, kern_error *err)
{
    verify_cem q;
    verify_cem_point from;
    size_t place = 0;
    const double *wg = NULL;
    double *out = NULL;
    double *y = NULL;
    KERN_TRY(verify_cem_read(&q, record, work, err));
    KERN_TRY(verify_record_get_word(record, "norm_at", places, &place, err));
    if (q.kind == VERIFY_CEM_ATTENTION || q.place != VERIFY_CEM_STEP ||
        q.precond != VERIFY_CEM_IDENTITY) {
        return kern_raise(err, KERN_BAD_INPUT, "the record is no gated feed-forward part");
    }
    KERN_TRY(verify_record_get(record, "wg", q.hidden, q.width, &wg, err));
    KERN_TRY(verify_cem_point_init(&from, &q, work, err));
    KERN_TRY(verify_work_take(work, q.width, &out, err));
    KERN_TRY(verify_work_take(work, q.width, &y, err));
    double rounding = descend(&q, &from, place == 1, out);
    for (size_t m = 0; m < q.hidden; m++) {
        const double *w = q.wu + m * q.width;
        const double *g = wg + m * q.width;
        rounding += 2.0 * q.terms * DBL_EPSILON *
                    sqrt(dyn_vector_dot(w, w, q.width) * dyn_vector_dot(g, g, q.width)) *
                    sqrt(dyn_vector_dot(from.u, from.u, q.width)) *
                    fabs(dyn_vector_dot(w, from.u, q.width));
    }
    const bool form_a = q.kind == VERIFY_CEM_MLP_A;
    memcpy(y, q.x, q.width * sizeof *y);
    conventional_mlp(from.u, q.width, q.hidden, form_a ? q.wu : wg, form_a ? wg : q.wu, q.wu, y);
    return compare(&q, out, y, rounding, outcome);
}

#define SOURCE "J. Xu et al. 2026 (arXiv 2605.07588), weight ties; docs/theory.md, section 13"

const verify_claim verify_cem_attention_equivalence = {
    .name = "cem-attention-equivalence",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "One step of CEM attention with d = 0, eta = 1, P = I, rotary positions plain or "
                 "none and the norm in every step or once is multi-head attention with W_V = W_K, "
                 "W_O = W_Q' and a residual connection.",
    .source = SOURCE,
    .measured = "left: distance of the two outputs; right: 0",
    .trials = 100000,
    .draw = draw_attention,
    .check = check_attention,
};

const verify_claim verify_cem_mlp_equivalence = {
    .name = "cem-mlp-equivalence",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement = "One step of the CEM feed-forward part with eta = 1 and P = I is a SwiGLU whose "
                 "read-out is the transpose of its nonlinear (form A) or linear (form B) branch, "
                 "with a residual connection.",
    .source = SOURCE,
    .measured = "left: distance of the two outputs; right: 0",
    .trials = 100000,
    .draw = draw_mlp,
    .check = check_mlp,
};
