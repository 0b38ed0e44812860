/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Exported files seen with other programs: fonts, text, seams and size of a landscape's PDF. Skips
 * what needs poppler where it is not installed.
 */
#define _POSIX_C_SOURCE 200809L

#include "viz/viz_export.h"
#include "viz/viz_session.h"

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

enum { NX = 256, NY = 160, RINGS = 12, AROUND = 401, OUTPUT = 1 << 16, KILO = 1000 };

static void ok(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

/* A landscape of two wells in the style of the explorer's: field, isolines, path, bar. */
static double height(double x, double y)
{
    return (x * x - 1.0) * (x * x - 1.0) + 0.7 * y * y + 0.3 * x * y;
}

static void add_layers(viz_scene *scene, viz_panel *panel, double *values, viz_filter filter)
{
    kern_error err = {0};
    for (size_t k = 0; k < NX * NY; k++) {
        values[k] = height(-1.6 + 3.2 * (double)(k % NX) / (NX - 1.0),
                           -1.0 + 2.0 * (double)(k / NX) / (NY - 1.0));
    }
    viz_field field = {.name = "energy",
                       .lattice = {NX, NY, -1.6, 1.6, -1.0, 1.0},
                       .values = values,
                       .filter = filter};
    ok(viz_scale_fit(&field.scale, NULL, values, NX * NY, VIZ_SCALE_ROBUST, &err), &err);
    ok(viz_scene_add_field(scene, panel, &field, &err), &err);
    viz_scene_fit_lattice(panel, &field.lattice, filter);
    const viz_bar bar = {.whole = true, .scale = field.scale, .label = "energy (nats)"};
    ok(viz_scene_set_bar(scene, &bar, &err), &err);
}

static void add_rings(viz_scene *scene, viz_panel *panel)
{
    static double x[RINGS * AROUND];
    static double y[RINGS * AROUND];
    double level[RINGS];
    size_t first[RINGS + 1] = {0};
    kern_error err = {0};
    for (size_t k = 0; k < RINGS; k++) {
        level[k] = 0.1 * (double)(k + 1);
        first[k + 1] = (k + 1) * AROUND;
        for (size_t i = 0; i < AROUND; i++) {
            const double angle = 4.0 * acos(0.0) * (double)(i % (AROUND - 1)) / (AROUND - 1);
            x[first[k] + i] = 0.12 * (double)(k + 1) * cos(angle);
            y[first[k] + i] = 0.08 * (double)(k + 1) * sin(angle);
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

static viz_scene *landscape(double width, viz_filter filter)
{
    kern_error err = {0};
    viz_scene *scene = NULL;
    viz_panel *panel = NULL;
    double *values = calloc(NX * NY, sizeof *values);
    assert_non_null(values);
    const viz_panel spec = {.equal = true,
                            .x = {.label = "along <i>u</i>, 61 % of variance"},
                            .y = {.label = "along <i>v</i>, 22 % of variance"}};
    ok(viz_scene_create(&scene, width, width, &err), &err);
    ok(viz_scene_set_title(scene, "Energy of token 3, other tokens held", &err), &err);
    ok(viz_scene_add_panel(&panel, scene, &spec, &err), &err);
    add_layers(scene, panel, values, filter);
    add_rings(scene, panel);
    const double px[3] = {-1.2, -0.4, 0.9};
    const double py[3] = {0.8, 0.3, -0.2};
    const double opacity[3] = {0.3, 0.6, 1.0};
    const viz_series path = {.name = "path",
                             .legend = "states, clearer nearer the plane",
                             .x = px,
                             .y = py,
                             .opacity = opacity,
                             .n = 3,
                             .style = {.paint = viz_paint_class(5),
                                       .width = 1.2,
                                       .marker = VIZ_MARKER_CIRCLE,
                                       .size = 3.0,
                                       .halo = 0.5}};
    ok(viz_scene_add_series(scene, panel, &path, &err), &err);
    ok(viz_draw_fit_height(scene, width, &err), &err);
    free(values);
    return scene;
}

/* Runs a program of poppler on a file of the folder and gives its output; skips without it. */
static char *run(const char *program, const char *arguments, const char *name)
{
    static char output[OUTPUT];
    char command[2048];
    (void)snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    if (system(command) != 0) {
        skip();
    }
    (void)snprintf(command, sizeof command, "%s %s '%s' - 2>&1", program, arguments,
                   test_viz_path(name));
    if (strcmp(program, "pdffonts") == 0) {
        (void)snprintf(command, sizeof command, "pdffonts '%s' 2>&1", test_viz_path(name));
    }
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    const size_t n = fread(output, 1, OUTPUT - 1, pipe);
    output[n] = '\0';
    assert_int_equal(pclose(pipe), 0);
    return output;
}

static size_t file_size(const char *name)
{
    size_t size;
    free(test_viz_load(test_viz_path(name), &size));
    return size;
}

/* A landscape of 256 × 160 values stays below half a megabyte at every journal width. */
static void test_size(void **state)
{
    (void)state;
    static const double widths[] = {VIZ_SINGLE_COLUMN_MM, VIZ_DOUBLE_COLUMN_MM};
    for (size_t k = 0; k < 2; k++) {
        for (int filter = 0; filter < 2; filter++) {
            kern_error err = {0};
            viz_scene *scene = landscape(viz_scene_points(widths[k]), (viz_filter)filter);
            ok(viz_export(scene, test_viz_path("size.pdf"), NULL, &err), &err);
            if (file_size("size.pdf") > 500 * KILO) {
                fail_msg("%.0f mm, filter %d: %zu bytes", widths[k], filter, file_size("size.pdf"));
            }
            viz_scene_destroy(scene);
        }
    }
}

static void test_fonts(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene = landscape(252.0, VIZ_BILINEAR);
    ok(viz_export(scene, test_viz_path("fonts.pdf"), NULL, &err), &err);
    viz_scene_destroy(scene);
    char *text = run("pdffonts", "", "fonts.pdf");
    size_t fonts = 0;
    /* Two lines of heading; then name, type, encoding, emb, sub, uni, …: */
    char *line = strchr(text, '\n');
    line = line != NULL ? strchr(line + 1, '\n') : NULL;
    while (line != NULL && line[1] != '\0') {
        char *end = strchr(line + 1, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        if (strstr(line + 1, "yes yes yes") == NULL) {
            fail_msg("a font is not embedded, subset and mapped to Unicode: %s", line + 1);
        }
        fonts++;
        line = end;
    }
    assert_true(fonts >= 2);
}

/* Removes white space in place: a turned text comes out with a word on each line. */
static void join_words(char *text)
{
    size_t n = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (strchr(" \n\f\r\t", text[i]) == NULL) {
            text[n++] = text[i];
        }
    }
    text[n] = '\0';
}

/* Every text of the page is found, the levels and the turned label too. */
static void test_text(void **state)
{
    (void)state;
    enum { ROOM = 256 };
    static viz_placed items[ROOM];
    viz_log log = {items, ROOM, 0};
    kern_error err = {0};
    viz_scene *scene = landscape(252.0, VIZ_NEAREST);
    test_viz_check_page(scene, 1.0, &log);
    test_viz_check_overlaps(&log);
    ok(viz_export(scene, test_viz_path("text.pdf"), NULL, &err), &err);
    viz_scene_destroy(scene);
    char *text = run("pdftotext", "-raw", "text.pdf");
    size_t levels = 0;
    join_words(text);
    for (size_t i = 0; i < log.count; i++) {
        levels += items[i].role == VIZ_ROLE_LEVEL ? 1 : 0;
        join_words(items[i].text);
        if (strstr(text, items[i].text) == NULL) {
            fail_msg("pdftotext does not find \"%s\" in: %s", items[i].text, text);
        }
    }
    assert_true(levels >= 3);
}

/* Luminance of the picture that poppler draws, as a portable grey map. */
static unsigned char *rasterise(const char *name, size_t *w, size_t *h)
{
    size_t size;
    char command[2048];
    (void)run("pdftotext", "-raw", name); /* skips without poppler */
    const int n = snprintf(command, sizeof command, "pdftoppm -r 97 -gray -singlefile '%s' ",
                           test_viz_path(name));
    assert_true(n > 0 && (size_t)n < sizeof command);
    (void)snprintf(command + n, sizeof command - (size_t)n, "'%s'", test_viz_path("seams"));
    assert_int_equal(system(command), 0);
    char *data = test_viz_load(test_viz_path("seams.pgm"), &size);
    int used = 0;
    unsigned long width;
    unsigned long rows;
    assert_int_equal(sscanf(data, "P5 %9lu %9lu 255%n", &width, &rows, &used), 2);
    *w = width;
    *h = rows;
    assert_true((size_t)used + 1 + width * rows <= size);
    unsigned char *grey = malloc(width * rows);
    assert_non_null(grey);
    memcpy(grey, data + used + 1, width * rows);
    free(data);
    return grey;
}

/* A field of one value is one colour: a seam would be a line of another. At 97 dots per inch no
 * pixel of the file falls on a pixel of the picture. */
static void test_seams(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene = NULL;
    viz_panel *panel = NULL;
    size_t w = 0;
    size_t h = 0;
    double *values = calloc(NX * NY, sizeof *values);
    assert_non_null(values);
    const viz_panel spec = {.x = {.label = "x"}};
    const viz_field field = {.name = "flat",
                             .lattice = {NX, NY, 0.0, 1.0, 0.0, 1.0},
                             .values = values,
                             .scale = {.map = VIZ_MAP_VIRIDIS, .lo = 0.0, .hi = 1.0}};
    ok(viz_scene_create(&scene, 252.0, 200.0, &err), &err);
    ok(viz_scene_add_panel(&panel, scene, &spec, &err), &err);
    ok(viz_scene_add_field(scene, panel, &field, &err), &err);
    viz_scene_fit_lattice(panel, &field.lattice, VIZ_NEAREST);
    ok(viz_export(scene, test_viz_path("seams.pdf"), NULL, &err), &err);
    viz_scene_destroy(scene);
    free(values);
    unsigned char *grey = rasterise("seams.pdf", &w, &h);
    const unsigned char middle = grey[h / 2 * w + w / 2];
    for (size_t y = h / 5; y < 3 * h / 4; y++) {
        for (size_t x = w / 5; x < 9 * w / 10; x++) {
            /* Rounding of the reader's resampling; a seam shows the page, 200 levels away. */
            assert_true(abs(grey[y * w + x] - middle) <= 1);
        }
    }
    free(grey);
}

/* All formats carry the session of a scene with layers, and are written alike twice. */
static void test_session_and_repeat(void **state)
{
    (void)state;
    static const char *const names[2][4] = {{"a.pdf", "a.svg", "a.png", "a.csv"},
                                            {"b.pdf", "b.svg", "b.png", "b.csv"}};
    const char *session = "{\"plane\":\"pca\",\"seed\":7}";
    const viz_export_options options = {.dpi = 72.0, .session = session};
    kern_error err = {0};
    viz_scene *scene = landscape(252.0, VIZ_BILINEAR);
    for (size_t k = 0; k < 4; k++) {
        size_t size[2];
        char *text = NULL;
        char *data[2];
        for (size_t i = 0; i < 2; i++) {
            ok(viz_export(scene, test_viz_path(names[i][k]), &options, &err), &err);
            data[i] = test_viz_load(test_viz_path(names[i][k]), &size[i]);
        }
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(data[0], data[1], size[0]);
        ok(viz_session_read(&text, test_viz_path(names[0][k]), &err), &err);
        assert_string_equal(text, session);
        free(text);
        free(data[0]);
        free(data[1]);
    }
    viz_scene_destroy(scene);
}

/* Samples, levels and points of a scene with layers. */
static void test_table(void **state)
{
    (void)state;
    kern_error err = {0};
    size_t size;
    viz_scene *scene = landscape(252.0, VIZ_BILINEAR);
    ok(viz_export(scene, test_viz_path("t.csv"), NULL, &err), &err);
    char *data = test_viz_load(test_viz_path("t.csv"), &size);
    size_t lines = 0;
    for (const char *s = data; *s != '\0'; s++) {
        lines += *s == '\n' ? 1 : 0;
    }
    assert_int_equal(lines, 4 + NX * NY + RINGS * AROUND + 3);
    assert_non_null(strstr(data, "\n# value: energy (nats)\npanel,series,piece,x,y,value\n"));
    assert_non_null(strstr(data, "\n1,\"energy\",0,-1.6000000000000001,-1,"));
    assert_non_null(strstr(data, "\n1,\"levels\",12,1.4399999999999999,0,1.2"));
    assert_non_null(strstr(data, "\n1,\"path\",0,-1.2,0.80000000000000004,\n"));
    free(data);
    viz_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size),  cmocka_unit_test(test_fonts),
        cmocka_unit_test(test_text),  cmocka_unit_test(test_seams),
        cmocka_unit_test(test_table), cmocka_unit_test(test_session_and_repeat),
    };
    return cmocka_run_group_tests(tests, test_viz_folder_make, test_viz_folder_drop);
}
