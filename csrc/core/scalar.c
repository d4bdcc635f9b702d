/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and single elements. Conversions are total: what C leaves undefined (NaN and numbers out
   of range to an integer) has the result of the x86 instructions, as the cast loops have. The
   checked store refuses what would change the value beyond rounding. */
#include "core/scalar.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "math/float8.h"
#include "math/scalar.h"

double mt_scalar_to_double(mt_scalar s)
{
    switch ((mt_category)s.category) {
    case MT_CAT_FLOAT:
        return s.v.d;
    case MT_CAT_COMPLEX:
        return s.v.c.re;
    default:
        return s.is_unsigned ? (double)(uint64_t)s.v.i : (double)s.v.i;
    }
}

static int64_t saturate(double d)
{
    if (isnan(d))
        return INT64_MIN;
    return d >= 0x1p63 ? INT64_MAX : d < -0x1p63 ? INT64_MIN : (int64_t)d;
}

int64_t mt_scalar_to_int(mt_scalar s)
{
    if (s.category <= MT_CAT_INT)
        return s.is_unsigned ? INT64_MAX : s.v.i;
    return saturate(mt_scalar_to_double(s));
}

mt_c128 mt_scalar_to_complex(mt_scalar s)
{
    mt_c128 c = {0, 0};

    if (s.category == MT_CAT_COMPLEX)
        return s.v.c;
    c.re = mt_scalar_to_double(s);
    return c;
}

bool mt_scalar_is_true(mt_scalar s)
{
    switch ((mt_category)s.category) {
    case MT_CAT_FLOAT:
        return s.v.d != 0;
    case MT_CAT_COMPLEX:
        return s.v.c.re != 0 || s.v.c.im != 0;
    default:
        return s.v.i != 0;
    }
}

bool mt_scalar_equals_int(mt_scalar s, int64_t i)
{
    switch ((mt_category)s.category) {
    case MT_CAT_FLOAT:
        return s.v.d == (double)i;
    case MT_CAT_COMPLEX:
        return s.v.c.re == (double)i && s.v.c.im == 0;
    default:
        return s.v.i == i && !s.is_unsigned;
    }
}

mt_dtype mt_scalar_dtype(mt_scalar s)
{
    switch ((mt_category)s.category) {
    case MT_CAT_BOOL:
        return MT_DTYPE_b8;
    case MT_CAT_INT:
        return s.is_unsigned ? MT_DTYPE_u64 : MT_DTYPE_i64;
    case MT_CAT_FLOAT:
        return mt_default_dtype();
    default:
        return mt_default_complex_dtype();
    }
}

/* --- one element --- */

/* To 64 bits as the cast loops do; the narrower types take the low bits. */
static int64_t wrap_int(mt_scalar s, mt_dtype dtype)
{
    double d;

    if (s.category <= MT_CAT_INT)
        return s.v.i;
    d = mt_scalar_to_double(s);
    if (mt_dtype_is_shell(dtype))
        return (int64_t)(dtype == MT_DTYPE_u64 ? mt_f64_to_u64(d) : (uint64_t)mt_f64_to_i64(d));
    return dtype == MT_DTYPE_i64       ? mt_f64_to_i64(d)
           : mt_dtype_size(dtype) == 4 ? mt_f64_to_i32(d)
                                       : (int32_t)mt_f64_to_i64(d);
}

/* Elements of shells whose bits are no integer. */
static void store_shell(void *dst, mt_dtype dtype, mt_scalar s)
{
    mt_c128 c = mt_scalar_to_complex(s);
    float f = (float)c.re;
    mt_c32 half;
    uint8_t code;

    if (dtype == MT_DTYPE_c32) {
        half.re = mt_f32_to_f16(f);
        half.im = mt_f32_to_f16((float)c.im);
        memcpy(dst, &half, sizeof(half));
        return;
    }
    code = dtype == MT_DTYPE_f8e4m3fn     ? mt_f32_to_f8e4m3fn(f)
           : dtype == MT_DTYPE_f8e5m2     ? mt_f32_to_f8e5m2(f)
           : dtype == MT_DTYPE_f8e4m3fnuz ? mt_f32_to_f8e4m3fnuz(f)
           : dtype == MT_DTYPE_f8e5m2fnuz ? mt_f32_to_f8e5m2fnuz(f)
           : dtype == MT_DTYPE_f8e8m0fnu  ? mt_f32_to_f8e8m0fnu(f)
                                          : 0;
    memcpy(dst, &code, 1);
}

void mt_scalar_store(void *dst, mt_dtype dtype, mt_scalar s)
{
    mt_c128 c;
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        uint16_t half;
        int32_t i32;
        int64_t i64;
        float f32;
        double f64;
        mt_c64 c64;
        mt_c128 c128;
    } v;

    switch (dtype) {
    case MT_DTYPE_b8:
        v.u8 = mt_scalar_is_true(s);
        break;
    case MT_DTYPE_u8:
        v.u8 = (uint8_t)wrap_int(s, dtype);
        break;
    case MT_DTYPE_i8:
        v.i8 = (int8_t)wrap_int(s, dtype);
        break;
    case MT_DTYPE_i16:
    case MT_DTYPE_u16:
        v.i16 = (int16_t)wrap_int(s, dtype);
        break;
    case MT_DTYPE_i32:
    case MT_DTYPE_u32:
        v.i32 = (int32_t)wrap_int(s, dtype);
        break;
    case MT_DTYPE_i64:
    case MT_DTYPE_u64:
        v.i64 = wrap_int(s, dtype);
        break;
    case MT_DTYPE_f16:
        v.half = mt_f32_to_f16((float)mt_scalar_to_double(s));
        break;
    case MT_DTYPE_bf16:
        v.half = mt_f32_to_bf16((float)mt_scalar_to_double(s));
        break;
    case MT_DTYPE_f32:
        v.f32 = (float)mt_scalar_to_double(s);
        break;
    case MT_DTYPE_f64:
        v.f64 = mt_scalar_to_double(s);
        break;
    case MT_DTYPE_c64:
        c = mt_scalar_to_complex(s);
        v.c64.re = (float)c.re;
        v.c64.im = (float)c.im;
        break;
    case MT_DTYPE_c128:
        v.c128 = mt_scalar_to_complex(s);
        break;
    default:
        store_shell(dst, dtype, s);
        return;
    }
    memcpy(dst, &v, mt_dtype_size(dtype));
}

/* Can a real number become an element of a float dtype? Infinity and NaN can. */
static bool fits_float(double d, mt_dtype dtype)
{
    static const double greatest[MT_DTYPE_COUNT] = {
        [MT_DTYPE_f16] = 65504.0,
        [MT_DTYPE_bf16] = 0x1.fep127,
        [MT_DTYPE_f32] = FLT_MAX,
        [MT_DTYPE_f64] = DBL_MAX,
    };

    if (mt_dtype_is_shell(dtype)) /* floats of eight bits saturate or become NaN */
        return true;
    return !isfinite(d) || fabs(d) <= greatest[dtype];
}

/* Integers of an unsigned type also take the negative numbers down to minus its greatest value. */
static bool fits_int(mt_scalar s, mt_dtype dtype)
{
    int bits = (int)mt_dtype_size(dtype) * 8;
    bool is_signed = mt_dtype_table[dtype].is_signed;
    int64_t high = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    int64_t low = is_signed ? -high - 1 : 0;
    double d;

    if (s.category <= MT_CAT_INT && dtype == MT_DTYPE_u64)
        return true;
    if (s.category <= MT_CAT_INT)
        return !s.is_unsigned && s.v.i <= high && s.v.i >= (is_signed ? low : -high);
    d = mt_scalar_to_double(s);
    /* 2^63 - 1 is no double: the bound is the next power of two, exclusive */
    return d >= (double)low && (bits == 64 ? d < (is_signed ? 0x1p63 : 0x1p64) : d <= (double)high);
}

int mt_scalar_check(mt_dtype dtype, mt_scalar s)
{
    static const char *const c_names[MT_DTYPE_COUNT] = {
        "bool",
        "uint8_t",
        "int8_t",
        "int16_t",
        "int",
        "int64_t",
        "c10::Half",
        "c10::BFloat16",
        "float",
        "double",
        "c10::complex<float>",
        "c10::complex<double>",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "c10::complex<c10::Half>",
        "c10::Float8_e4m3fn",
        "c10::Float8_e5m2",
        "c10::Float8_e4m3fnuz",
        "c10::Float8_e5m2fnuz",
        "c10::Float8_e8m0fnu",
        "c10::Float4_e2m1fn_x2",
    };
    bool fits = true;

    if (dtype == MT_DTYPE_f4e2m1fnx2)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"fill_cpu\" not implemented for '%s'",
                            mt_dtype_table[dtype].legacy);
    if (s.category == MT_CAT_COMPLEX && dtype != MT_DTYPE_b8 && !mt_dtype_is_complex(dtype) && s.v.c.im != 0)
        fits = false;
    else if (mt_dtype_is_integral(dtype, false))
        fits = fits_int(s, dtype);
    else if ((dtype == MT_DTYPE_c64 || dtype == MT_DTYPE_c32) && s.category == MT_CAT_COMPLEX)
        fits = fits_float(s.v.c.re, mt_dtype_to_real(dtype)) && fits_float(s.v.c.im, mt_dtype_to_real(dtype));
    else if (dtype != MT_DTYPE_b8 && dtype != MT_DTYPE_c128)
        fits = fits_float(mt_scalar_to_double(s), mt_dtype_to_real(dtype));
    if (!fits)
        return mt_error_set(MT_ERR_RUNTIME, "value cannot be converted to type %s without overflow", c_names[dtype]);
    return 0;
}

int mt_scalar_store_checked(void *dst, mt_dtype dtype, mt_scalar s)
{
    if (mt_scalar_check(dtype, s) < 0)
        return -1;
    mt_scalar_store(dst, dtype, s);
    return 0;
}

static mt_scalar load_shell(const void *src, mt_dtype dtype)
{
    uint8_t code;
    mt_c32 c;

    if (dtype == MT_DTYPE_c32) {
        memcpy(&c, src, sizeof(c));
        return mt_scalar_from_complex((double)mt_f16_to_f32(c.re), (double)mt_f16_to_f32(c.im));
    }
    memcpy(&code, src, 1);
    return mt_scalar_from_double((double)(dtype == MT_DTYPE_f8e4m3fn     ? mt_f8e4m3fn_to_f32(code)
                                          : dtype == MT_DTYPE_f8e5m2     ? mt_f8e5m2_to_f32(code)
                                          : dtype == MT_DTYPE_f8e4m3fnuz ? mt_f8e4m3fnuz_to_f32(code)
                                          : dtype == MT_DTYPE_f8e5m2fnuz ? mt_f8e5m2fnuz_to_f32(code)
                                          : dtype == MT_DTYPE_f8e8m0fnu  ? mt_f8e8m0fnu_to_f32(code)
                                                                         : 0.0f));
}

mt_scalar mt_scalar_load(const void *src, mt_dtype dtype)
{
    mt_scalar s;

    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        uint16_t half;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        float f32;
        double f64;
        mt_c64 c64;
        mt_c128 c128;
    } v;

    memcpy(&v, src, mt_dtype_size(dtype));
    switch (dtype) {
    case MT_DTYPE_b8:
        return mt_scalar_from_bool(v.u8 != 0);
    case MT_DTYPE_u8:
        return mt_scalar_from_int(v.u8);
    case MT_DTYPE_i8:
        return mt_scalar_from_int(v.i8);
    case MT_DTYPE_i16:
        return mt_scalar_from_int(v.i16);
    case MT_DTYPE_i32:
        return mt_scalar_from_int(v.i32);
    case MT_DTYPE_i64:
        return mt_scalar_from_int(v.i64);
    case MT_DTYPE_f16:
        return mt_scalar_from_double((double)mt_f16_to_f32(v.half));
    case MT_DTYPE_bf16:
        return mt_scalar_from_double((double)mt_bf16_to_f32(v.half));
    case MT_DTYPE_f32:
        return mt_scalar_from_double((double)v.f32);
    case MT_DTYPE_f64:
        return mt_scalar_from_double(v.f64);
    case MT_DTYPE_c64:
        return mt_scalar_from_complex((double)v.c64.re, (double)v.c64.im);
    case MT_DTYPE_c128:
        return mt_scalar_from_complex(v.c128.re, v.c128.im);
    case MT_DTYPE_u16:
        return mt_scalar_from_int(v.half);
    case MT_DTYPE_u32:
        return mt_scalar_from_int(v.u32);
    case MT_DTYPE_u64:
        s = mt_scalar_from_int(v.i64);
        s.is_unsigned = v.i64 < 0;
        return s;
    default:
        return load_shell(src, dtype);
    }
}
