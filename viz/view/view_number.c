/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_number.h"

#include <stdio.h>
#include <string.h>

#define MINUS "\xe2\x88\x92" /* U+2212 */

const char *view_number(char out[VIEW_NUMBER], int digits, double x)
{
    char plain[VIEW_NUMBER];
    size_t n = 0;
    (void)snprintf(plain, sizeof plain, "%.*g", digits, x == 0.0 ? 0.0 : x);
    for (const char *at = plain; *at != '\0' && n + sizeof MINUS <= VIEW_NUMBER; at++) {
        if (*at == '-') {
            memcpy(out + n, MINUS, sizeof MINUS - 1);
            n += sizeof MINUS - 1;
        } else {
            out[n++] = *at;
        }
    }
    out[n] = '\0';
    return out;
}
