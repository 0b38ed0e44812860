/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of model_vectors share.
 */
#ifndef BASIN_MODEL_VECTORS_PRIVATE_H
#define BASIN_MODEL_VECTORS_PRIVATE_H

#include "kernels/kern_exec.h"
#include "models/model_graph.h"
#include "models/model_safetensors.h"
#include "models/model_vectors.h"

/* One file being checked: its model, run once forward and backward. Owns all but file, report and
 * err. */
typedef struct model__checker {
    const model_safetensors *file;
    model_vectors_report *report;
    kern_error *err;
    model *m;
    size_t batch;
    size_t tokens;
    int32_t *idx;
    int32_t *targets;
    model_graph graph;
    kern_plan *plan;
    kern_exec *exec;
    double *packed;
    double *gradients;
} model__checker;

/* All values of the tensor `name`, which must have `count` of them; the caller frees *values, which
 * is NULL on failure. KERN_BAD_INPUT when there is no such tensor. */
kern_status model__checker_read(const model__checker *c, const char *name, size_t count,
                                double **values);

/* Compares `count` computed values with tensor `entry` and counts the outcome in the report. */
kern_status model__checker_compare(model__checker *c, const model_safetensors_entry *entry,
                                   const double *computed, size_t count, double tolerance);

/* Checks of jvp_out, vjp_out, jac_token_blocks and jac_eig_abs_sorted; `tail` is not used. */
kern_status model__check_jvp(model__checker *c, const model_safetensors_entry *entry,
                             const char *tail);
kern_status model__check_vjp(model__checker *c, const model_safetensors_entry *entry,
                             const char *tail);
kern_status model__check_blocks(model__checker *c, const model_safetensors_entry *entry,
                                const char *tail);
kern_status model__check_spectrum(model__checker *c, const model_safetensors_entry *entry,
                                  const char *tail);

#endif
