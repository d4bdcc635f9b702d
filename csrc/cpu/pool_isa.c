/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling kernels at one ISA level: pool.tmpl.h for the dtypes to which the caller brings all others, and
   the table of them. */
#include "cpu/pool.h"

#include "cpu/isa.h"
#include "cpu/vec.h"
#include "math/dtype/common.h"

enum { MT_POOL_PIECE = 256 }; /* results made at once */
#define MT_LEAST_INT(T) ((T) - 1 < 0 ? (T)((uint64_t)1 << (8 * sizeof(T) - 1)) : (T)0)

#include "math/dtype/f32.h"
#include "cpu/pool.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cpu/pool.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cpu/pool.tmpl.h"
#include "math/dtype/end.h"

const mt_pool_kernels MT_ISA_NAME(mt_pool_kernels) = {
    .max = {[MT_DTYPE_f32] = max_f32, [MT_DTYPE_f64] = max_f64, [MT_DTYPE_i64] = max_i64},
    .max_backward = {[MT_DTYPE_f32] = max_backward_f32, [MT_DTYPE_f64] = max_backward_f64},
    .mean = {[MT_DTYPE_f32] = mean_f32, [MT_DTYPE_f64] = mean_f64, [MT_DTYPE_i64] = mean_i64},
    .mean_backward = {[MT_DTYPE_f32] = mean_backward_f32, [MT_DTYPE_f64] = mean_backward_f64},
    .adaptive = {[MT_DTYPE_f32] = adaptive_f32, [MT_DTYPE_f64] = adaptive_f64},
    .adaptive_backward = {[MT_DTYPE_f32] = adaptive_backward_f32, [MT_DTYPE_f64] = adaptive_backward_f64},
};
