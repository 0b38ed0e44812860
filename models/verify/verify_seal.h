/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A seal on a file: 16 bytes at its end that tell whether the bytes before are those written.
 *
 * HDF5 trusts the addresses inside a file, and the packaged library (1.10) can be brought down by a
 * flipped bit; a file of witnesses may come from anywhere, so it is checked before HDF5 sees it.
 * HDF5 readers ignore what follows the end of their data, so a sealed file remains an HDF5 file.
 * The check finds accidents; it is no signature.
 *
 * The seal is "BASINWIT" and the 64-bit FNV-1a hash (G. Fowler, L. C. Noll, K.-P. Vo, 1991) of all
 * bytes before it, little-endian.
 */
#ifndef BASIN_VERIFY_SEAL_H
#define BASIN_VERIFY_SEAL_H

#include "kernels/kern_status.h"

/* Adds the seal, replacing the file atomically. Errors of model_file_read and
 * model_file_write_atomic. */
kern_status verify_seal_put(const char *path, kern_error *err);

/* KERN_BAD_INPUT, naming the file, unless it ends in a seal that fits it; errors of
 * model_file_read. */
kern_status verify_seal_check(const char *path, kern_error *err);

#endif
