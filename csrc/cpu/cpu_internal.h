/* SPDX-License-Identifier: BSD-3-Clause */
/* What several files of this folder share and nobody else needs. */
#ifndef MT_CPU_CPU_INTERNAL_H
#define MT_CPU_CPU_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#define MT_PAGE 4096

/* Hardware reads ahead within a page of memory only. This starts the reading of a page that begins within the block after
   the one at `at`; both may lie beyond the data. */
static inline void mt_cpu_touch_page(const char *at, int64_t block_bytes, bool writes)
{
    uintptr_t next = (uintptr_t)at + (uintptr_t)block_bytes, page = (next + MT_PAGE - 1) & ~(uintptr_t)(MT_PAGE - 1);

    if (page - next >= (uintptr_t)block_bytes)
        return;
    if (writes) {
        __builtin_prefetch((const char *)page, 1, 2);
        __builtin_prefetch((const char *)page + 64, 1, 2);
    } else {
        __builtin_prefetch((const char *)page, 0, 2);
        __builtin_prefetch((const char *)page + 64, 0, 2);
    }
}

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
