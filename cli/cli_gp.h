/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What basin gp accepts, and the forms that its results take.
 */
#ifndef BASIN_CLI_GP_H
#define BASIN_CLI_GP_H

#include "cli/cli_args.h"
#include "synthetic/syn_gp_table.h"

/* A list of whole numbers: "1,2,4,8". */
typedef struct cli_gp_numbers {
    size_t at[CLI_LIST_MAX];
    size_t n;
} cli_gp_numbers;

/* Members of a list of words, by their places in it. */
typedef struct cli_gp_words {
    bool on[SYN_GP_KINDS];
} cli_gp_words;

typedef struct cli_gp_settings {
    const syn_gp_task *task;
    cli_gp_words arms;
    cli_gp_words hists;
    cli_gp_numbers steps;
    cli_gp_numbers eval_steps;
    model_config base;
    syn_gp_training training;
    size_t t_mlp;
    double rate_power;
    double eta_power;
    uint64_t seed;
    size_t seeds;
    size_t eval_sequences;
    uint64_t eval_seed;
    size_t save_every;
    const char *out;
    int threads;
    bool quick;
    bool dark;
    bool json;
} cli_gp_settings;

/* A finished benchmark. */
typedef struct cli_gp_job {
    const cli_gp_settings *s;
    syn_gp_bench bench;
    syn_gp_line *lines; /* owned */
    size_t n_lines;
} cli_gp_job;

/* Writes TASK.csv and TASK.json, one row for every arm, seed, history, T' and span, into the
 * folder. */
kern_status cli_gp_write(const cli_gp_job *job, kern_error *err);

/* Draws TASK.svg and TASK.png there. */
kern_status cli_gp_draw(const cli_gp_job *job, kern_error *err);

/* The same object as TASK.json on standard output; or tables for reading. */
kern_status cli_gp_print_json(const cli_gp_job *job, kern_error *err);
void cli_gp_print_text(const cli_gp_job *job);

#endif
