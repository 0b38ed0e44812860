/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model's graph with one plan and one execution, and random numbers, for tests. Include after
 * cmocka.h.
 */
#ifndef BASIN_MODEL_TEST_GRAPH_H
#define BASIN_MODEL_TEST_GRAPH_H

#include "kernels/kern_exec.h"
#include "kernels/kern_rng.h"
#include "models/model.h"
#include "models/model_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fails the test with the error's sentence unless `call`, which uses `test_err`, succeeds. */
#define TEST_OK(call)                                                                              \
    do {                                                                                           \
        kern_error test_error_ = {0};                                                              \
        kern_error *test_err = &test_error_;                                                       \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s", test_error_.text);                                                      \
        }                                                                                          \
    } while (0)

typedef struct test_machine {
    const model *m;
    model_graph graph;
    kern_plan *plan;
    kern_exec *exec;
    void *packed;
    kern_run run;
} test_machine;

/* What the plan differentiates. */
typedef struct test_plan {
    kern_mode mode;
    bool recompute;
    bool params;
    bool input; /* wrt the graph's input */
    bool nll;   /* seed the losses */
    bool state; /* seed the last state */
} test_plan;

static inline void *test_zeros(size_t n, size_t size)
{
    void *block = calloc(n + 1, size);
    assert_non_null(block);
    return block;
}

static inline void test_machine_pack(test_machine *k)
{
    const size_t real = k->m->backend->real_size;
    const size_t count = kern_graph_pack_count(k->graph.graph) + 64;
    if (k->packed == NULL) {
        k->packed = aligned_alloc(64, (count * real + 63) / 64 * 64);
        assert_non_null(k->packed);
    }
    kern_graph_pack(k->graph.graph, k->m->backend, k->packed, k->m->values, 1);
    k->run.params = k->m->values;
    k->run.packed = k->packed;
}

static inline void test_machine_init(test_machine *k, const model *m,
                                     const model_graph_options *options, test_plan plan)
{
    kern_value seeds[2];
    *k = (test_machine){.m = m};
    TEST_OK(model_graph_init(&k->graph, m, options, test_err));
    kern_plan_options o = {.mode = plan.mode,
                           .recompute = plan.recompute,
                           .params = plan.params,
                           .wrt = &k->graph.input,
                           .n_wrt = plan.input ? 1 : 0,
                           .seeds = seeds};
    if (plan.nll) {
        seeds[o.n_seeds++] = k->graph.nll;
    }
    if (plan.state) {
        seeds[o.n_seeds++] = k->graph.states[k->graph.n_steps];
    }
    TEST_OK(kern_plan_create(&k->plan, k->graph.graph, &o, test_err));
    TEST_OK(kern_exec_create(&k->exec, k->plan, m->backend, 1, test_err));
    test_machine_pack(k);
}

static inline void test_machine_fini(test_machine *k)
{
    kern_exec_destroy(k->exec);
    kern_plan_destroy(k->plan);
    model_graph_fini(&k->graph);
    free(k->packed);
}

static inline double *test_value(const test_machine *k, kern_value v)
{
    return kern_exec_value(k->exec, v);
}

static inline double *test_derivative(const test_machine *k, kern_value v)
{
    return kern_exec_derivative(k->exec, v);
}

/* Numbers in a kept value. */
static inline size_t test_size(const test_machine *k, kern_value v)
{
    const kern_shape s = kern_graph_value_info(k->graph.graph, v)->shape;
    return s.rows * s.cols;
}

/* n normal deviates times `scale`; the caller frees them. */
static inline double *test_normals(size_t n, double scale, uint64_t seed)
{
    double *x = test_zeros(n, sizeof *x);
    kern_rng *rng = kern_rng_create(seed, "test", n);
    assert_non_null(rng);
    for (size_t i = 0; i < n; i++) {
        x[i] = scale * kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    return x;
}

/* n ids below `limit`; the caller frees them. */
static inline int32_t *test_ids(size_t n, size_t limit, uint64_t seed)
{
    int32_t *ids = test_zeros(n, sizeof *ids);
    kern_rng *rng = kern_rng_create(seed, "ids", n);
    assert_non_null(rng);
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)kern_rng_below(rng, (uint32_t)limit);
    }
    kern_rng_destroy(rng);
    return ids;
}

/* A model all of whose tensors are random: matrices of deviation `scale`, vectors around their
 * initial value. */
static inline model *test_model(const model_config *config, double scale, uint64_t seed)
{
    model *m = NULL;
    TEST_OK(model_create(&m, config, &kern_backend_cpu_f64, test_err));
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        double *x = test_normals(model_param_size(p), scale, seed + i);
        for (size_t k = 0; k < model_param_size(p); k++) {
            const double centre = p->init == MODEL_INIT_CONSTANT ? p->value : 0.0;
            model_value_set(m, p->offset + k, centre + x[k]);
        }
        free(x);
    }
    return m;
}

static inline double test_dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

#endif
