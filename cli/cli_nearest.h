/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The names that a misspelt one may stand for.
 */
#ifndef BASIN_CLI_NEAREST_H
#define BASIN_CLI_NEAREST_H

#include <stddef.h>

enum { CLI_NEAREST_WORD = 64 }; /* words of this length or more are taken as unlike any other */

/* Number of single-character insertions, deletions, replacements and swaps of neighbours that turn
 * one word into the other (optimal string alignment; Damerau 1964). '_' and '-' are the same
 * character. CLI_NEAREST_WORD when a word is too long. */
size_t cli_nearest_distance(const char *a, const char *b);

/* Writes to `best` at most `room` of the `n` names that are near `word`, the nearest first: at most
 * one edit in three characters away, or beginning with it. Returns how many. */
size_t cli_nearest_find(const char *word, const char *const *names, size_t n, const char **best,
                        size_t room);

#endif
