/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_json.h"

#include "models/model_json_scan.h"
#include "models/model_utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_ACCEPTED = 128 }; /* room for what a getter accepts */

/* ---- Keys -------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

static kern_status check_key(const char *what, const char *key, kern_error *err)
{
    for (const char *c = key; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            char shown[MODEL_UTF8_QUOTE];
            model_utf8_quote(shown, key, strlen(key));
            return kern_raise(err, KERN_BAD_INPUT,
                              "%s has the key \"%s\" with a control character; keys are printable",
                              what, shown);
        }
    }
    return KERN_OK;
}

/* Distinct, printable keys of one object. Sorting keeps this fast for a header of many entries. */
static kern_status check_own_keys(const char *what, const cJSON *object, kern_error *err)
{
    size_t count = 0;
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        KERN_TRY(check_key(what, item->string, err));
        count++;
    }
    if (count < 2) {
        return KERN_OK;
    }
    const char **keys = calloc(count, sizeof *keys);
    if (keys == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to read %s", what);
    }
    size_t n = 0;
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        keys[n++] = item->string;
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    kern_status status = KERN_OK;
    for (size_t i = 1; i < count && status == KERN_OK; i++) {
        if (strcmp(keys[i - 1], keys[i]) == 0) {
            char shown[MODEL_UTF8_QUOTE];
            model_utf8_quote(shown, keys[i], strlen(keys[i]));
            status = kern_raise(err, KERN_BAD_INPUT,
                                "%s has the key \"%s\" twice; a key may appear once", what, shown);
        }
    }
    free(keys);
    return status;
}

/* Recursion is bounded by MODEL_JSON_DEPTH, which the scan has enforced. */
static kern_status check_keys(const char *what, const cJSON *item, kern_error *err)
{
    if (cJSON_IsObject(item)) {
        KERN_TRY(check_own_keys(what, item, err));
    }
    for (const cJSON *child = item->child; child != NULL; child = child->next) {
        KERN_TRY(check_keys(what, child, err));
    }
    return KERN_OK;
}

/* ---- Parsing ----------------------------------------------------------------------------- */

static kern_status check_text(const char *what, const char *text, size_t size, size_t limit,
                              kern_error *err)
{
    if (size > limit) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s has %zu bytes, more than the %zu that are accepted", what, size,
                          limit);
    }
    kern_error inner;
    if (model_utf8_require(text, size, &inner) != KERN_OK) {
        return kern_raise(err, KERN_BAD_INPUT, "%s: %.300s", what, inner.text);
    }
    size_t at;
    const char *fault = model_json_scan(text, size, &at);
    if (fault != NULL) {
        return kern_raise(err, KERN_BAD_INPUT, "%s is not valid JSON at byte %zu: %s", what, at,
                          fault);
    }
    return KERN_OK;
}

/* The offset behind the blanks that begin at `at`. */
static size_t skip_blanks(const char *text, size_t size, size_t at)
{
    while (at < size &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) {
        at++;
    }
    return at;
}

kern_status model_json_parse(const char *what, const char *text, size_t size, size_t limit,
                             cJSON **object, kern_error *err)
{
    *object = NULL;
    KERN_TRY(check_text(what, text, size, limit, err));
    const size_t start = skip_blanks(text, size, 0);
    if (start == size || text[start] != '{') {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s does not begin with '{'; one JSON object is accepted", what);
    }
    const char *end = NULL;
    cJSON *parsed = cJSON_ParseWithLengthOpts(text, size, &end, 0);
    const size_t stop = end == NULL ? 0 : (size_t)(end - text);
    if (parsed == NULL) {
        return kern_raise(err, KERN_BAD_INPUT, "%s is not valid JSON near byte %zu", what, stop);
    }
    kern_status status = check_keys(what, parsed, err);
    const size_t rest = skip_blanks(text, size, stop);
    if (status == KERN_OK && rest != size) {
        status = kern_raise(err, KERN_BAD_INPUT,
                            "%s continues behind its JSON object at byte %zu; nothing may follow",
                            what, rest);
    }
    if (status != KERN_OK) {
        cJSON_Delete(parsed);
        return status;
    }
    *object = parsed;
    return KERN_OK;
}

/* ---- Getters ----------------------------------------------------------------------------- */

/* Refuses an item: names its key, what it holds, and what is accepted. */
static kern_status raise_value(kern_error *err, const char *key, const cJSON *item,
                               const char *accepted)
{
    char number[MODEL_JSON_NUMBER];
    const char *held = "null";
    if (cJSON_IsString(item)) {
        char shown[MODEL_UTF8_QUOTE];
        model_utf8_quote(shown, item->valuestring, strlen(item->valuestring));
        return kern_raise(err, KERN_BAD_INPUT, "\"%s\" is \"%s\"; accepted is %s", key, shown,
                          accepted);
    }
    if (cJSON_IsNumber(item)) {
        held = model_json_format_real(number, item->valuedouble) ? number : "too large a number";
    } else if (cJSON_IsBool(item)) {
        held = cJSON_IsTrue(item) ? "true" : "false";
    } else if (cJSON_IsArray(item)) {
        held = "an array";
    } else if (cJSON_IsObject(item)) {
        held = "an object";
    }
    return kern_raise(err, KERN_BAD_INPUT, "\"%s\" is %s; accepted is %s", key, held, accepted);
}

static kern_status find(const cJSON *object, const char *key, const cJSON **item, kern_error *err)
{
    *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (*item == NULL) {
        return kern_raise(err, KERN_NOT_FOUND, "the key \"%s\" is missing", key);
    }
    return KERN_OK;
}

bool model_json_has(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

/* True, with the value, for a whole number in low … high; NaN and infinity fail the comparison. */
static bool whole_number(const cJSON *item, size_t low, size_t high, size_t *out)
{
    if (!cJSON_IsNumber(item)) {
        return false;
    }
    const double value = item->valuedouble;
    if (!(value >= (double)low && value <= (double)high) || floor(value) < value) {
        return false;
    }
    *out = (size_t)value;
    return true;
}

kern_status model_json_get_size(const cJSON *object, const char *key, size_t low, size_t high,
                                size_t *out, kern_error *err)
{
    const cJSON *item;
    KERN_TRY(find(object, key, &item, err));
    if (!whole_number(item, low, high, out)) {
        char accepted[JSON_ACCEPTED];
        (void)snprintf(accepted, sizeof accepted, "a whole number from %zu to %zu", low, high);
        return raise_value(err, key, item, accepted);
    }
    return KERN_OK;
}

/* Decimal digits, nothing else, within 64 bits. */
static bool parse_u64(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value)) {
            return false;
        }
    }
    *out = value;
    return text[0] != '\0';
}

kern_status model_json_get_u64(const cJSON *object, const char *key, uint64_t *out, kern_error *err)
{
    const cJSON *item;
    KERN_TRY(find(object, key, &item, err));
    size_t whole;
    if (whole_number(item, 0, MODEL_JSON_WHOLE_MAX, &whole)) {
        *out = whole;
        return KERN_OK;
    }
    uint64_t value;
    if (!cJSON_IsString(item) || !parse_u64(item->valuestring, &value)) {
        return raise_value(err, key, item,
                           "a whole number below 2^53 or a string of digits below 2^64");
    }
    *out = value;
    return KERN_OK;
}

kern_status model_json_get_real(const cJSON *object, const char *key, double low, double high,
                                double *out, kern_error *err)
{
    const cJSON *item;
    KERN_TRY(find(object, key, &item, err));
    const double value = item->valuedouble;
    if (!cJSON_IsNumber(item) || !isfinite(value) || !(value >= low && value <= high)) {
        char accepted[JSON_ACCEPTED];
        char from[MODEL_JSON_NUMBER];
        char to[MODEL_JSON_NUMBER];
        (void)model_json_format_real(from, low);
        (void)model_json_format_real(to, high);
        (void)snprintf(accepted, sizeof accepted, "a number from %s to %s", from, to);
        return raise_value(err, key, item, accepted);
    }
    *out = value;
    return KERN_OK;
}

kern_status model_json_get_bool(const cJSON *object, const char *key, bool *out, kern_error *err)
{
    const cJSON *item;
    KERN_TRY(find(object, key, &item, err));
    if (!cJSON_IsBool(item)) {
        return raise_value(err, key, item, "true or false");
    }
    *out = cJSON_IsTrue(item) != 0;
    return KERN_OK;
}

kern_status model_json_get_string(const cJSON *object, const char *key, const char **out,
                                  kern_error *err)
{
    const cJSON *item;
    KERN_TRY(find(object, key, &item, err));
    if (!cJSON_IsString(item)) {
        return raise_value(err, key, item, "a string");
    }
    *out = item->valuestring;
    return KERN_OK;
}

kern_status model_json_get_object(const cJSON *object, const char *key, const cJSON **out,
                                  kern_error *err)
{
    const cJSON *item;
    KERN_TRY(find(object, key, &item, err));
    if (!cJSON_IsObject(item)) {
        return raise_value(err, key, item, "an object");
    }
    *out = item;
    return KERN_OK;
}

kern_status model_json_get_sizes(const cJSON *object, const char *key, size_t high, size_t room,
                                 size_t *out, size_t *count, kern_error *err)
{
    const cJSON *array;
    KERN_TRY(find(object, key, &array, err));
    bool good = cJSON_IsArray(array);
    size_t n = 0;
    const cJSON *item = good ? array->child : NULL;
    while (good && item != NULL) {
        good = n < room && whole_number(item, 0, high, &out[n]);
        n++;
        item = item->next;
    }
    if (!good) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "\"%s\" is not an array of at most %zu whole numbers from 0 to %zu", key,
                          room, high);
    }
    *count = n;
    return KERN_OK;
}

/* ---- Writing ----------------------------------------------------------------------------- */

bool model_json_format_real(char out[MODEL_JSON_NUMBER], double value)
{
    out[0] = '\0';
    if (!isfinite(value)) {
        return false;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, MODEL_JSON_NUMBER, "%.*g", digits, value);
        const double back = strtod(out, NULL);
        if (!(back < value || back > value)) {
            break;
        }
    }
    char *comma = strchr(out, ',');
    if (comma != NULL) {
        *comma = '.';
    }
    return true;
}

/* Takes `item` over in every case. */
static kern_status add_item(cJSON *object, const char *key, cJSON *item, kern_error *err)
{
    if (item != NULL && cJSON_AddItemToObject(object, key, item)) {
        return KERN_OK;
    }
    cJSON_Delete(item);
    return kern_raise(err, KERN_NO_MEMORY, "not enough memory to write the key \"%s\"", key);
}

kern_status model_json_add_size(cJSON *object, const char *key, size_t value, kern_error *err)
{
    char text[MODEL_JSON_NUMBER];
    (void)snprintf(text, sizeof text, "%zu", value);
    return add_item(object, key, cJSON_CreateRaw(text), err);
}

kern_status model_json_add_u64(cJSON *object, const char *key, uint64_t value, kern_error *err)
{
    char text[MODEL_JSON_NUMBER];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    const bool exact = value <= MODEL_JSON_WHOLE_MAX;
    return add_item(object, key, exact ? cJSON_CreateRaw(text) : cJSON_CreateString(text), err);
}

kern_status model_json_add_real(cJSON *object, const char *key, double value, kern_error *err)
{
    char text[MODEL_JSON_NUMBER];
    if (!model_json_format_real(text, value)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%s\" is %g, which JSON cannot hold; a finite number is accepted", key,
                          value);
    }
    return add_item(object, key, cJSON_CreateRaw(text), err);
}

kern_status model_json_add_bool(cJSON *object, const char *key, bool value, kern_error *err)
{
    return add_item(object, key, cJSON_CreateBool(value), err);
}

kern_status model_json_add_string(cJSON *object, const char *key, const char *value,
                                  kern_error *err)
{
    kern_error inner;
    if (model_utf8_require(value, strlen(value), &inner) != KERN_OK) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the value of \"%s\": %.300s", key,
                          inner.text);
    }
    return add_item(object, key, cJSON_CreateString(value), err);
}

kern_status model_json_add_sizes(cJSON *object, const char *key, const size_t *values, size_t count,
                                 kern_error *err)
{
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < count && array != NULL; i++) {
        char text[MODEL_JSON_NUMBER];
        (void)snprintf(text, sizeof text, "%zu", values[i]);
        cJSON *item = cJSON_CreateRaw(text);
        if (item == NULL || !cJSON_AddItemToArray(array, item)) {
            cJSON_Delete(item);
            cJSON_Delete(array);
            array = NULL;
        }
    }
    return add_item(object, key, array, err);
}

kern_status model_json_print(const cJSON *object, bool pretty, char **text, kern_error *err)
{
    *text = pretty ? cJSON_Print(object) : cJSON_PrintUnformatted(object);
    if (*text == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to write a JSON text");
    }
    return KERN_OK;
}
