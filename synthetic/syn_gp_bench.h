/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Gaussian-process benchmark: trains the arms of a plan, evaluates them on one fixed set, and
 * keeps everything in a folder.
 *
 * Arms run side by side, one thread each, so that nothing depends on the number of threads. For
 * every arm the folder receives NAME.safetensors, its weights and the state of its training, every
 * `save_every` steps, when it is stopped and at the end, and NAME.json once it is evaluated. A
 * benchmark started again in the same folder takes what is there: it reads finished arms, continues
 * others, and evaluates trained ones again when the evaluation is another. The floor of a task with
 * random hyper-parameters, which takes minutes, is kept as well.
 */
#ifndef BASIN_SYN_GP_BENCH_H
#define BASIN_SYN_GP_BENCH_H

#include "dyn/dyn_state.h"
#include "synthetic/syn_gp_result.h"

typedef struct syn_gp_bench_options {
    syn_gp_plan plan;
    const size_t *eval_steps; /* T' of recursive arms, each 1 … 1024; borrowed */
    size_t n_eval_steps;
    size_t eval_sequences; /* 2 … 2²⁰ */
    uint64_t eval_seed;
    const char *folder; /* exists; borrowed */
    size_t save_every;  /* optimizer steps; 0: when stopped and at the end only */
    int workers;
    /* Told from the calling thread how much work is done, in passes of a batch through a layer, and
     * of how much; returning false stops the benchmark, which can then be continued. */
    dyn_progress *progress;
    void *context;
} syn_gp_bench_options;

/* The plan's defaults, T' = 1 … 16, 4096 sequences of seed 1, a state every 500 steps. */
syn_gp_bench_options syn_gp_bench_options_default(void);

enum { SYN_GP_SPANS_MAX = 16, SYN_GP_REFERENCES_MAX = 8 };

typedef struct syn_gp_bench {
    syn_gp_bench_options options; /* what they point to is borrowed */
    syn_gp_evaluation evaluation;
    syn_gp_arm *arms; /* n_arms, owned, as the results */
    syn_gp_result *results;
    size_t n_arms;
    size_t n_spans;
    syn_gp_score floor[SYN_GP_SPANS_MAX]; /* of the evaluation set, once run */
    syn_gp_score references[SYN_GP_REFERENCES_MAX][SYN_GP_SPANS_MAX];
    size_t work_done; /* as progress counts it, found in the folder */
    size_t work_total;
} syn_gp_bench;

/* Lists the arms and reads what the folder holds. Errors of syn_gp_arms_create and
 * syn_gp_result_read; KERN_INVALID_ARGUMENT for an option out of its domain. On failure *b is
 * zeroed. */
kern_status syn_gp_bench_init(syn_gp_bench *b, const syn_gp_bench_options *options,
                              kern_error *err);
void syn_gp_bench_fini(syn_gp_bench *b);

/* Does what is left. An arm whose training meets numbers that are not finite ends with the status
 * KERN_NAN in its result and does not stop the others. KERN_INTERRUPTED when progress returned
 * false: the states are saved. KERN_IO and others of writing; KERN_NO_MEMORY. */
kern_status syn_gp_bench_run(syn_gp_bench *b, kern_error *err);

#endif
