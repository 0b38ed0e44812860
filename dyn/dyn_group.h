/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Groups of points: which of many rows of numbers belong together.
 *
 * Columns are scaled to [0, 1] by their range first; a column whose range is less than 1e-6 of 1 +
 * its largest magnitude says nothing and is left out, since stretching it would show rounding.
 * Distances are the largest difference of a column.
 *
 *   dbscan     A point with at least `neighbours` points within `radius`, itself included, is in
 * the middle of a group, together with all of them; groups that touch are one; points that belong
 * to none are alone (Ester, Kriegel, Sander, Xu 1996). O(n²), for at most DYN_GROUP_DBSCAN_MOST
 * points. histogram  Points of the same bin, `radius` wide in every column, are a group. O(n). A
 * group that lies across the border of two bins becomes two.
 */
#ifndef BASIN_DYN_GROUP_H
#define BASIN_DYN_GROUP_H

#include "kernels/kern_status.h"

#include <stddef.h>
#include <stdint.h>

enum { DYN_GROUP_DBSCAN_MOST = 30000 };

typedef struct dyn_group_options {
    size_t method;     /* index into dyn_group_methods */
    double radius;     /* in (0, 1], of the range of a column */
    size_t neighbours; /* of dbscan, at least 1 */
} dyn_group_options;

/* dbscan, radius 0.1, 3 neighbours. */
dyn_group_options dyn_group_options_default(void);

typedef struct dyn_group_method {
    const char *name;
    const char *help;
    kern_status (*run)(int32_t *groups, size_t *n_groups, const double *rows, size_t n,
                       size_t width, const dyn_group_options *o, kern_error *err);
} dyn_group_method;

extern const dyn_group_method dyn_group_methods[];
extern const size_t dyn_group_method_count;

/* Group of each of n rows of `width` numbers, from 1 on in the order of their first members; 0 for
 * points that are alone. `rows` is scaled in place. KERN_INVALID_ARGUMENT for options outside their
 * domain, a number that is not finite, or too many rows for the method; KERN_NO_MEMORY. */
kern_status dyn_group_rows(int32_t *groups, size_t *n_groups, double *rows, size_t n, size_t width,
                           const dyn_group_options *options, kern_error *err);

#endif
