/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the parts of the safetensors reader and writer share, private to model_safetensors*.c.
 */
#ifndef BASIN_MODEL_SAFETENSORS_PRIVATE_H
#define BASIN_MODEL_SAFETENSORS_PRIVATE_H

#include "models/model_json.h"
#include "models/model_safetensors.h"

/* Values are copied between file and memory as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "safetensors files are little-endian and so must the machine be");

#define MODEL__METADATA "__metadata__"

struct model_safetensors {
    char *path;                       /* owned; for messages */
    int fd;                           /* −1 when closed */
    size_t size;                      /* bytes of the file */
    size_t data;                      /* where the data begin */
    cJSON *header;                    /* owned; names and metadata point into it */
    const cJSON *metadata;            /* NULL when the file has none */
    model_safetensors_entry *entries; /* owned; sorted by name */
    size_t count;
};

/* Product of a shape and its size in bytes; false on overflow. */
bool model__tensor_size(size_t rank, const size_t *shape, model_dtype dtype, size_t *count,
                        size_t *bytes);

/* Exactly `size` bytes at `offset` of an open file; KERN_IO when it ends before or cannot be read.
 */
kern_status model__read_at(const model_safetensors *file, size_t offset, void *out, size_t size,
                           kern_error *err);

#endif
