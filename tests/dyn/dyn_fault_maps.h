/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Maps for tests: those built in by name, and small ones that fail or have blocks in known ways.
 */
#ifndef BASIN_DYN_FAULT_MAPS_H
#define BASIN_DYN_FAULT_MAPS_H

#include "dyn/dyn_map.h"

#include <stddef.h>

/* A built-in map with up to three assignments "name=value"; NULL ends them early. */
dyn_map *dyn_test_named(const char *name, const char *first, const char *second, const char *third);

/* x' = M x, M row-major and copied, of `blocks` blocks. */
dyn_map *dyn_test_linear(size_t size, const double *matrix, size_t blocks);

/* Maps that follow x' = x + 1 in every coordinate and turn bad once the first one passes 5. */
typedef enum dyn_test_fault {
    DYN_TEST_FAULT_NONE,    /* translates for ever, so there is no cycle */
    DYN_TEST_FAULT_NAN,     /* the state becomes NaN */
    DYN_TEST_FAULT_INF,     /* the state becomes infinite */
    DYN_TEST_FAULT_TANGENT, /* the state goes on, products with the Jacobian are NaN */
} dyn_test_fault;
dyn_map *dyn_test_translation(size_t size, dyn_test_fault fault);

/* Two blocks of one number: x' = 4x(1 − x) drives y' = (a + b x) y + x. Given the driver's
 * invariant density, the mean of ln(a + b x) is ln((A + √(A² − B²))/2) with A = a + b/2, B = b/2.
 */
dyn_map *dyn_test_driven(double a, double b);

/* n numbers of a fixed sequence in [−1, 1), different for every `seed`. */
void dyn_test_fill(double *values, size_t n, unsigned seed);

#endif
