/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What basin view begins with: the bundled models, and settings from sessions and the command line.
 */
#define _XOPEN_SOURCE 700
#include "cli/cli_view.h"

#include "models/model_file.h"
#include "models/model_run_path.h"
#include "synthetic/syn_gp_model.h"
#include "viz/view/view_session.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The model that opens when none is named. */
#define BUNDLED "listops"

enum { PROMPT_FILE = 1 << 16, MODELS_MAX = 64 };

/* ---- Bundled models --------------------------------------------------------------------------
 */

static bool is_file(const char *folder, const char *name)
{
    struct stat info;
    char *path = NULL;
    const bool there = model_run_path(&path, folder, name, NULL) == KERN_OK &&
                       stat(path, &info) == 0 && S_ISREG(info.st_mode);
    free(path);
    return there;
}

static bool is_there(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static kern_status copy_path(char **out, const char *path, kern_error *err)
{
    *out = strdup(path);
    return *out != NULL ? KERN_OK : kern_raise(err, KERN_NO_MEMORY, "no memory for a path");
}

static kern_status take_named(char **folder, const char *named, const char *option, kern_error *err)
{
    return is_file(named, BUNDLED "/config.json")
               ? copy_path(folder, named, err)
               : kern_raise(err, KERN_NOT_FOUND,
                            "%s names '%s', which has no " BUNDLED
                            "/config.json: no bundled models",
                            option, named);
}

/* share/basin/assets of the folder whose bin holds the program, as installed. */
static bool find_installed(char path[PATH_MAX])
{
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) {
        return false;
    }
    program[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
    }
    const int length = snprintf(path, PATH_MAX, "%s/share/basin/assets", program);
    return length > 0 && length < PATH_MAX && is_file(path, BUNDLED "/config.json");
}

kern_status cli_view_find_assets(char **folder, const char *named, kern_error *err)
{
    char installed[PATH_MAX];
    const char *environment = getenv("BASIN_ASSETS");
    *folder = NULL;
    if (named != NULL) {
        return take_named(folder, named, "--assets", err);
    }
    if (environment != NULL && environment[0] != '\0') {
        return take_named(folder, environment, "the environment variable BASIN_ASSETS", err);
    }
    if (find_installed(installed)) {
        return copy_path(folder, installed, err);
    }
    if (is_file(BASIN_ASSETS_SOURCE, BUNDLED "/config.json")) {
        return copy_path(folder, BASIN_ASSETS_SOURCE, err);
    }
    return KERN_OK;
}

/* ---- Settings --------------------------------------------------------------------------------
 */

static kern_status set(view_settings *s, const char *name, const char *value, kern_error *err)
{
    const view_field *field = NULL;
    KERN_TRY(view_field_find(&field, name, err));
    return view_settings_set(s, field, value, err);
}

static kern_status set_option(view_settings *s, const char *name, const char *value,
                              kern_error *err)
{
    kern_error why = {0};
    if (value == NULL) {
        return KERN_OK;
    }
    const kern_status status = set(s, name, value, &why);
    return status == KERN_OK ? status : kern_raise(err, status, "--%s: %s", name, why.text);
}

/* NAME=VALUE; the value may hold more of the signs. */
static kern_status set_pair(view_settings *s, const char *pair, kern_error *err)
{
    char name[64];
    kern_error why = {0};
    const char *sign = strchr(pair, '=');
    const size_t n = sign != NULL ? (size_t)(sign - pair) : 0;
    if (n == 0 || n >= sizeof name) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--set is \"%.80s\"; accepted is NAME=VALUE, and --list shows the names",
                          pair);
    }
    memcpy(name, pair, n);
    name[n] = '\0';
    const kern_status status = set(s, name, sign + 1, &why);
    return status == KERN_OK ? status : kern_raise(err, status, "--set %s: %s", pair, why.text);
}

/* The first line of the file prompt.txt in a run's folder, as bundled models have one. */
static kern_status read_prompt(view_settings *s, const char *folder, kern_error *err)
{
    char *path = NULL;
    char *text = NULL;
    size_t size = 0;
    if (!is_file(folder, "prompt.txt")) {
        return KERN_OK;
    }
    KERN_TRY(model_run_path(&path, folder, "prompt.txt", err));
    kern_status status = model_file_read(path, PROMPT_FILE, &text, &size, err);
    free(path);
    if (status == KERN_OK) {
        text[strcspn(text, "\r\n")] = '\0';
        status = set(s, "prompt", text, err);
    }
    free(text);
    return status;
}

/* A run's folder, or the one file of a model that is no run. */
static kern_status set_bundled_run(view_settings *s, const char *folder, kern_error *err)
{
    char *file = NULL;
    if (is_file(folder, "config.json")) {
        return set(s, "run", folder, err);
    }
    KERN_TRY(model_run_path(&file, folder, "model.safetensors", err));
    const kern_status status = set(s, "run", file, err);
    free(file);
    return status;
}

/* The prompt beside a run's other files, or beside a model of basin gp. Any other file of weights
 * takes numbers as tokens, whatever words its run has. */
static kern_status read_prompt_of_run(view_settings *s, const char *run, kern_error *err)
{
    char folder[PATH_MAX] = ".";
    struct stat info;
    const char *slash = strrchr(run, '/');
    if (stat(run, &info) == 0 && S_ISDIR(info.st_mode)) {
        return read_prompt(s, run, err);
    }
    if (!syn_gp_model_is(run)) {
        return KERN_OK;
    }
    if (slash != NULL) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - run), run);
    }
    return read_prompt(s, folder, err);
}

/* An empty prompt that is given is not one that is left out. */
static bool needs_prompt(const view_settings *out, const cli_view_settings *s)
{
    return out->prompt[0] == '\0' && s->prompt == NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Says which models there are, in the order of their names. */
static kern_status raise_unknown(const char *assets, const char *name, kern_error *err)
{
    char *names[MODELS_MAX];
    char list[256] = "";
    size_t n = 0;
    DIR *folder = opendir(assets);
    for (const struct dirent *entry = folder != NULL ? readdir(folder) : NULL;
         entry != NULL && n < MODELS_MAX; entry = readdir(folder)) {
        char *path = NULL;
        const bool fits = entry->d_name[0] != '.' &&
                          model_run_path(&path, assets, entry->d_name, NULL) == KERN_OK &&
                          is_file(path, "model.safetensors");
        names[n] = fits ? strdup(entry->d_name) : NULL;
        n += names[n] != NULL ? 1 : 0;
        free(path);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++) {
        const size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
        free(names[i]);
    }
    return kern_raise(err, KERN_NOT_FOUND,
                      "--bundled is \"%.40s\"; accepted are the models in '%s': %s", name, assets,
                      list);
}

static kern_status take_bundled(view_settings *out, const char *name, const char *assets,
                                const cli_view_settings *s, kern_error *err)
{
    char *folder = NULL;
    if (assets == NULL) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "no RUN is given and no bundled model is found; accepted are a folder of "
                          "basin train, and --assets or the environment variable BASIN_ASSETS with "
                          "the folder of the bundled models");
    }
    KERN_TRY(model_run_path(&folder, assets, name, err));
    kern_status status = KERN_OK;
    if (strchr(name, '/') != NULL || !is_file(folder, "model.safetensors")) {
        status = raise_unknown(assets, name, err);
    } else if (strcmp(name, BUNDLED) == 0) {
        /* It is found wherever the assets lie, so that its sessions can be passed on. */
        status = set(out, "run", "", err);
    } else {
        status = set_bundled_run(out, folder, err);
    }
    if (status == KERN_OK && needs_prompt(out, s)) {
        status = read_prompt(out, folder, err);
    }
    free(folder);
    return status;
}

/* A RUN that is not there may be meant for the name of a bundled model. */
static kern_status check_run(const char *run, const char *assets, kern_error *err)
{
    char *folder = NULL;
    if (is_there(run)) {
        return KERN_OK;
    }
    const bool bundled = assets != NULL && strchr(run, '/') == NULL &&
                         model_run_path(&folder, assets, run, NULL) == KERN_OK &&
                         is_file(folder, "model.safetensors");
    free(folder);
    return kern_raise(err, KERN_NOT_FOUND, "RUN is '%s', which does not exist%s%s", run,
                      bundled ? "; the bundled model of that name opens with --bundled " : "",
                      bundled ? run : "");
}

static kern_status take_run(view_settings *out, const cli_view_settings *s, const char *assets,
                            kern_error *err)
{
    kern_error why = {0};
    KERN_TRY(check_run(s->run, assets, err));
    const kern_status status = set(out, "run", s->run, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "RUN: %s", why.text);
    }
    return needs_prompt(out, s) ? read_prompt_of_run(out, s->run, err) : KERN_OK;
}

static kern_status take_model(view_settings *out, const cli_view_settings *s, const char *assets,
                              kern_error *err)
{
    if (s->run != NULL && s->bundled != NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--bundled names a model, and so does RUN");
    }
    if (s->run != NULL) {
        return take_run(out, s, assets, err);
    }
    if (s->bundled != NULL || s->from == NULL) {
        return take_bundled(out, s->bundled != NULL ? s->bundled : BUNDLED, assets, s, err);
    }
    return KERN_OK;
}

kern_status cli_view_read_settings(view_settings *out, char sha256[65], const cli_call *call,
                                   const cli_view_settings *s, const char *assets, kern_error *err)
{
    sha256[0] = '\0';
    view_settings_defaults(out);
    if (s->from != NULL) {
        view_session session;
        KERN_TRY(view_session_load(&session, s->from, err));
        *out = session.settings;
        memcpy(sha256, session.model_sha256, sizeof session.model_sha256);
    }
    KERN_TRY(set_option(out, "prompt", s->prompt, err));
    KERN_TRY(take_model(out, s, assets, err));
    KERN_TRY(set_option(out, "token", s->token, err));
    KERN_TRY(set_option(out, "plane", s->plane, err));
    if (cli_args_given(call, "scale")) {
        out->scale = s->scale;
    }
    for (size_t i = 0; i < s->set.n; i++) {
        KERN_TRY(set_pair(out, s->set.items[i], err));
    }
    if (out->prompt[0] == '\0') {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "the prompt is empty, and none comes with the model; --prompt gives the text "
            "whose tokens are looked at");
    }
    return KERN_OK;
}
