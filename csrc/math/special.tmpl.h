/* SPDX-License-Identifier: BSD-3-Clause */
/* Special functions of the float dtypes: gamma and error function families, Bessel functions. Long
   ones are computed in double (special_double.h). */
#ifndef T
#include "math/dtype/f32.h"
#endif

#define NUM(value) ((T)(value))

MT_HD T FN(erfinv)(T a)
{
    return (T)mt_d_erfinv((double)a);
}

MT_HD T FN(lgamma)(T a)
{
    return (T)mt_d_lgamma((double)a);
}

MT_HD T FN(digamma)(T a)
{
    return (T)mt_d_digamma((double)a);
}

MT_HD bool FN(digamma_is_rare)(T a)
{
    return !(a > 0);
}

MT_HD T FN(digamma_fast)(T a)
{
    return (T)mt_d_digamma_positive((double)a);
}

#if BITS == 32

MT_HD bool FN(lgamma_is_rare)(T a)
{
    /* next to its zeros at 1 and 2 what mt_d_lgamma_near rounds away is most of the result */
    return !((a > 1e-30f) & (a < 1e30f) & (fabsf(a - 1) > 0x1p-12f) & (fabsf(a - 2) > 0x1p-12f));
}

MT_HD T FN(lgamma_fast)(T a)
{
    return (T)mt_d_lgamma_near((double)a);
}

MT_HD bool FN(erfinv_is_rare)(T a)
{
    return !(fabsf(a) < 1.0f);
}

MT_HD T FN(erfinv_fast)(T a)
{
    return (float)((double)a * mt_d_erfinv_near((double)-mt_log_fast_f32((1.0f - a) * (1.0f + a))));
}

#endif

MT_HD T FN(polygamma)(T a, T order)
{
    return (T)mt_d_polygamma((double)order, (double)a, (double)FN(sin)(NUM(MT_PI) * a));
}

MT_HD T FN(zeta)(T a, T b)
{
    return (T)mt_d_zeta((double)a, (double)b);
}

MT_HD T FN(igamma)(T a, T b)
{
    return (T)mt_d_gamma_incomplete((double)a, (double)b, false);
}

MT_HD T FN(igammac)(T a, T b)
{
    return (T)mt_d_gamma_incomplete((double)a, (double)b, true);
}

/* sin(pi x) / (pi x) */
MT_HD T FN(sinc)(T a)
{
    T z = NUM(MT_PI) * a;

    return a == 0 ? NUM(1) : FN(sin)(z) / z;
}

/* -x log x */
MT_HD T FN(entr)(T a)
{
    T r = -a * FN(log)(a);

    r = a == 0 ? NUM(0) : r;
    return a < 0 ? -(T)MT_INF : r;
}

MT_HD T FN(ndtr)(T a)
{
    return (T)(0.5 * erfc((double)a * (-1.0 / MT_SQRT_2)));
}

MT_HD T FN(log_ndtr)(T a)
{
    return (T)mt_d_log_ndtr((double)a);
}

MT_HD T FN(ndtri)(T a)
{
    return (T)mt_d_ndtri((double)a);
}

MT_HD T FN(erfcx)(T a)
{
    return (T)mt_d_erfcx((double)a);
}

MT_HD T FN(i0)(T a)
{
    return (T)mt_d_bessel_i(0, (double)a);
}

MT_HD T FN(i1)(T a)
{
    return (T)mt_d_bessel_i(1, (double)a);
}

MT_HD T FN(i0e)(T a)
{
    return (T)mt_d_bessel_i_scaled(0, (double)a);
}

MT_HD T FN(i1e)(T a)
{
    return (T)mt_d_bessel_i_scaled(1, (double)a);
}

MT_HD T FN(bessel_j0)(T a)
{
    return (T)j0((double)a);
}

MT_HD T FN(bessel_j1)(T a)
{
    return (T)j1((double)a);
}

MT_HD T FN(bessel_y0)(T a)
{
    return (T)y0((double)a);
}

MT_HD T FN(bessel_y1)(T a)
{
    return (T)y1((double)a);
}

#undef NUM
