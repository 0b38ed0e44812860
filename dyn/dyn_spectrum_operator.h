/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operators that dyn_spectrum takes multipliers of, as products along a cycle.
 */
#ifndef BASIN_DYN_SPECTRUM_OPERATOR_H
#define BASIN_DYN_SPECTRUM_OPERATOR_H

#include "dyn/dyn_spectrum.h"
#include "kernels/kern_arpack.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct dyn_spectrum_operator {
    dyn_map *map;
    const double *states; /* period × map->size */
    size_t period;
    size_t block;           /* of DYN_SPECTRUM_BLOCKS */
    double *tangent, *work; /* map->size each */
    dyn_progress *progress; /* asked after every product; may be NULL */
    void *context;
    size_t done, total; /* what it is told */
} dyn_spectrum_operator;

/* Whether a scope takes one block at a time, and rows of its operator. */
bool dyn_spectrum_operator_by_block(dyn_spectrum_scope scope);
size_t dyn_spectrum_operator_size(const dyn_map *map, dyn_spectrum_scope scope);

/* The product, whose context is a dyn_spectrum_operator: `period` jvps, or calls of jvp_blocks. */
kern_arpack_apply *dyn_spectrum_operator_apply(dyn_spectrum_scope scope);

/* Tells progress; false stops. */
bool dyn_spectrum_operator_go_on(const dyn_spectrum_operator *op);

#endif
