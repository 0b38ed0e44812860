/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_coarse.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

void cli_coarse_add(cli_json *json, const dyn_fixed_points *found)
{
    cli_json_size(json, json->object, "n_coarse", found->n_coarse);
    cli_json_real(json, json->object, "coarse_size",
                  found->n_coarse > 0 ? found->coarse_size : (double)NAN);
}

void cli_coarse_print(const dyn_fixed_points *found, double tol)
{
    if (found->n_coarse > 0) {
        (void)printf("%zu %s ended at states of size %.3g or more, whose rounding, %.2g, "
                     "exceeds --tol %g: give a larger --tol\n",
                     found->n_coarse, found->n_coarse == 1 ? "start" : "starts", found->coarse_size,
                     DBL_EPSILON * found->coarse_size, tol);
    }
}
