/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas of two operands for the real dtypes. Integer arithmetic goes through U, so it wraps;
   integer division by zero gives 0 (a check before the loop raises). The fused backward formulas of
   activations take the gradient first. Complex versions are in complex.tmpl.h. */
#ifndef T
#include "math/dtype/f32.h"
#endif

#define NUM(value) ((T)(value))

/* --- order; maximum and minimum propagate NaN, fmax and fmin ignore it --- */

MT_HD T FN(maximum)(T a, T b)
{
    T r = a > b ? a : b;

    return ISNAN(a) ? a : r;
}

MT_HD T FN(minimum)(T a, T b)
{
    T r = a < b ? a : b;

    return ISNAN(a) ? a : r;
}

MT_HD T FN(fmax)(T a, T b)
{
    T r = a > b ? a : b;

    return ISNAN(b) ? a : r;
}

MT_HD T FN(fmin)(T a, T b)
{
    T r = a < b ? a : b;

    return ISNAN(b) ? a : r;
}

/* --- arithmetic --- */

#if IS_BOOL

MT_HD T FN(add)(T a, T b, T alpha)
{
    return a | (alpha & b);
}

MT_HD T FN(mul)(T a, T b)
{
    return a & b;
}

#elif IS_INT

/* The comparison with 1 is hoisted out of the loop: products of 64-bit lanes are slow. */
MT_HD T FN(add)(T a, T b, T alpha)
{
    return alpha == 1 ? (T)((U)a + (U)b) : (T)((U)a + (U)alpha * (U)b);
}

MT_HD T FN(sub)(T a, T b, T alpha)
{
    return alpha == 1 ? (T)((U)a - (U)b) : (T)((U)a - (U)alpha * (U)b);
}

MT_HD T FN(mul)(T a, T b)
{
    return (T)((U)a * (U)b);
}

/* The divisor -1 would trap with the lowest dividend; its quotient is the wrapped negative. Up to
   32 bits the quotient of doubles (16 bits: floats) truncates to the right integer, and loops
   vectorise. */
MT_HD T FN(div_trunc)(T a, T b)
{
#if BITS == 64
    return b == -1 ? (T)(0u - (U)a) : (b == 0 ? NUM(0) : a / b);
#elif BITS == 32
    return b == 0 ? NUM(0) : mt_f64_to_i32((double)a / (double)b);
#else
    return b == 0 ? NUM(0) : (T)mt_f32_to_i32((float)a / (float)b);
#endif
}

MT_HD T FN(fmod)(T a, T b)
{
#if BITS == 64
    return b == -1 || b == 0 ? NUM(0) : a % b;
#else
    return b == 0 ? NUM(0) : (T)((U)a - (U)FN(div_trunc)(a, b) * (U)b);
#endif
}

MT_HD T FN(div_floor)(T a, T b)
{
    T q = FN(div_trunc)(a, b);

#if IS_SIGNED
    bool inexact = (T)((U)q * (U)b) != a;

    return (T)(q - (inexact & ((a ^ b) < 0) & (b != 0)));
#else
    return q;
#endif
}

/* The result has the sign of the divisor. */
MT_HD T FN(remainder)(T a, T b)
{
    T r = FN(fmod)(a, b);

#if IS_SIGNED
    U adjust = (U)((r != 0) & ((r ^ b) < 0)); /* a mask and no branch: signs are hard to predict */

    return (T)((U)r + ((U)b & (0u - adjust)));
#else
    return r;
#endif
}

/* A negative exponent gives the integer part of the true power: 0 but for the bases 1 and -1. */
MT_HD T FN(pow)(T a, T b)
{
    U r = 1, base = (U)a;

#if IS_SIGNED
    if (b < 0)
        return a == 1 ? NUM(1) : (a == -1 ? (b & 1 ? NUM(-1) : NUM(1)) : NUM(0));
#endif
    for (U e = (U)b; e; e >>= 1) {
        r = e & 1 ? r * base : r;
        base *= base;
    }
    return (T)r;
}

MT_HD T FN(pow_number)(T a, T b)
{
    return b == 2 ? (T)((U)a * (U)a) : FN(pow)(a, b);
}

MT_HD_BIG T FN(gcd)(T a, T b)
{
    U x = (U)a, y = (U)b;

#if IS_SIGNED
    x = a < 0 ? 0u - x : x;
    y = b < 0 ? 0u - y : y;
#endif
    while (y) {
        U r = x % y;

        x = y;
        y = r;
    }
    return (T)x;
}

MT_HD T FN(lcm)(T a, T b)
{
    T g = FN(gcd)(a, b);
    U r;

    if (g == 0)
        return 0;
    r = (U)FN(div_trunc)(a, g) * (U)b;
#if IS_SIGNED
    r = r >> (8 * sizeof r - 1) ? 0u - r : r;
#endif
    return (T)r;
}

#else /* IS_FLOAT */

MT_HD T FN(add)(T a, T b, T alpha)
{
    return a + alpha * b;
}

MT_HD T FN(sub)(T a, T b, T alpha)
{
    return a - alpha * b;
}

MT_HD T FN(mul)(T a, T b)
{
    return a * b;
}

MT_HD T FN(div)(T a, T b)
{
    return a / b;
}

MT_HD T FN(div_trunc)(T a, T b)
{
    return LIBM(trunc)(a / b);
}

/* Python's floor division: from the exact remainder, so that it agrees with remainder. */
MT_HD T FN(div_floor_of)(T mod, T a, T b)
{
    T div = (a - mod) / b, floor_div;

    div = mod != 0 && (b < 0) != (mod < 0) ? div - NUM(1) : div;
    floor_div = LIBM(floor)(div);
    floor_div = div - floor_div > NUM(0.5) ? floor_div + NUM(1) : floor_div;
    floor_div = div != 0 ? floor_div : LIBM(copysign)(NUM(0), a / b);
    return b == 0 ? a / b : floor_div;
}

MT_HD T FN(div_floor)(T a, T b)
{
    return FN(div_floor_of)(FN(fmod)(a, b), a, b);
}

MT_HD T FN(div_floor_fast)(T a, T b)
{
    return FN(div_floor_of)(FN(fmod_fast)(a, b), a, b);
}

MT_HD bool FN(div_floor_is_rare)(T a, T b)
{
    return FN(fmod_is_rare)(a, b);
}

/* Python's modulus: the sign of the divisor, also for a zero. */
MT_HD T FN(remainder_of)(T mod, T b)
{
    mod = mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
    return mod == 0 ? LIBM(copysign)(NUM(0), b) : mod;
}

MT_HD T FN(remainder)(T a, T b)
{
    return FN(remainder_of)(FN(fmod)(a, b), b);
}

MT_HD T FN(remainder_fast)(T a, T b)
{
    return FN(remainder_of)(FN(fmod_fast)(a, b), b);
}

MT_HD bool FN(remainder_is_rare)(T a, T b)
{
    return FN(fmod_is_rare)(a, b);
}

/* One number as exponent: the usual ones without a logarithm. The choice is hoisted out of the
   loop. */
MT_HD T FN(pow_number)(T a, T b)
{
    if (b == NUM(2))
        return a * a;
    if (b == NUM(1))
        return a;
    if (b == NUM(3))
        return a * a * a;
    if (b == NUM(0.5))
        return LIBM(sqrt)(a);
    if (b == NUM(-1))
        return NUM(1) / a;
    if (b == NUM(-0.5))
        return NUM(1) / LIBM(sqrt)(a);
    if (b == NUM(-2))
        return NUM(1) / (a * a);
    return FN(pow)(a, b);
}

/* In double squares of floats neither overflow nor vanish. */
MT_HD T FN(hypot)(T a, T b)
{
#if BITS == 32
    float r = (float)sqrt((double)a * (double)a + (double)b * (double)b);

    return ((fabsf(a) == MT_INF) | (fabsf(b) == MT_INF)) ? MT_INF : r;
#else
    return hypot(a, b);
#endif
}

MT_HD T FN(copysign)(T a, T b)
{
    return LIBM(copysign)(a, b);
}

MT_HD T FN(nextafter)(T a, T b)
{
    return LIBM(nextafter)(a, b);
}

/* Exponents beyond any range stay beyond it as an int. */
MT_HD T FN(ldexp)(T a, T exponent)
{
    T e = exponent > 10000 ? NUM(10000) : (exponent < -10000 ? NUM(-10000) : exponent);

    return LIBM(ldexp)(a, (int)e);
}

MT_HD T FN(xlogy)(T a, T b)
{
    return ISNAN(b) ? b : (a == 0 ? NUM(0) : a * FN(log)(b));
}

MT_HD T FN(xlog1py)(T a, T b)
{
    return ISNAN(b) ? b : (a == 0 ? NUM(0) : a * FN(log1p)(b));
}

MT_HD T FN(logaddexp)(T a, T b)
{
    T m = FN(maximum)(a, b);
    T r = m + FN(log1p_fast)(FN(exp_down)(-LIBM(fabs)(a - b)));

    return a == b && LIBM(fabs)(a) == (T)MT_INF ? a : r;
}

MT_HD T FN(logaddexp2)(T a, T b)
{
    T m = FN(maximum)(a, b);
    T z = FN(exp_down)(LIBM(fabs)(a - b) * NUM(-0.69314718055994530942));
    T r = m + FN(log1p_fast)(z) * NUM(1.44269504088896340736);

    return a == b && LIBM(fabs)(a) == (T)MT_INF ? a : r;
}

#endif

MT_HD T FN(heaviside)(T a, T b)
{
    return a == 0 ? b : (T)(a > 0);
}

/* --- bits --- */

#if IS_INT || IS_BOOL

MT_HD T FN(bitwise_and)(T a, T b)
{
    return (T)(a & b);
}

MT_HD T FN(bitwise_or)(T a, T b)
{
    return (T)(a | b);
}

MT_HD T FN(bitwise_xor)(T a, T b)
{
    return (T)(a ^ b);
}

#endif
#if IS_INT

MT_HD T FN(bitwise_left_shift)(T a, T b)
{
    bool in_range = (U)b < BITS;

    return in_range ? (T)((U)a << ((U)b & (BITS - 1))) : NUM(0);
}

MT_HD T FN(bitwise_right_shift)(T a, T b)
{
    U count = (U)b < BITS ? (U)b : BITS - 1;

#if IS_SIGNED
    return (T)(a >> count);
#else
    return (U)b < BITS ? (T)(a >> count) : NUM(0);
#endif
}

#endif

/* --- backward formulas: gradient, then the input x or the result y of the forward --- */

#if IS_FLOAT

MT_HD T FN(tanh_backward)(T grad, T y)
{
    return grad * (NUM(1) - y * y);
}

MT_HD T FN(sigmoid_backward)(T grad, T y)
{
    return grad * (NUM(1) - y) * y;
}

MT_HD T FN(silu_backward)(T grad, T x)
{
    T s = FN(sigmoid_quick)(x);

    return grad * s * (NUM(1) + x * (NUM(1) - s));
}

MT_HD T FN(gelu_backward)(T grad, T x)
{
    return grad * FN(gelu_slope)(x);
}

MT_HD T FN(gelu_tanh_backward)(T grad, T x)
{
    T beta = NUM(2 * 0.79788456080286535588), kappa = NUM(0.044715);
    T s = FN(sigmoid_quick)(beta * (x + kappa * (x * x * x)));
    T slope = s * (NUM(1) - s) * (beta * (NUM(1) + NUM(3) * kappa * (x * x)));

    return grad * (s + x * slope);
}

MT_HD T FN(softplus_backward)(T grad, T x, T beta, T threshold)
{
    T z = x * beta;

    return z > threshold ? grad : grad * FN(sigmoid_quick)(z);
}

MT_HD T FN(leaky_relu_backward)(T grad, T x, T slope)
{
    return x > 0 ? grad : grad * slope;
}

/* is_result: the second operand is the output of the forward. */
MT_HD T FN(elu_backward)(T grad, T x, T alpha, T scale, T input_scale, T is_result)
{
    T from_result = grad * input_scale * (x + alpha * scale);
    T from_input = grad * input_scale * (alpha * scale) * FN(exp_plain)(x * input_scale);

    return x > 0 ? grad * scale : (is_result != 0 ? from_result : from_input);
}

MT_HD T FN(threshold_backward)(T grad, T x, T threshold)
{
    return x <= threshold ? NUM(0) : grad;
}

MT_HD T FN(hardtanh_backward)(T grad, T x, T low, T high)
{
    return x > low && x < high ? grad : NUM(0);
}

MT_HD T FN(hardsigmoid_backward)(T grad, T x)
{
    return x > NUM(-3) && x < NUM(3) ? grad / NUM(6) : NUM(0);
}

MT_HD T FN(hardswish_backward)(T grad, T x)
{
    T inside = grad * (x / NUM(3) + NUM(0.5));

    return x <= NUM(-3) ? NUM(0) : (x >= NUM(3) ? grad : inside);
}

MT_HD T FN(hardshrink_backward)(T grad, T x, T lambd)
{
    return x > lambd || x < -lambd ? grad : NUM(0);
}

MT_HD T FN(softshrink_backward)(T grad, T x, T lambd)
{
    return x > lambd || x < -lambd ? grad : NUM(0);
}

MT_HD T FN(mish_backward)(T grad, T x)
{
    T e = FN(exp_plain)(x > 20 ? NUM(20) : x), n = e * (e + NUM(2)), t = n / (n + NUM(2));

    return grad * (t + x * FN(sigmoid_quick)(x) * (NUM(1) - t * t));
}

/* The derivative of log(sigmoid(x)) is sigmoid(-x). */
MT_HD T FN(log_sigmoid_backward)(T grad, T x)
{
    return grad * FN(sigmoid_quick)(-x);
}

/* Outside [eps, 1 - eps] the gradient is 0, without eps (negative) it is NaN outside [0, 1]. */
MT_HD T FN(logit_backward)(T grad, T x, T eps)
{
    T low = eps < 0 ? NUM(0) : eps, r = grad / (x * (NUM(1) - x));

    return x >= low && x <= NUM(1) - low ? r : (eps < 0 ? MT_NAN : NUM(0));
}

#endif

#undef NUM
