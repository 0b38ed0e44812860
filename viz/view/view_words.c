/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a landscape is, in words.
 */
#include "viz/view/view_landscape.h"

#include "dyn/dyn_plane_chart.h"
#include "models/model_layer_trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Degrees of an angle in radians. */
#define DEGREES 57.29577951308232

#define MINUS "\xe2\x88\x92" /* U+2212 */

static const dyn_plane_kind *kind_of(const view_landscape *l)
{
    return dyn_plane_kind_at((size_t)l->settings.plane);
}

static bool is_kind(const view_landscape *l, const char *name)
{
    return strcmp(dyn_plane_kind_name(kind_of(l)), name) == 0;
}

static const char *unit_of(const view_landscape *l)
{
    const dyn_plane *p = l->plane;
    if (p->norm == DYN_PLANE_RELATIVE) {
        return dyn_plane_chart_is_curved(p->chart) && l->token != MODEL_SLICE_SUM
                   ? dyn_plane_chart_unit(p->chart)
                   : "relative to the tokens";
    }
    return p->norm == DYN_PLANE_RMS ? "rms" : "length";
}

/* What is known of an axis as it was made: ", 81.2 % of variance". */
static void know_axis(const view_landscape *l, int axis, char out[VIEW_LABEL / 2])
{
    out[0] = '\0';
    if (l->settings.turn != 0.0) {
        (void)snprintf(out, VIEW_LABEL / 2, ", turned by %s%.3g°",
                       l->settings.turn < 0.0 ? MINUS : "", fabs(DEGREES * l->settings.turn));
    } else if (!isnan(l->notes.explained[axis])) {
        (void)snprintf(out, VIEW_LABEL / 2, ", %.1f %% of variance",
                       100.0 * l->notes.explained[axis]);
    } else if (!isnan(l->notes.curvature[axis])) {
        (void)snprintf(out, VIEW_LABEL / 2, ", <i>λ</i> = %s%.3g",
                       l->notes.curvature[axis] < 0.0 ? MINUS : "", fabs(l->notes.curvature[axis]));
    }
    if (l->plane->oblique && axis == 1) {
        (void)snprintf(out, VIEW_LABEL / 2, ", at %.1f°", DEGREES * l->plane->angle);
    }
}

/* The energy's two terms (models/model_gradient.h). */
static const char *term_word(const view_landscape *l, int axis)
{
    if (l->subject->h == NULL) {
        return axis == 0 ? "attention energy" : "feed-forward energy";
    }
    return axis == 0 ? "energy without the confining term" : "confining term";
}

void view_words_axis(const view_landscape *l, int axis, char out[VIEW_LABEL])
{
    char more[VIEW_LABEL / 2];
    char name[VIEW_LABEL / 2];
    know_axis(l, axis, more);
    if (is_kind(l, "terms")) {
        (void)snprintf(name, sizeof name, "steepest descent of the %s", term_word(l, axis));
    } else if (is_kind(l, "points")) {
        (void)snprintf(name, sizeof name, "towards the state at step %zu", l->points[axis]);
    } else if (is_kind(l, "tokens")) {
        (void)snprintf(name, sizeof name, "random direction of token %zu",
                       axis == 0 ? l->token : l->settings.with);
    } else {
        (void)snprintf(name, sizeof name, "%s", dyn_plane_kind_axis(kind_of(l), axis));
    }
    (void)snprintf(out, VIEW_LABEL, "%s%s  (%s)", name, more, unit_of(l));
}

void view_words_subject(const view_landscape *l, char out[VIEW_LABEL])
{
    char token[MODEL_TOKENIZER_LABEL];
    if (l->token == MODEL_SLICE_SUM) {
        (void)snprintf(out, VIEW_LABEL, "all %zu tokens", l->subject->n);
        return;
    }
    view_subject_token(l->subject, l->token, token, sizeof token);
    (void)snprintf(out, VIEW_LABEL, "token %zu “%s”", l->token, token);
}

const char *view_words_unit_key(const view_landscape *l)
{
    return l->subject->h == NULL ? "nat" : model_layer_energy_unit(l->subject->part)->key;
}

const char *view_words_unit(const view_landscape *l)
{
    return l->subject->h == NULL ? "nats" : model_layer_energy_unit(l->subject->part)->label;
}

void view_words_energy(const view_landscape *l, char out[VIEW_LABEL])
{
    const bool all = l->token == MODEL_SLICE_SUM;
    const char *symbol = l->subject->h != NULL ? (all ? "Σ<i>ε</i>" : "<i>ε</i>")
                         : all                 ? "<i>E</i>"
                                               : "<i>E<sub>A</sub></i>";
    (void)snprintf(out, VIEW_LABEL, "energy %s  (%s)", symbol, view_words_unit(l));
}

/* The field does not follow the step where it is the same at all steps. */
static const char *why_field_stays(const view_subject *v, const view_settings *s)
{
    return s->token == VIEW_ALL ? "all tokens move, and none is held"
           : s->frozen          ? "a frozen token's others stay where they are at the centre"
           : v->h != NULL && v->run.run.config.cem.hist != MODEL_HIST_SYNC
               ? "the history of the layer is its input, which is the same at every step"
           : s->token == 0 ? "the first token sees no other"
                           : NULL;
}

static const char *why_no_ghost(const view_subject *v, const view_settings *s)
{
    const char *stays = why_field_stays(v, s);
    return !s->follow                ? "it goes with follow, which is off"
           : stays != NULL           ? stays
           : s->step == 0            ? "there is no step before step 0"
           : s->mode == VIEW_SURFACE ? "a surface has the contours of its own step only"
           : s->levels == 0          ? "levels is 0, which draws no contours"
                                     : NULL;
}

static const char *why_no_others(const view_settings *s)
{
    for (size_t i = 0; i < s->n_also; i++) {
        if (s->token != VIEW_ALL && s->also[i] != s->token) {
            return NULL;
        }
    }
    return s->token == VIEW_ALL ? "all tokens together have one trajectory"
                                : "the chosen token's trajectory is drawn without it";
}

const char *view_words_idle(const view_subject *subject, const view_settings *s, const char *name)
{
    if (strcmp(name, "also") == 0 && s->n_also > 0) {
        return why_no_others(s);
    }
    if (strcmp(name, "held") == 0 && s->n_held > 0 && s->frozen) {
        return "frozen holds all tokens but one";
    }
    if (strcmp(name, "follow") == 0 && s->follow) {
        return why_field_stays(subject, s);
    }
    return strcmp(name, "ghost") == 0 && s->ghost ? why_no_ghost(subject, s) : NULL;
}

void view_words_title(const view_landscape *l, char out[2 * VIEW_LABEL])
{
    char who[VIEW_LABEL];
    char where[VIEW_LABEL / 2] = "token space";
    view_words_subject(l, who);
    if (l->subject->h != NULL) {
        (void)snprintf(where, sizeof where, "layer %zu, %s", l->subject->layer,
                       model_layer_part_word(l->subject->part));
    }
    (void)snprintf(out, 2 * VIEW_LABEL, "Energy of %s in %s", who, where);
}

static void what_is_held(const view_landscape *l, char out[VIEW_LABEL])
{
    if (l->token == MODEL_SLICE_SUM) {
        (void)snprintf(out, VIEW_LABEL, "Weights are held");
    } else {
        (void)snprintf(out, VIEW_LABEL, "Held: weights, and all other tokens at step %zu",
                       l->held_at);
    }
    if (l->subject->h != NULL) {
        (void)snprintf(out, VIEW_LABEL, "Held: weights and the history of layer %zu",
                       l->subject->layer);
    }
}

static bool is_random(const view_landscape *l)
{
    return is_kind(l, "random") || is_kind(l, "relative") || is_kind(l, "tokens");
}

/* How the axes came about, beyond their kind. */
static void how_made(const view_landscape *l, char out[VIEW_LABEL])
{
    out[0] = '\0';
    if (is_random(l)) {
        (void)snprintf(out, VIEW_LABEL, " (seed %llu)", (unsigned long long)l->settings.seed);
    } else if (is_kind(l, "pca") && l->stride > 1) {
        (void)snprintf(out, VIEW_LABEL, " (one state in %zu)", l->stride);
    }
}

/* Whether some tokens stay while the trajectory is followed. The centre and where they stay are
 * states of the trajectory on which nothing does. */
static bool holds(const view_landscape *l)
{
    return l->settings.n_held > 0 && !l->settings.frozen;
}

/* " with tokens 1, 3 held at step 6", of those that are held one by one. */
static void who_stays(const view_landscape *l, char out[VIEW_LABEL / 2])
{
    const view_settings *s = &l->settings;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < s->n_held && !s->frozen; i++) {
        (void)snprintf(out + used, VIEW_LABEL / 2 - used, "%s%zu",
                       i > 0           ? ", "
                       : s->n_held > 1 ? " with tokens "
                                       : " with token ",
                       s->held[i]);
        used += strlen(out + used);
    }
    if (used > 0) {
        (void)snprintf(out + used, VIEW_LABEL / 2 - used, " held at step %zu", l->at);
    }
}

/* Whose trajectory it is, and what of the map was changed for it. */
static void whose_path(const view_landscape *l, char out[VIEW_LABEL])
{
    char rate[VIEW_LABEL / 4] = "";
    char stays[VIEW_LABEL / 2];
    who_stays(l, stays);
    if (l->settings.rate != 1.0) {
        (void)snprintf(rate, sizeof rate, " at %.6g times its rate", l->settings.rate);
    }
    (void)snprintf(out, VIEW_LABEL, "%s%s%s%s",
                   l->subject->h != NULL ? "the sub-layer"
                   : l->settings.frozen  ? "the token alone"
                                         : "the whole model",
                   rate, l->settings.pin ? " with pinned scales" : "", stays);
}

void view_words_describe(const view_landscape *l, char out[VIEW_NOTE])
{
    const dyn_plane *p = l->plane;
    char held[VIEW_LABEL];
    char path[VIEW_LABEL];
    char made[VIEW_LABEL];
    char radius[VIEW_LABEL / 2] = "";
    char read[VIEW_LABEL / 2] = "";
    char unit[VIEW_LABEL / 2] = "";
    const char *also = l->n_also == 0 ? ""
                                      : " Other tokens are drawn where they would be in this "
                                        "token's place, by its axes, centre and lengths.";
    what_is_held(l, held);
    whose_path(l, path);
    how_made(l, made);
    if (dyn_plane_chart_is_curved(p->chart) && view_landscape_moves_one(l)) {
        (void)snprintf(radius, sizeof radius, " of radius %.4g", p->radius[l->token]);
    }
    if (dyn_plane_chart_at(p->chart)->half) {
        (void)snprintf(read, sizeof read, " (%s)", dyn_plane_chart_help(p->chart));
    }
    if (l->subject->h != NULL) {
        (void)snprintf(unit, sizeof unit, " Energies are in units of %s.",
                       model_layer_energy_unit(l->subject->part)->meaning);
    }
    (void)snprintf(out, VIEW_NOTE,
                   "Token space: %s at step %zu is the centre. Plane: %s%s; %s chart%s%s, %s "
                   "lengths. %s; the trajectory is that of %s%s.%s%s",
                   l->token == MODEL_SLICE_SUM ? "the state" : "the token's state", l->at,
                   dyn_plane_kind_help(kind_of(l)), made, dyn_plane_chart_word(p->chart), radius,
                   read, dyn_plane_norm_word(p->norm), held, path,
                   holds(l) ? "; these states and the centre are of the model without holding" : "",
                   also, unit);
}
