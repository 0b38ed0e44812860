/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins on a plane: from every place of it the map is followed until it settles, and the place is
 * coloured by where it went.
 *
 * Where the plane moves one token, that token is followed with its prefix held, as in the field
 * that is drawn; where it moves several, all tokens are. Behind a norm states are directions with
 * pinned scales (viz/view/view_token.h), so attractors are told apart by their directions and their
 * period; the rate is the settings'. They are verified (dyn/dyn_attractor.h). What did not settle
 * within the steps, what became infinite, and places without a state (dyn_plane_has) are classes of
 * their own.
 */
#ifndef BASIN_VIEW_BASINS_H
#define BASIN_VIEW_BASINS_H

#include "viz/view/view_landscape.h"
#include "viz/viz_layers.h"

/* Attractors shown, those with the largest shares; further ones share a class. Those with a legend
 * of their own; the rest share an entry. */
enum { VIEW_BASINS_NAMED = 9 };
enum { VIEW_BASINS_MAX = 24, VIEW_BASINS_CLASSES = VIEW_BASINS_MAX + 4 };

/* Labels beside those of attractors, which are 1, 2, … by falling share. */
enum {
    VIEW_BASINS_OTHERS = -1,
    VIEW_BASINS_UNRESOLVED = -2,
    VIEW_BASINS_NOT_FINITE = -3,
    VIEW_BASINS_OUTSIDE = -4 /* of the chart: places without a state */
};

typedef struct view_basins {
    viz_lattice lattice;
    int32_t *labels; /* ny × nx */
    double *light; /* ny × nx: 1 − ln(s/s₀)/ln(s₁/s₀) of the steps s to arrival, whose smallest
                      and largest number are s₀ and s₁; 1 where nothing was arrived at */
    viz_class classes[VIEW_BASINS_CLASSES]; /* those that occur */
    size_t n_classes;
    char names[VIEW_BASINS_CLASSES][64];   /* plain text: "1: period 2", … */
    char legends[VIEW_BASINS_CLASSES][96]; /* with the share, in markup; NULL in the class of an
                                              attractor without an entry */
    double fraction[VIEW_BASINS_CLASSES];  /* of all places that have a state; 0 of the others */
    size_t n_attractors;                   /* all that were found */
    size_t n_unresolved, n_not_finite, n_outside; /* places */
    size_t least, most; /* steps s₀ and s₁; 0 when nothing was arrived at */
} view_basins;

/* `columns` × 5/8 places of the landscape's range. The outcome does not depend on the workers.
 * KERN_INVALID_ARGUMENT without columns; KERN_INTERRUPTED when cancelled; KERN_NO_MEMORY. Cost: the
 * steps of all orbits, at most VIEW_BASINS_STEPS each, and verifying what is found. */
enum { VIEW_BASINS_STEPS = 2000 };
kern_status view_basins_create(view_basins **out, const view_landscape *landscape, size_t columns,
                               int workers, view_cancelled *cancelled, void *context,
                               kern_error *err);
void view_basins_destroy(view_basins *basins); /* NULL is ignored */

#endif
