/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin orbit: the states of a map, step by step.
 */
#include "cli/cli_commands.h"
#include "cli/cli_csv.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "dyn/dyn_orbit.h"
#include "models/model_hdf5.h"

#include <stdlib.h>

enum { SHOWN_ROWS = 12, SHOWN_COORDINATES = 6 };

typedef struct orbit_settings {
    cli_map_options system;
    size_t steps;
    size_t ttr;
    const char *box;
    const char *csv;
    const char *out;
    bool json;
} orbit_settings;

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Map"},
    CLI_OPTIONS_MAP(orbit_settings, system),
    {.kind = CLI_HEADING, .help = "Orbit"},
    {.name = "steps",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 0,
     .high = CLI_STEPS_MAX,
     .offset = offsetof(orbit_settings, steps),
     .help = "steps after the transient; N + 1 states result"},
    CLI_OPTION_TTR(orbit_settings, ttr),
    {.name = "box",
     .value = "LO:HI,...",
     .kind = CLI_TEXT,
     .offset = offsetof(orbit_settings, box),
     .help = "ends the orbit when it leaves this box; one pair for all coordinates, or one each"},
    {.kind = CLI_HEADING, .help = "Results"},
    {.name = "csv",
     .value = "F.csv",
     .kind = CLI_TEXT,
     .offset = offsetof(orbit_settings, csv),
     .help = "write the states as comma-separated values"},
    {.name = "out",
     .value = "F.h5",
     .kind = CLI_TEXT,
     .offset = offsetof(orbit_settings, out),
     .help = "write the states as HDF5"},
    CLI_OPTION_JSON(orbit_settings),
};

static void defaults(void *settings)
{
    orbit_settings *s = settings;
    s->steps = 100;
}

typedef struct orbit_job {
    const orbit_settings *s;
    cli_map system;
    double *lo;       /* owned */
    const double *hi; /* in the block of lo */
    dyn_orbit *orbit;
} orbit_job;

static kern_status compute(orbit_job *job, kern_error *err)
{
    const orbit_settings *s = job->s;
    KERN_TRY(cli_map_open(&job->system, &s->system, err));
    KERN_TRY(cli_map_read_box(job->system.map, s->box, &job->lo, &job->hi, err));
    const dyn_orbit_options orbit = {
        .ttr = s->ttr, .steps = s->steps, .lo = job->lo, .hi = job->hi};
    return dyn_orbit_create(&job->orbit, job->system.map, &orbit, err);
}

/* What the files and the JSON object say beside the states. */
static void describe(cli_json *json, const orbit_job *job)
{
    cli_map_describe(json, job->system.map);
    cli_json_size(json, json->object, "steps", job->s->steps);
    cli_json_size(json, json->object, "ttr", job->s->ttr);
    cli_json_text(json, json->object, "status", kern_status_word(job->orbit->status));
    cli_json_size(json, json->object, "end", job->orbit->end);
    cli_json_bool(json, json->object, "collapsed", job->orbit->collapsed);
}

static kern_status print_json(const orbit_job *job, kern_error *err)
{
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
    return cli_json_print(&json, err);
}

static kern_status write_csv(const orbit_job *job, kern_error *err)
{
    cli_csv csv;
    const dyn_orbit *orbit = job->orbit;
    KERN_TRY(cli_csv_begin(&csv, job->s->csv, err));
    cli_csv_word(&csv, "step");
    for (size_t i = 0; i < orbit->size; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "x%zu", i);
        cli_csv_word(&csv, name);
    }
    if (orbit->energy != NULL) {
        cli_csv_word(&csv, "energy");
    }
    cli_csv_end_line(&csv);
    for (size_t k = 0; k < orbit->n && csv.status == KERN_OK; k++) {
        cli_csv_size(&csv, k);
        for (size_t i = 0; i < orbit->size; i++) {
            cli_csv_real(&csv, orbit->states[k * orbit->size + i]);
        }
        if (orbit->energy != NULL) {
            cli_csv_real(&csv, orbit->energy[k]);
        }
        cli_csv_end_line(&csv);
    }
    return cli_csv_commit(&csv);
}

static kern_status put_orbit(model_hdf5_writer *writer, const orbit_job *job, kern_error *err)
{
    static const char *const dims[] = {"step", "coordinate"};
    const dyn_orbit *orbit = job->orbit;
    const model_hdf5_shape shape = {.rank = 2, .size = {orbit->n, orbit->size}};
    const model_hdf5_shape line = {.rank = 1, .size = {orbit->n}};
    const model_hdf5_meta states = {.description = "states after the transient", .dims = dims};
    const model_hdf5_meta energy = {.description = "energy of every state", .dims = dims};
    cli_json json;
    char *text = NULL;
    KERN_TRY(model_hdf5_put_doubles(writer, "states", orbit->states, &shape, &states, err));
    if (orbit->energy != NULL) {
        KERN_TRY(model_hdf5_put_doubles(writer, "energy", orbit->energy, &line, &energy, err));
    }
    cli_json_init(&json);
    cli_json_text(&json, json.object, "command", "basin orbit");
    describe(&json, job);
    KERN_TRY(cli_json_take(&json, &text, err));
    kern_status status = model_hdf5_put_attr_string(writer, "/", "recipe", text, err);
    free(text);
    if (status == KERN_OK) {
        status =
            model_hdf5_put_attr_string(writer, "/", "status", kern_status_word(orbit->status), err);
    }
    return status;
}

static kern_status write_hdf5(const orbit_job *job, kern_error *err)
{
    model_hdf5_writer *writer = NULL;
    KERN_TRY(model_hdf5_writer_create(&writer, job->s->out, err));
    kern_status status = put_orbit(writer, job, err);
    if (status == KERN_OK) {
        status = model_hdf5_writer_commit(writer, err);
    }
    model_hdf5_writer_destroy(writer);
    return status;
}

static void print_state(const dyn_orbit *orbit, size_t k)
{
    (void)printf("%10zu", k);
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

static void print_text(const orbit_job *job)
{
    const dyn_orbit *orbit = job->orbit;
    const dyn_map_kind *kind = job->system.map->kind;
    (void)printf("%s: %s\n\n%10s  state\n", kind->name, kind->formula, "step");
    for (size_t k = 0; k < orbit->n; k++) {
        if (k == SHOWN_ROWS && orbit->n > 2 * SHOWN_ROWS) {
            (void)printf("%10s\n", "...");
            k = orbit->n - SHOWN_ROWS;
        }
        print_state(orbit, k);
    }
    (void)printf("\nstatus: %s after %zu steps", kern_status_word(orbit->status), orbit->end);
    if (orbit->status != KERN_OK) {
        (void)printf(": %s", kern_status_gloss(orbit->status));
    }
    (void)printf("\n");
    if (orbit->collapsed) {
        (void)printf("The orbit sits on a repelling fixed point, where rounding has put it.\n");
    }
}

static kern_status report(const orbit_job *job, kern_error *err)
{
    if (job->s->csv != NULL) {
        KERN_TRY(write_csv(job, err));
    }
    if (job->s->out != NULL) {
        KERN_TRY(write_hdf5(job, err));
    }
    if (job->s->json) {
        return print_json(job, err);
    }
    print_text(job);
    return KERN_OK;
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
    .example = "basin orbit --map henon --param a=1.3 --ttr 1000 --steps 50 --csv henon.csv",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(orbit_settings),
    .defaults = defaults,
    .run = run,
};
