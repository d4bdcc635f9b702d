/* SPDX-License-Identifier: BSD-3-Clause */
/* The reductions: which class, monoid and kind of output each op has, and the formulas of
   reduce.tmpl.h for all compute types. Loops read these properties by pasting the op's name:
   MT_JOIN(MT_REDUCE_MONOID_, OP). */
#ifndef MT_MATH_REDUCE_H
#define MT_MATH_REDUCE_H

#include "math/complex.h"
#include "math/unary.h"

/* Classes. */
#define MT_REDUCE_FOLD 1   /* map, monoid, finish */
#define MT_REDUCE_PICK 2   /* a value and its index */
#define MT_REDUCE_MOMENT 3 /* mean and sum of squared deviations */
#define MT_REDUCE_NORM 4   /* a fold chosen by the number p */
#define MT_REDUCE_LOGSUM 5 /* maximum and sum of exponentials below it */
#define MT_REDUCE_RANGE 6  /* minimum and maximum */

#define MT_REDUCE_CLASS_sum MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_nansum MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_mean MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_prod MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_amax MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_amin MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_any MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_all MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_count_nonzero MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_sum_of_squares MT_REDUCE_FOLD
#define MT_REDUCE_CLASS_max MT_REDUCE_PICK
#define MT_REDUCE_CLASS_min MT_REDUCE_PICK
#define MT_REDUCE_CLASS_argmax MT_REDUCE_PICK
#define MT_REDUCE_CLASS_argmin MT_REDUCE_PICK
#define MT_REDUCE_CLASS_var MT_REDUCE_MOMENT
#define MT_REDUCE_CLASS_std MT_REDUCE_MOMENT
#define MT_REDUCE_CLASS_var_mean MT_REDUCE_MOMENT
#define MT_REDUCE_CLASS_std_mean MT_REDUCE_MOMENT
#define MT_REDUCE_CLASS_norm MT_REDUCE_NORM
#define MT_REDUCE_CLASS_logsumexp MT_REDUCE_LOGSUM
#define MT_REDUCE_CLASS_aminmax MT_REDUCE_RANGE

/* Monoids of the folds. */
#define MT_REDUCE_MONOID_sum add
#define MT_REDUCE_MONOID_nansum add
#define MT_REDUCE_MONOID_mean add
#define MT_REDUCE_MONOID_prod mul
#define MT_REDUCE_MONOID_amax greatest
#define MT_REDUCE_MONOID_amin least
#define MT_REDUCE_MONOID_any either
#define MT_REDUCE_MONOID_all both
#define MT_REDUCE_MONOID_count_nonzero count
#define MT_REDUCE_MONOID_sum_of_squares real_add
#define MT_REDUCE_MONOID_norm_zero real_add
#define MT_REDUCE_MONOID_norm_one real_add
#define MT_REDUCE_MONOID_norm_two real_add
#define MT_REDUCE_MONOID_norm_inf real_max
#define MT_REDUCE_MONOID_norm_ninf real_min
#define MT_REDUCE_MONOID_norm_any double_add

/* Folds whose lanes may overflow or vanish where the result does not: a block with a suspicious
   result is done again by <op>_map_wide. */
#define MT_REDUCE_RISKY_sum_of_squares 1
#define MT_REDUCE_RISKY_norm_two 1

/* Outputs. */
#define MT_REDUCE_TOTAL 1 /* int64 for integers and bool, else the dtype */
#define MT_REDUCE_SAME 2  /* the dtype */
#define MT_REDUCE_BYTE 3  /* bool (or uint8) */
#define MT_REDUCE_INDEX 4 /* int64 */
#define MT_REDUCE_REAL 5  /* the real dtype */

#define MT_REDUCE_OUT_sum MT_REDUCE_TOTAL
#define MT_REDUCE_OUT_nansum MT_REDUCE_TOTAL
#define MT_REDUCE_OUT_prod MT_REDUCE_TOTAL
#define MT_REDUCE_OUT_mean MT_REDUCE_SAME
#define MT_REDUCE_OUT_amax MT_REDUCE_SAME
#define MT_REDUCE_OUT_amin MT_REDUCE_SAME
#define MT_REDUCE_OUT_any MT_REDUCE_BYTE
#define MT_REDUCE_OUT_all MT_REDUCE_BYTE
#define MT_REDUCE_OUT_count_nonzero MT_REDUCE_INDEX
#define MT_REDUCE_OUT_sum_of_squares MT_REDUCE_REAL
#define MT_REDUCE_OUT_norm MT_REDUCE_REAL

/* Picks and moments: which end, which outputs, root or not. */
#define MT_REDUCE_BEATS_max beats_max
#define MT_REDUCE_BEATS_argmax beats_max
#define MT_REDUCE_BEATS_min beats_min
#define MT_REDUCE_BEATS_argmin beats_min
#define MT_REDUCE_EXTREME_max greatest
#define MT_REDUCE_EXTREME_argmax greatest
#define MT_REDUCE_EXTREME_min least
#define MT_REDUCE_EXTREME_argmin least
#define MT_REDUCE_VALUE_max 1
#define MT_REDUCE_VALUE_min 1
#define MT_REDUCE_ROOT_std 1
#define MT_REDUCE_ROOT_std_mean 1
#define MT_REDUCE_MEAN_var_mean 1
#define MT_REDUCE_MEAN_std_mean 1

#include "math/dtype/b8.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c64.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c128.h"
#include "math/reduce.tmpl.h"
#include "math/dtype/end.h"

#endif
