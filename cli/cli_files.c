/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli_files.h"

#include "models/model_file.h"

#include <stdlib.h>
#include <string.h>

static bool names_table(const char *path)
{
    static const char ending[] = ".csv";
    const size_t length = path != NULL ? strlen(path) : 0;
    return length >= sizeof ending && strcmp(path + length - strlen(ending), ending) == 0;
}

const char *cli_files_table(const cli_files *files)
{
    return files->csv != NULL ? files->csv : names_table(files->out) ? files->out : NULL;
}

const char *cli_files_hdf5(const cli_files *files)
{
    return names_table(files->out) ? NULL : files->out;
}

kern_status cli_files_check(const cli_files *files, kern_error *err)
{
    if (files->csv != NULL && names_table(files->out)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "--out and --csv both name a table, %s and %s; accepted is one",
                          files->out, files->csv);
    }
    if (cli_files_table(files) != NULL) {
        KERN_TRY(model_file_check_target(cli_files_table(files), err));
    }
    return cli_files_hdf5(files) != NULL ? model_hdf5_check_path(cli_files_hdf5(files), err)
                                         : KERN_OK;
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
