/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Blocks of awkward sizes fit exactly into the sum of their costs. */
static void test_costs_add_up(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 3, 0, 17, 64, 65, 1000};
    size_t total = 0;
    for (size_t i = 0; i < 7; i++) {
        total += kern_arena_cost(counts[i], sizeof(double));
    }
    kern_arena arena;
    unsigned char *blocks[7];
    assert_int_equal(kern_arena_init(&arena, total, NULL), KERN_OK);
    for (size_t i = 0; i < 7; i++) {
        blocks[i] = kern_arena_alloc(&arena, counts[i], sizeof(double));
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % KERN_ALIGN, 0);
        memset(blocks[i], (int)i, counts[i] * sizeof(double));
    }
    for (size_t i = 0; i < 7; i++) {
        for (size_t k = 0; k < counts[i] * sizeof(double); k++) {
            assert_int_equal(blocks[i][k], i);
        }
    }
    assert_null(kern_arena_alloc(&arena, 100, 1));
    kern_arena_fini(&arena);
}

static void test_full_arena_refuses_and_stays_usable(void **state)
{
    (void)state;
    kern_arena arena;
    assert_int_equal(kern_arena_init(&arena, 256, NULL), KERN_OK);
    assert_null(kern_arena_alloc(&arena, 257, 1));
    assert_null(kern_arena_alloc(&arena, SIZE_MAX / 2, 4));
    assert_null(kern_arena_alloc(&arena, SIZE_MAX - 10, 1));
    assert_non_null(kern_arena_alloc(&arena, 256, 1));
    assert_null(kern_arena_calloc(&arena, 1, 1));
    kern_arena_fini(&arena);
}

static void test_rewind_gives_memory_back(void **state)
{
    (void)state;
    kern_arena arena;
    assert_int_equal(kern_arena_init(&arena, 4096, NULL), KERN_OK);
    const int *kept = kern_arena_calloc(&arena, 10, sizeof(int));
    assert_non_null(kept);
    const size_t mark = kern_arena_mark(&arena);
    void *first = kern_arena_alloc(&arena, 1000, 1);
    assert_non_null(first);
    memset(first, 0xEE, 1000);
    const size_t peak = arena.peak;
    kern_arena_rewind(&arena, mark);
    assert_int_equal(kern_arena_mark(&arena), mark);
    const unsigned char *again = kern_arena_calloc(&arena, 500, 1);
    assert_ptr_equal(again, first);
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal(again[i], 0);
    }
    assert_int_equal(arena.peak, peak);
    assert_int_equal(kept[9], 0);
    kern_arena_fini(&arena);
}

static void test_init_and_fini_edges(void **state)
{
    (void)state;
    kern_arena arena;
    kern_error err = {0};
    assert_int_equal(kern_arena_init(&arena, SIZE_MAX, &err), KERN_NO_MEMORY);
    assert_non_null(strstr(err.text, "memory"));
    kern_arena_fini(&arena);
    assert_int_equal(kern_arena_init(&arena, 0, NULL), KERN_OK);
    assert_non_null(kern_arena_alloc(&arena, 0, 8));
    kern_arena_fini(&arena);
    kern_arena_fini(&arena);
    assert_null(arena.base);
    assert_true(kern_arena_cost(SIZE_MAX, 2) == SIZE_MAX);
    assert_true(kern_arena_cost(SIZE_MAX - 1, 1) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs_add_up),
        cmocka_unit_test(test_full_arena_refuses_and_stays_usable),
        cmocka_unit_test(test_rewind_gives_memory_back),
        cmocka_unit_test(test_init_and_fini_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
