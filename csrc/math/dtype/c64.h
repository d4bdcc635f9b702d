/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in scope for complex64: a pair of floats. LIBM is the function of a component. */
#include "math/dtype/common.h"

#define X mt_c64
#define XS c64
#define T mt_c64
#define S c64
#define REAL float
#define XREAL float
#define ACC mt_c64
#define LANE mt_c64
#define WIDE mt_c128
#define IS_FLOAT 0
#define IS_INT 0
#define IS_BOOL 0
#define IS_SIGNED 1
#define IS_COMPLEX 1
#define IS_HALF 0
#define BITS 32
#define LIBM(fname) fname##f
#define ISNAN(value) (((value).re != (value).re) | ((value).im != (value).im))
#define LOAD(value) (value)
#define STORE(value) (value)
#define STORE_ONE(value) STORE(value)
