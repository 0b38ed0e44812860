/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_bench_dyn.h"

#include "cli/cli_bench_median.h"
#include "cli/cli_run.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_classical.h"
#include "dyn/dyn_lyapunov.h"
#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_scan.h"
#include "kernels/kern_peak.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"
#include "models/model_dynamics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    VOCAB = 20, /* of ListOps */
    EXPONENTS = 32,
    EXPONENT_STEPS = 10, /* of one call */
    ORBITS = 10000,
    ORBIT_STEPS = 500,
    ORBIT_GRAIN = 16
};

/* What a case works on. */
typedef struct bench {
    const cli_bench_dyn_case *c;
    int threads;
    cli_run run; /* of --model */
    model *m;    /* of random weights, owned */
    dyn_map *map;
    double *tangents; /* EXPONENTS states and one more */
    double *ends[2];  /* ORBITS numbers each: where orbits end, with one worker and with several */
} bench;

/* Does its work once; *units receives how many units it was. */
typedef kern_status bench_body(bench *b, double *units, kern_error *err);

/* Compares one worker with several. */
typedef kern_status bench_check(bench *b, bool *identical, kern_error *err);

struct cli_bench_dyn_case {
    const char *name;
    const char *unit;
    const char *reference_unit;
    size_t tokens; /* 0: no model */
    size_t width;  /* of the model with random weights */
    bench_body *subject;
    bench_body *reference;
    bench_check *check;
    bool per_token;
};

/* Whether n numbers are the same bit for bit, NaN included. */
static bool same_bits(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n * sizeof(double)) == 0;
}

/* ---- Steps and tangents ------------------------------------------------------------------------
 */

static kern_status do_step(bench *b, double *units, kern_error *err)
{
    (void)err;
    b->map->kind->step(b->map, b->map->start, b->tangents);
    *units = 1.0;
    return KERN_OK;
}

static kern_status do_jvp(bench *b, double *units, kern_error *err)
{
    (void)err;
    b->map->kind->jvp(b->map, b->map->start, b->map->start, b->tangents,
                      b->tangents + b->map->size);
    *units = 1.0;
    return KERN_OK;
}

/* The tangents are set anew each time, lest they grow without bound. */
static kern_status do_tangents(bench *b, double *units, kern_error *err)
{
    const size_t size = b->map->size;
    (void)err;
    for (size_t i = 0; i < EXPONENTS; i++) {
        memcpy(b->tangents + i * size, b->map->start, size * sizeof *b->tangents);
    }
    dyn_map_jvp_many(b->map, b->map->start, EXPONENTS, b->tangents, b->tangents + EXPONENTS * size,
                     b->tangents);
    *units = EXPONENTS;
    return KERN_OK;
}

/* ---- Exponents ---------------------------------------------------------------------------------
 */

static kern_status find_exponents(bench *b, int workers, dyn_lyapunov *l, kern_error *err)
{
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    o.k = kern_size_min(EXPONENTS, b->map->size);
    o.steps = EXPONENT_STEPS;
    o.ttr = 0;
    o.frame_ttr = 0;
    o.resamples = 0;
    o.workers = workers;
    KERN_TRY(dyn_lyapunov_init(l, b->map, b->map->start, &o, err));
    if (l->status != KERN_OK) {
        dyn_lyapunov_fini(l);
        return kern_raise(err, l->status, "the orbit of the prompt is lost");
    }
    return KERN_OK;
}

static kern_status do_exponents(bench *b, double *units, kern_error *err)
{
    dyn_lyapunov l;
    KERN_TRY(find_exponents(b, b->threads, &l, err));
    *units = (double)l.k * EXPONENT_STEPS;
    dyn_lyapunov_fini(&l);
    return KERN_OK;
}

/* Exponents by one worker and by several. */
static kern_status check_exponents(bench *b, bool *identical, kern_error *err)
{
    dyn_lyapunov one;
    dyn_lyapunov several;
    KERN_TRY(find_exponents(b, 1, &one, err));
    const kern_status status = find_exponents(b, b->threads > 2 ? b->threads : 2, &several, err);
    if (status == KERN_OK) {
        *identical = same_bits(one.exponents, several.exponents, one.k);
        dyn_lyapunov_fini(&several);
    }
    dyn_lyapunov_fini(&one);
    return status;
}

/* An orbit of the same number of steps for each item, on clones of the map. */
static kern_status follow(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    const bench *b = context;
    double *x = b->tangents + item * map->size;
    (void)worker;
    (void)err;
    memcpy(x, map->start, map->size * sizeof *x);
    for (size_t t = 0; t < EXPONENT_STEPS; t++) {
        map->kind->step(map, x, x);
    }
    return KERN_OK;
}

/* As many forward passes as the exponents take, by as many threads. */
static kern_status do_forward_passes(bench *b, double *units, kern_error *err)
{
    const dyn_scan_options o = {.items = EXPONENTS, .workers = b->threads};
    *units = (double)EXPONENTS * EXPONENT_STEPS;
    return dyn_scan_run(b->map, &o, follow, b, err);
}

/* ---- Multipliers -------------------------------------------------------------------------------
 */

static kern_status find_multipliers(bench *b, int workers, dyn_multipliers *m, kern_error *err)
{
    dyn_multipliers_options o = dyn_multipliers_options_default();
    o.workers = workers;
    return dyn_multipliers_init(m, b->map, b->map->start, &o, err);
}

static kern_status do_multipliers(bench *b, double *units, kern_error *err)
{
    dyn_multipliers m;
    KERN_TRY(find_multipliers(b, b->threads, &m, err));
    dyn_multipliers_fini(&m);
    *units = 1.0;
    return KERN_OK;
}

static bool same_blocks(const dyn_multipliers_block *a, const dyn_multipliers_block *b)
{
    return same_bits(a->re, b->re, a->n) && same_bits(a->im, b->im, a->n) &&
           same_bits(&a->transient_growth, &b->transient_growth, 1) &&
           a->transient_step == b->transient_step;
}

static kern_status check_multipliers(bench *b, bool *identical, kern_error *err)
{
    dyn_multipliers one;
    dyn_multipliers several;
    KERN_TRY(find_multipliers(b, 1, &one, err));
    const kern_status status = find_multipliers(b, b->threads > 2 ? b->threads : 2, &several, err);
    *identical = status == KERN_OK;
    for (size_t i = 0; *identical && i < one.n_blocks; i++) {
        *identical = same_blocks(&one.blocks[i], &several.blocks[i]);
    }
    if (status == KERN_OK) {
        dyn_multipliers_fini(&several);
    }
    dyn_multipliers_fini(&one);
    return status;
}

/* ---- Scans -------------------------------------------------------------------------------------
 */

/* Orbits of starts on a line, of which some diverge, as in a picture of basins. */
static kern_status end_orbit(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    double *ends = context;
    double x[2] = {-1.5 + 3.0 * (double)item / ORBITS, 0.1};
    (void)worker;
    (void)err;
    for (size_t t = 0; t < ORBIT_STEPS && dyn_state_check(x, 2, 1e6) == KERN_OK; t++) {
        map->kind->step(map, x, x);
    }
    ends[item] = x[0];
    return KERN_OK;
}

static kern_status run_scan(bench *b, int workers, double *ends, double *units, kern_error *err)
{
    const dyn_scan_options o = {.items = ORBITS, .grain = ORBIT_GRAIN, .workers = workers};
    *units = ORBITS;
    return dyn_scan_run(b->map, &o, end_orbit, ends, err);
}

static kern_status do_scan(bench *b, double *units, kern_error *err)
{
    return run_scan(b, b->threads, b->ends[1], units, err);
}

static kern_status do_scan_alone(bench *b, double *units, kern_error *err)
{
    return run_scan(b, 1, b->ends[0], units, err);
}

static kern_status check_scan(bench *b, bool *identical, kern_error *err)
{
    double units;
    KERN_TRY(run_scan(b, b->threads > 2 ? b->threads : 2, b->ends[1], &units, err));
    *identical = same_bits(b->ends[0], b->ends[1], ORBITS);
    return KERN_OK;
}

/* ---- Cases -------------------------------------------------------------------------------------
 */

/* ListOps prompts have some 30 tokens. The last case is there for its memory: (N·D)² numbers would
 * be 2 GiB. */
static const cli_bench_dyn_case cases[] = {
    {"step", "steps", NULL, 30, 64, do_step, NULL, NULL, false},
    {"jvp", "products", "steps", 30, 64, do_jvp, do_step, NULL, false},
    {"tangents-32", "products", "steps", 30, 64, do_tangents, do_step, NULL, false},
    {"exponents-32", "exponent steps", "forward passes", 30, 64, do_exponents, do_forward_passes,
     check_exponents, false},
    {"multipliers-8", "reports", NULL, 8, 64, do_multipliers, NULL, check_multipliers, true},
    {"multipliers-16", "reports", NULL, 16, 64, do_multipliers, NULL, check_multipliers, true},
    {"multipliers-30", "reports", NULL, 30, 64, do_multipliers, NULL, check_multipliers, true},
    {"multipliers-64", "reports", NULL, 64, 64, do_multipliers, NULL, check_multipliers, true},
    {"scan-10000", "orbits", "orbits, 1 thread", 0, 0, do_scan, do_scan_alone, check_scan, false},
    {"exponents-32-wide", "exponent steps", "forward passes", 64, 256, do_exponents,
     do_forward_passes, NULL, false},
};

size_t cli_bench_dyn_count(void)
{
    return sizeof cases / sizeof *cases;
}

const cli_bench_dyn_case *cli_bench_dyn_at(size_t i)
{
    return &cases[i];
}

const char *cli_bench_dyn_name(const cli_bench_dyn_case *c)
{
    return c->name;
}

const char *cli_bench_dyn_unit(const cli_bench_dyn_case *c)
{
    return c->unit;
}

const char *cli_bench_dyn_reference(const cli_bench_dyn_case *c)
{
    return c->reference_unit;
}

/* ---- Preparation -------------------------------------------------------------------------------
 */

static kern_status make_random_model(bench *b, kern_error *err)
{
    model_config c = model_config_default(MODEL_NRGPT);
    c.ff = MODEL_FF2W;
    c.n_embed = b->c->width;
    c.n_head = 1;
    c.vocab_size = VOCAB;
    c.block_size = b->c->tokens;
    c.strict_mask = true;
    KERN_TRY(model_create(&b->m, &c, &kern_backend_cpu_f64, err));
    return model_init_values(b->m, 1, err);
}

/* The block of the trained model, or of one with random weights, at a prompt of random tokens. */
static kern_status make_block(bench *b, const char *path, kern_error *err)
{
    const size_t tokens = b->c->tokens;
    if (path != NULL) {
        KERN_TRY(cli_run_open(&b->run, path, &kern_backend_cpu_f64, err));
    } else {
        KERN_TRY(make_random_model(b, err));
    }
    const model *m = path != NULL ? b->run.m : b->m;
    int32_t *ids = malloc(tokens * sizeof *ids);
    if (ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", tokens);
    }
    for (size_t i = 0; i < tokens; i++) {
        ids[i] = (int32_t)(kern_rng_hash(2, i) % m->config.vocab_size);
    }
    const kern_status status = model_dynamics_create(&b->map, m, ids, tokens, err);
    free(ids);
    return status;
}

static kern_status prepare(bench *b, const char *path, kern_error *err)
{
    if (b->c->tokens > 0) {
        KERN_TRY(make_block(b, path, err));
    } else {
        KERN_TRY(dyn_classical_create(&b->map, "henon", NULL, 0, err));
    }
    b->tangents = calloc((EXPONENTS + 1) * b->map->size, sizeof *b->tangents);
    b->ends[0] = calloc(ORBITS, sizeof *b->ends[0]);
    b->ends[1] = calloc(ORBITS, sizeof *b->ends[1]);
    if (b->tangents == NULL || b->ends[0] == NULL || b->ends[1] == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for tangents of %zu numbers",
                          b->map->size);
    }
    return KERN_OK;
}

static void release(bench *b)
{
    free(b->tangents);
    free(b->ends[0]);
    free(b->ends[1]);
    dyn_map_destroy(b->map);
    model_destroy(b->m);
    cli_run_fini(&b->run);
}

/* ---- Measuring ---------------------------------------------------------------------------------
 */

/* Units per second over at least `seconds`, and one call. */
static kern_status measure_rate(bench *b, bench_body *body, double seconds, double *rate,
                                kern_error *err)
{
    const double start = kern_peak_clock();
    double elapsed = 0.0;
    double total = 0.0;
    do {
        double units = 0.0;
        KERN_TRY(cli_signal_poll(err));
        KERN_TRY(body(b, &units, err));
        total += units;
        elapsed = kern_peak_clock() - start;
    } while (elapsed < seconds);
    *rate = total / elapsed;
    return KERN_OK;
}

static kern_status measure(bench *b, size_t rounds, double seconds, cli_bench_dyn_result *r,
                           kern_error *err)
{
    const cli_bench_dyn_case *c = b->c;
    double rates[CLI_BENCH_ROUNDS];
    double fractions[CLI_BENCH_ROUNDS];
    double reference = (double)NAN;
    for (size_t i = 0; i <= rounds; i++) { /* round 0 warms up */
        const double half = i == 0 ? 0.0 : 0.5 * seconds;
        const size_t at = i == 0 ? 0 : i - 1;
        if (c->reference != NULL) {
            KERN_TRY(measure_rate(b, c->reference, half, &reference, err));
        }
        KERN_TRY(measure_rate(b, c->subject, half, &rates[at], err));
        fractions[at] = rates[at] / reference;
    }
    r->rounds = rounds;
    r->rate = cli_bench_median(rates, rounds);
    r->fraction = c->reference != NULL ? cli_bench_median(fractions, rounds) : (double)NAN;
    r->us_per_token = c->per_token ? 1e6 / (r->rate * (double)c->tokens) : (double)NAN;
    r->checked = c->check != NULL;
    return c->check != NULL ? c->check(b, &r->identical, err) : KERN_OK;
}

void cli_bench_dyn_run(const cli_bench_dyn_case *c, const cli_bench_dyn_job *job,
                       cli_bench_dyn_result *result)
{
    kern_error err = {0};
    struct rusage usage;
    bench b = {.c = c, .threads = job->threads};
    *result = (cli_bench_dyn_result){0};
    result->status = prepare(&b, job->model, &err);
    if (result->status == KERN_OK) {
        const size_t rounds = kern_size_min(job->rounds, CLI_BENCH_ROUNDS);
        result->status = measure(&b, rounds, job->seconds, result, &err);
    }
    release(&b);
    (void)snprintf(result->text, sizeof result->text, "%.*s", (int)sizeof result->text - 1,
                   err.text);
    (void)getrusage(RUSAGE_SELF, &usage);
    result->max_rss_mb = (double)usage.ru_maxrss / 1024.0;
}
