/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a landscape is, in words.
 */
#include "viz/view/view_landscape.h"

#include "dyn/dyn_plane_chart.h"

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
    (void)snprintf(out, VIEW_NOTE,
                   "Token space: %s at step %zu is the centre. Plane: %s%s; %s chart%s%s, %s "
                   "lengths. %s; the trajectory is that of %s.%s",
                   l->token == MODEL_SLICE_SUM ? "the state" : "the token's state", l->at,
                   dyn_plane_kind_help(kind_of(l)), made, dyn_plane_chart_word(p->chart), radius,
                   read, dyn_plane_norm_word(p->norm), held, path, also);
}
