/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of pooling: window arguments are checked in PyTorch's order and words, sizes are computed without overflow. Pooling
   over one dim is pooling over two, the first of size one. */
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/formula.h"
#include "core/frame.h"
#include "cpu/conv_op.h"
#include "ops.h"
#include "ops/meta.h"

/* --- windows --- */

typedef struct windows {
    int64_t kernel[2], stride[2], pad[2], dilation[2];
    bool ceil_mode;
} windows;

static int read_pair(int64_t out[2], mt_ints list, const int64_t *missing, const char *op, const char *name,
                     const char *allowed)
{
    if (list.n != 1 && list.n != 2 && !(list.n <= 0 && missing))
        return mt_error_set(MT_ERR_RUNTIME, "%s: %s must %s a single int, or a tuple of two ints", op, name, allowed);
    for (int i = 0; i < 2; i++)
        out[i] = list.n <= 0 ? missing[i] : list.data[list.n == 1 ? 0 : i];
    return 0;
}

static int read_windows(windows *w, const char *op, mt_ints kernel, mt_ints stride, mt_ints padding, mt_ints dilation,
                        bool ceil_mode)
{
    static const int64_t ones[2] = {1, 1};

    w->ceil_mode = ceil_mode;
    if (read_pair(w->kernel, kernel, NULL, op, "kernel_size", "either be") < 0 ||
        read_pair(w->stride, stride, w->kernel, op, "stride", "either be omitted,") < 0 ||
        read_pair(w->pad, padding, NULL, op, "padding", "either be") < 0)
        return -1;
    return read_pair(w->dilation, dilation, ones, op, "dilation", "be either");
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* The number of windows along one dim. */
static int count_windows(int64_t *out, const windows *w, int d, int64_t in)
{
    int64_t kernel = w->kernel[d], stride = w->stride[d], pad = w->pad[d], dilation = w->dilation[d], reach, room;
    int rc = -1;

    MT_REQUIRE(stride != 0, MT_ERR_RUNTIME, "stride should not be zero");
    MT_REQUIRE(pad >= 0, MT_ERR_RUNTIME, "pad must be non-negative, but got pad: %lld", (long long)pad);
    MT_REQUIRE(!mt_mul_overflow(kernel - 1, dilation, &reach) && !mt_add_overflow(reach, 1, &reach), MT_ERR_RUNTIME,
               "the window of pooling is too large");
    MT_REQUIRE(
        pad <= reach / 2, MT_ERR_RUNTIME,
        "pad should be at most half of effective kernel size, but got pad=%lld, kernel_size=%lld and dilation=%lld",
        (long long)pad, (long long)kernel, (long long)dilation);
    MT_REQUIRE(!mt_mul_overflow(pad, 2, &room) && !mt_add_overflow(room, in, &room) &&
                   !__builtin_sub_overflow(room, reach, &room) &&
                   !(w->ceil_mode && mt_add_overflow(room, stride - 1, &room)),
               MT_ERR_RUNTIME, "the window of pooling is too large");
    *out = floor_div(room, stride) + 1;
    if (w->ceil_mode && *out > 0 && stride > 0 && (*out - 1) * stride >= in + pad)
        --*out;
    rc = 0;
fail:
    return rc;
}

static int check_values(const windows *w)
{
    int rc = -1;

    MT_REQUIRE(w->kernel[0] > 0 && w->kernel[1] > 0, MT_ERR_RUNTIME,
               "kernel size should be greater than zero, but got kH: %lld kW: %lld", (long long)w->kernel[0],
               (long long)w->kernel[1]);
    MT_REQUIRE(w->stride[0] > 0 && w->stride[1] > 0, MT_ERR_RUNTIME,
               "stride should be greater than zero, but got dH: %lld dW: %lld", (long long)w->stride[0],
               (long long)w->stride[1]);
    MT_REQUIRE(w->dilation[0] > 0 && w->dilation[1] > 0, MT_ERR_RUNTIME,
               "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld",
               (long long)w->dilation[0], (long long)w->dilation[1]);
    rc = 0;
fail:
    return rc;
}

/* Sizes of the result, ndim as the input's. */
static int pooled_size(int64_t *size, const windows *w, const mt_tensor *in)
{
    int n = in->ndim, rc = -1;
    int64_t taps;
    mt_shape_text text;

    MT_TRY(count_windows(&size[n - 2], w, 0, in->size[n - 2]));
    MT_TRY(count_windows(&size[n - 1], w, 1, in->size[n - 1]));
    MT_TRY(check_values(w));
    for (int i = n - 3; i < n; i++)
        MT_REQUIRE(in->size[i] != 0, MT_ERR_RUNTIME,
                   "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
                   mt_shape_format(&text, in->size, n));
    MT_REQUIRE(size[n - 2] >= 1 && size[n - 1] >= 1, MT_ERR_RUNTIME,
               "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). Output size is too small",
               (long long)in->size[n - 3], (long long)in->size[n - 2], (long long)in->size[n - 1],
               (long long)in->size[n - 3], (long long)size[n - 2], (long long)size[n - 1]);
    MT_REQUIRE(!mt_mul_overflow(w->kernel[0], w->kernel[1], &taps) && taps <= INT32_MAX, MT_ERR_RUNTIME,
               "the window of pooling is too large");
    for (int i = 0; i < n - 2; i++)
        size[i] = in->size[i];
    rc = 0;
fail:
    return rc;
}

/* --- memory order --- */

static bool keeps_channels_last(int64_t *stride, const mt_tensor *in, const int64_t *size)
{
    if (in->ndim != 4 || !mt_conv_prefers_channels_last(in))
        return false;
    return mt_shape_channels_last_strides(stride, 4, size) == 0;
}

static int prepare(mt_call *call, int k, mt_dtype dtype, const mt_tensor *in, const int64_t *size)
{
    int64_t stride[4];
    bool ordered = keeps_channels_last(stride, in, size);

    return mt_out_prepare(call, k, dtype, in->ndim, size, ordered ? stride : NULL, in->device, false);
}

static int not_implemented(const char *op, const mt_tensor *t)
{
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", op, mt_dtype_table[t->dtype].legacy);
}

/* --- rules of max --- */

static int max_windows(windows *w, const mt_call *call, int first)
{
    return read_windows(w, "max_pool2d", mt_arg_ints(&call->arg[first]), mt_arg_ints(&call->arg[first + 1]),
                        mt_arg_ints(&call->arg[first + 2]), mt_arg_ints(&call->arg[first + 3]),
                        mt_arg_bool(&call->arg[first + 4]));
}

int mt_meta_max_pool2d(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t size[4];
    windows w;
    int rc = -1;

    MT_TRY(max_windows(&w, call, 1));
    MT_REQUIRE(self->ndim == 3 || self->ndim == 4, MT_ERR_RUNTIME,
               "non-empty 3D or 4D (batch mode) tensor expected for input");
    MT_TRY(pooled_size(size, &w, self));
    if (self->dtype == MT_DTYPE_b8 || mt_dtype_is_complex((mt_dtype)self->dtype))
        return not_implemented("max_pool2d", self);
    MT_TRY(prepare(call, 0, (mt_dtype)self->dtype, self, size));
    rc = prepare(call, 1, MT_DTYPE_i64, self, size);
fail:
    return rc;
}

static int check_gradient(const mt_tensor *grad, const mt_tensor *self, const int64_t *size, const char *op)
{
    mt_shape_text a, b;

    if (!mt_dtype_is_float((mt_dtype)self->dtype))
        return not_implemented(op, self);
    if (mt_meta_same_dtype(self, grad) < 0)
        return -1;
    if (mt_shape_equal(grad->ndim, grad->size, self->ndim, size))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "%s(): expected grad_output of size %s, but got %s", op,
                        mt_shape_format(&a, size, self->ndim), mt_shape_format(&b, grad->size, grad->ndim));
}

int mt_meta_max_pool2d_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *self = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *indices = mt_arg_tensor(&call->arg[7]);
    int64_t size[4];
    windows w;
    int rc = -1;

    MT_TRY(max_windows(&w, call, 2));
    MT_REQUIRE(self->ndim == 3 || self->ndim == 4, MT_ERR_RUNTIME,
               "non-empty 3D or 4D (batch mode) tensor expected for input");
    MT_TRY(pooled_size(size, &w, self));
    MT_TRY(check_gradient(grad, self, size, "max_pool2d_with_indices_backward"));
    MT_REQUIRE(indices->dtype == MT_DTYPE_i64 && mt_shape_equal(indices->ndim, indices->size, self->ndim, size),
               MT_ERR_RUNTIME, "max_pool2d_with_indices_backward(): expected int64 indices of the size of grad_output");
    rc = prepare(call, 0, (mt_dtype)self->dtype, self, self->size);
fail:
    return rc;
}

/* --- rules of means --- */

static int mean_size(int64_t *size, const mt_call *call, int first, const mt_tensor *self)
{
    const int64_t *divisor = mt_arg_int_opt(&call->arg[first + 5]);
    windows w;
    int rc = -1;

    MT_TRY(read_windows(&w, "avg_pool2d", mt_arg_ints(&call->arg[first]), mt_arg_ints(&call->arg[first + 1]),
                        mt_arg_ints(&call->arg[first + 2]), (mt_ints){NULL, 0}, mt_arg_bool(&call->arg[first + 3])));
    MT_REQUIRE(!divisor || *divisor != 0, MT_ERR_RUNTIME, "divisor must be not zero");
    MT_REQUIRE(self->ndim >= 3, MT_ERR_INDEX,
               "Dimension out of range (expected to be in range of [%d, %d], but got -3)",
               self->ndim ? -self->ndim : -1, self->ndim ? self->ndim - 1 : 0);
    MT_REQUIRE(self->ndim <= 4, MT_ERR_RUNTIME, "non-empty 3D or 4D (batch mode) tensor expected for input");
    rc = pooled_size(size, &w, self);
fail:
    return rc;
}

int mt_meta_avg_pool2d(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t size[4];

    if (mean_size(size, call, 1, self) < 0)
        return -1;
    if (!mt_dtype_is_float((mt_dtype)self->dtype) && self->dtype != MT_DTYPE_i64)
        return not_implemented("avg_pool2d", self);
    return prepare(call, 0, (mt_dtype)self->dtype, self, size);
}

int mt_meta_avg_pool2d_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *self = mt_arg_tensor(&call->arg[1]);
    int64_t size[4];

    if (mean_size(size, call, 2, self) < 0 || check_gradient(grad, self, size, "avg_pool2d_backward") < 0)
        return -1;
    return prepare(call, 0, (mt_dtype)self->dtype, self, self->size);
}

static int check_adaptive_input(const mt_tensor *self)
{
    mt_shape_text text;
    int rc = -1;

    MT_REQUIRE(self->ndim == 3 || self->ndim == 4, MT_ERR_RUNTIME,
               "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got %s",
               mt_shape_format(&text, self->size, self->ndim));
    for (int i = self->ndim - 2; i < self->ndim; i++)
        MT_REQUIRE(
            self->size[i] > 0, MT_ERR_RUNTIME,
            "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, but input has "
            "sizes %s with dimension %d being empty",
            mt_shape_format(&text, self->size, self->ndim), i);
    rc = mt_dtype_is_float((mt_dtype)self->dtype) ? 0 : not_implemented("adaptive_avg_pool2d", self);
fail:
    return rc;
}

int mt_meta_adaptive_avg_pool2d(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    mt_ints output = mt_arg_ints(&call->arg[1]);
    int64_t size[4], out[2];
    int rc = -1;

    MT_REQUIRE(output.n == 1 || output.n == 2, MT_ERR_RUNTIME, "adaptive_avg_pool2d: output_size must be 2");
    out[0] = output.data[0];
    out[1] = output.data[output.n - 1];
    MT_REQUIRE(
        out[0] >= 0 && out[1] >= 0, MT_ERR_RUNTIME,
        "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received {%lld, %lld}",
        (long long)out[0], (long long)out[1]);
    MT_REQUIRE(out[0] < (int64_t)1 << 31 && out[1] < (int64_t)1 << 31, MT_ERR_RUNTIME,
               "adaptive_avg_pool2d: output_size is too large");
    MT_TRY(check_adaptive_input(self));
    memcpy(size, self->size, (size_t)self->ndim * sizeof(size[0]));
    size[self->ndim - 2] = out[0];
    size[self->ndim - 1] = out[1];
    rc = prepare(call, 0, (mt_dtype)self->dtype, self, size);
fail:
    return rc;
}

int mt_meta_adaptive_avg_pool2d_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *self = mt_arg_tensor(&call->arg[1]);
    int rc = -1;

    MT_TRY(check_adaptive_input(self));
    MT_REQUIRE(grad->ndim == self->ndim && mt_shape_equal(grad->ndim - 2, grad->size, self->ndim - 2, self->size),
               MT_ERR_RUNTIME, "adaptive_avg_pool2d_backward(): grad_output does not fit the input");
    MT_TRY(mt_meta_same_dtype(self, grad));
    rc = prepare(call, 0, (mt_dtype)self->dtype, self, self->size);
fail:
    return rc;
}

/* --- one dim --- */

static int check_ndim(const mt_tensor *self, const char *op)
{
    if (self->ndim == 2 || self->ndim == 3)
        return 0;
    return mt_error_set(
        MT_ERR_RUNTIME,
        "Expected 2 to 3 dimensions, but got %d-dimensional tensor for argument #1 'self' (while checking "
        "arguments for %s)",
        self->ndim, op);
}

static int64_t single(mt_ints list, int64_t missing)
{
    return list.n <= 0 ? missing : list.data[0];
}

static int check_max1d(const mt_tensor *self, mt_ints kernel, mt_ints stride, mt_ints padding, mt_ints dilation,
                       bool ceil_mode)
{
    int64_t k = single(kernel, 1), s = single(stride, k), p = single(padding, 0), d = single(dilation, 1), n;
    mt_shape_text text;
    int rc = -1;

    MT_REQUIRE((self->ndim == 2 || self->ndim == 3) && self->size[self->ndim - 1] > 0 && self->size[self->ndim - 2] > 0,
               MT_ERR_RUNTIME,
               "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:%s",
               mt_shape_format(&text, self->size, self->ndim));
    MT_REQUIRE(k > 0, MT_ERR_RUNTIME, "max_pool1d() kernel_size must be greater than zero, but got %lld", (long long)k);
    MT_REQUIRE(s > 0, MT_ERR_RUNTIME, "max_pool1d() stride must be greater than zero, but got %lld", (long long)s);
    MT_REQUIRE(p >= 0, MT_ERR_RUNTIME, "max_pool1d() padding must be non-negative, but got %lld", (long long)p);
    MT_REQUIRE(p <= k / 2, MT_ERR_RUNTIME,
               "max_pool1d() padding should be at most half of kernel size, but got padding=%lld and kernel_size=%lld",
               (long long)p, (long long)k);
    MT_REQUIRE(d > 0, MT_ERR_RUNTIME, "max_pool1d() dilation must be greater than zero, but got %lld", (long long)d);
    MT_TRY(count_windows(&n, &(windows){{1, k}, {1, s}, {0, p}, {1, d}, ceil_mode}, 1, self->size[self->ndim - 1]));
    MT_REQUIRE(n > 0, MT_ERR_RUNTIME, "max_pool1d() Invalid computed output size: %lld", (long long)n);
    rc = 0;
fail:
    return rc;
}

int mt_impl_max_pool1d_with_indices(mt_tensor **out0, mt_tensor **out1, mt_tensor *self, mt_ints kernel_size,
                                    mt_ints stride, mt_ints padding, mt_ints dilation, bool ceil_mode)
{
    mt_tensor *plane = NULL, *best = NULL, *index = NULL;
    int rc = -1;

    *out0 = *out1 = NULL;
    MT_TRY(check_max1d(self, kernel_size, stride, padding, dilation, ceil_mode));
    MT_TRY(mt_unsqueeze(&plane, self, -2));
    MT_TRY(mt_max_pool2d_with_indices(&best, &index, plane, (mt_ints){(const int64_t[]){1, single(kernel_size, 1)}, 2},
                                      (mt_ints){(const int64_t[]){1, single(stride, single(kernel_size, 1))}, 2},
                                      (mt_ints){(const int64_t[]){0, single(padding, 0)}, 2},
                                      (mt_ints){(const int64_t[]){1, single(dilation, 1)}, 2}, ceil_mode));
    MT_TRY(mt_squeeze_dim(out0, best, -2));
    MT_TRY(mt_squeeze_dim(out1, index, -2));
    rc = 0;
fail:
    mt_tensor_clear(&plane);
    mt_tensor_clear(&best);
    mt_tensor_clear(&index);
    if (rc < 0)
        mt_tensor_clear(out0);
    return rc;
}

int mt_impl_max_pool1d(mt_tensor **out, mt_tensor *self, mt_ints kernel_size, mt_ints stride, mt_ints padding,
                       mt_ints dilation, bool ceil_mode)
{
    mt_tensor *index;
    int rc = mt_impl_max_pool1d_with_indices(out, &index, self, kernel_size, stride, padding, dilation, ceil_mode);

    mt_tensor_unref(index);
    return rc;
}

int mt_impl_avg_pool1d(mt_tensor **out, mt_tensor *self, mt_ints kernel_size, mt_ints stride, mt_ints padding,
                       bool ceil_mode, bool count_include_pad)
{
    mt_tensor *plane = NULL, *mean = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(check_ndim(self, "avg_pool1d"));
    MT_TRY(mt_unsqueeze(&plane, self, -2));
    MT_TRY(mt_avg_pool2d(&mean, plane, (mt_ints){(const int64_t[]){1, single(kernel_size, 1)}, 2},
                         (mt_ints){(const int64_t[]){1, single(stride, single(kernel_size, 1))}, 2},
                         (mt_ints){(const int64_t[]){0, single(padding, 0)}, 2}, ceil_mode, count_include_pad, NULL));
    MT_TRY(mt_squeeze_dim(out, mean, -2));
    rc = 0;
fail:
    mt_tensor_clear(&plane);
    mt_tensor_clear(&mean);
    return rc;
}

int mt_impl_adaptive_avg_pool1d(mt_tensor **out, mt_tensor *self, mt_ints output_size)
{
    mt_tensor *plane = NULL, *mean = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(check_ndim(self, "adaptive_avg_pool1d"));
    MT_TRY(mt_unsqueeze(&plane, self, -2));
    MT_TRY(mt_adaptive_avg_pool2d(&mean, plane, (mt_ints){(const int64_t[]){1, single(output_size, 1)}, 2}));
    MT_TRY(mt_squeeze_dim(out, mean, -2));
    rc = 0;
fail:
    mt_tensor_clear(&plane);
    mt_tensor_clear(&mean);
    return rc;
}
