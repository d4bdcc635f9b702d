/* SPDX-License-Identifier: BSD-3-Clause */
/* All elementary functions, and the list of ops whose common case and rare case are apart: loops run mt_<op>_fast_<S> over a
   block and, when mt_<op>_is_rare_<S> holds anywhere in it, repair those elements with mt_<op>_<S>. The values
   per ISA level and class: floats only. */
#ifndef MT_MATH_ELEMENTARY_H
#define MT_MATH_ELEMENTARY_H

#include "math/elementary_f32.h"
#include "math/elementary_f64.h"
#include "math/elementary_more.h"

/* 1: both float dtypes; 2: float32 only. */
#define MT_RARE_exp 1
#define MT_RARE_log 1
#define MT_RARE_log2 1
#define MT_RARE_log10 1
#define MT_RARE_log1p 1
#define MT_RARE_tanh 1
#define MT_RARE_sigmoid 1
#define MT_RARE_sin 1
#define MT_RARE_cos 1
#define MT_RARE_tan 1
#define MT_RARE_fmod 1
#define MT_RARE_remainder 1
#define MT_RARE_div_floor 1
#define MT_RARE_pow 2
#define MT_RARE_sinh 2
#define MT_RARE_cosh 2
#define MT_RARE_asinh 2
#define MT_RARE_acosh 2
#define MT_RARE_atanh 2

#endif
