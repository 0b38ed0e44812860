/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recurrence quantification: lengths of the lines of a recurrence plot (Zbilut, Webber 1992;
 * Marwan, Romano, Thiel, Kurths 2007, Physics Reports 438).
 *
 * Cells. Those with |i − j| < theiler, which recur because the states are close in time, count in
 * nothing: theiler 0 hides none, 1 hides the main diagonal. Every share refers to what is left: RR
 * is recurrences over cells outside the band, not over all cells, which would make it depend on
 * the width of the band (both counts are in the result, so the other quotient can be had).
 *
 * Lines. Diagonal lines are runs of recurrent cells along j − i; vertical ones are runs along i in
 * one column, and those of white cells between two recurrent ones are returns. The band cuts
 * columns in two.
 *
 * Borders. A line that touches the border of the plot, or the band, is longer than it looks. What
 * is done with such a line is the border rule below (names after Kraemer, Marwan 2019, Physics
 * Letters A 383): `keep` is what most programs do. A return that touches them has not been seen to
 * end and never counts.
 */
#ifndef BASIN_DYN_RQA_H
#define BASIN_DYN_RQA_H

#include "dyn/dyn_recurrence.h"

#include <stddef.h>
#include <stdint.h>

/* X(name, word, gloss). */
#define DYN_RQA_BORDER_LIST(X)                                                                     \
    X(KEEP, "keep", "lines cut by the border count with the length that is seen")                  \
    X(DROP, "drop", "lines cut by the border do not count")                                        \
    X(LONGEST, "longest", "of the lines cut by the border only the longest counts")

typedef enum dyn_rqa_border {
#define DYN_RQA_BORDER_ENUM(name, word, gloss) DYN_RQA_##name,
    DYN_RQA_BORDER_LIST(DYN_RQA_BORDER_ENUM)
#undef DYN_RQA_BORDER_ENUM
        DYN_RQA_BORDER_COUNT
} dyn_rqa_border;

/* Word of a rule, and the rule of a word; DYN_RQA_BORDER_COUNT for a word that means none. */
const char *dyn_rqa_border_word(dyn_rqa_border border);
dyn_rqa_border dyn_rqa_border_find(const char *word);

typedef struct dyn_rqa_options {
    size_t theiler; /* cells with |i − j| < theiler are left out */
    size_t lmin;    /* shortest diagonal line, at least 1 */
    size_t vmin;    /* shortest vertical line, at least 1 */
    dyn_rqa_border border;
    size_t trend_margin; /* longest distances |i − j| that TREND leaves out, having few cells */
    int workers;         /* below 1: one */
    dyn_progress *progress; /* counts diagonals and columns; may be NULL */
    void *context;
} dyn_rqa_options;

/* Theiler window 1, lmin and vmin 2, keep, margin 10, one worker. */
dyn_rqa_options dyn_rqa_options_default(void);

/* Lines of one kind, after the border rule. Means and entropies are NaN where there is no line. */
typedef struct dyn_rqa_lines {
    size_t longest; /* of those that are not too short; 0: there is none */
    uint64_t n;     /* lines that are not too short */
    double share;   /* of the cells of all lines, those in lines that are not too short */
    double mean;    /* length, of those that are not too short */
    double entropy; /* −Σ p ln p of their lengths */
    uint64_t
        *counts; /* counts[l] lines of length l = 0 … n_counts − 1, too short ones too; owned */
    size_t n_counts;
} dyn_rqa_lines;

typedef struct dyn_rqa {
    uint64_t cells;         /* outside the band */
    uint64_t recurrences;   /* of them */
    double rr;              /* their quotient; NaN when the band hides all */
    dyn_rqa_lines diagonal; /* DET is share, L mean, Lmax longest, ENTR entropy */
    dyn_rqa_lines vertical; /* LAM is share, TT mean, Vmax longest */
    /* Returns: steps from the last recurrent cell of one run to the first of the next, so that a
     * cycle of period p has p; MRT is mean, RTE entropy. The share is not used and NaN. */
    dyn_rqa_lines returns;
    double div; /* 1 / Lmax, NaN without a line */
    /* Slope of the recurrence rate at distance |i − j| against that distance, by least squares, per
     * step; NaN when fewer than two distances are left. */
    double trend;
} dyn_rqa;

/* Quantifies a plot. *out is initialised here and released with dyn_rqa_fini, which is harmless
 * after a failure. In a symmetric plot both triangles count. Equal options give equal bits for any
 * number of workers. KERN_INVALID_ARGUMENT for a plot without cells and for lmin or vmin 0;
 * KERN_INTERRUPTED; KERN_OVERFLOW; KERN_NO_MEMORY. Cost: every cell twice, or one and a half times
 * in a symmetric plot; memory: about 6 (rows + columns) numbers for each worker. */
kern_status dyn_rqa_init(dyn_rqa *out, const dyn_plot *plot, const dyn_rqa_options *options,
                         kern_error *err);
void dyn_rqa_fini(dyn_rqa *out);

#endif
