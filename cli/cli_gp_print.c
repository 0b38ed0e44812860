/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin gp: its results as tables, CSV and JSON.
 */
#include "cli/cli_csv.h"
#include "cli/cli_gp.h"
#include "cli/cli_json.h"
#include "models/model_file.h"
#include "models/model_run_path.h"
#include "synthetic/syn_gp_floor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_TEXT = 64, CELL_TEXT = 48 };

/* Path of TASK.ending in the folder. */
static kern_status result_path(char **path, const cli_gp_job *job, const char *ending,
                               kern_error *err)
{
    char name[NAME_TEXT];
    (void)snprintf(name, sizeof name, "%s.%s", job->s->task->name, ending);
    return model_run_path(path, job->s->out, name, err);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

/* One line of the table; references have seed and parameters 0. */
typedef struct csv_row {
    const char *arm;
    const char *hist;
    size_t steps, steps_eval, layers, parameters;
    const char *range;
    uint64_t seed;
    syn_gp_score rmse, excess;
    double floor;
} csv_row;

static void put_row(cli_csv *csv, const cli_gp_job *job, const csv_row *row)
{
    char seed[CELL_TEXT];
    (void)snprintf(seed, sizeof seed, "%llu", (unsigned long long)row->seed);
    cli_csv_word(csv, job->s->task->name);
    cli_csv_word(csv, row->arm);
    cli_csv_word(csv, row->hist);
    cli_csv_size(csv, row->steps);
    cli_csv_size(csv, row->steps_eval);
    cli_csv_word(csv, row->range);
    cli_csv_word(csv, seed);
    cli_csv_real(csv, row->rmse.value);
    cli_csv_real(csv, row->floor);
    cli_csv_size(csv, row->parameters);
    cli_csv_size(csv, row->layers);
    cli_csv_real(csv, row->rmse.error);
    cli_csv_real(csv, row->excess.value);
    cli_csv_real(csv, row->excess.error);
    cli_csv_end_line(csv);
}

static void put_head(cli_csv *csv)
{
    static const char *const names[] = {
        "task", "arm",        "hist",       "steps",  "steps_eval", "range",  "seed",
        "rmse", "rmse_floor", "parameters", "layers", "rmse_error", "excess", "excess_error"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cli_csv_word(csv, names[i]);
    }
    cli_csv_end_line(csv);
}

/* Place of a span among those that the benchmark reports. */
static size_t span_index(const syn_gp_span *span)
{
    size_t i = 0;
    while (syn_gp_span_at(i) != span) {
        i++;
    }
    return i;
}

static csv_row row_of(const cli_gp_job *job, size_t arm, size_t index)
{
    const syn_gp_arm *a = &job->bench.arms[arm];
    const syn_gp_result *r = &job->bench.results[arm];
    const syn_gp_row *row = &r->rows[index];
    return (csv_row){.arm = a->kind->name,
                     .hist = row->hist,
                     .steps = a->steps,
                     .steps_eval = row->steps_eval,
                     .layers = a->config.n_layer,
                     .parameters = r->parameters,
                     .range = row->span->name,
                     .seed = a->seed,
                     .rmse = row->rmse,
                     .excess = row->excess,
                     .floor = job->bench.floor[span_index(row->span)].value};
}

static void put_references(cli_csv *csv, const cli_gp_job *job)
{
    const syn_gp_bench *b = &job->bench;
    for (size_t k = 0; k < SYN_GP_REFERENCES_MAX && syn_gp_reference_at(k) != NULL; k++) {
        for (size_t i = 0; i < b->n_spans; i++) {
            const double mean = b->references[k][i].value;
            const double floor = b->floor[i].value;
            const csv_row row = {
                .arm = syn_gp_reference_at(k)->name,
                .hist = "none",
                .range = syn_gp_span_at(i)->name,
                .rmse = b->references[k][i],
                .excess = {sqrt(fmax(mean * mean - floor * floor, 0.0)), (double)NAN},
                .floor = floor};
            put_row(csv, job, &row);
        }
    }
}

static kern_status write_csv(const cli_gp_job *job, kern_error *err)
{
    cli_csv csv;
    char *path = NULL;
    KERN_TRY(result_path(&path, job, "csv", err));
    kern_status status = cli_csv_begin(&csv, path, err);
    free(path);
    if (status != KERN_OK) {
        return status;
    }
    put_head(&csv);
    for (size_t a = 0; a < job->bench.n_arms; a++) {
        for (size_t i = 0; i < job->bench.results[a].n_rows; i++) {
            const csv_row row = row_of(job, a, i);
            put_row(&csv, job, &row);
        }
    }
    put_references(&csv, job);
    return cli_csv_commit(&csv);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void describe_row(cli_json *json, cJSON *rows, const cli_gp_job *job, const csv_row *row)
{
    cJSON *object = cli_json_child(json, rows, NULL);
    cli_json_text(json, object, "task", job->s->task->name);
    cli_json_text(json, object, "arm", row->arm);
    cli_json_text(json, object, "hist", row->hist);
    cli_json_size(json, object, "steps", row->steps);
    cli_json_size(json, object, "steps_eval", row->steps_eval);
    cli_json_text(json, object, "range", row->range);
    cli_json_size(json, object, "seed", row->seed);
    cli_json_real(json, object, "rmse", row->rmse.value);
    cli_json_real(json, object, "rmse_floor", row->floor);
    cli_json_size(json, object, "parameters", row->parameters);
    cli_json_size(json, object, "layers", row->layers);
    cli_json_real(json, object, "rmse_error", row->rmse.error);
    cli_json_real(json, object, "excess", row->excess.value);
    cli_json_real(json, object, "excess_error", row->excess.error);
}

static void describe_levels(cli_json *json, const cli_gp_job *job)
{
    const syn_gp_bench *b = &job->bench;
    cJSON *levels = cli_json_array(json, json->object, "references");
    for (size_t k = 0; k <= SYN_GP_REFERENCES_MAX; k++) {
        const syn_gp_reference *reference = k > 0 ? syn_gp_reference_at(k - 1) : NULL;
        if (k > 0 && reference == NULL) {
            break;
        }
        for (size_t i = 0; i < b->n_spans; i++) {
            const syn_gp_score score = k > 0 ? b->references[k - 1][i] : b->floor[i];
            cJSON *object = cli_json_child(json, levels, NULL);
            cli_json_text(json, object, "name", k > 0 ? reference->name : "bayes");
            cli_json_text(json, object, "range", syn_gp_span_at(i)->name);
            cli_json_real(json, object, "rmse", score.value);
            cli_json_real(json, object, "rmse_error", score.error);
        }
    }
}

/* Means over seeds. */
static void describe_lines(cli_json *json, const cli_gp_job *job)
{
    cJSON *means = cli_json_array(json, json->object, "means");
    for (size_t k = 0; k < job->n_lines; k++) {
        const syn_gp_line *line = &job->lines[k];
        for (size_t i = 0; i < job->bench.n_spans; i++) {
            cJSON *object = cli_json_child(json, means, NULL);
            cli_json_text(json, object, "arm", line->arm->kind->name);
            cli_json_text(json, object, "hist", line->hist);
            cli_json_size(json, object, "steps", line->arm->steps);
            cli_json_size(json, object, "steps_eval", line->steps_eval);
            cli_json_text(json, object, "range", syn_gp_span_at(i)->name);
            cli_json_size(json, object, "seeds", line->seeds);
            cli_json_size(json, object, "broken", line->broken);
            cli_json_real(json, object, "rmse", line->rmse[i].value);
            cli_json_real(json, object, "rmse_error", line->rmse[i].error);
            cli_json_real(json, object, "excess", line->excess[i].value);
            cli_json_real(json, object, "excess_error", line->excess[i].error);
        }
    }
}

static void describe(cli_json *json, const cli_gp_job *job)
{
    const cli_gp_settings *s = job->s;
    cli_json_init(json);
    cli_json_text(json, json->object, "task", s->task->name);
    cli_json_size(json, json->object, "train_steps", s->training.schedule.total);
    cli_json_size(json, json->object, "batch", s->training.batch);
    cli_json_real(json, json->object, "lr", s->training.schedule.peak);
    cli_json_size(json, json->object, "seeds", s->seeds);
    cli_json_size(json, json->object, "eval_sequences", s->eval_sequences);
    cli_json_size(json, json->object, "eval_seed", s->eval_seed);
    cJSON *broken = cli_json_array(json, json->object, "broken");
    cJSON *rows = cli_json_array(json, json->object, "rows");
    for (size_t a = 0; a < job->bench.n_arms; a++) {
        if (job->bench.results[a].status != KERN_OK) {
            cli_json_text(json, broken, NULL, job->bench.arms[a].name);
        }
        for (size_t i = 0; i < job->bench.results[a].n_rows; i++) {
            const csv_row row = row_of(job, a, i);
            describe_row(json, rows, job, &row);
        }
    }
    describe_levels(json, job);
    describe_lines(json, job);
}

static kern_status write_json(const cli_gp_job *job, kern_error *err)
{
    cli_json json;
    char *text = NULL;
    char *path = NULL;
    describe(&json, job);
    kern_status status = cli_json_take(&json, &text, err);
    if (status == KERN_OK) {
        status = result_path(&path, job, "json", err);
    }
    if (status == KERN_OK) {
        const model_file_chunk chunks[] = {{text, strlen(text)}, {"\n", 1}};
        status = model_file_write_atomic(path, chunks, 2, err);
    }
    free(path);
    free(text);
    return status;
}

kern_status cli_gp_print_json(const cli_gp_job *job, kern_error *err)
{
    cli_json json;
    describe(&json, job);
    return cli_json_print(&json, err);
}

kern_status cli_gp_write(const cli_gp_job *job, kern_error *err)
{
    KERN_TRY(write_csv(job, err));
    return write_json(job, err);
}

/* ---- Tables --------------------------------------------------------------------------------- */

enum { LEAD_WIDTH = 36, MEAN_WIDTH = 13, SINGLE_WIDTH = 9 };

/* "0.3123(12)": the error in units of the last digits; without an error the value alone. */
static void format_mean(char out[CELL_TEXT], syn_gp_mean mean)
{
    if (!isfinite(mean.value)) {
        (void)snprintf(out, CELL_TEXT, "-");
    } else if (!isfinite(mean.error) || !(mean.error < 1.0)) {
        (void)snprintf(out, CELL_TEXT, "%.4f", mean.value);
    } else {
        (void)snprintf(out, CELL_TEXT, "%.4f(%.0f)", mean.value, 1e4 * mean.error);
    }
}

static void print_head(const char *lead, const cli_gp_job *job)
{
    (void)printf("%-*s", LEAD_WIDTH, lead);
    for (size_t i = 0; i < job->bench.n_spans; i++) {
        (void)printf(" %*s", MEAN_WIDTH, syn_gp_span_at(i)->name);
    }
    (void)printf("\n");
}

static void print_means(const syn_gp_mean *means, size_t n)
{
    char cell[CELL_TEXT];
    for (size_t i = 0; i < n; i++) {
        format_mean(cell, means[i]);
        (void)printf(" %*s", MEAN_WIDTH, cell);
    }
}

static void print_lead(const syn_gp_line *line)
{
    (void)printf("%-10s %-5s %4zu %6zu %7zu", line->arm->kind->name, line->hist, line->arm->steps,
                 line->arm->config.n_layer, line->parameters);
}

static void print_level(const char *name, const syn_gp_score *scores, size_t n)
{
    char cell[CELL_TEXT];
    (void)printf("%-*s", LEAD_WIDTH, name);
    for (size_t i = 0; i < n; i++) {
        format_mean(cell, (syn_gp_mean){scores[i].value, (double)NAN});
        (void)printf(" %*s", MEAN_WIDTH, cell);
    }
    (void)printf("\n");
}

/* Every line at its own T: the errors, or what they exceed the floor by. */
static void print_own(const cli_gp_job *job, bool excess)
{
    const size_t n = job->bench.n_spans;
    print_head("arm        hist     T layers  params", job);
    for (size_t k = 0; k < job->n_lines; k++) {
        const syn_gp_line *line = &job->lines[k];
        if (!syn_gp_line_is_own(line)) {
            continue;
        }
        print_lead(line);
        print_means(excess ? line->excess : line->rmse, n);
        if (line->broken > 0) {
            (void)printf("  %zu broke off", line->broken);
        }
        (void)printf("\n");
    }
}

/* Errors over the first span against T'. */
static void print_evaluated(const cli_gp_job *job)
{
    const cli_gp_numbers *list = &job->s->eval_steps;
    const syn_gp_line *last = NULL;
    (void)printf("\nRMSE over %s when evaluated with other numbers of steps T'\n%-*s",
                 syn_gp_span_at(0)->name, LEAD_WIDTH, "arm        hist     T layers  params");
    for (size_t i = 0; i < list->n; i++) {
        (void)printf(" %*zu", SINGLE_WIDTH, list->at[i]);
    }
    for (size_t k = 0; k < job->n_lines; k++) {
        const syn_gp_line *line = &job->lines[k];
        if (!line->arm->kind->recursive) {
            continue;
        }
        if (last == NULL || last->arm->steps != line->arm->steps ||
            strcmp(last->hist, line->hist) != 0) {
            (void)printf("\n");
            print_lead(line);
        }
        (void)printf(" %*.4f", SINGLE_WIDTH, line->rmse[0].value);
        last = line;
    }
    (void)printf("\n");
}

void cli_gp_print_text(const cli_gp_job *job)
{
    const cli_gp_settings *s = job->s;
    const syn_gp_bench *b = &job->bench;
    (void)printf("%s: %s\n", s->task->name, s->task->gloss);
    (void)printf("%zu steps of %zu sequences, %zu seed%s; evaluated on %zu sequences\n\n",
                 s->training.schedule.total, s->training.batch, s->seeds, s->seeds == 1 ? "" : "s",
                 s->eval_sequences);
    (void)printf(
        "RMSE against noisy values after n observed points; in brackets the standard error "
        "over seeds in units of 1e-4\n");
    print_own(job, false);
    for (size_t k = 0; k < SYN_GP_REFERENCES_MAX && syn_gp_reference_at(k) != NULL; k++) {
        print_level(syn_gp_reference_at(k)->name, b->references[k], b->n_spans);
    }
    print_level("bayes (floor)", b->floor, b->n_spans);
    (void)printf("\nExcess over the floor, root of RMSE^2 - floor^2\n");
    print_own(job, true);
    if (s->arms.on[0]) {
        print_evaluated(job);
    }
    (void)printf("\nwritten: %s.csv, .json, .svg and .png in %s\n", s->task->name, s->out);
}
