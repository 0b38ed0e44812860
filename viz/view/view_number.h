/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers in sentences for the user.
 */
#ifndef BASIN_VIEW_NUMBER_H
#define BASIN_VIEW_NUMBER_H

enum { VIEW_NUMBER = 32 };

/* `x` to `digits` significant digits with the typographic minus sign U+2212, also before an
 * exponent; zero has no sign. Returns out. */
const char *view_number(char out[VIEW_NUMBER], int digits, double x);

#endif
