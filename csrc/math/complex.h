/* SPDX-License-Identifier: BSD-3-Clause */
/* The formulas of complex.tmpl.h for complex64 and complex128, and the two that make complex
   numbers of real ones (OUT_COMPLEX). */
#ifndef MT_MATH_COMPLEX_H
#define MT_MATH_COMPLEX_H

#include "math/complex_double.h"

#include "math/dtype/c64.h"
#include "math/complex.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c128.h"
#include "math/complex.tmpl.h"
#include "math/dtype/end.h"

MT_HD mt_c64 mt_complex_f32(float re, float im)
{
    return mt_make_c64(re, im);
}

MT_HD mt_c128 mt_complex_f64(double re, double im)
{
    return mt_make_c128(re, im);
}

MT_HD mt_c64 mt_polar_f32(float abs, float angle)
{
    return mt_make_c64(abs * cosf(angle), abs * sinf(angle));
}

MT_HD mt_c128 mt_polar_f64(double abs, double angle)
{
    return mt_make_c128(abs * cos(angle), abs * sin(angle));
}

#endif
