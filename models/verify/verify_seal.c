/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_seal.h"

#include "models/model_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MARK "BASINWIT"

enum { MARK_SIZE = 8, HASH_SIZE = 8, SEAL_SIZE = MARK_SIZE + HASH_SIZE };

/* Largest file that is read; one with the most records of a large model is far below. */
static const size_t size_limit = (size_t)1 << 32;

static void make_seal(const char *data, size_t size, unsigned char seal[SEAL_SIZE])
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3U;
    }
    memcpy(seal, MARK, MARK_SIZE);
    for (size_t i = 0; i < HASH_SIZE; i++) {
        seal[MARK_SIZE + i] = (unsigned char)(hash >> (8 * i) & 0xffU);
    }
}

kern_status verify_seal_put(const char *path, kern_error *err)
{
    char *data = NULL;
    size_t size = 0;
    unsigned char seal[SEAL_SIZE];
    KERN_TRY(model_file_read(path, size_limit, &data, &size, err));
    make_seal(data, size, seal);
    const model_file_chunk chunks[] = {{.data = data, .size = size},
                                       {.data = seal, .size = sizeof seal}};
    const kern_status status = model_file_write_atomic(path, chunks, 2, err);
    free(data);
    return status;
}

kern_status verify_seal_check(const char *path, kern_error *err)
{
    char *data = NULL;
    size_t size = 0;
    unsigned char seal[SEAL_SIZE];
    KERN_TRY(model_file_read(path, size_limit, &data, &size, err));
    kern_status status = KERN_OK;
    const char *end = size >= SEAL_SIZE ? data + (size - SEAL_SIZE) : NULL;
    if (end == NULL || memcmp(end, MARK, MARK_SIZE) != 0) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "%s is no file of witnesses, as basin verify --out writes them, or it "
                            "has been cut",
                            path);
    } else {
        make_seal(data, size - SEAL_SIZE, seal);
        if (memcmp(end, seal, SEAL_SIZE) != 0) {
            status = kern_raise(err, KERN_BAD_INPUT,
                                "%s is damaged: its content does not fit its checksum", path);
        }
    }
    free(data);
    return status;
}
