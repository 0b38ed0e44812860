/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_tokenizer.h"

#include "kernels/kern_size.h"
#include "models/model_utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)MODEL_TOKENIZER_LABEL >= (int)MODEL_UTF8_QUOTE, "a label holds a quoted word");

static const char *const kind_words[] = {"word", "char", "raw"};

static const char *const listops_words[MODEL_LISTOPS_VOCAB] = {
    "<eos>", "(", ")", "=", "min_10", "max_10", "median_10", "add_10", "prod_10", "nadd_10",
    "0",     "1", "2", "3", "4",      "5",      "6",         "7",      "8",       "9"};

const char *const *model_tokenizer_listops_words(void)
{
    return listops_words;
}

const char *model_token_kind_word(model_token_kind kind)
{
    return (unsigned)kind <= MODEL_TOKEN_RAW ? kind_words[kind] : "unknown";
}

kern_status model_token_kind_parse(model_token_kind *out, const char *word, kern_error *err)
{
    for (unsigned kind = 0; kind <= MODEL_TOKEN_RAW; kind++) {
        if (strcmp(word, kind_words[kind]) == 0) {
            *out = (model_token_kind)kind;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "'%.40s' is not a kind of tokenizer: word, char or raw is accepted", word);
}

/* ------------------------------------------------------------------ building the vocabulary */

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const int order = memcmp(a, b, kern_size_min(a_length, b_length));
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_entries(const void *left, const void *right)
{
    const model_token_entry *const a = left;
    const model_token_entry *const b = right;
    return compare_bytes(a->word, a->length, b->word, b->length);
}

static kern_status check_word(model_token_kind kind, const char *word, size_t id, kern_error *err)
{
    if (word == NULL || word[0] == '\0') {
        return kern_raise(err, KERN_BAD_INPUT, "token %zu of the vocabulary is empty", id);
    }
    const size_t length = strlen(word);
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, word, length);
    kern_error inner = {0};
    if (model_utf8_require(word, length, &inner) != KERN_OK) {
        return kern_raise(err, KERN_BAD_INPUT, "token %zu of the vocabulary, '%s', is not UTF-8",
                          id, shown);
    }
    uint32_t point;
    if (kind == MODEL_TOKEN_CHAR && model_utf8_decode(word, length, &point) != length) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "token %zu of the vocabulary, '%s', is not a single character", id,
                          shown);
    }
    if (kind == MODEL_TOKEN_WORD && strpbrk(word, " \n") != NULL) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "token %zu of the vocabulary, '%s', contains a space or line end, which "
                          "separate words",
                          id, shown);
    }
    return KERN_OK;
}

/* Checks every word and adds up the bytes their copies need. */
static kern_status measure_words(model_token_kind kind, const char *const *words, size_t n,
                                 size_t *bytes, kern_error *err)
{
    if (n == 0 || n > MODEL_TOKENIZER_MAX_VOCAB) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the vocabulary has %zu tokens; 1 to %d are accepted", n,
                          MODEL_TOKENIZER_MAX_VOCAB);
    }
    *bytes = 0;
    for (size_t id = 0; id < n; id++) {
        KERN_TRY(check_word(kind, words[id], id, err));
        if (!kern_size_add(*bytes, strlen(words[id]) + 1, bytes)) {
            return kern_raise(err, KERN_OVERFLOW, "the vocabulary is too long for this machine");
        }
    }
    return KERN_OK;
}

static kern_status copy_words(model_tokenizer *tokenizer, const char *const *words, size_t bytes,
                              kern_error *err)
{
    const size_t n = tokenizer->vocab_size;
    tokenizer->words = calloc(n, sizeof *tokenizer->words);
    tokenizer->index = calloc(n, sizeof *tokenizer->index);
    tokenizer->pool = malloc(bytes);
    if (tokenizer->words == NULL || tokenizer->index == NULL || tokenizer->pool == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a vocabulary of %zu tokens", n);
    }
    char *next = tokenizer->pool;
    for (size_t id = 0; id < n; id++) {
        const size_t length = strlen(words[id]);
        memcpy(next, words[id], length + 1);
        tokenizer->words[id] = next;
        tokenizer->index[id] =
            (model_token_entry){.word = next, .length = length, .id = (int32_t)id};
        next += length + 1;
    }
    return KERN_OK;
}

static kern_status sort_index(model_tokenizer *tokenizer, kern_error *err)
{
    model_token_entry *const index = tokenizer->index;
    qsort(index, tokenizer->vocab_size, sizeof *index, compare_entries);
    for (size_t i = 1; i < tokenizer->vocab_size; i++) {
        if (compare_entries(&index[i - 1], &index[i]) == 0) {
            char shown[MODEL_UTF8_QUOTE];
            model_utf8_quote(shown, index[i].word, index[i].length);
            return kern_raise(err, KERN_BAD_INPUT,
                              "'%s' is in the vocabulary twice, as tokens %d and %d", shown,
                              (int)index[i - 1].id, (int)index[i].id);
        }
    }
    return KERN_OK;
}

kern_status model_tokenizer_init(model_tokenizer *tokenizer, model_token_kind kind,
                                 const char *const *words, size_t n, kern_error *err)
{
    *tokenizer = (model_tokenizer){.eos = -1};
    if (kind != MODEL_TOKEN_WORD && kind != MODEL_TOKEN_CHAR) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a tokenizer of kind %s has no list of words; word or char is accepted",
                          model_token_kind_word(kind));
    }
    size_t bytes = 0;
    KERN_TRY(measure_words(kind, words, n, &bytes, err));
    tokenizer->kind = kind;
    tokenizer->vocab_size = n;
    kern_status status = copy_words(tokenizer, words, bytes, err);
    if (status == KERN_OK) {
        status = sort_index(tokenizer, err);
    }
    if (status != KERN_OK) {
        model_tokenizer_fini(tokenizer);
        return status;
    }
    if (kind == MODEL_TOKEN_WORD) {
        tokenizer->eos = model_tokenizer_find(tokenizer, "<eos>", strlen("<eos>"));
    }
    return KERN_OK;
}

kern_status model_tokenizer_init_listops(model_tokenizer *tokenizer, kern_error *err)
{
    return model_tokenizer_init(tokenizer, MODEL_TOKEN_WORD, listops_words, MODEL_LISTOPS_VOCAB,
                                err);
}

kern_status model_tokenizer_init_raw(model_tokenizer *tokenizer, size_t vocab_size, kern_error *err)
{
    *tokenizer = (model_tokenizer){.eos = -1};
    if (vocab_size == 0 || vocab_size > MODEL_TOKENIZER_MAX_VOCAB) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the vocabulary size is %zu; 1 to %d are accepted", vocab_size,
                          MODEL_TOKENIZER_MAX_VOCAB);
    }
    tokenizer->kind = MODEL_TOKEN_RAW;
    tokenizer->vocab_size = vocab_size;
    return KERN_OK;
}

void model_tokenizer_fini(model_tokenizer *tokenizer)
{
    free(tokenizer->words);
    free(tokenizer->index);
    free(tokenizer->pool);
    *tokenizer = (model_tokenizer){.eos = -1};
}

/* Marks the code points of a checked text in a bit set and returns how many differ. */
static size_t mark_points(unsigned char *seen, const char *text, size_t size)
{
    size_t distinct = 0;
    uint32_t point = 0;
    for (size_t at = 0; at < size; at += model_utf8_decode(text + at, size - at, &point)) {
        (void)model_utf8_decode(text + at, size - at, &point);
        const unsigned char bit = (unsigned char)(1u << (point & 7u));
        if ((seen[point >> 3] & bit) == 0) {
            seen[point >> 3] |= bit;
            distinct++;
        }
    }
    return distinct;
}

kern_status model_tokenizer_init_chars(model_tokenizer *tokenizer, const char *text, size_t size,
                                       kern_error *err)
{
    enum { POINTS = 0x110000 };
    *tokenizer = (model_tokenizer){.eos = -1};
    KERN_TRY(model_utf8_require(text, size, err));
    if (size == 0) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the text is empty; a vocabulary needs at least one character");
    }
    kern_status status;
    char(*spelling)[MODEL_UTF8_MAX + 1] = NULL;
    const char **words = NULL;
    size_t n = 0;
    unsigned char *const seen = calloc(POINTS / 8, 1);
    if (seen != NULL) {
        n = mark_points(seen, text, size);
        spelling = calloc(n, sizeof *spelling);
        words = calloc(n, sizeof *words);
    }
    if (spelling == NULL || words == NULL) {
        status = kern_raise(err, KERN_NO_MEMORY, "no memory to list the characters of the text");
        goto done;
    }
    size_t next = 0;
    for (uint32_t point = 0; point < POINTS; point++) {
        if ((seen[point >> 3] & (1u << (point & 7u))) != 0) {
            (void)model_utf8_encode(spelling[next], point);
            words[next] = spelling[next];
            next++;
        }
    }
    status = model_tokenizer_init(tokenizer, MODEL_TOKEN_CHAR, words, n, err);
done:
    free(words);
    free(spelling);
    free(seen);
    return status;
}

/* ------------------------------------------------------------------ text to ids */

/* Decimal number below V written as digits only, or -1. */
static int32_t parse_number(size_t vocab_size, const char *word, size_t length)
{
    size_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] < '0' || word[i] > '9') {
            return -1;
        }
        value = 10 * value + (size_t)(word[i] - '0');
        if (value >= vocab_size) {
            return -1;
        }
    }
    return length == 0 ? -1 : (int32_t)value;
}

int32_t model_tokenizer_find(const model_tokenizer *tokenizer, const char *word, size_t length)
{
    if (tokenizer->kind == MODEL_TOKEN_RAW) {
        return parse_number(tokenizer->vocab_size, word, length);
    }
    size_t low = 0;
    size_t high = tokenizer->vocab_size;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const model_token_entry *const entry = &tokenizer->index[middle];
        const int order = compare_bytes(entry->word, entry->length, word, length);
        if (order == 0) {
            return entry->id;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

/* " (line N)" for a text of several lines, where counting pieces alone would not help. */
static void describe_line(char out[32], const char *text, size_t size, size_t at)
{
    out[0] = '\0';
    if (memchr(text, '\n', size) != NULL) {
        size_t line = 1;
        for (size_t i = 0; i < at; i++) {
            line += text[i] == '\n';
        }
        (void)snprintf(out, 32, " (line %zu)", line);
    }
}

/* Sentence for the piece text[at … at+length) that comes after `accepted` good ones. */
static kern_status raise_unknown(const model_tokenizer *tokenizer, const char *text, size_t size,
                                 size_t at, size_t length, size_t accepted, kern_error *err)
{
    static const char *const nouns[] = {"token", "character", "token"};
    char line[32];
    char shown[MODEL_UTF8_QUOTE];
    char wanted[64];
    describe_line(line, text, size, at);
    model_utf8_quote(shown, text + at, length);
    if (tokenizer->kind == MODEL_TOKEN_RAW) {
        (void)snprintf(wanted, sizeof wanted, "a number from 0 to %zu", tokenizer->vocab_size - 1);
    } else {
        (void)snprintf(wanted, sizeof wanted, "among the %zu of the vocabulary",
                       tokenizer->vocab_size);
    }
    return kern_raise(err, KERN_BAD_INPUT,
                      "%s %zu%s, '%s', is not %s; the %zu before it were accepted",
                      nouns[tokenizer->kind], accepted + 1, line, shown, wanted, accepted);
}

static bool is_separator(model_token_kind kind, char c)
{
    return c == ' ' || (kind == MODEL_TOKEN_RAW && (c == '\n' || c == '\t' || c == '\r'));
}

/* Length of the piece that starts at text[at], which is not a separator. */
static size_t piece_length(model_token_kind kind, const char *text, size_t size, size_t at)
{
    if (kind == MODEL_TOKEN_CHAR) {
        uint32_t point;
        return model_utf8_decode(text + at, size - at, &point);
    }
    if (text[at] == '\n') {
        return 1;
    }
    size_t end = at;
    while (end < size && text[end] != '\n' && !is_separator(kind, text[end])) {
        end++;
    }
    return end - at;
}

static kern_status encode_pieces(const model_tokenizer *tokenizer, const char *text, size_t size,
                                 int32_t *ids, size_t *n, kern_error *err)
{
    const model_token_kind kind = tokenizer->kind;
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        if (kind != MODEL_TOKEN_CHAR && is_separator(kind, text[at])) {
            at++;
            continue;
        }
        const size_t length = piece_length(kind, text, size, at);
        const bool line_end = kind == MODEL_TOKEN_WORD && text[at] == '\n';
        const int32_t id =
            line_end ? tokenizer->eos : model_tokenizer_find(tokenizer, text + at, length);
        if (id < 0) {
            return raise_unknown(tokenizer, text, size, at, length, count, err);
        }
        ids[count++] = id;
        at += length;
    }
    *n = count;
    return KERN_OK;
}

kern_status model_tokenizer_encode(const model_tokenizer *tokenizer, const char *text, size_t size,
                                   int32_t **ids, size_t *n, kern_error *err)
{
    *ids = NULL;
    *n = 0;
    KERN_TRY(model_utf8_require(text, size, err));
    size_t bytes;
    /* Every token takes at least one byte of text. */
    if (!kern_size_mul(size + 1, sizeof **ids, &bytes)) {
        return kern_raise(err, KERN_OVERFLOW, "a text of %zu bytes is too long", size);
    }
    int32_t *const buffer = malloc(bytes);
    if (buffer == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the tokens of %zu bytes of text",
                          size);
    }
    size_t count = 0;
    const kern_status status = encode_pieces(tokenizer, text, size, buffer, &count, err);
    if (status != KERN_OK) {
        free(buffer);
        return status;
    }
    int32_t *const fitted = realloc(buffer, (count + 1) * sizeof *buffer);
    *ids = fitted != NULL ? fitted : buffer;
    *n = count;
    return KERN_OK;
}

/* ------------------------------------------------------------------ ids to text */

enum { NUMBER_BYTES = 12 };

/* Text of one id; `number` is scratch for raw tokenizers. */
static const char *token_text(const model_tokenizer *tokenizer, int32_t id,
                              char number[NUMBER_BYTES])
{
    if (tokenizer->kind == MODEL_TOKEN_RAW) {
        (void)snprintf(number, NUMBER_BYTES, "%d", (int)id);
        return number;
    }
    if (tokenizer->kind == MODEL_TOKEN_WORD && id == tokenizer->eos) {
        return "\n";
    }
    return tokenizer->words[id];
}

static bool id_is_valid(const model_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (size_t)id < tokenizer->vocab_size;
}

/* Checks the ids and adds up the bytes of their text, separators and NUL included. */
static kern_status measure_text(const model_tokenizer *tokenizer, const int32_t *ids, size_t n,
                                size_t *bytes, kern_error *err)
{
    *bytes = 1;
    for (size_t i = 0; i < n; i++) {
        if (!id_is_valid(tokenizer, ids[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "token %zu has id %d; 0 to %zu are accepted", i + 1, (int)ids[i],
                              tokenizer->vocab_size - 1);
        }
        char number[NUMBER_BYTES];
        const size_t length = strlen(token_text(tokenizer, ids[i], number));
        if (!kern_size_add(*bytes, length + 1, bytes)) {
            return kern_raise(err, KERN_OVERFLOW, "the text of %zu tokens is too long", n);
        }
    }
    return KERN_OK;
}

kern_status model_tokenizer_decode(const model_tokenizer *tokenizer, const int32_t *ids, size_t n,
                                   char **text, kern_error *err)
{
    *text = NULL;
    size_t bytes = 0;
    KERN_TRY(measure_text(tokenizer, ids, n, &bytes, err));
    char *const buffer = malloc(bytes);
    if (buffer == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for the text of %zu tokens", n);
    }
    char *next = buffer;
    for (size_t i = 0; i < n; i++) {
        char number[NUMBER_BYTES];
        const char *const piece = token_text(tokenizer, ids[i], number);
        const bool line_start = next == buffer || next[-1] == '\n';
        if (tokenizer->kind != MODEL_TOKEN_CHAR && !line_start && piece[0] != '\n') {
            *next++ = ' ';
        }
        const size_t length = strlen(piece);
        memcpy(next, piece, length);
        next += length;
    }
    *next = '\0';
    *text = buffer;
    return KERN_OK;
}

void model_tokenizer_label(const model_tokenizer *tokenizer, int32_t id,
                           char label[MODEL_TOKENIZER_LABEL])
{
    if (!id_is_valid(tokenizer, id)) {
        (void)snprintf(label, MODEL_TOKENIZER_LABEL, "?");
    } else if (tokenizer->kind == MODEL_TOKEN_RAW) {
        (void)snprintf(label, MODEL_TOKENIZER_LABEL, "%d", (int)id);
    } else if (strcmp(tokenizer->words[id], " ") == 0) {
        (void)snprintf(label, MODEL_TOKENIZER_LABEL, "\xe2\x90\xa3");
    } else {
        model_utf8_quote(label, tokenizer->words[id], strlen(tokenizer->words[id]));
    }
}
