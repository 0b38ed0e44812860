/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_ground.h"

#include "viz/viz_draw.h"

#include <stdlib.h>
#include <string.h>

/* Of the images on a shelf: some thirty of a window of 1280 × 800, seven of one of twice that. */
#define SHELF_BYTES 0x1p27

/* What a note beside the colour bar takes at least, and its distance from that. */
#define SIDE_WIDTH 80.0
#define SIDE_GAP   12.0

/* How far, in pixels, what is round may be off while it is soon drawn anew. */
#define SKETCH_TOLERANCE 0.5

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Whether two settings look alike, wherever on the trajectory one is. */
static bool same_looks(const view_settings *a, const view_settings *b)
{
    char x[VIEW_TEXT];
    char y[VIEW_TEXT];
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const view_field *field = view_field_at(i);
        if (field->stage != VIEW_STAGE_SCENE || field->offset == offsetof(view_settings, step)) {
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

/* Numbers first: they tell nearly all keys apart, and settings are compared as texts. */
static bool same(const view_ground_key *a, const view_ground_key *b)
{
    return a->picture == b->picture && a->basins_number == b->basins_number &&
           a->width == b->width && a->height == b->height && a->low == b->low &&
           a->high == b->high && memcmp(a->range, b->range, sizeof a->range) == 0 &&
           a->sx == b->sx && a->sy == b->sy && a->w == b->w && a->h == b->h &&
           same_looks(&a->s, &b->s);
}

/* ---- Drawing --------------------------------------------------------------------------------- */

/* The note of a low page, in what is free at the right when there is enough. */
static kern_status draw_side_note(const view_ground *g, cairo_t *cr, const viz_scene *scene,
                                  const char *note, kern_error *err)
{
    const viz_layout *l = g->layout;
    const double left = l->bar.x + l->bar_width + SIDE_GAP;
    const viz_place place = {.x = left, .y = l->bar.y, .wrap = g->key.width - VIZ_PAGE_PAD - left};
    double width;
    double height;
    viz_canvas canvas;
    if (note == NULL || l->bar_width == 0.0 || place.wrap < SIDE_WIDTH) {
        return KERN_OK;
    }
    KERN_TRY(viz_canvas_init(&canvas, cr, scene, NULL, err));
    viz_canvas_measure(&canvas, VIZ_ROLE_NOTE, note, place.wrap, &width, &height);
    if (place.y + height <= g->key.height) {
        viz_canvas_text(&canvas, VIZ_ROLE_NOTE, note, &place);
    }
    viz_canvas_fini(&canvas);
    return KERN_OK;
}

static void paint_page(cairo_t *cr, const viz_scene *scene)
{
    const viz_paint paint = viz_paint_of(VIZ_PAINT_PAGE);
    const viz_rgb page = viz_colour_resolve(&paint, scene->theme);
    cairo_set_source_rgb(cr, page.r, page.g, page.b);
    cairo_paint(cr);
}

/* A context for an image in pixels whose units are points of the page. */
static cairo_t *begin_image(cairo_surface_t **image, const view_ground_key *key, bool opaque)
{
    *image = cairo_image_surface_create(opaque ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32, key->w,
                                        key->h);
    cairo_t *cr = cairo_create(*image);
    cairo_scale(cr, key->sx, key->sy);
    if (key->picture->sketch) {
        cairo_set_antialias(cr, CAIRO_ANTIALIAS_FAST); /* of lines that are soon drawn anew */
        cairo_set_tolerance(cr, SKETCH_TOLERANCE);
    }
    return cr;
}

static kern_status draw_base(view_ground *g, const viz_scene *scene, kern_error *err)
{
    cairo_t *cr = begin_image(&g->base, &g->key, true);
    paint_page(cr, scene);
    const kern_status status = viz_draw_layers(cr, scene, g->layout, VIZ_DRAW_BASE, NULL, err);
    cairo_destroy(cr);
    cairo_surface_flush(g->base);
    return status;
}

static kern_status draw_around(view_ground *g, const viz_scene *scene, const char *note,
                               kern_error *err)
{
    cairo_t *cr = begin_image(&g->around, &g->key, false);
    kern_status status = viz_draw_layers(cr, scene, g->layout, VIZ_DRAW_AROUND, NULL, err);
    status = status == KERN_OK ? draw_side_note(g, cr, scene, note, err) : status;
    cairo_destroy(cr);
    cairo_surface_flush(g->around);
    return status;
}

/* ---- Grounds --------------------------------------------------------------------------------- */

static void destroy(view_ground *g)
{
    if (g != NULL) {
        cairo_surface_destroy(g->base); /* which ignores NULL */
        cairo_surface_destroy(g->around);
        viz_layout_destroy(g->layout);
        view_picture_release(g->key.picture);
        free(g);
    }
}

static kern_status create(view_ground **out, const view_ground_key *key, const viz_scene *scene,
                          const char *note, kern_error *err)
{
    view_ground *g = calloc(1, sizeof *g);
    *out = NULL;
    if (g == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for what is drawn of a picture");
    }
    g->key = *key;
    g->key.picture = view_picture_keep(key->picture);
    kern_status status = viz_draw_layout(&g->layout, scene, err);
    status = status == KERN_OK ? draw_base(g, scene, err) : status;
    status = status == KERN_OK ? draw_around(g, scene, note, err) : status;
    if (status != KERN_OK) {
        destroy(g);
        return status;
    }
    *out = g;
    return KERN_OK;
}

/* ---- The shelf ------------------------------------------------------------------------------- */

static double bytes_of(const view_ground *g)
{
    return 2.0 * 4.0 * (double)g->key.w * (double)g->key.h;
}

/* Drops those shown longest ago until there is room for one more. */
static void make_room(view_shelf *shelf, double bytes)
{
    size_t kept = 0;
    while (kept < shelf->n && kept + 1 < VIEW_SHELF_MOST &&
           bytes + bytes_of(shelf->grounds[kept]) <= SHELF_BYTES) {
        bytes += bytes_of(shelf->grounds[kept]);
        kept++;
    }
    while (shelf->n > kept) {
        destroy(shelf->grounds[--shelf->n]);
    }
}

static void put_first(view_shelf *shelf, view_ground *g, size_t behind)
{
    memmove(shelf->grounds + 1, shelf->grounds, behind * sizeof *shelf->grounds);
    shelf->grounds[0] = g;
}

view_ground *view_shelf_find(view_shelf *shelf, const view_ground_key *key)
{
    for (size_t i = 0; i < shelf->n; i++) {
        if (same(&shelf->grounds[i]->key, key)) {
            put_first(shelf, shelf->grounds[i], i);
            return shelf->grounds[0];
        }
    }
    return NULL;
}

kern_status view_shelf_add(view_shelf *shelf, const view_ground_key *key, const viz_scene *scene,
                           const char *note, kern_error *err)
{
    view_ground *g;
    KERN_TRY(create(&g, key, scene, note, err));
    make_room(shelf, bytes_of(g));
    put_first(shelf, g, shelf->n++);
    return KERN_OK;
}

void view_shelf_sweep(view_shelf *shelf, bool (*keeps)(const void *context, const view_ground *g),
                      const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < shelf->n; i++) {
        if (keeps(context, shelf->grounds[i])) {
            shelf->grounds[kept++] = shelf->grounds[i];
        } else {
            destroy(shelf->grounds[i]);
        }
    }
    shelf->n = kept;
}

void view_shelf_clear(view_shelf *shelf)
{
    while (shelf->n > 0) {
        destroy(shelf->grounds[--shelf->n]);
    }
}
