/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reference vectors: what the parts of a layer go through, trace/layers.L.PART/T/WHAT.
 */
#include "models/model_vectors_private.h"

#include <stdlib.h>
#include <string.h>

/* A number at *text and the separator behind it, both of which are then skipped. */
static bool skip_number(const char **text, char separator, size_t *number)
{
    char *end;
    *number = (size_t)strtoul(*text, &end, 10);
    if (**text < '0' || **text > '9' || *end != separator) {
        return false;
    }
    *text = end + 1;
    return true;
}

static bool skip_word(const char **text, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) {
        return false;
    }
    *text += length;
    return true;
}

/* `tail` is what follows "trace/layers.". */
static kern_value find_value(const model_graph *graph, const char *tail)
{
    static const struct {
        const char *word;
        model_layer_part part;
    } parts[] = {{"attn/", MODEL_LAYER_ATTN}, {"mlp/", MODEL_LAYER_FFN}, {"hg/", MODEL_LAYER_FFN}};
    size_t layer;
    size_t t;
    if (!skip_number(&tail, '.', &layer) || layer >= graph->n_steps || graph->inner == NULL) {
        return KERN_NO_VALUE;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const model_inner *inner = &graph->inner[layer * MODEL_LAYER_PARTS + parts[i].part];
        if (!skip_word(&tail, parts[i].word)) {
            continue;
        }
        if (!skip_number(&tail, '/', &t) || t >= inner->count) {
            return KERN_NO_VALUE;
        }
        return strcmp(tail, "x") == 0        ? inner->x[t]
               : strcmp(tail, "energy") == 0 ? inner->energy[t]
                                             : KERN_NO_VALUE;
    }
    return KERN_NO_VALUE;
}

kern_status model__check_trace(model__checker *c, const model_safetensors_entry *entry,
                               const char *tail)
{
    return model__checker_compare_value(c, entry, find_value(&c->graph, tail));
}
