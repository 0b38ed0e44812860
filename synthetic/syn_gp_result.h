/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What came of an arm of the Gaussian-process benchmark, and the file that keeps it.
 *
 *   {"recipe": {…}, "evaluation": {"sequences", "seed", "steps": [T', …], "hists": […], "t_mlp"},
 *    "status": "ok" or "nan", "trained", "parameters",
 *    "rows": [{"hist", "steps_eval", "range", "rmse", "rmse_error", "excess", "excess_error"}, …]}
 *
 * Numbers that are not finite are null.
 */
#ifndef BASIN_SYN_GP_RESULT_H
#define BASIN_SYN_GP_RESULT_H

#include "synthetic/syn_gp_arm.h"
#include "synthetic/syn_gp_score.h"

/* How arms are evaluated. */
typedef struct syn_gp_evaluation {
    const size_t *steps; /* T' of recursive arms; borrowed */
    size_t n_steps;
    size_t sequences; /* of the fixed set */
    uint64_t seed;
    bool hists[SYN_GP_HISTS]; /* of the plan */
    size_t t_mlp;             /* of the plan */
} syn_gp_evaluation;

/* One score. An arm that is not recursive has hist "none" and steps_eval = T. */
typedef struct syn_gp_row {
    const char *hist;
    size_t steps_eval;
    const syn_gp_span *span;
    syn_gp_score rmse;   /* its error is that of the set's finite size */
    syn_gp_score excess; /* over the floor on the same sequences */
} syn_gp_row;

typedef struct syn_gp_result {
    bool done;          /* false: nothing is known, and all else is 0 */
    kern_status status; /* KERN_OK, or KERN_NAN: training broke off, and there are no rows */
    size_t trained;     /* optimizer steps done */
    size_t parameters;
    size_t n_rows;
    syn_gp_row *rows; /* owned */
} syn_gp_result;

/* Rows that an arm's evaluation makes, and the history and T' of pass `pass` of them, of which each
 * makes one row per span; false beyond the last pass. */
size_t syn_gp_result_rows(const syn_gp_arm *arm, const syn_gp_evaluation *evaluation);
bool syn_gp_result_pass(const syn_gp_arm *arm, const syn_gp_evaluation *evaluation, size_t pass,
                        model_hist *hist, size_t *steps);

/* Word of a row's history. */
const char *syn_gp_result_hist(const syn_gp_arm *arm, model_hist hist);

void syn_gp_result_fini(syn_gp_result *r);

/* Writes the file atomically. */
kern_status syn_gp_result_write(const syn_gp_result *r, const syn_gp_arm *arm,
                                const syn_gp_evaluation *evaluation, const char *recipe,
                                const char *path, kern_error *err);

/* Reads it; r->done is false without a file, and when it was evaluated otherwise than is wanted.
 * KERN_BAD_INPUT, naming the file, for one that was made by another recipe or is malformed. */
kern_status syn_gp_result_read(syn_gp_result *r, const syn_gp_arm *arm,
                               const syn_gp_evaluation *evaluation, const char *recipe,
                               const char *path, kern_error *err);

#endif
