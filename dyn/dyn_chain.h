/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chains: p states x_0, x_1, …, x_{p−1} in order, p × size numbers. A chain is a cycle when
 * F(x_i) = x_{i+1} for all i, with x_p = x_0.
 *
 * What solvers of cycles share: how far a chain is from closing, when two chains are the same
 * cycle, and the one form that a cycle is reported in.
 */
#ifndef BASIN_DYN_CHAIN_H
#define BASIN_DYN_CHAIN_H

#include "dyn/dyn_map.h"

#include <stdbool.h>
#include <stddef.h>

struct dyn_deflation;

/* When a solver stops. */
typedef struct dyn_chain_goal {
    double tol; /* of the largest |F(x_i) − x_{i+1}| */
    size_t max_iterations;
    const struct dyn_deflation *deflation; /* solutions to stay away from; NULL: none */
    double merge; /* with deflation: distance below which a solution is a deflated one */
} dyn_chain_goal;

/* What a solver says about the chain it leaves. */
typedef struct dyn_chain_result {
    kern_status status; /* KERN_OK: a cycle to the tolerance asked for; otherwise what went wrong */
    size_t iterations;
    double residual; /* largest |F(x_i) − x_{i+1}| of the chain as left, evaluated after its last
                        change */
    bool coarse;     /* states so large that `tol` lies below their rounding, so that nothing can
                        vouch there */
} dyn_chain_result;

/* Gaps G_i = F(x_i) − x_{i+1} into `gap` (p × size numbers), on circles the short way round.
 * Returns |G|₂. Cost: p steps. */
double dyn_chain_gap(dyn_map *map, const double *states, size_t period, double *gap);

/* Largest |G|; NaN or ∞ when an image is. `gap` is workspace of p × size numbers. */
double dyn_chain_residual(dyn_map *map, const double *states, size_t period, double *gap);

/* Largest magnitude of n numbers; NaN when one is. */
double dyn_chain_largest(const double *values, size_t n);

/* Judges states whose gaps are within `tol`, with n numbers in all: KERN_OK when their rounding, ε
 * times the largest of them, is as well. If it is not, nothing can be said; KERN_DIVERGED when they
 * are DYN_CHAIN_FAR times as large as the larger of 1 and `first`, the largest of those that the
 * method began with, as on a way to infinity where steps get ever smaller, and KERN_NOT_CONVERGED
 * otherwise. */
#define DYN_CHAIN_FAR 1e3
kern_status dyn_chain_judge(const double *states, size_t n, double first, double tol);

/* Distance below which a state is the same as x: `merge` times max(1, largest |x|). */
double dyn_chain_reach(const double *x, size_t size, double merge);

/* True when state i of `a` (a_period states) is state (i + shift) mod b_period of `b` for all i.
 * b_period divides a_period. */
bool dyn_chain_agrees(const dyn_map *map, const double *a, size_t a_period, const double *b,
                      size_t b_period, size_t shift, double merge);

/* The smallest divisor of `period` at which all states return; `period` when there is none. */
size_t dyn_chain_minimal_period(const dyn_map *map, const double *states, size_t period,
                                double merge);

/* True when x comes before y, coordinate by coordinate, those that agree to the merging distance
 * left aside. */
bool dyn_chain_precedes(const double *x, const double *y, size_t size, double merge);

/* Brings a cycle into its reported form: coordinates on circles in [0, period), or barely below 0
 * where they are 0 but for rounding, and turned so that it begins with its first state in order.
 * `work` holds p × size numbers. */
void dyn_chain_normalise(const dyn_map *map, double *states, size_t period, double merge,
                         double *work);

#endif
