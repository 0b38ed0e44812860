/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whole frames of the explorer beside pictures that were looked at once: tests/viz/goldens/.
 *
 * The field alone is compared colour by colour; a colour level is 1/255, and an energy that differs
 * in its last bits, as on another processor, moves it by one at most. Whole frames hold text, which
 * other versions of the fonts' library draw a little differently: at most one pixel in 200 may
 * differ by more than 24 levels. A frame that fails is left with its differences in the folder of
 * the test; with BASIN_UPDATE_GOLDENS set, the pictures are written anew, to be looked at.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_blas.h"
#include "viz/view/view_headless.h"
#include "viz/view/view_picture.h"

#include <cairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDENS BASIN_SOURCE_DIR "/tests/viz/goldens/"

enum { WIDTH = 640, HEIGHT = 400, LEVELS = 24, RARE = 200, PATH = 512 };

static void must(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

/* ---- Pictures -------------------------------------------------------------------------------- */

static unsigned char *pixel(cairo_surface_t *image, int x, int y)
{
    return cairo_image_surface_get_data(image) +
           (ptrdiff_t)y * cairo_image_surface_get_stride(image) + 4 * (ptrdiff_t)x;
}

/* Largest difference of a pixel's three channels. */
static int distance(const unsigned char *a, const unsigned char *b)
{
    int most = 0;
    for (int c = 0; c < 3; c++) {
        most = abs(a[c] - b[c]) > most ? abs(a[c] - b[c]) : most;
    }
    return most;
}

/* Pixels that differ by more than `levels`; they are black in `marks`. */
static long count_differing(cairo_surface_t *a, cairo_surface_t *b, int levels,
                            cairo_surface_t *marks)
{
    long n = 0;
    for (int y = 0; y < cairo_image_surface_get_height(a); y++) {
        for (int x = 0; x < cairo_image_surface_get_width(a); x++) {
            const bool differs = distance(pixel(a, x, y), pixel(b, x, y)) > levels;
            memset(pixel(marks, x, y), differs ? 0 : 255, 4);
            n += differs;
        }
    }
    cairo_surface_mark_dirty(marks);
    return n;
}

static void write_png(cairo_surface_t *image, const char *format, const char *name)
{
    char path[PATH];
    (void)snprintf(path, sizeof path, format, name);
    assert_int_equal(cairo_surface_write_to_png(image, path), CAIRO_STATUS_SUCCESS);
}

/* Compares with the golden of a name, or makes it. Releases the image. */
static void check(cairo_surface_t *image, const char *name, int levels, long most)
{
    char path[PATH];
    const int w = cairo_image_surface_get_width(image);
    const int h = cairo_image_surface_get_height(image);
    if (getenv("BASIN_UPDATE_GOLDENS") != NULL) {
        write_png(image, GOLDENS "%s.png", name);
        cairo_surface_destroy(image);
        return;
    }
    (void)snprintf(path, sizeof path, GOLDENS "%s.png", name);
    cairo_surface_t *golden = cairo_image_surface_create_from_png(path);
    if (cairo_surface_status(golden) != CAIRO_STATUS_SUCCESS) {
        fail_msg("%s cannot be read; BASIN_UPDATE_GOLDENS=1 makes it", path);
    }
    assert_int_equal(cairo_image_surface_get_width(golden), w);
    assert_int_equal(cairo_image_surface_get_height(golden), h);
    cairo_surface_t *marks = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    const long n = count_differing(image, golden, levels, marks);
    if (n > most) {
        write_png(image, "%s.actual.png", name);
        write_png(golden, "%s.expected.png", name);
        write_png(marks, "%s.diff.png", name);
    }
    cairo_surface_destroy(marks);
    cairo_surface_destroy(golden);
    cairo_surface_destroy(image);
    if (n > most) {
        fail_msg("%ld of %d pixels of %s differ by more than %d levels, %ld may; see %s.diff.png",
                 n, w * h, name, levels, most, name);
    }
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static view_settings settings_of(const char *run)
{
    view_settings s;
    view_settings_defaults(&s);
    (void)snprintf(s.run, sizeof s.run, "%s", run);
    (void)snprintf(s.prompt, sizeof s.prompt, "max_10 ( 2 9 3 ) =");
    s.token = 5;
    s.columns = 64;
    return s;
}

static void check_frame(const char *const *lines, size_t n, const char *name)
{
    kern_error err = {0};
    view *v = NULL;
    cairo_surface_t *image = NULL;
    const view_options o = {
        .settings = settings_of(""), .assets = BASIN_SOURCE_DIR "/assets", .workers = 1};
    must(view_create(&v, &o, &err), &err);
    for (size_t i = 0; i < n; i++) {
        view_settle(v);
        must(view_do(v, lines[i], &err), &err);
    }
    must(view_headless_draw(v, WIDTH, HEIGHT, &image, &err), &err);
    view_destroy(v);
    check(image, name, LEVELS, (long)WIDTH * HEIGHT / RARE);
}

static void test_map(void **state)
{
    const char *const lines[] = {"step 2", "seed 0.2 0.5", "say"};
    (void)state;
    check_frame(lines, 3, "map");
}

static void test_surface(void **state)
{
    const char *const lines[] = {"dark on", "mode surface", "step 3"};
    (void)state;
    check_frame(lines, 3, "surface");
}

static void test_palette(void **state)
{
    const char *const lines[] = {"map cividis", "scale 0.8", "palette"};
    (void)state;
    check_frame(lines, 3, "palette");
}

/* The energies themselves, each sample a pixel. */
static void test_field(void **state)
{
    kern_error err = {0};
    view_subject *subject = NULL;
    view_landscape *landscape = NULL;
    view_picture *picture = NULL;
    const view_grain grain = {.columns = 64, .workers = 1};
    const view_settings s = settings_of(BASIN_SOURCE_DIR "/assets/listops");
    (void)state;
    must(view_subject_create(&subject, &s, &err), &err);
    must(view_landscape_create(&landscape, subject, &s, 1, NULL, NULL, &err), &err);
    must(view_picture_create(&picture, landscape, &grain, NULL, NULL, &err), &err);
    const dyn_slice_field *f = &picture->field;
    const int w = (int)f->columns;
    const int h = (int)f->rows;
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            const double value = f->values[(size_t)y * f->columns + (size_t)x];
            const viz_rgb c =
                viz_colour_map_at(VIZ_MAP_VIRIDIS, (value - f->low) / (f->high - f->low));
            unsigned char *p = pixel(image, x, h - 1 - y);
            p[0] = (unsigned char)(255.0 * c.b + 0.5);
            p[1] = (unsigned char)(255.0 * c.g + 0.5);
            p[2] = (unsigned char)(255.0 * c.r + 0.5);
        }
    }
    cairo_surface_mark_dirty(image);
    view_picture_release(picture);
    view_landscape_release(landscape);
    view_subject_release(subject);
    check(image, "field", 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_field),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_surface),
        cmocka_unit_test(test_palette),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
