/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin fixed-points: fixed points and cycles of a map, and whether they are stable.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_fixed_points.h"

#include <stdlib.h>

enum { SHOWN_COORDINATES = 4, SHOWN_VALUES = 3, MAX_COUNT = 1 << 24 };

/* Half the width of the box around the start when none is given. */
#define DEFAULT_REACH 2.0

typedef struct points_settings {
    cli_map_options system;
    size_t period;
    bool prime;
    size_t starts;
    const char *box;
    size_t settle;
    double tol;
    double merge;
    size_t max_iterations;
    uint64_t seed;
    bool json;
} points_settings;

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
     .help = "states of a cycle; cycles whose length divides it are found as well"},
    {.name = "prime",
     .kind = CLI_FLAG,
     .offset = offsetof(points_settings, prime),
     .help = "reports cycles of exactly this length only"},
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
    {.name = "settle",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(points_settings, settle),
     .help = "steps of the map from a start to where Newton's method begins, half for every second "
             "one; for cycles on an attractor"},
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
     .help = "of Newton's method for each start"},
    CLI_OPTION_SEED(points_settings, "of the starts"),
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
                                                     .seed = o.seed};
}

/* One call. */
typedef struct points_job {
    const points_settings *s;
    cli_map system;
    double *low;        /* owned; the upper ends stand behind */
    const double *high; /* in the block of low */
    dyn_fixed_points result;
} points_job;

/* The box without --box. */
static kern_status make_box(points_job *job, kern_error *err)
{
    const dyn_map *map = job->system.map;
    job->low = calloc(2 * map->size, sizeof *job->low);
    if (job->low == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a box of %zu coordinates", map->size);
    }
    job->high = job->low + map->size;
    for (size_t i = 0; i < map->size; i++) {
        const double period = map->periods != NULL ? map->periods[i] : 0.0;
        job->low[i] = period > 0.0 ? 0.0 : map->start[i] - DEFAULT_REACH;
        job->low[map->size + i] = period > 0.0 ? period : map->start[i] + DEFAULT_REACH;
    }
    return KERN_OK;
}

static kern_status compute(points_job *job, kern_error *err)
{
    const points_settings *s = job->s;
    dyn_fixed_points_options o = dyn_fixed_points_options_default();
    cli_progress progress;
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    KERN_TRY(cli_map_read_box(job->system.map, s->box, &job->low, &job->high, err));
    if (job->low == NULL) {
        KERN_TRY(make_box(job, err));
    }
    o.period = s->period;
    o.prime = s->prime;
    o.n_starts = s->starts;
    o.low = job->low;
    o.high = job->high;
    o.n_given = s->system.x0 != NULL ? 1 : 0;
    o.given = job->system.map->start;
    o.settle = s->settle;
    o.tol = s->tol;
    o.merge = s->merge;
    o.max_iterations = s->max_iterations;
    o.seed = s->seed;
    o.progress = cli_run_watch;
    o.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "start", 0, o.n_given + o.n_starts, "starts", 1.0);
    const kern_status status = dyn_fixed_points_init(&job->result, job->system.map, &o, err);
    cli_progress_finish(&progress);
    return status;
}

/* ---- Printing ---------------------------------------------------------------------------- */

static void add_multipliers(cli_json *json, cJSON *parent, const dyn_multipliers *m)
{
    cJSON *values = cli_json_array(json, parent, "multipliers");
    for (size_t i = 0; i < m->n_blocks; i++) {
        for (size_t j = 0; j < m->blocks[i].n; j++) {
            cJSON *value = cli_json_child(json, values, NULL);
            cli_json_real(json, value, "re", m->blocks[i].re[j]);
            cli_json_real(json, value, "im", m->blocks[i].im[j]);
        }
    }
}

static void add_cycle(cli_json *json, cJSON *points, const dyn_cycle *cycle, size_t size)
{
    cJSON *point = cli_json_child(json, points, NULL);
    (void)cli_json_reals(json, point, "x", cycle->states, size);
    (void)cli_json_reals(json, point, "image", cycle->image, size);
    add_multipliers(json, point, &cycle->multipliers);
    cli_json_real(json, point, "spectral_radius", cycle->multipliers.spectral_radius);
    cli_json_bool(json, point, "stable", cycle->stable);
    cli_json_size(json, point, "period", cycle->period);
    cli_json_real(json, point, "residual", cycle->residual);
    cli_json_size(json, point, "hits", cycle->hits);
    cJSON *states = cli_json_array(json, point, "cycle");
    for (size_t t = 0; t < cycle->period; t++) {
        (void)cli_json_reals(json, states, NULL, cycle->states + t * size, size);
    }
}

static kern_status print_json(const points_job *job, kern_error *err)
{
    const dyn_fixed_points *f = &job->result;
    cli_json json;
    cli_json_init(&json);
    cli_map_describe(&json, job->system.map);
    cJSON *points = cli_json_array(&json, json.object, "points");
    for (size_t i = 0; i < f->n_cycles; i++) {
        add_cycle(&json, points, &f->cycles[i], job->system.map->size);
    }
    cli_json_size(&json, json.object, "n_requested", f->n_requested);
    cli_json_size(&json, json.object, "n_converged", f->n_converged);
    cJSON *failures = cli_json_child(&json, json.object, "failures");
    for (size_t i = 0; i < KERN_STATUS_COUNT; i++) {
        if (f->failures[i] > 0) {
            cli_json_size(&json, failures, kern_status_word((kern_status)i), f->failures[i]);
        }
    }
    cli_json_size(&json, json.object, "period", job->s->period);
    cli_json_real(&json, json.object, "tol", job->s->tol);
    cli_json_size(&json, json.object, "seed", job->s->seed);
    cli_json_text(&json, json.object, "status",
                  kern_status_word(f->n_converged > 0 ? KERN_OK : KERN_NOT_CONVERGED));
    return cli_json_print(&json, err);
}

static void print_cycle(const dyn_cycle *cycle, size_t size)
{
    const dyn_multipliers_block *b = &cycle->multipliers.blocks[0];
    (void)printf("%6zu  %-8s %9.2g ", cycle->period, cycle->stable ? "stable" : "unstable",
                 cycle->residual);
    for (size_t j = 0; j < b->n && j < SHOWN_VALUES; j++) {
        if (b->im[j] != 0.0) {
            (void)printf(" %.9g%+.9gi", b->re[j], b->im[j]);
        } else {
            (void)printf(" %.9g", b->re[j]);
        }
    }
    (void)printf("%s at", b->n > SHOWN_VALUES ? " ..." : "");
    for (size_t i = 0; i < size && i < SHOWN_COORDINATES; i++) {
        (void)printf(" %.12g", cycle->states[i]);
    }
    (void)printf("%s\n", size > SHOWN_COORDINATES ? " ..." : "");
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
    for (size_t i = 0; i < KERN_STATUS_COUNT; i++) {
        if (f->failures[i] > 0 && i == KERN_NOT_FOUND) {
            (void)printf("%zu to shorter cycles\n", f->failures[i]);
        } else if (f->failures[i] > 0) {
            (void)printf("%zu ended: %s (%s)\n", f->failures[i], kern_status_word((kern_status)i),
                         kern_status_gloss((kern_status)i));
        }
    }
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    points_job job = {.s = settings};
    (void)call;
    kern_status status = compute(&job, err);
    if (status == KERN_OK && job.s->json) {
        status = print_json(&job, err);
    } else if (status == KERN_OK) {
        print_text(&job);
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
        "Searches for fixed points and cycles by Newton's method in all states of a cycle "
        "together, "
        "from starts drawn in a box and from --x0. Each cycle is reported once, with its minimal "
        "period, its multipliers, and the residual of the states that are reported. That none is "
        "found is a result; the counts say how the starts ended.",
    .example = "basin fixed-points --map henon --period 7 --box -1.5:1.5,-0.5:0.5",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(points_settings),
    .defaults = defaults,
    .run = run,
};
