/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_slice.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

void dyn_slice_level(size_t level, size_t *columns, size_t *rows)
{
    const size_t l = kern_size_min(level, DYN_SLICE_LEVELS - 1);
    *columns = (size_t)32 << l;
    *rows = (size_t)20 << l;
}

/* ---- Fields ------------------------------------------------------------------------------- */

static bool is_range(double low, double high)
{
    return isfinite(low) && isfinite(high) && low < high && isfinite(high - low);
}

kern_status dyn_slice_field_init(dyn_slice_field *field, size_t columns, size_t rows,
                                 const dyn_slice_range *range, kern_error *err)
{
    size_t samples;
    size_t bytes;
    *field = (dyn_slice_field){.columns = columns, .rows = rows, .range = *range};
    if (!is_range(range->a_low, range->a_high) || !is_range(range->b_low, range->b_high)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the range %g to %g by %g to %g is not accepted, it must be finite with "
                          "low below high",
                          range->a_low, range->a_high, range->b_low, range->b_high);
    }
    if (columns == 0 || rows == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a field of %zu × %zu samples is empty; accepted are at least 1 × 1",
                          columns, rows);
    }
    if (!kern_size_mul(columns, rows, &samples) ||
        !kern_size_mul(samples, sizeof(double), &bytes)) {
        return kern_raise(err, KERN_OVERFLOW, "a field of %zu × %zu samples is too large", columns,
                          rows);
    }
    field->values = malloc(bytes);
    if (field->values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a field of %zu × %zu samples",
                          columns, rows);
    }
    for (size_t i = 0; i < samples; i++) {
        field->values[i] = (double)NAN;
    }
    return KERN_OK;
}

void dyn_slice_field_fini(dyn_slice_field *field)
{
    free(field->values);
    *field = (dyn_slice_field){0};
}

/* Place of sample i of n in [low, high]. */
static double place(double low, double high, size_t i, size_t n)
{
    return low + (high - low) * (n > 1 ? (double)i / (double)(n - 1) : 0.5);
}

double dyn_slice_field_a(const dyn_slice_field *field, size_t column)
{
    return place(field->range.a_low, field->range.a_high, column, field->columns);
}

double dyn_slice_field_b(const dyn_slice_field *field, size_t row)
{
    return place(field->range.b_low, field->range.b_high, row, field->rows);
}

static void note_extremes(dyn_slice_field *f, const dyn_plane *plane)
{
    f->low = (double)NAN;
    f->high = (double)NAN;
    f->n_finite = 0;
    f->n_outside = 0;
    for (size_t i = 0; i < f->columns * f->rows; i++) {
        const double e = f->values[i];
        const double at[2] = {dyn_slice_field_a(f, i % f->columns),
                              dyn_slice_field_b(f, i / f->columns)};
        if (!isfinite(e)) {
            f->n_outside += plane != NULL && !dyn_plane_has(plane, at[0], at[1]) ? 1 : 0;
            continue;
        }
        if (f->n_finite == 0 || e < f->low) {
            f->low = e;
            f->low_at[0] = at[0];
            f->low_at[1] = at[1];
        }
        if (f->n_finite == 0 || e > f->high) {
            f->high = e;
            f->high_at[0] = at[0];
            f->high_at[1] = at[1];
        }
        f->n_finite++;
    }
    f->n_not_finite = f->columns * f->rows - f->n_finite - f->n_outside;
}

/* ---- Rows --------------------------------------------------------------------------------- */

enum { SEGMENT = 64 }; /* samples asked for at a time: what they need fits on a stack */

typedef struct slice_run {
    dyn_slice_field *field;
    const dyn_slice_source *source;
} slice_run;

static kern_status compute_row(void *context, dyn_map *map, int worker, size_t row, kern_error *err)
{
    const slice_run *run = context;
    const dyn_slice_field *f = run->field;
    double a[SEGMENT];
    double b[SEGMENT];
    (void)map;
    (void)err;
    for (size_t begin = 0; begin < f->columns; begin += SEGMENT) {
        const size_t n = kern_size_min(SEGMENT, f->columns - begin);
        for (size_t i = 0; i < n; i++) {
            a[i] = dyn_slice_field_a(f, begin + i);
            b[i] = dyn_slice_field_b(f, row);
        }
        run->source->energies(run->source->context, worker, n, a, b,
                              f->values + row * f->columns + begin);
    }
    return KERN_OK;
}

kern_status dyn_slice_compute(dyn_slice_field *field, const dyn_slice_source *source, int workers,
                              dyn_progress *progress, void *context, kern_error *err)
{
    slice_run run = {field, source};
    const dyn_scan_options options = {.items = field->rows,
                                      .workers =
                                          workers < source->workers ? workers : source->workers,
                                      .progress = progress,
                                      .context = context};
    const kern_status status = dyn_scan_run(NULL, &options, compute_row, &run, err);
    note_extremes(field, source->plane);
    return status;
}

/* ---- Energies of maps --------------------------------------------------------------------- */

typedef struct map_lane {
    dyn_map *map;     /* clone */
    double *x;        /* size, and block_count behind */
    double *energies; /* block_count */
} map_lane;

struct dyn_slice_map {
    const dyn_plane *plane;
    size_t block;
    int workers;
    map_lane *lanes;
};

static void map_energies(void *context, int worker, size_t n, const double *a, const double *b,
                         double *e)
{
    const dyn_slice_map *s = context;
    const map_lane *lane = &s->lanes[worker];
    for (size_t i = 0; i < n; i++) {
        if (!dyn_plane_has(s->plane, a[i], b[i])) {
            e[i] = (double)NAN;
            continue;
        }
        dyn_plane_point(s->plane, a[i], b[i], lane->x);
        if (s->block == SIZE_MAX) {
            e[i] = lane->map->kind->energy(lane->map, lane->x);
        } else {
            lane->map->kind->block_energies(lane->map, lane->x, lane->energies);
            e[i] = lane->energies[s->block];
        }
    }
}

static kern_status check_map(const dyn_map *map, const dyn_plane *plane, size_t block,
                             kern_error *err)
{
    const bool has =
        block == SIZE_MAX ? map->kind->energy != NULL : map->kind->block_energies != NULL;
    if (!has) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "map %s has no energy%s", map->kind->name,
                          block == SIZE_MAX ? "" : " of its blocks one by one");
    }
    if (map->size != plane->size || (block != SIZE_MAX && block >= map->block_count)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a plane among %zu numbers does not suit a map of %zu numbers in %zu "
                          "blocks",
                          plane->size, map->size, map->block_count);
    }
    return KERN_OK;
}

kern_status dyn_slice_map_create(dyn_slice_map **out, const dyn_map *map, const dyn_plane *plane,
                                 size_t block, int workers, kern_error *err)
{
    *out = NULL;
    KERN_TRY(check_map(map, plane, block, err));
    dyn_slice_map *s = calloc(1, sizeof *s);
    const int count = workers > 1 ? workers : 1;
    map_lane *lanes = calloc((size_t)count, sizeof *lanes);
    if (s == NULL || lanes == NULL) {
        free(s);
        free(lanes);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers", count);
    }
    *s = (dyn_slice_map){.plane = plane, .block = block, .workers = count, .lanes = lanes};
    kern_status status = KERN_OK;
    for (int i = 0; status == KERN_OK && i < count; i++) {
        status = map->kind->clone(&lanes[i].map, map, err);
        lanes[i].x = calloc(map->size + map->block_count, sizeof *lanes[i].x);
        lanes[i].energies = lanes[i].x + (lanes[i].x != NULL ? map->size : 0);
        if (status == KERN_OK && lanes[i].x == NULL) {
            status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", map->size);
        }
    }
    if (status != KERN_OK) {
        dyn_slice_map_destroy(s);
        return status;
    }
    *out = s;
    return KERN_OK;
}

void dyn_slice_map_destroy(dyn_slice_map *s)
{
    if (s != NULL) {
        for (int i = 0; i < s->workers; i++) {
            dyn_map_destroy(s->lanes[i].map);
            free(s->lanes[i].x);
        }
        free(s->lanes);
        free(s);
    }
}

dyn_slice_source dyn_slice_map_source(dyn_slice_map *s)
{
    return (dyn_slice_source){
        .context = s, .workers = s->workers, .plane = s->plane, .energies = map_energies};
}
