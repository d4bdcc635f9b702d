/* SPDX-License-Identifier: BSD-3-Clause */
/* One row of softmax. The includer defines T, ROW(name), EXP(x) for x <= 0 (or NaN), LOG(x). Sums go through LANES partial sums
   that do not depend on the ISA level. */
#ifndef T
#define T float
#define ROW(name) name##_f32
#define EXP(x) mt_exp_f32(x)
#define LOG(x) logf(x)
#endif

#define LANES 16

static inline T ROW(fold)(const T *lane)
{
    T t[LANES / 2];

    for (int k = 0; k < LANES / 2; k++)
        t[k] = lane[k] + lane[k + LANES / 2];
    for (int half = LANES / 4; half > 0; half /= 2)
        for (int k = 0; k < half; k++)
            t[k] += t[k + half];
    return t[0];
}

static inline T ROW(largest)(const T *x, int64_t n)
{
    T lane[LANES], best = x[0];
    int64_t i = 0;

    if (n >= LANES) {
        for (int k = 0; k < LANES; k++)
            lane[k] = x[k];
        for (i = LANES; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++)
                lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
        for (int k = 0; k < LANES; k++)
            best = lane[k] > best ? lane[k] : best;
    }
    for (; i < n; i++)
        best = x[i] > best ? x[i] : best;
    return best;
}

void MT_ISA_NAME(ROW(mt_softmax_row))(T *out, const T *x, int64_t n, bool is_log)
{
    T lane[LANES] = {0}, top = ROW(largest)(x, n), sum;
    int64_t i = 0;

    if (is_log) {
        for (; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++)
                lane[k] += EXP(x[i + k] - top);
        sum = ROW(fold)(lane);
        for (; i < n; i++)
            sum += EXP(x[i] - top);
        sum = LOG(sum);
        for (i = 0; i < n; i++)
            out[i] = x[i] - top - sum;
        return;
    }
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            T e = EXP(x[i + k] - top);

            out[i + k] = e;
            lane[k] += e;
        }
    sum = ROW(fold)(lane);
    for (; i < n; i++)
        sum += out[i] = EXP(x[i] - top);
    for (i = 0; i < n; i++)
        out[i] = out[i] / sum;
}

void MT_ISA_NAME(ROW(mt_softmax_back_row))(T *out, const T *g, const T *y, int64_t n, bool is_log)
{
    T lane[LANES] = {0}, sum;
    int64_t i = 0;

    if (is_log) {
        for (; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++)
                lane[k] += g[i + k];
        sum = ROW(fold)(lane);
        for (; i < n; i++)
            sum += g[i];
        for (i = 0; i < n; i++)
            out[i] = g[i] - EXP(y[i]) * sum; /* y <= 0 */
        return;
    }
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += g[i + k] * y[i + k];
    sum = ROW(fold)(lane);
    for (; i < n; i++)
        sum += g[i] * y[i];
    for (i = 0; i < n; i++)
        out[i] = (g[i] - sum) * y[i];
}

#undef T
#undef ROW
#undef EXP
#undef LOG
#undef LANES
