/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_bench_products.h"

#include "cli/cli_bench_median.h"
#include "cli/cli_signal.h"
#include "kernels/kern_arena.h"
#include "kernels/kern_blas.h"
#include "kernels/kern_pack.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_peak.h"
#include "kernels/kern_rng.h"

static const cli_bench_product products[] = {
    {"listops hidden", false, 128, 256, 64},       {"listops output", false, 128, 64, 256},
    {"listops gradient", true, 256, 64, 128},      {"shakespeare hidden", false, 256, 1024, 256},
    {"shakespeare output", false, 256, 256, 1024}, {"shakespeare gradient", true, 1024, 256, 256},
    {"90m hidden", false, 256, 3072, 768},         {"90m output", false, 256, 768, 3072},
    {"90m gradient", true, 3072, 768, 256},        {"90m heads", false, 256, 9216, 768},
};

/* Outputs used in turn, and work of a round in floating-point operations. */
enum { COPIES = 6 };
#define ROUND_FLOPS 4e8

const cli_bench_product *cli_bench_products(size_t *count)
{
    *count = sizeof products / sizeof *products;
    return products;
}

typedef struct worker_data {
    kern_arena arena;
    float *a;
    float *b;
    float *c;
    float *scratch;
} worker_data;

typedef struct product_task {
    const cli_bench_product *product;
    worker_data *workers;
    size_t calls;
} product_task;

static kern_status reserve(worker_data *w, const cli_bench_product *p, kern_error *err)
{
    const size_t left = p->m * p->k;
    const size_t right = p->gradient ? p->n * p->k : kern_pack_size(p->k, p->n);
    const size_t out = COPIES * p->m * p->n;
    const size_t scratch = kern_gemm_scratch_size(p->m, p->n, p->k);
    KERN_TRY(kern_arena_init(
        &w->arena,
        kern_arena_cost(left, sizeof(float)) + kern_arena_cost(right, sizeof(float)) +
            kern_arena_cost(out, sizeof(float)) + kern_arena_cost(scratch, sizeof(float)),
        err));
    w->a = kern_arena_alloc(&w->arena, left, sizeof(float));
    w->b = kern_arena_alloc(&w->arena, right, sizeof(float));
    w->c = kern_arena_calloc(&w->arena, out, sizeof(float));
    w->scratch = kern_arena_alloc(&w->arena, scratch, sizeof(float));
    for (size_t i = 0; i < left; i++) {
        w->a[i] = (float)(kern_rng_hash(1, i) % 1000) * 1e-3F;
    }
    for (size_t i = 0; i < right; i++) {
        w->b[i] = (float)(kern_rng_hash(2, i) % 1000) * 1e-3F;
    }
    return KERN_OK;
}

static void product_worker(void *context, int worker, int workers)
{
    const product_task *task = context;
    const cli_bench_product *p = task->product;
    const worker_data *w = &task->workers[worker];
    kern_gemm_f32 g = {.ta = p->gradient,
                       .panels = !p->gradient,
                       .m = p->m,
                       .n = p->n,
                       .k = p->k,
                       .alpha = 1,
                       .beta = p->gradient ? 1 : 0,
                       .a = w->a,
                       .lda = p->gradient ? p->m : p->k,
                       .b = w->b,
                       .ldb = p->n,
                       .ldc = p->n,
                       .scratch = w->scratch};
    (void)workers;
    for (size_t i = 0; i < task->calls; i++) {
        g.c = w->c + i % COPIES * p->m * p->n;
        kern_gemm_run_f32(&g, 1);
    }
}

static kern_status measure(product_task *task, int threads, size_t rounds, cli_bench_rate *rate,
                           kern_error *err)
{
    double rates[CLI_BENCH_ROUNDS];
    double peaks[CLI_BENCH_ROUNDS];
    const cli_bench_product *p = task->product;
    const double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
    task->calls = COPIES + (size_t)(ROUND_FLOPS / flops);
    kern_parallel_run(threads, product_worker, task);
    for (size_t i = 0; i < rounds; i++) {
        KERN_TRY(cli_signal_poll(err));
        peaks[i] = kern_peak_f32(threads, 0.05);
        const double start = kern_peak_clock();
        kern_parallel_run(threads, product_worker, task);
        rates[i] = flops * (double)task->calls * threads / (kern_peak_clock() - start);
    }
    rate->gflops = cli_bench_median(rates, rounds) / 1e9;
    rate->peak_gflops = cli_bench_largest(peaks, rounds) / 1e9;
    rate->fraction_of_peak = rate->gflops / rate->peak_gflops;
    return KERN_OK;
}

kern_status cli_bench_product_run(const cli_bench_product *product, int threads, size_t rounds,
                                  cli_bench_rate *rate, kern_error *err)
{
    enum { WORKERS = 256 };
    worker_data workers[WORKERS] = {0};
    const int count = threads < WORKERS ? threads : WORKERS;
    product_task task = {.product = product, .workers = workers};
    kern_status status = KERN_OK;
    for (int i = 0; i < count && status == KERN_OK; i++) {
        status = reserve(&workers[i], product, err);
    }
    if (status == KERN_OK) {
        status = measure(&task, count, rounds, rate, err);
    }
    for (int i = 0; i < count; i++) {
        kern_arena_fini(&workers[i].arena);
    }
    return status;
}
