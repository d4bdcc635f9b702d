/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas of the complex dtypes, all families. Arithmetic is done in the dtype itself; elementary
   functions go through double (complex_double.h). Numbers handed to a loop are complex as well. */
#ifndef T
#include "math/dtype/c64.h"
#endif

MT_HD T FN(make)(REAL re, REAL im)
{
    T z;

    z.re = re;
    z.im = im;
    return z;
}

MT_HD mt_c128 FN(widen)(T a)
{
    return mt_z_make((double)a.re, (double)a.im);
}

MT_HD T FN(narrow)(mt_c128 a)
{
    return FN(make)((REAL)a.re, (REAL)a.im);
}

MT_HD bool FN(is_zero)(T a)
{
    return (a.re == 0) & (a.im == 0);
}

MT_HD bool FN(is_one)(T a)
{
    return (a.re == 1) & (a.im == 0);
}

/* --- arithmetic --- */

MT_HD T FN(positive)(T a)
{
    return a;
}

MT_HD T FN(neg)(T a)
{
    return FN(make)(-a.re, -a.im);
}

MT_HD T FN(conj)(T a)
{
    return FN(make)(a.re, -a.im);
}

MT_HD T FN(mul)(T a, T b)
{
    return FN(make)(MT_ROUNDED(a.re * b.re) - MT_ROUNDED(a.im * b.im),
                    MT_ROUNDED(a.re * b.im) + MT_ROUNDED(a.im * b.re));
}

MT_HD T FN(plus)(T a, T b)
{
    return FN(make)(a.re + b.re, a.im + b.im);
}

MT_HD T FN(minus)(T a, T b)
{
    return FN(make)(a.re - b.re, a.im - b.im);
}

MT_HD T FN(add)(T a, T b, T alpha)
{
    return FN(plus)(a, FN(is_one)(alpha) ? b : FN(mul)(alpha, b));
}

MT_HD T FN(sub)(T a, T b, T alpha)
{
    return FN(minus)(a, FN(is_one)(alpha) ? b : FN(mul)(alpha, b));
}

MT_HD T FN(div)(T a, T b)
{
    return FN(narrow)(mt_z_div(FN(widen)(a), FN(widen)(b)));
}

/* complex64 without branches, in double. One infinite part gives zeros, zero gives infinity; zeros
   have the signs that Smith's division gives them. */
MT_HD T FN(reciprocal)(T a)
{
#if BITS == 32
    double x = (double)a.re, y = (double)a.im, q = 1.0 / (x * x + y * y);
    float re = (float)(x * q), im = (float)(-y * q), inf = MT_INF;
    bool wide = (fabsf(a.re) == inf) & (fabsf(a.im) < inf);
    bool high = (fabsf(a.im) == inf) & (fabsf(a.re) < inf);

    re = ((a.re == 0) & !ISNAN(a)) ? (a.im == 0 ? inf : copysignf(0.0f, a.im)) : re;
    im = ((a.im == 0) & (a.re != 0) & !ISNAN(a)) ? copysignf(0.0f, a.re) : im;
    re = (wide | high) ? copysignf(0.0f, wide ? a.re : a.im) : re;
    im = wide ? copysignf(0.0f, a.re) : im;
    im = high ? -copysignf(0.0f, a.im) : im;
    return FN(make)(re, im);
#else
    return FN(div)(FN(make)(1, 0), a);
#endif
}

MT_HD T FN(square)(T a)
{
    return FN(mul)(a, a);
}

/* In double squares of floats neither overflow nor vanish. */
MT_HD REAL FN(abs)(T a)
{
#if BITS == 32
    float r = (float)sqrt((double)a.re * (double)a.re + (double)a.im * (double)a.im);

    return ((fabsf(a.re) == MT_INF) | (fabsf(a.im) == MT_INF)) ? MT_INF : r;
#else
    return hypot(a.re, a.im);
#endif
}

MT_HD REAL FN(angle)(T a)
{
    return LIBM(atan2)(a.im, a.re);
}

MT_HD T FN(sgn)(T a)
{
    REAL r = FN(abs)(a);

    return r == 0 ? FN(make)(0, 0) : FN(make)(a.re / r, a.im / r);
}

MT_HD T FN(pow)(T a, T b)
{
    return FN(narrow)(mt_z_pow(FN(widen)(a), FN(widen)(b)));
}

/* One number as exponent: the usual ones without a logarithm. */
MT_HD T FN(pow_number)(T a, T b)
{
    if (b.im == 0) {
        if (b.re == 2)
            return FN(mul)(a, a);
        if (b.re == 1)
            return a;
        if (b.re == 3)
            return FN(mul)(FN(mul)(a, a), a);
        if (b.re == (REAL)0.5)
            return FN(narrow)(mt_z_sqrt(FN(widen)(a)));
        if (b.re == -1)
            return FN(reciprocal)(a);
        if (b.re == -2)
            return FN(reciprocal)(FN(mul)(a, a));
    }
    return FN(pow)(a, b);
}

/* --- elementary functions --- */

MT_HD T FN(exp)(T a)
{
    return FN(narrow)(mt_z_exp(FN(widen)(a)));
}

MT_HD T FN(exp2)(T a)
{
    return FN(narrow)(mt_z_exp(mt_z_make((double)a.re * MT_LN2, (double)a.im * MT_LN2)));
}

MT_HD T FN(expm1)(T a)
{
    return FN(narrow)(mt_z_expm1(FN(widen)(a)));
}

MT_HD T FN(log)(T a)
{
    return FN(narrow)(mt_z_log(FN(widen)(a)));
}

MT_HD T FN(log2)(T a)
{
    mt_c128 r = mt_z_log(FN(widen)(a));

    return FN(narrow)(mt_z_make(r.re / MT_LN2, r.im / MT_LN2));
}

MT_HD T FN(log10)(T a)
{
    mt_c128 r = mt_z_log(FN(widen)(a));

    return FN(narrow)(mt_z_make(r.re / MT_LN10, r.im / MT_LN10));
}

MT_HD T FN(log1p)(T a)
{
    return FN(narrow)(mt_z_log1p(FN(widen)(a)));
}

MT_HD T FN(sqrt)(T a)
{
    return FN(narrow)(mt_z_sqrt(FN(widen)(a)));
}

MT_HD T FN(rsqrt)(T a)
{
    return FN(narrow)(mt_z_div(mt_z_make(1.0, 0.0), mt_z_sqrt(FN(widen)(a))));
}

MT_HD T FN(sigmoid)(T a)
{
    mt_c128 e = mt_z_exp(mt_z_make(-(double)a.re, -(double)a.im));

    return FN(narrow)(mt_z_div(mt_z_make(1.0, 0.0), mt_z_make(1.0 + e.re, e.im)));
}

MT_HD T FN(silu)(T a)
{
    mt_c128 e = mt_z_exp(mt_z_make(-(double)a.re, -(double)a.im));

    return FN(narrow)(mt_z_div(FN(widen)(a), mt_z_make(1.0 + e.re, e.im)));
}

/* sin(pi a) / (pi a) */
MT_HD T FN(sinc)(T a)
{
    mt_c128 z = mt_z_make(MT_PI * (double)a.re, MT_PI * (double)a.im);

    return FN(is_zero)(a) ? FN(make)(1, 0) : FN(narrow)(mt_z_div(mt_z_over_i(mt_z_sinh(mt_z_times_i(z))), z));
}

MT_HD T FN(sinh)(T a)
{
    return FN(narrow)(mt_z_sinh(FN(widen)(a)));
}

MT_HD T FN(cosh)(T a)
{
    return FN(narrow)(mt_z_cosh(FN(widen)(a)));
}

MT_HD T FN(tanh)(T a)
{
    return FN(narrow)(mt_z_tanh(FN(widen)(a)));
}

MT_HD T FN(sin)(T a)
{
    return FN(narrow)(mt_z_over_i(mt_z_sinh(mt_z_times_i(FN(widen)(a)))));
}

MT_HD T FN(cos)(T a)
{
    return FN(narrow)(mt_z_cosh(mt_z_times_i(FN(widen)(a))));
}

MT_HD T FN(tan)(T a)
{
    return FN(narrow)(mt_z_over_i(mt_z_tanh(mt_z_times_i(FN(widen)(a)))));
}

MT_HD T FN(asinh)(T a)
{
    return FN(narrow)(mt_z_asinh(FN(widen)(a)));
}

MT_HD T FN(acosh)(T a)
{
    return FN(narrow)(mt_z_acosh(FN(widen)(a)));
}

MT_HD T FN(atanh)(T a)
{
    return FN(narrow)(mt_z_atanh(FN(widen)(a)));
}

MT_HD T FN(asin)(T a)
{
    return FN(narrow)(mt_z_asin(FN(widen)(a)));
}

MT_HD T FN(acos)(T a)
{
    return FN(narrow)(mt_z_acos(FN(widen)(a)));
}

MT_HD T FN(atan)(T a)
{
    return FN(narrow)(mt_z_over_i(mt_z_atanh(mt_z_times_i(FN(widen)(a)))));
}

/* x log y; 0 when x is 0 and y is no NaN. */
MT_HD T FN(xlogy)(T a, T b)
{
    return ISNAN(b) ? FN(make)(MT_NAN, MT_NAN) : (FN(is_zero)(a) ? FN(make)(0, 0) : FN(mul)(a, FN(log)(b)));
}

MT_HD T FN(logaddexp)(T a, T b)
{
    return FN(narrow)(mt_z_logaddexp(FN(widen)(a), FN(widen)(b)));
}

/* --- tests and comparisons --- */

MT_HD bool FN(isnan)(T a)
{
    return ISNAN(a);
}

MT_HD bool FN(isinf)(T a)
{
    return LIBM(fabs)(a.re) == (REAL)MT_INF || LIBM(fabs)(a.im) == (REAL)MT_INF;
}

MT_HD bool FN(isfinite)(T a)
{
    return LIBM(fabs)(a.re) < (REAL)MT_INF && LIBM(fabs)(a.im) < (REAL)MT_INF;
}

MT_HD bool FN(logical_not)(T a)
{
    return FN(is_zero)(a);
}

MT_HD bool FN(eq)(T a, T b)
{
    return (a.re == b.re) & (a.im == b.im);
}

MT_HD bool FN(ne)(T a, T b)
{
    return (a.re != b.re) | (a.im != b.im);
}

MT_HD bool FN(logical_and)(T a, T b)
{
    return !FN(is_zero)(a) && !FN(is_zero)(b);
}

MT_HD bool FN(logical_or)(T a, T b)
{
    return !FN(is_zero)(a) || !FN(is_zero)(b);
}

MT_HD bool FN(logical_xor)(T a, T b)
{
    return FN(is_zero)(a) != FN(is_zero)(b);
}

/* Each part on its own, by the real parts of the numbers. */
MT_HD REAL FN(part_to_num)(REAL a, T nan, T posinf, T neginf)
{
    REAL r = a == (REAL)MT_INF ? posinf.re : a;

    r = a == -(REAL)MT_INF ? neginf.re : r;
    return a != a ? nan.re : r;
}

MT_HD T FN(nan_to_num)(T a, T nan, T posinf, T neginf)
{
    return FN(make)(FN(part_to_num)(a.re, nan, posinf, neginf), FN(part_to_num)(a.im, nan, posinf, neginf));
}

/* --- three operands, filling --- */

MT_HD T FN(fill)(T value)
{
    return value;
}

MT_HD T FN(where)(bool cond, T a, T b)
{
    return cond ? a : b;
}

MT_HD T FN(lerp)(T a, T b, T weight)
{
    T d = FN(minus)(b, a);

    if (weight.re * weight.re + weight.im * weight.im < (REAL)0.25)
        return FN(plus)(a, FN(mul)(weight, d));
    return FN(minus)(b, FN(mul)(d, FN(make)(1 - weight.re, -weight.im)));
}

MT_HD T FN(addcmul)(T a, T b, T c, T value)
{
    return FN(plus)(a, FN(mul)(FN(is_one)(value) ? b : FN(mul)(value, b), c));
}

MT_HD T FN(addcdiv)(T a, T b, T c, T value)
{
    return FN(plus)(a, FN(div)(FN(is_one)(value) ? b : FN(mul)(value, b), c));
}

/* --- backward formulas: the gradient times the conjugated derivative --- */

MT_HD T FN(tanh_backward)(T grad, T y)
{
    T slope = FN(minus)(FN(make)(1, 0), FN(mul)(y, y));

    return FN(mul)(grad, FN(conj)(slope));
}

MT_HD T FN(sigmoid_backward)(T grad, T y)
{
    T slope = FN(mul)(FN(minus)(FN(make)(1, 0), y), y);

    return FN(mul)(grad, FN(conj)(slope));
}
