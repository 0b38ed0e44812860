/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin figure: a figure from a result file, without a window or a display.
 */
#include "cli/cli_figure.h"

#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "models/model_json.h"
#include "viz/viz_export.h"
#include "viz/viz_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COORDINATE_MAX = 1 << 20, NAMES_TEXT = 256 };

#define MM_MIN 25.0
#define MM_MAX 1000.0

static const cli_figure_kind kinds[] = {
    {"basins", "basins of attraction on a plane of starts", "basin basins --out F.h5",
     cli_figure_basins, false},
    {"branches", "branches of fixed points and cycles with their bifurcations",
     "basin continue --json", cli_figure_branches, true},
    {"curves", "bifurcation curves in two parameters", "basin continue --second Q --json",
     cli_figure_curves, true},
    {"energy", "energy of every token against the step", "basin trace --json", cli_figure_energy,
     false},
    {"fixed-points", "fixed points and cycles with their stability", "basin fixed-points --json",
     cli_figure_points, false},
    {"gp", "prediction error on Gaussian processes against the steps of a layer", "basin gp --json",
     cli_figure_gp, false},
    {"listops", "accuracy of trained models against their parameters",
     "scripts/results (summary.csv)", cli_figure_listops, false},
    {"lyapunov", "Lyapunov spectrum with standard errors", "basin lyapunov --json",
     cli_figure_lyapunov, false},
    {"multipliers", "multipliers on the unit circle", "basin multipliers --json",
     cli_figure_multipliers, false},
    {"orbit-diagram", "orbit diagram, with branches when --in gives basin continue --json as well",
     "basin orbit-diagram --json", cli_figure_orbit_diagram, true},
    {"recurrence", "recurrence plot", "basin rqa --out F.pbm", cli_figure_recurrence, false},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct figure_settings {
    const char *name;
    cli_list in;
    const char *out;
    double width_mm, height_mm, dpi, threshold;
    const char *title;
    size_t coordinate, second;
    bool dark, list, json;
    const char *session;
} figure_settings;

static const cli_option options[] = {
    {.name = "NAME",
     .kind = CLI_TEXT,
     .positional = true,
     .offset = offsetof(figure_settings, name),
     .help = "kind of figure; --list tells them"},
    {.kind = CLI_HEADING, .help = "Files"},
    {.name = "in",
     .value = "F",
     .kind = CLI_LIST,
     .offset = offsetof(figure_settings, in),
     .help =
         "file that a subcommand wrote; of orbit-diagram, branches and curves, may be repeated"},
    {.name = "out",
     .value = "F.pdf|svg|png|csv",
     .kind = CLI_TEXT,
     .offset = offsetof(figure_settings, out),
     .help = "figure to write; its name tells the format"},
    {.name = "list",
     .kind = CLI_FLAG,
     .offset = offsetof(figure_settings, list),
     .help = "list the kinds of figures and what they read"},
    {.name = "session",
     .value = "F.pdf|svg|png|csv",
     .kind = CLI_TEXT,
     .offset = offsetof(figure_settings, session),
     .help = "print the session that a figure carries: what it was made from, and how"},
    {.kind = CLI_HEADING, .help = "Appearance"},
    {.name = "width-mm",
     .value = "X",
     .kind = CLI_REAL,
     .low = MM_MIN,
     .high = MM_MAX,
     .hide_default = true,
     .offset = offsetof(figure_settings, width_mm),
     .help = "width, millimetres; a journal's single column is 89, its double one 183 (default: "
             "the kind's own)"},
    {.name = "height-mm",
     .value = "X",
     .kind = CLI_REAL,
     .low = MM_MIN,
     .high = MM_MAX,
     .hide_default = true,
     .offset = offsetof(figure_settings, height_mm),
     .help = "height, millimetres (default: as the content asks)"},
    {.name = "dpi",
     .value = "X",
     .kind = CLI_REAL,
     .low = VIZ_DPI_MIN,
     .high = VIZ_DPI_MAX,
     .offset = offsetof(figure_settings, dpi),
     .help = "resolution of a PNG, dots per inch"},
    {.name = "dark",
     .kind = CLI_FLAG,
     .offset = offsetof(figure_settings, dark),
     .help = "for a dark page"},
    {.name = "title",
     .value = "TEXT",
     .kind = CLI_TEXT,
     .offset = offsetof(figure_settings, title),
     .help = "title (default: the kind's own)"},
    {.kind = CLI_HEADING, .help = "Content"},
    {.name = "coordinate",
     .value = "I",
     .kind = CLI_SIZE,
     .high = COORDINATE_MAX,
     .offset = offsetof(figure_settings, coordinate),
     .help = "coordinate shown by branches and along the first axis of fixed-points, from 0"},
    {.name = "second",
     .value = "I",
     .kind = CLI_SIZE,
     .high = COORDINATE_MAX,
     .offset = offsetof(figure_settings, second),
     .help = "coordinate along the second axis of fixed-points"},
    {.name = "threshold",
     .value = "X",
     .kind = CLI_REAL,
     .high = HUGE_VAL,
     .hide_default = true,
     .accepted = "a number from 0 on",
     .offset = offsetof(figure_settings, threshold),
     .help = "distance that counts as near, told in the note of a recurrence plot"},
    {.kind = CLI_HEADING, .help = "Results"},
    CLI_OPTION_JSON(figure_settings),
};

static void set_defaults(void *settings)
{
    figure_settings *s = settings;
    s->dpi = VIZ_DPI_DEFAULT;
    s->second = 1;
    s->threshold = (double)NAN;
}

static kern_status find_kind(const cli_figure_kind **out, const char *name, kern_error *err)
{
    char names[NAMES_TEXT] = "";
    for (size_t i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            *out = &kinds[i];
            return KERN_OK;
        }
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                       i > 0 ? ", " : "", kinds[i].name);
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "there is no figure \"%s\"; accepted: %s", name,
                      names);
}

static kern_status print_list(bool as_json, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cJSON *list = cli_json_array(&json, json.object, "figures");
    for (size_t i = 0; i < KINDS; i++) {
        cJSON *item = cli_json_child(&json, list, NULL);
        cli_json_text(&json, item, "name", kinds[i].name);
        cli_json_text(&json, item, "purpose", kinds[i].purpose);
        cli_json_text(&json, item, "reads", kinds[i].source);
        if (!as_json) {
            (void)printf("%-14s %s\n%-14s from: %s\n", kinds[i].name, kinds[i].purpose, "",
                         kinds[i].source);
        }
    }
    if (as_json) {
        return cli_json_print(&json, err);
    }
    cli_json_fini(&json);
    return KERN_OK;
}

static kern_status print_session(const char *path, kern_error *err)
{
    char *text = NULL;
    KERN_TRY(viz_session_read(&text, path, err));
    (void)printf("%s\n", text);
    free(text);
    return KERN_OK;
}

static kern_status check(const cli_call *call, const figure_settings *s,
                         const cli_figure_kind **kind, kern_error *err)
{
    if (s->name == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "NAME is missing; basin figure --list tells the kinds of figures");
    }
    KERN_TRY(find_kind(kind, s->name, err));
    if (s->in.n == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--in is missing; %s reads what %s writes",
                          s->name, (*kind)->source);
    }
    if (s->in.n > 1 && !(*kind)->many) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--in is given %zu times; %s reads one file",
                          s->in.n, s->name);
    }
    if (s->out == NULL) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "--out is missing; a name ending in .pdf, .svg, .png or .csv is accepted");
    }
    if (cli_args_given(call, "title") && s->title[0] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--title is empty");
    }
    return viz_export_check_path(s->out, err);
}

/* What the figure was made from and how: enough to make it again. */
static kern_status make_session(char **text, const figure_settings *s, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_json_text(&json, json.object, "command", "basin figure");
    cli_json_text(&json, json.object, "figure", s->name);
    cJSON *in = cli_json_array(&json, json.object, "in");
    for (size_t i = 0; i < s->in.n; i++) {
        cli_json_text(&json, in, NULL, s->in.items[i]);
    }
    cli_json_real(&json, json.object, "width_mm", s->width_mm);
    cli_json_real(&json, json.object, "height_mm", s->height_mm);
    cli_json_bool(&json, json.object, "dark", s->dark);
    cli_json_text(&json, json.object, "title", s->title != NULL ? s->title : "");
    cli_json_size(&json, json.object, "coordinate", s->coordinate);
    cli_json_size(&json, json.object, "second", s->second);
    return cli_json_take(&json, text, err);
}

static kern_status report(const figure_settings *s, const viz_scene *scene, kern_error *err)
{
    if (!s->json) {
        (void)printf("figure: %s (%s, %.0f by %.0f points)\n", s->out, s->name, scene->width,
                     scene->height);
        return KERN_OK;
    }
    cli_json json;
    cli_json_init(&json);
    cli_json_text(&json, json.object, "figure", s->name);
    cli_json_text(&json, json.object, "out", s->out);
    cli_json_real(&json, json.object, "width", scene->width);
    cli_json_real(&json, json.object, "height", scene->height);
    cli_json_size(&json, json.object, "panels", scene->n_panels);
    return cli_json_print(&json, err);
}

static kern_status draw(const figure_settings *s, const cli_figure_kind *kind, kern_error *err)
{
    const cli_figure_request request = {
        .in = &s->in,
        .style = {.width = viz_scene_points(s->width_mm),
                  .height = viz_scene_points(s->height_mm),
                  .theme = s->dark ? VIZ_DARK : VIZ_LIGHT,
                  .title = s->title},
        .coordinate = s->coordinate,
        .second = s->second,
        .threshold = s->threshold,
    };
    viz_scene *scene = NULL;
    char *session = NULL;
    kern_status status = kind->build(&scene, &request, err);
    if (status == KERN_OK) {
        status = make_session(&session, s, err);
    }
    if (status == KERN_OK) {
        const viz_export_options how = {.dpi = s->dpi, .session = session};
        status = viz_export(scene, s->out, &how, err);
    }
    if (status == KERN_OK) {
        status = report(s, scene, err);
    }
    free(session);
    viz_scene_destroy(scene);
    return status;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const figure_settings *s = settings;
    const cli_figure_kind *kind = NULL;
    if (s->list) {
        return print_list(s->json, err);
    }
    if (s->session != NULL) {
        return print_session(s->session, err);
    }
    KERN_TRY(check(call, s, &kind, err));
    return draw(s, kind, err);
}

const cli_command cli_figure = {
    .name = "figure",
    .purpose = "draws a figure from a result file",
    .description = "Draws one of the kinds of figures that --list tells from what another "
                   "subcommand wrote. The same scene serves every format: text stays text in a "
                   "PDF, a CSV holds the numbers. Every file carries how it was made, which "
                   "--session prints.",
    .example = "basin lyapunov --map henon --json > henon.json\n"
               "basin figure lyapunov --in henon.json --out henon.pdf --width-mm 89\n"
               "basin figure --list",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(figure_settings),
    .defaults = set_defaults,
    .run = run,
};
