/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the analyses of the explorer follow: the chosen token alone, its prefix held where the
 * plane's centre has it, or all tokens together. Behind a norm the map is one of directions with
 * the scales σ pinned (dyn/dyn_chart.h), so that what is called at rest, an attractor or a period
 * has a meaning while σ drifts.
 *
 * A long analysis stops soon after it is cancelled: from then on the map's states are NaN, which
 * every analysis takes for a lost orbit.
 */
#ifndef BASIN_VIEW_TOKEN_H
#define BASIN_VIEW_TOKEN_H

#include "viz/view/view_landscape.h"

typedef struct view_token {
    const view_landscape *landscape;
    size_t index;  /* the landscape's token; of a sum over all, the last one */
    bool whole;    /* the map is that of all tokens */
    dyn_map *map;  /* owned; its start is the state at the centre */
    bool chart;    /* the map's states are directions */
    double *sigma; /* owned; by block of the map: its scale after the trained number of steps, 1
                      without a norm */
    double *mean;  /* by block: its mean at the centre, where a norm takes it away; else 0 */
    view_cancelled *cancelled;
    void *context;
} view_token;

/* The map of the token, or of all, at rate 1. `cancelled` may be NULL, and is asked from any
 * thread. The landscape must live as long. Errors of dyn_frozen_create and dyn_chart_create;
 * KERN_INVALID_ARGUMENT for all tokens where the settings hold some one by one. */
typedef enum view_extent { VIEW_TOKEN_ALONE, VIEW_TOKENS_ALL } view_extent;
kern_status view_token_init(view_token *token, const view_landscape *landscape, view_extent extent,
                            view_cancelled *cancelled, void *context, kern_error *err);
void view_token_fini(view_token *token);

/* Name of the parameter that is the factor on the update: "rate", or "step_scale" without norm. */
const char *view_token_rate(const view_token *token);

/* KERN_INTERRUPTED once cancelled. */
kern_status view_token_check(const view_token *token, kern_error *err);

/* x = the tokens' numbers of a state z of the map: σ z and the mean. x may be z. */
void view_token_leave(const view_token *token, const double *z, double *x);

/* z = the state of the map in the directions of tokens x. z may be x. By any number of threads at
 * once. */
void view_token_enter(const view_token *token, const double *x, double *z);

#endif
