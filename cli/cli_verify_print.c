/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * basin verify: verdicts as a table and as JSON.
 */
#include "cli/cli_verify.h"

#include "kernels/kern_size.h"
#include "models/verify/verify_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers of one entry that --json prints; --out has all of them. */
enum { SHOWN_NUMBERS = 4096, LINE = 100 };

const char *cli_verify_verdict(const verify_result *result)
{
    if (result->verdict == VERIFY_NOT_APPLICABLE) {
        return "not applicable";
    }
    if (result->claim->kind == VERIFY_REFUTED) {
        return result->verdict == VERIFY_HOLDS ? "refuted" : "no witness";
    }
    if (result->verdict == VERIFY_OPEN) {
        return result->claim->kind == VERIFY_STATISTIC ? "-" : "undecided";
    }
    return result->verdict == VERIFY_HOLDS ? "holds" : "FAILS";
}

/* ---- text ----------------------------------------------------------------------------------- */

/* A paragraph on its way: the first line begins where the cursor is. */
typedef struct paragraph {
    int column; /* of the cursor; `indent` at the start of a line */
    int indent; /* of the lines after the first */
    bool begun; /* a word stands on the line */
} paragraph;

/* Adds words, broken between them before column LINE. Bytes that continue a character take no
 * column. */
static void put_words(paragraph *p, const char *text)
{
    while (*text != '\0') {
        const size_t word = strcspn(text, " ");
        int width = 0;
        for (size_t i = 0; i < word; i++) {
            width += ((unsigned char)text[i] & 0xc0U) != 0x80U;
        }
        if (p->begun && p->column + 1 + width > LINE) {
            (void)printf("\n%*s", p->indent, "");
            p->column = p->indent;
        } else if (p->begun) {
            (void)printf(" ");
            p->column++;
        }
        (void)printf("%.*s", (int)word, text);
        p->begun = true;
        p->column += width;
        text += word;
        text += *text == ' ';
    }
}

static void print_paragraph(const char *text, int indent)
{
    paragraph p = {.column = indent, .indent = indent};
    (void)printf("%*s", indent, "");
    put_words(&p, text);
    (void)printf("\n");
}

static bool applies(const verify_result *r)
{
    return r->verdict != VERIFY_NOT_APPLICABLE;
}

static int name_width(const cli_verify_job *job)
{
    size_t width = strlen("claim");
    for (size_t i = 0; i < job->n_done; i++) {
        if (applies(&job->results[i])) {
            width = kern_size_max(width, strlen(job->results[i].claim->name));
        }
    }
    return (int)width;
}

static void print_row(const verify_result *r, double seconds, int width)
{
    (void)printf("%-*s  %-9s  %-14s", width, r->claim->name, verify_kind_word(r->claim->kind),
                 cli_verify_verdict(r));
    if (r->trials == 0) {
        (void)printf("\n");
        return;
    }
    (void)printf("  %10.3g  %9.2g  %8zu  %6.2f s\n", r->worst + 0.0, r->tolerance, r->trials,
                 seconds); /* + 0: no "-0" */
}

static void print_extras(const verify_result *r)
{
    for (size_t i = 0; i < r->n_extras; i++) {
        const verify_summary *e = &r->extras[i];
        if (e->count > 0) {
            (void)printf("    %-28s ", e->name);
            (void)(isnan(e->worst) ? printf("-") : printf("%.6g", e->worst));
            if (e->count > 1 && e->least < e->greatest) {
                (void)printf("   (%.6g to %.6g, mean %.6g)", e->least, e->greatest, e->mean);
            }
            (void)printf("\n");
        }
    }
}

/* What a row cannot hold: what the verdict's label is, the extra numbers, and of a witness the two
 * numbers compared. */
static void print_details(const verify_result *r)
{
    const verify_outcome *o = &r->outcome;
    (void)printf("\n%s: %s\n", r->claim->name,
                 o->label != NULL && r->trials > 0 ? o->label : cli_verify_verdict(r));
    print_paragraph(r->claim->statement, 4);
    if (r->reason != NULL) {
        print_paragraph(r->reason, 4);
    }
    if (r->witness) {
        (void)printf("    instance %zu violates it%s: %.17g against %.17g, tolerance %.3g\n",
                     r->worst_trial, isnan(o->left) || isnan(o->right) ? " (not a number)" : "",
                     o->left, o->right, o->tolerance);
        print_paragraph(r->claim->measured, 4);
        (void)printf("    %zu of %zu instances violate it\n", r->violations, r->trials);
    }
    if (r->skipped > 0) {
        (void)printf("    %zu instances did not meet the preconditions\n", r->skipped);
    }
    print_extras(r);
}

static bool has_details(const verify_result *r)
{
    return r->witness || r->reason != NULL || r->n_extras > 0 || r->skipped > 0 ||
           (r->trials > 0 && r->outcome.label != NULL);
}

/* Names of the claims from `first` on that do not apply for the reason of `first`. */
static void put_alike(const cli_verify_job *job, size_t first, paragraph *p)
{
    for (size_t i = first; i < job->n_done; i++) {
        const verify_result *r = &job->results[i];
        if (!applies(r) && strcmp(r->reason, job->results[first].reason) == 0) {
            if (i > first) {
                (void)printf(",");
                p->column++;
            }
            put_words(p, r->claim->name);
        }
    }
}

/* The claims that do not apply, in one paragraph for each reason. */
static void print_others(const cli_verify_job *job)
{
    static const char lead[] = "not applicable (";
    const char *gap = "\n";
    for (size_t i = 0; i < job->n_done; i++) {
        const verify_result *first = &job->results[i];
        bool told = applies(first);
        for (size_t k = 0; k < i && !told; k++) {
            told = !applies(&job->results[k]) && strcmp(job->results[k].reason, first->reason) == 0;
        }
        if (told) {
            continue;
        }
        paragraph p = {.column = (int)strlen(lead), .indent = 4};
        (void)printf("%s%s", gap, lead);
        put_words(&p, first->reason);
        (void)printf("):");
        p.column += 2;
        put_alike(job, i, &p);
        (void)printf("\n");
        gap = "";
    }
}

static void print_tally(const cli_verify_job *job)
{
    size_t holds = 0;
    size_t fails = 0;
    size_t others = 0;
    for (size_t i = 0; i < job->n_done; i++) {
        const verify_verdict verdict = job->results[i].verdict;
        holds += verdict == VERIFY_HOLDS;
        fails += verdict == VERIFY_FAILS;
        others += verdict == VERIFY_OPEN || verdict == VERIFY_NOT_APPLICABLE;
    }
    (void)printf("\n%zu claims: %zu hold, %zu fail, %zu neither\n", job->n_done, holds, fails,
                 others);
}

static void print_table(const cli_verify_job *job)
{
    const int width = name_width(job);
    bool begun = false;
    for (size_t i = 0; i < job->n_done; i++) {
        if (!applies(&job->results[i])) {
            continue;
        }
        if (!begun) {
            (void)printf("%-*s  %-9s  %-14s  %10s  %9s  %8s  %8s\n", width, "claim", "kind",
                         "verdict", "worst", "tolerance", "trials", "time");
            begun = true;
        }
        print_row(&job->results[i], job->seconds[i], width);
    }
}

void cli_verify_print_text(const cli_verify_job *job)
{
    if (job->subject != NULL) {
        (void)printf("%s: %s, from %s\n\n", job->subject->name,
                     model_config_family_name(&job->subject->m->config), job->where);
    }
    print_table(job);
    print_others(job);
    for (size_t i = 0; i < job->n_done; i++) {
        if (applies(&job->results[i]) && has_details(&job->results[i])) {
            print_details(&job->results[i]);
        }
    }
    print_tally(job);
    if (job->report != NULL) {
        (void)printf("\n");
        cli_verify_print_report(stdout, job);
    }
    if (job->s->out != NULL) {
        (void)printf("written: %s\n", job->s->out);
    }
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void add_entry(cli_json *json, cJSON *inputs, const verify_entry *entry)
{
    const size_t count = entry->rows * entry->cols;
    if (entry->rows == 0) {
        cli_json_text(json, inputs, entry->name, entry->word);
    } else if (count == 1) {
        cli_json_real(json, inputs, entry->name, entry->values[0]);
    } else if (count > SHOWN_NUMBERS) {
        cJSON *shape = cli_json_child(json, inputs, entry->name);
        cli_json_size(json, shape, "rows", entry->rows);
        cli_json_size(json, shape, "cols", entry->cols);
    } else if (entry->rows == 1) {
        (void)cli_json_reals(json, inputs, entry->name, entry->values, count);
    } else {
        cJSON *rows = cli_json_array(json, inputs, entry->name);
        for (size_t i = 0; i < entry->rows; i++) {
            (void)cli_json_reals(json, rows, NULL, entry->values + i * entry->cols, entry->cols);
        }
    }
}

static void add_witness(cli_json *json, cJSON *claim, const verify_result *r)
{
    if (!r->witness) {
        cli_json_null(json, claim, "witness");
        return;
    }
    char seed[32];
    cJSON *witness = cli_json_child(json, claim, "witness");
    (void)snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
    cli_json_text(json, witness, "seed", seed);
    cli_json_size(json, witness, "trial", r->worst_trial);
    cli_json_real(json, witness, "left", r->outcome.left);
    cli_json_real(json, witness, "right", r->outcome.right);
    cli_json_real(json, witness, "tolerance", r->outcome.tolerance);
    cJSON *inputs = cli_json_child(json, witness, "inputs");
    for (size_t i = 0; i < r->record.count; i++) {
        add_entry(json, inputs, &r->record.entries[i]);
    }
}

static void add_text_or_null(cli_json *json, cJSON *parent, const char *key, const char *text)
{
    if (text != NULL) {
        cli_json_text(json, parent, key, text);
    } else {
        cli_json_null(json, parent, key);
    }
}

static void add_extras(cli_json *json, cJSON *claim, const verify_result *r)
{
    cJSON *extras = cli_json_child(json, claim, "extras");
    for (size_t i = 0; i < r->n_extras; i++) {
        const verify_summary *e = &r->extras[i];
        cJSON *extra = cli_json_child(json, extras, e->name);
        cli_json_real(json, extra, "worst", e->worst);
        cli_json_real(json, extra, "least", e->least);
        cli_json_real(json, extra, "greatest", e->greatest);
        cli_json_real(json, extra, "mean", e->mean);
        cli_json_size(json, extra, "count", e->count);
    }
}

static void add_claim(cli_json *json, cJSON *parent, const verify_result *r)
{
    cJSON *claim = cli_json_child(json, parent, NULL);
    cli_json_text(json, claim, "name", r->claim->name);
    cli_json_text(json, claim, "kind", verify_kind_word(r->claim->kind));
    if (r->verdict == VERIFY_HOLDS || r->verdict == VERIFY_FAILS) {
        cli_json_bool(json, claim, "holds", r->verdict == VERIFY_HOLDS);
    } else {
        cli_json_null(json, claim, "holds");
    }
    cli_json_bool(json, claim, "applicable", r->verdict != VERIFY_NOT_APPLICABLE);
    add_text_or_null(json, claim, "reason", r->reason);
    add_text_or_null(json, claim, "label", r->trials > 0 ? r->outcome.label : NULL);
    cli_json_real(json, claim, "worst", r->worst);
    cli_json_real(json, claim, "tolerance", r->tolerance);
    cli_json_size(json, claim, "trials", r->trials);
    cli_json_size(json, claim, "skipped", r->skipped);
    cli_json_size(json, claim, "violations", r->violations);
    cli_json_text(json, claim, "statement", r->claim->statement);
    cli_json_text(json, claim, "source", r->claim->source);
    cli_json_text(json, claim, "measured", r->claim->measured);
    add_extras(json, claim, r);
    add_witness(json, claim, r);
}

void cli_verify_add_json(cli_json *json, const cli_verify_job *job)
{
    if (job->subject != NULL) {
        cli_json_text(json, json->object, "run", job->subject->name);
        cli_json_text(json, json->object, "family",
                      model_config_family_name(&job->subject->m->config));
        cli_json_text(json, json->object, "prompts", job->where);
    }
    cJSON *claims = cli_json_array(json, json->object, "claims");
    for (size_t i = 0; i < job->n_done; i++) {
        add_claim(json, claims, &job->results[i]);
    }
    if (job->report != NULL) {
        cli_verify_add_report(json, json->object, job);
    }
}

/* ---- the list ------------------------------------------------------------------------------- */

static void list_json(cli_json *json, cJSON *claims, const verify_claim *c)
{
    cJSON *claim = cli_json_child(json, claims, NULL);
    cli_json_text(json, claim, "name", c->name);
    cli_json_text(json, claim, "kind", verify_kind_word(c->kind));
    cli_json_text(json, claim, "needs", c->needs == VERIFY_RUN ? "run" : "random");
    cli_json_size(json, claim, "trials", c->trials);
    cli_json_text(json, claim, "statement", c->statement);
    cli_json_text(json, claim, "source", c->source);
    cli_json_text(json, claim, "measured", c->measured);
}

kern_status cli_verify_print_list(const cli_verify_settings *s, kern_error *err)
{
    cli_json json;
    cli_json_init(&json);
    cJSON *claims = cli_json_array(&json, json.object, "claims");
    bool begun = false;
    for (size_t i = 0; i < verify_table_count(); i++) {
        const verify_claim *c = verify_table_at(i);
        if (!cli_verify_selects(s, c)) {
            continue;
        }
        if (s->json) {
            list_json(&json, claims, c);
            continue;
        }
        (void)printf("%s%s (%s, of %s; %zu instance%s)\n", begun ? "\n" : "", c->name,
                     verify_kind_word(c->kind),
                     c->needs == VERIFY_RUN ? "a run" : "random instances", c->trials,
                     c->trials == 1 ? "" : "s");
        begun = true;
        print_paragraph(c->statement, 4);
        (void)printf("    Source:\n");
        print_paragraph(c->source, 8);
    }
    if (s->json) {
        return cli_json_print(&json, err);
    }
    cli_json_fini(&json);
    return KERN_OK;
}
