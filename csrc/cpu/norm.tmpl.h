/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops of norm.h for one dtype, included between a dtype header and math/dtype/end.h. The lanes in which sums are
   taken are the same on every ISA level: 256 bytes, then groups of 64 bytes, then single elements. */

#define NAME(stem) MT_NORM_PASTE(stem, S)
#define VEC NAME(mt_norm_vec)
#define WIDTH ((int)(MT_NORM_VEC_BYTES / sizeof(T)))
#define N_VEC (256 / MT_NORM_VEC_BYTES)
#define N_REST (64 / MT_NORM_VEC_BYTES)
#define STEP ((int)(256 / sizeof(T)))
#define GROUP ((int)(64 / sizeof(T)))

typedef T VEC __attribute__((vector_size(MT_NORM_VEC_BYTES), aligned(sizeof(T)), may_alias));

/* Halves until one lane is left; `rest` joins when as many lanes are left as it has. */
static inline double NAME(fold)(const VEC *acc, const VEC *rest)
{
    MT_ALIGNED(64) T lane[STEP], more[GROUP];
    T few[4];

    memcpy(lane, acc, sizeof lane);
    memcpy(more, rest, sizeof more);
    for (int i = 0; i < GROUP; i++)
        lane[i] = ((lane[i] + lane[i + 2 * GROUP]) + (lane[i + GROUP] + lane[i + 3 * GROUP])) + more[i];
    for (int i = 0; i < 4; i++)
        few[i] = (lane[i] + lane[i + GROUP / 2]) + (sizeof(T) == 4 ? lane[i + 4] + lane[i + 4 + GROUP / 2] : (T)0);
    return (double)((few[0] + few[2]) + (few[1] + few[3]));
}

/* BODY(type, AT, a, b) adds to two accumulators; AT(p) is what p has at the current index. */
#define AT_VEC(p) (*(const VEC *)(const void *)((p) + at))
#define AT_ONE(p) ((p)[at])
#define REDUCE(out, n, n_acc, BODY)                                                                     \
    for (int64_t begin = 0; begin < (n); begin += MT_NORM_BLOCK) {                                      \
        int64_t end = (n) - begin < MT_NORM_BLOCK ? (n) : begin + MT_NORM_BLOCK, i = begin;             \
        VEC acc_a[N_VEC] = {{0}}, acc_b[N_VEC] = {{0}}, rest_a[N_REST] = {{0}}, rest_b[N_REST] = {{0}}; \
        T tail_a = 0, tail_b = 0;                                                                       \
                                                                                                        \
        for (; i + STEP <= end; i += STEP) {                                                            \
            MT_NORM_UNROLL                                                                              \
            for (int v = 0; v < N_VEC; v++) {                                                           \
                int64_t at = i + v * WIDTH;                                                             \
                BODY(VEC, AT_VEC, acc_a[v], acc_b[v])                                                   \
            }                                                                                           \
        }                                                                                               \
        for (; i + GROUP <= end; i += GROUP) {                                                          \
            MT_NORM_UNROLL                                                                              \
            for (int v = 0; v < N_REST; v++) {                                                          \
                int64_t at = i + v * WIDTH;                                                             \
                BODY(VEC, AT_VEC, rest_a[v], rest_b[v])                                                 \
            }                                                                                           \
        }                                                                                               \
        for (int64_t at = i; at < end; at++) {                                                          \
            BODY(T, AT_ONE, tail_a, tail_b)                                                             \
        }                                                                                               \
        (out)[0] += NAME(fold)(acc_a, rest_a) + (double)tail_a;                                         \
        if ((n_acc) == 2)                                                                               \
            (out)[(n_acc) - 1] += NAME(fold)(acc_b, rest_b) + (double)tail_b;                           \
        else                                                                                            \
            (void)tail_b, (void)acc_b, (void)rest_b;                                                    \
    }

/* --- rows --- */

#define SUM_BODY(V, AT, a, b) a += AT(x);
static void NAME(sum)(double *out, const void *row, int64_t n)
{
    const T *x = row;

    REDUCE(out, n, 1, SUM_BODY)
}

#define SPREAD_BODY(V, AT, a, b) \
    V d = AT(x) - m;             \
    a += d;                      \
    b += d * d;
static void NAME(spread)(double out[2], const void *row, int64_t n, double mean)
{
    const T *x = row, m = (T)mean;

    REDUCE(out, n, 2, SPREAD_BODY)
}

/* Squares alone: for a mean that is as good as a sum in lanes can be. */
#define SQUARES_BODY(V, AT, a, b) \
    V d = AT(x) - m;              \
    a += d * d;
static double NAME(squares)(const T *x, int64_t n, T m)
{
    double out[1] = {0};

    REDUCE(out, n, 1, SQUARES_BODY)
    return out[0];
}

#define DOT_BODY(V, AT, a, b) \
    V gi = AT(g);             \
    a += gi;                  \
    b += gi * (AT(x) - m);
static void NAME(dot)(double out[2], const void *grad, const void *row, int64_t n, double mean)
{
    const T *g = grad, *x = row, m = (T)mean;

    REDUCE(out, n, 2, DOT_BODY)
}

#define WEIGHTED_BODY(V, AT, a, b) \
    V gi = AT(g) * AT(w);          \
    a += gi;                       \
    b += gi * (AT(x) - m);
static void NAME(weighted_dot)(double out[2], const T *g, const T *w, const T *x, int64_t n, T m)
{
    REDUCE(out, n, 2, WEIGHTED_BODY)
}

static void NAME(affine)(void *to, const void *row, int64_t n, const double k[3])
{
    const T *x = row, mean = (T)k[0], scale = (T)k[1], shift = (T)k[2];
    T *y = to;

    MT_IVDEP
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - mean) * scale + shift;
}

static void NAME(combine)(void *to, const void *grad, const void *row, int64_t n, const double k[4])
{
    const T *g = grad, *x = row, mean = (T)k[0], a = (T)k[1], b = (T)k[2], c = (T)k[3];
    T *dx = to;

    MT_IVDEP
    for (int64_t i = 0; i < n; i++)
        dx[i] = g[i] * a + ((x[i] - mean) * b + c);
}

static void NAME(layer)(void *to, const void *row, const void *weight, const void *bias, int64_t n, double eps,
                        double stat[2])
{
    const T *x = row, *w = weight, *b = bias;
    T *y = to;
    double total = 0, squares, mean, shift;
    T m, r;

    NAME(sum)(&total, x, n);
    mean = n ? total / (double)n : 0.0;
    m = (T)mean;
    squares = NAME(squares)(x, n, m) / (double)n;
    shift = mean - (double)m;
    stat[0] = mean;
    stat[1] = 1.0 / sqrt((squares > shift * shift ? squares - shift * shift : squares * 0.0) + eps);
    r = (T)stat[1];
    if (w && b) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - m) * r * w[i] + b[i];
    } else if (w) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - m) * r * w[i];
    } else if (b) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - m) * r + b[i];
    } else {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - m) * r;
    }
}

static void NAME(layer_grad)(void *to, void *dweight, void *dbias, const void *grad, const void *row,
                             const void *weight, int64_t n, const double stat[2])
{
    const T *g = grad, *x = row, *w = weight, m = (T)stat[0], r = (T)stat[1];
    T *dx = to, *dw = dweight, *db = dbias;

    if (dx) {
        double sum[2] = {0, 0};
        T a, c;

        if (w)
            NAME(weighted_dot)(sum, g, w, x, n, m);
        else
            NAME(dot)(sum, g, x, n, (double)m);
        a = (T)(-sum[1] / (double)n * stat[1] * stat[1] * stat[1]);
        c = (T)(-sum[0] / (double)n * stat[1]);
        if (w) {
            MT_IVDEP
            for (int64_t i = 0; i < n; i++)
                dx[i] = g[i] * w[i] * r + ((x[i] - m) * a + c);
        } else {
            MT_IVDEP
            for (int64_t i = 0; i < n; i++)
                dx[i] = g[i] * r + ((x[i] - m) * a + c);
        }
    }
    if (dw) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            dw[i] += g[i] * ((x[i] - m) * r);
    }
    if (db) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            db[i] += g[i];
    }
}

/* --- columns: tiles of channels, flushed into double after some rows --- */

#define COLUMNS(BODY, FLUSH)                                                    \
    for (int64_t c0 = 0; c0 < c; c0 += MT_NORM_TILE) {                          \
        int64_t width = c - c0 < MT_NORM_TILE ? c - c0 : MT_NORM_TILE;          \
                                                                                \
        for (int64_t r0 = 0; r0 < rows; r0 += MT_NORM_ROWS) {                   \
            int64_t last = rows - r0 < MT_NORM_ROWS ? rows : r0 + MT_NORM_ROWS; \
            MT_ALIGNED(64) T a[MT_NORM_TILE] = {0}, b[MT_NORM_TILE] = {0};      \
                                                                                \
            for (int64_t r = r0; r < last; r++) {                               \
                const T *xr = x + r * c + c0;                                   \
                                                                                \
                MT_IVDEP                                                        \
                for (int64_t j = 0; j < width; j++) {                           \
                    BODY                                                        \
                }                                                               \
            }                                                                   \
            (void)b;                                                            \
            for (int64_t j = 0; j < width; j++) {                               \
                FLUSH                                                           \
            }                                                                   \
        }                                                                       \
    }

static void NAME(sums)(double *out, const void *from, int64_t rows, int64_t c)
{
    const T *x = from;

    COLUMNS(a[j] += xr[j];, out[c0 + j] += (double)a[j];)
}

static void NAME(spreads)(double *out, const void *from, int64_t rows, int64_t c, const double *mean)
{
    const T *x = from;

    COLUMNS(T d = xr[j] - (T)mean[c0 + j]; a[j] += d; b[j] += d * d;, out[c0 + j] += (double)a[j];
            out[c + c0 + j] += (double)b[j];)
}

static void NAME(dots)(double *out, const void *grad, const void *from, int64_t rows, int64_t c, const double *mean)
{
    const T *x = from, *g = grad;

    COLUMNS(T gi = g[r * c + c0 + j]; a[j] += gi; b[j] += gi * (xr[j] - (T)mean[c0 + j]);, out[c0 + j] += (double)a[j];
            out[c + c0 + j] += (double)b[j];)
}

static void NAME(affines)(void *to, const void *from, int64_t rows, int64_t c, const double *k)
{
    const T *x = from;
    T *y = to, mean[MT_NORM_TILE], scale[MT_NORM_TILE], shift[MT_NORM_TILE];

    for (int64_t c0 = 0; c0 < c; c0 += MT_NORM_TILE) {
        int64_t width = c - c0 < MT_NORM_TILE ? c - c0 : MT_NORM_TILE;

        for (int64_t j = 0; j < width; j++) {
            mean[j] = (T)k[c0 + j];
            scale[j] = (T)k[c + c0 + j];
            shift[j] = (T)k[2 * c + c0 + j];
        }
        for (int64_t r = 0; r < rows; r++) {
            const T *xr = x + r * c + c0;
            T *yr = y + r * c + c0;

            MT_IVDEP
            for (int64_t j = 0; j < width; j++)
                yr[j] = (xr[j] - mean[j]) * scale[j] + shift[j];
        }
    }
}

static void NAME(combines)(void *to, const void *grad, const void *from, int64_t rows, int64_t c, const double *k)
{
    const T *x = from, *g = grad;
    T *dx = to, p[4][MT_NORM_TILE];

    for (int64_t c0 = 0; c0 < c; c0 += MT_NORM_TILE) {
        int64_t width = c - c0 < MT_NORM_TILE ? c - c0 : MT_NORM_TILE;

        for (int q = 0; q < 4; q++)
            for (int64_t j = 0; j < width; j++)
                p[q][j] = (T)k[q * c + c0 + j];
        for (int64_t r = 0; r < rows; r++) {
            const T *xr = x + r * c + c0, *gr = g + r * c + c0;
            T *yr = dx + r * c + c0;

            MT_IVDEP
            for (int64_t j = 0; j < width; j++)
                yr[j] = gr[j] * p[1][j] + ((xr[j] - p[0][j]) * p[2][j] + p[3][j]);
        }
    }
}

static const mt_norm_loops NAME(norm_loops) = {
    .layer = NAME(layer),
    .layer_grad = NAME(layer_grad),
    .sum = NAME(sum),
    .spread = NAME(spread),
    .dot = NAME(dot),
    .affine = NAME(affine),
    .combine = NAME(combine),
    .sums = NAME(sums),
    .spreads = NAME(spreads),
    .dots = NAME(dots),
    .affines = NAME(affines),
    .combines = NAME(combines),
};

#undef NAME
#undef VEC
#undef WIDTH
#undef N_VEC
#undef N_REST
#undef STEP
#undef GROUP
#undef AT_VEC
#undef AT_ONE
#undef REDUCE
#undef SUM_BODY
#undef SPREAD_BODY
#undef SQUARES_BODY
#undef DOT_BODY
#undef WEIGHTED_BODY
#undef COLUMNS
