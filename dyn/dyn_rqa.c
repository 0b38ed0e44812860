/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_rqa.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const border_words[DYN_RQA_BORDER_COUNT] = {
#define BORDER_WORD(name, word, gloss) word,
    DYN_RQA_BORDER_LIST(BORDER_WORD)
#undef BORDER_WORD
};

const char *dyn_rqa_border_word(dyn_rqa_border border)
{
    return border < DYN_RQA_BORDER_COUNT ? border_words[border] : "unknown";
}

dyn_rqa_border dyn_rqa_border_find(const char *word)
{
    size_t i = 0;
    while (i < DYN_RQA_BORDER_COUNT && strcmp(word, border_words[i]) != 0) {
        i++;
    }
    return (dyn_rqa_border)i;
}

dyn_rqa_options dyn_rqa_options_default(void)
{
    return (dyn_rqa_options){.theiler = 1,
                             .lmin = 2,
                             .vmin = 2,
                             .border = DYN_RQA_KEEP,
                             .trend_margin = 10,
                             .workers = 1};
}

/* ---- Counting ----------------------------------------------------------------------------- */

/* Histograms that a worker has of its own. */
typedef enum histogram {
    DIAGONAL_WHOLE,
    DIAGONAL_CUT,
    VERTICAL_WHOLE,
    VERTICAL_CUT,
    RETURNS,
    HISTOGRAMS
} histogram;

typedef struct rqa_run {
    const dyn_plot *plot;
    const dyn_rqa_options *o;
    size_t n_counts;       /* of every histogram: lengths 0 … n_counts − 1 */
    size_t n_diagonals;    /* that are read */
    uint64_t *counts;      /* workers × HISTOGRAMS × n_counts */
    unsigned char *cells;  /* workers × n_counts */
    uint64_t *recurrences; /* of every diagonal that is read */
} rqa_run;

static uint64_t *histogram_of(const rqa_run *run, int worker, histogram which)
{
    return run->counts + ((size_t)worker * HISTOGRAMS + which) * run->n_counts;
}

/* Adds the runs of a stretch of cells; those that touch its ends are cut. */
static void count_runs(const unsigned char *cells, size_t n, uint64_t weight, uint64_t *whole,
                       uint64_t *cut)
{
    for (size_t begin = 0; begin < n;) {
        size_t end = begin;
        while (end < n && cells[end] != 0) {
            end++;
        }
        if (end > begin) {
            (begin == 0 || end == n ? cut : whole)[end - begin] += weight;
        }
        begin = end + 1;
    }
}

/* Adds the steps over the gaps between runs of a stretch. */
static void count_returns(const unsigned char *cells, size_t n, uint64_t *returns)
{
    size_t last = n; /* the last recurrent cell; n: none yet */
    for (size_t k = 0; k < n; k++) {
        if (cells[k] == 0) {
            continue;
        }
        if (last < n && k - last > 1) {
            returns[k - last]++;
        }
        last = k;
    }
}

static void count_diagonal(rqa_run *run, int worker, size_t d)
{
    size_t i, j, n;
    unsigned char *cells = run->cells + (size_t)worker * run->n_counts;
    const unsigned weight = dyn_plot_diagonal(run->plot, d, &i, &j, &n);
    if (i + j < run->o->theiler) {
        return;
    }
    run->plot->read(run->plot->context, i, j, 1, 1, n, cells);
    count_runs(cells, n, weight, histogram_of(run, worker, DIAGONAL_WHOLE),
               histogram_of(run, worker, DIAGONAL_CUT));
    for (size_t k = 0; k < n; k++) {
        run->recurrences[d] += cells[k];
    }
}

static void count_column(rqa_run *run, int worker, size_t j)
{
    const size_t rows = run->plot->rows;
    const size_t theiler = run->o->theiler;
    unsigned char *cells = run->cells + (size_t)worker * run->n_counts;
    /* What is left of the column ends at `above` the band and begins at `below` it again. */
    const size_t above = theiler == 0 || j < theiler ? 0 : kern_size_min(j + 1 - theiler, rows);
    const size_t below = theiler == 0 ? 0 : j < rows && theiler < rows - j ? j + theiler : rows;
    const size_t from[2] = {0, below};
    const size_t count[2] = {above, rows - below};
    run->plot->read(run->plot->context, 0, j, 1, 0, rows, cells);
    for (size_t part = 0; part < 2; part++) {
        count_runs(cells + from[part], count[part], 1, histogram_of(run, worker, VERTICAL_WHOLE),
                   histogram_of(run, worker, VERTICAL_CUT));
        count_returns(cells + from[part], count[part], histogram_of(run, worker, RETURNS));
    }
}

/* Items are diagonals and, after them, columns. */
static kern_status count_line(void *context, dyn_map *map, int worker, size_t line, kern_error *err)
{
    rqa_run *run = context;
    (void)map;
    (void)err;
    if (line < run->n_diagonals) {
        count_diagonal(run, worker, line);
    } else {
        count_column(run, worker, line - run->n_diagonals);
    }
    return KERN_OK;
}

static void merge(rqa_run *run, int workers)
{
    const size_t n = HISTOGRAMS * run->n_counts;
    for (size_t w = 1; w < (size_t)workers; w++) {
        for (size_t k = 0; k < n; k++) {
            run->counts[k] += run->counts[w * n + k];
        }
    }
}

/* ---- Measures ----------------------------------------------------------------------------- */

/* The lines that count: all whole ones, and of those cut what the rule says; `twins` is what the
 * longest one counts, 2 where it has a mirror image. */
static void apply_border(dyn_rqa_border border, uint64_t twins, const uint64_t *whole,
                         const uint64_t *cut, dyn_rqa_lines *lines)
{
    bool first = true;
    for (size_t l = lines->n_counts; l-- > 0;) {
        uint64_t more = border == DYN_RQA_KEEP ? cut[l] : 0;
        if (border == DYN_RQA_LONGEST && first && cut[l] > 0) {
            more = cut[l] < twins ? cut[l] : twins;
            first = false;
        }
        lines->counts[l] = whole[l] + more;
    }
}

static void measure_lines(dyn_rqa_lines *lines, size_t least)
{
    uint64_t all = 0;
    uint64_t points = 0;
    for (size_t l = 1; l < lines->n_counts; l++) {
        const uint64_t held = lines->counts[l] * l;
        all += held;
        if (l >= least && held > 0) {
            points += held;
            lines->n += lines->counts[l];
            lines->longest = l;
        }
    }
    lines->share = all > 0 ? (double)points / (double)all : (double)NAN;
    lines->mean = lines->n > 0 ? (double)points / (double)lines->n : (double)NAN;
    lines->entropy = lines->n > 0 ? 0.0 : (double)NAN;
    for (size_t l = least; l < lines->n_counts; l++) {
        const double p = (double)lines->counts[l] / (double)lines->n;
        lines->entropy -= p > 0.0 ? p * log(p) : 0.0;
    }
}

/* Cells at distance |i − j| = d, and how many of them recur. */
static void count_distance(const rqa_run *run, size_t d, uint64_t *cells, uint64_t *recurrences)
{
    const dyn_plot *plot = run->plot;
    /* Diagonals above the main one come first, those below behind them. */
    const size_t pair[2] = {d, plot->columns - 1 + d};
    *cells = 0;
    *recurrences = 0;
    for (size_t side = 0; side < (d > 0 && !plot->symmetric ? 2 : 1); side++) {
        size_t i, j, n;
        const bool exists = side == 0 ? d < plot->columns : pair[1] < run->n_diagonals;
        if (exists) {
            const uint64_t weight = dyn_plot_diagonal(plot, pair[side], &i, &j, &n);
            *cells += weight * n;
            *recurrences += weight * run->recurrences[pair[side]];
        }
    }
}

static double fit_trend(const rqa_run *run)
{
    const size_t reach = kern_size_min(run->plot->rows, run->plot->columns);
    const size_t first = run->o->theiler;
    const size_t last = reach > run->o->trend_margin ? reach - run->o->trend_margin : 0;
    double slope = 0.0;
    double spread = 0.0;
    if (last < first + 2) {
        return (double)NAN;
    }
    for (size_t d = first; d < last; d++) {
        uint64_t cells, recurrences;
        count_distance(run, d, &cells, &recurrences);
        const double x = (double)d - 0.5 * (double)(first + last - 1);
        slope += x * (double)recurrences / (double)cells;
        spread += x * x;
    }
    return slope / spread;
}

static void conclude(rqa_run *run, dyn_rqa *out)
{
    const dyn_rqa_options *o = run->o;
    const uint64_t twins = run->plot->symmetric ? 2 : 1;
    for (size_t d = o->theiler; d < kern_size_max(run->plot->rows, run->plot->columns); d++) {
        uint64_t cells, recurrences;
        count_distance(run, d, &cells, &recurrences);
        out->cells += cells;
        out->recurrences += recurrences;
    }
    out->rr = out->cells > 0 ? (double)out->recurrences / (double)out->cells : (double)NAN;
    apply_border(o->border, twins, histogram_of(run, 0, DIAGONAL_WHOLE),
                 histogram_of(run, 0, DIAGONAL_CUT), &out->diagonal);
    apply_border(o->border, 1, histogram_of(run, 0, VERTICAL_WHOLE),
                 histogram_of(run, 0, VERTICAL_CUT), &out->vertical);
    memcpy(out->returns.counts, histogram_of(run, 0, RETURNS),
           run->n_counts * sizeof *out->returns.counts);
    measure_lines(&out->diagonal, o->lmin);
    measure_lines(&out->vertical, o->vmin);
    measure_lines(&out->returns, 1);
    out->returns.share = (double)NAN;
    out->div = out->diagonal.longest > 0 ? 1.0 / (double)out->diagonal.longest : (double)NAN;
    out->trend = fit_trend(run);
}

/* ---- The whole ---------------------------------------------------------------------------- */

void dyn_rqa_fini(dyn_rqa *out)
{
    free(out->diagonal.counts);
    free(out->vertical.counts);
    free(out->returns.counts);
    *out = (dyn_rqa){0};
}

static kern_status check(const dyn_plot *plot, const dyn_rqa_options *o, kern_error *err)
{
    if (plot->rows == 0 || plot->columns == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a recurrence plot of %zu by %zu cells is empty; accepted is 1 or more",
                          plot->rows, plot->columns);
    }
    if (o->lmin == 0 || o->vmin == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the shortest lines that count have %zu and %zu cells; accepted is 1 or "
                          "more",
                          o->lmin, o->vmin);
    }
    return KERN_OK;
}

static bool allocate_result(dyn_rqa *out, size_t n_counts)
{
    dyn_rqa_lines *const all[] = {&out->diagonal, &out->vertical, &out->returns};
    bool done = true;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        all[k]->n_counts = n_counts;
        all[k]->counts = calloc(n_counts, sizeof *all[k]->counts);
        done = done && all[k]->counts != NULL;
    }
    return done;
}

static kern_status allocate(rqa_run *run, dyn_rqa *out, int workers, kern_error *err)
{
    size_t numbers = 0;
    size_t bytes = 0;
    if (!kern_size_add(run->plot->rows, run->plot->columns, &numbers) ||
        !kern_size_add(kern_size_max(run->plot->rows, run->plot->columns), 1, &run->n_counts) ||
        !kern_size_mul(run->n_counts, (size_t)workers, &bytes) ||
        !kern_size_mul(bytes, HISTOGRAMS, &numbers)) {
        return kern_raise(err, KERN_OVERFLOW, "a recurrence plot of %zu by %zu cells is too large",
                          run->plot->rows, run->plot->columns);
    }
    run->counts = calloc(numbers, sizeof *run->counts);
    run->cells = calloc(bytes, sizeof *run->cells);
    run->recurrences = calloc(run->n_diagonals, sizeof *run->recurrences);
    if (!allocate_result(out, run->n_counts) || run->counts == NULL || run->cells == NULL ||
        run->recurrences == NULL) {
        return kern_raise(err, KERN_NO_MEMORY,
                          "no memory for the lines of a recurrence plot of %zu by %zu cells",
                          run->plot->rows, run->plot->columns);
    }
    return KERN_OK;
}

static kern_status compute(rqa_run *run, dyn_rqa *out, kern_error *err)
{
    KERN_TRY(check(run->plot, run->o, err));
    run->n_diagonals = dyn_plot_diagonals(run->plot);
    const dyn_scan_options scan = {.items = run->n_diagonals + run->plot->columns,
                                   .workers = run->o->workers,
                                   .progress = run->o->progress,
                                   .context = run->o->context};
    const int workers = dyn_scan_workers(&scan);
    KERN_TRY(allocate(run, out, workers, err));
    KERN_TRY(dyn_scan_run(NULL, &scan, count_line, run, err));
    merge(run, workers);
    conclude(run, out);
    return KERN_OK;
}

kern_status dyn_rqa_init(dyn_rqa *out, const dyn_plot *plot, const dyn_rqa_options *options,
                         kern_error *err)
{
    rqa_run run = {.plot = plot, .o = options};
    *out = (dyn_rqa){0};
    const kern_status status = compute(&run, out, err);
    free(run.counts);
    free(run.cells);
    free(run.recurrences);
    if (status != KERN_OK) {
        dyn_rqa_fini(out);
    }
    return status;
}
