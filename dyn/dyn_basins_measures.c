/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_basins_measures.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>

/* Points of a scale that must fall on either side of the question for the scale to count. */
enum { COUNT_LEAST = 10, LABELS_OF_POINT = 3 };

/* ---- Basin entropy ------------------------------------------------------------------------ */

static int compare_labels(const void *a, const void *b)
{
    const int32_t one = *(const int32_t *)a;
    const int32_t two = *(const int32_t *)b;
    return (one > two) - (one < two);
}

/* −Σ p ln p of n labels, which are sorted on the way. */
static double entropy_of(int32_t *labels, size_t n)
{
    double sum = 0.0;
    qsort(labels, n, sizeof *labels, compare_labels);
    for (size_t begin = 0; begin < n;) {
        size_t end = begin + 1;
        while (end < n && labels[end] == labels[begin]) {
            end++;
        }
        const double p = (double)(end - begin) / (double)n;
        sum -= end - begin < n ? p * log(p) : 0.0;
        begin = end;
    }
    return sum;
}

/* A grid tiled by boxes. */
typedef struct tiling {
    const int32_t *labels;
    const size_t *grid;
    size_t size, box;
    size_t per_box; /* cells of a box */
    int32_t *held;  /* labels of one box */
} tiling;

/* Gathers the labels of box `index`, the last coordinate running fastest. */
static void gather(const tiling *t, size_t index)
{
    for (size_t cell = 0; cell < t->per_box; cell++) {
        size_t box_rest = index;
        size_t cell_rest = cell;
        size_t place = 0;
        size_t stride = 1;
        for (size_t i = t->size; i-- > 0;) {
            const size_t boxes = t->grid[i] / t->box;
            place += stride * (box_rest % boxes * t->box + cell_rest % t->box);
            stride *= t->grid[i];
            box_rest /= boxes;
            cell_rest /= t->box;
        }
        t->held[cell] = t->labels[place];
    }
}

static void sum_boxes(const tiling *t, dyn_basin_entropy *out)
{
    double sum = 0.0;
    double squares = 0.0;
    for (size_t i = 0; i < out->n_boxes; i++) {
        gather(t, i);
        const double s = entropy_of(t->held, t->per_box);
        sum += s;
        squares += s * s;
        out->n_boundary += s > 0.0 ? 1U : 0U;
    }
    const double n = (double)out->n_boundary;
    out->entropy = sum / (double)out->n_boxes;
    if (out->n_boundary > 0) {
        out->boundary_entropy = sum / n;
    }
    if (out->n_boundary > 1) {
        const double mean = sum / n;
        out->boundary_error = sqrt(fmax(0.0, squares / n - mean * mean) / (n - 1.0));
    }
    out->above_ln2 = out->boundary_entropy - 2.0 * out->boundary_error > log(2.0);
}

kern_status dyn_basin_entropy_find(dyn_basin_entropy *out, const int32_t *labels,
                                   const size_t *grid, size_t size, size_t box, kern_error *err)
{
    tiling t = {.labels = labels, .grid = grid, .size = size, .box = box, .per_box = 1};
    *out = (dyn_basin_entropy){
        .box = box, .n_boxes = 1, .boundary_entropy = (double)NAN, .boundary_error = (double)NAN};
    for (size_t i = 0; i < size; i++) {
        if (box == 0 || box > grid[i]) {
            return kern_raise(
                err, KERN_INVALID_ARGUMENT,
                "boxes of the basin entropy are %zu cells wide, accepted are 1 to %zu "
                "on this grid",
                box, grid[i]);
        }
        /* Both are at most the number of cells, which fits. */
        out->n_boxes *= grid[i] / box;
        t.per_box *= box;
    }
    t.held = calloc(t.per_box, sizeof *t.held);
    if (t.held == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a box of %zu cells", t.per_box);
    }
    sum_boxes(&t, out);
    free(t.held);
    return KERN_OK;
}

/* ---- Uncertainty exponent ----------------------------------------------------------------- */

dyn_uncertainty_options dyn_uncertainty_options_default(void)
{
    return (dyn_uncertainty_options){.largest = 1e-2, .smallest = 1e-5, .n = 9, .points = 10000};
}

static kern_status check(const dyn_basins_options *basins, const dyn_uncertainty_options *o,
                         kern_error *err)
{
    if (!(o->smallest > 0.0 && o->smallest < o->largest && o->largest <= 0.5)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the changes of the uncertainty exponent run from %g to %g of the box, "
                          "accepted are 0 < smallest < largest ≤ 0.5",
                          o->smallest, o->largest);
    }
    if (o->n < 3 || o->points == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu changes of %zu points give no exponent; accepted are 3 or more of 1 "
                          "or more",
                          o->n, o->points);
    }
    if (basins->starts.low == NULL || basins->starts.high == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the uncertainty exponent needs a box, and there is none");
    }
    return KERN_OK;
}

static double epsilon_of(const dyn_uncertainty_options *o, size_t scale)
{
    return o->largest * pow(o->smallest / o->largest, (double)scale / (double)(o->n - 1));
}

/* The points that are labelled, for dyn_basin_starts_tell. */
typedef struct pairs {
    const dyn_basins_options *basins;
    const dyn_uncertainty_options *o;
} pairs;

/* Point `index` / 3 (points of one scale after those of another), or a neighbour of it above or
 * below. None is stored, so that many cost no memory and no time beforehand. */
static void tell_point(const void *context, size_t index, size_t size, double *x)
{
    const pairs *p = context;
    const size_t item = index / LABELS_OF_POINT;
    const size_t which = index % LABELS_OF_POINT;
    dyn_basin_starts drawn = p->basins->starts;
    drawn.kind = DYN_BASIN_RANDOM;
    drawn.size = size;
    drawn.seed = kern_rng_seed(p->basins->seed, "uncertainty", 0);
    const size_t i = (size_t)(kern_rng_hash(drawn.seed, item) % size);
    const double change = epsilon_of(p->o, item / p->o->points) * (drawn.high[i] - drawn.low[i]);
    dyn_basin_starts_get(&drawn, item, x);
    x[i] += which == 1 ? change : which == 2 ? -change : 0.0;
}

static bool decided(int32_t label)
{
    return label > 0 || label == DYN_BASIN_DIVERGED || label == DYN_BASIN_LEFT_BOX;
}

static void count_scale(dyn_uncertainty_scale *scale, const int32_t *labels, size_t points)
{
    for (size_t k = 0; k < points; k++) {
        const int32_t *l = labels + LABELS_OF_POINT * k;
        if (decided(l[0]) && decided(l[1]) && decided(l[2])) {
            scale->decided++;
            scale->uncertain += l[0] != l[1] || l[0] != l[2] ? 1U : 0U;
        }
    }
    scale->fraction =
        scale->decided > 0 ? (double)scale->uncertain / (double)scale->decided : (double)NAN;
}

static bool counts(const dyn_uncertainty_scale *s)
{
    return s->uncertain >= COUNT_LEAST && s->decided - s->uncertain >= COUNT_LEAST;
}

/* The weighted line. */
static void fit(dyn_uncertainty *out, size_t size)
{
    double sums[4] = {0.0}; /* w, wx, wy, then wxx about the mean */
    double slope = 0.0;
    double chi = 0.0;
    for (size_t i = 0; i < out->n; i++) {
        const dyn_uncertainty_scale *s = &out->scales[i];
        if (counts(s)) {
            const double w = (double)s->decided * s->fraction / (1.0 - s->fraction);
            out->n_fitted++;
            sums[0] += w;
            sums[1] += w * log(s->epsilon);
            sums[2] += w * log(s->fraction);
        }
    }
    if (out->n_fitted < 3) {
        out->status = KERN_NOT_FOUND;
        return;
    }
    const double x_mean = sums[1] / sums[0];
    const double y_mean = sums[2] / sums[0];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < out->n; i++) {
            const dyn_uncertainty_scale *s = &out->scales[i];
            if (!counts(s)) {
                continue;
            }
            const double w = (double)s->decided * s->fraction / (1.0 - s->fraction);
            const double x = log(s->epsilon) - x_mean;
            const double y = log(s->fraction) - y_mean;
            sums[3] += pass == 0 ? w * x * x : 0.0;
            slope += pass == 0 ? w * x * y : 0.0;
            chi += pass == 1 ? w * (y - slope * x) * (y - slope * x) : 0.0;
        }
        slope /= pass == 0 ? sums[3] : 1.0;
    }
    const double scatter = chi / (double)(out->n_fitted - 2);
    out->exponent = slope;
    out->exponent_error = sqrt(fmax(1.0, scatter) / sums[3]);
    out->boundary_dimension = (double)size - slope;
}

static kern_status measure(dyn_uncertainty *out, const dyn_map *map,
                           const dyn_basins_options *basins, const dyn_uncertainty_options *o,
                           size_t n_starts, kern_error *err)
{
    const pairs told = {.basins = basins, .o = o};
    dyn_basins_options b = *basins;
    dyn_basins labelled;
    b.low = b.low != NULL ? b.low : b.starts.low;
    b.high = b.high != NULL ? b.high : b.starts.high;
    b.starts = (dyn_basin_starts){
        .kind = DYN_BASIN_TOLD, .n = n_starts, .tell = tell_point, .context = &told};
    KERN_TRY(dyn_basins_init(&labelled, map, &b, err));
    for (size_t i = 0; i < o->n; i++) {
        out->scales[i].epsilon = epsilon_of(o, i);
        count_scale(&out->scales[i], labelled.labels + LABELS_OF_POINT * i * o->points, o->points);
    }
    dyn_basins_fini(&labelled);
    fit(out, map->size);
    return KERN_OK;
}

kern_status dyn_uncertainty_count(const dyn_uncertainty_options *options, size_t *n_starts,
                                  kern_error *err)
{
    if (!kern_size_mul(options->n, options->points, n_starts) ||
        !kern_size_mul(*n_starts, LABELS_OF_POINT, n_starts)) {
        return kern_raise(err, KERN_OVERFLOW, "%zu changes of %zu points are too many", options->n,
                          options->points);
    }
    return KERN_OK;
}

kern_status dyn_uncertainty_init(dyn_uncertainty *out, const dyn_map *map,
                                 const dyn_basins_options *basins,
                                 const dyn_uncertainty_options *options, kern_error *err)
{
    size_t n_starts = 0;
    *out = (dyn_uncertainty){
        .exponent = (double)NAN, .exponent_error = (double)NAN, .boundary_dimension = (double)NAN};
    KERN_TRY(check(basins, options, err));
    KERN_TRY(dyn_uncertainty_count(options, &n_starts, err));
    out->n = options->n;
    out->scales = calloc(options->n, sizeof *out->scales);
    if (out->scales == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu changes", options->n);
    }
    const kern_status status = measure(out, map, basins, options, n_starts, err);
    if (status != KERN_OK) {
        dyn_uncertainty_fini(out);
    }
    return status;
}

void dyn_uncertainty_fini(dyn_uncertainty *out)
{
    free(out->scales);
    *out = (dyn_uncertainty){0};
}
