/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include "models/model_file.h"

#include "kernels/kern_rng.h"
#include "kernels/kern_size.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FILE_BUFFER = 1 << 16,   /* bytes gathered before a write */
    FILE_FIRST_READ = 4096,  /* first block for a file that does not tell its size */
    FILE_NAME_ATTEMPTS = 100 /* temporary names tried before giving up */
};

struct model_file_writer {
    char *path;      /* final name, links resolved; owned */
    char *temporary; /* name being written, owned; NULL when `path` itself is a device or pipe */
    int fd;          /* −1 when closed */
    size_t used;     /* bytes waiting in `buffer` */
    unsigned char buffer[FILE_BUFFER];
};

/* The sentence for a refused system call; `deed` completes "cannot ...". */
static kern_status raise_errno(kern_error *err, const char *deed, const char *path, int code)
{
    const bool missing = code == ENOENT;
    return kern_raise(err, missing ? KERN_NOT_FOUND : KERN_IO, "cannot %s '%s': %s", deed, path,
                      strerror(code));
}

static kern_status raise_no_memory(kern_error *err, const char *path)
{
    return kern_raise(err, KERN_NO_MEMORY, "not enough memory to handle the file '%s'", path);
}

static kern_status raise_too_large(kern_error *err, const char *path, size_t limit)
{
    return kern_raise(err, KERN_BAD_INPUT,
                      "'%s' is larger than %zu bytes, the most that is accepted here", path, limit);
}

/* ---- Reading ---------------------------------------------------------------------------- */

/* Reads up to `room` bytes, or to the end of the file. */
static kern_status read_up_to(int fd, const char *path, char *out, size_t room, size_t *got,
                              kern_error *err)
{
    *got = 0;
    while (*got < room) {
        const ssize_t n = read(fd, out + *got, room - *got);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return raise_errno(err, "read", path, errno);
        }
        if (n == 0) {
            break;
        }
        *got += (size_t)n;
    }
    return KERN_OK;
}

/* Reads to the end, at most `limit` + 1 bytes so that an excess shows. The block has room for one
 * byte more. */
static kern_status read_growing(int fd, const char *path, size_t limit, size_t expected,
                                char **data, size_t *size, kern_error *err)
{
    size_t capacity = kern_size_min(expected, limit) + 1;
    *size = 0;
    for (;;) {
        char *grown = realloc(*data, capacity + 1);
        if (grown == NULL) {
            return raise_no_memory(err, path);
        }
        *data = grown;
        size_t got;
        KERN_TRY(read_up_to(fd, path, *data + *size, capacity - *size, &got, err));
        *size += got;
        if (*size < capacity) {
            return KERN_OK;
        }
        if (*size > limit) {
            return raise_too_large(err, path, limit);
        }
        capacity = capacity > limit / 2 ? limit + 1 : capacity * 2;
    }
}

/* Opens the file and guesses how much it holds; one that tells its size is judged by it. */
static kern_status open_to_read(const char *path, size_t limit, int *fd, size_t *expected,
                                kern_error *err)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0) {
        return errno == ENOENT ? kern_raise(err, KERN_NOT_FOUND, "'%s' does not exist", path)
                               : raise_errno(err, "open", path, errno);
    }
    struct stat info;
    if (fstat(*fd, &info) != 0) {
        return raise_errno(err, "inspect", path, errno);
    }
    if (S_ISDIR(info.st_mode)) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s' is a folder where a file is expected", path);
    }
    /* Many devices never end, and none is a place where a user keeps a text. */
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) {
        return kern_raise(err, KERN_BAD_INPUT, "'%s' is a device; a file or a pipe is accepted",
                          path);
    }
    const bool sized = S_ISREG(info.st_mode) && info.st_size > 0;
    if (sized && (uintmax_t)info.st_size > limit) {
        return raise_too_large(err, path, limit);
    }
    *expected = sized ? (size_t)info.st_size : FILE_FIRST_READ;
    return KERN_OK;
}

kern_status model_file_read(const char *path, size_t limit, char **data, size_t *size,
                            kern_error *err)
{
    int fd = -1;
    size_t expected = 0;
    *data = NULL;
    *size = 0;
    if (limit > SIZE_MAX / 4) {
        limit = SIZE_MAX / 4; /* keeps every sum below within size_t */
    }
    kern_status status = open_to_read(path, limit, &fd, &expected, err);
    if (status == KERN_OK) {
        status = read_growing(fd, path, limit, expected, data, size, err);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (status != KERN_OK) {
        free(*data);
        *data = NULL;
        *size = 0;
        return status;
    }
    (*data)[*size] = '\0';
    return KERN_OK;
}

/* ---- Writing ---------------------------------------------------------------------------- */

/* Number of bytes of `path` up to and with its last slash; 0 when it has none. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static kern_status check_names_file(const char *path, kern_error *err)
{
    const size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "'%s' does not name a file; a path ending in a file name is accepted",
                          path);
    }
    return KERN_OK;
}

/* For a path that could not be resolved. Renaming onto a link to nothing would replace the link. */
static kern_status refuse_broken_link(const char *path, kern_error *err)
{
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "'%s' is a symbolic link to nothing; one to a file is accepted", path);
    }
    return KERN_OK;
}

/* The folder of `path`, in a new block; NULL without memory. */
static char *copy_folder(const char *path)
{
    const size_t length = folder_length(path);
    return length == 0 ? strdup(".") : strndup(path, length);
}

kern_status model_file_resolve(const char *path, char **resolved, kern_error *err)
{
    *resolved = NULL;
    KERN_TRY(check_names_file(path, err));
    *resolved = realpath(path, NULL);
    if (*resolved != NULL) {
        return KERN_OK;
    }
    KERN_TRY(refuse_broken_link(path, err));
    char *folder = copy_folder(path);
    char *place = folder != NULL ? realpath(folder, NULL) : NULL;
    const int code = folder != NULL ? errno : ENOMEM;
    free(folder);
    if (place == NULL) {
        return code == ENOMEM ? raise_no_memory(err, path) : raise_errno(err, "write", path, code);
    }
    const char *name = path + folder_length(path);
    const char *between = strcmp(place, "/") == 0 ? "" : "/";
    const size_t room = strlen(place) + strlen(name) + 2;
    *resolved = malloc(room);
    if (*resolved != NULL) {
        (void)snprintf(*resolved, room, "%s%s%s", place, between, name);
    }
    free(place);
    return *resolved != NULL ? KERN_OK : raise_no_memory(err, path);
}

static kern_status raise_is_folder(kern_error *err, const char *path)
{
    return kern_raise(err, KERN_INVALID_ARGUMENT, "'%s' is a folder where a file is to be written",
                      path);
}

kern_status model_file_check_target(const char *path, kern_error *err)
{
    char *target = NULL;
    struct stat info;
    KERN_TRY(model_file_resolve(path, &target, err));
    const bool exists = stat(target, &info) == 0;
    kern_status status = KERN_OK;
    /* A regular file is replaced, which is the folder's business; others are written to. */
    if (!exists || S_ISREG(info.st_mode)) {
        target[kern_size_max(folder_length(target), 2) - 1] = '\0';
    }
    if (exists && S_ISDIR(info.st_mode)) {
        status = raise_is_folder(err, path);
    } else if (faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0) {
        status = raise_errno(err, "write", path, errno);
    }
    free(target);
    return status;
}

/* A number that differs between processes and between calls, for temporary names. */
static uint64_t unique_number(size_t attempt)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t process = kern_rng_hash((uint64_t)getpid(), attempt);
    return kern_rng_hash(process ^ (uint64_t)now.tv_sec, (uint64_t)now.tv_nsec);
}

/* Creates a new file beside the final one. Its name does not contain the final name, which may
 * already be as long as the file system allows. */
static kern_status open_temporary(model_file_writer *writer, kern_error *err)
{
    const size_t folder = folder_length(writer->path);
    const size_t room = folder + sizeof ".basin-0123456789abcdef";
    writer->temporary = malloc(room);
    if (writer->temporary == NULL) {
        return raise_no_memory(err, writer->path);
    }
    memcpy(writer->temporary, writer->path, folder);
    int code = EEXIST;
    for (size_t i = 0; i < FILE_NAME_ATTEMPTS && code == EEXIST; i++) {
        (void)snprintf(writer->temporary + folder, room - folder, ".basin-%016llx",
                       (unsigned long long)unique_number(i));
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0) {
            return KERN_OK;
        }
        code = errno;
    }
    free(writer->temporary);
    writer->temporary = NULL;
    return raise_errno(err, "write", writer->path, code);
}

static kern_status open_to_write(model_file_writer *writer, kern_error *err)
{
    struct stat info;
    const bool exists = stat(writer->path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        return raise_is_folder(err, writer->path);
    }
    if (exists && !S_ISREG(info.st_mode)) {
        writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
        return writer->fd >= 0 ? KERN_OK : raise_errno(err, "write", writer->path, errno);
    }
    KERN_TRY(open_temporary(writer, err));
    if (exists) {
        (void)fchmod(writer->fd, info.st_mode & 0777); /* a courtesy that may be refused */
    }
    return KERN_OK;
}

kern_status model_file_writer_begin(model_file_writer **writer, const char *path, kern_error *err)
{
    *writer = NULL;
    KERN_TRY(check_names_file(path, err));
    model_file_writer *w = malloc(sizeof *w);
    if (w == NULL) {
        return raise_no_memory(err, path);
    }
    w->temporary = NULL;
    w->fd = -1;
    w->used = 0;
    w->path = realpath(path, NULL);
    kern_status status = KERN_OK;
    if (w->path == NULL) {
        status = refuse_broken_link(path, err);
        w->path = strdup(path); /* nothing there yet, or nothing that could be resolved */
    }
    if (status == KERN_OK) {
        status = w->path == NULL ? raise_no_memory(err, path) : open_to_write(w, err);
    }
    if (status != KERN_OK) {
        model_file_writer_abort(&w);
        return status;
    }
    *writer = w;
    return KERN_OK;
}

static kern_status write_all(const model_file_writer *writer, const unsigned char *data,
                             size_t size, kern_error *err)
{
    while (size > 0) {
        const ssize_t n = write(writer->fd, data, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return raise_errno(err, "write", writer->path, n < 0 ? errno : ENOSPC);
        }
        data += n;
        size -= (size_t)n;
    }
    return KERN_OK;
}

static kern_status flush_buffer(model_file_writer *writer, kern_error *err)
{
    const size_t used = writer->used;
    writer->used = 0;
    return write_all(writer, writer->buffer, used, err);
}

kern_status model_file_writer_append(model_file_writer *writer, const void *data, size_t size,
                                     kern_error *err)
{
    if (size == 0) {
        return KERN_OK;
    }
    if (size > FILE_BUFFER - writer->used) {
        KERN_TRY(flush_buffer(writer, err));
    }
    if (size >= FILE_BUFFER) {
        return write_all(writer, data, size, err);
    }
    memcpy(writer->buffer + writer->used, data, size);
    writer->used += size;
    return KERN_OK;
}

/* True when forcing to the disk failed for a reason that matters; pipes, some devices and some
 * network folders do not support it. */
static bool sync_failed(int fd)
{
    return fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS;
}

/* Forces the folder's entry to the disk, without which a power cut may undo the rename. */
static kern_status sync_folder(const char *path, kern_error *err)
{
    char *folder = copy_folder(path);
    if (folder == NULL) {
        return raise_no_memory(err, path);
    }
    kern_status status = KERN_OK;
    const int fd = open(folder, O_RDONLY | O_CLOEXEC);
    /* A folder may be writable without being readable; then there is nothing to open. */
    if (fd >= 0) {
        status = sync_failed(fd) ? raise_errno(err, "force to the disk the folder of", path, errno)
                                 : KERN_OK;
        (void)close(fd);
    }
    free(folder);
    return status;
}

static kern_status finish(model_file_writer *writer, kern_error *err)
{
    KERN_TRY(flush_buffer(writer, err));
    if (sync_failed(writer->fd)) {
        return raise_errno(err, "force to the disk", writer->path, errno);
    }
    const int fd = writer->fd;
    writer->fd = -1;
    if (close(fd) != 0) {
        return raise_errno(err, "write", writer->path, errno);
    }
    if (writer->temporary == NULL) {
        return KERN_OK;
    }
    if (rename(writer->temporary, writer->path) != 0) {
        return raise_errno(err, "replace", writer->path, errno);
    }
    free(writer->temporary);
    writer->temporary = NULL;
    return sync_folder(writer->path, err);
}

kern_status model_file_writer_commit(model_file_writer **writer, kern_error *err)
{
    const kern_status status = finish(*writer, err);
    model_file_writer_abort(writer); /* after success only the handle is left to release */
    return status;
}

void model_file_writer_abort(model_file_writer **writer)
{
    model_file_writer *w = *writer;
    if (w == NULL) {
        return;
    }
    if (w->fd >= 0) {
        (void)close(w->fd);
    }
    if (w->temporary != NULL) {
        (void)unlink(w->temporary);
    }
    free(w->temporary);
    free(w->path);
    free(w);
    *writer = NULL;
}

kern_status model_file_write_atomic(const char *path, const model_file_chunk *chunks, size_t count,
                                    kern_error *err)
{
    model_file_writer *writer = NULL;
    kern_status status = model_file_writer_begin(&writer, path, err);
    for (size_t i = 0; i < count && status == KERN_OK; i++) {
        status = model_file_writer_append(writer, chunks[i].data, chunks[i].size, err);
    }
    if (status == KERN_OK) {
        status = model_file_writer_commit(&writer, err);
    }
    model_file_writer_abort(&writer);
    return status;
}

/* ---- Folders ---------------------------------------------------------------------------- */

static kern_status make_one_folder(const char *path, kern_error *err)
{
    if (mkdir(path, 0777) == 0) {
        return KERN_OK;
    }
    /* Some systems answer EROFS or EACCES before EEXIST, so what counts is what stands there. */
    const int code = errno;
    struct stat info;
    if (stat(path, &info) != 0) {
        return raise_errno(err, "create the folder", path, code);
    }
    if (!S_ISDIR(info.st_mode)) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "'%s' is a file where a folder is to be created", path);
    }
    return KERN_OK;
}

kern_status model_file_make_folder(const char *path, kern_error *err)
{
    if (path[0] == '\0') {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "the name of the folder to create is empty; a path is accepted");
    }
    char *prefix = strdup(path);
    if (prefix == NULL) {
        return raise_no_memory(err, path);
    }
    kern_status status = KERN_OK;
    for (size_t i = 1; status == KERN_OK && path[i - 1] != '\0'; i++) {
        const bool ends = (path[i] == '/' || path[i] == '\0') && path[i - 1] != '/';
        if (ends) {
            prefix[i] = '\0';
            status = make_one_folder(prefix, err);
            prefix[i] = path[i];
        }
    }
    free(prefix);
    return status;
}
