/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Token data: streams read from files, windows drawn from them, and ListOps test prompts.
 *
 * A stream is one array of ids. Its first ⌊0.9 n⌋ tokens are for training and the rest for
 * validation, the split of nanoGPT and of the published NRGPT runs. Whole files are held in memory,
 * 4 bytes a token.
 */
#ifndef BASIN_MODEL_DATA_H
#define BASIN_MODEL_DATA_H

#include "kernels/kern_rng.h"
#include "kernels/kern_status.h"
#include "models/model_tokenizer.h"

#include <stddef.h>
#include <stdint.h>

typedef enum model_part { MODEL_PART_TRAIN, MODEL_PART_VAL, MODEL_PART_ALL } model_part;

typedef struct model_stream {
    int32_t *ids;      /* [n], owned, each in 0 … vocab_size − 1 */
    size_t n;          /* tokens */
    size_t n_train;    /* tokens of the training part, which comes first */
    size_t vocab_size; /* V */
    char *name;        /* owned; where it came from, for sentences */
} model_stream;

/* Stream of a copy of `n` ids. KERN_BAD_INPUT when n is 0 or, naming the position, when an id is
 * outside 0 … vocab_size − 1; a vocab_size of 0 stands for the largest id plus one. On failure
 * this and every reader below leave the stream zeroed. */
kern_status model_stream_init(model_stream *stream, const char *name, const int32_t *ids, size_t n,
                              size_t vocab_size, kern_error *err);

/* Text file through an existing tokenizer. For a word tokenizer each line is an example and ends
 * with <eos>, also a last line without line end; an empty line is refused. KERN_NOT_FOUND or
 * KERN_IO when the file cannot be read; KERN_BAD_INPUT when it is empty, not UTF-8, or has a token
 * outside the vocabulary. */
kern_status model_stream_read_text(model_stream *stream, const model_tokenizer *tokenizer,
                                   const char *path, kern_error *err);

/* Character text: makes the tokenizer from the text, then reads as above. On success the caller
 * owns both and releases both. */
kern_status model_stream_read_chars(model_stream *stream, model_tokenizer *tokenizer,
                                    const char *path, kern_error *err);

/* File of 16-bit little-endian tokens. A file that begins with the magic number 20240520 is
 * llm.c's: a header of 256 32-bit integers (magic, version 1, token count), then the tokens.
 * llm.c's other kinds of file, among them the 32-bit tokens of Llama 3 (20240801), are refused. Any
 * other is nanoGPT's: tokens only. KERN_BAD_INPUT for an empty or odd-sized file, a header that is
 * cut, of another kind, of another version or at odds with the file's size, and for a token ≥
 * vocab_size unless that is 0 (then V is the largest token plus one). */
kern_status model_stream_read_bin(model_stream *stream, size_t vocab_size, const char *path,
                                  kern_error *err);

/* Releases the stream; safe on a zeroed one and when called twice. */
void model_stream_fini(model_stream *stream);

/* First token and token count of a part. */
const int32_t *model_stream_part(const model_stream *stream, model_part part, size_t *count);

/* KERN_BAD_INPUT, with both numbers, unless the part has at least one window of `window` tokens and
 * the token that follows it. */
kern_status model_stream_check_window(const model_stream *stream, model_part part, size_t window,
                                      kern_error *err);

/* Draws batches of windows at uniform offsets, with replacement. */
typedef struct model_sampler {
    const int32_t *ids; /* [count], borrowed from the stream */
    size_t count;
    size_t batch;  /* B */
    size_t window; /* N */
    kern_rng *rng; /* owned; purpose "windows-train", "windows-val" or "windows-all" */
} model_sampler;

/* The stream must outlive the sampler. KERN_BAD_INPUT as model_stream_check_window;
 * KERN_INVALID_ARGUMENT when batch or window is 0; KERN_OVERFLOW when B·N does not fit or the part
 * has 2³² or more offsets. */
kern_status model_sampler_init(model_sampler *sampler, const model_stream *stream, model_part part,
                               size_t batch, size_t window, uint64_t seed, kern_error *err);

/* Releases the random stream; safe on a zeroed sampler and when called twice. */
void model_sampler_fini(model_sampler *sampler);

/* Next batch. idx and targets, each [B][N], do not overlap: for window b at offset o (uniform in
 * 0 … count − N − 1) idx[b][i] = ids[o + i], targets[b][i] = ids[o + i + 1]. One draw per window,
 * in order of b. */
void model_sampler_draw(model_sampler *sampler, int32_t *idx, int32_t *targets);

/* State of the random stream, for a checkpoint: a restored sampler over the same data continues
 * with exactly the batches that the saved one would have drawn. `state` holds state_size bytes;
 * KERN_BAD_INPUT when `size` differs from that. */
size_t model_sampler_state_size(const model_sampler *sampler);
void model_sampler_save(const model_sampler *sampler, void *state);
kern_status model_sampler_restore(model_sampler *sampler, const void *state, size_t size,
                                  kern_error *err);

/* One test question: a prompt that ends with "=" and the token that the answer must be. */
typedef struct model_prompt {
    int32_t *ids; /* [n], owned */
    size_t n;
    int32_t answer;
} model_prompt;

typedef struct model_prompts {
    model_prompt *items; /* [n], owned */
    size_t n;
    size_t longest; /* tokens of the longest prompt */
} model_prompts;

/* Reads lines "prompt TAB answer". Errors name the file and the line: no tab or a second one, a
 * word outside the vocabulary, a prompt without "=" at its end, an answer that is not one token.
 * KERN_BAD_INPUT also for an empty file. On failure the prompts are zeroed. */
kern_status model_prompts_read(model_prompts *prompts, const model_tokenizer *tokenizer,
                               const char *path, kern_error *err);

/* Releases the prompts; safe on zeroed ones and when called twice. */
void model_prompts_fini(model_prompts *prompts);

#endif
