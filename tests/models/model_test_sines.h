/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of layers on their own: a graph of one part with one execution. Include after cmocka.h.
 */
#ifndef BASIN_MODEL_TEST_SINES_H
#define BASIN_MODEL_TEST_SINES_H

#include "models/model_cem.h"
#include "tests/models/model_test_graph.h"

/* A graph under construction over one sequence, and what runs it. */
typedef struct test_part {
    const model *m;
    model_builder b;
    kern_value input; /* tokens × D */
    kern_plan *plan;
    kern_exec *exec;
} test_part;

static inline void test_part_begin(test_part *p, const model *m, size_t tokens)
{
    *p = (test_part){.m = m};
    TEST_OK(kern_graph_create(&p->b.graph, test_err));
    p->b.config = &m->config;
    p->b.params = &m->params;
    p->b.batch = 1;
    p->b.tokens = tokens;
    p->b.energies = true;
    p->input = kern_graph_input(p->b.graph, (kern_shape){tokens, m->config.n_embed});
}

/* Runs the graph on x. */
static inline void test_part_run(test_part *p, const double *x)
{
    const kern_plan_options forward = {.mode = KERN_MODE_FORWARD};
    const kern_run run = {.params = p->m->values};
    TEST_OK(kern_graph_finish(p->b.graph, test_err));
    TEST_OK(kern_plan_create(&p->plan, p->b.graph, &forward, test_err));
    TEST_OK(kern_exec_create(&p->exec, p->plan, p->m->backend, 1, test_err));
    memcpy(kern_exec_value(p->exec, p->input), x, p->b.tokens * p->m->config.n_embed * sizeof *x);
    kern_exec_forward(p->exec, &run);
}

static inline kern_value test_part_keep(test_part *p, kern_value v)
{
    kern_graph_keep(p->b.graph, v);
    return v;
}

static inline const double *test_part_value(const test_part *p, kern_value v)
{
    return kern_exec_value(p->exec, v);
}

static inline void test_part_end(test_part *p)
{
    kern_exec_destroy(p->exec);
    kern_plan_destroy(p->plan);
    kern_graph_destroy(p->b.graph);
}

/* centre + scale · sin(start + n), n = 0, 1, … row by row. */
static inline void test_sines(model *m, const char *name, double centre, double scale, double start)
{
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    for (size_t n = 0; n < model_param_size(p); n++) {
        model_value_set(m, p->offset + n, centre + scale * sin(start + (double)n));
    }
}

/* Copies a matrix of `from` into one of `to`, transposed when asked. */
static inline void test_tie(model *to, const char *name, const model *from, const char *source,
                            bool transposed)
{
    const model_param *p = model_params_find(&to->params, name);
    const model_param *q = model_params_find(&from->params, source);
    assert_non_null(p);
    assert_non_null(q);
    assert_int_equal(model_param_size(p), model_param_size(q));
    for (size_t i = 0; i < q->rows; i++) {
        for (size_t j = 0; j < q->cols; j++) {
            model_value_set(to, p->offset + (transposed ? j * q->rows + i : i * q->cols + j),
                            model_value_get(from, q->offset + i * q->cols + j));
        }
    }
}

/* Largest |a − b| over n numbers, infinite where one is not a number. */
static inline double test_distance(const double *a, const double *b, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = fabs(a[i] - b[i]);
        largest = d >= 0 ? fmax(largest, d) : (double)INFINITY;
    }
    return largest;
}

#endif
