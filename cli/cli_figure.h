/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `basin figure`: figures from the files that other subcommands write. A kind of figure is one row
 * of a table: it reads its files and builds a scene; writing it is the same for all.
 */
#ifndef BASIN_CLI_FIGURE_H
#define BASIN_CLI_FIGURE_H

#include "cli/cli_args.h"
#include "viz/viz_plot.h"

#include <cjson/cJSON.h>

typedef struct cli_figure_request {
    const cli_list *in; /* ≥ 1 files */
    viz_plot_style style;
    size_t coordinate; /* shown along the first axis that shows one */
    size_t second;     /* and along the second */
    double threshold;  /* of a recurrence plot; NaN: not known */
} cli_figure_request;

typedef kern_status cli_figure_build(viz_scene **out, const cli_figure_request *request,
                                     kern_error *err);

typedef struct cli_figure_kind {
    const char *name;
    const char *purpose; /* one line */
    const char *source;  /* the command whose output it reads */
    cli_figure_build *build;
    bool many; /* takes several files */
} cli_figure_kind;

/* Builders, by the file they stand in. */
cli_figure_build cli_figure_multipliers, cli_figure_lyapunov, cli_figure_points;
cli_figure_build cli_figure_orbit_diagram, cli_figure_branches, cli_figure_curves;
cli_figure_build cli_figure_basins, cli_figure_recurrence;
cli_figure_build cli_figure_energy, cli_figure_gp, cli_figure_listops;

#endif
