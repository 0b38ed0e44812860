/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_config.h"

#include "models/model_config_fields.h"
#include "models/model_json.h"
#include "models/model_utf8.h"

#include <float.h>
#include <string.h>

enum { CONFIG_JSON_LIMIT = 1 << 20 }; /* bytes of a configuration text */

/* Largest number of parameters: 2^34 in double precision fill 128 GiB. */
#define CONFIG_PARAMETERS_MAX 0x1p34

/* ---- Checking ---------------------------------------------------------------------------- */

static kern_status check_sizes(const model_config *config, const model__field *field,
                               kern_error *err)
{
    const model_widths list = model__get_sizes(config, field);
    if (list.count > MODEL_WIDTHS_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%s\" has %zu entries; accepted are up to %d", field->key, list.count,
                          MODEL_WIDTHS_MAX);
    }
    for (size_t i = 0; i < list.count; i++) {
        if (list.at[i] < (size_t)field->low || list.at[i] > (size_t)field->high) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "entry %zu of \"%s\" is %zu; accepted are whole numbers from %.0f to "
                              "%.0f",
                              i, field->key, list.at[i], field->low, field->high);
        }
    }
    return KERN_OK;
}

static kern_status check_field(const model_config *config, const model__field *field,
                               kern_error *err)
{
    if (field->kind == FIELD_SIZE) {
        const size_t value = model__get_size(config, field);
        if (value < (size_t)field->low || value > (size_t)field->high) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "\"%s\" is %zu; accepted are whole numbers from %.0f to %.0f",
                              field->key, value, field->low, field->high);
        }
    }
    if (field->kind == FIELD_REAL) {
        const double value = model__get_real(config, field);
        if (!(value >= field->low && value <= field->high)) {
            char low[MODEL_JSON_NUMBER];
            char high[MODEL_JSON_NUMBER];
            (void)model_json_format_real(low, field->low);
            (void)model_json_format_real(high, field->high);
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "\"%s\" is %.17g; accepted are numbers from %s to %s", field->key,
                              value, low, high);
        }
    }
    if (field->kind == FIELD_SIZES) {
        return check_sizes(config, field, err);
    }
    if (field->kind == FIELD_WORD && model__get_word(config, field) >= field->words->count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "\"%s\" is the unknown number %u", field->key,
                          model__get_word(config, field));
    }
    return KERN_OK;
}

/* Parameters of the part of an NRGPT that all steps share. */
static double count_nrgpt_block(const model_config *config)
{
    const double d = (double)config->n_embed;
    const double m = d * (double)config->ff_hid_factor;
    const double rank = (double)config->rank;
    const double head = rank > 0 ? 2 * rank * d : d * d;
    const double ff[] = {
        [MODEL_FF1] = m * d + m,
        [MODEL_FF2] = m * d + m + d * d + d,
        [MODEL_FF2W] = 2 * m * d + m + d,
    };
    const double eta[] = {
        [MODEL_ETA_FULL] = d * d, [MODEL_ETA_GAMMA] = 1,   [MODEL_ETA_SCALAR] = 1,
        [MODEL_ETA_SQUARE] = 1,   [MODEL_ETA_PSD] = d * d, [MODEL_ETA_PSD_SKEW] = 2 * d * d,
    };
    return (double)config->n_head * head + ff[config->ff] + eta[config->eta] + 2 * d + 1;
}

/* Parameters of one GPT block. */
static double count_gpt_block(const model_config *config)
{
    const double d = (double)config->n_embed;
    const double m = d * (double)config->ff_hid_factor;
    const size_t head_width = config->n_embed / config->n_head;
    const double heads = (double)head_width * (double)config->n_head;
    return 4 * d * heads + d + 2 * m * d + m + d + 4 * d;
}

/* Doubles hold these counts without overflow whatever the sizes. */
static double count_parameters(const model_config *config)
{
    const double d = (double)config->n_embed;
    const double v = (double)config->vocab_size;
    if (model_config_is_stack(config)) {
        return (config->tied_head ? 1 : 2) * v * d + d + model__count_stack(config);
    }
    const bool gpt = config->family == MODEL_GPT;
    const double blocks = gpt && !config->recurrent ? (double)config->n_layer : 1;
    const double block = gpt ? count_gpt_block(config) : count_nrgpt_block(config);
    return 2 * v * d + v + 2 * d + (double)config->block_size * d + blocks * block;
}

static kern_status check_total(const model_config *config, kern_error *err)
{
    const double total = count_parameters(config);
    const bool stack = model_config_is_stack(config);
    if (!(total <= CONFIG_PARAMETERS_MAX)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "these sizes make %.4g parameters (n_embed %zu, n_head %zu, vocab_size "
                          "%zu, block_size %zu, n_layer %zu, %s %zu); accepted are at most %.0f",
                          total, config->n_embed, config->n_head, config->vocab_size,
                          config->block_size, config->n_layer, stack ? "n_hidden" : "ff_hid_factor",
                          stack ? config->n_hidden : config->ff_hid_factor, CONFIG_PARAMETERS_MAX);
    }
    return KERN_OK;
}

static kern_status check_early(const model_config *config, kern_error *err)
{
    if (config->family == MODEL_GPT && config->n_head > config->n_embed) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"n_head\" is %zu; accepted are at most n_embed = %zu heads, each at "
                          "least 1 wide",
                          config->n_head, config->n_embed);
    }
    if (config->family == MODEL_GPT && config->parallel && !config->recurrent) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"parallel\" is true and \"recurrent\" is false; accepted is parallel "
                          "together with recurrent");
    }
    if (config->family == MODEL_NRGPT && config->rank > config->n_embed) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"rank\" is %zu; accepted is 0 (full) or at most n_embed = %zu",
                          config->rank, config->n_embed);
    }
    return KERN_OK;
}

kern_status model_config_check(const model_config *config, kern_error *err)
{
    if ((unsigned)config->family > (unsigned)MODEL_HOURGLASS) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "the model family is the unknown number %u",
                          (unsigned)config->family);
    }
    for (size_t i = 0; i < MODEL__FIELDS; i++) {
        if (model__field_applies(&model__fields[i], config->family)) {
            KERN_TRY(check_field(config, &model__fields[i], err));
        }
    }
    KERN_TRY(model_config_is_stack(config) ? model__check_stack(config, err)
                                           : check_early(config, err));
    return check_total(config, err);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static kern_status read_word(model_config *config, const model__field *field, const cJSON *object,
                             kern_error *err)
{
    const char *word;
    unsigned value;
    KERN_TRY(model_json_get_string(object, field->key, &word, err));
    KERN_TRY(model__parse_word(field->words, &value, word, err));
    model__set_value(config, field, &value, sizeof value);
    return KERN_OK;
}

static kern_status read_field(model_config *config, const model__field *field, const cJSON *object,
                              kern_error *err)
{
    size_t size;
    double real;
    bool flag;
    model_widths list = {0};
    switch (field->kind) {
    case FIELD_SIZE:
        KERN_TRY(model_json_get_size(object, field->key, (size_t)field->low, (size_t)field->high,
                                     &size, err));
        model__set_value(config, field, &size, sizeof size);
        return KERN_OK;
    case FIELD_REAL:
        KERN_TRY(model_json_get_real(object, field->key, field->low, field->high, &real, err));
        model__set_value(config, field, &real, sizeof real);
        return KERN_OK;
    case FIELD_BOOL:
        KERN_TRY(model_json_get_bool(object, field->key, &flag, err));
        model__set_value(config, field, &flag, sizeof flag);
        return KERN_OK;
    case FIELD_WORD:
        return read_word(config, field, object, err);
    case FIELD_SIZES:
        KERN_TRY(model_json_get_sizes(object, field->key, (size_t)field->high, MODEL_WIDTHS_MAX,
                                      list.at, &list.count, err));
        model__set_value(config, field, &list, sizeof list);
        return KERN_OK;
    case FIELD_IGNORED:
        break;
    }
    return model_json_get_real(object, field->key, -DBL_MAX, DBL_MAX, &real, err);
}

static kern_status find_field(const model__field **field, model_family family, const char *key,
                              kern_error *err)
{
    char accepted[MODEL__TEXT] = "";
    for (size_t i = 0; i < MODEL__FIELDS; i++) {
        if (!model__field_applies(&model__fields[i], family)) {
            continue;
        }
        if (strcmp(key, model__fields[i].key) == 0) {
            *field = &model__fields[i];
            return KERN_OK;
        }
        model__append_word(accepted, model__fields[i].key);
    }
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, key, strlen(key));
    return kern_raise(err, KERN_BAD_INPUT,
                      "the configuration has the unknown key \"%s\"; accepted are %s", shown,
                      accepted);
}

static kern_status read_object(model_config *config, const cJSON *object, kern_error *err)
{
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        const model__field *field = NULL;
        KERN_TRY(find_field(&field, config->family, item->string, err));
        KERN_TRY(read_field(config, field, object, err));
    }
    return model_config_check(config, err);
}

kern_status model_config_from_json(model_config *config, model_family family, const char *text,
                                   kern_error *err)
{
    cJSON *object;
    model_config read = model_config_default(family);
    KERN_TRY(
        model_json_parse("the configuration", text, strlen(text), CONFIG_JSON_LIMIT, &object, err));
    kern_status status = read_object(&read, object, err);
    cJSON_Delete(object);
    if (status == KERN_INVALID_ARGUMENT) {
        status = KERN_BAD_INPUT; /* a value out of its domain is here the text's fault */
        if (err != NULL) {
            err->status = status;
        }
    }
    if (status == KERN_OK) {
        *config = read;
    }
    return status;
}

static kern_status write_sizes(const model_config *config, const model__field *field, cJSON *object,
                               kern_error *err)
{
    const model_widths list = model__get_sizes(config, field);
    return model_json_add_sizes(object, field->key, list.at, list.count, err);
}

static kern_status write_field(const model_config *config, const model__field *field, cJSON *object,
                               kern_error *err)
{
    switch (field->kind) {
    case FIELD_SIZE:
        return model_json_add_size(object, field->key, model__get_size(config, field), err);
    case FIELD_REAL:
        return model_json_add_real(object, field->key, model__get_real(config, field), err);
    case FIELD_BOOL:
        return model_json_add_bool(object, field->key, model__get_bool(config, field), err);
    case FIELD_WORD:
        return model_json_add_string(
            object, field->key, model__word_of(field->words, model__get_word(config, field)), err);
    case FIELD_SIZES:
        return write_sizes(config, field, object, err);
    case FIELD_IGNORED:
        break;
    }
    return KERN_OK;
}

kern_status model_config_to_json(const model_config *config, char **text, kern_error *err)
{
    *text = NULL;
    KERN_TRY(model_config_check(config, err));
    cJSON *object = cJSON_CreateObject();
    if (object == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to write the configuration");
    }
    kern_status status = KERN_OK;
    for (size_t i = 0; i < MODEL__FIELDS && status == KERN_OK; i++) {
        if (model__field_applies(&model__fields[i], config->family) &&
            model__field_matters(config, &model__fields[i])) {
            status = write_field(config, &model__fields[i], object, err);
        }
    }
    if (status == KERN_OK) {
        status = model_json_print(object, true, text, err);
    }
    cJSON_Delete(object);
    return status;
}
