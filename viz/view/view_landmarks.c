/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where the chosen token's relative equilibrium loses stability; see view_orbit.h.
 */
#include "viz/view/view_orbit.h"

#include "dyn/dyn_cascade.h"
#include "dyn/dyn_chart.h"
#include "dyn/dyn_multipliers.h"
#include "models/model_dynamics.h"
#include "viz/view/view_token.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void explain(view_landmarks *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void explain(view_landmarks *out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(out->why, sizeof out->why, format, list);
    va_end(list);
}

/* What a fixed point of the token's map is called. */
static const char *name_point(const view_token *t)
{
    return t->chart ? "relative equilibrium" : "fixed point";
}

/* Growth of the token's scale per step at rate 1; without a norm it has none. */
static kern_status find_radial(const view_token *t, const double *state, double *radial,
                               kern_error *err)
{
    *radial = 0.0;
    if (!t->chart) {
        return KERN_OK;
    }
    double tangential;
    double *work = malloc(t->map->size * sizeof *work);
    if (work == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", t->map->size);
    }
    dyn_chart_update(t->map, state, radial, &tangential, work);
    free(work);
    return KERN_OK;
}

static void fill(view_landmarks *out, const view_token *t, const dyn_multipliers_block *m,
                 double radial)
{
    const size_t zeros = t->map->block_zeros;
    const dyn_chart_margins margins = dyn_chart_derive_margins(m, zeros, t->sigma[0], radial, 1.0);
    out->found = true;
    out->flip = margins.flip;
    out->ns = margins.ns;
    out->lost = margins.lost;
    out->n_complex = margins.n_complex;
    out->spectral_radius =
        dyn_chart_radius_at(m, zeros, t->sigma[0], radial, 1.0, t->landscape->settings.rate);
    if (!t->chart) {
        explain(out, "there is no norm in front of the update: the rates are those of a fixed "
                     "point, and no scale is pinned");
    }
}

/* What is to be found: landmarks, and radii in place of rates, if there are any. */
typedef struct goal {
    view_landmarks *out;
    double *rates;
    size_t n;
} goal;

static void fill_radii(const goal *g, const view_token *t, const dyn_multipliers_block *m,
                       double radial)
{
    for (size_t i = 0; i < g->n; i++) {
        g->rates[i] =
            dyn_chart_radius_at(m, t->map->block_zeros, t->sigma[0], radial, 1.0, g->rates[i]);
    }
}

/* At a point that has been solved for. */
static kern_status measure(const goal *g, const view_token *t, const double *state, kern_error *err)
{
    dyn_multipliers m;
    dyn_multipliers_options o = dyn_multipliers_options_default();
    double radial;
    o.horizon = 0;
    KERN_TRY(find_radial(t, state, &radial, err));
    kern_status status = dyn_multipliers_init(&m, t->map, state, &o, err);
    if (status == KERN_OK) {
        status = view_token_check(t, err);
    }
    if (status == KERN_OK && m.status != KERN_OK) {
        explain(g->out, "a %s of token %zu was found, but its multipliers were not: %s",
                name_point(t), t->index, kern_status_gloss(m.status));
    } else if (status == KERN_OK) {
        fill(g->out, t, &m.blocks[0], radial);
        fill_radii(g, t, &m.blocks[0], radial);
    }
    dyn_multipliers_fini(&m);
    return status;
}

static kern_status find(const goal *g, const view_token *t, kern_error *err)
{
    dyn_cascade cascade;
    const dyn_cascade_options o = dyn_cascade_options_default();
    KERN_TRY(dyn_cascade_init(&cascade, t->map, NULL, &o, err));
    kern_status status = view_token_check(t, err);
    if (status == KERN_OK && cascade.status == KERN_OK && cascade.residual <= o.tol) {
        status = measure(g, t, cascade.state, err);
    } else if (status == KERN_OK) {
        explain(g->out, "no %s of token %zu was found from here: %s (residual %.2g)", name_point(t),
                t->index, kern_status_gloss(cascade.status), cascade.blocks[0].residual);
    }
    dyn_cascade_fini(&cascade);
    return status;
}

static kern_status seek(const goal *g, const view_landscape *landscape, view_cancelled *cancelled,
                        void *context, kern_error *err)
{
    view_token token;
    view_landmarks *out = g->out;
    const double none = (double)NAN;
    *out = (view_landmarks){.flip = none,
                            .ns = none,
                            .lost = none,
                            .sigma = none,
                            .eta = none,
                            .spectral_radius = none};
    KERN_TRY(view_token_init(&token, landscape, VIEW_TOKEN_ALONE, cancelled, context, err));
    out->token = token.index;
    if (token.chart) {
        out->sigma = token.sigma[0];
        out->eta = model_dynamics_scalar_eta(landscape->subject->run.m);
    }
    const kern_status status = find(g, &token, err);
    view_token_fini(&token);
    return status;
}

kern_status view_landmarks_find(view_landmarks *out, const view_landscape *landscape,
                                view_cancelled *cancelled, void *context, kern_error *err)
{
    const goal g = {.out = out};
    return seek(&g, landscape, cancelled, context, err);
}

kern_status view_landmarks_radii(double *rates, size_t n, const view_landscape *landscape,
                                 view_cancelled *cancelled, void *context, kern_error *err)
{
    view_landmarks found;
    const goal g = {.out = &found, .rates = rates, .n = n};
    const kern_status status = seek(&g, landscape, cancelled, context, err);
    for (size_t i = 0; i < n && !(status == KERN_OK && found.found); i++) {
        rates[i] = (double)NAN;
    }
    return status;
}
