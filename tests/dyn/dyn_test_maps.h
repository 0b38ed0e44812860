/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Maps by name for tests, and comparison of numbers.
 */
#ifndef BASIN_DYN_TEST_MAPS_H
#define BASIN_DYN_TEST_MAPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dyn/dyn_classical.h"

#include <math.h>
#include <string.h>

enum { MAPS_ASSIGNMENTS = 8, MAPS_TEXT = 256 };

/* Fails unless |a − b| ≤ tolerance; NaN fails. */
#define MAPS_CLOSE(a, b, tolerance)                                                                \
    do {                                                                                           \
        const double maps_a_ = (a);                                                                \
        const double maps_b_ = (b);                                                                \
        if (!(fabs(maps_a_ - maps_b_) <= (tolerance))) {                                           \
            fail_msg("%s is %.17g and not %.17g", #a, maps_a_, maps_b_);                           \
        }                                                                                          \
    } while (0)

/* Runs a call that takes `maps_err` as its error and fails with the sentence unless it succeeds. */
#define MAPS_OK(call)                                                                              \
    do {                                                                                           \
        kern_error maps_error_ = {0};                                                              \
        kern_error *const maps_err = &maps_error_;                                                 \
        if ((call) != KERN_OK) {                                                                   \
            fail_msg("%s: %s", #call, maps_error_.text);                                           \
        }                                                                                          \
    } while (0)

/* Fails unless the error has this status and its sentence contains `part`. */
static inline void maps_error(const kern_error *err, kern_status status, const char *part)
{
    assert_int_equal(err->status, status);
    if (strstr(err->text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err->text, part);
    }
}

/* A built-in map; `assignments` are "name=value" separated by blanks. */
static inline dyn_map *maps_make(const char *name, const char *assignments)
{
    char text[MAPS_TEXT];
    dyn_assignment list[MAPS_ASSIGNMENTS];
    size_t n = 0;
    dyn_map *map = NULL;
    kern_error err = {0};
    assert_true(strlen(assignments) < sizeof text);
    memcpy(text, assignments, strlen(assignments) + 1);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(n < MAPS_ASSIGNMENTS);
        list[n++].text = word;
    }
    if (dyn_classical_create(&map, name, list, n, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return map;
}

#endif
