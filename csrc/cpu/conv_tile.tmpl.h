/* SPDX-License-Identifier: BSD-3-Clause */
/* The convolution kernels of one floating dtype at one ISA level: register tiles that read one operand through tables
   of offsets. Rows of a gather tile are dealt out evenly up to MR; its columns are output channels and leave through a
   transpose when the result has its pixels side by side.

   In scope: T, S (suffix), V, LANES, MR. Instantiated by conv_isa.c. */
#define NR (2 * LANES)
#define SIMD(stem) MT_JOIN(MT_JOIN(mt_simd_, stem), MT_JOIN(_, S))
#define MASK MT_JOIN(mt_mask_, S)
#define ME(stem) MT_JOIN(stem, MT_JOIN(_, S))

/* --- transposes --- */

/* dst[c][r] = src[r][c] for n <= LANES rows of LANES elements, c < cols; n elements of each row of dst are written, or
   whole vectors when what lies behind does not matter. */
static void ME(turn_square)(T *dst, int64_t dst_row, const T *src, int64_t src_row, int64_t n, int64_t cols, bool whole)
{
    V a[LANES], b[LANES];
    MASK mask = SIMD(mask)(n);

    MT_UNROLL
    for (int i = 0; i < LANES; i++)
        a[i] = i < n ? SIMD(load)(src + i * src_row) : (V){0};
    MT_UNROLL
    for (int round = 1; round < LANES; round *= 2) {
        MT_UNROLL
        for (int i = 0; i < LANES / 2; i++) {
            b[2 * i] = ME(low_halves)(a[i], a[i + LANES / 2]);
            b[2 * i + 1] = ME(high_halves)(a[i], a[i + LANES / 2]);
        }
        MT_UNROLL
        for (int i = 0; i < LANES; i++)
            a[i] = b[i];
    }
    if (n == LANES || whole) {
        MT_UNROLL
        for (int i = 0; i < LANES; i++)
            if (i < cols)
                SIMD(store)(dst + i * dst_row, a[i]);
        return;
    }
    MT_UNROLL
    for (int i = 0; i < LANES; i++)
        if (i < cols)
            SIMD(store_masked)(dst + i * dst_row, a[i], mask);
}

void MT_ISA_NAME(ME(mt_conv_pack))(T *dst, int64_t pitch, const T *src, int64_t row, int64_t col, int64_t rows,
                                   int64_t cols)
{
    int64_t c = 0;

    if (rows < pitch)
        memset(dst, 0, (size_t)(pitch * cols) * sizeof(T));
    for (; col == 1 && c + LANES <= cols; c += LANES)
        for (int64_t r = 0; r < rows; r += LANES) {
            int64_t n = rows - r < LANES ? rows - r : LANES;

            for (int64_t i = r; i < r + n && c + 4 * LANES < cols; i++) /* far rows: no stream that hardware follows */
                __builtin_prefetch(src + i * row + c + 3 * LANES);
            ME(turn_square)(dst + c * pitch + r, pitch, src + r * row + c, row, n, LANES, false);
        }
    for (; c < cols; c++)
        for (int64_t r = 0; r < rows; r++)
            dst[c * pitch + r] = src[r * row + c * col];
}

/* --- gather tiles --- */

typedef void ME(gather_fn)(int64_t depth, const T *source, const int64_t *row, const int64_t *offset, const T *panel,
                           int64_t pitch, T *buffer);

static MT_ALWAYS_INLINE void ME(gather_tile)(const int mr, const int nv, int64_t depth, const T *source,
                                             const int64_t *row, const int64_t *offset, const T *panel, int64_t pitch,
                                             T *buffer)
{
    const T *p[MR];
    V acc[MR][2];

    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        p[i] = source + row[i];
        MT_UNROLL
        for (int j = 0; j < nv; j++)
            acc[i][j] = (V){0};
    }
    for (int64_t k = 0; k < depth; k++, panel += pitch) {
        int64_t at = offset[k];
        V b[2];

        MT_UNROLL
        for (int j = 0; j < nv; j++)
            b[j] = SIMD(load)(panel + j * LANES);
        MT_UNROLL
        for (int i = 0; i < mr; i++) {
            V a = SIMD(splat)(p[i][at]);

            MT_UNROLL
            for (int j = 0; j < nv; j++)
                acc[i][j] = SIMD(fma)(a, b[j], acc[i][j]);
        }
    }
    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        MT_UNROLL
        for (int j = 0; j < nv; j++)
            SIMD(store)(buffer + i * NR + j * LANES, acc[i][j]);
    }
}

#define GATHER(mr, nv)                                                                                            \
    static void ME(gather_##mr##_##nv)(int64_t depth, const T *source, const int64_t *row, const int64_t *offset, \
                                       const T *panel, int64_t pitch, T *buffer)                                  \
    {                                                                                                             \
        ME(gather_tile)(mr, nv, depth, source, row, offset, panel, pitch, buffer);                                \
    }
#define GATHERS(mr) GATHER(mr, 1) GATHER(mr, 2)
#define GATHER_ROW(mr) [mr] = {ME(gather_##mr##_1), ME(gather_##mr##_2)},
EACH_HEIGHT(GATHERS)
static ME(gather_fn) *const ME(gathers)[MR + 1][2] = {EACH_HEIGHT(GATHER_ROW)};
#undef GATHER
#undef GATHERS
#undef GATHER_ROW

/* --- where tiles go --- */

/* Rows of the result have their columns side by side. */
static void ME(store_rows)(const mt_gather *g, T *buffer, int64_t first, int mr)
{
    const T *bias = g->bias;

    for (int i = 0; i < mr; i++) {
        T *out = (T *)g->out + (g->out_row ? g->out_row[first + i] : (first + i) * g->out_step);
        const T *from = buffer + i * NR;

        for (int64_t j = 0; j < g->width; j += LANES) {
            MASK mask = SIMD(mask)(g->width - j < LANES ? g->width - j : LANES);
            V v = SIMD(load)(from + j);

            if (bias)
                v += SIMD(load_masked)(bias + j, mask);
            if (g->accumulate)
                v += SIMD(load_masked)(out + j, mask);
            SIMD(store_masked)(out + j, v, mask);
        }
    }
}

static void ME(add_bias)(const mt_gather *g, T *buffer, int mr)
{
    const T *bias = g->bias;

    for (int64_t j = 0; j < g->width; j += LANES) {
        V v = SIMD(load_masked)(bias + j, SIMD(mask)(g->width - j < LANES ? g->width - j : LANES));

        for (int i = 0; i < mr; i++)
            SIMD(store)(buffer + i * NR + j, SIMD(load)(buffer + i * NR + j) + v);
    }
}

/* Rows are neighbours in the result, columns are out_col apart. What is written too far is written again by the next tile. */
static void ME(store_turned)(const mt_gather *g, T *buffer, int64_t first, int mr)
{
    T *out = (T *)g->out + first;

    if (g->bias)
        ME(add_bias)(g, buffer, mr);
    for (int64_t j = 0; j < g->width; j += LANES)
        for (int i = 0; i < mr; i += LANES)
            ME(turn_square)(out + j * g->out_col + i, g->out_col, buffer + i * NR + j, NR,
                            mr - i < LANES ? mr - i : LANES, g->width - j < LANES ? g->width - j : LANES,
                            first + i + LANES <= g->n_rows);
}

static void ME(store_scattered)(const mt_gather *g, T *buffer, int64_t first, int mr)
{
    if (g->bias)
        ME(add_bias)(g, buffer, mr);
    for (int64_t j = 0; j < g->width; j++)
        for (int i = 0; i < mr; i++) {
            int64_t at = g->out_row ? g->out_row[first + i] : (first + i) * g->out_step;

            ((T *)g->out)[at + j * g->out_col] = buffer[i * NR + j];
        }
}

void MT_ISA_NAME(ME(mt_conv_gather))(const mt_gather *g)
{
    MT_ALIGNED(64) T buffer[(MR + LANES - 1) / LANES * LANES * NR]; /* whole squares */
    int64_t count = (g->n_rows + MR - 1) / MR, at = 0;
    int nv = g->width > LANES ? 2 : 1;

    for (int64_t p = 0; p < count; p++) {
        int mr = (int)((g->n_rows - at + count - p - 1) / (count - p));

        ME(gathers)[mr][nv - 1](g->depth, g->source, g->row + at, g->offset, g->panel, g->pitch, buffer);
        if (g->out_col == 1)
            ME(store_rows)(g, buffer, at, mr);
        else if (!g->out_row && g->out_step == 1)
            ME(store_turned)(g, buffer, at, mr);
        else
            ME(store_scattered)(g, buffer, at, mr);
        at += mr;
    }
}

int64_t MT_ISA_NAME(ME(mt_conv_panel_width))(int64_t columns)
{
    return columns > LANES ? NR : LANES;
}

/* --- sweeps --- */

/* mr channels of one line, from x to x + length; the last vector is masked when it is written. */
static MT_ALWAYS_INLINE void ME(sweep_tile)(const int mr, const int nv, const mt_sweep *s, const T *source,
                                            const T *weight, const T *bias, T *out, int64_t n_last)
{
    V acc[SWEEP_MR][4];
    const int64_t *offset = s->offset;
    const int64_t weight_row = s->weight_row;
    MASK mask = SIMD(mask)(n_last);

    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        MT_UNROLL
        for (int j = 0; j < nv; j++)
            acc[i][j] = (V){0};
    }
    for (int64_t k = 0; k < s->depth; k++) {
        const T *from = source + offset[k];
        V b[4];

        MT_UNROLL
        for (int j = 0; j < nv; j++)
            b[j] = SIMD(load)(from + j * LANES);
        MT_UNROLL
        for (int i = 0; i < mr; i++) {
            V a = SIMD(splat)(weight[i * weight_row + k]);

            MT_UNROLL
            for (int j = 0; j < nv; j++)
                acc[i][j] = SIMD(fma)(a, b[j], acc[i][j]);
        }
    }
    MT_UNROLL
    for (int i = 0; i < mr; i++) {
        V add = SIMD(splat)(bias ? bias[i] : 0);

        MT_UNROLL
        for (int j = 0; j < nv; j++) {
            if (j == nv - 1)
                SIMD(store_masked)(out + i * s->out_channel + j * LANES, acc[i][j] + add, mask);
            else
                SIMD(store)(out + i * s->out_channel + j * LANES, acc[i][j] + add);
        }
    }
}

typedef void ME(sweep_fn)(const mt_sweep *s, const T *source, const T *weight, const T *bias, T *out, int64_t n_last);

#define SWEEP(mr, nv)                                                                                             \
    static void ME(sweep_##mr##_##nv)(const mt_sweep *s, const T *source, const T *weight, const T *bias, T *out, \
                                      int64_t n_last)                                                             \
    {                                                                                                             \
        ME(sweep_tile)(mr, nv, s, source, weight, bias, out, n_last);                                             \
    }
#define SWEEPS(mr) SWEEP(mr, 1) SWEEP(mr, 2)
#define SWEEP_ROW(mr) [mr] = {ME(sweep_##mr##_1), ME(sweep_##mr##_2)},
EACH_SWEEP_HEIGHT(SWEEPS)
SWEEP(1, 4)
static ME(sweep_fn) *const ME(sweeps)[SWEEP_MR + 1][2] = {EACH_SWEEP_HEIGHT(SWEEP_ROW)};
#undef SWEEP
#undef SWEEPS
#undef SWEEP_ROW

/* One line of mr channels. */
static void ME(sweep_line)(const mt_sweep *s, int mr, int64_t line, const T *weight, const T *bias, T *out)
{
    const T *source = (const T *)s->source + s->line[line];

    out += s->out_line[line];
    for (int64_t x = 0; x < s->length;) {
        int64_t left = s->length - x;

        if (mr == 1 && left > 2 * LANES) {
            int64_t width = left < 4 * LANES ? left : 4 * LANES;

            if (width > 3 * LANES) {
                ME(sweep_1_4)(s, source + x, weight, bias, out + x, width - 3 * LANES);
                x += width;
                continue;
            }
        }
        if (left > LANES) {
            int64_t width = left < 2 * LANES ? left : 2 * LANES;

            ME(sweeps)[mr][1](s, source + x, weight, bias, out + x, width - LANES);
            x += width;
        } else {
            ME(sweeps)[mr][0](s, source + x, weight, bias, out + x, left);
            x += left;
        }
    }
}

void MT_ISA_NAME(ME(mt_conv_sweep))(const mt_sweep *s)
{
    int64_t count = (s->n_channels + SWEEP_MR - 1) / SWEEP_MR, at = 0;

    for (int64_t p = 0; p < count; p++) {
        int mr = (int)((s->n_channels - at + count - p - 1) / (count - p));
        const T *weight = (const T *)s->weight + at * s->weight_row, *bias = s->bias ? (const T *)s->bias + at : NULL;

        for (int64_t line = 0; line < s->n_lines; line++)
            ME(sweep_line)(s, mr, line, weight, bias, (T *)s->out + at * s->out_channel);
        at += mr;
    }
}

/* --- dot products of planes --- */

double MT_ISA_NAME(ME(mt_conv_dot))(const T *a, const int64_t *line_a, const T *b, const int64_t *line_b,
                                    int64_t n_lines, int64_t length)
{
    double total = 0;

    for (int64_t first = 0; first < n_lines; first += 16) {
        int64_t last = first + 16 < n_lines ? first + 16 : n_lines;
        V sum = {0};

        for (int64_t i = first; i < last; i++) {
            const T *p = a + line_a[i], *q = b + line_b[i];
            int64_t x = 0;

            for (; x + LANES <= length; x += LANES)
                sum = SIMD(fma)(SIMD(load)(p + x), SIMD(load)(q + x), sum);
            if (x < length) {
                MASK mask = SIMD(mask)(length - x);

                sum = SIMD(fma)(SIMD(load_masked)(p + x, mask), SIMD(load_masked)(q + x, mask), sum);
            }
        }
        total += (double)SIMD(sum)(sum);
    }
    return total;
}

#undef NR
#undef SIMD
#undef MASK
#undef ME
