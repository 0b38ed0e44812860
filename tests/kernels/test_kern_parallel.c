/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_parallel.h"
#include "kernels/kern_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Shares cover 0 … n − 1 once, in order, begin at multiples of the grain, and are even. */
static void test_shares_partition(void **state)
{
    (void)state;
    static const size_t grains[] = {1, 3, 16, 64};
    for (size_t n = 0; n < 200; n++) {
        for (size_t g = 0; g < 4; g++) {
            for (int workers = 1; workers <= 9; workers++) {
                size_t next = 0;
                size_t least = SIZE_MAX;
                size_t most = 0;
                for (int w = 0; w < workers; w++) {
                    size_t begin;
                    size_t end;
                    kern_parallel_share(n, grains[g], w, workers, &begin, &end);
                    assert_int_equal(begin, next);
                    assert_true(begin == n || begin % grains[g] == 0);
                    assert_true(begin <= end && end <= n);
                    const size_t share = (end - begin + grains[g] - 1) / grains[g];
                    least = share < least ? share : least;
                    most = share > most ? share : most;
                    next = end;
                }
                assert_int_equal(next, n);
                assert_true(most - least <= 1);
            }
        }
    }
}

enum { WORKERS = 5 };

typedef struct tally {
    int calls[WORKERS];
    int inner[WORKERS];
} tally;

static void count_inner(void *context, int worker, int workers)
{
    int *sum = context;
    *sum = 10 * *sum + worker + 1;
    (void)workers;
}

/* Each worker counts itself, and runs a section of its own, which must stay in its thread and go
 * through its workers in order. */
static void count_calls(void *context, int worker, int workers)
{
    tally *t = context;
    t->calls[worker] += workers;
    kern_parallel_run(3, count_inner, &t->inner[worker]);
}

static void test_run_calls_each_worker_once(void **state)
{
    (void)state;
    for (int workers = 2; workers <= WORKERS; workers++) {
        tally t = {{0}, {0}};
        kern_parallel_run(workers, count_calls, &t);
        for (int w = 0; w < WORKERS; w++) {
            assert_int_equal(t.calls[w], w < workers ? workers : 0);
#ifdef _OPENMP
            assert_int_equal(t.inner[w], w < workers ? 123 : 0);
#endif
        }
    }
}

static void test_one_worker_runs_here(void **state)
{
    (void)state;
    int sum = 0;
    kern_parallel_run(1, count_inner, &sum);
    assert_int_equal(sum, 1);
    assert_true(kern_parallel_processors() >= 1);
}

/* The call's scratch pointer carries the array of counts. */
static void count_items(const kern_call *call, size_t begin, size_t end)
{
    int *counts = call->scratch;
    assert_true(begin < end);
    for (size_t i = begin; i < end; i++) {
        counts[i]++;
    }
}

static void test_range_covers_every_item(void **state)
{
    (void)state;
    for (int workers = 1; workers <= 4; workers++) {
        for (size_t n = 1; n < 40; n += 6) {
            int counts[40] = {0};
            const kern_call call = {.scratch = counts, .workers = workers};
            kern_range_run(&call, n, 16, count_items);
            for (size_t i = 0; i < 40; i++) {
                assert_int_equal(counts[i], i < n ? 1 : 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_partition),
        cmocka_unit_test(test_run_calls_each_worker_once),
        cmocka_unit_test(test_one_worker_runs_here),
        cmocka_unit_test(test_range_covers_every_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
