/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for float32. */
#include "math/dtype/common.h"

#define X float
#define XS f32
#define T float
#define S f32
#define REAL float
#define XREAL float
#define CX mt_c64
#define ACC float
#define LANE float
#define WIDE double
#define IS_FLOAT 1
#define IS_INT 0
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 0
#define IS_HALF 0
#define BITS 32
#define LIBM(fname) fname##f
#define ISNAN(value) ((value) != (value))
#define LOAD(value) (value)
#define STORE(value) (value)
#define STORE_ONE(value) STORE(value)
