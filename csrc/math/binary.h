/* SPDX-License-Identifier: BSD-3-Clause */
/* The formulas of binary.tmpl.h for every real compute type. Functions are named mt_<op>_<S>. The
   template is written once; errors point at its lines. */
#ifndef MT_MATH_BINARY_H
#define MT_MATH_BINARY_H

#include "math/unary.h"

#include "math/dtype/b8.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "math/binary.tmpl.h"
#include "math/dtype/end.h"

/* nextafter of the 16-bit dtypes: the neighbours of a number are the neighbours of its bits. */
MT_HD uint16_t mt_next_bits_16(uint16_t bits, float a, bool up)
{
    return a == 0.0f ? (up ? 1 : 0x8001) : (uint16_t)((a > 0.0f) == up ? bits + 1 : bits - 1);
}

MT_HD float mt_nextafter_f16(float a, float b)
{
    float r = mt_f16_to_f32(mt_next_bits_16(mt_f32_to_f16(a), a, b > a));

    return ((a != a) | (b != b)) ? a + b : (a == b ? b : r);
}

MT_HD float mt_nextafter_bf16(float a, float b)
{
    float r = mt_bf16_to_f32(mt_next_bits_16(mt_f32_to_bf16(a), a, b > a));

    return ((a != a) | (b != b)) ? a + b : (a == b ? b : r);
}

#endif
