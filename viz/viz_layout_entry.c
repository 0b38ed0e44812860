/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_layout.h"

bool viz_layout_entry(const viz_panel *panel, size_t *cursor, viz_entry *entry)
{
    for (; *cursor < panel->n_series; ++*cursor) {
        const viz_series *series = &panel->series[*cursor];
        if (series->legend != NULL) {
            *entry = (viz_entry){.legend = series->legend, .style = &series->style};
            ++*cursor;
            return true;
        }
    }
    size_t skipped = panel->n_series;
    for (size_t m = 0; m < panel->n_classes; m++) {
        const viz_classes *map = &panel->classes[m];
        for (size_t i = *cursor > skipped ? *cursor - skipped : 0; i < map->n_classes; i++) {
            if (map->classes[i].legend != NULL) {
                *entry = (viz_entry){.legend = map->classes[i].legend, .class = &map->classes[i]};
                *cursor = skipped + i + 1;
                return true;
            }
        }
        skipped += map->n_classes;
    }
    return false;
}
