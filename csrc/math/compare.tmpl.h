/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparisons and logical operations of the real dtypes. All give bool; any value but zero counts
   as true (NaN too). Complex versions are in complex.tmpl.h. */
#ifndef T
#include "math/dtype/f32.h"
#endif

MT_HD bool FN(eq)(T a, T b)
{
    return a == b;
}

MT_HD bool FN(ne)(T a, T b)
{
    return a != b;
}

MT_HD bool FN(lt)(T a, T b)
{
    return a < b;
}

MT_HD bool FN(le)(T a, T b)
{
    return a <= b;
}

MT_HD bool FN(gt)(T a, T b)
{
    return a > b;
}

MT_HD bool FN(ge)(T a, T b)
{
    return a >= b;
}

MT_HD bool FN(logical_and)(T a, T b)
{
    return (a != 0) & (b != 0);
}

MT_HD bool FN(logical_or)(T a, T b)
{
    return (a != 0) | (b != 0);
}

MT_HD bool FN(logical_xor)(T a, T b)
{
    return (a != 0) != (b != 0);
}
