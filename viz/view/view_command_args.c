/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_command_runs.h"

#include "dyn/dyn_assignment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t";

/* Reads one word from *at, which is not a blank, and moves on behind it. */
static kern_status read_word(char out[VIEW_TEXT], const char **at, kern_error *err)
{
    const bool quoted = **at == '"';
    const char *from = *at + (quoted ? 1 : 0);
    const size_t n = strcspn(from, quoted ? "\"" : blanks);
    if (quoted && from[n] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the quote before \"%.40s\" has no end",
                          from);
    }
    if (n >= VIEW_TEXT) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a word of %zu bytes is too long; accepted are %d", n, VIEW_TEXT - 1);
    }
    memcpy(out, from, n);
    out[n] = '\0';
    *at = from + n + (quoted ? 1 : 0);
    return KERN_OK;
}

kern_status view_args_read(view_args *out, const char *arguments, kern_error *err)
{
    const char *at = arguments + strspn(arguments, blanks);
    out->n = 0;
    while (*at != '\0') {
        if (out->n == VIEW_ARGS_MAX) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "there are more than %d arguments",
                              VIEW_ARGS_MAX);
        }
        KERN_TRY(read_word(out->text[out->n], &at, err));
        out->n++;
        at += strspn(at, blanks);
    }
    return KERN_OK;
}

kern_status view_args_path(char out[VIEW_TEXT], const char *command, const char *arguments,
                           kern_error *err)
{
    size_t n = strlen(arguments);
    if (n >= 2 && arguments[0] == '"' && arguments[n - 1] == '"') {
        arguments++;
        n -= 2;
    }
    if (n == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s needs the path of a file", command);
    }
    if (n >= VIEW_TEXT) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a path of %zu bytes is too long; accepted are %d", n, VIEW_TEXT - 1);
    }
    memcpy(out, arguments, n);
    out[n] = '\0';
    return KERN_OK;
}

kern_status view_args_real(double *out, const char *what, const char *word, kern_error *err)
{
    double *values = NULL;
    size_t n = 0;
    const kern_status status = dyn_read_numbers(word, &values, &n, NULL);
    const double value = status == KERN_OK && n == 1 ? values[0] : (double)NAN;
    free(values);
    if (!isfinite(value)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s is \"%.40s\"; accepted are numbers", what,
                          word);
    }
    *out = value;
    return KERN_OK;
}

kern_status view_args_reals(double *out, size_t n, const char *what, const char *arguments,
                            kern_error *err)
{
    view_args words;
    KERN_TRY(view_args_read(&words, arguments, err));
    if (words.n != n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the number of arguments is %zu instead of %zu: %s", words.n, n, what);
    }
    for (size_t i = 0; i < n; i++) {
        KERN_TRY(view_args_real(&out[i], what, words.text[i], err));
    }
    return KERN_OK;
}

kern_status view_args_none(const char *command, const char *arguments, kern_error *err)
{
    return arguments[0] == '\0'
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "%s takes no arguments; given is \"%.40s\"",
                            command, arguments);
}

/* "x2": the present value twice. */
static kern_status multiply(const view *v, const view_field *field, const char *factor,
                            char out[VIEW_TEXT], kern_error *err)
{
    char now[VIEW_TEXT];
    double a;
    double b;
    view_settings_show(&v->s, field, now);
    KERN_TRY(view_args_real(&a, field->name, now, err));
    KERN_TRY(view_args_real(&b, "the factor", factor, err));
    (void)snprintf(out, VIEW_TEXT, "%.17g", a * b);
    return KERN_OK;
}

void view_tell(view *v, const view_field *field)
{
    char text[VIEW_TEXT];
    const char *idle = v->subject != NULL ? view_words_idle(v->subject, &v->s, field->name) : NULL;
    view_settings_show(&v->s, field, text);
    view_say(v, false, "%s is %s%s%s", field->name, text,
             idle != NULL ? "; it has no effect: " : "", idle != NULL ? idle : "");
}

kern_status view_assign(view *v, const char *name, const char *value, kern_error *err)
{
    const view_field *field = NULL;
    char text[VIEW_TEXT];
    KERN_TRY(view_field_find(&field, name, err));
    if (value[0] == '\0') {
        view_settings_show(&v->s, field, text);
        view_say(v, false, "%s is %s: %s", field->name, text[0] != '\0' ? text : "empty",
                 field->help);
        return KERN_OK;
    }
    if (field->kind == VIEW_KIND_TEXT && strcmp(value, "\"\"") == 0) {
        value = "";
    }
    if (field->kind == VIEW_KIND_REAL && value[0] == 'x') {
        KERN_TRY(multiply(v, field, value + 1, text, err));
        value = text;
    }
    KERN_TRY(view_set(v, field->name, value, err));
    view_tell(v, field);
    return KERN_OK;
}
