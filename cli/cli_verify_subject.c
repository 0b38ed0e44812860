/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin verify: the run whose claims are checked, and the sequences its states come from.
 */
#include "cli/cli_verify.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <stdlib.h>
#include <string.h>

/* Sequences of tokens, one after another. */
typedef struct sequences {
    int32_t *ids;   /* owned */
    size_t *tokens; /* owned */
    size_t n;
    size_t used; /* ids */
} sequences;

static void sequences_fini(sequences *q)
{
    free(q->ids);
    free(q->tokens);
    *q = (sequences){0};
}

static kern_status make_room(sequences *q, size_t n, size_t ids, kern_error *err)
{
    q->ids = calloc(ids, sizeof *q->ids);
    q->tokens = calloc(n, sizeof *q->tokens);
    if (q->ids == NULL || q->tokens == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu prompts", n);
    }
    return KERN_OK;
}

/* ---- those of --prompt ---------------------------------------------------------------------- */

static kern_status encode_prompts(const cli_verify_job *job, sequences *q, kern_error *err)
{
    const cli_list *texts = &job->s->prompts;
    const size_t most = job->run.m->config.block_size;
    KERN_TRY(make_room(q, texts->n, texts->n * most, err));
    for (size_t i = 0; i < texts->n; i++) {
        int32_t *ids = NULL;
        size_t n = 0;
        KERN_TRY(cli_run_encode_prompt(&job->run, texts->items[i], most, &ids, &n, err));
        memcpy(q->ids + q->used, ids, n * sizeof *ids);
        free(ids);
        q->used += n;
        q->tokens[q->n++] = n;
    }
    return KERN_OK;
}

/* ---- those drawn ---------------------------------------------------------------------------- */

/* Cuts windows out of the stream, or makes random ones where it is NULL. */
static kern_status draw_sequences(const cli_verify_job *job, const int32_t *stream, size_t count,
                                  size_t window, sequences *q, kern_error *err)
{
    KERN_TRY(make_room(q, CLI_VERIFY_PROMPTS, CLI_VERIFY_PROMPTS * window, err));
    for (size_t i = 0; i < CLI_VERIFY_PROMPTS; i++) {
        kern_rng *rng = kern_rng_create(job->s->seed, "verify-prompts", i);
        if (rng == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for a random stream");
        }
        const size_t span = stream != NULL ? count - window + 1 : 1;
        const size_t first = kern_rng_below(rng, (uint32_t)kern_size_min(span, UINT32_MAX));
        for (size_t k = 0; k < window; k++) {
            q->ids[q->used++] =
                stream != NULL
                    ? stream[first + k]
                    : (int32_t)kern_rng_below(rng, (uint32_t)job->run.m->config.vocab_size);
        }
        q->tokens[q->n++] = window;
        kern_rng_destroy(rng);
    }
    return KERN_OK;
}

/* The data of the run, or of --data. */
static kern_status load_data(cli_verify_job *job, kern_error *err)
{
    const model_run *run = &job->run.run;
    cli_data_options options = job->s->data;
    if (options.spec == NULL) {
        KERN_TRY(cli_data_recall(run->data_kind, run->data_path, &job->spec, err));
        options.spec = job->spec;
    }
    KERN_TRY(cli_data_parse(&job->data, &options, err));
    KERN_TRY(cli_data_load(&job->data, &run->tokenizer, err));
    job->has_data = job->data.stream.n > 0;
    return KERN_OK;
}

static kern_status choose_sequences(cli_verify_job *job, sequences *q, kern_error *err)
{
    size_t count = 0;
    const int32_t *part = NULL;
    const size_t window = kern_size_min(job->run.m->config.block_size, CLI_VERIFY_PROMPT_TOKENS);
    if (job->has_data) {
        part = model_stream_part(&job->data.stream, MODEL_PART_VAL, &count);
        part = count >= window ? part : NULL;
    }
    if (part != NULL) {
        (void)snprintf(job->where, sizeof job->where,
                       "%d windows of %zu tokens of the validation data", CLI_VERIFY_PROMPTS,
                       window);
    } else {
        (void)snprintf(job->where, sizeof job->where,
                       "%d sequences of %zu random tokens, since the run's data cannot be read",
                       CLI_VERIFY_PROMPTS, window);
    }
    return draw_sequences(job, part, count, window, q, err);
}

/* ---- the subject ---------------------------------------------------------------------------- */

kern_status cli_verify_open(cli_verify_job *job, kern_error *err)
{
    sequences q = {0};
    kern_error why = {0};
    KERN_TRY(cli_run_open(&job->run, job->s->run, &kern_backend_cpu_f64, err));
    KERN_TRY(model_check_finite(job->run.m, err));
    /* Data that are asked for must be there; those of the run may be gone. */
    kern_status status = load_data(job, &why);
    if (status != KERN_OK && job->s->data.spec != NULL) {
        return kern_raise(err, status, "%s", why.text);
    }
    if (job->s->prompts.n > 0) {
        (void)snprintf(job->where, sizeof job->where, "%zu prompts given", job->s->prompts.n);
        status = encode_prompts(job, &q, err);
    } else {
        status = choose_sequences(job, &q, err);
    }
    if (status == KERN_OK) {
        status = verify_subject_create(&job->subject, job->run.m, job->s->run, q.n, q.tokens, q.ids,
                                       err);
    }
    sequences_fini(&q);
    return status;
}

void cli_verify_close(cli_verify_job *job)
{
    verify_subject_destroy(job->subject);
    job->subject = NULL;
    cli_data_fini(&job->data);
    free(job->spec);
    job->spec = NULL;
    cli_run_fini(&job->run);
}
