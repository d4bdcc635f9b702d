/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape rules of nll_loss and embedding; cross entropy as a composite. */
#include <string.h>

#include "base/strbuf.h"
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/meta.h"

/* --- nll_loss --- */

static int check_nll(mt_tensor *self, mt_tensor *target, mt_tensor *weight, bool images)
{
    mt_shape_text a, b;
    int64_t classes;
    int rc = -1;

    MT_REQUIRE(target->dtype == MT_DTYPE_i64 || target->dtype == MT_DTYPE_u8, MT_ERR_RUNTIME,
               "expected target dtype to be Long or Byte, but got %s", mt_dtype_table[target->dtype].legacy);
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)self->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"nll_loss_out_frame\" not implemented for '%s'", mt_dtype_table[self->dtype].legacy);
    if (images) {
        MT_REQUIRE(target->ndim == 3, MT_ERR_RUNTIME,
                   "only batches of spatial targets supported (3D tensors) but got targets of dimension: %d",
                   target->ndim);
        MT_REQUIRE(self->ndim == 4, MT_ERR_RUNTIME,
                   "only batches of spatial inputs supported (4D tensors), but got input of dimension: %d", self->ndim);
        MT_REQUIRE(self->size[0] == target->size[0] && self->size[2] == target->size[1] &&
                       self->size[3] == target->size[2],
                   MT_ERR_RUNTIME, "size mismatch (got input: %s , target: %s)",
                   mt_shape_format(&a, self->size, self->ndim), mt_shape_format(&b, target->size, target->ndim));
    } else {
        MT_REQUIRE(self->ndim > 0 && self->ndim <= 2, MT_ERR_RUNTIME, "input tensor should be 1D or 2D");
        MT_REQUIRE(target->ndim <= 1, MT_ERR_RUNTIME, "0D or 1D target tensor expected, multi-target not supported");
        MT_REQUIRE(self->ndim == 1 ? target->ndim == 0 || target->numel == 1
                                   : target->ndim == 1 && self->size[0] == target->size[0],
                   MT_ERR_RUNTIME, "size mismatch (got input: %s, target: %s)",
                   mt_shape_format(&a, self->size, self->ndim), mt_shape_format(&b, target->size, target->ndim));
    }
    classes = self->size[self->ndim == 1 ? 0 : 1];
    MT_REQUIRE(!weight || (weight->ndim == 1 && weight->numel == classes), MT_ERR_RUNTIME,
               "weight tensor should be defined either for all %lld classes or no classes but got weight tensor of "
               "shape: %s",
               (long long)classes, mt_shape_format(&a, weight->size, weight->ndim));
    if (weight)
        MT_TRY(mt_meta_same_dtype(self, weight));
    MT_REQUIRE(!images || target->dtype == MT_DTYPE_i64, MT_ERR_RUNTIME, "expected scalar type Long but found %s",
               mt_dtype_table[target->dtype].legacy);
    rc = 0;
fail:
    return rc;
}

static int prepare_nll(mt_call *call, bool images)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *target = mt_arg_tensor(&call->arg[1]);
    mt_dtype d = (mt_dtype)self->dtype;
    int rc = -1;

    MT_TRY(check_nll(self, target, mt_arg_tensor(&call->arg[2]), images));
    if (mt_arg_int(&call->arg[3]) == 0 && self->ndim > 1)
        MT_TRY(mt_out_prepare(call, 0, d, target->ndim, target->size, NULL, self->device, false));
    else
        MT_TRY(mt_out_prepare(call, 0, d, 0, NULL, NULL, self->device, false));
    MT_TRY(mt_out_prepare(call, 1, d, 0, NULL, NULL, self->device, false));
    rc = 0;
fail:
    return rc;
}

int mt_meta_nll_loss_forward(mt_call *call)
{
    return prepare_nll(call, false);
}

int mt_meta_nll_loss2d_forward(mt_call *call)
{
    return prepare_nll(call, true);
}

/* grad_output, self, target, weight, ... */
static int prepare_nll_backward(mt_call *call, bool images)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[1]), *grad = mt_arg_tensor(&call->arg[0]),
              *target = mt_arg_tensor(&call->arg[2]), *total = mt_arg_tensor(&call->arg[6]);
    bool each = mt_arg_int(&call->arg[4]) == 0 && self->ndim > 1;
    int rc = -1;

    MT_TRY(check_nll(self, target, mt_arg_tensor(&call->arg[3]), images));
    MT_REQUIRE(grad->numel == (each ? target->numel : 1) && grad->dtype == self->dtype, MT_ERR_RUNTIME,
               "nll_loss_backward(): grad_output has the wrong size or dtype");
    MT_REQUIRE(total->numel == 1 && total->dtype == self->dtype, MT_ERR_RUNTIME,
               "expected total_weight to be a single element tensor");
    MT_TRY(mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size, NULL, self->device, false));
    rc = 0;
fail:
    return rc;
}

int mt_meta_nll_loss_backward(mt_call *call)
{
    return prepare_nll_backward(call, false);
}

int mt_meta_nll_loss2d_backward(mt_call *call)
{
    return prepare_nll_backward(call, true);
}

/* Any number of dimensions: (N, C, d1, d2, ...) becomes (N, C, 1, d1 * d2 * ...). */
int mt_impl_nll_loss_nd(mt_tensor **out, mt_tensor *self, mt_tensor *target, mt_tensor *weight, int64_t reduction,
                        int64_t ignore_index)
{
    mt_tensor *images = NULL, *targets = NULL, *flat = NULL;
    mt_shape_text a, b;
    int64_t shape[4], result[MT_MAX_DIM];
    int rc = -1;

    MT_REQUIRE(self->ndim >= 1, MT_ERR_VALUE, "Expected 1 or more dimensions (got %d)", self->ndim);
    MT_REQUIRE(self->ndim == 1 || (target->ndim >= 1 && self->size[0] == target->size[0]), MT_ERR_VALUE,
               "Expected input batch_size (%lld) to match target batch_size (%lld).", (long long)self->size[0],
               (long long)(target->ndim ? target->size[0] : 1));
    if (self->ndim <= 2)
        return mt_nll_loss(out, self, target, weight, reduction, ignore_index);
    if (self->ndim == 4)
        return mt_nll_loss2d(out, self, target, weight, reduction, ignore_index);
    MT_REQUIRE(target->ndim == self->ndim - 1, MT_ERR_RUNTIME, "Expected target size %s, got %s",
               mt_shape_format(&a, self->size, self->ndim), mt_shape_format(&b, target->size, target->ndim));
    for (int i = 2; i < self->ndim; i++)
        MT_REQUIRE(target->size[i - 1] == self->size[i], MT_ERR_RUNTIME, "Expected target size %s, got %s",
                   mt_shape_format(&a, self->size, self->ndim), mt_shape_format(&b, target->size, target->ndim));
    shape[0] = self->size[0];
    shape[1] = self->size[1];
    shape[2] = 1;
    shape[3] = 1;
    for (int i = 2; i < self->ndim; i++)
        shape[3] *= self->size[i];
    MT_TRY(mt_reshape(&images, self, (mt_ints){shape, 4}));
    MT_TRY(mt_reshape(&targets, target, (mt_ints){(int64_t[]){shape[0], 1, shape[3]}, 3}));
    if (reduction != 0) {
        MT_TRY(mt_nll_loss2d(out, images, targets, weight, reduction, ignore_index));
    } else {
        MT_TRY(mt_nll_loss2d(&flat, images, targets, weight, reduction, ignore_index));
        result[0] = self->size[0];
        for (int i = 2; i < self->ndim; i++)
            result[i - 1] = self->size[i];
        MT_TRY(mt_view(out, flat, (mt_ints){result, self->ndim - 1}));
    }
    rc = 0;
fail:
    mt_tensor_clear(&images);
    mt_tensor_clear(&targets);
    mt_tensor_clear(&flat);
    return rc;
}

/* --- embedding --- */

int mt_meta_embedding(mt_call *call)
{
    mt_tensor *weight = mt_arg_tensor(&call->arg[0]), *indices = mt_arg_tensor(&call->arg[1]);
    int64_t size[MT_MAX_DIM];
    int rc = -1;

    MT_REQUIRE(weight->ndim == 2, MT_ERR_RUNTIME, "'weight' must be 2-D");
    MT_REQUIRE(
        indices->dtype == MT_DTYPE_i64 || indices->dtype == MT_DTYPE_i32, MT_ERR_RUNTIME,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.%sTensor instead (while checking arguments for embedding)",
        mt_dtype_table[indices->dtype].legacy);
    MT_REQUIRE(indices->ndim < MT_MAX_DIM, MT_ERR_RUNTIME, "embedding(): too many dimensions");
    for (int i = 0; i < indices->ndim; i++)
        size[i] = indices->size[i];
    size[indices->ndim] = weight->size[1];
    MT_TRY(mt_out_prepare(call, 0, (mt_dtype)weight->dtype, indices->ndim + 1, size, NULL, weight->device, false));
    rc = 0;
fail:
    return rc;
}

/* grad_output, indices, num_weights, ... */
int mt_meta_embedding_dense_backward(mt_call *call)
{
    mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *indices = mt_arg_tensor(&call->arg[1]);
    int64_t rows = mt_arg_int(&call->arg[2]), size[2];
    int rc = -1;

    MT_REQUIRE(mt_dtype_is_float((mt_dtype)grad->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"embedding_backward\" not implemented for '%s'", mt_dtype_table[grad->dtype].legacy);
    MT_REQUIRE(
        grad->ndim == indices->ndim + 1 && mt_shape_equal(indices->ndim, indices->size, indices->ndim, grad->size),
        MT_ERR_RUNTIME, "embedding_dense_backward(): grad_output must have the shape of indices and a last dimension");
    MT_REQUIRE(indices->dtype == MT_DTYPE_i64 || indices->dtype == MT_DTYPE_i32, MT_ERR_RUNTIME,
               "embedding_dense_backward(): indices must be Long or Int");
    size[0] = rows;
    size[1] = grad->size[grad->ndim - 1];
    MT_TRY(mt_out_prepare(call, 0, (mt_dtype)grad->dtype, 2, size, NULL, grad->device, false));
    rc = 0;
fail:
    return rc;
}

/* --- embedding --- */

int mt_impl_embedding_renorm_inplace(mt_tensor *self, mt_tensor *indices, double max_norm, double norm_type)
{
    mt_tensor *index = NULL, *rows = NULL;
    uint32_t saved = mt_thread.exclude;
    int rc = -1;

    MT_REQUIRE(self->ndim == 2, MT_ERR_RUNTIME,
               "Expected 2-dimensional tensor, but got %d-dimensional tensor for argument #1 'self' (while checking "
               "arguments for embedding_renorm_)",
               self->ndim);
    MT_REQUIRE(
        indices->dtype == MT_DTYPE_i64 || indices->dtype == MT_DTYPE_i32, MT_ERR_RUNTIME,
        "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
        "torch.%sTensor instead (while checking arguments for embedding_renorm_)",
        mt_dtype_table[indices->dtype].legacy);
    MT_TRY(mt_reshape(&index, indices, (mt_ints){(const int64_t[]){-1}, 1}));
    MT_TRY(mt_scaled_rows(&rows, self, index, max_norm, norm_type));
    mt_thread.exclude |= MT_KEY_BIT(MT_KEY_VIEW_INPLACE); /* the write is counted as that of this op */
    rc = mt_index_copy_inplace(self, 0, index, rows);
    mt_thread.exclude = saved;
fail:
    mt_tensor_clear(&index);
    mt_tensor_clear(&rows);
    return rc;
}

/* --- distances --- */

int mt_impl_broadcast_two(mt_tensor **first, mt_tensor **second, mt_tensor *a, mt_tensor *b)
{
    mt_shape shape;
    int rc = -1;

    shape.ndim = a->ndim;
    memcpy(shape.size, a->size, (size_t)a->ndim * sizeof(shape.size[0]));
    MT_TRY(mt_shape_broadcast(&shape, b->ndim, b->size));
    MT_TRY(mt_expand(first, a, (mt_ints){shape.size, shape.ndim}, false));
    MT_TRY(mt_expand(second, b, (mt_ints){shape.size, shape.ndim}, false));
    rc = 0;
fail:
    return rc;
}

/* One weight, or one for each index of dimension 1. */
int mt_impl_prelu(mt_tensor **out, mt_tensor *self, mt_tensor *weight)
{
    int64_t size[MT_MAX_DIM], channels = self->ndim > 1 ? self->size[1] : 1;
    mt_tensor *shaped = NULL;
    int rc = -1;

    MT_TRY(mt_meta_same_dtype(self, weight));
    if (weight->numel != 1) {
        MT_REQUIRE(self->ndim > 0, MT_ERR_RUNTIME, "Not allow zero-dim input tensor.");
        MT_REQUIRE(
            channels == weight->numel, MT_ERR_RUNTIME,
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = %lld and channel size "
            "= %lld.",
            (long long)weight->numel, (long long)channels);
    }
    MT_REQUIRE(weight->ndim <= 1, MT_ERR_RUNTIME,
               "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d", weight->ndim);
    for (int d = 0; d < self->ndim; d++)
        size[d] = d == 1 ? weight->numel : 1;
    if (weight->ndim == 0 || self->ndim < 2)
        shaped = mt_tensor_ref(weight);
    else
        MT_TRY(mt_reshape(&shaped, weight, (mt_ints){size, self->ndim}));
    MT_TRY(mt_prelu_of_like(out, self, shaped));
    rc = 0;
fail:
    mt_tensor_clear(&shaped);
    return rc;
}
