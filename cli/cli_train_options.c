/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_train_options.h"

#include "cli/cli_commands.h"
#include "cli/cli_words.h"
#include "kernels/kern_size.h"
#include "models/model_json.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Planning a graph of many steps takes time with their square; a thousand are seconds. */
enum {
    SIZE_LIMIT = 1 << 24,
    BATCH_LIMIT = 1 << 20,
    DEPTH_LIMIT = 1024,
    STEPS_LIMIT = MODEL_INNER_MAX
};

/* ---- Words ------------------------------------------------------------------------------- */

CLI_WORD_FUNCTIONS(ff, model_ff)
CLI_WORD_FUNCTIONS(act, model_act)
CLI_WORD_FUNCTIONS(norm, model_norm)
CLI_WORD_FUNCTIONS(eta, model_eta)
CLI_WORD_FUNCTIONS(update, model_update)
CLI_WORD_FUNCTIONS(schedule, model_schedule_kind)
CLI_WORD_FUNCTIONS(attn, model_attn)
CLI_WORD_FUNCTIONS(ffn, model_ffn)
CLI_WORD_FUNCTIONS(rope, model_rope)
CLI_WORD_FUNCTIONS(diag, model_diag)
CLI_WORD_FUNCTIONS(mlp, model_mlp)
CLI_WORD_FUNCTIONS(precond, model_precond)
CLI_WORD_FUNCTIONS(hist, model_hist)
CLI_WORD_FUNCTIONS(place, model_place)
CLI_WORD_FUNCTIONS(sandglass, model_sandglass)
CLI_WORD_FUNCTIONS(gain, model_gain)
CLI_WORD_FUNCTIONS(spread, model_spread)

static kern_status parse_family(void *member, const char *value, kern_error *err)
{
    return model_config_set_family(member, value, err);
}

static void show_family(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", model_config_family_name(member));
}

static kern_status parse_mask(void *member, const char *value, kern_error *err)
{
    const bool strict = strcmp(value, "strict") == 0;
    if (!strict && strcmp(value, "inclusive") != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no mask");
    }
    *(bool *)member = strict;
    return KERN_OK;
}

static void show_mask(const void *member, char out[CLI_VALUE_TEXT])
{
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", *(const bool *)member ? "strict" : "inclusive");
}

static kern_status parse_beta(void *member, const char *value, kern_error *err)
{
    cli_beta *beta = member;
    beta->inverse_root = strcmp(value, "1/sqrt(D)") == 0;
    if (beta->inverse_root) {
        return KERN_OK;
    }
    KERN_TRY(cli_args_read_real(&beta->value, value, err));
    if (!(beta->value >= 1e-12) || !(beta->value <= 1e12)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "out of range");
    }
    return KERN_OK;
}

static void show_beta(const void *member, char out[CLI_VALUE_TEXT])
{
    const cli_beta *beta = member;
    if (beta->inverse_root) {
        (void)snprintf(out, CLI_VALUE_TEXT, "1/sqrt(D)");
    } else {
        char text[MODEL_JSON_NUMBER];
        (void)model_json_format_real(text, beta->value);
        (void)snprintf(out, CLI_VALUE_TEXT, "%s", text);
    }
}

/* Whole numbers with commas between them. */
static kern_status parse_widths(void *member, const char *value, kern_error *err)
{
    model_widths list = {0};
    const char *at = value;
    for (bool more = true; more; at++) {
        char *end;
        if (*at < '0' || *at > '9' || list.count == MODEL_WIDTHS_MAX) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "this is no list of widths");
        }
        const unsigned long number = strtoul(at, &end, 10);
        if (number < 1 || number > SIZE_LIMIT || (*end != ',' && *end != '\0')) {
            return kern_raise(err, KERN_INVALID_ARGUMENT, "a width is out of range");
        }
        list.at[list.count++] = (size_t)number;
        more = *end == ',';
        at = end;
    }
    *(model_widths *)member = list;
    return KERN_OK;
}

/* What does not fit is left out; the checkpoint compares all of it. */
static void show_widths(const void *member, char out[CLI_VALUE_TEXT])
{
    const model_widths *list = member;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < list->count && used + 10 < CLI_VALUE_TEXT; i++) {
        const int n =
            snprintf(out + used, CLI_VALUE_TEXT - used, "%s%zu", i > 0 ? "," : "", list->at[i]);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* ---- Rows -------------------------------------------------------------------------------- */

/* Beginnings of rows: name, name of the value, kind, and where it lies. The second name of a
 * model option is its key in configuration files. */
#define AT(member)          offsetof(cli_train_settings, member)
#define AT_CONFIG(field)    AT(config) + offsetof(model_config, field)
#define AT_TRAINING(field)  AT(training) + offsetof(model_training, field)
#define AT_SCHEDULE(field)  AT_TRAINING(schedule) + offsetof(model_schedule, field)
#define AT_ADAMW(field)     AT_TRAINING(adamw) + offsetof(model_adamw, field)
#define ROW(n, v, k, where) .name = (n), .value = (v), .kind = (k), .offset = where
#define RANGE(from, to)     .low = (from), .high = (to)
#define WORDS(what)         .parse = parse_##what, .show = show_##what
#define HEADING(text)       .kind = CLI_HEADING, .help = (text)
#define BELOW_ONE           0x1.fffffffffffffp-1

static const cli_option options[] = {
    {HEADING("What to train, and where to")},
    {ROW("family", "F", CLI_WORD, AT(config)), WORDS(family), .hide_default = true,
     .help = "nrgpt, gpt, gpt-rec, gpt-rec-parallel, llama, cem or hourglass (required unless "
             "--resume)"},
    CLI_OPTION_DATA(cli_train_settings, "(required unless --resume)"),
    CLI_OPTION_DATA_SEED(cli_train_settings),
    CLI_OPTION_VOCAB(cli_train_settings),
    {ROW("out", "RUN", CLI_TEXT, AT(out)), .required = true, .accepted = "names of folders",
     .help = "folder for config.json, model.safetensors, optimizer.safetensors and metrics.csv"},
    {ROW("resume", NULL, CLI_FLAG, AT(resume)),
     .help =
         "continue the run in --out where it was last saved; options given again must agree "
         "with it, but for --threads, --micro-batch and, when the schedule is constant, --steps"},
    {ROW("overwrite", NULL, CLI_FLAG, AT(overwrite)),
     .help = "replace a run that --out already holds"},
    CLI_OPTION_JSON(cli_train_settings),

    {HEADING("Model")},
    {ROW("width", "D", CLI_SIZE, AT_CONFIG(n_embed)), .alias = "n_embed", RANGE(1, SIZE_LIMIT),
     .help = "numbers in a token's state"},
    {ROW("heads", "H", CLI_SIZE, AT_CONFIG(n_head)), .alias = "n_head", RANGE(1, SIZE_LIMIT),
     .help = "attention heads"},
    {ROW("depth", "T", CLI_SIZE, AT_CONFIG(n_layer)), .alias = "n_layer", RANGE(1, DEPTH_LIMIT),
     .help = "applications of the block, or blocks of a gpt, or layers"},
    {ROW("block", "N", CLI_SIZE, AT_CONFIG(block_size)), .alias = "block_size",
     RANGE(1, SIZE_LIMIT), .hide_default = true,
     .help = "longest sequence, tokens (default: --window)"},
    {ROW("ff-factor", "M", CLI_SIZE, AT_CONFIG(ff_hid_factor)), .alias = "ff_hid_factor",
     RANGE(1, SIZE_LIMIT), .help = "hidden units of the feed-forward part, in widths (nrgpt, gpt)"},
    {ROW("ff", "KIND", CLI_WORD, AT_CONFIG(ff)), WORDS(ff),
     .help = "feed-forward energy: ff1, ff2 or ff2w (nrgpt)"},
    {ROW("activation", "F", CLI_WORD, AT_CONFIG(activation)), WORDS(act),
     .help = "its nonlinearity: gelu, relu or softplus (nrgpt)"},
    {ROW("norm", "KIND", CLI_WORD, AT_CONFIG(norm)), WORDS(norm),
     .help = "layernorm or rmsnorm (nrgpt)"},
    {ROW("norm-eps", "X", CLI_REAL, AT_CONFIG(norm_eps)), RANGE(0, 1), .help = "ε of every norm"},
    {ROW("gamma-trained", NULL, CLI_FLAG, AT_CONFIG(gamma_trained)),
     .help = "train the norm's gain γ instead of keeping it at 1 (nrgpt)"},
    {ROW("eta", "KIND", CLI_WORD, AT_CONFIG(eta)), WORDS(eta),
     .help = "inference-rate matrix: full, gamma, scalar, square, psd or psd-skew (nrgpt)"},
    {ROW("eta-init", "X", CLI_REAL, AT_CONFIG(eta_init)), RANGE(-1e12, 1e12),
     .help = "initial factor of the scalar forms of η (nrgpt)"},
    {ROW("update", "KIND", CLI_WORD, AT_CONFIG(update)), WORDS(update),
     .help = "published, or exact: the whole gradient also under the inclusive mask (nrgpt)"},
    {ROW("mask", "KIND", CLI_WORD, AT_CONFIG(strict_mask)), WORDS(mask),
     .accepted = "strict and inclusive",
     .help = "strict: a token attends to those before it; inclusive: to itself as well (nrgpt)"},
    {ROW("rank", "R", CLI_SIZE, AT_CONFIG(rank)), RANGE(0, SIZE_LIMIT),
     .help = "rank of the attention matrices; 0: full D x D (nrgpt)"},
    {ROW("beta", "X", CLI_WORD, AT(beta)), WORDS(beta),
     .accepted = "numbers from 1e-12 to 1e12, and 1/sqrt(D)",
     .help = "inverse temperature of attention: a number or 1/sqrt(D) (nrgpt)"},
    {ROW("alpha", "X", CLI_REAL, AT_CONFIG(alpha)), RANGE(-1e12, 1e12),
     .help = "weight of the attention energy (nrgpt)"},
    {ROW("dropout", "P", CLI_REAL, AT_CONFIG(dropout)), RANGE(0, BELOW_ONE),
     .accepted = "probabilities from 0 to less than 1",
     .help = "probability of dropping (nrgpt, gpt)"},

    {HEADING("Layers of llama, cem and hourglass")},
    {ROW("attn", "KIND", CLI_WORD, AT(parts) + offsetof(cli_layer_parts, attn)), WORDS(attn),
     .hide_default = true, .help = "attention: llama or cem (default: that of the family)"},
    {ROW("ffn", "KIND", CLI_WORD, AT(parts) + offsetof(cli_layer_parts, ffn)), WORDS(ffn),
     .hide_default = true,
     .help = "feed-forward part: llama, cem or hourglass (default: that of the family)"},
    {ROW("hidden", "F", CLI_SIZE, AT_CONFIG(n_hidden)), .alias = "n_hidden", RANGE(1, SIZE_LIMIT),
     .hide_default = true,
     .help = "hidden units of the feed-forward part, or of one sub-MLP of an hourglass (default: "
             "8/3 of --width, rounded up to a multiple of 8; an hourglass shares them out)"},
    {ROW("attn-width", "N", CLI_SIZE, AT_CONFIG(d_attn)), .alias = "d_attn", RANGE(0, SIZE_LIMIT),
     .help = "width of all heads together; 0: --width"},
    {ROW("kv-width", "N", CLI_SIZE, AT_CONFIG(d_kv)), .alias = "d_kv", RANGE(0, SIZE_LIMIT),
     .help = "width of keys and values, in whole heads; 0: --attn-width"},
    {ROW("rope", "KIND", CLI_WORD, AT_CONFIG(rope)), WORDS(rope),
     .help = "rotary positions: exact (CEM mixes what is turned and turns back: a gradient), plain "
             "(it mixes the keys as they are) or none"},
    {ROW("qk-norm", NULL, CLI_FLAG, AT_CONFIG(qk_norm)),
     .help = "norms on queries and keys of a llama attention"},
    {ROW("init", "KIND", CLI_WORD, AT_CONFIG(spread)), WORDS(spread),
     .help = "initial deviations: constant (0.02) or fan_in (1/sqrt(D) into a part, "
             "1/sqrt(2 layers units) out of it)"},
    {ROW("tied-head", NULL, CLI_FLAG, AT_CONFIG(tied_head)),
     .help = "read out with the embedding's weights"},
    {HEADING("CEM sub-layers")},
    {ROW("t-attn", "T", CLI_SIZE, AT_CONFIG(cem.t_attn)), RANGE(1, STEPS_LIMIT),
     .help = "steps of CEM attention"},
    {ROW("t-mlp", "T", CLI_SIZE, AT_CONFIG(cem.t_mlp)), RANGE(1, STEPS_LIMIT),
     .help = "steps of the CEM feed-forward part"},
    {ROW("hist", "KIND", CLI_WORD, AT_CONFIG(cem.hist)), WORDS(hist),
     .help = "what steps read: fixed (the sub-layer's input) or sync (the states of their time)"},
    {ROW("norm-at", "KIND", CLI_WORD, AT_CONFIG(cem.norm)), WORDS(place),
     .accepted = "step, once, exact",
     .help =
         "where the norm stands: step (in every step), once (before the first) or exact (in the "
         "energy, with its Jacobian)"},
    {ROW("diag", "KIND", CLI_WORD, AT_CONFIG(cem.diag)), WORDS(diag),
     .help = "diagonal of the interaction: shared, none or per_head"},
    {ROW("mlp", "KIND", CLI_WORD, AT_CONFIG(cem.mlp)), WORDS(mlp),
     .help = "gated energy: a (nonlinear tied projection) or b (nonlinear gate)"},
    {ROW("precond", "KIND", CLI_WORD, AT_CONFIG(cem.precond)), WORDS(precond),
     .help = "preconditioner: none, dlr (diagonal and low rank, learned) or gamma (the norm's "
             "gain)"},
    {ROW("p-rank", "R", CLI_SIZE, AT_CONFIG(cem.p_rank)), RANGE(1, SIZE_LIMIT),
     .help = "columns of U and V of a dlr preconditioner"},
    {ROW("step-size", "X", CLI_REAL, AT_CONFIG(cem.eta)), RANGE(1e-12, 1e12),
     .help = "step size, or where it starts"},
    {ROW("train-step-size", NULL, CLI_FLAG, AT_CONFIG(cem.eta_trained)),
     .help = "learn one step size for each sub-layer"},
    {ROW("confine", "X", CLI_REAL, AT_CONFIG(cem.confine)), RANGE(0, 1e12),
     .help = "weight of a term that holds a state near the sub-layer's input (not in the paper)"},
    {ROW("allow-indefinite", NULL, CLI_FLAG, AT(allow_indefinite)),
     .help = "go on when a dlr preconditioner is no longer positive definite"},
    {HEADING("Hourglass feed-forward part")},
    {ROW("hourglass-k", "K", CLI_SIZE, AT_CONFIG(hourglass.k)), RANGE(1, MODEL_WIDTHS_MAX),
     .help = "sub-MLPs of a layer"},
    {ROW("hourglass-widths", "LIST", CLI_WORD, AT_CONFIG(hourglass.widths)), WORDS(widths),
     .hide_default = true, .accepted = "whole numbers with commas between them",
     .help = "hidden units of each sub-MLP: K numbers, or K for each layer (default: --hidden)"},
    {ROW("hourglass-norm", "KIND", CLI_WORD, AT_CONFIG(hourglass.norm)), WORDS(sandglass),
     .help = "norms: A before each sub-MLP, B one before all, C both, D behind each"},
    {ROW("hourglass-gain", "KIND", CLI_WORD, AT_CONFIG(hourglass.gain)), WORDS(gain),
     .help = "their gains: per_sub, shared or none"},
    {ROW("hourglass-alpha", "X", CLI_REAL, AT_CONFIG(hourglass.alpha)), RANGE(-1e12, 1e12),
     .help = "factor of every sub-MLP"},
    {ROW("hourglass-parallel", NULL, CLI_FLAG, AT_CONFIG(hourglass.parallel)),
     .help = "let every sub-MLP read the input of the first"},

    {HEADING("Training")},
    {ROW("steps", "N", CLI_SIZE, AT_SCHEDULE(total)), RANGE(0, 1e9),
     .help = "optimizer steps in all"},
    {ROW("batch", "B", CLI_SIZE, AT_TRAINING(batch)), RANGE(1, BATCH_LIMIT),
     .help = "windows per step"},
    {ROW("window", "N", CLI_SIZE, AT_TRAINING(window)), RANGE(1, BATCH_LIMIT), .hide_default = true,
     .help = "tokens per window (default: --block, else 64)"},
    {ROW("lr", "X", CLI_REAL, AT_SCHEDULE(peak)), RANGE(DBL_MIN, 1e6),
     .accepted = "numbers above 0, up to 1e6", .help = "learning rate after the warm-up"},
    {ROW("lr-min", "X", CLI_REAL, AT_SCHEDULE(floor)), RANGE(0, 1e6), .hide_default = true,
     .help = "learning rate at the end (default: a tenth of --lr)"},
    {ROW("warmup", "N", CLI_SIZE, AT_SCHEDULE(warmup)), RANGE(0, 1e9), .hide_default = true,
     .help = "steps of linear rise from 0 (default: a tenth of --steps, at most 100)"},
    {ROW("schedule", "KIND", CLI_WORD, AT_SCHEDULE(kind)), WORDS(schedule),
     .help = "of the learning rate: constant, cosine or exponential"},
    {ROW("weight-decay", "X", CLI_REAL, AT_ADAMW(weight_decay)), RANGE(0, 1e6),
     .help = "AdamW's λ, on matrices"},
    {ROW("decay-all", NULL, CLI_FLAG, AT_ADAMW(decay_vectors)),
     .help = "decay biases, gains and scalars too"},
    {ROW("beta1", "X", CLI_REAL, AT_ADAMW(beta1)), RANGE(0, BELOW_ONE),
     .accepted = "numbers from 0 to less than 1", .help = "AdamW's β₁"},
    {ROW("beta2", "X", CLI_REAL, AT_ADAMW(beta2)), RANGE(0, BELOW_ONE),
     .accepted = "numbers from 0 to less than 1", .help = "AdamW's β₂"},
    {ROW("clip", "X", CLI_REAL, AT_ADAMW(clip)), RANGE(0, 1e12),
     .help = "largest global norm of the gradient; 0: no limit"},
    {ROW("seed", "N", CLI_SEED, AT_TRAINING(seed)),
     .help = "of initial weights, windows and dropout"},
    {ROW("threads", "N", CLI_INT, AT_TRAINING(threads)), RANGE(1, 1024),
     .help = "worker threads; the same number gives the same bits"},
    {ROW("micro-batch", "B", CLI_SIZE, AT_TRAINING(micro_batch)), RANGE(0, BATCH_LIMIT),
     .help = "windows that a worker treats at once, a divisor of --batch; 0: chosen"},
    {ROW("recompute", NULL, CLI_FLAG, AT_TRAINING(recompute)),
     .help = "spend time instead of memory: compute activations again in the backward pass"},

    {HEADING("Reports")},
    {ROW("eval-every", "N", CLI_SIZE, AT(eval_every)), RANGE(0, 1e9),
     .help = "steps between measurements of the validation loss; 0: at the end only"},
    {ROW("eval-batches", "N", CLI_SIZE, AT(eval_batches)), RANGE(0, 1e6),
     .help = "batches of each measurement; 0: none"},
    {ROW("checkpoint-every", "N", CLI_SIZE, AT(checkpoint_every)), RANGE(0, 1e9),
     .help = "steps between checkpoints; 0: at the end only"},
    {ROW("log-every", "N", CLI_SIZE, AT(log_every)), RANGE(1, 1e9),
     .help = "steps between rows of metrics.csv"},
};

static void defaults(void *settings)
{
    cli_train_settings *s = settings;
    *s = (cli_train_settings){.config = model_config_default(MODEL_NRGPT),
                              .training = model_training_default(),
                              .data = cli_data_options_default(),
                              .eval_every = 500,
                              .eval_batches = 16,
                              .checkpoint_every = 1000,
                              .log_every = 10};
    s->beta.value = s->config.beta;
}

const cli_command cli_train = {
    .name = "train",
    .purpose = "trains a model on token data",
    .description =
        "Trains a model with AdamW on windows drawn from the first nine tenths of the data; the "
        "last tenth is for validation. Ctrl-C saves and stops; --resume goes on, and the outcome "
        "is bit for bit that of an uninterrupted run with the same number of threads.",
    .example = "basin train --family nrgpt --data listops:generate --out run --steps 400\n"
               "basin train --resume --out run",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(cli_train_settings),
    .defaults = defaults,
    .run = cli_train_run,
};
