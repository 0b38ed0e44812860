/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figures of what `basin multipliers`, `lyapunov` and `fixed-points` print with --json.
 */
#include "cli/cli_figure.h"
#include "cli/cli_figure_json.h"
#include "viz/viz_lyapunov_plot.h"
#include "viz/viz_multipliers_plot.h"
#include "viz/viz_points_plot.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME = 32 };

/* ---- Multipliers -------------------------------------------------------------------------- */

static const char multipliers_source[] = "basin multipliers --json";

/* All values of all blocks, or those of one array (`values` of fixed points). */
static kern_status gather(const cli_figure_file *file, const cJSON *blocks, double *re,
                          size_t *token, size_t room, kern_error *err)
{
    size_t n = 0;
    for (const cJSON *block = blocks->child; block != NULL; block = block->next) {
        const cJSON *values;
        KERN_TRY(cli_figure_array(&values, file, block, "values", 0, multipliers_source, err));
        for (const cJSON *v = values->child; v != NULL && n < room; v = v->next) {
            re[n] = cli_figure_real(v, "re");
            re[room + n] = cli_figure_real(v, "im");
            token[n++] = cli_figure_size(block, "token");
        }
    }
    return KERN_OK;
}

static kern_status draw_multipliers(viz_scene **out, const cli_figure_file *file,
                                    const cli_figure_request *request, kern_error *err)
{
    const cJSON *blocks;
    void *re;
    void *token;
    size_t n = 0;
    KERN_TRY(cli_figure_array(&blocks, file, NULL, "blocks", 1, multipliers_source, err));
    for (const cJSON *block = blocks->child; block != NULL; block = block->next) {
        n += cli_figure_length(cJSON_GetObjectItemCaseSensitive(block, "values"));
    }
    KERN_TRY(cli_figure_room(&re, n, 2 * sizeof(double), err));
    kern_status status = cli_figure_room(&token, n, sizeof(size_t), err);
    if (status == KERN_OK) {
        status = gather(file, blocks, re, token, n, err);
    }
    if (status == KERN_OK) {
        const viz_multipliers_data data = {.n = n,
                                           .re = re,
                                           .im = (double *)re + n,
                                           .token = cli_figure_length(blocks) > 1 ? token : NULL};
        status = viz_multipliers_plot(out, &data, &request->style, err);
    }
    free(re);
    free(token);
    return status;
}

kern_status cli_figure_multipliers(viz_scene **out, const cli_figure_request *request,
                                   kern_error *err)
{
    cli_figure_file file = {.path = NULL};
    kern_status status = cli_figure_open(&file, request->in->items[0], err);
    if (status == KERN_OK) {
        status = draw_multipliers(out, &file, request, err);
    }
    cli_figure_close(&file);
    return status;
}

/* ---- Lyapunov spectrum -------------------------------------------------------------------- */

static kern_status draw_lyapunov(viz_scene **out, const cli_figure_file *file,
                                 const cli_figure_request *request, kern_error *err)
{
    const cJSON *exponents;
    void *room;
    KERN_TRY(
        cli_figure_array(&exponents, file, NULL, "exponents", 1, "basin lyapunov --json", err));
    const cJSON *errors = cJSON_GetObjectItemCaseSensitive(file->json, "stderr");
    const size_t n = cli_figure_length(exponents);
    KERN_TRY(cli_figure_room(&room, n, 2 * sizeof(double), err));
    double *values = room;
    for (size_t i = 0; i < n; i++) {
        values[i] = cli_figure_at(exponents, i);
        values[n + i] = cli_figure_at(errors, i);
    }
    const viz_lyapunov_data data = {.n = n,
                                    .exponents = values,
                                    .error = values + n,
                                    .kaplan_yorke = cli_figure_real(file->json, "kaplan_yorke"),
                                    .mean_log_det =
                                        cli_figure_real(file->json, "mean_log_abs_det")};
    const kern_status status = viz_lyapunov_plot(out, &data, &request->style, err);
    free(room);
    return status;
}

kern_status cli_figure_lyapunov(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    cli_figure_file file = {.path = NULL};
    kern_status status = cli_figure_open(&file, request->in->items[0], err);
    if (status == KERN_OK) {
        status = draw_lyapunov(out, &file, request, err);
    }
    cli_figure_close(&file);
    return status;
}

/* ---- Fixed points ------------------------------------------------------------------------- */

/* Every state of every cycle, one after another. */
typedef struct cycle_points {
    size_t n;
    double *x, *y, *radius;
    bool *stable;
    size_t *period;
} cycle_points;

static void free_points(cycle_points *p)
{
    free(p->x);
    free(p->stable);
    free(p->period);
}

static kern_status read_points(cycle_points *p, const cJSON *list,
                               const cli_figure_request *request, kern_error *err)
{
    void *block;
    size_t n = 0;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        n += cli_figure_length(cJSON_GetObjectItemCaseSensitive(item, "cycle"));
    }
    KERN_TRY(cli_figure_room(&block, n, 3 * sizeof(double), err));
    p->x = block;
    p->y = p->x + n;
    p->radius = p->y + n;
    KERN_TRY(cli_figure_room(&block, n, sizeof(bool), err));
    p->stable = block;
    KERN_TRY(cli_figure_room(&block, n, sizeof(size_t), err));
    p->period = block;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        const cJSON *cycle = cJSON_GetObjectItemCaseSensitive(item, "cycle");
        for (const cJSON *s = cycle != NULL ? cycle->child : NULL; s != NULL; s = s->next) {
            p->x[p->n] = cli_figure_at(s, request->coordinate);
            p->y[p->n] = cli_figure_at(s, request->second);
            p->radius[p->n] = cli_figure_real(item, "spectral_radius");
            p->stable[p->n] = cli_figure_true(item, "stable");
            p->period[p->n++] = cli_figure_size(item, "period");
        }
    }
    return KERN_OK;
}

static kern_status draw_points(viz_scene **out, const cli_figure_file *file,
                               const cli_figure_request *request, kern_error *err)
{
    const cJSON *list;
    cycle_points p = {.n = 0};
    char names[2][NAME];
    KERN_TRY(cli_figure_array(&list, file, NULL, "points", 1, "basin fixed-points --json", err));
    (void)snprintf(names[0], NAME, "x%zu", request->coordinate);
    (void)snprintf(names[1], NAME, "x%zu", request->second);
    kern_status status = read_points(&p, list, request, err);
    if (status == KERN_OK) {
        const cJSON *x = cJSON_GetObjectItemCaseSensitive(list->child, "x");
        const viz_points_data data = {.n = p.n,
                                      .x = p.x,
                                      .y = cli_figure_length(x) > 1 ? p.y : NULL,
                                      .radius = p.radius,
                                      .stable = p.stable,
                                      .period = p.period,
                                      .x_name = names[0],
                                      .y_name = names[1]};
        status = viz_points_plot(out, &data, &request->style, err);
    }
    free_points(&p);
    return status;
}

kern_status cli_figure_points(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    cli_figure_file file = {.path = NULL};
    kern_status status = cli_figure_open(&file, request->in->items[0], err);
    if (status == KERN_OK) {
        status = draw_points(out, &file, request, err);
    }
    cli_figure_close(&file);
    return status;
}
