/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "kernels/kern_peak.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_simd.h"

#include <stddef.h>
#include <time.h>

/* Twelve accumulators of sixteen lanes cover latency times throughput of every x86-64 core in use,
 * and leave registers for the operands. */
enum { LANES = 16, CHAINS = 12, ROUNDS = 20000 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

double kern_peak_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The result is returned so that the work cannot be left out; |x| < 1 keeps it finite. */
KERN_HOT static float multiply_adds(float x, float y)
{
    lanes sums[CHAINS];
    const lanes factor = x - (lanes){0};
    const lanes term = y - (lanes){0};
    for (size_t c = 0; c < CHAINS; c++) {
        sums[c] = term * (float)c;
    }
    for (size_t r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 12
        for (size_t c = 0; c < CHAINS; c++) {
            sums[c] = sums[c] * factor + term;
        }
    }
    float total = 0;
    for (size_t c = 0; c < CHAINS; c++) {
        total += sums[c][c];
    }
    return total;
}

enum { PEAK_WORKERS = 256 };

typedef struct peak_task {
    double seconds;
    double rates[PEAK_WORKERS];
    float sinks[PEAK_WORKERS];
} peak_task;

static void peak_worker(void *context, int worker, int workers)
{
    peak_task *task = context;
    const double start = kern_peak_clock();
    double elapsed = 0;
    double calls = 0;
    float sink = 0;
    (void)workers;
    do {
        sink += multiply_adds(0.5F, 0.25F + sink * 1e-9F);
        calls += 1;
        elapsed = kern_peak_clock() - start;
    } while (elapsed < task->seconds);
    task->rates[worker] = calls * 2.0 * LANES * CHAINS * ROUNDS / elapsed;
    task->sinks[worker] = sink;
}

double kern_peak_f32(int workers, double seconds)
{
    peak_task task = {.seconds = seconds};
    const int count = workers < 1 ? 1 : workers > PEAK_WORKERS ? PEAK_WORKERS : workers;
    kern_parallel_run(count, peak_worker, &task);
    double total = 0;
    for (int i = 0; i < count; i++) {
        total += task.rates[i];
    }
    return total;
}
