/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_recurrence_plot.h"

#include "kernels/kern_size.h"
#include "viz/viz_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Values of ink and their share. */
static double fill_values(double *value, const viz_recurrence_data *data)
{
    const size_t cells = data->n * data->n;
    size_t count = 0;
    for (size_t k = 0; k < cells; k++) {
        value[k] = data->near[k] != 0 ? 1.0 : (double)NAN;
        count += data->near[k] != 0 ? 1 : 0;
    }
    return (double)count / (double)cells;
}

static kern_status build(viz_scene *scene, const viz_recurrence_data *data, const double *value,
                         double share, kern_error *err)
{
    const double last = (double)(data->first + data->n - 1);
    const viz_lattice grid = {data->n, data->n, (double)data->first, last, (double)data->first,
                              last};
    const viz_field field = {.name = "recurrence",
                             .lattice = grid,
                             .values = value,
                             .scale = {.lo = 0.0, .hi = 1.0},
                             .filter = VIZ_NEAREST,
                             .ink = true,
                             .paint = viz_paint_of(VIZ_PAINT_INK)};
    const viz_panel spec = {.equal = true,
                            .boxed = true,
                            .x = {.label = "step <i>i</i>", .integer = true},
                            .y = {.label = "step <i>j</i>", .integer = true}};
    char radius[80] = "";
    viz_panel *panel;
    KERN_TRY(viz_scene_add_panel(&panel, scene, &spec, err));
    viz_scene_fit_lattice(panel, &grid, VIZ_NEAREST);
    KERN_TRY(viz_scene_add_field(scene, panel, &field, err));
    if (isfinite(data->threshold)) {
        (void)snprintf(radius, sizeof radius, " within a distance of %.4g", data->threshold);
    }
    return viz_plot_note(scene, err, "%zu states; %.3g\xe2\x80\xaf%% of all pairs recur%s.",
                         data->n, 100.0 * share, radius);
}

kern_status viz_recurrence_plot(viz_scene **out, const viz_recurrence_data *data,
                                const viz_plot_style *style, kern_error *err)
{
    viz_scene *scene;
    size_t cells;
    *out = NULL;
    if (data->n < 2 || !kern_size_mul(data->n, data->n, &cells) || cells > VIZ_LATTICE_TOTAL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a recurrence plot of %zu states is outside 2 to %.0f", data->n,
                          floor(sqrt((double)VIZ_LATTICE_TOTAL)));
    }
    double *value = calloc(cells, sizeof *value);
    if (value == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "memory for a figure was refused by the system");
    }
    const double share = fill_values(value, data);
    kern_status status = viz_plot_page(&scene, style, 1.1, "Recurrence plot", err);
    if (status == KERN_OK) {
        status = build(scene, data, value, share, err);
    }
    free(value);
    if (status == KERN_OK && style->height == 0.0) {
        status = viz_draw_fit_height(scene, 1.6 * scene->width, err);
    }
    return viz_plot_end(out, scene, status);
}
