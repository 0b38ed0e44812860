/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recurrence plots: R_ij = 1 where state i of one series lies within a threshold of state j of
 * another, which may be the same (Eckmann, Kamphorst, Ruelle 1987; Marwan, Romano, Thiel, Kurths
 * 2007, Physics Reports 438).
 *
 * The matrix is never stored. A plot is a function that fills cells along a line (a row, a column
 * or a diagonal), and everything made from it walks over lines, one buffer of cells for each
 * worker. So memory grows as the number of states, not as its square.
 */
#ifndef BASIN_DYN_RECURRENCE_H
#define BASIN_DYN_RECURRENCE_H

#include "dyn/dyn_state.h"
#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Plots ---- */

/* cells[k] = R at (i + k·di, j + k·dj), 1 or 0, for k = 0 … n − 1; di and dj are 0 or 1. Called by
 * several workers at once. */
typedef void dyn_plot_read(const void *context, size_t i, size_t j, size_t di, size_t dj, size_t n,
                           unsigned char *cells);

typedef struct dyn_plot {
    size_t rows, columns;
    bool symmetric; /* square, R_ij = R_ji: diagonals below the main one need not be read */
    dyn_plot_read *read;
    const void *context; /* of read, borrowed */
} dyn_plot;

/* Diagonals of a plot that must be read: numbers 0 to dyn_plot_diagonals − 1. Number d begins in
 * row *i and column *j, has *n cells, and stands for as many lines as dyn_plot_diagonal returns: 2
 * in a symmetric plot, where it has a mirror image, and 1 otherwise. */
size_t dyn_plot_diagonals(const dyn_plot *plot);
unsigned dyn_plot_diagonal(const dyn_plot *plot, size_t d, size_t *i, size_t *j, size_t *n);

/* Row i of the plot, packed: cell j is bit 7 − j % 8 of bits[j / 8], as portable bitmaps have it,
 * unused bits 0. `cells` is workspace of plot->columns bytes. */
void dyn_plot_pack_row(const dyn_plot *plot, size_t i, unsigned char *cells, unsigned char *bits);

/* ---- Plots of series ---- */

typedef struct dyn_recurrence_series {
    size_t n;              /* states */
    size_t width;          /* numbers of a state */
    const double *values;  /* n × width, borrowed */
    const double *periods; /* width, 0 where a coordinate is on no circle; NULL: none is */
} dyn_recurrence_series;

/* X(name, word, gloss). */
#define DYN_NORM_LIST(X)                                                                           \
    X(MAX, "max", "largest coordinate difference")                                                 \
    X(EUCLID, "euclid", "root of the sum of squared differences")

typedef enum dyn_norm {
#define DYN_NORM_ENUM(name, word, gloss) DYN_NORM_##name,
    DYN_NORM_LIST(DYN_NORM_ENUM)
#undef DYN_NORM_ENUM
        DYN_NORM_COUNT
} dyn_norm;

/* Word of a norm, and the norm of a word; DYN_NORM_COUNT for a word that means none. */
const char *dyn_norm_word(dyn_norm norm);
dyn_norm dyn_norm_find(const char *word);

/* States recur when their distance, on circles the shortest way round, is at most the threshold. A
 * distance that is not a number is no recurrence. */
typedef struct dyn_recurrence {
    dyn_recurrence_series rows;
    dyn_recurrence_series columns; /* values NULL: the rows once more, and the plot is symmetric */
    dyn_norm norm;
    double threshold;
    bool at_rounding; /* set by dyn_recurrence_fit_threshold */
} dyn_recurrence;

/* The plot of `r`, which must outlive it. KERN_INVALID_ARGUMENT when a series is empty, the two
 * have different widths or periods, or the threshold is negative or not finite. */
kern_status dyn_recurrence_plot(dyn_plot *out, const dyn_recurrence *r, kern_error *err);

/* Distance of state i of the rows and state j of the columns. */
double dyn_recurrence_distance(const dyn_recurrence *r, size_t i, size_t j);

/* Distance, relative to the largest number, up to which states are the same but for rounding: 2¹²
 * ε, as the rounding of a step, ε/2, comes to near a cycle that a multiplier of 0.9999 attracts to.
 */
#define DYN_RECURRENCE_ROUNDING 0x1p-40

/* A threshold for a rate. */
typedef struct dyn_recurrence_fit {
    double rate;            /* part of the pairs that shall recur, above 0 and at most 1 */
    size_t theiler;         /* pairs with |i − j| < theiler are left out */
    int workers;            /* below 1: one */
    dyn_progress *progress; /* counts diagonals, each four times; may be NULL */
    void *context;
} dyn_recurrence_fit;

/* Sets r->threshold to the smallest distance ε such that at least the part `rate` of the pairs are
 * at most ε apart. It is one of the distances, exactly: their bit patterns, which for numbers that
 * are not negative are in the order of the numbers, are selected 16 bits at a time, in four sweeps
 * over all pairs. Equal distances can make the rate that is reached larger. But distances up to
 * DYN_RECURRENCE_ROUNDING times the largest number (on circles, the period where that is larger;
 * in the norm of the plot) are those of one state reached again, as at rest or on a cycle: their
 * order is chance. A threshold below becomes that bound, r->at_rounding is set, and the rate that
 * is reached is as large as the orbit's. KERN_INVALID_ARGUMENT
 * as above, for a rate outside its domain and when no pair is left; KERN_NAN when that distance is
 * not finite; KERN_INTERRUPTED; KERN_NO_MEMORY. Memory: 512 KiB for each worker. */
kern_status dyn_recurrence_fit_threshold(dyn_recurrence *r, const dyn_recurrence_fit *fit,
                                         kern_error *err);

/* Delay vectors (Takens 1981): state t of `out` is (x_t, x_{t+delay}, …, x_{t+(m−1)·delay}) of
 * coordinate `coordinate` of the series; n − (m − 1)·delay states. out->values and out->periods
 * stand in one block that the caller frees by *block. KERN_INVALID_ARGUMENT when m or delay is 0,
 * the coordinate does not exist, or the series is too short for one vector; KERN_NO_MEMORY. */
kern_status dyn_recurrence_embed(dyn_recurrence_series *out, double **block,
                                 const dyn_recurrence_series *series, size_t coordinate, size_t m,
                                 size_t delay, kern_error *err);

#endif
