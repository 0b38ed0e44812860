/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * safetensors files: named tensors behind a JSON header.
 *
 * Layout (the format's own description, huggingface/safetensors): eight bytes with the header's
 * length as a little-endian integer; the header, one JSON object that maps each name to
 * {"dtype", "shape", "data_offsets": [begin, end]} and "__metadata__" to an object of strings,
 * padded with blanks; then the data, which the tensors fill without hole or overlap.
 *
 * Reading goes from the file into the caller's array a block at a time, so no tensor is ever in
 * memory twice. An open file may be read by several threads at once.
 */
#ifndef BASIN_MODEL_SAFETENSORS_H
#define BASIN_MODEL_SAFETENSORS_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_SAFETENSORS_RANK = 8 }; /* most dimensions accepted */

/* Longest header accepted, the limit of the format's reference implementation. */
#define MODEL_SAFETENSORS_HEADER_MAX ((size_t)100000000)

/* X(name, bytes). The name is also the word in the file. */
#define MODEL_DTYPE_LIST(X)                                                                        \
    X(F64, 8)                                                                                      \
    X(F32, 4)                                                                                      \
    X(F16, 2)                                                                                      \
    X(BF16, 2)                                                                                     \
    X(I64, 8)                                                                                      \
    X(I32, 4)                                                                                      \
    X(I16, 2)                                                                                      \
    X(I8, 1)                                                                                       \
    X(U64, 8)                                                                                      \
    X(U32, 4)                                                                                      \
    X(U16, 2)                                                                                      \
    X(U8, 1)                                                                                       \
    X(BOOL, 1)

typedef enum model_dtype {
#define MODEL_DTYPE_ENUM(name, bytes) MODEL_DTYPE_##name,
    MODEL_DTYPE_LIST(MODEL_DTYPE_ENUM)
#undef MODEL_DTYPE_ENUM
        MODEL_DTYPE_COUNT
} model_dtype;

/* "F64", …; "unknown" outside the list. */
const char *model_dtype_word(model_dtype dtype);

/* Bytes of one value; 0 outside the list. */
size_t model_dtype_size(model_dtype dtype);

/* One tensor of an open file. */
typedef struct model_safetensors_entry {
    const char *name; /* borrowed from the file's handle */
    model_dtype dtype;
    size_t rank;                          /* 0 for a single number */
    size_t shape[MODEL_SAFETENSORS_RANK]; /* row-major, slowest first */
    size_t count;                         /* values: the product of the shape */
    size_t offset;                        /* first byte, counted from the file's beginning */
    size_t bytes;
} model_safetensors_entry;

typedef struct model_safetensors model_safetensors;

/* Opens a file and checks its whole header: everything a later read relies on is established here.
 * KERN_NOT_FOUND or KERN_IO when the file cannot be opened; KERN_BAD_INPUT, with a sentence that
 * names the file and the tensor, when it is truncated, its header is longer than the file or
 * MODEL_SAFETENSORS_HEADER_MAX, is not strict JSON (see model_json.h), or describes a tensor of
 * unknown type, more than MODEL_SAFETENSORS_RANK dimensions, a size that overflows or differs from
 * its offsets, or data that overlap, leave a hole or end elsewhere than the file; KERN_NO_MEMORY.
 * The handle holds the header only. */
kern_status model_safetensors_create(model_safetensors **out, const char *path, kern_error *err);

/* Closes the file; NULL is ignored. Entries and metadata strings become invalid. */
void model_safetensors_destroy(model_safetensors *file);

/* Number of tensors, and the i-th in the order of names (by bytes). */
size_t model_safetensors_count(const model_safetensors *file);
const model_safetensors_entry *model_safetensors_at(const model_safetensors *file, size_t i);

/* The tensor of that name, or NULL. Cost: logarithmic. */
const model_safetensors_entry *model_safetensors_find(const model_safetensors *file,
                                                      const char *name);

/* The tensor of that name and shape: KERN_NOT_FOUND when it is missing, KERN_BAD_INPUT, giving both
 * shapes, when it has another one. */
kern_status model_safetensors_require(const model_safetensors *file, const char *name, size_t rank,
                                      const size_t *shape, const model_safetensors_entry **entry,
                                      kern_error *err);

/* Metadata: the string of a key, or NULL; the number of keys; the i-th key and its string. */
const char *model_safetensors_metadata(const model_safetensors *file, const char *key);
size_t model_safetensors_metadata_count(const model_safetensors *file);
void model_safetensors_metadata_at(const model_safetensors *file, size_t i, const char **key,
                                   const char **value);

/* The metadata of a key as a whole number; false when there is none, or when it is anything but
 * digits of a number up to `most`, and *value is 0. */
bool model_safetensors_metadata_whole(const model_safetensors *file, const char *key, size_t most,
                                      size_t *value);

/* Reads all values of an entry of this file into out, which holds `count` values; `count` must be
 * entry->count (KERN_INVALID_ARGUMENT). Every numeric type is converted; F64 to f32 rounds, and
 * becomes infinite beyond its range. An integer that the target cannot hold exactly, such as one
 * above 2^24 for f32, is KERN_OVERFLOW; floating point is never read as integers (KERN_BAD_INPUT).
 * NaN and infinity pass through: see model_values_check_finite_f64. KERN_IO when the file has
 * changed or cannot be read. */
kern_status model_safetensors_read_f64(const model_safetensors *file,
                                       const model_safetensors_entry *entry, double *out,
                                       size_t count, kern_error *err);
kern_status model_safetensors_read_f32(const model_safetensors *file,
                                       const model_safetensors_entry *entry, float *out,
                                       size_t count, kern_error *err);
kern_status model_safetensors_read_i64(const model_safetensors *file,
                                       const model_safetensors_entry *entry, int64_t *out,
                                       size_t count, kern_error *err);

/* Reads the bytes as they stand; `size` must be entry->bytes. */
kern_status model_safetensors_read_bytes(const model_safetensors *file,
                                         const model_safetensors_entry *entry, void *out,
                                         size_t size, kern_error *err);

/* KERN_NAN, giving the index and value of the first offender, unless all n values are finite. */
kern_status model_values_check_finite_f64(const char *name, const double *values, size_t n,
                                          kern_error *err);
kern_status model_values_check_finite_f32(const char *name, const float *values, size_t n,
                                          kern_error *err);

/* A tensor to write; everything is borrowed. */
typedef struct model_safetensors_tensor {
    const char *name;
    model_dtype dtype;
    size_t rank;
    size_t shape[MODEL_SAFETENSORS_RANK];
    const void *data; /* row-major, in this machine's (little-endian) order */
} model_safetensors_tensor;

typedef struct model_safetensors_pair {
    const char *key;
    const char *value;
} model_safetensors_pair;

/* Replaces `path` atomically (see model_file.h). Tensors are stored with wide types first and by
 * name within one width, so each begins at a multiple of its value's size (8 for 8-byte types),
 * and equal contents give equal files in whatever order they are passed. KERN_INVALID_ARGUMENT for
 * a name that is empty, "__metadata__", not printable UTF-8 or used twice, for an unknown type,
 * rank or missing data; KERN_OVERFLOW for sizes beyond size_t; KERN_IO, KERN_NO_MEMORY. */
kern_status model_safetensors_write(const char *path, const model_safetensors_tensor *tensors,
                                    size_t count, const model_safetensors_pair *metadata,
                                    size_t metadata_count, kern_error *err);

#endif
