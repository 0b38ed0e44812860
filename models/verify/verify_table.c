/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_table.h"

#include <stdio.h>
#include <string.h>

/* In the order in which they are reported. */
static const verify_claim *const claims[] = {
    &verify_norm_monotone,
    &verify_descent_condition,
    &verify_descent_condition_necessary,
    &verify_descent_condition_positive,
    &verify_descent_condition_run,
    &verify_x_gradient_variant,
    &verify_x_gradient_variant_necessary,
    &verify_x_gradient_step,
    &verify_x_gradient_variant_run,
    &verify_update_is_gradient,
    &verify_update_is_gradient_published,
    &verify_update_is_gradient_run,
    &verify_discrete_descent,
    &verify_discrete_descent_lemma,
    &verify_discrete_descent_concave,
    &verify_discrete_descent_tightness,
    &verify_discrete_descent_run,
    &verify_energy_bounded,
    &verify_energy_bounded_without_norm,
    &verify_energy_bounded_run,
    &verify_asymptotic_stability,
    &verify_asymptotic_stability_sum,
    &verify_asymptotic_stability_state,
    &verify_asymptotic_stability_ff2w,
    &verify_asymptotic_stability_runs,
    &verify_asymptotic_stability_runs_run,
    &verify_local_stability,
    &verify_cem_attention_equivalence,
    &verify_cem_mlp_equivalence,
    &verify_cem_concavity,
    &verify_cem_concavity_run,
    &verify_cem_descent_once,
    &verify_cem_unconditional_descent,
    &verify_cem_unconditional_descent_run,
    &verify_cem_dlr_not_monotone,
    &verify_cem_identity_not_monotone,
    &verify_cem_mlp_step_bound,
    &verify_cem_energy_bounds,
    &verify_preconditioner_definite,
    &verify_preconditioner_definite_run,
    &verify_preconditioner_spectrum,
    &verify_cem_monotone,
    &verify_cem_engine,
    &verify_hourglass_identities,
    &verify_hourglass_identities_run,
};

enum { COUNT = sizeof claims / sizeof claims[0] };

size_t verify_table_count(void)
{
    return COUNT;
}

const verify_claim *verify_table_at(size_t index)
{
    return index < COUNT ? claims[index] : NULL;
}

const verify_claim *verify_table_find(const char *name, verify_needs needs)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (claims[i]->needs == needs && strcmp(claims[i]->name, name) == 0) {
            return claims[i];
        }
    }
    return NULL;
}

bool verify_table_selects(const char *pattern, const verify_claim *claim)
{
    const size_t n = strlen(pattern);
    return n > 0 && strncmp(claim->name, pattern, n) == 0 &&
           (claim->name[n] == '\0' || claim->name[n] == '-');
}

/* True unless an earlier claim has the same name, as that about a run has. */
static bool is_first(size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(claims[i]->name, claims[index]->name) == 0) {
            return false;
        }
    }
    return true;
}

kern_status verify_table_check(const char *pattern, kern_error *err)
{
    char list[KERN_ERROR_TEXT - 100] = "";
    size_t used = 0;
    for (size_t i = 0; i < COUNT; i++) {
        const char *name = claims[i]->name;
        if (verify_table_selects(pattern, claims[i])) {
            return KERN_OK;
        }
        if (is_first(i) && used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "",
                                     name);
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "there is no claim \"%.60s\"; the claims are %s",
                      pattern, list);
}
