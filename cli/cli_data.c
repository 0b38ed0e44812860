/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_data.h"

#include "models/model_utf8.h"
#include "synthetic/syn_listops.h"

#include <stdlib.h>
#include <string.h>

enum { GENERATED_EXAMPLES = 50000, GENERATED_PROMPTS = 1000, EXAMPLES_MAX = 10000000 };

#define GENERATE  "generate"
#define SEED      ",seed="
#define TRAIN_END "_train.txt"
#define TEST_END  "_test.tsv"

static const char *const kind_words[] = {
    [CLI_DATA_LISTOPS] = "listops", [CLI_DATA_CHARS] = "chars", [CLI_DATA_TOKENS] = "tokens"};

enum { KINDS = sizeof kind_words / sizeof kind_words[0] };

/* The tokenizer that each kind of data is read with. */
static const model_token_kind token_kinds[KINDS] = {[CLI_DATA_LISTOPS] = MODEL_TOKEN_WORD,
                                                    [CLI_DATA_CHARS] = MODEL_TOKEN_CHAR,
                                                    [CLI_DATA_TOKENS] = MODEL_TOKEN_RAW};

cli_data_options cli_data_options_default(void)
{
    return (cli_data_options){.seed = syn_listops_config_default().seed};
}

/* ---- The specification ------------------------------------------------------------------- */

/* Reads digits at *text and moves it behind them; false when there are none or too many. */
static bool take_number(const char **text, uint64_t *out)
{
    char digits[24] = "";
    const size_t n = strspn(*text, "0123456789");
    if (n >= sizeof digits) {
        return false;
    }
    memcpy(digits, *text, n);
    *text += n;
    return cli_args_read_u64(out, digits, NULL) == KERN_OK;
}

/* [=N][,seed=S] behind the word. */
static bool parse_generate(cli_data *data, const char *rest)
{
    uint64_t n = GENERATED_EXAMPLES;
    bool fine = true;
    if (*rest == '=') {
        rest++;
        fine = take_number(&rest, &n) && n >= 1 && n <= EXAMPLES_MAX;
    }
    if (fine && strncmp(rest, SEED, strlen(SEED)) == 0) {
        rest += strlen(SEED);
        fine = take_number(&rest, &data->options.seed);
    }
    data->generated = true;
    data->n_examples = (size_t)n;
    return fine && *rest == '\0';
}

static kern_status raise_spec(const char *spec, kern_error *err)
{
    char shown[MODEL_UTF8_QUOTE];
    model_utf8_quote(shown, spec, strlen(spec));
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "--data is \"%s\"; accepted are listops:FILE, "
                      "listops:generate[=EXAMPLES][,seed=S] with 1 to %d examples, chars:FILE and "
                      "tokens:FILE",
                      shown, EXAMPLES_MAX);
}

/* True when the path is the word for generated data, whatever follows its first part. */
static bool is_generate(const char *path)
{
    const size_t n = strcspn(path, "=,");
    return n == strlen(GENERATE) && strncmp(path, GENERATE, n) == 0;
}

kern_status cli_data_parse(cli_data *data, const cli_data_options *options, kern_error *err)
{
    const char *spec = options->spec;
    const size_t length = strcspn(spec, ":");
    size_t kind = 0;
    while (kind < KINDS &&
           (strlen(kind_words[kind]) != length || strncmp(kind_words[kind], spec, length) != 0)) {
        kind++;
    }
    if (kind == KINDS || spec[length] == '\0' || spec[length + 1] == '\0') {
        return raise_spec(spec, err);
    }
    data->options = *options;
    data->kind = (cli_data_kind)kind;
    data->path = spec + length + 1;
    if (data->kind == CLI_DATA_LISTOPS && is_generate(data->path) &&
        !parse_generate(data, data->path + strlen(GENERATE))) {
        return raise_spec(spec, err);
    }
    return KERN_OK;
}

kern_status cli_data_recall(const char *kind, const char *path, char **spec, kern_error *err)
{
    const size_t room = strlen(kind) + strlen(path) + 2;
    *spec = malloc(room);
    if (*spec == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to describe the data");
    }
    (void)snprintf(*spec, room, "%s:%s", kind, path);
    return KERN_OK;
}

const char *cli_data_kind_word(cli_data_kind kind)
{
    return kind_words[kind];
}

kern_status cli_data_describe(const cli_data *data, char **path, kern_error *err)
{
    const size_t room = strlen(data->path) + 64;
    *path = malloc(room);
    if (*path == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory to describe the data");
    }
    if (data->generated) {
        (void)snprintf(*path, room, GENERATE "=%zu" SEED "%llu", data->n_examples,
                       (unsigned long long)data->options.seed);
    } else {
        (void)snprintf(*path, room, "%s", data->path);
    }
    return KERN_OK;
}

/* ---- Siblings ---------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* `path` with its end `from` replaced by `to`; NULL when it ends otherwise or memory is refused. */
static char *sibling(const char *path, const char *from, const char *to)
{
    if (!ends_in(path, from)) {
        return NULL;
    }
    const size_t stem = strlen(path) - strlen(from);
    char *out = malloc(stem + strlen(to) + 1);
    if (out != NULL) {
        memcpy(out, path, stem);
        memcpy(out + stem, to, strlen(to) + 1);
    }
    return out;
}

/* ---- Tokenizer and stream ---------------------------------------------------------------- */

kern_status cli_data_copy_tokenizer(model_tokenizer *out, const model_tokenizer *from,
                                    kern_error *err)
{
    if (from->kind == MODEL_TOKEN_RAW) {
        return model_tokenizer_init_raw(out, from->vocab_size, err);
    }
    return model_tokenizer_init(out, from->kind, (const char *const *)from->words, from->vocab_size,
                                err);
}

static kern_status use_known(cli_data *data, const model_tokenizer *known, kern_error *err)
{
    if (known->kind != token_kinds[data->kind]) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "the model was trained on tokens of kind \"%s\" and --data %s: gives "
                          "tokens of kind \"%s\"; accepted is data of the kind it was trained on",
                          model_token_kind_word(known->kind), kind_words[data->kind],
                          model_token_kind_word(token_kinds[data->kind]));
    }
    return cli_data_copy_tokenizer(&data->tokenizer, known, err);
}

static kern_status make_generator(const cli_data *data, syn_listops **gen, kern_error *err)
{
    syn_listops_config config = syn_listops_config_default();
    config.seed = data->options.seed;
    return syn_listops_create(gen, &config, err);
}

static kern_status generate_stream(cli_data *data, kern_error *err)
{
    syn_listops *gen = NULL;
    char *text = NULL;
    int32_t *ids = NULL;
    size_t size = 0;
    size_t n = 0;
    kern_status status = make_generator(data, &gen, err);
    if (status == KERN_OK) {
        status = syn_listops_train_text(gen, data->n_examples, &text, &size, err);
    }
    if (status == KERN_OK) {
        status = model_tokenizer_encode(&data->tokenizer, text, size, &ids, &n, err);
    }
    if (status == KERN_OK) {
        status = model_stream_init(&data->stream, data->options.spec, ids, n,
                                   data->tokenizer.vocab_size, err);
    }
    free(ids);
    free(text);
    syn_listops_destroy(gen);
    return status;
}

/* The text beside a file of test prompts; without one there is no stream. */
static kern_status read_beside_prompts(cli_data *data, kern_error *err)
{
    char *path = sibling(data->path, TEST_END, TRAIN_END);
    if (path == NULL) {
        return KERN_OK;
    }
    kern_error why = {0};
    const kern_status status = model_stream_read_text(&data->stream, &data->tokenizer, path, &why);
    free(path);
    if (status == KERN_OK || status == KERN_NOT_FOUND) {
        return KERN_OK;
    }
    return kern_raise(err, status, "%s", why.text);
}

static kern_status load_listops(cli_data *data, kern_error *err)
{
    if (data->tokenizer.vocab_size == 0) {
        KERN_TRY(model_tokenizer_init_listops(&data->tokenizer, err));
    }
    if (data->generated) {
        return generate_stream(data, err);
    }
    if (ends_in(data->path, ".tsv")) {
        return read_beside_prompts(data, err);
    }
    return model_stream_read_text(&data->stream, &data->tokenizer, data->path, err);
}

static kern_status load_chars(cli_data *data, kern_error *err)
{
    if (data->tokenizer.vocab_size == 0) {
        return model_stream_read_chars(&data->stream, &data->tokenizer, data->path, err);
    }
    return model_stream_read_text(&data->stream, &data->tokenizer, data->path, err);
}

static kern_status load_tokens(cli_data *data, kern_error *err)
{
    const size_t vocab =
        data->tokenizer.vocab_size > 0 ? data->tokenizer.vocab_size : data->options.vocab;
    KERN_TRY(model_stream_read_bin(&data->stream, vocab, data->path, err));
    if (data->tokenizer.vocab_size == 0) {
        return model_tokenizer_init_raw(&data->tokenizer, data->stream.vocab_size, err);
    }
    return KERN_OK;
}

kern_status cli_data_load(cli_data *data, const model_tokenizer *known, kern_error *err)
{
    kern_status (*const loaders[KINDS])(cli_data *, kern_error *) = {
        [CLI_DATA_LISTOPS] = load_listops,
        [CLI_DATA_CHARS] = load_chars,
        [CLI_DATA_TOKENS] = load_tokens,
    };
    if (known != NULL) {
        KERN_TRY(use_known(data, known, err));
    }
    return loaders[data->kind](data, err);
}

/* ---- Prompts ----------------------------------------------------------------------------- */

static kern_status generate_prompts(cli_data *data, kern_error *err)
{
    syn_listops *gen = NULL;
    const size_t asked = data->options.n_prompts;
    kern_status status = make_generator(data, &gen, err);
    if (status == KERN_OK) {
        status = syn_listops_test_prompts(gen, asked > 0 ? asked : GENERATED_PROMPTS,
                                          &data->prompts, err);
    }
    syn_listops_destroy(gen);
    return status;
}

/* Forgets the prompts beyond the number asked for. */
static void cut_prompts(model_prompts *prompts, size_t most)
{
    for (size_t i = most; most > 0 && i < prompts->n; i++) {
        free(prompts->items[i].ids);
    }
    if (most > 0 && prompts->n > most) {
        prompts->n = most;
    }
}

static kern_status read_prompts(cli_data *data, const char *path, kern_error *err)
{
    KERN_TRY(model_prompts_read(&data->prompts, &data->tokenizer, path, err));
    cut_prompts(&data->prompts, data->options.n_prompts);
    return KERN_OK;
}

kern_status cli_data_load_prompts(cli_data *data, kern_error *err)
{
    if (data->kind != CLI_DATA_LISTOPS) {
        return kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "--prompts goes with --data listops:…, not with %s:", kind_words[data->kind]);
    }
    if (data->options.prompts != NULL) {
        return read_prompts(data, data->options.prompts, err);
    }
    if (!data->generated && ends_in(data->path, ".tsv")) {
        return read_prompts(data, data->path, err);
    }
    char *path = data->generated ? NULL : sibling(data->path, TRAIN_END, TEST_END);
    if (path == NULL) {
        return generate_prompts(data, err);
    }
    kern_error why = {0};
    const kern_status status = read_prompts(data, path, &why);
    free(path);
    if (status == KERN_NOT_FOUND) {
        return generate_prompts(data, err);
    }
    return status == KERN_OK ? KERN_OK : kern_raise(err, status, "%s", why.text);
}

void cli_data_fini(cli_data *data)
{
    model_prompts_fini(&data->prompts);
    model_stream_fini(&data->stream);
    model_tokenizer_fini(&data->tokenizer);
}
