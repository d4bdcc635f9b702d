/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes of norm.h for one floating dtype at one ISA level.
   In scope: T, S (suffix), V, LANES. Instantiated by norm_isa.c. */
#define SIMD(stem) MT_JOIN(MT_JOIN(mt_simd_, stem), MT_JOIN(_, S))
#define MASK MT_JOIN(mt_mask_, S)
#define ME(stem) MT_JOIN(stem, MT_JOIN(_, S))

enum { ME(BLOCK) = 64 * LANES, ME(BLOCK_ROWS) = 64 };

/* --- runs --- */

/* Four sums side by side; the tail is masked into the first. */
static T ME(block_sum)(const T *x, int64_t n)
{
    V acc[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;

    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int k = 0; k < 4; k++)
            acc[k] += SIMD(load)(x + i + k * LANES);
    for (; i < n; i += LANES)
        acc[0] += SIMD(load_masked)(x + i, SIMD(mask)(n - i < LANES ? n - i : LANES));
    return SIMD(sum)((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

static double ME(sum)(const void *data, int64_t n)
{
    const T *x = data;
    double total = 0;

    for (int64_t i = 0; i < n; i += ME(BLOCK))
        total += (double)ME(block_sum)(x + i, n - i < ME(BLOCK) ? n - i : ME(BLOCK));
    return total;
}

static T ME(block_square_sum)(const T *x, int64_t n, T mean)
{
    V acc[4] = {{0}, {0}, {0}, {0}}, m = SIMD(splat)(mean);
    int64_t i = 0;

    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int k = 0; k < 4; k++) {
            V d = SIMD(load)(x + i + k * LANES) - m;

            acc[k] = SIMD(fma)(d, d, acc[k]);
        }
    for (; i + LANES <= n; i += LANES) {
        V d = SIMD(load)(x + i) - m;

        acc[0] = SIMD(fma)(d, d, acc[0]);
    }
    if (i < n) {
        T rest[LANES] = {0};
        V d;

        for (int64_t k = 0; k < n - i; k++)
            rest[k] = x[i + k] - mean;
        d = SIMD(load)(rest);
        acc[1] = SIMD(fma)(d, d, acc[1]);
    }
    return SIMD(sum)((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

static double ME(square_sum)(const void *data, int64_t n, double mean)
{
    const T *x = data;
    double total = 0;

    for (int64_t i = 0; i < n; i += ME(BLOCK))
        total += (double)ME(block_square_sum)(x + i, n - i < ME(BLOCK) ? n - i : ME(BLOCK), (T)mean);
    return total;
}

static void ME(pair_sum)(double out[2], const void *grad, const void *data, int64_t n, double mean)
{
    V m = SIMD(splat)((T)mean);

    out[0] = out[1] = 0;
    for (int64_t begin = 0; begin < n; begin += ME(BLOCK)) {
        const T *g = (const T *)grad + begin, *x = (const T *)data + begin;
        int64_t length = n - begin < ME(BLOCK) ? n - begin : ME(BLOCK), i = 0;
        V sum[2] = {{0}, {0}}, product[2] = {{0}, {0}};

        for (; i + 2 * LANES <= length; i += 2 * LANES)
            for (int k = 0; k < 2; k++) {
                V gv = SIMD(load)(g + i + k * LANES);

                sum[k] += gv;
                product[k] = SIMD(fma)(gv, SIMD(load)(x + i + k * LANES) - m, product[k]);
            }
        for (; i < length; i += LANES) {
            MASK mask = SIMD(mask)(length - i < LANES ? length - i : LANES);
            V gv = SIMD(load_masked)(g + i, mask);

            sum[0] += gv;
            product[0] = SIMD(fma)(gv, SIMD(load_masked)(x + i, mask) - m, product[0]);
        }
        out[0] += (double)SIMD(sum)(sum[0] + sum[1]);
        out[1] += (double)SIMD(sum)(product[0] + product[1]);
    }
}

static void ME(scale)(void *out, const void *data, int64_t n, double mean, double a, double b)
{
    T *y = out;
    const T *x = data;
    T m = (T)mean, factor = (T)a, shift = (T)b;

    MT_IVDEP
    for (int64_t i = 0; i < n; i++)
        y[i] = (x[i] - m) * factor + shift;
}

static void ME(combine)(void *out, const void *grad, const void *data, int64_t n, double mean, double a, double b,
                        double c)
{
    T *y = out;
    const T *g = grad, *x = data;
    T m = (T)mean, p = (T)a, q = (T)b, r = (T)c;

    MT_IVDEP
    for (int64_t i = 0; i < n; i++)
        y[i] = g[i] * p + (x[i] - m) * q + r;
}

/* --- rows with weights --- */

static void ME(row)(void *out, const void *data, const void *weight, const void *bias, int64_t n, double mean, double rstd)
{
    T *y = out;
    const T *x = data, *w = weight, *b = bias;
    T m = (T)mean, r = (T)rstd;

    if (w && b) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - m) * r * w[i] + b[i];
    } else {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - m) * r;
        for (int64_t i = 0; w && i < n; i++)
            y[i] *= w[i];
        for (int64_t i = 0; b && i < n; i++)
            y[i] += b[i];
    }
}

static MT_ALWAYS_INLINE void ME(row_sums_of)(double out[2], const T *grad, const T *data, const T *weight, int64_t n,
                                             T mean, T rstd)
{
    V m = SIMD(splat)(mean), r = SIMD(splat)(rstd);

    out[0] = out[1] = 0;
    for (int64_t begin = 0; begin < n; begin += ME(BLOCK)) {
        int64_t end = n - begin < ME(BLOCK) ? n : begin + ME(BLOCK), i = begin;
        V sum[2] = {{0}, {0}}, product[2] = {{0}, {0}};

        for (; i + 2 * LANES <= end; i += 2 * LANES)
            for (int k = 0; k < 2; k++) {
                int64_t at = i + k * LANES;
                V h = SIMD(load)(grad + at);

                if (weight)
                    h *= SIMD(load)(weight + at);
                sum[k] += h;
                product[k] = SIMD(fma)(h, (SIMD(load)(data + at) - m) * r, product[k]);
            }
        for (; i < end; i += LANES) {
            MASK mask = SIMD(mask)(end - i < LANES ? end - i : LANES);
            V h = SIMD(load_masked)(grad + i, mask);

            if (weight)
                h *= SIMD(load_masked)(weight + i, mask);
            sum[0] += h;
            product[0] = SIMD(fma)(h, (SIMD(load_masked)(data + i, mask) - m) * r, product[0]);
        }
        out[0] += (double)SIMD(sum)(sum[0] + sum[1]);
        out[1] += (double)SIMD(sum)(product[0] + product[1]);
    }
}

static void ME(row_sums)(double out[2], const void *grad, const void *data, const void *weight, int64_t n, double mean,
                         double rstd)
{
    if (weight)
        ME(row_sums_of)(out, grad, data, weight, n, (T)mean, (T)rstd);
    else
        ME(row_sums_of)(out, grad, data, NULL, n, (T)mean, (T)rstd);
}

static void ME(row_gradient)(void *dx, void *d_weight, void *d_bias, const void *grad, const void *data, const void *weight,
                             int64_t n, double mean, double rstd, double a, double b)
{
    T *out = dx, *dw = d_weight, *db = d_bias;
    const T *g = grad, *x = data, *w = weight;
    T m = (T)mean, r = (T)rstd, p = (T)a, q = (T)b;

    if (out && w) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            out[i] = r * (g[i] * w[i] - p - (x[i] - m) * r * q);
    } else if (out) {
        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            out[i] = r * (g[i] - p - (x[i] - m) * r * q);
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

/* --- columns --- */

/* Up to MT_NORM_COLUMNS columns; sums of BLOCK_ROWS rows are kept in T. */
static void ME(column_sum)(double *sum, const void *data, int64_t rows, int64_t step, int64_t n)
{
    for (int64_t first = 0; first < rows; first += ME(BLOCK_ROWS)) {
        int64_t last = first + ME(BLOCK_ROWS) < rows ? first + ME(BLOCK_ROWS) : rows;
        T acc[MT_NORM_COLUMNS] = {0};

        for (int64_t r = first; r < last; r++) {
            const T *x = (const T *)data + r * step;

            for (int64_t i = 0; i < n; i++)
                acc[i] += x[i];
        }
        for (int64_t i = 0; i < n; i++)
            sum[i] += (double)acc[i];
    }
}

static void ME(column_square_sum)(double *sum, const void *data, int64_t rows, int64_t step, int64_t n, const double *mean)
{
    T m[MT_NORM_COLUMNS];

    for (int64_t i = 0; i < n; i++)
        m[i] = (T)mean[i];
    for (int64_t first = 0; first < rows; first += ME(BLOCK_ROWS)) {
        int64_t last = first + ME(BLOCK_ROWS) < rows ? first + ME(BLOCK_ROWS) : rows;
        T acc[MT_NORM_COLUMNS] = {0};

        for (int64_t r = first; r < last; r++) {
            const T *x = (const T *)data + r * step;

            for (int64_t i = 0; i < n; i++)
                acc[i] += (x[i] - m[i]) * (x[i] - m[i]);
        }
        for (int64_t i = 0; i < n; i++)
            sum[i] += (double)acc[i];
    }
}

static void ME(column_pair_sum)(double *sum, double *product, const void *grad, int64_t grad_step, const void *data,
                                int64_t step, int64_t rows, int64_t n, const double *mean)
{
    T m[MT_NORM_COLUMNS];

    for (int64_t i = 0; i < n; i++)
        m[i] = (T)mean[i];
    for (int64_t first = 0; first < rows; first += ME(BLOCK_ROWS)) {
        int64_t last = first + ME(BLOCK_ROWS) < rows ? first + ME(BLOCK_ROWS) : rows;
        T acc[MT_NORM_COLUMNS] = {0}, mixed[MT_NORM_COLUMNS] = {0};

        for (int64_t r = first; r < last; r++) {
            const T *x = (const T *)data + r * step, *g = (const T *)grad + r * grad_step;

            for (int64_t i = 0; i < n; i++) {
                acc[i] += g[i];
                mixed[i] += g[i] * (x[i] - m[i]);
            }
        }
        for (int64_t i = 0; i < n; i++) {
            sum[i] += (double)acc[i];
            product[i] += (double)mixed[i];
        }
    }
}

static void ME(column_scale)(void *out, int64_t y_step, const void *data, int64_t step, int64_t rows, int64_t n,
                             const double *mean, const double *a, const double *b)
{
    T m[MT_NORM_COLUMNS], p[MT_NORM_COLUMNS], q[MT_NORM_COLUMNS];

    for (int64_t i = 0; i < n; i++) {
        m[i] = (T)mean[i];
        p[i] = (T)a[i];
        q[i] = (T)b[i];
    }
    for (int64_t r = 0; r < rows; r++) {
        const T *x = (const T *)data + r * step;
        T *y = (T *)out + r * y_step;

        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = (x[i] - m[i]) * p[i] + q[i];
    }
}

static void ME(column_combine)(void *out, int64_t y_step, const void *grad, int64_t grad_step, const void *data,
                               int64_t step, int64_t rows, int64_t n, const double *mean, const double *a,
                               const double *b, const double *c)
{
    T m[MT_NORM_COLUMNS], p[MT_NORM_COLUMNS], q[MT_NORM_COLUMNS], s[MT_NORM_COLUMNS];

    for (int64_t i = 0; i < n; i++) {
        m[i] = (T)mean[i];
        p[i] = (T)a[i];
        q[i] = (T)b[i];
        s[i] = (T)c[i];
    }
    for (int64_t r = 0; r < rows; r++) {
        const T *g = (const T *)grad + r * grad_step, *x = (const T *)data + r * step;
        T *y = (T *)out + r * y_step;

        MT_IVDEP
        for (int64_t i = 0; i < n; i++)
            y[i] = g[i] * p[i] + (x[i] - m[i]) * q[i] + s[i];
    }
}

const mt_norm_kernels MT_ISA_NAME(ME(mt_norm)) = {
    ME(sum),        ME(square_sum),        ME(pair_sum),        ME(scale),        ME(combine),        ME(row), ME(row_sums),
    ME(row_gradient), ME(column_sum), ME(column_square_sum), ME(column_pair_sum), ME(column_scale), ME(column_combine),
};

#undef SIMD
#undef MASK
#undef ME
