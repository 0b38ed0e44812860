/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_lapack.h"

#include <lapacke.h>
#include <math.h>

kern_status kern_lapack_eigenvalues(size_t n, double *a, double *re, double *im, kern_error *err)
{
    if (n == 0) {
        return KERN_OK;
    }
    for (size_t i = 0; i < n * n; i++) {
        if (!isfinite(a[i])) {
            return kern_raise(err, KERN_NAN, "entry %zu of a %zu × %zu matrix is not finite", i, n,
                              n);
        }
    }
    const lapack_int size = (lapack_int)n;
    const lapack_int info =
        LAPACKE_dgeev(LAPACK_ROW_MAJOR, 'N', 'N', size, a, size, re, im, NULL, size, NULL, size);
    if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR) {
        return kern_raise(err, KERN_NO_MEMORY,
                          "no memory for the eigenvalues of a %zu × %zu matrix", n, n);
    }
    if (info != 0) {
        return kern_raise(err, KERN_NOT_CONVERGED,
                          "the eigenvalues of a %zu × %zu matrix did not converge", n, n);
    }
    return KERN_OK;
}
