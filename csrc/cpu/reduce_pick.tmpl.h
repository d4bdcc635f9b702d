/* SPDX-License-Identifier: BSD-3-Clause */
/* Class "pick": the extreme value and the index of its first occurrence; NaN is the extreme of all.
   A row block is reduced to its extreme by the lanes of a fold; only when that displaces the
   present value is the block searched for it. Columns carry values and row numbers side by side.
   Included by loop_reduce.tmpl.h with OP and a dtype in scope. */

#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(OP, XS), part)
#define BEATS MT_FORMULA(MT_JOIN(MT_REDUCE_BEATS_, OP), S)
#define EXTREME(part) MT_FORMULA(MT_JOIN(MT_JOIN(MT_REDUCE_EXTREME_, OP), part), S)
#define STATE SYMBOL(_state)
#define PICK_LANES (256 / (int)sizeof(T) > 128 ? 128 : 256 / (int)sizeof(T))
#define PICK_COLUMNS 512
/* Half formats are converted before, so that the rest is the code of float. */
#if IS_HALF
#define ELEMENT T
#define VALUE(element) (element)
#else
#define ELEMENT X
#define VALUE(element) LOAD(element)
#endif
/* Row numbers as wide as the values, so that loops stay in step. */
#if BITS == 64
#define ROW_NUMBER int64_t
#else
#define ROW_NUMBER int32_t
#endif

typedef struct STATE {
    T value;
    int64_t index; /* -1: nothing yet */
} STATE;

static void SYMBOL(_init)(char *state, int64_t n_out, const void *params)
{
    STATE *s = (STATE *)(void *)state;

    (void)params;
    for (int64_t k = 0; k < n_out; k++) {
        s[k].value = 0;
        s[k].index = -1;
    }
}

static inline void SYMBOL(_offer)(STATE *s, T value, int64_t index)
{
    if (s->index < 0 || BEATS(value, s->value)) {
        s->value = value;
        s->index = index;
    }
}

/* The place of the first element equal to `wanted` (NaN: the first NaN), which is there. */
MT_ONE_COPY static int SYMBOL(_find)(const T *x, int n, T wanted)
{
    int i = 0;

    for (; i + 64 <= n; i += 64) {
        int found = 0;

        for (int j = 0; j < 64; j++)
            found |= (x[i + j] == wanted) | ISNAN(x[i + j]);
        if (found)
            break;
    }
    if (ISNAN(wanted))
        for (; i < n - 1 && !ISNAN(x[i]); i++)
            ;
    else
        for (; i < n - 1 && x[i] != wanted; i++)
            ;
    return i;
}

MT_ONE_COPY static T SYMBOL(_extreme)(const T *x, int n)
{
    MT_ALIGNED(64) T acc[PICK_LANES];
    int i = 0;

    for (int j = 0; j < PICK_LANES; j++)
        acc[j] = EXTREME(_start)();
    for (; i + PICK_LANES <= n; i += PICK_LANES)
        for (int j = 0; j < PICK_LANES; j++)
            acc[j] = EXTREME(_join)(acc[j], x[i + j]);
    if (i < n) { /* the rest, in as many lanes */
        T rest[PICK_LANES];

        for (int j = 0; j < PICK_LANES; j++)
            rest[j] = EXTREME(_start)();
        memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
        for (int j = 0; j < PICK_LANES; j++)
            acc[j] = EXTREME(_join)(acc[j], rest[j]);
    }
    REDUCE_LANES(acc, PICK_LANES, EXTREME(_join));
    return acc[0];
}

/* At most REDUCE_BLOCK elements. */
static void SYMBOL(_block)(STATE *s, const X *in, int n, int64_t first)
{
    T value;
#if IS_HALF || IS_BOOL
    MT_ALIGNED(64) T x[REDUCE_BLOCK];
#else
    const T *x = in;
#endif

    if (n < 8) {
        for (int i = 0; i < n; i++)
            SYMBOL(_offer)(s, LOAD(in[i]), first + i);
        return;
    }
#if IS_HALF
    x[0] = 0;
    LOAD_MANY(x, in, n);
#elif IS_BOOL
    for (int j = 0; j < n; j++)
        x[j] = LOAD(in[j]);
#endif
    value = SYMBOL(_extreme)(x, n);
    if (s->index < 0 || BEATS(value, s->value)) {
        s->value = value;
        s->index = first + SYMBOL(_find)(x, n, value);
    }
}

/* Row number k is compared with the best so far. */
MT_ONE_COPY static void SYMBOL(_compare_row)(T *best, ROW_NUMBER *at, const ELEMENT *x, int width, ROW_NUMBER k)
{
    MT_IVDEP
    for (int j = 0; j < width; j++) {
        T value = VALUE(x[j]);
        bool wins = BEATS(value, best[j]);

        best[j] = wins ? value : best[j];
        at[j] = wins ? k : at[j];
    }
}

static void SYMBOL(_columns)(STATE *state, const char *in, int64_t n_out, int64_t n_in, int64_t in_stride,
                             int64_t first)
{
    MT_ALIGNED(64) T best[PICK_COLUMNS];
    MT_ALIGNED(64) ROW_NUMBER at[PICK_COLUMNS];
#if IS_HALF
    MT_ALIGNED(64) T x[PICK_COLUMNS];
#endif

    for (int64_t c = 0; c < n_out; c += PICK_COLUMNS) {
        int width = n_out - c < PICK_COLUMNS ? (int)(n_out - c) : PICK_COLUMNS;

        for (int64_t r = 0; r < n_in; r += INT32_MAX / 2) {
            ROW_NUMBER rows = (ROW_NUMBER)(n_in - r < INT32_MAX / 2 ? n_in - r : INT32_MAX / 2);

            for (int j = 0; j < width; j++) {
                best[j] = EXTREME(_start)();
                at[j] = 0;
            }
            for (ROW_NUMBER k = 0; k < rows; k++) {
                const X *row = (const X *)(const void *)(in + (r + k) * in_stride) + c;

#if IS_HALF
                LOAD_MANY(x, row, width);
                SYMBOL(_compare_row)(best, at, x, width, k);
#else
                SYMBOL(_compare_row)(best, at, row, width, k);
#endif
            }
            for (int j = 0; j < width; j++)
                SYMBOL(_offer)(state + c + j, best[j], first + r + at[j]);
        }
    }
}

/* Short rows: 64 at a time become columns. */
MT_UNUSED MT_ONE_COPY static void SYMBOL(_short_rows)(STATE *s, const char *in, int64_t n_out, int64_t out_stride,
                                                      int64_t n_in, int64_t first)
{
    MT_ALIGNED(64) X tile[REDUCE_SHORT_ROW(sizeof(X)) * 64];

    for (int64_t k = 0; k < n_out; k += 64) {
        int64_t width = n_out - k < 64 ? n_out - k : 64;

        mt_cpu_transpose_small((char *)tile, 64 * (int64_t)sizeof(X), in + k * out_stride, out_stride, n_in, width,
                               sizeof(X));
        SYMBOL(_columns)(s + k, (const char *)tile, width, n_in, 64 * (int64_t)sizeof(X), first);
    }
}

static void SYMBOL(_step)(char *state, const char *in, int64_t n_out, int64_t out_stride, int64_t n_in,
                          int64_t in_stride, int64_t first, const void *params)
{
    MT_ALIGNED(64) X buffer[REDUCE_BLOCK];
    STATE *s = (STATE *)(void *)state;
    const bool is_dense = in_stride == (int64_t)sizeof(X);

    (void)params;
    if (n_out > 1 && n_in > 0 && out_stride == (int64_t)sizeof(X) && (!is_dense || n_in == 1)) {
        SYMBOL(_columns)(s, in, n_out, n_in, in_stride, first);
        return;
    }
    if (is_dense && n_in > 0 && n_in <= REDUCE_SHORT_ROW(sizeof(X)) && n_out >= 8) {
        SYMBOL(_short_rows)(s, in, n_out, out_stride, n_in, first);
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
            SYMBOL(_block)(s + k, x, m, first + i);
        }
}

/* `other` saw later elements, so it has to win. */
static void SYMBOL(_merge)(char *state, const char *other, int64_t n_out, const void *params)
{
    STATE *s = (STATE *)(void *)state;
    const STATE *o = (const STATE *)(const void *)other;

    (void)params;
    for (int64_t k = 0; k < n_out; k++)
        if (o[k].index >= 0)
            SYMBOL(_offer)(s + k, o[k].value, o[k].index);
}

static void SYMBOL(_finish)(char *const *out, const int64_t *out_stride, const char *state, int64_t n_out,
                            int64_t count, const void *params)
{
    const STATE *s = (const STATE *)(const void *)state;

    (void)count, (void)params;
    for (int64_t k = 0; k < n_out; k++) {
#if MT_JOIN(MT_REDUCE_VALUE_, OP)
        *(X *)(void *)(out[0] + k * out_stride[0]) = STORE_ONE(s[k].value);
        *(int64_t *)(void *)(out[1] + k * out_stride[1]) = s[k].index;
#else
        *(int64_t *)(void *)(out[0] + k * out_stride[0]) = s[k].index;
#endif
    }
}

static const mt_reduce_loops MT_LOOP_SYMBOL(OP, XS) = {SYMBOL(_init), SYMBOL(_step), SYMBOL(_merge), SYMBOL(_finish),
                                                       sizeof(STATE)};

#undef SYMBOL
#undef BEATS
#undef EXTREME
#undef STATE
#undef PICK_LANES
#undef PICK_COLUMNS
#undef ELEMENT
#undef VALUE
#undef ROW_NUMBER
