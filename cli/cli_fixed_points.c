/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin fixed-points: fixed points and cycles of a map, and whether they are stable.
 */
#include "cli/cli_coarse.h"
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_cascade.h"
#include "dyn/dyn_fixed_points.h"
#include "kernels/kern_parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_COORDINATES = 4, SHOWN_VALUES = 3, MAX_COUNT = 1 << 24 };

typedef struct points_settings {
    cli_map_options system;
    size_t period;
    bool prime;
    const dyn_method *method; /* NULL: auto */
    bool deflate;
    dyn_seeds seeds;
    size_t starts;
    const char *box;
    size_t settle;
    double tol;
    double merge;
    size_t max_iterations;
    uint64_t seed;
    int threads;
    bool json;
} points_settings;

/* ---- Options ----------------------------------------------------------------------------- */

static kern_status parse_method(void *member, const char *value, kern_error *err)
{
    const dyn_method **method = member;
    *method = dyn_method_find(value);
    if (*method == NULL && strcmp(value, "auto") != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no method");
    }
    return KERN_OK;
}

static void show_method(const void *member, char out[CLI_VALUE_TEXT])
{
    const dyn_method *const *method = member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", *method != NULL ? (*method)->name : "auto");
}

static kern_status parse_seeds(void *member, const char *value, kern_error *err)
{
    dyn_seeds *seeds = member;
    for (int i = 0; i < DYN_SEEDS_COUNT; i++) {
        if (strcmp(value, dyn_seeds_name((dyn_seeds)i)) == 0) {
            *seeds = (dyn_seeds)i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no kind of seeds");
}

static void show_seeds(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", dyn_seeds_name(*(const dyn_seeds *)member));
}

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(points_settings, system),
    {.kind = CLI_HEADING, .help = "Search"},
    {.name = "period",
     .value = "P",
     .kind = CLI_SIZE,
     .low = 1,
     .high = MAX_COUNT,
     .offset = offsetof(points_settings, period),
     .help = "states of a cycle; cycles whose length divides it are listed as well"},
    {.name = "prime",
     .kind = CLI_FLAG,
     .offset = offsetof(points_settings, prime),
     .help = "reports cycles of exactly this length only"},
    {.name = "method",
     .value = "METHOD",
     .kind = CLI_WORD,
     .parse = parse_method,
     .show = show_method,
     .accepted = "auto, newton, newton-krylov and anderson",
     .offset = offsetof(points_settings, method),
     .help = "newton: a dense linear system of period times size equations, at most 600; "
             "newton-krylov: products by the Jacobian only, for large maps; anderson: no Jacobian, "
             "for attracting cycles; auto: newton while it can"},
    {.name = "deflate",
     .kind = CLI_FLAG,
     .offset = offsetof(points_settings, deflate),
     .help = "makes what is found repelling and uses every start again until it finds nothing new; "
             "starts then run one after another"},
    {.name = "seeds",
     .value = "KIND",
     .kind = CLI_WORD,
     .parse = parse_seeds,
     .show = show_seeds,
     .accepted = "uniform, sobol and kinetic",
     .offset = offsetof(points_settings, seeds),
     .help = "uniform: random points of the box; sobol: a shifted Sobol sequence (at most 40 "
             "coordinates, uniform beyond); kinetic: uniform points moved down q = |F(x) - x|^2/2 "
             "first, and minima of q without a solution are listed as slow points"},
    {.name = "box",
     .value = "LO:HI,...",
     .kind = CLI_TEXT,
     .offset = offsetof(points_settings, box),
     .help = "box that starts are drawn in; one pair for all coordinates, or one each (default: 2 "
             "to either side of the map's start, or whole circles)"},
    {.name = "starts",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = MAX_COUNT,
     .offset = offsetof(points_settings, starts),
     .help = "starts that are drawn, besides the one given by --x0"},
    {.name = "ttr",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(points_settings, settle),
     .help = "transient: steps from a start to where the method begins, half as many for every "
             "second one; for cycles on an attractor (default with --chart: 200)"},
    {.name = "tol",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-300,
     .high = 1,
     .offset = offsetof(points_settings, tol),
     .help = "largest residual; it must exceed the rounding of the largest coordinate"},
    {.name = "merge",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-300,
     .high = 1,
     .offset = offsetof(points_settings, merge),
     .help = "distance below which two states are the same, relative to the larger of 1 and the "
             "largest coordinate"},
    {.name = "max-iterations",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = MAX_COUNT,
     .offset = offsetof(points_settings, max_iterations),
     .help = "of the method for each start"},
    CLI_OPTION_SEED(points_settings, "of the starts"),
    CLI_OPTION_THREADS(points_settings),
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTION_JSON(points_settings),
};

static void defaults(void *settings)
{
    const dyn_fixed_points_options o = dyn_fixed_points_options_default();
    *(points_settings *)settings = (points_settings){.period = o.period,
                                                     .starts = o.n_starts,
                                                     .settle = o.settle,
                                                     .tol = o.tol,
                                                     .merge = o.merge,
                                                     .max_iterations = o.max_iterations,
                                                     .seed = o.seed,
                                                     .threads = kern_parallel_processors()};
}

/* One call. */
typedef struct points_job {
    const points_settings *s;
    size_t settle; /* of --ttr, or what suits the map */
    cli_map system;
    double *low;        /* owned; the upper ends stand behind */
    const double *high; /* in the block of low */
    dyn_fixed_points result;
} points_job;

/* The options of the search; what they point to belongs to the job. */
static dyn_fixed_points_options make_options(const points_job *job)
{
    const points_settings *s = job->s;
    dyn_fixed_points_options o = dyn_fixed_points_options_default();
    o.period = s->period;
    o.prime = s->prime;
    o.method = s->method;
    o.deflate = s->deflate;
    o.seeds = s->seeds;
    o.n_starts = s->starts;
    o.low = job->low;
    o.high = job->high;
    o.n_given = s->system.x0 != NULL ? 1 : 0;
    o.given = job->system.map->start;
    o.settle = job->settle;
    o.tol = s->tol;
    o.merge = s->merge;
    o.max_iterations = s->max_iterations;
    o.seed = s->seed;
    o.workers = s->threads;
    o.progress = cli_run_watch;
    return o;
}

static kern_status compute(points_job *job, kern_error *err)
{
    const points_settings *s = job->s;
    cli_progress progress;
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    KERN_TRY(cli_map_refuse_norm(job->system.map, err));
    KERN_TRY(cli_map_make_box(job->system.map, s->box, &job->low, &job->high, err));
    dyn_fixed_points_options o = make_options(job);
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "start", 0, o.n_given + o.n_starts, "starts", 1.0);
    const kern_status status = dyn_fixed_points_init(&job->result, job->system.map, &o, err);
    cli_progress_finish(&progress);
    return status;
}

/* ---- Printing ---------------------------------------------------------------------------- */

static void add_values(cli_json *json, cJSON *values, const double *re, const double *im, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cli_json_complex(json, values, NULL, re[i], im[i]);
    }
}

static void add_multipliers(cli_json *json, cJSON *point, const dyn_cycle *cycle)
{
    const dyn_multipliers *all = &cycle->multipliers;
    const dyn_spectrum *leading = &cycle->leading;
    cJSON *values = cli_json_array(json, point, "multipliers");
    for (size_t i = 0; i < all->n_blocks; i++) {
        add_values(json, values, all->blocks[i].re, all->blocks[i].im, all->blocks[i].n);
    }
    for (size_t i = 0; i < leading->n_parts; i++) {
        add_values(json, values, leading->parts[i].re, leading->parts[i].im, leading->parts[i].n);
    }
    cli_json_bool(json, point, "multipliers_complete", leading->n_parts == 0);
    cli_json_real(json, point, "spectral_radius", cycle->spectral_radius);
    cli_json_text(json, point, "stability", dyn_stability_word(cycle->stability));
    if (cycle->stability == DYN_STABILITY_STABLE || cycle->stability == DYN_STABILITY_UNSTABLE) {
        cli_json_bool(json, point, "stable", cycle->stable);
    } else {
        cli_json_null(json, point, "stable");
    }
    cli_json_real(json, point, "multiplier_error", cycle->accuracy.multiplier);
}

/* The states of a chain. */
static void add_states(cli_json *json, cJSON *point, const double *states, size_t n, size_t size)
{
    cJSON *list = cli_json_array(json, point, "cycle");
    for (size_t t = 0; t < n; t++) {
        (void)cli_json_reals(json, list, NULL, states + t * size, size);
    }
}

static void add_cycle(cli_json *json, cJSON *points, const dyn_cycle *cycle, size_t size)
{
    cJSON *point = cli_json_child(json, points, NULL);
    (void)cli_json_reals(json, point, "x", cycle->states, size);
    (void)cli_json_reals(json, point, "image", cycle->image, size);
    add_multipliers(json, point, cycle);
    cli_json_size(json, point, "period", cycle->period);
    cli_json_real(json, point, "residual", cycle->residual);
    cli_json_real(json, point, "position_error", cycle->accuracy.position);
    cli_json_text(json, point, "returns", kern_status_word(cycle->returns));
    cli_json_size(json, point, "hits", cycle->hits);
    add_states(json, point, cycle->states, cycle->period, size);
}

static void add_slow_points(cli_json *json, const dyn_slow_points *slow, size_t period, size_t size)
{
    cJSON *list = cli_json_array(json, json->object, "slow_points");
    for (size_t i = 0; i < slow->n; i++) {
        const dyn_slow_point *p = &slow->items[i];
        cJSON *point = cli_json_child(json, list, NULL);
        (void)cli_json_reals(json, point, "x", p->states, size);
        cli_json_real(json, point, "q", p->q);
        cli_json_real(json, point, "slope", p->slope);
        cli_json_text(json, point, "refusal", kern_status_word(p->refusal));
        cli_json_size(json, point, "hits", p->hits);
        add_states(json, point, p->states, period, size);
    }
}

/* Cycles of exactly the length that was asked for. */
static size_t count_exact(const points_job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->result.n_cycles; i++) {
        n += job->result.cycles[i].period == job->s->period;
    }
    return n;
}

/* Shorter cycles alone are not what was asked for. */
static kern_status outcome_of(const points_job *job)
{
    return count_exact(job) > 0 ? KERN_OK : KERN_NOT_CONVERGED;
}

static void add_settings(cli_json *json, const points_job *job)
{
    const points_settings *s = job->s;
    cli_json_size(json, json->object, "period", s->period);
    cli_json_text(json, json->object, "method", job->result.method->name);
    cli_json_bool(json, json->object, "deflate", s->deflate);
    cli_json_text(json, json->object, "seeds", dyn_seeds_name(s->seeds));
    cli_json_real(json, json->object, "tol", s->tol);
    cli_json_size(json, json->object, "seed", s->seed);
}

static kern_status print_json(const points_job *job, kern_error *err)
{
    const dyn_fixed_points *f = &job->result;
    const size_t size = job->system.map->size;
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    cJSON *points = cli_json_array(&json, json.object, "points");
    for (size_t i = 0; i < f->n_cycles; i++) {
        add_cycle(&json, points, &f->cycles[i], size);
    }
    add_slow_points(&json, &f->slow, job->s->period, size);
    cli_json_size(&json, json.object, "n_requested", f->n_requested);
    cli_json_size(&json, json.object, "n_converged", f->n_converged);
    cJSON *failures = cli_json_child(&json, json.object, "failures");
    for (size_t i = 0; i < KERN_STATUS_COUNT; i++) {
        if (f->failures[i] > 0) {
            cli_json_size(&json, failures, kern_status_word((kern_status)i), f->failures[i]);
        }
    }
    cli_json_size(&json, json.object, "n_exact", count_exact(job));
    cli_coarse_add(&json, f);
    add_settings(&json, job);
    cli_json_text(&json, json.object, "status", kern_status_word(outcome_of(job)));
    return cli_json_print(&json, err);
}

/* Nothing to report but why. */
static kern_status report_failure(const points_job *job, kern_status status, const kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    (void)cli_json_array(&json, json.object, "points");
    return cli_json_print_failure(&json, status, err);
}

static void print_values(const double *re, const double *im, size_t n)
{
    for (size_t j = 0; j < n && j < SHOWN_VALUES; j++) {
        if (im[j] != 0.0) {
            (void)printf(" %.9g%+.9gi", re[j], im[j]);
        } else {
            (void)printf(" %.9g", re[j]);
        }
    }
    (void)printf("%s", n > SHOWN_VALUES ? " ..." : "");
}

static void print_state(const double *x, size_t size)
{
    for (size_t i = 0; i < size && i < SHOWN_COORDINATES; i++) {
        (void)printf(" %.12g", x[i]);
    }
    (void)printf("%s\n", size > SHOWN_COORDINATES ? " ..." : "");
}

static void print_cycle(const dyn_cycle *cycle, size_t size)
{
    (void)printf("%6zu  %-8s %9.2g ", cycle->period, dyn_stability_word(cycle->stability),
                 cycle->residual);
    if (cycle->multipliers.n_blocks > 0) {
        const dyn_multipliers_block *b = &cycle->multipliers.blocks[0];
        print_values(b->re, b->im, b->n);
    } else if (cycle->leading.n_parts > 0) {
        const dyn_spectrum_part *b = &cycle->leading.parts[0];
        print_values(b->re, b->im, b->n);
    }
    (void)printf(" at");
    print_state(cycle->states, size);
}

/* How the starts ended that found nothing. */
static void print_failures(const dyn_fixed_points *f, bool deflate)
{
    for (size_t i = 0; i < KERN_STATUS_COUNT; i++) {
        if (f->failures[i] > 0 && i == KERN_NOT_FOUND) {
            (void)printf("%zu to %s\n", f->failures[i],
                         deflate ? "cycles known before, or shorter ones" : "shorter cycles");
        } else if (f->failures[i] > 0) {
            (void)printf("%zu ended: %s (%s)\n", f->failures[i], kern_status_word((kern_status)i),
                         kern_status_gloss((kern_status)i));
        }
    }
}

static void print_slow_points(const dyn_slow_points *slow, size_t size)
{
    if (slow->n > 0) {
        (void)printf("\nslow points, which are no solutions: q, and the first state\n");
    }
    for (size_t i = 0; i < slow->n; i++) {
        (void)printf("  %.9g at", slow->items[i].q);
        print_state(slow->items[i].states, size);
    }
}

static void print_text(const points_job *job)
{
    const dyn_fixed_points *f = &job->result;
    const dyn_map *map = job->system.map;
    (void)printf("%s: %s\n\n", map->kind->name, map->kind->formula);
    if (f->n_cycles > 0) {
        (void)printf("period            residual  multipliers and first state\n");
    }
    for (size_t i = 0; i < f->n_cycles; i++) {
        print_cycle(&f->cycles[i], map->size);
    }
    (void)printf("%s%zu of %zu starts converged to %zu %s\n", f->n_cycles > 0 ? "\n" : "",
                 f->n_converged, f->n_requested, f->n_cycles,
                 f->n_cycles == 1 ? "cycle" : "cycles");
    print_failures(f, job->s->deflate);
    cli_coarse_print(f, job->s->tol);
    if (f->n_cycles > 0 && count_exact(job) == 0) {
        (void)printf(
            "no cycle of minimal period %zu was found: those above are shorter ones, whose "
            "period divides it\n",
            job->s->period);
    }
    print_slow_points(&f->slow, map->size);
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    points_job job = {.s = settings};
    /* Most starts of a chart are far from its few relative equilibria, which attract. */
    job.settle = job.s->system.chart && !cli_args_given(call, "ttr")
                     ? dyn_cascade_options_default().settle
                     : job.s->settle;
    kern_status status = compute(&job, err);
    if (status == KERN_OK) {
        call->check_failed = outcome_of(&job) != KERN_OK;
        if (job.s->json) {
            status = print_json(&job, err);
        } else {
            print_text(&job);
        }
    }
    if (job.s->json && job.system.map != NULL && cli_json_is_outcome(status)) {
        status = report_failure(&job, status, err);
    }
    dyn_fixed_points_fini(&job.result);
    free(job.low);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_fixed_points = {
    .name = "fixed-points",
    .purpose = "fixed points and cycles of a map, and their stability",
    .description =
        "Searches for fixed points and cycles from starts drawn in a box and from --x0, by "
        "Newton's "
        "method in all states of a cycle together unless --method says otherwise. Each cycle is "
        "reported once, with its minimal period, its multipliers, and the residual of its states; "
        "it must also return after free runs of 2 and of 3 times its period. "
        "A cycle is marginal when its largest multiplier has modulus 1 to the accuracy it is known "
        "to, as at a bifurcation; there the position, too, is known to position_error only. "
        "When none of exactly this period is found the counts say how the starts ended, the status "
        "is not_converged, and the exit status is 1.",
    .example = "basin fixed-points --map henon --period 7 --box -1.5:1.5,-0.5:0.5\n"
               "basin fixed-points --map kopel --param mu=3.5 --box 0:1 --starts 4 --deflate",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(points_settings),
    .defaults = defaults,
    .run = run,
};
