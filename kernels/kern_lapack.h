/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one door to LAPACK: dense decompositions in double precision, row-major.
 */
#ifndef BASIN_KERN_LAPACK_H
#define BASIN_KERN_LAPACK_H

#include "kernels/kern_status.h"

#include <stddef.h>

/* Eigenvalues of the n×n matrix `a`, which is destroyed, into re and im (n each), in LAPACK's
 * order. KERN_NAN when an entry is not finite; KERN_NOT_CONVERGED when the QR iteration fails. Cost
 * O(n³). */
kern_status kern_lapack_eigenvalues(size_t n, double *a, double *re, double *im, kern_error *err);

#endif
