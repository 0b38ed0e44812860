/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How well a computed cycle is known: its states, and from them its multipliers.
 *
 * Let r be the distance from x_0 of F^p(x_0) and 1 − μ the smallest of 1 less a multiplier. Near a
 * simple solution Newton's step, of length about r/|1 − μ|, is the distance from it; near one of
 * multiplicity m, with r ~ s^m and |1 − μ| ~ m s^{m−1} at distance s, that is m such steps. At
 * bifurcations of codimension one m is 2 (a fold) or 3 (a pitchfork, or a flip seen by the second
 * iterate), so
 *
 *     position = 2 · 3 · r/|1 − μ|,
 *
 * twice that for what the leading term leaves out, and no more than 10 ∛r: a multiplier that is +1
 * since solutions fill a curve makes the quotient ∞ and says nothing of a single one. To r belongs
 * the rounding of one step, 4ε max(1, |x|) max(1, ρ). Multipliers are uncertain by that times their
 * change with the states, from differences, and by the error of the Jacobian. Both are estimates: a
 * strongly non-normal Jacobian can make the first too small.
 */
#ifndef BASIN_DYN_CYCLE_ACCURACY_H
#define BASIN_DYN_CYCLE_ACCURACY_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_multipliers.h"

/* X(name, word). */
#define DYN_STABILITY_LIST(X)                                                                      \
    X(UNKNOWN, "unknown")                                                                          \
    X(STABLE, "stable")                                                                            \
    X(MARGINAL, "marginal")                                                                        \
    X(UNSTABLE, "unstable")

typedef enum dyn_stability {
#define DYN_STABILITY_ENUM(name, word) DYN_STABILITY_##name,
    DYN_STABILITY_LIST(DYN_STABILITY_ENUM)
#undef DYN_STABILITY_ENUM
        DYN_STABILITY_COUNT
} dyn_stability;

/* Word of a verdict; "unknown" for a value outside the list. */
const char *dyn_stability_word(dyn_stability stability);

typedef struct dyn_cycle_accuracy {
    double position;   /* of a state; NaN when the multipliers are not known */
    double multiplier; /* of the largest modulus; NaN likewise */
} dyn_cycle_accuracy;

/* The uncertainty of the position alone: `multiplier` becomes NaN. `multipliers` are those of the
 * cycle `states` (period × size numbers). Cost: period steps. KERN_NO_MEMORY. */
kern_status dyn_cycle_accuracy_locate(dyn_cycle_accuracy *out, dyn_map *map, const double *states,
                                      const dyn_multipliers *multipliers, kern_error *err);

/* Both, and the verdict: unstable or stable when the spectral radius differs from 1 by more than
 * `multiplier`, marginal when it does not, unknown when it is NaN. Cost: four times the multipliers
 * where the radius is within a hundredth of 1; elsewhere `multiplier` is only the error of the
 * Jacobian, and the verdict does not depend on it. KERN_NO_MEMORY. */
kern_status dyn_cycle_accuracy_judge(dyn_cycle_accuracy *out, dyn_stability *stability,
                                     dyn_map *map, const double *states,
                                     const dyn_multipliers *multipliers, kern_error *err);

#endif
