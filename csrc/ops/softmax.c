/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape rules of softmax and its gradient. */
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops/meta.h"

/* self, dim, half_to_float */
int mt_meta_softmax(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t dim = mt_arg_int(&call->arg[1]);
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_REQUIRE(!mt_arg_bool(&call->arg[2]), MT_ERR_RUNTIME,
               "softmax with half to float conversion is not supported on CPU");
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)self->dtype) || self->numel == 0, MT_ERR_NOT_IMPLEMENTED,
               "\"%s\" not implemented for '%s'",
               call->op->name[1] == 'l' ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl",
               mt_dtype_table[self->dtype].legacy);
    MT_TRY(mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size, NULL, self->device, true));
    rc = 0;
fail:
    return rc;
}

/* grad_output, output, dim, input_dtype */
int mt_meta_softmax_backward(mt_call *call)
{
    mt_tensor *grad = mt_arg_tensor(&call->arg[0]), *output = mt_arg_tensor(&call->arg[1]);
    int64_t dim = mt_arg_int(&call->arg[2]);
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, grad->ndim));
    MT_REQUIRE(mt_shape_equal(grad->ndim, grad->size, output->ndim, output->size) && grad->dtype == output->dtype,
               MT_ERR_RUNTIME, "grad_output and output must have the same shape and dtype");
    MT_TRY(mt_out_prepare(call, 0, (mt_dtype)grad->dtype, grad->ndim, grad->size, NULL, grad->device, true));
    rc = 0;
fail:
    return rc;
}
