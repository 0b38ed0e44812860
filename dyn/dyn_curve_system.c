/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The equations of a curve of bifurcations and their derivatives.
 */
#include "dyn/dyn_curve_internal.h"

#include "dyn/dyn_jacobian.h"
#include "dyn/dyn_state.h"
#include "dyn/dyn_vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Displacement of differences over two widths, relative to max(1, |x|) or max(1, |p|): with errors
 * in h⁴ left, it balances against rounding divided by h. For a jvp with noise 1e-10 it is wider. */
#define WIDTH             1e-3
#define WIDTH_APPROXIMATE 1e-2

enum { SCRATCH = 8 };

/* ---- Making ------------------------------------------------------------------------------- */

static kern_status allocate(curve_system *s, kern_error *err)
{
    const size_t n = s->n;
    const size_t square = s->size * s->size;
    const size_t counts[] = {n,
                             s->period * square,
                             square,
                             square,
                             square,
                             square,
                             n + s->conditions,
                             s->conditions * n,
                             SCRATCH * s->size,
                             dyn_jacobian_work(s->map)};
    double **const blocks[] = {&s->states, &s->blocks, &s->product, &s->t,       &s->spread,
                               &s->other,  &s->right,  &s->left,    &s->vectors, &s->work};
    size_t total = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        total += kern_arena_cost(counts[i], sizeof(double));
    }
    KERN_TRY(kern_arena_init(&s->arena, total, err));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        *blocks[i] = kern_arena_calloc(&s->arena, counts[i], sizeof(double));
    }
    return KERN_OK;
}

kern_status curve_system_create(curve_system **out, dyn_map *map, const double *states,
                                const dyn_curve_options *options, const size_t parameters[2],
                                kern_error *err)
{
    double sum = 0.0;
    *out = NULL;
    curve_system *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a curve of bifurcations");
    }
    s->map = map;
    s->kind = options->kind;
    s->period = options->period;
    s->size = map->size;
    s->n = s->period * s->size;
    s->conditions = s->kind == DYN_NORMAL_NS ? 2 : 1;
    s->unknowns = s->n + s->conditions + 1;
    for (size_t i = 0; i < s->n; i++) {
        sum += states[i] * states[i];
    }
    s->unit = fmax(1.0, sqrt(sum / (double)s->n)) * sqrt((double)s->period);
    for (size_t i = 0; i < 2; i++) {
        s->parameters[i] = parameters[i];
        s->origin[i] = map->params[parameters[i]];
        s->length[i] = options->high[i] - options->low[i];
    }
    kern_status status = allocate(s, err);
    if (status == KERN_OK) {
        status = dyn_border_init(&s->border, s->size, s->conditions, err);
    }
    if (status != KERN_OK) {
        curve_system_destroy(s);
        return status;
    }
    *out = s;
    return KERN_OK;
}

void curve_system_destroy(curve_system *s)
{
    if (s != NULL) {
        dyn_border_fini(&s->border);
        kern_arena_fini(&s->arena);
        free(s);
    }
}

/* ---- Unknowns ----------------------------------------------------------------------------- */

void curve_system_pack(const curve_system *s, const double *states, double k, double *u)
{
    for (size_t i = 0; i < s->n; i++) {
        u[i] = states[i] / s->unit;
    }
    if (s->kind == DYN_NORMAL_NS) {
        u[s->n] = k;
    }
    for (size_t i = 0; i < 2; i++) {
        u[s->unknowns - 2 + i] = (s->map->params[s->parameters[i]] - s->origin[i]) / s->length[i];
    }
}

void curve_system_unpack(curve_system *s, const double *u)
{
    for (size_t i = 0; i < s->n; i++) {
        s->states[i] = s->unit * u[i];
    }
    s->k = s->kind == DYN_NORMAL_NS ? u[s->n] : 0.0;
    for (size_t i = 0; i < 2; i++) {
        s->map->params[s->parameters[i]] = s->origin[i] + s->length[i] * u[s->unknowns - 2 + i];
    }
}

/* ---- Matrices ----------------------------------------------------------------------------- */

/* out = a b. */
static void multiply(const double *a, const double *b, size_t n, double *out)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            const double factor = a[i * n + k];
            for (size_t j = 0; j < n; j++) {
                out[i * n + j] += factor * b[k * n + j];
            }
        }
    }
}

/* out = a v. */
static void apply(const double *a, const double *v, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = 0.0;
        for (size_t j = 0; j < n; j++) {
            out[i] += a[i * n + j] * v[j];
        }
    }
}

/* out = aᵀ v. */
static void apply_transposed(const double *a, const double *v, size_t n, double *out)
{
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            out[j] += a[i * n + j] * v[i];
        }
    }
}

static double find_largest(const double *v, size_t n)
{
    double largest = 0.0;
    for (size_t i = 0; i < n && !isnan(largest); i++) {
        if (!(fabs(v[i]) <= largest)) {
            largest = fabs(v[i]);
        }
    }
    return largest;
}

/* Gaps of the cycle into g, its Jacobians, their product, and the matrix that is to be singular. */
static void fill_matrices(curve_system *s, double *g)
{
    const size_t n = s->size;
    for (size_t i = 0; i < s->period; i++) {
        double *block = s->blocks + i * n * n;
        double *gap = g + i * n;
        dyn_jacobian_fill(s->map, s->states + i * n, gap, block, n, s->work);
        dyn_state_difference(s->map, gap, s->states + (i + 1) % s->period * n, gap);
        if (i == 0) {
            memcpy(s->product, block, n * n * sizeof *s->product);
        } else {
            multiply(block, s->product, n, s->other);
            memcpy(s->product, s->other, n * n * sizeof *s->product);
        }
    }
    if (s->kind == DYN_NORMAL_NS) {
        multiply(s->product, s->product, n, s->t);
        for (size_t i = 0; i < n * n; i++) {
            s->t[i] -= 2.0 * s->k * s->product[i];
        }
    } else {
        memcpy(s->t, s->product, n * n * sizeof *s->t);
    }
    for (size_t i = 0; i < n; i++) {
        s->t[i * n + i] += s->kind == DYN_NORMAL_LP ? -1.0 : 1.0;
    }
}

/* ---- Conditions --------------------------------------------------------------------------- */

static double find_condition(const curve_system *s, size_t e)
{
    double sum = 0.0;
    if (s->kind != DYN_NORMAL_NS) {
        return s->weight * s->border.g[0][0];
    }
    for (size_t a = 0; a < 2; a++) {
        for (size_t b = 0; b < 2; b++) {
            sum += s->functional[e][a][b] * s->border.g[a][b];
        }
    }
    return s->weight * sum;
}

/* An orthonormal basis of the span of W Vᵀ and W A Vᵀ for the borders C = V and B = W. */
static void choose_functionals(curve_system *s)
{
    const size_t n = s->size;
    double *image = s->vectors;
    double m[2][4];
    for (size_t b = 0; b < 2; b++) {
        apply(s->product, s->border.c + b * n, n, image);
        for (size_t a = 0; a < 2; a++) {
            m[0][2 * a + b] = dyn_vector_dot(s->border.b + a * n, s->border.c + b * n, n);
            m[1][2 * a + b] = dyn_vector_dot(s->border.b + a * n, image, n);
        }
    }
    for (size_t e = 0; e < 2; e++) {
        const double along = e == 1 ? dyn_vector_dot(m[0], m[1], 4) : 0.0;
        for (size_t i = 0; i < 4; i++) {
            m[e][i] -= along * m[0][i];
        }
        const double length = dyn_vector_norm(m[e], 4);
        for (size_t i = 0; i < 4; i++) {
            m[e][i] /= length;
            s->functional[e][i / 2][i % 2] = m[e][i];
        }
    }
}

kern_status curve_system_adopt(curve_system *s, const double *u, bool first)
{
    double *gap = s->right;
    curve_system_unpack(s, u);
    fill_matrices(s, gap);
    /* G is in proportion to T, and rounding of T is what limits it. */
    s->weight = 1.0 / fmax(1.0, find_largest(s->t, s->size * s->size));
    if (first) {
        KERN_TRY(dyn_border_find(&s->border, s->t));
    } else {
        KERN_TRY(dyn_border_solve(&s->border, s->t));
        KERN_TRY(dyn_border_adopt(&s->border));
    }
    if (s->kind == DYN_NORMAL_NS) {
        choose_functionals(s);
    }
    return KERN_OK;
}

/* ---- Derivatives -------------------------------------------------------------------------- */

static double find_width(const curve_system *s)
{
    return s->map->approximate_jvp ? WIDTH_APPROXIMATE : WIDTH;
}

/* spread = d/dt F'(x + t v) at 0. */
static void fill_spread(curve_system *s, const double *x, const double *v)
{
    const size_t n = s->size;
    double *point = s->vectors;
    const double length = find_largest(v, n);
    memset(s->spread, 0, n * n * sizeof *s->spread);
    if (length == 0.0) {
        return;
    }
    const double h = find_width(s) * fmax(1.0, find_largest(x, n)) / length;
    /* (8 [J(h/2) − J(−h/2)] − [J(h) − J(−h)]) / 6h: both widths with the h² error removed. */
    static const double places[] = {0.5, -0.5, 1.0, -1.0};
    static const double weights[] = {8.0, -8.0, -1.0, 1.0};
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < n; j++) {
            point[j] = x[j] + places[i] * h * v[j];
        }
        dyn_jacobian_fill(s->map, point, NULL, s->other, n, s->work);
        for (size_t j = 0; j < n * n; j++) {
            s->spread[j] += weights[i] / (6.0 * h) * s->other[j];
        }
    }
}

/* slope = F_p(x), and mixed = F_{xp}(x) v unless both are NULL. */
static void find_slope(curve_system *s, size_t parameter, const double *x, const double *v,
                       double *slope, double *mixed)
{
    const size_t n = s->size;
    double *value = &s->map->params[s->parameters[parameter]];
    const double kept = *value;
    const double h = find_width(s) * fmax(1.0, fabs(kept));
    double *here = s->vectors;
    double *image = here + n;
    double *tangent = image + n;
    static const double places[] = {0.5, -0.5, 1.0, -1.0};
    static const double weights[] = {8.0, -8.0, -1.0, 1.0};
    s->map->kind->step(s->map, x, here);
    memset(slope, 0, n * sizeof *slope);
    if (mixed != NULL) {
        memset(mixed, 0, n * sizeof *mixed);
    }
    for (size_t i = 0; i < 4; i++) {
        *value = kept + places[i] * h;
        if (mixed != NULL) {
            s->map->kind->jvp(s->map, x, v, image, tangent);
        } else {
            s->map->kind->step(s->map, x, image);
        }
        dyn_state_difference(s->map, image, here, image);
        for (size_t j = 0; j < n; j++) {
            slope[j] += weights[i] / (6.0 * h) * image[j];
            if (mixed != NULL) {
                mixed[j] += weights[i] / (6.0 * h) * tangent[j];
            }
        }
    }
    *value = kept;
}

/* Adds to row e of the conditions −ω_eᵀ (dA) ν, the derivative by every unknown but k, for the
 * vector ν and the vectors ω_e (conditions × size) given. */
static void add_derivative(curve_system *s, const double *nu, const double *omega, double *rows)
{
    const size_t n = s->size;
    const size_t m = s->unknowns;
    double *slope = s->vectors + 3 * n;
    double *mixed = s->vectors + 4 * n;
    memcpy(s->right, nu, n * sizeof *s->right);
    for (size_t i = 0; i + 1 < s->period; i++) {
        apply(s->blocks + i * n * n, s->right + i * n, n, s->right + (i + 1) * n);
    }
    for (size_t e = 0; e < s->conditions; e++) {
        double *left = s->left + e * s->n;
        memcpy(left + (s->period - 1) * n, omega + e * n, n * sizeof *left);
        for (size_t i = s->period - 1; i > 0; i--) {
            apply_transposed(s->blocks + i * n * n, left + i * n, n, left + (i - 1) * n);
        }
    }
    for (size_t i = 0; i < s->period; i++) {
        const double *x = s->states + i * n;
        const double *v = s->right + i * n;
        fill_spread(s, x, v);
        for (size_t e = 0; e < s->conditions; e++) {
            double *gradient = s->vectors;
            apply_transposed(s->spread, s->left + e * s->n + i * n, n, gradient);
            for (size_t j = 0; j < n; j++) {
                rows[e * m + i * n + j] -= s->unit * gradient[j];
            }
        }
        for (size_t parameter = 0; parameter < 2; parameter++) {
            find_slope(s, parameter, x, v, slope, mixed);
            for (size_t e = 0; e < s->conditions; e++) {
                rows[e * m + m - 2 + parameter] -=
                    s->length[parameter] * dyn_vector_dot(s->left + e * s->n + i * n, mixed, n);
            }
        }
    }
}

/* Rows of the conditions of LP and PD: T depends on A as A itself does. */
static void fill_simple_rows(curve_system *s, double *rows)
{
    add_derivative(s, s->border.v, s->border.w, rows);
}

/* Rows of the conditions of NS, from W dT Vᵀ = W (dA) (A − 2k) Vᵀ + WA (dA) Vᵀ − 2 dk WAVᵀ. */
static void fill_pair_rows(curve_system *s, double *rows)
{
    const size_t n = s->size;
    const size_t m = s->unknowns;
    double *nu = s->vectors + 3 * n;
    double *omega = s->vectors + 4 * n;
    double *carried = s->vectors + 6 * n;
    for (size_t b = 0; b < 2; b++) {
        const double *v = s->border.v + b * n;
        apply(s->product, v, n, nu);
        for (size_t e = 0; e < 2; e++) {
            for (size_t j = 0; j < n; j++) {
                omega[e * n + j] = s->functional[e][0][b] * s->border.w[j] +
                                   s->functional[e][1][b] * s->border.w[n + j];
            }
            rows[e * m + s->n] += 2.0 * dyn_vector_dot(omega + e * n, nu, n);
            apply_transposed(s->product, omega + e * n, n, carried + e * n);
        }
        for (size_t j = 0; j < n; j++) {
            nu[j] -= 2.0 * s->k * v[j];
        }
        add_derivative(s, nu, omega, rows);
        add_derivative(s, v, carried, rows);
    }
}

/* Rows of the shooting equations: F'(x_i) and −1 in the columns of x_i and x_{i+1}, and slopes. */
static void fill_gap_rows(curve_system *s, double *jacobian)
{
    const size_t n = s->size;
    const size_t m = s->unknowns;
    double *slope = s->vectors + 3 * n;
    for (size_t i = 0; i < s->period; i++) {
        const size_t next = (i + 1) % s->period * n;
        double *rows = jacobian + i * n * m;
        for (size_t j = 0; j < n; j++) {
            for (size_t k = 0; k < n; k++) {
                rows[j * m + i * n + k] += s->unit * s->blocks[(i * n + j) * n + k];
            }
            rows[j * m + next + j] -= s->unit;
        }
        for (size_t parameter = 0; parameter < 2; parameter++) {
            find_slope(s, parameter, s->states + i * n, NULL, slope, NULL);
            for (size_t j = 0; j < n; j++) {
                rows[j * m + m - 2 + parameter] = s->length[parameter] * slope[j];
            }
        }
    }
}

void curve_system_evaluate(void *context, const double *u, double *g, double *jacobian)
{
    curve_system *s = context;
    const size_t equations = s->unknowns - 1;
    curve_system_unpack(s, u);
    fill_matrices(s, g);
    if (dyn_border_solve(&s->border, s->t) != KERN_OK) {
        for (size_t e = 0; e < s->conditions; e++) {
            g[s->n + e] = (double)NAN;
        }
        return;
    }
    for (size_t e = 0; e < s->conditions; e++) {
        g[s->n + e] = find_condition(s, e);
    }
    if (jacobian != NULL) {
        memset(jacobian, 0, equations * s->unknowns * sizeof *jacobian);
        fill_gap_rows(s, jacobian);
        double *rows = jacobian + s->n * s->unknowns;
        if (s->kind == DYN_NORMAL_NS) {
            fill_pair_rows(s, rows);
        } else {
            fill_simple_rows(s, rows);
        }
        for (size_t i = 0; i < s->conditions * s->unknowns; i++) {
            rows[i] *= s->weight;
        }
    }
}
