/* SPDX-License-Identifier: BSD-3-Clause */
/* What compilers do not find by themselves: conversion of many half-precision numbers, streaming
   stores, and the pragma that says iterations are independent. Every function has a plain C form,
   and all of them give the same bits on every ISA level. Static: this header is compiled once per
   level. */
#ifndef MT_CPU_VEC_H
#define MT_CPU_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* A function that exists once: neither inlined nor copied for constant arguments. */
#if defined(__clang__)
#define MT_ONE_COPY MT_NOINLINE
#else
#define MT_ONE_COPY __attribute__((noinline, noclone))
#endif

/* For loops that store few elements and need not be vectorised. */
MT_UNUSED MT_ONE_COPY static uint16_t mt_vec_put_f16(float x)
{
    return mt_f32_to_f16(x);
}

MT_UNUSED MT_ONE_COPY static uint16_t mt_vec_put_bf16(float x)
{
    return mt_f32_to_bf16(x);
}

MT_UNUSED MT_ONE_COPY static void mt_vec_bf16_to_f32(float *dst, const uint16_t *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = mt_bf16_to_f32(src[i]);
}

MT_UNUSED MT_ONE_COPY static void mt_vec_f32_to_bf16(uint16_t *dst, const float *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = mt_f32_to_bf16(src[i]);
}

/* Sixteen float16 at once, inlined into loops; 0 where the compiler does as well by itself. */
#define MT_VEC_CHUNK 16
#if defined(__F16C__)
#define MT_VEC_HAS_CHUNKS 1

static MT_ALWAYS_INLINE void mt_vec_load_f16(float *dst, const uint16_t *src)
{
#if defined(__AVX512F__)
    _mm512_storeu_ps(dst, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)src)));
#else
    _mm256_storeu_ps(dst, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)src)));
    _mm256_storeu_ps(dst + 8, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(src + 8))));
#endif
}

static MT_ALWAYS_INLINE void mt_vec_store_f16(uint16_t *dst, const float *src)
{
#if defined(__AVX512F__)
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm512_cvtps_ph(_mm512_loadu_ps(src), 0));
#else
    _mm_storeu_si128((__m128i *)(void *)dst, _mm256_cvtps_ph(_mm256_loadu_ps(src), 0));
    _mm_storeu_si128((__m128i *)(void *)(dst + 8), _mm256_cvtps_ph(_mm256_loadu_ps(src + 8), 0));
#endif
}

#else
#define MT_VEC_HAS_CHUNKS 0
#endif

#if defined(__F16C__)

MT_UNUSED MT_ONE_COPY static void mt_vec_f16_to_f32(float *dst, const uint16_t *src, int64_t n)
{
    MT_ALIGNED(16) uint16_t few[8] = {0};
    MT_ALIGNED(32) float wide[8];
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(src + i))));
    if (i < n) {
        memcpy(few, src + i, (size_t)(n - i) * sizeof *src);
        _mm256_store_ps(wide, _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(const void *)few)));
        memcpy(dst + i, wide, (size_t)(n - i) * sizeof *dst);
    }
}

MT_UNUSED MT_ONE_COPY static void mt_vec_f32_to_f16(uint16_t *dst, const float *src, int64_t n)
{
    MT_ALIGNED(16) uint16_t few[8];
    MT_ALIGNED(32) float wide[8] = {0};
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(dst + i), _mm256_cvtps_ph(_mm256_loadu_ps(src + i), 0));
    if (i < n) {
        memcpy(wide, src + i, (size_t)(n - i) * sizeof *src);
        _mm_store_si128((__m128i *)(void *)few, _mm256_cvtps_ph(_mm256_load_ps(wide), 0));
        memcpy(dst + i, few, (size_t)(n - i) * sizeof *dst);
    }
}

#else

MT_UNUSED MT_ONE_COPY static void mt_vec_f16_to_f32(float *dst, const uint16_t *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = mt_f16_to_f32(src[i]);
}

MT_UNUSED MT_ONE_COPY static void mt_vec_f32_to_f16(uint16_t *dst, const float *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = mt_f32_to_f16(src[i]);
}

#endif

#endif
