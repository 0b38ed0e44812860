/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one door to ARPACK: a few eigenpairs A v = μ v, |v|₂ = 1, of a real n×n operator that is
 * known by its products alone, by the implicitly restarted Arnoldi method (Sorensen 1992; Lehoucq,
 * Sorensen and Yang 1998).
 *
 * ARPACK is asked for a basis V of a Krylov space and H = Vᵀ A V only. The pairs are those of H,
 * found by LAPACK, and each is kept only when |A v − μ v|₂, measured by a product, is small: what
 * is returned is an eigenpair of A + E with ‖E‖₂ ≤ 2 tol ‖A‖₂. ARPACK's own extraction is passed
 * over since it is known to return wrong pairs, and to write past its arrays when more converge
 * than were asked for (arpack-ng issues 3 and 465). A residual cannot tell whether a pair is
 * missing: a start vector without a component along an eigenvector hides it, and of a multiple
 * eigenvalue one copy may be all that a Krylov space contains. Comparing runs from different starts
 * is left to the caller.
 *
 * ARPACK keeps the state of a run in static variables of its own: one run at a time in a process,
 * never from two threads, and not from inside the operator of another run.
 */
#ifndef BASIN_KERN_ARPACK_H
#define BASIN_KERN_ARPACK_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which end of the spectrum is wanted. Eigenvalues near 1 of a map whose others are smaller are the
 * ones with the largest real part, those near −1 the ones with the smallest. */
typedef enum kern_arpack_end {
    KERN_ARPACK_LARGEST_MODULUS,
    KERN_ARPACK_LARGEST_REAL,
    KERN_ARPACK_SMALLEST_REAL,
    KERN_ARPACK_END_COUNT
} kern_arpack_end;

/* What ranks an eigenvalue at an end: of two, the one with the larger rank is wanted more. */
double kern_arpack_rank(kern_arpack_end end, double re, double im);

/* y = A x, n numbers each, which do not overlap; false stops the run. */
typedef bool kern_arpack_apply(void *context, const double *x, double *y);

typedef struct kern_arpack_problem {
    kern_arpack_apply *apply;
    void *context;
    kern_arpack_end end;
    const double *start; /* n numbers, not all zero: the first vector of the Krylov space */
    double tol;          /* at least 1e-14 */
    size_t max_restarts; /* at least 1 */
    uint64_t seed;       /* of the vectors that go on where the Krylov space is exhausted */
} kern_arpack_problem;

/* The pairs that passed, the most wanted first. Of a complex pair both are given, the one with
 * im > 0 first, so that there may be one pair more than was asked for. The arrays belong to the
 * workspace and last until its next run. */
typedef struct kern_arpack_result {
    size_t n_converged;
    const double *re, *im;
    const double *residuals; /* |A v − μ v|₂ */
    const double *vectors;   /* n_converged × n, in rows as kern_lapack_eigen has them */
    double scale; /* ‖H‖₂, a lower bound of ‖A‖₂: what residuals are compared with */
    size_t restarts;
    size_t products; /* calls of apply */
} kern_arpack_result;

/* Workspace for k eigenvalues of operators of n numbers. */
typedef struct kern_arpack kern_arpack;

/* Size of the Krylov space when none is given: max(2k + 1, 20), at most n. */
size_t kern_arpack_space(size_t n, size_t k);

/* `space` is the size of the Krylov space, k + 2 … n; 0 takes kern_arpack_space. The method leaves
 * out at least two eigenvalues, so k is 1 … n − 2; smaller matrices are for kern_lapack_eigen.
 * KERN_INVALID_ARGUMENT, KERN_OVERFLOW, KERN_NO_MEMORY. Memory: (space + k + 6) n + O(space²)
 * numbers. */
kern_status kern_arpack_create(kern_arpack **out, size_t n, size_t k, size_t space,
                               kern_error *err);
void kern_arpack_destroy(kern_arpack *arpack);

/* Runs until k eigenvalues have converged or `max_restarts` are spent. Fewer pairs than were asked
 * for, even none, are an outcome. Equal problems give equal bits, whatever ran before.
 * KERN_INVALID_ARGUMENT for options outside their domain and a start of zeros, KERN_NAN when a
 * product is not finite, KERN_INTERRUPTED when `apply` returned false, KERN_NOT_CONVERGED when no
 * Krylov space could be built. Cost: space + restarts · (space − k) + k products, and
 * O(n · space) operations for each. */
kern_status kern_arpack_run(kern_arpack *arpack, const kern_arpack_problem *problem,
                            kern_arpack_result *result, kern_error *err);

#endif
