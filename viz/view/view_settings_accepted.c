/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What settings take, in words.
 */
#include "viz/view/view_settings.h"

#include <stdio.h>
#include <string.h>

bool view_field_is_range(const view_field *field)
{
    return field->offset == offsetof(view_settings, range);
}

bool view_field_has_limits(const view_field *field)
{
    return field->low < field->high;
}

static void append(char out[VIEW_ACCEPTED], const char *before, const char *word)
{
    const size_t used = strlen(out);
    (void)snprintf(out + used, VIEW_ACCEPTED - used, "%s%s", before, word);
}

/* "auto, flat and sphere". */
static void list_words(const view_field *field, char out[VIEW_ACCEPTED])
{
    int i = 0;
    out[0] = '\0';
    if (field->special != NULL) {
        append(out, "", field->special);
    }
    for (; field->word(i) != NULL; i++) {
        const bool first = i == 0 && field->special == NULL;
        append(out, first ? "" : field->word(i + 1) == NULL ? " and " : ", ", field->word(i));
    }
}

static void describe_numbers(const view_field *field, char out[VIEW_ACCEPTED])
{
    const char *also = field->special != NULL ? field->special : "";
    const char *joined = field->special != NULL ? ", and " : "";
    const bool whole = field->kind == VIEW_KIND_SIZE || field->kind == VIEW_KIND_U64;
    const char *numbers = whole ? "whole numbers" : "numbers";
    if (view_field_has_limits(field)) {
        (void)snprintf(out, VIEW_ACCEPTED, "%s from %.12g to %.12g%s%s", numbers, field->low,
                       field->high, joined, also);
    } else {
        (void)snprintf(out, VIEW_ACCEPTED, "%s%s%s", numbers, joined, also);
    }
}

static void describe_reals(const view_field *field, char out[VIEW_ACCEPTED])
{
    char more[80] = "";
    const bool pairs = field->n_offset != 0;
    if (view_field_has_limits(field)) {
        (void)snprintf(more, sizeof more, ", each from %.12g to %.12g", field->low, field->high);
    }
    (void)snprintf(out, VIEW_ACCEPTED, "%s%s%s%zu numbers separated by commas%s%s",
                   field->special != NULL ? field->special : "",
                   view_field_is_range(field) ? ", one number above 0 (half the width) and "
                   : field->special != NULL   ? " and "
                                              : "",
                   pairs ? "up to " : "", field->count,
                   pairs                        ? ", an even number of them"
                   : view_field_is_range(field) ? " (a from, a to, b from, b to)"
                                                : "",
                   more);
}

void view_field_accepted(const view_field *field, char out[VIEW_ACCEPTED])
{
    switch (field->kind) {
    case VIEW_KIND_WORD:
        list_words(field, out);
        break;
    case VIEW_KIND_FLAG:
        (void)snprintf(out, VIEW_ACCEPTED, "on and off");
        break;
    case VIEW_KIND_TEXT:
        (void)snprintf(out, VIEW_ACCEPTED, "texts in UTF-8 of at most %d bytes", VIEW_TEXT - 1);
        break;
    case VIEW_KIND_REALS:
        describe_reals(field, out);
        break;
    case VIEW_KIND_SIZES:
        (void)snprintf(out, VIEW_ACCEPTED,
                       "%s and up to %zu whole numbers up to %.12g separated by commas",
                       field->special, field->count, field->high);
        break;
    case VIEW_KIND_SIZE:
    case VIEW_KIND_U64:
    case VIEW_KIND_REAL:
        describe_numbers(field, out);
        break;
    }
}
