/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Elementwise kernels in blocks: how one loop serves absent inputs, outputs nobody needs, and
 * cotangents that add or overwrite. Included by kernel sources, in the precision of the unit.
 *
 * A range of elements is walked in blocks that fit the first-level cache. A source is the block of
 * an array, or zeros in place of an absent one. A sink is the block of an array to be overwritten,
 * or else a buffer, which is added to the array, or dropped, when the block is done. So a loop
 * reads all its sources and writes all its sinks without a branch, and arrays may share memory:
 * every element is read before it is written.
 */
#ifndef BASIN_KERN_BLOCK_H
#define BASIN_KERN_BLOCK_H

#include "kernels/kern_op.h"
#include "kernels/kern_real.h"
#include "kernels/kern_simd.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Elements of a block, and the multiple in which elements are split among workers: a whole number
 * of vector registers, so that no element's arithmetic depends on the split. */
enum { KERN_BLOCK = 256 };

typedef struct kern_block_zeros {
    kern_real at[KERN_BLOCK];
} kern_block_zeros;

typedef struct kern_sink {
    kern_real *array;  /* first element of the block; NULL: the values are dropped */
    kern_real *target; /* where the loop writes */
    bool add;
    kern_real buffer[KERN_BLOCK];
} kern_sink;

KERN_INLINE const kern_real *kern_source(kern_view view, size_t offset,
                                         const kern_block_zeros *zeros)
{
    return view.data == NULL ? zeros->at : (const kern_real *)view.data + offset;
}

KERN_INLINE kern_real *kern_sink_open(kern_sink *sink, kern_view view, bool add, size_t offset)
{
    sink->array = view.data == NULL ? NULL : (kern_real *)view.data + offset;
    sink->add = add && sink->array != NULL;
    sink->target = sink->array == NULL || add ? sink->buffer : sink->array;
    return sink->target;
}

KERN_INLINE void kern_sink_close(kern_sink *sink, size_t n)
{
    if (sink->add) {
        kern_real *array = sink->array;
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            array[i] += sink->buffer[i];
        }
    }
}

/* Number of elements of the block that starts at `offset`. */
KERN_INLINE size_t kern_block_size(size_t offset, size_t end)
{
    return end - offset < KERN_BLOCK ? end - offset : KERN_BLOCK;
}

/* out = k x over n elements, or out += k x when `add`. The arrays may be identical. */
KERN_INLINE void kern_block_scale(kern_real *out, const kern_real *x, kern_real k, size_t n,
                                  bool add)
{
    if (add) {
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            out[i] += k * x[i];
        }
    } else {
        KERN_IVDEP
        for (size_t i = 0; i < n; i++) {
            out[i] = k * x[i];
        }
    }
}

/* Zeroes n elements. */
KERN_INLINE void kern_block_clear(kern_real *out, size_t n)
{
    memset(out, 0, n * sizeof *out);
}

/* Zeroes the cotangent of input i when it is wanted and to be overwritten; adding may follow. */
KERN_INLINE void kern_clear_cotangent(const kern_call *call, size_t i)
{
    const kern_view d = call->d_in[i];
    if (d.data != NULL && !call->accumulate[i]) {
        kern_block_clear(d.data, d.rows * d.cols);
    }
}

/* The whole of a vjp with nothing to receive. */
KERN_INLINE void kern_clear_cotangents(const kern_call *call)
{
    for (size_t i = 0; i < KERN_MAX_IN; i++) {
        kern_clear_cotangent(call, i);
    }
}

/* Defines `name`, a kern_range_body that runs `name##_any(fn, call, begin, end)` with the call's
 * activation as a constant. */
#define KERN_FN_VARIANT(name, ID, id)                                                              \
    KERN_HOT static void name##_##id(const kern_call *call, size_t begin, size_t end)              \
    {                                                                                              \
        name##_any(KERN_FN_##ID, call, begin, end);                                                \
    }
#define KERN_FN_VARIANT_NAME(name, ID, id) name##_##id,
#define KERN_FN_VARIANTS(name)                                                                     \
    KERN_FN_LIST(KERN_FN_VARIANT, name)                                                            \
    static void name(const kern_call *call, size_t begin, size_t end)                              \
    {                                                                                              \
        kern_range_body *const variants[KERN_FN_COUNT] = {                                         \
            KERN_FN_LIST(KERN_FN_VARIANT_NAME, name)};                                             \
        variants[call->attr->act.fn](call, begin, end);                                            \
    }

#endif
