/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_bench_cem.h"

#include "cli/cli_bench_median.h"
#include "cli/cli_signal.h"
#include "kernels/kern_memory.h"
#include "kernels/kern_peak.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"
#include "models/model_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { FORWARD = CLI_BENCH_CEM_FORWARD, TRAIN, PASSES };
enum { ONE = CLI_BENCH_CEM_ONE, MORE, DEPTHS };
enum { WALL = CLI_BENCH_CEM_WALL, CPU, CLOCKS };
enum { ROUNDS = CLI_BENCH_ROUNDS };

/* Share of a round for the peak, in seconds. */
#define PEAK_SECONDS 0.1

cli_bench_cem_sizes cli_bench_cem_default(void)
{
    return (cli_bench_cem_sizes){.width = 768,
                                 .hidden = 2048,
                                 .heads = 12,
                                 .window = 256,
                                 .batch = 1,
                                 .steps = 4,
                                 .diag = MODEL_DIAG_SHARED};
}

/* ---- one case ------------------------------------------------------------------------------- */

/* A layer of T steps that can be run, in one of the two passes. */
typedef struct cem_case {
    model_graph graph;
    kern_plan *plan;
    kern_exec *exec;
    double flops; /* of one pass over the batch */
    kern_run run;
} cem_case;

static kern_status build_graph(model_graph *g, const model *m, const cli_bench_cem_sizes *s,
                               size_t t_attn, size_t t_mlp, kern_error *err)
{
    const model_graph_options options = {.batch = s->batch,
                                         .tokens = s->window,
                                         .steps = 1,
                                         .start = MODEL_START_STATE,
                                         .t_attn = t_attn,
                                         .t_mlp = t_mlp};
    return model_graph_init(g, m, &options, err);
}

static kern_status build_plan(kern_plan **plan, const model_graph *g, bool train, kern_error *err)
{
    const kern_plan_options options = {.mode = train ? KERN_MODE_VJP : KERN_MODE_FORWARD,
                                       .recompute = train,
                                       .params = train,
                                       .wrt = &g->input,
                                       .n_wrt = train ? 1 : 0,
                                       .seeds = &g->states[1],
                                       .n_seeds = train ? 1 : 0};
    return kern_plan_create(plan, g->graph, &options, err);
}

/* Operations that an instruction needs. */
static double instruction_flops(const kern_graph *graph, const kern_instruction *x)
{
    return kern_graph_node_flops(graph, x->node) * (x->phase == KERN_PHASE_VJP ? 2.0 : 1.0);
}

static double plan_flops(const kern_plan *plan)
{
    size_t count;
    double total = 0;
    const kern_instruction *x = kern_plan_instructions(plan, &count);
    for (size_t i = 0; i < count; i++) {
        total += instruction_flops(kern_plan_graph(plan), &x[i]);
    }
    return total;
}

/* Numbers between −2 and 2. */
static void fill(float *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = (float)(kern_rng_hash(1, i) % 4096) * (1.0F / 1024.0F) - 2.0F;
    }
}

static void case_fini(cem_case *c)
{
    kern_exec_destroy(c->exec);
    kern_plan_destroy(c->plan);
    model_graph_fini(&c->graph);
}

static kern_status case_init(cem_case *c, const model *m, const cli_bench_cem_job *job, int pass,
                             size_t steps, kern_error *err)
{
    const size_t reals = job->sizes.batch * job->sizes.window * job->sizes.width;
    KERN_TRY(build_graph(&c->graph, m, &job->sizes, steps, steps, err));
    KERN_TRY(build_plan(&c->plan, &c->graph, pass == TRAIN, err));
    KERN_TRY(kern_exec_create(&c->exec, c->plan, m->backend, job->threads, err));
    c->flops = plan_flops(c->plan);
    fill(kern_exec_value(c->exec, c->graph.input), reals);
    return KERN_OK;
}

/* One pass; the cotangent of what the layer hands on is the numbers of its input. */
static void case_run(cem_case *c, size_t reals)
{
    kern_exec_forward(c->exec, &c->run);
    if (kern_plan_mode(c->plan) == KERN_MODE_VJP) {
        memcpy(kern_exec_derivative(c->exec, c->graph.states[1]),
               kern_exec_value(c->exec, c->graph.input), reals * sizeof(float));
        kern_exec_backward(c->exec, &c->run);
    }
}

/* ---- all cases ------------------------------------------------------------------------------ */

typedef struct cem_bench {
    const cli_bench_cem_job *job;
    model *m;
    void *packed;
    float *gradients;
    size_t reals; /* of the input */
    cem_case cases[PASSES][DEPTHS];
} cem_bench;

static void bench_fini(cem_bench *b)
{
    for (int pass = 0; pass < PASSES; pass++) {
        for (int depth = 0; depth < DEPTHS; depth++) {
            case_fini(&b->cases[pass][depth]);
        }
    }
    free(b->packed);
    free(b->gradients);
    model_destroy(b->m);
}

static model_config config_of(const cli_bench_cem_sizes *s)
{
    model_config c = model_config_default(MODEL_CEM);
    c.n_layer = 1;
    c.n_embed = s->width;
    c.n_hidden = s->hidden;
    c.n_head = s->heads;
    c.vocab_size = 1;
    c.block_size = s->window;
    c.cem.diag = s->diag;
    c.cem.t_attn = s->steps;
    c.cem.t_mlp = s->steps;
    return c;
}

/* Copies of the weights in the order that products read; they are made once here, as a training
 * step makes them once for all of its micro-batches. */
static kern_status pack(cem_bench *b, kern_error *err)
{
    const kern_graph *graph = b->cases[FORWARD][ONE].graph.graph;
    const size_t count = kern_graph_pack_count(graph);
    b->packed = kern_memory_create(count, sizeof(float));
    b->gradients = kern_memory_zeroed(b->m->params.length, sizeof *b->gradients);
    if (b->packed == NULL || b->gradients == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for copies of %zu weights", count);
    }
    kern_graph_pack(graph, b->m->backend, b->packed, b->m->values, b->job->threads);
    return KERN_OK;
}

static kern_status bench_init(cem_bench *b, const cli_bench_cem_job *job, kern_error *err)
{
    const model_config config = config_of(&job->sizes);
    *b = (cem_bench){.job = job};
    b->reals = job->sizes.batch * job->sizes.window * job->sizes.width;
    KERN_TRY(model_create(&b->m, &config, &kern_backend_cpu_f32, err));
    KERN_TRY(model_init_values(b->m, 1, err));
    for (int pass = 0; pass < PASSES; pass++) {
        for (int depth = 0; depth < DEPTHS; depth++) {
            KERN_TRY(case_init(&b->cases[pass][depth], b->m, job, pass,
                               depth == ONE ? 1 : job->sizes.steps, err));
        }
    }
    KERN_TRY(pack(b, err));
    for (int pass = 0; pass < PASSES; pass++) {
        for (int depth = 0; depth < DEPTHS; depth++) {
            cem_case *c = &b->cases[pass][depth];
            c->run = (kern_run){
                .params = b->m->values, .packed = b->packed, .param_gradients = b->gradients};
            case_run(c, b->reals);
        }
    }
    return KERN_OK;
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Seconds of wall time, and processor seconds of this process over the number of threads. */
typedef struct stamps {
    double at[CLOCKS];
} stamps;

static stamps stamps_now(int threads)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (stamps){
        {kern_peak_clock(), ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec) / (double)threads}};
}

/* What the rounds measured: seconds of one pass, and operations per second. */
typedef struct samples {
    double seconds[CLOCKS][PASSES][DEPTHS][ROUNDS];
    double peak[CLOCKS][ROUNDS];
} samples;

/* The peak in wall time is what kern_peak_f32 counts; the same work over its processor time is the
 * peak of an undisturbed machine. */
static void measure_peak(samples *s, int threads, size_t round)
{
    const stamps start = stamps_now(threads);
    const double rate = kern_peak_f32(threads, PEAK_SECONDS);
    const stamps end = stamps_now(threads);
    s->peak[WALL][round] = rate;
    s->peak[CPU][round] = rate * (end.at[WALL] - start.at[WALL]) / (end.at[CPU] - start.at[CPU]);
}

static kern_status measure_case(cem_bench *b, samples *s, int pass, int depth, size_t round,
                                kern_error *err)
{
    const int threads = b->job->threads;
    const stamps start = stamps_now(threads);
    stamps end = start;
    double passes = 0;
    do {
        KERN_TRY(cli_signal_poll(err));
        case_run(&b->cases[pass][depth], b->reals);
        passes += 1;
        end = stamps_now(threads);
    } while (end.at[WALL] - start.at[WALL] < b->job->seconds / (PASSES * DEPTHS));
    for (int clock = 0; clock < CLOCKS; clock++) {
        s->seconds[clock][pass][depth][round] = (end.at[clock] - start.at[clock]) / passes;
    }
    return KERN_OK;
}

static kern_status measure(cem_bench *b, samples *s, size_t rounds, kern_error *err)
{
    for (size_t i = 0; i < rounds; i++) {
        measure_peak(s, b->job->threads, i);
        for (int pass = 0; pass < PASSES; pass++) {
            for (int depth = 0; depth < DEPTHS; depth++) {
                KERN_TRY(measure_case(b, s, pass, depth, i, err));
            }
        }
    }
    return KERN_OK;
}

/* Ratios before medians, which sort the rounds. */
static void summarise(const cem_bench *b, samples *s, size_t rounds, cli_bench_cem_result *r)
{
    const double times = (double)b->job->sizes.steps;
    for (int clock = 0; clock < CLOCKS; clock++) {
        cli_bench_cem_clock *c = &r->clocks[clock];
        c->peak_gflops = cli_bench_largest(s->peak[clock], rounds) / 1e9;
        for (int pass = 0; pass < PASSES; pass++) {
            double(*seconds)[ROUNDS] = s->seconds[clock][pass];
            double ratios[ROUNDS];
            for (size_t i = 0; i < rounds; i++) {
                ratios[i] = seconds[MORE][i] / (times * seconds[ONE][i]);
            }
            c->ratio[pass] = cli_bench_median(ratios, rounds);
            for (int depth = 0; depth < DEPTHS; depth++) {
                c->seconds[pass][depth] = cli_bench_median(seconds[depth], rounds);
                c->fraction[pass][depth] =
                    b->cases[pass][depth].flops / (c->seconds[pass][depth] * 1e9 * c->peak_gflops);
            }
        }
    }
}

/* One more pass of a case, with the time of every operation. */
static void profile_case(cem_bench *b, cem_case *c, cli_bench_cem_profile *profile)
{
    size_t count;
    const kern_instruction *x = kern_plan_instructions(c->plan, &count);
    c->run.profile = &profile->time;
    case_run(c, b->reals);
    c->run.profile = NULL;
    for (size_t i = 0; i < count; i++) {
        const kern_op_id op = kern_graph_node(c->graph.graph, x[i].node)->op;
        profile->flops[op][x[i].phase] += instruction_flops(c->graph.graph, &x[i]);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static kern_status kept_per_token(const cem_bench *b, size_t t_attn, size_t t_mlp, double *kept,
                                  kern_error *err)
{
    model_graph g = {0};
    kern_plan *plan = NULL;
    kern_status status = build_graph(&g, b->m, &b->job->sizes, t_attn, t_mlp, err);
    if (status == KERN_OK) {
        status = build_plan(&plan, &g, true, err);
    }
    if (status == KERN_OK) {
        *kept = (double)kern_plan_kept_size(plan) /
                (double)(b->job->sizes.batch * b->job->sizes.window);
    }
    kern_plan_destroy(plan);
    model_graph_fini(&g);
    return status;
}

static kern_status measure_memory(const cem_bench *b, cli_bench_cem_result *r, kern_error *err)
{
    r->slots = kern_size_min(b->job->sizes.steps, CLI_BENCH_CEM_SLOTS);
    for (size_t i = 0; i < r->slots; i++) {
        double more = 0;
        KERN_TRY(kept_per_token(b, i + 1, i + 1, &r->kept[i], err));
        KERN_TRY(kept_per_token(b, i + 2, i + 1, &more, err));
        r->attn_step[i] = more - r->kept[i];
        KERN_TRY(kept_per_token(b, i + 1, i + 2, &more, err));
        r->mlp_step[i] = more - r->kept[i];
    }
    return KERN_OK;
}

/* ---- all ------------------------------------------------------------------------------------ */

static kern_status run_bench(cem_bench *b, cli_bench_cem_result *r, kern_error *err)
{
    const double tokens = (double)(b->job->sizes.batch * b->job->sizes.window);
    samples *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d rounds", ROUNDS);
    }
    r->rounds = kern_size_min(b->job->rounds, ROUNDS);
    kern_status status = measure_memory(b, r, err);
    if (status == KERN_OK) {
        status = measure(b, s, r->rounds, err);
    }
    if (status == KERN_OK) {
        summarise(b, s, r->rounds, r);
    }
    for (int pass = 0; status == KERN_OK && pass < PASSES; pass++) {
        for (int depth = 0; depth < DEPTHS; depth++) {
            r->flops[pass][depth] = b->cases[pass][depth].flops / tokens;
            if (b->job->profile) {
                profile_case(b, &b->cases[pass][depth], &r->profile[pass][depth]);
            }
        }
    }
    free(s);
    return status;
}

void cli_bench_cem_run(const cli_bench_cem_job *job, cli_bench_cem_result *result)
{
    kern_error err = {0};
    cem_bench b;
    struct rusage usage;
    *result = (cli_bench_cem_result){0};
    result->status = bench_init(&b, job, &err);
    if (result->status == KERN_OK) {
        result->status = run_bench(&b, result, &err);
    }
    bench_fini(&b);
    (void)snprintf(result->text, sizeof result->text, "%.*s", (int)sizeof result->text - 1,
                   err.text);
    (void)getrusage(RUSAGE_SELF, &usage);
    result->max_rss_mb = (double)usage.ru_maxrss / 1024.0;
}
