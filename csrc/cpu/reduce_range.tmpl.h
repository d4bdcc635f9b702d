/* SPDX-License-Identifier: BSD-3-Clause */
/* Class "range": minimum and maximum together. State: a pair. The two folds run over the same block
   while it is in the first-level cache. Included by loop_reduce.tmpl.h with OP and a dtype in
   scope. */

#define FOLD_OP amin
#define FOLD_STEM range_low
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM
#define FOLD_OP amax
#define FOLD_STEM range_high
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM

#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(OP, XS), part)
#define PART(stem, part) MT_JOIN(MT_LOOP_SYMBOL(stem, XS), part)
#define STATE SYMBOL(_state)
#define RANGE_COLUMNS 512

typedef struct STATE {
    T low, high;
} STATE;

static void SYMBOL(_init)(char *state, int64_t n_out, const void *params)
{
    STATE *s = (STATE *)(void *)state;

    (void)params;
    for (int64_t k = 0; k < n_out; k++) {
        s[k].low = FN(least_start)();
        s[k].high = FN(greatest_start)();
    }
}

static inline void SYMBOL(_widen)(STATE *s, T low, T high)
{
    s->low = FN(least_join)(s->low, low);
    s->high = FN(greatest_join)(s->high, high);
}

MT_ONE_COPY static void SYMBOL(_columns)(STATE *state, const char *in, int64_t n_out, int64_t n_in, int64_t in_stride)
{
    T low[RANGE_COLUMNS], high[RANGE_COLUMNS];

    for (int64_t c = 0; c < n_out; c += RANGE_COLUMNS) {
        int64_t width = n_out - c < RANGE_COLUMNS ? n_out - c : RANGE_COLUMNS;

        for (int64_t r = 0; r < n_in; r += REDUCE_ROWS) {
            int64_t rows = n_in - r < REDUCE_ROWS ? n_in - r : REDUCE_ROWS;
            const char *block = in + r * in_stride + c * (int64_t)sizeof(X);

            for (int64_t j = 0; j < width; j++) {
                low[j] = FN(least_start)();
                high[j] = FN(greatest_start)();
            }
            PART(range_low, _columns)(low, block, width, rows, in_stride, NULL);
            PART(range_high, _columns)(high, block, width, rows, in_stride, NULL);
            for (int64_t j = 0; j < width; j++)
                SYMBOL(_widen)(state + c + j, low[j], high[j]);
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
            SYMBOL(_widen)(s + k, PART(range_low, _block)(x, m, NULL), PART(range_high, _block)(x, m, NULL));
        }
}

static void SYMBOL(_merge)(char *state, const char *other, int64_t n_out, const void *params)
{
    STATE *s = (STATE *)(void *)state;
    const STATE *o = (const STATE *)(const void *)other;

    (void)params;
    for (int64_t k = 0; k < n_out; k++)
        SYMBOL(_widen)(s + k, o[k].low, o[k].high);
}

static void SYMBOL(_finish)(char *const *out, const int64_t *out_stride, const char *state, int64_t n_out,
                            int64_t count, const void *params)
{
    const STATE *s = (const STATE *)(const void *)state;

    (void)count, (void)params;
    for (int64_t k = 0; k < n_out; k++) {
        *(X *)(void *)(out[0] + k * out_stride[0]) = STORE_ONE(s[k].low);
        *(X *)(void *)(out[1] + k * out_stride[1]) = STORE_ONE(s[k].high);
    }
}

static const mt_reduce_loops MT_LOOP_SYMBOL(OP, XS) = {SYMBOL(_init), SYMBOL(_step), SYMBOL(_merge), SYMBOL(_finish),
                                                       sizeof(STATE)};

#undef SYMBOL
#undef PART
#undef STATE
#undef RANGE_COLUMNS
