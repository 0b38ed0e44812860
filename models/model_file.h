/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files: reading a whole one under a size limit, replacing one atomically, making folders.
 *
 * A result appears under its final name complete or not at all. The writer fills a temporary
 * file in the same folder, forces it to the disk, renames it and forces the folder; every
 * failure on the way removes the temporary file and leaves what stood under the name before.
 */
#ifndef BASIN_MODEL_FILE_H
#define BASIN_MODEL_FILE_H

#include "kernels/kern_status.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads the whole file into a new block that the caller frees with free(). A NUL byte follows the
 * `*size` bytes, so a text may be used as a string. Pipes are read to their end.
 * KERN_NOT_FOUND when the file does not exist, KERN_BAD_INPUT for a folder, a character or block
 * device (many never end) or a file of more than `limit` bytes, KERN_IO when the system refuses,
 * KERN_NO_MEMORY. On failure *data is NULL. */
kern_status model_file_read(const char *path, size_t limit, char **data, size_t *size,
                            kern_error *err);

/* Absolute name of the file that a writer of `path` would replace, with links resolved, so that two
 * paths to one file give the same text; the file need not exist, its folder must. The caller frees
 * *resolved with free(). KERN_INVALID_ARGUMENT when `path` does not name a file or is a symbolic
 * link to nothing, KERN_NOT_FOUND when its folder does not exist, KERN_IO, KERN_NO_MEMORY. */
kern_status model_file_resolve(const char *path, char **resolved, kern_error *err);

/* Tells before long work whether `path` could be written: the errors of model_file_resolve,
 * KERN_INVALID_ARGUMENT for a folder, KERN_IO when the user may not write there. Writes nothing. */
kern_status model_file_check_target(const char *path, kern_error *err);

/* A file under construction. Small appends are gathered, large ones go to the system directly. */
typedef struct model_file_writer model_file_writer;

/* Starts the replacement of `path`. A symbolic link is followed, so its target is replaced; the
 * permissions of an existing file are kept. A device or pipe, which has no content to protect, is
 * written directly. KERN_INVALID_ARGUMENT for a folder and for a link to nothing, KERN_NOT_FOUND
 * when the folder of `path` does not exist, KERN_IO when it cannot be written, KERN_NO_MEMORY. */
kern_status model_file_writer_begin(model_file_writer **writer, const char *path, kern_error *err);

/* Adds `size` bytes at the end. KERN_IO when the disk is full or a limit is reached; the writer
 * can then only be aborted. */
kern_status model_file_writer_append(model_file_writer *writer, const void *data, size_t size,
                                     kern_error *err);

/* Makes the content durable and visible under its name. Whatever the outcome the writer is gone
 * and *writer is NULL; on failure the old content, or its absence, remains. (Should only the last
 * act fail, forcing the folder to the disk, the new content is visible and KERN_IO reports that
 * it might not survive a power cut.) */
kern_status model_file_writer_commit(model_file_writer **writer, kern_error *err);

/* Gives up: removes the temporary file and sets *writer to NULL. Does nothing when *writer is NULL
 * already, so a clean-up path calls it after success as well. */
void model_file_writer_abort(model_file_writer **writer);

typedef struct model_file_chunk {
    const void *data; /* borrowed; may be NULL when size is 0 */
    size_t size;      /* bytes */
} model_file_chunk;

/* Replaces `path` by the `count` chunks one after another; begin, append and commit in one. */
kern_status model_file_write_atomic(const char *path, const model_file_chunk *chunks, size_t count,
                                    kern_error *err);

/* Creates the folder and every missing folder above it; content with one that exists.
 * KERN_INVALID_ARGUMENT when a component exists and is no folder, KERN_IO when refused. */
kern_status model_file_make_folder(const char *path, kern_error *err);

#endif
