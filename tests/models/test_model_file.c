/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _DEFAULT_SOURCE /* mknod of devices */
#define _XOPEN_SOURCE   700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_file.h"
#include "tests/models/model_test_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { LIMIT = 1 << 20, NOBODY = 65534 };

/* Content that differs at every offset within a page and between pages. */
static unsigned char *make_content(size_t size)
{
    unsigned char *content = malloc(size + 1);
    assert_non_null(content);
    for (size_t i = 0; i < size; i++) {
        content[i] = (unsigned char)(i * 31 + i / 251);
    }
    return content;
}

static void assert_holds(const char *path, const void *content, size_t size)
{
    char *data;
    size_t got;
    assert_int_equal(model_file_read(path, LIMIT, &data, &got, NULL), KERN_OK);
    assert_int_equal(got, size);
    assert_memory_equal(data, content, size);
    assert_int_equal(data[got], 0);
    free(data);
}

static void test_reads_every_size(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 7, 4095, 4096, 4097, 65536, 100003, LIMIT};
    char path[TEST_PATH];
    test_path(path, "sizes");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *content = make_content(sizes[i]);
        test_write(path, content, sizes[i]);
        assert_holds(path, content, sizes[i]);
        free(content);
    }
}

static void assert_refused(const char *path, size_t limit, kern_status status, const char *part)
{
    kern_error err = {KERN_OK, ""};
    size_t size = 77;
    char *data = test_folder;
    assert_int_equal(model_file_read(path, limit, &data, &size, &err), status);
    assert_null(data);
    assert_int_equal(size, 0);
    test_error(&err, status, part);
}

static void test_refuses_to_read(void **state)
{
    (void)state;
    char path[TEST_PATH];
    char child[TEST_PATH];
    test_path(path, "twelve");
    test_write(path, "twelve bytes", 12);
    assert_refused(path, 11, KERN_BAD_INPUT, "larger than 11 bytes");
    assert_refused("/dev/zero", SIZE_MAX, KERN_BAD_INPUT, "'/dev/zero' is a device");
    assert_refused("/dev/null", LIMIT, KERN_BAD_INPUT, "'/dev/null' is a device");
    assert_refused(test_folder, LIMIT, KERN_BAD_INPUT, "is a folder");
    assert_refused(test_path(child, "absent"), LIMIT, KERN_NOT_FOUND, "does not exist");
    assert_refused(test_path(child, "twelve/below"), LIMIT, KERN_IO, "cannot open");
    assert_holds(path, "twelve bytes", 12);
}

static void test_reads_a_pipe(void **state)
{
    (void)state;
    unsigned char *content = make_content(50021);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        size_t done = 0;
        while (done < 50021) {
            const ssize_t n =
                write(ends[1], content + done, 50021 - done < 997 ? 50021 - done : 997);
            if (n <= 0) {
                _exit(1);
            }
            done += (size_t)n;
        }
        _exit(0);
    }
    (void)close(ends[1]);
    char path[64];
    (void)snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    assert_holds(path, content, 50021);
    (void)close(ends[0]);
    int outcome;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    free(content);
}

/* Appends of every kind: empty, below, at and above the buffer's size. */
static void test_appends_and_commits(void **state)
{
    (void)state;
    const size_t steps[] = {0, 1, 65535, 1, 0, 65536, 65537, 3, 200001, 65533};
    size_t total = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        total += steps[i];
    }
    unsigned char *content = make_content(total);
    char folder[TEST_PATH];
    char path[TEST_PATH];
    assert_int_equal(mkdir(test_path(folder, "append"), 0777), 0);
    test_path(path, "append/out.bin");
    model_file_writer *writer;
    assert_int_equal(model_file_writer_begin(&writer, path, NULL), KERN_OK);
    size_t done = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        assert_int_equal(model_file_writer_append(writer, content + done, steps[i], NULL), KERN_OK);
        done += steps[i];
        assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_int_equal(model_file_writer_commit(&writer, NULL), KERN_OK);
    assert_null(writer);
    model_file_writer_abort(&writer);
    assert_holds(path, content, total);
    assert_int_equal(test_count_entries(folder), 1);
    free(content);
}

static void test_abort_leaves_the_old_file(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    assert_int_equal(mkdir(test_path(folder, "abort"), 0777), 0);
    test_path(path, "abort/out.txt");
    test_write(path, "old", 3);
    unsigned char *content = make_content(99991);
    model_file_writer *writer;
    assert_int_equal(model_file_writer_begin(&writer, path, NULL), KERN_OK);
    assert_int_equal(model_file_writer_append(writer, content, 99991, NULL), KERN_OK);
    assert_int_equal(test_count_entries(folder), 2);
    model_file_writer_abort(&writer);
    assert_null(writer);
    assert_int_equal(test_count_entries(folder), 1);
    assert_holds(path, "old", 3);
    free(content);
}

static void test_replaces_and_keeps_permissions(void **state)
{
    (void)state;
    char path[TEST_PATH];
    char link[TEST_PATH];
    test_path(path, "kept");
    test_write(path, "before", 6);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("kept", test_path(link, "link-to-kept")), 0);
    const model_file_chunk chunks[] = {{"one ", 4}, {NULL, 0}, {"two", 3}};
    assert_int_equal(model_file_write_atomic(link, chunks, 3, NULL), KERN_OK);
    assert_holds(path, "one two", 7);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

/* A final name as long as file systems allow leaves no room for a suffix. */
static void test_longest_name(void **state)
{
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    char path[2 * TEST_PATH];
    (void)snprintf(path, sizeof path, "%s/%s", test_folder, name);
    const model_file_chunk chunk = {"x", 1};
    assert_int_equal(model_file_write_atomic(path, &chunk, 1, NULL), KERN_OK);
    assert_holds(path, "x", 1);
}

static void test_writes_beside_the_caller(void **state)
{
    (void)state;
    char before[TEST_PATH];
    char path[TEST_PATH];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(test_folder), 0);
    const model_file_chunk chunk = {"bare name", 9};
    assert_int_equal(model_file_write_atomic("bare", &chunk, 1, NULL), KERN_OK);
    assert_int_equal(chdir(before), 0);
    assert_holds(test_path(path, "bare"), "bare name", 9);
}

static void assert_write_refused(const char *path, kern_status status, const char *part)
{
    kern_error err = {KERN_OK, ""};
    const model_file_chunk chunk = {"content", 7};
    assert_int_equal(model_file_write_atomic(path, &chunk, 1, &err), status);
    test_error(&err, status, part);
}

static void test_refuses_to_write(void **state)
{
    (void)state;
    char path[TEST_PATH];
    assert_write_refused(test_folder, KERN_INVALID_ARGUMENT, "is a folder");
    assert_write_refused("", KERN_INVALID_ARGUMENT, "does not name a file");
    assert_write_refused(test_path(path, "slash/"), KERN_INVALID_ARGUMENT, "does not name a file");
    assert_write_refused(test_path(path, "no/such/file"), KERN_NOT_FOUND, "cannot write");
    test_write(test_path(path, "plain"), "p", 1);
    assert_write_refused(test_path(path, "plain/below"), KERN_IO, "cannot write");
}

static void test_unwritable_folder(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    assert_int_equal(mkdir(test_path(folder, "locked"), 0777), 0);
    test_write(test_path(path, "locked/out"), "old", 3);
    assert_int_equal(chmod(folder, 0555), 0);
    const bool root = geteuid() == 0;
    if (root && seteuid(NOBODY) != 0) {
        skip();
    }
    kern_error err = {KERN_OK, ""};
    const model_file_chunk chunk = {"new", 3};
    const kern_status status = model_file_write_atomic(path, &chunk, 1, &err);
    kern_error made = {KERN_OK, ""};
    char below[TEST_PATH];
    const kern_status below_status = model_file_make_folder(test_path(below, "locked/new"), &made);
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_int_equal(status, KERN_IO);
    test_error(&err, KERN_IO, "cannot write");
    assert_int_equal(below_status, KERN_IO);
    test_error(&made, KERN_IO, "cannot create the folder");
    assert_int_equal(test_count_entries(folder), 1);
    assert_holds(path, "old", 3);
}

static void test_unreadable_file(void **state)
{
    (void)state;
    char path[TEST_PATH];
    test_write(test_path(path, "secret"), "s", 1);
    assert_int_equal(chmod(path, 0000), 0);
    const bool root = geteuid() == 0;
    if (root && seteuid(NOBODY) != 0) {
        skip();
    }
    kern_error err = {KERN_OK, ""};
    char *data;
    size_t size;
    const kern_status status = model_file_read(path, LIMIT, &data, &size, &err);
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_int_equal(status, KERN_IO);
    assert_null(data);
    test_error(&err, KERN_IO, "cannot open");
}

/* Copy of a device, for a fault of the code must not replace the system's own. */
static void make_device(const char *path, const char *original)
{
    struct stat info;
    if (stat(original, &info) != 0 || mknod(path, S_IFCHR | 0666, info.st_rdev) != 0 ||
        access(path, W_OK) != 0) {
        skip();
    }
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        skip(); /* the file system does not allow devices */
    }
    (void)close(fd);
}

/* A device that is always full is written directly and must not be replaced. */
static void test_full_device(void **state)
{
    (void)state;
    char full[TEST_PATH];
    char null[TEST_PATH];
    make_device(test_path(full, "full-device"), "/dev/full");
    make_device(test_path(null, "null-device"), "/dev/null");
    assert_write_refused(full, KERN_IO, "cannot write '");
    struct stat info;
    assert_int_equal(lstat(full, &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    const model_file_chunk chunk = {"content", 7};
    assert_int_equal(model_file_write_atomic(null, &chunk, 1, NULL), KERN_OK);
    assert_int_equal(lstat(null, &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void assert_no_target(const char *path, kern_status status, const char *part)
{
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_file_check_target(path, &err), status);
    test_error(&err, status, part);
}

static void test_checks_targets(void **state)
{
    (void)state;
    char path[TEST_PATH];
    char link[TEST_PATH];
    assert_int_equal(mkdir(test_path(path, "targets"), 0700), 0);
    assert_int_equal(model_file_check_target(test_path(path, "targets/new"), NULL), KERN_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(model_file_check_target("relative", NULL), KERN_OK);
    assert_int_equal(model_file_check_target("/basin-test-new", NULL),
                     geteuid() == 0 ? KERN_OK : KERN_IO);
    assert_no_target("", KERN_INVALID_ARGUMENT, "does not name a file");
    assert_no_target(test_path(path, "targets/"), KERN_INVALID_ARGUMENT, "does not name a file");
    assert_no_target(test_path(path, "targets"), KERN_INVALID_ARGUMENT, "is a folder");
    assert_no_target(test_path(path, "targets/no/f"), KERN_NOT_FOUND, "cannot write");
    assert_int_equal(symlink("nowhere", test_path(link, "targets/broken")), 0);
    assert_no_target(link, KERN_INVALID_ARGUMENT, "is a symbolic link to nothing");
    assert_write_refused(link, KERN_INVALID_ARGUMENT, "is a symbolic link to nothing");
    const bool root = geteuid() == 0;
    assert_int_equal(chmod(test_path(path, "targets"), 0555), 0);
    if (!root || seteuid(NOBODY) == 0) {
        kern_error err = {KERN_OK, ""};
        const kern_status status = model_file_check_target(test_path(link, "targets/new"), &err);
        assert_int_equal(root ? seteuid(0) : 0, 0);
        assert_int_equal(status, KERN_IO);
        test_error(&err, KERN_IO, "cannot write");
    }
    assert_int_equal(chmod(path, 0700), 0);
}

/* Every path to one file gives the same name, whether the file is there or not. */
static void test_resolves_to_one_name(void **state)
{
    (void)state;
    char path[TEST_PATH];
    char *first;
    assert_int_equal(mkdir(test_path(path, "names"), 0700), 0);
    assert_int_equal(symlink("names", test_path(path, "alias")), 0);
    for (size_t round = 0; round < 2; round++) {
        const char *const ways[] = {"./names/x", "alias/x", "names/../alias//x"};
        assert_int_equal(model_file_resolve(test_path(path, "names/x"), &first, NULL), KERN_OK);
        assert_int_equal(first[0], '/');
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            char *name;
            assert_int_equal(model_file_resolve(test_path(path, ways[i]), &name, NULL), KERN_OK);
            assert_string_equal(name, first);
            free(name);
        }
        free(first);
        test_write(test_path(path, "names/x"), "x", 1);
    }
    assert_int_equal(symlink("names/x", test_path(path, "direct")), 0);
    char *name;
    assert_int_equal(model_file_resolve(path, &name, NULL), KERN_OK);
    assert_non_null(strstr(name, "/names/x"));
    free(name);
}

/* A limit on file sizes stands in for a full disk: it stops a write at any chosen byte, whether
 * the bytes go through the buffer or past it. */
static void test_full_disk(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    assert_int_equal(mkdir(test_path(folder, "full"), 0777), 0);
    test_path(path, "full/out");
    test_write(path, "old", 3);
    unsigned char *content = make_content(150001);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const size_t limits[] = {0, 1, 65535, 65536, 65537, 150000};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const struct rlimit small = {limits[i], before.rlim_max};
        const model_file_chunk chunks[] = {{content, 70001}, {content + 70001, 80000}};
        kern_error err = {KERN_OK, ""};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const kern_status status = model_file_write_atomic(path, chunks, 2, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, KERN_IO);
        test_error(&err, KERN_IO, "cannot write");
        assert_holds(path, "old", 3);
        assert_int_equal(test_count_entries(folder), 1);
    }
    (void)signal(SIGXFSZ, handler);
    free(content);
}

static void test_makes_folders(void **state)
{
    (void)state;
    char path[TEST_PATH];
    struct stat info;
    const char *const names[] = {"a/b/c", "a/b/c", "a//d/", "./e/../f", "g"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(model_file_make_folder(test_path(path, names[i]), NULL), KERN_OK);
        assert_int_equal(stat(path, &info), 0);
        assert_true(S_ISDIR(info.st_mode));
    }
    assert_int_equal(model_file_make_folder("/", NULL), KERN_OK);
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_file_make_folder("", &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "empty");
    test_write(test_path(path, "a/file"), "f", 1);
    assert_int_equal(model_file_make_folder(path, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "a/file' is a file");
    test_path(path, "a/file/below");
    assert_int_equal(model_file_make_folder(path, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "a/file' is a file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_size),
        cmocka_unit_test(test_refuses_to_read),
        cmocka_unit_test(test_reads_a_pipe),
        cmocka_unit_test(test_appends_and_commits),
        cmocka_unit_test(test_abort_leaves_the_old_file),
        cmocka_unit_test(test_replaces_and_keeps_permissions),
        cmocka_unit_test(test_longest_name),
        cmocka_unit_test(test_writes_beside_the_caller),
        cmocka_unit_test(test_refuses_to_write),
        cmocka_unit_test(test_unwritable_folder),
        cmocka_unit_test(test_unreadable_file),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_checks_targets),
        cmocka_unit_test(test_resolves_to_one_name),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_makes_folders),
    };
    return cmocka_run_group_tests_name("model_file", tests, test_folder_make, test_folder_remove);
}
