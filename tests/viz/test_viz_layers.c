/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers of a panel: colour scales, fields as pixels, maps of classes with hatches, isolines with
 * their levels, marks, and the layout that equal units ask for.
 */
#include "viz/viz_export.h"
#include "viz/viz_hatch.h"
#include "viz/viz_layout.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/viz/test_viz_support.h"

enum { LOG_ROOM = 256, NX = 5, NY = 4 };

/* Hash of test_field_golden; changes with the colour map or the interpolation only. */
#define FIELD_GOLDEN 0xd378a4331d591f2fu

static viz_placed placed[LOG_ROOM];

static void ok(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

/* ---- Scales ------------------------------------------------------------------------------- */

static void test_scale_places(void **state)
{
    (void)state;
    const viz_scale linear = {.lo = -2.0, .hi = 6.0};
    const viz_scale logarithmic = {.kind = VIZ_SCALE_LOG, .lo = 0.01, .hi = 100.0};
    const viz_scale symmetric = {
        .kind = VIZ_SCALE_SYMLOG, .lo = -10.0, .hi = 10.0, .threshold = 0.1};
    assert_true(fabs(viz_scale_place(&linear, 0.0) - 0.25) < 1e-15);
    assert_true(viz_scale_place(&linear, 14.0) > 1.0);
    assert_true(fabs(viz_scale_place(&logarithmic, 1.0) - 0.5) < 1e-15);
    assert_true(isnan(viz_scale_place(&logarithmic, 0.0)));
    assert_true(isnan(viz_scale_place(&logarithmic, -1.0)));
    assert_true(fabs(viz_scale_place(&symmetric, 0.0) - 0.5) < 1e-15);
    /* By hand: (ln(1 + 1/0.1)/ln(1 + 10/0.1) + 1)/2. */
    assert_true(fabs(viz_scale_place(&symmetric, 1.0) - 0.5 * (log(11.0) / log(101.0) + 1.0)) <
                1e-15);
    assert_true(isnan(viz_scale_place(&linear, HUGE_VAL)));
    assert_true(isnan(viz_scale_place(&linear, (double)NAN)));
}

static void test_scale_fit(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[1001];
    viz_scale_counts counts;
    for (int i = 0; i < 999; i++) {
        values[i] = (double)(i * 7 % 999); /* 0 … 998 in another order */
    }
    values[999] = (double)NAN;
    values[1000] = -HUGE_VAL;
    viz_scale whole = {.kind = VIZ_SCALE_LINEAR};
    ok(viz_scale_fit(&whole, &counts, values, 1001, 0.0, &err), &err);
    assert_true(whole.lo == 0.0 && whole.hi == 998.0);
    assert_int_equal(counts.missing, 2);
    viz_scale robust = {.kind = VIZ_SCALE_LINEAR};
    ok(viz_scale_fit(&robust, &counts, values, 1001, VIZ_SCALE_ROBUST, &err), &err);
    assert_true(robust.lo == 10.0 && robust.hi == 988.0);
    assert_int_equal(counts.below, 10);
    assert_int_equal(counts.above, 10);
    viz_scale signedness = {.map = VIZ_MAP_BALANCE};
    const double few[3] = {-1.0, 3.0, 0.5};
    ok(viz_scale_fit(&signedness, NULL, few, 3, 0.0, &err), &err);
    assert_true(signedness.lo == -3.0 && signedness.hi == 3.0);
    viz_scale constant = {.kind = VIZ_SCALE_LOG};
    const double same[2] = {4.0, 4.0};
    ok(viz_scale_fit(&constant, NULL, same, 2, 0.0, &err), &err);
    assert_true(constant.lo == 2.0 && constant.hi == 8.0);
    viz_scale empty = {.kind = VIZ_SCALE_LINEAR};
    ok(viz_scale_fit(&empty, &counts, values + 999, 2, 0.0, &err), &err);
    assert_true(empty.lo == 0.0 && empty.hi == 1.0 && counts.missing == 2);
    assert_int_equal(viz_scale_fit(&empty, NULL, few, 3, 0.5, &err), KERN_INVALID_ARGUMENT);
}

/* ---- Fields ------------------------------------------------------------------------------- */

/* A page without texts whose panel is the field's cells, drawn at `scale` pixels a point. */
typedef struct shot {
    viz_scene *scene;
    viz_panel *panel;
    cairo_surface_t *image;
    viz_rect plot; /* in pixels, whole ones inside */
} shot;

static void shot_open(shot *s)
{
    kern_error err = {0};
    const viz_panel spec = {.x = {.lo = 0.0, .hi = 1.0}, .y = {.lo = 0.0, .hi = 1.0}};
    ok(viz_scene_create(&s->scene, 200.0, 160.0, &err), &err);
    ok(viz_scene_add_panel(&s->panel, s->scene, &spec, &err), &err);
}

static void shot_take(shot *s, double scale)
{
    kern_error err = {0};
    viz_layout *layout = NULL;
    viz_canvas canvas;
    s->image =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(200.0 * scale), (int)(160.0 * scale));
    cairo_t *cr = cairo_create(s->image);
    cairo_scale(cr, scale, scale);
    ok(viz_draw(cr, s->scene, NULL, &err), &err);
    ok(viz_canvas_init(&canvas, cr, s->scene, NULL, &err), &err);
    ok(viz_layout_create(&layout, &canvas, &err), &err);
    const viz_rect plot = layout->frames[0].plot;
    s->plot = (viz_rect){scale * plot.x, scale * plot.y, scale * plot.w, scale * plot.h};
    viz_layout_destroy(layout);
    viz_canvas_fini(&canvas);
    cairo_destroy(cr);
    cairo_surface_flush(s->image);
}

static void shot_close(shot *s)
{
    cairo_surface_destroy(s->image);
    viz_scene_destroy(s->scene);
}

/* Pixel at a share of the plot, from the left and from below. */
static uint32_t pixel_at(const shot *s, double across, double up)
{
    const int x = (int)(s->plot.x + across * s->plot.w);
    const int y = (int)(s->plot.y + (1.0 - up) * s->plot.h);
    const unsigned char *data = cairo_image_surface_get_data(s->image);
    uint32_t pixel;
    memcpy(&pixel, data + (size_t)y * (size_t)cairo_image_surface_get_stride(s->image) + 4 * x, 4);
    return pixel & 0xffffffu;
}

/* The table of a map has 1024 colours: a channel may be a level off. */
static void assert_near(uint32_t got, uint32_t want, int most)
{
    for (int shift = 0; shift < 24; shift += 8) {
        const int a = (int)(got >> shift & 255u);
        const int b = (int)(want >> shift & 255u);
        if (abs(a - b) > most) {
            fail_msg("the pixel is 0x%06x, not 0x%06x", got, want);
        }
    }
}

static void fill_field(double *values)
{
    for (size_t k = 0; k < NX * NY; k++) {
        values[k] = (double)k;
    }
    values[7] = (double)NAN;
    values[13] = HUGE_VAL;
}

/* Every sample fills its own cell with its own colour, at any resolution; what is not finite has
 * the colour of missing data. */
static void test_nearest_field(void **state)
{
    (void)state;
    static const double scales[] = {0.7, 1.0, 1.25, 3.0};
    kern_error err = {0};
    double values[NX * NY];
    fill_field(values);
    const viz_field field = {.name = "f",
                             .lattice = {NX, NY, -1.0, 1.0, 2.0, 3.0},
                             .values = values,
                             .scale = {.map = VIZ_MAP_PLASMA, .lo = 0.0, .hi = NX * NY - 1.0},
                             .filter = VIZ_NEAREST};
    for (size_t k = 0; k < sizeof scales / sizeof scales[0]; k++) {
        shot s;
        shot_open(&s);
        ok(viz_scene_add_field(s.scene, s.panel, &field, &err), &err);
        viz_scene_fit_lattice(s.panel, &field.lattice, VIZ_NEAREST);
        assert_true(s.panel->x.lo == -1.25 && s.panel->x.hi == 1.25);
        shot_take(&s, scales[k]);
        for (size_t j = 0; j < NY; j++) {
            for (size_t i = 0; i < NX; i++) {
                const viz_rgb c = viz_scale_colour(&field.scale, VIZ_LIGHT, values[j * NX + i]);
                const uint32_t want = viz_colour_pixel(c) & 0xffffffu;
                /* Near the corners of the cell, but off the axis lines. */
                for (int corner = 0; corner < 4; corner++) {
                    const double x = ((double)i + (corner & 1 ? 0.9 : 0.1)) / NX;
                    const double y = ((double)j + (corner & 2 ? 0.9 : 0.1)) / NY;
                    assert_near(pixel_at(&s, x, y), want, 1);
                }
            }
        }
        shot_close(&s);
    }
}

/* Each pixel belongs to the cell that its centre lies in: no layer is off by a pixel. */
static void test_pixels_are_in_place(void **state)
{
    (void)state;
    kern_error err = {0};
    enum { CELLS = 7 };
    double values[CELLS];
    for (size_t k = 0; k < CELLS; k++) {
        values[k] = (double)(k % 2);
    }
    const viz_field field = {.name = "f",
                             .lattice = {CELLS, 1, 0.0, 1.0, 0.0, 1.0},
                             .values = values,
                             .scale = {.map = VIZ_MAP_VIRIDIS, .lo = 0.0, .hi = 1.0},
                             .filter = VIZ_NEAREST};
    for (int k = 0; k < 5; k++) {
        shot s;
        shot_open(&s);
        ok(viz_scene_add_field(s.scene, s.panel, &field, &err), &err);
        viz_scene_fit_lattice(s.panel, &field.lattice, VIZ_NEAREST);
        shot_take(&s, 1.0 + 0.37 * k);
        for (int x = (int)s.plot.x + 2; (double)x < s.plot.x + s.plot.w - 2.0; x++) {
            const double share = ((double)x + 0.5 - s.plot.x) / s.plot.w;
            const double cell = floor(share * CELLS);
            const double edge = fabs(share * CELLS - round(share * CELLS)) * s.plot.w / CELLS;
            if (edge > 1e-6) {
                const double value = fmod(cell, 2.0);
                assert_near(pixel_at(&s, ((double)x + 0.5 - s.plot.x) / s.plot.w, 0.5),
                            viz_colour_pixel(viz_scale_colour(&field.scale, VIZ_LIGHT, value)) &
                                0xffffffu,
                            1);
            }
        }
        shot_close(&s);
    }
}

/* Between samples the value is bilinear: the colours of a plane are those of the plane. */
static void test_bilinear_field(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[NX * NY];
    shot s;
    for (size_t k = 0; k < NX * NY; k++) {
        values[k] = (double)(k % NX) / (NX - 1.0) + 2.0 * (double)(k / NX) / (NY - 1.0);
    }
    const viz_field field = {.name = "f",
                             .lattice = {NX, NY, 0.0, 1.0, 0.0, 1.0},
                             .values = values,
                             .scale = {.map = VIZ_MAP_VIRIDIS, .lo = 0.0, .hi = 3.0},
                             .filter = VIZ_BILINEAR};
    shot_open(&s);
    ok(viz_scene_add_field(s.scene, s.panel, &field, &err), &err);
    viz_scene_fit_lattice(s.panel, &field.lattice, VIZ_BILINEAR);
    shot_take(&s, 2.0);
    for (int k = 1; k < 20; k++) {
        const double x = k / 20.0;
        const double y = fmod(0.37 * k, 0.9) + 0.05;
        const uint32_t got = pixel_at(&s, x, y);
        const uint32_t want =
            viz_colour_pixel(viz_scale_colour(&field.scale, VIZ_LIGHT, x + 2.0 * y));
        /* A pixel is half a point; over it a channel of the map moves by at most three levels. */
        assert_near(got, want, 3);
    }
    shot_close(&s);
}

/* Where a bare field has no value the page is seen, as far as half-way to the next sample that has
 * one, whose colour goes on from there; otherwise the whole cell is missing data. */
static void test_bare_field(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[NX * NY];
    for (size_t k = 0; k < NX * NY; k++) {
        values[k] = k % NX < 2 ? (double)NAN : 0.7;
    }
    viz_field field = {.name = "f",
                       .lattice = {NX, NY, 0.0, NX - 1.0, 0.0, 1.0},
                       .values = values,
                       .scale = {.map = VIZ_MAP_VIRIDIS, .lo = 0.0, .hi = 1.0},
                       .filter = VIZ_BILINEAR};
    const uint32_t missing = viz_colour_pixel(viz_colour_missing(VIZ_LIGHT)) & 0xffffffu;
    const uint32_t there =
        viz_colour_pixel(viz_scale_colour(&field.scale, VIZ_LIGHT, 0.7)) & 0xffffffu;
    for (int bare = 0; bare < 2; bare++) {
        shot s;
        field.bare = bare == 1;
        shot_open(&s);
        ok(viz_scene_add_field(s.scene, s.panel, &field, &err), &err);
        viz_scene_fit_lattice(s.panel, &field.lattice, VIZ_BILINEAR);
        shot_take(&s, 2.0);
        assert_near(pixel_at(&s, 0.5 / (NX - 1.0), 0.37), bare == 1 ? 0xffffffu : missing, 1);
        assert_near(pixel_at(&s, 1.4 / (NX - 1.0), 0.37), bare == 1 ? 0xffffffu : missing, 1);
        assert_near(pixel_at(&s, 1.6 / (NX - 1.0), 0.37), bare == 1 ? there : missing, 1);
        assert_near(pixel_at(&s, 2.1 / (NX - 1.0), 0.37), there, 1);
        shot_close(&s);
    }
}

/* Golden of the pixels of a linear field: exact, and no matter of fonts or cairo. */
static void test_field_golden(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[NX * NY];
    shot s;
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    fill_field(values);
    const viz_field field = {.name = "f",
                             .lattice = {NX, NY, 0.0, 1.0, 0.0, 1.0},
                             .values = values,
                             .scale = {.map = VIZ_MAP_CIVIDIS, .lo = 1.0, .hi = 15.0},
                             .filter = VIZ_BILINEAR};
    shot_open(&s);
    ok(viz_scene_add_field(s.scene, s.panel, &field, &err), &err);
    viz_scene_fit_lattice(s.panel, &field.lattice, VIZ_BILINEAR);
    shot_take(&s, 1.0);
    for (int j = 1; j < 32; j++) {
        for (int i = 1; i < 32; i++) {
            const uint32_t pixel = pixel_at(&s, i / 32.0, j / 32.0);
            for (int shift = 0; shift < 24; shift += 8) {
                /* Five bits a channel: the last bits of cbrt and pow are the library's. */
                hash = (hash ^ (pixel >> shift & 0xf8u)) * 1099511628211u;
            }
        }
    }
    if (hash != FIELD_GOLDEN) {
        fail_msg("the field's pixels have the hash 0x%016llx", (unsigned long long)hash);
    }
    shot_close(&s);
}

/* Sparse ink keeps every point when samples are denser than pixels, and leaves the rest clear. */
static void test_ink_keeps_points(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    kern_error err = {0};
    shot s;
    double *values = calloc(MANY, sizeof *values);
    assert_non_null(values);
    for (size_t k = 0; k < MANY; k++) {
        values[k] = k == 1234 ? 1.0 : (k == 1233 || k == 1235 ? 0.2 : (double)NAN);
    }
    const viz_field field = {.name = "points",
                             .lattice = {MANY, 1, 0.0, 1.0, 0.0, 1.0},
                             .values = values,
                             .scale = {.lo = 0.0, .hi = 1.0},
                             .filter = VIZ_NEAREST,
                             .ink = true,
                             .paint = {.kind = VIZ_PAINT_RGB, .rgb = {1.0, 0.0, 0.0}}};
    shot_open(&s);
    ok(viz_scene_add_field(s.scene, s.panel, &field, &err), &err);
    shot_take(&s, 1.0);
    size_t red = 0;
    const int steps = (int)s.plot.w;
    for (int i = 1; i < steps; i++) {
        const uint32_t pixel = pixel_at(&s, ((double)i + 0.5) / s.plot.w, 0.53);
        red += pixel == 0xff0000u ? 1 : 0;
        /* A fifth of red over white, where a neighbour has a pixel of its own. */
        assert_true(pixel == 0xff0000u || pixel == 0xffffffu ||
                    (pixel >> 16 == 0xffu && (pixel & 0xffu) > 0xc8u));
    }
    assert_int_equal(red, 1);
    free(values);
    shot_close(&s);
}

/* ---- Classes ------------------------------------------------------------------------------ */

static void test_hatches_differ(void **state)
{
    (void)state;
    /* Each pair of hatches differs over a good part of a square, and each covers a part of it. */
    enum { SIDE = 80 };
    for (int a = 0; a < VIZ_HATCH_COUNT; a++) {
        for (int b = 0; b <= a; b++) {
            double differ = 0.0;
            double cover = 0.0;
            for (int k = 0; k < SIDE * SIDE; k++) {
                const double x = 0.25 * (k % SIDE);
                const double y = 0.25 * (k / SIDE);
                const double va = viz_hatch_cover((viz_hatch)a, x, y, 0.25);
                const double vb = viz_hatch_cover((viz_hatch)b, x, y, 0.25);
                assert_true(va >= 0.0 && va <= 1.0);
                differ += fabs(va - vb) / (SIDE * SIDE);
                cover += va / (SIDE * SIDE);
            }
            assert_true(a == b ? differ == 0.0 : differ > 0.05);
            assert_true(a == VIZ_HATCH_NONE ? cover == 0.0 : cover > 0.05 && cover < 0.4);
        }
    }
}

static void test_class_map(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_log log = {placed, LOG_ROOM, 0};
    shot s;
    const int32_t labels[4] = {1, 2, -4, 99};
    const double light[4] = {1.0, 0.0, 1.0, 1.0};
    const viz_class classes[3] = {
        {.label = 1, .name = "one", .legend = "first", .paint = viz_paint_class(0)},
        {.label = 2, .name = "two", .legend = "second", .paint = viz_paint_class(1)},
        {.label = -4, .name = "unresolved", .legend = "unresolved", .paint = viz_paint_class(3)}};
    viz_classes map = {.name = "map",
                       .lattice = {2, 2, 0.25, 0.75, 0.25, 0.75},
                       .labels = labels,
                       .light = light,
                       .classes = classes,
                       .n_classes = 3};
    shot_open(&s);
    ok(viz_scene_add_classes(s.scene, s.panel, &map, &err), &err);
    shot_take(&s, 1.0);
    const viz_rgb second = viz_colour_class(1, VIZ_LIGHT);
    const double dim = 2.0 / 3.0;
    assert_int_equal(pixel_at(&s, 0.3, 0.3),
                     viz_colour_pixel(viz_colour_class(0, VIZ_LIGHT)) & 0xffffffu);
    assert_int_equal(pixel_at(&s, 0.7, 0.3),
                     viz_colour_pixel((viz_rgb){dim * second.r, dim * second.g, dim * second.b}) &
                         0xffffffu);
    assert_int_equal(pixel_at(&s, 0.3, 0.7),
                     viz_colour_pixel(viz_colour_class(3, VIZ_LIGHT)) & 0xffffffu);
    /* A label without a class is missing data, not some class's colour. */
    assert_int_equal(pixel_at(&s, 0.7, 0.7),
                     viz_colour_pixel(viz_colour_missing(VIZ_LIGHT)) & 0xffffffu);
    test_viz_check_page(s.scene, 1.0, &log);
    assert_int_equal(test_viz_count_role(&log, VIZ_ROLE_LEGEND), 3);
    assert_int_equal(test_viz_count_text(&log, "unresolved"), 1);
    const viz_class twins[2] = {classes[0], classes[0]};
    map.classes = twins;
    map.n_classes = 2;
    assert_int_equal(viz_scene_add_classes(s.scene, s.panel, &map, &err), KERN_INVALID_ARGUMENT);
    shot_close(&s);
}

/* ---- Isolines, marks, layout -------------------------------------------------------------- */

enum { RINGS = 18, AROUND = 121 };

static void add_rings(viz_scene *scene, viz_panel *panel)
{
    static double x[RINGS * AROUND];
    static double y[RINGS * AROUND];
    double level[RINGS];
    size_t first[RINGS + 1];
    kern_error err = {0};
    for (size_t k = 0; k <= RINGS; k++) {
        first[k] = k * AROUND;
    }
    for (size_t k = 0; k < RINGS; k++) {
        level[k] = -1.0 + 0.5 * (double)k;
        for (size_t i = 0; i < AROUND; i++) {
            const double angle = 4.0 * acos(0.0) * (double)(i % (AROUND - 1)) / (AROUND - 1);
            x[first[k] + i] = 0.05 * (double)(k + 1) * cos(angle);
            y[first[k] + i] = 0.05 * (double)(k + 1) * sin(angle);
        }
    }
    const viz_isolines lines = {.name = "levels",
                                .n_lines = RINGS,
                                .first = first,
                                .x = x,
                                .y = y,
                                .level = level,
                                .labelled = true};
    ok(viz_scene_add_isolines(scene, panel, &lines, &err), &err);
}

static viz_scene *ring_scene(double width, double height)
{
    kern_error err = {0};
    viz_scene *scene = NULL;
    viz_panel *panel = NULL;
    const viz_panel spec = {.equal = true,
                            .x = {.label = "<i>u</i>", .lo = -1.0, .hi = 1.0},
                            .y = {.label = "<i>v</i>", .lo = -1.0, .hi = 1.0}};
    const viz_bar bar = {.whole = true,
                         .scale = {.kind = VIZ_SCALE_SYMLOG,
                                   .map = VIZ_MAP_BALANCE,
                                   .lo = -100.0,
                                   .hi = 100.0,
                                   .threshold = 1.0},
                         .label = "energy"};
    ok(viz_scene_create(&scene, width, height, &err), &err);
    ok(viz_scene_add_panel(&panel, scene, &spec, &err), &err);
    add_rings(scene, panel);
    ok(viz_scene_set_bar(scene, &bar, &err), &err);
    return scene;
}

static size_t count_levels(const viz_log *log, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < log->count; i++) {
        n += log->items[i].role == VIZ_ROLE_LEVEL && strcmp(log->items[i].text, text) == 0 ? 1 : 0;
    }
    return n;
}

static void test_levels(void **state)
{
    (void)state;
    viz_log log = {placed, LOG_ROOM, 0};
    viz_scene *scene = ring_scene(250.0, 230.0);
    test_viz_check_page(scene, 1.3, &log);
    test_viz_check_overlaps(&log);
    /* Rings are nearer than a text is high, so some levels have no place; the others stand once,
     * with no more digits than tell them apart. */
    const size_t levels = test_viz_count_role(&log, VIZ_ROLE_LEVEL);
    assert_true(levels >= 6 && levels < RINGS);
    assert_int_equal(count_levels(&log, "7.5"), 1);
    assert_int_equal(count_levels(&log, "7.50"), 0);
    /* The bar has ticks of either sign, and 0. */
    assert_int_equal(test_viz_count_text(&log, "\xe2\x88\x92"
                                               "100"),
                     1);
    viz_scene_destroy(scene);
}

/* Levels stand clear of a line over them; without it, some would stand where it goes. */
static void test_levels_clear_of_lines(void **state)
{
    static const double x[] = {-1.0, 1.0};
    static const double y[] = {0.0, 0.0};
    const viz_series line = {.name = "line", .x = x, .y = y, .n = 2, .style = {.width = 1.0}};
    kern_error err = {0};
    (void)state;
    for (int with = 0; with < 2; with++) {
        viz_log log = {placed, LOG_ROOM, 0};
        viz_layout *layout = NULL;
        size_t struck = 0;
        viz_scene *scene = ring_scene(500.0, 460.0);
        if (with == 1) {
            ok(viz_scene_add_series(scene, &scene->panels[0], &line, &err), &err);
        }
        ok(viz_draw_layout(&layout, scene, &err), &err);
        const double height = viz_layout_y(&layout->frames[0], &scene->panels[0].y, 0.0);
        test_viz_check_page(scene, 1.0, &log);
        for (size_t i = 0; i < log.count; i++) {
            const viz_rect box = log.items[i].box;
            struck += log.items[i].role == VIZ_ROLE_LEVEL && box.y <= height + 2.0 &&
                              box.y + box.h >= height - 2.0
                          ? 1
                          : 0;
        }
        assert_true(test_viz_count_role(&log, VIZ_ROLE_LEVEL) >= 6);
        assert_true(with == 1 ? struck == 0 : struck > 0);
        viz_layout_destroy(layout);
        viz_scene_destroy(scene);
    }
}

static void test_equal_units(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene = ring_scene(250.0, 400.0);
    cairo_surface_t *surface = cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
    cairo_t *cr = cairo_create(surface);
    for (int pass = 0; pass < 2; pass++) {
        viz_layout *layout = NULL;
        viz_canvas canvas;
        ok(viz_canvas_init(&canvas, cr, scene, NULL, &err), &err);
        ok(viz_layout_create(&layout, &canvas, &err), &err);
        const viz_frame *frame = &layout->frames[0];
        assert_true(fabs(frame->plot.w - frame->plot.h) < 1e-9);
        assert_true(layout->bar.h <= frame->plot.h + 1e-9);
        assert_true(layout->bar.x > frame->plot.x + frame->plot.w);
        if (pass == 0) {
            assert_true(frame->spare_height > 50.0);
            ok(viz_draw_fit_height(scene, 400.0, &err), &err);
        } else {
            assert_true(frame->spare_height < 1.0);
        }
        viz_layout_destroy(layout);
        viz_canvas_fini(&canvas);
    }
    assert_true(scene->height > 150.0 && scene->height < 300.0);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    viz_scene_destroy(scene);
}

/* Texts of marks stay apart and inside the plot, even where their points crowd. */
static void test_marks(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_log log = {placed, LOG_ROOM, 0};
    shot s;
    shot_open(&s);
    for (int k = 0; k < 40; k++) {
        const viz_mark mark = {
            .x = 0.5 + 0.012 * (k % 7), .y = 0.5 + 0.02 * (k / 7), .gap = 3.0, .text = "mark"};
        ok(viz_scene_add_mark(s.scene, s.panel, &mark, &err), &err);
    }
    const viz_mark corner = {.x = 1.0, .y = 1.0, .gap = 3.0, .text = "corner"};
    ok(viz_scene_add_mark(s.scene, s.panel, &corner, &err), &err);
    shot_take(&s, 1.0);
    test_viz_check_page(s.scene, 1.0, &log);
    test_viz_check_overlaps(&log);
    const size_t drawn = test_viz_count_text(&log, "mark");
    assert_true(drawn >= 4 && drawn < 40);
    assert_int_equal(test_viz_count_text(&log, "corner"), 1);
    shot_close(&s);
}

static void test_layer_refusals(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[NX * NY] = {0.0};
    shot s;
    viz_field field = {.name = "f",
                       .lattice = {NX, NY, 0.0, 1.0, 0.0, 1.0},
                       .values = values,
                       .scale = {.lo = 0.0, .hi = 1.0}};
    shot_open(&s);
    field.lattice.nx = 0;
    assert_int_equal(viz_scene_add_field(s.scene, s.panel, &field, &err), KERN_INVALID_ARGUMENT);
    field.lattice.nx = SIZE_MAX;
    assert_int_equal(viz_scene_add_field(s.scene, s.panel, &field, &err), KERN_INVALID_ARGUMENT);
    field.lattice.nx = NX;
    field.lattice.x1 = 0.0;
    assert_int_equal(viz_scene_add_field(s.scene, s.panel, &field, &err), KERN_INVALID_ARGUMENT);
    field.lattice.x1 = 1.0;
    field.scale.kind = VIZ_SCALE_LOG;
    assert_int_equal(viz_scene_add_field(s.scene, s.panel, &field, &err), KERN_INVALID_ARGUMENT);
    field.scale.kind = VIZ_SCALE_LINEAR;
    field.name = NULL;
    assert_int_equal(viz_scene_add_field(s.scene, s.panel, &field, &err), KERN_BAD_INPUT);
    const size_t first[2] = {3, 1};
    const double level = 0.0;
    const viz_isolines lines = {
        .name = "l", .n_lines = 1, .first = first, .x = values, .y = values, .level = &level};
    assert_int_equal(viz_scene_add_isolines(s.scene, s.panel, &lines, &err), KERN_INVALID_ARGUMENT);
    const double beyond[1] = {1.5};
    const viz_series series = {.name = "s", .x = values, .y = values, .opacity = beyond, .n = 1};
    assert_int_equal(viz_scene_add_series(s.scene, s.panel, &series, &err), KERN_INVALID_ARGUMENT);
    viz_scene_destroy(s.scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale_places),
        cmocka_unit_test(test_scale_fit),
        cmocka_unit_test(test_nearest_field),
        cmocka_unit_test(test_pixels_are_in_place),
        cmocka_unit_test(test_bilinear_field),
        cmocka_unit_test(test_bare_field),
        cmocka_unit_test(test_field_golden),
        cmocka_unit_test(test_ink_keeps_points),
        cmocka_unit_test(test_hatches_differ),
        cmocka_unit_test(test_class_map),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_equal_units),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_layer_refusals),
        cmocka_unit_test(test_levels_clear_of_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
