/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_landscape_rim.h"

#include "dyn/dyn_plane_chart.h"

#include <math.h>
#include <string.h>

void view_landscape_trace_rim(view_landscape *l)
{
    const double turn = 6.283185307179586 / (VIEW_RIM - 1);
    l->n_rim = isfinite(dyn_plane_chart_at(l->plane->chart)->edge) ? VIEW_RIM : 0;
    for (size_t i = 0; i < l->n_rim; i++) {
        const double a = cos(turn * (double)(i % (VIEW_RIM - 1)));
        const double b = sin(turn * (double)(i % (VIEW_RIM - 1)));
        const double reach = dyn_plane_rim(l->plane, a, b);
        l->rim_a[i] = reach * a;
        l->rim_b[i] = reach * b;
    }
}

/* Whether some of the chart lies in the range: its place that is nearest to the centre, or some of
 * its rim. */
static bool overlaps(const view_landscape *l, const dyn_slice_range *r)
{
    const double a = fmin(fmax(0.0, r->a_low), r->a_high);
    const double b = fmin(fmax(0.0, r->b_low), r->b_high);
    bool found = dyn_plane_has(l->plane, a, b);
    for (size_t i = 0; i < l->n_rim && !found; i++) {
        found = l->rim_a[i] >= r->a_low && l->rim_a[i] <= r->a_high && l->rim_b[i] >= r->b_low &&
                l->rim_b[i] <= r->b_high;
    }
    return found;
}

kern_status view_landscape_check_field(const view_landscape *l, const dyn_slice_field *field,
                                       kern_error *err)
{
    const char *chart = dyn_plane_chart_word(l->plane->chart);
    const double rim = fmax(dyn_plane_rim(l->plane, 1.0, 0.0), dyn_plane_rim(l->plane, 0.0, 1.0));
    const double apart = fmax(dyn_slice_field_a(field, 1) - dyn_slice_field_a(field, 0),
                              dyn_slice_field_b(field, 1) - dyn_slice_field_b(field, 0));
    if (field->n_outside < field->columns * field->rows) {
        return KERN_OK;
    }
    return overlaps(l, &field->range)
               ? kern_raise(err, KERN_INVALID_ARGUMENT,
                            "range is too wide: its samples are %.4g apart and none is on the %s "
                            "chart, a disc of radius %.4g; accepted are narrower ranges, and more "
                            "columns",
                            apart, chart, rim)
               : kern_raise(err, KERN_INVALID_ARGUMENT,
                            "range is outside of the %s chart, a disc of radius %.4g about the "
                            "centre, and has no state",
                            chart, rim);
}

/* Whether a sample that has a state is next to sample (i, j). */
static bool is_beside(const view_landscape *l, const dyn_slice_field *f, size_t i, size_t j)
{
    for (size_t y = j > 0 ? j - 1 : 0; y <= j + 1 && y < f->rows; y++) {
        for (size_t x = i > 0 ? i - 1 : 0; x <= i + 1 && x < f->columns; x++) {
            if (dyn_plane_has(l->plane, dyn_slice_field_a(f, x), dyn_slice_field_b(f, y))) {
                return true;
            }
        }
    }
    return false;
}

void view_landscape_fringe(const view_landscape *l, const dyn_slice_field *field, double *values)
{
    memcpy(values, field->values, field->columns * field->rows * sizeof *values);
    for (size_t k = 0; k < field->columns * field->rows; k++) {
        const size_t i = k % field->columns;
        const size_t j = k / field->columns;
        double a = dyn_slice_field_a(field, i);
        double b = dyn_slice_field_b(field, j);
        if (!dyn_plane_has(l->plane, a, b) && is_beside(l, field, i, j)) {
            const double share = dyn_plane_rim(l->plane, a, b) * (1.0 - 1e-12); /* within it */
            a *= share;
            b *= share;
            l->source.energies(l->source.context, 0, 1, &a, &b, values + k);
        }
    }
}
