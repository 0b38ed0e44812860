/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_descent_instance.h"

#include "models/verify/verify_claim.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char *const norms[] = {"layernorm", "rmsnorm", NULL};

enum { WIDTH_MIN = 3, WIDTH_MAX = 16, WIDTH_LIMIT = 1 << 13 };

/* ---- Drawing -------------------------------------------------------------------------------- */

/* ±1/8 … ±4. */
static double eighth(kern_rng *rng)
{
    const double size = (1 + (double)kern_rng_below(rng, 32)) / 8;
    return kern_rng_below(rng, 2) == 0 ? size : -size;
}

static void fill_normal(kern_rng *rng, double *a, size_t n, double size)
{
    for (size_t i = 0; i < n; i++) {
        a[i] += size * kern_rng_normal(rng);
    }
}

static void fill_member(kern_rng *rng, size_t d, bool centre, double *gamma, double *eta)
{
    const double c = fabs(eighth(rng));
    for (size_t j = 0; j < d; j++) {
        gamma[j] = j > 0 && kern_rng_below(rng, 8) == 0 ? 0.0 : eighth(rng);
        const double b = centre ? eighth(rng) : 0.0;
        for (size_t i = 0; i < d; i++) {
            eta[i * d + j] = b + (i == j ? c * gamma[j] : 0.0);
        }
    }
}

/* SSᵀ/D + 10⁻³, S normal, and a skew part. */
static void fill_positive(kern_rng *rng, size_t d, double skew, double *eta)
{
    double s[WIDTH_MAX * WIDTH_MAX] = {0};
    fill_normal(rng, s, d * d, 1.0);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = i == j ? 1e-3 : 0.0;
            for (size_t k = 0; k < d; k++) {
                sum += s[i * d + k] * s[j * d + k] / (double)d;
            }
            const double turn = i == j ? 0.0 : skew * kern_rng_normal(rng);
            eta[i * d + j] = sum + turn;
            eta[j * d + i] = sum - turn;
        }
    }
}

static void fill_diagonal(kern_rng *rng, size_t d, double least, double spread, double *eta)
{
    for (size_t i = 0; i < d; i++) {
        eta[i * d + i] = least + spread * kern_rng_uniform(rng);
    }
}

static void fill(kern_rng *rng, verify_eta kind, size_t d, bool centre, double *gamma, double *eta)
{
    const double size = pow(10.0, -12.0 * kern_rng_uniform(rng));
    if (kind == VERIFY_ETA_MEMBER || kind >= VERIFY_ETA_NEAR) {
        fill_member(rng, d, centre, gamma, eta);
    }
    for (size_t i = 0; kind > VERIFY_ETA_MEMBER && kind < VERIFY_ETA_NEAR && i < d; i++) {
        const bool down = kind == VERIFY_ETA_FULL && kern_rng_below(rng, 2) == 0;
        gamma[i] = (down ? -1 : 1) * (0.5 + kern_rng_uniform(rng));
    }
    switch (kind) {
    case VERIFY_ETA_IDENTITY:
        fill_diagonal(rng, d, 1.0, 0.0, eta);
        break;
    case VERIFY_ETA_DIAGONAL:
        fill_diagonal(rng, d, 0.1, 2.0, eta);
        break;
    case VERIFY_ETA_POSITIVE:
    case VERIFY_ETA_POSITIVE_SKEW:
        fill_positive(rng, d, kind == VERIFY_ETA_POSITIVE ? 0.0 : 0.5, eta);
        break;
    case VERIFY_ETA_FULL:
    case VERIFY_ETA_NEAR:
        fill_normal(rng, eta, d * d, kind == VERIFY_ETA_FULL ? 1.0 : size);
        break;
    case VERIFY_ETA_NEAR_DIAGONAL:
        for (size_t i = 0; i < d; i++) {
            eta[i * d + i] += size * kern_rng_normal(rng);
        }
        break;
    case VERIFY_ETA_MEMBER:
    case VERIFY_ETAS:
        break;
    }
}

static kern_status put_scalars(verify_record *record, bool centre, size_t width, double epsilon,
                               double unit, double c, kern_error *err)
{
    KERN_TRY(verify_record_put_word(record, "norm", norms[centre ? 0 : 1], err));
    KERN_TRY(verify_record_put_number(record, "width", (double)width, err));
    KERN_TRY(verify_record_put_number(record, "epsilon", epsilon, err));
    KERN_TRY(verify_record_put_number(record, "unit", unit, err));
    return verify_record_put_number(record, "c", c, err);
}

kern_status verify_descent_draw(verify_record *record, kern_rng *rng, size_t trial, verify_eta kind,
                                kern_error *err)
{
    static const double epsilons[] = {0.0, 1e-5, 0.5};
    static const char *const names[] = {"gamma", "x", "v"};
    const size_t d = WIDTH_MIN + kern_rng_below(rng, WIDTH_MAX - WIDTH_MIN + 1);
    const size_t turn = trial + trial / VERIFY_SHARPEN_STRIDE; /* so that all kinds are sharpened */
    const bool centre = turn % 2 == 0;
    double *vectors[3] = {NULL, NULL, NULL};
    double *eta = NULL;
    KERN_TRY(put_scalars(record, centre, d, epsilons[turn / 2 % 3], 0.0,
                         pow(10.0, 2.0 * kern_rng_uniform(rng) - 1.0), err));
    for (size_t i = 0; i < 3; i++) {
        KERN_TRY(verify_record_put(record, names[i], 1, d, &vectors[i], err));
    }
    KERN_TRY(verify_record_put(record, "eta", d, d, &eta, err));
    fill(rng, kind, d, centre, vectors[0], eta);
    fill_normal(rng, vectors[1], d, pow(10.0, 4.0 * kern_rng_uniform(rng) - 2.0));
    fill_normal(rng, vectors[2], d, 1.0);
    return KERN_OK;
}

static bool is_single(const double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((double)(float)a[i] != a[i]) {
            return false;
        }
    }
    return true;
}

kern_status verify_descent_put_run(verify_record *record, const verify_subject *subject,
                                   kern_error *err)
{
    const size_t d = subject->width;
    const model_config *config = &subject->m->config;
    const double unit = is_single(subject->eta, d * d) ? 0.5 * (double)FLT_EPSILON : 0.0;
    double *unused = NULL;
    KERN_TRY(
        put_scalars(record, config->norm != MODEL_RMSNORM, d, config->norm_eps, unit, 1.0, err));
    KERN_TRY(verify_record_put_copy(record, "gamma", 1, d, subject->gamma, err));
    KERN_TRY(verify_record_put(record, "x", 1, d, &unused, err));
    KERN_TRY(verify_record_put(record, "v", 1, d, &unused, err));
    return verify_record_put_copy(record, "eta", d, d, subject->eta, err);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static kern_status take_room(verify_descent *q, verify_work *work, kern_error *err)
{
    const size_t d = q->system.width;
    double **const vectors[] = {&q->found.b,    &q->found.x,    &q->found.v,   &q->found.share,
                                &q->gradient.x, &q->gradient.v, &q->gradient.u};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        KERN_TRY(verify_work_take(work, d, vectors[i], err));
    }
    return verify_work_take_bytes(work, 1, dyn_descent_work_size(d), &q->work, err);
}

kern_status verify_descent_read(verify_descent *q, const verify_record *record, verify_work *work,
                                kern_error *err)
{
    size_t norm = 0;
    size_t d = 0;
    *q = (verify_descent){0};
    KERN_TRY(verify_record_get_word(record, "norm", norms, &norm, err));
    KERN_TRY(verify_record_get_size(record, "width", 1, WIDTH_LIMIT, &d, err));
    q->system.width = d;
    q->system.centre = norm == 0;
    KERN_TRY(verify_record_get_number(record, "epsilon", &q->system.epsilon, err));
    KERN_TRY(verify_record_get_number(record, "unit", &q->system.unit, err));
    KERN_TRY(verify_record_get_number(record, "c", &q->c, err));
    KERN_TRY(verify_record_get(record, "gamma", 1, d, &q->system.gamma, err));
    KERN_TRY(verify_record_get(record, "eta", d, d, &q->system.eta, err));
    KERN_TRY(verify_record_get(record, "x", 1, d, &q->x, err));
    KERN_TRY(verify_record_get(record, "v", 1, d, &q->v, err));
    if (!(q->c > 0)) {
        return kern_raise(err, KERN_BAD_INPUT, "entry c of the record is %g, it must be > 0", q->c);
    }
    return take_room(q, work, err);
}

bool verify_descent_has_witness(const verify_descent *q)
{
    for (size_t i = 0; i < q->system.width; i++) {
        if (q->v[i] != 0) {
            return true;
        }
    }
    return false;
}

/* ---- Sharpening ----------------------------------------------------------------------------- */

static kern_status replace(verify_record *record, const char *name, const double *values, size_t n,
                           kern_error *err)
{
    double *entry = NULL;
    KERN_TRY(verify_record_edit(record, name, 1, n, &entry, err));
    memcpy(entry, values, n * sizeof *values);
    return KERN_OK;
}

kern_status verify_descent_sharpen(verify_record *record, verify_work *work, kern_error *err)
{
    verify_descent q;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_decide(&q.system, q.work, &q.found, err));
    if (!(q.found.bound > 0)) {
        return KERN_OK;
    }
    const size_t d = q.system.width;
    const double c = q.found.worst_c > 0 ? q.found.worst_c : q.c;
    KERN_TRY(replace(record, "c", &c, 1, err));
    KERN_TRY(replace(record, "x", q.found.x, d, err));
    return replace(record, "v", q.found.v, d, err);
}

kern_status verify_descent_sharpen_gradient(verify_record *record, verify_work *work,
                                            kern_error *err)
{
    verify_descent q;
    KERN_TRY(verify_descent_read(&q, record, work, err));
    KERN_TRY(dyn_descent_gradient_decide(&q.system, q.work, &q.gradient, err));
    if (!q.gradient.confirmed) {
        return KERN_OK;
    }
    KERN_TRY(replace(record, "x", q.gradient.x, q.system.width, err));
    return replace(record, "v", q.gradient.v, q.system.width, err);
}

const char *verify_descent_applies(const verify_subject *subject)
{
    const char *reason = verify_subject_needs_nrgpt(subject);
    return reason != NULL || subject->gamma != NULL ? reason : "its blocks have no norm";
}
