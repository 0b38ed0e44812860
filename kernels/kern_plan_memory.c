/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_plan_memory.h"

#include "kernels/kern_size.h"

#include <stdint.h>
#include <stdlib.h>

/* Reals per cache line in the smallest precision; offsets stay multiples of it. */
enum { SLOT_UNIT = 16 };

/* Largest buffer: no sum of an offset and the size of one slot overflows below it. */
#define SLOTS_LIMIT (SIZE_MAX / 16)

size_t kern_slots_add(kern_slots *slots, size_t size)
{
    if (slots->count == slots->room) {
        const size_t room = slots->room == 0 ? 128 : 2 * slots->room;
        kern_slot *items = realloc(slots->items, room * sizeof *items);
        if (items == NULL) {
            return SIZE_MAX;
        }
        slots->items = items;
        slots->room = room;
    }
    const size_t index = slots->count++;
    slots->items[index] = (kern_slot){
        .size = kern_size_round_up(size, SLOT_UNIT), .start = SIZE_MAX, .end = 0, .parent = index};
    return index;
}

void kern_slots_touch(kern_slots *slots, size_t index, size_t time)
{
    kern_slot *slot = &slots->items[index];
    slot->start = kern_size_min(slot->start, time);
    slot->end = kern_size_max(slot->end, time);
}

size_t kern_slots_root(const kern_slots *slots, size_t index)
{
    while (slots->items[index].parent != index) {
        index = slots->items[index].parent;
    }
    return index;
}

bool kern_slots_merge(kern_slots *slots, size_t parent, size_t child, size_t time)
{
    const size_t root = kern_slots_root(slots, parent);
    kern_slot *from = &slots->items[root];
    kern_slot *to = &slots->items[child];
    if (root == child || to->parent != child || from->end != time || to->start != time ||
        from->size != to->size) {
        return false;
    }
    to->parent = root;
    from->end = to->end;
    return true;
}

/* Order of placing: large slots first, then by birth, then by index, so that a plan is
 * reproducible. */
static int compare_slots(const void *left, const void *right)
{
    const kern_slot *a = *(const kern_slot *const *)left;
    const kern_slot *b = *(const kern_slot *const *)right;
    if (a->size != b->size) {
        return a->size > b->size ? -1 : 1;
    }
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return (a > b) - (a < b);
}

static bool lives_meet(const kern_slot *a, const kern_slot *b)
{
    return a->start <= b->end && b->start <= a->end;
}

/* Lowest offset at which `slot` overlaps none of the placed slots, which are sorted by offset. */
static size_t lowest_gap(const kern_slot *slot, kern_slot *const *placed, size_t count)
{
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        const kern_slot *other = placed[i];
        if (!lives_meet(slot, other)) {
            continue;
        }
        if (offset + slot->size <= other->offset) {
            break;
        }
        offset = kern_size_max(offset, other->offset + other->size);
    }
    return offset;
}

static void insert_by_offset(kern_slot **placed, size_t count, kern_slot *slot)
{
    size_t i = count;
    while (i > 0 && placed[i - 1]->offset > slot->offset) {
        placed[i] = placed[i - 1];
        i--;
    }
    placed[i] = slot;
}

kern_status kern_slots_place(kern_slots *slots, size_t *total, kern_error *err)
{
    kern_slot **order = malloc(2 * (slots->count + 1) * sizeof *order);
    if (order == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to plan %zu slots", slots->count);
    }
    kern_slot **placed = order + slots->count + 1;
    size_t roots = 0;
    for (size_t i = 0; i < slots->count; i++) {
        if (slots->items[i].parent == i && slots->items[i].start <= slots->items[i].end) {
            order[roots++] = &slots->items[i];
        }
    }
    qsort(order, roots, sizeof *order, compare_slots);
    *total = 0;
    for (size_t i = 0; i < roots; i++) {
        order[i]->offset = lowest_gap(order[i], placed, i);
        insert_by_offset(placed, i, order[i]);
        size_t end;
        if (!kern_size_add(order[i]->offset, order[i]->size, &end) || end > SLOTS_LIMIT) {
            free(order);
            return kern_raise(err, KERN_OVERFLOW,
                              "the plan needs more memory than can be addressed");
        }
        *total = kern_size_max(*total, end);
    }
    for (size_t i = 0; i < slots->count; i++) {
        slots->items[i].offset = slots->items[kern_slots_root(slots, i)].offset;
    }
    free(order);
    return KERN_OK;
}

void kern_slots_fini(kern_slots *slots)
{
    free(slots->items);
    *slots = (kern_slots){0};
}
