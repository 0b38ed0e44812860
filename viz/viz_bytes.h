/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bytes: a growing buffer in which a file is put together before it is written at once.
 * A refused allocation is remembered in `failed`, so that a sequence of appends is checked once.
 */
#ifndef BASIN_VIZ_BYTES_H
#define BASIN_VIZ_BYTES_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise before use; release with viz_bytes_fini. */
typedef struct viz_bytes {
    char *data;
    size_t size;
    size_t room;
    bool failed;
} viz_bytes;

void viz_bytes_fini(viz_bytes *bytes);

/* Appends `size` bytes; does nothing once failed. */
void viz_bytes_append(viz_bytes *bytes, const void *data, size_t size);

/* Appends a text without its final zero. */
void viz_bytes_text(viz_bytes *bytes, const char *text);

/* Appends formatted text of at most 255 bytes. */
void viz_bytes_format(viz_bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends text with the characters special to XML replaced by entities. */
void viz_bytes_xml(viz_bytes *bytes, const char *text);

/* KERN_NO_MEMORY when an append failed. */
kern_status viz_bytes_check(const viz_bytes *bytes, kern_error *err);

#endif
