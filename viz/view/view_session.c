/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700
#include "viz/view/view_session.h"

#include "models/model_file.h"
#include "models/model_json.h"
#include "models/model_utf8.h"
#include "viz/viz_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { VERSION = 2, VALUE = 64 };

#define FORMAT  "basin-session"
#define COMMAND "basin landscape"
#define WHAT    "the session"

/* ---- Writing --------------------------------------------------------------------------------- */

static kern_status add_reals(cJSON *object, const char *key, const double *values, size_t n,
                             kern_error *err)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    bool ok = list != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        char text[MODEL_JSON_NUMBER];
        (void)model_json_format_real(text, values[i]);
        ok = cJSON_AddItemToArray(list, cJSON_CreateRaw(text)) != 0;
    }
    return ok ? KERN_OK : kern_raise(err, KERN_NO_MEMORY, "no memory for a session");
}

static kern_status add_sizes(cJSON *object, const view_settings *s, const view_field *field,
                             kern_error *err)
{
    size_t n;
    const size_t *own = view_settings_sizes(s, field, &n);
    double values[VIEW_TOKENS_MAX];
    for (size_t i = 0; i < n; i++) {
        values[i] = (double)own[i];
    }
    return add_reals(object, field->name, values, n, err);
}

static kern_status add_field(cJSON *object, const view_settings *s, const view_field *field,
                             kern_error *err)
{
    const char *key = field->name;
    const void *value = (const char *)s + field->offset;
    char text[VIEW_TEXT];
    size_t n = 0;
    switch (field->kind) {
    case VIEW_KIND_SIZE:
        if (*(const size_t *)value != SIZE_MAX) {
            return model_json_add_size(object, key, *(const size_t *)value, err);
        }
        break;
    case VIEW_KIND_U64:
        return model_json_add_u64(object, key, *(const uint64_t *)value, err);
    case VIEW_KIND_REAL:
        return model_json_add_real(object, key, *(const double *)value, err);
    case VIEW_KIND_REALS:
        (void)view_settings_reals(s, field, &n);
        return add_reals(object, key, value, n, err);
    case VIEW_KIND_SIZES:
        return add_sizes(object, s, field, err);
    case VIEW_KIND_FLAG:
        return model_json_add_bool(object, key, *(const bool *)value, err);
    case VIEW_KIND_TEXT:
    case VIEW_KIND_WORD:
        break;
    }
    view_settings_show(s, field, text);
    return model_json_add_string(object, key, text, err);
}

static kern_status fill(cJSON *object, const view_session *session, kern_error *err)
{
    KERN_TRY(model_json_add_string(object, "format", FORMAT, err));
    KERN_TRY(model_json_add_size(object, "version", VERSION, err));
    KERN_TRY(model_json_add_string(object, "command", COMMAND, err));
    KERN_TRY(model_json_add_string(object, "model_sha256", session->model_sha256, err));
    cJSON *settings = cJSON_AddObjectToObject(object, "settings");
    if (settings == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a session");
    }
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        KERN_TRY(add_field(settings, &session->settings, view_field_at(i), err));
    }
    return KERN_OK;
}

kern_status view_session_write(char **text, const view_session *session, kern_error *err)
{
    cJSON *object = cJSON_CreateObject();
    kern_status status = KERN_OK;
    *text = NULL;
    if (object == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a session");
    }
    status = fill(object, session, err);
    status = status == KERN_OK ? model_json_print(object, true, text, err) : status;
    cJSON_Delete(object);
    return status;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* What a value of the file is: of which kind, and which one where it is short. */
static void name_value(const cJSON *item, char out[VALUE])
{
    char number[MODEL_JSON_NUMBER];
    if (cJSON_IsString(item)) {
        (void)snprintf(out, VALUE, "the text \"%.40s\"", item->valuestring);
    } else if (cJSON_IsNumber(item) && model_json_format_real(number, item->valuedouble)) {
        (void)snprintf(out, VALUE, "the number %s", number);
    } else {
        (void)snprintf(out, VALUE, "%s",
                       cJSON_IsTrue(item)     ? "true"
                       : cJSON_IsFalse(item)  ? "false"
                       : cJSON_IsNull(item)   ? "null"
                       : cJSON_IsArray(item)  ? "a list"
                       : cJSON_IsObject(item) ? "an object"
                                              : "a number that is too large");
    }
}

/* What a setting takes in a file, where it is no text unless it is a word. */
static void name_accepted(const view_field *field, char out[VIEW_ACCEPTED])
{
    switch (field->kind) {
    case VIEW_KIND_FLAG:
        (void)snprintf(out, VIEW_ACCEPTED, "true and false");
        break;
    case VIEW_KIND_REALS:
        (void)snprintf(out, VIEW_ACCEPTED,
                       field->n_offset != 0 ? "lists of up to %zu numbers, an even number of them"
                                            : "lists of %zu numbers",
                       field->count);
        break;
    case VIEW_KIND_SIZES:
        (void)snprintf(out, VIEW_ACCEPTED, "lists of up to %zu whole numbers up to %.12g",
                       field->count, field->high);
        break;
    default:
        view_field_accepted(field, out);
        break;
    }
}

static kern_status raise_kind(const cJSON *item, const view_field *field, kern_error *err)
{
    char value[VALUE];
    char accepted[VIEW_ACCEPTED];
    name_value(item, value);
    name_accepted(field, accepted);
    return kern_raise(err, KERN_BAD_INPUT, "key \"%s\" of the session is %s; accepted are %s",
                      field->name, value, accepted);
}

/* Something in a list that is no number, or a list that is not as long as it should be. */
static kern_status check_list(const cJSON *list, const view_field *field, kern_error *err)
{
    char value[VALUE];
    char accepted[VIEW_ACCEPTED];
    const size_t n = (size_t)cJSON_GetArraySize(list);
    const bool whole = field->kind == VIEW_KIND_REALS && field->n_offset == 0;
    const bool pairs = field->kind == VIEW_KIND_REALS && field->n_offset != 0;
    size_t place = 0;
    const cJSON *item;
    name_accepted(field, accepted);
    cJSON_ArrayForEach(item, list)
    {
        place++;
        if (!cJSON_IsNumber(item)) {
            name_value(item, value);
            return kern_raise(err, KERN_BAD_INPUT,
                              "key \"%s\" of the session has %s at place %zu of its list; accepted "
                              "are %s",
                              field->name, value, place, accepted);
        }
    }
    return n > field->count || (whole && n != field->count) || (pairs && n % 2 != 0)
               ? kern_raise(err, KERN_BAD_INPUT,
                            "key \"%s\" of the session is a list of %zu number%s; accepted are %s",
                            field->name, n, n == 1 ? "" : "s", accepted)
               : KERN_OK;
}

static bool takes_number(const view_field *field)
{
    return field->kind == VIEW_KIND_REAL || field->kind == VIEW_KIND_SIZE ||
           field->kind == VIEW_KIND_U64;
}

/* A number's own text has been turned into the nearest double; written again, its digits read back
 * to the same bits. What is not finite, or not surely the whole number that was written, becomes a
 * text that the setting refuses. */
static void number_text(const cJSON *item, const view_field *field, char out[VIEW_TEXT])
{
    char number[MODEL_JSON_NUMBER];
    const double value = item->valuedouble;
    const double most = (double)MODEL_JSON_WHOLE_MAX;
    if (field->kind != VIEW_KIND_REAL && value >= 0.0 && value <= most &&
        value == (double)(uint64_t)value) {
        (void)snprintf(out, VIEW_TEXT, "%llu", (unsigned long long)value);
    } else if ((field->kind == VIEW_KIND_REAL || value <= most) &&
               model_json_format_real(number, value)) {
        (void)snprintf(out, VIEW_TEXT, "%s", number);
    } else {
        (void)snprintf(out, VIEW_TEXT, "%e", value);
    }
}

/* A word that stands for a number, and a whole number that is too large for one of the file, are
 * texts there; a small number in quotes is not what a session has. */
static bool takes_text(const view_field *field, const char *text)
{
    view_settings s;
    switch (field->kind) {
    case VIEW_KIND_TEXT:
    case VIEW_KIND_WORD:
        return true;
    case VIEW_KIND_SIZE:
        return field->special != NULL && strcmp(text, field->special) == 0;
    case VIEW_KIND_U64:
        view_settings_defaults(&s);
        return view_settings_set(&s, field, text, NULL) == KERN_OK &&
               *(const uint64_t *)(const void *)((const char *)&s + field->offset) >
                   MODEL_JSON_WHOLE_MAX;
    default:
        return false;
    }
}

static kern_status read_reals(view_settings *s, const view_field *field, const cJSON *list,
                              kern_error *err)
{
    double values[2 * VIEW_SEEDS_MAX];
    size_t n = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        values[n++] = item->valuedouble; /* as many as there is room for, as check_list has seen */
    }
    return view_settings_set_reals(s, field, values, n, err);
}

/* Numbers that are not whole become a text that the setting refuses. */
static kern_status read_sizes(view_settings *s, const view_field *field, const cJSON *list,
                              kern_error *err)
{
    char text[VIEW_TEXT] = "";
    size_t used = 0;
    const cJSON *item;
    if (cJSON_GetArraySize(list) == 0) {
        return view_settings_set(s, field, field->special, err);
    }
    cJSON_ArrayForEach(item, list)
    {
        char number[VIEW_TEXT];
        number_text(item, field, number);
        (void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? "," : "", number);
        used += strlen(text + used);
    }
    return view_settings_set(s, field, text, err);
}

static kern_status raise_in_key(kern_status status, const view_field *field, const kern_error *why,
                                kern_error *err)
{
    return status == KERN_OK ? status
                             : kern_raise(err, KERN_BAD_INPUT, "key \"%s\" of the session: %s",
                                          field->name, why->text);
}

/* Sets one setting from its value in the file. */
static kern_status read_item(view_settings *s, const view_field *field, const cJSON *item,
                             kern_error *err)
{
    char text[VIEW_TEXT];
    kern_error why = {0};
    kern_status status = KERN_OK;
    const bool reals = field->kind == VIEW_KIND_REALS;
    if (cJSON_IsArray(item) && (reals || field->kind == VIEW_KIND_SIZES)) {
        KERN_TRY(check_list(item, field, err));
        status = reals ? read_reals(s, field, item, &why) : read_sizes(s, field, item, &why);
    } else if (cJSON_IsBool(item) && field->kind == VIEW_KIND_FLAG) {
        status = view_settings_set(s, field, cJSON_IsTrue(item) ? "on" : "off", &why);
    } else if (cJSON_IsString(item) && takes_text(field, item->valuestring)) {
        status = view_settings_set(s, field, item->valuestring, &why);
    } else if (cJSON_IsNumber(item) && takes_number(field)) {
        number_text(item, field, text);
        status = view_settings_set(s, field, text, &why);
    } else {
        return raise_kind(item, field, err);
    }
    return raise_in_key(status, field, &why, err);
}

/* Settings that came later than the session's version keep their defaults, which change nothing. */
static kern_status read_settings(view_settings *s, size_t version, const cJSON *settings,
                                 kern_error *err)
{
    const cJSON *item;
    for (size_t i = 0; view_field_at(i) != NULL; i++) {
        const view_field *field = view_field_at(i);
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(settings, field->name);
        if (value == NULL && field->since > version) {
            continue;
        }
        if (value == NULL) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "key \"%s\" of the session's settings is missing", field->name);
        }
        KERN_TRY(read_item(s, field, value, err));
    }
    cJSON_ArrayForEach(item, settings)
    {
        const view_field *field = NULL;
        if (view_field_find(&field, item->string, NULL) != KERN_OK ||
            strcmp(field->name, item->string) != 0) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "key \"%.60s\" of the session is no setting that this version knows",
                              item->string);
        }
    }
    return KERN_OK;
}

static bool is_hash(const char *text)
{
    const size_t n = strlen(text);
    return (n == 0 || n == 64) && strspn(text, "0123456789abcdef") == n;
}

static kern_status read_one(view_session *session, size_t version, const cJSON *object,
                            kern_error *err)
{
    static const char *const known[] = {"format", "version", "command", "model_sha256", "settings"};
    const cJSON *settings;
    const cJSON *item;
    const char *hash;
    const char *command;
    cJSON_ArrayForEach(item, object)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            found = found || strcmp(item->string, known[i]) == 0;
        }
        if (!found) {
            return kern_raise(err, KERN_BAD_INPUT, "key \"%.60s\" of the session is not known",
                              item->string);
        }
    }
    KERN_TRY(model_json_get_string(object, "command", &command, err));
    KERN_TRY(model_json_get_string(object, "model_sha256", &hash, err));
    KERN_TRY(model_json_get_object(object, "settings", &settings, err));
    if (!is_hash(hash)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "key \"model_sha256\" of the session is \"%.70s\"; accepted are 64 "
                          "hexadecimal digits, or none",
                          hash);
    }
    (void)snprintf(session->model_sha256, sizeof session->model_sha256, "%s", hash);
    return read_settings(&session->settings, version, settings, err);
}

/* Keys of version 0 that say what was computed, or repeat what the model says. */
static bool is_past(const char *key)
{
    static const char *const past[] = {"command", "family", "model", "trained_for", "rows"};
    for (size_t i = 0; i < sizeof past / sizeof *past; i++) {
        if (strcmp(key, past[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Flat: a token was a text then, and axes_file what is called axes now. */
static kern_status read_zero(view_session *session, const cJSON *object, kern_error *err)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        const view_field *field = NULL;
        const char *name = strcmp(item->string, "axes_file") == 0 ? "axes" : item->string;
        if (is_past(item->string)) {
            continue;
        }
        if (view_field_find(&field, name, NULL) != KERN_OK) {
            return kern_raise(err, KERN_BAD_INPUT, "key \"%.60s\" of the session is not known",
                              item->string);
        }
        if (cJSON_IsString(item) && strcmp(field->name, "token") == 0) {
            kern_error why = {0};
            const kern_status status =
                view_settings_set(&session->settings, field, item->valuestring, &why);
            KERN_TRY(raise_in_key(status, field, &why, err));
        } else {
            KERN_TRY(read_item(&session->settings, field, item, err));
        }
    }
    return KERN_OK;
}

static kern_status read_object(view_session *session, const cJSON *object, kern_error *err)
{
    size_t version = 0;
    const char *format = NULL;
    const char *command = NULL;
    if (!model_json_has(object, "format") && model_json_has(object, "command")) {
        KERN_TRY(model_json_get_string(object, "command", &command, err));
        return strcmp(command, COMMAND) == 0
                   ? read_zero(session, object, err)
                   : kern_raise(err, KERN_BAD_INPUT,
                                "the session is of \"%.60s\"; accepted are sessions of landscapes",
                                command);
    }
    KERN_TRY(model_json_get_string(object, "format", &format, err));
    if (strcmp(format, FORMAT) != 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "key \"format\" of the session is \"%.60s\"; accepted is " FORMAT,
                          format);
    }
    KERN_TRY(model_json_get_size(object, "version", 0, MODEL_JSON_WHOLE_MAX, &version, err));
    if (version < 1 || version > VERSION) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the session is of version %zu; accepted are 1 to %d, and the flat ones "
                          "before them",
                          version, VERSION);
    }
    return read_one(session, version, object, err);
}

kern_status view_session_read(view_session *session, const char *text, kern_error *err)
{
    cJSON *object = NULL;
    kern_error why = {0};
    memset(session, 0, sizeof *session);
    view_settings_defaults(&session->settings);
    KERN_TRY(model_json_parse(WHAT, text, strlen(text), VIZ_SESSION_MAX, &object, err));
    const kern_status status = read_object(session, object, &why);
    cJSON_Delete(object);
    return status == KERN_OK || status == KERN_NO_MEMORY
               ? status
               : kern_raise(err, KERN_BAD_INPUT, "%s", why.text);
}

bool view_session_is_path(const char *path)
{
    static const char end[] = ".json";
    const size_t n = strlen(path);
    return n > sizeof end - 1 && strcasecmp(path + n - (sizeof end - 1), end) == 0;
}

kern_status view_session_load(view_session *session, const char *path, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    kern_error why = {0};
    kern_status status = KERN_OK;
    if (view_session_is_path(path)) {
        KERN_TRY(model_file_read(path, VIZ_SESSION_MAX, &text, &size, err));
        status = model_utf8_require(text, size, &why);
    } else {
        KERN_TRY(viz_session_read(&text, path, err));
    }
    status = status == KERN_OK ? view_session_read(session, text, &why) : status;
    free(text);
    return status == KERN_OK ? status : kern_raise(err, status, "%s: %s", path, why.text);
}
