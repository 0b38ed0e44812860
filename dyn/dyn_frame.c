/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_frame.h"

#include "kernels/kern_lapack.h"
#include "kernels/kern_parallel.h"
#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A group of vectors is the least that a worker takes. */
static int count_workers(size_t k, int workers)
{
    const size_t groups = (k + DYN_MAP_GROUP - 1) / DYN_MAP_GROUP;
    if (workers < 1) {
        return 1;
    }
    return (size_t)workers < groups ? workers : (int)kern_size_max(groups, 1);
}

static kern_status make_rows(dyn_frame *frame, kern_error *err)
{
    size_t count;
    if (!kern_size_mul(frame->k, frame->n, &count) || count > SIZE_MAX / sizeof(double)) {
        return kern_raise(err, KERN_OVERFLOW, "a frame of %zu vectors of %zu numbers is too large",
                          frame->k, frame->n);
    }
    frame->rows = calloc(count, sizeof *frame->rows);
    if (frame->rows == NULL) {
        return kern_raise(err, KERN_NO_MEMORY,
                          "no memory for a frame of %zu vectors of %zu numbers", frame->k,
                          frame->n);
    }
    return KERN_OK;
}

static kern_status make_lanes(dyn_frame *frame, dyn_map *map, bool whole, kern_error *err)
{
    frame->lanes = calloc((size_t)frame->workers, sizeof *frame->lanes);
    if (frame->lanes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %d workers", frame->workers);
    }
    for (int i = 0; i < frame->workers; i++) {
        dyn_frame_lane *lane = &frame->lanes[i];
        lane->map = map;
        if (i > 0) {
            lane->map = NULL;
            KERN_TRY(map->kind->clone(&lane->map, map, err));
        }
        if (whole) {
            continue;
        }
        lane->tangents = calloc((DYN_MAP_GROUP + 1) * map->size, sizeof *lane->tangents);
        if (lane->tangents == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for %d states of %zu numbers",
                              DYN_MAP_GROUP + 1, map->size);
        }
    }
    return KERN_OK;
}

kern_status dyn_frame_init(dyn_frame *frame, dyn_map *map, size_t block, size_t k, int workers,
                           kern_error *err)
{
    const bool whole = block == DYN_FRAME_WHOLE;
    *frame = (dyn_frame){.k = k,
                         .n = whole ? map->size : map->block_width,
                         .offset = whole ? 0 : block * map->block_width,
                         .workers = count_workers(k, workers)};
    kern_status status = make_rows(frame, err);
    if (status == KERN_OK) {
        status = make_lanes(frame, map, whole, err);
    }
    if (status != KERN_OK) {
        dyn_frame_fini(frame);
    }
    return status;
}

void dyn_frame_fini(dyn_frame *frame)
{
    for (int i = 0; frame->lanes != NULL && i < frame->workers; i++) {
        if (i > 0) {
            dyn_map_destroy(frame->lanes[i].map);
        }
        free(frame->lanes[i].tangents);
    }
    free(frame->lanes);
    free(frame->rows);
    *frame = (dyn_frame){0};
}

/* Rows of a frame in a block, through full states with support there. */
static void push_block_rows(const dyn_frame *frame, const dyn_frame_lane *lane, size_t begin,
                            size_t end, double *y)
{
    const size_t size = lane->map->size;
    const size_t bytes = frame->n * sizeof *frame->rows;
    double *work = lane->tangents + DYN_MAP_GROUP * size;
    for (size_t first = begin; first < end; first += DYN_MAP_GROUP) {
        const size_t count = kern_size_min(DYN_MAP_GROUP, end - first);
        double *rows = frame->rows + first * frame->n;
        double *support = lane->tangents + frame->offset;
        memset(lane->tangents, 0, count * size * sizeof *lane->tangents);
        for (size_t t = 0; t < count; t++) {
            memcpy(support + t * size, rows + t * frame->n, bytes);
        }
        dyn_map_jvp_blocks(lane->map, frame->x, count, lane->tangents, first == begin ? y : NULL,
                           lane->tangents, work);
        for (size_t t = 0; t < count; t++) {
            memcpy(rows + t * frame->n, support + t * size, bytes);
        }
    }
}

/* A worker's share, in whole groups. */
static void push_share(void *context, int worker, int workers)
{
    const dyn_frame *frame = context;
    const dyn_frame_lane *lane = &frame->lanes[worker];
    double *y = worker == 0 ? frame->y : NULL;
    size_t begin;
    size_t end;
    kern_parallel_share(frame->k, DYN_MAP_GROUP, worker, workers, &begin, &end);
    if (lane->tangents == NULL) {
        double *rows = frame->rows + begin * frame->n;
        dyn_map_jvp_many(lane->map, frame->x, end - begin, rows, y, rows);
    } else {
        push_block_rows(frame, lane, begin, end, y);
    }
}

kern_status dyn_frame_draw(double *rows, size_t n, size_t k, uint64_t seed, const char *stream,
                           double *r, double *work, kern_error *err)
{
    kern_rng *rng = kern_rng_create(seed, stream, 0);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    for (size_t i = 0; i < k * n; i++) {
        rows[i] = kern_rng_normal(rng);
    }
    kern_rng_destroy(rng);
    return kern_lapack_orthonormalise(n, k, rows, r, work, err);
}

void dyn_frame_push(dyn_frame *frame, const double *x, double *y)
{
    frame->x = x;
    frame->y = y;
    kern_parallel_run(frame->workers, push_share, frame);
}
