/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What all figures have in common: the page they are built on and its texts.
 */
#ifndef BASIN_VIZ_PLOT_H
#define BASIN_VIZ_PLOT_H

#include "kernels/kern_status.h"
#include "viz/viz_scene.h"

#include <stdarg.h>
#include <stddef.h>

/* Zero-initialise for the defaults. */
typedef struct viz_plot_style {
    double width;  /* points; 0: single-column width */
    double height; /* points; 0: the figure's own proportions */
    viz_theme theme;
    const char *title;  /* plain UTF-8 text, or NULL for the figure's own */
    const char *family; /* font family list, or NULL */
} viz_plot_style;

enum { VIZ_PLOT_TEXT = 512 };

/* New page of the style's size, or `aspect` times its width high, with its title. */
kern_status viz_plot_page(viz_scene **out, const viz_plot_style *style, double aspect,
                          const char *title, kern_error *err);

/* Escapes plain text for use in markup; NULL becomes empty. KERN_BAD_INPUT unless UTF-8. */
kern_status viz_plot_escape(char out[VIZ_PLOT_TEXT], const char *text, kern_error *err);

/* Markup for the name of a quantity: one letter, or the English name of a Greek one, becomes an
 * italic letter, and digits behind it a subscript ("x0", "eta"); other text is escaped.
 * KERN_BAD_INPUT unless UTF-8. */
kern_status viz_plot_symbol(char out[VIZ_PLOT_TEXT], const char *name, kern_error *err);

/* Sets the note from formatted markup of at most 2047 bytes; a hyphen before a number
 * becomes a minus sign. */
kern_status viz_plot_note(viz_scene *scene, kern_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a horizontal or vertical line across a panel, at `value`, that is not data. */
typedef enum viz_rule { VIZ_RULE_LEVEL, VIZ_RULE_UPRIGHT } viz_rule;
kern_status viz_plot_rule(viz_scene *scene, viz_panel *panel, viz_rule rule, double value,
                          kern_error *err);

/* Releases the scene of a builder that failed, or hands it over in *out. */
kern_status viz_plot_end(viz_scene **out, viz_scene *scene, kern_status status);

/* Markers of classes, so that a colour is never the only difference. */
viz_marker viz_plot_marker(size_t index);

#endif
