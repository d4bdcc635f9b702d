/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for bfloat16: stored as its bits, computed in float. */
#include "math/dtype/common.h"

#define X uint16_t
#define XS bf16
#define T float
#define S f32
#define REAL float
#define XREAL uint16_t
#define ACC float
#define LANE float
#define WIDE double
#define IS_FLOAT 1
#define IS_INT 0
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 0
#define IS_HALF 1
#define BITS 32
#define LIBM(fname) fname##f
#define ISNAN(value) ((value) != (value))
#define LOAD(value) mt_bf16_to_f32(value)
#define STORE(value) mt_f32_to_bf16(value)
/* For loops, see cpu/vec.h. */
#define LOAD_MANY mt_vec_bf16_to_f32
#define STORE_MANY mt_vec_f32_to_bf16
#define STORE_ONE mt_vec_put_bf16
