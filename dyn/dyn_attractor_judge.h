/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the sources of dyn_attractor_verify share: dyn_attractor_judge.c moves the orbit,
 * dyn_attractor_aperiodic.c judges orbits without a period, and dyn_attractor_verify.c judges
 * cycles and decides what is asked when.
 */
#ifndef BASIN_DYN_ATTRACTOR_JUDGE_H
#define BASIN_DYN_ATTRACTOR_JUDGE_H

#include "dyn/dyn_attractor.h"
#include "dyn/dyn_lyapunov.h"

#include <stdbool.h>

/* An exponent this close to zero is not told from zero: over n steps a regular orbit shows ln(n)/n,
 * 2e-3 for the default n. */
#define DYN_JUDGE_ZERO_EXPONENT 2e-3

/* One judgement. */
typedef struct dyn_judge {
    dyn_map *map;
    const dyn_verify_options *o;
    double *x;       /* the state, the caller's */
    double *states;  /* consecutive states, the last of which is x */
    double *cycle;   /* of DYN_ATTRACTOR_PERIOD_MOST states, or as many as shooting accepts */
    size_t room;     /* states of `cycle` */
    bool preserving; /* the cycle held has no contracting direction */
    size_t *steps;
    dyn_attractor *out;
    dyn_judgement verdict;
} dyn_judge;

/* n steps of the state; false when it is lost, and then the verdict says so. */
bool dyn_judge_advance(dyn_judge *j, size_t n);

/* Stores n consecutive states, the first of them the present one; false as above. */
bool dyn_judge_record(dyn_judge *j, size_t n);

/* Exponents from the present state, which does not advance; *l is released by the caller. */
kern_status dyn_judge_find_exponents(dyn_judge *j, dyn_lyapunov *l, kern_error *err);

/* Judges an orbit that shows no period. *contracting: its tangents shrink, so it is a long cycle or
 * still on its way, and nothing is judged yet. */
kern_status dyn_judge_aperiodic(dyn_judge *j, bool *contracting, kern_error *err);

#endif
