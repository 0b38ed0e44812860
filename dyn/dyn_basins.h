/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Basins of attraction: which attractor each of many starts ends on.
 *
 * Every start gets a label: the id of an attractor, 1 or more, or one of the outcomes below, each
 * of which means one thing. Attractors are verified as dyn_attractor.h says; what only looks like
 * one gets no id.
 *
 * Methods, in a table (dyn_basins_methods):
 *
 *   recurrences  An orbit that keeps to cells of a grid that it has visited before has come to
 *                something, and is verified; one that keeps to cells of a known attractor, and
 *                within a quarter of a cell of it if it is a cycle, has come to that (Datseris and
 *                Wagemakers 2022, doi 10.1063/5.0076568). Up to 3 coordinates; nothing need be
 *                known beforehand. Aperiodic attractors that share their cells may be taken for
 *                one. Here the set of known cells is frozen while starts are followed, each with
 *                its own visits, so starts can be followed in any order; starts that come to
 *                something new are put aside, the first of them adds its attractor, and the others
 *                are followed again.
 *   proximity    A start that keeps within a distance of an attractor has come to it. Any number of
 *                coordinates; attractors are given, or looked for from some of the starts, and
 *                then a start that comes to rest elsewhere (a fixed point or a cycle) is verified
 *                and adds its attractor. Points of attractors are found by place (dyn_near.h).
 *   features     Numbers that describe the tails of the orbits are grouped (dyn_group.h), and each
 *                group's orbit is verified; an orbit that is alone is a group. Any number of
 *                coordinates.
 *
 * Results do not depend on the number of workers.
 */
#ifndef BASIN_DYN_BASINS_H
#define BASIN_DYN_BASINS_H

#include "dyn/dyn_attractor.h"
#include "dyn/dyn_basin_starts.h"
#include "dyn/dyn_group.h"
#include "dyn/dyn_map.h"
#include "dyn/dyn_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, code, word, gloss): the labels of starts that end on no attractor. */
#define DYN_BASIN_OUTCOME_LIST(X)                                                                  \
    X(DIVERGED, -1, "diverged", "a coordinate exceeded every bound")                               \
    X(LEFT_BOX, -2, "left_box", "the orbit stayed outside the box")                                \
    X(TIMEOUT, -3, "timeout", "the step limit was reached before the orbit settled")               \
    X(UNRESOLVED, -4, "unresolved",                                                                \
      "the orbit settled on something that is no verified attractor")                              \
    X(NAN, -5, "nan", "a coordinate became not a number")

typedef enum dyn_basin_outcome {
#define DYN_BASIN_OUTCOME_ENUM(name, code, word, gloss) DYN_BASIN_##name = (code),
    DYN_BASIN_OUTCOME_LIST(DYN_BASIN_OUTCOME_ENUM)
#undef DYN_BASIN_OUTCOME_ENUM
} dyn_basin_outcome;

/* Number of outcomes; outcome i = 0 … is code −1 − i. */
enum { DYN_BASIN_OUTCOMES = 5 };

/* "diverged" and so on, and what that means; NULL for an id. */
const char *dyn_basin_outcome_word(int32_t label);
const char *dyn_basin_outcome_gloss(int32_t label);

/* Writes n_features numbers that describe a tail: n consecutive states. */
typedef void dyn_basins_feature(void *context, const double *tail, size_t n, size_t size,
                                double *features);

typedef struct dyn_basins_options {
    size_t method; /* index into dyn_basins_methods */
    dyn_basin_starts starts;
    size_t
        horizon; /* most steps of an orbit, at least 1; a verification that has begun ends first */
    /* The box that orbits may not leave: that of the starts unless given here. An orbit that is
     * outside for `outside` consecutive steps has left it; 0: only `recurrences`, which cannot
     * follow an orbit there, says at the horizon that it has. */
    const double *low;
    const double *high;
    size_t outside;
    dyn_verify_options verify;
    /* Consecutive steps in an attractor's cells, or within `radius` of it, that count as arrival.
     */
    size_t stay;
    /* Of `recurrences`: cells along each coordinate of the box, or NULL for dyn_basins_cells of
     * them; consecutive visits to known cells of the orbit before it is verified; and steps without
     * a new cell after which the cells of an aperiodic attractor are complete. */
    const size_t *cells;
    size_t recurrences;
    size_t quiet;
    /* Of `proximity`: distance; 0: a quarter of the smallest distance between two attractors, and
     * at most a hundredth of the longest side of the box; attractors that are given, whose ids are
     * their places from 1 on, or none, and then as many starts are searched for them. */
    double radius;
    const dyn_attractor *given;
    size_t n_given;
    size_t search;
    /* Of `features`: steps before the tail, states of the tail, projections on as many seeded
     * directions in place of coordinates (0: coordinates up to 16 of them, 8 projections beyond),
     * or numbers of the caller's own, and how they are grouped. */
    size_t settle;
    size_t tail;
    size_t projections;
    dyn_basins_feature *feature;
    void *feature_context;
    size_t n_features;
    dyn_group_options group;
    /* Points to look for attractors from besides the starts (such as attractors at a neighbouring
     * parameter), n_seeds × size; they are in no fraction. */
    const double *seeds;
    size_t n_seeds;
    size_t most_attractors; /* further ones are not told apart: starts become UNRESOLVED */
    size_t memory_limit;    /* bytes; 0: none */
    uint64_t seed;
    int workers;
    dyn_progress *progress; /* counts starts, and ends at their number several times; may be NULL */
    void *context;
} dyn_basins_options;

/* Recurrences over 100000 steps, left after 1000 outside, 10 steps to stay, 100 recurrences, 10000
 * quiet; 64 starts searched; features of 200 states after 2000 steps; 1000 attractors, 2 GiB, seed
 * 1, one worker, jitter 1e-3. The caller adds the starts. */
dyn_basins_options dyn_basins_options_default(void);

typedef struct dyn_basins {
    size_t n_starts;
    int32_t *labels; /* n_starts, owned: ids and dyn_basin_outcome codes */
    size_t *steps;   /* n_starts, owned: steps after which each label was known; NULL unless the
                        method is `proximity` */
    size_t n_attractors;
    dyn_attractor *attractors; /* owned; ids 1 … n_attractors in order, by mean position (those
                                  given keep their order) */
    size_t counts[DYN_BASIN_OUTCOMES]; /* starts by outcome */
    size_t verdicts[DYN_JUDGED_COUNT]; /* UNRESOLVED starts by the last verdict on them */
    bool too_many;                     /* there are more attractors than most_attractors */
    double radius;                     /* of `proximity`, as used; else NaN */
} dyn_basins;

struct dyn_basins_job; /* dyn_basins_internal.h */

typedef struct dyn_basins_method {
    const char *name;
    const char *help; /* one line */
    /* Bytes that a run takes beside the labels and the maps; SIZE_MAX when they cannot be counted.
     * NULL: few, or not to be foreseen. */
    size_t (*cost)(const dyn_map *map, const dyn_basins_options *o, size_t n_starts);
    kern_status (*run)(struct dyn_basins_job *job, kern_error *err);
} dyn_basins_method;

extern const dyn_basins_method *const dyn_basins_methods[];
extern const size_t dyn_basins_method_count;

/* Cells along each of `size` coordinates when none are asked for: 4096, 512, 128. */
size_t dyn_basins_cells(size_t size);

/* Starts and bytes of a run. KERN_INVALID_ARGUMENT for options outside their domain;
 * KERN_NO_MEMORY, naming both, when the bytes exceed memory_limit. */
kern_status dyn_basins_estimate(const dyn_map *map, const dyn_basins_options *options,
                                size_t *n_starts, size_t *bytes, kern_error *err);

/* Finds the basins. *out is initialised here and released with dyn_basins_fini, which is harmless
 * after a failure. That no start comes to an attractor is an outcome. KERN_INVALID_ARGUMENT for
 * options outside their domain, the errors of dyn_basins_estimate (before memory is asked for),
 * KERN_INTERRUPTED, KERN_NO_MEMORY. Cost: the steps of the orbits, at most starts × horizon, once
 * for every attractor for those starts that are put aside. */
kern_status dyn_basins_init(dyn_basins *out, const dyn_map *map, const dyn_basins_options *options,
                            kern_error *err);
void dyn_basins_fini(dyn_basins *out);

#endif
