/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pattern search (R. Hooke and T. A. Jeeves 1961) on the numbers of a record towards a violation of
 * a claim: what `sharpen` does where there is no gradient to follow.
 */
#ifndef BASIN_VERIFY_CLIMB_H
#define BASIN_VERIFY_CLIMB_H

#include "models/verify/verify_claim.h"

typedef kern_status verify_climb_check(const verify_record *record, verify_work *work,
                                       verify_outcome *outcome, kern_error *err);

/* Moves the entries `names` (ends with a NULL) of the record, one number after the other, while
 * that makes (left − right)/scale larger, and halves the stride when none does, from a quarter of
 * an entry's root mean square on. A record that `check` skips is never entered, nor one that it
 * calls NaN. Single numbers are multiplied rather than added to, and keep their sign. Ends after
 * `budget` checks. Errors of `check`. */
kern_status verify_climb(verify_record *record, const char *const *names, verify_climb_check *check,
                         verify_work *work, size_t budget, kern_error *err);

#endif
