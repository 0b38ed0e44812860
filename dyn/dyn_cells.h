/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cells of a box, by number, and sparse tables from cells to numbers: what following an orbit on a
 * grid needs. Memory is that of the cells that occur, never that of the grid.
 */
#ifndef BASIN_DYN_CELLS_H
#define BASIN_DYN_CELLS_H

#include "dyn/dyn_map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DYN_CELLS_DIMENSIONS = 3 };

/* A box cut into cells. */
typedef struct dyn_cells {
    size_t size;                         /* dimensions, at most DYN_CELLS_DIMENSIONS */
    double low[DYN_CELLS_DIMENSIONS];    /* lower end */
    double width[DYN_CELLS_DIMENSIONS];  /* of a cell */
    size_t n[DYN_CELLS_DIMENSIONS];      /* cells along each coordinate */
    double period[DYN_CELLS_DIMENSIONS]; /* of coordinates on a circle, or 0 */
} dyn_cells;

/* Cuts low … high (map->size numbers each) into n[i] cells along coordinate i. Coordinates on
 * circles are taken modulo their period; a box may cover part of a circle, and no more than all of
 * it. KERN_INVALID_ARGUMENT for more than DYN_CELLS_DIMENSIONS coordinates, an empty box, or no
 * cells; KERN_OVERFLOW for more than 2⁶² cells. */
kern_status dyn_cells_init(dyn_cells *cells, const dyn_map *map, const double *low,
                           const double *high, const size_t *n, kern_error *err);

/* Cells of the whole box. */
uint64_t dyn_cells_total(const dyn_cells *cells);

/* Number of the cell that x lies in; false outside the box, and for a state that is not finite. */
bool dyn_cells_find(const dyn_cells *cells, const double *x, uint64_t *cell);

/* From cells to numbers: open addressing with linear probing, cleared at no cost. */
typedef struct dyn_cell_table {
    uint64_t *keys;
    int32_t *values;
    uint32_t *stamps; /* an entry counts when its stamp is that of the table */
    uint32_t stamp;
    size_t capacity; /* a power of two */
    size_t used;
} dyn_cell_table;

/* A table with room for `entries` before it grows. KERN_OVERFLOW, KERN_NO_MEMORY. */
kern_status dyn_cell_table_init(dyn_cell_table *table, size_t entries, kern_error *err);
void dyn_cell_table_fini(dyn_cell_table *table);

/* Removes all entries. */
void dyn_cell_table_clear(dyn_cell_table *table);

/* Number of a cell, 0 when it has none. */
int32_t dyn_cell_table_get(const dyn_cell_table *table, uint64_t cell);

/* Gives a cell a number, and tells in *before (unless NULL) what it had. The table grows when it is
 * more than half full: KERN_NO_MEMORY, and then it is as before. */
kern_status dyn_cell_table_put(dyn_cell_table *table, uint64_t cell, int32_t value, int32_t *before,
                               kern_error *err);

/* The next entry from *slot on (0 to begin with), which moves behind it; false at the end. */
bool dyn_cell_table_next(const dyn_cell_table *table, size_t *slot, uint64_t *cell, int32_t *value);

#endif
