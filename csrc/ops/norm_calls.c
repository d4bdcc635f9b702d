/* SPDX-License-Identifier: BSD-3-Clause */
/* What is made of the native forms of normalisation: batch_norm, instance_norm (a batch of one with more channels),
   group_norm, and rms_norm, which is made of elementary ops. */
#include <float.h>

#include "base/strbuf.h"
#include "core/dispatch.h"
#include "core/formula.h"
#include "core/shape.h"
#include "ops.h"

static const mt_scalar one = {MT_CAT_INT, 0, {1}};

int mt_impl_batch_norm(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_tensor *running_mean,
                       mt_tensor *running_var, bool training, double momentum, double eps, bool cudnn_enabled)
{
    mt_tensor *mean = NULL, *invstd = NULL;
    int rc;

    (void)cudnn_enabled;
    *out = NULL;
    if ((running_mean == NULL) != (running_var == NULL) && training)
        return mt_error_set(MT_ERR_VALUE, "running_mean and running_var must either both be None or neither be None");
    rc = mt_native_batch_norm(out, &mean, &invstd, input, weight, bias, running_mean, running_var, training, momentum, eps);
    mt_tensor_clear(&mean);
    mt_tensor_clear(&invstd);
    return rc;
}

/* --- instance_norm --- */

/* One copy per image; NULL for NULL. */
static int repeated(mt_tensor **out, mt_tensor *t, int64_t n)
{
    *out = NULL;
    return t ? mt_repeat(out, t, (mt_ints){&n, 1}) : 0;
}

/* The statistics become the means over the images. */
static int store_mean(mt_tensor *statistics, mt_tensor *all, int64_t images)
{
    mt_tensor *shaped = NULL, *mean = NULL;
    int rc = -1;

    MT_TRY(mt_view(&shaped, all, (mt_ints){(const int64_t[]){images, statistics->size[0]}, 2}));
    MT_TRY(mt_mean_dim(&mean, shaped, (mt_ints){(const int64_t[]){0}, 1}, false, MT_DTYPE_NONE));
    MT_TRY(mt_copy_inplace(statistics, mean, false));
    rc = 0;
fail:
    mt_tensor_clear(&shaped);
    mt_tensor_clear(&mean);
    return rc;
}

int mt_impl_instance_norm(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_tensor *running_mean,
                          mt_tensor *running_var, bool use_input_stats, double momentum, double eps, bool cudnn_enabled)
{
    mt_tensor *t[5] = {NULL}, *dense = NULL, *flat = NULL, *normal = NULL;
    mt_tensor *given[4] = {weight, bias, running_mean, running_var};
    int64_t size[MT_MAX_DIM];
    bool grad_mode = mt_thread.grad_mode;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(use_input_stats || (running_mean && running_var), MT_ERR_RUNTIME,
               "Expected running_mean and running_var to be defined when use_input_stats is false");
    MT_REQUIRE(input->ndim >= 2, MT_ERR_INDEX, "Dimension out of range (expected to be in range of [%d, %d], but got 1)",
               input->ndim ? -input->ndim : -1, input->ndim ? input->ndim - 1 : 0);
    size[0] = 1;
    size[1] = input->size[0] * input->size[1];
    for (int i = 2; i < input->ndim; i++)
        size[i] = input->size[i];
    for (int i = 0; i < 4; i++)
        MT_TRY(repeated(&t[i], given[i], input->size[0]));
    MT_TRY(mt_contiguous(&dense, input, MT_FORMAT_CONTIGUOUS));
    MT_TRY(mt_view(&flat, dense, (mt_ints){size, input->ndim}));
    MT_TRY(mt_batch_norm(&normal, flat, t[0], t[1], t[2], t[3], use_input_stats, momentum, eps, cudnn_enabled));
    mt_thread.grad_mode = false;
    for (int i = 2; i < 4; i++)
        if (given[i] && use_input_stats)
            MT_TRY(store_mean(given[i], t[i], input->size[0]));
    mt_thread.grad_mode = grad_mode;
    MT_TRY(mt_view(out, normal, mt_sizes_of(input)));
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    for (int i = 0; i < 4; i++)
        mt_tensor_clear(&t[i]);
    mt_tensor_clear(&dense);
    mt_tensor_clear(&flat);
    mt_tensor_clear(&normal);
    return rc;
}

/* --- group_norm --- */

static int check_group_param(const mt_tensor *t, const mt_tensor *input, const char *name)
{
    mt_shape_text a, b;

    if (!t || (t->ndim == 1 && t->numel == input->size[1]))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "Expected %s to be a vector of size equal to the number of channels in input, but got %s of shape "
                        "%s and input of shape %s", name, name, mt_shape_format(&a, t->size, t->ndim),
                        mt_shape_format(&b, input->size, input->ndim));
}

int mt_impl_group_norm(mt_tensor **out, mt_tensor *input, int64_t num_groups, mt_tensor *weight, mt_tensor *bias,
                       double eps, bool cudnn_enabled)
{
    mt_tensor *mean = NULL, *rstd = NULL;
    mt_shape_text text;
    int64_t pixels = 1;
    int rc = -1;

    (void)cudnn_enabled;
    *out = NULL;
    MT_REQUIRE(input->ndim >= 2, MT_ERR_RUNTIME, "Expected at least 2 dimensions for input tensor but received %d",
               input->ndim);
    MT_REQUIRE(num_groups > 0, MT_ERR_RUNTIME, "Expected num groups to be greater than 0, got %lld",
               (long long)num_groups);
    MT_REQUIRE(input->size[1] % num_groups == 0, MT_ERR_RUNTIME,
               "Expected number of channels in input to be divisible by num_groups, but got input of shape %s and "
               "num_groups=%lld", mt_shape_format(&text, input->size, input->ndim), (long long)num_groups);
    MT_TRY(check_group_param(weight, input, "weight"));
    MT_TRY(check_group_param(bias, input, "bias"));
    for (int i = 2; i < input->ndim; i++)
        pixels *= input->size[i];
    rc = mt_native_group_norm(out, &mean, &rstd, input, weight, bias, input->size[0], input->size[1], pixels, num_groups,
                              eps);
fail:
    mt_tensor_clear(&mean);
    mt_tensor_clear(&rstd);
    return rc;
}

/* --- rms_norm --- */

static int check_rms(const mt_tensor *input, mt_ints shape, const mt_tensor *weight)
{
    mt_shape_text a, b;
    int rc = -1;

    MT_REQUIRE(shape.n >= 1, MT_ERR_RUNTIME,
               "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
               "normalized_shape = []");
    MT_REQUIRE(!weight || mt_shape_equal(weight->ndim, weight->size, shape.n, shape.data), MT_ERR_RUNTIME,
               "Expected weight to be of same shape as normalized_shape, but got weight of shape %s and normalized_shape = "
               "%s", mt_shape_format(&a, weight->size, weight->ndim), mt_shape_format(&b, shape.data, shape.n));
    MT_REQUIRE(input->ndim >= shape.n &&
                   mt_shape_equal(shape.n, input->size + (input->ndim - shape.n), shape.n, shape.data),
               MT_ERR_RUNTIME, "Given normalized_shape=%s, expected input with shape [*%s, but got input of size%s",
               mt_shape_format(&a, shape.data, shape.n), a.text + 1, mt_shape_format(&b, input->size, input->ndim));
    MT_REQUIRE(mt_dtype_category((mt_dtype)input->dtype) >= MT_CAT_FLOAT, MT_ERR_NOT_IMPLEMENTED,
               "\"rms_norm\" not implemented for '%s'", mt_dtype_table[input->dtype].legacy);
    rc = 0;
fail:
    return rc;
}

static double epsilon_of(mt_dtype dtype)
{
    switch (dtype) {
    case MT_DTYPE_f16:
        return 0x1p-10;
    case MT_DTYPE_bf16:
        return 0x1p-7;
    case MT_DTYPE_f32:
    case MT_DTYPE_c64:
        return FLT_EPSILON;
    default:
        return DBL_EPSILON;
    }
}

int mt_impl_rms_norm(mt_tensor **out, mt_tensor *input, mt_ints normalized_shape, mt_tensor *weight, const double *eps)
{
    mt_dtype dtype = (mt_dtype)input->dtype;
    bool is_half = dtype == MT_DTYPE_f16 || dtype == MT_DTYPE_bf16;
    int64_t dims[MT_MAX_DIM];
    mt_tensor *wide = NULL, *square = NULL, *mean = NULL, *shifted = NULL, *root = NULL, *normal = NULL, *epsilon = NULL,
              *scaled = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(check_rms(input, normalized_shape, weight));
    for (int i = 0; i < normalized_shape.n; i++)
        dims[i] = input->ndim - normalized_shape.n + i;
    if (is_half)
        MT_TRY(mt_to_dtype(&wide, input, MT_DTYPE_f32, false, false, -1));
    else
        wide = mt_tensor_ref(input);
    MT_TRY(mt_tensor_from_scalar(&epsilon, mt_scalar_from_double(eps ? *eps : epsilon_of(dtype))));
    MT_TRY(mt_mul(&square, wide, wide));
    MT_TRY(mt_mean_dim(&mean, square, (mt_ints){dims, normalized_shape.n}, true, MT_DTYPE_NONE));
    MT_TRY(mt_add(&shifted, mean, epsilon, one));
    MT_TRY(mt_rsqrt(&root, shifted));
    MT_TRY(mt_mul(&normal, wide, root));
    if (weight)
        MT_TRY(mt_mul(&scaled, normal, weight));
    else
        scaled = mt_tensor_ref(normal);
    MT_TRY(mt_to_dtype(out, scaled, dtype, false, false, -1));
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    mt_tensor_clear(&square);
    mt_tensor_clear(&mean);
    mt_tensor_clear(&shifted);
    mt_tensor_clear(&root);
    mt_tensor_clear(&normal);
    mt_tensor_clear(&epsilon);
    mt_tensor_clear(&scaled);
    return rc;
}
