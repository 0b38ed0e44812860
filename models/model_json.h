/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * JSON: strict parsing on top of cJSON, typed getters that explain themselves, exact numbers.
 *
 * cJSON by itself takes text that is not JSON (control characters, 01, a string cut by \u0000,
 * anything behind the value). What passes model_json_parse is one object by RFC 8259, in UTF-8,
 * whose keys are distinct and printable, nested at most MODEL_JSON_DEPTH deep.
 *
 * Getters borrow from the object; each failure is one sentence that names the key, what it holds
 * and what is accepted: KERN_NOT_FOUND for a missing key, KERN_BAD_INPUT for the rest.
 */
#ifndef BASIN_MODEL_JSON_H
#define BASIN_MODEL_JSON_H

#include "kernels/kern_status.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_JSON_DEPTH = 64, /* deepest nesting accepted */
    MODEL_JSON_NUMBER = 32 /* room for a formatted number */
};

/* Largest whole number that a JSON number (a double) tells from both neighbours: 2^53 − 1, since
 * 2^53 is also what 2^53 + 1 becomes. */
#define MODEL_JSON_WHOLE_MAX (((size_t)1 << 53) - 1)

/* Parses the `size` bytes at `text` (no NUL needed) as one object. `what` names the text in
 * messages ("config.json"). KERN_BAD_INPUT when it is longer than `limit` bytes or is not as
 * described above; KERN_NO_MEMORY. The caller releases *object with cJSON_Delete. */
kern_status model_json_parse(const char *what, const char *text, size_t size, size_t limit,
                             cJSON **object, kern_error *err);

/* True when the object has the key. */
bool model_json_has(const cJSON *object, const char *key);

/* Whole number in low … high; high at most MODEL_JSON_WHOLE_MAX. */
kern_status model_json_get_size(const cJSON *object, const char *key, size_t low, size_t high,
                                size_t *out, kern_error *err);

/* Any 64-bit count: a whole number up to MODEL_JSON_WHOLE_MAX, or a string of decimal digits. */
kern_status model_json_get_u64(const cJSON *object, const char *key, uint64_t *out,
                               kern_error *err);

/* Number in low … high, both finite. */
kern_status model_json_get_real(const cJSON *object, const char *key, double low, double high,
                                double *out, kern_error *err);

kern_status model_json_get_bool(const cJSON *object, const char *key, bool *out, kern_error *err);

/* *out is borrowed from the object. */
kern_status model_json_get_string(const cJSON *object, const char *key, const char **out,
                                  kern_error *err);
kern_status model_json_get_object(const cJSON *object, const char *key, const cJSON **out,
                                  kern_error *err);

/* Array of at most `room` whole numbers, each in 0 … high, into out; *count is how many. */
kern_status model_json_get_sizes(const cJSON *object, const char *key, size_t high, size_t room,
                                 size_t *out, size_t *count, kern_error *err);

/* Writes the value with as many significant digits as it takes to read back the same bits: 15, 16
 * or 17. The decimal point is a point in every locale. False, with an empty text, for NaN and
 * infinity, which JSON cannot hold. */
bool model_json_format_real(char out[MODEL_JSON_NUMBER], double value);

/* Adders; the key must not be present. KERN_NO_MEMORY, and KERN_INVALID_ARGUMENT for a number that
 * is not finite or a string that is not UTF-8. add_u64 writes a string above
 * MODEL_JSON_WHOLE_MAX. */
kern_status model_json_add_size(cJSON *object, const char *key, size_t value, kern_error *err);
kern_status model_json_add_u64(cJSON *object, const char *key, uint64_t value, kern_error *err);
kern_status model_json_add_real(cJSON *object, const char *key, double value, kern_error *err);
kern_status model_json_add_bool(cJSON *object, const char *key, bool value, kern_error *err);
kern_status model_json_add_string(cJSON *object, const char *key, const char *value,
                                  kern_error *err);
kern_status model_json_add_sizes(cJSON *object, const char *key, const size_t *values, size_t count,
                                 kern_error *err);

/* The object as text, on several lines when `pretty`. The caller frees *text with free(). */
kern_status model_json_print(const cJSON *object, bool pretty, char **text, kern_error *err);

#endif
