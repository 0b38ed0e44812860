/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Arrays of numbers: alignment, sizes at the edge of large pages, refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kern_memory.h"

#include <stdlib.h>
#include <string.h>

/* Each block is written to its end, which a sanitizer watches. */
static void test_blocks_are_aligned(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 64, 1000, KERN_LARGE - 1, KERN_LARGE, KERN_LARGE + 1};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t align = sizes[i] < KERN_LARGE ? KERN_ALIGN : KERN_LARGE;
        unsigned char *block = kern_memory_create(sizes[i], 1);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % align, 0);
        memset(block, 1, sizes[i]);
        free(block);
    }
}

static void test_zeroed_blocks_are_zero(void **state)
{
    static const size_t counts[] = {1, 100, KERN_LARGE / sizeof(double) + 3};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double *block = kern_memory_zeroed(counts[i], sizeof *block);
        assert_non_null(block);
        for (size_t j = 0; j < counts[i]; j++) {
            assert_true(block[j] == 0);
        }
        free(block);
    }
}

static void test_sizes_beyond_memory_are_refused(void **state)
{
    (void)state;
    assert_null(kern_memory_create(SIZE_MAX, 1));
    assert_null(kern_memory_create(SIZE_MAX / 2, 3));
    assert_null(kern_memory_zeroed(SIZE_MAX, SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_aligned),
        cmocka_unit_test(test_zeroed_blocks_are_zero),
        cmocka_unit_test(test_sizes_beyond_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
