/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Figure "landscape": an energy on a plane as colours with contours, and a trajectory over it that
 * does not pretend to lie in the plane.
 *
 * Every state of the trajectory is drawn at its nearest point of the plane, in the colour of its
 * true energy on the same scale as the field, so that a state off the plane stands out from what is
 * beneath it; the more of its distance from the centre is off the plane, the fainter. Two panels
 * below say the same in numbers: the true energy beside the energy at the shadow, and the share of
 * the distance that is off the plane. Cells without a finite energy get the colour of missing data
 * and are counted in the note. Where a chart ends its rim is drawn, and what is outside is left
 * empty; states without a place in the chart are counted, and the line is broken there.
 *
 * Instead of colours alone the field may be a surface, over which states hang at the height of
 * their true energy, or a map of classes, which keeps the contours.
 */
#ifndef BASIN_VIZ_LANDSCAPE_PLOT_H
#define BASIN_VIZ_LANDSCAPE_PLOT_H

#include "viz/viz_contour.h"
#include "viz/viz_plot.h"

/* A further trajectory over the field, in a colour and with a marker of its own. */
typedef struct viz_landscape_path {
    size_t n;
    const double *a, *b;
    const double *energy;
    const char *name, *legend;         /* plain text and markup; NULL: numbered as seeds are */
    const double *distance, *residual; /* as of the trajectory, which fade its states; or NULL */
    bool in_step;                      /* its state at `step` is ringed with the trajectory's */
} viz_landscape_path;

typedef struct viz_landscape_data {
    viz_lattice lattice;
    const double *values; /* ny × nx energies */
    size_t n_missing;     /* values that are not finite, of places that have a state */
    bool ends;            /* where further values are not finite there is no state */
    size_t n_rim;         /* points of the line around those that have; 0: none */
    const double *rim_a, *rim_b;
    const viz_contours *contours; /* or NULL */
    const char *axis[2];          /* markup */
    const char *energy_label;     /* markup, with the unit */
    const char *description;      /* markup: space, centre, lengths, what is held fixed */
    bool meant_whole;             /* the lattice was to cover the trajectory: what it leaves out is
                                     counted on maps too, not on surfaces only */
    size_t n_states;              /* of the trajectory; 0: none */
    const double *a, *b;          /* places of their shadows */
    const double *energy;         /* true ones */
    const double *on_plane;       /* at the shadows */
    const double *distance;       /* from the centre */
    const double *residual;       /* off the plane */
    size_t trained_steps;         /* state that ends training's steps; 0: not known */
    double explained;             /* share of the variance of both axes, or NaN */
    viz_map map;                  /* colours of the field */
    double low, high;             /* ends of the colours; equal: those of the values */
    bool point_out;               /* ring the state at `step`, and rule it in the panels below */
    size_t step;
    size_t n_seeds;
    const viz_landscape_path *seeds;
    const viz_classes *classes;    /* drawn instead of the values, or NULL */
    const viz_contours *ghost;     /* of the step before, faint beneath the others; or NULL */
    const viz_contours *quadratic; /* of the second-order model at the centre, dashed; or NULL */
    const viz_camera *camera;      /* draws a surface in three dimensions instead; or NULL */
} viz_landscape_data;

/* Shares beyond which the note warns: of the distance off the plane, and below which of explained
 * variance. */
#define VIZ_LANDSCAPE_OFF       0.3
#define VIZ_LANDSCAPE_EXPLAINED 0.8

/* Builds the scene; the caller owns *out. A width of 0 is double-column. KERN_INVALID_ARGUMENT for
 * a lattice that cannot be drawn; KERN_BAD_INPUT for a text that is not markup; KERN_NO_MEMORY. */
kern_status viz_landscape_plot(viz_scene **out, const viz_landscape_data *data,
                               const viz_plot_style *style, kern_error *err);

#endif
