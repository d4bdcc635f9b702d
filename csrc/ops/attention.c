/* SPDX-License-Identifier: BSD-3-Clause */
/* Attention: when the fused kernel serves, and the shapes of its results. */
#include "core/frame.h"
#include "core/dispatch.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"

static bool fits_mask(const mt_tensor *mask, const mt_tensor *q, const mt_tensor *k)
{
    const int64_t full[4] = {q->size[0], q->size[1], q->size[2], k->size[2]};

    if (!mask)
        return true;
    if ((mask->dtype != MT_DTYPE_b8 && mask->dtype != q->dtype) || mask->ndim > 4 || mt_tensor_is_tracked(mask) ||
        (mask->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)) || mask->device.type != MT_DEVICE_CPU)
        return false;
    return mt_shape_is_broadcastable(mask->ndim, mask->size, 4, full);
}

static bool fits_operand(const mt_tensor *t, const mt_tensor *q)
{
    return t->ndim == 4 && t->dtype == q->dtype && t->device.type == MT_DEVICE_CPU && t->numel > 0 &&
           t->stride[3] == 1 && t->size[0] == q->size[0] && t->size[1] == q->size[1] && t->size[3] == q->size[3] &&
           !(t->flags & (MT_FLAG_CONJ | MT_FLAG_NEG));
}

int mt_impl_attention_fits(bool *out, mt_tensor *query, mt_tensor *key, mt_tensor *value, mt_tensor *attn_mask,
                           double dropout_p)
{
    bool kind = query->dtype == MT_DTYPE_f32 || query->dtype == MT_DTYPE_f64;

    *out = kind && dropout_p == 0 && query->ndim == 4 && fits_operand(query, query) && fits_operand(key, query) &&
           fits_operand(value, query) && key->size[2] == value->size[2] && fits_mask(attn_mask, query, key);
    return 0;
}

int mt_impl_recording(bool *out)
{
    *out = mt_thread.grad_mode;
    return 0;
}

/* query, key, value, ... */
int mt_meta_flash_attention(mt_call *call)
{
    mt_tensor *q = mt_arg_tensor(&call->arg[0]);
    int64_t stride[MT_MAX_DIM];
    int rc = -1;

    MT_REQUIRE(q->ndim == 4, MT_ERR_RUNTIME, "attention takes queries of 4 dimensions, got %d", q->ndim);
    mt_shape_strides_like(stride, q); /* so that heads that were split without a copy come together without one */
    MT_TRY(mt_out_prepare(call, 0, (mt_dtype)q->dtype, 4, q->size, stride, q->device, false));
    MT_TRY(mt_out_prepare(call, 1, (mt_dtype)q->dtype, 3, q->size, NULL, q->device, false));
    rc = 0;
fail:
    return rc;
}

/* Heads lie beside each other within a position, as projections want them. */
static int prepare_like(mt_call *call, int k, const mt_tensor *t)
{
    int64_t stride[4] = {t->size[2] * t->size[1] * t->size[3], t->size[3], t->size[1] * t->size[3], 1};

    return mt_out_prepare(call, k, (mt_dtype)t->dtype, 4, t->size, stride, t->device, false);
}

/* grad_out, query, key, value, ... */
int mt_meta_flash_attention_backward(mt_call *call)
{
    for (int k = 0; k < 3; k++)
        if (prepare_like(call, k, mt_arg_tensor(&call->arg[1 + k])) < 0)
            return -1;
    return 0;
}
