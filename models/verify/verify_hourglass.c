/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hourglass-identities: what follows from the bottleneck of a sub-MLP h′ = h + f(h), whose Jacobian
 * is J = I + α U C (verify_hourglass_sub.h). With M = α C U
 *   jacobian     J v = v + α U (C v), J v by differentiating one operation after another
 *   determinant  ln|det J| = ln|det(I + M)|
 *   frobenius    ‖J‖_F² = D + 2 tr M + tr(α² UᵀU CCᵀ)
 *   conserved    wᵀh′ = wᵀh for w ⟂ col U
 *   kernel       J v = v for v ⟂ the rows of C: eigenvalue 1, D − d_h times
 *   radial       |J h − h| ≤ (ε/m) α ‖U‖_F ‖B‖_F |γ ⊙ h|/√m, with the norm: 0 at ε = 0
 *   parallel     sub-MLPs that read one input add up to one of width Σ d_h
 * and in a run
 *   engine       f and ln|det J| are those of model_sub.h.
 *
 * Rounding: f, J and C are off by what verify_hourglass_sub.h says. A determinant moves by at most
 * D e_J ‖J⁻¹‖₂; elimination adds 3D³u‖J‖‖J⁻¹‖ (N. J. Higham 2002, theorem 9.4, growth of pivots ≤ D
 * taken into account); the same for I + M. Instances with ‖J‖‖J⁻¹‖ or that of I + M above 1e5 say
 * nothing and are passed over.
 */
#include "models/verify/verify_dense.h"

#include "dyn/dyn_vector.h"
#include "models/verify/verify_hourglass_run.h"
#include "models/verify/verify_hourglass_sub.h"
#include "models/verify/verify_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUND (0.5 * DBL_EPSILON)

static const char *const identities[] = {"jacobian",  "determinant", "frobenius",
                                         "conserved", "kernel",      "radial",
                                         "parallel",  "engine",      NULL};

enum { JACOBIAN, DETERMINANT, FROBENIUS, CONSERVED, KERNEL, RADIAL, PARALLEL, ENGINE };

enum { RANDOM_IDENTITIES = ENGINE, IDENTITIES = ENGINE + 1 };

/* ---- identities -------------------------------------------------------------------------------
 */

/* Vectors of D numbers for a check, and what it found on the way. */
typedef struct probe {
    double *v, *out, *other, *dn;
    verify_work *work;
    const verify_record *record;
    double relative_step, log_abs_det; /* of the engine's identity, else NaN */
} probe;

typedef kern_status check_identity(verify_sub *s, probe *r, verify_outcome *o, kern_error *err);

/* v less its part in the span of `count` vectors of length D with the given strides: the vectors
 * are made orthonormal one by one, twice, and taken off v. */
static kern_status leave_out(const verify_sub *s, const double *vectors, size_t step, size_t stride,
                             double *v, verify_work *work, kern_error *err)
{
    const size_t d = s->width;
    double *basis = NULL;
    KERN_TRY(verify_work_take(work, s->hidden * d, &basis, err));
    for (size_t i = 0; i <= s->hidden; i++) {
        double *row = i < s->hidden ? basis + i * d : v;
        for (size_t j = 0; i < s->hidden && j < d; j++) {
            row[j] = vectors[i * step + j * stride];
        }
        for (size_t k = 0; k < 2 * i; k++) {
            const double *q = basis + k % i * d;
            const double along = dyn_vector_dot(q, row, d);
            for (size_t j = 0; j < d; j++) {
                row[j] -= along * q[j];
            }
        }
        const double length = dyn_vector_norm(row, d);
        for (size_t j = 0; i < s->hidden && j < d; j++) {
            row[j] = length > 0.0 ? row[j] / length : 0.0;
        }
    }
    return KERN_OK;
}

static kern_status see_jacobian(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    const size_t d = s->width;
    (void)err;
    verify_sub_tangent(s, r->v, r->out, r->dn);
    memcpy(r->other, r->v, d * sizeof *r->other);
    for (size_t i = 0; i < s->hidden; i++) {
        const double along = dyn_vector_dot(s->c + i * d, r->v, d);
        for (size_t j = 0; j < d; j++) {
            r->other[j] += s->u[j * s->hidden + i] * along;
        }
    }
    for (size_t j = 0; j < d; j++) {
        r->out[j] -= r->other[j];
    }
    o->left = dyn_vector_norm(r->out, d);
    o->tolerance = 2.0 * (s->j_rounding + s->terms) * dyn_vector_norm(r->v, d);
    o->scale = (1.0 + s->u_size * s->c_size) * dyn_vector_norm(r->v, d);
    return KERN_OK;
}

/* Smallest and largest singular value of an n × n matrix. */
static kern_status extremes(const double *a, size_t n, double *least, double *most,
                            verify_work *work, kern_error *err)
{
    double *room = NULL;
    KERN_TRY(verify_work_take(work, n * n + n, &room, err));
    verify_dense_singular(n, n, a, least, most, room);
    return KERN_OK;
}

static double determinant_rounding(const verify_sub *s, size_t n, double error, double least,
                                   double most)
{
    const double size = (double)n;
    return size * error / least + 3.0 * size * size * size * ROUND * most / least + s->terms;
}

static kern_status see_determinant(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    double least[2];
    double most[2];
    double value[2];
    verify_sub_matrices(s, r->out, r->dn);
    KERN_TRY(extremes(s->j, s->width, &least[0], &most[0], r->work, err));
    KERN_TRY(extremes(s->m, s->hidden, &least[1], &most[1], r->work, err));
    if (!(most[0] <= 1e5 * least[0]) || !(most[1] <= 1e5 * least[1])) {
        o->skipped = true;
        return KERN_OK;
    }
    value[0] = verify_dense_log_abs_det(s->width, s->j);
    value[1] = verify_dense_log_abs_det(s->hidden, s->m);
    o->left = fabs(value[0] - value[1]);
    o->tolerance =
        determinant_rounding(s, s->width, s->j_rounding + s->terms * (1.0 + most[0]), least[0],
                             most[0]) +
        determinant_rounding(s, s->hidden, s->j_rounding + s->terms * (1.0 + s->u_size * s->c_size),
                             least[1], most[1]);
    o->scale = 1.0 + fabs(value[0]);
    return KERN_OK;
}

static kern_status see_frobenius(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    const size_t d = s->width;
    const size_t n = s->hidden;
    double sum = (double)d;
    (void)err;
    verify_sub_matrices(s, r->out, r->dn);
    for (size_t i = 0; i < n; i++) {
        sum += 2.0 * (s->m[i * n + i] - 1.0);
        for (size_t k = 0; k < n; k++) {
            double uu = 0.0;
            for (size_t j = 0; j < d; j++) {
                uu += s->u[j * n + i] * s->u[j * n + k];
            }
            sum += uu * dyn_vector_dot(s->c + i * d, s->c + k * d, d);
        }
    }
    const double size = dyn_vector_norm(s->j, d * d);
    const double terms = s->u_size * s->c_size;
    o->left = fabs(size * size - sum);
    o->tolerance =
        4.0 * (size + 1.0 + terms) * (s->j_rounding * (double)d + s->terms * (1.0 + terms)) +
        (double)(n * n + d * d) * ROUND * (1.0 + terms) * (1.0 + terms);
    o->scale = (double)d + terms * terms;
    return KERN_OK;
}

/* What the projection leaves of col U in w is its own rounding times U. */
static kern_status see_conserved(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    const size_t d = s->width;
    if (s->hidden >= d) {
        o->skipped = true;
        return KERN_OK;
    }
    KERN_TRY(leave_out(s, s->down, 1, s->hidden, r->v, r->work, err));
    memset(r->out, 0, d * sizeof *r->out);
    verify_sub_add_units(s, 0, s->hidden, r->out);
    const double length = dyn_vector_norm(r->v, d);
    o->left = fabs(dyn_vector_dot(r->v, r->out, d));
    o->tolerance = length * s->f_rounding + 16.0 * s->terms * (double)s->hidden *
                                                dyn_vector_norm(r->out, d) * (1.0 + length);
    o->scale = dyn_vector_norm(r->out, d) + s->u_size;
    return KERN_OK;
}

static kern_status see_kernel(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    const size_t d = s->width;
    if (s->hidden >= d) {
        o->skipped = true;
        return KERN_OK;
    }
    const double before = dyn_vector_norm(r->v, d);
    KERN_TRY(leave_out(s, s->c, d, 1, r->v, r->work, err));
    verify_sub_tangent(s, r->v, r->out, r->dn);
    for (size_t j = 0; j < d; j++) {
        r->out[j] -= r->v[j];
    }
    o->left = dyn_vector_norm(r->out, d);
    o->tolerance =
        2.0 * (s->j_rounding + 8.0 * s->terms * (double)s->hidden * (1.0 + s->u_size * s->c_size)) *
        before;
    o->scale = (1.0 + s->u_size * s->c_size) * before;
    return KERN_OK;
}

static kern_status see_radial(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    const size_t d = s->width;
    const double length = dyn_vector_norm(s->h, d);
    double square = 0.0;
    (void)err;
    if (!s->norm) {
        o->skipped = true;
        return KERN_OK;
    }
    verify_sub_tangent(s, s->h, r->out, r->dn);
    for (size_t j = 0; j < d; j++) {
        r->out[j] -= s->h[j];
        square += s->gamma[j] * s->h[j] * s->gamma[j] * s->h[j];
    }
    o->left = dyn_vector_norm(r->out, d);
    o->right = s->epsilon / (s->root * s->root) * s->u_size * s->b_size * sqrt(square) / s->root;
    o->tolerance =
        (s->j_rounding + s->terms * (1.0 + s->u_size * s->b_size * s->gain / s->root)) * length;
    o->scale = (1.0 + s->u_size * s->c_size) * length;
    return KERN_OK;
}

static kern_status see_parallel(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    const size_t d = s->width;
    size_t parts = 1;
    KERN_TRY(verify_record_get_size(r->record, "parts", 1, s->hidden, &parts, err));
    memset(r->out, 0, d * sizeof *r->out);
    memset(r->other, 0, d * sizeof *r->other);
    verify_sub_add_units(s, 0, s->hidden, r->out);
    for (size_t k = 0; k < parts; k++) {
        memset(r->dn, 0, d * sizeof *r->dn);
        verify_sub_add_units(s, k * s->hidden / parts, (k + 1) * s->hidden / parts, r->dn);
        for (size_t j = 0; j < d; j++) {
            r->other[j] += r->dn[j];
        }
    }
    for (size_t j = 0; j < d; j++) {
        r->other[j] -= r->out[j];
    }
    o->left = dyn_vector_norm(r->other, d);
    o->tolerance = 2.0 * s->f_rounding;
    o->scale = 1.0 + dyn_vector_norm(r->out, d);
    return KERN_OK;
}

static kern_status see_engine(verify_sub *s, probe *r, verify_outcome *o, kern_error *err)
{
    const size_t d = s->width;
    const double *f = NULL;
    double determinant = 0.0;
    double least = 0.0;
    double most = 0.0;
    KERN_TRY(verify_record_get(r->record, "engine_f", 1, d, &f, err));
    KERN_TRY(verify_record_get_number(r->record, "engine_log_det", &determinant, err));
    memset(r->out, 0, d * sizeof *r->out);
    verify_sub_add_units(s, 0, s->hidden, r->out);
    const double moved = dyn_vector_norm(r->out, d);
    for (size_t j = 0; j < d; j++) {
        r->out[j] -= f[j];
    }
    verify_sub_matrices(s, r->other, r->dn);
    KERN_TRY(extremes(s->m, s->hidden, &least, &most, r->work, err));
    const double value = verify_dense_log_abs_det(s->hidden, s->m);
    const double error = s->j_rounding + s->terms * (1.0 + s->u_size * s->c_size);
    const double off = most <= 1e5 * least ? fabs(value - determinant) : 0.0;
    o->left = fmax(dyn_vector_norm(r->out, d) / (2.0 * s->f_rounding),
                   off / (2.0 * determinant_rounding(s, s->hidden, error, least, most)));
    o->right = 1.0;
    o->scale = 1.0;
    r->relative_step = moved / dyn_vector_norm(s->h, d);
    r->log_abs_det = value;
    return KERN_OK;
}

static kern_status check(const verify_record *record, verify_work *work, verify_outcome *outcome,
                         kern_error *err)
{
    static check_identity *const all[] = {
        [JACOBIAN] = see_jacobian,   [DETERMINANT] = see_determinant,
        [FROBENIUS] = see_frobenius, [CONSERVED] = see_conserved,
        [KERNEL] = see_kernel,       [RADIAL] = see_radial,
        [PARALLEL] = see_parallel,   [ENGINE] = see_engine};
    probe r = {
        .work = work, .record = record, .relative_step = (double)NAN, .log_abs_det = (double)NAN};
    size_t identity = 0;
    const double *v = NULL;
    verify_sub s;
    KERN_TRY(verify_record_get_word(record, "identity", identities, &identity, err));
    KERN_TRY(verify_sub_read(&s, record, work, err));
    KERN_TRY(verify_record_get(record, "v", 1, s.width, &v, err));
    KERN_TRY(verify_work_take(work, s.width, &r.v, err));
    KERN_TRY(verify_work_take(work, s.width, &r.out, err));
    KERN_TRY(verify_work_take(work, s.width, &r.other, err));
    KERN_TRY(verify_work_take(work, s.width, &r.dn, err));
    memcpy(r.v, v, s.width * sizeof *v);
    KERN_TRY(all[identity](&s, &r, outcome, err));
    verify_outcome_add(outcome, "relative_step", r.relative_step);
    verify_outcome_add(outcome, "log_abs_det", r.log_abs_det);
    return KERN_OK;
}

/* ---- drawing ----------------------------------------------------------------------------------
 */

static kern_status put_normals(verify_record *record, kern_rng *rng, const char *name, size_t rows,
                               size_t cols, double scale, kern_error *err)
{
    double *values = NULL;
    KERN_TRY(verify_record_put(record, name, rows, cols, &values, err));
    for (size_t i = 0; i < rows * cols; i++) {
        values[i] = scale * kern_rng_normal(rng);
    }
    return KERN_OK;
}

static kern_status draw(const verify_subject *subject, kern_rng *rng, size_t trial,
                        verify_work *work, verify_record *record, kern_error *err)
{
    static const double epsilons[] = {0.0, 1e-5, 0.5};
    const size_t identity = trial % RANDOM_IDENTITIES;
    const size_t width = 2 + kern_rng_below(rng, 9);
    const bool narrow = identity == CONSERVED || identity == KERNEL;
    const size_t hidden = 1 + kern_rng_below(rng, (uint32_t)(narrow ? width - 1 : 10));
    const bool bare = identity != RADIAL && trial / RANDOM_IDENTITIES % 4 == 3;
    const double scale = pow(10.0, 1.2 * kern_rng_uniform(rng) - 0.9);
    (void)subject;
    (void)work;
    KERN_TRY(verify_record_put_word(record, "identity", identities[identity], err));
    KERN_TRY(verify_record_put_word(record, "norm", verify_sub_norms[bare ? 1 : 0], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)width, err));
    KERN_TRY(verify_record_put_number(record, "hidden", (double)hidden, err));
    KERN_TRY(verify_record_put_number(record, "alpha", trial % 2 == 0 ? 1.0 : 0.7, err));
    KERN_TRY(
        verify_record_put_number(record, "epsilon", epsilons[trial / RANDOM_IDENTITIES % 3], err));
    KERN_TRY(verify_record_put_number(record, "parts",
                                      (double)(1 + kern_rng_below(rng, (uint32_t)hidden)), err));
    KERN_TRY(put_normals(record, rng, "gamma", 1, width, 1.0, err));
    KERN_TRY(put_normals(record, rng, "w_gate", hidden, width, scale, err));
    KERN_TRY(put_normals(record, rng, "w_up", hidden, width, scale, err));
    KERN_TRY(put_normals(record, rng, "w_down", width, hidden, scale, err));
    KERN_TRY(
        put_normals(record, rng, "h", 1, width, pow(10.0, 2.0 * kern_rng_uniform(rng) - 1.0), err));
    return put_normals(record, rng, "v", 1, width, 1.0, err);
}

/* Each identity in turn at one sub-MLP and token, then the next. `parallel` and a part are the same
 * there. */
static kern_status draw_run(const verify_subject *subject, kern_rng *rng, size_t trial,
                            verify_work *work, verify_record *record, kern_error *err)
{
    KERN_TRY(verify_record_put_word(record, "identity", identities[trial % IDENTITIES], err));
    KERN_TRY(verify_hourglass_put_run(record, subject, trial / IDENTITIES, work, err));
    return put_normals(record, rng, "v", 1, subject->width, 1.0, err);
}

const verify_claim verify_hourglass_identities = {
    .name = "hourglass-identities",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RANDOM,
    .statement =
        "The Jacobian of a sub-MLP is I + U C with a bottleneck of d_h: its determinant is "
        "that of I + C U, D - d_h of its eigenvalues are 1, what is orthogonal to col U is "
        "conserved, the state's own direction is neutral up to epsilon, and sub-MLPs that "
        "read one input are one wide layer.",
    .source = "docs/theory.md, section 17; Liao et al. 2026 (arXiv 2602.06471) for the model",
    .measured = "left: the distance of the identity's two sides, in turn; right: 0, or for the "
                "radial one what epsilon allows",
    .trials = 101000,
    .draw = draw,
    .check = check,
};

const verify_claim verify_hourglass_identities_run = {
    .name = "hourglass-identities",
    .kind = VERIFY_THEOREM,
    .needs = VERIFY_RUN,
    .statement =
        "The same of this run's sub-MLPs at the states of its tokens, and the values there "
        "are those that model_sub.h gives.",
    .source = "docs/theory.md, section 17; Liao et al. 2026 (arXiv 2602.06471) for the model",
    .measured = "left: the distance of the identity's two sides, in turn; right: 0, or for the "
                "radial one what epsilon allows, for the engine 1",
    .trials = 512,
    .applies = verify_hourglass_applies,
    .draw = draw_run,
    .check = check,
};
