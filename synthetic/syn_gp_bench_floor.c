/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_bench_floor.h"

#include "models/model_run_path.h"
#include "models/model_safetensors.h"
#include "synthetic/syn_gp_floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_TEXT = 128, RECIPE_TEXT = 256 };

/* With fixed hyper-parameters the floor comes with the draw. */
static bool is_fixed(const syn_gp_task *task)
{
    return task->lengthscale.low == task->lengthscale.high && task->scale.low == task->scale.high;
}

/* One sequence over all nodes takes about twice as long as a batch through a small layer. */
size_t syn_gp_bench_floor_work(const syn_gp_bench *b)
{
    return is_fixed(b->options.plan.task) ? 0 : 2 * b->options.eval_sequences;
}

/* What the kept floor depends on. */
static void write_recipe(char recipe[RECIPE_TEXT], const syn_gp_bench *b,
                         const syn_gp_floor_options *o)
{
    (void)snprintf(recipe, RECIPE_TEXT, "%s, %zu sequences of seed %llu, %zu x %zu nodes",
                   b->options.plan.task->name, b->options.eval_sequences,
                   (unsigned long long)b->options.eval_seed, o->lengthscales, o->scales);
}

static kern_status read_floor(syn_gp_bench_set *set, const char *path, const char *recipe,
                              bool *found, kern_error *err)
{
    model_safetensors *file = NULL;
    const model_safetensors_entry *entry;
    const size_t shape[] = {set->batch.sequences, set->batch.points};
    const size_t count = shape[0] * shape[1];
    *found = false;
    kern_error why = {0};
    kern_status status = model_safetensors_create(&file, path, &why);
    if (status != KERN_OK) {
        return status == KERN_NOT_FOUND ? KERN_OK : kern_raise(err, status, "%s", why.text);
    }
    const char *made = model_safetensors_metadata(file, "recipe");
    if (made != NULL && strcmp(made, recipe) == 0) {
        *found = true;
        status = model_safetensors_require(file, "squared", 2, shape, &entry, err);
        if (status == KERN_OK) {
            status = model_safetensors_read_f64(file, entry, set->floor, count, err);
        }
    }
    model_safetensors_destroy(file);
    return status;
}

/* Counts floor work as the benchmark counts work. */
static bool watch(void *context, size_t done, size_t total)
{
    const syn_gp_bench *b = context;
    const syn_gp_bench_options *o = &b->options;
    const double share = (double)done / (double)(total > 0 ? total : 1);
    const size_t work = (size_t)(share * (double)syn_gp_bench_floor_work(b));
    return o->progress == NULL || o->progress(o->context, b->work_done + work, b->work_total);
}

static kern_status compute_floor(syn_gp_bench_set *set, const syn_gp_bench *b,
                                 const syn_gp_floor_options *o, const char *path,
                                 const char *recipe, kern_error *err)
{
    const model_safetensors_tensor tensor = {.name = "squared",
                                             .dtype = MODEL_DTYPE_F64,
                                             .rank = 2,
                                             .shape = {set->batch.sequences, set->batch.points},
                                             .data = set->floor};
    const model_safetensors_pair metadata = {"recipe", recipe};
    KERN_TRY(syn_gp_bayes(b->options.plan.task, &set->batch, o, set->floor, NULL, err));
    return model_safetensors_write(path, &tensor, 1, &metadata, 1, err);
}

static kern_status find_floor(syn_gp_bench_set *set, syn_gp_bench *b, kern_error *err)
{
    syn_gp_floor_options o = syn_gp_floor_options_default();
    char name[NAME_TEXT];
    char recipe[RECIPE_TEXT];
    char *path = NULL;
    bool found = false;
    if (is_fixed(b->options.plan.task)) {
        syn_gp_oracle(&set->batch, set->floor, NULL);
        return KERN_OK;
    }
    o.workers = b->options.workers;
    o.progress = watch;
    o.context = b;
    (void)snprintf(name, sizeof name, "%s-floor-n%zu-s%llu.safetensors", b->options.plan.task->name,
                   b->options.eval_sequences, (unsigned long long)b->options.eval_seed);
    write_recipe(recipe, b, &o);
    kern_status status = model_run_path(&path, b->options.folder, name, err);
    if (status == KERN_OK) {
        status = read_floor(set, path, recipe, &found, err);
    }
    if (status == KERN_OK && !found) {
        status = compute_floor(set, b, &o, path, recipe, err);
    }
    free(path);
    return status;
}

/* Scores of squared errors over all spans. */
static kern_status score(syn_gp_score *scores, const syn_gp_bench *b, const syn_gp_batch *batch,
                         const double *squared, kern_error *err)
{
    for (size_t i = 0; i < b->n_spans; i++) {
        KERN_TRY(syn_gp_score_rms(&scores[i], squared, batch->sequences, batch->points,
                                  syn_gp_span_at(i), err));
    }
    return KERN_OK;
}

static kern_status score_references(syn_gp_bench *b, const syn_gp_batch *batch, kern_error *err)
{
    double *squared = calloc(batch->sequences * batch->points, sizeof *squared);
    if (squared == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu errors", batch->sequences);
    }
    kern_status status = KERN_OK;
    for (size_t i = 0; i < SYN_GP_REFERENCES_MAX && status == KERN_OK; i++) {
        const syn_gp_reference *reference = syn_gp_reference_at(i);
        if (reference != NULL) {
            syn_gp_reference_squared(reference, b->options.plan.task, batch, squared);
            status = score(b->references[i], b, batch, squared, err);
        }
    }
    free(squared);
    return status;
}

static kern_status draw(syn_gp_batch *batch, const syn_gp_bench *b, kern_error *err)
{
    syn_gp *gp = NULL;
    const syn_gp_task *task = b->options.plan.task;
    KERN_TRY(syn_gp_batch_init(batch, b->options.eval_sequences, task->points, err));
    KERN_TRY(syn_gp_create(&gp, task, b->options.workers, err));
    const kern_status status = syn_gp_draw(gp, b->options.eval_seed, SYN_GP_EVAL, 0, batch, err);
    syn_gp_destroy(gp);
    return status;
}

kern_status syn_gp_bench_set_init(syn_gp_bench_set *set, syn_gp_bench *b, kern_error *err)
{
    *set = (syn_gp_bench_set){0};
    KERN_TRY(draw(&set->batch, b, err));
    set->floor = calloc(set->batch.sequences * set->batch.points, sizeof *set->floor);
    if (set->floor == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the floor of %zu sequences",
                          set->batch.sequences);
    }
    KERN_TRY(find_floor(set, b, err));
    KERN_TRY(score(b->floor, b, &set->batch, set->floor, err));
    return score_references(b, &set->batch, err);
}

void syn_gp_bench_set_fini(syn_gp_bench_set *set)
{
    syn_gp_batch_fini(&set->batch);
    free(set->floor);
    *set = (syn_gp_bench_set){0};
}
