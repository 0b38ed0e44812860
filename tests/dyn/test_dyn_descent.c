/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Descent certificates: members of the family, outsiders with their witnesses, the law of small
 * deviations, and what is left of it all in one and two dimensions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_descent.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "tests/dyn/dyn_descent_check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { D = DESCENT_D };

static const double epsilons[] = {0.0, 1e-5, 0.3};

/* A system with room for everything. */
typedef struct bench {
    double gamma[D];
    double eta[D * D];
    double b[D], x[D], v[D], share[D];
    dyn_descent_system system;
    dyn_descent_certificate found;
    void *work;
} bench;

static void bench_init(bench *t, size_t d, bool centre, double epsilon)
{
    *t = (bench){.system = {.width = d, .centre = centre, .epsilon = epsilon},
                 .work = malloc(dyn_descent_work_size(d))};
    assert_non_null(t->work);
    t->system.gamma = t->gamma;
    t->system.eta = t->eta;
    t->found = (dyn_descent_certificate){.b = t->b, .x = t->x, .v = t->v, .share = t->share};
}

static void decide(bench *t)
{
    kern_error err = {0};
    if (dyn_descent_decide(&t->system, t->work, &t->found, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
}

static void set_diagonal(bench *t, double (*value)(const bench *t, size_t i))
{
    const size_t d = t->system.width;
    memset(t->eta, 0, sizeof t->eta);
    for (size_t i = 0; i < d; i++) {
        t->eta[i * d + i] = value(t, i);
    }
}

static double one(const bench *t, size_t i)
{
    (void)t;
    (void)i;
    return 1.0;
}

/* ---- Closed forms ---------------------------------------------------------------------------- */

/* η = I and γ > 0, RMSNorm: two channels matter, and the worst is −(γ₁ − γ₀)²/(8(γ₁ + γ₀)). */
static void test_identity(void **state)
{
    bench t;
    (void)state;
    bench_init(&t, 5, false, 0.0);
    const double gamma[] = {1.0, 0.7, 2.5, 1.3, 0.6};
    memcpy(t.gamma, gamma, sizeof gamma);
    set_diagonal(&t, one);
    decide(&t);
    const double exact = -(2.5 - 0.6) * (2.5 - 0.6) / (8 * (2.5 + 0.6));
    assert_int_equal(t.found.verdict, DYN_DESCENT_VIOLATED);
    assert_true(fabs(t.found.smallest - exact) <= 1e-13);
    assert_true(fabs(t.found.bound + exact) <= 1e-13);
    const double mixed = 2.5 * 0.6 / ((2.5 + 0.6) * (2.5 + 0.6));
    assert_true(fabs(t.found.cosine - (0.5 + 2 * mixed)) <= 1e-7); /* V is flat there */
    assert_true(t.share[2] + t.share[4] >= 1 - 1e-12); /* the largest gain and the smallest */
    free(t.work);
}

/* γ = 1 and η = I + a rotation generator of rate κ in one plane, RMSNorm: min over c of
 * ((1 − c)² + κ²)/(4c) is (√(1 + κ²) − 1)/2. */
static void test_rotation(void **state)
{
    bench t;
    (void)state;
    bench_init(&t, 6, false, 0.0);
    for (size_t i = 0; i < 6; i++) {
        t.gamma[i] = 1;
    }
    for (double kappa = 2.0; kappa > 1e-12; kappa *= 1e-2) {
        set_diagonal(&t, one);
        t.eta[1 * 6 + 4] = kappa;
        t.eta[4 * 6 + 1] = -kappa;
        decide(&t);
        const double exact = 0.5 * kappa * kappa / (sqrt(1 + kappa * kappa) + 1);
        assert_true(t.found.confirmed);
        assert_true(fabs(t.found.smallest + exact) <= 1e-8 * exact + t.found.error);
        assert_true(fabs(t.found.skew_ratio - kappa / sqrt(3)) <= 1e-14 * kappa);
    }
    free(t.work);
}

/* ---- Members --------------------------------------------------------------------------------- */

/* A member whose entries are exact, with gains of either sign and some that are zero. */
static void draw_member(bench *t, kern_rng *rng)
{
    const size_t d = t->system.width;
    const double c = fabs(random_eighth(rng));
    for (size_t j = 0; j < d; j++) {
        t->gamma[j] = kern_rng_below(rng, 6) == 0 ? 0.0 : random_eighth(rng);
        const double b = t->system.centre ? random_eighth(rng) : 0.0;
        for (size_t i = 0; i < d; i++) {
            t->eta[i * d + j] = b + (i == j ? c * t->gamma[j] : 0.0);
        }
    }
    t->gamma[0] = t->gamma[0] != 0 ? t->gamma[0] : 1.0;
    t->eta[0] = (t->system.centre ? t->eta[(d - 1) * d] : 0.0) + c * t->gamma[0];
}

static size_t draw_width(kern_rng *rng)
{
    return 3 + kern_rng_below(rng, D - 2);
}

/* 10⁵ states and gradients, half of them with v nearly in the kernel of PΓ: none rises. */
static void test_members(void **state)
{
    kern_rng *rng = kern_rng_create(1, "members", 0);
    double worst = 0;
    (void)state;
    for (size_t i = 0; i < 2000; i++) {
        bench t;
        bench_init(&t, draw_width(rng), i % 2 == 0, epsilons[i / 2 % 3]);
        draw_member(&t, rng);
        decide(&t);
        assert_int_equal(t.found.verdict, DYN_DESCENT_CERTIFIED);
        assert_int_equal(t.found.ground, DYN_DESCENT_BY_FAMILY);
        for (size_t k = 0; k < 50; k++) {
            double x[D], v[D], value, error;
            random_normals(rng, x, D);
            random_normals(rng, v, D);
            for (size_t j = 0; k % 2 == 0 && j < t.system.width; j++) {
                v[j] = (t.gamma[j] != 0 ? x[j] / t.gamma[j] : 0) + 1e-6 * v[j];
            }
            assert_int_equal(dyn_descent_form(&t.system, x, v, &value, &error, NULL), KERN_OK);
            worst = fmax(worst, -value / error);
        }
        free(t.work);
    }
    assert_true(worst <= 1);
    kern_rng_destroy(rng);
}

/* A coefficient of the wrong sign, or one entry off by one unit in the last place, is no member. */
static void test_members_are_told_exactly(void **state)
{
    kern_rng *rng = kern_rng_create(2, "members", 0);
    (void)state;
    for (size_t i = 0; i < 500; i++) {
        bench t;
        bench_init(&t, draw_width(rng), i % 2 == 0, epsilons[i / 2 % 3]);
        draw_member(&t, rng);
        const size_t d = t.system.width;
        const size_t k = kern_rng_below(rng, (uint32_t)(d * d));
        if (i % 3 == 0) {
            for (size_t j = 0; j < d * d; j++) {
                t.eta[j] = -t.eta[j];
            }
        } else {
            t.eta[k] = nextafter(t.eta[k], 100);
        }
        decide(&t);
        assert_int_not_equal(t.found.verdict, DYN_DESCENT_CERTIFIED);
        assert_true(i % 3 != 0 || t.found.verdict == DYN_DESCENT_VIOLATED);
        assert_true(i % 3 != 0 || t.found.c == 0);
        free(t.work);
    }
    kern_rng_destroy(rng);
}

/* ---- Outsiders ------------------------------------------------------------------------------- */

enum { IDENTITY, DIAGONAL, POSITIVE, POSITIVE_SKEW, FULL, ZERO_GAIN, NEAR, NEAR_DIAGONAL, KINDS };

/* A matrix outside the family; from NEAR on by a deviation of `size`. */
static void draw_outsider(bench *t, kern_rng *rng, size_t kind, double size)
{
    const size_t d = t->system.width;
    for (size_t i = 0; i < d; i++) {
        t->gamma[i] = (0.5 + kern_rng_uniform(rng)) * (kind > POSITIVE && i % 3 == 0 ? -1 : 1);
    }
    memset(t->eta, 0, sizeof t->eta);
    if (kind == POSITIVE || kind == POSITIVE_SKEW) {
        random_psd(rng, d, kind == POSITIVE ? 0.0 : 0.5, t->eta);
    } else if (kind == FULL) {
        random_normals(rng, t->eta, d * d);
    }
    t->gamma[1] = kind == ZERO_GAIN ? 0.0 : t->gamma[1];
    for (size_t i = 0; i < d; i++) {
        double *entry = &t->eta[i * d + i];
        *entry += kind == IDENTITY ? 1.0 : 0.0;
        *entry += kind == DIAGONAL ? 0.1 + kern_rng_uniform(rng) : 0.0;
        *entry += kind >= ZERO_GAIN ? 0.7 * t->gamma[i] : 0.0;
        *entry += kind == NEAR_DIAGONAL ? size * kern_rng_normal(rng) : 0.0;
        t->eta[i * d + 1] += kind == ZERO_GAIN ? size * kern_rng_normal(rng) : 0.0;
        for (size_t j = 0; kind == NEAR && j < d; j++) {
            t->eta[i * d + j] += size * kern_rng_normal(rng);
        }
    }
}

/* The smallest eigenvalue of sym(ΓP(x)η), by its definition. */
static double smallest_eigenvalue(const dyn_descent_system *s, const double *x)
{
    const size_t d = s->width;
    double m[D * D], re[D], im[D], smallest = (double)INFINITY;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            double a[D] = {0}, b[D] = {0};
            a[i] = b[i] = a[j] = 1;
            b[j] = i == j ? 1 : -1;
            m[i * d + j] =
                i == j ? check_form(s, x, a) : (check_form(s, x, a) - check_form(s, x, b)) / 4;
        }
    }
    assert_int_equal(kern_lapack_eigenvalues(d, m, re, im, NULL), KERN_OK);
    for (size_t i = 0; i < d; i++) {
        smallest = fmin(smallest, re[i]);
    }
    return smallest;
}

/* Every outsider has a witness, which plain arithmetic confirms; it is the worst there is. */
static void check_witness(const bench *t, double size)
{
    const dyn_descent_certificate *c = &t->found;
    double sum = 0;
    assert_int_equal(c->verdict, DYN_DESCENT_VIOLATED);
    assert_int_equal(c->status, KERN_OK);
    assert_true(c->confirmed);
    assert_true(check_form_twofold(&t->system, t->x, t->v) < 0);
    assert_true(fabs(check_form_twofold(&t->system, t->x, t->v) - c->smallest) <=
                c->error + 1e-14 * fabs(c->smallest));
    const double part = t->system.epsilon > 0 ? 1.0 / 256 : 0.0;
    assert_true(-c->smallest >= c->bound * (1 - part - 1e-6) - c->error);
    assert_true(-c->smallest <= c->bound * (1 + 1e-6) + c->error);
    for (size_t i = 0; i < t->system.width; i++) {
        sum += c->share[i];
    }
    assert_true(fabs(sum - 1) <= 1e-12);
    if (size > 1e-3) {
        assert_true(check_form(&t->system, t->x, t->v) < 0);
        const double eigenvalue = smallest_eigenvalue(&t->system, t->x);
        assert_true(eigenvalue <= c->smallest + 1e-13);
        assert_true(eigenvalue >= -c->bound * (1 + 1e-9) - 1e-13);
    }
}

static void test_outsiders(void **state)
{
    kern_rng *rng = kern_rng_create(3, "outsiders", 0);
    (void)state;
    for (size_t i = 0; i < 60 * KINDS; i++) {
        const size_t kind = i % KINDS;
        bench t;
        const double size =
            kind >= NEAR || kind == ZERO_GAIN ? pow(10, -(double)(i / KINDS % 13)) : 1.0;
        bench_init(&t, draw_width(rng), i / KINDS % 2 == 0, epsilons[i / KINDS % 3]);
        draw_outsider(&t, rng, kind, size);
        decide(&t);
        check_witness(&t, size);
        free(t.work);
    }
    kern_rng_destroy(rng);
}

/* No state and gradient do worse than the bound, while the witness beats two thirds of it: a bound
 * that is wrong by as much would be noticed. */
static void test_bound(void **state)
{
    kern_rng *rng = kern_rng_create(4, "bound", 0);
    (void)state;
    for (size_t i = 0; i < 400; i++) {
        bench t;
        bench_init(&t, draw_width(rng), i % 2 == 0, epsilons[i / 2 % 3]);
        draw_outsider(&t, rng, i / 6 % KINDS, 0.3);
        decide(&t);
        assert_true(-t.found.smallest > t.found.bound / 1.5);
        for (int k = -6; k <= 6; k++) { /* convex in c, least at c* */
            double bound;
            const double c = t.found.worst_c * ldexp(1, k) * (k == 0 ? 1 : 1.1);
            assert_int_equal(dyn_descent_bound(&t.system, c, t.work, &bound, NULL), KERN_OK);
            assert_true(k == 0 ? fabs(bound / t.found.bound - 1) <= 1e-9
                               : bound > t.found.bound * (1 - 1e-12));
        }
        for (size_t k = 0; k < 250; k++) {
            double x[D], v[D], value, error, square = 0;
            random_normals(rng, x, D);
            random_normals(rng, v, D);
            for (size_t j = 0; j < t.system.width; j++) {
                v[j] = t.v[j] + pow(10, -(double)(k % 5)) * v[j];
                x[j] = t.x[j] + pow(10, -(double)(k / 5 % 5)) * x[j];
                square += v[j] * v[j];
            }
            assert_int_equal(dyn_descent_form(&t.system, x, v, &value, &error, NULL), KERN_OK);
            assert_true(-value <= t.found.bound * square * (1 + 1e-9) + error);
        }
        free(t.work);
    }
    kern_rng_destroy(rng);
}

/* ---- Small deviations ------------------------------------------------------------------------ */

/* ‖Π(η − cΓ)‖₂ of the part that a deviation adds. */
static double spectral_distance(const bench *t, double c)
{
    const size_t d = t->system.width;
    double m[D * D], s[D];
    for (size_t j = 0; j < d; j++) {
        double mean = 0;
        for (size_t i = 0; i < d; i++) {
            m[i * d + j] = t->eta[i * d + j] - (i == j ? c * t->gamma[j] : 0);
            mean += m[i * d + j] / (double)d;
        }
        for (size_t i = 0; t->system.centre && i < d; i++) {
            m[i * d + j] -= mean;
        }
    }
    assert_int_equal(kern_lapack_singular_values(d, d, m, s, NULL), KERN_OK);
    return s[0];
}

/* η = cΓ + δN: violation/δ² tends to a constant, with an error of order δ, over eleven decades. */
static void test_violation_is_quadratic(void **state)
{
    kern_rng *rng = kern_rng_create(5, "quadratic", 0);
    (void)state;
    for (size_t i = 0; i < 20; i++) {
        bench t;
        double noise[D * D], last = 0;
        bench_init(&t, draw_width(rng), i % 2 == 0, 0.0);
        const size_t d = t.system.width;
        random_normals(rng, noise, d * d);
        for (size_t j = 0; j < d; j++) {
            t.gamma[j] = 0.5 + kern_rng_uniform(rng);
        }
        for (double size = 1e-1; size > 3e-13; size *= 0.1) {
            for (size_t j = 0; j < d * d; j++) {
                t.eta[j] = size * noise[j] + (j % (d + 1) == 0 ? 0.8 * t.gamma[j / d] : 0);
            }
            decide(&t);
            const double ratio = -t.found.smallest / (size * size);
            const double delta = spectral_distance(&t, t.found.worst_c);
            const double room = 1e-6 + 4 * (double)d * DBL_EPSILON / size;
            assert_true(fabs(delta * delta / (4 * t.found.worst_c) / t.found.bound - 1) <=
                        room * 10);
            assert_true(last == 0 || fabs(ratio / last - 1) <= 20 * size * 10 + room * 10);
            last = ratio;
        }
        free(t.work);
    }
    kern_rng_destroy(rng);
}

/* cΓ + 1bᵀ as a program computes and stores it, in double and in single precision. */
static void test_within_rounding(void **state)
{
    kern_rng *rng = kern_rng_create(6, "rounding", 0);
    (void)state;
    size_t certified = 0;
    for (size_t i = 0; i < 400; i++) {
        bench t;
        bench_init(&t, draw_width(rng), i % 2 == 0, epsilons[i / 2 % 3]);
        const size_t d = t.system.width;
        const double c = 0.1 + kern_rng_uniform(rng);
        const bool single = i / 6 % 2 == 0;
        for (size_t j = 0; j < d; j++) {
            t.gamma[j] = kern_rng_normal(rng);
            const double b = t.system.centre && i / 12 % 2 == 0 ? kern_rng_normal(rng) : 0.0;
            for (size_t k = 0; k < d; k++) {
                const double entry = b + (k == j ? c * t.gamma[j] : 0);
                t.eta[k * d + j] = single ? (double)(float)entry : entry;
            }
        }
        t.system.unit = single ? 0.5 * (double)FLT_EPSILON : 0.0;
        decide(&t);
        certified += t.found.verdict == DYN_DESCENT_CERTIFIED;
        assert_int_not_equal(t.found.verdict, DYN_DESCENT_VIOLATED);
        const double unit = single ? 0.5 * (double)FLT_EPSILON : 0.5 * DBL_EPSILON;
        assert_true(fabs(t.found.c - c) <= 4 * unit * (1 + 3 * (double)d));
        /* δ²/(4c) with δ ≤ 4u times the norms. */
        assert_true(t.found.bound <= 16 * unit * unit * (double)(d * d) * 100);
        t.system.unit = 0;
        decide(&t);
        assert_true(!single || t.found.verdict == DYN_DESCENT_VIOLATED);
        assert_true(!single || t.found.confirmed);
        free(t.work);
    }
    assert_true(certified < 40);
    kern_rng_destroy(rng);
}

/* The fit is nearer than its neighbours, and what it gives is a member. */
static void test_projection(void **state)
{
    kern_rng *rng = kern_rng_create(7, "projection", 0);
    (void)state;
    for (size_t i = 0; i < 200; i++) {
        bench t;
        double member[D * D];
        bench_init(&t, draw_width(rng), i % 2 == 0, 0.0);
        draw_outsider(&t, rng, i % KINDS, 1e-3);
        decide(&t);
        const size_t d = t.system.width;
        for (size_t k = 0; k < 40; k++) {
            double b[D], distance = 0;
            const double c = fmax(t.found.c + (k == 0 ? 0 : 1e-4 * kern_rng_normal(rng)), 0);
            for (size_t j = 0; j < d; j++) {
                b[j] = t.b[j] + (k > 1 ? 1e-4 * kern_rng_normal(rng) : 0);
            }
            dyn_descent_project(&t.system, c, b, member);
            for (size_t j = 0; j < d * d; j++) {
                distance += (t.eta[j] - member[j]) * (t.eta[j] - member[j]);
            }
            assert_true(k > 0 || fabs(sqrt(distance) - t.found.distance) <= 1e-12);
            assert_true(sqrt(distance) >= t.found.distance * (1 - 1e-12) - 1e-14);
        }
        dyn_descent_project(&t.system, t.found.c, t.b, t.eta);
        decide(&t);
        assert_int_not_equal(t.found.verdict, DYN_DESCENT_VIOLATED);
        free(t.work);
    }
    kern_rng_destroy(rng);
}

/* With ε > 0 the witness rises at large states only: above least_rho, not below. */
static void test_small_states_descend(void **state)
{
    kern_rng *rng = kern_rng_create(8, "small", 0);
    (void)state;
    for (size_t i = 0; i < 100; i++) {
        bench t;
        bench_init(&t, draw_width(rng), i % 2 == 0, 0.3);
        draw_outsider(&t, rng, NEAR, 0.03);
        decide(&t);
        const double rho = t.found.least_rho;
        assert_true(rho > 0 && rho < 1);
        for (size_t k = 0; k < 2; k++) {
            const double wanted = k == 0 ? rho * 0.999 : rho + 0.001 * (1 - rho);
            double x[D], square = 0;
            for (size_t j = 0; j < t.system.width; j++) {
                square += t.x[j] * t.x[j];
            }
            const double variance = 0.3 * wanted / (1 - wanted);
            for (size_t j = 0; j < t.system.width; j++) {
                x[j] = t.x[j] * sqrt((double)t.system.width * variance / square);
            }
            assert_true((check_form(&t.system, x, t.v) < 0) == (k == 1));
        }
        free(t.work);
    }
    kern_rng_destroy(rng);
}

/* ---- Edges ----------------------------------------------------------------------------------- */

static void test_few_channels(void **state)
{
    (void)state;
    for (size_t d = 1; d <= 2; d++) {
        for (size_t i = 0; i < 4; i++) {
            bench t;
            bench_init(&t, d, i % 2 == 0, i / 2 == 0 ? 0.0 : 0.3);
            t.gamma[0] = 1;
            t.gamma[1] = 2;
            for (size_t j = 0; j < d * d; j++) {
                t.eta[j] = -1 - (double)j;
            }
            decide(&t);
            const size_t rank = d - (t.system.centre ? 1 : 0);
            const bool still = rank == 0 || (rank == 1 && i / 2 == 0);
            assert_int_equal(t.found.verdict, still ? DYN_DESCENT_CERTIFIED : DYN_DESCENT_VIOLATED);
            assert_int_equal(t.found.ground,
                             still ? DYN_DESCENT_BY_NO_MOVE : DYN_DESCENT_BY_FAMILY);
            assert_true(still || (t.found.confirmed && check_form(&t.system, t.x, t.v) < 0));
            free(t.work);
        }
    }
}

/* On a line the condition is the family too, with ε > 0: (1, −1)(η − cΓ) = 0. */
static void test_two_channels_on_a_line(void **state)
{
    bench t;
    (void)state;
    bench_init(&t, 2, true, 0.3);
    const double eta[] = {3.5, 1.25, 2.0, 3.25}; /* 1.5 Γ + 1bᵀ with b = (2, 1.25) */
    t.gamma[0] = 1.0;
    t.gamma[1] = 4.0 / 3;
    memcpy(t.eta, eta, sizeof eta);
    decide(&t);
    assert_int_equal(t.found.verdict, DYN_DESCENT_WITHIN_ROUNDING); /* 4/3 is rounded */
    t.gamma[0] = 0.75;
    t.gamma[1] = 1.0;
    decide(&t);
    assert_int_equal(t.found.verdict, DYN_DESCENT_CERTIFIED);
    for (double size = 1; size > 1e-12; size *= 0.1) {
        t.eta[0] = 3.5 + size;
        decide(&t);
        assert_int_equal(t.found.verdict, DYN_DESCENT_VIOLATED);
        assert_true(t.found.confirmed);
        assert_true(check_form_twofold(&t.system, t.x, t.v) < 0);
        assert_true(fabs(t.found.smallest + t.found.bound) <=
                    1e-9 * t.found.bound + t.found.error + 1e-3 * size * t.found.bound);
    }
    free(t.work);
}

static void test_no_gain(void **state)
{
    bench t;
    (void)state;
    bench_init(&t, 4, true, 0.0);
    set_diagonal(&t, one);
    decide(&t);
    assert_int_equal(t.found.verdict, DYN_DESCENT_CERTIFIED);
    assert_int_equal(t.found.ground, DYN_DESCENT_BY_NO_GAIN);
    t.gamma[2] = -1e-200; /* a single gain, however small, makes the sign matter */
    decide(&t);
    assert_int_equal(t.found.verdict, DYN_DESCENT_VIOLATED);
    assert_true(t.found.confirmed);
    free(t.work);
}

static void test_bad_input(void **state)
{
    kern_error err = {0};
    bench t;
    double value, error, x[4] = {2, 2, 2, 2};
    (void)state;
    bench_init(&t, 4, true, 0.0);
    set_diagonal(&t, one);
    t.gamma[1] = 1;
    assert_int_equal(dyn_descent_form(&t.system, x, t.gamma, &value, &error, &err), KERN_SINGULAR);
    assert_non_null(strstr(err.text, "variance"));
    t.system.epsilon = 0.1;
    assert_int_equal(dyn_descent_form(&t.system, x, t.gamma, &value, &error, &err), KERN_OK);
    assert_true(fabs(value - 0.75) <= 1e-15); /* P = C */
    t.system.epsilon = -1;
    assert_int_equal(dyn_descent_decide(&t.system, t.work, &t.found, &err), KERN_INVALID_ARGUMENT);
    t.system.epsilon = 0;
    t.system.unit = 1;
    assert_int_equal(dyn_descent_decide(&t.system, t.work, &t.found, &err), KERN_INVALID_ARGUMENT);
    t.system.unit = 0;
    t.eta[5] = (double)NAN;
    assert_int_equal(dyn_descent_decide(&t.system, t.work, &t.found, &err), KERN_NAN);
    t.eta[5] = 1;
    assert_int_equal(dyn_descent_bound(&t.system, 0, t.work, &value, &err), KERN_INVALID_ARGUMENT);
    t.system.width = 0;
    assert_int_equal(dyn_descent_decide(&t.system, t.work, &t.found, &err), KERN_INVALID_ARGUMENT);
    assert_string_equal(dyn_descent_verdict_word(DYN_DESCENT_WITHIN_ROUNDING), "within_rounding");
    free(t.work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_members_are_told_exactly),
        cmocka_unit_test(test_outsiders),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_violation_is_quadratic),
        cmocka_unit_test(test_within_rounding),
        cmocka_unit_test(test_projection),
        cmocka_unit_test(test_small_states_descend),
        cmocka_unit_test(test_few_channels),
        cmocka_unit_test(test_two_channels_on_a_line),
        cmocka_unit_test(test_no_gain),
        cmocka_unit_test(test_bad_input),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
