/* SPDX-License-Identifier: BSD-3-Clause */
/* Resampling: one dimension after another, the last one first. A dimension is the sum of a few selections of its elements, each
   times a weight (linear two, cubic four); with antialias it is a product with a matrix of weights. All steps are ops, so
   derivatives of any order follow from theirs. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/dispatch.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"

enum { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, MAX_TAPS = 4, MAX_SPATIAL = 3 };

typedef struct axis {
    int dim, mode;
    int64_t in, out;
    double factor; /* zero: not given */
    bool align, antialias;
    bool bytes; /* weights in fixed point */
    bool wide;  /* positions in double, as interpolation of float64 images has them; in float otherwise */
} axis;

/* --- positions --- */

static double rounded(const axis *a, double x)
{
    return a->wide ? x : (double)(float)x;
}

/* Elements of the input per element of the output. */
static double step_of(const axis *a)
{
    if (a->align)
        return a->out > 1 ? rounded(a, rounded(a, (double)(a->in - 1)) / (double)(a->out - 1)) : 0;
    return a->factor > 0 ? rounded(a, 1.0 / a->factor) : rounded(a, (double)a->in / (double)a->out);
}

static double source_of(const axis *a, double step, int64_t i)
{
    double x;

    if (a->align)
        return rounded(a, step * (double)i);
    x = rounded(a, rounded(a, step * ((double)i + 0.5)) - 0.5);
    return x < 0 && a->mode != CUBIC ? 0 : x;
}

static int64_t clamped(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double cubic_near(double x, double a)
{
    return ((a + 2) * x - (a + 3)) * x * x + 1;
}

static double cubic_far(double x, double a)
{
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

/* The elements that make element i, and their weights. */
static int taps_of(const axis *a, double step, int64_t i, int64_t index[MAX_TAPS], double weight[MAX_TAPS])
{
    double x, t;

    weight[0] = 1;
    if (a->mode == NEAREST && (a->out == a->in || a->out == 2 * a->in)) {
        index[0] = i / (a->out / a->in);
        return 1;
    }
    if (a->mode == NEAREST || a->mode == NEAREST_EXACT) {
        x = rounded(a, ((double)i + (a->mode == NEAREST_EXACT ? 0.5 : 0.0)) * step);
        index[0] = clamped((int64_t)floor(x), a->in);
        return 1;
    }
    x = source_of(a, step, i);
    if (a->mode == LINEAR) {
        index[0] = clamped((int64_t)x, a->in);
        index[1] = clamped(index[0] + 1, a->in);
        t = rounded(a, x - (double)index[0]);
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        weight[0] = rounded(a, 1 - t);
        weight[1] = t;
        return 2;
    }
    t = rounded(a, x - floor(x));
    for (int k = 0; k < 4; k++)
        index[k] = clamped((int64_t)floor(x) - 1 + k, a->in);
    weight[0] = cubic_far(t + 1, -0.75);
    weight[1] = cubic_near(t, -0.75);
    weight[2] = cubic_near(1 - t, -0.75);
    weight[3] = cubic_far(2 - t, -0.75);
    return 4;
}

/* Bytes are resampled with weights in fixed point, as many bits as the largest leaves in 16. */
static void quantize(double *w, int64_t n)
{
    double most = 0, unit;
    int bits = 0;

    for (int64_t i = 0; i < n; i++)
        most = w[i] > most ? w[i] : most;
    while (bits < 22 && (int)(0.5 + most * (double)(1 << (bits + 1))) < 1 << 15)
        bits++;
    unit = (double)(1 << bits);
    for (int64_t i = 0; i < n; i++)
        w[i] = trunc(w[i] * unit + (w[i] < 0 ? -0.5 : 0.5)) / unit;
}

/* --- steps --- */

/* A number for each element of the dimension, shaped to multiply: [1, ..., n, ..., 1]. */
static int weights_tensor(mt_tensor **out, const double *w, const axis *a, const mt_tensor *like)
{
    int64_t size[MT_MAX_DIM];

    for (int d = 0; d < like->ndim; d++)
        size[d] = d == a->dim ? a->out : 1;
    if (mt_tensor_new(out, (mt_dtype)like->dtype, like->ndim, size, MT_CPU) < 0)
        return -1;
    for (int64_t i = 0; i < a->out; i++)
        if (a->wide)
            ((double *)mt_tensor_mutable_data(*out))[i] = w[i];
        else
            ((float *)mt_tensor_mutable_data(*out))[i] = (float)w[i];
    return 0;
}

static int to_device(mt_tensor **t, mt_device device)
{
    mt_tensor *moved = NULL;

    if (mt_device_equal((*t)->device, device))
        return 0;
    if (mt_to_device(&moved, *t, device, (mt_dtype)(*t)->dtype, false, false, MT_FORMAT_PRESERVE) < 0)
        return -1;
    mt_tensor_unref(*t);
    *t = moved;
    return 0;
}

/* x becomes x + selection * weight, or the selection itself when it is the only one. */
static int add_tap(mt_tensor **sum, mt_tensor *x, mt_tensor *index, const double *w, const axis *a, bool only)
{
    mt_tensor *picked = NULL, *weight = NULL, *scaled = NULL, *next = NULL;
    int rc = -1;

    MT_TRY(mt_index_select(&picked, x, a->dim, index));
    if (only) {
        *sum = mt_tensor_move(&picked);
        return 0;
    }
    MT_TRY(weights_tensor(&weight, w, a, x));
    MT_TRY(to_device(&weight, x->device));
    MT_TRY(mt_mul(&scaled, picked, weight));
    if (*sum) {
        MT_TRY(mt_add(&next, *sum, scaled, mt_scalar_from_int(1)));
        mt_tensor_unref(*sum);
        *sum = mt_tensor_move(&next);
    } else {
        *sum = mt_tensor_move(&scaled);
    }
    rc = 0;
fail:
    mt_tensor_clear(&picked);
    mt_tensor_clear(&weight);
    mt_tensor_clear(&scaled);
    return rc;
}

static int by_taps(mt_tensor **out, mt_tensor *x, const axis *a)
{
    double step = step_of(a), *weight = NULL;
    mt_tensor *index[MAX_TAPS] = {NULL};
    int n = a->mode == LINEAR ? 2 : a->mode == CUBIC ? 4 : 1, rc = -1;

    *out = NULL;
    MT_TRY(mt_calloc((void **)&weight, (size_t)(a->out * MAX_TAPS), sizeof(double)));
    for (int k = 0; k < n; k++)
        MT_TRY(mt_tensor_new(&index[k], MT_DTYPE_i64, 1, &a->out, MT_CPU));
    for (int64_t i = 0; i < a->out; i++) {
        int64_t at[MAX_TAPS];
        double w[MAX_TAPS];

        taps_of(a, step, i, at, w);
        for (int k = 0; k < n; k++) {
            ((int64_t *)mt_tensor_mutable_data(index[k]))[i] = at[k];
            weight[k * a->out + i] = w[k];
        }
    }
    for (int k = 0; k < n; k++) {
        MT_TRY(to_device(&index[k], x->device));
        MT_TRY(add_tap(out, x, index[k], weight + k * a->out, a, n == 1));
    }
    rc = 0;
fail:
    for (int k = 0; k < n; k++)
        mt_tensor_clear(&index[k]);
    mt_free(weight);
    if (rc < 0)
        mt_tensor_clear(out);
    return rc;
}

/* --- by a matrix: antialias, bytes --- */

static double triangle_or_cubic(int mode, double x)
{
    x = fabs(x);
    if (mode == LINEAR)
        return x < 1 ? 1 - x : 0;
    return x < 1 ? cubic_near(x, -0.5) : x < 2 ? cubic_far(x, -0.5) : 0;
}

/* Row i of the matrix: the filter, stretched when the image shrinks, centred at element i and of sum one. */
static void filter_row(double *row, const axis *a, double step, int64_t i)
{
    double stretch = step >= 1 ? step : 1, support = (a->mode == LINEAR ? 1 : 2) * stretch;
    double centre = step * ((double)i + 0.5), sum = 0;
    int64_t first = (int64_t)(centre - support + 0.5), last = (int64_t)(centre + support + 0.5);

    first = first < 0 ? 0 : first;
    last = last > a->in ? a->in : last;
    for (int64_t j = first; j < last; j++)
        sum += row[j] = triangle_or_cubic(a->mode, ((double)j - centre + 0.5) / stretch);
    for (int64_t j = first; sum != 0 && j < last; j++)
        row[j] /= sum;
}

/* The same for taps, those of one element together. */
static void taps_row(double *row, const axis *a, double step, int64_t i)
{
    int64_t index[MAX_TAPS];
    double weight[MAX_TAPS];
    int n = taps_of(a, step, i, index, weight);

    for (int k = 0; k < n; k++)
        row[index[k]] += weight[k];
}

static int by_matrix(mt_tensor **out, mt_tensor *x, const axis *a)
{
    mt_tensor *matrix = NULL, *cast = NULL, *turned = NULL, *product = NULL;
    double step = step_of(a);
    int rc = -1;

    MT_TRY(mt_tensor_new_zeroed(&matrix, MT_DTYPE_f64, 2, (const int64_t[]){a->out, a->in}, MT_CPU));
    for (int64_t i = 0; i < a->out; i++)
        (a->antialias ? filter_row : taps_row)((double *)mt_tensor_mutable_data(matrix) + i * a->in, a, step, i);
    if (a->bytes)
        quantize((double *)mt_tensor_mutable_data(matrix), matrix->numel);
    MT_TRY(mt_to_device(&cast, matrix, x->device, (mt_dtype)x->dtype, false, false, MT_FORMAT_PRESERVE));
    MT_TRY(mt_movedim_int(&turned, x, a->dim, -2));
    MT_TRY(mt_matmul(&product, cast, turned));
    MT_TRY(mt_movedim_int(out, product, -2, a->dim));
    rc = 0;
fail:
    mt_tensor_clear(&matrix);
    mt_tensor_clear(&cast);
    mt_tensor_clear(&turned);
    mt_tensor_clear(&product);
    return rc;
}

/* --- the whole --- */

static int refuse_dtype(const mt_tensor *x, int mode, int spatial)
{
    static const char *const stem[] = {"nearest", "nearest_exact", "linear", "bicubic"};

    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"upsample_%s%dd\" not implemented for '%s'", stem[mode], spatial,
                        mt_dtype_table[x->dtype].legacy);
}

static int check(const mt_tensor *x, int mode, int spatial, const int64_t *size)
{
    bool bytes = x->dtype == MT_DTYPE_u8 && (mode == NEAREST || mode == NEAREST_EXACT || spatial == 2);
    mt_shape_text a, b;
    int rc = -1;

    MT_REQUIRE(x->ndim == spatial + 2, MT_ERR_RUNTIME, "It is expected input_size equals to %d, but got size %d",
               spatial + 2, x->ndim);
    for (int i = 0; i < spatial; i++)
        MT_REQUIRE(x->size[2 + i] > 0 && size[i] > 0, MT_ERR_RUNTIME,
                   "Input and output sizes should be greater than 0, but got input %s output %s",
                   mt_shape_format(&a, x->size + 2, spatial), mt_shape_format(&b, size, spatial));
    if ((!mt_dtype_is_float((mt_dtype)x->dtype) && !bytes) || mt_dtype_is_shell((mt_dtype)x->dtype))
        return refuse_dtype(x, mode, spatial);
    rc = 0;
fail:
    return rc;
}

/* Bytes are rounded to the nearest and kept within their range. */
static int to_bytes(mt_tensor **x)
{
    mt_tensor *half = NULL, *moved = NULL, *whole = NULL, *kept = NULL;
    mt_scalar low = mt_scalar_from_int(0), high = mt_scalar_from_int(255);
    int rc = -1;

    MT_TRY(mt_tensor_from_scalar(&half, mt_scalar_from_double(0.5)));
    MT_TRY(mt_add(&moved, *x, half, mt_scalar_from_int(1)));
    MT_TRY(mt_floor(&whole, moved));
    MT_TRY(mt_clamp(&kept, whole, &low, &high));
    mt_tensor_unref(*x);
    *x = mt_tensor_move(&kept);
    rc = 0;
fail:
    mt_tensor_clear(&half);
    mt_tensor_clear(&moved);
    mt_tensor_clear(&whole);
    return rc;
}

static int resample(mt_tensor **x, int mode, int spatial, const int64_t *size, const double *factor, bool align,
                    bool antialias, bool bytes)
{
    for (int i = spatial - 1; i >= 0; i--) {
        axis a = {2 + i,     mode,      (*x)->size[2 + i],
                  size[i],   factor[i], align,
                  antialias, bytes,     (*x)->dtype == MT_DTYPE_f64 && mode >= LINEAR};
        mt_tensor *next = NULL;

        if (a.in == a.out && (mode == NEAREST || mode == LINEAR || align || factor[i] == 0) && !antialias)
            continue;
        if ((antialias || bytes ? by_matrix(&next, *x, &a) : by_taps(&next, *x, &a)) < 0)
            return -1;
        mt_tensor_unref(*x);
        *x = next;
        if (bytes && to_bytes(x) < 0)
            return -1;
    }
    return 0;
}

/* Half types and bytes are computed in float32. */
static int upsample(mt_tensor **out, mt_tensor *input, int mode, int spatial, const int64_t *size, const double *factor,
                    bool align, bool antialias)
{
    bool bytes = input->dtype == MT_DTYPE_u8 && mode >= LINEAR;
    bool narrow = input->dtype == MT_DTYPE_f16 || input->dtype == MT_DTYPE_bf16 || bytes;
    bool last = input->ndim == 4 && (input->flags & MT_FLAG_CHANNELS_LAST) && !mt_tensor_is_contiguous(input);
    mt_tensor *x = NULL, *same = NULL;
    int rc = -1;

    MT_TRY(check(input, mode, spatial, size));
    if (antialias && narrow && !bytes)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"compute_index_ranges_weights\" not implemented for '%s'",
                            mt_dtype_table[input->dtype].legacy);
    MT_TRY(mt_to_dtype(&x, input, narrow ? MT_DTYPE_f32 : (mt_dtype)input->dtype, false, false, MT_FORMAT_PRESERVE));
    MT_TRY(resample(&x, mode, spatial, size, factor, align, antialias, bytes));
    MT_TRY(mt_to_dtype(&same, x, (mt_dtype)input->dtype, false, x->storage == input->storage, MT_FORMAT_PRESERVE));
    MT_TRY(mt_contiguous(out, same, last ? MT_FORMAT_CHANNELS_LAST : MT_FORMAT_CONTIGUOUS));
    rc = 0;
fail:
    mt_tensor_clear(&x);
    mt_tensor_clear(&same);
    return rc;
}

int mt_impl_upsample_to(mt_tensor **out, mt_tensor *input, int64_t mode, int64_t spatial, mt_ints output_size,
                        mt_floats scale_factors, bool align_corners, bool antialias)
{
    int64_t size[MAX_SPATIAL];
    double factor[MAX_SPATIAL] = {0};
    bool sized = output_size.data != NULL, scaled = scale_factors.data != NULL;
    int rc = -1;

    MT_REQUIRE(sized != scaled, MT_ERR_RUNTIME, "Must specify exactly one of output_size and scale_factors");
    MT_REQUIRE((sized ? output_size.n : scale_factors.n) == spatial, MT_ERR_RUNTIME,
               "upsample: expected %lld numbers in %s, got %lld", (long long)spatial,
               sized ? "output_size" : "scale_factors", (long long)(sized ? output_size.n : scale_factors.n));
    MT_REQUIRE(input->ndim == spatial + 2, MT_ERR_RUNTIME, "It is expected input_size equals to %lld, but got size %d",
               (long long)spatial + 2, input->ndim);
    for (int i = 0; i < (int)spatial; i++) {
        double wanted = sized ? (double)output_size.data[i] : (double)input->size[2 + i] * scale_factors.data[i];

        MT_REQUIRE(wanted > -1e15 && wanted < 1e15, MT_ERR_RUNTIME, "upsample: the output size is out of range");
        size[i] = sized ? output_size.data[i] : (int64_t)wanted;
        factor[i] = sized ? 0 : scale_factors.data[i];
    }
    MT_TRY(upsample(out, input, (int)mode, (int)spatial, size, factor, align_corners, antialias));
    rc = 0;
fail:
    return rc;
}

int mt_impl_upsample_sized(mt_tensor **out, mt_tensor *input, int64_t mode, mt_ints output_size, bool align_corners,
                           bool antialias, const double *scales_d, const double *scales_h, const double *scales_w)
{
    const double *given[] = {scales_d, scales_h, scales_w};
    int spatial = (int)output_size.n;
    double factor[MAX_SPATIAL];

    if (spatial < 1 || spatial > MAX_SPATIAL)
        return mt_error_set(MT_ERR_RUNTIME, "upsample: output_size must have one to three numbers");
    for (int i = 0; i < spatial; i++)
        factor[i] = given[MAX_SPATIAL - spatial + i] ? *given[MAX_SPATIAL - spatial + i] : 0;
    return upsample(out, input, (int)mode, spatial, output_size.data, factor, align_corners, antialias);
}
