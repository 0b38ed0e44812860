/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trace of a model with CEM sub-layers: every token's iterates and conditional energies inside
 * every layer, at a prompt, in double precision.
 *
 * Under fixed history each energy is one function of the token's own state, so a rise says that the
 * step did not descend; under a synchronous history the function changes from step to step. With
 * plain rotary positions a step is not along the energy's gradient, and with the norm in every step
 * it is so up to the norm's Jacobian only.
 */
#ifndef BASIN_MODEL_LAYER_TRACE_H
#define BASIN_MODEL_LAYER_TRACE_H

#include "models/model_family.h"
#include "models/model_trace.h"

/* Arrays are (layers, tokens, states) and (layers, tokens, states, D); a part that is no descent
 * has no states and no arrays. All owned. */
typedef struct model_layer_trace {
    size_t layers;
    size_t tokens;
    size_t width;                      /* D */
    size_t states[MODEL_LAYER_PARTS];  /* steps + 1 */
    size_t trained[MODEL_LAYER_PARTS]; /* T of training */
    double *energy[MODEL_LAYER_PARTS];
    double *x[MODEL_LAYER_PARTS];
    size_t n_steps; /* of all layers, parts and tokens */
    size_t n_rising;
} model_layer_trace;

/* Traces `attn` and `mlp` steps of each sub-layer (0: as many as in training) at the prompt `ids`.
 * Every sub-layer hands on what it has after its trained steps, so that those behind it get the
 * inputs of the trained model, whose trajectories the first T steps are; steps beyond T go on from
 * there. `m` may have either precision. KERN_INVALID_ARGUMENT for a model without CEM sub-layers,
 * an empty or too long prompt, an id outside the vocabulary, or too many steps. Cost: one forward
 * pass of as many steps. */
kern_status model_layer_trace_create(model_layer_trace **out, const model *m, const int32_t *ids,
                                     size_t tokens, size_t attn, size_t mlp, kern_error *err);
void model_layer_trace_destroy(model_layer_trace *trace);

/* Energies of one part of one layer, tokens × states; NULL for a part that is no descent. */
const double *model_layer_trace_energy(const model_layer_trace *trace, size_t layer,
                                       model_layer_part part);

/* What the numbers of a part's energy ε are measured in: neither is a log probability as the
 * energies of an NRGPT are. The interaction energy −τ Σ log Σ exp(score/τ) has the unit of the
 * scores, of which τ = √(head width) are one nat; the elementwise one has that of a gate times a
 * squared preactivation. */
typedef struct model_energy_unit {
    const char *key;     /* in files: "score", "gate*preactivation^2" */
    const char *label;   /* in plain words, short enough for an axis */
    const char *meaning; /* what goes behind "energy in units of" */
} model_energy_unit;

const model_energy_unit *model_layer_energy_unit(model_layer_part part);

/* True when the energy rises by more than rounding. */
bool model_layer_trace_rises(double before, double after);

/* Writes the trace as HDF5, atomically. */
kern_status model_layer_trace_write(const model_layer_trace *trace,
                                    const model_trace_labels *labels, const char *path,
                                    kern_error *err);

#endif
