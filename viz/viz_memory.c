/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_memory.h"

#include "kernels/kern_arena.h"
#include "kernels/kern_size.h"
#include "viz/viz_text.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 16, FIRST_ROOM = 8 };

/* Chain of arenas: a scene grows while it is built, and a single arena cannot. */
struct viz_memory {
    viz_memory *next;
    kern_arena arena;
};

kern_status viz_memory_refused(kern_error *err)
{
    return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
}

void viz_memory_free(viz_memory *memory)
{
    while (memory != NULL) {
        viz_memory *next = memory->next;
        kern_arena_fini(&memory->arena);
        free(memory);
        memory = next;
    }
}

void *viz_memory_alloc(viz_memory **memory, size_t count, size_t size)
{
    if (*memory != NULL) {
        void *block = kern_arena_alloc(&(*memory)->arena, count, size);
        if (block != NULL) {
            return block;
        }
    }
    const size_t cost = kern_arena_cost(count, size);
    viz_memory *chunk = calloc(1, sizeof *chunk);
    if (chunk == NULL ||
        kern_arena_init(&chunk->arena, kern_size_max(cost, CHUNK_BYTES), NULL) != KERN_OK) {
        free(chunk);
        return NULL;
    }
    chunk->next = *memory;
    *memory = chunk;
    return kern_arena_alloc(&chunk->arena, count, size);
}

kern_status viz_memory_block(const void **out, viz_memory **memory, const void *data, size_t count,
                             size_t size, kern_error *err)
{
    *out = NULL;
    if (data == NULL) {
        return KERN_OK;
    }
    void *copy = viz_memory_alloc(memory, count, size);
    if (copy == NULL) {
        return viz_memory_refused(err);
    }
    if (count > 0) {
        memcpy(copy, data, count * size);
    }
    *out = copy;
    return KERN_OK;
}

kern_status viz_memory_numbers(const double **out, viz_memory **memory, const double *values,
                               size_t n, kern_error *err)
{
    const void *copy;
    KERN_TRY(viz_memory_block(&copy, memory, values, n, sizeof *values, err));
    *out = copy;
    return KERN_OK;
}

kern_status viz_memory_text(const char **out, viz_memory **memory, const char *text,
                            kern_error *err)
{
    const void *copy;
    KERN_TRY(viz_memory_block(&copy, memory, text, text == NULL ? 0 : strlen(text) + 1, 1, err));
    *out = copy;
    return KERN_OK;
}

kern_status viz_memory_markup(const char **out, viz_memory **memory, const char *markup,
                              kern_error *err)
{
    *out = NULL;
    if (markup != NULL) {
        KERN_TRY(viz_text_check(markup, err));
    }
    return viz_memory_text(out, memory, markup, err);
}

kern_status viz_memory_grow(viz_memory **memory, void **block, size_t *room, size_t used,
                            size_t size, kern_error *err)
{
    if (used < *room) {
        return KERN_OK;
    }
    size_t next = FIRST_ROOM;
    if (*room > 0 && !kern_size_mul(*room, 2, &next)) {
        return viz_memory_refused(err);
    }
    void *larger = viz_memory_alloc(memory, next, size);
    if (larger == NULL) {
        return viz_memory_refused(err);
    }
    if (used > 0) {
        memcpy(larger, *block, used * size);
    }
    *block = larger;
    *room = next;
    return KERN_OK;
}
