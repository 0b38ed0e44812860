/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of basin verify: what is asked for, what came out, and the forms in which that is told.
 */
#ifndef BASIN_CLI_VERIFY_H
#define BASIN_CLI_VERIFY_H

#include "cli/cli_data.h"
#include "cli/cli_json.h"
#include "cli/cli_run.h"
#include "models/model_score.h"
#include "models/verify/verify_report.h"
#include "models/verify/verify_run.h"

#include <stdbool.h>

enum {
    CLI_VERIFY_CLAIMS_MAX = 256,
    CLI_VERIFY_TRIALS_MAX = 1000000000,
    CLI_VERIFY_PROMPTS = 8,        /* drawn when none is given */
    CLI_VERIFY_SCORED = 500,       /* ListOps prompts that a report scores */
    CLI_VERIFY_PROMPT_TOKENS = 24, /* longest of those */
    CLI_VERIFY_WHERE = 200         /* bytes of the sentence on where the prompts come from */
};

typedef struct cli_verify_settings {
    const char *run; /* NULL: random instances */
    cli_list claims;
    cli_list prompts;
    const char *out;
    const char *replay;
    const char *figure;
    const char *report;
    cli_data_options data;
    size_t trials; /* 0: as each claim says */
    uint64_t seed;
    int threads;
    bool list;
    bool strict;
    bool json;
} cli_verify_settings;

/* How good the model is with an η. */
typedef struct cli_verify_score {
    model_loss loss;
    model_accuracy greedy; /* n = 0 unless the data are ListOps */
} cli_verify_score;

/* One call. Zero-initialise but `s`. */
typedef struct cli_verify_job {
    const cli_verify_settings *s;
    cli_run run;             /* in double precision, with a run */
    char *spec;              /* of the run's data, owned */
    cli_data data;           /* of the run */
    bool has_data;           /* it could be read */
    verify_subject *subject; /* owned; NULL for random instances */
    char where[CLI_VERIFY_WHERE];
    const verify_claim *claims[CLI_VERIFY_CLAIMS_MAX]; /* to be run, in the order of the table */
    size_t n;
    verify_result *results; /* of the claims done, owned */
    double *seconds;        /* that each took, owned */
    size_t n_done;
    verify_report *report; /* owned; NULL unless asked for */
    bool scored;           /* the next two were measured */
    cli_verify_score trained;
    cli_verify_score projected; /* with the certified η */
} cli_verify_job;

/* ---- cli_verify_subject.c: the run ---- */

/* Opens the run and makes its subject; the prompts are those given, or windows of the run's
 * validation data, or, when these cannot be read, random tokens, as `where` says. */
kern_status cli_verify_open(cli_verify_job *job, kern_error *err);
void cli_verify_close(cli_verify_job *job);

/* ---- cli_verify_select.c: --claim ---- */

/* KERN_INVALID_ARGUMENT, listing the claims, for a name that selects none. */
kern_status cli_verify_check_names(const cli_verify_settings *s, kern_error *err);

/* True when --claim names the claim or its kind, or is not given. */
bool cli_verify_selects(const cli_verify_settings *s, const verify_claim *claim);

/* Fills job->claims with the selected claims about the run, or about random instances without one.
 * KERN_INVALID_ARGUMENT when all that are selected are of the other kind. */
kern_status cli_verify_choose(cli_verify_job *job, kern_error *err);

/* ---- cli_verify_print.c: verdicts ---- */

/* "holds", "fails", "not applicable", …: a refuted claim is "refuted". */
const char *cli_verify_verdict(const verify_result *result);

/* The table of verdicts, and what there is to say about single ones. */
void cli_verify_print_text(const cli_verify_job *job);

/* The object of --json; the caller prints it. */
void cli_verify_add_json(cli_json *json, const cli_verify_job *job);

/* The table of claims, for --list. */
kern_status cli_verify_print_list(const cli_verify_settings *s, kern_error *err);

/* ---- cli_verify_report.c: the report on a run ---- */

/* Refuses --report and --figure without a run or with a name that cannot be written. */
kern_status cli_verify_check_report(const cli_verify_settings *s, kern_error *err);

/* Makes the folder of a --report that names one: once the run is known to have a report, and before
 * the long part. */
kern_status cli_verify_make_folder(const cli_verify_settings *s, kern_error *err);

/* Computes it, once the claims have been run: certificate, orbits, reach, and, where the run's data
 * can be read, the loss before and after the projection of η. */
kern_status cli_verify_make_report(cli_verify_job *job, kern_error *err);

/* Writes the files of --report and --figure. */
kern_status cli_verify_write_report(const cli_verify_job *job, kern_error *err);

/* ---- cli_verify_page.c: the report in words and numbers ---- */

void cli_verify_print_report(FILE *out, const cli_verify_job *job);

/* The same in few words, for the page of a figure: lines, "# " before a heading. */
void cli_verify_print_note(FILE *out, const cli_verify_job *job);

void cli_verify_add_report(cli_json *json, cJSON *parent, const cli_verify_job *job);

/* ---- cli_verify_replay.c ---- */

/* Checks the records of a file again and prints both numbers; *failed when one differs. */
kern_status cli_verify_run_replay(const cli_verify_settings *s, bool *failed, kern_error *err);

#endif
