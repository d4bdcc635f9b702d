/* SPDX-License-Identifier: BSD-3-Clause */
/* What several files of this folder share and nobody else needs. */
#ifndef MT_CPU_CPU_INTERNAL_H
#define MT_CPU_CPU_INTERNAL_H

#include <stdint.h>

/* n items of 1, 2, 4, 8 or 16 bytes: from any addresses into a dense buffer, back, and between
   strides. */
void mt_cpu_collect(char *dst, const char *src, int64_t stride, int64_t n, int itemsize);
void mt_cpu_spread(char *dst, int64_t stride, const char *src, int64_t n, int itemsize);
void mt_cpu_move(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n, int itemsize);

/* dst[r][c] = src[c][r]: rows of dst are dst_stride apart and dense, likewise src. At most
   MT_TRANSPOSE_BAND rows. */
#define MT_TRANSPOSE_BAND 64
void mt_cpu_transpose(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows, int64_t cols,
                      int itemsize);
/* The same without a buffer, for data in the first-level cache. */
void mt_cpu_transpose_small(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,
                            int64_t cols, int itemsize);

#endif
