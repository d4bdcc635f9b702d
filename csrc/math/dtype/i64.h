/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for int64. */
#include "math/dtype/common.h"

#define X int64_t
#define XS i64
#define T int64_t
#define S i64
#define U uint64_t
#define REAL int64_t
#define XREAL int64_t
#define ACC int64_t
#define LANE int64_t
#define WIDE int64_t
#define IS_FLOAT 0
#define IS_INT 1
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 0
#define IS_HALF 0
#define BITS 64
#define ISNAN(value) (0)
#define LOAD(value) (value)
#define STORE(value) (value)
#define STORE_ONE(value) STORE(value)
