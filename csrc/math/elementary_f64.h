/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementary functions of float64, in the manner of elementary_f32.h (see there for the three forms
   and for what "rare" means). Bounds in ulp, checked on samples: exp, exp2, log, log1p, sin, cos 1;
   expm1, log2 1.2; log10 1.3; tanh, erf, sigmoid 1.5. */
#ifndef MT_MATH_ELEMENTARY_F64_H
#define MT_MATH_ELEMENTARY_F64_H

#include "math/scalar.h"

#define MT_SHIFTER64 6755399441055744.0
#define MT_LN2_HIGH64 0x1.62e42feep-1 /* 32 bits */
#define MT_LN2_LOW64 0x1.a39ef35793c76p-33

typedef struct mt_exp_parts64 {
    double shifted, high, low;
} mt_exp_parts64;

MT_HD mt_exp_parts64 mt_exp_split_f64(double x)
{
    mt_exp_parts64 p;
    double n;

    p.shifted = MT_FMA64(x, 0x1.71547652b82fep+0, MT_SHIFTER64);
    n = p.shifted - MT_SHIFTER64;
    p.high = MT_FMA64(n, -MT_LN2_HIGH64, x);
    p.low = n * -MT_LN2_LOW64;
    return p;
}

/* e^r - 1 without `high`. */
MT_HD double mt_exp_tail_f64(mt_exp_parts64 p)
{
    double r = p.high + p.low, q = 0x1.1e3cc9aa6ff2fp-29;

    q = MT_FMA64(q, r, 0x1.af6c60ba0de8cp-26);
    q = MT_FMA64(q, r, 0x1.27e5b4fc5e905p-22);
    q = MT_FMA64(q, r, 0x1.71ddefdccb897p-19);
    q = MT_FMA64(q, r, 0x1.a01a0135f81c4p-16);
    q = MT_FMA64(q, r, 0x1.a01a01b398dccp-13);
    q = MT_FMA64(q, r, 0x1.6c16c16c3078ep-10);
    q = MT_FMA64(q, r, 0x1.111111110ec1ap-7);
    q = MT_FMA64(q, r, 0x1.5555555555502p-5);
    q = MT_FMA64(q, r, 0x1.555555555555bp-3);
    q = MT_FMA64(q, r, 0.5);
    return MT_FMA64(r * r, q, p.low);
}

MT_HD double mt_power_of_two_f64(double shifted)
{
    return mt_from_bits_f64((mt_bits_f64(shifted) << 52) + 0x3ff0000000000000u);
}

MT_HD double mt_scale_f64(double value, double shifted)
{
    return mt_from_bits_f64(mt_bits_f64(value) + (mt_bits_f64(shifted) << 52));
}

MT_HD double mt_scale_wide_f64(double value, double shifted)
{
    double n = shifted - MT_SHIFTER64, half = n * 0.5 + MT_SHIFTER64;
    double rest = n - (half - MT_SHIFTER64);

    return value * mt_power_of_two_f64(half) * mt_power_of_two_f64(rest + MT_SHIFTER64);
}

MT_HD double mt_limit_f64(double x, double low, double high)
{
    double r = x < low ? low : x; /* NaN stays */

    return r > high ? high : r;
}

/* --- exponentials --- */

MT_HD double mt_exp_fast_f64(double x)
{
    mt_exp_parts64 p = mt_exp_split_f64(x);

    return mt_scale_f64(1.0 + (p.high + mt_exp_tail_f64(p)), p.shifted);
}

MT_HD bool mt_exp_is_rare_f64(double x)
{
    return !(fabs(x) <= 708.0);
}

MT_HD double mt_exp_f64(double x)
{
    mt_exp_parts64 p = mt_exp_split_f64(mt_limit_f64(x, -746.0, 710.0));

    return mt_scale_wide_f64(1.0 + (p.high + mt_exp_tail_f64(p)), p.shifted);
}

MT_HD double mt_exp_down_f64(double x)
{
    mt_exp_parts64 p = mt_exp_split_f64(x < -708.0 ? -708.0 : x);
    double r = (1.0 + (p.high + mt_exp_tail_f64(p))) * mt_power_of_two_f64(p.shifted);

    return x < -708.0 ? 0.0 : r;
}

MT_HD double mt_exp_plain_f64(double x)
{
    mt_exp_parts64 p = mt_exp_split_f64(x < -707.0 ? -707.0 : x);
    double r = (1.0 + (p.high + mt_exp_tail_f64(p))) * mt_power_of_two_f64(p.shifted - 1.0);

    r = x < -707.0 ? 0.0 : r + r;
    return x > 0x1.62e42fefa39efp+9 ? (double)MT_INF : r;
}

/* 2^f - 1 for |f| <= 1/2, divided by f. */
MT_HD double mt_exp2_poly_f64(double f)
{
    double q = 0x1.e79b2eaf0498fp-32;

    q = MT_FMA64(q, f, 0x1.e61bf87b300b8p-28);
    q = MT_FMA64(q, f, 0x1.b5267e16a1e6bp-24);
    q = MT_FMA64(q, f, 0x1.62bfc7412aaeep-20);
    q = MT_FMA64(q, f, 0x1.ffcbfba87e3a4p-17);
    q = MT_FMA64(q, f, 0x1.4309130efaf7fp-13);
    q = MT_FMA64(q, f, 0x1.5d87fe78cdba3p-10);
    q = MT_FMA64(q, f, 0x1.3b2ab6fba007dp-7);
    q = MT_FMA64(q, f, 0x1.c6b08d7049fe6p-5);
    q = MT_FMA64(q, f, 0x1.ebfbdff82c5a4p-3);
    return MT_FMA64(q, f, 0x1.62e42fefa39efp-1);
}

MT_HD double mt_exp2_f64(double x)
{
    double c = mt_limit_f64(x, -1077.0, 1025.0), shifted = c + MT_SHIFTER64;
    double f = c - (shifted - MT_SHIFTER64);

    return mt_scale_wide_f64(MT_FMA64(mt_exp2_poly_f64(f), f, 1.0), shifted);
}

MT_HD double mt_expm1_f64(double x)
{
    mt_exp_parts64 p = mt_exp_split_f64(mt_limit_f64(x, -40.0, 710.0));
    double s = mt_power_of_two_f64(p.shifted - 1.0), c = s - 0.5;
    double sum = MT_FMA64(s, p.high, c), lost = MT_FMA64(s, p.high, c - sum);
    double r = (sum + MT_FMA64(s, mt_exp_tail_f64(p), lost)) * 2.0;

    return x == 0.0 ? x : r;
}

/* --- logarithms --- */

typedef struct mt_log_parts64 {
    double exponent, f, low;
} mt_log_parts64;

/* log(1 + f) - f through s = f / (2 + f): log(1 + f) = f - (h - s (h + s^2 R)), h = f^2 / 2. */
MT_HD double mt_log_poly_f64(double f)
{
    double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f, q = 0x1.3adaa8cb691a5p-3;

    q = MT_FMA64(q, z, 0x1.384f2ba0e4bf0p-3);
    q = MT_FMA64(q, z, 0x1.747511bec6e0ap-3);
    q = MT_FMA64(q, z, 0x1.c71c003e09545p-3);
    q = MT_FMA64(q, z, 0x1.249249b3f0621p-2);
    q = MT_FMA64(q, z, 0x1.99999998ee2dfp-2);
    q = MT_FMA64(q, z, 0x1.5555555555780p-1);
    return s * MT_FMA64(q, z, h) - h;
}

/* The upper 12 bits of u as a signed number. */
MT_HD double mt_exponent_f64(uint64_t u)
{
    return mt_from_bits_f64((u >> 52 ^ 0x800u) | 0x4330000000000000u) - 4503599627372544.0;
}

MT_HD mt_log_parts64 mt_log_split_f64(double x)
{
    mt_log_parts64 p;
    uint64_t u = mt_bits_f64(x) - 0x3fe5555555555555u;

    p.exponent = mt_exponent_f64(u);
    p.f = mt_from_bits_f64((u & 0xfffffffffffffu) + 0x3fe5555555555555u) - 1.0;
    p.low = mt_log_poly_f64(p.f);
    return p;
}

MT_HD double mt_log_sum_f64(double high, double f, double low)
{
    double s = high + f, lost = (high - s) + f;

    return s + (lost + low);
}

MT_HD double mt_log_join_f64(mt_log_parts64 p)
{
    return mt_log_sum_f64(p.exponent * MT_LN2_HIGH64, p.f, MT_FMA64(p.exponent, MT_LN2_LOW64, p.low));
}

/* What the rounding of a * b loses; b has at most 26 bits. */
MT_HD double mt_lost_product_f64(double a, double b, double product)
{
#if MT_HAVE_FMA
    return MT_FMA64(a, b, -product);
#else
    double top = mt_from_bits_f64(mt_bits_f64(a) & 0xfffffffff8000000u);

    return (top * b - product) + (a - top) * b;
#endif
}

MT_HD double mt_log2_join_f64(mt_log_parts64 p)
{
    double high = p.f * 0x1.7154760000000p+0;
    double rest = mt_lost_product_f64(p.f, 0x1.7154760000000p+0, high);

    rest = MT_FMA64(p.low, 0x1.71547652b82fep+0, MT_FMA64(p.f, 0x1.4ae0bf85ddf44p-26, rest));
    return mt_log_sum_f64(p.exponent, high, rest);
}

MT_HD double mt_log10_join_f64(mt_log_parts64 p)
{
    double high = p.f * 0x1.bcb7b10000000p-2;
    double rest = mt_lost_product_f64(p.f, 0x1.bcb7b10000000p-2, high);

    rest = MT_FMA64(p.low, 0x1.bcb7b1526e50ep-2, MT_FMA64(p.f, 0x1.49b9438ca9aaep-28, rest));
    rest = MT_FMA64(p.exponent, 0x1.f79fef311f12bp-34, rest);
    return mt_log_sum_f64(p.exponent * 0x1.34413508p-2, high, rest);
}

MT_HD bool mt_log_is_rare_f64(double x)
{
    return mt_bits_f64(x) - 0x0010000000000000u >= 0x7fe0000000000000u;
}

MT_HD mt_log_parts64 mt_log_split_wide_f64(double x)
{
    bool is_small = x < 0x1p-1022;
    mt_log_parts64 p = mt_log_split_f64(is_small ? x * 0x1p52 : x);

    p.exponent -= is_small ? 52.0 : 0.0;
    return p;
}

MT_HD double mt_log_special_f64(double x, double value)
{
    double r = x == (double)MT_INF ? x : value;

    r = x == 0.0 ? -(double)MT_INF : r;
    return x >= 0.0 ? r : (double)MT_NAN;
}

MT_HD double mt_log_fast_f64(double x)
{
    return mt_log_join_f64(mt_log_split_f64(x));
}

MT_HD double mt_log_f64(double x)
{
    return mt_log_special_f64(x, mt_log_join_f64(mt_log_split_wide_f64(x)));
}

MT_HD bool mt_log2_is_rare_f64(double x)
{
    return mt_log_is_rare_f64(x);
}

MT_HD double mt_log2_fast_f64(double x)
{
    return mt_log2_join_f64(mt_log_split_f64(x));
}

MT_HD double mt_log2_f64(double x)
{
    return mt_log_special_f64(x, mt_log2_join_f64(mt_log_split_wide_f64(x)));
}

MT_HD bool mt_log10_is_rare_f64(double x)
{
    return mt_log_is_rare_f64(x);
}

MT_HD double mt_log10_fast_f64(double x)
{
    return mt_log10_join_f64(mt_log_split_f64(x));
}

MT_HD double mt_log10_f64(double x)
{
    return mt_log_special_f64(x, mt_log10_join_f64(mt_log_split_wide_f64(x)));
}

MT_HD mt_log_parts64 mt_log1p_split_f64(double x)
{
    mt_log_parts64 p;
    uint64_t u = mt_bits_f64(1.0 + x) - 0x3fe5555555555555u;
    double s = mt_from_bits_f64(0x3ff0000000000000u - (u & 0xfff0000000000000u)), lost;

    p.exponent = mt_exponent_f64(u);
    p.f = MT_FMA64(s, x, s - 1.0);
    lost = MT_FMA64(s, x, (s - 1.0) - p.f);
    p.low = mt_log_poly_f64(p.f) + MT_FMA64(-p.f, lost, lost);
    return p;
}

MT_HD bool mt_log1p_is_rare_f64(double x)
{
    return !(x > -1.0 && x < 0x1p53);
}

MT_HD double mt_log1p_fast_f64(double x)
{
    return copysign(mt_log_join_f64(mt_log1p_split_f64(x)), x);
}

MT_HD double mt_log1p_f64(double x)
{
    bool is_large = x >= 0x1p53;
    mt_log_parts64 p = mt_log1p_split_f64(is_large ? 1.0 : x);
    mt_log_parts64 q = mt_log_split_f64(is_large ? x : 1.0);
    double r;

    p.exponent = is_large ? q.exponent : p.exponent;
    p.f = is_large ? q.f : p.f;
    p.low = is_large ? q.low : p.low;
    r = mt_log_join_f64(p);
    r = x == (double)MT_INF ? x : r;
    r = x == 0.0 ? x : r;
    r = x == -1.0 ? -(double)MT_INF : r;
    return x >= -1.0 ? r : (double)MT_NAN;
}

/* --- tanh, sigmoid, erf --- */

MT_HD bool mt_tanh_is_rare_f64(double x)
{
    return !(fabs(x) <= 350.0);
}

/* Below 0.6 an odd polynomial, above 1 - 2 / (e^2x + 1). */
MT_HD double mt_tanh_fast_f64(double x)
{
    double a = fabs(x), z = x * x, q = -0x1.2035d4a490704p-16, small, large;
    double shifted = MT_FMA64(a, 0x1.71547652b82fep+1, MT_SHIFTER64), n = shifted - MT_SHIFTER64;
    double f = MT_FMA64(a, 0x1.71547652b82fep+1, -n), s = mt_power_of_two_f64(shifted);

    q = MT_FMA64(q, z, 0x1.4caa969799362p-14);
    q = MT_FMA64(q, z, -0x1.e32d4b1c9be8dp-13);
    q = MT_FMA64(q, z, 0x1.33db163d8fa28p-11);
    q = MT_FMA64(q, z, -0x1.7d79d947d8494p-10);
    q = MT_FMA64(q, z, 0x1.d6d0c61bbee88p-9);
    q = MT_FMA64(q, z, -0x1.226e22926c9f5p-7);
    q = MT_FMA64(q, z, 0x1.664f47f011937p-6);
    q = MT_FMA64(q, z, -0x1.ba1ba1b78083dp-5);
    q = MT_FMA64(q, z, 0x1.111111110e1acp-3);
    q = MT_FMA64(q, z, -0x1.5555555555530p-2);
    small = MT_FMA64(a * z, q, a);
    large = 1.0 - 2.0 / MT_FMA64(s, mt_exp2_poly_f64(f) * f, s + 1.0);
    return copysign(a > 0.6 ? large : small, x);
}

MT_HD double mt_tanh_f64(double x)
{
    return mt_tanh_fast_f64(mt_limit_f64(x, -350.0, 350.0));
}

/* 1 / (1 + e^|x|), see the float32 version. */
MT_HD double mt_sigmoid_parts_f64(double a, double one)
{
    mt_exp_parts64 p = mt_exp_split_f64(a);
    double y = p.high + mt_exp_tail_f64(p);
    double s = mt_from_bits_f64((mt_bits_f64(p.shifted) << 52) + mt_bits_f64(one));
    double sum = s + 1.0, lost = 1.0 - (sum - s), d = MT_FMA64(s, y, sum), q = 1.0 / d;

    lost += MT_FMA64(s, y, sum - d);
    return MT_FMA64(-q * q, lost, q);
}

MT_HD bool mt_sigmoid_is_rare_f64(double x)
{
    return !(fabs(x) <= 708.0);
}

MT_HD double mt_sigmoid_fast_f64(double x)
{
    double w = mt_sigmoid_parts_f64(fabs(x), 1.0);

    return x < 0.0 ? w : 1.0 - w;
}

MT_HD double mt_sigmoid_f64(double x)
{
    double a = fabs(x), c = a > 746.0 ? 746.0 : a, w;
    bool is_big = a > 700.0;

    w = mt_sigmoid_parts_f64(c, is_big ? 0x1p-100 : 1.0);
    w *= is_big ? 0x1p-100 : 1.0;
    return x < 0.0 ? w : 1.0 - w;
}

MT_HD double mt_sigmoid_quick_f64(double x)
{
    mt_exp_parts64 p = mt_exp_split_f64(mt_limit_f64(-x, -700.0, 709.0));
    double s = mt_power_of_two_f64(p.shifted);
    double r = 1.0 / MT_FMA64(s, p.high + mt_exp_tail_f64(p), s + 1.0);

    return -x > 709.0 ? 0.0 : r;
}

/* Below 1 an odd polynomial, above 1 - 2^q(|x|). */
MT_HD double mt_erf_f64(double x)
{
    double a = fabs(x), z = x * x, small = -0x1.abae0294db0f9p-31;
    double t = a > 6.0 ? 6.0 : a, q = 0x1.aa3a7a48a1cd0p-40;
    double shifted, f, large;

    small = MT_FMA64(small, z, 0x1.d71af7602c5a9p-27);
    small = MT_FMA64(small, z, -0x1.5c072380e24f9p-23);
    small = MT_FMA64(small, z, 0x1.b97fd34a4ddf9p-20);
    small = MT_FMA64(small, z, -0x1.f4ca4d60d35f0p-17);
    small = MT_FMA64(small, z, 0x1.f9a2baa811ea0p-14);
    small = MT_FMA64(small, z, -0x1.c02db03dcd737p-11);
    small = MT_FMA64(small, z, 0x1.565bccf92af21p-8);
    small = MT_FMA64(small, z, -0x1.b82ce311fa923p-6);
    small = MT_FMA64(small, z, 0x1.ce2f21a040d16p-4);
    small = MT_FMA64(small, z, -0x1.812746b0379bdp-2);
    small = MT_FMA64(small, z, 0x1.06eba8214db68p-3);
    small = MT_FMA64(small, a, a);
    q = MT_FMA64(q, t, -0x1.304e915c0e869p-34);
    q = MT_FMA64(q, t, 0x1.96c072ac7f332p-30);
    q = MT_FMA64(q, t, -0x1.51bcc540702b5p-26);
    q = MT_FMA64(q, t, 0x1.8572edf5d511ap-23);
    q = MT_FMA64(q, t, -0x1.4965cb4716da4p-20);
    q = MT_FMA64(q, t, 0x1.a2eda7deb73dbp-18);
    q = MT_FMA64(q, t, -0x1.8fb488022d588p-16);
    q = MT_FMA64(q, t, 0x1.1085c4ec748e1p-14);
    q = MT_FMA64(q, t, -0x1.a9ca05130d48fp-14);
    q = MT_FMA64(q, t, -0x1.0f3c6592b3acbp-14);
    q = MT_FMA64(q, t, 0x1.e4fa1576a08c4p-11);
    q = MT_FMA64(q, t, -0x1.4e8355fd924d4p-9);
    q = MT_FMA64(q, t, 0x1.a851aae679237p-12);
    q = MT_FMA64(q, t, 0x1.c2f3da2c6cb64p-6);
    q = MT_FMA64(q, t, -0x1.2f94c1e74fc01p-3);
    q = MT_FMA64(q, t, -0x1.d6407d3ebe5d5p-1);
    q = MT_FMA64(q, t, -0x1.a0be575d085e7p+0);
    q = MT_FMA64(q, t, -0x1.163ecf5deefa4p-22);
    shifted = q + MT_SHIFTER64;
    f = q - (shifted - MT_SHIFTER64);
    large = 1.0 - mt_scale_f64(MT_FMA64(mt_exp2_poly_f64(f), f, 1.0), shifted);
    return copysign(a > 1.0 ? large : small, x);
}

MT_HD double mt_normal_cdf_f64(double x)
{
    return 0.5 * (1.0 + mt_erf_f64(x * 0.70710678118654752440));
}

MT_HD double mt_gelu_slope_f64(double x)
{
    return mt_normal_cdf_f64(x) + x * (0.39894228040143267794 * mt_exp_down_f64(-0.5 * x * x));
}

/* --- sine and cosine --- */

typedef struct mt_trig_parts64 {
    double high, low;
    uint64_t n;
} mt_trig_parts64;

MT_HD bool mt_sin_is_rare_f64(double x)
{
    return !(fabs(x) <= 1e6);
}

MT_HD bool mt_cos_is_rare_f64(double x)
{
    return mt_sin_is_rare_f64(x);
}

MT_HD bool mt_tan_is_rare_f64(double x)
{
    return mt_sin_is_rare_f64(x);
}

/* pi/2 in three parts of 33, 33 and 53 bits: the products with n are exact. */
MT_HD mt_trig_parts64 mt_trig_split_f64(double x)
{
    mt_trig_parts64 p;
    double shifted = MT_FMA64(x, 0x1.45f306dc9c883p-1, MT_SHIFTER64), n = shifted - MT_SHIFTER64;
    double a = MT_FMA64(n, -0x1.921fb544p+0, x), b = n * -0x1.0b4611a6p-34;
    double high = a + b, part = high - a, low;

    low = (a - (high - part)) + (b - part);
    low = MT_FMA64(n, -0x1.3198a2e037073p-69, low);
    p.high = high + low;
    p.low = low - (p.high - high);
    p.n = mt_bits_f64(shifted);
    return p;
}

MT_HD double mt_sin_poly_f64(mt_trig_parts64 p)
{
    double z = p.high * p.high, q = 0x1.5d8dfd1f79828p-33;

    q = MT_FMA64(q, z, -0x1.ae5e546f0d5f9p-26);
    q = MT_FMA64(q, z, 0x1.71de35603bb6fp-19);
    q = MT_FMA64(q, z, -0x1.a01a019bf57acp-13);
    q = MT_FMA64(q, z, 0x1.111111110f78fp-7);
    q = MT_FMA64(q, z, -0x1.5555555555548p-3);
    return p.high + MT_FMA64(p.high * z, q, p.low);
}

MT_HD double mt_cos_poly_f64(mt_trig_parts64 p)
{
    double z = p.high * p.high, q = -0x1.8fa29330e0913p-37, half = 0.5 * z, w = 1.0 - half;

    q = MT_FMA64(q, z, 0x1.1ee9d3e19f212p-29);
    q = MT_FMA64(q, z, -0x1.27e4f7e546d30p-22);
    q = MT_FMA64(q, z, 0x1.a01a019c7ce72p-16);
    q = MT_FMA64(q, z, -0x1.6c16c16c14f48p-10);
    q = MT_FMA64(q, z, 0x1.555555555554bp-5);
    return w + (((1.0 - w) - half) + MT_FMA64(z * z, q, -p.high * p.low));
}

MT_HD double mt_sin_fast_f64(double x)
{
    mt_trig_parts64 p = mt_trig_split_f64(x);
    double s = mt_sin_poly_f64(p), c = mt_cos_poly_f64(p), r = p.n & 1 ? c : s;

    r = mt_from_bits_f64(mt_bits_f64(r) ^ (p.n & 2) << 62);
    return x == 0.0 ? x : r;
}

MT_HD double mt_cos_fast_f64(double x)
{
    mt_trig_parts64 p = mt_trig_split_f64(x);
    double s = mt_sin_poly_f64(p), c = mt_cos_poly_f64(p), r = p.n & 1 ? s : c;

    return mt_from_bits_f64(mt_bits_f64(r) ^ ((p.n + 1) & 2) << 62);
}

MT_HD double mt_tan_fast_f64(double x)
{
    mt_trig_parts64 p = mt_trig_split_f64(x);
    double s = mt_sin_poly_f64(p), c = mt_cos_poly_f64(p);
    double above = p.n & 1 ? -c : s, below = p.n & 1 ? s : c;

    return x == 0.0 ? x : above / below;
}

MT_HD double mt_sin_f64(double x)
{
    return mt_sin_is_rare_f64(x) ? sin(x) : mt_sin_fast_f64(x);
}

MT_HD double mt_cos_f64(double x)
{
    return mt_cos_is_rare_f64(x) ? cos(x) : mt_cos_fast_f64(x);
}

MT_HD double mt_tan_f64(double x)
{
    return mt_tan_is_rare_f64(x) ? tan(x) : mt_tan_fast_f64(x);
}

#endif
