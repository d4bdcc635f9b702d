/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for complex128: a pair of doubles. LIBM is the function of a component. */
#include "math/dtype/common.h"

#define X mt_c128
#define XS c128
#define T mt_c128
#define S c128
#define REAL double
#define XREAL double
#define ACC mt_c128
#define LANE mt_c128
#define WIDE mt_c128
#define IS_FLOAT 0
#define IS_INT 0
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 1
#define IS_HALF 0
#define BITS 64
#define LIBM(fname) fname
#define ISNAN(value) (((value).re != (value).re) | ((value).im != (value).im))
#define LOAD(value) (value)
#define STORE(value) (value)
#define STORE_ONE(value) STORE(value)
