/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_args.h"

#include "cli/cli_nearest.h"
#include "models/model_utf8.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ACCEPTED_TEXT = 160 };

/* ---- Numbers ----------------------------------------------------------------------------- */

kern_status cli_args_read_u64(uint64_t *out, const char *value, kern_error *err)
{
    uint64_t sum = 0;
    const char *digit = value;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        if (__builtin_mul_overflow(sum, UINT64_C(10), &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*digit - '0'), &sum)) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "the number is too large");
        }
    }
    if (digit == value || *digit != '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "this is not a number in decimal digits");
    }
    *out = sum;
    return KERN_OK;
}

/* strtod also takes blanks, hexadecimal, "inf" and "nan", which are refused here. */
kern_status cli_args_read_real(double *out, const char *value, kern_error *err)
{
    char *end = NULL;
    const double number = strtod(value, &end);
    if (value[strspn(value, "+-.0123456789eE")] != '\0' || end == value || *end != '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "this is not a finite decimal number");
    }
    if (!isfinite(number)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the number is too large");
    }
    *out = number;
    return KERN_OK;
}

/* ---- One value, by kind ------------------------------------------------------------------ */

static void describe_domain(const cli_option *option, char out[ACCEPTED_TEXT])
{
    if (option->accepted != NULL) {
        (void)snprintf(out, ACCEPTED_TEXT, "%s", option->accepted);
    } else if (option->kind == CLI_REAL) {
        (void)snprintf(out, ACCEPTED_TEXT, "numbers from %g to %g", option->low, option->high);
    } else if (option->kind == CLI_SEED) {
        (void)snprintf(out, ACCEPTED_TEXT, "whole numbers from 0 to 18446744073709551615");
    } else {
        (void)snprintf(out, ACCEPTED_TEXT, "whole numbers from %.0f to %.0f", option->low,
                       option->high);
    }
}

static kern_status raise_value(const cli_option *option, const char *value, kern_error *err)
{
    char shown[MODEL_UTF8_QUOTE];
    char accepted[ACCEPTED_TEXT];
    model_utf8_quote(shown, value, strlen(value));
    describe_domain(option, accepted);
    return kern_raise(err, KERN_INVALID_ARGUMENT, "%s%s is \"%s\"; accepted are %s",
                      option->positional ? "" : "--", option->name, shown, accepted);
}

static kern_status read_whole(const cli_option *option, const char *value, uint64_t *out,
                              kern_error *err)
{
    if (cli_args_read_u64(out, value, NULL) != KERN_OK || (double)*out < option->low ||
        (double)*out > option->high) {
        return raise_value(option, value, err);
    }
    return KERN_OK;
}

static kern_status take_flag(const cli_option *option, void *member, const char *value,
                             kern_error *err)
{
    (void)option;
    (void)value;
    (void)err;
    *(bool *)member = true;
    return KERN_OK;
}

static kern_status take_size(const cli_option *option, void *member, const char *value,
                             kern_error *err)
{
    uint64_t number = 0;
    KERN_TRY(read_whole(option, value, &number, err));
    *(size_t *)member = (size_t)number;
    return KERN_OK;
}

static kern_status take_int(const cli_option *option, void *member, const char *value,
                            kern_error *err)
{
    uint64_t number = 0;
    KERN_TRY(read_whole(option, value, &number, err));
    *(int *)member = (int)number;
    return KERN_OK;
}

static kern_status take_real(const cli_option *option, void *member, const char *value,
                             kern_error *err)
{
    double number = 0;
    if (cli_args_read_real(&number, value, NULL) != KERN_OK || !(number >= option->low) ||
        !(number <= option->high)) {
        return raise_value(option, value, err);
    }
    *(double *)member = number;
    return KERN_OK;
}

static kern_status take_seed(const cli_option *option, void *member, const char *value,
                             kern_error *err)
{
    if (cli_args_read_u64(member, value, NULL) != KERN_OK) {
        return raise_value(option, value, err);
    }
    return KERN_OK;
}

static kern_status take_text(const cli_option *option, void *member, const char *value,
                             kern_error *err)
{
    if (value[0] == '\0' && option->accepted != NULL) {
        return raise_value(option, value, err);
    }
    *(const char **)member = value;
    return KERN_OK;
}

static kern_status take_list(const cli_option *option, void *member, const char *value,
                             kern_error *err)
{
    cli_list *list = member;
    if (list->n == CLI_LIST_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--%s is given more than %d times; accepted are at most %d", option->name,
                          CLI_LIST_MAX, CLI_LIST_MAX);
    }
    list->items[list->n++] = value;
    return KERN_OK;
}

static kern_status take_word(const cli_option *option, void *member, const char *value,
                             kern_error *err)
{
    kern_error why = {0};
    if (option->parse(member, value, &why) == KERN_OK) {
        return KERN_OK;
    }
    if (option->accepted != NULL) {
        return raise_value(option, value, err);
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "--%s: %s", option->name, why.text);
}

typedef kern_status take_value(const cli_option *option, void *member, const char *value,
                               kern_error *err);

static take_value *const takers[CLI_KIND_COUNT] = {
    [CLI_FLAG] = take_flag, [CLI_SIZE] = take_size, [CLI_INT] = take_int,   [CLI_REAL] = take_real,
    [CLI_SEED] = take_seed, [CLI_TEXT] = take_text, [CLI_LIST] = take_list, [CLI_WORD] = take_word,
};

/* ---- The line ---------------------------------------------------------------------------- */

typedef struct reader {
    cli_call *call;
    int argc;
    char *const *argv;
    int next; /* word to read next */
    char *settings;
} reader;

static bool same_name(const char *name, const char *typed, size_t length)
{
    if (name == NULL || strlen(name) != length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        const char a = name[i] == '_' ? '-' : name[i];
        const char b = typed[i] == '_' ? '-' : typed[i];
        if (a != b) {
            return false;
        }
    }
    return true;
}

const cli_option *cli_args_find(const cli_command *command, const char *name, size_t length)
{
    for (size_t i = 0; i < command->n_options; i++) {
        const cli_option *option = &command->options[i];
        if (option->kind == CLI_HEADING || option->positional) {
            continue;
        }
        if (same_name(option->name, name, length) || same_name(option->alias, name, length)) {
            return option;
        }
    }
    return NULL;
}

bool cli_args_given(const cli_call *call, const char *name)
{
    const cli_option *option = cli_args_find(call->command, name, strlen(name));
    return option != NULL && call->given[option - call->command->options];
}

static kern_status raise_unknown(const cli_command *command, const char *typed, kern_error *err)
{
    const char *names[CLI_OPTIONS_MAX];
    const char *best[2];
    char word[CLI_NEAREST_WORD] = "";
    char shown[MODEL_UTF8_QUOTE];
    size_t n = 0;
    for (size_t i = 0; i < command->n_options && n < CLI_OPTIONS_MAX; i++) {
        if (command->options[i].kind != CLI_HEADING && !command->options[i].positional) {
            names[n++] = command->options[i].name;
        }
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(typed, "="), typed);
    model_utf8_quote(shown, word, strlen(word));
    const char *name = word + strspn(word, "-");
    const size_t near = cli_nearest_find(name, names, n, best, 2);
    if (near == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is not an option; accepted are those of basin %s --help", shown,
                          command->name);
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "%s is not an option; did you mean --%s%s%s?",
                      shown, best[0], near > 1 ? " or --" : "", near > 1 ? best[1] : "");
}

static kern_status store(reader *r, const cli_option *option, const char *value, kern_error *err)
{
    if (option->once && r->call->given[option - r->call->command->options]) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--%s is given twice; accepted is once",
                          option->name);
    }
    r->call->given[option - r->call->command->options] = true;
    return takers[option->kind](option, r->settings + option->offset, value, err);
}

/* A word that is itself an option is not taken for a value: more likely the value is missing. */
static bool is_option(const reader *r, const char *word)
{
    return strncmp(word, "--", 2) == 0 &&
           cli_args_find(r->call->command, word + 2, strcspn(word + 2, "=")) != NULL;
}

static kern_status read_option(reader *r, const char *word, kern_error *err)
{
    const char *name = word + 2;
    const size_t length = strcspn(name, "=");
    const cli_option *option = cli_args_find(r->call->command, name, length);
    if (option == NULL) {
        return raise_unknown(r->call->command, word, err);
    }
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    if (option->kind == CLI_FLAG) {
        if (value != NULL) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is a switch and takes no value, but \"%s\" is given",
                              option->name, value);
        }
        return store(r, option, NULL, err);
    }
    if (value == NULL && r->next < r->argc && !is_option(r, r->argv[r->next])) {
        value = r->argv[r->next++];
    }
    if (value == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--%s needs a value %s: %s", option->name,
                          option->value, option->help);
    }
    return store(r, option, value, err);
}

static kern_status read_positional(reader *r, const char *word, kern_error *err)
{
    const cli_command *command = r->call->command;
    for (size_t i = 0; i < command->n_options; i++) {
        if (command->options[i].positional && !r->call->given[i]) {
            return store(r, &command->options[i], word, err);
        }
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, word, strlen(word));
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "\"%s\" is one argument too many; accepted is what basin %s --help shows",
                      shown, command->name);
}

static kern_status check_required(const cli_call *call, kern_error *err)
{
    for (size_t i = 0; i < call->command->n_options; i++) {
        const cli_option *option = &call->command->options[i];
        if (option->required && !call->given[i]) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "%s%s is missing: %s",
                              option->positional ? "" : "--", option->name, option->help);
        }
    }
    return KERN_OK;
}

kern_status cli_args_parse(cli_call *call, int argc, char *const *argv, void *settings,
                           kern_error *err)
{
    reader r = {.call = call, .argc = argc, .argv = argv, .settings = settings};
    bool options_end = false;
    while (r.next < argc) {
        const char *word = argv[r.next++];
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
        } else if (!options_end && strncmp(word, "--", 2) == 0) {
            KERN_TRY(read_option(&r, word, err));
        } else if (!options_end && word[0] == '-' && word[1] != '\0') {
            KERN_TRY(raise_unknown(call->command, word, err));
        } else {
            KERN_TRY(read_positional(&r, word, err));
        }
    }
    return check_required(call, err);
}
