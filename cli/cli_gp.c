/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin gp: the Gaussian-process benchmark.
 */
#include "cli/cli_gp.h"

#include "cli/cli_commands.h"
#include "cli/cli_progress.h"
#include "cli/cli_run.h"
#include "cli/cli_signal.h"
#include "cli/cli_words.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_size.h"
#include "models/model_file.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values --------------------------------------------------------------------------------- */

static kern_status parse_task(void *member, const char *value, kern_error *err)
{
    const syn_gp_task **task = member;
    return syn_gp_task_find(task, value, err);
}

static void show_task(const void *member, char out[CLI_VALUE_TEXT])
{
    const syn_gp_task *const *task = member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", (*task)->name);
}

/* Reads the piece of a list that begins at `text` and ends before a comma; its length. */
static size_t piece_length(const char *text)
{
    return strcspn(text, ",");
}

static kern_status parse_numbers(void *member, const char *value, kern_error *err)
{
    cli_gp_numbers list = {0};
    const char *at = value;
    while (true) {
        char *end = NULL;
        const size_t length = piece_length(at);
        const unsigned long number = at[0] >= '0' && at[0] <= '9' ? strtoul(at, &end, 10) : 0;
        if (number < 1 || number > MODEL_INNER_MAX || end != at + length ||
            list.n == CLI_LIST_MAX) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no list of numbers");
        }
        list.at[list.n++] = number;
        if (at[length] == '\0') {
            break;
        }
        at += length + 1;
    }
    *(cli_gp_numbers *)member = list;
    return KERN_OK;
}

static void show_numbers(const void *member, char out[CLI_VALUE_TEXT])
{
    const cli_gp_numbers *list = member;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < list->n && used < CLI_VALUE_TEXT; i++) {
        used += (size_t)snprintf(out + used, CLI_VALUE_TEXT - used, "%s%zu", i > 0 ? "," : "",
                                 list->at[i]);
    }
}

/* The word at a place of a list; NULL beyond the last. */
typedef const char *word_at(size_t index);

static const char *kind_word(size_t index)
{
    const syn_gp_arm_kind *kind = syn_gp_arm_kind_at(index);
    return kind != NULL ? kind->name : NULL;
}

static const char *hist_word(size_t index)
{
    return index < SYN_GP_HISTS ? model_hist_word((model_hist)index) : NULL;
}

static kern_status parse_words(cli_gp_words *out, word_at *words, const char *value,
                               kern_error *err)
{
    cli_gp_words list = {{false}};
    const char *at = value;
    while (true) {
        const size_t length = piece_length(at);
        size_t i = 0;
        while (words(i) != NULL &&
               (strlen(words(i)) != length || strncmp(words(i), at, length) != 0)) {
            i++;
        }
        if (words(i) == NULL) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no list of the words");
        }
        list.on[i] = true;
        if (at[length] == '\0') {
            break;
        }
        at += length + 1;
    }
    *out = list;
    return KERN_OK;
}

static void show_words(const cli_gp_words *list, word_at *words, char out[CLI_VALUE_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; words(i) != NULL && used < CLI_VALUE_TEXT; i++) {
        if (list->on[i]) {
            used += (size_t)snprintf(out + used, CLI_VALUE_TEXT - used, "%s%s", used > 0 ? "," : "",
                                     words(i));
        }
    }
}

static kern_status parse_arms(void *member, const char *value, kern_error *err)
{
    return parse_words(member, kind_word, value, err);
}

static void show_arms(const void *member, char out[CLI_VALUE_TEXT])
{
    show_words(member, kind_word, out);
}

static kern_status parse_hists(void *member, const char *value, kern_error *err)
{
    return parse_words(member, hist_word, value, err);
}

static void show_hists(const void *member, char out[CLI_VALUE_TEXT])
{
    show_words(member, hist_word, out);
}

CLI_WORD_FUNCTIONS(diag, model_diag)
CLI_WORD_FUNCTIONS(mlp, model_mlp)
CLI_WORD_FUNCTIONS(precond, model_precond)
CLI_WORD_FUNCTIONS(place, model_place)

/* ---- Options -------------------------------------------------------------------------------- */

enum {
    WIDTH_MAX = 4096,
    LAYERS_MAX = 1024,
    STEPS_MAX = 100000000,
    BATCH_MAX = 65536,
    SEEDS_MAX = 1000,
    SEQUENCES_MAX = 1 << 20
};

#define GP_LIST(option, value_, member_, parser, accepted_, what)                                  \
    {                                                                                              \
        .name = (option), .value = (value_), .kind = CLI_WORD, .parse = parse_##parser,            \
        .show = show_##parser, .accepted = (accepted_),                                            \
        .offset = offsetof(cli_gp_settings, member_), .help = (what)                               \
    }
#define GP_SIZE(option, member_, low_, high_, what)                                                \
    {                                                                                              \
        .name = (option), .value = "N", .kind = CLI_SIZE, .low = (low_), .high = (high_),          \
        .offset = offsetof(cli_gp_settings, member_), .help = (what)                               \
    }
#define GP_REAL(option, member_, low_, high_, what)                                                \
    {                                                                                              \
        .name = (option), .value = "X", .kind = CLI_REAL, .low = (low_), .high = (high_),          \
        .offset = offsetof(cli_gp_settings, member_), .help = (what)                               \
    }
#define GP_FLAG(option, member_, what)                                                             \
    {                                                                                              \
        .name = (option), .kind = CLI_FLAG, .offset = offsetof(cli_gp_settings, member_),          \
        .help = (what)                                                                             \
    }
#define NUMBERS "lists of whole numbers from 1 to 1024 with commas between them"

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "What is compared"},
    GP_LIST("task", "TASK", task, task, "gp-1, gp-1n, gp-2, gp-3 and gp-3n",
            "Gaussian process that the sequences come from"),
    GP_LIST("arms", "LIST", arms, arms,
            "lists of cem, llama, llama-deep and tied-deep with commas between them",
            "models: CEM of T steps; Llama with as many layers, and with T times as many; CEM of "
            "one step with T times as many"),
    GP_LIST("steps", "LIST", steps, numbers, NUMBERS, "numbers of steps T that models train with"),
    GP_LIST("hist", "LIST", hists, hists, "fixed, sync and fixed,sync",
            "what the steps of CEM read: the input of the layer, or states of their own time"),
    GP_SIZE("seeds", seeds, 1, SEEDS_MAX, "models trained of each kind"),
    CLI_OPTION_SEED(cli_gp_settings, "first of the seeds, which follow each other"),
    GP_FLAG("quick", quick,
            "a small form that takes minutes: cem and llama, T = 1 and 4, one seed, 2500 steps of "
            "16 sequences, 512 sequences to evaluate; options given count over it"),
    {.kind = CLI_HEADING, .help = "Model"},
    GP_SIZE("layers", base.n_layer, 1, LAYERS_MAX, "layers L"),
    GP_SIZE("width", base.n_embed, 1, WIDTH_MAX, "width D"),
    GP_SIZE("heads", base.n_head, 1, WIDTH_MAX, "attention heads"),
    GP_SIZE("hidden", base.n_hidden, 1, WIDTH_MAX, "hidden width F"),
    GP_SIZE("t-mlp", t_mlp, 0, MODEL_INNER_MAX,
            "steps of CEM's feed-forward part, for all T; 0: T as in the attention"),
    GP_LIST("norm", "WORD", base.cem.norm, place, "step, once and exact",
            "where CEM's norm stands relative to the steps"),
    GP_LIST("diag", "WORD", base.cem.diag, diag, "none, shared and per_head",
            "diagonal part of CEM's interaction"),
    GP_LIST("mlp", "WORD", base.cem.mlp, mlp, "a and b",
            "which branch of CEM's gated energy is nonlinear"),
    GP_LIST("precond", "WORD", base.cem.precond, precond, "none, dlr and gamma",
            "CEM's preconditioner"),
    GP_SIZE("p-rank", base.cem.p_rank, 1, WIDTH_MAX, "rank of the preconditioner dlr"),
    GP_REAL("eta", base.cem.eta, -1e6, 1e6, "step size of CEM, or where it starts"),
    GP_REAL("eta-power", eta_power, 0, 8, "shrink it to eta/T^X"),
    GP_FLAG("learned-eta", base.cem.eta_trained, "train the step size, one per part of a layer"),
    GP_REAL("confine", base.cem.confine, 0, 1e6, "weight of the confining term of CEM's energies"),
    {.kind = CLI_HEADING, .help = "Training"},
    GP_SIZE("train-steps", training.schedule.total, 1, STEPS_MAX, "optimizer steps of each model"),
    GP_SIZE("batch", training.batch, 1, BATCH_MAX, "fresh sequences per step"),
    GP_REAL("lr", training.schedule.peak, DBL_MIN, 1e3,
            "learning rate after the warm-up; it falls to 5 % of that"),
    GP_REAL("lr-power", rate_power, 0, 8, "shrink it to lr/T^X for CEM of T steps"),
    GP_SIZE("warmup", training.schedule.warmup, 0, STEPS_MAX,
            "steps of linear rise, without the option no more than a tenth of all"),
    GP_REAL("init", training.deviation, 0, 1e3,
            "deviation of the layers' matrices at the start; 0: one over the root of the width"),
    {.kind = CLI_HEADING, .help = "Evaluation"},
    GP_LIST("eval-steps", "LIST", eval_steps, numbers, NUMBERS,
            "numbers of steps T' that CEM is evaluated with"),
    GP_SIZE("eval-sequences", eval_sequences, 2, SEQUENCES_MAX, "sequences of the fixed set"),
    {.name = "eval-seed",
     .value = "N",
     .kind = CLI_SEED,
     .offset = offsetof(cli_gp_settings, eval_seed),
     .help = "its seed"},
    {.kind = CLI_HEADING, .help = "Results"},
    {.name = "out",
     .value = "DIR",
     .kind = CLI_TEXT,
     .required = true,
     .offset = offsetof(cli_gp_settings, out),
     .help = "folder for models, results, tables and figures; a benchmark that was stopped goes on "
             "from it"},
    GP_SIZE("save-every", save_every, 0, STEPS_MAX,
            "optimizer steps between saved states; 0: when stopped and at the end only"),
    GP_FLAG("dark", dark, "draw the figure on a dark page"),
    CLI_OPTION_THREADS(cli_gp_settings),
    CLI_OPTION_JSON(cli_gp_settings),
};

static void set_numbers(cli_gp_numbers *list, const size_t *values, size_t n)
{
    list->n = n;
    memcpy(list->at, values, n * sizeof *values);
}

static void defaults(void *settings)
{
    cli_gp_settings *s = settings;
    const syn_gp_bench_options o = syn_gp_bench_options_default();
    *s = (cli_gp_settings){.task = o.plan.task,
                           .hists = {{true, true}},
                           .base = o.plan.base,
                           .training = o.plan.training,
                           .t_mlp = o.plan.t_mlp,
                           .seed = o.plan.seed,
                           .seeds = o.plan.n_seeds,
                           .eval_sequences = o.eval_sequences,
                           .eval_seed = o.eval_seed,
                           .save_every = o.save_every,
                           .threads = kern_parallel_processors()};
    memcpy(s->arms.on, o.plan.kinds, sizeof s->arms.on);
    set_numbers(&s->steps, o.plan.steps, o.plan.n_steps);
    set_numbers(&s->eval_steps, o.eval_steps, o.n_eval_steps);
}

/* What --quick makes of everything that was not given. */
static void apply_quick(cli_gp_settings *s, const cli_call *call)
{
    static const size_t steps[] = {1, 4};
    static const size_t eval_steps[] = {1, 2, 4, 8, 16};
    if (!cli_args_given(call, "steps")) {
        set_numbers(&s->steps, steps, 2);
    }
    if (!cli_args_given(call, "eval-steps")) {
        set_numbers(&s->eval_steps, eval_steps, 5);
    }
    if (!cli_args_given(call, "arms")) {
        s->arms = (cli_gp_words){{true, true}};
    }
    s->seeds = cli_args_given(call, "seeds") ? s->seeds : 1;
    s->training.batch = cli_args_given(call, "batch") ? s->training.batch : 16;
    s->training.schedule.total =
        cli_args_given(call, "train-steps") ? s->training.schedule.total : 2500;
    s->eval_sequences = cli_args_given(call, "eval-sequences") ? s->eval_sequences : 512;
}

/* ---- The whole ------------------------------------------------------------------------------ */

/* What the learning rate falls to. */
enum { FLOOR_PERCENT = 5 };

static syn_gp_bench_options bench_options(const cli_gp_settings *s)
{
    syn_gp_bench_options o = syn_gp_bench_options_default();
    o.plan = (syn_gp_plan){.task = s->task,
                           .base = s->base,
                           .training = s->training,
                           .steps = s->steps.at,
                           .n_steps = s->steps.n,
                           .t_mlp = s->t_mlp,
                           .rate_power = s->rate_power,
                           .eta_power = s->eta_power,
                           .seed = s->seed,
                           .n_seeds = s->seeds};
    o.plan.training.schedule.floor = o.plan.training.schedule.peak * FLOOR_PERCENT / 100.0;
    memcpy(o.plan.kinds, s->arms.on, sizeof o.plan.kinds);
    memcpy(o.plan.hists, s->hists.on, sizeof o.plan.hists);
    o.eval_steps = s->eval_steps.at;
    o.n_eval_steps = s->eval_steps.n;
    o.eval_sequences = s->eval_sequences;
    o.eval_seed = s->eval_seed;
    o.folder = s->out;
    o.save_every = s->save_every;
    o.workers = s->threads;
    return o;
}

static kern_status run_bench(cli_gp_job *job, kern_error *err)
{
    cli_progress progress;
    syn_gp_bench *b = &job->bench;
    b->options.progress = cli_run_watch;
    b->options.context = &progress;
    cli_signal_watch();
    cli_progress_start(&progress, "layer pass", b->work_done, b->work_total, "passes", 1.0);
    const kern_status status = syn_gp_bench_run(b, err);
    cli_progress_finish(&progress);
    return status;
}

static kern_status report(cli_gp_job *job, kern_error *err)
{
    KERN_TRY(syn_gp_table_create(&job->lines, &job->n_lines, &job->bench, err));
    KERN_TRY(cli_gp_write(job, err));
    KERN_TRY(cli_gp_draw(job, err));
    if (job->s->json) {
        return cli_gp_print_json(job, err);
    }
    cli_gp_print_text(job);
    return KERN_OK;
}

static kern_status run_all(cli_gp_job *job, kern_error *err)
{
    const syn_gp_bench_options o = bench_options(job->s);
    KERN_TRY(syn_gp_bench_init(&job->bench, &o, err));
    KERN_TRY(run_bench(job, err));
    return report(job, err);
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    cli_gp_settings s = *(const cli_gp_settings *)settings;
    cli_gp_job job = {.s = &s};
    int lock = -1;
    if (s.quick) {
        apply_quick(&s, call);
    }
    if (!cli_args_given(call, "warmup")) {
        s.training.schedule.warmup =
            kern_size_min(s.training.schedule.warmup, s.training.schedule.total / 10);
    }
    KERN_TRY(model_file_make_folder(s.out, err));
    KERN_TRY(model_run_lock(&lock, s.out, err));
    const kern_status status = run_all(&job, err);
    for (size_t i = 0; i < job.bench.n_arms; i++) {
        call->check_failed = call->check_failed || job.bench.results[i].status != KERN_OK;
    }
    model_run_unlock(lock);
    free(job.lines);
    syn_gp_bench_fini(&job.bench);
    return status;
}

const cli_command cli_gp = {
    .name = "gp",
    .purpose = "Gaussian-process benchmark: error against the number of steps T",
    .description =
        "Trains models to predict, one after the other, points of functions drawn from a Gaussian "
        "process, and measures their root-mean-square errors on one fixed set beside the Bayes "
        "floor, a kernel smoother and the nearest neighbour. CEM models of all T have equal "
        "parameters. Task, sizes and training are proposals of this project: what the CEM paper "
        "used is not public. Everything is kept in the folder --out, from which a benchmark that "
        "was stopped goes on; results do not depend on --threads. When a model's training meets "
        "numbers that are not finite, the exit status is 1.",
    .example = "basin gp --quick --out gp-quick\n"
               "basin gp --steps 1,2,4,8 --task gp-1 --seeds 3 --hist fixed,sync --out gp-1",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_gp_settings),
    .defaults = defaults,
    .run = run,
};
