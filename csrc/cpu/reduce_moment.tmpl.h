/* SPDX-License-Identifier: BSD-3-Clause */
/* Class "moment": count, mean and sum of squared deviations in double, blocks merged by Chan's
   formula. Blocks of float are computed in float unless the result is suspicious (squares beyond
   float, or so small that they vanish); then again in double. A complex number counts as two reals
   with their own means and one common sum. Included by loop_reduce.tmpl.h with OP and a dtype in
   scope. */

#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(OP, XS), part)
#define STATE SYMBOL(_state)
#define MOMENT_COLUMNS 256
#define PARTS (IS_COMPLEX ? 2 : 1)

#define NAME(part) MT_JOIN(SYMBOL(_fine), part)
#define LANE_TYPE double
#include "cpu/reduce_spread.tmpl.h"
#undef NAME
#undef LANE_TYPE
#if BITS == 32
#define NAME(part) MT_JOIN(SYMBOL(_fast), part)
#define LANE_TYPE float
#include "cpu/reduce_spread.tmpl.h"
#undef NAME
#undef LANE_TYPE
#endif

typedef struct STATE {
    double n, m2, mean[1 + IS_COMPLEX];
} STATE;

static void SYMBOL(_init)(char *state, int64_t n_out, const void *params)
{
    (void)params;
    memset(state, 0, (size_t)n_out * sizeof(STATE));
}

static inline bool SYMBOL(_suspicious)(double m2)
{
    return !(m2 < 1e37) || m2 < 1e-25;
}

MT_ONE_COPY static void SYMBOL(_row_spread)(double *mean, double *m2, const REAL *x, int n)
{
#if BITS == 32
    SYMBOL(_fast_row)(mean, m2, x, n);
    if (!SYMBOL(_suspicious)(*m2))
        return;
#endif
    SYMBOL(_fine_row)(mean, m2, x, n);
}

MT_ONE_COPY static void SYMBOL(_column_spread)(double *mean, double *m2, const char *in, int64_t in_stride, int rows,
                                               int width)
{
#if BITS == 32
    bool again = false;

    SYMBOL(_fast_columns)(mean, m2, in, in_stride, rows, width);
    for (int j = 0; j < width; j++)
        again = again || SYMBOL(_suspicious)(m2[j]);
    if (!again)
        return;
#endif
    SYMBOL(_fine_columns)(mean, m2, in, in_stride, rows, width);
}

/* n values of mean `mean` (of each part) and common sum m2 join the state. */
static inline void SYMBOL(_add_block)(STATE *s, double n, const double *mean, double m2)
{
    double total = s->n + n;

    if (n == 0)
        return;
    for (int part = 0; part < PARTS; part++) {
        double delta = mean[part] - s->mean[part];

        if (s->n == 0) {
            s->mean[part] = mean[part];
        } else {
            s->mean[part] += delta * (n / total);
            m2 += delta * delta * (s->n * (n / total));
        }
    }
    s->m2 += m2;
    s->n = total;
}

/* At most REDUCE_BLOCK elements. */
MT_ONE_COPY static void SYMBOL(_block)(STATE *s, const X *in, int n)
{
    double mean[PARTS], m2;
#if IS_COMPLEX
    MT_ALIGNED(64) REAL part[2][REDUCE_BLOCK];
    double other;

    part[0][0] = part[1][0] = 0;
    for (int i = 0; i < n; i++) {
        part[0][i] = in[i].re;
        part[1][i] = in[i].im;
    }
    SYMBOL(_row_spread)(&mean[0], &m2, part[0], n);
    SYMBOL(_row_spread)(&mean[1], &other, part[1], n);
    m2 += other;
#elif IS_HALF
    MT_ALIGNED(64) REAL x[REDUCE_BLOCK];

    x[0] = 0;
    LOAD_MANY(x, in, n);
    SYMBOL(_row_spread)(mean, &m2, x, n);
#else
    SYMBOL(_row_spread)(mean, &m2, in, n);
#endif
    SYMBOL(_add_block)(s, n, mean, m2);
}

MT_ONE_COPY static void SYMBOL(_columns)(STATE *state, const char *in, int64_t n_out, int64_t n_in, int64_t in_stride)
{
    const int64_t chunk = MOMENT_COLUMNS / PARTS;
    double mean[MOMENT_COLUMNS], m2[MOMENT_COLUMNS];

    for (int64_t c = 0; c < n_out; c += chunk) {
        int width = (int)(n_out - c < chunk ? n_out - c : chunk);

        for (int64_t r = 0; r < n_in; r += REDUCE_ROWS) {
            int rows = n_in - r < REDUCE_ROWS ? (int)(n_in - r) : REDUCE_ROWS;
            const char *block = in + r * in_stride + c * (int64_t)sizeof(X);
#if IS_HALF
            MT_ALIGNED(64) REAL x[REDUCE_ROWS][MOMENT_COLUMNS];

            for (int k = 0; k < rows; k++)
                LOAD_MANY(x[k], (const X *)(const void *)(block + k * in_stride), width);
            SYMBOL(_column_spread)(mean, m2, (const char *)x, sizeof x[0], rows, width);
#else
            SYMBOL(_column_spread)(mean, m2, block, in_stride, rows, width * PARTS);
#endif
            for (int j = 0; j < width; j++)
                SYMBOL(_add_block)(state + c + j, rows, mean + j * PARTS,
                                   m2[j * PARTS] + (IS_COMPLEX ? m2[j * PARTS + PARTS - 1] : 0.0));
        }
    }
}

/* Short rows: 64 at a time become columns. */
MT_UNUSED MT_ONE_COPY static void SYMBOL(_short_rows)(STATE *s, const char *in, int64_t n_out, int64_t out_stride,
                                                      int64_t n_in)
{
    MT_ALIGNED(64) X tile[REDUCE_SHORT_ROW(sizeof(X)) * 64];

    for (int64_t k = 0; k < n_out; k += 64) {
        int64_t width = n_out - k < 64 ? n_out - k : 64;

        mt_cpu_transpose_small((char *)tile, 64 * (int64_t)sizeof(X), in + k * out_stride, out_stride, n_in, width,
                               sizeof(X));
        SYMBOL(_columns)(s + k, (const char *)tile, width, n_in, 64 * (int64_t)sizeof(X));
    }
}

static void SYMBOL(_step)(char *state, const char *in, int64_t n_out, int64_t out_stride, int64_t n_in,
                          int64_t in_stride, int64_t first, const void *params)
{
    MT_ALIGNED(64) X buffer[REDUCE_BLOCK];
    STATE *s = (STATE *)(void *)state;
    const bool is_dense = in_stride == (int64_t)sizeof(X);

    (void)first, (void)params;
    if (n_out > 1 && out_stride == (int64_t)sizeof(X) && (!is_dense || n_in == 1)) {
        SYMBOL(_columns)(s, in, n_out, n_in, in_stride);
        return;
    }
    if (is_dense && n_in > 0 && n_in <= REDUCE_SHORT_ROW(sizeof(X)) && n_out >= 8) {
        SYMBOL(_short_rows)(s, in, n_out, out_stride, n_in);
        return;
    }
    for (int64_t k = 0; k < n_out; k++)
        for (int64_t i = 0; i < n_in; i += REDUCE_BLOCK) {
            int m = n_in - i < REDUCE_BLOCK ? (int)(n_in - i) : REDUCE_BLOCK;
            const char *row = in + k * out_stride + i * in_stride;
            const X *x = (const X *)(const void *)row;

            if (!is_dense) {
                mt_cpu_collect((char *)buffer, row, in_stride, m, sizeof(X));
                x = buffer;
            }
            SYMBOL(_block)(s + k, x, m);
        }
}

static void SYMBOL(_merge)(char *state, const char *other, int64_t n_out, const void *params)
{
    STATE *s = (STATE *)(void *)state;
    const STATE *o = (const STATE *)(const void *)other;

    (void)params;
    for (int64_t k = 0; k < n_out; k++)
        SYMBOL(_add_block)(s + k, o[k].n, o[k].mean, o[k].m2);
}

/* Variance with a correction beyond the count divides by zero, as PyTorch does. */
static void SYMBOL(_finish)(char *const *out, const int64_t *out_stride, const char *state, int64_t n_out,
                            int64_t count, const void *params)
{
    const STATE *s = (const STATE *)(const void *)state;
    double divisor = (double)count - ((const double *)params)[0];

    divisor = divisor > 0 ? divisor : 0;
    for (int64_t k = 0; k < n_out; k++) {
        double value = s[k].m2 / divisor;

#if MT_JOIN(MT_REDUCE_ROOT_, OP)
        value = sqrt(value);
#endif
#if IS_COMPLEX
        *(REAL *)(void *)(out[0] + k * out_stride[0]) = (REAL)value;
#else
        *(X *)(void *)(out[0] + k * out_stride[0]) = STORE_ONE((REAL)value);
#endif
#if MT_JOIN(MT_REDUCE_MEAN_, OP)
        {
            double mean = count > 0 ? s[k].mean[0] : (double)MT_NAN;
#if IS_COMPLEX
            *(X *)(void *)(out[1] + k * out_stride[1]) =
                FN(make)((REAL)mean, (REAL)(count > 0 ? s[k].mean[1] : (double)MT_NAN));
#else
            *(X *)(void *)(out[1] + k * out_stride[1]) = STORE_ONE((REAL)mean);
#endif
        }
#endif
    }
}

static const mt_reduce_loops MT_LOOP_SYMBOL(OP, XS) = {SYMBOL(_init), SYMBOL(_step), SYMBOL(_merge), SYMBOL(_finish),
                                                       sizeof(STATE)};

#undef SYMBOL
#undef STATE
#undef MOMENT_COLUMNS
#undef PARTS
