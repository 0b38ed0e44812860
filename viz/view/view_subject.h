/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Subject: a trained model with the tokens of a prompt, as the map whose landscapes are drawn.
 *
 * A model of the Gaussian-process benchmark has no words: its prompt is "SEED" or "SEED:POINTS",
 * the points of a sequence that it was not trained on (synthetic/syn_gp_model.h), and its tokens
 * are points.
 *
 * It never changes once made, and is shared: every holder keeps it and releases it. What it holds
 * may be read by several threads; maps are cloned by those who step them.
 */
#ifndef BASIN_VIEW_SUBJECT_H
#define BASIN_VIEW_SUBJECT_H

#include "dyn/dyn_map.h"
#include "models/model_layer_map.h"
#include "models/model_run_open.h"
#include "synthetic/syn_gp_model.h"
#include "viz/view/view_settings.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct view_subject {
    atomic_size_t holders;  /* private */
    model_run_open run;     /* the model, in double precision */
    char sha256[65];        /* of its weights' file */
    int32_t *ids;           /* of the prompt; NULL where tokens are points */
    syn_gp_sequence points; /* zeroed where they are not */
    size_t n;               /* tokens */
    dyn_map *map;           /* at rate 1 */
    double *h;              /* n × D: input of a part of a layer; NULL for a recurrent block */
    size_t layer;
    model_layer_part part;
    size_t trained; /* steps of training */
} view_subject;

/* Opens `run` with `prompt`. Errors of model_run_open; KERN_INVALID_ARGUMENT for a model without
 * energies of its tokens, for an empty or too long prompt, and a layer or part that it has not. */
kern_status view_subject_create(view_subject **out, const view_settings *s, kern_error *err);

view_subject *view_subject_keep(view_subject *subject);
void view_subject_release(view_subject *subject); /* NULL is ignored */

/* The text of a token, with what is not printable made visible (as model_tokenizer_label), or the
 * place of a point. */
void view_subject_token(const view_subject *subject, size_t token, char *out, size_t size);

#endif
