/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Maps from shared objects. A plugin is a shared object that exports
 *
 *     const struct dyn_plugin *basin_plugin(void);
 *
 * and needs this header only; dyn/plugins/dyn_plugin_predator_prey.c is an example. What the
 * function returns must stay as it is while the object is loaded.
 */
#ifndef BASIN_DYN_PLUGIN_H
#define BASIN_DYN_PLUGIN_H

#include "dyn/dyn_assignment.h"
#include "dyn/dyn_map.h"

/* Version of struct dyn_plugin. A later version only appends members, and what is compiled for an
 * earlier one still loads: the members it lacks are taken for 0. */
enum { DYN_PLUGIN_VERSION = 2 };

/* A map x' = F(x; p) of `dimension` numbers with `n_params` parameters. The functions get the
 * parameters' values in the order of `params`; their outputs are never their inputs. They may run
 * in several threads at once, so they keep nothing between calls. */
typedef struct dyn_plugin {
    unsigned version;        /* DYN_PLUGIN_VERSION, or an earlier one */
    const char *name;        /* not empty */
    const char *formula;     /* one line, or NULL */
    size_t dimension;        /* 1 or more */
    const dyn_param *params; /* n_params entries with their defaults */
    size_t n_params;
    const double *start; /* `dimension` numbers; NULL: zeros */
    /* y = F(x). */
    void (*step)(const double *params, const double *x, double *y);
    /* jv = F'(x) v; NULL: a central difference of two steps takes its place. */
    void (*jvp)(const double *params, const double *x, const double *v, double *jv);
    /* Energy of the state; NULL when there is none. */
    double (*energy)(const double *params, const double *x);

    /* Since version 2. */

    /* jtw = F'(x)ᵀ w; NULL when there is none. */
    void (*vjp)(const double *params, const double *x, const double *w, double *jtw);
    /* Structure as in dyn_map.h, which the plugin promises and nobody checks. */
    size_t block_count;    /* blocks of equal width, each of which depends on earlier ones and on
                            * itself only; 0 is 1 */
    dyn_gauge gauge;       /* what every block's norm takes away */
    const double *periods; /* `dimension` numbers, 0 where a coordinate is not on a circle; NULL:
                            * none is */
} dyn_plugin;

/* Name and type of the function that a plugin exports. */
#define DYN_PLUGIN_SYMBOL "basin_plugin"
typedef const dyn_plugin *dyn_plugin_entry(void);

/* Makes the map of the plugin at `path` with n parameters set. A map without a jvp of its own has
 * approximate_jvp set, with step h = ε^{1/3} max(1, |x|)/|v| (largest coordinates) and a relative
 * error of about 1e-10, and its formula says so.
 *
 * KERN_NOT_FOUND when there is no such file; KERN_BAD_INPUT when it is not a shared object that can
 * be loaded, does not export basin_plugin, or its description is of another version, has no name,
 * no step, no coordinates, parameters without a name, of one name or with defaults that are not
 * finite, texts that are not UTF-8, blocks that do not divide the coordinates, an unknown gauge or
 * one that leaves nothing of a block, or a period that is negative or not finite, when the step
 * from its start is not finite, and when its jvp is nowhere near difference quotients of its step
 * (dyn_plugin_check.h); KERN_INVALID_ARGUMENT for an unknown parameter; KERN_NO_MEMORY. The object
 * stays loaded until its last map is destroyed. */
kern_status dyn_plugin_create(dyn_map **out, const char *path, const dyn_assignment *assignments,
                              size_t n, kern_error *err);

#endif
