/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "energy against inference step for every token".
 *
 * One line per token, coloured by its position in the sequence and named at its right end. An
 * open triangle marks every state whose energy lies above that of the state before; their number
 * and their share of all steps stand in the note. Steps beyond those the model was trained with
 * are shaded. Energies that are not finite break the line and are counted in the note. With the
 * two terms of the energy given, two smaller panels show them.
 */
#ifndef BASIN_VIZ_ENERGY_PLOT_H
#define BASIN_VIZ_ENERGY_PLOT_H

#include "kernels/kern_status.h"
#include "viz/viz_scene.h"

#include <stddef.h>

/* All arrays are borrowed during the call only. `energy`, `attention` and `feed_forward` have
 * shape (n_tokens, n_steps + 1), row-major, states 0 … n_steps, in nats unless the
 * label says otherwise. */
typedef struct viz_energy_data {
    size_t n_tokens;
    size_t n_steps;                  /* T ≥ 1 */
    size_t trained_steps;            /* steps used in training; 0: not known, nothing is shaded */
    const char *const *token_labels; /* n_tokens raw texts of any bytes */
    const double *energy;
    const double *attention; /* both or neither of the terms; NULL: no second row */
    const double *feed_forward;
    const char *title;        /* plain UTF-8 text, or NULL for a general one */
    const char *energy_label; /* markup of the energy's axis, unit included; NULL: E_A in nats */
    /* A rise counts when it exceeds this (≥ 0, unit of the energy); 0 counts every increase. */
    double rise_tolerance;
} viz_energy_data;

/* Zero-initialise for the defaults. */
typedef struct viz_energy_style {
    double width;  /* points; 0: double-column width */
    double height; /* points; 0: chosen from the width and the number of rows */
    viz_theme theme;
    const char *family; /* font family list, or NULL */
} viz_energy_style;

typedef struct viz_energy_counts {
    size_t rises;      /* steps whose energy rises by more than the tolerance */
    size_t pairs;      /* steps with a finite energy before and after */
    size_t not_finite; /* energies that cannot be drawn, of n_tokens · (n_steps + 1) */
    size_t every;      /* every `every`-th token carries a label; 1: all */
} viz_energy_counts;

/* Counts rises, pairs and energies that cannot be drawn; `every` is left 0. */
void viz_energy_count(const viz_energy_data *data, viz_energy_counts *counts);

/* Builds the scene; the caller owns *out and destroys it with viz_scene_destroy. `style` and
 * `counts` may be NULL. KERN_INVALID_ARGUMENT when an array is missing, a size is 0 or absurd,
 * the tolerance is negative, or the page is too small; KERN_BAD_INPUT for a title that is not
 * UTF-8; KERN_NO_MEMORY. Cost O(n_tokens · n_steps). */
kern_status viz_energy_plot(viz_scene **out, viz_energy_counts *counts, const viz_energy_data *data,
                            const viz_energy_style *style, kern_error *err);

#endif
