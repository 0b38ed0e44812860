/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs the built program as a user would and keeps what it printed. Include after cmocka.h; define
 * _XOPEN_SOURCE 700 first. BASIN_PROGRAM is the program's path.
 */
#ifndef BASIN_CLI_TEST_PROGRAM_H
#define BASIN_CLI_TEST_PROGRAM_H

#include "tests/models/model_test_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { PROGRAM_ARGS = 48, PROGRAM_TEXT = 1 << 17 };

/* How the next program is run; reset by every run. */
static struct {
    size_t file_limit;       /* bytes a file may have; 0: no limit */
    const char *stdout_path; /* where standard output goes instead of a file of the folder */
} program_setup;

/* What the last program did. */
static int program_code; /* exit status, or 1000 + signal */
static char program_out[PROGRAM_TEXT];
static char program_err[PROGRAM_TEXT];

static inline void program_read(const char *name, char out[PROGRAM_TEXT])
{
    char path[TEST_PATH];
    FILE *file = fopen(test_path(path, name), "rb");
    size_t n = 0;
    if (file != NULL) {
        n = fread(out, 1, PROGRAM_TEXT - 1, file);
        (void)fclose(file);
    }
    out[n] = '\0';
}

static inline int program_open(const char *name, const char *instead)
{
    char path[TEST_PATH];
    const int file =
        open(instead != NULL ? instead : test_path(path, name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    return file;
}

/* The child's side: never returns. */
static inline void program_become(char *const *argv)
{
    const int out = program_open("stdout.txt", program_setup.stdout_path);
    const int err = program_open("stderr.txt", NULL);
    if (out < 0 || err < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) {
        _exit(99);
    }
    if (program_setup.file_limit > 0) {
        const struct rlimit limit = {program_setup.file_limit, program_setup.file_limit};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            _exit(99);
        }
    }
    (void)signal(SIGINT, SIG_DFL);
    (void)execv(BASIN_PROGRAM, argv);
    _exit(99);
}

static inline pid_t program_start(const char *first, va_list rest)
{
    static char words[PROGRAM_ARGS][TEST_PATH];
    char *argv[PROGRAM_ARGS + 2] = {words[0]};
    size_t n = 1;
    (void)snprintf(words[0], TEST_PATH, "basin");
    for (const char *word = first; word != NULL; word = va_arg(rest, const char *)) {
        assert_true(n < PROGRAM_ARGS);
        (void)snprintf(words[n], TEST_PATH, "%s", word);
        argv[n] = words[n];
        n++;
    }
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        program_become(argv);
    }
    return child;
}

static inline void program_finish(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    program_code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    program_read("stdout.txt", program_out);
    program_read("stderr.txt", program_err);
    program_setup.file_limit = 0;
    program_setup.stdout_path = NULL;
}

/* Starts the program with the words up to a NULL, and leaves it running. */
static inline pid_t program_launch(const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    const pid_t child = program_start(first, rest);
    va_end(rest);
    return child;
}

/* Runs the program to its end; `code` is the exit status it must have. */
static inline void program_expect(int code, const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    program_finish(program_start(first, rest));
    va_end(rest);
    if (program_code != code) {
        fail_msg("basin %s … exited with %d instead of %d and said: %s%s", first, program_code,
                 code, program_err, program_out);
    }
}

/* The last run complained in one line on standard error that contains `part`, and printed nothing.
 */
static inline void program_complained(const char *part)
{
    const char *end = strchr(program_err, '\n');
    if (strstr(program_err, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, program_err);
    }
    assert_string_equal(program_out, "");
    assert_non_null(end);
    assert_string_equal(end, "\n");
}

/* Path of `name` in the test's folder; up to four at a time. */
static inline const char *in(const char *name)
{
    static char paths[4][TEST_PATH];
    static size_t next;
    next = (next + 1) % 4;
    return test_path(paths[next], name);
}

/* True when both files can be read and have the same bytes. */
static inline bool same_files(const char *a, const char *b)
{
    char left[4096];
    char right[4096];
    FILE *one = fopen(a, "rb");
    FILE *two = fopen(b, "rb");
    bool same = one != NULL && two != NULL;
    size_t n = 1;
    while (same && n > 0) {
        n = fread(left, 1, sizeof left, one);
        same = fread(right, 1, sizeof right, two) == n && memcmp(left, right, n) == 0;
    }
    if (one != NULL) {
        (void)fclose(one);
    }
    if (two != NULL) {
        (void)fclose(two);
    }
    return same;
}

#endif
