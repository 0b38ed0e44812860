/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/kernels/op_check.h"

#include "tests/kernels/op_run.h"
#include "tests/kernels/ref_ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const op_options plain_f64 = {.workers = 1};

static bool is_main_output(const op_problem *p, size_t j)
{
    return j < p->op->n_out && (p->op->saved_out >> j & 1U) == 0;
}

/* ---- comparisons ------------------------------------------------------------------------------
 */

/* Largest |a − b| over max(1, largest |b|), or infinity when a NaN is in only one of them. */
static double distance(const double *a, const double *b, size_t n)
{
    double difference = 0;
    double largest = 1;
    for (size_t i = 0; i < n; i++) {
        if (isnan(a[i]) != isnan(b[i])) {
            return HUGE_VAL;
        }
        if (!isnan(b[i])) {
            difference = fmax(difference, fabs(a[i] - b[i]));
            largest = fmax(largest, fabs(b[i]));
        }
    }
    return difference / largest;
}

static void expect_close(const op_problem *p, const char *what, size_t which, const double *a,
                         const double *b, size_t n, double tolerance)
{
    const double d = distance(a, b, n);
    if (!(d <= tolerance)) {
        fail_msg("%s: %s %zu differs by %.3g, allowed %.3g", p->c->name, what, which, d, tolerance);
    }
}

static void expect_same_outputs(const op_problem *p, const op_result *a, const op_result *b,
                                unsigned skip, double tolerance, const char *what)
{
    for (size_t j = 0; j < p->op->n_out; j++) {
        if ((skip >> j & 1U) == 0) {
            expect_close(p, what, j, a->out[j], b->out[j], p->out_count[j], tolerance);
        }
    }
}

static void expect_same_cotangents(const op_problem *p, const op_result *a, const op_result *b,
                                   unsigned skip, double tolerance, const char *what)
{
    for (size_t i = 0; i < p->op->n_in; i++) {
        if (p->in_count[i] > 0 && (skip >> i & 1U) == 0) {
            expect_close(p, what, i, a->d_in[i], b->d_in[i], p->in_count[i], tolerance);
        }
    }
}

static void expect_same_tangents(const op_problem *p, const op_result *a, const op_result *b,
                                 unsigned skip, double tolerance, const char *what)
{
    for (size_t j = 0; j < p->op->n_out; j++) {
        if (is_main_output(p, j) && (skip >> j & 1U) == 0) {
            expect_close(p, what, j, a->d_out[j], b->d_out[j], p->out_count[j], tolerance);
        }
    }
}

/* Rounding errors grow with the longest sum at worst; a square root is typical. */
static double single_tolerance(const op_problem *p)
{
    double longest = 1;
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        longest = fmax(longest, (double)p->c->in[i].cols);
        longest = fmax(longest, (double)p->c->in[i].rows);
    }
    return 1.2e-7 * (32 + 8 * sqrt(longest));
}

/* ---- values -----------------------------------------------------------------------------------
 */

static void check_reference(const op_problem *p)
{
    ref_call call = {.attr = &p->c->attr, .bindings = &p->bindings};
    op_result *expected = op_result_create(p);
    op_result *found = op_result_create(p);
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        call.in[i] = p->in_count[i] > 0 ? p->x[i] : NULL;
        call.in_shape[i] = p->c->in[i];
        call.out[i] = expected->out[i];
        call.out_shape[i] = p->out_shape[i];
    }
    ref_forward(p->c->op, &call);
    op_run(p, &plain_f64, found);
    expect_same_outputs(p, found, expected, 0, 2e-13, "output against the reference,");
    const op_options single = {.workers = 1, .single = true};
    op_run(p, &single, found);
    expect_same_outputs(p, found, expected, 0, single_tolerance(p), "f32 output");
    op_result_destroy(found);
    op_result_destroy(expected);
}

/* Saved outputs may be missing, and any output that nobody needs. */
static void check_missing_outputs(const op_problem *p)
{
    op_result *full = op_result_create(p);
    op_result *part = op_result_create(p);
    op_run(p, &plain_f64, full);
    op_options o = {.workers = 1, .no_out = p->op->saved_out};
    op_run(p, &o, part);
    expect_same_outputs(p, part, full, o.no_out, 0, "output without saved ones,");
    unsigned mains = 0;
    for (size_t j = 0; j < p->op->n_out; j++) {
        mains += is_main_output(p, j);
    }
    for (size_t j = 0; mains > 1 && j < p->op->n_out; j++) {
        o.no_out = 1U << j;
        op_run(p, &o, part);
        expect_same_outputs(p, part, full, o.no_out, 0, "output without another,");
    }
    op_result_destroy(part);
    op_result_destroy(full);
}

/* ---- derivatives ------------------------------------------------------------------------------
 */

/* d/dh of the outputs at h = 0 along the tangent, from four points (error O(h⁴)), into d_out. */
static void differentiate(const op_problem *p, op_result *sum)
{
    static const double points[] = {-2, -1, 1, 2};
    static const double weights[] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    const double h = 2e-4;
    op_result *found = op_result_create(p);
    for (size_t k = 0; k < 4; k++) {
        const op_options o = {.workers = 1, .shift = points[k] * h};
        op_run(p, &o, found);
        for (size_t j = 0; j < p->op->n_out; j++) {
            for (size_t i = 0; i < p->out_count[j]; i++) {
                const double term = weights[k] * found->out[j][i] / h;
                sum->d_out[j][i] = k == 0 ? term : sum->d_out[j][i] + term;
            }
        }
    }
    op_result_destroy(found);
}

static void check_finite_differences(const op_problem *p)
{
    op_result *sum = op_result_create(p);
    op_result *found = op_result_create(p);
    const op_options jvp = {.workers = 1, .phase = OP_JVP};
    differentiate(p, sum);
    op_run(p, &jvp, found);
    expect_same_tangents(p, found, sum, 0, 2e-9, "tangent against finite differences,");
    op_result_destroy(found);
    op_result_destroy(sum);
}

/* Σ a b into *product, and the squares into *norm_a and *norm_b. */
static void add_products(const double *a, const double *b, size_t n, double *product,
                         double *norm_a, double *norm_b)
{
    for (size_t i = 0; i < n; i++) {
        *product += a[i] * b[i];
        *norm_a += a[i] * a[i];
        *norm_b += b[i] * b[i];
    }
}

/* ⟨Jv, w⟩ = ⟨v, Jᵀw⟩ for the tangents in `forward->d_out` and the cotangents in `back->d_in`. */
static void expect_adjoint(const op_problem *p, const op_result *forward, const op_result *back,
                           double tolerance)
{
    double left = 0;
    double right = 0;
    double scale[4] = {0};
    for (size_t j = 0; j < p->op->n_out; j++) {
        if (is_main_output(p, j)) {
            add_products(forward->d_out[j], p->w[j], p->out_count[j], &left, &scale[0], &scale[1]);
        }
    }
    for (size_t i = 0; i < p->op->n_in; i++) {
        add_products(p->v[i], back->d_in[i], p->in_count[i], &right, &scale[2], &scale[3]);
    }
    const double bound = sqrt(scale[0] * scale[1]) + sqrt(scale[2] * scale[3]);
    if (!(fabs(left - right) <= tolerance * bound)) {
        fail_msg("%s: adjoint identity fails by %.3g of %.3g", p->c->name, fabs(left - right),
                 bound);
    }
}

static void check_adjoint(const op_problem *p)
{
    op_result *forward = op_result_create(p);
    op_result *back = op_result_create(p);
    op_options o = {.workers = 1, .phase = OP_VJP};
    op_run(p, &o, back);
    differentiate(p, forward);
    expect_adjoint(p, forward, back, 1e-9);
    for (int single = 0; single <= 1; single++) {
        o = (op_options){.workers = 1, .single = single == 1, .phase = OP_VJP};
        op_run(p, &o, back);
        o.phase = OP_JVP;
        op_run(p, &o, forward);
        expect_adjoint(p, forward, back, single == 1 ? 1e-5 : 1e-12);
    }
    op_result_destroy(back);
    op_result_destroy(forward);
}

static void check_precisions(const op_problem *p)
{
    op_result *wide = op_result_create(p);
    op_result *narrow = op_result_create(p);
    for (op_phase phase = OP_VJP; phase <= OP_JVP; phase++) {
        const op_options o64 = {.workers = 1, .phase = phase};
        const op_options o32 = {.workers = 1, .phase = phase, .single = true};
        op_run(p, &o64, wide);
        op_run(p, &o32, narrow);
        const double tolerance = 4 * single_tolerance(p);
        if (phase == OP_VJP) {
            expect_same_cotangents(p, narrow, wide, 0, tolerance, "f32 cotangent");
        } else {
            expect_same_tangents(p, narrow, wide, 0, tolerance, "f32 tangent");
        }
    }
    op_result_destroy(narrow);
    op_result_destroy(wide);
}

/* ---- accumulation and absent arrays -----------------------------------------------------------
 */

/* Adding to a base equals the base plus what overwriting gives. */
static void check_accumulation(const op_problem *p)
{
    op_result *over = op_result_create(p);
    op_result *add = op_result_create(p);
    const op_options overwrite = {.workers = 1, .phase = OP_VJP};
    const op_options accumulate = {.workers = 1, .phase = OP_VJP, .accumulate = 0x1F};
    op_run(p, &overwrite, over);
    op_run(p, &accumulate, add);
    for (size_t i = 0; i < p->op->n_in; i++) {
        for (size_t k = 0; k < p->in_count[i]; k++) {
            over->d_in[i][k] += p->base[i][k];
        }
    }
    expect_same_cotangents(p, add, over, 0, 1e-13, "accumulated cotangent");
    op_result_destroy(add);
    op_result_destroy(over);
}

/* Each unwanted cotangent leaves the others as they are. */
static void check_unwanted(const op_problem *p)
{
    op_result *full = op_result_create(p);
    op_result *part = op_result_create(p);
    op_options o = {.workers = 1, .phase = OP_VJP};
    op_run(p, &o, full);
    for (size_t i = 0; i < p->op->n_in; i++) {
        o.no_d_in = 1U << i;
        op_run(p, &o, part);
        expect_same_cotangents(p, part, full, o.no_d_in, 1e-13, "cotangent without another,");
    }
    op_result_destroy(part);
    op_result_destroy(full);
}

/* An absent cotangent or tangent means zero; without any, the results are zero, or the base. */
static void check_zero_derivatives(const op_problem *p)
{
    op_result *absent = op_result_create(p);
    op_result *zero = op_result_create(p);
    const size_t bits = p->op->n_in > p->op->n_out ? p->op->n_in : p->op->n_out;
    for (unsigned mask = 1; mask < 1U << bits; mask++) {
        op_options o = {.workers = 1, .phase = OP_VJP, .no_d_out = mask};
        op_run(p, &o, absent);
        o.no_d_out = 0;
        o.zero_d_out = mask;
        op_run(p, &o, zero);
        expect_same_cotangents(p, absent, zero, 0, 1e-13, "cotangent for an absent one,");
        o = (op_options){.workers = 1, .phase = OP_VJP, .no_d_out = mask, .accumulate = 0x1F};
        op_run(p, &o, absent);
        o.no_d_out = 0;
        o.zero_d_out = mask;
        op_run(p, &o, zero);
        expect_same_cotangents(p, absent, zero, 0, 1e-13, "cotangent added for an absent one,");
        o = (op_options){.workers = 1, .phase = OP_JVP, .no_d_in = mask};
        op_run(p, &o, absent);
        o.no_d_in = 0;
        o.zero_d_in = mask;
        op_run(p, &o, zero);
        expect_same_tangents(p, absent, zero, 0, 1e-13, "tangent for an absent one,");
    }
    op_result_destroy(zero);
    op_result_destroy(absent);
}

/* Each tangent of an output may be unwanted. */
static void check_unwanted_tangents(const op_problem *p)
{
    unsigned mains = 0;
    for (size_t j = 0; j < p->op->n_out; j++) {
        mains += is_main_output(p, j);
    }
    if (mains < 2) {
        return;
    }
    op_result *full = op_result_create(p);
    op_result *part = op_result_create(p);
    op_options o = {.workers = 1, .phase = OP_JVP};
    op_run(p, &o, full);
    for (size_t j = 0; j < p->op->n_out; j++) {
        o.no_d_out = 1U << j;
        op_run(p, &o, part);
        expect_same_tangents(p, part, full, o.no_d_out, 0, "tangent without another,");
    }
    op_result_destroy(part);
    op_result_destroy(full);
}

/* ---- shared memory, workers -------------------------------------------------------------------
 */

static bool same_shape(kern_shape a, kern_shape b)
{
    return a.rows == b.rows && a.cols == b.cols;
}

static void check_in_place(const op_problem *p, bool single)
{
    op_result *apart = op_result_create(p);
    op_result *shared = op_result_create(p);
    for (size_t i = 0; i < p->op->n_in; i++) {
        if (!same_shape(p->c->in[i], p->out_shape[0])) {
            continue;
        }
        op_options o = {.workers = 1, .single = single};
        op_run(p, &o, apart);
        o.alias = 1U << i;
        if ((p->op->inplace_in >> i & 1U) != 0) {
            op_run(p, &o, shared);
            expect_same_outputs(p, shared, apart, 0, 0, "output in place,");
        }
        o = (op_options){.workers = 1, .single = single, .phase = OP_VJP};
        op_run(p, &o, apart);
        o.alias = 1U << i;
        if ((p->op->inplace_d_in >> i & 1U) != 0) {
            op_run(p, &o, shared);
            expect_same_cotangents(p, shared, apart, 0, 0, "cotangent in place,");
        }
    }
    op_result_destroy(shared);
    op_result_destroy(apart);
}

static void check_workers(const op_problem *p, bool single)
{
    op_result *one = op_result_create(p);
    op_result *many = op_result_create(p);
    const double tolerance = !p->c->split_matters ? 0 : single ? single_tolerance(p) : 1e-12;
    for (op_phase phase = OP_FORWARD; phase <= OP_JVP; phase++) {
        for (int workers = 2; workers <= 3; workers++) {
            op_options o = {.workers = 1, .phase = phase, .single = single};
            op_run(p, &o, one);
            o.workers = workers;
            op_run(p, &o, many);
            if (phase == OP_FORWARD) {
                expect_same_outputs(p, many, one, 0, tolerance, "output of several workers,");
            } else if (phase == OP_VJP) {
                expect_same_cotangents(p, many, one, 0, tolerance, "cotangent of several workers,");
            } else {
                expect_same_tangents(p, many, one, 0, tolerance, "tangent of several workers,");
            }
        }
    }
    op_result_destroy(many);
    op_result_destroy(one);
}

/* Packed copies of a parameter change how a product is computed, not what. */
static void check_packed(const op_problem *p, bool single)
{
    op_result *without = op_result_create(p);
    op_result *with = op_result_create(p);
    const double tolerance = single ? single_tolerance(p) : 1e-13;
    for (op_phase phase = OP_FORWARD; phase <= OP_JVP; phase++) {
        op_options o = {.workers = 1, .phase = phase, .single = single};
        op_run(p, &o, without);
        o.packed = true;
        op_run(p, &o, with);
        if (phase == OP_FORWARD) {
            expect_same_outputs(p, with, without, 0, tolerance, "output with a packed weight,");
        } else if (phase == OP_VJP) {
            expect_same_cotangents(p, with, without, 0, tolerance, "cotangent, packed weight,");
        } else {
            expect_same_tangents(p, with, without, 0, tolerance, "tangent, packed weight,");
        }
    }
    op_result_destroy(with);
    op_result_destroy(without);
}

void op_check(const op_case *c, uint64_t seed)
{
    op_problem *p = op_problem_create(c, seed);
    check_reference(p);
    check_missing_outputs(p);
    check_adjoint(p);
    check_finite_differences(p);
    check_precisions(p);
    check_accumulation(p);
    check_unwanted(p);
    check_zero_derivatives(p);
    check_unwanted_tangents(p);
    for (int single = 0; single <= 1; single++) {
        check_in_place(p, single == 1);
        check_workers(p, single == 1);
        if (c->op == KERN_OP_LINEAR) {
            check_packed(p, single == 1);
        }
    }
    op_problem_destroy(p);
}

void op_check_refused(const op_case *c, kern_status status, const char *word)
{
    kern_shape out[KERN_MAX_OUT];
    kern_error err = {0};
    const kern_status found = kern_op_get(c->op)->infer(&c->attr, c->in, out, &err);
    if (found != status || strstr(err.text, word) == NULL) {
        fail_msg("%s: status %s, sentence \"%s\"; wanted %s and the word \"%s\"", c->name,
                 kern_status_word(found), err.text, kern_status_word(status), word);
    }
    assert_int_equal(err.status, status);
}
