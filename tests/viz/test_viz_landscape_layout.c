/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pages of landscapes of the bundled models, in every plane, mode and column of a journal: titles,
 * axis labels, tick labels, legends, the colour bar's texts and the note are all there, whole, and
 * stand clear of each other, of the plots and of the bar.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/models/model_test_folder.h"
#include "tests/viz/test_viz_support.h"
#include "viz/view/view_basins.h"
#include "viz/view/view_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_ROOM = 512, COLUMNS = 16, BASIN_COLUMNS = 4 };

static viz_placed placed[LOG_ROOM];

typedef struct subject {
    const char *run, *prompt;
    size_t token, with, layer, width;
    int sublayer;
} subject;

#define ASSETS     BASIN_SOURCE_DIR "/assets/"
#define EXPRESSION "max_10 ( 2 9 3 ) ="

static const subject subjects[] = {
    {ASSETS "listops", EXPRESSION, 5, 2, 0, 48, 0},
    {ASSETS "listops", EXPRESSION, VIEW_ALL, 2, 0, 48, 0},
    {ASSETS "cem", EXPRESSION, 5, 2, 1, 24, MODEL_LAYER_ATTN},
    {ASSETS "cem", EXPRESSION, 5, 2, 0, 24, MODEL_LAYER_FFN},
    {ASSETS "gp/model.safetensors", "1:32", 20, 2, 0, 32, MODEL_LAYER_ATTN},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static const char *write_axes(size_t width)
{
    static char path[TEST_PATH];
    FILE *file = fopen(test_path(path, "axes.csv"), "w");
    assert_non_null(file);
    for (int line = 0; line < 2; line++) {
        for (size_t i = 0; i < width; i++) {
            assert_true(fprintf(file, "%s%.6f", i > 0 ? "," : "",
                                sin(1.0 + (1.0 + 1.3 * line) * (double)i)) > 0);
        }
        assert_true(fputc('\n', file) != EOF);
    }
    assert_int_equal(fclose(file), 0);
    return path;
}

static view_settings settings_of(const subject *who, size_t kind)
{
    view_settings s;
    view_settings_defaults(&s);
    (void)snprintf(s.run, sizeof s.run, "%s", who->run);
    (void)snprintf(s.prompt, sizeof s.prompt, "%s", who->prompt);
    (void)snprintf(s.axes, sizeof s.axes, "%s", write_axes(who->width));
    s.token = who->token;
    s.with = who->with;
    s.layer = who->layer;
    s.sublayer = who->sublayer;
    s.plane = (int)kind;
    s.oblique = strcmp(dyn_plane_kind_name(dyn_plane_kind_at(kind)), "custom") == 0;
    s.columns = COLUMNS;
    s.levels = 4;
    return s;
}

/* ---- What is checked of a page --------------------------------------------------------------- */

/* Texts that are a page's own, not the data's. */
static bool is_outer(viz_role role)
{
    return role != VIZ_ROLE_MARK && role != VIZ_ROLE_LEVEL;
}

static bool overlap(viz_rect a, viz_rect b)
{
    return fmin(a.x + a.w, b.x + b.w) - fmax(a.x, b.x) > 0.5 &&
           fmin(a.y + a.h, b.y + b.h) - fmax(a.y, b.y) > 0.5;
}

static void check_texts(const viz_log *log, const char *what)
{
    for (size_t i = 0; i < log->count; i++) {
        for (size_t k = 0; k < log->count; k++) {
            if (i != k && is_outer(log->items[i].role) &&
                overlap(log->items[i].box, log->items[k].box)) {
                fail_msg("%s: \"%s\" stands over \"%s\"", what, log->items[i].text,
                         log->items[k].text);
            }
        }
    }
}

static void check_boxes(const viz_scene *scene, const viz_layout *layout, const viz_log *log,
                        const char *what)
{
    for (size_t i = 0; i < log->count; i++) {
        const viz_placed *item = &log->items[i];
        if (is_outer(item->role) && scene->bar.shown && overlap(item->box, layout->bar)) {
            fail_msg("%s: \"%s\" stands on the colour bar", what, item->text);
        }
        for (size_t p = 0; p < scene->n_panels; p++) {
            if (is_outer(item->role) && !scene->panels[p].surface &&
                overlap(item->box, layout->frames[p].plot)) {
                fail_msg("%s: \"%s\" stands in plot %zu", what, item->text, p);
            }
        }
    }
}

/* Axis labels are those of the scene, and no text had to be cut. */
static void check_whole(const viz_scene *scene, const viz_layout *layout, const viz_log *log,
                        const char *what)
{
    size_t labels = scene->bar.shown && scene->bar.label != NULL ? 1 : 0;
    bool cut = layout->bar_label.cut;
    for (size_t p = 0; p < scene->n_panels; p++) {
        const viz_frame *frame = &layout->frames[p];
        labels += scene->panels[p].x.label != NULL ? 1 : 0;
        labels += scene->panels[p].y.label != NULL ? 1 : 0;
        cut = cut || frame->title.cut || frame->x_label.cut || frame->y_label.cut;
    }
    if (test_viz_count_role(log, VIZ_ROLE_AXIS) != labels) {
        fail_msg("%s: %zu of %zu axis labels are drawn", what,
                 test_viz_count_role(log, VIZ_ROLE_AXIS), labels);
    }
    if (cut) {
        fail_msg("%s: a label is cut", what);
    }
}

static void check_scene(const viz_scene *scene, const char *what)
{
    kern_error err = {0};
    viz_log log = {placed, LOG_ROOM, 0};
    viz_layout *layout = NULL;
    test_viz_check_page(scene, 0.5, &log);
    assert_true(log.count <= log.capacity);
    if (viz_draw_layout(&layout, scene, &err) != KERN_OK) {
        fail_msg("%s: %s", what, err.text);
    }
    check_texts(&log, what);
    check_boxes(scene, layout, &log, what);
    check_whole(scene, layout, &log, what);
    viz_layout_destroy(layout);
}

/* ---- All pages ------------------------------------------------------------------------------- */

static void check_page(const view_picture *picture, const view_basins *basins,
                       const view_settings *settings, double mm)
{
    kern_error err = {0};
    char what[256];
    viz_scene *scene = NULL;
    view_settings s = *settings;
    for (int look = 0; look < 3; look++) {
        s.mode = look;
        s.dark = look == 1;
        const view_page page = {.width = viz_scene_points(mm),
                                .basins = look == VIEW_BASINS ? basins : NULL};
        if (look == VIEW_BASINS && basins == NULL) {
            continue;
        }
        (void)snprintf(what, sizeof what, "%.60s, plane %s, look %d, %g mm", s.run + strlen(ASSETS),
                       dyn_plane_kind_name(dyn_plane_kind_at((size_t)s.plane)), look, mm);
        if (view_picture_scene(&scene, picture, &s, &page, &err) != KERN_OK) {
            fail_msg("%s: %s", what, err.text);
        }
        check_scene(scene, what);
        viz_scene_destroy(scene);
    }
}

/* False where there is no such plane: terms are those of an NRGPT, a pair is of two tokens, and an
 * energy without curvature in any direction of its own has no plane of curvatures. */
static bool check_plane(view_subject *v, const view_settings *s)
{
    kern_error err = {0};
    view_landscape *l = NULL;
    view_picture *picture = NULL;
    view_basins *basins = NULL;
    const view_grain grain = {.columns = s->columns, .workers = 1};
    if (view_landscape_create(&l, v, s, 1, NULL, NULL, &err) != KERN_OK) {
        return false;
    }
    if (view_picture_create(&picture, l, &grain, NULL, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    /* A legend of attractors. */
    if (strcmp(dyn_plane_kind_name(dyn_plane_kind_at((size_t)s->plane)), "gradient") == 0 &&
        s->token != VIEW_ALL &&
        view_basins_create(&basins, l, BASIN_COLUMNS, 1, NULL, NULL, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    check_page(picture, basins, s, VIZ_SINGLE_COLUMN_MM);
    check_page(picture, basins, s, VIZ_DOUBLE_COLUMN_MM);
    view_basins_destroy(basins);
    view_picture_release(picture);
    view_landscape_release(l);
    return true;
}

static void check_subject(const subject *who, size_t planes)
{
    kern_error err = {0};
    view_subject *v = NULL;
    const view_settings first = settings_of(who, 0);
    size_t n = 0;
    if (view_subject_create(&v, &first, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    for (size_t kind = 0; kind < dyn_plane_kind_count(); kind++) {
        view_settings s = settings_of(who, kind);
        if (s.token == VIEW_ALL && s.oblique) {
            continue; /* axes of one token */
        }
        n += check_plane(v, &s) ? 1 : 0;
    }
    view_subject_release(v);
    if (n != planes) {
        fail_msg("%s has %zu planes, not %zu", who->run, n, planes);
    }
}

static void test_nrgpt(void **state)
{
    (void)state;
    check_subject(&subjects[0], 9);
}

static void test_all_tokens(void **state)
{
    (void)state;
    check_subject(&subjects[1], 7);
}

static void test_attention(void **state)
{
    (void)state;
    check_subject(&subjects[2], 8);
}

static void test_feed_forward(void **state)
{
    (void)state;
    check_subject(&subjects[3], 8);
}

static void test_process(void **state)
{
    (void)state;
    check_subject(&subjects[4], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nrgpt),     cmocka_unit_test(test_all_tokens),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_feed_forward),
        cmocka_unit_test(test_process),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
