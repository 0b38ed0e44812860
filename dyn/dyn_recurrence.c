/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_recurrence.h"

#include "dyn/dyn_scan.h"
#include "kernels/kern_size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Plots -------------------------------------------------------------------------------- */

size_t dyn_plot_diagonals(const dyn_plot *plot)
{
    return plot->symmetric ? plot->columns : plot->rows + plot->columns - 1;
}

unsigned dyn_plot_diagonal(const dyn_plot *plot, size_t d, size_t *i, size_t *j, size_t *n)
{
    /* Those above the main one come first, since a symmetric plot has no others. */
    *i = d < plot->columns ? 0 : d - plot->columns + 1;
    *j = d < plot->columns ? d : 0;
    *n = kern_size_min(plot->rows - *i, plot->columns - *j);
    return plot->symmetric && d > 0 ? 2 : 1;
}

void dyn_plot_pack_row(const dyn_plot *plot, size_t i, unsigned char *cells, unsigned char *bits)
{
    plot->read(plot->context, i, 0, 0, 1, plot->columns, cells);
    memset(bits, 0, (plot->columns + 7) / 8);
    for (size_t j = 0; j < plot->columns; j++) {
        bits[j / 8] = (unsigned char)(bits[j / 8] | (cells[j] << (7 - j % 8)));
    }
}

/* ---- Distances ---------------------------------------------------------------------------- */

static const struct {
    const char *word;
} norms[DYN_NORM_COUNT] = {
#define NORM_WORD(name, word, gloss) {word},
    DYN_NORM_LIST(NORM_WORD)
#undef NORM_WORD
};

const char *dyn_norm_word(dyn_norm norm)
{
    return norm < DYN_NORM_COUNT ? norms[norm].word : "unknown";
}

dyn_norm dyn_norm_find(const char *word)
{
    size_t i = 0;
    while (i < DYN_NORM_COUNT && strcmp(word, norms[i].word) != 0) {
        i++;
    }
    return (dyn_norm)i;
}

/* |a − b| on a circle of the given circumference. */
static double arc(double a, double b, double period)
{
    const double gap = fabs(a - b);
    const double rest = gap >= period ? fmod(gap, period) : gap;
    return rest > period - rest ? period - rest : rest;
}

static double measure(const double *a, const double *b, size_t width, const double *periods,
                      dyn_norm norm)
{
    double most = 0.0;
    double sum = 0.0;
    for (size_t c = 0; c < width; c++) {
        const double period = periods != NULL ? periods[c] : 0.0;
        const double gap = period > 0.0 ? arc(a[c], b[c], period) : fabs(a[c] - b[c]);
        sum += gap * gap;
        most = most >= gap ? most : gap; /* a gap that is no number stays */
        if (isnan(gap)) {
            return gap;
        }
    }
    return norm == DYN_NORM_MAX ? most : sqrt(sum);
}

static const dyn_recurrence_series *columns_of(const dyn_recurrence *r)
{
    return r->columns.values != NULL ? &r->columns : &r->rows;
}

double dyn_recurrence_distance(const dyn_recurrence *r, size_t i, size_t j)
{
    const size_t width = r->rows.width;
    return measure(r->rows.values + i * width, columns_of(r)->values + j * width, width,
                   r->rows.periods, r->norm);
}

/* Most series are one number for a state, on no circle; that loop is worth its own. */
static void read_scalar(const dyn_recurrence *r, const double *a, const double *b, size_t di,
                        size_t dj, size_t n, unsigned char *cells)
{
    for (size_t k = 0; k < n; k++) {
        cells[k] = fabs(a[k * di] - b[k * dj]) <= r->threshold;
    }
}

static void read_cells(const void *context, size_t i, size_t j, size_t di, size_t dj, size_t n,
                       unsigned char *cells)
{
    const dyn_recurrence *r = context;
    const size_t width = r->rows.width;
    const double *a = r->rows.values + i * width;
    const double *b = columns_of(r)->values + j * width;
    if (width == 1 && r->rows.periods == NULL) {
        read_scalar(r, a, b, di, dj, n, cells);
        return;
    }
    for (size_t k = 0; k < n; k++, a += di * width, b += dj * width) {
        cells[k] = measure(a, b, width, r->rows.periods, r->norm) <= r->threshold;
    }
}

static bool same_circles(const dyn_recurrence_series *a, const dyn_recurrence_series *b)
{
    for (size_t c = 0; c < a->width; c++) {
        const double one = a->periods != NULL ? a->periods[c] : 0.0;
        const double two = b->periods != NULL ? b->periods[c] : 0.0;
        if (one != two) {
            return false;
        }
    }
    return true;
}

static kern_status check_series(const dyn_recurrence *r, kern_error *err)
{
    const dyn_recurrence_series *rows = &r->rows;
    const dyn_recurrence_series *columns = columns_of(r);
    if (rows->n == 0 || rows->width == 0 || columns->n == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a recurrence plot of %zu by %zu states of %zu numbers is empty; "
                          "accepted is 1 or more of each",
                          rows->n, columns->n, rows->width);
    }
    if (rows->width != columns->width || !same_circles(rows, columns)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a recurrence plot of states of %zu and of %zu numbers; accepted are two "
                          "series from one space, with the same circles",
                          rows->width, columns->width);
    }
    return KERN_OK;
}

static dyn_plot plot_of(const dyn_recurrence *r)
{
    return (dyn_plot){.rows = r->rows.n,
                      .columns = columns_of(r)->n,
                      .symmetric = columns_of(r) == &r->rows,
                      .read = read_cells,
                      .context = r};
}

kern_status dyn_recurrence_plot(dyn_plot *out, const dyn_recurrence *r, kern_error *err)
{
    KERN_TRY(check_series(r, err));
    if (!(r->threshold >= 0.0) || isinf(r->threshold)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the threshold of a recurrence plot is %g; accepted are finite numbers "
                          "from 0",
                          r->threshold);
    }
    *out = plot_of(r);
    return KERN_OK;
}

/* ---- A threshold for a rate --------------------------------------------------------------- */

enum { DIGIT_BITS = 16, DIGITS = 64 / DIGIT_BITS, DIGIT_VALUES = 1 << DIGIT_BITS };

/* Selection of one distance by its leading digits. */
typedef struct selection {
    const dyn_recurrence *r;
    const dyn_recurrence_fit *fit;
    dyn_plot plot;
    size_t lines;     /* diagonals that are read */
    size_t pass;      /* digits known */
    uint64_t prefix;  /* those digits, the others 0 */
    unsigned shift;   /* of the digit that is counted */
    uint64_t *counts; /* workers × DIGIT_VALUES */
} selection;

static kern_status count_digits(void *context, dyn_map *map, int worker, size_t line,
                                kern_error *err)
{
    const selection *s = context;
    size_t i, j, n;
    uint64_t *counts = s->counts + (size_t)worker * DIGIT_VALUES;
    const unsigned weight = dyn_plot_diagonal(&s->plot, line, &i, &j, &n);
    (void)map;
    (void)err;
    for (size_t k = 0; i + j >= s->fit->theiler && k < n; k++) {
        /* The sign of a NaN would spoil the order. */
        const double distance = fabs(dyn_recurrence_distance(s->r, i + k, j + k));
        uint64_t bits;
        memcpy(&bits, &distance, sizeof bits);
        if (((bits ^ s->prefix) >> s->shift) < DIGIT_VALUES) {
            counts[(bits >> s->shift) % DIGIT_VALUES] += weight;
        }
    }
    return KERN_OK;
}

/* Progress of one pass as part of that of all. */
static bool report_pass(void *context, size_t done, size_t total)
{
    const selection *s = context;
    return s->fit->progress == NULL ||
           s->fit->progress(s->fit->context, s->pass * total + done, DIGITS * total);
}

static uint64_t count_pairs(const dyn_plot *plot, size_t theiler)
{
    uint64_t pairs = 0;
    for (size_t d = 0; d < dyn_plot_diagonals(plot); d++) {
        size_t i, j, n;
        const unsigned weight = dyn_plot_diagonal(plot, d, &i, &j, &n);
        pairs += i + j < theiler ? 0 : (uint64_t)weight * n;
    }
    return pairs;
}

/* The digit under which the distance of that rank falls; the rank becomes that among its likes. */
static uint64_t choose_digit(selection *s, int workers, uint64_t *rank)
{
    for (int w = 1; w < workers; w++) {
        for (size_t v = 0; v < DIGIT_VALUES; v++) {
            s->counts[v] += s->counts[(size_t)w * DIGIT_VALUES + v];
        }
    }
    uint64_t digit = 0;
    while (digit + 1 < DIGIT_VALUES && *rank > s->counts[digit]) {
        *rank -= s->counts[digit];
        digit++;
    }
    return digit;
}

static kern_status select_distance(selection *s, uint64_t rank, kern_error *err)
{
    const dyn_scan_options scan = {
        .items = s->lines, .workers = s->fit->workers, .progress = report_pass, .context = s};
    const int workers = dyn_scan_workers(&scan);
    s->counts = calloc((size_t)workers, DIGIT_VALUES * sizeof *s->counts);
    if (s->counts == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to sort distances by %d workers",
                          workers);
    }
    kern_status status = KERN_OK;
    for (s->pass = 0; s->pass < DIGITS && status == KERN_OK; s->pass++) {
        s->shift = (unsigned)(DIGIT_BITS * (DIGITS - 1 - s->pass));
        memset(s->counts, 0, (size_t)workers * DIGIT_VALUES * sizeof *s->counts);
        status = dyn_scan_run(NULL, &scan, count_digits, s, err);
        s->prefix |= choose_digit(s, workers, &rank) << s->shift;
    }
    free(s->counts);
    return status;
}

static double largest_of(const dyn_recurrence_series *s)
{
    double largest = 0.0;
    for (size_t i = 0; s->values != NULL && i < s->n * s->width; i++) {
        largest = fmax(largest, fabs(s->values[i]));
    }
    for (size_t c = 0; s->periods != NULL && c < s->width; c++) {
        largest = fmax(largest, s->periods[c]);
    }
    return largest;
}

/* Distance up to which states are the same but for rounding. */
static double rounding_of(const dyn_recurrence *r)
{
    const double each =
        DYN_RECURRENCE_ROUNDING * fmax(largest_of(&r->rows), largest_of(&r->columns));
    return r->norm == DYN_NORM_EUCLID ? each * sqrt((double)r->rows.width) : each;
}

kern_status dyn_recurrence_fit_threshold(dyn_recurrence *r, const dyn_recurrence_fit *fit,
                                         kern_error *err)
{
    KERN_TRY(check_series(r, err));
    if (!(fit->rate > 0.0 && fit->rate <= 1.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the recurrence rate is %g; accepted are numbers above 0 and at most 1",
                          fit->rate);
    }
    selection s = {.r = r, .fit = fit, .plot = plot_of(r)};
    s.lines = dyn_plot_diagonals(&s.plot);
    const uint64_t pairs = count_pairs(&s.plot, fit->theiler);
    if (pairs == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a Theiler window of %zu leaves no pair of %zu by %zu states",
                          fit->theiler, s.plot.rows, s.plot.columns);
    }
    /* The product may round past a whole number either way; one pair is below what a rate means. */
    const uint64_t rank = (uint64_t)ceil(fit->rate * (double)pairs);
    double threshold;
    KERN_TRY(select_distance(&s, rank < 1 ? 1 : rank > pairs ? pairs : rank, err));
    memcpy(&threshold, &s.prefix, sizeof threshold);
    if (!isfinite(threshold)) {
        return kern_raise(err, KERN_NAN,
                          "the part %g of the distances reaches to those that are not finite",
                          fit->rate);
    }
    const double least = rounding_of(r);
    r->at_rounding = threshold <= least;
    r->threshold = fmax(threshold, least);
    return KERN_OK;
}

/* ---- Delay vectors ------------------------------------------------------------------------ */

kern_status dyn_recurrence_embed(dyn_recurrence_series *out, double **block,
                                 const dyn_recurrence_series *series, size_t coordinate, size_t m,
                                 size_t delay, kern_error *err)
{
    size_t reach = 0;
    size_t count = 0;
    *block = NULL;
    if (coordinate >= series->width) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "states of %zu numbers have no coordinate %zu; accepted are 0 to %zu",
                          series->width, coordinate, series->width - 1);
    }
    if (m == 0 || delay == 0 || !kern_size_mul(m - 1, delay, &reach) || reach >= series->n) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu values with a delay of %zu steps give no vector of a series of %zu "
                          "states",
                          m, delay, series->n);
    }
    const size_t n = series->n - reach;
    if (!kern_size_add(n, 1, &count) || !kern_size_mul(count, m, &count) ||
        (*block = calloc(count, sizeof **block)) == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu vectors of %zu numbers", n, m);
    }
    double *periods = *block + n * m;
    for (size_t c = 0; c < m; c++) {
        periods[c] = series->periods != NULL ? series->periods[coordinate] : 0.0;
        for (size_t t = 0; t < n; t++) {
            (*block)[t * m + c] = series->values[(t + c * delay) * series->width + coordinate];
        }
    }
    *out = (dyn_recurrence_series){
        .n = n, .width = m, .values = *block, .periods = periods[0] > 0.0 ? periods : NULL};
    return KERN_OK;
}
