/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sources of `basin basins` share: cli_basins.c reads the options and computes,
 * cli_basins_pilot.c estimates for --dry-run, cli_basins_print.c prints, cli_basins_write.c writes
 * files.
 */
#ifndef BASIN_CLI_BASINS_H
#define BASIN_CLI_BASINS_H

#include "cli/cli_commands.h"
#include "cli/cli_files.h"
#include "cli/cli_json.h"
#include "cli/cli_map.h"
#include "cli/cli_rows.h"
#include "dyn/dyn_basins.h"
#include "dyn/dyn_basins_match.h"
#include "dyn/dyn_basins_measures.h"

typedef struct cli_basins_settings {
    cli_map_options system;
    const char *box;
    const char *track;
    size_t method; /* CLI_BASINS_CHOOSE: by the number of coordinates */
    size_t group;
    size_t grid;   /* cells along a coordinate; 0: chosen, unless --starts is given */
    size_t starts; /* 0: a grid */
    double jitter;
    size_t horizon;
    size_t outside;
    size_t confirm;
    size_t cells; /* 0: dyn_basins_cells */
    size_t recurrences;
    size_t stay;
    double radius;
    double group_radius;
    size_t settle;
    size_t tail;
    size_t entropy_box;
    bool uncertainty;
    size_t points;
    cli_vary vary;
    double threshold;
    size_t memory; /* MiB */
    bool dry_run;
    uint64_t seed;
    int threads;
    cli_files files;
    bool json;
} cli_basins_settings;

enum { CLI_BASINS_CHOOSE = 1 << 20 };

typedef struct cli_basins_job {
    const cli_basins_settings *s;
    cli_map system;
    double *low; /* owned; the upper ends stand behind */
    const double *high;
    double *track_low; /* as low, or NULL */
    const double *track_high;
    size_t *grid;  /* owned: cells along each coordinate */
    size_t *cells; /* owned, or NULL */
    dyn_basins_options o;
    size_t n_starts;
    size_t bytes;
    size_t n_labelled;   /* starts of --uncertainty */
    double seconds;      /* of --dry-run: estimate */
    double step_seconds; /* of one step */
    size_t assumed;      /* steps of a start that the estimate assumes; 0: starts were followed */
    dyn_basins basins;
    dyn_basins_sweep sweep; /* of --vary */
    bool has_entropy;
    dyn_basin_entropy entropy;
    bool has_uncertainty;
    dyn_uncertainty uncertainty;
    kern_status outcome; /* KERN_NOT_CONVERGED when nothing was decided for any start */
} cli_basins_job;

/* Estimates the time of the run into job->seconds, within a few seconds where a step takes less. */
kern_status cli_basins_estimate_time(cli_basins_job *job, kern_error *err);

/* Word for an attractor's or an outcome's label: "1", "diverged", …. */
enum { CLI_BASINS_WORD = 24 };
const char *cli_basins_word(int32_t label, char out[CLI_BASINS_WORD]);

/* Adds what was computed with what to a result. */
void cli_basins_describe(cli_json *json, const cli_basins_job *job);

/* Prints the result, as JSON or as tables. */
kern_status cli_basins_print(const cli_basins_job *job, kern_error *err);

/* Writes the files asked for. */
kern_status cli_basins_write(const cli_basins_job *job, kern_error *err);

#endif
