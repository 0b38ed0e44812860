/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the palette offers for what was typed.
 */
#include "viz/view/view_command.h"

#include "viz/view/view_private.h"

#include <stdio.h>
#include <string.h>

/* How well a line fits; what does not fit at all is not offered. */
typedef enum fit { FIT_BEGINS, FIT_WORDS, FIT_LETTERS, FIT_NOT } fit;

/* Where suggestions go while all lines are looked at for one fit. */
typedef struct list {
    const char *typed; /* lower case, without blanks around it */
    view_suggestion *out;
    size_t n, most;
    fit wanted;
} list;

/* ---- Fits ------------------------------------------------------------------------------------ */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '_' ? '-' : c;
}

static bool begins(const char *line, const char *typed, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (lower(line[i]) != typed[i]) {
            return false;
        }
    }
    return true;
}

/* The start of the next word of a line, behind a blank or a hyphen; NULL when there is none. */
static const char *next_word(const char *line)
{
    line += strcspn(line, " -");
    return *line != '\0' ? line + 1 : NULL;
}

/* Each word typed begins one of the line's, in their order. */
static bool has_words(const char *line, const char *typed)
{
    const char *at = line;
    while (*typed != '\0') {
        const size_t n = strcspn(typed, " ");
        while (at != NULL && !begins(at, typed, n)) {
            at = next_word(at);
        }
        if (at == NULL) {
            return false;
        }
        at = next_word(at);
        typed += n;
        typed += strspn(typed, " ");
        if (at == NULL) {
            return *typed == '\0';
        }
    }
    return true;
}

static bool has_letters(const char *line, const char *typed)
{
    while (*typed != '\0' && *line != '\0') {
        typed += lower(*line) == *typed || *typed == ' ' ? 1 : 0;
        line++;
    }
    return *typed == '\0';
}

static fit fit_of(const char *line, const char *typed)
{
    if (begins(line, typed, strlen(typed))) {
        return FIT_BEGINS;
    }
    return has_words(line, typed) ? FIT_WORDS : has_letters(line, typed) ? FIT_LETTERS : FIT_NOT;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void put(list *l, const char *line, const char *help, const char *key)
{
    view_suggestion *s = &l->out[l->n++];
    (void)snprintf(s->line, sizeof s->line, "%s", line);
    (void)snprintf(s->help, sizeof s->help, "%s", help);
    (void)snprintf(s->key, sizeof s->key, "%s", key != NULL ? key : "");
}

static bool has_line(const list *l, const char *line)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->out[i].line, line) == 0) {
            return true;
        }
    }
    return false;
}

static void offer(list *l, const char *line, const char *help, const char *key)
{
    if (l->n < l->most && fit_of(line, l->typed) == l->wanted && !has_line(l, line)) {
        put(l, line, help, key);
    }
}

static void offer_command(list *l, size_t i)
{
    const view_command *c = view_command_at(i);
    char line[sizeof l->out->line];
    if (c->key_arguments == NULL) {
        offer(l, c->name, c->help, c->key);
        return;
    }
    if (view_command_find(c->name) == c) {
        offer(l, c->name, c->help, NULL);
    }
    (void)snprintf(line, sizeof line, "%s %s", c->name, c->key_arguments);
    offer(l, line, c->help, c->key);
}

static void offer_value(list *l, const view_field *field, const char *word)
{
    char line[sizeof l->out->line];
    (void)snprintf(line, sizeof line, "%s %s", field->name, word);
    offer(l, line, field->help, NULL);
}

/* A setting, and the words that it may be set to. */
static void offer_field(list *l, const view_field *field)
{
    if (view_command_find(field->name) == NULL) {
        offer(l, field->name, field->help, NULL);
    }
    if (l->typed[0] == '\0') {
        return; /* values of everything would bury the commands */
    }
    if (field->special != NULL) {
        offer_value(l, field, field->special);
    }
    if (field->kind == VIEW_KIND_FLAG) {
        offer_value(l, field, "on");
        offer_value(l, field, "off");
    }
    for (int i = 0; field->kind == VIEW_KIND_WORD && field->word(i) != NULL; i++) {
        offer_value(l, field, field->word(i));
    }
}

static void offer_all(list *l)
{
    for (size_t i = 0; view_command_at(i) != NULL; i++) {
        offer_command(l, i);
    }
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        offer_field(l, view_field_at(i));
    }
}

/* ---- What was typed -------------------------------------------------------------------------- */

/* Help of the command or setting that a line with arguments begins with; NULL when it has none. */
static const char *help_of(const char *typed)
{
    char name[sizeof((view_suggestion){0}.line)];
    const view_field *field = NULL;
    const size_t n = strcspn(typed, " ");
    if (typed[n] == '\0' || n >= sizeof name) {
        return NULL;
    }
    memcpy(name, typed, n);
    name[n] = '\0';
    const view_command *command = view_command_find(name);
    if (command != NULL) {
        return command->help;
    }
    return view_field_find(&field, name, NULL) == KERN_OK ? field->help : NULL;
}

/* True when the line is one of those that are offered anyway. */
static bool is_offered(const char *typed)
{
    view_suggestion one;
    list l = {.typed = typed, .out = &one, .most = 1, .wanted = FIT_BEGINS};
    offer_all(&l);
    return l.n > 0;
}

size_t view_command_suggest(const view *v, const char *typed, view_suggestion *out, size_t most)
{
    char plain[VIEW_TEXT];
    size_t n = 0;
    (void)v;
    typed += strspn(typed, " ");
    for (; typed[n] != '\0' && n + 1 < sizeof plain; n++) {
        plain[n] = lower(typed[n]);
    }
    while (n > 0 && plain[n - 1] == ' ') {
        n--;
    }
    plain[n] = '\0';
    list l = {.typed = plain, .out = out, .most = most};
    const char *help = help_of(typed);
    if (help != NULL && most > 0 && strlen(typed) < sizeof out->line && !is_offered(plain)) {
        put(&l, typed, help, NULL);
    }
    for (l.wanted = FIT_BEGINS; l.wanted < FIT_NOT; l.wanted++) {
        offer_all(&l);
    }
    return l.n;
}
