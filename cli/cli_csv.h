/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables as comma-separated values, written atomically. Numbers have 17 digits, which read back as
 * the same bits.
 */
#ifndef BASIN_CLI_CSV_H
#define BASIN_CLI_CSV_H

#include "kernels/kern_status.h"

#include <stddef.h>

/* A table under construction; the first failure sticks and is returned by cli_csv_commit, so that
 * the code in between is linear. */
typedef struct cli_csv {
    struct model_file_writer *writer; /* owned; NULL after commit */
    kern_status status;
    kern_error *err; /* borrowed */
    size_t column;   /* of the next cell */
} cli_csv;

/* Starts file `path`. Errors of model_file_writer_begin. */
kern_status cli_csv_begin(cli_csv *csv, const char *path, kern_error *err);

/* Add a cell to the line; words hold neither commas nor quotes. */
void cli_csv_word(cli_csv *csv, const char *word);
void cli_csv_real(cli_csv *csv, double value);
void cli_csv_size(cli_csv *csv, size_t value);
/* A signal (cli_signal.h) ends the table with KERN_INTERRUPTED. */
void cli_csv_end_line(cli_csv *csv);

/* Puts the table in place, or, after a failure, leaves nothing. */
kern_status cli_csv_commit(cli_csv *csv);

#endif
