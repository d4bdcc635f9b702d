/* SPDX-License-Identifier: BSD-3-Clause */
/* Class "logsum": the maximum and the sum of exp(x - maximum), rescaled when the maximum grows. An
   infinite or NaN maximum is the result itself, so nothing is summed below it. Included by
   loop_reduce.tmpl.h with OP and a float dtype in scope. */

#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(OP, XS), part)
#define STATE SYMBOL(_state)
#define LOGSUM_LANES (256 / (int)sizeof(T))
#define LOGSUM_COLUMNS 64

typedef struct STATE {
    double sum;
    T top;
} STATE;

static void SYMBOL(_init)(char *state, int64_t n_out, const void *params)
{
    STATE *s = (STATE *)(void *)state;

    (void)params;
    for (int64_t k = 0; k < n_out; k++) {
        s[k].sum = 0.0;
        s[k].top = -(T)MT_INF;
    }
}

/* Raises the maximum to join(top, candidate); true when terms below it count. */
static inline bool SYMBOL(_raise)(STATE *s, T candidate)
{
    T top = FN(greatest_join)(s->top, candidate);
    bool counts = LIBM(fabs)(top) < (T)MT_INF;

    if (counts && top > s->top)
        s->sum *= exp((double)s->top - (double)top);
    s->top = top;
    return counts;
}

/* At most REDUCE_BLOCK elements. */
MT_ONE_COPY static void SYMBOL(_block)(STATE *s, const T *x, int n)
{
    MT_ALIGNED(64) T acc[LOGSUM_LANES], rest[LOGSUM_LANES];
    T top;
    int i = 0;

    for (int j = 0; j < LOGSUM_LANES; j++)
        acc[j] = -(T)MT_INF;
    for (; i + LOGSUM_LANES <= n; i += LOGSUM_LANES)
        for (int j = 0; j < LOGSUM_LANES; j++)
            acc[j] = FN(greatest_join)(acc[j], x[i + j]);
    for (int j = 0; j < LOGSUM_LANES; j++)
        rest[j] = -(T)MT_INF;
    memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
    for (int j = 0; j < LOGSUM_LANES; j++)
        acc[j] = FN(greatest_join)(acc[j], rest[j]);
    REDUCE_LANES(acc, LOGSUM_LANES, FN(greatest_join));
    if (!SYMBOL(_raise)(s, acc[0]))
        return;
    top = s->top;
    for (int j = 0; j < LOGSUM_LANES; j++)
        acc[j] = 0;
    for (i = 0; i + LOGSUM_LANES <= n; i += LOGSUM_LANES)
        for (int j = 0; j < LOGSUM_LANES; j++)
            acc[j] += FN(exp_down)(x[i + j] - top);
    for (int j = 0; j < LOGSUM_LANES; j++)
        acc[j] += FN(exp_down)(rest[j] - top); /* the padding adds 0 */
    REDUCE_LANES(acc, LOGSUM_LANES, REDUCE_PLUS);
    s->sum += (double)acc[0];
}

MT_ONE_COPY static void SYMBOL(_top_of_rows)(T *top, const T *x, int64_t pitch, int rows, int width)
{
    for (int j = 0; j < width; j++)
        top[j] = -(T)MT_INF;
    for (int k = 0; k < rows; k++) {
        MT_IVDEP
        for (int j = 0; j < width; j++)
            top[j] = FN(greatest_join)(top[j], x[k * pitch + j]);
    }
}

MT_ONE_COPY static void SYMBOL(_sum_of_rows)(T *sum, const T *top, const T *x, int64_t pitch, int rows, int width)
{
    for (int j = 0; j < width; j++)
        sum[j] = 0;
    for (int k = 0; k < rows; k++) {
        MT_IVDEP
        for (int j = 0; j < width; j++)
            sum[j] += FN(exp_down)(x[k * pitch + j] - top[j]);
    }
}

static void SYMBOL(_columns)(STATE *state, const char *in, int64_t n_out, int64_t n_in, int64_t in_stride)
{
    MT_ALIGNED(64) T top[LOGSUM_COLUMNS], sum[LOGSUM_COLUMNS], x[REDUCE_ROWS][LOGSUM_COLUMNS];

    for (int64_t c = 0; c < n_out; c += LOGSUM_COLUMNS) {
        int width = n_out - c < LOGSUM_COLUMNS ? (int)(n_out - c) : LOGSUM_COLUMNS;

        for (int64_t r = 0; r < n_in; r += REDUCE_ROWS) {
            int rows = n_in - r < REDUCE_ROWS ? (int)(n_in - r) : REDUCE_ROWS;

            for (int k = 0; k < rows; k++) {
                const X *row = (const X *)(const void *)(in + (r + k) * in_stride) + c;

#if IS_HALF
                LOAD_MANY(x[k], row, width);
#else
                memcpy(x[k], row, (size_t)width * sizeof *row);
#endif
            }
            SYMBOL(_top_of_rows)(top, x[0], LOGSUM_COLUMNS, rows, width);
            /* a column whose maximum is its result sums something harmless */
            for (int j = 0; j < width; j++)
                top[j] = SYMBOL(_raise)(state + c + j, top[j]) ? state[c + j].top : (T)MT_INF;
            SYMBOL(_sum_of_rows)(sum, top, x[0], LOGSUM_COLUMNS, rows, width);
            for (int j = 0; j < width; j++)
                state[c + j].sum += top[j] < (T)MT_INF ? (double)sum[j] : 0.0;
        }
    }
}

static void SYMBOL(_read)(T *x, const char *row, int64_t stride, int n)
{
#if IS_HALF
    MT_ALIGNED(64) X raw[REDUCE_BLOCK];

    x[0] = 0;
    mt_cpu_collect((char *)raw, row, stride, n, sizeof(X));
    LOAD_MANY(x, raw, n);
#else
    mt_cpu_collect((char *)x, row, stride, n, sizeof(X));
#endif
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
    MT_ALIGNED(64) T buffer[REDUCE_BLOCK];
    STATE *s = (STATE *)(void *)state;

    (void)first, (void)params;
    if (n_out > 1 && out_stride == (int64_t)sizeof(X) && (in_stride != (int64_t)sizeof(X) || n_in == 1)) {
        SYMBOL(_columns)(s, in, n_out, n_in, in_stride);
        return;
    }
    if (in_stride == (int64_t)sizeof(X) && n_in > 0 && n_in <= REDUCE_SHORT_ROW(sizeof(X)) && n_out >= 8) {
        SYMBOL(_short_rows)(s, in, n_out, out_stride, n_in);
        return;
    }
    for (int64_t k = 0; k < n_out; k++)
        for (int64_t i = 0; i < n_in; i += REDUCE_BLOCK) {
            int m = n_in - i < REDUCE_BLOCK ? (int)(n_in - i) : REDUCE_BLOCK;
            const char *row = in + k * out_stride + i * in_stride;

            SYMBOL(_read)(buffer, row, in_stride, m);
            SYMBOL(_block)(s + k, buffer, m);
        }
}

static void SYMBOL(_merge)(char *state, const char *other, int64_t n_out, const void *params)
{
    STATE *s = (STATE *)(void *)state;
    const STATE *o = (const STATE *)(const void *)other;

    (void)params;
    for (int64_t k = 0; k < n_out; k++)
        if (SYMBOL(_raise)(s + k, o[k].top))
            s[k].sum += o[k].sum * exp((double)o[k].top - (double)s[k].top);
}

static void SYMBOL(_finish)(char *const *out, const int64_t *out_stride, const char *state, int64_t n_out,
                            int64_t count, const void *params)
{
    const STATE *s = (const STATE *)(const void *)state;

    (void)count, (void)params;
    for (int64_t k = 0; k < n_out; k++) {
        bool counts = LIBM(fabs)(s[k].top) < (T)MT_INF;
        T value = counts ? (T)((double)s[k].top + log(s[k].sum)) : s[k].top;

        *(X *)(void *)(out[0] + k * out_stride[0]) = STORE_ONE(value);
    }
}

static const mt_reduce_loops MT_LOOP_SYMBOL(OP, XS) = {SYMBOL(_init), SYMBOL(_step), SYMBOL(_merge), SYMBOL(_finish),
                                                       sizeof(STATE)};

#undef SYMBOL
#undef STATE
#undef LOGSUM_LANES
#undef LOGSUM_COLUMNS
