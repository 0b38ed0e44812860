/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the tests of figures: a temporary folder, file contents, made-up energies, and checks
 * of drawn pages. Include after cmocka.h.
 */
#ifndef BASIN_TEST_VIZ_SUPPORT_H
#define BASIN_TEST_VIZ_SUPPORT_H

#include "viz/viz_draw.h"
#include "viz/viz_energy_plot.h"

#include <stddef.h>

/* Made-up energies: decaying curves with rises at chosen places. The caller frees with
 * test_viz_energy_free. */
typedef struct test_viz_energy {
    viz_energy_data data;
    double *energy, *attention, *feed_forward;
    char **labels;
    size_t rises; /* rises put in */
} test_viz_energy;

int test_viz_folder_make(void **state);
int test_viz_folder_drop(void **state);

/* Path of a file in the folder; valid until the next call. */
const char *test_viz_path(const char *name);

/* Number of entries in the folder. */
size_t test_viz_folder_count(void);

/* Whole content of a file, with a zero behind it; the caller frees it. */
char *test_viz_load(const char *path, size_t *size);

void test_viz_energy_make(test_viz_energy *out, size_t tokens, size_t steps, size_t trained);
void test_viz_energy_free(test_viz_energy *energy);

/* Draws the scene at `scale` on an image with a margin and fails when a pixel of the margin is
 * touched, when the page is empty, or when a text's box leaves the page. Fills `log`. */
void test_viz_check_page(const viz_scene *scene, double scale, viz_log *log);

/* Fails when two texts of the log overlap by more than half a point both ways. */
void test_viz_check_overlaps(const viz_log *log);

/* Number of logged texts equal to `text`. */
size_t test_viz_count_text(const viz_log *log, const char *text);

/* Number of logged texts of a role. */
size_t test_viz_count_role(const viz_log *log, viz_role role);

#endif
