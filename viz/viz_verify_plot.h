/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure of a report on a trained model: how the energy of one token changes with the step size
 * against the bound of the theorem, how far the theorem reaches and where energies rise over many
 * states, and which channels make an inference-rate matrix rise; with the report's sentences
 * beneath, on one page.
 */
#ifndef BASIN_VIZ_VERIFY_PLOT_H
#define BASIN_VIZ_VERIFY_PLOT_H

#include "kernels/kern_status.h"
#include "viz/viz_scene.h"

#include <stddef.h>

/* All arrays and texts are borrowed during the call. Texts are plain UTF-8. */
typedef struct viz_verify_data {
    const char *title;
    const char *note; /* NULL: none; lines that begin with "# " are headings */

    /* Change of one token's energy over one step of size c: n_curve values each. */
    size_t n_curve; /* 0: no such panel, and none on reaches */
    const double *c;
    const double *change;
    const double *allowed; /* the bound's upper limit of the change */
    double covered;        /* steps up to here are covered; infinite: all */
    double step;           /* c of the model, or of the nearest matrix of that form */

    /* Of n_states states each: the largest c covered, the smallest that rises; infinite: none. */
    size_t n_states;
    const double *covered_each;
    const double *rises_each;

    /* Share of each channel in the violation; NULL: there is none. */
    size_t n_channels;
    const double *share;
} viz_verify_data;

/* Zero-initialise for the defaults. */
typedef struct viz_verify_style {
    double width;  /* points; 0: that of A4 */
    double height; /* points; 0: that of A4, or less without channels */
    viz_theme theme;
} viz_verify_style;

/* Builds the scene; the caller owns *out. `style` may be NULL. KERN_INVALID_ARGUMENT when there is
 * nothing to draw, when an array is missing, when a size is absurd, and when the page is too small;
 * KERN_BAD_INPUT for a text that is not UTF-8 or too long; KERN_NO_MEMORY. */
kern_status viz_verify_plot(viz_scene **out, const viz_verify_data *data,
                            const viz_verify_style *style, kern_error *err);

#endif
