/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_plane_chart.h"

#include <float.h>
#include <math.h>

#define PI 3.14159265358979323846

/* Angle beyond which states do not widen a gnomonic range: at 75° a unit of angle is 15 units of
 * the chart, and the 15° behind it are all the rest of the plane. */
#define GNOMONIC_SPAN (75.0 / 180.0 * PI)

/* The rim of an orthographic chart, with the rounding of a hundred products, so that it belongs to
 * the chart. */
#define RIM (1.0 + 100.0 * DBL_EPSILON)

/* ---- sphere: geodesics from the centre ------------------------------------------------------ */

static void sphere_weights(double s, double *p, double *q)
{
    const double theta = sqrt(s);
    *p = cos(theta);
    *q = theta > 0.0 ? sin(theta) / theta : 1.0;
}

/* Q = sin²θ/θ² and h = (1 − Q)/(4s). Where s is small, by Q = Σ c_k sᵏ with c_k =
 * (−1)ᵏ 2²ᵏ⁺¹/(2k + 2)!, which cancels nothing; what the last term leaves out for s < 1 is below
 * 1e−20. */
static void sphere_form(double s, dyn_plane_chart_form *form)
{
    if (s >= 1.0) {
        const double theta = sqrt(s);
        const double q = sin(theta) / theta;
        form->across = q * q;
        form->across_slope = (q * cos(theta) - form->across) / s;
        form->along = (1.0 - form->across) / (4.0 * s);
        form->along_slope = -(form->across_slope / 4.0 + form->along) / s;
        return;
    }
    enum { TERMS = 14 };
    double c = 1.0;
    double low = 0.0;  /* sᵏ⁻² */
    double mid = 0.0;  /* sᵏ⁻¹ */
    double high = 1.0; /* sᵏ */
    *form = (dyn_plane_chart_form){.across = 0.0};
    for (int k = 0; k < TERMS; k++) {
        form->across += c * high;
        form->across_slope += k * c * mid;
        form->along -= k > 0 ? c * mid / 4.0 : 0.0;
        form->along_slope -= k > 1 ? (k - 1) * c * low / 4.0 : 0.0;
        c *= -4.0 / ((2.0 * k + 3.0) * (2.0 * k + 4.0));
        low = mid;
        mid = high;
        high *= s;
    }
}

static double sphere_inverse(double along, double across, double rounding)
{
    (void)rounding;
    return atan2(across, along);
}

/* ---- gnomonic: from the sphere's middle ------------------------------------------------------ */

static void gnomonic_weights(double s, double *p, double *q)
{
    *p = 1.0 / sqrt(1.0 + s);
    *q = *p;
}

static void gnomonic_form(double s, dyn_plane_chart_form *form)
{
    const double q = 1.0 / (1.0 + s);
    *form = (dyn_plane_chart_form){.across = q,
                                   .across_slope = -q * q,
                                   .along = -0.25 * q * q,
                                   .along_slope = 0.5 * q * q * q};
}

static double gnomonic_inverse(double along, double across, double rounding)
{
    return along > rounding ? across / along : (double)NAN;
}

/* ---- orthographic: from far away ------------------------------------------------------------- */

static void orthographic_weights(double s, double *p, double *q)
{
    const bool has = s <= RIM * RIM;
    *p = has ? sqrt(fmax(1.0 - s, 0.0)) : (double)NAN;
    *q = has ? 1.0 : (double)NAN;
}

static void orthographic_form(double s, dyn_plane_chart_form *form)
{
    const double left = s <= RIM * RIM ? fmax(1.0 - s, 0.0) : (double)NAN;
    *form = (dyn_plane_chart_form){
        .across = 1.0, .along = 0.25 / left, .along_slope = 0.25 / (left * left)};
}

static double orthographic_inverse(double along, double across, double rounding)
{
    return along >= -rounding ? across / hypot(along, across) : (double)NAN;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const dyn_plane_chart_kind charts[DYN_PLANE_CHART_COUNT] = {
    [DYN_PLANE_FLAT] = {.word = "flat",
                        .help = "straight lines",
                        .unit = "relative to the token",
                        .edge = (double)INFINITY,
                        .span = PI},
    [DYN_PLANE_SPHERE] = {.word = "sphere",
                          .help = "distances from the centre are angles",
                          .unit = "rad",
                          .edge = (double)INFINITY,
                          .span = PI,
                          .weights = sphere_weights,
                          .form = sphere_form,
                          .inverse = sphere_inverse},
    [DYN_PLANE_GNOMONIC] = {.word = "gnomonic",
                            .help = "great circles are straight; the near half of the sphere",
                            .unit = "tangent of the angle",
                            .half = true,
                            .edge = (double)INFINITY,
                            .span = GNOMONIC_SPAN,
                            .weights = gnomonic_weights,
                            .form = gnomonic_form,
                            .inverse = gnomonic_inverse},
    [DYN_PLANE_ORTHOGRAPHIC] = {.word = "orthographic",
                                .help = "as seen from far away; the near half of the sphere",
                                .unit = "sine of the angle",
                                .half = true,
                                .edge = RIM,
                                .span = 0.5 * PI,
                                .weights = orthographic_weights,
                                .form = orthographic_form,
                                .inverse = orthographic_inverse},
};

const dyn_plane_chart_kind *dyn_plane_chart_at(dyn_plane_chart chart)
{
    return (unsigned)chart < DYN_PLANE_CHART_COUNT ? &charts[chart] : NULL;
}

const char *dyn_plane_chart_word(dyn_plane_chart chart)
{
    const dyn_plane_chart_kind *kind = dyn_plane_chart_at(chart);
    return kind != NULL ? kind->word : NULL;
}

const char *dyn_plane_chart_help(dyn_plane_chart chart)
{
    const dyn_plane_chart_kind *kind = dyn_plane_chart_at(chart);
    return kind != NULL ? kind->help : NULL;
}

const char *dyn_plane_chart_unit(dyn_plane_chart chart)
{
    const dyn_plane_chart_kind *kind = dyn_plane_chart_at(chart);
    return kind != NULL ? kind->unit : NULL;
}

bool dyn_plane_chart_is_curved(dyn_plane_chart chart)
{
    const dyn_plane_chart_kind *kind = dyn_plane_chart_at(chart);
    return kind != NULL && kind->weights != NULL;
}
