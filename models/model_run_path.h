/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of the files in a run's folder.
 */
#ifndef BASIN_MODEL_RUN_PATH_H
#define BASIN_MODEL_RUN_PATH_H

#include "kernels/kern_status.h"

#define MODEL_RUN_CONFIG    "config.json"
#define MODEL_RUN_MODEL     "model.safetensors"
#define MODEL_RUN_OPTIMIZER "optimizer.safetensors"
#define MODEL_RUN_METRICS   "metrics.csv"
#define MODEL_RUN_NEXT      ".next" /* behind the name of a file that is about to replace it */

/* "folder/name"; the caller frees *path with free(). KERN_NO_MEMORY. */
kern_status model_run_path(char **path, const char *folder, const char *name, kern_error *err);

#endif
