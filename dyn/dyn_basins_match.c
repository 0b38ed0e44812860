/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_basins_match.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points of a set that a distance looks at. */
enum { POINTS_MOST = 1000 };

/* ---- Matching ----------------------------------------------------------------------------- */

static double centroid_distance(const dyn_map *map, const dyn_attractor *a, const dyn_attractor *b)
{
    double largest = 0.0;
    for (size_t i = 0; i < map->size; i++) {
        double gap = 0.0;
        for (size_t t = 0; t < a->n_points; t++) {
            gap += a->points[t * map->size + i] / (double)a->n_points;
        }
        for (size_t t = 0; t < b->n_points; t++) {
            gap -= b->points[t * map->size + i] / (double)b->n_points;
        }
        largest = fmax(largest, fabs(gap));
    }
    return largest;
}

/* The closest pair of which neither is matched; false when none is within the threshold. */
static bool find_pair(const double *distances, const int32_t *ids, const bool *taken, size_t n,
                      size_t n_known, double threshold, size_t *pair)
{
    bool found = false;
    for (size_t k = 0; k < n * n_known; k++) {
        const bool open = ids[k / n_known] == 0 && !taken[k % n_known];
        /* Written so that NaN matches nothing. */
        if (open && distances[k] <= threshold && (!found || distances[k] < distances[*pair])) {
            *pair = k;
            found = true;
        }
    }
    return found;
}

kern_status dyn_attractors_match(int32_t *ids, const dyn_map *map, const dyn_attractor *now,
                                 size_t n, const dyn_attractor *known, size_t n_known,
                                 double threshold, bool centroid, int32_t *next, kern_error *err)
{
    size_t pairs;
    size_t pair = 0;
    double *distances = NULL;
    bool *taken = calloc(n_known + 1, sizeof *taken);
    if (kern_size_mul(n, n_known, &pairs) && pairs < SIZE_MAX / sizeof *distances) {
        distances = calloc(pairs + 1, sizeof *distances);
    }
    if (taken == NULL || distances == NULL) {
        free(taken);
        free(distances);
        return kern_raise(err, KERN_NO_MEMORY, "no memory to match %zu attractors with %zu", n,
                          n_known);
    }
    for (size_t k = 0; k < pairs; k++) {
        const dyn_attractor *a = &now[k / n_known];
        const dyn_attractor *b = &known[k % n_known];
        distances[k] = centroid ? centroid_distance(map, a, b)
                                : dyn_attractor_distance(map, a, b, POINTS_MOST);
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = 0;
    }
    while (find_pair(distances, ids, taken, n, n_known, threshold, &pair)) {
        ids[pair / n_known] = known[pair % n_known].id;
        taken[pair % n_known] = true;
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = ids[i] != 0 ? ids[i] : (*next)++;
    }
    free(taken);
    free(distances);
    return KERN_OK;
}

/* ---- Sweeps ------------------------------------------------------------------------------- */

typedef struct sweep {
    dyn_basins_sweep *out;
    const dyn_basins_sweep_options *o;
    dyn_basins_options basins;
    dyn_map *map;
    dyn_attractor *seen; /* every id as it was seen last: borrowed points, owned array */
    size_t n_seen;
    double *seeds; /* one point of each attractor of the column before */
    size_t column;
    const dyn_basins_options *caller;
} sweep;

static bool watch(void *context, size_t done, size_t total)
{
    const sweep *s = context;
    return s->caller->progress(s->caller->context, s->column * total + done, s->o->n * total);
}

static kern_status choose_threshold(sweep *s, kern_error *err)
{
    const double *low = s->basins.starts.low;
    const double *high = s->basins.starts.high;
    double longest = 0.0;
    s->out->threshold = s->o->threshold;
    if (s->o->threshold > 0.0) {
        return KERN_OK;
    }
    for (size_t i = 0; low != NULL && high != NULL && i < s->map->size; i++) {
        longest = fmax(longest, high[i] - low[i]);
    }
    s->out->threshold = 0.05 * longest;
    if (!(longest > 0.0) || !(s->o->threshold >= 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "attractors are matched within a threshold of %g; accepted are numbers "
                          "above 0, or 0 where the starts have a box",
                          s->o->threshold);
    }
    return KERN_OK;
}

/* Remembers where the attractors of a column are. */
static kern_status remember(sweep *s, const dyn_basins_column *c, kern_error *err)
{
    const size_t size = s->map->size;
    const size_t n = c->basins.n_attractors;
    const size_t n_ids = s->out->n_ids;
    dyn_attractor *seen = realloc(s->seen, (n_ids + 1) * sizeof *seen);
    double *seeds = calloc(n * size + 1, sizeof *seeds);
    s->seen = seen != NULL ? seen : s->seen;
    if (seen == NULL || seeds == NULL) {
        free(seeds);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu attractors", n_ids);
    }
    for (size_t i = 0; i < n; i++) {
        seen[c->ids[i] - 1] = c->basins.attractors[i];
        seen[c->ids[i] - 1].id = c->ids[i];
        memcpy(seeds + i * size, c->basins.attractors[i].points, size * sizeof *seeds);
    }
    s->n_seen = n_ids;
    free(s->seeds);
    s->seeds = seeds;
    s->basins.seeds = seeds;
    s->basins.n_seeds = n;
    return KERN_OK;
}

static kern_status run_column(sweep *s, size_t index, kern_error *err)
{
    dyn_basins_column *c = &s->out->columns[index];
    const double part = s->o->n > 1 ? (double)index / (double)(s->o->n - 1) : 0.0;
    int32_t next = (int32_t)s->out->n_ids + 1;
    s->column = index;
    c->parameter = (1.0 - part) * s->o->from + part * s->o->to;
    KERN_TRY(dyn_map_set_param(s->map, s->o->vary, c->parameter, err));
    KERN_TRY(dyn_basins_init(&c->basins, s->map, &s->basins, err));
    c->ids = calloc(c->basins.n_attractors + 1, sizeof *c->ids);
    if (c->ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu ids", c->basins.n_attractors);
    }
    KERN_TRY(dyn_attractors_match(c->ids, s->map, c->basins.attractors, c->basins.n_attractors,
                                  s->seen, s->n_seen, s->out->threshold, s->o->centroid, &next,
                                  err));
    s->out->n_ids = (size_t)next - 1;
    if (!s->o->keep_labels) {
        free(c->basins.labels);
        c->basins.labels = NULL;
    }
    return remember(s, c, err);
}

static kern_status run_sweep(sweep *s, const dyn_map *map, kern_error *err)
{
    if (s->o->n == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a sweep of 0 columns is empty; accepted is 1 or more");
    }
    KERN_TRY(map->kind->clone(&s->map, map, err));
    KERN_TRY(dyn_map_set_param(s->map, s->o->vary, s->o->to, err));
    KERN_TRY(choose_threshold(s, err));
    s->out->columns = calloc(s->o->n, sizeof *s->out->columns);
    if (s->out->columns == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu columns", s->o->n);
    }
    s->out->n = s->o->n;
    for (size_t i = 0; i < s->o->n; i++) {
        KERN_TRY(run_column(s, i, err));
    }
    return KERN_OK;
}

kern_status dyn_basins_sweep_init(dyn_basins_sweep *out, const dyn_map *map,
                                  const dyn_basins_options *options,
                                  const dyn_basins_sweep_options *sweep_options, kern_error *err)
{
    *out = (dyn_basins_sweep){0};
    sweep s = {.out = out, .o = sweep_options, .basins = *options, .caller = options};
    if (options->progress != NULL) {
        s.basins.progress = watch;
        s.basins.context = &s;
    }
    const kern_status status = run_sweep(&s, map, err);
    dyn_map_destroy(s.map);
    free(s.seen);
    free(s.seeds);
    if (status != KERN_OK) {
        dyn_basins_sweep_fini(out);
    }
    return status;
}

void dyn_basins_sweep_fini(dyn_basins_sweep *out)
{
    for (size_t i = 0; i < out->n; i++) {
        dyn_basins_fini(&out->columns[i].basins);
        free(out->columns[i].ids);
    }
    free(out->columns);
    *out = (dyn_basins_sweep){0};
}
