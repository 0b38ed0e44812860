/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options of basin landscape: those of the settings' table (viz/view/view_settings.h), and those
 * about the files.
 */
#include "cli/cli_landscape.h"

#include "cli/cli_commands.h"
#include "kernels/kern_parallel.h"
#include "viz/viz_export_limits.h"
#include "viz/viz_scene.h"

#include <stdio.h>
#include <string.h>

enum { STEPS_MAX = 100000, COLUMNS_MAX = 4096, RATE_MAX = 1000, MM_MIN = 40, MM_MAX = 1000 };

#define RIGHT_ANGLE 1.5707963267948966
#define ANGLE_MAX   1e6
#define ENERGY_MAX  1e300

/* ---- Settings as words ----------------------------------------------------------------------- */

static kern_status read_setting(void *member, const char *name, const char *value, kern_error *err)
{
    const view_field *field;
    KERN_TRY(view_field_find(&field, name, err));
    return view_settings_set(member, field, value, err);
}

static void show_setting(const void *member, const char *name, char out[CLI_VALUE_TEXT])
{
    const view_field *field;
    char text[VIEW_TEXT] = "";
    if (view_field_find(&field, name, NULL) == KERN_OK) {
        view_settings_show(member, field, text);
    }
    (void)snprintf(out, CLI_VALUE_TEXT, "%.*s", CLI_VALUE_TEXT - 1, text);
}

/* Functions of a row whose member is the whole of the settings, of which it is about one. */
#define SETTING(name)                                                                              \
    static kern_status parse_##name(void *member, const char *value, kern_error *err)              \
    {                                                                                              \
        return read_setting(member, #name, value, err);                                            \
    }                                                                                              \
    static void show_##name(const void *member, char out[CLI_VALUE_TEXT])                          \
    {                                                                                              \
        show_setting(member, #name, out);                                                          \
    }

SETTING(prompt)
SETTING(token)
SETTING(plane)
SETTING(chart)
SETTING(norm)
SETTING(at)
SETTING(axes)
SETTING(range)
SETTING(seeds)
SETTING(map)
SETTING(mode)
SETTING(sublayer)

/* The feed-forward part has two names. */
static kern_status parse_part(void *member, const char *value, kern_error *err)
{
    return parse_sublayer(member, strcmp(value, "ffn") == 0 ? "mlp" : value, err);
}

/* Tokens by their numbers, or all but the chosen one, which the prompt says. */
static kern_status read_tokens(cli_landscape_settings *s, const char *name, bool *all,
                               const char *value, kern_error *err)
{
    *all = strcmp(value, "all") == 0;
    return read_setting(&s->view, name, *all ? "none" : value, err);
}

static kern_status parse_held(void *settings, const char *value, kern_error *err)
{
    cli_landscape_settings *s = settings;
    return read_tokens(s, "held", &s->held_all, value, err);
}

static kern_status parse_also(void *settings, const char *value, kern_error *err)
{
    cli_landscape_settings *s = settings;
    return read_tokens(s, "also", &s->also_all, value, err);
}

static void show_held(const void *settings, char out[CLI_VALUE_TEXT])
{
    const cli_landscape_settings *s = settings;
    show_setting(&s->view, "held", out);
}

static void show_also(const void *settings, char out[CLI_VALUE_TEXT])
{
    const cli_landscape_settings *s = settings;
    show_setting(&s->view, "also", out);
}

static void defaults(void *settings)
{
    cli_landscape_settings *s = settings;
    view_settings_defaults(&s->view);
    s->dpi = VIZ_DPI_DEFAULT;
    s->width_mm = VIZ_DOUBLE_COLUMN_MM;
    s->threads = kern_parallel_processors();
}

/* ---- The table ------------------------------------------------------------------------------- */

#define PLACE(member) .offset = offsetof(cli_landscape_settings, member)
#define WORD(id)      .kind = CLI_WORD, PLACE(view), .parse = parse_##id, .show = show_##id
/* Of the whole of the settings. */
#define TOKENS(id) .kind = CLI_WORD, .offset = 0, .parse = parse_##id, .show = show_##id

static const cli_option options[] = {
    {.name = "RUN",
     .kind = CLI_TEXT,
     .positional = true,
     PLACE(run),
     .help = "folder written by basin train, or a file of weights (*.safetensors); without it the "
             "one of --from"},
    {.name = "prompt",
     .value = "TEXT",
     WORD(prompt),
     .hide_default = true,
     .help = "text whose tokens are the state"},
    {.name = "token",
     .value = "A",
     WORD(token),
     .hide_default = true,
     .accepted = "the number of a token, from 0, and all",
     .help = "token whose energy is drawn, from 0, or all for the sum"},
    {.name = "out",
     .value = "F",
     .kind = CLI_TEXT,
     .required = true,
     PLACE(out),
     .help = "figure to write: .pdf, .svg, .png or .csv"},
    {.name = "from",
     .value = "FILE",
     .kind = CLI_TEXT,
     PLACE(from),
     .help = "draw again what a figure of a landscape (.pdf, .svg, .png, .csv) or a session "
             "(.json) shows, except for the options given with it"},
    {.name = "changed-model",
     .kind = CLI_FLAG,
     PLACE(changed_model),
     .help = "draw what --from asks for although the model is another by now"},
    {.kind = CLI_HEADING, .help = "The plane"},
    {.name = "also",
     .value = "B,C,...",
     TOKENS(also),
     .help = "tokens whose trajectories are drawn too, at their nearest places of the token's "
             "plane, 16 at most, or all for all others"},
    {.name = "plane",
     .value = "P",
     WORD(plane),
     .help = "random, relative (random, scaled to each token), pca (of the trajectory), points "
             "(first and last state), tokens (--token against --with), gradient (steepest "
             "descent and strongest curvature across), hessian (least and largest curvature), "
             "terms (descents of attention and feed-forward), custom (--axes)"},
    {.name = "chart",
     .value = "C",
     WORD(chart),
     .help = "flat; at fixed length of every token sphere (along geodesics), gnomonic (great "
             "circles are straight, the near half alone) or orthographic (as seen from far away, "
             "the near half alone); or auto: sphere behind a norm, else flat"},
    {.name = "norm",
     .value = "N",
     WORD(norm),
     .help = "lengths: euclidean, rms, relative (to each token's own, radians on its sphere), or "
             "auto: euclidean on a flat chart, else relative"},
    {.name = "at",
     .value = "T",
     WORD(at),
     .accepted = "whole numbers from 0 to 100000, and last",
     .help = "step whose state is the centre and where other tokens are held; last: of training"},
    {.name = "with",
     .value = "B",
     .kind = CLI_SIZE,
     .high = STEPS_MAX,
     PLACE(view.with),
     .help = "second token of --plane tokens"},
    {.name = "axes",
     .value = "FILE",
     WORD(axes),
     .hide_default = true,
     .help = "two lines of numbers separated by commas, of the token or of the whole state"},
    {.name = "oblique",
     .kind = CLI_FLAG,
     PLACE(view.oblique),
     .help = "keep the axes of --plane custom as they are instead of making them orthonormal"},
    {.name = "range",
     .value = "R",
     WORD(range),
     .help =
         "half the width around the centre, in lengths of the axes, with a height of 5/8 of the "
         "width; or A,B,C,D for a part from A to B and from C to D; auto: what the trajectory "
         "takes"},
    {.name = "turn",
     .value = "PHI",
     .kind = CLI_REAL,
     .low = -ANGLE_MAX,
     .high = ANGLE_MAX,
     PLACE(view.turn),
     .help = "angle by which the axes are turned within their plane, radians, counterclockwise"},
    {.name = "seed",
     .value = "N",
     .kind = CLI_SEED,
     PLACE(view.seed),
     .help = "seed of random directions"},
    {.name = "panels",
     .value = "K",
     .kind = CLI_SIZE,
     .low = 1,
     .high = VIZ_PLANES_MAX,
     PLACE(view.panels),
     .help =
         "draw K planes of random directions side by side, of seeds --seed, --seed + 1, ..., with "
         "one range and one scale of colours"},
    {.kind = CLI_HEADING, .help = "The trajectory"},
    {.name = "steps",
     .value = "T",
     .kind = CLI_SIZE,
     .low = 1,
     .high = STEPS_MAX,
     .hide_default = true,
     PLACE(view.steps),
     .help = "steps that are drawn (default: twice as many as in training)"},
    {.name = "frozen",
     .kind = CLI_FLAG,
     PLACE(view.frozen),
     .help = "follow the token alone, with the others held where they are held in the field"},
    {.name = "held",
     .value = "B,C,...",
     TOKENS(held),
     .help = "tokens that stay at their state of the centre while the others move, 16 at most, or "
             "all for all but the chosen one"},
    {.name = "rate",
     .value = "R",
     .kind = CLI_REAL,
     .high = RATE_MAX,
     PLACE(view.rate),
     .help = "factor on the update, with --pin on η/σ; 1: as trained"},
    {.name = "pin",
     .kind = CLI_FLAG,
     PLACE(view.pin),
     .help = "hold the scales behind the norm at those of the last trained step"},
    {.name = "seeds",
     .value = "A,B,...",
     WORD(seeds),
     .help = "places A,B of the plane from which further trajectories start, 16 at most"},
    {.name = "layer",
     .value = "L",
     .kind = CLI_SIZE,
     .high = STEPS_MAX,
     PLACE(view.layer),
     .help = "layer of a cem model"},
    {.name = "sublayer",
     .value = "PART",
     .kind = CLI_WORD,
     PLACE(view),
     .parse = parse_part,
     .show = show_sublayer,
     .help = "its part: attn or mlp"},
    {.kind = CLI_HEADING, .help = "The figure"},
    {.name = "columns",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 2,
     .high = COLUMNS_MAX,
     PLACE(view.columns),
     .help = "samples across; there are 5/8 as many rows"},
    {.name = "levels",
     .value = "N",
     .kind = CLI_SIZE,
     .high = VIEW_LEVELS_MAX,
     PLACE(view.levels),
     .help = "contours at most, at round energies; 0 draws none"},
    {.name = "quadratic",
     .kind = CLI_FLAG,
     PLACE(view.quadratic),
     .help = "draw the contours of the energy's second-order model at the centre too"},
    {.name = "step",
     .value = "T",
     .kind = CLI_SIZE,
     .high = STEPS_MAX,
     PLACE(view.step),
     .help = "state that is pointed out; 0: none"},
    {.name = "follow",
     .kind = CLI_FLAG,
     PLACE(view.follow),
     .help = "draw the field of --step, where the other tokens are then"},
    {.name = "ghost",
     .kind = CLI_FLAG,
     PLACE(view.ghost),
     .help = "with --follow: faint contours of the step before"},
    {.name = "mode",
     .value = "M",
     WORD(mode),
     .help =
         "map, surface (in three dimensions), or basins (where the map leads from every place)"},
    {.name = "azimuth",
     .value = "PHI",
     .kind = CLI_REAL,
     .low = -ANGLE_MAX,
     .high = ANGLE_MAX,
     PLACE(view.azimuth),
     .help = "turn of the surface about the vertical, radians"},
    {.name = "elevation",
     .value = "THETA",
     .kind = CLI_REAL,
     .high = RIGHT_ANGLE,
     PLACE(view.elevation),
     .help = "from where the surface is seen, radians; 0: from the side"},
    {.name = "map", .value = "MAP", WORD(map), .help = "viridis, cividis, plasma or balance"},
    {.name = "low",
     .value = "E",
     .kind = CLI_REAL,
     .low = -ENERGY_MAX,
     .high = ENERGY_MAX,
     .hide_default = true,
     PLACE(view.low),
     .help = "energy at the low end of the colours (default: the field's)"},
    {.name = "high",
     .value = "E",
     .kind = CLI_REAL,
     .low = -ENERGY_MAX,
     .high = ENERGY_MAX,
     .hide_default = true,
     PLACE(view.high),
     .help = "energy at their high end; both are given or none"},
    {.name = "dark", .kind = CLI_FLAG, PLACE(view.dark), .help = "draw on a dark page"},
    {.name = "width-mm",
     .value = "MM",
     .kind = CLI_REAL,
     .low = MM_MIN,
     .high = MM_MAX,
     PLACE(width_mm),
     .help = "width of the page in millimetres; 89 and 183 are journal columns"},
    {.name = "dpi",
     .value = "DPI",
     .kind = CLI_REAL,
     .low = VIZ_DPI_MIN,
     .high = VIZ_DPI_MAX,
     PLACE(dpi),
     .help = "resolution of .png"},
    CLI_OPTION_THREADS(cli_landscape_settings),
    CLI_OPTION_JSON(cli_landscape_settings),
    {.name = "field",
     .kind = CLI_FLAG,
     PLACE(field),
     .help = "with --json: also the energies, row by row from below"},
};

const cli_command cli_landscape = {
    .name = "landscape",
    .purpose = "draws the energy of a token on a plane through its states",
    .description =
        "Computes the energy of one token (or of all together) on a plane or on a chart of "
        "spheres through the states of a prompt, with the weights and all tokens that do not move "
        "held fixed, and draws it with contours that are true to the energy and the trajectory of "
        "the model over it. Each state is drawn at its nearest point of the plane, with its true "
        "energy and how far it is off the plane.",
    .example = "basin landscape run --prompt \"max_10 ( 2 9 3 ) =\" --token 5 --plane pca --out "
               "landscape.pdf\n"
               "basin landscape --from landscape.pdf --dark --out dark.png",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_landscape_settings),
    .defaults = defaults,
    .run = cli_landscape_run,
};
