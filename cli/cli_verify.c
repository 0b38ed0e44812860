/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin verify: theorems, refutations and properties, checked numerically and with witnesses.
 */
#include "cli/cli_verify.h"

#include "cli/cli_commands.h"
#include "cli/cli_files.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "kernels/kern_parallel.h"
#include "models/verify/verify_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const cli_option options[] = {
    {.name = "RUN",
     .kind = CLI_TEXT,
     .positional = true,
     .offset = offsetof(cli_verify_settings, run),
     .help = "folder written by basin train, or a file of weights (*.safetensors), to be checked; "
             "without it the mathematics is, on random instances"},
    {.name = "claim",
     .value = "NAME,...",
     .kind = CLI_LIST,
     .offset = offsetof(cli_verify_settings, claims),
     .help = "claims to check, or what their names begin with, such as cem; may be repeated "
             "(default: all)"},
    {.name = "list",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_verify_settings, list),
     .help = "show the claims, their kind and source, and check nothing"},
    {.name = "trials",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = CLI_VERIFY_TRIALS_MAX,
     .hide_default = true,
     .offset = offsetof(cli_verify_settings, trials),
     .help = "instances of every claim; of a refuted one, the most that are tried (default: as "
             "--list shows)"},
    CLI_OPTION_SEED(cli_verify_settings, "of the instances"),
    {.name = "out",
     .value = "F.h5",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_verify_settings, out),
     .help = "write the worst instance of every claim, with all its inputs, as HDF5"},
    {.name = "replay",
     .value = "F.h5",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_verify_settings, replay),
     .help = "check the instances of such a file again, and compare both numbers"},
    {.name = "strict",
     .kind = CLI_FLAG,
     .offset = offsetof(cli_verify_settings, strict),
     .help = "exit status 1 also when the run lacks a property"},
    CLI_OPTION_THREADS(cli_verify_settings),
    CLI_OPTION_JSON(cli_verify_settings),
    {.kind = CLI_HEADING, .help = "Of a run"},
    {.name = "report",
     .value = "DIR|FILE",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_verify_settings, report),
     .help = "write a one-page report on an NRGPT: certificate or witness, orbits, reach of the "
             "step bound, and what would certify it; to a .txt, .json, .pdf, .svg or .png file, or "
             "in all forms to a folder"},
    {.name = "figure",
     .value = "FILE",
     .kind = CLI_TEXT,
     .offset = offsetof(cli_verify_settings, figure),
     .help = "draw that report's figure alone to this .pdf, .svg, .png or .csv file"},
    {.name = "prompt",
     .value = "TEXT",
     .kind = CLI_LIST,
     .offset = offsetof(cli_verify_settings, prompts),
     .help = "text whose tokens are followed; may be repeated (default: 8 windows of the run's "
             "validation data)"},
    CLI_OPTION_DATA(cli_verify_settings, "(default: what the run was trained on)"),
    CLI_OPTION_DATA_SEED(cli_verify_settings),
    CLI_OPTION_PROMPTS(cli_verify_settings),
    {.name = "n-prompts",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1e6,
     .offset = CLI_DATA_AT(cli_verify_settings, n_prompts),
     .help = "ListOps prompts that the report scores"},
};

static void defaults(void *settings)
{
    cli_verify_settings *s = settings;
    *s = (cli_verify_settings){
        .data = cli_data_options_default(), .seed = 1, .threads = kern_parallel_processors()};
    s->data.n_prompts = CLI_VERIFY_SCORED;
}

/* ---- running -------------------------------------------------------------------------------- */

static kern_status run_one(cli_verify_job *job, kern_error *err)
{
    cli_progress progress;
    const verify_claim *claim = job->claims[job->n_done];
    const size_t trials = job->s->trials > 0 ? job->s->trials : claim->trials;
    cli_progress_start(&progress, claim->name, 0, trials, "instances", 1.0);
    const verify_options o = {.seed = job->s->seed,
                              .trials = job->s->trials,
                              .workers = job->s->threads,
                              .progress = cli_run_watch,
                              .context = &progress};
    const double started = cli_progress_now();
    const kern_status status =
        verify_run_claim(claim, job->subject, &o, &job->results[job->n_done], err);
    cli_progress_finish(&progress);
    if (status == KERN_OK) {
        job->seconds[job->n_done++] = cli_progress_now() - started;
    }
    return status;
}

static kern_status run_claims(cli_verify_job *job, kern_error *err)
{
    kern_status status = KERN_OK;
    job->results = calloc(job->n + 1, sizeof *job->results);
    job->seconds = calloc(job->n + 1, sizeof *job->seconds);
    if (job->results == NULL || job->seconds == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the results of %zu claims", job->n);
    }
    cli_signal_watch();
    while (job->n_done < job->n && status == KERN_OK) {
        status = run_one(job, err);
    }
    return status;
}

/* ---- telling -------------------------------------------------------------------------------- */

static kern_status write_witnesses(const cli_verify_job *job, kern_error *err)
{
    cli_json json;
    char *recipe = NULL;
    char seed[32];
    cli_json_init(&json);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, job->s->seed);
    cli_json_text(&json, json.object, "command", "basin verify");
    if (job->subject != NULL) {
        cli_json_text(&json, json.object, "run", job->subject->name);
        cli_json_text(&json, json.object, "prompts", job->where);
    }
    cli_json_text(&json, json.object, "seed", seed);
    cli_json_size(&json, json.object, "trials", job->s->trials);
    KERN_TRY(cli_json_take(&json, &recipe, err));
    const kern_status status =
        verify_file_write(job->s->out, job->results, job->n_done, recipe, err);
    free(recipe);
    return status;
}

static kern_status tell(const cli_verify_job *job, kern_error *err)
{
    if (job->s->out != NULL) {
        KERN_TRY(write_witnesses(job, err));
    }
    if (job->report != NULL) {
        KERN_TRY(cli_verify_write_report(job, err));
    }
    if (!job->s->json) {
        cli_verify_print_text(job);
        return KERN_OK;
    }
    cli_json json;
    cli_json_init(&json);
    cli_verify_add_json(&json, job);
    return cli_json_print(&json, err);
}

static bool wants_report(const cli_verify_settings *s)
{
    return s->report != NULL || s->figure != NULL;
}

/* Stopped on request, what is finished is told all the same. */
static kern_status verify_all(cli_verify_job *job, kern_error *err)
{
    KERN_TRY(cli_verify_choose(job, err));
    if (job->s->run != NULL) {
        KERN_TRY(cli_verify_open(job, err));
    }
    if (wants_report(job->s) && job->subject->eta == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--%s is on an NRGPT, and the run is a %s, which has no η",
                          job->s->report != NULL ? "report" : "figure",
                          model_config_family_name(&job->subject->m->config));
    }
    KERN_TRY(cli_verify_make_folder(job->s, err));
    kern_status status = run_claims(job, err);
    if (status == KERN_OK && wants_report(job->s)) {
        status = cli_verify_make_report(job, err);
    }
    if (status == KERN_OK || (status == KERN_INTERRUPTED && job->n_done > 0)) {
        KERN_TRY(tell(job, err));
    }
    return status;
}

static bool any_fails(const cli_verify_job *job)
{
    for (size_t i = 0; i < job->n_done; i++) {
        if (verify_result_fails(&job->results[i], job->s->strict)) {
            return true;
        }
    }
    return false;
}

static void job_fini(cli_verify_job *job)
{
    for (size_t i = 0; job->results != NULL && i < job->n; i++) {
        verify_result_fini(&job->results[i]);
    }
    free(job->results);
    free(job->seconds);
    verify_report_destroy(job->report);
    cli_verify_close(job);
}

/* ---- the command line ----------------------------------------------------------------------- */

/* --replay takes everything from its file. */
static kern_status check_replay(const cli_call *call, const cli_verify_settings *s, kern_error *err)
{
    static const char *const others[] = {"claim",  "list",   "trials", "seed",      "out",
                                         "strict", "prompt", "data",   "data-seed", "n-prompts"};
    bool alone = s->run == NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        alone = alone && !cli_args_given(call, others[i]);
    }
    return alone ? KERN_OK
                 : kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--replay checks a file as it is; accepted with it are --json and "
                              "nothing else");
}

static kern_status check_settings(const cli_call *call, const cli_verify_settings *s,
                                  kern_error *err)
{
    kern_error why = {0};
    KERN_TRY(cli_verify_check_names(s, err));
    KERN_TRY(cli_verify_check_report(s, err));
    if (s->replay != NULL) {
        KERN_TRY(check_replay(call, s, err));
    }
    if (s->prompts.n > 0 && s->run == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--prompt is for a run; RUN is missing");
    }
    if (s->out != NULL) {
        const kern_status status = model_hdf5_check_path(s->out, &why);
        if (status != KERN_OK) {
            return kern_raise(err, status, "--out: %s", why.text);
        }
    }
    return KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const cli_verify_settings *s = settings;
    cli_verify_job job = {.s = s};
    KERN_TRY(check_settings(call, s, err));
    if (s->list) {
        return cli_verify_print_list(s, err);
    }
    if (s->replay != NULL) {
        return cli_verify_run_replay(s, &call->check_failed, err);
    }
    const kern_status status = verify_all(&job, err);
    call->check_failed = any_fails(&job);
    job_fini(&job);
    return status;
}

const cli_command cli_verify = {
    .name = "verify",
    .purpose = "convergence theorems and their limits, checked with witnesses",
    .description =
        "Checks every claim on many instances: without RUN those about the mathematics, on random "
        "ones; with RUN those about that run's parameters and orbits. A theorem holds when no "
        "instance violates it beyond rounding; a refuted claim when a counterexample was found; a "
        "property when the run has it; a statistic is numbers only. The worst instance of each is "
        "kept with all its inputs (--out) and can be checked again (--replay). The exit status is "
        "1 when a theorem is violated or a refuted claim yields no witness, and with --strict also "
        "when the run lacks a property.",
    .example = "basin verify --out witnesses.h5\n"
               "basin verify run --claim descent-condition\n"
               "basin verify run --report report.pdf",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_verify_settings),
    .defaults = defaults,
    .run = run,
};
