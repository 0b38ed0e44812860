/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The machine's own limit: single-precision multiply-adds per second from registers.
 */
#ifndef BASIN_KERN_PEAK_H
#define BASIN_KERN_PEAK_H

/* Runs independent multiply-adds on vector registers for about `seconds` of wall time on each of
 * `workers` workers at once; floating-point operations per second of all of them together (a
 * multiply-add is two). */
double kern_peak_f32(int workers, double seconds);

/* Seconds on a monotonic clock. */
double kern_peak_clock(void);

#endif
