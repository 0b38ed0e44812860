/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What of a stream of events may become one frame's input, and what has to wait for the next.
 */
#include "viz/view/view_gather.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static ui_key letter(char c)
{
    return (ui_key){.code = UI_LETTER, .letter = c};
}

static void test_pointer(void **state)
{
    ui_input in = {.x = -1.0, .y = -1.0};
    (void)state;
    assert_true(view_gather_motion(&in, 1.0, 2.0));
    assert_true(view_gather_motion(&in, 3.0, 4.0));
    assert_true(view_gather_button(&in, true, 5.0, 6.0));
    assert_true(in.pressed && in.down && !in.released && in.x == 5.0 && in.y == 6.0);
    /* Where the button went down must be seen before anything else moves. */
    const ui_input before = in;
    assert_false(view_gather_motion(&in, 7.0, 8.0));
    assert_false(view_gather_button(&in, false, 5.0, 6.0));
    assert_false(view_gather_wheel(&in, 1.0));
    assert_memory_equal(&in, &before, sizeof in);
    view_gather_begin(&in);
    assert_true(in.down && !in.pressed && in.x == 5.0);
    assert_true(view_gather_motion(&in, 7.0, 8.0));
    assert_true(view_gather_button(&in, false, 7.0, 8.0));
    assert_true(in.released && !in.down);
}

/* A button that goes up without having gone down here was pressed elsewhere. */
static void test_stray_release(void **state)
{
    ui_input in = {0};
    (void)state;
    assert_true(view_gather_button(&in, false, 1.0, 1.0));
    assert_false(in.released);
}

static void test_wheel(void **state)
{
    ui_input in = {0};
    (void)state;
    assert_true(view_gather_wheel(&in, 1.0));
    assert_true(view_gather_wheel(&in, 0.5));
    assert_true(in.wheel == 1.5);
    assert_false(view_gather_modifiers(&in, true, false));
    assert_false(in.shift);
    view_gather_begin(&in);
    assert_true(in.wheel == 0.0);
    assert_true(view_gather_modifiers(&in, true, false));
    assert_true(in.shift && !in.ctrl);
}

static void test_words(void **state)
{
    ui_input in = {0};
    const ui_key a = letter('a');
    const ui_key slash = {.code = UI_LETTER, .letter = '/', .shift = true};
    const ui_key left = {.code = UI_LEFT};
    const ui_key right = {.code = UI_RIGHT};
    const ui_key enter = {.code = UI_ENTER};
    (void)state;
    assert_true(view_gather_key(&in, &a) && view_gather_text(&in, "a"));
    assert_true(view_gather_key(&in, &slash) && view_gather_text(&in, "?"));
    assert_string_equal(in.text, "a?");
    assert_int_equal(in.keys[1].letter, '?');
    /* Widgets take a frame's text before its keys, so a key behind letters comes later. */
    assert_false(view_gather_key(&in, &left));
    view_gather_begin(&in);
    assert_true(view_gather_key(&in, &left) && view_gather_key(&in, &left));
    assert_false(view_gather_key(&in, &right));
    assert_false(view_gather_key(&in, &a));
    assert_false(view_gather_text(&in, "a"));
    assert_int_equal(in.n_keys, 2);
    view_gather_begin(&in);
    assert_true(view_gather_key(&in, &enter));
    assert_false(view_gather_key(&in, &enter));
}

/* Ctrl with a letter is a command, not text. */
static void test_commands(void **state)
{
    ui_input in = {0};
    const ui_key palette = {.code = UI_LETTER, .letter = 'p', .ctrl = true};
    const ui_key a = letter('a');
    (void)state;
    assert_true(view_gather_key(&in, &palette));
    assert_false(view_gather_key(&in, &a));
    assert_false(view_gather_button(&in, true, 1.0, 1.0));
    assert_int_equal(in.n_keys, 1);
    /* X11 sends the text "+" of Ctrl and plus. */
    view_gather_begin(&in);
    assert_true(view_gather_modifiers(&in, true, true));
    const ui_key plus = {.code = UI_LETTER, .letter = '=', .shift = true, .ctrl = true};
    assert_true(view_gather_key(&in, &plus) && view_gather_text(&in, "+"));
    assert_string_equal(in.text, "");
    assert_int_equal(in.keys[0].letter, '=');
}

static void test_limits(void **state)
{
    ui_input in = {0};
    const ui_key left = {.code = UI_LEFT};
    char half[UI_TEXT_MAX / 2 + 8];
    char whole[UI_TEXT_MAX + 8];
    (void)state;
    for (int i = 0; i < UI_KEYS_MAX; i++) {
        assert_true(view_gather_key(&in, &left));
    }
    assert_false(view_gather_key(&in, &left));
    view_gather_begin(&in);
    memset(half, 'x', sizeof half);
    half[sizeof half - 1] = '\0';
    memset(whole, 'x', sizeof whole);
    whole[sizeof whole - 1] = '\0';
    assert_true(view_gather_text(&in, half));
    assert_false(view_gather_text(&in, half));
    assert_true(view_gather_text(&in, whole)); /* no frame has room: lost */
    assert_string_equal(in.text, half);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointer),  cmocka_unit_test(test_stray_release),
        cmocka_unit_test(test_wheel),    cmocka_unit_test(test_words),
        cmocka_unit_test(test_commands), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
