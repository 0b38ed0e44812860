/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _DEFAULT_SOURCE /* mknod of devices */
#define _XOPEN_SOURCE   700

#include "models/model_hdf5.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATH_ROOM = 512 };

static char folder[PATH_ROOM];

static int make_folder(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%s/basin-hdf5-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL;
}

/* Removes every file and counts them. */
static size_t empty_folder(void)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char path[2 * PATH_ROOM];
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            assert_int_equal(remove(path), 0);
            n++;
        }
    }
    (void)closedir(dir);
    return n;
}

static int drop_folder(void **state)
{
    (void)state;
    (void)empty_folder();
    return rmdir(folder);
}

static const char *at(const char *name)
{
    static char path[2 * PATH_ROOM];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void ok(kern_status status, const kern_error *err)
{
    if (status != KERN_OK) {
        fail_msg("%s", err->text);
    }
}

static const double energies[12] = {-1.5,  3.25,   1e-300, -0.0, 7e9,  (double)NAN,
                                    0.125, -1e308, 2.5,    3.5,  -4.5, HUGE_VAL};
static const int64_t integers[3] = {-9007199254740993, 42, INT64_MAX};
static const bool flags[5] = {true, false, false, true, true};
static const uint8_t bytes[4] = {0, 7, 200, 255};
static const char *const words[4] = {"max_10", "", "na\xc3\xafve \xe2\x8f\x8e", "("};

/* Writes one file that uses every kind of object. */
static void write_sample(const char *path)
{
    kern_error err = {0};
    model_hdf5_writer *w = NULL;
    static const char *const dims[2] = {"token", "step"};
    const model_hdf5_meta meta = {"nats", "energy E_A of a token", dims};
    const model_hdf5_shape grid = {2, {3, 4}};
    const model_hdf5_shape three = {1, {3}};
    const model_hdf5_shape four = {1, {4}};
    const model_hdf5_shape five = {1, {5}};
    const model_hdf5_shape none = {2, {0, 4}};
    const model_hdf5_shape scalar = {0};
    const double several[3] = {0.5, -2.0, 1e99};
    ok(model_hdf5_writer_create(&w, path, &err), &err);
    ok(model_hdf5_put_doubles(w, "terms/attention/energy", energies, &grid, &meta, &err), &err);
    ok(model_hdf5_put_doubles(w, "one", energies + 1, &scalar, NULL, &err), &err);
    ok(model_hdf5_put_doubles(w, "none", NULL, &none, NULL, &err), &err);
    ok(model_hdf5_put_int64s(w, "integers", integers, &three, NULL, &err), &err);
    ok(model_hdf5_put_bools(w, "flags", flags, &five, NULL, &err), &err);
    ok(model_hdf5_put_bytes(w, "bytes", bytes, &four, NULL, &err), &err);
    ok(model_hdf5_put_strings(w, "words", words, &four, NULL, &err), &err);
    ok(model_hdf5_put_group(w, "empty/inner", &err), &err);
    ok(model_hdf5_put_attr_string(w, "/", "recipe", "{\"seed\": 3}", &err), &err);
    ok(model_hdf5_put_attr_doubles(w, "/", "box", several, 3, &err), &err);
    ok(model_hdf5_put_attr_int64(w, "terms", "trained_steps", -12, &err), &err);
    ok(model_hdf5_writer_commit(w, &err), &err);
    assert_int_equal(model_hdf5_put_group(w, "late", &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_put_attr_int64(w, "/", "late", 1, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_writer_commit(w, &err), KERN_INVALID_ARGUMENT);
    model_hdf5_writer_destroy(w);
}

static void test_round_trip(void **state)
{
    (void)state;
    kern_error err = {0};
    model_hdf5_reader *r = NULL;
    model_hdf5_shape shape;
    double numbers[12];
    int64_t whole[5];
    write_sample(at("a.h5"));
    ok(model_hdf5_reader_create(&r, at("a.h5"), &err), &err);
    ok(model_hdf5_read_shape(r, "terms/attention/energy", &shape, &err), &err);
    assert_int_equal(shape.rank, 2);
    assert_int_equal(shape.size[0], 3);
    assert_int_equal(shape.size[1], 4);
    ok(model_hdf5_read_doubles(r, "terms/attention/energy", numbers, 12, &err), &err);
    assert_memory_equal(numbers, energies, sizeof energies);
    ok(model_hdf5_read_doubles(r, "one", numbers, 1, &err), &err);
    assert_true(numbers[0] == 3.25);
    ok(model_hdf5_read_doubles(r, "none", numbers, 0, &err), &err);
    ok(model_hdf5_read_int64s(r, "integers", whole, 3, &err), &err);
    assert_memory_equal(whole, integers, sizeof integers);
    ok(model_hdf5_read_int64s(r, "flags", whole, 5, &err), &err);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(whole[i], flags[i] ? 1 : 0);
    }
    ok(model_hdf5_read_int64s(r, "bytes", whole, 4, &err), &err);
    assert_int_equal(whole[3], 255);
    assert_true(model_hdf5_has(r, "empty/inner"));
    assert_false(model_hdf5_has(r, "empty/outer/inner"));
    assert_false(model_hdf5_has(r, ""));
    model_hdf5_reader_destroy(r);
}

static void test_texts_and_attributes(void **state)
{
    (void)state;
    kern_error err = {0};
    model_hdf5_reader *r = NULL;
    char **texts = NULL;
    char *text = NULL;
    double box[3];
    int64_t steps = 0;
    write_sample(at("a.h5"));
    ok(model_hdf5_reader_create(&r, at("a.h5"), &err), &err);
    ok(model_hdf5_read_strings(r, "words", &texts, 4, &err), &err);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(texts[i], words[i]);
    }
    free(texts);
    ok(model_hdf5_read_attr_string(r, "terms/attention/energy", "units", &text, &err), &err);
    assert_string_equal(text, "nats");
    free(text);
    ok(model_hdf5_read_attr_string(r, "/", "recipe", &text, &err), &err);
    assert_string_equal(text, "{\"seed\": 3}");
    free(text);
    ok(model_hdf5_read_attr_doubles(r, "/", "box", box, 3, &err), &err);
    assert_true(box[1] == -2.0 && box[2] == 1e99);
    ok(model_hdf5_read_attr_int64(r, "terms", "trained_steps", &steps, &err), &err);
    assert_int_equal(steps, -12);
    model_hdf5_reader_destroy(r);
}

static void test_read_failures(void **state)
{
    (void)state;
    kern_error err = {0};
    model_hdf5_reader *r = NULL;
    model_hdf5_shape shape;
    double numbers[12];
    char **texts = NULL;
    char *text = NULL;
    write_sample(at("a.h5"));
    assert_int_equal(model_hdf5_reader_create(&r, at("missing.h5"), &err), KERN_NOT_FOUND);
    assert_null(r);
    FILE *f = fopen(at("text.h5"), "w");
    assert_non_null(f);
    (void)fputs("not HDF5 at all", f);
    (void)fclose(f);
    assert_int_equal(model_hdf5_reader_create(&r, at("text.h5"), &err), KERN_BAD_INPUT);
    assert_non_null(strstr(err.text, "text.h5"));
    ok(model_hdf5_reader_create(&r, at("a.h5"), &err), &err);
    assert_int_equal(model_hdf5_read_shape(r, "terms/nothing", &shape, &err), KERN_NOT_FOUND);
    assert_int_equal(model_hdf5_read_shape(r, "terms", &shape, &err), KERN_BAD_INPUT);
    assert_int_equal(model_hdf5_read_doubles(r, "one", numbers, 2, &err), KERN_BAD_INPUT);
    assert_int_equal(model_hdf5_read_doubles(r, "words", numbers, 4, &err), KERN_BAD_INPUT);
    assert_int_equal(model_hdf5_read_doubles(r, "flags", numbers, 5, &err), KERN_BAD_INPUT);
    assert_int_equal(model_hdf5_read_strings(r, "one", &texts, 1, &err), KERN_BAD_INPUT);
    assert_null(texts);
    assert_int_equal(model_hdf5_read_attr_string(r, "/", "nothing", &text, &err), KERN_NOT_FOUND);
    assert_int_equal(model_hdf5_read_attr_string(r, "no", "recipe", &text, &err), KERN_NOT_FOUND);
    assert_int_equal(model_hdf5_read_attr_string(r, "/", "box", &text, &err), KERN_BAD_INPUT);
    assert_int_equal(model_hdf5_read_attr_doubles(r, "/", "box", numbers, 2, &err), KERN_BAD_INPUT);
    model_hdf5_reader_destroy(r);
    model_hdf5_reader_destroy(NULL);
}

static void test_write_failures(void **state)
{
    (void)state;
    kern_error err = {0};
    model_hdf5_writer *w = NULL;
    const model_hdf5_shape one = {1, {1}};
    const model_hdf5_shape deep = {MODEL_HDF5_RANK + 1, {1}};
    const model_hdf5_shape vast = {2, {SIZE_MAX / 2, 3}};
    const char *const broken[1] = {"\xc3("};
    const char *const missing[1] = {NULL};
    char longest[600];
    (void)empty_folder();
    assert_int_equal(model_hdf5_writer_create(&w, at("no/such/a.h5"), &err), KERN_NOT_FOUND);
    assert_null(w);
    assert_int_equal(model_hdf5_writer_create(&w, folder, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_writer_create(&w, "", &err), KERN_INVALID_ARGUMENT);
    ok(model_hdf5_writer_create(&w, at("b.h5"), &err), &err);
    ok(model_hdf5_put_doubles(w, "x", energies, &one, NULL, &err), &err);
    assert_int_equal(model_hdf5_put_doubles(w, "x", energies, &one, NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "\"x\""));
    assert_int_equal(model_hdf5_put_group(w, "", &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_put_group(w, "g/", &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_put_group(w, "x/g", &err), KERN_IO);
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(model_hdf5_put_group(w, longest, &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_put_doubles(w, "d", energies, &deep, NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_put_doubles(w, "v", energies, &vast, NULL, &err), KERN_OVERFLOW);
    assert_int_equal(model_hdf5_put_strings(w, "s", broken, &one, NULL, &err), KERN_BAD_INPUT);
    assert_int_equal(model_hdf5_put_strings(w, "s", missing, &one, NULL, &err),
                     KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_put_attr_string(w, "y", "a", "b", &err), KERN_NOT_FOUND);
    assert_int_equal(model_hdf5_put_attr_string(w, "x", "a", broken[0], &err), KERN_BAD_INPUT);
    ok(model_hdf5_put_attr_string(w, "x", "a", "b", &err), &err);
    assert_int_equal(model_hdf5_put_attr_string(w, "x", "a", "c", &err), KERN_INVALID_ARGUMENT);
    assert_int_equal(model_hdf5_put_attr_doubles(w, "x", "n", energies, 0, &err),
                     KERN_INVALID_ARGUMENT);
    model_hdf5_writer_destroy(w);
    model_hdf5_writer_destroy(NULL);
    /* Nothing of the abandoned file is left, under any name. */
    assert_int_equal(empty_folder(), 0);
}

static void test_old_file_survives_abort(void **state)
{
    (void)state;
    kern_error err = {0};
    model_hdf5_writer *w = NULL;
    model_hdf5_reader *r = NULL;
    write_sample(at("a.h5"));
    ok(model_hdf5_writer_create(&w, at("a.h5"), &err), &err);
    ok(model_hdf5_put_group(w, "other", &err), &err);
    model_hdf5_writer_destroy(w);
    ok(model_hdf5_reader_create(&r, at("a.h5"), &err), &err);
    assert_true(model_hdf5_has(r, "words"));
    assert_false(model_hdf5_has(r, "other"));
    model_hdf5_reader_destroy(r);
}

static void put_file(const char *path, const char *content, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void assert_no_writer(const char *path, const char *part)
{
    kern_error err = {0};
    model_hdf5_writer *w = NULL;
    assert_int_equal(model_hdf5_check_path(path, &err), KERN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, part));
    assert_int_equal(model_hdf5_writer_create(&w, path, &err), KERN_INVALID_ARGUMENT);
    assert_null(w);
    assert_non_null(strstr(err.text, part));
}

static mode_t kind_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & S_IFMT;
}

static void test_devices_and_links(void **state)
{
    (void)state;
    kern_error err = {0};
    (void)empty_folder();
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    assert_no_writer(at("fifo"), "is a device or a pipe");
    assert_int_equal(kind_of(at("fifo")), S_IFIFO);
    assert_int_equal(symlink("fifo", at("to-fifo")), 0);
    assert_no_writer(at("to-fifo"), "is a device or a pipe");
    struct stat info;
    if (stat("/dev/null", &info) == 0 && mknod(at("null"), S_IFCHR | 0600, info.st_rdev) == 0) {
        assert_no_writer(at("null"), "is a device or a pipe");
        assert_int_equal(kind_of(at("null")), S_IFCHR);
    }
    assert_int_equal(symlink("absent", at("broken")), 0);
    assert_no_writer(at("broken"), "is a symbolic link to nothing");
    put_file(at("target.h5"), "", 0);
    assert_int_equal(symlink("target.h5", at("link.h5")), 0);
    ok(model_hdf5_check_path(at("link.h5"), &err), &err);
    write_sample(at("link.h5"));
    write_sample(at("link.h5"));
    assert_int_equal(kind_of(at("link.h5")), S_IFLNK);
    assert_int_equal(kind_of(at("target.h5")), S_IFREG);
    model_hdf5_reader *r = NULL;
    ok(model_hdf5_reader_create(&r, at("target.h5"), &err), &err);
    model_hdf5_reader_destroy(r);
    (void)empty_folder();
}

/* What is not HDF5 is not replaced; the signature may stand behind a block of the user's. */
static void test_other_files_survive(void **state)
{
    (void)state;
    static const char signature[] = "\x89HDF\r\n\x1a\n";
    kern_error err = {0};
    char content[2100];
    memset(content, 'm', sizeof content);
    const size_t sizes[] = {1, 7, 511, 520, sizeof content};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        put_file(at("model"), content, sizes[i]);
        assert_no_writer(at("model"), "is not an HDF5 file");
        struct stat info;
        assert_int_equal(stat(at("model"), &info), 0);
        assert_int_equal(info.st_size, sizes[i]);
    }
    const size_t places[] = {0, 512, 1024, 2048};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        memset(content, 'm', sizeof content);
        memcpy(content + places[i], signature, 8);
        put_file(at("block.h5"), content, sizeof content);
        ok(model_hdf5_check_path(at("block.h5"), &err), &err);
    }
    memset(content, 'm', sizeof content);
    memcpy(content + 1536, signature, 8);
    put_file(at("block.h5"), content, sizeof content);
    assert_no_writer(at("block.h5"), "is not an HDF5 file");
}

/* A limit on file sizes stands in for a full disk; the system's reason reaches the user. */
static void test_full_disk_tells_why(void **state)
{
    (void)state;
    enum { ROOM = 4096, COUNT = 1 << 16 };
    kern_error err = {0};
    model_hdf5_writer *w = NULL;
    const model_hdf5_shape shape = {1, {COUNT}};
    double *values = calloc(COUNT, sizeof *values);
    struct rlimit old;
    assert_non_null(values);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    const struct rlimit small = {ROOM, old.rlim_max};
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    (void)empty_folder();
    ok(model_hdf5_writer_create(&w, at("full.h5"), &err), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    kern_status status = model_hdf5_put_doubles(w, "x", values, &shape, NULL, &err);
    if (status == KERN_OK) {
        status = model_hdf5_writer_commit(w, &err);
    }
    model_hdf5_writer_destroy(w);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, handler);
    free(values);
    assert_int_equal(status, KERN_IO);
    if (strstr(err.text, strerror(EFBIG)) == NULL) {
        fail_msg("no reason in: %s", err.text);
    }
    assert_int_equal(empty_folder(), 0);
}

static size_t load(const char *path, char *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(data, 1, room, f);
    (void)fclose(f);
    return n;
}

static void test_same_bytes(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20 };
    char *first = malloc(ROOM);
    char *second = malloc(ROOM);
    const struct timespec pause = {1, 200000000};
    assert_non_null(first);
    assert_non_null(second);
    write_sample(at("a.h5"));
    /* Times in the file have a resolution of one second. */
    (void)nanosleep(&pause, NULL);
    write_sample(at("b.h5"));
    const size_t n = load(at("a.h5"), first, ROOM);
    assert_int_equal(n, load(at("b.h5"), second, ROOM));
    assert_true(n > 1000 && n < ROOM);
    assert_memory_equal(first, second, n);
    free(first);
    free(second);
}

/* The library must not print on its own: stderr is caught in a file during failures. */
static void test_silence(void **state)
{
    (void)state;
    kern_error err = {0};
    model_hdf5_reader *r = NULL;
    model_hdf5_shape shape;
    write_sample(at("a.h5"));
    (void)fflush(stderr);
    const int saved = dup(2);
    const int caught = open(at("stderr.txt"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(saved >= 0 && caught >= 0);
    (void)dup2(caught, 2);
    const kern_status opened = model_hdf5_reader_create(&r, at("stderr.txt"), &err);
    const kern_status second = model_hdf5_reader_create(&r, at("a.h5"), &err);
    const kern_status shaped =
        second == KERN_OK ? model_hdf5_read_shape(r, "empty", &shape, &err) : second;
    (void)dup2(saved, 2);
    (void)close(saved);
    (void)close(caught);
    assert_int_equal(opened, KERN_BAD_INPUT);
    assert_int_equal(second, KERN_OK);
    assert_int_equal(shaped, KERN_BAD_INPUT);
    struct stat info;
    assert_int_equal(stat(at("stderr.txt"), &info), 0);
    assert_int_equal(info.st_size, 0);
    model_hdf5_reader_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_texts_and_attributes),
        cmocka_unit_test(test_read_failures),
        cmocka_unit_test(test_write_failures),
        cmocka_unit_test(test_old_file_survives_abort),
        cmocka_unit_test(test_devices_and_links),
        cmocka_unit_test(test_other_files_survive),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_full_disk_tells_why),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
