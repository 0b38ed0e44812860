/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands: the table that palette, keys, --exec and tests read.
 *
 * A row of the settings' table is a command by itself: its name and a value. The rows here do what
 * is more than setting one value, or give a setting its keys; where a name is in both tables, the
 * row here also takes the setting's values. A name alone tells a setting's value.
 *
 * Arguments are separated by blanks; one with blanks in it stands between double quotes. What sets
 * a text, and a path at the end of a line, is taken as it is.
 */
#ifndef BASIN_VIEW_COMMAND_H
#define BASIN_VIEW_COMMAND_H

#include "viz/view/view.h"

typedef struct view_command {
    const char *name;
    const char *arguments; /* as help shows them, "" for none */
    const char *help;
    const char *key; /* "Ctrl+Z", "p", "Space", or NULL; keys are for commands without arguments, or
                        with those of `key_arguments` */
    const char *key_arguments;
    kern_status (*run)(view *v, const char *arguments, kern_error *err);
} view_command;

/* Rows in the order of help; NULL behind the last. A command with several keys has as many rows,
 * one after another, of which the first says what it is. */
const view_command *view_command_at(size_t i);

/* What a row's key does, where that is not what its help says of the command; else its help. */
const char *view_command_key_help(const view_command *command);

/* The first row called `name`, in which '-' and '_' are the same; NULL when there is none. */
const view_command *view_command_find(const char *name);

/* Lines that complete or match `typed` in order of fitness, for the palette: commands and settings
 * with their help. First is `typed` itself when it begins with a command and goes on with arguments
 * that no line has; then come lines that begin with it, lines with words that begin with its words
 * in their order, and lines with its letters in their order. Returns how many were written, at most
 * `most`. */
typedef struct view_suggestion {
    char line[128];
    char help[256];
    char key[24];
} view_suggestion;
size_t view_command_suggest(const view *v, const char *typed, view_suggestion *out, size_t most);

/* Runs the commands whose keys the frame's widgets have left. While something is typed, or a panel
 * lies over the view, only those with Ctrl. */
void view_command_keys(view *v);

/* How a key of the table is pressed: false for a text that is none. */
typedef struct view_key {
    ui_code code;
    char letter;
    bool ctrl;
} view_key;
bool view_command_key(view_key *out, const char *text);

#endif
