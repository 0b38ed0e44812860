/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/viz/test_viz_support.h"

enum { PATH_ROOM = 512, MARGIN = 12 };

static char folder[PATH_ROOM];

int test_viz_folder_make(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/basin-viz-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL;
}

const char *test_viz_path(const char *name)
{
    static char path[2 * PATH_ROOM];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Counts the entries of the folder and removes them when asked. */
static size_t walk_folder(bool remove_them)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            n++;
            if (remove_them) {
                (void)remove(test_viz_path(entry->d_name));
            }
        }
    }
    (void)closedir(dir);
    return n;
}

size_t test_viz_folder_count(void)
{
    return walk_folder(false);
}

int test_viz_folder_drop(void **state)
{
    (void)state;
    (void)walk_folder(true);
    return rmdir(folder);
}

char *test_viz_load(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    (void)fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    assert_true(n >= 0);
    rewind(f);
    char *data = malloc((size_t)n + 1);
    assert_non_null(data);
    *size = fread(data, 1, (size_t)n, f);
    data[*size] = '\0';
    (void)fclose(f);
    return data;
}

void test_viz_energy_make(test_viz_energy *out, size_t tokens, size_t steps, size_t trained)
{
    static const char *const words[] = {"(",   "max_10", " the",  "7", "\n",   "min_10",
                                        "<&>", "\t",     "sm_20", "",  "\xff", "1 2 3 4 5 6 7 8 9"};
    const size_t states = steps + 1;
    *out = (test_viz_energy){0};
    out->energy = calloc(tokens * states, sizeof(double));
    out->attention = calloc(tokens * states, sizeof(double));
    out->feed_forward = calloc(tokens * states, sizeof(double));
    out->labels = calloc(tokens, sizeof(char *));
    assert_true(out->energy && out->attention && out->feed_forward && out->labels);
    for (size_t a = 0; a < tokens; a++) {
        const double start = 3.0 + 5.0 * sin(1.7 * (double)a);
        const double depth = 30.0 + 9.0 * cos(2.3 * (double)a);
        const double rate = 0.2 + 0.3 * fabs(sin(0.9 * (double)a + 1.0));
        out->labels[a] = strdup(words[a % (sizeof words / sizeof words[0])]);
        for (size_t t = 0; t < states; t++) {
            const size_t i = a * states + t;
            /* The slope keeps the curve falling when the exponential has died out. */
            out->energy[i] = start - depth * (1.0 - exp(-rate * (double)t)) - 0.01 * (double)t;
            if (t > 0 && (3 * a + 5 * t) % 17 == 0) {
                out->energy[i] = out->energy[i - 1] + 0.4;
                out->rises++;
            }
            out->attention[i] = 0.4 * out->energy[i] + 1.0;
            out->feed_forward[i] = 0.6 * out->energy[i] - 1.0;
        }
    }
    out->data = (viz_energy_data){.n_tokens = tokens,
                                  .n_steps = steps,
                                  .trained_steps = trained,
                                  .token_labels = (const char *const *)out->labels,
                                  .energy = out->energy};
}

void test_viz_energy_free(test_viz_energy *energy)
{
    for (size_t a = 0; a < energy->data.n_tokens; a++) {
        free(energy->labels[a]);
    }
    free(energy->labels);
    free(energy->energy);
    free(energy->attention);
    free(energy->feed_forward);
    *energy = (test_viz_energy){0};
}

/* Pixels on either side of the page's border that differ from the canary colour. */
static void count_ink(cairo_surface_t *image, int left, int top, int right, int bottom,
                      size_t *inside, size_t *outside)
{
    const unsigned char *data = cairo_image_surface_get_data(image);
    const int stride = cairo_image_surface_get_stride(image);
    uint32_t page = 0;
    memcpy(&page, data + (size_t)(top + 1) * (size_t)stride + 4 * (size_t)(left + 1), 4);
    for (int y = 0; y < cairo_image_surface_get_height(image); y++) {
        for (int x = 0; x < cairo_image_surface_get_width(image); x++) {
            uint32_t pixel;
            memcpy(&pixel, data + (size_t)y * (size_t)stride + 4 * (size_t)x, 4);
            const bool on_page = x >= left && x < right && y >= top && y < bottom;
            if (on_page) {
                *inside += (pixel & 0xffffffu) != (page & 0xffffffu) ? 1 : 0;
            } else {
                *outside += (pixel & 0xffffffu) != 0x00ff00u ? 1 : 0;
            }
        }
    }
}

void test_viz_check_page(const viz_scene *scene, double scale, viz_log *log)
{
    kern_error err = {0};
    const int w = (int)ceil(scene->width * scale);
    const int h = (int)ceil(scene->height * scale);
    cairo_surface_t *image =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, w + 2 * MARGIN, h + 2 * MARGIN);
    cairo_t *cr = cairo_create(image);
    cairo_set_source_rgb(cr, 0.0, 1.0, 0.0);
    cairo_paint(cr);
    cairo_translate(cr, MARGIN, MARGIN);
    cairo_scale(cr, scale, scale);
    if (viz_draw(cr, scene, log, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    cairo_surface_flush(image);
    size_t inside = 0;
    size_t outside = 0;
    count_ink(image, MARGIN, MARGIN, MARGIN + w, MARGIN + h, &inside, &outside);
    assert_int_equal(outside, 0);
    assert_true(inside > 500);
    cairo_destroy(cr);
    cairo_surface_destroy(image);
    for (size_t i = 0; i < log->count; i++) {
        const viz_rect b = log->items[i].box;
        if (!(b.x >= 0.0 && b.y >= 0.0 && b.x + b.w <= scene->width &&
              b.y + b.h <= scene->height)) {
            fail_msg("\"%s\" at (%g, %g) of %g by %g leaves the page", log->items[i].text, b.x, b.y,
                     b.w, b.h);
        }
    }
}

void test_viz_check_overlaps(const viz_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        for (size_t k = 0; k < i; k++) {
            const viz_rect a = log->items[i].box;
            const viz_rect b = log->items[k].box;
            const double across = fmin(a.x + a.w, b.x + b.w) - fmax(a.x, b.x);
            const double down = fmin(a.y + a.h, b.y + b.h) - fmax(a.y, b.y);
            if (across > 0.5 && down > 0.5) {
                fail_msg("\"%s\" and \"%s\" overlap by %g by %g points", log->items[i].text,
                         log->items[k].text, across, down);
            }
        }
    }
}

size_t test_viz_count_text(const viz_log *log, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < log->count; i++) {
        n += strcmp(log->items[i].text, text) == 0 ? 1 : 0;
    }
    return n;
}

size_t test_viz_count_role(const viz_log *log, viz_role role)
{
    size_t n = 0;
    for (size_t i = 0; i < log->count; i++) {
        n += log->items[i].role == role ? 1 : 0;
    }
    return n;
}
