/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory of a plan: slots with lifetimes, and offsets such that slots alive together do not
 * overlap.
 */
#ifndef BASIN_KERN_PLAN_MEMORY_H
#define BASIN_KERN_PLAN_MEMORY_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Instruction numbers are times. A slot that the caller writes or reads outlives the program. */
#define KERN_TIME_BEGIN 0
#define KERN_TIME_END   SIZE_MAX

typedef struct kern_slot {
    size_t size;   /* reals, already rounded to the alignment */
    size_t start;  /* first time it is touched */
    size_t end;    /* last time it is touched */
    size_t parent; /* slot whose memory it takes, or itself */
    size_t offset;
} kern_slot;

typedef struct kern_slots {
    kern_slot *items;
    size_t count;
    size_t room;
} kern_slots;

/* Adds a slot of `size` reals that nothing touches yet; its index, or SIZE_MAX when memory is
 * refused. */
size_t kern_slots_add(kern_slots *slots, size_t size);

/* Extends the life of slot `index` to cover `time`. */
void kern_slots_touch(kern_slots *slots, size_t index, size_t time);

/* Root of the chain of parents. */
size_t kern_slots_root(const kern_slots *slots, size_t index);

/* Lets `child` take over the memory of `parent`, when parent dies at `time`, child is born then,
 * and sizes agree. Returns whether it does. */
bool kern_slots_merge(kern_slots *slots, size_t parent, size_t child, size_t time);

/* Gives every slot an offset, largest first at the lowest place free over its whole life; *total is
 * the buffer size. KERN_OVERFLOW when it does not fit. Cost O(n²) in the number of slots. */
kern_status kern_slots_place(kern_slots *slots, size_t *total, kern_error *err);

void kern_slots_fini(kern_slots *slots);

#endif
