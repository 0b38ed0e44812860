/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameter values as text: "name=value" or, for a list, "name=1,2,3".
 */
#ifndef BASIN_DYN_ASSIGNMENT_H
#define BASIN_DYN_ASSIGNMENT_H

#include "dyn/dyn_map.h"

#include <stddef.h>

enum { DYN_NAME_TEXT = 64 }; /* bytes of a parameter's name, the final zero included */

typedef struct dyn_assignment {
    const char *text; /* borrowed */
} dyn_assignment;

/* What an assignment says. Zero-initialise; release with dyn_assigned_fini. */
typedef struct dyn_assigned {
    char name[DYN_NAME_TEXT];
    double *values; /* n ≥ 1 finite numbers, owned */
    size_t n;
} dyn_assigned;

/* Reads an assignment. KERN_INVALID_ARGUMENT when the text has no name, no "=", or a value that is
 * not a finite decimal number. On failure *out is zeroed. */
kern_status dyn_assigned_init(dyn_assigned *out, const dyn_assignment *assignment, kern_error *err);
void dyn_assigned_fini(dyn_assigned *a);

/* Sets a parameter of a map that exists. KERN_INVALID_ARGUMENT for a text as above, for a list, and
 * as dyn_map_set_param. */
kern_status dyn_assignment_apply(const dyn_assignment *assignment, dyn_map *map, kern_error *err);

/* Reads n numbers separated by commas into a new block that the caller frees. The sentence does not
 * name what the numbers are for. */
kern_status dyn_read_numbers(const char *text, double **values, size_t *n, kern_error *err);

#endif
