/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch_internal.h"

#include <math.h>

/* Distance from the circle of a pair that is on it but for rounding, as all along a branch of a map
 * that preserves area. */
#define NEUTRAL 1e-9

/* ---- At a point --------------------------------------------------------------------------- */

/* Enters one multiplier of the upper half plane, which stands for two off the real line. */
static void count_multiplier(branch_sample *s, double re, double im)
{
    const double modulus = hypot(re, im);
    const double scale = 1.0 + modulus;
    if (im == 0.0) {
        s->above += re > 1.0 ? 1U : 0U;
        s->below += re < -1.0 ? 1U : 0U;
        s->outside += modulus > 1.0 ? 1U : 0U;
        s->plus *= (re - 1.0) / scale;
        s->minus *= (re + 1.0) / scale;
        s->one = fmin(s->one, fabs(re - 1.0));
        s->flip = fmin(s->flip, fabs(re + 1.0));
    } else {
        s->outside += modulus > 1.0 ? 2U : 0U;
        s->pairs += modulus > 1.0 ? 2U : 0U;
        s->neutral += fabs(modulus - 1.0) <= NEUTRAL ? 2U : 0U;
        s->plus *= ((re - 1.0) * (re - 1.0) + im * im) / (scale * scale);
        s->minus *= ((re + 1.0) * (re + 1.0) + im * im) / (scale * scale);
        s->circle = fmin(s->circle, fabs(modulus - 1.0));
    }
}

static void count_multipliers(branch_sample *s, const dyn_multipliers *m)
{
    s->known = m->status == KERN_OK;
    s->plus = s->minus = 1.0;
    s->circle = s->one = s->flip = (double)INFINITY;
    for (size_t b = 0; s->known && b < m->n_blocks; b++) {
        for (size_t j = 0; j < m->blocks[b].n; j++) {
            if (m->blocks[b].im[j] >= 0.0) {
                count_multiplier(s, m->blocks[b].re[j], m->blocks[b].im[j]);
            }
        }
    }
}

kern_status branch_sample_take(branch_walk *w, const double *u, const double *tangent, double at,
                               branch_sample *sample, dyn_multipliers *keep, kern_error *err)
{
    dyn_multipliers_options o = dyn_multipliers_options_default();
    dyn_multipliers m;
    const double parameter = branch_system_unpack(w->system, u, w->states);
    o.period = w->system->period;
    o.horizon = 0;
    KERN_TRY(dyn_multipliers_init(&m, w->map, w->states, &o, err));
    *sample = (branch_sample){.at = at, .slope = tangent[w->system->n], .monitor = (double)NAN};
    count_multipliers(sample, &m);
    if (w->o->monitor != NULL) {
        sample->monitor = w->o->monitor(w->o->monitor_context, parameter, w->states, &m);
    }
    if (keep != NULL) {
        *keep = m;
    } else {
        dyn_multipliers_fini(&m);
    }
    return KERN_OK;
}

size_t branch_sample_outside(const branch_walk *w, const branch_sample *s)
{
    return w->ignore_pairs ? s->outside - s->pairs : s->outside;
}

/* ---- Inside a step ------------------------------------------------------------------------ */

void branch_sample_course(branch_walk *w)
{
    /* At the branch point itself the tangent's system is singular and gives anything of the plane
     * of both branches, or nothing; the ends of the step know better. */
    const double *a = dyn_arc_previous_tangent(w->arc);
    const double *b = dyn_arc_tangent(w->arc);
    const size_t m = w->system->n + 1;
    double sum = 0.0;
    for (size_t i = 0; i < m; i++) {
        w->tangent[i] = a[i] + b[i];
        sum += w->tangent[i] * w->tangent[i];
    }
    for (size_t i = 0; i < m; i++) {
        w->tangent[i] /= sqrt(sum);
    }
}

kern_status branch_sample_between(branch_walk *w, double s, branch_sample *sample, bool *found,
                                  kern_error *err)
{
    *found = dyn_arc_between(w->arc, s, w->u, w->tangent) == KERN_OK;
    if (!*found && dyn_arc_between(w->arc, s, w->u, NULL) == KERN_OK) {
        branch_sample_course(w);
        *found = true;
    }
    return *found ? branch_sample_take(w, w->u, w->tangent, s, sample, NULL, err) : KERN_OK;
}
