/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dialogs of the explorer, and what its window says as text.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_file.h"
#include "models/model_json.h"
#include "tests/viz/view_test_desk.h"
#include "viz/view/view_command.h"
#include "viz/view/view_number.h"

#include <unistd.h>

/* ---- Dialogs --------------------------------------------------------------------------------- */

static void test_the_palette_runs_commands(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    key(&d, UI_LETTER, 'p', true);
    assert_non_null(ui_find(d.v->ui, "palette"));
    type(&d, "mode surf");
    key(&d, UI_ENTER, 0, false);
    assert_int_equal(d.v->s.mode, VIEW_SURFACE);
    assert_null(ui_find(d.v->ui, "palette"));
    press(&d, "commands");
    type(&d, "token 99");
    key(&d, UI_ENTER, 0, false);
    /* What failed can be put right. */
    assert_string_equal(ui_find(d.v->ui, "palette")->value, "token 99");
    assert_true(strstr(ui_find(d.v->ui, "palette.said")->label, "99") != NULL);
    key(&d, UI_ESCAPE, 0, false);
    assert_null(ui_find(d.v->ui, "palette"));
    close_desk(&d);
}

static void test_tab_completes_in_the_palette(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "palette");
    idle(&d);
    type(&d, "quad");
    key(&d, UI_TAB, 0, false);
    type(&d, "on");
    key(&d, UI_ENTER, 0, false);
    assert_true(d.v->s.quadratic);
    close_desk(&d);
}

static void test_what_lies_under_a_dialog_takes_nothing(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    const viz_rect dark = rect_of(&d, "dark");
    const viz_rect field = rect_of(&d, "field");
    view_test_do(d.v, "help");
    idle(&d);
    const view_settings before = d.v->s;
    press_at(&d, dark.x + 8.0, dark.y + 8.0, false);
    const ui_input wheel = {.x = field.x + 5.0, .y = field.y + 5.0, .wheel = 1.0};
    show(&d, &wheel);
    key(&d, UI_LETTER, 'd', false);
    assert_true(view_test_same(&before, &d.v->s));
    assert_non_null(ui_find(d.v->ui, "help.close"));
    press(&d, "help.close");
    assert_null(ui_find(d.v->ui, "help.close"));
    key(&d, UI_LETTER, 'd', false);
    assert_true(d.v->s.dark);
    close_desk(&d);
}

/* The table of keys says what a key does, not what its command can do. */
static void test_the_table_of_keys(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "help");
    idle(&d);
    size_t n = 0;
    size_t found = 0;
    const ui_node *nodes = ui_nodes(d.v->ui, &n);
    for (size_t i = 0; i + 1 < n; i++) {
        if (strncmp(nodes[i].id, "help.key.", 9) == 0) {
            found += strcmp(nodes[i].label, "Down") == 0 &&
                     strcmp(nodes[i + 1].label, "the next token") == 0;
            found += strcmp(nodes[i].label, "x") == 0 &&
                     strcmp(nodes[i + 1].label, "take all started trajectories away") == 0;
            found += strcmp(nodes[i].label, "Ctrl+Z") == 0 &&
                     strcmp(nodes[i + 1].label, view_command_find("undo")->help) == 0;
            found += strcmp(nodes[i].label, "Ctrl+click") == 0 &&
                     strstr(nodes[i + 1].label, "in the token list") != NULL;
            found += strcmp(nodes[i].label, "Shift+click") == 0;
        }
    }
    assert_int_equal(found, 5);
    assert_null(ui_find(d.v->ui, "help.more"));
    view_test_do(d.v, "scale 2"); /* leaves no room for all */
    idle(&d);
    assert_non_null(strstr(ui_find(d.v->ui, "help.more")->label, "▲ 0  ▼ "));
    close_desk(&d);
}

static long size_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const long size = ftell(file);
    (void)fclose(file);
    return size;
}

static void test_the_export_dialog_writes_a_figure(void **state)
{
    (void)state;
    char path[TEST_PATH];
    desk d = open_desk(view_test_make());
    (void)test_path(path, "from dialog.svg");
    press(&d, "export");
    assert_false(ui_find(d.v->ui, "export.write")->enabled);
    type(&d, "figure.doc");
    press(&d, "export.write");
    assert_non_null(ui_find(d.v->ui, "export.write"));
    assert_true(strstr(ui_find(d.v->ui, "export.said")->label, ".pdf") != NULL);
    d.v->typed[0] = '\0';
    press(&d, "path");
    type(&d, path);
    press(&d, "export.write");
    assert_null(ui_find(d.v->ui, "export.write"));
    assert_int_equal(access(path, R_OK), 0);
    close_desk(&d);
}

/* A file that is there is not replaced without asking, and another name asks anew. */
static void test_the_export_dialog_asks(void **state)
{
    (void)state;
    static const char *const names[] = {"old.svg", "older.svg"};
    char path[TEST_PATH];
    desk d = open_desk(view_test_make());
    for (size_t i = 0; i < 2; i++) {
        test_write(test_path(path, names[i]), "mine", 4);
    }
    press(&d, "export");
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(d.v->typed, sizeof d.v->typed, "%s", test_path(path, names[i]));
        idle(&d);
        assert_string_equal(ui_find(d.v->ui, "export.write")->label, "Write");
        press(&d, "export.write");
        assert_non_null(strstr(ui_find(d.v->ui, "export.said")->label, "is there already"));
        assert_string_equal(ui_find(d.v->ui, "export.write")->label, "Replace");
        assert_int_equal(size_of(path), 4);
    }
    press(&d, "export.write");
    assert_null(ui_find(d.v->ui, "export.write"));
    assert_true(size_of(path) > 100);
    assert_int_equal(size_of(test_path(path, names[0])), 4);
    /* A command knows what it does. */
    char line[TEST_PATH + 16];
    (void)snprintf(line, sizeof line, "export %s", path);
    view_test_do(d.v, line);
    assert_true(size_of(path) > 100);
    close_desk(&d);
}

/* Whatever is chosen or switched is told on the last line. */
static void test_choices_say_what_they_did(void **state)
{
    (void)state;
    desk d = open_desk(view_test_make());
    press(&d, "mode");
    press(&d, "mode.1");
    assert_string_equal(ui_find(d.v->ui, "said")->label, "mode is surface");
    press(&d, "pin");
    assert_string_equal(ui_find(d.v->ui, "said")->label, "pin is on");
    const viz_rect list = rect_of(&d, "token");
    press_at(&d, list.x + 40.0, list.y + 2.5 * UI_ROW, false);
    assert_string_equal(ui_find(d.v->ui, "said")->label, "token is 1");
    press(&d, "pointer");
    press(&d, "pointer.2");
    assert_non_null(strstr(ui_find(d.v->ui, "said")->label, "turn"));
    close_desk(&d);
}

/* Who has asked for no motion gets none, also when something moves already. */
static void test_still(void **state)
{
    (void)state;
    double wait;
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "play");
    idle(&d);
    assert_true(d.v->playing);
    view_test_do(d.v, "still on");
    const ui_input input = {.x = -1.0, .y = -1.0};
    show(&d, &input);
    assert_false(d.v->playing);
    view_settle(d.v);
    show(&d, &input);
    assert_false(view_wants_frame(d.v, 1e6, &wait));
    view_test_refused(d.v, "play", "still off allows it");
    close_desk(&d);
}

/* The tab key comes to everything that takes input, and the picture shows where it is. */
static void test_the_focus_is_seen(void **state)
{
    (void)state;
    static const char *const wanted[] = {"plane", "pin",  "token", "field",
                                         "strip", "step", "rate",  "energies"};
    desk d = open_desk(view_test_make());
    view_test_do(d.v, "columns 12");
    view_test_do(d.v, "orbit on");
    settle(&d);
    const size_t bytes = (size_t)cairo_image_surface_get_stride(d.image) * HEIGHT;
    unsigned char *before = malloc(bytes);
    bool seen[sizeof wanted / sizeof *wanted] = {false};
    assert_non_null(before);
    for (int i = 0; i < 60; i++) {
        memcpy(before, cairo_image_surface_get_data(d.image), bytes);
        key(&d, UI_TAB, 0, false);
        assert_true(memcmp(before, cairo_image_surface_get_data(d.image), bytes) != 0);
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
            seen[k] = seen[k] || ui_find(d.v->ui, wanted[k])->focused;
        }
    }
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
        if (!seen[k]) {
            fail_msg("Tab does not come to %s", wanted[k]);
        }
    }
    free(before);
    close_desk(&d);
}

/* ---- What it says as text -------------------------------------------------------------------- */

static const cJSON *widget_of(const cJSON *object, const char *id)
{
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, cJSON_GetObjectItem(object, "widgets"))
    {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(node, "id")), id) == 0) {
            return node;
        }
    }
    fail_msg("there is no widget %s", id);
    return NULL;
}

static cJSON *describe(const view *v)
{
    cJSON *object = NULL;
    char *text = NULL;
    TINY_OK(view_describe(v, &text, tiny_err));
    TINY_OK(model_json_parse("the frame", text, strlen(text), 1 << 20, &object, tiny_err));
    free(text);
    return object;
}

/* All tokens are told of with their energies, those that are scrolled out of sight as well. */
static void test_all_tokens_are_described(void **state)
{
    (void)state;
    view_settings s = view_test_settings("a.safetensors");
    (void)snprintf(s.prompt, sizeof s.prompt, VIEW_TEST_PROMPT " 2 6");
    desk d = open_desk(view_test_open(&s));
    settle(&d);
    view_test_do(d.v, "scale 1.5"); /* leaves no room for all */
    idle(&d);
    cJSON *object = describe(d.v);
    size_t hidden = 0;
    for (size_t row = 0; row < 9; row++) {
        char id[UI_ID_MAX];
        char value[32];
        (void)snprintf(id, sizeof id, "token.%zu", row);
        const cJSON *node = widget_of(object, id);
        const double *e = view_cache_energies(d.v, d.v->s.step);
        double energy = row > 0 ? e[row - 1] : 0.0;
        for (size_t i = 0; i < 8 && row == 0; i++) {
            energy += e[i];
        }
        (void)snprintf(value, sizeof value, "%s%.4g", energy < 0.0 ? "\xe2\x88\x92" : "",
                       fabs(energy));
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(node, "role")), "item");
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(node, "chosen")), row == 5);
        assert_memory_equal(cJSON_GetStringValue(cJSON_GetObjectItem(node, "value")), value,
                            strlen(value));
        hidden += cJSON_IsNull(cJSON_GetObjectItem(node, "rect")) != 0 ? 1 : 0;
    }
    assert_true(hidden > 0 && hidden < 9);
    cJSON_Delete(object);
    close_desk(&d);
}

/* A token that is chosen elsewhere than in the list comes into sight there. */
static void test_the_chosen_token_is_in_sight(void **state)
{
    (void)state;
    view_settings s = view_test_settings("a.safetensors");
    (void)snprintf(s.prompt, sizeof s.prompt, VIEW_TEST_PROMPT " 2 6");
    s.token = 7;
    s.scale = 1.5;
    desk d = open_desk(view_test_open(&s));
    view_settle(d.v);
    const char *const lines[] = {"say", "token 0", "token 7"};
    const char *const rows[] = {"token.8", "token.1", "token.8"};
    for (size_t i = 0; i < 3; i++) {
        view_test_do(d.v, lines[i]);
        settle(&d);
        const ui_node *node = ui_find(d.v->ui, rows[i]);
        assert_false(node->hidden);
        assert_true(node->chosen && node->rect.h > UI_ROW - 1);
    }
    assert_true(ui_find(d.v->ui, "token.0")->hidden);
    close_desk(&d);
}

/* Why there is no picture stands above the one of the settings before, whose token the list's
 * attention is of, or of none. */
static void test_a_picture_that_fails_is_told_of(void **state)
{
    (void)state;
    view_settings s = view_test_settings("a.safetensors");
    s.token = 4;
    s.also[s.n_also++] = 5;
    s.held[s.n_held++] = 3;
    desk d = open_desk(view_test_open(&s));
    settle(&d);
    const viz_rect field = rect_of(&d, "field");
    assert_non_null(strstr(ui_find(d.v->ui, "tokens")->label, "attention"));
    key(&d, UI_UP, 0, false);
    settle(&d);
    assert_int_equal(d.v->s.token, 3);
    assert_int_equal(d.v->broken.status, KERN_INVALID_ARGUMENT);
    const ui_node *notice = ui_find(d.v->ui, "notice");
    assert_non_null(notice);
    assert_true(rect_of(&d, "field").y >= notice->rect.y + notice->rect.h);
    assert_null(strstr(ui_find(d.v->ui, "tokens")->label, "attention"));
    view_test_do(d.v, "undo");
    settle(&d);
    assert_null(ui_find(d.v->ui, "notice"));
    assert_true(rect_of(&d, "field").h == field.h);
    close_desk(&d);
}

/* Tokens drawn beside the chosen one have markers of the legend's colours in the list. */
static void test_markers_have_the_legends_colours(void **state)
{
    (void)state;
    view_settings s = view_test_settings("a.safetensors");
    s.token = 4;
    s.also[s.n_also++] = 1;
    s.also[s.n_also++] = 3;
    desk d = open_desk(view_test_open(&s));
    settle(&d);
    const unsigned char *pixels = cairo_image_surface_get_data(d.image);
    const int stride = cairo_image_surface_get_stride(d.image);
    const char *const rows[] = {"token.2", "token.4", "token.3"}; /* the last has none */
    for (size_t i = 0; i < 3; i++) {
        const viz_rgb ink = viz_colour_class(i < 2 ? i + 1 : 1, VIZ_LIGHT);
        const viz_rect row = rect_of(&d, rows[i]);
        size_t found = 0;
        for (int y = (int)row.y; y < (int)(row.y + row.h - 5.0); y++) {
            for (int x = (int)row.x + 20; x < (int)row.x + 80; x++) {
                const unsigned char *p = pixels + y * stride + 4 * x;
                found += fabs(p[2] - 255.0 * ink.r) < 3.0 && fabs(p[1] - 255.0 * ink.g) < 3.0 &&
                                 fabs(p[0] - 255.0 * ink.b) < 3.0
                             ? 1
                             : 0;
            }
        }
        assert_true(i < 2 ? found > 10 : found == 0);
    }
    close_desk(&d);
}

static void test_numbers(void **state)
{
    char out[VIEW_NUMBER];
    (void)state;
    assert_string_equal(view_number(out, 4, -1.25), "\xe2\x88\x92"
                                                    "1.25");
    assert_string_equal(view_number(out, 3, -1.5e-7), "\xe2\x88\x92"
                                                      "1.5e\xe2\x88\x92"
                                                      "07");
    assert_string_equal(view_number(out, 3, -0.0), "0");
    assert_string_equal(view_number(out, 17, -1.2345678901234567e-301),
                        "\xe2\x88\x92"
                        "1.2345678901234567e\xe2\x88\x92"
                        "301");
}

/* The sentence that `say` tells begins what a picture file says of itself. */
static void test_figures_say_what_is_seen(void **state)
{
    (void)state;
    char path[TEST_PATH];
    char line[TEST_PATH + 16];
    char seen[VIEW_NOTE];
    char *text = NULL;
    size_t size = 0;
    view *v = view_test_make();
    (void)snprintf(line, sizeof line, "export %s", test_path(path, "said.svg"));
    view_test_do(v, line);
    view_test_do(v, "say");
    view_picture_say(v->picture, seen);
    assert_memory_equal(view_said(v, NULL), seen, strlen(seen));
    assert_non_null(strstr(seen, "Energy of token 4"));
    TINY_OK(model_file_read(path, 1 << 24, &text, &size, tiny_err));
    const char *desc = strstr(text, "<desc>");
    assert_non_null(desc);
    assert_memory_equal(desc + 6, seen, strlen(seen));
    assert_non_null(strstr(desc, ". Token space: "));
    free(text);
    view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_palette_runs_commands),
        cmocka_unit_test(test_tab_completes_in_the_palette),
        cmocka_unit_test(test_what_lies_under_a_dialog_takes_nothing),
        cmocka_unit_test(test_the_table_of_keys),
        cmocka_unit_test(test_the_export_dialog_writes_a_figure),
        cmocka_unit_test(test_the_export_dialog_asks),
        cmocka_unit_test(test_choices_say_what_they_did),
        cmocka_unit_test(test_still),
        cmocka_unit_test(test_the_focus_is_seen),
        cmocka_unit_test(test_the_chosen_token_is_in_sight),
        cmocka_unit_test(test_a_picture_that_fails_is_told_of),
        cmocka_unit_test(test_markers_have_the_legends_colours),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_figures_say_what_is_seen),
        cmocka_unit_test(test_all_tokens_are_described),
    };
    return cmocka_run_group_tests(tests, view_test_setup, test_folder_remove);
}
