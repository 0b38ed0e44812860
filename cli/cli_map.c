/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_map.h"

#include "dyn/dyn_classical.h"
#include "dyn/dyn_plugin.h"
#include "models/model_dynamics.h"

#include <stdlib.h>
#include <string.h>

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
    return KERN_OK;
}

static kern_status open_model(cli_map *m, const cli_map_options *o, kern_error *err)
{
    int32_t *ids = NULL;
    size_t n = 0;
    m->has_run = true;
    KERN_TRY(cli_run_open(&m->run, o->model, &kern_backend_cpu_f64, err));
    KERN_TRY(
        cli_run_encode_prompt(&m->run, o->prompt, m->run.run.config.block_size, &ids, &n, err));
    const kern_status status = model_dynamics_create(&m->map, m->run.m, ids, n, err);
    free(ids);
    return status;
}

static kern_status open_system(cli_map *m, const cli_map_options *o, kern_error *err)
{
    dyn_assignment list[CLI_LIST_MAX];
    const size_t n = o->params.n;
    for (size_t i = 0; i < n; i++) {
        list[i].text = o->params.items[i];
    }
    if (o->map != NULL) {
        return dyn_classical_create(&m->map, o->map, list, n, err);
    }
    if (o->plugin != NULL) {
        return dyn_plugin_create(&m->map, o->plugin, list, n, err);
    }
    KERN_TRY(open_model(m, o, err));
    for (size_t i = 0; i < n; i++) {
        KERN_TRY(dyn_assignment_apply(&list[i], m->map, err));
    }
    return KERN_OK;
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

kern_status cli_map_open(cli_map *m, const cli_map_options *options, kern_error *err)
{
    KERN_TRY(check_options(options, err));
    KERN_TRY(open_system(m, options, err));
    return options->x0 != NULL ? read_start(m->map, options->x0, err) : KERN_OK;
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
    bool ordered = ends != NULL;
    for (size_t i = 0; ends != NULL && i < map->size; i++) {
        const double *pair = pairs + (n == 2 ? 0 : 2 * i);
        ends[i] = pair[0];
        ends[map->size + i] = pair[1];
        ordered = ordered && pair[0] < pair[1];
    }
    free(pairs);
    if (ends == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for --box");
    }
    if (!ordered) {
        free(ends);
        return raise_box(text, n / 2, map, err);
    }
    *lo = ends;
    *hi = ends + map->size;
    return KERN_OK;
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
}
