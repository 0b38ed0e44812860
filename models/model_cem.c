/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The descent that both sub-layers share: norms, preconditioner, steps.
 */
#include "models/model_cem.h"

#include <math.h>
#include <stdio.h>

typedef struct step_name {
    char text[MODEL_PARAM_NAME / 2];
} step_name;

static step_name name_of(const model_cem_energy *energy, const char *rest)
{
    step_name name;
    (void)snprintf(name.text, sizeof name.text, "%s.%s", energy->prefix, rest);
    return name;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* P starts as the identity: softplus δ = 1, and V = 0 while U is not, so that V is what moves
 * first. */
kern_status model_cem_add_step(model_params *params, const model_config *c, size_t layer,
                               const model_cem_energy *energy, kern_error *err)
{
    const size_t d = c->n_embed;
    const size_t r = c->cem.p_rank;
    const step_name delta = name_of(energy, "p_delta");
    const step_name u = name_of(energy, "p_u");
    const step_name v = name_of(energy, "p_v");
    const step_name eta = name_of(energy, "eta");
    const model_layer_tensor p[] = {
        {.name = delta.text, .cols = d, .constant = log(expm1(1.0))},
        {.name = u.text, .rows = d, .cols = r},
        {.name = v.text, .rows = d, .cols = r, .constant_matrix = true}};
    const model_layer_tensor size = {.name = eta.text, .cols = 1, .constant = c->cem.eta};
    if (c->cem.precond == MODEL_PRECOND_DLR) {
        KERN_TRY(model_layer_add(params, layer, p, sizeof p / sizeof *p, err));
    }
    return c->cem.eta_trained ? model_layer_add(params, layer, &size, 1, err) : KERN_OK;
}

/* ---- one step ------------------------------------------------------------------------------- */

static kern_value add(model_builder *b, kern_value a, kern_value f, double scale)
{
    return model_build_affine(b, a, f, KERN_NO_VALUE, KERN_NO_VALUE,
                              (kern_affine_attr){.scale = scale, .power = 1});
}

/* c + α r W. */
static kern_value multiply(model_builder *b, kern_value r, kern_value w, double alpha, kern_value c)
{
    const kern_attr attr = {.linear = {.plain = true, .alpha = alpha}};
    const kern_value in[] = {r, w, KERN_NO_VALUE, c};
    return kern_graph_apply(b->graph, KERN_OP_LINEAR, &attr, in, NULL);
}

/* base + scale · gain ⊙ extra; base where there is no extra part. */
static kern_value add_extra(model_builder *b, const model_cem_force *f, kern_value base,
                            double scale)
{
    if (f->extra == KERN_NO_VALUE) {
        return base;
    }
    return model_build_affine(b, base, f->extra, KERN_NO_VALUE, f->gain,
                              (kern_affine_attr){.scale = scale, .power = 1});
}

kern_value model_cem_force_value(model_builder *b, const model_cem_force *f)
{
    return multiply(b, f->row, f->weight, 1.0, add_extra(b, f, KERN_NO_VALUE, 1.0));
}

/* −∇ε with respect to x, which is that with respect to u under every place of the norm but one. */
static kern_value gradient(const model_cem_descent *d, kern_value x, const model_cem_force *force,
                           kern_value away)
{
    model_builder *b = d->b;
    kern_value f = model_cem_force_value(b, force);
    if (b->config->cem.norm == MODEL_PLACE_EXACT) {
        const kern_attr attr = {.norm = {.kind = KERN_RMSNORM, .epsilon = b->config->norm_eps}};
        const kern_value in[] = {x, model_layer_param(b, d->layer, d->energy->norm), f};
        f = kern_graph_apply(b->graph, KERN_OP_NORM_PULL, &attr, in, NULL);
    }
    return away == KERN_NO_VALUE ? f : add(b, f, away, -b->config->cem.confine);
}

/* x + η (softplus(δ) ⊙ f + U Vᵀf + V Uᵀf). */
static kern_value precondition(const model_cem_descent *d, kern_value x, kern_value f)
{
    model_builder *b = d->b;
    const double eta = b->config->cem.eta;
    const kern_value delta = model_layer_param(b, d->layer, name_of(d->energy, "p_delta").text);
    const kern_value u = model_layer_param(b, d->layer, name_of(d->energy, "p_u").text);
    const kern_value v = model_layer_param(b, d->layer, name_of(d->energy, "p_v").text);
    const kern_attr back = {.linear = {.alpha = eta}};
    const kern_value fv = multiply(b, f, v, 1.0, KERN_NO_VALUE);
    const kern_value fu = multiply(b, f, u, 1.0, KERN_NO_VALUE);
    kern_value y =
        model_build_affine(b, x, f, KERN_NO_VALUE, delta,
                           (kern_affine_attr){.scale = eta, .power = 1, .softplus = true});
    y = kern_graph_apply(b->graph, KERN_OP_LINEAR, &back,
                         (const kern_value[]){fv, u, KERN_NO_VALUE, y}, NULL);
    return kern_graph_apply(b->graph, KERN_OP_LINEAR, &back,
                            (const kern_value[]){fu, v, KERN_NO_VALUE, y}, NULL);
}

/* x + η P f with P = I or diag(γ). */
static kern_value scale(const model_cem_descent *d, kern_value x, kern_value f)
{
    model_builder *b = d->b;
    const model_cem *c = &b->config->cem;
    const kern_value eta = c->eta_trained
                               ? model_layer_param(b, d->layer, name_of(d->energy, "eta").text)
                               : KERN_NO_VALUE;
    const kern_value gamma = c->precond == MODEL_PRECOND_GAMMA
                                 ? model_layer_param(b, d->layer, d->energy->norm)
                                 : KERN_NO_VALUE;
    return model_build_affine(
        b, x, f, eta, gamma,
        (kern_affine_attr){.scale = c->eta_trained ? 1.0 : c->eta, .power = 1});
}

/* The step is one product that adds to x. */
static bool is_direct(const model_cem *c, kern_value away)
{
    return c->precond == MODEL_PRECOND_NONE && !c->eta_trained && c->norm != MODEL_PLACE_EXACT &&
           away == KERN_NO_VALUE;
}

static kern_value move(const model_cem_descent *d, kern_value x, const model_cem_force *force,
                       kern_value away)
{
    const model_cem *c = &d->b->config->cem;
    if (is_direct(c, away)) {
        return multiply(d->b, force->row, force->weight, c->eta, add_extra(d->b, force, x, c->eta));
    }
    const kern_value f = gradient(d, x, force, away);
    return c->precond == MODEL_PRECOND_DLR ? precondition(d, x, f) : scale(d, x, f);
}

/* What the energy sees of x, with the history that goes with it. */
static kern_value see(model_cem_descent *d, kern_value x)
{
    const model_cem *c = &d->b->config->cem;
    const kern_value u =
        c->norm == MODEL_PLACE_ONCE ? x : model_layer_norm(d->b, d->layer, d->energy->norm, x);
    if (c->hist == MODEL_HIST_SYNC) {
        d->history = d->energy->history(d->b, d->layer, u);
    }
    return u;
}

/* x − x^(0) where something confines x. */
static kern_value stray(const model_cem_descent *d, kern_value x)
{
    return d->b->config->cem.confine > 0.0 ? add(d->b, x, d->start, -1.0) : KERN_NO_VALUE;
}

/* ½λ|x − x^(0)|². */
static kern_value confine(const model_cem_descent *d, kern_value away)
{
    const kern_attr attr = {.row = {.scale = 0.5 * d->b->config->cem.confine}};
    return away == KERN_NO_VALUE
               ? KERN_NO_VALUE
               : kern_graph_apply(d->b->graph, KERN_OP_ROW_SUMSQ, &attr, &away, NULL);
}

model_cem_descent model_cem_begin(model_builder *b, size_t layer, const model_cem_energy *energy,
                                  kern_value h)
{
    model_cem_descent d = {.b = b, .layer = layer, .energy = energy, .h = h};
    d.seen = model_layer_norm(b, layer, energy->norm, h);
    d.start = b->config->cem.norm == MODEL_PLACE_ONCE ? d.seen : h;
    d.history = energy->history(b, layer, d.seen);
    return d;
}

kern_value model_cem_step(model_cem_descent *d, kern_value x, bool first, kern_value *value)
{
    const kern_value u = first ? d->seen : see(d, x);
    const kern_value away = first ? KERN_NO_VALUE : stray(d, x);
    const model_cem_force force = d->energy->force(d->b, d->layer, &d->history, u);
    if (value != NULL) {
        const kern_value confinement = confine(d, away);
        *value =
            confinement == KERN_NO_VALUE ? force.energy : add(d->b, force.energy, confinement, 1.0);
    }
    return move(d, x, &force, away);
}

void model_cem_energies(model_cem_descent *d, kern_value x, kern_value terms[MODEL_CEM_TERMS])
{
    const kern_value u = see(d, x);
    terms[0] = d->energy->force(d->b, d->layer, &d->history, u).energy;
    terms[1] = confine(d, stray(d, x));
}

/* ---- the sub-layer -------------------------------------------------------------------------- */

/* Builds step t; a shown one records where it starts from. */
static kern_value take_step(model_cem_descent *d, kern_value x, size_t t, bool shown)
{
    kern_value energy = KERN_NO_VALUE;
    kern_graph_begin_segment(d->b->graph);
    const kern_value next = model_cem_step(d, x, t == 0, d->b->energies && shown ? &energy : NULL);
    if (shown) {
        model_layer_record(d->b, d->energy->part, x, energy);
    }
    return next;
}

/* Records the last iterate. The step that comes with its energy is read by nobody. */
static void show_last(model_cem_descent *d, kern_value x, size_t t)
{
    if (d->b->energies) {
        (void)take_step(d, x, t, true);
    } else {
        model_layer_record(d->b, d->energy->part, x, KERN_NO_VALUE);
    }
}

kern_value model_cem_build(model_builder *b, size_t layer, const model_cem_energy *energy,
                           size_t steps, kern_value h)
{
    const size_t asked = energy->part == MODEL_LAYER_ATTN ? b->inner_attn : b->inner_mlp;
    const size_t shown = asked != 0 ? asked : steps;
    kern_graph_begin_shared_segment(b->graph);
    model_cem_descent d = model_cem_begin(b, layer, energy, h);
    kern_value x = d.start;
    kern_value last = x;
    for (size_t t = 0; t < steps || t < shown; t++) {
        x = take_step(&d, x, t, t <= shown);
        last = t + 1 == steps ? x : last;
    }
    if (shown >= steps) {
        show_last(&d, x, shown);
    }
    kern_graph_begin_segment(b->graph);
    if (b->config->cem.norm != MODEL_PLACE_ONCE) {
        return last;
    }
    return add(b, add(b, h, last, 1.0), d.start, -1.0);
}
