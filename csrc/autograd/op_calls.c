/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the catalog and this folder: calls of ops whose signature is longer than what autograd
   wants of them, and the implementation of the one op that is about history only. */
#include "autograd/autograd_internal.h"

#include "ops.h"

int mt_impl_detach_inplace(mt_tensor *self);

int mt_autograd_op_cast(mt_tensor **out, mt_tensor *t, mt_dtype dtype, mt_device device)
{
    return mt_to_copy(out, t, dtype, -1, device, NULL, false, -1);
}

int mt_autograd_op_sum(mt_tensor **out, mt_tensor *t, mt_ints dims)
{
    return mt_sum_dim_IntList(out, t, dims, true, MT_DTYPE_NONE);
}

int mt_impl_detach_inplace(mt_tensor *self)
{
    return mt_autograd_detach_inplace(self);
}
