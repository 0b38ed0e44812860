/* SPDX-License-Identifier: GPL-3.0-or-later */
#define SDL_MAIN_HANDLED
#include "viz/view/view_window.h"

#include "viz/view/view_gather.h"
#include "viz/view/view_headless.h"

#include <SDL.h>

#include <ctype.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1280, HEIGHT = 800, WIDTH_MIN = 640, HEIGHT_MIN = 400 };

struct view_window {
    SDL_Window *window;
    SDL_Renderer *renderer;
    SDL_Texture *texture;
    cairo_surface_t *surface; /* the frame, in pixels */
    int pixel_width, pixel_height;
    double width, height; /* logical units */
    Uint32 wake;          /* type of the event that view_window_notify sends */
    atomic_bool waking;   /* one is on its way */
    bool closed;
    bool asked;     /* closed by a signal, not by the user */
    bool due;       /* a frame is to be drawn */
    bool uncovered; /* the last frame is to be shown again */
    ui_input input; /* for the next frame; position and button last */
    SDL_Event held; /* did not fit into that */
    bool has_held;
    size_t frames;
    char title[512];
};

static kern_status fail(kern_error *err, const char *what)
{
    return kern_raise(err, KERN_IO, "%s: %s", what, SDL_GetError());
}

/* ---- Opening -------------------------------------------------------------------------- */

static kern_status no_display(kern_error *err, const char *why)
{
    return kern_raise(err, KERN_NOT_FOUND,
                      "there is no display to open a window on (%s); basin view --no-window runs "
                      "commands without one, and basin landscape RUN --prompt TEXT --token A --out "
                      "figure.pdf draws a landscape",
                      why);
}

static bool has_driver(const char *name)
{
    bool found = false;
    for (int i = 0; i < SDL_GetNumVideoDrivers(); i++) {
        found = found || strcmp(SDL_GetVideoDriver(i), name) == 0;
    }
    return found;
}

/* Without a display SDL takes a driver that draws to memory, where nobody would see the window, or
 * the whole console; on the way Wayland's library complains to the user. */
static kern_status start_video(kern_error *err)
{
    static const char nowhere[] = "neither DISPLAY nor WAYLAND_DISPLAY leads to one";
    SDL_SetMainReady();
    (void)SDL_SetHint(SDL_HINT_APP_NAME, "Basin");
    (void)SDL_SetHint(SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR, "0");
    (void)SDL_SetHint(SDL_HINT_MOUSE_FOCUS_CLICKTHROUGH, "1");
    const char *asked = SDL_GetHint(SDL_HINT_VIDEODRIVER);
    const char *wayland = SDL_getenv("WAYLAND_DISPLAY");
    const bool chosen = asked != NULL && asked[0] != '\0';
    if (!chosen && (wayland == NULL || wayland[0] == '\0') && has_driver("x11")) {
        (void)SDL_SetHint(SDL_HINT_VIDEODRIVER, "x11");
    }
    if (SDL_InitSubSystem(SDL_INIT_VIDEO) != 0) {
        char why[256];
        (void)snprintf(why, sizeof why, "%s", SDL_GetError());
        return no_display(err, chosen ? why : nowhere);
    }
    const char *driver = SDL_GetCurrentVideoDriver();
    if (!chosen && driver != NULL &&
        (strcmp(driver, "offscreen") == 0 || strcmp(driver, "dummy") == 0)) {
        SDL_QuitSubSystem(SDL_INIT_VIDEO);
        return no_display(err, nowhere);
    }
    SDL_EnableScreenSaver();
    return KERN_OK;
}

static kern_status open_window(view_window *w, const view_window_options *o, kern_error *err)
{
    int width = o->width > 0 ? o->width : WIDTH;
    int height = o->height > 0 ? o->height : HEIGHT;
    SDL_Rect room;
    if (o->width <= 0 && SDL_GetDisplayUsableBounds(0, &room) == 0 && room.w > 0 && room.h > 0) {
        width = SDL_min(width, room.w);
        height = SDL_min(height, room.h);
    }
    w->window =
        SDL_CreateWindow("Basin", SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, width, height,
                         SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI | SDL_WINDOW_HIDDEN);
    if (w->window == NULL) {
        return fail(err, "the window could not be opened");
    }
    SDL_SetWindowMinimumSize(w->window, SDL_min(width, WIDTH_MIN), SDL_min(height, HEIGHT_MIN));
    w->renderer = SDL_CreateRenderer(w->window, -1, 0);
    w->renderer = w->renderer != NULL ? w->renderer
                                      : SDL_CreateRenderer(w->window, -1, SDL_RENDERER_SOFTWARE);
    if (w->renderer == NULL) {
        return fail(err, "the window's content could not be prepared");
    }
    w->wake = SDL_RegisterEvents(1);
    SDL_StartTextInput();
    return KERN_OK;
}

kern_status view_window_create(view_window **out, const view_window_options *options,
                               kern_error *err)
{
    *out = NULL;
    KERN_TRY(start_video(err));
    view_window *w = calloc(1, sizeof *w);
    if (w == NULL) {
        SDL_Quit();
        return kern_raise(err, KERN_NO_MEMORY, "memory for the window was refused by the system");
    }
    w->input.x = w->input.y = -1.0;
    w->due = true;
    atomic_init(&w->waking, false);
    const kern_status status = open_window(w, options, err);
    if (status != KERN_OK) {
        view_window_destroy(w);
        return status;
    }
    *out = w;
    return KERN_OK;
}

static void drop_picture(view_window *w)
{
    if (w->texture != NULL) {
        SDL_DestroyTexture(w->texture);
    }
    cairo_surface_destroy(w->surface); /* ignores NULL */
    w->texture = NULL;
    w->surface = NULL;
}

void view_window_destroy(view_window *w)
{
    if (w == NULL) {
        return;
    }
    drop_picture(w);
    SDL_DestroyRenderer(w->renderer); /* these two take NULL for a mistake, and go on */
    SDL_DestroyWindow(w->window);
    SDL_Quit();
    free(w);
}

void view_window_notify(void *window)
{
    view_window *w = window;
    if (!atomic_exchange(&w->waking, true)) {
        SDL_Event event = {.type = w->wake};
        if (SDL_PushEvent(&event) != 1) {
            atomic_store(&w->waking, false);
        }
    }
}

bool view_window_is_open(const view_window *w)
{
    return !w->closed;
}

bool view_window_was_asked(const view_window *w)
{
    return w->asked;
}

size_t view_window_frames(const view_window *w)
{
    return w->frames;
}

cairo_surface_t *view_window_surface(const view_window *w)
{
    return w->surface;
}

/* ---- Input ---------------------------------------------------------------------------- */

/* The keys of ui_code's first codes, in its order. */
static const SDL_Keycode keys[UI_LETTER] = {
    SDLK_TAB,  SDLK_RETURN, SDLK_SPACE, SDLK_ESCAPE, SDLK_LEFT,     SDLK_RIGHT,     SDLK_UP,
    SDLK_DOWN, SDLK_HOME,   SDLK_END,   SDLK_PAGEUP, SDLK_PAGEDOWN, SDLK_BACKSPACE, SDLK_DELETE};

/* False for keys that the explorer has no use for, and those of the window manager (Alt). */
static bool read_key(const SDL_Keysym *sym, ui_key *key)
{
    const SDL_Keycode code = sym->sym == SDLK_KP_ENTER ? SDLK_RETURN : sym->sym;
    *key = (ui_key){.code = UI_LETTER,
                    .shift = (sym->mod & KMOD_SHIFT) != 0,
                    .ctrl = (sym->mod & (KMOD_CTRL | KMOD_GUI)) != 0};
    if ((sym->mod & KMOD_LALT) != 0 && !key->ctrl) {
        return false;
    }
    for (int i = 0; i < UI_LETTER; i++) {
        if (keys[i] == code) {
            key->code = (ui_code)i;
            return true;
        }
    }
    if (code > ' ' && code < 127) {
        key->letter = (char)tolower((int)code);
    } else if (code >= SDLK_KP_1 && code <= SDLK_KP_9) {
        key->letter = (char)('1' + (code - SDLK_KP_1));
    } else {
        key->letter = (char)(code == SDLK_KP_0 ? '0' : code == SDLK_KP_PLUS ? '+' : '-');
        return code == SDLK_KP_0 || code == SDLK_KP_PLUS || code == SDLK_KP_MINUS;
    }
    return true;
}

/* The clipboard comes as if it were typed, a line of it. */
static void paste(view_window *w)
{
    char *text = SDL_GetClipboardText();
    if (text != NULL) {
        text[strcspn(text, "\r\n\t")] = '\0';
        if (strlen(text) < sizeof w->input.text) {
            memcpy(w->input.text, text, strlen(text) + 1);
        }
    }
    SDL_free(text);
}

static bool take_modifiers(view_window *w, int mod)
{
    return view_gather_modifiers(&w->input, (mod & KMOD_SHIFT) != 0,
                                 (mod & (KMOD_CTRL | KMOD_GUI)) != 0);
}

static bool take_key(view_window *w, const SDL_Keysym *sym)
{
    ui_key key;
    if (!take_modifiers(w, sym->mod)) {
        return false;
    }
    if (!read_key(sym, &key)) {
        return true;
    }
    if (!view_gather_key(&w->input, &key)) {
        return false;
    }
    if (key.ctrl && key.letter == 'v') {
        paste(w);
    }
    w->due = true;
    return true;
}

static bool take_motion(view_window *w, double x, double y)
{
    const bool moves = w->input.x != x || w->input.y != y;
    if (!view_gather_motion(&w->input, x, y)) {
        return false;
    }
    w->due = w->due || moves;
    return true;
}

static bool take_window(view_window *w, const SDL_WindowEvent *event)
{
    switch (event->event) {
    case SDL_WINDOWEVENT_CLOSE:
        w->closed = true;
        return true;
    case SDL_WINDOWEVENT_SIZE_CHANGED:
        w->due = true;
        return true;
    case SDL_WINDOWEVENT_EXPOSED:
        w->uncovered = true;
        return true;
    case SDL_WINDOWEVENT_FOCUS_GAINED:
        return take_modifiers(w, (int)SDL_GetModState());
    case SDL_WINDOWEVENT_LEAVE:
        return w->input.down || take_motion(w, -1.0, -1.0);
    default:
        return true;
    }
}

/* Something that calls for a frame whenever it is taken. */
static bool take_input(view_window *w, const SDL_Event *event)
{
    ui_input *in = &w->input;
    const SDL_MouseWheelEvent *wheel = &event->wheel;
    bool taken = true;
    if (event->type == SDL_MOUSEWHEEL) {
        const double sign = wheel->direction == SDL_MOUSEWHEEL_FLIPPED ? -1.0 : 1.0;
        taken = view_gather_wheel(in, sign * (double)wheel->preciseY);
    } else if (event->type == SDL_TEXTINPUT) {
        taken = view_gather_text(in, event->text.text);
    } else if (event->button.button == SDL_BUTTON_LEFT) {
        taken = view_gather_button(in, event->button.state == SDL_PRESSED, event->button.x,
                                   event->button.y);
    } else {
        return true;
    }
    w->due = w->due || taken;
    return taken;
}

/* Adds an event to the next frame's input; false when that has to be drawn first. */
static bool take_event(view_window *w, const SDL_Event *event)
{
    switch (event->type) {
    case SDL_QUIT: /* follows the closing of the window, or is what SDL makes of a signal */
        w->asked = !w->closed;
        w->closed = true;
        return true;
    case SDL_WINDOWEVENT:
        return take_window(w, &event->window);
    case SDL_RENDER_TARGETS_RESET:
        w->uncovered = true;
        return true;
    case SDL_RENDER_DEVICE_RESET:
        drop_picture(w);
        w->due = true;
        return true;
    case SDL_MOUSEMOTION:
        return take_motion(w, event->motion.x, event->motion.y);
    case SDL_MOUSEBUTTONDOWN:
    case SDL_MOUSEBUTTONUP:
    case SDL_MOUSEWHEEL:
    case SDL_TEXTINPUT:
        return take_input(w, event);
    case SDL_KEYDOWN:
        return take_key(w, &event->key.keysym);
    case SDL_KEYUP:
        return take_modifiers(w, event->key.keysym.mod);
    default:
        if (event->type == w->wake) {
            atomic_store(&w->waking, false); /* the turn asks the view next */
        }
        return true;
    }
}

/* Waits for an event for that many seconds, negative: as long as it takes, and takes all there are.
 */
static void take_events(view_window *w, double patience)
{
    SDL_Event event;
    bool got = true;
    if (w->has_held) {
        w->has_held = false;
        event = w->held;
    } else if (patience < 0.0) {
        got = SDL_WaitEvent(&event) != 0;
    } else if (patience > 0.0) {
        got = SDL_WaitEventTimeout(&event, (int)fmin(ceil(patience * 1000.0), 1e6)) != 0;
    } else {
        got = SDL_PollEvent(&event) != 0;
    }
    while (got) {
        if (!take_event(w, &event)) {
            w->held = event;
            w->has_held = true;
            return;
        }
        got = SDL_PollEvent(&event) != 0;
    }
}

/* ---- Frames --------------------------------------------------------------------------- */

static kern_status make_picture(view_window *w, kern_error *err)
{
    int pw, ph, lw, lh;
    if (SDL_GetRendererOutputSize(w->renderer, &pw, &ph) != 0) {
        return fail(err, "the window's size is not known");
    }
    SDL_GetWindowSize(w->window, &lw, &lh);
    pw = pw > 1 ? pw : 1;
    ph = ph > 1 ? ph : 1;
    w->width = lw > 1 ? lw : 1;
    w->height = lh > 1 ? lh : 1;
    if (w->surface != NULL && pw == w->pixel_width && ph == w->pixel_height) {
        return KERN_OK;
    }
    drop_picture(w);
    w->pixel_width = pw;
    w->pixel_height = ph;
    w->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, pw, ph);
    if (cairo_surface_status(w->surface) != CAIRO_STATUS_SUCCESS) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a window of %d × %d pixels", pw, ph);
    }
    cairo_surface_set_device_scale(w->surface, pw / w->width, ph / w->height);
    w->texture = SDL_CreateTexture(w->renderer, SDL_PIXELFORMAT_ARGB8888,
                                   SDL_TEXTUREACCESS_STREAMING, pw, ph);
    if (w->texture == NULL) {
        return fail(err, "the window's content could not be made");
    }
    (void)SDL_SetTextureBlendMode(w->texture, SDL_BLENDMODE_NONE);
    return KERN_OK;
}

static kern_status present(view_window *w, kern_error *err)
{
    w->uncovered = false;
    if (SDL_RenderCopy(w->renderer, w->texture, NULL, NULL) != 0) {
        return fail(err, "the frame could not be shown");
    }
    SDL_RenderPresent(w->renderer);
    return KERN_OK;
}

static void show_title(view_window *w, const view *v)
{
    const char *title = view_title(v);
    if (strncmp(title, w->title, sizeof w->title - 1) != 0) {
        (void)snprintf(w->title, sizeof w->title, "%s", title);
        SDL_SetWindowTitle(w->window, w->title);
    }
}

static double clock_seconds(void)
{
    return (double)SDL_GetPerformanceCounter() / (double)SDL_GetPerformanceFrequency();
}

static kern_status draw(view_window *w, view *v, const ui_input *input, kern_error *err)
{
    KERN_TRY(make_picture(w, err));
    cairo_t *cr = cairo_create(w->surface);
    const kern_status status = view_frame(v, cr, w->width, w->height, clock_seconds(), input, err);
    cairo_destroy(cr);
    KERN_TRY(status);
    cairo_surface_flush(w->surface);
    if (SDL_UpdateTexture(w->texture, NULL, cairo_image_surface_get_data(w->surface),
                          cairo_image_surface_get_stride(w->surface)) != 0) {
        return fail(err, "the frame could not be shown");
    }
    view_headless_capture(v, w->surface, clock_seconds());
    show_title(w, v);
    if (w->frames++ == 0) {
        SDL_ShowWindow(w->window);
    }
    return present(w, err);
}

static kern_status draw_input(view_window *w, view *v, kern_error *err)
{
    ui_input none = w->input;
    view_gather_begin(&none);
    double wait;
    /* A panel that a key has opened takes the focus in the frame after; letters are for it. */
    if ((w->input.n_keys > 0 || w->input.text[0] != '\0') &&
        view_wants_frame(v, clock_seconds(), &wait)) {
        KERN_TRY(draw(w, v, &none, err));
    }
    w->due = false;
    const kern_status status = draw(w, v, &w->input, err);
    view_gather_begin(&w->input);
    return status;
}

kern_status view_window_turn(view_window *w, view *v, double patience, kern_error *err)
{
    double wait = -1.0;
    w->due = view_wants_frame(v, clock_seconds(), &wait) || w->due;
    if (w->due || w->has_held || w->uncovered) {
        patience = 0.0;
    } else if (wait >= 0.0 && (patience < 0.0 || wait < patience)) {
        patience = wait;
    }
    take_events(w, patience);
    if (w->closed) {
        return KERN_OK;
    }
    if (view_wants_frame(v, clock_seconds(), &wait) || w->due) {
        return draw_input(w, v, err);
    }
    return w->uncovered && w->texture != NULL ? present(w, err) : KERN_OK;
}

kern_status view_window_run(view_window *w, view *v, kern_error *err)
{
    while (!w->closed && !view_ended(v)) {
        KERN_TRY(view_window_turn(w, v, -1.0, err));
    }
    return KERN_OK;
}
