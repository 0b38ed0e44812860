/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one JSON object that --json prints.
 *
 * A builder gathers members; the first failure sticks and is reported by cli_json_print, so that
 * the code in between is linear. Numbers have as many digits as it takes to read back the same
 * bits, 17 at most; NaN and infinity, which JSON cannot hold, become null.
 */
#ifndef BASIN_CLI_JSON_H
#define BASIN_CLI_JSON_H

#include "kernels/kern_status.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_json {
    cJSON *object; /* owned */
    bool failed;   /* memory was refused */
} cli_json;

/* Begins an object, which cli_json_print or cli_json_fini releases. */
void cli_json_init(cli_json *json);
void cli_json_fini(cli_json *json);

/* Adders to `parent`: an object made here, or, with a NULL key, an array. json->object is the
 * whole. */
void cli_json_real(cli_json *json, cJSON *parent, const char *key, double value);
void cli_json_size(cli_json *json, cJSON *parent, const char *key, size_t value);
void cli_json_bool(cli_json *json, cJSON *parent, const char *key, bool value);
void cli_json_text(cli_json *json, cJSON *parent, const char *key, const char *value);
void cli_json_null(cli_json *json, cJSON *parent, const char *key);

/* Array of n numbers; with NULL values, an empty one. */
cJSON *cli_json_reals(cli_json *json, cJSON *parent, const char *key, const double *values,
                      size_t n);

/* Members "re" and "im"; and an array of n such numbers. */
void cli_json_complex(cli_json *json, cJSON *parent, const char *key, double re, double im);
void cli_json_complexes(cli_json *json, cJSON *parent, const char *key, const double *re,
                        const double *im, size_t n);

/* Array of `count` eigenvectors of n complex numbers. Row j of `rows` is vector j where im_j is 0;
 * of a pair of conjugates, the one with im > 0 first, its rows hold real and imaginary parts. */
void cli_json_eigenvectors(cli_json *json, cJSON *parent, const char *key, const double *rows,
                           size_t n, const double *im, size_t count);

cJSON *cli_json_array(cli_json *json, cJSON *parent, const char *key);
cJSON *cli_json_child(cli_json *json, cJSON *parent, const char *key);

/* Adds a JSON text as a member. */
void cli_json_raw(cli_json *json, cJSON *parent, const char *key, const char *text);

/* Text of the object, which is released; the caller frees *text with free(). */
kern_status cli_json_take(cli_json *json, char **text, kern_error *err);

/* Prints the object and a line end on standard output and releases it. KERN_NO_MEMORY when a
 * member could not be added; failures of writing are found when the program ends. */
kern_status cli_json_print(cli_json *json, kern_error *err);

/* True for a status that says that the numbers went wrong, the exit status then being 1; the others
 * are about usage, input or the system. */
bool cli_json_is_outcome(kern_status status);

/* Prints the object, with "status" and the sentence as "message", of a call that found nothing to
 * report; returns `status`, so that the sentence goes to standard error as well. */
kern_status cli_json_print_failure(cli_json *json, kern_status status, const kern_error *why);

#endif
