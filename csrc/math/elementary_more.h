/* SPDX-License-Identifier: BSD-3-Clause */
/* Powers, exact remainders, inverse and hyperbolic functions. float32 without branches, error at
   most 2.5 ulp (pow and fmod: 1 and exact); arguments outside the common range are "rare" and go to
   the C library (see elementary_f32.h for the three forms of a function). float64 calls the C
   library except for fmod. */
#ifndef MT_MATH_ELEMENTARY_MORE_H
#define MT_MATH_ELEMENTARY_MORE_H

#include "math/elementary_f32.h"
#include "math/elementary_f64.h"

/* Arguments that are rare, see elementary_f32.h. */
#define MT_RARE_BEYOND_sinh 0x42b00000u  /* 88 */
#define MT_RARE_BEYOND_cosh 0x42b00000u  /* 88 */
#define MT_RARE_BEYOND_asinh 0x4b000000u /* 8.38861e+06 */
#define MT_RARE_BEYOND_atanh 0x3f7fffffu /* 1 */

/* --- fmod: the quotient is at most one too large, which shows in the sign of the remainder --- */

/* Quotients beyond 2^24, infinities, NaN, zero divisors. */
MT_HD bool mt_fmod_is_rare_f32(float a, float b)
{
    return !(fabsf(a / b) < 0x1p24f) | !(fabsf(b) < MT_INF);
}

MT_HD float mt_fmod_fast_f32(float a, float b)
{
    float x = fabsf(a), y = fabsf(b), q = truncf(x / y);
#if MT_HAVE_FMA
    float r = MT_FMA32(-q, y, x);
#else
    float r = (float)((double)x - (double)q * (double)y);
#endif

    r = r < 0.0f ? r + y : r;
    return copysignf(r, a);
}

MT_HD float mt_fmod_f32(float a, float b)
{
    return fmodf(a, b);
}

MT_HD bool mt_fmod_is_rare_f64(double a, double b)
{
#if MT_HAVE_FMA
    return !(fabs(a / b) < 0x1p53) | !(fabs(b) < (double)MT_INF);
#else
    (void)a, (void)b;
    return false;
#endif
}

MT_HD double mt_fmod_f64(double a, double b)
{
    return fmod(a, b);
}

MT_HD double mt_fmod_fast_f64(double a, double b)
{
#if MT_HAVE_FMA
    double x = fabs(a), y = fabs(b), q = trunc(x / y), r = MT_FMA64(-q, y, x);

    r = r < 0.0 ? r + y : r;
    return copysign(r, a);
#else
    return fmod(a, b);
#endif
}

/* --- pow: 2^(b log2 a) in double --- */

/* Anything but a base that is zero or normal, and an exponent that is not huge. */
MT_HD bool mt_pow_is_rare_f32(float a, float b)
{
    return (mt_log_is_rare_f32(fabsf(a)) & (a != 0.0f)) | !(fabsf(b) < 0x1p60f);
}

/* A negative base takes the sign of an odd exponent, and gives NaN when the exponent is no integer;
   zero is apart. */
MT_HD float mt_pow_signs_f32(float a, float b, float power)
{
    bool whole = rintf(b) == b, odd = whole & (rintf(0.5f * b) != 0.5f * b);
    float r = b > 0.0f ? 0.0f : MT_INF;

    r = b == 0.0f ? 1.0f : r;
    r = a == 0.0f ? r : power;
    r = odd ? copysignf(r, a) : r;
    return ((a < 0.0f) & !whole) ? MT_NAN : r;
}

MT_HD float mt_pow_fast_f32(float a, float b)
{
    uint32_t u = mt_bits_f32(fabsf(a)) - 0x3f2aaaabu;
    double f = (double)(mt_from_bits_f32((u & 0x7fffffu) + 0x3f2aaaabu) - 1.0f);
    double e = (double)((int32_t)u >> 23);
    double l = 0x1.2840e3cafbb9dp-3, t, shifted, r, q = 0x1.61c4572d9dbecp-20;

    l = MT_FMA64(l, f, -0x1.34d95595c96c9p-3);
    l = MT_FMA64(l, f, 0x1.9fe9040a09144p-4);
    l = MT_FMA64(l, f, -0x1.c94bfae844a44p-4);
    l = MT_FMA64(l, f, 0x1.0e7c1cc3d33efp-3);
    l = MT_FMA64(l, f, -0x1.29032cdfd5154p-3);
    l = MT_FMA64(l, f, 0x1.4831884b12449p-3);
    l = MT_FMA64(l, f, -0x1.7142079700f4fp-3);
    l = MT_FMA64(l, f, 0x1.a6181d534f074p-3);
    l = MT_FMA64(l, f, -0x1.ec710d9175c40p-3);
    l = MT_FMA64(l, f, 0x1.2776c3c2168edp-2);
    l = MT_FMA64(l, f, -0x1.715475bdd7fb7p-2);
    l = MT_FMA64(l, f, 0x1.ec709dc5623dbp-2);
    l = MT_FMA64(l, f, -0x1.71547652f1634p-1);
    l = MT_FMA64(l, f, 0x1.71547652b8171p+0);
    t = mt_limit_f64((double)b * MT_FMA64(l, f, e), -160.0, 130.0);
    shifted = t + MT_SHIFTER64;
    r = t - (shifted - MT_SHIFTER64);
    q = MT_FMA64(q, r, 0x1.00d8ce44467adp-16);
    q = MT_FMA64(q, r, 0x1.430aaa36d2c91p-13);
    q = MT_FMA64(q, r, 0x1.5d874c5368596p-10);
    q = MT_FMA64(q, r, 0x1.3b2ab5ebc90e5p-7);
    q = MT_FMA64(q, r, 0x1.c6b08dcf62023p-5);
    q = MT_FMA64(q, r, 0x1.ebfbdff8ef724p-3);
    q = MT_FMA64(q, r, 0x1.62e42fef899edp-1);
    return mt_pow_signs_f32(a, b, (float)mt_scale_f64(MT_FMA64(q, r, 1.0), shifted));
}

MT_HD float mt_pow_f32(float a, float b)
{
    return mt_pow_is_rare_f32(a, b) ? powf(a, b) : mt_pow_fast_f32(a, b);
}

MT_HD double mt_pow_f64(double a, double b)
{
    return pow(a, b);
}

/* --- inverse trigonometric functions of float32 --- */

/* 0 <= t <= 1. */
MT_HD float mt_atan_unit_f32(float t)
{
    float z = t * t, q = 0x1.23f9e8p-10f;

    q = MT_FMA32(q, z, -0x1.df980ep-8f);
    q = MT_FMA32(q, z, 0x1.714bb6p-6f);
    q = MT_FMA32(q, z, -0x1.6e1a0ap-5f);
    q = MT_FMA32(q, z, 0x1.1422f2p-4f);
    q = MT_FMA32(q, z, -0x1.68e714p-4f);
    q = MT_FMA32(q, z, 0x1.c4f1e8p-4f);
    q = MT_FMA32(q, z, -0x1.247374p-3f);
    q = MT_FMA32(q, z, 0x1.9997ep-3f);
    q = MT_FMA32(q, z, -0x1.555552p-2f);
    return MT_FMA32(t * z, q, t);
}

MT_HD float mt_atan_f32(float x)
{
    float a = fabsf(x), t = mt_atan_unit_f32(a > 1.0f ? 1.0f / a : a);

    t = a > 1.0f ? 0x1.921fb6p+0f - (t + 0x1.777a5cp-25f) : t;
    return copysignf(t, x);
}

MT_HD float mt_atan2_f32(float y, float x)
{
    float a = fabsf(x), b = fabsf(y), high = a > b ? a : b, low = a > b ? b : a, t = low / high;

    t = high == 0.0f ? 0.0f : t;
    t = low == MT_INF ? 1.0f : t;
    t = mt_atan_unit_f32(t);
    t = b > a ? 0x1.921fb6p+0f - (t + 0x1.777a5cp-25f) : t;
    t = mt_bits_f32(x) >> 31 ? 0x1.921fb6p+1f - (t + 0x1.777a5cp-24f) : t;
    t = copysignf(t, y);
    return ((x != x) | (y != y)) ? x + y : t;
}

/* asin(t) for 0 <= t <= 1/2, from t and z = t^2. */
MT_HD float mt_asin_half_f32(float t, float z)
{
    float q = 0x1.3370b2p-5f;

    q = MT_FMA32(q, z, 0x1.d8d6c4p-7f);
    q = MT_FMA32(q, z, 0x1.04962cp-5f);
    q = MT_FMA32(q, z, 0x1.6cae5p-5f);
    q = MT_FMA32(q, z, 0x1.33388p-4f);
    q = MT_FMA32(q, z, 0x1.55554cp-3f);
    return MT_FMA32(t * z, q, t);
}

/* Above 1/2: pi/2 - 2 asin(sqrt((1 - x) / 2)). */
MT_HD float mt_asin_f32(float x)
{
    float a = fabsf(x), z = a > 0.5f ? 0.5f - 0.5f * a : a * a, t = a > 0.5f ? sqrtf(z) : a;

    t = mt_asin_half_f32(t, z);
    t = a > 0.5f ? 0x1.921fb6p+0f - (2.0f * t + 0x1.777a5cp-25f) : t;
    return copysignf(t, x);
}

MT_HD float mt_acos_f32(float x)
{
    float a = fabsf(x), z = a > 0.5f ? 0.5f - 0.5f * a : a * a;
    float t = a > 0.5f ? sqrtf(z) : a, middle, end;

    t = mt_asin_half_f32(t, z);
    middle = 0x1.921fb6p+0f - (copysignf(t, x) + 0x1.777a5cp-25f);
    end = x < 0.0f ? 0x1.921fb6p+1f - (2.0f * t + 0x1.777a5cp-24f) : 2.0f * t;
    return a > 0.5f ? end : middle;
}

/* --- erfc of float32: e^(-x^2) P((|x| - 3) / (|x| + 3)) in double --- */

MT_HD float mt_erfc_f32(float x)
{
    double a = fabs((double)x), c = a > 10.2 ? 10.2 : a, t = (c - 3.0) / (c + 3.0);
    double p = 0x1.d50e60386cc66p-15;
    float r;

    p = MT_FMA64(p, t, 0x1.e4879eaa1fac4p-16);
    p = MT_FMA64(p, t, -0x1.37b9c43bf276ep-11);
    p = MT_FMA64(p, t, 0x1.773fce90bcc55p-11);
    p = MT_FMA64(p, t, 0x1.17c3db2a6414dp-8);
    p = MT_FMA64(p, t, -0x1.8facd2c8ceeefp-6);
    p = MT_FMA64(p, t, 0x1.258b1af003ad5p-4);
    p = MT_FMA64(p, t, -0x1.336fe72b906b9p-3);
    p = MT_FMA64(p, t, 0x1.f6ff1fb26a653p-3);
    p = MT_FMA64(p, t, -0x1.4e102bddfe8d9p-2);
    p = MT_FMA64(p, t, 0x1.6e9827d507508p-3);
    p *= mt_exp_fast_f64(-c * c);
    r = (float)(x < 0.0f ? 2.0 - p : p);
    return x != x ? x : r;
}

/* --- hyperbolic functions of float32 --- */

MT_HD uint32_t mt_sinh_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_sinh_is_rare_f32(float x)
{
    return mt_sinh_rarity_f32(x) > MT_RARE_BEYOND_sinh;
}

MT_HD uint32_t mt_cosh_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_cosh_is_rare_f32(float x)
{
    return mt_cosh_rarity_f32(x) > MT_RARE_BEYOND_cosh;
}

MT_HD float mt_sinh_fast_f32(float x)
{
    float t = mt_expm1_f32(fabsf(x));

    return copysignf(0.5f * (t + t / (t + 1.0f)), x);
}

MT_HD float mt_cosh_fast_f32(float x)
{
    float t = 0.5f * mt_exp_plain_f32(fabsf(x));

    return t + 0.25f / t;
}

MT_HD float mt_sinh_f32(float x)
{
    return mt_sinh_is_rare_f32(x) ? sinhf(x) : mt_sinh_fast_f32(x);
}

MT_HD float mt_cosh_f32(float x)
{
    return mt_cosh_is_rare_f32(x) ? coshf(x) : mt_cosh_fast_f32(x);
}

MT_HD uint32_t mt_asinh_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_asinh_is_rare_f32(float x)
{
    return mt_asinh_rarity_f32(x) > MT_RARE_BEYOND_asinh;
}

MT_HD float mt_asinh_fast_f32(float x)
{
    float a = fabsf(x), z = a * a;

    return copysignf(mt_log1p_fast_f32(a + z / (1.0f + sqrtf(z + 1.0f))), x);
}

MT_HD float mt_asinh_f32(float x)
{
    return mt_asinh_is_rare_f32(x) ? asinhf(x) : mt_asinh_fast_f32(x);
}

MT_HD bool mt_acosh_is_rare_f32(float x)
{
    return !((x >= 1.0f) & (x <= 0x1p22f));
}

MT_HD float mt_acosh_fast_f32(float x)
{
    float t = x - 1.0f;

    return mt_log1p_fast_f32(t + sqrtf(MT_FMA32(t, t, 2.0f * t)));
}

MT_HD float mt_acosh_f32(float x)
{
    return mt_acosh_is_rare_f32(x) ? acoshf(x) : mt_acosh_fast_f32(x);
}

MT_HD uint32_t mt_atanh_rarity_f32(float x)
{
    return mt_bits_f32(x) & 0x7fffffffu;
}

MT_HD bool mt_atanh_is_rare_f32(float x)
{
    return mt_atanh_rarity_f32(x) > MT_RARE_BEYOND_atanh;
}

MT_HD float mt_atanh_fast_f32(float x)
{
    float a = fabsf(x);

    return copysignf(0.5f * mt_log1p_fast_f32((a + a) / (1.0f - a)), x);
}

MT_HD float mt_atanh_f32(float x)
{
    return mt_atanh_is_rare_f32(x) ? atanhf(x) : mt_atanh_fast_f32(x);
}

/* --- the C library --- */

#define MT_FROM_LIBRARY(fname)              \
    MT_HD double mt_##fname##_f64(double x) \
    {                                       \
        return fname(x);                    \
    }
MT_FROM_LIBRARY(asin)
MT_FROM_LIBRARY(acos)
MT_FROM_LIBRARY(atan)
MT_FROM_LIBRARY(sinh)
MT_FROM_LIBRARY(cosh)
MT_FROM_LIBRARY(asinh)
MT_FROM_LIBRARY(acosh)
MT_FROM_LIBRARY(atanh)
MT_FROM_LIBRARY(erfc)
#undef MT_FROM_LIBRARY

MT_HD double mt_atan2_f64(double y, double x)
{
    return atan2(y, x);
}

#endif
