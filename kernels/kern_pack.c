/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_pack.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_real.h"
#include "kernels/kern_size.h"
#include "kernels/kern_transpose.h"

#include <string.h>

typedef struct pack_task {
    kern_real *out;
    const kern_real *in;
    size_t rows;
    size_t cols;
} pack_task;

void KERN_NAME(kern_pack_plain)(kern_real *out, const kern_real *in, size_t ldi, size_t rows,
                                size_t cols)
{
    for (size_t j = 0; j < cols; j += KERN_PANEL) {
        const size_t width = kern_size_min(KERN_PANEL, cols - j);
        kern_real *panel = out + j * rows;
        for (size_t k = 0; k < rows; k++) {
            memcpy(panel + k * width, in + k * ldi + j, width * sizeof *panel);
        }
    }
}

void KERN_NAME(kern_pack_turned)(kern_real *out, const kern_real *in, size_t ldi, size_t begin,
                                 size_t end, size_t cols)
{
    for (size_t j = begin; j < end; j += KERN_PANEL) {
        const size_t width = kern_size_min(KERN_PANEL, end - j);
        KERN_NAME(kern_transpose)(out + j * cols, width, in + j * ldi, ldi, width, cols);
    }
}

static void pack_worker(void *context, int worker, int workers)
{
    const pack_task *task = context;
    size_t begin;
    size_t end;
    kern_parallel_share(task->cols, KERN_PANEL, worker, workers, &begin, &end);
    if (begin < end) {
        KERN_NAME(kern_pack_plain)
        (task->out + begin * task->rows, task->in + begin, task->cols, task->rows, end - begin);
    }
    kern_parallel_share(task->rows, KERN_PANEL, worker, workers, &begin, &end);
    KERN_NAME(kern_pack_turned)
    (task->out + kern_pack_operand_size(task->rows, task->cols), task->in, task->cols, begin, end,
     task->cols);
}

void KERN_NAME(kern_pack)(kern_real *out, const kern_real *in, size_t rows, size_t cols,
                          int workers)
{
    pack_task task = {.out = out, .in = in, .rows = rows, .cols = cols};
    kern_parallel_run(workers, pack_worker, &task);
}
