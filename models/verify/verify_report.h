/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report on a trained NRGPT: is its η certified to lower energies, where does it fail, how far
 * is the step from where energies rise, what do its orbits do, and what would certify it.
 *
 * Certificate and worst case are those of dyn/dyn_descent.h. Orbits are the prompts of the subject
 * (verify_subject.h), with all tokens moving at once as the model runs; a rise is one above
 * rounding (models/model_trace.h). The reach of the step bound (verify_discrete_descent.h) is found
 * from states of those orbits with the step x′ = x − cΓ∂E/∂g on a frozen prefix, which is the
 * model's own step when η = cΓ.
 */
#ifndef BASIN_VERIFY_REPORT_H
#define BASIN_VERIFY_REPORT_H

#include "dyn/dyn_descent.h"
#include "models/verify/verify_discrete_descent.h"
#include "models/verify/verify_run.h"

#include <stdbool.h>

enum {
    VERIFY_REPORT_CHANNELS = 5, /* offending channels that are named */
    VERIFY_REPORT_REACHES = 24, /* states whose reach is found */
    VERIFY_REPORT_CURVE = 121,  /* step sizes of the curve */
    VERIFY_REPORT_WORD = 48
};

typedef struct verify_report {
    /* γ and what it does to the condition. */
    double gamma_least;
    double gamma_greatest;
    size_t gamma_zeros;
    size_t gamma_negative;

    dyn_descent_certificate certificate; /* its arrays belong to the report */
    size_t n_channels;
    size_t channels[VERIFY_REPORT_CHANNELS]; /* by share in the violation, largest first */

    /* Orbits of the prompts. */
    size_t steps;       /* of each, twice the trained number */
    size_t pairs;       /* (token, step) with a change of energy that is a number */
    size_t rising;      /* of them */
    size_t first_pairs; /* the same for first tokens, which no other moves */
    size_t first_rising;
    size_t late_pairs; /* the same beyond the trained steps */
    size_t late_rising;
    double sigma_first; /* mean over tokens of the norm's denominator, at the start … */
    double sigma_last;  /* … and after the last step */

    /* Reach of the step bound; n_reaches = 0 where the statement does not cover the model. */
    const char *no_reach; /* why; NULL otherwise */
    double step;          /* c of the run's η = cΓ, else of the nearest such matrix */
    size_t n_reaches;
    verify_descent_reach reaches[VERIFY_REPORT_REACHES];
    size_t n_covered; /* states from which the step of size c is covered by the theorem */
    size_t n_never;   /* states from which no step looked at rises */
    double c[VERIFY_REPORT_CURVE];
    verify_descent_sample curve[VERIFY_REPORT_CURVE]; /* of the state of smallest `rises` */
    size_t curve_state;                               /* its index among the reaches */

    void *memory; /* private */
} verify_report;

typedef struct verify_report_options {
    uint64_t seed;
    int workers;
} verify_report_options;

/* Makes the report; the caller owns *out. KERN_INVALID_ARGUMENT for another family than NRGPT;
 * errors of dyn_descent_decide and model_trace_create. Cost: about VERIFY_REPORT_REACHES · 300
 * evaluations of one token's energy, and the traces. */
kern_status verify_report_create(verify_report **out, const verify_subject *subject,
                                 const verify_report_options *options, kern_error *err);

/* NULL is ignored. */
void verify_report_destroy(verify_report *report);

/* A copy of `m`, in its precision, with η replaced by c·diag(γ), the certified family; for a
 * LayerNorm the term 1bᵀ of the nearest certified matrix only moves the mean of a state, which
 * neither norm of the model sees, so that it is left out. KERN_INVALID_ARGUMENT for another family
 * than NRGPT. */
kern_status verify_report_project(model **out, const model *m, double c, kern_error *err);

#endif
