/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products of float32 and float64 at one ISA level: how high a register tile is, and two instances of
   gemm.tmpl.h. Tiles are as high as the register file allows: 14 rows of two vectors out of 32 registers, 6 out of 16. */
#include "cpu/matmul/gemm.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/isa.h"
#include "math/dtype/common.h"

#define MT_UNROLL _Pragma("GCC unroll 16")

#include "cpu/matmul/simd.h"
#include "cpu/matmul/squares.h"

#if defined(__AVX512F__) || defined(__aarch64__)
#define MR 14
#define EACH_HEIGHT(apply)                                                                                         \
    apply(1) apply(2) apply(3) apply(4) apply(5) apply(6) apply(7) apply(8) apply(9) apply(10) apply(11) apply(12) \
        apply(13) apply(14)
#define LOW 4
#define EACH_LOW_HEIGHT(apply) apply(1) apply(2) apply(3) apply(4)
#define DOT_ROWS 4
#else
#define MR 6
#define EACH_HEIGHT(apply) apply(1) apply(2) apply(3) apply(4) apply(5) apply(6)
#define LOW 2
#define EACH_LOW_HEIGHT(apply) apply(1) apply(2)
#define DOT_ROWS 3
#endif

/* Elements of B that fit on the stack. */
#define SMALL_B 4096

#define T float
#define S f32
#define V mt_vf32
#define LANES MT_SIMD_F32
#define KC 512
#include "cpu/matmul/gemm.tmpl.h"
#undef T
#undef S
#undef V
#undef LANES
#undef KC

#define T double
#define S f64
#define V mt_vf64
#define LANES MT_SIMD_F64
#define KC 256
#include "cpu/matmul/gemm.tmpl.h"
