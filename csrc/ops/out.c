/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of composites: a finished value becomes output k. Given tensors (in-place, out=) are
   checked and resized like those of kernels, then written by copy_ through the dispatcher, so that
   versions and history follow. */
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "ops/meta.h"

/* of the generated ops.h */
int mt_copy_inplace(mt_tensor *self, mt_tensor *src, bool non_blocking);

/* Ops with a slot of their own for what writes are counted there, so their copy is not. */
static int copy_into(const mt_call *call, mt_tensor *out, mt_tensor *value)
{
    uint32_t saved = mt_thread.exclude;
    int rc;

    if (call->op->kernel[MT_KEY_VIEW_INPLACE])
        mt_thread.exclude |= MT_KEY_BIT(MT_KEY_VIEW_INPLACE);
    rc = mt_copy_inplace(out, value, false);
    mt_thread.exclude = saved;
    return rc;
}

int mt_out_assign(mt_call *call, int k, mt_tensor *value)
{
    mt_tensor *out = call->out[k];
    int64_t stride[MT_MAX_DIM];
    bool is_ordered = !mt_tensor_has_plain_strides(value);

    if (!out) {
        call->out[k] = mt_tensor_ref(value);
        return 0;
    }
    if (out == value) { /* unchanged, but counted as written */
        if (!call->op->kernel[MT_KEY_VIEW_INPLACE])
            mt_tensor_bump_version(out);
        return 0;
    }
    if (call->variant == MT_VARIANT_OUT && mt_thread.grad_mode &&
        (mt_tensor_requires_grad(value) ||
         (mt_tensor_requires_grad(out) && mt_dtype_is_differentiable((mt_dtype)value->dtype))))
        return mt_error_set(
            MT_ERR_RUNTIME,
            "%s(): functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad.",
            call->op->name);
    if (call->variant == MT_VARIANT_OUT && mt_tensor_requires_grad(out) && mt_inplace_check &&
        mt_inplace_check(out) < 0)
        return -1; /* before it is resized */
    if (is_ordered)
        mt_shape_strides_like(stride, value);
    if (call->op->flags & MT_OPF_FACTORY) /* numbers from nothing: any shape and dtype will do */
        return mt_tensor_resize(out, value->ndim, value->size) < 0 ? -1 : copy_into(call, out, value);
    if (mt_out_check(call, k, (mt_dtype)value->dtype, value->ndim, value->size, is_ordered ? stride : NULL,
                     value->device) < 0)
        return -1;
    return copy_into(call, out, value);
}

/* of the generated ops.h */
int mt_clone(mt_tensor **out, mt_tensor *self, int memory_format);

int mt_out_before(mt_tensor **out, const mt_call *call)
{
    const uint32_t recorded = MT_KEY_BIT(MT_KEY_AUTOGRAD) | MT_KEYS_DUAL;

    if (call->variant == MT_VARIANT_INPLACE && (call->keys & recorded) && mt_thread.grad_mode)
        return mt_clone(out, mt_arg_tensor(&call->arg[0]), MT_FORMAT_PRESERVE);
    *out = mt_tensor_ref(mt_arg_tensor(&call->arg[0]));
    return 0;
}

int mt_out_take_options(mt_call *call, int dtype_arg, int device_arg)
{
    const mt_tensor *out = call->out[0];
    mt_value *dtype = &call->arg[dtype_arg], *device = &call->arg[device_arg];
    char a[24], b[24];

    if (dtype->kind != MT_ARG_NONE && dtype->v.i != out->dtype)
        return mt_error_set(MT_ERR_RUNTIME, "dtype %s does not match dtype of out parameter (%s)",
                            mt_dtype_table[dtype->v.i].legacy, mt_dtype_table[out->dtype].legacy);
    if (device->kind != MT_ARG_NONE && device->v.device.type != out->device.type)
        return mt_error_set(MT_ERR_RUNTIME, "device %s does not match device of out parameter (%s)",
                            mt_device_format(a, device->v.device), mt_device_format(b, out->device));
    mt_arg_set_dtype(dtype, (mt_dtype)out->dtype);
    mt_arg_set_device(device, out->device);
    return 0;
}

int mt_out_assign_view(mt_call *call, mt_tensor *view)
{
    return mt_tensor_set_geometry(call->out[0], view->ndim, view->size, view->stride, view->offset);
}
