/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin verify: which claims --claim NAME[,NAME] selects.
 */
#include "cli/cli_verify.h"

#include "models/verify/verify_table.h"

#include <stdio.h>
#include <string.h>

enum { PATTERN = 80 };

/* Takes the next name off a list separated by commas; false at its end. */
static bool take_name(const char **list, char name[PATTERN])
{
    if (**list == '\0') {
        return false;
    }
    const size_t n = strcspn(*list, ",");
    (void)snprintf(name, PATTERN, "%.*s", (int)n, *list);
    *list += n;
    *list += **list == ',';
    return true;
}

kern_status cli_verify_check_names(const cli_verify_settings *s, kern_error *err)
{
    for (size_t i = 0; i < s->claims.n; i++) {
        const char *list = s->claims.items[i];
        char name[PATTERN] = "";
        kern_error why = {0};
        bool any = false;
        while (take_name(&list, name)) {
            any = true;
            if (verify_table_check(name, &why) != KERN_OK) {
                return kern_raise(err, KERN_INVALID_ARGUMENT, "--claim: %s", why.text);
            }
        }
        if (!any) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--claim is empty; accepted are names of claims, which --list "
                              "shows, separated by commas");
        }
    }
    return KERN_OK;
}

bool cli_verify_selects(const cli_verify_settings *s, const verify_claim *claim)
{
    for (size_t i = 0; i < s->claims.n; i++) {
        const char *list = s->claims.items[i];
        char name[PATTERN];
        while (take_name(&list, name)) {
            if (verify_table_selects(name, claim)) {
                return true;
            }
        }
    }
    return s->claims.n == 0;
}

kern_status cli_verify_choose(cli_verify_job *job, kern_error *err)
{
    const verify_needs wanted = job->s->run != NULL ? VERIFY_RUN : VERIFY_RANDOM;
    const verify_claim *other = NULL;
    for (size_t i = 0; i < verify_table_count(); i++) {
        const verify_claim *claim = verify_table_at(i);
        if (!cli_verify_selects(job->s, claim)) {
            continue;
        }
        if (claim->needs != wanted) {
            other = other == NULL ? claim : other;
        } else if (job->n < CLI_VERIFY_CLAIMS_MAX) {
            job->claims[job->n++] = claim;
        }
    }
    if (job->n == 0 && other != NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          wanted == VERIFY_RUN
                              ? "claim %s is about random instances; accepted with it is no RUN"
                              : "claim %s is about a trained run; RUN is missing",
                          other->name);
    }
    return KERN_OK;
}
