/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fields of a model configuration as one table, private to model_config*.c.
 */
#ifndef BASIN_MODEL_CONFIG_FIELDS_H
#define BASIN_MODEL_CONFIG_FIELDS_H

#include "models/model_config.h"

#include <string.h>

enum {
    MODEL__FIELDS = 48,       /* entries of the table */
    MODEL__TEXT = 640,        /* room for a list of accepted words or keys */
    MODEL__SIZE_MAX = 1 << 24 /* largest size; any product of two fits size_t and a double */
};

/* The words of one enumeration, in the order of its values. */
typedef struct model__words {
    const char *what;
    const char *const *words;
    unsigned count;
} model__words;

typedef enum model__field_kind {
    FIELD_SIZE,
    FIELD_REAL,
    FIELD_BOOL,
    FIELD_WORD,
    FIELD_SIZES, /* a model_widths of numbers from low to high */
    FIELD_IGNORED
} model__field_kind;

enum {
    FOR_NRGPT = 1 << MODEL_NRGPT,
    FOR_GPT = 1 << MODEL_GPT,
    FOR_STACK = 1 << MODEL_LLAMA | 1 << MODEL_CEM | 1 << MODEL_HOURGLASS,
    FOR_EARLY = FOR_NRGPT | FOR_GPT,
    FOR_ALL = FOR_EARLY | FOR_STACK
};

/* What a configuration must have for a field of its family to mean something. */
typedef enum model__needs {
    NEEDS_NOTHING,
    NEEDS_CEM,       /* a CEM sub-layer */
    NEEDS_CEM_ATTN,  /* CEM attention */
    NEEDS_CEM_MLP,   /* a CEM feed-forward part */
    NEEDS_PRECOND,   /* a preconditioner with a rank */
    NEEDS_UNTIED,    /* the attention of a Llama */
    NEEDS_HOURGLASS, /* an hourglass, and of a list that it is not empty */
    NEEDS_VALUE      /* a value other than 0 */
} model__needs;

/* One field: its key, where it lies in model_config, for which families it counts, and its domain.
 * Reading, writing and checking all walk this table. */
typedef struct model__field {
    const char *key;
    model__field_kind kind;
    unsigned families;
    size_t offset;
    double low, high;          /* domain of a size or number, both ends included */
    const model__words *words; /* domain of a word */
    model__needs needs;
} model__field;

extern const model__field model__fields[MODEL__FIELDS];

/* Word of a value; "unknown" outside the list. */
const char *model__word_of(const model__words *words, unsigned value);

/* Value of a word; KERN_INVALID_ARGUMENT lists the words. */
kern_status model__parse_word(const model__words *words, unsigned *value, const char *word,
                              kern_error *err);

/* Appends `word` to a comma-separated list; what does not fit is left out. */
void model__append_word(char out[MODEL__TEXT], const char *word);

/* True when the field, which applies, makes a difference: what makes none is read, and not written.
 */
bool model__field_matters(const model_config *config, const model__field *field);

/* Checks what a stack's fields must be to each other, and counts the parameters of its layers. */
kern_status model__check_stack(const model_config *config, kern_error *err);
double model__count_stack(const model_config *config);

/* Access to a field by its offset. A word is read and written as `unsigned`, the representation of
 * every enumeration of the configuration. */
static inline bool model__field_applies(const model__field *field, model_family family)
{
    return (field->families >> (unsigned)family & 1u) != 0;
}

static inline size_t model__get_size(const model_config *config, const model__field *field)
{
    size_t value;
    memcpy(&value, (const char *)config + field->offset, sizeof value);
    return value;
}

static inline double model__get_real(const model_config *config, const model__field *field)
{
    double value;
    memcpy(&value, (const char *)config + field->offset, sizeof value);
    return value;
}

static inline bool model__get_bool(const model_config *config, const model__field *field)
{
    bool value;
    memcpy(&value, (const char *)config + field->offset, sizeof value);
    return value;
}

static inline unsigned model__get_word(const model_config *config, const model__field *field)
{
    unsigned value;
    memcpy(&value, (const char *)config + field->offset, sizeof value);
    return value;
}

static inline model_widths model__get_sizes(const model_config *config, const model__field *field)
{
    model_widths value;
    memcpy(&value, (const char *)config + field->offset, sizeof value);
    return value;
}

static inline void model__set_value(model_config *config, const model__field *field,
                                    const void *value, size_t size)
{
    memcpy((char *)config + field->offset, value, size);
}

#endif
