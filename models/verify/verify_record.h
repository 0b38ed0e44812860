/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A record: all inputs of one instance of a claim, by name. It is self-contained, so that a claim
 * is checked again from the record alone, on another day and from a file (verify_file.h).
 *
 * An entry is a matrix of doubles (rows × cols, row-major), a number (a matrix of one), or a word.
 * Whole numbers are stored as doubles, exact up to 2⁵³. Entries keep their order.
 *
 * A record is used again for instance after instance: verify_record_reset forgets the entries and
 * keeps their memory, so nothing is allocated per trial once the first ones have been drawn. The
 * pointers that `put` gives stay valid until the record is reset or released, whatever is put
 * afterwards. A record is used by one thread at a time.
 */
#ifndef BASIN_VERIFY_RECORD_H
#define BASIN_VERIFY_RECORD_H

#include "kernels/kern_status.h"

#include <stddef.h>

enum {
    VERIFY_NAME = 40,         /* longest name or word with its final zero, bytes */
    VERIFY_ENTRIES_MAX = 64,  /* of a record */
    VERIFY_SIZE_MAX = 1 << 28 /* most numbers of one entry */
};

typedef struct verify_entry {
    char name[VERIFY_NAME];
    size_t rows; /* 0 for a word */
    size_t cols;
    double *values; /* rows × cols, owned by the record */
    size_t room;    /* numbers that `values` has memory for */
    char word[VERIFY_NAME];
} verify_entry;

/* Zero-initialise; release with verify_record_fini. */
typedef struct verify_record {
    verify_entry *entries; /* VERIFY_ENTRIES_MAX of them once one was put, owned */
    size_t count;
} verify_record;

/* Forgets all entries. */
void verify_record_reset(verify_record *record);

/* Releases everything; safe on a zeroed record and when called twice. */
void verify_record_fini(verify_record *record);

/* Makes `to` equal to `from`. KERN_NO_MEMORY. */
kern_status verify_record_copy(verify_record *to, const verify_record *from, kern_error *err);

/* ---- Putting: each name once ------------------------------------------------------------------
 * KERN_INVALID_ARGUMENT when the name is empty, too long, has other characters than letters,
 * digits, "_" and "-", or is taken, when the shape has a zero or too many numbers, and when the
 * record is full; KERN_NO_MEMORY. */

/* A matrix of zeros, which the caller fills through *values. */
kern_status verify_record_put(verify_record *record, const char *name, size_t rows, size_t cols,
                              double **values, kern_error *err);

/* A copy of `values`, which must not lie in the record. */
kern_status verify_record_put_copy(verify_record *record, const char *name, size_t rows,
                                   size_t cols, const double *values, kern_error *err);

kern_status verify_record_put_number(verify_record *record, const char *name, double value,
                                     kern_error *err);

/* A word of at most VERIFY_NAME − 1 bytes of the characters of a name. */
kern_status verify_record_put_word(verify_record *record, const char *name, const char *word,
                                   kern_error *err);

/* ---- Getting ----------------------------------------------------------------------------------
 * A record may come from a file, so what a check reads is checked: KERN_BAD_INPUT, naming the
 * entry, what it is and what is accepted. */

/* Entry `name`, or NULL. */
const verify_entry *verify_record_find(const verify_record *record, const char *name);

/* The values of a matrix of exactly this shape. */
kern_status verify_record_get(const verify_record *record, const char *name, size_t rows,
                              size_t cols, const double **values, kern_error *err);

/* Any number. */
kern_status verify_record_get_number(const verify_record *record, const char *name, double *value,
                                     kern_error *err);

/* A whole number in low … high. */
kern_status verify_record_get_size(const verify_record *record, const char *name, size_t low,
                                   size_t high, size_t *value, kern_error *err);

/* Index of a word in `words`, which ends with a NULL. */
kern_status verify_record_get_word(const verify_record *record, const char *name,
                                   const char *const *words, size_t *index, kern_error *err);

/* The values of a matrix of exactly this shape, to change in place: what `sharpen` moves. */
kern_status verify_record_edit(verify_record *record, const char *name, size_t rows, size_t cols,
                               double **values, kern_error *err);

#endif
