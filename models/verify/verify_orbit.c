/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_asymptotic.h"

#include <math.h>
#include <string.h>

/* P w = w − mean(w) − x̂ (x̂·w)/D with w = Γ∇E; no mean for an RMSNorm, no part along x̂ is taken
 * without a norm. */
double verify_orbit_tangent(const verify_nrgpt *q, const verify_nrgpt_point *p)
{
    const double d = (double)q->width;
    double mean = 0.0;
    double along = 0.0;
    double square = 0.0;
    for (size_t i = 0; i < q->width; i++) {
        const double w = q->gamma[i] * p->gradient[i];
        mean += q->norm == VERIFY_NRGPT_LAYERNORM ? w / d : 0.0;
        along += q->norm == VERIFY_NRGPT_NO_NORM ? 0.0 : p->unit[i] * w / d;
    }
    for (size_t i = 0; i < q->width; i++) {
        const double w = q->gamma[i] * p->gradient[i] - mean - p->unit[i] * along;
        square += w * w;
    }
    return sqrt(square);
}

static double find_distance(const double *a, const double *b, size_t n)
{
    double square = 0.0;
    for (size_t i = 0; i < n; i++) {
        square += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sqrt(square);
}

/* Adds the step from a to b. */
static void add_step(verify_orbit *o, const verify_nrgpt *q, const verify_nrgpt_point *a,
                     const verify_nrgpt_point *b, double c)
{
    const verify_nrgpt_change change = verify_nrgpt_compare(q, a, b, c);
    const double over = change.actual - change.rounding;
    o->last_move = find_distance(a->x, b->x, q->width);
    o->first_move = o->steps == 0 ? o->last_move : o->first_move;
    o->decrements += change.decrement;
    o->rounding += change.rounding;
    if (o->steps >= o->late) {
        o->rises += over > 0.0;
        if (o->steps == o->late || !(over <= o->worst)) {
            o->worst = over;
            o->worst_rounding = change.rounding;
        }
    }
    o->steps++;
}

kern_status verify_orbit_run(const verify_nrgpt *q, double c, size_t steps, size_t late,
                             verify_orbit_visit *visit, void *context, verify_work *work,
                             verify_orbit *orbit, kern_error *err)
{
    verify_nrgpt_point points[2];
    KERN_TRY(verify_nrgpt_point_init(&points[0], q, work, err));
    KERN_TRY(verify_nrgpt_point_init(&points[1], q, work, err));
    *orbit = (verify_orbit){.late = late};
    memcpy(points[0].x, q->x, q->width * sizeof *q->x);
    verify_nrgpt_visit(q, &points[0]);
    orbit->first_energy = points[0].energy;
    orbit->first_sigma = points[0].sigma;
    orbit->first_tangent = verify_orbit_tangent(q, &points[0]);
    for (size_t t = 0; t < steps; t++) {
        const verify_nrgpt_point *at = &points[t % 2];
        if (visit != NULL) {
            visit(context, q, at, t);
        }
        if (t % 256 == 0 && !verify_work_goes_on(work)) {
            return kern_raise(err, KERN_INTERRUPTED, "interrupted");
        }
        verify_nrgpt_descend(q, at, c, &points[(t + 1) % 2]);
        add_step(orbit, q, at, &points[(t + 1) % 2], c);
    }
    const verify_nrgpt_point *end = &points[steps % 2];
    if (visit != NULL) {
        visit(context, q, end, steps);
    }
    orbit->energy = end->energy;
    orbit->sigma = end->sigma;
    orbit->tangent = verify_orbit_tangent(q, end);
    return KERN_OK;
}
