/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementary functions of double complex numbers, on top of the real C library. complex.tmpl.h uses
   them for both complex dtypes: complex64 goes through double, which makes overflow and
   cancellation of intermediate results harmless. Infinities, NaN and signed zeros follow Annex G of
   the C standard. The inverse functions use Kahan's formulas ("Branch cuts for complex elementary
   functions", 1987), and a logarithm beyond 1e8, where those would lose or overflow. */
#ifndef MT_MATH_COMPLEX_DOUBLE_H
#define MT_MATH_COMPLEX_DOUBLE_H

#include "math/scalar.h"

#define MT_HALF_PI 1.57079632679489661923
#define MT_LN2 0.69314718055994530942
#define MT_LN10 2.30258509299404568402

MT_HD mt_c128 mt_z_make(double re, double im)
{
    mt_c128 z;

    z.re = re;
    z.im = im;
    return z;
}

/* Multiplication by i and by -i, exact in the signs. */
MT_HD mt_c128 mt_z_times_i(mt_c128 z)
{
    return mt_z_make(-z.im, z.re);
}

MT_HD mt_c128 mt_z_over_i(mt_c128 z)
{
    return mt_z_make(z.im, -z.re);
}

MT_HD bool mt_d_is_nan(double x)
{
    return x != x;
}

MT_HD bool mt_d_is_inf(double x)
{
    return fabs(x) == (double)MT_INF;
}

MT_HD bool mt_d_is_finite(double x)
{
    return fabs(x) < (double)MT_INF;
}

MT_HD bool mt_z_is_finite(mt_c128 z)
{
    return mt_d_is_finite(z.re) && mt_d_is_finite(z.im);
}

/* Smith's division; a zero divisor gives what the real divisions give. */
MT_HD mt_c128 mt_z_div(mt_c128 a, mt_c128 b)
{
    double ratio, denominator;

    if (fabs(b.re) >= fabs(b.im)) {
        if (b.re == 0 && b.im == 0)
            return mt_z_make(a.re / fabs(b.re), a.im / fabs(b.im));
        ratio = b.im / b.re;
        denominator = b.re + b.im * ratio;
        return mt_z_make((a.re + MT_ROUNDED(a.im * ratio)) / denominator,
                         (a.im - MT_ROUNDED(a.re * ratio)) / denominator);
    }
    ratio = b.re / b.im;
    denominator = b.re * ratio + b.im;
    return mt_z_make((MT_ROUNDED(a.re * ratio) + a.im) / denominator, (MT_ROUNDED(a.im * ratio) - a.re) / denominator);
}

/* e^x * (cos y, sin y) where e^x alone may overflow. */
MT_HD_BIG mt_c128 mt_z_polar_exp(double x, double y)
{
    double r, c = cos(y), s = sin(y);

    if (x > 709.0 && x < 1500.0) {
        r = exp(x - 709.0);
        return mt_z_make(r * c * 8.2184074615549724e307, r * s * 8.2184074615549724e307);
    }
    r = exp(x);
    return mt_z_make(r * c, r * s);
}

MT_HD_BIG mt_c128 mt_z_exp(mt_c128 z)
{
    if (z.im == 0)
        return mt_z_make(exp(z.re), z.im);
    if (z.re == -(double)MT_INF && !mt_d_is_finite(z.im))
        return mt_z_make(0.0, copysign(0.0, z.im));
    if (z.re == (double)MT_INF && !mt_d_is_finite(z.im))
        return mt_z_make(z.re, (double)MT_NAN);
    return mt_z_polar_exp(z.re, z.im);
}

/* exp(z) - 1 without cancellation in the real part near 0. */
MT_HD_BIG mt_c128 mt_z_expm1(mt_c128 z)
{
    double half_sin = sin(z.im * 0.5), e = expm1(z.re);
    mt_c128 r;

    if (!mt_z_is_finite(z) || z.re > 700.0) {
        r = mt_z_exp(z);
        r.re -= 1.0;
        return r;
    }
    return mt_z_make(e * cos(z.im) - 2.0 * half_sin * half_sin, z.im == 0 ? z.im : exp(z.re) * sin(z.im));
}

/* log |z|; near the unit circle through log1p. */
MT_HD_BIG double mt_z_log_abs(mt_c128 z)
{
    double big = fabs(z.re), small = fabs(z.im), t;

    if (big < small) {
        t = big;
        big = small;
        small = t;
    }
    if (big > 0.5 && big < 2.0 && small < 2.0) {
        t = (big - 1.0) * (big + 1.0) + small * small;
        return t > -0.5 ? 0.5 * log1p(t) : 0.5 * log(big * big + small * small);
    }
    if (big > 1e300 && big < (double)MT_INF)
        return log(hypot(big * 0x1p-4, small * 0x1p-4)) + 4.0 * MT_LN2;
    if (big < 1e-290)
        return log(hypot(big * 0x1p60, small * 0x1p60)) - 60.0 * MT_LN2;
    return log(hypot(big, small));
}

MT_HD_BIG mt_c128 mt_z_log(mt_c128 z)
{
    return mt_z_make(mt_z_log_abs(z), atan2(z.im, z.re));
}

MT_HD_BIG mt_c128 mt_z_log1p(mt_c128 z)
{
    double x = z.re, y = z.im;

    if (fabs(x) < 0.5 && fabs(y) < 0.5)
        return mt_z_make(0.5 * log1p(x * (2.0 + x) + y * y), atan2(y, 1.0 + x));
    return mt_z_log(mt_z_make(1.0 + x, y));
}

/* log(e^a + e^b). Where the greater real part is infinite the imaginary part of the sum is that of the addends, if it has
   one at all. */
MT_HD_BIG mt_c128 mt_z_logaddexp(mt_c128 a, mt_c128 b)
{
    mt_c128 low = a.re < b.re ? a : b, high = a.re < b.re ? b : a, sum;

    if (a.re != a.re || a.im != a.im || b.re != b.re || b.im != b.im)
        return mt_z_make((double)MT_NAN, (double)MT_NAN);
    if (high.re == low.re && fabs(high.re) == (double)MT_INF) {
        if (high.re < 0.0)
            return low;
        a = mt_z_exp(low);
        b = mt_z_exp(high);
        return mt_z_log(mt_z_make(a.re + b.re, a.im + b.im));
    }
    sum = mt_z_log1p(mt_z_exp(mt_z_make(low.re - high.re, low.im - high.im)));
    return mt_z_make(high.re + sum.re, high.im + sum.im);
}

MT_HD_BIG mt_c128 mt_z_sqrt(mt_c128 z)
{
    double x = fabs(z.re), y = fabs(z.im), scale = 1.0, t, u;

    if (mt_d_is_inf(z.im))
        return mt_z_make((double)MT_INF, z.im);
    if (mt_d_is_inf(z.re)) {
        t = mt_d_is_nan(z.im) ? z.im : 0.0;
        return z.re > 0 ? mt_z_make(z.re, mt_d_is_nan(z.im) ? z.im : copysign(0.0, z.im))
                        : mt_z_make(t, mt_d_is_nan(z.im) ? x : copysign(x, z.im));
    }
    if (x == 0 && y == 0)
        return mt_z_make(0.0, z.im);
    if (x > 1e300 || y > 1e300) { /* keep |z| + x finite */
        scale = 2.0;
        x *= 0.25;
        y *= 0.25;
    } else if (x < 1e-290 && y < 1e-290) {
        scale = 0x1p-54;
        x *= 0x1p108;
        y *= 0x1p108;
    }
    t = sqrt((x + hypot(x, y)) * 0.5);
    u = y / (2.0 * t) * scale;
    t *= scale;
    return z.re >= 0 ? mt_z_make(t, copysign(u, z.im)) : mt_z_make(u, copysign(t, z.im));
}

MT_HD_BIG mt_c128 mt_z_sinh(mt_c128 z)
{
    double x = z.re, y = z.im;
    mt_c128 r;

    if (!mt_d_is_finite(y)) {
        if (x == 0 || mt_d_is_inf(x))
            return mt_z_make(x, (double)MT_NAN);
        return mt_z_make((double)MT_NAN, (double)MT_NAN);
    }
    if (y == 0)
        return mt_z_make(sinh(x), y);
    if (mt_d_is_finite(x) && fabs(x) > 40.0) {
        r = mt_z_polar_exp(fabs(x) - MT_LN2, y);
        return mt_z_make(copysign(1.0, x) * r.re, r.im);
    }
    return mt_z_make(sinh(x) * cos(y), cosh(x) * sin(y));
}

MT_HD_BIG mt_c128 mt_z_cosh(mt_c128 z)
{
    double x = z.re, y = z.im;
    mt_c128 r;

    if (!mt_d_is_finite(y)) {
        if (x == 0)
            return mt_z_make((double)MT_NAN, x);
        if (mt_d_is_inf(x))
            return mt_z_make((double)MT_INF, (double)MT_NAN);
        return mt_z_make((double)MT_NAN, (double)MT_NAN);
    }
    if (y == 0)
        return mt_z_make(cosh(x), copysign(1.0, x) * y);
    if (x == 0)
        return mt_z_make(cos(y), x * sin(y));
    if (mt_d_is_finite(x) && fabs(x) > 40.0) {
        r = mt_z_polar_exp(fabs(x) - MT_LN2, y);
        return mt_z_make(r.re, copysign(1.0, x) * r.im);
    }
    return mt_z_make(cosh(x) * cos(y), sinh(x) * sin(y));
}

MT_HD_BIG mt_c128 mt_z_tanh(mt_c128 z)
{
    double x = z.re, y = z.im, t, s, beta, rho, denominator;

    if (mt_d_is_inf(x))
        return mt_z_make(copysign(1.0, x), copysign(0.0, mt_d_is_finite(y) ? sin(2.0 * y) : 1.0));
    if (!mt_d_is_finite(y)) /* the real part of a zero stays */
        return mt_z_make(x == 0 ? x : (double)MT_NAN, (double)MT_NAN);
    if (y == 0)
        return mt_z_make(tanh(x), y);
    if (fabs(x) > 22.0)
        return mt_z_make(copysign(1.0, x), 4.0 * sin(y) * cos(y) * exp(-2.0 * fabs(x)));
    t = tan(y);
    s = sinh(x);
    beta = 1.0 + t * t;
    rho = sqrt(1.0 + s * s);
    if (mt_d_is_inf(t))
        return mt_z_make(rho / s, 1.0 / t);
    denominator = 1.0 + beta * s * s;
    return mt_z_make(beta * rho * s / denominator, t / denominator);
}

/* z of magnitude above 1e8, both parts not negative: log(2 z) without overflow. */
MT_HD_BIG mt_c128 mt_z_log_twice(double x, double y)
{
    mt_c128 r = mt_z_log(mt_z_make(x, y));

    r.re += MT_LN2;
    return r;
}

MT_HD_BIG mt_c128 mt_z_asinh(mt_c128 z)
{
    double x = z.re, y = z.im;
    mt_c128 r, a, b;

    if (!mt_z_is_finite(z)) {
        if (mt_d_is_inf(x))
            return mt_z_make(x, mt_d_is_inf(y) ? copysign(MT_HALF_PI / 2, y) : mt_d_is_nan(y) ? y : copysign(0.0, y));
        if (mt_d_is_inf(y))
            return mt_z_make(copysign((double)MT_INF, x), mt_d_is_nan(x) ? x : copysign(MT_HALF_PI, y));
        return mt_z_make((double)MT_NAN, y == 0 ? y : (double)MT_NAN);
    }
    if (fabs(x) > 1e8 || fabs(y) > 1e8) {
        r = mt_z_log_twice(fabs(x), fabs(y));
        return mt_z_make(copysign(r.re, x), copysign(r.im, y));
    }
    /* asinh(z) = asin(iz) / i; with w = iz = (-y, x): sqrt(1 - w), sqrt(1 + w) */
    a = mt_z_sqrt(mt_z_make(1.0 + y, -x));
    b = mt_z_sqrt(mt_z_make(1.0 - y, x));
    r.re = atan2(-y, a.re * b.re - a.im * b.im);
    r.im = asinh(a.re * b.im - a.im * b.re);
    return mt_z_make(copysign(r.im, x), copysign(r.re, y));
}

MT_HD_BIG mt_c128 mt_z_acos(mt_c128 z)
{
    double x = z.re, y = z.im;
    mt_c128 r, a, b;

    if (!mt_z_is_finite(z)) {
        if (mt_d_is_inf(y))
            return mt_z_make(
                mt_d_is_inf(x) ? (x > 0 ? MT_HALF_PI / 2 : MT_HALF_PI * 1.5) : (mt_d_is_nan(x) ? x : MT_HALF_PI), -y);
        if (mt_d_is_inf(x))
            return mt_d_is_nan(y) ? mt_z_make(y, x) : mt_z_make(x > 0 ? 0.0 : MT_PI, -copysign(fabs(x), y));
        return mt_z_make(x == 0 ? MT_HALF_PI : (double)MT_NAN, (double)MT_NAN);
    }
    if (fabs(x) > 1e8 || fabs(y) > 1e8) {
        r = mt_z_log_twice(fabs(x), fabs(y));
        return mt_z_make(x < 0 ? MT_PI - r.im : r.im, -copysign(r.re, y));
    }
    a = mt_z_sqrt(mt_z_make(1.0 - x, -y));
    b = mt_z_sqrt(mt_z_make(1.0 + x, y));
    return mt_z_make(2.0 * atan2(a.re, b.re), -copysign(asinh(b.re * a.im - b.im * a.re), y));
}

MT_HD_BIG mt_c128 mt_z_asin(mt_c128 z)
{
    return mt_z_over_i(mt_z_asinh(mt_z_times_i(z)));
}

MT_HD_BIG mt_c128 mt_z_acosh(mt_c128 z)
{
    mt_c128 r = mt_z_acos(z);

    if (mt_d_is_nan(r.re) && !mt_d_is_nan(r.im))
        return mt_z_make(fabs(r.im), r.re);
    return mt_z_make(fabs(r.im), copysign(r.re, z.im));
}

MT_HD_BIG mt_c128 mt_z_atanh(mt_c128 z)
{
    double x = fabs(z.re), y = fabs(z.im), re, im;

    if (mt_d_is_nan(z.re) || mt_d_is_nan(z.im)) {
        if (mt_d_is_inf(z.im))
            return mt_z_make(copysign(0.0, z.re), copysign(MT_HALF_PI, z.im));
        return mt_z_make(mt_d_is_inf(z.re) || z.re == 0 ? copysign(0.0, z.re) : (double)MT_NAN, (double)MT_NAN);
    }
    if (x > 1e150 || y > 1e150) {
        double h = hypot(x * 0.25, y * 0.25);

        re = mt_d_is_inf(x) || mt_d_is_inf(y) ? 0.0 : x / h * 0.25 / h * 0.25;
        im = MT_HALF_PI;
    } else if (x == 1.0 && y < 1e-150) {
        re = y == 0 ? (double)MT_INF : 0.5 * (MT_LN2 - log(y));
        im = y == 0 ? 0.0 : MT_HALF_PI * 0.5;
    } else {
        re = 0.25 * log1p(4.0 * x / ((1.0 - x) * (1.0 - x) + y * y));
        im = 0.5 * atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    }
    return mt_z_make(copysign(re, z.re), copysign(im, z.im));
}

/* exp(b log a); 0 to a power with a positive real part is 0, anything to 0 is 1. */
MT_HD_BIG mt_c128 mt_z_pow(mt_c128 a, mt_c128 b)
{
    mt_c128 w;

    if (b.re == 0 && b.im == 0)
        return mt_z_make(1.0, 0.0);
    if (a.re == 0 && a.im == 0 && b.re > 0)
        return mt_z_make(0.0, 0.0);
    w = mt_z_log(a);
    return mt_z_exp(mt_z_make(b.re * w.re - b.im * w.im, b.re * w.im + b.im * w.re));
}

#endif
