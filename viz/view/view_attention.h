/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whom every token attends to at every state of a landscape's trajectory: the weights of the
 * model's own softmax (models/model_attention.h), as means over its heads.
 */
#ifndef BASIN_VIEW_ATTENTION_H
#define BASIN_VIEW_ATTENTION_H

#include "viz/view/view_landscape.h"

/* Numbers that are kept at most; states behind them have no weights. */
#define VIEW_ATTENTION_MOST ((size_t)1 << 25)

typedef struct view_attention {
    view_settings settings; /* of the landscape */
    size_t tokens;
    size_t heads;  /* 0: the map has no attention */
    size_t states; /* that have weights, from the first on */
    double *means; /* private */
} view_attention;

/* KERN_INTERRUPTED when `cancelled` (may be NULL), asked at every state, returns true. Cost: a step
 * of the map for every state. */
kern_status view_attention_create(view_attention **out, const view_landscape *landscape,
                                  view_cancelled *cancelled, void *context, kern_error *err);
void view_attention_destroy(view_attention *attention); /* NULL is ignored */

/* The token + 1 weights of a token at a state of the trajectory, those of tokens 0 to itself; NULL
 * where there are none. */
const double *view_attention_of(const view_attention *attention, size_t state, size_t token);

/* The `most` tokens of the largest weights above 0, largest first, of equal ones the first one
 * first; returns how many there are. */
size_t view_attention_top(const double *weights, size_t token, size_t most, size_t *top);

#endif
