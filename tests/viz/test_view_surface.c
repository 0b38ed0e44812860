/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fields as surfaces, and scenes drawn in parts.
 */
#include "viz/viz_draw.h"
#include "viz/viz_export.h"
#include "viz/viz_surface.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/viz/test_viz_support.h"

enum { N = 41, WIDTH = 360, HEIGHT = 260 };

#define UPRIGHT 1.5707963267948966

static const viz_scale scale = {.map = VIZ_MAP_VIRIDIS, .lo = 0.0, .hi = 1.0};

static void ok(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

/* A page with one surface, and its image at one pixel a point. */
typedef struct page {
    viz_scene *scene;
    viz_panel *panel;
    viz_layout *layout;
    cairo_surface_t *image;
} page;

static void page_make(page *p, const double *values, viz_camera camera)
{
    kern_error err = {0};
    const viz_panel spec = {.x = {.label = "<i>a</i>"}, .y = {.label = "<i>b</i>"}};
    const viz_field field = {.name = "energy",
                             .lattice = {N, N, -1.0, 1.0, -1.0, 1.0},
                             .values = values,
                             .scale = scale,
                             .filter = VIZ_BILINEAR};
    ok(viz_scene_create(&p->scene, WIDTH, HEIGHT, &err), &err);
    ok(viz_scene_add_panel(&p->panel, p->scene, &spec, &err), &err);
    ok(viz_scene_add_surface(p->scene, p->panel, &field, &camera, &err), &err);
    viz_scene_fit_lattice(p->panel, &field.lattice, VIZ_BILINEAR);
    ok(viz_draw_layout(&p->layout, p->scene, &err), &err);
    p->image = NULL;
}

static cairo_surface_t *blank(void)
{
    return cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
}

static void page_draw(page *p)
{
    kern_error err = {0};
    p->image = blank();
    cairo_t *cr = cairo_create(p->image);
    ok(viz_draw(cr, p->scene, NULL, &err), &err);
    cairo_destroy(cr);
    cairo_surface_flush(p->image);
}

static void page_free(page *p)
{
    cairo_surface_destroy(p->image);
    viz_layout_destroy(p->layout);
    viz_scene_destroy(p->scene);
}

static uint32_t pixel(cairo_surface_t *image, double x, double y)
{
    const unsigned char *row =
        cairo_image_surface_get_data(image) + (int)y * cairo_image_surface_get_stride(image);
    uint32_t value;
    memcpy(&value, row + 4 * (int)x, sizeof value);
    return value | 0xff000000u;
}

/* Pixel where a point of the field's space is drawn. */
static uint32_t pixel_of(const page *p, double x, double y, double value)
{
    double px = 0.0;
    double py = 0.0;
    assert_true(viz_surface_point(p->panel, &p->layout->frames[0], x, y, value, &px, &py));
    return pixel(p->image, px, py);
}

static double coordinate(size_t i)
{
    return -1.0 + 2.0 * (double)i / (double)(N - 1);
}

/* ---- The view ---- */

static void test_place(void **state)
{
    (void)state;
    const double values[4] = {0.0};
    const viz_field field = {
        .lattice = {2, 2, -1.0, 1.0, -1.0, 1.0}, .values = values, .scale = scale};
    const viz_rect rect = {0.0, 0.0, 400.0, 400.0};
    double at[2];
    double depth;
    /* From above a map: x to the right, y up, and what is high is near. */
    const viz_camera above = {0.0, UPRIGHT};
    assert_true(viz_surface_place(&field, &above, rect, (double[3]){0.0, 0.0, 0.5}, at, &depth));
    assert_true(fabs(at[0] - 200.0) < 1e-9 && fabs(at[1] - 200.0) < 1e-9 && fabs(depth) < 1e-12);
    /* Half a side is half a diagonal over √2, and the diagonal fills the rectangle. */
    const double half = 200.0 / sqrt(2.0);
    assert_true(viz_surface_place(&field, &above, rect, (double[3]){1.0, 1.0, 1.0}, at, &depth));
    assert_true(fabs(at[0] - 200.0 - half) < 1e-9 && fabs(at[1] - 200.0 + half) < 1e-9);
    assert_true(fabs(depth + 1.0 / 6.0) < 1e-12);
    /* From the side: y goes away, values up, by a third of the side from end to end. */
    const viz_camera side = {0.0, 0.0};
    double low[2];
    assert_true(viz_surface_place(&field, &side, rect, (double[3]){0.0, 1.0, 0.0}, low, &depth));
    assert_true(fabs(depth - 0.5) < 1e-12);
    assert_true(viz_surface_place(&field, &side, rect, (double[3]){0.0, 1.0, 1.0}, at, &depth));
    assert_true(fabs((low[1] - at[1]) - 2.0 * half / 3.0) < 1e-9);
    /* A quarter turn counterclockwise of the viewer brings y to the right. */
    const viz_camera turned = {UPRIGHT, UPRIGHT};
    assert_true(viz_surface_place(&field, &turned, rect, (double[3]){0.0, 1.0, 0.5}, at, &depth));
    assert_true(fabs(at[0] - 200.0 - half) < 1e-9 && fabs(at[1] - 200.0) < 1e-9);
    assert_false(
        viz_surface_place(&field, &above, rect, (double[3]){0.0, 0.0, (double)NAN}, at, &depth));
}

static void test_values_beyond_the_scale_stay_at_its_ends(void **state)
{
    (void)state;
    const double values[4] = {0.0};
    const viz_field field = {
        .lattice = {2, 2, -1.0, 1.0, -1.0, 1.0}, .values = values, .scale = scale};
    const viz_rect rect = {0.0, 0.0, 400.0, 400.0};
    const viz_camera side = {0.3, 0.4};
    double end[2];
    double beyond[2];
    assert_true(viz_surface_place(&field, &side, rect, (double[3]){0.2, 0.1, 1.0}, end, NULL));
    assert_true(viz_surface_place(&field, &side, rect, (double[3]){0.2, 0.1, 9.0}, beyond, NULL));
    assert_true(end[0] == beyond[0] && end[1] == beyond[1]);
}

/* ---- Pixels ---- */

static void test_a_flat_field_has_the_colours_of_the_map(void **state)
{
    (void)state;
    double values[N * N];
    for (size_t k = 0; k < N * N; k++) {
        values[k] = 0.75;
    }
    page p;
    page_make(&p, values, (viz_camera){0.7, 0.6});
    page_draw(&p);
    const uint32_t expected = viz_colour_pixel(viz_colour_map_at(VIZ_MAP_VIRIDIS, 0.75));
    const uint32_t seen = pixel_of(&p, 0.1, -0.2, 0.75);
    for (unsigned shift = 0; shift < 24; shift += 8) {
        const int a = (int)((expected >> shift) & 255u);
        const int b = (int)((seen >> shift) & 255u);
        /* The table's entries are at most half of 1/1023 from the place. */
        assert_true(a - b <= 1 && b - a <= 1);
    }
    page_free(&p);
}

static void test_steep_places_are_darker_and_keep_their_hue(void **state)
{
    (void)state;
    double values[N * N];
    for (size_t k = 0; k < N * N; k++) {
        values[k] = 0.5 + 0.5 * coordinate(k % N); /* height 1/3 over a length of 1 */
    }
    page p;
    page_make(&p, values, (viz_camera){0.0, UPRIGHT});
    page_draw(&p);
    const uint32_t seen = pixel_of(&p, 0.0, 0.0, 0.5);
    const uint32_t flat = viz_colour_pixel(viz_colour_map_at(VIZ_MAP_VIRIDIS, 0.5));
    const double share = 0.5 + 0.5 / sqrt(1.0 + 1.0 / 9.0);
    for (unsigned shift = 0; shift < 24; shift += 8) {
        const double a = (double)((flat >> shift) & 255u);
        const double b = (double)((seen >> shift) & 255u);
        /* A pixel covers 1/190 of the side, at most two steps of a channel; 1/256 in the light. */
        assert_true(fabs(share * a - b) <= 3.0);
    }
    page_free(&p);
}

/* A ridge of height 1 near the viewer, and a plain of height 0 behind it. */
static void test_a_near_ridge_hides_the_plain_behind_it(void **state)
{
    (void)state;
    double values[N * N];
    const viz_camera views[4] = {
        {0.0, 0.25}, {UPRIGHT, 0.25}, {2.0 * UPRIGHT, 0.25}, {3.0 * UPRIGHT, 0.25}};
    const uint32_t plain = viz_colour_pixel(viz_colour_map_at(VIZ_MAP_VIRIDIS, 0.0));
    for (int turn = 0; turn < 4; turn++) {
        /* With azimuth φ the viewer stands at (sin φ, −cos φ). */
        const double to[2] = {sin(views[turn].azimuth), -cos(views[turn].azimuth)};
        for (size_t k = 0; k < N * N; k++) {
            const double near = coordinate(k % N) * to[0] + coordinate(k / N) * to[1];
            values[k] = near > 0.15 && near < 0.45 ? 1.0 : 0.0;
        }
        page p;
        page_make(&p, values, views[turn]);
        page_draw(&p);
        /* Behind the ridge at a distance of 0.15 of the field's 2: hidden to 1/3 · cot 0.25. */
        assert_true(pixel_of(&p, -0.1 * to[0], -0.1 * to[1], 0.0) != plain);
        /* In front of it, and far behind it from high up, the plain is seen. */
        assert_int_equal(pixel_of(&p, 0.75 * to[0], 0.75 * to[1], 0.0), plain);
        page_free(&p);
        page_make(&p, values, (viz_camera){views[turn].azimuth, 1.3});
        page_draw(&p);
        assert_int_equal(pixel_of(&p, -0.5 * to[0], -0.5 * to[1], 0.0), plain);
        page_free(&p);
    }
}

static void test_cells_without_a_value_are_open(void **state)
{
    (void)state;
    double values[N * N];
    for (size_t k = 0; k < N * N; k++) {
        const double r = hypot(coordinate(k % N), coordinate(k / N));
        values[k] = r < 0.3 ? (double)NAN : 0.0;
    }
    page p;
    page_make(&p, values, (viz_camera){0.0, UPRIGHT});
    page_draw(&p);
    const viz_paint shade = viz_paint_of(VIZ_PAINT_SHADE);
    const viz_rgb ground = viz_colour_resolve(&shade, VIZ_LIGHT);
    assert_int_equal(pixel_of(&p, 0.0, 0.0, 0.0), viz_colour_pixel(ground));
    assert_int_equal(pixel_of(&p, 0.6, 0.0, 0.0),
                     viz_colour_pixel(viz_colour_map_at(VIZ_MAP_VIRIDIS, 0.0)));
    page_free(&p);
}

static void test_levels_are_lines_on_the_surface(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[N * N];
    for (size_t k = 0; k < N * N; k++) {
        values[k] = 0.5 + 0.5 * coordinate(k % N);
    }
    page p;
    page_make(&p, values, (viz_camera){0.0, UPRIGHT});
    const size_t first[2] = {0, 2};
    const double x[2] = {0.0, 0.0};
    const double y[2] = {-1.0, 1.0};
    const double level = 0.5;
    const viz_isolines lines = {.name = "contours",
                                .n_lines = 1,
                                .first = first,
                                .x = x,
                                .y = y,
                                .level = &level,
                                .width = 0.0};
    page_draw(&p);
    const uint32_t without = pixel_of(&p, 0.0, 0.4, 0.5);
    cairo_surface_destroy(p.image);
    ok(viz_scene_add_isolines(p.scene, p.panel, &lines, &err), &err);
    page_draw(&p);
    assert_true(pixel_of(&p, 0.0, 0.4, 0.5) != without);
    page_free(&p);
}

static void test_cameras_and_panels_that_are_refused(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[N * N] = {0};
    page p;
    page_make(&p, values, (viz_camera){0.0, UPRIGHT});
    const viz_field field = {
        .name = "x", .lattice = {N, N, -1.0, 1.0, -1.0, 1.0}, .values = values, .scale = scale};
    const viz_camera good = {0.0, 0.5};
    const viz_camera below = {0.0, -0.1};
    const viz_camera lost = {(double)NAN, 0.5};
    assert_int_equal(viz_scene_add_surface(p.scene, p.panel, &field, &good, &err),
                     KERN_INVALID_ARGUMENT);
    viz_panel *other;
    const viz_panel spec = {.row = 1};
    ok(viz_scene_add_panel(&other, p.scene, &spec, &err), &err);
    assert_int_equal(viz_scene_add_surface(p.scene, other, &field, &below, &err),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_scene_add_surface(p.scene, other, &field, &lost, &err),
                     KERN_INVALID_ARGUMENT);
    viz_field thin = field;
    thin.lattice.ny = 1;
    assert_int_equal(viz_scene_add_surface(p.scene, other, &thin, &good, &err),
                     KERN_INVALID_ARGUMENT);
    page_free(&p);
}

/* ---- Parts of a picture ---- */

static void add_path(viz_scene *scene, viz_panel *panel)
{
    kern_error err = {0};
    const double x[4] = {-0.8, -0.2, 0.5, 0.99};
    const double y[4] = {0.6, 0.1, -0.3, 0.99};
    const double z[4] = {0.9, 0.4, 0.2, 1.0};
    const viz_series path = {.name = "path",
                             .x = x,
                             .y = y,
                             .z = z,
                             .n = 4,
                             .style = {.paint = viz_paint_of(VIZ_PAINT_INK),
                                       .width = 1.5,
                                       .marker = VIZ_MARKER_CIRCLE,
                                       .size = 6.0,
                                       .halo = 1.0}};
    const viz_mark mark = {.x = x[1], .y = y[1], .z = z[1], .gap = 5.0, .text = "<i>t</i> = 1"};
    ok(viz_scene_add_series(scene, panel, &path, &err), &err);
    ok(viz_scene_add_mark(scene, panel, &mark, &err), &err);
}

static void check_parts(const page *p)
{
    static const unsigned parts[3] = {VIZ_DRAW_BASE, VIZ_DRAW_OVER, VIZ_DRAW_AROUND};
    kern_error err = {0};
    cairo_surface_t *image = blank();
    for (int i = 0; i < 3; i++) {
        cairo_t *cr = cairo_create(image);
        ok(viz_draw_layers(cr, p->scene, i == 1 ? p->layout : NULL, parts[i], NULL, &err), &err);
        cairo_destroy(cr);
    }
    cairo_surface_flush(image);
    const size_t bytes = (size_t)cairo_image_surface_get_stride(image) * HEIGHT;
    assert_memory_equal(cairo_image_surface_get_data(image), cairo_image_surface_get_data(p->image),
                        bytes);
    cairo_surface_destroy(image);
}

static void test_parts_make_the_whole(void **state)
{
    (void)state;
    kern_error err = {0};
    double values[N * N];
    for (size_t k = 0; k < N * N; k++) {
        values[k] = 0.5 + 0.5 * sin(3.0 * coordinate(k % N)) * cos(2.0 * coordinate(k / N));
    }
    page p;
    page_make(&p, values, (viz_camera){0.5, 0.6});
    add_path(p.scene, p.panel);
    const viz_bar bar = {.whole = true, .scale = scale, .label = "energy"};
    ok(viz_scene_set_bar(p.scene, &bar, &err), &err);
    ok(viz_scene_set_title(p.scene, "A surface", &err), &err);
    ok(viz_scene_set_note(p.scene, "Shading is by slope.", &err), &err);
    viz_panel *below;
    const viz_panel spec = {.row = 1, .x = {.label = "x"}, .y = {.label = "y"}};
    ok(viz_scene_add_panel(&below, p.scene, &spec, &err), &err);
    add_path(p.scene, below);
    viz_scene_fit(below, 0.0);
    viz_layout_destroy(p.layout);
    ok(viz_draw_layout(&p.layout, p.scene, &err), &err);
    page_draw(&p);
    check_parts(&p);
    /* The trajectory lies over the surface where its heights put it. */
    const viz_paint ink = viz_paint_of(VIZ_PAINT_INK);
    assert_int_equal(pixel_of(&p, -0.2, 0.1, 0.4),
                     viz_colour_pixel(viz_colour_resolve(&ink, VIZ_LIGHT)));
    page_free(&p);
}

static void test_a_page_with_a_surface(void **state)
{
    (void)state;
    static viz_placed items[128];
    viz_log log = {items, 128, 0};
    double values[N * N];
    for (size_t k = 0; k < N * N; k++) {
        values[k] = 0.5 + 0.5 * sin(3.0 * coordinate(k % N));
    }
    for (int turn = 0; turn < 12; turn++) {
        for (int tilt = 1; tilt < 4; tilt++) {
            page p;
            page_make(&p, values, (viz_camera){0.55 * turn, 0.25 + 0.4 * tilt});
            test_viz_check_page(p.scene, 1.0, &log);
            test_viz_check_overlaps(&log);
            page_free(&p);
        }
    }
}

/* The logged axis labels that begin so. */
static size_t count_labels(const viz_log *log, const char *start)
{
    size_t n = 0;
    for (size_t i = 0; i < log->count; i++) {
        n += log->items[i].role == VIZ_ROLE_AXIS &&
             strncmp(log->items[i].text, start, strlen(start)) == 0;
    }
    return n;
}

/* Labels longer than the page has room for on one line are broken or cut, and both are there. */
static void test_long_labels_are_on_the_page(void **state)
{
    (void)state;
    static viz_placed items[128];
    static const char *const labels[2] = {"PC 1, 45.4 % of variance  (relative to the tokens)",
                                          "PC 2, 39.1 % of variance  (relative to the tokens)"};
    viz_log log = {items, 128, 0};
    double values[N * N];
    for (size_t k = 0; k < N * N; k++) {
        values[k] = 0.5 + 0.5 * sin(3.0 * coordinate(k % N));
    }
    for (int turn = 0; turn < 12; turn++) {
        page p;
        page_make(&p, values, (viz_camera){0.1 + 0.5236 * turn, 0.6});
        p.panel->x.label = labels[0];
        p.panel->y.label = labels[1];
        log.count = 0;
        test_viz_check_page(p.scene, 1.0, &log);
        test_viz_check_overlaps(&log);
        if (count_labels(&log, "PC 1") != 1 || count_labels(&log, "PC 2") != 1) {
            fail_msg("an axis has no label at turn %d", turn);
        }
        page_free(&p);
    }
}

/* What has no surface under it is not drawn, on the page's axes least of all. */
static void test_points_beside_the_field_are_nowhere(void **state)
{
    (void)state;
    double values[N * N] = {0};
    double at[2];
    page p;
    page_make(&p, values, (viz_camera){0.5, 0.6});
    const viz_frame *frame = &p.layout->frames[0];
    assert_true(viz_surface_point(p.panel, frame, 1.0, -1.0, 0.5, &at[0], &at[1]));
    assert_false(viz_surface_point(p.panel, frame, 1.01, 0.0, 0.5, &at[0], &at[1]));
    assert_false(viz_surface_point(p.panel, frame, 0.0, -1.01, 0.5, &at[0], &at[1]));
    assert_false(viz_surface_point(p.panel, frame, (double)NAN, 0.0, 0.5, &at[0], &at[1]));
    page_free(&p);
}

/* A line is cut where it leaves the field, with the height that it has there. */
static void test_lines_are_cut_at_the_edge(void **state)
{
    (void)state;
    double values[N * N] = {0};
    page p;
    page_make(&p, values, (viz_camera){0.5, 0.6});
    double from[3] = {0.0, 0.0, 0.2};
    double to[3] = {4.0, 2.0, 0.6};
    assert_true(viz_surface_cut(p.panel, from, to));
    /* Leaves at x = 1, a quarter of the way. */
    assert_true(from[0] == 0.0 && from[1] == 0.0 && from[2] == 0.2);
    assert_true(fabs(to[0] - 1.0) < 1e-15 && fabs(to[1] - 0.5) < 1e-15);
    assert_true(fabs(to[2] - 0.3) < 1e-15);
    double left[3] = {-3.0, -0.5, 0.0};
    double right[3] = {3.0, -0.5, 0.6};
    assert_true(viz_surface_cut(p.panel, left, right));
    assert_true(fabs(left[0] + 1.0) < 1e-15 && fabs(right[0] - 1.0) < 1e-15);
    assert_true(fabs(left[2] - 0.2) < 1e-15 && fabs(right[2] - 0.4) < 1e-15);
    double a[3] = {-3.0, 1.5, 0.0};
    double b[3] = {3.0, 1.5, 0.0};
    assert_false(viz_surface_cut(p.panel, a, b));
    double c[3] = {1.5, 0.0, 0.0};
    double e[3] = {0.0, 4.0, 0.0};
    assert_false(viz_surface_cut(p.panel, c, e));
    e[2] = (double)NAN;
    assert_false(viz_surface_cut(p.panel, from, e));
    page_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_values_beyond_the_scale_stay_at_its_ends),
        cmocka_unit_test(test_a_flat_field_has_the_colours_of_the_map),
        cmocka_unit_test(test_steep_places_are_darker_and_keep_their_hue),
        cmocka_unit_test(test_a_near_ridge_hides_the_plain_behind_it),
        cmocka_unit_test(test_cells_without_a_value_are_open),
        cmocka_unit_test(test_levels_are_lines_on_the_surface),
        cmocka_unit_test(test_cameras_and_panels_that_are_refused),
        cmocka_unit_test(test_parts_make_the_whole),
        cmocka_unit_test(test_a_page_with_a_surface),
        cmocka_unit_test(test_long_labels_are_on_the_page),
        cmocka_unit_test(test_points_beside_the_field_are_nowhere),
        cmocka_unit_test(test_lines_are_cut_at_the_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
