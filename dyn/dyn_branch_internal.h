/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sources of dyn_branch share.
 */
#ifndef BASIN_DYN_BRANCH_INTERNAL_H
#define BASIN_DYN_BRANCH_INTERNAL_H

#include "dyn/dyn_arclength.h"
#include "dyn/dyn_branch.h"
#include "dyn/dyn_cyclic.h"
#include "kernels/kern_arena.h"

/* ---- The equations (dyn_branch_system.c) -------------------------------------------------- */

/* The shooting equations of one period in scaled unknowns u: n states and one parameter. */
typedef struct branch_system {
    dyn_map *map;
    size_t parameter; /* index */
    size_t size, period, n;
    double origin, length; /* λ = origin + length · u_n */
    double unit;           /* x = unit · u */
    dyn_cyclic *one;       /* bordered by the parameter and one row */
    dyn_cyclic *two;       /* bordered by the parameter, one more unknown, and two rows */
    kern_arena arena;
    double *states; /* n */
    double *work;   /* of the Jacobian and of the slope */
    double *image;  /* size */
    double *fill;   /* n + 1 fixed pseudo-random numbers of length 1: a generic border */
} branch_system;

/* `unit` and the parameter's scale as dyn_branch.h says. */
kern_status branch_system_create(branch_system **out, dyn_map *map, size_t parameter, size_t period,
                                 double origin, double length, double rms, kern_error *err);
void branch_system_destroy(branch_system *s);

/* u from states and a parameter, and back; the latter sets the map's parameter as well. */
void branch_system_pack(const branch_system *s, const double *states, double parameter, double *u);
double branch_system_unpack(const branch_system *s, const double *u, double *states);

/* A dyn_arc_problem of this system. */
dyn_arc_problem branch_system_problem(branch_system *s);

/* Fills blocks A_i and the parameter's column of `c` (one of s->one, s->two) at u. */
void branch_system_fill(branch_system *s, const double *u, dyn_cyclic *c, size_t border);

/* G at u: n numbers. */
void branch_system_gap(branch_system *s, const double *u, double *g);

/* The direction q along the cycle that changes its sign in one turn, |q|₂ = 1; `q` has n + 1
 * numbers, the last 0. */
kern_status branch_system_flip(branch_system *s, const double *u, double *q);

/* ---- Branch points (dyn_branch_cross.c) --------------------------------------------------- */

typedef struct branch_cross {
    double value;    /* of the reduced equation at its critical point, 0 at a branch point */
    double gradient; /* left there */
    double *first;   /* n + 1: unit directions of the two branches; borrowed */
    double *second;
    bool crossing; /* the directions are real and distinct */
} branch_cross;

/* Moves u (n + 1 numbers) to the branch point near it, where the tangent is about `tangent`;
 * `reach` is a length over which the equations change little. `work` holds
 * branch_cross_work(s) numbers. KERN_NOT_CONVERGED, KERN_SINGULAR, KERN_NAN; u is then as given. */
size_t branch_cross_work(const branch_system *s);
kern_status branch_cross_find(branch_system *s, double *u, const double *tangent, double reach,
                              branch_cross *out, double *work);

/* ---- Walking (dyn_branch_walk.c) ---------------------------------------------------------- */

/* What events are told from, at one place of a step. */
typedef struct branch_sample {
    double at;      /* arclength from the start of the step */
    double slope;   /* of the parameter along the tangent */
    bool known;     /* the multipliers are */
    size_t above;   /* real multipliers above 1 */
    size_t below;   /* real multipliers below −1 */
    size_t outside; /* multipliers outside the unit circle, and */
    size_t pairs;   /* those of them off the real line */
    size_t neutral; /* multipliers off the real line that are on the circle but for rounding */
    double plus;    /* Π (μ − 1)/(1 + |μ|), and */
    double minus;   /* Π (μ + 1)/(1 + |μ|): smooth, 0 at +1 and −1 */
    double circle;  /* least | |μ| − 1 | of a complex pair, and */
    double one;     /* least |μ − 1| and */
    double flip;    /* least |μ + 1| of a real multiplier; ∞ without any */
    double monitor; /* the caller's function, NaN without */
} branch_sample;

typedef struct branch_walk {
    dyn_map *map;
    const dyn_branch_options *o;
    branch_system *system; /* owned */
    dyn_arc *arc;
    dyn_branch *out;
    size_t points_allocated, events_allocated;
    kern_arena arena;
    double *u, *tangent;             /* n + 1 each, between points */
    double *states;                  /* n */
    double *first_u, *first_tangent; /* n + 1 each, of this direction */
    double *direction;               /* n + 1, of a branch that leaves */
    double *cross_work;
    double sign;      /* −1 behind the start, +1 before it */
    double travelled; /* arclength at the start of the last step, ≥ 0 */
    size_t folds;
    bool halved;          /* the last event ends the branch */
    bool ignore_pairs;    /* the step has neutral pairs at both ends, whose side is rounding's */
    branch_sample before; /* at the start of the step before the last one, */
    bool has_before;      /* if there was one */
} branch_walk;

/* Appends to `out`, whose period and size are set. Makes the system, of a cycle whose root mean
 * square coordinate is `rms`. */
kern_status branch_walk_create(branch_walk *w, dyn_map *map, const dyn_branch_options *o,
                               dyn_branch *out, double rms, kern_error *err);
void branch_walk_destroy(branch_walk *w);

/* From where w->arc stands, `first` of arclength from the branch's start, to an end; `sign` says on
 * which side of the start. Points after the first one, and events, are appended in the order met.
 */
kern_status branch_walk_run(branch_walk *w, double sign, double first, dyn_branch_end *end,
                            kern_error *err);

/* Begins the walk's curve at u; see dyn_arc_start. */
kern_status branch_walk_start(branch_walk *w, const double *u, const double *direction);

/* Appends the point w->arc stands at, `arclength` from the start. */
kern_status branch_walk_record(branch_walk *w, double arclength, kern_error *err);

/* Reverses the order of all points and events: they were met while walking backwards. */
void branch_walk_turn(dyn_branch *out);

/* ---- Samples (dyn_branch_sample.c) -------------------------------------------------------- */

/* The sample at a point with its tangent; the map's parameter and w->states are set. `keep`, unless
 * it is NULL, takes the multipliers. */
kern_status branch_sample_take(branch_walk *w, const double *u, const double *tangent, double at,
                               branch_sample *sample, dyn_multipliers *keep, kern_error *err);

/* Multipliers outside the circle, without pairs where the step ignores them. */
size_t branch_sample_outside(const branch_walk *w, const branch_sample *s);

/* The direction of the curve across a branch point of the last step, into w->tangent. */
void branch_sample_course(branch_walk *w);

/* The sample at arclength s of the last step, whose point and tangent stay in w->u and w->tangent.
 * *found is false where the corrector fails. */
kern_status branch_sample_between(branch_walk *w, double s, branch_sample *sample, bool *found,
                                  kern_error *err);

/* ---- Events (dyn_branch_events.c, dyn_branch_touch.c, dyn_branch_record.c) ---------------- */

/* Finds the crossings in the last step that the samples at its ends tell, and records them. */
kern_status branch_events_find(branch_walk *w, const branch_sample *a, const branch_sample *b,
                               kern_error *err);

/* The same of the crossings alone that the samples at the ends of a part of the last step tell. */
kern_status branch_events_isolate(branch_walk *w, const branch_sample *a, const branch_sample *b,
                                  kern_error *err);

/* Minima of the distance from ±1 and from the circle in a step that nothing of that kind crosses:
 * touches, and crossings there and back. After branch_events_find. */
kern_status branch_touch_find(branch_walk *w, const branch_sample *a, const branch_sample *b,
                              kern_error *err);

/* Records what happens at `end`, an end of the branch and of the last step, `other` being the
 * step's other end: which side the critical multiplier is on there is a matter of rounding, so that
 * it may not have been told as a crossing. */
kern_status branch_touch_end(branch_walk *w, const branch_sample *end, const branch_sample *other,
                             kern_error *err);

/* Records an event at w->u at arclength s of the last step; at a BP `direction` (n + 1 numbers, may
 * be NULL) is that of the other branch. A BP at which the cycle's period halves becomes a PD of the
 * shorter cycle and sets w->halved. */
kern_status branch_record_event(branch_walk *w, dyn_branch_event_kind kind, double s, bool touch,
                                const double *direction, kern_error *err);

/* ---- Starts (dyn_branch_start.c) ---------------------------------------------------------- */

/* Checks options and finds the parameter. */
kern_status branch_check_options(const dyn_map *map, const dyn_branch_options *o, size_t *parameter,
                                 kern_error *err);

/* A cycle of minimal period o->period, with the map's parameters as they are, into states (period ×
 * size). */
kern_status branch_find_start(dyn_map *map, const dyn_branch_options *o, double *states,
                              kern_error *err);

/* KERN_SINGULAR with a sentence on gauge directions. */
kern_status branch_raise_gauge(const dyn_map *map, kern_error *err);

/* KERN_SINGULAR when fixed points of the map cannot be isolated, with its parameters as they are.
 */
kern_status branch_check_gauge(dyn_map *map, const dyn_branch_options *o, size_t parameter,
                               kern_error *err);

/* Largest distance of x_i from x_{i + period/2}. */
double branch_half_gap(const dyn_map *map, const double *states, size_t period);

/* Root mean square of n numbers. */
double branch_rms(const double *values, size_t n);

#endif
