/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading one entry of a PDF's document information. Covers the files that cairo writes: a
 * cross-reference table in plain text and an unencrypted information dictionary (ISO 32000-1,
 * 7.5.4 and 7.9.2).
 */
#ifndef BASIN_VIZ_SESSION_PDF_H
#define BASIN_VIZ_SESSION_PDF_H

#include "viz/viz_bytes.h"

/* Appends the session held by the Keywords of the PDF in `data` (`size` bytes, read from `path`)
 * as UTF-8; appends nothing when there is none. KERN_BAD_INPUT when the structure is damaged. */
kern_status viz_session_pdf_read(viz_bytes *out, const char *data, size_t size, const char *path,
                                 kern_error *err);

#endif
