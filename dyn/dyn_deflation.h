/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Deflation: solutions found earlier are made repelling, so that Newton's method from the same
 * start ends elsewhere.
 *
 * The residual G of a chain x of p states is multiplied by
 *
 *     m(x) = Π_z (|x − z|₂^{−κ} + 1)
 *
 * over all deflated chains z: of every cycle whose length divides p, all shifts, repeated to p
 * states, since each of them solves the same equations. Near a simple solution z, |G| falls like
 * |x − z|, so with κ = 2 the product m |G| grows there without bound; far from all of them m is 1
 * and the problem is what it was. Differences on circles are taken the short way round.
 *
 * Newton's step of the deflated problem is that of the original one times a number: with
 * G′δ = −G, the deflated step is δ/(1 − ∇ln m · δ) (Sherman and Morrison's formula). So deflation
 * works with any linear solver and costs O(p² · size) for each deflated cycle of length p.
 *
 * Deflation is serial by nature: what a start finds depends on what was found before.
 *
 * Source: P. E. Farrell, Á. Birkisson, S. W. Funke, Deflation techniques for finding distinct
 * solutions of nonlinear partial differential equations, SIAM J. Sci. Comput. 37 (2015).
 */
#ifndef BASIN_DYN_DEFLATION_H
#define BASIN_DYN_DEFLATION_H

#include "dyn/dyn_map.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct dyn_deflation dyn_deflation;

/* Nothing deflated yet. `map` is borrowed. */
kern_status dyn_deflation_create(dyn_deflation **out, const dyn_map *map, kern_error *err);
void dyn_deflation_destroy(dyn_deflation *d);

/* Deflates a cycle of `period` states with all its shifts; the states are copied. */
kern_status dyn_deflation_add(dyn_deflation *d, const double *states, size_t period,
                              kern_error *err);

/* ∇ln m · δ at a chain, the derivative of ln m along `step` (period × size numbers); NaN at a
 * deflated chain. */
double dyn_deflation_slope(const dyn_deflation *d, const double *states, size_t period,
                           const double *step);

/* True when the chain is a deflated cycle, to the merging distance of dyn_chain_agrees. */
bool dyn_deflation_holds(const dyn_deflation *d, const double *states, size_t period, double merge);

#endif
