/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Several planes of a model: what can be drawn of them, and how large their files are.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_file.h"
#include "tests/models/model_test_folder.h"
#include "tests/viz/view_test_set.h"
#include "viz/view/view_panels.h"
#include "viz/viz_export.h"
#include "viz/viz_plate.h"

#include <stdlib.h>
#include <string.h>

#define RUN BASIN_SOURCE_DIR "/assets/listops"

enum { FILE_MOST = 500000, FILE_READ = 1 << 24 };

static view_settings settings_of(const char *panels)
{
    view_settings s;
    view_settings_defaults(&s);
    set(&s, "run", RUN);
    set(&s, "prompt", "max_10 ( 2 9 3 ) =");
    set(&s, "token", "5");
    set(&s, "plane", "random");
    set(&s, "panels", panels);
    return s;
}

static void refuses(const view_settings *s, const char *name, const char *value, const char *part)
{
    view_settings changed = *s;
    kern_error err = {0};
    set(&changed, name, value);
    assert_int_equal(view_panels_check(&changed, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
}

static void test_check(void **state)
{
    view_settings s = settings_of("4");
    (void)state;
    assert_int_equal(view_panels_check(&s, NULL), KERN_OK);
    refuses(&s, "plane", "pca", "panels is 4 and plane is pca; accepted are planes of random");
    refuses(&s, "mode", "basins", "mode is about the figure of a single plane; panels is 4");
    refuses(&s, "quadratic", "on", "quadratic is about");
    refuses(&s, "seeds", "0,0", "seeds is about");
    refuses(&s, "also", "1", "also is about");
    set(&s, "plane", "tokens");
    assert_int_equal(view_panels_check(&s, NULL), KERN_OK);
    set(&s, "plane", "relative");
    assert_int_equal(view_panels_check(&s, NULL), KERN_OK);
}

static view_panels *make(const view_settings *s)
{
    view_subject *subject = NULL;
    view_panels *panels = NULL;
    kern_error err = {0};
    assert_int_equal(view_subject_create(&subject, s, &err), KERN_OK);
    if (view_panels_create(&panels, subject, s, 1, NULL, NULL, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    view_subject_release(subject);
    return panels;
}

/* Pixels of all images of a PDF, whose dictionaries say "/Width W" and "/Height H". */
static size_t count_pixels(const char *bytes, size_t size)
{
    static const char width[] = "/Width ";
    static const char height[] = "/Height ";
    size_t pixels = 0;
    for (size_t i = 0; i + 64 < size; i++) {
        if (memcmp(bytes + i, width, sizeof width - 1) == 0) {
            char *end;
            const size_t w = (size_t)strtoul(bytes + i + sizeof width - 1, &end, 10);
            end += strspn(end, " \n");
            assert_memory_equal(end, height, sizeof height - 1);
            pixels += w * (size_t)strtoul(end + sizeof height - 1, NULL, 10);
        }
    }
    return pixels;
}

/* However many planes there are, their maps share the pixels of one, and a file is below half a
 * megabyte. */
static void test_size(void **state)
{
    static const char *const counts[] = {"4", "9", "16"};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const view_settings s = settings_of(counts[i]);
        const view_page page = {.width = viz_scene_points(VIZ_DOUBLE_COLUMN_MM)};
        char path[TEST_PATH];
        char *bytes = NULL;
        size_t size = 0;
        viz_scene *scene = NULL;
        kern_error err = {0};
        view_panels *panels = make(&s);
        assert_int_equal(view_panels_scene(&scene, panels, &page, &err), KERN_OK);
        assert_int_equal(viz_export(scene, test_path(path, "f.pdf"), NULL, &err), KERN_OK);
        assert_int_equal(model_file_read(path, FILE_READ, &bytes, &size, &err), KERN_OK);
        const size_t pixels = count_pixels(bytes, size);
        if (size >= FILE_MOST || pixels > VIZ_PLATE_PIXELS * 102 / 100) {
            fail_msg("%s planes have %zu bytes and %zu pixels", counts[i], size, pixels);
        }
        assert_true(pixels > VIZ_PLATE_PIXELS * 90 / 100);
        free(bytes);
        viz_scene_destroy(scene);
        view_panels_destroy(panels);
    }
}

/* Lines of small maps have fewer vertices: those of the same plane alone and among sixteen. */
static void test_vertices(void **state)
{
    const view_settings few = settings_of("2");
    const view_settings many = settings_of("16");
    (void)state;
    view_panels *large = make(&few);
    view_panels *small = make(&many);
    const viz_contours *a = &large->contours[0];
    const viz_contours *b = &small->contours[0];
    const double per_line[] = {(double)a->first[a->n_lines] / (double)a->n_lines,
                               (double)b->first[b->n_lines] / (double)b->n_lines};
    if (!(per_line[1] < 0.8 * per_line[0])) {
        fail_msg("%.3g and %.3g vertices a line", per_line[0], per_line[1]);
    }
    view_panels_destroy(small);
    view_panels_destroy(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_vertices),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
