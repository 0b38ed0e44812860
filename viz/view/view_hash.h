/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * SHA-256 of a file: the fingerprint by which a session knows its model again.
 */
#ifndef BASIN_VIEW_HASH_H
#define BASIN_VIEW_HASH_H

#include "kernels/kern_status.h"

enum { VIEW_HASH_TEXT = 65 }; /* 64 hexadecimal digits and a zero */

/* KERN_NOT_FOUND or KERN_IO when the file cannot be read; KERN_NO_MEMORY. `out` is then empty. */
kern_status view_hash_file(char out[VIEW_HASH_TEXT], const char *path, kern_error *err);

#endif
