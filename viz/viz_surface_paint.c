/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Painting of a surface's cells into an image with twice its pixels a side, which is then averaged:
 * cells drawn one by one with smooth edges would show the seams between them.
 */
#include "viz/viz_plate.h"
#include "viz/viz_surface_internal.h"

#include <math.h>
#include <stdlib.h>

enum { FINE = 2, LEVELS_MAX = 256 };

#define LINE_WIDTH 0.6 /* of a line of equal height, in points */
#define LINE_HALO  0.9 /* of the dark line's width over the white one's */

typedef struct vertex {
    double x, y;  /* in fine pixels */
    double t;     /* place on the scale, clamped; NaN: open */
    double light; /* ½ … 1 */
} vertex;

typedef struct painter {
    viz_view view;
    viz_plate plate;
    size_t w, h;      /* fine pixels */
    uint32_t *pixels; /* w × h, premultiplied */
    uint32_t table[VIZ_TABLE_SIZE];
    double level[LEVELS_MAX]; /* places on the scale */
    size_t n_levels;
    double half_line, half_halo; /* in fine pixels */
    vertex *grid;                /* ny × nx */
} painter;

static uint32_t shaded(uint32_t colour, double light)
{
    const uint32_t share = (uint32_t)(256.0 * light + 0.5);
    const uint32_t red_blue = (((colour & 0xff00ffu) * share) >> 8) & 0xff00ffu;
    const uint32_t green = (((colour & 0x00ff00u) * share) >> 8) & 0x00ff00u;
    return 0xff000000u | red_blue | green;
}

static uint32_t mixed(uint32_t colour, double grey, double share)
{
    uint32_t out = 0xff000000u;
    for (unsigned shift = 0; shift < 24; shift += 8) {
        const double c = (double)((colour >> shift) & 255u);
        out |= (uint32_t)(c + share * (255.0 * grey - c) + 0.5) << shift;
    }
    return out;
}

/* Written out because the library's fmin and fmax are calls, and this is asked for every pixel. */
static double clamp(double v)
{
    const double up = v > 0.0 ? v : 0.0;
    return up < 1.0 ? up : 1.0;
}

/* How much of a pixel a line of the given half width covers, at this distance from its middle. */
static double cover(double half, double distance)
{
    return clamp(half + 0.5 - distance);
}

/* A triangle made ready: values are a[0] + a[1] x + a[2] y. */
typedef struct slab {
    double edge[3][3]; /* not negative inside */
    double t[3], light[3];
    double steep;          /* |∇t|, by fine pixel */
    size_t first, last;    /* levels that may be met */
    size_t x0, x1, y0, y1; /* fine pixels to look at */
} slab;

static double plane_at(const double a[3], double x, double y)
{
    return a[0] + a[1] * x + a[2] * y;
}

/* Coefficients that take the three values at the three corners. */
static void fit_plane(double a[3], const slab *s, double area, const double value[3])
{
    for (int k = 0; k < 3; k++) {
        a[k] =
            (s->edge[0][k] * value[0] + s->edge[1][k] * value[1] + s->edge[2][k] * value[2]) / area;
    }
}

static size_t pixel_of(double v, size_t n)
{
    return (size_t)fmin(fmax(v, 0.0), (double)n);
}

/* False for a triangle that covers nothing. */
static bool slab_init(slab *s, const painter *p, const vertex *const v[3])
{
    double area =
        (v[1]->x - v[0]->x) * (v[2]->y - v[0]->y) - (v[2]->x - v[0]->x) * (v[1]->y - v[0]->y);
    const double sign = area < 0.0 ? -1.0 : 1.0;
    area = fabs(area);
    if (!(area > 1e-9)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        /* Twice the signed area of the triangle with corner k replaced by the point. */
        const vertex *a = v[(k + 1) % 3];
        const vertex *b = v[(k + 2) % 3];
        s->edge[k][0] = sign * (a->x * b->y - b->x * a->y);
        s->edge[k][1] = sign * (a->y - b->y);
        s->edge[k][2] = sign * (b->x - a->x);
    }
    fit_plane(s->t, s, area, (const double[3]){v[0]->t, v[1]->t, v[2]->t});
    fit_plane(s->light, s, area, (const double[3]){v[0]->light, v[1]->light, v[2]->light});
    s->steep = sqrt(s->t[1] * s->t[1] + s->t[2] * s->t[2]);
    s->x0 = pixel_of(floor(fmin(fmin(v[0]->x, v[1]->x), v[2]->x) - 0.5), p->w);
    s->x1 = pixel_of(ceil(fmax(fmax(v[0]->x, v[1]->x), v[2]->x) + 0.5), p->w);
    s->y0 = pixel_of(floor(fmin(fmin(v[0]->y, v[1]->y), v[2]->y) - 0.5), p->h);
    s->y1 = pixel_of(ceil(fmax(fmax(v[0]->y, v[1]->y), v[2]->y) + 0.5), p->h);
    const double reach = s->steep * (p->half_halo + 1.0);
    const double low = fmin(fmin(v[0]->t, v[1]->t), v[2]->t) - reach;
    const double high = fmax(fmax(v[0]->t, v[1]->t), v[2]->t) + reach;
    for (s->first = 0; s->first < p->n_levels && p->level[s->first] < low; s->first++) {
    }
    for (s->last = s->first; s->last < p->n_levels && p->level[s->last] <= high; s->last++) {
    }
    return true;
}

static uint32_t slab_pixel(const slab *s, const painter *p, double x, double y)
{
    const double t = clamp(plane_at(s->t, x, y));
    const double light = clamp(plane_at(s->light, x, y));
    uint32_t colour = shaded(p->table[(size_t)(t * (double)(VIZ_TABLE_SIZE - 1) + 0.5)], light);
    for (size_t k = s->first; k < s->last && s->steep > 0.0; k++) {
        const double distance = fabs(t - p->level[k]) / s->steep;
        colour = mixed(colour, VIZ_HALO_GREY, cover(p->half_halo, distance));
        colour = mixed(colour, 1.0, cover(p->half_line, distance));
    }
    return colour;
}

static void paint_triangle(painter *p, const vertex *a, const vertex *b, const vertex *c)
{
    slab s;
    if (!slab_init(&s, p, (const vertex *const[3]){a, b, c})) {
        return;
    }
    for (size_t j = s.y0; j < s.y1; j++) {
        const double y = (double)j + 0.5;
        const double row[3] = {s.edge[0][0] + s.edge[0][2] * y, s.edge[1][0] + s.edge[1][2] * y,
                               s.edge[2][0] + s.edge[2][2] * y};
        uint32_t *out = p->pixels + j * p->w;
        for (size_t i = s.x0; i < s.x1; i++) {
            const double x = (double)i + 0.5;
            /* Pixels on an edge belong to both sides, which leaves no gap: the two triangles have
             * values of opposite sign there, rounding included. */
            if (row[0] + s.edge[0][1] * x >= 0.0 && row[1] + s.edge[1][1] * x >= 0.0 &&
                row[2] + s.edge[2][1] * x >= 0.0) {
                out[i] = slab_pixel(&s, p, x, y);
            }
        }
    }
}

static void place_vertex(painter *p, const double at[3], vertex *v)
{
    double page[2];
    viz_view_project(&p->view, at, page, NULL);
    v->x = (page[0] - p->plate.x) / p->plate.dx * FINE;
    v->y = (page[1] - p->plate.y) / p->plate.dy * FINE;
}

/* Derivative along one direction of the grid, in heights per unit: across both neighbours, or the
 * one that is there, or 0. */
static double slope(const double *z, size_t k, size_t i, size_t n, size_t stride, double step)
{
    const bool before = i > 0 && isfinite(z[k - stride]);
    const bool after = i + 1 < n && isfinite(z[k + stride]);
    if (before && after) {
        return (z[k + stride] - z[k - stride]) / (2.0 * step);
    }
    if (after) {
        return (z[k + stride] - z[k]) / step;
    }
    return before ? (z[k] - z[k - stride]) / step : 0.0;
}

static void place_vertices(painter *p, const double *z)
{
    const viz_lattice *l = &p->view.field->lattice;
    const double step[2] = {2.0 * p->view.half[0] / (double)(l->nx - 1),
                            2.0 * p->view.half[1] / (double)(l->ny - 1)};
    for (size_t j = 0; j < l->ny; j++) {
        for (size_t i = 0; i < l->nx; i++) {
            const size_t k = j * l->nx + i;
            vertex *v = &p->grid[k];
            const double at[3] = {(double)i * step[0] - p->view.half[0],
                                  (double)j * step[1] - p->view.half[1], z[k]};
            const double du = slope(z, k, i, l->nx, 1, step[0]);
            const double dv = slope(z, k, j, l->ny, l->nx, step[1]);
            v->t = 3.0 * z[k] + 0.5;
            v->light = 0.5 + 0.5 / sqrt(1.0 + du * du + dv * dv);
            place_vertex(p, at, v);
        }
    }
}

static void paint_cell(painter *p, size_t i, size_t j)
{
    const size_t nx = p->view.field->lattice.nx;
    const vertex *v = &p->grid[j * nx + i];
    if (isfinite(v[0].t) && isfinite(v[1].t) && isfinite(v[nx].t) && isfinite(v[nx + 1].t)) {
        paint_triangle(p, &v[0], &v[1], &v[nx + 1]);
        paint_triangle(p, &v[0], &v[nx + 1], &v[nx]);
    }
}

static void paint_cells(painter *p)
{
    const viz_lattice *l = &p->view.field->lattice;
    const bool last_far = p->view.sin_a < 0.0; /* larger x is farther */
    const bool top_far = p->view.cos_a > 0.0;
    for (size_t b = 0; b + 1 < l->ny; b++) {
        const size_t j = top_far ? l->ny - 2 - b : b;
        for (size_t a = 0; a + 1 < l->nx; a++) {
            paint_cell(p, last_far ? l->nx - 2 - a : a, j);
        }
    }
}

/* The wall below one piece of the surface's edge, from vertex k to m. */
static void paint_wall(painter *p, size_t k, size_t m)
{
    const size_t nx = p->view.field->lattice.nx;
    const viz_lattice *l = &p->view.field->lattice;
    vertex top[2] = {p->grid[k], p->grid[m]};
    if (!isfinite(top[0].t) || !isfinite(top[1].t)) {
        return;
    }
    vertex foot[2];
    const size_t place[2] = {k, m};
    for (int e = 0; e < 2; e++) {
        const double at[3] = {
            ((double)(place[e] % nx) / (double)(l->nx - 1) * 2.0 - 1.0) * p->view.half[0],
            ((double)(place[e] / nx) / (double)(l->ny - 1) * 2.0 - 1.0) * p->view.half[1],
            -1.0 / 6.0};
        foot[e] = (vertex){.light = 1.0};
        place_vertex(p, at, &foot[e]);
        top[e].t = 0.0;
        top[e].light = 1.0;
    }
    paint_triangle(p, &top[0], &top[1], &foot[0]);
    paint_triangle(p, &top[1], &foot[1], &foot[0]);
}

/* Walls are one colour without lines: the table's first entry stands in for it. */
static void paint_walls(painter *p, viz_theme theme)
{
    const viz_lattice *l = &p->view.field->lattice;
    const size_t i = p->view.sin_a > 0.0 ? l->nx - 1 : 0;
    const size_t j = p->view.cos_a > 0.0 ? 0 : l->ny - 1;
    const viz_paint page = viz_paint_of(VIZ_PAINT_PAGE);
    const viz_paint ink = viz_paint_of(VIZ_PAINT_INK);
    const viz_rgb a = viz_colour_resolve(&page, theme);
    const viz_rgb b = viz_colour_resolve(&ink, theme);
    p->n_levels = 0;
    for (int side = 0; side < 2; side++) {
        const double share = side == 0 ? 0.16 : 0.24;
        p->table[0] = viz_colour_pixel((viz_rgb){
            a.r + share * (b.r - a.r), a.g + share * (b.g - a.g), a.b + share * (b.b - a.b)});
        const size_t n = side == 0 ? l->nx : l->ny;
        for (size_t k = 0; k + 1 < n; k++) {
            const size_t from = side == 0 ? j * l->nx + k : k * l->nx + i;
            paint_wall(p, from, from + (side == 0 ? 1 : l->nx));
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void collect_levels(painter *p, const viz_panel *panel)
{
    for (size_t s = 0; s < panel->n_isolines; s++) {
        const viz_isolines *lines = &panel->isolines[s];
        for (size_t k = 0; k < lines->n_lines && p->n_levels < LEVELS_MAX; k++) {
            const double t = viz_scale_place(&p->view.field->scale, lines->level[k]);
            bool known = !(t > 0.0 && t < 1.0);
            for (size_t m = 0; m < p->n_levels && !known; m++) {
                known = p->level[m] == t;
            }
            if (!known) {
                p->level[p->n_levels++] = t;
            }
        }
    }
    qsort(p->level, p->n_levels, sizeof *p->level, by_value);
}

/* Averages the fine pixels into the plate's. */
static void condense(painter *p)
{
    for (size_t j = 0; j < p->plate.h; j++) {
        for (size_t i = 0; i < p->plate.w; i++) {
            uint32_t sum[4] = {2, 2, 2, 2};
            for (size_t k = 0; k < FINE * FINE; k++) {
                const uint32_t c = p->pixels[(FINE * j + k / FINE) * p->w + FINE * i + k % FINE];
                for (unsigned n = 0; n < 4; n++) {
                    sum[n] += (c >> (8 * n)) & 255u;
                }
            }
            p->plate.pixels[j * p->plate.stride + i] =
                sum[0] / 4 | sum[1] / 4 << 8 | sum[2] / 4 << 16 | sum[3] / 4 << 24;
        }
    }
}

static kern_status paint(painter *p, viz_canvas *canvas, const viz_panel *panel, kern_error *err)
{
    const viz_field *field = p->view.field;
    const size_t n = field->lattice.nx * field->lattice.ny;
    const double pixels_a_point = FINE / p->plate.dx;
    p->w = FINE * p->plate.w;
    p->h = FINE * p->plate.h;
    p->pixels = calloc(p->w * p->h, sizeof *p->pixels);
    p->grid = calloc(n, sizeof *p->grid);
    double *z = calloc(n, sizeof *z);
    if (p->pixels == NULL || p->grid == NULL || z == NULL) {
        free(z);
        return kern_raise(err, KERN_NO_MEMORY, "memory for the pixels of a surface was refused");
    }
    for (size_t k = 0; k < n; k++) {
        z[k] = viz_view_height(&p->view, field->values[k]);
    }
    viz_colour_table(p->table, field->scale.map);
    p->half_line = 0.5 * LINE_WIDTH * pixels_a_point;
    p->half_halo = 0.5 * (LINE_WIDTH + LINE_HALO) * pixels_a_point;
    collect_levels(p, panel);
    place_vertices(p, z);
    free(z);
    paint_cells(p);
    paint_walls(p, canvas->scene->theme);
    condense(p);
    return KERN_OK;
}

kern_status viz_surface_draw(viz_canvas *canvas, const viz_panel *panel, const viz_frame *frame,
                             kern_error *err)
{
    painter p = {.view = viz_view_of_panel(panel, frame)};
    viz_surface_floor(canvas, &p.view);
    KERN_TRY(viz_plate_init(&p.plate, canvas, frame->plot, (viz_cells){0, 0}, true, err));
    if (p.plate.w == 0) {
        return KERN_OK;
    }
    const kern_status status = paint(&p, canvas, panel, err);
    if (status == KERN_OK) {
        viz_plate_show(&p.plate, canvas);
    } else {
        viz_plate_fini(&p.plate);
    }
    free(p.pixels);
    free(p.grid);
    return status;
}
