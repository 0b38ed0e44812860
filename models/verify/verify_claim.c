/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_claim.h"

#include <math.h>

const char *verify_kind_word(verify_kind kind)
{
    static const char *const words[VERIFY_KINDS] = {
        [VERIFY_THEOREM] = "theorem",
        [VERIFY_REFUTED] = "refuted",
        [VERIFY_PROPERTY] = "property",
        [VERIFY_STATISTIC] = "statistic",
    };
    return (unsigned)kind < VERIFY_KINDS ? words[kind] : NULL;
}

void verify_outcome_add(verify_outcome *outcome, const char *name, double value)
{
    if (outcome->n_extras < VERIFY_EXTRAS_MAX) {
        outcome->extras[outcome->n_extras++] = (verify_extra){.name = name, .value = value};
    }
}

bool verify_outcome_violates(const verify_outcome *outcome)
{
    return !(outcome->left <= outcome->right + outcome->tolerance);
}

double verify_outcome_excess(const verify_outcome *outcome)
{
    const double scale = outcome->scale > 0.0 ? outcome->scale : 1.0;
    const double excess = (outcome->left - outcome->right) / scale;
    return isnan(excess) ? HUGE_VAL : excess;
}
