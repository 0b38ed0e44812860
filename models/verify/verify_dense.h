/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small dense linear algebra in plain loops. What a check computes from a record must be the same
 * bits whoever checks it, on any worker; LAPACK's last bits depend on whether its BLAS may use
 * threads, which it may outside of a parallel region and not within one.
 */
#ifndef BASIN_VERIFY_DENSE_H
#define BASIN_VERIFY_DENSE_H

#include <stdbool.h>
#include <stddef.h>

/* Eigenvalues of the symmetric n × n matrix `a`, ascending, into `values`, and orthonormal
 * eigenvectors into the rows of `vectors` (n × n), unless that is NULL; `a` is destroyed. By cyclic
 * Jacobi rotations (C. G. J. Jacobi 1846; W. Kahan's rule for the angle) until what is off the
 * diagonal is below a rounding of the Frobenius norm: the eigenvalues are then right to about
 * 2n u‖a‖_F. All NaN where an entry is not finite. Cost about 25 n³. */
void verify_dense_symmetric(size_t n, double *a, double *values, double *vectors);

/* Least and greatest singular value of the m × n matrix `a`, m ≥ n, which is kept, from the
 * eigenvalues of AᵀA; the least one is right to about √(n u) of the greatest. `room` holds n² + n
 * numbers. */
void verify_dense_singular(size_t m, size_t n, const double *a, double *least, double *greatest,
                           double *room);

/* ln|det a| by elimination with partial pivoting; −∞ for a singular matrix. `a` is destroyed. */
double verify_dense_log_abs_det(size_t n, double *a);

/* True when the symmetric matrix `a` is positive definite to rounding, by Cholesky's decomposition.
 * The lower triangle is read and destroyed. */
bool verify_dense_is_positive(size_t n, double *a);

#endif
