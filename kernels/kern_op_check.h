/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the descriptions of operations ask of shapes. `op` and `what` are words of the sentence that
 * KERN_INVALID_ARGUMENT comes with.
 */
#ifndef BASIN_KERN_OP_CHECK_H
#define BASIN_KERN_OP_CHECK_H

#include "kernels/kern_op.h"

static inline bool kern_shape_is_absent(kern_shape s)
{
    return s.rows == 0 && s.cols == 0;
}

static inline bool kern_shape_is_shape(kern_shape s, size_t rows, size_t cols)
{
    return s.rows == rows && s.cols == cols;
}

/* Refuses a matrix without elements. */
static inline kern_status kern_check_nonempty(const char *op, const char *what, kern_shape s,
                                              kern_error *err)
{
    if (s.rows == 0 || s.cols == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s: %s is %zu × %zu, where at least one row and column are needed", op,
                          what, s.rows, s.cols);
    }
    return KERN_OK;
}

/* Requires `s` to be rows × cols. */
static inline kern_status kern_check_shape(const char *op, const char *what, kern_shape s,
                                           kern_shape expected, kern_error *err)
{
    if (!kern_shape_is_shape(s, expected.rows, expected.cols)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s: %s is %zu × %zu, where %zu × %zu is needed", op, what, s.rows,
                          s.cols, expected.rows, expected.cols);
    }
    return KERN_OK;
}

/* As kern_check_shape; an absent matrix is accepted too. */
static inline kern_status kern_check_optional(const char *op, const char *what, kern_shape s,
                                              kern_shape expected, kern_error *err)
{
    return kern_shape_is_absent(s) ? KERN_OK : kern_check_shape(op, what, s, expected, err);
}

#endif
