/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_cache.h"

#include "viz/viz_draw.h"
#include "viz/viz_surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making and releasing -------------------------------------------------------------------- */

view_cache *view_cache_of(view *v)
{
    if (v->base == NULL) {
        v->base = calloc(1, sizeof *v->base);
    }
    return v->base;
}

static void drop(view_cache *c)
{
    viz_scene_destroy(c->scene);
    view_shelf_clear(&c->shelf);
    c->scene = NULL;
    c->ground = NULL;
}

void view_cache_destroy(view_cache *c)
{
    if (c != NULL) {
        drop(c);
        cairo_surface_destroy(c->strip); /* which ignores NULL */
        free(c);
    }
}

/* ---- What is to be shown --------------------------------------------------------------------- */

static void range_of(const dyn_slice_range *r, double range[4])
{
    range[0] = r->a_low;
    range[1] = r->a_high;
    range[2] = r->b_low;
    range[3] = r->b_high;
}

static bool is_set(const double range[4])
{
    return range[0] < range[1] && range[2] < range[3];
}

void view_cache_range(const view *v, double range[4])
{
    const view_landscape *l = v->picture->landscape;
    view_settings then = l->settings;
    view_stage stage;
    memcpy(then.range, v->s.range, sizeof then.range);
    then.columns = v->s.columns;
    then.levels = v->s.levels;
    then.step = v->s.step;
    /* The same plane: the old field can stand in for the one that is on its way. */
    const bool same = !view_settings_differ(&then, &v->s, &stage) || stage > VIEW_STAGE_FIELD;
    if (same && is_set(v->s.range)) {
        memcpy(range, v->s.range, sizeof v->s.range);
    } else {
        range_of(&l->range, range);
    }
}

static view_ground_key key_of(const view *v, cairo_t *cr, viz_rect area, double zoom)
{
    view_ground_key key = {.picture = v->picture, .s = v->s};
    cairo_matrix_t m;
    double sx;
    double sy;
    cairo_get_matrix(cr, &m);
    cairo_surface_get_device_scale(cairo_get_target(cr), &sx, &sy);
    if (v->s.mode == VIEW_BASINS && v->basins != NULL) {
        key.basins = v->basins;
        key.basins_number = v->n_basins;
    }
    key.width = area.w / zoom;
    key.height = area.h / zoom;
    view_colours(v, &key.low, &key.high);
    view_cache_range(v, key.range);
    key.sx = m.xx * sx * zoom;
    key.sy = m.yy * sy * zoom;
    key.w = (int)ceil(area.w * m.xx * sx);
    key.h = (int)ceil(area.h * m.yy * sy);
    return key;
}

/* Whether a ground may be wanted again: what is shown, and the fields of the other steps; but not
 * what the picture shown looked like before, say from another side. */
static bool is_wanted(const void *context, const view_ground *g)
{
    const view *v = context;
    bool found = false;
    if (g->key.picture == v->picture) {
        return g == v->base->ground;
    }
    for (size_t i = 0; i < VIEW_CACHE_MAX && !found; i++) {
        found = g->key.picture == v->steps[i];
    }
    return found && (g->key.basins_number == 0 || g->key.basins_number == v->n_basins);
}

/* Points of a page's height from which its note is shown below; else it is at the side. */
#define NOTE_HEIGHT 340.0

/* ---- Making the scene and its ground --------------------------------------------------------- */

/* The map alone: the panels below it are the window's own (view_frame_dock.c). */
static kern_status make_scene(viz_scene **out, const view_ground_key *key, kern_error *err)
{
    const view_page page = {.width = key->width,
                            .height = key->height,
                            .point_out = true,
                            .low = key->low,
                            .high = key->high,
                            .basins = key->basins};
    KERN_TRY(view_picture_scene(out, key->picture, &key->s, &page, err));
    viz_scene *scene = *out;
    scene->n_panels = scene->n_panels > 0 ? 1 : 0;
    if (scene->n_panels == 1 && !scene->panels[0].surface) {
        scene->panels[0].x.lo = key->range[0];
        scene->panels[0].x.hi = key->range[1];
        scene->panels[0].y.lo = key->range[2];
        scene->panels[0].y.hi = key->range[3];
    }
    return KERN_OK;
}

/* A scene of which only the state pointed out has changed has the same ground. */
static kern_status renew(view_cache *c, const view_ground_key *key, kern_error *err)
{
    viz_scene *scene = NULL;
    KERN_TRY(make_scene(&scene, key, err));
    const char *aside = key->height < NOTE_HEIGHT ? scene->note : NULL;
    scene->note = aside != NULL ? NULL : scene->note;
    viz_scene_destroy(c->scene);
    c->scene = scene;
    c->step = key->s.step;
    c->ground = view_shelf_find(&c->shelf, key);
    if (c->ground == NULL) {
        KERN_TRY(view_shelf_add(&c->shelf, key, scene, aside, err));
        c->ground = c->shelf.grounds[0];
    }
    return KERN_OK;
}

void view_cache_update(view *v, cairo_t *cr, viz_rect area, double zoom)
{
    view_cache *c = v->base;
    kern_error err = {0};
    if (v->picture == NULL) {
        drop(c);
        return;
    }
    const view_ground_key key = key_of(v, cr, area, zoom);
    c->zoom = zoom;
    if (c->scene != NULL && c->step == key.s.step &&
        view_shelf_find(&c->shelf, &key) == c->ground) {
        return;
    }
    c->why = (kern_error){0};
    if (renew(c, &key, &err) != KERN_OK) {
        drop(c);
        c->why = err;
    }
    view_shelf_sweep(&c->shelf, is_wanted, v);
}

/* ---- Drawing --------------------------------------------------------------------------------- */

static void paint_image(const view_cache *c, cairo_t *cr, viz_rect area, cairo_surface_t *image)
{
    cairo_save(cr);
    cairo_translate(cr, area.x, area.y);
    cairo_scale(cr, c->zoom / c->ground->key.sx, c->zoom / c->ground->key.sy);
    cairo_set_source_surface(cr, image, 0.0, 0.0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cr, 0.0, 0.0, (double)c->ground->key.w, (double)c->ground->key.h);
    cairo_fill(cr);
    cairo_restore(cr);
}

kern_status view_cache_draw(view_cache *c, cairo_t *cr, viz_rect area, kern_error *err)
{
    cairo_save(cr);
    cairo_rectangle(cr, area.x, area.y, area.w, area.h);
    cairo_clip(cr);
    paint_image(c, cr, area, c->ground->base);
    cairo_save(cr);
    cairo_translate(cr, area.x, area.y);
    cairo_scale(cr, c->zoom, c->zoom);
    const kern_status status =
        viz_draw_layers(cr, c->scene, c->ground->layout, VIZ_DRAW_OVER, NULL, err);
    cairo_restore(cr);
    paint_image(c, cr, area, c->ground->around);
    cairo_restore(cr);
    return status;
}

/* ---- Places ---------------------------------------------------------------------------------- */

bool view_cache_place(const view_cache *c, double x, double y, double place[2])
{
    place[0] = place[1] = (double)NAN;
    if (c->scene == NULL || c->scene->panels[0].surface) {
        return false;
    }
    const viz_panel *panel = &c->scene->panels[0];
    const viz_rect plot = c->ground->layout->frames[0].plot;
    const double across = (x / c->zoom - plot.x) / plot.w;
    const double up = 1.0 - (y / c->zoom - plot.y) / plot.h;
    if (!(across >= 0.0 && across <= 1.0 && up >= 0.0 && up <= 1.0)) {
        return false;
    }
    place[0] = panel->x.lo + across * (panel->x.hi - panel->x.lo);
    place[1] = panel->y.lo + up * (panel->y.hi - panel->y.lo);
    return true;
}

bool view_cache_point(const view_cache *c, double a, double b, double energy, double at[2])
{
    if (c->scene == NULL) {
        return false;
    }
    const viz_panel *panel = &c->scene->panels[0];
    const viz_frame *frame = &c->ground->layout->frames[0];
    if (panel->surface) {
        if (!viz_surface_point(panel, frame, a, b, energy, &at[0], &at[1])) {
            return false;
        }
    } else if (viz_scene_drawable(panel, a, b)) {
        at[0] = viz_layout_x(frame, &panel->x, a);
        at[1] = viz_layout_y(frame, &panel->y, b);
    } else {
        return false;
    }
    at[0] *= c->zoom;
    at[1] *= c->zoom;
    return true;
}

double view_cache_energy(const view_cache *c, const double place[2])
{
    const dyn_slice_field *f = &c->ground->key.picture->field;
    const double last[2] = {(double)(f->columns - 1), (double)(f->rows - 1)};
    const double i = last[0] * (place[0] - f->range.a_low) / (f->range.a_high - f->range.a_low);
    const double j = last[1] * (place[1] - f->range.b_low) / (f->range.b_high - f->range.b_low);
    if (!(i >= 0.0 && i <= last[0] && j >= 0.0 && j <= last[1])) {
        return (double)NAN;
    }
    const double i0 = fmin(floor(i), fmax(last[0] - 1.0, 0.0));
    const double j0 = fmin(floor(j), fmax(last[1] - 1.0, 0.0));
    const size_t right = f->columns > 1 ? 1 : 0;
    const size_t above = f->rows > 1 ? f->columns : 0;
    const double *e = f->values + (size_t)j0 * f->columns + (size_t)i0;
    const double low = e[0] + (i - i0) * (e[right] - e[0]);
    const double high = e[above] + (i - i0) * (e[above + right] - e[above]);
    return low + (j - j0) * (high - low);
}

/* ---- Energies of the tokens ------------------------------------------------------------------ */

const double *view_cache_energies(const view *v, size_t step)
{
    const view_landscape *l = v->picture != NULL ? v->picture->landscape : NULL;
    return l != NULL && l->subject == v->subject && step < l->path.n
               ? l->by_token + step * l->subject->n
               : NULL;
}
