/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_hourglass_sub.h"

#include "dyn/dyn_vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUND (0.5 * DBL_EPSILON)

const char *const verify_sub_norms[] = {"before", "none", NULL};

enum { SIZE_LIMIT = 1 << 12 };

static double silu(double z, double *slope)
{
    const double e = exp(-fabs(z));
    const double sigma = (z >= 0.0 ? 1.0 : e) / (1.0 + e);
    *slope = sigma * (1.0 + z * (1.0 - sigma));
    return z * sigma;
}

/* Units first … last − 1 of the sub-MLP: their part of f, added. */
void verify_sub_add_units(const verify_sub *s, size_t first, size_t last, double *f)
{
    for (size_t i = first; i < last; i++) {
        double slope;
        const double a = dyn_vector_dot(s->gate + i * s->width, s->n, s->width);
        const double value = silu(a, &slope) * dyn_vector_dot(s->up + i * s->width, s->n, s->width);
        for (size_t j = 0; j < s->width; j++) {
            f[j] += s->alpha * s->down[j * s->hidden + i] * value;
        }
    }
}

/* J v, operation after operation. */
void verify_sub_tangent(const verify_sub *s, const double *v, double *out, double *dn)
{
    const size_t d = s->width;
    const double along = dyn_vector_dot(s->h, v, d) / ((double)d * s->root * s->root);
    for (size_t j = 0; j < d; j++) {
        dn[j] = s->norm ? s->gamma[j] * (v[j] - s->h[j] * along) / s->root : v[j];
        out[j] = v[j];
    }
    for (size_t i = 0; i < s->hidden; i++) {
        const double *gate = s->gate + i * d;
        const double *up = s->up + i * d;
        double slope;
        const double value = silu(dyn_vector_dot(gate, s->n, d), &slope);
        const double change = slope * dyn_vector_dot(gate, dn, d) * dyn_vector_dot(up, s->n, d) +
                              value * dyn_vector_dot(up, dn, d);
        for (size_t j = 0; j < d; j++) {
            out[j] += s->alpha * s->down[j * s->hidden + i] * change;
        }
    }
}

/* Rows of B and C, and what they and f are off by. */
static void make_rows(verify_sub *s)
{
    const size_t d = s->width;
    const double length = dyn_vector_norm(s->n, d);
    double units = 0.0;
    double rows = 0.0;
    for (size_t i = 0; i < s->hidden; i++) {
        const double *gate = s->gate + i * d;
        const double *up = s->up + i * d;
        const double ga = dyn_vector_norm(gate, d);
        const double va = dyn_vector_norm(up, d);
        const double b = dyn_vector_dot(up, s->n, d);
        double slope;
        const double value = silu(dyn_vector_dot(gate, s->n, d), &slope);
        const double unit = 1.1 * fabs(b) * ga * length + fabs(value) * (va * length + fabs(b));
        const double row = (1.1 * va * length + 0.5 * fabs(b) * ga * length + 1.1 * fabs(b)) * ga +
                           (1.1 * ga * length + fabs(value)) * va;
        units += unit * unit;
        rows += row * row;
        double along = 0.0;
        for (size_t j = 0; j < d; j++) {
            s->b[i * d + j] = b * slope * gate[j] + value * up[j];
            s->c[i * d + j] = s->b[i * d + j] * (s->norm ? s->gamma[j] : 1.0);
            along += s->c[i * d + j] * s->h[j];
        }
        for (size_t j = 0; s->norm && j < d; j++) {
            const double radial = along * s->h[j] / ((double)d * s->root * s->root);
            s->c[i * d + j] = (s->c[i * d + j] - radial) / s->root;
        }
    }
    s->f_rounding = s->u_size * sqrt(units);
    s->j_rounding = s->u_size * sqrt(rows) * (s->norm ? 2.0 * s->gain / s->root : 1.0);
}

static void prepare(verify_sub *s)
{
    const size_t d = s->width;
    s->root = s->norm ? sqrt(dyn_vector_dot(s->h, s->h, d) / (double)d + s->epsilon) : 1.0;
    s->gain = s->norm ? 0.0 : 1.0;
    for (size_t j = 0; j < d; j++) {
        s->n[j] = s->norm ? s->gamma[j] * s->h[j] / s->root : s->h[j];
        s->gain = s->norm ? fmax(s->gain, fabs(s->gamma[j])) : s->gain;
    }
    for (size_t i = 0; i < d * s->hidden; i++) {
        s->u[i] = s->alpha * s->down[i];
    }
    s->u_size = dyn_vector_norm(s->u, d * s->hidden);
    make_rows(s);
    s->b_size = dyn_vector_norm(s->b, d * s->hidden);
    s->c_size = dyn_vector_norm(s->c, d * s->hidden);
    s->terms = (double)(2 * d + s->hidden + 32) * ROUND;
    s->f_rounding *= s->terms;
    s->j_rounding *= s->terms;
}

kern_status verify_sub_read(verify_sub *s, const verify_record *record, verify_work *work,
                            kern_error *err)
{
    size_t norm = 0;
    *s = (verify_sub){0};
    KERN_TRY(verify_record_get_size(record, "width", 1, SIZE_LIMIT, &s->width, err));
    KERN_TRY(verify_record_get_size(record, "hidden", 1, SIZE_LIMIT, &s->hidden, err));
    KERN_TRY(verify_record_get_word(record, "norm", verify_sub_norms, &norm, err));
    KERN_TRY(verify_record_get_number(record, "alpha", &s->alpha, err));
    KERN_TRY(verify_record_get_number(record, "epsilon", &s->epsilon, err));
    KERN_TRY(verify_record_get(record, "gamma", 1, s->width, &s->gamma, err));
    KERN_TRY(verify_record_get(record, "w_gate", s->hidden, s->width, &s->gate, err));
    KERN_TRY(verify_record_get(record, "w_up", s->hidden, s->width, &s->up, err));
    KERN_TRY(verify_record_get(record, "w_down", s->width, s->hidden, &s->down, err));
    KERN_TRY(verify_record_get(record, "h", 1, s->width, &s->h, err));
    s->norm = norm == 0;
    const size_t area = s->width * s->hidden;
    KERN_TRY(verify_work_take(work, s->width, &s->n, err));
    KERN_TRY(verify_work_take(work, area, &s->u, err));
    KERN_TRY(verify_work_take(work, area, &s->b, err));
    KERN_TRY(verify_work_take(work, area, &s->c, err));
    KERN_TRY(verify_work_take(work, s->width * s->width, &s->j, err));
    KERN_TRY(verify_work_take(work, s->hidden * s->hidden, &s->m, err));
    KERN_TRY(verify_work_take(work, s->width, &s->values, err));
    prepare(s);
    return KERN_OK;
}

/* J column by column, and I + M. */
void verify_sub_matrices(verify_sub *s, double *column, double *dn)
{
    const size_t d = s->width;
    const size_t r = s->hidden;
    for (size_t k = 0; k < d; k++) {
        memset(s->values, 0, d * sizeof *s->values);
        s->values[k] = 1.0;
        verify_sub_tangent(s, s->values, column, dn);
        for (size_t j = 0; j < d; j++) {
            s->j[j * d + k] = column[j];
        }
    }
    for (size_t i = 0; i < r; i++) {
        for (size_t k = 0; k < r; k++) {
            double sum = i == k ? 1.0 : 0.0;
            for (size_t j = 0; j < d; j++) {
                sum += s->c[i * d + j] * s->u[j * r + k];
            }
            s->m[i * r + k] = sum;
        }
    }
}
