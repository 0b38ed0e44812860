/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A map with a norm, as a map of directions: the chart in which relative equilibria are fixed
 * points.
 *
 * Behind a norm a block's update Δ(x) = F(x) − x depends on the block's direction x̂ (centred for
 * DYN_GAUGE_SCALE_SHIFT, |x̂|² = w, the block's width), x = σ x̂ + mean. The scale σ drifts for
 * ever, so fixed points, multipliers and exponents in x mislead; what settles is x̂, at a pace set
 * by η/σ. The chart pins σ of every block and follows the direction:
 *
 *   z ↦ N(σ z̄ + r Δ(σ z̄)),   z̄ = N(z),   N = centre (where the mean is gauge), scale to |·|² = w
 *
 * with r the parameter `rate`, the factor on η/σ (1: the map's own). All blocks are at their pinned
 * scales times the parameter `sigma_scale`. Further parameters are the map's.
 *
 * The chart's state stays embedded: w numbers a block rather than w − 1 or w − 2 coordinates in a
 * tangent basis, which would need a new basis at every step and would break orbits, plots and
 * distances. Since the rule normalises its argument first, it is defined for every z, it does not
 * feel the gauge at all, and its Jacobian has one (scale) or two (scale and shift) structural zero
 * multipliers per block, with directions z and 1 (`block_zeros` of dyn_map). They cannot be taken
 * for critical ones, and J − I stays regular, so Newton's method needs no deflation.
 *
 * At a relative equilibrium the centred update is radial, CΔ_A = a x̂_A; a is `radial`, the growth
 * of σ_A per step at rate 1. This does not depend on r. With α_j the eigenvalues of the tangential
 * derivative of Δ_A with respect to x̂_A, the multipliers of the block at rate r are
 *
 *   μ_j(r) = (σ + r α_j)/(σ + r a)
 *
 * so where a block flips (μ = −1) at r = −2σ/(α_j + a) or loses stability to a complex pair at
 * r = 2σ(a − Re α_j)/(|α_j|² − a²) is known in closed form (dyn_chart_margins). For Δ = −c ∇E and
 * ε = 0, α_j = −c λ_j and a = −c κ with λ_j the eigenvalues of the tangential Hessian of E and
 * κ = x̂·∇E/w: the flip is at r c/σ = 2/(λ_max + κ). A symmetric tangential derivative has real
 * α_j; complex ones put the map outside the family of preconditioned gradient maps.
 */
#ifndef BASIN_DYN_CHART_H
#define BASIN_DYN_CHART_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_multipliers.h"

#include <stdbool.h>
#include <stddef.h>

/* Places of the chart's own parameters; those of the map inside follow. */
enum { DYN_CHART_RATE, DYN_CHART_SIGMA_SCALE, DYN_CHART_PARAMS };

/* Dimensions of the gauge of one block: 0, 1 or 2. */
size_t dyn_gauge_count(dyn_gauge gauge);

/* Directions z (map->size numbers, may be x) and scales (block_count numbers) of the blocks of x,
 * for a map with a gauge: σ_A = sqrt(Σ(x − mean)²/w), without the mean where that is no gauge and
 * without any ε. Either output may be NULL. A block of norm 0 gives σ = 0 and NaN. Without a gauge
 * z is x and σ is 1. */
void dyn_chart_split(const dyn_map *map, const double *x, double *z, double *sigma);

/* x_A = σ_A z_A; x may be z. */
void dyn_chart_join(const dyn_map *map, const double *z, const double *sigma, double *x);

/* Makes the chart of `inner`, of which it takes a clone. Scales and start are those of the state x
 * (inner->size numbers; NULL: inner's start); `sigma` (block_count numbers, NULL: those of x)
 * overrides the scales. Clones are independent. KERN_INVALID_ARGUMENT for a map without a gauge, a
 * state that is not finite, and a scale that is not positive; KERN_NO_MEMORY; errors of clone. Each
 * call costs the same call of `inner`, and a vjp one step more. */
kern_status dyn_chart_create(dyn_map **out, const dyn_map *inner, const double *x,
                             const double *sigma, kern_error *err);

/* True for what dyn_chart_create made. The calls below accept nothing else. */
bool dyn_chart_is(const dyn_map *map);

/* Pinned scales with sigma_scale, block_count numbers, as of the last call of the map or of this
 * function; and the inner map, with the chart's parameters. Both borrowed. */
const double *dyn_chart_sigma(const dyn_map *chart);
dyn_map *dyn_chart_inner(const dyn_map *chart);

/* How the update of every block at directions z is made up, at rate 1: radial[A] = x̂_A·Δ_A/w and
 * tangential[A] = |CΔ_A − radial x̂_A|/√w, 0 at a relative equilibrium; block_count numbers
 * each. `work` holds block_width numbers. */
void dyn_chart_update(dyn_map *chart, const double *z, double *radial, double *tangential,
                      double *work);

/* Where one block that is at a relative equilibrium loses stability as r grows from 0. Rates that
 * do not exist are ∞, and so are those with σ + r a ≤ 0, where a block shrinks through 0 in one
 * step and comes out the other way round. */
typedef struct dyn_chart_margins {
    double sigma;  /* pinned, with sigma_scale */
    double radial; /* a */
    double flip;   /* smallest r > 0 with a multiplier −1 */
    double ns;     /* smallest r > 0 with a complex pair of modulus 1 */
    double lost; /* smallest r > 0 from which on it is not stable: 0 when Re α_j ≥ a for some j,
                  * else the smaller of flip and ns */
    size_t n_complex; /* complex multipliers; none in the certified family */
} dyn_chart_margins;

/* Margins of block `block` of the multipliers `m` of the chart at a relative equilibrium, as
 * dyn_multipliers_init gave it there at the chart's present parameters; `radial` is that of the
 * block. With rate 0 the multipliers say nothing, and every margin is NaN. */
dyn_chart_margins dyn_chart_find_margins(const dyn_map *chart, const dyn_multipliers_block *m,
                                         double radial);

/* The same from multipliers of any map with scale `sigma` at rate `rate`, of which the last `zeros`
 * are structural. A map x' = x + r Δ(x) without a norm is the case σ = 1, a = 0, no zeros: at a
 * fixed point μ_j(r) = 1 + r α_j, a flip at r = −2/α_j and a pair on the circle at r = −2 Re α_j /
 * |α_j|². */
dyn_chart_margins dyn_chart_derive_margins(const dyn_multipliers_block *m, size_t zeros,
                                           double sigma, double radial, double rate);

/* Spectral radius that the same block has at another rate `to`. */
double dyn_chart_radius_at(const dyn_multipliers_block *m, size_t zeros, double sigma,
                           double radial, double rate, double to);

#endif
