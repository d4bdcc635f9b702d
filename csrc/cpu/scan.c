/* SPDX-License-Identifier: BSD-3-Clause */
/* Running sums, products and extremes. Elements are loaded into a buffer of the accumulator's dtype (int64, double, float
   for the half types, complex double), scanned there and cast back, so that one loop per accumulator serves all
   dtypes. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/lines.h"
#include "kernels.h"
#include "math/complex_double.h"

#define CHUNK 512

typedef enum scan_kind { SCAN_SUM, SCAN_PROD, SCAN_LOGSUMEXP } scan_kind;

typedef struct scan_job {
    mt_lines lines; /* out, self */
    scan_kind kind;
    mt_dtype acc, in_dtype, out_dtype;
} scan_job;

static mt_dtype accumulator_of(mt_dtype d)
{
    if (mt_dtype_is_complex(d))
        return MT_DTYPE_c128;
    if (d == MT_DTYPE_f16 || d == MT_DTYPE_bf16)
        return MT_DTYPE_f32;
    return mt_dtype_is_float(d) ? MT_DTYPE_f64 : MT_DTYPE_i64;
}

typedef union buffer {
    int64_t i[CHUNK];
    double d[CHUNK];
    float f[CHUNK];
    mt_c128 c[CHUNK];
} buffer;

static double log_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;

    if (isnan(a) || isnan(b))
        return a + b;
    if (high == low && isinf(high))
        return high;
    return high + log1p(exp(low - high));
}

static void scan_i64(int64_t *x, int64_t n, int64_t *carry, scan_kind kind)
{
    uint64_t acc = (uint64_t)*carry;

    for (int64_t i = 0; i < n; i++) {
        acc = kind == SCAN_SUM ? acc + (uint64_t)x[i] : acc * (uint64_t)x[i];
        x[i] = (int64_t)acc;
    }
    *carry = (int64_t)acc;
}

static void scan_f64(double *x, int64_t n, double *carry, scan_kind kind)
{
    double acc = *carry;

    if (kind == SCAN_SUM) {
        for (int64_t i = 0; i < n; i++)
            x[i] = acc += x[i];
    } else if (kind == SCAN_PROD) {
        for (int64_t i = 0; i < n; i++)
            x[i] = acc *= x[i];
    } else {
        for (int64_t i = 0; i < n; i++)
            x[i] = acc = log_add(acc, x[i]);
    }
    *carry = acc;
}

static void scan_f32(float *x, int64_t n, float *carry, scan_kind kind)
{
    float acc = *carry;

    if (kind == SCAN_SUM) {
        for (int64_t i = 0; i < n; i++)
            x[i] = acc += x[i];
    } else if (kind == SCAN_PROD) {
        for (int64_t i = 0; i < n; i++)
            x[i] = acc *= x[i];
    } else {
        for (int64_t i = 0; i < n; i++)
            x[i] = acc = (float)log_add(acc, x[i]);
    }
    *carry = acc;
}

static void scan_c128(mt_c128 *x, int64_t n, mt_c128 *carry, scan_kind kind)
{
    mt_c128 acc = *carry;

    for (int64_t i = 0; i < n; i++) {
        if (kind == SCAN_SUM) {
            acc.re += x[i].re;
            acc.im += x[i].im;
        } else if (kind == SCAN_LOGSUMEXP) {
            acc = mt_z_logaddexp(acc, x[i]);
        } else {
            mt_c128 a = acc;

            acc.re = a.re * x[i].re - a.im * x[i].im;
            acc.im = a.re * x[i].im + a.im * x[i].re;
        }
        x[i] = acc;
    }
    *carry = acc;
}

static void scan_line(const scan_job *job, char *out, const char *in)
{
    const mt_lines *l = &job->lines;
    double start = job->kind == SCAN_SUM ? 0 : job->kind == SCAN_PROD ? 1 : -INFINITY;
    int64_t carry_i = job->kind == SCAN_PROD, size = (int64_t)mt_dtype_size(job->acc);
    double carry_d = start;
    float carry_f = (float)start;
    mt_c128 carry_c = {start, 0};
    buffer b;

    for (int64_t at = 0; at < l->length; at += CHUNK) {
        int64_t n = l->length - at < CHUNK ? l->length - at : CHUNK;

        mt_cast_table[job->in_dtype][job->acc]((char *)&b, size, in + at * l->step[1], l->step[1], n);
        if (job->acc == MT_DTYPE_i64)
            scan_i64(b.i, n, &carry_i, job->kind);
        else if (job->acc == MT_DTYPE_f64)
            scan_f64(b.d, n, &carry_d, job->kind);
        else if (job->acc == MT_DTYPE_f32)
            scan_f32(b.f, n, &carry_f, job->kind);
        else
            scan_c128(b.c, n, &carry_c, job->kind);
        mt_cast_table[job->acc][job->out_dtype](out + at * l->step[0], l->step[0], (char *)&b, size, n);
    }
}

static void scan_lines(void *ctx, int64_t begin, int64_t end)
{
    const scan_job *job = ctx;

    for (int64_t i = begin; i < end; i++) {
        char *line[MT_LINES_MAX];

        mt_lines_at(&job->lines, i, line);
        scan_line(job, line[0], line[1]);
    }
}

static int scan(mt_tensor *out, mt_tensor *self, int64_t dim, scan_kind kind)
{
    scan_job job;
    mt_tensor *tensors[] = {out, self};

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (self->numel == 0)
        return 0;
    mt_lines_init(&job.lines, tensors, 2, 1, dim);
    job.kind = kind;
    job.in_dtype = (mt_dtype)self->dtype;
    job.out_dtype = (mt_dtype)out->dtype;
    job.acc = accumulator_of(job.out_dtype);
    mt_parallel_for(job.lines.n_lines, (double)job.lines.length * 1.2, 1, scan_lines, &job);
    return 0;
}

int mt_cpu_cumsum(mt_tensor *out, mt_tensor *self, int64_t dim, mt_dtype dtype)
{
    (void)dtype;
    return scan(out, self, dim, SCAN_SUM);
}

int mt_cpu_cumprod(mt_tensor *out, mt_tensor *self, int64_t dim, mt_dtype dtype)
{
    (void)dtype;
    return scan(out, self, dim, SCAN_PROD);
}

int mt_cpu_logcumsumexp(mt_tensor *out, mt_tensor *self, int64_t dim)
{
    return scan(out, self, dim, SCAN_LOGSUMEXP);
}

/* --- running extremes with their index: a later equal value wins, NaN stays --- */

typedef struct extreme_job {
    mt_lines lines; /* values, indices, self */
    mt_dtype dtype, acc;
    bool max;
} extreme_job;

static void extreme_i64(int64_t *x, int64_t *index, int64_t n, int64_t first, int64_t *best, int64_t *best_at, bool max)
{
    for (int64_t i = 0; i < n; i++) {
        if (first + i == 0 || (max ? x[i] >= *best : x[i] <= *best)) {
            *best = x[i];
            *best_at = first + i;
        }
        x[i] = *best;
        index[i] = *best_at;
    }
}

static void extreme_f64(double *x, int64_t *index, int64_t n, int64_t first, double *best, int64_t *best_at, bool max)
{
    for (int64_t i = 0; i < n; i++) {
        if (first + i == 0 || isnan(x[i]) || (!isnan(*best) && (max ? x[i] >= *best : x[i] <= *best))) {
            *best = x[i];
            *best_at = first + i;
        }
        x[i] = *best;
        index[i] = *best_at;
    }
}

static void extreme_lines(void *ctx, int64_t begin, int64_t end)
{
    const extreme_job *job = ctx;
    const mt_lines *l = &job->lines;
    int64_t indices[CHUNK];
    buffer b;

    for (int64_t line = begin; line < end; line++) {
        char *at[MT_LINES_MAX];
        int64_t best_i = 0, best_at = 0;
        double best_d = 0;

        mt_lines_at(l, line, at);
        for (int64_t first = 0; first < l->length; first += CHUNK) {
            int64_t n = l->length - first < CHUNK ? l->length - first : CHUNK;

            mt_cast_table[job->dtype][job->acc]((char *)&b, 8, at[2] + first * l->step[2], l->step[2], n);
            if (job->acc == MT_DTYPE_i64)
                extreme_i64(b.i, indices, n, first, &best_i, &best_at, job->max);
            else
                extreme_f64(b.d, indices, n, first, &best_d, &best_at, job->max);
            mt_cast_table[job->acc][job->dtype](at[0] + first * l->step[0], l->step[0], (char *)&b, 8, n);
            mt_cast_table[MT_DTYPE_i64][MT_DTYPE_i64](at[1] + first * l->step[1], l->step[1], (char *)indices, 8, n);
        }
    }
}

static int extreme(mt_tensor *values, mt_tensor *indices, mt_tensor *self, int64_t dim, bool max)
{
    extreme_job job;
    mt_tensor *tensors[] = {values, indices, self};

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (self->numel == 0)
        return 0;
    if (self->ndim == 0) { /* any dtype */
        memcpy(mt_tensor_mutable_data(values), mt_tensor_const_data(self), mt_tensor_itemsize(self));
        *(int64_t *)mt_tensor_mutable_data(indices) = 0;
        return 0;
    }
    mt_lines_init(&job.lines, tensors, 3, 2, dim);
    job.dtype = (mt_dtype)self->dtype;
    job.acc = mt_dtype_is_float(job.dtype) ? MT_DTYPE_f64 : MT_DTYPE_i64;
    job.max = max;
    mt_parallel_for(job.lines.n_lines, (double)job.lines.length * 3, 1, extreme_lines, &job);
    return 0;
}

int mt_cpu_cummax(mt_tensor *values, mt_tensor *indices, mt_tensor *self, int64_t dim)
{
    return extreme(values, indices, self, dim, true);
}

int mt_cpu_cummin(mt_tensor *values, mt_tensor *indices, mt_tensor *self, int64_t dim)
{
    return extreme(values, indices, self, dim, false);
}
