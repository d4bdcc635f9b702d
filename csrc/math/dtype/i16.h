/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for int16. Sums keep 32-bit lanes inside a block. */
#include "math/dtype/common.h"

#define X int16_t
#define XS i16
#define T int16_t
#define S i16
#define U uint32_t
#define REAL int16_t
#define XREAL int16_t
#define ACC int64_t
#define LANE int32_t
#define WIDE int64_t
#define IS_FLOAT 0
#define IS_INT 1
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 0
#define IS_HALF 0
#define BITS 16
#define ISNAN(value) (0)
#define LOAD(value) (value)
#define STORE(value) (value)
#define STORE_ONE(value) STORE(value)
