/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_spectrum_pool.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- Memory ------------------------------------------------------------------------------- */

/* k + 1 that are kept and as many from one run. */
static size_t entries_of(size_t k)
{
    return 2 * (k + 1);
}

size_t dyn_spectrum_pool_cost(size_t n, size_t k)
{
    size_t rows;
    size_t numbers;
    size_t bytes;
    if (k > SIZE_MAX / 16 - 2) {
        return SIZE_MAX;
    }
    const size_t capacity = entries_of(k);
    rows = 4 * capacity + 2;
    if (!kern_size_mul(rows, n, &numbers) || !kern_size_mul(numbers, sizeof(double), &bytes) ||
        bytes > SIZE_MAX / 4) {
        return SIZE_MAX;
    }
    return kern_arena_cost(capacity, sizeof(dyn_pool_entry)) +
           kern_arena_cost(capacity, sizeof(bool)) +
           kern_arena_cost(2 * capacity * n, sizeof(double)) +
           kern_arena_cost((2 * capacity + 2) * n, sizeof(double));
}

void dyn_spectrum_pool_init(dyn_spectrum_pool *pool, kern_arena *arena, size_t n, size_t k,
                            double tol, double merge)
{
    const size_t capacity = entries_of(k);
    *pool = (dyn_spectrum_pool){.n = n,
                                .k = k,
                                .capacity = capacity,
                                .tol = tol,
                                .merge = merge,
                                .angle = sqrt(tol / merge)};
    pool->entries = kern_arena_alloc(arena, capacity, sizeof *pool->entries);
    pool->taken = kern_arena_calloc(arena, capacity, sizeof *pool->taken);
    pool->slots = kern_arena_alloc(arena, 2 * capacity * n, sizeof *pool->slots);
    pool->frame = kern_arena_alloc(arena, (2 * capacity + 2) * n, sizeof *pool->frame);
}

void dyn_spectrum_pool_clear(dyn_spectrum_pool *pool)
{
    memset(pool->taken, 0, pool->capacity * sizeof *pool->taken);
    pool->count = 0;
    pool->scale = 0.0;
    pool->radius = 0.0;
}

const double *dyn_spectrum_pool_vector(const dyn_spectrum_pool *pool, const dyn_pool_entry *entry)
{
    return pool->slots + 2 * entry->slot * pool->n;
}

/* ---- Spans -------------------------------------------------------------------------------- */

/* Copies `row` behind the `count` rows of the frame, takes away what lies in their span, twice
 * since once leaves rounding behind, and returns the length of what is left. */
static double project(dyn_spectrum_pool *pool, size_t count, const double *row)
{
    const size_t n = pool->n;
    double *left = pool->frame + count * n;
    double sum = 0.0;
    memcpy(left, row, n * sizeof *left);
    for (size_t i = 0; i < 2 * count; i++) {
        const double *q = pool->frame + i % count * n;
        double dot = 0.0;
        for (size_t l = 0; l < n; l++) {
            dot += q[l] * left[l];
        }
        for (size_t l = 0; l < n; l++) {
            left[l] -= dot * q[l];
        }
    }
    for (size_t l = 0; l < n; l++) {
        sum += left[l] * left[l];
    }
    return sqrt(sum);
}

/* Adds the direction of `row` to a frame of `count` rows, unless it has none of its own. Returns
 * the new number of rows. */
static size_t extend_frame(dyn_spectrum_pool *pool, size_t count, const double *row)
{
    const double length = project(pool, count, row);
    double *left = pool->frame + count * pool->n;
    if (!(length > pool->angle * pool->angle)) {
        return count;
    }
    for (size_t l = 0; l < pool->n; l++) {
        left[l] /= length;
    }
    return count + 1;
}

static bool same_value(const dyn_spectrum_pool *pool, const dyn_pool_entry *entry, double re,
                       double im)
{
    return hypot(entry->re - re, entry->im - im) <= pool->merge * pool->scale;
}

/* Whether the vector in `rows` (two when im is not 0) lies in the real span of the vectors that the
 * pool has for this value. A complex pair spans two real dimensions. */
static bool is_spanned(dyn_spectrum_pool *pool, double re, double im, const double *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < pool->count; i++) {
        const dyn_pool_entry *entry = &pool->entries[i];
        if (same_value(pool, entry, re, im)) {
            const double *vector = dyn_spectrum_pool_vector(pool, entry);
            count = extend_frame(pool, count, vector);
            if (entry->im != 0.0) {
                count = extend_frame(pool, count, vector + pool->n);
            }
        }
    }
    const double first = project(pool, count, rows);
    const double second = im != 0.0 ? project(pool, count, rows + pool->n) : 0.0;
    return hypot(first, second) <= pool->angle;
}

/* ---- Entries ------------------------------------------------------------------------------ */

static void store_vector(dyn_spectrum_pool *pool, dyn_pool_entry *entry, const double *rows)
{
    const size_t n = pool->n;
    size_t slot = 0;
    while (pool->taken[slot]) {
        slot++;
    }
    pool->taken[slot] = true;
    entry->slot = slot;
    double *to = pool->slots + 2 * slot * n;
    memcpy(to, rows, n * sizeof *to);
    if (entry->im != 0.0) {
        memcpy(to + n, rows + n, n * sizeof *to);
    } else {
        memset(to + n, 0, n * sizeof *to);
    }
}

/* Puts an entry behind all whose rank is not smaller. */
static void insert_entry(dyn_spectrum_pool *pool, const dyn_pool_entry *entry)
{
    size_t i = pool->count++;
    while (i > 0 && pool->entries[i - 1].rank < entry->rank) {
        pool->entries[i] = pool->entries[i - 1];
        i--;
    }
    pool->entries[i] = *entry;
}

/* Confirms what earlier runs have of this value, and sets *rank to that of the first in the pool.
 * Returns whether any was not confirmed before. */
static bool confirm_value(dyn_spectrum_pool *pool, double re, double im, size_t run, double *rank)
{
    const double near = fmax(pool->merge * pool->radius, 4.0 * pool->tol * pool->scale);
    bool fresh = false;
    bool found = false;
    for (size_t i = 0; i < pool->count; i++) {
        dyn_pool_entry *entry = &pool->entries[i];
        if (entry->first_run == run || !same_value(pool, entry, re, im)) {
            continue;
        }
        *rank = found ? *rank : entry->rank;
        found = true;
        if (!entry->confirmed && hypot(entry->re - re, entry->im - im) <= near) {
            entry->confirmed = true;
            fresh = true;
        }
    }
    return fresh;
}

/* Drops what ranks behind the k leading eigenvalues. Returns whether any kept is new in `run`. */
static bool keep_leading(dyn_spectrum_pool *pool, size_t run)
{
    size_t size = 0;
    size_t kept = 0;
    bool fresh = false;
    for (size_t i = 0; i < pool->count; i++) {
        if (size >= pool->k) {
            pool->taken[pool->entries[i].slot] = false;
            continue;
        }
        size += pool->entries[i].im != 0.0 ? 2 : 1;
        fresh = fresh || pool->entries[i].first_run == run;
        kept++;
    }
    pool->count = kept;
    return fresh;
}

bool dyn_spectrum_pool_absorb(dyn_spectrum_pool *pool, const kern_arpack_result *found,
                              kern_arpack_end end, size_t run)
{
    bool fresh = false;
    pool->scale = fmax(pool->scale, found->scale);
    for (size_t j = 0; j < found->n_converged; j++) {
        pool->radius = fmax(pool->radius, hypot(found->re[j], found->im[j]));
    }
    for (size_t j = 0; j < found->n_converged; j++) {
        const double *rows = found->vectors + j * pool->n;
        dyn_pool_entry entry = {.re = found->re[j],
                                .im = found->im[j],
                                .residual = found->residuals[j],
                                .rank = kern_arpack_rank(end, found->re[j], found->im[j]),
                                .first_run = run};
        if (entry.im < 0.0) {
            continue;
        }
        if (confirm_value(pool, entry.re, entry.im, run, &entry.rank)) {
            fresh = true;
        }
        if (run == 0 || !is_spanned(pool, entry.re, entry.im, rows)) {
            store_vector(pool, &entry, rows);
            insert_entry(pool, &entry);
        }
    }
    return keep_leading(pool, run) || fresh;
}

size_t dyn_spectrum_pool_size(const dyn_spectrum_pool *pool, bool *confirmed)
{
    size_t size = 0;
    *confirmed = true;
    for (size_t i = 0; i < pool->count; i++) {
        size += pool->entries[i].im != 0.0 ? 2 : 1;
        *confirmed = *confirmed && pool->entries[i].confirmed;
    }
    return size;
}
