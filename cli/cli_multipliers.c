/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin multipliers: eigenvalues of the Jacobian at a point or along a cycle.
 */
#include "cli/cli_coarse.h"
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_relative.h"
#include "cli/cli_signal.h"
#include "cli/cli_spectrum.h"
#include "dyn/dyn_assignment.h"
#include "dyn/dyn_fixed_points.h"
#include "dyn/dyn_multipliers.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_VALUES = 8, MAX_BLOCK = 1 << 24 };

typedef struct multipliers_settings {
    cli_map_options system;
    const char *at;
    bool solve;
    size_t period;
    double tol;
    size_t settle;
    size_t block;
    size_t horizon;
    bool vectors;
    cli_spectrum_options leading;
    int threads;
    bool json;
} multipliers_settings;

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(multipliers_settings, system),
    {.kind = CLI_HEADING, .help = "Point"},
    {.name = "at",
     .value = "A,B,...",
     .kind = CLI_TEXT,
     .offset = offsetof(multipliers_settings, at),
     .help = "the point (default: --x0, or the map's own start)"},
    {.name = "solve",
     .kind = CLI_FLAG,
     .offset = offsetof(multipliers_settings, solve),
     .help = "first finds the cycle near the point by Newton's method; for a map with a norm, as "
             "--model, the relative equilibrium of its chart, token by token"},
    {.name = "period",
     .value = "P",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 20,
     .offset = offsetof(multipliers_settings, period),
     .help = "states of the cycle, along which the Jacobians are multiplied"},
    {.name = "tol",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-300,
     .high = 1,
     .offset = offsetof(multipliers_settings, tol),
     .help = "largest residual of --solve; it must exceed the rounding of the largest coordinate"},
    {.name = "ttr",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(multipliers_settings, settle),
     .help = "transient: steps from the point to where --solve begins, for maps of several tokens "
             "and charts"},
    {.kind = CLI_HEADING, .help = "Multipliers"},
    {.name = "block",
     .value = "A",
     .kind = CLI_SIZE,
     .low = 0,
     .high = MAX_BLOCK,
     .hide_default = true,
     .offset = offsetof(multipliers_settings, block),
     .help = "one block (token) only, counted from 0 (default: every block)"},
    {.name = "horizon",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = 1 << 20,
     .offset = offsetof(multipliers_settings, horizon),
     .help = "largest power of the Jacobian whose norm counts for the transient growth"},
    {.name = "vectors",
     .kind = CLI_FLAG,
     .offset = offsetof(multipliers_settings, vectors),
     .help = "adds eigenvectors and their residuals |Jv - mv| to the JSON object"},
    CLI_OPTIONS_SPECTRUM(multipliers_settings, leading),
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTION_THREADS(multipliers_settings),
    CLI_OPTION_JSON(multipliers_settings),
};

static void defaults(void *settings)
{
    const dyn_multipliers_options o = dyn_multipliers_options_default();
    *(multipliers_settings *)settings =
        (multipliers_settings){.period = o.period,
                               .tol = dyn_fixed_points_options_default().tol,
                               .settle = dyn_cascade_options_default().settle,
                               .block = o.block,
                               .horizon = o.horizon,
                               .threads = kern_parallel_processors(),
                               .leading = cli_spectrum_options_default()};
}

/* One call. */
typedef struct multipliers_job {
    const multipliers_settings *s;
    cli_map system;
    double *states;  /* period × size, owned; NULL when the search found nothing */
    size_t period;   /* of states */
    double residual; /* distance of the image of the last state from the first, or of the search */
    kern_status status;
    dyn_multipliers result;
    dyn_spectrum leading;    /* with --k, instead of the above */
    cli_relative relative;   /* of a map of blocks or a chart that was solved */
    dyn_fixed_points failed; /* counts of a search that found nothing */
} multipliers_job;

/* ---- Computing --------------------------------------------------------------------------- */

/* Stability is a word for states that return; a NaN residual returns nowhere. */
static bool returns(const multipliers_job *job)
{
    return job->residual <= job->s->tol;
}

/* Block by block is how causal maps and charts are solved; a cycle of several states is not. */
static bool solves_blocks(const multipliers_job *job)
{
    const dyn_map *map = job->system.map;
    return job->s->solve && job->s->period == 1 && (map->block_count > 1 || dyn_chart_is(map));
}

/* --at into the first state. */
static kern_status read_point(multipliers_job *job, kern_error *err)
{
    const dyn_map *map = job->system.map;
    kern_error why = {0};
    double *values = NULL;
    size_t n = 0;
    if (job->s->at == NULL) {
        memcpy(job->states, map->start, map->size * sizeof *job->states);
        return KERN_OK;
    }
    const kern_status status = dyn_read_numbers(job->s->at, &values, &n, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--at: %s", why.text);
    }
    if (n == map->size) {
        memcpy(job->states, values, n * sizeof *values);
    }
    free(values);
    return n == map->size
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "--at has %zu numbers; map %s accepts %zu",
                            n, map->kind->name, map->size);
}

/* The cycle that Newton's method finds from the first state, in place of it. */
static kern_status solve(multipliers_job *job, kern_error *err)
{
    dyn_fixed_points_options o = dyn_fixed_points_options_default();
    dyn_fixed_points found;
    o.period = job->s->period;
    o.n_starts = 0;
    o.given = job->states;
    o.n_given = 1;
    o.tol = job->s->tol;
    KERN_TRY(dyn_fixed_points_init(&found, job->system.map, &o, err));
    if (found.n_cycles > 0) {
        const dyn_cycle *cycle = &found.cycles[0];
        job->period = cycle->period;
        job->residual = cycle->residual;
        memcpy(job->states, cycle->states,
               cycle->period * job->system.map->size * sizeof *job->states);
    } else {
        for (size_t i = 0; i < KERN_STATUS_COUNT; i++) {
            job->status = found.failures[i] > 0 ? (kern_status)i : job->status;
        }
        job->failed.n_coarse = found.n_coarse;
        job->failed.coarse_size = found.coarse_size;
    }
    dyn_fixed_points_fini(&found);
    return KERN_OK;
}

/* A fixed point block by block, in place of the first state. Blocks that are not solved are
 * reported with the others. */
static kern_status solve_blocks(multipliers_job *job, kern_error *err)
{
    const dyn_cascade *cascade = &job->relative.cascade;
    dyn_cascade_options o = dyn_cascade_options_default();
    o.settle = job->s->settle;
    o.tol = job->s->tol;
    KERN_TRY(cli_relative_solve(&job->relative, &job->system, job->states, &o, err));
    memcpy(job->states, cascade->state, cascade->size * sizeof *cascade->state);
    job->residual = cascade->residual;
    return KERN_OK;
}

/* The states after the first one, as the map has them. */
static void follow(multipliers_job *job)
{
    dyn_map *map = job->system.map;
    double *back = job->states + job->period * map->size;
    for (size_t t = 1; t <= job->period; t++) {
        map->kind->step(map, job->states + (t - 1) * map->size, job->states + t * map->size);
    }
    job->residual = dyn_map_distance(map, back, job->states);
}

static kern_status prepare_states(multipliers_job *job, kern_error *err)
{
    size_t count;
    const dyn_map *map = job->system.map;
    job->period = job->s->period;
    if (!kern_size_mul(job->period + 1, map->size, &count) || count > SIZE_MAX / sizeof(double)) {
        return kern_raise(err, KERN_OVERFLOW, "--period is %zu, too many for %zu coordinates",
                          job->period, map->size);
    }
    job->states = malloc(count * sizeof *job->states);
    if (job->states == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu states of %zu numbers",
                          job->period + 1, map->size);
    }
    KERN_TRY(read_point(job, err));
    if (solves_blocks(job)) {
        return solve_blocks(job, err);
    }
    if (job->s->solve) {
        return solve(job, err);
    }
    follow(job);
    return KERN_OK;
}

static kern_status compute(multipliers_job *job, kern_error *err)
{
    const multipliers_settings *s = job->s;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    cli_progress progress;
    cli_map_options system = s->system;
    system.chart_if_norm = s->solve;
    KERN_TRY(cli_map_open(&job->system, &system, err));
    KERN_TRY(prepare_states(job, err));
    if (job->status != KERN_OK) {
        return KERN_OK;
    }
    if (s->leading.k > 0) {
        KERN_TRY(cli_spectrum_compute(&job->leading, &s->leading, job->system.map, job->states,
                                      job->period, s->block, s->vectors, err));
        job->status = job->leading.status;
        if (job->status == KERN_OK && job->relative.cascade.blocks != NULL) {
            job->status = job->relative.cascade.status;
        }
        return KERN_OK;
    }
    o.period = job->period;
    o.horizon = s->horizon;
    o.vectors = s->vectors;
    o.block = s->block;
    o.workers = s->threads;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "block", 0, job->system.map->block_count, "blocks", 1.0);
    const kern_status status =
        dyn_multipliers_init(&job->result, job->system.map, job->states, &o, err);
    cli_progress_finish(&progress);
    job->status = job->result.status;
    if (status != KERN_OK || job->relative.cascade.blocks == NULL) {
        return status;
    }
    job->status = job->status == KERN_OK ? job->relative.cascade.status : job->status;
    return cli_relative_measure(&job->relative, &job->system, &job->result, err);
}

static double spectral_radius(const multipliers_job *job)
{
    if (job->s->leading.k > 0) {
        return cli_spectrum_radius(&job->leading, &job->s->leading);
    }
    return job->status == KERN_OK ? job->result.spectral_radius : (double)NAN;
}

/* 1 stable, 0 not stable, −1 undecided. */
static int stability(const multipliers_job *job)
{
    if (!returns(job)) {
        return -1;
    }
    if (job->s->leading.k > 0) {
        return cli_spectrum_verdict(&job->leading, &job->s->leading);
    }
    return job->result.stable ? 1 : 0;
}

/* ---- Printing ---------------------------------------------------------------------------- */

static void add_block(cli_json *json, cJSON *blocks, const multipliers_job *job,
                      const dyn_multipliers_block *b)
{
    cJSON *block = cli_json_child(json, blocks, NULL);
    cli_json_size(json, block, "token", b->block + job->system.first_token);
    cli_json_complexes(json, block, "values", b->re, b->im, b->n);
    cli_json_size(json, block, "gauge", b->n_zeros);
    cli_json_real(json, block, "spectral_radius", b->spectral_radius);
    cli_json_real(json, block, "transient_growth", b->transient_growth);
    cli_json_size(json, block, "transient_step", b->transient_step);
    cli_json_text(json, block, "status", kern_status_word(b->status));
    cli_relative_add(json, block, &job->relative, b->block);
    if (b->vectors != NULL) {
        (void)cli_json_reals(json, block, "residuals", b->residuals, b->n);
        cli_json_eigenvectors(json, block, "vectors", b->vectors, b->n, b->im, b->n);
    }
}

static void add_blocks(cli_json *json, const multipliers_job *job)
{
    const dyn_multipliers *m = &job->result;
    if (job->s->leading.k > 0) {
        cli_spectrum_add(json, &job->leading, &job->s->leading, job->system.first_token);
        return;
    }
    cJSON *blocks = cli_json_array(json, json->object, "blocks");
    for (size_t i = 0; i < m->n_blocks; i++) {
        add_block(json, blocks, job, &m->blocks[i]);
    }
}

static kern_status print_json(const multipliers_job *job, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    add_blocks(&json, job);
    cli_json_real(&json, json.object, "spectral_radius", spectral_radius(job));
    if (stability(job) >= 0) {
        cli_json_bool(&json, json.object, "stable", stability(job) > 0);
    } else {
        cli_json_null(&json, json.object, "stable");
    }
    (void)cli_json_reals(&json, json.object, "x", job->states, job->system.map->size);
    cli_json_size(&json, json.object, "period", job->period);
    cli_json_real(&json, json.object, "residual", job->residual);
    if (job->system.pinned != NULL) {
        cli_json_text(&json, json.object, "pinned_at", job->system.pinned);
    }
    cli_json_size(&json, json.object, "horizon", job->s->horizon);
    cli_coarse_add(&json, &job->failed);
    cli_json_text(&json, json.object, "status", kern_status_word(job->status));
    return cli_json_print(&json, err);
}

static void print_block(const dyn_multipliers_block *b, size_t first_token)
{
    (void)printf("%6zu %14.9g %14.6g at %-4zu", b->block + first_token, b->spectral_radius,
                 b->transient_growth, b->transient_step);
    const size_t n = b->n - b->n_zeros;
    for (size_t j = 0; j < n && j < SHOWN_VALUES; j++) {
        if (b->im[j] != 0.0) {
            (void)printf(" %.9g%+.9gi", b->re[j], b->im[j]);
        } else {
            (void)printf(" %.9g", b->re[j]);
        }
    }
    (void)printf("%s\n", n > SHOWN_VALUES ? " ..." : "");
}

static void print_verdict(const multipliers_job *job)
{
    const double radius = spectral_radius(job);
    const int stable = stability(job);
    (void)printf("\n");
    if (isfinite(radius)) {
        (void)printf("spectral radius %.9g; ", radius);
    }
    (void)printf("period %zu, residual %.2g: ", job->period, job->residual);
    if (!returns(job)) {
        (void)printf("the state does not return, so this is the Jacobian along an orbit and no "
                     "verdict; --solve looks for a cycle\n");
    } else if (stable < 0) {
        (void)printf("no verdict on stability, which takes --which modulus\n");
    } else {
        (void)printf("%s\n", stable > 0 ? "stable" : "not stable");
    }
}

static void print_text(const multipliers_job *job)
{
    const dyn_multipliers *m = &job->result;
    const dyn_map *map = job->system.map;
    (void)printf("%s: %s\n\n", map->kind->name, map->kind->formula);
    if (job->relative.cascade.blocks != NULL) {
        cli_relative_print(&job->relative, &job->system);
    }
    if (job->s->leading.k > 0) {
        cli_spectrum_print(&job->leading, &job->s->leading, job->system.first_token);
        if (dyn_chart_is(map)) {
            (void)printf("kappa and the rates at which tokens lose stability take all multipliers; "
                         "with --k they are left out\n");
        }
    }
    if (m->n_blocks > 0) {
        (void)printf("%6s %14s %14s %7s %s\n",
                     map->block_count > 1 || job->s->system.token != NULL ? "token" : "", "radius",
                     "transient", "power", "multipliers");
    }
    for (size_t i = 0; i < m->n_blocks; i++) {
        print_block(&m->blocks[i], job->system.first_token);
    }
    if (job->status != KERN_OK) {
        (void)printf("status: %s (%s)\n", kern_status_word(job->status),
                     kern_status_gloss(job->status));
        cli_coarse_print(&job->failed, job->s->tol);
        return;
    }
    print_verdict(job);
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    multipliers_job job = {.s = settings, .residual = (double)NAN};
    kern_status status = cli_spectrum_check(call, &job.s->leading, err);
    if (status == KERN_OK) {
        status = compute(&job, err);
    }
    if (status == KERN_OK) {
        call->check_failed = job.status != KERN_OK;
        if (job.s->json) {
            status = print_json(&job, err);
        } else {
            print_text(&job);
        }
    }
    dyn_multipliers_fini(&job.result);
    dyn_spectrum_fini(&job.leading);
    cli_relative_fini(&job.relative);
    free(job.states);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_multipliers = {
    .name = "multipliers",
    .purpose = "eigenvalues of the Jacobian at a point or along a cycle",
    .description =
        "Computes the eigenvalues of the Jacobian at a point, or of the product of Jacobians along "
        "a cycle, block by block where later tokens do not act on earlier ones, the largest "
        "modulus "
        "first. Beside each spectrum stands the transient growth, the largest 2-norm of a power of "
        "the block's Jacobian up to --horizon: how much a perturbation can grow before it decays. "
        "In a chart (--chart, or --solve with a norm) the last multipliers of each block, as many "
        "as \"gauge\" says, are 0 by construction; at a relative equilibrium the factors on "
        "eta/sigma at which the token flips (a multiplier -1) or turns (a complex pair of modulus "
        "1) are given as well. Columns: radius, the spectral radius; transient, the transient "
        "growth, and the power that attains it; of relative equilibria sigma, the pinned scale; "
        "radial, the part of the update along the state, by which its scale would grow at a step; "
        "kappa, -radial/eta; flip rate and NS rate, the factors named; lost at, the first factor "
        "at which the token loses stability; complex, multipliers that are not real. With --k only "
        "the leading multipliers are computed, for wide blocks "
        "without their Jacobian, and repeated from other random starts, which shows what a first "
        "run has missed.",
    .example = "basin multipliers --map henon --at 0.6,0.2 --solve\n"
               "basin multipliers --model run --prompt \"( max_10 3 5 )\" --json\n"
               "basin multipliers --map coupled-logistic --param n=2000 --solve --k 8 --which "
               "both-ends",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(multipliers_settings),
    .defaults = defaults,
    .run = run,
};
