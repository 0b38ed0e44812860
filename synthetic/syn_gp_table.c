/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool syn_gp_line_is_own(const syn_gp_line *line)
{
    return !line->arm->kind->recursive || line->steps_eval == line->arm->steps;
}

/* Lines under construction: until they are finished, the error of a mean holds the sum of squares
 * about it. */
typedef struct table {
    const syn_gp_bench *b;
    syn_gp_line *lines;
    size_t count;
} table;

static bool is_line(const syn_gp_line *line, const syn_gp_arm *arm, const char *hist,
                    size_t steps_eval)
{
    return line->arm->kind == arm->kind && line->arm->steps == arm->steps &&
           line->steps_eval == steps_eval && strcmp(line->hist, hist) == 0;
}

/* The line of that kind, made when it is new. */
static syn_gp_line *find_line(table *t, const syn_gp_arm *arm, const char *hist, size_t steps_eval)
{
    for (size_t i = 0; i < t->count; i++) {
        if (is_line(&t->lines[i], arm, hist, steps_eval)) {
            return &t->lines[i];
        }
    }
    t->lines[t->count] = (syn_gp_line){.arm = arm, .hist = hist, .steps_eval = steps_eval};
    return &t->lines[t->count++];
}

/* One more value of a mean over `n` before it (Welford 1962); the error is the sum of squares. */
static void add_value(syn_gp_mean *mean, size_t n, double value)
{
    const double off = value - mean->value;
    mean->value += off / (double)(n + 1);
    mean->error += off * (value - mean->value);
}

static void add_result(table *t, const syn_gp_arm *arm, const syn_gp_result *r)
{
    model_hist hist;
    size_t steps;
    for (size_t pass = 0; syn_gp_result_pass(arm, &t->b->evaluation, pass, &hist, &steps); pass++) {
        syn_gp_line *line = find_line(t, arm, syn_gp_result_hist(arm, hist), steps);
        line->arm = arm->seed < line->arm->seed ? arm : line->arm;
        line->parameters = r->parameters;
        if (r->status != KERN_OK) {
            line->broken++;
            continue;
        }
        for (size_t i = 0; i < t->b->n_spans; i++) {
            const syn_gp_row *row = &r->rows[pass * t->b->n_spans + i];
            add_value(&line->rmse[i], line->seeds, row->rmse.value);
            add_value(&line->excess[i], line->seeds, row->excess.value);
        }
        line->seeds++;
    }
}

static void finish_mean(syn_gp_mean *mean, size_t n)
{
    const double count = (double)n;
    mean->value = n > 0 ? mean->value : (double)NAN;
    mean->error = n > 1 ? sqrt(mean->error / (count - 1.0) / count) : (double)NAN;
}

static int compare_sizes(size_t a, size_t b)
{
    return a < b ? -1 : (a > b ? 1 : 0);
}

static int compare_lines(const void *a, const void *b)
{
    const syn_gp_line *left = a;
    const syn_gp_line *right = b;
    int order = left->arm->kind < right->arm->kind ? -1 : left->arm->kind > right->arm->kind;
    order = order != 0 ? order : strcmp(left->hist, right->hist);
    order = order != 0 ? order : compare_sizes(left->arm->steps, right->arm->steps);
    return order != 0 ? order : compare_sizes(left->steps_eval, right->steps_eval);
}

kern_status syn_gp_table_create(syn_gp_line **lines, size_t *count, const syn_gp_bench *b,
                                kern_error *err)
{
    table t = {.b = b};
    size_t room = 0;
    *lines = NULL;
    *count = 0;
    for (size_t i = 0; i < b->n_arms; i++) {
        room += syn_gp_result_rows(&b->arms[i], &b->evaluation) / b->n_spans;
    }
    t.lines = calloc(room + 1, sizeof *t.lines);
    if (t.lines == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a table of %zu lines", room);
    }
    for (size_t i = 0; i < b->n_arms; i++) {
        if (b->results[i].done) {
            add_result(&t, &b->arms[i], &b->results[i]);
        }
    }
    for (size_t i = 0; i < t.count; i++) {
        for (size_t k = 0; k < b->n_spans; k++) {
            finish_mean(&t.lines[i].rmse[k], t.lines[i].seeds);
            finish_mean(&t.lines[i].excess[k], t.lines[i].seeds);
        }
    }
    qsort(t.lines, t.count, sizeof *t.lines, compare_lines);
    *lines = t.lines;
    *count = t.count;
    return KERN_OK;
}
