/* SPDX-License-Identifier: BSD-3-Clause */
/* What compilers do not find by themselves: conversion of many half-precision numbers, streaming
   stores, and the pragma that says iterations are independent. Every function has a plain C form, and
   all of them give the same bits on every ISA level. Static: this header is compiled once per level. */
#ifndef MT_CPU_VEC_H
#define MT_CPU_VEC_H

#include <stddef.h>
#include <stdint.h>

#include "math/scalar.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The next loop reads and writes each element only in its own iteration (outputs may be inputs). */
#if defined(__clang__)
#define MT_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define MT_IVDEP _Pragma("GCC ivdep")
#endif

#if defined(__F16C__)

static inline void mt_vec_f16_to_f32(float *dst, const uint16_t *src, int64_t n)
{
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
    for (; i < n; i++)
        dst[i] = mt_f16_to_f32(src[i]);
}

static inline void mt_vec_f32_to_f16(uint16_t *dst, const float *src, int64_t n)
{
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
    for (; i < n; i++)
        dst[i] = mt_f32_to_f16(src[i]);
}

#else

static inline void mt_vec_f16_to_f32(float *dst, const uint16_t *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = mt_f16_to_f32(src[i]);
}

static inline void mt_vec_f32_to_f16(uint16_t *dst, const float *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = mt_f32_to_f16(src[i]);
}

#endif

#endif
