/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * HDF5 result files: the one place that knows the HDF5 library.
 *
 * A writer fills a temporary file beside the final one and puts it in place when it is complete;
 * the same calls give the same bytes (object times are not stored). Objects are named by paths
 * such as "energy/attention"; groups on the way are made as needed. Every dataset can carry its
 * unit, a description and the names of its dimensions as attributes "units", "description" and
 * "dims". Texts are UTF-8. A handle is used by one thread at a time, and, as the packaged library
 * is not thread-safe, handles of different threads must not be used at the same time either.
 * HDF5's own error printing is off during every call and as the caller left it afterwards.
 */
#ifndef BASIN_MODEL_HDF5_H
#define BASIN_MODEL_HDF5_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_HDF5_RANK = 8 }; /* largest number of dimensions */

/* What a dataset is about; any member may be NULL. */
typedef struct model_hdf5_meta {
    const char *units;
    const char *description;
    const char *const *dims; /* one name per dimension */
} model_hdf5_meta;

/* Shape of an array stored in C order; rank 0 is a single value. */
typedef struct model_hdf5_shape {
    size_t rank;
    size_t size[MODEL_HDF5_RANK];
} model_hdf5_shape;

/* Number of values of a shape; KERN_OVERFLOW when it does not fit size_t, and
 * KERN_INVALID_ARGUMENT for a rank above MODEL_HDF5_RANK. */
kern_status model_hdf5_count(const model_hdf5_shape *shape, size_t *count, kern_error *err);

/* ---- Writing ---- */

typedef struct model_hdf5_writer model_hdf5_writer;

/* Tells, before long work, whether a writer of `path` would start: KERN_NOT_FOUND when its folder
 * does not exist, KERN_IO when the user may not write there, KERN_INVALID_ARGUMENT when `path` is a
 * folder, a device, a pipe, a link to nothing, or a file that is neither empty nor HDF5, which is
 * not replaced because its name was probably a slip. Writes nothing. */
kern_status model_hdf5_check_path(const char *path, kern_error *err);

/* Starts a file that will be known as `path`; a symbolic link is followed, so its target is
 * replaced. The errors of model_hdf5_check_path. */
kern_status model_hdf5_writer_create(model_hdf5_writer **out, const char *path, kern_error *err);

/* Closes the file, forces it to the disk and gives it its final name. The handle stays allocated,
 * takes no more data, and is released with model_hdf5_writer_destroy. On failure nothing appears
 * under the final name. */
kern_status model_hdf5_writer_commit(model_hdf5_writer *writer, kern_error *err);

/* Releases the handle; an uncommitted file is removed. NULL is ignored. */
void model_hdf5_writer_destroy(model_hdf5_writer *writer);

/* Makes a group, with those above it. KERN_INVALID_ARGUMENT when the name is taken. */
kern_status model_hdf5_put_group(model_hdf5_writer *writer, const char *name, kern_error *err);

/* Put a dataset of the given shape; `meta` may be NULL. KERN_INVALID_ARGUMENT when the name is
 * empty or taken, KERN_BAD_INPUT for a text that is not UTF-8, KERN_IO when HDF5 refuses.
 * Booleans are stored as h5py does, as an enumeration of FALSE and TRUE. */
kern_status model_hdf5_put_doubles(model_hdf5_writer *writer, const char *name,
                                   const double *values, const model_hdf5_shape *shape,
                                   const model_hdf5_meta *meta, kern_error *err);
kern_status model_hdf5_put_int64s(model_hdf5_writer *writer, const char *name,
                                  const int64_t *values, const model_hdf5_shape *shape,
                                  const model_hdf5_meta *meta, kern_error *err);
kern_status model_hdf5_put_bytes(model_hdf5_writer *writer, const char *name, const uint8_t *values,
                                 const model_hdf5_shape *shape, const model_hdf5_meta *meta,
                                 kern_error *err);
kern_status model_hdf5_put_bools(model_hdf5_writer *writer, const char *name, const bool *values,
                                 const model_hdf5_shape *shape, const model_hdf5_meta *meta,
                                 kern_error *err);
kern_status model_hdf5_put_strings(model_hdf5_writer *writer, const char *name,
                                   const char *const *values, const model_hdf5_shape *shape,
                                   const model_hdf5_meta *meta, kern_error *err);

/* Give an attribute to an existing object; "/" is the file itself. A name that is taken is
 * KERN_INVALID_ARGUMENT. An attribute of numbers holds at most 8000, a limit of the file format;
 * texts may be of any length. */
kern_status model_hdf5_put_attr_string(model_hdf5_writer *writer, const char *object,
                                       const char *name, const char *value, kern_error *err);
kern_status model_hdf5_put_attr_doubles(model_hdf5_writer *writer, const char *object,
                                        const char *name, const double *values, size_t n,
                                        kern_error *err);
kern_status model_hdf5_put_attr_int64(model_hdf5_writer *writer, const char *object,
                                      const char *name, int64_t value, kern_error *err);

/* ---- Reading ---- */

typedef struct model_hdf5_reader model_hdf5_reader;

/* Opens a file. KERN_NOT_FOUND when it does not exist, KERN_BAD_INPUT when it is not HDF5. */
kern_status model_hdf5_reader_create(model_hdf5_reader **out, const char *path, kern_error *err);
void model_hdf5_reader_destroy(model_hdf5_reader *reader);

/* True when an object of that name exists. */
bool model_hdf5_has(const model_hdf5_reader *reader, const char *name);

/* Shape of a dataset. KERN_NOT_FOUND when it does not exist; KERN_BAD_INPUT when it has more than
 * MODEL_HDF5_RANK dimensions. */
kern_status model_hdf5_read_shape(const model_hdf5_reader *reader, const char *name,
                                  model_hdf5_shape *shape, kern_error *err);

/* Read a whole dataset of numbers into `values`, which has room for exactly `count` values;
 * numbers of another type are converted. KERN_BAD_INPUT when the dataset has another number of
 * values or does not hold numbers. */
kern_status model_hdf5_read_doubles(const model_hdf5_reader *reader, const char *name,
                                    double *values, size_t count, kern_error *err);
kern_status model_hdf5_read_int64s(const model_hdf5_reader *reader, const char *name,
                                   int64_t *values, size_t count, kern_error *err);

/* Reads a dataset of texts. *values is one block that holds the `count` pointers and the texts;
 * the caller releases it with free(). */
kern_status model_hdf5_read_strings(const model_hdf5_reader *reader, const char *name,
                                    char ***values, size_t count, kern_error *err);

/* Read an attribute of an object ("/" for the file). The text is released with free(). The
 * doubles must be exactly `count`. KERN_NOT_FOUND when there is none, KERN_BAD_INPUT when it has
 * another type or size. */
kern_status model_hdf5_read_attr_string(const model_hdf5_reader *reader, const char *object,
                                        const char *name, char **value, kern_error *err);
kern_status model_hdf5_read_attr_doubles(const model_hdf5_reader *reader, const char *object,
                                         const char *name, double *values, size_t count,
                                         kern_error *err);
kern_status model_hdf5_read_attr_int64(const model_hdf5_reader *reader, const char *object,
                                       const char *name, int64_t *value, kern_error *err);

#endif
