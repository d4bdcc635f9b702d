/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that every dtype header shares; they depend on S and XS at the place of use. Included by
   the dtype headers only. end.h removes the names of the dtype and keeps these. */
#ifndef MT_MATH_DTYPE_COMMON_H
#define MT_MATH_DTYPE_COMMON_H

#include "math/scalar.h"

/* Two steps, so that arguments which are macros are expanded first. */
#define MT_JOIN(left, right) MT_JOIN_TOKENS(left, right)
#define MT_JOIN_TOKENS(left, right) left##right
#define MT_FORMULA(fname, suffix) MT_FORMULA_TOKENS(fname, suffix)
#define MT_FORMULA_TOKENS(fname, suffix) mt_##fname##_##suffix
#define MT_LOOP_SYMBOL(stem, suffix) MT_LOOP_SYMBOL_TOKENS(stem, suffix)
#define MT_LOOP_SYMBOL_TOKENS(stem, suffix) stem##_##suffix

/* The formula of this name for the dtype in scope. */
#define FN(fname) MT_FORMULA(fname, S)

#endif
