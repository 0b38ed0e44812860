/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of settings, their defaults, and how two sets of them differ.
 */
#include "viz/view/view_settings.h"

#include "dyn/dyn_plane_kinds.h"
#include "models/model_layer_map.h"
#include "viz/viz_colour.h"
#include "viz/viz_contour.h"

#include <stdio.h>
#include <string.h>

enum { STEPS_MAX = 100000, COLUMNS_MAX = 4096, PANELS_MAX = 16 };

#define RATE_MAX    1e3
#define RIGHT_ANGLE 1.5707963267948966

/* Of a place: the square of a state that far away is a number in single precision too; one beyond
 * would overflow behind a norm, which then gives 0 for any direction. */
#define PLACE_MAX 1e15

/* ---- Words ----------------------------------------------------------------------------------- */

static const char *plane_word(int i)
{
    return i >= 0 && (size_t)i < dyn_plane_kind_count()
               ? dyn_plane_kind_name(dyn_plane_kind_at((size_t)i))
               : NULL;
}

static const char *chart_word(int i)
{
    return dyn_plane_chart_word((dyn_plane_chart)i);
}

static const char *norm_word(int i)
{
    return dyn_plane_norm_word((dyn_plane_norm)i);
}

static const char *part_word(int i)
{
    return i >= 0 && i < MODEL_LAYER_PARTS ? model_layer_part_word((model_layer_part)i) : NULL;
}

static const char *mode_word(int i)
{
    static const char *const words[] = {
        [VIEW_MAP] = "map", [VIEW_SURFACE] = "surface", [VIEW_BASINS] = "basins"};
    return i >= 0 && i < VIEW_MODES ? words[i] : NULL;
}

static const char *map_word(int i)
{
    return viz_colour_map_name((viz_map)i);
}

/* ---- The table ------------------------------------------------------------------------------- */

#define AT(member)  .offset = offsetof(view_settings, member)
#define REALS_OF(m) AT(m), .count = sizeof(((view_settings *)NULL)->m) / sizeof(double)
#define SIZES_OF(m)                                                                                \
    AT(m), .count = VIEW_TOKENS_MAX, .n_offset = offsetof(view_settings, n_##m), .special = "none"

static const view_field fields[] = {
    {"run", VIEW_KIND_TEXT, VIEW_STAGE_SUBJECT, AT(run),
     .help = "folder of a run or file of weights; empty: the bundled model"},
    {"prompt", VIEW_KIND_TEXT, VIEW_STAGE_SUBJECT, AT(prompt),
     .help = "text whose tokens are the state"},
    {"layer", VIEW_KIND_SIZE, VIEW_STAGE_SUBJECT, AT(layer), .high = STEPS_MAX,
     .help = "layer of a cem model"},
    {"sublayer", VIEW_KIND_WORD, VIEW_STAGE_SUBJECT, AT(sublayer), .word = part_word,
     .help = "its part"},
    {"token", VIEW_KIND_SIZE, VIEW_STAGE_LANDSCAPE, AT(token), .high = STEPS_MAX, .special = "all",
     .help = "token whose energy is drawn, from 0, or all for the sum"},
    {"with", VIEW_KIND_SIZE, VIEW_STAGE_LANDSCAPE, AT(with), .high = STEPS_MAX,
     .help = "second token of a plane of tokens"},
    {"also", VIEW_KIND_SIZES, VIEW_STAGE_LANDSCAPE, SIZES_OF(also), .high = STEPS_MAX, .since = 2,
     .help = "tokens B,C,... whose trajectories are drawn too, at their nearest places of the "
             "chosen token's plane"},
    {"plane", VIEW_KIND_WORD, VIEW_STAGE_LANDSCAPE, AT(plane), .word = plane_word,
     .help = "how the two axes come about"},
    {"seed", VIEW_KIND_U64, VIEW_STAGE_LANDSCAPE, AT(seed), .help = "seed of random directions"},
    {"axes", VIEW_KIND_TEXT, VIEW_STAGE_LANDSCAPE, AT(axes),
     .help = "file of the two vectors of a custom plane"},
    {"oblique", VIEW_KIND_FLAG, VIEW_STAGE_LANDSCAPE, AT(oblique),
     .help = "keep custom axes as they are instead of making them orthonormal"},
    {"chart", VIEW_KIND_WORD, VIEW_STAGE_LANDSCAPE, AT(chart), .special = "auto",
     .word = chart_word,
     .help = "flat, or every token on its sphere: along geodesics, seen from the middle or from "
             "far away"},
    {"norm", VIEW_KIND_WORD, VIEW_STAGE_LANDSCAPE, AT(norm), .special = "auto", .word = norm_word,
     .help = "what lengths are"},
    {"at", VIEW_KIND_SIZE, VIEW_STAGE_LANDSCAPE, AT(at), .high = STEPS_MAX, .special = "last",
     .help = "step whose state is the centre and where other tokens are held; last: of training"},
    {"steps", VIEW_KIND_SIZE, VIEW_STAGE_LANDSCAPE, AT(steps), .high = STEPS_MAX,
     .help = "steps of the trajectory; 0: twice as many as in training"},
    {"frozen", VIEW_KIND_FLAG, VIEW_STAGE_LANDSCAPE, AT(frozen),
     .help = "follow the token alone, with the others held where they are held in the field"},
    {"held", VIEW_KIND_SIZES, VIEW_STAGE_LANDSCAPE, SIZES_OF(held), .high = STEPS_MAX, .since = 2,
     .help = "tokens B,C,... that stay at their state of the centre while the others move"},
    {"rate", VIEW_KIND_REAL, VIEW_STAGE_LANDSCAPE, AT(rate), .low = 0, .high = RATE_MAX,
     .help = "factor on the update, or on η/σ with pinned scales; 1: as trained"},
    {"pin", VIEW_KIND_FLAG, VIEW_STAGE_LANDSCAPE, AT(pin),
     .help = "hold the scales behind the norm at those of the last trained step"},
    {"seeds", VIEW_KIND_REALS, VIEW_STAGE_LANDSCAPE, REALS_OF(seeds),
     .n_offset = offsetof(view_settings, n_seeds), .low = -PLACE_MAX, .high = PLACE_MAX,
     .special = "none",
     .help = "places a,b,a,b,… of the plane from which further trajectories start"},
    {"range", VIEW_KIND_REALS, VIEW_STAGE_FIELD, REALS_OF(range), .low = -PLACE_MAX,
     .high = PLACE_MAX, .special = "auto",
     .help = "part of the plane that is drawn, a from, a to, b from, b to; one number is half the "
             "width around the centre; auto: what the trajectory takes"},
    {"turn", VIEW_KIND_REAL, VIEW_STAGE_LANDSCAPE, AT(turn),
     .help = "angle of the axes within the plane, radians, counterclockwise"},
    {"columns", VIEW_KIND_SIZE, VIEW_STAGE_FIELD, AT(columns), .low = 2, .high = COLUMNS_MAX,
     .help = "samples across; there are 5/8 as many rows"},
    {"panels", VIEW_KIND_SIZE, VIEW_STAGE_WINDOW, AT(panels), .low = 1, .high = PANELS_MAX,
     .since = 2,
     .help =
         "planes of random directions side by side in figures of basin landscape, of consecutive "
         "seeds; the window shows the first"},
    {"levels", VIEW_KIND_SIZE, VIEW_STAGE_FIELD, AT(levels), .high = VIEW_LEVELS_MAX,
     .help = "contours at most, at round energies; 0 draws none"},
    {"mode", VIEW_KIND_WORD, VIEW_STAGE_SCENE, AT(mode), .word = mode_word,
     .help = "what is drawn of the plane"},
    {"map", VIEW_KIND_WORD, VIEW_STAGE_SCENE, AT(map), .word = map_word,
     .help = "colour map of the field"},
    {"dark", VIEW_KIND_FLAG, VIEW_STAGE_SCENE, AT(dark), .help = "draw on a dark page"},
    {"azimuth", VIEW_KIND_REAL, VIEW_STAGE_SCENE, AT(azimuth),
     .help = "turn of the surface about the vertical, radians"},
    {"elevation", VIEW_KIND_REAL, VIEW_STAGE_SCENE, AT(elevation), .low = 0, .high = RIGHT_ANGLE,
     .help = "from where the surface is seen, 0: from the side, π/2: from above"},
    {"low", VIEW_KIND_REAL, VIEW_STAGE_SCENE, AT(low),
     .help = "energy at the low end of the colours; as high: what the field takes"},
    {"high", VIEW_KIND_REAL, VIEW_STAGE_SCENE, AT(high),
     .help = "energy at the high end of the colours; as low: what the field takes"},
    {"quadratic", VIEW_KIND_FLAG, VIEW_STAGE_SCENE, AT(quadratic),
     .help = "contours of the energy's second-order model at the centre"},
    {"step", VIEW_KIND_SIZE, VIEW_STAGE_SCENE, AT(step), .high = STEPS_MAX,
     .help = "state that is pointed out on the trajectory"},
    {"follow", VIEW_KIND_FLAG, VIEW_STAGE_WINDOW, AT(follow),
     .help = "the field is that of the step pointed out"},
    {"ghost", VIEW_KIND_FLAG, VIEW_STAGE_FIELD, AT(ghost), .since = 2,
     .help = "with follow: faint contours of the step before, at the same energies"},
    {"orbit", VIEW_KIND_FLAG, VIEW_STAGE_WINDOW, AT(orbit),
     .help = "show the strip of the orbit diagram"},
    {"orbit-from", VIEW_KIND_REAL, VIEW_STAGE_WINDOW, AT(orbit_from), .low = 0, .high = RATE_MAX,
     .help = "smallest rate of the orbit diagram"},
    {"orbit-to", VIEW_KIND_REAL, VIEW_STAGE_WINDOW, AT(orbit_to), .low = 0, .high = RATE_MAX,
     .help = "largest rate of the orbit diagram"},
    {"continued", VIEW_KIND_FLAG, VIEW_STAGE_WINDOW, AT(continued), .since = 2,
     .help = "rates of the orbit diagram start where the one below ended, not all at the centre"},
    {"scale", VIEW_KIND_REAL, VIEW_STAGE_WINDOW, AT(scale), .low = 0.5, .high = 4.0,
     .help = "size of texts and widgets; 1: 100 %"},
    {"still", VIEW_KIND_FLAG, VIEW_STAGE_WINDOW, AT(still), .help = "no animation"},
};

_Static_assert((int)VIEW_LEVELS_MAX == (int)VIZ_CONTOUR_LEVELS_MAX, "as many levels as contours");

const view_field *view_field_at(size_t i)
{
    return i < sizeof fields / sizeof *fields ? &fields[i] : NULL;
}

static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

/* Names that begin as `name` does, or contain it. */
static void list_close(const char *name, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const char *other = fields[i].name;
        const bool close = strncmp(name, other, 2) == 0 || strstr(other, name) != NULL;
        const size_t need = strlen(other) + 2;
        if (name[0] != '\0' && close && used + need < size) {
            (void)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", other);
            used += strlen(out + used);
        }
    }
}

kern_status view_field_find(const view_field **out, const char *name, kern_error *err)
{
    char close[160];
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        if (same_name(fields[i].name, name)) {
            *out = &fields[i];
            return KERN_OK;
        }
    }
    *out = NULL;
    list_close(name, close, sizeof close);
    return kern_raise(err, KERN_INVALID_ARGUMENT, "\"%.40s\" is no setting%s%s", name,
                      close[0] != '\0' ? "; close to it: " : "", close);
}

void view_settings_defaults(view_settings *s)
{
    memset(s, 0, sizeof *s);
    s->token = VIEW_ALL;
    for (int i = 0; plane_word(i) != NULL; i++) {
        s->plane = strcmp(plane_word(i), "pca") == 0 ? i : s->plane;
    }
    s->seed = 1;
    s->chart = -1;
    s->norm = -1;
    s->at = VIEW_LAST;
    s->rate = 1.0;
    s->columns = 256;
    s->panels = 1;
    s->levels = 12;
    s->map = VIZ_MAP_VIRIDIS;
    s->azimuth = -0.6;
    s->elevation = 0.7;
    s->orbit_from = 0.1;
    s->orbit_to = 8.0;
    s->scale = 1.0;
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* Of a text what is behind its end does not count, and of numbers equal bits are equal. */
static bool field_differs(const view_settings *a, const view_settings *b, const view_field *field)
{
    char left[VIEW_TEXT];
    char right[VIEW_TEXT];
    view_settings_show(a, field, left);
    view_settings_show(b, field, right);
    return strcmp(left, right) != 0;
}

bool view_settings_differ(const view_settings *a, const view_settings *b, view_stage *stage)
{
    bool found = false;
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        if (field_differs(a, b, &fields[i]) && (!found || fields[i].stage < *stage)) {
            *stage = fields[i].stage;
            found = true;
        }
    }
    return found;
}
