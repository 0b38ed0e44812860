/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text: checking, escaping, and making foreign text visible. The only Pango code outside the
 * drawing files is behind this header.
 */
#ifndef BASIN_VIZ_TEXT_H
#define BASIN_VIZ_TEXT_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Longest markup of a figure, in bytes. */
enum { VIZ_TEXT_MAX = 2048 };

/* KERN_BAD_INPUT, quoting the text, unless `markup` is valid Pango markup in UTF-8 of at most
 * VIZ_TEXT_MAX bytes. */
kern_status viz_text_check(const char *markup, kern_error *err);

/* True when `text` is valid UTF-8 (no overlong forms, no surrogates). */
bool viz_text_is_utf8(const char *text);

/* Writes `text` to `out` with the characters special to markup and XML (& < > " ') replaced by
 * entities. Writes at most `size` bytes with the final zero, cutting between characters, and
 * returns the number of bytes before the zero. */
size_t viz_text_escape(char *out, size_t size, const char *text);

/* Plain text for a token of any bytes: space becomes ␣, newline ⏎, tab ⇥, any other
 * control character and any byte that is not UTF-8 ⟨hh⟩ in hexadecimal, the empty token ∅. More
 * than `max_characters` are cut with an ellipsis. The result is valid UTF-8, not escaped. Returns
 * as viz_text_escape. */
size_t viz_text_token(char *out, size_t size, const char *token, size_t max_characters);

/* Copies the character data of `markup` without its tags; returns as viz_text_escape. Text that
 * is not valid markup is copied unchanged. */
size_t viz_text_plain(char *out, size_t size, const char *markup);

/* Copies `markup` with spaces that no line may end at around "=", before "%", and between a small
 * letter and a digit, so that "λ = 240", "81 %" and "step 3" are not broken. Returns as
 * viz_text_escape. */
size_t viz_text_bind(char *out, size_t size, const char *markup);

/* Copies `markup` with <sub> and <sup> replaced by spans of explicit size and rise: Pango 1.50
 * takes their size from font tables in a way that depends on the resolution of the surface.
 * Returns as viz_text_escape; a text that does not fit is cut, so `size` should exceed four times
 * its length. */
size_t viz_text_scripts(char *out, size_t size, const char *markup);

#endif
