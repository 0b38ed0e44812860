/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the parts of the checkpoint code share, private to model_checkpoint*.c.
 */
#ifndef BASIN_MODEL_CHECKPOINT_PRIVATE_H
#define BASIN_MODEL_CHECKPOINT_PRIVATE_H

#include "models/model_checkpoint.h"

enum { MODEL__HASH_TEXT = 17 }; /* 16 hexadecimal digits */

/* Paths of the four files; the texts are owned. */
typedef struct model__checkpoint_paths {
    char *model;
    char *optimizer;
    char *model_next;
    char *optimizer_next;
} model__checkpoint_paths;

kern_status model__checkpoint_paths_init(model__checkpoint_paths *paths, const char *folder,
                                         kern_error *err);
void model__checkpoint_paths_fini(model__checkpoint_paths *paths);

/* Renames a complete file to its final name and makes that durable. */
kern_status model__checkpoint_promote(const char *folder, const char *next, const char *path,
                                      kern_error *err);

/* Completes or removes what a break left. */
kern_status model__checkpoint_repair(const char *folder, const model__checkpoint_paths *paths,
                                     kern_error *err);

/* KERN_INVALID_ARGUMENT, naming the setting, when `now` would not continue what `saved` began; a
 * sentence in `note` when only rounding differs. */
kern_status model__checkpoint_compare(const model_training *saved, const model_training *now,
                                      char note[MODEL_CHECKPOINT_NOTE], kern_error *err);

#endif
