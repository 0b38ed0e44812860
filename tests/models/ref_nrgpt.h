/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NRGPT with the FF1 energy, strict mask, LayerNorm and a full η in plain loops over doubles, after
 * the published description; nothing of Basin is used.
 */
#ifndef BASIN_REF_NRGPT_H
#define BASIN_REF_NRGPT_H

#include <stddef.h>
#include <stdint.h>

enum { REF_HEADS = 3 };

typedef struct ref_nrgpt {
    size_t batch, tokens, width, vocab, hidden, steps;
    const double *embedding;        /* V × D */
    const double *position;         /* at least N × D */
    const double *heads[REF_HEADS]; /* H_h, D × D */
    const double *ff, *ff_bias;     /* W, M × D; b, M */
    const double *norm_bias;        /* δ, D */
    const double *proj;             /* η, D × D */
    double scale_ff;                /* s */
    const double *final_gain;       /* D */
    const double *final_bias;       /* D */
    const double *readout;          /* V × D */
    const double *readout_bias;     /* V */
} ref_nrgpt;

/* x ← embedding of `idx`, (B·N) × D. */
void ref_nrgpt_embed(const ref_nrgpt *r, const int64_t *idx, double *x);

/* Energies (B·N each, E_FF without s) and gradient ∂E_A/∂g_A ((B·N) × D, s included) at x. */
void ref_nrgpt_energy(const ref_nrgpt *r, const double *x, double *attention, double *ff,
                      double *gradient);

/* x ← x − η gradient. */
void ref_nrgpt_move(const ref_nrgpt *r, const double *gradient, double *x);

/* Logits, (B·N) × V, and the mean loss. */
double ref_nrgpt_read(const ref_nrgpt *r, const double *x, const int64_t *targets, double *logits);

#endif
