/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_arpack.h"

#include "kernels/kern_arena.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_lapack.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <arpack/arpack.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The least that a tolerance can ask for: products have rounding errors of some ulp. */
#define TOL_MIN 1e-14

/* Smallest size of a Krylov space that is taken unasked; largest, since 3 · 26000² fits int. */
enum { SPACE_MIN = 20, SPACE_MAX = 26000 };

_Static_assert(sizeof(a_int) == sizeof(int), "sizes are passed on as int");

struct kern_arpack {
    kern_arena arena;
    size_t n;
    size_t k;
    size_t space;
    double *basis;      /* space × n: row i is the i-th vector of the Krylov space */
    double *start;      /* n */
    double *products;   /* 3n: vectors that ARPACK wants multiplied, and the results */
    double *small;      /* of ARPACK: 3 space² + 6 space */
    double *hessenberg; /* space × space */
    double *ritz;       /* space × space: eigenvectors of the above in rows */
    double *re, *im;    /* space each: eigenvalues of the above */
    double *rank;       /* space */
    size_t *order;      /* space: eigenvalues by descending rank */
    double *chosen;     /* (k + 1) × space: rows of `ritz` for what is wanted */
    double *vectors;    /* (k + 1) × n */
    double *out_re, *out_im, *residuals; /* k + 1 each */
};

/* One run. */
typedef struct arpack_run {
    kern_arpack *w;
    const kern_arpack_problem *p;
    kern_arpack_result *r;
    size_t begun; /* spaces begun, the first from the start vector */
} arpack_run;

static double rank_modulus(double re, double im)
{
    return hypot(re, im);
}

static double rank_right(double re, double im)
{
    (void)im;
    return re;
}

static double rank_left(double re, double im)
{
    (void)im;
    return -re;
}

/* ARPACK's word for an end, and what ranks there. */
static const struct {
    const char *word;
    double (*rank)(double re, double im);
} ends[KERN_ARPACK_END_COUNT] = {
    [KERN_ARPACK_LARGEST_MODULUS] = {"LM", rank_modulus},
    [KERN_ARPACK_LARGEST_REAL] = {"LR", rank_right},
    [KERN_ARPACK_SMALLEST_REAL] = {"SR", rank_left},
};

double kern_arpack_rank(kern_arpack_end end, double re, double im)
{
    return ends[end].rank(re, im);
}

/* ---- Workspace ---------------------------------------------------------------------------- */

size_t kern_arpack_space(size_t n, size_t k)
{
    return kern_size_min(n, kern_size_max(2 * k + 1, SPACE_MIN));
}

static kern_status check_size(size_t n, size_t k, size_t space, kern_error *err)
{
    if (k < 1 || n < 3 || k > n - 2) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu eigenvalues of a %zu × %zu operator are too many or too few for "
                          "the Arnoldi method, accepted is 1 to two less than its size",
                          k, n, n);
    }
    if (space < k + 2 || space > n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a Krylov space of %zu vectors does not serve %zu eigenvalues of a "
                          "%zu × %zu operator, accepted is %zu to %zu",
                          space, k, n, n, k + 2, n);
    }
    /* ARPACK counts in int: positions in the basis, and the length of its small workspace. */
    if (n > INT_MAX / 3 || space > (size_t)INT_MAX / n || space > SPACE_MAX) {
        return kern_raise(err, KERN_OVERFLOW,
                          "a Krylov space of %zu vectors of %zu numbers is too large", space, n);
    }
    return KERN_OK;
}

static size_t memory(size_t n, size_t k, size_t space)
{
    const size_t size = sizeof(double);
    return kern_arena_cost(space * n, size) + kern_arena_cost(n, size) +
           kern_arena_cost(3 * n, size) + kern_arena_cost(3 * space * (space + 2), size) +
           2 * kern_arena_cost(space * space, size) + 3 * kern_arena_cost(space, size) +
           kern_arena_cost(space, sizeof(size_t)) + kern_arena_cost((k + 1) * space, size) +
           kern_arena_cost((k + 1) * n, size) + 3 * kern_arena_cost(k + 1, size);
}

static double *take(kern_arpack *w, size_t count)
{
    return kern_arena_alloc(&w->arena, count, sizeof(double));
}

kern_status kern_arpack_create(kern_arpack **out, size_t n, size_t k, size_t space, kern_error *err)
{
    *out = NULL;
    if (space == 0 && k < n) {
        space = kern_arpack_space(n, k);
    }
    KERN_TRY(check_size(n, k, space, err));
    kern_arpack *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an Arnoldi iteration");
    }
    const kern_status status = kern_arena_init(&w->arena, memory(n, k, space), err);
    if (status != KERN_OK) {
        free(w);
        return status;
    }
    w->n = n;
    w->k = k;
    w->space = space;
    w->basis = take(w, space * n);
    w->start = take(w, n);
    w->products = take(w, 3 * n);
    w->small = take(w, 3 * space * (space + 2));
    w->hessenberg = take(w, space * space);
    w->ritz = take(w, space * space);
    w->re = take(w, space);
    w->im = take(w, space);
    w->rank = take(w, space);
    w->order = kern_arena_alloc(&w->arena, space, sizeof *w->order);
    w->chosen = take(w, (k + 1) * space);
    w->vectors = take(w, (k + 1) * n);
    w->out_re = take(w, k + 1);
    w->out_im = take(w, k + 1);
    w->residuals = take(w, k + 1);
    *out = w;
    return KERN_OK;
}

void kern_arpack_destroy(kern_arpack *arpack)
{
    if (arpack != NULL) {
        kern_arena_fini(&arpack->arena);
        free(arpack);
    }
}

/* ---- The Krylov space --------------------------------------------------------------------- */

static kern_status multiply(arpack_run *run, const double *x, double *y, kern_error *err)
{
    const size_t n = run->w->n;
    run->r->products++;
    if (!run->p->apply(run->p->context, x, y)) {
        return kern_raise(err, KERN_INTERRUPTED, "stopped after %zu products with the operator",
                          run->r->products);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(y[i])) {
            return kern_raise(err, KERN_NAN,
                              "number %zu of product %zu with a %zu × %zu operator is not finite",
                              i, run->r->products, n, n);
        }
    }
    return KERN_OK;
}

/* ARPACK multiplies the vector that begins a Krylov space by the operator, which only generalised
 * problems need: it would lose what the operator maps to zero, and the vector that goes on where a
 * space is exhausted would be drawn from a state that earlier runs leave behind. Answering with a
 * vector of our own choice makes the space begin with the caller's vector, and repeatable. */
static void begin_space(arpack_run *run, double *y)
{
    const size_t n = run->w->n;
    if (run->begun == 0) {
        memcpy(y, run->p->start, n * sizeof *y);
    } else {
        const uint64_t key = kern_rng_seed(run->p->seed, "krylov", run->begun);
        for (size_t i = 0; i < n; i++) {
            y[i] = (double)(kern_rng_hash(key, i) >> 11) * 0x1p-52 - 1.0;
        }
    }
    run->begun++;
}

static kern_status check_outcome(const arpack_run *run, int info, kern_error *err)
{
    /* 1: restarts are spent; 3: no shifts were left to apply. The space is complete then. */
    if (info == 0 || info == 1 || info == 3) {
        return KERN_OK;
    }
    return kern_raise(err, KERN_NOT_CONVERGED,
                      "ARPACK built no Krylov space of %zu vectors of %zu numbers (code %d)",
                      run->w->space, run->w->n, info);
}

/* Fills `basis` and `hessenberg`. */
static kern_status build_space(arpack_run *run, kern_error *err)
{
    /* Positions in the arrays of settings and pointers, as ARPACK's manual numbers them. */
    enum { SHIFTS = 0, RESTARTS = 2, BLOCK = 3, MODE = 6, HESSENBERG = 4, REQUEST_BEGIN = -1 };
    enum { REQUEST_PRODUCT = 1, EXACT_SHIFTS = 1, STANDARD = 1 };
    kern_arpack *w = run->w;
    const size_t m = w->space;
    const int n = (int)w->n;
    const int small = (int)(3 * m * (m + 2));
    int settings[11] = {[SHIFTS] = EXACT_SHIFTS,
                        [RESTARTS] = (int)kern_size_min(run->p->max_restarts, INT_MAX - 1),
                        [BLOCK] = 1,
                        [MODE] = STANDARD};
    int pointers[14] = {0};
    int request = 0;
    int info = 1; /* `start` holds the first vector */
    memcpy(w->start, run->p->start, w->n * sizeof *w->start);
    for (;;) {
        dnaupd_c(&request, "I", n, ends[run->p->end].word, (int)w->k, run->p->tol, w->start, (int)m,
                 w->basis, n, settings, pointers, w->products, w->small, small, &info);
        if (request != REQUEST_BEGIN && request != REQUEST_PRODUCT) {
            break;
        }
        double *y = w->products + pointers[1] - 1;
        if (request == REQUEST_BEGIN) {
            begin_space(run, y);
        } else {
            KERN_TRY(multiply(run, w->products + pointers[0] - 1, y, err));
        }
    }
    KERN_TRY(check_outcome(run, info, err));
    /* ARPACK counts the space that it begins with. */
    run->r->restarts = (size_t)settings[RESTARTS] - 1;
    /* Columns become rows; below the subdiagonal ARPACK keeps other numbers. */
    const double *h = w->small + pointers[HESSENBERG] - 1;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            w->hessenberg[i * m + j] = i <= j + 1 ? h[j * m + i] : 0.0;
        }
    }
    return KERN_OK;
}

/* ---- Pairs -------------------------------------------------------------------------------- */

/* ‖H‖₂, leaving H as it is. */
static kern_status measure_scale(arpack_run *run, kern_error *err)
{
    kern_arpack *w = run->w;
    memcpy(w->ritz, w->hessenberg, w->space * w->space * sizeof *w->ritz);
    KERN_TRY(kern_lapack_singular_values(w->space, w->space, w->ritz, w->rank, err));
    run->r->scale = w->rank[0];
    return KERN_OK;
}

/* Insertion keeps the order of equal ranks, so the two of a complex pair stay together. */
static void sort_ranks(const kern_arpack *w, kern_arpack_end end)
{
    for (size_t j = 0; j < w->space; j++) {
        w->rank[j] = kern_arpack_rank(end, w->re[j], w->im[j]);
        size_t i = j;
        while (i > 0 && w->rank[j] > w->rank[w->order[i - 1]]) {
            w->order[i] = w->order[i - 1];
            i--;
        }
        w->order[i] = j;
    }
}

/* Rows of `chosen`, re and im of the result, for the k most wanted and the other half of a pair
 * that the k-th belongs to. Returns their number. */
static size_t choose(kern_arpack *w, kern_arpack_end end)
{
    const size_t m = w->space;
    size_t count = 0;
    sort_ranks(w, end);
    for (size_t i = 0; i < m && count < w->k; i++) {
        const size_t j = w->order[i];
        const size_t rows = w->im[j] != 0.0 ? 2 : 1;
        if (w->im[j] < 0.0) {
            continue; /* came with its other half */
        }
        memcpy(w->chosen + count * m, w->ritz + j * m, rows * m * sizeof *w->chosen);
        for (size_t half = 0; half < rows; half++) {
            w->out_re[count + half] = w->re[j + half];
            w->out_im[count + half] = w->im[j + half];
        }
        count += rows;
    }
    return count;
}

/* Scales a vector, of one row or two, to unit length. False when it has none. */
static bool normalise(size_t count, double *rows)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += rows[i] * rows[i];
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] /= sqrt(sum);
    }
    return sum > 0.0;
}

/* *residual = |A v − μ v|₂ for the vector in one row, or in two when im is not 0. */
static kern_status measure_residual(arpack_run *run, const double *v, double re, double im,
                                    double *residual, kern_error *err)
{
    const size_t n = run->w->n;
    const double *a = v;
    const double *b = v + n; /* read for a pair only */
    double *y = run->w->products;
    double sum = 0.0;
    KERN_TRY(multiply(run, a, y, err));
    for (size_t i = 0; i < n; i++) {
        const double gap = y[i] - re * a[i] + (im != 0.0 ? im * b[i] : 0.0);
        sum += gap * gap;
    }
    if (im != 0.0) {
        KERN_TRY(multiply(run, b, y, err));
        for (size_t i = 0; i < n; i++) {
            const double gap = y[i] - re * b[i] - im * a[i];
            sum += gap * gap;
        }
    }
    *residual = sqrt(sum);
    return KERN_OK;
}

/* Of `count` candidates keeps those with a small residual, moving them up. */
static kern_status keep_converged(arpack_run *run, size_t count, kern_error *err)
{
    kern_arpack *w = run->w;
    const double accepted = 2.0 * run->p->tol * run->r->scale;
    size_t kept = 0;
    size_t rows;
    for (size_t j = 0; j < count; j += rows) {
        double residual;
        double *v = w->vectors + j * w->n;
        rows = w->out_im[j] != 0.0 ? 2 : 1;
        if (!normalise(rows * w->n, v)) {
            continue;
        }
        KERN_TRY(measure_residual(run, v, w->out_re[j], w->out_im[j], &residual, err));
        if (!(residual <= accepted)) {
            continue;
        }
        memmove(w->vectors + kept * w->n, v, rows * w->n * sizeof *v);
        for (size_t half = 0; half < rows; half++) {
            w->out_re[kept + half] = w->out_re[j + half];
            w->out_im[kept + half] = w->out_im[j + half];
            w->residuals[kept + half] = residual;
        }
        kept += rows;
    }
    run->r->n_converged = kept;
    return KERN_OK;
}

static kern_status extract_pairs(arpack_run *run, kern_error *err)
{
    kern_arpack *w = run->w;
    KERN_TRY(measure_scale(run, err));
    KERN_TRY(kern_lapack_eigen(w->space, w->hessenberg, w->re, w->im, w->ritz, err));
    const size_t count = choose(w, run->p->end);
    const kern_gemm_f64 product = {.m = count,
                                   .n = w->n,
                                   .k = w->space,
                                   .alpha = 1.0,
                                   .a = w->chosen,
                                   .lda = w->space,
                                   .b = w->basis,
                                   .ldb = w->n,
                                   .c = w->vectors,
                                   .ldc = w->n};
    kern_gemm_run_f64(&product, 1);
    return keep_converged(run, count, err);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static kern_status check_problem(const kern_arpack *w, const kern_arpack_problem *p,
                                 kern_error *err)
{
    double sum = 0.0;
    if (!(p->tol >= TOL_MIN) || !(p->tol < 1.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tolerance of eigenvalues is %g, accepted is %g or more, below 1",
                          p->tol, TOL_MIN);
    }
    if (p->max_restarts < 1 || (unsigned)p->end >= KERN_ARPACK_END_COUNT) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an Arnoldi iteration takes 1 restart or more, and one of %d ends",
                          KERN_ARPACK_END_COUNT);
    }
    for (size_t i = 0; i < w->n; i++) {
        sum += fabs(p->start[i]);
    }
    if (!(sum > 0.0) || !isfinite(sum)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the start vector of an Arnoldi iteration is zero or not finite");
    }
    return KERN_OK;
}

kern_status kern_arpack_run(kern_arpack *arpack, const kern_arpack_problem *problem,
                            kern_arpack_result *result, kern_error *err)
{
    arpack_run run = {.w = arpack, .p = problem, .r = result};
    *result = (kern_arpack_result){.re = arpack->out_re,
                                   .im = arpack->out_im,
                                   .residuals = arpack->residuals,
                                   .vectors = arpack->vectors};
    KERN_TRY(check_problem(arpack, problem, err));
    KERN_TRY(build_space(&run, err));
    return extract_pairs(&run, err);
}
