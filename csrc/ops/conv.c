/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of convolution: arguments are checked before any arithmetic, in PyTorch's words; the result is channels-last when
   an operand is. The gradients of convolution are allocated here too, those that the mask asks for. */
#include <stdio.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/frame.h"
#include "cpu/conv_op.h"
#include "ops/meta.h"

/* --- arguments --- */

static int check_list(mt_ints list, int nd, const char *name)
{
    mt_shape_text text;

    if (list.n == 1 || list.n == nd)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "expected %s to be a single integer value or a list of %d values to match the convolution "
                        "dimensions, but got %s=%s",
                        name, nd, name, mt_shape_format(&text, list.data, list.n));
}

static bool any_below(mt_ints list, int64_t bound)
{
    for (int i = 0; i < list.n; i++)
        if (list.data[i] < bound)
            return true;
    return false;
}

/* The lists and groups, as far as they can be judged without the input. */
static int check_parameters(const mt_tensor *weight, const mt_value *list, int64_t groups)
{
    mt_ints stride = mt_arg_ints(&list[0]), padding = mt_arg_ints(&list[1]), dilation = mt_arg_ints(&list[2]);
    mt_ints output_padding = mt_arg_ints(&list[4]);
    mt_shape_text text;
    int nd = weight->ndim - 2, rc = -1;

    MT_REQUIRE(nd >= 1, MT_ERR_RUNTIME, "weight should have at least three dimensions");
    MT_REQUIRE(nd <= 3, MT_ERR_RUNTIME, "convolution over more than three dimensions is not supported");
    MT_REQUIRE(groups > 0, MT_ERR_RUNTIME, "non-positive groups is not supported");
    MT_TRY(check_list(stride, nd, "stride"));
    MT_TRY(check_list(padding, nd, "padding"));
    MT_TRY(check_list(dilation, nd, "dilation"));
    MT_TRY(check_list(output_padding, nd, "output_padding"));
    MT_REQUIRE(!any_below(padding, 0), MT_ERR_RUNTIME, "negative padding is not supported");
    MT_REQUIRE(!any_below(output_padding, 0), MT_ERR_RUNTIME, "negative output_padding is not supported");
    MT_REQUIRE(!any_below(stride, 1), MT_ERR_RUNTIME, "non-positive stride is not supported");
    MT_REQUIRE(!any_below(dilation, 1), MT_ERR_RUNTIME, "dilation should be greater than zero, but got %s",
               mt_shape_format(&text, dilation.data, dilation.n));
    rc = 0;
fail:
    return rc;
}

static int check_channels(const mt_tensor *input, const mt_tensor *weight, int64_t groups, bool transposed)
{
    mt_shape_text a, b;
    int64_t expected = transposed ? weight->size[0] : weight->size[1];
    int rc = -1;

    MT_REQUIRE(
        input->ndim == weight->ndim, MT_ERR_RUNTIME,
        "Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional input of size %s instead",
        weight->ndim, weight->ndim, mt_shape_format(&a, weight->size, weight->ndim), input->ndim,
        mt_shape_format(&b, input->size, input->ndim));
    MT_REQUIRE(
        weight->size[0] >= groups, MT_ERR_RUNTIME,
        "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size %s instead",
        (long long)groups, (long long)groups, mt_shape_format(&a, weight->size, weight->ndim));
    MT_REQUIRE(weight->size[0] % groups == 0, MT_ERR_RUNTIME,
               "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of size [%s] "
               "instead",
               (long long)groups, (long long)groups, mt_shape_format(&a, weight->size, weight->ndim));
    if (!transposed)
        MT_REQUIRE(!mt_mul_overflow(expected, groups, &expected), MT_ERR_RUNTIME, "groups is too large");
    if (transposed)
        MT_REQUIRE(
            input->size[1] == expected, MT_ERR_RUNTIME,
            "Given transposed=1, weight of size %s, expected input%s to have %lld channels, but got %lld channels "
            "instead",
            mt_shape_format(&a, weight->size, weight->ndim), mt_shape_format(&b, input->size, input->ndim),
            (long long)expected, (long long)input->size[1]);
    else
        MT_REQUIRE(
            input->size[1] == expected, MT_ERR_RUNTIME,
            "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels "
            "instead",
            (long long)groups, mt_shape_format(&a, weight->size, weight->ndim),
            mt_shape_format(&b, input->size, input->ndim), (long long)expected, (long long)input->size[1]);
    rc = 0;
fail:
    return rc;
}

static int check_bias(const mt_tensor *bias, const mt_tensor *weight, int64_t channels, bool transposed)
{
    mt_shape_text a, b;

    if (!bias || (bias->ndim == 1 && bias->size[0] == channels))
        return 0;
    return mt_error_set(
        MT_ERR_RUNTIME,
        "Given %sweight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of "
        "size %s instead",
        transposed ? "transposed=1, " : "", mt_shape_format(&a, weight->size, weight->ndim), (long long)channels,
        mt_shape_format(&b, bias->size, bias->ndim));
}

static int check_dtypes(const mt_tensor *input, const mt_tensor *weight, const mt_tensor *bias, bool transposed)
{
    bool is_other_int = mt_dtype_is_integral((mt_dtype)input->dtype, true) && input->dtype != MT_DTYPE_i64;

    if (mt_meta_same_dtype(input, weight) < 0)
        return -1;
    if (bias && bias->dtype != input->dtype)
        return mt_error_set(MT_ERR_RUNTIME, "Input type (%s) and bias type (%s) should be the same",
                            mt_dtype_element((mt_dtype)input->dtype), mt_dtype_element((mt_dtype)bias->dtype));
    if (transposed && is_other_int)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"slow_conv_transpose%dd_out_cpu\" not implemented for '%s'",
                            input->ndim == 5 ? 3 : 2, mt_dtype_table[input->dtype].legacy);
    if (mt_dtype_is_complex((mt_dtype)input->dtype) || input->dtype == MT_DTYPE_b8)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"slow_conv2d_cpu\" not implemented for '%s'",
                            mt_dtype_table[input->dtype].legacy);
    return 0;
}

/* --- sizes --- */

typedef struct size_text {
    char text[120];
} size_text;

/* "8 x 8" */
static const char *format_sizes(size_text *out, const int64_t *size, int n)
{
    int at = 0;

    for (int i = 0; i < n; i++)
        at += snprintf(out->text + at, sizeof out->text - (size_t)at, "%s%lld", i ? " x " : "", (long long)size[i]);
    return out->text;
}

static int check_kernel(const mt_conv_args *a)
{
    if (a->kernel[0] > 0 && a->kernel[1] > 0 && a->kernel[2] > 0)
        return 0;
    if (a->nd == 3)
        return mt_error_set(MT_ERR_RUNTIME,
                            "kernel size should be greater than zero, but got kernel_depth: %lld kernel_height: %lld "
                            "kernel_width: %lld",
                            (long long)a->kernel[0], (long long)a->kernel[1], (long long)a->kernel[2]);
    return mt_error_set(MT_ERR_RUNTIME,
                        "kernel size should be greater than zero, but got kernel_height: %lld kernel_width: %lld",
                        (long long)a->kernel[1], (long long)a->kernel[2]);
}

/* Extent of a kernel and of the padded input; an error when one of them is beyond reason. */
static int extents(int64_t *kernel, int64_t *padded, const mt_conv_args *a, const mt_tensor *input, int i)
{
    int d = 3 - a->nd + i;

    if (mt_mul_overflow(a->kernel[d] - 1, a->dilation[d], kernel) || mt_add_overflow(*kernel, 1, kernel) ||
        mt_mul_overflow(a->pad[d], 2, padded) || mt_add_overflow(*padded, input->size[2 + i], padded))
        return mt_error_set(MT_ERR_RUNTIME, "convolution: padding or dilation is too large");
    return 0;
}

/* Of the integers only int64 can be spread out. */
static int check_dilated(const mt_conv_args *a, const mt_tensor *input)
{
    bool is_dilated = a->dilation[0] > 1 || a->dilation[1] > 1 || a->dilation[2] > 1;

    if (!is_dilated || !mt_dtype_is_integral((mt_dtype)input->dtype, true) || input->dtype == MT_DTYPE_i64)
        return 0;
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"slow_conv_dilated<>\" not implemented for '%s'",
                        mt_dtype_table[input->dtype].legacy);
}

static int forward_sizes(int64_t *out, const mt_conv_args *a, const mt_tensor *input)
{
    int64_t kernel[3], padded[3];
    size_text p, k;
    bool fits = true;

    for (int i = 0; i < a->nd; i++) {
        int d = 3 - a->nd + i;

        if (extents(&kernel[i], &padded[i], a, input, i) < 0)
            return -1;
        fits &= padded[i] >= kernel[i] && input->size[2 + i] > 0;
        out[i] = padded[i] >= kernel[i] ? (padded[i] - kernel[i]) / a->stride[d] + 1 : 0;
    }
    if (fits)
        return 0;
    return mt_error_set(
        MT_ERR_RUNTIME,
        "Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater "
        "than actual input size",
        format_sizes(&p, padded, a->nd), format_sizes(&k, kernel, a->nd));
}

static int check_output_padding(const mt_conv_args *a)
{
    bool fits = true;

    for (int d = 3 - a->nd; d < 3; d++)
        fits &= a->output_pad[d] < a->stride[d] || a->output_pad[d] < a->dilation[d];
    if (fits)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "output padding must be smaller than either stride or dilation, but got output_padding_height: "
                        "%lld output_padding_width: %lld stride_height: %lld stride_width: %lld dilation_height: %lld "
                        "dilation_width: %lld",
                        (long long)a->output_pad[1], (long long)a->output_pad[2], (long long)a->stride[1],
                        (long long)a->stride[2], (long long)a->dilation[1], (long long)a->dilation[2]);
}

static int transposed_sizes(int64_t *out, const mt_conv_args *a, const mt_tensor *input)
{
    size_text in, result;
    bool fits = true;

    if (check_output_padding(a) < 0)
        return -1;
    for (int i = 0; i < a->nd; i++) {
        int d = 3 - a->nd + i;
        int64_t kernel, padded, reach;

        if (extents(&kernel, &padded, a, input, i) < 0)
            return -1;
        if (mt_mul_overflow(input->size[2 + i] - 1, a->stride[d], &reach) || mt_add_overflow(reach, kernel, &reach) ||
            mt_add_overflow(reach, a->output_pad[d], &reach))
            return mt_error_set(MT_ERR_RUNTIME, "convolution: the output is too large");
        out[i] = reach - 2 * a->pad[d];
        fits &= out[i] > 0 && input->size[2 + i] > 0;
    }
    if (fits)
        return 0;
    return mt_error_set(
        MT_ERR_RUNTIME,
        "Given input size per channel: (%s). Calculated output size per channel: (%s). Output size is too "
        "small",
        format_sizes(&in, input->size + 2, a->nd), format_sizes(&result, out, a->nd));
}

/* --- memory order --- */

static void channels_last_strides(int64_t *stride, int ndim, const int64_t *size)
{
    int64_t step = 1;

    for (int k = 0; k < ndim; k++) {
        int d = k == 0 ? 1 : k == ndim - 1 ? 0 : ndim - k;

        stride[d] = step;
        step *= size[d] > 1 ? size[d] : 1;
    }
}

/* --- rules --- */

int mt_meta_convolution(mt_call *call)
{
    const mt_tensor *input = mt_arg_tensor(&call->arg[0]), *weight = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *bias = mt_arg_tensor(&call->arg[2]);
    bool transposed = mt_arg_bool(&call->arg[6]), channels_last;
    int64_t groups = mt_arg_int(&call->arg[8]), size[5], stride[5];
    mt_conv_args a;
    mt_device device;

    if (check_parameters(weight, &call->arg[3], groups) < 0 || check_channels(input, weight, groups, transposed) < 0)
        return -1;
    size[0] = input->size[0];
    size[1] = transposed ? weight->size[1] * groups : weight->size[0];
    if (check_bias(bias, weight, size[1], transposed) < 0 || check_dtypes(input, weight, bias, transposed) < 0)
        return -1;
    mt_conv_args_read(&a, weight, mt_arg_ints(&call->arg[3]), mt_arg_ints(&call->arg[4]), mt_arg_ints(&call->arg[5]),
                      transposed, mt_arg_ints(&call->arg[7]), groups);
    if (check_dilated(&a, input) < 0 || check_kernel(&a) < 0 ||
        (transposed ? transposed_sizes : forward_sizes)(size + 2, &a, input) < 0 ||
        mt_meta_common_device(&device, call) < 0)
        return -1;
    if (input->size[1] == 0)
        size[1] = 0; /* no channels in, none out */
    channels_last = mt_conv_prefers_channels_last(input) || mt_conv_prefers_channels_last(weight);
    if (channels_last)
        channels_last_strides(stride, input->ndim, size);
    return mt_out_prepare(call, 0, (mt_dtype)input->dtype, input->ndim, size, channels_last ? stride : NULL, device,
                          false);
}

/* A gradient in the memory order of the tensor it belongs to. */
static int prepare_like(mt_call *call, int k, const mt_tensor *like, bool keep_order)
{
    int64_t stride[5];
    bool channels_last = keep_order && mt_conv_prefers_channels_last(like);

    if (channels_last)
        channels_last_strides(stride, like->ndim, like->size);
    return mt_out_prepare(call, k, (mt_dtype)like->dtype, like->ndim, like->size, channels_last ? stride : NULL,
                          like->device, false);
}

static int check_gradient(const mt_tensor *grad, const mt_conv_args *a, const mt_tensor *input, const mt_tensor *weight)
{
    int64_t size[5] = {input->size[0], a->transposed ? weight->size[1] * a->groups : weight->size[0]};
    mt_shape_text x, y;

    if (check_kernel(a) < 0 || (a->transposed ? transposed_sizes : forward_sizes)(size + 2, a, input) < 0)
        return -1;
    if (input->size[1] == 0)
        size[1] = 0;
    if (!mt_shape_equal(grad->ndim, grad->size, input->ndim, size))
        return mt_error_set(MT_ERR_RUNTIME, "convolution_backward(): expected grad_output of size %s, but got %s",
                            mt_shape_format(&x, size, input->ndim), mt_shape_format(&y, grad->size, grad->ndim));
    return mt_meta_same_dtype(input, grad);
}

int mt_meta_convolution_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *input = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *weight = mt_arg_tensor(&call->arg[2]);
    mt_ints bias_sizes = mt_arg_ints(&call->arg[3]), mask = mt_arg_ints(&call->arg[10]);
    int64_t groups = mt_arg_int(&call->arg[9]);
    bool transposed = mt_arg_bool(&call->arg[7]);
    mt_conv_args a;
    int rc = -1;

    MT_REQUIRE(mask.n == 3, MT_ERR_RUNTIME, "convolution_backward(): output_mask must have three elements");
    MT_TRY(check_parameters(weight, &call->arg[4], groups));
    MT_TRY(check_channels(input, weight, groups, transposed));
    MT_TRY(mt_meta_same_dtype(input, weight));
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)input->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"slow_conv2d_cpu_grad_input\" not implemented for '%s'", mt_dtype_table[input->dtype].legacy);
    mt_conv_args_read(&a, weight, mt_arg_ints(&call->arg[4]), mt_arg_ints(&call->arg[5]), mt_arg_ints(&call->arg[6]),
                      transposed, mt_arg_ints(&call->arg[8]), groups);
    MT_TRY(check_gradient(grad, &a, input, weight));
    if (mask.data[0])
        MT_TRY(prepare_like(call, 0, input, true));
    if (mask.data[1])
        MT_TRY(prepare_like(call, 1, weight, false));
    if (mask.data[2]) {
        MT_REQUIRE(bias_sizes.n < 0 || (bias_sizes.n == 1 && bias_sizes.data[0] == grad->size[1]), MT_ERR_RUNTIME,
                   "convolution_backward(): bias_sizes does not match grad_output");
        MT_TRY(mt_out_prepare(call, 2, (mt_dtype)grad->dtype, 1, &grad->size[1], NULL, grad->device, false));
    }
    rc = 0;
fail:
    return rc;
}
