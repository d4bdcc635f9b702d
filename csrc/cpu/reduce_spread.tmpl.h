/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean and sum of squared deviations of a block, computed in LANE_TYPE (float or double) from
   reals: two passes over data that is in the first-level cache, the second around the rounded mean,
   whose own error is taken back at the end. Included by reduce_moment.tmpl.h with LANE_TYPE and
   NAME(part). */
#define SPREAD_LANES (256 / (int)sizeof(LANE_TYPE))

static inline LANE_TYPE NAME(_join_lanes)(LANE_TYPE *acc)
{
    REDUCE_LANES(acc, SPREAD_LANES, REDUCE_PLUS);
    return acc[0];
}

MT_ONE_COPY static void NAME(_row)(double *mean, double *m2, const REAL *x, int n)
{
    MT_ALIGNED(64) LANE_TYPE a[SPREAD_LANES], b[SPREAD_LANES];
    REAL rest[SPREAD_LANES] = {0};
    LANE_TYPE center;
    double first, second;
    int i = 0;

    for (int j = 0; j < SPREAD_LANES; j++)
        a[j] = b[j] = 0;
    for (; i + SPREAD_LANES <= n; i += SPREAD_LANES)
        for (int j = 0; j < SPREAD_LANES; j++)
            a[j] += (LANE_TYPE)x[i + j];
    memcpy(rest, x + i, (size_t)(n - i) * sizeof *x); /* the padding adds 0 */
    for (int j = 0; j < SPREAD_LANES; j++)
        a[j] += (LANE_TYPE)rest[j];
    center = (LANE_TYPE)((double)NAME(_join_lanes)(a) / n);
    for (int j = 0; j < SPREAD_LANES; j++)
        a[j] = 0;
    for (i = 0; i + SPREAD_LANES <= n; i += SPREAD_LANES)
        for (int j = 0; j < SPREAD_LANES; j++) {
            LANE_TYPE d = (LANE_TYPE)x[i + j] - center;

            a[j] += d;
            b[j] += d * d;
        }
    for (int j = 0; j < SPREAD_LANES; j++) {
        LANE_TYPE d = j < n - i ? (LANE_TYPE)rest[j] - center : 0;

        a[j] += d;
        b[j] += d * d;
    }
    first = (double)NAME(_join_lanes)(a) / n;
    second = (double)NAME(_join_lanes)(b) - first * first * n;
    *mean = (double)center + first;
    *m2 = second < 0 ? 0 : second;
}

/* The same for `width` columns; rows are REAL, in_stride bytes apart, at most REDUCE_ROWS of them.
   */
MT_ONE_COPY static void NAME(_columns)(double *mean, double *m2, const char *in, int64_t in_stride, int rows, int width)
{
    MT_ALIGNED(64) LANE_TYPE center[MOMENT_COLUMNS], a[MOMENT_COLUMNS], b[MOMENT_COLUMNS];

    for (int j = 0; j < width; j++)
        center[j] = a[j] = b[j] = 0;
    for (int r = 0; r < rows; r++) {
        const REAL *x = (const REAL *)(const void *)(in + r * in_stride);

        for (int j = 0; j < width; j++)
            center[j] += (LANE_TYPE)x[j];
    }
    for (int j = 0; j < width; j++)
        center[j] /= (LANE_TYPE)rows;
    for (int r = 0; r < rows; r++) {
        const REAL *x = (const REAL *)(const void *)(in + r * in_stride);

        for (int j = 0; j < width; j++) {
            LANE_TYPE d = (LANE_TYPE)x[j] - center[j];

            a[j] += d;
            b[j] += d * d;
        }
    }
    for (int j = 0; j < width; j++) {
        double first = (double)a[j] / rows, second = (double)b[j] - first * first * rows;

        mean[j] = (double)center[j] + first;
        m2[j] = second < 0 ? 0 : second; /* NaN stays */
    }
}

#undef SPREAD_LANES
