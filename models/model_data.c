/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_data.h"

#include "kernels/kern_size.h"
#include "models/model_file.h"
#include "models/model_utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Ids take four bytes for each byte of text, so a longer file could not be held anyway. */
static const size_t file_limit = SIZE_MAX / 8;

static const char *const part_words[] = {"training part of", "validation part of", "whole of"};

/* Puts the file's name before a sentence about its content. */
static kern_status raise_in_file(kern_error *err, kern_status status, const char *path,
                                 const kern_error *inner)
{
    return kern_raise(err, status, "'%s': %s", path, inner->text);
}

/* Reads a file that must have content; the caller frees *text. */
static kern_status read_file(const char *path, char **text, size_t *size, kern_error *err)
{
    KERN_TRY(model_file_read(path, file_limit, text, size, err));
    if (*size == 0) {
        free(*text);
        *text = NULL;
        return kern_raise(err, KERN_BAD_INPUT, "'%s' is empty; a file with tokens is accepted",
                          path);
    }
    return KERN_OK;
}

/* ------------------------------------------------------------------ streams */

/* Checks the ids against *vocab_size, or sets that to the largest plus one when it is 0. */
static kern_status check_ids(const char *name, const int32_t *ids, size_t n, size_t *vocab_size,
                             kern_error *err)
{
    const size_t limit = *vocab_size != 0 ? *vocab_size : MODEL_TOKENIZER_MAX_VOCAB;
    int32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= limit) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "token %zu of '%s' has id %d; the vocabulary accepts 0 to %zu", i + 1,
                              name, (int)ids[i], limit - 1);
        }
        largest = ids[i] > largest ? ids[i] : largest;
    }
    if (*vocab_size == 0) {
        *vocab_size = (size_t)largest + 1;
    }
    return KERN_OK;
}

/* Makes a stream that takes over `ids`, also on failure. */
static kern_status adopt_ids(model_stream *stream, const char *name, int32_t *ids, size_t n,
                             size_t vocab_size, kern_error *err)
{
    *stream = (model_stream){0};
    kern_status status = check_ids(name, ids, n, &vocab_size, err);
    char *copy = NULL;
    if (status == KERN_OK) {
        copy = malloc(strlen(name) + 1);
        if (copy == NULL) {
            status = kern_raise(err, KERN_NO_MEMORY, "no memory for the name of '%s'", name);
        }
    }
    if (status != KERN_OK) {
        free(ids);
        return status;
    }
    memcpy(copy, name, strlen(name) + 1);
    /* ⌊9n/10⌋ without the product that could overflow. */
    *stream = (model_stream){.ids = ids,
                             .n = n,
                             .n_train = n / 10 * 9 + n % 10 * 9 / 10,
                             .vocab_size = vocab_size,
                             .name = copy};
    return KERN_OK;
}

kern_status model_stream_init(model_stream *stream, const char *name, const int32_t *ids, size_t n,
                              size_t vocab_size, kern_error *err)
{
    *stream = (model_stream){0};
    if (n == 0) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s' has no tokens; at least one is needed", name);
    }
    size_t bytes;
    int32_t *const copy = kern_size_mul(n, sizeof *ids, &bytes) ? malloc(bytes) : NULL;
    if (copy == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", n);
    }
    memcpy(copy, ids, bytes);
    return adopt_ids(stream, name, copy, n, vocab_size, err);
}

/* An empty line would be an example of nothing; in ids it is <eos> where an example should begin.
 */
static kern_status check_examples(const int32_t *ids, size_t n, int32_t eos, kern_error *err)
{
    size_t line = 1;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] == eos && (i == 0 || ids[i - 1] == eos)) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "example %zu is empty; each line holds one example", line);
        }
        line += ids[i] == eos;
    }
    return KERN_OK;
}

/* Stream from a text that is already in memory. */
static kern_status encode_text(model_stream *stream, const model_tokenizer *tokenizer,
                               const char *path, const char *text, size_t size, kern_error *err)
{
    kern_error inner = {0};
    int32_t *ids;
    size_t n;
    kern_status status = model_tokenizer_encode(tokenizer, text, size, &ids, &n, &inner);
    if (status == KERN_OK && tokenizer->eos >= 0) {
        status = check_examples(ids, n, tokenizer->eos, &inner);
    }
    if (status == KERN_OK && n == 0) {
        status = kern_raise(&inner, KERN_BAD_INPUT, "there are only blanks, no tokens");
    }
    if (status != KERN_OK) {
        free(ids);
        return raise_in_file(err, status, path, &inner);
    }
    if (tokenizer->eos >= 0 && ids[n - 1] != tokenizer->eos) {
        int32_t *const longer = realloc(ids, (n + 1) * sizeof *ids);
        if (longer == NULL) {
            free(ids);
            return kern_raise(err, KERN_NO_MEMORY, "no memory for the tokens of '%s'", path);
        }
        ids = longer;
        ids[n++] = tokenizer->eos;
    }
    return adopt_ids(stream, path, ids, n, tokenizer->vocab_size, err);
}

kern_status model_stream_read_text(model_stream *stream, const model_tokenizer *tokenizer,
                                   const char *path, kern_error *err)
{
    *stream = (model_stream){0};
    char *text;
    size_t size;
    KERN_TRY(read_file(path, &text, &size, err));
    const kern_status status = encode_text(stream, tokenizer, path, text, size, err);
    free(text);
    return status;
}

kern_status model_stream_read_chars(model_stream *stream, model_tokenizer *tokenizer,
                                    const char *path, kern_error *err)
{
    *stream = (model_stream){0};
    *tokenizer = (model_tokenizer){.eos = -1};
    char *text;
    size_t size;
    KERN_TRY(read_file(path, &text, &size, err));
    kern_error inner = {0};
    kern_status status = model_tokenizer_init_chars(tokenizer, text, size, &inner);
    if (status != KERN_OK) {
        status = raise_in_file(err, status, path, &inner);
    } else {
        status = encode_text(stream, tokenizer, path, text, size, err);
    }
    if (status != KERN_OK) {
        model_tokenizer_fini(tokenizer);
    }
    free(text);
    return status;
}

/* ------------------------------------------------------------------ token files */

enum { LLMC_MAGIC = 20240520, LLMC_VERSION = 1, LLMC_HEADER = 1024 };

static uint32_t read_u32(const char *bytes)
{
    uint32_t value = 0;
    for (size_t i = 4; i > 0; i--) {
        value = (value << 8) | (unsigned char)bytes[i - 1];
    }
    return value;
}

/* llm.c dates its other files in the same place: weights, states, vocabularies and tokens of 32
 * bits. As two tokens of 16 bits each number would begin with one beyond 55000, more than GPT-2's
 * vocabulary has. */
static bool is_other_llmc(uint32_t magic)
{
    static const uint32_t others[] = {20240326, 20240327, 20240328, 20240522,
                                      20240527, 20240801, 20240802, 20240803};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (magic == others[i]) {
            return true;
        }
    }
    return false;
}

/* Finds where the tokens of a file begin and how many there are. */
static kern_status locate_tokens(const char *path, const char *bytes, size_t size, size_t *start,
                                 size_t *n, kern_error *err)
{
    const uint32_t magic = size < 4 ? 0 : read_u32(bytes);
    if (is_other_llmc(magic)) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' is a file of llm.c of kind %u; tokens of 16 bits, kind %d, are "
                          "accepted",
                          path, (unsigned)magic, LLMC_MAGIC);
    }
    if (magic != LLMC_MAGIC) {
        *start = 0;
        *n = size / 2;
        if (size % 2 != 0) {
            return kern_raise(err, KERN_BAD_INPUT,
                              "'%s' has %zu bytes; 16-bit tokens fill an even number", path, size);
        }
        return KERN_OK;
    }
    if (size < LLMC_HEADER) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' has %zu bytes; the header of a token file takes %d", path, size,
                          LLMC_HEADER);
    }
    const uint32_t version = read_u32(bytes + 4);
    if (version != LLMC_VERSION) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "'%s' is a token file of version %u; version %d is accepted", path,
                          (unsigned)version, LLMC_VERSION);
    }
    *start = LLMC_HEADER;
    *n = read_u32(bytes + 8);
    const size_t body = size - LLMC_HEADER;
    if (body % 2 != 0 || body / 2 != *n) {
        return kern_raise(
            err, KERN_BAD_INPUT,
            "'%s' promises %zu tokens in its header but has %zu bytes after it, where "
            "2 a token are expected",
            path, *n, body);
    }
    if (*n == 0) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s' has no tokens; at least one is needed", path);
    }
    return KERN_OK;
}

kern_status model_stream_read_bin(model_stream *stream, size_t vocab_size, const char *path,
                                  kern_error *err)
{
    *stream = (model_stream){0};
    char *bytes;
    size_t size;
    KERN_TRY(read_file(path, &bytes, &size, err));
    size_t start = 0;
    size_t n = 0;
    int32_t *ids = NULL;
    kern_status status = locate_tokens(path, bytes, size, &start, &n, err);
    if (status == KERN_OK) {
        ids = malloc(n * sizeof *ids); /* cannot overflow: n ≤ SIZE_MAX / 16 by file_limit */
        if (ids == NULL) {
            status = kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens of '%s'", n, path);
        }
    }
    if (status == KERN_OK) {
        const unsigned char *const tokens = (const unsigned char *)bytes + start;
        for (size_t i = 0; i < n; i++) {
            ids[i] = tokens[2 * i] | tokens[2 * i + 1] << 8;
        }
        status = adopt_ids(stream, path, ids, n, vocab_size, err);
    }
    free(bytes);
    return status;
}

void model_stream_fini(model_stream *stream)
{
    free(stream->ids);
    free(stream->name);
    *stream = (model_stream){0};
}

const int32_t *model_stream_part(const model_stream *stream, model_part part, size_t *count)
{
    switch (part) {
    case MODEL_PART_TRAIN:
        *count = stream->n_train;
        return stream->ids;
    case MODEL_PART_VAL:
        *count = stream->n - stream->n_train;
        return stream->ids + stream->n_train;
    case MODEL_PART_ALL:
    default:
        *count = stream->n;
        return stream->ids;
    }
}

kern_status model_stream_check_window(const model_stream *stream, model_part part, size_t window,
                                      kern_error *err)
{
    size_t count;
    (void)model_stream_part(stream, part, &count);
    if (window >= count) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the %s '%s' has %zu tokens; a window of %zu needs at least one more "
                          "than that",
                          part_words[part], stream->name, count, window);
    }
    return KERN_OK;
}

/* ------------------------------------------------------------------ windows */

kern_status model_sampler_init(model_sampler *sampler, const model_stream *stream, model_part part,
                               size_t batch, size_t window, uint64_t seed, kern_error *err)
{
    static const char *const purposes[] = {"windows-train", "windows-val", "windows-all"};
    *sampler = (model_sampler){0};
    if (batch == 0 || window == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "a batch of %zu windows of %zu tokens is empty; both are at least 1",
                          batch, window);
    }
    KERN_TRY(model_stream_check_window(stream, part, window, err));
    size_t count;
    size_t bytes;
    const int32_t *const ids = model_stream_part(stream, part, &count);
    if (!kern_size_mul(batch, window, &bytes) || !kern_size_mul(bytes, sizeof *ids, &bytes)) {
        return kern_raise(err, KERN_OVERFLOW, "a batch of %zu windows of %zu tokens is too large",
                          batch, window);
    }
    if (count - window > UINT32_MAX) {
        return kern_raise(err, KERN_OVERFLOW,
                          "'%s' has %zu offsets for a window; fewer than 2^32 are accepted",
                          stream->name, count - window);
    }
    kern_rng *const rng = kern_rng_create(seed, purposes[part], 0);
    if (rng == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
    }
    *sampler =
        (model_sampler){.ids = ids, .count = count, .batch = batch, .window = window, .rng = rng};
    return KERN_OK;
}

void model_sampler_fini(model_sampler *sampler)
{
    kern_rng_destroy(sampler->rng);
    *sampler = (model_sampler){0};
}

void model_sampler_draw(model_sampler *sampler, int32_t *idx, int32_t *targets)
{
    const size_t n = sampler->window;
    const uint32_t offsets = (uint32_t)(sampler->count - n);
    for (size_t b = 0; b < sampler->batch; b++) {
        const int32_t *const start = sampler->ids + kern_rng_below(sampler->rng, offsets);
        memcpy(idx + b * n, start, n * sizeof *idx);
        memcpy(targets + b * n, start + 1, n * sizeof *targets);
    }
}

size_t model_sampler_state_size(const model_sampler *sampler)
{
    return kern_rng_state_size(sampler->rng);
}

void model_sampler_save(const model_sampler *sampler, void *state)
{
    kern_rng_save(sampler->rng, state);
}

kern_status model_sampler_restore(model_sampler *sampler, const void *state, size_t size,
                                  kern_error *err)
{
    return kern_rng_restore(sampler->rng, state, size, err);
}

/* ------------------------------------------------------------------ prompts */

/* Reads one line, without its line end, into *prompt; the sentence leaves out file and line. */
static kern_status parse_prompt(model_prompt *prompt, const model_tokenizer *tokenizer,
                                const char *line, size_t length, kern_error *err)
{
    const char *const tab = memchr(line, '\t', length);
    const char *const end = line + length;
    if (tab == NULL || memchr(tab + 1, '\t', (size_t)(end - tab - 1)) != NULL) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "one tab is expected between prompt and answer, not %s",
                          tab == NULL ? "none" : "two or more");
    }
    const size_t answer_length = (size_t)(end - tab - 1);
    prompt->answer = model_tokenizer_find(tokenizer, tab + 1, answer_length);
    if (prompt->answer < 0) {
        char shown[MODEL_UTF8_QUOTE];
        model_utf8_quote(shown, tab + 1, answer_length);
        return kern_raise(err, KERN_BAD_INPUT,
                          "the answer '%s' is not one token of the vocabulary of %zu", shown,
                          tokenizer->vocab_size);
    }
    KERN_TRY(model_tokenizer_encode(tokenizer, line, (size_t)(tab - line), &prompt->ids, &prompt->n,
                                    err));
    const int32_t equal = model_tokenizer_find(tokenizer, "=", 1);
    if (prompt->n < 2 || equal < 0 || prompt->ids[prompt->n - 1] != equal) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the prompt has %zu tokens; an expression and a final '=' are expected",
                          prompt->n);
    }
    return KERN_OK;
}

static size_t count_lines(const char *text, size_t size)
{
    size_t lines = 0;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    return lines + (text[size - 1] != '\n');
}

static kern_status parse_prompts(model_prompts *prompts, const model_tokenizer *tokenizer,
                                 const char *text, size_t size, kern_error *err)
{
    const size_t lines = count_lines(text, size);
    prompts->items = calloc(lines, sizeof *prompts->items);
    if (prompts->items == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu prompts", lines);
    }
    const char *line = text;
    for (size_t i = 0; i < lines; i++) {
        const size_t left = size - (size_t)(line - text);
        const char *const found = memchr(line, '\n', left);
        const size_t length = found != NULL ? (size_t)(found - line) : left;
        kern_error inner = {0};
        prompts->n = i + 1;
        const kern_status status =
            parse_prompt(&prompts->items[i], tokenizer, line, length, &inner);
        if (status != KERN_OK) {
            return kern_raise(err, status, "line %zu: %s", i + 1, inner.text);
        }
        prompts->longest = kern_size_max(prompts->longest, prompts->items[i].n);
        line += length + (found != NULL);
    }
    return KERN_OK;
}

kern_status model_prompts_read(model_prompts *prompts, const model_tokenizer *tokenizer,
                               const char *path, kern_error *err)
{
    *prompts = (model_prompts){0};
    char *text;
    size_t size;
    KERN_TRY(read_file(path, &text, &size, err));
    kern_error inner = {0};
    kern_status status = model_utf8_require(text, size, &inner);
    if (status == KERN_OK) {
        status = parse_prompts(prompts, tokenizer, text, size, &inner);
    }
    if (status != KERN_OK) {
        model_prompts_fini(prompts);
        status = raise_in_file(err, status, path, &inner);
    }
    free(text);
    return status;
}

void model_prompts_fini(model_prompts *prompts)
{
    for (size_t i = 0; i < prompts->n; i++) {
        free(prompts->items[i].ids);
    }
    free(prompts->items);
    *prompts = (model_prompts){0};
}
