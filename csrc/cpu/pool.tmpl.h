/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling of one dtype. Rows of the result are made in pieces: each tap of the window walks along the piece, so loops run
   over neighbouring results and vectorise. The order of taps is the order in which equal elements win.
   In scope: the names of a dtype header. Instantiated by pool_isa.c. */
#define ME(stem) MT_LOOP_SYMBOL(stem, XS)
#if IS_FLOAT
#define LEAST (-(T)MT_INF)
#else
#define LEAST MT_LEAST_INT(T)
#endif

/* Taps of one dim that lie inside for results [0, n): the results tap r may serve. */
static inline void ME(range)(const mt_pool *p, int dim, int64_t r, int64_t n, int64_t *first, int64_t *last)
{
    int64_t shift = r * p->dilation[dim] - p->pad[dim], stride = p->stride[dim], end = p->in.size[dim] - 1 - shift;

    *first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    *last = end < 0 ? -1 : end / stride;
    if (*last > n - 1)
        *last = n - 1;
}

/* best[i] and tap[i] for one tap over n results; `step` elements lie between their inputs. */
static MT_ALWAYS_INLINE void ME(max_tap)(T *best, int32_t *tap, const X *in, int64_t step, int64_t n, int32_t number)
{
    MT_IVDEP
    for (int64_t i = 0; i < n; i++) {
        T value = LOAD(in[i * step]);
        bool wins = value > best[i] || ISNAN(value) || tap[i] < 0;

        best[i] = wins ? value : best[i];
        tap[i] = wins ? number : tap[i];
    }
}

/* Results [x0, x0 + n) of row y of a plane. */
static void ME(max_piece)(const mt_pool *p, const X *in, X *out, int64_t *index, int64_t y, int64_t x0, int64_t n)
{
    T best[MT_POOL_PIECE];
    int32_t tap[MT_POOL_PIECE], number = 0;
    int64_t step = p->stride[1] * p->in.dim[1];

    for (int64_t i = 0; i < n; i++) {
        best[i] = LEAST;
        tap[i] = -1;
    }
    for (int64_t r = 0; r < p->kernel[0]; r++) {
        int64_t row = y * p->stride[0] - p->pad[0] + r * p->dilation[0];

        if (row < 0 || row >= p->in.size[0]) {
            number += (int32_t)p->kernel[1];
            continue;
        }
        for (int64_t c = 0; c < p->kernel[1]; c++, number++) {
            int64_t first, last, column;
            const X *from;

            ME(range)(p, 1, c, p->out.size[1], &first, &last);
            first = first < x0 ? x0 : first;
            last = last > x0 + n - 1 ? x0 + n - 1 : last;
            if (first > last)
                continue;
            column = first * p->stride[1] - p->pad[1] + c * p->dilation[1];
            from = in + row * p->in.dim[0] + column * p->in.dim[1];
            if (step == 1)
                ME(max_tap)(best + first - x0, tap + first - x0, from, 1, last - first + 1, number);
            else if (step == 2)
                ME(max_tap)(best + first - x0, tap + first - x0, from, 2, last - first + 1, number);
            else
                ME(max_tap)(best + first - x0, tap + first - x0, from, step, last - first + 1, number);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t r = tap[i] / p->kernel[1], c = tap[i] % p->kernel[1];
        int64_t row = y * p->stride[0] - p->pad[0] + r * p->dilation[0];
        int64_t column = (x0 + i) * p->stride[1] - p->pad[1] + c * p->dilation[1];

        out[(x0 + i) * p->out.dim[1]] = STORE(best[i]);
        index[(x0 + i) * p->index.dim[1]] = row * p->in.size[1] + column;
    }
}

/* Windows of 2 x 2 side by side on dense planes of even width: first across, then down. */
static void ME(max_pairs)(const mt_pool *p, const X *in, X *out, int64_t *index, int64_t rows)
{
    T best[2 * MT_POOL_PIECE];
    int32_t at[2 * MT_POOL_PIECE];
    int64_t width = p->out.size[1], n = 2 * rows * width;

    MT_IVDEP
    for (int64_t i = 0; i < n; i++) {
        T a = LOAD(in[2 * i]), b = LOAD(in[2 * i + 1]);
        bool second = b > a || ISNAN(b);

        best[i] = second ? b : a;
        at[i] = (int32_t)(2 * i) + second;
    }
    for (int64_t y = 0; y < rows; y++) {
        const T *a = best + 2 * y * width, *b = a + width;
        const int32_t *at_a = at + 2 * y * width, *at_b = at_a + width;

        MT_IVDEP
        for (int64_t x = 0; x < width; x++) {
            bool lower = b[x] > a[x] || ISNAN(b[x]);

            out[y * width + x] = STORE(lower ? b[x] : a[x]);
            index[y * width + x] = lower ? at_b[x] : at_a[x];
        }
    }
}

static bool ME(is_pairs)(const mt_pool *p)
{
    for (int d = 0; d < 2; d++)
        if (p->kernel[d] != 2 || p->stride[d] != 2 || p->pad[d] != 0 || p->dilation[d] != 1)
            return false;
    return p->in.size[1] == 2 * p->out.size[1] && p->in.size[0] >= 2 * p->out.size[0] && p->in.dim[1] == 1 &&
           p->in.dim[0] == p->in.size[1] && p->out.dim[1] == 1 && p->out.dim[0] == p->out.size[1] &&
           p->index.dim[1] == 1 && p->index.dim[0] == p->out.size[1] && p->out.size[1] <= MT_POOL_PIECE;
}

static const X *ME(plane_of)(const mt_pool *p, const mt_pool_side *side, int64_t plane)
{
    return (const X *)side->data + plane / p->channels * side->batch + plane % p->channels * side->channel;
}

static void ME(max)(const mt_pool *p, int64_t begin, int64_t end)
{
    bool pairs = ME(is_pairs)(p);

    for (int64_t plane = begin; plane < end; plane++) {
        const X *in = ME(plane_of)(p, &p->in, plane);
        X *out = (X *)(uintptr_t)ME(plane_of)(p, &p->out, plane);
        int64_t *index =
            (int64_t *)p->index.data + plane / p->channels * p->index.batch + plane % p->channels * p->index.channel;

        if (pairs) {
            int64_t band = MT_POOL_PIECE / p->out.size[1], width = p->out.size[1];

            for (int64_t y = 0; y < p->out.size[0]; y += band) {
                int64_t rows = p->out.size[0] - y < band ? p->out.size[0] - y : band, base = 4 * y * width;

                ME(max_pairs)(p, in + base, out + y * width, index + y * width, rows);
                for (int64_t i = 0; y > 0 && i < rows * width; i++)
                    index[y * width + i] += base;
            }
            continue;
        }
        for (int64_t y = 0; y < p->out.size[0]; y++)
            for (int64_t x = 0; x < p->out.size[1]; x += MT_POOL_PIECE)
                ME(max_piece)(p, in, out + y * p->out.dim[0], index + y * p->index.dim[0], y, x,
                              p->out.size[1] - x < MT_POOL_PIECE ? p->out.size[1] - x : MT_POOL_PIECE);
    }
}

/* The window of result (y, x) cut at the input, and what its sum is divided by. */
typedef struct ME(window) {
    int64_t y0, y1, x0, x1;
    T divisor;
} ME(window);

static inline ME(window) ME(mean_window)(const mt_pool *p, int64_t y, int64_t x)
{
    ME(window) w;
    int64_t padded;

    w.y0 = y * p->stride[0] - p->pad[0];
    w.x0 = x * p->stride[1] - p->pad[1];
    w.y1 = w.y0 + p->kernel[0] < p->in.size[0] + p->pad[0] ? w.y0 + p->kernel[0] : p->in.size[0] + p->pad[0];
    w.x1 = w.x0 + p->kernel[1] < p->in.size[1] + p->pad[1] ? w.x0 + p->kernel[1] : p->in.size[1] + p->pad[1];
    padded = (w.y1 - w.y0) * (w.x1 - w.x0);
    w.y0 = w.y0 > 0 ? w.y0 : 0;
    w.x0 = w.x0 > 0 ? w.x0 : 0;
    w.y1 = w.y1 < p->in.size[0] ? w.y1 : p->in.size[0];
    w.x1 = w.x1 < p->in.size[1] ? w.x1 : p->in.size[1];
    w.divisor = (T)(p->divisor ? p->divisor : p->count_include_pad ? padded : (w.y1 - w.y0) * (w.x1 - w.x0));
    return w;
}

static inline ME(window) ME(adaptive_window)(const mt_pool *p, int64_t y, int64_t x)
{
    ME(window) w;
    const int64_t *in = p->in.size, *out = p->out.size;

    w.y0 = y * in[0] / out[0];
    w.y1 = ((y + 1) * in[0] + out[0] - 1) / out[0];
    w.x0 = x * in[1] / out[1];
    w.x1 = ((x + 1) * in[1] + out[1] - 1) / out[1];
    w.divisor = (T)((w.y1 - w.y0) * (w.x1 - w.x0));
    return w;
}

/* One row of means when no window is cut: taps walk along the row. */
static void ME(mean_row)(const mt_pool *p, const X *in, X *out, int64_t y, int64_t x0, int64_t n, T divisor)
{
    T sum[MT_POOL_PIECE];
    int64_t step = p->stride[1] * p->in.dim[1];

    for (int64_t i = 0; i < n; i++)
        sum[i] = 0;
    for (int64_t r = 0; r < p->kernel[0]; r++)
        for (int64_t c = 0; c < p->kernel[1]; c++) {
            const X *from = in + (y * p->stride[0] + r) * p->in.dim[0] + (x0 * p->stride[1] + c) * p->in.dim[1];

            if (step == 1) {
                MT_IVDEP
                for (int64_t i = 0; i < n; i++)
                    sum[i] = (T)(sum[i] + LOAD(from[i]));
            } else if (step == 2) {
                MT_IVDEP
                for (int64_t i = 0; i < n; i++)
                    sum[i] = (T)(sum[i] + LOAD(from[2 * i]));
            } else {
                MT_IVDEP
                for (int64_t i = 0; i < n; i++)
                    sum[i] = (T)(sum[i] + LOAD(from[i * step]));
            }
        }
    for (int64_t i = 0; i < n; i++)
        out[(x0 + i) * p->out.dim[1]] = STORE((T)(sum[i] / divisor));
}

static inline X ME(mean_of)(const mt_pool *p, const X *in, const ME(window) * w)
{
    T sum = 0;

    if (w->y0 >= w->y1 || w->x0 >= w->x1)
        return STORE((T)0);
    for (int64_t y = w->y0; y < w->y1; y++)
        for (int64_t x = w->x0; x < w->x1; x++)
            sum = (T)(sum + LOAD(in[y * p->in.dim[0] + x * p->in.dim[1]]));
    return STORE((T)(sum / w->divisor));
}

static void ME(mean)(const mt_pool *p, int64_t begin, int64_t end)
{
    /* results before `whole` have windows that nothing cuts */
    bool no_pad = p->pad[0] == 0 && p->pad[1] == 0;
    int64_t whole_y = no_pad && p->in.size[0] >= p->kernel[0] ? (p->in.size[0] - p->kernel[0]) / p->stride[0] + 1 : 0;
    int64_t whole_x = no_pad && p->in.size[1] >= p->kernel[1] ? (p->in.size[1] - p->kernel[1]) / p->stride[1] + 1 : 0;

    whole_x = whole_x < p->out.size[1] ? whole_x : p->out.size[1];
    for (int64_t plane = begin; plane < end; plane++) {
        const X *in = ME(plane_of)(p, &p->in, plane);
        X *out = (X *)(uintptr_t)ME(plane_of)(p, &p->out, plane);

        for (int64_t y = 0; y < p->out.size[0]; y++) {
            X *row = out + y * p->out.dim[0];
            int64_t x = 0;

            for (; y < whole_y && x < whole_x; x += MT_POOL_PIECE) {
                int64_t n = whole_x - x < MT_POOL_PIECE ? whole_x - x : MT_POOL_PIECE;

                ME(mean_row)(p, in, row, y, x, n, (T)(p->divisor ? p->divisor : p->kernel[0] * p->kernel[1]));
            }
            for (x = y < whole_y ? whole_x : 0; x < p->out.size[1]; x++) {
                ME(window) w = ME(mean_window)(p, y, x);

                row[x * p->out.dim[1]] = ME(mean_of)(p, in, &w);
            }
        }
    }
}

#if IS_FLOAT

static void ME(adaptive)(const mt_pool *p, int64_t begin, int64_t end)
{
    for (int64_t plane = begin; plane < end; plane++) {
        const X *in = ME(plane_of)(p, &p->in, plane);
        X *out = (X *)(uintptr_t)ME(plane_of)(p, &p->out, plane);

        for (int64_t y = 0; y < p->out.size[0]; y++)
            for (int64_t x = 0; x < p->out.size[1]; x++) {
                ME(window) w = ME(adaptive_window)(p, y, x);

                out[y * p->out.dim[0] + x * p->out.dim[1]] = ME(mean_of)(p, in, &w);
            }
    }
}

static void ME(max_backward)(const mt_pool *p, int64_t begin, int64_t end)
{
    for (int64_t plane = begin; plane < end; plane++) {
        X *in = (X *)(uintptr_t)ME(plane_of)(p, &p->in, plane);
        const X *out = ME(plane_of)(p, &p->out, plane);
        const int64_t *index = (const int64_t *)p->index.data + plane / p->channels * p->index.batch +
                               plane % p->channels * p->index.channel;

        for (int64_t y = 0; y < p->out.size[0]; y++)
            for (int64_t x = 0; x < p->out.size[1]; x++) {
                int64_t at = index[y * p->index.dim[0] + x * p->index.dim[1]];

                if (p->in.dim[1] == 1 && p->in.dim[0] == p->in.size[1])
                    in[at] += out[y * p->out.dim[0] + x * p->out.dim[1]];
                else
                    in[at / p->in.size[1] * p->in.dim[0] + at % p->in.size[1] * p->in.dim[1]] +=
                        out[y * p->out.dim[0] + x * p->out.dim[1]];
            }
    }
}

static inline void ME(spread)(const mt_pool *p, X *in, X grad, const ME(window) * w)
{
    T share = grad / w->divisor;

    for (int64_t y = w->y0; y < w->y1; y++)
        for (int64_t x = w->x0; x < w->x1; x++)
            in[y * p->in.dim[0] + x * p->in.dim[1]] += share;
}

static void ME(mean_backward)(const mt_pool *p, int64_t begin, int64_t end)
{
    for (int64_t plane = begin; plane < end; plane++) {
        X *in = (X *)(uintptr_t)ME(plane_of)(p, &p->in, plane);
        const X *out = ME(plane_of)(p, &p->out, plane);

        for (int64_t y = 0; y < p->out.size[0]; y++)
            for (int64_t x = 0; x < p->out.size[1]; x++) {
                ME(window) w = ME(mean_window)(p, y, x);

                ME(spread)(p, in, out[y * p->out.dim[0] + x * p->out.dim[1]], &w);
            }
    }
}

static void ME(adaptive_backward)(const mt_pool *p, int64_t begin, int64_t end)
{
    for (int64_t plane = begin; plane < end; plane++) {
        X *in = (X *)(uintptr_t)ME(plane_of)(p, &p->in, plane);
        const X *out = ME(plane_of)(p, &p->out, plane);

        for (int64_t y = 0; y < p->out.size[0]; y++)
            for (int64_t x = 0; x < p->out.size[1]; x++) {
                ME(window) w = ME(adaptive_window)(p, y, x);

                ME(spread)(p, in, out[y * p->out.dim[0] + x * p->out.dim[1]], &w);
            }
    }
}

#endif

#undef ME
#undef LEAST
