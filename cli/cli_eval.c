/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin eval: how good a trained model is.
 */
#include "cli/cli_commands.h"
#include "cli/cli_data.h"
#include "cli/cli_json.h"
#include "cli/cli_progress.h"
#include "cli/cli_run.h"
#include "cli/cli_signal.h"
#include "kernels/kern_parallel.h"
#include "models/model_score.h"
#include "synthetic/syn_listops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct eval_settings {
    const char *run;
    cli_data_options data;
    model_part part;
    size_t window; /* 0: that of training */
    size_t max_new;
    cli_run_steps inner;
    uint64_t seed;
    int threads;
    bool json;
} eval_settings;

static const char *const part_words[] = {
    [MODEL_PART_TRAIN] = "train", [MODEL_PART_VAL] = "val", [MODEL_PART_ALL] = "all"};

static kern_status parse_part(void *member, const char *value, kern_error *err)
{
    for (size_t i = 0; i < sizeof part_words / sizeof part_words[0]; i++) {
        if (strcmp(value, part_words[i]) == 0) {
            *(model_part *)member = (model_part)i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no part");
}

static void show_part(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", part_words[*(const model_part *)member]);
}

static const cli_option options[] = {
    CLI_OPTION_RUN(eval_settings),
    CLI_OPTION_DATA(eval_settings, "(default: what the run was trained on)"),
    CLI_OPTION_DATA_SEED(eval_settings),
    {.name = "part",
     .value = "PART",
     .kind = CLI_WORD,
     .parse = parse_part,
     .show = show_part,
     .accepted = "val (the last tenth), train and all",
     .offset = offsetof(eval_settings, part),
     .help = "of the data: val (the last tenth), train or all"},
    {.name = "window",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 24,
     .hide_default = true,
     .offset = offsetof(eval_settings, window),
     .help = "tokens that are read at once (default: as in training)"},
    CLI_OPTION_PROMPTS(eval_settings),
    CLI_OPTION_N_PROMPTS(eval_settings),
    {.name = "max-new",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 20,
     .offset = offsetof(eval_settings, max_new),
     .help = "longest answer to a ListOps prompt, tokens"},
    CLI_OPTIONS_STEPS(eval_settings, inner),
    CLI_OPTION_SEED(eval_settings, "of sampled answers"),
    CLI_OPTION_THREADS(eval_settings),
    CLI_OPTION_JSON(eval_settings),
};

static void defaults(void *settings)
{
    const model_sampling sampling = model_sampling_default();
    *(eval_settings *)settings = (eval_settings){.data = cli_data_options_default(),
                                                 .part = MODEL_PART_VAL,
                                                 .max_new = sampling.max_new,
                                                 .seed = sampling.seed,
                                                 .threads = kern_parallel_processors()};
}

/* One call. */
typedef struct eval_job {
    const eval_settings *s;
    cli_run run;
    char *spec; /* owned; --data of the run, when none is given */
    cli_data data;
    model_loss loss;
    model_accuracy greedy;
    model_accuracy sampled;
    bool judged; /* chains were checked step by step */
} eval_job;

/* ---- Measuring --------------------------------------------------------------------------- */

static kern_status measure_loss(eval_job *job, kern_error *err)
{
    cli_progress progress;
    const size_t window = job->s->window > 0 ? job->s->window : job->run.run.training.window;
    size_t tokens = 0;
    job->loss = (model_loss){.loss = (double)NAN, .perplexity = (double)NAN};
    if (job->data.stream.n == 0) {
        return KERN_OK;
    }
    KERN_TRY(model_stream_check_window(&job->data.stream, job->s->part, window, err));
    (void)model_stream_part(&job->data.stream, job->s->part, &tokens);
    cli_progress_start(&progress, "window", 0, (tokens + window - 1) / window, "tokens",
                       (double)window);
    const model_loss_options measure = {.part = job->s->part,
                                        .window = window,
                                        .threads = job->s->threads,
                                        .progress = cli_run_watch,
                                        .context = &progress};
    const kern_status status =
        model_score_loss(job->run.m, &job->data.stream, &measure, &job->loss, err);
    cli_progress_finish(&progress);
    return status;
}

/* The context is that of the progress; the rules need none. */
static bool judge_chain(void *context, const int32_t *ids, size_t n)
{
    (void)context;
    return syn_listops_check_example(ids, n, NULL) == KERN_OK;
}

static kern_status measure_answers(const eval_job *job, bool greedy, model_accuracy *out,
                                   kern_error *err)
{
    cli_progress progress;
    model_scoring scoring = model_scoring_default(job->data.tokenizer.eos);
    scoring.sampling.greedy = greedy;
    scoring.sampling.max_new = job->s->max_new;
    scoring.sampling.seed = job->s->seed;
    scoring.sampling.vocab = job->data.tokenizer.vocab_size;
    scoring.threads = job->s->threads;
    scoring.progress = cli_run_watch;
    scoring.judge = job->judged ? judge_chain : NULL;
    scoring.context = &progress;
    cli_progress_start(&progress, greedy ? "greedy answer" : "sampled answer", 0,
                       job->data.prompts.n, "answers", 1.0);
    const kern_status status =
        model_score_listops(job->run.m, &job->data.prompts, &scoring, out, err);
    cli_progress_finish(&progress);
    return status;
}

/* The rules of ListOps are written for the published numbering of its tokens. */
static bool is_published_vocabulary(const model_tokenizer *tokenizer)
{
    const char *const *words = model_tokenizer_listops_words();
    for (size_t i = 0; i < MODEL_LISTOPS_VOCAB; i++) {
        if (tokenizer->vocab_size != MODEL_LISTOPS_VOCAB ||
            strcmp(tokenizer->words[i], words[i]) != 0) {
            return false;
        }
    }
    return true;
}

static kern_status load(eval_job *job, kern_error *err)
{
    const model_run *run = &job->run.run;
    cli_data_options data = job->s->data;
    if (data.spec == NULL) {
        KERN_TRY(cli_data_recall(run->data_kind, run->data_path, &job->spec, err));
        data.spec = job->spec;
    }
    KERN_TRY(cli_data_parse(&job->data, &data, err));
    if (data.prompts != NULL && job->data.kind != CLI_DATA_LISTOPS) {
        return cli_data_load_prompts(&job->data, err);
    }
    return cli_data_load(&job->data, &run->tokenizer, err);
}

static kern_status measure(eval_job *job, kern_error *err)
{
    KERN_TRY(cli_run_open(&job->run, job->s->run, &kern_backend_cpu_f32, err));
    KERN_TRY(cli_run_set_steps(&job->run, &job->s->inner, err));
    KERN_TRY(load(job, err));
    if (job->data.kind == CLI_DATA_LISTOPS) {
        job->judged = is_published_vocabulary(&job->data.tokenizer);
        KERN_TRY(cli_data_load_prompts(&job->data, err));
    }
    cli_signal_watch();
    KERN_TRY(measure_loss(job, err));
    if (job->data.kind == CLI_DATA_LISTOPS) {
        KERN_TRY(measure_answers(job, true, &job->greedy, err));
        KERN_TRY(measure_answers(job, false, &job->sampled, err));
    }
    return KERN_OK;
}

/* ---- Printing ---------------------------------------------------------------------------- */

static double share(size_t part, size_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static void add_accuracy(cli_json *json, const eval_job *job)
{
    cJSON *accuracy = cli_json_child(json, json->object, "accuracy");
    cli_json_real(json, accuracy, "greedy", job->greedy.accuracy);
    cli_json_real(json, accuracy, "sampled", job->sampled.accuracy);
    cli_json_real(json, accuracy, "chance", MODEL_SCORE_CHANCE);
    cli_json_size(json, accuracy, "n", job->greedy.n);
    if (job->judged) {
        cJSON *valid = cli_json_child(json, json->object, "valid_chains");
        cli_json_real(json, valid, "greedy", share(job->greedy.valid, job->greedy.n));
        cli_json_real(json, valid, "sampled", share(job->sampled.valid, job->sampled.n));
    }
}

static kern_status print_json(const eval_job *job, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_json_real(&json, json.object, "val_loss", job->loss.loss);
    cli_json_real(&json, json.object, "perplexity", job->loss.perplexity);
    cli_json_size(&json, json.object, "n", job->loss.n);
    cli_json_text(&json, json.object, "part", part_words[job->s->part]);
    if (job->data.kind == CLI_DATA_LISTOPS) {
        add_accuracy(&json, job);
    }
    return cli_json_print(&json, err);
}

static void print_answers(const char *what, const model_accuracy *a, bool judged)
{
    (void)printf("%-9s %.4f  %zu of %zu answers right", what, a->accuracy, a->correct, a->n);
    if (judged) {
        (void)printf(", every step right in %zu", a->valid);
    }
    (void)printf("\n");
}

static void print_text(const eval_job *job)
{
    const model_loss *loss = &job->loss;
    if (loss->n > 0) {
        (void)printf("loss       %.6f nats per token (%s, %zu tokens)\nperplexity %.4f\n",
                     loss->loss, part_words[job->s->part], loss->n, loss->perplexity);
    } else {
        (void)printf("loss       not measured: there is no text beside the test prompts\n");
    }
    if (job->data.kind == CLI_DATA_LISTOPS) {
        (void)printf("\naccuracy\n");
        print_answers("  greedy", &job->greedy, job->judged);
        print_answers("  sampled", &job->sampled, job->judged);
        (void)printf("%-9s %.4f  guessing one digit of ten\n", "  chance", MODEL_SCORE_CHANCE);
    }
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    eval_job job = {.s = settings};
    (void)call;
    kern_status status = measure(&job, err);
    if (status == KERN_OK && job.s->json) {
        status = print_json(&job, err);
    } else if (status == KERN_OK) {
        print_text(&job);
    }
    cli_data_fini(&job.data);
    cli_run_fini(&job.run);
    free(job.spec);
    return status;
}

const cli_command cli_eval = {
    .name = "eval",
    .purpose = "loss of a model and, for ListOps, the share of right answers",
    .description =
        "Measures the loss over a part of the data, every token once, and for ListOps the share of "
        "test prompts that the model answers rightly, once greedily and once sampled at "
        "temperature 1.",
    .example = "basin eval run --data listops:generate --seed 2",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(eval_settings),
    .defaults = defaults,
    .run = run,
};
