/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_picture.h"

#include "viz/view/view_basins.h"
#include "viz/view/view_landscape_rim.h"
#include "viz/view/view_measure.h"
#include "viz/view/view_number.h"
#include "viz/view/view_session.h"
#include "viz/viz_landscape_plot.h"
#include "viz/viz_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Width of the map on the page, about, and how far a line may be from its vertices: both in points,
 * the second a fifteenth of a line's width. */
#define MAP_WIDTH      430.0
#define LINE_TOLERANCE 0.04
/* The same of sketches, which are drawn while something moves: a quarter of a pixel. */
#define SKETCH_TOLERANCE 0.16

/* ---- Field and contours ---------------------------------------------------------------------- */

static void ask_source(void *context, size_t n, const double *x, const double *y, double *v)
{
    const dyn_slice_source *source = context;
    source->energies(source->context, 0, n, x, y, v);
}

static viz_lattice lattice_of(const view_picture *p)
{
    const dyn_slice_field *f = &p->field;
    return (viz_lattice){.nx = f->columns,
                         .ny = f->rows,
                         .x0 = f->range.a_low,
                         .x1 = f->range.a_high,
                         .y0 = f->range.b_low,
                         .y1 = f->range.b_high};
}

static size_t choose_levels(const view_picture *p, double levels[VIZ_CONTOUR_LEVELS_MAX])
{
    const size_t most = p->landscape->settings.levels;
    return most > 0 ? viz_contour_round_levels(p->field.low, p->field.high, most, levels) : 0;
}

/* The page's points per unit of the axes. */
static kern_status simplify(const view_picture *p, viz_contours *contours,
                            const viz_lattice *lattice, kern_error *err)
{
    const double points = MAP_WIDTH / (lattice->x1 - lattice->x0);
    return viz_contours_simplify(contours, points, points,
                                 p->sketch ? SKETCH_TOLERANCE : LINE_TOLERANCE, err);
}

static kern_status trace(view_picture *p, kern_error *err)
{
    double levels[VIZ_CONTOUR_LEVELS_MAX];
    const viz_lattice lattice = lattice_of(p);
    const viz_contour_options o = {.levels = levels,
                                   .n_levels = choose_levels(p, levels),
                                   .values = p->sketch ? NULL : ask_source,
                                   .context = &p->landscape->source};
    KERN_TRY(viz_contours_init(&p->contours, &lattice, p->field.values, &o, err));
    return simplify(p, &p->contours, &lattice, err);
}

/* ---- The step before ------------------------------------------------------------------------- */

static kern_status trace_ghost(view_picture *p, const view_grain *grain, dyn_progress *progress,
                               void *context, kern_error *err)
{
    double levels[VIZ_CONTOUR_LEVELS_MAX];
    view_landscape *before = p->landscape->before;
    const viz_lattice lattice = lattice_of(p);
    dyn_slice_field field = {0};
    if (before == NULL) {
        return KERN_OK;
    }
    const dyn_slice_source *source = p->sketch ? &before->sketch : &before->source;
    const viz_contour_options o = {.levels = levels,
                                   .n_levels = choose_levels(p, levels),
                                   .values = p->sketch ? NULL : ask_source,
                                   .context = &before->source};
    kern_status status =
        dyn_slice_field_init(&field, p->field.columns, p->field.rows, &p->landscape->range, err);
    if (status == KERN_OK) {
        status = dyn_slice_compute(&field, source, grain->workers, progress, context, err);
    }
    if (status == KERN_OK) {
        status = viz_contours_init(&p->ghost, &lattice, field.values, &o, err);
    }
    dyn_slice_field_fini(&field);
    return status == KERN_OK ? simplify(p, &p->ghost, &lattice, err) : status;
}

/* ---- The second-order model ------------------------------------------------------------------ */

/* E ≈ E₀ + g·w + ½ wᵀHw at the centre. Curvatures and their directions are those of an orthonormal
 * frame whose first axis is that of the plane. */
static void ask_quadratic(void *context, size_t n, const double *x, const double *y, double *v)
{
    const view_picture *p = context;
    const view_measure *m = &p->centre;
    const double *gram = p->landscape->plane->gram;
    const double length = sqrt(gram[0]);
    const double shear = gram[1] / length;
    const double height = sqrt(gram[2] - shear * shear);
    for (size_t i = 0; i < n; i++) {
        double value = m->energy + m->slope[0] * x[i] + m->slope[1] * y[i];
        for (size_t k = 0; k < 2; k++) {
            const double along = cos(m->direction[k]) * (length * x[i] + shear * y[i]) +
                                 sin(m->direction[k]) * height * y[i];
            value += 0.5 * m->curvature[k] * along * along;
        }
        v[i] = value;
    }
}

static kern_status trace_quadratic(view_picture *p, kern_error *err)
{
    double levels[VIZ_CONTOUR_LEVELS_MAX];
    const viz_lattice lattice = lattice_of(p);
    const viz_contour_options o = {.levels = levels,
                                   .n_levels = choose_levels(p, levels),
                                   .values = ask_quadratic,
                                   .context = p};
    double *values = malloc(lattice.nx * lattice.ny * sizeof *values);
    if (values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu energies",
                          lattice.nx * lattice.ny);
    }
    for (size_t j = 0; j < lattice.ny; j++) {
        for (size_t i = 0; i < lattice.nx; i++) {
            const double a = dyn_slice_field_a(&p->field, i);
            const double b = dyn_slice_field_b(&p->field, j);
            ask_quadratic(p, 1, &a, &b, values + j * lattice.nx + i);
        }
    }
    kern_status status = viz_contours_init(&p->quadratic, &lattice, values, &o, err);
    free(values);
    return status == KERN_OK ? simplify(p, &p->quadratic, &lattice, err) : status;
}

/* ---- Making and releasing -------------------------------------------------------------------- */

static kern_status make_fringe(view_picture *p, kern_error *err)
{
    const size_t n = p->field.columns * p->field.rows;
    if (p->field.n_outside == 0) {
        return KERN_OK;
    }
    p->fringe = malloc(n * sizeof *p->fringe);
    if (p->fringe == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu energies", n);
    }
    view_landscape_fringe(p->landscape, &p->field, p->fringe);
    return KERN_OK;
}

static kern_status make(view_picture *p, const view_grain *grain, dyn_progress *progress,
                        void *context, kern_error *err)
{
    const view_landscape *l = p->landscape;
    const dyn_slice_source *source = grain->sketch ? &l->sketch : &l->source;
    size_t rows = (5 * grain->columns + 4) / 8;
    rows = rows > 1 ? rows : 2;
    KERN_TRY(dyn_slice_field_init(&p->field, grain->columns, rows, &l->range, err));
    KERN_TRY(dyn_slice_compute(&p->field, source, grain->workers, progress, context, err));
    KERN_TRY(view_landscape_check_field(l, &p->field, err));
    KERN_TRY(make_fringe(p, err));
    KERN_TRY(trace(p, err));
    KERN_TRY(trace_ghost(p, grain, progress, context, err));
    view_measure_at(&p->centre, l, 0, 0.0, 0.0);
    return trace_quadratic(p, err);
}

static void destroy(view_picture *p)
{
    viz_contours_fini(&p->contours);
    viz_contours_fini(&p->quadratic);
    viz_contours_fini(&p->ghost);
    free(p->fringe);
    dyn_slice_field_fini(&p->field);
    view_landscape_release(p->landscape);
    free(p);
}

kern_status view_picture_create(view_picture **out, view_landscape *landscape,
                                const view_grain *grain, dyn_progress *progress, void *context,
                                kern_error *err)
{
    view_picture *p = calloc(1, sizeof *p);
    *out = NULL;
    if (p == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a picture");
    }
    atomic_init(&p->holders, 1);
    p->landscape = view_landscape_keep(landscape);
    p->sketch = grain->sketch;
    const kern_status status = make(p, grain, progress, context, err);
    if (status != KERN_OK) {
        destroy(p);
        return status;
    }
    *out = p;
    return KERN_OK;
}

view_picture *view_picture_keep(view_picture *picture)
{
    (void)atomic_fetch_add(&picture->holders, 1);
    return picture;
}

void view_picture_release(view_picture *picture)
{
    if (picture != NULL && atomic_fetch_sub(&picture->holders, 1) == 1) {
        destroy(picture);
    }
}

/* ---- Scene and session ----------------------------------------------------------------------- */

static viz_classes classes_of(const view_basins *b)
{
    return (viz_classes){.name = "basins",
                         .lattice = b->lattice,
                         .labels = b->labels,
                         .light = b->light,
                         .classes = b->classes,
                         .n_classes = b->n_classes};
}

static viz_landscape_data data_of(const view_picture *p, const view_settings *s,
                                  const char *energy_label)
{
    const view_landscape *l = p->landscape;
    const view_path *path = &l->path;
    return (viz_landscape_data){
        .lattice = lattice_of(p),
        .values = s->mode == VIEW_SURFACE && p->fringe != NULL ? p->fringe : p->field.values,
        .n_missing = p->field.n_not_finite,
        .ends = p->field.n_outside > 0,
        .n_rim = l->n_rim,
        .rim_a = l->rim_a,
        .rim_b = l->rim_b,
        .contours = &p->contours,
        .energy_label = energy_label,
        .meant_whole = !l->custom_range,
        .n_states = path->n,
        .a = path->a,
        .b = path->b,
        .energy = path->energy,
        .on_plane = path->on_plane,
        .distance = path->distance,
        .residual = path->residual,
        .trained_steps = l->subject->trained,
        .explained = l->notes.explained[0] + l->notes.explained[1],
        .map = (viz_map)s->map,
        .low = s->low,
        .high = s->high,
        .step = s->step,
        .ghost = &p->ghost,
        .quadratic = s->quadratic ? &p->quadratic : NULL};
}

enum { PATHS = (int)VIEW_SEEDS_MAX + (int)VIEW_TOKENS_MAX, NAME = 256 };

/* Trajectories beside the model's own, with their names. */
typedef struct paths {
    size_t n;
    viz_landscape_path items[PATHS];
    char names[PATHS][NAME];
    char legends[PATHS][NAME];
} paths;

static viz_landscape_path *add_path(paths *out, const view_path *p)
{
    viz_landscape_path *item = &out->items[out->n];
    *item = (viz_landscape_path){.n = p->n,
                                 .a = p->a,
                                 .b = p->b,
                                 .energy = p->energy,
                                 .name = out->names[out->n],
                                 .legend = out->legends[out->n]};
    out->n++;
    return item;
}

/* Tokens come before what was started by hand, so that they keep their colours while that comes and
 * goes. */
static void gather_paths(paths *out, const view_landscape *l)
{
    char token[MODEL_TOKENIZER_LABEL];
    out->n = 0;
    for (size_t i = 0; i < l->n_also; i++) {
        viz_landscape_path *p = add_path(out, &l->others[i]);
        view_subject_token(l->subject, l->also[i], token, sizeof token);
        (void)snprintf(out->names[i], NAME, "token %zu “%s”", l->also[i], token);
        (void)viz_text_escape(out->legends[i], NAME, out->names[i]);
        p->distance = l->others[i].distance;
        p->residual = l->others[i].residual;
        p->in_step = true;
    }
    for (size_t i = 0; i < l->n_seeds; i++) {
        const size_t at = out->n;
        (void)add_path(out, &l->seeds[i]);
        (void)snprintf(out->names[at], NAME, "trajectory from seed %zu", i + 1);
        (void)snprintf(out->legends[at], NAME, "from seed %zu", i + 1);
    }
}

void view_picture_say(const view_picture *picture, char out[VIEW_NOTE])
{
    char markup[2 * VIEW_LABEL];
    char title[2 * VIEW_LABEL];
    char n[6][VIEW_NUMBER];
    const view_landscape *l = picture->landscape;
    const dyn_slice_field *f = &picture->field;
    view_words_title(l, markup);
    (void)viz_text_plain(title, sizeof title, markup);
    /* The text ends well before its room does, which leaves some for a full stop. */
    (void)snprintf(out, VIEW_NOTE,
                   "%.160s, plane %s about step %zu: from %s at (%s, %s) to %s at (%s, %s), in %s",
                   title, dyn_plane_kind_name(dyn_plane_kind_at((size_t)l->settings.plane)), l->at,
                   view_number(n[0], 5, f->low), view_number(n[1], 3, f->low_at[0]),
                   view_number(n[2], 3, f->low_at[1]), view_number(n[3], 5, f->high),
                   view_number(n[4], 3, f->high_at[0]), view_number(n[5], 3, f->high_at[1]),
                   view_words_unit(l));
}

kern_status view_picture_scene(viz_scene **out, const view_picture *picture, const view_settings *s,
                               const view_page *page, kern_error *err)
{
    const view_landscape *l = picture->landscape;
    char axes[2][VIEW_LABEL];
    char energy[VIEW_LABEL];
    char title[2 * VIEW_LABEL];
    char text[VIEW_NOTE];
    paths further;
    viz_classes classes;
    const viz_camera camera = {s->azimuth, s->elevation};
    viz_landscape_data data = data_of(picture, s, energy);
    const viz_plot_style style = {.width = page->width,
                                  .height = page->height,
                                  .theme = s->dark ? VIZ_DARK : VIZ_LIGHT,
                                  .title = title};
    view_words_title(l, title);
    view_words_describe(l, text);
    view_words_energy(l, energy);
    view_words_axis(l, 0, axes[0]);
    view_words_axis(l, 1, axes[1]);
    data.axis[0] = axes[0];
    data.axis[1] = axes[1];
    data.description = text;
    gather_paths(&further, l);
    data.seeds = further.items;
    data.n_seeds = further.n;
    data.point_out = page->point_out && s->step < l->path.n;
    if (page->low < page->high) {
        data.low = page->low;
        data.high = page->high;
    }
    if (s->mode == VIEW_SURFACE) {
        data.camera = &camera;
    } else if (page->basins != NULL) {
        classes = classes_of(page->basins);
        data.classes = &classes;
    }
    KERN_TRY(viz_landscape_plot(out, &data, &style, err));
    view_picture_say(picture, text);
    text[strlen(text) + 1] = '\0';
    text[strlen(text)] = '.';
    const kern_status status = viz_scene_set_description(*out, text, err);
    if (status != KERN_OK) {
        viz_scene_destroy(*out);
        *out = NULL;
    }
    return status;
}

kern_status view_picture_session(char **text, const view_picture *picture, const view_settings *s,
                                 kern_error *err)
{
    view_session session = {.settings = *s};
    session.settings.panels = 1; /* this is the figure of one plane */
    memcpy(session.model_sha256, picture->landscape->subject->sha256, sizeof session.model_sha256);
    return view_session_write(text, &session, err);
}
