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
cJSON *cli_json_array(cli_json *json, cJSON *parent, const char *key);
cJSON *cli_json_child(cli_json *json, cJSON *parent, const char *key);

/* Adds a JSON text as a member. */
void cli_json_raw(cli_json *json, cJSON *parent, const char *key, const char *text);

/* Text of the object, which is released; the caller frees *text with free(). */
kern_status cli_json_take(cli_json *json, char **text, kern_error *err);

/* Prints the object and a line end on standard output and releases it. KERN_NO_MEMORY when a
 * member could not be added; failures of writing are found when the program ends. */
kern_status cli_json_print(cli_json *json, kern_error *err);

#endif
