/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700
#include "viz/view/view_work.h"

#include "kernels/kern_parallel.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Added to the niceness of the thread and of those that it starts, so that frames do not share
 * processors with it evenly. Linux counts niceness by thread; where it is the process's it helps
 * nobody and harms nobody. */
enum { BEHIND_FRAMES = 10 };

/* How long a frame may hold the work up: what one of 60 a second has, in nanoseconds. */
enum { HOLD_MOST = 16666667, SECOND = 1000000000 };

/* What is known of one slot. */
typedef struct place {
    bool waits;
    view_task task; /* that waits */
    void *result;   /* that nobody has taken */
    void (*release)(void *);
    kern_status outcome;
    kern_error error;
} place;

struct view_turn {
    view_work *work;
    size_t slot;
    view_task task;
    atomic_bool stop; /* read without the lock, set with it */
    bool unwanted;    /* stopped for good; else, when stopped, set aside */
};

/* Everything below `lock` is read and changed with it held, except what never changes. Contexts and
 * results are released without it, since that may take long. */
struct view_work {
    void (*notify)(void *context);
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t posted; /* there is work, or the end */
    pthread_cond_t rested; /* the thread has nothing to do */
    pthread_cond_t moved;  /* it need not stand still any more */
    struct timespec until; /* it stands still at most, while `held` */
    atomic_bool held;      /* read without the lock, set with it */
    place places[VIEW_SLOTS];
    view_turn turn; /* of the task that runs */
    bool runs;
    bool tells; /* the thread is about to notify */
    bool ends;
};

/* What has been taken out of a slot and is to be released once the lock is open. */
typedef struct remains {
    view_task task;
    void *result;
    void (*release)(void *);
} remains;

static void bury(const remains *r)
{
    if (r->task.release != NULL) {
        r->task.release(r->task.context);
    }
    if (r->result != NULL && r->release != NULL) {
        r->release(r->result);
    }
}

/* Empties a slot: what waits, and the result. */
static remains empty(place *p)
{
    const remains r = {.result = p->result, .release = p->release};
    remains all = r;
    if (p->waits) {
        all.task = p->task;
    }
    p->waits = false;
    p->task = (view_task){0};
    p->result = NULL;
    return all;
}

/* ---- Inside a task --------------------------------------------------------------------------- */

/* Waits while a frame is drawn, but not when the task is to stop anyway. */
static void stand_still(view_turn *turn)
{
    view_work *work = turn->work;
    (void)pthread_mutex_lock(&work->lock);
    while (atomic_load(&work->held) && !atomic_load(&turn->stop)) {
        if (pthread_cond_timedwait(&work->moved, &work->lock, &work->until) == ETIMEDOUT) {
            atomic_store(&work->held, false);
        }
    }
    (void)pthread_mutex_unlock(&work->lock);
}

bool view_work_cancelled(void *turn)
{
    view_turn *t = turn;
    if (atomic_load_explicit(&t->work->held, memory_order_relaxed)) {
        stand_still(t);
    }
    return atomic_load_explicit(&t->stop, memory_order_relaxed);
}

void view_work_emit(view_turn *turn, void *result, void (*release)(void *))
{
    view_work *work = turn->work;
    place *p = &work->places[turn->slot];
    remains old = {.result = result, .release = release};
    (void)pthread_mutex_lock(&work->lock);
    const bool wanted = !atomic_load(&turn->stop);
    if (wanted) {
        old = (remains){.result = p->result, .release = p->release};
        p->result = result;
        p->release = release;
    }
    (void)pthread_mutex_unlock(&work->lock);
    bury(&old);
    if (wanted && work->notify != NULL) {
        work->notify(work->context);
    }
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* The first slot that has a task, or VIEW_SLOTS. */
static size_t find_waiting(const view_work *work)
{
    size_t slot = 0;
    while (slot < VIEW_SLOTS && !work->places[slot].waits) {
        slot++;
    }
    return slot;
}

/* Makes the waiting task of a slot the running one. */
static void begin_turn(view_work *work, size_t slot)
{
    place *p = &work->places[slot];
    work->turn.slot = slot;
    work->turn.task = p->task;
    work->turn.unwanted = false;
    atomic_store(&work->turn.stop, false);
    work->runs = true;
    p->waits = false;
    p->task = (view_task){0};
}

/* Files what became of the task that ran; its context is released by the caller unless the task
 * waits again. */
static remains end_turn(view_work *work, kern_status status, const kern_error *error)
{
    const view_turn *turn = &work->turn;
    place *p = &work->places[turn->slot];
    remains r = {.task = turn->task};
    work->runs = false;
    if (turn->unwanted) {
        return r;
    }
    if (atomic_load(&turn->stop)) {
        p->waits = true;
        p->task = turn->task;
        return (remains){0};
    }
    p->outcome = status;
    p->error = *error;
    return r;
}

/* Runs one task with the lock open, and closes it again. */
static void run_turn(view_work *work, size_t slot)
{
    kern_error error = {0};
    begin_turn(work, slot);
    (void)pthread_mutex_unlock(&work->lock);
    const kern_status status =
        view_work_cancelled(&work->turn)
            ? KERN_INTERRUPTED
            : work->turn.task.run(work->turn.task.context, &work->turn, &error);
    (void)pthread_mutex_lock(&work->lock);
    const remains r = end_turn(work, status, &error);
    work->tells = true;
    (void)pthread_mutex_unlock(&work->lock);
    bury(&r);
    if (work->notify != NULL) {
        work->notify(work->context);
    }
    (void)pthread_mutex_lock(&work->lock);
    work->tells = false;
}

static void *attend(void *argument)
{
    view_work *work = argument;
    kern_parallel_init();
    (void)nice(BEHIND_FRAMES);
    (void)pthread_mutex_lock(&work->lock);
    while (!work->ends) {
        const size_t slot = find_waiting(work);
        if (slot < VIEW_SLOTS) {
            run_turn(work, slot);
        } else {
            (void)pthread_cond_broadcast(&work->rested);
            (void)pthread_cond_wait(&work->posted, &work->lock);
        }
    }
    (void)pthread_mutex_unlock(&work->lock);
    return NULL;
}

/* ---- Outside --------------------------------------------------------------------------------- */

/* A condition whose waits end by a clock that nobody sets. */
static bool init_timed(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    const bool done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                      pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return done;
}

static kern_status start(view_work *work, kern_error *err)
{
    const bool locked = pthread_mutex_init(&work->lock, NULL) == 0;
    const bool posted = locked && pthread_cond_init(&work->posted, NULL) == 0;
    const bool rested = posted && pthread_cond_init(&work->rested, NULL) == 0;
    const bool moved = rested && init_timed(&work->moved);
    if (moved && pthread_create(&work->thread, NULL, attend, work) == 0) {
        return KERN_OK;
    }
    if (moved) {
        (void)pthread_cond_destroy(&work->moved);
    }
    if (rested) {
        (void)pthread_cond_destroy(&work->rested);
    }
    if (posted) {
        (void)pthread_cond_destroy(&work->posted);
    }
    if (locked) {
        (void)pthread_mutex_destroy(&work->lock);
    }
    return kern_raise(err, KERN_IO, "the system gives no thread for work in the background");
}

kern_status view_work_create(view_work **out, void (*notify)(void *context), void *context,
                             kern_error *err)
{
    *out = NULL;
    view_work *work = calloc(1, sizeof *work);
    if (work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for work in the background");
    }
    work->notify = notify;
    work->context = context;
    work->turn.work = work;
    atomic_init(&work->turn.stop, false);
    atomic_init(&work->held, false);
    const kern_status status = start(work, err);
    if (status != KERN_OK) {
        free(work);
        return status;
    }
    *out = work;
    return KERN_OK;
}

/* Stops the task that runs: for good, or to begin it anew later. With the lock held. */
static void stop_turn(view_work *work, bool for_good)
{
    work->turn.unwanted = work->turn.unwanted || for_good;
    atomic_store(&work->turn.stop, true);
    (void)pthread_cond_broadcast(&work->moved);
}

void view_work_hold(view_work *work)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += HOLD_MOST;
    until.tv_sec += until.tv_nsec / SECOND;
    until.tv_nsec %= SECOND;
    (void)pthread_mutex_lock(&work->lock);
    work->until = until;
    atomic_store(&work->held, true);
    (void)pthread_mutex_unlock(&work->lock);
}

/* With the lock held. */
static void move_on(view_work *work)
{
    atomic_store(&work->held, false);
    (void)pthread_cond_broadcast(&work->moved);
}

void view_work_resume(view_work *work)
{
    (void)pthread_mutex_lock(&work->lock);
    move_on(work);
    (void)pthread_mutex_unlock(&work->lock);
}

void view_work_destroy(view_work *work)
{
    if (work == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&work->lock);
    work->ends = true;
    move_on(work);
    if (work->runs) {
        stop_turn(work, true);
    }
    (void)pthread_cond_signal(&work->posted);
    (void)pthread_mutex_unlock(&work->lock);
    (void)pthread_join(work->thread, NULL);
    for (size_t slot = 0; slot < VIEW_SLOTS; slot++) {
        const remains r = empty(&work->places[slot]);
        bury(&r);
    }
    (void)pthread_cond_destroy(&work->moved);
    (void)pthread_cond_destroy(&work->rested);
    (void)pthread_cond_destroy(&work->posted);
    (void)pthread_mutex_destroy(&work->lock);
    free(work);
}

/* Empties a slot and gives it `task` unless that is NULL. */
static void replace(view_work *work, size_t slot, const view_task *task)
{
    place *p = &work->places[slot];
    (void)pthread_mutex_lock(&work->lock);
    const remains r = empty(p);
    if (work->runs && work->turn.slot == slot) {
        stop_turn(work, true);
    }
    if (task != NULL) {
        p->waits = true;
        p->task = *task;
        if (work->runs && work->turn.slot > slot) {
            stop_turn(work, false);
        }
        (void)pthread_cond_signal(&work->posted);
    }
    (void)pthread_mutex_unlock(&work->lock);
    bury(&r);
}

void view_work_post(view_work *work, size_t slot, const view_task *task)
{
    replace(work, slot, task);
}

void view_work_drop(view_work *work, size_t slot)
{
    replace(work, slot, NULL);
}

void *view_work_take(view_work *work, size_t slot)
{
    place *p = &work->places[slot];
    (void)pthread_mutex_lock(&work->lock);
    void *result = p->result;
    p->result = NULL;
    (void)pthread_mutex_unlock(&work->lock);
    return result;
}

view_slot_state view_work_state(view_work *work, size_t slot)
{
    view_slot_state state = VIEW_SLOT_IDLE;
    (void)pthread_mutex_lock(&work->lock);
    const bool runs = work->runs && work->turn.slot == slot && !work->turn.unwanted;
    if (runs && !atomic_load(&work->turn.stop)) {
        state = VIEW_SLOT_RUNNING;
    } else if (runs || work->places[slot].waits) {
        state = VIEW_SLOT_WAITING;
    }
    (void)pthread_mutex_unlock(&work->lock);
    return state;
}

kern_status view_work_outcome(view_work *work, size_t slot, kern_error *err)
{
    (void)pthread_mutex_lock(&work->lock);
    const kern_status outcome = work->places[slot].outcome;
    if (err != NULL) {
        *err = work->places[slot].error;
    }
    (void)pthread_mutex_unlock(&work->lock);
    return outcome;
}

void view_work_wait(view_work *work)
{
    (void)pthread_mutex_lock(&work->lock);
    move_on(work);
    while (work->runs || work->tells || find_waiting(work) < VIEW_SLOTS) {
        (void)pthread_cond_wait(&work->rested, &work->lock);
    }
    (void)pthread_mutex_unlock(&work->lock);
}
