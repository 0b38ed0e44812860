/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Energy and gradient of one token, with bounds on their rounding.
 *
 * Rounding. u = 2⁻⁵³. A sum of n products is off by at most (n + 1)u times the sum of their
 * magnitudes, in any order, with or without fused operations (N. J. Higham, Accuracy and Stability
 * of Numerical Algorithms, 2002, section 3.1). exp, erfc, log1p and log are taken to be right to
 * 2u relatively, which holds for the mathematical library by a factor of 2. Terms of order u² are
 * covered by the final factor 2 of `widen`.
 *   scores   |δs_B| ≤ (D + 2)u Σ_i |k_i g_i|; the log-sum-exp is 1-Lipschitz in the largest |δs|,
 *            and its own n exponentials, sum and logarithm add (n + 8)u + 3u|value|
 *   weights  p_B relative: 2β max|δs| + (2n + 8)u
 *   units    |δz| ≤ (D + 2)u (Σ|w g| + |b|); f and f′ are Lipschitz, and 8u relative on their own
 * Each is multiplied by what it enters, which bounds energy and gradient.
 */
#include "models/verify/verify_nrgpt_instance.h"

#include "dyn/dyn_vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUND (0.5 * DBL_EPSILON)

static const double INV_SQRT_2 = 0.70710678118654752440;
static const double INV_SQRT_2PI = 0.39894228040143267794;

static double widen(double rounding)
{
    return 2.0 * rounding;
}

/* a·b, and Σ|a_i b_i|. */
static double dot_sized(const double *a, const double *b, size_t n, double *size)
{
    double sum = 0.0;
    double total = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double term = a[i] * b[i];
        sum += term;
        total += fabs(term);
    }
    *size = total;
    return sum;
}

static void add(double *y, double s, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        y[i] += s * x[i];
    }
}

/* ---- Nonlinearities ------------------------------------------------------------------------ */

static void gelu(double z, double f[3])
{
    const double below = 0.5 * erfc(-z * INV_SQRT_2);
    const double density = INV_SQRT_2PI * exp(-0.5 * z * z);
    f[0] = z * below;
    f[1] = below + z * density;
    f[2] = density * (2.0 - z * z);
}

static void relu(double z, double f[3])
{
    f[0] = z > 0.0 ? z : 0.0 * z; /* NaN stays */
    f[1] = z > 0.0 ? 1.0 : 0.0;
    f[2] = 0.0;
}

static void softplus(double z, double f[3])
{
    const double decay = exp(-fabs(z));
    f[0] = (z > 0.0 ? z : 0.0) + log1p(decay);
    f[1] = z > 0.0 ? 1.0 / (1.0 + decay) : decay / (1.0 + decay);
    f[2] = decay / ((1.0 + decay) * (1.0 + decay));
}

/* GELU: f″ = φ(z)(2 − z²) is largest at 0, 2φ(0); f′ at z = √2; (f²)″ = 2(f′² + f f″) has its
 * minimum −0.168809 at z = −0.60174 and its maximum 2.766660 at z = 1.07138. Softplus: (f²)″ has no
 * minimum, it falls to 0, and its maximum is 2.090667 at z = 3.0977. A test finds them again. */
const verify_nrgpt_act verify_nrgpt_acts[VERIFY_NRGPT_ACTS] = {
    {.name = "gelu",
     .at = gelu,
     .slope = 1.128905,
     .bend = 0.797885,
     .square_low = 0.168809,
     .square_high = 2.766661},
    {.name = "relu",
     .at = relu,
     .slope = 1.0,
     .bend = HUGE_VAL,
     .square_low = 0.0,
     .square_high = 2.0},
    {.name = "softplus",
     .at = softplus,
     .slope = 1.0,
     .bend = 0.25,
     .square_low = 0.0,
     .square_high = 2.090667,
     .offset = 0.693148},
};

/* ---- Attention ----------------------------------------------------------------------------- */

/* The token as its own context: q->own becomes J_hᵀ g and J_h g; its score, and the sum of
 * magnitudes behind it. */
static double find_own_score(const verify_nrgpt *q, size_t head, const double *g, double *size)
{
    const size_t d = q->width;
    const double *j = q->j + head * d * d;
    double *key = q->own;
    double *query = q->own + d;
    double total = 0.0;
    memset(key, 0, d * sizeof *key);
    for (size_t i = 0; i < d; i++) {
        double row;
        query[i] = dot_sized(j + i * d, g, d, &row);
        total += fabs(g[i]) * row;
        add(key, g[i], j + i * d, d);
    }
    *size = 2.0 * total;
    return dyn_vector_dot(g, query, d);
}

/* Scores into q->scores; the largest rounding of one is (D + 2)u times the result. */
static double find_scores(const verify_nrgpt *q, size_t head, const double *g, size_t count)
{
    double largest = 0.0;
    for (size_t b = 0; b < count; b++) {
        double size;
        q->scores[b] = b < q->prefix ? dot_sized(q->keys + (head * q->prefix + b) * q->width, g,
                                                 q->width, &size)
                                     : find_own_score(q, head, g, &size);
        largest = fmax(largest, size);
    }
    return largest;
}

/* Weights p_B in place of the scores; log Σ exp(β s_B). */
static double weigh(const verify_nrgpt *q, size_t count)
{
    double top = -HUGE_VAL;
    double sum = 0.0;
    for (size_t b = 0; b < count; b++) {
        top = q->scores[b] > top || isnan(q->scores[b]) ? q->scores[b] : top;
    }
    for (size_t b = 0; b < count; b++) {
        q->scores[b] = exp(q->beta * (q->scores[b] - top));
        sum += q->scores[b];
    }
    for (size_t b = 0; b < count; b++) {
        q->scores[b] /= sum;
    }
    return q->beta * top + log(sum);
}

/* −α Σ_B p_B ∂s_B/∂g, without the second part of the token's own unless `exact`. Returns the sum
 * of magnitudes. */
static double pull(const verify_nrgpt *q, size_t head, size_t count, bool exact, double *gradient)
{
    const size_t d = q->width;
    const double alpha = q->alpha[head];
    double size = 0.0;
    for (size_t b = 0; b < count; b++) {
        const double *key = b < q->prefix ? q->keys + (head * q->prefix + b) * d : q->own;
        add(gradient, -alpha * q->scores[b], key, d);
        size += fabs(alpha) * q->scores[b] * dyn_vector_norm(key, d);
    }
    if (exact && count > q->prefix) {
        const double *query = q->own + d;
        add(gradient, -alpha * q->scores[q->prefix], query, d);
        size += fabs(alpha) * q->scores[q->prefix] * dyn_vector_norm(query, d);
    }
    return size;
}

static void attend(const verify_nrgpt *q, const double *g, bool exact, double *gradient,
                   verify_nrgpt_value *v)
{
    const size_t count = q->prefix + (q->inclusive ? 1 : 0);
    const double n = (double)count;
    for (size_t h = 0; h < q->heads && count > 0; h++) {
        const double score = (double)(q->width + 2) * ROUND * find_scores(q, h, g, count);
        const double lse = weigh(q, count);
        const double weight = fabs(q->alpha[h]) / q->beta;
        v->energy -= q->alpha[h] / q->beta * lse;
        v->rounding += weight * (q->beta * score + (n + 8.0) * ROUND + 6.0 * ROUND * fabs(lse));
        if (gradient != NULL) {
            const double size = pull(q, h, count, exact, gradient);
            v->gradient_rounding += size * (2.0 * q->beta * score + (3.0 * n + 12.0) * ROUND);
        }
    }
}

/* ---- Feed-forward -------------------------------------------------------------------------- */

/* z_j of unit j, and its rounding. */
static double find_unit(const verify_nrgpt *q, const double *g, size_t j, double *rounding)
{
    double size;
    const double z = dot_sized(q->w1 + j * q->width, g, q->width, &size) + q->b1[j];
    *rounding = (double)(q->width + 2) * ROUND * (size + fabs(q->b1[j]));
    return z;
}

static void feed_square(const verify_nrgpt *q, const double *g, double *gradient,
                        verify_nrgpt_value *v)
{
    const double s = q->scale_ff;
    const double curve = 0.5 * fmax(q->act->square_high, q->act->square_low);
    double sum = 0.0;
    double error = 0.0;
    double slope_error = 0.0;
    for (size_t j = 0; j < q->hidden; j++) {
        double f[3];
        double dz;
        q->act->at(find_unit(q, g, j, &dz), f);
        const double slope = f[0] * f[1];
        sum += f[0] * f[0];
        error += 2.0 * fabs(f[0]) * (q->act->slope * dz + 8.0 * ROUND * fabs(f[0]));
        slope_error += q->sizes[j] * (curve * dz + 20.0 * ROUND * fabs(slope));
        slope_error += q->sizes[j] * (double)(q->hidden + 2) * ROUND * fabs(slope);
        if (gradient != NULL) {
            add(gradient, -2.0 * s * slope, q->w1 + j * q->width, q->width);
        }
    }
    v->energy -= s * sum;
    v->rounding += fabs(s) * (error + (double)(q->hidden + 3) * ROUND * sum);
    v->gradient_rounding += 2.0 * fabs(s) * slope_error;
}

/* The units: f(z_j), its rounding, f′(z_j) and that rounding, M numbers each in q->z. */
static void fill_units(const verify_nrgpt *q, const double *g)
{
    const size_t m = q->hidden;
    const double bend = isfinite(q->act->bend) ? q->act->bend : 0.0;
    for (size_t j = 0; j < m; j++) {
        double f[3];
        double dz;
        q->act->at(find_unit(q, g, j, &dz), f);
        q->z[j] = f[0];
        q->z[m + j] = q->act->slope * dz + 8.0 * ROUND * fabs(f[0]);
        q->z[2 * m + j] = f[1];
        q->z[3 * m + j] = bend * dz + 8.0 * ROUND * (1.0 + fabs(f[1]));
    }
}

/* −g·y and −y of y = W₂f + b₂. */
static void feed_outward(const verify_nrgpt *q, const double *g, double *gradient,
                         verify_nrgpt_value *v)
{
    const size_t m = q->hidden;
    const double s = q->scale_ff;
    double sum = 0.0;
    double error = 0.0;
    double slope_error = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        const double *row = q->w2 + i * m;
        double size;
        double dy = 0.0;
        const double y = dot_sized(row, q->z, m, &size) + q->b2[i];
        for (size_t j = 0; j < m; j++) {
            dy += fabs(row[j]) * q->z[m + j];
        }
        dy += (double)(m + 2) * ROUND * (size + fabs(q->b2[i]));
        sum += g[i] * y;
        error += fabs(g[i]) * (dy + (double)(q->width + 3) * ROUND * (size + fabs(q->b2[i])));
        slope_error += dy * dy;
        if (gradient != NULL) {
            gradient[i] -= s * y;
        }
    }
    v->energy -= s * sum;
    v->rounding += fabs(s) * error;
    v->gradient_rounding += fabs(s) * sqrt(slope_error);
}

/* −W₁ᵀ[f′ ⊙ W₂ᵀg]. */
static void feed_inward(const verify_nrgpt *q, const double *g, double *gradient,
                        verify_nrgpt_value *v)
{
    const size_t m = q->hidden;
    const double n = (double)(q->width + m + 8);
    double error = 0.0;
    for (size_t j = 0; j < m; j++) {
        double p = 0.0;
        double size = 0.0;
        for (size_t i = 0; i < q->width; i++) {
            const double term = q->w2[i * m + j] * g[i];
            p += term;
            size += fabs(term);
        }
        error += q->sizes[j] * (fabs(p) * q->z[3 * m + j] + n * ROUND * size * q->act->slope);
        add(gradient, -q->scale_ff * q->z[2 * m + j] * p, q->w1 + j * q->width, q->width);
    }
    v->gradient_rounding += fabs(q->scale_ff) * error;
}

static void feed_bilinear(const verify_nrgpt *q, const double *g, double *gradient,
                          verify_nrgpt_value *v)
{
    fill_units(q, g);
    feed_outward(q, g, gradient, v);
    if (gradient != NULL) {
        feed_inward(q, g, gradient, v);
    }
}

verify_nrgpt_value verify_nrgpt_evaluate(const verify_nrgpt *q, const double *g, bool exact,
                                         double *gradient)
{
    verify_nrgpt_value v = {0};
    if (gradient != NULL) {
        memset(gradient, 0, q->width * sizeof *gradient);
    }
    attend(q, g, exact, gradient, &v);
    if (q->hidden > 0) {
        (q->ff == VERIFY_NRGPT_FF1 ? feed_square : feed_bilinear)(q, g, gradient, &v);
    }
    v.rounding = widen(v.rounding + 4.0 * ROUND * fabs(v.energy));
    v.gradient_rounding = widen(v.gradient_rounding);
    if (gradient != NULL) {
        v.gradient_rounding += 8.0 * ROUND * sqrt(dyn_vector_dot(gradient, gradient, q->width));
    }
    return v;
}

/* ---- Norm and step ------------------------------------------------------------------------- */

double verify_nrgpt_normalise(const verify_nrgpt *q, const double *x, double *unit, double *g)
{
    const size_t d = q->width;
    double mean = 0.0;
    double square = 0.0;
    for (size_t i = 0; i < d && q->norm == VERIFY_NRGPT_LAYERNORM; i++) {
        mean += x[i] / (double)d;
    }
    for (size_t i = 0; i < d; i++) {
        unit[i] = x[i] - mean;
        square += unit[i] * unit[i];
    }
    const double sigma =
        q->norm == VERIFY_NRGPT_NO_NORM ? 1.0 : sqrt(square / (double)d + q->epsilon);
    for (size_t i = 0; i < d; i++) {
        unit[i] /= sigma;
        g[i] = q->gamma[i] * unit[i] + q->delta[i];
    }
    return sigma;
}

kern_status verify_nrgpt_point_init(verify_nrgpt_point *p, const verify_nrgpt *q, verify_work *work,
                                    kern_error *err)
{
    const size_t d = q->width;
    *p = (verify_nrgpt_point){0};
    KERN_TRY(verify_work_take(work, 4 * d, &p->x, err));
    p->unit = p->x + d;
    p->g = p->x + 2 * d;
    p->gradient = p->x + 3 * d;
    return KERN_OK;
}

/* x̂: the mean is off by D u mean|x|, which moves all coordinates alike and is seen divided by σ;
 * σ relatively by (D/2 + 3)u, and each quotient by 2u. */
static double find_place_rounding(const verify_nrgpt *q, const double *x, double sigma)
{
    const double d = (double)q->width;
    double size = 0.0;
    for (size_t i = 0; i < q->width && q->norm == VERIFY_NRGPT_LAYERNORM; i++) {
        size += fabs(x[i]) / d;
    }
    return q->norm == VERIFY_NRGPT_NO_NORM
               ? 0.0
               : sqrt(d) * ROUND * (0.5 * d + 8.0 + (d + 2.0) * size / sigma);
}

void verify_nrgpt_visit(const verify_nrgpt *q, verify_nrgpt_point *p)
{
    const size_t d = q->width;
    p->sigma = verify_nrgpt_normalise(q, p->x, p->unit, p->g);
    const verify_nrgpt_value v = verify_nrgpt_evaluate(q, p->g, true, p->gradient);
    const double steep = sqrt(dyn_vector_dot(p->gradient, p->gradient, d));
    p->place_rounding = find_place_rounding(q, p->x, p->sigma);
    p->gradient_rounding = v.gradient_rounding;
    p->energy = v.energy;
    p->rounding = v.rounding + 2.0 * steep *
                                   (q->gain * p->place_rounding +
                                    2.0 * ROUND * sqrt(dyn_vector_dot(p->g, p->g, d)));
}

void verify_nrgpt_descend(const verify_nrgpt *q, const verify_nrgpt_point *from, double c,
                          verify_nrgpt_point *to)
{
    for (size_t i = 0; i < q->width; i++) {
        to->x[i] = from->x[i] - c * q->gamma[i] * from->gradient[i];
    }
    verify_nrgpt_visit(q, to);
}

/* The lemma's first-order term is w·Δx̂ = −(1/c)(x′ − x)·Δx̂ with w = Γ∇E. The w of the step
 * computed is off by what rounds the gradient and by the rounding of x′ over c, and Δx̂ by that of
 * both states: the last two lines of `rounding`. The line before is what |Δx̂|² is off by. */
verify_nrgpt_change verify_nrgpt_compare(const verify_nrgpt *q, const verify_nrgpt_point *from,
                                         const verify_nrgpt_point *to, double c)
{
    const size_t d = q->width;
    double moved = 0.0;
    for (size_t i = 0; i < d; i++) {
        moved += (to->unit[i] - from->unit[i]) * (to->unit[i] - from->unit[i]);
    }
    const double rate = (from->sigma + to->sigma) / (2.0 * c);
    const double place = from->place_rounding + to->place_rounding;
    const double size =
        sqrt(dyn_vector_dot(to->x, to->x, d)) + sqrt(dyn_vector_dot(from->x, from->x, d));
    const double rounding =
        from->rounding + to->rounding + ROUND * (fabs(from->energy) + fabs(to->energy)) +
        rate * (2.0 * sqrt(moved) * place + ((double)d + 12.0) * ROUND * moved) +
        sqrt(moved) * (q->gain * from->gradient_rounding + 4.0 * ROUND * size / c) +
        q->gain * sqrt(dyn_vector_dot(from->gradient, from->gradient, d)) * place;
    return (verify_nrgpt_change){.actual = to->energy - from->energy,
                                 .moved = moved,
                                 .decrement = rate * moved,
                                 .rounding = rounding};
}
