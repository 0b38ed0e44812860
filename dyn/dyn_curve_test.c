/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Test functions of the points of codimension two.
 */
#include "dyn/dyn_curve_internal.h"

#include "kernels/kern_lapack.h"

#include <math.h>
#include <string.h>

/* A coefficient below this part of its own terms, or this many times its estimated error, is noise:
 * the linear systems in it are nearly singular near some points, which the estimate knows nothing
 * of. */
#define NOISE_PART   1e-6
#define NOISE_ERRORS 100.0

/* At a root, a function has fallen to this part of the larger of its values at the ends; at a pole
 * it has grown. */
#define ROOT_PART 1e-2

/* ---- The functions ------------------------------------------------------------------------ */

/* a or b for unit null vectors, which unlike a and b stays finite where ⟨w, q⟩ vanishes; Re d. Both
 * a and b are taken with the orientations that the borders carry along the curve: a changes its
 * sign with that of q. */
static double find_coefficient(const curve_sample *s, double target)
{
    (void)target;
    return s->n_critical == 2 ? s->form.coefficient
                              : s->form.coefficient * s->pairing * s->orientation;
}

static double find_pairing(const curve_sample *s, double target)
{
    (void)target;
    return s->pairing;
}

static double find_angle(const curve_sample *s, double target)
{
    return s->k - target;
}

static bool is_critical(const curve_sample *s, size_t i)
{
    return (s->n_critical > 0 && i == s->critical[0]) || (s->n_critical > 1 && i == s->critical[1]);
}

/* Multipliers leave the real line in pairs, so the sign of Π (μ_j − target) over the real ones that
 * are not critical is a function of the point; its size is the distance of the nearest. */
static double find_real(const curve_sample *s, double target)
{
    double sign = 1.0;
    double least = 1.0;
    for (size_t i = 0; i < s->size; i++) {
        if (!is_critical(s, i) && s->im[i] == 0.0) {
            const double gap = s->re[i] - target;
            sign = gap < 0.0 ? -sign : sign;
            least = fmin(least, fabs(gap));
        }
    }
    return sign * least;
}

/* The same for Π (μ_i μ_j − 1) over the products that are real. *complex_pair tells whether the
 * nearest is one of conjugates. */
static double find_product(const curve_sample *s, bool *complex_pair)
{
    double sign = 1.0;
    double least = 1.0;
    *complex_pair = false;
    for (size_t i = 0; i < s->size; i++) {
        for (size_t j = i + 1; j < s->size; j++) {
            const bool real = s->im[i] == 0.0 && s->im[j] == 0.0;
            const bool conjugate = s->im[i] != 0.0 && s->im[j] == -s->im[i] && s->re[j] == s->re[i];
            if (is_critical(s, i) || is_critical(s, j) || !(real || conjugate)) {
                continue;
            }
            const double gap = s->re[i] * s->re[j] - s->im[i] * s->im[j] - 1.0;
            sign = gap < 0.0 ? -sign : sign;
            if (fabs(gap) < least) {
                least = fabs(gap);
                *complex_pair = conjugate;
            }
        }
    }
    return sign * least;
}

static double find_pairs(const curve_sample *s, double target)
{
    bool complex_pair;
    (void)target;
    return find_product(s, &complex_pair);
}

/* ---- The table ---------------------------------------------------------------------------- */

typedef struct curve_test {
    double (*find)(const curve_sample *s, double target);
    double target;
    dyn_curve_event_kind event;
    bool inside; /* means something where |k| < 1 only */
} curve_test;

static const curve_test fold_tests[] = {{find_coefficient, 0.0, DYN_CURVE_CP, false},
                                        {find_pairing, 0.0, DYN_CURVE_R1, false},
                                        {find_real, -1.0, DYN_CURVE_LPPD, false},
                                        {find_pairs, 0.0, DYN_CURVE_LPNS, false}};

static const curve_test flip_tests[] = {{find_coefficient, 0.0, DYN_CURVE_GPD, false},
                                        {find_pairing, 0.0, DYN_CURVE_R2, false},
                                        {find_real, 1.0, DYN_CURVE_LPPD, false},
                                        {find_pairs, 0.0, DYN_CURVE_PDNS, false}};

static const curve_test circle_tests[] = {
    {find_coefficient, 0.0, DYN_CURVE_CH, true}, {find_angle, 1.0, DYN_CURVE_R1, false},
    {find_angle, -1.0, DYN_CURVE_R2, false},     {find_angle, -0.5, DYN_CURVE_R3, false},
    {find_angle, 0.0, DYN_CURVE_R4, false},      {find_real, 1.0, DYN_CURVE_LPNS, true},
    {find_real, -1.0, DYN_CURVE_PDNS, true},     {find_pairs, 0.0, DYN_CURVE_NSNS, true}};

static const struct {
    const curve_test *tests;
    size_t n;
} tables[DYN_NORMAL_KINDS] = {
    [DYN_NORMAL_LP] = {fold_tests, sizeof fold_tests / sizeof fold_tests[0]},
    [DYN_NORMAL_PD] = {flip_tests, sizeof flip_tests / sizeof flip_tests[0]},
    [DYN_NORMAL_NS] = {circle_tests, sizeof circle_tests / sizeof circle_tests[0]}};

size_t curve_test_count(dyn_normal_kind kind)
{
    return tables[kind].n;
}

dyn_curve_event_kind curve_test_event(dyn_normal_kind kind, size_t test)
{
    return tables[kind].tests[test].event;
}

/* ---- Samples ------------------------------------------------------------------------------ */

/* The multiplier nearest re + i·im that is not critical already. */
static void mark_critical(curve_sample *sample, double re, double im)
{
    size_t best = sample->size;
    double least = (double)INFINITY;
    for (size_t i = 0; i < sample->size; i++) {
        const double distance = hypot(sample->re[i] - re, sample->im[i] - im);
        if (!is_critical(sample, i) && distance < least) {
            least = distance;
            best = i;
        }
    }
    sample->critical[sample->n_critical++] = best;
}

static void mark_all(const curve_system *s, curve_sample *sample)
{
    sample->n_critical = 0;
    if (s->kind != DYN_NORMAL_NS) {
        mark_critical(sample, s->kind == DYN_NORMAL_LP ? 1.0 : -1.0, 0.0);
        return;
    }
    const double root = sqrt(fabs(1.0 - s->k * s->k));
    const bool real = fabs(s->k) > 1.0;
    mark_critical(sample, real ? s->k + root : s->k, real ? 0.0 : root);
    mark_critical(sample, real ? s->k - root : s->k, real ? 0.0 : -root);
}

/* ⟨w, v⟩ of the unit null vectors of a simple condition. */
static double find_alignment(const curve_system *s)
{
    const double *v = s->border.v;
    const double *w = s->border.w;
    double product = 0.0;
    double length[2] = {0.0, 0.0};
    for (size_t i = 0; i < s->size; i++) {
        product += w[i] * v[i];
        length[0] += v[i] * v[i];
        length[1] += w[i] * w[i];
    }
    return product / sqrt(length[0] * length[1]);
}

/* Whether the normal form's q points along v or against it. */
static double find_orientation(const curve_system *s, const dyn_normal *normal)
{
    const double *q = dyn_normal_vector(normal);
    double product = 0.0;
    for (size_t i = 0; i < s->size; i++) {
        product += q[i] * s->border.v[i];
    }
    return product < 0.0 ? -1.0 : 1.0;
}

kern_status curve_sample_take(curve_system *s, dyn_normal *normal, const double *u,
                              curve_sample *sample)
{
    const curve_test *tests = tables[s->kind].tests;
    curve_system_evaluate(s, u, s->right, NULL);
    sample->residual = 0.0;
    for (size_t i = 0; i + 1 < s->unknowns; i++) {
        /* Keeps NaN. */
        sample->residual =
            fabs(s->right[i]) <= sample->residual ? sample->residual : fabs(s->right[i]);
    }
    sample->size = s->size;
    sample->k = s->k;
    memcpy(s->other, s->product, s->size * s->size * sizeof *s->other);
    KERN_TRY(kern_lapack_eigenvalues(s->size, s->other, sample->re, sample->im, NULL));
    mark_all(s, sample);
    sample->pairing = s->kind == DYN_NORMAL_NS ? 1.0 : find_alignment(s);
    sample->form = (dyn_normal_form){.status = KERN_NOT_FOUND,
                                     .coefficient = (double)NAN,
                                     .criticality = DYN_CRITICALITY_UNSURE};
    if (s->kind != DYN_NORMAL_NS || fabs(s->k) < 1.0) {
        const double angle = s->kind == DYN_NORMAL_NS ? acos(s->k) : (double)NAN;
        dyn_normal_find(normal, s->states, s->kind, angle, &sample->form);
    }
    sample->orientation = s->kind == DYN_NORMAL_LP ? find_orientation(s, normal) : 1.0;
    for (size_t i = 0; i < tables[s->kind].n; i++) {
        const bool known = !tests[i].inside || fabs(s->k) < 1.0;
        sample->value[i] = known ? tests[i].find(sample, tests[i].target) : (double)NAN;
        sample->floor[i] = 0.0;
        if (tests[i].find == find_coefficient) {
            const double part = s->kind == DYN_NORMAL_LP ? 0.0 : NOISE_PART * sample->form.scale;
            sample->floor[i] = (part + NOISE_ERRORS * sample->form.error) * fabs(sample->pairing);
        }
    }
    return KERN_OK;
}

/* ---- Decisions ---------------------------------------------------------------------------- */

bool curve_test_changed(dyn_normal_kind kind, size_t test, const curve_sample *a,
                        const curve_sample *b)
{
    const double u = a->value[test];
    const double v = b->value[test];
    const double floor = fmax(a->floor[test], b->floor[test]);
    (void)kind;
    /* A zero at the first end has been met at the second end of the step before. */
    return ((u < 0.0 && v >= 0.0) || (u > 0.0 && v <= 0.0)) && fmax(fabs(u), fabs(v)) > floor;
}

bool curve_test_holds(dyn_normal_kind kind, size_t test, const curve_sample *a,
                      const curve_sample *b, const curve_sample *root)
{
    const double largest = fmax(fabs(a->value[test]), fabs(b->value[test]));
    bool complex_pair = true;
    if (tables[kind].tests[test].find == find_pairs) {
        (void)find_product(root, &complex_pair);
    }
    return complex_pair && fabs(root->value[test]) <= ROOT_PART * largest;
}
