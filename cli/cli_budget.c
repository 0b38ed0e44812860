/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin budget: the shapes of layered models that have a given number of parameters.
 */
#include "cli/cli_commands.h"
#include "cli/cli_json.h"
#include "cli/cli_words.h"
#include "models/model_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST_MAX = 10000,
    VALUES_MAX = 1 << 16, /* of one grid */
    NEAREST = 3,          /* shapes named when none fits */
    GRIDS = 6,
    WIDTHS_TEXT = 96
};

#define PER_CENT 100.0
#define MILLION  1e-6

typedef struct budget_family {
    const char *name;
    model_attn attn;
    model_ffn ffn;
} budget_family;

static const budget_family families[] = {
    {"hourglass", MODEL_ATTN_LLAMA, MODEL_FFN_HOURGLASS},
    {"llama", MODEL_ATTN_LLAMA, MODEL_FFN_LLAMA},
    {"cem", MODEL_ATTN_CEM, MODEL_FFN_CEM},
};

static const char *const splits[] = {[MODEL_BUDGET_UNIFORM] = "uniform",
                                     [MODEL_BUDGET_LAYER] = "layer",
                                     [MODEL_BUDGET_MODEL] = "model"};

typedef struct budget_settings {
    size_t params;
    const budget_family *family;
    model_budget_rules rules; /* attn and ffn where given, else the family's */
    double tol;
    const char *width;
    const char *layers;
    const char *k;
    const char *d_attn;
    const char *d_kv;
    const char *hidden;
    model_budget_split split;
    size_t multiple;
    size_t narrowest;
    size_t list;
    bool json;
} budget_settings;

/* ---- Options ----------------------------------------------------------------------------- */

CLI_WORD_FUNCTIONS(attn, model_attn)
CLI_WORD_FUNCTIONS(ffn, model_ffn)
CLI_WORD_FUNCTIONS(gain, model_gain)
CLI_WORD_FUNCTIONS(diag, model_diag)
CLI_WORD_FUNCTIONS(precond, model_precond)

static kern_status parse_family(void *member, const char *value, kern_error *err)
{
    const budget_family **family = member;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (strcmp(value, families[i].name) == 0) {
            *family = &families[i];
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "unknown family");
}

static void show_family(const void *member, char out[CLI_VALUE_TEXT])
{
    const budget_family *const *family = member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", (*family)->name);
}

static kern_status parse_split(void *member, const char *value, kern_error *err)
{
    model_budget_split *split = member;
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        if (strcmp(value, splits[i]) == 0) {
            *split = (model_budget_split)i;
            return KERN_OK;
        }
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT, "unknown split");
}

static void show_split(const void *member, char out[CLI_VALUE_TEXT])
{
    const model_budget_split *split = member;
    (void)snprintf(out, CLI_VALUE_TEXT, "%s", splits[*split]);
}

#define GRID(option, member_, what)                                                                \
    {                                                                                              \
        .name = (option), .value = "GRID", .kind = CLI_TEXT,                                       \
        .offset = offsetof(budget_settings, member_), .help = (what)                               \
    }
#define WORD(option, member_, words, hide, list_, what)                                            \
    {                                                                                              \
        .name = (option), .value = "WORD", .kind = CLI_WORD, .parse = parse_##words,               \
        .show = show_##words, .accepted = (list_), .hide_default = (hide),                         \
        .offset = offsetof(budget_settings, member_), .help = (what)                               \
    }
#define SIZE(option, member_, low_, high_, what)                                                   \
    {                                                                                              \
        .name = (option), .value = "N", .kind = CLI_SIZE, .low = (low_), .high = (high_),          \
        .offset = offsetof(budget_settings, member_), .help = (what)                               \
    }
#define FLAG(option, member_, what)                                                                \
    {                                                                                              \
        .name = (option), .kind = CLI_FLAG, .offset = offsetof(budget_settings, member_),          \
        .help = (what)                                                                             \
    }

static const cli_option options[] = {
    {.kind = CLI_HEADING, .help = "Budget"},
    {.name = "params",
     .value = "P",
     .kind = CLI_SIZE,
     .required = true,
     .low = 1,
     .high = (double)MODEL_BUDGET_PARAMETERS,
     .offset = offsetof(budget_settings, params),
     .help = "parameters that a shape should have"},
    {.name = "tol",
     .value = "X",
     .kind = CLI_REAL,
     .low = 0,
     .high = 1,
     .offset = offsetof(budget_settings, tol),
     .help = "largest relative error; 0 asks for exact shapes"},
    {.kind = CLI_HEADING, .help = "What is counted"},
    WORD("family", family, family, false, "hourglass, llama and cem",
         "hourglass: sub-MLPs narrower than the model; llama; cem: tied attention and tied MLP"),
    WORD("attn", rules.attn, attn, true, "llama and cem",
         "attention, untied or tied (default: the family's)"),
    WORD("ffn", rules.ffn, ffn, true, "llama, cem and hourglass",
         "feed-forward part (default: the family's)"),
    FLAG("count-gains", rules.count_gains, "gains of norms are parameters"),
    WORD("gain", rules.gain, gain, false, "per_sub, shared and none",
         "gains of the feed-forward part: one for each sub-MLP, one, none"),
    SIZE("vocab", rules.vocab, 0, (double)MODEL_BUDGET_VOCAB,
         "tokens of the embedding; 0: embeddings are not counted"),
    FLAG("tied-head", rules.tied_head, "the readout is the embedding"),
    WORD("diag", rules.diag, diag, false, "none, shared and per_head",
         "diagonal of tied attention's interaction"),
    SIZE("heads", rules.heads, 0, MODEL_BUDGET_WIDTH, "heads, which --diag per_head needs"),
    WORD("precond", rules.precond, precond, false, "none, dlr and gamma",
         "preconditioner of each tied sub-layer"),
    SIZE("p-rank", rules.p_rank, 1, MODEL_BUDGET_WIDTH, "its rank, for dlr"),
    FLAG("train-step-size", rules.eta_trained, "each tied sub-layer trains its step size"),
    {.kind = CLI_HEADING, .help = "Shapes to try (a GRID is N, A,B,..., LO:HI or LO:HI:STEP)"},
    GRID("width", width, "width of the model (default: 64:4096:64)"),
    {.name = "layers",
     .alias = "depth",
     .value = "GRID",
     .kind = CLI_TEXT,
     .offset = offsetof(budget_settings, layers),
     .help = "number of layers (default: 3:40)"},
    GRID("k", k, "sub-MLPs of a layer (default: 1:12 for hourglass, else 1)"),
    GRID("attn-width", d_attn, "width of all heads together (default: the width)"),
    GRID("kv-width", d_kv, "width of keys and values (default: as --attn-width)"),
    GRID("hidden", hidden,
         "hidden units of a layer, which are then counted instead of chosen to fit"),
    WORD("split", split, split, false, "uniform, layer and model",
         "hidden widths that are tried: all equal; equal sums in all layers; any, differing by 1"),
    SIZE("multiple", multiple, 1, MODEL_BUDGET_UNIT,
         "of which uniform hidden widths are multiples"),
    SIZE("narrowest", narrowest, 1, MODEL_BUDGET_UNIT, "least hidden width of a sub-MLP"),
    {.kind = CLI_HEADING, .help = "Results"},
    SIZE("list", list, 1, LIST_MAX, "shapes listed, nearest first"),
    CLI_OPTION_JSON(budget_settings),
};

static void defaults(void *settings)
{
    *(budget_settings *)settings = (budget_settings){.family = &families[0],
                                                     .rules = {.gain = MODEL_GAIN_PER_SUB,
                                                               .diag = MODEL_DIAG_SHARED,
                                                               .heads = 0,
                                                               .precond = MODEL_PRECOND_NONE,
                                                               .p_rank = 8},
                                                     .tol = 1e-5,
                                                     .split = MODEL_BUDGET_UNIFORM,
                                                     .multiple = 1,
                                                     .narrowest = 8,
                                                     .list = 20};
}

/* One call. */
typedef struct budget_job {
    const budget_settings *s;
    model_budget_search search;
    size_t *blocks[GRIDS];      /* owned: the values of the search */
    model_budget_shape *shapes; /* owned */
    model_budget_tally tally;
} budget_job;

/* ---- Grids ------------------------------------------------------------------------------- */

/* A grid, and the option it is read from. */
typedef struct budget_grid {
    const char *option;
    const char *text; /* NULL: it stays empty */
    size_t high;
    model_budget_values *values;
} budget_grid;

static kern_status raise_grid(const budget_grid *grid, kern_error *err)
{
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "--%s is \"%s\"; accepted are N, A,B,..., LO:HI and LO:HI:STEP with whole "
                      "numbers from 1 to %zu, at most %d of them",
                      grid->option, grid->text, grid->high, VALUES_MAX);
}

/* Reads the number at *at, which then points behind it; 0 when there is none or it is too large. */
static size_t read_number(const char **at, size_t high)
{
    size_t value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        value = 10 * value + (size_t)(**at - '0');
        if (value > high) {
            return 0;
        }
    }
    return value;
}

/* Reads N, LO:HI or LO:HI:STEP as first, last and step. */
static bool read_range(const char **at, size_t high, size_t range[3])
{
    range[0] = read_number(at, high);
    range[1] = range[0];
    range[2] = 1;
    for (size_t i = 1; i < 3 && **at == ':'; i++) {
        ++*at;
        range[i] = read_number(at, high);
    }
    return range[0] > 0 && range[1] >= range[0] && range[2] > 0;
}

/* Reads a grid into `block`, which has room for VALUES_MAX. */
static kern_status read_grid(const budget_grid *grid, size_t *block, kern_error *err)
{
    const char *at = grid->text;
    size_t count = 0;
    for (;;) {
        size_t range[3];
        if (!read_range(&at, grid->high, range) || (*at != ',' && *at != '\0')) {
            return raise_grid(grid, err);
        }
        for (size_t v = range[0]; v <= range[1]; v += range[2]) {
            if (count == VALUES_MAX) {
                return raise_grid(grid, err);
            }
            block[count++] = v;
        }
        if (*at == '\0') {
            *grid->values = (model_budget_values){block, count};
            return KERN_OK;
        }
        at++;
    }
}

static const char *text_or(const char *text, const char *otherwise)
{
    return text != NULL ? text : otherwise;
}

static kern_status read_grids(budget_job *job, kern_error *err)
{
    const budget_settings *s = job->s;
    model_budget_search *search = &job->search;
    const bool stacked = search->rules.ffn == MODEL_FFN_HOURGLASS;
    const budget_grid grids[GRIDS] = {
        {"width", text_or(s->width, "64:4096:64"), MODEL_BUDGET_WIDTH, &search->d},
        {"layers", text_or(s->layers, "3:40"), MODEL_BUDGET_LAYERS, &search->layers},
        {"k", text_or(s->k, stacked ? "1:12" : "1"), stacked ? MODEL_BUDGET_K : 1, &search->k},
        {"attn-width", s->d_attn, MODEL_BUDGET_WIDTH, &search->d_attn},
        {"kv-width", s->d_kv, MODEL_BUDGET_WIDTH, &search->d_kv},
        {"hidden", s->hidden, MODEL_BUDGET_WIDTH, &search->hidden},
    };
    for (size_t i = 0; i < GRIDS; i++) {
        if (grids[i].text == NULL) {
            continue;
        }
        job->blocks[i] = calloc(VALUES_MAX, sizeof *job->blocks[i]);
        if (job->blocks[i] == NULL) {
            return kern_raise(err, KERN_NO_MEMORY, "no memory for the values of --%s",
                              grids[i].option);
        }
        KERN_TRY(read_grid(&grids[i], job->blocks[i], err));
    }
    return KERN_OK;
}

/* ---- Search ------------------------------------------------------------------------------ */

static model_budget_rules make_rules(const cli_call *call, const budget_settings *s)
{
    model_budget_rules rules = s->rules;
    rules.attn = cli_args_given(call, "attn") ? rules.attn : s->family->attn;
    rules.ffn = cli_args_given(call, "ffn") ? rules.ffn : s->family->ffn;
    return rules;
}

/* The hidden widths as text: "8x384", "2x615+3x614". */
static void write_widths(const model_budget_shape *shape, char out[WIDTHS_TEXT])
{
    const size_t span = model_budget_widths(shape);
    const size_t units = span == shape->k ? shape->hidden / shape->layers : shape->hidden;
    const size_t wide = units % span;
    const char *where = span == shape->k ? "" : " in all";
    if (wide == 0) {
        (void)snprintf(out, WIDTHS_TEXT, "%zux%zu%s", span, units / span, where);
    } else {
        (void)snprintf(out, WIDTHS_TEXT, "%zux%zu+%zux%zu%s", wide, units / span + 1, span - wide,
                       units / span, where);
    }
}

/* No shape fits: the sentence names the nearest. */
static kern_status raise_impossible(const budget_job *job, kern_error *err)
{
    char list[KERN_ERROR_TEXT / 2] = "";
    size_t used = 0;
    for (size_t i = 0; i < NEAREST && i < job->tally.listed; i++) {
        char widths[WIDTHS_TEXT];
        const model_budget_shape *shape = &job->shapes[i];
        write_widths(shape, widths);
        const int n = snprintf(list + used, sizeof list - used,
                               "%swidth %zu with %zu layers and hidden widths %s (%zu, %+.3g %%)",
                               i > 0 ? "; " : "", shape->d, shape->layers, widths,
                               shape->parameters, PER_CENT * shape->error);
        used += n > 0 ? (size_t)n : 0;
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "--params is %zu, and none of the %zu shapes tried comes within %g %% of it; "
                      "the nearest are %s",
                      job->s->params, job->tally.candidates, PER_CENT * job->s->tol, list);
}

static kern_status compute(budget_job *job, const cli_call *call, kern_error *err)
{
    const budget_settings *s = job->s;
    job->search = (model_budget_search){.rules = make_rules(call, s),
                                        .parameters = s->params,
                                        .tolerance = s->tol,
                                        .split = s->split,
                                        .multiple = s->multiple,
                                        .narrowest = s->narrowest};
    KERN_TRY(read_grids(job, err));
    job->shapes = calloc(s->list + NEAREST, sizeof *job->shapes);
    if (job->shapes == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu shapes", s->list);
    }
    KERN_TRY(model_budget_solve(&job->search, job->shapes, s->list + NEAREST, &job->tally, err));
    return job->tally.found == 0 ? raise_impossible(job, err) : KERN_OK;
}

/* Shapes to show: those within the tolerance, as many as were asked for. */
static size_t shown(const budget_job *job)
{
    return job->tally.found < job->s->list ? job->tally.found : job->s->list;
}

/* ---- Printing ---------------------------------------------------------------------------- */

static void add_shape(cli_json *json, cJSON *shapes, const model_budget_shape *shape,
                      const model_budget_parts *parts)
{
    cJSON *item = cli_json_child(json, shapes, NULL);
    const size_t span = model_budget_widths(shape);
    cli_json_size(json, item, "d", shape->d);
    cli_json_size(json, item, "layers", shape->layers);
    cli_json_size(json, item, "d_attn", shape->d_attn);
    cli_json_size(json, item, "d_kv", shape->d_kv);
    cJSON *hidden = cli_json_array(json, item, "hidden");
    for (size_t i = 0; i < span; i++) {
        cli_json_size(json, hidden, NULL, model_budget_width(shape, i / shape->k, i % shape->k));
    }
    cli_json_size(json, item, "k", shape->k);
    cli_json_size(json, item, "parameters", shape->parameters);
    cli_json_real(json, item, "error", shape->error);
    cJSON *split = cli_json_child(json, item, "parts");
    cli_json_size(json, split, "attention", parts->attention);
    cli_json_size(json, split, "feed_forward", parts->feed_forward);
    cli_json_size(json, split, "gains", parts->gains);
    cli_json_size(json, split, "embeddings", parts->embeddings);
}

static kern_status print_json(const budget_job *job, kern_error *err)
{
    cli_json json;
    kern_status status = KERN_OK;
    cli_json_init(&json);
    cJSON *shapes = cli_json_array(&json, json.object, "shapes");
    for (size_t i = 0; i < shown(job) && status == KERN_OK; i++) {
        model_budget_parts parts;
        status = model_budget_count(&job->search.rules, &job->shapes[i], &parts, err);
        if (status == KERN_OK) {
            add_shape(&json, shapes, &job->shapes[i], &parts);
        }
    }
    if (status != KERN_OK) {
        cli_json_fini(&json);
        return status;
    }
    cli_json_size(&json, json.object, "n_found", job->tally.found);
    cli_json_size(&json, json.object, "n_tried", job->tally.candidates);
    cli_json_size(&json, json.object, "params", job->s->params);
    cli_json_real(&json, json.object, "tol", job->s->tol);
    cli_json_text(&json, json.object, "attn", model_attn_word(job->search.rules.attn));
    cli_json_text(&json, json.object, "ffn", model_ffn_word(job->search.rules.ffn));
    return cli_json_print(&json, err);
}

static kern_status print_table(const budget_job *job, kern_error *err)
{
    (void)printf("%6s %6s %6s %6s %6s %4s  %-22s %6s %9s %9s %12s %10s\n", "d", "layers", "d/L",
                 "d_attn", "d_kv", "k", "hidden", "d_h/d", "attn M", "ffn M", "parameters",
                 "error %");
    for (size_t i = 0; i < shown(job); i++) {
        const model_budget_shape *s = &job->shapes[i];
        char widths[WIDTHS_TEXT];
        model_budget_parts p;
        KERN_TRY(model_budget_count(&job->search.rules, s, &p, err));
        write_widths(s, widths);
        (void)printf("%6zu %6zu %6.1f %6zu %6zu %4zu  %-22s %6.3f %9.2f %9.2f %12zu %10.2g\n", s->d,
                     s->layers, (double)s->d / (double)s->layers, s->d_attn, s->d_kv, s->k, widths,
                     (double)s->hidden / (double)(s->layers * s->k * s->d),
                     MILLION * (double)p.attention, MILLION * (double)p.feed_forward, s->parameters,
                     PER_CENT * s->error);
    }
    (void)printf("%zu of %zu shapes tried are within %g %% of %zu parameters\n", job->tally.found,
                 job->tally.candidates, PER_CENT * job->s->tol, job->s->params);
    return KERN_OK;
}

static kern_status run(cli_call *call, const void *settings, kern_error *err)
{
    const budget_settings *s = settings;
    budget_job job = {.s = s};
    kern_status status = compute(&job, call, err);
    if (status == KERN_OK) {
        status = s->json ? print_json(&job, err) : print_table(&job, err);
    }
    for (size_t i = 0; i < GRIDS; i++) {
        free(job.blocks[i]);
    }
    free(job.shapes);
    return status;
}

const cli_command cli_budget = {
    .name = "budget",
    .purpose = "shapes of layered models with a given number of parameters",
    .description =
        "Tries every combination of width, layers, sub-MLPs and attention widths, chooses the "
        "hidden widths that come nearest to the number of parameters, and lists the shapes within "
        "the tolerance, nearest first. Gains and embeddings count only when asked for. When no "
        "shape fits, the nearest ones are named.",
    .example = "basin budget --params 113246208 --width 1536 --layers 8 --attn-width 1344,1536\n"
               "basin budget --params 162148608 --family cem --vocab 50257 --count-gains "
               "--diag none --width 768 --layers 12",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .settings_size = sizeof(budget_settings),
    .defaults = defaults,
    .run = run,
};
