/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "models/model_run.h"

#include "models/model_checkpoint.h"
#include "models/model_file.h"
#include "models/model_run_config.h"
#include "models/model_weights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUN_CONFIG_LIMIT = 1 << 28 }; /* bytes of config.json; vocabularies can be long */

/* ---- One training at a time -------------------------------------------------------------- */

kern_status model_run_lock(int *lock, const char *folder, kern_error *err)
{
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) {
        const kern_status status = errno == ENOENT ? KERN_NOT_FOUND : KERN_IO;
        return kern_raise(err, status, "cannot open the folder '%s': %s", folder, strerror(errno));
    }
    if (flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        model_run_unlock(*lock);
        *lock = -1;
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "another process is training in '%s'; wait for its end, stop it, or name "
                          "another folder",
                          folder);
    }
    return KERN_OK;
}

void model_run_unlock(int lock)
{
    if (lock >= 0) {
        (void)close(lock);
    }
}

/* ---- Starting ---------------------------------------------------------------------------- */

/* The files of a run. When a run is overwritten they go in this order, so that a break leaves no
 * file that could be taken for part of the new run; the first ones are the new run's by then. */
static const char *const run_files[] = {
    MODEL_RUN_OPTIMIZER MODEL_RUN_NEXT,
    MODEL_RUN_MODEL MODEL_RUN_NEXT,
    MODEL_RUN_OPTIMIZER,
    MODEL_RUN_MODEL,
    MODEL_RUN_METRICS,
    MODEL_RUN_CONFIG,
};

enum { RUN_FILES = sizeof run_files / sizeof run_files[0], RUN_WAITING = 2 };

static kern_status clear_file(const char *folder, const char *name, bool overwrite, kern_error *err)
{
    char *path = NULL;
    struct stat info;
    KERN_TRY(model_run_path(&path, folder, name, err));
    kern_status status = KERN_OK;
    if (lstat(path, &info) == 0) {
        if (!overwrite) {
            status = kern_raise(err, KERN_INVALID_ARGUMENT,
                                "'%s' already holds a run (it has %s); name another folder, resume "
                                "that run, or ask to overwrite it",
                                folder, name);
        } else if (unlink(path) != 0) {
            status = kern_raise(err, KERN_IO, "cannot remove '%s': %s", path, strerror(errno));
        }
    }
    free(path);
    return status;
}

static kern_status write_config(const char *folder, const model_recipe *recipe, kern_error *err)
{
    char *path = NULL;
    char *text = NULL;
    kern_status status = model_run_config_to_text(recipe, &text, err);
    if (status == KERN_OK) {
        status = model_run_path(&path, folder, MODEL_RUN_CONFIG, err);
    }
    if (status == KERN_OK) {
        const model_file_chunk chunks[] = {{text, strlen(text)}, {"\n", 1}};
        status = model_file_write_atomic(path, chunks, 2, err);
    }
    free(text);
    free(path);
    return status;
}

kern_status model_run_begin(const char *folder, const model_recipe *recipe, bool overwrite,
                            kern_error *err)
{
    KERN_TRY(model_run_config_check(recipe, err));
    KERN_TRY(model_file_make_folder(folder, err));
    for (size_t i = 0; i < RUN_FILES && !overwrite; i++) {
        /* From the end: config.json is the name that tells the user most. */
        KERN_TRY(clear_file(folder, run_files[RUN_FILES - 1 - i], false, err));
    }
    for (size_t i = RUN_WAITING; i < RUN_FILES && overwrite; i++) {
        KERN_TRY(clear_file(folder, run_files[i], true, err));
    }
    return write_config(folder, recipe, err);
}

kern_status model_run_write(const model_run *run, kern_error *err)
{
    const model_recipe recipe = {.config = &run->config,
                                 .tokenizer = &run->tokenizer,
                                 .data_kind = run->data_kind,
                                 .data_path = run->data_path,
                                 .training = &run->training};
    KERN_TRY(model_run_config_check(&recipe, err));
    return write_config(run->folder, &recipe, err);
}

/* ---- Reading ----------------------------------------------------------------------------- */

static kern_status read_config(model_run *run, const char *folder, kern_error *err)
{
    char *path = NULL;
    char *text = NULL;
    size_t size = 0;
    kern_error inner = {0};
    KERN_TRY(model_run_path(&path, folder, MODEL_RUN_CONFIG, err));
    kern_status status = model_file_read(path, RUN_CONFIG_LIMIT, &text, &size, &inner);
    if (status == KERN_NOT_FOUND) {
        status = kern_raise(err, status, "'%s' is no run: %s", folder, inner.text);
    } else if (status != KERN_OK) {
        status = kern_raise(err, status, "%s", inner.text);
    } else {
        status = model_run_config_from_text(run, path, text, size, err);
    }
    free(text);
    free(path);
    return status;
}

kern_status model_run_init(model_run *run, const char *folder, kern_error *err)
{
    *run = (model_run){.tokenizer = {.eos = -1}};
    kern_status status = KERN_OK;
    run->folder = strdup(folder);
    if (run->folder == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for the run '%s'", folder);
    }
    if (status == KERN_OK) {
        status = read_config(run, folder, err);
    }
    if (status != KERN_OK) {
        model_run_fini(run);
    }
    return status;
}

void model_run_fini(model_run *run)
{
    model_tokenizer_fini(&run->tokenizer);
    free(run->folder);
    free(run->data_kind);
    free(run->data_path);
    *run = (model_run){.tokenizer = {.eos = -1}};
}

/* ---- Weights ----------------------------------------------------------------------------- */

static kern_status load_model(model *m, size_t *step, const char *path, kern_error *err)
{
    model_safetensors *file = NULL;
    if (access(path, F_OK) != 0) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "'%s' does not exist: nothing was saved in this run yet", path);
    }
    KERN_TRY(model_safetensors_create(&file, path, err));
    kern_status status = model_weights_check_config(file, path, &m->config, err);
    if (status == KERN_OK) {
        status = model_checkpoint_step(file, path, step, err);
    }
    if (status == KERN_OK) {
        status = model_weights_read(m, file, path, err);
    }
    model_safetensors_destroy(file);
    return status;
}

kern_status model_run_load_model(model **out, size_t *step, const model_run *run,
                                 const kern_backend *backend, kern_error *err)
{
    char *path = NULL;
    model *m = NULL;
    size_t done = 0;
    *out = NULL;
    KERN_TRY(model_run_path(&path, run->folder, MODEL_RUN_MODEL, err));
    kern_status status = model_create(&m, &run->config, backend, err);
    if (status == KERN_OK) {
        status = load_model(m, &done, path, err);
    }
    free(path);
    if (status != KERN_OK) {
        model_destroy(m);
        return status;
    }
    if (step != NULL) {
        *step = done;
    }
    *out = m;
    return KERN_OK;
}
