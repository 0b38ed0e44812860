/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Values of settings as text, and their limits.
 */
#include "viz/view/view_settings.h"

#include "dyn/dyn_assignment.h"
#include "models/model_json.h"
#include "models/model_utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_RANGE = 4 };

/* Height over width of the part of the plane that is drawn. */
#define ASPECT 0.625

/* The least that a range may grow by: what is drawn of less would have no scale. */
#define NARROWEST 1e-300

static void *member(view_settings *s, const view_field *field)
{
    return (char *)s + field->offset;
}

static const void *look(const view_settings *s, const view_field *field)
{
    return (const char *)s + field->offset;
}

/* Of REALS and SIZES: where the number of those that count is kept. */
static size_t *count_of(view_settings *s, const view_field *field)
{
    return (size_t *)(void *)((char *)s + field->n_offset);
}

static kern_status refuse(const view_field *field, const char *text, kern_error *err)
{
    char accepted[VIEW_ACCEPTED];
    view_field_accepted(field, accepted);
    return field->kind == VIEW_KIND_WORD
               ? kern_raise(err, KERN_INVALID_ARGUMENT, "\"%.40s\" is no %s; accepted are %s", text,
                            field->name, accepted)
               : kern_raise(err, KERN_INVALID_ARGUMENT, "%s is \"%.40s\"; accepted are %s",
                            field->name, text, accepted);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static kern_status check_real(const view_field *field, double value, kern_error *err)
{
    char text[MODEL_JSON_NUMBER];
    if (isfinite(value) &&
        (!view_field_has_limits(field) || (value >= field->low && value <= field->high))) {
        return KERN_OK;
    }
    if (!model_json_format_real(text, value)) {
        (void)snprintf(text, sizeof text, "%g", value); /* infinite, or none */
    }
    return refuse(field, text, err);
}

static kern_status check_size(const view_field *field, size_t value, kern_error *err)
{
    char text[MODEL_JSON_NUMBER];
    if (!view_field_has_limits(field) ||
        ((double)value >= field->low && (double)value <= field->high)) {
        return KERN_OK;
    }
    (void)snprintf(text, sizeof text, "%zu", value);
    return refuse(field, text, err);
}

/* The range has a place to lie in, or is all 0 and thus chosen. */
static bool is_ordered(const double *values)
{
    const bool chosen =
        values[0] == 0.0 && values[1] == 0.0 && values[2] == 0.0 && values[3] == 0.0;
    return chosen || (values[1] - values[0] >= NARROWEST && values[3] - values[2] >= NARROWEST);
}

kern_status view_settings_set_reals(view_settings *s, const view_field *field, const double *values,
                                    size_t n, kern_error *err)
{
    double *own = member(s, field);
    const bool pairs = field->n_offset != 0;
    if (pairs ? n > field->count || n % 2 != 0 : n != field->count) {
        char accepted[VIEW_ACCEPTED];
        view_field_accepted(field, accepted);
        return kern_raise(err, KERN_INVALID_ARGUMENT, "%s has %zu number%s; accepted are %s",
                          field->name, n, n == 1 ? "" : "s", accepted);
    }
    for (size_t i = 0; i < n; i++) {
        KERN_TRY(check_real(field, values[i], err));
    }
    if (view_field_is_range(field) && !is_ordered(values)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s goes from %g to %g and from %g to %g; each must grow, by %g at least",
                          field->name, values[0], values[1], values[2], values[3], NARROWEST);
    }
    memset(own, 0, field->count * sizeof *own);
    if (n > 0) {
        memcpy(own, values, n * sizeof *own);
    }
    if (pairs) {
        *count_of(s, field) = n / 2;
    }
    return KERN_OK;
}

const double *view_settings_reals(const view_settings *s, const view_field *field, size_t *n)
{
    *n = field->n_offset == 0
             ? field->count
             : 2 * *(const size_t *)(const void *)((const char *)s + field->n_offset);
    return look(s, field);
}

const size_t *view_settings_sizes(const view_settings *s, const view_field *field, size_t *n)
{
    *n = *(const size_t *)(const void *)((const char *)s + field->n_offset);
    return look(s, field);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool is_special(const view_field *field, const char *text)
{
    return field->special != NULL && strcmp(text, field->special) == 0;
}

static kern_status set_text(view_settings *s, const view_field *field, const char *text,
                            kern_error *err)
{
    const size_t n = strlen(text);
    if (n >= VIEW_TEXT || model_utf8_require(text, n, NULL) != KERN_OK) {
        return refuse(field, text, err);
    }
    memcpy(member(s, field), text, n + 1);
    return KERN_OK;
}

/* Decimal digits alone, without a sign or blanks. */
static bool read_digits(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    for (const char *c = text; *c != '\0'; c++) {
        const uint64_t digit = (uint64_t)(*c - '0');
        if (*c < '0' || *c > '9' || value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = 10 * value + digit;
    }
    *out = value;
    return text[0] != '\0';
}

static kern_status set_whole(view_settings *s, const view_field *field, const char *text,
                             kern_error *err)
{
    uint64_t value = 0;
    if (field->kind == VIEW_KIND_SIZE && is_special(field, text)) {
        *(size_t *)member(s, field) = SIZE_MAX;
        return KERN_OK;
    }
    if (!read_digits(text, &value)) {
        return refuse(field, text, err);
    }
    if (field->kind == VIEW_KIND_U64) {
        *(uint64_t *)member(s, field) = value;
        return KERN_OK;
    }
    KERN_TRY(check_size(field, (size_t)value, err));
    *(size_t *)member(s, field) = (size_t)value;
    return KERN_OK;
}

static kern_status set_reals(view_settings *s, const view_field *field, const char *text,
                             kern_error *err)
{
    static const double zeros[PLAIN_RANGE];
    double *values = NULL;
    size_t n = 0;
    if (is_special(field, text)) {
        return view_settings_set_reals(s, field, zeros, field->n_offset != 0 ? 0 : field->count,
                                       err);
    }
    if (dyn_read_numbers(text, &values, &n, NULL) != KERN_OK) {
        return refuse(field, text, err);
    }
    kern_status status;
    if (n == 1 && view_field_is_range(field)) {
        const double half = values[0];
        const double range[] = {-half, half, -ASPECT * half, ASPECT * half};
        status = half > 0.0 ? view_settings_set_reals(s, field, range, PLAIN_RANGE, err)
                            : refuse(field, text, err);
    } else {
        status = view_settings_set_reals(s, field, values, n, err);
    }
    free(values);
    return status;
}

/* Puts a number into an ascending set; false when there is no room. */
static bool insert_size(view_settings *s, const view_field *field, size_t value)
{
    size_t *own = member(s, field);
    size_t *n = count_of(s, field);
    size_t at = 0;
    while (at < *n && own[at] < value) {
        at++;
    }
    if (at < *n && own[at] == value) {
        return true;
    }
    if (*n == field->count) {
        return false;
    }
    memmove(own + at + 1, own + at, (*n - at) * sizeof *own);
    own[at] = value;
    (*n)++;
    return true;
}

static void clear_sizes(view_settings *s, const view_field *field)
{
    memset(member(s, field), 0, field->count * sizeof(size_t));
    *count_of(s, field) = 0;
}

static kern_status too_many(const view_field *field, kern_error *err)
{
    return kern_raise(err, KERN_INVALID_ARGUMENT, "%s has more than %zu numbers; accepted are %zu",
                      field->name, field->count, field->count);
}

static kern_status set_sizes(view_settings *s, const view_field *field, const char *text,
                             kern_error *err)
{
    view_settings next = *s;
    char digits[MODEL_JSON_NUMBER];
    const char *at = text;
    clear_sizes(&next, field);
    while (!is_special(field, text)) {
        const size_t n = strcspn(at, ",");
        uint64_t value = 0;
        (void)snprintf(digits, sizeof digits, "%.*s", (int)(n < sizeof digits ? n : 0), at);
        if (!read_digits(digits, &value)) {
            return refuse(field, text, err);
        }
        KERN_TRY(check_size(field, (size_t)value, err));
        if (!insert_size(&next, field, (size_t)value)) {
            return too_many(field, err);
        }
        if (at[n] == '\0') {
            break;
        }
        at += n + 1;
    }
    *s = next;
    return KERN_OK;
}

kern_status view_settings_toggle_size(view_settings *s, const view_field *field, size_t value,
                                      kern_error *err)
{
    size_t *own = member(s, field);
    size_t *n = count_of(s, field);
    for (size_t i = 0; i < *n; i++) {
        if (own[i] == value) {
            memmove(own + i, own + i + 1, (*n - i - 1) * sizeof *own);
            own[--*n] = 0;
            return KERN_OK;
        }
    }
    KERN_TRY(check_size(field, value, err));
    return insert_size(s, field, value) ? KERN_OK : too_many(field, err);
}

kern_status view_settings_take_others(view_settings *s, const view_field *field, size_t tokens,
                                      kern_error *err)
{
    view_settings next = *s;
    const size_t others = s->token < tokens ? tokens - 1 : tokens;
    if (others == 0) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is all, and there is no token but the chosen one", field->name);
    }
    if (others > field->count) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "%s is \"all\", which is %zu tokens of this prompt; accepted are at most "
                          "%zu, written out as 0,1,2",
                          field->name, others, field->count);
    }
    clear_sizes(&next, field);
    for (size_t i = 0; i < tokens; i++) {
        if (i != s->token) {
            (void)insert_size(&next, field, i);
        }
    }
    *s = next;
    return KERN_OK;
}

static kern_status set_real(view_settings *s, const view_field *field, const char *text,
                            kern_error *err)
{
    double *values = NULL;
    size_t n = 0;
    const kern_status status = dyn_read_numbers(text, &values, &n, NULL);
    const double value = status == KERN_OK ? values[0] : (double)NAN;
    free(values);
    if (status != KERN_OK || n != 1) {
        return refuse(field, text, err);
    }
    KERN_TRY(check_real(field, value, err));
    *(double *)member(s, field) = value;
    return KERN_OK;
}

static kern_status set_flag(view_settings *s, const view_field *field, const char *text,
                            kern_error *err)
{
    const bool on = strcmp(text, "on") == 0;
    if (!on && strcmp(text, "off") != 0) {
        return refuse(field, text, err);
    }
    *(bool *)member(s, field) = on;
    return KERN_OK;
}

static kern_status set_word(view_settings *s, const view_field *field, const char *text,
                            kern_error *err)
{
    int found = -1;
    for (int i = 0; field->word(i) != NULL; i++) {
        found = strcmp(text, field->word(i)) == 0 ? i : found;
    }
    if (found < 0 && !is_special(field, text)) {
        return refuse(field, text, err);
    }
    *(int *)member(s, field) = found;
    return KERN_OK;
}

kern_status view_settings_set(view_settings *s, const view_field *field, const char *text,
                              kern_error *err)
{
    typedef kern_status setter(view_settings *, const view_field *, const char *, kern_error *);
    static setter *const setters[] = {
        [VIEW_KIND_TEXT] = set_text, [VIEW_KIND_SIZE] = set_whole,  [VIEW_KIND_U64] = set_whole,
        [VIEW_KIND_REAL] = set_real, [VIEW_KIND_REALS] = set_reals, [VIEW_KIND_SIZES] = set_sizes,
        [VIEW_KIND_FLAG] = set_flag, [VIEW_KIND_WORD] = set_word};
    return setters[field->kind](s, field, text, err);
}

/* ---- Showing --------------------------------------------------------------------------------- */

static void show_reals(const view_settings *s, const view_field *field, char out[VIEW_TEXT])
{
    size_t n;
    size_t used = 0;
    bool zero = true;
    const double *values = view_settings_reals(s, field, &n);
    for (size_t i = 0; i < n; i++) {
        zero = zero && values[i] == 0.0;
    }
    if (field->special != NULL && (n == 0 || (field->n_offset == 0 && zero))) {
        (void)snprintf(out, VIEW_TEXT, "%s", field->special);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char number[MODEL_JSON_NUMBER];
        (void)model_json_format_real(number, values[i]);
        (void)snprintf(out + used, VIEW_TEXT - used, "%s%s", i > 0 ? "," : "", number);
        used += strlen(out + used);
    }
}

static void show_sizes(const view_settings *s, const view_field *field, char out[VIEW_TEXT])
{
    size_t n;
    size_t used = 0;
    const size_t *values = view_settings_sizes(s, field, &n);
    (void)snprintf(out, VIEW_TEXT, "%s", n == 0 ? field->special : "");
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(out + used, VIEW_TEXT - used, "%s%zu", i > 0 ? "," : "", values[i]);
        used += strlen(out + used);
    }
}

void view_settings_show(const view_settings *s, const view_field *field, char out[VIEW_TEXT])
{
    const void *value = look(s, field);
    out[0] = '\0';
    switch (field->kind) {
    case VIEW_KIND_TEXT:
        (void)snprintf(out, VIEW_TEXT, "%s", (const char *)value);
        break;
    case VIEW_KIND_SIZE:
        if (field->special != NULL && *(const size_t *)value == SIZE_MAX) {
            (void)snprintf(out, VIEW_TEXT, "%s", field->special);
        } else {
            (void)snprintf(out, VIEW_TEXT, "%zu", *(const size_t *)value);
        }
        break;
    case VIEW_KIND_U64:
        (void)snprintf(out, VIEW_TEXT, "%" PRIu64, *(const uint64_t *)value);
        break;
    case VIEW_KIND_REAL: {
        char number[MODEL_JSON_NUMBER];
        (void)model_json_format_real(number, *(const double *)value);
        (void)snprintf(out, VIEW_TEXT, "%s", number);
        break;
    }
    case VIEW_KIND_REALS:
        show_reals(s, field, out);
        break;
    case VIEW_KIND_SIZES:
        show_sizes(s, field, out);
        break;
    case VIEW_KIND_FLAG:
        (void)snprintf(out, VIEW_TEXT, "%s", *(const bool *)value ? "on" : "off");
        break;
    case VIEW_KIND_WORD:
        (void)snprintf(out, VIEW_TEXT, "%s",
                       *(const int *)value < 0 ? field->special : field->word(*(const int *)value));
        break;
    }
}
