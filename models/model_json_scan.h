/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The part of JSON's lexical rules (RFC 8259) that cJSON does not enforce.
 */
#ifndef BASIN_MODEL_JSON_SCAN_H
#define BASIN_MODEL_JSON_SCAN_H

#include <stddef.h>

/* NULL when strings are closed and free of raw control characters and of NUL, numbers follow the
 * grammar, blanks are JSON's own, and nesting stays within MODEL_JSON_DEPTH. Otherwise a clause
 * that says what is wrong, with its offset in *at. The grammar between these tokens is left to the
 * parser. */
const char *model_json_scan(const char *text, size_t size, size_t *at);

#endif
