/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_model.h"

#include "models/model_family.h"
#include "models/model_json.h"
#include "models/model_regressor.h"
#include "models/model_safetensors.h"

#include <stdlib.h>
#include <string.h>

enum { RECIPE_LIMIT = 1 << 16 };

bool syn_gp_model_is(const char *path)
{
    model_safetensors *file = NULL;
    if (model_safetensors_create(&file, path, NULL) != KERN_OK) {
        return false;
    }
    const char *recipe = model_safetensors_metadata(file, "recipe");
    const bool found = recipe != NULL && strstr(recipe, "\"task\"") != NULL;
    model_safetensors_destroy(file);
    return found;
}

/* ---- recipe --------------------------------------------------------------------------------- */

static kern_status read_config(model_config *config, const cJSON *recipe, kern_error *err)
{
    const char *word;
    const cJSON *object;
    char *text = NULL;
    model_family family;
    KERN_TRY(model_json_get_string(recipe, "family", &word, err));
    if (!model_family_find(word, &family)) {
        return kern_raise(err, KERN_BAD_INPUT, "the family \"%.40s\" is not known", word);
    }
    KERN_TRY(model_json_get_object(recipe, "model", &object, err));
    KERN_TRY(model_json_print(object, false, &text, err));
    const kern_status status = model_config_from_json(config, family, text, err);
    free(text);
    return status;
}

static kern_status read_recipe(syn_gp_model *g, model_config *config, const char *text,
                               kern_error *err)
{
    cJSON *recipe = NULL;
    const char *task = NULL;
    KERN_TRY(model_json_parse("the recipe", text, strlen(text), RECIPE_LIMIT, &recipe, err));
    kern_status status = read_config(config, recipe, err);
    if (status == KERN_OK) {
        status = model_json_get_string(recipe, "task", &task, err);
    }
    if (status == KERN_OK) {
        status = syn_gp_task_find(&g->task, task, err);
    }
    cJSON_Delete(recipe);
    return status;
}

/* ---- weights -------------------------------------------------------------------------------- */

static kern_status read_weights(syn_gp_model *g, const model_safetensors *file, kern_error *err)
{
    const model_safetensors_entry *entry;
    const size_t n = g->m->params.length;
    double *values = g->m->values;
    KERN_TRY(model_safetensors_require(file, "weights", 1, &n, &entry, err));
    float *single = malloc(n * sizeof *single);
    if (single == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu weights", n);
    }
    kern_status status = model_safetensors_read_f32(file, entry, single, n, err);
    if (status == KERN_OK) {
        status = model_values_check_finite_f32("weights", single, n, err);
    }
    for (size_t i = 0; status == KERN_OK && i < n; i++) {
        values[i] = (double)single[i];
    }
    free(single);
    return status;
}

static kern_status read_file(syn_gp_model *g, const model_safetensors *file, kern_error *err)
{
    model_config config;
    const char *recipe = model_safetensors_metadata(file, "recipe");
    if (recipe == NULL) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "it is no state of the Gaussian-process benchmark: it has no recipe");
    }
    if (!model_safetensors_metadata_whole(file, "step", SIZE_MAX, &g->step)) {
        return kern_raise(err, KERN_BAD_INPUT, "its metadata have no step that is a whole number");
    }
    KERN_TRY(read_recipe(g, &config, recipe, err));
    KERN_TRY(
        model_regressor_create(&g->m, &config, SYN_GP_FEATURES, 0.0, &kern_backend_cpu_f64, err));
    return read_weights(g, file, err);
}

kern_status syn_gp_model_init(syn_gp_model *out, const char *path, kern_error *err)
{
    kern_error why = {0};
    model_safetensors *file = NULL;
    *out = (syn_gp_model){0};
    KERN_TRY(model_safetensors_create(&file, path, err));
    const kern_status status = read_file(out, file, &why);
    model_safetensors_destroy(file);
    if (status != KERN_OK) {
        syn_gp_model_fini(out);
        return kern_raise(err, status == KERN_NO_MEMORY ? status : KERN_BAD_INPUT, "'%s': %s", path,
                          why.text);
    }
    return KERN_OK;
}

void syn_gp_model_fini(syn_gp_model *g)
{
    model_destroy(g->m);
    *g = (syn_gp_model){0};
}

/* ---- sequences ------------------------------------------------------------------------------ */

static kern_status embed(syn_gp_sequence *s, const syn_gp_model *g, const syn_gp_batch *batch,
                         kern_error *err)
{
    const size_t count = batch->points * SYN_GP_FEATURES;
    float *single = malloc((count + batch->points) * sizeof *single);
    double *features = malloc(count * sizeof *features);
    kern_status status = KERN_NO_MEMORY;
    if (single != NULL && features != NULL) {
        syn_gp_tokens_f32(batch, single, single + count);
        for (size_t i = 0; i < count; i++) {
            features[i] = (double)single[i];
        }
        status = model_regressor_embed(g->m, features, s->points, s->rows, err);
    } else {
        (void)kern_raise(err, status, "no memory for %zu points", batch->points);
    }
    free(single);
    free(features);
    return status;
}

static kern_status draw(syn_gp_sequence *s, const syn_gp_model *g, uint64_t seed, kern_error *err)
{
    syn_gp *gp = NULL;
    syn_gp_batch batch = {0};
    KERN_TRY(syn_gp_create(&gp, g->task, 1, err));
    kern_status status = syn_gp_batch_init(&batch, 1, g->task->points, err);
    if (status == KERN_OK) {
        status = syn_gp_draw(gp, seed, SYN_GP_EVAL, 0, &batch, err);
    }
    if (status == KERN_OK) {
        memcpy(s->x, batch.x, s->points * sizeof *s->x);
        memcpy(s->y, batch.y, s->points * sizeof *s->y);
        status = embed(s, g, &batch, err);
    }
    syn_gp_batch_fini(&batch);
    syn_gp_destroy(gp);
    return status;
}

kern_status syn_gp_sequence_init(syn_gp_sequence *out, const syn_gp_model *g, uint64_t seed,
                                 size_t points, kern_error *err)
{
    const size_t n = points > 0 ? points : g->task->points;
    *out = (syn_gp_sequence){.points = n};
    if (n > g->task->points) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%zu points are asked of a task whose sequences have %zu", n,
                          g->task->points);
    }
    out->x = malloc(n * (2 + g->m->config.n_embed) * sizeof *out->x);
    if (out->x == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu points", n);
    }
    out->y = out->x + n;
    out->rows = out->y + n;
    const kern_status status = draw(out, g, seed, err);
    if (status != KERN_OK) {
        syn_gp_sequence_fini(out);
    }
    return status;
}

void syn_gp_sequence_fini(syn_gp_sequence *s)
{
    free(s->x);
    *s = (syn_gp_sequence){0};
}
