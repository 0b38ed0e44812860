/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L

#include "models/model_hdf5.h"

#include "kernels/kern_size.h"
#include "models/model_hdf5_library.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct model_hdf5_reader {
    char *path; /* for sentences, owned */
    hid_t file;
};

static kern_status open_file(model_hdf5_reader *r, kern_error *err)
{
    if (access(r->path, F_OK) != 0) {
        return kern_raise(err, KERN_NOT_FOUND, "%s does not exist", r->path);
    }
    if (access(r->path, R_OK) != 0) {
        return kern_raise(err, KERN_IO, "%s cannot be read", r->path);
    }
    r->file = H5Fopen(r->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (r->file < 0) {
        return kern_raise(err, KERN_BAD_INPUT, "%s is not a complete HDF5 file", r->path);
    }
    return KERN_OK;
}

kern_status model_hdf5_reader_create(model_hdf5_reader **out, const char *path, kern_error *err)
{
    *out = NULL;
    model_hdf5_reader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return model_hdf5_no_memory(err);
    }
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    r->file = H5I_INVALID_HID;
    r->path = strdup(path);
    const kern_status status = r->path == NULL ? model_hdf5_no_memory(err) : open_file(r, err);
    model_hdf5_quiet_end(q);
    if (status != KERN_OK) {
        model_hdf5_reader_destroy(r);
        return status;
    }
    *out = r;
    return KERN_OK;
}

void model_hdf5_reader_destroy(model_hdf5_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (reader->file >= 0) {
        const model_hdf5_quiet q = model_hdf5_quiet_begin();
        (void)H5Fclose(reader->file);
        model_hdf5_quiet_end(q);
    }
    free(reader->path);
    free(reader);
}

bool model_hdf5_has(const model_hdf5_reader *reader, const char *name)
{
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    const bool found = model_hdf5_exists(reader->file, name);
    model_hdf5_quiet_end(q);
    return found;
}

/* A dataset or an attribute opened for reading: both have a type and a space. */
typedef struct source {
    const char *path, *name; /* for sentences */
    hid_t id, type, space;
    bool is_attr;
} source;

static void close_source(source *s)
{
    if (s->space >= 0) {
        (void)H5Sclose(s->space);
    }
    if (s->type >= 0) {
        (void)H5Tclose(s->type);
    }
    if (s->id >= 0) {
        (void)(s->is_attr ? H5Aclose(s->id) : H5Dclose(s->id));
    }
}

static kern_status open_dataset(source *s, const model_hdf5_reader *r, const char *name,
                                kern_error *err)
{
    *s = (source){r->path, name, H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID, false};
    if (!model_hdf5_exists(r->file, name)) {
        return kern_raise(err, KERN_NOT_FOUND, "%s has no dataset \"%s\"", r->path, name);
    }
    s->id = H5Dopen2(r->file, name, H5P_DEFAULT);
    s->type = s->id < 0 ? s->id : H5Dget_type(s->id);
    s->space = s->id < 0 ? s->id : H5Dget_space(s->id);
    if (s->type < 0 || s->space < 0) {
        close_source(s);
        return kern_raise(err, KERN_BAD_INPUT, "\"%s\" in %s is not a readable dataset", name,
                          r->path);
    }
    return KERN_OK;
}

static kern_status open_attr(source *s, const model_hdf5_reader *r, const char *object,
                             const char *name, kern_error *err)
{
    *s = (source){r->path, name, H5I_INVALID_HID, H5I_INVALID_HID, H5I_INVALID_HID, true};
    if (strcmp(object, "/") != 0 && !model_hdf5_exists(r->file, object)) {
        return kern_raise(err, KERN_NOT_FOUND, "%s has no object \"%s\"", r->path, object);
    }
    if (H5Aexists_by_name(r->file, object, name, H5P_DEFAULT) <= 0) {
        return kern_raise(err, KERN_NOT_FOUND, "\"%s\" in %s has no attribute \"%s\"", object,
                          r->path, name);
    }
    s->id = H5Aopen_by_name(r->file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    s->type = s->id < 0 ? s->id : H5Aget_type(s->id);
    s->space = s->id < 0 ? s->id : H5Aget_space(s->id);
    if (s->type < 0 || s->space < 0) {
        close_source(s);
        return kern_raise(err, KERN_BAD_INPUT, "the attribute \"%s\" of \"%s\" in %s is damaged",
                          name, object, r->path);
    }
    return KERN_OK;
}

static kern_status check_count(const source *s, size_t count, kern_error *err)
{
    const hssize_t n = H5Sget_simple_extent_npoints(s->space);
    if (n < 0 || (hsize_t)n != count) {
        return kern_raise(err, KERN_BAD_INPUT, "\"%s\" in %s has %lld values where %zu are needed",
                          s->name, s->path, (long long)n, count);
    }
    return KERN_OK;
}

static herr_t read_raw(const source *s, hid_t type, void *values)
{
    return s->is_attr ? H5Aread(s->id, type, values)
                      : H5Dread(s->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

static kern_status read_numbers(const source *s, hid_t type, void *values, size_t count,
                                kern_error *err)
{
    KERN_TRY(check_count(s, count, err));
    const H5T_class_t class = H5Tget_class(s->type);
    if (class != H5T_FLOAT && class != H5T_INTEGER && class != H5T_ENUM) {
        return kern_raise(err, KERN_BAD_INPUT, "\"%s\" in %s does not hold numbers", s->name,
                          s->path);
    }
    if (class == H5T_ENUM) {
        /* HDF5 converts an enumeration to integers but not to floating point. */
        if (H5Tequal(type, H5T_NATIVE_INT64) <= 0) {
            return kern_raise(err, KERN_BAD_INPUT, "\"%s\" in %s holds true and false, not numbers",
                              s->name, s->path);
        }
    }
    if (count > 0 && read_raw(s, type, values) < 0) {
        return model_hdf5_refused(s->path, "read", s->name, err);
    }
    return KERN_OK;
}

/* Copies `count` texts, each of at most `width` bytes, into one block behind their pointers. */
static kern_status pack_texts(char ***out, char *const *texts, size_t count, size_t width,
                              kern_error *err)
{
    size_t bytes;
    if (!kern_size_mul(kern_size_max(count, 1), sizeof(char *), &bytes)) {
        return model_hdf5_no_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t length = texts[i] == NULL ? 0 : strnlen(texts[i], width);
        if (!kern_size_add(bytes, length + 1, &bytes)) {
            return model_hdf5_no_memory(err);
        }
    }
    char **block = malloc(bytes);
    if (block == NULL) {
        return model_hdf5_no_memory(err);
    }
    char *at = (char *)(block + kern_size_max(count, 1));
    for (size_t i = 0; i < count; i++) {
        const size_t length = texts[i] == NULL ? 0 : strnlen(texts[i], width);
        block[i] = at;
        if (length > 0) {
            memcpy(at, texts[i], length);
        }
        at[length] = '\0';
        at += length + 1;
    }
    *out = block;
    return KERN_OK;
}

/* Texts of variable length: HDF5 allocates them and takes them back. */
static kern_status read_variable(const source *s, char ***out, size_t count, kern_error *err)
{
    char **texts = calloc(kern_size_max(count, 1), sizeof *texts);
    if (texts == NULL) {
        return model_hdf5_no_memory(err);
    }
    const hid_t type = H5Tcopy(s->type);
    kern_status status = KERN_OK;
    if (count > 0 && read_raw(s, type, texts) < 0) {
        status = model_hdf5_refused(s->path, "read", s->name, err);
    } else {
        status = pack_texts(out, texts, count, SIZE_MAX, err);
        (void)H5Dvlen_reclaim(type, s->space, H5P_DEFAULT, texts);
    }
    (void)H5Tclose(type);
    free(texts);
    return status;
}

/* Texts of one fixed width, padded with zeros. */
static kern_status read_fixed(const source *s, char ***out, size_t count, kern_error *err)
{
    const size_t width = H5Tget_size(s->type);
    size_t bytes;
    if (width == 0 || !kern_size_mul(kern_size_max(count, 1), width, &bytes)) {
        return model_hdf5_no_memory(err);
    }
    char *raw = calloc(bytes, 1);
    char **view = calloc(kern_size_max(count, 1), sizeof *view);
    kern_status status = KERN_OK;
    if (raw == NULL || view == NULL) {
        status = model_hdf5_no_memory(err);
    } else if (count > 0 && read_raw(s, s->type, raw) < 0) {
        status = model_hdf5_refused(s->path, "read", s->name, err);
    } else {
        for (size_t i = 0; i < count; i++) {
            view[i] = raw + i * width;
        }
        status = pack_texts(out, view, count, width, err);
    }
    free(view);
    free(raw);
    return status;
}

static kern_status read_texts(const source *s, char ***out, size_t count, kern_error *err)
{
    KERN_TRY(check_count(s, count, err));
    if (H5Tget_class(s->type) != H5T_STRING) {
        return kern_raise(err, KERN_BAD_INPUT, "\"%s\" in %s does not hold texts", s->name,
                          s->path);
    }
    KERN_TRY(H5Tis_variable_str(s->type) > 0 ? read_variable(s, out, count, err)
                                             : read_fixed(s, out, count, err));
    for (size_t i = 0; *out != NULL && i < count; i++) {
        const kern_status status = model_hdf5_check_text((*out)[i], s->name, err);
        if (status != KERN_OK) {
            free(*out);
            *out = NULL;
            return status;
        }
    }
    return KERN_OK;
}

static kern_status get_shape(const source *s, model_hdf5_shape *shape, kern_error *err)
{
    const int rank = H5Sget_simple_extent_ndims(s->space);
    hsize_t size[MODEL_HDF5_RANK] = {0};
    if (rank < 0 || rank > MODEL_HDF5_RANK) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "\"%s\" in %s has %d dimensions; at most %d are accepted", s->name,
                          s->path, rank, MODEL_HDF5_RANK);
    }
    if (rank > 0 && H5Sget_simple_extent_dims(s->space, size, NULL) < 0) {
        return model_hdf5_refused(s->path, "read the shape of", s->name, err);
    }
    *shape = (model_hdf5_shape){.rank = (size_t)rank};
    for (int i = 0; i < rank; i++) {
        shape->size[i] = (size_t)size[i];
    }
    return KERN_OK;
}

kern_status model_hdf5_read_shape(const model_hdf5_reader *reader, const char *name,
                                  model_hdf5_shape *shape, kern_error *err)
{
    source s;
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    kern_status status = open_dataset(&s, reader, name, err);
    if (status == KERN_OK) {
        status = get_shape(&s, shape, err);
        close_source(&s);
    }
    model_hdf5_quiet_end(q);
    return status;
}

static kern_status dataset_numbers(const model_hdf5_reader *r, const char *name, bool integers,
                                   void *values, size_t count, kern_error *err)
{
    source s;
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    kern_status status = open_dataset(&s, r, name, err);
    if (status == KERN_OK) {
        status =
            read_numbers(&s, integers ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, values, count, err);
        close_source(&s);
    }
    model_hdf5_quiet_end(q);
    return status;
}

kern_status model_hdf5_read_doubles(const model_hdf5_reader *reader, const char *name,
                                    double *values, size_t count, kern_error *err)
{
    return dataset_numbers(reader, name, false, values, count, err);
}

kern_status model_hdf5_read_int64s(const model_hdf5_reader *reader, const char *name,
                                   int64_t *values, size_t count, kern_error *err)
{
    return dataset_numbers(reader, name, true, values, count, err);
}

kern_status model_hdf5_read_strings(const model_hdf5_reader *reader, const char *name,
                                    char ***values, size_t count, kern_error *err)
{
    source s;
    *values = NULL;
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    kern_status status = open_dataset(&s, reader, name, err);
    if (status == KERN_OK) {
        status = read_texts(&s, values, count, err);
        close_source(&s);
    }
    model_hdf5_quiet_end(q);
    return status;
}

static kern_status attr_numbers(const model_hdf5_reader *r, const char *object, const char *name,
                                bool integers, void *values, size_t count, kern_error *err)
{
    source s;
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    kern_status status = open_attr(&s, r, object, name, err);
    if (status == KERN_OK) {
        status =
            read_numbers(&s, integers ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, values, count, err);
        close_source(&s);
    }
    model_hdf5_quiet_end(q);
    return status;
}

kern_status model_hdf5_read_attr_doubles(const model_hdf5_reader *reader, const char *object,
                                         const char *name, double *values, size_t count,
                                         kern_error *err)
{
    return attr_numbers(reader, object, name, false, values, count, err);
}

kern_status model_hdf5_read_attr_int64(const model_hdf5_reader *reader, const char *object,
                                       const char *name, int64_t *value, kern_error *err)
{
    return attr_numbers(reader, object, name, true, value, 1, err);
}

kern_status model_hdf5_read_attr_string(const model_hdf5_reader *reader, const char *object,
                                        const char *name, char **value, kern_error *err)
{
    source s;
    char **texts = NULL;
    *value = NULL;
    const model_hdf5_quiet q = model_hdf5_quiet_begin();
    kern_status status = open_attr(&s, reader, object, name, err);
    if (status == KERN_OK) {
        status = read_texts(&s, &texts, 1, err);
        close_source(&s);
    }
    model_hdf5_quiet_end(q);
    if (status == KERN_OK && texts != NULL) {
        *value = strdup(texts[0]);
        status = *value == NULL ? model_hdf5_no_memory(err) : KERN_OK;
    }
    free(texts);
    return status;
}
