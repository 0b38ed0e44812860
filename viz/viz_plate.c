/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_plate.h"

#include <math.h>

/* The whole pixels whose centres lie in [lo, hi), as first and number. */
static void whole_pixels(double lo, double hi, double limit, double *first, size_t *count)
{
    const double from = fmax(ceil(lo - 0.5), 0.0);
    const double to = fmin(ceil(hi - 0.5), limit);
    *first = from;
    *count = to > from ? (size_t)(to - from) : 0;
}

/* True when the pixels of the target can be addressed: an image, upright and not turned. */
static bool has_pixels(cairo_t *cr, const cairo_matrix_t *m)
{
    return cairo_surface_get_type(cairo_get_target(cr)) == CAIRO_SURFACE_TYPE_IMAGE &&
           m->xy == 0.0 && m->yx == 0.0 && m->xx > 0.0 && m->yy > 0.0;
}

static void fit_surface(viz_plate *plate, cairo_t *cr, const cairo_matrix_t *m, viz_rect area)
{
    cairo_surface_t *target = cairo_get_target(cr);
    double sx;
    double sy;
    double ox;
    double oy;
    cairo_surface_get_device_scale(target, &sx, &sy);
    cairo_surface_get_device_offset(target, &ox, &oy);
    /* Page to surface pixels: (m.xx x + m.x0) scale + offset. */
    const double ax = m->xx * sx;
    const double ay = m->yy * sy;
    const double bx = m->x0 * sx + ox;
    const double by = m->y0 * sy + oy;
    double left;
    double top;
    whole_pixels(ax * area.x + bx, ax * (area.x + area.w) + bx,
                 (double)cairo_image_surface_get_width(target), &left, &plate->w);
    whole_pixels(ay * area.y + by, ay * (area.y + area.h) + by,
                 (double)cairo_image_surface_get_height(target), &top, &plate->h);
    plate->dx = 1.0 / ax;
    plate->dy = 1.0 / ay;
    plate->x = (left - bx) / ax;
    plate->y = (top - by) / ay;
    plate->own_pixels = true;
}

/* Pixels of a file's image along one side. */
static size_t side_pixels(double length, double dpi, size_t cells)
{
    const double wanted = fmax(1.0, round(length * dpi / 72.0));
    if (cells == 0) {
        return (size_t)wanted;
    }
    return cells * (size_t)fmax(1.0, round(wanted / (double)cells));
}

/* Panels of the page that show a smooth field. */
static size_t count_smooth(const viz_scene *scene)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->n_panels; i++) {
        const viz_panel *panel = &scene->panels[i];
        count += panel->n_fields > 0 && panel->fields[0].filter == VIZ_BILINEAR ? 1 : 0;
    }
    return count;
}

static void fit_file(viz_plate *plate, const viz_scene *scene, viz_rect area, viz_cells cells)
{
    const double inches = area.w * area.h / (72.0 * 72.0);
    const double most = (double)VIZ_PLATE_PIXELS / fmax(1.0, (double)count_smooth(scene));
    const double dpi = fmin(VIZ_PLATE_DPI, sqrt(most / inches));
    plate->w = side_pixels(area.w, dpi, cells.across);
    plate->h = side_pixels(area.h, dpi, cells.down);
    plate->x = area.x;
    plate->y = area.y;
    plate->dx = area.w / (double)plate->w;
    plate->dy = area.h / (double)plate->h;
}

kern_status viz_plate_init(viz_plate *plate, viz_canvas *canvas, viz_rect area, viz_cells cells,
                           bool clear, kern_error *err)
{
    cairo_matrix_t m;
    cairo_get_matrix(canvas->cr, &m);
    *plate = (viz_plate){.w = 0};
    if (!(area.w > 0.0 && area.h > 0.0)) {
        return KERN_OK;
    }
    if (has_pixels(canvas->cr, &m)) {
        fit_surface(plate, canvas->cr, &m, area);
    } else {
        fit_file(plate, canvas->scene, area, cells);
    }
    if (plate->w == 0 || plate->h == 0) {
        plate->w = plate->h = 0;
        return KERN_OK;
    }
    plate->image = cairo_image_surface_create(clear ? CAIRO_FORMAT_ARGB32 : CAIRO_FORMAT_RGB24,
                                              (int)plate->w, (int)plate->h);
    const cairo_status_t status = cairo_surface_status(plate->image);
    if (status != CAIRO_STATUS_SUCCESS) {
        const size_t w = plate->w;
        const size_t h = plate->h;
        viz_plate_fini(plate);
        return kern_raise(err, status == CAIRO_STATUS_NO_MEMORY ? KERN_NO_MEMORY : KERN_IO,
                          "an image of %zu by %zu pixels could not be made: %s", w, h,
                          cairo_status_to_string(status));
    }
    cairo_surface_flush(plate->image);
    /* Rows are aligned to four bytes at least, as cairo_format_stride_for_width says. */
    plate->pixels = (uint32_t *)(void *)cairo_image_surface_get_data(plate->image);
    plate->stride = (size_t)cairo_image_surface_get_stride(plate->image) / sizeof(uint32_t);
    return KERN_OK;
}

void viz_plate_show(viz_plate *plate, viz_canvas *canvas)
{
    cairo_t *cr = canvas->cr;
    if (plate->w > 0) {
        cairo_surface_mark_dirty(plate->image);
        cairo_save(cr);
        cairo_translate(cr, plate->x, plate->y);
        cairo_scale(cr, plate->dx, plate->dy);
        cairo_set_source_surface(cr, plate->image, 0.0, 0.0);
        cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
        /* Without antialiasing the edge pixels are painted whole where they are the surface's. */
        cairo_set_antialias(cr, plate->own_pixels ? CAIRO_ANTIALIAS_NONE : CAIRO_ANTIALIAS_DEFAULT);
        cairo_rectangle(cr, 0.0, 0.0, (double)plate->w, (double)plate->h);
        cairo_fill(cr);
        cairo_restore(cr);
    }
    viz_plate_fini(plate);
}

void viz_plate_fini(viz_plate *plate)
{
    if (plate->image != NULL) {
        cairo_surface_destroy(plate->image);
    }
    *plate = (viz_plate){.w = 0};
}
