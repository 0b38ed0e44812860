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

/* Compares a value of the graph; KERN_BAD_INPUT when it is KERN_NO_VALUE: the tensor means nothing
 * for this model. */
kern_status model__checker_compare_value(model__checker *c, const model_safetensors_entry *entry,
                                         kern_value value);

/* Step number in a tail "3"; SIZE_MAX when it is none, or above `most`. And the error that this is.
 */
size_t model__checker_number(const char *tail, size_t most);
kern_status model__checker_no_step(const model__checker *c, const model_safetensors_entry *entry);

/* Check of trace/layers.…: iterates and energies inside a layer. */
kern_status model__check_trace(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail);

/* Checks of grad_g_published/t and grad_g_exact/t. */
kern_status model__check_published(model__checker *c, const model_safetensors_entry *entry,
                                   const char *tail);
kern_status model__check_exact(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail);

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
