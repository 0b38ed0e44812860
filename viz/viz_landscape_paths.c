/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_landscape_paths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FAINTEST 0.35

double viz_landscape_opacity(double share)
{
    return isnan(share) ? 1.0 : fmax(FAINTEST, 1.0 - share);
}

/* By state; NULL for a path that does not fade. The caller frees it. */
static kern_status find_opacities(double **out, const viz_landscape_path *p, kern_error *err)
{
    double farthest = 0.0;
    *out = NULL;
    if (p->distance == NULL || p->residual == NULL) {
        return KERN_OK;
    }
    *out = malloc((p->n + 1) * sizeof **out);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a trajectory of %zu states", p->n);
    }
    for (size_t t = 0; t < p->n; t++) {
        farthest = fmax(farthest, p->distance[t]);
    }
    for (size_t t = 0; t < p->n; t++) {
        const bool there = p->distance[t] > 1e-12 * farthest; /* else the centre, to rounding */
        (*out)[t] = viz_landscape_opacity(there ? p->residual[t] / p->distance[t] : (double)NAN);
    }
    return KERN_OK;
}

static const double *heights(const viz_landscape_data *d, const viz_landscape_path *p, size_t t)
{
    return d->camera != NULL ? p->energy + t : NULL;
}

/* Around its state at the step pointed out, beneath the line's marker. */
static kern_status add_ring(viz_scene *scene, viz_panel *panel, const viz_landscape_data *d,
                            size_t i, const char *name, kern_error *err)
{
    const viz_landscape_path *p = &d->seeds[i];
    char text[96];
    (void)snprintf(text, sizeof text, "%.64s, state pointed out", name);
    const viz_series ring = {.name = text,
                             .x = p->a + d->step,
                             .y = p->b + d->step,
                             .z = heights(d, p, d->step),
                             .n = 1,
                             .style = {.paint = viz_paint_class(i + 1),
                                       .marker = VIZ_MARKER_CIRCLE,
                                       .size = 10.0,
                                       .open = true,
                                       .halo = 1.1}};
    return p->in_step && d->point_out && d->step < p->n
               ? viz_scene_add_series(scene, panel, &ring, err)
               : KERN_OK;
}

static kern_status add_path(viz_scene *scene, viz_panel *panel, const viz_landscape_data *d,
                            size_t i, kern_error *err)
{
    const viz_landscape_path *p = &d->seeds[i];
    double *opacity = NULL;
    char name[48];
    char legend[48];
    (void)snprintf(name, sizeof name, "trajectory from seed %zu", i + 1);
    (void)snprintf(legend, sizeof legend, "from seed %zu", i + 1);
    KERN_TRY(find_opacities(&opacity, p, err));
    const bool marked = p->n <= VIZ_LANDSCAPE_MARKED;
    const viz_series line = {.name = p->name != NULL ? p->name : name,
                             .legend = p->legend != NULL ? p->legend : legend,
                             .x = p->a,
                             .y = p->b,
                             .z = heights(d, p, 0),
                             .opacity = opacity,
                             .n = p->n,
                             .style = {.paint = viz_paint_class(i + 1),
                                       .width = 1.2,
                                       .marker = marked ? viz_plot_marker(i + 1) : VIZ_MARKER_NONE,
                                       .size = 4.0,
                                       .halo = 0.8}};
    kern_status status = add_ring(scene, panel, d, i, line.name, err);
    if (status == KERN_OK) {
        status = viz_scene_add_series(scene, panel, &line, err);
    }
    free(opacity);
    return status;
}

kern_status viz_landscape_add_paths(viz_scene *scene, viz_panel *panel,
                                    const viz_landscape_data *data, kern_error *err)
{
    for (size_t i = 0; i < data->n_seeds; i++) {
        KERN_TRY(add_path(scene, panel, data, i, err));
    }
    return KERN_OK;
}
