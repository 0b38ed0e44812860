/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L

#include "viz/viz_export.h"

#include "viz/viz_layout.h"
#include "viz/viz_session.h"
#include "viz/viz_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/viz/test_viz_support.h"

static const char *const extensions[] = {"pdf", "svg", "png", "csv"};

enum { FORMATS = 4 };

static viz_scene *sample(void)
{
    test_viz_energy e;
    viz_scene *scene = NULL;
    kern_error err = {0};
    test_viz_energy_make(&e, 11, 16, 9);
    e.data.title = "A & B <tag>";
    if (viz_energy_plot(&scene, NULL, &e.data, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    test_viz_energy_free(&e);
    return scene;
}

static void export_ok(const viz_scene *scene, const char *name, const viz_export_options *options)
{
    kern_error err = {0};
    if (viz_export(scene, test_viz_path(name), options, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
}

static void check_same(const char *first, const char *second)
{
    size_t n;
    size_t m;
    char *a = test_viz_load(test_viz_path(first), &n);
    char *b = test_viz_load(test_viz_path(second), &m);
    assert_int_equal(n, m);
    assert_true(n > 200);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

static void test_same_bytes(void **state)
{
    (void)state;
    const viz_export_options options = {.dpi = 96.0, .session = "{\"seed\":7}"};
    const struct timespec pause = {1, 100000000};
    char name[32];
    char again[32];
    viz_scene *scene = sample();
    viz_scene *twin = sample();
    for (size_t i = 0; i < FORMATS; i++) {
        (void)snprintf(name, sizeof name, "same.%s", extensions[i]);
        export_ok(scene, name, &options);
    }
    /* Creation dates have a resolution of one second. */
    (void)nanosleep(&pause, NULL);
    for (size_t i = 0; i < FORMATS; i++) {
        (void)snprintf(name, sizeof name, "same.%s", extensions[i]);
        (void)snprintf(again, sizeof again, "again.%s", extensions[i]);
        export_ok(twin, again, &options);
        check_same(name, again);
    }
    viz_scene_destroy(scene);
    viz_scene_destroy(twin);
}

static void test_session_comes_back(void **state)
{
    (void)state;
    static const char *const sessions[] = {
        "{}",
        "{\"a\": [1, 2], \"text\": \"(un)balanced ) \\\\ ( and <tag> & &amp; ]]>\"}",
        "{\n\t\"prompt\": \"na\xc3\xafve \xe2\x90\xa3 \xf0\x9f\x98\x80 /Keywords (no)\"\n}\n",
        "line one\nline two\n\nline four",
    };
    viz_scene *scene = sample();
    for (size_t k = 0; k < sizeof sessions / sizeof sessions[0]; k++) {
        for (size_t i = 0; i < FORMATS; i++) {
            const viz_export_options options = {.dpi = 50.0, .session = sessions[k]};
            char name[32];
            char *text = NULL;
            kern_error err = {0};
            (void)snprintf(name, sizeof name, "session.%s", extensions[i]);
            export_ok(scene, name, &options);
            if (viz_session_read(&text, test_viz_path(name), &err) != KERN_OK) {
                fail_msg("%s", err.text);
            }
            assert_string_equal(text, sessions[k]);
            free(text);
        }
    }
    viz_scene_destroy(scene);
}

static void test_long_session(void **state)
{
    (void)state;
    enum { LONG = 200000 };
    char *session = malloc(LONG + 1);
    viz_scene *scene = sample();
    assert_non_null(session);
    for (size_t i = 0; i < LONG; i++) {
        session[i] = (char)(' ' + (int)(i * 7 % 94));
    }
    session[LONG] = '\0';
    for (size_t i = 0; i < FORMATS; i++) {
        const viz_export_options options = {.dpi = 50.0, .session = session};
        char name[32];
        char *text = NULL;
        (void)snprintf(name, sizeof name, "long.%s", extensions[i]);
        export_ok(scene, name, &options);
        assert_int_equal(viz_session_read(&text, test_viz_path(name), NULL), KERN_OK);
        assert_int_equal(strcmp(text, session), 0);
        free(text);
    }
    free(session);
    viz_scene_destroy(scene);
}

static void test_sessions_refused(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene = sample();
    char *huge = malloc((size_t)VIZ_SESSION_MAX + 2);
    assert_non_null(huge);
    memset(huge, 'x', (size_t)VIZ_SESSION_MAX + 1);
    huge[VIZ_SESSION_MAX + 1] = '\0';
    const char *const bad[] = {"", "\xff\xfe", "a\rb", "a\x01", huge};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        const viz_export_options options = {.session = bad[k]};
        assert_int_equal(viz_export(scene, test_viz_path("bad.pdf"), &options, &err),
                         KERN_BAD_INPUT);
        assert_int_equal(access(test_viz_path("bad.pdf"), F_OK), -1);
    }
    free(huge);
    viz_scene_destroy(scene);
}

static void put_file(const char *name, const char *text, size_t size)
{
    FILE *f = fopen(test_viz_path(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    (void)fclose(f);
}

/* Cut at every length and changed at many places, a file never crashes the reader. */
static void test_damaged_files(void **state)
{
    (void)state;
    kern_error err = {0};
    char *text = NULL;
    viz_scene *scene = sample();
    for (size_t i = 0; i < FORMATS; i++) {
        const viz_export_options options = {.dpi = 18.0, .session = "{\"k\":\"\xc3\xa9\"}"};
        char name[32];
        size_t size;
        (void)snprintf(name, sizeof name, "whole.%s", extensions[i]);
        export_ok(scene, name, &options);
        char *data = test_viz_load(test_viz_path(name), &size);
        for (size_t k = 0; k < 60; k++) {
            const size_t cut = k < 30 ? size - 1 - 37 * k : size * (k - 30) / 30;
            put_file("damaged", data, cut);
            if (viz_session_read(&text, test_viz_path("damaged"), &err) == KERN_OK) {
                free(text);
            }
        }
        for (size_t k = 0; k < 60; k++) {
            const size_t place = size - 1 - (k * 13) % (size / 2);
            const char old = data[place];
            data[place] = (char)(old ^ (char)(1 + k % 100));
            put_file("damaged", data, size);
            if (viz_session_read(&text, test_viz_path("damaged"), &err) == KERN_OK) {
                free(text);
            }
            data[place] = old;
        }
        free(data);
    }
    export_ok(scene, "plain.svg", NULL);
    assert_int_equal(viz_session_read(&text, test_viz_path("plain.svg"), &err), KERN_NOT_FOUND);
    export_ok(scene, "plain.pdf", NULL);
    assert_int_equal(viz_session_read(&text, test_viz_path("plain.pdf"), &err), KERN_NOT_FOUND);
    assert_int_equal(viz_session_read(&text, test_viz_path("absent"), &err), KERN_NOT_FOUND);
    put_file("other.txt", "hello", 5);
    assert_int_equal(viz_session_read(&text, test_viz_path("other.txt"), &err), KERN_BAD_INPUT);
    assert_null(text);
    viz_scene_destroy(scene);
}

static void test_paths_refused(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene = sample();
    const size_t before = test_viz_folder_count();
    assert_int_equal(viz_export(scene, test_viz_path("a.jpeg"), NULL, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, ".svg"));
    assert_int_equal(viz_export(scene, ".pdf", NULL, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_export(scene, test_viz_path("no/such/a.pdf"), NULL, &err), KERN_NOT_FOUND);
    assert_int_equal(viz_export_check_path("a.PDF", &err), KERN_OK);
    assert_int_equal(viz_export_check_path("apdf", &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(viz_export_check_path(test_viz_path("no/such/a.pdf"), &err), KERN_NOT_FOUND);
    assert_int_equal(test_viz_folder_count(), before);
    /* A folder stands where the file should go. */
    assert_int_equal(mkdir(test_viz_path("dir.svg"), 0700), 0);
    assert_int_not_equal(viz_export(scene, test_viz_path("dir.svg"), NULL, &err), KERN_OK);
    assert_int_equal(viz_export_check_path(test_viz_path("dir.svg"), &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(test_viz_folder_count(), before + 1);
    viz_scene_destroy(scene);
}

static void test_link_is_followed(void **state)
{
    (void)state;
    viz_scene *scene = sample();
    struct stat info;
    kern_error err = {0};
    export_ok(scene, "target.csv", NULL);
    assert_int_equal(truncate(test_viz_path("target.csv"), 0), 0);
    assert_int_equal(symlink("target.csv", test_viz_path("link.csv")), 0);
    export_ok(scene, "link.csv", NULL);
    assert_int_equal(lstat(test_viz_path("link.csv"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(lstat(test_viz_path("target.csv"), &info), 0);
    assert_true(S_ISREG(info.st_mode) && info.st_size > 200);
    assert_int_equal(unlink(test_viz_path("target.csv")), 0);
    assert_int_equal(viz_export(scene, test_viz_path("link.csv"), NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(lstat(test_viz_path("link.csv"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(unlink(test_viz_path("link.csv")), 0);
    viz_scene_destroy(scene);
}

static void test_sizes_refused(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *none = NULL;
    viz_scene *scene = sample();
    const double bad[][2] = {{0.0, 100.0}, {100.0, 0.0}, {-3.0, 90.0}, {20000.0, 100.0}};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        assert_int_equal(viz_scene_create(&none, bad[k][0], bad[k][1], &err),
                         KERN_INVALID_ARGUMENT);
        assert_null(none);
    }
    assert_int_equal(viz_scene_create(&none, (double)NAN, 100.0, &err), KERN_INVALID_ARGUMENT);
    const double resolutions[] = {-1.0, 1.0, 1e9, (double)NAN};
    for (size_t k = 0; k < 4; k++) {
        const viz_export_options options = {.dpi = resolutions[k]};
        assert_int_equal(viz_export(scene, test_viz_path("x.png"), &options, &err),
                         KERN_INVALID_ARGUMENT);
    }
    assert_int_equal(viz_scene_create(&none, 14000.0, 14000.0, &err), KERN_OK);
    const viz_export_options fine = {.dpi = 2400.0};
    assert_int_equal(viz_export(none, test_viz_path("x.png"), &fine, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "pixels"));
    assert_int_equal(viz_export(none, test_viz_path("x.pdf"), NULL, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "no panel"));
    assert_int_equal(access(test_viz_path("x.png"), F_OK), -1);
    viz_scene_destroy(none);
    viz_scene_destroy(scene);
}

static void test_png_size_and_chunks(void **state)
{
    (void)state;
    viz_scene *scene = sample();
    const viz_export_options options = {.dpi = 100.0, .session = "{}"};
    size_t size;
    export_ok(scene, "size.PNG", &options);
    unsigned char *d = (unsigned char *)test_viz_load(test_viz_path("size.PNG"), &size);
    const unsigned width =
        (unsigned)d[16] << 24 | (unsigned)d[17] << 16 | (unsigned)d[18] << 8 | (unsigned)d[19];
    assert_int_equal(width, (unsigned)ceil(scene->width * 100.0 / 72.0));
    /* Every chunk's checksum must agree, also of those added after cairo. */
    size_t at = 8;
    size_t chunks = 0;
    while (at + 12 <= size) {
        const size_t n = (size_t)d[at] << 24 | (size_t)d[at + 1] << 16 | (size_t)d[at + 2] << 8 |
                         (size_t)d[at + 3];
        uint32_t crc = 0xffffffffu;
        for (size_t i = at + 4; i < at + 8 + n; i++) {
            crc ^= d[i];
            for (int k = 0; k < 8; k++) {
                crc = (crc & 1u) != 0 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
            }
        }
        crc = ~crc;
        const unsigned char *tail = d + at + 8 + n;
        assert_int_equal(crc, (uint32_t)tail[0] << 24 | (uint32_t)tail[1] << 16 |
                                  (uint32_t)tail[2] << 8 | tail[3]);
        at += 12 + n;
        chunks++;
    }
    assert_int_equal(at, size);
    assert_true(chunks >= 6);
    free(d);
    viz_scene_destroy(scene);
}

static void test_svg_is_well_formed(void **state)
{
    (void)state;
    viz_scene *scene = sample();
    size_t size;
    export_ok(scene, "form.svg", NULL);
    char *d = test_viz_load(test_viz_path("form.svg"), &size);
    assert_non_null(strstr(d, "<title>A &amp; B &lt;tag&gt;</title>"));
    assert_non_null(strstr(d, "<desc>The energy rises in "));
    assert_null(strstr(d, "id=\"surface"));
    /* Every reference leads to an identifier of the file. */
    size_t references = 0;
    for (char *s = strstr(d, "href=\"#"); s != NULL; s = strstr(s + 1, "href=\"#")) {
        char wanted[96];
        const size_t n = strcspn(s + 7, "\"");
        assert_true(n < 64);
        (void)snprintf(wanted, sizeof wanted, " id=\"%.*s\"", (int)n, s + 7);
        assert_non_null(strstr(d, wanted));
        references++;
    }
    assert_true(references > 50);
    free(d);
    viz_scene_destroy(scene);
}

static void test_csv_holds_the_numbers(void **state)
{
    (void)state;
    kern_error err = {0};
    viz_scene *scene = NULL;
    viz_panel *panel = NULL;
    const double x[4] = {0.1, 2.0, -3e-300, 1e17};
    const double y[4] = {1.0 / 3.0, (double)NAN, HUGE_VAL, -0.0};
    const viz_series series = {
        .name = "say \"hi\", you", .x = x, .y = y, .n = 4, .style = {.width = 1.0}};
    assert_int_equal(viz_scene_create(&scene, 200.0, 150.0, &err), KERN_OK);
    const viz_panel spec = {.x = {.lo = 0.0, .hi = 1.0}, .y = {.lo = 0.0, .hi = 1.0}};
    assert_int_equal(viz_scene_add_panel(&panel, scene, &spec, &err), KERN_OK);
    assert_int_equal(viz_scene_add_series(scene, panel, &series, &err), KERN_OK);
    export_ok(scene, "n.csv", NULL);
    size_t size;
    char *d = test_viz_load(test_viz_path("n.csv"), &size);
    assert_string_equal(d, "# basin figure\npanel,series,x,y\n"
                           "1,\"say \"\"hi\"\", you\",0.10000000000000001,0.33333333333333331\n"
                           "1,\"say \"\"hi\"\", you\",2,nan\n"
                           "1,\"say \"\"hi\"\", you\",-3.0000000000000002e-300,inf\n"
                           "1,\"say \"\"hi\"\", you\",1e+17,-0\n");
    free(d);
    viz_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),         cmocka_unit_test(test_session_comes_back),
        cmocka_unit_test(test_long_session),       cmocka_unit_test(test_sessions_refused),
        cmocka_unit_test(test_damaged_files),      cmocka_unit_test(test_paths_refused),
        cmocka_unit_test(test_sizes_refused),      cmocka_unit_test(test_png_size_and_chunks),
        cmocka_unit_test(test_svg_is_well_formed), cmocka_unit_test(test_csv_holds_the_numbers),
        cmocka_unit_test(test_link_is_followed),
    };
    return cmocka_run_group_tests(tests, test_viz_folder_make, test_viz_folder_drop);
}
