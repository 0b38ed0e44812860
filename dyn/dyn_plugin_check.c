/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_plugin_check.h"

#include "dyn/dyn_chart.h"
#include "kernels/kern_rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 3, WIDTHS = 3, VECTORS = 5 };

/* Relative difference between a product and a difference quotient that nothing explains. */
#define WRONG 1e-2

/* ---- The description ---------------------------------------------------------------------- */

/* Length of the UTF-8 sequence that begins at s, without overlong forms and surrogates; 0: none. */
static size_t sequence_length(const unsigned char *s)
{
    const size_t n = s[0] < 0x80                   ? 1
                     : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
                     : (s[0] & 0xF0) == 0xE0       ? 3
                     : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                                   : 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool bad = (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
                     (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F);
    return bad ? 0 : n;
}

static bool is_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    while (*s != 0) {
        const size_t n = sequence_length(s);
        if (n == 0) {
            return false;
        }
        s += n;
    }
    return true;
}

static kern_status check_param(const dyn_plugin *plugin, size_t i, const char *path,
                               kern_error *err)
{
    if (plugin->params == NULL || plugin->params[i].name == NULL) {
        return kern_raise(err, KERN_BAD_INPUT, "plugin %s: parameter %zu of %zu has no name", path,
                          i + 1, plugin->n_params);
    }
    const char *name = plugin->params[i].name;
    if (name[0] == '\0' || !is_utf8(name)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "plugin %s: the name of parameter %zu of %zu is empty or not UTF-8", path,
                          i + 1, plugin->n_params);
    }
    for (size_t j = 0; j < i; j++) {
        if (strcmp(plugin->params[j].name, name) == 0) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "plugin %s: parameters %zu and %zu are both named %s", path, j + 1,
                              i + 1, name);
        }
    }
    return isfinite(plugin->params[i].value)
               ? KERN_OK
               : kern_raise(err, KERN_BAD_INPUT,
                            "plugin %s: parameter %s is %g by default; accepted are finite numbers",
                            path, name, plugin->params[i].value);
}

static kern_status check_structure(const dyn_plugin *plugin, const char *path, kern_error *err)
{
    const size_t blocks = plugin->block_count > 0 ? plugin->block_count : 1;
    const size_t width = plugin->dimension / blocks;
    if (width * blocks != plugin->dimension) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "plugin %s has %zu blocks in %zu coordinates; accepted are blocks of "
                          "equal width",
                          path, blocks, plugin->dimension);
    }
    if ((int)plugin->gauge < DYN_GAUGE_NONE || (int)plugin->gauge > DYN_GAUGE_SCALE_SHIFT) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "plugin %s has gauge %d; accepted are none (%d), scale (%d), and scale "
                          "and shift (%d)",
                          path, (int)plugin->gauge, DYN_GAUGE_NONE, DYN_GAUGE_SCALE,
                          DYN_GAUGE_SCALE_SHIFT);
    }
    if (width <= dyn_gauge_count(plugin->gauge)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "plugin %s has blocks of width %zu, of which its gauge leaves nothing; "
                          "accepted are wider ones",
                          path, width);
    }
    for (size_t i = 0; plugin->periods != NULL && i < plugin->dimension; i++) {
        if (!(plugin->periods[i] >= 0.0 && isfinite(plugin->periods[i]))) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "plugin %s gives coordinate %zu the period %g; accepted are positive "
                              "numbers, and 0 for none",
                              path, i, plugin->periods[i]);
        }
    }
    return KERN_OK;
}

kern_status dyn_plugin_check(const dyn_plugin *plugin, const char *path, kern_error *err)
{
    if (plugin->name == NULL || plugin->name[0] == '\0') {
        return kern_raise(err, KERN_BAD_INPUT, "plugin %s gives its map no name", path);
    }
    if (plugin->step == NULL) {
        return kern_raise(err, KERN_BAD_INPUT, "plugin %s has no step function", path);
    }
    if (plugin->dimension == 0) {
        return kern_raise(err, KERN_BAD_INPUT, "plugin %s has dimension 0; accepted is 1 or more",
                          path);
    }
    if (!is_utf8(plugin->name) || (plugin->formula != NULL && !is_utf8(plugin->formula))) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "plugin %s gives its map a name or a formula that is not UTF-8", path);
    }
    for (size_t i = 0; i < plugin->n_params; i++) {
        KERN_TRY(check_param(plugin, i, path, err));
    }
    return check_structure(plugin, path, err);
}

/* ---- The functions ------------------------------------------------------------------------ */

kern_status dyn_plugin_check_start(dyn_map *map, const char *path, kern_error *err)
{
    double *image = calloc(map->size, sizeof *image);
    size_t i = 0;
    if (image == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu coordinates", map->size);
    }
    map->kind->step(map, map->start, image);
    while (i < map->size && isfinite(image[i])) {
        i++;
    }
    const double value = i < map->size ? image[i] : 0.0;
    free(image);
    return i == map->size ? KERN_OK
                          : kern_raise(err, KERN_BAD_INPUT,
                                       "plugin %s: the first step from the map's start gives %g in "
                                       "coordinate %zu; accepted are finite numbers",
                                       path, value, i);
}

static double length_of(const double *v, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

/* From −1 to 1, the same at every call. */
static double draw(size_t place, size_t i)
{
    return (double)(kern_rng_hash(place + 1, i) >> 11) * 0x1p-52 - 1.0;
}

/* Relative difference between the product `jv` at x and a difference quotient of width h; 0 where
 * the latter is not finite and tells nothing. `work` holds two vectors. */
static double compare(dyn_map *map, const double *x, const double *v, const double *jv, double h,
                      double *work)
{
    const size_t n = map->size;
    double *ahead = work;
    double *behind = work + n;
    double gap = 0.0;
    for (size_t i = 0; i < n; i++) {
        ahead[i] = x[i] + h * v[i];
        behind[i] = x[i] - h * v[i];
    }
    map->kind->step(map, ahead, ahead);
    map->kind->step(map, behind, behind);
    for (size_t i = 0; i < n; i++) {
        ahead[i] = (ahead[i] - behind[i]) / (2.0 * h);
        gap += (ahead[i] - jv[i]) * (ahead[i] - jv[i]);
    }
    const double scale = length_of(ahead, n) + length_of(jv, n);
    if (!isfinite(length_of(ahead, n))) {
        return 0.0;
    }
    return gap == 0.0 ? 0.0 : sqrt(gap) / scale;
}

/* True when the product at a place near the start agrees with a difference quotient. `vectors`
 * holds VECTORS of them. */
static bool agrees(dyn_map *map, size_t place, double *vectors)
{
    static const double widths[WIDTHS] = {1e-5, 1e-4, 1e-3};
    const size_t n = map->size;
    double *x = vectors;
    double *v = vectors + n;
    double *jv = vectors + 2 * n;
    double largest = 1.0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(map->start[i]));
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = map->start[i] +
               (place > 0 ? 0.1 * draw(2 * place, i) : 0.0) * fmax(fabs(map->start[i]), 0.1);
        v[i] = draw(2 * place + 1, i);
    }
    map->kind->jvp(map, x, v, NULL, jv);
    for (size_t k = 0; k < WIDTHS; k++) {
        if (compare(map, x, v, jv, widths[k] * largest, vectors + 3 * n) <= WRONG) {
            return true;
        }
    }
    return false;
}

kern_status dyn_plugin_check_jvp(dyn_map *map, const char *path, kern_error *err)
{
    bool good = false;
    double *vectors = calloc(VECTORS * map->size, sizeof *vectors);
    if (vectors == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu coordinates", map->size);
    }
    for (size_t place = 0; place < PLACES && !good; place++) {
        good = agrees(map, place, vectors);
    }
    free(vectors);
    return good ? KERN_OK
                : kern_raise(err, KERN_BAD_INPUT,
                             "plugin %s: its jvp differs from difference quotients of its step at "
                             "every place tried near the start; accepted is F'(x) v, or no jvp",
                             path);
}
