/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin orbit: the states of a map, step by step.
 */
#include "cli/cli_commands.h"
#include "cli/cli_csv.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_progress.h"
#include "cli/cli_rows.h"
#include "cli/cli_settle.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_observe.h"
#include "dyn/dyn_orbit.h"

#include <stdlib.h>

enum { SHOWN_ROWS = 12, SHOWN_COORDINATES = 6, NAME_TEXT = 32 };

typedef struct orbit_settings {
    cli_map_options system;
    size_t steps;
    size_t ttr;
    size_t stride;
    const char *box;
    const char *observe;
    double settle; /* 0: not asked for */
    cli_files files;
    bool json;
} orbit_settings;

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(orbit_settings, system),
    {.kind = CLI_HEADING, .help = "Orbit"},
    CLI_OPTION_STEPS(orbit_settings, steps, 0, "states after the first one; N + 1 result"),
    {.name = "stride",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(orbit_settings, stride),
     .help = "steps of the map from one state that is reported to the next"},
    CLI_OPTION_TTR(orbit_settings, ttr),
    {.name = "box",
     .value = "LO:HI,...",
     .kind = CLI_TEXT,
     .offset = offsetof(orbit_settings, box),
     .help = "ends the orbit when it leaves this box; one pair for all coordinates, or one each"},
    {.name = "observe",
     .value = "NAME,...",
     .kind = CLI_TEXT,
     .offset = offsetof(orbit_settings, observe),
     .help = "numbers about every state, one for each block: sigma (scale before a norm), mean, "
             "length, move (largest change at the next step), energy"},
    {.name = "settle",
     .value = "TOL",
     .kind = CLI_REAL,
     .low = 1e-300,
     .high = 1e300,
     .hide_default = true,
     .offset = offsetof(orbit_settings, settle),
     .help = "adds when each block (token) comes to rest: stays this near to where it is at the "
             "end of transient and steps, its direction where there is a norm"},
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTIONS_FILES(orbit_settings, files, "step, coordinates, energy, observables"),
    CLI_OPTION_JSON(orbit_settings),
};

static void defaults(void *settings)
{
    orbit_settings *s = settings;
    s->steps = 100;
    s->stride = 1;
}

typedef struct orbit_job {
    const orbit_settings *s;
    cli_map system;
    double *lo;       /* owned */
    const double *hi; /* in the block of lo */
    dyn_observer observer;
    dyn_orbit *orbit;
    dyn_settle settle; /* zeroed when it was not asked for */
} orbit_job;

/* Numbers that are observed about a state. */
static size_t observed(const orbit_job *job)
{
    return job->observer.n * job->system.map->block_count;
}

static kern_status read_observables(orbit_job *job, kern_error *err)
{
    kern_error why = {0};
    if (job->s->observe == NULL) {
        return KERN_OK;
    }
    const kern_status status =
        dyn_observer_init(&job->observer, job->system.map, job->s->observe, &why);
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "--observe: %s", why.text);
}

static kern_status find_settle(orbit_job *job, kern_error *err)
{
    const orbit_settings *s = job->s;
    cli_progress progress;
    const dyn_settle_options settle = {.horizon = s->ttr + s->steps * s->stride,
                                       .tol = s->settle,
                                       .progress = cli_run_watch,
                                       .context = &progress};
    cli_progress_start(&progress, "settling", 0, 2 * settle.horizon, "steps", 1.0);
    const kern_status status = dyn_settle_init(&job->settle, job->system.map, NULL, &settle, err);
    cli_progress_finish(&progress);
    return status;
}

static kern_status follow(orbit_job *job, kern_error *err)
{
    const orbit_settings *s = job->s;
    cli_progress progress;
    const dyn_orbit_options orbit = {.ttr = s->ttr,
                                     .steps = s->steps,
                                     .stride = s->stride,
                                     .lo = job->lo,
                                     .hi = job->hi,
                                     .observe = observed(job) > 0 ? dyn_observer_write : NULL,
                                     .context = &job->observer,
                                     .n_observed = observed(job),
                                     .progress = cli_run_watch,
                                     .watcher = &progress};
    cli_progress_start(&progress, "step", 0, s->ttr + s->steps * s->stride, "steps", 1.0);
    const kern_status status = dyn_orbit_create(&job->orbit, job->system.map, &orbit, err);
    cli_progress_finish(&progress);
    return status;
}

static kern_status compute(orbit_job *job, kern_error *err)
{
    const orbit_settings *s = job->s;
    KERN_TRY(cli_files_check(&s->files, err));
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    KERN_TRY(cli_map_read_box(job->system.map, s->box, &job->lo, &job->hi, err));
    KERN_TRY(read_observables(job, err));
    cli_signal_watch();
    KERN_TRY(follow(job, err));
    return s->settle > 0.0 ? find_settle(job, err) : KERN_OK;
}

/* What the files and the JSON object say beside the states. */
static void describe(cli_json *json, const void *context)
{
    const orbit_job *job = context;
    cli_map_describe(json, job->system.map);
    cli_json_size(json, json->object, "steps", job->s->steps);
    cli_json_size(json, json->object, "ttr", job->s->ttr);
    cli_json_size(json, json->object, "stride", job->s->stride);
    cli_json_text(json, json->object, "status", kern_status_word(job->orbit->status));
    cli_json_size(json, json->object, "end", job->orbit->end);
    cli_json_bool(json, json->object, "collapsed", job->orbit->collapsed);
}

static void add_observed(cli_json *json, const orbit_job *job)
{
    const dyn_orbit *orbit = job->orbit;
    const size_t blocks = job->system.map->block_count;
    cJSON *all = cli_json_child(json, json->object, "observed");
    for (size_t i = 0; i < job->observer.n; i++) {
        cJSON *rows = cli_json_array(json, all, dyn_observable_word(job->observer.which[i]));
        for (size_t k = 0; k < orbit->n; k++) {
            (void)cli_json_reals(json, rows, NULL, orbit->observed + k * observed(job) + i * blocks,
                                 blocks);
        }
    }
}

static kern_status print_json(const void *context, kern_error *err)
{
    const orbit_job *job = context;
    cli_json json;
    const dyn_orbit *orbit = job->orbit;
    cli_json_init(&json);
    describe(&json, job);
    cJSON *states = cli_json_array(&json, json.object, "states");
    for (size_t k = 0; k < orbit->n; k++) {
        (void)cli_json_reals(&json, states, NULL, orbit->states + k * orbit->size, orbit->size);
    }
    if (orbit->energy != NULL) {
        (void)cli_json_reals(&json, json.object, "energy", orbit->energy, orbit->n);
    } else {
        cli_json_null(&json, json.object, "energy");
    }
    if (observed(job) > 0) {
        add_observed(&json, job);
    }
    if (job->settle.blocks != NULL) {
        cli_settle_add(&json, &job->settle, job->system.first_token);
    }
    return cli_json_print(&json, err);
}

static void write_heads(cli_csv *csv, const orbit_job *job)
{
    char name[NAME_TEXT];
    const size_t blocks = job->system.map->block_count;
    cli_csv_word(csv, "step");
    for (size_t i = 0; i < job->orbit->size; i++) {
        (void)snprintf(name, sizeof name, "x%zu", i);
        cli_csv_word(csv, name);
    }
    if (job->orbit->energy != NULL) {
        cli_csv_word(csv, "energy");
    }
    for (size_t i = 0; i < observed(job); i++) {
        const dyn_observable which = job->observer.which[i / blocks];
        (void)snprintf(name, sizeof name, "%s%zu", dyn_observable_word(which), i % blocks);
        cli_csv_word(csv, name);
    }
    cli_csv_end_line(csv);
}

static void write_reals(cli_csv *csv, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cli_csv_real(csv, values[i]);
    }
}

static kern_status write_csv(const void *context, const char *path, kern_error *err)
{
    const orbit_job *job = context;
    cli_csv csv;
    const dyn_orbit *orbit = job->orbit;
    const size_t extra = observed(job);
    KERN_TRY(cli_csv_begin(&csv, path, err));
    write_heads(&csv, job);
    for (size_t k = 0; k < orbit->n && csv.status == KERN_OK; k++) {
        cli_csv_size(&csv, k * job->s->stride);
        write_reals(&csv, orbit->states + k * orbit->size, orbit->size);
        if (orbit->energy != NULL) {
            cli_csv_real(&csv, orbit->energy[k]);
        }
        if (extra > 0) {
            write_reals(&csv, orbit->observed + k * extra, extra);
        }
        cli_csv_end_line(&csv);
    }
    return cli_csv_commit(&csv);
}

/* One observable as an array over steps and blocks. */
static kern_status put_observed(model_hdf5_writer *writer, const orbit_job *job, size_t i,
                                kern_error *err)
{
    static const char *const dims[] = {"step", "block"};
    char name[NAME_TEXT];
    const size_t blocks = job->system.map->block_count;
    const model_hdf5_shape shape = {.rank = 2, .size = {job->orbit->n, blocks}};
    const model_hdf5_meta meta = {.description = "observed about every state", .dims = dims};
    double *values = calloc(job->orbit->n * blocks + 1, sizeof *values);
    if (values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an observable of %zu states",
                          job->orbit->n);
    }
    for (size_t k = 0; k < job->orbit->n * blocks; k++) {
        values[k] = job->orbit->observed[k / blocks * observed(job) + i * blocks + k % blocks];
    }
    (void)snprintf(name, sizeof name, "observed/%s", dyn_observable_word(job->observer.which[i]));
    const kern_status status = model_hdf5_put_doubles(writer, name, values, &shape, &meta, err);
    free(values);
    return status;
}

static kern_status put_orbit(model_hdf5_writer *writer, const void *context, kern_error *err)
{
    static const char *const dims[] = {"step", "coordinate"};
    const orbit_job *job = context;
    const dyn_orbit *orbit = job->orbit;
    const model_hdf5_shape shape = {.rank = 2, .size = {orbit->n, orbit->size}};
    const model_hdf5_shape line = {.rank = 1, .size = {orbit->n}};
    const model_hdf5_meta states = {.description = "states after the transient", .dims = dims};
    const model_hdf5_meta energy = {.description = "energy of every state", .dims = dims};
    KERN_TRY(model_hdf5_put_doubles(writer, "states", orbit->states, &shape, &states, err));
    if (orbit->energy != NULL) {
        KERN_TRY(model_hdf5_put_doubles(writer, "energy", orbit->energy, &line, &energy, err));
    }
    for (size_t i = 0; i < job->observer.n; i++) {
        KERN_TRY(put_observed(writer, job, i, err));
    }
    return model_hdf5_put_attr_string(writer, "/", "status", kern_status_word(orbit->status), err);
}

static void print_state(const dyn_orbit *orbit, size_t k, size_t stride)
{
    (void)printf("%10zu", k * stride);
    for (size_t i = 0; i < orbit->size && i < SHOWN_COORDINATES; i++) {
        (void)printf(" %16.9g", orbit->states[k * orbit->size + i]);
    }
    if (orbit->size > SHOWN_COORDINATES) {
        (void)printf(" ... (%zu coordinates)", orbit->size);
    }
    if (orbit->energy != NULL) {
        (void)printf("  E = %.9g", orbit->energy[k]);
    }
    (void)printf("\n");
}

static void print_text(const void *context)
{
    const orbit_job *job = context;
    const dyn_orbit *orbit = job->orbit;
    const dyn_map_kind *kind = job->system.map->kind;
    (void)printf("%s: %s\n\n%10s  state\n", kind->name, kind->formula, "step");
    for (size_t k = 0; k < orbit->n; k++) {
        if (k == SHOWN_ROWS && orbit->n > 2 * SHOWN_ROWS) {
            (void)printf("%10s\n", "...");
            k = orbit->n - SHOWN_ROWS;
        }
        print_state(orbit, k, job->s->stride);
    }
    (void)printf("\nstatus: %s after %zu steps", kern_status_word(orbit->status), orbit->end);
    if (orbit->status != KERN_OK) {
        (void)printf(": %s", kern_status_gloss(orbit->status));
    }
    (void)printf("\n");
    if (orbit->collapsed) {
        (void)printf("The orbit sits on a repelling fixed point, where rounding has put it.\n");
    }
    if (job->settle.blocks != NULL) {
        cli_settle_print(&job->settle, job->system.first_token);
        if (job->system.map->gauge != DYN_GAUGE_NONE) {
            (void)printf("The map has a norm and scales grow for ever: directions settle like a "
                         "power of the step, and these times depend on the horizon. With --chart, "
                         "which pins the scales, they settle exponentially.\n");
        }
    }
}

static const cli_report forms = {.command = "basin orbit",
                                 .describe = describe,
                                 .write_csv = write_csv,
                                 .put = put_orbit,
                                 .print_json = print_json,
                                 .print_text = print_text};

static kern_status report(const orbit_job *job, kern_error *err)
{
    return cli_files_report(&forms, &job->s->files, job->system.map, job->s->json, job, err);
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    orbit_job job = {.s = settings};
    kern_status status = compute(&job, err);
    if (status == KERN_OK) {
        call->check_failed = job.orbit->status != KERN_OK;
        status = report(&job, err);
    }
    dyn_orbit_destroy(job.orbit);
    dyn_settle_fini(&job.settle);
    dyn_observer_fini(&job.observer);
    free(job.lo);
    cli_map_fini(&job.system);
    return status;
}

const cli_command cli_orbit = {
    .name = "orbit",
    .purpose = "states of a map, step by step",
    .description =
        "Applies a map again and again and reports its states after the transient, with their "
        "energy where the map has one. An orbit that diverges, stops being a number or leaves the "
        "box ends there; its states so far are reported, its status says which, and the exit "
        "status is 1.",
    .example = "basin orbit --map henon --param a=1.3 --ttr 1000 --steps 50 --out henon.h5",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(orbit_settings),
    .defaults = defaults,
    .run = run,
};
