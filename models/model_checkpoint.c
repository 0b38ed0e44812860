/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_checkpoint.h"

#include "kernels/kern_rng.h"
#include "models/model_checkpoint_private.h"
#include "models/model_training_json.h"
#include "models/model_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOMENT_NAME = MODEL_PARAM_NAME + 16,
    HASHED_TOKENS = 1 << 20, /* most tokens that enter the hash of the data */
    NUMBER_TEXT = 24
};

static const char first_moment[] = "exp_avg/";
static const char second_moment[] = "exp_avg_sq/";
static const char sampler_name[] = "sampler";

/* ---- Hashes ------------------------------------------------------------------------------ */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        const size_t left = size - at;
        memcpy(&word, bytes + at, left < sizeof word ? left : sizeof word);
        hash = kern_rng_mix(hash ^ word) + size;
    }
    return hash;
}

static void format_hash(char out[MODEL__HASH_TEXT], uint64_t hash)
{
    (void)snprintf(out, MODEL__HASH_TEXT, "%016" PRIx64, hash);
}

/* Of the tokens that windows are drawn from: their number and, evenly spaced, up to a million. */
static void hash_data(const model_sampler *s, char out[MODEL__HASH_TEXT])
{
    const size_t stride = s->count / HASHED_TOKENS + 1;
    uint64_t hash = kern_rng_mix(s->count);
    for (size_t i = 0; i < s->count; i += stride) {
        hash = kern_rng_hash(hash, (uint64_t)s->ids[i]);
    }
    format_hash(out, hash);
}

/* ---- Saving ------------------------------------------------------------------------------ */

/* Metadata as texts. */
typedef struct marks {
    char step[NUMBER_TEXT];
    char updates[NUMBER_TEXT];
    char weights[MODEL_WEIGHTS_HASH];
    char data[MODEL__HASH_TEXT];
    char sampler[MODEL__HASH_TEXT];
} marks;

static void mark_trainer(marks *out, const model_trainer *t, const void *sampler, size_t size)
{
    (void)snprintf(out->step, sizeof out->step, "%zu", t->step);
    (void)snprintf(out->updates, sizeof out->updates, "%zu", t->optimizer.steps);
    model_weights_hash(t->m, out->weights);
    hash_data(&t->sampler, out->data);
    format_hash(out->sampler, hash_bytes(1, sampler, size));
}

static void describe_moment(model_safetensors_tensor *out, const model_param *p, const char *name,
                            const float *moments)
{
    *out = (model_safetensors_tensor){
        .name = name, .dtype = MODEL_DTYPE_F32, .rank = p->rank, .data = moments + p->offset};
    out->shape[0] = p->rank == 2 ? p->rows : p->cols;
    out->shape[1] = p->rank == 2 ? p->cols : 0;
}

static kern_status write_tensors(const model_trainer *t, const char *path,
                                 const model_safetensors_tensor *sampler,
                                 const model_safetensors_pair *pairs, size_t n_pairs,
                                 kern_error *err)
{
    const model_params *params = &t->m->params;
    const size_t count = 2 * params->count + 1;
    model_safetensors_tensor *tensors = calloc(count, sizeof *tensors);
    char(*names)[MOMENT_NAME] = calloc(count, sizeof *names);
    kern_status status;
    if (tensors == NULL || names == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory to write '%s'", path);
        goto done;
    }
    for (size_t i = 0; i < params->count; i++) {
        const model_param *p = &params->items[i];
        (void)snprintf(names[2 * i], MOMENT_NAME, "%s%s", first_moment, p->name);
        (void)snprintf(names[2 * i + 1], MOMENT_NAME, "%s%s", second_moment, p->name);
        describe_moment(&tensors[2 * i], p, names[2 * i], t->optimizer.m);
        describe_moment(&tensors[2 * i + 1], p, names[2 * i + 1], t->optimizer.v);
    }
    tensors[count - 1] = *sampler;
    status = model_safetensors_write(path, tensors, count, pairs, n_pairs, err);
done:
    free(names);
    free(tensors);
    return status;
}

static kern_status write_optimizer(const model_trainer *t, const char *path, const marks *mark,
                                   const model_safetensors_tensor *sampler, kern_error *err)
{
    char *training = NULL;
    KERN_TRY(model_training_to_text(&t->settings, &training, err));
    const model_safetensors_pair pairs[] = {
        {"format", "basin-optimizer"}, {"family", model_config_family_name(&t->m->config)},
        {"step", mark->step},          {"updates", mark->updates},
        {"weights", mark->weights},    {"data", mark->data},
        {"sampler", mark->sampler},    {"training", training},
    };
    const kern_status status =
        write_tensors(t, path, sampler, pairs, sizeof pairs / sizeof pairs[0], err);
    free(training);
    return status;
}

static kern_status write_next(const model_trainer *t, const model__checkpoint_paths *paths,
                              kern_error *err)
{
    const size_t size = model_sampler_state_size(&t->sampler);
    void *state = malloc(size);
    if (state == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random state of %zu bytes", size);
    }
    marks mark;
    model_sampler_save(&t->sampler, state);
    mark_trainer(&mark, t, state, size);
    const model_safetensors_pair extra[] = {{"step", mark.step}, {"weights", mark.weights}};
    const model_safetensors_tensor sampler = {
        .name = sampler_name, .dtype = MODEL_DTYPE_U8, .rank = 1, .shape = {size}, .data = state};
    kern_status status = model_weights_write(t->m, paths->model_next, extra, 2, err);
    if (status == KERN_OK) {
        status = write_optimizer(t, paths->optimizer_next, &mark, &sampler, err);
    }
    free(state);
    return status;
}

kern_status model_checkpoint_save(const char *folder, const model_trainer *t, kern_error *err)
{
    model__checkpoint_paths paths;
    KERN_TRY(model__checkpoint_paths_init(&paths, folder, err));
    kern_status status = write_next(t, &paths, err);
    if (status == KERN_OK) {
        status = model__checkpoint_promote(folder, paths.model_next, paths.model, err);
    }
    if (status == KERN_OK) {
        status = model__checkpoint_promote(folder, paths.optimizer_next, paths.optimizer, err);
    }
    model__checkpoint_paths_fini(&paths);
    return status;
}

kern_status model_checkpoint_stage(const char *folder, const model_trainer *t, kern_error *err)
{
    model__checkpoint_paths paths;
    size_t step = 0;
    /* What waits there may be all that an interrupted saving left of an optimizer. */
    (void)model_checkpoint_recover(folder, &step, NULL);
    KERN_TRY(model__checkpoint_paths_init(&paths, folder, err));
    const kern_status status = write_next(t, &paths, err);
    if (status != KERN_OK) {
        (void)remove(paths.model_next);
        (void)remove(paths.optimizer_next);
    }
    model__checkpoint_paths_fini(&paths);
    return status;
}

/* ---- Loading ----------------------------------------------------------------------------- */

/* An open pair. */
typedef struct pair {
    model_safetensors *model;
    model_safetensors *optimizer;
    const model__checkpoint_paths *paths;
} pair;

/* Metadata of the optimizer file; a missing entry is a damaged file. */
static kern_status get_mark(const pair *files, const char *key, const char **text, kern_error *err)
{
    *text = model_safetensors_metadata(files->optimizer, key);
    return *text != NULL ? KERN_OK
                         : kern_raise(err, KERN_BAD_INPUT, "'%s' has no metadata \"%s\"",
                                      files->paths->optimizer, key);
}

static kern_status raise_damaged(const char *path, const char *what, kern_error *err)
{
    return kern_raise(err, KERN_BAD_INPUT, "'%s' is damaged: %s differ from their checksum", path,
                      what);
}

static kern_status check_settings(const pair *files, const model_trainer *t,
                                  char note[MODEL_CHECKPOINT_NOTE], kern_error *err)
{
    const char *text = NULL;
    char data[MODEL__HASH_TEXT];
    model_training saved;
    kern_error inner = {0};
    KERN_TRY(get_mark(files, "training", &text, err));
    const kern_status status = model_training_from_text(&saved, text, &inner);
    if (status != KERN_OK) {
        return kern_raise(err, status, "'%s': %s", files->paths->optimizer, inner.text);
    }
    KERN_TRY(model__checkpoint_compare(&saved, &t->settings, note, err));
    KERN_TRY(get_mark(files, "data", &text, err));
    hash_data(&t->sampler, data);
    if (strcmp(text, data) != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the data (%zu training tokens) are not those that the run was trained "
                          "with; resuming accepts no change of them",
                          t->sampler.count);
    }
    return KERN_OK;
}

static kern_status read_moment(const pair *files, const model_param *p, const char *start,
                               float *moments, kern_error *err)
{
    char name[MOMENT_NAME];
    const size_t shape[] = {p->rank == 2 ? p->rows : p->cols, p->cols};
    const model_safetensors_entry *entry = NULL;
    (void)snprintf(name, sizeof name, "%s%s", start, p->name);
    KERN_TRY(model_safetensors_require(files->optimizer, name, p->rank, shape, &entry, err));
    float *out = moments + p->offset;
    KERN_TRY(model_safetensors_read_f32(files->optimizer, entry, out, entry->count, err));
    KERN_TRY(model_values_check_finite_f32(name, out, entry->count, err));
    const bool squares = start == second_moment;
    for (size_t i = 0; i < entry->count; i++) {
        if (squares && out[i] < 0.0F) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "value %zu of %s is %g; a mean of squares is at least 0", i, name,
                              (double)out[i]);
        }
    }
    return KERN_OK;
}

static kern_status read_sampler(const pair *files, model_trainer *t, kern_error *err)
{
    const size_t size = model_sampler_state_size(&t->sampler);
    const model_safetensors_entry *entry = NULL;
    const char *mark = NULL;
    char hash[MODEL__HASH_TEXT];
    KERN_TRY(get_mark(files, "sampler", &mark, err));
    KERN_TRY(model_safetensors_require(files->optimizer, sampler_name, 1, &size, &entry, err));
    if (entry->dtype != MODEL_DTYPE_U8) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "tensor '%s' of '%s' has the type %s; accepted is U8", sampler_name,
                          files->paths->optimizer, model_dtype_word(entry->dtype));
    }
    void *state = malloc(size);
    if (state == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random state of %zu bytes", size);
    }
    kern_status status = model_safetensors_read_bytes(files->optimizer, entry, state, size, err);
    if (status == KERN_OK) {
        format_hash(hash, hash_bytes(1, state, size));
        status = strcmp(hash, mark) == 0
                     ? model_sampler_restore(&t->sampler, state, size, err)
                     : raise_damaged(files->paths->optimizer, "the random numbers", err);
    }
    free(state);
    return status;
}

static kern_status read_optimizer(const pair *files, model_trainer *t, kern_error *err)
{
    const model_params *params = &t->m->params;
    if (model_safetensors_count(files->optimizer) != 2 * params->count + 1) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s' has %zu tensors; expected are %zu",
                          files->paths->optimizer, model_safetensors_count(files->optimizer),
                          2 * params->count + 1);
    }
    for (size_t i = 0; i < params->count; i++) {
        KERN_TRY(read_moment(files, &params->items[i], first_moment, t->optimizer.m, err));
        KERN_TRY(read_moment(files, &params->items[i], second_moment, t->optimizer.v, err));
    }
    return read_sampler(files, t, err);
}

/* Steps of the trainer and updates of the optimizer are counted apart. */
static kern_status read_counters(const pair *files, model_trainer *t, kern_error *err)
{
    const char *text = NULL;
    size_t step = 0;
    KERN_TRY(model_checkpoint_step(files->model, files->paths->model, &step, err));
    KERN_TRY(get_mark(files, "updates", &text, err));
    char *end = NULL;
    const unsigned long long updates = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0') {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the updates in the metadata of '%s' are \"%.40s\"; a whole number is "
                          "accepted",
                          files->paths->optimizer, text);
    }
    t->step = step;
    t->optimizer.steps = (size_t)updates;
    return KERN_OK;
}

static kern_status load_pair(const pair *files, model_trainer *t, char note[MODEL_CHECKPOINT_NOTE],
                             kern_error *err)
{
    const char *mark = NULL;
    char hash[MODEL__HASH_TEXT];
    kern_error inner = {0};
    KERN_TRY(model_weights_check_config(files->model, files->paths->model, &t->m->config, err));
    KERN_TRY(check_settings(files, t, note, err));
    KERN_TRY(model_weights_read(t->m, files->model, files->paths->model, err));
    KERN_TRY(get_mark(files, "weights", &mark, err));
    model_weights_hash(t->m, hash);
    if (strcmp(hash, mark) != 0) {
        return raise_damaged(files->paths->model, "its weights", err);
    }
    kern_status status = read_optimizer(files, t, &inner);
    if (status == KERN_NAN || status == KERN_NOT_FOUND) {
        status = KERN_BAD_INPUT; /* the file is there; what it should hold is not */
    }
    if (status != KERN_OK) {
        return kern_raise(err, status, "%s", inner.text);
    }
    return read_counters(files, t, err);
}

static kern_status open_and_load(const char *folder, const model__checkpoint_paths *paths,
                                 model_trainer *t, char note[MODEL_CHECKPOINT_NOTE],
                                 kern_error *err)
{
    pair files = {.paths = paths};
    KERN_TRY(model__checkpoint_repair(folder, paths, err));
    kern_status status = model_safetensors_create(&files.model, paths->model, err);
    if (status == KERN_OK) {
        status = model_safetensors_create(&files.optimizer, paths->optimizer, err);
    }
    if (status == KERN_OK) {
        status = load_pair(&files, t, note, err);
    }
    model_safetensors_destroy(files.model);
    model_safetensors_destroy(files.optimizer);
    return status;
}

kern_status model_checkpoint_load(const char *folder, model_trainer *t,
                                  char note[MODEL_CHECKPOINT_NOTE], kern_error *err)
{
    model__checkpoint_paths paths;
    note[0] = '\0';
    KERN_TRY(model__checkpoint_paths_init(&paths, folder, err));
    const kern_status status = open_and_load(folder, &paths, t, note, err);
    model__checkpoint_paths_fini(&paths);
    return status;
}
