/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of bfloat16 matrices by vdpbf16ps. Both operands are packed in pairs along the depth: a panel of B holds, for
   two rows of B, 32 columns as 32-bit words, a panel of A up to 14 rows likewise; a register tile of 14 x 32 sums takes one
   broadcast word of A and two vectors of B per row. Few rows against contiguous columns (x @ W^T) are dot products
   without packing. Everything here is compiled for processors that have the instruction and called only on them. */
#include "cpu/matmul/gemm_bf16.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cpuinfo.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/parallel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define WITH_BF16 "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"
#if defined(__clang__)
#define FOR_BF16 __attribute__((target(WITH_BF16)))
#else
#define FOR_BF16 __attribute__((target(WITH_BF16 ",prefer-vector-width=512")))
#endif
#define INLINE_BF16 static inline __attribute__((always_inline, target(WITH_BF16)))
#define MT_UNROLL _Pragma("GCC unroll 16")

enum { ROWS = 14, COLUMNS = 32, PAIRS = 256, TILES_PER_BLOCK = 12, COLUMNS_PER_BLOCK = 2048, DOT_ROWS = 4 };

bool mt_gemm_bf16_available(void)
{
    static int known = -1;

    if (known < 0)
        known = mt_cpu_isa() == MT_ISA_V4 && __builtin_cpu_supports("avx512bf16");
    return known;
}

/* --- tiles --- */

/* c[i][j] (+)= sums over `pairs` words; only `width` columns are stored. */
INLINE_BF16 void tile(const int mr, int64_t pairs, const uint32_t *a, const uint32_t *b, float *c, int64_t c_row,
                      int64_t width, bool accumulate)
{
    __m512 acc[ROWS][2];
    __mmask16 low = (__mmask16)(width >= 16 ? 0xffff : (1u << width) - 1);
    __mmask16 high = (__mmask16)(width >= 32 ? 0xffff : width <= 16 ? 0 : (1u << (width - 16)) - 1);

    MT_UNROLL
    for (int i = 0; i < mr; i++)
        acc[i][0] = acc[i][1] = _mm512_setzero_ps();
    for (int64_t k = 0; k < pairs; k++, a += mr, b += COLUMNS) {
        __m512bh b0 = (__m512bh)_mm512_loadu_si512(b), b1 = (__m512bh)_mm512_loadu_si512(b + 16);

        MT_UNROLL
        for (int i = 0; i < mr; i++) {
            __m512bh pair = (__m512bh)_mm512_set1_epi32((int)a[i]);

            acc[i][0] = _mm512_dpbf16_ps(acc[i][0], pair, b0);
            acc[i][1] = _mm512_dpbf16_ps(acc[i][1], pair, b1);
        }
    }
    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        float *row = c + i * c_row;

        if (accumulate) {
            acc[i][0] = _mm512_add_ps(acc[i][0], _mm512_maskz_loadu_ps(low, row));
            acc[i][1] = _mm512_add_ps(acc[i][1], _mm512_maskz_loadu_ps(high, row + 16));
        }
        _mm512_mask_storeu_ps(row, low, acc[i][0]);
        _mm512_mask_storeu_ps(row + 16, high, acc[i][1]);
    }
}

#define TILE(mr)                                                                                                 \
    FOR_BF16 static void tile_##mr(int64_t pairs, const uint32_t *a, const uint32_t *b, float *c, int64_t c_row, \
                                   int64_t width, bool accumulate)                                               \
    {                                                                                                            \
        tile(mr, pairs, a, b, c, c_row, width, accumulate);                                                      \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#undef TILE
typedef void tile_fn(int64_t pairs, const uint32_t *a, const uint32_t *b, float *c, int64_t c_row, int64_t width,
                     bool accumulate);
static tile_fn *const tiles[ROWS + 1] = {NULL,   tile_1, tile_2,  tile_3,  tile_4,  tile_5,  tile_6, tile_7,
                                         tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14};

/* --- packing --- */

static inline uint32_t word(uint16_t low, uint16_t high)
{
    return (uint32_t)low | (uint32_t)high << 16;
}

/* `count` lines, `line` elements apart, of which elements k, k + 1 (`step` apart) make the words: dst[pair][line]. An odd
   last element is paired with zero. Lines beyond `count` up to `pitch` are zero. */
FOR_BF16 static void pack(uint32_t *dst, int64_t pitch, const uint16_t *src, int64_t line, int64_t step, int64_t count,
                          int64_t depth)
{
    int64_t pairs = (depth + 1) / 2;

    for (int64_t p = 0; p < pairs; p++, dst += pitch) {
        const uint16_t *first = src + 2 * p * step, *second = 2 * p + 1 < depth ? first + step : NULL;
        int64_t i = 0;

        if (line == 1 && second)
            for (; i < count; i++)
                dst[i] = word(first[i], second[i]);
        for (; i < count; i++)
            dst[i] = word(first[i * line], second ? second[i * line] : 0);
        for (; i < pitch; i++)
            dst[i] = 0;
    }
}

/* The same for lines whose elements are contiguous: 16 x 16 words at a time. */
FOR_BF16 static void pack_lines(uint32_t *dst, int64_t pitch, const uint16_t *src, int64_t line, int64_t count,
                                int64_t depth)
{
    int64_t whole = depth / 32 * 16; /* pairs */

    for (int64_t i0 = 0; i0 < count; i0 += 16)
        for (int64_t p0 = 0; p0 < whole; p0 += 16) {
            uint32_t words[16][16];
            int64_t n = count - i0 < 16 ? count - i0 : 16;

            for (int64_t i = 0; i < n; i++)
                memcpy(words[i], src + (i0 + i) * line + 2 * p0, sizeof words[i]);
            for (int64_t p = 0; p < 16; p++)
                for (int64_t i = 0; i < n; i++)
                    dst[(p0 + p) * pitch + i0 + i] = words[i][p];
        }
    for (int64_t p = 0; p < whole; p++)
        for (int64_t i = count; i < pitch; i++)
            dst[p * pitch + i] = 0;
    pack(dst + whole * pitch, pitch, src + 2 * whole, line, 1, count, depth - 2 * whole);
}

static void pack_any(uint32_t *dst, int64_t pitch, const uint16_t *src, int64_t line, int64_t step, int64_t count,
                     int64_t depth)
{
    if (step == 1 && line != 1)
        pack_lines(dst, pitch, src, line, count, depth);
    else
        pack(dst, pitch, src, line, step, count, depth);
}

/* --- packed products --- */

static int64_t tile_start(int64_t m, int64_t count, int64_t p)
{
    int64_t base = m / count, extra = m % count;

    return p * base + (p < extra ? p : extra);
}

typedef struct part {
    const mt_gemm_bf16 *g;
    bool by_rows;
    _Atomic bool failed;
} part;

/* One block of depth: packed panels of B against a group of packed panels of A. */
static void run_block(const mt_gemm_bf16 *g, uint32_t *pa, const uint32_t *pb, int64_t first, int64_t last, int64_t j0,
                      int64_t nc, int64_t k0, int64_t depth)
{
    int64_t count = (g->m + ROWS - 1) / ROWS, pairs = (depth + 1) / 2, row0 = tile_start(g->m, count, first);

    for (int64_t p = first; p < last; p++) {
        int64_t i = tile_start(g->m, count, p), mr = tile_start(g->m, count, p + 1) - i;

        pack_any(pa + (i - row0) * pairs, mr, g->a + i * g->a_row + k0 * g->a_col, g->a_row, g->a_col, mr, depth);
    }
    for (int64_t j = 0; j < nc; j += COLUMNS)
        for (int64_t p = first; p < last; p++) {
            int64_t i = tile_start(g->m, count, p), mr = tile_start(g->m, count, p + 1) - i;

            tiles[mr](pairs, pa + (i - row0) * pairs, pb + j * pairs, g->c + i * g->c_row + j0 + j, g->c_row,
                      nc - j < COLUMNS ? nc - j : COLUMNS, k0 > 0);
        }
}

static int run_packed(const mt_gemm_bf16 *g)
{
    int64_t count = (g->m + ROWS - 1) / ROWS, group = count < TILES_PER_BLOCK ? count : TILES_PER_BLOCK;
    int64_t nc_max = g->n < COLUMNS_PER_BLOCK ? (g->n + COLUMNS - 1) / COLUMNS * COLUMNS : COLUMNS_PER_BLOCK;
    int64_t pairs_max = (g->k + 1) / 2 < PAIRS ? (g->k + 1) / 2 : PAIRS;
    uint32_t *pb = mt_raw_malloc((size_t)((nc_max + group * ROWS) * pairs_max) * sizeof(uint32_t)), *pa;

    if (!pb)
        return -1;
    pa = pb + nc_max * pairs_max;
    for (int64_t j0 = 0; j0 < g->n; j0 += COLUMNS_PER_BLOCK) {
        int64_t nc = g->n - j0 < COLUMNS_PER_BLOCK ? g->n - j0 : COLUMNS_PER_BLOCK;

        for (int64_t k0 = 0; k0 < g->k; k0 += 2 * PAIRS) {
            int64_t depth = g->k - k0 < 2 * PAIRS ? g->k - k0 : 2 * PAIRS, pairs = (depth + 1) / 2;

            for (int64_t j = 0; j < nc; j += COLUMNS)
                pack_any(pb + j * pairs, COLUMNS, g->b + k0 * g->b_row + (j0 + j) * g->b_col, g->b_col, g->b_row,
                         nc - j < COLUMNS ? nc - j : COLUMNS, depth);
            for (int64_t p = 0; p < count; p += group)
                run_block(g, pa, pb, p, p + group < count ? p + group : count, j0, nc, k0, depth);
        }
    }
    mt_raw_free(pb);
    return 0;
}

/* --- dot products --- */

INLINE_BF16 void dots(const int dm, const mt_gemm_bf16 *g, int64_t i, int64_t j, int64_t columns)
{
    const uint16_t *a = g->a + i * g->a_row, *b = g->b + j * g->b_col;
    __m512 acc[DOT_ROWS][4];
    int64_t k = 0;

    MT_UNROLL
    for (int r = 0; r < dm; r++) {
        MT_UNROLL
        for (int q = 0; q < 4; q++)
            acc[r][q] = _mm512_setzero_ps();
    }
    for (; k < g->k; k += 32) {
        __mmask32 mask = g->k - k >= 32 ? 0xffffffffu : (1u << (g->k - k)) - 1;
        __m512bh av[DOT_ROWS];

        MT_UNROLL
        for (int r = 0; r < dm; r++)
            av[r] = (__m512bh)_mm512_maskz_loadu_epi16(mask, a + r * g->a_row + k);
        MT_UNROLL
        for (int q = 0; q < 4; q++) {
            /* columns that are not there repeat the last one */
            const uint16_t *column = b + (q < columns ? q : columns - 1) * g->b_col + k;
            __m512bh bv = (__m512bh)_mm512_maskz_loadu_epi16(mask, column);

            MT_UNROLL
            for (int r = 0; r < dm; r++)
                acc[r][q] = _mm512_dpbf16_ps(acc[r][q], av[r], bv);
        }
    }
    MT_UNROLL
    for (int r = 0; r < dm; r++) {
        MT_UNROLL
        for (int q = 0; q < 4; q++)
            if (q < columns)
                g->c[(i + r) * g->c_row + j + q] = _mm512_reduce_add_ps(acc[r][q]);
    }
}

FOR_BF16 static void run_dots(const mt_gemm_bf16 *g)
{
    for (int64_t j = 0; j < g->n; j += 4) {
        int64_t columns = g->n - j < 4 ? g->n - j : 4, i = 0;

        for (; i + DOT_ROWS <= g->m; i += DOT_ROWS)
            dots(DOT_ROWS, g, i, j, columns);
        for (; i < g->m; i++)
            dots(1, g, i, j, columns);
    }
}

/* --- one product --- */

static bool suits_dots(const mt_gemm_bf16 *g)
{
    return g->a_col == 1 && g->b_row == 1 && (g->m <= 8 || g->n <= 4) && g->k >= 64;
}

static void run_part(void *ctx, int64_t begin, int64_t end)
{
    part *p = ctx;
    mt_gemm_bf16 g = *p->g;
    bool by_dots = suits_dots(p->g);

    if (p->by_rows) {
        g.m = end - begin;
        g.a += begin * g.a_row;
        g.c += begin * g.c_row;
    } else {
        g.n = end - begin;
        g.b += begin * g.b_col;
        g.c += begin;
    }
    if (by_dots)
        run_dots(&g);
    else if (run_packed(&g) < 0)
        p->failed = true;
}

int mt_gemm_bf16_run(const mt_gemm_bf16 *g)
{
    double ns = 2.0 * (double)g->m * (double)g->n * (double)g->k / 150.0 + 2.0 * (double)g->n * (double)g->k / 40.0;
    part p = {g, g->m >= g->n, false};
    int64_t n = p.by_rows ? g->m : g->n, unit = p.by_rows ? ROWS : COLUMNS, threads = mt_get_num_threads(), chunk;

    chunk = ((n + threads - 1) / threads + unit - 1) / unit * unit;
    mt_parallel_for(n, ns / (double)n, chunk, run_part, &p);
    return p.failed ? mt_error_set(MT_ERR_MEMORY, "no memory for a matrix product") : 0;
}

#else

bool mt_gemm_bf16_available(void)
{
    return false;
}

int mt_gemm_bf16_run(const mt_gemm_bf16 *g)
{
    (void)g;
    return mt_error_set(MT_ERR_INTERNAL, "bfloat16 products are not available");
}

#endif
