/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The judgement of an orbit that shows no period; see dyn_attractor.h.
 */
#include "dyn/dyn_attractor_judge.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean ln|det| this close to zero is zero but for rounding: the map preserves volume. */
#define ZERO_VOLUME 1e-9

/* Part of its size by which an orbit may shrink between two recordings and still be on a torus.
 * Beside a cycle with multipliers of modulus 1 an orbit shrinks as t^(-1/2) or slower powers of the
 * same kind, by 1 − (1 + confirm/t)^(-1/2): a quarter over the default steps. The size of a
 * thousand states of a torus varies by about the gaps between them. */
#define SHRINKS 0.05

kern_status dyn_judge_find_exponents(dyn_judge *j, dyn_lyapunov *l, kern_error *err)
{
    dyn_lyapunov_options o = dyn_lyapunov_options_default();
    o.k = kern_size_min(j->map->size, DYN_ATTRACTOR_FRAME);
    o.steps = j->o->exponent_steps;
    o.ttr = 0;
    o.seed = j->o->seed;
    *j->steps += o.steps + o.frame_ttr;
    return dyn_lyapunov_init(l, j->map, j->x, &o, err);
}

/* ---- Aperiodic orbits --------------------------------------------------------------------- */

/* Whether the recorded states leave the neighbourhood of the first and come back to it. An orbit
 * that creeps past something does not. */
static bool comes_back(const dyn_judge *j, size_t n)
{
    double extent = 0.0;
    bool left = false;
    for (size_t i = 1; i < n; i++) {
        extent = fmax(extent, dyn_map_distance(j->map, j->states, j->states + i * j->map->size));
    }
    for (size_t i = 1; i < n; i++) {
        const double d = dyn_map_distance(j->map, j->states, j->states + i * j->map->size);
        left = left || d > 0.5 * extent;
        if (left && d < 0.05 * extent) {
            return true;
        }
    }
    return false;
}

/* What exponents say about an orbit that is not a cycle. */
static dyn_judgement judge_exponents(const dyn_judge *j, const dyn_lyapunov *l)
{
    const double largest = l->exponents[0];
    if (l->collapsed) {
        return DYN_JUDGED_REPELLING;
    }
    /* A map of one coordinate has no sum beside its exponent. */
    if (j->map->size > 1 && fabs(l->mean_log_abs_det) <= ZERO_VOLUME) {
        return DYN_JUDGED_NEUTRAL;
    }
    if (largest > DYN_JUDGE_ZERO_EXPONENT) {
        return DYN_JUDGED_ATTRACTOR;
    }
    if (!(largest >= -DYN_JUDGE_ZERO_EXPONENT)) {
        return DYN_JUDGED_PASSING;
    }
    return j->map->size == 1 ? DYN_JUDGED_NEUTRAL : DYN_JUDGED_ATTRACTOR;
}

/* Root mean square distance of the recorded states from their mean; on circles by the shortest way
 * from the first state. On an ellipse it is the same wherever on it three or more evenly spaced
 * states lie, so that slow turning close to a resonance does not look like a change of size. */
static double find_spread(const dyn_judge *j, size_t n)
{
    const size_t size = j->map->size;
    double squares = 0.0;
    for (size_t i = 0; i < size; i++) {
        const double period = j->map->periods != NULL ? j->map->periods[i] : 0.0;
        double mean = 0.0;
        double sum = 0.0;
        for (size_t t = 0; t < n; t++) {
            double d = j->states[t * size + i] - j->states[i];
            d = period > 0.0 ? remainder(d, period) : d;
            const double gap = d - mean;
            mean += gap / (double)(t + 1);
            sum += gap * (d - mean);
        }
        squares += sum / (double)n;
    }
    return sqrt(squares);
}

/* Whether a regular orbit whose states are recorded stays where it is: it comes back, and, unless
 * it preserves volume, is no smaller after `confirm` steps more. False too when it is lost. */
static bool stays(dyn_judge *j, size_t n)
{
    const double before = find_spread(j, n);
    if (!comes_back(j, n)) {
        return false;
    }
    if (j->verdict != DYN_JUDGED_ATTRACTOR) {
        return true;
    }
    return dyn_judge_advance(j, j->o->confirm) && dyn_judge_record(j, n) &&
           find_spread(j, n) >= (1.0 - SHRINKS) * before;
}

static kern_status keep_samples(dyn_judge *j, kern_error *err)
{
    const size_t n = j->o->samples;
    double *points = calloc(n * j->map->size, sizeof *points);
    if (points == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu states of an attractor", n);
    }
    memcpy(points, j->states, n * j->map->size * sizeof *points);
    j->out->points = points;
    j->out->n_points = n;
    j->out->spectral_radius = (double)NAN;
    return KERN_OK;
}

kern_status dyn_judge_aperiodic(dyn_judge *j, bool *contracting, kern_error *err)
{
    dyn_lyapunov l;
    *contracting = false;
    KERN_TRY(dyn_judge_find_exponents(j, &l, err));
    if (l.status != KERN_OK) {
        j->verdict = DYN_JUDGED_LOST;
        dyn_lyapunov_fini(&l);
        return KERN_OK;
    }
    const double largest = l.exponents[0];
    j->verdict = judge_exponents(j, &l);
    j->out->exponent = largest;
    dyn_lyapunov_fini(&l);
    const bool regular = fabs(largest) <= DYN_JUDGE_ZERO_EXPONENT;
    *contracting = largest < -DYN_JUDGE_ZERO_EXPONENT && j->verdict == DYN_JUDGED_PASSING;
    if (*contracting || (j->verdict != DYN_JUDGED_ATTRACTOR && !regular) ||
        !dyn_judge_record(j, j->o->samples)) {
        return KERN_OK;
    }
    if (regular && !stays(j, j->o->samples) && j->verdict != DYN_JUDGED_LOST) {
        j->verdict = DYN_JUDGED_PASSING;
    }
    return j->verdict == DYN_JUDGED_ATTRACTOR ? keep_samples(j, err) : KERN_OK;
}
