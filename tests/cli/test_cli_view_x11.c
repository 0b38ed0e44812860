/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The subcommand view in a real window: an X server of its own (Xvfb), a pointer and keys moved by
 * xdotool, and what the server shows (xwd) beside the frame that the program drew.
 *
 * Exit status 77, which ctest takes for a skipped test, where one of the three is missing.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/cli_test_json.h"

#include "models/model_file.h"
#include "viz/ui/ui.h"
#include "viz/view/view_session.h"

#include <cairo.h>
#include <time.h>

enum {
    SKIPPED = 77,
    PATIENCE = 60 /* seconds */,
    LINE = 2 * TEST_PATH,
    WIDTH = 1000,
    HEIGHT = 640
};

#define VIEW                                                                                       \
    "view", "--size", "1000x640", "--threads", "1", "--token", "5", "--set", "columns=32", "--json"

static pid_t server;
static char window[32]; /* its number */

/* ---- Programs -------------------------------------------------------------------------------- */

static bool have(const char *program)
{
    char line[128];
    (void)snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", program);
    return system(line) == 0;
}

/* Runs a line of the shell, which must succeed, and keeps the first line that it prints. */
static void shell(char *out, size_t size, const char *format, ...)
{
    char line[LINE];
    va_list rest;
    va_start(rest, format);
    (void)vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    char *got = fgets(out, (int)size, pipe);
    if (got == NULL) {
        out[0] = '\0';
    }
    if (pclose(pipe) != 0) {
        fail_msg("failed: %s", line);
    }
    out[strcspn(out, "\n")] = '\0';
}

static void xdotool(const char *format, ...)
{
    char words[LINE];
    char out[64];
    va_list rest;
    va_start(rest, format);
    (void)vsnprintf(words, sizeof words, format, rest);
    va_end(rest);
    shell(out, sizeof out, "xdotool %s", words);
}

static int start_server(void **state)
{
    int ends[2];
    char display[16] = ":";
    char number[8];
    if (test_folder_make(state) != 0 || pipe(ends) != 0) {
        return -1;
    }
    (void)snprintf(number, sizeof number, "%d", ends[1]);
    server = fork();
    if (server == 0) {
        const int log = open("/dev/null", O_WRONLY);
        (void)close(ends[0]);
        (void)dup2(log, STDERR_FILENO);
        (void)execlp("Xvfb", "Xvfb", "-displayfd", number, "-screen", "0", "1280x800x24",
                     "-nolisten", "tcp", "-noreset", (char *)NULL);
        _exit(99);
    }
    (void)close(ends[1]);
    /* The server writes its number once it takes clients, the end of the line by itself. */
    size_t n = 1;
    while (n + 1 < sizeof display && strchr(display, '\n') == NULL &&
           read(ends[0], display + n, 1) == 1) {
        n++;
    }
    (void)close(ends[0]);
    display[strcspn(display, "\n")] = '\0';
    return server > 0 && n > 1 && setenv("DISPLAY", display, 1) == 0 &&
                   unsetenv("WAYLAND_DISPLAY") == 0 && unsetenv("SDL_VIDEODRIVER") == 0
               ? 0
               : -1;
}

static int stop_server(void **state)
{
    (void)kill(server, SIGTERM);
    (void)waitpid(server, NULL, 0);
    return test_folder_remove(state);
}

/* ---- The window ------------------------------------------------------------------------------ */

/* Where a widget is in a window of this size. */
static viz_rect rect_of(const cJSON *object, const char *id)
{
    const cJSON *shown = member(object, "window");
    for (int i = 0; i < count(shown, "widgets"); i++) {
        const cJSON *node = entry(shown, "widgets", i);
        if (strcmp(member(node, "id")->valuestring, id) == 0) {
            return (viz_rect){number_at(node, "rect", 0), number_at(node, "rect", 1),
                              number_at(node, "rect", 2), number_at(node, "rect", 3)};
        }
    }
    fail_msg("no widget \"%s\" in %s", id, program_out);
    return (viz_rect){0};
}

static void move_to(double x, double y)
{
    xdotool("mousemove --window %s %.0f %.0f", window, x, y);
}

static void click(double x, double y)
{
    move_to(x, y);
    xdotool("click 1");
}

/* Drags from one part of a slider's width to another, with a stop on the way. */
static void drag(viz_rect rect, double from, double to)
{
    const double y = rect.y + rect.h - 10.0;
    move_to(rect.x + from * rect.w, y);
    xdotool("mousedown 1");
    move_to(rect.x + 0.5 * (from + to) * rect.w, y);
    move_to(rect.x + to * rect.w, y);
    xdotool("mouseup 1");
}

/* Gives a command as a user does: Ctrl+P, the words, Enter. */
static void palette(const char *format, const char *path)
{
    char line[LINE];
    (void)snprintf(line, sizeof line, format, path);
    xdotool("key --window %s ctrl+p", window);
    xdotool("type --delay 5 '%s'", line);
    xdotool("key Return");
}

/* Waits until a file is there and no longer grows; the program writes in its own time. */
static void await(const char *path)
{
    const struct timespec nap = {.tv_nsec = 50000000};
    off_t size = -1;
    for (int i = 0; i < PATIENCE * 20; i++) {
        struct stat info;
        if (stat(path, &info) == 0) {
            if (info.st_size > 0 && info.st_size == size) {
                return;
            }
            size = info.st_size;
        }
        (void)nanosleep(&nap, NULL);
    }
    fail_msg("%s was not written within %d s", path, PATIENCE);
}

/* ---- What the server shows ------------------------------------------------------------------- */

static uint32_t word_at(const unsigned char *bytes, int i)
{
    const unsigned char *b = bytes + 4 * i;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Reads a dump of xwd, version 7: a header of big-endian words (0 its size, 4 and 5 the picture's,
 * 7 the order of bytes, 11 bits of a pixel, 12 bytes of a line, 19 colours of 12 bytes behind the
 * header), then the lines. Only what Xvfb gives at depth 24 is taken. */
static unsigned char *read_dump(const char *path, int *stride, unsigned char **data)
{
    kern_error err = {0};
    char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(model_file_read(path, 1 << 26, &bytes, &size, &err), KERN_OK);
    unsigned char *b = (unsigned char *)bytes;
    assert_true(size > 100);
    assert_int_equal(word_at(b, 1), 7);
    assert_int_equal(word_at(b, 4), WIDTH);
    assert_int_equal(word_at(b, 5), HEIGHT);
    assert_int_equal(word_at(b, 7), 0);
    assert_int_equal(word_at(b, 11), 32);
    *stride = (int)word_at(b, 12);
    const size_t before = word_at(b, 0) + 12 * (size_t)word_at(b, 19);
    assert_true(size >= before + (size_t)*stride * HEIGHT);
    *data = b + before;
    return b;
}

/* Pixels in which the server's picture and the program's differ. */
static long differing(const char *dump, const char *png)
{
    unsigned char *data = NULL;
    int stride = 0;
    long n = 0;
    unsigned char *owned = read_dump(dump, &stride, &data);
    cairo_surface_t *own = cairo_image_surface_create_from_png(png);
    assert_int_equal(cairo_surface_status(own), CAIRO_STATUS_SUCCESS);
    assert_int_equal(cairo_image_surface_get_width(own), WIDTH);
    assert_int_equal(cairo_image_surface_get_height(own), HEIGHT);
    for (int y = 0; y < HEIGHT; y++) {
        const unsigned char *row =
            cairo_image_surface_get_data(own) + (ptrdiff_t)y * cairo_image_surface_get_stride(own);
        const unsigned char *shown = data + (ptrdiff_t)y * stride;
        for (int x = 0; x < WIDTH; x++) {
            n += memcmp(row + 4 * (ptrdiff_t)x, shown + 4 * (ptrdiff_t)x, 3) != 0;
        }
    }
    cairo_surface_destroy(own);
    free(owned);
    return n;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Seconds of the processor that a program has used. */
static double used(pid_t program)
{
    char out[64];
    shell(out, sizeof out, "cut -d ' ' -f 14,15 /proc/%d/stat", (int)program);
    char *rest = NULL;
    const double user = strtod(out, &rest);
    return (user + strtod(rest, NULL)) / (double)sysconf(_SC_CLK_TCK);
}

static void find_window(void)
{
    shell(window, sizeof window, "timeout %d xdotool search --sync --onlyvisible --name Basin",
          PATIENCE);
    xdotool("windowfocus --sync %s", window);
}

/* Chooses a token, drags the rate, scrubs, exports and ends, all with pointer and keys. */
static void test_by_hand(void **state)
{
    const struct timespec rest = {.tv_sec = 2};
    char out[64];
    view_session session;
    kern_error err = {0};
    (void)state;
    program_expect(0, VIEW, "--no-window", NULL);
    cJSON *object = program_json();
    const viz_rect tokens = rect_of(object, "token");
    const viz_rect rate = rect_of(object, "rate");
    const viz_rect step = rect_of(object, "step");
    cJSON_Delete(object);

    const pid_t program = program_launch(VIEW, NULL);
    find_window();
    click(tokens.x + 20.0, tokens.y + 3.5 * UI_ROW);
    drag(rate, 0.5, 0.7);
    drag(step, 0.2, 0.8);
    palette("export %s", in("hand.pdf"));
    await(in("hand.pdf"));
    assert_int_equal(view_session_load(&session, in("hand.pdf"), &err), KERN_OK);
    assert_int_equal(session.settings.token, 2);
    assert_true(session.settings.rate > 1.0);
    assert_true(session.settings.step > 0);

    /* The frame that is saved is the last one until something happens. */
    palette("screenshot %s", in("own.png"));
    await(in("own.png"));
    shell(out, sizeof out, "xwd -silent -id %s -out %s", window, in("shown.xwd"));
    assert_int_equal(differing(in("shown.xwd"), in("own.png")), 0);

    const double before = used(program);
    (void)nanosleep(&rest, NULL);
    print_message("at rest the program took %.1f %% of a processor\n",
                  100.0 * (used(program) - before) / (double)rest.tv_sec);
    palette("%s", "quit");
    program_finish(program);
    assert_int_equal(program_code, 0);
    object = program_json();
    assert_word(member(object, "settings"), "token", "2");
    print_message("%.0f frames\n", number(object, "frames"));
    cJSON_Delete(object);
}

int main(void)
{
    static const char *const needed[] = {"Xvfb", "xdotool", "xwd"};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand)};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!have(needed[i])) {
            print_message("skipped: there is no %s here\n", needed[i]);
            return SKIPPED;
        }
    }
    (void)alarm(4 * PATIENCE);
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
