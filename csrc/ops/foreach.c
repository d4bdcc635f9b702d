/* SPDX-License-Identifier: BSD-3-Clause */
/* addcmul and addcdiv of lists whose numbers come packed in a tensor: its elements, read once, become the list of
   numbers of the plain form. */
#include "base/alloc.h"
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "ops.h"

/* The caller frees out->data with mt_raw_free. */
static int unpack(mt_scalars *out, const mt_tensor *packed, int n)
{
    size_t itemsize = mt_tensor_itemsize(packed);
    const char *from;
    mt_scalar *to;
    void *room;
    int rc = -1;

    MT_REQUIRE(packed->device.type == MT_DEVICE_CPU, MT_ERR_RUNTIME, "Expected scalars to be on CPU.");
    MT_REQUIRE(packed->flags & MT_FLAG_CONTIGUOUS, MT_ERR_RUNTIME, "Expected scalars to be contiguous.");
    MT_REQUIRE(packed->ndim == 1, MT_ERR_RUNTIME, "Expected packed scalar Tensor to be of dimension 1. Got %d instead.",
               packed->ndim);
    MT_REQUIRE(packed->numel == n, MT_ERR_RUNTIME,
               "Expected length of scalars to match input of length %d but got %lld instead.", n,
               (long long)packed->numel);
    MT_TRY(mt_malloc(&room, (size_t)n * sizeof(*to)));
    to = room;
    from = mt_tensor_const_data(packed);
    for (int i = 0; i < n; i++)
        to[i] = mt_scalar_load(from + (size_t)i * itemsize, (mt_dtype)packed->dtype);
    *out = (mt_scalars){to, n};
    rc = 0;
fail:
    return rc;
}

int mt_impl_foreach_addcmul_tensor(mt_tensor_list *out, mt_tensors self, mt_tensors tensor1, mt_tensors tensor2,
                                   mt_tensor *scalars)
{
    mt_scalars numbers;
    int rc;

    *out = (mt_tensor_list){NULL, 0};
    if (unpack(&numbers, scalars, self.n) < 0)
        return -1;
    rc = mt_foreach_addcmul_ScalarList(out, self, tensor1, tensor2, numbers);
    mt_free((void *)(uintptr_t)numbers.data);
    return rc;
}

int mt_impl_foreach_addcmul_inplace(mt_tensors self, mt_tensors tensor1, mt_tensors tensor2, mt_tensor *scalars)
{
    mt_scalars numbers;
    int rc;

    if (unpack(&numbers, scalars, self.n) < 0)
        return -1;
    rc = mt_foreach_addcmul_inplace_ScalarList(self, tensor1, tensor2, numbers);
    mt_free((void *)(uintptr_t)numbers.data);
    return rc;
}

int mt_impl_foreach_addcdiv_tensor(mt_tensor_list *out, mt_tensors self, mt_tensors tensor1, mt_tensors tensor2,
                                   mt_tensor *scalars)
{
    mt_scalars numbers;
    int rc;

    *out = (mt_tensor_list){NULL, 0};
    if (unpack(&numbers, scalars, self.n) < 0)
        return -1;
    rc = mt_foreach_addcdiv_ScalarList(out, self, tensor1, tensor2, numbers);
    mt_free((void *)(uintptr_t)numbers.data);
    return rc;
}

int mt_impl_foreach_addcdiv_inplace(mt_tensors self, mt_tensors tensor1, mt_tensors tensor2, mt_tensor *scalars)
{
    mt_scalars numbers;
    int rc;

    if (unpack(&numbers, scalars, self.n) < 0)
        return -1;
    rc = mt_foreach_addcdiv_inplace_ScalarList(self, tensor1, tensor2, numbers);
    mt_free((void *)(uintptr_t)numbers.data);
    return rc;
}
