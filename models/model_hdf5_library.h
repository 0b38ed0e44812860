/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the writing and the reading half of model_hdf5 share. The files model_hdf5_*.c are the only
 * ones that see the HDF5 library.
 */
#ifndef BASIN_MODEL_HDF5_LIBRARY_H
#define BASIN_MODEL_HDF5_LIBRARY_H

#include "kernels/kern_status.h"

#include <hdf5.h>
#include <stdbool.h>

enum { MODEL_HDF5_NAME = 512 }; /* longest object name, bytes */

/* HDF5's automatic error printing, saved while it is off. */
typedef struct model_hdf5_quiet {
    H5E_auto2_t print;
    void *data;
} model_hdf5_quiet;

/* Printing off, and errno cleared. */
model_hdf5_quiet model_hdf5_quiet_begin(void);
void model_hdf5_quiet_end(model_hdf5_quiet quiet);

/* KERN_NO_MEMORY; and KERN_IO "HDF5 could not `deed` `name` in `path`", with the
 * system's reason when errno tells one since model_hdf5_quiet_begin. */
kern_status model_hdf5_no_memory(kern_error *err);
kern_status model_hdf5_refused(const char *path, const char *deed, const char *name,
                               kern_error *err);

/* KERN_INVALID_ARGUMENT when `text` is NULL, KERN_BAD_INPUT when it is not UTF-8. */
kern_status model_hdf5_check_text(const char *text, const char *what, kern_error *err);

/* KERN_INVALID_ARGUMENT unless the name can stand for an object or an attribute. */
kern_status model_hdf5_check_name(const char *name, kern_error *err);

/* True when every link of the path exists. */
bool model_hdf5_exists(hid_t file, const char *name);

/* Type of UTF-8 texts of any length; the caller closes it with H5Tclose. */
hid_t model_hdf5_text_type(void);

#endif
