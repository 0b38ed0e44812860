/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Workspace of one worker: memory that a claim takes while it draws, checks or sharpens one
 * instance, and that is used again for the next.
 *
 * Memory is taken in order and given back all at once (by the runner, before every call of a claim)
 * or back to a mark. It grows on demand and stays, so nothing is allocated per trial once the
 * first ones have run; blocks do not move. What costs much to make and does not depend on the
 * instance, such as a model with its graph, is kept in the stash.
 */
#ifndef BASIN_VERIFY_WORK_H
#define BASIN_VERIFY_WORK_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

enum { VERIFY_WORK_BLOCKS = 40 };

/* Where a workspace stands. */
typedef struct verify_mark {
    size_t block;
    size_t used;
} verify_mark;

/* Zero-initialise; release with verify_work_fini. Members are private but `stash`. */
typedef struct verify_work {
    double *blocks[VERIFY_WORK_BLOCKS]; /* owned */
    size_t room[VERIFY_WORK_BLOCKS];
    verify_mark at;
    /* Of one claim, from one instance to the next; `release` is called when another claim begins
     * and at the end. A result must not depend on what the stash holds. */
    struct {
        void *data;
        void (*release)(void *data);
    } stash;
    bool (*goes_on)(void *context, int worker); /* NULL: always */
    void *context;
    int worker;
} verify_work;

/* Takes `count` numbers, uninitialised; *out stays valid until the workspace is reset or rewound
 * beyond it. KERN_NO_MEMORY. */
kern_status verify_work_take(verify_work *work, size_t count, double **out, kern_error *err);

/* The same, zeroed. */
kern_status verify_work_take_zeros(verify_work *work, size_t count, double **out, kern_error *err);

/* Takes `count` items of `size` bytes, uninitialised and aligned for any type. KERN_NO_MEMORY, also
 * when the product overflows. */
kern_status verify_work_take_bytes(verify_work *work, size_t count, size_t size, void **out,
                                   kern_error *err);

/* Present position, and return to it. */
verify_mark verify_work_mark(const verify_work *work);
void verify_work_rewind(verify_work *work, verify_mark mark);

/* Gives back all memory taken, for use again; the stash stays. */
void verify_work_reset(verify_work *work);

/* False once the user has asked to stop: a claim whose instance takes longer than a few hundredths
 * of a second asks now and then and returns KERN_INTERRUPTED through kern_raise. */
bool verify_work_goes_on(const verify_work *work);

/* Releases what the stash holds. */
void verify_work_drop_stash(verify_work *work);

/* Releases everything; safe on a zeroed workspace and when called twice. */
void verify_work_fini(verify_work *work);

#endif
