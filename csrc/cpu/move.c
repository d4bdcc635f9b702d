/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather, scatter and strided move of elements by size. Elements may lie at any address; the sizes
   are compile-time constants inside each loop, and so are the strides that occur most: dense, one
   element for all, backwards. */
#include <string.h>

#include "cpu/cpu_internal.h"

/* An element of 16 bytes. */
typedef uint64_t wide_item __attribute__((vector_size(16)));

/* Strided stores are not worth a vector; without `restrict` the compiler does not try. */
#define DEFINE_MOVE(name, type)                                                                              \
    typedef type item_##name __attribute__((aligned(1), may_alias));                                         \
    static void spread_##name(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                      \
            memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(type));                                \
    }                                                                                                        \
    static void collect_##name(char *restrict dst, const char *restrict src, int64_t src_stride, int64_t n)  \
    {                                                                                                        \
        const int64_t size = sizeof(type);                                                                   \
        item_##name *to = (item_##name *)(void *)dst;                                                        \
        const item_##name *from = (const item_##name *)(const void *)src;                                    \
                                                                                                             \
        if (src_stride == size) {                                                                            \
            memcpy(dst, src, (size_t)(n * size));                                                            \
        } else if (src_stride == 0) {                                                                        \
            const type v = *from;                                                                            \
                                                                                                             \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i] = v;                                                                                   \
        } else if (src_stride == -size) {                                                                    \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i] = from[-i];                                                                            \
        } else if (src_stride == 2 * size) {                                                                 \
            for (int64_t i = 0; i < n; i++)                                                                  \
                to[i] = from[2 * i];                                                                         \
        } else {                                                                                             \
            spread_##name(dst, size, src, src_stride, n);                                                    \
        }                                                                                                    \
    }                                                                                                        \
    static void move_##name(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n)   \
    {                                                                                                        \
        if (dst_stride == (int64_t)sizeof(type))                                                             \
            collect_##name(dst, src, src_stride, n);                                                         \
        else                                                                                                 \
            spread_##name(dst, dst_stride, src, src_stride, n);                                              \
    }
DEFINE_MOVE(1, uint8_t)
DEFINE_MOVE(2, uint16_t)
DEFINE_MOVE(4, uint32_t)
DEFINE_MOVE(8, uint64_t)
DEFINE_MOVE(16, wide_item)
#undef DEFINE_MOVE

void mt_cpu_move(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n, int itemsize)
{
    switch (itemsize) {
    case 1:
        move_1(dst, dst_stride, src, src_stride, n);
        break;
    case 2:
        move_2(dst, dst_stride, src, src_stride, n);
        break;
    case 4:
        move_4(dst, dst_stride, src, src_stride, n);
        break;
    case 8:
        move_8(dst, dst_stride, src, src_stride, n);
        break;
    default:
        move_16(dst, dst_stride, src, src_stride, n);
        break;
    }
}

void mt_cpu_collect(char *dst, const char *src, int64_t stride, int64_t n, int itemsize)
{
    mt_cpu_move(dst, itemsize, src, stride, n, itemsize);
}

void mt_cpu_spread(char *dst, int64_t stride, const char *src, int64_t n, int itemsize)
{
    mt_cpu_move(dst, stride, src, itemsize, n, itemsize);
}
