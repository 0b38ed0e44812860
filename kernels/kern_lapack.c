/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LAPACK stores columns. A row-major matrix is thus read as its transpose, which has the same
 * eigenvalues, singular values and determinant; only what depends on the side transposes first.
 */
#include "kernels/kern_lapack.h"

#include "kernels/kern_size.h"

#include <float.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "pivots are passed on as int");

/* ---- Checks ------------------------------------------------------------------------------- */

static kern_status check_size(size_t rows, size_t columns, kern_error *err)
{
    size_t count;
    if (!kern_size_mul(rows, columns, &count) || rows > INT_MAX || columns > INT_MAX) {
        return kern_raise(err, KERN_OVERFLOW,
                          "a %zu × %zu matrix is too large to decompose, at most %d rows and "
                          "columns are accepted",
                          rows, columns, INT_MAX);
    }
    return KERN_OK;
}

static kern_status check_matrix(size_t rows, size_t columns, const double *a, kern_error *err)
{
    KERN_TRY(check_size(rows, columns, err));
    for (size_t i = 0; i < rows * columns; i++) {
        if (!isfinite(a[i])) {
            return kern_raise(err, KERN_NAN, "entry %zu of a %zu × %zu matrix is not finite", i,
                              rows, columns);
        }
    }
    return KERN_OK;
}

static kern_status check_lower(size_t n, const double *a, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            if (!isfinite(a[i * n + j])) {
                return kern_raise(err, KERN_NAN, "entry %zu of a %zu × %zu matrix is not finite",
                                  i * n + j, n, n);
            }
        }
    }
    return KERN_OK;
}

/* The sentence for a failed `what` of a rows × columns matrix. */
static kern_status check_info(lapack_int info, const char *what, size_t rows, size_t columns,
                              kern_error *err)
{
    if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the %s of a %zu × %zu matrix", what,
                          rows, columns);
    }
    if (info != 0) {
        return kern_raise(err, KERN_NOT_CONVERGED, "the %s of a %zu × %zu matrix did not converge",
                          what, rows, columns);
    }
    return KERN_OK;
}

static void transpose_square(size_t n, double *a)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            const double kept = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = kept;
        }
    }
}

/* ---- Spectra ------------------------------------------------------------------------------ */

static kern_status find_spectrum(size_t n, double *a, double *re, double *im, double *vectors,
                                 kern_error *err)
{
    KERN_TRY(check_matrix(n, n, a, err));
    if (n == 0) {
        return KERN_OK;
    }
    transpose_square(n, a);
    const lapack_int size = (lapack_int)n;
    const lapack_int info = LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', vectors != NULL ? 'V' : 'N', size,
                                          a, size, re, im, NULL, size, vectors, size);
    return check_info(info, "eigenvalues", n, n, err);
}

kern_status kern_lapack_eigenvalues(size_t n, double *a, double *re, double *im, kern_error *err)
{
    return find_spectrum(n, a, re, im, NULL, err);
}

kern_status kern_lapack_eigen(size_t n, double *a, double *re, double *im, double *vectors,
                              kern_error *err)
{
    return find_spectrum(n, a, re, im, vectors, err);
}

kern_status kern_lapack_symmetric(size_t n, double *a, double *values, kern_error *err)
{
    KERN_TRY(check_size(n, n, err));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) { /* made whole, so that one check reads all of it */
            a[j * n + i] = a[i * n + j];
        }
    }
    KERN_TRY(check_matrix(n, n, a, err));
    if (n == 0) {
        return KERN_OK;
    }
    const lapack_int info =
        LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)n, a, (lapack_int)n, values);
    return check_info(info, "eigenvalues", n, n, err);
}

/* ---- Symmetric matrices ------------------------------------------------------------------- */

/* Numbers per row that dsyevx may use: 3 and LAPACK's block size of 32, and never fewer than 8. */
enum { SYMMETRIC_ROOM = 35 };

size_t kern_lapack_symmetric_work(size_t n)
{
    return SYMMETRIC_ROOM * n;
}

size_t kern_lapack_symmetric_integers(size_t n)
{
    return 6 * n;
}

/* LAPACK's order is ascending. */
static void reverse_pairs(size_t n, size_t count, double *values, double *vectors)
{
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        j--;
        const double value = values[i];
        values[i] = values[j];
        values[j] = value;
        for (size_t k = 0; k < n; k++) {
            const double kept = vectors[i * n + k];
            vectors[i * n + k] = vectors[j * n + k];
            vectors[j * n + k] = kept;
        }
    }
}

/* The lower triangle by rows is LAPACK's upper one by columns. */
kern_status kern_lapack_symmetric_top(size_t n, size_t count, double *a, double *values,
                                      double *vectors, double *work, int *integers, kern_error *err)
{
    if (count > n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu eigenvalues of a %zu × %zu matrix were asked for", count, n, n);
    }
    KERN_TRY(check_size(SYMMETRIC_ROOM * n, n, err));
    KERN_TRY(check_lower(n, a, err));
    if (count == 0) {
        return KERN_OK;
    }
    const lapack_int size = (lapack_int)n;
    lapack_int found = 0;
    const lapack_int info = LAPACKE_dsyevx_work(
        LAPACK_COL_MAJOR, 'V', 'I', 'U', size, a, size, 0.0, 0.0, size - (lapack_int)count + 1,
        size, 2 * DBL_MIN, &found, values, vectors, size, work,
        (lapack_int)kern_lapack_symmetric_work(n), integers, integers + 5 * n);
    KERN_TRY(check_info(info, "largest eigenvalues", n, n, err));
    reverse_pairs(n, count, values, vectors);
    return KERN_OK;
}

/* ---- Singular values ---------------------------------------------------------------------- */

kern_status kern_lapack_singular_values(size_t m, size_t n, double *a, double *s, kern_error *err)
{
    KERN_TRY(check_matrix(m, n, a, err));
    if (m == 0 || n == 0) {
        return KERN_OK;
    }
    const lapack_int info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', (lapack_int)n, (lapack_int)m, a,
                                           (lapack_int)n, s, NULL, 1, NULL, 1);
    return check_info(info, "singular values", m, n, err);
}

/* ---- Orthonormal frames ------------------------------------------------------------------- */

/* Block size of the reflections that the workspace allows for; LAPACK's own choice is 32. */
enum { REFLECTION_BLOCK = 32 };

size_t kern_lapack_orthonormalise_work(size_t n, size_t k)
{
    (void)n;
    return k * (1 + REFLECTION_BLOCK) + 1;
}

/* r from the upper triangle of the decomposition, whose column j is row j of `v`. */
static void take_triangle(size_t n, size_t k, const double *v, double *r)
{
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < k; j++) {
            r[i * k + j] = j >= i ? v[j * n + i] : 0.0;
        }
    }
}

/* Reverses q_i where r_ii < 0, and row i of r with it. */
static void make_diagonal_positive(size_t n, size_t k, double *q, double *r)
{
    for (size_t i = 0; i < k; i++) {
        if (r[i * k + i] < 0.0) {
            for (size_t j = i; j < k; j++) {
                r[i * k + j] = -r[i * k + j];
            }
            for (size_t j = 0; j < n; j++) {
                q[i * n + j] = -q[i * n + j];
            }
        }
    }
}

kern_status kern_lapack_orthonormalise(size_t n, size_t k, double *v, double *r, double *work,
                                       kern_error *err)
{
    if (k > n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu vectors of %zu numbers cannot be orthonormal, at most %zu are "
                          "accepted",
                          k, n, n);
    }
    KERN_TRY(check_matrix(k, n, v, err));
    if (k == 0) {
        return KERN_OK;
    }
    const lapack_int rows = (lapack_int)n;
    const lapack_int columns = (lapack_int)k;
    const lapack_int room = columns * REFLECTION_BLOCK + 1;
    double *tau = work;
    lapack_int info =
        LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, rows, columns, v, rows, tau, work + k, room);
    KERN_TRY(check_info(info, "orthonormal form", k, n, err));
    take_triangle(n, k, v, r);
    info =
        LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, columns, columns, v, rows, tau, work + k, room);
    KERN_TRY(check_info(info, "orthonormal form", k, n, err));
    make_diagonal_positive(n, k, v, r);
    return KERN_OK;
}

/* ---- Linear systems ----------------------------------------------------------------------- */

kern_status kern_lapack_lu(size_t n, double *a, int *pivots, double *log_abs_det, kern_error *err)
{
    KERN_TRY(check_matrix(n, n, a, err));
    double sum = 0.0;
    if (n > 0) {
        const lapack_int size = (lapack_int)n;
        const lapack_int info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, a, size, pivots);
        if (info < 0) {
            return check_info(info, "LU decomposition", n, n, err);
        }
    }
    for (size_t i = 0; i < n; i++) {
        sum += log(fabs(a[i * n + i]));
    }
    if (log_abs_det != NULL) {
        *log_abs_det = sum;
    }
    return KERN_OK;
}

/* `form` as LAPACK's own: 'T' for the transpose of what LAPACK sees. */
static kern_status solve_factored(char form, size_t n, const double *lu, const int *pivots,
                                  double *b, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (lu[i * n + i] == 0.0) {
            return kern_raise(err, KERN_SINGULAR,
                              "pivot %zu of a linear system of %zu equations is zero", i, n);
        }
    }
    if (n == 0) {
        return KERN_OK;
    }
    const lapack_int size = (lapack_int)n;
    const lapack_int info =
        LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, form, size, 1, lu, size, pivots, b, size);
    KERN_TRY(check_info(info, "linear system", n, n, err));
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(b[i])) {
            return kern_raise(err, KERN_SINGULAR,
                              "a linear system of %zu equations has no finite solution", n);
        }
    }
    return KERN_OK;
}

/* The factors are those of the transpose. */
kern_status kern_lapack_lu_solve(size_t n, const double *lu, const int *pivots, double *b,
                                 kern_error *err)
{
    return solve_factored('T', n, lu, pivots, b, err);
}

kern_status kern_lapack_lu_solve_transposed(size_t n, const double *lu, const int *pivots,
                                            double *b, kern_error *err)
{
    return solve_factored('N', n, lu, pivots, b, err);
}

/* ---- Positive definite matrices ----------------------------------------------------------- */

/* The lower triangle by rows is LAPACK's upper one by columns: A = Uᵀ U with U = Lᵀ. */
kern_status kern_lapack_cholesky(size_t n, double *a, kern_error *err)
{
    KERN_TRY(check_size(n, n, err));
    KERN_TRY(check_lower(n, a, err));
    if (n == 0) {
        return KERN_OK;
    }
    const lapack_int size = (lapack_int)n;
    const lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', size, a, size);
    if (info > 0) {
        return kern_raise(
            err, KERN_SINGULAR,
            "the leading %d × %d block of a %zu × %zu matrix is not positive definite", (int)info,
            (int)info, n, n);
    }
    return check_info(info, "Cholesky factor", n, n, err);
}

void kern_lapack_lower_solve(size_t n, const double *l, double *b)
{
    for (size_t i = 0; i < n; i++) {
        const double *row = l + i * n;
        double sum = b[i];
        for (size_t j = 0; j < i; j++) {
            sum -= row[j] * b[j];
        }
        b[i] = sum / row[i];
    }
}
