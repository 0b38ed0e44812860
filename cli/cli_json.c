/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_json.h"

#include "models/model_json.h"

#include <stdio.h>
#include <stdlib.h>

void cli_json_init(cli_json *json)
{
    json->object = cJSON_CreateObject();
    json->failed = json->object == NULL;
}

void cli_json_fini(cli_json *json)
{
    cJSON_Delete(json->object);
    json->object = NULL;
}

/* Hands `item` to its parent; an item that cannot be added is released. */
static cJSON *add(cli_json *json, cJSON *parent, const char *key, cJSON *item)
{
    const bool added = item != NULL && parent != NULL &&
                       (key != NULL ? cJSON_AddItemToObject(parent, key, item)
                                    : cJSON_AddItemToArray(parent, item));
    if (added) {
        return item;
    }
    cJSON_Delete(item);
    json->failed = true;
    return NULL;
}

void cli_json_real(cli_json *json, cJSON *parent, const char *key, double value)
{
    char text[MODEL_JSON_NUMBER];
    const bool finite = model_json_format_real(text, value);
    (void)add(json, parent, key, finite ? cJSON_CreateRaw(text) : cJSON_CreateNull());
}

void cli_json_size(cli_json *json, cJSON *parent, const char *key, size_t value)
{
    char text[MODEL_JSON_NUMBER];
    (void)snprintf(text, sizeof text, "%zu", value);
    (void)add(json, parent, key, cJSON_CreateRaw(text));
}

void cli_json_bool(cli_json *json, cJSON *parent, const char *key, bool value)
{
    (void)add(json, parent, key, cJSON_CreateBool(value));
}

void cli_json_text(cli_json *json, cJSON *parent, const char *key, const char *value)
{
    (void)add(json, parent, key, cJSON_CreateString(value));
}

void cli_json_null(cli_json *json, cJSON *parent, const char *key)
{
    (void)add(json, parent, key, cJSON_CreateNull());
}

cJSON *cli_json_array(cli_json *json, cJSON *parent, const char *key)
{
    return add(json, parent, key, cJSON_CreateArray());
}

cJSON *cli_json_child(cli_json *json, cJSON *parent, const char *key)
{
    return add(json, parent, key, cJSON_CreateObject());
}

cJSON *cli_json_reals(cli_json *json, cJSON *parent, const char *key, const double *values,
                      size_t n)
{
    cJSON *array = cli_json_array(json, parent, key);
    for (size_t i = 0; values != NULL && i < n; i++) {
        cli_json_real(json, array, NULL, values[i]);
    }
    return array;
}

void cli_json_complex(cli_json *json, cJSON *parent, const char *key, double re, double im)
{
    cJSON *value = cli_json_child(json, parent, key);
    cli_json_real(json, value, "re", re);
    cli_json_real(json, value, "im", im);
}

void cli_json_complexes(cli_json *json, cJSON *parent, const char *key, const double *re,
                        const double *im, size_t n)
{
    cJSON *values = cli_json_array(json, parent, key);
    for (size_t i = 0; i < n; i++) {
        cli_json_complex(json, values, NULL, re[i], im[i]);
    }
}

void cli_json_eigenvectors(cli_json *json, cJSON *parent, const char *key, const double *rows,
                           size_t n, const double *im, size_t count)
{
    cJSON *vectors = cli_json_array(json, parent, key);
    for (size_t j = 0; j < count; j++) {
        const bool second = im[j] < 0.0 && j > 0;
        const double *x = rows + (second ? j - 1 : j) * n;
        cJSON *vector = cli_json_array(json, vectors, NULL);
        for (size_t i = 0; i < n; i++) {
            const double part = im[j] != 0.0 ? x[n + i] : 0.0;
            cli_json_complex(json, vector, NULL, x[i], second ? -part : part);
        }
    }
}

void cli_json_raw(cli_json *json, cJSON *parent, const char *key, const char *text)
{
    (void)add(json, parent, key, cJSON_CreateRaw(text));
}

kern_status cli_json_take(cli_json *json, char **text, kern_error *err)
{
    *text = json->failed ? NULL : cJSON_Print(json->object);
    cli_json_fini(json);
    if (*text == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to write the JSON object");
    }
    return KERN_OK;
}

kern_status cli_json_print(cli_json *json, kern_error *err)
{
    char *text = NULL;
    KERN_TRY(cli_json_take(json, &text, err));
    (void)puts(text);
    free(text);
    return KERN_OK;
}

bool cli_json_is_outcome(kern_status status)
{
    static const kern_status outcomes[] = {KERN_NOT_CONVERGED, KERN_DIVERGED, KERN_LEFT_BOX,
                                           KERN_TIMEOUT,       KERN_SINGULAR, KERN_NAN};
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
        if (status == outcomes[i]) {
            return true;
        }
    }
    return false;
}

kern_status cli_json_print_failure(cli_json *json, kern_status status, const kern_error *why)
{
    cli_json_text(json, json->object, "status", kern_status_word(status));
    cli_json_text(json, json->object, "message", why->text);
    (void)cli_json_print(json, NULL);
    return status;
}
