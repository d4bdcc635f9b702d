/* SPDX-License-Identifier: BSD-3-Clause */
/* Outputs of composites: a finished value becomes output k. Given tensors (in-place, out=) are checked and resized like
   those of kernels, then written by copy_ through the dispatcher, so that versions and history follow. */
#include "core/shape.h"
#include "ops/meta.h"

int mt_copy_inplace(mt_tensor *self, mt_tensor *src, bool non_blocking); /* of the generated ops.h */

int mt_out_assign(mt_call *call, int k, mt_tensor *value)
{
    mt_tensor *out = call->out[k];
    int64_t stride[MT_MAX_DIM];
    bool is_ordered = !mt_tensor_has_plain_strides(value);

    if (!out) {
        call->out[k] = mt_tensor_ref(value);
        return 0;
    }
    if (out == value)
        return 0;
    if (is_ordered)
        mt_shape_strides_like(stride, value);
    if (mt_out_check(call, k, (mt_dtype)value->dtype, value->ndim, value->size, is_ordered ? stride : NULL,
                     value->device) < 0)
        return -1;
    return mt_copy_inplace(out, value, false);
}

int mt_out_assign_view(mt_call *call, mt_tensor *view)
{
    return mt_tensor_set_geometry(call->out[0], view->ndim, view->size, view->stride, view->offset);
}
