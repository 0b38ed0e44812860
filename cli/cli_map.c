/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_map.h"

#include "dyn/dyn_chart.h"
#include "dyn/dyn_classical.h"
#include "dyn/dyn_frozen.h"
#include "dyn/dyn_plugin.h"
#include "models/model_dynamics.h"
#include "models/model_token.h"

#include <stdlib.h>
#include <string.h>

/* Half the width of the box around the start when none is given. */
#define DEFAULT_REACH 2.0

static kern_status check_options(const cli_map_options *o, kern_error *err)
{
    const int given = (o->map != NULL) + (o->plugin != NULL) + (o->model != NULL);
    if (given == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "no map is given; accepted is one of --map NAME, --plugin FILE and "
                          "--model RUN");
    }
    if (given > 1) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%d of --map, --plugin and --model are given; accepted is one", given);
    }
    if ((o->model != NULL) != (o->prompt != NULL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s is given without %s; accepted are both",
                          o->model != NULL ? "--model" : "--prompt",
                          o->model != NULL ? "--prompt" : "--model");
    }
    if (o->model == NULL && (o->layer != NULL || o->sublayer != NULL)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--%s is given without --model; accepted are both",
                          o->layer != NULL ? "layer" : "sublayer");
    }
    if (o->sigma != NULL && strcmp(o->sigma, "trained") == 0 && o->model == NULL) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--sigma is trained, which a map without a trained number of steps does "
                          "not have; accepted are start and a number");
    }
    return KERN_OK;
}

/* Which part of which layer is the map, if any. Blocks that differ cannot be iterated, so a model
 * that has them needs the options, and one that has none does not take them. */
static kern_status read_part(cli_map *m, const cli_map_options *o, kern_error *err)
{
    const model_config *c = &m->run.run.config;
    const char *family = model_config_family_name(c);
    uint64_t layer = 0;
    kern_error why = {0};
    m->has_part = o->layer != NULL || o->sublayer != NULL;
    if (m->has_part && !model_config_is_stack(c)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--%s is for models with layers, llama, cem and hourglass; this model is "
                          "of family %s",
                          o->layer != NULL ? "layer" : "sublayer", family);
    }
    if (!m->has_part && model_config_is_stack(c)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the layers of a model of family %s differ and cannot be iterated as one "
                          "map; accepted is one part of one with --layer L --sublayer attn|mlp",
                          family);
    }
    if (o->layer != NULL &&
        (cli_args_read_u64(&layer, o->layer, NULL) != KERN_OK || layer >= (uint64_t)c->n_layer)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--layer is \"%.40s\"; accepted are 0 to %zu",
                          o->layer, c->n_layer - 1);
    }
    m->layer = (size_t)layer;
    if (o->sublayer != NULL && model_layer_part_parse(&m->part, o->sublayer, &why) != KERN_OK) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--sublayer: %s", why.text);
    }
    return KERN_OK;
}

static kern_status open_model(cli_map *m, const cli_map_options *o, kern_error *err)
{
    int32_t *ids = NULL;
    size_t n = 0;
    m->has_run = true;
    KERN_TRY(cli_run_open(&m->run, o->model, &kern_backend_cpu_f64, err));
    KERN_TRY(read_part(m, o, err));
    KERN_TRY(
        cli_run_encode_prompt(&m->run, o->prompt, m->run.run.config.block_size, &ids, &n, err));
    const kern_status status =
        m->has_part ? model_layer_map_create(&m->map, m->run.m, m->layer, m->part, ids, n, err)
                    : model_dynamics_create(&m->map, m->run.m, ids, n, err);
    free(ids);
    return status;
}

/* The parameters of a chart come into being with it, after those of the map inside. */
static bool waits_for_chart(const cli_map_options *o, const char *assignment)
{
    static const char *const own[] = {"rate=", "sigma_scale="};
    for (size_t i = 0; (o->chart || o->chart_if_norm) && i < sizeof own / sizeof own[0]; i++) {
        if (strncmp(assignment, own[i], strlen(own[i])) == 0) {
            return true;
        }
    }
    return false;
}

static kern_status apply(dyn_map *map, const cli_map_options *o, bool late, kern_error *err)
{
    for (size_t i = 0; i < o->params.n; i++) {
        const dyn_assignment assignment = {.text = o->params.items[i]};
        if (waits_for_chart(o, assignment.text) == late) {
            KERN_TRY(dyn_assignment_apply(&assignment, map, err));
        }
    }
    return KERN_OK;
}

static kern_status open_system(cli_map *m, const cli_map_options *o, kern_error *err)
{
    dyn_assignment list[CLI_LIST_MAX];
    size_t n = 0;
    if (o->model != NULL) {
        KERN_TRY(open_model(m, o, err));
        return apply(m->map, o, false, err);
    }
    for (size_t i = 0; i < o->params.n; i++) {
        if (!waits_for_chart(o, o->params.items[i])) {
            list[n++].text = o->params.items[i];
        }
    }
    return o->map != NULL ? dyn_classical_create(&m->map, o->map, list, n, err)
                          : dyn_plugin_create(&m->map, o->plugin, list, n, err);
}

static kern_status read_start(dyn_map *map, const char *text, kern_error *err)
{
    kern_error why = {0};
    double *values = NULL;
    size_t n = 0;
    const kern_status status = dyn_read_numbers(text, &values, &n, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "--x0: %s", why.text);
    }
    if (n == map->size) {
        memcpy(map->start, values, n * sizeof *values);
    }
    free(values);
    return n == map->size
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT, "--x0 has %zu numbers; map %s accepts %zu",
                            n, map->kind->name, map->size);
}

/* ---- One token, and charts --------------------------------------------------------------------
 */

/* What --sigma asks for. */
typedef struct cli_pin {
    const char *word; /* "trained", "start" or "number" */
    double *state;    /* of the whole map, owned: where scales and held tokens come from */
    double *scales;   /* owned; NULL: those of the state */
} cli_pin;

static void fini_pin(cli_pin *pin)
{
    free(pin->state);
    free(pin->scales);
}

static kern_status read_scale(cli_pin *pin, const dyn_map *map, const char *text, kern_error *err)
{
    double value;
    if (cli_args_read_real(&value, text, NULL) != KERN_OK || !(value > 0.0)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--sigma is \"%.40s\"; accepted are trained, start and a number above 0",
                          text);
    }
    pin->word = "number";
    pin->scales = malloc(map->block_count * sizeof *pin->scales);
    if (pin->scales == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu scales", map->block_count);
    }
    for (size_t a = 0; a < map->block_count; a++) {
        pin->scales[a] = value;
    }
    return KERN_OK;
}

static kern_status read_pin(cli_pin *pin, cli_map *m, const char *text, kern_error *err)
{
    dyn_map *map = m->map;
    *pin = (cli_pin){.word = text != NULL ? text : m->has_run ? "trained" : "start"};
    pin->state = malloc(map->size * sizeof *pin->state);
    if (pin->state == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", map->size);
    }
    if (strcmp(pin->word, "trained") == 0) {
        model_dynamics_trained_state(map, pin->state);
        return KERN_OK;
    }
    memcpy(pin->state, map->start, map->size * sizeof *pin->state);
    return strcmp(pin->word, "start") == 0 ? KERN_OK : read_scale(pin, map, text, err);
}

static kern_status read_token(const dyn_map *map, const char *text, size_t *token, kern_error *err)
{
    uint64_t value;
    if (cli_args_read_u64(&value, text, NULL) != KERN_OK || value >= map->block_count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT, "--token is \"%.40s\"; accepted are 0 to %zu",
                          text, map->block_count - 1);
    }
    *token = (size_t)value;
    return KERN_OK;
}

/* `wrapped` takes the place of the map. */
static void replace(cli_map *m, dyn_map *wrapped)
{
    dyn_map_destroy(m->map);
    m->map = wrapped;
}

/* One block with the others held where `state` has them; a token of an NRGPT at the cost of a
 * token.
 */
static kern_status freeze(dyn_map **out, const cli_map *m, size_t token, const double *state,
                          kern_error *err)
{
    const dyn_map *whole = m->map;
    if (!m->has_run || m->run.run.config.family != MODEL_NRGPT) {
        return dyn_frozen_create(out, whole, token, state, err);
    }
    KERN_TRY(model_token_create(out, m->run.m, state, token, err));
    memcpy((*out)->params, whole->params, whole->n_params * sizeof *whole->params);
    return KERN_OK;
}

/* One block, or the chart, or the chart of one block; `state` then is that of the block. */
static kern_status wrap(cli_map *m, const cli_map_options *o, bool chart, const cli_pin *pin,
                        kern_error *err)
{
    dyn_map *wrapped = NULL;
    const double *state = pin->state;
    size_t token = 0;
    if (o->token != NULL) {
        KERN_TRY(read_token(m->map, o->token, &token, err));
        KERN_TRY(freeze(&wrapped, m, token, state, err));
        replace(m, wrapped);
        m->first_token = token;
        state = m->map->start;
    }
    if (!chart) {
        return apply(m->map, o, true, err);
    }
    KERN_TRY(dyn_chart_create(&wrapped, m->map, state, pin->scales, err));
    replace(m, wrapped);
    m->pinned = strcmp(pin->word, "trained") == 0 ? "trained"
                : pin->scales != NULL             ? "number"
                                                  : "start";
    return apply(m->map, o, true, err);
}

static kern_status restrict_map(cli_map *m, const cli_map_options *o, kern_error *err)
{
    cli_pin pin;
    const bool has_norm = m->map->gauge != DYN_GAUGE_NONE;
    const bool chart = o->chart || (o->chart_if_norm && has_norm);
    if (o->token == NULL && !chart) {
        return o->sigma == NULL
                   ? apply(m->map, o, true, err)
                   : kern_raise(err, KERN_INVALID_ARGUMENT,
                                "--sigma is given without --chart or --token; accepted are both");
    }
    kern_status status = read_pin(&pin, m, o->sigma, err);
    if (status == KERN_OK) {
        status = wrap(m, o, chart, &pin, err);
    }
    fini_pin(&pin);
    return status;
}

kern_status cli_map_open(cli_map *m, const cli_map_options *options, kern_error *err)
{
    KERN_TRY(check_options(options, err));
    KERN_TRY(open_system(m, options, err));
    if (options->x0 != NULL) {
        KERN_TRY(read_start(m->map, options->x0, err));
    }
    return restrict_map(m, options, err);
}

void cli_map_fini(cli_map *m)
{
    dyn_map_destroy(m->map);
    m->map = NULL;
    if (m->has_run) {
        cli_run_fini(&m->run);
        m->has_run = false;
    }
}

/* ---- Boxes ------------------------------------------------------------------------------------
 */

static kern_status raise_box(const char *text, size_t n, const dyn_map *map, kern_error *err)
{
    return kern_raise(
        err, KERN_INVALID_ARGUMENT,
        "--box is \"%.80s\" with %zu pairs; accepted are pairs lo:hi with lo below hi "
        "separated by commas, one for all or one for each of %zu coordinates",
        text, n, map->size);
}

/* Pairs become a list of numbers once their colons are commas. */
static kern_status read_pairs(const char *text, double **values, size_t *n, kern_error *err)
{
    const size_t length = strlen(text);
    char *commas = malloc(length + 1);
    if (commas == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory to read --box");
    }
    memcpy(commas, text, length + 1);
    size_t colons = 0;
    size_t others = 0;
    bool fair = true;
    for (char *c = commas; *c != '\0'; c++) {
        fair = fair && (*c != ':' || colons == others) && (*c != ',' || colons == others + 1);
        colons += *c == ':';
        others += *c == ',';
        *c = *c == ':' ? ',' : *c;
    }
    kern_status status = KERN_INVALID_ARGUMENT;
    if (fair && colons == others + 1) {
        status = dyn_read_numbers(commas, values, n, NULL);
    }
    free(commas);
    return status;
}

kern_status cli_map_read_box(const dyn_map *map, const char *text, double **lo, const double **hi,
                             kern_error *err)
{
    double *pairs = NULL;
    size_t n = 0;
    *lo = NULL;
    *hi = NULL;
    if (text == NULL) {
        return KERN_OK;
    }
    if (read_pairs(text, &pairs, &n, NULL) != KERN_OK || (n != 2 && n != 2 * map->size)) {
        free(pairs);
        return raise_box(text, n / 2, map, err);
    }
    double *ends = calloc(2 * map->size, sizeof *ends);
    size_t wrong = map->size; /* the first coordinate whose ends are not in order */
    for (size_t i = map->size; ends != NULL && i-- > 0;) {
        const double *pair = pairs + (n == 2 ? 0 : 2 * i);
        ends[i] = pair[0];
        ends[map->size + i] = pair[1];
        wrong = pair[0] < pair[1] ? wrong : i;
    }
    free(pairs);
    if (ends == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for --box");
    }
    if (wrong < map->size) {
        (void)kern_raise(
            err, KERN_INVALID_ARGUMENT,
            "--box is \"%.80s\", and of coordinate %zu the lower end %.9g is not below "
            "the upper end %.9g; accepted are pairs lo:hi with lo below hi",
            text, wrong, ends[wrong], ends[map->size + wrong]);
        free(ends);
        return KERN_INVALID_ARGUMENT;
    }
    *lo = ends;
    *hi = ends + map->size;
    return KERN_OK;
}

kern_status cli_map_make_box(const dyn_map *map, const char *text, double **lo, const double **hi,
                             kern_error *err)
{
    KERN_TRY(cli_map_read_box(map, text, lo, hi, err));
    if (*lo != NULL) {
        return KERN_OK;
    }
    double *ends = calloc(2 * map->size, sizeof *ends);
    if (ends == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a box of %zu coordinates", map->size);
    }
    for (size_t i = 0; i < map->size; i++) {
        const double period = map->periods != NULL ? map->periods[i] : 0.0;
        ends[i] = period > 0.0 ? 0.0 : map->start[i] - DEFAULT_REACH;
        ends[map->size + i] = period > 0.0 ? period : map->start[i] + DEFAULT_REACH;
    }
    *lo = ends;
    *hi = ends + map->size;
    return KERN_OK;
}

kern_status cli_map_refuse_norm(const dyn_map *map, kern_error *err)
{
    if (map->gauge == DYN_GAUGE_NONE) {
        return KERN_OK;
    }
    return kern_raise(err, KERN_SINGULAR,
                      "map %s has a norm, so x has gauge directions, such as its scale, in which "
                      "nothing isolates a fixed point; with --chart those of its directions are "
                      "found",
                      map->kind->name);
}

/* ---- Results ----------------------------------------------------------------------------------
 */

void cli_map_describe(cli_json *json, const dyn_map *map)
{
    cli_json_text(json, json->object, "map", map->kind->name);
    cJSON *params = cli_json_child(json, json->object, "params");
    for (size_t i = 0; i < map->n_params; i++) {
        cli_json_real(json, params, map->param_info[i].name, map->params[i]);
    }
    if (dyn_chart_is(map)) {
        (void)cli_json_reals(json, json->object, "sigma", dyn_chart_sigma(map), map->block_count);
    }
}
