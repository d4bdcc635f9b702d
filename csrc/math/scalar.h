/* SPDX-License-Identifier: BSD-3-Clause */
/* What every formula may use: function qualifiers, bit casts, explicit fused multiply-add,
   conversion of half and bfloat16, rounding of out-of-range numbers to integers. Compiles as C17,
   C++17 and CUDA.

   Formulas never raise floating-point traps, never touch errno and have no state. Conversions from
   floating point to integers are total: NaN and out-of-range values give what x86 gives. */
#ifndef MT_MATH_SCALAR_H
#define MT_MATH_SCALAR_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "core/dtype.h"

/* MT_HD: a formula, inlined into its loop so that the compiler can vectorise it. MT_HD_BIG: a long
   one that stays a call; MT_HD_CONST: such a call that loops make once when its argument does not
   change. */
#if defined(__CUDACC__)
#define MT_HD static __host__ __device__ __forceinline__
#define MT_HD_BIG static __host__ __device__ __noinline__ MT_UNUSED
#define MT_HD_CONST MT_HD_BIG
#else
#define MT_HD static MT_ALWAYS_INLINE
#define MT_HD_BIG static MT_UNUSED MT_NOINLINE
#define MT_HD_CONST static MT_UNUSED __attribute__((noinline, const))
#endif

/* One rounding where the machine has it (v3, v4, Arm, CUDA), two on v2. */
#if defined(__FMA__) || defined(__aarch64__) || defined(__CUDACC__)
#define MT_HAVE_FMA 1
#define MT_FMA32(x, y, z) fmaf((x), (y), (z))
#define MT_FMA64(x, y, z) fma((x), (y), (z))
#else
#define MT_HAVE_FMA 0
#define MT_FMA32(x, y, z) ((x) * (y) + (z))
#define MT_FMA64(x, y, z) ((x) * (y) + (z))
#endif

/* A product that is rounded before it is added to another one. gcc fuses alternating sums and
   differences of products in vector loops even when contraction is off, and only there, so that
   results would depend on the position. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && __GNUC__ >= 12
#define MT_ROUNDED(product) __builtin_assoc_barrier(product)
#else
#define MT_ROUNDED(product) (product)
#endif

#define MT_PI 3.14159265358979323846
#define MT_INF HUGE_VALF /* converts to every floating type */
#define MT_NAN ((float)NAN)

MT_HD uint32_t mt_bits_f32(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

MT_HD float mt_from_bits_f32(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof x);
    return x;
}

MT_HD uint64_t mt_bits_f64(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

MT_HD double mt_from_bits_f64(uint64_t u)
{
    double x;

    memcpy(&x, &u, sizeof x);
    return x;
}

/* --- half and bfloat16, round to nearest even; no branches, so that loops vectorise --- */

MT_HD float mt_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, mag = (uint32_t)(half & 0x7fffu) << 13;
    uint32_t normal = mag + (112u << 23), special = mag | 0x7f800000u;
    uint32_t tiny = mt_bits_f32(mt_from_bits_f32(mag | 0x38800000u) - 0x1p-14f);
    uint32_t r = mag < (1u << 23) ? tiny : normal;

    return mt_from_bits_f32(sign | (mag >= (31u << 23) ? special : r));
}

MT_HD uint16_t mt_f32_to_f16(float x)
{
    uint32_t u = mt_bits_f32(x), sign = (u >> 16) & 0x8000u, mag = u & 0x7fffffffu;
    uint32_t normal = (mag - (112u << 23) + 0xfffu + ((mag >> 13) & 1u)) >> 13;
    uint32_t tiny = mt_bits_f32(mt_from_bits_f32(mag) + 0.5f) - 0x3f000000u;
    uint32_t nan = 0x7e00u | ((mag >> 13) & 0x1ffu);
    uint32_t r = mag < 0x38800000u ? tiny : normal;

    r = mag >= 0x47800000u ? 0x7c00u : r;
    r = mag > 0x7f800000u ? nan : r;
    return (uint16_t)(sign | r);
}

MT_HD float mt_bf16_to_f32(uint16_t b)
{
    return mt_from_bits_f32((uint32_t)b << 16);
}

MT_HD uint16_t mt_f32_to_bf16(float x)
{
    uint32_t u = mt_bits_f32(x), r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;

    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : r);
}

/* --- floating point to integer, total; the lowest integer is its own out-of-range value --- */

MT_HD int32_t mt_f32_to_i32(float x)
{
    bool fits = fabsf(x) < 0x1p31f;
    int32_t i = (int32_t)(fits ? x : 0.0f);

    return fits ? i : INT32_MIN;
}

MT_HD int64_t mt_f32_to_i64(float x)
{
    bool fits = fabsf(x) < 0x1p63f;
    int64_t i = (int64_t)(fits ? x : 0.0f);

    return fits ? i : INT64_MIN;
}

MT_HD int32_t mt_f64_to_i32(double x)
{
    bool fits = fabs(x) < 0x1p31;
    int32_t i = (int32_t)(fits ? x : 0.0);

    return fits ? i : INT32_MIN;
}

MT_HD int64_t mt_f64_to_i64(double x)
{
    bool fits = fabs(x) < 0x1p63;
    int64_t i = (int64_t)(fits ? x : 0.0);

    return fits ? i : INT64_MIN;
}
/* Two ranges of the signed conversion: negative numbers wrap, from 2^64 on it is 0. */
MT_HD uint64_t mt_f64_to_u64(double x)
{
    return x >= 0x1p63 ? (uint64_t)mt_f64_to_i64(x - 0x1p63) ^ 0x8000000000000000u : (uint64_t)mt_f64_to_i64(x);
}

#endif
