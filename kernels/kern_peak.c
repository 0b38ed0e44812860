/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "kernels/kern_peak.h"

#include "kernels/kern_parallel.h"
#include "kernels/kern_simd.h"

#include <stddef.h>
#include <time.h>

/* Twelve accumulators cover latency times throughput of every x86-64 core in use, and leave
 * registers for the operands when each of them is one register: of sixteen floats under AVX-512,
 * eight under AVX2, four else. Wider ones than the machine has would measure its stores. */
enum { CHAINS = 12, ROUNDS = 20000, WIDTHS = 3, TRIALS = 3 };

typedef float lanes_4 __attribute__((vector_size(4 * sizeof(float))));
typedef float lanes_8 __attribute__((vector_size(8 * sizeof(float))));
typedef float lanes_16 __attribute__((vector_size(16 * sizeof(float))));

double kern_peak_clock(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Defines multiply_adds_N, on vectors of N floats. The result is returned so that the work cannot
 * be left out; |x| < 1 keeps it finite. */
#define MULTIPLY_ADDS(n)                                                                           \
    KERN_HOT static float multiply_adds_##n(float x, float y)                                      \
    {                                                                                              \
        lanes_##n sums[CHAINS];                                                                    \
        const lanes_##n factor = x - (lanes_##n){0};                                               \
        const lanes_##n term = y - (lanes_##n){0};                                                 \
        for (size_t c = 0; c < CHAINS; c++) {                                                      \
            sums[c] = term * (float)c;                                                             \
        }                                                                                          \
        for (size_t r = 0; r < ROUNDS; r++) {                                                      \
            _Pragma("GCC unroll 12") for (size_t c = 0; c < CHAINS; c++)                           \
            {                                                                                      \
                sums[c] = sums[c] * factor + term;                                                 \
            }                                                                                      \
        }                                                                                          \
        float total = 0;                                                                           \
        for (size_t c = 0; c < CHAINS; c++) {                                                      \
            total += sums[c][0];                                                                   \
        }                                                                                          \
        return total;                                                                              \
    }

MULTIPLY_ADDS(4)
MULTIPLY_ADDS(8)
MULTIPLY_ADDS(16)

typedef float multiply_adds(float x, float y);

typedef struct peak_kernel {
    multiply_adds *body;
    double flops; /* of one call */
} peak_kernel;

static const peak_kernel kernels[WIDTHS] = {
    {multiply_adds_4, 2.0 * 4 * CHAINS *ROUNDS},
    {multiply_adds_8, 2.0 * 8 * CHAINS *ROUNDS},
    {multiply_adds_16, 2.0 * 16 * CHAINS *ROUNDS},
};

/* The kernel with the highest rate in any of a few trials, of some 0.1 ms each. */
static const peak_kernel *fastest_kernel(float *sink)
{
    const peak_kernel *best = &kernels[0];
    double highest = 0;
    for (size_t i = 0; i < WIDTHS * TRIALS; i++) {
        const peak_kernel *k = &kernels[i % WIDTHS];
        const double start = kern_peak_clock();
        *sink += k->body(0.5F, 0.25F + *sink * 1e-9F);
        const double rate = k->flops / (kern_peak_clock() - start);
        if (rate > highest) {
            highest = rate;
            best = k;
        }
    }
    return best;
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
    float sink = 0;
    const peak_kernel *kernel = fastest_kernel(&sink);
    const double start = kern_peak_clock();
    double elapsed = 0;
    double calls = 0;
    (void)workers;
    do {
        sink += kernel->body(0.5F, 0.25F + sink * 1e-9F);
        calls += 1;
        elapsed = kern_peak_clock() - start;
    } while (elapsed < task->seconds);
    task->rates[worker] = calls * kernel->flops / elapsed;
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
