/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_cells.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>

#define CELLS_MOST (UINT64_C(1) << 62)

static kern_status check_side(const dyn_map *map, size_t i, double low, double high, size_t n,
                              kern_error *err)
{
    const double period = map->periods != NULL ? map->periods[i] : 0.0;
    if (!(low < high) || !isfinite(high - low)) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "coordinate %zu of the box reaches from %g to %g, accepted are two finite "
            "numbers in ascending order",
            i, low, high);
    }
    if (period > 0.0 && high - low > period * (1.0 + 1e-12)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "coordinate %zu of the box is %g long on a circle of %g; accepted is at "
                          "most once round",
                          i, high - low, period);
    }
    if (n == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "coordinate %zu of the box has 0 cells; accepted is 1 or more", i);
    }
    return KERN_OK;
}

kern_status dyn_cells_init(dyn_cells *cells, const dyn_map *map, const double *low,
                           const double *high, const size_t *n, kern_error *err)
{
    uint64_t total = 1;
    *cells = (dyn_cells){.size = map->size};
    if (map->size > DYN_CELLS_DIMENSIONS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "map %s has %zu coordinates; a grid of cells accepts at most %d (other "
                          "methods accept any number)",
                          map->kind->name, map->size, DYN_CELLS_DIMENSIONS);
    }
    for (size_t i = 0; i < map->size; i++) {
        KERN_TRY(check_side(map, i, low[i], high[i], n[i], err));
        if (n[i] > CELLS_MOST / total) {
            return kern_raise(err, KERN_OVERFLOW, "%zu cells along coordinate %zu are too many",
                              n[i], i);
        }
        total *= n[i];
        cells->low[i] = low[i];
        cells->width[i] = (high[i] - low[i]) / (double)n[i];
        cells->n[i] = n[i];
        cells->period[i] = map->periods != NULL ? map->periods[i] : 0.0;
    }
    return KERN_OK;
}

uint64_t dyn_cells_total(const dyn_cells *cells)
{
    uint64_t total = 1;
    for (size_t i = 0; i < cells->size; i++) {
        total *= cells->n[i];
    }
    return total;
}

bool dyn_cells_find(const dyn_cells *cells, const double *x, uint64_t *cell)
{
    uint64_t number = 0;
    for (size_t i = 0; i < cells->size; i++) {
        double from = x[i] - cells->low[i];
        if (cells->period[i] > 0.0) {
            from -= cells->period[i] * floor(from / cells->period[i]);
        }
        const double place = from / cells->width[i];
        double index = floor(place);
        /* The upper end belongs to the box; on a whole circle it is the lower one. */
        if (place == (double)cells->n[i]) {
            index -= 1.0;
        }
        /* Written so that NaN is outside. */
        if (!(index >= 0.0 && index < (double)cells->n[i])) {
            return false;
        }
        number = number * cells->n[i] + (uint64_t)index;
    }
    *cell = number;
    return true;
}

/* ---- Tables ------------------------------------------------------------------------------- */

/* The smallest capacity that `entries` fill by no more than half; 0 when it cannot be counted. */
static size_t capacity_for(size_t entries)
{
    size_t capacity = 64;
    while (capacity / 2 < entries) {
        if (!kern_size_mul(capacity, 2, &capacity)) {
            return 0;
        }
    }
    return capacity;
}

static kern_status allocate(dyn_cell_table *table, size_t capacity, kern_error *err)
{
    *table = (dyn_cell_table){.capacity = capacity, .stamp = 1};
    table->keys = calloc(capacity, sizeof *table->keys);
    table->values = calloc(capacity, sizeof *table->values);
    table->stamps = calloc(capacity, sizeof *table->stamps);
    if (table->keys == NULL || table->values == NULL || table->stamps == NULL) {
        dyn_cell_table_fini(table);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a table of %zu cells", capacity);
    }
    return KERN_OK;
}

kern_status dyn_cell_table_init(dyn_cell_table *table, size_t entries, kern_error *err)
{
    const size_t capacity = capacity_for(entries);
    *table = (dyn_cell_table){0};
    if (capacity == 0) {
        return kern_raise(err, KERN_OVERFLOW, "a table of %zu cells is too large", entries);
    }
    return allocate(table, capacity, err);
}

void dyn_cell_table_fini(dyn_cell_table *table)
{
    free(table->keys);
    free(table->values);
    free(table->stamps);
    *table = (dyn_cell_table){0};
}

void dyn_cell_table_clear(dyn_cell_table *table)
{
    table->used = 0;
    table->stamp++;
    if (table->stamp == 0) {
        for (size_t i = 0; i < table->capacity; i++) {
            table->stamps[i] = 0;
        }
        table->stamp = 1;
    }
}

/* Where a cell stands, or where it would be put. The table is never full. */
static size_t find_slot(const dyn_cell_table *table, uint64_t cell)
{
    const size_t mask = table->capacity - 1;
    size_t slot = (size_t)kern_rng_mix(cell) & mask;
    while (table->stamps[slot] == table->stamp && table->keys[slot] != cell) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

int32_t dyn_cell_table_get(const dyn_cell_table *table, uint64_t cell)
{
    const size_t slot = find_slot(table, cell);
    return table->stamps[slot] == table->stamp ? table->values[slot] : 0;
}

static void set_slot(dyn_cell_table *table, size_t slot, uint64_t cell, int32_t value)
{
    if (table->stamps[slot] != table->stamp) {
        table->stamps[slot] = table->stamp;
        table->keys[slot] = cell;
        table->used++;
    }
    table->values[slot] = value;
}

static kern_status grow(dyn_cell_table *table, kern_error *err)
{
    dyn_cell_table larger;
    KERN_TRY(allocate(&larger, 2 * table->capacity, err));
    for (size_t i = 0; i < table->capacity; i++) {
        if (table->stamps[i] == table->stamp) {
            set_slot(&larger, find_slot(&larger, table->keys[i]), table->keys[i], table->values[i]);
        }
    }
    dyn_cell_table_fini(table);
    *table = larger;
    return KERN_OK;
}

kern_status dyn_cell_table_put(dyn_cell_table *table, uint64_t cell, int32_t value, int32_t *before,
                               kern_error *err)
{
    if (table->used >= table->capacity / 2) {
        KERN_TRY(grow(table, err));
    }
    const size_t slot = find_slot(table, cell);
    if (before != NULL) {
        *before = table->stamps[slot] == table->stamp ? table->values[slot] : 0;
    }
    set_slot(table, slot, cell, value);
    return KERN_OK;
}

bool dyn_cell_table_next(const dyn_cell_table *table, size_t *slot, uint64_t *cell, int32_t *value)
{
    while (*slot < table->capacity) {
        const size_t here = (*slot)++;
        if (table->stamps[here] == table->stamp) {
            *cell = table->keys[here];
            *value = table->values[here];
            return true;
        }
    }
    return false;
}
