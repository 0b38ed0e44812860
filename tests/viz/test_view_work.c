/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Work in the background: which tasks run, in what order, which results arrive, and that every
 * context and result is released once. Tasks wait at a gate that the test opens, or until they are
 * cancelled, so that every order of events is made and none is hoped for.
 */
#define _POSIX_C_SOURCE 200809L
#include "viz/view/view_work.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { RUNS_MOST = 64 };

/* What all tasks of a test share. */
typedef struct stage {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;            /* the gate */
    int order[RUNS_MOST]; /* names of the tasks in the order of their runs */
    size_t n_runs;
    int team;            /* threads that a library would use in the last run */
    atomic_int contexts; /* that live */
    atomic_int results;
    atomic_int notices;
    view_work *work;
} stage;

typedef enum manner {
    AT_ONCE,
    AT_THE_GATE,
    UNTIL_CANCELLED, /* every run */
    CANCELLED_ONCE,  /* the first run until it is cancelled, later ones at once */
    FAILING
} manner;

typedef struct actor {
    stage *s;
    int name;
    manner manner;
    int emits; /* results, before it waits */
    bool late; /* emits another behind its end */
    int runs;
    bool was_cancelled; /* when the last run came to its end */
} actor;

typedef struct result {
    stage *s;
    int name;
    int number;
} result;

static void free_result(void *r)
{
    atomic_fetch_sub(&((result *)r)->s->results, 1);
    free(r);
}

static void emit(const actor *a, view_turn *turn, int number)
{
    result *r = calloc(1, sizeof *r);
    assert_non_null(r);
    *r = (result){.s = a->s, .name = a->name, .number = number};
    atomic_fetch_add(&a->s->results, 1);
    view_work_emit(turn, r, free_result);
}

static int team_of_libraries(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

static void enter(actor *a)
{
    stage *s = a->s;
    (void)pthread_mutex_lock(&s->lock);
    if (s->n_runs < RUNS_MOST) {
        s->order[s->n_runs] = a->name;
    }
    s->n_runs++;
    s->team = team_of_libraries();
    a->runs++;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

static void wait_at_gate(stage *s)
{
    (void)pthread_mutex_lock(&s->lock);
    while (!s->open) {
        (void)pthread_cond_wait(&s->changed, &s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

static void wait_until_cancelled(view_turn *turn)
{
    while (!view_work_cancelled(turn)) {
        (void)sched_yield();
    }
}

static kern_status act(void *context, view_turn *turn, kern_error *err)
{
    actor *a = context;
    for (int i = 0; i < a->emits; i++) {
        emit(a, turn, i);
    }
    enter(a);
    if (a->manner == AT_THE_GATE) {
        wait_at_gate(a->s);
    } else if (a->manner == UNTIL_CANCELLED || (a->manner == CANCELLED_ONCE && a->runs == 1)) {
        wait_until_cancelled(turn);
    }
    a->was_cancelled = view_work_cancelled(turn);
    if (a->late) {
        emit(a, turn, 99);
    }
    if (a->manner == FAILING) {
        return kern_raise(err, KERN_NAN, "actor %d fails", a->name);
    }
    return a->was_cancelled ? kern_raise(err, KERN_INTERRUPTED, "cancelled") : KERN_OK;
}

static void release(void *context)
{
    const actor *a = context;
    atomic_fetch_sub(&a->s->contexts, 1);
}

/* Posts an actor that the test keeps. */
static void post(stage *s, size_t slot, actor *a)
{
    a->s = s;
    atomic_fetch_add(&s->contexts, 1);
    view_work_post(s->work, slot, &(view_task){.run = act, .release = release, .context = a});
}

static void open_gate(stage *s)
{
    (void)pthread_mutex_lock(&s->lock);
    s->open = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
}

/* Waits until tasks have been entered so many times. */
static void await_runs(stage *s, size_t n)
{
    (void)pthread_mutex_lock(&s->lock);
    while (s->n_runs < n) {
        (void)pthread_cond_wait(&s->changed, &s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

static void assert_order(const stage *s, size_t n, const int *names)
{
    assert_int_equal(s->n_runs, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(s->order[i], names[i]);
    }
}

/* Takes the result of a slot and returns its name, or −1. */
static int take(stage *s, size_t slot, int *number)
{
    result *r = view_work_take(s->work, slot);
    const int name = r != NULL ? r->name : -1;
    if (r != NULL && number != NULL) {
        *number = r->number;
    }
    if (r != NULL) {
        free_result(r);
    }
    return name;
}

static void notice(void *context)
{
    atomic_fetch_add(&((stage *)context)->notices, 1);
}

static int set_up(void **state)
{
    stage *s = calloc(1, sizeof *s);
    assert_non_null(s);
    assert_int_equal(pthread_mutex_init(&s->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&s->changed, NULL), 0);
    assert_int_equal(view_work_create(&s->work, notice, s, NULL), KERN_OK);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    stage *s = *state;
    view_work_destroy(s->work);
    const int left = atomic_load(&s->contexts) + atomic_load(&s->results);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
    return left;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_a_result_arrives_once(void **state)
{
    stage *s = *state;
    actor a = {.name = 1, .emits = 1};
    kern_error error = {.status = KERN_NAN};
    assert_int_equal(view_work_outcome(s->work, 2, NULL), KERN_OK);
    post(s, 2, &a);
    view_work_wait(s->work);
    assert_int_equal(atomic_load(&s->contexts), 0);
    assert_int_equal(view_work_state(s->work, 2), VIEW_SLOT_IDLE);
    assert_int_equal(view_work_outcome(s->work, 2, &error), KERN_OK);
    assert_int_equal(error.status, KERN_OK);
    assert_int_equal(take(s, 1, NULL), -1);
    assert_int_equal(take(s, 2, NULL), 1);
    assert_int_equal(take(s, 2, NULL), -1);
    /* One for the result and one for the end. */
    assert_int_equal(atomic_load(&s->notices), 2);
}

/* Else BLAS would split sums in the background, and figures written there have other bits. */
static void test_libraries_get_one_thread(void **state)
{
    stage *s = *state;
    actor a = {.name = 1};
    post(s, 2, &a);
    view_work_wait(s->work);
    assert_int_equal(s->team, 1);
}

static void test_smaller_slots_go_first(void **state)
{
    stage *s = *state;
    actor plug = {.name = 0, .manner = AT_THE_GATE};
    actor a[5] = {{.name = 5}, {.name = 3}, {.name = 1}, {.name = 4}, {.name = 2}};
    post(s, 0, &plug);
    await_runs(s, 1);
    for (size_t i = 0; i < 5; i++) {
        post(s, (size_t)a[i].name, &a[i]);
        assert_int_equal(view_work_state(s->work, (size_t)a[i].name), VIEW_SLOT_WAITING);
    }
    assert_int_equal(view_work_state(s->work, 0), VIEW_SLOT_RUNNING);
    open_gate(s);
    view_work_wait(s->work);
    assert_false(plug.was_cancelled);
    assert_order(s, 6, (const int[]){0, 1, 2, 3, 4, 5});
}

static void test_only_the_newest_of_a_slot_runs(void **state)
{
    stage *s = *state;
    actor plug = {.name = 0, .manner = AT_THE_GATE};
    actor a[3] = {{.name = 1, .emits = 1}, {.name = 2, .emits = 1}, {.name = 3, .emits = 1}};
    post(s, 0, &plug);
    await_runs(s, 1);
    for (size_t i = 0; i < 3; i++) {
        post(s, 3, &a[i]);
        assert_int_equal(atomic_load(&s->contexts), 2);
    }
    open_gate(s);
    view_work_wait(s->work);
    assert_order(s, 2, (const int[]){0, 3});
    assert_int_equal(take(s, 3, NULL), 3);
}

static void test_a_new_task_cancels_the_running_one(void **state)
{
    stage *s = *state;
    actor old = {.name = 1, .manner = UNTIL_CANCELLED, .emits = 1, .late = true};
    actor new = {.name = 2};
    post(s, 2, &old);
    await_runs(s, 1);
    post(s, 2, &new);
    /* The old result was there, and is not any more. */
    assert_int_equal(take(s, 2, NULL), -1);
    view_work_wait(s->work);
    assert_true(old.was_cancelled);
    assert_order(s, 2, (const int[]){1, 2});
    assert_int_equal(take(s, 2, NULL), -1);
    assert_int_equal(view_work_outcome(s->work, 2, NULL), KERN_OK);
    assert_int_equal(atomic_load(&s->results), 0);
    /* One for the old result and one for each end; the late result is told to nobody. */
    assert_int_equal(atomic_load(&s->notices), 3);
}

static void test_a_later_slot_is_set_aside(void **state)
{
    stage *s = *state;
    actor later = {.name = 4, .manner = CANCELLED_ONCE, .emits = 2, .late = true};
    actor first = {.name = 1, .manner = AT_THE_GATE};
    int number = 0;
    post(s, 4, &later);
    await_runs(s, 1);
    assert_int_equal(view_work_state(s->work, 4), VIEW_SLOT_RUNNING);
    post(s, 1, &first);
    assert_int_equal(view_work_state(s->work, 4), VIEW_SLOT_WAITING);
    await_runs(s, 2);
    assert_int_equal(view_work_state(s->work, 4), VIEW_SLOT_WAITING);
    /* What it found before stays its own; what it found when cancelled is ignored. */
    assert_int_equal(take(s, 4, &number), 4);
    assert_int_equal(number, 1);
    assert_int_equal(atomic_load(&s->contexts), 2);
    open_gate(s);
    view_work_wait(s->work);
    assert_order(s, 3, (const int[]){4, 1, 4});
    assert_false(later.was_cancelled);
    assert_int_equal(view_work_outcome(s->work, 4, NULL), KERN_OK);
    assert_int_equal(take(s, 4, &number), 4);
    assert_int_equal(number, 99);
}

static void test_a_task_set_aside_gives_way_to_a_newer_one(void **state)
{
    stage *s = *state;
    actor old = {.name = 4, .manner = UNTIL_CANCELLED};
    actor first = {.name = 1, .manner = AT_THE_GATE};
    actor new = {.name = 5, .emits = 1};
    post(s, 4, &old);
    await_runs(s, 1);
    post(s, 1, &first);
    await_runs(s, 2);
    post(s, 4, &new);
    assert_int_equal(atomic_load(&s->contexts), 2);
    open_gate(s);
    view_work_wait(s->work);
    assert_order(s, 3, (const int[]){4, 1, 5});
    assert_int_equal(take(s, 4, NULL), 5);
}

static void test_an_earlier_slot_is_not_disturbed(void **state)
{
    stage *s = *state;
    actor first = {.name = 1, .manner = AT_THE_GATE};
    actor later = {.name = 3};
    post(s, 1, &first);
    await_runs(s, 1);
    post(s, 3, &later);
    open_gate(s);
    view_work_wait(s->work);
    assert_false(first.was_cancelled);
    assert_order(s, 2, (const int[]){1, 3});
}

static void test_results_take_the_place_of_untaken_ones(void **state)
{
    stage *s = *state;
    actor a = {.name = 1, .emits = 3};
    int number = 0;
    post(s, 0, &a);
    view_work_wait(s->work);
    assert_int_equal(atomic_load(&s->results), 1);
    assert_int_equal(take(s, 0, &number), 1);
    assert_int_equal(number, 2);
    assert_int_equal(atomic_load(&s->notices), 4);
}

static void test_results_arrive_while_the_task_runs(void **state)
{
    stage *s = *state;
    actor a = {.name = 1, .emits = 1, .manner = AT_THE_GATE, .late = true};
    int number = -1;
    post(s, 0, &a);
    await_runs(s, 1);
    assert_int_equal(take(s, 0, &number), 1);
    assert_int_equal(number, 0);
    open_gate(s);
    view_work_wait(s->work);
    assert_int_equal(take(s, 0, &number), 1);
    assert_int_equal(number, 99);
}

static void test_failures_are_told(void **state)
{
    stage *s = *state;
    actor bad = {.name = 7, .manner = FAILING};
    actor good = {.name = 8};
    kern_error error = {0};
    post(s, 1, &bad);
    view_work_wait(s->work);
    assert_int_equal(view_work_outcome(s->work, 1, &error), KERN_NAN);
    assert_string_equal(error.text, "actor 7 fails");
    assert_int_equal(view_work_outcome(s->work, 0, NULL), KERN_OK);
    post(s, 1, &good);
    view_work_wait(s->work);
    assert_int_equal(view_work_outcome(s->work, 1, &error), KERN_OK);
    assert_string_equal(error.text, "");
}

static double milliseconds(void)
{
    struct timespec t;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &t), 0);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* A machine under load makes waits longer, never shorter. */
static void test_a_frame_holds_tasks_up(void **state)
{
    stage *s = *state;
    actor first = {.name = 1, .manner = AT_THE_GATE};
    actor second = {.name = 2};
    const double begin = milliseconds();
    view_work_hold(s->work);
    post(s, 0, &first);
    await_runs(s, 1);
    assert_true(milliseconds() - begin > 16.0);
    /* One that runs waits where it asks whether it is to go on. */
    view_work_resume(s->work);
    const double again = milliseconds();
    view_work_hold(s->work);
    open_gate(s);
    post(s, 3, &second);
    await_runs(s, 2);
    assert_true(milliseconds() - again > 16.0);
    view_work_wait(s->work);
    assert_false(first.was_cancelled);
}

static void test_what_is_not_wanted_ends_while_held(void **state)
{
    stage *s = *state;
    actor old = {.name = 1, .manner = UNTIL_CANCELLED};
    actor new = {.name = 2, .emits = 1};
    post(s, 1, &old);
    await_runs(s, 1);
    view_work_hold(s->work);
    post(s, 1, &new);
    view_work_resume(s->work);
    view_work_wait(s->work);
    assert_true(old.was_cancelled);
    view_work_hold(s->work); /* and the end does not wait for a frame */
}

static void test_what_is_dropped_is_gone(void **state)
{
    stage *s = *state;
    actor runs = {.name = 1, .manner = UNTIL_CANCELLED, .emits = 1, .late = true};
    actor waits = {.name = 2};
    post(s, 1, &runs);
    await_runs(s, 1);
    post(s, 3, &waits);
    view_work_drop(s->work, 3);
    assert_int_equal(view_work_state(s->work, 3), VIEW_SLOT_IDLE);
    assert_int_equal(atomic_load(&s->contexts), 1);
    view_work_drop(s->work, 1);
    assert_int_equal(view_work_state(s->work, 1), VIEW_SLOT_IDLE);
    assert_int_equal(take(s, 1, NULL), -1);
    view_work_wait(s->work);
    assert_true(runs.was_cancelled);
    assert_int_equal(take(s, 1, NULL), -1);
    assert_int_equal(view_work_outcome(s->work, 1, NULL), KERN_OK);
    assert_order(s, 1, (const int[]){1});
}

static void test_destroying_cancels_and_releases_all(void **state)
{
    stage *s = *state;
    actor runs = {.name = 0, .manner = UNTIL_CANCELLED, .emits = 1, .late = true};
    actor waits[2] = {{.name = 1}, {.name = 2}};
    post(s, 0, &runs);
    await_runs(s, 1);
    post(s, 1, &waits[0]);
    post(s, 2, &waits[1]);
    view_work_destroy(s->work);
    s->work = NULL;
    assert_true(runs.was_cancelled);
    assert_int_equal(s->n_runs, 1);
    assert_int_equal(atomic_load(&s->contexts), 0);
    assert_int_equal(atomic_load(&s->results), 0);
    view_work_destroy(NULL);
}

/* Posts, drops and takes in a row as a slider does, without waiting: whatever the thread makes of
 * it, a result is that of the last task of its slot. */
static void test_a_slider_gets_nothing_stale(void **state)
{
    enum { POSTS = 600 };
    stage *s = *state;
    actor *all = calloc(POSTS, sizeof *all);
    int newest[VIEW_SLOTS];
    uint32_t draw = 1;
    assert_non_null(all);
    for (size_t slot = 0; slot < VIEW_SLOTS; slot++) {
        newest[slot] = -1;
    }
    for (int i = 0; i < POSTS; i++) {
        draw = draw * 1664525U + 1013904223U;
        const size_t slot = (draw >> 16) % VIEW_SLOTS;
        all[i] = (actor){.name = i, .emits = 3, .late = i % 2 == 0};
        post(s, slot, &all[i]);
        newest[slot] = i;
        if (draw >> 29 == 0) {
            view_work_drop(s->work, slot);
            newest[slot] = -1;
        }
        for (size_t k = 0; k < VIEW_SLOTS; k++) {
            const int name = take(s, k, NULL);
            assert_true(name == -1 || name == newest[k]);
        }
    }
    view_work_wait(s->work);
    assert_int_equal(atomic_load(&s->contexts), 0);
    for (size_t k = 0; k < VIEW_SLOTS; k++) {
        assert_true(newest[k] < 0 || all[newest[k]].runs > 0);
    }
    free(all);
}

#define WITH_STAGE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STAGE(test_a_result_arrives_once),
        WITH_STAGE(test_libraries_get_one_thread),
        WITH_STAGE(test_smaller_slots_go_first),
        WITH_STAGE(test_only_the_newest_of_a_slot_runs),
        WITH_STAGE(test_a_new_task_cancels_the_running_one),
        WITH_STAGE(test_a_later_slot_is_set_aside),
        WITH_STAGE(test_a_task_set_aside_gives_way_to_a_newer_one),
        WITH_STAGE(test_an_earlier_slot_is_not_disturbed),
        WITH_STAGE(test_results_take_the_place_of_untaken_ones),
        WITH_STAGE(test_results_arrive_while_the_task_runs),
        WITH_STAGE(test_failures_are_told),
        WITH_STAGE(test_a_frame_holds_tasks_up),
        WITH_STAGE(test_what_is_not_wanted_ends_while_held),
        WITH_STAGE(test_what_is_dropped_is_gone),
        WITH_STAGE(test_destroying_cancels_and_releases_all),
        WITH_STAGE(test_a_slider_gets_nothing_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
