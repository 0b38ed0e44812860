/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One token of an NRGPT with its prefix held, as a map of D numbers.
 *
 * It is the map that dyn_frozen_create (dyn/dyn_frozen.h) makes of model_dynamics_create's, to
 * rounding, at the cost of a token instead of that of a sequence: the keys of the prefix are
 * computed once. Its parameter is step_scale, as the whole map's, its gauge is that of the norm,
 * and its energy that of the token.
 */
#ifndef BASIN_MODEL_TOKEN_H
#define BASIN_MODEL_TOKEN_H

#include "dyn/dyn_map.h"
#include "models/model.h"

/* Token `token` of a sequence whose tokens are in `state` (token + 1 blocks of D numbers or more,
 * of which those behind the token have no effect). The start is the token's block. `m` must be in
 * double precision, outlive the map and its clones, and keep its values; clones may run in other
 * threads. KERN_INVALID_ARGUMENT for another family and for single precision, KERN_OVERFLOW,
 * KERN_NO_MEMORY. Cost of a step: O((H + 1) D²) for full heads, and H D for each token of the
 * prefix; making it costs as much for every token of the prefix. */
kern_status model_token_create(dyn_map **out, const model *m, const double *state, size_t token,
                               kern_error *err);

#endif
