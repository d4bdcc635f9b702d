/* SPDX-License-Identifier: BSD-3-Clause */
/* The serial matrix product of one floating dtype at one ISA level. The work is done by register tiles of MR rows and
   NV vectors: A is broadcast from memory, B is loaded in vectors, all sums stay in registers. Tiles exist for each
   height, so rows are dealt out evenly and no tile is padded. See the README of this folder for the paths.

   In scope: T, S (suffix), V, LANES, MR, KC (depth of a block). Instantiated by gemm_isa.c. */
#define NR (2 * LANES)
#define SIMD(stem) MT_JOIN(MT_JOIN(mt_simd_, stem), MT_JOIN(_, S))
#define MASK MT_JOIN(mt_mask_, S)
#define ME(stem) MT_JOIN(stem, MT_JOIN(_, S))

/* --- register tiles --- */

typedef void ME(tile_fn)(int64_t k, const T *a, int64_t a_row, int64_t a_col, const T *b, int64_t b_row, T *c,
                         int64_t c_row, int64_t n_last, bool accumulate);

/* Rows are addressed in groups of three, so that fourteen of them need five pointers. n_last: columns of the last
   vector when masked. */
static MT_ALWAYS_INLINE void ME(tile)(const int mr, const int nv, const bool masked, int64_t k, const T *a,
                                      int64_t a_row, int64_t a_col, const T *b, int64_t b_row, T *c, int64_t c_row,
                                      int64_t n_last, bool accumulate)
{
    V acc[MR][4];
    const char *rows[(MR + 2) / 3];
    const int64_t step = a_row * (int64_t)sizeof(T);
    const MASK mask = SIMD(mask)(masked ? n_last : LANES);

    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        MT_UNROLL
        for (int j = 0; j < nv; j++)
            acc[i][j] = (V){0};
    }
    MT_UNROLL
    for (int g = 0; g < (mr + 2) / 3; g++)
        rows[g] = (const char *)a + 3 * g * step;
    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        MT_UNROLL
        for (int j = 0; j < nv; j++)
            __builtin_prefetch(c + i * c_row + j * LANES, 1);
    }
    for (int64_t kk = 0; kk < k; kk++) {
        V bv[4];

        MT_UNROLL
        for (int j = 0; j < nv; j++)
            bv[j] = masked && j == nv - 1 ? SIMD(load_masked)(b + j * LANES, mask) : SIMD(load)(b + j * LANES);
        MT_UNROLL
        for (int i = 0; i < mr; i++) {
            T value;
            V av;

            memcpy(&value, rows[i / 3] + (i % 3) * step, sizeof value);
            av = SIMD(splat)(value);
            MT_UNROLL
            for (int j = 0; j < nv; j++)
                acc[i][j] = SIMD(fma)(av, bv[j], acc[i][j]);
        }
        MT_UNROLL
        for (int g = 0; g < (mr + 2) / 3; g++)
            rows[g] += a_col * (int64_t)sizeof(T);
        b += b_row;
    }
    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        T *row = c + i * c_row;

        MT_UNROLL
        for (int j = 0; j < nv; j++) {
            V r = acc[i][j];

            if (masked && j == nv - 1) {
                if (accumulate)
                    r += SIMD(load_masked)(row + j * LANES, mask);
                SIMD(store_masked)(row + j * LANES, r, mask);
            } else {
                if (accumulate)
                    r += SIMD(load)(row + j * LANES);
                SIMD(store)(row + j * LANES, r);
            }
        }
    }
}

#define TILE(mr, nv, masked)                                                                                         \
    static void ME(tile_##mr##_##nv##_##masked)(int64_t k, const T *a, int64_t a_row, int64_t a_col, const T *b,     \
                                                int64_t b_row, T *c, int64_t c_row, int64_t n_last, bool accumulate) \
    {                                                                                                                \
        ME(tile)(mr, nv, masked, k, a, a_row, a_col, b, b_row, c, c_row, n_last, accumulate);                        \
    }
#define TILES(mr)  \
    TILE(mr, 1, 0) \
    TILE(mr, 1, 1) \
    TILE(mr, 2, 0) \
    TILE(mr, 2, 1)
#define WIDE_TILES(mr) \
    TILE(mr, 3, 0)     \
    TILE(mr, 3, 1)     \
    TILE(mr, 4, 0)     \
    TILE(mr, 4, 1)
EACH_HEIGHT(TILES)
EACH_LOW_HEIGHT(WIDE_TILES)
#define ROW(mr) [mr] = {{ME(tile_##mr##_1_0), ME(tile_##mr##_1_1)}, {ME(tile_##mr##_2_0), ME(tile_##mr##_2_1)}},
#define LOW_ROW(mr)                                     \
    [mr] = {{ME(tile_##mr##_1_0), ME(tile_##mr##_1_1)}, \
            {ME(tile_##mr##_2_0), ME(tile_##mr##_2_1)}, \
            {ME(tile_##mr##_3_0), ME(tile_##mr##_3_1)}, \
            {ME(tile_##mr##_4_0), ME(tile_##mr##_4_1)}},
static ME(tile_fn) *const ME(tiles)[MR + 1][2][2] = {EACH_HEIGHT(ROW)};
static ME(tile_fn) *const ME(low_tiles)[LOW + 1][4][2] = {EACH_LOW_HEIGHT(LOW_ROW)};
#undef TILE
#undef TILES
#undef WIDE_TILES
#undef ROW
#undef LOW_ROW

/* --- the end of a tile --- */

/* One row of C = alpha P + beta D. */
static void ME(combine)(T *c, const T *p, const T *d, int64_t d_col, int64_t n, T alpha, T beta)
{
    if (beta == 0) {
        for (int64_t j = 0; j < n; j++)
            c[j] = alpha * p[j];
    } else if (d_col == 1) {
        for (int64_t j = 0; j < n; j++)
            c[j] = alpha * p[j] + beta * d[j];
    } else {
        for (int64_t j = 0; j < n; j++)
            c[j] = alpha * p[j] + beta * d[j * d_col];
    }
}

/* Where products go: straight into C, or through a small buffer when they are scaled. */
typedef struct ME(target) {
    T *c;
    const T *d;
    int64_t c_row, d_row, d_col;
    T alpha, beta;
    bool direct, accumulate;
} ME(target);

static void ME(apply_tile)(ME(tile_fn) * tile, int mr, int64_t n, int64_t n_last, int64_t k, const T *a, int64_t a_row,
                           int64_t a_col, const T *b, int64_t b_row, const ME(target) * t, int64_t row, int64_t col)
{
    MT_ALIGNED(64) T buffer[MR * NR * 2];
    T *c = t->c + row * t->c_row + col;

    if (MT_LIKELY(t->direct)) {
        tile(k, a, a_row, a_col, b, b_row, c, t->c_row, n_last, t->accumulate);
        return;
    }
    tile(k, a, a_row, a_col, b, b_row, buffer, n, n_last, false);
    for (int i = 0; i < mr; i++)
        ME(combine)(c + i * t->c_row, buffer + i * n, t->d ? t->d + (row + i) * t->d_row + col * t->d_col : NULL,
                    t->d_col, n, t->alpha, t->beta);
}

/* The target of one block of the depth: the first one takes D, the others add to C. */
static ME(target) ME(target_of)(const mt_gemm *g, bool first)
{
    ME(target) t = {g->c, NULL, g->c_row, g->c_row, 1, (T)g->alpha, 0, false, false};

    if (first && g->beta != 0) {
        t.d = g->d;
        t.d_row = g->d_row;
        t.d_col = g->d_col;
        t.beta = (T)g->beta;
    } else if (!first) {
        t.d = g->c;
        t.beta = 1;
    }
    if (t.alpha == 1 && (t.beta == 0 || (t.beta == 1 && t.d == g->c && t.d_row == g->c_row && t.d_col == 1))) {
        t.direct = true;
        t.accumulate = t.beta != 0;
    }
    return t;
}

/* C = D when D is added as it is, so that tiles can add to C in registers. */
static void ME(spread_addend)(mt_gemm *g)
{
    T *c = g->c;
    const T *d = g->d;

    if (g->alpha != 1 || g->beta != 1 || (d == c && g->d_row == g->c_row && g->d_col == 1))
        return;
    for (int64_t i = 0; i < g->m; i++) {
        T *row = c + i * g->c_row;
        const T *from = d + i * g->d_row;

        if (g->d_col == 1)
            memcpy(row, from, (size_t)g->n * sizeof(T));
        else
            for (int64_t j = 0; j < g->n; j++)
                row[j] = from[j * g->d_col];
    }
    g->d = c;
    g->d_row = g->c_row;
    g->d_col = 1;
}

/* --- rows dealt out to tiles --- */

/* Tile number p of m rows over `count` tiles: heights differ by at most one. */
static inline int64_t ME(tile_start)(int64_t m, int64_t count, int64_t p)
{
    int64_t base = m / count, extra = m % count;

    return p * base + (p < extra ? p : extra);
}

/* --- packing --- */

#include "cpu/matmul/gemm_pack.tmpl.h"

/* One block of C: all rows of A (from `a`) against `n` columns whose panels of B start at b, b_panel apart. */
static void ME(block)(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, int64_t a_col, const T *b,
                      int64_t b_row, int64_t b_panel, const ME(target) * t, int64_t row0, int64_t col0)
{
    int64_t count = (m + MR - 1) / MR;

    for (int64_t j = 0; j < n; j += NR, b += b_panel) {
        int64_t width = n - j < NR ? n - j : NR;
        int nv = width > LANES ? 2 : 1;
        int64_t n_last = width - (nv - 1) * LANES;

        for (int64_t p = 0; p < count; p++) {
            int64_t i = ME(tile_start)(m, count, p), mr = ME(tile_start)(m, count, p + 1) - i;

            ME(apply_tile)(ME(tiles)[mr][nv - 1][n_last != LANES], (int)mr, width, n_last, k, a + i * a_row, a_row,
                           a_col, b, b_row, t, row0 + i, col0 + j);
        }
    }
}

/* --- paths --- */

/* Few rows: tiles of up to four vectors, so that there are sums enough to hide latency. */
static void ME(run_low)(const mt_gemm *g)
{
    ME(target) t = ME(target_of)(g, true);
    const T *b = g->b;

    for (int64_t j = 0; j < g->n; j += 4 * LANES) {
        int64_t width = g->n - j < 4 * LANES ? g->n - j : 4 * LANES;
        int64_t nv = (width + LANES - 1) / LANES, n_last = width - (nv - 1) * LANES;

        ME(apply_tile)(ME(low_tiles)[g->m][nv - 1][n_last != LANES], (int)g->m, width, n_last, g->k, g->a, g->a_row,
                       g->a_col, b + j, g->b_row, &t, 0, j);
    }
}

/* Rows of A that are a multiple of 4 KiB apart fall into one set of the first cache. */
static bool ME(rows_collide)(const mt_gemm *g)
{
    return g->m > 4 && g->k >= 2 * LANES && g->a_row * (int64_t)sizeof(T) % 4096 == 0;
}

static void ME(run_direct)(const mt_gemm *g)
{
    int64_t kc = g->k < KC ? g->k : KC;
    T *packed = NULL;

    if ((ME(rows_collide)(g) || g->n > 8 * NR) && g->a_row != 1 && g->k >= 16)
        packed = mt_raw_malloc((size_t)(g->m * kc) * sizeof(T));
    for (int64_t pc = 0; pc < g->k; pc += KC) {
        int64_t depth = g->k - pc < KC ? g->k - pc : KC, count = (g->m + MR - 1) / MR;
        const T *a = (const T *)g->a + pc * g->a_col, *b = (const T *)g->b + pc * g->b_row;
        ME(target) t = ME(target_of)(g, pc == 0);

        if (!packed) {
            ME(block)(g->m, g->n, depth, a, g->a_row, g->a_col, b, g->b_row, NR, &t, 0, 0);
            continue;
        }
        for (int64_t p = 0; p < count; p++) {
            int64_t i = ME(tile_start)(g->m, count, p), mr = ME(tile_start)(g->m, count, p + 1) - i;

            ME(pack_a)(packed + i * depth, a + i * g->a_row, g->a_row, g->a_col, mr, depth);
        }
        for (int64_t j = 0; j < g->n; j += NR)
            for (int64_t p = 0; p < count; p++) {
                int64_t i = ME(tile_start)(g->m, count, p), mr = ME(tile_start)(g->m, count, p + 1) - i;

                ME(block)(mr, g->n - j < NR ? g->n - j : NR, depth, packed + i * depth, 1, mr, b + j, g->b_row, 0, &t,
                          i, j);
            }
    }
    mt_raw_free(packed);
}

enum { ME(TILES_PER_BLOCK) = 12, ME(COLUMNS_PER_BLOCK) = 2048 };

/* For a depth of zero, and without memory for panels: correct, not fast. */
static void ME(run_plain)(const mt_gemm *g)
{
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            T sum = 0;
            const T *a = (const T *)g->a + i * g->a_row, *b = (const T *)g->b + j * g->b_col;

            for (int64_t k = 0; k < g->k; k++)
                sum += a[k * g->a_col] * b[k * g->b_row];
            ME(combine)((T *)g->c + i * g->c_row + j * g->c_col, &sum,
                        g->beta != 0 ? (const T *)g->d + i * g->d_row + j * g->d_col : NULL, 1, 1, (T)g->alpha,
                        (T)g->beta);
        }
}

static void ME(run_packed)(const mt_gemm *g)
{
    enum { NC = ME(COLUMNS_PER_BLOCK) };
    const bool columns = g->a_row == 1 && g->a_col > 2 * MR;
    const bool copies_a = g->n > (columns ? 32 * NR : 4 * NR) || ME(rows_collide)(g);
    int64_t nc_max = g->n < NC ? (g->n + NR - 1) / NR * NR : NC, kc_max = g->k < KC ? g->k : KC;
    int64_t count = (g->m + MR - 1) / MR, group = count < ME(TILES_PER_BLOCK) ? count : ME(TILES_PER_BLOCK);
    size_t b_bytes = (size_t)(nc_max * kc_max) * sizeof(T);
    T *pb = mt_raw_malloc(b_bytes + (size_t)(group * MR * kc_max) * sizeof(T)), *pa;

    if (!pb) {
        ME(run_plain)(g);
        return;
    }
    pa = pb + nc_max * kc_max;
    for (int64_t jc = 0; jc < g->n; jc += NC) {
        int64_t nc = g->n - jc < NC ? g->n - jc : NC;

        for (int64_t pc = 0; pc < g->k; pc += KC) {
            int64_t kc = g->k - pc < KC ? g->k - pc : KC;
            ME(target) t = ME(target_of)(g, pc == 0);
            const T *a = (const T *)g->a + pc * g->a_col;

            ME(pack_b)(pb, (const T *)g->b + pc * g->b_row + jc * g->b_col, g->b_row, g->b_col, kc, nc);
            for (int64_t p0 = 0; p0 < count; p0 += group) {
                int64_t p1 = p0 + group < count ? p0 + group : count, first = ME(tile_start)(g->m, count, p0);

                if (!copies_a) {
                    int64_t rows = ME(tile_start)(g->m, count, p1) - first;

                    ME(block)(rows, nc, kc, a + first * g->a_row, g->a_row, g->a_col, pb, NR, kc * NR, &t, first, jc);
                    continue;
                }
                if (columns)
                    ME(pack_columns)(pa, a, g->a_col, g->m, count, p0, p1, kc);
                for (int64_t p = p0; p < p1 && !columns; p++) {
                    int64_t i = ME(tile_start)(g->m, count, p), mr = ME(tile_start)(g->m, count, p + 1) - i;

                    ME(pack_a)(pa + (i - first) * kc, a + i * g->a_row, g->a_row, g->a_col, mr, kc);
                }
                for (int64_t j = 0; j < nc; j += NR)
                    for (int64_t p = p0; p < p1; p++) {
                        int64_t i = ME(tile_start)(g->m, count, p), mr = ME(tile_start)(g->m, count, p + 1) - i;

                        ME(block)(mr, nc - j < NR ? nc - j : NR, kc, pa + (i - first) * kc, 1, mr, pb + j * kc, NR, 0,
                                  &t, i, jc + j);
                    }
            }
        }
    }
    mt_raw_free(pb);
}

/* A small B, copied to rows on the stack. */
static void ME(run_small)(const mt_gemm *given)
{
    MT_ALIGNED(64) T rows[SMALL_B];
    mt_gemm g = *given;
    const T *b = g.b;

    if (g.b_row == 1)
        ME(transpose_small)(rows, g.n, b, g.b_col, g.n, g.k);
    else
        for (int64_t k = 0; k < g.k; k++)
            for (int64_t j = 0; j < g.n; j++)
                rows[k * g.n + j] = b[k * g.b_row + j * g.b_col];
    g.b = rows;
    g.b_row = g.n;
    g.b_col = 1;
    if (g.m <= LOW)
        ME(run_low)(&g);
    else
        ME(run_direct)(&g);
}

/* --- few rows of A, many rows of B: B is streamed once, in bands of `band` rows --- */

static MT_ALWAYS_INLINE void ME(stream)(const int m, const int band, const mt_gemm *g, int64_t k, int64_t n, int64_t j0)
{
    const T *a = (const T *)g->a + k * g->a_col, *b = (const T *)g->b + k * g->b_row + j0;
    T *c = (T *)g->c + j0;
    T values[4][8];
    int64_t j = 0;

    for (int i = 0; i < m; i++)
        for (int r = 0; r < band; r++)
            values[i][r] = a[i * g->a_row + r * g->a_col];
    for (; j < n; j += LANES) {
        MASK mask = SIMD(mask)(n - j < LANES ? n - j : LANES);
        V acc[4];

        MT_UNROLL
        for (int i = 0; i < m; i++)
            acc[i] = SIMD(load_masked)(c + i * g->c_row + j, mask);
        MT_UNROLL
        for (int r = 0; r < band; r++) {
            V bv = SIMD(load_masked)(b + r * g->b_row + j, mask);

            MT_UNROLL
            for (int i = 0; i < m; i++)
                acc[i] = SIMD(fma)(SIMD(splat)(values[i][r]), bv, acc[i]);
        }
        MT_UNROLL
        for (int i = 0; i < m; i++)
            SIMD(store_masked)(c + i * g->c_row + j, acc[i], mask);
    }
}

static void ME(stream_band)(const mt_gemm *g, int64_t k, int64_t n, int64_t j, int64_t band)
{
    switch (g->m * 2 + (band == 8)) {
    case 3:
        ME(stream)(1, 8, g, k, n, j);
        break;
    case 5:
        ME(stream)(2, 8, g, k, n, j);
        break;
    case 7:
        ME(stream)(3, 8, g, k, n, j);
        break;
    case 9:
        ME(stream)(4, 8, g, k, n, j);
        break;
    case 2:
        ME(stream)(1, 1, g, k, n, j);
        break;
    case 4:
        ME(stream)(2, 1, g, k, n, j);
        break;
    case 6:
        ME(stream)(3, 1, g, k, n, j);
        break;
    default:
        ME(stream)(4, 1, g, k, n, j);
        break;
    }
}

/* alpha is 1, and C holds what is added to. */
static void ME(run_stream)(const mt_gemm *g)
{
    enum { COLUMNS = 2048 };

    if (g->beta == 0)
        for (int64_t i = 0; i < g->m; i++)
            memset((T *)g->c + i * g->c_row, 0, (size_t)g->n * sizeof(T));
    for (int64_t j = 0; j < g->n; j += COLUMNS)
        for (int64_t k = 0; k < g->k;) {
            int64_t band = g->k - k >= 8 ? 8 : 1;

            ME(stream_band)(g, k, g->n - j < COLUMNS ? g->n - j : COLUMNS, j, band);
            k += band;
        }
}

/* --- dot products --- */

/* dm rows of A against dn columns of B, both contiguous along k. */
static MT_ALWAYS_INLINE void ME(dot)(const int dm, const int dn, int64_t k, const T *a, int64_t a_row, const T *b,
                                     int64_t b_col, T *sums)
{
    V acc[8][8];
    int64_t kk = 0;

    MT_UNROLL
    for (int i = 0; i < dm; i++) {
        MT_UNROLL
        for (int j = 0; j < dn; j++)
            acc[i][j] = (V){0};
    }
    for (; kk + LANES <= k; kk += LANES) {
        V av[8];

        MT_UNROLL
        for (int i = 0; i < dm; i++)
            av[i] = SIMD(load)(a + i * a_row + kk);
        MT_UNROLL
        for (int j = 0; j < dn; j++) {
            V bv = SIMD(load)(b + j * b_col + kk);

            MT_UNROLL
            for (int i = 0; i < dm; i++)
                acc[i][j] = SIMD(fma)(av[i], bv, acc[i][j]);
        }
    }
    if (kk < k) {
        MASK mask = SIMD(mask)(k - kk);
        V av[8];

        MT_UNROLL
        for (int i = 0; i < dm; i++)
            av[i] = SIMD(load_masked)(a + i * a_row + kk, mask);
        MT_UNROLL
        for (int j = 0; j < dn; j++) {
            V bv = SIMD(load_masked)(b + j * b_col + kk, mask);

            MT_UNROLL
            for (int i = 0; i < dm; i++)
                acc[i][j] = SIMD(fma)(av[i], bv, acc[i][j]);
        }
    }
    MT_UNROLL
    for (int i = 0; i < dm; i++) {
        MT_UNROLL
        for (int j = 0; j < dn; j++)
            sums[i * dn + j] = SIMD(sum)(acc[i][j]);
    }
}

typedef void ME(dot_fn)(int64_t k, const T *a, int64_t a_row, const T *b, int64_t b_col, T *sums);

#define DOT(dm, dn)                                                                                           \
    static void ME(dot_##dm##_##dn)(int64_t k, const T *a, int64_t a_row, const T *b, int64_t b_col, T *sums) \
    {                                                                                                         \
        ME(dot)(dm, dn, k, a, a_row, b, b_col, sums);                                                         \
    }
#define DOTS(dm) DOT(dm, 1) DOT(dm, 2) DOT(dm, 3) DOT(dm, 4)
#define DOT_ROW(dm) [dm] = {NULL, ME(dot_##dm##_1), ME(dot_##dm##_2), ME(dot_##dm##_3), ME(dot_##dm##_4)},
DOTS(1)
DOTS(2)
DOTS(3) DOTS(4) DOT(1, 8) static ME(dot_fn) *const ME(dots)[5][5] = {DOT_ROW(1) DOT_ROW(2) DOT_ROW(3) DOT_ROW(4)};
#undef DOT
#undef DOTS
#undef DOT_ROW

/* One long dot product: eight sums side by side. */
static T ME(dot_long)(int64_t k, const T *a, const T *b)
{
    V acc[8] = {{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
    int64_t i = 0;

    for (; i + 8 * LANES <= k; i += 8 * LANES) {
        MT_UNROLL
        for (int j = 0; j < 8; j++)
            acc[j] = SIMD(fma)(SIMD(load)(a + i + j * LANES), SIMD(load)(b + i + j * LANES), acc[j]);
    }
    for (; i < k; i += LANES) {
        MASK mask = SIMD(mask)(k - i < LANES ? k - i : LANES);

        acc[0] = SIMD(fma)(SIMD(load_masked)(a + i, mask), SIMD(load_masked)(b + i, mask), acc[0]);
    }
    return SIMD(sum)(((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7])));
}

static void ME(store_sums)(const mt_gemm *g, const T *sums, int64_t i0, int64_t j0, int dm, int dn)
{
    for (int i = 0; i < dm; i++)
        for (int j = 0; j < dn; j++) {
            int64_t row = i0 + i, col = j0 + j;
            T value = sums[i * dn + j];

            if (g->alpha != 1)
                value *= (T)g->alpha;
            if (g->beta != 0)
                value += (T)g->beta * ((const T *)g->d)[row * g->d_row + col * g->d_col];
            ((T *)g->c)[row * g->c_row + col * g->c_col] = value;
        }
}

static void ME(run_dot_rows)(const mt_gemm *g)
{
    const T *a = g->a, *b = g->b;
    T sums[16];

    if (g->m == 1 && g->n == 1) {
        sums[0] = ME(dot_long)(g->k, a, b);
        ME(store_sums)(g, sums, 0, 0, 1, 1);
        return;
    }
    for (int64_t j = 0; j < g->n;) {
        int64_t left = g->n - j, dn = left >= 4 ? 4 : left;

        if (g->m == 1 && left >= 8) {
            ME(dot_1_8)(g->k, a, g->a_row, b + j * g->b_col, g->b_col, sums);
            ME(store_sums)(g, sums, 0, j, 1, 8);
            j += 8;
            continue;
        }
        for (int64_t i = 0; i < g->m;) {
            int64_t dm = g->m - i >= DOT_ROWS ? DOT_ROWS : g->m - i;

            ME(dots)[dm][dn](g->k, a + i * g->a_row, g->a_row, b + j * g->b_col, g->b_col, sums);
            ME(store_sums)(g, sums, i, j, (int)dm, (int)dn);
            i += dm;
        }
        j += dn;
    }
}

/* A narrow B whose columns are not contiguous is copied first. */
static void ME(run_dot)(const mt_gemm *given)
{
    mt_gemm g = *given;
    const T *b = g.b;
    T *columns;

    if (g.b_row == 1) {
        ME(run_dot_rows)(&g);
        return;
    }
    columns = mt_raw_malloc((size_t)(g.k * g.n) * sizeof(T));
    if (!columns) {
        ME(run_plain)(&g);
        return;
    }
    for (int64_t j = 0; j < g.n; j++)
        for (int64_t k = 0; k < g.k; k++)
            columns[j * g.k + k] = b[k * g.b_row + j * g.b_col];
    g.b = columns;
    g.b_row = 1;
    g.b_col = g.k;
    ME(run_dot_rows)(&g);
    mt_raw_free(columns);
}

void MT_ISA_NAME(ME(mt_gemm_serial))(const mt_gemm *given, mt_gemm_path path)
{
    mt_gemm g;

    if (path == MT_GEMM_DIRECT && given->beta == 0) { /* small products come here */
        if (given->m <= LOW && given->k <= KC)
            ME(run_low)(given);
        else
            ME(run_direct)(given);
        return;
    }
    g = *given;
    if (path == MT_GEMM_AUTO) {
        ME(run_plain)(&g);
        return;
    }
    if (path == MT_GEMM_DOT) {
        ME(run_dot)(&g);
        return;
    }
    ME(spread_addend)(&g);
    if (path == MT_GEMM_STREAM && g.alpha == 1 && (g.beta == 0 || (g.beta == 1 && g.d == g.c && g.d_row == g.c_row)))
        ME(run_stream)(&g);
    else if (path == MT_GEMM_PACKED && g.k * g.n <= SMALL_B)
        ME(run_small)(&g);
    else if (path == MT_GEMM_PACKED)
        ME(run_packed)(&g);
    else if (g.m <= LOW && g.k <= KC)
        ME(run_low)(&g);
    else
        ME(run_direct)(&g);
}

#undef NR
#undef SIMD
#undef MASK
#undef ME
