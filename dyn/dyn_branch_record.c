/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_branch_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A multiplier takes part in an event when it is no farther from its ideal place than the nearest
 * one and this, a few times √ε: so far apart does rounding bring two equal ones that share a
 * Jordan block. */
#define TAKES_PART 1e-7
/* A cycle whose halves differ by this part of what they did a step earlier has half the period. */
#define HALVED 1e-3

static kern_status make_room(branch_walk *w, kern_error *err)
{
    dyn_branch *out = w->out;
    if (out->n_events < w->events_allocated) {
        return KERN_OK;
    }
    const size_t wanted = w->events_allocated > 0 ? 2 * w->events_allocated : 8;
    dyn_branch_event *grown = realloc(out->events, wanted * sizeof *grown);
    if (grown == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu events of a branch", wanted);
    }
    out->events = grown;
    w->events_allocated = wanted;
    return KERN_OK;
}

/* Largest |F(x_i) − x_{i+1}|. */
static double find_residual(branch_walk *w, const double *u)
{
    double most = 0.0;
    branch_system_gap(w->system, u, w->states);
    for (size_t i = 0; i < w->system->n; i++) {
        most = fabs(w->states[i]) <= most ? most : fabs(w->states[i]);
    }
    return most;
}

/* ---- Critical multipliers ----------------------------------------------------------------- */

static double distance_from_place(dyn_branch_event_kind kind, double re, double im)
{
    switch (kind) {
    case DYN_BRANCH_LP:
    case DYN_BRANCH_BP:
        return hypot(re - 1.0, im);
    case DYN_BRANCH_PD:
        return hypot(re + 1.0, im);
    case DYN_BRANCH_NS:
        return im != 0.0 ? fabs(hypot(re, im) - 1.0) : (double)INFINITY;
    case DYN_BRANCH_UZ:
    case DYN_BRANCH_EVENT_KINDS:
        break;
    }
    return (double)INFINITY;
}

/* The nearest multiplier, and how many are there with it. */
static void find_critical(dyn_branch_event *event, const dyn_multipliers *m)
{
    event->distance = (double)INFINITY;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t b = 0; b < m->n_blocks; b++) {
            for (size_t j = 0; j < m->blocks[b].n; j++) {
                const double re = m->blocks[b].re[j];
                const double im = m->blocks[b].im[j];
                const double distance =
                    im < 0.0 ? (double)INFINITY : distance_from_place(event->kind, re, im);
                if (pass == 1) {
                    event->count += distance <= event->distance + TAKES_PART ? 1U : 0U;
                } else if (distance < event->distance) {
                    event->distance = distance;
                    event->re = re;
                    event->im = im;
                }
            }
        }
    }
    event->count = event->distance < (double)INFINITY ? event->count : 1;
}

/* ---- Normal forms ------------------------------------------------------------------------- */

static void take_simple(dyn_normal *normal, dyn_branch_event *event)
{
    static const dyn_normal_kind kinds[] = {[DYN_BRANCH_LP] = DYN_NORMAL_LP,
                                            [DYN_BRANCH_PD] = DYN_NORMAL_PD,
                                            [DYN_BRANCH_NS] = DYN_NORMAL_NS};
    dyn_normal_form form;
    dyn_normal_find(normal, event->states, kinds[event->kind], atan2(event->im, event->re), &form);
    event->normal_status = form.status;
    event->coefficient = form.coefficient;
    event->imaginary = form.imaginary;
    event->angle = form.angle;
    event->criticality = form.criticality;
}

static void take_branching(dyn_normal *normal, size_t parameter, dyn_branch_event *event)
{
    dyn_branch_form form;
    dyn_normal_branch(normal, event->states, parameter, &form, NULL);
    event->normal_status = form.status;
    event->pitchfork = form.pitchfork;
    event->coefficient = form.pitchfork ? form.b30 / 6.0 : 0.5 * form.b20;
    event->criticality = form.criticality;
    if (form.status != KERN_OK) {
        event->coefficient = (double)NAN;
    }
}

static kern_status find_normal_form(branch_walk *w, dyn_branch_event *event, kern_error *err)
{
    dyn_normal *normal = NULL;
    if (event->kind == DYN_BRANCH_UZ) {
        return KERN_OK;
    }
    event->normal_status = KERN_SINGULAR;
    if (event->count > 1) {
        return KERN_OK;
    }
    KERN_TRY(dyn_normal_create(&normal, w->map, event->period, err));
    if (event->kind == DYN_BRANCH_BP) {
        take_branching(normal, w->system->parameter, event);
    } else {
        take_simple(normal, event);
    }
    dyn_normal_destroy(normal);
    return KERN_OK;
}

/* ---- Directions --------------------------------------------------------------------------- */

/* Keeps the direction, in the map's own units. At a flip it is found here. */
static kern_status keep_direction(branch_walk *w, dyn_branch_event *event, const double *direction,
                                  kern_error *err)
{
    const branch_system *s = w->system;
    if (event->kind == DYN_BRANCH_PD && !w->halved && !event->touch &&
        branch_system_flip(w->system, w->u, w->direction) == KERN_OK) {
        direction = w->direction;
    }
    if (direction == NULL || w->halved) {
        return KERN_OK;
    }
    event->direction = malloc((s->n + 1) * sizeof *event->direction);
    if (event->direction == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a direction of %zu numbers", s->n);
    }
    for (size_t i = 0; i < s->n; i++) {
        event->direction[i] = direction[i] * s->unit;
    }
    event->direction[s->n] = direction[s->n] * s->length;
    return KERN_OK;
}

/* ---- Recording ---------------------------------------------------------------------------- */

/* A BP of a cycle whose halves have become equal is where a cycle of half the period flips. */
static void recognise_halving(branch_walk *w, dyn_branch_event *event)
{
    const size_t period = event->period;
    if (event->kind != DYN_BRANCH_BP || period % 2 != 0) {
        return;
    }
    (void)branch_system_unpack(w->system, dyn_arc_previous_point(w->arc), w->states);
    const double before = branch_half_gap(w->map, w->states, period);
    if (branch_half_gap(w->map, event->states, period) <= HALVED * before) {
        event->kind = DYN_BRANCH_PD;
        event->period = period / 2;
        w->halved = true;
    }
}

static kern_status describe(branch_walk *w, dyn_branch_event *event, const double *direction,
                            kern_error *err)
{
    dyn_multipliers_options o = dyn_multipliers_options_default();
    dyn_multipliers m;
    event->residual = find_residual(w, w->u);
    event->parameter = branch_system_unpack(w->system, w->u, event->states);
    recognise_halving(w, event);
    (void)branch_system_unpack(w->system, w->u, event->states);
    o.period = event->period;
    o.horizon = 0;
    KERN_TRY(dyn_multipliers_init(&m, w->map, event->states, &o, err));
    if (m.status == KERN_OK && event->kind != DYN_BRANCH_UZ) {
        find_critical(event, &m);
    }
    dyn_multipliers_fini(&m);
    KERN_TRY(find_normal_form(w, event, err));
    return keep_direction(w, event, direction, err);
}

kern_status branch_record_event(branch_walk *w, dyn_branch_event_kind kind, double s, bool touch,
                                const double *direction, kern_error *err)
{
    dyn_branch_event event = {.kind = kind,
                              .period = w->system->period,
                              .arclength = w->sign * (w->travelled + s),
                              .re = (double)NAN,
                              .im = (double)NAN,
                              .distance = (double)NAN,
                              .touch = touch,
                              .coefficient = (double)NAN,
                              .angle = (double)NAN};
    KERN_TRY(make_room(w, err));
    event.states = malloc(w->system->n * sizeof *event.states);
    if (event.states == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for an event of %zu numbers",
                          w->system->n);
    }
    const kern_status status = describe(w, &event, direction, err);
    if (status != KERN_OK) {
        free(event.states);
        free(event.direction);
        return status;
    }
    w->folds += event.kind == DYN_BRANCH_LP && !touch ? 1U : 0U;
    w->out->events[w->out->n_events++] = event;
    return KERN_OK;
}
