/* SPDX-License-Identifier: BSD-3-Clause */
/* Special functions in double; special.tmpl.h rounds them to the dtype. Series, continued fractions
   and asymptotic expansions; relative error about 1e-14 away from zeros unless stated. */
#ifndef MT_MATH_SPECIAL_DOUBLE_H
#define MT_MATH_SPECIAL_DOUBLE_H

#include "math/complex_double.h"
#include "math/elementary_f64.h"
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

/* The same to about 1e-12 for positive normal x below 1e30, without branches: Gamma(x) = Gamma(x +
   k) / (x (x + 1) ...), Stirling's series from 8 on. */
MT_HD double mt_d_lgamma_near(double x)
{
    double product = 1.0, z = x, r, t;

    for (int k = 0; k < 8; k++) {
        bool small = z < 8.0;

        product = small ? product * z : product;
        z = small ? z + 1.0 : z;
    }
    r = 1.0 / z;
    t = r * r;
    t = r * (1.0 / 12 - t * (1.0 / 360 - t * (1.0 / 1260 - t * (1.0 / 1680 - t / 1188.0))));
    t += (z - 0.5) * mt_log_fast_f64(z) - z + 0.91893853320467274178;
    return t - mt_log_fast_f64(product);
}

/* e^(x^2) erfc(x) for x >= 0. Beyond 5 the continued fraction x + 1/2/(x + 1/(x + 3/2/(x + ...))).
   */
MT_HD_BIG double mt_d_erfcx(double x)
{
    double t = x;

    if (x < 5.0)
        return x < -26.7 ? (double)MT_INF : exp(x * x) * erfc(x);
    for (int k = 50; k > 0; k--)
        t = x + 0.5 * k / t;
    return 1.0 / (t * MT_SQRT_PI);
}

/* Nearly the inverse of erf, to 2^-24, divided by y: a polynomial in w = -log(1 - y^2), beyond w =
   5 in sqrt(w). Without branches, for loops. */
MT_HD double mt_d_erfinv_near(double w)
{
    double t = w - 2.5, s = sqrt(w) - 3.0;
    double p = -0x1.2e0e7cd5626b5p-27, q = -0x1.79ea523cd6d79p-22;

    p = MT_FMA64(p, t, 0x1.8f224dc5b2cc8p-26);
    p = MT_FMA64(p, t, 0x1.f48bd1b910404p-22);
    p = MT_FMA64(p, t, -0x1.d0c1a1e91a4aap-19);
    p = MT_FMA64(p, t, -0x1.4d159c6f53342p-18);
    p = MT_FMA64(p, t, 0x1.c9e6c73ea01efp-13);
    p = MT_FMA64(p, t, -0x1.486615af86236p-10);
    p = MT_FMA64(p, t, -0x1.11c4eb9aa683cp-8);
    p = MT_FMA64(p, t, 0x1.f91e8ad75018ep-3);
    p = MT_FMA64(p, t, 0x1.805c5d20064aep+0);
    q = MT_FMA64(q, s, 0x1.84746bbed76c0p-18);
    q = MT_FMA64(q, s, -0x1.4a74f9ca79c44p-15);
    q = MT_FMA64(q, s, 0x1.20a6f3115920ap-13);
    q = MT_FMA64(q, s, -0x1.ccd30fb127c8ep-13);
    q = MT_FMA64(q, s, -0x1.01934ed9e3baap-13);
    q = MT_FMA64(q, s, 0x1.7311268d91b26p-10);
    q = MT_FMA64(q, s, -0x1.d0f6818cc60dbp-9);
    q = MT_FMA64(q, s, 0x1.763bfdf09677ap-8);
    q = MT_FMA64(q, s, -0x1.f5622322c0085p-8);
    q = MT_FMA64(q, s, 0x1.3565bc70d180dp-7);
    q = MT_FMA64(q, s, 0x1.006dd441320c1p+0);
    q = MT_FMA64(q, s, 0x1.6a9efc95f1732p+1);
    return w < 5.0 ? p : q;
}

/* Solves erf(x) = y, given 1 - |y| exactly: the approximation above, then a step of Halley's method
   on erf or erfc; two where |y| rounds to 1 and the approximation was not made for it. */
MT_HD_BIG double mt_d_erf_inverse(double y, double complement)
{
    double x, u, a = fabs(y);

    if (!(complement >= 0.0))
        return (double)MT_NAN;
    if (complement == 0.0)
        return copysign((double)MT_INF, y);
    if (complement > 1e-16) {
        x = a * mt_d_erfinv_near(-log(complement * (2.0 - complement)));
    } else { /* leading terms of the expansion at infinity */
        x = -log(complement * MT_SQRT_PI);
        x = sqrt(x - 0.5 * log(x));
    }
    for (int i = complement > 1e-16 ? 1 : 4; i > 0; i--) {
        u = complement > 0.5 ? a - erf(x) : erfc(x) - complement;
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
    return p < 0.5 ? -MT_SQRT_2 * mt_d_erf_inverse(1.0 - 2.0 * p, 2.0 * p)
                   : MT_SQRT_2 * mt_d_erf_inverse(2.0 * p - 1.0, 2.0 * (1.0 - p));
}

MT_HD_BIG double mt_d_log_ndtr(double x)
{
    double t = x * (1.0 / MT_SQRT_2);

    return x < -1.0 ? log(mt_d_erfcx(-t) * 0.5) - t * t : log1p(-0.5 * erfc(t));
}

/* The derivative of log Gamma for positive x: the sum of 1 / (x + k) as one fraction, then the
   expansion at infinity from 10 on. Without branches, for loops. */
MT_HD double mt_d_digamma_positive(double x)
{
    double above = 0.0, below = 1.0, z = x, t, s;

    for (int k = 0; k < 10; k++) {
        bool small = z < 10.0;

        above = small ? above * z + below : above;
        below = small ? below * z : below;
        z = small ? z + 1.0 : z;
    }
    t = 1.0 / (z * z);
    s = 1.0 / 240 - t * (1.0 / 132 - t * (691.0 / 32760 - t / 12.0));
    t = t * (1.0 / 12 - t * (1.0 / 120 - t * (1.0 / 252 - t * s)));
    return mt_log_f64(z) - 0.5 / z - t - above / below;
}

/* Reflection below 0. */
MT_HD_BIG double mt_d_digamma(double x)
{
    double s, whole;

    if (x == 0.0)
        return copysign((double)MT_INF, -x);
    if (!(x < 0.0))
        return mt_d_digamma_positive(x);
    if (x == floor(x))
        return (double)MT_NAN;
    s = modf(x, &whole);
    return mt_d_digamma_positive(1.0 - x) - MT_PI / tan(MT_PI * s);
}

/* Hurwitz zeta: sum of (q + k)^-x by Euler and Maclaurin after the first 12 terms. */
MT_HD_BIG double mt_d_zeta(double x, double q)
{
    /* B_2k / (2k)! */
    const double c[] = {1.0 / 12,
                        -1.0 / 720,
                        1.0 / 30240,
                        -1.0 / 1209600,
                        1.0 / 47900160,
                        -691.0 / 1307674368000.0,
                        1.0 / 74724249600.0,
                        -3617.0 / 10670622842880000.0};
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
        return (double)MT_NAN;
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

/* The n-th derivative of digamma, n a whole number. `sine` is sin(pi x) as the caller's dtype has it:
   how high the poles at negative numbers are depends on that. */
MT_HD_BIG double mt_d_polygamma(double n, double x, double sine)
{
    if (n == 0.0)
        return mt_d_digamma(x);
    if (n == 1.0 && x < 0.5) /* reflection: poles and negative arguments */
        return MT_PI * MT_PI / (sine * sine) - mt_d_zeta(2.0, 1.0 - x);
    if (n == 1.0 && mt_d_is_inf(x))
        return 0.0;
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

/* The regularised incomplete gamma functions: lower by its power series, upper by the continued
   fraction of Legendre. */
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

/* Modified Bessel functions of order 0 and 1, times e^-|x|: power series up to 30, the expansion at
   infinity beyond. */
MT_HD_BIG double mt_d_bessel_i_scaled(int order, double x)
{
    double a = fabs(x), z = 0.25 * a * a, term = order ? 0.5 * a : 1.0, sum = 0.0;
    double mu = order ? 4.0 : 0.0;

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

/* NaN at infinity. */
MT_HD_BIG double mt_d_bessel_i(int order, double x)
{
    double s = mt_d_bessel_i_scaled(order, x), a = fabs(x);

    if (mt_d_is_inf(a))
        return (double)MT_NAN;
    /* in two steps: the result fits beyond the range of e^x */
    return a > 600.0 ? s * exp(a - 100.0) * exp(100.0) : s * exp(a);
}

#endif
