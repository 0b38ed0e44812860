/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_blas.h"

#include "kernels/kern_parallel.h"

#include <cblas.h>
#include <gsl/gsl_errno.h>
#include <libxsmm.h>

void kern_runtime_init(void)
{
    openblas_set_num_threads(1);
    kern_parallel_init();
    libxsmm_init();
    (void)gsl_set_error_handler_off();
}
