/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The files of `basin basins`.
 */
#include "cli/cli_basins.h"
#include "cli/cli_csv.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_TEXT = 64 };

/* ---- Tables ------------------------------------------------------------------------------- */

/* Start, coordinates, label. */
static kern_status put_labels(cli_csv *csv, const cli_basins_job *job, kern_error *err)
{
    const size_t size = job->system.map->size;
    char word[CLI_BASINS_WORD];
    dyn_basin_starts starts = job->o.starts;
    double *x = calloc(size, sizeof *x);
    if (x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu coordinates", size);
    }
    starts.size = size;
    cli_csv_word(csv, "start");
    for (size_t i = 0; i < size; i++) {
        (void)snprintf(word, sizeof word, "x%zu", i);
        cli_csv_word(csv, word);
    }
    cli_csv_word(csv, "label");
    cli_csv_end_line(csv);
    for (size_t k = 0; k < job->basins.n_starts && csv->status == KERN_OK; k++) {
        dyn_basin_starts_get(&starts, k, x);
        cli_csv_size(csv, k);
        for (size_t i = 0; i < size; i++) {
            cli_csv_real(csv, x[i]);
        }
        cli_csv_word(csv, cli_basins_word(job->basins.labels[k], word));
        cli_csv_end_line(csv);
    }
    free(x);
    return KERN_OK;
}

static void put_line(cli_csv *csv, double parameter, const char *label, size_t period,
                     double fraction)
{
    cli_csv_real(csv, parameter);
    cli_csv_word(csv, label);
    cli_csv_size(csv, period);
    cli_csv_real(csv, fraction);
    cli_csv_end_line(csv);
}

/* Parameter, label, period, fraction. */
static void put_fractions(cli_csv *csv, const cli_basins_job *job)
{
    static const char *const heads[] = {"parameter", "label", "period", "fraction"};
    char word[CLI_BASINS_WORD];
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        cli_csv_word(csv, heads[i]);
    }
    cli_csv_end_line(csv);
    for (size_t i = 0; i < job->sweep.n && csv->status == KERN_OK; i++) {
        const dyn_basins_column *c = &job->sweep.columns[i];
        for (size_t k = 0; k < c->basins.n_attractors; k++) {
            put_line(csv, c->parameter, cli_basins_word(c->ids[k], word),
                     c->basins.attractors[k].period, c->basins.attractors[k].fraction);
        }
        for (size_t k = 0; k < DYN_BASIN_OUTCOMES; k++) {
            put_line(csv, c->parameter, dyn_basin_outcome_word(-1 - (int32_t)k), 0,
                     (double)c->basins.counts[k] / (double)c->basins.n_starts);
        }
    }
}

static kern_status write_table(const char *path, const cli_basins_job *job, kern_error *err)
{
    cli_csv csv;
    KERN_TRY(cli_csv_begin(&csv, path, err));
    if (job->s->vary.name != NULL) {
        put_fractions(&csv, job);
    } else {
        const kern_status status = put_labels(&csv, job, err);
        csv.status = csv.status == KERN_OK ? status : csv.status;
    }
    return cli_csv_commit(&csv);
}

/* ---- HDF5 --------------------------------------------------------------------------------- */

static kern_status put_wide_labels(model_hdf5_writer *w, const cli_basins_job *job,
                                   const model_hdf5_shape *shape, kern_error *err)
{
    const model_hdf5_meta meta = {
        .description = "attractor of each start, or -1 diverged, -2 left_box, -3 timeout, -4 "
                       "unresolved, -5 nan; the last coordinate runs fastest"};
    const size_t n = job->basins.n_starts;
    int64_t *labels = calloc(n, sizeof *labels);
    if (labels == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu labels", n);
    }
    for (size_t i = 0; i < n; i++) {
        labels[i] = job->basins.labels[i];
    }
    const kern_status status = model_hdf5_put_int64s(w, "labels", labels, shape, &meta, err);
    free(labels);
    return status;
}

static kern_status put_attractor(model_hdf5_writer *w, const char *group, const dyn_attractor *a,
                                 size_t size, kern_error *err)
{
    static const char *const dims[] = {"point", "coordinate"};
    char name[2 * NAME_TEXT];
    const model_hdf5_shape shape = {.rank = 2, .size = {a->n_points, size}};
    const model_hdf5_meta meta = {.description = "states of the attractor", .dims = dims};
    (void)snprintf(name, sizeof name, "%s/points", group);
    KERN_TRY(model_hdf5_put_doubles(w, name, a->points, &shape, &meta, err));
    KERN_TRY(model_hdf5_put_attr_int64(w, group, "period", (int64_t)a->period, err));
    KERN_TRY(model_hdf5_put_attr_int64(w, group, "count", (int64_t)a->count, err));
    KERN_TRY(model_hdf5_put_attr_doubles(w, group, "fraction", &a->fraction, 1, err));
    return model_hdf5_put_attr_doubles(w, group, "exponent", &a->exponent, 1, err);
}

static kern_status put_single(model_hdf5_writer *w, const cli_basins_job *job, kern_error *err)
{
    const size_t size = job->system.map->size;
    const bool grid = job->o.starts.kind == DYN_BASIN_GRID && size <= MODEL_HDF5_RANK;
    model_hdf5_shape shape = {.rank = grid ? size : 1, .size = {job->n_starts}};
    char name[NAME_TEXT];
    for (size_t i = 0; grid && i < size; i++) {
        shape.size[i] = job->grid[i];
    }
    KERN_TRY(put_wide_labels(w, job, &shape, err));
    KERN_TRY(model_hdf5_put_attr_doubles(w, "labels", "box_low", job->low, size, err));
    KERN_TRY(model_hdf5_put_attr_doubles(w, "labels", "box_high", job->high, size, err));
    for (size_t i = 0; i < job->basins.n_attractors; i++) {
        (void)snprintf(name, sizeof name, "attractors/%d", (int)job->basins.attractors[i].id);
        KERN_TRY(put_attractor(w, name, &job->basins.attractors[i], size, err));
    }
    return KERN_OK;
}

/* Fractions of every id and outcome against the parameter. */
static kern_status put_sweep(model_hdf5_writer *w, const cli_basins_job *job, kern_error *err)
{
    static const char *const dims[] = {"column", "label"};
    const dyn_basins_sweep *s = &job->sweep;
    const size_t width = s->n_ids + DYN_BASIN_OUTCOMES;
    const model_hdf5_shape line = {.rank = 1, .size = {s->n}};
    const model_hdf5_shape table = {.rank = 2, .size = {s->n, width}};
    const model_hdf5_meta parameter = {.description = "the parameter that varies", .dims = dims};
    const model_hdf5_meta meta = {.description =
                                      "fraction of the starts by label: ids 1, 2, ..., "
                                      "then diverged, left_box, timeout, unresolved, nan",
                                  .dims = dims};
    double *values = calloc(s->n * (width + 1), sizeof *values);
    if (values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu columns", s->n);
    }
    double *at = values + s->n * width;
    for (size_t i = 0; i < s->n; i++) {
        const dyn_basins_column *c = &s->columns[i];
        at[i] = c->parameter;
        for (size_t k = 0; k < c->basins.n_attractors; k++) {
            values[i * width + (size_t)c->ids[k] - 1] = c->basins.attractors[k].fraction;
        }
        for (size_t k = 0; k < DYN_BASIN_OUTCOMES; k++) {
            values[i * width + s->n_ids + k] =
                (double)c->basins.counts[k] / (double)c->basins.n_starts;
        }
    }
    kern_status status = model_hdf5_put_doubles(w, "parameter", at, &line, &parameter, err);
    if (status == KERN_OK) {
        status = model_hdf5_put_doubles(w, "fractions", values, &table, &meta, err);
    }
    free(values);
    return status;
}

static kern_status put_file(model_hdf5_writer *writer, const void *context, kern_error *err)
{
    const cli_basins_job *job = context;
    return job->s->vary.name != NULL ? put_sweep(writer, job, err) : put_single(writer, job, err);
}

kern_status cli_basins_write(const cli_basins_job *job, kern_error *err)
{
    const char *table = cli_files_table(&job->s->files);
    const char *hdf5 = cli_files_hdf5(&job->s->files);
    cli_json recipe;
    if (table != NULL) {
        KERN_TRY(write_table(table, job, err));
    }
    if (hdf5 == NULL) {
        return KERN_OK;
    }
    cli_json_init(&recipe);
    cli_json_text(&recipe, recipe.object, "command", "basin basins");
    cli_basins_describe(&recipe, job);
    return cli_files_write(hdf5, put_file, job, job->system.map, &recipe, err);
}
