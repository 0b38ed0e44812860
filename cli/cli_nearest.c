/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_nearest.h"

#include "kernels/kern_size.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool same(char a, char b)
{
    return (a == '_' ? '-' : a) == (b == '_' ? '-' : b);
}

size_t cli_nearest_distance(const char *a, const char *b)
{
    size_t row[3][CLI_NEAREST_WORD]; /* rows i − 2, i − 1 and i, by i modulo 3 */
    const size_t n = strlen(a);
    const size_t m = strlen(b);
    if (n >= CLI_NEAREST_WORD || m >= CLI_NEAREST_WORD) {
        return CLI_NEAREST_WORD;
    }
    for (size_t j = 0; j <= m; j++) {
        row[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3];
        const size_t *last = row[(i + 2) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t change = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
            now[j] = kern_size_min(change, kern_size_min(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                now[j] = kern_size_min(now[j], row[(i + 1) % 3][j - 2] + 1);
            }
        }
    }
    return row[n % 3][m];
}

/* How far `name` is from `word`; SIZE_MAX when they are unlike. */
static size_t likeness(const char *word, const char *name)
{
    const size_t length = strlen(word);
    const size_t distance = cli_nearest_distance(word, name);
    if (distance <= kern_size_max(1, length / 3)) {
        return distance;
    }
    return length >= 2 && strncmp(word, name, length) == 0 ? length : SIZE_MAX;
}

size_t cli_nearest_find(const char *word, const char *const *names, size_t n, const char **best,
                        size_t room)
{
    size_t count = 0;
    size_t floor = 0;
    /* One pass per degree of likeness keeps the order of the names among equals. */
    for (; floor < CLI_NEAREST_WORD && count < room; floor++) {
        for (size_t i = 0; i < n && count < room; i++) {
            if (likeness(word, names[i]) == floor) {
                best[count++] = names[i];
            }
        }
    }
    return count;
}
