/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks one operation through kern_call alone, without a graph: forward against its reference
 * twin, jvp against finite differences, vjp against jvp (the adjoint identity), both precisions
 * against each other, and every promise of kern_op.h about absent arrays, accumulation, shared
 * memory, worker counts and memory outside the arrays.
 */
#ifndef BASIN_OP_CHECK_H
#define BASIN_OP_CHECK_H

#include "kernels/kern_op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct op_case {
    const char *name; /* for messages */
    kern_op_id op;
    kern_attr attr;
    kern_shape in[KERN_MAX_IN]; /* 0 × 0: absent */
    const int32_t *index[KERN_INDEX_SLOTS];
    uint64_t dropout_key;
    double margin;      /* inputs keep this distance from 0, where a kink may be */
    unsigned params;    /* bit i: input i is a parameter, whose cotangent always adds */
    bool split_matters; /* results may depend on the number of workers, to rounding */
} op_case;

/* Runs all checks; a failure is a cmocka failure whose message names the case. `seed` picks the
 * random numbers. */
void op_check(const op_case *c, uint64_t seed);

/* Requires that the description refuses these shapes with KERN_INVALID_ARGUMENT (or `status`) and a
 * sentence that contains `word`. */
void op_check_refused(const op_case *c, kern_status status, const char *word);

#endif
