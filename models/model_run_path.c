/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_run_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kern_status model_run_path(char **path, const char *folder, const char *name, kern_error *err)
{
    const size_t room = strlen(folder) + strlen(name) + 2;
    *path = malloc(room);
    if (*path == NULL) {
        return kern_raise(err, KERN_NO_MEMORY, "no memory for a name in '%s'", folder);
    }
    (void)snprintf(*path, room, "%s/%s", folder, name);
    return KERN_OK;
}
