/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix products of float32 and float64 at one ISA level: how high a register tile is, and two instances of
   gemm.tmpl.h. Tiles are as high as the register file allows: 14 rows of two vectors out of 32 registers, 6 out of 16. */
#include "cpu/matmul/gemm.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/isa.h"
#include "cpu/matmul/simd.h"
#include "math/dtype/common.h"

#define MT_UNROLL _Pragma("GCC unroll 16")

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

/* 4 x 4 floats and 2 x 2 doubles: dst[c][r] = src[r][c]. */
typedef float square_vec_f32 __attribute__((vector_size(16)));
typedef double square_vec_f64 __attribute__((vector_size(16)));

static MT_ALWAYS_INLINE void square_f32(float *dst, int64_t pitch, const float *src, int64_t row)
{
    square_vec_f32 a[4], b[4];

    for (int i = 0; i < 4; i++)
        memcpy(&a[i], src + i * row, 16);
    b[0] = __builtin_shufflevector(a[0], a[2], 0, 4, 1, 5);
    b[1] = __builtin_shufflevector(a[0], a[2], 2, 6, 3, 7);
    b[2] = __builtin_shufflevector(a[1], a[3], 0, 4, 1, 5);
    b[3] = __builtin_shufflevector(a[1], a[3], 2, 6, 3, 7);
    a[0] = __builtin_shufflevector(b[0], b[2], 0, 4, 1, 5);
    a[1] = __builtin_shufflevector(b[0], b[2], 2, 6, 3, 7);
    a[2] = __builtin_shufflevector(b[1], b[3], 0, 4, 1, 5);
    a[3] = __builtin_shufflevector(b[1], b[3], 2, 6, 3, 7);
    for (int i = 0; i < 4; i++)
        memcpy(dst + i * pitch, &a[i], 16);
}

/* Two columns of four rows. */
static MT_ALWAYS_INLINE void square_f64(double *dst, int64_t pitch, const double *src, int64_t row)
{
    for (int half = 0; half < 4; half += 2) {
        square_vec_f64 a, b, c;

        memcpy(&a, src + half * row, 16);
        memcpy(&b, src + (half + 1) * row, 16);
        c = __builtin_shufflevector(a, b, 0, 2);
        memcpy(dst + half, &c, 16);
        c = __builtin_shufflevector(a, b, 1, 3);
        memcpy(dst + pitch + half, &c, 16);
    }
}

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
