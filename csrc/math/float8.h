/* SPDX-License-Identifier: BSD-3-Clause */
/* The floats of eight bits. Four have a sign, an exponent and a mantissa: they differ in the widths,
   in the bias and in what lies beyond the greatest number. e4m3fn has no infinity and clamps to its
   greatest number; e5m2 has infinities as IEEE would; the fnuz pair has one NaN, in the place of
   minus zero, which also stands for whatever is too great. The fifth, e8m0fnu, is a bare exponent:
   a power of two, nothing else. Conversion from float rounds to nearest even. */
#ifndef MT_MATH_FLOAT8_H
#define MT_MATH_FLOAT8_H

#include "math/scalar.h"

typedef struct mt_float8_format {
    int mantissa, bias; /* bits; of the exponent */
    uint32_t greatest;  /* code of the greatest finite number */
    uint32_t beyond;    /* code, without the sign, of what rounds above it */
    uint32_t nan;       /* code of NaN */
    bool has_minus;     /* minus zero and a signed NaN */
} mt_float8_format;

/* Rounds the magnitude |v| to a code; the exponent field of float is rebased, numbers below the
   least normal one are rounded by adding a number whose last bit is their last bit. */
MT_HD uint8_t mt_f32_to_float8(float v, mt_float8_format f)
{
    uint32_t bits = mt_bits_f32(v), sign = bits >> 31, magnitude = bits & 0x7fffffffu, code;
    int drop = 23 - f.mantissa;
    uint32_t least_normal = (uint32_t)(128 - f.bias) << 23;

    if (magnitude > 0x7f800000u)
        return (uint8_t)(f.has_minus ? f.nan | sign << 7 : f.nan);
    if (magnitude < least_normal) {
        uint32_t magic = (uint32_t)(128 - f.bias + drop) << 23;

        code = mt_bits_f32(mt_from_bits_f32(magnitude) + mt_from_bits_f32(magic)) - magic;
    } else {
        magnitude += ((magnitude >> drop) & 1) + (1u << (drop - 1)) - 1;
        code = (magnitude >> drop) - ((uint32_t)(127 - f.bias) << f.mantissa);
    }
    if (code > f.greatest)
        code = f.beyond;
    if (!f.has_minus && (code == 0 || code == f.nan))
        return (uint8_t)code;
    return (uint8_t)(code | sign << 7);
}

MT_HD float mt_float8_to_f32(uint8_t v, mt_float8_format f)
{
    uint32_t sign = (uint32_t)(v >> 7) << 31, code = v & 0x7fu;
    float least = mt_from_bits_f32((uint32_t)(128 - f.bias - f.mantissa) << 23);

    if (f.has_minus ? code > f.greatest : v == f.nan) /* infinity is the code behind the greatest number */
        return mt_from_bits_f32(sign | (f.has_minus && code == f.beyond ? 0x7f800000u : 0x7fc00000u));
    if (code >> f.mantissa == 0)
        return mt_from_bits_f32(mt_bits_f32((float)code * least) | sign);
    return mt_from_bits_f32((code << (23 - f.mantissa)) + ((uint32_t)(127 - f.bias) << 23) + sign);
}

#define MT_FLOAT8(token, mantissa, bias, greatest, beyond, nan, has_minus)       \
    MT_HD uint8_t mt_f32_to_##token(float v)                                     \
    {                                                                            \
        mt_float8_format f = {mantissa, bias, greatest, beyond, nan, has_minus}; \
                                                                                 \
        return mt_f32_to_float8(v, f);                                           \
    }                                                                            \
    MT_HD float mt_##token##_to_f32(uint8_t v)                                   \
    {                                                                            \
        mt_float8_format f = {mantissa, bias, greatest, beyond, nan, has_minus}; \
                                                                                 \
        return mt_float8_to_f32(v, f);                                           \
    }
MT_FLOAT8(f8e4m3fn, 3, 7, 0x7e, 0x7e, 0x7f, true)
MT_FLOAT8(f8e5m2, 2, 15, 0x7b, 0x7c, 0x7f, true)
MT_FLOAT8(f8e4m3fnuz, 3, 8, 0x7f, 0x80, 0x80, false)
MT_FLOAT8(f8e5m2fnuz, 2, 16, 0x7f, 0x80, 0x80, false)
#undef MT_FLOAT8

/* The exponent of float itself; from the middle of two powers of two on it is the greater one (at the
   least two: from behind the middle). Zero is the least power, infinity and NaN are NaN. */
MT_HD uint8_t mt_f32_to_f8e8m0fnu(float v)
{
    uint32_t bits = mt_bits_f32(v) & 0x7fffffffu, exponent = bits >> 23, rest = bits & 0x7fffffu;

    if (exponent == 255)
        return 255;
    if (rest > 0x400000u || (rest == 0x400000u && exponent > 0))
        exponent++;
    return (uint8_t)exponent;
}

MT_HD float mt_f8e8m0fnu_to_f32(uint8_t v)
{
    return v == 255 ? mt_from_bits_f32(0x7fc00000u)
           : v == 0 ? mt_from_bits_f32(0x00400000u)
                    : mt_from_bits_f32((uint32_t)v << 23);
}

#endif
