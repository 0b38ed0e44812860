/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arena: one block of memory, handed out in order, given back by rewinding to a mark.
 *
 * All library memory comes from an arena or from a `create` function that owns one. Blocks
 * are aligned to KERN_ALIGN bytes, and large arenas lie on large pages (kern_memory.h). Under
 * AddressSanitizer the space between and behind blocks is poisoned, so an overrun is seen.
 * An arena is used by one thread at a time.
 */
#ifndef BASIN_KERN_ARENA_H
#define BASIN_KERN_ARENA_H

#include "kernels/kern_memory.h"
#include "kernels/kern_status.h"

#include <stddef.h>

typedef struct kern_arena {
    unsigned char *base; /* owned; NULL while not initialised */
    size_t capacity;     /* bytes */
    size_t used;         /* bytes handed out so far */
    size_t peak;         /* largest `used` seen */
} kern_arena;

/* Reserves `capacity` bytes. KERN_NO_MEMORY with a sentence when the system refuses. */
kern_status kern_arena_init(kern_arena *arena, size_t capacity, kern_error *err);

/* Releases everything; safe on a zeroed arena and when called twice. */
void kern_arena_fini(kern_arena *arena);

/* A block of `count` items of `size` bytes, uninitialised, aligned to KERN_ALIGN; NULL when the
 * arena is full or the product overflows. A count of zero gives a valid, empty block. */
void *kern_arena_alloc(kern_arena *arena, size_t count, size_t size);

/* As kern_arena_alloc, filled with zero bytes. */
void *kern_arena_calloc(kern_arena *arena, size_t count, size_t size);

/* Bytes that kern_arena_alloc(count, size) consumes, guard space included; SIZE_MAX on overflow.
 * Summing it over a routine's blocks gives the capacity the routine needs. */
size_t kern_arena_cost(size_t count, size_t size);

/* Current position, and return to it: everything allocated since is invalid. */
size_t kern_arena_mark(const kern_arena *arena);
void kern_arena_rewind(kern_arena *arena, size_t mark);

#endif
