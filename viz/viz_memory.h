/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory of a scene: copies of the numbers and texts that it is given, released with it. Part of
 * viz_scene; nothing else allocates into a scene.
 */
#ifndef BASIN_VIZ_MEMORY_H
#define BASIN_VIZ_MEMORY_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct viz_memory viz_memory;

void viz_memory_free(viz_memory *memory);

/* KERN_NO_MEMORY in the words used for every figure. */
kern_status viz_memory_refused(kern_error *err);

/* Block of count · size bytes, aligned for any type; NULL when memory is refused. */
void *viz_memory_alloc(viz_memory **memory, size_t count, size_t size);

/* Copies; NULL texts stay NULL. Markup is checked and KERN_BAD_INPUT names what is wrong. */
kern_status viz_memory_text(const char **out, viz_memory **memory, const char *text,
                            kern_error *err);
kern_status viz_memory_markup(const char **out, viz_memory **memory, const char *markup,
                              kern_error *err);

/* Copy of `count` entries of `size` bytes; NULL data stay NULL. */
kern_status viz_memory_block(const void **out, viz_memory **memory, const void *data, size_t count,
                             size_t size, kern_error *err);

/* Copy of n numbers. */
kern_status viz_memory_numbers(const double **out, viz_memory **memory, const double *values,
                               size_t n, kern_error *err);

/* Makes room for one more entry of `size` bytes by doubling; *block holds `used`. */
kern_status viz_memory_grow(viz_memory **memory, void **block, size_t *room, size_t used,
                            size_t size, kern_error *err);

#endif
