/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_hash.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

static kern_status hash_stream(char out[VIEW_HASH_TEXT], FILE *file, const char *path,
                               kern_error *err)
{
    unsigned char *block = malloc(BLOCK);
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    kern_status status = KERN_OK;
    if (block == NULL || sum == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for reading %s", path);
    }
    while (status == KERN_OK) {
        const size_t n = fread(block, 1, BLOCK, file);
        g_checksum_update(sum, block, (gssize)n);
        if (n < BLOCK) {
            break;
        }
    }
    if (status == KERN_OK && ferror(file) != 0) {
        status = kern_raise(err, KERN_IO, "cannot read %s", path);
    }
    if (status == KERN_OK) {
        (void)snprintf(out, VIEW_HASH_TEXT, "%s", g_checksum_get_string(sum));
    }
    if (sum != NULL) {
        g_checksum_free(sum);
    }
    free(block);
    return status;
}

kern_status view_hash_file(char out[VIEW_HASH_TEXT], const char *path, kern_error *err)
{
    FILE *file = fopen(path, "rb");
    const int code = errno;
    out[0] = '\0';
    if (file == NULL) {
        return kern_raise(err, code == ENOENT ? KERN_NOT_FOUND : KERN_IO, "cannot read %s: %s",
                          path, strerror(code));
    }
    const kern_status status = hash_stream(out, file, path, err);
    (void)fclose(file);
    return status;
}
