/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * UTF-8, strictly (RFC 3629, Yergeau 2003): no overlong forms, no surrogates, nothing above
 * U+10FFFF. Used to cut texts into characters and to show foreign bytes in sentences.
 */
#ifndef BASIN_MODEL_UTF8_H
#define BASIN_MODEL_UTF8_H

#include "kernels/kern_status.h"

#include <stddef.h>
#include <stdint.h>

enum { MODEL_UTF8_MAX = 4, MODEL_UTF8_QUOTE = 64 };

/* Reads the code point that begins at text[0], of which `size` bytes may be read. Returns its
 * length in bytes, 1 … 4, or 0 when the bytes are not UTF-8 or `size` is 0. */
size_t model_utf8_decode(const char *text, size_t size, uint32_t *point);

/* Writes the UTF-8 form of `point` (a valid code point) and a NUL; returns its length in bytes. */
size_t model_utf8_encode(char out[MODEL_UTF8_MAX + 1], uint32_t point);

/* KERN_BAD_INPUT, naming the first offending byte, its offset and its line, unless the text is
 * UTF-8 without NUL bytes. */
kern_status model_utf8_require(const char *text, size_t size, kern_error *err);

/* Copies text to `out` for use inside a sentence: bytes that are control characters or not UTF-8
 * appear as \xNN, \n, \t or \r; a text that does not fit ends in "...". */
void model_utf8_quote(char out[MODEL_UTF8_QUOTE], const char *text, size_t size);

#endif
