/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_weights.h"

#include "kernels/kern_rng.h"
#include "models/model_family.h"
#include "models/model_json.h"
#include "models/model_utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WEIGHTS_METADATA = 3,   /* entries of every file written here */
    WEIGHTS_TEXT = 1 << 20, /* longest configuration accepted in metadata */
    WEIGHTS_NAME = MODEL_PARAM_NAME + 8
};

static const char prefix[] = "param/";
static const char own_format[] = "basin-model";

/* Puts the file's name before a sentence about its content, which is then the file's fault. */
static kern_status raise_in_file(kern_error *err, kern_status status, const char *path,
                                 const kern_error *inner)
{
    const bool system = status == KERN_IO || status == KERN_NO_MEMORY;
    return kern_raise(err, system ? status : KERN_BAD_INPUT, "'%s': %s", path, inner->text);
}

/* ---- Hash -------------------------------------------------------------------------------- */

void model_weights_hash(const model *m, char out[MODEL_WEIGHTS_HASH])
{
    uint64_t hash = 1;
    for (size_t i = 0; i < m->params.count; i++) {
        const model_param *p = &m->params.items[i];
        const size_t n = model_param_size(p);
        for (size_t at = 0; at < n; at += 2) {
            const size_t index = p->offset + at;
            const float two[] = {(float)model_value_get(m, index),
                                 at + 1 < n ? (float)model_value_get(m, index + 1) : 0.0F};
            uint64_t word = 0;
            memcpy(&word, two, sizeof word);
            hash = kern_rng_mix(hash ^ word) + n * sizeof(float);
        }
    }
    (void)snprintf(out, MODEL_WEIGHTS_HASH, "%016" PRIx64, hash);
}

/* Damage that leaves every value finite shows here only. Files from elsewhere may use the key for
 * something else. */
static kern_status check_hash(const model *m, const model_safetensors *file, const char *path,
                              kern_error *err)
{
    const char *format = model_safetensors_metadata(file, "format");
    const char *mark = model_safetensors_metadata(file, "weights");
    char hash[MODEL_WEIGHTS_HASH];
    if (format == NULL || strcmp(format, own_format) != 0 || mark == NULL) {
        return KERN_OK;
    }
    model_weights_hash(m, hash);
    if (strcmp(hash, mark) != 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' is damaged: its weights differ from their checksum", path);
    }
    return KERN_OK;
}

/* ---- Writing ----------------------------------------------------------------------------- */

static void describe_tensor(const model *m, const model_param *p, model_safetensors_tensor *out)
{
    const size_t real = m->backend->real_size;
    *out = (model_safetensors_tensor){
        .name = p->name,
        .dtype = real == sizeof(float) ? MODEL_DTYPE_F32 : MODEL_DTYPE_F64,
        .rank = p->rank,
        .data = (const unsigned char *)m->values + p->offset * real,
    };
    out->shape[0] = p->rank == 2 ? p->rows : p->cols;
    out->shape[1] = p->rank == 2 ? p->cols : 0;
}

static kern_status write_tensors(const model *m, const char *path,
                                 const model_safetensors_pair *pairs, size_t n_pairs,
                                 kern_error *err)
{
    model_safetensors_tensor *tensors = calloc(m->params.count, sizeof *tensors);
    if (tensors == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to write '%s'", path);
    }
    for (size_t i = 0; i < m->params.count; i++) {
        describe_tensor(m, &m->params.items[i], &tensors[i]);
    }
    const kern_status status =
        model_safetensors_write(path, tensors, m->params.count, pairs, n_pairs, err);
    free(tensors);
    return status;
}

kern_status model_weights_write(const model *m, const char *path,
                                const model_safetensors_pair *extra, size_t n_extra,
                                kern_error *err)
{
    char *config = NULL;
    KERN_TRY(model_config_to_json(&m->config, &config, err));
    kern_status status;
    model_safetensors_pair *pairs = calloc(WEIGHTS_METADATA + n_extra, sizeof *pairs);
    if (pairs == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory to write '%s'", path);
        goto done;
    }
    pairs[0] = (model_safetensors_pair){"format", own_format};
    pairs[1] = (model_safetensors_pair){"family", model_config_family_name(&m->config)};
    pairs[2] = (model_safetensors_pair){"config", config};
    for (size_t i = 0; i < n_extra; i++) {
        pairs[WEIGHTS_METADATA + i] = extra[i];
    }
    status = write_tensors(m, path, pairs, WEIGHTS_METADATA + n_extra, err);
done:
    free(pairs);
    free(config);
    return status;
}

/* ---- Configuration in the metadata --------------------------------------------------------- */

/* A file may name the family as the command line does, or by the word shared by its variants. */
static kern_status check_family(const model_safetensors *file, const char *path,
                                const model_config *expected, kern_error *err)
{
    const char *word = model_safetensors_metadata(file, "family");
    const char *name = model_config_family_name(expected);
    if (word == NULL || strcmp(word, name) == 0 ||
        strcmp(word, model_family_get(expected->family)->word) == 0) {
        return KERN_OK;
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, word, strlen(word));
    return kern_raise(err, KERN_BAD_INPUT, "'%s' holds a model of family %s; expected is %s", path,
                      shown, name);
}

kern_status model_weights_config(model_config *config, const model_safetensors *file,
                                 const char *path, kern_error *err)
{
    const char *word = model_safetensors_metadata(file, "family");
    const char *text = model_safetensors_metadata(file, "config");
    if (word == NULL || text == NULL) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' does not describe its model; metadata with \"family\" and "
                          "\"config\" are expected",
                          path);
    }
    kern_error inner = {0};
    model_config read = {0};
    kern_status status = model_config_set_family(&read, word, &inner);
    if (status == KERN_OK) {
        status = model_config_from_json(config, read.family, text, &inner);
    }
    if (status != KERN_OK) {
        return raise_in_file(err, status, path, &inner);
    }
    return check_family(file, path, config, err);
}

/* Exact, where cJSON's own comparison forgives a rounding error. */
static bool same_value(const cJSON *a, const cJSON *b)
{
    if (cJSON_IsNumber(a) && cJSON_IsNumber(b)) {
        return a->valuedouble >= b->valuedouble && a->valuedouble <= b->valuedouble;
    }
    return cJSON_Compare(a, b, 1) != 0;
}

/* First key of `a` whose value differs in `b`, or NULL; both came from model_config_to_json. */
static kern_status find_difference(const char *a, const char *b, char key[MODEL_UTF8_QUOTE],
                                   kern_error *err)
{
    cJSON *left = NULL;
    cJSON *right = NULL;
    key[0] = '\0';
    kern_status status =
        model_json_parse("the configuration", a, strlen(a), WEIGHTS_TEXT, &left, err);
    if (status == KERN_OK) {
        status = model_json_parse("the configuration", b, strlen(b), WEIGHTS_TEXT, &right, err);
    }
    for (const cJSON *item = status == KERN_OK ? left->child : NULL; item != NULL;
         item = item->next) {
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(right, item->string);
        if (!same_value(item, other)) {
            model_utf8_quote(key, item->string, strlen(item->string));
            break;
        }
    }
    cJSON_Delete(left);
    cJSON_Delete(right);
    return status;
}

static kern_status compare_configs(const char *path, const model_config *held,
                                   const model_config *expected, kern_error *err)
{
    char *a = NULL;
    char *b = NULL;
    char key[MODEL_UTF8_QUOTE];
    kern_status status = model_config_to_json(held, &a, err);
    if (status == KERN_OK) {
        status = model_config_to_json(expected, &b, err);
    }
    if (status == KERN_OK && strcmp(a, b) != 0) {
        status = find_difference(a, b, key, err);
        if (status == KERN_OK) {
            status = kern_raise(err, KERN_BAD_INPUT,
                                "'%s' holds a model whose \"%s\" differs from the configuration's; "
                                "all of it must agree",
                                path, key);
        }
    }
    free(a);
    free(b);
    return status;
}

kern_status model_weights_check_config(const model_safetensors *file, const char *path,
                                       const model_config *expected, kern_error *err)
{
    model_config held;
    KERN_TRY(check_family(file, path, expected, err));
    KERN_TRY(model_weights_config(&held, file, path, err));
    return compare_configs(path, &held, expected, err);
}

/* ---- Reading ----------------------------------------------------------------------------- */

static bool has_prefix(const model_safetensors *file)
{
    for (size_t i = 0; i < model_safetensors_count(file); i++) {
        if (strncmp(model_safetensors_at(file, i)->name, prefix, strlen(prefix)) == 0) {
            return true;
        }
    }
    return false;
}

/* Every weight of the file must belong to the model: a forgotten head would go unnoticed. */
static kern_status check_names(const model *m, const model_safetensors *file, const char *path,
                               size_t skip, kern_error *err)
{
    for (size_t i = 0; i < model_safetensors_count(file); i++) {
        const char *name = model_safetensors_at(file, i)->name;
        const bool weight = skip == 0 || strncmp(name, prefix, skip) == 0;
        if (weight && model_params_find(&m->params, name + skip) == NULL) {
            char shown[MODEL_UTF8_QUOTE];
            model_utf8_quote(shown, name, strlen(name));
            return kern_raise(err, KERN_BAD_INPUT,
                              "'%s' has the tensor '%s', which a model of family %s with this "
                              "configuration does not have",
                              path, shown, model_config_family_name(&m->config));
        }
    }
    return KERN_OK;
}

static kern_status find_tensor(const model_safetensors *file, const model_param *p,
                               const char *name, const model_safetensors_entry **entry,
                               kern_error *err)
{
    const size_t shape[] = {p->rank == 2 ? p->rows : p->cols, p->cols};
    const model_safetensors_entry *found = model_safetensors_find(file, name);
    if (found != NULL && found->rank == 0 && p->rank == 1 && p->cols == 1) {
        *entry = found;
        return KERN_OK;
    }
    return model_safetensors_require(file, name, p->rank, shape, entry, err);
}

static kern_status read_tensor(model *m, const model_safetensors *file, const model_param *p,
                               const char *start, kern_error *err)
{
    char name[WEIGHTS_NAME];
    const model_safetensors_entry *entry = NULL;
    (void)snprintf(name, sizeof name, "%s%s", start, p->name);
    KERN_TRY(find_tensor(file, p, name, &entry, err));
    if (m->backend->real_size == sizeof(float)) {
        float *values = (float *)m->values + p->offset;
        return model_safetensors_read_f32(file, entry, values, entry->count, err);
    }
    double *values = (double *)m->values + p->offset;
    return model_safetensors_read_f64(file, entry, values, entry->count, err);
}

kern_status model_weights_read(model *m, const model_safetensors *file, const char *path,
                               kern_error *err)
{
    KERN_TRY(check_family(file, path, &m->config, err));
    const bool prefixed = has_prefix(file);
    KERN_TRY(check_names(m, file, path, prefixed ? strlen(prefix) : 0, err));
    kern_error inner = {0};
    kern_status status = KERN_OK;
    for (size_t i = 0; i < m->params.count && status == KERN_OK; i++) {
        status = read_tensor(m, file, &m->params.items[i], prefixed ? prefix : "", &inner);
    }
    if (status == KERN_NOT_FOUND) {
        status = KERN_BAD_INPUT; /* the file is there, a tensor is not */
    }
    if (status != KERN_OK) {
        return kern_raise(err, status, "%s", inner.text);
    }
    status = model_check_finite(m, &inner);
    if (status != KERN_OK) {
        return raise_in_file(err, status, path, &inner);
    }
    return check_hash(m, file, path, err);
}

kern_status model_weights_read_file(model *m, const char *path, kern_error *err)
{
    model_safetensors *file = NULL;
    KERN_TRY(model_safetensors_create(&file, path, err));
    const kern_status status = model_weights_read(m, file, path, err);
    model_safetensors_destroy(file);
    return status;
}
