/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_parallel.h"

#include "kernels/kern_size.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void kern_parallel_run(int workers, kern_parallel_body *body, void *context)
{
#ifdef _OPENMP
    if (workers > 1 && !omp_in_parallel()) {
#pragma omp parallel for num_threads(workers) schedule(static, 1) default(none)                    \
    firstprivate(workers, body, context)
        for (int worker = 0; worker < workers; worker++) {
            body(context, worker, workers);
        }
        return;
    }
#endif
    for (int worker = 0; worker < workers; worker++) {
        body(context, worker, workers);
    }
}

void kern_parallel_share(size_t n, size_t grain, int worker, int workers, size_t *begin,
                         size_t *end)
{
    const size_t grains = (n + grain - 1) / grain;
    const size_t w = (size_t)worker;
    const size_t count = (size_t)workers;
    const size_t base = grains / count;
    const size_t extra = grains % count;
    const size_t first = w * base + kern_size_min(w, extra);
    const size_t last = first + base + (w < extra ? 1 : 0);
    *begin = kern_size_min(first * grain, n);
    *end = kern_size_min(last * grain, n);
}

void kern_parallel_init(void)
{
#ifdef _OPENMP
    omp_set_num_threads(1);
#endif
}

int kern_parallel_processors(void)
{
#ifdef _OPENMP
    const int n = omp_get_num_procs();
    return n > 0 ? n : 1;
#else
    return 1;
#endif
}
