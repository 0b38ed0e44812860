/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running command lines, and the commands of keys.
 */
#include "viz/view/view_command.h"

#include "viz/view/view_command_runs.h"
#include "viz/viz_text.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 64, LINE = VIEW_TEXT + NAME };

static const char blanks[] = " \t\r\n";

/* ---- Running a line -------------------------------------------------------------------------- */

static kern_status unknown(const view *v, const char *name, kern_error *err)
{
    view_suggestion close[3];
    char names[3 * NAME] = "";
    const size_t n = view_command_suggest(v, name, close, 3);
    for (size_t i = 0; i < n; i++) {
        const size_t used = strlen(names);
        close[i].line[strcspn(close[i].line, blanks)] = '\0';
        if (strstr(names, close[i].line) == NULL) {
            (void)snprintf(names + used, sizeof names - used, "%s%.40s", used > 0 ? ", " : "",
                           close[i].line);
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "\"%.40s\" is neither a command nor a setting; %s%s", name,
                      n > 0 ? "close to it: " : "help lists them", names);
}

/* `line` is cut to pieces. */
static kern_status run_line(view *v, char *line, kern_error *err)
{
    const view_field *field = NULL;
    char *name = line + strspn(line, blanks);
    char *arguments = name + strcspn(name, blanks);
    if (*arguments != '\0') {
        *arguments++ = '\0';
        arguments += strspn(arguments, blanks);
    }
    size_t n = strlen(arguments);
    while (n > 0 && strchr(blanks, arguments[n - 1]) != NULL) {
        arguments[--n] = '\0';
    }
    if (name[0] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "there is no command; help lists them");
    }
    const view_command *command = view_command_find(name);
    if (command != NULL) {
        return command->run(v, arguments, err);
    }
    if (view_field_find(&field, name, NULL) == KERN_OK) {
        return view_assign(v, field->name, arguments, err);
    }
    return unknown(v, name, err);
}

kern_status view_do(view *v, const char *line, kern_error *err)
{
    char copy[LINE];
    kern_error why = {0};
    kern_status status = KERN_OK;
    if (strlen(line) >= sizeof copy) {
        status = kern_raise(&why, KERN_INVALID_ARGUMENT,
                            "a command of %zu bytes is too long; accepted are %d", strlen(line),
                            LINE - 1);
    } else if (!viz_text_is_utf8(line)) {
        status = kern_raise(&why, KERN_BAD_INPUT, "the command is not valid UTF-8");
    } else {
        (void)snprintf(copy, sizeof copy, "%s", line);
        view_say(v, false, "%s", "");
        status = run_line(v, copy, &why);
    }
    if (status != KERN_OK) {
        view_say(v, true, "%s", why.text);
        if (err != NULL) {
            *err = why;
        }
    }
    return status;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

void view_command_keys(view *v)
{
    for (size_t i = 0; view_command_at(i) != NULL; i++) {
        const view_command *c = view_command_at(i);
        view_key key;
        const bool busy = ui_typing(v->ui) || v->overlay != VIEW_OVER_NOTHING;
        if (c->key == NULL || !view_command_key(&key, c->key) || (busy && !key.ctrl)) {
            continue;
        }
        while (ui_take_key(v->ui, key.code, key.letter, key.ctrl)) {
            char line[LINE];
            (void)snprintf(line, sizeof line, "%s %s", c->name,
                           c->key_arguments != NULL ? c->key_arguments : "");
            (void)view_do(v, line, NULL); /* the message tells of a failure */
        }
    }
}
