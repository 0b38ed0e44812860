/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_raster.h"

#include "kernels/kern_size.h"
#include "viz/viz_hatch.h"
#include "viz/viz_plate.h"

#include <math.h>
#include <stdlib.h>

/* Where the pixels of one direction fall on a lattice: between samples `at` and `at + 1`, the
 * share `part` of the way; after rounding for VIZ_NEAREST, part is 0. */
typedef struct track {
    size_t *at;
    double *part;
} track;

static kern_status refused(kern_error *err)
{
    return kern_raise(err, KERN_NO_MEMORY, "memory for the pixels of a figure was refused");
}

static kern_status track_init(track *t, size_t n, kern_error *err)
{
    t->at = calloc(n, sizeof *t->at);
    t->part = calloc(n, sizeof *t->part);
    return t->at != NULL && t->part != NULL ? KERN_OK : refused(err);
}

static void track_fini(track *t)
{
    free(t->at);
    free(t->part);
}

static double axis_value(const viz_axis *axis, double share)
{
    return axis->log ? axis->lo * pow(axis->hi / axis->lo, share)
                     : axis->lo + share * (axis->hi - axis->lo);
}

/* One direction of a lattice. */
typedef struct side {
    size_t n;
    double lo, hi; /* of its first and last sample */
} side;

/* Fills a track: pixel k has the share from + k · step of the axis. */
static void track_fill(track *t, size_t n, const viz_axis *axis, double from, double step,
                       const side *s, viz_filter filter)
{
    const double last = (double)(s->n - 1);
    for (size_t k = 0; k < n; k++) {
        const double value = axis_value(axis, from + (double)k * step);
        double place = s->n > 1 ? (value - s->lo) / (s->hi - s->lo) * last : 0.0;
        place = fmin(fmax(place, 0.0), last);
        if (filter == VIZ_NEAREST) {
            place = fmin(floor(place + 0.5), last);
        }
        const double cell = fmin(floor(place), fmax(last - 1.0, 0.0));
        t->at[k] = (size_t)cell;
        t->part[k] = place - cell;
    }
}

/* A layer under construction: plate, tracks, and what the lattice covers. */
typedef struct layer {
    viz_plate plate;
    track x, y;
} layer;

static void layer_fini(layer *l)
{
    track_fini(&l->x);
    track_fini(&l->y);
    viz_plate_fini(&l->plate);
}

static double clipped(const viz_axis *axis, double value)
{
    return fmin(fmax(value, axis->lo), axis->hi);
}

/* Area of the plot that the lattice covers, and whether all of its cells are seen whole. */
static viz_rect covered(const viz_panel *panel, const viz_frame *frame, const viz_lattice *lattice,
                        viz_filter filter, bool *whole)
{
    viz_panel cover = {.x = panel->x, .y = panel->y};
    viz_scene_fit_lattice(&cover, lattice, filter);
    const double x0 = clipped(&panel->x, cover.x.lo);
    const double x1 = clipped(&panel->x, cover.x.hi);
    const double y0 = clipped(&panel->y, cover.y.lo);
    const double y1 = clipped(&panel->y, cover.y.hi);
    *whole = filter == VIZ_NEAREST && !panel->x.log && !panel->y.log && x0 == cover.x.lo &&
             x1 == cover.x.hi && y0 == cover.y.lo && y1 == cover.y.hi;
    viz_rect area = {.x = viz_layout_x(frame, &panel->x, x0),
                     .y = viz_layout_y(frame, &panel->y, y1)};
    area.w = viz_layout_x(frame, &panel->x, x1) - area.x;
    area.h = viz_layout_y(frame, &panel->y, y0) - area.y;
    return area;
}

static kern_status layer_init(layer *l, viz_canvas *canvas, const viz_panel *panel,
                              const viz_frame *frame, const viz_lattice *lattice, viz_filter filter,
                              bool clear, kern_error *err)
{
    const viz_rect plot = frame->plot;
    bool whole;
    *l = (layer){.plate = {.w = 0}};
    const viz_rect area = covered(panel, frame, lattice, filter, &whole);
    const viz_cells cells = {whole ? lattice->nx : 0, whole ? lattice->ny : 0};
    KERN_TRY(viz_plate_init(&l->plate, canvas, area, cells, clear, err));
    if (l->plate.w == 0) {
        return KERN_OK;
    }
    KERN_TRY(track_init(&l->x, l->plate.w, err));
    KERN_TRY(track_init(&l->y, l->plate.h, err));
    const viz_plate *p = &l->plate;
    const side across = {lattice->nx, lattice->x0, lattice->x1};
    const side up = {lattice->ny, lattice->y0, lattice->y1};
    track_fill(&l->x, p->w, &panel->x, (p->x + 0.5 * p->dx - plot.x) / plot.w, p->dx / plot.w,
               &across, filter);
    track_fill(&l->y, p->h, &panel->y, 1.0 - (p->y + 0.5 * p->dy - plot.y) / plot.h,
               -p->dy / plot.h, &up, filter);
    return KERN_OK;
}

/* Places of all values in units of table entries; NaN where a value has none. */
static double *table_places(const viz_field *field)
{
    const size_t n = field->lattice.nx * field->lattice.ny;
    double *place = calloc(n + field->lattice.nx, sizeof *place);
    if (place == NULL) {
        return NULL;
    }
    const double lo = viz_scale_transform(&field->scale, field->scale.lo);
    const double hi = viz_scale_transform(&field->scale, field->scale.hi);
    const double factor = (double)(VIZ_TABLE_SIZE - 1) / (hi - lo);
    for (size_t k = 0; k < n; k++) {
        place[k] = (viz_scale_transform(&field->scale, field->values[k]) - lo) * factor;
    }
    return place;
}

/* Table of a field's pixels: a map's colours, or one colour at every opacity, premultiplied. */
static void fill_table(uint32_t table[VIZ_TABLE_SIZE], const viz_field *field, viz_theme theme)
{
    if (!field->ink) {
        viz_colour_table(table, field->scale.map);
        return;
    }
    const viz_rgb c = viz_colour_resolve(&field->paint, theme);
    for (int k = 0; k < VIZ_TABLE_SIZE; k++) {
        const double a = k / (VIZ_TABLE_SIZE - 1.0);
        const uint32_t opaque = viz_colour_pixel((viz_rgb){a * c.r, a * c.g, a * c.b});
        table[k] = (opaque & 0xffffffu) | (uint32_t)lround(255.0 * a) << 24;
    }
}

static uint32_t table_pixel(const uint32_t *table, double place, uint32_t missing)
{
    const double most = (double)(VIZ_TABLE_SIZE - 1);
    if (place > 0.0 && place < most) {
        return table[(size_t)(place + 0.5)];
    }
    if (place >= most) {
        return table[VIZ_TABLE_SIZE - 1];
    }
    return place <= 0.0 ? table[0] : missing; /* what fails all comparisons is NaN */
}

/* Mean of two values in which a share of 0 or 1 takes one of them whole, NaN or not. */
static double between(double a, double b, double part)
{
    return part == 0.0 ? a : (part == 1.0 ? b : a + part * (b - a));
}

/* `nearest` is the row of samples that stands in where a mean has no value, or NULL. */
static void paint_row(const layer *l, size_t j, const double *row, const double *nearest,
                      const uint32_t *table, uint32_t missing, size_t nx)
{
    uint32_t *out = l->plate.pixels + j * l->plate.stride;
    for (size_t i = 0; i < l->plate.w; i++) {
        const size_t at = l->x.at[i];
        const size_t next = at + 1 < nx ? at + 1 : at;
        double place = between(row[at], row[next], l->x.part[i]);
        if (nearest != NULL && isnan(place)) {
            place = nearest[l->x.part[i] > 0.5 ? next : at];
        }
        out[i] = table_pixel(table, place, missing);
    }
}

/* Samples that pixel k of n stands for: its own and those before the next pixel's. */
static void samples_of(const track *t, size_t k, size_t n, size_t *from, size_t *to)
{
    const size_t here = t->at[k] + (t->part[k] > 0.5 ? 1 : 0);
    const size_t next = k + 1 < n ? t->at[k + 1] + (t->part[k + 1] > 0.5 ? 1 : 0) : here;
    *from = here < next ? here : (next < here ? next + 1 : here);
    *to = here < next ? next : here + 1;
}

static double largest(const double *place, size_t nx, const size_t x[2], const size_t y[2])
{
    double most = (double)NAN;
    for (size_t j = y[0]; j < y[1]; j++) {
        for (size_t i = x[0]; i < x[1]; i++) {
            most = fmax(most, place[j * nx + i]); /* the one that is not NaN */
        }
    }
    return most;
}

static kern_status paint_points(layer *l, const viz_field *field, viz_theme theme, kern_error *err)
{
    uint32_t table[VIZ_TABLE_SIZE];
    double *place = table_places(field);
    if (place == NULL) {
        return refused(err);
    }
    fill_table(table, field, theme);
    for (size_t j = 0; j < l->plate.h; j++) {
        size_t x[2];
        size_t y[2];
        samples_of(&l->y, j, l->plate.h, &y[0], &y[1]);
        for (size_t i = 0; i < l->plate.w; i++) {
            samples_of(&l->x, i, l->plate.w, &x[0], &x[1]);
            l->plate.pixels[j * l->plate.stride + i] =
                table_pixel(table, largest(place, field->lattice.nx, x, y), 0);
        }
    }
    free(place);
    return KERN_OK;
}

static kern_status paint_field(layer *l, const viz_field *field, viz_theme theme, kern_error *err)
{
    const size_t nx = field->lattice.nx;
    const size_t ny = field->lattice.ny;
    const uint32_t missing =
        field->ink || field->bare ? 0 : viz_colour_pixel(viz_colour_missing(theme));
    uint32_t table[VIZ_TABLE_SIZE];
    double *place = table_places(field);
    if (place == NULL) {
        return refused(err);
    }
    double *row = place + nx * ny;
    fill_table(table, field, theme);
    for (size_t j = 0; j < l->plate.h; j++) {
        const double *below = place + l->y.at[j] * nx;
        const double *above = l->y.at[j] + 1 < ny ? below + nx : below;
        for (size_t i = 0; i < nx; i++) {
            row[i] = between(below[i], above[i], l->y.part[j]);
        }
        const double *nearest = l->y.part[j] > 0.5 ? above : below;
        paint_row(l, j, row, field->bare ? nearest : NULL, table, missing, nx);
    }
    free(place);
    return KERN_OK;
}

static kern_status draw_field(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                              const viz_field *field, kern_error *err)
{
    layer l;
    kern_status status = layer_init(&l, canvas, panel, frame, &field->lattice, field->filter,
                                    field->ink || field->bare, err);
    if (status == KERN_OK && l.plate.w > 0) {
        status = field->ink && field->filter == VIZ_NEAREST
                     ? paint_points(&l, field, canvas->scene->theme, err)
                     : paint_field(&l, field, canvas->scene->theme, err);
        if (status == KERN_OK) {
            viz_plate_show(&l.plate, canvas);
        }
    }
    layer_fini(&l);
    return status;
}

/* Index of every cell's class; n_classes where a label has none. */
static unsigned char *class_indices(const viz_classes *map)
{
    const size_t n = map->lattice.nx * map->lattice.ny;
    unsigned char *index = calloc(n, 1);
    for (size_t k = 0; index != NULL && k < n; k++) {
        size_t c = 0;
        while (c < map->n_classes && map->classes[c].label != map->labels[k]) {
            c++;
        }
        index[k] = (unsigned char)c;
    }
    return index;
}

static double light_of(const viz_classes *map, size_t cell)
{
    if (map->light == NULL) {
        return 1.0;
    }
    const double light = map->light[cell];
    return light >= 0.0 ? 2.0 / 3.0 + fmin(light, 1.0) / 3.0 : 1.0;
}

static void paint_classes(layer *l, const viz_classes *map, const unsigned char *index,
                          const viz_hatch_ink *inks)
{
    const viz_plate *p = &l->plate;
    for (size_t j = 0; j < p->h; j++) {
        uint32_t *out = p->pixels + j * p->stride;
        const double y = p->y + ((double)j + 0.5) * p->dy;
        const size_t row = l->y.at[j] + (l->y.part[j] > 0.5 ? 1 : 0);
        for (size_t i = 0; i < p->w; i++) {
            const size_t column = l->x.at[i] + (l->x.part[i] > 0.5 ? 1 : 0);
            const size_t cell = row * map->lattice.nx + column;
            const double x = p->x + ((double)i + 0.5) * p->dx;
            out[i] = viz_hatch_pixel(&inks[index[cell]], x, y, p->dx, light_of(map, cell));
        }
    }
}

static kern_status draw_classes(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                                const viz_classes *map, kern_error *err)
{
    layer l;
    viz_hatch_ink inks[VIZ_CLASSES_MAX + 1];
    for (size_t c = 0; c < map->n_classes; c++) {
        inks[c] = viz_hatch_ink_of(&map->classes[c], canvas->scene->theme);
    }
    inks[map->n_classes] = viz_hatch_missing(canvas->scene->theme);
    unsigned char *index = class_indices(map);
    if (index == NULL) {
        return refused(err);
    }
    const kern_status status =
        layer_init(&l, canvas, panel, frame, &map->lattice, VIZ_NEAREST, false, err);
    if (status == KERN_OK && l.plate.w > 0) {
        paint_classes(&l, map, index, inks);
        viz_plate_show(&l.plate, canvas);
    }
    layer_fini(&l);
    free(index);
    return status;
}

kern_status viz_raster_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                            kern_error *err)
{
    for (size_t i = 0; i < panel->n_fields; i++) {
        KERN_TRY(draw_field(canvas, panel, frame, &panel->fields[i], err));
    }
    for (size_t i = 0; i < panel->n_classes; i++) {
        KERN_TRY(draw_classes(canvas, panel, frame, &panel->classes[i], err));
    }
    return KERN_OK;
}

kern_status viz_raster_swatch(viz_canvas *canvas, const viz_class *class, viz_rect box,
                              kern_error *err)
{
    viz_plate plate;
    const viz_hatch_ink ink = viz_hatch_ink_of(class, canvas->scene->theme);
    KERN_TRY(viz_plate_init(&plate, canvas, box, (viz_cells){0, 0}, false, err));
    for (size_t j = 0; j < plate.h; j++) {
        for (size_t i = 0; i < plate.w; i++) {
            const double x = plate.x + ((double)i + 0.5) * plate.dx;
            const double y = plate.y + ((double)j + 0.5) * plate.dy;
            plate.pixels[j * plate.stride + i] = viz_hatch_pixel(&ink, x, y, plate.dx, 1.0);
        }
    }
    viz_plate_show(&plate, canvas);
    return KERN_OK;
}
