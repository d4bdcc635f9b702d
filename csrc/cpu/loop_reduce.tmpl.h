/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction skeleton: from the op OP of the dtype in scope to `static const mt_reduce_loops <OP>_<XS>`. math/reduce.h says
   which class an op belongs to; each class is one file. See the README of this folder for states and params. */
#ifndef T
#include "cpu/loops.h"
#include "math/dtype/f32.h"
#define OP sum
#endif

/* Elements of a row that are reduced in lanes before they join the state; rows of a column block. */
#ifndef REDUCE_BLOCK
#define REDUCE_BLOCK 4096
#define REDUCE_ROWS 64
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
