/* SPDX-License-Identifier: BSD-3-Clause */
/* Normalisation: shape and dtype rules of the kernels, and the ops in front of them that check, fold instances into
   channels or, for rms_norm, are made of other ops. The gradients of gradients are in norm_grad.c. */
#include <float.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/meta.h"

/* --- dtypes and shapes --- */

/* The dtype of statistics. Parameters have the dtype of the input, or all of them float32 beside an input of a half
   type; the first one given decides which. */
static int parameter_dtype(mt_dtype *out, const mt_tensor *input, const mt_tensor *const *param, int n)
{
    mt_dtype dtype = (mt_dtype)input->dtype;
    bool is_half = dtype == MT_DTYPE_f16 || dtype == MT_DTYPE_bf16, decided = false, mixed = false;

    for (int i = 0; i < n; i++) {
        const mt_tensor *p = param[i];

        if (!p)
            continue;
        if (!decided)
            mixed = p->dtype != input->dtype;
        decided = true;
        if (mixed && dtype == MT_DTYPE_f64)
            return mt_error_set(MT_ERR_RUNTIME, "mixed dtype (CPU): all inputs must share same datatype.");
        if (mixed && (p->dtype != MT_DTYPE_f32 || !is_half))
            return mt_error_set(MT_ERR_RUNTIME, "mixed dtype (CPU): expect parameter to have scalar type of Float");
        if (!mixed && mt_meta_same_dtype(input, p) < 0)
            return -1;
    }
    *out = mixed ? MT_DTYPE_f32 : dtype;
    return 0;
}

static int need_float(const mt_tensor *t, const char *kernel)
{
    if (mt_dtype_is_float((mt_dtype)t->dtype))
        return 0;
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                        mt_dtype_table[t->dtype].legacy);
}

static bool has_shape(const mt_tensor *t, mt_ints shape)
{
    return !t || mt_shape_equal(t->ndim, t->size, shape.n, shape.data);
}

/* --- layer_norm, rms_norm --- */

static int check_normalized(const mt_tensor *input, mt_ints shape, const mt_tensor *weight, const mt_tensor *bias,
                            const char *star)
{
    mt_shape_text a, b;
    int axis = input->ndim - shape.n;

    if (shape.n < 1)
        return mt_error_set(MT_ERR_RUNTIME, "Expected normalized_shape to be at least 1-dimensional, i.e., containing "
                                            "at "
                                            "least one element, but got normalized_shape = []");
    if (!has_shape(weight, shape))
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected weight to be of same shape as normalized_shape, but got weight "
                            "of "
                            "shape %s and normalized_shape = %s",
                            mt_shape_format(&a, weight->size, weight->ndim), mt_shape_format(&b, shape.data, shape.n));
    if (!has_shape(bias, shape))
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected bias to be of same shape as normalized_shape, but got bias of "
                            "shape %s and normalized_shape = %s",
                            mt_shape_format(&a, bias->size, bias->ndim), mt_shape_format(&b, shape.data, shape.n));
    if (axis < 0 || !mt_shape_equal(shape.n, input->size + axis, shape.n, shape.data)) {
        mt_shape_text c;

        mt_shape_format(&a, shape.data, shape.n);
        return mt_error_set(MT_ERR_RUNTIME,
                            "Given normalized_shape=%s, expected input with shape [*%s%s, but got "
                            "input "
                            "of size%s",
                            a.text, star, a.text + 1, mt_shape_format(&c, input->size, input->ndim));
    }
    return 0;
}

int mt_meta_native_layer_norm(mt_call *call)
{
    const mt_tensor *input = mt_arg_tensor(&call->arg[0]);
    const mt_tensor *param[2] = {mt_arg_tensor(&call->arg[2]), mt_arg_tensor(&call->arg[3])};
    mt_ints shape = mt_arg_ints(&call->arg[1]);
    int64_t stat[MT_MAX_DIM];
    mt_dtype dtype = MT_DTYPE_NONE;

    if (check_normalized(input, shape, param[0], param[1], ", ") < 0 || need_float(input, "LayerNormKernelImpl") < 0 ||
        parameter_dtype(&dtype, input, param, 2) < 0 ||
        mt_out_prepare(call, 0, (mt_dtype)input->dtype, input->ndim, input->size, NULL, input->device, false) < 0)
        return -1;
    for (int i = 0; i < input->ndim; i++)
        stat[i] = i < input->ndim - shape.n ? input->size[i] : 1;
    if (mt_out_prepare(call, 1, dtype, input->ndim, stat, NULL, input->device, false) < 0)
        return -1;
    return mt_out_prepare(call, 2, dtype, input->ndim, stat, NULL, input->device, false);
}

/* A gradient of the shape and dtype of its input. */
static int check_grad(const mt_tensor *grad, const mt_tensor *input)
{
    mt_shape_text a, b;

    if (!mt_shape_equal(grad->ndim, grad->size, input->ndim, input->size))
        return mt_error_set(MT_ERR_RUNTIME, "Expected grad_out to have the shape of the input, but got %s and %s",
                            mt_shape_format(&a, grad->size, grad->ndim), mt_shape_format(&b, input->size, input->ndim));
    return mt_meta_same_dtype(input, grad);
}

static int check_mask(mt_ints mask)
{
    return mask.n == 3 ? 0 : mt_error_set(MT_ERR_RUNTIME, "output_mask must have three elements");
}

int mt_meta_native_layer_norm_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *input = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *mean = mt_arg_tensor(&call->arg[3]), *rstd = mt_arg_tensor(&call->arg[4]);
    const mt_tensor *param[2] = {mt_arg_tensor(&call->arg[5]), mt_arg_tensor(&call->arg[6])};
    mt_ints shape = mt_arg_ints(&call->arg[2]), mask = mt_arg_ints(&call->arg[7]);
    int64_t rows = 1;
    mt_dtype dtype = MT_DTYPE_NONE;

    if (check_mask(mask) < 0 || check_normalized(input, shape, param[0], param[1], ", ") < 0 ||
        need_float(input, "LayerNormBackwardKernelImpl") < 0 || check_grad(grad, input) < 0 ||
        parameter_dtype(&dtype, input, param, 2) < 0)
        return -1;
    for (int i = 0; i < input->ndim - shape.n; i++)
        rows *= input->size[i];
    if (mean->numel != rows || rstd->numel != rows)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected mean and rstd to have %lld elements, one per row, but got %lld "
                            "and "
                            "%lld",
                            (long long)rows, (long long)mean->numel, (long long)rstd->numel);
    if (mask.data[0] &&
        mt_out_prepare(call, 0, (mt_dtype)input->dtype, input->ndim, input->size, NULL, input->device, false) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        if (mask.data[1 + i] && param[i] &&
            mt_out_prepare(call, 1 + i, dtype, shape.n, shape.data, NULL, input->device, false) < 0)
            return -1;
    return 0;
}

/* x * rsqrt(mean(x * x) + eps), the weight, and back to the dtype of x; half types are computed in float32. */
int mt_impl_rms_norm(mt_tensor **out, mt_tensor *input, mt_ints normalized_shape, mt_tensor *weight, const double *eps)
{
    mt_tensor *x = NULL, *a = NULL, *b = NULL, *number = NULL;
    mt_dtype dtype = (mt_dtype)input->dtype;
    int64_t dims[MT_MAX_DIM];
    double least;
    int rc = -1;

    MT_TRY(check_normalized(input, normalized_shape, weight, NULL, ""));
    MT_TRY(mt_dtype_is_complex(dtype) ? 0 : need_float(input, "rms_norm"));
    for (int i = 0; i < normalized_shape.n; i++)
        dims[i] = input->ndim - normalized_shape.n + i;
    least = eps ? *eps : mt_dtype_to_real(dtype) == MT_DTYPE_f64 ? DBL_EPSILON : (double)FLT_EPSILON;
    if (dtype == MT_DTYPE_f16 || dtype == MT_DTYPE_bf16)
        MT_TRY(mt_to_dtype(&x, input, MT_DTYPE_f32, false, false, -1));
    else
        x = mt_tensor_ref(input);
    MT_TRY(mt_pow_Tensor_Scalar(&a, x, mt_scalar_from_int(2)));
    MT_TRY(mt_mean_dim(&b, a, (mt_ints){dims, normalized_shape.n}, true, MT_DTYPE_NONE));
    mt_tensor_clear(&a);
    MT_TRY(mt_tensor_from_scalar(&number, mt_scalar_from_double(least)));
    MT_TRY(mt_add(&a, b, number, mt_scalar_from_int(1)));
    mt_tensor_clear(&b);
    MT_TRY(mt_rsqrt(&b, a));
    mt_tensor_clear(&a);
    MT_TRY(mt_mul(&a, x, b));
    if (weight) {
        mt_tensor_clear(&b);
        MT_TRY(mt_mul(&b, a, weight));
        mt_tensor_clear(&a);
        a = mt_tensor_move(&b);
    }
    if (a->dtype != input->dtype)
        MT_TRY(mt_to_dtype(out, a, dtype, false, false, -1));
    else
        *out = mt_tensor_move(&a);
    rc = 0;
fail:
    mt_tensor_clear(&x);
    mt_tensor_clear(&number);
    mt_tensor_clear(&a);
    mt_tensor_clear(&b);
    return rc;
}

/* --- batch_norm --- */

static int check_channels(const mt_tensor *input, const mt_tensor *t, const char *name)
{
    if (!t || t->numel == input->size[1])
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "%s should contain %lld elements not %lld", name, (long long)input->size[1],
                        (long long)t->numel);
}

static int check_batch(const mt_tensor *input, const mt_tensor *weight, const mt_tensor *bias,
                       const mt_tensor *running_mean, const mt_tensor *running_var, bool training)
{
    int64_t dim = 1;

    if (mt_dim_wrap(&dim, input->ndim) < 0)
        return -1;
    if (!training && (!running_mean || !running_var))
        return mt_error_set(MT_ERR_RUNTIME, "%s must be defined in evaluation mode",
                            running_mean ? "running_var" : "running_mean");
    if (check_channels(input, running_mean, "running_mean") < 0 ||
        check_channels(input, running_var, "running_var") < 0 || check_channels(input, weight, "weight") < 0)
        return -1;
    return check_channels(input, bias, "bias");
}

/* Output k like the input, in channels last order when that is how the input lies. */
static int prepare_like(mt_call *call, int k, const mt_tensor *input)
{
    int64_t stride[MT_MAX_DIM];
    bool last = !(input->flags & MT_FLAG_CONTIGUOUS) &&
                (input->flags & (input->ndim == 5 ? MT_FLAG_CHANNELS_LAST_3D : MT_FLAG_CHANNELS_LAST));

    if (last && mt_shape_channels_last_strides(stride, input->ndim, input->size) < 0)
        return -1;
    return mt_out_prepare(call, k, (mt_dtype)input->dtype, input->ndim, input->size, last ? stride : NULL,
                          input->device, false);
}

int mt_meta_native_batch_norm(mt_call *call)
{
    const mt_tensor *input = mt_arg_tensor(&call->arg[0]);
    const mt_tensor *param[4];
    bool training = mt_arg_bool(&call->arg[5]);
    int64_t n_stat;
    mt_dtype dtype = MT_DTYPE_NONE;

    for (int i = 0; i < 4; i++)
        param[i] = mt_arg_tensor(&call->arg[1 + i]);
    if (!param[2] != !param[3])
        return mt_error_set(MT_ERR_VALUE, "running_mean and running_var must either both be None or neither be None");
    if (check_batch(input, param[0], param[1], param[2], param[3], training) < 0 ||
        need_float(input, "batch_norm") < 0 || parameter_dtype(&dtype, input, param, 4) < 0)
        return -1;
    if (training && input->numel == 0) {
        mt_shape_text text;

        return mt_error_set(MT_ERR_RUNTIME, "input tensor must have at least one element, but got input_sizes = %s",
                            mt_shape_format(&text, input->size, input->ndim));
    }
    n_stat = training ? input->size[1] : 0;
    if (prepare_like(call, 0, input) < 0 || mt_out_prepare(call, 1, dtype, 1, &n_stat, NULL, input->device, false) < 0)
        return -1;
    return mt_out_prepare(call, 2, dtype, 1, &n_stat, NULL, input->device, false);
}

int mt_meta_native_batch_norm_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *input = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *param[5];
    bool train = mt_arg_bool(&call->arg[7]);
    mt_ints mask = mt_arg_ints(&call->arg[9]);
    mt_dtype dtype = MT_DTYPE_NONE;

    for (int i = 0; i < 5; i++)
        param[i] = mt_arg_tensor(&call->arg[2 + i]);
    if (check_mask(mask) < 0 || check_batch(input, param[0], NULL, param[1], param[2], train) < 0 ||
        need_float(input, "batch_norm_backward_cpu") < 0 || check_grad(grad, input) < 0)
        return -1;
    if (train) {
        if (!param[3] || !param[4])
            return mt_error_set(MT_ERR_RUNTIME, "save_mean and save_invstd must be defined in training mode");
        if (check_channels(input, param[3], "save_mean") < 0 || check_channels(input, param[4], "save_invstd") < 0)
            return -1;
    }
    if (parameter_dtype(&dtype, input, param, 5) < 0)
        return -1;
    if (mask.data[0] && prepare_like(call, 0, input) < 0)
        return -1;
    for (int i = 1; i < 3; i++)
        if (mask.data[i] && mt_out_prepare(call, i, dtype, 1, &input->size[1], NULL, input->device, false) < 0)
            return -1;
    return 0;
}

/* No sample: the input, joined with weight and bias so that they get gradients of zeros. */
static int empty_batch(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias)
{
    mt_tensor *first = NULL, *next = NULL, *value = NULL;
    int rc = -1;

    MT_TRY(mt_clone(&value, input, -1));
    if (weight && weight->numel) {
        MT_TRY(mt_select(&first, weight, 0, 0));
        MT_TRY(mt_mul(&next, value, first));
        mt_tensor_clear(&value);
        mt_tensor_clear(&first);
        value = mt_tensor_move(&next);
    }
    if (bias && bias->numel) {
        MT_TRY(mt_select(&first, bias, 0, 0));
        MT_TRY(mt_add(&next, value, first, mt_scalar_from_int(1)));
        mt_tensor_clear(&value);
        value = mt_tensor_move(&next);
    }
    *out = mt_tensor_move(&value);
    rc = 0;
fail:
    mt_tensor_clear(&first);
    mt_tensor_clear(&next);
    mt_tensor_clear(&value);
    return rc;
}

static int refuse_grad(const mt_tensor *t, const char *name)
{
    if (!t || !mt_thread.grad_mode || !mt_tensor_requires_grad(t))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "The function 'native_batch_norm' is not differentiable with respect to "
                        "argument "
                        "'%s'. This input cannot have requires_grad True.",
                        name);
}

int mt_impl_batch_norm(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_tensor *running_mean,
                       mt_tensor *running_var, bool training, double momentum, double eps, bool cudnn_enabled)
{
    mt_tensor *mean = NULL, *invstd = NULL;
    int64_t dim = 1;
    int rc;

    (void)cudnn_enabled;
    if (mt_dim_wrap(&dim, input->ndim) < 0)
        return -1;
    if (input->numel == 0)
        return empty_batch(out, input, weight, bias);
    if (check_batch(input, weight, bias, running_mean, running_var, training) < 0 ||
        refuse_grad(running_mean, "running_mean") < 0 || refuse_grad(running_var, "running_var") < 0)
        return -1;
    rc = mt_native_batch_norm(out, &mean, &invstd, input, weight, bias, running_mean, running_var, training, momentum,
                              eps);
    mt_tensor_clear(&mean);
    mt_tensor_clear(&invstd);
    return rc;
}

/* --- instance_norm: batch_norm of one sample that has the channels of all --- */

static int repeated(mt_tensor **out, mt_tensor *t, int64_t n)
{
    return t ? mt_repeat(out, t, (mt_ints){&n, 1}) : 0;
}

/* Running statistics become the means over the instances. */
static int average_back(mt_tensor *running, mt_tensor *instances, int64_t b, int64_t c)
{
    mt_tensor *view = NULL, *mean = NULL, *plain = NULL;
    int64_t size[2] = {b, c}, dim = 0;
    int rc = -1;

    if (!running || b == 0)
        return 0;
    MT_TRY(mt_tensor_new_alias(&plain, running, true));
    MT_TRY(mt_view(&view, instances, (mt_ints){size, 2}));
    MT_TRY(mt_mean_dim(&mean, view, (mt_ints){&dim, 1}, false, MT_DTYPE_NONE));
    MT_TRY(mt_copy_inplace(plain, mean, false));
    rc = 0;
fail:
    mt_tensor_clear(&view);
    mt_tensor_clear(&mean);
    mt_tensor_clear(&plain);
    return rc;
}

int mt_impl_instance_norm(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias,
                          mt_tensor *running_mean, mt_tensor *running_var, bool use_input_stats, double momentum,
                          double eps, bool cudnn_enabled)
{
    mt_tensor *t[4] = {NULL, NULL, NULL, NULL}, *dense = NULL, *folded = NULL, *result = NULL;
    mt_tensor *const param[4] = {weight, bias, running_mean, running_var};
    int64_t size[MT_MAX_DIM], b, c, dim = 1;
    int rc = -1;

    MT_REQUIRE(use_input_stats || (running_mean && running_var), MT_ERR_RUNTIME,
               "Expected running_mean and running_var to be defined when use_input_stats is false");
    MT_TRY(mt_dim_wrap(&dim, input->ndim));
    b = input->size[0], c = input->size[1];
    for (int i = 0; i < input->ndim; i++)
        size[i] = input->size[i];
    size[0] = 1, size[1] = b * c;
    for (int i = 0; i < 4; i++)
        MT_TRY(repeated(&t[i], param[i], b));
    MT_TRY(mt_contiguous(&dense, input, MT_FORMAT_CONTIGUOUS));
    MT_TRY(mt_view(&folded, dense, (mt_ints){size, input->ndim}));
    MT_TRY(mt_batch_norm(&result, folded, t[0], t[1], t[2], t[3], use_input_stats, momentum, eps, cudnn_enabled));
    if (use_input_stats) {
        MT_TRY(average_back(running_mean, t[2], b, c));
        MT_TRY(average_back(running_var, t[3], b, c));
    }
    MT_TRY(mt_view(out, result, (mt_ints){input->size, input->ndim}));
    rc = 0;
fail:
    for (int i = 0; i < 4; i++)
        mt_tensor_clear(&t[i]);
    mt_tensor_clear(&dense);
    mt_tensor_clear(&folded);
    mt_tensor_clear(&result);
    return rc;
}

/* --- group_norm --- */

static int check_groups(const mt_tensor *input, const mt_tensor *weight, const mt_tensor *bias, int64_t c,
                        int64_t group)
{
    mt_shape_text a, b;
    const mt_tensor *const param[2] = {weight, bias};
    const char *const name[2] = {"weight", "bias"};

    if (group <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "Expected num groups to be greater than 0, got %lld", (long long)group);
    if (c % group != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected number of channels in input to be divisible by num_groups, but "
                            "got "
                            "input of shape %s and num_groups=%lld",
                            mt_shape_format(&a, input->size, input->ndim), (long long)group);
    for (int i = 0; i < 2; i++)
        if (param[i] && (param[i]->ndim != 1 || param[i]->numel != c))
            return mt_error_set(MT_ERR_RUNTIME,
                                "Expected %s to be a vector of size equal to the number of channels in "
                                "input, but got %s of shape %s and input of shape %s",
                                name[i], name[i], mt_shape_format(&a, param[i]->size, param[i]->ndim),
                                mt_shape_format(&b, input->size, input->ndim));
    return 0;
}

/* Is a * b * c the number, without overflow? */
static bool is_product(int64_t number, int64_t a, int64_t b, int64_t c)
{
    int64_t p;

    return a >= 0 && b >= 0 && c >= 0 && !mt_mul_overflow(a, b, &p) && !mt_mul_overflow(p, c, &p) && p == number;
}

static int expected(bool holds, const char *what)
{
    return holds ? 0
                 : mt_error_set(MT_ERR_RUNTIME,
                                "Expected %s to be true, but got false.  (Could this error message be "
                                "improved?  If so, please report an enhancement request to PyTorch.)",
                                what);
}

int mt_meta_native_group_norm(mt_call *call)
{
    const mt_tensor *input = mt_arg_tensor(&call->arg[0]);
    const mt_tensor *param[2] = {mt_arg_tensor(&call->arg[1]), mt_arg_tensor(&call->arg[2])};
    int64_t n = mt_arg_int(&call->arg[3]), c = mt_arg_int(&call->arg[4]), hw = mt_arg_int(&call->arg[5]);
    int64_t group = mt_arg_int(&call->arg[6]), stat[2] = {n, group};
    mt_dtype dtype = MT_DTYPE_NONE;

    if (check_groups(input, param[0], param[1], c, group) < 0 ||
        expected(is_product(input->numel, n, c, hw), "X.numel() == N * C * HxW") < 0 ||
        need_float(input, "GroupNormKernelImpl") < 0 || parameter_dtype(&dtype, input, param, 2) < 0 ||
        prepare_like(call, 0, input) < 0 || mt_out_prepare(call, 1, dtype, 2, stat, NULL, input->device, false) < 0)
        return -1;
    return mt_out_prepare(call, 2, dtype, 2, stat, NULL, input->device, false);
}

int mt_meta_native_group_norm_backward(mt_call *call)
{
    const mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *input = mt_arg_tensor(&call->arg[1]);
    const mt_tensor *mean = mt_arg_tensor(&call->arg[2]), *rstd = mt_arg_tensor(&call->arg[3]);
    const mt_tensor *weight = mt_arg_tensor(&call->arg[4]), *param[2] = {weight, mean};
    int64_t n = mt_arg_int(&call->arg[5]), c = mt_arg_int(&call->arg[6]), hw = mt_arg_int(&call->arg[7]);
    int64_t group = mt_arg_int(&call->arg[8]);
    mt_ints mask = mt_arg_ints(&call->arg[9]);
    mt_dtype dtype = MT_DTYPE_NONE;

    if (check_mask(mask) < 0)
        return -1;
    if (grad->dtype != input->dtype)
        return mt_error_set(MT_ERR_RUNTIME, "Expected scalar types of X and dY are same.");
    if (expected(is_product(grad->numel, n, c, hw), "dY.numel() == N * C * HxW") < 0 ||
        expected(is_product(input->numel, n, c, hw), "X.numel() == N * C * HxW") < 0 ||
        check_groups(input, NULL, NULL, c, group) < 0 ||
        expected(is_product(mean->numel, n, group, 1), "mean.numel() == N * group") < 0 ||
        expected(is_product(rstd->numel, n, group, 1), "rstd.numel() == N * group") < 0 ||
        expected(!weight || weight->numel == c, "!gamma.defined() || gamma.numel() == C") < 0 ||
        need_float(input, "GroupNormBackwardKernelImpl") < 0 || parameter_dtype(&dtype, input, param, 2) < 0)
        return -1;
    if (mask.data[0] && prepare_like(call, 0, input) < 0)
        return -1;
    for (int i = 1; i < 3; i++)
        if (mask.data[i] && mt_out_prepare(call, i, dtype, 1, &c, NULL, input->device, false) < 0)
            return -1;
    return 0;
}

int mt_impl_group_norm(mt_tensor **out, mt_tensor *input, int64_t num_groups, mt_tensor *weight, mt_tensor *bias,
                       double eps, bool cudnn_enabled)
{
    mt_tensor *mean = NULL, *rstd = NULL;
    int64_t hw = 1, dim = 1;
    int rc;

    (void)cudnn_enabled;
    if (mt_dim_wrap(&dim, input->ndim) < 0 || check_groups(input, weight, bias, input->size[1], num_groups) < 0)
        return -1;
    for (int i = 2; i < input->ndim; i++)
        hw *= input->size[i];
    rc = mt_native_group_norm(out, &mean, &rstd, input, weight, bias, input->size[0], input->size[1], hw, num_groups,
                              eps);
    mt_tensor_clear(&mean);
    mt_tensor_clear(&rstd);
    return rc;
}
