/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The files of a checkpoint as a pair: which belong together, and what a break left behind.
 */
#define _POSIX_C_SOURCE 200809L
#include "models/model_checkpoint_private.h"

#include "models/model_run_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ------------------------------------------------------------------------------- */

kern_status model__checkpoint_paths_init(model__checkpoint_paths *paths, const char *folder,
                                         kern_error *err)
{
    *paths = (model__checkpoint_paths){0};
    kern_status status = model_run_path(&paths->model, folder, MODEL_RUN_MODEL, err);
    if (status == KERN_OK) {
        status = model_run_path(&paths->optimizer, folder, MODEL_RUN_OPTIMIZER, err);
    }
    if (status == KERN_OK) {
        status = model_run_path(&paths->model_next, folder, MODEL_RUN_MODEL MODEL_RUN_NEXT, err);
    }
    if (status == KERN_OK) {
        status =
            model_run_path(&paths->optimizer_next, folder, MODEL_RUN_OPTIMIZER MODEL_RUN_NEXT, err);
    }
    if (status != KERN_OK) {
        model__checkpoint_paths_fini(paths);
    }
    return status;
}

void model__checkpoint_paths_fini(model__checkpoint_paths *paths)
{
    free(paths->model);
    free(paths->optimizer);
    free(paths->model_next);
    free(paths->optimizer_next);
    *paths = (model__checkpoint_paths){0};
}

/* ---- Renaming ---------------------------------------------------------------------------- */

static void sync_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        /* Some file systems refuse; the files themselves are on the disk, and whichever names a
         * power cut leaves are put right when the checkpoint is loaded. */
        (void)fsync(fd);
        (void)close(fd);
    }
}

kern_status model__checkpoint_promote(const char *folder, const char *next, const char *path,
                                      kern_error *err)
{
    if (rename(next, path) != 0) {
        return kern_raise(err, KERN_IO, "cannot replace '%s': %s", path, strerror(errno));
    }
    sync_folder(folder);
    return KERN_OK;
}

static kern_status remove_file(const char *path, kern_error *err)
{
    if (unlink(path) != 0 && errno != ENOENT) {
        return kern_raise(err, KERN_IO, "cannot remove '%s': %s", path, strerror(errno));
    }
    return KERN_OK;
}

/* A name that model_file_writer gives to a file under construction. */
static bool is_temporary(const char *name)
{
    static const char start[] = ".basin-";
    enum { DIGITS = 16 };
    const size_t length = strlen(start);
    return strncmp(name, start, length) == 0 && strlen(name) == length + DIGITS &&
           strspn(name + length, "0123456789abcdef") == DIGITS;
}

/* Files whose writer was killed. Only the owner of the run gets here. */
static kern_status remove_temporaries(const char *folder, kern_error *err)
{
    DIR *items = opendir(folder);
    if (items == NULL) {
        return errno == ENOENT
                   ? kern_raise(err, KERN_NOT_FOUND, "the folder '%s' does not exist", folder)
                   : kern_raise(err, KERN_IO, "cannot open the folder '%s': %s", folder,
                                strerror(errno));
    }
    kern_status status = KERN_OK;
    const struct dirent *item = readdir(items);
    while (item != NULL && status == KERN_OK) {
        if (is_temporary(item->d_name)) {
            char *path = NULL;
            status = model_run_path(&path, folder, item->d_name, err);
            if (status == KERN_OK) {
                status = remove_file(path, err);
            }
            free(path);
        }
        item = readdir(items);
    }
    (void)closedir(items);
    return status;
}

/* ---- Pairs ------------------------------------------------------------------------------- */

/* What makes two files a pair. */
typedef struct pair_mark {
    bool found;
    size_t step;
    char weights[MODEL__HASH_TEXT];
} pair_mark;

kern_status model_checkpoint_step(const model_safetensors *file, const char *path, size_t *step,
                                  kern_error *err)
{
    const char *text = model_safetensors_metadata(file, "step");
    *step = 0;
    if (text == NULL || model_safetensors_metadata_whole(file, "step", SIZE_MAX, step)) {
        return KERN_OK;
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "the step in the metadata of '%s' is \"%.40s\"; a whole number is accepted",
                      path, text);
}

static kern_status read_mark(const char *path, pair_mark *mark, kern_error *err)
{
    *mark = (pair_mark){0};
    if (access(path, F_OK) != 0) {
        return KERN_OK;
    }
    model_safetensors *file = NULL;
    KERN_TRY(model_safetensors_create(&file, path, err));
    const char *weights = model_safetensors_metadata(file, "weights");
    const kern_status status = model_checkpoint_step(file, path, &mark->step, err);
    mark->found = true;
    (void)snprintf(mark->weights, sizeof mark->weights, "%s", weights != NULL ? weights : "");
    model_safetensors_destroy(file);
    return status;
}

/* Reading a left-over may fail; then it is worth nothing. */
static pair_mark read_mark_or_none(const char *path)
{
    pair_mark mark;
    if (read_mark(path, &mark, NULL) != KERN_OK) {
        mark = (pair_mark){0};
    }
    return mark;
}

static bool is_pair(const pair_mark *a, const pair_mark *b)
{
    return a->found && b->found && a->step == b->step && a->weights[0] != '\0' &&
           strcmp(a->weights, b->weights) == 0;
}

static kern_status raise_no_pair(const model__checkpoint_paths *paths, const pair_mark *m,
                                 const pair_mark *o, kern_error *err)
{
    if (!o->found) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' has no '%s' beside it, without which training cannot continue",
                          paths->model, paths->optimizer);
    }
    if (m->step != o->step) {
        return kern_raise(
            err, KERN_BAD_INPUT,
            "'%s' is from step %zu and '%s' from step %zu; they must be saved together",
            paths->model, m->step, paths->optimizer, o->step);
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "'%s' and '%s' were not saved together: they are from step %zu of different "
                      "trainings",
                      paths->model, paths->optimizer, m->step);
}

/* The four files after a break, by how far saving had come: two waiting (nothing to lose, or the
 * very first pair), the model renamed, both renamed. */
kern_status model__checkpoint_repair(const char *folder, const model__checkpoint_paths *paths,
                                     kern_error *err)
{
    pair_mark m;
    pair_mark o;
    KERN_TRY(remove_temporaries(folder, err));
    KERN_TRY(read_mark(paths->model, &m, err));
    KERN_TRY(read_mark(paths->optimizer, &o, err));
    const pair_mark m_next = read_mark_or_none(paths->model_next);
    const pair_mark o_next = read_mark_or_none(paths->optimizer_next);
    if (!m.found && !o.found && is_pair(&m_next, &o_next)) {
        KERN_TRY(model__checkpoint_promote(folder, paths->model_next, paths->model, err));
        return model__checkpoint_promote(folder, paths->optimizer_next, paths->optimizer, err);
    }
    if (m.found && !is_pair(&m, &o)) {
        if (!is_pair(&m, &o_next)) {
            return raise_no_pair(paths, &m, &o, err);
        }
        KERN_TRY(model__checkpoint_promote(folder, paths->optimizer_next, paths->optimizer, err));
    }
    KERN_TRY(remove_file(paths->model_next, err));
    KERN_TRY(remove_file(paths->optimizer_next, err));
    if (!m.found) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "'%s' does not exist: nothing was saved in this run yet", paths->model);
    }
    return KERN_OK;
}

kern_status model_checkpoint_recover(const char *folder, size_t *step, kern_error *err)
{
    model__checkpoint_paths paths;
    pair_mark mark = {0};
    *step = 0;
    KERN_TRY(model__checkpoint_paths_init(&paths, folder, err));
    kern_status status = model__checkpoint_repair(folder, &paths, err);
    if (status == KERN_OK) {
        status = read_mark(paths.model, &mark, err);
    }
    *step = mark.step;
    model__checkpoint_paths_fini(&paths);
    return status;
}
