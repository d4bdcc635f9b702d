/* SPDX-License-Identifier: BSD-3-Clause */
/* Transposes through a buffer. Scattered single lines cost three times what short runs do, on both
   sides, so a tile reads a run of some lines from each row of the source and writes a run of some
   lines to each row of the destination. In between, registers of 16 bytes are transposed as
   squares: pairs of rows are interleaved, log2 of the elements in a register times. */
#include <string.h>

#include "base/macros.h"
#include "cpu/cpu_internal.h"

#define BUFFER_BYTES 36864

/* Registers as vectors of each element size. Interleaving the first or second halves of two of them
   is one instruction everywhere. */
typedef uint8_t vec_1 __attribute__((vector_size(16)));
typedef uint16_t vec_2 __attribute__((vector_size(16)));
typedef uint32_t vec_4 __attribute__((vector_size(16)));
typedef uint64_t vec_8 __attribute__((vector_size(16)));
typedef uint64_t vec_16 __attribute__((vector_size(16)));

#define LOW_1(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_1(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_2(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_2(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_8(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LOW_16(a, b) (a)
#define HIGH_16(a, b) (b)

/* square_N transposes N x N elements, N = 16 / itemsize: each round interleaves row i with row i +
   N / 2; after log2(N) rounds the rows are the columns. tile_N applies it to `rows` x `cols`
   elements, multiples of N. */
#define DEFINE_TILE(size, N, rounds)                                                                            \
    static inline void square_##size(char *dst, int64_t dst_stride, const char *src, int64_t src_stride)        \
    {                                                                                                           \
        vec_##size a[N], b[N];                                                                                  \
                                                                                                                \
        for (int i = 0; i < (N); i++)                                                                           \
            memcpy(&a[i], src + i * src_stride, 16);                                                            \
        for (int round = 0; round < (rounds); round++) {                                                        \
            for (int i = 0; i < (N) / 2; i++) {                                                                 \
                b[2 * i] = LOW_##size(a[i], a[i + (N) / 2]);                                                    \
                b[2 * i + 1] = HIGH_##size(a[i], a[i + (N) / 2]);                                               \
            }                                                                                                   \
            memcpy(a, b, sizeof a);                                                                             \
        }                                                                                                       \
        for (int i = 0; i < (N); i++)                                                                           \
            memcpy(dst + i * dst_stride, &a[i], 16);                                                            \
    }                                                                                                           \
    static void tile_##size(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,   \
                            int64_t cols)                                                                       \
    {                                                                                                           \
        for (int64_t c = 0; c < cols; c += (N))                                                                 \
            for (int64_t r = 0; r < rows; r += (N))                                                             \
                square_##size(dst + r * dst_stride + c * (size), dst_stride, src + c * src_stride + r * (size), \
                              src_stride);                                                                      \
    }
DEFINE_TILE(1, 16, 4)
DEFINE_TILE(2, 8, 3)
DEFINE_TILE(4, 4, 2)
DEFINE_TILE(8, 2, 1)
DEFINE_TILE(16, 1, 0)
#undef DEFINE_TILE

typedef void tile_fn(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows, int64_t cols);
static tile_fn *const tiles[17] = {[1] = tile_1, [2] = tile_2, [4] = tile_4, [8] = tile_8, [16] = tile_16};

/* What is left beside whole squares: columns from `w` on of `height` rows, then the rows from
   `height` on. */
static void ragged_edges(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows, int64_t cols,
                         int64_t height, int64_t w, int itemsize)
{
    for (int64_t k = w; k < cols; k++)
        mt_cpu_spread(dst + k * itemsize, dst_stride, src + k * src_stride, height, itemsize);
    for (int64_t r = height; r < rows; r++)
        mt_cpu_collect(dst + r * dst_stride, src + r * itemsize, src_stride, cols, itemsize);
}

void mt_cpu_transpose_small(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows,
                            int64_t cols, int itemsize)
{
    const int64_t side = 16 / itemsize, height = rows / side * side, w = cols / side * side;

    tiles[itemsize](dst, dst_stride, src, src_stride, height, w);
    ragged_edges(dst, dst_stride, src, src_stride, rows, cols, height, w, itemsize);
}

void mt_cpu_transpose(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t rows, int64_t cols,
                      int itemsize)
{
    MT_ALIGNED(64) char buffer[BUFFER_BYTES];
    const int64_t side = 16 / itemsize, height = rows / side * side;
    /* bytes of a run in the destination; one more line keeps the rows of the buffer in different
       sets */
    int64_t run = itemsize == 1 ? 192 : (itemsize == 2 ? 256 : 512), pitch = run + 64, width = run / itemsize;

    for (int64_t c = 0; c < cols; c += width) {
        int64_t w = cols - c < width ? (cols - c) / side * side : width, w_all = cols - c < width ? cols - c : width;
        char *d = dst + c * itemsize;
        const char *s = src + c * src_stride;

        tiles[itemsize](buffer, pitch, s, src_stride, height, w);
        for (int64_t r = 0; r < height; r++)
            memcpy(d + r * dst_stride, buffer + r * pitch, (size_t)(w * itemsize));
        ragged_edges(d, dst_stride, s, src_stride, rows, w_all, height, w, itemsize);
    }
}
