/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin generate: continues a prompt.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_run.h"
#include "models/model_generate.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct generate_settings {
    const char *run;
    const char *prompt;
    bool greedy;
    double temperature;
    size_t top_k;
    size_t max_new;
    cli_run_steps inner;
    uint64_t seed;
    bool json;
} generate_settings;

static const cli_option options[] = {
    CLI_OPTION_RUN(generate_settings),
    {.name = "prompt",
     .value = "TEXT",
     .kind = CLI_TEXT,
     .required = true,
     .offset = offsetof(generate_settings, prompt),
     .help = "text to continue"},
    {.name = "greedy",
     .kind = CLI_FLAG,
     .offset = offsetof(generate_settings, greedy),
     .help = "always take the most probable token"},
    {.name = "temperature",
     .value = "X",
     .kind = CLI_REAL,
     .low = DBL_MIN,
     .high = 1e6,
     .accepted = "numbers above 0, up to 1e6",
     .offset = offsetof(generate_settings, temperature),
     .help = "logits are divided by it"},
    {.name = "top-k",
     .value = "K",
     .kind = CLI_SIZE,
     .low = 0,
     .high = 1 << 24,
     .offset = offsetof(generate_settings, top_k),
     .help = "draw among the K most probable tokens; 0: all"},
    {.name = "max-new",
     .value = "N",
     .kind = CLI_SIZE,
     .low = 1,
     .high = 1 << 24,
     .offset = offsetof(generate_settings, max_new),
     .help = "tokens to add at most; a ListOps model stops at the end of the line"},
    CLI_OPTIONS_STEPS(generate_settings, inner),
    CLI_OPTION_SEED(generate_settings, "of the draws"),
    CLI_OPTION_JSON(generate_settings),
};

static void defaults(void *settings)
{
    const model_sampling sampling = model_sampling_default();
    *(generate_settings *)settings = (generate_settings){
        .temperature = sampling.temperature, .max_new = sampling.max_new, .seed = sampling.seed};
}

static kern_status print_result(const generate_settings *s, const model_continuation *added,
                                const char *whole, const char *continuation, kern_error *err)
{
    if (!s->json) {
        const size_t length = strlen(whole);
        (void)fputs(whole, stdout);
        (void)fputs(length > 0 && whole[length - 1] == '\n' ? "" : "\n", stdout);
        return KERN_OK;
    }
    cli_json json;
    cli_json_init(&json);
    cli_json_text(&json, json.object, "text", whole);
    cli_json_text(&json, json.object, "prompt", s->prompt);
    cli_json_text(&json, json.object, "continuation", continuation);
    cli_json_size(&json, json.object, "n_new", added->n);
    cli_json_bool(&json, json.object, "ended", added->ended);
    return cli_json_print(&json, err);
}

/* Prompt and continuation are decoded together, so that blanks between tokens come out right. */
static kern_status decode(const cli_run *r, const generate_settings *s, const int32_t *prompt,
                          size_t n, const model_continuation *added, kern_error *err)
{
    char *whole = NULL;
    char *continuation = NULL;
    const model_tokenizer *tokenizer = &r->run.tokenizer;
    int32_t *ids = malloc((n + added->n) * sizeof *ids);
    if (ids == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "not enough memory for %zu tokens", n + added->n);
    }
    memcpy(ids, prompt, n * sizeof *ids);
    memcpy(ids + n, added->ids, added->n * sizeof *ids);
    kern_status status = model_tokenizer_decode(tokenizer, ids, n + added->n, &whole, err);
    if (status == KERN_OK) {
        status = model_tokenizer_decode(tokenizer, added->ids, added->n, &continuation, err);
    }
    if (status == KERN_OK) {
        status = print_result(s, added, whole, continuation, err);
    }
    free(continuation);
    free(whole);
    free(ids);
    return status;
}

static kern_status generate(cli_run *r, const generate_settings *s, kern_error *err)
{
    int32_t *ids = NULL;
    size_t n = 0;
    model_continuation added = {0};
    const model_sampling sampling = {.greedy = s->greedy,
                                     .temperature = s->temperature,
                                     .top_k = s->top_k,
                                     .vocab = r->run.tokenizer.vocab_size,
                                     .max_new = s->max_new,
                                     .eos = r->run.tokenizer.eos,
                                     .seed = s->seed};
    KERN_TRY(cli_run_encode_prompt(r, s->prompt, SIZE_MAX, &ids, &n, err));
    kern_status status = model_generate(r->m, &sampling, ids, n, &added, err);
    if (status == KERN_OK) {
        status = decode(r, s, ids, n, &added, err);
    }
    model_continuations_fini(&added, 1);
    free(ids);
    return status;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const generate_settings *s = settings;
    cli_run r = {0};
    (void)call;
    kern_status status = cli_run_open(&r, s->run, &kern_backend_cpu_f32, err);
    if (status == KERN_OK) {
        status = cli_run_set_steps(&r, &s->inner, err);
    }
    if (status == KERN_OK) {
        status = generate(&r, s, err);
    }
    cli_run_fini(&r);
    return status;
}

const cli_command cli_generate = {
    .name = "generate",
    .purpose = "continues a prompt",
    .description = "Continues a prompt token by token with a trained model and prints both.",
    .example = "basin generate run --prompt \"max_10 ( 2 9 3 ) =\" --greedy",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(generate_settings),
    .defaults = defaults,
    .run = run,
};
