/* SPDX-License-Identifier: BSD-3-Clause */
/* See softmax.h and softmax_row.tmpl.h. */
#include "cpu/cpu_internal.h"
#include "cpu/softmax.h"

#include <math.h>
#include <string.h>

#include "cpu/loops.h"
#include "cpu/matmul/simd.h"

/* The step of a loop of a few rounds: such a loop costs more when it is made ready for vectors. */
static inline int64_t one_more(int64_t i)
{
    __asm__ volatile("");
    return i + 1;
}

#define MT_UNROLL _Pragma("GCC unroll 16")

#define T float
#define S f32
#define V mt_vf32
#define WIDTH MT_SIMD_F32
#define EXP(x) mt_exp_down_f32(x)
#define LOG(x) logf(x)
#include "cpu/softmax_row.tmpl.h"
#undef T
#undef S
#undef V
#undef WIDTH
#undef EXP
#undef LOG

#define T double
#define S f64
#define V mt_vf64
#define WIDTH MT_SIMD_F64
#define EXP(x) mt_exp_f64(x)
#define LOG(x) log(x)
#include "cpu/softmax_row.tmpl.h"
