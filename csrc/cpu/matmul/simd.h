/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of the widest registers of the ISA level at hand, with what the vector extensions of the compilers
   lack: fused multiply-add and loads and stores of the first n elements. Only for files that are compiled once per
   level (*_isa.c); everything is static. A mask made by mt_simd_mask_x(n) covers the first n elements of one vector.

   On v2 a multiply-add has two roundings. Everything else is plain C over GCC vectors, so any target works. */
#ifndef MT_CPU_MATMUL_SIMD_H
#define MT_CPU_MATMUL_SIMD_H

#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "math/scalar.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
#define MT_SIMD_BYTES 64
#elif defined(__AVX2__)
#define MT_SIMD_BYTES 32
#else
#define MT_SIMD_BYTES 16
#endif
#define MT_SIMD_F32 (MT_SIMD_BYTES / 4)
#define MT_SIMD_F64 (MT_SIMD_BYTES / 8)

typedef float mt_vf32 __attribute__((vector_size(MT_SIMD_BYTES)));
typedef double mt_vf64 __attribute__((vector_size(MT_SIMD_BYTES)));
typedef int32_t mt_vi32 __attribute__((vector_size(MT_SIMD_BYTES)));
typedef int64_t mt_vi64 __attribute__((vector_size(MT_SIMD_BYTES)));

#define MT_SIMD_COMMON(S, T, V)                               \
    static MT_ALWAYS_INLINE V mt_simd_load_##S(const T *p)    \
    {                                                         \
        V v;                                                  \
                                                              \
        memcpy(&v, p, sizeof v);                              \
        return v;                                             \
    }                                                         \
    static MT_ALWAYS_INLINE void mt_simd_store_##S(T *p, V v) \
    {                                                         \
        memcpy(p, &v, sizeof v);                              \
    }
MT_SIMD_COMMON(f32, float, mt_vf32)
MT_SIMD_COMMON(f64, double, mt_vf64)
#undef MT_SIMD_COMMON

#if defined(__AVX512F__)

typedef __mmask16 mt_mask_f32;
typedef __mmask8 mt_mask_f64;

static MT_ALWAYS_INLINE mt_mask_f32 mt_simd_mask_f32(int64_t n)
{
    return (mt_mask_f32)((1u << n) - 1);
}

static MT_ALWAYS_INLINE mt_mask_f64 mt_simd_mask_f64(int64_t n)
{
    return (mt_mask_f64)((1u << n) - 1);
}

static MT_ALWAYS_INLINE mt_vf32 mt_simd_load_masked_f32(const float *p, mt_mask_f32 mask)
{
    return (mt_vf32)_mm512_maskz_loadu_ps(mask, p);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_load_masked_f64(const double *p, mt_mask_f64 mask)
{
    return (mt_vf64)_mm512_maskz_loadu_pd(mask, p);
}

static MT_ALWAYS_INLINE void mt_simd_store_masked_f32(float *p, mt_vf32 v, mt_mask_f32 mask)
{
    _mm512_mask_storeu_ps(p, mask, (__m512)v);
}

static MT_ALWAYS_INLINE void mt_simd_store_masked_f64(double *p, mt_vf64 v, mt_mask_f64 mask)
{
    _mm512_mask_storeu_pd(p, mask, (__m512d)v);
}

static MT_ALWAYS_INLINE mt_vf32 mt_simd_splat_f32(float x)
{
    return (mt_vf32)_mm512_set1_ps(x);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_splat_f64(double x)
{
    return (mt_vf64)_mm512_set1_pd(x);
}

static MT_ALWAYS_INLINE mt_vf32 mt_simd_fma_f32(mt_vf32 a, mt_vf32 b, mt_vf32 c)
{
    return (mt_vf32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_fma_f64(mt_vf64 a, mt_vf64 b, mt_vf64 c)
{
    return (mt_vf64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

/* a > b ? a : b: b when one of them is NaN. */
static MT_ALWAYS_INLINE mt_vf32 mt_simd_max_f32(mt_vf32 a, mt_vf32 b)
{
    return (mt_vf32)_mm512_max_ps((__m512)a, (__m512)b);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_max_f64(mt_vf64 a, mt_vf64 b)
{
    return (mt_vf64)_mm512_max_pd((__m512d)a, (__m512d)b);
}

static MT_ALWAYS_INLINE float mt_simd_sum_f32(mt_vf32 v)
{
    return _mm512_reduce_add_ps((__m512)v);
}

static MT_ALWAYS_INLINE double mt_simd_sum_f64(mt_vf64 v)
{
    return _mm512_reduce_add_pd((__m512d)v);
}

#else

#if defined(__AVX2__)

/* Vectors of all ones and all zeros; a load at an offset gives the mask of n elements. */
typedef __m256i mt_mask_f32;
typedef __m256i mt_mask_f64;

static MT_ALWAYS_INLINE mt_mask_f32 mt_simd_mask_f32(int64_t n)
{
    static const int32_t steps[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

    return _mm256_loadu_si256((const __m256i *)(steps + 8 - n));
}

static MT_ALWAYS_INLINE mt_mask_f64 mt_simd_mask_f64(int64_t n)
{
    static const int64_t steps[8] = {-1, -1, -1, -1};

    return _mm256_loadu_si256((const __m256i *)(steps + 4 - n));
}

static MT_ALWAYS_INLINE mt_vf32 mt_simd_load_masked_f32(const float *p, mt_mask_f32 mask)
{
    return (mt_vf32)_mm256_maskload_ps(p, mask);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_load_masked_f64(const double *p, mt_mask_f64 mask)
{
    return (mt_vf64)_mm256_maskload_pd(p, mask);
}

static MT_ALWAYS_INLINE void mt_simd_store_masked_f32(float *p, mt_vf32 v, mt_mask_f32 mask)
{
    _mm256_maskstore_ps(p, mask, (__m256)v);
}

static MT_ALWAYS_INLINE void mt_simd_store_masked_f64(double *p, mt_vf64 v, mt_mask_f64 mask)
{
    _mm256_maskstore_pd(p, mask, (__m256d)v);
}

static MT_ALWAYS_INLINE mt_vf32 mt_simd_splat_f32(float x)
{
    return (mt_vf32)_mm256_set1_ps(x);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_splat_f64(double x)
{
    return (mt_vf64)_mm256_set1_pd(x);
}

static MT_ALWAYS_INLINE mt_vf32 mt_simd_fma_f32(mt_vf32 a, mt_vf32 b, mt_vf32 c)
{
    return (mt_vf32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_fma_f64(mt_vf64 a, mt_vf64 b, mt_vf64 c)
{
    return (mt_vf64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

#else

/* Sixteen bytes: the mask is the number of elements. */
typedef int64_t mt_mask_f32;
typedef int64_t mt_mask_f64;

#define MT_SIMD_PLAIN(S, T, V, lanes)                                                  \
    static MT_ALWAYS_INLINE mt_mask_##S mt_simd_mask_##S(int64_t n)                    \
    {                                                                                  \
        return n;                                                                      \
    }                                                                                  \
    static MT_ALWAYS_INLINE V mt_simd_load_masked_##S(const T *p, mt_mask_##S mask)    \
    {                                                                                  \
        V v = {0};                                                                     \
                                                                                       \
        for (int i = 0; i < (lanes); i++)                                              \
            if (i < mask)                                                              \
                v[i] = p[i];                                                           \
        return v;                                                                      \
    }                                                                                  \
    static MT_ALWAYS_INLINE void mt_simd_store_masked_##S(T *p, V v, mt_mask_##S mask) \
    {                                                                                  \
        for (int i = 0; i < (lanes); i++)                                              \
            if (i < mask)                                                              \
                p[i] = v[i];                                                           \
    }
MT_SIMD_PLAIN(f32, float, mt_vf32, 4)
MT_SIMD_PLAIN(f64, double, mt_vf64, 2)
#undef MT_SIMD_PLAIN

static MT_ALWAYS_INLINE mt_vf32 mt_simd_splat_f32(float x)
{
    return (mt_vf32){x, x, x, x};
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_splat_f64(double x)
{
    return (mt_vf64){x, x};
}

#if defined(__aarch64__)
static MT_ALWAYS_INLINE mt_vf32 mt_simd_fma_f32(mt_vf32 a, mt_vf32 b, mt_vf32 c)
{
    return (mt_vf32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_fma_f64(mt_vf64 a, mt_vf64 b, mt_vf64 c)
{
    return (mt_vf64)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
static MT_ALWAYS_INLINE mt_vf32 mt_simd_fma_f32(mt_vf32 a, mt_vf32 b, mt_vf32 c)
{
    return a * b + c;
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_fma_f64(mt_vf64 a, mt_vf64 b, mt_vf64 c)
{
    return a * b + c;
}
#endif

#endif

/* a > b ? a : b: b when one of them is NaN. */
static MT_ALWAYS_INLINE mt_vf32 mt_simd_max_f32(mt_vf32 a, mt_vf32 b)
{
    mt_vi32 greater = a > b;

    return (mt_vf32)((greater & (mt_vi32)a) | (~greater & (mt_vi32)b));
}

static MT_ALWAYS_INLINE mt_vf64 mt_simd_max_f64(mt_vf64 a, mt_vf64 b)
{
    mt_vi64 greater = a > b;

    return (mt_vf64)((greater & (mt_vi64)a) | (~greater & (mt_vi64)b));
}

static MT_ALWAYS_INLINE float mt_simd_sum_f32(mt_vf32 v)
{
    float s[MT_SIMD_F32];

    memcpy(s, &v, sizeof v);
    for (int step = MT_SIMD_F32 / 2; step; step /= 2)
        for (int i = 0; i < step; i++)
            s[i] += s[i + step];
    return s[0];
}

static MT_ALWAYS_INLINE double mt_simd_sum_f64(mt_vf64 v)
{
    double s[MT_SIMD_F64];

    memcpy(s, &v, sizeof v);
    for (int step = MT_SIMD_F64 / 2; step; step /= 2)
        for (int i = 0; i < step; i++)
            s[i] += s[i + step];
    return s[0];
}

#endif

#endif
