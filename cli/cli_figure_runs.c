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

enum { GP_ARMS = 12, GP_STEPS = 32, GP_NAME = 64, GP_PANELS = 2, GP_LEVELS = 3 };

/* Sums over seeds of one arm at one number of steps. */
typedef struct gp_cell {
    double steps, sum, squares;
    size_t n;
} gp_cell;

/* Models of one kind and one history. */
typedef struct gp_arm {
    char name[GP_NAME];
    gp_cell cells[GP_STEPS];
    size_t n_cells;
    double x[GP_STEPS], y[GP_STEPS], error[GP_STEPS];
} gp_arm;

/* One range of numbers of observed points: a panel. */
typedef struct gp_range {
    const char *name;
    char title[GP_NAME];
    gp_arm arms[GP_ARMS];
    size_t n_arms;
    double floor_sum;
    size_t floor_n;
    viz_gp_curve curves[GP_ARMS];
    viz_gp_level levels[GP_LEVELS];
    size_t n_levels;
} gp_range;

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

static gp_arm *arm_of(gp_range *range, const char *name)
{
    for (size_t i = 0; i < range->n_arms; i++) {
        if (strcmp(range->arms[i].name, name) == 0) {
            return &range->arms[i];
        }
    }
    if (range->n_arms == GP_ARMS) {
        return NULL;
    }
    (void)snprintf(range->arms[range->n_arms].name, GP_NAME, "%s", name);
    return &range->arms[range->n_arms++];
}

/* Adds a row evaluated at the steps it was trained with, over a panel's range. */
static kern_status add_row(gp_range *range, const cJSON *row, kern_error *err)
{
    char name[GP_NAME];
    const double steps = cli_figure_real(row, "steps");
    const double rmse = cli_figure_real(row, "rmse");
    const char *hist = cli_figure_text(row, "hist");
    if (strcmp(cli_figure_text(row, "range"), range->name) != 0 || !isfinite(rmse) ||
        steps != cli_figure_real(row, "steps_eval")) {
        return KERN_OK;
    }
    const bool has_history = hist[0] != '\0' && strcmp(hist, "none") != 0;
    (void)snprintf(name, sizeof name, "%.24s%s%.24s", cli_figure_text(row, "arm"),
                   has_history ? " " : "", has_history ? hist : "");
    gp_arm *arm = arm_of(range, name);
    gp_cell *cell = arm != NULL ? cell_of(arm, steps) : NULL;
    if (cell == NULL) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "a figure holds at most %d arms and %d numbers of steps", GP_ARMS,
                          GP_STEPS);
    }
    cell->sum += rmse;
    cell->squares += rmse * rmse;
    cell->n++;
    const double bound = cli_figure_real(row, "rmse_floor");
    range->floor_sum += isfinite(bound) ? bound : 0.0;
    range->floor_n += isfinite(bound) ? 1 : 0;
    return KERN_OK;
}

static void finish_arms(gp_range *range)
{
    for (size_t a = 0; a < range->n_arms; a++) {
        gp_arm *arm = &range->arms[a];
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
        range->curves[a] =
            (viz_gp_curve){arm->name, arm->x, arm->y, arm->error, arm->n_cells, a, false};
    }
    if (range->floor_n > 0) {
        range->levels[range->n_levels++] =
            (viz_gp_level){"Bayes floor", range->floor_sum / (double)range->floor_n, true};
    }
}

/* What predictors without training reach. */
static void add_reference(gp_range *range, const cJSON *reference)
{
    static const char *const names[] = {"smoother", "nearest"};
    const double rmse = cli_figure_real(reference, "rmse");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(cli_figure_text(reference, "name"), names[i]) == 0 && isfinite(rmse) &&
            strcmp(cli_figure_text(reference, "range"), range->name) == 0 &&
            range->n_levels < GP_LEVELS - 1) {
            range->levels[range->n_levels++] = (viz_gp_level){names[i], rmse, false};
        }
    }
}

static kern_status read_range(gp_range *range, const cJSON *rows, const cJSON *references,
                              kern_error *err)
{
    for (const cJSON *row = rows->child; row != NULL; row = row->next) {
        KERN_TRY(add_row(range, row, err));
    }
    for (const cJSON *r = references != NULL ? references->child : NULL; r != NULL; r = r->next) {
        add_reference(range, r);
    }
    finish_arms(range);
    (void)snprintf(range->title, sizeof range->title, "trained with T, points %.32s", range->name);
    return KERN_OK;
}

/* The first range of the file, and the first other one that is more than a number. */
static size_t find_ranges(gp_range jobs[GP_PANELS], const cJSON *rows)
{
    jobs[0].name = cli_figure_text(rows->child, "range");
    for (const cJSON *row = rows->child; row != NULL; row = row->next) {
        const char *name = cli_figure_text(row, "range");
        if (strcmp(name, jobs[0].name) != 0 && strchr(name, '-') != NULL) {
            jobs[1].name = name;
            return 2;
        }
    }
    return 1;
}

static kern_status draw_gp(viz_scene **out, const cli_figure_file *file, gp_range *jobs,
                           const cli_figure_request *request, kern_error *err)
{
    const cJSON *rows;
    viz_gp_panel panels[GP_PANELS];
    KERN_TRY(cli_figure_array(&rows, file, NULL, "rows", 1, "basin gp --json", err));
    const cJSON *references = cJSON_GetObjectItemCaseSensitive(file->json, "references");
    const size_t n = find_ranges(jobs, rows);
    for (size_t i = 0; i < n; i++) {
        KERN_TRY(read_range(&jobs[i], rows, references, err));
        panels[i] = (viz_gp_panel){.title = jobs[i].title,
                                   .x_label = "steps <i>T</i> of a layer",
                                   .curves = jobs[i].curves,
                                   .n_curves = jobs[i].n_arms,
                                   .levels = jobs[i].levels,
                                   .n_levels = jobs[i].n_levels};
    }
    if (jobs[0].n_arms == 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s has no row with an error and \"steps\" equal to \"steps_eval\"; "
                          "accepted is what basin gp --json writes",
                          file->path);
    }
    const viz_gp_data data = {.title = request->style.title != NULL
                                           ? request->style.title
                                           : "Prediction of a Gaussian process against steps",
                              .y_label = "RMSE",
                              .note = "Means over seeds with their standard errors, evaluated with "
                                      "the steps of training.",
                              .panels = panels,
                              .n_panels = n > 1 && jobs[1].n_arms > 0 ? n : 1};
    const viz_gp_style style = {.width = request->style.width, .theme = request->style.theme};
    return viz_gp_plot(out, &data, &style, err);
}

kern_status cli_figure_gp(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    cli_figure_file file = {.path = NULL};
    void *jobs = NULL;
    kern_status status = cli_figure_open(&file, request->in->items[0], err);
    if (status == KERN_OK) {
        status = cli_figure_room(&jobs, GP_PANELS, sizeof(gp_range), err);
    }
    if (status == KERN_OK) {
        status = draw_gp(out, &file, jobs, request, err);
    }
    free(jobs);
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
