/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_arena.h"

#include "kernels/kern_size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define KERN_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KERN_HAS_ASAN 1
#endif
#endif

#ifdef KERN_HAS_ASAN
#include <sanitizer/asan_interface.h>
enum { GUARD = KERN_ALIGN };
#else
#define ASAN_POISON_MEMORY_REGION(address, size)   ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
enum { GUARD = 0 };
#endif

kern_status kern_arena_init(kern_arena *arena, size_t capacity, kern_error *err)
{
    *arena = (kern_arena){0};
    if (capacity > SIZE_MAX - KERN_ALIGN) {
        return kern_raise(err, KERN_NO_MEMORY, "the memory needed does not fit a 64-bit size");
    }
    const size_t rounded = kern_size_round_up(kern_size_max(capacity, 1), KERN_ALIGN);
    arena->base = kern_memory_create(rounded, 1);
    if (arena->base == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "%.1f MB of memory were refused by the system",
                          (double)rounded / 1e6);
    }
    arena->capacity = rounded;
    ASAN_POISON_MEMORY_REGION(arena->base, rounded);
    return KERN_OK;
}

void kern_arena_fini(kern_arena *arena)
{
    if (arena->base != NULL) {
        ASAN_UNPOISON_MEMORY_REGION(arena->base, arena->capacity);
        free(arena->base);
    }
    *arena = (kern_arena){0};
}

size_t kern_arena_cost(size_t count, size_t size)
{
    size_t bytes;
    if (!kern_size_mul(count, size, &bytes) || bytes > SIZE_MAX - 2 * KERN_ALIGN) {
        return SIZE_MAX;
    }
    return kern_size_round_up(bytes, KERN_ALIGN) + GUARD;
}

void *kern_arena_alloc(kern_arena *arena, size_t count, size_t size)
{
    const size_t cost = kern_arena_cost(count, size);
    if (cost > arena->capacity - arena->used) {
        /* The guard behind the last block may fall outside; only the block itself must fit. */
        if (cost == SIZE_MAX || cost - GUARD > arena->capacity - arena->used) {
            return NULL;
        }
    }
    unsigned char *block = arena->base + arena->used;
    arena->used = kern_size_min(arena->used + cost, arena->capacity);
    arena->peak = kern_size_max(arena->peak, arena->used);
    ASAN_UNPOISON_MEMORY_REGION(block, count * size);
    return block;
}

void *kern_arena_calloc(kern_arena *arena, size_t count, size_t size)
{
    void *block = kern_arena_alloc(arena, count, size);
    if (block != NULL) {
        memset(block, 0, count * size);
    }
    return block;
}

size_t kern_arena_mark(const kern_arena *arena)
{
    return arena->used;
}

void kern_arena_rewind(kern_arena *arena, size_t mark)
{
    if (mark < arena->used) {
        ASAN_POISON_MEMORY_REGION(arena->base + mark, arena->used - mark);
        arena->used = mark;
    }
}
