/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands: the table and its keys, every command once, what is refused, what the palette offers,
 * files, and a thousand lines at random.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/viz/view_test_model.h"
#include "viz/view/view_command.h"
#include "viz/view/view_session.h"

#include <cjson/cJSON.h>
#include <math.h>

/* ---- The table ------------------------------------------------------------------------------- */

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; view_command_at(i) != NULL; i++) {
        const view_command *c = view_command_at(i);
        view_key key;
        assert_true(strlen(c->help) > 0 && strlen(c->name) > 0);
        assert_non_null(c->arguments);
        assert_true(c->key == NULL || view_command_key(&key, c->key));
        assert_true(c->key_arguments == NULL || c->key != NULL);
        /* Rows of one name stand together, and run the same. */
        const view_command *first = view_command_find(c->name);
        assert_ptr_equal(first->run, c->run);
        assert_true(first == c || strcmp(view_command_at(i - 1)->name, c->name) == 0);
        for (size_t j = 0; j < i && c->key != NULL; j++) {
            const view_command *other = view_command_at(j);
            view_key taken;
            if (other->key != NULL && view_command_key(&taken, other->key) &&
                taken.code == key.code && taken.letter == key.letter && taken.ctrl == key.ctrl) {
                fail_msg("%s and %s share the key %s", c->name, other->name, c->key);
            }
        }
    }
    assert_null(view_command_find("nothing"));
    assert_ptr_equal(view_command_find("accept_model"), view_command_find("accept-model"));
}

/* ---- Every command once ---------------------------------------------------------------------- */

/* Replaces "@name" in a line by that file's path in the test's folder. */
static const char *with_path(const char *line)
{
    static char out[2 * TEST_PATH];
    char path[TEST_PATH];
    const char *at = strchr(line, '@');
    const size_t n = at != NULL ? strcspn(at + 1, " ") : 0;
    char name[64];
    if (at == NULL) {
        (void)snprintf(out, sizeof out, "%s", line);
        return out;
    }
    assert_true(n < sizeof name);
    memcpy(name, at + 1, n);
    name[n] = '\0';
    (void)snprintf(out, sizeof out, "%.*s%s%s", (int)(at - line), line, test_path(path, name),
                   at + 1 + n);
    return out;
}

static const char *const once[] = {
    "token 2",
    "token next",
    "token prev",
    "also 1",
    "also clear",
    "held 0",
    "held clear",
    "step 1",
    "step +1",
    "step -1",
    "step last",
    "step first",
    "play",
    "play toggle",
    "play toggle",
    "pause",
    "plane random",
    "resample",
    "seed 7",
    "seed 0.1 -0.1",
    "seeds 0.1,0.2,0.3,0.4",
    "seeds clear",
    "zoom 1.5",
    "pan 0.1 0",
    "rotate 30",
    "rotate -15",
    "fit",
    "measure 0.1 0.1",
    "center",
    "mode surface",
    "mode basins",
    "mode map",
    "toggle pin",
    "lock",
    "unlock",
    "scale +",
    "scale -",
    "scale 1.5",
    "rate x2",
    "rate",
    "undo",
    "redo",
    "reset",
    "export @once.pdf width-mm 89",
    "export",
    "save @once.json",
    "load @once.json",
    "accept-model",
    "say",
    "describe @widgets.json",
    "screenshot @window.png",
    "palette",
    "help",
    "quit",
};

static void test_once(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "columns 12");
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        bool failed = true;
        view_test_do(v, with_path(once[i]));
        view_settle(v);
        (void)view_said(v, &failed);
        if (failed) {
            fail_msg("%s: %s", once[i], view_said(v, NULL));
        }
    }
    assert_true(view_ended(v));
    for (size_t i = 0; view_command_at(i) != NULL; i++) {
        const char *name = view_command_at(i)->name;
        bool ran = false;
        for (size_t k = 0; k < sizeof once / sizeof *once; k++) {
            ran = ran || (strncmp(once[k], name, strlen(name)) == 0 &&
                          strchr(" ", once[k][strlen(name)]) != NULL);
        }
        if (!ran) {
            fail_msg("%s is not in the list of this test", name);
        }
    }
    view_destroy(v);
}

/* What commands do beyond being accepted. */
static void test_effects(void **state)
{
    (void)state;
    view *v = view_test_make();
    const dyn_slice_range r = v->picture->landscape->range;
    view_test_do(v, "zoom 2");
    const double half = 0.25 * (r.a_high - r.a_low);
    const double middle = 0.5 * (r.a_high + r.a_low);
    /* A few roundings of numbers of the range's size. */
    const double tolerance = 16.0 * 2.3e-16 * (fabs(r.a_low) + fabs(r.a_high));
    assert_true(fabs(v->s.range[0] - (middle - half)) <= tolerance);
    assert_true(fabs(v->s.range[1] - (middle + half)) <= tolerance);
    view_test_do(v, "fit");
    assert_true(v->s.range[0] == 0.0 && v->s.range[1] == 0.0);
    view_test_do(v, "step 5");
    view_test_do(v, "center");
    assert_int_equal(v->s.at, 5);
    view_test_do(v, "token all");
    view_test_do(v, "token next");
    assert_int_equal(v->s.token, 0);
    view_test_do(v, "token prev");
    assert_true(v->s.token == VIEW_ALL);
    view_test_do(v, "token prev");
    assert_int_equal(v->s.token, VIEW_TEST_TOKENS - 1);
    view_test_do(v, "seed 0.25 -0.5");
    view_test_do(v, "seed 9");
    assert_int_equal(v->s.n_seeds, 1);
    assert_true(v->s.seeds[0] == 0.25 && v->s.seeds[1] == -0.5);
    assert_int_equal(v->s.seed, 9);
    view_test_do(v, "seeds clear");
    assert_int_equal(v->s.n_seeds, 0);
    view_test_do(v, "rate 1.5");
    view_test_do(v, "rate x2");
    assert_true(v->s.rate == 3.0);
    view_settle(v);
    view_test_do(v, "lock");
    assert_true(v->s.low == v->low && v->s.high == v->high && v->s.low < v->s.high);
    view_test_do(v, "rotate 350");
    assert_true(v->s.turn < 0.0 && v->s.turn > -0.18);
    view_test_do(v, "dark on");
    view_test_do(v, "reset");
    assert_true(v->s.dark && v->s.rate == 1.0 && v->s.low == 0.0 && v->s.turn == 0.0);
    assert_string_equal(v->s.prompt, VIEW_TEST_PROMPT);
    view_destroy(v);
}

static void test_measure(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, "measure 0 0");
    view_settle(v);
    assert_true(v->has_measure);
    /* The centre is a state of the trajectory, whose true energy is known: both are the model's to
     * 1e-12 of the terms. */
    const view_path *p = &v->picture->landscape->path;
    assert_true(fabs(v->measure.energy - p->energy[3]) <= 1e-11 * (1.0 + fabs(p->energy[3])));
    assert_non_null(strstr(view_said(v, NULL), "at (0, 0): E = "));
    view_test_do(v, "token 1");
    assert_false(v->has_measure);
    view_destroy(v);
}

/* ---- What is refused ------------------------------------------------------------------------- */

/* Lines, and what their sentences contain. */
static const char *const lines[][2] = {
    {"", "there is no command"},
    {"   ", "there is no command"},
    {"nonsense", "\"nonsense\" is neither"},
    {"plaen pca", "neither a command nor a setting"},
    {"tok", "close to it: token"},
    {"token 99", "there is no token 99"},
    {"token -1", "\"-1\""},
    {"token 1 2", "\"1 2\""},
    {"step 99", "there is no step 99"},
    {"step up", "\"up\""},
    {"plane cubic", "\"cubic\" is no plane"},
    {"rate fast", "\"fast\""},
    {"rate -1", "\"-1\""},
    {"rate nan", "\"nan\""},
    {"rate x", "the factor is \"\""},
    {"rate xx", "the factor is \"x\""},
    {"dark maybe", "accepted are on and off"},
    {"range 1,0,0,1", "each must grow"},
    {"zoom", "arguments is 0 instead"},
    {"zoom 0", "the factor is 0"},
    {"zoom -2", "the factor is -2"},
    {"zoom inf", "\"inf\""},
    {"zoom 1 2", "arguments is 2 instead"},
    {"pan 1", "arguments is 1 instead"},
    {"pan a b", "\"a\""},
    {"pan 1e308 1e308", "pan leaves nothing"},
    {"rotate left", "\"left\""},
    {"seed 1 2 3", "arguments is 3 instead"},
    {"seed x y", "\"x\""},
    {"seeds 1", "an even number"},
    {"resample", "plane pca is not drawn at random"},
    {"measure", "arguments is 0 instead"},
    {"measure 1 up", "\"up\""},
    {"toggle", "toggle needs"},
    {"toggle rate", "neither on nor off"},
    {"toggle nothing", "no setting"},
    {"mode cubes", "\"cubes\" is no mode"},
    {"scale 9", "\"9\""},
    {"undo 2", "takes no arguments"},
    {"undo", "nothing to be undone"},
    {"redo", "nothing to be redone"},
    {"quit now", "takes no arguments"},
    {"export @x.doc", "must end in"},
    {"export @x.pdf width-mm", "without its number"},
    {"export @x.pdf width-mm 0", "accepted are 21.17 to 5080"},
    {"export @x.pdf width-mm 99999", "accepted are 21.17 to 5080"},
    {"export @x.png dpi 0", "outside 18"},
    {"export @x.png dpi 99999", "outside 18"},
    {"export @x.pdf tall", "\"tall\" is no option"},
    {"export \"@x.pdf", "has no end"},
    {"export a b c d e f g h i", "more than 8"},
    {"export @no/folder/x.pdf", "no/folder"},
    {"save", "needs the path"},
    {"save @no/folder/x.json", "no/folder"},
    {"save @x.txt", "must end in .json"},
    {"load", "needs the path"},
    {"load @none.json", "none.json"},
    {"load @a.safetensors", "a.safetensors"},
    {"describe", "needs the path"},
    {"accept-model now", "takes no arguments"},
    {"say what", "takes no arguments"},
    {"run @none.safetensors", "none.safetensors"},
    {"prompt \"\"", "prompt"},
    {"dark \xff", "UTF-8"},
};

static void test_refused(void **state)
{
    (void)state;
    view *v = view_test_make();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        view_test_refused(v, with_path(lines[i][0]), lines[i][1]);
        assert_false(view_ended(v));
    }
    char *longest = calloc(1, 5000);
    assert_non_null(longest);
    memset(longest, 'a', 4999);
    view_test_refused(v, longest, "too long");
    free(longest);
    view_destroy(v);
}

/* ---- Palette --------------------------------------------------------------------------------- */

enum { OFFERED = 24 };

static view_suggestion offered[OFFERED];

static size_t suggest(const view *v, const char *typed)
{
    return view_command_suggest(v, typed, offered, OFFERED);
}

static bool offers(size_t n, const char *line)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        found = found || strcmp(offered[i].line, line) == 0;
    }
    return found;
}

static void test_palette(void **state)
{
    (void)state;
    view *v = view_test_make();
    size_t n = suggest(v, "");
    assert_int_equal(n, OFFERED);
    assert_string_equal(offered[0].line, "token");
    assert_true(offers(n, "token next"));
    n = suggest(v, "plane p");
    assert_string_equal(offered[0].line, "plane pca");
    assert_string_equal(offered[1].line, "plane points");
    n = suggest(v, "undo");
    assert_string_equal(offered[0].line, "undo");
    assert_string_equal(offered[0].key, "Ctrl+Z");
    /* Lines that begin so, then words that do, then letters in their order. */
    n = suggest(v, "mo");
    assert_string_equal(offered[0].line, "mode");
    n = suggest(v, "surf");
    assert_string_equal(offered[0].line, "mode surface");
    n = suggest(v, "m ba");
    assert_string_equal(offered[0].line, "mode basins");
    assert_true(offers(n, "map balance"));
    n = suggest(v, "pln pca");
    assert_string_equal(offered[0].line, "plane pca");
    n = suggest(v, "DARK");
    assert_string_equal(offered[0].line, "dark");
    assert_true(offers(n, "dark on") && offers(n, "toggle dark"));
    /* What is typed to its end is offered as it is. */
    n = suggest(v, "token 3");
    assert_string_equal(offered[0].line, "token 3");
    n = suggest(v, "rate 2.5");
    assert_string_equal(offered[0].line, "rate 2.5");
    n = suggest(v, "export My File.pdf");
    assert_string_equal(offered[0].line, "export My File.pdf");
    assert_int_equal(suggest(v, "zzzz"), 0);
    assert_int_equal(view_command_suggest(v, "", offered, 0), 0);
    assert_int_equal(view_command_suggest(v, "token 3", offered, 1), 1);
    /* No line twice, and every one with its help. */
    n = suggest(v, "o");
    for (size_t i = 0; i < n; i++) {
        assert_true(strlen(offered[i].help) > 0);
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(offered[i].line, offered[j].line);
        }
    }
    view_destroy(v);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void press(view *v, const char *name)
{
    view_key key;
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 8, 8);
    cairo_t *cr = cairo_create(surface);
    ui_input input = {.n_keys = 1};
    assert_true(view_command_key(&key, name));
    input.keys[0] = (ui_key){.code = key.code, .letter = key.letter, .ctrl = key.ctrl};
    const ui_frame frame = {cr, 8, 8, VIZ_LIGHT, &input};
    ui_begin(v->ui, &frame);
    view_command_keys(v);
    TINY_OK(ui_end(v->ui, tiny_err));
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
}

static void test_keys(void **state)
{
    (void)state;
    view_key key;
    assert_true(view_command_key(&key, "Ctrl++"));
    assert_true(key.ctrl && key.letter == '+' && key.code == UI_LETTER);
    assert_true(view_command_key(&key, "P") && key.letter == 'p' && !key.ctrl);
    assert_true(view_command_key(&key, "Space") && key.code == UI_SPACE);
    assert_false(view_command_key(&key, "Ctrl+"));
    assert_false(view_command_key(&key, "Hyper"));
    view *v = view_test_make();
    press(v, "d");
    assert_true(v->s.dark);
    press(v, "Right");
    assert_int_equal(v->s.step, 1);
    press(v, "Down");
    assert_int_equal(v->s.token, 5);
    press(v, "3");
    assert_int_equal(v->s.mode, VIEW_BASINS);
    press(v, "Space");
    assert_true(v->playing);
    press(v, "Space");
    assert_false(v->playing);
    press(v, "Ctrl+Z");
    assert_int_equal(v->s.mode, VIEW_MAP);
    press(v, "Ctrl+P");
    assert_int_equal(v->overlay, VIEW_OVER_PALETTE);
    press(v, "d"); /* is typed there */
    assert_true(v->s.dark);
    press(v, "Ctrl+Q");
    assert_true(view_ended(v));
    view_destroy(v);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static cJSON *read_json(const char *name)
{
    char path[TEST_PATH];
    char text[1 << 14] = "";
    FILE *file = fopen(test_path(path, name), "rb");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    cJSON *object = cJSON_Parse(text);
    assert_non_null(object);
    return object;
}

/* A figure is made from the finished picture, and opens again as it was. */
static void test_export(void **state)
{
    static const char *const names[] = {"@f.pdf", "@f.svg", "@f.png dpi 50", "@f.csv",
                                        "@f.pdf width-mm 120"};
    (void)state;
    view *v = view_test_make();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char line[128];
        char path[TEST_PATH];
        view_session session;
        (void)snprintf(line, sizeof line, "rate 1.%zu", i + 1);
        view_test_do(v, line);
        (void)snprintf(line, sizeof line, "export %s", names[i]);
        view_test_do(v, with_path(line));
        assert_true(v->picture->landscape->settings.rate == v->s.rate);
        assert_false(v->picture->sketch);
        (void)snprintf(line, sizeof line, "%.6s", names[i] + 1);
        line[strcspn(line, " ")] = '\0';
        TINY_OK(view_session_load(&session, test_path(path, line), tiny_err));
        assert_true(view_test_same(&session.settings, &v->s));
        assert_string_equal(session.model_sha256, v->subject->sha256);
    }
    const view_settings exported = v->s;
    view_test_do(v, "token 1");
    view_test_do(v, with_path("load @f.pdf"));
    assert_true(view_test_same(&exported, &v->s));
    view_test_do(v, "columns 12");
    view_test_do(v, "mode basins");
    view_test_do(v, with_path("export \"@basins and more.svg\""));
    view_destroy(v);
}

static void test_describe(void **state)
{
    (void)state;
    view *v = view_test_make();
    view_test_do(v, with_path("describe @w.json"));
    cJSON *object = read_json("w.json");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(object, "title")), view_title(v));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(object, "read_only")));
    assert_true(cJSON_IsArray(cJSON_GetObjectItem(object, "widgets")));
    cJSON_Delete(object);
    view_destroy(v);
}

/* ---- At random ------------------------------------------------------------------------------- */

/* A line of the table or of the settings, with arguments that are often right. */
static void random_line(kern_rng *rng, char *out, size_t size)
{
    static const char *const arguments[] = {
        "",    "0",       "1",   "2",        "3 -1",   "0.5",   "0.2 0.1", "next", "prev",
        "+1",  "-1",      "on",  "off",      "last",   "all",   "x2",      "auto", "random",
        "pca", "hessian", "map", "gradient", "tokens", "clear", "1,2,3,4"};
    size_t commands = 0;
    size_t fields = 0;
    while (view_command_at(commands) != NULL) {
        commands++;
    }
    while (view_field_at(fields) != NULL) {
        fields++;
    }
    const char *argument =
        arguments[kern_rng_below(rng, (uint32_t)(sizeof arguments / sizeof *arguments))];
    const size_t pick = kern_rng_below(rng, (uint32_t)(commands + 2 * fields));
    if (pick >= commands) {
        (void)snprintf(out, size, "%s %s", view_field_at((pick - commands) / 2)->name, argument);
        return;
    }
    const view_command *c = view_command_at(pick);
    const bool own = c->key_arguments != NULL && kern_rng_below(rng, 2) == 0;
    (void)snprintf(out, size, "%s %s", c->name, own ? c->key_arguments : argument);
}

/* Paths among random words would be files in the working directory, and large settings take long.
 */
static bool is_spared(const char *line)
{
    static const char *const spared[] = {"save", "export", "describe", "screenshot",
                                         "quit", "reset",  "columns"};
    bool found = false;
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++) {
        found = found || strncmp(line, spared[i], strlen(spared[i])) == 0;
    }
    return found;
}

static void test_random(void **state)
{
    (void)state;
    enum { LINES = 1000 };
    kern_rng *rng = kern_rng_create(21, "view commands", 0);
    assert_non_null(rng);
    view *v = view_test_make();
    size_t accepted = 0;
    for (size_t i = 0; i < LINES; i++) {
        char line[128];
        kern_error err = {0};
        const view_settings before = v->s;
        random_line(rng, line, sizeof line);
        if (is_spared(line)) {
            continue;
        }
        if (view_do(v, line, &err) == KERN_OK) {
            accepted++;
        } else if (!view_test_same(&before, &v->s) || err.text[0] == '\0') {
            fail_msg("%s: refused, but not as it should be", line);
        }
        view_beat(v, (double)i);
        if (i % 50 == 0) {
            view_settle(v);
        } else {
            (void)view_tasks_take(v);
        }
    }
    assert_true(accepted > LINES / 5);
    while (view_do(v, "undo", NULL) == KERN_OK) {
    }
    view_settle(v);
    assert_non_null(v->picture);
    view_destroy(v);
    kern_rng_destroy(rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),    cmocka_unit_test(test_once),
        cmocka_unit_test(test_effects),  cmocka_unit_test(test_measure),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_palette),
        cmocka_unit_test(test_keys),     cmocka_unit_test(test_export),
        cmocka_unit_test(test_describe), cmocka_unit_test(test_random),
    };
    kern_runtime_init();
    return cmocka_run_group_tests(tests, view_test_setup, test_folder_remove);
}
