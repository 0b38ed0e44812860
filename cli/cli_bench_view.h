/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speed of the explorer's frames: its window of 1280 × 800 with a bundled model, drawn into an
 * image. A row is a command and the one frame after it, on the thread that draws; what is computed
 * in the background meanwhile is waited for in between and not counted. Fields of the steps have
 * been computed before. A frame of 60 a second has 16.6 ms.
 */
#ifndef BASIN_CLI_BENCH_VIEW_H
#define BASIN_CLI_BENCH_VIEW_H

#include "cli/cli_bench_viz.h"

/* Whether some row's name begins with `only`. */
bool cli_bench_view_has(const char *only);

/* Adds rows to those of cli_bench_viz; wall_ms and cpu_ms, of the drawing thread, are medians.
 * Prints nothing and adds nothing when no row's name begins as asked for. KERN_NOT_FOUND without
 * the bundled model. */
kern_status cli_bench_view(const cli_bench_viz_job *job, cli_json *json, cJSON *rows,
                           kern_error *err);

#endif
