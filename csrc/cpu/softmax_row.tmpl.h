/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of softmax, and of its gradient. The includer defines T, S (suffix), V (vector), WIDTH (its elements), EXP(x) for
   x <= 0 (or NaN), LOG(x). Sums go through LANES partial sums that do not depend on the ISA level: element i of a chunk
   belongs to lane i modulo LANES. */
#define ROW(name) MT_JOIN(MT_JOIN(name, _), S)
#define SIMD(name) MT_JOIN(MT_JOIN(mt_simd_, name), MT_JOIN(_, S))
#define LANES ((int)(128 / sizeof(T)))
#define N_ACC (LANES / WIDTH)
#define CHUNK 512 /* elements that stay in the first cache between two passes */
#define SHORT 16  /* rows up to here are taken together */
#define SMALL 4   /* rows and elements of a small square */

/* Half of the lanes is added to the other half until one is left. */
static inline T ROW(fold)(const V *acc)
{
    T lane[LANES];

    memcpy(lane, acc, sizeof lane);
    MT_UNROLL
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

static inline T ROW(largest)(const T *x, int64_t n)
{
    V acc[N_ACC];
    T best = x[0];
    int64_t i = 0;

    if (n >= LANES) {
        T lane[LANES];

        memcpy(acc, x, sizeof acc);
        for (i = LANES; i + LANES <= n; i += LANES) {
            MT_UNROLL
            for (int v = 0; v < N_ACC; v++)
                acc[v] = SIMD(max)(SIMD(load)(x + i + v * WIDTH), acc[v]);
        }
        memcpy(lane, acc, sizeof lane);
        for (int k = 0; k < LANES; k++)
            best = lane[k] > best ? lane[k] : best;
    }
    for (; i < n; i++)
        best = x[i] > best ? x[i] : best;
    return best;
}

/* The sum of term(i) of n elements, in vectors where there are enough. */
#define SUM_OF(out, n, VECTOR, ELEMENT)        \
    do {                                       \
        V acc[N_ACC] = {{0}};                  \
        int64_t i = 0;                         \
                                               \
        for (; i + LANES <= (n); i += LANES) { \
            MT_UNROLL                          \
            for (int v = 0; v < N_ACC; v++) {  \
                int64_t at = i + v * WIDTH;    \
                                               \
                acc[v] += VECTOR;              \
            }                                  \
        }                                      \
        (out) = i ? ROW(fold)(acc) : 0;        \
        for (; i < (n); i++)                   \
            (out) += ELEMENT;                  \
    } while (0)

static inline void ROW(exponentials)(T *out, const T *x, T top, int64_t n)
{
    MT_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = EXP(x[i] - top);
}

/* Short rows, as many as fit a block: exponentials are taken of all of them at once. */
static void ROW(short_rows)(T *out, const T *x, int64_t n_rows, int64_t n, bool is_log)
{
    T shifted[CHUNK], e[CHUNK];
    int64_t per_block = CHUNK / n;

    for (int64_t row = 0; row < n_rows; row += per_block) {
        int64_t rows = n_rows - row < per_block ? n_rows - row : per_block, total = rows * n;
        int64_t padded = (total + LANES / 2 - 1) / (LANES / 2) * (LANES / 2);

        for (int64_t r = 0; r < rows; r++) {
            const T *from = x + (row + r) * n;
            T *to = shifted + r * n, top = from[0];

            for (int64_t i = 1; i < n; i = one_more(i))
                top = from[i] > top ? from[i] : top;
            for (int64_t i = 0; i < n; i = one_more(i))
                to[i] = from[i] - top;
        }
        for (int64_t i = total; i < padded; i = one_more(i))
            shifted[i] = 0;
        for (int64_t i = 0; i < padded; i += LANES / 2)
            for (int k = 0; k < LANES / 2; k++)
                e[i + k] = EXP(shifted[i + k]);
        for (int64_t r = 0; r < rows; r++) {
            const T *own = e + r * n, *from = shifted + r * n;
            T *to = out + (row + r) * n, sum = own[0];

            for (int64_t i = 1; i < n; i = one_more(i))
                sum += own[i];
            sum = is_log ? LOG(sum) : 1 / sum;
            for (int64_t i = 0; i < n; i = one_more(i))
                to[i] = is_log ? from[i] - sum : own[i] * sum;
        }
    }
}

/* The sum of exponentials is at least 1, so its reciprocal is a normal number. */
static void ROW(long_row)(T *out, const T *x, int64_t n, bool is_log)
{
    T room[CHUNK], top = ROW(largest)(x, n), sum = 0;

    for (int64_t begin = 0; begin < n; begin += CHUNK) {
        int64_t m = n - begin < CHUNK ? n - begin : CHUNK;
        T *e = is_log ? room : out + begin, part;

        ROW(exponentials)(e, x + begin, top, m);
        SUM_OF(part, m, SIMD(load)(e + at), e[i]);
        sum += part;
    }
    if (is_log) {
        sum = LOG(sum);
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] - top - sum;
        return;
    }
    sum = 1 / sum;
    for (int64_t i = 0; i < n; i++)
        out[i] *= sum;
}

/* A few rows of a few elements: column by column, a row per lane, with the sums in the same order. */
static void ROW(small_square)(T *out, const T *x, int64_t n_rows, int64_t n)
{
    T e[SMALL][SMALL], d[SMALL][SMALL], top[SMALL], sum[SMALL];

    for (int64_t c = 0; c < n; c = one_more(c))
        for (int r = 0; r < SMALL; r++)
            d[c][r] = x[(r < n_rows ? r : 0) * n + c];
    for (int r = 0; r < SMALL; r++)
        top[r] = d[0][r];
    for (int64_t c = 1; c < n; c = one_more(c))
        for (int r = 0; r < SMALL; r++)
            top[r] = d[c][r] > top[r] ? d[c][r] : top[r];
    for (int64_t c = 0; c < n; c = one_more(c))
        for (int r = 0; r < SMALL; r++) {
            d[c][r] -= top[r];
            e[c][r] = EXP(d[c][r]);
        }
    for (int r = 0; r < SMALL; r++)
        sum[r] = 0;
    for (int64_t c = 0; c < n; c = one_more(c))
        for (int r = 0; r < SMALL; r++)
            sum[r] += e[c][r];
    for (int r = 0; r < SMALL; r++)
        sum[r] = 1 / sum[r];
    for (int64_t r = 0; r < n_rows; r = one_more(r))
        for (int64_t c = 0; c < n; c = one_more(c))
            out[r * n + c] = e[c][r] * sum[r];
}

void MT_ISA_NAME(ROW(mt_softmax_rows))(T *out, const T *x, int64_t n_rows, int64_t n, bool is_log)
{
    if (n <= SMALL && n_rows <= SMALL && n_rows > 1 && !is_log) {
        ROW(small_square)(out, x, n_rows, n);
        return;
    }
    if (n <= SHORT) {
        ROW(short_rows)(out, x, n_rows, n, is_log);
        return;
    }
    for (int64_t i = 0; i < n_rows; i++) {
        mt_cpu_touch_page((const char *)(x + i * n), n * (int64_t)sizeof(T), false);
        mt_cpu_touch_page((const char *)(out + i * n), n * (int64_t)sizeof(T), true);
        ROW(long_row)(out + i * n, x + i * n, n, is_log);
    }
}

static void ROW(back_row)(T *out, const T *g, const T *y, int64_t n, bool is_log)
{
    T sum;

    if (is_log) {
        SUM_OF(sum, n, SIMD(load)(g + at), g[i]);
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            out[i] = g[i] - EXP(y[i]) * sum; /* y <= 0 */
        return;
    }
    SUM_OF(sum, n, SIMD(load)(g + at) * SIMD(load)(y + at), g[i] * y[i]);
    MT_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = (g[i] - sum) * y[i];
}

void MT_ISA_NAME(ROW(mt_softmax_back_rows))(T *out, const T *g, const T *y, int64_t n_rows, int64_t n, bool is_log)
{
    for (int64_t i = 0; i < n_rows; i++) {
        mt_cpu_touch_page((const char *)(g + i * n), n * (int64_t)sizeof(T), false);
        mt_cpu_touch_page((const char *)(y + i * n), n * (int64_t)sizeof(T), false);
        mt_cpu_touch_page((const char *)(out + i * n), n * (int64_t)sizeof(T), true);
        ROW(back_row)(out + i * n, g + i * n, y + i * n, n, is_log);
    }
}

/* --- attention --- */

/* Rows of queries, `row` elements apart, times scale. */
void MT_ISA_NAME(ROW(mt_attention_queries))(T *to, const T *q, int64_t row, int64_t n_rows, int64_t n, T scale)
{
    for (int64_t r = 0; r < n_rows; r++, q += row, to += n) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            to[i] = q[i] * scale;
    }
}

/* Row r sees the first seen + r keys of n. */
void MT_ISA_NAME(ROW(mt_attention_hide))(T *x, int64_t n_rows, int64_t n, int64_t seen)
{
    for (int64_t r = 0; r < n_rows; r++, x += n)
        for (int64_t c = seen + r; c < n; c++)
            x[c] = (T)-INFINITY;
}

/* Products of each row of the output with its gradient. */
void MT_ISA_NAME(ROW(mt_attention_delta))(T *delta, const T *o, int64_t o_row, const T *g, int64_t g_row,
                                          int64_t n_rows, int64_t n)
{
    for (int64_t r = 0; r < n_rows; r++, o += o_row, g += g_row)
        SUM_OF(delta[r], n, SIMD(load)(o + at) * SIMD(load)(g + at), o[i] * g[i]);
}

/* In place: the weights of a block of attention. A row of -inf has no weights and the logarithm 0. */
void MT_ISA_NAME(ROW(mt_attention_weights))(T *x, int64_t n_rows, int64_t n, T *lse)
{
    for (int64_t r = 0; r < n_rows; r++, x += n) {
        T top = ROW(largest)(x, n), sum;

        if (top == (T)-INFINITY) {
            memset(x, 0, (size_t)n * sizeof(T));
            lse[r] = 0;
            continue;
        }
        ROW(exponentials)(x, x, top, n);
        SUM_OF(sum, n, SIMD(load)(x + at), x[i]);
        lse[r] = top + LOG(sum);
        sum = 1 / sum;
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            x[i] *= sum;
    }
}

/* In place: the same weights from the scores and the logarithms. Rounding may put a score above its logarithm. */
void MT_ISA_NAME(ROW(mt_attention_again))(T *x, int64_t n_rows, int64_t n, const T *lse)
{
    for (int64_t r = 0; r < n_rows; r++, x += n) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++) {
            T d = x[i] - lse[r];

            x[i] = EXP(d > 0 ? 0 : d);
        }
    }
}

/* In place: gradients of the weights become those of the scores. */
void MT_ISA_NAME(ROW(mt_attention_slopes))(T *g, const T *p, int64_t n_rows, int64_t n, const T *delta, T scale)
{
    for (int64_t r = 0; r < n_rows; r++, g += n, p += n) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            g[i] = p[i] * (g[i] - delta[r]) * scale;
    }
}

#undef ROW
#undef SIMD
#undef LANES
#undef N_ACC
#undef CHUNK
#undef SHORT
#undef SMALL
#undef SUM_OF
