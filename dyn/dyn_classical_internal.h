/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the maps built in are described to each other's files: an entry begins with the map's kind,
 * so that the functions of the kind find the rule behind it.
 */
#ifndef BASIN_DYN_CLASSICAL_INTERNAL_H
#define BASIN_DYN_CLASSICAL_INTERNAL_H

#include "dyn/dyn_map.h"

enum { DYN_CLASSICAL_PARAMS = 4 };

/* What the command line or a caller asks for. */
typedef struct dyn_classical_request {
    double values[DYN_CLASSICAL_PARAMS];
    const double *list; /* of the entry's list parameter, borrowed; NULL: none given */
    size_t n_list;
} dyn_classical_request;

typedef struct dyn_classical_entry {
    dyn_map_kind kind; /* first, so that map->kind is also a pointer to the entry */
    dyn_param params[DYN_CLASSICAL_PARAMS];
    size_t n_params;
    double start[2];       /* of maps of one or two coordinates */
    const double *periods; /* as in dyn_map */
    /* Rule of a map of one coordinate: F(x) and F'(x). */
    double (*value)(const double *p, double x);
    double (*slope)(const double *p, double x);
    /* Rule of a map of two coordinates: F(x), and its Jacobian by rows; outputs are not inputs. */
    void (*image)(const double *p, const double *x, double *y);
    void (*jacobian)(const double *p, const double *x, double *j);
    /* Constructor of a map whose size depends on its parameters; NULL for the others. */
    kern_status (*build)(dyn_map **out, const struct dyn_classical_entry *entry,
                         const dyn_classical_request *request, kern_error *err);
    const char *list; /* name of a parameter that takes a list, or NULL */
} dyn_classical_entry;

/* The entries, by number of coordinates. */
extern const dyn_classical_entry dyn_classical_scalar[];
extern const dyn_classical_entry dyn_classical_planar[];
extern const dyn_classical_entry dyn_classical_sized[];
extern const dyn_classical_entry dyn_classical_norm[];
extern const size_t dyn_classical_scalar_count;
extern const size_t dyn_classical_planar_count;
extern const size_t dyn_classical_sized_count;
extern const size_t dyn_classical_norm_count;

/* KERN_INVALID_ARGUMENT unless parameter `index` of the request is a whole number in low … high. */
kern_status dyn_classical_read_whole(const dyn_classical_entry *entry,
                                     const dyn_classical_request *request, size_t index, double low,
                                     double high, kern_error *err);

#endif
