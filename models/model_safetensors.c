/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L

#include "models/model_safetensors.h"

#include "kernels/kern_size.h"
#include "models/model_safetensors_private.h"
#include "models/model_utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TENSOR_LENGTH = 8,       /* bytes of the header's length */
    TENSOR_SHAPE_TEXT = 256, /* room for a shape in a message */
    TENSOR_TYPES_TEXT = 128  /* room for the accepted types in a message */
};

/* ---- Types ------------------------------------------------------------------------------- */

typedef struct dtype_row {
    const char *word;
    size_t size;
} dtype_row;

static const dtype_row dtype_rows[MODEL_DTYPE_COUNT] = {
#define DTYPE_ROW(name, bytes) {#name, bytes},
    MODEL_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

const char *model_dtype_word(model_dtype dtype)
{
    return (unsigned)dtype < MODEL_DTYPE_COUNT ? dtype_rows[dtype].word : "unknown";
}

size_t model_dtype_size(model_dtype dtype)
{
    return (unsigned)dtype < MODEL_DTYPE_COUNT ? dtype_rows[dtype].size : 0;
}

static bool parse_dtype(model_dtype *out, const char *word)
{
    for (unsigned i = 0; i < MODEL_DTYPE_COUNT; i++) {
        if (strcmp(word, dtype_rows[i].word) == 0) {
            *out = (model_dtype)i;
            return true;
        }
    }
    return false;
}

bool model__tensor_size(size_t rank, const size_t *shape, model_dtype dtype, size_t *count,
                        size_t *bytes)
{
    /* A zero anywhere makes the product zero, but the others must not overflow before it. */
    size_t product = 1;
    bool empty = false;
    for (size_t i = 0; i < rank; i++) {
        empty = empty || shape[i] == 0;
        if (shape[i] != 0 && !kern_size_mul(product, shape[i], &product)) {
            return false;
        }
    }
    *count = empty ? 0 : product;
    return kern_size_mul(product, model_dtype_size(dtype), &product) &&
           kern_size_mul(*count, model_dtype_size(dtype), bytes);
}

/* ---- File -------------------------------------------------------------------------------- */

kern_status model__read_at(const model_safetensors *file, size_t offset, void *out, size_t size,
                           kern_error *err)
{
    unsigned char *to = out;
    while (size > 0) {
        const ssize_t n = pread(file->fd, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return kern_raise(err, KERN_IO, "cannot read '%s': %s", file->path, strerror(errno));
        }
        if (n == 0) {
            return kern_raise(err, KERN_IO, "'%s' became shorter while it was read", file->path);
        }
        to += n;
        offset += (size_t)n;
        size -= (size_t)n;
    }
    return KERN_OK;
}

static kern_status open_file(model_safetensors *file, kern_error *err)
{
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0) {
        const bool missing = errno == ENOENT;
        return kern_raise(err, missing ? KERN_NOT_FOUND : KERN_IO, "cannot open '%s': %s",
                          file->path, strerror(errno));
    }
    struct stat info;
    if (fstat(file->fd, &info) != 0) {
        return kern_raise(err, KERN_IO, "cannot inspect '%s': %s", file->path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' is not a regular file; a safetensors file is accepted", file->path);
    }
    file->size = (size_t)info.st_size;
    return KERN_OK;
}

/* Checks the length in front of the header. */
static kern_status read_length(model_safetensors *file, size_t *length, kern_error *err)
{
    if (file->size < TENSOR_LENGTH) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s' has %zu bytes, too few for a safetensors file",
                          file->path, file->size);
    }
    uint64_t stated;
    KERN_TRY(model__read_at(file, 0, &stated, sizeof stated, err));
    if (stated > MODEL_SAFETENSORS_HEADER_MAX || stated > file->size - TENSOR_LENGTH) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' is no safetensors file or is truncated: it states a header of %llu "
                          "bytes, and has %zu bytes behind the length (at most %zu are accepted)",
                          file->path, (unsigned long long)stated, file->size - TENSOR_LENGTH,
                          MODEL_SAFETENSORS_HEADER_MAX);
    }
    *length = (size_t)stated;
    file->data = TENSOR_LENGTH + *length;
    return KERN_OK;
}

static kern_status raise_no_memory(const model_safetensors *file, kern_error *err)
{
    return kern_raise(err, KERN_NO_MEMORY, "not enough memory to open '%s'", file->path);
}

static kern_status parse_header(model_safetensors *file, const char *text, size_t length,
                                kern_error *err)
{
    kern_error inner = {KERN_OK, ""};
    const kern_status status = model_json_parse(
        "the header", text, length, MODEL_SAFETENSORS_HEADER_MAX, &file->header, &inner);
    if (status != KERN_OK) {
        return kern_raise(err, status, "'%s' is no safetensors file: %.400s", file->path,
                          inner.text);
    }
    return KERN_OK;
}

static kern_status read_header(model_safetensors *file, kern_error *err)
{
    size_t length = 0;
    KERN_TRY(read_length(file, &length, err));
    char *text = malloc(length + 1);
    if (text == NULL) {
        return raise_no_memory(file, err);
    }
    kern_status status = model__read_at(file, TENSOR_LENGTH, text, length, err);
    if (status == KERN_OK) {
        status = parse_header(file, text, length, err);
    }
    free(text);
    return status;
}

/* ---- Entries ----------------------------------------------------------------------------- */

/* Refuses one tensor of the file, for `reason`. */
static kern_status raise_entry(const model_safetensors *file, const char *name, const char *reason,
                               kern_error *err)
{
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, name, strlen(name));
    return kern_raise(err, KERN_BAD_INPUT, "tensor '%s' of '%s': %.400s", shown, file->path,
                      reason);
}

static kern_status raise_dtype(const model_safetensors *file, const char *name, const char *word,
                               kern_error *err)
{
    char accepted[TENSOR_TYPES_TEXT] = "";
    size_t used = 0;
    for (unsigned i = 0; i < MODEL_DTYPE_COUNT && used < sizeof accepted; i++) {
        used += (size_t)snprintf(accepted + used, sizeof accepted - used, "%s%s", i > 0 ? ", " : "",
                                 dtype_rows[i].word);
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, word, strlen(word));
    char reason[TENSOR_TYPES_TEXT + 2 * MODEL_UTF8_QUOTE];
    (void)snprintf(reason, sizeof reason, "the type is \"%s\"; accepted are %s", shown, accepted);
    return raise_entry(file, name, reason, err);
}

/* The three members of one tensor's description, and their agreement with each other. */
static kern_status read_members(const model_safetensors *file, const cJSON *item,
                                model_safetensors_entry *entry, kern_error *err)
{
    kern_error inner = {KERN_OK, ""};
    const char *word = NULL;
    size_t span[2] = {0, 0};
    size_t ends = 0;
    kern_status status = model_json_get_string(item, "dtype", &word, &inner);
    if (status == KERN_OK && !parse_dtype(&entry->dtype, word)) {
        return raise_dtype(file, entry->name, word, err);
    }
    if (status == KERN_OK) {
        status = model_json_get_sizes(item, "shape", MODEL_JSON_WHOLE_MAX, MODEL_SAFETENSORS_RANK,
                                      entry->shape, &entry->rank, &inner);
    }
    if (status == KERN_OK) {
        status = model_json_get_sizes(item, "data_offsets", MODEL_JSON_WHOLE_MAX, 2, span, &ends,
                                      &inner);
    }
    if (status != KERN_OK) {
        return raise_entry(file, entry->name, inner.text, err);
    }
    if (ends != 2 || span[0] > span[1] || span[1] > file->size - file->data) {
        return raise_entry(file, entry->name,
                           "\"data_offsets\" is not a pair [begin, end] within the file's data",
                           err);
    }
    if (!model__tensor_size(entry->rank, entry->shape, entry->dtype, &entry->count,
                            &entry->bytes)) {
        return raise_entry(file, entry->name, "the product of its shape is too large", err);
    }
    if (entry->bytes != span[1] - span[0]) {
        return raise_entry(file, entry->name, "\"data_offsets\" do not fit its shape and type",
                           err);
    }
    entry->offset = file->data + span[0];
    return KERN_OK;
}

static kern_status read_entry(const model_safetensors *file, const cJSON *item,
                              model_safetensors_entry *entry, kern_error *err)
{
    *entry = (model_safetensors_entry){.name = item->string};
    if (!cJSON_IsObject(item)) {
        return raise_entry(file, entry->name, "its description is not an object", err);
    }
    KERN_TRY(read_members(file, item, entry, err));
    if (item->child->next->next->next != NULL) {
        return raise_entry(file, entry->name,
                           "it has a member besides \"dtype\", \"shape\" and \"data_offsets\"",
                           err);
    }
    return KERN_OK;
}

static kern_status read_metadata(model_safetensors *file, const cJSON *item, kern_error *err)
{
    bool good = cJSON_IsObject(item);
    for (const cJSON *pair = item->child; good && pair != NULL; pair = pair->next) {
        good = cJSON_IsString(pair);
    }
    if (!good) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the metadata of '%s' are not an object whose values are all strings",
                          file->path);
    }
    file->metadata = item;
    return KERN_OK;
}

static kern_status read_entries(model_safetensors *file, kern_error *err)
{
    size_t items = 0;
    for (const cJSON *item = file->header->child; item != NULL; item = item->next) {
        items++;
    }
    file->entries = calloc(items + 1, sizeof *file->entries);
    if (file->entries == NULL) {
        return raise_no_memory(file, err);
    }
    for (const cJSON *item = file->header->child; item != NULL; item = item->next) {
        if (strcmp(item->string, MODEL__METADATA) == 0) {
            KERN_TRY(read_metadata(file, item, err));
        } else {
            KERN_TRY(read_entry(file, item, &file->entries[file->count], err));
            file->count++;
        }
    }
    return KERN_OK;
}

static int compare_names(const void *a, const void *b)
{
    const model_safetensors_entry *left = a;
    const model_safetensors_entry *right = b;
    return strcmp(left->name, right->name);
}

/* By place; an empty tensor stands before the one that begins where it does. */
static int compare_places(const void *a, const void *b)
{
    const model_safetensors_entry *left = a;
    const model_safetensors_entry *right = b;
    const int begin = (left->offset > right->offset) - (left->offset < right->offset);
    return begin != 0 ? begin : (left->bytes > right->bytes) - (left->bytes < right->bytes);
}

/* The tensors, in the order of their places, must follow each other and end with the file. */
static kern_status check_places(model_safetensors *file, kern_error *err)
{
    qsort(file->entries, file->count, sizeof *file->entries, compare_places);
    size_t end = file->data;
    for (size_t i = 0; i < file->count; i++) {
        const model_safetensors_entry *entry = &file->entries[i];
        if (entry->offset != end) {
            return raise_entry(file, entry->name,
                               entry->offset < end ? "its data overlap those of another tensor"
                                                   : "its data leave unused bytes before them",
                               err);
        }
        end += entry->bytes;
    }
    if (end != file->size) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' has %zu bytes, and its tensors end at byte %zu", file->path,
                          file->size, end);
    }
    return KERN_OK;
}

kern_status model_safetensors_create(model_safetensors **out, const char *path, kern_error *err)
{
    *out = NULL;
    model_safetensors *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to open '%s'", path);
    }
    file->fd = -1;
    file->path = strdup(path);
    kern_status status = KERN_OK;
    if (file->path == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "not enough memory to open '%s'", path);
        goto failed;
    }
    status = open_file(file, err);
    if (status == KERN_OK) {
        status = read_header(file, err);
    }
    if (status == KERN_OK) {
        status = read_entries(file, err);
    }
    if (status == KERN_OK) {
        status = check_places(file, err);
    }
    if (status == KERN_OK) {
        qsort(file->entries, file->count, sizeof *file->entries, compare_names);
        *out = file;
        return KERN_OK;
    }
failed:
    model_safetensors_destroy(file);
    return status;
}

void model_safetensors_destroy(model_safetensors *file)
{
    if (file == NULL) {
        return;
    }
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    cJSON_Delete(file->header);
    free(file->entries);
    free(file->path);
    free(file);
}

/* ---- Looking up -------------------------------------------------------------------------- */

size_t model_safetensors_count(const model_safetensors *file)
{
    return file->count;
}

const model_safetensors_entry *model_safetensors_at(const model_safetensors *file, size_t i)
{
    return i < file->count ? &file->entries[i] : NULL;
}

const model_safetensors_entry *model_safetensors_find(const model_safetensors *file,
                                                      const char *name)
{
    const model_safetensors_entry key = {.name = name};
    return bsearch(&key, file->entries, file->count, sizeof *file->entries, compare_names);
}

/* "[2, 10]". */
static const char *format_shape(char out[TENSOR_SHAPE_TEXT], size_t rank, const size_t *shape)
{
    size_t used = (size_t)snprintf(out, TENSOR_SHAPE_TEXT, "[");
    for (size_t i = 0; i < rank && used < TENSOR_SHAPE_TEXT; i++) {
        used += (size_t)snprintf(out + used, TENSOR_SHAPE_TEXT - used, "%s%zu", i > 0 ? ", " : "",
                                 shape[i]);
    }
    if (used < TENSOR_SHAPE_TEXT) {
        (void)snprintf(out + used, TENSOR_SHAPE_TEXT - used, "]");
    }
    return out;
}

kern_status model_safetensors_require(const model_safetensors *file, const char *name, size_t rank,
                                      const size_t *shape, const model_safetensors_entry **entry,
                                      kern_error *err)
{
    const model_safetensors_entry *found = model_safetensors_find(file, name);
    *entry = NULL;
    if (found == NULL) {
        return kern_raise(err, KERN_NOT_FOUND, "'%s' has no tensor '%s'", file->path, name);
    }
    if (found->rank != rank ||
        (rank > 0 && memcmp(found->shape, shape, rank * sizeof *shape) != 0)) {
        char has[TENSOR_SHAPE_TEXT];
        char wanted[TENSOR_SHAPE_TEXT];
        return kern_raise(err, KERN_BAD_INPUT,
                          "tensor '%s' of '%s' has the shape %s; accepted is %s", name, file->path,
                          format_shape(has, found->rank, found->shape),
                          format_shape(wanted, rank, shape));
    }
    *entry = found;
    return KERN_OK;
}

const char *model_safetensors_metadata(const model_safetensors *file, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(file->metadata, key);
    return item == NULL ? NULL : item->valuestring;
}

bool model_safetensors_metadata_whole(const model_safetensors *file, const char *key, size_t most,
                                      size_t *value)
{
    const char *text = model_safetensors_metadata(file, key);
    char *end = NULL;
    *value = 0;
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    const uintmax_t whole = strtoumax(text, &end, 10);
    if (*end != '\0' || errno != 0 || whole > most) {
        return false;
    }
    *value = (size_t)whole;
    return true;
}

size_t model_safetensors_metadata_count(const model_safetensors *file)
{
    return file->metadata == NULL ? 0 : (size_t)cJSON_GetArraySize(file->metadata);
}

void model_safetensors_metadata_at(const model_safetensors *file, size_t i, const char **key,
                                   const char **value)
{
    const cJSON *item = file->metadata == NULL ? NULL : file->metadata->child;
    for (size_t at = 0; item != NULL && at < i; at++) {
        item = item->next;
    }
    *key = item == NULL ? NULL : item->string;
    *value = item == NULL ? NULL : item->valuestring;
}
