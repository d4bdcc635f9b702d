/* SPDX-License-Identifier: BSD-3-Clause */
/* The two kernels of a fold, and the step made of them. Included by the class templates with
   FOLD_OP (map and monoid) and FOLD_STEM (prefix of the symbols). Order of the additions, the same
   on every ISA level: a row is cut into blocks of REDUCE_BLOCK elements, element i of a block goes
   to lane i mod LANES, lanes are joined by halves, blocks are merged in the wide type (halving long
   rows). Columns go by blocks of REDUCE_ROWS rows, four rows at a time. */

#define MONOID MT_JOIN(MT_REDUCE_MONOID_, FOLD_OP)
#define OF_MONOID(part) MT_FORMULA(MT_JOIN(MONOID, part), S)
#define LANE_TYPE OF_MONOID(_lane)
#define WIDE_TYPE OF_MONOID(_wide)
#define START OF_MONOID(_start)
#define JOIN OF_MONOID(_join)
#define WIDEN OF_MONOID(_widen)
#define MERGE OF_MONOID(_merge)
#define MAP MT_FORMULA(MT_JOIN(FOLD_OP, _map), S)
#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(FOLD_STEM, XS), part)
#define LANES (256 / (int)sizeof(LANE_TYPE) > 128 ? 128 : 256 / (int)sizeof(LANE_TYPE))
#define COLUMNS (4096 / (int)sizeof(LANE_TYPE) > 1024 ? 1024 : 4096 / (int)sizeof(LANE_TYPE))
#define IS_RISKY (MT_JOIN(MT_REDUCE_RISKY_, FOLD_OP) && BITS == 32)

/* bool elements are made 0 or 1 and bfloat16 is shifted on the way; float16 is converted before, so
   that all that follows is the code of float and exists once. */
#ifdef LOAD_CHUNK
#define ELEMENT T
#define VALUE(element) (element)
#else
#define ELEMENT X
#define VALUE(element) LOAD(element)
#endif

/* At most REDUCE_BLOCK elements. */
MT_ONE_COPY static WIDE_TYPE SYMBOL(_lanes)(const ELEMENT *x, int n, const double *params)
{
    MT_ALIGNED(64) LANE_TYPE acc[LANES];
    int i = 0;

    (void)params;
    if (n < 8) {
        LANE_TYPE few = START();

        for (; i < n; i++)
            few = JOIN(few, MAP(VALUE(x[i]), params));
        return WIDEN(few);
    }
    for (int j = 0; j < LANES; j++)
        acc[j] = START();
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < LANES; j++)
            acc[j] = JOIN(acc[j], MAP(VALUE(x[i + j]), params));
    if (i < n) { /* the rest, in as many lanes */
        ELEMENT rest[LANES] = {0};

        memcpy(rest, x + i, (size_t)(n - i) * sizeof *x);
        for (int j = 0; j < LANES; j++)
            acc[j] = JOIN(acc[j], j < n - i ? MAP(VALUE(rest[j]), params) : START());
    }
    REDUCE_LANES(acc, LANES, JOIN);
#if IS_RISKY
    if (!(acc[0] < 1e37f) || acc[0] < 1e-25f) { /* squares beyond float, NaN, or all zero */
        double sum = 0.0;

        for (i = 0; i < n; i++)
            sum += MT_FORMULA(MT_JOIN(FOLD_OP, _map_wide), S)(VALUE(x[i]), params);
        return sum;
    }
#endif
    return WIDEN(acc[0]);
}

static inline WIDE_TYPE SYMBOL(_block)(const X *in, int n, const double *params)
{
#ifdef LOAD_CHUNK
    MT_ALIGNED(64) T x[REDUCE_BLOCK];

    x[0] = 0;
    LOAD_MANY(x, in, n);
    return SYMBOL(_lanes)(x, n, params);
#else
    return SYMBOL(_lanes)(in, n, params);
#endif
}

MT_UNUSED MT_ONE_COPY static WIDE_TYPE SYMBOL(_row)(const X *in, int64_t n, const double *params)
{
    WIDE_TYPE total;

    if (n <= REDUCE_BLOCK)
        return SYMBOL(_block)(in, (int)n, params);
    if (n > 64 * REDUCE_BLOCK) {
        int64_t half = n / 2 / REDUCE_BLOCK * REDUCE_BLOCK;

        return MERGE(SYMBOL(_row)(in, half, params), SYMBOL(_row)(in + half, n - half, params));
    }
    total = SYMBOL(_block)(in, REDUCE_BLOCK, params);
    for (int64_t i = REDUCE_BLOCK; i < n; i += REDUCE_BLOCK) {
        int m = n - i < REDUCE_BLOCK ? (int)(n - i) : REDUCE_BLOCK;

        total = MERGE(total, SYMBOL(_block)(in + i, m, params));
    }
    return total;
}

/* `rows` rows, at most REDUCE_ROWS, of `width` columns are joined into acc. */
MT_ONE_COPY static void SYMBOL(_rows_into)(LANE_TYPE *acc, const char *in, int64_t in_stride, int rows, int width,
                                           const double *params)
{
    int r = 0;

    (void)params;
    for (; r + 4 <= rows; r += 4) {
        const ELEMENT *a = (const ELEMENT *)(const void *)(in + r * in_stride);
        const ELEMENT *b = (const ELEMENT *)(const void *)(in + (r + 1) * in_stride);
        const ELEMENT *c = (const ELEMENT *)(const void *)(in + (r + 2) * in_stride);
        const ELEMENT *d = (const ELEMENT *)(const void *)(in + (r + 3) * in_stride);

        MT_IVDEP
        for (int j = 0; j < width; j++) {
            LANE_TYPE sum = JOIN(acc[j], MAP(VALUE(a[j]), params));

            sum = JOIN(sum, MAP(VALUE(b[j]), params));
            sum = JOIN(sum, MAP(VALUE(c[j]), params));
            acc[j] = JOIN(sum, MAP(VALUE(d[j]), params));
        }
    }
    for (; r < rows; r++) {
        const ELEMENT *x = (const ELEMENT *)(const void *)(in + r * in_stride);

        MT_IVDEP
        for (int j = 0; j < width; j++)
            acc[j] = JOIN(acc[j], MAP(VALUE(x[j]), params));
    }
}

/* The same, joined into the states. Rows are elements of T for float16. */
MT_ONE_COPY static void SYMBOL(_rows_merge)(WIDE_TYPE *s, const char *in, int64_t in_stride, int rows, int width,
                                            const double *params)
{
    MT_ALIGNED(64) LANE_TYPE acc[COLUMNS];
#if IS_RISKY
    int suspicious = 0;
#endif

    for (int j = 0; j < width; j++)
        acc[j] = START();
    SYMBOL(_rows_into)(acc, in, in_stride, rows, width, params);
#if IS_RISKY
    for (int j = 0; j < width; j++)
        suspicious |= !(acc[j] < 1e37f) | (acc[j] < 1e-25f);
    for (int k = 0; suspicious && k < rows; k++) {
        const ELEMENT *x = (const ELEMENT *)(const void *)(in + k * in_stride);

        for (int j = 0; j < width; j++)
            s[j] += MT_FORMULA(MT_JOIN(FOLD_OP, _map_wide), S)(VALUE(x[j]), params);
    }
    if (suspicious)
        return;
#endif
    MT_IVDEP
    for (int j = 0; j < width; j++)
        s[j] = MERGE(s[j], WIDEN(acc[j]));
}

static void SYMBOL(_columns)(WIDE_TYPE *state, const char *in, int64_t n_out, int64_t n_in, int64_t in_stride,
                             const double *params)
{
#ifdef LOAD_CHUNK
    const int64_t chunk = 128;
#else
    const int64_t chunk = COLUMNS;
#endif

    for (int64_t c = 0; c < n_out; c += chunk) {
        int width = n_out - c < chunk ? (int)(n_out - c) : (int)chunk;

        for (int64_t r = 0; r < n_in; r += REDUCE_ROWS) {
            int rows = n_in - r < REDUCE_ROWS ? (int)(n_in - r) : REDUCE_ROWS;
            const char *block = in + r * in_stride + c * (int64_t)sizeof(X);

#ifdef LOAD_CHUNK
            MT_ALIGNED(64) T x[REDUCE_ROWS][128];

            for (int k = 0; k < rows; k++)
                LOAD_MANY(x[k], (const X *)(const void *)(block + k * in_stride), width);
            SYMBOL(_rows_merge)(state + c, (const char *)x, sizeof x[0], rows, width, params);
#else
            SYMBOL(_rows_merge)(state + c, block, in_stride, rows, width, params);
#endif
        }
    }
}

/* Short rows: 64 at a time become columns. */
MT_UNUSED MT_ONE_COPY static void SYMBOL(_short_rows)(WIDE_TYPE *s, const char *in, int64_t n_out, int64_t out_stride,
                                                      int64_t n_in, const double *params)
{
    MT_ALIGNED(64) X tile[REDUCE_SHORT_ROW(sizeof(X)) * 64];

    for (int64_t k = 0; k < n_out; k += 64) {
        int64_t width = n_out - k < 64 ? n_out - k : 64;

        mt_cpu_transpose_small((char *)tile, 64 * (int64_t)sizeof(X), in + k * out_stride, out_stride, n_in, width,
                               sizeof(X));
        SYMBOL(_columns)(s + k, (const char *)tile, width, n_in, 64 * (int64_t)sizeof(X), params);
    }
}

MT_UNUSED static void SYMBOL(_step)(char *state, const char *in, int64_t n_out, int64_t out_stride, int64_t n_in,
                                    int64_t in_stride, int64_t first, const void *params)
{
    MT_ALIGNED(64) X buffer[REDUCE_BLOCK];
    WIDE_TYPE *s = (WIDE_TYPE *)(void *)state;
    const bool is_dense = in_stride == (int64_t)sizeof(X);

    (void)first;
    if (n_out > 1 && out_stride == (int64_t)sizeof(X) && (!is_dense || n_in == 1)) {
        SYMBOL(_columns)(s, in, n_out, n_in, in_stride, params);
        return;
    }
    if (is_dense && n_in <= REDUCE_SHORT_ROW(sizeof(X)) && n_out >= 8) {
        SYMBOL(_short_rows)(s, in, n_out, out_stride, n_in, params);
        return;
    }
    for (int64_t k = 0; k < n_out; k++) {
        const char *row = in + k * out_stride;

        if (is_dense) {
            s[k] = MERGE(s[k], SYMBOL(_row)((const X *)(const void *)row, n_in, params));
            continue;
        }
        for (int64_t i = 0; i < n_in; i += REDUCE_BLOCK) {
            int m = n_in - i < REDUCE_BLOCK ? (int)(n_in - i) : REDUCE_BLOCK;

            mt_cpu_collect((char *)buffer, row + i * in_stride, in_stride, m, sizeof(X));
            s[k] = MERGE(s[k], SYMBOL(_block)(buffer, m, params));
        }
    }
}

#undef MONOID
#undef OF_MONOID
#undef LANE_TYPE
#undef WIDE_TYPE
#undef START
#undef JOIN
#undef WIDEN
#undef MERGE
#undef MAP
#undef SYMBOL
#undef LANES
#undef COLUMNS
#undef IS_RISKY
#undef ELEMENT
#undef VALUE
