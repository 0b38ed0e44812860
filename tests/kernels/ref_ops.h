/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference forms of every operation's forward: the formulas of kernels/kern_op.h written down as
 * plainly as possible, in double, for tests only.
 */
#ifndef BASIN_REF_OPS_H
#define BASIN_REF_OPS_H

#include "kernels/kern_op.h"

#include <stddef.h>

/* What a reference sees: inputs (NULL where absent) with their shapes, and outputs, all written. */
typedef struct ref_call {
    const kern_attr *attr;
    const kern_bindings *bindings;
    const double *in[KERN_MAX_IN];
    kern_shape in_shape[KERN_MAX_IN];
    double *out[KERN_MAX_OUT];
    kern_shape out_shape[KERN_MAX_OUT];
} ref_call;

/* Computes all outputs of operation `id`, the saved ones too. */
void ref_forward(kern_op_id id, const ref_call *call);

#endif
