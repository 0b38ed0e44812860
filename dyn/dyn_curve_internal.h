/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sources of dyn_curve share.
 */
#ifndef BASIN_DYN_CURVE_INTERNAL_H
#define BASIN_DYN_CURVE_INTERNAL_H

#include "dyn/dyn_arclength.h"
#include "dyn/dyn_border.h"
#include "dyn/dyn_curve.h"
#include "kernels/kern_arena.h"

/* ---- The equations (dyn_curve_system.c) --------------------------------------------------- */

/* Equations of a curve in scaled unknowns u: n numbers of states, k for NS, p and q. */
typedef struct curve_system {
    dyn_map *map;
    dyn_normal_kind kind;
    size_t period, size, n;
    size_t conditions;           /* equations besides the n of shooting: 1, or 2 for NS */
    size_t unknowns;             /* n + conditions + 1 */
    size_t parameters[2];        /* indices */
    double origin[2], length[2]; /* p = origin + length · u */
    double unit;                 /* x = unit · u */
    dyn_border border;
    double functional[2][2][2]; /* L_e: condition e of NS is Σ_ab L_e,ab G_ab; of others, G_00 */
    double k;                   /* at the last u */
    double weight;              /* of the conditions: 1 / max(1, largest entry of T) */
    kern_arena arena;
    double *states;  /* n: at the last u */
    double *blocks;  /* period × size²: F'(x_i) */
    double *product; /* size²: A */
    double *t;       /* size²: the matrix that is to be singular */
    double *spread;  /* size²: derivative of a block in a direction */
    double *other;   /* size² */
    double *right;   /* n + conditions: vectors carried along the cycle, or equations */
    double *left;    /* conditions × n: vectors carried back along it */
    double *vectors; /* 8 × size: scratch */
    double *work;    /* of Jacobians */
} curve_system;

/* Around the point of `states` and the map's parameters. */
kern_status curve_system_create(curve_system **out, dyn_map *map, const double *states,
                                const dyn_curve_options *options, const size_t parameters[2],
                                kern_error *err);
void curve_system_destroy(curve_system *s);

/* u of states, k and the map's parameters. */
void curve_system_pack(const curve_system *s, const double *states, double k, double *u);

/* Takes s->states, s->k and the map's parameters from u. */
void curve_system_unpack(curve_system *s, const double *u);

/* As dyn_arc_problem asks. Leaves A and the solution of the bordered system at u. */
void curve_system_evaluate(void *context, const double *u, double *g, double *jacobian);

/* Chooses borders and conditions afresh for the neighbourhood of u: from nothing with `first`, from
 * the last ones otherwise, with their orientation. KERN_SINGULAR, KERN_NAN. */
kern_status curve_system_adopt(curve_system *s, const double *u, bool first);

/* ---- Tests (dyn_curve_test.c) ------------------------------------------------------------- */

enum { CURVE_TESTS = 8 };

/* What is known of a point of the curve. */
typedef struct curve_sample {
    double k;
    double residual;    /* largest equation */
    double pairing;     /* ⟨w, v⟩ of the unit null vectors, oriented as the borders are */
    double orientation; /* of LP: the sign of ⟨v, q⟩ with the normal form's q */
    double *re, *im;    /* multipliers */
    size_t critical[2];
    size_t n_critical, size;
    dyn_normal_form form;
    double value[CURVE_TESTS];
    double floor[CURVE_TESTS]; /* values below it are noise */
} curve_sample;

/* Number of tests on a curve of a kind, and the event that test `test` is for. */
size_t curve_test_count(dyn_normal_kind kind);
dyn_curve_event_kind curve_test_event(dyn_normal_kind kind, size_t test);

/* Fills the sample at u; its re and im have room for `size` numbers. KERN_NAN, KERN_NOT_CONVERGED.
 */
kern_status curve_sample_take(curve_system *s, dyn_normal *normal, const double *u,
                              curve_sample *sample);

/* True when test `test` of the kind changes its sign between both samples in a way that counts. */
bool curve_test_changed(dyn_normal_kind kind, size_t test, const curve_sample *a,
                        const curve_sample *b);

/* True when the sample, taken at a root of the test between a and b, is a point of that kind: not a
 * pole, and not a pair of real multipliers whose product is 1. */
bool curve_test_holds(dyn_normal_kind kind, size_t test, const curve_sample *a,
                      const curve_sample *b, const curve_sample *root);

/* ---- Following (dyn_curve_locate.c) ------------------------------------------------------- */

/* Points and events of one direction, away from the start. */
typedef struct curve_side {
    size_t n_points, room_points;
    dyn_curve_point *points;
    size_t n_events, room_events;
    dyn_curve_event *events; /* index: the last point of this side before it; 0 is the start */
    dyn_curve_end end;
} curve_side;

/* One call of dyn_curve_init. */
typedef struct curve_job {
    dyn_map *map;
    const dyn_curve_options *o;
    dyn_curve *out;
    curve_system *system;
    dyn_normal *normal;
    dyn_arc *arc;
    curve_sample before, now, probe; /* at both ends of a step, and between them */
    double *numbers;                 /* what the samples and the vectors below lie in */
    double *u;                       /* unknowns: a point between */
    double *start, *tangent;         /* unknowns: where the curve begins, and its tangent there */
    double *halves;                  /* n: what tells the halves of the cycle apart, at `before` */
    curve_side sides[2];             /* backward, forward */
} curve_job;

/* A copy of a sample that was taken last, with s->states, as a point. KERN_NO_MEMORY. */
kern_status curve_point_make(const curve_job *job, const curve_sample *sample,
                             dyn_curve_point *point, kern_error *err);
void curve_point_fini(dyn_curve_point *point);

/* Ends of the step just taken that cut it short: a bound of a parameter, or the cycle becoming one
 * of half the period. If there is one, the current point becomes the first of them, and *end says
 * which. False when there is none. */
bool curve_cut_step(curve_job *job, dyn_curve_end *end);

/* True when a parameter of the current point is beyond its range. */
bool curve_is_outside(const curve_job *job);

/* Finds the events between `before` and `now` and adds them to the side. */
kern_status curve_find_events(curve_job *job, curve_side *side, kern_error *err);

/* Into `halves` (n numbers): the first half of a cycle of even length minus the second one; nothing
 * for others. */
void curve_fill_halves(const curve_system *s, double *halves);

#endif
