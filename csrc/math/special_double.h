/* SPDX-License-Identifier: BSD-3-Clause */
/* Special functions in double; special.tmpl.h rounds them to the dtype. Series, continued fractions and asymptotic expansions
   with the number of terms fixed by the interval, no tables of fitted constants. Relative error about 1e-14 away from zeros. */
#ifndef MT_MATH_SPECIAL_DOUBLE_H
#define MT_MATH_SPECIAL_DOUBLE_H

#include "math/complex_double.h"
#include "math/scalar.h"

#define MT_SQRT_PI 1.77245385090551602730
#define MT_SQRT_2 1.41421356237309504880
#define MT_EULER 0.57721566490153286061

/* log |Gamma(x)|; the reentrant form of the C library, where there is one. */
MT_HD double mt_d_lgamma(double x)
{
#if defined(__GLIBC__) && !defined(__CUDACC__)
    int sign;

    return x == -(double)MT_INF ? (double)MT_INF : lgamma_r(x, &sign);
#else
    return lgamma(x);
#endif
}

/* e^(x^2) erfc(x) for x >= 0. Beyond 5 the continued fraction x + 1/2/(x + 1/(x + 3/2/(x + ...))). */
MT_HD_BIG double mt_d_erfcx(double x)
{
    double t = x;

    if (x < 5.0)
        return x < -26.7 ? (double)MT_INF : exp(x * x) * erfc(x);
    for (int k = 50; k > 0; k--)
        t = x + 0.5 * k / t;
    return 1.0 / (t * MT_SQRT_PI);
}

/* Solves erf(x) = y, given 1 - |y| exactly: Winitzki's approximation, then three steps of Halley's method on erfc. */
MT_HD_BIG double mt_d_erf_inverse(double y, double complement)
{
    double a = 0.147, l, b, x, u;

    if (!(complement >= 0.0))
        return (double)MT_NAN;
    if (complement == 0.0)
        return copysign((double)MT_INF, y);
    l = log(complement * (2.0 - complement)); /* 1 - y^2 */
    b = 2.0 / (MT_PI * a) + 0.5 * l;
    x = complement > 0.999999 ? (1.0 - complement) * 0.5 * MT_SQRT_PI : sqrt(sqrt(b * b - l / a) - b);
    for (int i = 0; i < 3; i++) {
        u = complement > 0.5 ? fabs(y) - erf(x) : erfc(x) - complement;
        u = u * (0.5 * MT_SQRT_PI) * exp(x * x);
        x += u / (1.0 - x * u);
    }
    return copysign(x, y);
}

MT_HD_BIG double mt_d_erfinv(double y)
{
    return fabs(y) < 1e-8 ? y * (0.5 * MT_SQRT_PI) : mt_d_erf_inverse(y, 1.0 - fabs(y));
}

/* The quantile of the normal distribution: Phi(x) = p. */
MT_HD_BIG double mt_d_ndtri(double p)
{
    if (!(p >= 0.0 && p <= 1.0))
        return (double)MT_NAN;
    if (p > 0.25 && p < 0.75)
        return MT_SQRT_2 * mt_d_erfinv(2.0 * p - 1.0);
    return p < 0.5 ? -MT_SQRT_2 * mt_d_erf_inverse(1.0, 2.0 * p) : MT_SQRT_2 * mt_d_erf_inverse(1.0, 2.0 * (1.0 - p));
}

MT_HD_BIG double mt_d_log_ndtr(double x)
{
    double t = x * (1.0 / MT_SQRT_2);

    return x < -1.0 ? log(mt_d_erfcx(-t) * 0.5) - t * t : log1p(-0.5 * erfc(t));
}

/* The derivative of log Gamma: recurrence up to 10, then the expansion at infinity; reflection below 0. */
MT_HD_BIG double mt_d_digamma(double x)
{
    double r = 0.0, z, s, whole;

    if (x == 0.0)
        return copysign((double)MT_INF, -x);
    if (x < 0.0) {
        if (x == floor(x))
            return (double)MT_NAN;
        s = modf(x, &whole);
        r = -MT_PI / tan(MT_PI * s);
        x = 1.0 - x;
    }
    for (; x < 10.0; x += 1.0)
        r -= 1.0 / x;
    z = 1.0 / (x * x);
    s = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12.0))))));
    return r + log(x) - 0.5 / x - s;
}

/* Hurwitz zeta: sum of (q + k)^-x by Euler and Maclaurin after the first 12 terms. */
MT_HD_BIG double mt_d_zeta(double x, double q)
{
    /* B_2k / (2k)! */
    const double c[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000.0,
                        1.0 / 74724249600.0, -3617.0 / 10670622842880000.0};
    double sum = 0.0, term, factor, a = q;

    if (x == 1.0)
        return (double)MT_INF;
    if (!(x >= 1.0) || q != q)
        return (double)MT_NAN;
    if (q <= 0.0) {
        if (q == floor(q))
            return (double)MT_INF;
        if (x != floor(x))
            return (double)MT_NAN;
    }
    if (mt_d_is_inf(q))
        return 0.0;
    for (int k = 0; k < 12 || a < 9.0; k++, a += 1.0) {
        term = pow(a, -x);
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum))
            return sum;
    }
    term = pow(a, -x);
    sum += term * a / (x - 1.0) + 0.5 * term;
    factor = x * term / a;
    for (int k = 0; k < 8; k++) {
        sum += factor * c[k];
        factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (a * a);
    }
    return sum;
}

/* The n-th derivative of digamma, n a whole number. */
MT_HD_BIG double mt_d_polygamma(double n, double x)
{
    if (n == 0.0)
        return mt_d_digamma(x);
    if (n == 1.0 && x < 0.5) { /* reflection: poles and negative arguments */
        double s = sin(MT_PI * x);

        return MT_PI * MT_PI / (s * s) - mt_d_zeta(2.0, 1.0 - x);
    }
    return (fmod(n, 2.0) == 0.0 ? -1.0 : 1.0) * tgamma(n + 1.0) * mt_d_zeta(n + 1.0, x);
}

/* x^a e^-x / Gamma(a). */
MT_HD_BIG double mt_d_gamma_prefix(double a, double x)
{
    double t;

    if (a < 1e3)
        return exp(a * log(x) - x - mt_d_lgamma(a));
    /* Stirling's series, arranged around x / a near 1 */
    t = (x - a) / a;
    return sqrt(a / (2.0 * MT_PI)) * exp(a * (log1p(t) - t) - 1.0 / (12.0 * a));
}

/* The regularised incomplete gamma functions: lower by its power series, upper by the continued fraction of Legendre. */
MT_HD_BIG double mt_d_gamma_incomplete(double a, double x, bool upper)
{
    double lower, result;

    if (!(x >= 0.0) || !(a >= 0.0))
        return (double)MT_NAN;
    if (a == 0.0)
        return x > 0.0 ? (upper ? 0.0 : 1.0) : (double)MT_NAN;
    if (x == 0.0)
        return upper ? 1.0 : 0.0;
    if (mt_d_is_inf(a))
        return mt_d_is_inf(x) ? (double)MT_NAN : (upper ? 1.0 : 0.0);
    if (mt_d_is_inf(x))
        return upper ? 0.0 : 1.0;
    if (x < a + 1.0) {
        double term = 1.0 / a, sum = term;

        for (int k = 1; k < 10000 && term > 1e-17 * sum; k++) {
            term *= x / (a + k);
            sum += term;
        }
        lower = mt_d_gamma_prefix(a, x) * sum;
        return upper ? 1.0 - lower : lower;
    }
    { /* Lentz's method */
        double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, h = d, step;

        for (int k = 1; k < 10000; k++) {
            double n = -(double)k * (k - a);

            b += 2.0;
            d = n * d + b;
            d = d == 0.0 ? 1e-300 : d;
            c = b + n / c;
            c = c == 0.0 ? 1e-300 : c;
            d = 1.0 / d;
            step = d * c;
            h *= step;
            if (fabs(step - 1.0) < 1e-16)
                break;
        }
        result = mt_d_gamma_prefix(a, x) * h;
        return upper ? result : 1.0 - result;
    }
}

/* Modified Bessel functions of order 0 and 1, times e^-|x|: power series up to 30, the expansion at infinity beyond. */
MT_HD_BIG double mt_d_bessel_i_scaled(int order, double x)
{
    double a = fabs(x), z = 0.25 * a * a, term = order ? 0.5 * a : 1.0, sum = 0.0, mu = order ? 4.0 : 0.0;

    if (a <= 30.0) {
        for (int k = 1; term > 1e-18 * sum; k++) {
            sum += term;
            term *= z / ((double)k * (k + order));
        }
        sum *= exp(-a);
    } else if (mt_d_is_inf(a)) {
        sum = 0.0;
    } else {
        term = 1.0;
        for (int k = 1; k < 40 && fabs(term) > 1e-18; k++) {
            sum += term;
            term *= -(mu - (2.0 * k - 1.0) * (2.0 * k - 1.0)) / (8.0 * a * k);
        }
        sum /= sqrt(2.0 * MT_PI) * sqrt(a);
    }
    return x != x ? x : (order && x < 0.0 ? -sum : sum);
}

MT_HD_BIG double mt_d_bessel_i(int order, double x)
{
    double s = mt_d_bessel_i_scaled(order, x), a = fabs(x);

    if (mt_d_is_inf(a))
        return order ? x : a;
    /* in two steps: the result fits beyond the range of e^x */
    return a > 600.0 ? s * exp(a - 100.0) * exp(100.0) : s * exp(a);
}

#endif
