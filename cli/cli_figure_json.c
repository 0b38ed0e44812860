/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_figure_json.h"

#include "models/model_file.h"
#include "models/model_json.h"

#include <math.h>
#include <stdlib.h>

kern_status cli_figure_open(cli_figure_file *file, const char *path, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *file = (cli_figure_file){.path = path};
    KERN_TRY(model_file_read(path, CLI_FIGURE_BYTES, &text, &size, err));
    const kern_status status =
        model_json_parse(path, text, size, CLI_FIGURE_BYTES, &file->json, err);
    free(text);
    return status;
}

void cli_figure_close(cli_figure_file *file)
{
    cJSON_Delete(file->json);
    *file = (cli_figure_file){.path = NULL};
}

bool cli_figure_has(const cli_figure_file *file, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(file->json, key) != NULL;
}

size_t cli_figure_length(const cJSON *array)
{
    const int n = cJSON_GetArraySize(array);
    return n > 0 ? (size_t)n : 0;
}

kern_status cli_figure_array(const cJSON **out, const cli_figure_file *file, const cJSON *object,
                             const char *key, size_t least, const char *source, kern_error *err)
{
    const cJSON *array =
        cJSON_GetObjectItemCaseSensitive(object != NULL ? object : file->json, key);
    *out = NULL;
    if (!cJSON_IsArray(array)) {
        return kern_raise(err, KERN_BAD_INPUT, "%s has no list \"%s\"; accepted is what %s writes",
                          file->path, key, source);
    }
    if (cli_figure_length(array) < least) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the list \"%s\" of %s has %zu entries; the figure needs %zu or more",
                          key, file->path, cli_figure_length(array), least);
    }
    *out = array;
    return KERN_OK;
}

static double real_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

double cli_figure_real(const cJSON *object, const char *key)
{
    return real_of(cJSON_GetObjectItemCaseSensitive(object, key));
}

size_t cli_figure_size(const cJSON *object, const char *key)
{
    const double value = cli_figure_real(object, key);
    return value >= 0.0 && value <= (double)MODEL_JSON_WHOLE_MAX ? (size_t)value : 0;
}

const char *cli_figure_text(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

bool cli_figure_true(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key)) != 0;
}

double cli_figure_at(const cJSON *array, size_t index)
{
    return index <= 0x7fffffff ? real_of(cJSON_GetArrayItem(array, (int)index)) : (double)NAN;
}

kern_status cli_figure_room(void **out, size_t count, size_t size, kern_error *err)
{
    *out = calloc(count > 0 ? count : 1, size);
    if (*out == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the %zu numbers of a figure", count);
    }
    return KERN_OK;
}

kern_status cli_figure_column(double **out, const cJSON *list, const char *key, size_t index,
                              kern_error *err)
{
    void *room;
    KERN_TRY(cli_figure_room(&room, cli_figure_length(list), sizeof(double), err));
    *out = room;
    size_t i = 0;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        (*out)[i++] = cli_figure_at(cJSON_GetObjectItemCaseSensitive(item, key), index);
    }
    return KERN_OK;
}

kern_status cli_figure_reals(double **out, const cJSON *list, const char *key, kern_error *err)
{
    void *room;
    KERN_TRY(cli_figure_room(&room, cli_figure_length(list), sizeof(double), err));
    *out = room;
    size_t i = 0;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        (*out)[i++] = cli_figure_real(item, key);
    }
    return KERN_OK;
}

kern_status cli_figure_bools(bool **out, const cJSON *list, const char *key, kern_error *err)
{
    void *room;
    KERN_TRY(cli_figure_room(&room, cli_figure_length(list), sizeof(bool), err));
    *out = room;
    size_t i = 0;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        (*out)[i++] = cli_figure_true(item, key);
    }
    return KERN_OK;
}
