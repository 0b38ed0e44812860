/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/model_file.h"
#include "models/model_safetensors.h"
#include "tests/models/model_test_folder.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

enum { LIMIT = 1 << 24 };

/* ---- Files made by hand ------------------------------------------------------------------ */

/* Writes a file from a header's text and the data behind it; returns its path. */
static const char *write_raw(char path[TEST_PATH], const char *header, const void *data,
                             size_t data_size)
{
    const uint64_t length = strlen(header);
    const model_file_chunk chunks[] = {
        {&length, sizeof length}, {header, (size_t)length}, {data, data_size}};
    test_path(path, "raw.safetensors");
    assert_int_equal(model_file_write_atomic(path, chunks, 3, NULL), KERN_OK);
    return path;
}

static void assert_refused(const char *path, kern_status status, const char *part)
{
    model_safetensors *file = NULL;
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_safetensors_create(&file, path, &err), status);
    assert_null(file);
    test_error(&err, status, part);
}

static model_safetensors *opened(const char *path)
{
    model_safetensors *file;
    kern_error err = {KERN_OK, ""};
    if (model_safetensors_create(&file, path, &err) != KERN_OK) {
        fail_msg("%s", err.text);
    }
    return file;
}

typedef struct bad_header {
    const char *header;
    const char *part;
} bad_header;

/* Each stands before 16 bytes of data. */
static const bad_header bad_headers[] = {
    {"", "does not begin with '{'"},
    {"[]", "does not begin with '{'"},
    {"{\"a\":", "is no safetensors file: the header is not valid JSON"},
    {"{\"a\xff\":1}", "the header: byte 0xff"},
    {"{} {}", "continues behind its JSON object"},
    {"{}", "tensors end at byte 10"},
    {"{\"a\":7}", "tensor 'a'"},
    {"{\"a\":[\"F64\"]}", "not an object"},
    {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,16]}}", "the key \"dtype\" is missing"},
    {"{\"a\":{\"dtype\":\"F64\",\"data_offsets\":[0,16]}}", "the key \"shape\" is missing"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2]}}", "the key \"data_offsets\" is missing"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16],\"x\":1}}", "has a member"},
    {"{\"a\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
     "the type is \"C64\"; accepted are F64, F32, F16"},
    {"{\"a\":{\"dtype\":8,\"shape\":[2],\"data_offsets\":[0,16]}}", "\"dtype\" is 8;"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":2,\"data_offsets\":[0,16]}}",
     "\"shape\" is not an array"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[-2],\"data_offsets\":[0,16]}}", "\"shape\" is not"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2.5],\"data_offsets\":[0,16]}}", "\"shape\" is not"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,16]}}",
     "array of at most 8 whole numbers"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,16]}}",
     "product of its shape is too large"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,1073741824],\"data_offsets\":[0,16]}}",
     "product of its shape is too large"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]}}",
     "product of its shape is too large"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[0,16]}}", "do not fit its shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,16]}}", "do not fit its shape"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[0,24]}}",
     "not a pair [begin, end]"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[16,0]}}",
     "not a pair [begin, end]"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0]}}", "not a pair [begin, end]"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,8,16]}}",
     "\"data_offsets\" is not"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[-1,15]}}",
     "\"data_offsets\" is not"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", "its tensors end at byte"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}}", "leave unused bytes"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
     "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}}",
     "tensor 'b' of"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
     "\"b\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}}",
     "overlap"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
     "\"b\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[8,8]}}",
     "overlap"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
     "\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[8,16]}}",
     "the key \"a\" twice"},
    {"{\"__metadata__\":7,\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
     "the metadata of"},
    {"{\"__metadata__\":{\"k\":7},\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
     "values are all strings"},
};

static void test_refuses_headers(void **state)
{
    (void)state;
    const double data[2] = {1.5, -2.5};
    char path[TEST_PATH];
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        write_raw(path, bad_headers[i].header, data, sizeof data);
        assert_refused(path, KERN_BAD_INPUT, bad_headers[i].part);
        assert_refused(path, KERN_BAD_INPUT, path);
    }
}

static void test_refuses_files(void **state)
{
    (void)state;
    char path[TEST_PATH];
    assert_refused(test_path(path, "absent"), KERN_NOT_FOUND, "cannot open");
    assert_refused(test_folder, KERN_BAD_INPUT, "is not a regular file");
    assert_refused("/dev/null", KERN_BAD_INPUT, "is not a regular file");
    test_path(path, "short");
    const uint64_t lengths[] = {9, 100000001, (uint64_t)1 << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (size_t size = 0; size < sizeof lengths[i]; size++) {
            test_write(path, &lengths[i], size);
            assert_refused(path, KERN_BAD_INPUT, "too few for a safetensors file");
        }
        test_write(path, &lengths[i], sizeof lengths[i]);
        assert_refused(path, KERN_BAD_INPUT, "it states a header of");
    }
}

/* A sparse file makes the header's limit reachable without filling the disk. */
static void test_longest_header(void **state)
{
    (void)state;
    char path[TEST_PATH];
    const uint64_t length = MODEL_SAFETENSORS_HEADER_MAX + 1;
    test_write(test_path(path, "sparse"), &length, sizeof length);
    assert_int_equal(truncate(path, (off_t)length + 100), 0);
    assert_refused(path, KERN_BAD_INPUT, "a header of 100000001 bytes");
    assert_int_equal(unlink(path), 0);
}

static void test_accepts_unusual_headers(void **state)
{
    (void)state;
    char path[TEST_PATH];
    model_safetensors *file = opened(write_raw(path, "{}", NULL, 0));
    assert_int_equal(model_safetensors_count(file), 0);
    assert_int_equal(model_safetensors_metadata_count(file), 0);
    assert_null(model_safetensors_metadata(file, "config"));
    assert_null(model_safetensors_find(file, "a"));
    assert_null(model_safetensors_at(file, 0));
    model_safetensors_destroy(file);

    const double data[2] = {1.5, -2.5};
    file = opened(write_raw(path,
                            " {\"z\":{\"data_offsets\":[8,16],\"shape\":[],\"dtype\":\"F64\"},"
                            "\"empty\":{\"dtype\":\"U8\",\"shape\":[3,0],\"data_offsets\":[8,8]},"
                            "\"__metadata__\":{},"
                            "\"a\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":[0,8]}} \n",
                            data, sizeof data));
    assert_int_equal(model_safetensors_count(file), 3);
    assert_string_equal(model_safetensors_at(file, 0)->name, "a");
    assert_string_equal(model_safetensors_at(file, 1)->name, "empty");
    assert_string_equal(model_safetensors_at(file, 2)->name, "z");
    const model_safetensors_entry *z = model_safetensors_find(file, "z");
    assert_true(z == model_safetensors_at(file, 2) && z->rank == 0 && z->count == 1);
    double value = 0;
    assert_int_equal(model_safetensors_read_f64(file, z, &value, 1, NULL), KERN_OK);
    assert_true(value == -2.5);
    const model_safetensors_entry *empty = model_safetensors_find(file, "empty");
    assert_true(empty->count == 0 && empty->shape[0] == 3 && empty->shape[1] == 0);
    assert_int_equal(model_safetensors_read_f64(file, empty, &value, 0, NULL), KERN_OK);
    model_safetensors_destroy(file);
    model_safetensors_destroy(NULL);
}

/* ---- Writing and reading back ------------------------------------------------------------ */

enum { N_F64 = 3 * 1733, N_F32 = 7 };

typedef struct sample {
    double f64[N_F64];
    float f32[N_F32];
    int64_t i64[4];
    int32_t i32[3];
    uint64_t u64[2];
    uint8_t u8[5];
    model_safetensors_tensor tensors[7];
} sample;

static sample *make_sample(void)
{
    static const sample fixed = {
        .i64 = {-9007199254740992, 9007199254740992, -7, 42},
        .i32 = {INT32_MIN, -3, INT32_MAX},
        .u64 = {11, UINT64_MAX},
        .u8 = {0, 1, 127, 128, 255},
    };
    sample *s = malloc(sizeof *s);
    assert_non_null(s);
    *s = fixed;
    for (size_t i = 0; i < N_F64; i++) {
        s->f64[i] = sin(0.37 * (double)i) * exp(0.001 * (double)i);
    }
    for (size_t i = 0; i < N_F32; i++) {
        s->f32[i] = (float)(1.0 / (3.0 + (double)i));
    }
    const model_safetensors_tensor tensors[7] = {
        {"mask", MODEL_DTYPE_U8, 1, {5}, s->u8},
        {"w/\xce\xb7 \"q\"", MODEL_DTYPE_F64, 2, {3, 1733}, s->f64},
        {"b", MODEL_DTYPE_F32, 3, {1, 7, 1}, s->f32},
        {"idx", MODEL_DTYPE_I64, 2, {2, 2}, s->i64},
        {"small", MODEL_DTYPE_I32, 1, {3}, s->i32},
        {"seed", MODEL_DTYPE_U64, 1, {2}, s->u64},
        {"none", MODEL_DTYPE_F64, 2, {4, 0}, NULL},
    };
    memcpy(s->tensors, tensors, sizeof tensors);
    return s;
}

static const model_safetensors_pair sample_pairs[] = {
    {"config", "{\"n_embed\": 12}"}, {"family", "nrgpt"}, {"note", "a\n\t\"b\" \xe2\x88\x82"}};

static void check_sample(const model_safetensors *file, const sample *s)
{
    double *f64 = malloc(sizeof s->f64);
    float f32[N_F32];
    int64_t i64[4];
    uint8_t bytes[16];
    assert_non_null(f64);
    for (size_t i = 0; i < 7; i++) {
        const model_safetensors_tensor *t = &s->tensors[i];
        const model_safetensors_entry *entry;
        assert_int_equal(model_safetensors_require(file, t->name, t->rank, t->shape, &entry, NULL),
                         KERN_OK);
        assert_int_equal(entry->dtype, t->dtype);
        assert_int_equal(entry->offset % model_dtype_size(t->dtype), 0);
    }
    const model_safetensors_entry *e = model_safetensors_find(file, s->tensors[1].name);
    assert_int_equal(model_safetensors_read_f64(file, e, f64, N_F64, NULL), KERN_OK);
    assert_memory_equal(f64, s->f64, sizeof s->f64);
    e = model_safetensors_find(file, "b");
    assert_int_equal(model_safetensors_read_f32(file, e, f32, N_F32, NULL), KERN_OK);
    assert_memory_equal(f32, s->f32, sizeof s->f32);
    e = model_safetensors_find(file, "idx");
    assert_int_equal(model_safetensors_read_i64(file, e, i64, 4, NULL), KERN_OK);
    assert_memory_equal(i64, s->i64, sizeof s->i64);
    e = model_safetensors_find(file, "mask");
    assert_int_equal(model_safetensors_read_bytes(file, e, bytes, 5, NULL), KERN_OK);
    assert_memory_equal(bytes, s->u8, 5);
    e = model_safetensors_find(file, "seed");
    assert_int_equal(model_safetensors_read_bytes(file, e, bytes, 16, NULL), KERN_OK);
    assert_memory_equal(bytes, s->u64, 16);
    free(f64);
}

static void test_writes_what_it_reads(void **state)
{
    (void)state;
    char path[TEST_PATH];
    sample *s = make_sample();
    test_path(path, "sample.safetensors");
    assert_int_equal(model_safetensors_write(path, s->tensors, 7, sample_pairs, 3, NULL), KERN_OK);
    model_safetensors *file = opened(path);
    assert_int_equal(model_safetensors_count(file), 7);
    for (size_t i = 1; i < 7; i++) {
        assert_true(strcmp(model_safetensors_at(file, i - 1)->name,
                           model_safetensors_at(file, i)->name) < 0);
    }
    check_sample(file, s);
    assert_int_equal(model_safetensors_metadata_count(file), 3);
    for (size_t i = 0; i < 3; i++) {
        const char *key;
        const char *value;
        model_safetensors_metadata_at(file, i, &key, &value);
        assert_string_equal(key, sample_pairs[i].key);
        assert_string_equal(value, sample_pairs[i].value);
        assert_ptr_equal(model_safetensors_metadata(file, key), value);
    }
    const char *key;
    const char *value;
    model_safetensors_metadata_at(file, 3, &key, &value);
    assert_true(key == NULL && value == NULL);
    assert_null(model_safetensors_metadata(file, "Config"));
    model_safetensors_destroy(file);

    char *data;
    size_t size;
    uint64_t length;
    assert_int_equal(model_file_read(path, LIMIT, &data, &size, NULL), KERN_OK);
    memcpy(&length, data, sizeof length);
    assert_int_equal(length % 8, 0);
    assert_int_equal(data[8], '{');
    free(data);
    free(s);
}

static void test_order_does_not_matter(void **state)
{
    (void)state;
    char path[TEST_PATH];
    char other[TEST_PATH];
    sample *s = make_sample();
    model_safetensors_tensor reversed[7];
    for (size_t i = 0; i < 7; i++) {
        reversed[i] = s->tensors[6 - i];
    }
    test_path(path, "one.safetensors");
    test_path(other, "two.safetensors");
    assert_int_equal(model_safetensors_write(path, s->tensors, 7, sample_pairs, 3, NULL), KERN_OK);
    assert_int_equal(model_safetensors_write(other, reversed, 7, sample_pairs, 3, NULL), KERN_OK);
    char *a;
    char *b;
    size_t a_size;
    size_t b_size;
    assert_int_equal(model_file_read(path, LIMIT, &a, &a_size, NULL), KERN_OK);
    assert_int_equal(model_file_read(other, LIMIT, &b, &b_size, NULL), KERN_OK);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    free(a);
    free(b);
    free(s);
}

static void assert_unwritable(const model_safetensors_tensor *tensors, size_t count,
                              const model_safetensors_pair *pairs, kern_status status,
                              const char *part)
{
    char path[TEST_PATH];
    kern_error err = {KERN_OK, ""};
    const size_t pair_count = pairs == NULL ? 0 : 2;
    test_path(path, "never.safetensors");
    assert_int_equal(model_safetensors_write(path, tensors, count, pairs, pair_count, &err),
                     status);
    test_error(&err, status, part);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_refuses_to_write(void **state)
{
    (void)state;
    const double data[4] = {1, 2, 3, 4};
    const size_t big = (size_t)1 << 40;
    const model_safetensors_tensor good = {"good", MODEL_DTYPE_F64, 2, {2, 2}, data};
    const model_safetensors_tensor bad[] = {
        {NULL, MODEL_DTYPE_F64, 1, {4}, data},           {"", MODEL_DTYPE_F64, 1, {4}, data},
        {"__metadata__", MODEL_DTYPE_F64, 1, {4}, data}, {"a\nb", MODEL_DTYPE_F64, 1, {4}, data},
        {"a\xff", MODEL_DTYPE_F64, 1, {4}, data},        {"good", MODEL_DTYPE_F32, 1, {4}, data},
        {"type", MODEL_DTYPE_COUNT, 1, {4}, data},       {"rank", MODEL_DTYPE_F64, 9, {4}, data},
        {"null", MODEL_DTYPE_F64, 1, {4}, NULL},
    };
    const char *const parts[] = {"has no name",        "accepted names are", "accepted names are",
                                 "accepted names are", "accepted names are", "is used twice",
                                 "type is unknown",    "more than 8",        "has no data"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const model_safetensors_tensor tensors[] = {good, bad[i]};
        assert_unwritable(tensors, 2, NULL, KERN_INVALID_ARGUMENT, parts[i]);
    }
    const model_safetensors_tensor huge = {"huge", MODEL_DTYPE_F64, 2, {big, big}, data};
    assert_unwritable(&huge, 1, NULL, KERN_OVERFLOW, "'huge': the product");
    const model_safetensors_tensor wide = {"wide", MODEL_DTYPE_F64, 2, {big, 1 << 11}, data};
    assert_unwritable(&wide, 1, NULL, KERN_OVERFLOW, "would be too large");
    const model_safetensors_pair twice[] = {{"k", "1"}, {"k", "2"}};
    assert_unwritable(&good, 1, twice, KERN_INVALID_ARGUMENT, "metadata key \"k\"");
    const model_safetensors_pair control[] = {{"k", "1"}, {"k\x01", "2"}};
    assert_unwritable(&good, 1, control, KERN_INVALID_ARGUMENT, "metadata key \"k\\x01\"");
    const model_safetensors_pair bytes[] = {{"k", "1"}, {"m", "\xfe"}};
    assert_unwritable(&good, 1, bytes, KERN_INVALID_ARGUMENT, "\"m\": byte 0xfe");
}

static void test_full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH];
    sample *s = make_sample();
    assert_int_equal(mkdir(test_path(folder, "full"), 0777), 0);
    test_path(path, "full/model.safetensors");
    assert_int_equal(model_safetensors_write(path, s->tensors, 7, sample_pairs, 3, NULL), KERN_OK);
    s->f64[17] = 0.0;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t limit = 1; limit < N_F64 * sizeof(double); limit += 9973) {
        const struct rlimit small = {limit, before.rlim_max};
        kern_error err = {KERN_OK, ""};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const kern_status status =
            model_safetensors_write(path, s->tensors, 7, sample_pairs, 3, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, KERN_IO);
        test_error(&err, KERN_IO, "cannot write");
        assert_int_equal(test_count_entries(folder), 1);
    }
    (void)signal(SIGXFSZ, handler);
    s->f64[17] = sin(0.37 * 17.0) * exp(0.001 * 17.0);
    model_safetensors *file = opened(path);
    check_sample(file, s);
    model_safetensors_destroy(file);
    free(s);
}

/* ---- Conversions ------------------------------------------------------------------------- */

/* Opens a file with one tensor "t" of `count` values. */
static model_safetensors *one_tensor(model_dtype dtype, size_t count, const void *data)
{
    char path[TEST_PATH];
    const model_safetensors_tensor tensor = {"t", dtype, 1, {count}, data};
    test_path(path, "one_tensor.safetensors");
    assert_int_equal(model_safetensors_write(path, &tensor, 1, NULL, 0, NULL), KERN_OK);
    return opened(path);
}

static void assert_reads(model_dtype dtype, size_t count, const void *data, const double *expected)
{
    model_safetensors *file = one_tensor(dtype, count, data);
    const model_safetensors_entry *entry = model_safetensors_find(file, "t");
    double f64[16];
    float f32[16];
    assert_true(count <= 16);
    assert_int_equal(model_safetensors_read_f64(file, entry, f64, count, NULL), KERN_OK);
    assert_int_equal(model_safetensors_read_f32(file, entry, f32, count, NULL), KERN_OK);
    for (size_t i = 0; i < count; i++) {
        const float rounded = (float)expected[i];
        assert_memory_equal(&f64[i], &expected[i], sizeof f64[i]);
        assert_memory_equal(&f32[i], &rounded, sizeof f32[i]);
    }
    model_safetensors_destroy(file);
}

static void test_converts_reals(void **state)
{
    (void)state;
    const double f64[] = {0.1, -1e300, 5e-324, -0.0, 3.0};
    assert_reads(MODEL_DTYPE_F64, 5, f64, f64);
    const float f32[] = {0.1f, -3e38f, 1e-45f, -0.0f};
    const double from_f32[] = {(double)0.1f, (double)-3e38f, (double)1e-45f, -0.0};
    assert_reads(MODEL_DTYPE_F32, 4, f32, from_f32);
    /* One, −2, largest, smallest normal, largest and smallest subnormal, −0, 1/3 rounded, ∞. */
    const uint16_t f16[] = {0x3c00, 0xc000, 0x7bff, 0x0400, 0x03ff, 0x0001, 0x8000, 0x3555, 0xfc00};
    const double from_f16[] = {1.0,     -2.0, 65504.0,        0x1p-14,          0x3ffp-24,
                               0x1p-24, -0.0, 0.333251953125, -(double)INFINITY};
    assert_reads(MODEL_DTYPE_F16, 9, f16, from_f16);
    const uint16_t bf16[] = {0x3f80, 0xc049, 0x0001, 0x7f80, 0x8000};
    const double from_bf16[] = {1.0, -3.140625, 0x1p-133, (double)INFINITY, -0.0};
    assert_reads(MODEL_DTYPE_BF16, 5, bf16, from_bf16);
    const uint16_t nans[] = {0x7e01, 0xfc01};
    model_safetensors *file = one_tensor(MODEL_DTYPE_F16, 2, nans);
    double out[2] = {0, 0};
    assert_int_equal(
        model_safetensors_read_f64(file, model_safetensors_find(file, "t"), out, 2, NULL), KERN_OK);
    assert_true(isnan(out[0]) && isnan(out[1]));
    model_safetensors_destroy(file);
}

static void assert_reads_whole(model_dtype dtype, size_t count, const void *data,
                               const int64_t *expected)
{
    double reals[16];
    int64_t wholes[16];
    assert_true(count <= 16);
    model_safetensors *file = one_tensor(dtype, count, data);
    const model_safetensors_entry *entry = model_safetensors_find(file, "t");
    assert_int_equal(model_safetensors_read_i64(file, entry, wholes, count, NULL), KERN_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(wholes[i] == expected[i]);
        reals[i] = (double)expected[i];
    }
    model_safetensors_destroy(file);
    assert_reads(dtype, count, data, reals);
}

static void test_converts_integers(void **state)
{
    (void)state;
    const int64_t i64[] = {-16777216, 16777216, -5};
    assert_reads_whole(MODEL_DTYPE_I64, 3, i64, i64);
    const int32_t i32[] = {-16777216, 77, 16777216};
    const int64_t from_i32[] = {-16777216, 77, 16777216};
    assert_reads_whole(MODEL_DTYPE_I32, 3, i32, from_i32);
    const int16_t i16[] = {INT16_MIN, -2, INT16_MAX};
    const int64_t from_i16[] = {-32768, -2, 32767};
    assert_reads_whole(MODEL_DTYPE_I16, 3, i16, from_i16);
    const int8_t i8[] = {-128, -1, 127};
    const int64_t from_i8[] = {-128, -1, 127};
    assert_reads_whole(MODEL_DTYPE_I8, 3, i8, from_i8);
    const uint64_t u64[] = {16777216, 9};
    const int64_t from_u64[] = {16777216, 9};
    assert_reads_whole(MODEL_DTYPE_U64, 2, u64, from_u64);
    const uint32_t u32[] = {16777216, 3};
    assert_reads_whole(MODEL_DTYPE_U32, 2, u32, (const int64_t[]){16777216, 3});
    const uint16_t u16[] = {65535, 258};
    assert_reads_whole(MODEL_DTYPE_U16, 2, u16, (const int64_t[]){65535, 258});
    const uint8_t u8[] = {255, 128, 2};
    assert_reads_whole(MODEL_DTYPE_U8, 3, u8, (const int64_t[]){255, 128, 2});
    const uint8_t flags[] = {1, 0, 1};
    assert_reads_whole(MODEL_DTYPE_BOOL, 3, flags, (const int64_t[]){1, 0, 1});
}

static void test_refuses_inexact_integers(void **state)
{
    (void)state;
    const int64_t values[] = {1, 2, -9007199254740993};
    const uint64_t big[] = {4, 9223372036854775808u};
    double f64[3];
    float f32[3];
    int64_t i64[3];
    kern_error err = {KERN_OK, ""};
    model_safetensors *file = one_tensor(MODEL_DTYPE_I64, 3, values);
    const model_safetensors_entry *entry = model_safetensors_find(file, "t");
    assert_int_equal(model_safetensors_read_f64(file, entry, f64, 3, &err), KERN_OVERFLOW);
    test_error(&err, KERN_OVERFLOW, "(I64) has at index 2 a value that double precision");
    assert_int_equal(model_safetensors_read_f32(file, entry, f32, 3, &err), KERN_OVERFLOW);
    test_error(&err, KERN_OVERFLOW, "index 2 a value that single precision");
    model_safetensors_destroy(file);
    file = one_tensor(MODEL_DTYPE_U64, 2, big);
    entry = model_safetensors_find(file, "t");
    assert_int_equal(model_safetensors_read_i64(file, entry, i64, 2, &err), KERN_OVERFLOW);
    test_error(&err, KERN_OVERFLOW, "(U64) has at index 1 a value that a signed 64-bit integer");
    model_safetensors_destroy(file);
    const float real = 2.0f;
    file = one_tensor(MODEL_DTYPE_F32, 1, &real);
    entry = model_safetensors_find(file, "t");
    assert_int_equal(model_safetensors_read_i64(file, entry, i64, 1, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "holds F32; accepted are integers");
    model_safetensors_destroy(file);
}

/* More values than one block, so that the seams between blocks are crossed. */
static void test_converts_long_tensors(void **state)
{
    (void)state;
    enum { COUNT = 2 * 4096 + 13 };
    float *values = malloc(COUNT * sizeof *values);
    double *out = malloc((COUNT + 1) * sizeof *out);
    assert_true(values != NULL && out != NULL);
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = (float)i * 0.75f - 11.0f;
    }
    out[COUNT] = 8.25;
    model_safetensors *file = one_tensor(MODEL_DTYPE_F32, COUNT, values);
    const model_safetensors_entry *entry = model_safetensors_find(file, "t");
    assert_int_equal(model_safetensors_read_f64(file, entry, out, COUNT, NULL), KERN_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(out[i] == (double)values[i]);
    }
    assert_true(out[COUNT] == 8.25);
    model_safetensors_destroy(file);
    free(values);
    free(out);
}

static void test_misuse_and_change(void **state)
{
    (void)state;
    const double values[3] = {1.25, 2.5, -5.0};
    double out[4];
    kern_error err = {KERN_OK, ""};
    model_safetensors *file = one_tensor(MODEL_DTYPE_F64, 3, values);
    const model_safetensors_entry *entry = model_safetensors_find(file, "t");
    assert_int_equal(model_safetensors_read_f64(file, entry, out, 4, &err), KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "has 3 values; the array to read it into has 4");
    assert_int_equal(model_safetensors_read_bytes(file, entry, out, 3, &err),
                     KERN_INVALID_ARGUMENT);
    test_error(&err, KERN_INVALID_ARGUMENT, "has 24 bytes");
    const model_safetensors_entry *found;
    assert_int_equal(model_safetensors_require(file, "u", 0, NULL, &found, &err), KERN_NOT_FOUND);
    test_error(&err, KERN_NOT_FOUND, "has no tensor 'u'");
    assert_null(found);
    const size_t shape[] = {3, 1};
    assert_int_equal(model_safetensors_require(file, "t", 2, shape, &found, &err), KERN_BAD_INPUT);
    test_error(&err, KERN_BAD_INPUT, "has the shape [3]; accepted is [3, 1]");
    assert_int_equal(model_safetensors_require(file, "t", 0, NULL, &found, &err), KERN_BAD_INPUT);
    char path[TEST_PATH];
    assert_int_equal(truncate(test_path(path, "one_tensor.safetensors"), 40), 0);
    assert_int_equal(model_safetensors_read_f64(file, entry, out, 3, &err), KERN_IO);
    test_error(&err, KERN_IO, "became shorter");
    model_safetensors_destroy(file);
}

static void test_finite_values(void **state)
{
    (void)state;
    double f64[] = {1e308, -0.0, 5e-324, 2.0, 3.0};
    float f32[] = {3e38f, -0.0f, 1e-45f, 2.0f, 3.0f};
    kern_error err = {KERN_OK, ""};
    assert_int_equal(model_values_check_finite_f64("w", f64, 5, NULL), KERN_OK);
    assert_int_equal(model_values_check_finite_f32("w", f32, 5, NULL), KERN_OK);
    for (size_t i = 0; i < 5; i++) {
        const double keep64 = f64[i];
        const float keep32 = f32[i];
        f64[i] = i % 2 == 0 ? (double)NAN : -(double)INFINITY;
        f32[i] = i % 2 == 0 ? INFINITY : NAN;
        assert_int_equal(model_values_check_finite_f64("w", f64, 5, &err), KERN_NAN);
        test_error(&err, KERN_NAN, i % 2 == 0 ? "'w' holds nan at index" : "'w' holds -inf at");
        assert_int_equal(model_values_check_finite_f32("w", f32, 5, &err), KERN_NAN);
        test_error(&err, KERN_NAN, "of 5; accepted are finite values");
        assert_int_equal(model_values_check_finite_f64("w", f64, i, NULL), KERN_OK);
        assert_int_equal(model_values_check_finite_f32("w", f32, i, NULL), KERN_OK);
        f64[i] = keep64;
        f32[i] = keep32;
    }
}

static void test_types(void **state)
{
    (void)state;
    assert_string_equal(model_dtype_word(MODEL_DTYPE_BF16), "BF16");
    assert_int_equal(model_dtype_size(MODEL_DTYPE_BF16), 2);
    assert_string_equal(model_dtype_word(MODEL_DTYPE_COUNT), "unknown");
    assert_int_equal(model_dtype_size(MODEL_DTYPE_COUNT), 0);
}

/* ---- Damage ------------------------------------------------------------------------------ */

/* Reads all an opened file offers. */
static void read_everything(const char *path)
{
    model_safetensors *file;
    kern_error err = {KERN_OK, ""};
    const kern_status status = model_safetensors_create(&file, path, &err);
    if (status != KERN_OK) {
        assert_int_equal(status, KERN_BAD_INPUT);
        assert_true(err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < model_safetensors_count(file); i++) {
        const model_safetensors_entry *entry = model_safetensors_at(file, i);
        double *out = malloc((entry->count + 1) * sizeof *out);
        assert_non_null(out);
        const kern_status read = model_safetensors_read_f64(file, entry, out, entry->count, &err);
        assert_true(read == KERN_OK || read == KERN_OVERFLOW);
        free(out);
    }
    model_safetensors_destroy(file);
}

/* A valid file, small enough to be damaged at every byte. */
static char *make_victim(size_t *size, size_t *header)
{
    const double d[3] = {1.5, -2.0, 1e10};
    const float f[2] = {0.25f, 3.0f};
    const uint8_t u[3] = {7, 8, 9};
    const model_safetensors_tensor tensors[] = {{"d", MODEL_DTYPE_F64, 2, {3, 1}, d},
                                                {"f", MODEL_DTYPE_F32, 1, {2}, f},
                                                {"u", MODEL_DTYPE_U8, 1, {3}, u}};
    char path[TEST_PATH];
    char *data;
    uint64_t length;
    test_path(path, "victim.safetensors");
    assert_int_equal(model_safetensors_write(path, tensors, 3, sample_pairs, 3, NULL), KERN_OK);
    assert_int_equal(model_file_read(path, LIMIT, &data, size, NULL), KERN_OK);
    memcpy(&length, data, sizeof length);
    *header = sizeof length + (size_t)length;
    return data;
}

static void test_survives_changed_bytes(void **state)
{
    (void)state;
    const unsigned char flips[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff};
    char path[TEST_PATH];
    size_t size;
    size_t header;
    char *data = make_victim(&size, &header);
    test_path(path, "damaged.safetensors");
    for (size_t i = 0; i < header; i++) {
        const char keep = data[i];
        for (size_t j = 0; j < sizeof flips; j++) {
            data[i] = (char)((unsigned char)keep ^ flips[j]);
            test_write(path, data, size);
            read_everything(path);
        }
        data[i] = keep;
    }
    free(data);
}

static void test_survives_truncation(void **state)
{
    (void)state;
    char path[TEST_PATH];
    size_t size;
    size_t header;
    char *data = make_victim(&size, &header);
    test_path(path, "cut.safetensors");
    for (size_t i = 0; i < size; i++) {
        test_write(path, data, i);
        model_safetensors *file;
        assert_int_equal(model_safetensors_create(&file, path, NULL), KERN_BAD_INPUT);
        assert_null(file);
    }
    test_write(path, data, size);
    model_safetensors_destroy(opened(path));
    free(data);
}

/* ---- Files from elsewhere ---------------------------------------------------------------- */

/* The reference files come from another writer; their tables and values must be readable whole. */
static void check_reference(const char *name)
{
    char path[2 * TEST_PATH];
    (void)snprintf(path, sizeof path, "%s/../shared/reference/%s", BASIN_SOURCE_DIR, name);
    model_safetensors *file = opened(path);
    assert_non_null(model_safetensors_metadata(file, "config"));
    assert_non_null(model_safetensors_metadata(file, "family"));
    int64_t idx[20];
    const size_t shape[] = {2, 10};
    const model_safetensors_entry *entry;
    assert_int_equal(model_safetensors_require(file, "idx", 2, shape, &entry, NULL), KERN_OK);
    assert_int_equal(model_safetensors_read_i64(file, entry, idx, 20, NULL), KERN_OK);
    for (size_t i = 0; i < 20; i++) {
        assert_true(idx[i] >= 0 && idx[i] < 20);
    }
    for (size_t i = 0; i < model_safetensors_count(file); i++) {
        entry = model_safetensors_at(file, i);
        double *values = malloc((entry->count + 1) * sizeof *values);
        assert_non_null(values);
        assert_int_equal(model_safetensors_read_f64(file, entry, values, entry->count, NULL),
                         KERN_OK);
        assert_int_equal(model_values_check_finite_f64(entry->name, values, entry->count, NULL),
                         KERN_OK);
        free(values);
    }
    model_safetensors_destroy(file);
}

static void test_reads_reference_files(void **state)
{
    (void)state;
    DIR *folder = opendir(BASIN_SOURCE_DIR "/../shared/reference");
    if (folder == NULL) {
        print_message("the reference files are absent\n");
        skip();
    }
    size_t seen = 0;
    for (const struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        if (strstr(item->d_name, ".safetensors") != NULL) {
            check_reference(item->d_name);
            seen++;
        }
    }
    (void)closedir(folder);
    assert_true(seen > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_headers),
        cmocka_unit_test(test_refuses_files),
        cmocka_unit_test(test_longest_header),
        cmocka_unit_test(test_accepts_unusual_headers),
        cmocka_unit_test(test_writes_what_it_reads),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_refuses_to_write),
        cmocka_unit_test(test_full_disk_keeps_the_old_file),
        cmocka_unit_test(test_converts_reals),
        cmocka_unit_test(test_converts_integers),
        cmocka_unit_test(test_refuses_inexact_integers),
        cmocka_unit_test(test_converts_long_tensors),
        cmocka_unit_test(test_misuse_and_change),
        cmocka_unit_test(test_finite_values),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_survives_changed_bytes),
        cmocka_unit_test(test_survives_truncation),
        cmocka_unit_test(test_reads_reference_files),
    };
    return cmocka_run_group_tests_name("model_safetensors", tests, test_folder_make,
                                       test_folder_remove);
}
