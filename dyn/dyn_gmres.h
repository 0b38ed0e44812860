/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Restarted GMRES: A x = b with A known by its products only.
 *
 * Each round minimises |b − A x|₂ over x + the Krylov space of at most `restart` vectors, built by
 * Arnoldi's method with modified Gram–Schmidt done twice, which keeps the basis orthonormal to
 * rounding (Giraud, Langou, Rozložník 2005), and reduced by Givens rotations as it grows. The
 * residual that the rotations carry along decides when a round ends; the one that is reported, and
 * that decides on success, is computed from b − A x.
 *
 * Source: Y. Saad, M. H. Schultz, GMRES: a generalized minimal residual algorithm for solving
 * nonsymmetric linear systems, SIAM J. Sci. Stat. Comput. 7 (1986).
 */
#ifndef BASIN_DYN_GMRES_H
#define BASIN_DYN_GMRES_H

#include "kernels/kern_status.h"

#include <stddef.h>

/* av = A v; the arrays hold n numbers and do not overlap. */
typedef void dyn_gmres_product(void *context, const double *v, double *av);

/* Workspace for systems of n equations: (restart + 3) n + O(restart²) numbers. */
typedef struct dyn_gmres dyn_gmres;

/* `restart` beyond n is n. KERN_INVALID_ARGUMENT for n = 0 or restart = 0, KERN_OVERFLOW,
 * KERN_NO_MEMORY. */
kern_status dyn_gmres_create(dyn_gmres **out, size_t n, size_t restart, kern_error *err);
void dyn_gmres_destroy(dyn_gmres *g);

typedef struct dyn_gmres_result {
    /* KERN_OK: |b − A x|₂ ≤ tol. KERN_NOT_CONVERGED: the products are used up, or a whole round
     * brought nothing. KERN_SINGULAR: the Krylov space is exhausted and holds no solution.
     * KERN_NAN: a product was not finite. */
    kern_status status;
    size_t products; /* by A, those for residuals included */
    size_t rounds;
    double residual; /* |b − A x|₂, computed from x as it is left */
} dyn_gmres_result;

/* Solves from x = 0; `tol` is absolute. x receives the best solution found, also when there is no
 * success; it is zero where nothing was gained. Cost per product: one of A and 8 n · (vectors of
 * the round so far). */
dyn_gmres_result dyn_gmres_solve(dyn_gmres *g, dyn_gmres_product *product, void *context,
                                 const double *b, double tol, size_t max_products, double *x);

#endif
