/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_csv.h"

#include "cli/cli_signal.h"
#include "models/model_file.h"

#include <stdio.h>
#include <string.h>

enum { CELL_TEXT = 32 };

kern_status cli_csv_begin(cli_csv *csv, const char *path, kern_error *err)
{
    *csv = (cli_csv){.err = err};
    return model_file_writer_begin(&csv->writer, path, err);
}

static void append(cli_csv *csv, const char *text)
{
    if (csv->status == KERN_OK) {
        csv->status = model_file_writer_append(csv->writer, text, strlen(text), csv->err);
    }
}

void cli_csv_word(cli_csv *csv, const char *word)
{
    if (csv->column++ > 0) {
        append(csv, ",");
    }
    append(csv, word);
}

void cli_csv_real(cli_csv *csv, double value)
{
    char text[CELL_TEXT];
    (void)snprintf(text, sizeof text, "%.17g", value);
    cli_csv_word(csv, text);
}

void cli_csv_size(cli_csv *csv, size_t value)
{
    char text[CELL_TEXT];
    (void)snprintf(text, sizeof text, "%zu", value);
    cli_csv_word(csv, text);
}

void cli_csv_end_line(cli_csv *csv)
{
    append(csv, "\n");
    csv->column = 0;
    if (csv->status == KERN_OK) {
        csv->status = cli_signal_poll(csv->err);
    }
}

kern_status cli_csv_commit(cli_csv *csv)
{
    if (csv->status != KERN_OK) {
        model_file_writer_abort(&csv->writer);
        return csv->status;
    }
    return model_file_writer_commit(&csv->writer, csv->err);
}
