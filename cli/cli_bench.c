/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin bench: throughput beside the machine's own limit. Every case runs in a process of its own,
 * so that its memory is its own.
 */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_bench_cem_print.h"
#include "cli/cli_bench_dyn.h"
#include "cli/cli_bench_products.h"
#include "cli/cli_bench_train.h"
#include "cli/cli_bench_viz.h"
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_signal.h"
#include "kernels/kern_parallel.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct bench_settings {
    const char *name; /* "train" */
    const char *only; /* one case, or NULL */
    const char *model;
    int threads;
    size_t rounds;
    double seconds;
    bool profile;
    bool json;
    cli_bench_cem_sizes cem;
} bench_settings;

static void defaults(void *settings)
{
    bench_settings *s = settings;
    s->name = "train";
    s->threads = kern_parallel_processors();
    s->rounds = 9;
    s->seconds = 0.7;
    s->cem = cli_bench_cem_default();
}

static kern_status parse_diag(void *member, const char *value, kern_error *err)
{
    return model_diag_parse(member, value, err);
}

static void show_diag(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", model_diag_word(*(const model_diag *)member));
}

/* A size of the layer of cem. */
#define CEM_SIZE(option, member, least, most, what)                                                \
    {                                                                                              \
        .name = (option), .value = "N", .kind = CLI_SIZE, .low = (least), .high = (most),          \
        .offset = offsetof(bench_settings, cem.member), .help = (what)                             \
    }

static const cli_option options[] = {
    {.name = "NAME",
     .kind = CLI_TEXT,
     .positional = true,
     .offset = offsetof(bench_settings, name),
     .help = "what to measure: train, products (matrix products at the sizes of train), dyn "
             "(analyses of a model's block as a map), cem (a layer of several steps), or viz "
             "(energies on planes)"},
    {.name = "case",
     .value = "NAME",
     .kind = CLI_TEXT,
     .hide_default = true,
     .offset = offsetof(bench_settings, only),
     .help = "one case of train or dyn instead of all, such as listops-ff2w; for viz, rows whose "
             "names begin so"},
    {.name = "model",
     .value = "RUN",
     .kind = CLI_TEXT,
     .hide_default = true,
     .offset = offsetof(bench_settings, model),
     .help = "folder of a trained model for dyn (default: NRGPT of width 64, random weights)"},
    {.name = "rounds",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 101,
     .offset = offsetof(bench_settings, rounds),
     .help = "rounds per case, of which medians are reported"},
    {.name = "seconds",
     .value = "S",
     .kind = CLI_REAL,
     .low = 0.01,
     .high = 600,
     .offset = offsetof(bench_settings, seconds),
     .help = "length of a round in seconds of wall time"},
    {.name = "profile",
     .kind = CLI_FLAG,
     .offset = offsetof(bench_settings, profile),
     .help = "also report the time spent in each operation (train and cem)"},
    {.kind = CLI_HEADING, .help = "The layer of cem"},
    CEM_SIZE("width", width, 1, 65536, "width D"),
    CEM_SIZE("hidden", hidden, 1, 262144, "width F of the feed-forward part"),
    CEM_SIZE("heads", heads, 1, 4096, "heads H"),
    CEM_SIZE("window", window, 1, 65536, "tokens N of a sequence"),
    CEM_SIZE("batch", batch, 1, 4096, "sequences of a pass"),
    CEM_SIZE("steps", steps, 2, 64,
             "steps T of each sub-layer, compared with as many layers of one"),
    {.name = "diag",
     .value = "WORD",
     .kind = CLI_WORD,
     .parse = parse_diag,
     .show = show_diag,
     .offset = offsetof(bench_settings, cem.diag),
     .help = "diagonal of the interaction: shared, none or per_head"},
    {.kind = CLI_HEADING, .help = "Running"},
    CLI_OPTION_THREADS(bench_settings),
    CLI_OPTION_JSON(bench_settings),
};

/* Reads exactly `size` bytes unless the other end is gone. */
static bool read_all(int from, void *data, size_t size)
{
    unsigned char *at = data;
    while (size > 0) {
        const ssize_t n = read(from, at, size);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void write_all(int to, const void *data, size_t size)
{
    const unsigned char *at = data;
    while (size > 0) {
        const ssize_t n = write(to, at, size);
        if (n < 0 && errno != EINTR) {
            return;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
}

/* What a child process computes: `result`, plain numbers, from `job`. */
typedef void bench_work(const void *job, void *result);

/* Runs `work` in a child process. The parent has used no threads yet, so forking is safe. */
static kern_status run_apart(const char *name, bench_work *work, const void *job, void *result,
                             size_t size, kern_error *err)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return kern_raise(err, KERN_IO, "no pipe for case %s (%s)", name, strerror(errno));
    }
    (void)fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        work(job, result);
        write_all(ends[1], result, size);
        _exit(0);
    }
    (void)close(ends[1]);
    const bool complete = child > 0 && read_all(ends[0], result, size);
    (void)close(ends[0]);
    if (child > 0) {
        (void)waitpid(child, NULL, 0);
    }
    if (!complete) {
        return kern_raise(err, KERN_NO_MEMORY, "case %s ended early; its memory may be too large",
                          name);
    }
    return KERN_OK;
}

static kern_status judge(const char *name, kern_status status, const char *text, kern_error *err)
{
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "case %s: %s", name, text);
}

/* ---- train ---------------------------------------------------------------------------------- */

typedef struct train_job {
    const cli_bench_case *bench;
    const bench_settings *s;
} train_job;

static void work_train(const void *job, void *result)
{
    const train_job *t = job;
    cli_bench_train_run(t->bench, t->s->threads, t->s->rounds, t->s->seconds, t->s->profile,
                        result);
}

static void print_profile(const kern_profile *profile)
{
    static const char *const phases[] = {"forward", "vjp", "jvp"};
    double total = 0;
    for (size_t op = 0; op < KERN_OP_COUNT; op++) {
        for (size_t phase = 0; phase < 3; phase++) {
            total += profile->seconds[op][phase];
        }
    }
    for (size_t op = 0; op < KERN_OP_COUNT; op++) {
        for (size_t phase = 0; phase < 3; phase++) {
            const size_t calls = profile->calls[op][phase];
            if (calls > 0) {
                (void)printf("  %-14s %-8s %6.2f %%  %10.2f us a call\n",
                             kern_op_get((kern_op_id)op)->name, phases[phase],
                             100.0 * profile->seconds[op][phase] / total,
                             1e6 * profile->seconds[op][phase] / (double)calls);
            }
        }
    }
}

static void json_row(cli_json *json, cJSON *rows, const cli_bench_case *bench,
                     const cli_bench_result *r)
{
    cJSON *row = cli_json_child(json, rows, NULL);
    cli_json_text(json, row, "name", bench->name);
    cli_json_real(json, row, "tokens_per_s", r->tokens_per_s);
    cli_json_real(json, row, "fraction_of_peak", r->fraction_of_peak);
    cli_json_real(json, row, "peak_gflops", r->peak_gflops);
    cli_json_real(json, row, "max_rss_mb", r->max_rss_mb);
    cli_json_real(json, row, "mflop_per_token", r->mflop_per_token);
    cli_json_size(json, row, "rounds", r->rounds);
}

static void text_row(const cli_bench_case *bench, const cli_bench_result *r, bool profile)
{
    (void)printf("%-18s %10.4g %8.1f %% %10.1f %10.0f %12.3f\n", bench->name, r->tokens_per_s,
                 100.0 * r->fraction_of_peak, r->peak_gflops, r->max_rss_mb, r->mflop_per_token);
    if (profile) {
        print_profile(&r->profile);
    }
    (void)fflush(stdout);
}

static kern_status check_case(const bench_settings *s, kern_error *err)
{
    size_t count;
    const cli_bench_case *cases = cli_bench_train_cases(&count);
    for (size_t i = 0; i < count; i++) {
        if (s->only == NULL || strcmp(s->only, cases[i].name) == 0) {
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "--case is \"%s\"; accepted are %s, %s, %s, %s, %s and %s", s->only,
                      cases[0].name, cases[1].name, cases[2].name, cases[3].name, cases[4].name,
                      cases[5].name);
}

static kern_status bench_train(const bench_settings *s, cli_json *json, cJSON *rows,
                               kern_error *err)
{
    size_t count;
    const cli_bench_case *cases = cli_bench_train_cases(&count);
    KERN_TRY(check_case(s, err));
    if (!s->json) {
        (void)printf("%-18s %10s %10s %10s %10s %12s\n", "case", "tokens/s", "of peak", "GFLOP/s",
                     "MB", "MFLOP/token");
    }
    for (size_t i = 0; i < count; i++) {
        cli_bench_result result;
        if (s->only != NULL && strcmp(s->only, cases[i].name) != 0) {
            continue;
        }
        const train_job job = {&cases[i], s};
        KERN_TRY(run_apart(cases[i].name, work_train, &job, &result, sizeof result, err));
        KERN_TRY(judge(cases[i].name, result.status, result.text, err));
        json_row(json, rows, &cases[i], &result);
        if (!s->json) {
            text_row(&cases[i], &result, s->profile);
        }
    }
    return KERN_OK;
}

/* ---- dyn ------------------------------------------------------------------------------------ */

typedef struct dyn_job {
    const cli_bench_dyn_case *bench;
    cli_bench_dyn_job how;
} dyn_job;

static void work_dyn(const void *job, void *result)
{
    const dyn_job *d = job;
    cli_bench_dyn_run(d->bench, &d->how, result);
}

static void dyn_json_row(cli_json *json, cJSON *rows, const cli_bench_dyn_case *bench,
                         const cli_bench_dyn_result *r)
{
    cJSON *row = cli_json_child(json, rows, NULL);
    cli_json_text(json, row, "name", cli_bench_dyn_name(bench));
    cli_json_real(json, row, "rate", r->rate);
    cli_json_text(json, row, "unit", cli_bench_dyn_unit(bench));
    cli_json_real(json, row, "seconds", 1.0 / r->rate);
    cli_json_real(json, row, "fraction", r->fraction);
    if (cli_bench_dyn_reference(bench) != NULL) {
        cli_json_text(json, row, "fraction_of", cli_bench_dyn_reference(bench));
    }
    cli_json_real(json, row, "us_per_token", r->us_per_token);
    if (r->checked) {
        cli_json_bool(json, row, "identical", r->identical);
    } else {
        cli_json_null(json, row, "identical");
    }
    cli_json_real(json, row, "max_rss_mb", r->max_rss_mb);
    cli_json_size(json, row, "rounds", r->rounds);
}

static void dyn_text_row(const cli_bench_dyn_case *bench, const cli_bench_dyn_result *r)
{
    const char *reference = cli_bench_dyn_reference(bench);
    char text[32] = "";
    if (!isnan(r->us_per_token)) {
        (void)snprintf(text, sizeof text, "%.1f us a token", r->us_per_token);
    } else if (reference != NULL) {
        (void)snprintf(text, sizeof text, "%.2f of %s", r->fraction, reference);
    }
    (void)printf("%-18s %11.4g %-14s %10.4g %8.0f %-10s %s\n", cli_bench_dyn_name(bench), r->rate,
                 cli_bench_dyn_unit(bench), 1e3 / r->rate, r->max_rss_mb,
                 !r->checked    ? ""
                 : r->identical ? "identical"
                                : "DIFFERENT",
                 text);
    (void)fflush(stdout);
}

static kern_status check_dyn_case(const bench_settings *s, kern_error *err)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < cli_bench_dyn_count() && used < sizeof names; i++) {
        const char *name = cli_bench_dyn_name(cli_bench_dyn_at(i));
        if (s->only == NULL || strcmp(s->only, name) == 0) {
            return KERN_OK;
        }
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", name);
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "--case is \"%s\"; accepted are %s", s->only,
                      names);
}

static kern_status bench_dyn(const bench_settings *s, cli_json *json, cJSON *rows, kern_error *err)
{
    KERN_TRY(check_dyn_case(s, err));
    if (!s->json) {
        (void)printf("%-18s %11s %-14s %10s %8s %-10s\n", "case", "per second", "unit", "ms each",
                     "MB", "threads");
    }
    for (size_t i = 0; i < cli_bench_dyn_count(); i++) {
        const cli_bench_dyn_case *bench = cli_bench_dyn_at(i);
        const char *name = cli_bench_dyn_name(bench);
        const dyn_job job = {bench, {s->model, s->threads, s->rounds, s->seconds}};
        cli_bench_dyn_result result;
        if (s->only != NULL && strcmp(s->only, name) != 0) {
            continue;
        }
        KERN_TRY(run_apart(name, work_dyn, &job, &result, sizeof result, err));
        KERN_TRY(judge(name, result.status, result.text, err));
        dyn_json_row(json, rows, bench, &result);
        if (!s->json) {
            dyn_text_row(bench, &result);
        }
    }
    return KERN_OK;
}

/* ---- products ------------------------------------------------------------------------------- */

static kern_status bench_products(const bench_settings *s, cli_json *json, cJSON *rows,
                                  kern_error *err)
{
    size_t count;
    const cli_bench_product *products = cli_bench_products(&count);
    if (!s->json) {
        (void)printf("%-22s %6s %6s %6s %10s %10s\n", "product", "m", "n", "k", "GFLOP/s",
                     "of peak");
    }
    for (size_t i = 0; i < count; i++) {
        const cli_bench_product *p = &products[i];
        cli_bench_rate rate;
        KERN_TRY(cli_bench_product_run(p, s->threads, s->rounds, &rate, err));
        cJSON *row = cli_json_child(json, rows, NULL);
        cli_json_text(json, row, "name", p->name);
        cli_json_real(json, row, "gflops", rate.gflops);
        cli_json_real(json, row, "fraction_of_peak", rate.fraction_of_peak);
        cli_json_real(json, row, "peak_gflops", rate.peak_gflops);
        if (!s->json) {
            (void)printf("%-22s %6zu %6zu %6zu %10.1f %8.1f %%\n", p->name, p->m, p->n, p->k,
                         rate.gflops, 100.0 * rate.fraction_of_peak);
        }
    }
    return KERN_OK;
}

/* ---- cem ------------------------------------------------------------------------------------ */

static void work_cem(const void *job, void *result)
{
    cli_bench_cem_run(job, result);
}

static kern_status bench_cem(const bench_settings *s, cli_json *json, cJSON *rows, kern_error *err)
{
    const cli_bench_cem_job job = {s->cem, s->threads, s->rounds, s->seconds, s->profile};
    cli_bench_cem_result result;
    KERN_TRY(run_apart("cem", work_cem, &job, &result, sizeof result, err));
    KERN_TRY(judge("cem", result.status, result.text, err));
    cli_bench_cem_json(json, rows, &job, &result);
    if (!s->json) {
        cli_bench_cem_print(&job, &result);
    }
    return KERN_OK;
}

static kern_status bench_viz(const bench_settings *s, cli_json *json, cJSON *rows, kern_error *err)
{
    return cli_bench_viz(&(cli_bench_viz_job){s->threads, s->rounds, s->json, s->only}, json, rows,
                         err);
}

/* What NAME may be. */
static const struct {
    const char *name;
    kern_status (*run)(const bench_settings *s, cli_json *json, cJSON *rows, kern_error *err);
} benches[] = {
    {"train", bench_train}, {"products", bench_products}, {"dyn", bench_dyn},
    {"cem", bench_cem},     {"viz", bench_viz},
};

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const bench_settings *s = settings;
    (void)call;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        cli_json json;
        if (strcmp(s->name, benches[i].name) != 0) {
            continue;
        }
        cli_signal_watch();
        cli_json_init(&json);
        const kern_status status =
            benches[i].run(s, &json, cli_json_array(&json, json.object, "rows"), err);
        if (status == KERN_OK && s->json) {
            return cli_json_print(&json, err);
        }
        cli_json_fini(&json);
        return status;
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "NAME is \"%s\"; accepted are train, products, dyn, cem and viz", s->name);
}

const cli_command cli_bench = {
    .name = "bench",
    .purpose = "measures throughput beside the machine's own limit",
    .description =
        "train: trains NRGPT models of fixed sizes on random tokens. Rates are medians over "
        "rounds; the "
        "fraction of peak compares the floating-point operations that causal training needs with "
        "the single-precision multiply-adds that the same threads reach in registers, measured "
        "before each round; the largest counts. dyn: steps, products by the Jacobian, exponents, "
        "multipliers and scans on a model's block as a map, each beside the plain steps, or the "
        "one "
        "thread, that take turns with it. cem: forward pass and training step of one CEM layer "
        "alone, T steps against T layers of one step, as fractions of the same peak, in wall and "
        "in processor time, and the numbers kept for the backward pass. A training step there "
        "computes activations again, and all operations that it executes count: with M(T) = "
        "(1 + 2T)(D^2 + DF) + T D (N + 1) multiply-adds a token forward (attention's part twice "
        "with a shared diagonal), 3 M(T) + (1 + T)(D^2 + DF) + T D (N + 1) of them. Close other "
        "programs first.",
    .example =
        "basin bench train --case listops-ff2w\nbasin bench dyn\nbasin bench cem --threads 1",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(bench_settings),
    .defaults = defaults,
    .run = run,
};
