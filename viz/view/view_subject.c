/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "viz/view/view_subject.h"

#include "models/model_dynamics.h"
#include "viz/view/view_hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static kern_status open_layer(view_subject *v, kern_error *err)
{
    const model *m = v->run.m;
    v->h = malloc((v->n * m->config.n_embed + 1) * sizeof *v->h);
    if (v->h == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu tokens", v->n);
    }
    v->trained = model_layer_map_steps(m, v->part);
    KERN_TRY(v->ids != NULL
                 ? model_layer_input(m, v->layer, v->part, v->ids, v->n, v->h, err)
                 : model_layer_input_at(m, v->layer, v->part, v->points.rows, v->n, v->h, err));
    return model_layer_map_create_at(&v->map, m, v->layer, v->part, v->h, v->n, err);
}

static kern_status raise_no_energy(const model *m, kern_error *err)
{
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "a %s has no energy of its tokens; accepted are nrgpt and the layers of cem",
                      model_config_family_name(&m->config));
}

static kern_status open_map(view_subject *v, kern_error *err)
{
    const model *m = v->run.m;
    if (!model_config_is_stack(&m->config) && m->config.family != MODEL_NRGPT) {
        return raise_no_energy(m, err);
    }
    if (model_config_is_stack(&m->config)) {
        KERN_TRY(open_layer(v, err));
    } else if (v->layer != 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "layer is %zu; the block of a %s is one and has no layers", v->layer,
                          model_config_family_name(&m->config));
    } else {
        v->trained = m->config.n_layer;
        KERN_TRY(model_dynamics_create(&v->map, m, v->ids, v->n, err));
    }
    return v->map->kind->block_energies != NULL ? KERN_OK : raise_no_energy(m, err);
}

/* ---- A run, or a file of weights ---------------------------------------------------------------
 */

static kern_status open_run(view_subject *v, const view_settings *s, kern_error *err)
{
    KERN_TRY(model_run_open_init(&v->run, s->run, &kern_backend_cpu_f64, err));
    return model_run_open_encode(&v->run, s->prompt, v->run.run.config.block_size, &v->ids, &v->n,
                                 err);
}

/* ---- A model of the Gaussian-process benchmark -------------------------------------------------
 */

/* Digits at *text, which is moved behind them; false without any, or for too large a number. */
static bool read_digits(const char **text, uint64_t *value)
{
    const char *at = *text;
    *value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (*value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *value = 10 * *value + digit;
    }
    const bool any = at > *text;
    *text = at;
    return any;
}

/* "SEED" or "SEED:POINTS"; without the second all points are meant. */
static kern_status read_points(const char *prompt, uint64_t *seed, size_t *points, kern_error *err)
{
    const char *at = prompt;
    uint64_t count = 0;
    bool fine = read_digits(&at, seed);
    if (fine && *at == ':') {
        at++;
        fine = read_digits(&at, &count) && count > 0 && count <= SYN_GP_MAX_POINTS;
    }
    *points = (size_t)count;
    return fine && *at == '\0'
               ? KERN_OK
               : kern_raise(err, KERN_INVALID_ARGUMENT,
                            "prompt is \"%.40s\"; a model of Gaussian processes takes the seed of "
                            "a sequence, or seed and number of points as in 3:32",
                            prompt);
}

static kern_status open_points(view_subject *v, const view_settings *s, kern_error *err)
{
    syn_gp_model g;
    uint64_t seed;
    size_t points;
    KERN_TRY(read_points(s->prompt, &seed, &points, err));
    KERN_TRY(syn_gp_model_init(&g, s->run, err));
    const kern_status status = syn_gp_sequence_init(&v->points, &g, seed, points, err);
    v->n = v->points.points;
    v->run = (model_run_open){.run.config = g.m->config, .m = g.m, .step = g.step};
    return status;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static kern_status open_all(view_subject *v, const view_settings *s, kern_error *err)
{
    char *weights = NULL;
    KERN_TRY(syn_gp_model_is(s->run) ? open_points(v, s, err) : open_run(v, s, err));
    KERN_TRY(model_run_open_weights(&weights, s->run, err));
    const kern_status status = view_hash_file(v->sha256, weights, err);
    free(weights);
    KERN_TRY(status);
    return open_map(v, err);
}

static void destroy(view_subject *v)
{
    dyn_map_destroy(v->map);
    free(v->h);
    free(v->ids);
    syn_gp_sequence_fini(&v->points);
    model_run_open_fini(&v->run);
    free(v);
}

kern_status view_subject_create(view_subject **out, const view_settings *s, kern_error *err)
{
    view_subject *v = calloc(1, sizeof *v);
    *out = NULL;
    if (v == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a model");
    }
    atomic_init(&v->holders, 1);
    v->layer = s->layer;
    v->part = (model_layer_part)s->sublayer;
    const kern_status status = open_all(v, s, err);
    if (status != KERN_OK) {
        destroy(v);
        return status;
    }
    *out = v;
    return KERN_OK;
}

view_subject *view_subject_keep(view_subject *subject)
{
    (void)atomic_fetch_add(&subject->holders, 1);
    return subject;
}

void view_subject_release(view_subject *subject)
{
    if (subject != NULL && atomic_fetch_sub(&subject->holders, 1) == 1) {
        destroy(subject);
    }
}

void view_subject_token(const view_subject *subject, size_t token, char *out, size_t size)
{
    char label[MODEL_TOKENIZER_LABEL] = "?";
    if (token < subject->n && subject->ids == NULL) {
        const double x = subject->points.x[token];
        (void)snprintf(label, sizeof label, "x = %s%.2f", x <= -0.005 ? "\xe2\x88\x92" : "",
                       fabs(x));
    } else if (token < subject->n) {
        model_tokenizer_label(&subject->run.run.tokenizer, subject->ids[token], label);
    }
    (void)snprintf(out, size, "%s", label);
}
