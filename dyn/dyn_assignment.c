/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dyn/dyn_assignment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads one number that ends at `end`. Text that strtod would take beyond decimal numbers (blanks,
 * hexadecimal, "inf", "nan") has been refused by the caller's check of characters. */
static kern_status read_number(const char *text, const char *end, double *value, kern_error *err)
{
    char *stop = NULL;
    *value = strtod(text, &stop);
    if (stop != end || stop == text || !isfinite(*value)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%.*s\" is not a finite decimal number; accepted are numbers such as "
                          "1.5 or -2e-3, separated by commas",
                          (int)(end - text < 64 ? end - text : 64), text);
    }
    return KERN_OK;
}

static size_t count_commas(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == ',' ? 1 : 0;
    }
    return n;
}

static kern_status fill(const char *text, double *values, size_t n, kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const size_t length = strcspn(text, ",");
        KERN_TRY(read_number(text, text + length, &values[i], err));
        text += length + 1;
    }
    return KERN_OK;
}

kern_status dyn_read_numbers(const char *text, double **values, size_t *n, kern_error *err)
{
    *values = NULL;
    *n = 0;
    if (text[strspn(text, "+-.,0123456789eE")] != '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%.64s\" is not a decimal number; accepted are numbers such as 1.5 or "
                          "-2e-3, separated by commas",
                          text);
    }
    const size_t count = count_commas(text) + 1;
    double *numbers = calloc(count, sizeof *numbers);
    if (numbers == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for %zu numbers", count);
    }
    const kern_status status = fill(text, numbers, count, err);
    if (status != KERN_OK) {
        free(numbers);
        return status;
    }
    *values = numbers;
    *n = count;
    return KERN_OK;
}

kern_status dyn_assigned_init(dyn_assigned *out, const dyn_assignment *assignment, kern_error *err)
{
    const char *text = assignment->text;
    const size_t length = strcspn(text, "=");
    *out = (dyn_assigned){.n = 0};
    if (length == 0 || length >= DYN_NAME_TEXT || text[length] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "\"%.64s\" gives no parameter a value; accepted is name=value", text);
    }
    kern_error why = {0};
    const kern_status status = dyn_read_numbers(text + length + 1, &out->values, &out->n, &why);
    if (status != KERN_OK) {
        return kern_raise(err, status, "parameter %.*s: %s", (int)length, text, why.text);
    }
    memcpy(out->name, text, length);
    return KERN_OK;
}

void dyn_assigned_fini(dyn_assigned *a)
{
    free(a->values);
    *a = (dyn_assigned){.n = 0};
}

kern_status dyn_assignment_apply(const dyn_assignment *assignment, dyn_map *map, kern_error *err)
{
    dyn_assigned a;
    KERN_TRY(dyn_assigned_init(&a, assignment, err));
    kern_status status = KERN_OK;
    if (a.n == 1) {
        status = dyn_map_set_param(map, a.name, a.values[0], err);
    } else {
        status = kern_raise(err, KERN_INVALID_ARGUMENT,
                            "parameter %s of map %s is given %zu values; accepted is one", a.name,
                            map->kind->name, a.n);
    }
    dyn_assigned_fini(&a);
    return status;
}
