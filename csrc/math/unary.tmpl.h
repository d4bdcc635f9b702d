/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas of one operand for the real dtypes: rounding, signs, tests, algebra, and the activations
   with their numbers. The elementary functions themselves (exp, log, tanh, ...) are in
   elementary.h; the complex versions of all are in complex.tmpl.h. */
#ifndef T
#include "math/dtype/f32.h"
#endif

#define NUM(value) ((T)(value))

MT_HD T FN(positive)(T a)
{
    return a;
}

MT_HD T FN(conj)(T a)
{
    return a;
}

MT_HD bool FN(logical_not)(T a)
{
    return a == 0;
}

MT_HD bool FN(isnan)(T a)
{
    (void)a;
    return ISNAN(a);
}

#if IS_FLOAT

MT_HD T FN(abs)(T a)
{
    return LIBM(fabs)(a);
}

MT_HD T FN(neg)(T a)
{
    return -a;
}

MT_HD T FN(square)(T a)
{
    return a * a;
}

MT_HD T FN(reciprocal)(T a)
{
    return NUM(1) / a;
}

MT_HD T FN(sqrt)(T a)
{
    return LIBM(sqrt)(a);
}

MT_HD T FN(rsqrt)(T a)
{
    return NUM(1) / LIBM(sqrt)(a);
}

MT_HD T FN(floor)(T a)
{
    return LIBM(floor)(a);
}

MT_HD T FN(ceil)(T a)
{
    return LIBM(ceil)(a);
}

MT_HD T FN(trunc)(T a)
{
    return LIBM(trunc)(a);
}

/* Halves to even. */
MT_HD T FN(round)(T a)
{
    return LIBM(rint)(a);
}

/* A power of ten, exact up to 10^22 in double. */
MT_HD_CONST double FN(power_of_ten)(int n)
{
    double r = 1.0, base = 10.0;

    for (int bit = n < 400 ? n : 400; bit; bit >>= 1) {
        r = bit & 1 ? r * base : r;
        base *= base;
    }
    return r;
}

MT_HD T FN(round_decimals)(T a, T decimals)
{
    T digits = LIBM(fabs)(decimals);
    T scale = (T)FN(power_of_ten)(digits < 400 ? (int)digits : 400);

    return decimals < 0 ? LIBM(rint)(a / scale) * scale : LIBM(rint)(a * scale) / scale;
}

MT_HD T FN(frac)(T a)
{
    return a - LIBM(trunc)(a);
}

MT_HD T FN(sign)(T a)
{
    return (T)((a > 0) - (a < 0));
}

MT_HD T FN(sgn)(T a)
{
    return (T)((a > 0) - (a < 0));
}

MT_HD bool FN(signbit)(T a)
{
#if BITS == 64
    return mt_bits_f64(a) >> 63;
#else
    return mt_bits_f32(a) >> 31;
#endif
}

MT_HD bool FN(isinf)(T a)
{
    return LIBM(fabs)(a) == (T)MT_INF;
}

MT_HD bool FN(isposinf)(T a)
{
    return a == (T)MT_INF;
}

MT_HD bool FN(isneginf)(T a)
{
    return a == -(T)MT_INF;
}

MT_HD bool FN(isfinite)(T a)
{
    return LIBM(fabs)(a) < (T)MT_INF;
}

/* pi for negative numbers, 0 for others and for -0, NaN stays. */
MT_HD T FN(angle)(T a)
{
    return ISNAN(a) ? a : (a < 0 ? NUM(MT_PI) : NUM(0));
}

MT_HD T FN(nan_to_num)(T a, T nan, T posinf, T neginf)
{
    T r = a == (T)MT_INF ? posinf : a;

    r = a == -(T)MT_INF ? neginf : r;
    return ISNAN(a) ? nan : r;
}

MT_HD T FN(deg2rad)(T a)
{
    return a * NUM(MT_PI / 180.0);
}

MT_HD T FN(rad2deg)(T a)
{
    return a * NUM(180.0 / MT_PI);
}

/* --- activations --- */

/* NaN stays NaN; -0 gives -0 as max(x, 0) does in PyTorch's loops. */
MT_HD T FN(relu)(T a)
{
    return a < 0 ? NUM(0) : a;
}

MT_HD T FN(relu6)(T a)
{
    T r = a < 0 ? NUM(0) : a;

    return r > 6 ? NUM(6) : r;
}

MT_HD T FN(threshold)(T a, T threshold, T value)
{
    return a <= threshold ? value : a;
}

MT_HD T FN(leaky_relu)(T a, T slope)
{
    return a > 0 ? a : a * slope;
}

MT_HD T FN(silu)(T a)
{
    return a * FN(sigmoid_quick)(a);
}

MT_HD T FN(gelu)(T a)
{
    return a * FN(normal_cdf)(a);
}

MT_HD T FN(gelu_tanh)(T a)
{
    T inner = NUM(0.79788456080286535588) * (a + NUM(0.044715) * (a * a * a));

    return a * FN(sigmoid_quick)(inner + inner); /* (1 + tanh u) / 2 */
}

MT_HD T FN(softplus)(T a, T beta, T threshold)
{
    T z = a * beta, positive = z > 0 ? z : NUM(0);

    return z > threshold ? a : (positive + FN(log1p_fast)(FN(exp_down)(-LIBM(fabs)(z)))) / beta;
}

MT_HD T FN(elu)(T a, T alpha, T scale, T input_scale)
{
    return a > 0 ? a * scale : FN(expm1)(a * input_scale) * (alpha * scale);
}

MT_HD T FN(celu)(T a, T alpha)
{
    return a > 0 ? a : FN(expm1)(a * (NUM(1) / alpha)) * alpha;
}

MT_HD T FN(selu)(T a)
{
    T scale = NUM(1.0507009873554804934193349852946);

    return a > 0 ? a * scale : FN(expm1)(a) * (NUM(1.6732632423543772848170429916717) * scale);
}

MT_HD T FN(mish)(T a)
{
    T e = FN(exp_plain)(a > 20 ? NUM(20) : a), n = e * (e + NUM(2));

    return a * (n / (n + NUM(2))); /* tanh(log(1 + e)) = n / (n + 2) */
}

MT_HD T FN(hardsigmoid)(T a)
{
    T r = a + NUM(3);

    r = r < 0 ? NUM(0) : r;
    r = r > 6 ? NUM(6) : r;
    return r / NUM(6);
}

MT_HD T FN(hardswish)(T a)
{
    T r = a + NUM(3);

    r = r < 0 ? NUM(0) : r;
    r = r > 6 ? NUM(6) : r;
    return a * r / NUM(6);
}

MT_HD T FN(hardshrink)(T a, T lambd)
{
    return a >= -lambd && a <= lambd ? NUM(0) : a;
}

/* NaN stays. */
MT_HD T FN(softshrink)(T a, T lambd)
{
    T r = a > lambd ? a - lambd : a * NUM(0);

    return a < -lambd ? a + lambd : r;
}

MT_HD T FN(log_sigmoid)(T a)
{
    return (a < 0 ? a : NUM(0)) - FN(log1p_fast)(FN(exp_down)(-LIBM(fabs)(a)));
}

MT_HD T FN(softsign)(T a)
{
    return a / (NUM(1) + LIBM(fabs)(a));
}

MT_HD T FN(tanhshrink)(T a)
{
    return a - FN(tanh)(a);
}

/* A negative eps stands for None. */
MT_HD T FN(logit)(T a, T eps)
{
    T low = eps, high = NUM(1) - eps;
    T x = a < low ? low : (a > high ? high : a);

    x = eps < 0 ? a : x;
    return FN(log)(x / (NUM(1) - x));
}

#else /* integers and bool */

MT_HD bool FN(isinf)(T a)
{
    (void)a;
    return false;
}

MT_HD bool FN(isposinf)(T a)
{
    (void)a;
    return false;
}

MT_HD bool FN(isneginf)(T a)
{
    (void)a;
    return false;
}

MT_HD bool FN(isfinite)(T a)
{
    (void)a;
    return true;
}

MT_HD bool FN(signbit)(T a)
{
#if IS_SIGNED
    return a < 0;
#else
    (void)a;
    return false;
#endif
}

MT_HD T FN(sign)(T a)
{
#if IS_SIGNED
    return (T)((a > 0) - (a < 0));
#else
    return a > 0;
#endif
}

MT_HD T FN(sgn)(T a)
{
    return FN(sign)(a);
}

MT_HD T FN(nan_to_num)(T a, T nan, T posinf, T neginf)
{
    (void)nan, (void)posinf, (void)neginf;
    return a;
}

MT_HD T FN(bitwise_not)(T a)
{
#if IS_BOOL
    return !a;
#else
    return (T)~a;
#endif
}

#if IS_INT

MT_HD T FN(neg)(T a)
{
    return (T)(0u - (U)a);
}

/* The lowest value stays itself. */
MT_HD T FN(abs)(T a)
{
#if IS_SIGNED
    return a < 0 ? (T)(0u - (U)a) : a;
#else
    return a;
#endif
}

MT_HD T FN(square)(T a)
{
    return (T)((U)a * (U)a);
}

MT_HD T FN(floor)(T a)
{
    return a;
}

MT_HD T FN(ceil)(T a)
{
    return a;
}

MT_HD T FN(round)(T a)
{
    return a;
}

MT_HD T FN(trunc)(T a)
{
    return a;
}

MT_HD T FN(relu)(T a)
{
#if IS_SIGNED
    return a < 0 ? NUM(0) : a;
#else
    return a;
#endif
}

MT_HD T FN(relu6)(T a)
{
    T r = FN(relu)(a);

    return r > 6 ? NUM(6) : r;
}

MT_HD T FN(threshold)(T a, T threshold, T value)
{
    return a <= threshold ? value : a;
}

#endif
#endif

#undef NUM
