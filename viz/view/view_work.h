/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work in the background: one thread that takes tasks, the latest of each slot only.
 *
 * A slot stands for one thing that is shown (the field, the basins, …). Posting a task to a slot
 * throws away the one waiting there and cancels the one running there: what is asked for by a
 * slider that moves on is never computed to its end. Slots of a smaller number go first, and a
 * running task of a later slot is set aside (cancelled, begun anew) when an earlier one gets work.
 * A task hands over any number of results while it runs, each taking the place of the one before if
 * nobody has taken that.
 *
 * Results are shared objects with a release function. All calls are those of one thread, except
 * view_work_emit and view_work_cancelled, which tasks call.
 */
#ifndef BASIN_VIEW_WORK_H
#define BASIN_VIEW_WORK_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

enum { VIEW_SLOTS = 7 };

typedef struct view_work view_work;
typedef struct view_turn view_turn; /* a task that is running */

typedef struct view_task {
    /* Does the work in the thread; stops soon, with KERN_INTERRUPTED, once view_work_cancelled
     * says so. May be run again from the start after that. */
    kern_status (*run)(void *context, view_turn *turn, kern_error *err);
    void (*release)(void *context); /* of the context, exactly once, in any thread */
    void *context;
} view_task;

/* True once the task is not wanted any more. A view_cancelled, a dyn_progress's opposite. Waits
 * while a frame holds the work up. */
bool view_work_cancelled(void *turn);

/* Hands a result over; `release` frees it. Ignored (and freed) when the task is cancelled. */
void view_work_emit(view_turn *turn, void *result, void (*release)(void *));

/* `notify` (may be NULL) is called in the thread after each result and each end of a task; it must
 * not call into view_work. KERN_NO_MEMORY; KERN_IO when no thread can be made. */
kern_status view_work_create(view_work **out, void (*notify)(void *context), void *context,
                             kern_error *err);

/* Cancels everything and waits for the thread. NULL is ignored. */
void view_work_destroy(view_work *work);

/* Holds the work up until view_work_resume, a sixtieth of a second at most: no task is begun, and
 * one that runs waits where it asks view_work_cancelled, so that a frame has a processor to itself
 * and is not late. Threads that help a task go on. view_work_wait resumes as well. */
void view_work_hold(view_work *work);
void view_work_resume(view_work *work);

/* Takes over the task's context, also when it fails. */
void view_work_post(view_work *work, size_t slot, const view_task *task);

/* Throws away what waits or runs in a slot and its result. */
void view_work_drop(view_work *work, size_t slot);

/* The newest result of a slot, which becomes the caller's; NULL when there is none that is new. A
 * result never belongs to a task older than the last posted. */
void *view_work_take(view_work *work, size_t slot);

/* A task that is set aside waits; one that was thrown away is nothing, also while it still notices
 * that. */
typedef enum view_slot_state {
    VIEW_SLOT_IDLE,
    VIEW_SLOT_WAITING,
    VIEW_SLOT_RUNNING
} view_slot_state;
view_slot_state view_work_state(view_work *work, size_t slot);

/* How the last finished task of the slot ended, with its sentence in *err (may be NULL); KERN_OK
 * before the first. Tasks that were thrown away are not finished, and change nothing. */
kern_status view_work_outcome(view_work *work, size_t slot, kern_error *err);

/* Waits until no task waits or runs, and the last notice is given: for tests and for export. */
void view_work_wait(view_work *work);

#endif
