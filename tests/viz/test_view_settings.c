/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of settings: names, values as text and back, limits, and what differs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/viz/view_test_set.h"
#include "viz/view/view_settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const view_field *find(const char *name)
{
    const view_field *field = NULL;
    kern_error err = {0};
    if (view_field_find(&field, name, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return field;
}

static const char *show(const view_settings *s, const char *name)
{
    static char text[VIEW_TEXT];
    view_settings_show(s, find(name), text);
    return text;
}

static void refuses(const char *name, const char *value, const char *part)
{
    view_settings s;
    view_settings before;
    kern_error err = {0};
    view_settings_defaults(&s);
    before = s;
    assert_int_equal(view_settings_set(&s, find(name), value, &err), KERN_INVALID_ARGUMENT);
    if (strstr(err.text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err.text);
    }
    assert_memory_equal(&s, &before, sizeof s);
}

/* Every member lies in the struct, no two overlap, and no name occurs twice. */
static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const view_field *f = view_field_at(i);
        assert_true(f->offset < sizeof(view_settings));
        assert_non_null(f->help);
        assert_true(f->kind != VIEW_KIND_WORD || f->word(0) != NULL);
        assert_true(f->kind != VIEW_KIND_REALS || f->count > 0);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(view_field_at(j)->name, f->name);
            assert_int_not_equal(view_field_at(j)->offset, f->offset);
        }
    }
}

/* A value of every setting that is not the default. */
static const struct {
    const char *name;
    const char *value;
} values[] = {{"run", "some/folder"},
              {"prompt", "a “b”\n c"},
              {"layer", "3"},
              {"sublayer", "mlp"},
              {"token", "7"},
              {"with", "2"},
              {"also", "3,5,12"},
              {"plane", "hessian"},
              {"seed", "18446744073709551615"},
              {"axes", "axes.csv"},
              {"oblique", "on"},
              {"chart", "flat"},
              {"norm", "rms"},
              {"at", "0"},
              {"steps", "12"},
              {"frozen", "on"},
              {"held", "0,2"},
              {"rate", "0.1"},
              {"pin", "on"},
              {"seeds", "0.1,-2,3e-7,4"},
              {"range", "-1,2,-0.5,1"},
              {"turn", "-0.3333333333333333"},
              {"columns", "64"},
              {"levels", "0"},
              {"mode", "surface"},
              {"map", "cividis"},
              {"dark", "on"},
              {"azimuth", "1.25"},
              {"elevation", "0"},
              {"low", "-1e-300"},
              {"high", "1e+300"},
              {"quadratic", "on"},
              {"step", "4"},
              {"panels", "3"},
              {"follow", "on"},
              {"ghost", "on"},
              {"orbit", "on"},
              {"orbit-from", "0.5"},
              {"orbit-to", "9"},
              {"continued", "on"},
              {"scale", "1.5"},
              {"still", "on"}};

/* Changing any one setting is seen, at its own stage, and showing it reads back to the same. */
static void test_every_setting(void **state)
{
    size_t n = 0;
    (void)state;
    while (view_field_at(n) != NULL) {
        n++;
    }
    assert_int_equal(n, sizeof values / sizeof *values);
    for (size_t i = 0; i < n; i++) {
        view_settings plain;
        view_settings changed;
        view_settings again;
        view_stage stage = VIEW_STAGE_WINDOW;
        view_settings_defaults(&plain);
        changed = again = plain;
        assert_false(view_settings_differ(&plain, &changed, &stage));
        set(&changed, values[i].name, values[i].value);
        assert_true(view_settings_differ(&plain, &changed, &stage));
        assert_int_equal(stage, find(values[i].name)->stage);
        set(&again, values[i].name, show(&changed, values[i].name));
        assert_false(view_settings_differ(&again, &changed, &stage));
        assert_memory_equal(&again, &changed, sizeof again);
    }
}

/* A number goes into a set where it belongs, and out again. */
static void test_toggle(view_settings *s)
{
    kern_error err = {0};
    const view_field *also = find("also");
    size_t n = 0;
    assert_int_equal(view_settings_toggle_size(s, also, 4, &err), KERN_OK);
    assert_string_equal(show(s, "also"), "3,4,5,12");
    assert_int_equal(view_settings_toggle_size(s, also, 3, &err), KERN_OK);
    assert_string_equal(show(s, "also"), "4,5,12");
    assert_int_equal(view_settings_toggle_size(s, also, 1000000, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(view_settings_sizes(s, also, &n)[2], 12);
    assert_int_equal(n, 3);
    set(s, "also", "none");
    assert_string_equal(show(s, "also"), "none");
    assert_int_equal(s->also[0], 0);
}

static void expect_others(view_settings *s, size_t tokens, kern_status status, const char *shown)
{
    kern_error err = {0};
    assert_int_equal(view_settings_take_others(s, find("held"), tokens, &err), status);
    if (strstr(status == KERN_OK ? show(s, "held") : err.text, shown) == NULL) {
        fail_msg("\"%s\" is not in: %s%s", shown, show(s, "held"), err.text);
    }
}

/* All tokens of a prompt but the chosen one. */
static void test_others(void **state)
{
    view_settings s;
    (void)state;
    view_settings_defaults(&s);
    set(&s, "held", "9");
    set(&s, "token", "1");
    expect_others(&s, 4, KERN_OK, "0,2,3");
    expect_others(&s, 18, KERN_INVALID_ARGUMENT, "held is \"all\", which is 17 tokens");
    assert_string_equal(show(&s, "held"), "0,2,3");
    expect_others(&s, 17, KERN_OK, "0,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16");
    set(&s, "token", "0");
    expect_others(&s, 1, KERN_INVALID_ARGUMENT, "there is no token but the chosen one");
    set(&s, "token", "all");
    expect_others(&s, 2, KERN_OK, "0,1");
}

static void test_values(void **state)
{
    view_settings s;
    (void)state;
    view_settings_defaults(&s);
    assert_string_equal(show(&s, "token"), "all");
    assert_string_equal(show(&s, "at"), "last");
    assert_string_equal(show(&s, "chart"), "auto");
    assert_string_equal(show(&s, "range"), "auto");
    assert_string_equal(show(&s, "seeds"), "none");
    assert_string_equal(show(&s, "plane"), "pca");
    set(&s, "range", "2");
    assert_true(s.range[0] == -2.0 && s.range[1] == 2.0);
    assert_true(s.range[2] == -1.25 && s.range[3] == 1.25);
    set(&s, "range", "1e15"); /* the widest */
    set(&s, "range", "auto");
    assert_true(s.range[1] == 0.0);
    set(&s, "seeds", "1,2,3,4");
    assert_int_equal(s.n_seeds, 2);
    set(&s, "seeds", "none");
    assert_int_equal(s.n_seeds, 0);
    assert_true(s.seeds[0] == 0.0);
    set(&s, "also", "5,3,12,3");
    assert_string_equal(show(&s, "also"), "3,5,12");
    test_toggle(&s);
    set(&s, "token", "all");
    assert_true(s.token == VIEW_ALL);
    /* Both spellings of a name. */
    assert_ptr_equal(find("orbit_from"), find("orbit-from"));
}

/* The earliest stage counts when several settings differ. */
static void test_earliest_stage(void **state)
{
    view_settings a;
    view_settings b;
    view_stage stage;
    (void)state;
    view_settings_defaults(&a);
    b = a;
    set(&b, "still", "on");
    set(&b, "columns", "100");
    assert_true(view_settings_differ(&a, &b, &stage));
    assert_int_equal(stage, VIEW_STAGE_FIELD);
    set(&b, "prompt", "x");
    assert_true(view_settings_differ(&a, &b, &stage));
    assert_int_equal(stage, VIEW_STAGE_SUBJECT);
}

static void test_refusals(void **state)
{
    char longest[VIEW_TEXT + 1];
    kern_error err = {0};
    const view_field *field = NULL;
    (void)state;
    refuses("columns", "1", "columns is \"1\"; accepted are whole numbers from 2 to 4096");
    refuses("columns", "+5", "accepted are whole numbers");
    refuses("columns", "18446744073709551616", "accepted are whole numbers");
    refuses("token", "-1", ", and all");
    refuses("plane", "sideways", "\"sideways\" is no plane; accepted are random, relative, pca");
    refuses("chart", "round", "\"round\" is no chart; accepted are auto, flat");
    refuses("rate", "nan", "accepted are numbers from 0 to 1000");
    refuses("rate", "-1", "rate is \"-1\"");
    refuses("rate", "1,2", "rate is \"1,2\"");
    refuses("turn", "inf", "turn is \"inf\"");
    refuses("frozen", "yes", "accepted are on and off");
    refuses(
        "range", "1,2,3",
        "range has 3 numbers; accepted are auto, one number above 0 (half the width) and 4 numbers "
        "separated by commas (a from, a to, b from, b to), each from -1e+15 to 1e+15");
    refuses("range", "1,0,0,1", "each must grow");
    refuses("range", "5e-324", "by 1e-300 at least");
    refuses("range", "-1", "range is \"-1\"");
    /* Squares of places beyond overflow behind a norm, and energies would silently be wrong. */
    refuses("range", "1e200", "each from -1e+15 to 1e+15");
    refuses("seeds", "0,-2e15", "each from -1e+15 to 1e+15");
    refuses("seeds", "1", "seeds has 1 number; accepted are none and up to 32 numbers");
    refuses("seeds", "1,2,3", "an even number");
    refuses("seeds", "1;2", "separated by commas");
    refuses("also", "1,,2", "also is \"1,,2\"; accepted are none and up to 16 whole numbers");
    refuses("also", "-1", "separated by commas");
    refuses("also", "", "accepted are none");
    refuses("also", "1,1000000", "whole numbers up to 100000");
    refuses("also", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "more than 16 numbers");
    memset(longest, 'x', VIEW_TEXT);
    longest[VIEW_TEXT] = '\0';
    refuses("prompt", longest, "at most 1023 bytes");
    refuses("prompt", "\xff", "UTF-8");
    assert_int_equal(view_field_find(&field, "plain", &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "\"plain\" is no setting; close to it: plane"));
    assert_int_equal(view_field_find(&field, "", &err), KERN_INVALID_ARGUMENT);
    assert_null(field);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),    cmocka_unit_test(test_every_setting),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_earliest_stage),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
