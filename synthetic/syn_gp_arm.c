/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_arm.h"

#include "models/model_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const syn_gp_arm_kind kinds[SYN_GP_KINDS] = {
    {.name = "cem", .gloss = "CEM layers of T steps", .recursive = true, .tied = true},
    {.name = "llama", .gloss = "untied Llama layers"},
    {.name = "llama-deep", .gloss = "T times as many Llama layers", .deep = true},
    {.name = "tied-deep",
     .gloss = "T times as many CEM layers of one step",
     .deep = true,
     .tied = true},
};

const syn_gp_arm_kind *syn_gp_arm_kind_at(size_t index)
{
    return index < SYN_GP_KINDS ? &kinds[index] : NULL;
}

syn_gp_plan syn_gp_plan_default(void)
{
    static const size_t steps[] = {1, 2, 4, 8};
    syn_gp_plan plan = {.task = syn_gp_task_at(0),
                        .base = model_config_default(MODEL_CEM),
                        .training = syn_gp_training_default(),
                        .kinds = {true, true, true, true},
                        .hists = {true, true},
                        .steps = steps,
                        .n_steps = sizeof steps / sizeof steps[0],
                        .seed = 1,
                        .n_seeds = 3};
    plan.base.n_embed = 64;
    plan.base.n_head = 4;
    plan.base.n_hidden = 128;
    plan.base.n_layer = 1;
    plan.base.rope = MODEL_ROPE_NONE;
    plan.base.cem.diag = MODEL_DIAG_NONE;
    return plan;
}

/* ---- one arm -------------------------------------------------------------------------------- */

model_config syn_gp_arm_config(const syn_gp_arm *arm, size_t steps, model_hist hist, size_t t_mlp)
{
    model_config c = arm->config;
    c.cem.t_attn = steps;
    c.cem.t_mlp = t_mlp != 0 ? t_mlp : steps;
    c.cem.hist = hist;
    return c;
}

bool syn_gp_arm_serves_both(const syn_gp_arm *arm)
{
    return arm->kind->recursive && arm->config.cem.t_attn == 1 && arm->config.cem.t_mlp == 1;
}

size_t syn_gp_arm_work(const syn_gp_arm *arm)
{
    return arm->config.n_layer * (arm->kind->recursive ? arm->steps : 1);
}

/* The parts of a layer and their steps; widths are those of the plan. */
static void configure(syn_gp_arm *arm, const syn_gp_plan *plan)
{
    const model_family family = arm->kind->tied ? MODEL_CEM : MODEL_LLAMA;
    const model_config usual = model_config_default(family);
    arm->config = plan->base;
    arm->config.family = family;
    arm->config.attn = usual.attn;
    arm->config.ffn = usual.ffn;
    arm->config.n_layer *= arm->kind->deep ? arm->steps : 1;
    /* Of no bearing on a regressor. */
    arm->config.vocab_size = 1;
    arm->config.block_size = plan->task->points;
    arm->config =
        syn_gp_arm_config(arm, arm->kind->recursive ? arm->steps : 1, arm->hist, plan->t_mlp);
    if (!arm->kind->recursive) {
        arm->config.cem.t_mlp = 1;
    }
    if (!arm->kind->recursive || syn_gp_arm_serves_both(arm)) {
        arm->hist = MODEL_HIST_FIXED;
        arm->config.cem.hist = MODEL_HIST_FIXED;
    }
}

/* What becomes smaller as steps become more. */
static void scale_steps(syn_gp_arm *arm, const syn_gp_plan *plan)
{
    if (arm->kind->recursive) {
        const double rate = pow((double)arm->steps, -plan->rate_power);
        arm->training.schedule.peak *= rate;
        arm->training.schedule.floor *= rate;
        arm->config.cem.eta *= pow((double)arm->steps, -plan->eta_power);
    }
}

static void name_arm(syn_gp_arm *arm, const syn_gp_plan *plan)
{
    const char *hist =
        arm->kind->recursive && !syn_gp_arm_serves_both(arm) ? model_hist_word(arm->hist) : "";
    (void)snprintf(arm->name, sizeof arm->name, "%s-%s%s%s-t%zu-l%zu-s%llu", plan->task->name,
                   arm->kind->name, hist[0] != '\0' ? "-" : "", hist, arm->steps,
                   arm->config.n_layer, (unsigned long long)arm->seed);
}

/* ---- all arms ------------------------------------------------------------------------------- */

typedef struct arm_list {
    syn_gp_arm *items;
    size_t count;
} arm_list;

static kern_status add_arm(arm_list *list, const syn_gp_plan *plan, const syn_gp_arm *spec,
                           kern_error *err)
{
    syn_gp_arm arm = *spec;
    configure(&arm, plan);
    name_arm(&arm, plan);
    arm.training = plan->training;
    arm.training.seed = arm.seed;
    scale_steps(&arm, plan);
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, arm.name) == 0) {
            return KERN_OK;
        }
    }
    KERN_TRY(model_config_check(&arm.config, err));
    KERN_TRY(syn_gp_training_check(&arm.training, err));
    list->items[list->count++] = arm;
    return KERN_OK;
}

/* The arms of a kind with T = steps. The llama does not depend on T. */
static kern_status add_kind(arm_list *list, const syn_gp_plan *plan, const syn_gp_arm *spec,
                            kern_error *err)
{
    syn_gp_arm arm = *spec;
    if (!arm.kind->recursive) {
        if (!arm.kind->deep) {
            arm.steps = 1;
        }
        return arm.kind->deep && arm.steps == 1 ? KERN_OK : add_arm(list, plan, &arm, err);
    }
    for (unsigned h = 0; h < SYN_GP_HISTS; h++) {
        arm.hist = (model_hist)h;
        if (plan->hists[h]) {
            KERN_TRY(add_arm(list, plan, &arm, err));
        }
    }
    return KERN_OK;
}

static kern_status fill(arm_list *list, const syn_gp_plan *plan, kern_error *err)
{
    for (size_t seed = 0; seed < plan->n_seeds; seed++) {
        for (size_t k = 0; k < SYN_GP_KINDS; k++) {
            for (size_t i = 0; plan->kinds[k] && i < plan->n_steps; i++) {
                const syn_gp_arm spec = {
                    .kind = &kinds[k], .steps = plan->steps[i], .seed = plan->seed + seed};
                KERN_TRY(add_kind(list, plan, &spec, err));
            }
        }
    }
    return KERN_OK;
}

/* Most work first, so that no long arm is left for the end; then by name. */
static int compare_arms(const void *a, const void *b)
{
    const syn_gp_arm *left = a;
    const syn_gp_arm *right = b;
    const size_t one = syn_gp_arm_work(left);
    const size_t other = syn_gp_arm_work(right);
    return one != other ? (one < other ? 1 : -1) : strcmp(left->name, right->name);
}

static kern_status check_plan(const syn_gp_plan *plan, kern_error *err)
{
    enum { SEEDS_MAX = 10000, STEPS_MAX = 64 };
    if (plan->n_seeds < 1 || plan->n_seeds > SEEDS_MAX || plan->n_steps < 1 ||
        plan->n_steps > STEPS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu seeds and %zu numbers of steps are not possible; accepted are 1 to "
                          "%d and 1 to %d",
                          plan->n_seeds, plan->n_steps, SEEDS_MAX, STEPS_MAX);
    }
    for (size_t i = 0; i < plan->n_steps; i++) {
        if (plan->steps[i] < 1 || plan->steps[i] > MODEL_INNER_MAX) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "%zu steps of a layer are not possible; accepted are 1 to %d",
                              plan->steps[i], MODEL_INNER_MAX);
        }
    }
    if (plan->kinds[0] && !plan->hists[MODEL_HIST_FIXED] && !plan->hists[MODEL_HIST_SYNC]) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the arm cem has no history; accepted are fixed and sync");
    }
    KERN_TRY(syn_gp_task_check(plan->task, err));
    return syn_gp_training_check(&plan->training, err);
}

kern_status syn_gp_arms_create(syn_gp_arm **arms, size_t *count, const syn_gp_plan *plan,
                               kern_error *err)
{
    arm_list list = {0};
    *arms = NULL;
    *count = 0;
    KERN_TRY(check_plan(plan, err));
    list.items =
        calloc(plan->n_seeds * plan->n_steps * SYN_GP_KINDS * SYN_GP_HISTS, sizeof *list.items);
    if (list.items == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the arms of %zu seeds",
                          plan->n_seeds);
    }
    kern_status status = fill(&list, plan, err);
    if (status == KERN_OK && list.count == 0) {
        status = kern_raise(err, KERN_INVALID_ARGUMENT,
                            "there is nothing to train; accepted are arms among cem, llama, and, "
                            "for more than one step, llama-deep and tied-deep");
    }
    if (status != KERN_OK) {
        free(list.items);
        return status;
    }
    qsort(list.items, list.count, sizeof *list.items, compare_arms);
    *arms = list.items;
    *count = list.count;
    return KERN_OK;
}

/* ---- recipe --------------------------------------------------------------------------------- */

static kern_status add_training(cJSON *object, const syn_gp_training *t, kern_error *err)
{
    KERN_TRY(model_json_add_size(object, "batch", t->batch, err));
    KERN_TRY(model_json_add_size(object, "micro_batch", t->micro_batch, err));
    KERN_TRY(model_json_add_string(object, "schedule", model_schedule_word(t->schedule.kind), err));
    KERN_TRY(model_json_add_real(object, "peak", t->schedule.peak, err));
    KERN_TRY(model_json_add_real(object, "floor", t->schedule.floor, err));
    KERN_TRY(model_json_add_size(object, "warmup", t->schedule.warmup, err));
    KERN_TRY(model_json_add_size(object, "steps", t->schedule.total, err));
    KERN_TRY(model_json_add_real(object, "beta1", t->adamw.beta1, err));
    KERN_TRY(model_json_add_real(object, "beta2", t->adamw.beta2, err));
    KERN_TRY(model_json_add_real(object, "epsilon", t->adamw.epsilon, err));
    KERN_TRY(model_json_add_real(object, "weight_decay", t->adamw.weight_decay, err));
    KERN_TRY(model_json_add_real(object, "clip", t->adamw.clip, err));
    KERN_TRY(model_json_add_real(object, "deviation", t->deviation, err));
    return model_json_add_u64(object, "seed", t->seed, err);
}

/* Adds an item, which is released when that fails. */
static kern_status attach(cJSON *object, const char *key, cJSON *item, kern_error *err)
{
    if (item == NULL || !cJSON_AddItemToObject(object, key, item)) {
        cJSON_Delete(item);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a recipe");
    }
    return KERN_OK;
}

static kern_status add_recipe(cJSON *object, const syn_gp_arm *arm, const syn_gp_task *task,
                              const char *config, kern_error *err)
{
    cJSON *training = cJSON_CreateObject();
    KERN_TRY(attach(object, "training", training, err));
    KERN_TRY(add_training(training, &arm->training, err));
    KERN_TRY(attach(object, "model", cJSON_Parse(config), err));
    KERN_TRY(model_json_add_string(object, "family", model_config_family_name(&arm->config), err));
    return model_json_add_string(object, "task", task->name, err);
}

kern_status syn_gp_arm_recipe(const syn_gp_arm *arm, const syn_gp_task *task, char **text,
                              kern_error *err)
{
    char *config = NULL;
    *text = NULL;
    KERN_TRY(model_config_to_json(&arm->config, &config, err));
    cJSON *object = cJSON_CreateObject();
    kern_status status = object != NULL ? add_recipe(object, arm, task, config, err)
                                        : kern_raise(err, KERN_NO_MEMORY, "no memory for a recipe");
    if (status == KERN_OK) {
        status = model_json_print(object, false, text, err);
    }
    cJSON_Delete(object);
    free(config);
    return status;
}
