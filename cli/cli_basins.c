/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin basins: which attractor the starts in a box end on.
 */
#include "cli/cli_basins.h"

#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "kernels/kern_parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUNT_MAX = 1 << 30,
    MEMORY_MAX = 1 << 24,      /* MiB */
    COORDINATES_FOR_CELLS = 3, /* for which recurrences are chosen */
    RANDOM_STARTS = 100        /* beyond, where no grid is asked for: such maps are slow */
};

/* ---- Words -------------------------------------------------------------------------------- */

static kern_status parse_method(void *member, const char *value, kern_error *err)
{
    for (size_t i = 0; i < dyn_basins_method_count; i++) {
        if (strcmp(value, dyn_basins_methods[i]->name) == 0) {
            *(size_t *)member = i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no method");
}

static void show_method(const void *member, char out[CLI_VALUE_TEXT])
{
    const size_t method = *(const size_t *)member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s",
                   method < dyn_basins_method_count ? dyn_basins_methods[method]->name : "");
}

static kern_status parse_group(void *member, const char *value, kern_error *err)
{
    for (size_t i = 0; i < dyn_group_method_count; i++) {
        if (strcmp(value, dyn_group_methods[i].name) == 0) {
            *(size_t *)member = i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no way of grouping");
}

static void show_group(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", dyn_group_methods[*(const size_t *)member].name);
}

/* ---- Options ------------------------------------------------------------------------------ */

#define ROW(option, letter, kind_of, member)                                                       \
    .name = (option), .value = (letter), .kind = (kind_of),                                        \
    .offset = offsetof(cli_basins_settings, member)
#define RANGE(least, most) .low = (least), .high = (most)

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(cli_basins_settings, system),
    {.kind = CLI_HEADING, .help = "Starts"},
    {ROW("box", "LO:HI,...", CLI_TEXT, box),
     .help = "box of the starts; one pair for all coordinates, or one each (default: 2 to either "
             "side of the map's start, or whole circles)"},
    {ROW("grid", "N", CLI_SIZE, grid), RANGE(1, COUNT_MAX), .hide_default = true,
     .help =
         "starts at the centres of N cells along every coordinate (default: 1000, 100 or 20 for "
         "1, 2 or 3 coordinates)"},
    {ROW("starts", "N", CLI_SIZE, starts), RANGE(1, COUNT_MAX), .hide_default = true,
     .help = "N starts drawn in the box instead (default for more than 3 coordinates: 100)"},
    {ROW("jitter", "X", CLI_REAL, jitter), RANGE(0, 0.5),
     .help =
         "largest distance of a start of the grid from its centre, in cells, which keeps starts "
         "off planes of symmetry"},
    {.kind = CLI_HEADING, .help = "Method"},
    {ROW("method", "NAME", CLI_WORD, method), .parse = parse_method, .show = show_method,
     .hide_default = true, .accepted = "recurrences, proximity and features",
     .help = "recurrences on a grid of cells (default, up to 3 coordinates), proximity to "
             "attractors that are looked for first, or features of orbits (default beyond)"},
    {ROW("horizon", "N", CLI_SIZE, horizon), RANGE(1, CLI_STEPS_MAX),
     .help = "steps after which an orbit that has not settled is a timeout"},
    {ROW("track", "LO:HI,...", CLI_TEXT, track),
     .help = "box that orbits are followed in (default: --box)"},
    {ROW("outside", "N", CLI_SIZE, outside), RANGE(0, CLI_STEPS_MAX), .hide_default = true,
     .help = "consecutive steps outside that box after which an orbit has left it, 0: never "
             "(default: 1000 for recurrences, else 0)"},
    {ROW("confirm", "N", CLI_SIZE, confirm), RANGE(0, CLI_STEPS_MAX),
     .help = "steps that an orbit is followed further before what is not periodic counts as an "
             "attractor"},
    {ROW("stay", "N", CLI_SIZE, stay), RANGE(1, CLI_STEPS_MAX),
     .help = "consecutive steps in an attractor's cells, or near it, that count as arrival"},
    {ROW("cells", "N", CLI_SIZE, cells), RANGE(1, COUNT_MAX), .hide_default = true,
     .help =
         "of recurrences: cells along every coordinate (default: 4096, 512 or 128 for 1, 2 or 3 "
         "coordinates)"},
    {ROW("recurrences", "N", CLI_SIZE, recurrences), RANGE(1, CLI_STEPS_MAX),
     .help = "of recurrences: consecutive visits to cells of its own past after which an orbit is "
             "verified"},
    {ROW("radius", "X", CLI_REAL, radius), RANGE(0, DBL_MAX), .hide_default = true,
     .accepted = "finite numbers from 0",
     .help = "of proximity: distance that counts as near (default: a quarter of the smallest "
             "distance between attractors, at most 1/100 of the box)"},
    {ROW("ttr", "N", CLI_SIZE, settle), RANGE(0, CLI_STEPS_MAX),
     .help = "of features: steps before the tail of an orbit"},
    {ROW("tail", "N", CLI_SIZE, tail), RANGE(1, CLI_STEPS_MAX),
     .help = "of features: states that are described"},
    {ROW("group", "NAME", CLI_WORD, group), .parse = parse_group, .show = show_group,
     .accepted = "dbscan and histogram", .help = "of features: dbscan or histogram"},
    {ROW("group-radius", "X", CLI_REAL, group_radius), RANGE(1e-6, 1),
     .help = "of features: distance within a group, or width of a bin, as a part of a feature's "
             "range"},
    {.kind = CLI_HEADING, .help = "Measures"},
    {ROW("entropy-box", "K", CLI_SIZE, entropy_box), RANGE(1, COUNT_MAX),
     .help = "cells along the side of a box of the basin entropy (of a grid of starts)"},
    {ROW("uncertainty", NULL, CLI_FLAG, uncertainty),
     .help = "measure the uncertainty exponent of the boundary as well"},
    {ROW("points", "N", CLI_SIZE, points), RANGE(1, COUNT_MAX),
     .help = "of --uncertainty: points for each of 9 distances; three starts each"},
    {.kind = CLI_HEADING, .help = "Continuation"},
    CLI_OPTIONS_VARY(cli_basins_settings, vary, false),
    {ROW("threshold", "X", CLI_REAL, threshold), RANGE(0, DBL_MAX), .hide_default = true,
     .accepted = "finite numbers from 0",
     .help =
         "largest distance of attractors at neighbouring values that are the same one (default: "
         "1/20 of the box)"},
    {.kind = CLI_HEADING, .help = "Work"},
    CLI_OPTION_SEED(cli_basins_settings, "of starts, jitter and tangent vectors"),
    CLI_OPTION_THREADS(cli_basins_settings),
    {ROW("memory-limit", "MIB", CLI_SIZE, memory), RANGE(1, MEMORY_MAX),
     .help = "largest memory of the labels, MiB"},
    {ROW("dry-run", NULL, CLI_FLAG, dry_run),
     .help = "tell the starts, the memory and, from a few of them, the time it would take"},
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTIONS_FILES(cli_basins_settings, files,
                      "start, coordinates, label; with --vary: parameter, label, period, fraction"),
    CLI_OPTION_JSON(cli_basins_settings),
};

static void defaults(void *settings)
{
    const dyn_basins_options o = dyn_basins_options_default();
    *(cli_basins_settings *)settings =
        (cli_basins_settings){.method = CLI_BASINS_CHOOSE,
                              .group = o.group.method,
                              .group_radius = o.group.radius,
                              .jitter = o.starts.jitter,
                              .horizon = o.horizon,
                              .confirm = o.verify.confirm,
                              .recurrences = o.recurrences,
                              .stay = o.stay,
                              .settle = o.settle,
                              .tail = o.tail,
                              .entropy_box = 5,
                              .points = dyn_uncertainty_options_default().points,
                              .vary = {.n = 20},
                              .memory = o.memory_limit >> 20,
                              .seed = o.seed,
                              .threads = kern_parallel_processors()};
}

/* ---- From settings to options ------------------------------------------------------------- */

/* --track, whose sentences shall not name --box. */
static kern_status read_track(cli_basins_job *job, kern_error *err)
{
    kern_error why = {0};
    const kern_status status =
        cli_map_read_box(job->system.map, job->s->track, &job->track_low, &job->track_high, &why);
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "--track, as a box: %s", why.text);
}

static kern_status fill_counts(size_t **out, size_t size, size_t n, kern_error *err)
{
    *out = calloc(size, sizeof **out);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a grid of %zu coordinates", size);
    }
    for (size_t i = 0; i < size; i++) {
        (*out)[i] = n;
    }
    return KERN_OK;
}

static size_t choose_grid(size_t size)
{
    return size == 1 ? 1000 : size == 2 ? 100 : 20;
}

static kern_status set_starts(cli_basins_job *job, kern_error *err)
{
    const cli_basins_settings *s = job->s;
    const size_t size = job->system.map->size;
    dyn_basin_starts *starts = &job->o.starts;
    const bool drawn = s->starts > 0 || (s->grid == 0 && size > COORDINATES_FOR_CELLS);
    if (s->starts > 0 && s->grid > 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--starts and --grid are both given; accepted is one of them");
    }
    starts->kind = drawn ? DYN_BASIN_RANDOM : DYN_BASIN_GRID;
    starts->n = s->starts > 0 ? s->starts : RANDOM_STARTS;
    starts->low = job->low;
    starts->high = job->high;
    starts->jitter = s->jitter;
    starts->seed = s->seed;
    KERN_TRY(fill_counts(&job->grid, size, s->grid > 0 ? s->grid : choose_grid(size), err));
    starts->grid = job->grid;
    return KERN_OK;
}

static kern_status set_options(cli_basins_job *job, const cli_call *call, kern_error *err)
{
    const cli_basins_settings *s = job->s;
    dyn_basins_options *o = &job->o;
    const size_t size = job->system.map->size;
    *o = dyn_basins_options_default();
    KERN_TRY(set_starts(job, err));
    if (s->cells > 0) {
        KERN_TRY(fill_counts(&job->cells, size, s->cells, err));
    }
    o->method = s->method;
    if (s->method == CLI_BASINS_CHOOSE) {
        (void)parse_method(&o->method, size <= COORDINATES_FOR_CELLS ? "recurrences" : "features",
                           NULL);
    }
    o->low = job->track_low;
    o->high = job->track_high;
    o->horizon = s->horizon;
    if (cli_args_given(call, "outside")) {
        o->outside = s->outside;
    } else if (strcmp(dyn_basins_methods[o->method]->name, "recurrences") != 0) {
        o->outside = 0;
    }
    o->verify.confirm = s->confirm;
    o->verify.seed = s->seed;
    o->stay = s->stay;
    o->cells = job->cells;
    o->recurrences = s->recurrences;
    o->radius = s->radius;
    o->settle = s->settle;
    o->tail = s->tail;
    o->group.method = s->group;
    o->group.radius = s->group_radius;
    o->memory_limit = s->memory << 20;
    o->seed = s->seed;
    o->workers = s->threads;
    return KERN_OK;
}

/* The number of starts, or a refusal that names the option behind it. */
static kern_status estimate(cli_basins_job *job, kern_error *err)
{
    kern_error why = {0};
    const kern_status status =
        dyn_basins_estimate(job->system.map, &job->o, &job->n_starts, &job->bytes, &why);
    const bool drawn = job->o.starts.kind == DYN_BASIN_RANDOM;
    if (status == KERN_NO_MEMORY || status == KERN_OVERFLOW) {
        return kern_raise(err, status, "--%s %zu: %s (--memory-limit)", drawn ? "starts" : "grid",
                          drawn ? job->o.starts.n : job->grid[0], why.text);
    }
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "%s", why.text);
}

/* The starts of --uncertainty, which take memory as well. */
static kern_status estimate_uncertainty(cli_basins_job *job, kern_error *err)
{
    dyn_basins_options o = job->o;
    dyn_uncertainty_options u = dyn_uncertainty_options_default();
    kern_error why = {0};
    size_t bytes;
    u.points = job->s->points;
    KERN_TRY(dyn_uncertainty_count(&u, &job->n_labelled, err));
    o.starts.kind = DYN_BASIN_TOLD;
    o.starts.n = job->n_labelled;
    const kern_status status =
        dyn_basins_estimate(job->system.map, &o, &job->n_labelled, &bytes, &why);
    if (status == KERN_NO_MEMORY) {
        return kern_raise(err, status, "--points %zu: %s (--memory-limit)", u.points, why.text);
    }
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "%s", why.text);
}

/* An option that only some methods heed, and their names. */
typedef struct owned_option {
    const char *name;
    const char *methods;
} owned_option;

/* Refuses what would be ignored. */
static kern_status check_ignored(const cli_basins_job *job, const cli_call *call, kern_error *err)
{
    static const owned_option owned[] = {{"horizon", "recurrences, proximity"},
                                         {"stay", "recurrences, proximity"},
                                         {"cells", "recurrences"},
                                         {"recurrences", "recurrences"},
                                         {"radius", "proximity"},
                                         {"ttr", "features"},
                                         {"tail", "features"},
                                         {"group", "features"},
                                         {"group-radius", "features"}};
    static const char *const unwritten[] = {"out", "csv"};
    const char *method = dyn_basins_methods[job->o.method]->name;
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        if (cli_args_given(call, owned[i].name) && strstr(owned[i].methods, method) == NULL) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is given and the method is %s, which has no use for it; "
                              "accepted is --method with one of: %s",
                              owned[i].name, method, owned[i].methods);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        if (job->s->dry_run && cli_args_given(call, unwritten[i])) {
            return kern_raise(
                err, KERN_INVALID_ARGUMENT,
                "--%s and --dry-run are both given; accepted is one of them, as a dry "
                "run has nothing to write",
                unwritten[i]);
        }
    }
    if (cli_args_given(call, "points") && !job->s->uncertainty) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--points is given without --uncertainty; accepted are both");
    }
    if (cli_args_given(call, "jitter") && job->o.starts.kind != DYN_BASIN_GRID) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--jitter needs a grid of starts; accepted is --grid and not --starts");
    }
    return KERN_OK;
}

static kern_status check(cli_basins_job *job, const cli_call *call, kern_error *err)
{
    static const char *const only[] = {"n", "threshold"};
    const cli_basins_settings *s = job->s;
    KERN_TRY(cli_vary_check(call, &s->vary, only, 2, err));
    KERN_TRY(cli_files_check(&s->files, err));
    KERN_TRY(check_ignored(job, call, err));
    if (s->uncertainty && s->vary.name != NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--uncertainty and --vary are both given; accepted is one of them");
    }
    if (cli_args_given(call, "entropy-box") && job->o.starts.kind != DYN_BASIN_GRID) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--entropy-box needs a grid of starts; accepted is --grid and not "
                          "--starts");
    }
    if (cli_args_given(call, "entropy-box") && s->entropy_box > job->grid[0]) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--entropy-box is %zu, accepted are 1 to %zu on this grid",
                          s->entropy_box, job->grid[0]);
    }
    return KERN_OK;
}

static kern_status open_job(cli_basins_job *job, const cli_call *call, kern_error *err)
{
    const cli_basins_settings *s = job->s;
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    KERN_TRY(cli_map_make_box(job->system.map, s->box, &job->low, &job->high, err));
    if (s->track != NULL) {
        KERN_TRY(read_track(job, err));
    }
    KERN_TRY(set_options(job, call, err));
    KERN_TRY(check(job, call, err));
    KERN_TRY(estimate(job, err));
    return s->uncertainty ? estimate_uncertainty(job, err) : KERN_OK;
}

/* ---- Work --------------------------------------------------------------------------------- */

static kern_status run_sweep(cli_basins_job *job, kern_error *err)
{
    const cli_vary *v = &job->s->vary;
    const dyn_basins_sweep_options o = {
        .vary = v->name, .from = v->from, .to = v->to, .n = v->n, .threshold = job->s->threshold};
    return dyn_basins_sweep_init(&job->sweep, job->system.map, &job->o, &o, err);
}

static kern_status run_single(cli_basins_job *job, cli_progress *progress, kern_error *err)
{
    const cli_basins_settings *s = job->s;
    KERN_TRY(dyn_basins_init(&job->basins, job->system.map, &job->o, err));
    if (job->o.starts.kind == DYN_BASIN_GRID && s->entropy_box <= job->grid[0]) {
        KERN_TRY(dyn_basin_entropy_find(&job->entropy, job->basins.labels, job->grid,
                                        job->system.map->size, s->entropy_box, err));
        job->has_entropy = true;
    }
    if (s->uncertainty) {
        dyn_uncertainty_options u = dyn_uncertainty_options_default();
        u.points = s->points;
        cli_progress_finish(progress);
        cli_progress_start(progress, "start", 0, job->n_labelled, "starts", 1.0);
        KERN_TRY(dyn_uncertainty_init(&job->uncertainty, job->system.map, &job->o, &u, err));
        job->has_uncertainty = true;
    }
    return KERN_OK;
}

static kern_status compute(cli_basins_job *job, kern_error *err)
{
    const cli_basins_settings *s = job->s;
    const size_t columns = s->vary.name != NULL ? s->vary.n : 1;
    cli_progress progress;
    if (s->dry_run) {
        return cli_basins_estimate_time(job, err);
    }
    job->o.progress = cli_run_watch;
    job->o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "start", 0, job->n_starts * columns, "starts", 1.0);
    const kern_status status =
        s->vary.name != NULL ? run_sweep(job, err) : run_single(job, &progress, err);
    cli_progress_finish(&progress);
    return status;
}

/* True when no start has ended on an attractor, diverged or left the box. */
static bool nothing_decided(const dyn_basins *b)
{
    const size_t open = b->counts[-1 - DYN_BASIN_TIMEOUT] + b->counts[-1 - DYN_BASIN_UNRESOLVED] +
                        b->counts[-1 - DYN_BASIN_NAN];
    return open == b->n_starts;
}

static kern_status find_outcome(const cli_basins_job *job)
{
    size_t failed = 0;
    if (job->s->vary.name == NULL) {
        return nothing_decided(&job->basins) ? KERN_NOT_CONVERGED : KERN_OK;
    }
    for (size_t i = 0; i < job->sweep.n; i++) {
        failed += nothing_decided(&job->sweep.columns[i].basins) ? 1U : 0U;
    }
    return failed == job->sweep.n ? KERN_NOT_CONVERGED : KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    cli_basins_job job = {.s = settings};
    kern_status status = open_job(&job, call, err);
    if (status == KERN_OK) {
        status = compute(&job, err);
    }
    if (status == KERN_OK && !job.s->dry_run) {
        job.outcome = find_outcome(&job);
        call->check_failed = job.outcome != KERN_OK;
        status = cli_basins_write(&job, err);
    }
    if (status == KERN_OK) {
        status = cli_basins_print(&job, err);
    }
    dyn_basins_fini(&job.basins);
    dyn_basins_sweep_fini(&job.sweep);
    dyn_uncertainty_fini(&job.uncertainty);
    free(job.low);
    free(job.track_low);
    free(job.grid);
    free(job.cells);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_basins = {
    .name = "basins",
    .purpose = "basins of attraction: which attractor starts end on",
    .description =
        "Follows the orbits of many starts and labels each with the attractor that it ends on, or "
        "as diverged, left_box, timeout, unresolved or nan. Every attractor is verified, by its "
        "multipliers when it is a cycle and by Lyapunov exponents otherwise; what only looks like "
        "one leaves its starts unresolved. Reports fractions, the basin entropy of a grid of "
        "starts, and with --vary the fractions against a parameter, with attractors matched. The "
        "exit status is 1 when no start is decided.",
    .example = "basin basins --map henon --box -2:2 --grid 500 --out henon-basins.h5",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_basins_settings),
    .defaults = defaults,
    .run = run,
};
