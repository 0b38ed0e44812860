/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Branch points as critical points of a reduced equation.
 *
 * Let u₀ be near a branch point, V two orthonormal directions near the kernel of G'(u₀), and b a
 * vector outside its range. For every a in ℝ² near 0
 *
 *   G(u) = g b,   Vᵀ (u − u₀) = a
 *
 * has one solution (u, g), whose linear system is regular; so the curve is the zero set of a
 * function g(a) of two variables, and where two branches cross ∇g = 0. Newton's method finds that
 * place; ∂g/∂a_k comes from the linear system with right-hand side e_k, the Hessian from central
 * differences of it. The branches leave along the directions in which the Hessian's quadratic form
 * vanishes (the algebraic branching equation).
 */
#include "dyn/dyn_branch_internal.h"

#include <math.h>
#include <string.h>

enum { CORRECTIONS = 12, ITERATIONS = 12 };

/* Of the reach: width of differences of the gradient, and how far the point may be moved. */
#define WIDTH 0.05
#define MOVE  4.0
/* A gradient this small against the Hessian times the reach is that of a critical point. */
#define FLAT 1e-9
/* A quadratic form whose discriminant is smaller than this part of its size has one direction. */
#define DEFINITE 1e-8

typedef struct cross {
    branch_system *s;
    const double *base;   /* u₀ */
    double *rows;         /* 2 × (n + 2): V and a column of zeros */
    double *u;            /* n + 1 */
    double *b;            /* n + 2: right-hand side */
    double *direction[2]; /* n + 1 each: du/da_k */
    double value;         /* g */
    double gradient[2];
} cross;

size_t branch_cross_work(const branch_system *s)
{
    return 2 * (s->n + 2) + (s->n + 2) + 4 * (s->n + 2);
}

/* Solves the bordered system at x->u in place of x->b. */
static kern_status solve(cross *x, bool fill)
{
    branch_system *s = x->s;
    if (fill) {
        double *columns = dyn_cyclic_columns(s->two);
        branch_system_fill(s, x->u, s->two, 2);
        for (size_t i = 0; i < s->n; i++) {
            columns[2 * i + 1] = -s->fill[i];
        }
        memcpy(dyn_cyclic_rows(s->two), x->rows, 2 * (s->n + 2) * sizeof *x->rows);
    }
    return dyn_cyclic_solve(s->two, 1.0, x->b);
}

/* The solution (u, g) at `a`, corrected from where u is. */
static kern_status correct(cross *x, const double a[2])
{
    branch_system *s = x->s;
    const size_t n = s->n;
    double last = (double)INFINITY;
    for (int i = 0; i < CORRECTIONS; i++) {
        double step = 0.0;
        branch_system_gap(s, x->u, x->b);
        for (size_t j = 0; j < n; j++) {
            x->b[j] = x->b[j] / s->unit - x->value * s->fill[j];
        }
        for (size_t k = 0; k < 2; k++) {
            double along = -a[k];
            for (size_t j = 0; j <= n; j++) {
                along += x->rows[k * (n + 2) + j] * (x->u[j] - x->base[j]);
            }
            x->b[n + k] = along;
        }
        KERN_TRY(solve(x, true));
        for (size_t j = 0; j <= n; j++) {
            x->u[j] -= x->b[j];
            step = fmax(step, fabs(x->b[j]));
        }
        x->value -= x->b[n + 1];
        if (!isfinite(step)) {
            return KERN_NAN;
        }
        /* Steps shrink quadratically until rounding stops them. */
        if (i > 1 && !(step < 0.25 * last)) {
            return step <= 1e-8 ? KERN_OK : KERN_NOT_CONVERGED;
        }
        last = step;
    }
    return KERN_OK;
}

/* The gradient at `a`, and du/da_k. */
static kern_status find_gradient(cross *x, const double a[2])
{
    const size_t n = x->s->n;
    KERN_TRY(correct(x, a));
    for (size_t k = 0; k < 2; k++) {
        memset(x->b, 0, (n + 2) * sizeof *x->b);
        x->b[n + k] = 1.0;
        KERN_TRY(solve(x, k == 0));
        memcpy(x->direction[k], x->b, (n + 1) * sizeof *x->b);
        x->gradient[k] = x->b[n + 1];
    }
    return KERN_OK;
}

/* Second derivatives g_11, g_12, g_22 around `a`. */
static kern_status find_hessian(cross *x, const double a[2], double width, double h[3])
{
    double side[2][2][2]; /* by variable, side, component */
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < 2; i++) {
            double there[2] = {a[0], a[1]};
            there[k] += i == 0 ? -width : width;
            KERN_TRY(find_gradient(x, there));
            memcpy(side[k][i], x->gradient, sizeof x->gradient);
        }
    }
    h[0] = (side[0][1][0] - side[0][0][0]) / (2.0 * width);
    h[1] = 0.5 * (side[0][1][1] - side[0][0][1] + side[1][1][0] - side[1][0][0]) / (2.0 * width);
    h[2] = (side[1][1][1] - side[1][0][1]) / (2.0 * width);
    return KERN_OK;
}

/* V: the tangent, and across it the direction that [G'; tangentᵀ] annihilates most nearly, by
 * inverse iteration with a generic border. */
static kern_status find_kernel(cross *x, const double *tangent)
{
    const size_t n = x->s->n;
    double *second = x->rows + (n + 2);
    double along = 0.0;
    double sum = 0.0;
    memset(x->rows, 0, 2 * (n + 2) * sizeof *x->rows);
    memcpy(x->rows, tangent, (n + 1) * sizeof *tangent);
    memcpy(second, x->s->fill, (n + 1) * sizeof *second);
    for (int pass = 0; pass < 2; pass++) {
        memset(x->b, 0, (n + 2) * sizeof *x->b);
        x->b[n + 1] = 1.0;
        KERN_TRY(solve(x, true));
        sum = 0.0;
        along = 0.0;
        for (size_t j = 0; j <= n; j++) {
            along += x->b[j] * tangent[j];
        }
        for (size_t j = 0; j <= n; j++) {
            second[j] = x->b[j] - along * tangent[j];
            sum += second[j] * second[j];
        }
        if (!(sum > 0.0) || !isfinite(sum)) {
            return KERN_SINGULAR;
        }
        for (size_t j = 0; j <= n; j++) {
            second[j] /= sqrt(sum);
        }
    }
    return KERN_OK;
}

/* Unit directions α du/da_1 + β du/da_2 with α² h_11 + 2αβ h_12 + β² h_22 = 0, the first one nearer
 * the tangent. False when they are not real and distinct. */
static bool find_branches(const cross *x, const double h[3], double *first, double *second)
{
    const size_t n = x->s->n;
    const double size = fmax(fabs(h[0]), fmax(fabs(h[1]), fabs(h[2])));
    const double discriminant = h[1] * h[1] - h[0] * h[2];
    if (!(discriminant > DEFINITE * size * size)) {
        return false;
    }
    /* The roots (α : β) and their like, without cancellation: q/h_11 and h_22/q. */
    const double q = -(h[1] + copysign(sqrt(discriminant), h[1]));
    const double roots[2][2] = {{q, h[0]}, {h[2], q}};
    double along[2];
    for (size_t k = 0; k < 2; k++) {
        double *out = k == 0 ? first : second;
        double sum = 0.0;
        along[k] = 0.0;
        for (size_t j = 0; j <= n; j++) {
            out[j] = roots[k][0] * x->direction[0][j] + roots[k][1] * x->direction[1][j];
            sum += out[j] * out[j];
        }
        for (size_t j = 0; j <= n; j++) {
            out[j] /= sqrt(sum);
            along[k] += out[j] * x->rows[j];
        }
    }
    for (size_t j = 0; j <= n && fabs(along[0]) < fabs(along[1]); j++) {
        const double kept = first[j];
        first[j] = second[j];
        second[j] = kept;
    }
    return true;
}

/* Newton's method for ∇g = 0; `a` receives the place, h the Hessian. */
static kern_status search(cross *x, double reach, double a[2], double h[3])
{
    KERN_TRY(find_hessian(x, a, WIDTH * reach, h));
    for (int i = 0; i < ITERATIONS; i++) {
        KERN_TRY(find_gradient(x, a));
        const double size = fmax(fabs(h[0]), fmax(fabs(h[1]), fabs(h[2])));
        const double det = h[0] * h[2] - h[1] * h[1];
        const double slope = hypot(x->gradient[0], x->gradient[1]);
        if (!(fabs(det) > DEFINITE * size * size)) {
            return KERN_SINGULAR;
        }
        const double da = (h[2] * x->gradient[0] - h[1] * x->gradient[1]) / det;
        const double db = (h[0] * x->gradient[1] - h[1] * x->gradient[0]) / det;
        a[0] -= da;
        a[1] -= db;
        if (!(hypot(a[0], a[1]) <= MOVE * reach)) {
            return KERN_NOT_CONVERGED;
        }
        if (i == 1) {
            KERN_TRY(find_hessian(x, a, WIDTH * reach, h));
        }
        if (i > 1 && slope <= FLAT * size * reach) {
            return find_gradient(x, a);
        }
    }
    return KERN_NOT_CONVERGED;
}

kern_status branch_cross_find(branch_system *s, double *u, const double *tangent, double reach,
                              branch_cross *out, double *work)
{
    const size_t n = s->n;
    double a[2] = {0.0, 0.0};
    double h[3];
    cross x = {.s = s, .base = u, .rows = work};
    x.b = x.rows + 2 * (n + 2);
    x.u = x.b + (n + 2);
    x.direction[0] = x.u + (n + 2);
    x.direction[1] = x.direction[0] + (n + 2);
    out->first = x.direction[1] + (n + 2);
    out->second = x.b; /* free by the time it is written */
    out->crossing = false;
    memcpy(x.u, u, (n + 1) * sizeof *u);
    KERN_TRY(find_kernel(&x, tangent));
    KERN_TRY(search(&x, reach, a, h));
    out->value = x.value;
    out->gradient = hypot(x.gradient[0], x.gradient[1]);
    out->crossing = find_branches(&x, h, out->first, out->second);
    memcpy(u, x.u, (n + 1) * sizeof *u);
    return KERN_OK;
}
