/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin selftest: recomputes reference vectors.
 */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "models/model_vectors.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS_END ".safetensors"

typedef struct selftest_settings {
    const char *vectors;
    bool json;
} selftest_settings;

static const cli_option options[] = {
    {.name = "vectors",
     .value = "DIR",
     .kind = CLI_TEXT,
     .required = true,
     .offset = offsetof(selftest_settings, vectors),
     .help = "folder of reference vectors, files *.safetensors"},
    CLI_OPTION_JSON(selftest_settings),
};

/* Paths of the files to check, in order of name. */
typedef struct file_list {
    char **items; /* owned */
    size_t n;
} file_list;

static void free_list(file_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i]);
    }
    free(list->items);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static kern_status append_file(file_list *list, const char *folder, const char *name,
                               kern_error *err)
{
    char **items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (items == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to list %s", folder);
    }
    list->items = items;
    const size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to list %s", folder);
    }
    (void)snprintf(path, room, "%s/%s", folder, name);
    list->items[list->n++] = path;
    return KERN_OK;
}

static bool is_vectors(const char *name)
{
    const size_t n = strlen(name);
    const size_t m = strlen(VECTORS_END);
    return n > m && strcmp(name + n - m, VECTORS_END) == 0;
}

static kern_status list_folder(file_list *list, const char *folder, kern_error *err)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "--vectors %s cannot be read (%s); accepted is a folder with files "
                          "*" VECTORS_END,
                          folder, strerror(errno));
    }
    kern_status status = KERN_OK;
    for (struct dirent *entry = readdir(dir); entry != NULL && status == KERN_OK;
         entry = readdir(dir)) {
        if (is_vectors(entry->d_name)) {
            status = append_file(list, folder, entry->d_name, err);
        }
    }
    (void)closedir(dir);
    if (status == KERN_OK && list->n == 0) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "--vectors %s has no file *" VECTORS_END
                          "; accepted is a folder with at least one",
                          folder);
    }
    if (status == KERN_OK) {
        qsort(list->items, list->n, sizeof *list->items, compare_names);
    }
    return status;
}

/* Outcome of one file, for both forms of output. */
typedef struct outcome {
    const char *name; /* without folder and end; borrowed from the list */
    int name_length;
    model_vectors_report report;
    kern_error error; /* of a file that could not be checked */
} outcome;

static bool is_skipped(const outcome *o)
{
    return o->error.status == KERN_OK && !o->report.known_family;
}

static bool has_passed(const outcome *o)
{
    return o->error.status == KERN_OK && o->report.known_family && o->report.checked > 0 &&
           o->report.failed == 0;
}

static void report_line(const outcome *o)
{
    if (o->error.status != KERN_OK) {
        (void)printf("failed   %-28.*s %s\n", o->name_length, o->name, o->error.text);
    } else if (is_skipped(o)) {
        (void)printf("skipped  %-28.*s family %s is not among those that Basin has\n",
                     o->name_length, o->name, o->report.family);
    } else {
        (void)printf("%-8s %-28.*s %3zu tensors, largest relative error %.2e",
                     has_passed(o) ? "passed" : "failed", o->name_length, o->name,
                     o->report.checked, o->report.max_rel_err);
        if (!has_passed(o)) {
            (void)printf("; %zu off, the worst %s by %.2e", o->report.failed, o->report.worst,
                         o->report.worst_err);
        }
        (void)printf("\n");
    }
}

/* A skipped file neither passes nor fails: its "pass" is null. */
static void report_json(cli_json *json, cJSON *files, const outcome *o)
{
    char name[256];
    cJSON *item = cli_json_child(json, files, NULL);
    (void)snprintf(name, sizeof name, "%.*s", o->name_length, o->name);
    cli_json_text(json, item, "name", name);
    if (is_skipped(o)) {
        cli_json_null(json, item, "pass");
        cli_json_null(json, item, "max_rel_err");
        cli_json_text(json, item, "skipped", "family not available in this version");
        cli_json_text(json, item, "family", o->report.family);
        return;
    }
    cli_json_bool(json, item, "pass", has_passed(o));
    if (o->error.status != KERN_OK) {
        cli_json_null(json, item, "max_rel_err");
        cli_json_text(json, item, "error", o->error.text);
        return;
    }
    cli_json_real(json, item, "max_rel_err", o->report.max_rel_err);
    cli_json_size(json, item, "tensors", o->report.checked);
    cli_json_text(json, item, "worst", o->report.worst);
}

static void check_file(outcome *o, const char *path)
{
    const char *slash = strrchr(path, '/');
    *o = (outcome){.name = slash != NULL ? slash + 1 : path};
    o->name_length = (int)(strlen(o->name) - strlen(VECTORS_END));
    const kern_status status = model_vectors_check(path, &o->report, &o->error);
    o->error.status = status;
}

static kern_status check_all(cli_call *call, const selftest_settings *s, const file_list *list,
                             kern_error *err)
{
    cli_json json;
    size_t passed = 0;
    size_t skipped = 0;
    cli_json_init(&json);
    cJSON *files = cli_json_array(&json, json.object, "files");
    for (size_t i = 0; i < list->n; i++) {
        outcome o;
        check_file(&o, list->items[i]);
        passed += has_passed(&o) ? 1 : 0;
        skipped += is_skipped(&o) ? 1 : 0;
        report_json(&json, files, &o);
        if (!s->json) {
            report_line(&o);
            (void)fflush(stdout);
        }
    }
    const size_t failed = list->n - passed - skipped;
    const bool pass = failed == 0 && passed > 0;
    call->check_failed = !pass;
    cli_json_bool(&json, json.object, "pass", pass);
    cli_json_size(&json, json.object, "n_passed", passed);
    cli_json_size(&json, json.object, "n_failed", failed);
    cli_json_size(&json, json.object, "n_skipped", skipped);
    if (s->json) {
        return cli_json_print(&json, err);
    }
    cli_json_fini(&json);
    (void)printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
    return KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const selftest_settings *s = settings;
    file_list list = {0};
    kern_status status = list_folder(&list, s->vectors, err);
    if (status == KERN_OK) {
        status = check_all(call, s, &list, err);
    }
    free_list(&list);
    return status;
}

const cli_command cli_selftest = {
    .name = "selftest",
    .purpose = "recomputes reference vectors",
    .description =
        "Recomputes, in double precision, every tensor of the reference vectors in a folder: "
        "states, energies, logits, losses, gradients, Jacobians. Exit status 1 when a tensor is "
        "off; files of model families that this version does not have are reported as skipped.",
    .example = "basin selftest --vectors ../shared/reference",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(selftest_settings),
    .run = run,
};
