/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plugin says of itself, checked while it is loaded (dyn_plugin.c). All failures are
 * KERN_BAD_INPUT with a sentence that names the plugin at `path`.
 */
#ifndef BASIN_DYN_PLUGIN_CHECK_H
#define BASIN_DYN_PLUGIN_CHECK_H

#include "dyn/dyn_plugin.h"

/* The description: that a step, coordinates, and names are there, that texts are UTF-8, parameters
 * named apart and their defaults numbers, and that blocks, gauge and periods fit. */
kern_status dyn_plugin_check(const dyn_plugin *plugin, const char *path, kern_error *err);

/* That the first step from the map's start is finite. */
kern_status dyn_plugin_check_start(dyn_map *map, const char *path, kern_error *err);

/* That the map's jvp is not grossly wrong. At three places near the start, one product is compared
 * with central differences of three widths; it is refused when it agrees with none of the nine to
 * 1e-2, so that steps in single precision, kinks and jumps at some of the places do no harm. Cost:
 * 3 products and 18 steps. KERN_NO_MEMORY. */
kern_status dyn_plugin_check_jvp(dyn_map *map, const char *path, kern_error *err);

#endif
