/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand view under bad input and requests to stop: files that are not what they should be,
 * names beyond ASCII, models without energies, and signals.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include "viz/view/view_session.h"

#include <signal.h>
#include <time.h>

#define VIEW "view", "--no-window", "--threads", "1", "--set", "columns=24"

enum { WIDTH = 48 /* numbers of a token of the bundled model */, AXIS = 256 };

/* A line of an axes file: `n` numbers, of which number `one` is 1. */
static void put_axis(char out[AXIS], size_t n, size_t one, const char *end)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        used += (size_t)snprintf(out + used, AXIS - used, "%s%d", i > 0 ? "," : "", i == one);
    }
    (void)snprintf(out + used, AXIS - used, "%s", end);
}

/* Writes two axes of `n` numbers, with lines that end as told and `more` bytes behind them. */
static const char *write_axes(const char *name, size_t n, const char *end, const char *more,
                              size_t n_more)
{
    static char setting[TEST_PATH + 8];
    char lines[2][AXIS];
    char text[3 * AXIS];
    put_axis(lines[0], n, 0, end);
    put_axis(lines[1], n, 1, end);
    const int used = snprintf(text, sizeof text, "%s%s", lines[0], lines[1]);
    memcpy(text + used, more, n_more);
    test_write(in(name), text, (size_t)used + n_more);
    (void)snprintf(setting, sizeof setting, "axes=%s", in(name));
    return setting;
}

/* The axes file that a plane is made of is read strictly, and whichever way its lines end. */
static void test_axes(void **state)
{
    char lines[2][256];
    (void)state;
    for (int windows = 0; windows < 2; windows++) {
        program_expect(0, VIEW, "--token", "5", "--plane", "custom", "--set",
                       write_axes("axes.csv", WIDTH, windows == 1 ? "\r\n" : "\n", "", 0), "--exec",
                       "say", NULL);
        (void)snprintf(lines[windows], sizeof *lines, "%.255s", program_out);
    }
    assert_string_equal(lines[0], lines[1]);
    assert_non_null(strstr(lines[0], "plane custom"));
    const struct {
        size_t n;
        const char *token, *more;
        size_t n_more;
        const char *complaint;
    } bad[] = {{WIDTH, "5", "0,1\n", 4, "behind its second line"},
               {WIDTH, "5", "\0", 1, "the byte NUL at offset"},
               {WIDTH, "all", "", 0, "those of all tokens"},
               {WIDTH + 1, "5", "", 0, "those of a token, and"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        program_expect(2, VIEW, "--token", bad[i].token, "--plane", "custom", "--set",
                       write_axes("bad.csv", bad[i].n, "\n", bad[i].more, bad[i].n_more), "--exec",
                       "step 1; export x.svg", NULL);
        assert_non_null(strstr(program_out, "nothing can be drawn: axes"));
        assert_non_null(strstr(program_out, bad[i].complaint));
        assert_non_null(strstr(program_err, "there is no picture of these settings: axes"));
    }
    /* Blank lines at the end are none. */
    program_expect(0, VIEW, "--token", "5", "--plane", "custom", "--set",
                   write_axes("axes.csv", WIDTH, "\n", "\n \n", 3), "--exec", "say", NULL);
}

static void test_texts(void **state)
{
    char line[TEST_PATH + 32];
    view_session session;
    kern_error err = {0};
    (void)state;
    test_write(in("nul.txt"), "token 1\n\0step 2\n", 16);
    program_expect(2, VIEW, "--script", in("nul.txt"), NULL);
    program_complained("the byte NUL at offset 8");
    test_write(in("end.txt"), "token 1\n\0", 9);
    program_expect(2, VIEW, "--script", in("end.txt"), NULL);
    program_complained("the byte NUL at offset 8");
    program_expect(2, VIEW, "--prompt", "", NULL);
    program_complained("the prompt is empty");
    /* A session is known by its name, however that is written. */
    (void)snprintf(line, sizeof line, "token 4; save %s", in("A.JSON"));
    program_expect(0, VIEW, "--exec", line, NULL);
    assert_int_equal(view_session_load(&session, in("A.JSON"), &err), KERN_OK);
    assert_int_equal(session.settings.token, 4);
    (void)snprintf(line, sizeof line, "load %s",
                   in("\xce\xb7 \xe2\x80\x9c"
                      "e\xe2\x80\x9d.json"));
    program_expect(2, VIEW, "--exec", line, NULL);
    program_complained("\xce\xb7 \xe2\x80\x9c"
                       "e\xe2\x80\x9d.json");
    program_complained("does not exist");
    (void)snprintf(line, sizeof line, "screenshot %s", in("no/folder/w.png"));
    program_expect(2, VIEW, "--exec", line, NULL);
    program_complained("No such file or directory");
    program_expect(2, VIEW, "--bundled", "nope", NULL);
    program_complained("cem, gp, listops, listops-full");
}

/* All states are one: the range is that of a unit, and the picture has an energy. */
static void test_rest(void **state)
{
    (void)state;
    program_expect(0, VIEW, "--token", "5", "--plane", "random", "--set", "rate=0", "--exec",
                   "say; zoom 1", NULL);
    assert_non_null(strstr(program_out, "range is \xe2\x88\x92"
                                        "1 to 1 and \xe2\x88\x92"
                                        "0.625 to 0.625"));
    program_expect(0, VIEW, "--token", "5", "--plane", "pca", "--set", "rate=0", NULL);
    assert_non_null(strstr(program_out, "nothing can be drawn: "));
}

/* ---- Models without energies of their tokens ------------------------------------------------- */

static void test_families(void **state)
{
    static const char *const families[] = {"gpt", "llama", "hourglass", "cem", "nrgpt"};
    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const bool has = i >= 3;
        program_expect(0, "train", "--family", families[i], "--data", "listops:generate=300",
                       "--steps", "1", "--eval-every", "0", "--width", "16", "--heads", "2",
                       "--depth", "2", "--out", in(families[i]), NULL);
        program_expect(has ? 0 : 2, VIEW, in(families[i]), "--prompt",
                       "max_10 ( 2 9 ) =", "--token", "2", "--exec", "say", NULL);
        if (has) {
            assert_non_null(strstr(program_out, "Energy of token 2"));
        } else {
            program_complained("has no energy of its tokens; accepted are nrgpt");
        }
    }
}

/* ---- Requests to stop ------------------------------------------------------------------------ */

static bool watches(pid_t child, int number)
{
    char path[64];
    char line[256];
    unsigned long long caught = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)child);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "SigCgt:", 7) == 0) {
            caught = strtoull(line + 7, NULL, 16);
        }
    }
    (void)fclose(file);
    return (caught >> (number - 1) & 1) != 0;
}

/* Sends a signal once the program watches for it, and has it end within the test's time. */
static void stop(pid_t child, int number)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    for (int i = 0; i < 60000 && !watches(child, number); i++) {
        (void)nanosleep(&nap, NULL);
    }
    assert_int_equal(kill(child, number), 0);
    program_finish(child);
    assert_int_equal(program_code, 130);
    program_complained("stopped on request");
}

/* Basins take far longer than a test may, with and without a window; so does a trajectory. */
static void test_signals(void **state)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    (void)state;
    assert_int_equal(setenv("SDL_VIDEODRIVER", "dummy", 1), 0);
    assert_int_equal(setenv("SDL_RENDER_DRIVER", "software", 1), 0);
    for (size_t i = 0; i < 2; i++) {
        stop(program_launch("view", "--no-window", "--set", "mode=basins", "--set", "columns=1024",
                            "--set", "rate=9", "--token", "6", "--bundled", "listops-full", NULL),
             numbers[i]);
        stop(program_launch("view", "--set", "steps=100000", "--token", "2", "--exec", "say", NULL),
             numbers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),    cmocka_unit_test(test_texts),
        cmocka_unit_test(test_rest),    cmocka_unit_test(test_families),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
