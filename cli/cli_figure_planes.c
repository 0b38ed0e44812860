/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figures of what `basin basins --out F.h5` and `basin rqa --out F.pbm` write.
 */
#include "cli/cli_figure.h"
#include "cli/cli_figure_json.h"
#include "dyn/dyn_basins.h"
#include "models/model_file.h"
#include "models/model_hdf5.h"
#include "viz/viz_basins_plot.h"
#include "viz/viz_recurrence_plot.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME = 64, PLANE = 2 };

/* ---- Basins ------------------------------------------------------------------------------- */

typedef struct basins_job {
    const char *path;
    model_hdf5_reader *reader;
    size_t grid[PLANE]; /* cells along the first and the second coordinate */
    int32_t *labels;    /* rows along the second coordinate */
    viz_basins_attractor attractors[VIZ_BASINS_ATTRACTORS];
    double *points[VIZ_BASINS_ATTRACTORS]; /* first coordinates, then second ones */
    size_t n_attractors;
} basins_job;

/* Labels are stored with the last coordinate running fastest; pictures have rows of the first. */
static kern_status read_labels(basins_job *j, kern_error *err)
{
    model_hdf5_shape shape;
    void *block;
    KERN_TRY(model_hdf5_read_shape(j->reader, "labels", &shape, err));
    if (shape.rank != PLANE) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s holds labels of %zu dimensions; a picture needs a grid of two, as "
                          "basin basins writes for a map of two coordinates",
                          j->path, shape.rank);
    }
    const size_t nx = j->grid[0] = shape.size[0];
    const size_t ny = j->grid[1] = shape.size[1];
    KERN_TRY(cli_figure_room(&block, nx * ny, sizeof(int64_t), err));
    int64_t *wide = block;
    const kern_status status = model_hdf5_read_int64s(j->reader, "labels", wide, nx * ny, err);
    int32_t *labels = calloc(nx * ny > 0 ? nx * ny : 1, sizeof *labels);
    if (status == KERN_OK && labels != NULL) {
        for (size_t k = 0; k < nx * ny; k++) {
            labels[k % ny * nx + k / ny] = (int32_t)wide[k];
        }
    }
    free(wide);
    j->labels = labels;
    KERN_TRY(status);
    return labels != NULL ? KERN_OK
                          : kern_raise(err, KERN_NO_MEMORY, "no memory for %zu labels", nx * ny);
}

/* Attractor `id`, whose points are rows of coordinates. */
static kern_status read_attractor(basins_job *j, int32_t id, kern_error *err)
{
    char name[NAME];
    char points[2 * NAME];
    model_hdf5_shape shape;
    int64_t period = 0;
    void *block;
    (void)snprintf(name, sizeof name, "attractors/%d", (int)id);
    (void)snprintf(points, sizeof points, "%s/points", name);
    KERN_TRY(model_hdf5_read_attr_int64(j->reader, name, "period", &period, err));
    KERN_TRY(model_hdf5_read_shape(j->reader, points, &shape, err));
    if (shape.rank != 2 || shape.size[1] != PLANE) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "attractor %d of %s is not a list of points of two "
                          "coordinates",
                          (int)id, j->path);
    }
    const size_t n = shape.size[0];
    KERN_TRY(cli_figure_room(&block, n, 2 * PLANE * sizeof(double), err));
    double *own = j->points[j->n_attractors] = block;
    KERN_TRY(model_hdf5_read_doubles(j->reader, points, own + PLANE * n, PLANE * n, err));
    for (size_t i = 0; i < n; i++) {
        own[i] = own[PLANE * n + PLANE * i];
        own[n + i] = own[PLANE * n + PLANE * i + 1];
    }
    j->attractors[j->n_attractors] =
        (viz_basins_attractor){id, period > 0 ? (size_t)period : 0, n, own, own + n};
    return KERN_OK;
}

static kern_status read_attractors(basins_job *j, kern_error *err)
{
    char name[NAME];
    for (int32_t id = 1; id <= VIZ_BASINS_ATTRACTORS; id++) {
        (void)snprintf(name, sizeof name, "attractors/%d", (int)id);
        if (!model_hdf5_has(j->reader, name)) {
            break;
        }
        KERN_TRY(read_attractor(j, id, err));
        j->n_attractors++;
    }
    return KERN_OK;
}

static kern_status draw_basins(viz_scene **out, basins_job *j, const cli_figure_request *request,
                               kern_error *err)
{
    double low[PLANE];
    double high[PLANE];
    viz_basins_outcome outcomes[DYN_BASIN_OUTCOMES];
    KERN_TRY(read_labels(j, err));
    KERN_TRY(model_hdf5_read_attr_doubles(j->reader, "labels", "box_low", low, PLANE, err));
    KERN_TRY(model_hdf5_read_attr_doubles(j->reader, "labels", "box_high", high, PLANE, err));
    KERN_TRY(read_attractors(j, err));
    for (int32_t k = 0; k < DYN_BASIN_OUTCOMES; k++) {
        outcomes[k] = (viz_basins_outcome){-1 - k, dyn_basin_outcome_word(-1 - k)};
    }
    /* Starts are centres of cells, half a cell inside the box. */
    const double dx = 0.5 * (high[0] - low[0]) / (double)j->grid[0];
    const double dy = 0.5 * (high[1] - low[1]) / (double)j->grid[1];
    const viz_basins_data data = {
        .x_name = "x0",
        .y_name = "x1",
        .lattice = {j->grid[0], j->grid[1], low[0] + dx, high[0] - dx, low[1] + dy, high[1] - dy},
        .labels = j->labels,
        .attractors = j->attractors,
        .n_attractors = j->n_attractors,
        .outcomes = outcomes,
        .n_outcomes = DYN_BASIN_OUTCOMES};
    return viz_basins_plot(out, &data, &request->style, err);
}

kern_status cli_figure_basins(viz_scene **out, const cli_figure_request *request, kern_error *err)
{
    basins_job *j = calloc(1, sizeof *j);
    if (j == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a figure");
    }
    j->path = request->in->items[0];
    kern_status status = model_hdf5_reader_create(&j->reader, j->path, err);
    if (status == KERN_OK) {
        status = draw_basins(out, j, request, err);
    }
    model_hdf5_reader_destroy(j->reader);
    for (size_t i = 0; i < VIZ_BASINS_ATTRACTORS; i++) {
        free(j->points[i]);
    }
    free(j->labels);
    free(j);
    return status;
}

/* ---- Recurrence plot ---------------------------------------------------------------------- */

/* A lattice of all pairs of states holds the square of their number; the file a bit for each. */
enum { STATES_MAX = 8192, PBM_HEAD = 3, PBM_LIMIT = STATES_MAX * STATES_MAX / 8 + 64 };

_Static_assert(STATES_MAX *STATES_MAX <= VIZ_LATTICE_TOTAL, "a plot of most states can be drawn");

/* Reads "P4\n<columns> <rows>\n" and moves *at behind it. */
static bool read_head(const char *data, size_t size, size_t *at, size_t *columns, size_t *rows)
{
    unsigned long w = 0;
    unsigned long h = 0;
    int used = 0;
    if (size < PBM_HEAD || sscanf(data, "P4 %9lu %9lu%n", &w, &h, &used) != 2) {
        return false;
    }
    *at = (size_t)used + 1; /* one white space */
    *columns = w;
    *rows = h;
    return *at <= size && w > 0 && h > 0;
}

/* Bits of the file, top row first, to bytes with the bottom row first. */
static void unpack(uint8_t *near, const char *bits, size_t n)
{
    const size_t stride = (n + 7) / 8;
    for (size_t j = 0; j < n; j++) {
        const unsigned char *row = (const unsigned char *)bits + (n - 1 - j) * stride;
        for (size_t i = 0; i < n; i++) {
            near[j * n + i] = (uint8_t)(row[i / 8] >> (7 - i % 8) & 1);
        }
    }
}

static kern_status draw_recurrence(viz_scene **out, const char *data, size_t size,
                                   const cli_figure_request *request, kern_error *err)
{
    const char *path = request->in->items[0];
    size_t at = 0;
    size_t columns = 0;
    size_t rows = 0;
    void *near;
    if (!read_head(data, size, &at, &columns, &rows) || columns != rows || columns > STATES_MAX ||
        (columns + 7) / 8 * rows > size - at) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s is not a whole square portable bitmap of at most %d states; accepted "
                          "is what basin rqa --out F.pbm writes",
                          path, STATES_MAX);
    }
    KERN_TRY(cli_figure_room(&near, rows * columns, 1, err));
    unpack(near, data + at, columns);
    const viz_recurrence_data plot = {.n = columns, .near = near, .threshold = request->threshold};
    const kern_status status = viz_recurrence_plot(out, &plot, &request->style, err);
    free(near);
    return status;
}

kern_status cli_figure_recurrence(viz_scene **out, const cli_figure_request *request,
                                  kern_error *err)
{
    char *data = NULL;
    size_t size = 0;
    KERN_TRY(model_file_read(request->in->items[0], PBM_LIMIT, &data, &size, err));
    const kern_status status = draw_recurrence(out, data, size, request, err);
    free(data);
    return status;
}
