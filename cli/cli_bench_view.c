/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_bench_view.h"

#include "cli/cli_bench_median.h"
#include "cli/cli_view.h"
#include "viz/view/view_headless.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 1280, HEIGHT = 800, SETUP = 2, TURNS = 4 };

/* The last token is drawn, along twice the steps of training. */
#define MODEL  VIEW_BUNDLED
#define PROMPT "max_10 ( 2 9 3 ) ="

typedef struct work {
    const char *name;
    const char *setup[SETUP]; /* commands before, from the settings at the start */
    const char *move[2];      /* what is timed, in turn: there and back */
    bool anew;                /* no step was shown before as it is now */
} work;

static const work works[] = {
    {"window scrub, field held", {"follow off"}, {"step 5", "step 6"}, false},
    {"window scrub, other tokens drawn", {"also 2,3,4,5"}, {"step 5", "step 6"}, false},
    {"window scrub, field follows", {"follow on"}, {"step 5", "step 6"}, false},
    {"window scrub, field follows, ghost", {"follow on", "ghost on"}, {"step 5", "step 6"}, false},
    {"window scrub, field follows, new steps", {"follow on"}, {"step 5", "step 6"}, true},
    {"window scrub, ghost, new steps", {"follow on", "ghost on"}, {"step 5", "step 6"}, true},
    {"window turn of the surface", {"mode surface"}, {"azimuth -0.6", "azimuth -0.5"}, false},
};

static bool is_wanted(const work *w, const char *only)
{
    return only == NULL || strncmp(w->name, only, strlen(only)) == 0;
}

bool cli_bench_view_has(const char *only)
{
    bool found = false;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        found = found || is_wanted(&works[i], only);
    }
    return found;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static kern_status open_view(view **out, int threads, kern_error *err)
{
    view_options o = {.workers = threads};
    char *assets = NULL;
    KERN_TRY(cli_view_find_assets(&assets, NULL, err));
    view_settings_defaults(&o.settings);
    o.assets = assets;
    (void)snprintf(o.settings.prompt, sizeof o.settings.prompt, PROMPT);
    kern_status status = assets != NULL
                             ? view_create(out, &o, err)
                             : kern_raise(err, KERN_NOT_FOUND,
                                          "the bundled models are not where they should be; "
                                          "the environment variable BASIN_ASSETS names "
                                          "their folder");
    free(assets);
    return status;
}

static kern_status prepare(view *v, const work *w, kern_error *err)
{
    KERN_TRY(view_do(v, "reset", err));
    KERN_TRY(view_do(v, "token 6", err));
    for (size_t i = 0; i < SETUP && w->setup[i] != NULL; i++) {
        KERN_TRY(view_do(v, w->setup[i], err));
    }
    view_settle(v);
    return KERN_OK;
}

static void report(const cli_bench_viz_job *job, cli_json *json, cJSON *rows, const work *w,
                   double wall_ms, double cpu_ms)
{
    cJSON *row = cli_json_child(json, rows, NULL);
    cli_json_text(json, row, "name", w->name);
    cli_json_real(json, row, "wall_ms", wall_ms);
    cli_json_real(json, row, "cpu_ms", cpu_ms);
    cli_json_size(json, row, "rounds", job->rounds);
    if (!job->json) {
        (void)printf("%-48s %10.2f %10.2f\n", w->name, wall_ms, cpu_ms);
        (void)fflush(stdout);
    }
}

static kern_status show(view *v, const char *line, cairo_surface_t *image, kern_error *err)
{
    KERN_TRY(view_do(v, line, err));
    KERN_TRY(view_headless_frame(v, image, err));
    view_settle(v);
    return view_headless_frame(v, image, err);
}

/* Moves there and back are not timed at first: what a frame keeps is there then. Both steps are
 * shown in one theme before the other comes, so that neither was shown in it when that changes. */
static kern_status measure(const cli_bench_viz_job *job, view *v, cairo_surface_t *image,
                           const work *w, double *wall, double *cpu, kern_error *err)
{
    static const char *const themes[TURNS] = {"dark on", "", "dark off", ""};
    KERN_TRY(prepare(v, w, err));
    for (size_t i = 0; i < job->rounds + 2; i++) {
        const size_t at = i < 2 ? 0 : i - 2;
        const char *theme = themes[i % TURNS];
        if (w->anew && theme[0] != '\0') {
            KERN_TRY(show(v, theme, image, err));
        }
        wall[at] = -seconds(CLOCK_MONOTONIC);
        cpu[at] = -seconds(CLOCK_THREAD_CPUTIME_ID);
        KERN_TRY(view_do(v, w->move[i % 2], err));
        KERN_TRY(view_headless_frame(v, image, err));
        wall[at] += seconds(CLOCK_MONOTONIC);
        cpu[at] += seconds(CLOCK_THREAD_CPUTIME_ID);
        view_settle(v);
        KERN_TRY(view_headless_frame(v, image, err));
    }
    return KERN_OK;
}

kern_status cli_bench_view(const cli_bench_viz_job *job, cli_json *json, cJSON *rows,
                           kern_error *err)
{
    double wall[CLI_BENCH_ROUNDS];
    double cpu[CLI_BENCH_ROUNDS];
    view *v = NULL;
    cairo_surface_t *image = NULL;
    if (!cli_bench_view_has(job->only)) {
        return KERN_OK;
    }
    if (!job->json) {
        (void)printf("%-48s %10s %10s\n", "a frame, 1280 x 800, bundled " MODEL, "ms wall",
                     "ms cpu");
    }
    kern_status status = open_view(&v, job->threads, err);
    status = status == KERN_OK ? view_headless_draw(v, WIDTH, HEIGHT, &image, err) : status;
    for (size_t i = 0; status == KERN_OK && i < sizeof works / sizeof *works; i++) {
        if (is_wanted(&works[i], job->only)) {
            status = measure(job, v, image, &works[i], wall, cpu, err);
            if (status == KERN_OK) {
                report(job, json, rows, &works[i], 1e3 * cli_bench_median(wall, job->rounds),
                       1e3 * cli_bench_median(cpu, job->rounds));
            }
        }
    }
    cairo_surface_destroy(image); /* which ignores NULL */
    view_destroy(v);
    return status;
}
