/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orbits of one token on a frozen prefix, x′ = x − cΓ∇E(g(x)), and what can be said of them.
 */
#ifndef BASIN_VERIFY_ASYMPTOTIC_H
#define BASIN_VERIFY_ASYMPTOTIC_H

#include "models/verify/verify_claim.h"
#include "models/verify/verify_nrgpt_instance.h"

/* What an orbit of `steps` steps came to. */
typedef struct verify_orbit {
    size_t steps;
    size_t late;           /* steps before it do not count for `rises` and `worst` */
    size_t rises;          /* steps from `late` on that raise the energy beyond rounding */
    double worst;          /* largest change of the energy from `late` on, less its rounding … */
    double worst_rounding; /* … and that rounding */
    double first_energy;
    double energy;     /* at the end */
    double decrements; /* Σ (σ_t + σ_{t+1})/(2c) |x̂_{t+1} − x̂_t|² */
    double rounding;   /* of first_energy − energy − decrements, added up */
    double first_move; /* |x_1 − x_0| */
    double last_move;  /* |x_T − x_{T−1}| */
    double first_sigma, sigma;
    double first_tangent, tangent; /* |PΓ∇E| */
} verify_orbit;

/* Sees a state and its number, from 0 on. */
typedef void verify_orbit_visit(void *context, const verify_nrgpt *q, const verify_nrgpt_point *p,
                                size_t step);

/* Follows the orbit of q->x; `visit` may be NULL. KERN_NO_MEMORY; KERN_INTERRUPTED. */
kern_status verify_orbit_run(const verify_nrgpt *q, double c, size_t steps, size_t late,
                             verify_orbit_visit *visit, void *context, verify_work *work,
                             verify_orbit *orbit, kern_error *err);

/* |PΓ∇E| at a point: the tangential gradient, 0 exactly where the direction rests. */
double verify_orbit_tangent(const verify_nrgpt *q, const verify_nrgpt_point *p);

#endif
