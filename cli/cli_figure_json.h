/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reading what --json prints, for figures. Every failure names the file and the key.
 */
#ifndef BASIN_CLI_FIGURE_JSON_H
#define BASIN_CLI_FIGURE_JSON_H

#include "kernels/kern_status.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Largest file accepted, bytes. */
enum { CLI_FIGURE_BYTES = 1 << 29 };

/* An opened file. Zero-initialise; release with cli_figure_close. */
typedef struct cli_figure_file {
    const char *path; /* borrowed */
    cJSON *json;      /* owned */
} cli_figure_file;

/* Reads and parses. KERN_NOT_FOUND, KERN_BAD_INPUT when it is not one JSON object. */
kern_status cli_figure_open(cli_figure_file *file, const char *path, kern_error *err);
void cli_figure_close(cli_figure_file *file);

/* True when the object has `key`. */
bool cli_figure_has(const cli_figure_file *file, const char *key);

/* The array `key` of an object of the file (NULL: the whole), with at least `least` items.
 * KERN_BAD_INPUT, with `source` as the command that writes it, otherwise. */
kern_status cli_figure_array(const cJSON **out, const cli_figure_file *file, const cJSON *object,
                             const char *key, size_t least, const char *source, kern_error *err);

/* Number of an object, NaN when it is missing or not a number (JSON has no NaN: null). */
double cli_figure_real(const cJSON *object, const char *key);

/* Whole number of an object, 0 when it is missing, negative or not one. */
size_t cli_figure_size(const cJSON *object, const char *key);

/* Text of an object, "" when it is missing. */
const char *cli_figure_text(const cJSON *object, const char *key);
bool cli_figure_true(const cJSON *object, const char *key);

/* Items of an array; 0 for what is none. */
size_t cli_figure_length(const cJSON *array);

/* Item `index` of an array of numbers; NaN as above. */
double cli_figure_at(const cJSON *array, size_t index);

/* Number `index` of the array `key` of every item of `list`, one after another; *out has a value
 * for each item and is released with free(). */
kern_status cli_figure_column(double **out, const cJSON *list, const char *key, size_t index,
                              kern_error *err);

/* Number `key` of every item of `list`, as above. */
kern_status cli_figure_reals(double **out, const cJSON *list, const char *key, kern_error *err);

/* Truth of `key` of every item of `list`, as above. */
kern_status cli_figure_bools(bool **out, const cJSON *list, const char *key, kern_error *err);

/* Zeroed block; KERN_NO_MEMORY. A count of 0 gives a block of one. */
kern_status cli_figure_room(void **out, size_t count, size_t size, kern_error *err);

#endif
