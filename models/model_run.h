/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run: a folder that holds everything about one trained model.
 *
 *   config.json             {"format": "basin-run", "version": 1, "family", "model", "tokenizer",
 *                            "data", "training"}
 *   model.safetensors       weights (model_weights.h, model_checkpoint.h)
 *   optimizer.safetensors   what it takes to continue (model_checkpoint.h)
 *   metrics.csv             what was measured on the way (model_metrics.h)
 *
 * In config.json "family" is the name on the command line, "model" the object of
 * model_config_to_json, "tokenizer" {"kind", "vocab": […]} (raw: {"kind", "vocab_size"}), "data"
 * {"kind", "path"} and "training" that of model_training_json.h. All keys are required.
 */
#ifndef BASIN_MODEL_RUN_H
#define BASIN_MODEL_RUN_H

#include "models/model.h"
#include "models/model_run_path.h"
#include "models/model_tokenizer.h"
#include "models/model_trainer.h"

#include <stdbool.h>

enum { MODEL_RUN_VERSION = 1 };

/* What a run is made from; everything is borrowed. */
typedef struct model_recipe {
    const model_config *config;
    const model_tokenizer *tokenizer;
    const char *data_kind; /* "listops", "chars" or "tokens" */
    const char *data_path;
    const model_training *training;
} model_recipe;

/* An existing run, as config.json describes it. */
typedef struct model_run {
    char *folder; /* owned */
    model_config config;
    model_tokenizer tokenizer; /* owned */
    char *data_kind;           /* owned */
    char *data_path;           /* owned */
    model_training training;
} model_run;

/* Starts a run: makes the folder and writes config.json. KERN_INVALID_ARGUMENT when the folder
 * already has a file of a run, unless `overwrite` (then those files are removed first; others
 * stay, and so do waiting files: the caller has put the new run's first checkpoint there with
 * model_checkpoint_stage, so that the old run is gone only once the new one is on the disk), and
 * when the recipe does not hold together: an invalid configuration or settings, a tokenizer with
 * more tokens than the model, an unknown kind of data. Errors of model_file.h. */
kern_status model_run_begin(const char *folder, const model_recipe *recipe, bool overwrite,
                            kern_error *err);

/* Makes this process the only one that trains in `folder`, which exists, until model_run_unlock or
 * the process's end; *lock is what that takes. The lock is on the folder itself (flock), leaves no
 * file behind and does not hinder readers. KERN_INVALID_ARGUMENT when another process has it;
 * KERN_NOT_FOUND or KERN_IO when the folder cannot be opened. A file system that knows no such
 * locks goes without: *lock is then still to be released. On failure *lock is -1. */
kern_status model_run_lock(int *lock, const char *folder, kern_error *err);

/* Ignores -1. */
void model_run_unlock(int lock);

/* Reads and checks config.json; `run` is overwritten, and zeroed on failure. KERN_NOT_FOUND when
 * the folder has none; KERN_BAD_INPUT, with a sentence that names file and key, when the format or
 * its version is another, the family is unknown, or a key is missing, unknown or ill-typed. */
kern_status model_run_init(model_run *run, const char *folder, kern_error *err);

/* Safe on a zeroed run and when called twice. */
void model_run_fini(model_run *run);

/* Replaces config.json by what `run` now says (a longer training). */
kern_status model_run_write(const model_run *run, kern_error *err);

/* The run's model in the precision of `backend`; *step (when not NULL) is how many optimizer steps
 * it has behind it. KERN_NOT_FOUND when nothing was saved yet; KERN_BAD_INPUT as
 * model_weights_read, thus also when the weights are damaged, and when model.safetensors describes
 * another model than config.json. */
kern_status model_run_load_model(model **out, size_t *step, const model_run *run,
                                 const kern_backend *backend, kern_error *err);

#endif
