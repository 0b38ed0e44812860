/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_hdf5_library.h"

#include "kernels/kern_size.h"
#include "models/model_hdf5.h"
#include "models/model_utf8.h"

#include <errno.h>
#include <string.h>

model_hdf5_quiet model_hdf5_quiet_begin(void)
{
    model_hdf5_quiet q = {NULL, NULL};
    /* The library's clean-up at exit would flush a file whose disk is full, and crash. */
    (void)H5dont_atexit();
    (void)H5Eget_auto2(H5E_DEFAULT, &q.print, &q.data);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    errno = 0; /* what it is later belongs to the call that follows */
    return q;
}

void model_hdf5_quiet_end(model_hdf5_quiet q)
{
    (void)H5Eset_auto2(H5E_DEFAULT, q.print, q.data);
}

kern_status model_hdf5_no_memory(kern_error *err)
{
    return kern_raise(err, KERN_NO_MEMORY, "memory for an HDF5 file was refused by the system");
}

/* Path of the file a handle belongs to goes into every sentence. */
kern_status model_hdf5_refused(const char *path, const char *deed, const char *name,
                               kern_error *err)
{
    const int code = errno;
    return kern_raise(err, KERN_IO, "HDF5 could not %s \"%s\" in %s%s%s", deed, name, path,
                      code != 0 ? ": " : "", code != 0 ? strerror(code) : "");
}

kern_status model_hdf5_check_text(const char *text, const char *what, kern_error *err)
{
    kern_error detail = {0};
    if (text == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a text for %s is missing", what);
    }
    if (model_utf8_require(text, strlen(text), &detail) != KERN_OK) {
        return kern_raise(err, KERN_BAD_INPUT, "a text for %s is not UTF-8: %.200s", what,
                          detail.text);
    }
    return KERN_OK;
}

kern_status model_hdf5_check_name(const char *name, kern_error *err)
{
    KERN_TRY(model_hdf5_check_text(name, "the name of an HDF5 object", err));
    const size_t n = strlen(name);
    if (n == 0 || n > MODEL_HDF5_NAME || name[n - 1] == '/') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the HDF5 object name \"%.60s\" is empty, ends in a slash or is longer "
                          "than %d bytes",
                          name, MODEL_HDF5_NAME);
    }
    return KERN_OK;
}

/* True when every link of the path exists; H5Lexists itself fails when one before the last does
 * not. */
bool model_hdf5_exists(hid_t file, const char *name)
{
    char prefix[MODEL_HDF5_NAME + 1];
    const size_t n = strlen(name);
    if (n > MODEL_HDF5_NAME) {
        return false;
    }
    for (size_t i = 1; i <= n; i++) {
        if ((name[i] == '/' || name[i] == '\0') && name[i - 1] != '/') {
            memcpy(prefix, name, i);
            prefix[i] = '\0';
            if (H5Lexists(file, prefix, H5P_DEFAULT) <= 0) {
                return false;
            }
        }
    }
    return n > 0;
}

kern_status model_hdf5_count(const model_hdf5_shape *shape, size_t *count, kern_error *err)
{
    *count = 1;
    if (shape->rank > MODEL_HDF5_RANK) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "an array of %zu dimensions was given; at most %d are accepted",
                          shape->rank, MODEL_HDF5_RANK);
    }
    for (size_t i = 0; i < shape->rank; i++) {
        if (!kern_size_mul(*count, shape->size[i], count)) {
            return kern_raise(err, KERN_OVERFLOW, "the size of an HDF5 dataset does not fit");
        }
    }
    return KERN_OK;
}

hid_t model_hdf5_text_type(void)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, H5T_VARIABLE);
    (void)H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}
