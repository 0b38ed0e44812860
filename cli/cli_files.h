/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The result files of subcommands that write a table or HDF5, checked before long work.
 */
#ifndef BASIN_CLI_FILES_H
#define BASIN_CLI_FILES_H

#include "cli/cli_args.h"
#include "cli/cli_json.h"
#include "dyn/dyn_map.h"
#include "models/model_hdf5.h"

typedef struct cli_files {
    const char *csv; /* NULL: none is wanted */
    const char *out; /* HDF5, or, when the name ends in .csv, a table */
} cli_files;

/* Rows of a table of options whose settings `type` hold a cli_files `member`. */
#define CLI_OPTIONS_FILES(type, member, lines)                                                     \
    {.name = "out",                                                                                \
     .value = "F.h5|F.csv",                                                                        \
     .kind = CLI_TEXT,                                                                             \
     .offset = offsetof(type, member.out),                                                         \
     .help = "write the result as HDF5, or as a table when the name ends in .csv"},                \
    {                                                                                              \
        .name = "csv", .value = "F.csv", .kind = CLI_TEXT, .offset = offsetof(type, member.csv),   \
        .help = "write a table of comma-separated values: " lines                                  \
    }

/* Where the table goes, and where HDF5 goes: NULL when it is not wanted. */
const char *cli_files_table(const cli_files *files);
const char *cli_files_hdf5(const cli_files *files);

/* Refuses one file for the results of two options, also under two names, with
 * KERN_INVALID_ARGUMENT; names are those of the options, without dashes. Errors of
 * model_file_resolve. */
kern_status cli_files_check_distinct(const char *name_a, const char *path_a, const char *name_b,
                                     const char *path_b, kern_error *err);

/* Tells whether the files could be written, before the work whose results they take.
 * KERN_INVALID_ARGUMENT when --out ends in none of .h5, .hdf5 and .csv, when --out and --csv name
 * two tables, and when they name one file; errors of model_file_check_target and
 * model_hdf5_check_path. */
kern_status cli_files_check(const cli_files *files, kern_error *err);

/* Writes an HDF5 file, in place once it is complete: what `put` puts, the map's name and its
 * parameters as attributes "map" and, of the group /params, one each, and `recipe`, which is
 * released, as the attribute "recipe". */
typedef kern_status cli_files_put(model_hdf5_writer *writer, const void *job, kern_error *err);
kern_status cli_files_write(const char *path, cli_files_put *put, const void *job,
                            const dyn_map *map, cli_json *recipe, kern_error *err);

/* The forms that a result takes; each function gets `job`. */
typedef struct cli_report {
    const char *command;                               /* of the recipe: "basin orbit" */
    void (*describe)(cli_json *json, const void *job); /* the rest of the recipe */
    kern_status (*write_csv)(const void *job, const char *path, kern_error *err);
    cli_files_put *put;
    kern_status (*print_json)(const void *job, kern_error *err);
    void (*print_text)(const void *job);
} cli_report;

/* Writes the files that are wanted, then prints the result as JSON, or as text. */
kern_status cli_files_report(const cli_report *report, const cli_files *files, const dyn_map *map,
                             bool as_json, const void *job, kern_error *err);

#endif
