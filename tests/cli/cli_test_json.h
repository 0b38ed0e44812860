/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the built program printed as JSON, and how tests read it: whatever is missing, or of another
 * type, fails the test with the whole output. Include after cmocka.h; define _XOPEN_SOURCE 700
 * first.
 */
#ifndef BASIN_CLI_TEST_JSON_H
#define BASIN_CLI_TEST_JSON_H

#include "models/model_json.h"
#include "tests/cli/cli_test_program.h"

#include <math.h>

/* Standard output of the last run as one JSON object; released with cJSON_Delete. */
static inline cJSON *program_json(void)
{
    kern_error err = {0};
    cJSON *object = NULL;
    if (model_json_parse("standard output", program_out, strlen(program_out), PROGRAM_TEXT, &object,
                         &err) != KERN_OK) {
        fail_msg("%s: %s", err.text, program_out);
    }
    return object;
}

/* What is under a key of an object. */
static inline const cJSON *member(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL) {
        fail_msg("%s is missing in %s", key, program_out);
    }
    return item;
}

/* Entries of the array under a key. */
static inline int count(const cJSON *object, const char *key)
{
    const cJSON *item = member(object, key);
    assert_true(cJSON_IsArray(item));
    return cJSON_GetArraySize(item);
}

/* Entry `index` of the array under a key. */
static inline const cJSON *entry(const cJSON *object, const char *key, int index)
{
    const cJSON *item = cJSON_GetArrayItem(member(object, key), index);
    if (item == NULL) {
        fail_msg("%s has no entry %d in %s", key, index, program_out);
    }
    return item;
}

static inline double number_of(const cJSON *item, const char *key)
{
    if (!cJSON_IsNumber(item)) {
        fail_msg("%s is not a number in %s", key, program_out);
    }
    return item->valuedouble;
}

/* The number under a key. */
static inline double number(const cJSON *object, const char *key)
{
    return number_of(member(object, key), key);
}

/* Number `index` of the array under a key. */
static inline double number_at(const cJSON *object, const char *key, int index)
{
    return number_of(entry(object, key, index), key);
}

/* The text under a key is `word`. */
static inline void assert_word(const cJSON *object, const char *key, const char *word)
{
    const cJSON *item = member(object, key);
    if (!cJSON_IsString(item)) {
        fail_msg("%s is not a text in %s", key, program_out);
    }
    assert_string_equal(item->valuestring, word);
}

/* Fails unless |value − expected| ≤ tolerance; NaN fails. */
static inline void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.17g is not %.17g within %g", value, expected, tolerance);
    }
}

#endif
