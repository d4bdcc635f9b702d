/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradients of products. Without zeros they are grad * result / self; where elements are zero each one gets the
   product of all others, from exclusive products of both ends. Made of ops, so they can be differentiated again. */
#include "core/dispatch.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/meta.h"

/* The product of all elements before each along dim. */
static int exclusive_product(mt_tensor **out, mt_tensor *self, int64_t dim)
{
    mt_tensor *head = NULL, *ones = NULL, *joined = NULL;
    int rc = -1;

    MT_TRY(mt_narrow(&head, self, dim, 0, 1));
    MT_TRY(mt_ones_like(&ones, head, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL, -1));
    mt_tensor_clear(&head);
    MT_TRY(mt_narrow(&head, self, dim, 0, self->size[dim] - 1));
    MT_TRY(mt_cat(&joined, (mt_tensors){(mt_tensor *[]){ones, head}, 2}, dim));
    MT_TRY(mt_cumprod(out, joined, dim, MT_DTYPE_NONE));
    rc = 0;
fail:
    mt_tensor_clear(&head);
    mt_tensor_clear(&ones);
    mt_tensor_clear(&joined);
    return rc;
}

static int product_of_others(mt_tensor **out, mt_tensor *grad, mt_tensor *self, int64_t dim)
{
    mt_tensor *before = NULL, *flipped = NULL, *backwards = NULL, *after = NULL, *others = NULL, *conj = NULL;
    mt_ints dims = {&dim, 1};
    int rc = -1;

    if (self->size[dim] == 1) {
        *out = mt_tensor_ref(grad);
        return 0;
    }
    MT_TRY(exclusive_product(&before, self, dim));
    MT_TRY(mt_flip(&flipped, self, dims));
    MT_TRY(exclusive_product(&backwards, flipped, dim));
    MT_TRY(mt_flip(&after, backwards, dims));
    MT_TRY(mt_mul(&others, before, after));
    MT_TRY(mt_conj(&conj, others));
    MT_TRY(mt_mul(out, grad, conj));
    rc = 0;
fail:
    mt_tensor_clear(&before);
    mt_tensor_clear(&flipped);
    mt_tensor_clear(&backwards);
    mt_tensor_clear(&after);
    mt_tensor_clear(&others);
    mt_tensor_clear(&conj);
    return rc;
}

static int by_division(mt_tensor **out, mt_tensor *grad, mt_tensor *self, mt_tensor *result)
{
    mt_tensor *quotient = NULL, *conj = NULL;
    int rc = -1;

    MT_TRY(mt_div_Tensor(&quotient, result, self));
    MT_TRY(mt_conj(&conj, quotient));
    MT_TRY(mt_mul(out, grad, conj));
    rc = 0;
fail:
    mt_tensor_clear(&quotient);
    mt_tensor_clear(&conj);
    return rc;
}

/* Without zeros the quotient may be taken. Many where elements cannot be read. */
static int count_zeros(int64_t *out, mt_tensor *self)
{
    mt_tensor *plain = NULL, *is_zero = NULL, *sum = NULL;
    mt_scalar value;
    int rc = -1;

    *out = 1;
    if (self->device.type == MT_DEVICE_META)
        return 0;
    MT_TRY(mt_tensor_new_alias(&plain, self, true));
    MT_TRY(mt_logical_not(&is_zero, plain));
    MT_TRY(mt_sum(&sum, is_zero, MT_DTYPE_NONE));
    MT_TRY(mt_tensor_item(&value, sum));
    *out = mt_scalar_to_int(value);
    rc = 0;
fail:
    mt_tensor_clear(&plain);
    mt_tensor_clear(&is_zero);
    mt_tensor_clear(&sum);
    return rc;
}

int mt_impl_prod_backward(mt_tensor **out, mt_tensor *grad, mt_tensor *self, mt_tensor *result)
{
    mt_tensor *flat = NULL, *others = NULL;
    int64_t all = -1;
    int64_t zeros;
    int rc = -1;

    if (self->ndim == 0)
        return mt_clone(out, grad, -1);
    if (self->numel == 0)
        return mt_zeros_like(out, self, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL, -1);
    if (count_zeros(&zeros, self) < 0)
        return -1;
    if (!zeros)
        return by_division(out, grad, self, result);
    if (zeros > 1 && !mt_thread.grad_mode)
        return mt_zeros_like(out, self, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL, -1);
    MT_TRY(mt_reshape(&flat, self, (mt_ints){&all, 1}));
    MT_TRY(product_of_others(&others, grad, flat, 0));
    MT_TRY(mt_reshape(out, others, (mt_ints){self->size, self->ndim}));
    rc = 0;
fail:
    mt_tensor_clear(&flat);
    mt_tensor_clear(&others);
    return rc;
}

int mt_impl_prod_dim_backward(mt_tensor **out, mt_tensor *grad, mt_tensor *self, mt_tensor *result, int64_t dim,
                              bool keepdim)
{
    mt_tensor *g = NULL, *r = NULL;
    int64_t zeros;
    int rc = -1;

    if (self->ndim == 0)
        return mt_clone(out, grad, -1);
    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (self->numel == 0)
        return mt_zeros_like(out, self, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL, -1);
    if (keepdim) {
        g = mt_tensor_ref(grad);
        r = mt_tensor_ref(result);
    } else {
        MT_TRY(mt_unsqueeze(&g, grad, dim));
        MT_TRY(mt_unsqueeze(&r, result, dim));
    }
    MT_TRY(count_zeros(&zeros, self));
    MT_TRY(zeros ? product_of_others(out, g, self, dim) : by_division(out, g, self, r));
    rc = 0;
fail:
    mt_tensor_clear(&g);
    mt_tensor_clear(&r);
    return rc;
}
