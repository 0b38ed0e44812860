/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The matrices γ and η of a descent certificate (dyn_descent.h) with a state and a gradient, as
 * claims draw and read them.
 *
 * Record: word norm; numbers width D, epsilon, unit (rounding of η's entries, 0 for f64), c;
 * matrices gamma (1×D), eta (D×D), x and v (1×D each; both 0 where η is certified and there is no
 * witness).
 */
#ifndef BASIN_VERIFY_DESCENT_INSTANCE_H
#define BASIN_VERIFY_DESCENT_INSTANCE_H

#include "dyn/dyn_descent.h"
#include "dyn/dyn_descent_gradient.h"
#include "kernels/kern_rng.h"
#include "models/verify/verify_record.h"
#include "models/verify/verify_subject.h"
#include "models/verify/verify_work.h"

/* Kinds of η that are drawn. Entries of a member are exact: whole numbers over 8 and their
 * products.
 */
typedef enum verify_eta {
    VERIFY_ETA_MEMBER,   /* cΓ + 1bᵀ, γ of either sign and some 0 */
    VERIFY_ETA_IDENTITY, /* from here to POSITIVE_SKEW γ > 0 and η₊ is positive definite */
    VERIFY_ETA_DIAGONAL,
    VERIFY_ETA_POSITIVE,
    VERIFY_ETA_POSITIVE_SKEW,
    VERIFY_ETA_FULL,          /* normal entries, γ of either sign */
    VERIFY_ETA_NEAR,          /* cΓ + 1bᵀ and normal entries of a size of 1 … 10⁻¹² */
    VERIFY_ETA_NEAR_DIAGONAL, /* the same on the diagonal only */
    VERIFY_ETAS
} verify_eta;

/* A record as read. Pointers go into the record and the workspace. */
typedef struct verify_descent {
    dyn_descent_system system;
    double c;
    const double *x, *v;
    void *work;                    /* of dyn_descent_decide */
    dyn_descent_certificate found; /* with room */
    dyn_descent_gradient gradient; /* with room */
} verify_descent;

/* Puts norm, width (3 … 16), ε in {0, 1e-5, 0.5}, γ, η of a kind, c, and a normal x and v. */
kern_status verify_descent_draw(verify_record *record, kern_rng *rng, size_t trial, verify_eta kind,
                                kern_error *err);

/* Puts those of a run, with c = 1 and x = v = 0. The unit is that of single precision if every
 * entry of η is a single, else 0. */
kern_status verify_descent_put_run(verify_record *record, const verify_subject *subject,
                                   kern_error *err);

/* Reads a record. KERN_BAD_INPUT for one that is none; KERN_NO_MEMORY. */
kern_status verify_descent_read(verify_descent *q, const verify_record *record, verify_work *work,
                                kern_error *err);

/* Decides (dyn_descent_decide) and puts the witness, where there is one, in place of x and v, and
 * the c of the worst case in place of c. */
kern_status verify_descent_sharpen(verify_record *record, verify_work *work, kern_error *err);

/* The same for descent along the gradient with respect to the state, without c. */
kern_status verify_descent_sharpen_gradient(verify_record *record, verify_work *work,
                                            kern_error *err);

/* True unless v = 0, which stands for no witness. */
bool verify_descent_has_witness(const verify_descent *q);

/* As verify_claim's `applies`, for what asks for the η and γ of an NRGPT with a norm. */
const char *verify_descent_applies(const verify_subject *subject);

#endif
