/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin view: the explorer in a window, or its commands without one.
 */
#define _XOPEN_SOURCE 700
#include "cli/cli_view.h"

#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_signal.h"
#include "kernels/kern_parallel.h"
#include "models/model_file.h"
#include "viz/view/view_command.h"
#include "viz/view/view_headless.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE_MIN = 200,
    SIDE_MAX = 16384,
    WIDTH = 1280,
    HEIGHT = 800,
    SCRIPT_MAX = 1 << 20,
    SAID_MAX = 1024
};

/* ---- Options --------------------------------------------------------------------------------- */

static kern_status parse_size(void *member, const char *value, kern_error *err)
{
    cli_view_size *size = member;
    char end = '\0';
    int w = 0;
    int h = 0;
    if (sscanf(value, "%5dx%5d%c", &w, &h, &end) != 2 || w < SIDE_MIN || w > SIDE_MAX ||
        h < SIDE_MIN || h > SIDE_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%.40s\" is not WIDTHxHEIGHT with %d to %d each", value, SIDE_MIN,
                          SIDE_MAX);
    }
    *size = (cli_view_size){w, h};
    return KERN_OK;
}

static void show_size(const void *member, char out[CLI_VALUE_TEXT])
{
    const cli_view_size *size = member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%dx%d", size->width, size->height);
}

static void defaults(void *settings)
{
    cli_view_settings *s = settings;
    s->size = (cli_view_size){WIDTH, HEIGHT};
    s->scale = 1.0;
    s->threads = kern_parallel_processors();
}

#define PLACE(member) .offset = offsetof(cli_view_settings, member)

static const cli_option options[] = {
    {.name = "RUN",
     .kind = CLI_TEXT,
     .positional = true,
     PLACE(run),
     .help = "folder written by basin train, or a file of weights, also of basin gp "
             "(*.safetensors); without it "
             "the model of --from, or a bundled one"},
    {.kind = CLI_HEADING, .help = "What is looked at"},
    {.name = "from",
     .value = "FILE",
     .kind = CLI_TEXT,
     PLACE(from),
     .help = "open what a figure of basin (.pdf, .svg, .png, .csv) or a session (.json) shows; "
             "read-only when the model is another by now"},
    {.name = "bundled",
     .value = "NAME",
     .kind = CLI_TEXT,
     PLACE(bundled),
     .help = "a model that comes with Basin: listops, listops-full (η unconstrained: tokens lose "
             "their rest at larger rates), cem, or gp (predicts points of Gaussian processes)"},
    {.name = "prompt",
     .value = "TEXT",
     .kind = CLI_TEXT,
     PLACE(prompt),
     .help =
         "text whose tokens are the state (SEED:POINTS for a model of basin gp); without it the "
         "line of prompt.txt beside the model"},
    {.name = "token",
     .value = "A",
     .kind = CLI_TEXT,
     PLACE(token),
     .help = "token whose energy is drawn, from 0, or all for the sum"},
    {.name = "plane", .value = "P", .kind = CLI_TEXT, PLACE(plane), .help = "kind of plane"},
    {.name = "set",
     .value = "NAME=VALUE",
     .kind = CLI_LIST,
     PLACE(set),
     .help = "any setting by its name; may be given again for others"},
    {.name = "list",
     .kind = CLI_FLAG,
     PLACE(list),
     .help = "list settings, commands and keys, and stop"},
    {.kind = CLI_HEADING, .help = "Commands"},
    {.name = "script",
     .value = "FILE",
     .kind = CLI_TEXT,
     PLACE(script),
     .help = "run the commands of a file, one a line; lines that begin with # are notes"},
    {.name = "exec",
     .value = "COMMANDS",
     .kind = CLI_LIST,
     PLACE(exec),
     .help = "run commands, separated by semicolons, after those of --script"},
    {.name = "no-window",
     .kind = CLI_FLAG,
     PLACE(no_window),
     .help = "run the commands without a display, say what they say, and stop"},
    {.kind = CLI_HEADING, .help = "The window"},
    {.name = "size",
     .value = "WxH",
     .kind = CLI_WORD,
     PLACE(size),
     .parse = parse_size,
     .show = show_size,
     .help = "its size, in units that are pixels except on dense screens"},
    {.name = "scale",
     .value = "X",
     .kind = CLI_REAL,
     .low = 0.5,
     .high = 4.0,
     PLACE(scale),
     .help = "size of texts and widgets"},
    {.name = "assets",
     .value = "DIR",
     .kind = CLI_TEXT,
     PLACE(assets),
     .help = "folder of the bundled models, instead of that of the environment variable "
             "BASIN_ASSETS or of the installation"},
    CLI_OPTION_THREADS(cli_view_settings),
    {.name = "json",
     .kind = CLI_FLAG,
     PLACE(json),
     .help = "at the end print one JSON object with the settings, what commands said, and the "
             "window's title and widgets, and nothing else on standard output"},
};

/* ---- The tables ------------------------------------------------------------------------------ */

static void print_words(const view_field *field)
{
    const char *before = field->special != NULL ? field->special : "";
    (void)printf("%s", before);
    for (int i = 0; field->word(i) != NULL; i++) {
        (void)printf("%s%s", i > 0 || before[0] != '\0' ? ", " : "", field->word(i));
    }
}

static void list_settings(void)
{
    view_settings s;
    view_settings_defaults(&s);
    (void)printf("settings, as commands NAME VALUE or options --set NAME=VALUE\n");
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const view_field *field = view_field_at(i);
        char value[VIEW_TEXT];
        view_settings_show(&s, field, value);
        (void)printf("  %-11s %s", field->name, field->help);
        if (field->kind == VIEW_KIND_WORD) {
            (void)printf(": ");
            print_words(field);
        }
        (void)printf(" (default %s)\n", value[0] != '\0' ? value : "empty");
    }
}

static void list_commands(void)
{
    (void)printf("\ncommands and keys\n");
    for (size_t i = 0; view_command_at(i) != NULL; i++) {
        const view_command *c = view_command_at(i);
        const char *shown =
            c->arguments[0] == '\0' && c->key_arguments != NULL ? c->key_arguments : c->arguments;
        char line[80];
        (void)snprintf(line, sizeof line, "%s%s%s", c->name, shown[0] != '\0' ? " " : "", shown);
        (void)printf("  %-7s %-32s %s", c->key != NULL ? c->key : "", line, c->help);
        if (c->key_arguments != NULL && shown != c->key_arguments) {
            (void)printf("; the key: %s", c->key_arguments);
        }
        (void)printf("\n");
    }
}

/* ---- Commands -------------------------------------------------------------------------------- */

typedef struct explorer {
    const cli_view_settings *s;
    bool sized;          /* --size is given; else a window fits the screen */
    view_window *window; /* NULL: none */
    view *v;
    cli_json json;
    cJSON *said; /* borrowed from json */
} explorer;

/* One frame, so that what follows finds it drawn. */
static kern_status draw(explorer *e, kern_error *err)
{
    const cli_view_size *size = &e->s->size;
    KERN_TRY(cli_view_wait(e->v, e->window, err));
    return e->window != NULL ? view_window_turn(e->window, e->v, 0.0, err)
                             : view_headless_draw(e->v, size->width, size->height, NULL, err);
}

static void tell(explorer *e, const char *line, const char *said)
{
    if (e->s->json) {
        cJSON *entry = cli_json_child(&e->json, e->said, NULL);
        cli_json_text(&e->json, entry, "command", line);
        cli_json_text(&e->json, entry, "said", said);
    } else if (e->window == NULL && said[0] != '\0') {
        (void)printf("%s\n", said);
    }
}

/* Runs a command and tells what the view says to it; a failure that shows only once the command is
 * computed and drawn is one as well. A command that did what it is for may warn, as load does of
 * another model, and that ends nothing. */
static kern_status do_line(explorer *e, const char *line, kern_error *err)
{
    kern_error why = {0};
    bool failed = false;
    char warning[SAID_MAX] = "";
    const kern_status status = view_do(e->v, line, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "command \"%.80s\": %s", line, why.text);
    }
    (void)snprintf(warning, sizeof warning, "%s", view_said(e->v, NULL));
    KERN_TRY(draw(e, err));
    const char *said = view_said(e->v, &failed);
    if (failed && strcmp(said, warning) != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "command \"%.80s\": %s", line, said);
    }
    tell(e, line, said);
    return KERN_OK;
}

/* Runs the commands between the separators, which are overwritten; blanks around them, and notes,
 * are skipped. */
static kern_status do_lines(explorer *e, char *text, const char *separators, kern_error *err)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, separators, &rest); line != NULL && !view_ended(e->v);
         line = strtok_r(NULL, separators, &rest)) {
        if (e->window != NULL && !view_window_is_open(e->window)) {
            return KERN_OK; /* closed while a command was computed */
        }
        line += strspn(line, " \t\r");
        size_t n = strlen(line);
        while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL) {
            line[--n] = '\0';
        }
        if (n > 0 && line[0] != '#') {
            KERN_TRY(do_line(e, line, err));
        }
    }
    return KERN_OK;
}

static kern_status do_script(explorer *e, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    if (e->s->script == NULL) {
        return KERN_OK;
    }
    KERN_TRY(model_file_read(e->s->script, SCRIPT_MAX, &text, &size, err));
    kern_status status =
        strlen(text) == size
            ? KERN_OK
            : kern_raise(err, KERN_BAD_INPUT,
                         "the script %s holds the byte NUL at offset %zu; a text is accepted",
                         e->s->script, strlen(text));
    status = status == KERN_OK ? do_lines(e, text, "\n", err) : status;
    free(text);
    return status;
}

/* A window shows what is wrong from the beginning, and JSON tells what is shown. Else it is told
 * before what the commands say, which may mend it. */
static void tell_beginning(const explorer *e)
{
    bool failed = false;
    const char *said = view_said(e->v, &failed);
    if (failed && e->window == NULL && !e->s->json) {
        (void)printf("%s\n", said);
    }
}

static kern_status do_all(explorer *e, kern_error *err)
{
    KERN_TRY(draw(e, err));
    tell_beginning(e);
    KERN_TRY(do_script(e, err));
    for (size_t i = 0; i < e->s->exec.n; i++) {
        char *text = strdup(e->s->exec.items[i]);
        if (text == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for the commands of --exec");
        }
        const kern_status status = do_lines(e, text, ";\n", err);
        free(text);
        KERN_TRY(status);
    }
    return KERN_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static kern_status print_end(explorer *e, kern_error *err)
{
    cli_json *j = &e->json;
    char *shown = NULL;
    KERN_TRY(view_describe(e->v, &shown, err));
    cli_json_raw(j, j->object, "window", shown);
    free(shown);
    if (e->window != NULL) {
        cli_json_size(j, j->object, "frames", view_window_frames(e->window));
    }
    cJSON *settings = cli_json_child(j, j->object, "settings");
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        char value[VIEW_TEXT];
        view_settings_show(view_get(e->v), view_field_at(i), value);
        cli_json_text(j, settings, view_field_at(i)->name, value);
    }
    return cli_json_print(j, err);
}

static kern_status explore(explorer *e, kern_error *err)
{
    if (e->s->json) {
        cli_json_init(&e->json);
        e->said = cli_json_array(&e->json, e->json.object, "commands");
    }
    kern_status status = do_all(e, err);
    if (status == KERN_OK && e->window != NULL && !view_ended(e->v)) {
        status = view_window_run(e->window, e->v, err);
    }
    if (status == KERN_OK && e->window != NULL && view_window_was_asked(e->window)) {
        status = kern_raise(err, KERN_INTERRUPTED, "stopped on request");
    }
    if (status == KERN_OK && e->s->json) {
        return print_end(e, err);
    }
    if (e->s->json) {
        cli_json_fini(&e->json);
    }
    return status;
}

static kern_status open_and_explore(explorer *e, const view_options *wanted, kern_error *err)
{
    view_options o = *wanted;
    if (!e->s->no_window) {
        const view_window_options w = {.width = e->sized ? e->s->size.width : 0,
                                       .height = e->sized ? e->s->size.height : 0};
        KERN_TRY(view_window_create(&e->window, &w, err)); /* SDL turns signals into an event */
        o.notify = view_window_notify;
        o.context = e->window;
    } else {
        cli_signal_watch();
    }
    kern_status status = view_create(&e->v, &o, err);
    if (status == KERN_OK) {
        status = explore(e, err);
        view_destroy(e->v);
    }
    view_window_destroy(e->window);
    return status;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const cli_view_settings *s = settings;
    char *assets = NULL;
    char sha256[65];
    if (s->list) {
        list_settings();
        list_commands();
        return KERN_OK;
    }
    KERN_TRY(cli_view_find_assets(&assets, s->assets, err));
    explorer e = {.s = s, .sized = cli_args_given(call, "size")};
    view_options o = {.workers = s->threads, .assets = assets};
    kern_status status = cli_view_read_settings(&o.settings, sha256, call, s, assets, err);
    if (status == KERN_OK) {
        o.expected_sha256 = sha256[0] != '\0' ? sha256 : NULL;
        status = open_and_explore(&e, &o, err);
    }
    free(assets);
    return status;
}

const cli_command cli_view = {
    .name = "view",
    .purpose = "explores the energy of a prompt's tokens in a window",
    .description =
        "Opens a window with the energy of a token on a plane through its states, as basin "
        "landscape draws it, where token, plane, step and rate are chosen by hand; computing goes "
        "on in the background. Everything is a command with a name, which keys, widgets, the "
        "palette (Ctrl+P), --exec and --script share, and every exported figure opens again with "
        "--from.",
    .example = "basin view\n"
               "basin view run --prompt \"max_10 ( 2 9 3 ) =\" --token 5 --set rate=1.5\n"
               "basin view --no-window --exec \"token 5; export figure.pdf\"",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_view_settings),
    .defaults = defaults,
    .run = run,
};
