/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_file.h"

#include "models/model_hdf5.h"
#include "models/verify/verify_seal.h"
#include "models/verify/verify_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "basin-witnesses"

/* Of a path "claim/entry", and of "name=word". */
enum { PATH_TEXT = 2 * VERIFY_NAME + 2 };

static const char *needs_word(verify_needs needs)
{
    return needs == VERIFY_RUN ? "run" : "random";
}

/* ---- writing -------------------------------------------------------------------------------- */

static kern_status put_text(model_hdf5_writer *writer, const char *group, const char *name,
                            const char *value, kern_error *err)
{
    return model_hdf5_put_attr_string(writer, group, name, value, err);
}

static kern_status put_whole(model_hdf5_writer *writer, const char *group, const char *name,
                             uint64_t value, kern_error *err)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    return put_text(writer, group, name, text, err);
}

static kern_status put_outcome(model_hdf5_writer *writer, const verify_result *result,
                               kern_error *err)
{
    const verify_claim *claim = result->claim;
    const verify_outcome *o = &result->outcome;
    const char *group = claim->name;
    KERN_TRY(put_text(writer, group, "claim", claim->name, err));
    KERN_TRY(put_text(writer, group, "needs", needs_word(claim->needs), err));
    KERN_TRY(put_text(writer, group, "kind", verify_kind_word(claim->kind), err));
    KERN_TRY(put_text(writer, group, "statement", claim->statement, err));
    KERN_TRY(put_text(writer, group, "source", claim->source, err));
    KERN_TRY(put_whole(writer, group, "seed", result->seed, err));
    KERN_TRY(put_whole(writer, group, "trial", result->worst_trial, err));
    KERN_TRY(model_hdf5_put_attr_int64(writer, group, "witness", result->witness, err));
    KERN_TRY(model_hdf5_put_attr_doubles(writer, group, "left", &o->left, 1, err));
    KERN_TRY(model_hdf5_put_attr_doubles(writer, group, "right", &o->right, 1, err));
    KERN_TRY(model_hdf5_put_attr_doubles(writer, group, "tolerance", &o->tolerance, 1, err));
    return model_hdf5_put_attr_doubles(writer, group, "scale", &o->scale, 1, err);
}

static kern_status put_entry(model_hdf5_writer *writer, const char *group,
                             const verify_entry *entry, char listed[PATH_TEXT], kern_error *err)
{
    char path[PATH_TEXT];
    if (entry->rows == 0) {
        (void)snprintf(listed, PATH_TEXT, "%s=%s", entry->name, entry->word);
        return KERN_OK;
    }
    (void)snprintf(listed, PATH_TEXT, "%s", entry->name);
    (void)snprintf(path, sizeof path, "%s/%s", group, entry->name);
    const model_hdf5_shape shape = {.rank = 2, .size = {entry->rows, entry->cols}};
    return model_hdf5_put_doubles(writer, path, entry->values, &shape, NULL, err);
}

static kern_status put_record(model_hdf5_writer *writer, const char *group,
                              const verify_record *record, kern_error *err)
{
    char listed[VERIFY_ENTRIES_MAX][PATH_TEXT];
    const char *texts[VERIFY_ENTRIES_MAX];
    char path[PATH_TEXT];
    for (size_t i = 0; i < record->count; i++) {
        texts[i] = listed[i];
        KERN_TRY(put_entry(writer, group, &record->entries[i], listed[i], err));
    }
    (void)snprintf(path, sizeof path, "%s/entries", group);
    const model_hdf5_shape shape = {.rank = 1, .size = {record->count}};
    return model_hdf5_put_strings(writer, path, texts, &shape, NULL, err);
}

/* True for a result with an instance to write. */
static bool has_record(const verify_result *result)
{
    return result->record.count > 0;
}

static kern_status put_all(model_hdf5_writer *writer, const verify_result *results, size_t n,
                           const char **names, kern_error *err)
{
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        if (has_record(&results[i])) {
            names[written++] = results[i].claim->name;
            KERN_TRY(model_hdf5_put_group(writer, results[i].claim->name, err));
            KERN_TRY(put_outcome(writer, &results[i], err));
            KERN_TRY(put_record(writer, results[i].claim->name, &results[i].record, err));
        }
    }
    const model_hdf5_shape shape = {.rank = 1, .size = {written}};
    return model_hdf5_put_strings(writer, "claims", names, &shape, NULL, err);
}

kern_status verify_file_write(const char *path, const verify_result *results, size_t n,
                              const char *recipe, kern_error *err)
{
    model_hdf5_writer *writer = NULL;
    const char **names = calloc(n + 1, sizeof *names);
    if (names == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu names", n);
    }
    kern_status status = model_hdf5_writer_create(&writer, path, err);
    if (status == KERN_OK) {
        status = put_text(writer, "/", "format", FORMAT, err);
    }
    if (status == KERN_OK) {
        status = model_hdf5_put_attr_int64(writer, "/", "version", VERIFY_FILE_VERSION, err);
    }
    if (status == KERN_OK && recipe != NULL) {
        status = put_text(writer, "/", "recipe", recipe, err);
    }
    if (status == KERN_OK) {
        status = put_all(writer, results, n, names, err);
    }
    if (status == KERN_OK) {
        status = model_hdf5_writer_commit(writer, err);
    }
    if (status == KERN_OK) {
        status = verify_seal_put(path, err);
    }
    model_hdf5_writer_destroy(writer);
    free(names);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct file_reader {
    const model_hdf5_reader *in;
    const char *path;
} file_reader;

/* The sentence of a damaged file: where, and what is wrong there. */
static kern_status bad_file(const file_reader *r, const char *place, const kern_error *why,
                            kern_error *err)
{
    return kern_raise(err, why->status == KERN_NO_MEMORY ? KERN_NO_MEMORY : KERN_BAD_INPUT,
                      "%s, %s: %s", r->path, place, why->text);
}

/* Texts of a dataset of rank 1; the caller frees *texts. */
static kern_status read_texts(const file_reader *r, const char *name, size_t most, char ***texts,
                              size_t *n, kern_error *err)
{
    model_hdf5_shape shape;
    KERN_TRY(model_hdf5_read_shape(r->in, name, &shape, err));
    if (shape.rank != 1 || shape.size[0] > most) {
        return kern_raise(err, KERN_BAD_INPUT, "it is no list of at most %zu texts", most);
    }
    *n = shape.size[0];
    if (*n == 0) {
        return KERN_OK;
    }
    return model_hdf5_read_strings(r->in, name, texts, *n, err);
}

static kern_status read_matrix(const file_reader *r, const char *group, const char *name,
                               verify_record *record, kern_error *err)
{
    char path[2 * PATH_TEXT];
    double *values = NULL;
    model_hdf5_shape shape;
    if (snprintf(path, sizeof path, "%s/%s", group, name) >= (int)sizeof path) {
        return kern_raise(err, KERN_BAD_INPUT, "the name of an entry is too long");
    }
    KERN_TRY(model_hdf5_read_shape(r->in, path, &shape, err));
    if (shape.rank != 2) {
        return kern_raise(err, KERN_BAD_INPUT, "\"%s\" has rank %zu; 2 is accepted", name,
                          shape.rank);
    }
    KERN_TRY(verify_record_put(record, name, shape.size[0], shape.size[1], &values, err));
    return model_hdf5_read_doubles(r->in, path, values, shape.size[0] * shape.size[1], err);
}

/* One line of "entries": "name", or "name=word", which is cut in two here. */
static kern_status read_entry(const file_reader *r, const char *group, char *listed,
                              verify_record *record, kern_error *err)
{
    char *equals = strchr(listed, '=');
    if (equals == NULL) {
        return read_matrix(r, group, listed, record, err);
    }
    *equals = '\0';
    return verify_record_put_word(record, listed, equals + 1, err);
}

static kern_status read_record(const file_reader *r, const char *group, verify_record *record,
                               kern_error *err)
{
    char path[2 * PATH_TEXT];
    char **listed = NULL;
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%.60s/entries", group);
    kern_status status = read_texts(r, path, VERIFY_ENTRIES_MAX, &listed, &n, err);
    for (size_t i = 0; i < n && status == KERN_OK; i++) {
        status = read_entry(r, group, listed[i], record, err);
    }
    free(listed);
    return status;
}

static kern_status find_claim(const file_reader *r, const char *group, const verify_claim **claim,
                              kern_error *err)
{
    char *name = NULL;
    char *needs = NULL;
    kern_status status = model_hdf5_read_attr_string(r->in, group, "claim", &name, err);
    if (status == KERN_OK) {
        status = model_hdf5_read_attr_string(r->in, group, "needs", &needs, err);
    }
    if (status == KERN_OK) {
        *claim = verify_table_find(name, strcmp(needs, "run") == 0 ? VERIFY_RUN : VERIFY_RANDOM);
        if (*claim == NULL) {
            status = verify_table_check(name, err);
        }
        if (*claim == NULL && status == KERN_OK) {
            status = kern_raise(err, KERN_BAD_INPUT, "there is no claim \"%.60s\" about %s", name,
                                strcmp(needs, "run") == 0 ? "a run" : "random instances");
        }
    }
    free(name);
    free(needs);
    return status;
}

static kern_status read_stored(const file_reader *r, const char *group, verify_stored *stored,
                               kern_error *err)
{
    int64_t witness = 0;
    KERN_TRY(find_claim(r, group, &stored->claim, err));
    KERN_TRY(model_hdf5_read_attr_int64(r->in, group, "witness", &witness, err));
    KERN_TRY(model_hdf5_read_attr_doubles(r->in, group, "left", &stored->left, 1, err));
    KERN_TRY(model_hdf5_read_attr_doubles(r->in, group, "right", &stored->right, 1, err));
    KERN_TRY(model_hdf5_read_attr_doubles(r->in, group, "tolerance", &stored->tolerance, 1, err));
    stored->witness = witness != 0;
    return read_record(r, group, &stored->record, err);
}

static kern_status check_format(const file_reader *r, kern_error *err)
{
    char *format = NULL;
    int64_t version = 0;
    kern_status status = model_hdf5_read_attr_string(r->in, "/", "format", &format, NULL);
    const bool right = status == KERN_OK && strcmp(format, FORMAT) == 0;
    free(format);
    if (!right) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s is no file of witnesses, as basin verify --out writes them", r->path);
    }
    status = model_hdf5_read_attr_int64(r->in, "/", "version", &version, NULL);
    if (status != KERN_OK || version != VERIFY_FILE_VERSION) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "%s has version %" PRId64 " of its format; %d is accepted", r->path,
                          version, VERIFY_FILE_VERSION);
    }
    return KERN_OK;
}

static kern_status read_all(const file_reader *r, verify_file *file, kern_error *err)
{
    kern_error why = {0};
    char **groups = NULL;
    size_t n = 0;
    KERN_TRY(check_format(r, err));
    if (read_texts(r, "claims", VERIFY_FILE_MOST, &groups, &n, &why) != KERN_OK) {
        return bad_file(r, "claims", &why, err);
    }
    kern_status status = KERN_OK;
    file->items = calloc(n + 1, sizeof *file->items);
    if (file->items == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu records", n);
    }
    for (size_t i = 0; i < n && status == KERN_OK; i++) {
        file->n = i + 1;
        if (read_stored(r, groups[i], &file->items[i], &why) != KERN_OK) {
            status = bad_file(r, groups[i], &why, err);
        }
    }
    free(groups);
    return status;
}

kern_status verify_file_read(verify_file *file, const char *path, kern_error *err)
{
    model_hdf5_reader *in = NULL;
    *file = (verify_file){0};
    KERN_TRY(verify_seal_check(path, err));
    KERN_TRY(model_hdf5_reader_create(&in, path, err));
    const file_reader r = {.in = in, .path = path};
    const kern_status status = read_all(&r, file, err);
    model_hdf5_reader_destroy(in);
    if (status != KERN_OK) {
        verify_file_fini(file);
    }
    return status;
}

void verify_file_fini(verify_file *file)
{
    for (size_t i = 0; i < file->n; i++) {
        verify_record_fini(&file->items[i].record);
    }
    free(file->items);
    *file = (verify_file){0};
}

/* ---- replaying ------------------------------------------------------------------------------ */

const char *verify_replay_word(verify_replay replay)
{
    static const char *const words[] = {[VERIFY_REPLAY_SAME] = "same bits",
                                        [VERIFY_REPLAY_CLOSE] = "within tolerance",
                                        [VERIFY_REPLAY_DIFFERS] = "differs"};
    return words[replay];
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

kern_status verify_file_replay(const verify_stored *stored, verify_work *work,
                               verify_outcome *outcome, verify_replay *replay, kern_error *err)
{
    kern_error why = {0};
    const verify_outcome then = {
        .left = stored->left, .right = stored->right, .tolerance = stored->tolerance};
    const kern_status status =
        verify_run_check(stored->claim, &stored->record, work, outcome, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "%s: %s", stored->claim->name, why.text);
    }
    const double tolerance = fmax(stored->tolerance, outcome->tolerance);
    if (same_bits(outcome->left, stored->left) && same_bits(outcome->right, stored->right)) {
        *replay = VERIFY_REPLAY_SAME;
    } else if (fabs(outcome->left - stored->left) <= tolerance &&
               fabs(outcome->right - stored->right) <= tolerance &&
               verify_outcome_violates(outcome) == verify_outcome_violates(&then)) {
        *replay = VERIFY_REPLAY_CLOSE;
    } else {
        *replay = VERIFY_REPLAY_DIFFERS;
    }
    return KERN_OK;
}
