/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_bench_cem_print.h"

#include <stdio.h>

enum { FORWARD = CLI_BENCH_CEM_FORWARD, TRAIN, PASSES };
enum { ONE = CLI_BENCH_CEM_ONE, MORE, DEPTHS };
enum { WALL = CLI_BENCH_CEM_WALL, CPU, CLOCKS };

static const char *const pass_words[PASSES] = {[FORWARD] = "forward", [TRAIN] = "train"};
static const char *const phase_words[] = {"forward", "vjp", "jvp"};

typedef struct case_name {
    char text[48];
} case_name;

static size_t steps_of(const cli_bench_cem_job *job, int depth)
{
    return depth == ONE ? 1 : job->sizes.steps;
}

static case_name name_of(const cli_bench_cem_job *job, int pass, int depth)
{
    case_name name;
    (void)snprintf(name.text, sizeof name.text, "%s-%zu", pass_words[pass], steps_of(job, depth));
    return name;
}

static double tokens_of(const cli_bench_cem_job *job)
{
    return (double)(job->sizes.batch * job->sizes.window);
}

/* Executed operations of T = steps over those of steps × (T = 1). */
static double flop_ratio(const cli_bench_cem_job *job, const cli_bench_cem_result *r, int pass)
{
    return r->flops[pass][MORE] / ((double)job->sizes.steps * r->flops[pass][ONE]);
}

/* ---- profile -------------------------------------------------------------------------------- */

static double total_seconds(const kern_profile *time)
{
    double total = 0;
    for (size_t op = 0; op < KERN_OP_COUNT; op++) {
        for (size_t phase = 0; phase < 3; phase++) {
            total += time->seconds[op][phase];
        }
    }
    return total;
}

static void print_profile(const cli_bench_cem_profile *p, double peak_gflops)
{
    const double total = total_seconds(&p->time);
    for (size_t op = 0; op < KERN_OP_COUNT; op++) {
        for (size_t phase = 0; phase < 3; phase++) {
            const double seconds = p->time.seconds[op][phase];
            const double gflops = p->flops[op][phase] / seconds / 1e9;
            if (p->time.calls[op][phase] == 0) {
                continue;
            }
            (void)printf("  %-14s %-8s %6.2f %%", kern_op_get((kern_op_id)op)->name,
                         phase_words[phase], 100.0 * seconds / total);
            if (p->flops[op][phase] > 0.0) {
                (void)printf("  %8.1f GFLOP/s %6.1f %% of peak", gflops,
                             100.0 * gflops / peak_gflops);
            }
            (void)printf("\n");
        }
    }
}

static void json_profile(cli_json *json, cJSON *row, const cli_bench_cem_profile *p)
{
    cJSON *list = cli_json_array(json, row, "profile");
    const double total = total_seconds(&p->time);
    for (size_t op = 0; op < KERN_OP_COUNT; op++) {
        for (size_t phase = 0; phase < 3; phase++) {
            if (p->time.calls[op][phase] == 0) {
                continue;
            }
            cJSON *entry = cli_json_child(json, list, NULL);
            cli_json_text(json, entry, "op", kern_op_get((kern_op_id)op)->name);
            cli_json_text(json, entry, "phase", phase_words[phase]);
            cli_json_real(json, entry, "share", p->time.seconds[op][phase] / total);
            cli_json_real(json, entry, "gflops",
                          p->flops[op][phase] / p->time.seconds[op][phase] / 1e9);
        }
    }
}

/* ---- tables --------------------------------------------------------------------------------- */

static void print_case(const cli_bench_cem_job *job, const cli_bench_cem_result *r, int pass,
                       int depth)
{
    const cli_bench_cem_clock *wall = &r->clocks[WALL];
    const cli_bench_cem_clock *cpu = &r->clocks[CPU];
    (void)printf("%-12s %14.3f %10.2f %10.2f %9.1f %% %9.1f %%\n", name_of(job, pass, depth).text,
                 r->flops[pass][depth] / 1e6, 1e3 * wall->seconds[pass][depth],
                 1e3 * cpu->seconds[pass][depth], 100.0 * wall->fraction[pass][depth],
                 100.0 * cpu->fraction[pass][depth]);
    if (job->profile) {
        print_profile(&r->profile[pass][depth], cpu->peak_gflops);
    }
}

static void print_memory(const cli_bench_cem_job *job, const cli_bench_cem_result *r)
{
    (void)printf("\nnumbers kept per token for the backward pass (bound of a step: D + 2H = %zu)\n"
                 "%-12s %14s %22s %22s\n",
                 job->sizes.width + 2 * job->sizes.heads, "T", "in all", "step T + 1, attention",
                 "feed-forward");
    for (size_t i = 0; i < r->slots; i++) {
        (void)printf("%-12zu %14.1f %22.1f %22.1f\n", i + 1, r->kept[i], r->attn_step[i],
                     r->mlp_step[i]);
    }
}

void cli_bench_cem_print(const cli_bench_cem_job *job, const cli_bench_cem_result *r)
{
    const cli_bench_cem_sizes *s = &job->sizes;
    (void)printf("one CEM layer: D = %zu, F = %zu, H = %zu, N = %zu, batch %zu, diagonal %s, "
                 "%d thread%s, %zu rounds\n"
                 "peak: %.1f GFLOP/s of wall time, %.1f of processor time; %.0f MB\n\n"
                 "%-12s %14s %10s %10s %11s %11s\n",
                 s->width, s->hidden, s->heads, s->window, s->batch, model_diag_word(s->diag),
                 job->threads, job->threads == 1 ? "" : "s", r->rounds, r->clocks[WALL].peak_gflops,
                 r->clocks[CPU].peak_gflops, r->max_rss_mb, "case", "MFLOP/token", "ms", "ms CPU",
                 "of peak", "CPU");
    for (int pass = 0; pass < PASSES; pass++) {
        for (int depth = 0; depth < DEPTHS; depth++) {
            print_case(job, r, pass, depth);
        }
    }
    (void)printf("\nT = %zu over %zu x (T = 1)%12s %10s %10s\n", s->steps, s->steps, "FLOP", "time",
                 "CPU time");
    for (int pass = 0; pass < PASSES; pass++) {
        (void)printf("%-24s %10.3f %10.3f %10.3f\n", pass_words[pass], flop_ratio(job, r, pass),
                     r->clocks[WALL].ratio[pass], r->clocks[CPU].ratio[pass]);
    }
    print_memory(job, r);
}

/* ---- json ----------------------------------------------------------------------------------- */

static void json_case(cli_json *json, cJSON *rows, const cli_bench_cem_job *job,
                      const cli_bench_cem_result *r, int pass, int depth)
{
    const cli_bench_cem_clock *wall = &r->clocks[WALL];
    const cli_bench_cem_clock *cpu = &r->clocks[CPU];
    cJSON *row = cli_json_child(json, rows, NULL);
    cli_json_text(json, row, "name", name_of(job, pass, depth).text);
    cli_json_size(json, row, "steps", steps_of(job, depth));
    cli_json_real(json, row, "tokens_per_s", tokens_of(job) / wall->seconds[pass][depth]);
    cli_json_real(json, row, "seconds", wall->seconds[pass][depth]);
    cli_json_real(json, row, "cpu_seconds", cpu->seconds[pass][depth]);
    cli_json_real(json, row, "mflop_per_token", r->flops[pass][depth] / 1e6);
    cli_json_real(json, row, "fraction_of_peak", wall->fraction[pass][depth]);
    cli_json_real(json, row, "cpu_fraction_of_peak", cpu->fraction[pass][depth]);
    cli_json_real(json, row, "peak_gflops", wall->peak_gflops);
    cli_json_real(json, row, "cpu_peak_gflops", cpu->peak_gflops);
    cli_json_real(json, row, "max_rss_mb", r->max_rss_mb);
    cli_json_size(json, row, "rounds", r->rounds);
    if (job->profile) {
        json_profile(json, row, &r->profile[pass][depth]);
    }
}

static void json_sizes(cli_json *json, const cli_bench_cem_job *job)
{
    const cli_bench_cem_sizes *s = &job->sizes;
    cJSON *sizes = cli_json_child(json, json->object, "sizes");
    cli_json_size(json, sizes, "width", s->width);
    cli_json_size(json, sizes, "hidden", s->hidden);
    cli_json_size(json, sizes, "heads", s->heads);
    cli_json_size(json, sizes, "window", s->window);
    cli_json_size(json, sizes, "batch", s->batch);
    cli_json_size(json, sizes, "steps", s->steps);
    cli_json_text(json, sizes, "diag", model_diag_word(s->diag));
    cli_json_size(json, sizes, "threads", (size_t)job->threads);
}

static void json_memory(cli_json *json, const cli_bench_cem_job *job, const cli_bench_cem_result *r)
{
    cJSON *memory = cli_json_child(json, json->object, "memory");
    cli_json_size(json, memory, "bound", job->sizes.width + 2 * job->sizes.heads);
    (void)cli_json_reals(json, memory, "kept", r->kept, r->slots);
    (void)cli_json_reals(json, memory, "attn_step", r->attn_step, r->slots);
    (void)cli_json_reals(json, memory, "mlp_step", r->mlp_step, r->slots);
}

void cli_bench_cem_json(cli_json *json, cJSON *rows, const cli_bench_cem_job *job,
                        const cli_bench_cem_result *r)
{
    cJSON *ratios = cli_json_child(json, json->object, "ratios");
    for (int pass = 0; pass < PASSES; pass++) {
        cJSON *ratio = cli_json_child(json, ratios, pass_words[pass]);
        for (int depth = 0; depth < DEPTHS; depth++) {
            json_case(json, rows, job, r, pass, depth);
        }
        cli_json_real(json, ratio, "flops", flop_ratio(job, r, pass));
        cli_json_real(json, ratio, "time", r->clocks[WALL].ratio[pass]);
        cli_json_real(json, ratio, "cpu_time", r->clocks[CPU].ratio[pass]);
    }
    json_sizes(json, job);
    json_memory(json, job, r);
}
