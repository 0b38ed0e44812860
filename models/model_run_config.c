/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _POSIX_C_SOURCE 200809L
#include "models/model_run_config.h"

#include "models/model_training_json.h"
#include "models/model_utf8.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char run_format[] = "basin-run";

/* ---- Checking ---------------------------------------------------------------------------- */

static kern_status check_data_kind(const char *kind, kern_error *err)
{
    static const char *const kinds[] = {"listops", "chars", "tokens"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kind, kinds[i]) == 0) {
            return KERN_OK;
        }
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, kind, strlen(kind));
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "the kind of data is \"%s\"; accepted are listops, chars, tokens", shown);
}

kern_status model_run_config_check(const model_recipe *recipe, kern_error *err)
{
    KERN_TRY(model_config_check(recipe->config, err));
    KERN_TRY(model_training_check(recipe->training, err));
    KERN_TRY(check_data_kind(recipe->data_kind, err));
    if (recipe->tokenizer->vocab_size == 0 ||
        recipe->tokenizer->vocab_size > recipe->config->vocab_size) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the tokenizer has %zu tokens; accepted are 1 to the %zu of the model",
                          recipe->tokenizer->vocab_size, recipe->config->vocab_size);
    }
    return KERN_OK;
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* Gives `child` to `object`, or releases it. */
static kern_status adopt(cJSON *object, const char *key, cJSON *child, kern_error *err)
{
    if (child != NULL && cJSON_AddItemToObject(object, key, child)) {
        return KERN_OK;
    }
    cJSON_Delete(child);
    return kern_raise(err, KERN_NO_MEMORY, "no memory to write the key \"%s\"", key);
}

/* A copy of a flat object whose numbers print with every bit; cJSON by itself rounds them. */
static kern_status copy_exactly(cJSON **out, const cJSON *object, kern_error *err)
{
    cJSON *copy = cJSON_CreateObject();
    kern_status status = copy != NULL ? KERN_OK : KERN_NO_MEMORY;
    const cJSON *item = object->child;
    while (item != NULL && status == KERN_OK) {
        status = cJSON_IsNumber(item)
                     ? model_json_add_real(copy, item->string, item->valuedouble, err)
                     : adopt(copy, item->string, cJSON_Duplicate(item, 1), err);
        item = item->next;
    }
    if (status != KERN_OK) {
        cJSON_Delete(copy);
        copy = NULL;
        status = kern_raise(err, KERN_NO_MEMORY, "no memory to copy a JSON object");
    }
    *out = copy;
    return status;
}

static kern_status add_model(cJSON *object, const model_config *config, kern_error *err)
{
    char *text = NULL;
    cJSON *copy = NULL;
    KERN_TRY(model_config_to_json(config, &text, err));
    cJSON *parsed = cJSON_Parse(text);
    free(text);
    kern_status status = KERN_OK;
    if (parsed == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory to write the key \"model\"");
    } else {
        status = copy_exactly(&copy, parsed, err);
    }
    cJSON_Delete(parsed);
    return status == KERN_OK ? adopt(object, "model", copy, err) : status;
}

static kern_status add_tokenizer(cJSON *object, const model_tokenizer *t, kern_error *err)
{
    cJSON *child = cJSON_CreateObject();
    KERN_TRY(adopt(object, "tokenizer", child, err));
    KERN_TRY(model_json_add_string(child, "kind", model_token_kind_word(t->kind), err));
    if (t->kind == MODEL_TOKEN_RAW) {
        return model_json_add_size(child, "vocab_size", t->vocab_size, err);
    }
    cJSON *vocab = cJSON_CreateStringArray((const char *const *)t->words, (int)t->vocab_size);
    return adopt(child, "vocab", vocab, err);
}

static kern_status add_data(cJSON *object, const model_recipe *recipe, kern_error *err)
{
    cJSON *child = cJSON_CreateObject();
    KERN_TRY(adopt(object, "data", child, err));
    KERN_TRY(model_json_add_string(child, "kind", recipe->data_kind, err));
    return model_json_add_string(child, "path", recipe->data_path, err);
}

static kern_status fill(cJSON *object, const model_recipe *recipe, kern_error *err)
{
    KERN_TRY(model_json_add_string(object, "format", run_format, err));
    KERN_TRY(model_json_add_size(object, "version", MODEL_RUN_VERSION, err));
    KERN_TRY(
        model_json_add_string(object, "family", model_config_family_name(recipe->config), err));
    KERN_TRY(add_model(object, recipe->config, err));
    KERN_TRY(add_tokenizer(object, recipe->tokenizer, err));
    KERN_TRY(add_data(object, recipe, err));
    cJSON *training = cJSON_CreateObject();
    KERN_TRY(adopt(object, "training", training, err));
    return model_training_add_json(training, recipe->training, err);
}

kern_status model_run_config_to_text(const model_recipe *recipe, char **text, kern_error *err)
{
    *text = NULL;
    cJSON *object = cJSON_CreateObject();
    if (object == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to write a run's configuration");
    }
    kern_status status = fill(object, recipe, err);
    if (status == KERN_OK) {
        status = model_json_print(object, true, text, err);
    }
    cJSON_Delete(object);
    return status;
}

/* ---- Reading ----------------------------------------------------------------------------- */

static kern_status read_header(const cJSON *object, kern_error *err)
{
    static const char *const keys[] = {"format",    "version", "family",   "model",
                                       "tokenizer", "data",    "training", NULL};
    const char *format = NULL;
    size_t version = 0;
    KERN_TRY(model_json_get_string(object, "format", &format, err));
    if (strcmp(format, run_format) != 0) {
        char shown[MODEL_UTF8_QUOTE];
        model_utf8_quote(shown, format, strlen(format));
        return kern_raise(err, KERN_BAD_INPUT, "\"format\" is \"%s\"; accepted is \"%s\"", shown,
                          run_format);
    }
    KERN_TRY(model_json_get_size(object, "version", 0, INT_MAX, &version, err));
    if (version != MODEL_RUN_VERSION) {
        return kern_raise(err, KERN_BAD_INPUT, "\"version\" is %zu; accepted is %d", version,
                          MODEL_RUN_VERSION);
    }
    return model_json_check_keys("the run", object, keys, err);
}

/* In a run nothing is left to defaults, which may change: every key of the family must be there. */
static kern_status check_complete(const cJSON *object, const model_config *config, kern_error *err)
{
    char *text = NULL;
    KERN_TRY(model_config_to_json(config, &text, err));
    cJSON *whole = cJSON_Parse(text);
    free(text);
    if (whole == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to check the model's configuration");
    }
    kern_status status = KERN_OK;
    for (const cJSON *item = whole->child; item != NULL && status == KERN_OK; item = item->next) {
        if (!model_json_has(object, item->string)) {
            status = kern_raise(err, KERN_BAD_INPUT, "the key \"%s\" of \"model\" is missing",
                                item->string);
        }
    }
    cJSON_Delete(whole);
    return status;
}

static kern_status print_exactly(const cJSON *object, char **text, kern_error *err)
{
    cJSON *copy = NULL;
    KERN_TRY(copy_exactly(&copy, object, err));
    const kern_status status = model_json_print(copy, false, text, err);
    cJSON_Delete(copy);
    return status;
}

static kern_status read_model(const cJSON *object, model_config *config, kern_error *err)
{
    const char *name = NULL;
    const cJSON *child = NULL;
    char *text = NULL;
    model_config family = {0};
    KERN_TRY(model_json_get_string(object, "family", &name, err));
    KERN_TRY(model_config_set_family(&family, name, err));
    KERN_TRY(model_json_get_object(object, "model", &child, err));
    KERN_TRY(print_exactly(child, &text, err));
    const kern_status status = model_config_from_json(config, family.family, text, err);
    free(text);
    KERN_TRY(status);
    KERN_TRY(check_complete(child, config, err));
    if (strcmp(model_config_family_name(config), name) != 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "\"family\" is \"%s\" but \"model\" describes the family \"%s\"; they "
                          "must agree",
                          name, model_config_family_name(config));
    }
    return KERN_OK;
}

static kern_status read_vocab(const cJSON *object, model_tokenizer *tokenizer,
                              model_token_kind kind, kern_error *err)
{
    const cJSON *vocab = cJSON_GetObjectItemCaseSensitive(object, "vocab");
    const int count = cJSON_IsArray(vocab) ? cJSON_GetArraySize(vocab) : 0;
    if (count < 1) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "\"vocab\" is missing or empty; an array of strings is accepted");
    }
    const char **words = calloc((size_t)count, sizeof(const char *));
    if (words == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a vocabulary of %d tokens", count);
    }
    kern_status status = KERN_OK;
    size_t n = 0;
    const cJSON *item = vocab->child;
    while (item != NULL && cJSON_IsString(item)) {
        words[n++] = item->valuestring;
        item = item->next;
    }
    if (item != NULL) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "entry %zu of \"vocab\" is not a string; strings are accepted", n);
    } else {
        status = model_tokenizer_init(tokenizer, kind, words, n, err);
    }
    free(words);
    return status;
}

static kern_status read_tokenizer(const cJSON *object, model_tokenizer *tokenizer, kern_error *err)
{
    static const char *const listed[] = {"kind", "vocab", NULL};
    static const char *const counted[] = {"kind", "vocab_size", NULL};
    const cJSON *child = NULL;
    const char *word = NULL;
    model_token_kind kind;
    KERN_TRY(model_json_get_object(object, "tokenizer", &child, err));
    KERN_TRY(model_json_get_string(child, "kind", &word, err));
    KERN_TRY(model_token_kind_parse(&kind, word, err));
    const bool raw = kind == MODEL_TOKEN_RAW;
    KERN_TRY(model_json_check_keys("\"tokenizer\"", child, raw ? counted : listed, err));
    if (!raw) {
        return read_vocab(child, tokenizer, kind, err);
    }
    size_t n = 0;
    KERN_TRY(model_json_get_size(child, "vocab_size", 1, MODEL_TOKENIZER_MAX_VOCAB, &n, err));
    return model_tokenizer_init_raw(tokenizer, n, err);
}

static kern_status copy_string(const cJSON *object, const char *key, char **out, kern_error *err)
{
    const char *text = NULL;
    KERN_TRY(model_json_get_string(object, key, &text, err));
    *out = strdup(text);
    return *out != NULL ? KERN_OK : kern_raise(err, KERN_NO_MEMORY, "no memory for \"%s\"", key);
}

static kern_status read_data(const cJSON *object, model_run *run, kern_error *err)
{
    static const char *const keys[] = {"kind", "path", NULL};
    const cJSON *child = NULL;
    KERN_TRY(model_json_get_object(object, "data", &child, err));
    KERN_TRY(model_json_check_keys("\"data\"", child, keys, err));
    KERN_TRY(copy_string(child, "kind", &run->data_kind, err));
    return copy_string(child, "path", &run->data_path, err);
}

static kern_status read_all(model_run *run, const cJSON *object, kern_error *err)
{
    const cJSON *training = NULL;
    KERN_TRY(read_header(object, err));
    KERN_TRY(read_model(object, &run->config, err));
    KERN_TRY(read_tokenizer(object, &run->tokenizer, err));
    KERN_TRY(read_data(object, run, err));
    KERN_TRY(model_json_get_object(object, "training", &training, err));
    KERN_TRY(model_training_read_json(training, &run->training, err));
    const model_recipe recipe = {.config = &run->config,
                                 .tokenizer = &run->tokenizer,
                                 .data_kind = run->data_kind,
                                 .data_path = run->data_path,
                                 .training = &run->training};
    return model_run_config_check(&recipe, err);
}

kern_status model_run_config_from_text(model_run *run, const char *path, const char *text,
                                       size_t size, kern_error *err)
{
    cJSON *object = NULL;
    kern_error inner = {0};
    kern_status status = model_json_parse("the text", text, size, size, &object, &inner);
    if (status == KERN_OK) {
        status = read_all(run, object, &inner);
    }
    cJSON_Delete(object);
    if (status != KERN_OK) {
        status = status == KERN_NO_MEMORY ? status : KERN_BAD_INPUT;
        return kern_raise(err, status, "'%s': %s", path, inner.text);
    }
    return KERN_OK;
}
