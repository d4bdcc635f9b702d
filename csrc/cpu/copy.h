/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving elements without changing them: copies between any two geometries, filling, and the search
   for zeros that precedes integer division. */
#ifndef MT_CPU_COPY_H
#define MT_CPU_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tensor.h"

/* Same dtype on both sides, strides in bytes, outermost dim first, itemsize 1, 2, 4, 8 or 16. The
   two must not overlap. Transposes go through tiles; large copies run in parallel. */
void mt_cpu_copy_strided(char *dst, const int64_t *dst_stride, const char *src, const int64_t *src_stride,
                         const int64_t *size, int ndim, size_t itemsize);

/* n contiguous items become *value. */
void mt_cpu_fill(char *dst, const void *value, size_t itemsize, int64_t n);

/* Is any element of an integer tensor zero? */
bool mt_cpu_any_zero(const mt_tensor *t);

#endif
