/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_classical.h"

#include "dyn/dyn_classical_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_TEXT = 512 };

static const dyn_classical_entry *entry_at(size_t index)
{
    if (index < dyn_classical_scalar_count) {
        return &dyn_classical_scalar[index];
    }
    index -= dyn_classical_scalar_count;
    if (index < dyn_classical_planar_count) {
        return &dyn_classical_planar[index];
    }
    index -= dyn_classical_planar_count;
    if (index < dyn_classical_sized_count) {
        return &dyn_classical_sized[index];
    }
    return &dyn_classical_norm[index - dyn_classical_sized_count];
}

size_t dyn_classical_count(void)
{
    return dyn_classical_scalar_count + dyn_classical_planar_count + dyn_classical_sized_count +
           dyn_classical_norm_count;
}

const dyn_map_kind *dyn_classical_kind(size_t index, const dyn_param **params, size_t *n_params)
{
    const dyn_classical_entry *entry = entry_at(index);
    *params = entry->params;
    *n_params = entry->n_params;
    return &entry->kind;
}

static kern_status find_entry(const char *name, const dyn_classical_entry **entry, kern_error *err)
{
    char names[LIST_TEXT] = "";
    size_t used = 0;
    for (size_t i = 0; i < dyn_classical_count(); i++) {
        *entry = entry_at(i);
        if (strcmp((*entry)->kind.name, name) == 0) {
            return KERN_OK;
        }
        if (used < LIST_TEXT) {
            used += (size_t)snprintf(names + used, LIST_TEXT - used, "%s%s", i > 0 ? ", " : "",
                                     (*entry)->kind.name);
        }
    }
    return kern_raise(err, KERN_NOT_FOUND, "\"%.64s\" is not a map built in; accepted are %s", name,
                      names);
}

static kern_status raise_unknown(const dyn_classical_entry *entry, const char *name,
                                 kern_error *err)
{
    char names[LIST_TEXT] = "";
    size_t used = 0;
    for (size_t i = 0; i < entry->n_params; i++) {
        used += (size_t)snprintf(names + used, LIST_TEXT - used, "%s%s", i > 0 ? ", " : "",
                                 entry->params[i].name);
    }
    if (entry->list != NULL) {
        (void)snprintf(names + used, LIST_TEXT - used, ", %s (a list)", entry->list);
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "map %s has no parameter \"%s\"; accepted: %s",
                      entry->kind.name, name, names[0] != '\0' ? names : "none");
}

/* Enters one assignment; a list moves from `a` to *list, which the caller frees. */
static kern_status apply(const dyn_classical_entry *entry, dyn_assigned *a,
                         dyn_classical_request *request, double **list, kern_error *err)
{
    if (entry->list != NULL && strcmp(a->name, entry->list) == 0) {
        free(*list);
        *list = a->values;
        request->list = a->values;
        request->n_list = a->n;
        a->values = NULL;
        return KERN_OK;
    }
    for (size_t i = 0; i < entry->n_params; i++) {
        if (strcmp(a->name, entry->params[i].name) == 0) {
            if (a->n != 1) {
                return kern_raise(err, KERN_INVALID_ARGUMENT,
                                  "parameter %s of map %s is given %zu values; accepted is one",
                                  a->name, entry->kind.name, a->n);
            }
            request->values[i] = a->values[0];
            return KERN_OK;
        }
    }
    return raise_unknown(entry, a->name, err);
}

static kern_status read_request(const dyn_classical_entry *entry, const dyn_assignment *assignments,
                                size_t n, dyn_classical_request *request, double **list,
                                kern_error *err)
{
    for (size_t i = 0; i < entry->n_params; i++) {
        request->values[i] = entry->params[i].value;
    }
    for (size_t i = 0; i < n; i++) {
        dyn_assigned a;
        KERN_TRY(dyn_assigned_init(&a, &assignments[i], err));
        const kern_status status = apply(entry, &a, request, list, err);
        dyn_assigned_fini(&a);
        KERN_TRY(status);
    }
    return KERN_OK;
}

static kern_status build_plain(dyn_map **out, const dyn_classical_entry *entry,
                               const dyn_classical_request *request, kern_error *err)
{
    const size_t size = entry->image != NULL ? 2 : 1;
    KERN_TRY(dyn_map_create(out, &entry->kind, size, entry->params, entry->n_params, err));
    dyn_map *map = *out;
    map->periods = entry->periods;
    for (size_t i = 0; i < entry->n_params; i++) {
        map->params[i] = request->values[i];
    }
    for (size_t i = 0; i < size; i++) {
        map->start[i] = entry->start[i];
    }
    return KERN_OK;
}

kern_status dyn_classical_create(dyn_map **out, const char *name, const dyn_assignment *assignments,
                                 size_t n, kern_error *err)
{
    const dyn_classical_entry *entry = NULL;
    dyn_classical_request request = {.list = NULL};
    double *list = NULL;
    *out = NULL;
    KERN_TRY(find_entry(name, &entry, err));
    kern_status status = read_request(entry, assignments, n, &request, &list, err);
    if (status == KERN_OK) {
        status = entry->build != NULL ? entry->build(out, entry, &request, err)
                                      : build_plain(out, entry, &request, err);
    }
    free(list);
    return status;
}
