/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies of a model whose sub-MLPs stand in another order, are left out, or read the same input:
 * what their order and each of them is worth is the difference of the loss.
 */
#ifndef BASIN_MODEL_HOURGLASS_VARIANT_H
#define BASIN_MODEL_HOURGLASS_VARIANT_H

#include "models/model.h"

/* A copy in which place k of layer `layer` is taken by the sub-MLP that stood at order[k]; `order`
 * is a permutation of 0 … K − 1. A sub-MLP takes its gain with it, but for the gain of variant B,
 * which belongs to the norm in front. KERN_INVALID_ARGUMENT for a model without an hourglass, a
 * layer that it does not have, no permutation, and widths of more than MODEL_WIDTHS_MAX sub-MLPs
 * that would have to be listed; KERN_NO_MEMORY. */
kern_status model_hourglass_reorder(model **out, const model *m, size_t layer, const size_t *order,
                                    kern_error *err);

/* A copy in which sub-MLP k of a layer adds nothing. Errors as above. */
kern_status model_hourglass_drop(model **out, const model *m, size_t layer, size_t k,
                                 kern_error *err);

/* A copy in which all sub-MLPs of a layer read the input of the first, in every layer. */
kern_status model_hourglass_parallelise(model **out, const model *m, kern_error *err);

#endif
