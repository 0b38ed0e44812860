/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "models/model_metrics.h"

#include "kernels/kern_size.h"
#include "models/model_file.h"
#include "models/model_json.h"
#include "models/model_run_path.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    METRICS_COLUMNS = 8,
    METRICS_LIMIT = 1 << 30, /* bytes of a file that is read back */
    METRICS_ROW = 512
};

struct model_metrics {
    FILE *file;
    char *path;
    double seconds;
};

/* ---- What an earlier session left --------------------------------------------------------- */

/* Step, and seconds in the last column, of a row of `length` bytes that a comma or end follows. */
static bool parse_row(const char *row, size_t length, size_t *step, double *seconds)
{
    size_t commas = 0;
    const char *last = row;
    for (size_t i = 0; i < length; i++) {
        const bool known = strchr("0123456789.,+-eE", row[i]) != NULL && row[i] != '\0';
        if (!known) {
            return false;
        }
        if (row[i] == ',') {
            commas++;
            last = row + i + 1;
        }
    }
    char *end = NULL;
    if (length == 0 || row[0] < '0' || row[0] > '9' || commas != METRICS_COLUMNS - 1) {
        return false;
    }
    errno = 0;
    const unsigned long long value = strtoull(row, &end, 10);
    *step = (size_t)value;
    *seconds = strtod(last, NULL);
    return errno == 0 && *end == ',';
}

static kern_status check_header(const char *path, const char *text, size_t size, kern_error *err)
{
    const size_t length = strlen(MODEL_METRICS_HEADER);
    if (size < length || memcmp(text, MODEL_METRICS_HEADER, length) != 0 ||
        (size > length && text[length] != '\n')) {
        return kern_raise(err, KERN_BAD_INPUT, "line 1 of '%s' is not the header \"%s\"", path,
                          MODEL_METRICS_HEADER);
    }
    return KERN_OK;
}

/* Finds how many bytes to keep: whole lines up to the first row beyond `last_step`. */
static kern_status measure_kept(model_metrics *m, const char *text, size_t size, size_t last_step,
                                size_t *kept, kern_error *err)
{
    KERN_TRY(check_header(m->path, text, size, err));
    size_t line = 1;
    size_t at = kern_size_min(strlen(MODEL_METRICS_HEADER) + 1, size);
    bool keeping = true;
    *kept = at;
    while (at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t step = 0;
        double seconds = 0;
        line++;
        if (end == NULL) {
            return KERN_OK; /* the line that was being written */
        }
        const size_t length = (size_t)(end - (text + at));
        if (!parse_row(text + at, length, &step, &seconds)) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "line %zu of '%s' is not a row of %d numbers that begins with a step",
                              line, m->path, METRICS_COLUMNS);
        }
        at += length + 1;
        keeping = keeping && step <= last_step;
        if (keeping) {
            *kept = at;
            m->seconds = seconds;
        }
    }
    return KERN_OK;
}

static kern_status write_kept(const model_metrics *m, const char *text, size_t kept,
                              kern_error *err)
{
    const size_t header = strlen(MODEL_METRICS_HEADER);
    const model_file_chunk chunks[] = {
        {MODEL_METRICS_HEADER "\n", header + 1},
        {kept > header ? text + header + 1 : NULL, kept > header ? kept - header - 1 : 0},
    };
    return model_file_write_atomic(m->path, chunks, 2, err);
}

static kern_status prepare(model_metrics *m, size_t last_step, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    size_t kept = 0;
    kern_error inner = {0};
    kern_status status = model_file_read(m->path, METRICS_LIMIT, &text, &size, &inner);
    if (status != KERN_OK && status != KERN_NOT_FOUND) {
        return kern_raise(err, status, "%s", inner.text);
    }
    status = size > 0 ? measure_kept(m, text, size, last_step, &kept, err) : KERN_OK;
    if (status == KERN_OK && (kept < size || kept <= strlen(MODEL_METRICS_HEADER))) {
        status = write_kept(m, text, kept, err);
    }
    free(text);
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------- */

static kern_status raise_write(const model_metrics *m, kern_error *err)
{
    return kern_raise(err, KERN_IO, "cannot write '%s': %s", m->path, strerror(errno));
}

kern_status model_metrics_create(model_metrics **out, const char *folder, size_t last_step,
                                 kern_error *err)
{
    *out = NULL;
    model_metrics *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a table of measurements");
    }
    kern_status status = model_run_path(&m->path, folder, MODEL_RUN_METRICS, err);
    if (status == KERN_OK) {
        status = prepare(m, last_step, err);
    }
    if (status == KERN_OK) {
        m->file = fopen(m->path, "a");
        status = m->file != NULL ? KERN_OK : raise_write(m, err);
    }
    if (status != KERN_OK) {
        model_metrics_destroy(m);
        return status;
    }
    *out = m;
    return KERN_OK;
}

void model_metrics_destroy(model_metrics *metrics)
{
    if (metrics != NULL) {
        if (metrics->file != NULL) {
            (void)fclose(metrics->file); /* every row was flushed */
        }
        free(metrics->path);
        free(metrics);
    }
}

double model_metrics_seconds(const model_metrics *metrics)
{
    return metrics->seconds;
}

kern_status model_metrics_append(model_metrics *metrics, const model_metrics_row *row,
                                 kern_error *err)
{
    const double values[] = {row->loss,          row->val_loss,     row->rate,
                             row->gradient_norm, row->tokens_per_s, row->seconds};
    char text[METRICS_ROW];
    int used = snprintf(text, sizeof text, "%zu,%zu", row->step, row->tokens);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char number[MODEL_JSON_NUMBER];
        (void)model_json_format_real(number, values[i]);
        used += snprintf(text + used, sizeof text - (size_t)used, ",%s", number);
    }
    /* One write per row, so that a break cuts at most one line. */
    if (fprintf(metrics->file, "%s\n", text) < 0 || fflush(metrics->file) != 0) {
        return raise_write(metrics, err);
    }
    return KERN_OK;
}
