/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of commands.
 */
#include "viz/view/view_command.h"

#include "viz/view/view_command_runs.h"

#include <string.h>

static const view_command commands[] = {
    {"token", "A|all|next|prev", "the token whose energy is drawn", "Down", "next", view_run_token},
    {"token", "", "the token before", "Up", "prev", view_run_token},
    {"also", "N|N,M,...|all|clear", "draw other tokens' trajectories too, or one no more", "a",
     "this", view_run_also},
    {"held", "N|N,M,...|all|clear",
     "keep other tokens at their state of the centre, or one no more", NULL, NULL, view_run_held},
    {"step", "N|+1|-1|first|last", "point out a state of the trajectory", "Right", "+1",
     view_run_step},
    {"step", "", "the state before", "Left", "-1", view_run_step},
    {"step", "", "the first state", "Home", "first", view_run_step},
    {"step", "", "the last state", "End", "last", view_run_step},
    {"play", "[toggle]", "go through the steps, around the end; toggle stops as well", "Space",
     "toggle", view_run_play},
    {"pause", "", "stay at this step", NULL, NULL, view_run_pause},
    {"center", "", "make the state pointed out the centre of the plane", "c", NULL,
     view_run_center},
    {"resample", "", "other random directions", "r", NULL, view_run_resample},
    {"seed", "N|A B", "seed of random directions; or start a trajectory at a place of the plane",
     NULL, NULL, view_run_seed},
    {"seeds", "A,B,...|clear", "places from which trajectories start, or take all away", "x",
     "clear", view_run_seeds},
    {"zoom", "F", "show a part of the plane F times smaller, about its middle", "+", "1.25",
     view_run_zoom},
    {"zoom", "", "the same on keyboards where + needs Shift", "=", "1.25", view_run_zoom},
    {"zoom", "", "show a larger part", "-", "0.8", view_run_zoom},
    {"pan", "DA DB", "move what is shown along the axes", NULL, NULL, view_run_pan},
    {"rotate", "DEG", "turn the axes within the plane, in degrees", "]", "15", view_run_rotate},
    {"rotate", "", "turn the axes back", "[", "-15", view_run_rotate},
    {"fit", "", "show what the trajectory takes", "f", NULL, view_run_fit},
    {"measure", "A B", "energy, gradient and curvature at a place of the plane", NULL, NULL,
     view_run_measure},
    {"mode", "map|surface|basins", "what is drawn of the plane", "1", "map", view_run_mode},
    {"mode", "", "draw the energy as a surface", "2", "surface", view_run_mode},
    {"mode", "", "draw where states go", "3", "basins", view_run_mode},
    {"toggle", "SETTING", "switch a setting that is on or off", "d", "dark", view_run_toggle},
    {"toggle", "", "the field follows the step", "t", "follow", view_run_toggle},
    {"toggle", "", "contours of the step before, while the field follows", "g", "ghost",
     view_run_toggle},
    {"toggle", "", "strip of the orbit diagram", "o", "orbit", view_run_toggle},
    {"toggle", "", "hold the scales behind the norm", "p", "pin", view_run_toggle},
    {"toggle", "", "contours of the second-order model", "q", "quadratic", view_run_toggle},
    {"lock", "", "keep the range of colours as it is", "l", NULL, view_run_lock},
    {"unlock", "", "let the range of colours follow the field", "u", NULL, view_run_unlock},
    {"scale", "F|+|-", "size of texts and widgets", "Ctrl+=", "+", view_run_scale},
    {"scale", "", "the same on the number block", "Ctrl++", "+", view_run_scale},
    {"scale", "", "smaller texts and widgets", "Ctrl+-", "-", view_run_scale},
    {"undo", "", "take the last change back", "Ctrl+Z", NULL, view_run_undo},
    {"redo", "", "make it again", "Ctrl+Y", NULL, view_run_redo},
    {"reset", "", "all settings but the model, its prompt and the looks as at the start", "Ctrl+R",
     NULL, view_run_reset},
    {"export", "PATH [width-mm W] [dpi D]", "write the figure as PDF, SVG, PNG or CSV", "Ctrl+E",
     NULL, view_run_export},
    {"save", "PATH", "write the session, from which the same view is opened again", NULL, NULL,
     view_run_save},
    {"load", "PATH", "open a session, or the one inside a figure", NULL, NULL, view_run_load},
    {"accept-model", "", "take a model in place of the one that the session was made with", NULL,
     NULL, view_run_accept_model},
    {"say", "", "tell in a sentence what is shown", "s", NULL, view_run_say},
    {"describe", "PATH", "write the widgets of the window as JSON", NULL, NULL, view_run_describe},
    {"screenshot", "PATH", "write the window as it is, as PNG", NULL, NULL, view_run_screenshot},
    {"palette", "", "find a command by typing", "Ctrl+P", NULL, view_run_palette},
    {"help", "", "keys and commands", "h", NULL, view_run_help},
    {"help", "", "the same", "?", NULL, view_run_help},
    {"quit", "", "close the window", "Ctrl+Q", NULL, view_run_quit},
};

const view_command *view_command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? &commands[i] : NULL;
}

const char *view_command_key_help(const view_command *command)
{
    static const struct {
        const char *key, *help;
    } keys[] = {{"Down", "the next token"},
                {"Up", "the token before"},
                {"Right", "the next step"},
                {"Left", "the step before"},
                {"a", "keep this token drawn, or no more"},
                {"Home", "the first step"},
                {"End", "the last step"},
                {"Space", "go through the steps, or stop"},
                {"c", "centre the plane on this state"},
                {"x", "take all started trajectories away"},
                {"+", "zoom in"},
                {"=", "the same where + needs Shift"},
                {"-", "zoom out"},
                {"]", "turn the axes by 15°"},
                {"[", "turn them back by 15°"},
                {"f", "show the whole trajectory"},
                {"1", "draw the energy as a map"},
                {"2", "draw the energy as a surface"},
                {"3", "draw where states go"},
                {"d", "dark or light page"},
                {"t", "the field follows the step, or not"},
                {"g", "contours of the step before, or not"},
                {"o", "orbit strip on or off"},
                {"p", "hold the scales behind the norm, or not"},
                {"q", "second-order model on or off"},
                {"Ctrl+=", "larger texts and widgets"},
                {"Ctrl+R", "settings as at the start"},
                {"Ctrl+E", "write the figure to a file"},
                {"h", "this table"}};
    for (size_t i = 0; command->key != NULL && i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i].key, command->key) == 0) {
            return keys[i].help;
        }
    }
    return command->help;
}

static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && (*a == '_' ? '-' : *a) == (*b == '_' ? '-' : *b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

const view_command *view_command_find(const char *name)
{
    for (size_t i = 0; view_command_at(i) != NULL; i++) {
        if (same_name(commands[i].name, name)) {
            return &commands[i];
        }
    }
    return NULL;
}

bool view_command_key(view_key *out, const char *text)
{
    static const struct {
        const char *name;
        ui_code code;
    } names[] = {{"Tab", UI_TAB},       {"Enter", UI_ENTER},        {"Space", UI_SPACE},
                 {"Escape", UI_ESCAPE}, {"Left", UI_LEFT},          {"Right", UI_RIGHT},
                 {"Up", UI_UP},         {"Down", UI_DOWN},          {"Home", UI_HOME},
                 {"End", UI_END},       {"PageUp", UI_PAGE_UP},     {"PageDown", UI_PAGE_DOWN},
                 {"Delete", UI_DELETE}, {"Backspace", UI_BACKSPACE}};
    const char *ctrl = "Ctrl+";
    const size_t n = strlen(ctrl);
    *out = (view_key){.code = UI_LETTER, .ctrl = strncmp(text, ctrl, n) == 0};
    text += out->ctrl ? n : 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, text) == 0) {
            out->code = names[i].code;
            return true;
        }
    }
    if (text[0] <= ' ' || text[0] > '~' || text[1] != '\0') {
        return false;
    }
    out->letter = text[0] >= 'A' && text[0] <= 'Z' ? (char)(text[0] - 'A' + 'a') : text[0];
    return true;
}
