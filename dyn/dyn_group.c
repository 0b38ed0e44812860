/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_group.h"

#include "dyn/dyn_cells.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdlib.h>

/* A column with less range than this, relative to 1 + its largest magnitude, says nothing. */
#define FLAT 1e-6

dyn_group_options dyn_group_options_default(void)
{
    return (dyn_group_options){.method = 0, .radius = 0.1, .neighbours = 3};
}

/* ---- Scaling ------------------------------------------------------------------------------ */

static void scale_column(double *rows, size_t n, size_t width, size_t column)
{
    double low = rows[column];
    double high = low;
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, rows[i * width + column]);
        high = fmax(high, rows[i * width + column]);
    }
    const double range = high - low;
    const bool flat = !(range > FLAT * (1.0 + fmax(fabs(low), fabs(high))));
    for (size_t i = 0; i < n; i++) {
        double *value = &rows[i * width + column];
        *value = flat ? 0.0 : (*value - low) / range;
    }
}

static kern_status check(const double *rows, size_t n, size_t width, const dyn_group_options *o,
                         kern_error *err)
{
    if (o->method >= dyn_group_method_count || !(o->radius > 0.0 && o->radius <= 1.0) ||
        o->neighbours == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "groups of radius %g and %zu neighbours: accepted are a radius above 0 "
                          "and up to 1, and 1 neighbour or more",
                          o->radius, o->neighbours);
    }
    for (size_t i = 0; i < n * width; i++) {
        if (!isfinite(rows[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "feature %zu of orbit %zu is %g; accepted are finite numbers",
                              i % width, i / width, rows[i]);
        }
    }
    return KERN_OK;
}

kern_status dyn_group_rows(int32_t *groups, size_t *n_groups, double *rows, size_t n, size_t width,
                           const dyn_group_options *options, kern_error *err)
{
    *n_groups = 0;
    KERN_TRY(check(rows, n, width, options, err));
    for (size_t column = 0; column < width && n > 0; column++) {
        scale_column(rows, n, width, column);
    }
    return dyn_group_methods[options->method].run(groups, n_groups, rows, n, width, options, err);
}

/* ---- dbscan ------------------------------------------------------------------------------- */

static bool near(const double *a, const double *b, size_t width, double radius)
{
    for (size_t i = 0; i < width; i++) {
        if (!(fabs(a[i] - b[i]) <= radius)) {
            return false;
        }
    }
    return true;
}

/* Points within the radius of point i, itself included, into `found`. */
static size_t find_neighbours(const double *rows, size_t n, size_t width, double radius, size_t i,
                              size_t *found)
{
    size_t count = 0;
    for (size_t k = 0; k < n; k++) {
        if (near(rows + i * width, rows + k * width, width, radius)) {
            found[count++] = k;
        }
    }
    return count;
}

/* Everything that can be reached from point i, which is in the middle of group `id`. */
static void grow_group(int32_t *groups, const double *rows, size_t n, size_t width,
                       const dyn_group_options *o, size_t *queue, int32_t id)
{
    size_t *found = queue + n;
    size_t waiting = 1;
    while (waiting > 0) {
        const size_t i = queue[--waiting];
        const size_t count = find_neighbours(rows, n, width, o->radius, i, found);
        for (size_t k = 0; count >= o->neighbours && k < count; k++) {
            if (groups[found[k]] == 0) {
                groups[found[k]] = id;
                queue[waiting++] = found[k];
            }
        }
    }
}

static kern_status run_dbscan(int32_t *groups, size_t *n_groups, const double *rows, size_t n,
                              size_t width, const dyn_group_options *o, kern_error *err)
{
    if (n > DYN_GROUP_DBSCAN_MOST) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "dbscan compares every two of %zu orbits; accepted are at most %d "
                          "(histogram accepts more)",
                          n, DYN_GROUP_DBSCAN_MOST);
    }
    size_t *queue = calloc(2 * n + 1, sizeof *queue);
    if (queue == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to group %zu orbits", n);
    }
    for (size_t i = 0; i < n; i++) {
        groups[i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (groups[i] == 0 &&
            find_neighbours(rows, n, width, o->radius, i, queue + n) >= o->neighbours) {
            groups[i] = (int32_t)++ * n_groups;
            queue[0] = i;
            grow_group(groups, rows, n, width, o, queue, groups[i]);
        }
    }
    free(queue);
    return KERN_OK;
}

/* ---- histogram ---------------------------------------------------------------------------- */

/* Bins are told by a hash of their numbers: with 64 bits, two of 10⁶ bins share one with
 * probability 3e-8. */
static uint64_t find_bin(const double *row, size_t width, double radius)
{
    uint64_t bin = 0;
    for (size_t i = 0; i < width; i++) {
        bin = kern_rng_hash(bin, (uint64_t)(row[i] / radius));
    }
    return bin;
}

static kern_status run_histogram(int32_t *groups, size_t *n_groups, const double *rows, size_t n,
                                 size_t width, const dyn_group_options *o, kern_error *err)
{
    dyn_cell_table table;
    kern_status status = dyn_cell_table_init(&table, 64, err);
    for (size_t i = 0; status == KERN_OK && i < n; i++) {
        const uint64_t bin = find_bin(rows + i * width, width, o->radius);
        groups[i] = dyn_cell_table_get(&table, bin);
        if (groups[i] == 0) {
            groups[i] = (int32_t)++ * n_groups;
            status = dyn_cell_table_put(&table, bin, groups[i], NULL, err);
        }
    }
    dyn_cell_table_fini(&table);
    return status;
}

const dyn_group_method dyn_group_methods[] = {
    {"dbscan", "groups of points that are close to several others", run_dbscan},
    {"histogram", "points of the same bin", run_histogram},
};
const size_t dyn_group_method_count = sizeof dyn_group_methods / sizeof dyn_group_methods[0];
