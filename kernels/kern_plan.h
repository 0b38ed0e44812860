/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A plan: the order in which a graph's functions run, and where every number lies.
 *
 * The plan is a list of instructions (forward, vjp or jvp of one node) over slots of one buffer. A
 * slot lives from the first instruction that writes it to the last that reads it; slots whose lives
 * do not meet share memory, and elementwise results take the place of what they consume. Sizes are
 * in reals, so one plan serves every precision. Plans are read-only once made.
 *
 *   KERN_MODE_FORWARD  forward of every node
 *   KERN_MODE_VJP      forward, then cotangents from the seeds back to parameters and `wrt`
 *   KERN_MODE_JVP      forward, then tangents from `wrt` (and parameters) on, any number of times:
 *                      whatever tangents read of the forward pass stays in memory
 *
 * With `recompute`, results inside a segment are forgotten after the forward pass and computed
 * again just before the segment's vjp; only what crosses segments stays.
 */
#ifndef BASIN_KERN_PLAN_H
#define BASIN_KERN_PLAN_H

#include "kernels/kern_graph.h"

typedef enum kern_mode { KERN_MODE_FORWARD, KERN_MODE_VJP, KERN_MODE_JVP } kern_mode;

typedef enum kern_phase { KERN_PHASE_FORWARD, KERN_PHASE_VJP, KERN_PHASE_JVP } kern_phase;

typedef struct kern_plan_options {
    kern_mode mode;
    bool recompute;        /* VJP only */
    bool params;           /* VJP: parameter cotangents wanted; JVP: parameters may have tangents */
    const kern_value *wrt; /* inputs with a cotangent (VJP) or tangent (JVP) */
    size_t n_wrt;
    size_t tangents; /* JVP: most tangents that one pass carries, one after another in the memory of
                        each derivative; 0 is 1 */
    const kern_value *seeds; /* VJP: kept results whose cotangents the caller writes */
    size_t n_seeds;
} kern_plan_options;

#define KERN_NO_SLOT SIZE_MAX

/* Offsets in reals into the buffer, KERN_NO_SLOT where there is nothing. Parameters, and their
 * derivatives, are found through the binding instead. */
typedef struct kern_instruction {
    size_t node;
    kern_phase phase;
    size_t in[KERN_MAX_IN];
    size_t out[KERN_MAX_OUT];
    size_t d_in[KERN_MAX_IN];
    size_t d_out[KERN_MAX_OUT];
    bool accumulate[KERN_MAX_IN];
    bool param_d_in[KERN_MAX_IN]; /* derivative of this input is the parameter's */
} kern_instruction;

typedef struct kern_plan kern_plan;

/* Plans `graph`, which must outlive the plan. KERN_INVALID_ARGUMENT when a seed is not a kept
 * result or a `wrt` value not an input. Naming one twice is allowed. */
kern_status kern_plan_create(kern_plan **out, const kern_graph *graph,
                             const kern_plan_options *options, kern_error *err);
void kern_plan_destroy(kern_plan *plan);

const kern_graph *kern_plan_graph(const kern_plan *plan);
kern_mode kern_plan_mode(const kern_plan *plan);

/* Reals of the buffer, and of one worker's scratch. */
size_t kern_plan_buffer_size(const kern_plan *plan);
size_t kern_plan_scratch_size(const kern_plan *plan);

/* Reals of the buffer in use between the forward pass and the rest: what the latter reads of the
 * former, with inputs, kept values and the cotangents of inputs; every one rounded up to whole
 * cache lines, as in the buffer. */
size_t kern_plan_kept_size(const kern_plan *plan);

/* Tangents that the memory of a derivative holds: 1 but in a JVP plan. */
size_t kern_plan_tangents(const kern_plan *plan);

/* All instructions, and how many of them are the forward pass, which comes first. */
const kern_instruction *kern_plan_instructions(const kern_plan *plan, size_t *count);
size_t kern_plan_forward_count(const kern_plan *plan);

/* Offset of a kept value or input, and of its derivative (a seed, or a `wrt` input; in a JVP of any
 * kept value); KERN_NO_SLOT when there is none. */
size_t kern_plan_value_offset(const kern_plan *plan, kern_value value);
size_t kern_plan_derivative_offset(const kern_plan *plan, kern_value value);

#endif
