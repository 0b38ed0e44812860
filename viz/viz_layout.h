/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layout: where everything on a page goes. Sizes of texts are measured first and the plot areas
 * get what is left, so nothing is clipped and panels of one column share their edges. Axis labels
 * and titles longer than what they stand beside are broken into up to four lines, and what is
 * longer still is cut with an ellipsis (viz_layout_fit.h). Rows whose plots have equal units and
 * need less than their share of the height leave the rest to the others.
 */
#ifndef BASIN_VIZ_LAYOUT_H
#define BASIN_VIZ_LAYOUT_H

#include "kernels/kern_status.h"
#include "viz/viz_canvas.h"
#include "viz/viz_ticks.h"

#include <stdbool.h>

/* Lengths shared by layout and drawing, in points. */
#define VIZ_PAGE_PAD   4.0
#define VIZ_TICK_MAJOR 3.0
#define VIZ_TICK_MINOR 1.8
#define VIZ_TICK_GAP   1.8  /* between a tick and its label */
#define VIZ_AXIS_GAP   2.5  /* between tick labels and the axis label */
#define VIZ_LEADER     17.0 /* between the plot and its end labels */
#define VIZ_LEGEND_KEY 13.0 /* width of a legend's sample, gap included */
#define VIZ_LEGEND_GAP 11.0 /* between legend entries */
#define VIZ_BAR_WIDTH  6.5
#define VIZ_LABEL_AIR  0.1 /* between end labels */

/* How a text is broken to fit its room. */
typedef struct viz_fit {
    double wrap;     /* 0: it stands on one line */
    size_t lines;    /* at most, the last cut with an ellipsis; 0 without a wrap */
    double width;    /* of the text */
    double height;   /* that is kept for it */
    bool cut;        /* it ends in an ellipsis */
    size_t reserved; /* private: lines that are kept for it */
} viz_fit;

typedef struct viz_frame {
    viz_rect plot;
    viz_rect cell;       /* the plot with all that stands beside and below it */
    double overhang;     /* of tick labels over the right end of the x axis, at most */
    double spare_height; /* of the row, that a plot with equal units leaves below itself */
    viz_ticks x, y;
    viz_fit title, x_label, y_label;
    double legend_width; /* at which legend entries wrap, and longer ones are cut */
    double title_height, legend_height, span_height;
    double line_height;  /* of one legend line */
    double label_height; /* of one end label, air included */
} viz_frame;

typedef struct viz_layout {
    double title_height; /* 0 without a title */
    double note_top;     /* top of the note, or the page's lower padding without one */
    viz_rect bar;        /* the colour bar without its labels */
    double bar_width;    /* with them; 0 without a bar */
    viz_ticks bar_ticks;
    viz_fit bar_label;
    viz_frame frames[VIZ_PANELS_MAX];
} viz_layout;

/* Lays out the canvas's scene; the caller owns the result. KERN_INVALID_ARGUMENT when an axis
 * range is bad or the page is too small for the panels. */
kern_status viz_layout_create(viz_layout **out, viz_canvas *canvas, kern_error *err);
void viz_layout_destroy(viz_layout *layout);

/* Page position of data values; the value must be drawable (viz_scene_drawable). */
double viz_layout_x(const viz_frame *frame, const viz_axis *axis, double value);
double viz_layout_y(const viz_frame *frame, const viz_axis *axis, double value);

/* Moves n centres, ascending in `y`, apart so that neighbours differ by at least `height` and all
 * lie within [lo + height/2, hi − height/2], with the least sum of squared displacements (pool
 * adjacent violators; Barlow et al. 1972). n·height must not exceed hi − lo by more than
 * rounding. Cost O(n) after the pooling, no allocation beyond `scratch` of 2n doubles. */
void viz_layout_spread(double *y, size_t n, double height, double lo, double hi, double *scratch);

/* Number of end labels that fit beside a panel's plot. */
size_t viz_layout_room(const viz_frame *frame);

/* Entries of a panel's legend: its series in order, then the classes of its maps. `style` or
 * `class` is NULL. */
typedef struct viz_entry {
    const char *legend; /* markup */
    const viz_style *style;
    const viz_class *class;
} viz_entry;

/* Finds the next entry at or after *cursor, which starts at 0 and is moved past it; false when
 * there are no more. */
bool viz_layout_entry(const viz_panel *panel, size_t *cursor, viz_entry *entry);

/* True for a panel with axis lines on all sides: asked for, or holding an opaque layer. */
bool viz_layout_boxed(const viz_panel *panel);

/* Number of end labels of a panel. */
size_t viz_layout_labels(const viz_panel *panel);

#endif
