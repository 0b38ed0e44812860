/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The maps built in, by name. Every one has exact products with its Jacobian and its transpose.
 *
 *   logistic(r)           r x(1 − x)
 *   ricker(r)             x e^{r(1 − x)}
 *   cubic(mu)             μx − x³
 *   tent(mu)              μ min(x, 1 − x); the slope at x = ½ is taken from the right
 *   circle(omega, k)      θ + Ω − (k/2π) sin 2πθ, lifted, on the circle of length 1
 *   double-well(eta)      x − η(x³ − x), energy (x² − 1)²/4
 *   hopfield(eta, beta)   (1 − η)x + η tanh βx, energy x²/2 − ln cosh(βx)/β
 *   henon(a, b)           (1 − a x² + y, b x)
 *   lozi(a, b)            (1 − a|x| + y, b x); the slope at x = 0 is taken from the right
 *   henon2(alpha, beta)   (y, α − βx − y²)
 *   ikeda(u)              t = 0.4 − 6/(1 + x² + y²): (1 + u(x cos t − y sin t),
 *                         u(x sin t + y cos t))
 *   standard(k)           state (θ, p): p' = p + k sin θ, θ' = θ + p', both mod 2π
 *   delayed-logistic(r)   (r x(1 − y), x)
 *   cat()                 (2x + y, x + y), both mod 1
 *   kopel(rho, mu)        ((1−ρ)x + ρμ y(1−y), (1−ρ)y + ρμ x(1−x))
 *   quadratic(eta, lambda=l1,l2,…)    x_i' = (1 − ηλ_i)x_i, energy ½Σλ_i x_i². The curvatures are
 *                         the parameters lambda1, lambda2, …; their number is settled at creation
 *   coupled-logistic(r, eps, n)       ring: (1−ε)f(x_i) + (ε/2)(f(x_{i−1}) + f(x_{i+1})),
 *                         f = r x(1 − x)
 *   layernorm-power(eta, n, seed)     x + ηW g, g = LN(x) = (x − mean)/std with ε = 0, W symmetric
 *                         Gaussian with variance 1/n off and 2/n on the diagonal (from stream
 *                         (seed, "layernorm-power", 0)), energy −½ gᵀWg; NaN for a constant x
 */
#ifndef BASIN_DYN_CLASSICAL_H
#define BASIN_DYN_CLASSICAL_H

#include "dyn/dyn_assignment.h"
#include "dyn/dyn_map.h"

/* Makes map `name` with n parameters set. KERN_NOT_FOUND for an unknown map and
 * KERN_INVALID_ARGUMENT for an unknown parameter, both listing what is accepted, or for a value
 * outside its domain; KERN_NO_MEMORY. */
kern_status dyn_classical_create(dyn_map **out, const char *name, const dyn_assignment *assignments,
                                 size_t n, kern_error *err);

/* Number of maps, and what the index-th one is; for listings. */
size_t dyn_classical_count(void);
const dyn_map_kind *dyn_classical_kind(size_t index, const dyn_param **params, size_t *n_params);

#endif
