/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether the preconditioners of a model are positive definite. P = diag(softplus δ) + U Vᵀ + V Uᵀ
 * is symmetric, but nothing in its form keeps it positive: U Vᵀ + V Uᵀ = ½(U+V)(U+V)ᵀ −
 * ½(U−V)(U−V)ᵀ, so it is surely so only while min softplus δ > ½‖U − V‖₂². A step along −P∇ε need
 * not descend otherwise. diag(γ) is left out: its descent does not depend on the sign of γ.
 */
#ifndef BASIN_MODEL_POSITIVE_H
#define BASIN_MODEL_POSITIVE_H

#include "models/model.h"

typedef struct model_positive {
    size_t checked;    /* preconditioners looked at; 0 for a model without */
    size_t indefinite; /* of them not positive definite */
    double smallest;   /* smallest eigenvalue of the worst of those; +∞ when there is none */
    char name[MODEL_PARAM_NAME]; /* that one: "layers.l.attn" or "layers.l.mlp" */
} model_positive;

/* Looks at every P of `m`, in double precision: first the bound above with the Frobenius norm, then
 * a Cholesky decomposition of the D×D matrix. KERN_NO_MEMORY, and KERN_NAN when a parameter is not
 * finite. Cost at most D³/3 for each P that the bound leaves open, and as much for each of about
 * fifty bisections where it is not positive. */
kern_status model_positive_check(const model *m, model_positive *out, kern_error *err);

/* Smallest eigenvalue of the P of sub-layer "layers.l.attn" or "layers.l.mlp", by bisection of
 * P − μI between the two sides of Gershgorin's disc and of the bound, to 2⁻⁴⁶ of their distance.
 * KERN_NOT_FOUND when it has no P of this form. */
kern_status model_positive_smallest(const model *m, const char *name, double *smallest,
                                    kern_error *err);

/* As the check, with an indefinite P an error: KERN_INVALID_ARGUMENT, which names the sub-layer and
 * its smallest eigenvalue. */
kern_status model_positive_require(const model *m, kern_error *err);

#endif
