/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli_progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS   5.0

enum { BAR_WIDTH = 24, FIELD_TEXT = 48 };

double cli_progress_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_start(cli_progress *p, const char *what, size_t done, size_t total,
                        const char *unit, double per_item)
{
    const double now = cli_progress_now();
    *p = (cli_progress){.what = what,
                        .unit = unit,
                        .first = done,
                        .total = total,
                        .per_item = per_item,
                        .started = now,
                        .shown = now,
                        .terminal = isatty(STDERR_FILENO) != 0};
}

static void format_rate(char out[FIELD_TEXT], double rate, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G"};
    size_t i = 0;
    for (; i < 3 && rate >= 1000.0; i++) {
        rate /= 1000.0;
    }
    (void)snprintf(out, FIELD_TEXT, "%.3g %s%s%s/s", rate, prefixes[i], i > 0 ? " " : "", unit);
}

static void format_time(char out[FIELD_TEXT], double seconds)
{
    if (!(seconds < 359999.0)) {
        (void)snprintf(out, FIELD_TEXT, "more than 99 h");
        return;
    }
    const long s = lround(seconds);
    if (s < 3600) {
        (void)snprintf(out, FIELD_TEXT, "%ld:%02ld", s / 60, s % 60);
    } else {
        (void)snprintf(out, FIELD_TEXT, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    }
}

static void print_bar(const cli_progress *p, size_t done)
{
    char bar[BAR_WIDTH + 1];
    const double share = p->total > 0 ? (double)done / (double)p->total : 1.0;
    for (int i = 0; i < BAR_WIDTH; i++) {
        bar[i] = (double)i < share * BAR_WIDTH ? '#' : '.';
    }
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "\r[%s] ", bar);
}

void cli_progress_update(cli_progress *p, size_t done, double loss)
{
    char rate[FIELD_TEXT];
    char left[FIELD_TEXT];
    const double now = cli_progress_now();
    if (now - p->shown < (p->terminal ? REDRAW_SECONDS : LINE_SECONDS)) {
        return;
    }
    p->shown = now;
    const double speed = (double)(done - p->first) / fmax(now - p->started, 1e-9);
    format_rate(rate, speed * p->per_item, p->unit);
    format_time(left, (double)(p->total > done ? p->total - done : 0) / speed);
    if (p->terminal) {
        print_bar(p, done);
        p->drawn = true;
    }
    (void)fprintf(stderr, "%s %zu/%zu", p->what, done, p->total);
    if (!isnan(loss)) {
        (void)fprintf(stderr, "  loss %.4f", loss);
    }
    (void)fprintf(stderr, "  %s  %s left%s", rate, left, p->terminal ? "\x1b[K" : "\n");
    (void)fflush(stderr);
}

static void clear_bar(cli_progress *p)
{
    if (p->drawn) {
        (void)fputs("\r\x1b[K", stderr);
        p->drawn = false;
    }
}

void cli_progress_note(cli_progress *p, const char *format, ...)
{
    va_list arguments;
    clear_bar(p);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

void cli_progress_finish(cli_progress *p)
{
    clear_bar(p);
    (void)fflush(stderr);
}
