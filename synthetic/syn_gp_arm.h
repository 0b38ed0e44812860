/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arms of the Gaussian-process benchmark: which models are trained, and what tells one from
 * another. Every kind of arm is a row of one table:
 *
 *   cem         CEM layers of T steps: equal parameters for every T
 *   llama       untied Llama layers, as many as the CEM arms have
 *   llama-deep  untied Llama layers, T times as many: about equal compute
 *   tied-deep   CEM layers of one step, T times as many
 *
 * A CEM arm of one step is the same for either history, since its step sees its own input alone; so
 * it is trained once and evaluated under both. Arms that would repeat another are left out:
 * llama-deep and tied-deep with T = 1.
 */
#ifndef BASIN_SYN_GP_ARM_H
#define BASIN_SYN_GP_ARM_H

#include "synthetic/syn_gp_train.h"

enum { SYN_GP_ARM_NAME = 96, SYN_GP_KINDS = 4, SYN_GP_HISTS = 2 };

typedef struct syn_gp_arm_kind {
    const char *name;
    const char *gloss;
    bool recursive; /* takes T' other than T at evaluation, and has a history */
    bool deep;      /* T times the layers */
    bool tied;      /* of CEM's parts */
} syn_gp_arm_kind;

/* The kinds by place; NULL beyond the last. */
const syn_gp_arm_kind *syn_gp_arm_kind_at(size_t index);

/* What a benchmark trains. */
typedef struct syn_gp_plan {
    const syn_gp_task *task;  /* borrowed */
    model_config base;        /* of the arm cem; its steps and history are replaced */
    syn_gp_training training; /* its seed is replaced */
    bool kinds[SYN_GP_KINDS];
    bool hists[SYN_GP_HISTS]; /* by model_hist */
    const size_t *steps;      /* T, each 1 … 1024; borrowed */
    size_t n_steps;
    size_t t_mlp; /* steps of the feed-forward part; 0: those of the attention */
    /* A CEM arm of T steps trains with T^−rate_power of the rate, and steps of T^−eta_power of η.
     */
    double rate_power;
    double eta_power;
    uint64_t seed;
    size_t n_seeds; /* seed, seed + 1, … */
} syn_gp_plan;

/* The plan of B.3 of the design notes for gp-1: D = 64, four heads, F = 128, one layer, no rotary
 * positions, no diagonal, no preconditioner, T = 1, 2, 4, 8, both histories, three seeds. */
syn_gp_plan syn_gp_plan_default(void);

typedef struct syn_gp_arm {
    const syn_gp_arm_kind *kind;
    size_t steps;    /* T */
    model_hist hist; /* of recursive arms */
    uint64_t seed;
    model_config config;
    syn_gp_training training;
    char name[SYN_GP_ARM_NAME]; /* of its files: gp-1-cem-fixed-t4-l1-s2 */
} syn_gp_arm;

/* Configuration of a recursive arm with other steps, and another history; parameters are the same.
 * `t_mlp` is that of the plan. */
model_config syn_gp_arm_config(const syn_gp_arm *arm, size_t steps, model_hist hist, size_t t_mlp);

/* A recursive arm of one step in both parts, which is evaluated under every history. */
bool syn_gp_arm_serves_both(const syn_gp_arm *arm);

/* The arms of a plan, most work first; *arms is one block that the caller frees. Doubled entries of
 * a list count once. KERN_INVALID_ARGUMENT for an empty plan or a number outside its domain, and
 * from model_config_check and syn_gp_training_check; KERN_NO_MEMORY. */
kern_status syn_gp_arms_create(syn_gp_arm **arms, size_t *count, const syn_gp_plan *plan,
                               kern_error *err);

/* Layers passed in a step, each counted as often as it is applied: the unit of progress. */
size_t syn_gp_arm_work(const syn_gp_arm *arm);

/* What is trained, as JSON on one line: task, configuration, training. Two arms with equal recipes
 * end with the same weights. The caller frees *text with free(). */
kern_status syn_gp_arm_recipe(const syn_gp_arm *arm, const syn_gp_task *task, char **text,
                              kern_error *err);

#endif
