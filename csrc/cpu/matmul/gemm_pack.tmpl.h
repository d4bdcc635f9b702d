/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of A and B into the order in which the register tiles read them. In scope: as for gemm.tmpl.h, which includes
   this. */

/* dst[c][r] = src[r * row + c] for up to a vector of rows. Masks cut off what does not exist; where they are dear, whole
   vectors are stored, of which the next line overwrites what is too much: then lines lie close together and the last
   columns are left. Gives the number of columns done. */
static MT_ALWAYS_INLINE int64_t ME(transpose_band)(T *dst, int64_t pitch, const T *src, int64_t row, int64_t rows,
                                                   int64_t cols)
{
    const MASK stored = SIMD(mask)(rows);
    const int64_t end = MT_SIMD_MASKS ? cols : cols - 2 * LANES + 1;
    int64_t c = 0;

    for (; c < end; c += LANES) {
        int64_t width = MT_SIMD_MASKS && cols - c < LANES ? cols - c : LANES;
        const MASK loaded = SIMD(mask)(width);
        V lines[LANES];

        MT_UNROLL
        for (int i = 0; i < LANES; i++) {
            lines[i] = (V){0};
            if (i < rows)
                lines[i] = MT_SIMD_MASKS ? SIMD(load_masked)(src + i * row + c, loaded) : SIMD(load)(src + i * row + c);
        }
        SIMD(flip)(lines);
        MT_UNROLL
        for (int i = 0; i < LANES; i++) {
            if (!MT_SIMD_MASKS)
                SIMD(store)(dst + (c + i) * pitch, lines[i]);
            else if (i < width)
                SIMD(store_masked)(dst + (c + i) * pitch, lines[i], stored);
        }
    }
    return c < cols ? c : cols;
}

/* The same for a vector of rows and columns. */
static MT_ALWAYS_INLINE void ME(transpose_square)(T *dst, int64_t pitch, const T *src, int64_t row)
{
    V lines[LANES];

    MT_UNROLL
    for (int i = 0; i < LANES; i++)
        lines[i] = SIMD(load)(src + i * row);
    SIMD(flip)(lines);
    MT_UNROLL
    for (int i = 0; i < LANES; i++)
        SIMD(store)(dst + i * pitch, lines[i]);
}

/* dst[c][r] = src[r * row + c] for r < rows, c < cols; rows of dst are `pitch` apart. */
static void ME(transpose)(T *dst, int64_t pitch, const T *src, int64_t row, int64_t rows, int64_t cols)
{
    int64_t whole = cols / LANES * LANES, done = 0;

    for (; rows >= LANES; rows -= LANES, dst += LANES, src += LANES * row) {
        for (int64_t c = 0; c < whole; c += LANES)
            ME(transpose_square)(dst + c * pitch, pitch, src + c, row);
        for (int64_t c = whole; c < cols; c++)
            for (int64_t i = 0; i < LANES; i++)
                dst[c * pitch + i] = src[i * row + c];
    }
    if (rows > 2 && (MT_SIMD_MASKS || pitch == rows))
        done = ME(transpose_band)(dst, pitch, src, row, rows, cols);
    for (int64_t c = done; c < cols; c++)
        for (int64_t r = 0; r < rows; r++)
            dst[c * pitch + r] = src[r * row + c];
}

/* The same for a matrix so small that wide squares would be mostly empty. */
static void ME(transpose_small)(T *dst, int64_t pitch, const T *src, int64_t row, int64_t rows, int64_t cols)
{
    int64_t r = 0;

    for (; r + 4 <= rows; r += 4) {
        const T *s = src + r * row;
        T *d = dst + r;
        int64_t c = 0;

        for (; c + 4 <= cols; c += 4, d += 4 * pitch) {
            MT_UNROLL
            for (int half = 0; half < 4; half += 16 / (int)sizeof(T))
                SIMD(square)(d + half * pitch, pitch, s + c + half, row);
        }
        for (; c < cols; c++, d += pitch)
            for (int i = 0; i < 4; i++)
                d[i] = s[i * row + c];
    }
    for (; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            dst[c * pitch + r] = src[r * row + c];
}

/* Rows that are copied together: reads run along them, writes fill pages of several panels. */
enum { ME(BAND) = 16 };

/* The full panels of a B whose rows are contiguous; gives the number of columns done. */
static int64_t ME(pack_b_rows)(T *dst, const T *b, int64_t b_row, int64_t kc, int64_t nc)
{
    int64_t full = nc / NR * NR;

    for (int64_t k0 = 0; k0 < kc; k0 += ME(BAND)) {
        int64_t k1 = kc - k0 < ME(BAND) ? kc : k0 + ME(BAND);

        for (int64_t j = 0; j < full; j += NR)
            for (int64_t k = k0; k < k1; k++) {
                const T *from = b + k * b_row + j;
                T *to = dst + j * kc + k * NR;

                __builtin_prefetch(from + ME(BAND) * b_row);
                __builtin_prefetch(from + ME(BAND) * b_row + LANES);
                SIMD(store)(to, SIMD(load)(from));
                SIMD(store)(to + LANES, SIMD(load)(from + LANES));
            }
    }
    return full;
}

/* kc x nc of B into panels of NR columns, each kc x NR, the last one filled up with zeros. */
static void ME(pack_b)(T *dst, const T *b, int64_t b_row, int64_t b_col, int64_t kc, int64_t nc)
{
    int64_t done = b_col == 1 ? ME(pack_b_rows)(dst, b, b_row, kc, nc) : 0;

    dst += done * kc;
    for (int64_t j = done; j < nc; j += NR, dst += kc * NR) {
        int64_t width = nc - j < NR ? nc - j : NR;
        const T *from = b + j * b_col;

        if (width < NR)
            memset(dst, 0, (size_t)(kc * NR) * sizeof(T));
        if (b_row == 1) {
            ME(transpose)(dst, NR, from, b_col, width, kc);
            continue;
        }
        for (int64_t k = 0; k < kc; k++)
            for (int64_t i = 0; i < width; i++)
                dst[k * NR + i] = from[k * b_row + i * b_col];
    }
}

/* mr x kc of A into kc rows of mr elements. */
static void ME(pack_a)(T *dst, const T *a, int64_t a_row, int64_t a_col, int64_t mr, int64_t kc)
{
    if (a_col == 1) {
        ME(transpose)(dst, mr, a, a_row, mr, kc);
        return;
    }
    for (int64_t k = 0; k < kc; k++)
        for (int64_t i = 0; i < mr; i++)
            dst[k * mr + i] = a[i * a_row + k * a_col];
}

/* Columns of A are contiguous (a transposed matrix): kc of them for the tiles p0 to p1 - 1 of m rows, from row `first` on.
   A tile is no wider than a vector. */
static void ME(pack_columns)(T *dst, const T *a, int64_t a_col, int64_t m, int64_t count, int64_t p0, int64_t p1,
                             int64_t kc)
{
    int64_t first = ME(tile_start)(m, count, p0);

    for (int64_t k0 = 0; k0 < kc; k0 += ME(BAND)) {
        int64_t k1 = kc - k0 < ME(BAND) ? kc : k0 + ME(BAND);

        for (int64_t p = p0; p < p1; p++) {
            int64_t i = ME(tile_start)(m, count, p), mr = ME(tile_start)(m, count, p + 1) - i;
            T *to = dst + (i - first) * kc;
            MASK low = SIMD(mask)(mr < LANES ? mr : LANES);

            for (int64_t k = k0; k < k1; k++) {
                __builtin_prefetch(a + i + (k + ME(BAND)) * a_col);
                SIMD(store_masked)(to + k * mr, SIMD(load_masked)(a + i + k * a_col, low), low);
                for (int64_t r = LANES; r < mr; r++)
                    to[k * mr + r] = a[i + r + k * a_col];
            }
        }
    }
}
