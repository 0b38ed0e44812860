/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_training_json.h"

#include "kernels/kern_size.h"
#include "models/model_utf8.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

enum { TRAINING_TEXT = 1 << 16, TRAINING_THREADS = 4096, KEYS_TEXT = 512 };

kern_status model_json_check_keys(const char *what, const cJSON *object, const char *const *keys,
                                  kern_error *err)
{
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        char accepted[KEYS_TEXT] = "";
        size_t used = 0;
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], item->string) != 0) {
            const size_t room = sizeof accepted - used;
            const int n = snprintf(accepted + used, room, "%s%s", i == 0 ? "" : ", ", keys[i]);
            used += n > 0 ? kern_size_min((size_t)n, room - 1) : 0;
            i++;
        }
        if (keys[i] == NULL) {
            char shown[MODEL_UTF8_QUOTE];
            model_utf8_quote(shown, item->string, strlen(item->string));
            return kern_raise(err, KERN_BAD_INPUT, "%s has the unknown key \"%s\"; accepted are %s",
                              what, shown, accepted);
        }
    }
    return KERN_OK;
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* A new object under `key`, owned by `object`. */
static kern_status add_object(cJSON *object, const char *key, cJSON **child, kern_error *err)
{
    *child = cJSON_AddObjectToObject(object, key);
    return *child != NULL
               ? KERN_OK
               : kern_raise(err, KERN_NO_MEMORY, "no memory to write the key \"%s\"", key);
}

static kern_status add_schedule(cJSON *object, const model_schedule *s, kern_error *err)
{
    cJSON *child = NULL;
    KERN_TRY(add_object(object, "schedule", &child, err));
    KERN_TRY(model_json_add_string(child, "kind", model_schedule_word(s->kind), err));
    KERN_TRY(model_json_add_real(child, "peak", s->peak, err));
    KERN_TRY(model_json_add_real(child, "floor", s->floor, err));
    KERN_TRY(model_json_add_size(child, "warmup", s->warmup, err));
    return model_json_add_size(child, "total", s->total, err);
}

static kern_status add_adamw(cJSON *object, const model_adamw *a, kern_error *err)
{
    cJSON *child = NULL;
    KERN_TRY(add_object(object, "adamw", &child, err));
    KERN_TRY(model_json_add_real(child, "beta1", a->beta1, err));
    KERN_TRY(model_json_add_real(child, "beta2", a->beta2, err));
    KERN_TRY(model_json_add_real(child, "epsilon", a->epsilon, err));
    KERN_TRY(model_json_add_real(child, "weight_decay", a->weight_decay, err));
    KERN_TRY(model_json_add_bool(child, "decay_vectors", a->decay_vectors, err));
    return model_json_add_real(child, "clip", a->clip, err);
}

kern_status model_training_add_json(cJSON *object, const model_training *t, kern_error *err)
{
    KERN_TRY(model_json_add_size(object, "batch", t->batch, err));
    KERN_TRY(model_json_add_size(object, "window", t->window, err));
    KERN_TRY(model_json_add_size(object, "micro_batch", t->micro_batch, err));
    KERN_TRY(add_schedule(object, &t->schedule, err));
    KERN_TRY(add_adamw(object, &t->adamw, err));
    KERN_TRY(model_json_add_bool(object, "recompute", t->recompute, err));
    KERN_TRY(model_json_add_size(object, "threads", (size_t)t->threads, err));
    return model_json_add_u64(object, "seed", t->seed, err);
}

/* ---- Reading ----------------------------------------------------------------------------- */

static kern_status read_schedule(const cJSON *object, model_schedule *s, kern_error *err)
{
    static const char *const keys[] = {"kind", "peak", "floor", "warmup", "total", NULL};
    const cJSON *child = NULL;
    const char *word = NULL;
    KERN_TRY(model_json_get_object(object, "schedule", &child, err));
    KERN_TRY(model_json_check_keys("\"schedule\"", child, keys, err));
    KERN_TRY(model_json_get_string(child, "kind", &word, err));
    KERN_TRY(model_schedule_parse(&s->kind, word, err));
    KERN_TRY(model_json_get_real(child, "peak", 0, DBL_MAX, &s->peak, err));
    KERN_TRY(model_json_get_real(child, "floor", 0, DBL_MAX, &s->floor, err));
    KERN_TRY(model_json_get_size(child, "warmup", 0, MODEL_JSON_WHOLE_MAX, &s->warmup, err));
    return model_json_get_size(child, "total", 0, MODEL_JSON_WHOLE_MAX, &s->total, err);
}

static kern_status read_adamw(const cJSON *object, model_adamw *a, kern_error *err)
{
    static const char *const keys[] = {"beta1",         "beta2", "epsilon", "weight_decay",
                                       "decay_vectors", "clip",  NULL};
    const cJSON *child = NULL;
    KERN_TRY(model_json_get_object(object, "adamw", &child, err));
    KERN_TRY(model_json_check_keys("\"adamw\"", child, keys, err));
    KERN_TRY(model_json_get_real(child, "beta1", 0, 1, &a->beta1, err));
    KERN_TRY(model_json_get_real(child, "beta2", 0, 1, &a->beta2, err));
    KERN_TRY(model_json_get_real(child, "epsilon", 0, DBL_MAX, &a->epsilon, err));
    KERN_TRY(model_json_get_real(child, "weight_decay", 0, DBL_MAX, &a->weight_decay, err));
    KERN_TRY(model_json_get_bool(child, "decay_vectors", &a->decay_vectors, err));
    return model_json_get_real(child, "clip", 0, DBL_MAX, &a->clip, err);
}

static kern_status read_fields(const cJSON *object, model_training *t, kern_error *err)
{
    static const char *const keys[] = {"batch",     "window",  "micro_batch", "schedule", "adamw",
                                       "recompute", "threads", "seed",        NULL};
    size_t threads = 0;
    KERN_TRY(model_json_check_keys("\"training\"", object, keys, err));
    KERN_TRY(model_json_get_size(object, "batch", 1, MODEL_JSON_WHOLE_MAX, &t->batch, err));
    KERN_TRY(model_json_get_size(object, "window", 1, MODEL_JSON_WHOLE_MAX, &t->window, err));
    KERN_TRY(
        model_json_get_size(object, "micro_batch", 0, MODEL_JSON_WHOLE_MAX, &t->micro_batch, err));
    KERN_TRY(read_schedule(object, &t->schedule, err));
    KERN_TRY(read_adamw(object, &t->adamw, err));
    KERN_TRY(model_json_get_bool(object, "recompute", &t->recompute, err));
    KERN_TRY(model_json_get_size(object, "threads", 1, TRAINING_THREADS, &threads, err));
    t->threads = (int)threads;
    KERN_TRY(model_json_get_u64(object, "seed", &t->seed, err));
    return model_training_check(t, err);
}

kern_status model_training_read_json(const cJSON *object, model_training *training, kern_error *err)
{
    kern_error inner = {0};
    model_training read = {0};
    const kern_status status = read_fields(object, &read, &inner);
    if (status != KERN_OK) {
        return kern_raise(err, status == KERN_NO_MEMORY ? status : KERN_BAD_INPUT, "%s",
                          inner.text);
    }
    *training = read;
    return KERN_OK;
}

/* ---- Texts ------------------------------------------------------------------------------- */

kern_status model_training_to_text(const model_training *training, char **text, kern_error *err)
{
    *text = NULL;
    cJSON *object = cJSON_CreateObject();
    if (object == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to write the training settings");
    }
    kern_status status = model_training_add_json(object, training, err);
    if (status == KERN_OK) {
        status = model_json_print(object, false, text, err);
    }
    cJSON_Delete(object);
    return status;
}

kern_status model_training_from_text(model_training *training, const char *text, kern_error *err)
{
    cJSON *object = NULL;
    KERN_TRY(
        model_json_parse("the training settings", text, strlen(text), TRAINING_TEXT, &object, err));
    const kern_status status = model_training_read_json(object, training, err);
    cJSON_Delete(object);
    return status;
}
