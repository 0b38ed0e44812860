/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verify/verify_record.h"

#include "kernels/kern_size.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void verify_record_reset(verify_record *record)
{
    record->count = 0;
}

void verify_record_fini(verify_record *record)
{
    for (size_t i = 0; record->entries != NULL && i < VERIFY_ENTRIES_MAX; i++) {
        free(record->entries[i].values);
    }
    free(record->entries);
    *record = (verify_record){0};
}

const verify_entry *verify_record_find(const verify_record *record, const char *name)
{
    for (size_t i = 0; i < record->count; i++) {
        if (strcmp(record->entries[i].name, name) == 0) {
            return &record->entries[i];
        }
    }
    return NULL;
}

/* ---- putting -------------------------------------------------------------------------------- */

/* Names become names of datasets in a file, and words attributes. */
static bool is_name(const char *text)
{
    const size_t n = strlen(text);
    return n > 0 && n < VERIFY_NAME &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

/* The next entry, named and empty; it keeps the memory of earlier records. */
static kern_status begin_entry(verify_record *record, const char *name, verify_entry **out,
                               kern_error *err)
{
    if (!is_name(name)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%.60s\" cannot name an entry of a record: 1 to %d letters, digits, "
                          "\"_\" and \"-\" can",
                          name, VERIFY_NAME - 1);
    }
    if (verify_record_find(record, name) != NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a record has two entries named \"%s\"",
                          name);
    }
    if (record->count == VERIFY_ENTRIES_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "a record has at most %d entries",
                          VERIFY_ENTRIES_MAX);
    }
    if (record->entries == NULL) {
        record->entries = calloc(VERIFY_ENTRIES_MAX, sizeof *record->entries);
        if (record->entries == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a record");
        }
    }
    verify_entry *entry = &record->entries[record->count];
    (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    *out = entry;
    return KERN_OK;
}

static kern_status make_room(verify_entry *entry, size_t count, kern_error *err)
{
    if (count <= entry->room) {
        return KERN_OK;
    }
    double *values = malloc(count * sizeof *values);
    if (values == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the %zu numbers of \"%s\"", count,
                          entry->name);
    }
    free(entry->values);
    entry->values = values;
    entry->room = count;
    return KERN_OK;
}

kern_status verify_record_put(verify_record *record, const char *name, size_t rows, size_t cols,
                              double **values, kern_error *err)
{
    verify_entry *entry = NULL;
    size_t count = 0;
    KERN_TRY(begin_entry(record, name, &entry, err));
    if (rows == 0 || cols == 0 || !kern_size_mul(rows, cols, &count) || count > VERIFY_SIZE_MAX) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%s\" has %zu × %zu numbers; 1 to %d numbers are accepted", name, rows,
                          cols, VERIFY_SIZE_MAX);
    }
    KERN_TRY(make_room(entry, count, err));
    memset(entry->values, 0, count * sizeof *entry->values);
    entry->rows = rows;
    entry->cols = cols;
    record->count++;
    *values = entry->values;
    return KERN_OK;
}

kern_status verify_record_put_copy(verify_record *record, const char *name, size_t rows,
                                   size_t cols, const double *values, kern_error *err)
{
    double *to = NULL;
    KERN_TRY(verify_record_put(record, name, rows, cols, &to, err));
    memcpy(to, values, rows * cols * sizeof *to);
    return KERN_OK;
}

kern_status verify_record_put_number(verify_record *record, const char *name, double value,
                                     kern_error *err)
{
    return verify_record_put_copy(record, name, 1, 1, &value, err);
}

kern_status verify_record_put_word(verify_record *record, const char *name, const char *word,
                                   kern_error *err)
{
    verify_entry *entry = NULL;
    if (!is_name(word)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "\"%.60s\" is no word of a record", word);
    }
    KERN_TRY(begin_entry(record, name, &entry, err));
    entry->rows = 0;
    entry->cols = 0;
    (void)snprintf(entry->word, sizeof entry->word, "%s", word);
    record->count++;
    return KERN_OK;
}

kern_status verify_record_copy(verify_record *to, const verify_record *from, kern_error *err)
{
    verify_record_reset(to);
    for (size_t i = 0; i < from->count; i++) {
        const verify_entry *entry = &from->entries[i];
        if (entry->rows == 0) {
            KERN_TRY(verify_record_put_word(to, entry->name, entry->word, err));
        } else {
            KERN_TRY(verify_record_put_copy(to, entry->name, entry->rows, entry->cols,
                                            entry->values, err));
        }
    }
    return KERN_OK;
}

/* ---- getting -------------------------------------------------------------------------------- */

static kern_status find_matrix(const verify_record *record, const char *name, size_t rows,
                               size_t cols, const verify_entry **out, kern_error *err)
{
    const verify_entry *entry = verify_record_find(record, name);
    if (entry == NULL) {
        return kern_raise(err, KERN_BAD_INPUT, "the record has no entry \"%s\"", name);
    }
    if (entry->rows == 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "\"%s\" of the record is the word \"%s\"; %zu × %zu numbers are accepted",
                          name, entry->word, rows, cols);
    }
    if (entry->rows != rows || entry->cols != cols) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "\"%s\" of the record has %zu × %zu numbers; %zu × %zu are accepted",
                          name, entry->rows, entry->cols, rows, cols);
    }
    *out = entry;
    return KERN_OK;
}

kern_status verify_record_get(const verify_record *record, const char *name, size_t rows,
                              size_t cols, const double **values, kern_error *err)
{
    const verify_entry *entry = NULL;
    KERN_TRY(find_matrix(record, name, rows, cols, &entry, err));
    *values = entry->values;
    return KERN_OK;
}

kern_status verify_record_edit(verify_record *record, const char *name, size_t rows, size_t cols,
                               double **values, kern_error *err)
{
    const verify_entry *entry = NULL;
    KERN_TRY(find_matrix(record, name, rows, cols, &entry, err));
    *values = entry->values;
    return KERN_OK;
}

kern_status verify_record_get_number(const verify_record *record, const char *name, double *value,
                                     kern_error *err)
{
    const verify_entry *entry = NULL;
    KERN_TRY(find_matrix(record, name, 1, 1, &entry, err));
    *value = entry->values[0];
    return KERN_OK;
}

kern_status verify_record_get_size(const verify_record *record, const char *name, size_t low,
                                   size_t high, size_t *value, kern_error *err)
{
    double number = 0.0;
    KERN_TRY(verify_record_get_number(record, name, &number, err));
    if (!(number >= (double)low && number <= (double)high && number == floor(number))) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "\"%s\" of the record is %.17g; whole numbers in %zu … %zu are accepted",
                          name, number, low, high);
    }
    *value = (size_t)number;
    return KERN_OK;
}

kern_status verify_record_get_word(const verify_record *record, const char *name,
                                   const char *const *words, size_t *index, kern_error *err)
{
    const verify_entry *entry = verify_record_find(record, name);
    if (entry == NULL || entry->rows != 0) {
        return kern_raise(err, KERN_BAD_INPUT, "the record has no word \"%s\"", name);
    }
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], entry->word) == 0) {
            *index = i;
            return KERN_OK;
        }
        if (used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                     words[i]);
        }
    }
    return kern_raise(err, KERN_BAD_INPUT, "\"%s\" of the record is \"%s\"; accepted are %s", name,
                      entry->word, list);
}
