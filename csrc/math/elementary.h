/* SPDX-License-Identifier: BSD-3-Clause */
/* All elementary functions, and the list of ops whose common case and rare case are apart: loops
   run mt_<op>_fast_<S> over a block and, when mt_<op>_is_rare_<S> holds anywhere in it, repair
   those elements with mt_<op>_<S>. Values of MT_RARE_<op>: 1 float32 and float64, found by a flag;
   2 the same, but float32 has a measure (mt_<op>_rarity_f32, rare beyond MT_RARE_BEYOND_<op>), of
   which a loop takes the maximum; 3 and 4: float32 only, flag and measure. Three more properties that
   loops ask for by pasting: MT_UNIT_<op>, the number is usually 1 and then costs nothing (integers,
   complex); MT_POWER_<op>, the number is an exponent, small ones of which have loops of their own;
   MT_HALF_<op>, the 16-bit dtypes have formulas of their own, mt_<op>_f16 and mt_<op>_bf16. */
#ifndef MT_MATH_ELEMENTARY_H
#define MT_MATH_ELEMENTARY_H

#include "math/elementary_f32.h"
#include "math/elementary_f64.h"
#include "math/elementary_more.h"

#define MT_HALF_nextafter 1

#define MT_UNIT_add 1
#define MT_UNIT_sub 1
#define MT_UNIT_addcmul 1
#define MT_UNIT_addcdiv 1
#define MT_POWER_pow_number 1

#define MT_RARE_digamma 1
#define MT_RARE_fmod 1
#define MT_RARE_remainder 1
#define MT_RARE_div_floor 1
#define MT_RARE_exp 2
#define MT_RARE_log 2
#define MT_RARE_log2 2
#define MT_RARE_log10 2
#define MT_RARE_log1p 2
#define MT_RARE_tanh 2
#define MT_RARE_sigmoid 2
#define MT_RARE_sin 2
#define MT_RARE_cos 2
#define MT_RARE_tan 2
#define MT_RARE_erfinv 3
#define MT_RARE_lgamma 3
#define MT_RARE_pow 3
#define MT_RARE_acosh 3
#define MT_RARE_sinh 4
#define MT_RARE_cosh 4
#define MT_RARE_asinh 4
#define MT_RARE_atanh 4

#endif
