/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction skeleton: from the op OP of the dtype in scope to `static const mt_reduce_loops
   <OP>_<XS>`. math/reduce.h says which class an op belongs to; each class is one file. See the
   README of this folder for states and params. */
#ifndef T
#include "cpu/loops.h"
#include "math/dtype/f32.h"
#define OP sum
#endif

/* Elements of a row that are reduced in lanes before they join the state; rows of a column block.
   */
#ifndef REDUCE_BLOCK
#define REDUCE_BLOCK 4096
#define REDUCE_ROWS 64
/* Joins the lanes by halves into the first one; the numbers are constants, so each stage is a few
   vector instructions. */
#define REDUCE_STAGE(acc, lanes, half, join) \
    if ((lanes) > (half))                    \
        for (int j = 0; j < (half); j++)     \
            (acc)[j] = join((acc)[j], (acc)[j + (half)]);
#define REDUCE_LANES(acc, lanes, join)     \
    do {                                   \
        REDUCE_STAGE(acc, lanes, 64, join) \
        REDUCE_STAGE(acc, lanes, 32, join) \
        REDUCE_STAGE(acc, lanes, 16, join) \
        REDUCE_STAGE(acc, lanes, 8, join)  \
        REDUCE_STAGE(acc, lanes, 4, join)  \
        REDUCE_STAGE(acc, lanes, 2, join)  \
        REDUCE_STAGE(acc, lanes, 1, join)  \
    } while (0)
#define REDUCE_PLUS(left, right) ((left) + (right))
/* Rows up to this many elements are turned into columns, 64 rows at a time. */
#define REDUCE_SHORT_ROW(itemsize) ((itemsize) > 4 ? 256 / (int)(itemsize) : 64)
#endif

#if MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_FOLD
#include "cpu/reduce_fold.tmpl.h"
#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_PICK
#include "cpu/reduce_pick.tmpl.h"
#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_MOMENT
#include "cpu/reduce_moment.tmpl.h"
#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_NORM
#include "cpu/reduce_norm.tmpl.h"
#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_LOGSUM
#include "cpu/reduce_logsum.tmpl.h"
#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_RANGE
#include "cpu/reduce_range.tmpl.h"
#else
#error "math/reduce.h does not list this reduction"
#endif
