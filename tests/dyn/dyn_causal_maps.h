/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causal maps whose fixed points, multipliers and events are known in closed form.
 */
#ifndef BASIN_DYN_CAUSAL_MAPS_H
#define BASIN_DYN_CAUSAL_MAPS_H

#include "dyn/dyn_map.h"

enum { CAUSAL_TOKENS = 3, CAUSAL_WIDTH = 6 };

/* Tokens behind a LayerNorm: Δ_A = eta (W_A g_A + k (u·g_A/w) u) with u = g_{A−1}; the second part
 * is absent for A = 0. In an orthonormal basis q_0 = 1/√w, q_1 … q_5, W_A is diagonal with the
 * entries causal_spectrum[A], but for token 2, whose block of q_2, q_3 is [[λ_2, −ω], [ω, λ_3]].
 * Every √w q_1 is a relative equilibrium, with radial part eta (λ_{A,1} + k[A > 0]) and tangential
 * derivatives eta λ_{A,j}, j = 2 … 5, or eta (λ_2 ± iω) for the pair, λ_2 = λ_3. */
extern const double causal_spectrum[CAUSAL_TOKENS][CAUSAL_WIDTH];
extern const double causal_pull;  /* k */
extern const double causal_twist; /* ω */

/* The map, with parameter eta (1). Its start is a mixture in which q_1 is the largest part. */
dyn_map *causal_norm_map(void);

/* q_j, w numbers. */
void causal_basis(size_t j, double *q);

/* Blocks of two numbers, without a norm: delayed logistic (R = parameter r) as block 0, and a block
 * that follows it, x' = 0.3 x + X, y' = −0.5 y + x X. Neimark-Sacker of block 0 at r = 2. */
dyn_map *causal_pair_map(void);

/* Three blocks of one number: logistic in r, which flips at r = 3; then x' = x + (5 − r)/4 − x²,
 * whose fixed points ±½√(5 − r), with multipliers 1 ∓ √(5 − r), meet at r = 5; and x' = 0.5 x + the
 * sum of the blocks before. */
dyn_map *causal_fold_map(void);

#endif
