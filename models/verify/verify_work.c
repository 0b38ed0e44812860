/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_work.h"

#include "kernels/kern_size.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of the first block; each further one has twice the room of the one before, so that 40
 * are beyond any memory. */
enum { FIRST_BLOCK = 4096 };

/* Numbers are handed out in eights, a cache line. */
enum { LINE = 8 };

/* The block after the present one, large enough for `count`; blocks that are too small are passed
 * over, and those that do not exist yet are made. */
static kern_status next_block(verify_work *work, size_t count, kern_error *err)
{
    size_t block = work->at.block;
    do {
        if (work->blocks[block] != NULL) {
            block++;
        }
        if (block == VERIFY_WORK_BLOCKS) {
            return kern_raise(err, KERN_NO_MEMORY, "a workspace has too many blocks");
        }
        if (work->blocks[block] == NULL) {
            const size_t least = block == 0 ? FIRST_BLOCK : 2 * work->room[block - 1];
            const size_t room = count > least ? count : least;
            work->blocks[block] =
                room > SIZE_MAX / sizeof(double) ? NULL : malloc(room * sizeof(double));
            if (work->blocks[block] == NULL) {
                return kern_raise(err, KERN_NO_MEMORY, "no memory for a workspace of %zu numbers",
                                  room);
            }
            work->room[block] = room;
        }
    } while (work->room[block] < count);
    work->at = (verify_mark){.block = block, .used = 0};
    return KERN_OK;
}

kern_status verify_work_take(verify_work *work, size_t count, double **out, kern_error *err)
{
    if (count > SIZE_MAX / sizeof(double) / 2) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a workspace of %zu numbers", count);
    }
    const size_t whole = (count + LINE - 1) / LINE * LINE;
    if (work->blocks[work->at.block] == NULL ||
        work->room[work->at.block] - work->at.used < whole) {
        KERN_TRY(next_block(work, whole, err));
    }
    *out = work->blocks[work->at.block] + work->at.used;
    work->at.used += whole;
    return KERN_OK;
}

kern_status verify_work_take_zeros(verify_work *work, size_t count, double **out, kern_error *err)
{
    KERN_TRY(verify_work_take(work, count, out, err));
    memset(*out, 0, count * sizeof **out);
    return KERN_OK;
}

kern_status verify_work_take_bytes(verify_work *work, size_t count, size_t size, void **out,
                                   kern_error *err)
{
    size_t bytes = 0;
    double *numbers = NULL;
    if (!kern_size_mul(count, size, &bytes)) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu items of %zu bytes", count, size);
    }
    KERN_TRY(verify_work_take(work, bytes / sizeof(double) + 1, &numbers, err));
    *out = numbers;
    return KERN_OK;
}

verify_mark verify_work_mark(const verify_work *work)
{
    return work->at;
}

void verify_work_rewind(verify_work *work, verify_mark mark)
{
    work->at = mark;
}

void verify_work_reset(verify_work *work)
{
    work->at = (verify_mark){0};
}

bool verify_work_goes_on(const verify_work *work)
{
    return work->goes_on == NULL || work->goes_on(work->context, work->worker);
}

void verify_work_drop_stash(verify_work *work)
{
    if (work->stash.release != NULL) {
        work->stash.release(work->stash.data);
    }
    work->stash.data = NULL;
    work->stash.release = NULL;
}

void verify_work_fini(verify_work *work)
{
    verify_work_drop_stash(work);
    for (size_t i = 0; i < VERIFY_WORK_BLOCKS; i++) {
        free(work->blocks[i]);
    }
    *work = (verify_work){0};
}
