/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What basin hourglass prints.
 */
#include "cli/cli_hourglass.h"
#include "cli/cli_json.h"
#include "models/model_layer_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_EXPONENTS = 6 };

static const char *part_word(size_t part)
{
    return model_layer_part_word((model_layer_part)(part % MODEL_LAYER_PARTS));
}

/* ---- JSON ------------------------------------------------------------------------------------
 */

static void add_subs(cli_json *json, cJSON *layer, const model_hourglass_report *r)
{
    cJSON *subs = cli_json_array(json, layer, "subs");
    for (size_t k = 0; k < r->k; k++) {
        const model_sub_report *s = &r->subs[k];
        cJSON *sub = cli_json_child(json, subs, NULL);
        cli_json_size(json, sub, "hidden", s->hidden);
        cli_json_real(json, sub, "relative_step", s->relative_step);
        cli_json_real(json, sub, "log_growth", s->log_growth);
        cli_json_real(json, sub, "log_abs_det", s->log_abs_det);
        cli_json_real(json, sub, "gain", s->gain);
        cli_json_real(json, sub, "angular_gain", s->angular_gain);
        cli_json_real(json, sub, "turn", s->turn);
        cli_json_real(json, sub, "participation", s->participation);
    }
}

static void add_matrix(cli_json *json, cJSON *parent, const char *key, const double *a, size_t k)
{
    cJSON *rows = cli_json_array(json, parent, key);
    for (size_t j = 0; j < k; j++) {
        (void)cli_json_reals(json, rows, NULL, a + j * k, k);
    }
}

static void add_layer(cli_json *json, cJSON *layers, const cli_hourglass_settings *s,
                      const cli_hourglass_layer *l)
{
    cJSON *layer = cli_json_child(json, layers, NULL);
    cli_json_size(json, layer, "layer", l->layer);
    cli_json_real(json, layer, "coverage", l->report.coverage);
    cli_json_size(json, layer, "conserved", l->report.conserved);
    cli_json_real(json, layer, "log_abs_det", l->report.log_abs_det);
    cli_json_real(json, layer, "parallel_gap", l->report.parallel_gap);
    cli_json_real(json, layer, "participation", l->report.participation);
    add_subs(json, layer, &l->report);
    if (s->identities) {
        cJSON *child = cli_json_child(json, layer, "identities");
        cli_json_size(json, child, "checked", l->identities.checked);
        cli_json_real(json, child, "log_det", l->identities.log_det);
        cli_json_real(json, child, "leak", l->identities.leak);
        cli_json_real(json, child, "radial", l->identities.radial);
        cli_json_real(json, child, "epsilon", l->identities.epsilon);
    }
    if (s->pairs) {
        cJSON *child = cli_json_child(json, layer, "pairs");
        add_matrix(json, child, "commutator", l->pairs.commutator, l->pairs.k);
        add_matrix(json, child, "swap", l->pairs.swap, l->pairs.k);
        add_matrix(json, child, "writes", l->pairs.writes, l->pairs.k);
        add_matrix(json, child, "reads", l->pairs.reads, l->pairs.k);
    }
}

static void add_sums(cli_json *json, cJSON *parent, const char *key, const model_depth *d,
                     bool angular)
{
    cJSON *sums = cli_json_array(json, parent, key);
    for (size_t i = 0; i < (angular ? d->angular_tangents : d->tangents); i++) {
        cli_json_real(json, sums, NULL, model_depth_sum(d, angular, i));
    }
}

static void add_depth(cli_json *json, const model_depth *d)
{
    cJSON *depth = cli_json_child(json, json->object, "exponents");
    cJSON *parts = cli_json_array(json, depth, "parts");
    for (size_t n = 0; n < d->parts; n++) {
        cJSON *part = cli_json_child(json, parts, NULL);
        cli_json_size(json, part, "layer", n / MODEL_LAYER_PARTS);
        cli_json_text(json, part, "sublayer", part_word(n));
        cli_json_real(json, part, "log_growth", d->growth[n]);
        (void)cli_json_reals(json, part, "exponents", d->exponents + n * d->tangents, d->tangents);
        (void)cli_json_reals(json, part, "angular", d->angular + n * d->angular_tangents,
                             d->angular_tangents);
    }
    add_sums(json, depth, "total", d, false);
    add_sums(json, depth, "total_angular", d, true);
}

static void add_losses(cli_json *json, const cli_hourglass_job *job)
{
    cli_json_real(json, json->object, "val_loss", job->loss);
    cli_json_size(json, json->object, "n", job->predicted);
    cJSON *losses = cli_json_array(json, json->object, "losses");
    for (size_t i = 0; i < job->n_losses; i++) {
        const cli_hourglass_loss *l = &job->losses[i];
        cJSON *item = cli_json_child(json, losses, NULL);
        cli_json_text(json, item, "change", l->change);
        if (strcmp(l->change, "parallel") != 0) {
            cli_json_size(json, item, "layer", l->layer);
            cli_json_size(json, item, "sub", l->sub);
        }
        cli_json_real(json, item, "loss", l->loss);
        cli_json_real(json, item, "difference", l->loss - job->loss);
    }
}

kern_status cli_hourglass_print_json(const cli_hourglass_job *job, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cli_json_size(&json, json.object, "tokens", job->tokens);
    cJSON *layers = cli_json_array(&json, json.object, "layers");
    for (size_t i = 0; i < job->n_layers; i++) {
        add_layer(&json, layers, job->s, &job->layers[i]);
    }
    if (job->s->exponents > 0) {
        add_depth(&json, &job->depth);
    }
    if (job->s->losses) {
        add_losses(&json, job);
    }
    return cli_json_print(&json, err);
}

/* ---- Text ------------------------------------------------------------------------------------
 */

/* A number, or a dash where there is none. */
static void print_number(double value, int width, int digits)
{
    if (isnan(value)) {
        (void)printf(" %*s", width, "-");
    } else {
        (void)printf(" %*.*f", width, digits, value);
    }
}

static void print_subs(const cli_hourglass_layer *l)
{
    const model_hourglass_report *r = &l->report;
    (void)printf("layer %zu: coverage %.4g, %zu directions pass unchanged, ln|det J| %.6g, gap "
                 "%.4g\n",
                 l->layer, r->coverage, r->conserved, r->log_abs_det, r->parallel_gap);
    (void)printf("%5s %7s %9s %9s %9s %9s %9s %9s %10s\n", "sub", "hidden", "step", "growth",
                 "ln det", "gain", "angular", "turn", "directions");
    for (size_t k = 0; k < r->k; k++) {
        const model_sub_report *s = &r->subs[k];
        (void)printf("%5zu %7zu", k, s->hidden);
        print_number(s->relative_step, 9, 4);
        print_number(s->log_growth, 9, 4);
        print_number(s->log_abs_det, 9, 4);
        print_number(s->gain, 9, 4);
        print_number(s->angular_gain, 9, 4);
        print_number(s->turn, 9, 4);
        print_number(s->participation, 10, 2);
        (void)printf("\n");
    }
    (void)printf("%5s %67s", "all", "");
    print_number(r->participation, 10, 2);
    (void)printf("\n");
}

static void print_identities(const model_hourglass_identities *i)
{
    (void)printf("identities, largest of %zu Jacobians: ln|det J| against d_h x d_h %.2g, leak out "
                 "of col U %.2g",
                 i->checked, i->log_det, i->leak);
    if (!isnan(i->radial)) {
        (void)printf(", |Jh - h|/|h| %.2g (epsilon %.2g of the mean square)", i->radial,
                     i->epsilon);
    }
    (void)printf("\n");
}

static void print_pairs(const model_hourglass_pairs *p)
{
    (void)printf("%9s %12s %9s %9s %9s %9s\n", "pair j k", "commutator", "swap", "writes",
                 "k reads", "j reads");
    for (size_t j = 0; j < p->k; j++) {
        for (size_t k = j + 1; k < p->k; k++) {
            const size_t at = j * p->k + k;
            (void)printf("%6zu %2zu %12.4f %9.4f %9.4f %9.4f %9.4f\n", j, k, p->commutator[at],
                         p->swap[at], p->writes[at], p->reads[at], p->reads[k * p->k + j]);
        }
    }
}

static void print_row(const double *numbers, size_t n)
{
    for (size_t i = 0; i < n && i < SHOWN_EXPONENTS; i++) {
        (void)printf(" %9.4f", numbers[i]);
    }
    (void)printf("%s\n", n > SHOWN_EXPONENTS ? " ..." : "");
}

static void print_sums(const model_depth *d, bool angular)
{
    const size_t n = angular ? d->angular_tangents : d->tangents;
    (void)printf("%5s %5s %9s", "all", "", "");
    for (size_t i = 0; i < n && i < SHOWN_EXPONENTS; i++) {
        (void)printf(" %9.4f", model_depth_sum(d, angular, i));
    }
    (void)printf("%s\n", n > SHOWN_EXPONENTS ? " ..." : "");
}

static void print_depth(const model_depth *d)
{
    for (size_t kind = 0; kind < 2; kind++) {
        const bool angular = kind == 1;
        (void)printf("\n%s, nats for each part\n%5s %5s %9s\n",
                     angular ? "exponents of directions" : "exponents over the depth", "layer",
                     "part", "growth");
        for (size_t n = 0; n < d->parts; n++) {
            (void)printf("%5zu %5s %9.4f", n / MODEL_LAYER_PARTS, part_word(n), d->growth[n]);
            if (angular) {
                print_row(d->angular + n * d->angular_tangents, d->angular_tangents);
            } else {
                print_row(d->exponents + n * d->tangents, d->tangents);
            }
        }
        print_sums(d, angular);
    }
}

static void print_losses(const cli_hourglass_job *job)
{
    (void)printf("\nvalidation loss %.6f nats per token, %zu tokens; what changes it\n", job->loss,
                 job->predicted);
    for (size_t i = 0; i < job->n_losses; i++) {
        const cli_hourglass_loss *l = &job->losses[i];
        char what[80];
        if (strcmp(l->change, "parallel") == 0) {
            (void)snprintf(what, sizeof what, "all layers side by side");
        } else if (strcmp(l->change, "drop") == 0) {
            (void)snprintf(what, sizeof what, "layer %zu without sub-MLP %zu", l->layer, l->sub);
        } else {
            (void)snprintf(what, sizeof what, "layer %zu with %zu and %zu swapped", l->layer,
                           l->sub, l->sub + 1);
        }
        (void)printf("%+11.6f  %s\n", l->loss - job->loss, what);
    }
}

void cli_hourglass_print_text(const cli_hourglass_job *job)
{
    (void)printf("%zu tokens, D = %zu\n", job->tokens, job->run.m->config.n_embed);
    for (size_t i = 0; i < job->n_layers; i++) {
        (void)printf("\n");
        print_subs(&job->layers[i]);
        if (job->s->identities) {
            print_identities(&job->layers[i].identities);
        }
        if (job->s->pairs) {
            print_pairs(&job->layers[i].pairs);
        }
    }
    if (job->s->exponents > 0) {
        print_depth(&job->depth);
    }
    if (job->s->losses) {
        print_losses(job);
    }
}
