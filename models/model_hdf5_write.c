/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L

#include "models/model_hdf5.h"

#include "kernels/kern_size.h"
#include "models/model_file.h"
#include "models/model_hdf5_library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTR_NUMBERS = 8000 };

struct model_hdf5_writer {
    char *path;      /* final name as the caller gave it, owned */
    char *target;    /* the same with links resolved, owned */
    char *temporary; /* owned; NULL once committed */
    hid_t file;      /* H5I_INVALID_HID once closed */
};

/* The enumeration that h5py reads as a boolean. */
static hid_t bool_type(void)
{
    const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    const int8_t values[2] = {0, 1};
    (void)H5Tenum_insert(type, "FALSE", &values[0]);
    (void)H5Tenum_insert(type, "TRUE", &values[1]);
    return type;
}

/* Whether the file of `size` bytes has the signature of HDF5 (file format specification, section
 * II.A): at its start or, behind a block of the user's, at 512, 1024, 2048 and so on. */
static bool has_signature(int fd, off_t size)
{
    static const char signature[8] = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    for (off_t at = 0; at < size; at = at == 0 ? 512 : at * 2) {
        char bytes[sizeof signature];
        if (pread(fd, bytes, sizeof bytes, at) == (ssize_t)sizeof bytes &&
            memcmp(bytes, signature, sizeof bytes) == 0) {
            return true;
        }
        if (at > size / 2) {
            break; /* at * 2 might not fit */
        }
    }
    return false;
}

/* A regular file may be replaced when it is empty or HDF5 itself: anything else is more likely a
 * slip of the user's than a result to renew. */
static kern_status check_replaceable(const char *path, off_t size, kern_error *err)
{
    if (size == 0) {
        return KERN_OK;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return kern_raise(err, KERN_IO, "cannot inspect %s before it is replaced: %s", path,
                          strerror(errno));
    }
    const bool is_hdf5 = has_signature(fd, size);
    (void)close(fd);
    if (!is_hdf5) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s exists and is not an HDF5 file; a new name or that of an HDF5 file "
                          "is accepted",
                          path);
    }
    return KERN_OK;
}

kern_status model_hdf5_check_path(const char *path, kern_error *err)
{
    struct stat info;
    KERN_TRY(model_file_check_target(path, err));
    if (stat(path, &info) != 0) {
        return KERN_OK;
    }
    if (!S_ISREG(info.st_mode)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is a device or a pipe; HDF5 can be written to a regular file only",
                          path);
    }
    return check_replaceable(path, info.st_size, err);
}

/* Finds a free name beside the final one, so that the later rename stays on one disk. */
static kern_status name_temporary(model_hdf5_writer *w, kern_error *err)
{
    KERN_TRY(model_hdf5_check_path(w->path, err));
    KERN_TRY(model_file_resolve(w->path, &w->target, err));
    const char *slash = strrchr(w->target, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - w->target) + 1;
    static const char tail[] = ".basin-XXXXXX";
    w->temporary = malloc(folder + sizeof tail);
    if (w->temporary == NULL) {
        return model_hdf5_no_memory(err);
    }
    memcpy(w->temporary, w->target, folder);
    memcpy(w->temporary + folder, tail, sizeof tail);
    const int fd = mkstemp(w->temporary);
    if (fd < 0) {
        const int code = errno;
        free(w->temporary);
        w->temporary = NULL;
        return kern_raise(err, code == ENOENT ? KERN_NOT_FOUND : KERN_IO, "cannot write %s: %s",
                          w->path, strerror(code));
    }
    /* mkstemp makes private files. HDF5 shall create it anew under that name, and only if it is
     * still free, so that the permissions follow the user's mask. */
    (void)close(fd);
    (void)unlink(w->temporary);
    return KERN_OK;
}

static kern_status open_file(model_hdf5_writer *w, kern_error *err)
{
    const hid_t fcpl = H5Pcreate(H5P_FILE_CREATE);
    (void)H5Pset_obj_track_times(fcpl, false);
    w->file = H5Fcreate(w->temporary, H5F_ACC_EXCL, fcpl, H5P_DEFAULT);
    (void)H5Pclose(fcpl);
    if (w->file < 0) {
        return kern_raise(err, KERN_IO, "HDF5 could not create a file for %s", w->path);
    }
    return KERN_OK;
}

kern_status model_hdf5_writer_create(model_hdf5_writer **out, const char *path, kern_error *err)
{
    *out = NULL;
    model_hdf5_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return model_hdf5_no_memory(err);
    }
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    w->file = H5I_INVALID_HID;
    w->path = strdup(path);
    kern_status status = w->path == NULL ? model_hdf5_no_memory(err) : name_temporary(w, err);
    if (status == KERN_OK) {
        status = open_file(w, err);
    }
    model_hdf5_quiet_end(q);
    if (status != KERN_OK) {
        model_hdf5_writer_destroy(w);
        return status;
    }
    *out = w;
    return KERN_OK;
}

/* Forces the finished file to the disk. */
static bool force(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    const bool ok = fsync(fd) == 0;
    return close(fd) == 0 && ok;
}

kern_status model_hdf5_writer_commit(model_hdf5_writer *writer, kern_error *err)
{
    if (writer->file < 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the HDF5 file %s is complete already",
                          writer->path);
    }
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    const bool flushed = H5Fflush(writer->file, H5F_SCOPE_GLOBAL) >= 0;
    const int code = flushed ? 0 : errno;
    const bool closed = H5Fclose(writer->file) >= 0;
    writer->file = H5I_INVALID_HID;
    const bool forced = flushed && closed && force(writer->temporary);
    const int reason = code != 0 ? code : errno;
    model_hdf5_quiet_end(q);
    if (!forced) {
        return kern_raise(err, KERN_IO, "writing %s to the disk failed%s%s", writer->path,
                          reason != 0 ? ": " : "", reason != 0 ? strerror(reason) : "");
    }
    if (rename(writer->temporary, writer->target) != 0) {
        return kern_raise(err, KERN_IO, "cannot write %s: %s", writer->path, strerror(errno));
    }
    free(writer->temporary);
    writer->temporary = NULL;
    return KERN_OK;
}

void model_hdf5_writer_destroy(model_hdf5_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->file >= 0) {
        const model_hdf5_quiet q = model_hdf5_quiet_begin();
        (void)H5Fclose(writer->file);
        model_hdf5_quiet_end(q);
    }
    if (writer->temporary != NULL) {
        (void)unlink(writer->temporary);
    }
    free(writer->temporary);
    free(writer->target);
    free(writer->path);
    free(writer);
}

static kern_status check_new(const model_hdf5_writer *w, const char *name, kern_error *err)
{
    KERN_TRY(model_hdf5_check_name(name, err));
    if (w->file < 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the HDF5 file %s is complete already",
                          w->path);
    }
    if (model_hdf5_exists(w->file, name)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the name \"%s\" is taken in %s", name,
                          w->path);
    }
    return KERN_OK;
}

/* Links are made with the groups above them and UTF-8 names. */
static hid_t link_list(void)
{
    const hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    (void)H5Pset_create_intermediate_group(lcpl, 1);
    (void)H5Pset_char_encoding(lcpl, H5T_CSET_UTF8);
    return lcpl;
}

kern_status model_hdf5_put_group(model_hdf5_writer *writer, const char *name, kern_error *err)
{
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    kern_status status = check_new(writer, name, err);
    if (status == KERN_OK) {
        const hid_t lcpl = link_list();
        const hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE);
        (void)H5Pset_obj_track_times(gcpl, false);
        const hid_t group = H5Gcreate2(writer->file, name, lcpl, gcpl, H5P_DEFAULT);
        if (group < 0 || H5Gclose(group) < 0) {
            status = model_hdf5_refused(writer->path, "make the group", name, err);
        }
        (void)H5Pclose(gcpl);
        (void)H5Pclose(lcpl);
    }
    model_hdf5_quiet_end(q);
    return status;
}

/* Writes an attribute of n values of `type`; n = 0 writes a single value without dimensions. */
static kern_status write_attr(const char *path, hid_t object, const char *name, hid_t type,
                              size_t n, const void *values, kern_error *err)
{
    const hsize_t size = n;
    const hid_t space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    const hid_t acpl = H5Pcreate(H5P_ATTRIBUTE_CREATE);
    (void)H5Pset_char_encoding(acpl, H5T_CSET_UTF8);
    const hid_t attr = H5Acreate2(object, name, type, space, acpl, H5P_DEFAULT);
    const bool ok = attr >= 0 && H5Awrite(attr, type, values) >= 0;
    if (attr >= 0) {
        (void)H5Aclose(attr);
    }
    (void)H5Pclose(acpl);
    (void)H5Sclose(space);
    return ok ? KERN_OK : model_hdf5_refused(path, "write the attribute", name, err);
}

static kern_status write_text_attr(const char *path, hid_t object, const char *name,
                                   const char *const *values, size_t n, kern_error *err)
{
    for (size_t i = 0; i < kern_size_max(n, 1); i++) {
        KERN_TRY(model_hdf5_check_text(values[i], name, err));
    }
    const hid_t type = model_hdf5_text_type();
    const kern_status status = write_attr(path, object, name, type, n, values, err);
    (void)H5Tclose(type);
    return status;
}

static kern_status write_meta(const char *path, hid_t object, const model_hdf5_meta *meta,
                              size_t rank, kern_error *err)
{
    if (meta == NULL) {
        return KERN_OK;
    }
    if (meta->units != NULL) {
        KERN_TRY(write_text_attr(path, object, "units", &meta->units, 0, err));
    }
    if (meta->description != NULL) {
        KERN_TRY(write_text_attr(path, object, "description", &meta->description, 0, err));
    }
    if (meta->dims != NULL && rank > 0) {
        KERN_TRY(write_text_attr(path, object, "dims", meta->dims, rank, err));
    }
    return KERN_OK;
}

/* Creates a dataset and writes its values and attributes. */
static kern_status write_dataset(model_hdf5_writer *w, const char *name, const hid_t types[2],
                                 const void *values, const model_hdf5_shape *shape,
                                 const model_hdf5_meta *meta, kern_error *err)
{
    size_t count;
    hsize_t size[MODEL_HDF5_RANK] = {0};
    KERN_TRY(check_new(w, name, err));
    KERN_TRY(model_hdf5_count(shape, &count, err));
    for (size_t i = 0; i < shape->rank; i++) {
        size[i] = shape->size[i];
    }
    const hid_t space =
        shape->rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple((int)shape->rank, size, NULL);
    const hid_t lcpl = link_list();
    const hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_obj_track_times(dcpl, false);
    const hid_t set = H5Dcreate2(w->file, name, types[0], space, lcpl, dcpl, H5P_DEFAULT);
    kern_status status = KERN_OK;
    if (set < 0 ||
        (count > 0 && H5Dwrite(set, types[1], H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)) {
        status = model_hdf5_refused(w->path, "write the dataset", name, err);
    }
    if (status == KERN_OK) {
        status = write_meta(w->path, set, meta, shape->rank, err);
    }
    if (set >= 0 && H5Dclose(set) < 0 && status == KERN_OK) {
        status = model_hdf5_refused(w->path, "finish the dataset", name, err);
    }
    (void)H5Pclose(dcpl);
    (void)H5Pclose(lcpl);
    (void)H5Sclose(space);
    return status;
}

typedef enum kind { KIND_DOUBLE, KIND_INT64, KIND_BYTE, KIND_BOOL, KIND_TEXT } kind;

static kern_status put(model_hdf5_writer *w, const char *name, kind what, const void *values,
                       const model_hdf5_shape *shape, const model_hdf5_meta *meta, kern_error *err)
{
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    /* Types in the file and in memory; those made here are closed again. */
    hid_t types[2] = {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE};
    if (what == KIND_INT64) {
        types[0] = H5T_STD_I64LE;
        types[1] = H5T_NATIVE_INT64;
    } else if (what == KIND_BYTE) {
        types[0] = H5T_STD_U8LE;
        types[1] = H5T_NATIVE_UINT8;
    } else if (what == KIND_BOOL || what == KIND_TEXT) {
        types[0] = types[1] = what == KIND_BOOL ? bool_type() : model_hdf5_text_type();
    }
    const kern_status status = write_dataset(w, name, types, values, shape, meta, err);
    if (types[0] == types[1]) {
        (void)H5Tclose(types[0]);
    }
    model_hdf5_quiet_end(q);
    return status;
}

kern_status model_hdf5_put_doubles(model_hdf5_writer *writer, const char *name,
                                   const double *values, const model_hdf5_shape *shape,
                                   const model_hdf5_meta *meta, kern_error *err)
{
    return put(writer, name, KIND_DOUBLE, values, shape, meta, err);
}

kern_status model_hdf5_put_int64s(model_hdf5_writer *writer, const char *name,
                                  const int64_t *values, const model_hdf5_shape *shape,
                                  const model_hdf5_meta *meta, kern_error *err)
{
    return put(writer, name, KIND_INT64, values, shape, meta, err);
}

kern_status model_hdf5_put_bytes(model_hdf5_writer *writer, const char *name, const uint8_t *values,
                                 const model_hdf5_shape *shape, const model_hdf5_meta *meta,
                                 kern_error *err)
{
    return put(writer, name, KIND_BYTE, values, shape, meta, err);
}

kern_status model_hdf5_put_bools(model_hdf5_writer *writer, const char *name, const bool *values,
                                 const model_hdf5_shape *shape, const model_hdf5_meta *meta,
                                 kern_error *err)
{
    return put(writer, name, KIND_BOOL, values, shape, meta, err);
}

kern_status model_hdf5_put_strings(model_hdf5_writer *writer, const char *name,
                                   const char *const *values, const model_hdf5_shape *shape,
                                   const model_hdf5_meta *meta, kern_error *err)
{
    size_t count;
    KERN_TRY(model_hdf5_count(shape, &count, err));
    for (size_t i = 0; i < count; i++) {
        KERN_TRY(model_hdf5_check_text(values[i], name, err));
    }
    return put(writer, name, KIND_TEXT, values, shape, meta, err);
}

/* Opens an object that shall get an attribute of a new name. */
static kern_status open_for_attr(const model_hdf5_writer *w, const char *object, const char *name,
                                 hid_t *id, kern_error *err)
{
    KERN_TRY(model_hdf5_check_name(name, err));
    if (w->file < 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the HDF5 file %s is complete already",
                          w->path);
    }
    if (strcmp(object, "/") != 0 && !model_hdf5_exists(w->file, object)) {
        return kern_raise(err, KERN_NOT_FOUND, "%s has no object \"%s\"", w->path, object);
    }
    *id = H5Oopen(w->file, object, H5P_DEFAULT);
    if (*id < 0) {
        return model_hdf5_refused(w->path, "open", object, err);
    }
    if (H5Aexists(*id, name) != 0) {
        (void)H5Oclose(*id);
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the attribute \"%s\" of \"%s\" exists already in %s", name, object,
                          w->path);
    }
    return KERN_OK;
}

static kern_status put_attr(model_hdf5_writer *w, const char *object, const char *name, kind what,
                            const void *values, size_t n, kern_error *err)
{
    hid_t id = H5I_INVALID_HID;
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    kern_status status = open_for_attr(w, object, name, &id, err);
    if (status == KERN_OK) {
        status = what == KIND_TEXT
                     ? write_text_attr(w->path, id, name, values, n, err)
                     : write_attr(w->path, id, name,
                                  what == KIND_INT64 ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, n,
                                  values, err);
        (void)H5Oclose(id);
    }
    model_hdf5_quiet_end(q);
    return status;
}

kern_status model_hdf5_put_attr_string(model_hdf5_writer *writer, const char *object,
                                       const char *name, const char *value, kern_error *err)
{
    return put_attr(writer, object, name, KIND_TEXT, &value, 0, err);
}

kern_status model_hdf5_put_attr_doubles(model_hdf5_writer *writer, const char *object,
                                        const char *name, const double *values, size_t n,
                                        kern_error *err)
{
    if (n == 0 || n > ATTR_NUMBERS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the attribute \"%s\" of %zu numbers is outside 1 to %d numbers", name, n,
                          ATTR_NUMBERS);
    }
    return put_attr(writer, object, name, KIND_DOUBLE, values, n, err);
}

kern_status model_hdf5_put_attr_int64(model_hdf5_writer *writer, const char *object,
                                      const char *name, int64_t value, kern_error *err)
{
    return put_attr(writer, object, name, KIND_INT64, &value, 0, err);
}
