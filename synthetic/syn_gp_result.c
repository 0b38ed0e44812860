/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "synthetic/syn_gp_result.h"

#include "models/model_file.h"
#include "models/model_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 26)

/* ---- passes --------------------------------------------------------------------------------- */

static size_t count_spans(void)
{
    size_t n = 0;
    while (syn_gp_span_at(n) != NULL) {
        n++;
    }
    return n;
}

static bool has_hist(const syn_gp_arm *arm, const syn_gp_evaluation *e, unsigned hist)
{
    return syn_gp_arm_serves_both(arm) ? e->hists[hist] : arm->hist == (model_hist)hist;
}

bool syn_gp_result_pass(const syn_gp_arm *arm, const syn_gp_evaluation *e, size_t pass,
                        model_hist *hist, size_t *steps)
{
    *hist = arm->hist;
    *steps = arm->steps;
    if (!arm->kind->recursive) {
        return pass == 0;
    }
    size_t index = pass;
    for (unsigned h = 0; h < SYN_GP_HISTS; h++) {
        if (!has_hist(arm, e, h)) {
            continue;
        }
        if (index < e->n_steps) {
            *hist = (model_hist)h;
            *steps = e->steps[index];
            return true;
        }
        index -= e->n_steps;
    }
    return false;
}

size_t syn_gp_result_rows(const syn_gp_arm *arm, const syn_gp_evaluation *e)
{
    model_hist hist;
    size_t steps;
    size_t passes = 0;
    while (syn_gp_result_pass(arm, e, passes, &hist, &steps)) {
        passes++;
    }
    return passes * count_spans();
}

const char *syn_gp_result_hist(const syn_gp_arm *arm, model_hist hist)
{
    return arm->kind->recursive ? model_hist_word(hist) : "none";
}

void syn_gp_result_fini(syn_gp_result *r)
{
    free(r->rows);
    *r = (syn_gp_result){0};
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Adds an item, which is released when that fails; to an array when `key` is NULL. */
static kern_status attach(cJSON *parent, const char *key, cJSON *item, kern_error *err)
{
    const bool added = item != NULL && (key != NULL ? cJSON_AddItemToObject(parent, key, item)
                                                    : cJSON_AddItemToArray(parent, item));
    if (!added) {
        cJSON_Delete(item);
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a result");
    }
    return KERN_OK;
}

static kern_status add_number(cJSON *object, const char *key, double value, kern_error *err)
{
    return isfinite(value) ? model_json_add_real(object, key, value, err)
                           : attach(object, key, cJSON_CreateNull(), err);
}

static kern_status add_evaluation(cJSON *parent, const syn_gp_arm *arm, const syn_gp_evaluation *e,
                                  kern_error *err)
{
    cJSON *object = cJSON_CreateObject();
    KERN_TRY(attach(parent, "evaluation", object, err));
    KERN_TRY(model_json_add_size(object, "sequences", e->sequences, err));
    KERN_TRY(model_json_add_u64(object, "seed", e->seed, err));
    if (!arm->kind->recursive) {
        return KERN_OK;
    }
    cJSON *hists = cJSON_CreateArray();
    KERN_TRY(attach(object, "hists", hists, err));
    for (unsigned h = 0; h < SYN_GP_HISTS; h++) {
        if (has_hist(arm, e, h)) {
            KERN_TRY(attach(hists, NULL, cJSON_CreateString(model_hist_word((model_hist)h)), err));
        }
    }
    KERN_TRY(model_json_add_size(object, "t_mlp", e->t_mlp, err));
    return model_json_add_sizes(object, "steps", e->steps, e->n_steps, err);
}

static kern_status add_row(cJSON *rows, const syn_gp_row *row, kern_error *err)
{
    cJSON *object = cJSON_CreateObject();
    KERN_TRY(attach(rows, NULL, object, err));
    KERN_TRY(model_json_add_string(object, "hist", row->hist, err));
    KERN_TRY(model_json_add_size(object, "steps_eval", row->steps_eval, err));
    KERN_TRY(model_json_add_string(object, "range", row->span->name, err));
    KERN_TRY(add_number(object, "rmse", row->rmse.value, err));
    KERN_TRY(add_number(object, "rmse_error", row->rmse.error, err));
    KERN_TRY(add_number(object, "excess", row->excess.value, err));
    return add_number(object, "excess_error", row->excess.error, err);
}

static kern_status add_result(cJSON *object, const syn_gp_result *r, const syn_gp_arm *arm,
                              const syn_gp_evaluation *e, const char *recipe, kern_error *err)
{
    KERN_TRY(attach(object, "recipe", cJSON_Parse(recipe), err));
    KERN_TRY(add_evaluation(object, arm, e, err));
    KERN_TRY(model_json_add_string(object, "status", kern_status_word(r->status), err));
    KERN_TRY(model_json_add_size(object, "trained", r->trained, err));
    KERN_TRY(model_json_add_size(object, "parameters", r->parameters, err));
    cJSON *rows = cJSON_CreateArray();
    KERN_TRY(attach(object, "rows", rows, err));
    for (size_t i = 0; i < r->n_rows; i++) {
        KERN_TRY(add_row(rows, &r->rows[i], err));
    }
    return KERN_OK;
}

kern_status syn_gp_result_write(const syn_gp_result *r, const syn_gp_arm *arm,
                                const syn_gp_evaluation *evaluation, const char *recipe,
                                const char *path, kern_error *err)
{
    char *text = NULL;
    cJSON *object = cJSON_CreateObject();
    kern_status status = object != NULL ? add_result(object, r, arm, evaluation, recipe, err)
                                        : kern_raise(err, KERN_NO_MEMORY, "no memory for a result");
    if (status == KERN_OK) {
        status = model_json_print(object, true, &text, err);
    }
    if (status == KERN_OK) {
        const model_file_chunk chunks[] = {{text, strlen(text)}, {"\n", 1}};
        status = model_file_write_atomic(path, chunks, 2, err);
    }
    free(text);
    cJSON_Delete(object);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* NaN where the file has null. */
static kern_status read_number(const cJSON *object, const char *key, double *out, kern_error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = (double)NAN;
    return cJSON_IsNull(item) ? KERN_OK : model_json_get_real(object, key, -1e300, 1e300, out, err);
}

/* Scores of a row that is otherwise known: it stands where the passes put it. */
static kern_status read_row(const cJSON *object, syn_gp_row *row, kern_error *err)
{
    const char *hist;
    const char *range;
    size_t steps;
    KERN_TRY(model_json_get_string(object, "hist", &hist, err));
    KERN_TRY(model_json_get_string(object, "range", &range, err));
    KERN_TRY(model_json_get_size(object, "steps_eval", 1, MODEL_INNER_MAX, &steps, err));
    if (strcmp(hist, row->hist) != 0 || strcmp(range, row->span->name) != 0 ||
        steps != row->steps_eval) {
        return kern_raise(err, KERN_BAD_INPUT, "a row is of %s, %zu, %s where %s, %zu, %s belongs",
                          hist, steps, range, row->hist, row->steps_eval, row->span->name);
    }
    KERN_TRY(read_number(object, "rmse", &row->rmse.value, err));
    KERN_TRY(read_number(object, "rmse_error", &row->rmse.error, err));
    KERN_TRY(read_number(object, "excess", &row->excess.value, err));
    return read_number(object, "excess_error", &row->excess.error, err);
}

static kern_status read_rows(syn_gp_result *r, const cJSON *object, const syn_gp_arm *arm,
                             const syn_gp_evaluation *e, kern_error *err)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(object, "rows");
    const size_t wanted = r->status == KERN_OK ? syn_gp_result_rows(arm, e) : 0;
    const size_t spans = count_spans();
    if (!cJSON_IsArray(rows) || (size_t)cJSON_GetArraySize(rows) != wanted) {
        return kern_raise(err, KERN_BAD_INPUT, "\"rows\" is no array of %zu rows", wanted);
    }
    r->rows = calloc(wanted + 1, sizeof *r->rows);
    if (r->rows == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu rows", wanted);
    }
    for (const cJSON *item = rows->child; item != NULL; item = item->next) {
        syn_gp_row *row = &r->rows[r->n_rows];
        model_hist hist;
        (void)syn_gp_result_pass(arm, e, r->n_rows / spans, &hist, &row->steps_eval);
        row->hist = syn_gp_result_hist(arm, hist);
        row->span = syn_gp_span_at(r->n_rows % spans);
        KERN_TRY(read_row(item, row, err));
        r->n_rows++;
    }
    return KERN_OK;
}

static kern_status read_status(const cJSON *object, kern_status *status, kern_error *err)
{
    const char *word;
    KERN_TRY(model_json_get_string(object, "status", &word, err));
    *status = strcmp(word, kern_status_word(KERN_OK)) == 0 ? KERN_OK : KERN_NAN;
    if (strcmp(word, kern_status_word(*status)) != 0) {
        return kern_raise(err, KERN_BAD_INPUT, "\"status\" is \"%.40s\"; accepted are ok and nan",
                          word);
    }
    return KERN_OK;
}

/* True when the object's recipe is the JSON text. */
static bool same_recipe(const cJSON *object, const char *recipe)
{
    cJSON *wanted = cJSON_Parse(recipe);
    const bool same =
        cJSON_Compare(cJSON_GetObjectItemCaseSensitive(object, "recipe"), wanted, true);
    cJSON_Delete(wanted);
    return same;
}

/* What is wanted goes through text, since numbers that were read are of another kind in cJSON than
 * numbers that are to be written. */
static kern_status same_evaluation(bool *same, const cJSON *object, const syn_gp_arm *arm,
                                   const syn_gp_evaluation *e, kern_error *err)
{
    char *text = NULL;
    cJSON *wanted = cJSON_CreateObject();
    *same = false;
    kern_status status = wanted != NULL ? add_evaluation(wanted, arm, e, err)
                                        : kern_raise(err, KERN_NO_MEMORY, "no memory for a result");
    if (status == KERN_OK) {
        status = model_json_print(wanted, false, &text, err);
    }
    cJSON_Delete(wanted);
    if (status == KERN_OK) {
        wanted = cJSON_Parse(text);
        *same = cJSON_Compare(cJSON_GetObjectItemCaseSensitive(object, "evaluation"),
                              cJSON_GetObjectItemCaseSensitive(wanted, "evaluation"), true);
        cJSON_Delete(wanted);
    }
    free(text);
    return status;
}

static kern_status read_object(syn_gp_result *r, const cJSON *object, const syn_gp_arm *arm,
                               const syn_gp_evaluation *e, const char *recipe, kern_error *err)
{
    bool same;
    if (!same_recipe(object, recipe)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "it was made with other settings; accepted are the same ones, or another "
                          "folder");
    }
    KERN_TRY(same_evaluation(&same, object, arm, e, err));
    if (!same) {
        return KERN_OK;
    }
    KERN_TRY(read_status(object, &r->status, err));
    KERN_TRY(model_json_get_size(object, "trained", 0, MODEL_JSON_WHOLE_MAX, &r->trained, err));
    KERN_TRY(
        model_json_get_size(object, "parameters", 1, MODEL_JSON_WHOLE_MAX, &r->parameters, err));
    KERN_TRY(read_rows(r, object, arm, e, err));
    r->done = true;
    return KERN_OK;
}

kern_status syn_gp_result_read(syn_gp_result *r, const syn_gp_arm *arm,
                               const syn_gp_evaluation *evaluation, const char *recipe,
                               const char *path, kern_error *err)
{
    char *text = NULL;
    size_t size = 0;
    cJSON *object = NULL;
    kern_error why = {0};
    *r = (syn_gp_result){0};
    kern_status status = model_file_read(path, FILE_MAX, &text, &size, &why);
    if (status != KERN_OK) {
        return status == KERN_NOT_FOUND ? KERN_OK : kern_raise(err, status, "%s", why.text);
    }
    status = model_json_parse("the result", text, size, FILE_MAX, &object, &why);
    if (status == KERN_OK) {
        status = read_object(r, object, arm, evaluation, recipe, &why);
    }
    cJSON_Delete(object);
    free(text);
    if (status != KERN_OK) {
        syn_gp_result_fini(r);
        return kern_raise(err, KERN_BAD_INPUT, "'%s': %s", path, why.text);
    }
    return KERN_OK;
}
