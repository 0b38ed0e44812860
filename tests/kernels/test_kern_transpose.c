/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_transpose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 70, ROOM = (MOST + 3) * (MOST + 5) };

static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Marks cells that no transpose may touch. */
static const double untouched = -1;

static void check_f64(size_t rows, size_t cols, size_t ldi, size_t ldo)
{
    static double in[ROOM];
    static double out[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        in[i] = (double)i;
        out[i] = untouched;
    }
    kern_transpose_f64(out, ldo, in, ldi, rows, cols);
    for (size_t i = 0; i < ROOM; i++) {
        const size_t j = i / ldo;
        const size_t r = i % ldo;
        const double wanted = j < cols && r < rows ? in[r * ldi + j] : untouched;
        if (!(out[i] == wanted)) {
            fail_msg("%zu × %zu, %zu, %zu: element %zu is %g, wanted %g", rows, cols, ldi, ldo, i,
                     out[i], wanted);
        }
    }
}

static void check_f32(size_t rows, size_t cols, size_t ldi, size_t ldo)
{
    static float in[ROOM];
    static float out[ROOM];
    for (size_t i = 0; i < ROOM; i++) {
        in[i] = (float)i;
        out[i] = (float)untouched;
    }
    kern_transpose_f32(out, ldo, in, ldi, rows, cols);
    for (size_t i = 0; i < ROOM; i++) {
        const size_t j = i / ldo;
        const size_t r = i % ldo;
        const float wanted = j < cols && r < rows ? in[r * ldi + j] : (float)untouched;
        if (!(out[i] == wanted)) {
            fail_msg("%zu × %zu, %zu, %zu: element %zu is %g, wanted %g", rows, cols, ldi, ldo, i,
                     (double)out[i], (double)wanted);
        }
    }
}

static void test_all_sizes(void **state)
{
    (void)state;
    for (size_t a = 0; a < SIZES; a++) {
        for (size_t b = 0; b < SIZES; b++) {
            check_f32(sizes[a], sizes[b], sizes[b], sizes[a]);
            check_f64(sizes[a], sizes[b], sizes[b], sizes[a]);
            check_f32(sizes[a], sizes[b], sizes[b] + 3, sizes[a] + 2);
            check_f64(sizes[a], sizes[b], sizes[b] + 1, sizes[a] + 5);
        }
    }
}

static void test_empty(void **state)
{
    (void)state;
    float out = 5;
    const float in = 6;
    kern_transpose_f32(&out, 1, &in, 1, 0, 1);
    kern_transpose_f32(&out, 1, &in, 1, 1, 0);
    assert_true(out == 5);
}

/* Bits, not numbers, are moved. */
static void test_nan_payload_survives(void **state)
{
    (void)state;
    uint32_t bits[16 * 16];
    float in[16 * 16];
    float out[16 * 16];
    for (size_t i = 0; i < 256; i++) {
        bits[i] = 0x7F800001U + (uint32_t)i;
    }
    memcpy(in, bits, sizeof bits);
    kern_transpose_f32(out, 16, in, 16, 16, 16);
    memcpy(bits, out, sizeof bits);
    for (size_t i = 0; i < 256; i++) {
        assert_int_equal(bits[i] - 0x7F800001U, i % 16 * 16 + i / 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sizes),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_nan_payload_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
