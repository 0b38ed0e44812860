/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_cem_instance.h"

#include "dyn/dyn_vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The unit roundoff. */
#define ROUND (0.5 * DBL_EPSILON)

const char *const verify_cem_kinds[] = {"attention", "mlp-a", "mlp-b", NULL};
const char *const verify_cem_places[] = {"step", "once", "exact", NULL};
const char *const verify_cem_ropes[] = {"exact", "plain", "none", NULL};
const char *const verify_cem_diags[] = {"shared", "none", "per_head", NULL};
const char *const verify_cem_preconds[] = {"none", "dlr", "gamma", NULL};

enum { WIDTH_MAX = 1 << 14, COUNT_MAX = 1 << 16 };

/* ---- silu -------------------------------------------------------------------------------------
 */

double verify_cem_silu(double z)
{
    const double e = exp(-fabs(z));
    return z * (z >= 0.0 ? 1.0 : e) / (1.0 + e);
}

static double silu_slope(double z)
{
    const double e = exp(-fabs(z));
    const double sigma = (z >= 0.0 ? 1.0 : e) / (1.0 + e);
    return sigma * (1.0 + z * (1.0 - sigma));
}

/* −Li₂(−e^−a) = Σ_n (−1)^(n+1) e^−na/n² converges slowly at a = 0; Landen's −Li₂(−q) = Li₂(q/(1+q))
 * + ½ ln²(1+q) makes the argument at most ½, so that sixty terms are beyond a rounding. */
static double minus_dilog(double q)
{
    const double y = q / (1.0 + q);
    const double l = log1p(q);
    double power = 1.0;
    double sum = 0.0;
    for (int n = 1; n <= 60; n++) {
        power *= y;
        sum += power / ((double)n * (double)n);
    }
    return sum + 0.5 * l * l;
}

double verify_cem_silu_integral(double z)
{
    const double a = fabs(z);
    const double q = exp(-a);
    const double below = 0.82246703342411321824 - a * log1p(q) - minus_dilog(q); /* π²/12 − … */
    return z > 0.0 ? 0.5 * z * z - below : below;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

kern_status verify_cem_read_dlr(const verify_record *record, size_t width, double *p,
                                kern_error *err)
{
    size_t r = 0;
    const double *delta = NULL;
    const double *u = NULL;
    const double *v = NULL;
    KERN_TRY(verify_record_get_size(record, "rank", 1, COUNT_MAX, &r, err));
    KERN_TRY(verify_record_get(record, "p_delta", 1, width, &delta, err));
    KERN_TRY(verify_record_get(record, "p_u", width, r, &u, err));
    KERN_TRY(verify_record_get(record, "p_v", width, r, &v, err));
    for (size_t i = 0; i < width; i++) {
        for (size_t j = 0; j <= i; j++) {
            const double low =
                dyn_vector_dot(u + i * r, v + j * r, r) + dyn_vector_dot(v + i * r, u + j * r, r);
            const double softplus = fmax(delta[i], 0.0) + log1p(exp(-fabs(delta[i])));
            p[i * width + j] = low + (i == j ? softplus : 0.0);
            p[j * width + i] = p[i * width + j];
        }
    }
    return KERN_OK;
}

static kern_status read_precond(verify_cem *q, const verify_record *record, verify_work *work,
                                kern_error *err)
{
    const size_t d = q->width;
    size_t word = 0;
    double longest = 0.0;
    KERN_TRY(verify_record_get_word(record, "precond", verify_cem_preconds, &word, err));
    q->precond = (verify_cem_precond)word;
    if (q->place != VERIFY_CEM_ONCE || q->precond == VERIFY_CEM_GAMMA) {
        KERN_TRY(verify_record_get(record, "gamma", 1, d, &q->gamma, err));
        for (size_t i = 0; i < d; i++) {
            longest = fmax(longest, fabs(q->gamma[i]));
        }
    }
    q->gain = q->place == VERIFY_CEM_ONCE ? 1.0 : longest;
    q->factor = 1.0;
    q->p_size = 1.0;
    if (q->precond == VERIFY_CEM_DLR) {
        KERN_TRY(verify_work_take(work, d * d, &q->p, err));
        KERN_TRY(verify_cem_read_dlr(record, d, q->p, err));
        q->p_size = dyn_vector_norm(q->p, d * d);
    } else if (q->precond == VERIFY_CEM_GAMMA) {
        KERN_TRY(verify_record_get_number(record, "factor", &q->factor, err));
        q->p_size = fabs(q->factor) * longest;
    }
    return KERN_OK;
}

/* R_p of the pairs (l, l + d/2) of every head, p ≤ 0 the key's position less the query's. */
static void turn(const verify_cem *q, const double *from, double position, double base, double *to)
{
    const size_t half = q->head / 2;
    for (size_t k = 0; k < q->heads; k++) {
        const double *f = from + k * q->head;
        double *t = to + k * q->head;
        for (size_t l = 0; l < half; l++) {
            const double angle = position * pow(base, -(double)l / (double)half);
            const double low = f[l];
            const double high = f[l + half];
            t[l] = cos(angle) * low - sin(angle) * high;
            t[l + half] = sin(angle) * low + cos(angle) * high;
        }
    }
}

/* Keys and values of the history. */
static kern_status make_keys(verify_cem *q, verify_work *work, kern_error *err)
{
    const size_t wide = q->heads * q->head;
    double *row = NULL;
    KERN_TRY(verify_work_take(work, q->history * wide, &q->keys, err));
    KERN_TRY(verify_work_take(work, q->history * wide, &row, err));
    q->values = q->rope == VERIFY_CEM_PLAIN ? row : q->keys;
    for (size_t j = 0; j < q->history; j++) {
        for (size_t m = 0; m < wide; m++) {
            row[j * wide + m] = dyn_vector_dot(q->wk + m * q->width, q->c + j * q->width, q->width);
        }
        if (q->rope == VERIFY_CEM_UNTURNED) {
            memcpy(q->keys + j * wide, row + j * wide, wide * sizeof *row);
        } else {
            turn(q, row + j * wide, (double)j - (double)(q->history - 1), q->base,
                 q->keys + j * wide);
        }
    }
    return KERN_OK;
}

/* R, a bound of |G| for all u. */
static double reach_of(const verify_cem *q)
{
    const size_t d = q->width;
    const size_t area = q->head * d;
    double reach = 0.0;
    double longest = 0.0;
    for (size_t j = 0; j < q->history; j++) {
        longest = fmax(longest, dyn_vector_norm(q->c + j * d, d));
    }
    for (size_t k = 0; k < q->heads; k++) {
        double diagonal = 0.0;
        for (size_t j = 0; q->diagonals > 0 && j < q->history; j++) {
            const double *row = q->diag + (q->diagonals > 1 ? k * d : 0);
            double square = 0.0;
            for (size_t i = 0; i < d; i++) {
                square += row[i] * q->c[j * d + i] * row[i] * q->c[j * d + i];
            }
            diagonal = fmax(diagonal, sqrt(square));
        }
        reach += dyn_vector_norm(q->wq + k * area, area) * dyn_vector_norm(q->wk + k * area, area) *
                 longest;
        reach += diagonal;
    }
    return reach;
}

static kern_status read_attention(verify_cem *q, const verify_record *record, verify_work *work,
                                  kern_error *err)
{
    const size_t d = q->width;
    size_t rope = 0;
    size_t diag = 0;
    KERN_TRY(verify_record_get_size(record, "heads", 1, COUNT_MAX, &q->heads, err));
    KERN_TRY(verify_record_get_size(record, "head", 1, WIDTH_MAX, &q->head, err));
    KERN_TRY(verify_record_get_size(record, "history", 1, COUNT_MAX, &q->history, err));
    KERN_TRY(verify_record_get_word(record, "rope", verify_cem_ropes, &rope, err));
    KERN_TRY(verify_record_get_word(record, "diag", verify_cem_diags, &diag, err));
    KERN_TRY(verify_record_get_number(record, "rope_base", &q->base, err));
    KERN_TRY(verify_record_get(record, "wq", q->heads * q->head, d, &q->wq, err));
    KERN_TRY(verify_record_get(record, "wk", q->heads * q->head, d, &q->wk, err));
    KERN_TRY(verify_record_get(record, "c", q->history, d, &q->c, err));
    q->rope = (verify_cem_rope)rope;
    if (q->rope != VERIFY_CEM_UNTURNED && q->head % 2 != 0) {
        return kern_raise(err, KERN_BAD_INPUT, "a head that is turned has an even width, not %zu",
                          q->head);
    }
    q->diagonals = diag == VERIFY_CEM_SHARED ? 1 : diag == VERIFY_CEM_PER_HEAD ? q->heads : 0;
    if (q->diagonals > 0) {
        KERN_TRY(verify_record_get(record, "diag_rows", q->diagonals, d, &q->diag, err));
    }
    q->tau = sqrt((double)q->head);
    q->terms = (double)(2 * d + q->head + q->history + 32);
    q->reach = reach_of(q);
    KERN_TRY(verify_work_take(work, q->head, &q->query, err));
    KERN_TRY(verify_work_take(work, 2 * q->history, &q->scores, err));
    return make_keys(q, work, err);
}

static kern_status read_mlp(verify_cem *q, const verify_record *record, verify_work *work,
                            kern_error *err)
{
    KERN_TRY(verify_record_get_size(record, "hidden", 1, WIDTH_MAX, &q->hidden, err));
    KERN_TRY(verify_record_get(record, "wu", q->hidden, q->width, &q->wu, err));
    KERN_TRY(verify_record_get(record, "gate", 1, q->hidden, &q->gate, err));
    q->terms = (double)(q->width + q->hidden + 32);
    return verify_work_take(work, q->hidden, &q->scores, err);
}

kern_status verify_cem_read(verify_cem *q, const verify_record *record, verify_work *work,
                            kern_error *err)
{
    size_t kind = 0;
    size_t place = 0;
    *q = (verify_cem){0};
    KERN_TRY(verify_record_get_word(record, "energy", verify_cem_kinds, &kind, err));
    KERN_TRY(verify_record_get_word(record, "place", verify_cem_places, &place, err));
    KERN_TRY(verify_record_get_size(record, "width", 1, WIDTH_MAX, &q->width, err));
    KERN_TRY(verify_record_get_number(record, "epsilon", &q->epsilon, err));
    KERN_TRY(verify_record_get_number(record, "eta", &q->eta, err));
    KERN_TRY(verify_record_get(record, "x", 1, q->width, &q->x, err));
    q->kind = (verify_cem_kind)kind;
    q->place = (verify_cem_place)place;
    KERN_TRY(verify_work_take(work, q->width, &q->pulled, err));
    KERN_TRY(read_precond(q, record, work, err));
    return q->kind == VERIFY_CEM_ATTENTION ? read_attention(q, record, work, err)
                                           : read_mlp(q, record, work, err);
}

/* ---- energies ---------------------------------------------------------------------------------
 */

/* Scores of head k at u into q->scores, which become weights; their log-sum-exp, times τ. */
static double weigh(verify_cem *q, const double *u, size_t k)
{
    const size_t d = q->width;
    const size_t wide = q->heads * q->head;
    const double *diag = q->diagonals > 0 ? q->diag + (q->diagonals > 1 ? k * d : 0) : NULL;
    double largest = -HUGE_VAL;
    double sum = 0.0;
    for (size_t m = 0; m < q->head; m++) {
        q->query[m] = dyn_vector_dot(q->wq + (k * q->head + m) * d, u, d);
    }
    for (size_t j = 0; j < q->history; j++) {
        double score = dyn_vector_dot(q->query, q->keys + j * wide + k * q->head, q->head);
        for (size_t i = 0; diag != NULL && i < d; i++) {
            score += u[i] * diag[i] * q->c[j * d + i];
        }
        q->scores[j] = score;
        largest = fmax(largest, score);
    }
    for (size_t j = 0; j < q->history; j++) {
        q->scores[j] = exp((q->scores[j] - largest) / q->tau);
        sum += q->scores[j];
    }
    for (size_t j = 0; j < q->history; j++) {
        q->scores[j] /= sum;
    }
    return largest + q->tau * log(sum);
}

/* out += A_k Σ_j w_j c_j, that is, W_k^Qᵀ Σ_j w_j value_kj + d_k ⊙ Σ_j w_j c_j. */
static void add_mix(const verify_cem *q, size_t k, const double *w, double *out)
{
    const size_t d = q->width;
    const size_t wide = q->heads * q->head;
    const double *diag = q->diagonals > 0 ? q->diag + (q->diagonals > 1 ? k * d : 0) : NULL;
    for (size_t m = 0; m < q->head; m++) {
        const size_t row = k * q->head + m;
        double mix = 0.0;
        for (size_t j = 0; j < q->history; j++) {
            mix += w[j] * q->values[j * wide + row];
        }
        for (size_t i = 0; i < d; i++) {
            out[i] += mix * q->wq[row * d + i];
        }
    }
    for (size_t i = 0; diag != NULL && i < d; i++) {
        double mix = 0.0;
        for (size_t j = 0; j < q->history; j++) {
            mix += w[j] * q->c[j * d + i];
        }
        out[i] += diag[i] * mix;
    }
}

static verify_cem_value attention(verify_cem *q, const double *u, double *force)
{
    const double reached = q->reach * dyn_vector_norm(u, q->width);
    double sum = 0.0;
    for (size_t k = 0; k < q->heads; k++) {
        sum += weigh(q, u, k);
        if (force != NULL) {
            add_mix(q, k, q->scores, force);
        }
    }
    const double spread = (double)q->heads * q->tau * (1.0 + log((double)q->history));
    return (verify_cem_value){.energy = -sum,
                              .rounding = q->terms * ROUND * (reached + spread),
                              .force_rounding =
                                  q->terms * ROUND * q->reach * (3.0 + 2.0 * reached / q->tau),
                              .slope = q->reach};
}

/* A unit: z off by D u |W_m||u|, and g Φ(z), g σ(z) by what that makes of them (|σ′| ≤ 1.1) and a
 * few roundings of the result's terms. */
static verify_cem_value gated(verify_cem *q, const double *u, double *force)
{
    const size_t d = q->width;
    const double length = dyn_vector_norm(u, d);
    verify_cem_value v = {0};
    for (size_t m = 0; m < q->hidden; m++) {
        const double *w = q->wu + m * d;
        const double z = dyn_vector_dot(w, u, d);
        const double row = dyn_vector_norm(w, d);
        const bool form_a = q->kind == VERIFY_CEM_MLP_A;
        const double g = form_a ? q->gate[m] : verify_cem_silu(q->gate[m]);
        const double r = g * (form_a ? verify_cem_silu(z) : z);
        v.energy -= form_a ? g * verify_cem_silu_integral(z) : 0.5 * g * z * z;
        v.rounding += fabs(g) * ((1.0 + fabs(z)) * row * length + 1.0 + z * z);
        v.force_rounding += fabs(g) * row * (1.1 * row * length + fabs(z));
        v.slope += fabs(g) * row * (1.0 + fabs(z));
        for (size_t i = 0; force != NULL && i < d; i++) {
            force[i] += r * w[i];
        }
    }
    v.rounding *= q->terms * ROUND;
    v.force_rounding *= q->terms * ROUND;
    return v;
}

verify_cem_value verify_cem_evaluate(verify_cem *q, const double *u, double *force)
{
    if (force != NULL) {
        memset(force, 0, q->width * sizeof *force);
    }
    return q->kind == VERIFY_CEM_ATTENTION ? attention(q, u, force) : gated(q, u, force);
}

static void bend_attention(verify_cem *q, const double *u, const double *v, double *out)
{
    const size_t d = q->width;
    const size_t wide = q->heads * q->head;
    double *slope = q->scores + q->history;
    for (size_t k = 0; k < q->heads; k++) {
        const double *diag = q->diagonals > 0 ? q->diag + (q->diagonals > 1 ? k * d : 0) : NULL;
        double mean = 0.0;
        (void)weigh(q, u, k);
        for (size_t m = 0; m < q->head; m++) {
            q->query[m] = dyn_vector_dot(q->wq + (k * q->head + m) * d, v, d);
        }
        for (size_t j = 0; j < q->history; j++) {
            slope[j] = dyn_vector_dot(q->query, q->keys + j * wide + k * q->head, q->head);
            for (size_t i = 0; diag != NULL && i < d; i++) {
                slope[j] += v[i] * diag[i] * q->c[j * d + i];
            }
            mean += q->scores[j] * slope[j];
        }
        for (size_t j = 0; j < q->history; j++) {
            slope[j] = q->scores[j] * (slope[j] - mean) / q->tau;
        }
        add_mix(q, k, slope, out);
    }
}

void verify_cem_bend(verify_cem *q, const double *u, const double *v, double *out)
{
    const size_t d = q->width;
    memset(out, 0, d * sizeof *out);
    if (q->kind == VERIFY_CEM_ATTENTION) {
        bend_attention(q, u, v, out);
        return;
    }
    for (size_t m = 0; m < q->hidden; m++) {
        const double *w = q->wu + m * d;
        const double curve = q->kind == VERIFY_CEM_MLP_A
                                 ? q->gate[m] * silu_slope(dyn_vector_dot(w, u, d))
                                 : verify_cem_silu(q->gate[m]);
        const double along = curve * dyn_vector_dot(w, v, d);
        for (size_t i = 0; i < d; i++) {
            out[i] += along * w[i];
        }
    }
}

/* ---- steps ------------------------------------------------------------------------------------
 */

double verify_cem_see(const verify_cem *q, const double *x, double *u)
{
    if (q->place == VERIFY_CEM_ONCE) {
        memcpy(u, x, q->width * sizeof *u);
        return 1.0;
    }
    const double r = sqrt(dyn_vector_dot(x, x, q->width) / (double)q->width + q->epsilon);
    for (size_t i = 0; i < q->width; i++) {
        u[i] = q->gamma[i] * x[i] / r;
    }
    return r;
}

kern_status verify_cem_point_init(verify_cem_point *p, const verify_cem *q, verify_work *work,
                                  kern_error *err)
{
    *p = (verify_cem_point){0};
    KERN_TRY(verify_work_take_zeros(work, q->width, &p->x, err));
    KERN_TRY(verify_work_take(work, q->width, &p->u, err));
    return verify_work_take(work, q->width, &p->force, err);
}

/* u = γ ⊙ x/r is off by γ_max/r times what x is off by, since ∂(x/r)/∂x is a contraction over r
 * (twice that where it is not small), and by its own roundings. */
void verify_cem_visit(verify_cem *q, verify_cem_point *p)
{
    p->r = verify_cem_see(q, p->x, p->u);
    p->at = verify_cem_evaluate(q, p->u, p->force);
    const double off = q->place == VERIFY_CEM_ONCE
                           ? p->moved_rounding
                           : 2.0 * q->gain * p->moved_rounding / p->r +
                                 (double)(q->width + 8) * ROUND * dyn_vector_norm(p->u, q->width);
    p->rounding = p->at.rounding + p->at.slope * off;
}

void verify_cem_precondition(const verify_cem *q, const double *f, double *out)
{
    for (size_t i = 0; i < q->width; i++) {
        out[i] = q->precond == VERIFY_CEM_DLR     ? dyn_vector_dot(q->p + i * q->width, f, q->width)
                 : q->precond == VERIFY_CEM_GAMMA ? q->factor * q->gamma[i] * f[i]
                                                  : f[i];
    }
}

/* What the norm's Jacobian makes of a force, in place. */
static void pull(const verify_cem *q, const verify_cem_point *p, double *f)
{
    double along = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        f[i] *= q->gamma[i];
        along += f[i] * p->x[i];
    }
    for (size_t i = 0; i < q->width; i++) {
        f[i] = (f[i] - p->x[i] * along / ((double)q->width * p->r * p->r)) / p->r;
    }
}

void verify_cem_step(verify_cem *q, const verify_cem_point *from, verify_cem_point *to)
{
    const size_t d = q->width;
    const double grown = q->place == VERIFY_CEM_EXACT ? 2.0 * q->gain / from->r : 1.0;
    const double force = grown * dyn_vector_norm(from->force, d);
    memcpy(q->pulled, from->force, d * sizeof *q->pulled);
    if (q->place == VERIFY_CEM_EXACT) {
        pull(q, from, q->pulled);
    }
    verify_cem_precondition(q, q->pulled, to->x);
    for (size_t i = 0; i < d; i++) {
        to->x[i] = from->x[i] + q->eta * to->x[i];
    }
    to->moved_rounding =
        from->moved_rounding +
        2.0 * ROUND * (dyn_vector_norm(from->x, d) + dyn_vector_norm(to->x, d)) +
        fabs(q->eta) * q->p_size *
            (grown * from->at.force_rounding + (double)(2 * d + 16) * ROUND * force);
    verify_cem_visit(q, to);
}

kern_status verify_cem_first_step(verify_cem *q, verify_cem_point *from, verify_cem_point *to,
                                  verify_work *work, kern_error *err)
{
    KERN_TRY(verify_cem_point_init(from, q, work, err));
    KERN_TRY(verify_cem_point_init(to, q, work, err));
    memcpy(from->x, q->x, q->width * sizeof *q->x);
    verify_cem_visit(q, from);
    verify_cem_step(q, from, to);
    return KERN_OK;
}
