/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far the step bound of the discrete descent theorem is from where energies do rise; for
 * figures.
 */
#ifndef BASIN_VERIFY_DISCRETE_DESCENT_H
#define BASIN_VERIFY_DISCRETE_DESCENT_H

#include "models/verify/verify_claim.h"

/* One step of size c from an instance's state. */
typedef struct verify_descent_sample {
    double c;
    double change;    /* E(g′) − E(g) */
    double tolerance; /* of the change, from rounding */
    double allowed; /* the lemma's upper bound of the change, −½[(σ + σ′)/c − mγ²]|x̂′ − x̂|² */
    double share; /* c mγ²/(σ + σ′): the theorem covers the step where this is at most 1 */
} verify_descent_sample;

/* The samples at the `count` step sizes c (each positive) of the instance of a record that
 * discrete-descent or one of its relatives drew. Errors of verify_nrgpt_read. */
kern_status verify_descent_curve(const verify_record *record, size_t count, const double *c,
                                 verify_descent_sample *samples, verify_work *work,
                                 kern_error *err);

/* Where the theorem ends and where energies begin to rise, from one state. */
typedef struct verify_descent_reach {
    double covered; /* every step up to this c is covered; ∞ when all are */
    double rises; /* the smallest c found whose step raises the energy beyond rounding; ∞ when none
                   * does up to `limit` */
    double limit; /* largest c looked at */
} verify_descent_reach;

/* Looks at 32 step sizes a decade, from a thousandth of the bound without σ′ to a thousand times
 * it, and bisects to 1e-6. A rise between two sizes that fall on either side is missed. */
kern_status verify_descent_find_reach(const verify_record *record, verify_descent_reach *reach,
                                      verify_work *work, kern_error *err);

#endif
