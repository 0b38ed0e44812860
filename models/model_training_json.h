/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training settings as JSON, for a run's configuration and its checkpoints.
 *
 *   {"batch", "window", "micro_batch",
 *    "schedule": {"kind", "peak", "floor", "warmup", "total"},
 *    "adamw": {"beta1", "beta2", "epsilon", "weight_decay", "decay_vectors", "clip"},
 *    "recompute", "threads", "seed"}
 */
#ifndef BASIN_MODEL_TRAINING_JSON_H
#define BASIN_MODEL_TRAINING_JSON_H

#include "models/model_json.h"
#include "models/model_trainer.h"

/* Adds every field to an empty object. */
kern_status model_training_add_json(cJSON *object, const model_training *training, kern_error *err);

/* Reads every field; all are required and no others accepted. KERN_BAD_INPUT otherwise, and when
 * model_training_check refuses the result. */
kern_status model_training_read_json(const cJSON *object, model_training *training,
                                     kern_error *err);

/* The same as a text on one line, which the caller frees with free(). */
kern_status model_training_to_text(const model_training *training, char **text, kern_error *err);
kern_status model_training_from_text(model_training *training, const char *text, kern_error *err);

/* KERN_BAD_INPUT, naming `what` and the key, when an object has a key outside the NULL-terminated
 * list. */
kern_status model_json_check_keys(const char *what, const cJSON *object, const char *const *keys,
                                  kern_error *err);

#endif
