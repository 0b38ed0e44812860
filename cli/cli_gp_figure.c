/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin gp: its figure. Above, errors against the number of steps that models train with; below,
 * those of CEM against the number that they are evaluated with.
 */
#include "cli/cli_gp.h"
#include "models/model_run_path.h"
#include "synthetic/syn_gp_floor.h"
#include "viz/viz_export.h"
#include "viz/viz_gp_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PANELS = 4,
    CURVES_MAX = CLI_LIST_MAX,
    POINTS_MAX = CLI_LIST_MAX,
    LEVELS_MAX = SYN_GP_REFERENCES_MAX + 2,
    NAME_TEXT = 64
};

/* Numbers and names of one panel. */
typedef struct panel_store {
    viz_gp_curve curves[CURVES_MAX];
    viz_gp_level levels[LEVELS_MAX];
    double x[CURVES_MAX][POINTS_MAX];
    double y[CURVES_MAX][POINTS_MAX];
    double error[CURVES_MAX][POINTS_MAX];
    char names[CURVES_MAX][NAME_TEXT];
    char title[NAME_TEXT];
    size_t n_curves;
    size_t n_levels;
} panel_store;

static void add_level(panel_store *store, const char *name, double value, bool strong)
{
    store->levels[store->n_levels++] =
        (viz_gp_level){.name = name, .value = value, .strong = strong};
}

/* The curve of that name, made when it is new; NULL when there is no room. */
static viz_gp_curve *find_curve(panel_store *store, const char *name, size_t colour)
{
    for (size_t i = 0; i < store->n_curves; i++) {
        if (strcmp(store->names[i], name) == 0) {
            return &store->curves[i];
        }
    }
    if (store->n_curves == CURVES_MAX) {
        return NULL;
    }
    const size_t i = store->n_curves++;
    (void)snprintf(store->names[i], NAME_TEXT, "%s", name);
    store->curves[i] = (viz_gp_curve){.name = store->names[i],
                                      .x = store->x[i],
                                      .y = store->y[i],
                                      .error = store->error[i],
                                      .colour = colour};
    return &store->curves[i];
}

static void add_point(panel_store *store, viz_gp_curve *curve, double x, syn_gp_mean mean)
{
    const size_t i = (size_t)(curve - store->curves);
    if (curve->n < POINTS_MAX) {
        store->x[i][curve->n] = x;
        store->y[i][curve->n] = mean.value;
        store->error[i][curve->n] = mean.error;
        curve->n++;
    }
}

/* Floor and references; of the latter not predicting zero, which is far above. */
static void add_levels(panel_store *store, const cli_gp_job *job, size_t span)
{
    const syn_gp_bench *b = &job->bench;
    add_level(store, "Bayes floor", b->floor[span].value, true);
    for (size_t k = 0; k < SYN_GP_REFERENCES_MAX && syn_gp_reference_at(k) != NULL; k++) {
        if (strcmp(syn_gp_reference_at(k)->name, "zero") != 0) {
            add_level(store, syn_gp_reference_at(k)->name, b->references[k][span].value, false);
        }
    }
}

/* ---- Errors against T ----------------------------------------------------------------------- */

/* Colours: the two histories of CEM, then the other kinds; number 4 is too much like the first. */
static size_t colour_of(const syn_gp_line *line)
{
    size_t k = 0;
    while (syn_gp_arm_kind_at(k) != line->arm->kind) {
        k++;
    }
    const bool sync = strcmp(line->hist, model_hist_word(MODEL_HIST_SYNC)) == 0;
    return line->arm->kind->recursive ? (sync ? 1 : 0) : (k < 3 ? k + 1 : k + 2);
}

/* The model of one step that a kind of T times the layers begins with; NULL when it was not
 * trained. */
static const syn_gp_line *find_first(const cli_gp_job *job, const syn_gp_arm_kind *kind)
{
    for (size_t k = 0; k < job->n_lines; k++) {
        const syn_gp_line *line = &job->lines[k];
        const bool single = line->arm->kind->recursive ? syn_gp_arm_serves_both(line->arm) : true;
        if (line->arm->kind->tied == kind->tied && line->arm->steps == 1 && single &&
            syn_gp_line_is_own(line)) {
            return line;
        }
    }
    return NULL;
}

static void add_trained_line(panel_store *store, const cli_gp_job *job, const syn_gp_line *line,
                             size_t span)
{
    const syn_gp_arm_kind *kind = line->arm->kind;
    const syn_gp_line *first = kind->deep ? find_first(job, kind) : NULL;
    char name[NAME_TEXT];
    (void)snprintf(name, sizeof name, "%s%s%s", kind->name, kind->recursive ? " " : "",
                   kind->recursive ? line->hist : "");
    viz_gp_curve *curve = find_curve(store, name, colour_of(line));
    if (curve == NULL) {
        return;
    }
    curve->dashed = !kind->recursive;
    if (curve->n == 0 && first != NULL) {
        add_point(store, curve, 1.0, first->rmse[span]);
    }
    add_point(store, curve, (double)line->arm->steps, line->rmse[span]);
}

static void fill_trained(panel_store *store, const cli_gp_job *job, size_t span)
{
    (void)snprintf(store->title, sizeof store->title, "trained with T, points %s",
                   syn_gp_span_at(span)->name);
    for (size_t k = 0; k < job->n_lines; k++) {
        if (syn_gp_line_is_own(&job->lines[k])) {
            add_trained_line(store, job, &job->lines[k], span);
        }
    }
    add_levels(store, job, span);
}

/* ---- Errors against T' ---------------------------------------------------------------------- */

static void fill_evaluated(panel_store *store, const cli_gp_job *job, const char *hist)
{
    (void)snprintf(store->title, sizeof store->title,
                   "evaluated with T\xe2\x80\xb2, %s history, points %s", hist,
                   syn_gp_span_at(0)->name);
    size_t colour = 0;
    size_t steps = 0;
    for (size_t k = 0; k < job->n_lines; k++) {
        const syn_gp_line *line = &job->lines[k];
        char name[NAME_TEXT];
        if (!line->arm->kind->recursive || strcmp(line->hist, hist) != 0) {
            continue;
        }
        colour += steps != 0 && steps != line->arm->steps ? 1 : 0;
        steps = line->arm->steps;
        (void)snprintf(name, sizeof name, "T = %zu", steps);
        viz_gp_curve *curve = find_curve(store, name, colour);
        if (curve != NULL) {
            add_point(store, curve, (double)line->steps_eval, line->rmse[0]);
        }
    }
    add_level(store, "Bayes floor", job->bench.floor[0].value, true);
}

/* ---- The whole ------------------------------------------------------------------------------ */

/* Predicting zero is what no curve should lie above. */
static double ceiling_of(const cli_gp_job *job, size_t span)
{
    for (size_t k = 0; k < SYN_GP_REFERENCES_MAX && syn_gp_reference_at(k) != NULL; k++) {
        if (strcmp(syn_gp_reference_at(k)->name, "zero") == 0) {
            return job->bench.references[k][span].value;
        }
    }
    return 0.0;
}

static bool has_points(const panel_store *store)
{
    for (size_t i = 0; i < store->n_curves; i++) {
        for (size_t k = 0; k < store->curves[i].n; k++) {
            if (isfinite(store->y[i][k])) {
                return true;
            }
        }
    }
    return false;
}

/* Panels that have something to show; their number. */
static size_t fill_panels(panel_store *stores, viz_gp_panel *panels, const cli_gp_job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < PANELS; i++) {
        const bool trained = i < 2;
        panel_store *store = &stores[n];
        *store = (panel_store){.n_curves = 0};
        if (trained) {
            fill_trained(store, job, i);
        } else {
            fill_evaluated(store, job, model_hist_word((model_hist)(i - 2)));
        }
        if (!has_points(store)) {
            continue;
        }
        panels[n++] = (viz_gp_panel){.title = store->title,
                                     .x_label = trained ? "steps <i>T</i> of a layer"
                                                        : "steps <i>T</i>\xe2\x80\xb2 of a layer",
                                     .curves = store->curves,
                                     .n_curves = store->n_curves,
                                     .levels = store->levels,
                                     .n_levels = store->n_levels,
                                     .ceiling = ceiling_of(job, trained ? i : 0)};
    }
    return n;
}

static kern_status export_scene(const viz_scene *scene, const cli_gp_job *job, const char *ending,
                                kern_error *err)
{
    char name[NAME_TEXT];
    char *path = NULL;
    (void)snprintf(name, sizeof name, "%s.%s", job->s->task->name, ending);
    KERN_TRY(model_run_path(&path, job->s->out, name, err));
    const kern_status status = viz_export(scene, path, NULL, err);
    free(path);
    return status;
}

static kern_status draw(panel_store *stores, const cli_gp_job *job, kern_error *err)
{
    viz_gp_panel panels[PANELS];
    char title[2 * NAME_TEXT];
    viz_scene *scene = NULL;
    const viz_gp_style style = {.theme = job->s->dark ? VIZ_DARK : VIZ_LIGHT};
    (void)snprintf(title, sizeof title, "Prediction of a Gaussian process (%s) against steps",
                   job->s->task->name);
    const viz_gp_data data = {
        .title = title,
        .y_label = "RMSE",
        .note = job->s->seeds > 1 ? "Means over seeds with their standard errors." : "One seed.",
        .panels = panels,
        .n_panels = fill_panels(stores, panels, job)};
    if (data.n_panels == 0) {
        return KERN_OK; /* every training broke off */
    }
    kern_status status = viz_gp_plot(&scene, &data, &style, err);
    if (status == KERN_OK) {
        status = export_scene(scene, job, "svg", err);
    }
    if (status == KERN_OK) {
        status = export_scene(scene, job, "png", err);
    }
    viz_scene_destroy(scene);
    return status;
}

kern_status cli_gp_draw(const cli_gp_job *job, kern_error *err)
{
    panel_store *stores = calloc(PANELS, sizeof *stores);
    if (stores == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a figure");
    }
    const kern_status status = draw(stores, job, err);
    free(stores);
    return status;
}
