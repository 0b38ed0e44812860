/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the tests of files: a folder of their own, small files in it, and the check that an
 * error is one sentence. Include after cmocka.h.
 */
#ifndef BASIN_MODEL_TEST_FOLDER_H
#define BASIN_MODEL_TEST_FOLDER_H

#include "kernels/kern_status.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEST_PATH = 512 };

static char test_folder[TEST_PATH];

/* Group setup: a new folder under $TMPDIR or /tmp, open to every user so that tests run by root
 * can lower their rights. */
static inline int test_folder_make(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(test_folder, sizeof test_folder, "%s/basin-test-XXXXXX",
                   base != NULL && strlen(base) < TEST_PATH / 2 ? base : "/tmp");
    return mkdtemp(test_folder) != NULL && chmod(test_folder, 0777) == 0 ? 0 : -1;
}

static inline void test_remove_tree(const char *path)
{
    struct stat info;
    const bool folder = lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
    DIR *items = folder && chmod(path, 0700) == 0 ? opendir(path) : NULL;
    const struct dirent *item = items != NULL ? readdir(items) : NULL;
    while (item != NULL) {
        char child[2 * TEST_PATH];
        const int length = snprintf(child, sizeof child, "%s/%s", path, item->d_name);
        if (length > 0 && (size_t)length < sizeof child && strcmp(item->d_name, ".") != 0 &&
            strcmp(item->d_name, "..") != 0) {
            test_remove_tree(child);
        }
        item = readdir(items);
    }
    if (items != NULL) {
        (void)closedir(items);
    }
    (void)remove(path);
}

static inline int test_folder_remove(void **state)
{
    (void)state;
    test_remove_tree(test_folder);
    return 0;
}

/* Path of `name` in the folder. */
static inline const char *test_path(char out[TEST_PATH], const char *name)
{
    (void)snprintf(out, TEST_PATH, "%.250s/%.250s", test_folder, name);
    return out;
}

static inline void test_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Number of entries of a folder. */
static inline size_t test_count_entries(const char *path)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    size_t count = 0;
    for (const struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        count += strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0;
    }
    (void)closedir(folder);
    return count;
}

/* The error carries `status` and one sentence that contains `part`. */
static inline void test_error(const kern_error *err, kern_status status, const char *part)
{
    if (strstr(err->text, part) == NULL) {
        fail_msg("'%s' is not in: %s", part, err->text);
    }
    assert_int_equal(err->status, status);
    assert_null(strchr(err->text, '\n'));
    assert_true(err->text[0] != '\0' && err->text[strlen(err->text) - 1] != '.');
}

#endif
