/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Instances for the step bound of the gated energies, with the bound's factor to choose: what a
 * test needs that makes the claim wrong on purpose.
 */
#ifndef BASIN_VERIFY_CEM_MLP_BOUND_H
#define BASIN_VERIFY_CEM_MLP_BOUND_H

#include "kernels/kern_rng.h"
#include "models/verify/verify_record.h"
#include "models/verify/verify_work.h"

#include <stddef.h>

/* Puts an instance with η λmax(P) m ≤ limit, with equality in half of them. For limit > 2 the
 * statement of cem-mlp-step-bound is false. */
kern_status verify_cem_draw_bounded(kern_rng *rng, size_t trial, double limit, verify_work *work,
                                    verify_record *record, kern_error *err);

#endif
