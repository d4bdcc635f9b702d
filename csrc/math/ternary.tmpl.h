/* SPDX-License-Identifier: BSD-3-Clause */
/* Formulas of three operands, and the filling constant. Bounds may be tensors or numbers: the order
   of the arguments is the same. Complex versions are in complex.tmpl.h. */
#ifndef T
#include "math/dtype/f32.h"
#endif

MT_HD T FN(fill)(T value)
{
    return value;
}

MT_HD T FN(where)(bool cond, T a, T b)
{
    return cond ? a : b;
}

/* NaN in any operand propagates; where low exceeds high the result is high. */
MT_HD T FN(clamp_min)(T a, T low)
{
    T r = a < low ? low : a; /* NaN in a stays */

    return ISNAN(low) ? low : r;
}

MT_HD T FN(clamp_max)(T a, T high)
{
    T r = a > high ? high : a;

    return ISNAN(high) ? high : r;
}

MT_HD T FN(clamp)(T a, T low, T high)
{
    T r = a < low ? low : a;

    r = r > high ? high : r;
    r = ISNAN(low) ? low : r;
    return ISNAN(high) ? high : r;
}

#if IS_FLOAT

/* Exact at both ends: the formula is taken from the nearer one. */
MT_HD T FN(lerp)(T a, T b, T weight)
{
    return LIBM(fabs)(weight) < (T)0.5 ? a + weight * (b - a) : b - (b - a) * ((T)1 - weight);
}

MT_HD T FN(addcmul)(T a, T b, T c, T value)
{
    return a + value * b * c;
}

MT_HD T FN(addcdiv)(T a, T b, T c, T value)
{
    return a + value * b / c;
}

#elif IS_INT

MT_HD T FN(addcmul)(T a, T b, T c, T value)
{
    return (T)((U)a + (U)value * (U)b * (U)c);
}

#endif
