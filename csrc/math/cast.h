/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of one element: mt_cast_<from>_to_<S> of an int64 (i), a smaller integer or bool (s),
   a float (f) or a double (d). Floating point to integer truncates, out of range as x86 does; to
   uint8 through 64 bits; to bool is != 0. */
#ifndef MT_MATH_CAST_H
#define MT_MATH_CAST_H

#include "math/scalar.h"

MT_HD mt_c64 mt_cast_pair32(float re)
{
    mt_c64 z;

    z.re = re;
    z.im = 0.0f;
    return z;
}

MT_HD mt_c128 mt_cast_pair64(double re)
{
    mt_c128 z;

    z.re = re;
    z.im = 0.0;
    return z;
}

#define MT_CAST_RULES(token, type, from_int, from_float, from_double) \
    MT_HD type mt_cast_i_to_##token(int64_t v)                        \
    {                                                                 \
        return from_int(v);                                           \
    }                                                                 \
    MT_HD type mt_cast_s_to_##token(int32_t v)                        \
    {                                                                 \
        return from_int(v);                                           \
    }                                                                 \
    MT_HD type mt_cast_f_to_##token(float v)                          \
    {                                                                 \
        return from_float(v);                                         \
    }                                                                 \
    MT_HD type mt_cast_d_to_##token(double v)                         \
    {                                                                 \
        return from_double(v);                                        \
    }
/* Floats of 2^31 and more are multiples of 256, so 32 bits are enough for uint8. */
#define MT_CAST_U8_I(value) (uint8_t)(value)
#define MT_CAST_U8_F(value) (uint8_t)mt_f32_to_i32(value)
#define MT_CAST_U8_D(value) (uint8_t)mt_f64_to_i64(value)
#define MT_CAST_I8_I(value) (int8_t)(value)
#define MT_CAST_I8_F(value) (int8_t)mt_f32_to_i32(value)
#define MT_CAST_I8_D(value) (int8_t)mt_f64_to_i32(value)
#define MT_CAST_I16_I(value) (int16_t)(value)
#define MT_CAST_I16_F(value) (int16_t)mt_f32_to_i32(value)
#define MT_CAST_I16_D(value) (int16_t)mt_f64_to_i32(value)
#define MT_CAST_I32_I(value) (int32_t)(value)
#define MT_CAST_I64_I(value) (int64_t)(value)
#define MT_CAST_BOOL(value) ((value) != 0)
#define MT_CAST_F32(value) (float)(value)
#define MT_CAST_F64(value) (double)(value)
#define MT_CAST_C64(value) mt_cast_pair32((float)(value))
#define MT_CAST_C128(value) mt_cast_pair64((double)(value))
MT_CAST_RULES(b8, uint8_t, MT_CAST_BOOL, MT_CAST_BOOL, MT_CAST_BOOL)
MT_CAST_RULES(u8, uint8_t, MT_CAST_U8_I, MT_CAST_U8_F, MT_CAST_U8_D)
MT_CAST_RULES(i8, int8_t, MT_CAST_I8_I, MT_CAST_I8_F, MT_CAST_I8_D)
MT_CAST_RULES(i16, int16_t, MT_CAST_I16_I, MT_CAST_I16_F, MT_CAST_I16_D)
MT_CAST_RULES(i32, int32_t, MT_CAST_I32_I, mt_f32_to_i32, mt_f64_to_i32)
MT_CAST_RULES(i64, int64_t, MT_CAST_I64_I, mt_f32_to_i64, mt_f64_to_i64)
MT_CAST_RULES(f32, float, MT_CAST_F32, MT_CAST_F32, MT_CAST_F32)
MT_CAST_RULES(f64, double, MT_CAST_F64, MT_CAST_F64, MT_CAST_F64)
MT_CAST_RULES(c64, mt_c64, MT_CAST_C64, MT_CAST_C64, MT_CAST_C64)
MT_CAST_RULES(c128, mt_c128, MT_CAST_C128, MT_CAST_C128, MT_CAST_C128)

#endif
