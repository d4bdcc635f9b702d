/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution kernels of float32 and float64 at one ISA level: sizes of the register tiles, the shuffles of a transpose,
   and two instances of conv_tile.tmpl.h. */
#include "cpu/conv.h"

#include <stddef.h>
#include <string.h>

#include "cpu/isa.h"
#include "cpu/matmul/simd.h"
#include "math/dtype/common.h"

#define MT_UNROLL _Pragma("GCC unroll 16")

#if defined(__AVX512F__) || defined(__aarch64__)
#define MR 14
#define EACH_HEIGHT(apply)                                                                                         \
    apply(1) apply(2) apply(3) apply(4) apply(5) apply(6) apply(7) apply(8) apply(9) apply(10) apply(11) apply(12) \
        apply(13) apply(14)
#define SWEEP_MR 12
#define EACH_SWEEP_HEIGHT(apply) \
    apply(1) apply(2) apply(3) apply(4) apply(5) apply(6) apply(7) apply(8) apply(9) apply(10) apply(11) apply(12)
#else
#define MR 6
#define EACH_HEIGHT(apply) apply(1) apply(2) apply(3) apply(4) apply(5) apply(6)
#define SWEEP_MR 6
#define EACH_SWEEP_HEIGHT EACH_HEIGHT
#endif

/* Interleaves the first, or the second, halves of two vectors. */
#if MT_SIMD_BYTES == 64
#define LOW_32 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_32 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOW_64 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_64 4, 12, 5, 13, 6, 14, 7, 15
#elif MT_SIMD_BYTES == 32
#define LOW_32 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_32 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_64 0, 4, 1, 5
#define HIGH_64 2, 6, 3, 7
#else
#define LOW_32 0, 4, 1, 5
#define HIGH_32 2, 6, 3, 7
#define LOW_64 0, 2
#define HIGH_64 1, 3
#endif
#define low_halves_f32(a, b) __builtin_shufflevector(a, b, LOW_32)
#define high_halves_f32(a, b) __builtin_shufflevector(a, b, HIGH_32)
#define low_halves_f64(a, b) __builtin_shufflevector(a, b, LOW_64)
#define high_halves_f64(a, b) __builtin_shufflevector(a, b, HIGH_64)

#define T float
#define S f32
#define V mt_vf32
#define LANES MT_SIMD_F32
#include "cpu/conv_tile.tmpl.h"
#undef T
#undef S
#undef V
#undef LANES

#define T double
#define S f64
#define V mt_vf64
#define LANES MT_SIMD_F64
#include "cpu/conv_tile.tmpl.h"
