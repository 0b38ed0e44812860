/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The window under SDL's dummy driver: events are put into SDL's queue as a display would, where
 * the widgets' tree says they are; then come the settings, and last the pixels.
 */
#define _XOPEN_SOURCE 700
#define SDL_MAIN_HANDLED
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/models/model_test_folder.h"

#include "kernels/kern_blas.h"
#include "models/model_json.h"
#include "viz/view/view_session.h"
#include "viz/view/view_window.h"

#include <SDL.h>
#include <math.h>

enum { WIDTH = 1000, HEIGHT = 640, TURNS = 200, TEXT = 1 << 20 };

static view_window *window;
static view *v;

/* ---- Turns ----------------------------------------------------------------------------------- */

static void must(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

/* Lets the window take its events and the view compute, until there is nothing left to do. */
static void settle(void)
{
    kern_error err = {0};
    double wait;
    for (int i = 0; i < TURNS; i++) {
        must(view_window_turn(window, v, 0.0, &err), &err);
        view_settle(v);
        if (!view_wants_frame(v, 0.0, &wait) && SDL_PollEvent(NULL) == 0) {
            must(view_window_turn(window, v, 0.0, &err), &err);
            return;
        }
    }
    fail_msg("the window did not come to rest in %d turns", TURNS);
}

static int setup(void **state)
{
    kern_error err = {0};
    const view_window_options o = {WIDTH, HEIGHT};
    view_options options = {
        .assets = BASIN_SOURCE_DIR "/assets", .workers = 1, .notify = view_window_notify};
    (void)state;
    view_settings_defaults(&options.settings);
    (void)snprintf(options.settings.prompt, VIEW_TEXT, "max_10 ( 2 9 3 ) =");
    options.settings.token = 5;
    options.settings.columns = 32;
    must(view_window_create(&window, &o, &err), &err);
    options.context = window;
    must(view_create(&v, &options, &err), &err);
    settle();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    view_destroy(v);
    view_window_destroy(window);
    return 0;
}

/* ---- Widgets --------------------------------------------------------------------------------- */

typedef struct seen {
    viz_rect rect;
    char value[UI_TEXT_MAX];
} seen;

/* The widget of an id in the last frame. */
static seen see(const char *id)
{
    kern_error err = {0};
    char *text = NULL;
    cJSON *object = NULL;
    seen found = {{-1.0, -1.0, 0.0, 0.0}, ""};
    must(view_describe(v, &text, &err), &err);
    must(model_json_parse("the frame", text, strlen(text), TEXT, &object, &err), &err);
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, cJSON_GetObjectItem(object, "widgets"))
    {
        if (strcmp(cJSON_GetObjectItem(node, "id")->valuestring, id) == 0) {
            const cJSON *rect = cJSON_GetObjectItem(node, "rect");
            found.rect = (viz_rect){
                cJSON_GetArrayItem(rect, 0)->valuedouble, cJSON_GetArrayItem(rect, 1)->valuedouble,
                cJSON_GetArrayItem(rect, 2)->valuedouble, cJSON_GetArrayItem(rect, 3)->valuedouble};
            (void)snprintf(found.value, sizeof found.value, "%s",
                           cJSON_GetObjectItem(node, "value")->valuestring);
        }
    }
    if (found.rect.x < 0.0) {
        fail_msg("there is no widget \"%s\" in %s", id, text);
    }
    cJSON_Delete(object);
    free(text);
    return found;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void push(SDL_Event *event)
{
    assert_int_equal(SDL_PushEvent(event), 1);
}

static void pointer(double x, double y)
{
    SDL_Event event = {.motion = {.type = SDL_MOUSEMOTION, .x = (int)x, .y = (int)y}};
    push(&event);
}

static void button(bool down, double x, double y)
{
    SDL_Event event = {.button = {.type = down ? SDL_MOUSEBUTTONDOWN : SDL_MOUSEBUTTONUP,
                                  .button = SDL_BUTTON_LEFT,
                                  .state = down ? SDL_PRESSED : SDL_RELEASED,
                                  .x = (int)x,
                                  .y = (int)y}};
    push(&event);
}

static void click(double x, double y)
{
    pointer(x, y);
    button(true, x, y);
    button(false, x, y);
}

static void key(SDL_Keycode code, Uint16 mod)
{
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = mod}}};
    push(&event);
}

/* Keys as they come from a keyboard: each with the text that it makes. */
static void type(const char *text)
{
    for (; *text != '\0'; text++) {
        SDL_Event event = {.text = {.type = SDL_TEXTINPUT}};
        key((SDL_Keycode)*text, KMOD_NONE);
        event.text.text[0] = *text;
        push(&event);
    }
}

/* A key that is held down or let go. */
static void hold(SDL_Keycode code, bool down, Uint16 mod)
{
    SDL_Event event = {
        .key = {.type = down ? SDL_KEYDOWN : SDL_KEYUP, .keysym = {.sym = code, .mod = mod}}};
    push(&event);
}

/* Drags along a slider in `moves` motions between two parts of its width. */
static void drag(const char *id, double from, double to, int moves)
{
    const viz_rect rect = see(id).rect;
    const double y = rect.y + rect.h - 8.0;
    pointer(rect.x + from * rect.w, y);
    button(true, rect.x + from * rect.w, y);
    for (int i = 1; i <= moves; i++) {
        pointer(rect.x + (from + (to - from) * i / moves) * rect.w, y);
    }
    button(false, rect.x + to * rect.w, y);
}

static void palette(const char *line)
{
    key('p', KMOD_LCTRL);
    type(line);
    key(SDLK_RETURN, KMOD_NONE);
    settle();
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_token(void **state)
{
    (void)state;
    const viz_rect list = see("token").rect;
    click(list.x + 20.0, list.y + 3.5 * UI_ROW); /* the first row is the sum */
    settle();
    assert_int_equal(view_get(v)->token, 2);
    click(list.x + 20.0, list.y + 0.5 * UI_ROW);
    settle();
    assert_true(view_get(v)->token == VIEW_ALL);
}

/* A drag of many motions takes a few frames, and is one step of undo. */
static void test_drag(void **state)
{
    kern_error err = {0};
    (void)state;
    const size_t before = view_window_frames(window);
    drag("rate", 0.5, 0.75, 300);
    for (int i = 0; i < 6; i++) {
        must(view_window_turn(window, v, 0.0, &err), &err);
    }
    const size_t frames = view_window_frames(window) - before;
    assert_true(frames >= 3 && frames <= 6);
    settle();
    const double rate = view_get(v)->rate;
    assert_true(rate > 1.0);
    key('z', KMOD_LCTRL);
    settle();
    assert_true(view_get(v)->rate == 1.0);
    key('y', KMOD_LCTRL);
    settle();
    assert_true(view_get(v)->rate == rate);
}

static void test_scrub(void **state)
{
    (void)state;
    drag("step", 0.1, 0.95, 4);
    settle();
    const size_t late = view_get(v)->step;
    assert_true(late > 6);
    drag("step", 0.95, 0.3, 4);
    settle();
    assert_true(view_get(v)->step < late);
}

static void test_palette(void **state)
{
    char line[TEST_PATH + 16];
    view_session session;
    kern_error err = {0};
    (void)state;
    palette("plane hessian");
    palette("token 3");
    assert_int_equal(view_get(v)->token, 3);
    assert_string_equal(see("plane").value, "hessian");

    char path[TEST_PATH];
    (void)snprintf(line, sizeof line, "export %s", test_path(path, "palette.svg"));
    palette(line);
    must(view_session_load(&session, path, &err), &err);
    assert_int_equal(session.settings.token, 3);
    palette("quit");
    assert_true(view_ended(v));
}

/* What is typed fast arrives in its order: letters, arrows, letters, and no command is run. */
static void test_typing(void **state)
{
    (void)state;
    key('p', KMOD_LCTRL);
    type("tokn 1");
    for (int i = 0; i < 3; i++) {
        key(SDLK_LEFT, KMOD_NONE);
    }
    type("e");
    key(SDLK_END, KMOD_NONE);
    key(SDLK_BACKSPACE, KMOD_NONE);
    type("2");
    key(SDLK_RETURN, KMOD_NONE);
    settle();
    assert_int_equal(view_get(v)->token, 2);
}

/* Ctrl counts for the click during which it is held, however fast it is let go. */
static void test_modifiers(void **state)
{
    (void)state;
    const viz_rect field = see("field").rect;
    const double x = field.x + 0.4 * field.w;
    const double y = field.y + 0.4 * field.h;
    hold(SDLK_LCTRL, true, KMOD_LCTRL);
    click(x, y);
    hold(SDLK_LCTRL, false, KMOD_NONE);
    settle();
    assert_int_equal(view_get(v)->n_seeds, 1);
    click(x + 20.0, y);
    settle();
    assert_int_equal(view_get(v)->n_seeds, 1);
}

/* What SDL shows is the frame that cairo drew. */
static void test_pixels(void **state)
{
    (void)state;
    SDL_Window *shown = SDL_GetWindowFromID(1);
    for (Uint32 id = 2; shown == NULL && id < 100; id++) {
        shown = SDL_GetWindowFromID(id);
    }
    SDL_Renderer *renderer = SDL_GetRenderer(shown);
    assert_non_null(renderer);
    cairo_surface_t *own = view_window_surface(window);
    assert_int_equal(cairo_image_surface_get_width(own), WIDTH);
    assert_int_equal(cairo_image_surface_get_height(own), HEIGHT);
    uint32_t *back = malloc(sizeof *back * WIDTH * HEIGHT);
    assert_non_null(back);
    assert_int_equal(SDL_RenderReadPixels(renderer, NULL, SDL_PIXELFORMAT_ARGB8888, back,
                                          WIDTH * (int)sizeof *back),
                     0);
    size_t differ = 0;
    size_t changes = 0;
    for (int y = 0; y < HEIGHT; y++) {
        const unsigned char *row =
            cairo_image_surface_get_data(own) + (ptrdiff_t)y * cairo_image_surface_get_stride(own);
        for (int x = 0; x < WIDTH; x++) {
            uint32_t pixel;
            memcpy(&pixel, row + 4 * (ptrdiff_t)x, sizeof pixel);
            const uint32_t other = back[y * WIDTH + x];
            differ += ((pixel ^ other) & 0xffffffu) != 0;
            changes += x > 0 && ((other ^ back[y * WIDTH + x - 1]) & 0xffffffu) != 0;
        }
    }
    free(back);
    assert_int_equal(differ, 0);
    assert_true(changes > 1000); /* it is a picture */
}

/* Nothing happens, nothing is drawn; a wake-up without news draws nothing either. */
static void test_rest(void **state)
{
    kern_error err = {0};
    (void)state;
    const size_t frames = view_window_frames(window);
    for (int i = 0; i < 20; i++) {
        must(view_window_turn(window, v, 0.0, &err), &err);
    }
    view_window_notify(window);
    view_window_notify(window);
    must(view_window_turn(window, v, 1.0, &err), &err);
    assert_int_equal(view_window_frames(window), frames);
    /* What has been uncovered is shown again without being drawn. */
    SDL_Event event = {.window = {.type = SDL_WINDOWEVENT, .event = SDL_WINDOWEVENT_EXPOSED}};
    push(&event);
    must(view_window_turn(window, v, 0.0, &err), &err);
    assert_int_equal(view_window_frames(window), frames);
}

static void test_size(void **state)
{
    (void)state;
    SDL_Window *shown = SDL_GetWindowFromID(1);
    for (Uint32 id = 2; shown == NULL && id < 100; id++) {
        shown = SDL_GetWindowFromID(id);
    }
    const viz_rect before = see("rate").rect;
    SDL_SetWindowSize(shown, 800, 500);
    settle();
    assert_int_equal(cairo_image_surface_get_width(view_window_surface(window)), 800);
    assert_int_equal(cairo_image_surface_get_height(view_window_surface(window)), 500);
    assert_true(see("rate").rect.w < before.w || see("rate").rect.y < before.y);
}

static void test_close(void **state)
{
    kern_error err = {0};
    SDL_Event event = {.quit = {.type = SDL_QUIT}};
    (void)state;
    push(&event);
    assert_true(view_window_is_open(window));
    must(view_window_run(window, v, &err), &err);
    assert_false(view_window_is_open(window));
    assert_true(view_window_was_asked(window)); /* this is what SDL makes of a signal */
}

/* The user closes the last window, upon which SDL tells of the end as well. */
static void test_close_by_hand(void **state)
{
    kern_error err = {0};
    SDL_Event close = {.window = {.type = SDL_WINDOWEVENT, .event = SDL_WINDOWEVENT_CLOSE}};
    SDL_Event end = {.quit = {.type = SDL_QUIT}};
    (void)state;
    push(&close);
    push(&end);
    must(view_window_run(window, v, &err), &err);
    assert_false(view_window_is_open(window));
    assert_false(view_window_was_asked(window));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drag, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scrub, setup, teardown),
        cmocka_unit_test_setup_teardown(test_palette, setup, teardown),
        cmocka_unit_test_setup_teardown(test_typing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_modifiers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pixels, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_close, setup, teardown),
        cmocka_unit_test_setup_teardown(test_close_by_hand, setup, teardown),
    };
    (void)setenv("SDL_VIDEODRIVER", "dummy", 1);
    (void)setenv("SDL_RENDER_DRIVER", "software", 1);
    kern_runtime_init();
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
