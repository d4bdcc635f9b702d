/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposition in registers: of as many vectors as a vector has elements, and of squares of four. Only for files that are compiled once per ISA
   level. */
#ifndef MT_CPU_MATMUL_SQUARES_H
#define MT_CPU_MATMUL_SQUARES_H

#include "cpu/matmul/simd.h"

/* Is a masked store as cheap as a whole one? */
#if defined(__AVX512F__)
#define MT_SIMD_MASKS 1
#else
#define MT_SIMD_MASKS 0
#endif

/* In each stage two lines that are `step` apart exchange groups of `step` columns: the first takes the even groups of
   both, the second the odd ones. These give the source of column `at`; numbers from `lanes` on mean the second line. */
#define MT_EVEN(at, step, lanes) (((at) & (step)) ? (lanes) + (at) - (step) : (at))
#define MT_ODD(at, step, lanes) (((at) & (step)) ? (lanes) + (at) : (at) + (step))
#define MT_COLUMNS_2(x, step, lanes) x(0, step, lanes), x(1, step, lanes)
#define MT_COLUMNS_4(x, step, lanes) MT_COLUMNS_2(x, step, lanes), x(2, step, lanes), x(3, step, lanes)
#define MT_COLUMNS_8(x, step, lanes) \
    MT_COLUMNS_4(x, step, lanes), x(4, step, lanes), x(5, step, lanes), x(6, step, lanes), x(7, step, lanes)
#define MT_COLUMNS_16(x, step, lanes)                                                                           \
    MT_COLUMNS_8(x, step, lanes), x(8, step, lanes), x(9, step, lanes), x(10, step, lanes), x(11, step, lanes), \
        x(12, step, lanes), x(13, step, lanes), x(14, step, lanes), x(15, step, lanes)

#define MT_STAGE(lanes, step)                                                                             \
    MT_UNROLL                                                                                             \
    for (int i = 0; i < lanes; i++)                                                                       \
        if (!(i & step)) {                                                                                \
            __typeof__(*lines) one = lines[i], two = lines[i | step];                                     \
                                                                                                          \
            lines[i] = __builtin_shufflevector(one, two, MT_COLUMNS_##lanes(MT_EVEN, step, lanes));       \
            lines[i | step] = __builtin_shufflevector(one, two, MT_COLUMNS_##lanes(MT_ODD, step, lanes)); \
        }
#define MT_STAGES_2 MT_STAGE(2, 1)
#define MT_STAGES_4 MT_STAGE(4, 1) MT_STAGE(4, 2)
#define MT_STAGES_8 MT_STAGE(8, 1) MT_STAGE(8, 2) MT_STAGE(8, 4)
#define MT_STAGES_16 MT_STAGE(16, 1) MT_STAGE(16, 2) MT_STAGE(16, 4) MT_STAGE(16, 8)

/* lines[i][j] and lines[j][i] change places. */
static MT_ALWAYS_INLINE void mt_simd_flip_f32(mt_vf32 *lines)
{
#if MT_SIMD_BYTES == 64
    MT_STAGES_16
#elif MT_SIMD_BYTES == 32
    MT_STAGES_8
#else
    MT_STAGES_4
#endif
}

static MT_ALWAYS_INLINE void mt_simd_flip_f64(mt_vf64 *lines)
{
#if MT_SIMD_BYTES == 64
    MT_STAGES_8
#elif MT_SIMD_BYTES == 32
    MT_STAGES_4
#else
    MT_STAGES_2
#endif
}

/* 4 x 4 floats and 2 x 2 doubles: dst[c][r] = src[r][c]. */
typedef float mt_quad_f32 __attribute__((vector_size(16)));
typedef double mt_quad_f64 __attribute__((vector_size(16)));

static MT_ALWAYS_INLINE void mt_simd_square_f32(float *dst, int64_t pitch, const float *src, int64_t row)
{
    mt_quad_f32 a[4], b[4];

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
static MT_ALWAYS_INLINE void mt_simd_square_f64(double *dst, int64_t pitch, const double *src, int64_t row)
{
    for (int half = 0; half < 4; half += 2) {
        mt_quad_f64 a, b, c;

        memcpy(&a, src + half * row, 16);
        memcpy(&b, src + (half + 1) * row, 16);
        c = __builtin_shufflevector(a, b, 0, 2);
        memcpy(dst + half, &c, 16);
        c = __builtin_shufflevector(a, b, 1, 3);
        memcpy(dst + pitch + half, &c, 16);
    }
}

#undef MT_EVEN
#undef MT_ODD
#undef MT_COLUMNS_2
#undef MT_COLUMNS_4
#undef MT_COLUMNS_8
#undef MT_COLUMNS_16
#undef MT_STAGE
#undef MT_STAGES_2
#undef MT_STAGES_4
#undef MT_STAGES_8
#undef MT_STAGES_16

#endif
