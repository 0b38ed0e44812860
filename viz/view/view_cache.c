/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_cache.h"

#include "viz/viz_surface.h"
#include "viz/viz_text.h"

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

static void drop_images(view_cache *c)
{
    cairo_surface_destroy(c->base); /* which ignores NULL */
    cairo_surface_destroy(c->around);
    c->base = c->around = NULL;
}

static void drop_scene(view_cache *c)
{
    drop_images(c);
    viz_layout_destroy(c->layout);
    viz_scene_destroy(c->scene);
    view_picture_release(c->key.picture);
    c->layout = NULL;
    c->scene = NULL;
    c->key.picture = NULL;
}

void view_cache_destroy(view_cache *c)
{
    if (c != NULL) {
        drop_scene(c);
        cairo_surface_destroy(c->strip);
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

/* Whether a setting that counts for a picture's looks is another. */
static bool same_looks(const view_settings *a, const view_settings *b, bool but_step)
{
    char x[VIEW_TEXT];
    char y[VIEW_TEXT];
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const view_field *field = view_field_at(i);
        if (field->stage != VIEW_STAGE_SCENE ||
            (but_step && field->offset == offsetof(view_settings, step))) {
            continue;
        }
        view_settings_show(a, field, x);
        view_settings_show(b, field, y);
        if (strcmp(x, y) != 0) {
            return false;
        }
    }
    return true;
}

static view_scene_key key_of(const view *v, cairo_t *cr, viz_rect area, double zoom)
{
    view_scene_key key = {.picture = v->picture, .s = v->s};
    cairo_matrix_t m;
    double sx;
    double sy;
    cairo_get_matrix(cr, &m);
    cairo_surface_get_device_scale(cairo_get_target(cr), &sx, &sy);
    if (v->s.mode == VIEW_BASINS && v->basins != NULL) {
        key.basins = v->basins;
        key.basins_columns = v->basins->lattice.nx;
        key.basins_open = v->basins->n_unresolved;
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

static bool same_ground(const view_scene_key *a, const view_scene_key *b)
{
    return a->picture == b->picture && a->basins == b->basins &&
           a->basins_columns == b->basins_columns && a->basins_open == b->basins_open &&
           a->width == b->width && a->height == b->height && a->low == b->low &&
           a->high == b->high && memcmp(a->range, b->range, sizeof a->range) == 0 &&
           a->sx == b->sx && a->sy == b->sy && a->w == b->w && a->h == b->h &&
           same_looks(&a->s, &b->s, true);
}

/* Points of a page's height from which its note is shown below, and what a note beside the colour
 * bar takes at least. */
#define NOTE_HEIGHT 340.0
#define SIDE_WIDTH  80.0
#define SIDE_GAP    12.0

/* How far, in pixels, what is round may be off while it is soon drawn anew. */
#define SKETCH_TOLERANCE 0.5

/* ---- Making the scene and its layers --------------------------------------------------------- */

/* The map alone: the panels below it are the window's own (view_frame_steps.c). */
static kern_status make_scene(viz_scene **out, const view_scene_key *key, kern_error *err)
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

/* The note of a low page, in what is free at the right when there is enough. */
static kern_status draw_side_note(const view_cache *c, cairo_t *cr, kern_error *err)
{
    const viz_layout *l = c->layout;
    const double left = l->bar.x + l->bar_width + SIDE_GAP;
    const viz_place place = {.x = left, .y = l->bar.y, .wrap = c->key.width - VIZ_PAGE_PAD - left};
    double width;
    double height;
    viz_canvas canvas;
    if (c->note == NULL || l->bar_width == 0.0 || place.wrap < SIDE_WIDTH) {
        return KERN_OK;
    }
    KERN_TRY(viz_canvas_init(&canvas, cr, c->scene, NULL, err));
    viz_canvas_measure(&canvas, VIZ_ROLE_NOTE, c->note, place.wrap, &width, &height);
    if (place.y + height <= c->key.height) {
        viz_canvas_text(&canvas, VIZ_ROLE_NOTE, c->note, &place);
    }
    viz_canvas_fini(&canvas);
    return KERN_OK;
}

static cairo_surface_t *make_image(const view_cache *c, unsigned layers, kern_status *status,
                                   kern_error *err)
{
    const bool opaque = (layers & VIZ_DRAW_BASE) != 0;
    cairo_surface_t *image = cairo_image_surface_create(
        opaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32, c->key.w, c->key.h);
    cairo_t *cr = cairo_create(image);
    if (opaque) {
        const viz_paint paint = viz_paint_of(VIZ_PAINT_PAGE);
        const viz_rgb page = viz_colour_resolve(&paint, c->scene->theme);
        cairo_set_source_rgb(cr, page.r, page.g, page.b);
        cairo_paint(cr);
    }
    cairo_scale(cr, c->key.sx, c->key.sy);
    if (c->key.picture->sketch) {
        cairo_set_antialias(cr, CAIRO_ANTIALIAS_FAST); /* of lines that are soon drawn anew */
        cairo_set_tolerance(cr, SKETCH_TOLERANCE);
    }
    *status = viz_draw_layers(cr, c->scene, c->layout, layers, NULL, err);
    if (*status == KERN_OK && (layers & VIZ_DRAW_AROUND) != 0) {
        *status = draw_side_note(c, cr, err);
    }
    cairo_destroy(cr);
    cairo_surface_flush(image);
    return image;
}

static kern_status draw_images(view_cache *c, kern_error *err)
{
    kern_status status;
    drop_images(c);
    c->base = make_image(c, VIZ_DRAW_BASE, &status, err);
    KERN_TRY(status);
    c->around = make_image(c, VIZ_DRAW_AROUND, &status, err);
    return status;
}

/* A scene of which only the state pointed out has changed has the same layout and images. */
static kern_status renew(view_cache *c, const view_scene_key *key, bool ground, kern_error *err)
{
    viz_scene *scene = NULL;
    KERN_TRY(make_scene(&scene, key, err));
    if (!ground) {
        drop_scene(c);
        c->key = *key;
        c->key.picture = view_picture_keep(key->picture);
    }
    viz_scene_destroy(c->scene);
    c->scene = scene;
    c->key.s = key->s;
    c->note = key->height < NOTE_HEIGHT ? scene->note : NULL;
    scene->note = c->note != NULL ? NULL : scene->note;
    if (ground) {
        return KERN_OK;
    }
    KERN_TRY(viz_draw_layout(&c->layout, scene, err));
    return draw_images(c, err);
}

void view_cache_update(view *v, cairo_t *cr, viz_rect area, double zoom)
{
    view_cache *c = v->base;
    kern_error err = {0};
    if (v->picture == NULL) {
        drop_scene(c);
        return;
    }
    const view_scene_key key = key_of(v, cr, area, zoom);
    const bool ground = c->scene != NULL && same_ground(&c->key, &key);
    c->zoom = zoom;
    if (ground && same_looks(&c->key.s, &key.s, false)) {
        return;
    }
    c->why = (kern_error){0};
    if (renew(c, &key, ground, &err) != KERN_OK) {
        drop_scene(c);
        c->why = err;
    }
}

/* ---- Drawing --------------------------------------------------------------------------------- */

static void paint_image(const view_cache *c, cairo_t *cr, viz_rect area, cairo_surface_t *image)
{
    cairo_save(cr);
    cairo_translate(cr, area.x, area.y);
    cairo_scale(cr, c->zoom / c->key.sx, c->zoom / c->key.sy);
    cairo_set_source_surface(cr, image, 0.0, 0.0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cr, 0.0, 0.0, (double)c->key.w, (double)c->key.h);
    cairo_fill(cr);
    cairo_restore(cr);
}

kern_status view_cache_draw(view_cache *c, cairo_t *cr, viz_rect area, kern_error *err)
{
    cairo_save(cr);
    cairo_rectangle(cr, area.x, area.y, area.w, area.h);
    cairo_clip(cr);
    paint_image(c, cr, area, c->base);
    cairo_save(cr);
    cairo_translate(cr, area.x, area.y);
    cairo_scale(cr, c->zoom, c->zoom);
    const kern_status status = viz_draw_layers(cr, c->scene, c->layout, VIZ_DRAW_OVER, NULL, err);
    cairo_restore(cr);
    paint_image(c, cr, area, c->around);
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
    const viz_rect plot = c->layout->frames[0].plot;
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
    const viz_frame *frame = &c->layout->frames[0];
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
    const dyn_slice_field *f = &c->key.picture->field;
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
