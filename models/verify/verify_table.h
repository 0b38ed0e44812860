/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of all claims, in the order in which they are reported. A claim is added by its
 * declaration here and one line in verify_table.c.
 */
#ifndef BASIN_VERIFY_TABLE_H
#define BASIN_VERIFY_TABLE_H

#include "models/verify/verify_claim.h"

extern const verify_claim verify_cem_attention_equivalence; /* verify_cem_equivalence.c */
extern const verify_claim verify_cem_mlp_equivalence;
extern const verify_claim verify_cem_concavity; /* verify_cem_concave.c */
extern const verify_claim verify_cem_concavity_run;
extern const verify_claim verify_cem_descent_once;
extern const verify_claim verify_cem_unconditional_descent; /* verify_cem_descent.c */
extern const verify_claim verify_cem_unconditional_descent_run;
extern const verify_claim verify_cem_dlr_not_monotone;
extern const verify_claim verify_cem_identity_not_monotone;
extern const verify_claim verify_cem_mlp_step_bound; /* verify_cem_mlp_bound.c */
extern const verify_claim verify_cem_energy_bounds;  /* verify_cem_bounds.c */
extern const verify_claim verify_cem_monotone;       /* verify_cem_monotone.c */
extern const verify_claim verify_cem_engine;
extern const verify_claim verify_descent_condition; /* verify_descent_condition.c */
extern const verify_claim verify_descent_condition_necessary;
extern const verify_claim verify_descent_condition_positive;
extern const verify_claim verify_descent_condition_run;
extern const verify_claim verify_discrete_descent; /* verify_discrete_descent.c */
extern const verify_claim verify_discrete_descent_lemma;
extern const verify_claim verify_discrete_descent_concave;
extern const verify_claim verify_discrete_descent_tightness;
extern const verify_claim verify_discrete_descent_run;
extern const verify_claim verify_hourglass_identities; /* verify_hourglass.c */
extern const verify_claim verify_hourglass_identities_run;
extern const verify_claim verify_energy_bounded; /* verify_energy_bounded.c */
extern const verify_claim verify_energy_bounded_without_norm;
extern const verify_claim verify_energy_bounded_run;
extern const verify_claim verify_asymptotic_stability; /* verify_asymptotic.c */
extern const verify_claim verify_asymptotic_stability_sum;
extern const verify_claim verify_asymptotic_stability_state;
extern const verify_claim verify_asymptotic_stability_ff2w;
extern const verify_claim verify_asymptotic_stability_runs; /* verify_asymptotic_runs.c */
extern const verify_claim verify_asymptotic_stability_runs_run;
extern const verify_claim verify_update_is_gradient; /* verify_update_gradient.c */
extern const verify_claim verify_update_is_gradient_published;
extern const verify_claim verify_update_is_gradient_run;
extern const verify_claim verify_local_stability;         /* verify_local_stability.c */
extern const verify_claim verify_norm_monotone;           /* verify_norm.c */
extern const verify_claim verify_preconditioner_definite; /* verify_cem_precond.c */
extern const verify_claim verify_preconditioner_definite_run;
extern const verify_claim verify_preconditioner_spectrum; /* verify_precond_spectrum.c */
extern const verify_claim verify_x_gradient_variant;      /* verify_x_gradient.c */
extern const verify_claim verify_x_gradient_variant_necessary;
extern const verify_claim verify_x_gradient_step;
extern const verify_claim verify_x_gradient_variant_run;

size_t verify_table_count(void);

/* Claim `index` of the table; NULL beyond it. */
const verify_claim *verify_table_at(size_t index);

/* The claim of exactly this name and these needs, or NULL. */
const verify_claim *verify_table_find(const char *name, verify_needs needs);

/* True when `pattern` selects the claim: its name, or what its name begins with before a "-", so
 * that "cem" selects cem-concavity and the others of that kind. */
bool verify_table_selects(const char *pattern, const verify_claim *claim);

/* KERN_INVALID_ARGUMENT, listing the names, unless `pattern` selects a claim. */
kern_status verify_table_check(const char *pattern, kern_error *err);

#endif
