/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_spectrum.h"

#include "cli/cli_progress.h"
#include "cli/cli_run.h"
#include "cli/cli_signal.h"
#include "dyn/dyn_multipliers.h"
#include "kernels/kern_parallel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

cli_spectrum_options cli_spectrum_options_default(void)
{
    const dyn_spectrum_options o = dyn_spectrum_options_default();
    return (cli_spectrum_options){
        .which = o.which, .method = o.method, .scope = o.scope, .seed = o.seed};
}

/* ---- Words -------------------------------------------------------------------------------- */

/* Parser and its inverse for a member whose type has dyn_spectrum_NAME_word and `count` values. */
#define WORD_FUNCTIONS(name, count)                                                                \
    kern_status cli_spectrum_parse_##name(void *member, const char *value, kern_error *err)        \
    {                                                                                              \
        for (int i = 0; i < (count); i++) {                                                        \
            if (strcmp(value, dyn_spectrum_##name##_word((dyn_spectrum_##name)i)) == 0) {          \
                *(dyn_spectrum_##name *)member = (dyn_spectrum_##name)i;                           \
                return KERN_OK;                                                                    \
            }                                                                                      \
        }                                                                                          \
        return kern_raise(err, KERN_INVALID_ARGUMENT, "\"%s\" is no " #name, value);               \
    }                                                                                              \
    void cli_spectrum_show_##name(const void *member, char out[CLI_VALUE_TEXT])                    \
    {                                                                                              \
        (void)snprintf(out, CLI_VALUE_TEXT, "%s",                                                  \
                       dyn_spectrum_##name##_word(*(const dyn_spectrum_##name *)member));          \
    }

WORD_FUNCTIONS(which, DYN_SPECTRUM_WHICH_COUNT)
WORD_FUNCTIONS(method, DYN_SPECTRUM_METHOD_COUNT)
WORD_FUNCTIONS(scope, DYN_SPECTRUM_SCOPE_COUNT)

kern_status cli_spectrum_check(const cli_call *call, const cli_spectrum_options *options,
                               kern_error *err)
{
    static const char *const need_k[] = {"which", "scope", "seed"};
    if (options->k > 0) {
        return KERN_OK;
    }
    for (size_t i = 0; i < sizeof need_k / sizeof need_k[0]; i++) {
        if (cli_args_given(call, need_k[i])) {
            return kern_raise(err, KERN_INVALID_ARGUMENT,
                              "--%s is given without --k, which says how many multipliers lead; "
                              "without --k all are computed",
                              need_k[i]);
        }
    }
    if (options->method == DYN_SPECTRUM_ARNOLDI) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--method is \"arnoldi\", which needs --k; accepted without it are auto "
                          "and dense");
    }
    return KERN_OK;
}

/* ---- Computing ---------------------------------------------------------------------------- */

/* Is asked at every product. Until a block is done there is no rate to show, only a wish to stop to
 * be heard. */
static bool watch(void *context, size_t done, size_t total)
{
    return done == 0 ? !cli_signal_caught() : cli_run_watch(context, done, total);
}

kern_status cli_spectrum_compute(dyn_spectrum *out, const cli_spectrum_options *options,
                                 dyn_map *map, const double *states, size_t period, size_t block,
                                 bool vectors, kern_error *err)
{
    dyn_spectrum_options o = dyn_spectrum_options_default();
    cli_progress progress;
    const bool blocks = options->scope == DYN_SPECTRUM_BLOCKS;
    const size_t most = blocks ? map->block_width : map->size;
    if (options->k > most) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--k is %zu, but %s of map %s has %zu multipliers; accepted is 1 to %zu",
                          options->k, blocks ? "a block" : "the Jacobian", map->kind->name, most,
                          most);
    }
    o.k = options->k;
    o.which = options->which;
    o.method = options->method;
    o.scope = options->scope;
    o.seed = options->seed;
    o.period = period;
    o.block = block;
    o.vectors = vectors;
    o.workers = kern_parallel_processors();
    o.progress = watch;
    o.context = &progress;
    cli_signal_watch();
    const size_t parts = blocks && block == DYN_MULTIPLIERS_ALL ? map->block_count : 1;
    cli_progress_start(&progress, "block", 0, parts, "blocks", 1.0);
    const kern_status status = dyn_spectrum_init(out, map, states, &o, err);
    cli_progress_finish(&progress);
    return status;
}

double cli_spectrum_radius(const dyn_spectrum *s, const cli_spectrum_options *options)
{
    double radius = 0.0;
    if (s->status != KERN_OK || options->which != DYN_SPECTRUM_MODULUS) {
        return (double)NAN;
    }
    for (size_t i = 0; i < s->n_parts; i++) {
        radius = fmax(radius, hypot(s->parts[i].re[0], s->parts[i].im[0]));
    }
    return radius;
}

int cli_spectrum_verdict(const dyn_spectrum *s, const cli_spectrum_options *options)
{
    for (size_t i = 0; i < s->n_parts; i++) {
        for (size_t j = 0; j < s->parts[i].n; j++) {
            const dyn_spectrum_part *p = &s->parts[i];
            if (p->confirmed[j] && hypot(p->re[j], p->im[j]) >= 1.0) {
                return 0;
            }
        }
    }
    return cli_spectrum_radius(s, options) < 1.0 ? 1 : -1;
}

/* ---- Printing ----------------------------------------------------------------------------- */

static void add_part(cli_json *json, cJSON *blocks, const dyn_spectrum_part *p,
                     const cli_spectrum_options *options, size_t first_token)
{
    const bool leads = options->which == DYN_SPECTRUM_MODULUS && p->status == KERN_OK;
    cJSON *block = cli_json_child(json, blocks, NULL);
    if (options->scope == DYN_SPECTRUM_BLOCKS) {
        cli_json_size(json, block, "token", p->block + first_token);
    } else {
        cli_json_null(json, block, "token");
    }
    cli_json_complexes(json, block, "values", p->re, p->im, p->n);
    (void)cli_json_reals(json, block, "residuals", p->residuals, p->n);
    cJSON *confirmed = cli_json_array(json, block, "confirmed");
    for (size_t j = 0; j < p->n; j++) {
        cli_json_bool(json, confirmed, NULL, p->confirmed[j]);
    }
    cli_json_real(json, block, "spectral_radius", leads ? hypot(p->re[0], p->im[0]) : (double)NAN);
    cli_json_null(json, block, "transient_growth");
    cli_json_size(json, block, "n_requested", p->n_requested);
    cli_json_size(json, block, "n_converged", p->n);
    cli_json_size(json, block, "n_confirmed", p->n_confirmed);
    cli_json_size(json, block, "n_late", p->n_late);
    cli_json_text(json, block, "method", dyn_spectrum_method_word(p->method));
    cli_json_size(json, block, "runs", p->runs);
    cli_json_size(json, block, "restarts", p->restarts);
    cli_json_size(json, block, "products", p->products);
    cli_json_text(json, block, "status", kern_status_word(p->status));
    if (p->vectors != NULL) {
        cli_json_eigenvectors(json, block, "vectors", p->vectors, p->size, p->im, p->n);
    }
}

void cli_spectrum_add(cli_json *json, const dyn_spectrum *s, const cli_spectrum_options *options,
                      size_t first_token)
{
    cJSON *blocks = cli_json_array(json, json->object, "blocks");
    for (size_t i = 0; i < s->n_parts; i++) {
        add_part(json, blocks, &s->parts[i], options, first_token);
    }
    cli_json_size(json, json->object, "k", options->k);
    cli_json_text(json, json->object, "which", dyn_spectrum_which_word(options->which));
    cli_json_text(json, json->object, "scope", dyn_spectrum_scope_word(options->scope));
    cli_json_size(json, json->object, "seed", options->seed);
}

static void print_part(const dyn_spectrum_part *p, bool by_block, size_t first_token)
{
    char token[24] = "all";
    if (by_block) {
        (void)snprintf(token, sizeof token, "%zu", p->block + first_token);
    }
    for (size_t j = 0; j < p->n; j++) {
        (void)printf("%6s %18.12g", token, p->re[j]);
        if (p->im[j] != 0.0) {
            (void)printf(" %+18.12gi", p->im[j]);
        } else {
            (void)printf(" %19s", "");
        }
        (void)printf(" %14.9g %9.2g  %s\n", hypot(p->re[j], p->im[j]), p->residuals[j],
                     p->confirmed[j] ? "confirmed" : "found once");
    }
    if (p->status != KERN_OK) {
        (void)printf("%6s %zu of %zu, %zu confirmed: %s (%s)\n", token, p->n, p->n_requested,
                     p->n_confirmed, kern_status_word(p->status), kern_status_gloss(p->status));
    }
}

void cli_spectrum_print(const dyn_spectrum *s, const cli_spectrum_options *options,
                        size_t first_token)
{
    size_t products = 0;
    size_t late = 0;
    (void)printf("%6s %18s %19s %14s %9s\n", "token", "multiplier", "", "modulus", "residual");
    for (size_t i = 0; i < s->n_parts; i++) {
        const dyn_spectrum_part *p = &s->parts[i];
        print_part(p, options->scope == DYN_SPECTRUM_BLOCKS, first_token);
        late += p->n_late;
        products = p->method == DYN_SPECTRUM_DENSE ? p->products : products + p->products;
    }
    if (s->n_parts > 0) {
        (void)printf("\n%s of %s, by %s: %zu products by the Jacobian",
                     dyn_spectrum_which_word(options->which),
                     dyn_spectrum_scope_word(options->scope),
                     dyn_spectrum_method_word(s->parts[0].method), products);
        if (late > 0) {
            (void)printf(", %zu found by later starts only", late);
        }
        (void)printf("\n");
    }
}
