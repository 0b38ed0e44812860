/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_rows.h"

#include "kernels/kern_parallel.h"

typedef struct range_task {
    const kern_call *call;
    size_t n;
    size_t grain;
    kern_range_body *body;
} range_task;

static void range_worker(void *context, int worker, int workers)
{
    const range_task *task = context;
    size_t begin;
    size_t end;
    kern_parallel_share(task->n, task->grain, worker, workers, &begin, &end);
    if (begin < end) {
        task->body(task->call, begin, end);
    }
}

void kern_range_run(const kern_call *call, size_t n, size_t grain, kern_range_body *body)
{
    if (call->workers <= 1) {
        body(call, 0, n);
        return;
    }
    range_task task = {.call = call, .n = n, .grain = grain, .body = body};
    kern_parallel_run(call->workers, range_worker, &task);
}
