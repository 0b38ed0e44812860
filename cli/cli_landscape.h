/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the files of basin landscape share.
 */
#ifndef BASIN_CLI_LANDSCAPE_H
#define BASIN_CLI_LANDSCAPE_H

#include "cli/cli_args.h"
#include "cli/cli_run.h"
#include "dyn/dyn_plane_kinds.h"
#include "dyn/dyn_slice.h"
#include "models/model_family.h"
#include "models/model_gradient.h"
#include "models/model_slice.h"
#include "viz/viz_contour.h"

#include <stdint.h>

typedef struct cli_landscape_settings {
    const char *run;
    const char *prompt;
    const char *token; /* a number, or "all" */
    const dyn_plane_kind *plane;
    const char *out;
    int chart;    /* dyn_plane_chart, or −1: chosen */
    int norm;     /* dyn_plane_norm, or −1: chosen */
    size_t at;    /* step of the centre */
    size_t steps; /* of the trajectory; 0: twice as many as in training */
    double range; /* half the width; 0: what the trajectory takes */
    size_t columns;
    size_t levels;
    uint64_t seed;
    size_t with;      /* the second token of a plane of two */
    const char *axes; /* file of two vectors */
    bool oblique;
    bool frozen;
    size_t layer;
    model_layer_part part;
    bool dark;
    int threads;
    bool json;
} cli_landscape_settings;

/* A landscape as it is made. */
typedef struct cli_landscape_job {
    const cli_landscape_settings *s;
    const cli_call *call;
    cli_run run;
    int32_t *ids; /* owned, as what follows */
    size_t n;     /* tokens */
    dyn_map *map;
    double *h;      /* input of a part of a layer, or NULL */
    size_t token;   /* MODEL_SLICE_SUM: all */
    size_t trained; /* steps of training */
    size_t at;
    size_t n_states;
    double *states; /* n_states × size */
    double *energy; /* 5 × n_states: true, on the plane, a, b, distance; then residual */
    double *on_plane, *a, *b, *distance, *residual;
    size_t points[2]; /* states of a plane of kind points */
    double held;      /* largest distance of what is held from where it is held */
    dyn_plane *plane;
    dyn_plane_notes notes;
    model_slice *slice;       /* one of these */
    dyn_slice_map *slice_map; /* where the energy has no reduced form */
    dyn_slice_source source;
    dyn_slice_field field;
    viz_contours contours;
    char *session;
} cli_landscape_job;

/* Opens the model, follows the trajectory, makes the plane, and projects the trajectory. */
kern_status cli_landscape_open(cli_landscape_job *l, kern_error *err);

/* Writes the figure, then prints. */
kern_status cli_landscape_report(cli_landscape_job *l, kern_error *err);

#endif
