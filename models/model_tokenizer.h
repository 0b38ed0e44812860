/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tokenizer: text to token ids and back, by a closed vocabulary.
 *
 *   word   words separated by spaces; each line end stands for the token <eos>
 *   char   one token per Unicode code point
 *   raw    ids written as decimal numbers; for token files whose text is not at hand
 *
 * No unknown-token: a text outside the vocabulary is an error that names the place. The
 * vocabulary is an array of strings, the form in which a run's configuration stores it; the id of
 * a token is its index. After init a tokenizer is never changed, so threads may share it.
 */
#ifndef BASIN_MODEL_TOKENIZER_H
#define BASIN_MODEL_TOKENIZER_H

#include "kernels/kern_status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum model_token_kind {
    MODEL_TOKEN_WORD,
    MODEL_TOKEN_CHAR,
    MODEL_TOKEN_RAW
} model_token_kind;

enum {
    MODEL_TOKENIZER_MAX_VOCAB = 1 << 24,
    MODEL_TOKENIZER_LABEL = 64, /* bytes that hold every label */
    MODEL_LISTOPS_VOCAB = 20
};

/* One entry of the sorted index over the vocabulary. */
typedef struct model_token_entry {
    const char *word;
    size_t length;
    int32_t id;
} model_token_entry;

typedef struct model_tokenizer {
    model_token_kind kind;
    size_t vocab_size;        /* V */
    char **words;             /* [V], owned, in order of id; NULL for MODEL_TOKEN_RAW */
    char *pool;               /* owned; the strings of `words` */
    model_token_entry *index; /* [V], owned, sorted by bytes */
    int32_t eos;              /* id of "<eos>" in a word vocabulary, else -1 */
} model_tokenizer;

/* Word or char tokenizer from a vocabulary of `n` strings, which are copied. KERN_BAD_INPUT for an
 * empty or repeated string, one that is not UTF-8, a word with a blank in it, a char entry that is
 * not one character, n outside 1 … 2²⁴; KERN_INVALID_ARGUMENT for MODEL_TOKEN_RAW. Cost
 * O(V log V). On failure the tokenizer is zeroed; after success fini releases it. */
kern_status model_tokenizer_init(model_tokenizer *tokenizer, model_token_kind kind,
                                 const char *const *words, size_t n, kern_error *err);

/* Char tokenizer whose vocabulary is the distinct code points of the text, ascending.
 * KERN_BAD_INPUT when the text is empty or not UTF-8. */
kern_status model_tokenizer_init_chars(model_tokenizer *tokenizer, const char *text, size_t size,
                                       kern_error *err);

/* Word tokenizer of the published ListOps set (20 tokens, <eos> first). */
kern_status model_tokenizer_init_listops(model_tokenizer *tokenizer, kern_error *err);

/* Tokenizer of plain numbers 0 … vocab_size − 1. */
kern_status model_tokenizer_init_raw(model_tokenizer *tokenizer, size_t vocab_size,
                                     kern_error *err);

/* Releases the vocabulary; safe on a zeroed tokenizer and when called twice. */
void model_tokenizer_fini(model_tokenizer *tokenizer);

/* The ListOps vocabulary in order of id:
 * <eos> ( ) = min_10 max_10 median_10 add_10 prod_10 nadd_10 0 1 … 9. */
const char *const *model_tokenizer_listops_words(void);

/* Id of the token whose text is the `length` bytes at `word`, or -1. Cost O(log V). For raw
 * tokenizers the text is a decimal number. */
int32_t model_tokenizer_find(const model_tokenizer *tokenizer, const char *word, size_t length);

/* Ids of a text; the caller frees *ids, which is never NULL on success, with free(). An empty text
 * gives no ids. KERN_BAD_INPUT names the first character or word that is not in the vocabulary,
 * its position counted from 1, its line, and how many before it were accepted; or the first byte
 * that is not UTF-8. Cost O(size · log V). */
kern_status model_tokenizer_encode(const model_tokenizer *tokenizer, const char *text, size_t size,
                                   int32_t **ids, size_t *n, kern_error *err);

/* Text of `n` ids, NUL-terminated; the caller frees *text with free(). Words and numbers are
 * separated by one space; <eos> becomes a line end with no spaces around it, so that encoding the
 * result gives the ids again. KERN_INVALID_ARGUMENT names the first id outside the vocabulary. */
kern_status model_tokenizer_decode(const model_tokenizer *tokenizer, const int32_t *ids, size_t n,
                                   char **text, kern_error *err);

/* Short visible name of a token for axes and tables: its word, its number, or its character with
 * blanks made visible (a space as U+2423, others as \n, \t, \xNN); "?" for an id outside the
 * vocabulary. */
void model_tokenizer_label(const model_tokenizer *tokenizer, int32_t id,
                           char label[MODEL_TOKENIZER_LABEL]);

/* "word", "char", "raw", and back; KERN_BAD_INPUT lists the three. */
const char *model_token_kind_word(model_token_kind kind);
kern_status model_token_kind_parse(model_token_kind *out, const char *word, kern_error *err);

#endif
