/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared shape and dtype rules and the helpers for writing more. The rules of pointwise ops and of
   reductions are next to their kernels, because both need the same plan. */
#include "ops/meta.h"

#include <string.h>

/* --- devices and dtypes --- */

int mt_meta_device_error(mt_device a, mt_device b)
{
    char first[24], second[24];

    return mt_error_set(MT_ERR_RUNTIME,
                        "Expected all tensors to be on the same device, but found at least two devices, %s and %s!",
                        mt_device_format(first, a), mt_device_format(second, b));
}

/* One more tensor; *seen tells whether *device is settled by a tensor that is no 0-d CPU tensor. */
static int join_device(mt_device *device, bool *seen, const mt_tensor *t)
{
    bool is_guest = t->device.type == MT_DEVICE_CPU && t->ndim == 0;

    if (mt_device_equal(t->device, *device)) {
        *seen |= !is_guest;
        return 0;
    }
    if (is_guest && *seen)
        return 0;
    if (*seen)
        return mt_meta_device_error(*device, t->device);
    *device = t->device;
    *seen = !is_guest;
    return 0;
}

int mt_meta_common_device(mt_device *out, const mt_call *call)
{
    bool seen = false;

    *out = MT_CPU;
    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];
        mt_tensor *const *list = a->kind == MT_ARG_TENSORS ? a->v.tensors.data : &a->v.tensor;
        int n = a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;

        for (int j = 0; j < n; j++)
            if (list[j] && join_device(out, &seen, list[j]) < 0)
                return -1;
    }
    return 0;
}

int mt_meta_same_dtype(const mt_tensor *a, const mt_tensor *b)
{
    if (a->dtype == b->dtype)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "expected scalar type %s but found %s", mt_dtype_table[a->dtype].legacy,
                        mt_dtype_table[b->dtype].legacy);
}

int mt_meta_require_dtypes(const mt_call *call, unsigned allowed)
{
    mt_promotion p = MT_PROMOTION_INIT;
    mt_dtype d;

    for (int i = 0; i < call->n_args; i++) {
        const mt_tensor *t = call->arg[i].kind == MT_ARG_TENSOR ? call->arg[i].v.tensor : NULL;

        if (!t)
            continue;
        if (mt_dtype_is_shell((mt_dtype)t->dtype)) /* beside an index, say, there is no common dtype */
            return allowed >> t->dtype & 1 ? 0 : mt_meta_refuse_dtype(call->op, (mt_dtype)t->dtype);
        mt_promotion_add(&p, (mt_dtype)t->dtype, t->ndim, mt_tensor_is_wrapped_number(t));
    }
    if (mt_promotion_result(&d, &p) < 0)
        return -1;
    return allowed >> d & 1 ? 0 : mt_meta_refuse_dtype(call->op, d);
}

int mt_meta_refuse_shells(const mt_call *call, unsigned allowed)
{
    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];
        mt_tensor *const *list = a->kind == MT_ARG_TENSORS ? a->v.tensors.data : &a->v.tensor;
        int n = a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;

        for (int j = 0; j < n; j++)
            if (list[j] && MT_UNLIKELY(mt_dtype_is_shell((mt_dtype)list[j]->dtype)) && !(allowed >> list[j]->dtype & 1))
                return mt_meta_refuse_dtype(call->op, (mt_dtype)list[j]->dtype);
    }
    return 0;
}

/* --- memory order --- */

/* Results that need no sorting. Operands of one shape that share a layout hand it on, and row-major
   ones (beside single elements) cannot ask for another order. *model is the operand whose strides
   count; NULL: row major. */
static bool common_layout(const mt_tensor **model, const mt_tensor *const *operand, int n, int ndim,
                          const int64_t *size)
{
    uint16_t flags = MT_FLAG_CONTIGUOUS | MT_FLAG_CHANNELS_LAST | MT_FLAG_DENSE;
    const mt_tensor *first = NULL;
    bool is_same = true, is_plain = true;

    *model = NULL;
    for (int i = 0; i < n; i++) {
        const mt_tensor *t = operand[i];

        if (!t || t->ndim == 0) {
            is_same = false;
            continue;
        }
        is_plain &= t->numel > 0 && mt_tensor_has_plain_strides(t);
        if (!mt_shape_equal(t->ndim, t->size, ndim, size)) {
            is_same = is_plain = false;
            break;
        }
        flags &= t->flags;
        if (!first)
            first = t;
        else if (!mt_shape_equal(ndim, t->stride, ndim, first->stride))
            flags &= (uint16_t)~MT_FLAG_DENSE;
    }
    if (is_plain)
        return true;
    if (!is_same || !flags)
        return false;
    if (!(flags & MT_FLAG_CONTIGUOUS))
        *model = first;
    return true;
}

/* An operand's strides along the dims of the result: 0 where it is broadcast. */
static void aligned_strides(int64_t *out, const mt_tensor *t, int ndim, const int64_t *size)
{
    int pad = ndim - t->ndim;

    for (int i = 0; i < ndim; i++)
        out[i] = i < pad || (t->size[i - pad] == 1 && size[i] != 1) ? 0 : t->stride[i - pad];
}

enum { MAX_ORDERING = 4 }; /* operands that can decide the order */

bool mt_meta_output_strides(int64_t *stride, const mt_tensor *const *operand, int n, int ndim, const int64_t *size)
{
    int64_t aligned[MAX_ORDERING][MT_MAX_DIM];
    const int64_t *pointers[MAX_ORDERING];
    const mt_tensor *model;
    uint8_t order[MT_MAX_DIM];
    int count = 0;
    bool is_contiguous = true;

    if (ndim < 2)
        return false;
    if (common_layout(&model, operand, n, ndim, size)) {
        if (!model)
            return false;
        if (model->flags & MT_FLAG_CHANNELS_LAST)
            return mt_shape_channels_last_strides(stride, ndim, size) == 0;
        memcpy(stride, model->stride, (size_t)ndim * sizeof(stride[0]));
        return true;
    }
    for (int i = 0; i < n && count < MAX_ORDERING; i++) {
        if (!operand[i])
            continue;
        aligned_strides(aligned[count], operand[i], ndim, size);
        pointers[count] = aligned[count];
        count++;
    }
    mt_shape_order(order, ndim, size, count, pointers);
    for (int i = 0; i < ndim; i++)
        is_contiguous &= order[i] == ndim - 1 - i;
    if (is_contiguous)
        return false;
    mt_shape_ordered_strides(stride, ndim, size, order);
    return true;
}

/* --- rules --- */

static const mt_tensor *first_tensor(const mt_call *call)
{
    return call->arg[0].v.tensor;
}

int mt_meta_same_as(mt_call *call)
{
    const mt_tensor *t = first_tensor(call);
    int64_t stride[MT_MAX_DIM];
    bool is_ordered = !mt_tensor_has_plain_strides(t);

    if (is_ordered)
        mt_shape_strides_like(stride, t);
    return mt_out_prepare(call, 0, (mt_dtype)t->dtype, t->ndim, t->size, is_ordered ? stride : NULL, t->device, true);
}

static int like_first(mt_call *call, int k, mt_dtype dtype)
{
    const mt_tensor *t = first_tensor(call);

    return mt_out_prepare(call, k, dtype, t->ndim, t->size, NULL, t->device, false);
}

int mt_meta_same_as_contiguous(mt_call *call)
{
    return like_first(call, 0, (mt_dtype)first_tensor(call)->dtype);
}

int mt_meta_all_same_as(mt_call *call)
{
    for (int k = 0; k < call->n_outs; k++)
        if (like_first(call, k, (mt_dtype)first_tensor(call)->dtype) < 0)
            return -1;
    return 0;
}

int mt_meta_bool_same_as(mt_call *call)
{
    return like_first(call, 0, MT_DTYPE_b8);
}

int mt_meta_scalar_like(mt_call *call)
{
    const mt_tensor *t = first_tensor(call);

    return mt_out_prepare(call, 0, (mt_dtype)t->dtype, 0, NULL, NULL, t->device, false);
}

int mt_meta_scalar_int64(mt_call *call)
{
    return mt_out_prepare(call, 0, MT_DTYPE_i64, 0, NULL, NULL, first_tensor(call)->device, false);
}

int mt_meta_exact_out(const mt_call *call, int k, mt_dtype dtype)
{
    if (!call->out[k] || call->out[k]->dtype == (uint8_t)dtype)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "Expected out tensor to have dtype %s, but got %s instead",
                        mt_dtype_element(dtype), mt_dtype_element((mt_dtype)call->out[k]->dtype));
}
