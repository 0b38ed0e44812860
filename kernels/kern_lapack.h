/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one door to LAPACK: dense decompositions in double precision, row-major.
 *
 * Matrices hold n·n numbers unless said otherwise and are destroyed. Decompositions fail with
 * KERN_NAN, naming the entry, when one is not finite, and with KERN_OVERFLOW when a size does not
 * fit LAPACK's integers; a size of zero is allowed. kern_lapack_symmetric_top,
 * kern_lapack_orthonormalise and the LU and Cholesky calls allocate nothing of their own; the
 * others may fail with KERN_NO_MEMORY.
 */
#ifndef BASIN_KERN_LAPACK_H
#define BASIN_KERN_LAPACK_H

#include "kernels/kern_status.h"

#include <stddef.h>

/* Eigenvalues of the n×n matrix `a`, which is destroyed, into re and im (n each), in LAPACK's
 * order. KERN_NAN when an entry is not finite; KERN_NOT_CONVERGED when the QR iteration fails. Cost
 * O(n³). */
kern_status kern_lapack_eigenvalues(size_t n, double *a, double *re, double *im, kern_error *err);

/* As above, with right eigenvectors A v = μ v of unit 2-norm. `vectors` holds n·n numbers: for a
 * real μ_j, row j is v_j; for a pair μ_j, μ_{j+1} = conj μ_j with im[j] > 0, rows j and j + 1 are
 * the real and the imaginary part of v_j, and v_{j+1} is its conjugate. Cost O(n³). */
kern_status kern_lapack_eigen(size_t n, double *a, double *re, double *im, double *vectors,
                              kern_error *err);

/* Eigenvalues of the symmetric n×n matrix `a`, ascending, into `values` (n numbers); row j of `a`
 * becomes an eigenvector of values[j], the rows orthonormal. What stands above the diagonal is not
 * read. KERN_NOT_CONVERGED when the iteration fails. Cost O(n³). */
kern_status kern_lapack_symmetric(size_t n, double *a, double *values, kern_error *err);

/* Sizes of the two workspaces of kern_lapack_symmetric_top: numbers, and integers. */
size_t kern_lapack_symmetric_work(size_t n);
size_t kern_lapack_symmetric_integers(size_t n);

/* The `count` ≤ n largest eigenvalues of the symmetric n×n matrix `a`, descending, into `values`
 * (n numbers, of which the first `count` are set), and their eigenvectors, orthonormal, into the
 * rows of `vectors` (count × n). Of `a` the lower triangle is read; all of it is destroyed. The
 * eigenvalues are those of A + E with ‖E‖₂ of about n·ε‖A‖₂. KERN_INVALID_ARGUMENT when count > n;
 * KERN_NOT_CONVERGED when inverse iteration fails. Cost 4/3 n³ + O(count n²). */
kern_status kern_lapack_symmetric_top(size_t n, size_t count, double *a, double *values,
                                      double *vectors, double *work, int *integers,
                                      kern_error *err);

/* Singular values of the m×n matrix `a`, descending, into s (min(m, n) numbers); s[0] is the
 * 2-norm. KERN_NOT_CONVERGED when the iteration fails. Cost O(m n min(m, n)). */
kern_status kern_lapack_singular_values(size_t m, size_t n, double *a, double *s, kern_error *err);

/* Numbers of workspace that kern_lapack_orthonormalise needs for k vectors of n numbers. */
size_t kern_lapack_orthonormalise_work(size_t n, size_t k);

/* Makes k ≤ n vectors of n numbers orthonormal, in order: rows v_j of the k×n matrix `v` become
 * q_j, with v_j = Σ_{i≤j} r_ij q_i and r_jj ≥ 0, by Householder reflections (LAPACK's geqrf and
 * orgqr), so the rows are orthonormal to rounding even where the vectors depend on each other and
 * some r_jj is 0. `r` receives k·k numbers, row-major, zero below the diagonal. `work` holds
 * kern_lapack_orthonormalise_work(n, k) numbers. KERN_INVALID_ARGUMENT when k > n. Cost 4nk². */
kern_status kern_lapack_orthonormalise(size_t n, size_t k, double *v, double *r, double *work,
                                       kern_error *err);

/* LU decomposition with partial pivoting, for kern_lapack_lu_solve, which `a` and `pivots` (n
 * numbers) receive. *log_abs_det (unless NULL) receives ln|det A|, which is −∞ for a singular
 * matrix; that is no failure here. Cost ⅔n³. */
kern_status kern_lapack_lu(size_t n, double *a, int *pivots, double *log_abs_det, kern_error *err);

/* Solves A x = b, in place of b (n numbers), from what kern_lapack_lu left. KERN_SINGULAR when a
 * pivot is zero or the solution is not finite. Cost 2n². */
kern_status kern_lapack_lu_solve(size_t n, const double *lu, const int *pivots, double *b,
                                 kern_error *err);

/* As above for Aᵀ x = b. */
kern_status kern_lapack_lu_solve_transposed(size_t n, const double *lu, const int *pivots,
                                            double *b, kern_error *err);

/* Cholesky factor of a symmetric matrix: A = L Lᵀ with a positive diagonal. L replaces the lower
 * triangle of `a`; what stands above the diagonal is neither read nor written. KERN_SINGULAR,
 * naming the first leading block that is not positive definite to rounding. Cost n³/3. */
kern_status kern_lapack_cholesky(size_t n, double *a, kern_error *err);

/* Solves L x = b, in place of b (n numbers), for a lower triangular L with a positive diagonal, as
 * kern_lapack_cholesky leaves it: without checks, as often as there are right sides. Cost n². */
void kern_lapack_lower_solve(size_t n, const double *l, double *b);

#endif
