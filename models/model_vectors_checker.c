/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a tensor of a file of vectors is read and compared.
 */
#include "models/model_vectors_private.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* All values of tensor `entry`; the caller frees them. */
static kern_status read_tensor(const model__checker *c, const model_safetensors_entry *entry,
                               double **values)
{
    *values = malloc((entry->count + 1) * sizeof **values);
    if (*values == NULL) {
        return kern_raise(c->err, KERN_NO_MEMORY, "no memory for tensor %s", entry->name);
    }
    const kern_status status =
        model_safetensors_read_f64(c->file, entry, *values, entry->count, c->err);
    if (status != KERN_OK) {
        free(*values);
        *values = NULL;
    }
    return status;
}

kern_status model__checker_read(const model__checker *c, const char *name, size_t count,
                                double **values)
{
    const model_safetensors_entry *entry = model_safetensors_find(c->file, name);
    *values = NULL;
    if (entry == NULL || entry->count != count) {
        return kern_raise(c->err, KERN_BAD_INPUT,
                          "the file lacks tensor %s of %zu values that another one refers to", name,
                          count);
    }
    return read_tensor(c, entry, values);
}

static void compare(model__checker *c, const char *name, const double *computed,
                    const double *reference, size_t n, double tolerance)
{
    double largest = 0;
    double scale = 0;
    bool unordered = false;
    for (size_t i = 0; i < n; i++) {
        const double difference = fabs(computed[i] - reference[i]);
        unordered = unordered || isnan(difference);
        largest = fmax(largest, difference);
        scale = fmax(scale, fabs(reference[i]));
    }
    const double error = unordered ? (double)INFINITY : largest / (scale > 0 ? scale : 1.0);
    model_vectors_report *r = c->report;
    r->checked++;
    r->failed += !(error <= tolerance);
    r->max_rel_err = fmax(r->max_rel_err, error);
    if (r->worst[0] == '\0' || error / tolerance > r->worst_err) {
        r->worst_err = error / tolerance;
        (void)snprintf(r->worst, sizeof r->worst, "%s", name);
    }
}

/* Compares against the tensor itself. */
kern_status model__checker_compare(model__checker *c, const model_safetensors_entry *entry,
                                   const double *computed, size_t count, double tolerance)
{
    double *reference;
    if (entry->count != count) {
        return kern_raise(c->err, KERN_BAD_INPUT,
                          "tensor %s has %zu values where the configuration gives %zu", entry->name,
                          entry->count, count);
    }
    KERN_TRY(read_tensor(c, entry, &reference));
    compare(c, entry->name, computed, reference, count, tolerance);
    free(reference);
    return KERN_OK;
}

size_t model__checker_number(const char *tail, size_t most)
{
    char *end;
    const unsigned long number = strtoul(tail, &end, 10);
    if (tail[0] < '0' || tail[0] > '9' || *end != '\0' || number > most) {
        return SIZE_MAX;
    }
    return (size_t)number;
}

kern_status model__checker_no_step(const model__checker *c, const model_safetensors_entry *entry)
{
    return kern_raise(c->err, KERN_BAD_INPUT, "tensor %s does not name a step from 0 to %zu",
                      entry->name, c->graph.n_steps);
}

kern_status model__checker_compare_value(model__checker *c, const model_safetensors_entry *entry,
                                         kern_value value)
{
    if (value == KERN_NO_VALUE) {
        return kern_raise(c->err, KERN_BAD_INPUT, "tensor %s means nothing for a %s model",
                          entry->name, c->report->family);
    }
    const kern_shape shape = kern_graph_value_info(c->graph.graph, value)->shape;
    return model__checker_compare(c, entry, kern_exec_value(c->exec, value),
                                  shape.rows * shape.cols, MODEL_VECTORS_TOLERANCE);
}
