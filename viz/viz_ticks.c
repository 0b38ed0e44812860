/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/viz_ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MINUS "\xe2\x88\x92"
#define TIMES "\xc3\x97"

enum { TARGET_MIN = 2, TARGET_MAX = 20, DIGITS = 24 };

static kern_status check_range(double lo, double hi, size_t target, kern_error *err)
{
    if (!(isfinite(lo) && isfinite(hi) && isfinite(hi - lo) && lo < hi)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the axis range %g to %g is not an increasing finite range", lo, hi);
    }
    if (target < TARGET_MIN || target > TARGET_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu axis ticks were asked for; %d to %d are accepted", target,
                          TARGET_MIN, TARGET_MAX);
    }
    return KERN_OK;
}

double viz_ticks_nice_step(double raw)
{
    static const double steps[] = {1.0, 2.0, 5.0, 10.0};
    const double power = pow(10.0, floor(log10(raw)));
    for (size_t i = 0; i < 4; i++) {
        /* The slack keeps a raw step that is itself round from being pushed to the next one. */
        if (raw <= steps[i] * power * (1.0 + 1e-9)) {
            return steps[i] * power;
        }
    }
    return 10.0 * power;
}

/* Number of divisions of a 1-2-5 step that puts minor ticks at round places. */
static size_t minor_divisions(double step)
{
    const double mantissa = step / pow(10.0, floor(log10(step) + 1e-9));
    return mantissa < 1.5 ? 5 : (mantissa < 3.0 ? 4 : 5);
}

/* Writes `value` with `decimals` digits after the point, and a true minus sign. */
static void format_fixed(char *out, size_t size, double value, int decimals)
{
    char digits[DIGITS];
    (void)snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    /* "-0.0" reads as a rounding error, so the sign is kept only when a digit survives. */
    const bool zero = strspn(digits, "0.") == strlen(digits);
    (void)snprintf(out, size, "%s%s", value < 0.0 && !zero ? MINUS : "", digits);
}

/* Writes m×10^e. `exponent` is shared by all labels of an axis. */
static void format_power(char *out, size_t size, double value, int exponent, int decimals)
{
    char mantissa[DIGITS + 4];
    if (value == 0.0) {
        (void)snprintf(out, size, "0");
        return;
    }
    /* Dividing twice keeps the scale finite at both ends of the exponent range. */
    const int half = exponent / 2;
    const double scaled = value / pow(10.0, half) / pow(10.0, exponent - half);
    format_fixed(mantissa, sizeof mantissa, scaled, decimals);
    (void)snprintf(out, size, "%s" TIMES "10<sup>%s%d</sup>", mantissa, exponent < 0 ? MINUS : "",
                   exponent < 0 ? -exponent : exponent);
}

static int decimals_for(double step)
{
    const double d = -floor(log10(step) + 1e-9);
    return d < 0.0 ? 0 : (d > 15.0 ? 15 : (int)d);
}

static void label_linear(viz_ticks *ticks)
{
    double largest = 0.0;
    for (size_t i = 0; i < ticks->n_major; i++) {
        largest = fmax(largest, fabs(ticks->major[i]));
    }
    const bool power = largest >= 1e6 || ticks->step < 0.99e-4;
    const int exponent = largest > 0.0 ? (int)floor(log10(largest) + 1e-12) : 0;
    const int half = exponent / 2;
    const double unit_step = ticks->step / pow(10.0, half) / pow(10.0, exponent - half);
    for (size_t i = 0; i < ticks->n_major; i++) {
        if (power) {
            format_power(ticks->label[i], VIZ_TICKS_TEXT, ticks->major[i], exponent,
                         decimals_for(unit_step));
        } else {
            format_fixed(ticks->label[i], VIZ_TICKS_TEXT, ticks->major[i],
                         decimals_for(ticks->step));
        }
    }
}

static bool inside(double value, double lo, double hi, double slack)
{
    return value >= lo - slack && value <= hi + slack;
}

static void place_linear(viz_ticks *ticks, double lo, double hi, bool integer)
{
    const double step = ticks->step;
    const double slack = 1e-9 * (hi - lo);
    const double first = ceil((lo - slack) / step);
    for (size_t i = 0; ticks->n_major < VIZ_TICKS_MAJOR_MAX; i++) {
        const double value = (first + (double)i) * step;
        if (value > hi + slack) {
            break;
        }
        ticks->major[ticks->n_major++] = value;
    }
    size_t parts = minor_divisions(step);
    if (integer && step < (double)parts * (1.0 - 1e-9)) {
        parts = (size_t)(step + 0.5);
    }
    const double fine = step / (double)parts;
    /* One step before the first major tick to one behind the last; the first of them overflows on
     * an axis at the end of the doubles, which then has no minor ticks. */
    const size_t most = (ticks->n_major + 1) * parts;
    for (size_t i = 0; i <= most && ticks->n_minor < VIZ_TICKS_MINOR_MAX; i++) {
        const double value = (first - 1.0) * step + (double)i * fine;
        if (value > hi + slack) {
            break;
        }
        if (i % parts != 0 && inside(value, lo, hi, slack)) {
            ticks->minor[ticks->n_minor++] = value;
        }
    }
}

kern_status viz_ticks_linear(viz_ticks *ticks, double lo, double hi, size_t target, bool integer,
                             kern_error *err)
{
    KERN_TRY(check_range(lo, hi, target, err));
    *ticks = (viz_ticks){0};
    /* A range narrower than the spacing of doubles near it would repeat the same tick. */
    const double resolution = 1e-14 * fmax(fabs(lo), fabs(hi));
    double step = viz_ticks_nice_step(fmax((hi - lo) / (double)target, resolution));
    /* Rounding inwards can leave fewer than two ticks; the next smaller step then serves. */
    const double slack = 1e-9 * (hi - lo);
    for (int i = 0; i < 3 && floor((hi + slack) / step) - ceil((lo - slack) / step) < 1.0; i++) {
        step = viz_ticks_nice_step(0.4 * step);
    }
    ticks->step = integer ? fmax(1.0, step) : step;
    place_linear(ticks, lo, hi, integer);
    label_linear(ticks);
    return KERN_OK;
}

/* Appends the multiples of 10^decade that lie in the range. */
static void place_decade(viz_ticks *ticks, double lo, double hi, int decade, bool fine)
{
    static const bool round_multiple[10] = {[1] = true, [2] = true, [5] = true};
    const double base = pow(10.0, decade);
    for (int m = 1; m < 10; m++) {
        const double value = (double)m * base;
        if (!inside(value, lo, hi, 1e-9 * value)) {
            continue;
        }
        if ((fine ? round_multiple[m] : m == 1) && ticks->n_major < VIZ_TICKS_MAJOR_MAX) {
            ticks->major[ticks->n_major++] = value;
        } else if (ticks->n_minor < VIZ_TICKS_MINOR_MAX) {
            ticks->minor[ticks->n_minor++] = value;
        }
    }
}

static void label_log(viz_ticks *ticks)
{
    for (size_t i = 0; i < ticks->n_major; i++) {
        const double value = ticks->major[i];
        const int exponent = (int)floor(log10(value) + 1e-9);
        char *out = ticks->label[i];
        if (exponent >= -3 && exponent <= 3) {
            format_fixed(out, VIZ_TICKS_TEXT, value, exponent < 0 ? -exponent : 0);
        } else if (fabs(value / pow(10.0, exponent) - 1.0) < 1e-6) {
            (void)snprintf(out, VIZ_TICKS_TEXT, "10<sup>%s%d</sup>", exponent < 0 ? MINUS : "",
                           exponent < 0 ? -exponent : exponent);
        } else {
            format_power(out, VIZ_TICKS_TEXT, value, exponent, 0);
        }
    }
}

/* Places the decades of the range, every `stride`-th as a major tick. */
static void place_strided(viz_ticks *ticks, double lo, double hi, int stride)
{
    const int to = (int)floor(log10(hi) + 1e-9);
    for (int d = (int)ceil(log10(lo) - 1e-9); d <= to; d++) {
        if (d % stride == 0 && ticks->n_major < VIZ_TICKS_MAJOR_MAX) {
            ticks->major[ticks->n_major++] = pow(10.0, d);
        } else if (ticks->n_minor < VIZ_TICKS_MINOR_MAX) {
            ticks->minor[ticks->n_minor++] = pow(10.0, d);
        }
    }
}

kern_status viz_ticks_log(viz_ticks *ticks, double lo, double hi, size_t target, kern_error *err)
{
    KERN_TRY(check_range(lo, hi, target, err));
    if (!(lo > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the lower end %g of a logarithmic axis is not positive", lo);
    }
    *ticks = (viz_ticks){0};
    const double decades = log10(hi) - log10(lo);
    const int stride = (int)ceil(decades / (double)target - 1e-9);
    if (stride > 1) {
        place_strided(ticks, lo, hi, stride);
    } else {
        const int to = (int)floor(log10(hi) + 1e-9);
        for (int d = (int)floor(log10(lo)); d <= to; d++) {
            place_decade(ticks, lo, hi, d, decades < 3.0);
        }
    }
    if (ticks->n_major < 2) {
        return viz_ticks_linear(ticks, lo, hi, target, false, err);
    }
    label_log(ticks);
    return KERN_OK;
}

/* Powers of ten from the threshold up to the largest magnitude, of one sign, outwards. */
static void place_powers(viz_ticks *ticks, double limit, double sign, double threshold, int stride)
{
    const int from = (int)ceil(log10(threshold) - 1e-9);
    const int to = limit > 0.0 ? (int)floor(log10(limit) + 1e-9) : from - 1;
    for (int d = from; d <= to; d++) {
        /* Counted from the outermost power, which then always has a label. */
        if ((to - d) % stride == 0 && ticks->n_major < VIZ_TICKS_MAJOR_MAX) {
            ticks->major[ticks->n_major++] = sign * pow(10.0, d);
        } else if (ticks->n_minor < VIZ_TICKS_MINOR_MAX) {
            ticks->minor[ticks->n_minor++] = sign * pow(10.0, d);
        }
    }
}

static void label_symlog(viz_ticks *ticks)
{
    viz_ticks size = {.n_major = ticks->n_major};
    for (size_t i = 0; i < ticks->n_major; i++) {
        /* A stand-in for 0, whose own label is written below. */
        size.major[i] = ticks->major[i] != 0.0 ? fabs(ticks->major[i]) : 1.0;
    }
    label_log(&size);
    for (size_t i = 0; i < ticks->n_major; i++) {
        const double v = ticks->major[i];
        (void)snprintf(ticks->label[i], VIZ_TICKS_TEXT, "%s%.*s", v < 0.0 ? MINUS : "",
                       VIZ_TICKS_TEXT - 8, v == 0.0 ? "0" : size.label[i]);
    }
}

kern_status viz_ticks_symlog(viz_ticks *ticks, double lo, double hi, double threshold,
                             size_t target, kern_error *err)
{
    KERN_TRY(check_range(lo, hi, target, err));
    if (!(threshold > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the threshold %g of a symmetric-logarithmic axis is not positive",
                          threshold);
    }
    *ticks = (viz_ticks){0};
    const double decades = fmax(log10(fmax(hi, threshold) / threshold), 0.0) +
                           fmax(log10(fmax(-lo, threshold) / threshold), 0.0);
    const int stride = (int)fmax(1.0, ceil((decades + 1.0) / (double)target - 1e-9));
    place_powers(ticks, -lo, -1.0, threshold, stride);
    for (size_t i = 0; i < ticks->n_major / 2; i++) {
        const double swap = ticks->major[i];
        ticks->major[i] = ticks->major[ticks->n_major - 1 - i];
        ticks->major[ticks->n_major - 1 - i] = swap;
    }
    if (lo <= 0.0 && hi >= 0.0 && ticks->n_major < VIZ_TICKS_MAJOR_MAX) {
        ticks->major[ticks->n_major++] = 0.0;
    }
    place_powers(ticks, hi, 1.0, threshold, stride);
    if (ticks->n_major < 2) {
        return viz_ticks_linear(ticks, lo, hi, target, false, err);
    }
    label_symlog(ticks);
    return KERN_OK;
}

void viz_ticks_number(char out[VIZ_TICKS_TEXT], double value, const double *values, size_t n)
{
    enum { DECIMALS_MAX = 6 };
    double largest = fabs(value);
    double lo = value;
    double hi = value;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(values[i]));
        lo = fmin(lo, values[i]);
        hi = fmax(hi, values[i]);
    }
    const double spread = hi > lo ? hi - lo : largest;
    const bool power = largest >= 1e6 || (spread > 0.0 && spread < 1e-3);
    const int exponent = largest > 0.0 ? (int)floor(log10(largest) + 1e-12) : 0;
    const double unit = power ? pow(10.0, exponent) : 1.0;
    int decimals = 0;
    bool exact = false;
    while (!exact && decimals < DECIMALS_MAX) {
        const double step = unit * pow(10.0, -decimals);
        exact = true;
        for (size_t i = 0; i < n && exact; i++) {
            exact = fabs(values[i] - step * round(values[i] / step)) <= 1e-6 * spread;
        }
        decimals += exact ? 0 : 1;
    }
    if (power) {
        format_power(out, VIZ_TICKS_TEXT, value, exponent, decimals);
    } else {
        format_fixed(out, VIZ_TICKS_TEXT, value, decimals);
    }
}

void viz_ticks_pad(double *lo, double *hi, double margin)
{
    const double magnitude = fmax(fabs(*lo), fabs(*hi));
    const double length = *hi - *lo;
    if (!(length > 1e-9 * magnitude)) {
        const double half = magnitude > 0.0 ? 0.1 * magnitude : 1.0;
        *lo -= half;
        *hi += half;
        return;
    }
    *lo -= margin * length;
    *hi += margin * length;
}
