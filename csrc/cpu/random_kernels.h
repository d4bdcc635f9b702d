/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector parts of random numbers: words to uniforms, uniforms to normals in blocks of 16. */
#ifndef MT_CPU_RANDOM_KERNELS_H
#define MT_CPU_RANDOM_KERNELS_H

#include <stdint.h>

#include "cpu/isa_pick.h"

/* out[i] = fma(low 24 bits of words[i] / 2^24, to - from, from); `to` itself becomes `from`. */
MT_ISA_DECLARE(void, mt_random_uniform_f32, (float *out, const uint32_t *words, int64_t n, float from, float to));
/* Two words per number, the first one high; low 53 bits. */
MT_ISA_DECLARE(void, mt_random_uniform_f64, (double *out, const uint32_t *words, int64_t n, double from, double to));
/* Uniforms to normals in place, n_blocks blocks of 16, with the polynomials and roundings of the reference kernel. */
MT_ISA_DECLARE(void, mt_random_normal_f32, (float *data, int64_t n_blocks, float mean, float std));

#endif
