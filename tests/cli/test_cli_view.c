/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand view with the built program, without a display: commands, scripts, sessions, the
 * bundled models, and what it refuses.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include "models/model_file.h"
#include "viz/viz_session.h"

#define VIEW     "view", "--no-window", "--threads", "1", "--set", "columns=24"
#define SETTINGS "settings"
#define LISTOPS  BASIN_SOURCE_DIR "/assets/listops"

static void write_text(const char *name, const char *text)
{
    test_write(in(name), text, strlen(text));
}

/* The widget of an id. */
static const cJSON *widget(const cJSON *object, const char *id)
{
    const cJSON *shown = member(object, "window");
    for (int i = 0; i < count(shown, "widgets"); i++) {
        const cJSON *node = entry(shown, "widgets", i);
        if (strcmp(member(node, "id")->valuestring, id) == 0) {
            return node;
        }
    }
    fail_msg("no widget \"%s\" in %s", id, program_out);
    return NULL;
}

static void test_bundled(void **state)
{
    (void)state;
    program_expect(0, VIEW, "--json", NULL);
    cJSON *object = program_json();
    const cJSON *settings = member(object, SETTINGS);
    assert_word(settings, "run", "");
    assert_word(settings, "prompt", "max_10 ( 2 9 3 ) =");
    assert_word(settings, "token", "all");
    assert_word(settings, "columns", "24");
    const cJSON *shown = member(object, "window");
    assert_true(count(shown, "widgets") > 10);
    assert_int_equal(count(object, "commands"), 0);
    assert_non_null(strstr(member(shown, "title")->valuestring, "Basin"));
    cJSON_Delete(object);

    program_expect(0, VIEW, "--bundled", "cem", "--set", "layer=1", "--set", "sublayer=mlp",
                   "--json", NULL);
    object = program_json();
    assert_word(member(object, SETTINGS), "sublayer", "mlp");
    assert_non_null(strstr(member(member(object, SETTINGS), "run")->valuestring, "/cem"));
    cJSON_Delete(object);
}

/* Tokens of a model of Gaussian processes are points, and its prompt is a seed. */
static void test_points(void **state)
{
    (void)state;
    program_expect(0, VIEW, "--bundled", "gp", "--token", "3", "--exec", "say", "--json", NULL);
    cJSON *object = program_json();
    assert_word(member(object, SETTINGS), "prompt", "1:32");
    const cJSON *said = member(cJSON_GetArrayItem(member(object, "commands"), 0), "said");
    assert_non_null(strstr(said->valuestring, "x = "));
    assert_non_null(strstr(said->valuestring, "layer 0, attn"));
    cJSON_Delete(object);
    program_expect(2, VIEW, "--bundled", "gp", "--prompt", "max", NULL);
    program_complained("as in 3:32");
    program_expect(2, VIEW, "--bundled", "gp", "--prompt", "1:", NULL);
    program_complained("as in 3:32");
    program_expect(2, VIEW, "--bundled", "gp", "--prompt", "1:65", NULL);
    program_complained("sequences have 64");
}

/* A bundled model needs its two files and no data: config.json may name data that are nowhere. */
static void test_assets(void **state)
{
    static const char *const names[] = {"config.json", "model.safetensors", "prompt.txt"};
    char *text = NULL;
    size_t size = 0;
    kern_error err = {0};
    (void)state;
    assert_int_equal(model_file_make_folder(in("assets/listops"), &err), KERN_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char from[TEST_PATH];
        char to[TEST_PATH];
        (void)snprintf(from, sizeof from, BASIN_SOURCE_DIR "/assets/listops/%s", names[i]);
        (void)snprintf(to, sizeof to, "%s/%s", in("assets/listops"), names[i]);
        assert_int_equal(model_file_read(from, 1 << 20, &text, &size, &err), KERN_OK);
        char *path = i == 0 ? strstr(text, "generate=") : NULL;
        if (path != NULL) {
            memcpy(path, "/nowhere/", 9);
        }
        test_write(to, text, size);
        free(text);
    }
    program_expect(0, VIEW, "--assets", in("assets"), "--json", NULL);
    assert_int_equal(setenv("BASIN_ASSETS", in("assets"), 1), 0);
    program_expect(0, VIEW, "--json", NULL);
    program_expect(2, VIEW, "--bundled", "cem", NULL);
    program_complained("accepted are the models in");
    assert_int_equal(setenv("BASIN_ASSETS", in("nowhere"), 1), 0);
    program_expect(2, VIEW, NULL);
    program_complained("the environment variable BASIN_ASSETS names");
    /* What is named on the command line comes first. */
    program_expect(0, VIEW, "--assets", in("assets"), NULL);
    assert_int_equal(unsetenv("BASIN_ASSETS"), 0);
    program_expect(2, VIEW, "--assets", in("nowhere"), NULL);
    program_complained("--assets names");
}

static void test_commands(void **state)
{
    (void)state;
    write_text("script.txt", "# a note\n\n  token 4 \nplane gradient\nstep 3\n");
    program_expect(0, VIEW, "--script", in("script.txt"), "--exec", "rate 1.25; pin on", "--exec",
                   "levels 5", "--json", NULL);
    cJSON *object = program_json();
    const cJSON *settings = member(object, SETTINGS);
    assert_word(settings, "token", "4");
    assert_word(settings, "plane", "gradient");
    assert_word(settings, "step", "3");
    assert_word(settings, "rate", "1.25");
    assert_word(settings, "pin", "on");
    assert_word(settings, "levels", "5");
    assert_int_equal(count(object, "commands"), 6);
    assert_word(entry(object, "commands", 1), "command", "plane gradient");
    cJSON_Delete(object);

    /* What can be undone is; what comes after "quit" is not run. */
    program_expect(0, VIEW, "--exec", "token 4; rate 2; undo; quit; nonsense", "--json", NULL);
    object = program_json();
    assert_word(member(object, SETTINGS), "token", "4");
    assert_word(member(object, SETTINGS), "rate", "1");
    assert_int_equal(count(object, "commands"), 4);
    cJSON_Delete(object);
}

static void test_command_line(void **state)
{
    (void)state;
    program_expect(0, VIEW, "--token", "3", "--plane", "hessian", "--scale", "1.5", "--set",
                   "prompt=min_10 ( 4 1 ) =", "--set", "dark=on", "--size", "900x500", "--json",
                   NULL);
    cJSON *object = program_json();
    const cJSON *settings = member(object, SETTINGS);
    assert_word(settings, "token", "3");
    assert_word(settings, "plane", "hessian");
    assert_word(settings, "prompt", "min_10 ( 4 1 ) =");
    assert_word(settings, "dark", "on");
    assert_word(settings, "scale", "1.5");
    cJSON_Delete(object);
    program_expect(0, "view", "--list", NULL);
    assert_non_null(strstr(program_out, "sublayer"));
    assert_non_null(strstr(program_out, "screenshot"));
    assert_non_null(strstr(program_out, "Ctrl+P"));
}

/* A figure opens as the picture that it shows, and is written anew with the same bytes. */
static void test_sessions(void **state)
{
    char export[TEST_PATH + 32];
    (void)state;
    (void)snprintf(export, sizeof export, "export %s", in("a.pdf"));
    program_expect(0, VIEW, "--token", "5", "--set", "rate=1.5", "--exec", export, NULL);
    assert_non_null(strstr(program_out, "a.pdf"));
    (void)snprintf(export, sizeof export, "export %s", in("b.pdf"));
    program_expect(0, "view", "--no-window", "--threads", "1", "--from", in("a.pdf"), "--exec",
                   export, "--json", NULL);
    cJSON *object = program_json();
    assert_word(member(object, SETTINGS), "token", "5");
    assert_word(member(object, SETTINGS), "rate", "1.5");
    cJSON_Delete(object);
    assert_true(same_files(in("a.pdf"), in("b.pdf")));
    /* The command line's figures too, with the state that is pointed out. */
    program_expect(0, "landscape", BASIN_SOURCE_DIR "/assets/listops", "--prompt",
                   "max_10 ( 2 9 3 ) =", "--token", "5", "--step", "3", "--follow", "--columns",
                   "24", "--out", in("a.csv"), NULL);
    (void)snprintf(export, sizeof export, "export %s", in("b.csv"));
    program_expect(0, "view", "--no-window", "--from", in("a.csv"), "--exec", export, NULL);
    assert_true(same_files(in("a.csv"), in("b.csv")));
}

/* A session of another model opens, but writes nothing. */
/* A low end above the high one means the field's own ends in the window, and in its figures. */
static void test_colours_of_a_figure(void **state)
{
    char line[TEST_PATH + 32];
    (void)state;
    (void)snprintf(line, sizeof line, "low 5; export %s", in("ends.csv"));
    program_expect(0, VIEW, "--exec", line, NULL);
    program_expect(0, "landscape", "--from", in("ends.csv"), LISTOPS, "--out", in("ends.svg"),
                   NULL);
    program_expect(2, "landscape", "--from", in("ends.csv"), LISTOPS, "--low", "6", "--out",
                   in("ends.svg"), NULL);
    program_complained("--low is 6 and --high is 0");
}

static void test_read_only(void **state)
{
    char export[TEST_PATH + 32];
    char *text = NULL;
    kern_error err = {0};
    (void)state;
    assert_int_equal(viz_session_read(&text, in("a.pdf"), &err), KERN_OK);
    char *hash = strstr(text, "\"model_sha256\"");
    assert_non_null(hash);
    hash = strchr(strchr(hash, ':'), '"') + 1;
    hash[0] = hash[0] == '0' ? '1' : '0';
    write_text("other.json", text);
    free(text);
    program_expect(0, "view", "--no-window", "--from", in("other.json"), "--json", NULL);
    (void)snprintf(export, sizeof export, "export %s", in("c.pdf"));
    program_expect(2, "view", "--no-window", "--from", in("other.json"), "--exec", export, NULL);
    assert_non_null(strstr(program_err, "SHA-256"));
    /* It is told also where nobody has asked. */
    program_expect(0, "view", "--no-window", "--from", in("other.json"), NULL);
    assert_non_null(strstr(program_out, "accept-model takes it"));
    /* A script may go on from there. */
    (void)snprintf(export, sizeof export, "load %s; accept-model; say", in("other.json"));
    program_expect(0, VIEW, "--exec", export, NULL);
    assert_int_equal(access(in("c.pdf"), F_OK), -1);
}

static void test_pictures(void **state)
{
    char line[TEST_PATH + 32];
    unsigned char head[24] = {0};
    (void)state;
    (void)snprintf(line, sizeof line, "screenshot %s", in("w.png"));
    program_expect(0, VIEW, "--size", "700x420", "--exec", line, NULL);
    assert_non_null(strstr(program_out, "picture of the window: "));
    FILE *file = fopen(in("w.png"), "rb");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(head[18] * 256 + head[19], 700);
    assert_int_equal(head[22] * 256 + head[23], 420);
    (void)snprintf(line, sizeof line, "screenshot %s", in("no/folder/w.png"));
    program_expect(2, VIEW, "--exec", line, NULL);
    program_complained("could not be written");
}

static void test_refusals(void **state)
{
    (void)state;
    program_expect(2, VIEW, "--set", "colums=3", NULL);
    program_complained("\"colums\" is no setting");
    program_expect(2, VIEW, "--set", "columns", NULL);
    program_complained("accepted is NAME=VALUE");
    program_expect(2, VIEW, "--token", "many", NULL);
    program_complained("--token: ");
    program_expect(2, VIEW, "--size", "10x10", NULL);
    program_complained("is not WIDTHxHEIGHT");
    program_expect(2, VIEW, "--exec", "tokn 3", NULL);
    program_complained("command \"tokn 3\": ");
    program_expect(2, VIEW, "--token", "77", NULL);
    program_complained("there is no token 77");
    program_expect(2, VIEW, "--from", in("nowhere.pdf"), NULL);
    program_complained("nowhere.pdf");
    program_expect(2, VIEW, in("nowhere"), NULL);
    program_complained("nowhere', which does not exist");
    program_expect(2, VIEW, "cem", NULL);
    program_complained("'cem', which does not exist; the bundled model of that name opens with "
                       "--bundled cem");
    program_expect(2, VIEW, in("nowhere"), "--prompt", "max_10", NULL);
    program_complained("nowhere");
    /* The prompt lies beside a model of points too; for other weights tokens are numbers. */
    program_expect(0, VIEW, BASIN_SOURCE_DIR "/assets/gp/model.safetensors", "--exec", "say", NULL);
    program_expect(2, VIEW, BASIN_SOURCE_DIR "/assets/listops/model.safetensors", NULL);
    program_complained("the prompt is empty, and none comes with the model");
    program_expect(2, VIEW, in("nowhere"), "--bundled", "cem", NULL);
    program_complained("--bundled names a model, and so does RUN");
    program_expect(2, VIEW, BASIN_SOURCE_DIR "/assets", "--prompt", "max_10", NULL);
    program_complained("assets");
}

/* Without a display SDL would draw where nobody sees it. */
static void test_no_display(void **state)
{
    static const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
    program_expect(2, "view", NULL);
    program_complained("there is no display to open a window on");
    assert_non_null(strstr(program_err, "basin landscape RUN"));
    assert_non_null(strstr(program_err, "--out figure.pdf"));
    assert_non_null(strstr(program_err, "--no-window"));
    assert_int_equal(setenv("SDL_VIDEODRIVER", "x11", 1), 0);
    program_expect(2, "view", NULL);
    program_complained("there is no display to open a window on");
    /* Asked for by name, a driver that draws to memory will do. */
    assert_int_equal(setenv("SDL_VIDEODRIVER", "dummy", 1), 0);
    assert_int_equal(setenv("SDL_RENDER_DRIVER", "software", 1), 0);
    program_expect(0, "view", "--threads", "1", "--set", "columns=24", "--exec", "token 2; quit",
                   "--json", NULL);
    cJSON *object = program_json();
    assert_word(member(object, SETTINGS), "token", "2");
    assert_true(number(object, "frames") >= 2);
    (void)widget(object, "tokens");
    cJSON_Delete(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundled),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_assets),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_command_line),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_colours_of_a_figure),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_display),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
