/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L

#include "dyn/dyn_plugin.h"

#include "dyn/dyn_plugin_check.h"
#include "kernels/kern_size.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMULA_TEXT = 256, WORK_VECTORS = 4 };

/* What a plugin's map owns. The kind is its own, since name and formula come from the plugin. */
typedef struct plugin_data {
    dyn_map_kind kind;
    char formula[FORMULA_TEXT];
    dyn_plugin plugin;        /* members that its version lacks are 0 */
    const dyn_plugin *source; /* lives in the object */
    char *path;
    void *object;
    double *work; /* WORK_VECTORS × dimension */
} plugin_data;

static void data_destroy(plugin_data *data)
{
    if (data != NULL) {
        if (data->object != NULL) {
            (void)dlclose(data->object);
        }
        free(data->work);
        free(data->path);
        free(data);
    }
}

/* ---- The map's functions ----------------------------------------------------------------------
 */

static double *work_of(const plugin_data *data, size_t index)
{
    return data->work + index * data->plugin.dimension;
}

static size_t bytes(const dyn_map *map)
{
    return map->size * sizeof(double);
}

static void step(dyn_map *map, const double *x, double *y)
{
    const plugin_data *data = map->data;
    double *image = work_of(data, 0);
    data->plugin.step(map->params, x, image);
    memcpy(y, image, bytes(map));
}

static void jvp_exact(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const plugin_data *data = map->data;
    double *tangent = work_of(data, 1);
    data->plugin.jvp(map->params, x, v, tangent);
    if (y != NULL) {
        step(map, x, y);
    }
    memcpy(jv, tangent, bytes(map));
}

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

/* The displaced points x ± hv, with a step h that balances the truncation error h² against the
 * rounding error ε/h. */
static void jvp_difference(dyn_map *map, const double *x, const double *v, double *y, double *jv)
{
    const plugin_data *data = map->data;
    const size_t n = map->size;
    double *point = work_of(data, 1);
    double *ahead = work_of(data, 2);
    double *behind = work_of(data, 3);
    const double length = largest(v, n);
    const double h = length > 0 ? cbrt(DBL_EPSILON) * fmax(1.0, largest(x, n)) / length : 1.0;
    for (size_t i = 0; i < n; i++) {
        point[i] = x[i] + h * v[i];
    }
    data->plugin.step(map->params, point, ahead);
    for (size_t i = 0; i < n; i++) {
        point[i] = x[i] - h * v[i];
    }
    data->plugin.step(map->params, point, behind);
    if (y != NULL) {
        step(map, x, y);
    }
    for (size_t i = 0; i < n; i++) {
        jv[i] = (ahead[i] - behind[i]) / (2.0 * h);
    }
}

static void vjp(dyn_map *map, const double *x, const double *w, double *jtw)
{
    const plugin_data *data = map->data;
    double *product = work_of(data, 1);
    data->plugin.vjp(map->params, x, w, product);
    memcpy(jtw, product, bytes(map));
}

static double energy(dyn_map *map, const double *x)
{
    const plugin_data *data = map->data;
    return data->plugin.energy(map->params, x);
}

static void fini(dyn_map *map)
{
    data_destroy(map->data);
}

/* ---- Loading ----------------------------------------------------------------------------------
 */

/* Copies as much as the version has. */
static kern_status read_plugin(plugin_data *data, kern_error *err)
{
    const dyn_plugin *source = data->source;
    if (source == NULL) {
        return kern_raise(err, KERN_BAD_INPUT, "plugin %s: %s() returned nothing", data->path,
                          DYN_PLUGIN_SYMBOL);
    }
    if (source->version < 1 || source->version > DYN_PLUGIN_VERSION) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "plugin %s is of interface version %u; accepted are 1 to %d", data->path,
                          source->version, DYN_PLUGIN_VERSION);
    }
    memcpy(&data->plugin, source,
           source->version == 1 ? offsetof(dyn_plugin, vjp) : sizeof data->plugin);
    return KERN_OK;
}

/* A path without a slash would be sought in the system's library folders instead of this one. */
static char *local_path(const char *path)
{
    const size_t size = strlen(path) + 3;
    char *local = malloc(size);
    if (local != NULL) {
        (void)snprintf(local, size, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    }
    return local;
}

static kern_status open_object(plugin_data *data, kern_error *err)
{
    if (access(data->path, R_OK) != 0) {
        return kern_raise(err, KERN_NOT_FOUND,
                          "plugin %s cannot be read; accepted is the path of a shared object",
                          data->path);
    }
    data->object = dlopen(data->path, RTLD_NOW | RTLD_LOCAL);
    if (data->object == NULL) {
        const char *why = dlerror();
        return kern_raise(err, KERN_BAD_INPUT, "plugin %s is not a shared object that loads: %s",
                          data->path, why != NULL ? why : "no reason given");
    }
    dyn_plugin_entry *entry = NULL;
    void *symbol = dlsym(data->object, DYN_PLUGIN_SYMBOL);
    if (symbol == NULL) {
        return kern_raise(err, KERN_BAD_INPUT, "plugin %s does not export %s", data->path,
                          DYN_PLUGIN_SYMBOL);
    }
    /* ISO C has no cast from an object pointer to a function; POSIX says that the bits agree. */
    memcpy(&entry, &symbol, sizeof entry);
    data->source = entry();
    KERN_TRY(read_plugin(data, err));
    return dyn_plugin_check(&data->plugin, data->path, err);
}

static void fill_kind(plugin_data *data)
{
    const dyn_plugin *plugin = &data->plugin;
    (void)snprintf(data->formula, FORMULA_TEXT, "%.180s%s",
                   plugin->formula != NULL ? plugin->formula : "given by the plugin",
                   plugin->jvp != NULL ? "" : "; Jacobian by central differences");
    data->kind = (dyn_map_kind){.name = plugin->name,
                                .formula = data->formula,
                                .step = step,
                                .jvp = plugin->jvp != NULL ? jvp_exact : jvp_difference,
                                .vjp = plugin->vjp != NULL ? vjp : NULL,
                                .energy = plugin->energy != NULL ? energy : NULL,
                                .fini = fini};
}

static kern_status reserve(plugin_data *data, kern_error *err)
{
    size_t n = 0;
    if (kern_size_mul(data->plugin.dimension, WORK_VECTORS, &n)) {
        data->work = calloc(n, sizeof *data->work);
    }
    return data->work != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY, "no memory for plugin %s of %zu coordinates",
                            data->path, data->plugin.dimension);
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err);

static kern_status load(plugin_data **out, const char *path, kern_error *err)
{
    plugin_data *data = calloc(1, sizeof *data);
    *out = data;
    if (data != NULL) {
        data->path = local_path(path);
    }
    if (data == NULL || data->path == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a plugin");
    }
    KERN_TRY(open_object(data, err));
    fill_kind(data);
    data->kind.clone = clone;
    return reserve(data, err);
}

/* A map around its data, which it takes over, also when it fails. */
static kern_status wrap(dyn_map **out, plugin_data *data, kern_error *err)
{
    const dyn_plugin *plugin = &data->plugin;
    const kern_status status =
        dyn_map_create(out, &data->kind, plugin->dimension, plugin->params, plugin->n_params, err);
    if (status != KERN_OK) {
        data_destroy(data);
        return status;
    }
    dyn_map *map = *out;
    map->data = data;
    map->approximate_jvp = plugin->jvp == NULL;
    map->block_count = plugin->block_count > 0 ? plugin->block_count : 1;
    map->block_width = map->size / map->block_count;
    map->gauge = plugin->gauge;
    map->periods = plugin->periods;
    if (plugin->start != NULL) {
        memcpy(map->start, plugin->start, bytes(map));
    }
    return KERN_OK;
}

static kern_status clone(dyn_map **out, const dyn_map *map, kern_error *err)
{
    const plugin_data *original = map->data;
    plugin_data *data = NULL;
    *out = NULL;
    kern_status status = load(&data, original->path, err);
    if (status == KERN_OK && data->source != original->source) {
        status = kern_raise(err, KERN_BAD_INPUT, "plugin %s has changed while it was in use",
                            original->path);
    }
    if (status != KERN_OK) {
        data_destroy(data);
        return status;
    }
    KERN_TRY(wrap(out, data, err));
    memcpy((*out)->start, map->start, bytes(map));
    if (map->n_params > 0) {
        memcpy((*out)->params, map->params, map->n_params * sizeof *map->params);
    }
    return KERN_OK;
}

/* ---- Making a map -----------------------------------------------------------------------------
 */

static kern_status configure(dyn_map *map, const char *path, const dyn_assignment *assignments,
                             size_t n, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        KERN_TRY(dyn_assignment_apply(&assignments[i], map, err));
    }
    KERN_TRY(dyn_plugin_check_start(map, path, err));
    return map->approximate_jvp ? KERN_OK : dyn_plugin_check_jvp(map, path, err);
}

kern_status dyn_plugin_create(dyn_map **out, const char *path, const dyn_assignment *assignments,
                              size_t n, kern_error *err)
{
    plugin_data *data = NULL;
    *out = NULL;
    kern_status status = load(&data, path, err);
    if (status != KERN_OK) {
        data_destroy(data);
        return status;
    }
    KERN_TRY(wrap(out, data, err));
    status = configure(*out, path, assignments, n, err);
    if (status != KERN_OK) {
        dyn_map_destroy(*out);
        *out = NULL;
    }
    return status;
}
