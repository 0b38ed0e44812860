/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of a run's config.json, private to model_run*.c.
 */
#ifndef BASIN_MODEL_RUN_CONFIG_H
#define BASIN_MODEL_RUN_CONFIG_H

#include "models/model_run.h"

/* KERN_INVALID_ARGUMENT unless a recipe holds together. */
kern_status model_run_config_check(const model_recipe *recipe, kern_error *err);

/* The text of a checked recipe; the caller frees it. */
kern_status model_run_config_to_text(const model_recipe *recipe, char **text, kern_error *err);

/* Fills everything of `run` but its folder; what was filled before a failure is released by
 * model_run_fini. `path` is for sentences. */
kern_status model_run_config_from_text(model_run *run, const char *path, const char *text,
                                       size_t size, kern_error *err);

#endif
