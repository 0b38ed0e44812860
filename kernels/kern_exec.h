/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An execution: a plan with memory and a backend, ready to run.
 *
 * One execution is used by one thread at a time (it may use several workers inside). Several
 * executions of one plan run side by side, each with its own buffer, sharing parameters.
 */
#ifndef BASIN_KERN_EXEC_H
#define BASIN_KERN_EXEC_H

#include "kernels/kern_op.h"
#include "kernels/kern_plan.h"

/* Seconds and calls by operation and phase, filled when a run carries one. */
typedef struct kern_profile {
    double seconds[KERN_OP_COUNT][3];
    size_t calls[KERN_OP_COUNT][3];
} kern_profile;

/* What one run is bound to. Pointers are to reals of the backend's precision and are not owned. */
typedef struct kern_run {
    const void *params;         /* parameter vector */
    const void *packed;         /* kern_graph_pack's copies of it */
    void *param_gradients;      /* VJP: added to; NULL: not wanted */
    const void *param_tangents; /* JVP: NULL means zero */
    kern_bindings bindings;
    kern_profile *profile; /* NULL: no timing */
} kern_run;

typedef struct kern_exec kern_exec;

/* Allocates buffer and scratch for `workers` workers. The plan and the backend must outlive the
 * execution. */
kern_status kern_exec_create(kern_exec **out, const kern_plan *plan, const kern_backend *backend,
                             int workers, kern_error *err);
void kern_exec_destroy(kern_exec *exec);

/* Memory of a kept value or input, and of its derivative; NULL when the plan has none. */
void *kern_exec_value(const kern_exec *exec, kern_value value);
void *kern_exec_derivative(const kern_exec *exec, kern_value value);

/* Computes all values. */
void kern_exec_forward(kern_exec *exec, const kern_run *run);

/* Pushes `count` tangents, 1 to kern_plan_tangents, through a JVP plan, after a forward run with
 * the same binding; it may be called again with others. Tangent t of a value begins t times the
 * value's size after the first, and the caller has written those of the `wrt` inputs. Parameters
 * have one tangent for all. With `own_rows` in the binding, rows act on themselves only: since
 * only attention and interaction mix rows, the outcome is the block-diagonal part of the
 * Jacobian, one block for each row, times the tangent. */
void kern_exec_tangents(kern_exec *exec, const kern_run *run, size_t count);

/* Runs the backward pass of a VJP plan, after a forward run with the same binding and after the
 * caller has written the seeds. */
void kern_exec_backward(kern_exec *exec, const kern_run *run);

#endif
