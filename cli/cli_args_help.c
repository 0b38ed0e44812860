/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_args.h"

#include "models/model_json.h"

#include <stdlib.h>
#include <string.h>

enum {
    HELP_COLUMN = 28, /* where descriptions begin */
    HELP_WIDTH = 96,
    HELP_TEXT = 512
};

/* Characters of a text: the bytes that continue one in UTF-8 do not count. */
static int columns(const char *text, size_t bytes)
{
    int n = 0;
    for (size_t i = 0; i < bytes; i++) {
        n += ((unsigned char)text[i] & 0xc0u) != 0x80u ? 1 : 0;
    }
    return n;
}

/* Prints `text` word by word; lines after the first begin at `indent`. `at` is the present column.
 */
static void print_wrapped(FILE *out, const char *text, int at, int indent)
{
    bool first = true;
    while (*text != '\0') {
        const size_t bytes = strcspn(text, " ");
        const int width = columns(text, bytes);
        if (!first && at + 1 + width > HELP_WIDTH) {
            (void)fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            (void)fputc(' ', out);
            at++;
        }
        (void)fwrite(text, 1, bytes, out);
        at += width;
        first = false;
        text += bytes + strspn(text + bytes, " ");
    }
    (void)fputc('\n', out);
}

static void show_flag(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", *(const bool *)member ? "on" : "off");
}

static void show_size(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%zu", *(const size_t *)member);
}

static void show_int(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%d", *(const int *)member);
}

static void show_real(const void *member, char out[CLI_VALUE_TEXT])
{
    char text[MODEL_JSON_NUMBER];
    (void)model_json_format_real(text, *(const double *)member);
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", text);
}

static void show_seed(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%llu", (unsigned long long)*(const uint64_t *)member);
}

static void show_text(const void *member, char out[CLI_VALUE_TEXT])
{
    const char *text = *(const char *const *)member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", text != NULL ? text : "");
}

static cli_show *const shows[CLI_KIND_COUNT] = {
    [CLI_FLAG] = show_flag, [CLI_SIZE] = show_size, [CLI_INT] = show_int,
    [CLI_REAL] = show_real, [CLI_SEED] = show_seed, [CLI_TEXT] = show_text,
};

void cli_args_show(const cli_option *option, const void *settings, char out[CLI_VALUE_TEXT])
{
    cli_show *show = option->show != NULL ? option->show : shows[option->kind];
    out[0] = '\0';
    if (show != NULL) {
        show((const char *)settings + option->offset, out);
    }
}

static void print_option(const cli_option *option, const char *settings, FILE *out)
{
    char left[HELP_TEXT];
    char text[HELP_TEXT];
    char value[CLI_VALUE_TEXT] = "";
    if (settings != NULL && option->kind != CLI_FLAG && !option->required &&
        !option->hide_default) {
        cli_args_show(option, settings, value);
    }
    (void)snprintf(left, sizeof left, "  %s%s%s%s", option->positional ? "" : "--", option->name,
                   option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
    (void)snprintf(text, sizeof text, "%s%s%s%s%s", option->help,
                   option->required ? " (required)" : "", value[0] != '\0' ? " (default " : "",
                   value, value[0] != '\0' ? ")" : "");
    int at = columns(left, strlen(left));
    (void)fputs(left, out);
    if (at + 2 > HELP_COLUMN) {
        (void)fputc('\n', out);
        at = 0;
    }
    (void)fprintf(out, "%*s", HELP_COLUMN - at, "");
    print_wrapped(out, text, HELP_COLUMN, HELP_COLUMN);
}

static void print_usage(const cli_command *command, FILE *out)
{
    (void)fprintf(out, "Usage: basin %s", command->name);
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        if (option->positional) {
            (void)fprintf(out, option->required ? " %s" : " [%s]", option->name);
        }
    }
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        if (!option->positional && option->required) {
            (void)fprintf(out, " --%s %s", option->name, option->value);
        }
    }
    (void)fprintf(out, " [OPTION]...\n\n");
}

static void print_example(const char *example, FILE *out)
{
    (void)fputs("\nExample:\n", out);
    while (*example != '\0') {
        const size_t bytes = strcspn(example, "\n");
        (void)fprintf(out, "  %.*s\n", (int)bytes, example);
        example += bytes + (example[bytes] == '\n' ? 1 : 0);
    }
}

void cli_args_print_help(const cli_command *command, FILE *out)
{
    char *settings = calloc(1, command->settings_size + 1);
    if (settings != NULL && command->defaults != NULL) {
        command->defaults(settings);
    }
    print_usage(command, out);
    print_wrapped(out, command->description != NULL ? command->description : command->purpose, 0,
                  0);
    (void)fputs(command->options[0].kind != CLI_HEADING ? "\n" : "", out);
    for (size_t i = 0; i < command->n_options; i++) {
        if (command->options[i].kind == CLI_HEADING) {
            (void)fprintf(out, "\n%s:\n", command->options[i].help);
        } else {
            print_option(&command->options[i], settings, out);
        }
    }
    print_example(command->example, out);
    free(settings);
}
