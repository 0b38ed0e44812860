/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_rows.h"

kern_status cli_vary_check(const cli_call *call, const cli_vary *vary, const char *const *only,
                           size_t n_only, kern_error *err)
{
    static const char *const ends[] = {"from", "to"};
    for (size_t i = 0; i < 2; i++) {
        if (cli_args_given(call, ends[i]) != (vary->name != NULL)) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is %s; accepted are --vary, --from and --to together", ends[i],
                              vary->name != NULL ? "missing" : "given without --vary");
        }
    }
    for (size_t i = 0; i < n_only; i++) {
        if (vary->name == NULL && cli_args_given(call, only[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is given without --vary; accepted are both", only[i]);
        }
    }
    return KERN_OK;
}
