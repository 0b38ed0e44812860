/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model: a configuration, its parameter table, and parameter values in one precision.
 */
#ifndef BASIN_MODEL_H
#define BASIN_MODEL_H

#include "kernels/kern_op.h"
#include "models/model_config.h"
#include "models/model_params.h"

#include <stdint.h>

typedef struct model {
    model_config config;
    model_params params;
    const kern_backend *backend; /* fixes the precision of `values` */
    void *values;                /* params.length reals, gaps zero; owned */
} model;

/* Builds the table for `config` and reserves values (all zero). KERN_INVALID_ARGUMENT from
 * model_config_check; KERN_NO_MEMORY. */
kern_status model_create(model **out, const model_config *config, const kern_backend *backend,
                         kern_error *err);
void model_destroy(model *m);

/* Initial values of every tensor: Gaussian ones from stream (seed, "init", row), so that a tensor's
 * values do not depend on the others. */
kern_status model_init_values(model *m, uint64_t seed, kern_error *err);

/* A copy of `m` in the precision of `backend`. */
kern_status model_convert(model **out, const model *m, const kern_backend *backend,
                          kern_error *err);

/* Reads and writes one element in either precision. */
double model_value_get(const model *m, size_t index);
void model_value_set(model *m, size_t index, double value);

/* KERN_INVALID_ARGUMENT for a prompt that is empty, longer than the model's block or, unless `ids`
 * is NULL, with an id outside the vocabulary. */
kern_status model_check_prompt(const model *m, const int32_t *ids, size_t tokens, kern_error *err);

/* KERN_BAD_INPUT naming the tensor when a value is NaN or infinite. */
kern_status model_check_finite(const model *m, kern_error *err);

#endif
