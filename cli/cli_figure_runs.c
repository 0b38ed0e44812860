/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figures of trained models: what `basin trace` and `basin gp` print with --json, and the table
 * that scripts/results writes.
 */
#include "cli/cli_figure.h"
#include "cli/cli_figure_json.h"
#include "models/model_file.h"
#include "viz/viz_energy_plot.h"
#include "viz/viz_gp_plot.h"
#include "viz/viz_scores_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Energy ------------------------------------------------------------------------------- */

static const char trace_source[] = "basin trace --json";

typedef struct energy_job {
    double *energy;
    const char **labels;
    size_t n_tokens, n_states;
} energy_job;

static kern_status read_energy(energy_job *j, const cli_figure_file *file, kern_error *err)
{
    const cJSON *energy;
    const cJSON *tokens;
    void *block;
    size_t a = 0;
    KERN_TRY(cli_figure_array(&energy, file, NULL, "energy", 1, trace_source, err));
    j->n_tokens = cli_figure_length(energy);
    KERN_TRY(cli_figure_array(&tokens, file, NULL, "tokens", j->n_tokens, trace_source, err));
    j->n_states = cli_figure_length(energy->child);
    KERN_TRY(cli_figure_room(&block, j->n_tokens, sizeof *j->labels, err));
    j->labels = block;
    KERN_TRY(cli_figure_room(&block, j->n_tokens * j->n_states, sizeof(double), err));
    j->energy = block;
    const cJSON *label = tokens->child;
    for (const cJSON *row = energy->child; row != NULL; row = row->next) {
        if (cli_figure_length(row) != j->n_states) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "token %zu of %s has %zu energies and token 0 has %zu", a, file->path,
                              cli_figure_length(row), j->n_states);
        }
        size_t t = 0;
        for (const cJSON *e = row->child; e != NULL; e = e->next) {
            j->energy[a * j->n_states + t++] = cJSON_IsNumber(e) ? e->valuedouble : (double)NAN;
        }
        j->labels[a++] = cJSON_IsString(label) ? label->valuestring : "?";
        label = label->next;
    }
    return KERN_OK;
}

kern_status cli_figure_energy(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    cli_figure_file file = {.path = NULL};
    energy_job j = {.n_tokens = 0};
    kern_status status = cli_figure_open(&file, request->in->items[0], err);
    if (status == KERN_OK) {
        status = read_energy(&j, &file, err);
    }
    if (status == KERN_OK && j.n_states < 2) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "%s has energies of one state; the figure needs a step", file.path);
    }
    if (status == KERN_OK) {
        const viz_energy_data data = {.n_tokens = j.n_tokens,
                                      .n_steps = j.n_states - 1,
                                      .trained_steps = cli_figure_size(file.json, "trained_steps"),
                                      .token_labels = j.labels,
                                      .energy = j.energy,
                                      .title = request->style.title};
        const viz_energy_style style = {.width = request->style.width,
                                        .height = request->style.height,
                                        .theme = request->style.theme};
        status = viz_energy_plot(out, NULL, &data, &style, err);
    }
    free(j.energy);
    free(j.labels);
    cli_figure_close(&file);
    return status;
}

/* ---- Gaussian processes ------------------------------------------------------------------- */

enum { GP_ARMS = 12, GP_STEPS = 32, GP_PANELS = 4 };

/* Sums over seeds of one arm at one number of steps. */
typedef struct gp_cell {
    double steps, sum, squares;
    size_t n;
} gp_cell;

typedef struct gp_arm {
    const char *name;
    gp_cell cells[GP_STEPS];
    size_t n_cells;
    double x[GP_STEPS], y[GP_STEPS], error[GP_STEPS];
} gp_arm;

typedef struct gp_hist {
    const char *name;
    gp_arm arms[GP_ARMS];
    size_t n_arms;
    double floor_sum;
    size_t floor_n;
    viz_gp_curve curves[GP_ARMS];
    viz_gp_level level;
} gp_hist;

static gp_cell *cell_of(gp_arm *arm, double steps)
{
    size_t i = 0;
    while (i < arm->n_cells && arm->cells[i].steps < steps) {
        i++;
    }
    if (i < arm->n_cells && arm->cells[i].steps == steps) {
        return &arm->cells[i];
    }
    if (arm->n_cells == GP_STEPS) {
        return NULL;
    }
    memmove(&arm->cells[i + 1], &arm->cells[i], (arm->n_cells - i) * sizeof arm->cells[0]);
    arm->cells[i] = (gp_cell){.steps = steps};
    arm->n_cells++;
    return &arm->cells[i];
}

static gp_arm *arm_of(gp_hist *hist, const char *name)
{
    for (size_t i = 0; i < hist->n_arms; i++) {
        if (strcmp(hist->arms[i].name, name) == 0) {
            return &hist->arms[i];
        }
    }
    if (hist->n_arms == GP_ARMS) {
        return NULL;
    }
    hist->arms[hist->n_arms].name = name;
    return &hist->arms[hist->n_arms++];
}

static gp_hist *hist_of(gp_hist *hists, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++) {
        if (strcmp(hists[i].name, name) == 0) {
            return &hists[i];
        }
    }
    if (*n == GP_PANELS) {
        return NULL;
    }
    hists[*n].name = name;
    return &hists[(*n)++];
}

/* Adds a row evaluated at the steps it was trained with, over the first range of the file. */
static kern_status add_row(gp_hist *hists, size_t *n, const cJSON *row, const char *range,
                           kern_error *err)
{
    const double steps = cli_figure_real(row, "steps");
    const double rmse = cli_figure_real(row, "rmse");
    if (strcmp(cli_figure_text(row, "range"), range) != 0 || !isfinite(rmse) ||
        steps != cli_figure_real(row, "steps_eval")) {
        return KERN_OK;
    }
    gp_hist *hist = hist_of(hists, n, cli_figure_text(row, "hist"));
    gp_arm *arm = hist != NULL ? arm_of(hist, cli_figure_text(row, "arm")) : NULL;
    gp_cell *cell = arm != NULL ? cell_of(arm, steps) : NULL;
    if (cell == NULL) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "a figure holds at most %d histories, %d arms and %d numbers of steps",
                          GP_PANELS, GP_ARMS, GP_STEPS);
    }
    cell->sum += rmse;
    cell->squares += rmse * rmse;
    cell->n++;
    const double bound = cli_figure_real(row, "rmse_floor");
    hist->floor_sum += isfinite(bound) ? bound : 0.0;
    hist->floor_n += isfinite(bound) ? 1 : 0;
    return KERN_OK;
}

static void finish_hist(gp_hist *hist)
{
    for (size_t a = 0; a < hist->n_arms; a++) {
        gp_arm *arm = &hist->arms[a];
        for (size_t i = 0; i < arm->n_cells; i++) {
            const gp_cell *c = &arm->cells[i];
            const double n = (double)c->n;
            const double mean = c->sum / n;
            arm->x[i] = c->steps;
            arm->y[i] = mean;
            /* Of the mean over seeds; one seed has none. */
            arm->error[i] =
                c->n > 1 ? sqrt(fmax(c->squares / n - mean * mean, 0.0) / (n - 1.0)) : (double)NAN;
        }
        hist->curves[a] =
            (viz_gp_curve){arm->name, arm->x, arm->y, arm->error, arm->n_cells, a, false};
    }
    hist->level = (viz_gp_level){
        "Bayes (floor)", hist->floor_n > 0 ? hist->floor_sum / (double)hist->floor_n : (double)NAN,
        true};
}

static kern_status draw_gp(viz_scene **out, const cli_figure_file *file, gp_hist *hists,
                           const cli_figure_request *request, kern_error *err)
{
    const cJSON *rows;
    viz_gp_panel panels[GP_PANELS];
    size_t n = 0;
    KERN_TRY(cli_figure_array(&rows, file, NULL, "rows", 1, "basin gp --json", err));
    const char *range = cli_figure_text(rows->child, "range");
    for (const cJSON *row = rows->child; row != NULL; row = row->next) {
        KERN_TRY(add_row(hists, &n, row, range, err));
    }
    if (n == 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s has no row with an error and \"steps\" equal to \"steps_eval\"; "
                          "accepted is what basin gp --json writes",
                          file->path);
    }
    for (size_t i = 0; i < n; i++) {
        finish_hist(&hists[i]);
        panels[i] = (viz_gp_panel){.title = hists[i].name,
                                   .x_label = "steps <i>T</i> of a layer",
                                   .curves = hists[i].curves,
                                   .n_curves = hists[i].n_arms,
                                   .levels = &hists[i].level,
                                   .n_levels = isfinite(hists[i].level.value) ? 1 : 0};
    }
    const viz_gp_data data = {.title = request->style.title != NULL
                                           ? request->style.title
                                           : "Prediction of a Gaussian process against steps",
                              .y_label = "RMSE",
                              .note = "Means over seeds with their standard errors, evaluated with "
                                      "the steps of training.",
                              .panels = panels,
                              .n_panels = n};
    const viz_gp_style style = {.width = request->style.width, .theme = request->style.theme};
    return viz_gp_plot(out, &data, &style, err);
}

kern_status cli_figure_gp(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    cli_figure_file file = {.path = NULL};
    void *hists = NULL;
    kern_status status = cli_figure_open(&file, request->in->items[0], err);
    if (status == KERN_OK) {
        status = cli_figure_room(&hists, GP_PANELS, sizeof(gp_hist), err);
    }
    if (status == KERN_OK) {
        status = draw_gp(out, &file, hists, request, err);
    }
    free(hists);
    cli_figure_close(&file);
    return status;
}

/* ---- Scores ------------------------------------------------------------------------------- */

enum { SCORES_LIMIT = 1 << 20, SCORES_COLUMNS = 5 };

#define LISTOPS_CHANCE 0.1 /* ten digits */

/* Cuts the line at `text` into its fields; false when it has another number of them. */
static bool cut_line(char *text, char *fields[SCORES_COLUMNS])
{
    size_t n = 0;
    for (char *s = text; s != NULL; n++) {
        char *comma = strchr(s, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (n < SCORES_COLUMNS) {
            fields[n] = s;
        }
        s = comma != NULL ? comma + 1 : NULL;
    }
    return n == SCORES_COLUMNS;
}

static double field_value(const char *field)
{
    double value;
    return cli_args_read_real(&value, field, NULL) == KERN_OK ? value : (double)NAN;
}

/* Reads name, parameters, loss, greedy, sampled; models without a score are left out. */
static kern_status read_scores(viz_score scores[VIZ_SCORES_MAX], size_t *n, char *text,
                               const char *path, kern_error *err)
{
    size_t line = 0;
    while (text != NULL && *text != '\0') {
        char *fields[SCORES_COLUMNS] = {NULL};
        char *next = strchr(text, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (!cut_line(text, fields)) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "line %zu of %s has not the %d fields name,parameters,val_loss,"
                              "greedy,sampled that scripts/results writes",
                              line + 1, path, SCORES_COLUMNS);
        }
        const viz_score score = {fields[0], field_value(fields[1]), field_value(fields[3]),
                                 field_value(fields[4])};
        if (line++ > 0 && *n < VIZ_SCORES_MAX && isfinite(score.greedy)) {
            scores[(*n)++] = score;
        }
        text = next;
    }
    return KERN_OK;
}

kern_status cli_figure_listops(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    viz_score scores[VIZ_SCORES_MAX];
    char *text = NULL;
    size_t size = 0;
    size_t n = 0;
    KERN_TRY(model_file_read(request->in->items[0], SCORES_LIMIT, &text, &size, err));
    kern_status status = read_scores(scores, &n, text, request->in->items[0], err);
    if (status == KERN_OK) {
        const viz_scores_data data = {scores, n, LISTOPS_CHANCE};
        status = viz_scores_plot(out, &data, &request->style, err);
    }
    free(text);
    return status;
}
