/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A list of distinct cycles: what a search has found so far.
 */
#ifndef BASIN_DYN_CYCLES_H
#define BASIN_DYN_CYCLES_H

#include "dyn/dyn_cycle_accuracy.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_multipliers.h"
#include "dyn/dyn_spectrum.h"

#include <stdbool.h>
#include <stddef.h>

/* Blocks up to this width have all multipliers computed, at a cost of O(width³); wider ones the
 * leading DYN_CYCLES_LEADING by the Arnoldi method. */
enum { DYN_CYCLES_DENSE_MAX = 600, DYN_CYCLES_LEADING = 6 };

typedef struct dyn_cycle {
    size_t period;  /* minimal */
    double *states; /* period × size, coordinates on circles reduced; begins with the state that is
                       smallest coordinate by coordinate */
    double *image;  /* F of the first state, evaluated after the last change of it */
    double residual;             /* largest |F(x_i) − x_{i+1}|, evaluated after the last change */
    size_t hits;                 /* starts that ended here */
    kern_status returns;         /* KERN_OK: free runs of two coprime strides return (dyn_stride.h);
                                    KERN_TIMEOUT: it repels too strongly for them to tell */
    dyn_multipliers multipliers; /* of the cycle; empty (n_blocks = 0) for wide blocks */
    dyn_spectrum leading;        /* those of largest modulus, for wide blocks; empty otherwise */
    double spectral_radius;      /* NaN when the multipliers could not be computed */
    dyn_cycle_accuracy accuracy; /* NaN for wide blocks */
    dyn_stability stability;     /* of dyn_cycle_accuracy.h; for wide blocks by the radius alone */
    bool stable;                 /* that is DYN_STABILITY_STABLE */
} dyn_cycle;

typedef struct dyn_cycles {
    dyn_map *map; /* borrowed */
    double merge; /* states closer than this times max(1, largest |x|) are the same */
    dyn_cycle *items;
    size_t n;
    size_t allocated;
} dyn_cycles;

/* Releases the cycles; `n` items may also stand alone, taken over from a list. */
void dyn_cycles_release(dyn_cycle *items, size_t n);

/* The cycle that the chain is, up to a shift; NULL when it is none of the list. */
dyn_cycle *dyn_cycles_find(const dyn_cycles *list, const double *states, size_t period);

/* Enters a cycle of minimal period `period`: one hit more for the cycle that it is, to the merging
 * distance or to the sum of what both positions are uncertain by (the better one then stays), or a
 * new one in reported form (dyn_chain_normalise) with image, residual and multipliers. *out (unless
 * NULL) receives the cycle, valid until the next call. `states` is changed; `work` holds period ×
 * size numbers. KERN_NO_MEMORY. */
kern_status dyn_cycles_enter(dyn_cycles *list, double *states, size_t period, kern_status returns,
                             double *work, dyn_cycle **out, kern_error *err);

/* Orders by period, then by first state. */
void dyn_cycles_sort(dyn_cycles *list);

#endif
