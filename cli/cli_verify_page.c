/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin verify: the report on a run, in words and numbers.
 */
#include "cli/cli_verify.h"

#include "models/verify/verify_claim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 240 };

static double share(size_t part, size_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

/* ---- sentences --------------------------------------------------------------------------------
 */

/* What γ changes about the condition. */
static void describe_gamma(const verify_report *r, char out[SENTENCE])
{
    size_t used = 0;
    if (r->gamma_least == r->gamma_greatest) {
        used += (size_t)snprintf(out, SENTENCE, "%.6g in every channel", r->gamma_least);
    } else {
        used += (size_t)snprintf(out, SENTENCE, "%.4g to %.4g", r->gamma_least, r->gamma_greatest);
    }
    if (r->gamma_negative > 0) {
        used += (size_t)snprintf(out + used, SENTENCE - used,
                                 "; %zu negative, which the certificate allows: η must have the "
                                 "same signs",
                                 r->gamma_negative);
    }
    if (r->gamma_zeros > 0 && used < SENTENCE) {
        (void)snprintf(out + used, SENTENCE - used,
                       "; %zu zero, whose channels the energy does not see: there the column of "
                       "η must vanish",
                       r->gamma_zeros);
    }
}

static const char *describe_ground(const dyn_descent_certificate *c)
{
    switch (c->ground) {
    case DYN_DESCENT_BY_NO_MOVE:
        return "with so few channels the normalised state cannot move, so every η will do";
    case DYN_DESCENT_BY_NO_GAIN:
        return "γ = 0: the normalised state is constant, so every η will do";
    case DYN_DESCENT_BY_SIGN:
    case DYN_DESCENT_BY_FAMILY:
        break;
    }
    switch (c->verdict) {
    case DYN_DESCENT_CERTIFIED:
        return "η = c diag(γ): no state and no gradient raise the energy";
    case DYN_DESCENT_WITHIN_ROUNDING:
        return "η is c diag(γ) as the file stores it: what it violates is of the order of its "
               "rounding squared";
    case DYN_DESCENT_VIOLATED:
    case DYN_DESCENT_VERDICTS:
        break;
    }
    return "some state and gradient raise the energy";
}

static const char *const verdict_words[] = {
    [DYN_DESCENT_CERTIFIED] = "certified",
    [DYN_DESCENT_WITHIN_ROUNDING] = "within rounding of the certified family",
    [DYN_DESCENT_VIOLATED] = "not certified",
};

static bool is_violated(const verify_report *r)
{
    return r->certificate.verdict == DYN_DESCENT_VIOLATED;
}

/* Middle of the finite values of the reaches; infinite when more than half are. */
static double median_reach(const verify_report *r, bool rises)
{
    double values[VERIFY_REPORT_REACHES];
    for (size_t i = 0; i < r->n_reaches; i++) {
        double value = rises ? r->reaches[i].rises : r->reaches[i].covered;
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--) {
            values[at] = values[at - 1];
        }
        values[at] = value;
    }
    return r->n_reaches > 0 ? values[r->n_reaches / 2] : (double)NAN;
}

/* "c = 0.1", or that there is no such step. */
static void describe_reach(double c, const char *none, char out[SENTENCE])
{
    if (isfinite(c)) {
        (void)snprintf(out, SENTENCE, "c = %.3g", c);
    } else {
        (void)snprintf(out, SENTENCE, "%s", none);
    }
}

/* The result of a claim, or NULL when it was not run or does not apply. */
static const verify_result *find_result(const cli_verify_job *job, const char *name)
{
    for (size_t i = 0; i < job->n_done; i++) {
        const verify_result *r = &job->results[i];
        if (strcmp(r->claim->name, name) == 0 && r->trials > 0) {
            return r;
        }
    }
    return NULL;
}

/* ---- text -------------------------------------------------------------------------------------
 */

static void print_model(FILE *out, const cli_verify_job *job)
{
    const model_config *c = &job->run.m->config;
    (void)fprintf(out,
                  "model        NRGPT, D = %zu, %zu head%s, %s with %s, %s (ε = %g), %s mask, "
                  "%s update\n",
                  c->n_embed, c->n_head, c->n_head == 1 ? "" : "s", model_ff_word(c->ff),
                  model_act_word(c->activation), model_norm_word(c->norm), c->norm_eps,
                  c->strict_mask ? "strict" : "inclusive", model_update_word(c->update));
    (void)fprintf(out, "             %zu trained steps; followed over %zu, %s\n", c->n_layer,
                  job->report->steps, job->where);
}

static void print_certificate(FILE *out, const cli_verify_job *job)
{
    const verify_report *r = job->report;
    const dyn_descent_certificate *c = &r->certificate;
    char gamma[SENTENCE] = "";
    describe_gamma(r, gamma);
    (void)fprintf(out, "γ            %s (%s)\n", gamma,
                  job->run.m->config.gamma_trained ? "trained" : "frozen");
    (void)fprintf(out,
                  "η            form \"%s\"; distance to c diag(γ) %.3g of its norm, at c = "
                  "%.6g; ‖η₋‖/‖η₊‖ = %.3g\n",
                  model_eta_word(job->run.m->config.eta), c->relative_distance, c->c,
                  c->skew_ratio);
    (void)fprintf(out, "certificate  %s: %s\n", verdict_words[c->verdict], describe_ground(c));
    if (!is_violated(r)) {
        return;
    }
    (void)fprintf(out,
                  "witness      a state x and a gradient v with vᵀΓPηv = %.6g |v|² (%.3g of "
                  "‖Γη‖), %s; none is below %.6g\n",
                  c->smallest, c->relative, c->confirmed ? "confirmed" : "not confirmed",
                  -c->bound);
    (void)fprintf(out, "channels     ");
    for (size_t i = 0; i < r->n_channels; i++) {
        (void)fprintf(out, "%s%zu (%.1f %%)", i > 0 ? ", " : "", r->channels[i],
                      100.0 * c->share[r->channels[i]]);
    }
    (void)fprintf(out, " have the largest shares in it\n");
}

static void print_orbits(FILE *out, const cli_verify_job *job)
{
    const verify_report *r = job->report;
    const verify_result *frozen = find_result(job, "discrete-descent");
    (void)fprintf(out,
                  "orbits       energies rise in %.1f %% of %zu steps (first tokens %.1f %%, "
                  "beyond the trained steps %.1f %%)\n",
                  100.0 * share(r->rising, r->pairs), r->pairs,
                  100.0 * share(r->first_rising, r->first_pairs),
                  100.0 * share(r->late_rising, r->late_pairs));
    (void)fprintf(out, "             mean σ goes from %.4g to %.4g\n", r->sigma_first,
                  r->sigma_last);
    if (frozen != NULL) {
        (void)fprintf(out, "frozen       with the prefix held, %.1f %% of %zu steps rise\n",
                      100.0 * share(frozen->violations, frozen->trials), frozen->trials);
    }
}

static void print_reach(FILE *out, const verify_report *r)
{
    if (r->no_reach != NULL) {
        (void)fprintf(out, "step bound   not for this model: %s\n", r->no_reach);
        return;
    }
    char covered[SENTENCE];
    char rises[SENTENCE];
    describe_reach(median_reach(r, false), "any c", covered);
    describe_reach(median_reach(r, true), "no c that was tried", rises);
    (void)fprintf(out,
                  "step bound   steps of η = c diag(γ), prefix held: covered up to %s, rising from "
                  "%s (medians of %zu states)\n",
                  covered, rises, r->n_reaches);
    (void)fprintf(out,
                  "             c = %.4g is covered in %zu of %zu states; in %zu no c that was "
                  "tried rises\n",
                  r->step, r->n_covered, r->n_reaches, r->n_never);
}

static void print_stability(FILE *out, const cli_verify_job *job)
{
    const verify_result *r = find_result(job, "local-stability");
    if (r == NULL) {
        return;
    }
    (void)fprintf(out, "stability    %s at %zu of %zu relative equilibria",
                  r->verdict == VERIFY_HOLDS ? "holds" : "fails", r->trials - r->violations,
                  r->trials);
    const char *between = "; ";
    for (size_t i = 0; i < r->n_extras; i++) {
        if (r->extras[i].count > 0) {
            (void)fprintf(out, "%s%s %.4g", between, r->extras[i].name, r->extras[i].worst);
            between = ", ";
        }
    }
    (void)fprintf(out, "\n");
}

static void print_change(FILE *out, const cli_verify_job *job)
{
    const dyn_descent_certificate *c = &job->report->certificate;
    if (c->verdict == DYN_DESCENT_CERTIFIED) {
        (void)fprintf(out, "to change    nothing: the run is certified\n");
        return;
    }
    (void)fprintf(out, "to change    η := %.6g diag(γ), the nearest certified matrix%s\n", c->c,
                  c->c == 0.0 ? ", which does not move: η has no part along diag(γ)" : "");
    if (job->run.m->config.norm == MODEL_LAYERNORM) {
        (void)fprintf(out, "             (plus 1bᵀ, which moves the mean only, and no norm sees "
                           "that)\n");
    }
    if (job->scored) {
        (void)fprintf(out, "             loss %.4f → %.4f nats per token", job->trained.loss.loss,
                      job->projected.loss.loss);
        if (job->trained.greedy.n > 0) {
            (void)fprintf(out, ", right answers %.1f %% → %.1f %% of %zu",
                          100.0 * job->trained.greedy.accuracy,
                          100.0 * job->projected.greedy.accuracy, job->trained.greedy.n);
        }
        (void)fprintf(out, ", without training again\n");
    } else {
        (void)fprintf(out, "             what that costs is not known: the run's data cannot be "
                           "read\n");
    }
    (void)fprintf(out, "             or train with --eta gamma from the start\n");
}

void cli_verify_print_report(FILE *out, const cli_verify_job *job)
{
    (void)fprintf(out, "report on %s\n\n", job->subject->name);
    print_model(out, job);
    print_certificate(out, job);
    print_orbits(out, job);
    print_reach(out, job->report);
    print_stability(out, job);
    print_change(out, job);
}

/* ---- the note of the page ---------------------------------------------------------------------
 */

/* The text with its columns joined: "γ            1" becomes "γ: 1". */
void cli_verify_print_note(FILE *out, const cli_verify_job *job)
{
    const verify_report *r = job->report;
    const dyn_descent_certificate *c = &r->certificate;
    char gamma[SENTENCE] = "";
    describe_gamma(r, gamma);
    (void)fprintf(out, "# Verdict: %s\nThat is, %s.\n", verdict_words[c->verdict],
                  describe_ground(c));
    (void)fprintf(out,
                  "γ: %s. η: form %s, distance to c diag(γ) %.3g of its norm at c = %.4g, "
                  "‖η₋‖/‖η₊‖ = %.3g.\n",
                  gamma, model_eta_word(job->run.m->config.eta), c->relative_distance, c->c,
                  c->skew_ratio);
    if (is_violated(r)) {
        (void)fprintf(out,
                      "Worst violation: %.4g |v|², %.3g of ‖Γη‖; the certain lower bound is "
                      "%.4g.\n",
                      c->smallest, c->relative, -c->bound);
    }
    (void)fprintf(out,
                  "# Orbits\nEnergies rise in %.1f %% of %zu steps (first tokens %.1f %%, "
                  "beyond the trained steps %.1f %%); mean σ %.3g → %.3g.\n",
                  100.0 * share(r->rising, r->pairs), r->pairs,
                  100.0 * share(r->first_rising, r->first_pairs),
                  100.0 * share(r->late_rising, r->late_pairs), r->sigma_first, r->sigma_last);
    if (r->no_reach == NULL) {
        char covered[SENTENCE];
        char rises[SENTENCE];
        describe_reach(median_reach(r, false), "any c", covered);
        describe_reach(median_reach(r, true), "no c that was tried", rises);
        (void)fprintf(out,
                      "Steps of η = c diag(γ), prefix held: covered up to %s, rising from %s "
                      "(medians); c = %.3g is covered in %zu of %zu states.\n",
                      covered, rises, r->step, r->n_covered, r->n_reaches);
    }
    (void)fprintf(out, "# To be certified\n");
    if (c->verdict == DYN_DESCENT_CERTIFIED) {
        (void)fprintf(out, "Nothing is to be changed.\n");
    } else if (job->scored) {
        (void)fprintf(out, "η := %.4g diag(γ): loss %.4f → %.4f nats per token", c->c,
                      job->trained.loss.loss, job->projected.loss.loss);
        if (job->trained.greedy.n > 0) {
            (void)fprintf(out, ", right answers %.1f %% → %.1f %%",
                          100.0 * job->trained.greedy.accuracy,
                          100.0 * job->projected.greedy.accuracy);
        }
        (void)fprintf(out, ", without training again.\n");
    } else {
        (void)fprintf(out, "η := %.4g diag(γ).\n", c->c);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static void add_certificate(cli_json *json, cJSON *parent, const cli_verify_job *job)
{
    const verify_report *r = job->report;
    const dyn_descent_certificate *c = &r->certificate;
    const size_t d = job->subject->width;
    cJSON *o = cli_json_child(json, parent, "certificate");
    cli_json_text(json, o, "verdict", dyn_descent_verdict_word(c->verdict));
    cli_json_text(json, o, "ground", describe_ground(c));
    cli_json_real(json, o, "c", c->c);
    cli_json_real(json, o, "distance", c->distance);
    cli_json_real(json, o, "relative_distance", c->relative_distance);
    cli_json_real(json, o, "skew_ratio", c->skew_ratio);
    cli_json_real(json, o, "smallest", c->smallest);
    cli_json_real(json, o, "relative", c->relative);
    cli_json_real(json, o, "bound", c->bound);
    cli_json_bool(json, o, "confirmed", c->confirmed);
    cJSON *channels = cli_json_array(json, o, "channels");
    for (size_t i = 0; i < r->n_channels; i++) {
        cJSON *channel = cli_json_child(json, channels, NULL);
        cli_json_size(json, channel, "channel", r->channels[i]);
        cli_json_real(json, channel, "share", c->share[r->channels[i]]);
    }
    if (is_violated(r)) {
        cJSON *witness = cli_json_child(json, o, "witness");
        (void)cli_json_reals(json, witness, "x", c->x, d);
        (void)cli_json_reals(json, witness, "v", c->v, d);
    } else {
        cli_json_null(json, o, "witness");
    }
}

static void add_orbits(cli_json *json, cJSON *parent, const verify_report *r)
{
    cJSON *o = cli_json_child(json, parent, "orbits");
    cli_json_size(json, o, "steps", r->steps);
    cli_json_size(json, o, "pairs", r->pairs);
    cli_json_real(json, o, "rising_fraction", share(r->rising, r->pairs));
    cli_json_real(json, o, "rising_fraction_first_token", share(r->first_rising, r->first_pairs));
    cli_json_real(json, o, "rising_fraction_late", share(r->late_rising, r->late_pairs));
    cli_json_real(json, o, "sigma_first", r->sigma_first);
    cli_json_real(json, o, "sigma_last", r->sigma_last);
}

static void add_reach(cli_json *json, cJSON *parent, const verify_report *r)
{
    if (r->no_reach != NULL) {
        cli_json_null(json, parent, "reach");
        return;
    }
    double covered[VERIFY_REPORT_REACHES];
    double rises[VERIFY_REPORT_REACHES];
    for (size_t i = 0; i < r->n_reaches; i++) {
        covered[i] = r->reaches[i].covered;
        rises[i] = r->reaches[i].rises;
    }
    cJSON *o = cli_json_child(json, parent, "reach");
    cli_json_real(json, o, "c", r->step);
    cli_json_size(json, o, "states", r->n_reaches);
    cli_json_size(json, o, "covered_states", r->n_covered);
    cli_json_real(json, o, "covered_median", median_reach(r, false));
    cli_json_real(json, o, "rises_median", median_reach(r, true));
    (void)cli_json_reals(json, o, "covered", covered, r->n_reaches);
    (void)cli_json_reals(json, o, "rises", rises, r->n_reaches);
}

static void add_score(cli_json *json, cJSON *parent, const char *key, const cli_verify_score *score)
{
    cJSON *o = cli_json_child(json, parent, key);
    cli_json_real(json, o, "val_loss", score->loss.loss);
    if (score->greedy.n > 0) {
        cli_json_real(json, o, "accuracy", score->greedy.accuracy);
        cli_json_size(json, o, "n", score->greedy.n);
    }
}

void cli_verify_add_report(cli_json *json, cJSON *parent, const cli_verify_job *job)
{
    const verify_report *r = job->report;
    cJSON *report = cli_json_child(json, parent, "report");
    cJSON *gamma = cli_json_child(json, report, "gamma");
    cli_json_real(json, gamma, "least", r->gamma_least);
    cli_json_real(json, gamma, "greatest", r->gamma_greatest);
    cli_json_size(json, gamma, "zeros", r->gamma_zeros);
    cli_json_size(json, gamma, "negative", r->gamma_negative);
    cli_json_text(json, report, "eta", model_eta_word(job->run.m->config.eta));
    add_certificate(json, report, job);
    add_orbits(json, report, r);
    add_reach(json, report, r);
    if (!job->scored) {
        cli_json_null(json, report, "projection");
        return;
    }
    cJSON *projection = cli_json_child(json, report, "projection");
    cli_json_real(json, projection, "c", r->certificate.c);
    add_score(json, projection, "trained", &job->trained);
    add_score(json, projection, "projected", &job->projected);
}
