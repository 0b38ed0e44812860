/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_files.h"

#include "models/model_file.h"

#include <stdlib.h>
#include <string.h>

static bool ends_in(const char *path, const char *ending)
{
    const size_t length = path != NULL ? strlen(path) : 0;
    return length > strlen(ending) && strcmp(path + length - strlen(ending), ending) == 0;
}

static bool names_table(const char *path)
{
    return ends_in(path, ".csv");
}

const char *cli_files_table(const cli_files *files)
{
    return files->csv != NULL ? files->csv : names_table(files->out) ? files->out : NULL;
}

const char *cli_files_hdf5(const cli_files *files)
{
    return names_table(files->out) ? NULL : files->out;
}

kern_status cli_files_check_distinct(const char *name_a, const char *path_a, const char *name_b,
                                     const char *path_b, kern_error *err)
{
    char *a = NULL;
    char *b = NULL;
    kern_status status = model_file_resolve(path_a, &a, err);
    if (status == KERN_OK) {
        status = model_file_resolve(path_b, &b, err);
    }
    if (status == KERN_OK && strcmp(a, b) == 0) {
        status = kern_raise(err, KERN_INVALID_ARGUMENT,
                            "--%s \"%s\" and --%s \"%s\" name the same file; two different files "
                            "are accepted",
                            name_a, path_a, name_b, path_b);
    }
    free(b);
    free(a);
    return status;
}

/* The name tells the form. Devices and pipes have no ending; they are refused as HDF5 later. */
static kern_status check_ending(const char *path, kern_error *err)
{
    if (ends_in(path, ".csv") || ends_in(path, ".h5") || ends_in(path, ".hdf5")) {
        return KERN_OK;
    }
    return kern_raise(err, KERN_INVALID_ARGUMENT,
                      "--out is \"%s\"; accepted are names that end in .h5, .hdf5 or .csv", path);
}

kern_status cli_files_check(const cli_files *files, kern_error *err)
{
    if (files->out != NULL) {
        KERN_TRY(check_ending(files->out, err));
    }
    if (files->csv != NULL && names_table(files->out)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--out and --csv both name a table, %s and %s; accepted is one",
                          files->out, files->csv);
    }
    if (cli_files_table(files) != NULL) {
        KERN_TRY(model_file_check_target(cli_files_table(files), err));
    }
    if (cli_files_hdf5(files) == NULL) {
        return KERN_OK;
    }
    KERN_TRY(model_hdf5_check_path(files->out, err));
    return files->csv == NULL ? KERN_OK
                              : cli_files_check_distinct("out", files->out, "csv", files->csv, err);
}

static kern_status put_map(model_hdf5_writer *writer, const dyn_map *map, kern_error *err)
{
    KERN_TRY(model_hdf5_put_attr_string(writer, "/", "map", map->kind->name, err));
    KERN_TRY(model_hdf5_put_group(writer, "params", err));
    for (size_t i = 0; i < map->n_params; i++) {
        KERN_TRY(model_hdf5_put_attr_doubles(writer, "params", map->param_info[i].name,
                                             &map->params[i], 1, err));
    }
    return KERN_OK;
}

static kern_status fill(model_hdf5_writer *writer, cli_files_put *put, const void *job,
                        const dyn_map *map, const char *recipe, kern_error *err)
{
    KERN_TRY(put(writer, job, err));
    KERN_TRY(put_map(writer, map, err));
    KERN_TRY(model_hdf5_put_attr_string(writer, "/", "recipe", recipe, err));
    return model_hdf5_writer_commit(writer, err);
}

kern_status cli_files_write(const char *path, cli_files_put *put, const void *job,
                            const dyn_map *map, cli_json *recipe, kern_error *err)
{
    model_hdf5_writer *writer = NULL;
    char *text = NULL;
    KERN_TRY(cli_json_take(recipe, &text, err));
    kern_status status = model_hdf5_writer_create(&writer, path, err);
    if (status == KERN_OK) {
        status = fill(writer, put, job, map, text, err);
    }
    model_hdf5_writer_destroy(writer);
    free(text);
    return status;
}

kern_status cli_files_report(const cli_report *report, const cli_files *files, const dyn_map *map,
                             bool as_json, const void *job, kern_error *err)
{
    const char *table = cli_files_table(files);
    const char *hdf5 = cli_files_hdf5(files);
    cli_json recipe;
    if (table != NULL) {
        KERN_TRY(report->write_csv(job, table, err));
    }
    if (hdf5 != NULL) {
        cli_json_init(&recipe);
        cli_json_text(&recipe, recipe.object, "command", report->command);
        report->describe(&recipe, job);
        KERN_TRY(cli_files_write(hdf5, report->put, job, map, &recipe, err));
    }
    if (as_json) {
        return report->print_json(job, err);
    }
    report->print_text(job);
    return KERN_OK;
}
