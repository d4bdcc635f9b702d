/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for bool: stored as a byte, any non-zero byte loads as 1. Arithmetic on bools
   follows PyTorch: add is or, mul is and. */
#include "math/dtype/common.h"

#define X uint8_t
#define XS b8
#define T uint8_t
#define S b8
#define U uint32_t
#define REAL uint8_t
#define XREAL uint8_t
#define ACC int64_t
#define LANE int32_t
#define WIDE int64_t
#define IS_FLOAT 0
#define IS_INT 0
#define IS_BOOL 1
#define IS_SIGNED 0
#define IS_COMPLEX 0
#define IS_HALF 0
#define BITS 8
#define ISNAN(value) (0)
#define LOAD(value) ((uint8_t)((value) != 0))
#define STORE(value) ((uint8_t)(value))
#define STORE_ONE(value) STORE(value)
