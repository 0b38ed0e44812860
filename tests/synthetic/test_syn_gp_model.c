/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models of the Gaussian-process benchmark opened again: the maps of their layers, iterated as
 * often as in training, predict what the trained model predicts; and files that are none are
 * refused.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "models/model_layer_map.h"
#include "synthetic/syn_gp_arm.h"
#include "synthetic/syn_gp_model.h"
#include "tests/models/model_test_folder.h"

#include <math.h>

static kern_error err;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s", err.text);                                                              \
        }                                                                                          \
    } while (0)

enum { POINTS = 12, LAYERS = 2, SEED = 5 };

/* The state of a CEM arm of two layers after three steps of training. */
static void write_state(const char *path, double *squared)
{
    static const size_t steps[] = {3};
    syn_gp_plan plan = syn_gp_plan_default();
    syn_gp_arm *arms = NULL;
    syn_gp_trainer *t = NULL;
    syn_gp *gp = NULL;
    syn_gp_batch batch = {0};
    char *recipe = NULL;
    size_t n = 0;
    plan.base.n_embed = 16;
    plan.base.n_head = 2;
    plan.base.n_hidden = 16;
    plan.base.n_layer = LAYERS;
    plan.training.batch = 4;
    plan.steps = steps;
    plan.n_steps = 1;
    OK(syn_gp_arms_create(&arms, &n, &plan, &err));
    const syn_gp_arm *arm = arms;
    while (strcmp(arm->kind->name, "cem") != 0) {
        assert_true(++arm < arms + n);
    }
    OK(syn_gp_trainer_create(&t, plan.task, &arm->config, &arm->training, &err));
    for (size_t i = 0; i < 3; i++) {
        OK(syn_gp_trainer_step(t, NULL, &err));
    }
    OK(syn_gp_arm_recipe(arm, plan.task, &recipe, &err));
    OK(syn_gp_trainer_save(t, path, recipe, &err));
    OK(syn_gp_create(&gp, plan.task, 1, &err));
    OK(syn_gp_batch_init(&batch, 1, plan.task->points, &err));
    OK(syn_gp_draw(gp, SEED, SYN_GP_EVAL, 0, &batch, &err));
    double *all = calloc(batch.points, sizeof *all);
    assert_non_null(all);
    OK(syn_gp_predict_squared(syn_gp_trainer_model(t), NULL, &batch, all, &err));
    memcpy(squared, all, POINTS * sizeof *squared);
    free(all);
    syn_gp_batch_fini(&batch);
    syn_gp_destroy(gp);
    free(recipe);
    syn_gp_trainer_destroy(t);
    free(arms);
}

static const double *parameter(const model *m, const char *name)
{
    const model_param *p = model_params_find(&m->params, name);
    assert_non_null(p);
    return (const double *)m->values + p->offset;
}

/* w·n(x) + b of one row. */
static double read_out(const model *m, const double *x)
{
    const size_t d = m->config.n_embed;
    const double *gain = parameter(m, "norm_f");
    const double *head = parameter(m, "head");
    double square = 0.0;
    double sum = 0.0;
    for (size_t i = 0; i < d; i++) {
        square += x[i] * x[i];
        sum += head[i] * gain[i] * x[i];
    }
    return sum / sqrt(square / (double)d + m->config.norm_eps) + *parameter(m, "head_bias");
}

/* The layer's parts, each as a map of its own, T times. */
static void pass_layers(const model *m, const double *rows, double *x)
{
    OK(model_layer_input_at(m, 0, MODEL_LAYER_ATTN, rows, POINTS, x, &err));
    for (size_t l = 0; l < LAYERS; l++) {
        for (int part = 0; part < MODEL_LAYER_PARTS; part++) {
            dyn_map *map = NULL;
            double again[POINTS * 16];
            OK(model_layer_input_at(m, l, (model_layer_part)part, rows, POINTS, again, &err));
            for (size_t i = 0; i < POINTS * m->config.n_embed; i++) {
                assert_true(fabs(again[i] - x[i]) <= 1e-12 * (1.0 + fabs(x[i])));
            }
            OK(model_layer_map_create_at(&map, m, l, (model_layer_part)part, x, POINTS, &err));
            dyn_map_iterate(map, map->start, model_layer_map_steps(m, (model_layer_part)part), x);
            dyn_map_destroy(map);
        }
    }
}

/* Weights are single-precision numbers, exact in double; predictions of the single-precision graph
 * are off by a few hundred roundings of numbers of order 1. */
static void test_predictions(void **state)
{
    char path[TEST_PATH];
    double squared[POINTS];
    double x[POINTS * 16];
    syn_gp_model g = {0};
    syn_gp_sequence s;
    (void)state;
    (void)test_path(path, "state.safetensors");
    write_state(path, squared);
    assert_true(syn_gp_model_is(path));
    OK(syn_gp_model_init(&g, path, &err));
    assert_int_equal(g.step, 3);
    assert_string_equal(g.task->name, "gp-1");
    OK(syn_gp_sequence_init(&s, &g, SEED, POINTS, &err));
    pass_layers(g.m, s.rows, x);
    for (size_t i = 0; i < POINTS; i++) {
        const double off = read_out(g.m, x + i * 16) - s.y[i];
        assert_true(fabs(off * off - squared[i]) <= 1e-4 * (1.0 + squared[i]));
    }
    syn_gp_sequence_fini(&s);
    assert_int_equal(syn_gp_sequence_init(&s, &g, SEED, g.task->points + 1, &err),
                     KERN_INVALID_ARGUMENT);
    syn_gp_model_fini(&g);
}

static void test_refused(void **state)
{
    char path[TEST_PATH];
    syn_gp_model g = {0};
    (void)state;
    assert_int_equal(syn_gp_model_init(&g, test_path(path, "absent"), &err), KERN_NOT_FOUND);
    assert_false(syn_gp_model_is(path));
    test_write(test_path(path, "text"), "no model", 8);
    assert_false(syn_gp_model_is(path));
    assert_int_not_equal(syn_gp_model_init(&g, path, &err), KERN_OK);
    assert_null(g.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_refused),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
