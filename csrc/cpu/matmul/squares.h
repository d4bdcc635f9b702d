/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposition of as many vectors as a vector has elements, in registers. Only for files that are compiled once per ISA
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
#define MT_COLUMNS_8(x, step, lanes)                                                                    \
    MT_COLUMNS_4(x, step, lanes), x(4, step, lanes), x(5, step, lanes), x(6, step, lanes), x(7, step, lanes)
#define MT_COLUMNS_16(x, step, lanes)                                                                       \
    MT_COLUMNS_8(x, step, lanes), x(8, step, lanes), x(9, step, lanes), x(10, step, lanes), x(11, step, lanes), \
        x(12, step, lanes), x(13, step, lanes), x(14, step, lanes), x(15, step, lanes)

#define MT_STAGE(lanes, step)                                                                              \
    MT_UNROLL                                                                                              \
    for (int i = 0; i < lanes; i++)                                                                        \
        if (!(i & step)) {                                                                                 \
            __typeof__(*lines) one = lines[i], two = lines[i | step];                                      \
                                                                                                           \
            lines[i] = __builtin_shufflevector(one, two, MT_COLUMNS_##lanes(MT_EVEN, step, lanes));        \
            lines[i | step] = __builtin_shufflevector(one, two, MT_COLUMNS_##lanes(MT_ODD, step, lanes));  \
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
