/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a block at a relative equilibrium loses stability, in closed form.
 */
#include "dyn/dyn_chart.h"

#include <math.h>

/* Lowers *least to r where r is a positive rate at which the point is one still: beyond σ + r a = 0
 * the image points the other way. */
static void take_least(double r, const dyn_chart_margins *m, double *least)
{
    if (r > 0.0 && r < *least && m->sigma + r * m->radial > 0.0) {
        *least = r;
    }
}

dyn_chart_margins dyn_chart_find_margins(const dyn_map *map, const dyn_multipliers_block *m,
                                         double radial)
{
    return dyn_chart_derive_margins(m, map->block_zeros, dyn_chart_sigma(map)[m->block], radial,
                                    map->params[DYN_CHART_RATE]);
}

dyn_chart_margins dyn_chart_derive_margins(const dyn_multipliers_block *m, size_t zeros,
                                           double sigma, double radial, double rate)
{
    const double stretched = sigma + rate * radial;
    const size_t n = m->n > zeros ? m->n - zeros : 0;
    dyn_chart_margins out = {.sigma = sigma,
                             .radial = radial,
                             .flip = (double)INFINITY,
                             .ns = (double)INFINITY,
                             .lost = (double)INFINITY};
    bool saddle = false;
    if (rate == 0.0 || m->status != KERN_OK || !isfinite(radial)) {
        out.flip = out.ns = out.lost = (double)NAN;
        return out;
    }
    for (size_t j = 0; j < n; j++) {
        const double re = (m->re[j] * stretched - sigma) / rate;
        const double im = m->im[j] * stretched / rate;
        saddle = saddle || !(re < radial);
        out.n_complex += m->im[j] != 0.0;
        if (m->im[j] != 0.0) {
            take_least(2.0 * sigma * (radial - re) / (re * re + im * im - radial * radial), &out,
                       &out.ns);
        } else {
            take_least(-2.0 * sigma / (re + radial), &out, &out.flip);
        }
    }
    out.lost = saddle ? 0.0 : fmin(out.flip, out.ns);
    return out;
}

double dyn_chart_radius_at(const dyn_multipliers_block *m, size_t zeros, double sigma,
                           double radial, double rate, double to)
{
    const double stretched = sigma + rate * radial;
    const size_t n = m->n > zeros ? m->n - zeros : 0;
    double most = 0.0;
    if (rate == 0.0 || m->status != KERN_OK || !isfinite(radial)) {
        return (double)NAN;
    }
    for (size_t j = 0; j < n; j++) {
        const double re = (m->re[j] * stretched - sigma) / rate;
        const double im = m->im[j] * stretched / rate;
        most = fmax(most, hypot(sigma + to * re, to * im));
    }
    return most / fabs(sigma + to * radial);
}
