/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of factories: evenly spaced numbers, and the coordinates of triangles. The points of arange and linspace are
   computed in range_isa.c, those of logspace and range here, in double and then cast, as PyTorch does. Sizes were
   settled by the meta rules of ops/range.c, so only the conversion of the bounds to the dtype can fail. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "core/op.h"
#include "cpu/range.h"
#include "kernels.h"

#define BLOCK 256

/* --- bounds --- */

/* A number as it is after conversion to `dtype`. */
static int convert_bound(mt_range_value *out, mt_scalar s, mt_dtype dtype)
{
    MT_ALIGNED(16) char element[16];

    if (mt_scalar_store_checked(element, dtype, s) < 0)
        return -1;
    s = mt_scalar_load(element, dtype);
    out->i = mt_dtype_is_integral(dtype, true) ? s.v.i : 0;
    out->d = mt_scalar_to_double(s);
    out->c = mt_scalar_to_complex(s);
    return 0;
}

/* The type in which arange computes. */
static mt_dtype arange_dtype(mt_dtype dtype)
{
    if (mt_dtype_is_integral(dtype, true))
        return MT_DTYPE_i64;
    return dtype == MT_DTYPE_f16 || dtype == MT_DTYPE_bf16 ? MT_DTYPE_f32 : MT_DTYPE_f64;
}

/* Runs the points over `out`, through a contiguous temporary when it is none. */
static int run_points(mt_tensor *out, mt_range *r, mt_parallel_body *body, double ns)
{
    mt_tensor *dense = NULL;
    int rc = -1;

    if (!(out->flags & MT_FLAG_CONTIGUOUS))
        MT_TRY(mt_tensor_new(&dense, (mt_dtype)out->dtype, out->ndim, out->size, out->device));
    r->out = mt_tensor_mutable_data(dense ? dense : out);
    r->n = out->numel;
    r->dtype = (mt_dtype)out->dtype;
    mt_parallel_for(r->n, ns, MT_RANGE_ALIGN, body, r);
    if (dense)
        MT_TRY(mt_tensor_assign(out, dense));
    rc = 0;
fail:
    mt_tensor_clear(&dense);
    return rc;
}

/* steps == 1: the start. Both bounds are converted in any case. */
static int single_point(mt_tensor *out, mt_scalar start)
{
    MT_ALIGNED(16) char element[16];

    if (mt_scalar_store_checked(element, (mt_dtype)out->dtype, start) < 0)
        return -1;
    memcpy(mt_tensor_mutable_data(out), element, mt_tensor_itemsize(out));
    return 0;
}

/* --- arange --- */

int mt_cpu_arange(mt_tensor *out, mt_scalar start, mt_scalar end, mt_scalar step, mt_dtype dtype, int layout,
                  mt_device device, const bool *pin_memory)
{
    mt_dtype inner = arange_dtype((mt_dtype)out->dtype);
    mt_range r;

    (void)end, (void)dtype, (void)layout, (void)device, (void)pin_memory;
    if (convert_bound(&r.start, start, inner) < 0 || convert_bound(&r.step, step, inner) < 0)
        return -1;
    return run_points(out, &r, MT_ISA_PICK(mt_arange_points), 0.3);
}

int mt_cpu_arange_start(mt_tensor *out, mt_scalar start, mt_scalar end, mt_dtype dtype, int layout, mt_device device,
                        const bool *pin_memory)
{
    return mt_cpu_arange(out, start, end, mt_scalar_from_int(1), dtype, layout, device, pin_memory);
}

int mt_cpu_arange_end(mt_tensor *out, mt_scalar end, mt_dtype dtype, int layout, mt_device device,
                      const bool *pin_memory)
{
    return mt_cpu_arange(out, mt_scalar_from_int(0), end, mt_scalar_from_int(1), dtype, layout, device, pin_memory);
}

/* --- linspace --- */

int mt_cpu_linspace(mt_tensor *out, mt_scalar start, mt_scalar end, int64_t steps, mt_dtype dtype, int layout,
                    mt_device device, const bool *pin_memory)
{
    mt_range r;

    (void)dtype, (void)layout, (void)device, (void)pin_memory;
    if (steps == 0)
        return 0;
    if (steps == 1)
        return single_point(out, start);
    if (convert_bound(&r.start, start, (mt_dtype)out->dtype) < 0 ||
        convert_bound(&r.end, end, (mt_dtype)out->dtype) < 0)
        return -1;
    return run_points(out, &r, MT_ISA_PICK(mt_linspace_points), 0.5);
}

/* --- logspace and range: points in double, cast in blocks --- */

typedef struct point_job {
    mt_range range;
    double base, step;
} point_job;

static void put_doubles(const mt_range *r, int64_t at, const double *points, int64_t n)
{
    int64_t size = (int64_t)mt_dtype_size(r->dtype);

    mt_cast_table[MT_DTYPE_f64][r->dtype]((char *)r->out + at * size, size, (const char *)points, sizeof(double), n);
}

static void logspace_points(void *ctx, int64_t begin, int64_t end)
{
    const point_job *job = ctx;
    const mt_range *r = &job->range;
    double point[BLOCK];

    for (int64_t i = begin; i < end; i += BLOCK) {
        int64_t n = end - i < BLOCK ? end - i : BLOCK;

        for (int64_t k = 0; k < n; k++) {
            int64_t at = i + k;

            point[k] = pow(job->base, at < r->n / 2 ? r->start.d + job->step * (double)at
                                                    : r->end.d - job->step * (double)(r->n - at - 1));
        }
        put_doubles(r, i, point, n);
    }
}

static void logspace_c64(void *ctx, int64_t begin, int64_t end)
{
    const point_job *job = ctx;
    const mt_range *r = &job->range;
    float part = 1.0f / (float)(r->n - 1); /* a division by a complex number with no imaginary part */
    float re = ((float)r->end.c.re - (float)r->start.c.re) * part;
    float im = ((float)r->end.c.im - (float)r->start.c.im) * part;
    mt_c64 *out = r->out;

    for (int64_t i = begin; i < end; i++) {
        bool is_low = i < r->n / 2;
        float count = (float)(is_low ? i : i - (r->n - 1));
        const mt_range_value *from = is_low ? &r->start : &r->end;
        float complex z =
            cpowf((float)job->base, __builtin_complex((float)from->c.re + re * count, (float)from->c.im + im * count));

        out[i] = (mt_c64){crealf(z), cimagf(z)};
    }
}

static void logspace_c128(void *ctx, int64_t begin, int64_t end)
{
    const point_job *job = ctx;
    const mt_range *r = &job->range;
    double part = 1.0 / (double)(r->n - 1);
    double re = (r->end.c.re - r->start.c.re) * part, im = (r->end.c.im - r->start.c.im) * part;
    mt_c128 *out = r->out;

    for (int64_t i = begin; i < end; i++) {
        bool is_low = i < r->n / 2;
        double count = (double)(is_low ? i : i - (r->n - 1));
        const mt_range_value *from = is_low ? &r->start : &r->end;
        double complex z = cpow(job->base, __builtin_complex(from->c.re + re * count, from->c.im + im * count));

        out[i] = (mt_c128){creal(z), cimag(z)};
    }
}

/* end - start in the arithmetic of the dtype, then the step in double. */
static double logspace_step(const mt_range *r, mt_dtype dtype, int64_t steps)
{
    MT_ALIGNED(16) char element[16];
    double span;

    if (mt_dtype_is_integral(dtype, true)) {
        span = (double)(int64_t)((uint64_t)r->end.i - (uint64_t)r->start.i);
    } else {
        mt_scalar_store(element, dtype, mt_scalar_from_double(r->end.d - r->start.d));
        span = mt_scalar_to_double(mt_scalar_load(element, dtype));
    }
    return span / (double)(steps - 1);
}

static int logspace_single(mt_tensor *out, mt_scalar start, double base)
{
    mt_c128 s = mt_scalar_to_complex(start);
    double complex z;

    if (!mt_dtype_is_complex((mt_dtype)out->dtype))
        return single_point(out, mt_scalar_from_double(pow(base, mt_scalar_to_double(start))));
    z = cpow(base, __builtin_complex(s.re, s.im));
    return single_point(out, mt_scalar_from_complex(creal(z), cimag(z)));
}

int mt_cpu_logspace(mt_tensor *out, mt_scalar start, mt_scalar end, int64_t steps, double base, mt_dtype dtype,
                    int layout, mt_device device, const bool *pin_memory)
{
    mt_dtype d = (mt_dtype)out->dtype;
    point_job job = {.base = base};

    (void)dtype, (void)layout, (void)device, (void)pin_memory;
    if (steps == 0)
        return 0;
    if (steps == 1)
        return logspace_single(out, start, base);
    if (convert_bound(&job.range.start, start, d) < 0 || convert_bound(&job.range.end, end, d) < 0)
        return -1;
    job.step = logspace_step(&job.range, d, steps);
    return run_points(out, &job.range,
                      d == MT_DTYPE_c64    ? logspace_c64
                      : d == MT_DTYPE_c128 ? logspace_c128
                                           : logspace_points,
                      40.0);
}

static void range_points(void *ctx, int64_t begin, int64_t end)
{
    const point_job *job = ctx;
    const mt_range *r = &job->range;
    double point[BLOCK];

    for (int64_t i = begin; i < end; i += BLOCK) {
        int64_t n = end - i < BLOCK ? end - i : BLOCK;

        for (int64_t k = 0; k < n; k++)
            point[k] = r->start.d + job->step * (double)(i + k);
        put_doubles(r, i, point, n);
    }
}

int mt_cpu_range_step(mt_tensor *out, mt_scalar start, mt_scalar end, mt_scalar step, mt_dtype dtype, int layout,
                      mt_device device, const bool *pin_memory)
{
    mt_dtype inner = arange_dtype((mt_dtype)out->dtype);
    point_job job = {.base = 0.0};

    (void)end, (void)dtype, (void)layout, (void)device, (void)pin_memory;
    if (convert_bound(&job.range.start, start, inner) < 0 || convert_bound(&job.range.step, step, inner) < 0)
        return -1;
    if (inner == MT_DTYPE_i64)
        return run_points(out, &job.range, MT_ISA_PICK(mt_arange_points), 0.3);
    job.step = job.range.step.d;
    return run_points(out, &job.range, range_points, 1.0);
}

int mt_cpu_range(mt_tensor *out, mt_scalar start, mt_scalar end, mt_dtype dtype, int layout, mt_device device,
                 const bool *pin_memory)
{
    return mt_cpu_range_step(out, start, end, mt_scalar_from_int(1), dtype, layout, device, pin_memory);
}

/* --- coordinates of triangles --- */

/* Collects pairs and casts them to the rows of the result. */
typedef struct pair_writer {
    char *row, *col;
    mt_dtype dtype;
    int64_t size;
    int n;
    int64_t r[BLOCK], c[BLOCK];
} pair_writer;

static void flush_pairs(pair_writer *w)
{
    mt_cast_fn *cast = mt_cast_table[MT_DTYPE_i64][w->dtype];

    cast(w->row, w->size, (const char *)w->r, sizeof(int64_t), w->n);
    cast(w->col, w->size, (const char *)w->c, sizeof(int64_t), w->n);
    w->row += w->n * w->size;
    w->col += w->n * w->size;
    w->n = 0;
}

/* Columns begin .. end of row i. */
static void put_columns(pair_writer *w, int64_t i, int64_t begin, int64_t end)
{
    for (int64_t j = begin; j < end; j++) {
        w->r[w->n] = i;
        w->c[w->n] = j;
        if (++w->n == BLOCK)
            flush_pairs(w);
    }
}

/* Columns below `edge` (lower) or from it on. */
static void fill_triangle(mt_tensor *out, int64_t row, int64_t col, int64_t offset, bool lower)
{
    pair_writer w;
    int64_t begin, end;

    w.dtype = (mt_dtype)out->dtype;
    w.size = (int64_t)mt_tensor_itemsize(out);
    w.row = mt_tensor_mutable_data(out);
    w.col = w.row + out->stride[0] * w.size;
    w.n = 0;
    if (out->numel == 0)
        return;
    begin = lower && offset < 0 ? -offset : 0; /* rows without an element are not visited */
    end = lower || row < col - offset ? row : col - offset;
    for (int64_t i = begin; i < end; i++) {
        int64_t edge = i + offset + lower;

        edge = edge < 0 ? 0 : edge > col ? col : edge;
        put_columns(&w, i, lower ? 0 : edge, lower ? edge : col);
    }
    flush_pairs(&w);
}

/* Keeps i + offset within range. */
static int64_t bounded_offset(int64_t offset, int64_t row, int64_t col)
{
    return offset < -row - 1 ? -row - 1 : offset > col + 1 ? col + 1 : offset;
}

int mt_cpu_tril_indices(mt_tensor *out, int64_t row, int64_t col, int64_t offset, mt_dtype dtype, int layout,
                        mt_device device, const bool *pin_memory)
{
    (void)dtype, (void)layout, (void)device, (void)pin_memory;
    fill_triangle(out, row, col, bounded_offset(offset, row, col), true);
    return 0;
}

int mt_cpu_triu_indices(mt_tensor *out, int64_t row, int64_t col, int64_t offset, mt_dtype dtype, int layout,
                        mt_device device, const bool *pin_memory)
{
    (void)dtype, (void)layout, (void)device, (void)pin_memory;
    fill_triangle(out, row, col, bounded_offset(offset, row, col), false);
    return 0;
}
