/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin landscape: the energy of a token, or of all, on a plane through its states.
 */
#include "cli/cli_landscape.h"

#include "cli/cli_commands.h"
#include "cli/cli_progress.h"
#include "cli/cli_signal.h"
#include "kernels/kern_parallel.h"
#include "models/model_layer_map.h"
#include "viz/viz_export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 100000, COLUMNS_MAX = 4096, LEVELS_MAX = VIZ_CONTOUR_LEVELS_MAX };

/* Width of the map on the page, about, and how far a line may be from its vertices: both in points,
 * the second a fifteenth of a line's width. */
#define MAP_WIDTH      430.0
#define LINE_TOLERANCE 0.04

/* ---- Options --------------------------------------------------------------------------------- */

static kern_status parse_plane(void *member, const char *value, kern_error *err)
{
    return dyn_plane_kind_find(member, value, err);
}

static void show_plane(const void *member, char out[CLI_VALUE_TEXT])
{
    const dyn_plane_kind *const *kind = member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", dyn_plane_kind_name(*kind));
}

/* A word among those that `word` gives for 0, 1, …, or "auto" for −1. */
static kern_status parse_choice(int *member, const char *value, const char *(*word)(int),
                                const char *accepted, kern_error *err)
{
    for (int i = -1; i < 0 || word(i) != NULL; i++) {
        if (strcmp(value, i < 0 ? "auto" : word(i)) == 0) {
            *member = i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "\"%.40s\" is not one of auto, %s", value,
                      accepted);
}

static const char *chart_word(int chart)
{
    return dyn_plane_chart_word((dyn_plane_chart)chart);
}

static const char *norm_word(int norm)
{
    return dyn_plane_norm_word((dyn_plane_norm)norm);
}

static kern_status parse_chart(void *member, const char *value, kern_error *err)
{
    return parse_choice(member, value, chart_word, "flat and sphere", err);
}

static kern_status parse_norm(void *member, const char *value, kern_error *err)
{
    return parse_choice(member, value, norm_word, "euclidean, rms and relative", err);
}

static void show_chart(const void *member, char out[CLI_VALUE_TEXT])
{
    const int chart = *(const int *)member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", chart < 0 ? "auto" : chart_word(chart));
}

static void show_norm(const void *member, char out[CLI_VALUE_TEXT])
{
    const int norm = *(const int *)member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", norm < 0 ? "auto" : norm_word(norm));
}

static kern_status parse_part(void *member, const char *value, kern_error *err)
{
    return model_layer_part_parse(member, value, err);
}

static void show_part(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s",
                   model_layer_part_word(*(const model_layer_part *)member));
}

static void defaults(void *settings)
{
    cli_landscape_settings *s = settings;
    (void)dyn_plane_kind_find(&s->plane, "pca", NULL);
    s->chart = -1;
    s->norm = -1;
    s->columns = 256;
    s->levels = 12;
    s->seed = 1;
    s->threads = kern_parallel_processors();
}

#define PLACE(member) .offset = offsetof(cli_landscape_settings, member)

static const cli_option options[] = {
    CLI_OPTION_RUN(cli_landscape_settings),
    {.name = "prompt",
     .value = "TEXT",
     .kind = CLI_TEXT,
     .required = true,
     PLACE(prompt),
     .help = "text whose tokens are the state"},
    {.name = "token",
     .value = "A",
     .kind = CLI_TEXT,
     .required = true,
     PLACE(token),
     .help = "token whose energy is drawn, from 0, or all for the sum"},
    {.name = "out",
     .value = "F",
     .kind = CLI_TEXT,
     .required = true,
     PLACE(out),
     .help = "figure to write: .pdf, .svg, .png or .csv"},
    {.kind = CLI_HEADING, .help = "The plane"},
    {.name = "plane",
     .value = "P",
     .kind = CLI_WORD,
     PLACE(plane),
     .parse = parse_plane,
     .show = show_plane,
     .help = "random, relative (random, scaled to each token), pca (of the trajectory), points "
             "(first and last state), tokens (--token against --with), gradient (steepest "
             "descent and strongest curvature across), hessian (least and largest curvature), "
             "terms (descents of attention and feed-forward), custom (--axes)"},
    {.name = "chart",
     .value = "C",
     .kind = CLI_WORD,
     PLACE(chart),
     .parse = parse_chart,
     .show = show_chart,
     .help = "flat, sphere (geodesics at fixed length of every token), or auto: sphere behind a "
             "norm, else flat"},
    {.name = "norm",
     .value = "N",
     .kind = CLI_WORD,
     PLACE(norm),
     .parse = parse_norm,
     .show = show_norm,
     .help = "lengths: euclidean, rms, relative (to each token's own, radians on its sphere), or "
             "auto: relative on spheres, else euclidean"},
    {.name = "at",
     .value = "T",
     .kind = CLI_SIZE,
     .high = STEPS_MAX,
     .hide_default = true,
     PLACE(at),
     .help = "step whose state is the centre and where other tokens are held (default: the last "
             "one of training)"},
    {.name = "with",
     .value = "B",
     .kind = CLI_SIZE,
     .high = STEPS_MAX,
     PLACE(with),
     .help = "second token of --plane tokens"},
    {.name = "axes",
     .value = "FILE",
     .kind = CLI_TEXT,
     PLACE(axes),
     .help = "two lines of numbers separated by commas, of the token or of the whole state"},
    {.name = "oblique",
     .kind = CLI_FLAG,
     PLACE(oblique),
     .help = "keep the axes of --plane custom as they are instead of making them orthonormal"},
    {.name = "range",
     .value = "R",
     .kind = CLI_REAL,
     .low = 0,
     .high = 1e6,
     .hide_default = true,
     PLACE(range),
     .help = "half the width around the centre, in lengths of the axes; the height is 5/8 of the "
             "width (default: what the trajectory takes)"},
    CLI_OPTION_SEED(cli_landscape_settings, "seed of random directions"),
    {.kind = CLI_HEADING, .help = "The trajectory"},
    {.name = "steps",
     .value = "T",
     .kind = CLI_SIZE,
     .low = 1,
     .high = STEPS_MAX,
     .hide_default = true,
     PLACE(steps),
     .help = "steps that are drawn (default: twice as many as in training)"},
    {.name = "frozen",
     .kind = CLI_FLAG,
     PLACE(frozen),
     .help = "follow the token alone, with the others held where they are held in the field"},
    {.name = "layer",
     .value = "L",
     .kind = CLI_SIZE,
     .high = STEPS_MAX,
     PLACE(layer),
     .help = "layer of a cem model"},
    {.name = "sublayer",
     .value = "PART",
     .kind = CLI_WORD,
     PLACE(part),
     .parse = parse_part,
     .show = show_part,
     .help = "its part: attn or mlp"},
    {.kind = CLI_HEADING, .help = "The figure"},
    {.name = "columns",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 2,
     .high = COLUMNS_MAX,
     PLACE(columns),
     .help = "samples across; there are 5/8 as many rows"},
    {.name = "levels",
     .value = "N",
     .kind = CLI_SIZE,
     .high = LEVELS_MAX,
     PLACE(levels),
     .help = "contours at most, at round energies; 0 draws none"},
    {.name = "dark", .kind = CLI_FLAG, PLACE(dark), .help = "draw on a dark page"},
    CLI_OPTION_THREADS(cli_landscape_settings),
    CLI_OPTION_JSON(cli_landscape_settings),
};

/* ---- The field ---------------------------------------------------------------------------------
 */

/* What the trajectory and the centre take, with a quarter of air, at least a tenth of the farthest
 * state's distance; the shorter side is widened to 8:5. On spheres nothing lies beyond the
 * antipode.
 */
static dyn_slice_range choose_range(const cli_landscape_job *l)
{
    double box[4] = {0.0, 0.0, 0.0, 0.0};
    double farthest = 0.0;
    const double given = l->s->range;
    if (given > 0.0) {
        return (dyn_slice_range){-given, given, -0.625 * given, 0.625 * given};
    }
    for (size_t t = 0; t < l->n_states; t++) {
        if (isfinite(l->a[t]) && isfinite(l->b[t])) {
            box[0] = fmin(box[0], l->a[t]);
            box[1] = fmax(box[1], l->a[t]);
            box[2] = fmin(box[2], l->b[t]);
            box[3] = fmax(box[3], l->b[t]);
            farthest = fmax(farthest, l->distance[t]);
        }
    }
    const double least = farthest > 0.0 ? 0.1 * farthest : 1.0;
    double half = fmax(fmax(0.5 * (box[1] - box[0]), 0.8 * (box[3] - box[2])) * 1.25, least);
    const double across = 0.5 * (box[0] + box[1]);
    const double up = 0.5 * (box[2] + box[3]);
    return (dyn_slice_range){across - half, across + half, up - 0.625 * half, up + 0.625 * half};
}

static void contour_values(void *context, size_t n, const double *x, const double *y, double *v)
{
    const cli_landscape_job *l = context;
    l->source.energies(l->source.context, 0, n, x, y, v);
}

static kern_status trace_contours(cli_landscape_job *l, kern_error *err)
{
    double levels[LEVELS_MAX];
    const dyn_slice_field *f = &l->field;
    const viz_lattice lattice = {.nx = f->columns,
                                 .ny = f->rows,
                                 .x0 = f->range.a_low,
                                 .x1 = f->range.a_high,
                                 .y0 = f->range.b_low,
                                 .y1 = f->range.b_high};
    const viz_contour_options o = {
        .levels = levels,
        .n_levels =
            l->s->levels > 0 ? viz_contour_round_levels(f->low, f->high, l->s->levels, levels) : 0,
        .values = contour_values,
        .context = l};
    KERN_TRY(viz_contours_init(&l->contours, &lattice, f->values, &o, err));
    const double points = MAP_WIDTH / (lattice.x1 - lattice.x0);
    return viz_contours_simplify(&l->contours, points, points, LINE_TOLERANCE, err);
}

static kern_status compute(cli_landscape_job *l, kern_error *err)
{
    cli_progress progress;
    size_t rows = (5 * l->s->columns + 4) / 8;
    KERN_TRY(cli_landscape_open(l, err));
    const dyn_slice_range range = choose_range(l);
    rows = rows > 1 ? rows : 2;
    KERN_TRY(dyn_slice_field_init(&l->field, l->s->columns, rows, &range, err));
    cli_progress_start(&progress, "row", 0, rows, "samples", (double)l->s->columns);
    const kern_status status =
        dyn_slice_compute(&l->field, &l->source, l->s->threads, cli_run_watch, &progress, err);
    cli_progress_finish(&progress);
    KERN_TRY(status);
    return trace_contours(l, err);
}

static void fini(cli_landscape_job *l)
{
    free(l->session);
    viz_contours_fini(&l->contours);
    dyn_slice_field_fini(&l->field);
    model_slice_destroy(l->slice);
    dyn_slice_map_destroy(l->slice_map);
    dyn_plane_destroy(l->plane);
    free(l->energy);
    free(l->states);
    dyn_map_destroy(l->map);
    free(l->h);
    free(l->ids);
    cli_run_fini(&l->run);
}

/* Options that belong to another one. */
static kern_status check_options(const cli_call *call, const cli_landscape_settings *s,
                                 kern_error *err)
{
    static const struct {
        const char *option;
        const char *plane;
    } owned[] = {{"with", "tokens"}, {"axes", "custom"}, {"oblique", "custom"}};
    const char *plane = dyn_plane_kind_name(s->plane);
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) {
        if (cli_args_given(call, owned[i].option) && strcmp(plane, owned[i].plane) != 0) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "--%s belongs to --plane %s, not to %s",
                              owned[i].option, owned[i].plane, plane);
        }
    }
    if (s->frozen && strcmp(s->token, "all") == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--frozen follows one token with the others held; --token is all");
    }
    return KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const cli_landscape_settings *s = settings;
    kern_error why = {0};
    KERN_TRY(check_options(call, s, err));
    kern_status status = viz_export_check_path(s->out, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--out: %s", why.text);
    }
    cli_landscape_job l = {.s = s, .call = call};
    cli_signal_watch();
    status = compute(&l, err);
    if (status == KERN_OK) {
        status = cli_landscape_report(&l, err);
    }
    fini(&l);
    return status;
}

const cli_command cli_landscape = {
    .name = "landscape",
    .purpose = "draws the energy of a token on a plane through its states",
    .description =
        "Computes the energy of one token (or of all together) on a plane or on a sphere chart "
        "through the states of a prompt, with the weights and all tokens that do not move held "
        "fixed, and draws it with contours that are true to the energy and the trajectory of the "
        "model over it. Each state is drawn at its nearest point of the plane, with its true "
        "energy and how far it is off the plane.",
    .example = "basin landscape run --prompt \"max_10 ( 2 9 3 ) =\" --token 5 --plane pca --out "
               "landscape.pdf",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_landscape_settings),
    .defaults = defaults,
    .run = run,
};
