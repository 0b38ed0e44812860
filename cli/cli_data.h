/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --data KIND:PATH: token data for training and scoring.
 *
 *   listops:FILE         text, one example a line; a FILE that ends in .tsv holds test prompts, and
 *                        the text is then its sibling …_train.txt, if there is one
 *   listops:generate[=N][,seed=S]
 *                        N examples (50,000 unless given) made in memory from the seed, which is
 *                        --data-seed unless given here
 *   chars:FILE           UTF-8 text, one token per character
 *   tokens:FILE          16-bit token file of nanoGPT or llm.c
 */
#ifndef BASIN_CLI_DATA_H
#define BASIN_CLI_DATA_H

#include "cli/cli_args.h"
#include "models/model_data.h"

typedef enum cli_data_kind { CLI_DATA_LISTOPS, CLI_DATA_CHARS, CLI_DATA_TOKENS } cli_data_kind;

/* What the command line says; `spec` is NULL when --data was not given. */
typedef struct cli_data_options {
    const char *spec;
    const char *prompts; /* file of ListOps test prompts, or NULL */
    size_t n_prompts;    /* most prompts to use; 0: all of a file, 1000 generated ones */
    size_t vocab;        /* of a token file; 0: the largest token plus one */
    uint64_t seed;       /* of generated examples */
} cli_data_options;

/* Zero-initialise; release with cli_data_fini. */
typedef struct cli_data {
    cli_data_kind kind;
    cli_data_options options; /* as given to cli_data_open */
    const char *path;         /* part of the specification behind the colon; borrowed */
    bool generated;
    size_t n_examples;         /* to generate */
    model_tokenizer tokenizer; /* owned */
    model_stream stream;       /* owned; empty (n = 0) when there is no text */
    model_prompts prompts;     /* owned; empty until cli_data_load_prompts */
} cli_data;

cli_data_options cli_data_options_default(void);

/* Reads kind and path only: KERN_INVALID_ARGUMENT names the kinds. Cheap, for checking a command
 * line before other work. */
kern_status cli_data_parse(cli_data *data, const cli_data_options *options, kern_error *err);

/* The part of the specification behind the colon, complete: with number and seed when the data are
 * generated. The caller frees *path with free(). */
kern_status cli_data_describe(const cli_data *data, char **path, kern_error *err);

/* "kind:path" of recorded data; the caller frees *spec with free(). */
kern_status cli_data_recall(const char *kind, const char *path, char **spec, kern_error *err);

/* "listops", "chars" or "tokens". */
const char *cli_data_kind_word(cli_data_kind kind);

/* Makes the tokenizer and the stream. With `known` (a trained model's tokenizer) that one is copied
 * and its vocabulary rules; KERN_BAD_INPUT when it is of another kind than the data. */
kern_status cli_data_load(cli_data *data, const model_tokenizer *known, kern_error *err);

/* Loads ListOps test prompts: --prompts, else the sibling …_test.tsv of the text, else generated
 * ones. KERN_INVALID_ARGUMENT unless the data are ListOps. */
kern_status cli_data_load_prompts(cli_data *data, kern_error *err);

void cli_data_fini(cli_data *data);

/* A copy of a tokenizer; released with model_tokenizer_fini. */
kern_status cli_data_copy_tokenizer(model_tokenizer *out, const model_tokenizer *from,
                                    kern_error *err);

/* Rows of an option table; `type` has a member cli_data_options data. */
#define CLI_DATA_AT(type, field) (offsetof(type, data) + offsetof(cli_data_options, field))
#define CLI_OPTION_DATA(type, otherwise)                                                           \
    {                                                                                              \
        .name = "data", .value = "KIND:PATH", .kind = CLI_TEXT, .hide_default = true,              \
        .offset = CLI_DATA_AT(type, spec),                                                         \
        .help = "listops:FILE, listops:generate[=EXAMPLES][,seed=S], chars:FILE (UTF-8 text) or "  \
                "tokens:FILE (16-bit tokens of nanoGPT or llm.c) " otherwise                       \
    }
#define CLI_OPTION_VOCAB(type)                                                                     \
    {                                                                                              \
        .name = "vocab", .alias = "vocab_size", .value = "V", .kind = CLI_SIZE, .low = 0,          \
        .high = 65536, .offset = CLI_DATA_AT(type, vocab),                                         \
        .help = "number of different tokens of a token file; 0: its largest token plus one"        \
    }
#define CLI_OPTION_DATA_SEED(type)                                                                 \
    {                                                                                              \
        .name = "data-seed", .value = "N", .kind = CLI_SEED, .offset = CLI_DATA_AT(type, seed),    \
        .help = "seed of generated ListOps examples"                                               \
    }
#define CLI_OPTION_PROMPTS(type)                                                                   \
    {                                                                                              \
        .name = "prompts", .value = "FILE.tsv", .kind = CLI_TEXT,                                  \
        .offset = CLI_DATA_AT(type, prompts), .hide_default = true,                                \
        .help = "ListOps test prompts, lines of prompt, tab, answer (default: the _test.tsv "      \
                "beside the data's _train.txt, else generated ones)"                               \
    }
#define CLI_OPTION_N_PROMPTS(type)                                                                 \
    {                                                                                              \
        .name = "n-prompts", .value = "N", .kind = CLI_SIZE, .low = 0, .high = 1e6,                \
        .offset = CLI_DATA_AT(type, n_prompts), .hide_default = true,                              \
        .help = "prompts to score (default: all of a file, 1000 generated ones)"                   \
    }

#endif
