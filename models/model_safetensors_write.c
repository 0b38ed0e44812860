/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_size.h"
#include "models/model_file.h"
#include "models/model_safetensors_private.h"
#include "models/model_utf8.h"

#include <stdlib.h>
#include <string.h>

enum { TENSOR_ALIGN = 8 };

/* A tensor of the file to come. */
typedef struct tensor_plan {
    const model_safetensors_tensor *tensor;
    size_t bytes;
} tensor_plan;

/* ---- Checking ---------------------------------------------------------------------------- */

/* Refuses a tensor, for `reason`. */
static kern_status raise_tensor(kern_status status, const char *name, const char *reason,
                                kern_error *err)
{
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, name, strlen(name));
    return kern_raise(err, status, "cannot write tensor '%s': %s", shown, reason);
}

/* Printable, so that what is written can be opened again. */
static bool printable(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            return false;
        }
    }
    return model_utf8_require(text, strlen(text), NULL) == KERN_OK;
}

static kern_status check_tensor(const model_safetensors_tensor *tensor, size_t *bytes,
                                kern_error *err)
{
    if (tensor->name == NULL) {
        return raise_tensor(KERN_INVALID_ARGUMENT, "", "it has no name", err);
    }
    if (tensor->name[0] == '\0' || strcmp(tensor->name, MODEL__METADATA) == 0 ||
        !printable(tensor->name)) {
        return raise_tensor(KERN_INVALID_ARGUMENT, tensor->name,
                            "accepted names are printable UTF-8 other than __metadata__", err);
    }
    if (model_dtype_size(tensor->dtype) == 0 || tensor->rank > MODEL_SAFETENSORS_RANK) {
        return raise_tensor(KERN_INVALID_ARGUMENT, tensor->name,
                            "its type is unknown or it has more than 8 dimensions", err);
    }
    size_t count;
    if (!model__tensor_size(tensor->rank, tensor->shape, tensor->dtype, &count, bytes)) {
        return raise_tensor(KERN_OVERFLOW, tensor->name, "the product of its shape is too large",
                            err);
    }
    if (tensor->data == NULL && *bytes > 0) {
        return raise_tensor(KERN_INVALID_ARGUMENT, tensor->name, "it has no data", err);
    }
    return KERN_OK;
}

/* Wide types first, so that no tensor needs a gap in front of it; then by name. */
static int compare_plans(const void *a, const void *b)
{
    const model_safetensors_tensor *left = ((const tensor_plan *)a)->tensor;
    const model_safetensors_tensor *right = ((const tensor_plan *)b)->tensor;
    const size_t left_size = model_dtype_size(left->dtype);
    const size_t right_size = model_dtype_size(right->dtype);
    const int width = (left_size < right_size) - (left_size > right_size);
    return width != 0 ? width : strcmp(left->name, right->name);
}

static int compare_names(const void *a, const void *b)
{
    const tensor_plan *left = a;
    const tensor_plan *right = b;
    return strcmp(left->tensor->name, right->tensor->name);
}

/* Fills the plan in the order of the file. */
static kern_status plan_tensors(tensor_plan *plan, const model_safetensors_tensor *tensors,
                                size_t count, kern_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        plan[i].tensor = &tensors[i];
        KERN_TRY(check_tensor(&tensors[i], &plan[i].bytes, err));
        if (!kern_size_add(total, plan[i].bytes, &total) || total > MODEL_JSON_WHOLE_MAX) {
            return raise_tensor(KERN_OVERFLOW, tensors[i].name, "the file would be too large", err);
        }
    }
    qsort(plan, count, sizeof *plan, compare_names);
    for (size_t i = 1; i < count; i++) {
        if (compare_names(&plan[i - 1], &plan[i]) == 0) {
            return raise_tensor(KERN_INVALID_ARGUMENT, plan[i].tensor->name,
                                "the name is used twice", err);
        }
    }
    qsort(plan, count, sizeof *plan, compare_plans);
    return KERN_OK;
}

/* ---- Header ------------------------------------------------------------------------------ */

/* Gives `child` to `object`, or releases it. */
static kern_status adopt(cJSON *object, const char *key, cJSON *child, kern_error *err)
{
    if (child != NULL && cJSON_AddItemToObject(object, key, child)) {
        return KERN_OK;
    }
    cJSON_Delete(child);
    return kern_raise(err, KERN_NO_MEMORY, "not enough memory to write the entry \"%s\"", key);
}

static kern_status add_metadata(cJSON *header, const model_safetensors_pair *pairs, size_t count,
                                kern_error *err)
{
    if (count == 0) {
        return KERN_OK;
    }
    cJSON *object = cJSON_CreateObject();
    KERN_TRY(adopt(header, MODEL__METADATA, object, err));
    for (size_t i = 0; i < count; i++) {
        if (!printable(pairs[i].key) || model_json_has(object, pairs[i].key)) {
            char shown[MODEL_UTF8_QUOTE];
            model_utf8_quote(shown, pairs[i].key, strlen(pairs[i].key));
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "cannot write the metadata key \"%s\"; accepted are distinct keys of "
                              "printable UTF-8",
                              shown);
        }
        KERN_TRY(model_json_add_string(object, pairs[i].key, pairs[i].value, err));
    }
    return KERN_OK;
}

static kern_status add_tensor(cJSON *header, const tensor_plan *plan, size_t begin, kern_error *err)
{
    const model_safetensors_tensor *tensor = plan->tensor;
    const size_t span[2] = {begin, begin + plan->bytes};
    cJSON *object = cJSON_CreateObject();
    KERN_TRY(adopt(header, tensor->name, object, err));
    KERN_TRY(model_json_add_string(object, "dtype", model_dtype_word(tensor->dtype), err));
    KERN_TRY(model_json_add_sizes(object, "shape", tensor->shape, tensor->rank, err));
    return model_json_add_sizes(object, "data_offsets", span, 2, err);
}

static kern_status fill_header(cJSON *header, const tensor_plan *plan, size_t count,
                               const model_safetensors_pair *metadata, size_t metadata_count,
                               kern_error *err)
{
    KERN_TRY(add_metadata(header, metadata, metadata_count, err));
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        KERN_TRY(add_tensor(header, &plan[i], begin, err));
        begin += plan[i].bytes;
    }
    return KERN_OK;
}

/* The header's text; the caller frees it. */
static kern_status make_header(const tensor_plan *plan, size_t count,
                               const model_safetensors_pair *metadata, size_t metadata_count,
                               char **text, kern_error *err)
{
    *text = NULL;
    cJSON *header = cJSON_CreateObject();
    if (header == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to write a safetensors header");
    }
    kern_status status = fill_header(header, plan, count, metadata, metadata_count, err);
    if (status == KERN_OK) {
        status = model_json_print(header, false, text, err);
    }
    cJSON_Delete(header);
    return status;
}

/* ---- Writing ----------------------------------------------------------------------------- */

static kern_status append_all(model_file_writer *writer, const char *header,
                              const tensor_plan *plan, size_t count, kern_error *err)
{
    static const char blanks[TENSOR_ALIGN + 1] = "        ";
    const size_t length = strlen(header);
    const uint64_t padded = kern_size_round_up(length, TENSOR_ALIGN);
    KERN_TRY(model_file_writer_append(writer, &padded, sizeof padded, err));
    KERN_TRY(model_file_writer_append(writer, header, length, err));
    KERN_TRY(model_file_writer_append(writer, blanks, (size_t)padded - length, err));
    for (size_t i = 0; i < count; i++) {
        KERN_TRY(model_file_writer_append(writer, plan[i].tensor->data, plan[i].bytes, err));
    }
    return KERN_OK;
}

static kern_status write_file(const char *path, const char *header, const tensor_plan *plan,
                              size_t count, kern_error *err)
{
    if (strlen(header) > MODEL_SAFETENSORS_HEADER_MAX - TENSOR_ALIGN) {
        return kern_raise(err, KERN_OVERFLOW,
                          "the header of '%s' would have %zu bytes; accepted are at most %zu", path,
                          strlen(header), MODEL_SAFETENSORS_HEADER_MAX - TENSOR_ALIGN);
    }
    model_file_writer *writer = NULL;
    kern_status status = model_file_writer_begin(&writer, path, err);
    if (status == KERN_OK) {
        status = append_all(writer, header, plan, count, err);
    }
    if (status == KERN_OK) {
        status = model_file_writer_commit(&writer, err);
    }
    model_file_writer_abort(&writer);
    return status;
}

kern_status model_safetensors_write(const char *path, const model_safetensors_tensor *tensors,
                                    size_t count, const model_safetensors_pair *metadata,
                                    size_t metadata_count, kern_error *err)
{
    char *header = NULL;
    tensor_plan *plan = calloc(count + 1, sizeof *plan);
    if (plan == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to write '%s'", path);
    }
    kern_status status = plan_tensors(plan, tensors, count, err);
    if (status == KERN_OK) {
        status = make_header(plan, count, metadata, metadata_count, &header, err);
    }
    if (status == KERN_OK) {
        status = write_file(path, header, plan, count, err);
    }
    free(header);
    free(plan);
    return status;
}
