/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_picture.h"

#include "viz/view/view_basins.h"
#include "viz/view/view_measure.h"
#include "viz/view/view_session.h"
#include "viz/viz_landscape_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Width of the map on the page, about, and how far a line may be from its vertices: both in points,
 * the second a fifteenth of a line's width. */
#define MAP_WIDTH      430.0
#define LINE_TOLERANCE 0.04

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
static kern_status simplify(viz_contours *contours, const viz_lattice *lattice, kern_error *err)
{
    const double points = MAP_WIDTH / (lattice->x1 - lattice->x0);
    return viz_contours_simplify(contours, points, points, LINE_TOLERANCE, err);
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
    return simplify(&p->contours, &lattice, err);
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
    return status == KERN_OK ? simplify(&p->quadratic, &lattice, err) : status;
}

/* ---- Making and releasing -------------------------------------------------------------------- */

static kern_status make(view_picture *p, const view_grain *grain, dyn_progress *progress,
                        void *context, kern_error *err)
{
    const view_landscape *l = p->landscape;
    const dyn_slice_source *source = grain->sketch ? &l->sketch : &l->source;
    size_t rows = (5 * grain->columns + 4) / 8;
    rows = rows > 1 ? rows : 2;
    KERN_TRY(dyn_slice_field_init(&p->field, grain->columns, rows, &l->range, err));
    KERN_TRY(dyn_slice_compute(&p->field, source, grain->workers, progress, context, err));
    KERN_TRY(trace(p, err));
    view_measure_at(&p->centre, l, 0, 0.0, 0.0);
    return trace_quadratic(p, err);
}

static void destroy(view_picture *p)
{
    viz_contours_fini(&p->contours);
    viz_contours_fini(&p->quadratic);
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

static viz_landscape_data data_of(const view_picture *p, const view_settings *s)
{
    const view_landscape *l = p->landscape;
    const view_path *path = &l->path;
    return (viz_landscape_data){.lattice = lattice_of(p),
                                .values = p->field.values,
                                .contours = &p->contours,
                                .energy_label = l->token == MODEL_SLICE_SUM
                                                    ? "energy <i>E</i>  (nats)"
                                                    : "energy <i>E<sub>A</sub></i>  (nats)",
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
                                .n_seeds = l->n_seeds,
                                .quadratic = s->quadratic ? &p->quadratic : NULL};
}

kern_status view_picture_scene(viz_scene **out, const view_picture *picture, const view_settings *s,
                               const view_page *page, kern_error *err)
{
    const view_landscape *l = picture->landscape;
    char axes[2][VIEW_LABEL];
    char title[2 * VIEW_LABEL];
    char text[VIEW_NOTE];
    viz_landscape_path seeds[VIEW_SEEDS_MAX];
    viz_classes classes;
    const viz_camera camera = {s->azimuth, s->elevation};
    viz_landscape_data data = data_of(picture, s);
    const viz_plot_style style = {.width = page->width,
                                  .height = page->height,
                                  .theme = s->dark ? VIZ_DARK : VIZ_LIGHT,
                                  .title = title};
    view_words_title(l, title);
    view_words_describe(l, text);
    view_words_axis(l, 0, axes[0]);
    view_words_axis(l, 1, axes[1]);
    data.axis[0] = axes[0];
    data.axis[1] = axes[1];
    data.description = text;
    for (size_t i = 0; i < l->n_seeds; i++) {
        seeds[i] = (viz_landscape_path){.n = l->seeds[i].n,
                                        .a = l->seeds[i].a,
                                        .b = l->seeds[i].b,
                                        .energy = l->seeds[i].energy};
    }
    data.seeds = seeds;
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
    return viz_landscape_plot(out, &data, &style, err);
}

kern_status view_picture_session(char **text, const view_picture *picture, const view_settings *s,
                                 kern_error *err)
{
    view_session session = {.settings = *s};
    memcpy(session.model_sha256, picture->landscape->subject->sha256, sizeof session.model_sha256);
    return view_session_write(text, &session, err);
}
