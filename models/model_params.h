/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parameter table: one row per tensor, and its place in one vector.
 *
 * A family adds its rows once; counts, initial values, file names, optimizer settings and the
 * graph's offsets all come from this table. Tensors added between model_params_begin_stack and
 * model_params_end_stack follow each other without a gap, so that the stack reads as one matrix
 * (the heads of an attention layer).
 */
#ifndef BASIN_MODEL_PARAMS_H
#define BASIN_MODEL_PARAMS_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

enum { MODEL_PARAM_NAME = 96 };

typedef enum model_init {
    MODEL_INIT_NORMAL,  /* Gaussian, mean 0, deviation `value` */
    MODEL_INIT_CONSTANT /* every entry is `value` */
} model_init;

typedef struct model_param {
    char name[MODEL_PARAM_NAME]; /* as in the published checkpoints */
    size_t rank;                 /* 1: vector of `cols`; 2: matrix rows × cols */
    size_t rows;                 /* 1 for a vector */
    size_t cols;
    size_t offset; /* first element in the parameter vector */
    model_init init;
    double value;
    bool trained;   /* false: stored and counted, never changed */
    bool undecayed; /* a matrix that weight decay leaves alone, as it does vectors */
} model_param;

typedef struct model_params {
    model_param *items;
    size_t count;
    size_t room;
    size_t length;   /* of the parameter vector, gaps included */
    size_t elements; /* parameters proper: what a paper would count */
    bool in_stack;
} model_params;

/* Adds a row; `param` gives everything but the offset, which is returned in *offset (when not
 * NULL). KERN_OVERFLOW when the vector would exceed 2³⁴ elements. */
kern_status model_params_add(model_params *params, const model_param *param, size_t *offset,
                             kern_error *err);

void model_params_begin_stack(model_params *params);
void model_params_end_stack(model_params *params);

/* Row named `name`, or NULL. */
const model_param *model_params_find(const model_params *params, const char *name);

/* Rows × cols. */
size_t model_param_size(const model_param *param);

void model_params_fini(model_params *params);

#endif
