/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of layer_norm, batch_norm and group_norm: shapes of weights and statistics, and the mixed dtypes that are allowed:
   half inputs may come with float32 weights, then statistics are float32 too. */
#include "base/strbuf.h"
#include "core/frame.h"
#include "ops/meta.h"

/* --- dtypes --- */

/* The dtype of the statistics. params: weights and running statistics, NULL for those not given. */
static int statistics_dtype(mt_dtype *out, const mt_tensor *input, const mt_tensor *const *params, int n, const char *kernel)
{
    bool is_half = input->dtype == MT_DTYPE_f16 || input->dtype == MT_DTYPE_bf16, mixed = false;

    if (!mt_dtype_is_float((mt_dtype)input->dtype))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                            mt_dtype_table[input->dtype].legacy);
    for (int i = 0; i < n; i++)
        mixed |= params[i] && params[i]->dtype != input->dtype;
    for (int i = 0; mixed && i < n; i++)
        if (params[i] && params[i]->dtype != MT_DTYPE_f32)
            return mt_error_set(MT_ERR_RUNTIME, "mixed dtype (CPU): expect parameter to have scalar type of Float");
    if (mixed && !is_half)
        return mt_error_set(MT_ERR_RUNTIME, "mixed dtype (CPU): expect input to have scalar type of BFloat16 or Half");
    *out = mixed ? MT_DTYPE_f32 : (mt_dtype)input->dtype;
    return 0;
}

static int prepare_like(mt_call *call, int k, const mt_tensor *t)
{
    return mt_out_prepare(call, k, (mt_dtype)t->dtype, t->ndim, t->size, NULL, t->device, false);
}

static int prepare_masked(mt_call *call, mt_ints mask, int k, const mt_tensor *t)
{
    return k < mask.n && mask.data[k] && t ? prepare_like(call, k, t) : 0;
}

/* --- layer_norm --- */

static int format_suffix(mt_strbuf *text, mt_ints shape)
{
    for (int i = 0; i < shape.n; i++)
        mt_strbuf_printf(text, ", %lld", (long long)shape.data[i]);
    return mt_strbuf_finish(text);
}

static MT_COLD int wrong_input_shape(const mt_tensor *input, mt_ints shape)
{
    mt_strbuf suffix = MT_STRBUF_INIT;
    mt_shape_text a, b;
    int rc = -1;

    if (format_suffix(&suffix, shape) == 0)
        rc = mt_error_set(MT_ERR_RUNTIME, "Given normalized_shape=%s, expected input with shape [*%s], but got input of size%s",
                          mt_shape_format(&a, shape.data, shape.n), suffix.data,
                          mt_shape_format(&b, input->size, input->ndim));
    mt_strbuf_clear(&suffix);
    return rc;
}

static int check_layer_param(const mt_tensor *t, mt_ints shape, const char *name)
{
    mt_shape_text a, b;

    if (!t || mt_shape_equal(t->ndim, t->size, shape.n, shape.data))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and normalized_shape "
                        "= %s", name, name, mt_shape_format(&a, t->size, t->ndim),
                        mt_shape_format(&b, shape.data, shape.n));
}

static int check_layer(const mt_tensor *input, mt_ints shape, const mt_tensor *weight, const mt_tensor *bias)
{
    if (shape.n < 1)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                            "element, but got normalized_shape = []");
    if (check_layer_param(weight, shape, "weight") < 0 || check_layer_param(bias, shape, "bias") < 0)
        return -1;
    if (input->ndim < shape.n ||
        !mt_shape_equal(shape.n, input->size + (input->ndim - shape.n), shape.n, shape.data))
        return wrong_input_shape(input, shape);
    return 0;
}

int mt_meta_native_layer_norm(mt_call *call)
{
    const mt_tensor *input = mt_arg_tensor(&call->arg[0]), *params[2] = {mt_arg_tensor(&call->arg[2]),
                                                                        mt_arg_tensor(&call->arg[3])};
    mt_ints shape = mt_arg_ints(&call->arg[1]);
    int64_t size[MT_MAX_DIM];
    mt_dtype dtype;

    if (check_layer(input, shape, params[0], params[1]) < 0 ||
        statistics_dtype(&dtype, input, params, 2, "LayerNormKernelImpl") < 0)
        return -1;
    for (int i = 0; i < input->ndim; i++)
        size[i] = i < input->ndim - shape.n ? input->size[i] : 1;
    if (prepare_like(call, 0, input) < 0 ||
        mt_out_prepare(call, 1, dtype, input->ndim, size, NULL, input->device, false) < 0)
        return -1;
    return mt_out_prepare(call, 2, dtype, input->ndim, size, NULL, input->device, false);
}

static int same_shape(const mt_tensor *a, const mt_tensor *b, const char *op)
{
    if (mt_shape_equal(a->ndim, a->size, b->ndim, b->size))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "%s(): the gradient does not have the shape of the input", op);
}

int mt_meta_native_layer_norm_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *input = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *mean = mt_arg_tensor(&call->arg[3]), *rstd = mt_arg_tensor(&call->arg[4]);
    const mt_tensor *weight = mt_arg_tensor(&call->arg[5]), *bias = mt_arg_tensor(&call->arg[6]);
    mt_ints shape = mt_arg_ints(&call->arg[2]), mask = mt_arg_ints(&call->arg[7]);
    int64_t rows = 1;
    int rc = -1;

    MT_TRY(check_layer(input, shape, weight, bias));
    MT_TRY(same_shape(grad, input, "native_layer_norm_backward"));
    for (int i = 0; i < input->ndim - shape.n; i++)
        rows *= input->size[i];
    MT_REQUIRE(mean->numel == rows && rstd->numel == rows, MT_ERR_RUNTIME,
               "native_layer_norm_backward(): mean and rstd do not fit the input");
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)input->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"LayerNormBackwardKernelImpl\" not implemented for '%s'", mt_dtype_table[input->dtype].legacy);
    MT_TRY(prepare_masked(call, mask, 0, input));
    MT_TRY(prepare_masked(call, mask, 1, weight));
    rc = prepare_masked(call, mask, 2, bias);
fail:
    return rc;
}

/* --- batch_norm --- */

static int check_batch_param(const mt_tensor *t, int64_t channels, const char *name)
{
    if (!t || t->numel == channels)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "%s should contain %lld elements not %lld", name, (long long)channels,
                        (long long)t->numel);
}

static int check_channels(const mt_tensor *input)
{
    if (input->ndim >= 2)
        return 0;
    return mt_error_set(MT_ERR_INDEX, "Dimension out of range (expected to be in range of [%d, %d], but got 1)",
                        input->ndim ? -input->ndim : -1, input->ndim ? input->ndim - 1 : 0);
}

/* The memory order of the result: channels-last inputs keep theirs. */
static int prepare_ordered(mt_call *call, int k, const mt_tensor *t)
{
    int64_t stride[MT_MAX_DIM];
    bool ordered = (t->flags & (MT_FLAG_CHANNELS_LAST | MT_FLAG_CHANNELS_LAST_3D)) && !(t->flags & MT_FLAG_CONTIGUOUS);

    if (ordered)
        mt_shape_strides_like(stride, t);
    return mt_out_prepare(call, k, (mt_dtype)t->dtype, t->ndim, t->size, ordered ? stride : NULL, t->device, false);
}

int mt_meta_native_batch_norm(mt_call *call)
{
    static const char *const names[4] = {"weight", "bias", "running_mean", "running_var"};
    static const int order[4] = {2, 3, 0, 1};
    const mt_tensor *input = mt_arg_tensor(&call->arg[0]), *params[4];
    bool training = mt_arg_bool(&call->arg[5]);
    int64_t channels;
    mt_dtype dtype = MT_DTYPE_NONE;
    int rc = -1;

    MT_TRY(check_channels(input));
    channels = input->size[1];
    for (int i = 0; i < 4; i++)
        params[i] = mt_arg_tensor(&call->arg[1 + i]);
    for (int i = 0; i < 4; i++) {
        const mt_tensor *t = params[order[i]];

        MT_REQUIRE(t || training || order[i] < 2, MT_ERR_RUNTIME, "%s must be defined in evaluation mode", names[order[i]]);
        MT_TRY(check_batch_param(t, channels, names[order[i]]));
    }
    MT_TRY(statistics_dtype(&dtype, input, params, 4, "batch_norm"));
    MT_TRY(prepare_ordered(call, 0, input));
    channels = training ? channels : 0;
    MT_TRY(mt_out_prepare(call, 1, dtype, 1, &channels, NULL, input->device, false));
    rc = mt_out_prepare(call, 2, dtype, 1, &channels, NULL, input->device, false);
fail:
    return rc;
}

int mt_meta_native_batch_norm_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *input = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *weight = mt_arg_tensor(&call->arg[2]);
    bool train = mt_arg_bool(&call->arg[7]);
    const mt_tensor *mean = mt_arg_tensor(&call->arg[train ? 5 : 3]), *var = mt_arg_tensor(&call->arg[train ? 6 : 4]);
    mt_ints mask = mt_arg_ints(&call->arg[9]);
    int64_t channels;
    mt_dtype dtype;
    int rc = -1;

    MT_TRY(check_channels(input));
    channels = input->size[1];
    MT_TRY(same_shape(grad, input, "native_batch_norm_backward"));
    MT_REQUIRE(mean && var && mean->numel == channels && var->numel == channels, MT_ERR_RUNTIME,
               "native_batch_norm_backward(): the statistics do not fit the input");
    MT_TRY(check_batch_param(weight, channels, "weight"));
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)input->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"batch_norm_backward\" not implemented for '%s'", mt_dtype_table[input->dtype].legacy);
    dtype = weight ? (mt_dtype)weight->dtype : (mt_dtype)input->dtype;
    if (mask.data[0])
        MT_TRY(prepare_ordered(call, 0, input));
    for (int k = 1; k < 3; k++)
        if (mask.data[k])
            MT_TRY(mt_out_prepare(call, k, dtype, 1, &channels, NULL, input->device, false));
    rc = 0;
fail:
    return rc;
}

/* --- group_norm --- */

static int check_group(const mt_tensor *input, const mt_tensor *weight, const mt_tensor *bias, const mt_value *sizes)
{
    int64_t n = mt_arg_int(&sizes[0]), c = mt_arg_int(&sizes[1]), pixels = mt_arg_int(&sizes[2]),
            group = mt_arg_int(&sizes[3]), total = 0;
    int rc = -1;

    MT_REQUIRE(n >= 0 && c >= 0 && pixels >= 0 && group > 0 && c % group == 0, MT_ERR_RUNTIME,
               "native_group_norm(): wrong sizes");
    MT_REQUIRE(!__builtin_mul_overflow(n, c, &total) && !__builtin_mul_overflow(total, pixels, &total) &&
                   total == input->numel,
               MT_ERR_RUNTIME, "native_group_norm(): the sizes do not fit the input");
    MT_REQUIRE((!weight || weight->numel == c) && (!bias || bias->numel == c), MT_ERR_RUNTIME,
               "native_group_norm(): weight and bias must have one element per channel");
    rc = 0;
fail:
    return rc;
}

int mt_meta_native_group_norm(mt_call *call)
{
    const mt_tensor *input = mt_arg_tensor(&call->arg[0]), *params[2] = {mt_arg_tensor(&call->arg[1]),
                                                                        mt_arg_tensor(&call->arg[2])};
    int64_t size[2];
    mt_dtype dtype;

    if (check_group(input, params[0], params[1], &call->arg[3]) < 0 ||
        statistics_dtype(&dtype, input, params, 2, "GroupNormKernelImpl") < 0)
        return -1;
    size[0] = mt_arg_int(&call->arg[3]);
    size[1] = mt_arg_int(&call->arg[6]);
    if (prepare_like(call, 0, input) < 0 || mt_out_prepare(call, 1, dtype, 2, size, NULL, input->device, false) < 0)
        return -1;
    return mt_out_prepare(call, 2, dtype, 2, size, NULL, input->device, false);
}

int mt_meta_native_group_norm_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *input = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *mean = mt_arg_tensor(&call->arg[2]), *rstd = mt_arg_tensor(&call->arg[3]);
    const mt_tensor *weight = mt_arg_tensor(&call->arg[4]);
    mt_ints mask = mt_arg_ints(&call->arg[9]);
    int64_t n = mt_arg_int(&call->arg[5]), channels = mt_arg_int(&call->arg[6]), group = mt_arg_int(&call->arg[8]);
    mt_dtype dtype = weight ? (mt_dtype)weight->dtype : (mt_dtype)input->dtype;
    int rc = -1;

    MT_TRY(check_group(input, weight, NULL, &call->arg[5]));
    MT_TRY(same_shape(grad, input, "native_group_norm_backward"));
    MT_REQUIRE(mean->numel == n * group && rstd->numel == n * group, MT_ERR_RUNTIME,
               "native_group_norm_backward(): the statistics do not fit the input");
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)input->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"GroupNormBackwardKernelImpl\" not implemented for '%s'", mt_dtype_table[input->dtype].legacy);
    MT_TRY(prepare_masked(call, mask, 0, input));
    for (int k = 1; k < 3; k++)
        if (mask.data[k])
            MT_TRY(mt_out_prepare(call, k, dtype, 1, &channels, NULL, input->device, false));
    rc = 0;
fail:
    return rc;
}
