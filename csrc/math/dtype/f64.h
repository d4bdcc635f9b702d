/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for float64. */
#include "math/dtype/common.h"

#define X double
#define XS f64
#define T double
#define S f64
#define REAL double
#define XREAL double
#define CX mt_c128
#define ACC double
#define LANE double
#define WIDE double
#define IS_FLOAT 1
#define IS_INT 0
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 0
#define IS_HALF 0
#define BITS 64
#define LIBM(fname) fname
#define ISNAN(value) ((value) != (value))
#define LOAD(value) (value)
#define STORE(value) (value)
#define STORE_ONE(value) STORE(value)
