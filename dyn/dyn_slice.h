/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An energy on a plane: the field of its values on a lattice, for drawing.
 *
 * A field of w × h samples covers [a_low, a_high] × [b_low, b_high] from end to end: column i is at
 * a_low + i (a_high − a_low)/(w − 1), a single one in the middle, and likewise for rows, which run
 * upwards. Values that are not finite are kept as they are and counted, apart from those at places
 * that have no state (dyn_plane_has), whose value is NaN.
 *
 * What is asked for energies is a source, so that a map's own energy and a model's reduced one
 * (models/model_slice.h) are drawn alike.
 */
#ifndef BASIN_DYN_SLICE_H
#define BASIN_DYN_SLICE_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_plane.h"
#include "dyn/dyn_state.h"

#include <stddef.h>

/* e_i = the energy at (a_i, b_i), i < n, NaN where there is no state. Called by several threads at
 * once, each with a number of its own below `workers`. A value depends on a_i and b_i alone. */
typedef struct dyn_slice_source {
    void *context;
    int workers;            /* that may ask at once */
    const dyn_plane *plane; /* says which places have a state; NULL: all */
    void (*energies)(void *context, int worker, size_t n, const double *a, const double *b,
                     double *e);
} dyn_slice_source;

typedef struct dyn_slice_range {
    double a_low, a_high;
    double b_low, b_high;
} dyn_slice_range;

typedef struct dyn_slice_field {
    size_t columns, rows;
    dyn_slice_range range;
    double *values;               /* rows × columns; owned */
    double low, high;             /* of the finite values; NaN when there is none */
    double low_at[2], high_at[2]; /* (a, b) of the samples that have them */
    size_t n_finite;
    size_t n_not_finite;
    size_t n_outside; /* without a state */
} dyn_slice_field;

/* Progressive sizes: 32×20, 64×40, 128×80, 256×160. Level 0 is what a first look takes. */
enum { DYN_SLICE_LEVELS = 4 };
void dyn_slice_level(size_t level, size_t *columns, size_t *rows);

/* Reserves a field whose values are NaN. KERN_INVALID_ARGUMENT unless there is at least one sample
 * and the range is finite with low < high; KERN_OVERFLOW, KERN_NO_MEMORY. */
kern_status dyn_slice_field_init(dyn_slice_field *field, size_t columns, size_t rows,
                                 const dyn_slice_range *range, kern_error *err);
void dyn_slice_field_fini(dyn_slice_field *field);

/* Coordinates of a sample. */
double dyn_slice_field_a(const dyn_slice_field *field, size_t column);
double dyn_slice_field_b(const dyn_slice_field *field, size_t row);

/* Computes all values, rows spread over `workers` (at most the source's), and sums them up. The
 * values do not depend on the number of workers. `progress` (may be NULL) counts rows; when it
 * returns false the call ends with KERN_INTERRUPTED, and rows that were not done are NaN. */
kern_status dyn_slice_compute(dyn_slice_field *field, const dyn_slice_source *source, int workers,
                              dyn_progress *progress, void *context, kern_error *err);

/* The energy of any map as a source: that of block `block`, or the sum when it is SIZE_MAX. One
 * clone of the map per worker. */
typedef struct dyn_slice_map dyn_slice_map;

/* `plane` must outlive it and keep its axes. KERN_INVALID_ARGUMENT when the map has no energy, no
 * energies of blocks where one is asked for, or another size than the plane; errors of clone. Cost:
 * one energy of the whole state a sample. */
kern_status dyn_slice_map_create(dyn_slice_map **out, const dyn_map *map, const dyn_plane *plane,
                                 size_t block, int workers, kern_error *err);
void dyn_slice_map_destroy(dyn_slice_map *s);
dyn_slice_source dyn_slice_map_source(dyn_slice_map *s);

#endif
