/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_bench_viz.h"

#include "cli/cli_bench_median.h"
#include "cli/cli_bench_view.h"
#include "dyn/dyn_plane_kinds.h"
#include "dyn/dyn_slice.h"
#include "models/model_attention.h"
#include "models/model_dynamics.h"
#include "models/model_slice.h"
#include "viz/view/view_measure.h"
#include "viz/view/view_orbit.h"
#include "viz/viz_contour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOKENS = 64, WIDTH = 256, HEADS = 8, VOCAB = 20, FINEST = DYN_SLICE_LEVELS - 1, LINES = 12 };

/* Of the orbit strip: columns, and steps to settle. */
enum { STRIP = 2, SETTLE = 200 };

/* Half the width of the plane: radians on the token's sphere. */
#define REACH 1.2

typedef struct bench {
    const cli_bench_viz_job *job;
    cli_json *json;
    cJSON *rows;
    const char *family; /* of the rows' names */
    model *m;
    double *centre;
    dyn_plane *plane;
    model_slice *slice; /* as the last call left it */
    dyn_slice_field field;
    view_subject subject; /* of the analyses, as is the landscape: what they ask of them */
    view_landscape landscape;
} bench;

typedef kern_status analysis(bench *b, kern_error *err);

/* What one row does once. */
typedef struct work {
    const char *name;
    bool plane;   /* reduces the plane anew */
    size_t level; /* of the field; DYN_SLICE_LEVELS: none */
    bool single;
    bool contours;
    analysis *run; /* what is done beside; may be NULL */
} work;

static kern_status measure_place(bench *b, kern_error *err)
{
    view_measure m;
    (void)err;
    b->landscape.source = model_slice_source(b->slice, false);
    view_measure_at(&m, &b->landscape, 0, 0.3, -0.2);
    return KERN_OK;
}

/* Whom all tokens attend to, at one state. */
static kern_status find_attention(bench *b, kern_error *err)
{
    double *means = malloc((size_t)TOKENS * TOKENS * sizeof *means);
    if (means == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the weights of %d tokens", TOKENS);
    }
    model_attention_means(b->subject.map, b->centre, means);
    free(means);
    return KERN_OK;
}

static kern_status find_landmarks(bench *b, kern_error *err)
{
    view_landmarks m;
    return view_landmarks_find(&m, &b->landscape, NULL, NULL, err);
}

static kern_status draw_strip(bench *b, kern_error *err)
{
    view_orbit *orbit = NULL;
    const view_orbit_options o = {
        .from = 0.5, .to = 2.0, .columns = STRIP, .settle = SETTLE, .workers = b->job->threads};
    const kern_status status = view_orbit_create(&orbit, &b->landscape, &o, err);
    view_orbit_destroy(orbit);
    return status;
}

static const work works[] = {
    {"plane", true, DYN_SLICE_LEVELS, true, false, NULL},
    {"first pixels (plane, 32x20 f32)", true, 0, true, false, NULL},
    {"64x40 f32", false, 1, true, false, NULL},
    {"128x80 f32", false, 2, true, false, NULL},
    {"256x160 f32", false, FINEST, true, false, NULL},
    {"256x160 f64", false, FINEST, false, false, NULL},
    {"settled (plane, 256x160 f64, contours)", true, FINEST, false, true, NULL},
    {"measure at a place", false, DYN_SLICE_LEVELS, false, false, measure_place},
    {"attention weights of all tokens", false, DYN_SLICE_LEVELS, false, false, find_attention},
    {"landmarks", false, DYN_SLICE_LEVELS, false, false, find_landmarks},
    {"orbit strip, 2 columns", false, DYN_SLICE_LEVELS, false, false, draw_strip},
};

static kern_status draw_contours(bench *b, kern_error *err)
{
    double levels[LINES];
    viz_contours c;
    const dyn_slice_field *f = &b->field;
    const viz_contour_options o = {
        .levels = levels, .n_levels = viz_contour_round_levels(f->low, f->high, LINES, levels)};
    const viz_lattice lattice = {.nx = f->columns,
                                 .ny = f->rows,
                                 .x0 = f->range.a_low,
                                 .x1 = f->range.a_high,
                                 .y0 = f->range.b_low,
                                 .y1 = f->range.b_high};
    const kern_status status = viz_contours_init(&c, &lattice, f->values, &o, err);
    viz_contours_fini(&c);
    return status;
}

static dyn_slice_range whole_range(void)
{
    return (dyn_slice_range){-REACH, REACH, -0.625 * REACH, 0.625 * REACH};
}

static kern_status do_work(bench *b, const work *w, kern_error *err)
{
    size_t columns;
    size_t rows;
    const dyn_slice_range range = whole_range();
    if (w->plane || b->slice == NULL) {
        model_slice_destroy(b->slice);
        KERN_TRY(model_slice_create(&b->slice, b->m, b->plane, TOKENS - 1, b->job->threads, err));
    }
    if (w->level >= DYN_SLICE_LEVELS) {
        return w->run != NULL ? w->run(b, err) : KERN_OK;
    }
    const dyn_slice_source source = model_slice_source(b->slice, w->single);
    dyn_slice_level(w->level, &columns, &rows);
    dyn_slice_field_fini(&b->field);
    KERN_TRY(dyn_slice_field_init(&b->field, columns, rows, &range, err));
    KERN_TRY(dyn_slice_compute(&b->field, &source, b->job->threads, NULL, NULL, err));
    return w->contours ? draw_contours(b, err) : KERN_OK;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void name_row(const bench *b, const work *w, char name[64])
{
    (void)snprintf(name, 64, "%s %s", b->family, w->name);
}

static bool is_wanted(const bench *b, const work *w)
{
    char name[64];
    name_row(b, w, name);
    return b->job->only == NULL || strncmp(name, b->job->only, strlen(b->job->only)) == 0;
}

static void report(const bench *b, const work *w, double wall_ms, double cpu_ms)
{
    char name[64];
    cJSON *row = cli_json_child(b->json, b->rows, NULL);
    name_row(b, w, name);
    cli_json_text(b->json, row, "name", name);
    cli_json_real(b->json, row, "wall_ms", wall_ms);
    cli_json_real(b->json, row, "cpu_ms", cpu_ms);
    cli_json_size(b->json, row, "rounds", b->job->rounds);
    if (!b->job->json) {
        (void)printf("%-48s %10.2f %10.2f\n", name, wall_ms, cpu_ms);
        (void)fflush(stdout);
    }
}

/* One row: a call that is not timed, then the rounds. */
static kern_status measure(bench *b, const work *w, kern_error *err)
{
    double wall[CLI_BENCH_ROUNDS];
    double cpu[CLI_BENCH_ROUNDS];
    KERN_TRY(do_work(b, w, err));
    for (size_t i = 0; i < b->job->rounds; i++) {
        wall[i] = -seconds(CLOCK_MONOTONIC);
        cpu[i] = -seconds(CLOCK_PROCESS_CPUTIME_ID);
        KERN_TRY(do_work(b, w, err));
        wall[i] += seconds(CLOCK_MONOTONIC);
        cpu[i] += seconds(CLOCK_PROCESS_CPUTIME_ID);
    }
    report(b, w, 1e3 * cli_bench_median(wall, b->job->rounds),
           1e3 * cli_bench_median(cpu, b->job->rounds));
    return KERN_OK;
}

/* ---- What is measured -------------------------------------------------------------------------
 */

/* What the analyses take of a landscape: the model with a prompt, and the plane. */
static void prepare_landscape(bench *b)
{
    b->landscape.subject = &b->subject;
    b->landscape.token = TOKENS - 1;
    b->landscape.plane = b->plane;
    b->landscape.range = whole_range();
    b->landscape.settings.rate = 1.0;
}

/* A prompt at the state after the trained steps. */
static kern_status prepare_subject(bench *b, kern_error *err)
{
    int32_t ids[TOKENS];
    for (int32_t i = 0; i < TOKENS; i++) {
        ids[i] = i % VOCAB;
    }
    KERN_TRY(model_dynamics_create(&b->subject.map, b->m, ids, TOKENS, err));
    b->subject.n = TOKENS;
    b->subject.run.m = b->m;
    b->centre = malloc(b->subject.map->size * sizeof *b->centre);
    if (b->centre == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d tokens", TOKENS);
    }
    model_dynamics_trained_state(b->subject.map, b->centre);
    return KERN_OK;
}

/* A random plane on the last token's sphere. With η = 1 and weights as training begins with, tokens
 * come to rest. */
static kern_status prepare(bench *b, model_ff ff, kern_error *err)
{
    const size_t token = TOKENS - 1;
    model_config c = model_config_default(MODEL_NRGPT);
    c.ff = ff;
    c.n_embed = WIDTH;
    c.n_head = HEADS;
    c.vocab_size = VOCAB;
    c.block_size = TOKENS;
    c.eta = MODEL_ETA_SCALAR;
    c.eta_init = 1.0;
    KERN_TRY(model_create(&b->m, &c, &kern_backend_cpu_f64, err));
    KERN_TRY(model_init_values(b->m, 1, err));
    KERN_TRY(prepare_subject(b, err));
    const dyn_plane_frame frame = {.block_count = TOKENS,
                                   .block_width = WIDTH,
                                   .gauge = DYN_GAUGE_SCALE_SHIFT,
                                   .centre = b->centre,
                                   .movable = &token,
                                   .n_movable = 1,
                                   .chart = DYN_PLANE_SPHERE,
                                   .norm = DYN_PLANE_RELATIVE};
    dyn_plane_recipe recipe = {.seed = 1};
    KERN_TRY(dyn_plane_kind_find(&recipe.kind, "random", err));
    KERN_TRY(dyn_plane_create(&b->plane, &frame, err));
    KERN_TRY(dyn_plane_make(b->plane, &recipe, NULL, err));
    prepare_landscape(b);
    return KERN_OK;
}

static void release(bench *b)
{
    dyn_map_destroy(b->subject.map);
    model_slice_destroy(b->slice);
    dyn_slice_field_fini(&b->field);
    dyn_plane_destroy(b->plane);
    free(b->centre);
    model_destroy(b->m);
}

/* Whether some row of these families has a name that begins as asked for. */
static bool is_any_wanted(const cli_bench_viz_job *job, const model_ff *families, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const bench b = {.job = job, .family = model_ff_word(families[k])};
        for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
            if (is_wanted(&b, &works[i])) {
                return true;
            }
        }
    }
    return false;
}

static kern_status check_only(const cli_bench_viz_job *job, const model_ff *families, size_t n,
                              kern_error *err)
{
    return is_any_wanted(job, families, n) || cli_bench_view_has(job->only)
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT,
                            "--case is \"%s\"; accepted are beginnings of rows' names, such as %s "
                            "and window",
                            job->only, model_ff_word(families[0]));
}

kern_status cli_bench_viz(const cli_bench_viz_job *job, cli_json *json, cJSON *rows,
                          kern_error *err)
{
    static const model_ff families[] = {MODEL_FF1, MODEL_FF2W};
    kern_status status = KERN_OK;
    KERN_TRY(check_only(job, families, sizeof families / sizeof *families, err));
    if (!job->json && is_any_wanted(job, families, sizeof families / sizeof *families)) {
        (void)printf("%-48s %10s %10s\n", "landscape of one token, D = 256, N = 64, H = 8",
                     "ms wall", "ms cpu");
    }
    for (size_t k = 0; status == KERN_OK && k < sizeof families / sizeof *families; k++) {
        bench b = {.job = job, .json = json, .rows = rows, .family = model_ff_word(families[k])};
        if (!is_any_wanted(job, families + k, 1)) {
            continue;
        }
        status = prepare(&b, families[k], err);
        for (size_t i = 0; status == KERN_OK && i < sizeof works / sizeof *works; i++) {
            if (is_wanted(&b, &works[i])) {
                status = measure(&b, &works[i], err);
            }
        }
        release(&b);
    }
    return status == KERN_OK ? cli_bench_view(job, json, rows, err) : status;
}
