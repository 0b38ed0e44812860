/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/kern_size.h"
#include "models/model_safetensors_private.h"

#include <math.h>
#include <string.h>

enum { TENSOR_BLOCK = 4096 }; /* values converted at a time */

/* Whole numbers up to these magnitudes are exact in double and float. */
#define TENSOR_EXACT_F64 ((int64_t)1 << 53)
#define TENSOR_EXACT_F32 ((int64_t)1 << 24)

/* ---- Single values ----------------------------------------------------------------------- */

/* Half precision: 1 sign, 5 exponent and 10 fraction bits (IEEE 754-2008, binary16). */
static double load_f16(const unsigned char *from)
{
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    const int exponent = bits >> 10 & 0x1f;
    const int fraction = bits & 0x3ff;
    double magnitude = ldexp(0x400 + fraction, exponent - 25);
    if (exponent == 0) {
        magnitude = ldexp(fraction, -24);
    } else if (exponent == 0x1f) {
        magnitude = fraction == 0 ? (double)INFINITY : (double)NAN;
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/* bfloat16: the upper half of a float. */
static double load_bf16(const unsigned char *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

#define TENSOR_LOAD_REAL(name, type)                                                               \
    static double name(const unsigned char *from)                                                  \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        return (double)value;                                                                      \
    }
TENSOR_LOAD_REAL(load_f64, double)
TENSOR_LOAD_REAL(load_f32, float)

/* An integer; false when it does not fit int64_t. */
#define TENSOR_LOAD_WHOLE(name, type)                                                              \
    static bool name(const unsigned char *from, int64_t *out)                                      \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        return !__builtin_add_overflow(value, 0, out);                                             \
    }
TENSOR_LOAD_WHOLE(load_i64, int64_t)
TENSOR_LOAD_WHOLE(load_i32, int32_t)
TENSOR_LOAD_WHOLE(load_i16, int16_t)
TENSOR_LOAD_WHOLE(load_i8, int8_t)
TENSOR_LOAD_WHOLE(load_u64, uint64_t)
TENSOR_LOAD_WHOLE(load_u32, uint32_t)
TENSOR_LOAD_WHOLE(load_u16, uint16_t)
TENSOR_LOAD_WHOLE(load_u8, uint8_t)

/* How to read one value of a type: one of the two is set. */
typedef struct tensor_loader {
    double (*real)(const unsigned char *from);
    bool (*whole)(const unsigned char *from, int64_t *out);
} tensor_loader;

static const tensor_loader loaders[MODEL_DTYPE_COUNT] = {
    [MODEL_DTYPE_F64] = {load_f64, NULL}, [MODEL_DTYPE_F32] = {load_f32, NULL},
    [MODEL_DTYPE_F16] = {load_f16, NULL}, [MODEL_DTYPE_BF16] = {load_bf16, NULL},
    [MODEL_DTYPE_I64] = {NULL, load_i64}, [MODEL_DTYPE_I32] = {NULL, load_i32},
    [MODEL_DTYPE_I16] = {NULL, load_i16}, [MODEL_DTYPE_I8] = {NULL, load_i8},
    [MODEL_DTYPE_U64] = {NULL, load_u64}, [MODEL_DTYPE_U32] = {NULL, load_u32},
    [MODEL_DTYPE_U16] = {NULL, load_u16}, [MODEL_DTYPE_U8] = {NULL, load_u8},
    [MODEL_DTYPE_BOOL] = {NULL, load_u8},
};

/* ---- Whole tensors ----------------------------------------------------------------------- */

/* Where the converted values go: exactly one of the three is set. */
typedef struct tensor_target {
    double *f64;
    float *f32;
    int64_t *i64;
} tensor_target;

static kern_status raise_inexact(const model_safetensors *file,
                                 const model_safetensors_entry *entry, size_t index,
                                 const char *target, kern_error *err)
{
    return kern_raise(
        err, KERN_OVERFLOW,
        "tensor '%s' of '%s' (%s) has at index %zu a value that %s cannot hold exactly",
        entry->name, file->path, model_dtype_word(entry->dtype), index, target);
}

static bool within(int64_t value, int64_t limit)
{
    return value >= -limit && value <= limit;
}

/* Converts one value; the name of the target's type when it cannot hold the value, else NULL. */
static const char *convert_value(const tensor_loader *loader, const unsigned char *from,
                                 const tensor_target *to, size_t at)
{
    int64_t whole = 0;
    if (loader->whole != NULL && !loader->whole(from, &whole)) {
        return "a signed 64-bit integer";
    }
    if (to->i64 != NULL) {
        to->i64[at] = whole;
        return NULL;
    }
    const double value = loader->whole != NULL ? (double)whole : loader->real(from);
    if (to->f64 != NULL) {
        to->f64[at] = value;
        return within(whole, TENSOR_EXACT_F64) ? NULL : "double precision";
    }
    to->f32[at] = (float)value;
    return within(whole, TENSOR_EXACT_F32) ? NULL : "single precision";
}

static kern_status convert_tensor(const model_safetensors *file,
                                  const model_safetensors_entry *entry, const tensor_target *to,
                                  kern_error *err)
{
    unsigned char block[TENSOR_BLOCK * sizeof(double)];
    const size_t size = model_dtype_size(entry->dtype);
    const tensor_loader *loader = &loaders[entry->dtype];
    for (size_t done = 0; done < entry->count;) {
        const size_t n = kern_size_min(TENSOR_BLOCK, entry->count - done);
        KERN_TRY(model__read_at(file, entry->offset + done * size, block, n * size, err));
        for (size_t i = 0; i < n; i++) {
            const char *fault = convert_value(loader, block + i * size, to, done + i);
            if (fault != NULL) {
                return raise_inexact(file, entry, done + i, fault, err);
            }
        }
        done += n;
    }
    return KERN_OK;
}

static kern_status check_room(const model_safetensors *file, const model_safetensors_entry *entry,
                              const char *unit, size_t has, size_t room, kern_error *err)
{
    if (has != room) {
        return kern_raise(err, KERN_INVALID_ARGUMENT,
                          "tensor '%s' of '%s' has %zu %s; the array to read it into has %zu",
                          entry->name, file->path, has, unit, room);
    }
    return KERN_OK;
}

kern_status model_safetensors_read_f64(const model_safetensors *file,
                                       const model_safetensors_entry *entry, double *out,
                                       size_t count, kern_error *err)
{
    KERN_TRY(check_room(file, entry, "values", entry->count, count, err));
    if (entry->dtype == MODEL_DTYPE_F64) {
        return model__read_at(file, entry->offset, out, entry->bytes, err);
    }
    const tensor_target to = {.f64 = out};
    return convert_tensor(file, entry, &to, err);
}

kern_status model_safetensors_read_f32(const model_safetensors *file,
                                       const model_safetensors_entry *entry, float *out,
                                       size_t count, kern_error *err)
{
    KERN_TRY(check_room(file, entry, "values", entry->count, count, err));
    if (entry->dtype == MODEL_DTYPE_F32) {
        return model__read_at(file, entry->offset, out, entry->bytes, err);
    }
    const tensor_target to = {.f32 = out};
    return convert_tensor(file, entry, &to, err);
}

kern_status model_safetensors_read_i64(const model_safetensors *file,
                                       const model_safetensors_entry *entry, int64_t *out,
                                       size_t count, kern_error *err)
{
    KERN_TRY(check_room(file, entry, "values", entry->count, count, err));
    if (entry->dtype == MODEL_DTYPE_I64) {
        return model__read_at(file, entry->offset, out, entry->bytes, err);
    }
    if (loaders[entry->dtype].whole == NULL) {
        return kern_raise(err, KERN_BAD_INPUT,
                          "tensor '%s' of '%s' holds %s; accepted are integers", entry->name,
                          file->path, model_dtype_word(entry->dtype));
    }
    const tensor_target to = {.i64 = out};
    return convert_tensor(file, entry, &to, err);
}

kern_status model_safetensors_read_bytes(const model_safetensors *file,
                                         const model_safetensors_entry *entry, void *out,
                                         size_t size, kern_error *err)
{
    KERN_TRY(check_room(file, entry, "bytes", entry->bytes, size, err));
    return model__read_at(file, entry->offset, out, size, err);
}

/* ---- Finite values ----------------------------------------------------------------------- */

static kern_status raise_not_finite(const char *name, size_t i, size_t n, double value,
                                    kern_error *err)
{
    return kern_raise(err, KERN_NAN,
                      "'%s' holds %g at index %zu of %zu; accepted are finite values", name, value,
                      i, n);
}

kern_status model_values_check_finite_f64(const char *name, const double *values, size_t n,
                                          kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            return raise_not_finite(name, i, n, values[i], err);
        }
    }
    return KERN_OK;
}

kern_status model_values_check_finite_f32(const char *name, const float *values, size_t n,
                                          kern_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            return raise_not_finite(name, i, n, (double)values[i], err);
        }
    }
    return KERN_OK;
}
