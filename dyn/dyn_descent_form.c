/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The quadratic form vᵀΓP(x)ηv in twice the working precision.
 *
 * A number is an unevaluated sum of two doubles. With u = 2⁻⁵³ a sum of two such is right to 3u²
 * and a product to 5u², relative to the magnitudes of what is added (Joldes, Muller and Popescu
 * 2017). The form needs sums over D channels only: with S(a, b) = Σ a_i b_i, less (Σa_i)(Σb_i)/D
 * for LayerNorm, and q = ηv, p = Γv, vᵀΓPηv = S(p, q) − S(x, p) S(x, q)/(S(x, x) + Dε). Every q_i
 * is a sum of D terms and every S one of D products of those, so each is off by at most (8D + 40)u²
 * of |a||b|, with Q_i = Σ_j |η_ij v_j| for |q|. With k = |x|/sqrt(S(x, x) + Dε), ≥ 1 unless ε
 * reigns, the quotient is off by at most (4k + 2k²) times that of |p||Q|; together 2(1 + k)². For
 * LayerNorm x_0 is subtracted from x first, without error, so that k is not large just because x
 * has a large mean.
 */
#include "dyn/dyn_descent.h"

#include <float.h>
#include <math.h>

typedef struct pair {
    double high;
    double low;
} pair;

static pair sum_of(double a, double b)
{
    const double sum = a + b;
    const double part = sum - a;
    return (pair){sum, (a - (sum - part)) + (b - part)};
}

static pair product_of(double a, double b)
{
    const double product = a * b;
    return (pair){product, fma(a, b, -product)};
}

/* |a| ≥ |b|, or a = 0. */
static pair renormalise(double a, double b)
{
    const double sum = a + b;
    return (pair){sum, b - (sum - a)};
}

static pair add(pair a, pair b)
{
    const pair high = sum_of(a.high, b.high);
    const pair low = sum_of(a.low, b.low);
    const pair middle = renormalise(high.high, high.low + low.high);
    return renormalise(middle.high, middle.low + low.low);
}

static pair negative(pair a)
{
    return (pair){-a.high, -a.low};
}

static pair multiply(pair a, pair b)
{
    const pair product = product_of(a.high, b.high);
    const double cross = fma(a.high, b.low, a.low * b.high);
    return renormalise(product.high, product.low + cross);
}

static pair divide(pair a, pair b)
{
    const double first = a.high / b.high;
    const pair rest = add(a, negative(multiply(b, (pair){first, 0})));
    const double second = rest.high / b.high;
    const pair end = add(rest, negative(multiply(b, (pair){second, 0})));
    return add(renormalise(first, second), (pair){end.high / b.high, 0});
}

/* Sums over channels of two sequences and of their products. */
typedef struct moments {
    pair x, p, q;
    pair xx, xp, xq, pq;
    double big_x, big_p, big_q; /* Σ of squared magnitudes */
} moments;

static void gather(const dyn_descent_system *s, const double *x, const double *v, moments *m)
{
    const size_t d = s->width;
    *m = (moments){0};
    for (size_t i = 0; i < d; i++) {
        const pair p = product_of(s->gamma[i], v[i]);
        const pair y = sum_of(x[i], s->centre ? -x[0] : 0.0);
        pair q = {0, 0};
        double magnitude = 0;
        for (size_t j = 0; j < d; j++) {
            const pair term = product_of(s->eta[i * d + j], v[j]);
            q = add(q, term);
            magnitude += fabs(term.high);
        }
        m->x = add(m->x, y);
        m->p = add(m->p, p);
        m->q = add(m->q, q);
        m->xx = add(m->xx, multiply(y, y));
        m->xp = add(m->xp, multiply(y, p));
        m->xq = add(m->xq, multiply(y, q));
        m->pq = add(m->pq, multiply(p, q));
        m->big_x += y.high * y.high;
        m->big_p += p.high * p.high;
        m->big_q += magnitude * magnitude;
    }
}

/* S(a, b) from the sum of products and the two sums. */
static pair covary(const dyn_descent_system *s, pair product, pair a, pair b)
{
    if (!s->centre) {
        return product;
    }
    const pair mean = divide(multiply(a, b), (pair){(double)s->width, 0});
    return add(product, negative(mean));
}

kern_status dyn_descent_form(const dyn_descent_system *system, const double *x, const double *v,
                             double *value, double *error, kern_error *err)
{
    const double d = (double)system->width;
    moments m;
    gather(system, x, v, &m);
    /* Of a constant state nothing is left once x_0 is subtracted; then the sums are exact zeros. */
    const pair spread = covary(system, m.xx, m.x, m.x);
    const pair scale = add(spread, product_of(d, system->epsilon));
    if (!(scale.high > 0)) {
        return kern_raise(err, KERN_SINGULAR,
                          "the state has no %s and ε = 0, so that its σ is 0 and its norm is not "
                          "defined; accepted are other states, or ε > 0",
                          system->centre ? "variance" : "length");
    }
    const pair across = multiply(covary(system, m.xp, m.x, m.p), covary(system, m.xq, m.x, m.q));
    const pair form = add(covary(system, m.pq, m.p, m.q), negative(divide(across, scale)));
    const double k = 1 + sqrt(m.big_x / scale.high);
    *value = form.high;
    *error = (8 * d + 40) * (DBL_EPSILON * DBL_EPSILON / 4) * 2 * k * k * sqrt(m.big_p * m.big_q) +
             0.5 * DBL_EPSILON * fabs(form.high);
    return KERN_OK;
}
