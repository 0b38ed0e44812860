/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Weights in safetensors files, by the names of the parameter table (those of the published
 * checkpoints).
 *
 * Metadata of the files written here: "format" basin-model, "family" (as on the command line),
 * "config" (the JSON object of model_config_to_json), and what the caller adds. An entry "weights",
 * which checkpoints have, is the text of model_weights_hash and is verified by every reading.
 */
#ifndef BASIN_MODEL_WEIGHTS_H
#define BASIN_MODEL_WEIGHTS_H

#include "models/model.h"
#include "models/model_safetensors.h"

enum { MODEL_WEIGHTS_HASH = 17 }; /* bytes of its text: 16 hexadecimal digits and a NUL */

/* Hash of all values in single precision, the same for a model in either precision as long as its
 * values are those of an F32 file. It finds damage; it is no protection against intent. */
void model_weights_hash(const model *m, char out[MODEL_WEIGHTS_HASH]);

/* Replaces `path` atomically by the weights of `m` in its own precision (F32 or F64), with the
 * `n_extra` further metadata entries. Errors of model_safetensors_write. */
kern_status model_weights_write(const model *m, const char *path,
                                const model_safetensors_pair *extra, size_t n_extra,
                                kern_error *err);

/* Fills every tensor of `m` from an open file, whatever its floating-point type. When some name
 * begins with "param/", the weights are the tensors with that prefix and the others (a reference
 * file's inputs and results) are left alone. KERN_BAD_INPUT, naming file and tensor, when the
 * metadata names another family, when a tensor is missing, has another shape or does not belong to
 * the model, when a value is NaN or infinite, and when the metadata of a file written here have a
 * hash of the weights and it is not that of the values. A single number may have rank 0 or 1. On
 * failure the values are unspecified. */
kern_status model_weights_read(model *m, const model_safetensors *file, const char *path,
                               kern_error *err);

/* Opens `path`, reads the weights, and closes it. */
kern_status model_weights_read_file(model *m, const char *path, kern_error *err);

/* Configuration that a file's metadata ("family" and "config") describe; KERN_BAD_INPUT when there
 * is none or it is not one. */
kern_status model_weights_config(model_config *config, const model_safetensors *file,
                                 const char *path, kern_error *err);

/* KERN_BAD_INPUT, naming both families or the first key that differs, unless the file's metadata
 * describe exactly `expected`. */
kern_status model_weights_check_config(const model_safetensors *file, const char *path,
                                       const model_config *expected, kern_error *err);

#endif
