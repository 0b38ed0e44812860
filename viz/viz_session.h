/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Session: the JSON text carried by every exported figure, read back from the file.
 *
 * It is stored where each format keeps foreign text: PDF in the Keywords of the document
 * information, SVG in a <metadata> element, PNG in an uncompressed iTXt chunk, CSV in comment
 * lines. Here the text is opaque; what it means is the caller's business.
 */
#ifndef BASIN_VIZ_SESSION_H
#define BASIN_VIZ_SESSION_H

#include "kernels/kern_status.h"

#include <stddef.h>

/* Name of the PNG keyword and of the SVG element's id, and the word before the text in a PDF. */
#define VIZ_SESSION_KEY "basin-session"
/* Start of a CSV line that holds a line of the session. */
#define VIZ_SESSION_CSV "# session: "

/* Longest session accepted, in bytes. */
enum { VIZ_SESSION_MAX = 1 << 20 };

/* KERN_BAD_INPUT unless `text` is non-empty UTF-8 of at most VIZ_SESSION_MAX bytes without
 * control characters other than tab and newline. */
kern_status viz_session_check(const char *text, kern_error *err);

/* Reads the session from a PDF, SVG, PNG or CSV file that viz_export wrote; the format is told
 * from the content. The caller releases *text with free(). KERN_NOT_FOUND when the file does not
 * exist or carries no session, KERN_BAD_INPUT when it is damaged or of another kind. */
kern_status viz_session_read(char **text, const char *path, kern_error *err);

#endif
