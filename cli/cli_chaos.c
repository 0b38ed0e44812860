/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin chaos: tests whether an orbit is chaotic.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_rows.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_gali.h"
#include "dyn/dyn_orbit.h"
#include "dyn/dyn_zero_one.h"
#include "kernels/kern_parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_K = 1 << 24, MAX_ANGLES = 1 << 20, DEFAULT_SERIES = 5000 };

/* The tests; a row of `tests` below each. */
typedef enum chaos_test { TEST_GALI, TEST_ZERO_ONE, TEST_COUNT } chaos_test;

typedef struct chaos_settings {
    cli_map_options system;
    chaos_test test;
    size_t steps;
    size_t ttr;
    size_t k;
    double threshold;
    bool series;
    size_t coordinate;
    size_t stride;
    size_t angles;
    uint64_t seed;
    int threads;
    bool json;
} chaos_settings;

static kern_status parse_test(void *member, const char *value, kern_error *err);
static void show_test(const void *member, char out[CLI_VALUE_TEXT]);

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(chaos_settings, system),
    {.kind = CLI_HEADING, .help = "Test"},
    {.name = "test",
     .value = "NAME",
     .kind = CLI_WORD,
     .required = true,
     .hide_default = true,
     .accepted = "gali and zero-one",
     .offset = offsetof(chaos_settings, test),
     .parse = parse_test,
     .show = show_test,
     .help = "gali: alignment of tangent vectors; zero-one: spreading of a walk that one "
             "coordinate drives"},
    {.name = "steps",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = CLI_STEPS_MAX,
     .hide_default = true,
     .offset = offsetof(chaos_settings, steps),
     .help =
         "steps of the map (gali), or values of the series (zero-one) (default: 1000, or 5000)"},
    CLI_OPTION_TTR(chaos_settings, ttr),
    CLI_OPTION_SEED(chaos_settings, "of the first tangent vectors, or of the angles"),
    {.kind = CLI_HEADING, .help = "Alignment (gali)"},
    {.name = "k",
     .value = "K",
     .kind = CLI_SIZE,
     .low = 2,
     .high = MAX_K,
     .offset = offsetof(chaos_settings, k),
     .help = "tangent vectors, from 2 to the number of coordinates"},
    {.name = "threshold",
     .value = "X",
     .kind = CLI_REAL,
     .low = 1e-300,
     .high = 0.5,
     .offset = offsetof(chaos_settings, threshold),
     .help = "index at which vectors are aligned"},
    {.name = "series",
     .kind = CLI_FLAG,
     .offset = offsetof(chaos_settings, series),
     .help = "adds the index after every step to the JSON object"},
    {.kind = CLI_HEADING, .help = "Walk (zero-one)"},
    CLI_OPTION_COORDINATE(chaos_settings, coordinate, "coordinate that drives the walk, from 0"),
    {.name = "stride",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(chaos_settings, stride),
     .help = "steps of the map from one value to the next, for maps that move little at a step"},
    {.name = "angles",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = MAX_ANGLES,
     .offset = offsetof(chaos_settings, angles),
     .help = "random angles that the median is taken over"},
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTION_THREADS(chaos_settings),
    CLI_OPTION_JSON(chaos_settings),
};

static void defaults(void *settings)
{
    const dyn_gali_options gali = dyn_gali_options_default();
    const dyn_zero_one_options walk = dyn_zero_one_options_default();
    *(chaos_settings *)settings = (chaos_settings){.ttr = 1000,
                                                   .k = gali.k,
                                                   .threshold = gali.threshold,
                                                   .stride = 1,
                                                   .angles = walk.n_angles,
                                                   .seed = walk.seed,
                                                   .threads = kern_parallel_processors()};
}

/* One call. */
typedef struct chaos_job {
    const chaos_settings *s;
    cli_map system;
    size_t steps;
    kern_status status; /* of the orbit */
    size_t end;
    double value;
    dyn_chaos verdict;
    bool collapsed; /* rounding has put the orbit on a repelling fixed point */
    dyn_gali gali;
    dyn_zero_one walk;
} chaos_job;

/* ---- Tests -------------------------------------------------------------------------------- */

static kern_status run_gali(chaos_job *job, kern_error *err)
{
    dyn_gali_options o = dyn_gali_options_default();
    cli_progress progress;
    o.k = job->s->k;
    o.ttr = job->s->ttr;
    o.steps = job->steps;
    o.threshold = job->s->threshold;
    o.seed = job->s->seed;
    o.series = job->s->series;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "step", 0, o.ttr + o.steps, "steps", 1.0);
    const kern_status status =
        dyn_gali_init(&job->gali, job->system.map, job->system.map->start, &o, err);
    cli_progress_finish(&progress);
    job->status = job->gali.status;
    job->end = job->gali.end;
    job->value = job->gali.value;
    job->verdict = job->gali.verdict;
    job->collapsed = job->gali.collapsed;
    return status;
}

static kern_status test_values(chaos_job *job, const double *values, kern_error *err)
{
    dyn_zero_one_options o = dyn_zero_one_options_default();
    cli_progress progress;
    o.n_angles = job->s->angles;
    o.seed = job->s->seed;
    o.workers = job->s->threads;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "angle", 0, o.n_angles, "angles", 1.0);
    const kern_status status = dyn_zero_one_init(&job->walk, values, job->steps, &o, err);
    cli_progress_finish(&progress);
    job->value = job->walk.value;
    job->verdict = job->walk.verdict;
    return status;
}

/* The coordinate that is tested, on a circle between 0 and its period. */
typedef struct chaos_probe {
    size_t coordinate;
    double period;
} chaos_probe;

static void observe(void *context, size_t step, const double *x, double *observed)
{
    const chaos_probe *probe = context;
    const double value = x[probe->coordinate];
    (void)step;
    observed[0] =
        probe->period > 0.0 ? value - probe->period * floor(value / probe->period) : value;
}

static kern_status run_zero_one(chaos_job *job, kern_error *err)
{
    const dyn_map *map = job->system.map;
    const size_t coordinate = job->s->coordinate;
    dyn_orbit *orbit = NULL;
    if (coordinate >= map->size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--coordinate is %zu; accepted are 0 to %zu for map %s", coordinate,
                          map->size - 1, map->kind->name);
    }
    chaos_probe probe = {coordinate, map->periods != NULL ? map->periods[coordinate] : 0.0};
    cli_progress progress;
    const dyn_orbit_options o = {.ttr = job->s->ttr,
                                 .steps = job->steps - 1,
                                 .stride = job->s->stride,
                                 .observe = observe,
                                 .context = &probe,
                                 .n_observed = 1,
                                 .progress = cli_run_watch,
                                 .watcher = &progress};
    cli_signal_watch();
    cli_progress_start(&progress, "step", 0, o.ttr + o.steps * o.stride, "steps", 1.0);
    kern_status status = dyn_orbit_create(&orbit, job->system.map, &o, err);
    cli_progress_finish(&progress);
    KERN_TRY(status);
    job->status = orbit->status;
    job->end = orbit->end;
    job->value = (double)NAN;
    if (orbit->status == KERN_OK) {
        status = test_values(job, orbit->observed, err);
        job->collapsed = orbit->collapsed;
        job->verdict = orbit->collapsed ? DYN_CHAOS_UNDECIDED : job->verdict;
    }
    dyn_orbit_destroy(orbit);
    return status;
}

static void describe_gali(cli_json *json, const chaos_job *job)
{
    cli_json_size(json, json->object, "k", job->s->k);
    cli_json_real(json, json->object, "threshold", job->s->threshold);
    if (job->gali.fell > 0) {
        cli_json_size(json, json->object, "fell", job->gali.fell);
    } else {
        cli_json_null(json, json->object, "fell");
    }
    cli_json_real(json, json->object, "growth", job->gali.growth);
    cli_json_bool(json, json->object, "noisy", job->gali.noisy);
    if (job->s->series) {
        (void)cli_json_reals(json, json->object, "series", job->gali.series, job->gali.n_series);
    }
}

static void describe_zero_one(cli_json *json, const chaos_job *job)
{
    cli_json_real(json, json->object, "low", job->walk.low);
    cli_json_real(json, json->object, "high", job->walk.high);
    cli_json_size(json, json->object, "angles", job->s->angles);
    cli_json_size(json, json->object, "coordinate", job->s->coordinate);
    cli_json_size(json, json->object, "stride", job->s->stride);
    cli_json_real(json, json->object, "range_step", job->walk.range_step);
    cli_json_bool(json, json->object, "oversampled", job->walk.oversampled);
    cli_json_real(json, json->object, "regular_below", DYN_ZERO_ONE_REGULAR);
    cli_json_real(json, json->object, "chaotic_above", DYN_ZERO_ONE_CHAOTIC);
}

static void print_gali(const chaos_job *job)
{
    const dyn_gali *g = &job->gali;
    (void)printf("GALI_%zu %.6g after %zu of %zu steps", g->k, g->value,
                 g->fell > 0 ? g->fell : job->steps, job->steps);
    (void)printf("%s (threshold %.3g)\n", g->fell > 0 ? ", where it fell to the threshold" : "",
                 job->s->threshold);
    (void)printf("growth of a tangent vector %.6g nats per step\n", g->growth);
    if (g->noisy) {
        (void)printf("The map has no jvp: the index was followed to the noise of difference "
                     "quotients, no further.\n");
    }
}

static void print_zero_one(const chaos_job *job)
{
    (void)printf("K %.6g, median over %zu angles (quartiles %.3g and %.3g) of %zu values\n",
                 job->value, job->walk.n_angles, job->walk.low, job->walk.high, job->steps);
    if (job->walk.oversampled) {
        (void)printf("The series moves by 1/%.0f of its range at a step: it is sampled too densely "
                     "to be called regular; try a larger --stride.\n",
                     job->walk.range_step);
    }
}

static const struct {
    const char *word;
    size_t steps; /* without --steps */
    kern_status (*run)(chaos_job *job, kern_error *err);
    void (*describe)(cli_json *json, const chaos_job *job);
    void (*print)(const chaos_job *job);
} tests[TEST_COUNT] = {
    [TEST_GALI] = {"gali", 1000, run_gali, describe_gali, print_gali},
    [TEST_ZERO_ONE] = {"zero-one", DEFAULT_SERIES, run_zero_one, describe_zero_one, print_zero_one},
};

static kern_status parse_test(void *member, const char *value, kern_error *err)
{
    for (size_t i = 0; i < TEST_COUNT; i++) {
        if (strcmp(value, tests[i].word) == 0) {
            *(chaos_test *)member = (chaos_test)i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no test");
}

static void show_test(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", tests[*(const chaos_test *)member].word);
}

/* ---- The whole ---------------------------------------------------------------------------- */

/* How it went: a verdict, the orbit's end, or that the test was not decided. */
static kern_status outcome(const chaos_job *job)
{
    if (job->status != KERN_OK) {
        return job->status;
    }
    return job->verdict == DYN_CHAOS_UNDECIDED ? KERN_TIMEOUT : KERN_OK;
}

static kern_status print_json(const chaos_job *job, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    cli_json_text(&json, json.object, "test", tests[job->s->test].word);
    cli_json_real(&json, json.object, "value", job->value);
    cli_json_text(&json, json.object, "verdict", dyn_chaos_word(job->verdict));
    cli_json_text(&json, json.object, "status",
                  job->collapsed ? "collapsed" : kern_status_word(outcome(job)));
    cli_json_bool(&json, json.object, "collapsed", job->collapsed);
    cli_json_size(&json, json.object, "steps", job->steps);
    cli_json_size(&json, json.object, "ttr", job->s->ttr);
    cli_json_size(&json, json.object, "end", job->end);
    cli_json_size(&json, json.object, "seed", job->s->seed);
    tests[job->s->test].describe(&json, job);
    return cli_json_print(&json, err);
}

static void print_text(const chaos_job *job)
{
    const dyn_map_kind *kind = job->system.map->kind;
    (void)printf("%s: %s\n", kind->name, kind->formula);
    if (job->status != KERN_OK) {
        (void)printf("status: %s (%s) after %zu steps\n", kern_status_word(job->status),
                     kern_status_gloss(job->status), job->end);
        return;
    }
    tests[job->s->test].print(job);
    if (job->collapsed) {
        (void)printf("status: collapsed. The orbit sits on a repelling fixed point, where rounding "
                     "has put it; that decides nothing.\n");
    }
    (void)printf("verdict: %s\n", dyn_chaos_word(job->verdict));
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    chaos_job job = {.s = settings};
    job.steps = job.s->steps > 0 ? job.s->steps : tests[job.s->test].steps;
    kern_status status = cli_map_open(&job.system, &job.s->system, err);
    if (status == KERN_OK) {
        status = tests[job.s->test].run(&job, err);
    }
    if (status == KERN_OK) {
        call->check_failed = outcome(&job) != KERN_OK;
        if (job.s->json) {
            status = print_json(&job, err);
        } else {
            print_text(&job);
        }
    }
    dyn_gali_fini(&job.gali);
    dyn_zero_one_fini(&job.walk);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_chaos = {
    .name = "chaos",
    .purpose = "whether an orbit is chaotic: alignment of tangents, or the 0-1 test",
    .description =
        "gali follows k tangent vectors of unit length and the volume they span. An orbit is "
        "chaotic when that falls to the threshold sooner than any power law could take it there, "
        "and vectors grow; it is regular when neither is the case. zero-one lets one coordinate "
        "drive a walk in the plane and tells whether it spreads: the value is near 1 for chaos and "
        "near 0 for regular motion. When a test is undecided, the orbit is lost, or rounding has "
        "put "
        "it on a repelling fixed point (collapsed), the exit status is 1.",
    .example = "basin chaos --test gali --map standard --param k=1 --x0 0.1,0.1\n"
               "basin chaos --test zero-one --map logistic --param r=3.9",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(chaos_settings),
    .defaults = defaults,
    .run = run,
};
