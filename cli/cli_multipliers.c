/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin multipliers: eigenvalues of the Jacobian at a point or along a cycle.
 */
#include "cli/cli_multipliers.h"
#include "cli/cli_commands.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_assignment.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCK = 1 << 24 };

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(cli_multipliers_settings, system),
    {.kind = CLI_HEADING, .help = "Point"},
    {.name = "at",
     .value = "A,B,...",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_multipliers_settings, at),
     .help = "the point (default: --x0, or the map's own start)"},
    {.name = "solve",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_multipliers_settings, solve),
     .help = "first finds the cycle near the point by Newton's method; for a map with a norm, as "
             "--model, the relative equilibrium of its chart, token by token"},
    {.name = "period",
     .value = "P",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 20,
     .offset = offsetof(cli_multipliers_settings, period),
     .help = "states of the cycle, along which the Jacobians are multiplied"},
    {.name = "tol",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-300,
     .high = 1,
     .offset = offsetof(cli_multipliers_settings, tol),
     .help = "largest residual of --solve; it must exceed the rounding of the largest coordinate"},
    {.name = "ttr",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(cli_multipliers_settings, settle),
     .help = "transient: steps from the point to where --solve begins, for maps of several tokens "
             "and charts"},
    {.kind = CLI_HEADING, .help = "Multipliers"},
    {.name = "block",
     .value = "A",
     .kind = CLI_SIZE,
     .low = 0,
     .high = MAX_BLOCK,
     .hide_default = true,
     .offset = offsetof(cli_multipliers_settings, block),
     .help = "one block (token) only, counted from 0 (default: every block)"},
    {.name = "horizon",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = 1 << 20,
     .offset = offsetof(cli_multipliers_settings, horizon),
     .help = "largest power of the Jacobian whose norm counts for the transient growth"},
    {.name = "vectors",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_multipliers_settings, vectors),
     .help = "adds eigenvectors and their residuals |Jv - mv| to the JSON object"},
    {.name = "bottleneck",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_multipliers_settings, bottleneck),
     .help = "takes the multipliers of an hourglass part from the S x S matrix of its S hidden "
             "units, S^2 D + S^3 operations a token instead of D steps and D^3; the others are 1; "
             "without transient growth, for --layer L --sublayer mlp"},
    CLI_OPTIONS_SPECTRUM(cli_multipliers_settings, leading),
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTION_THREADS(cli_multipliers_settings),
    CLI_OPTION_JSON(cli_multipliers_settings),
};

static void defaults(void *settings)
{
    const dyn_multipliers_options o = dyn_multipliers_options_default();
    *(cli_multipliers_settings *)settings =
        (cli_multipliers_settings){.period = o.period,
                                   .tol = dyn_fixed_points_options_default().tol,
                                   .settle = dyn_cascade_options_default().settle,
                                   .block = o.block,
                                   .horizon = o.horizon,
                                   .threads = kern_parallel_processors(),
                                   .leading = cli_spectrum_options_default()};
}

/* ---- Computing --------------------------------------------------------------------------- */

/* Block by block is how causal maps and charts are solved; a cycle of several states is not. */
static bool solves_blocks(const cli_multipliers_job *job)
{
    const dyn_map *map = job->system.map;
    return job->s->solve && job->s->period == 1 && (map->block_count > 1 || dyn_chart_is(map));
}

/* --at into the first state. */
static kern_status read_point(cli_multipliers_job *job, kern_error *err)
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

/* What --bottleneck cannot do is refused before anything is computed. */
static kern_status check_bottleneck(const cli_call *call, const cli_multipliers_settings *s,
                                    kern_error *err)
{
    static const char *const others[] = {"k", "vectors", "horizon", "period", "chart", "token"};
    for (size_t i = 0; s->bottleneck && i < sizeof others / sizeof others[0]; i++) {
        if (cli_args_given(call, others[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--bottleneck is given with --%s; it takes all multipliers of every "
                              "token at one state",
                              others[i]);
        }
    }
    return KERN_OK;
}

/* The cycle that Newton's method finds from the first state, in place of it. */
static kern_status solve(cli_multipliers_job *job, kern_error *err)
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
static kern_status solve_blocks(cli_multipliers_job *job, kern_error *err)
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
static void follow(cli_multipliers_job *job)
{
    dyn_map *map = job->system.map;
    double *back = job->states + job->period * map->size;
    for (size_t t = 1; t <= job->period; t++) {
        map->kind->step(map, job->states + (t - 1) * map->size, job->states + t * map->size);
    }
    job->residual = dyn_map_distance(map, back, job->states);
}

static kern_status prepare_states(cli_multipliers_job *job, kern_error *err)
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

static kern_status compute(cli_multipliers_job *job, kern_error *err)
{
    const cli_multipliers_settings *s = job->s;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    cli_progress progress;
    cli_map_options system = s->system;
    system.chart_if_norm = s->solve;
    KERN_TRY(cli_map_open(&job->system, &system, err));
    if (s->bottleneck && job->system.map->kind->block_factors == NULL) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "--bottleneck is given for map %s, which has none; accepted are hourglass "
            "parts with norms A, B or D (--model RUN --layer L --sublayer mlp)",
            job->system.map->kind->name);
    }
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
    o.horizon = s->bottleneck ? 0 : s->horizon;
    o.factored = s->bottleneck;
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

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    cli_multipliers_job job = {.s = settings, .residual = (double)NAN};
    kern_status status = cli_spectrum_check(call, &job.s->leading, err);
    if (status == KERN_OK) {
        status = check_bottleneck(call, job.s, err);
    }
    if (status == KERN_OK) {
        status = compute(&job, err);
    }
    if (status == KERN_OK) {
        call->check_failed = job.status != KERN_OK;
        if (job.s->json) {
            status = cli_multipliers_print_json(&job, err);
        } else {
            cli_multipliers_print_text(&job);
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
    .settings_size = sizeof(cli_multipliers_settings),
    .defaults = defaults,
    .run = run,
};
