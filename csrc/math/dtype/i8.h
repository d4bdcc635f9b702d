/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for int8. Sums keep 32-bit lanes inside a block. */
#include "math/dtype/common.h"

#define X int8_t
#define XS i8
#define T int8_t
#define S i8
#define U uint32_t
#define REAL int8_t
#define XREAL int8_t
#define ACC int64_t
#define LANE int32_t
#define WIDE int64_t
#define IS_FLOAT 0
#define IS_INT 1
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 0
#define IS_HALF 0
#define BITS 8
#define ISNAN(value) (0)
#define LOAD(value) (value)
#define STORE(value) (value)
#define STORE_ONE(value) STORE(value)
