/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scans: every item once, equal bits for any number of workers, failures and interruption.
 */
#define _POSIX_C_SOURCE 200809L
#include "tests/dyn/dyn_test_maps.h"

#include "dyn/dyn_scan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { ITEMS = 101, STEPS = 40, FAULTY = 37 };

typedef struct sums {
    double value[ITEMS];
    int runs[ITEMS];
} sums;

/* The item's orbit at a parameter of its own. */
static kern_status follow(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    sums *s = context;
    double x = 0.3;
    (void)worker;
    KERN_TRY(dyn_map_set_param(map, "r", 3.5 + 0.004 * (double)item, err));
    dyn_map_iterate(map, &x, STEPS, &x);
    s->value[item] = x;
    s->runs[item]++;
    return KERN_OK;
}

static void test_workers_do_not_matter(void **state)
{
    dyn_map *map = maps_make("logistic", "r=2");
    sums *first = calloc(2, sizeof *first);
    (void)state;
    assert_non_null(first);
    for (int workers = 1; workers <= 4; workers++) {
        sums *s = workers == 1 ? first : first + 1;
        memset(s, 0, sizeof *s);
        const dyn_scan_options o = {.items = ITEMS, .grain = (size_t)workers, .workers = workers};
        MAPS_OK(dyn_scan_run(map, &o, follow, s, maps_err));
        for (size_t i = 0; i < ITEMS; i++) {
            assert_int_equal(s->runs[i], 1);
        }
        assert_memory_equal(s->value, first->value, sizeof s->value);
    }
    /* The map given stays as it was. */
    MAPS_CLOSE(map->params[0], 2.0, 0.0);
    free(first);
    dyn_map_destroy(map);
}

static kern_status fail_late(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    (void)context;
    (void)map;
    (void)worker;
    return item == FAULTY ? kern_raise(err, KERN_SINGULAR, "item %zu", item) : KERN_OK;
}

static void test_a_failure_ends_the_scan(void **state)
{
    dyn_map *map = maps_make("logistic", "");
    const dyn_scan_options o = {.items = ITEMS, .workers = 2};
    kern_error err = {0};
    (void)state;
    assert_int_equal(dyn_scan_run(map, &o, fail_late, NULL, &err), KERN_SINGULAR);
    maps_error(&err, KERN_SINGULAR, "item 37");
    dyn_map_destroy(map);
}

static bool stop_at_ten(void *context, size_t done, size_t total)
{
    size_t *seen = context;
    *seen = done;
    assert_int_equal(total, ITEMS);
    return done < 10;
}

static void test_interruption(void **state)
{
    dyn_map *map = maps_make("logistic", "");
    sums s = {0};
    size_t seen = 0;
    kern_error err = {0};
    const dyn_scan_options o = {
        .items = ITEMS, .workers = 1, .progress = stop_at_ten, .context = &seen};
    (void)state;
    assert_int_equal(dyn_scan_run(map, &o, follow, &s, &err), KERN_INTERRUPTED);
    assert_int_equal(seen, 10);
    assert_int_equal(s.runs[9], 1);
    assert_int_equal(s.runs[10], 0);
    dyn_map_destroy(map);
}

/* An item of another worker waits for the interrupt, which nobody but the first worker can notice,
 * and that one has run out of items. */
typedef struct waiting {
    atomic_bool begun, asked;
    size_t reports, last;
} waiting;

static kern_status wait_for_stop(void *context, dyn_map *map, int worker, size_t item,
                                 kern_error *err)
{
    waiting *w = context;
    const struct timespec nap = {.tv_nsec = 1000000};
    (void)map;
    (void)item;
    (void)err;
    /* The first worker leaves an item to another one, unless there is none. */
    for (int i = 0; worker == 0 && i < 200 && !atomic_load(&w->begun); i++) {
        (void)nanosleep(&nap, NULL);
    }
    atomic_store(&w->begun, true);
    for (int i = 0; worker > 0 && i < 5000 && !atomic_load(&w->asked); i++) {
        (void)nanosleep(&nap, NULL);
    }
    return KERN_OK;
}

static bool stop_waiting(void *context, size_t done, size_t total)
{
    waiting *w = context;
    (void)done;
    (void)total;
    w->reports++; /* the first may follow an item of the first worker itself */
    atomic_store(&w->asked, w->reports > 1);
    return w->reports <= 1;
}

static void test_an_interrupt_while_others_work(void **state)
{
    waiting w = {.asked = false};
    kern_error err = {0};
    const dyn_scan_options o = {.items = 2, .workers = 2, .progress = stop_waiting, .context = &w};
    (void)state;
    assert_int_equal(dyn_scan_run(NULL, &o, wait_for_stop, &w, &err), KERN_INTERRUPTED);
    assert_true(atomic_load(&w.asked));
}

static bool keep_last(void *context, size_t done, size_t total)
{
    waiting *w = context;
    assert_true(done >= w->last && done <= total);
    w->last = done;
    w->reports++;
    return true;
}

static kern_status do_nothing(void *context, dyn_map *map, int worker, size_t item, kern_error *err)
{
    (void)context;
    (void)map;
    (void)worker;
    (void)item;
    (void)err;
    return KERN_OK;
}

/* Every scan reports its end, also one whose items all went to other workers. */
static void test_the_end_is_reported(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++) {
        for (size_t items = 1; items <= ITEMS; items += 20) {
            waiting w = {.asked = false};
            const dyn_scan_options o = {
                .items = items, .workers = workers, .progress = keep_last, .context = &w};
            MAPS_OK(dyn_scan_run(NULL, &o, do_nothing, &w, maps_err));
            assert_int_equal(w.last, items);
            assert_true(w.reports >= 1 && (workers > 1 || w.reports == items));
        }
    }
}

static void test_nothing_to_do(void **state)
{
    dyn_map *map = maps_make("logistic", "");
    const dyn_scan_options o = {.items = 0, .workers = 8};
    (void)state;
    assert_int_equal(dyn_scan_workers(&o), 1);
    MAPS_OK(dyn_scan_run(map, &o, fail_late, NULL, maps_err));
    dyn_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_do_not_matter),
        cmocka_unit_test(test_a_failure_ends_the_scan),
        cmocka_unit_test(test_interruption),
        cmocka_unit_test(test_an_interrupt_while_others_work),
        cmocka_unit_test(test_the_end_is_reported),
        cmocka_unit_test(test_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
