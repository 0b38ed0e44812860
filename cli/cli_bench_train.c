/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_bench_train.h"

#include "cli/cli_bench_median.h"
#include "cli/cli_signal.h"
#include "kernels/kern_peak.h"
#include "models/model_trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The sizes that the published code was measured at: ListOps, Shakespeare, and the 90 M class. */
static const cli_bench_case cases[] = {
    {"listops-ff1", true, 64, 1, 5, 20, 64, 128, true},
    {"listops-ff2w", false, 64, 1, 5, 20, 64, 128, true},
    {"shakespeare-ff1", true, 256, 4, 6, 65, 16, 256, false},
    {"shakespeare-ff2w", false, 256, 4, 6, 65, 16, 256, false},
    {"90m-ff1", true, 768, 12, 12, 50304, 1, 256, false},
    {"90m-ff2w", false, 768, 12, 12, 50304, 1, 256, false},
};

enum { STREAM_TOKENS = 100000 };

const cli_bench_case *cli_bench_train_cases(size_t *count)
{
    *count = sizeof cases / sizeof *cases;
    return cases;
}

static model_config config_of(const cli_bench_case *bench)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.ff = bench->ff1 ? MODEL_FF1 : MODEL_FF2W;
    c.n_embed = bench->width;
    c.n_head = bench->heads;
    c.n_layer = bench->steps;
    c.vocab_size = bench->vocab;
    c.block_size = bench->window;
    c.strict_mask = bench->strict;
    return c;
}

static kern_status random_stream(model_stream *stream, size_t vocab, kern_error *err)
{
    int32_t *ids = malloc(STREAM_TOKENS * sizeof *ids);
    if (ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d tokens", STREAM_TOKENS);
    }
    for (size_t i = 0; i < STREAM_TOKENS; i++) {
        ids[i] = (int32_t)(kern_rng_hash(1, i) % vocab);
    }
    const kern_status status =
        model_stream_init(stream, "random tokens", ids, STREAM_TOKENS, vocab, err);
    free(ids);
    return status;
}

/* Steps until `seconds` have passed; tokens per second. */
static kern_status measure_round(model_trainer *t, double seconds, double *rate, kern_error *err)
{
    const double start = kern_peak_clock();
    double elapsed = 0;
    double tokens = 0;
    do {
        model_step_report report;
        KERN_TRY(cli_signal_poll(err));
        KERN_TRY(model_trainer_step(t, &report, err));
        tokens += (double)t->settings.batch * (double)t->settings.window;
        elapsed = kern_peak_clock() - start;
    } while (elapsed < seconds);
    *rate = tokens / elapsed;
    return KERN_OK;
}

static void collect_profile(model_trainer *t, kern_profile *total)
{
    for (int i = 0; i < t->n_lanes; i++) {
        for (size_t op = 0; op < KERN_OP_COUNT; op++) {
            for (size_t phase = 0; phase < 3; phase++) {
                total->seconds[op][phase] += t->lanes[i].profile.seconds[op][phase];
                total->calls[op][phase] += t->lanes[i].profile.calls[op][phase];
            }
        }
    }
}

static kern_status measure(model_trainer *t, size_t rounds, double seconds, bool profile,
                           cli_bench_result *r, kern_error *err)
{
    double rates[CLI_BENCH_ROUNDS];
    double peaks[CLI_BENCH_ROUNDS];
    double warm;
    const double flops = model_trainer_flops_per_token(t);
    KERN_TRY(measure_round(t, 0.0, &warm, err));
    KERN_TRY(measure_round(t, 0.0, &warm, err));
    t->profiling = profile;
    for (size_t i = 0; i < rounds; i++) {
        peaks[i] = kern_peak_f32(t->settings.threads, 0.1);
        KERN_TRY(measure_round(t, seconds, &rates[i], err));
    }
    collect_profile(t, &r->profile);
    r->tokens_per_s = cli_bench_median(rates, rounds);
    r->peak_gflops = cli_bench_largest(peaks, rounds) / 1e9;
    r->fraction_of_peak = r->tokens_per_s * flops / (1e9 * r->peak_gflops);
    r->mflop_per_token = flops / 1e6;
    r->rounds = rounds;
    return KERN_OK;
}

static kern_status run_case(const cli_bench_case *bench, const model_training *settings,
                            size_t rounds, double seconds, bool profile, cli_bench_result *r,
                            kern_error *err)
{
    const model_config config = config_of(bench);
    model *m = NULL;
    model_trainer *t = NULL;
    model_stream stream = {0};
    kern_status status = model_create(&m, &config, &kern_backend_cpu_f32, err);
    if (status == KERN_OK) {
        status = model_init_values(m, 1, err);
    }
    if (status == KERN_OK) {
        status = random_stream(&stream, bench->vocab, err);
    }
    if (status == KERN_OK) {
        status = model_trainer_create(&t, m, &stream, settings, err);
    }
    if (status == KERN_OK) {
        status = measure(t, rounds, seconds, profile, r, err);
    }
    model_trainer_destroy(t);
    model_stream_fini(&stream);
    model_destroy(m);
    return status;
}

void cli_bench_train_run(const cli_bench_case *bench, int threads, size_t rounds, double seconds,
                         bool profile, cli_bench_result *result)
{
    kern_error err = {0};
    struct rusage usage;
    model_training settings = model_training_default();
    settings.batch = bench->batch;
    settings.window = bench->window;
    settings.threads = threads;
    *result = (cli_bench_result){0};
    result->status =
        run_case(bench, &settings, rounds > CLI_BENCH_ROUNDS ? CLI_BENCH_ROUNDS : rounds, seconds,
                 profile, result, &err);
    (void)snprintf(result->text, sizeof result->text, "%.*s", (int)sizeof result->text - 1,
                   err.text);
    (void)getrusage(RUSAGE_SELF, &usage);
    result->max_rss_mb = (double)usage.ru_maxrss / 1024.0;
}
