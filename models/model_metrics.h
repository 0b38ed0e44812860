/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.csv of a run: one row per report, on the disk as soon as it is written.
 *
 *   step,tokens,loss,val_loss,lr,grad_norm,tokens_per_s,seconds
 *
 * Losses in nats per token, the norm before clipping, seconds of training in all; a number that was
 * not measured, or is not finite, is an empty field.
 */
#ifndef BASIN_MODEL_METRICS_H
#define BASIN_MODEL_METRICS_H

#include "kernels/kern_status.h"

#include <stddef.h>

#define MODEL_METRICS_HEADER "step,tokens,loss,val_loss,lr,grad_norm,tokens_per_s,seconds"

typedef struct model_metrics_row {
    size_t step;   /* optimizer steps done */
    size_t tokens; /* tokens trained on */
    double loss;
    double val_loss; /* NaN: not measured */
    double rate;
    double gradient_norm;
    double tokens_per_s;
    double seconds;
} model_metrics_row;

typedef struct model_metrics model_metrics;

/* Opens metrics.csv of `folder` for appending, with its header when it is new. Rows of an earlier
 * session whose step is above `last_step` are removed first, since a resumed run writes them again,
 * and so is a last line that was cut. KERN_BAD_INPUT, naming the line, when the file is not such a
 * table; KERN_IO, KERN_NO_MEMORY. */
kern_status model_metrics_create(model_metrics **out, const char *folder, size_t last_step,
                                 kern_error *err);
void model_metrics_destroy(model_metrics *metrics);

/* Seconds of the last row that was kept; 0 when there was none. */
double model_metrics_seconds(const model_metrics *metrics);

/* Adds a row. KERN_IO when it cannot be written. */
kern_status model_metrics_append(model_metrics *metrics, const model_metrics_row *row,
                                 kern_error *err);

#endif
