/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Branches of fixed points and cycles against one parameter: pseudo-arclength continuation
 * (dyn_arclength.h) of the multiple-shooting equations F(x_i; λ) = x_{i+1}, x_p = x_0, with what
 * happens on the way: LP, PD, NS and BP points, their normal forms, and the branches that leave
 * there.
 *
 * Lengths. The unknowns are x_i / (X √p) and (λ − start) / (high − low), X the larger of 1 and the
 * root mean square of the first cycle's coordinates; steps and arclengths are in these units, so
 * 0.01 is a hundredth of the range on a flat branch.
 *
 * Events. Every step compares the multipliers and the tangent at its ends. A change of
 *
 *   the sign of dλ/ds                                         and with it the number of real
 *       multipliers above 1 by an odd number                  is LP (limit point, fold)
 *   only one of these two                                     is BP (branch point)
 *   the number of real multipliers below −1 by an odd number  is PD (period doubling, flip)
 *   the number of multipliers outside the unit circle alone   is NS (Neimark–Sacker), if a complex
 *       pair is on the circle there, or a multiple PD or BP
 *
 * so a pitchfork met along its side branch is a BP although its multiplier touches +1 without
 * crossing, and a neutral saddle (real multipliers μ and 1/μ) is nothing. Steps with several
 * changes are halved until each stands alone. LP, PD and NS are then roots in arclength to
 * rounding; at a BP, where those are ill-conditioned, the critical point of the equation's
 * Lyapunov–Schmidt reduction is solved for instead (Govaerts 2000, chapter 4). A multiplier that
 * touches ±1 or the circle and turns back is found as a minimum of its distance, and is an event
 * with `touch` set; one that crosses and comes back within a step is two events. At the first point
 * and where the branch meets a bound, a multiplier that is critical but for rounding is an event.
 *
 * Maps have no derivative by a parameter; dyn_param_slope supplies it to about 1e-13. It decides
 * how fast Newton converges, not where to: states and parameters of LP, PD and NS do not inherit
 * its error.
 *
 * A structural multiplier +1, as under a layer norm (the scale and the shift of x change nothing),
 * makes every point a branch point. That is refused with KERN_SINGULAR.
 */
#ifndef BASIN_DYN_BRANCH_H
#define BASIN_DYN_BRANCH_H

#include "dyn/dyn_map.h"
#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_normal_form.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DYN_BRANCH_MAX = 16384, /* largest period · size of a branch */
    DYN_BRANCH_SIZE = 600   /* largest size of a map, whose systems are dense */
};

typedef enum dyn_branch_event_kind {
    DYN_BRANCH_LP,
    DYN_BRANCH_PD,
    DYN_BRANCH_NS,
    DYN_BRANCH_BP,
    DYN_BRANCH_UZ, /* a zero of the caller's own function */
    DYN_BRANCH_EVENT_KINDS
} dyn_branch_event_kind;

/* "LP", "PD", "NS", "BP" or "UZ". */
const char *dyn_branch_event_word(dyn_branch_event_kind kind);

/* Why a branch ends. */
typedef enum dyn_branch_end {
    DYN_BRANCH_END_START,  /* it was not followed in this direction */
    DYN_BRANCH_END_HIGH,   /* the parameter reached the upper end of its range */
    DYN_BRANCH_END_LOW,    /* or the lower one */
    DYN_BRANCH_END_BOX,    /* a state left the box */
    DYN_BRANCH_END_FAR,    /* a state is a million times as large as those at the start */
    DYN_BRANCH_END_CLOSED, /* the curve came back to where it began */
    DYN_BRANCH_END_HALVED, /* the cycle became one of half the period, at a PD of that one */
    DYN_BRANCH_END_STEP,   /* the corrector failed at the smallest step */
    DYN_BRANCH_END_POINTS, /* as many points as were allowed */
    DYN_BRANCH_END_KINDS
} dyn_branch_end;

/* "reached_high", "reached_low", "left_box", "diverged", "closed", "period_halved",
 * "not_converged", "max_points"; "start". */
const char *dyn_branch_end_word(dyn_branch_end end);

typedef struct dyn_branch_point {
    double parameter;
    double arclength; /* from the branch's start; negative behind it */
    double slope;     /* dλ/ds in these units: 0 at a fold */
    double *states;   /* period × size */
    double residual;  /* largest |F(x_i) − x_{i+1}|, evaluated after the last change */
    dyn_multipliers multipliers;
    bool stable;
    size_t folds; /* LP passed between the start and here */
} dyn_branch_point;

typedef struct dyn_branch_event {
    dyn_branch_event_kind kind;
    double parameter;
    double arclength;
    size_t period;  /* of the cycle that bifurcates: half the branch's at DYN_BRANCH_END_HALVED */
    double *states; /* period × size of the branch */
    double residual;
    double re, im;   /* critical multiplier; NaN for UZ */
    double distance; /* from +1, −1 or the unit circle */
    /* Multipliers (NS: pairs) there at once: those within 1e-7 of the nearest one's distance, which
     * is how far apart rounding may bring equal ones. Events whose multipliers are nearer to each
     * other than that, but whose places differ, are listed each, and count each other. Coefficients
     * are for a count of 1 only. */
    size_t count;
    bool touch;   /* reached without crossing */
    size_t point; /* index of the branch's point before it, by arclength */
    /* LP: a; PD: b; NS: Re d; BP: b20 / 2 when it is transcritical and b30 / 6 when it is a
     * pitchfork: see dyn_normal_form.h. NaN when normal_status says why. */
    double coefficient;
    double imaginary; /* Im d of NS, 0 otherwise */
    double angle;     /* of NS, in (0, π) */
    bool pitchfork;   /* of BP */
    dyn_criticality criticality;
    kern_status normal_status;
    /* Direction of the branch that leaves here: period × size numbers dx_i and dλ. At PD dλ is 0
     * and the doubled cycle starts as (x + ε dx, x − ε dx). NULL: none was found. */
    double *direction;
} dyn_branch_event;

/* A function whose zeros along a branch are events, such as a multiplier for superstable cycles. It
 * is called where the multipliers are known. */
typedef double dyn_branch_monitor(void *context, double parameter, const double *states,
                                  const dyn_multipliers *multipliers);

typedef struct dyn_branch_options {
    const char *vary; /* parameter */
    double start;     /* its value where the branch begins */
    double low, high; /* its range, low < high, start within */
    int direction;    /* +1: upwards from the start, −1: downwards, 0: both */
    size_t period;    /* minimal period of the first cycle */
    const double *x0; /* size numbers near its first state; NULL: found from the map's start */
    double step;      /* first, smallest, largest: see above */
    double step_min;
    double step_max;
    double tol;        /* of residuals; larger states than rounding allows are refused */
    size_t max_points; /* in each direction */
    const double *box_low, *box_high; /* size numbers each, or NULL */
    uint64_t seed;                    /* of the search for a first cycle */
    dyn_branch_monitor *monitor;      /* may be NULL */
    void *monitor_context;
    dyn_progress *progress; /* counts points out of max_points; may be NULL */
    void *context;
} dyn_branch_options;

/* Both directions, period 1, steps 0.01, 1e-12 and 0.04, tolerance 1e-11, 1000 points, seed 1; the
 * caller sets vary, start, low and high. */
dyn_branch_options dyn_branch_options_default(void);

typedef struct dyn_branch {
    size_t size;
    size_t period;
    size_t n_points; /* by arclength */
    dyn_branch_point *points;
    size_t start;    /* index of the point where it began */
    size_t n_events; /* by arclength */
    dyn_branch_event *events;
    dyn_branch_end ends[2]; /* behind the first point, behind the last one */
    size_t depth;           /* branchings between the first branch and this one */
    size_t parent;          /* index in its tree, and event there; SIZE_MAX for the first branch */
    size_t parent_event;
} dyn_branch;

/* Follows one branch. *out is initialised here and released with dyn_branch_fini, which is harmless
 * after a failure. The map's parameter is restored. That a branch ends early is an outcome. Errors:
 * KERN_INVALID_ARGUMENT for options outside their domain; KERN_NOT_CONVERGED when no cycle of
 * this minimal period was found at the start; KERN_SINGULAR as above, or when the start is itself a
 * branch point; KERN_INTERRUPTED; KERN_NO_MEMORY. Cost per corrector iteration: period·(size jvps +
 * 6 to 24 steps of the map) + O(period · size³). */
kern_status dyn_branch_init(dyn_branch *out, dyn_map *map, const dyn_branch_options *options,
                            kern_error *err);
void dyn_branch_fini(dyn_branch *branch);

/* Follows the branch that leaves at an event of `parent`: at BP the other branch, both ways; at PD
 * the cycle of twice the period, one way. Of `options` the start, the period and x0 are not looked
 * at. KERN_NOT_FOUND for events without such a branch, KERN_NOT_CONVERGED when no point of it was
 * found. */
kern_status dyn_branch_switch_init(dyn_branch *out, dyn_map *map, const dyn_branch_options *options,
                                   const dyn_branch *parent, size_t event, kern_error *err);

typedef struct dyn_branch_tree {
    size_t n_branches;
    dyn_branch *branches; /* owned; parents before children */
    size_t n_failed;      /* switches that found no branch, or none new */
} dyn_branch_tree;

/* Follows a branch, those that leave at its PD and BP events, and so on down to `depth` branchings
 * (0: the first alone). An event met again along another branch is followed once. Errors as
 * dyn_branch_init. */
kern_status dyn_branch_tree_init(dyn_branch_tree *out, dyn_map *map,
                                 const dyn_branch_options *options, size_t depth, kern_error *err);
void dyn_branch_tree_fini(dyn_branch_tree *tree);

#endif
