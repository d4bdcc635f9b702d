/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementary functions of float32 without branches, so that loops over them vectorise. Bounds in
   ulp are checked over all float32 values by tests/math, on every ISA level: exp, exp2, log, log2,
   log10, log1p, sin, cos 1; expm1 1.1; tanh, erf, sigmoid 1.5; tan 2.5. MT_FMA32 rounds once on v3
   and v4, twice on v2, where exp2 and the logarithms to other bases have 0.2 more and results may
   differ by a unit.

   Three forms of a function f: mt_f_f32 is right everywhere. Where special cases would cost the
   common case too much, there are mt_f_fast_f32, right unless mt_f_is_rare_f32 says otherwise, and
   the loops do a block again when it holds a rare argument (MT_RARE_f in elementary.h). Polynomials
   were made by the Remez exchange for the interval stated. */
#ifndef MT_MATH_ELEMENTARY_F32_H
#define MT_MATH_ELEMENTARY_F32_H

#include "math/scalar.h"

/* Added and taken away it rounds to an integer, which is left in the low bits of the sum. */
#define MT_SHIFTER32 12582912.0f
#define MT_LN2_HIGH32 0x1.62e4p-1f /* 15 bits: products with exponents are exact */
#define MT_LN2_LOW32 0x1.7f7d1cp-20f

/* A measure of rarity that loops take the maximum of, and the greatest value that is not rare (bits
   of a float32). */
#define MT_RARE_BEYOND_exp 0x42ae0000u     /* 87 */
#define MT_RARE_BEYOND_tanh 0x422c0000u    /* 43 */
#define MT_RARE_BEYOND_sigmoid 0x42ae0000u /* 87 */
#define MT_RARE_BEYOND_sin 0x473b8000u     /* 48000 */
#define MT_RARE_BEYOND_cos 0x473b8000u     /* 48000 */
#define MT_RARE_BEYOND_tan 0x473b8000u     /* 48000 */
#define MT_RARE_BEYOND_log 0x7effffffu     /* greatest finite number */
#define MT_RARE_BEYOND_log2 0x7effffffu    /* greatest finite number */
#define MT_RARE_BEYOND_log10 0x7effffffu   /* greatest finite number */
#define MT_RARE_BEYOND_log1p 0x4b000000u   /* 1 + x = 2^23 */

/* x = n ln 2 + r with |r| <= ln 2 / 2 and r = high + low. */
typedef struct mt_exp_parts32 {
    float shifted, high, low;
} mt_exp_parts32;

MT_HD mt_exp_parts32 mt_exp_split_f32(float x)
{
    mt_exp_parts32 p;
    float n;

    p.shifted = MT_FMA32(x, 0x1.715476p+0f, MT_SHIFTER32);
    n = p.shifted - MT_SHIFTER32;
    p.high = MT_FMA32(n, -MT_LN2_HIGH32, x);
    p.low = n * -MT_LN2_LOW32;
    return p;
}

/* e^r - 1 with the error of one rounding of about r: high + (low + r^2 q(r)). */
MT_HD float mt_exp_poly_f32(mt_exp_parts32 p)
{
    float r = p.high + p.low, q = 0x1.6a2384p-10f;

    q = MT_FMA32(q, r, 0x1.123a6ap-7f);
    q = MT_FMA32(q, r, 0x1.5558f4p-5f);
    q = MT_FMA32(q, r, 0x1.55549p-3f);
    q = MT_FMA32(q, r, 0x1.fffffcp-2f);
    return p.high + MT_FMA32(r * r, q, p.low);
}

/* The same to 2^-34, for functions that vanish at 0, and without `high`. */
MT_HD float mt_exp_fine_tail_f32(mt_exp_parts32 p)
{
    float r = p.high + p.low, q = 0x1.9f07ecp-13f;

    q = MT_FMA32(q, r, 0x1.6d8dbp-10f);
    q = MT_FMA32(q, r, 0x1.111272p-7f);
    q = MT_FMA32(q, r, 0x1.55548ep-5f);
    q = MT_FMA32(q, r, 0x1.555554p-3f);
    q = MT_FMA32(q, r, 0x1p-1f);
    return MT_FMA32(r * r, q, p.low);
}

/* 2^n where n sits in the low bits of `shifted` and 2^n is a normal number. */
MT_HD float mt_power_of_two_f32(float shifted)
{
    return mt_from_bits_f32((mt_bits_f32(shifted) << 23) + 0x3f800000u);
}

/* value * 2^n for a value near 1 and a normal result. */
MT_HD float mt_scale_f32(float value, float shifted)
{
    return mt_from_bits_f32(mt_bits_f32(value) + (mt_bits_f32(shifted) << 23));
}

/* value * 2^n in two steps, for results that overflow or are subnormal. */
MT_HD float mt_scale_wide_f32(float value, float shifted)
{
    int32_t n = (int32_t)(mt_bits_f32(shifted) - 0x4b400000u), half = n >> 1;
    float a = mt_from_bits_f32((uint32_t)(half + 127) << 23);
    float b = mt_from_bits_f32((uint32_t)(n - half + 127) << 23);

    return value * a * b;
}

MT_HD float mt_limit_f32(float x, float low, float high)
{
    float r = x < low ? low : x; /* NaN stays */

    return r > high ? high : r;
}

/* --- exponentials --- */

MT_HD float mt_exp_fast_f32(float x)
{
    mt_exp_parts32 p = mt_exp_split_f32(x);

    return mt_scale_f32(1.0f + mt_exp_poly_f32(p), p.shifted);
}

MT_HD uint32_t mt_exp_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_exp_is_rare_f32(float x)
{
    return mt_exp_rarity_f32(x) > MT_RARE_BEYOND_exp;
}

MT_HD float mt_exp_f32(float x)
{
    mt_exp_parts32 p = mt_exp_split_f32(mt_limit_f32(x, -104.0f, 89.0f));

    return mt_scale_wide_f32(1.0f + mt_exp_poly_f32(p), p.shifted);
}

/* Results below the normal numbers are 0. The first is for arguments that are at most 0 (softmax).
   */
MT_HD float mt_exp_down_f32(float x)
{
    mt_exp_parts32 p = mt_exp_split_f32(x < -87.0f ? -87.0f : x);
    float r = (1.0f + mt_exp_poly_f32(p)) * mt_power_of_two_f32(p.shifted); /* a product keeps NaN */

    return x < -87.0f ? 0.0f : r;
}

MT_HD float mt_exp_plain_f32(float x)
{
    mt_exp_parts32 p = mt_exp_split_f32(x < -86.0f ? -86.0f : x);
    float r = (1.0f + mt_exp_poly_f32(p)) * mt_power_of_two_f32(p.shifted - 1.0f);

    r = x < -86.0f ? 0.0f : r + r;
    return x > 0x1.62e43p+6f ? MT_INF : r;
}

MT_HD float mt_exp2_poly_f32(float f)
{
    float q = 0x1.41fb3ap-13f;

    q = MT_FMA32(q, f, 0x1.5f3f3p-10f);
    q = MT_FMA32(q, f, 0x1.3b2d5p-7f);
    q = MT_FMA32(q, f, 0x1.c6aee6p-5f);
    q = MT_FMA32(q, f, 0x1.ebfbdcp-3f);
    q = MT_FMA32(q, f, 0x1.62e43p-1f);
    return MT_FMA32(q, f, 1.0f);
}

MT_HD float mt_exp2_f32(float x)
{
    float c = mt_limit_f32(x, -151.0f, 129.0f), shifted = c + MT_SHIFTER32;
    float f = c - (shifted - MT_SHIFTER32);

    return mt_scale_wide_f32(mt_exp2_poly_f32(f), shifted);
}

/* 2^n (e^r - 1) + (2^n - 1), at half size so that 2^128 is not needed. */
MT_HD float mt_expm1_f32(float x)
{
    mt_exp_parts32 p = mt_exp_split_f32(mt_limit_f32(x, -18.0f, 89.0f));
    float s = mt_power_of_two_f32(p.shifted - 1.0f), c = s - 0.5f;
    float sum = MT_FMA32(s, p.high, c), lost = MT_FMA32(s, p.high, c - sum);
    float r = (sum + MT_FMA32(s, mt_exp_fine_tail_f32(p), lost)) * 2.0f;

    return x == 0.0f ? x : r;
}

/* --- logarithms --- */

/* x = 2^e (1 + f) with 2/3 <= 1 + f < 4/3; log(1 + f) = f + low. */
typedef struct mt_log_parts32 {
    float exponent, f, low;
} mt_log_parts32;

MT_HD float mt_log_poly_f32(float f)
{
    float q = -0x1.0806dp-3f;

    q = MT_FMA32(q, f, 0x1.1e66bp-3f);
    q = MT_FMA32(q, f, -0x1.f31098p-4f);
    q = MT_FMA32(q, f, 0x1.1ed71cp-3f);
    q = MT_FMA32(q, f, -0x1.559dd2p-3f);
    q = MT_FMA32(q, f, 0x1.99d028p-3f);
    q = MT_FMA32(q, f, -0x1.fffefp-3f);
    q = MT_FMA32(q, f, 0x1.555506p-2f);
    q = MT_FMA32(q, f, -0.5f);
    return f * f * q;
}

MT_HD mt_log_parts32 mt_log_split_f32(float x)
{
    mt_log_parts32 p;
    uint32_t u = mt_bits_f32(x) - 0x3f2aaaabu;
    int32_t e = (int32_t)u >> 23;

    p.exponent = (float)e;
    p.f = mt_from_bits_f32((u & 0x7fffffu) + 0x3f2aaaabu) - 1.0f;
    p.low = mt_log_poly_f32(p.f);
    return p;
}

/* high + f + low where |high| is 0 or more than |f|; one rounding in the end. */
MT_HD float mt_log_sum_f32(float high, float f, float low)
{
    float s = high + f, lost = (high - s) + f;

    return s + (lost + low);
}

MT_HD float mt_log_join_f32(mt_log_parts32 p)
{
    return mt_log_sum_f32(p.exponent * MT_LN2_HIGH32, p.f, MT_FMA32(p.exponent, MT_LN2_LOW32, p.low));
}

/* What the rounding of a * b loses; b has at most 13 bits. */
MT_HD float mt_lost_product_f32(float a, float b, float product)
{
#if MT_HAVE_FMA
    return MT_FMA32(a, b, -product);
#else
    float top = mt_from_bits_f32(mt_bits_f32(a) & 0xffffe000u);

    return (top * b - product) + (a - top) * b;
#endif
}

/* log2(1 + f) = (f + low) log2 e, in two parts. */
MT_HD float mt_log2_join_f32(mt_log_parts32 p)
{
    float high = p.f * 0x1.715p+0f, rest = mt_lost_product_f32(p.f, 0x1.715p+0f, high);

    /* 0x1.1d94aep-14 is log2 e - 0x1.715 */
    rest = MT_FMA32(p.low, 0x1.715476p+0f, MT_FMA32(p.f, 0x1.1d94aep-14f, rest));
    return mt_log_sum_f32(p.exponent, high, rest);
}

MT_HD float mt_log10_join_f32(mt_log_parts32 p)
{
    float high = p.f * 0x1.bccp-2f, rest = mt_lost_product_f32(p.f, 0x1.bccp-2f, high);

    rest = MT_FMA32(p.low, 0x1.bcb7b2p-2f, MT_FMA32(p.f, -0x1.09d5b2p-15f, rest));
    rest = MT_FMA32(p.exponent, 0x1.3509f8p-18f, rest);
    return mt_log_sum_f32(p.exponent * 0x1.344p-2f, high, rest);
}

/* Zero, negative, subnormal, infinite, NaN. */
MT_HD uint32_t mt_log_rarity_f32(float x)
{
    return mt_bits_f32(x) - 0x00800000u;
}

MT_HD bool mt_log_is_rare_f32(float x)
{
    return mt_log_rarity_f32(x) > MT_RARE_BEYOND_log;
}

/* Subnormal arguments are scaled; the exponent is put right here. */
MT_HD mt_log_parts32 mt_log_split_wide_f32(float x)
{
    bool is_small = x < 0x1p-126f;
    mt_log_parts32 p = mt_log_split_f32(is_small ? x * 0x1p23f : x);

    p.exponent -= is_small ? 23.0f : 0.0f;
    return p;
}

MT_HD float mt_log_special_f32(float x, float value)
{
    float r = x == MT_INF ? x : value;

    r = x == 0.0f ? -MT_INF : r;
    return x >= 0.0f ? r : MT_NAN;
}

MT_HD float mt_log_fast_f32(float x)
{
    return mt_log_join_f32(mt_log_split_f32(x));
}

MT_HD float mt_log_f32(float x)
{
    return mt_log_special_f32(x, mt_log_join_f32(mt_log_split_wide_f32(x)));
}

MT_HD uint32_t mt_log2_rarity_f32(float x)
{
    return mt_bits_f32(x) - 0x00800000u;
}

MT_HD bool mt_log2_is_rare_f32(float x)
{
    return mt_log2_rarity_f32(x) > MT_RARE_BEYOND_log2;
}

MT_HD float mt_log2_fast_f32(float x)
{
    return mt_log2_join_f32(mt_log_split_f32(x));
}

MT_HD float mt_log2_f32(float x)
{
    return mt_log_special_f32(x, mt_log2_join_f32(mt_log_split_wide_f32(x)));
}

MT_HD uint32_t mt_log10_rarity_f32(float x)
{
    return mt_bits_f32(x) - 0x00800000u;
}

MT_HD bool mt_log10_is_rare_f32(float x)
{
    return mt_log10_rarity_f32(x) > MT_RARE_BEYOND_log10;
}

MT_HD float mt_log10_fast_f32(float x)
{
    return mt_log10_join_f32(mt_log_split_f32(x));
}

MT_HD float mt_log10_f32(float x)
{
    return mt_log_special_f32(x, mt_log10_join_f32(mt_log_split_wide_f32(x)));
}

/* 1 + x = 2^e (1 + f): f = 2^-e x + (2^-e - 1) has one rounding, whose loss is added, and is x
   itself when e is 0. */
MT_HD mt_log_parts32 mt_log1p_split_f32(float x)
{
    mt_log_parts32 p;
    uint32_t u = mt_bits_f32(1.0f + x) - 0x3f2aaaabu;
    float s = mt_from_bits_f32(0x3f800000u - (u & 0xff800000u)), lost;

    p.exponent = (float)((int32_t)u >> 23);
    p.f = MT_FMA32(s, x, s - 1.0f);
    lost = MT_FMA32(s, x, (s - 1.0f) - p.f);
    p.low = mt_log_poly_f32(p.f) + MT_FMA32(-p.f, lost, lost);
    return p;
}

MT_HD uint32_t mt_log1p_rarity_f32(float x)
{
    return mt_bits_f32(1.0f + x) - 0x00800000u;
}

MT_HD bool mt_log1p_is_rare_f32(float x)
{
    return mt_log1p_rarity_f32(x) > MT_RARE_BEYOND_log1p;
}

MT_HD float mt_log1p_fast_f32(float x)
{
    return copysignf(mt_log_join_f32(mt_log1p_split_f32(x)), x);
}

MT_HD float mt_log1p_f32(float x)
{
    bool is_large = x >= 0x1p24f;
    mt_log_parts32 p = mt_log1p_split_f32(is_large ? 1.0f : x);
    mt_log_parts32 q = mt_log_split_f32(is_large ? x : 1.0f);
    float r;

    p.exponent = is_large ? q.exponent : p.exponent;
    p.f = is_large ? q.f : p.f;
    p.low = is_large ? q.low : p.low;
    r = mt_log_join_f32(p);
    r = x == MT_INF ? x : r;
    r = x == 0.0f ? x : r;
    r = x == -1.0f ? -MT_INF : r;
    return x >= -1.0f ? r : MT_NAN;
}

/* --- tanh, sigmoid, erf --- */

/* 2^x as 2^n (1 + y), for arguments where the error of one rounding of x does not matter. Good to
   2^-29 or 2^-23. */
typedef struct mt_exp2_parts32 {
    float power, y;
} mt_exp2_parts32;

MT_HD mt_exp2_parts32 mt_exp2_split_f32(float shifted, float f)
{
    mt_exp2_parts32 p;
    float q = 0x1.41fb3ap-13f;

    q = MT_FMA32(q, f, 0x1.5f3f3p-10f);
    q = MT_FMA32(q, f, 0x1.3b2d5p-7f);
    q = MT_FMA32(q, f, 0x1.c6aee6p-5f);
    q = MT_FMA32(q, f, 0x1.ebfbdcp-3f);
    q = MT_FMA32(q, f, 0x1.62e43p-1f);
    p.power = mt_power_of_two_f32(shifted);
    p.y = q * f;
    return p;
}

/* 2 log2(e) a - n, with one rounding or nearly so. */
MT_HD float mt_tanh_fraction_f32(float a, float n)
{
#if MT_HAVE_FMA
    return MT_FMA32(a, 0x1.715476p+1f, -n);
#else
    float product = a * 0x1.715p+1f;

    return (product - n) + (mt_lost_product_f32(a, 0x1.715p+1f, product) + a * 0x1.1d94aep-13f);
#endif
}

/* Below 0.6 an odd polynomial, above 1 - 2 / (e^2x + 1). */
MT_HD uint32_t mt_tanh_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_tanh_is_rare_f32(float x)
{
    return mt_tanh_rarity_f32(x) > MT_RARE_BEYOND_tanh;
}

MT_HD float mt_tanh_fast_f32(float x)
{
    float a = fabsf(x), z = x * x, q = -0x1.825828p-8f, small, large;
    float shifted = MT_FMA32(a, 0x1.715476p+1f, MT_SHIFTER32), n = shifted - MT_SHIFTER32;
    mt_exp2_parts32 p = mt_exp2_split_f32(shifted, mt_tanh_fraction_f32(a, n));

    q = MT_FMA32(q, z, 0x1.54b89ap-6f);
    q = MT_FMA32(q, z, -0x1.b898dep-5f);
    q = MT_FMA32(q, z, 0x1.1109aep-3f);
    q = MT_FMA32(q, z, -0x1.55553ep-2f);
    small = MT_FMA32(a * z, q, a);
    large = 1.0f - 2.0f / MT_FMA32(p.power, p.y, p.power + 1.0f);
    return copysignf(a > 0.6f ? large : small, x); /* NaN goes the small way */
}

MT_HD float mt_tanh_f32(float x)
{
    float limited = mt_limit_f32(x, -43.0f, 43.0f);

    return mt_tanh_fast_f32(limited);
}

/* 1 / (1 + G) with G = e^|x|, or 1 minus that; what the roundings of 1 + G lose is put back. */
MT_HD float mt_sigmoid_parts_f32(float a, float one)
{
    mt_exp_parts32 p = mt_exp_split_f32(a);
    float y = mt_exp_poly_f32(p);
    float s = mt_from_bits_f32((mt_bits_f32(p.shifted) << 23) + mt_bits_f32(one));
    float sum = s + 1.0f, lost = 1.0f - (sum - s), d = MT_FMA32(s, y, sum), q = 1.0f / d;

    lost += MT_FMA32(s, y, sum - d);
    return MT_FMA32(-q * q, lost, q);
}

MT_HD uint32_t mt_sigmoid_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_sigmoid_is_rare_f32(float x)
{
    return mt_sigmoid_rarity_f32(x) > MT_RARE_BEYOND_sigmoid;
}

MT_HD float mt_sigmoid_fast_f32(float x)
{
    float w = mt_sigmoid_parts_f32(fabsf(x), 1.0f);

    return x < 0.0f ? w : 1.0f - w;
}

/* Where G or the result do not fit, all is scaled by 2^-64. */
MT_HD float mt_sigmoid_f32(float x)
{
    float a = fabsf(x), c = a > 104.0f ? 104.0f : a, w;
    bool is_big = a > 86.0f;

    w = mt_sigmoid_parts_f32(c, is_big ? 0x1p-64f : 1.0f);
    w *= is_big ? 0x1p-64f : 1.0f;
    return x < 0.0f ? w : 1.0f - w;
}

/* The same with an error up to 3 ulp, for formulas that round several times anyway; 0 below -88. */
MT_HD float mt_sigmoid_quick_f32(float x)
{
    mt_exp_parts32 p = mt_exp_split_f32(mt_limit_f32(-x, -80.0f, 88.0f));
    float s = mt_power_of_two_f32(p.shifted), r = 1.0f / MT_FMA32(s, mt_exp_poly_f32(p), s + 1.0f);

    return -x > 88.0f ? 0.0f : r;
}

/* Below 0.8 an odd polynomial, above 1 - 2^q(|x|). */
MT_HD float mt_erf_f32(float x)
{
    float a = fabsf(x), z = x * x, small = -0x1.56a2a2p-11f;
    float t = a > 4.0f ? 4.0f : a, q = 0x1.3bb656p-12f, large;
    float shifted, f, g = 0x1.41fb3ap-13f;

    small = MT_FMA32(small, z, 0x1.4d425ep-8f);
    small = MT_FMA32(small, z, -0x1.b76eap-6f);
    small = MT_FMA32(small, z, 0x1.ce2804p-4f);
    small = MT_FMA32(small, z, -0x1.81272ep-2f);
    small = MT_FMA32(small, z, 0x1.06eba8p-3f);
    small = MT_FMA32(small, a, a);
    q = MT_FMA32(q, t, -0x1.2b3be4p-8f);
    q = MT_FMA32(q, t, 0x1.0c3fe6p-5f);
    q = MT_FMA32(q, t, -0x1.35df24p-3f);
    q = MT_FMA32(q, t, -0x1.d5e488p-1f);
    q = MT_FMA32(q, t, -0x1.a0b452p+0f);
    q = MT_FMA32(q, t, -0x1.580c6ep-14f);
    shifted = q + MT_SHIFTER32;
    f = q - (shifted - MT_SHIFTER32);
    g = MT_FMA32(g, f, 0x1.5f3f3p-10f);
    g = MT_FMA32(g, f, 0x1.3b2d5p-7f);
    g = MT_FMA32(g, f, 0x1.c6aee6p-5f);
    g = MT_FMA32(g, f, 0x1.ebfbdcp-3f);
    g = MT_FMA32(g, f, 0x1.62e43p-1f);
    large = 1.0f - mt_scale_f32(MT_FMA32(g, f, 1.0f), shifted);
    return copysignf(a > 0.8f ? large : small, x);
}

/* The distribution function of the normal distribution, to half a unit of 1 (not of the result):
   below |x| = 1 an odd polynomial beside 1/2, above 2^q(|x|) or 1 minus that; 0 and 1 beyond 5.66,
   where erf is +-1 in float. NaN may be lost. */
MT_HD float mt_normal_cdf_f32(float x)
{
    float a = fabsf(x), z = x * x, p = 0x1.7fd478p-14f;
    float t = a > 5.66f ? 5.66f : a, q = 0x1.457b5cp-15f;
    float shifted, f, g = 0x1.5bb944p-10f, tail;

    p = MT_FMA32(p, z, -0x1.30e74cp-10f);
    p = MT_FMA32(p, z, 0x1.4672a4p-7f);
    p = MT_FMA32(p, z, -0x1.1055eep-4f);
    p = MT_FMA32(p, z, 0x1.98844ap-2f);
    p = MT_FMA32(p, x, 0.5f);
    q = MT_FMA32(q, t, -0x1.af1254p-11f);
    q = MT_FMA32(q, t, 0x1.0ed2bap-7f);
    q = MT_FMA32(q, t, -0x1.b7f5d6p-5f);
    q = MT_FMA32(q, t, -0x1.d592cep-2f);
    q = MT_FMA32(q, t, -0x1.26b71cp+0f);
    q = MT_FMA32(q, t, -0x1.000094p+0f);
    shifted = q + MT_SHIFTER32;
    f = q - (shifted - MT_SHIFTER32);
    g = MT_FMA32(g, f, 0x1.3ceb6cp-7f);
    g = MT_FMA32(g, f, 0x1.c6b75ap-5f);
    g = MT_FMA32(g, f, 0x1.ebf9bap-3f);
    g = MT_FMA32(g, f, 0x1.62e42ap-1f);
    tail = mt_scale_f32(MT_FMA32(g, f, 1.0f), shifted);
    tail = a > 5.66f ? 0.0f : tail;
    tail = x > 0.0f ? 1.0f - tail : tail;
    return a > 1.0f ? tail : p;
}

/* The slope of x cdf(x), to a unit of 1: with density d it is d(x) m(|x|) below zero and 1 minus that above, where m is a
   polynomial up to 5.66, beyond which only -|x| d counts. */
MT_HD float mt_gelu_slope_f32(float x)
{
    float a = fabsf(x), t = a > 5.66f ? 5.66f : a, m = -0x1.5bb99ep-22f, tail;

    m = MT_FMA32(m, t, 0x1.0864b2p-17f);
    m = MT_FMA32(m, t, -0x1.69d736p-14f);
    m = MT_FMA32(m, t, 0x1.2b5efp-11f);
    m = MT_FMA32(m, t, -0x1.5665ep-9f);
    m = MT_FMA32(m, t, 0x1.2870e2p-7f);
    m = MT_FMA32(m, t, -0x1.a232cap-6f);
    m = MT_FMA32(m, t, 0x1.fb9e5p-5f);
    m = MT_FMA32(m, t, -0x1.100682p-3f);
    m = MT_FMA32(m, t, 0x1.fff424p-3f);
    m = MT_FMA32(m, t, -0x1.98842ep-1f);
    m = MT_FMA32(m, t, 0.5f);
    m = a > 5.66f ? -0x1.988454p-2f * a : m;
    tail = mt_exp_down_f32(-0.5f * x * x) * m;
    return x < 0.0f ? 0.0f + tail : 1.0f - tail;
}

/* --- sine and cosine --- */

/* x = n pi/2 + r, r = high + low; right for |x| up to the bound of is_rare. */
typedef struct mt_trig_parts32 {
    float high, low;
    uint32_t n;
} mt_trig_parts32;

MT_HD uint32_t mt_sin_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_sin_is_rare_f32(float x)
{
    return mt_sin_rarity_f32(x) > MT_RARE_BEYOND_sin;
}

MT_HD uint32_t mt_cos_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_cos_is_rare_f32(float x)
{
    return mt_cos_rarity_f32(x) > MT_RARE_BEYOND_cos;
}

MT_HD uint32_t mt_tan_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_tan_is_rare_f32(float x)
{
    return mt_tan_rarity_f32(x) > MT_RARE_BEYOND_tan;
}

MT_HD mt_trig_parts32 mt_trig_split_f32(float x)
{
    mt_trig_parts32 p;
    float shifted = MT_FMA32(x, 0x1.45f306p-1f, MT_SHIFTER32), n = shifted - MT_SHIFTER32;
#if MT_HAVE_FMA
    float a = MT_FMA32(n, -0x1.921fb6p+0f, x); /* exact */
    float b = n * 0x1.777a5cp-25f, lost = MT_FMA32(n, 0x1.777a5cp-25f, -b), part;

    p.high = a + b;
    part = p.high - a;
    p.low = (a - (p.high - part)) + (b - part);
    p.low = p.low + MT_FMA32(n, 0x1.ee59dap-50f, lost);
#else
    double r = ((double)x - (double)n * 0x1.921fb544p+0) - (double)n * 0x1.0b4611a626331p-34;

    p.high = (float)r;
    p.low = (float)(r - (double)p.high);
#endif
    p.n = mt_bits_f32(shifted);
    return p;
}

MT_HD float mt_sin_poly_f32(mt_trig_parts32 p)
{
    float z = p.high * p.high, q = 0x1.6ccf5ep-19f;

    q = MT_FMA32(q, z, -0x1.a00f74p-13f);
    q = MT_FMA32(q, z, 0x1.111108p-7f);
    q = MT_FMA32(q, z, -0x1.555556p-3f);
    return p.high + MT_FMA32(p.high * z, q, p.low);
}

MT_HD float mt_cos_poly_f32(mt_trig_parts32 p)
{
    float z = p.high * p.high, q = 0x1.99e86cp-16f, half = 0.5f * z, w = 1.0f - half;

    q = MT_FMA32(q, z, -0x1.6c0c28p-10f);
    q = MT_FMA32(q, z, 0x1.55554ap-5f);
    return w + (((1.0f - w) - half) + MT_FMA32(z * z, q, -p.high * p.low));
}

MT_HD float mt_sin_fast_f32(float x)
{
    mt_trig_parts32 p = mt_trig_split_f32(x);
    float s = mt_sin_poly_f32(p), c = mt_cos_poly_f32(p), r = p.n & 1 ? c : s;

    r = mt_from_bits_f32(mt_bits_f32(r) ^ (p.n & 2) << 30);
    return x == 0.0f ? x : r;
}

MT_HD float mt_cos_fast_f32(float x)
{
    mt_trig_parts32 p = mt_trig_split_f32(x);
    float s = mt_sin_poly_f32(p), c = mt_cos_poly_f32(p), r = p.n & 1 ? s : c;

    return mt_from_bits_f32(mt_bits_f32(r) ^ ((p.n + 1) & 2) << 30);
}

MT_HD float mt_tan_fast_f32(float x)
{
    mt_trig_parts32 p = mt_trig_split_f32(x);
    float s = mt_sin_poly_f32(p), c = mt_cos_poly_f32(p);
    float above = p.n & 1 ? -c : s, below = p.n & 1 ? s : c;

    return x == 0.0f ? x : above / below;
}

MT_HD float mt_sin_f32(float x)
{
    return mt_sin_is_rare_f32(x) ? sinf(x) : mt_sin_fast_f32(x);
}

MT_HD float mt_cos_f32(float x)
{
    return mt_cos_is_rare_f32(x) ? cosf(x) : mt_cos_fast_f32(x);
}

MT_HD float mt_tan_f32(float x)
{
    return mt_tan_is_rare_f32(x) ? tanf(x) : mt_tan_fast_f32(x);
}

#endif
