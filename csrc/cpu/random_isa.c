/* SPDX-License-Identifier: BSD-3-Clause */
/* See random_kernels.h. The normal transform follows the reference's single-precision kernel operation by operation: which
   products are fused decides the last bit, so every fused multiply-add is spelled out and contraction is off. */
#include <math.h>
#include <string.h>

#include "cpu/isa.h"
#include "cpu/random_kernels.h"
#include "cpu/vec.h"

void MT_ISA_NAME(mt_random_uniform_f32)(float *out, const uint32_t *words, int64_t n, float from, float to)
{
    const float range = to - from;

    for (int64_t i = 0; i < n; i++) {
        float x = (float)(int32_t)(words[i] & 0xffffffu) * 0x1p-24f;
        float y = fmaf(x, range, from);

        out[i] = y == to ? from : y;
    }
}

void MT_ISA_NAME(mt_random_uniform_f64)(double *out, const uint32_t *words, int64_t n, double from, double to)
{
    const double range = to - from;

    for (int64_t i = 0; i < n; i++) {
        uint64_t v = (uint64_t)words[2 * i] << 32 | words[2 * i + 1];
        double x = (double)(int64_t)(v & UINT64_C(0x1fffffffffffff)) * 0x1p-53;
        double y = fma(x, range, from);

        out[i] = y == to ? from : y;
    }
}

static inline float from_bits(uint32_t u)
{
    float f;

    memcpy(&f, &u, 4);
    return f;
}

static inline uint32_t to_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, 4);
    return u;
}

/* Natural logarithm of a positive normal number. */
static inline float poly_log(float x)
{
    uint32_t u = to_bits(x);
    float m = from_bits((u & 0x007fffffu) | 0x3f000000u); /* in [0.5, 1) */
    float e = (float)((int32_t)(u >> 23) - 127) + 1.0f;
    int below = m < 0.707106781186547524f;
    float t = below ? m : 0.0f, y, z, e1;

    e = below ? e - 1.0f : e;
    m = (m - 1.0f) + t;
    z = m * m;
    y = 7.0376836292e-2f;
    y = fmaf(y, m, -1.1514610310e-1f);
    y = fmaf(y, m, 1.1676998740e-1f);
    y = fmaf(y, m, -1.2420140846e-1f);
    y = fmaf(y, m, 1.4249322787e-1f);
    y = fmaf(y, m, -1.6668057665e-1f);
    y = fmaf(y, m, 2.0000714765e-1f);
    y = fmaf(y, m, -2.4999993993e-1f);
    y = fmaf(y, m, 3.3333331174e-1f);
    y = y * m;
    e1 = e * -2.12194440e-4f;
    y = fmaf(y, z, e1);
    y = fmaf(z, -0.5f, y);
    m = m + y;
    return fmaf(e, 0.693359375f, m);
}

/* Sine and cosine of a number in [0, 2 pi]. */
static inline void poly_sincos(float x, float *sine, float *cosine)
{
    int32_t j = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
    float f = (float)j, z, c, s;
    uint32_t sign_s = (uint32_t)(j & 4) << 29, sign_c = (uint32_t)(~(j - 2) & 4) << 29;
    int swap = (j & 2) != 0;

    x = fmaf(f, -0.78515625f, x);
    x = fmaf(f, -2.4187564849853515625e-4f, x);
    x = fmaf(f, -3.77489497744594108e-8f, x);
    z = x * x;
    c = fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f);
    c = fmaf(c, z, 4.166664568298827e-2f);
    c = c * z;
    c = fmaf(c, z, -(0.5f * z));
    c = c + 1.0f;
    s = fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f);
    s = fmaf(s, z, -1.6666654611e-1f);
    s = s * z;
    s = fmaf(s, x, x);
    *sine = from_bits(to_bits(swap ? c : s) ^ sign_s);
    *cosine = from_bits(to_bits(swap ? s : c) ^ sign_c);
}

void MT_ISA_NAME(mt_random_normal_f32)(float *data, int64_t n_blocks, float mean, float std)
{
    for (int64_t b = 0; b < n_blocks; b++) {
        float *d = data + 16 * b, r[8], u2[8];

        for (int j = 0; j < 8; j++) {
            float log_u1 = poly_log(1.0f - d[j]);

            r[j] = sqrtf(-2.0f * log_u1);
            u2[j] = 6.2831855f * d[j + 8];
        }
        for (int j = 0; j < 8; j++) {
            float s, c;

            poly_sincos(u2[j], &s, &c);
            d[j] = fmaf(r[j] * c, std, mean);
            d[j + 8] = fmaf(r[j] * s, std, mean);
        }
    }
}
