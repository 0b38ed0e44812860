/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_panels.h"

#include "viz/view/view_landscape_rim.h"
#include "viz/view/view_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Height over width of what is drawn. */
#define ASPECT 0.625

/* How far a line may be from its vertices, in points: a fifth of a line's width. */
#define LINE_TOLERANCE 0.08

/* ---- What can be drawn ----------------------------------------------------------------------- */

static const char *plane_name(const view_settings *s)
{
    return dyn_plane_kind_name(dyn_plane_kind_at((size_t)s->plane));
}

kern_status view_panels_check(const view_settings *s, kern_error *err)
{
    const char *plane = plane_name(s);
    const char *single = s->mode != VIEW_MAP ? "mode"
                         : s->quadratic      ? "quadratic"
                         : s->n_seeds > 0    ? "seeds"
                         : s->n_also > 0     ? "also"
                                             : NULL;
    if (strcmp(plane, "random") != 0 && strcmp(plane, "relative") != 0 &&
        strcmp(plane, "tokens") != 0) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "panels is %zu and plane is %s; accepted are planes of random directions: "
            "random, relative and tokens",
            s->panels, plane);
    }
    if (single != NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is about the figure of a single plane; panels is %zu, which draws "
                          "the map and the trajectory of each",
                          single, s->panels);
    }
    return KERN_OK;
}

/* ---- Landscapes and their range -------------------------------------------------------------- */

static kern_status follow(view_panels *p, view_subject *subject, int workers,
                          view_cancelled *cancelled, void *context, kern_error *err)
{
    view_settings s = p->settings;
    for (size_t i = 0; i < s.panels; i++) {
        view_landscape **l = &p->landscapes[i];
        s.seed = p->settings.seed + i;
        KERN_TRY(view_landscape_create(l, subject, &s, workers, cancelled, context, err));
        p->n++;
        const size_t bytes = (*l)->path.n * subject->map->size * sizeof(double);
        if (bytes > VIEW_PATH_BYTES / s.panels) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "panels is %zu; the states of so many planes take %zu MiB each, and "
                              "accepted are %zu MiB together",
                              s.panels, bytes >> 20, VIEW_PATH_BYTES >> 20);
        }
        const view_path *path = &(*l)->path;
        p->held[i] = viz_planes_held(path->distance, path->residual, path->n);
    }
    return KERN_OK;
}

/* What all planes take, with the shorter side widened to 8:5. Nobody else holds the landscapes. */
static void share_range(view_panels *p)
{
    dyn_slice_range r = p->landscapes[0]->range;
    if (p->landscapes[0]->custom_range) {
        return;
    }
    for (size_t i = 1; i < p->n; i++) {
        const dyn_slice_range *own = &p->landscapes[i]->range;
        r.a_low = fmin(r.a_low, own->a_low);
        r.a_high = fmax(r.a_high, own->a_high);
        r.b_low = fmin(r.b_low, own->b_low);
        r.b_high = fmax(r.b_high, own->b_high);
    }
    const double half = 0.5 * fmax(r.a_high - r.a_low, (r.b_high - r.b_low) / ASPECT);
    const double across = 0.5 * (r.a_low + r.a_high);
    const double up = 0.5 * (r.b_low + r.b_high);
    r = (dyn_slice_range){across - half, across + half, up - ASPECT * half, up + ASPECT * half};
    for (size_t i = 0; i < p->n; i++) {
        p->landscapes[i]->range = r;
    }
}

/* ---- Fields and contours --------------------------------------------------------------------- */

static kern_status sample(view_panels *p, int workers, dyn_progress *progress, void *context,
                          kern_error *err)
{
    const view_settings *s = &p->settings;
    const size_t rows = (5 * s->columns + 4) / 8 > 1 ? (5 * s->columns + 4) / 8 : 2;
    p->low = (double)INFINITY;
    p->high = -(double)INFINITY;
    for (size_t i = 0; i < p->n; i++) {
        const view_landscape *l = p->landscapes[i];
        dyn_slice_field *f = &p->fields[i];
        KERN_TRY(dyn_slice_field_init(f, s->columns, rows, &l->range, err));
        KERN_TRY(dyn_slice_compute(f, &l->source, workers, progress, context, err));
        KERN_TRY(view_landscape_check_field(l, f, err));
        p->low = fmin(p->low, f->low);
        p->high = fmax(p->high, f->high);
    }
    if (s->low < s->high) {
        p->low = s->low;
        p->high = s->high;
    }
    if (!(p->low < p->high)) { /* no finite energy, or the same everywhere */
        const double middle = isfinite(p->low) ? p->low : 0.0;
        p->low = middle - fmax(0.5, 1e-6 * fabs(middle));
        p->high = middle + fmax(0.5, 1e-6 * fabs(middle));
    }
    return KERN_OK;
}

static viz_lattice lattice_of(const dyn_slice_field *f)
{
    return (viz_lattice){.nx = f->columns,
                         .ny = f->rows,
                         .x0 = f->range.a_low,
                         .x1 = f->range.a_high,
                         .y0 = f->range.b_low,
                         .y1 = f->range.b_high};
}

static void ask_source(void *context, size_t n, const double *x, const double *y, double *v)
{
    const dyn_slice_source *source = context;
    source->energies(source->context, 0, n, x, y, v);
}

/* Width of a map on a page of two columns of text, about, in points: what stands beside it leaves
 * it the less, the more of them share the page. */
static double map_width(size_t n)
{
    static const double widths[] = {[2] = 196.0, [3] = 121.0, [4] = 81.0};
    return widths[viz_planes_columns(n, viz_scene_points(VIZ_DOUBLE_COLUMN_MM))];
}

/* The same levels on all planes. */
static kern_status trace(view_panels *p, kern_error *err)
{
    double levels[VIZ_CONTOUR_LEVELS_MAX];
    const size_t most = p->settings.levels;
    const size_t n = most > 0 ? viz_contour_round_levels(p->low, p->high, most, levels) : 0;
    for (size_t i = 0; i < p->n; i++) {
        const viz_lattice lattice = lattice_of(&p->fields[i]);
        const double points = map_width(p->n) / (lattice.x1 - lattice.x0);
        const viz_contour_options o = {.levels = levels,
                                       .n_levels = n,
                                       .values = ask_source,
                                       .context = &p->landscapes[i]->source};
        KERN_TRY(viz_contours_init(&p->contours[i], &lattice, p->fields[i].values, &o, err));
        KERN_TRY(viz_contours_simplify(&p->contours[i], points, points, LINE_TOLERANCE, err));
    }
    return KERN_OK;
}

/* ---- Making and releasing -------------------------------------------------------------------- */

void view_panels_destroy(view_panels *panels)
{
    for (size_t i = 0; panels != NULL && i < VIZ_PLANES_MAX; i++) {
        viz_contours_fini(&panels->contours[i]);
        dyn_slice_field_fini(&panels->fields[i]);
        view_landscape_release(panels->landscapes[i]);
    }
    free(panels);
}

kern_status view_panels_create(view_panels **out, view_subject *subject,
                               const view_settings *settings, int workers,
                               view_cancelled *cancelled, dyn_progress *progress, void *context,
                               kern_error *err)
{
    *out = NULL;
    KERN_TRY(view_panels_check(settings, err));
    view_panels *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for panels");
    }
    p->settings = *settings;
    kern_status status = follow(p, subject, workers, cancelled, context, err);
    if (status == KERN_OK) {
        share_range(p);
        status = sample(p, workers, progress, context, err);
    }
    status = status == KERN_OK ? trace(p, err) : status;
    if (status != KERN_OK) {
        view_panels_destroy(p);
        return status;
    }
    *out = p;
    return KERN_OK;
}

/* ---- Scene and session ----------------------------------------------------------------------- */

/* The words of the first plane, with the seeds of all. */
static void describe(const view_panels *p, char out[VIEW_NOTE])
{
    char text[VIEW_NOTE];
    char one[48];
    const unsigned long long seed = p->settings.seed;
    view_words_describe(p->landscapes[0], text);
    (void)snprintf(one, sizeof one, "(seed %llu)", seed);
    const char *at = strstr(text, one);
    if (at == NULL) {
        memcpy(out, text, sizeof text);
        return;
    }
    (void)snprintf(out, VIEW_NOTE, "%.*s(seeds %llu to %llu)%s", (int)(at - text), text, seed,
                   seed + p->n - 1, at + strlen(one));
}

/* The axis without "random", which the note says of all planes. */
static void name_axis(const view_panels *p, int axis, char out[VIEW_LABEL])
{
    static const char word[] = "random ";
    char text[VIEW_LABEL];
    view_words_axis(p->landscapes[0], axis, text);
    const char *at = strstr(text, word);
    (void)snprintf(out, VIEW_LABEL, "%s", at != NULL ? at + sizeof word - 1 : text);
}

static viz_planes_plane plane_of(const view_panels *p, size_t i)
{
    const view_landscape *l = p->landscapes[i];
    return (viz_planes_plane){.seed = p->settings.seed + i,
                              .values = p->fields[i].values,
                              .n_outside = p->fields[i].n_outside,
                              .n_rim = l->n_rim,
                              .rim_a = l->rim_a,
                              .rim_b = l->rim_b,
                              .contours = &p->contours[i],
                              .a = l->path.a,
                              .b = l->path.b,
                              .distance = l->path.distance,
                              .residual = l->path.residual};
}

kern_status view_panels_scene(viz_scene **out, const view_panels *panels, const view_page *page,
                              kern_error *err)
{
    const view_landscape *first = panels->landscapes[0];
    viz_planes_plane planes[VIZ_PLANES_MAX];
    char axes[2][VIEW_LABEL];
    char energy[VIEW_LABEL];
    char title[2 * VIEW_LABEL];
    char text[VIEW_NOTE];
    view_words_title(first, title);
    view_words_energy(first, energy);
    name_axis(panels, 0, axes[0]);
    name_axis(panels, 1, axes[1]);
    describe(panels, text);
    for (size_t i = 0; i < panels->n; i++) {
        planes[i] = plane_of(panels, i);
    }
    const viz_planes_data data = {.n = panels->n,
                                  .planes = planes,
                                  .lattice = lattice_of(&panels->fields[0]),
                                  .map = (viz_map)panels->settings.map,
                                  .low = panels->low,
                                  .high = panels->high,
                                  .axis = {axes[0], axes[1]},
                                  .energy_label = energy,
                                  .description = text,
                                  .n_states = first->path.n,
                                  .energy = first->path.energy};
    const viz_plot_style style = {.width = page->width,
                                  .height = page->height,
                                  .theme = panels->settings.dark ? VIZ_DARK : VIZ_LIGHT,
                                  .title = title};
    return viz_planes_plot(out, &data, &style, err);
}

kern_status view_panels_session(char **text, const view_panels *panels, kern_error *err)
{
    view_session session = {.settings = panels->settings};
    memcpy(session.model_sha256, panels->landscapes[0]->subject->sha256,
           sizeof session.model_sha256);
    return view_session_write(text, &session, err);
}
